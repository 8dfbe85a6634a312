/* Scans of small files made in memory: pages of both versions, dictionaries that end in the middle
 * of a chunk, skipping to any row, rows that cannot be converted, filters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encode_test.h"

#include <stdio.h>

enum { ROWS = 300, COLS = 3 };

typedef struct fixture
{
    ax_budget budget;
    ax_task t;
    ax_io *io;
    ax_io_file *file;
    ax_fmt_file *f;
    ax_scan_stats stats;
    ax_filter_lane *filter;
    uint32_t nfilter_only;        /* so many first columns */
    uint32_t nbatches;
    uint32_t n;                   /* values collected */
    char got[ROWS][COLS][24];
    uint32_t row[ROWS];
    ax_error poison;
    uint8_t kinds;                /* bit for each ax_vkind seen in column 1 */
    uint64_t dict_uid;            /* of column 0, where it has a dictionary */
} fixture;

static fixture x;
static enc out, dict_i, dict_s, ids1, plain_i, plain_s, lev1;

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

static ax_status open_bytes(const enc *e)
{
    ax_fmt_input in = {.meta_budget = &x.budget, .uri = "test"};
    ax_fmt_event ev;
    ax_fmt_op *op;

    close_file();
    ax_error_clear(&x.t.err);
    AX_TRY(ax_io_open_memory(&x.t, x.io, "test.parquet", e->p, e->n, &x.file));
    in.file = x.file;
    AX_TRY(ax_format_parquet.open_begin(&x.t, x.t.arena, &in, &op));
    AX_TRY(ax_fmt_drive(&x.t, x.io, &ax_format_parquet, op, NULL, NULL, &ev));
    x.f = ev.file;
    return AX_OK;
}

static void show(const ax_value *v, char *to)
{
    if (v->null)
        strcpy(to, "-");
    else if (ax_type_is_str(v->type))
        snprintf(to, 24, "%.*s", (int) v->u.s.len, (const char *) v->u.s.p);
    else if (v->type.phys == AX_P_NUM)
        snprintf(to, 24, "%lld/%d", (long long) v->u.num.v, v->u.num.dscale);
    else if (v->type.phys == AX_P_F64)
        snprintf(to, 24, "%g", v->u.f);
    else
        snprintf(to, 24, "%lld", (long long) v->u.i);
}

static ax_status collect(ax_task *t, void *arg, ax_batch *b)
{
    uint32_t i, c;

    (void) t;
    (void) arg;
    x.nbatches++;
    if (b->poison != NULL)
        x.poison = *b->poison;
    if (b->ncols > 1)
        x.kinds |= (uint8_t) (1u << b->col[1].kind);
    if (b->col[0].kind == AX_VK_DICT)
        x.dict_uid = b->col[0].u.dict.dict->uid;
    for (i = 0; i < b->nsel; i++)
    {
        uint32_t row = b->sel != NULL ? b->sel[i] : i;

        x.row[x.n] = b->row0 + row;
        for (c = 0; c < b->ncols; c++)
        {
            ax_value v = ax_vec_value(&b->col[c], row);

            show(&v, x.got[x.n][c]);
        }
        x.n++;
    }
    return AX_OK;
}

static ax_status scan_in(ax_arena *a, const ax_colspec *col, uint32_t ncols, const ax_rowset *rows)
{
    static const uint32_t columns[] = {0, 1, 2};
    ax_bind_opts opts = {.case_insensitive = true};
    ax_scan_req req = {.columns = columns, .ncolumns = ncols, .rows = rows, .stats = &x.stats,
                       .allow = AX_ALLOW_ALL, .budget = &x.budget, .filter = x.filter,
                       .filter_only = columns, .nfilter_only = x.nfilter_only};
    ax_fmt_bind *bind;
    ax_fmt_op *op;

    AX_TRY(ax_format_parquet.bind(&x.t, a, x.f, col, ncols, &opts, &bind));
    req.bind = bind;
    AX_TRY(ax_format_parquet.scan_begin(&x.t, a, &req, &op));
    return ax_fmt_drive(&x.t, x.io, &ax_format_parquet, op, collect, NULL, NULL);
}

