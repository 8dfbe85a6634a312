/* Merges of ordered splits against what a loop over sorted rows makes of them. */
#include "fake_host_test.h"

enum { MOST = 60000 };

static ff_row rows[MOST];
static uint32_t nrows, per_split;

static void row_of(uint64_t n, ff_row *r) { *r = rows[n]; }

static int by_id(const void *a, const void *b)
{
    const ff_row *x = (const ff_row *) a, *y = (const ff_row *) b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return strcmp(x->s, y->s); /* s tells where the row was made */
}

/* spread: ids of a split lie within so many of its own; 0: in all of them. */
static void make_rows(uint32_t nsplits, uint32_t n, uint32_t nids, uint32_t spread, uint32_t seed)
{
    uint64_t x = seed * 2654435761u + 1;

    per_split = n;
    nrows = nsplits * n;
    assert_true(nrows <= MOST);
    for (uint32_t i = 0; i < nrows; i++)
    {
        uint32_t r;

        x = x * 6364136223846793005u + 1442695040888963407u;
        r = (uint32_t) (x >> 33);
        rows[i].id = spread > 0 ? (int64_t) (i / n) * spread + r % spread : r % nids;
        rows[i].v = (int64_t) (r / nids % 5) - 2;
        rows[i].d = ff_rule == AX_FINAL_LAST ? r / 1000 % 4 == 0 : r / 1000 % 2 == 0 ? 1 : -1;
        snprintf(rows[i].s, sizeof rows[i].s, "%06u", i);
    }
    for (uint32_t s = 0; s < nsplits; s++)
        qsort(rows + (size_t) s * n, n, sizeof *rows, by_id);
    for (uint32_t i = 0; i < nrows; i++)
        snprintf(rows[i].s, sizeof rows[i].s, "%06u", i);
}

/* What becomes of the rows [0, n) of one key, in order; returns how many. */
static uint32_t one_key(ff_row *r, uint32_t n)
{
    uint32_t best = UINT32_MAX, plus = 0, left = 0;
    int64_t sum = 0;

    switch ((ax_final_rule) ff_rule)
    {
        case AX_FINAL_LAST:
            best = 0;
            for (uint32_t i = 1; i < n; i++)
                best = r[i].v >= r[best].v ? i : best;
            r[0] = r[best];
            return r[0].d == 0;
        case AX_FINAL_COLLAPSE:
            for (uint32_t i = 0; i < n; i++)
            {
                plus += r[i].d > 0;
                best = r[i].d > 0 ? i : best;
            }
            if (!(2 * plus > n || (2 * plus == n && r[n - 1].d > 0)))
                return 0;
            r[0] = r[best];
            return 1;
        case AX_FINAL_CANCEL:
            for (uint32_t i = 0; i < n; i++)
                if (left > 0 && r[left - 1].d != r[i].d)
                    left--;
                else
                    r[left++] = r[i];
            return left;
        case AX_FINAL_FOLD:
            for (uint32_t i = 0; i < n; i++)
            {
                sum += r[i].v;
                r[0].d = r[i].d > r[0].d ? r[i].d : r[0].d;
                memmove(r[0].s, r[i].s, sizeof r[0].s);
            }
            r[0].v = sum;
            return sum != 0;
        default:
            return n;
    }
}

static uint32_t expected(ff_row *out)
{
    uint32_t n = 0, i = 0;

    memcpy(out, rows, nrows * sizeof *out);
    qsort(out, nrows, sizeof *out, by_id);
    while (i < nrows)
    {
        uint32_t end = i + 1, k;

        while (end < nrows && out[end].id == out[i].id)
            end++;
        k = one_key(out + i, end - i);
        memmove(out + n, out + i, k * sizeof *out);
        n += k;
        i = end;
    }
    return n;
}

static void check_merge(uint32_t nsplits, uint32_t n, uint32_t nids, uint32_t spread,
                        uint32_t granule, uint32_t seed)
{
    static ff_row want[MOST];
    uint32_t at = 0, nwant;
    ax_next last;
    ax_query *q;
    ax_batch *b;
    host h;

    make_rows(nsplits, n, nids, spread, seed);
    nwant = expected(want);
    host_begin(&h, 2, 50);
    h.merged = true;
    host_table(&h, nsplits, n, granule, row_of);
    host_plan(&h);
    assert_non_null(ax_plan_merge_final(h.plan, x_scan(&h, 0, NULL)));
    q = host_start(&h);
    while ((last = host_next(&h, q, &b)) == AX_NEXT_BATCH)
        for (uint32_t k = 0; k < b->nsel; k++, at++)
        {
            uint32_t i = b->sel != NULL ? b->sel[k] : k;
            ax_value s = ax_vec_value(&b->col[3], i);

            if (at >= nwant || ax_vec_value(&b->col[0], i).u.i != want[at].id ||
                ax_vec_value(&b->col[1], i).u.i != want[at].v ||
                ax_vec_value(&b->col[2], i).u.i != want[at].d || s.u.s.len != 6 ||
                memcmp(s.u.s.p, want[at].s, 6) != 0)
                fail_msg("seed %u, rule %u: row %u differs", seed, ff_rule, at);
        }
    assert_int_equal(last, AX_NEXT_DONE);
    assert_int_equal(at, nwant);
    ax_query_destroy(q);
    host_end(&h);
}

