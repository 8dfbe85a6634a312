/* Sums of doubles: exact where the window covers the values, and the same in any order. */
#include "exec/float_sum.h"

#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 12 ^ *state << 40;
}

static double of_bits(uint64_t b)
{
    double v;

    memcpy(&v, &b, 8);
    return v;
}

static uint64_t bits(double v)
{
    uint64_t b;

    memcpy(&b, &v, 8);
    return b;
}

static double sum_of(uint32_t n, const double *v)
{
    ax_fsum s = {.base = 0};

    ax_fsum_add(&s, n, v, NULL);
    assert_int_equal(ax_fsum_count(&s), n);
    return ax_fsum_result(&s);
}

static void check(uint32_t n, const double *v, double want)
{
    for (ax_cpu_level l = AX_CPU_BASE; l <= AX_CPU_X86V3; l++)
    {
        ax_cpu_force(l);
        assert_int_equal(bits(sum_of(n, v)), bits(want));
    }
    ax_cpu_force(AX_CPU_X86V4);
}

#define SUM(WANT, ...)                                                                             \
    do                                                                                             \
    {                                                                                              \
        const double v_[] = {__VA_ARGS__};                                                         \
        check(sizeof(v_) / sizeof(*v_), v_, WANT);                                                 \
    } while (0)

static void known_sums(void **state)
{
    (void) state;
    SUM(0.0, 0.0);
    SUM(-0.0, -0.0);
    SUM(-0.0, -0.0, -0.0, -0.0, -0.0);
    SUM(0.0, -0.0, 0.0, -0.0, -0.0);
    SUM(0.0, 1.5, -1.5);
    SUM(14.0, 1e16, 1, 1, 1, 1, 1, 1, 1, -1e16, 1, 1, 1, 1, 1, 1, 1);
    SUM(1.0, 1, 0x1p-60);
    SUM(1 + 0x1p-52, 1, 0x1p-53, 0x1p-80);            /* a little more than half */
    SUM(1.0, 1, 0x1p-53);                             /* ties to even */
    SUM(1 + 0x1p-51, 1, 0x1p-52, 0x1p-53);
    SUM(0x1p-1074, 0x1p-1074);
    SUM(0x1p-1073, 0x1p-1074, 0x1p-1074);
    SUM(0x1p-1022, 0x0.8p-1022, 0x0.8p-1022);
    SUM(-0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023);
    SUM((double) INFINITY, 1e308, 1e308);
    SUM(1e308, 1e308, 1e308, -1e308);
    SUM((double) INFINITY, 1, (double) INFINITY, -1e308);
    SUM((double) -INFINITY, 1, (double) -INFINITY, 2, 3);
    assert_true(isnan(sum_of(3, (const double[]){1, (double) INFINITY, (double) -INFINITY})));
    assert_true(isnan(sum_of(5, (const double[]){1, 2, 3, (double) NAN, (double) INFINITY})));
    check(0, NULL, 0.0);
}

enum { VALUES = 3000, SUMS = 7 };

/* Magnitudes from a few places to all of them, specials seldom. */
static void fill(double *v, uint64_t seed)
{
    uint32_t range = (uint32_t) (seed % 4 == 0 ? 2046 : 1 + seed % 90);
    uint32_t low = (uint32_t) (random_bits(&seed) % (2047 - range));

    for (uint32_t i = 0; i < VALUES; i++)
    {
        uint64_t b = random_bits(&seed);

        b = (b & ~(2047ull << 52)) | (low + random_bits(&seed) % range) << 52;
        v[i] = random_bits(&seed) % 50 == 0 ? 0.0 : of_bits(b);
    }
}

static void order_does_not_matter(void **state)
{
    double *v = (double *) malloc(sizeof(*v) * VALUES);
    uint8_t *skip = (uint8_t *) malloc(VALUES);
    uint8_t **row = (uint8_t **) malloc(sizeof(*row) * VALUES);

    (void) state;
    for (uint64_t seed = 1; seed < 200; seed++)
    {
        uint64_t r = seed, want = 0;

        fill(v, seed);
        for (uint32_t i = 0; i < VALUES; i++)
            skip[i] = random_bits(&r) % 3 == 0;
        for (uint32_t round = 0; round < 8; round++)
        {
            ax_fsum s[SUMS];
            uint64_t got;

            memset(s, 0, sizeof(s));
            ax_cpu_force(round & 1 ? AX_CPU_X86V3 : AX_CPU_BASE);
            for (uint32_t i = VALUES - 1; i > 0 && round > 1; i--)
            {
                uint32_t k = (uint32_t) (random_bits(&r) % (i + 1));
                double x = v[i];
                uint8_t y = skip[i];

                v[i] = v[k];
                v[k] = x;
                skip[i] = skip[k];
                skip[k] = y;
            }
            for (uint32_t i = 0; i < VALUES; i++)
                row[i] = (uint8_t *) &s[random_bits(&r) % SUMS];
            if (round < 4)
                ax_fsum_scatter(row, 0, VALUES, v, skip);
            else
                for (uint32_t at = 0, n; at < VALUES; at += n)
                {
                    uint32_t to = (uint32_t) (random_bits(&r) % SUMS);

                    n = 1 + (uint32_t) (random_bits(&r) % 100);
                    n = n > VALUES - at ? VALUES - at : n;
                    ax_fsum_add(&s[to], n, v + at, skip + at);
                }
            for (uint32_t k = 1; k < SUMS; k++)
                ax_fsum_merge(&s[0], &s[k]);
            got = bits(ax_fsum_result(&s[0]));
            if (round == 0)
                want = got;
            assert_int_equal(got, want);
        }
        /* Without skips, where values are taken four at a time. */
        for (uint32_t round = 0; round < 4; round++)
        {
            uint64_t got;

            ax_cpu_force(round & 1 ? AX_CPU_X86V3 : AX_CPU_BASE);
            for (uint32_t i = 0; i < VALUES / 2 && round > 1; i++)
            {
                double x = v[i];

                v[i] = v[VALUES - 1 - i];
                v[VALUES - 1 - i] = x;
            }
            got = bits(sum_of(VALUES, v));
            if (round == 0)
                want = got;
            assert_int_equal(got, want);
        }
    }
    ax_cpu_force(AX_CPU_X86V4);
    free(v);
    free(skip);
    free(row);
}

/* Integers have exact sums; digits grow, and are carried. */
static void long_sums_are_exact(void **state)
{
    ax_fsum s = {.base = 0}, part = {.base = 0};
    double v[1024];
    uint64_t seed = 5;
    int64_t want = 0;

    (void) state;
    for (uint32_t i = 0; i < 1024; i++)
    {
        int64_t x = (int64_t) (random_bits(&seed) % (1ull << 53)) - (1ll << 51);

        v[i] = (double) x;
        want += x >> 13;
    }
    for (uint32_t i = 0; i < 1024; i++)
        v[i] = (double) ((int64_t) v[i] >> 13) ;
    ax_fsum_add(&part, 1024, v, NULL);
    assert_true(ax_fsum_result(&part) == (double) want);
    /* 2^10 values, doubled thirty times. */
    s = part;
    for (uint32_t k = 0; k < 30; k++)
    {
        ax_fsum twice = s;

        ax_fsum_merge(&s, &twice);
    }
    assert_int_equal(ax_fsum_count(&s), 1ull << 40);
    assert_true(ax_fsum_result(&s) == ldexp((double) want, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(long_sums_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