static ax_status scan(const ax_colspec *col, uint32_t ncols, const ax_rowset *rows)
{
    ax_arena *a = ax_arena_create(&x.budget, 0);
    ax_status st;

    assert_non_null(a);
    x.n = x.nbatches = 0;
    x.kinds = 0;
    memset(&x.poison, 0, sizeof x.poison);
    memset(&x.stats, 0, sizeof x.stats);
    ax_error_clear(&x.t.err);
    st = scan_in(a, col, ncols, rows);
    ax_arena_destroy(a);
    return st;
}

/* ---- a file with everything ------------------------------------------------------------------ */

/* Row i of the file: null when i % 3 == 2 (column i) or i % 5 == 4 (column s). */
static void expect(uint32_t i, char *vi, char *vs)
{
    if (i % 3 == 2)
        strcpy(vi, "-");
    else
        snprintf(vi, 24, "%u", i < 200 ? i % 7 * 10 : i);
    if (i % 5 == 4)
        strcpy(vs, "-");
    else if (i < 200)
        snprintf(vs, 24, "d%u", i % 4);
    else
        snprintf(vs, 24, "plain-%u", i);
}

static void string_to(enc *e, const char *s)
{
    e_u32(e, (uint32_t) strlen(s));
    e_bytes(e, s, strlen(s));
}

/* Levels and ids or values of rows [from, to). */
static void encode_rows(uint32_t from, uint32_t to, uint32_t mod, bool str, enc *lev, enc *val)
{
    uint32_t v[ROWS], l[ROWS], n = 0, i;
    char vi[24], vs[24];

    lev->n = val->n = 0;
    for (i = from; i < to; i++)
    {
        bool null = i % mod == mod - 1;

        l[i - from] = !null;
        expect(i, vi, vs);
        if (null)
            continue;
        v[n++] = str ? i % 4 : i % 7;
        if (from >= 200 && str)
            string_to(val, vs);
        else if (from >= 200)
            e_u32(val, i);
    }
    e_packed(lev, l, to - from, 1);
    if (from >= 200)
        return;
    e_u8(val, 3);
    e_packed(val, v, n, 3);
}

/* Two pages with a dictionary and two without, whose borders differ between the columns. */
static void make_all(int version, int64_t nrows)
{
    static enc lev[6], val[6];
    static test_page pi[5], ps[4];
    static test_column col[2];
    test_file f = {"parquet-mr version 1.12.0 (build x)", nrows, col, 2, true};
    uint32_t i;

    dict_i.n = dict_s.n = 0;
    for (i = 0; i < 7; i++)
        e_u32(&dict_i, i * 10);
    for (i = 0; i < 4; i++)
    {
        char s[8];

        snprintf(s, sizeof s, "d%u", i);
        string_to(&dict_s, s);
    }
    encode_rows(0, 120, 3, false, &lev[0], &val[0]);
    encode_rows(120, 200, 3, false, &lev[1], &val[1]);
    encode_rows(200, ROWS, 3, false, &lev[2], &val[2]);
    encode_rows(0, 200, 5, true, &lev[3], &val[3]);
    encode_rows(200, 250, 5, true, &lev[4], &val[4]);
    encode_rows(250, ROWS, 5, true, &lev[5], &val[5]);
    pi[0] = (test_page){PQ_PAGE_DICTIONARY, PQ_PLAIN, 7, NULL, &dict_i};
    pi[1] = (test_page){version, PQ_RLE_DICTIONARY, 120, &lev[0], &val[0]};
    pi[2] = (test_page){version, PQ_PLAIN_DICTIONARY, 80, &lev[1], &val[1]};
    pi[3] = (test_page){version, PQ_PLAIN, 100, &lev[2], &val[2]};
    ps[0] = (test_page){PQ_PAGE_DICTIONARY, PQ_PLAIN_DICTIONARY, 4, NULL, &dict_s};
    ps[1] = (test_page){version, PQ_RLE_DICTIONARY, 200, &lev[3], &val[3]};
    ps[2] = (test_page){version, PQ_PLAIN, 50, &lev[4], &val[4]};
    ps[3] = (test_page){version, PQ_PLAIN, 50, &lev[5], &val[5]};
    col[0] = (test_column){"Num", PQ_INT32, PQ_OPTIONAL, -1, 0, 0, 0, pi, 4, NULL, 0, 0};
    col[1] = (test_column){"str", PQ_BYTE_ARRAY, PQ_OPTIONAL, 0, 0, 0, 0, ps, 4, NULL, 0, 0};
    e_file(&out, &f);
}

