/* States of aggregates: what a group's row holds, how rows update it, merge, and become results.
 * Private to exec/.
 *
 * An aggregate call is computed from a step, a piece of state that several calls may share (avg,
 * sum and count of one column have one).  Zero bytes are the empty state of every step. */
#ifndef AX_AGG_INT_H
#define AX_AGG_INT_H

#include "exec/breaker.h"

typedef enum ax_step_op
{
    AX_STEP_ROWS,    /* u64 rows */
    AX_STEP_COUNT,   /* u64 rows whose argument is not null */
    AX_STEP_SUM64,   /* sum of int2, int4: i64 sum, u64 count */
    AX_STEP_SUM128,  /* sum of int8: i128 sum, u64 count */
    AX_STEP_SUMF4,   /* f32 sum, u32 seen */
    AX_STEP_SUMF8,   /* f64 sum, u64 count */
    AX_STEP_AVGF,    /* Youngs-Cramer: f64 N, Sx, Sxx */
    AX_STEP_MIN64,   /* i64 value, u64 seen; of int*, date, time*, and floats in order form */
    AX_STEP_MAX64,
    AX_STEP_MINSTR,  /* u64 first bytes, pointer (NULL: none), u32 len, u32 room */
    AX_STEP_MAXSTR,
} ax_step_op;

typedef struct ax_step
{
    uint8_t op;          /* ax_step_op */
    bool strict;         /* floats: add in input order */
    int32_t arg_col;     /* -1: none */
    int32_t filter_col;  /* -1: none */
    int32_t set;         /* index of the set of distinct values that feeds it, -1: input rows */
    ax_type arg_type;
    uint32_t off;        /* of the state in a row */
} ax_step;

uint32_t ax_step_bytes(uint8_t op);

/* Argument values of the rows to aggregate, one after the other. */
typedef struct ax_step_in
{
    ax_vec v;            /* FLAT, or VIEW for strings; [n] */
    const uint8_t *skip; /* [n] 1: row does not count; NULL: all do */
} ax_step_in;

/* Update the states of row[0..n), or, with `one`, of one row from all values.  Strings that become
 * extremes are copied into mem.  Errors: ERANGE, ENOMEM. */
ax_status ax_step_update(ax_task *t, const ax_step *s, ax_arena *scratch, ax_arena *mem,
                         uint8_t *const *row, uint8_t *one, uint32_t n, const ax_step_in *in)
    AX_MUST_USE;

/* dst[i] += src[i]; strings keep their addresses. */
ax_status ax_step_merge(ax_task *t, const ax_step *s, uint8_t *const *dst, uint8_t *const *src,
                        uint32_t n) AX_MUST_USE;

/* Results of aggregate `agg` over argument type `arg` for row[0..n). */
ax_status ax_step_result(ax_task *t, ax_arena *a, const ax_step *s, uint8_t agg, ax_type result,
                         uint8_t *const *row, uint32_t n, ax_vec *out) AX_MUST_USE;

/* Exact sum / count as PostgreSQL's numeric division shows it; count > 0. */
ax_num ax_num_avg(ax_i128 sum, uint64_t count);

/* Total order of floats as integers: NaN greatest; -0 before 0. */
static inline int64_t ax_f64_order(double d)
{
    int64_t b;

    if (d != d)
        return INT64_MAX;
    __builtin_memcpy(&b, &d, 8);
    return b ^ (int64_t) ((uint64_t) (b >> 63) >> 1);
}

static inline double ax_f64_unorder(int64_t b)
{
    double d;

    if (b == INT64_MAX)
        return __builtin_nan("");
    b ^= (int64_t) ((uint64_t) (b >> 63) >> 1);
    __builtin_memcpy(&d, &b, 8);
    return d;
}

#endif
