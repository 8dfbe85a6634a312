/* Arithmetic and rounding of decimals.  Source of the rules: the server's numeric.c, 14 to 18. */
#include "func/numeric.h"

#include "func/wide_int.h"

#define SCALE_MAX 16383       /* largest display scale of the server */
#define ROUND_SCALE_MAX 2000  /* above, round() differs between server versions */
#define DIV_SCALE_MAX 1000    /* select_div_scale's ceiling, NUMERIC_MAX_DISPLAY_SCALE */

static inline ax_num special(uint8_t which) { return (ax_num){.special = which}; }

/* Sign of any value but NaN. */
static inline int sign_of(const ax_num *a)
{
    if (a->special)
        return a->special == AX_NUM_PINF ? 1 : -1;
    return (a->v > 0) - (a->v < 0);
}

static inline ax_num infinity(int sign) { return special(sign > 0 ? AX_NUM_PINF : AX_NUM_NINF); }

static inline bool any_nan(const ax_num *a, const ax_num *b)
{
    return a->special == AX_NUM_NAN || b->special == AX_NUM_NAN;
}

/* Magnitude with sign, as a result of this scale. */
static inline ax_status finish(ax_u128 mag, bool neg, int32_t dscale, ax_num *out)
{
    if (mag >= ax_pow10(AX_NUM_DIGITS))
        return AX_EBEYOND;
    *out = (ax_num){.v = neg ? -(ax_i128) mag : (ax_i128) mag, .dscale = (int16_t) dscale};
    return AX_OK;
}

/* v * 10^n; false: beyond. */
static inline bool scale_up(ax_i128 *v, int32_t n)
{
    ax_u128 mag = ax_abs128(*v);

    if (n == 0 || mag == 0)
        return true;
    if (n > AX_NUM_DIGITS || mag >= ax_pow10(AX_NUM_DIGITS - (uint32_t) n))
        return false;
    *v *= (ax_i128) ax_pow10((uint32_t) n);
    return true;
}

/* ---- sums and products ---------------------------------------------------------------------- */

/* b_sign: 1 adds, -1 subtracts. */
static ax_status add_special(const ax_num *a, const ax_num *b, int b_sign, ax_num *out)
{
    int sa = sign_of(a), sb = sign_of(b) * b_sign;

    if (any_nan(a, b) || (a->special && b->special && sa != sb))
        *out = special(AX_NUM_NAN);
    else
        *out = infinity(a->special ? sa : sb);
    return AX_OK;
}

/* One side does not fit at the common scale; the sum may, when the signs differ.  n is what that
 * side (x) is scaled up by, y is at the common scale. */
static ax_status add_wide(ax_i128 x, int32_t n, ax_i128 y, int32_t dscale, ax_num *out)
{
    ax_u256 a;
    ax_u128 b = ax_abs128(y);

    if (n > (int32_t) AX_POW10_MAX || (x < 0) == (y < 0))
        return AX_EBEYOND;
    a = ax_mul128(ax_abs128(x), ax_pow10((uint32_t) n)); /* >= 10^38 > b */
    a.hi -= a.lo < b;
    return a.hi ? AX_EBEYOND : finish(a.lo - b, x < 0, dscale, out);
}

static inline ax_status add(const ax_num *a, const ax_num *b, int b_sign, ax_num *out)
{
    const ax_i128 end = (ax_i128) ax_pow10(AX_NUM_DIGITS);
    ax_i128 x = a->v, y = b->v, r;
    int32_t dscale = a->dscale > b->dscale ? a->dscale : b->dscale;

    if (a->special | b->special)
        return add_special(a, b, b_sign, out);
    if (a->dscale != b->dscale)
    {
        if (!scale_up(&x, dscale - a->dscale))
            return add_wide(x, dscale - a->dscale, b_sign > 0 ? y : -y, dscale, out);
        if (!scale_up(&y, dscale - b->dscale))
            return add_wide(b_sign > 0 ? y : -y, dscale - b->dscale, x, dscale, out);
    }
    if (b_sign > 0 ? __builtin_add_overflow(x, y, &r) : __builtin_sub_overflow(x, y, &r))
        return AX_EBEYOND;
    if (r >= end || r <= -end)
        return AX_EBEYOND;
    *out = (ax_num){.v = r, .dscale = (int16_t) dscale};
    return AX_OK;
}

