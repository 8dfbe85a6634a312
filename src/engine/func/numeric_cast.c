/* Decimals to and from integers, floats, declared precisions and text. */
#include "func/numeric.h"

#include "func/wide_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- integers ------------------------------------------------------------------------------- */

ax_status ax_num_to_int(const ax_num *a, int64_t min, int64_t max, int64_t *out)
{
    ax_i128 v = a->v;

    if (a->special)
        return AX_EUNSUPPORTED;
    if (a->dscale > 0)
    {
        ax_u128 mag = ax_abs128(v), q = 0;

        if (a->dscale <= (int16_t) AX_POW10_MAX)
            q = ax_div_round(mag, ax_pow10((uint32_t) a->dscale));
        v = v < 0 ? -(ax_i128) q : (ax_i128) q;
    }
    if (v < min || v > max)
        return AX_ERANGE;
    *out = (int64_t) v;
    return AX_OK;
}

/* ---- to floats ------------------------------------------------------------------------------ */

static uint32_t bits128(ax_u128 v)
{
    uint64_t hi = (uint64_t) (v >> 64), lo = (uint64_t) v;

    return hi ? 128 - (uint32_t) __builtin_clzll(hi) : lo ? 64 - (uint32_t) __builtin_clzll(lo) : 0;
}

/* mag / 10^d, d <= 38, rounded half to even to a mantissa of `prec` bits: m * 2^*exp. */
static uint64_t divide_to_bits(ax_u128 mag, uint32_t d, uint32_t prec, int *exp)
{
    ax_u128 ten = ax_pow10(d), q, rem, low, half;
    uint32_t have = bits128(mag), want = bits128(ten) + prec + 8;
    uint32_t shift = want > have ? want - have : 0, drop;
    ax_u256 n;
    uint64_t m;

    n.lo = shift >= 128 ? 0 : mag << shift;
    n.hi = shift >= 128 ? mag << (shift - 128) : shift == 0 ? 0 : mag >> (128 - shift);
    q = ax_div256(n, ten, &rem);
    drop = bits128(q) - prec; /* q has more than prec bits */
    m = (uint64_t) (q >> drop);
    low = q & (((ax_u128) 1 << drop) - 1);
    half = (ax_u128) 1 << (drop - 1);
    if (low > half || (low == half && (rem != 0 || (m & 1))))
        m++;
    *exp = (int) drop - (int) shift;
    return m;
}

/* "digits", not terminated; returns how many. */
static uint32_t put_digits(ax_u128 v, char *out)
{
    char rev[40];
    uint32_t n = 0;

    do
    {
        rev[n++] = (char) ('0' + (int) (v % 10));
        v /= 10;
    } while (v != 0);
    for (uint32_t i = 0; i < n; i++)
        out[i] = rev[n - 1 - i];
    return n;
}

/* For scales outside the exact path: text without a point, which no locale changes. */
static void as_exponent(const ax_num *a, char out[64])
{
    uint32_t n = put_digits(ax_abs128(a->v), out);

    snprintf(out + n, 64 - n, "e-%d", a->dscale);
}

static double special_float(uint8_t which)
{
    return which == AX_NUM_NAN ? (double) NAN : which == AX_NUM_PINF ? HUGE_VAL : -HUGE_VAL;
}

ax_status ax_num_to_f64(const ax_num *a, double *out)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    ax_u128 mag = ax_abs128(a->v);
    double r;

    if (a->special)
        r = special_float(a->special);
    else if (mag <= (UINT64_C(1) << 53) && a->dscale <= 22) /* both exact: one rounding */
        r = (double) (uint64_t) mag / ten[a->dscale];
    else if (mag == 0)
        r = 0;
    else if (a->dscale <= (int16_t) AX_POW10_MAX)
    {
        int exp;
        uint64_t m = divide_to_bits(mag, (uint32_t) a->dscale, 53, &exp);

        r = ldexp((double) m, exp);
    }
    else
    {
        char text[64];

        as_exponent(a, text);
        r = strtod(text, NULL);
        if (r == 0)
            return AX_ERANGE;
    }
    *out = a->special == 0 && a->v < 0 ? -r : r;
    return AX_OK;
}

