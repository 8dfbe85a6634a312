/* Tests of top-N and sort: random tables in all encodings against qsort. */
#include <math.h>

#include "base/scale_test.h"
#include "exec/breaker_test.inc"

static const table *naive_table;
static const ax_order_spec *naive_spec;

static int cmp_values(const ax_value *p, const ax_value *q, const ax_order_key *k)
{
    int r;

    if (p->null || q->null)
        return p->null == q->null ? 0 : p->null == k->nulls_first ? -1 : 1;
    r = ax_value_cmp(p, q);
    return k->desc ? -r : r;
}

static int cmp_rows(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

    for (uint32_t k = 0; k < naive_spec->nkeys; k++)
    {
        const ax_order_key *key = &naive_spec->key[k];
        int r = cmp_values(&naive_table->v[key->col][x], &naive_table->v[key->col][y], key);

        if (r != 0)
            return r;
    }
    return 0;
}

/* The last column is the row's number: the payload must be that row's, each at most once, and the
 * keys those of the naive order. */
static void check(const table *t, const run *r, const ax_order_spec *s)
{
    uint32_t *idx = (uint32_t *) malloc(sizeof(*idx) * (t->nrows + 1)), n = 0;
    uint8_t *used = (uint8_t *) calloc(t->nrows + 1, 1);
    int64_t offset = s->offset, want;

    for (uint32_t i = 0; i < t->nrows; i++)
        if (t->selected[i])
            idx[n++] = i;
    naive_table = t;
    naive_spec = s;
    qsort(idx, n, sizeof(*idx), cmp_rows);
    want = offset < n ? n - offset : 0;
    want = s->limit >= 0 && want > s->limit ? s->limit : want;
    assert_int_equal(r->nout, want);
    for (uint32_t i = 0; i < r->nout; i++)
    {
        uint32_t row = (uint32_t) r->out[t->ncols - 1][i].u.i;

        assert_true(row < t->nrows && t->selected[row] && !used[row]);
        used[row] = 1;
        for (uint32_t c = 0; c < t->ncols; c++)
            assert_true(same_bytes(&r->out[c][i], &t->v[c][row]));
        if (s->nkeys > 0)
            assert_int_equal(cmp_rows(&row, &idx[offset + i]), 0);
    }
    free(idx);
    free(used);
}

static ax_spill *spill; /* of all cases, or NULL */

typedef struct bounds { pthread_mutex_t lock; uint32_t calls; ax_value last; bool fell; } bounds;

static void on_tighten(void *arg, const ax_value *v)
{
    bounds *b = (bounds *) arg;

    pthread_mutex_lock(&b->lock);
    if (b->calls++ > 0 && !ax_type_is_str(v->type))
        b->fell &= cmp_values(v, &b->last, &naive_spec->key[0]) <= 0;
    b->last = *v;
    pthread_mutex_unlock(&b->lock);
}

static ax_status create(run *r, const ax_order_spec *s)
{
    ax_task t;
    ax_status st;

    AX_TRY(ax_task_init(&t, &r->budget, NULL));
    r->arena = ax_arena_create(&r->budget, 0);
    st = r->arena ? ax_order_create(&t, r->arena, s, r->nlanes, &r->b) : AX_ENOMEM;
    ax_task_fini(&t);
    return st;
}

static void number_rows(table *t)
{
    uint32_t c = t->ncols - 1;

    for (uint32_t i = 0; i < t->nrows; i++)
        t->v[c][i] = (ax_value){.type = ax_type_make(AX_T_INT8), .u.i = i};
}

