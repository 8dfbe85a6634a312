/* Every kernel at every level of the processor against one-line definitions, with edges. */
#include "func/func.h"

#include "base/cpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 300u /* not a multiple of any vector */
#define ROOM (N + 128)

static uint64_t rng = 0x2545f4914f6cdd1dull;

static uint32_t rnd(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t) ((rng >> 20) % n);
}

static _Alignas(64) uint8_t buf_a[ROOM * 8], buf_b[ROOM * 8], buf_out[ROOM * 8];

static const uint32_t widths[AX_KT_CNT] = {1, 2, 4, 8, 4, 8};

static void put(void *p, ax_kt kt, uint32_t i, int64_t v, double f)
{
    switch (kt)
    {
    case AX_KT_U8: ((uint8_t *) p)[i] = v & 1; break;
    case AX_KT_I16: ((int16_t *) p)[i] = (int16_t) v; break;
    case AX_KT_I32: ((int32_t *) p)[i] = (int32_t) v; break;
    case AX_KT_I64: ((int64_t *) p)[i] = v; break;
    case AX_KT_F32: ((float *) p)[i] = (float) f; break;
    default: ((double *) p)[i] = f; break;
    }
}

static double get_f(const void *p, ax_kt kt, uint32_t i)
{
    return kt == AX_KT_F32 ? (double) ((const float *) p)[i] : ((const double *) p)[i];
}

static int64_t get_i(const void *p, ax_kt kt, uint32_t i)
{
    switch (kt)
    {
    case AX_KT_U8: return ((const uint8_t *) p)[i];
    case AX_KT_I16: return ((const int16_t *) p)[i];
    case AX_KT_I32: return ((const int32_t *) p)[i];
    default: return ((const int64_t *) p)[i];
    }
}

static void fill(void *p, ax_kt kt)
{
    static const double f[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e30, -3.5, 1e-30};
    static const int64_t edge[AX_KT_CNT][2] = {[AX_KT_I16] = {INT16_MIN, INT16_MAX},
                                               [AX_KT_I32] = {INT32_MIN, INT32_MAX},
                                               [AX_KT_I64] = {INT64_MIN, INT64_MAX}};

    for (uint32_t i = 0; i < N; i++)
        put(p, kt, i, rnd(6) ? (int64_t) rnd(5) - 2 : edge[kt][rnd(2)], f[rnd(10)]);
}

static int order(const void *a, const void *b, ax_kt kt, uint32_t i, uint32_t j)
{
    if (kt < AX_KT_F32)
    {
        int64_t x = get_i(a, kt, i), y = get_i(b, kt, j);

        return (x > y) - (x < y);
    }
    else
    {
        double x = get_f(a, kt, i), y = get_f(b, kt, j);

        if (isnan(x) || isnan(y))
            return isnan(x) - isnan(y);
        return (x > y) - (x < y);
    }
}

static bool holds(int c, uint32_t op)
{
    switch (op)
    {
    case AX_KC_EQ: return c == 0;
    case AX_KC_NE: return c != 0;
    case AX_KC_LT: return c < 0;
    case AX_KC_LE: return c <= 0;
    case AX_KC_GT: return c > 0;
    default: return c >= 0;
    }
}

static void test_compare(void **state)
{
    (void) state;
    for (uint32_t level = 0; level < AX_CPU_LEVEL_CNT; level++)
    {
        ax_cpu_force((ax_cpu_level) level);
        for (uint32_t kt = 0; kt < AX_KT_CNT; kt++)
            for (uint32_t op = 0; op < AX_KC_CNT; op++)
                for (uint32_t vc = 0; vc < 2; vc++)
                {
                    fill(buf_a, kt);
                    fill(buf_b, kt);
                    memset(buf_out, 7, sizeof(buf_out));
                    ax_k_get()->cmp[kt][op][vc](buf_a, buf_b, buf_out, N);
                    for (uint32_t i = 0; i < N; i++)
                        assert_int_equal(buf_out[i],
                                         holds(order(buf_a, buf_b, kt, i, vc ? 0 : i), op));
                    assert_int_equal(buf_out[N], 7);
                }
    }
}

/* What a row must give; true: it does not fit. */
static bool arith(ax_kt kt, uint32_t op, uint32_t i, uint32_t j, int64_t *vi, double *vf)
{
    if (kt < AX_KT_F32)
    {
        __extension__ typedef __int128 wide;
        wide x = get_i(buf_a, kt, i), y = get_i(buf_b, kt, j);
        wide r = op == AX_KA_ADD ? x + y : op == AX_KA_SUB ? x - y : x * y;
        wide half = (wide) 1 << (8 * widths[kt] - 1);

        *vi = (int64_t) r;
        return r < -half || r >= half;
    }
    else
    {
        double x = get_f(buf_a, kt, i), y = get_f(buf_b, kt, j);
        double r = op == AX_KA_ADD ? x + y : op == AX_KA_SUB ? x - y : x * y;

        if (kt == AX_KT_F32)
            r = (double) (float) r; /* exact for these values: no double rounding */
        *vf = r;
        return (isinf(r) && !isinf(x) && !isinf(y)) ||
               (op == AX_KA_MUL && r == 0 && x != 0 && y != 0);
    }
}

