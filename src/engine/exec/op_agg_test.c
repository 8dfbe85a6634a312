/* Tests of aggregation: random tables in all encodings against a naive computation. */
#include <math.h>

#include "base/scale_test.h"
#include "exec/breaker_test.inc"

#include "exec/agg_int.h"

/* ---- naive ----------------------------------------------------------------------------------- */

static bool same_value(const ax_value *a, const ax_value *b)
{
    return a->null == b->null && (a->null || ax_value_cmp(a, b) == 0);
}

static const ax_value *const *sort_cols;
static uint32_t sort_nkeys;

static int cmp_rows(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

    for (uint32_t k = 0; k < sort_nkeys; k++)
    {
        const ax_value *p = &sort_cols[k][x], *q = &sort_cols[k][y];
        int r = p->null || q->null ? (int) p->null - (int) q->null : ax_value_cmp(p, q);

        if (r != 0)
            return r;
    }
    return 0;
}

static uint32_t *sorted_rows(const ax_value *const *cols, uint32_t nkeys, const uint8_t *selected,
                             uint32_t nrows, uint32_t *n)
{
    uint32_t *idx = (uint32_t *) malloc(sizeof(*idx) * (nrows + 1));

    *n = 0;
    for (uint32_t i = 0; i < nrows; i++)
        if (selected == NULL || selected[i])
            idx[(*n)++] = i;
    sort_cols = cols;
    sort_nkeys = nkeys;
    qsort(idx, *n, sizeof(*idx), cmp_rows);
    return idx;
}

/* Rows that count for `a`, without repeats of its argument if it is distinct. */
static uint32_t *counted(const table *t, const ax_agg_arg *a, const uint32_t *idx, uint32_t n,
                         uint32_t *m)
{
    const ax_value *v = a->arg_col >= 0 ? t->v[a->arg_col] : NULL;
    const ax_value *w = a->arg2_col >= 0 ? t->v[a->arg2_col] : NULL;
    const ax_value *f = a->filter_col >= 0 ? t->v[a->filter_col] : NULL;
    uint32_t *o = (uint32_t *) malloc(sizeof(*o) * (n + 1)), q = 0;

    *m = 0;
    for (uint32_t i = 0; i < n; i++)
        if ((f == NULL || (!f[idx[i]].null && f[idx[i]].u.i)) && (v == NULL || !v[idx[i]].null)
            && (w == NULL || !w[idx[i]].null))
            o[(*m)++] = idx[i];
    if (!a->distinct || *m == 0)
        return o;
    sort_cols = &v;
    sort_nkeys = 1;
    qsort(o, *m, sizeof(*o), cmp_rows);
    for (uint32_t i = 1; i < *m; i++)
        if (ax_value_cmp(&v[o[q]], &v[o[i]]) != 0)
            o[++q] = o[i];
    *m = q + 1;
    return o;
}

static bool spreads(uint8_t agg) { return agg >= AX_AGG_VAR_POP && agg <= AX_AGG_STDDEV_SAMP; }
static bool samples(uint8_t agg) { return agg == AX_AGG_VAR_SAMP || agg == AX_AGG_STDDEV_SAMP; }

static ax_budget naive_budget;
static ax_task naive_task; /* its arena holds the digits of the last result */

