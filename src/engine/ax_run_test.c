/* Runs: breakers end to end, metadata answers, parameters, deferred errors, and everything about
 * ending: undrained queries on one thread, stop and destroy in every state, at random moments. */
#include "fake_host_test.h"

#define ROWS 30000u

static ax_node *aggregate(host *h, ax_node *child, ax_expr *key, ax_agg_id agg, ax_expr *arg)
{
    ax_agg_call call = {.agg = (uint8_t) agg, .arg = arg};
    ax_node *n = ax_plan_aggregate(h->plan, child, &key, key != NULL ? 1 : 0, &call, 1);

    if (n == NULL)
        print_message("aggregate: %s\n", h->plan->task.err.msg);
    assert_non_null(n);
    return n;
}

static void begin(host *h, uint32_t threads)
{
    host_begin(h, threads, 100);
    host_table(h, 6, ROWS / 6, 500, row_plain);
    host_plan(h);
}

/* ---- breakers -------------------------------------------------------------------------------- */

static void groups_are_complete(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 3; threads++)
    {
        host h;
        ax_expr *out[2];
        ax_node *n;
        ax_profile p;
        ax_query *q;
        sums s;

        begin(&h, threads);
        n = aggregate(&h, x_scan(&h, 0, NULL), x_col(&h, 2), AX_AGG_COUNT_STAR, NULL);
        assert_int_equal(ax_expr_col(&h.plan->task, h.plan->arena, 1, n->type[1], &out[0]), AX_OK);
        assert_non_null(ax_plan_project(h.plan, n, out, 1));
        q = host_start(&h);
        s = host_drain(&h, q);
        assert_int_equal(s.last, AX_NEXT_DONE);
        assert_int_equal(s.rows, 7);
        assert_int_equal(s.sum, ROWS);
        ax_query_profile(q, &p);
        assert_int_equal(p.groups, 7);
        assert_false(p.from_metadata);
        ax_query_destroy(q);
        host_end(&h);
    }
}

static void no_rows_are_one_group_without_keys(void **state)
{
    host h;
    sums s;

    (void) state;
    begin(&h, 2);
    aggregate(&h, x_scan(&h, 0, x_call(&h, AX_FN_LT, x_col(&h, 1), x_int8(&h, 0))), NULL,
              AX_AGG_COUNT, x_col(&h, 0));
    s = host_run(&h);
    assert_int_equal(s.rows, 1);
    assert_int_equal(s.sum, 0);
    host_plan(&h);
    aggregate(&h, x_scan(&h, 0, x_call(&h, AX_FN_LT, x_col(&h, 1), x_int8(&h, 0))), x_col(&h, 2),
              AX_AGG_COUNT_STAR, NULL);
    assert_int_equal(host_run(&h).rows, 0);
    host_end(&h);
}

/* count(*) where id < bound: splits that match as a whole are not read. */
static void counts_come_from_metadata(void **state)
{
    static const struct { int64_t bound; bool all; } cases[] = {
        {-1, true}, {0, true}, {ROWS / 6, true}, {ROWS / 3 + 250, false}, {ROWS * 2, true}};

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int allowed = 0; allowed < 2; allowed++)
        {
            int64_t bound = cases[i].bound;
            host h;
            ax_expr *cond = NULL;
            ax_query_opts o;
            ax_query *q;
            ax_profile p;
            int before;
            sums s;

            begin(&h, 2);
            if (bound >= 0)
                cond = x_call(&h, AX_FN_LT, x_col(&h, 0), x_int8(&h, bound));
            aggregate(&h, x_scan(&h, 0, cond), NULL, AX_AGG_COUNT_STAR, NULL);
            o = host_opts(&h);
            if (!allowed)
                o.allow &= ~(uint32_t) AX_ALLOW_METADATA_AGG;
            before = atomic_load(&ff_blocks);
            q = host_start_with(&h, &o);
            s = host_drain(&h, q);
            assert_int_equal(s.rows, 1);
            assert_int_equal(s.sum, bound < 0 || bound > ROWS ? ROWS : bound);
            ax_query_profile(q, &p);
            assert_int_equal(p.from_metadata, allowed && cases[i].all);
            if (allowed)
                assert_int_equal(atomic_load(&ff_blocks) - before, cases[i].all ? 0 : 1);
            ax_query_destroy(q);
            host_end(&h);
        }
}