static void columns_of_all(ax_colspec *col)
{
    memset(col, 0, 2 * sizeof *col);
    col[0].name = "num";
    col[0].type = ax_type_make(AX_T_INT8);
    col[1].name = "str";
    col[1].type = ax_type_make(AX_T_TEXT);
}

static void check_rows(const uint32_t *rows, uint32_t n)
{
    uint32_t i;
    char vi[24], vs[24];

    assert_int_equal(x.n, n);
    for (i = 0; i < n; i++)
    {
        uint32_t r = rows != NULL ? rows[i] : i;

        expect(r, vi, vs);
        assert_int_equal(x.row[i], r);
        assert_string_equal(x.got[i][0], vi);
        assert_string_equal(x.got[i][1], vs);
    }
}

static void fallback_in_the_middle(void **state)
{
    ax_colspec col[2];
    int version;

    (void) state;
    columns_of_all(col);
    for (version = 0; version <= 3; version += 3)
    {
        make_all(version, ROWS);
        assert_int_equal(open_bytes(&out), AX_OK);
        assert_int_equal(x.f->nrows, ROWS);
        assert_int_equal(scan(col, 2, NULL), AX_OK);
        check_rows(NULL, ROWS);
        /* The window spans a dictionary page and two plain ones. */
        assert_int_equal(x.kinds, 1u << AX_VK_VIEW);
    }
}

static void every_pair_of_rows(void **state)
{
    ax_colspec col[2];
    uint32_t a, b;

    (void) state;
    columns_of_all(col);
    make_all(PQ_PAGE_DATA, ROWS);
    assert_int_equal(open_bytes(&out), AX_OK);
    for (a = 0; a < ROWS; a += 13)
        for (b = a + 1; b < ROWS; b += 11)
        {
            const ax_rowrange r[] = {{a, a + 1}, {b, b + 3}};
            const ax_rowset rows = {r, 2};
            uint32_t want[4] = {a, b, b + 1, b + 2};

            assert_int_equal(scan(col, 2, &rows), AX_OK);
            check_rows(want, b + 3 <= ROWS ? 4 : 1 + ROWS - b);
        }
}

static void pages_without_rows_stay_closed(void **state)
{
    const ax_rowrange r[] = {{260, 300}};
    const ax_rowset rows = {r, 1};
    ax_colspec col[2];
    uint32_t want[40], i;

    (void) state;
    columns_of_all(col);
    make_all(PQ_PAGE_DATA_V2, ROWS);
    assert_int_equal(open_bytes(&out), AX_OK);
    assert_int_equal(scan(col, 2, &rows), AX_OK);
    for (i = 0; i < 40; i++)
        want[i] = 260 + i;
    check_rows(want, 40);
    assert_int_equal(x.stats.pages, 2);
    assert_int_equal(x.stats.pages_skipped, 4);
}

static void wrong_counts_are_refused(void **state)
{
    ax_colspec col[2];

    (void) state;
    columns_of_all(col);
    make_all(PQ_PAGE_DATA, ROWS + 1); /* more rows than the pages have */
    assert_int_equal(open_bytes(&out), AX_OK);
    assert_int_equal(scan(col, 2, NULL), AX_ECORRUPT);
    make_all(PQ_PAGE_DATA, ROWS - 1);
    assert_int_equal(open_bytes(&out), AX_OK);
    assert_int_equal(scan(col, 2, NULL), AX_ECORRUPT);
}