/* Exact sums of integers, or of decimals at scale 1 (the tables have 0 and 1). */
static void naive_exact(const ax_value *v, const uint32_t *row, uint32_t n, uint8_t agg,
                        ax_value *o)
{
    static const ax_num_result what[AX_AGG_CNT] = {
        [AX_AGG_SUM] = AX_NUM_SUM, [AX_AGG_AVG] = AX_NUM_AVG, [AX_AGG_VAR_POP] = AX_NUM_VAR_POP,
        [AX_AGG_VAR_SAMP] = AX_NUM_VAR_SAMP, [AX_AGG_STDDEV_POP] = AX_NUM_STDDEV_POP,
        [AX_AGG_STDDEV_SAMP] = AX_NUM_STDDEV_SAMP};
    uint64_t sum[AX_NUM_SUM_WORDS], squares[AX_NUM_SQUARE_WORDS] = {0};
    ax_num_part part = {0, sum, squares};
    ax_i128 total = 0;
    bool nan = false;

    for (uint32_t i = 0; i < n; i++)
        if (v[row[i]].type.phys == AX_P_NUM && v[row[i]].u.num.dscale)
            part.scale = 1;
    for (uint32_t i = 0; i < n; i++)
    {
        const ax_value *x = &v[row[i]];
        bool num = x->type.phys == AX_P_NUM;
        ax_i128 y = num ? x->u.num.v : x->u.i;
        ax_u128 square;

        nan |= num && x->u.num.special;
        if (num && part.scale > x->u.num.dscale)
            y *= 10;
        total += y;
        square = (ax_u128) (y * y);
        for (uint32_t k = 0; k < 2; k++)
        {
            uint64_t w = k ? (uint64_t) (square >> 64) : (uint64_t) square;

            for (uint32_t p = k; w != 0; p++)
            {
                squares[p] += w;
                w = squares[p] < w;
            }
        }
    }
    sum[0] = (uint64_t) total;
    sum[1] = (uint64_t) (total >> 64);
    sum[2] = total < 0 ? UINT64_MAX : 0;
    if (nan)
    {
        o->u.num = (ax_num){.special = AX_NUM_NAN};
        return;
    }
    if (o->type.phys == AX_P_NUM)
    {
        ax_arena_reset(naive_task.arena);
        assert_int_equal(ax_num_aggregate(&naive_task, naive_task.arena, &part, 1, n, what[agg],
                                          &o->u.num), AX_OK);
    }
    else
        o->u.i = (int64_t) total;
}

static double naive_float(const ax_value *v, const ax_value *w, const uint32_t *row, uint32_t n,
                          uint8_t agg, bool *null)
{
    double my = 0, mx = 0, sum = 0, syy = 0, sxx = 0, sxy = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        sum += v[row[i]].u.f;
        mx += w != NULL ? w[row[i]].u.f : 0;
    }
    my = sum / n; /* exact where all values are one integer */
    mx /= n;
    for (uint32_t i = 0; i < n; i++)
    {
        double y = v[row[i]].u.f - my, x = w != NULL ? w[row[i]].u.f - mx : 0;

        syy += y * y;
        sxx += x * x;
        sxy += x * y;
    }
    *null = (samples(agg) || agg == AX_AGG_COVAR_SAMP) && n < 2;
    switch (agg)
    {
        case AX_AGG_SUM: return sum;
        case AX_AGG_AVG:
        case AX_AGG_REGR_AVGY: return my;
        case AX_AGG_REGR_AVGX: return mx;
        case AX_AGG_VAR_POP: return syy / n;
        case AX_AGG_VAR_SAMP: return syy / (n - 1.0);
        case AX_AGG_STDDEV_POP: return sqrt(syy / n);
        case AX_AGG_STDDEV_SAMP: return sqrt(syy / (n - 1.0));
        case AX_AGG_COVAR_POP: return sxy / n;
        case AX_AGG_COVAR_SAMP: return sxy / (n - 1.0);
        case AX_AGG_REGR_SXX: return sxx;
        case AX_AGG_REGR_SYY: return syy;
        case AX_AGG_REGR_SXY: return sxy;
        case AX_AGG_CORR: *null = sxx == 0 || syy == 0; return sxy / sqrt(sxx * syy);
        case AX_AGG_REGR_SLOPE: *null = sxx == 0; return sxy / sxx;
        case AX_AGG_REGR_INTERCEPT: *null = sxx == 0; return my - mx * sxy / sxx;
        default: *null = sxx == 0; return syy == 0 ? 1 : sxy * sxy / (sxx * syy);
    }
}

static void naive_kept(const ax_value *v, const uint32_t *row, uint32_t n, uint8_t agg, ax_value *o)
{
    bool max = agg == AX_AGG_MAX || agg == AX_AGG_BOOL_OR;
    ax_type type = o->type;

    for (uint32_t i = 0; i < n; i++)
    {
        const ax_value *x = &v[row[i]];
        int64_t so_far = i > 0 ? o->u.i : agg == AX_AGG_BIT_AND ? -1 : 0;

        if (agg == AX_AGG_BIT_AND)
            o->u.i = so_far & x->u.i;
        else if (agg == AX_AGG_BIT_OR)
            o->u.i = so_far | x->u.i;
        else if (agg == AX_AGG_BIT_XOR)
            o->u.i = so_far ^ x->u.i;
        else if (i == 0 || (max ? ax_value_cmp(x, o) > 0 : ax_value_cmp(x, o) < 0))
            *o = *x;
    }
    o->type = type;
}

