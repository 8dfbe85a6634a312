/* Decimals against a real server's answers and against brute force. */
#include "func/golden_test.h"

#include "func/numeric.h"
#include "func/wide_int.h"

#include <math.h>

static ax_num num(const char *s)
{
    ax_num r;

    if (!ax_num_parse(s, (uint32_t) strlen(s), &r))
        fail_msg("not a number of the engine: %s", s);
    return r;
}

static bool put(ax_status s, const ax_num *r, char *got, size_t size)
{
    if (!golden_failed(s, got, size) && ax_num_format(r, got, (uint32_t) size) == 0)
        fail_msg("no room");
    return true;
}

static ax_i128 wide(const char *s)
{
    bool neg = *s == '-';
    ax_i128 v = 0;

    for (s += neg; *s >= '0' && *s <= '9'; s++)
        v = v * 10 + (*s - '0');
    return neg ? -v : v;
}

static bool binary(const golden_line *l, char *got, size_t size)
{
    static const struct
    {
        const char *op;
        ax_status (*fn)(const ax_num *, const ax_num *, ax_num *);
    } table[] = {{"add", ax_num_add}, {"sub", ax_num_sub}, {"mul", ax_num_mul},
                 {"div", ax_num_div}, {"mod", ax_num_mod}, {"idiv", ax_num_div_trunc}};

    for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, l->f[0]) == 0)
        {
            ax_num a = num(l->f[1]), b = num(l->f[2]), r = {0};
            ax_status s = table[i].fn(&a, &b, &r);

            return put(s, &r, got, size);
        }
    return false;
}

static bool rounding(const golden_line *l, char *got, size_t size)
{
    static const struct
    {
        const char *op;
        ax_num (*fn)(const ax_num *);
    } table[] = {{"neg", ax_num_neg}, {"abs", ax_num_abs}, {"sign", ax_num_sign},
                 {"ceil", ax_num_ceil}, {"floor", ax_num_floor}};
    const char *op = l->f[0];
    ax_num a, r = {0};

    for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, op) == 0)
        {
            a = num(l->f[1]);
            r = table[i].fn(&a);
            return put(AX_OK, &r, got, size);
        }
    if (strcmp(op, "round") == 0 || strcmp(op, "trunc") == 0)
    {
        ax_status s;

        a = num(l->f[1]);
        s = *op == 'r' ? ax_num_round(&a, atoi(l->f[2]), &r) : ax_num_trunc(&a, atoi(l->f[2]), &r);
        return put(s, &r, got, size);
    }
    return false;
}

static bool casts(const golden_line *l, char *got, size_t size)
{
    const char *op = l->f[0];
    ax_num a, r = {0};

    if (op[0] == 'i' && op[1] >= '2' && op[1] <= '8')
    {
        int64_t min = op[1] == '2' ? INT16_MIN : op[1] == '4' ? INT32_MIN : INT64_MIN, v;

        a = num(l->f[1]);
        if (!golden_failed(ax_num_to_int(&a, min, -(min + 1), &v), got, size))
            snprintf(got, size, "%lld", (long long) v);
    }
    else if (strcmp(op, "f8") == 0)
    {
        double f;

        a = num(l->f[1]);
        if (!golden_failed(ax_num_to_f64(&a, &f), got, size))
            golden_put_f64(f, got, size);
    }
    else if (strcmp(op, "f4") == 0)
    {
        float f;

        a = num(l->f[1]);
        if (!golden_failed(ax_num_to_f32(&a, &f), got, size))
            golden_put_f32(f, got, size);
    }
    else if (strcmp(op, "of_f8") == 0)
        return put(ax_num_from_f64(golden_f64(l->f[1]), &r), &r, got, size);
    else if (strcmp(op, "of_f4") == 0)
        return put(ax_num_from_f32(golden_f32(l->f[1]), &r), &r, got, size);
    else if (strcmp(op, "text") == 0)
    {
        a = num(l->f[1]);
        return put(AX_OK, &a, got, size);
    }
    else
        return false;
    return true;
}