static void rows_of_a_key_become_one(void **state)
{
    static const uint8_t rules[] = {AX_FINAL_NONE, AX_FINAL_LAST, AX_FINAL_COLLAPSE,
                                    AX_FINAL_CANCEL, AX_FINAL_FOLD};

    (void) state;
    for (uint32_t i = 0; i < sizeof rules; i++)
    {
        ff_rule = rules[i];
        check_merge(5, 4000, 3000, 0, 300, 1);
        check_merge(3, 9000, 7, 0, 1000, 2);    /* keys longer than batches */
        check_merge(8, 2500, 1, 5000, 700, 3);  /* splits that do not overlap */
        check_merge(1, 5000, 2500, 0, 900, 4);
        check_merge(16, 50, 400, 0, 10, 5);
        check_merge(2, 20000, 1, 0, 2000, 6);   /* one key of all */
    }
    ff_rule = AX_FINAL_LAST;
}

/* Conditions look at what the merge leaves; those on the key may leave granules out. */
static void conditions_come_after_the_merge(void **state)
{
    static ff_row want[MOST];
    uint32_t nwant, n[2] = {0, 0};

    (void) state;
    ff_rule = AX_FINAL_LAST;
    make_rows(6, 4000, 9000, 0, 7);
    nwant = expected(want);
    for (uint32_t on_key = 0; on_key < 2; on_key++)
    {
        uint64_t looked_at = 0;
        ax_profile p;
        ax_query *q;
        ax_batch *b;
        ax_expr *e;
        host h;

        host_begin(&h, 2, 50);
        h.merged = true;
        host_table(&h, 6, 4000, 100, row_of);
        host_plan(&h);
        e = on_key ? x_call(&h, AX_FN_LT, x_col(&h, 0), x_int8(&h, 500))
                   : x_call(&h, AX_FN_EQ, x_col(&h, 1), x_int8(&h, -2));
        assert_non_null(ax_plan_filter(h.plan, ax_plan_merge_final(h.plan, x_scan(&h, 0, NULL)),
                                       &e, 1));
        q = host_start(&h);
        while (host_next(&h, q, &b) == AX_NEXT_BATCH)
            n[on_key] += b->nsel;
        ax_query_profile(q, &p);
        looked_at = p.scan.rows_read;
        assert_true(on_key ? looked_at < 6 * 4000 / 4 : looked_at == 6 * 4000);
        ax_query_destroy(q);
        host_end(&h);
    }
    for (uint32_t i = 0; i < nwant; i++)
    {
        n[1] -= want[i].id < 500;
        n[0] -= want[i].v == -2;
    }
    assert_int_equal(n[0], 0);
    assert_int_equal(n[1], 0);
}

static void a_merge_finds_rows_out_of_order(void **state)
{
    ax_query *q;
    ax_batch *b;
    ax_next n;
    host h;

    (void) state;
    ff_rule = AX_FINAL_LAST;
    make_rows(2, 1000, 5000, 0, 8);
    rows[1777].id = rows[1500].id - 1; /* in another granule than its neighbours' check */
    host_begin(&h, 2, 0);
    h.merged = true;
    host_table(&h, 2, 1000, 250, row_of);
    host_plan(&h);
    assert_non_null(ax_plan_merge_final(h.plan, x_scan(&h, 0, NULL)));
    q = host_start(&h);
    while ((n = host_next(&h, q, &b)) == AX_NEXT_BATCH)
        ;
    assert_int_equal(n, AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_ECORRUPT);
    ax_query_destroy(q);
    host_end(&h);
}

/* A merge that nobody reads to its end gives everything back, at any moment. */
static void a_merge_ends_in_the_middle(void **state)
{
    (void) state;
    for (uint32_t taken = 0; taken < 4; taken++)
    {
        ax_query *q;
        ax_batch *b;
        host h;

        ff_rule = taken % 2 == 0 ? AX_FINAL_CANCEL : AX_FINAL_FOLD;
        make_rows(4, 9000, 20, 0, 9);
        host_begin(&h, 2, 100);
        h.merged = true;
        host_table(&h, 4, 9000, 400, row_of);
        host_plan(&h);
        assert_non_null(ax_plan_merge_final(h.plan, x_scan(&h, 0, NULL)));
        q = host_start(&h);
        for (uint32_t i = 0; i < taken; i++)
            (void) ax_query_next(q, &b);
        ax_query_stop(q);
        ax_query_destroy(q);
        host_end(&h);
    }
    ff_rule = AX_FINAL_LAST;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_key_become_one),
        cmocka_unit_test(conditions_come_after_the_merge),
        cmocka_unit_test(a_merge_finds_rows_out_of_order),
        cmocka_unit_test(a_merge_ends_in_the_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
