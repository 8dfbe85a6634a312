/* Builders refuse what does not fit, and print what they built. */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct fix { ax_budget budget; ax_plan *p; } fix;

static void begin(fix *f)
{
    ax_error err;

    ax_budget_init(&f->budget, "test", INT64_MAX, NULL);
    assert_int_equal(ax_plan_create(&f->budget, &f->p, &err), AX_OK);
}

static void end(fix *f)
{
    ax_plan_destroy(f->p);
    ax_plan_destroy(NULL);
    assert_int_equal(atomic_load(&f->budget.used_bytes), 0);
}

static ax_expr *col(fix *f, uint32_t i, ax_type_id type)
{
    ax_expr *e;

    assert_int_equal(ax_expr_col(&f->p->task, f->p->arena, i, ax_type_make(type), &e), AX_OK);
    return e;
}

static ax_expr *int8(fix *f, int64_t i)
{
    ax_value v;
    ax_expr *e;

    memset(&v, 0, sizeof v);
    v.type = ax_type_make(AX_T_INT8);
    v.u.i = i;
    assert_int_equal(ax_expr_const(&f->p->task, f->p->arena, &v, &e), AX_OK);
    return e;
}

/* A node of two columns, int8 and text. */
static ax_node *leaf(fix *f, uint32_t input)
{
    ax_type t[2] = {ax_type_make(AX_T_INT8), ax_type_make(AX_T_TEXT)};

    return ax_plan_external(f->p, input, t, 2);
}

static void expect_refused(fix *f, const ax_node *n, ax_status code)
{
    assert_null(n);
    assert_int_equal(f->p->task.err.code, code);
    /* A refused plan stays refused: nobody runs half of it by mistake. */
    assert_null(leaf(f, 9));
    end(f);
    begin(f);
}

static void mistakes_are_refused(void **state)
{
    ax_agg_call sum_text = {.agg = AX_AGG_SUM}, star = {.agg = AX_AGG_COUNT_STAR};
    ax_sort_key key = {7, false, false};
    uint32_t columns[2] = {1, 1};
    ax_type types[2] = {ax_type_make(AX_T_INT8), ax_type_make(AX_T_INT8)};
    ax_node *n, *two[2];
    ax_expr *e;
    fix f;

    (void) state;
    begin(&f);
    n = leaf(&f, 0);
    e = col(&f, 2, AX_T_INT8);
    expect_refused(&f, ax_plan_project(f.p, n, &e, 1), AX_EPLAN);
    n = leaf(&f, 0);
    e = col(&f, 1, AX_T_INT8);
    expect_refused(&f, ax_plan_project(f.p, n, &e, 1), AX_EPLAN);
    n = leaf(&f, 0);
    e = col(&f, 0, AX_T_INT8);
    expect_refused(&f, ax_plan_filter(f.p, n, &e, 1), AX_EPLAN); /* not boolean */
    n = leaf(&f, 0);
    expect_refused(&f, ax_plan_sort(f.p, n, &key, 1), AX_EPLAN);
    n = leaf(&f, 0);
    expect_refused(&f, ax_plan_limit(f.p, n, col(&f, 0, AX_T_INT8), NULL), AX_EPLAN);
    n = leaf(&f, 0);
    sum_text.arg = col(&f, 1, AX_T_TEXT);
    expect_refused(&f, ax_plan_aggregate(f.p, n, NULL, 0, &sum_text, 1), AX_EUNSUPPORTED);
    n = leaf(&f, 0);
    star.arg = col(&f, 0, AX_T_INT8);
    expect_refused(&f, ax_plan_aggregate(f.p, n, NULL, 0, &star, 1), AX_EPLAN);
    expect_refused(&f, ax_plan_distinct(f.p, NULL), AX_EPLAN);
    expect_refused(&f, ax_plan_scan(f.p, (struct ax_source *) &f, columns, types, NULL, 2, NULL, 0),
                   AX_EPLAN);
    two[0] = leaf(&f, 0);
    e = col(&f, 0, AX_T_INT8);
    two[1] = ax_plan_project(f.p, leaf(&f, 1), &e, 1);
    expect_refused(&f, ax_plan_setop(f.p, AX_SET_UNION_ALL, true, two, 2), AX_EPLAN);
    end(&f);
}

static void plans_know_their_columns_and_print(void **state)
{
    ax_agg_call call = {.agg = AX_AGG_MIN};
    ax_sort_key key = {0, true, false};
    ax_node *a, *b, *j;
    ax_expr *ka, *kb;
    fix f;

    (void) state;
    begin(&f);
    a = leaf(&f, 0);
    b = leaf(&f, 1);
    ka = col(&f, 0, AX_T_INT8);
    kb = col(&f, 0, AX_T_INT8);
    j = ax_plan_join(f.p, AX_JOIN_LEFT, a, b, &ka, &kb, 1, NULL, 0);
    assert_int_equal(j->ncols, 4);
    assert_int_equal(j->type[3].id, AX_T_TEXT);
    call.arg = col(&f, 3, AX_T_TEXT);
    ka = col(&f, 0, AX_T_INT8);
    j = ax_plan_aggregate(f.p, j, &ka, 1, &call, 1);
    assert_int_equal(j->type[1].id, AX_T_TEXT);
    j = ax_plan_topn(f.p, j, &key, 1, int8(&f, 5), int8(&f, 2));
    assert_ptr_equal(f.p->root, j);
    assert_string_equal(ax_plan_print(f.p, f.p->arena, false),
                        "Top-N by ($0 desc nulls last) limit 5 offset 2\n"
                        "  Aggregate by($0) min($3)\n"
                        "    Join left on $0 = $0\n"
                        "      External Input 0\n"
                        "      External Input 1\n");
    assert_non_null(strstr(ax_plan_print(f.p, f.p->arena, true), "n2 -> n3;"));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(plans_know_their_columns_and_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