static ax_value naive(const table *t, const ax_agg_arg *a, const uint32_t *idx, uint32_t n)
{
    ax_value o = {.type = a->type};
    const ax_value *v = a->arg_col >= 0 ? t->v[a->arg_col] : NULL;
    const ax_value *w = a->arg2_col >= 0 ? t->v[a->arg2_col] : NULL;
    uint32_t count, *row = counted(t, a, idx, n, &count);
    bool sums = a->agg == AX_AGG_SUM || a->agg == AX_AGG_AVG;
    bool real = a->arg_type.phys == AX_P_F32 || a->arg_type.phys == AX_P_F64;

    if (a->agg == AX_AGG_COUNT || a->agg == AX_AGG_COUNT_STAR || a->agg == AX_AGG_REGR_COUNT)
        o.u.i = count;
    else if (count < (samples(a->agg) ? 2 : 1))
        o.null = true;
    else if (w != NULL || (real && (sums || spreads(a->agg))))
        o.u.f = naive_float(v, w, row, count, a->agg, &o.null);
    else if (sums || spreads(a->agg))
        naive_exact(v, row, count, a->agg, &o);
    else
        naive_kept(v, row, count, a->agg, &o);
    free(row);
    return o;
}

/* Which of equal values is kept is free, and so is its scale. */
static bool any_scale(const ax_agg_arg *a)
{
    return a->distinct || a->agg == AX_AGG_MIN || a->agg == AX_AGG_MAX
        || a->agg == AX_AGG_ANY_VALUE;
}

static bool result_equal(const ax_agg_arg *arg, const ax_value *a, const ax_value *b)
{
    if (a->null || b->null)
        return a->null == b->null;
    if (a->type.phys == AX_P_F32 || a->type.phys == AX_P_F64)
        return ax_value_cmp(a, b) == 0 || fabs(a->u.f - b->u.f) <= 1e-9 * fabs(b->u.f) + 1e-9;
    if (a->type.phys == AX_P_NUM && a->u.num.dscale != b->u.num.dscale && !any_scale(arg))
        return false;
    return ax_value_cmp(a, b) == 0;
}

