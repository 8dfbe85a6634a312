/* Exact results of aggregates of decimals: sums, averages, variances, standard deviations.
 *
 * Values are added up as integers, a part for each display scale that occurred; how the server adds
 * and divides decimals then follows from the parts alone, in any order of the rows.  What needs
 * more than ax_num has becomes AX_NUM_WIDE.
 *
 * Rules of the server (numeric.c: numeric_sum, numeric_avg, numeric_stddev_internal): the sum has
 * the largest scale; the average is the sum divided by the count; the variance is
 * (N sum(x^2) - sum(x)^2) / (N (N - 1)), or / N^2 for a population, plain 0 when the numerator is
 * not positive, divided with the scale that / chooses; the deviation is its square root at that
 * same scale. */
#ifndef AX_NUMERIC_SUM_H
#define AX_NUMERIC_SUM_H

#include "vector/vector.h"

#define AX_NUM_SUM_WORDS 3u     /* 2^63 values below 2^127, two's complement */
#define AX_NUM_SQUARE_WORDS 5u  /* 2^63 squares below 2^254 */

typedef struct ax_num_part
{
    int16_t scale;              /* of the values; their squares have twice that */
    const uint64_t *sum;        /* [AX_NUM_SUM_WORDS] sum(x) 10^scale, least significant first */
    const uint64_t *squares;    /* [AX_NUM_SQUARE_WORDS] sum(x^2) 10^(2 scale); NULL: not needed */
} ax_num_part;

typedef enum ax_num_result
{
    AX_NUM_SUM, AX_NUM_AVG, AX_NUM_VAR_POP, AX_NUM_VAR_SAMP, AX_NUM_STDDEV_POP, AX_NUM_STDDEV_SAMP
} ax_num_result;

/* n parts, count > 0 finite values (> 1 for samples).  Digits of a wide result are in tmp, and so
 * is all work.  Errors: ENOMEM. */
ax_status ax_num_aggregate(ax_task *t, ax_arena *tmp, const ax_num_part *part, uint32_t n,
                           uint64_t count, ax_num_result what, ax_num *out) AX_MUST_USE;

#endif