ax_status ax_num_to_f32(const ax_num *a, float *out)
{
    ax_u128 mag = ax_abs128(a->v);
    float r;

    if (a->special)
        r = (float) special_float(a->special);
    else if (mag == 0)
        r = 0;
    else if (a->dscale < (int16_t) AX_POW10_MAX) /* 10^-37 is still a normal float */
    {
        int exp;
        uint64_t m = divide_to_bits(mag, (uint32_t) a->dscale, 24, &exp);

        r = (float) ldexp((double) m, exp);
    }
    else
    {
        char text[64];

        as_exponent(a, text);
        r = strtof(text, NULL);
        if (r == 0)
            return AX_ERANGE;
    }
    *out = a->special == 0 && a->v < 0 ? -r : r;
    return AX_OK;
}

/* ---- from floats ---------------------------------------------------------------------------- */

/* The first `digits` digits of f > 0, rounded as printf does it (ties to even): *m * 10^*exp.
 * Everyday magnitudes in 128 bits; false: f is none of them. */
static bool exact_digits(double f, int digits, int64_t *m, int *exp)
{
    int two, ten, shift;
    ax_u128 bits, n = 0, rest, half, end = ax_pow10((uint32_t) digits);
    ax_u128 mant = (ax_u128) (uint64_t) ldexp(frexp(f, &two), 53);

    shift = 53 - two; /* f = mant / 2^shift */
    ten = digits - (int) floor(two * 0.30103);
    if (shift <= 0 || shift > 120)
        return false;
    bits = ((ax_u128) 1 << shift) - 1;
    /* the guess is one too high or just right */
    for (; ten >= 0 && ten <= 22; ten--)
    {
        n = mant * ax_pow10((uint32_t) ten); /* below 2^127 */
        if (n >> shift < end)
            break;
    }
    if (ten < 0 || ten > 22 || n >> shift < end / 10)
        return false;
    rest = n & bits;
    half = (bits >> 1) + 1;
    n >>= shift;
    n += rest > half || (rest == half && (n & 1));
    *m = (int64_t) n;
    *exp = -ten;
    return true;
}

static void printed_digits(double f, int digits, int64_t *m, int *exp)
{
    char text[48];
    const char *p = text;

    *m = 0;
    snprintf(text, sizeof(text), "%.*e", digits - 1, f);
    for (; *p != 'e'; p++) /* the locale's point is skipped */
        if (*p >= '0' && *p <= '9')
            *m = *m * 10 + (*p - '0');
    *exp = (int) strtol(p + 1, NULL, 10) - (digits - 1);
}

static ax_status from_float(double f, int digits, ax_num *out)
{
    int64_t m;
    int exp;

    if (isnan(f) || isinf(f))
    {
        *out = (ax_num){.special = (uint8_t) (isnan(f) ? AX_NUM_NAN
                                              : f > 0  ? AX_NUM_PINF
                                                       : AX_NUM_NINF)};
        return AX_OK;
    }
    if (fabs(f) < (digits == 15 ? 1e15 : 1e6) && f == (double) (int64_t) f)
    {
        *out = (ax_num){.v = (int64_t) f};
        return AX_OK;
    }
    if (!exact_digits(fabs(f), digits, &m, &exp))
        printed_digits(fabs(f), digits, &m, &exp);
    while (m % 10 == 0)
    {
        m /= 10;
        exp++;
    }
    m = f < 0 ? -m : m;
    if (exp > 0)
    {
        if (exp + (int) ax_digits128(ax_abs128(m)) > AX_NUM_DIGITS)
            return AX_EBEYOND;
        *out = (ax_num){.v = m * (ax_i128) ax_pow10((uint32_t) exp)};
        return AX_OK;
    }
    *out = (ax_num){.v = m, .dscale = (int16_t) -exp};
    return AX_OK;
}

ax_status ax_num_from_f64(double f, ax_num *out) { return from_float(f, 15, out); }
ax_status ax_num_from_f32(float f, ax_num *out) { return from_float((double) f, 6, out); }

/* ---- declared precision --------------------------------------------------------------------- */