/* Compare all output rows with the naive result; with a group limit, compare those that came. */
static void check(const table *t, const run *r, const ax_agg_spec *s)
{
    uint32_t n, m, at = 0, ngroups = 0, matched = 0;
    uint32_t *idx = sorted_rows((const ax_value *const *) t->v, s->nkeys, t->selected, t->nrows,
                                &n);
    uint32_t *got = sorted_rows((const ax_value *const *) r->out, s->nkeys, NULL, r->nout, &m);

    if (n == 0 && s->nkeys == 0)
    {
        assert_int_equal(r->nout, 1);
        ngroups = matched = 1;
    }
    while (at < n)
    {
        uint32_t end = at + 1;
        bool same = matched < m;

        sort_cols = (const ax_value *const *) t->v;
        sort_nkeys = s->nkeys;
        while (end < n && cmp_rows(&idx[at], &idx[end]) == 0)
            end++;
        for (uint32_t k = 0; k < s->nkeys && same; k++)
            same = same_value(&t->v[k][idx[at]], &r->out[k][got[matched]]);
        ngroups++;
        if (s->group_limit > 0 && !same)
        {
            at = end;
            continue;
        }
        assert_true(same);
        for (uint32_t a = 0; a < s->nargs; a++)
        {
            ax_value want = naive(t, &s->arg[a], idx + at, end - at);

            if (!result_equal(&s->arg[a], &r->out[s->nkeys + a][got[matched]], &want))
                fail_msg("%s(%s)%s of %u rows", ax_agg_name((ax_agg_id) s->arg[a].agg),
                         ax_type_name(s->arg[a].arg_type.id), s->arg[a].distinct ? " distinct" : "",
                         end - at);
        }
        matched++;
        at = end;
    }
    assert_int_equal(matched, m);
    if (s->group_limit > 0)
        assert_true((int64_t) m >= s->group_limit || m == ngroups);
    else
        assert_int_equal(m, ngroups);
    free(idx);
    free(got);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static ax_agg_arg agg_of(uint8_t agg, const table *t, int32_t col, int32_t filter)
{
    ax_agg_arg a = {.agg = agg, .arg_col = col, .arg2_col = -1, .filter_col = filter};

    a.arg_type = col >= 0 ? t->type[col] : ax_type_make(AX_T_NONE);
    a.type = ax_agg_result((ax_agg_id) agg, a.arg_type);
    return a;
}

static ax_status create(run *r, const ax_agg_spec *s)
{
    ax_task t;
    ax_status st;

    AX_TRY(ax_task_init(&t, &r->budget, NULL));
    r->arena = ax_arena_create(&r->budget, 0);
    st = r->arena ? ax_agg_create(&t, r->arena, s, r->nlanes, &r->b) : AX_ENOMEM;
    ax_task_fini(&t);
    return st;
}

static ax_spill *spill; /* of all cases, or NULL */

/* Make small tables behave like large ones. */
static void lower_thresholds(ax_ht *ht)
{
    for (uint32_t i = 0; i < ht->nlanes && ht->group_limit == 0; i++)
    {
        ht->lane[i]->freeze_rows = 100 + below(1000);
        ht->lane[i]->bypass_rows = 3000;
        ht->lane[i]->quota_bytes = 2000 + below(30000);
        ht->lane[i]->thaw_rows = below(2) ? 5000 : UINT64_MAX;
    }
}

static void run_case(const table *t, const ax_agg_spec *s, uint32_t nlanes)
{
    run r;
    ax_agg *g;

    run_init(&r, t, nlanes, INT64_MAX);
    assert_int_equal(create(&r, s), AX_OK);
    g = (ax_agg *) (void *) r.b;
    if (below(2) || spill != NULL)
        lower_thresholds(&g->ht);
    for (uint32_t i = 0; i < g->nsets; i++)
        if (below(2) || spill != NULL)
            lower_thresholds(&g->set[i].ht);
    assert_int_equal(run_all(&r), AX_OK);
    check(t, &r, s);
    run_free(&r);
}

/* Columns behind the keys; the seventh is the filter, the last the second of two arguments. */
static const gen arg_gen[] = {
    {AX_T_INT2, 300, 10, 20}, {AX_T_INT4, 0, 10, 20},    {AX_T_INT8, 0, 5, 20},
    {AX_T_FLOAT4, 900, 10, 20}, {AX_T_FLOAT8, 900, 0, 20}, {AX_T_TEXT, 500, 10, 20},
    {AX_T_BOOL, 2, 10, 20}, {AX_T_NUMERIC, 3000, 10, 20}, {AX_T_INTERVAL, 0, 10, 20},
    {AX_T_UUID, 0, 10, 20}, {AX_T_TIME, 90000, 10, 20}, {AX_T_FLOAT8, 700, 10, 20},
};
#define NARG_COLS 12u

#define MOST_AGGS 40u

static uint32_t all_aggs(const table *t, uint32_t nkeys, bool distinct, ax_agg_arg *a)
{
    uint32_t n = 0;

    a[n++] = agg_of(AX_AGG_COUNT_STAR, t, -1, -1);
    for (uint32_t c = 0; c < NARG_COLS; c++)
        for (uint8_t g = AX_AGG_COUNT; g < AX_AGG_CNT; g++)
        {
            int32_t col = (int32_t) (nkeys + c);

            bool two = ax_agg_nargs((ax_agg_id) g) == 2;

            if (ax_agg_result((ax_agg_id) g, t->type[col]).id == AX_T_NONE || n >= MOST_AGGS
                || below(3) > 0)
                continue;
            a[n] = agg_of(g, t, col, below(4) == 0 ? (int32_t) nkeys + 6 : -1);
            a[n].arg2_col = two ? (int32_t) (nkeys + NARG_COLS) - 1 : -1;
            a[n++].distinct = distinct && !two && below(3) == 0;
        }
    return n;
}

static void random_case(const gen *keys, uint32_t nkeys, uint32_t nrows, uint32_t nlanes,
                        int64_t group_limit)
{
    gen g[24];
    table t;
    ax_agg_arg a[MOST_AGGS];
    ax_agg_spec s = {.nkeys = nkeys, .arg = a, .group_limit = group_limit, .spill = spill};

    if (nkeys > 0)
        memcpy(g, keys, sizeof(*g) * nkeys);
    memcpy(g + nkeys, arg_gen, sizeof(arg_gen));
    table_make(&t, nrows, g, nkeys + NARG_COLS, below(2) ? 100 : 30);
    s.key_type = t.type;
    s.nargs = all_aggs(&t, nkeys, below(2), a);
    run_case(&t, &s, nlanes);
    table_free(&t);
}

static void no_keys(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < ax_test_scale(20) + 1; i++)
        random_case(NULL, 0, i == 0 ? 0 : below(30000), 1 + below(4), 0);
}