static bool numeric_line(const golden_line *l, char *got, size_t size)
{
    const char *op = l->f[0];
    ax_num a, b, r = {0};

    if (binary(l, got, size) || rounding(l, got, size) || casts(l, got, size))
        return true;
    if (strcmp(op, "cmp") == 0)
    {
        a = num(l->f[1]);
        b = num(l->f[2]);
        snprintf(got, size, "%d", ax_num_cmp(&a, &b));
        return true;
    }
    if (strcmp(op, "coerce") == 0)
    {
        a = num(l->f[1]);
        return put(ax_num_coerce(&a, atoi(l->f[2]), atoi(strchr(l->f[2], ',') + 1), &r), &r, got,
                   size);
    }
    if (strcmp(op, "avg") == 0)
        return put(ax_num_mean(wide(l->f[1]), (int16_t) atoi(strchr(l->f[1], '/') + 1),
                              golden_int(l->f[2]), &r),
                   &r, got, size);
    fail_msg("unknown operation %s", op);
    return true;
}

/* "Beyond" is right when the server's answer does not fit. */
static bool is_beyond(const golden_line *l, const char *got)
{
    ax_num r;

    return strcmp(got, "!BEYOND") == 0 && l->want[0] != '!'
        && !ax_num_parse(l->want, (uint32_t) strlen(l->want), &r);
}

static void same_as_the_server(void **state)
{
    (void) state;
    golden_replay("numeric.tsv", numeric_line, is_beyond);
}

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}
static ax_u128 rnd128(void)
{
    return ((ax_u128) rnd() << 64 | rnd()) >> (rnd() % 128);
}

static void division_of_256_bits_inverts_multiplication(void **state)
{
    (void) state;
    for (int i = 0; i < 200000; i++)
    {
        ax_u128 d = rnd128() | 1, q = rnd128(), r, rem, back;
        ax_u256 n;

        if (i & 1) /* digits of ones and zeros make the estimate wrong most often */
        {
            d |= (ax_u128) UINT64_MAX << 64;
            q |= UINT64_MAX;
        }
        r = rnd128() % d;
        n = ax_mul128(q, d);
        n.lo += r;
        n.hi += n.lo < r;
        back = ax_div256(n, d, &rem);
        assert_true(back == q && rem == r);
    }
}

static void digits_are_counted(void **state)
{
    (void) state;
    assert_int_equal(ax_digits128(0), 0);
    for (uint32_t n = 0; n <= AX_POW10_MAX; n++)
    {
        assert_int_equal(ax_digits128(ax_pow10(n)), n + 1);
        assert_int_equal(ax_digits128(ax_pow10(n) - 1), n);
    }
    assert_int_equal(ax_digits128(~(ax_u128) 0), 39);
}

/* strtod rounds correctly, so do we. */
static void floats_are_nearest(void **state)
{
    char text[64];

    (void) state;
    for (int i = 0; i < 200000; i++)
    {
        ax_num a = {.v = (ax_i128) (rnd128() % ax_pow10(38)), .dscale = (int16_t) (rnd() % 60)};
        char digits[64];
        ax_num whole = {.v = a.v};
        double d;
        float f;

        ax_num_format(&whole, digits, sizeof(digits));
        snprintf(text, sizeof(text), "%.40se-%d", digits, a.dscale);
        assert_int_equal(ax_num_to_f64(&a, &d), AX_OK);
        if (d != strtod(text, NULL))
            fail_msg("%s gives %.17g", text, d);
        if (ax_num_to_f32(&a, &f) == AX_OK && f != strtof(text, NULL))
            fail_msg("%s gives %.9g", text, (double) f);
    }
}

