/* Proofs of the doors: rows fed by the host, functions answered by the host, ordered merges with
 * replaced rows, deletes.  The fake store and the fake format stand below all of them. */
#include "fake_host_test.h"

/* ---- rows of the host ------------------------------------------------------------------------ */

static void feed_rows(ax_query *q, int64_t from, uint32_t n, bool *full)
{
    static int64_t id[AX_BATCH_ROWS];
    ax_vec col = {.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_INT8), .n = n};
    ax_batch b = {.nrows = n, .nsel = n, .ncols = 1, .col = &col};

    for (uint32_t i = 0; i < n; i++)
        id[i] = from + i;
    col.u.data = id;
    assert_int_equal(ax_query_feed(q, 0, &b, full), AX_OK);
}

/* Feed [0, total) as the engine asks for it and drain; counts how often it was full. */
static sums feed_and_drain(host *h, ax_query *q, int64_t total, uint32_t *fulls)
{
    sums s = {0};
    int64_t fed = 0;
    bool full = false, ended = false;

    for (;;)
    {
        uint64_t seen = host_wakes(h);
        ax_batch *b;

        s.last = ax_query_next(q, &b);
        if (s.last == AX_NEXT_BATCH)
        {
            s.rows += b->nsel;
            for (uint32_t i = 0; i < b->nsel; i++)
                s.sum += ax_vec_value(&b->col[0], i).u.i;
            continue;
        }
        if (s.last != AX_NEXT_WAIT)
            return s;
        if (fed < total)
        {
            feed_rows(q, fed, 100, &full);
            fed += 100;
            *fulls += full;
        }
        else if (!ended)
        {
            assert_int_equal(ax_query_feed_end(q, 0), AX_OK);
            ended = true;
        }
        else
            full = true;
        if (full)
            host_wait(h, seen);
        full = false;
    }
}

static ax_node *x_external(host *h)
{
    ax_type t = ax_type_make(AX_T_INT8);
    ax_node *n = ax_plan_external(h->plan, 0, &t, 1);

    assert_non_null(n);
    return n;
}

static void rows_of_the_host_pass(void **state)
{
    host h;
    ax_query *q;
    ax_expr *cond;
    ax_node *n;
    uint32_t fulls = 0;
    sums s;

    (void) state;
    host_begin(&h, 2, 0);
    host_plan(&h);
    n = x_external(&h);
    cond = x_call(&h, AX_FN_GE, x_col(&h, 0), x_int8(&h, 500));
    assert_non_null(ax_plan_filter(h.plan, n, &cond, 1));
    q = host_start(&h);
    s = feed_and_drain(&h, q, 50000, &fulls);
    assert_int_equal(s.last, AX_NEXT_DONE);
    assert_int_equal(s.rows, 49500);
    assert_int_equal(s.sum, 50000ll * 49999 / 2 - 500 * 499 / 2);
    /* Once more, from the start. */
    assert_int_equal(ax_query_rebind(q, &(ax_params){NULL, 0}), AX_OK);
    s = feed_and_drain(&h, q, 1000, &fulls);
    assert_int_equal(s.rows, 500);
    ax_query_destroy(q);
    host_end(&h);
}

/* Nobody takes rows: the input fills up, and the engine says so. */
static void feeding_is_held_back(void **state)
{
    host h;
    ax_query *q;
    ax_batch *b;
    bool full = false;
    uint32_t fed = 0;

    (void) state;
    host_begin(&h, 1, 0);
    host_plan(&h);
    x_external(&h);
    q = host_start(&h);
    (void) ax_query_next(q, &b);
    while (!full && fed < 1000)
    {
        struct timespec nap = {0, 200000};

        feed_rows(q, 0, 10, &full);
        fed++;
        nanosleep(&nap, NULL);
    }
    assert_true(full);
    assert_in_range(fed, AX_BATCH_ROWS / 128, 40); /* both queues and what is between */
    ax_query_destroy(q);
    host_end(&h);
}

static void a_local_table_joins_a_remote_one_by_union(void **state)
{
    host h;
    ax_expr *id;
    ax_node *kids[2];
    ax_query *q;
    uint32_t fulls = 0;
    sums s;

    (void) state;
    host_begin(&h, 2, 100);
    host_table(&h, 2, 3000, 500, row_plain);
    host_plan(&h);
    kids[0] = x_scan(&h, 0, NULL);
    id = x_col(&h, 0);
    kids[0] = ax_plan_project(h.plan, kids[0], &id, 1);
    kids[1] = x_external(&h);
    assert_non_null(ax_plan_setop(h.plan, AX_SET_UNION_ALL, true, kids, 2));
    q = host_start(&h);
    s = feed_and_drain(&h, q, 400, &fulls);
    assert_int_equal(s.rows, 6400);
    assert_int_equal(s.sum, 6000ll * 5999 / 2 + 400 * 399 / 2);
    ax_query_destroy(q);
    host_end(&h);
}