ax_status ax_num_add(const ax_num *a, const ax_num *b, ax_num *out) { return add(a, b, 1, out); }
ax_status ax_num_sub(const ax_num *a, const ax_num *b, ax_num *out) { return add(a, b, -1, out); }

ax_status ax_num_mul(const ax_num *a, const ax_num *b, ax_num *out)
{
    int32_t dscale = a->dscale + b->dscale;
    ax_i128 r;

    if (a->special | b->special)
    {
        int sign = sign_of(a) * sign_of(b);

        *out = any_nan(a, b) || sign == 0 ? special(AX_NUM_NAN) : infinity(sign);
        return AX_OK;
    }
    if (dscale > SCALE_MAX)
        return AX_EBEYOND;
    if ((int64_t) a->v == a->v && (int64_t) b->v == b->v)
        r = a->v * b->v;
    else if (__builtin_mul_overflow(a->v, b->v, &r))
        return AX_EBEYOND;
    return finish(ax_abs128(r), r < 0, dscale, out);
}

/* ---- quotients ------------------------------------------------------------------------------ */

/* Exponent to base 10,000 of the first digit that is not 0, and that digit, of mag * 10^-dscale. */
static int32_t first_digit(ax_u128 mag, int32_t dscale, uint32_t *digit)
{
    int32_t e, weight, shift;

    *digit = 0;
    if (mag == 0)
        return 0;
    e = (int32_t) ax_digits128(mag) - 1 - dscale;
    weight = (e >= 0 ? e : e - 3) / 4; /* floor */
    shift = dscale + 4 * weight;
    *digit = shift >= 0 ? (uint32_t) (mag / ax_pow10((uint32_t) shift))
                        : (uint32_t) (mag * ax_pow10((uint32_t) -shift));
    return weight;
}

/* The server's select_div_scale. */
static int32_t div_scale(ax_u128 a, int32_t a_scale, ax_u128 b, int32_t b_scale)
{
    uint32_t da, db;
    int32_t q = first_digit(a, a_scale, &da) - first_digit(b, b_scale, &db);
    int32_t r;

    if (da <= db)
        q--;
    r = 16 - 4 * q;
    r = r > a_scale ? r : a_scale;
    r = r > b_scale ? r : b_scale;
    r = r > 0 ? r : 0;
    return r < DIV_SCALE_MAX ? r : DIV_SCALE_MAX;
}

/* a * 10^up / b, 0 <= up, b != 0; false: the quotient has more than 38 digits. */
static bool div_scaled(ax_u128 a, int32_t up, ax_u128 b, bool round, ax_u128 *q)
{
    int32_t digits = (int32_t) ax_digits128(a), near;
    ax_u256 n;
    ax_u128 rem;

    *q = 0;
    if (a == 0)
        return true;
    if (digits + up > 76) /* a * 10^up >= 10^76 > 10^38 * b */
        return false;
    /* as much as 128 bits hold, then the rest */
    near = AX_NUM_DIGITS - digits < up ? AX_NUM_DIGITS - digits : up;
    near = near > 0 ? near : 0;
    a *= ax_pow10((uint32_t) near);
    if (near == up)
    {
        *q = a / b;
        rem = a - *q * b;
    }
    else
    {
        n = ax_mul128(a, ax_pow10((uint32_t) (up - near)));
        if (n.hi >= b)
            return false;
        *q = ax_div256(n, b, &rem);
    }
    if (round && rem >= b - rem)
        ++*q;
    return *q < ax_pow10(AX_NUM_DIGITS);
}

/* Quotients with a NaN or an infinity in them. */
static ax_status div_special(const ax_num *a, const ax_num *b, ax_num *out)
{
    if (any_nan(a, b))
        *out = special(AX_NUM_NAN);
    else if (!a->special)
        *out = (ax_num){0};
    else if (b->special)
        *out = special(AX_NUM_NAN);
    else if (b->v == 0)
        return AX_EDIVZERO;
    else
        *out = infinity(sign_of(a) * sign_of(b));
    return AX_OK;
}

