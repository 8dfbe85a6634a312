/* Powers of ten and the 256-by-128-bit division. */
#include "func/wide_int.h"

#define E19 ((ax_u128) UINT64_C(10000000000000000000))
#define LOW(n) ((ax_u128) UINT64_C(n))

const ax_u128 ax_pow10_table[AX_POW10_MAX + 1] = {
    LOW(1), LOW(10), LOW(100), LOW(1000), LOW(10000), LOW(100000), LOW(1000000), LOW(10000000),
    LOW(100000000), LOW(1000000000), LOW(10000000000), LOW(100000000000), LOW(1000000000000),
    LOW(10000000000000), LOW(100000000000000), LOW(1000000000000000), LOW(10000000000000000),
    LOW(100000000000000000), LOW(1000000000000000000),
    E19, E19 * 10, E19 * 100, E19 * 1000, E19 * 10000, E19 * 100000, E19 * 1000000, E19 * 10000000,
    E19 * 100000000, E19 * 1000000000, E19 * 10000000000, E19 * 100000000000,
    E19 * 1000000000000, E19 * 10000000000000, E19 * 100000000000000, E19 * 1000000000000000,
    E19 * 10000000000000000, E19 * 100000000000000000, E19 * 1000000000000000000, E19 * E19,
};

/* One 64-bit digit of a quotient: (r:next) / d where r < d and d's top bit is set; r becomes the
 * remainder.  Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D, with two-digit d. */
static uint64_t div_digit(ax_u128 *r, uint64_t next, ax_u128 d)
{
    uint64_t dh = (uint64_t) (d >> 64), dl = (uint64_t) d, rh = (uint64_t) (*r >> 64);
    ax_u128 q, rest, high, low;

    if (rh >= dh)
    {
        q = UINT64_MAX;
        rest = *r - q * dh;
    }
    else
    {
        q = *r / dh;
        rest = *r - q * dh;
    }
    while (rest >> 64 == 0 && q * dl > (rest << 64 | next))
    {
        q--;
        rest += dh;
    }
    /* remainder: (r:next) - q * d, which is below d and so within 128 bits */
    low = *r << 64 | next;
    high = q * d;
    *r = low - high;
    return (uint64_t) q;
}

ax_u128 ax_div256(ax_u256 a, ax_u128 d, ax_u128 *rem)
{
    uint32_t shift;
    uint64_t dh = (uint64_t) (d >> 64), q1, q0;
    ax_u128 r;

    if (dh == 0) /* two steps of ordinary long division */
    {
        ax_u128 n = a.hi << 64 | (uint64_t) (a.lo >> 64);

        q1 = (uint64_t) (n / d);
        n = (n - q1 * d) << 64 | (uint64_t) a.lo;
        q0 = (uint64_t) (n / d);
        *rem = n - q0 * d;
        return (ax_u128) q1 << 64 | q0;
    }
    if (a.hi == 0)
    {
        ax_u128 q = a.lo / d;

        *rem = a.lo - q * d;
        return q;
    }
    shift = (uint32_t) __builtin_clzll(dh);
    if (shift > 0)
    {
        d <<= shift;
        a.hi = a.hi << shift | a.lo >> (128 - shift);
        a.lo <<= shift;
    }
    r = a.hi;
    q1 = div_digit(&r, (uint64_t) (a.lo >> 64), d);
    q0 = div_digit(&r, (uint64_t) a.lo, d);
    *rem = r >> shift;
    return (ax_u128) q1 << 64 | q0;
}