static void run_case(const gen *g, uint32_t ncols, const ax_order_key *key, uint32_t nkeys,
                     uint32_t nrows, uint32_t nlanes, int64_t limit, int64_t offset)
{
    bounds b = {.lock = PTHREAD_MUTEX_INITIALIZER, .fell = true};
    ax_order_spec s = {.ncols = ncols, .key = key, .nkeys = nkeys, .limit = limit,
                       .offset = offset, .tighten = on_tighten, .tighten_arg = &b,
                       .spill = spill};
    table t;
    run r;

    table_make(&t, nrows, g, ncols, below(2) ? 100 : 40);
    number_rows(&t);
    s.type = t.type;
    naive_spec = &s;
    run_init(&r, &t, nlanes, INT64_MAX);
    assert_int_equal(create(&r, &s), AX_OK);
    assert_int_equal(run_all(&r), AX_OK);
    check(&t, &r, &s);
    assert_true(b.fell);
    run_free(&r);
    table_free(&t);
}

static const ax_type_id all_types[] = {
    AX_T_BOOL, AX_T_INT2, AX_T_INT4, AX_T_INT8, AX_T_FLOAT4, AX_T_FLOAT8, AX_T_NUMERIC, AX_T_TEXT,
    AX_T_BYTEA, AX_T_DATE, AX_T_TIMESTAMPTZ, AX_T_INTERVAL, AX_T_UUID,
};
#define NTYPES ((uint32_t) (sizeof(all_types) / sizeof(all_types[0])))

static int64_t random_limit(void)
{
    static const int64_t limits[] = {0, 1, 2, 10, 10, 100, 1000, 3000, 100000, -1};

    return limits[below(10)];
}

static void one_key(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < NTYPES * 5; i++)
    {
        gen g[3] = {{all_types[i % NTYPES], below(3) ? below(3000) + 1 : 0, below(3) * 20,
                     below(2) * 80},
                    {AX_T_TEXT, 0, 5, 10}, {AX_T_INT8, 0, 0, 0}};
        ax_order_key key = {0, below(2), below(2)};

        run_case(g, 3, &key, 1, below(ax_test_scale(12000)), 1 + 3 * below(2), random_limit(),
                 below(3) ? 0 : below(300));
    }
}

static void many_keys(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < ax_test_scale(30); i++)
    {
        gen g[6];
        ax_order_key key[4];
        uint32_t nkeys = 1 + below(4);

        for (uint32_t c = 0; c < 5; c++)
            g[c] = (gen){all_types[below(NTYPES)], 1 + below(below(2) ? 5 : 500), below(3) * 10,
                         below(2) * 70};
        g[5] = (gen){AX_T_INT8, 0, 0, 0};
        for (uint32_t k = 0; k < nkeys; k++)
            key[k] = (ax_order_key){below(5), below(2), below(2)};
        run_case(g, 6, key, nkeys, below(12000), 1 + 3 * below(2), random_limit(),
                 below(3) ? 0 : below(300));
    }
}

static void no_key(void **state)
{
    static const gen g[] = {{AX_T_TEXT, 0, 5, 10}, {AX_T_INT8, 0, 0, 0}};
    ax_order_key key = {0, false, false};

    (void) state;
    run_case(g, 2, &key, 0, 9000, 4, 100, 7);
    run_case(g, 2, &key, 0, 9000, 4, -1, 7);
}

/* Memory is always short: rows become runs, of which there are more than are merged at once. */
static void sorted_runs(void **state)
{
    ax_budget full = {.used_bytes = 1000, .limit_bytes = 1000};
    ax_spill file;
    FILE *f = tmpfile();

    (void) state;
    assert_non_null(f);
    for (uint32_t i = 0; i < NTYPES * 2; i++)
    {
        gen g[5] = {{all_types[i % NTYPES], below(2) ? below(3000) + 1 : 0, below(3) * 20,
                     below(2) * 80},
                    {AX_T_TEXT, 0, 5, 10}, {all_types[below(NTYPES)], 0, 10, 10},
                    {AX_T_TEXT, 20, 0, 0}, {AX_T_INT8, 0, 0, 0}};
        ax_order_key key[2] = {{0, below(2), below(2)}, {1 + below(3), below(2), below(2)}};

        ax_spill_init(&file, &full, true, 0);
        ax_spill_give(&file, dup(fileno(f)));
        spill = &file;
        run_case(g, 5, key, 1 + below(2), 9000, 1 + 3 * below(2),
                 below(3) ? -1 : 70000 + (int64_t) below(9000), below(3) ? 0 : below(3000));
        assert_true(file.end_bytes > 0);
        ax_spill_close(&file);
    }
    spill = NULL;
    fclose(f);
}