static void one_key(void **state)
{
    static const ax_type_id types[] = {AX_T_BOOL, AX_T_INT2, AX_T_INT4, AX_T_INT8, AX_T_FLOAT4,
                                       AX_T_FLOAT8, AX_T_NUMERIC, AX_T_TEXT, AX_T_BYTEA, AX_T_DATE,
                                       AX_T_TIMESTAMP, AX_T_INTERVAL, AX_T_UUID};

    (void) state;
    for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (uint32_t dom = 1; dom < 200000; dom = dom * 30 + 7)
        {
            gen g = {types[i], dom, below(2) * 10, below(2) * 70};

            random_case(&g, 1, below(ax_test_scale(12000)), 1 + 3 * below(2), 0);
        }
}

static void many_keys(void **state)
{
    static const ax_type_id types[] = {AX_T_BOOL, AX_T_INT2, AX_T_INT4, AX_T_INT8, AX_T_FLOAT8,
                                       AX_T_NUMERIC, AX_T_TEXT, AX_T_INTERVAL, AX_T_UUID,
                                       AX_T_TEXT, AX_T_INT4};

    (void) state;
    for (uint32_t i = 0; i < ax_test_scale(25); i++)
    {
        gen g[8];
        uint32_t nkeys = 2 + below(6);

        for (uint32_t k = 0; k < nkeys; k++)
            g[k] = (gen){types[below(11)], 1 + below(below(2) ? 4 : 60), below(2) * 10,
                         below(2) * 70};
        random_case(g, nkeys, below(10000), 1 + 3 * below(2), 0);
    }
}

static void many_groups(void **state)
{
    static const gen one[] = {{AX_T_INT8, 0, 1, 20}};
    static const gen two[] = {{AX_T_INT8, 0, 1, 20}, {AX_T_TEXT, 700, 1, 20}};
    static const gen text[] = {{AX_T_TEXT, 100000, 1, 20}};

    (void) state;
    for (uint32_t lanes = 1; lanes <= 4; lanes += 3)
    {
        random_case(one, 1, ax_test_scale(100000), lanes, 0);
        random_case(two, 2, ax_test_scale(80000), lanes, 0);
        random_case(text, 1, ax_test_scale(100000), lanes, 0);
    }
}

/* Many pairs with no, few and many groups; each in several parts. */
static void many_distinct(void **state)
{
    static const gen g[] = {{AX_T_INT4, 40, 1, 20}, {AX_T_TEXT, 60000, 1, 20},
                            {AX_T_INT8, 0, 1, 0}};

    (void) state;
    for (uint32_t i = 0; i < 6; i++)
    {
        gen c[4] = {g[i % 3], {AX_T_INT8, 50000, 5, 20}, {AX_T_TEXT, 0, 5, 20},
                    {AX_T_BOOL, 2, 5, 0}};
        ax_agg_arg a[5];
        ax_agg_spec s = {.nkeys = i / 3 % 2, .arg = a, .nargs = 5};
        table t;

        table_make(&t, ax_test_scale(80000), c, 4, 100);
        s.key_type = t.type;
        a[0] = agg_of(AX_AGG_COUNT, &t, 1, -1);
        a[1] = agg_of(AX_AGG_COUNT, &t, 2, -1);
        a[2] = agg_of(AX_AGG_COUNT, &t, 1, 3);
        a[3] = agg_of(AX_AGG_SUM, &t, 1, -1);
        a[4] = agg_of(AX_AGG_AVG, &t, 1, -1);
        a[0].distinct = a[1].distinct = a[2].distinct = a[3].distinct = true;
        run_case(&t, &s, 1 + 3 * (i & 1));
        table_free(&t);
    }
}

