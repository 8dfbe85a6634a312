/* ALP pages: vectors of every width, exceptions, skips, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "encode_test.h"

enum { LOG2 = 5, VECTOR = 1 << LOG2, VALUES = 3 * VECTOR + 7 };

static enc e;
static ax_pq_conv conv;
static ax_pq_col col;
static uint8_t phys[AX_BATCH_ROWS * 8];
static double want[VALUES];
static ax_task task;

/* One vector: reference, differences of `width` bits, and two values that stand as they are. */
static void put_vector(uint32_t first, uint32_t n, uint32_t w, uint8_t exp, uint8_t fac,
                       int64_t reference, unsigned width, uint64_t *seed)
{
    static const double up[] = {1, 1e1, 1e2, 1e3}, down[] = {1, 1e-1, 1e-2, 1e-3};
    static const float upf[] = {1, 1e1f, 1e2f, 1e3f}, downf[] = {1, 1e-1f, 1e-2f, 1e-3f};
    uint8_t bits[VECTOR * 8 + 8] = {0};
    uint32_t out[2] = {n - 1, n / 2};

    e_u8(&e, exp);
    e_u8(&e, fac);
    e_u8(&e, 2);
    e_u8(&e, 0);
    if (w == 4)
        e_u32(&e, (uint32_t) reference);
    else
        e_u64(&e, (uint64_t) reference);
    e_u8(&e, (uint8_t) width);
    for (uint32_t i = 0; i < n; i++)
    {
        uint64_t d = *seed = *seed * 6364136223846793005u + 1442695040888963407u;

        d = width == 0 ? 0 : (d ^ d >> 33) >> (64 - width);
        for (unsigned b = 0; b < width; b++)
            bits[(i * width + b) / 8] |= (uint8_t) ((d >> b & 1) << ((i * width + b) & 7));
        if (w == 4)
            want[first + i] = (float) ((float) (int32_t) (uint32_t) ((uint64_t) reference + d)
                                       * upf[fac]) * downf[exp];
        else
            want[first + i] = (double) (int64_t) ((uint64_t) reference + d) * up[fac] * down[exp];
    }
    e_bytes(&e, bits, ((size_t) n * width + 7) / 8);
    for (uint32_t k = 0; k < 2; k++)
    {
        e_u8(&e, (uint8_t) out[k]);
        e_u8(&e, 0);
    }
    for (uint32_t k = 0; k < 2; k++)
    {
        float f = k == 0 ? NAN : 0.3f;
        double d = k == 0 ? (double) NAN : 1.0 / 3;

        if (w == 4)
            e_bytes(&e, &f, 4);
        else
            e_bytes(&e, &d, 8);
        want[first + out[k]] = w == 4 ? (double) f : d;
    }
}

static void open_page(void)
{
    col.v = e.p;
    col.vend = e.p + e.n;
    col.phys = phys;
    col.conv = &conv;
}

static void make(uint32_t w, unsigned width, int64_t reference)
{
    uint64_t seed = width + 1;
    size_t table;

    memset(&e, 0, sizeof e);
    conv.src_width = (uint8_t) w;
    e_u8(&e, 0);
    e_u8(&e, 0);
    e_u8(&e, LOG2);
    e_u32(&e, VALUES);
    table = e.n;
    for (uint32_t i = 0; i < 4; i++)
        e_u32(&e, 0);
    for (uint32_t i = 0; i < 4; i++)
    {
        uint32_t at = (uint32_t) (e.n - table);

        memcpy(e.p + table + 4 * i, &at, 4);
        put_vector(i * VECTOR, i < 3 ? VECTOR : 7, w, (uint8_t) (i % 4), (uint8_t) (i % 2 && i > 0),
                   reference, width, &seed);
    }
    open_page();
}

static void check(uint32_t from, uint32_t n, const uint8_t *got)
{
    for (uint32_t i = 0; i < n; i++)
    {
        double v = conv.src_width == 4 ? (double) ((const float *) (const void *) got)[i]
                                       : ((const double *) (const void *) got)[i];

        assert_true(v == want[from + i] || (isnan(v) && isnan(want[from + i])));
    }
}

static void all_widths(void **state)
{
    (void) state;
    for (uint32_t w = 4; w <= 8; w += 4)
        for (unsigned width = 0; width <= 8 * w; width++)
            for (uint32_t step = 1; step < VALUES; step = step * 3 + 1)
            {
                const uint8_t *got;

                make(w, width, width % 2 ? -1234567 : INT32_MAX - 3);
                assert_int_equal(ax_pq_alp_open(&task, &col), AX_OK);
                for (uint32_t at = 0; at < VALUES;)
                {
                    uint32_t n = step < VALUES - at ? step : VALUES - at;

                    assert_int_equal(ax_pq_alp_fixed(&task, &col, n, &got), AX_OK);
                    check(at, n, got);
                    at += n;
                    if (at < VALUES)
                        assert_int_equal(ax_pq_alp_skip(&task, &col, 1), AX_OK);
                    at++;
                }
                assert_int_equal(ax_pq_alp_fixed(&task, &col, 1, &got), AX_ECORRUPT);
            }
}

/* What 10^f and 10^-e give is not what one multiplication would. */
static void as_written(void **state)
{
    static const uint8_t page[] = {0, 0, 3, 2, 0, 0, 0, 4, 0, 0, 0, 14, 12, 0, 0,
                                   7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 22};
    const uint8_t *got;

    (void) state;
    memset(&e, 0, sizeof e);
    conv.src_width = 8;
    e_bytes(&e, page, sizeof page);
    open_page();
    assert_int_equal(ax_pq_alp_open(&task, &col), AX_OK);
    assert_int_equal(ax_pq_alp_fixed(&task, &col, 2, &got), AX_OK);
    assert_true(((const double *) (const void *) got)[0] == 7e12 * 1e-14);
    assert_true(((const double *) (const void *) got)[1] == 29e12 * 1e-14);
}

static bool reads(void)
{
    const uint8_t *got;

    return ax_pq_alp_open(&task, &col) == AX_OK
        && ax_pq_alp_fixed(&task, &col, VALUES, &got) == AX_OK;
}

static void damage(void **state)
{
    uint64_t seed = 11;
    uint32_t refused = 0;

    (void) state;
    make(8, 13, 5);
    for (size_t n = e.n - 1; n > 0; n--)
    {
        col.vend = e.p + n;
        assert_false(reads()); /* every byte counts */
    }
    for (uint32_t round = 0; round < 20000; round++)
    {
        make(round & 1 ? 8 : 4, 13, 5);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        e.p[(seed >> 33) % e.n] ^= (uint8_t) (1 + (seed >> 20) % 255);
        refused += !reads();
    }
    assert_true(refused > 1000);
    memset(&e, 0, sizeof e);
    open_page();
    assert_int_equal(ax_pq_alp_open(&task, &col), AX_OK); /* only nulls */
    assert_int_equal(ax_pq_alp_skip(&task, &col, 1), AX_ECORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_widths), cmocka_unit_test(as_written),
                                       cmocka_unit_test(damage)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
