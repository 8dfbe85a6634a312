/* The streaming operators: filter, project, limit, and what metadata adds.
 *
 * Each takes a batch and leaves it narrower, or puts another in its place; no rows left is
 * `*b = NULL`.  An operator that needs an answer of the host asks for it and says PARK: it is run
 * again with the same batch.
 *
 * Row errors.  When a row raises and the stage feeds the output, the batch is cut before that row,
 * the error is kept in the lane (which ends after this batch), and the operator runs again. */
#include "exec/exec_int.h"

#include <string.h>

/* Deferred errors make sense where rows leave one by one: in front of the output. */
static bool can_defer(const ax_lane *l)
{
    return l->stage->sink->kind == AX_SINK_OUTPUT;
}

/* Cut b in front of physical row `row`. */
static void cut(ax_opstate *s, ax_batch *b, uint32_t row)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint16_t r = b->sel != NULL ? b->sel[i] : (uint16_t) i;

        if (r >= row)
            break;
        s->sel[n++] = r;
    }
    b->sel = s->sel;
    b->nsel = n;
}

/* A row raised: keep the error and cut the batch, or fail. */
static ax_status row_error(ax_lane *l, ax_opstate *s, ax_batch *b, ax_status st,
                           const ax_eval_result *r)
{
    if (r->fail_row == UINT32_MAX || !can_defer(l) || st == AX_ESTOPPED || st == AX_ENOMEM)
        return st;
    l->poison = l->task.err;
    ax_error_clear(&l->task.err);
    cut(s, b, r->fail_row);
    return AX_OK;
}

ax_status ax_op_init(ax_lane *l, uint32_t i)
{
    const ax_op *op = l->stage->op[i];
    ax_opstate *s = &l->ops[i];
    ax_task *t = &l->task;

    AX_NEW(t, s->sel, (uint16_t *) ax_arena_values(l->state_arena, AX_BATCH_ROWS * 2));
    switch ((ax_op_kind) op->kind)
    {
    case AX_OP_FILTER:
        AX_NEW(t, s->order,
               (uint32_t *) ax_arena_alloc(l->state_arena,
                                           (ax_filter_steps(op->filter) + 1) * sizeof(uint32_t)));
        return ax_filter_lane_create(t, l->state_arena, op->filter, &s->filter);
    case AX_OP_PROJECT:
        AX_NEW(t, s->vec,
               (ax_vec *) ax_arena_alloc0(l->state_arena, (op->ncols + 1) * sizeof *s->vec));
        return ax_eval_create(t, l->state_arena, op->prog, &s->eval);
    case AX_OP_ADD_META:
        AX_NEW(t, s->vec,
               (ax_vec *) ax_arena_alloc0(l->state_arena, (op->ncols + 1) * sizeof *s->vec));
        return AX_OK;
    default:
        return AX_OK;
    }
}

static ax_status run_filter(ax_lane *l, const ax_op *op, ax_opstate *s, ax_batch **b, ax_go *go)
{
    uint32_t steps = ax_filter_steps(op->filter);
    const uint32_t *order = s->order;
    ax_batch *in = *b;

    if (s->pos == 0)
    {
        /* A batch that comes back after an answer of the host goes on in its old order. */
        if (steps > 0)
            memcpy(s->order, ax_filter_lane_order(s->filter), steps * sizeof *s->order);
        AX_TRY(ax_filter_live(&l->task, s->filter, in));
    }
    for (; s->pos < steps && in->nsel > 0; s->pos++)
    {
        ax_eval_result r = {.fail_row = UINT32_MAX};
        uint16_t *sel = in->sel;
        uint32_t nsel = in->nsel;
        ax_status st = ax_filter_step(&l->task, s->filter, order[s->pos], in, &r);

        while (st != AX_OK)
        {
            in->sel = sel;
            in->nsel = nsel;
            AX_TRY(row_error(l, s, in, st, &r));
            r = (ax_eval_result){.fail_row = UINT32_MAX};
            st = in->nsel > 0 ? ax_filter_step(&l->task, s->filter, order[s->pos], in, &r) : AX_OK;
        }
        if (r.need != NULL)
        {
            ax_host_ask(l, r.need);
            *go = AX_GO_PARK;
            return AX_OK;
        }
    }
    s->pos = 0;
    if (in->nsel == 0)
        *b = NULL;
    return AX_OK;
}

static ax_status run_project(ax_lane *l, const ax_op *op, ax_opstate *s, ax_batch **b, ax_go *go)
{
    ax_batch *in = *b;
    ax_eval_result r = {.fail_row = UINT32_MAX};
    ax_status st = ax_eval_run(&l->task, s->eval, in, s->vec, &r);

    while (st != AX_OK)
    {
        AX_TRY(row_error(l, s, in, st, &r));
        if (in->nsel == 0)
        {
            *b = NULL;
            return AX_OK;
        }
        r = (ax_eval_result){.fail_row = UINT32_MAX};
        st = ax_eval_run(&l->task, s->eval, in, s->vec, &r);
    }
    if (r.need != NULL)
    {
        ax_host_ask(l, r.need);
        *go = AX_GO_PARK;
        return AX_OK;
    }
    s->out = *in;
    s->out.ncols = op->ncols;
    s->out.col = s->vec;
    *b = &s->out;
    return AX_OK;
}

bool ax_limit_enough(const ax_limit *l)
{
    return atomic_load_explicit(&l->enough, memory_order_relaxed);
}

static void run_limit(const ax_op *op, ax_opstate *s, ax_batch **b)
{
    ax_limit *l = op->limit;
    ax_batch *in = *b;
    uint64_t n = in->nsel, first, begin, end, stop;

    first = atomic_fetch_add_explicit(&l->seen, n, memory_order_relaxed);
    stop = l->limit > UINT64_MAX - l->offset ? UINT64_MAX : l->offset + l->limit;
    begin = first >= l->offset ? 0 : l->offset - first;
    end = first >= stop ? 0 : stop - first;
    if (end <= n)
        atomic_store_explicit(&l->enough, true, memory_order_relaxed);
    if (end > n)
        end = n;
    if (begin >= end)
    {
        *b = NULL;
        return;
    }
    if (begin == 0 && end == n)
        return;
    for (uint64_t i = begin; i < end; i++)
        s->sel[i - begin] = in->sel != NULL ? in->sel[i] : (uint16_t) i;
    in->sel = s->sel;
    in->nsel = (uint32_t) (end - begin);
}

ax_status ax_op_run(ax_lane *l, uint32_t i, ax_batch **b, ax_go *go)
{
    const ax_op *op = l->stage->op[i];
    ax_opstate *s = &l->ops[i];

    *go = AX_GO_ON;
    switch ((ax_op_kind) op->kind)
    {
    case AX_OP_FILTER:
    {
        uint64_t begin_ns = ax_exec_now_ns();
        ax_status st = run_filter(l, op, s, b, go);

        l->stats.filter_ns += ax_exec_now_ns() - begin_ns;
        return st;
    }
    case AX_OP_PROJECT:
        return run_project(l, op, s, b, go);
    case AX_OP_LIMIT:
        run_limit(op, s, b);
        return AX_OK;
    case AX_OP_ADD_META:
        return ax_meta_add(&l->task, l->morsel, op->meta, *b, s->vec);
    case AX_OP_DELETES:
        AX_TRY(ax_keyset_remove(&l->task, op->set, *b, s->sel));
        if ((*b)->nsel == 0)
            *b = NULL;
        return AX_OK;
    }
    return AX_OK;
}