static void group_limit(void **state)
{
    static const gen g[] = {{AX_T_INT8, 5000, 1, 20}, {AX_T_TEXT, 50, 1, 20}};

    (void) state;
    for (uint32_t i = 0; i < 8; i++)
        random_case(g, 1 + i % 2, ax_test_scale(20000), 1 + 3 * below(2), 1 + below(40));
    random_case(g, 2, ax_test_scale(60000), 4, ax_test_scale(20000));
}

/* All tables think that memory is short and write what they stage to a file. */
static void spilled(void **state)
{
    static const gen g[] = {
        {AX_T_INT8, 9000, 1, 20}, {AX_T_TEXT, 700, 3, 20}, {AX_T_TEXT, 0, 1, 20}};
    ax_budget full = {.used_bytes = 1000, .limit_bytes = 1000};
    ax_spill file;
    uint32_t times = 0;
    FILE *f = tmpfile();

    (void) state;
    assert_non_null(f);
    for (uint32_t i = 0; i < 16; i++)
    {
        ax_spill_init(&file, &full, true, 0);
        ax_spill_give(&file, dup(fileno(f)));
        spill = &file;
        random_case(g + i % 3, 1 + i % 2 * (i % 3 < 2), 12000, 1 + i % 4, 0);
        random_case(g, 3, 12000, 1 + i % 8, i % 4 ? 0 : 20);
        times += file.end_bytes > 0;
        ax_spill_close(&file);
    }
    assert_true(times > 8); /* a table of few groups does not */
    spill = NULL;
    fclose(f);
}

/* The file is refused, at its limit, or cut by somebody: an error or the right result. */
static void spill_fails(void **state)
{
    static const gen g[] = {{AX_T_INT8, 0, 1, 20}};
    ax_budget full = {.used_bytes = 1000, .limit_bytes = 1000};
    ax_agg_spec s = {.nkeys = 1};
    ax_spill file;
    table t;

    (void) state;
    table_make(&t, 30000, g, 1, 100);
    s.key_type = t.type;
    s.spill = &file;
    for (uint32_t i = 0; i < 3; i++)
    {
        FILE *f = tmpfile();
        ax_status st;
        run r;

        ax_spill_init(&file, &full, true, i == 1 ? 100 : 0);
        ax_spill_give(&file, i == 0 ? -1 : dup(fileno(f)));
        run_init(&r, &t, 2, INT64_MAX);
        assert_int_equal(create(&r, &s), AX_OK);
        lower_thresholds(&((ax_agg *) (void *) r.b)->ht);
        for (uint32_t k = 0; k < 2; k++)
        {
            ax_ht_lane *l = ((ax_agg *) (void *) r.b)->ht.lane[k];

            l->thaw_rows = UINT64_MAX;
            l->quota_bytes = 4000;
        }
        st = on_lanes(&r, feed_thread);
        if (i == 2)
        {
            assert_int_equal(st, AX_OK);
            assert_true(file.end_bytes > 0);
            assert_int_equal(ftruncate(fileno(f), 0), 0);
        }
        if (st == AX_OK)
            st = run_all_fed(&r);
        assert_int_equal(st, i == 0 ? AX_OK : i == 1 ? AX_ELIMIT : AX_EIO);
        if (i == 0)
            check(&t, &r, &s);
        run_free(&r);
        ax_spill_close(&file);
        fclose(f);
    }
    table_free(&t);
}

/* Rows of out[col] that are wanted under this bound. */
static uint32_t wanted(const run *r, uint32_t col, const ax_order_key *top, bool ties,
                       int64_t bound)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->nout; i++)
    {
        const ax_value *v = &r->out[col][i];

        n += v->null || (top->desc ? v->u.i > bound : v->u.i < bound)
          || (ties && v->u.i == bound);
    }
    return n;
}