/* The file is refused, at its limit, cut by somebody, or on a full disk: an error or the right
 * result. */
static void runs_fail(void **state)
{
    static const gen g[] = {{AX_T_INT8, 0, 0, 0}, {AX_T_TEXT, 0, 0, 0}, {AX_T_INT8, 0, 0, 0}};
    ax_budget full = {.used_bytes = 1000, .limit_bytes = 1000};
    ax_order_key key = {0, true, false};
    ax_spill file;
    ax_order_spec s = {.ncols = 3, .key = &key, .nkeys = 1, .limit = -1, .spill = &file};
    table t;

    (void) state;
    table_make(&t, 9000, g, 3, 100);
    number_rows(&t);
    s.type = t.type;
    naive_spec = &s;
    for (uint32_t i = 0; i < 4; i++)
    {
        FILE *f = i < 3 ? tmpfile() : fopen("/dev/full", "r+");
        ax_status st;
        run r;

        assert_non_null(f);
        ax_spill_init(&file, &full, true, i == 1 ? 100000 : 0);
        ax_spill_give(&file, i == 0 ? -1 : dup(fileno(f)));
        run_init(&r, &t, 2, INT64_MAX);
        assert_int_equal(create(&r, &s), AX_OK);
        st = on_lanes(&r, feed_thread);
        if (i == 2)
            assert_int_equal(ftruncate(fileno(f), 0), 0);
        if (st == AX_OK)
            st = run_all_fed(&r);
        assert_int_equal(st, i == 0 ? AX_OK : i == 1 ? AX_ELIMIT : i == 2 ? AX_EIO : AX_EHOST);
        if (i == 0)
            check(&t, &r, &s);
        run_free(&r);
        ax_spill_close(&file);
        fclose(f);
    }
    table_free(&t);
}

/* Many long strings pass through the buffer; garbage must not pile up. */
static void strings_are_swept(void **state)
{
    static const gen g[] = {{AX_T_INT8, 0, 0, 0}, {AX_T_TEXT, 0, 0, 0}, {AX_T_INT8, 0, 0, 0}};
    ax_order_key key = {0, true, false};
    ax_order_spec s = {.ncols = 3, .key = &key, .nkeys = 1, .limit = 500};
    table t;
    run r;

    (void) state;
    table_make(&t, 60000, g, 3, 100);
    number_rows(&t);
    for (uint32_t i = 0; i < t.nrows; i++) /* the worst case: each row enters */
        t.v[0][i].u.i = i;
    s.type = t.type;
    run_init(&r, &t, 1, INT64_MAX);
    assert_int_equal(create(&r, &s), AX_OK);
    assert_int_equal(run_all(&r), AX_OK);
    check(&t, &r, &s);
    assert_true(r.budget.peak_bytes < (8 << 20));
    run_free(&r);
    table_free(&t);
}