/* The server prints with 15 or 6 digits and reads that. */
static void digits_of_floats_are_printf_s(void **state)
{
    (void) state;
    for (int i = 0; i < 300000; i++)
    {
        double d = (double) (int64_t) (rnd() >> (rnd() % 64)) * pow(10, (int) (rnd() % 30) - 22);
        char text[64];
        ax_num got, want;

        if (i % 7 == 0) /* ties, and values just below a power of ten */
            d = i % 2 ? (double) (rnd() % 1000000) + 0.5 : pow(10, i % 16) * (1 - 0x1p-50);
        snprintf(text, sizeof(text), "%.15g", d);
        if (ax_num_parse(text, (uint32_t) strlen(text), &want))
        {
            assert_int_equal(ax_num_from_f64(d, &got), AX_OK);
            if (got.v != want.v || got.dscale != want.dscale)
                fail_msg("%.17g is not %s", d, text);
        }
        snprintf(text, sizeof(text), "%.6g", (double) (float) d);
        if (ax_num_parse(text, (uint32_t) strlen(text), &want))
        {
            assert_int_equal(ax_num_from_f32((float) d, &got), AX_OK);
            if (got.v != want.v || got.dscale != want.dscale)
                fail_msg("%.9g is not %s", (double) (float) d, text);
        }
    }
}

static void declared_types_tell_what_fits(void **state)
{
    ax_type t = ax_type_make(AX_T_NUMERIC);
    ax_num_bound money, big;

    (void) state;
    assert_false(ax_num_bound_of(t).known);
    t.precision = 15;
    t.scale = 2;
    money = ax_num_bound_of(t);
    assert_true(money.known && money.whole == 13 && money.scale == 2);
    assert_true(ax_num_fits_add(money, money).whole == 14);
    assert_true(ax_num_fits_mul(money, money).known);
    assert_false(ax_num_fits_mul(ax_num_fits_mul(money, money), money).known);
    assert_true(ax_num_fits_div(money, money));
    t.precision = 38;
    big = ax_num_bound_of(t);
    assert_false(ax_num_fits_add(big, big).known);
    assert_false(ax_num_fits_div(big, money));
    assert_true(ax_num_bound_of(ax_type_make(AX_T_INT8)).whole == 19);
}

/* Whatever the types promise is never beyond, with the largest and smallest values. */
static void promised_results_are_not_beyond(void **state)
{
    (void) state;
    for (int32_t p = 1; p <= 38; p++)
        for (int32_t s = 0; s <= p; s += 3)
            for (int32_t p2 = 1; p2 <= 38; p2 += 2)
                for (int32_t s2 = 0; s2 <= p2; s2 += 4)
                {
                    ax_num_bound x = {true, p - s, s}, y = {true, p2 - s2, s2};
                    ax_num a = {.v = (ax_i128) (ax_pow10((uint32_t) p) - 1), .dscale = (int16_t) s};
                    ax_num b = {.v = (ax_i128) (ax_pow10((uint32_t) p2) - 1),
                                .dscale = (int16_t) s2};
                    ax_num one = {.v = 1, .dscale = (int16_t) s2}, r;

                    if (ax_num_fits_add(x, y).known)
                        assert_int_equal(ax_num_add(&a, &b, &r), AX_OK);
                    if (ax_num_fits_mul(x, y).known)
                        assert_int_equal(ax_num_mul(&a, &b, &r), AX_OK);
                    if (!ax_num_fits_div(x, y))
                        continue;
                    assert_int_equal(ax_num_div(&a, &b, &r), AX_OK);
                    assert_int_equal(ax_num_div(&a, &one, &r), AX_OK);
                    a.v = 1;
                    assert_int_equal(ax_num_div(&a, &b, &r), AX_OK);
                    assert_int_equal(ax_num_div(&a, &one, &r), AX_OK);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_server),
        cmocka_unit_test(division_of_256_bits_inverts_multiplication),
        cmocka_unit_test(digits_are_counted),
        cmocka_unit_test(floats_are_nearest),
        cmocka_unit_test(digits_of_floats_are_printf_s),
        cmocka_unit_test(declared_types_tell_what_fits),
        cmocka_unit_test(promised_results_are_not_beyond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