static void test_arith(void **state)
{
    (void) state;
    for (uint32_t level = 0; level < AX_CPU_LEVEL_CNT; level++)
        for (uint32_t kt = AX_KT_I16; kt < AX_KT_CNT; kt++)
            for (uint32_t op = 0; op < AX_KA_CNT; op++)
                for (uint32_t shape = 0; shape < AX_KS_CNT; shape++)
                    for (uint32_t calm = 0; calm < 2; calm++)
                    {
                        bool bad = false;
                        uint32_t flags;

                        ax_cpu_force((ax_cpu_level) level);
                        fill(buf_a, kt);
                        fill(buf_b, kt);
                        for (uint32_t i = 0; calm && i < N; i++)
                        {
                            put(buf_a, kt, i, rnd(100), rnd(100));
                            put(buf_b, kt, i, rnd(100), rnd(100));
                        }
                        flags = ax_k_get()->arith[kt][op][shape](buf_a, buf_b, buf_out, N);
                        for (uint32_t i = 0; i < N; i++)
                        {
                            int64_t vi = 0;
                            double vf = 0;
                            bool b = arith(kt, op, shape == AX_KS_CV ? 0 : i,
                                           shape == AX_KS_VC ? 0 : i, &vi, &vf);

                            bad |= b;
                            if (kt < AX_KT_F32 && !b)
                                assert_true(vi == get_i(buf_out, kt, i));
                            else if (kt >= AX_KT_F32 && !b)
                                assert_true(vf == get_f(buf_out, kt, i) ||
                                            isnan(get_f(buf_out, kt, i)));
                        }
                        assert_int_equal(flags != 0, bad);
                        if (calm)
                            assert_int_equal(flags, 0);
                    }
}

/* Overflow of each width at the very edge, one row in many. */
static void test_overflow_edges(void **state)
{
    static const int64_t max[] = {
        [AX_KT_I16] = INT16_MAX, [AX_KT_I32] = INT32_MAX, [AX_KT_I64] = INT64_MAX};

    (void) state;
    for (uint32_t level = 0; level < AX_CPU_LEVEL_CNT; level++)
        for (uint32_t kt = AX_KT_I16; kt <= AX_KT_I64; kt++)
        {
            const ax_kernels *k;
            uint32_t at = rnd(N);

            ax_cpu_force((ax_cpu_level) level);
            k = ax_k_get();
            for (uint32_t i = 0; i < N; i++)
            {
                put(buf_a, kt, i, max[kt] - 1, 0);
                put(buf_b, kt, i, 1, 0);
            }
            assert_int_equal(k->arith[kt][AX_KA_ADD][AX_KS_VV](buf_a, buf_b, buf_out, N), 0);
            put(buf_a, kt, at, max[kt], 0);
            assert_int_not_equal(k->arith[kt][AX_KA_ADD][AX_KS_VC](buf_a, buf_b, buf_out, N), 0);
            put(buf_a, kt, at, -max[kt], 0);
            assert_int_equal(k->arith[kt][AX_KA_SUB][AX_KS_VV](buf_a, buf_b, buf_out, N), 0);
            put(buf_a, kt, at, -max[kt] - 1, 0);
            assert_int_not_equal(k->arith[kt][AX_KA_SUB][AX_KS_VV](buf_a, buf_b, buf_out, N), 0);
            for (uint32_t i = 0; i < N; i++)
                put(buf_b, kt, i, -1, 0);
            assert_int_not_equal(k->arith[kt][AX_KA_MUL][AX_KS_VC](buf_a, buf_b, buf_out, N), 0);
            put(buf_a, kt, at, -max[kt], 0);
            assert_int_equal(k->arith[kt][AX_KA_MUL][AX_KS_VC](buf_a, buf_b, buf_out, N), 0);
        }
}

