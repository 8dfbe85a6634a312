/* What is taken out of the arguments of sums, and what must stay because it may overflow; keys that
 * become narrower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/exec_int.h"

static ax_budget budget;
static ax_task task;

static ax_expr *col(ax_type_id type)
{
    ax_expr *e = NULL;

    assert_int_equal(ax_expr_col(&task, task.arena, 0, ax_type_make(type), &e), AX_OK);
    return e;
}

static ax_expr *konst(ax_type_id type, int64_t v)
{
    ax_value val = {.type = ax_type_make(type), .u.i = v};
    ax_expr *e = NULL;

    assert_int_equal(ax_expr_const(&task, task.arena, &val, &e), AX_OK);
    return e;
}

static ax_expr *call(ax_fn fn, ax_expr *a, ax_expr *b)
{
    ax_expr *arg[2] = {a, b}, *e = NULL;

    assert_int_equal(ax_expr_call(&task, task.arena, fn, arg, 2, &e), AX_OK);
    return e;
}

static void splits(ax_expr *e, int64_t add, ax_type_id rest)
{
    ax_expr *was = e;

    assert_int_equal(ax_sum_split(&e), add);
    assert_int_equal(e->type.id, rest);
    assert_true((e->kind == AX_X_COL) == (add != 0) || e == was);
}

static void narrow_columns_lose_their_constants(void **state)
{
    ax_expr *x = col(AX_T_INT2);

    (void) state;
    splits(call(AX_FN_ADD, x, konst(AX_T_INT4, 7)), 7, AX_T_INT2);
    splits(call(AX_FN_SUB, x, konst(AX_T_INT4, 7)), -7, AX_T_INT2);
    splits(call(AX_FN_ADD, konst(AX_T_INT4, -7), x), -7, AX_T_INT2);
    splits(call(AX_FN_ADD, call(AX_FN_SUB, x, konst(AX_T_INT4, 1)), konst(AX_T_INT4, 3)), 2,
           AX_T_INT2);
    splits(call(AX_FN_ADD, x, konst(AX_T_INT4, INT32_MAX - 32767)), INT32_MAX - 32767, AX_T_INT2);
}

static void what_may_overflow_stays(void **state)
{
    ax_expr *x = col(AX_T_INT2), *y = col(AX_T_INT4), *z = col(AX_T_INT8);

    (void) state;
    splits(call(AX_FN_ADD, x, konst(AX_T_INT4, INT32_MAX - 32766)), 0, AX_T_INT4);
    splits(call(AX_FN_SUB, x, konst(AX_T_INT4, INT32_MAX)), 0, AX_T_INT4);
    splits(call(AX_FN_ADD, x, konst(AX_T_INT2, 1)), 0, AX_T_INT2);
    splits(call(AX_FN_ADD, y, konst(AX_T_INT4, 1)), 0, AX_T_INT4);
    splits(call(AX_FN_ADD, z, konst(AX_T_INT8, 1)), 0, AX_T_INT8);
    splits(call(AX_FN_SUB, konst(AX_T_INT4, 5), x), 0, AX_T_INT4);
    splits(call(AX_FN_MUL, x, konst(AX_T_INT4, 5)), 0, AX_T_INT4);
    /* the inner addition would be an error */
    splits(call(AX_FN_SUB, call(AX_FN_ADD, y, konst(AX_T_INT4, 1)), konst(AX_T_INT4, 1)), 0,
           AX_T_INT4);
}

static ax_expr *unit(const char *s)
{
    ax_value val = {.type = ax_type_make(AX_T_TEXT)};
    ax_expr *e = NULL;

    val.u.s.p = (const uint8_t *) s;
    val.u.s.len = (uint32_t) strlen(s);
    assert_int_equal(ax_expr_const(&task, task.arena, &val, &e), AX_OK);
    return e;
}

static void narrows(ax_expr *key, ax_type_id to)
{
    ax_expr *in = NULL, *out = NULL, *e;

    assert_int_equal(ax_key_split(&task, task.arena, key, 3, &in, &out), AX_OK);
    assert_int_equal(in->type.id, to);
    assert_true((in == key) == (to == key->type.id));
    assert_int_equal(out->type.id, key->type.id);
    assert_false(out->can_raise && !key->can_raise);
    for (e = out; e->kind == AX_X_CALL; e = e->arg[e->nargs - 1])
        ;
    assert_int_equal(e->kind, AX_X_COL);
    assert_int_equal(e->u.col, 3);
    assert_int_equal(e->type.id, to);
}

static ax_expr *call1(ax_fn fn, ax_expr *a)
{
    ax_expr *e = NULL;

    assert_int_equal(ax_expr_call(&task, task.arena, fn, &a, 1, &e), AX_OK);
    return e;
}

static void keys_become_narrow_where_nothing_is_lost(void **state)
{
    ax_expr *ts = col(AX_T_TIMESTAMP);

    (void) state;
    narrows(call(AX_FN_EXTRACT, unit("minute"), ts), AX_T_INT4);
    narrows(call(AX_FN_EXTRACT, unit("second"), ts), AX_T_INT4);
    narrows(call(AX_FN_EXTRACT, unit("year"), col(AX_T_DATE)), AX_T_INT4);
    narrows(call(AX_FN_EXTRACT, unit("hour"), col(AX_T_TIME)), AX_T_INT4);
    narrows(call(AX_FN_EXTRACT, unit("epoch"), ts), AX_T_NUMERIC);
    narrows(call(AX_FN_EXTRACT, unit("julian"), ts), AX_T_NUMERIC);
    narrows(call1(AX_FN_TO_NUMERIC, col(AX_T_INT2)), AX_T_INT2);
    narrows(call1(AX_FN_TO_TEXT, col(AX_T_INT8)), AX_T_INT8);
    narrows(call1(AX_FN_TO_TEXT, call1(AX_FN_TO_NUMERIC, col(AX_T_INT8))), AX_T_TEXT);
    narrows(call1(AX_FN_TO_TEXT, col(AX_T_NUMERIC)), AX_T_TEXT); /* 1.0 and 1.00 */
    narrows(call1(AX_FN_TO_FLOAT8, col(AX_T_INT8)), AX_T_FLOAT8);
    narrows(col(AX_T_NUMERIC), AX_T_NUMERIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(narrow_columns_lose_their_constants),
                                       cmocka_unit_test(what_may_overflow_stays),
                                       cmocka_unit_test(keys_become_narrow_where_nothing_is_lost)};
    int failed;

    ax_budget_init(&budget, "test", INT64_MAX, NULL);
    if (ax_task_init(&task, &budget, NULL) != AX_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    ax_task_fini(&task);
    return failed;
}