/* A list of i % 4 texts "<i>.<k>" and a document "d<i>" for each row i, null for i % 7 == 3. */
static void nested_batch(ax_arena *a, uint32_t row0, uint32_t n, ax_vec *col)
{
    uint32_t *off = (uint32_t *) values(a, 4 * n + 4), *len = (uint32_t *) values(a, 16 * n + 4);
    uint32_t *dlen = (uint32_t *) values(a, 4 * n + 4);
    const uint8_t **ptr = (const uint8_t **) values(a, 32 * n + 8);
    const uint8_t **dptr = (const uint8_t **) values(a, 8 * n + 8);
    uint8_t *null = (uint8_t *) values(a, n);
    int64_t *key = (int64_t *) values(a, 8 * n + 8);
    ax_vec *child = (ax_vec *) values(a, sizeof(*child));

    for (uint32_t i = 0; i < n; i++)
    {
        char *doc = (char *) values(a, 24);

        key[i] = row0 + i;
        null[i] = (row0 + i) % 7 == 3;
        dlen[i] = (uint32_t) snprintf(doc, 24, "d%u", row0 + i);
        dptr[i] = (const uint8_t *) doc;
        off[i + 1] = off[i];
        for (uint32_t k = 0; !null[i] && k < (row0 + i) % 4; k++)
        {
            char *e = (char *) values(a, 24);

            len[off[i + 1]] = (uint32_t) snprintf(e, 24, "%u.%u", row0 + i, k);
            ptr[off[i + 1]++] = (const uint8_t *) e;
        }
    }
    *child = (ax_vec){.kind = AX_VK_VIEW, .type = ax_type_make(AX_T_TEXT), .n = off[n]};
    child->u.view.ptr = ptr;
    child->u.view.len = len;
    col[0] = (ax_vec){.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_INT8), .n = n, .u.data = key};
    col[1] = (ax_vec){.kind = AX_VK_LIST, .type = ax_type_make(AX_T_LIST), .n = n, .null = null};
    col[1].u.list.off = off;
    col[1].u.list.child = child;
    col[2] = (ax_vec){.kind = AX_VK_DOC, .type = ax_type_make(AX_T_JSONB), .n = n, .null = null};
    col[2].u.doc.ptr = dptr;
    col[2].u.doc.len = dlen;
}

static bool same_text(const uint8_t *p, uint32_t len, const char *want)
{
    return len == strlen(want) && memcmp(p, want, len) == 0;
}

static void check_nested(const ax_batch *o, uint32_t i)
{
    uint32_t id = (uint32_t) ((int64_t *) o->col[0].u.data)[i];
    const ax_vec *list = &o->col[1], *doc = &o->col[2];
    bool null = id % 7 == 3;
    char want[24];

    assert_int_equal(list->null != NULL && list->null[i], null);
    assert_int_equal(doc->null != NULL && doc->null[i], null);
    if (null)
        return;
    snprintf(want, sizeof(want), "d%u", id);
    assert_true(same_text(doc->u.doc.ptr[i], doc->u.doc.len[i], want));
    assert_int_equal(list->u.list.off[i + 1] - list->u.list.off[i], id % 4);
    for (uint32_t k = 0; k < id % 4; k++)
    {
        uint32_t e = list->u.list.off[i] + k;

        snprintf(want, sizeof(want), "%u.%u", id, k);
        assert_true(same_text(list->u.list.child->u.view.ptr[e],
                              list->u.list.child->u.view.len[e], want));
    }
}

static void nested_payload(void **state)
{
    ax_type types[3] = {ax_type_make(AX_T_INT8), ax_type_make(AX_T_LIST), ax_type_make(AX_T_JSONB)};
    ax_order_key key = {0, true, false};
    ax_order_spec s = {.type = types, .ncols = 3, .key = &key, .nkeys = 1, .limit = 3000};
    table none = {.nrows = 0};
    uint32_t nparts, rows = 0;
    ax_vec col[3];
    ax_batch b = {.ncols = 3, .col = col}, *o;
    ax_arena *a;
    ax_part *p;
    ax_task t;
    run r;

    (void) state;
    run_init(&r, &none, 1, INT64_MAX);
    assert_int_equal(create(&r, &s), AX_OK);
    assert_int_equal(ax_task_init(&t, &r.budget, NULL), AX_OK);
    a = ax_arena_create(&r.data_budget, 0);
    for (uint32_t i = 0; i < 60; i++) /* ascending keys: each row enters, most are forgotten */
    {
        ax_arena_reset(a);
        b.nrows = b.nsel = 1000;
        nested_batch(a, i * 1000, 1000, col);
        assert_int_equal(r.b->ops->put(&t, r.b, 0, &b), AX_OK);
    }
    ax_arena_destroy(a);
    assert_int_equal(r.b->ops->put_end(&t, r.b, 0), AX_OK);
    assert_int_equal(r.b->ops->prepare(&t, r.b, &nparts), AX_OK);
    assert_int_equal(r.b->ops->part_begin(&t, r.b, 0, t.arena, &p), AX_OK);
    while (r.b->ops->part_next(&t, p, &o) == AX_OK && o != NULL)
        for (uint32_t i = 0; i < o->nrows; i++, rows++)
        {
            assert_int_equal(((int64_t *) o->col[0].u.data)[i], 59999 - rows);
            check_nested(o, i);
        }
    assert_int_equal(rows, 3000);
    r.b->ops->part_end(p);
    ax_task_fini(&t);
    assert_true(r.budget.peak_bytes < (8 << 20));
    run_free(&r);
}

