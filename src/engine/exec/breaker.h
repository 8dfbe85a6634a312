/* Breakers: operators that must see all input before they yield (aggregation, top-N, sort,
 * distinct, later join builds).  Private to exec/.
 *
 * A pipeline stage runs on several lanes: source -> filter/project chain -> breaker.put.  When all
 * lanes have ended, the breaker is the source of the next stage: it splits its result into parts
 * that lanes pull from independently.
 *
 *      put(lane 0..n-1, in parallel) ... put_end(each lane)
 *                 |  barrier: the last lane calls
 *             prepare -> nparts                       (once, one thread; cheap)
 *                 |
 *      part_begin(i) -> part_next* -> part_end        (parts in parallel, each by one lane)
 *
 * Input.  put gets batches whose columns are already the operands (the driver evaluated
 * expressions): see each constructor for their order.  Vectors come in any encoding, with a
 * selection.  The batch is valid during the call only.
 *
 * Output.  part_next yields batches valid until the next call on that part; *out = NULL at its end.
 * Ordered breakers (sort, top-N) have one part, or parts whose concatenation is the order
 * (`ordered` set): the driver then takes them in sequence.
 *
 * Spilling.  put cannot wait for the host: a breaker that is short of memory and finds no temporary
 * file goes on, and the driver sees to the file before the lane's next batch (spill.h).
 *
 * Cancel: every call checks ax_task_stopped at least every 5 ms and returns AX_ESTOPPED.
 * Memory: everything is charged to t->budget through the breaker's own arenas and slabs; destroy
 * gives all back, in any state.  Errors: ENOMEM, ERANGE (overflow of a sum), ESTOPPED. */
#ifndef AX_BREAKER_H
#define AX_BREAKER_H

#include "exec/spill.h"
#include "func/func.h"
#include "vector/vector.h"

typedef struct ax_breaker ax_breaker;
typedef struct ax_part ax_part;

typedef struct ax_breaker_ops
{
    ax_status (*put)(ax_task *t, ax_breaker *b, uint32_t lane, ax_batch *in);
    ax_status (*put_end)(ax_task *t, ax_breaker *b, uint32_t lane);
    ax_status (*prepare)(ax_task *t, ax_breaker *b, uint32_t *nparts);
    ax_status (*part_begin)(ax_task *t, ax_breaker *b, uint32_t part, ax_arena *a, ax_part **out);
    ax_status (*part_next)(ax_task *t, ax_part *p, ax_batch **out);
    void (*part_end)(ax_part *p);
    void (*destroy)(ax_breaker *b);
} ax_breaker_ops;

struct ax_breaker
{
    const ax_breaker_ops *ops;
    uint32_t nlanes;
    bool ordered;         /* parts are to be concatenated in order */
    uint64_t rows_in;     /* summed by prepare, for profiles */
    uint64_t groups;      /* groups or rows held, for profiles */
    const _Atomic bool *enough; /* set once: more input changes nothing any more; NULL: never */
};

/* ---- aggregation ----------------------------------------------------------------------------- */

typedef struct ax_agg_arg
{
    uint8_t agg;          /* ax_agg_id */
    bool distinct;
    int32_t arg_col;      /* operand column in the input batch, -1: none (count(*)) */
    int32_t arg2_col;     /* the second of two, of the same type; -1: none */
    int32_t filter_col;   /* BOOL column: only rows where it is true, -1: all */
    ax_type arg_type;
    ax_type type;         /* result */
    int64_t add;          /* sum and avg of integers: added to each value */
} ax_agg_arg;

typedef struct ax_order_key { uint32_t col; bool desc, nulls_first; } ax_order_key;

typedef struct ax_agg_spec
{
    const ax_type *key_type;   /* [nkeys] columns 0..nkeys-1 of the input */
    uint32_t nkeys;            /* 0: one group, one row out, also for no input */
    const ax_agg_arg *arg;     /* [nargs] */
    uint32_t nargs;
    double est_groups;         /* 0: unknown */
    bool strict_float_sum;     /* one lane, input order */
    int64_t group_limit;       /* > 0: any so many groups suffice (LIMIT without ORDER BY): groups
                                * fixed when so many are known, others dropped */
    ax_spill *spill;           /* borrowed; NULL: everything stays in memory */
    const ax_order_key *top;   /* only the first groups by this integer column of the output are
                                * wanted, how many tells ax_agg_tighten; NULL: all */
    bool top_ties;             /* and so are all groups equal to the last of them */
    uint32_t busy_lanes;       /* lanes that work at the same time; 0: all */
} ax_agg_spec;

/* Output columns: keys, then results.  Keys compare as SQL groups: nulls are one group, -0 = 0,
 * NaN = NaN.  Which of equal, distinguishable values represents a group is free. */
ax_status ax_agg_create(ax_task *t, ax_arena *a, const ax_agg_spec *spec, uint32_t nlanes,
                        ax_breaker **out) AX_MUST_USE;

/* Groups whose spec.top column comes behind bound, or without top_ties at it, are not wanted any
 * more.  They may still come.  The bound only moves forward.
 * Thread: any. */
void ax_agg_tighten(ax_breaker *b, const ax_value *bound);

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct ax_order_spec
{
    const ax_type *type;       /* [ncols] input = output columns */
    uint32_t ncols;
    const ax_order_key *key;   /* [nkeys] */
    uint32_t nkeys;
    int64_t limit;             /* -1: all rows (sort); else keep offset + limit, yield limit */
    int64_t offset;
    /* called when the threshold of the first key got tighter: only rows not behind it can still
     * enter.  May be NULL.  Thread: any lane. */
    void (*tighten)(void *arg, const ax_value *bound);
    void *tighten_arg;
    ax_spill *spill;           /* borrowed; NULL: everything stays in memory */
} ax_order_spec;

ax_status ax_order_create(ax_task *t, ax_arena *a, const ax_order_spec *spec, uint32_t nlanes,
                          ax_breaker **out) AX_MUST_USE;

#endif
