/* Sums of aggregate states, and bytes that are no states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mergetree_int.h"

typedef struct fixture { ax_budget budget; ax_task t; } fixture;

static int set_up(void **state)
{
    static fixture x;

    ax_budget_init(&x.budget, "test", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&x.t, &x.budget, NULL), AX_OK);
    *state = &x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    ax_task_fini(&x->t);
    assert_int_equal(atomic_load(&x->budget.used_bytes), 0);
    return 0;
}

static ax_fold_col fold_of(fixture *x, const char *type)
{
    const ax_mt_type *ty;
    ax_fold_col f = {0};

    assert_int_equal(ax_mt_type_parse(&x->t, x->t.arena, type, strlen(type), &ty), AX_OK);
    assert_int_equal(ax_mt_state_fold(&x->t, x->t.arena, ty, ax_type_make(AX_T_BYTEA), &f), AX_OK);
    return f;
}

static uint32_t unhex(const char *s, uint8_t *out)
{
    uint32_t n = 0;
    unsigned byte;

    for (; sscanf(s, "%2x", &byte) == 1; s += 2)
        out[n++] = (uint8_t) byte;
    return n;
}

static void states_add_up(void **state)
{
    static const struct { const char *type, *x, *y, *sum; } cases[] = {
        {"AggregateFunction(count)", "7f", "02", "8101"},
        {"AggregateFunction(sum, UInt32)", "ffffffffffffffff", "0200000000000000",
         "0100000000000000"},
        {"AggregateFunction(sum, Float64)", "000000000000f03f", "000000000000f03f",
         "0000000000000040"},
        {"AggregateFunction(sum, Decimal(9, 2))", "ffffffffffffffff0000000000000000",
         "01000000000000000000000000000000", "00000000000000000100000000000000"},
        {"AggregateFunction(sumWithOverflow, UInt8)", "ff", "03", "02"},
        {"AggregateFunction(avg, Int32)", "0500000000000000ff01", "fbffffffffffffff01",
         "00000000000000008002"},
        {"AggregateFunction(groupBitOr, UInt16)", "0f00", "f0f0", "fff0"},
        {"AggregateFunction(min, Int16)", "01ffff", "010100", "01ffff"},
        {"AggregateFunction(max, Int16)", "01ffff", "010100", "010100"},
        {"AggregateFunction(max, Int16)", "00", "010100", "010100"},
        {"AggregateFunction(max, Int16)", "010100", "00", "010100"},
        {"AggregateFunction(any, UInt8)", "0107", "0108", "0107"},
        {"AggregateFunction(anyLast, UInt8)", "0107", "0108", "0108"},
        {"AggregateFunction(anyLast, UInt8)", "0107", "00", "0107"},
        {"AggregateFunction(sum, Nullable(Int8))", "00", "010100000000000000",
         "010100000000000000"},
        {"AggregateFunction(sum, Nullable(Int8))", "010100000000000000", "00",
         "010100000000000000"},
        {"AggregateFunction(sumIf, Int8, UInt8)", "0100000000000000", "0100000000000000",
         "0200000000000000"},
        /* a NaN does not replace what is there */
        {"AggregateFunction(max, Float32)", "010000803f", "010000c07f", "010000803f"},
    };
    fixture *fx = (fixture *) *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        ax_fold_col f = fold_of(fx, cases[i].type);
        uint8_t x[AX_STATE_BYTES], y[AX_STATE_BYTES], sum[AX_STATE_BYTES];
        uint32_t n = unhex(cases[i].x, x), ny = unhex(cases[i].y, y);

        assert_int_equal(f.fold, AX_FOLD_STATE);
        assert_null(f.refusal);
        if (!f.add(f.how, x, &n, y, ny) || n != unhex(cases[i].sum, sum) ||
            memcmp(x, sum, n) != 0)
            fail_msg("%s: %s and %s", cases[i].type, cases[i].x, cases[i].y);
    }
}

static void others_are_refused(void **state)
{
    static const char *const types[] = {
        "AggregateFunction(uniq, UInt64)", "AggregateFunction(min, String)",
        "AggregateFunction(quantile(0.5), UInt8)", "AggregateFunction(groupArray, UInt8)",
        "AggregateFunction(groupBitAnd, Float64)", "AggregateFunction(sum, Array(UInt8))"};
    fixture *fx = (fixture *) *state;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        assert_non_null(fold_of(fx, types[i]).refusal);
}

/* Any bytes of any length: nothing outside of them is read or written. */
static void bytes_of_no_function(void **state)
{
    static const char *const types[] = {
        "AggregateFunction(count)", "AggregateFunction(avg, Nullable(UInt64))",
        "AggregateFunction(sum, Int256)", "AggregateFunction(max, Nullable(UUID))",
        "AggregateFunction(groupBitXor, UInt128)"};
    fixture *fx = (fixture *) *state;

    srand(3);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    {
        ax_fold_col f = fold_of(fx, types[i]);

        for (uint32_t k = 0; k < 20000; k++)
        {
            uint32_t n = (uint32_t) rand() % (AX_STATE_BYTES + 1);
            uint32_t ny = (uint32_t) rand() % (AX_STATE_BYTES + 9);
            uint8_t *x = (uint8_t *) malloc(AX_STATE_BYTES), *y = (uint8_t *) malloc(ny + 1);

            for (uint32_t b = 0; b < n; b++)
                x[b] = (uint8_t) (rand() % 3 == 0 ? rand() : 255);
            for (uint32_t b = 0; b < ny; b++)
                y[b] = (uint8_t) (rand() % 3 == 0 ? rand() : 255);
            (void) f.add(f.how, x, &n, y, ny);
            assert_true(n <= AX_STATE_BYTES);
            free(x);
            free(y);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_add_up),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(bytes_of_no_function),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