static void every_cut_is_refused(void **state)
{
    static enc cut;
    ax_colspec col[2];
    size_t n, footer;

    (void) state;
    columns_of_all(col);
    make_all(PQ_PAGE_DATA, ROWS);
    footer = ax_load_u32(out.p + out.n - 8) + 8;
    for (n = 0; n < out.n - footer - 4; n += 3) /* zeros where data was */
    {
        cut = out;
        memset(cut.p + 4 + n, 0, out.n - footer - 4 - n);
        assert_int_equal(open_bytes(&cut), AX_OK);
        assert_int_not_equal(scan(col, 2, NULL), AX_ENOMEM);
        assert_true(x.n <= ROWS);
    }
    for (n = 1; n < footer; n++) /* bytes missing from the end */
    {
        cut = out;
        cut.n = out.n - n;
        assert_int_not_equal(open_bytes(&cut), AX_OK);
    }
}

/* ---- one column ------------------------------------------------------------------------------ */

static void make_one(int type, int rep, int converted, int encoding, const enc *values,
                     const enc *levels, const enc *dict, int32_t ndict, int32_t n)
{
    test_page page[2] = {{PQ_PAGE_DICTIONARY, PQ_PLAIN, ndict, NULL, dict},
                         {PQ_PAGE_DATA, encoding, n, levels, values}};
    test_column col = {"c", type, rep, converted, 0, 2, 9,
                       dict != NULL ? page : page + 1, dict != NULL ? 2 : 1, NULL, 0, 0};
    test_file f = {"test version 1.0.0", n, &col, 1, false};

    e_file(&out, &f);
    assert_int_equal(open_bytes(&out), AX_OK);
}

static ax_status scan_as(ax_type_id type, bool not_null, uint8_t epoch)
{
    ax_colspec col = {.name = "c", .type = ax_type_make(type), .not_null = not_null,
                      .epoch = epoch};

    return scan(&col, 1, NULL);
}

static void bad_row_poisons_what_follows(void **state)
{
    uint32_t i;

    (void) state;
    plain_i.n = 0;
    for (i = 0; i < 100; i++)
        e_u32(&plain_i, i == 37 ? 70000 : i);
    make_one(PQ_INT32, PQ_REQUIRED, -1, PQ_PLAIN, &plain_i, NULL, NULL, 0, 100);
    assert_int_equal(scan_as(AX_T_INT4, true, 0), AX_OK);
    assert_int_equal(x.n, 100);
    assert_int_equal(scan_as(AX_T_INT2, true, 0), AX_ERANGE);
    assert_int_equal(x.n, 37);
    assert_int_equal(x.poison.code, AX_ERANGE);
    assert_int_equal(x.poison.place.row, 37);
    assert_string_equal(x.poison.place.column, "c");
    assert_string_equal(x.got[36][0], "36");
}

static void bad_dictionary_entry_harms_its_rows(void **state)
{
    uint32_t v[64], i;

    (void) state;
    dict_s.n = 0;
    string_to(&dict_s, "good");
    string_to(&dict_s, "b\xff");
    string_to(&dict_s, "fine");
    ids1.n = 0;
    for (i = 0; i < 64; i++)
        v[i] = i % 2 * 2;
    e_u8(&ids1, 2);
    e_packed(&ids1, v, 64, 2);
    make_one(PQ_BYTE_ARRAY, PQ_REQUIRED, 0, PQ_RLE_DICTIONARY, &ids1, NULL, &dict_s, 3, 64);
    assert_int_equal(scan_as(AX_T_TEXT, true, 0), AX_OK);
    assert_int_equal(x.n, 64);
    assert_string_equal(x.got[63][0], "fine");

    v[50] = 1;
    ids1.n = 0;
    e_u8(&ids1, 2);
    e_packed(&ids1, v, 64, 2);
    make_one(PQ_BYTE_ARRAY, PQ_REQUIRED, 0, PQ_RLE_DICTIONARY, &ids1, NULL, &dict_s, 3, 64);
    assert_int_equal(scan_as(AX_T_TEXT, true, 0), AX_ETEXT);
    assert_int_equal(x.n, 50);
    assert_int_equal(scan_as(AX_T_BYTEA, true, 0), AX_OK);
    assert_int_equal(x.n, 64);

    v[3] = 3; /* an id that no entry has: damage */
    ids1.n = 0;
    e_u8(&ids1, 2);
    e_packed(&ids1, v, 64, 2);
    make_one(PQ_BYTE_ARRAY, PQ_REQUIRED, 0, PQ_RLE_DICTIONARY, &ids1, NULL, &dict_s, 3, 64);
    assert_int_equal(scan_as(AX_T_BYTEA, true, 0), AX_ECORRUPT);
    assert_int_equal(x.n, 0);
}