static void large_sort(void **state)
{
    static const gen g[] = {{AX_T_INT4, 0, 1, 10}, {AX_T_INT8, 0, 0, 0}};
    ax_order_key key = {0, false, false};

    (void) state;
    run_case(g, 2, &key, 1, ax_test_scale(150000), 4, -1, 0);
    run_case(g, 2, &key, 1, ax_test_scale(150000), 4, ax_test_scale(60000), ax_test_scale(50000));
}

static void budget(void **state)
{
    static const gen g[] = {{AX_T_INT4, 0, 5, 20}, {AX_T_TEXT, 0, 5, 20}, {AX_T_INT8, 0, 0, 0}};
    ax_order_key key[2] = {{0, true, true}, {1, false, false}};
    ax_order_spec s = {.ncols = 3, .key = key, .nkeys = 2};
    table t;

    (void) state;
    table_make(&t, ax_test_scale(20000), g, 3, 100);
    number_rows(&t);
    s.type = t.type;
    for (s.limit = -1; s.limit < 12000; s.limit += 10000)
    {
        bool done = false;

        for (int64_t limit = 1000; !done; limit += limit / 4)
        {
            ax_status st;
            run r;

            run_init(&r, &t, 2, limit);
            st = create(&r, &s);
            if (st == AX_OK)
                st = run_all(&r);
            assert_true(st == AX_OK || st == AX_ENOMEM);
            done = st == AX_OK;
            if (done)
                check(&t, &r, &s);
            run_free(&r);
        }
    }
    table_free(&t);
}

static void stopped(void **state)
{
    static const gen g[] = {{AX_T_INT8, 0, 1, 20}};
    ax_order_key key = {0, false, false};
    ax_order_spec s = {.ncols = 1, .key = &key, .nkeys = 1, .limit = 10};
    table t;
    run r;

    (void) state;
    table_make(&t, 5000, g, 1, 100);
    s.type = t.type;
    run_init(&r, &t, 1, INT64_MAX);
    assert_int_equal(create(&r, &s), AX_OK);
    r.stop = 1;
    assert_int_equal(run_all(&r), AX_ESTOPPED);
    run_free(&r);
    run_init(&r, &t, 1, INT64_MAX);
    assert_int_equal(create(&r, &s), AX_OK);
    assert_int_equal(on_lanes(&r, feed_thread), AX_OK);
    run_free(&r); /* destroyed in the middle */
    table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_key),    cmocka_unit_test(many_keys),
        cmocka_unit_test(no_key),     cmocka_unit_test(sorted_runs), cmocka_unit_test(runs_fail),
        cmocka_unit_test(strings_are_swept),
        cmocka_unit_test(nested_payload),
        cmocka_unit_test(large_sort), cmocka_unit_test(budget),
        cmocka_unit_test(stopped),
    };

    if (getenv("AX_SEED") != NULL)
        seed = strtoull(getenv("AX_SEED"), NULL, 0) | 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
