/* Natural numbers: what division and roots must satisfy, and digits, on random and extreme words;
 * and the order of decimals with more digits than ax_num has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "func/func.h"
#include "func/natural_int.h"

#include <string.h>

static ax_budget budget;
static ax_arena *arena;
static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1dull;
}

/* Up to most words, with runs of zeros and ones: these are where carries go wrong. */
static ax_nat some(uint32_t most)
{
    uint64_t w[40];
    uint32_t n = 1 + (uint32_t) (rnd() % most);
    ax_nat out;

    for (uint32_t i = 0; i < n; i++)
        switch (rnd() % 5)
        {
            case 0: w[i] = 0; break;
            case 1: w[i] = UINT64_MAX; break;
            case 2: w[i] = rnd() & 0xffffffff00000000u; break;
            default: w[i] = rnd(); break;
        }
    assert_true(ax_nat_make(arena, w, n, &out));
    return out;
}

static ax_nat small(uint64_t v)
{
    ax_nat out;

    assert_true(ax_nat_make(arena, &v, 1, &out));
    return out;
}

static void division_and_roots(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < 20000; i++)
    {
        ax_nat x, y, q, r, back, one;

        ax_arena_reset(arena);
        x = some(1 + i % 12);
        y = some(1 + i % 7);
        one = small(1);
        if (y.n == 0)
            continue;
        assert_true(ax_nat_div(arena, x, y, &q, &r));
        assert_true(ax_nat_cmp(r, y) < 0);
        assert_true(ax_nat_mul(arena, q, y, &back) && ax_nat_add(arena, back, r, &back));
        assert_int_equal(ax_nat_cmp(back, x), 0);
        assert_true(ax_nat_sub(arena, back, r, &back) && ax_nat_cmp(back, x) <= 0);

        assert_true(ax_nat_sqrt(arena, x, &r) && ax_nat_mul(arena, r, r, &back));
        assert_true(ax_nat_cmp(back, x) <= 0);
        assert_true(ax_nat_add(arena, r, one, &r) && ax_nat_mul(arena, r, r, &back));
        assert_true(ax_nat_cmp(back, x) > 0);
    }
}

static void digits_and_powers(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < 3000; i++)
    {
        uint32_t n, zeros = (uint32_t) (rnd() % 60), m;
        uint8_t *d, *e;
        ax_nat x, back = {NULL, 0}, ten;

        ax_arena_reset(arena);
        x = some(1 + i % 9);
        ten = small(10);
        assert_true(ax_nat_digits(arena, x, &d, &n));
        assert_true(n == 0 ? x.n == 0 : d[0] != 0);
        for (uint32_t k = 0; k < n; k++)
            assert_true(d[k] < 10 && ax_nat_mul(arena, back, ten, &back)
                        && ax_nat_add(arena, back, small(d[k]), &back));
        assert_int_equal(ax_nat_cmp(back, x), 0);
        assert_true(ax_nat_mul_pow10(arena, x, zeros, &back));
        assert_true(ax_nat_digits(arena, back, &e, &m));
        assert_int_equal(m, n == 0 ? 0 : n + zeros);
        assert_memory_equal(e, d, n);
    }
}

/* sum of v[0..n) at one scale */
static ax_num sum_of(ax_task *t, const ax_i128 *v, uint32_t n, int16_t scale)
{
    uint64_t w[AX_NUM_SUM_WORDS] = {0};
    ax_num_part part = {scale, w, NULL};
    ax_num out;

    for (uint32_t i = 0; i < n; i++)
    {
        ax_u128 carry = 0;

        for (uint32_t k = 0; k < AX_NUM_SUM_WORDS; k++)
        {
            carry += (ax_u128) w[k] + (k == 0 ? (uint64_t) v[i] : k == 1 ? (uint64_t) (v[i] >> 64)
                                       : v[i] < 0 ? UINT64_MAX : 0);
            w[k] = (uint64_t) carry;
            carry >>= 64;
        }
    }
    assert_int_equal(ax_num_aggregate(t, arena, &part, 1, n, AX_NUM_SUM, &out), AX_OK);
    return out;
}

static void wide_decimals_have_an_order(void **state)
{
    const ax_i128 nines = (ax_i128) UINT64_C(9999999999999999999) * UINT64_C(10000000000000000000)
                        + (ax_i128) UINT64_C(9999999999999999999);
    const ax_i128 up[3] = {nines, nines, 7}, down[3] = {-nines, -nines, 7};
    ax_num v[11];
    ax_task t;

    (void) state;
    assert_int_equal(ax_task_init(&t, &budget, NULL), AX_OK);
    v[0] = (ax_num){.special = AX_NUM_NINF};
    v[1] = sum_of(&t, down, 2, 0);
    v[2] = sum_of(&t, down, 3, 0);
    v[3] = (ax_num){.v = -nines};
    v[4] = sum_of(&t, down, 2, 30);      /* -199999999.99... */
    v[5] = (ax_num){.v = -7, .dscale = 3};
    v[6] = sum_of(&t, up, 2, 60);        /* 0.00...1999 */
    v[7] = sum_of(&t, up, 3, 60);
    v[8] = sum_of(&t, up, 3, 30);
    v[9] = sum_of(&t, up, 2, 0);
    v[10] = (ax_num){.special = AX_NUM_NAN};
    assert_int_equal(v[1].special, AX_NUM_WIDE);
    assert_int_equal(v[6].special, AX_NUM_WIDE);
    for (int i = 0; i < 11; i++)
        for (int k = 0; k < 11; k++)
        {
            int c = ax_num_cmp(&v[i], &v[k]);

            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
    assert_true(ax_num_wide_floor(ax_num_wide_of(&v[4])) == -200000000);
    assert_true(ax_num_wide_floor(ax_num_wide_of(&v[8])) == 200000000);
    assert_true(ax_num_wide_floor(ax_num_wide_of(&v[6])) == 0);
    assert_true(ax_num_wide_floor(ax_num_wide_of(&v[1])) == INT64_MIN);
    assert_true(ax_num_wide_floor(ax_num_wide_of(&v[9])) == INT64_MAX);
    ax_task_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(division_and_roots),
                                       cmocka_unit_test(digits_and_powers),
                                       cmocka_unit_test(wide_decimals_have_an_order)};
    int failed;

    ax_budget_init(&budget, "test", INT64_MAX, NULL);
    arena = ax_arena_create(&budget, 0);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    ax_arena_destroy(arena);
    return failed;
}