/* Caches of codes are found by it, whoever made the dictionary. */
static void id_of_a_dictionary_is_nobody_elses(void **state)
{
    uint64_t before, after;
    uint32_t v[64];

    (void) state;
    dict_s.n = ids1.n = 0;
    string_to(&dict_s, "a");
    string_to(&dict_s, "b");
    for (uint32_t i = 0; i < 64; i++)
        v[i] = i % 2;
    e_u8(&ids1, 1);
    e_packed(&ids1, v, 64, 1);
    make_one(PQ_BYTE_ARRAY, PQ_REQUIRED, 0, PQ_RLE_DICTIONARY, &ids1, NULL, &dict_s, 2, 64);
    before = ax_dict_uid();
    assert_int_equal(scan_as(AX_T_TEXT, true, 0), AX_OK);
    after = ax_dict_uid();
    assert_true(before < x.dict_uid && x.dict_uid < after);
}

static void null_where_none_may_be(void **state)
{
    (void) state;
    plain_i.n = lev1.n = 0;
    e_u32(&plain_i, 1);
    e_u32(&plain_i, 2);
    e_run(&lev1, 2, 1, 1);
    e_run(&lev1, 3, 0, 1);
    make_one(PQ_INT32, PQ_OPTIONAL, -1, PQ_PLAIN, &plain_i, &lev1, NULL, 0, 5);
    assert_int_equal(scan_as(AX_T_INT4, false, 0), AX_OK);
    assert_string_equal(x.got[4][0], "-");
    assert_int_equal(scan_as(AX_T_INT4, true, 0), AX_ENOTNULL);
    assert_int_equal(x.n, 2);
    lev1.n = 0;
    e_run(&lev1, 5, 0, 1); /* nothing but nulls */
    make_one(PQ_INT32, PQ_OPTIONAL, -1, PQ_PLAIN, &plain_i, &lev1, NULL, 0, 5);
    assert_int_equal(scan_as(AX_T_INT4, false, 0), AX_OK);
    assert_string_equal(x.got[0][0], "-");
    lev1.n = 0;
    e_run(&lev1, 4, 1, 1); /* a level missing */
    make_one(PQ_INT32, PQ_OPTIONAL, -1, PQ_PLAIN, &plain_i, &lev1, NULL, 0, 5);
    assert_int_equal(scan_as(AX_T_INT4, false, 0), AX_ECORRUPT);
}

static void runs_and_constants(void **state)
{
    ax_colspec col[2] = {{.name = "c", .type = ax_type_make(AX_T_INT4)}, {0}};

    (void) state;
    dict_i.n = ids1.n = 0;
    e_u32(&dict_i, 11);
    e_u32(&dict_i, 22);
    e_u8(&ids1, 1);
    e_run(&ids1, 250, 1, 1);
    e_run(&ids1, 50, 0, 1);
    make_one(PQ_INT32, PQ_REQUIRED, -1, PQ_RLE_DICTIONARY, &ids1, NULL, &dict_i, 2, ROWS);
    col[1] = col[0];
    assert_int_equal(scan(col, 2, NULL), AX_OK);
    assert_int_equal(x.kinds, 1u << AX_VK_RUN);
    assert_string_equal(x.got[249][0], "22");
    assert_string_equal(x.got[250][0], "11");
    ids1.n = 0;
    e_u8(&ids1, 0); /* width 0: every id is 0, and no byte follows */
    make_one(PQ_INT32, PQ_REQUIRED, -1, PQ_RLE_DICTIONARY, &ids1, NULL, &dict_i, 2, ROWS);
    assert_int_equal(scan(col, 2, NULL), AX_OK);
    assert_int_equal(x.kinds, 1u << AX_VK_CONST);
    assert_string_equal(x.got[299][1], "11");
}