/* min and max of a column with exact bounds, with and without a filter that cuts a split. */
static void extremes_come_from_metadata(void **state)
{
    (void) state;
    for (int cut = 0; cut < 2; cut++)
    {
        host h;
        ax_expr *cond = NULL;
        ax_agg_call call[4] = {{.agg = AX_AGG_MIN}, {.agg = AX_AGG_MAX}, {.agg = AX_AGG_COUNT},
                               {.agg = AX_AGG_COUNT_STAR}};
        ax_query *q;
        ax_profile p;
        ax_batch *b;
        int64_t lo = cut ? 250 : 0;

        begin(&h, 2);
        if (cut)
            cond = x_call(&h, AX_FN_GE, x_col(&h, 0), x_int8(&h, lo));
        for (int i = 0; i < 3; i++)
            call[i].arg = x_col(&h, 0);
        assert_non_null(ax_plan_aggregate(h.plan, x_scan(&h, 0, cond), NULL, 0, call, 4));
        q = host_start(&h);
        assert_int_equal(host_next(&h, q, &b), AX_NEXT_BATCH);
        assert_int_equal(ax_vec_value(&b->col[0], 0).u.i, lo);
        assert_int_equal(ax_vec_value(&b->col[1], 0).u.i, ROWS - 1);
        assert_int_equal(ax_vec_value(&b->col[2], 0).u.i, ROWS - lo);
        assert_int_equal(ax_vec_value(&b->col[3], 0).u.i, ROWS - lo);
        assert_int_equal(host_next(&h, q, &b), AX_NEXT_DONE);
        ax_query_profile(q, &p);
        assert_int_equal(p.from_metadata, !cut);
        assert_int_equal(p.scan.rows_read, cut ? ROWS / 6 : 0);
        ax_query_destroy(q);
        host_end(&h);
    }
}

static void top_n_is_exact_and_skips(void **state)
{
    (void) state;
    for (int desc = 0; desc < 2; desc++)
        for (int live = 0; live < 2; live++)
        {
            ax_sort_key key = {0, desc, desc};
            host h;
            ax_query_opts o;
            ax_query *q;
            ax_profile p;
            sums s;

            begin(&h, 2);
            assert_non_null(ax_plan_topn(h.plan, x_scan(&h, 0, NULL), &key, 1, x_int8(&h, 10),
                                         x_int8(&h, 5)));
            o = host_opts(&h);
            if (!live)
                o.allow &= ~(uint32_t) AX_ALLOW_LIVE;
            q = host_start_with(&h, &o);
            s = host_drain(&h, q);
            assert_int_equal(s.rows, 10);
            assert_int_equal(s.sum, desc ? 10 * (ROWS - 6) - 45 : 50 + 45);
            ax_query_profile(q, &p);
            if (!live)
                assert_int_equal(p.scan.rows_read, ROWS);
            else /* best splits first, so that others need not be read */
                assert_true(p.splits_pruned[AX_PRUNED_MINMAX] >= 3);
            ax_query_destroy(q);
            host_end(&h);
        }
}

/* Rows of a top-N by column d, then id; computed: its first column is an expression. */
static void late_plan(host *h, bool computed, int64_t limit, int64_t offset)
{
    ax_node *n = x_scan(h, 0, x_call(h, AX_FN_GE, x_col(h, 0), x_int8(h, 100)));
    ax_sort_key key[2] = {{2, false, false}, {0, true, false}};
    ax_expr *e[4] = {x_col(h, 0), x_col(h, 1), x_col(h, 2), x_col(h, 3)};

    if (computed)
        e[1] = x_call(h, AX_FN_EQ, x_col(h, 1), x_int8(h, 3));
    n = ax_plan_project(h->plan, n, e, 4);
    assert_non_null(
        ax_plan_topn(h->plan, n, key, 2, x_int8(h, limit), x_int8(h, offset)));
}