static ax_status div_finite(ax_i128 a, int32_t a_scale, ax_i128 b, int32_t b_scale, ax_num *out)
{
    ax_u128 ua = ax_abs128(a), ub = ax_abs128(b), q;
    int32_t scale = div_scale(ua, a_scale, ub, b_scale);

    if (a_scale > DIV_SCALE_MAX || b_scale > DIV_SCALE_MAX)
        return AX_EBEYOND;
    if (!div_scaled(ua, scale - a_scale + b_scale, ub, true, &q))
        return AX_EBEYOND;
    return finish(q, (a < 0) != (b < 0), scale, out);
}

ax_status ax_num_div(const ax_num *a, const ax_num *b, ax_num *out)
{
    if (a->special | b->special)
        return div_special(a, b, out);
    if (b->v == 0)
        return AX_EDIVZERO;
    return div_finite(a->v, a->dscale, b->v, b->dscale, out);
}

ax_status ax_num_mean(ax_i128 sum, int16_t dscale, int64_t count, ax_num *out)
{
    return div_finite(sum, dscale, count, 0, out);
}

ax_status ax_num_div_trunc(const ax_num *a, const ax_num *b, ax_num *out)
{
    int32_t up = b->dscale - a->dscale;
    ax_u128 q;
    bool neg = (a->v < 0) != (b->v < 0);

    if (a->special | b->special)
        return div_special(a, b, out);
    if (b->v == 0)
        return AX_EDIVZERO;
    if (up < 0)
    {
        ax_i128 ub = b->v;

        /* a divisor beyond 38 digits is greater than the dividend */
        q = scale_up(&ub, -up) ? ax_abs128(a->v) / ax_abs128(ub) : 0;
    }
    else if (!div_scaled(ax_abs128(a->v), up, ax_abs128(b->v), false, &q))
        return AX_EBEYOND;
    return finish(q, neg, 0, out);
}

ax_status ax_num_mod(const ax_num *a, const ax_num *b, ax_num *out)
{
    int32_t up = b->dscale - a->dscale;
    ax_u128 r, d;

    if (a->special | b->special)
    {
        if (any_nan(a, b))
            *out = special(AX_NUM_NAN);
        else if (!a->special)
            *out = *a;
        else if (!b->special && b->v == 0)
            return AX_EDIVZERO;
        else
            *out = special(AX_NUM_NAN);
        return AX_OK;
    }
    if (b->v == 0)
        return AX_EDIVZERO;
    r = ax_abs128(a->v);
    if (up <= 0)
    {
        ax_i128 ub = b->v;

        if (scale_up(&ub, -up))
            r %= ax_abs128(ub);
        return finish(r, a->v < 0, a->dscale, out);
    }
    d = ax_abs128(b->v);
    r %= d;
    for (uint32_t step; up > 0 && r != 0; up -= (int32_t) step)
    {
        step = up < AX_NUM_DIGITS ? (uint32_t) up : AX_NUM_DIGITS;
        ax_div256(ax_mul128(r, ax_pow10(step)), d, &r);
    }
    return finish(r, a->v < 0, b->dscale, out);
}

/* ---- signs ---------------------------------------------------------------------------------- */

ax_num ax_num_neg(const ax_num *a)
{
    ax_num r = *a;

    r.v = -r.v;
    if (r.special && r.special != AX_NUM_NAN)
        r.special = r.special == AX_NUM_PINF ? AX_NUM_NINF : AX_NUM_PINF;
    return r;
}

ax_num ax_num_abs(const ax_num *a)
{
    return a->special != AX_NUM_NAN && sign_of(a) < 0 ? ax_num_neg(a) : *a;
}

ax_num ax_num_sign(const ax_num *a)
{
    return a->special == AX_NUM_NAN ? *a : (ax_num){.v = sign_of(a)};
}

/* ---- rounding ------------------------------------------------------------------------------- */

enum { CUT, HALF_AWAY, FLOOR, CEIL };

/* mag / 10^drop */
static ax_u128 drop_digits(ax_u128 mag, int32_t drop, bool neg, int how)
{
    ax_u128 unit, q, r;
    bool up;

    if (drop <= 0)
        return mag;
    if (drop > (int32_t) AX_POW10_MAX) /* less than a tenth of the unit */
        return mag != 0 && ((how == FLOOR && neg) || (how == CEIL && !neg));
    unit = ax_pow10((uint32_t) drop);
    q = mag / unit;
    r = mag - q * unit;
    up = how == HALF_AWAY ? r >= unit - r
         : how == FLOOR   ? neg && r != 0
         : how == CEIL    ? !neg && r != 0
                          : false;
    return q + up;
}