static void epochs_and_units(void **state)
{
    (void) state;
    plain_i.n = 0;
    e_u32(&plain_i, 10957); /* 2000-01-01 */
    e_u32(&plain_i, 0);
    make_one(PQ_INT32, PQ_REQUIRED, 12, PQ_PLAIN, &plain_i, NULL, NULL, 0, 2); /* UINT_16 */
    assert_int_equal(scan_as(AX_T_DATE, true, AX_EPOCH_DAYS), AX_OK);
    assert_string_equal(x.got[0][0], "0");
    assert_string_equal(x.got[1][0], "-10957");
    assert_int_equal(scan_as(AX_T_DATE, true, 0), AX_ETYPE);

    plain_i.n = 0;
    e_u64(&plain_i, 946684800 + 1);
    e_u64(&plain_i, (uint64_t) INT64_MAX); /* would overflow */
    make_one(PQ_INT64, PQ_REQUIRED, -1, PQ_PLAIN, &plain_i, NULL, NULL, 0, 2);
    assert_int_equal(scan_as(AX_T_TIMESTAMP, true, AX_EPOCH_S), AX_EDATETIME);
    assert_int_equal(x.n, 1);
    assert_string_equal(x.got[0][0], "1000000");

    plain_i.n = 0; /* nanoseconds: floor */
    e_u64(&plain_i, 946684800000000000ull - 1);
    make_one(PQ_INT64, PQ_REQUIRED, -1, PQ_PLAIN, &plain_i, NULL, NULL, 0, 1);
    assert_int_equal(scan_as(AX_T_TIMESTAMPTZ, true, AX_EPOCH_NS), AX_OK);
    assert_string_equal(x.got[0][0], "-1");
    assert_int_equal(scan_as(AX_T_DATE, true, AX_EPOCH_NS), AX_OK);
    assert_string_equal(x.got[0][0], "-1");
}

static void decimals(void **state)
{
    ax_colspec col = {.name = "c", .type = ax_type_make(AX_T_NUMERIC)};

    (void) state;
    plain_s.n = 0; /* bytes of any length, big-endian */
    e_u32(&plain_s, 1);
    e_u8(&plain_s, 0xff);
    e_u32(&plain_s, 3);
    e_bytes(&plain_s, "\x00\x30\x39", 3);
    e_u32(&plain_s, 0);
    make_one(PQ_BYTE_ARRAY, PQ_REQUIRED, 5, PQ_PLAIN, &plain_s, NULL, NULL, 0, 3);
    assert_int_equal(scan(&col, 1, NULL), AX_OK);
    assert_string_equal(x.got[0][0], "-1/2");
    assert_string_equal(x.got[1][0], "12345/2");
    assert_string_equal(x.got[2][0], "0/2");
    col.type.precision = 5; /* another scale: rounded half away from zero, and checked */
    col.type.scale = 1;
    assert_int_equal(scan(&col, 1, NULL), AX_OK);
    assert_string_equal(x.got[1][0], "1235/1");
    col.type.precision = 3;
    assert_int_equal(scan(&col, 1, NULL), AX_ERANGE);
    assert_int_equal(x.n, 1);
}

static void live_bound_goes_before_the_rest(void **state)
{
    ax_value hi = {.type = ax_type_make(AX_T_INT8), .u.i = 10};
    ax_filter *f;
    ax_colspec col[2];
    uint32_t i;

    (void) state;
    columns_of_all(col);
    make_all(PQ_PAGE_DATA, ROWS);
    assert_int_equal(open_bytes(&out), AX_OK);
    assert_int_equal(ax_filter_create(&x.t, x.t.arena, NULL, 0, NULL, &f), AX_OK);
    assert_int_equal(ax_filter_lane_create(&x.t, x.t.arena, f, &x.filter), AX_OK);
    assert_int_equal(scan(col, 2, NULL), AX_OK);
    assert_int_equal(x.n, ROWS);
    assert_int_equal(ax_filter_tighten(&x.t, f, 0, 0, AX_FN_LT, &hi, false), AX_OK);
    assert_int_equal(scan(col, 2, NULL), AX_OK);
    assert_in_range(x.n, 10, 40);
    for (i = 0; i < x.n; i++)
        assert_string_equal(x.got[i][0], "0");
    hi.u.i = -1; /* nothing is left: the other column stays closed */
    assert_int_equal(ax_filter_tighten(&x.t, f, 0, 0, AX_FN_LT, &hi, false), AX_OK);
    assert_int_equal(scan(col, 2, NULL), AX_OK);
    assert_int_equal(x.n, 0);
    assert_int_equal(x.stats.pages, 3);
}