static void late_columns_are_those_of_the_winners(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 3; threads++)
        for (int lazy = 0; lazy < 2; lazy++)
            for (int computed = 0; computed < 2; computed++)
                for (int64_t limit = 1; limit <= 2000; limit = limit * 12 + 1)
                {
                    int64_t at = 3, d = 0, id = ROWS - 1;
                    ax_query_opts o;
                    ax_profile p;
                    ax_query *q;
                    ax_batch *b;
                    host h;

                    begin(&h, threads);
                    late_plan(&h, computed, limit, at);
                    o = host_opts(&h);
                    if (!lazy)
                        o.allow &= ~(uint32_t) AX_ALLOW_LAZY;
                    q = host_start_with(&h, &o);
                    for (; id % 7 != 0; id--)
                        ;
                    id -= 7 * at;
                    while (host_next(&h, q, &b) == AX_NEXT_BATCH)
                        for (uint32_t i = 0; i < b->nsel; i++, at++)
                        {
                            ax_value v1 = ax_vec_value(&b->col[1], i);
                            ax_value s = ax_vec_value(&b->col[3], i);
                            ff_row r;

                            assert_int_equal(b->ncols, 4);
                            if (id < 100) /* the next d, from its last id */
                                for (d++, id = ROWS - 1; id % 7 != d; id--)
                                    ;
                            row_plain((uint64_t) id, &r);
                            assert_int_equal(ax_vec_value(&b->col[0], i).u.i, r.id);
                            assert_int_equal(v1.u.i, computed ? r.v == 3 : r.v);
                            assert_int_equal(ax_vec_value(&b->col[2], i).u.i, r.d);
                            assert_int_equal(s.u.s.len, strlen(r.s));
                            assert_memory_equal(s.u.s.p, r.s, s.u.s.len);
                            id -= 7;
                        }
                    assert_int_equal(at, limit + 3);
                    ax_query_profile(q, &p);
                    assert_int_equal(p.late_columns, lazy ? 2 - computed : 0);
                    assert_int_equal(p.late_of, lazy ? 4 : 0);
                    ax_query_destroy(q);
                    host_end(&h);
                }
}

static void sort_is_ordered(void **state)
{
    ax_sort_key key[2] = {{2, true, true}, {0, false, false}};
    host h;
    ax_query *q;
    ax_batch *b;
    int64_t d = 7, id = -1;
    uint32_t rows = 0;

    (void) state;
    begin(&h, 3);
    assert_non_null(ax_plan_sort(h.plan, x_scan(&h, 0, NULL), key, 2));
    q = host_start(&h);
    while (host_next(&h, q, &b) == AX_NEXT_BATCH)
        for (uint32_t i = 0; i < b->nsel; i++, rows++)
        {
            int64_t d2 = ax_vec_value(&b->col[2], i).u.i, id2 = ax_vec_value(&b->col[0], i).u.i;

            assert_true(d2 < d || (d2 == d && id2 > id));
            d = d2;
            id = id2;
        }
    assert_int_equal(rows, ROWS);
    ax_query_destroy(q);
    host_end(&h);
}

static void distinct_and_union(void **state)
{
    host h;
    ax_expr *d;
    ax_node *kids[2];
    sums s;

    (void) state;
    begin(&h, 2);
    d = x_col(&h, 2);
    ax_plan_distinct(h.plan, ax_plan_project(h.plan, x_scan(&h, 0, NULL), &d, 1));
    s = host_run(&h);
    assert_int_equal(s.rows, 7);
    assert_int_equal(s.sum, 21);
    host_plan(&h);
    for (int i = 0; i < 2; i++)
    {
        d = x_col(&h, 2);
        kids[i] = ax_plan_project(h.plan, x_scan(&h, 0, NULL), &d, 1);
    }
    assert_non_null(ax_plan_setop(h.plan, AX_SET_UNION, false, kids, 2));
    s = host_run(&h);
    assert_int_equal(s.rows, 7);
    assert_int_equal(s.sum, 21);
    host_plan(&h);
    d = x_col(&h, 2);
    kids[0] = ax_plan_distinct(h.plan, ax_plan_project(h.plan, x_scan(&h, 0, NULL), &d, 1));
    ax_plan_limit(h.plan, kids[0], x_int8(&h, 3), NULL);
    assert_int_equal(host_run(&h).rows, 3);
    host_end(&h);
}