static void test_casts(void **state)
{
    static const uint8_t from[AX_KX_CNT] = {AX_KT_I16, AX_KT_I16, AX_KT_I32, AX_KT_I32, AX_KT_I64,
                                            AX_KT_I64, AX_KT_I16, AX_KT_I32, AX_KT_I64, AX_KT_F32,
                                            AX_KT_I16, AX_KT_I32, AX_KT_I64, AX_KT_F64, AX_KT_F64,
                                            AX_KT_F64, AX_KT_F64, AX_KT_F32, AX_KT_F32, AX_KT_F32};
    static const uint8_t to[AX_KX_CNT] = {AX_KT_I32, AX_KT_I64, AX_KT_I64, AX_KT_I16, AX_KT_I16,
                                          AX_KT_I32, AX_KT_F64, AX_KT_F64, AX_KT_F64, AX_KT_F64,
                                          AX_KT_F32, AX_KT_F32, AX_KT_F32, AX_KT_F32, AX_KT_I16,
                                          AX_KT_I32, AX_KT_I64, AX_KT_I16, AX_KT_I32, AX_KT_I64};

    (void) state;
    for (uint32_t level = 0; level < AX_CPU_LEVEL_CNT; level++)
        for (uint32_t x = 0; x < AX_KX_CNT; x++)
            for (uint32_t round = 0; round < 200; round++)
            {
                uint32_t n = 1 + rnd(40), flags;
                bool bad = false;

                ax_cpu_force((ax_cpu_level) level);
                fill(buf_a, from[x]);
                for (uint32_t i = 0; round % 2 && i < n; i++) /* halves: rounding to even */
                    put(buf_a, from[x], i, rnd(200), (double) rnd(200) / 2 - 50);
                flags = ax_k_get()->cast[x](buf_a, buf_out, n);
                for (uint32_t i = 0; i < n; i++)
                {
                    bool fits = true;

                    if (from[x] < AX_KT_F32 && to[x] < AX_KT_F32)
                    {
                        int64_t v = get_i(buf_a, from[x], i);
                        int64_t half = (int64_t) (1ull << (8 * widths[to[x]] - 1));

                        fits = to[x] == AX_KT_I64 || (v >= -half && v < half);
                        assert_true(!fits || get_i(buf_out, to[x], i) == v);
                    }
                    else if (to[x] < AX_KT_F32)
                    {
                        double v = rint(get_f(buf_a, from[x], i));
                        double top = ldexp(1, 8 * (int) widths[to[x]] - 1);

                        fits = v >= -top && v < top;
                        assert_true(!fits || (double) get_i(buf_out, to[x], i) == v);
                    }
                    else if (x == AX_KX_F64_F32)
                    {
                        double v = get_f(buf_a, from[x], i);
                        float f = (float) v;

                        fits = !(isinf(f) && !isinf(v)) && !(f == 0 && v != 0);
                        assert_true(!fits || isnan(v) || get_f(buf_out, to[x], i) == (double) f);
                    }
                    else if (from[x] < AX_KT_F32)
                    {
                        double v = (double) get_i(buf_a, from[x], i);

                        if (to[x] == AX_KT_F32)
                            v = (double) (float) get_i(buf_a, from[x], i);
                        assert_true(get_f(buf_out, to[x], i) == v);
                    }
                    bad |= !fits;
                }
                assert_int_equal(flags != 0, bad);
            }
}