/* ---- functions of the host ------------------------------------------------------------------- */

#define RAISES_AT 5 /* the host's function fails for this input */

static ax_expr *x_host(host *h, ax_expr *arg, ax_type_id type)
{
    ax_expr *e;

    assert_int_equal(ax_expr_host(&h->plan->task, h->plan->arena, 7, &arg, 1, ax_type_make(type),
                                  &e), AX_OK);
    return e;
}

/* f(x) = x * 10, late, in whatever order requests come. */
static void answer(ax_query *q)
{
    const ax_request *r = ax_query_request(q);
    ax_value val[AX_BATCH_ROWS];
    const ax_error *raised[AX_BATCH_ROWS];
    ax_reply reply = {.value = val, .raised = raised};
    struct timespec nap = {0, 500000};
    static ax_error err;

    assert_non_null(r);
    assert_int_equal(r->kind, AX_REQ_HOST_FN);
    assert_int_equal(r->u.fn->host, 7);
    ax_error_clear(&err);
    err.code = AX_EHOST;
    snprintf(err.sqlstate, sizeof err.sqlstate, "P0001");
    nanosleep(&nap, NULL);
    for (uint32_t i = 0; i < r->u.fn->nrows; i++)
    {
        int64_t x = ax_vec_value(&r->u.fn->arg[0], i).u.i;

        ff_int8(&val[i], x * 10);
        raised[i] = x == RAISES_AT ? &err : NULL;
    }
    assert_int_equal(ax_query_reply(q, &reply), AX_OK);
}

/* Drain, answering; *code: the deferred error's SQLSTATE. */
static sums drain_answering(host *h, ax_query *q, char *code)
{
    sums s = {0};
    ax_batch *b;

    code[0] = '\0';
    for (;;)
    {
        s.last = host_next(h, q, &b);
        if (s.last == AX_NEXT_REQUEST)
            answer(q);
        else if (s.last != AX_NEXT_BATCH)
            return s;
        else
        {
            for (uint32_t i = 0; i < b->nsel; i++)
                s.sum += ax_vec_value(&b->col[0], i).u.i;
            s.rows += b->nsel;
            if (b->poison != NULL)
                memcpy(code, b->poison->sqlstate, 6);
        }
    }
}

/* sum over rows with d <> 5 of f(d) = 10 * d, the function once in a filter and once in a list. */
static void the_host_answers_functions(void **state)
{
    (void) state;
    for (int prewhere = 0; prewhere < 2; prewhere++)
    {
        host h;
        ax_query_opts o;
        ax_query *q;
        ax_expr *f;
        ax_node *n;
        ax_profile p;
        char code[6];
        sums s;

        host_begin(&h, 2, 100);
        host_table(&h, 4, 7000, 1000, row_plain);
        host_plan(&h);
        n = x_scan(&h, 0, x_call(&h, AX_FN_NE, x_col(&h, 2), x_int8(&h, RAISES_AT)));
        f = x_call(&h, AX_FN_GE, x_host(&h, x_col(&h, 2), AX_T_INT8), x_int8(&h, 30));
        n = ax_plan_filter(h.plan, n, &f, 1);
        f = x_host(&h, x_col(&h, 2), AX_T_INT8);
        assert_non_null(ax_plan_project(h.plan, n, &f, 1));
        o = host_opts(&h);
        if (!prewhere)
            o.allow &= ~(uint32_t) AX_ALLOW_PREWHERE;
        q = host_start_with(&h, &o);
        s = drain_answering(&h, q, code);
        assert_int_equal(s.last, AX_NEXT_DONE);
        assert_string_equal(code, "");
        assert_int_equal(s.rows, 28000 / 7 * 3); /* d = 3, 4, 6 */
        assert_int_equal(s.sum, 28000 / 7 * (30 + 40 + 60));
        ax_query_profile(q, &p);
        assert_in_range(p.host_values, 3, 7 * 2 * 4); /* distinct inputs, not rows */
        ax_query_destroy(q);
        host_end(&h);
    }
}