static void filter_opens_few_pages(void **state)
{
    ax_value lo = {.type = ax_type_make(AX_T_INT8), .u.i = 295};
    ax_expr *args[2], *cond;
    ax_filter *f;
    ax_colspec col[2];
    uint32_t want[3] = {295, 297, 298};

    (void) state;
    columns_of_all(col);
    make_all(PQ_PAGE_DATA, ROWS);
    assert_int_equal(open_bytes(&out), AX_OK);
    assert_int_equal(ax_expr_col(&x.t, x.t.arena, 0, lo.type, &args[0]), AX_OK);
    assert_int_equal(ax_expr_const(&x.t, x.t.arena, &lo, &args[1]), AX_OK);
    assert_int_equal(ax_expr_call(&x.t, x.t.arena, AX_FN_GE, args, 2, &cond), AX_OK);
    assert_int_equal(ax_filter_create(&x.t, x.t.arena, &cond, 1, NULL, &f), AX_OK);
    assert_int_equal(ax_filter_lane_create(&x.t, x.t.arena, f, &x.filter), AX_OK);
    assert_int_equal(scan(col, 2, NULL), AX_OK);
    check_rows(want, 3);
    assert_int_equal(x.stats.rows_read, ROWS);
    assert_int_equal(x.stats.rows_after_filter, 3);
}

/* Rows of text column 0 for which `fn` of it and a constant holds. */
static ax_status scan_where(ax_fn fn, const char *konst)
{
    ax_value v = {.type = ax_type_make(AX_T_TEXT),
                  .u.s = {(const uint8_t *) konst, (uint32_t) strlen(konst)}};
    ax_value four = {.type = ax_type_make(AX_T_INT4), .u.i = 4};
    ax_expr *args[2], *cond;
    ax_filter *f;

    AX_TRY(ax_expr_col(&x.t, x.t.arena, 0, v.type, &args[0]));
    AX_TRY(ax_expr_const(&x.t, x.t.arena, fn == AX_FN_LENGTH ? &four : &v, &args[1]));
    if (fn == AX_FN_LENGTH)
        AX_TRY(ax_expr_call(&x.t, x.t.arena, fn, args, 1, &args[0]));
    fn = fn == AX_FN_LENGTH ? AX_FN_LE : fn;
    AX_TRY(ax_expr_call(&x.t, x.t.arena, fn, args, 2, &cond));
    AX_TRY(ax_filter_create(&x.t, x.t.arena, &cond, 1, NULL, &f));
    AX_TRY(ax_filter_lane_create(&x.t, x.t.arena, f, &x.filter));
    return scan_as(AX_T_TEXT, false, 0);
}

static void check_poison(uint32_t rows, uint32_t row)
{
    assert_int_equal(x.n, rows);
    assert_int_equal(x.poison.code, AX_ETEXT);
    assert_int_equal(x.poison.place.row, row);
    assert_string_equal(x.poison.place.column, "c");
}