static void test_masks(void **state)
{
    uint8_t a[ROOM], b[ROOM], out[ROOM], na[ROOM], nb[ROOM];
    uint16_t sel[ROOM], want[ROOM];

    (void) state;
    for (uint32_t round = 0; round < 400; round++)
    {
        const ax_kernels *k;
        uint32_t n = rnd(N + 1), q = 0, pass = rnd(101), m;

        ax_cpu_force((ax_cpu_level) (round % AX_CPU_LEVEL_CNT));
        k = ax_k_get();
        for (uint32_t i = 0; i < ROOM; i++)
        {
            a[i] = rnd(100) < pass;
            b[i] = (uint8_t) rnd(2);
            na[i] = rnd(4) == 0;
            nb[i] = rnd(4) == 0;
        }
        for (uint32_t i = 0; i < n; i++)
            if (a[i])
                want[q++] = (uint16_t) i;
        assert_int_equal(k->count(a, n), q);
        assert_int_equal(k->mask_to_sel(a, n, sel), q);
        assert_memory_equal(sel, want, 2 * q);
        m = k->refine(b, sel, q, sel);
        for (uint32_t i = 0, j = 0; i < q; i++)
            if (b[want[i]])
                assert_int_equal(sel[j++], want[i]);
        assert_true(m <= q);
        k->and (a, b, out, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(out[i], a[i] & b[i]);
        k->or (a, b, out, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(out[i], a[i] | b[i]);
        k->andnot(a, b, out, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(out[i], a[i] & !b[i]);
        k->not(a, out, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(out[i], !a[i]);
        for (uint32_t which = 0; which < 4; which++)
        {
            uint8_t v[ROOM], nl[ROOM];
            const uint8_t *nl2 = which & 1 ? nb : NULL;

            memcpy(v, a, ROOM);
            memcpy(nl, na, ROOM);
            (which & 2 ? k->or3 : k->and3)(v, nl, b, nl2, n);
            for (uint32_t i = 0; i < n; i++)
            {
                uint8_t dec = which & 2 ? 1 : 0, n2 = nl2 ? nl2[i] : 0;
                bool decided = (!na[i] && a[i] == dec) || (!n2 && b[i] == dec);

                assert_int_equal(nl[i], !decided && (na[i] || n2));
                assert_true(nl[i] || v[i] == (decided ? dec : !dec));
            }
        }
    }
}

/* ---- strings --------------------------------------------------------------------------------- */

static uint32_t naive_find(const uint8_t *h, uint32_t hn, const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i + n <= hn; i++)
        if (memcmp(h + i, p, n) == 0)
            return i;
    return hn;
}

static void test_strings(void **state)
{
    static uint8_t page[60000 + 128];
    uint32_t off[ROOM], len[ROOM];
    const uint8_t *ptr[ROOM];
    uint8_t mask[ROOM];
    int32_t chars[ROOM];
    uint16_t sel[ROOM];

    (void) state;
    for (uint32_t round = 0; round < 1200; round++)
    {
        uint32_t n = 1 + rnd(200), at = 0, max = rnd(3) ? 12 : 150, q = 0;
        uint32_t alphabet = 1 + rnd(4), m = 1 + rnd(rnd(4) ? 4 : 90);
        uint8_t needle[100 + 64] = {0};
        ax_needle nd;
        ax_strs flat = {page, off, NULL, len}, view = {NULL, NULL, ptr, len};
        const ax_kernels *k;

        ax_cpu_force((ax_cpu_level) (round % AX_CPU_LEVEL_CNT));
        k = ax_k_get();
        for (uint32_t i = 0; i < n; i++)
        {
            if (rnd(2))
                at += 4; /* gaps that look like text */
            off[i] = at;
            len[i] = rnd(max);
            at += len[i];
            ptr[i] = page + off[i];
            if (rnd(2))
                sel[q++] = (uint16_t) i;
        }
        for (uint32_t i = 0; i < at + 100; i++)
            page[i] = rnd(20) ? (uint8_t) ('a' + rnd(alphabet)) : rnd(3) ? 0xC3 : 0xA9;
        for (uint32_t i = 0; i < m; i++)
            needle[i] = (uint8_t) ('a' + rnd(alphabet));
        if (rnd(2) && at > m) /* one that occurs */
            memcpy(needle, page + rnd(at - m), m);
        nd = ax_needle_make(needle, m);
        assert_true(nd.a <= nd.b && nd.b < m && (m == 1 || nd.a < nd.b));
        k->find_span(&flat, n, &nd, mask);
        for (uint32_t i = 0; i < n; i++)
        {
            uint32_t want = naive_find(ptr[i], len[i], needle, m);

            assert_int_equal(k->find(ptr[i], len[i], &nd), want);
            assert_int_equal(mask[i], want < len[i]);
        }
        for (uint32_t form = 0; form < 4; form++)
        {
            uint32_t rows = form & 1 ? q : n, el = rnd(12);
            uint8_t eq[32] = {0};

            for (uint32_t i = 0; i < el; i++)
                eq[i] = (uint8_t) ('a' + rnd(alphabet));
            if (rnd(2) && len[0] < 24)
            {
                el = len[0];
                memcpy(eq, ptr[0], el);
            }
            k->utf8_len(form & 2 ? &view : &flat, form & 1 ? sel : NULL, rows, chars);
            k->str_eq(form & 2 ? &view : &flat, form & 1 ? sel : NULL, rows, eq, el, mask);
            for (uint32_t i = 0; i < rows; i++)
            {
                uint32_t row = form & 1 ? sel[i] : i, c = 0;

                for (uint32_t j = 0; j < len[row]; j++)
                    c += (ptr[row][j] & 0xC0) != 0x80;
                assert_int_equal(chars[row], c);
                assert_int_equal(mask[row], len[row] == el && memcmp(ptr[row], eq, el) == 0);
            }
        }
    }
}

/* Tables around the sizes that live in registers. */
static void test_map(void **state)
{
    static const uint32_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300};
    static uint8_t table[300 + 64], out[ROOM];
    static uint32_t id[ROOM];

    (void) state;
    for (uint32_t round = 0; round < 11 * AX_CPU_LEVEL_CNT; round++)
    {
        uint32_t size = sizes[round % 11], n = rnd(ROOM);

        ax_cpu_force((ax_cpu_level) (round / 11));
        for (uint32_t i = 0; i < sizeof table; i++)
            table[i] = (uint8_t) rnd(3);
        for (uint32_t i = 0; i < n; i++)
            id[i] = rnd(size);
        ax_k_get()->map8(table, size, id, out, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(out[i], table[id[i]]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),        cmocka_unit_test(test_arith),
        cmocka_unit_test(test_overflow_edges), cmocka_unit_test(test_casts),
        cmocka_unit_test(test_masks),          cmocka_unit_test(test_map),
        cmocka_unit_test(test_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