/* With a bound come exactly the groups that it does not exclude, with their right results. */
static void top_groups(void **state)
{
    static const gen g[] = {{AX_T_INT4, 3000, 2, 20}, {AX_T_INT2, 40, 60, 20}};
    ax_agg_arg a[2];
    ax_agg_spec s = {.nkeys = 1, .arg = a, .nargs = 2};
    table t;

    (void) state;
    table_make(&t, ax_test_scale(30000), g, 2, 100);
    s.key_type = t.type;
    a[0] = agg_of(AX_AGG_COUNT_STAR, &t, -1, -1);
    a[1] = agg_of(AX_AGG_SUM, &t, 1, -1);
    for (uint32_t i = 0; i < 24; i++)
    {
        ax_order_key top = {.col = i % 3, .desc = i / 3 % 2};
        ax_value bound = {.type = ax_type_make(AX_T_INT8)};
        ax_agg_spec with = s;
        run all, some;
        ax_task task;

        run_init(&all, &t, 2, INT64_MAX);
        assert_int_equal(create(&all, &s), AX_OK);
        assert_int_equal(run_all(&all), AX_OK);
        check(&t, &all, &s);
        bound.u.i = all.out[top.col][below(all.nout)].u.i;
        with.top = &top;
        with.top_ties = i / 6 % 2;
        run_init(&some, &t, 2, INT64_MAX);
        assert_int_equal(create(&some, &with), AX_OK);
        lower_thresholds(&((ax_agg *) (void *) some.b)->ht);
        assert_int_equal(on_lanes(&some, feed_thread), AX_OK);
        assert_int_equal(ax_task_init(&task, &some.budget, NULL), AX_OK);
        assert_int_equal(some.b->ops->prepare(&task, some.b, &some.nparts), AX_OK);
        ax_task_fini(&task);
        ax_agg_tighten(some.b, &bound);
        assert_int_equal(on_lanes(&some, drain_thread), AX_OK);
        assert_int_equal(some.nout, wanted(&all, top.col, &top, with.top_ties, bound.u.i));
        assert_int_equal(some.nout, wanted(&some, top.col, &top, with.top_ties, bound.u.i));
        for (uint32_t k = 0; k < some.nout; k++)
        {
            uint32_t m = 0;

            while (m < all.nout && !same_value(&some.out[0][k], &all.out[0][m]))
                m++;
            assert_true(m < all.nout && same_value(&some.out[1][k], &all.out[1][m])
                        && same_value(&some.out[2][k], &all.out[2][m]));
        }
        run_free(&all);
        run_free(&some);
    }
    table_free(&t);
}

/* Everything is given back and reported as out of memory, wherever the budget ends. */
static void budget(void **state)
{
    static const gen g[] = {{AX_T_INT8, 0, 1, 20}, {AX_T_TEXT, 700, 1, 20}, {AX_T_INT4, 0, 1, 20}};
    ax_agg_arg a[3];
    ax_agg_spec s = {.nkeys = 2, .arg = a, .nargs = 3};
    bool done = false;
    table t;

    (void) state;
    table_make(&t, ax_test_scale(30000), g, 3, 100);
    s.key_type = t.type;
    a[0] = agg_of(AX_AGG_COUNT_STAR, &t, -1, -1);
    a[1] = agg_of(AX_AGG_AVG, &t, 2, -1);
    a[2] = agg_of(AX_AGG_MIN, &t, 1, -1);
    for (int64_t limit = 1000; !done; limit += limit / 5)
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
    table_free(&t);
}