/* The error of one input is seen only by who takes a row that has it. */
static void errors_of_the_host_are_deferred(void **state)
{
    (void) state;
    for (int limited = 0; limited < 2; limited++)
    {
        host h;
        ax_query *q;
        ax_expr *f;
        ax_node *n;
        char code[6];
        sums s;

        host_begin(&h, 2, 100);
        host_table(&h, 2, 700, 100, row_plain);
        host_plan(&h);
        n = x_scan(&h, 0, NULL);
        f = x_host(&h, x_col(&h, 2), AX_T_INT8);
        n = ax_plan_project(h.plan, n, &f, 1);
        if (limited)
            ax_plan_limit(h.plan, n, x_int8(&h, 5), NULL);
        q = host_start(&h);
        s = drain_answering(&h, q, code);
        assert_int_equal(s.last, AX_NEXT_DONE);
        /* The other split may have given its rows before its own error. */
        assert_true(s.rows == 5 || (!limited && s.rows == 10));
        assert_int_equal(s.sum, (int64_t) s.rows / 5 * (0 + 10 + 20 + 30 + 40));
        assert_string_equal(code, limited ? "" : "P0001");
        ax_query_destroy(q);
        host_end(&h);
    }
}

/* ---- deletes --------------------------------------------------------------------------------- */

/* A reader that finds rows out of the order it claims says so. */
static void row_unordered(uint64_t n, ff_row *r)
{
    row_plain(n, r);
    if (n % 1000 == 777)
        r->id = 0;
}

static void a_broken_order_is_found(void **state)
{
    host h;
    ax_query *q;
    ax_batch *b;
    ax_next n;

    (void) state;
    host_begin(&h, 2, 0);
    host_table(&h, 2, 2000, 500, row_unordered);
    host_plan(&h);
    x_scan(&h, 0, NULL);
    q = host_start(&h);
    while ((n = host_next(&h, q, &b)) == AX_NEXT_BATCH)
        ;
    assert_int_equal(n, AX_NEXT_ERROR);
    assert_int_equal(ax_query_error(q)->code, AX_ECORRUPT);
    assert_string_equal(ax_query_error(q)->place.unit, "part");
    ax_query_destroy(q);
    host_end(&h);
}

static void equal_keys_are_deleted(void **state)
{
    static const uint32_t col[1] = {0};
    host h;
    ax_expr *id;
    ax_node *rows, *dead;
    sums s;

    (void) state;
    host_begin(&h, 2, 100);
    host_table(&h, 3, 2000, 300, row_plain);
    host_table(&h, 1, 1000, 300, row_plain);
    host_plan(&h);
    dead = x_scan(&h, 1, NULL);
    id = x_col(&h, 0);
    dead = ax_plan_project(h.plan, dead, &id, 1);
    rows = x_scan(&h, 0, NULL);
    assert_non_null(ax_plan_deletes(h.plan, rows, dead, col, 1));
    s = host_run(&h);
    assert_int_equal(s.rows, 5000);
    assert_int_equal(s.sum, 6000ll * 5999 / 2 - 1000 * 999 / 2);
    host_end(&h);
}

/* Positions come from the host: rows 0..99 of split 1. */
static void positions_are_deleted(void **state)
{
    host h;
    ax_type t[2] = {ax_type_make(AX_T_INT8), ax_type_make(AX_T_INT8)};
    int64_t split[100], row[100];
    ax_vec col[2] = {{.kind = AX_VK_FLAT, .n = 100}, {.kind = AX_VK_FLAT, .n = 100}};
    ax_batch b = {.nrows = 100, .nsel = 100, .ncols = 2, .col = col};
    ax_node *rows, *dead;
    ax_query *q;
    bool full;
    sums s;

    (void) state;
    host_begin(&h, 2, 100);
    host_table(&h, 3, 2000, 300, row_plain);
    host_plan(&h);
    dead = ax_plan_external(h.plan, 0, t, 2);
    rows = x_scan(&h, 0, x_call(&h, AX_FN_GE, x_col(&h, 0), x_int8(&h, 1000)));
    assert_non_null(ax_plan_deletes(h.plan, rows, dead, NULL, 0));
    q = host_start(&h);
    for (int i = 0; i < 100; i++)
    {
        split[i] = 1;
        row[i] = i;
    }
    col[0].type = col[1].type = t[0];
    col[0].u.data = split;
    col[1].u.data = row;
    assert_int_equal(ax_query_feed(q, 0, &b, &full), AX_OK);
    assert_int_equal(ax_query_feed_end(q, 0), AX_OK);
    s = host_drain(&h, q);
    assert_int_equal(s.rows, 4900);
    ax_query_destroy(q);
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_host_pass),
        cmocka_unit_test(feeding_is_held_back),
        cmocka_unit_test(a_local_table_joins_a_remote_one_by_union),
        cmocka_unit_test(the_host_answers_functions),
        cmocka_unit_test(errors_of_the_host_are_deferred),
            cmocka_unit_test(a_broken_order_is_found),
        cmocka_unit_test(equal_keys_are_deleted),
        cmocka_unit_test(positions_are_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