/* DISTINCT with LIMIT ends the scan when it has its groups. */
static void distinct_with_limit_stops(void **state)
{
    (void) state;
    for (uint32_t threads = 1; threads <= 3; threads++)
        for (int64_t limit = 1; limit <= 7000; limit = limit * 9 + 5)
        {
            ax_query *q;
            ax_profile p;
            ax_expr *v;
            host h;
            sums s;

            begin(&h, threads);
            v = x_col(&h, 1);
            ax_plan_limit(h.plan,
                          ax_plan_distinct(h.plan, ax_plan_project(h.plan, x_scan(&h, 0, NULL), &v,
                                                                   1)),
                          x_int8(&h, limit), NULL);
            q = host_start(&h);
            s = host_drain(&h, q);
            assert_int_equal(s.last, AX_NEXT_DONE);
            assert_int_equal(s.rows, limit < ROWS ? limit : ROWS);
            ax_query_profile(q, &p);
            if (limit < 100 && threads == 1)
            {
                assert_true(p.scan.rows_read < ROWS / 6);
                assert_int_equal(p.splits_pruned[AX_PRUNED_LIMIT], 5);
            }
            ax_query_destroy(q);
            host_end(&h);
        }
}

/* A stack of breakers: sum of counts of groups, sorted, limited. */
static void breakers_stack(void **state)
{
    ax_sort_key key = {1, true, true};
    host h;
    ax_node *n;
    ax_expr *e;
    sums s;

    (void) state;
    begin(&h, 2);
    n = aggregate(&h, x_scan(&h, 0, NULL), x_col(&h, 2), AX_AGG_COUNT_STAR, NULL);
    n = ax_plan_sort(h.plan, n, &key, 1);
    assert_int_equal(ax_expr_col(&h.plan->task, h.plan->arena, 1, n->type[1], &e), AX_OK);
    n = aggregate(&h, n, NULL, AX_AGG_COUNT, e);
    ax_plan_limit(h.plan, n, x_int8(&h, 10), NULL);
    s = host_run(&h);
    assert_int_equal(s.rows, 1);
    assert_int_equal(s.sum, 7);
    host_end(&h);
}

static void plans_print(void **state)
{
    ax_sort_key key = {1, true, true};
    host h;
    ax_node *n;
    ax_query *q;
    ax_arena *a = NULL;

    (void) state;
    begin(&h, 2);
    n = aggregate(&h, x_scan(&h, 0, x_call(&h, AX_FN_LT, x_col(&h, 0), x_int8(&h, 5))),
                  x_col(&h, 2), AX_AGG_COUNT_STAR, NULL);
    ax_plan_topn(h.plan, n, &key, 1, x_int8(&h, 3), NULL);
    a = ax_arena_create(ax_engine_budget(h.engine), 0);
    assert_non_null(strstr(ax_plan_print(h.plan, a, false), "Top-N by ($1 desc) limit 3\n  Agg"));
    assert_non_null(strstr(ax_plan_print(h.plan, a, true), "n0 -> n1"));
    q = host_start(&h);
    assert_non_null(strstr(ax_query_pipeline(q, a, false), "Scan granules: 1 file, 6 splits"));
    assert_non_null(strstr(ax_query_pipeline(q, a, true), "digraph"));
    host_drain(&h, q);
    assert_non_null(strstr(ax_query_pipeline(q, a, false), "-> Top-N"));
    ax_query_destroy(q);
    ax_arena_destroy(a);
    host_end(&h);
}

/* ---- parameters and errors ------------------------------------------------------------------- */

static void rebind_starts_over(void **state)
{
    host h;
    ax_expr *p;
    ax_query_opts o;
    ax_query *q;
    ax_batch *b;
    ax_value v;

    (void) state;
    begin(&h, 2);
    assert_int_equal(ax_expr_param(&h.plan->task, h.plan->arena, 0, ax_type_make(AX_T_INT8), &p),
                     AX_OK);
    x_scan(&h, 0, x_call(&h, AX_FN_LT, x_col(&h, 0), p));
    o = host_opts(&h);
    ff_int8(&v, 777);
    o.params = (ax_params){&v, 1};
    q = host_start_with(&h, &o);
    assert_int_equal(host_drain(&h, q).rows, 777);
    for (int64_t i = 0; i < 20; i++)
    {
        ff_int8(&v, i * 300);
        assert_int_equal(ax_query_rebind(q, &(ax_params){&v, 1}), AX_OK);
        if (i % 3 == 1)
            (void) ax_query_next(q, &b); /* left in the middle */
        else
            assert_int_equal(host_drain(&h, q).rows, i * 300);
    }
    ax_query_stop(q);
    assert_int_equal(ax_query_next(q, &b), AX_NEXT_ERROR);
    ff_int8(&v, 5);
    assert_int_equal(ax_query_rebind(q, &(ax_params){&v, 1}), AX_OK);
    assert_int_equal(host_drain(&h, q).rows, 5);
    ax_query_destroy(q);
    host_end(&h);
}

