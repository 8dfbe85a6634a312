/* Unsigned integers of 128 and 256 bits for decimals: powers of ten, products, quotients.
 *
 * Private to func/.  All functions are total within the stated ranges and allocate nothing. */
#ifndef AX_WIDE_INT_H
#define AX_WIDE_INT_H

#include "vector/vector.h"

#define AX_POW10_MAX 38u

typedef struct ax_u256 { ax_u128 hi, lo; } ax_u256;

extern const ax_u128 ax_pow10_table[AX_POW10_MAX + 1];

/* 10^n, n <= 38 */
static inline ax_u128 ax_pow10(uint32_t n) { return ax_pow10_table[n]; }

static inline ax_u128 ax_abs128(ax_i128 v) { return v < 0 ? -(ax_u128) v : (ax_u128) v; }

/* Decimal digits of v: 0 for 0, up to 39. */
static inline uint32_t ax_digits128(ax_u128 v)
{
    uint64_t hi = (uint64_t) (v >> 64), lo = (uint64_t) v;
    uint32_t bits = hi ? 128 - (uint32_t) __builtin_clzll(hi)
                       : lo ? 64 - (uint32_t) __builtin_clzll(lo) : 0;
    uint32_t n = bits * 1233 >> 12; /* floor(bits * log10(2)), exact below 2^129 */

    return n > AX_POW10_MAX || v < ax_pow10_table[n] ? n : n + 1;
}

static inline ax_u256 ax_mul128(ax_u128 a, ax_u128 b)
{
    uint64_t ah = (uint64_t) (a >> 64), al = (uint64_t) a;
    uint64_t bh = (uint64_t) (b >> 64), bl = (uint64_t) b;
    ax_u128 ll = (ax_u128) al * bl, lh = (ax_u128) al * bh;
    ax_u128 hl = (ax_u128) ah * bl, hh = (ax_u128) ah * bh;
    ax_u128 mid = (ll >> 64) + (uint64_t) lh + (uint64_t) hl;

    return (ax_u256){hh + (lh >> 64) + (hl >> 64) + (mid >> 64), mid << 64 | (uint64_t) ll};
}

/* a / d with the remainder in *rem; a.hi < d, so that the quotient fits. */
ax_u128 ax_div256(ax_u256 a, ax_u128 d, ax_u128 *rem);

/* n / d, halves rounded away from zero; n < 2^127. */
static inline ax_u128 ax_div_round(ax_u128 n, ax_u128 d)
{
    ax_u128 q = n / d, r = n - q * d;

    return q + (r >= d - r);
}

#endif