static void stopped(void **state)
{
    static const gen g[] = {{AX_T_INT8, 0, 1, 20}};
    ax_agg_spec s = {.nkeys = 1};
    table t;
    run r;

    (void) state;
    table_make(&t, 5000, g, 1, 100);
    s.key_type = t.type;
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

static ax_status sum_of(ax_type_id type, uint8_t agg, const ax_value *v, uint32_t n, ax_value *out)
{
    ax_agg_arg a;
    ax_agg_spec s = {.arg = &a, .nargs = 1};
    uint8_t *sel = (uint8_t *) malloc(n);
    table t = {.nrows = n, .ncols = 1, .selected = sel, .v = {(ax_value *) (uintptr_t) v}};
    ax_status st;
    run r;

    memset(sel, 1, n);
    t.type[0] = ax_type_make(type);
    a = agg_of(agg, &t, 0, -1);
    run_init(&r, &t, 1, INT64_MAX);
    assert_int_equal(create(&r, &s), AX_OK);
    st = run_all(&r);
    if (st == AX_OK)
        *out = r.out[0][0];
    run_free(&r);
    free(sel);
    return st;
}

static void float_sums(void **state)
{
    ax_value v[3] = {{.type = ax_type_make(AX_T_FLOAT8)}};
    ax_value o;

    (void) state;
    v[1] = v[2] = v[0];
    v[0].u.f = v[1].u.f = 1e308;
    assert_int_equal(sum_of(AX_T_FLOAT8, AX_AGG_SUM, v, 2, &o), AX_ERANGE);
    assert_int_equal(sum_of(AX_T_FLOAT8, AX_AGG_AVG, v, 2, &o), AX_ERANGE);
    v[0].u.f = INFINITY;
    assert_int_equal(sum_of(AX_T_FLOAT8, AX_AGG_SUM, v, 2, &o), AX_OK);
    assert_true(isinf(o.u.f));
    assert_int_equal(sum_of(AX_T_FLOAT8, AX_AGG_AVG, v, 2, &o), AX_OK);
    assert_true(isinf(o.u.f));
    v[1].u.f = -INFINITY;
    assert_int_equal(sum_of(AX_T_FLOAT8, AX_AGG_SUM, v, 2, &o), AX_OK);
    assert_true(isnan(o.u.f));
    v[0].u.f = 1e200; /* Sxx overflows */
    v[1].u.f = -1e200;
    assert_int_equal(sum_of(AX_T_FLOAT8, AX_AGG_AVG, v, 2, &o), AX_ERANGE);
    v[0].u.f = 16777216;
    v[1].u.f = v[2].u.f = 1;
    v[0].type = v[1].type = v[2].type = ax_type_make(AX_T_FLOAT4);
    assert_int_equal(sum_of(AX_T_FLOAT4, AX_AGG_SUM, v, 3, &o), AX_OK);
    assert_true(o.u.f == 16777216);
}

static void sum_int8_is_exact(void **state)
{
    ax_value v[3] = {{.type = ax_type_make(AX_T_INT8)}};
    ax_value o;

    (void) state;
    v[0].u.i = INT64_MAX;
    v[1] = v[2] = v[0];
    assert_int_equal(sum_of(AX_T_INT8, AX_AGG_SUM, v, 3, &o), AX_OK);
    assert_true(o.u.num.v == (ax_i128) INT64_MAX * 3 && o.u.num.dscale == 0);
    v[0].u.i = v[1].u.i = v[2].u.i = INT64_MIN;
    assert_int_equal(sum_of(AX_T_INT8, AX_AGG_SUM, v, 3, &o), AX_OK);
    assert_true(o.u.num.v == (ax_i128) INT64_MIN * 3);
}

/* Made by tools outside: sum, count, digits without the point, scale. */
static const struct avg_case { int64_t sum; uint64_t count; const char *digits; int16_t scale; }
avg_cases[] = {
    {3, 2, "15000000000000000", 16},
    {1, 3, "33333333333333333333", 20},
    {1000000, 3, "333333333333333333", 12},
    {0, 5, "0", 20},
#include "exec/avg_cases.inc"
};

static void averages(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < sizeof(avg_cases) / sizeof(avg_cases[0]); i++)
    {
        const struct avg_case *c = &avg_cases[i];
        ax_num got = ax_num_avg(c->sum, c->count);
        const char *d = c->digits;
        ax_i128 want = 0;

        for (d += *d == '-'; *d; d++)
            want = want * 10 + (*d - '0');
        if (c->digits[0] == '-')
            want = -want;
        assert_int_equal(got.dscale, c->scale);
        assert_true(got.v == want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_keys),    cmocka_unit_test(one_key),
        cmocka_unit_test(many_keys),  cmocka_unit_test(many_groups),
        cmocka_unit_test(many_distinct),
        cmocka_unit_test(group_limit), cmocka_unit_test(top_groups),
        cmocka_unit_test(spilled), cmocka_unit_test(spill_fails),
        cmocka_unit_test(budget),
        cmocka_unit_test(stopped),    cmocka_unit_test(float_sums),
        cmocka_unit_test(sum_int8_is_exact), cmocka_unit_test(averages),
    };

    int failed;

    if (getenv("AX_SEED") != NULL)
        seed = strtoull(getenv("AX_SEED"), NULL, 0) | 1;
    ax_budget_init(&naive_budget, "naive", INT64_MAX, NULL);
    if (ax_task_init(&naive_task, &naive_budget, NULL) != AX_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    ax_task_fini(&naive_task);
    return failed;
}