/* v overflows at row 12345. */
static void row_overflow(uint64_t n, ff_row *r)
{
    row_plain(n, r);
    if (n == 12345)
        r->v = INT64_MAX;
}

static void row_errors_wait_for_their_turn(void **state)
{
    (void) state;
    for (int in_filter = 0; in_filter < 2; in_filter++)
        for (int limited = 0; limited < 2; limited++)
        {
            host h;
            ax_expr *e;
            ax_node *n;
            sums s;

            host_begin(&h, 2, 100);
            host_table(&h, 6, ROWS / 6, 500, row_overflow);
            host_plan(&h);
            e = x_call(&h, AX_FN_ADD, x_col(&h, 1), x_int8(&h, 1));
            if (in_filter)
                n = x_scan(&h, 0, x_call(&h, AX_FN_GT, e, x_int8(&h, 0)));
            else
                n = ax_plan_project(h.plan, x_scan(&h, 0, NULL), &e, 1);
            if (limited)
                ax_plan_limit(h.plan, n, x_int8(&h, 100), NULL);
            s = host_run(&h);
            assert_int_equal(s.last, AX_NEXT_DONE);
            assert_int_equal(s.poison, limited ? AX_OK : AX_ERANGE);
            if (limited)
                assert_int_equal(s.rows, 100);
            else
                assert_in_range(s.rows, 12345, ROWS - 1);
            host_end(&h);
        }
}

static void row_errors_below_a_breaker_fail_at_once(void **state)
{
    host h;
    ax_query *q;
    sums s;

    (void) state;
    host_begin(&h, 2, 100);
    host_table(&h, 6, ROWS / 6, 500, row_overflow);
    host_plan(&h);
    aggregate(&h, x_scan(&h, 0, NULL), NULL, AX_AGG_MAX,
              x_call(&h, AX_FN_ADD, x_col(&h, 1), x_int8(&h, 1)));
    q = host_start(&h);
    s = host_drain(&h, q);
    assert_int_equal(s.last, AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_ERANGE);
    ax_query_destroy(q);
    host_end(&h);
}

