/* Natural numbers of any length, for decimals that pass 128 and 256 bits.
 *
 * Private to func/.  Words are 32 bits, least significant first, without leading zero words; 0 has
 * none.  Numbers are immutable: results are allocated in the arena that is given, and live as long
 * as it.  Every function that allocates returns false when memory is out.
 *
 * Schoolbook algorithms: numbers have tens of words, seldom hundreds. */
#ifndef AX_NATURAL_INT_H
#define AX_NATURAL_INT_H

#include "vector/vector.h"

typedef struct ax_nat { const uint32_t *w; uint32_t n; } ax_nat;

/* From n words of 64 bits, least significant first. */
bool ax_nat_make(ax_arena *a, const uint64_t *word, uint32_t n, ax_nat *out) AX_MUST_USE;

int ax_nat_cmp(ax_nat x, ax_nat y); /* <0, 0, >0 */
bool ax_nat_add(ax_arena *a, ax_nat x, ax_nat y, ax_nat *out) AX_MUST_USE;
bool ax_nat_sub(ax_arena *a, ax_nat x, ax_nat y, ax_nat *out) AX_MUST_USE; /* x >= y */
bool ax_nat_mul(ax_arena *a, ax_nat x, ax_nat y, ax_nat *out) AX_MUST_USE;
bool ax_nat_mul_pow10(ax_arena *a, ax_nat x, uint32_t exponent, ax_nat *out) AX_MUST_USE;

/* x / y and the remainder; y > 0.  rem may be NULL. */
bool ax_nat_div(ax_arena *a, ax_nat x, ax_nat y, ax_nat *quot, ax_nat *rem) AX_MUST_USE;

/* The greatest number whose square is not above x. */
bool ax_nat_sqrt(ax_arena *a, ax_nat x, ax_nat *out) AX_MUST_USE;

/* Decimal digits, most significant first, values 0 to 9; 0 has none. */
bool ax_nat_digits(ax_arena *a, ax_nat x, uint8_t **digit, uint32_t *n) AX_MUST_USE;

/* Does x fit 127 bits? then its value. */
bool ax_nat_fits(ax_nat x, ax_u128 *out);

#endif
