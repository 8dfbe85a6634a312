/* States of aggregates: what a group's row holds, how rows update it, merge, and become results.
 * Private to exec/.
 *
 * An aggregate call is computed from a step, a piece of state that several calls may share (avg,
 * sum and count of one column have one).  Zero bytes are the empty state of every step. */
#ifndef AX_AGG_INT_H
#define AX_AGG_INT_H

#include "exec/breaker.h"
#include "exec/ht_int.h"

typedef enum ax_step_op
{
    AX_STEP_ROWS,    /* u64 rows */
    AX_STEP_COUNT,   /* u64 rows whose argument is not null */
    AX_STEP_SUM64,   /* sum of int2, int4: i64 sum, u64 count */
    AX_STEP_SUM128,  /* sum of int8: i128 sum, u64 count */
    AX_STEP_SUMF4,   /* f32 sum, u32 seen */
    AX_STEP_SUMF8,   /* in input order: f64 sum, u64 count */
    AX_STEP_FSUM,    /* in any order: ax_fsum */
    AX_STEP_FAVG,    /* the same and f64 Sxx, see op_agg_float.c */
    AX_STEP_AVGF,    /* Youngs-Cramer: f64 N, Sx, Sxx */
    AX_STEP_REGR,    /* the same of two: f64 N, Sx, Sxx, Sy, Syy, Sxy */
    AX_STEP_VARINT,  /* int*: u64 count, i128 sum, u192 sum of squares */
    AX_STEP_SUMNUM,  /* numeric: see op_agg_num.c */
    AX_STEP_VARNUM,
    AX_STEP_BITAND,  /* i64 value, u64 seen */
    AX_STEP_BITOR,
    AX_STEP_BITXOR,
    AX_STEP_MIN64,   /* i64 value, u64 seen; of bool, int*, date, time*, floats in order form */
    AX_STEP_MAX64,
    AX_STEP_MINSTR,  /* u64 first bytes, pointer (NULL: none), u32 len, u32 room */
    AX_STEP_MAXSTR,
    AX_STEP_MINVAL,  /* u64 seen, numeric, interval or 16 bytes */
    AX_STEP_MAXVAL,
} ax_step_op;

/* Memory of states that outgrow their rows, and of results that outlive their batch: as long as the
 * breaker.  Seldom needed; thread: any. */
typedef struct ax_agg_pool
{
    pthread_mutex_t lock;
    ax_arena *arena;     /* owned; guarded by lock */
} ax_agg_pool;

void *ax_agg_pool_alloc(ax_agg_pool *p, size_t bytes); /* zeroed; NULL: out of memory */

typedef struct ax_step
{
    uint8_t op;          /* ax_step_op */
    int32_t arg_col;     /* -1: none */
    int32_t arg2_col;    /* -1: none */
    int32_t filter_col;  /* -1: none */
    int32_t set;         /* index of the set of distinct values that feeds it, -1: input rows */
    ax_type arg_type;
    uint32_t off;        /* of the state in a row */
    ax_agg_pool *pool;   /* borrowed from the breaker */
} ax_step;

uint32_t ax_step_bytes(uint8_t op);