ax_status ax_num_coerce(const ax_num *a, int32_t precision, int32_t scale, ax_num *out)
{
    ax_u128 mag = ax_abs128(a->v);
    int32_t up = scale - a->dscale;

    if (a->special)
    {
        *out = *a;
        return a->special == AX_NUM_NAN ? AX_OK : AX_ERANGE;
    }
    /* in units of 10^-scale: what must have at most `precision` digits */
    if (up > 0 && mag != 0)
    {
        if ((int32_t) ax_digits128(mag) + up > precision)
            return AX_ERANGE;
        if ((int32_t) ax_digits128(mag) + up > AX_NUM_DIGITS)
            return AX_EBEYOND;
        mag *= ax_pow10((uint32_t) up);
    }
    else if (up < 0)
        mag = -up > (int32_t) AX_POW10_MAX ? 0 : ax_div_round(mag, ax_pow10((uint32_t) -up));
    if ((int32_t) ax_digits128(mag) > precision)
        return AX_ERANGE;
    if (scale < 0 && mag != 0)
    {
        if ((int32_t) ax_digits128(mag) - scale > AX_NUM_DIGITS)
            return AX_EBEYOND;
        mag *= ax_pow10((uint32_t) -scale);
    }
    *out = (ax_num){.v = a->v < 0 ? -(ax_i128) mag : (ax_i128) mag,
                    .dscale = (int16_t) (scale > 0 ? scale : 0)};
    return AX_OK;
}

/* ---- text ----------------------------------------------------------------------------------- */

uint32_t ax_num_format(const ax_num *a, char *out, uint32_t out_len)
{
    static const char *const names[] = {"", "-Infinity", "Infinity", "NaN"};
    char digits[40];
    uint32_t n, scale = (uint32_t) a->dscale, whole, q = 0;

    if (a->special)
    {
        n = (uint32_t) strlen(names[a->special & 3]);
        if (n >= out_len)
            return 0;
        memcpy(out, names[a->special & 3], n + 1);
        return n;
    }
    n = put_digits(ax_abs128(a->v), digits);
    whole = n > scale ? n - scale : 0;
    /* sign, whole or 0, point, scale, terminator */
    if (1 + (uint64_t) whole + 2 + scale + 1 > out_len)
        return 0;
    if (a->v < 0)
        out[q++] = '-';
    if (whole == 0)
        out[q++] = '0';
    memcpy(out + q, digits, whole);
    q += whole;
    if (scale > 0)
    {
        out[q++] = '.';
        for (uint32_t i = n - whole; i < scale; i++)
            out[q++] = '0';
        memcpy(out + q, digits + whole, n - whole);
        q += n - whole;
    }
    out[q] = 0;
    return q;
}

static bool equal_word(const char *p, uint32_t len, const char *word)
{
    uint32_t i = 0;

    for (; i < len && word[i]; i++)
        if ((p[i] | 32) != word[i])
            return false;
    return i == len && word[i] == 0;
}

static bool parse_exponent(const char *p, const char *end, int32_t *exp)
{
    bool neg = false;
    int32_t e = 0;

    if (p < end && (*p == '+' || *p == '-'))
        neg = *p++ == '-';
    if (p == end)
        return false;
    for (; p < end; p++)
    {
        if (*p < '0' || *p > '9' || e > 100000)
            return false;
        e = e * 10 + (*p - '0');
    }
    *exp = neg ? -e : e;
    return true;
}

bool ax_num_parse(const char *p, uint32_t len, ax_num *out)
{
    const char *end = p + len;
    bool neg = false, point = false, any = false;
    int32_t scale = 0, exp = 0;
    ax_u128 v = 0;

    *out = (ax_num){0};
    if (p < end && (*p == '+' || *p == '-'))
        neg = *p++ == '-';
    len = (uint32_t) (end - p);
    if (equal_word(p, len, "infinity") || equal_word(p, len, "inf"))
    {
        out->special = neg ? AX_NUM_NINF : AX_NUM_PINF;
        return true;
    }
    if (equal_word(p, len, "nan"))
    {
        out->special = AX_NUM_NAN;
        return true;
    }
    for (; p < end && *p != 'e' && *p != 'E'; p++)
    {
        if (*p == '.' && !point)
        {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9' || v >= ax_pow10(AX_NUM_DIGITS) / 10 || scale >= 16383)
            return false;
        v = v * 10 + (uint32_t) (*p - '0');
        scale += point;
        any = true;
    }
    if (!any || (p < end && !parse_exponent(p + 1, end, &exp)))
        return false;
    scale -= exp;
    if (scale < 0 && v != 0)
    {
        if ((int32_t) ax_digits128(v) - scale > AX_NUM_DIGITS)
            return false;
        v *= ax_pow10((uint32_t) -scale);
    }
    if (scale > 16383)
        return false;
    out->v = neg ? -(ax_i128) v : (ax_i128) v;
    out->dscale = (int16_t) (scale > 0 ? scale : 0);
    return true;
}
