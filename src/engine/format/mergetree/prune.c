/* Pruning: which granules of a split may have rows that match. */
#include "mergetree_int.h"

typedef struct prune_op { ax_mt_op op; } prune_op;

ax_status ax_mt_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                            const ax_filter *f, uint32_t allow, ax_fmt_op **out)
{
    prune_op *o;

    (void) b;
    (void) split;
    (void) f;
    (void) allow;
    AX_NEW(t, o, (prune_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = MT_OP_PRUNE;
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

ax_status ax_mt_prune_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    (void) t;
    (void) op;
    ev->step = AX_STEP_DONE;
    ev->match = AX_MATCH_SOME;
    return AX_OK;
}

void ax_mt_prune_end(ax_fmt_op *op) { (void) op; }
