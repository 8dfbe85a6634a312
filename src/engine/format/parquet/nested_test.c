/* Nested columns of small files made in memory: rows that go on over pages, old layouts of lists,
 * maps, what is null and what is empty, skipping, rows that cannot be converted, leaves that
 * contradict each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encode_test.h"

#include <stdio.h>

enum { LIST = 3, MAP = 1, UTF8 = 0, NONE = -1 };

typedef struct fixture
{
    ax_budget budget;
    ax_task t;
    ax_io *io;
    ax_io_file *file;
    ax_fmt_file *f;
    ax_scan_stats stats;
    ax_error poison;
    char got[4096];               /* rows, each in front of a blank */
} fixture;

static fixture x;
static enc out, schema, large;
static test_page page[4][4];
static test_column col[4];
static test_file file;

static int set_up(void **state)
{
    (void) state;
    memset(&x, 0, sizeof x);
    ax_budget_init(&x.budget, "test", 64 << 20, NULL);
    return ax_task_init(&x.t, &x.budget, NULL) != AX_OK || ax_io_create(&x.io, 4) != AX_OK;
}

static void close_file(void)
{
    ax_fmt_file_unref(x.f);
    ax_io_file_unref(x.file);
    x.f = NULL;
    x.file = NULL;
}

static int tear_down(void **state)
{
    (void) state;
    close_file();
    ax_task_fini(&x.t);
    ax_io_destroy(x.io);
    return atomic_load(&x.budget.used_bytes) != 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A new file; its schema and columns follow. */
static void begin(int64_t nrows)
{
    memset(&file, 0, sizeof file);
    memset(col, 0, sizeof col);
    memset(page, 0, sizeof page);
    schema.n = 0;
    file.nrows = nrows;
    file.col = col;
    file.schema = &schema;
    file.nroot = 1;
}

static void elem(const char *name, int repetition, uint32_t nchild, int type, int converted)
{
    e_elem(&schema, name, repetition, nchild, type, converted);
    file.nelems++;
}

static void digits(enc *e, const char *s, uint32_t n, unsigned width)
{
    uint32_t v[64], i;

    for (i = 0; i < n; i++)
        v[i] = (uint32_t) (s[i] - '0');
    if (n > 0)
        e_packed(e, v, n, width);
}

/* A leaf of INT32 values 1, 2, 3, ... in pages of the slots that a blank separates in `reps`. */
static void leaf(const char *reps, const char *defs, uint32_t max_rep, uint32_t max_def, int type)
{
    static enc r[4][4], d[4][4], v[4][4];
    uint32_t c = file.ncols++, k = 0, value = 0, i;

    col[c] = (test_column){.name = "", .type = PQ_INT32, .page = page[c]};
    while (*defs != '\0')
    {
        uint32_t n = (uint32_t) strcspn(defs, " ");
        enc *vv = &v[c][k];

        r[c][k].n = d[c][k].n = vv->n = 0;
        if (max_rep > 0)
            digits(&r[c][k], reps, n, max_rep > 1 ? 2 : 1);
        digits(&d[c][k], defs, n, max_def > 3 ? 3 : max_def > 1 ? 2 : 1);
        for (i = 0; i < n; i++)
            if ((uint32_t) (defs[i] - '0') == max_def)
                e_u32(vv, ++value);
        page[c][k] = (test_page){type, PQ_PLAIN, (int32_t) n, &d[c][k], vv,
                                 max_rep > 0 ? &r[c][k] : NULL, 1};
        col[c].nvalues += n;
        col[c].npages = ++k;
        reps += max_rep > 0 ? n + (reps[n] == ' ') : 0;
        defs += n + (defs[n] == ' ');
    }
}

static ax_status open_file(void)
{
    ax_fmt_input in = {.meta_budget = &x.budget, .uri = "test"};
    ax_fmt_event ev;
    ax_fmt_op *op;

    e_file(&out, &file);
    close_file();
    ax_error_clear(&x.t.err);
    AX_TRY(ax_io_open_memory(&x.t, x.io, "test.parquet", out.p, out.n, &x.file));
    in.file = x.file;
    AX_TRY(ax_format_parquet.open_begin(&x.t, x.t.arena, &in, &op));
    AX_TRY(ax_fmt_drive(&x.t, x.io, &ax_format_parquet, op, NULL, NULL, &ev));
    x.f = ev.file;
    return AX_OK;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static void add(const char *s, size_t n)
{
    size_t at = strlen(x.got);

    assert_true(at + n + 1 < sizeof x.got);
    memcpy(x.got + at, s, n);
    x.got[at + n] = '\0';
}

static void show_list(const ax_vec *v, uint32_t row)
{
    uint32_t i;
    char buf[24];

    add("<", 1);
    for (i = v->u.list.off[row]; i < v->u.list.off[row + 1]; i++)
    {
        const ax_vec *child = v->u.list.child;
        ax_value e;

        if (child->kind == AX_VK_LIST)
        {
            if (child->null != NULL && child->null[i])
                add("-", 1);
            else
                show_list(child, i);
            continue;
        }
        e = ax_vec_value(child, i);
        add(buf, (size_t) snprintf(buf, sizeof buf, e.null ? "%s-" : "%s%lld",
                                   i > v->u.list.off[row] ? "," : "", (long long) e.u.i));
    }
    add(">", 1);
}

static ax_status collect(ax_task *t, void *arg, ax_batch *b)
{
    const ax_vec *v = &b->col[0];
    uint32_t i;

    (void) t;
    (void) arg;
    if (b->poison != NULL)
        x.poison = *b->poison;
    for (i = 0; i < b->nsel; i++)
    {
        uint32_t row = b->sel != NULL ? b->sel[i] : i;

        if (v->null != NULL && v->null[v->kind == AX_VK_CONST ? 0 : row])
            add("-", 1);
        else if (v->kind == AX_VK_LIST)
            show_list(v, row);
        else
        {
            ax_value e = ax_vec_value(v, row);

            add((const char *) e.u.s.p, e.u.s.len);
        }
        add(" ", 1);
    }
    return AX_OK;
}

static ax_status scan_as(const char *name, ax_type type, const ax_rowset *rows)
{
    static const uint32_t columns[] = {0};
    const ax_colspec spec = {.name = name, .field_id = -1, .type = type};
    ax_bind_opts opts = {0};
    ax_scan_req req = {.columns = columns, .ncolumns = 1, .rows = rows, .stats = &x.stats,
                       .allow = AX_ALLOW_ALL, .budget = &x.budget};
    ax_arena *a = ax_arena_create(&x.budget, 0);
    ax_fmt_bind *bind;
    ax_fmt_op *op;
    ax_status st;

    x.got[0] = '\0';
    ax_error_clear(&x.t.err);
    st = ax_format_parquet.bind(&x.t, a, x.f, &spec, 1, &opts, &bind);
    req.bind = bind;
    if (st == AX_OK)
        st = ax_format_parquet.scan_begin(&x.t, a, &req, &op);
    if (st == AX_OK)
        st = ax_fmt_drive(&x.t, x.io, &ax_format_parquet, op, collect, NULL, NULL);
    ax_arena_destroy(a);
    return st;
}

static ax_type json(void) { return ax_type_make(AX_T_JSONB); }
static ax_type list(void) { return ax_type_make(AX_T_LIST); }

static void expect(ax_type type, const ax_rowset *rows, const char *want)
{
    ax_status st = scan_as("a", type, rows);

    if (st != AX_OK)
        fail_msg("status %d: %s", (int) st, x.t.err.msg);
    assert_string_equal(x.got, want);
}

/* The standard layout of a list of integers. */
static void standard_list(void)
{
    elem("a", PQ_OPTIONAL, 1, 0, LIST);
    elem("list", PQ_REPEATED, 1, 0, NONE);
    elem("element", PQ_OPTIONAL, 0, PQ_INT32, NONE);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void rows_go_on_over_pages(void **state)
{
    const ax_rowrange two[] = {{1, 2}, {3, 5}};
    const ax_rowset some = {two, 2};

    (void) state;
    begin(4);
    standard_list();
    leaf("011 1100 0", "333 2301 3", 1, 3, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    assert_int_equal(x.f->schema.field[0].type.id, AX_T_LIST);
    assert_int_equal(x.f->schema.field[0].type.nested->type[0].id, AX_T_INT4);
    expect(list(), NULL, "<1,2,3,-,4> - <> <5> ");
    expect(json(), NULL, "[1,2,3,null,4] - [] [5] ");
    expect(list(), &some, "- <5> ");
    file.nrows = 5;
    assert_int_equal(open_file(), AX_OK);
    assert_int_equal(scan_as("a", list(), NULL), AX_ECORRUPT);
    file.nrows = 3;
    assert_int_equal(open_file(), AX_OK);
    assert_int_equal(scan_as("a", list(), NULL), AX_ECORRUPT);
}

static void pages_of_version_2(void **state)
{
    (void) state;
    begin(2);
    standard_list();
    leaf("011 01", "323 33", 1, 3, PQ_PAGE_DATA_V2);
    assert_int_equal(open_file(), AX_OK);
    expect(list(), NULL, "<1,-,2> <3,4> ");
}

static void pages_that_nobody_wants(void **state)
{
    const ax_rowrange last[] = {{5, 6}};
    const ax_rowset rows = {last, 1};

    (void) state;
    begin(6);
    standard_list();
    leaf("011 000 01 0", "323 301 33 3", 1, 3, PQ_PAGE_DATA_V2);
    page[0][0].rows = 1;
    page[0][1].rows = 3;
    assert_int_equal(open_file(), AX_OK);
    expect(list(), NULL, "<1,-,2> <3> - <> <4,5> <6> ");
    assert_int_equal(x.stats.pages_skipped, 0);
    expect(list(), &rows, "<6> ");
    assert_int_equal(x.stats.pages_skipped, 3);

    begin(6);
    elem("a", PQ_OPTIONAL, 1, 0, NONE);
    elem("x", PQ_REQUIRED, 0, PQ_INT32, NONE);
    leaf("", "110 010", 0, 1, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), &rows, "- ");
    assert_int_equal(x.stats.pages_skipped, 4);
}

static void old_layouts_of_lists(void **state)
{
    (void) state;
    /* the repeated field is a leaf */
    begin(3);
    elem("a", PQ_OPTIONAL, 1, 0, LIST);
    elem("anything", PQ_REPEATED, 0, PQ_INT32, NONE);
    leaf("0100", "2201", 1, 2, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(list(), NULL, "<1,2> - <> ");

    /* a group named `array`, or after the list, is the element */
    begin(1);
    elem("a", PQ_REQUIRED, 1, 0, LIST);
    elem("array", PQ_REPEATED, 1, 0, NONE);
    elem("x", PQ_REQUIRED, 0, PQ_INT32, NONE);
    leaf("01", "11", 1, 1, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    assert_int_equal(x.f->schema.field[0].type.id, AX_T_JSONB);
    expect(json(), NULL, "[{\"x\":1},{\"x\":2}] ");
    begin(1);
    elem("a", PQ_REQUIRED, 1, 0, LIST);
    elem("a_tuple", PQ_REPEATED, 1, 0, NONE);
    elem("x", PQ_REQUIRED, 0, PQ_INT32, NONE);
    leaf("01", "11", 1, 1, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "[{\"x\":1},{\"x\":2}] ");

    /* any other name has one level more */
    begin(1);
    elem("a", PQ_REQUIRED, 1, 0, LIST);
    elem("bag", PQ_REPEATED, 1, 0, NONE);
    elem("x", PQ_OPTIONAL, 0, PQ_INT32, NONE);
    leaf("011", "212", 1, 2, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "[1,null,2] ");

    /* a group whose only field is repeated is the element */
    begin(1);
    elem("a", PQ_REQUIRED, 1, 0, LIST);
    elem("list", PQ_REPEATED, 1, 0, LIST);
    elem("inner", PQ_REPEATED, 0, PQ_INT32, NONE);
    leaf("0211", "2221", 2, 2, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "[[1,2],[3],[]] ");

    /* repeated without any annotation */
    begin(3);
    elem("a", PQ_REPEATED, 0, PQ_INT32, NONE);
    leaf("0010", "1110", 1, 1, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    assert_false(x.f->schema.field[0].nullable);
    expect(list(), NULL, "<1> <2,3> <> ");
    expect(json(), NULL, "[1] [2,3] [] ");
}

static void structs_with_nulls(void **state)
{
    (void) state;
    begin(3);
    elem("a", PQ_OPTIONAL, 2, 0, NONE);
    elem("x", PQ_REQUIRED, 0, PQ_INT32, NONE);
    elem("y", PQ_OPTIONAL, 0, PQ_INT32, NONE);
    leaf("", "110", 0, 1, PQ_PAGE_DATA);
    leaf("", "120", 0, 2, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "{\"x\":1,\"y\":null} {\"x\":2,\"y\":1} - ");
    expect(ax_type_make(AX_T_TEXT), NULL, "{\"x\":1,\"y\":null} {\"x\":2,\"y\":1} - ");
    assert_int_equal(scan_as("a", list(), NULL), AX_ETYPE);
    assert_int_equal(scan_as("a", ax_type_make(AX_T_INT4), NULL), AX_ETYPE);
}

static void map_schema(int key)
{
    elem("a", PQ_OPTIONAL, 1, 0, MAP);
    elem("entries", PQ_REPEATED, 2, 0, NONE);
    elem("key", key, 0, PQ_INT32, NONE);
    elem("value", PQ_OPTIONAL, 0, PQ_INT32, NONE);
}

static void maps(void **state)
{
    (void) state;
    begin(3);
    map_schema(PQ_REQUIRED);
    leaf("0100", "2201", 1, 2, PQ_PAGE_DATA);
    leaf("0100", "3201", 1, 3, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "{\"1\":1,\"2\":null} - {} ");

    /* a null as key is an error of its row */
    begin(3);
    map_schema(PQ_OPTIONAL);
    leaf("0100", "3321", 1, 3, PQ_PAGE_DATA);
    leaf("0100", "3231", 1, 3, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    assert_int_equal(scan_as("a", json(), NULL), AX_ENOTNULL);
    assert_string_equal(x.got, "{\"1\":1,\"2\":null} ");
    assert_int_equal(x.poison.place.row, 1);
}

static void leaves_that_disagree(void **state)
{
    static const char *const second[][2] = {
        {"0000", "3333"}, {"0110", "3333"}, {"0100", "3203"}, {"0100", "3211"},
        {"0100 1", "3201 3"}, {"0101", "3203"},
    };
    uint32_t i;

    (void) state;
    for (i = 0; i < sizeof second / sizeof *second; i++)
    {
        begin(3);
        map_schema(PQ_REQUIRED);
        leaf("0100", "2201", 1, 2, PQ_PAGE_DATA);
        leaf(second[i][0], second[i][1], 1, 3, PQ_PAGE_DATA);
        assert_int_equal(open_file(), AX_OK);
        assert_int_equal(scan_as("a", json(), NULL), AX_ECORRUPT);
    }
}

static void levels_that_cannot_be(void **state)
{
    static const char *const bad[][2] = {
        {"1100", "3333"}, /* does not begin with a row */
        {"0110", "1333"}, /* an empty list goes on */
        {"0110", "0333"},
        {"0110", "3133"}, /* an element that is not there */
    };
    uint32_t i;

    (void) state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
    {
        begin(2);
        standard_list();
        leaf(bad[i][0], bad[i][1], 1, 3, PQ_PAGE_DATA);
        assert_int_equal(open_file(), AX_OK);
        assert_int_equal(scan_as("a", list(), NULL), AX_ECORRUPT);
        assert_int_equal(scan_as("a", json(), NULL), AX_ECORRUPT);
    }
}

static void values_out_of_range(void **state)
{
    ax_type elem_type = ax_type_make(AX_T_INT2);
    const ax_nested of = {.n = 1, .type = &elem_type};
    ax_type type = list();

    (void) state;
    type.nested = &of;
    begin(4);
    standard_list();
    leaf("0011 00", "3233 13", 1, 3, PQ_PAGE_DATA);
    large.n = 0;
    e_u32(&large, 1);
    e_u32(&large, 2);
    e_u32(&large, 70000);
    page[0][0].values = &large;
    assert_int_equal(open_file(), AX_OK);
    assert_int_equal(scan_as("a", type, NULL), AX_ERANGE);
    assert_string_equal(x.got, "<1> ");
    assert_int_equal(x.poison.place.row, 1);
}

static void lists_of_lists_are_arrays(void **state)
{
    (void) state;
    begin(7);
    elem("a", PQ_OPTIONAL, 1, 0, LIST);
    elem("list", PQ_REPEATED, 1, 0, NONE);
    elem("element", PQ_OPTIONAL, 1, 0, LIST);
    elem("list", PQ_REPEATED, 1, 0, NONE);
    elem("element", PQ_OPTIONAL, 0, PQ_INT32, NONE);
    /* levels: 0 null, 1 empty, 2 null in it, 3 empty in it, 4 null in that, 5 a value */
    leaf("021110 00000", "553240 13520", 2, 5, PQ_PAGE_DATA_V2);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "[[1,2],[],null,[null]] - [] [[]] [[3]] [null] - ");
    expect(list(), NULL, "<<1,2><>-<->> - <> <<>> <<3>> <-> - ");
}

static void elements_of_no_scalars(void **state)
{
    (void) state;
    begin(1);
    elem("a", PQ_REQUIRED, 1, 0, LIST);
    elem("list", PQ_REPEATED, 2, 0, NONE);
    elem("x", PQ_REQUIRED, 0, PQ_INT32, NONE);
    elem("y", PQ_REQUIRED, 0, PQ_INT32, NONE);
    leaf("01", "11", 1, 1, PQ_PAGE_DATA);
    leaf("01", "11", 1, 1, PQ_PAGE_DATA);
    assert_int_equal(open_file(), AX_OK);
    expect(json(), NULL, "[{\"x\":1,\"y\":1},{\"x\":2,\"y\":2}] ");
    assert_int_equal(scan_as("a", list(), NULL), AX_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_go_on_over_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_of_version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_that_nobody_wants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_layouts_of_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(structs_with_nulls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_that_disagree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(levels_that_cannot_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_out_of_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_of_lists_are_arrays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(elements_of_no_scalars, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
