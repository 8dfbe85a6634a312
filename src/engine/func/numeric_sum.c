/* Exact results of aggregates of decimals; see numeric_sum.h for the server's rules. */
#include "func/numeric_sum.h"

#include "func/natural_int.h"
#include "func/wide_int.h"

#include <string.h>

#define DIV_SCALE_MAX 1000 /* NUMERIC_MAX_DISPLAY_SCALE */

/* mag * 10^-scale, with a sign */
typedef struct decimal { ax_nat mag; bool neg; int32_t scale; } decimal;

/* ---- from parts and back -------------------------------------------------------------------- */

static bool add(ax_arena *a, const decimal *x, const decimal *y, decimal *out)
{
    out->scale = x->scale;
    out->neg = x->neg;
    if (x->neg == y->neg)
        return ax_nat_add(a, x->mag, y->mag, &out->mag);
    if (ax_nat_cmp(x->mag, y->mag) >= 0)
        return ax_nat_sub(a, x->mag, y->mag, &out->mag);
    out->neg = y->neg;
    return ax_nat_sub(a, y->mag, x->mag, &out->mag);
}

static int32_t largest_scale(const ax_num_part *part, uint32_t n)
{
    int32_t scale = 0;

    for (uint32_t i = 0; i < n; i++)
        scale = part[i].scale > scale ? part[i].scale : scale;
    return scale;
}

static bool total(ax_arena *a, const ax_num_part *part, uint32_t n, decimal *out)
{
    int32_t scale = largest_scale(part, n);

    *out = (decimal){.scale = scale};
    for (uint32_t i = 0; i < n; i++)
    {
        uint64_t w[AX_NUM_SUM_WORDS], carry = 1;
        decimal x = {.neg = part[i].sum[AX_NUM_SUM_WORDS - 1] >> 63 != 0, .scale = scale}, sum;

        memcpy(w, part[i].sum, sizeof(w));
        for (uint32_t k = 0; x.neg && k < AX_NUM_SUM_WORDS; k++)
        {
            w[k] = ~w[k] + carry;
            carry = carry && w[k] == 0;
        }
        if (!ax_nat_make(a, w, AX_NUM_SUM_WORDS, &x.mag)
            || !ax_nat_mul_pow10(a, x.mag, (uint32_t) (scale - part[i].scale), &x.mag)
            || !add(a, out, &x, &sum))
            return false;
        *out = sum;
    }
    return true;
}

/* The sum of squares, at twice the largest scale. */
static bool total_squares(ax_arena *a, const ax_num_part *part, uint32_t n, ax_nat *out)
{
    int32_t scale = largest_scale(part, n);

    *out = (ax_nat){NULL, 0};
    for (uint32_t i = 0; i < n; i++)
    {
        ax_nat x;

        if (!ax_nat_make(a, part[i].squares, AX_NUM_SQUARE_WORDS, &x)
            || !ax_nat_mul_pow10(a, x, 2 * (uint32_t) (scale - part[i].scale), &x)
            || !ax_nat_add(a, *out, x, out))
            return false;
    }
    return true;
}

/* Digits to base 10,000 around the point, as the server stores them. */
static bool make_wide(ax_arena *a, const decimal *x, ax_num *out)
{
    int32_t whole, weight, lead, groups;
    uint8_t *digit;
    uint32_t n;
    ax_num_wide *w;

    if (!ax_nat_digits(a, x->mag, &digit, &n))
        return false;
    whole = (int32_t) n - x->scale;
    weight = (whole - 1 >= 0 ? whole - 1 : whole - 4) / 4; /* floor */
    lead = 4 * (weight + 1) - whole;
    groups = (lead + (int32_t) n + 3) / 4;
    w = (ax_num_wide *) ax_arena_alloc0(a, sizeof(*w) + sizeof(w->digit[0]) * (size_t) groups);
    if (w == NULL)
        return false;
    w->weight = weight;
    w->neg = x->neg;
    for (int32_t i = 0; i < 4 * groups; i++)
    {
        int32_t at = i - lead;
        uint16_t d = at >= 0 && at < (int32_t) n ? digit[at] : 0;

        w->digit[i / 4] = (uint16_t) (w->digit[i / 4] * 10 + d);
    }
    while (groups > 0 && w->digit[groups - 1] == 0)
        groups--;
    w->ndigits = (uint32_t) groups;
    *out = ax_num_of_wide(w, (int16_t) x->scale);
    return true;
}

static bool finish(ax_arena *a, const decimal *x, ax_num *out)
{
    ax_u128 mag;

    if (!ax_nat_fits(x->mag, &mag) || mag >= ax_pow10(AX_POW10_MAX))
        return make_wide(a, x, out);
    *out = (ax_num){.v = x->neg ? -(ax_i128) mag : (ax_i128) mag, .dscale = (int16_t) x->scale};
    return true;
}

/* ---- quotients and roots --------------------------------------------------------------------- */