static void memory_limit_is_an_error(void **state)
{
    ax_sort_key key = {3, false, false};
    host h;
    ax_query_opts o;
    ax_query *q;
    sums s;

    (void) state;
    begin(&h, 2);
    ax_plan_sort(h.plan, x_scan(&h, 0, NULL), &key, 1);
    o = host_opts(&h);
    o.memory_limit_bytes = 1 << 20;
    q = host_start_with(&h, &o);
    s = host_drain(&h, q);
    assert_int_equal(s.last, AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_ENOMEM);
    ax_query_destroy(q);
    host_end(&h);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Two cursors on one thread: the first is left with a full queue, the second must run. */
static void two_queries_share_one_thread(void **state)
{
    host h;
    ax_query *a, *c;
    ax_batch *b;
    uint64_t rows = 0;

    (void) state;
    begin(&h, 1);
    x_scan(&h, 0, NULL);
    a = host_start(&h);
    c = host_start(&h);
    assert_int_equal(host_next(&h, a, &b), AX_NEXT_BATCH);
    rows += b->nsel;
    assert_int_equal(host_drain(&h, c).rows, ROWS);
    while (host_next(&h, a, &b) == AX_NEXT_BATCH)
        rows += b->nsel;
    assert_int_equal(rows, ROWS);
    ax_query_destroy(a);
    ax_query_destroy(c);
    host_end(&h);
}

static void stop_works_in_every_state(void **state)
{
    (void) state;
    for (int when = 0; when < 6; when++)
    {
        host h;
        ax_query *q;
        ax_batch *b;

        begin(&h, 2);
        x_scan(&h, 0, NULL);
        q = host_start(&h);
        if (when == 1)
            (void) ax_query_next(q, &b);
        if (when == 2)
            assert_int_equal(host_next(&h, q, &b), AX_NEXT_BATCH);
        if (when == 3)
            assert_int_equal(host_drain(&h, q).rows, ROWS);
        if (when == 4)
        {
            ax_fake_hold(&h.remote, true); /* reads that never answer */
            (void) ax_query_next(q, &b);
        }
        if (when == 5)
        {
            struct timespec nap = {0, 50000000};

            assert_int_equal(host_next(&h, q, &b), AX_NEXT_BATCH);
            nanosleep(&nap, NULL); /* the queue fills up, lanes park */
        }
        ax_query_stop(q);
        ax_query_stop(q);
        assert_int_equal(ax_query_next(q, &b), when == 3 ? AX_NEXT_DONE : AX_NEXT_ERROR);
        if (when != 3)
            assert_int_equal(ax_query_error(q)->code, AX_ESTOPPED);
        ax_query_stop(q);
        ax_query_destroy(q);
        ax_query_destroy(NULL);
        if (when == 4)
            ax_fake_hold(&h.remote, false);
        host_end(&h);
    }
}

static void opening_can_be_stopped(void **state)
{
    (void) state;
    for (int i = 0; i < 20; i++)
    {
        host h;
        ax_source *s;
        ax_query_opts o;
        ax_query *q;
        ax_batch *b;
        ax_error err;
        struct timespec nap = {0, i * 20000};

        begin(&h, 2);
        ax_source_destroy(h.source[0]);
        ax_engine_trim(h.engine);
        h.source[0] = NULL;
        s = host_source(&h, h.uri[0][0]);
        o = host_opts(&h);
        assert_int_equal(ax_query_open(h.engine, s, &o, &q, &err), AX_OK);
        (void) ax_query_next(q, &b);
        nanosleep(&nap, NULL);
        ax_query_destroy(q);
        ax_source_destroy(s);
        host_end(&h);
    }
}

/* A plan of a random shape over table 0. */
static void random_plan(host *h, uint32_t r)
{
    ax_sort_key key = {r & 8 ? 3u : 0u, r & 1, r & 1};
    ax_node *n;

    host_plan(h);
    n = x_scan(h, 0, r & 2 ? x_call(h, AX_FN_LT, x_col(h, 0), x_int8(h, 20000)) : NULL);
    if (r & 4)
        n = ax_plan_limit(h->plan, n, x_int8(h, r % 9000), x_int8(h, r % 500));
    switch (r / 16 % 4)
    {
    case 0:
        (void) aggregate(h, n, x_col(h, 0), AX_AGG_COUNT_STAR, NULL);
        break;
    case 1:
        (void) ax_plan_sort(h->plan, n, &key, 1);
        break;
    case 2:
        (void) ax_plan_topn(h->plan, n, &key, 1, x_int8(h, 50), NULL);
        break;
    default:
        break;
    }
}

static void stops_at_random_moments(void **state)
{
    const char *given = getenv("AX_SEED");
    uint32_t seed = given != NULL ? (uint32_t) strtoul(given, NULL, 10) : 20260801u;
    host h;

    (void) state;
    print_message("seed %u\n", seed);
    begin(&h, 3);
    for (int round = 0; round < 150; round++)
    {
        uint32_t r = seed = seed * 1664525u + 1013904223u, steps;
        ax_query *q;
        ax_batch *b;

        r >>= 8;
        random_plan(&h, r);
        q = host_start(&h);
        steps = r % 23;
        for (uint32_t i = 0; i < steps; i++)
        {
            struct timespec nap = {0, (r >> 3) % 200000};
            ax_next n = ax_query_next(q, &b);

            if (n == AX_NEXT_WAIT)
                nanosleep(&nap, NULL);
            else if (n != AX_NEXT_BATCH)
                break;
        }
        if (r & 1024)
            ax_query_stop(q);
        ax_query_destroy(q);
    }
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_complete),
        cmocka_unit_test(no_rows_are_one_group_without_keys),
        cmocka_unit_test(counts_come_from_metadata),
        cmocka_unit_test(extremes_come_from_metadata),
        cmocka_unit_test(top_n_is_exact_and_skips),
        cmocka_unit_test(late_columns_are_those_of_the_winners),
        cmocka_unit_test(sort_is_ordered),
        cmocka_unit_test(distinct_and_union),
        cmocka_unit_test(distinct_with_limit_stops),
        cmocka_unit_test(breakers_stack),
        cmocka_unit_test(plans_print),
        cmocka_unit_test(rebind_starts_over),
        cmocka_unit_test(row_errors_wait_for_their_turn),
        cmocka_unit_test(row_errors_below_a_breaker_fail_at_once),
        cmocka_unit_test(memory_limit_is_an_error),
        cmocka_unit_test(two_queries_share_one_thread),
        cmocka_unit_test(stop_works_in_every_state),
        cmocka_unit_test(opening_can_be_stopped),
        cmocka_unit_test(stops_at_random_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