static ax_status to_scale(const ax_num *a, int32_t scale, int how, ax_num *out)
{
    ax_i128 v = a->v;
    ax_u128 mag;
    bool neg = v < 0;

    if (a->special)
    {
        *out = *a;
        return AX_OK;
    }
    if (scale >= a->dscale)
    {
        if (scale > ROUND_SCALE_MAX || !scale_up(&v, scale - a->dscale))
            return AX_EBEYOND;
        *out = (ax_num){.v = v, .dscale = (int16_t) scale};
        return AX_OK;
    }
    scale = scale > -ROUND_SCALE_MAX ? scale : -ROUND_SCALE_MAX;
    mag = drop_digits(ax_abs128(v), a->dscale - scale, neg, how);
    if (scale < 0)
    {
        v = (ax_i128) mag;
        if (!scale_up(&v, -scale))
            return AX_EBEYOND;
        mag = (ax_u128) v;
    }
    return finish(mag, neg, scale > 0 ? scale : 0, out);
}

ax_status ax_num_round(const ax_num *a, int32_t scale, ax_num *out)
{
    return to_scale(a, scale, HALF_AWAY, out);
}

ax_status ax_num_trunc(const ax_num *a, int32_t scale, ax_num *out)
{
    return to_scale(a, scale, CUT, out);
}

ax_num ax_num_ceil(const ax_num *a)
{
    ax_num r = *a;

    return to_scale(a, 0, CEIL, &r) == AX_OK ? r : *a; /* cannot be beyond */
}

ax_num ax_num_floor(const ax_num *a)
{
    ax_num r = *a;

    return to_scale(a, 0, FLOOR, &r) == AX_OK ? r : *a;
}

ax_num ax_num_trim_scale(const ax_num *a)
{
    ax_num r = *a;

    if (r.special)
        return r;
    if (r.v == 0)
        r.dscale = 0;
    for (; r.dscale > 0 && r.v % 10 == 0; r.dscale--)
        r.v /= 10;
    return r;
}

/* ---- what can be told before ---------------------------------------------------------------- */

ax_num_bound ax_num_bound_of(ax_type t)
{
    switch (t.id)
    {
        case AX_T_INT2: return (ax_num_bound){true, 5, 0};
        case AX_T_INT4: return (ax_num_bound){true, 10, 0};
        case AX_T_INT8: return (ax_num_bound){true, 19, 0};
        case AX_T_NUMERIC:
            if (t.precision > 0 && t.precision <= AX_NUM_DIGITS)
                return (ax_num_bound){true, t.precision - t.scale, t.scale > 0 ? t.scale : 0};
            return (ax_num_bound){0};
        default: return (ax_num_bound){0};
    }
}

static ax_num_bound bound(int32_t whole, int32_t scale)
{
    whole = whole > 0 ? whole : 0;
    return (ax_num_bound){whole + scale <= AX_NUM_DIGITS, whole, scale};
}

ax_num_bound ax_num_fits_add(ax_num_bound a, ax_num_bound b)
{
    if (!a.known || !b.known)
        return (ax_num_bound){0};
    return bound((a.whole > b.whole ? a.whole : b.whole) + 1,
                 a.scale > b.scale ? a.scale : b.scale);
}

ax_num_bound ax_num_fits_mul(ax_num_bound a, ax_num_bound b)
{
    if (!a.known || !b.known)
        return (ax_num_bound){0};
    return bound(a.whole + b.whole, a.scale + b.scale);
}

bool ax_num_fits_div(ax_num_bound a, ax_num_bound b)
{
    /* The quotient is below 10^(a.whole + b.scale).  Where select_div_scale adds digits, it has
     * 24 or fewer (16 and those of two base-10,000 digits). */
    return a.known && b.known
        && a.whole + b.scale + (a.scale > b.scale ? a.scale : b.scale) <= AX_NUM_DIGITS;
}