/* Exponent to base 10,000 of the first digit that is not 0, and that digit. */
static bool first_digit(ax_arena *a, ax_nat mag, int32_t scale, int32_t *weight, uint32_t *digit)
{
    uint8_t *d;
    uint32_t n;
    int32_t e;

    *weight = 0;
    *digit = 0;
    if (!ax_nat_digits(a, mag, &d, &n))
        return false;
    if (n == 0)
        return true;
    e = (int32_t) n - 1 - scale;
    *weight = (e >= 0 ? e : e - 3) / 4; /* floor */
    for (int32_t i = 0; i <= e - 4 * *weight; i++)
        *digit = *digit * 10 + (i < (int32_t) n ? d[i] : 0);
    return true;
}

/* The server's select_div_scale. */
static bool div_scale(ax_arena *a, const decimal *x, ax_nat y, int32_t *scale)
{
    int32_t wx, wy, r;
    uint32_t dx, dy;

    if (!first_digit(a, x->mag, x->scale, &wx, &dx) || !first_digit(a, y, 0, &wy, &dy))
        return false;
    r = 16 - 4 * (wx - wy - (dx <= dy));
    r = r > x->scale ? r : x->scale;
    r = r > 0 ? r : 0;
    *scale = r < DIV_SCALE_MAX ? r : DIV_SCALE_MAX;
    return true;
}

/* x / y, halves away from zero. */
static bool divide(ax_arena *a, const decimal *x, ax_nat y, decimal *out)
{
    ax_nat n = x->mag, rem;
    uint64_t one = 1;
    ax_nat unit;

    out->neg = x->neg;
    if (!div_scale(a, x, y, &out->scale))
        return false;
    if (out->scale >= x->scale
            ? !ax_nat_mul_pow10(a, n, (uint32_t) (out->scale - x->scale), &n)
            : !ax_nat_mul_pow10(a, y, (uint32_t) (x->scale - out->scale), &y))
        return false;
    if (!ax_nat_div(a, n, y, &out->mag, &rem) || !ax_nat_sub(a, y, rem, &unit))
        return false;
    if (ax_nat_cmp(rem, unit) < 0)
        return true;
    return ax_nat_make(a, &one, 1, &unit) && ax_nat_add(a, out->mag, unit, &out->mag);
}

/* The root of x at the scale of x, rounded. */
static bool root(ax_arena *a, decimal *x)
{
    ax_nat square, r, rem;
    uint64_t one = 1;

    if (!ax_nat_mul_pow10(a, x->mag, (uint32_t) x->scale, &square)
        || !ax_nat_sqrt(a, square, &r) || !ax_nat_mul(a, r, r, &rem)
        || !ax_nat_sub(a, square, rem, &rem))
        return false;
    x->mag = r;
    if (ax_nat_cmp(rem, r) <= 0) /* below (r + 1/2)^2 */
        return true;
    return ax_nat_make(a, &one, 1, &rem) && ax_nat_add(a, r, rem, &x->mag);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool average(ax_arena *a, const ax_num_part *part, uint32_t n, uint64_t count, decimal *out)
{
    decimal sum;
    ax_nat y;

    return total(a, part, n, &sum) && ax_nat_make(a, &count, 1, &y) && divide(a, &sum, y, out);
}

static bool variance(ax_arena *a, const ax_num_part *part, uint32_t n, uint64_t count, bool sample,
                     decimal *out)
{
    uint64_t less = sample ? count - 1 : count;
    decimal sum, top;
    ax_nat squares, y, z;

    if (!total(a, part, n, &sum) || !total_squares(a, part, n, &squares)
        || !ax_nat_make(a, &count, 1, &y) || !ax_nat_make(a, &less, 1, &z)
        || !ax_nat_mul(a, squares, y, &squares) || !ax_nat_mul(a, sum.mag, sum.mag, &sum.mag)
        || !ax_nat_mul(a, y, z, &y))
        return false;
    *out = (decimal){.scale = 0};
    if (ax_nat_cmp(squares, sum.mag) <= 0)
        return true;
    top = (decimal){.scale = 2 * sum.scale};
    return ax_nat_sub(a, squares, sum.mag, &top.mag) && divide(a, &top, y, out);
}

ax_status ax_num_aggregate(ax_task *t, ax_arena *tmp, const ax_num_part *part, uint32_t n,
                           uint64_t count, ax_num_result what, ax_num *out)
{
    bool sample = what == AX_NUM_VAR_SAMP || what == AX_NUM_STDDEV_SAMP, ok;
    decimal x;

    switch (what)
    {
        case AX_NUM_SUM: ok = total(tmp, part, n, &x); break;
        case AX_NUM_AVG: ok = average(tmp, part, n, count, &x); break;
        default: ok = variance(tmp, part, n, count, sample, &x); break;
    }
    if (ok && (what == AX_NUM_STDDEV_POP || what == AX_NUM_STDDEV_SAMP) && x.mag.n > 0)
        ok = root(tmp, &x);
    if (!ok || !finish(tmp, &x, out))
        return ax_fail_nomem(t, 0);
    return AX_OK;
}