/* Argument values of the rows to aggregate, one after the other. */
typedef struct ax_step_in
{
    ax_vec v;            /* FLAT, or VIEW for strings; [n] */
    ax_vec v2;           /* the second argument, FLAT; [n] */
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

/* Results of a call for row[0..n), in a.  tmp is reset as work goes on. */
ax_status ax_step_result(ax_task *t, ax_arena *a, ax_arena *tmp, const ax_step *s,
                         const ax_agg_arg *call, uint8_t *const *row, uint32_t n, ax_vec *out)
    AX_MUST_USE;

/* Exact sum / count as PostgreSQL's numeric division shows it; count > 0. */
ax_num ax_num_avg(ax_i128 sum, uint64_t count);

/* ---- families of steps ----------------------------------------------------------------------- */

/* Values as int64, floats in order form; int8 and the like without a copy. */
ax_status ax_step_i64(ax_task *t, ax_arena *scratch, const ax_vec *v, uint32_t n,
                      const int64_t **out) AX_MUST_USE;
void ax_step_store_i64(ax_phys p, void *out, uint32_t i, int64_t v);
uint64_t ax_step_kept(const uint8_t *skip, uint32_t n); /* how many rows count */
/* With `one`, makes *row a list of n times it. */
ax_status ax_step_repeat(ax_task *t, ax_arena *scratch, uint8_t *one, uint32_t n,
                         uint8_t *const **row) AX_MUST_USE;

/* op_agg_float.c */
ax_status ax_step_update_float(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                               uint8_t *one, uint32_t n, const ax_step_in *in) AX_MUST_USE;
ax_status ax_step_merge_float(ax_task *t, uint8_t op, void *a, const void *b) AX_MUST_USE;
uint64_t ax_step_count_float(uint8_t op, const void *st);
ax_status ax_step_result_float(ax_task *t, uint8_t op, uint8_t agg, const void *st, void *out,
                               uint32_t i, uint8_t *null) AX_MUST_USE;

/* op_agg_num.c; states begin with the u64 count. */
ax_status ax_step_update_num(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                             uint8_t *one, uint32_t n, const ax_step_in *in) AX_MUST_USE;
ax_status ax_step_merge_num(ax_task *t, const ax_step *s, void *a, const void *b) AX_MUST_USE;
ax_status ax_step_result_num(ax_task *t, ax_arena *tmp, const ax_step *s, const ax_agg_arg *call,
                             const void *st, void *out, uint32_t i, uint8_t *null) AX_MUST_USE;
/* sum or avg of count > 0 integers of type arg_type whose sum is known, into the result's type. */
ax_status ax_step_result_sum(ax_task *t, const ax_agg_arg *call, ax_i128 sum, uint64_t count,
                             void *out, uint32_t i) AX_MUST_USE;

/* op_agg_extreme.c: one of the values is kept. */
void ax_step_update_extreme(const ax_step *s, uint8_t *const *row, uint8_t *one, uint32_t n,
                            const int64_t *v, const uint8_t *skip);
ax_status ax_step_update_str(ax_task *t, const ax_step *step, ax_arena *mem, uint8_t *const *row,
                             uint8_t *one, uint32_t n, const ax_step_in *in) AX_MUST_USE;
void ax_step_update_value(const ax_step *s, uint8_t *const *row, uint8_t *one, uint32_t n,
                          const ax_step_in *in);
void ax_step_merge_keep(const ax_step *s, void *a, const void *b);
uint64_t ax_step_count_keep(uint8_t op, const void *st);
void ax_step_result_keep(const ax_step *s, ax_type type, const void *st, void *out, uint32_t i);
ax_status ax_step_result_str(ax_task *t, ax_arena *a, uint32_t off, uint8_t *const *row, uint32_t n,
                             ax_vec *out) AX_MUST_USE;

/* ---- the breaker's own state ---------------------------------------------------------------- */

/* Distinct (group, value) pairs of one column under one filter.  The image of a pair is the image
 * of the value followed by that of the group, whose strings stay where the group's row has them.
 * Values of strings are represented by a keyed 128-bit hash. */
typedef struct ax_agg_set
{
    int32_t arg_col, filter_col;
    ax_type arg_type;
    ax_ht_layout value;      /* image of the value alone; UUID for strings */
    ax_ht ht;
} ax_agg_set;

typedef struct ax_agg
{
    ax_breaker b;
    ax_arena *arena;         /* owned: all that is immutable after create */
    uint32_t nkeys, nargs;
    ax_agg_arg *arg;         /* [nargs] */
    uint16_t *arg_step;      /* [nargs] step of each call */
    ax_step *step;           /* [nsteps] */
    uint32_t nsteps;
    uint32_t state_bytes;
    ax_ht ht;
    ax_agg_set *set;         /* [nsets] */
    uint32_t nsets;
    uint64_t hash_key[2];    /* of strings in sets */
    ax_agg_pool pool;
    bool has_pool;
    uint8_t **one;           /* [nlanes] no keys: the group of each lane */
    uint64_t *rows_in;       /* [nlanes * 16] one cache line each */
    uint32_t busy;           /* lanes that work at the same time */
    uint32_t nparts;
    uint32_t part_span;      /* partitions of a part */
    uint8_t *null_row;       /* merged; yielded by part 0 */
    struct ax_part **part;   /* [nparts] open parts, each slot by the lane that runs it */
    /* Few groups with sets: groups are built by prepare, parts share the pairs, and the part that
     * ends last yields. */
    bool shared;
    ax_ht_groups few;
    uint8_t *acc;            /* [few.n] rows with the states of set steps; guarded by lock */
    pthread_mutex_t lock;
    bool has_lock;
    uint32_t ended;          /* parts that have added to acc; guarded by lock */
    /* Only groups up to a bound of one output column are wanted; nulls always are. */
    const ax_order_key *top; /* borrowed from the spec; NULL: all groups */
    bool top_ties;
    _Atomic bool bounded;    /* release after the first bound */
    _Atomic int64_t bound;
} ax_agg;

/* ---- op_agg_set.c --------------------------------------------------------------------------- */

/* The set for this argument, made if need be; -1: out of memory. */
ax_status ax_agg_set_for(ax_task *t, ax_agg *g, const ax_agg_arg *a, int32_t *set) AX_MUST_USE;

/* Lay out the tables, once the group's layout is known. */
ax_status ax_agg_sets_init(ax_task *t, ax_agg *g, const ax_agg_spec *spec) AX_MUST_USE;
void ax_agg_sets_fini(ax_agg *g);

/* Add the values of a batch whose rows belong to row[0..nsel) (NULL: no keys). */
ax_status ax_agg_sets_put(ax_task *t, ax_agg *g, uint32_t lane, const ax_batch *in,
                          uint8_t *const *row) AX_MUST_USE;
ax_status ax_agg_sets_relieve(ax_task *t, ax_agg *g, uint32_t lane) AX_MUST_USE;

/* Staged groups are about to go: no pair in memory may have strings of theirs afterwards. */
ax_status ax_agg_sets_let_go(ax_task *t, ax_agg *g, uint32_t lane) AX_MUST_USE;
ax_status ax_agg_sets_end(ax_task *t, ax_agg *g, uint32_t lane) AX_MUST_USE;

/* Update set steps from the pairs of part `part` of `nparts`.  Groups are found in dir and their
 * states are at acc + ordinal * row_bytes if acc is given (the ordinal stands in the row), else in
 * their rows; no keys: in `one`. */
ax_status ax_agg_sets_apply(ax_task *t, ax_agg *g, uint32_t part, uint32_t nparts,
                            const ax_ht_dir *dir, uint8_t *acc, uint8_t *one) AX_MUST_USE;
uint64_t *ax_agg_ordinal(const ax_agg *g, uint8_t *row);
bool ax_agg_sets_large(const ax_agg *g);

/* Columns of a batch for kernels: see op_agg.c. */
ax_status ax_agg_load_column(ax_task *t, ax_arena *scratch, const ax_batch *in, int32_t c,
                             ax_vec *out) AX_MUST_USE;
ax_status ax_agg_load_skip(ax_task *t, ax_arena *scratch, const ax_batch *in, int32_t filter_col,
                           const uint8_t *arg_null, const uint8_t **skip) AX_MUST_USE;

/* ---- order of floats ------------------------------------------------------------------------ */

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
