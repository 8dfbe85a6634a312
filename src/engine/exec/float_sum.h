/* Sums of doubles that do not depend on the order of the additions.
 *
 * A sum is kept as an integer in digits of 24 bits at fixed places, a window of six of them below
 * the largest value so far.  A value falls apart into whole digits, so adding is adding integers:
 * any order, any number of threads and any way of merging give the same digits.  What lies below
 * the window is cut off, more than 2^91 times smaller than the largest value; the result is rounded
 * once.  The window follows from the largest value alone, so what is cut off does, too. */
#ifndef AX_FLOAT_SUM_H
#define AX_FLOAT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#define AX_FSUM_DIGITS 6

/* Zero bytes are the sum of no values. */
typedef struct ax_fsum
{
    int64_t digit[AX_FSUM_DIGITS]; /* of 2^(24 (base + k) - 1074); not carried */
    uint64_t tally;                /* values added, and what was among them */
    uint32_t base;
} ax_fsum;

#define AX_FSUM_COUNT ((1ull << 56) - 1)
#define AX_FSUM_POSITIVE_INF (1ull << 56)
#define AX_FSUM_NEGATIVE_INF (1ull << 57)
#define AX_FSUM_NAN (1ull << 58)
#define AX_FSUM_NOT_MINUS_ZERO (1ull << 59) /* the sum of -0 alone is -0 */

/* Add v[i] to the sum at state[i] + off, where skip (NULL: none) is 0.  Thread: any, one per state
 * at a time; so do the others. */
void ax_fsum_scatter(uint8_t *const *state, uint32_t off, uint32_t n, const double *v,
                     const uint8_t *skip);
/* Add all of v[0..n), where skip is 0, to one sum. */
void ax_fsum_add(ax_fsum *s, uint32_t n, const double *v, const uint8_t *skip);
void ax_fsum_merge(ax_fsum *a, const ax_fsum *b);
/* Infinite, too, where finite values overflow. */
double ax_fsum_result(const ax_fsum *s);

static inline uint64_t ax_fsum_count(const ax_fsum *s) { return s->tally & AX_FSUM_COUNT; }

/* Are there infinities or NaN? */
static inline bool ax_fsum_special(const ax_fsum *s)
{
    return (s->tally & (AX_FSUM_POSITIVE_INF | AX_FSUM_NEGATIVE_INF | AX_FSUM_NAN)) != 0;
}

/* Values below AX_FSUM_LARGE, up to 2^56 of them, have squares whose sum is finite.  Has there been
 * another? */
#define AX_FSUM_LARGE 0x1p394 /* 2^52 of 2^(24 * AX_FSUM_LARGE_PLACE - 1074) */
#define AX_FSUM_LARGE_PLACE 59
static inline bool ax_fsum_large(const ax_fsum *s)
{
    return s->base >= AX_FSUM_LARGE_PLACE - (AX_FSUM_DIGITS - 4);
}

#endif