/* Row 37 is no text: it may be dropped by its bytes, but neither leave nor be counted. */
static void text_is_checked_where_it_leaves(void **state)
{
    uint32_t v[100], i, nulls;

    (void) state;
    for (nulls = 0; nulls < 2; nulls++)
    {
        plain_s.n = lev1.n = 0;
        for (i = 0; i < 100; i++)
        {
            char s[8];

            v[i] = nulls == 0 || i % 10 != 1;
            snprintf(s, sizeof s, i == 37 ? "\xff%u" : "v%u\xc3\xa9", i);
            if (v[i])
                string_to(&plain_s, s);
        }
        e_packed(&lev1, v, 100, 1);
        make_one(PQ_BYTE_ARRAY, nulls ? PQ_OPTIONAL : PQ_REQUIRED, 0, PQ_PLAIN, &plain_s,
                 nulls ? &lev1 : NULL, NULL, 0, 100);
        x.filter = NULL;
        assert_int_equal(scan_as(AX_T_TEXT, false, 0), AX_ETEXT);
        check_poison(37, 37);
        assert_int_equal(scan_where(AX_FN_EQ, "v50\xc3\xa9"), AX_OK);
        assert_int_equal(x.n, 1);
        assert_string_equal(x.got[0][0], "v50\xc3\xa9");
        assert_int_equal(scan_where(AX_FN_LIKE, "v%"), AX_OK);
        assert_int_equal(x.n, nulls ? 89 : 99);
        assert_int_equal(scan_where(AX_FN_LIKE, "%4%"), AX_OK);
        assert_int_equal(x.n, nulls ? 18 : 19);
        assert_int_equal(scan_where(AX_FN_LIKE, "v_%"), AX_ETEXT); /* characters */
        check_poison(nulls ? 33 : 37, 37);
        assert_int_equal(scan_where(AX_FN_LENGTH, ""), AX_ETEXT);
        check_poison(nulls ? 33 : 37, 37);
        assert_int_equal(scan_where(AX_FN_NE, "v36\xc3\xa9"), AX_ETEXT); /* it would leave */
        check_poison(nulls ? 32 : 36, 37);
        x.nfilter_only = 1;
        assert_int_equal(scan_where(AX_FN_NE, "v36\xc3\xa9"), AX_OK);
        assert_int_equal(x.n, nulls ? 89 : 99);
        assert_int_equal(scan_where(AX_FN_LENGTH, ""), AX_ETEXT);
        x.nfilter_only = 0;
    }
}

/* Two vectors of eight values: i / 2, and one that stands as it is. */
static void floats_as_decimals(void **state)
{
    uint32_t i, k;

    (void) state;
    plain_i.n = 0;
    e_bytes(&plain_i, "\0\0\3\20\0\0\0\10\0\0\0\47\0\0\0", 15);
    for (k = 0; k < 2; k++)
    {
        double raw = 1e300;

        e_bytes(&plain_i, "\1\0\1\0", 4);
        e_u64(&plain_i, k * 40);
        e_u8(&plain_i, 8);
        for (i = 0; i < 8; i++)
            e_u8(&plain_i, (uint8_t) (i * 5));
        if (k == 0)
        {
            e_bytes(&plain_i, "\3\0", 2);
            e_bytes(&plain_i, &raw, 8);
        }
        plain_i.p[15 + k * 31 + 2] = k == 0; /* exceptions */
    }
    make_one(PQ_DOUBLE, PQ_REQUIRED, -1, PQ_ALP, &plain_i, NULL, NULL, 0, 16);
    assert_int_equal(scan_as(AX_T_FLOAT8, false, 0), AX_OK);
    assert_int_equal(x.n, 16);
    for (i = 0; i < 16; i++)
    {
        char want[24];

        snprintf(want, sizeof want, i == 3 ? "1e+300" : "%u%s", i / 2, i % 2 ? ".5" : "");
        assert_string_equal(x.got[i][0], want);
    }
    make_one(PQ_INT64, PQ_REQUIRED, -1, PQ_ALP, &plain_i, NULL, NULL, 0, 16);
    assert_int_equal(scan_as(AX_T_INT8, false, 0), AX_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(floats_as_decimals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fallback_in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_pair_of_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_without_rows_stay_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_counts_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_cut_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_row_poisons_what_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_dictionary_entry_harms_its_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(id_of_a_dictionary_is_nobody_elses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_where_none_may_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_and_constants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(epochs_and_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decimals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filter_opens_few_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_is_checked_where_it_leaves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(live_bound_goes_before_the_rest, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
