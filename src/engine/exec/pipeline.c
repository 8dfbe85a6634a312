/* Lanes and barriers.
 *
 *      SOURCE --batch--> CHAIN --batch--> SINK --> SOURCE ...
 *         | end            | no rows: SOURCE
 *         v
 *        LAST --> end of the lane
 *
 * The last lane of a stage reports to its sink; the last stage of a sink prepares it and starts the
 * stages that wait for it.  All of that happens inside jobs; nothing here blocks. */
#include "exec/exec_int.h"

#include <string.h>
#include <time.h>

static void stage_start(ax_stage *st);

uint64_t ax_exec_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

bool ax_stage_enough(const ax_stage *st)
{
    const ax_breaker *b = st->sink->breaker;

    if (b != NULL && b->enough != NULL && atomic_load_explicit(b->enough, memory_order_relaxed))
        return true;
    for (const ax_limits *l = st->limits; l != NULL; l = l->next)
        if (ax_limit_enough(l->limit))
            return true;
    return false;
}

/* ---- barriers ------------------------------------------------------------------------------- */

static _Atomic uint64_t *busy_counter(ax_exec *x, const ax_sink *s)
{
    return s->kind == AX_SINK_AGG ? &x->agg_ns : &x->sort_ns;
}

/* All input is in: make the breaker ready.  Lanes that never ran end here too. */
static ax_status sink_prepare(ax_task *t, ax_sink *s)
{
    ax_breaker *b = s->breaker;

    if (s->kind == AX_SINK_LATE)
        return ax_late_prepare(t, s->late);
    AX_TRY(b->ops->prepare(t, b, &s->nparts));
    return AX_OK;
}

static void sink_done(ax_exec *x, ax_sink *s)
{
    ax_task t;
    ax_status st;
    uint64_t begin_ns = ax_exec_now_ns();

    if (s->kind == AX_SINK_OUTPUT)
    {
        ax_exec_finish(x);
        return;
    }
    if (s->kind == AX_SINK_SET)
    {
        for (ax_stage *w = s->next; w != NULL; w = w->set_next)
            if (atomic_fetch_sub_explicit(&w->waits, 1, memory_order_acq_rel) == 1)
                stage_start(w);
        return;
    }
    st = ax_exec_task(x, &t);
    if (st == AX_OK)
        st = sink_prepare(&t, s);
    if (st != AX_OK)
        ax_exec_fail(x, &t.err);
    ax_task_fini(&t);
    if (st != AX_OK)
        return;
    atomic_fetch_add_explicit(busy_counter(x, s), ax_exec_now_ns() - begin_ns,
                              memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&s->next->waits, 1, memory_order_acq_rel) == 1)
        stage_start(s->next);
}

/* Lanes of the sink that were planned for this stage but never ran. */
static ax_status end_unused(ax_exec *x, ax_stage *st)
{
    ax_task t;
    ax_status s;
    uint32_t begun = atomic_load_explicit(&st->begun, memory_order_relaxed);

    if (st->sink->breaker == NULL || begun >= st->nlanes)
        return AX_OK;
    s = ax_exec_task(x, &t);
    for (uint32_t i = begun; i < st->nlanes && s == AX_OK; i++)
        s = st->sink->breaker->ops->put_end(&t, st->sink->breaker, st->slot0 + i);
    if (s != AX_OK)
        ax_exec_fail(x, &t.err);
    ax_task_fini(&t);
    return s;
}

/* All lanes of the stage have ended. */
static void stage_done(ax_stage *st)
{
    if (end_unused(st->x, st) != AX_OK)
        return;
    if (atomic_fetch_sub_explicit(&st->sink->stages_left, 1, memory_order_acq_rel) == 1)
        sink_done(st->x, st->sink);
}

/* ---- one lane -------------------------------------------------------------------------------- */

static ax_status parts_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    ax_stage *st = l->stage;
    ax_breaker *b = st->parts->breaker;
    uint64_t begin_ns = ax_exec_now_ns();

    *out = NULL;
    *go = AX_GO_ON;
    if (l->part == NULL)
    {
        uint32_t i = UINT32_MAX;

        if (!ax_stage_enough(st))
            i = atomic_fetch_add_explicit(&st->cursor, 1, memory_order_relaxed);
        if (i >= st->parts->nparts || ax_behind_poison(st, i))
        {
            *go = AX_GO_END;
            return AX_OK;
        }
        l->item = i;
        ax_arena_reset(l->morsel);
        ax_arena_reset(l->task.arena);
        AX_TRY(b->ops->part_begin(&l->task, b, i, l->morsel, &l->part));
    }
    if (!ax_stage_enough(st))
        AX_TRY(b->ops->part_next(&l->task, l->part, out));
    if (*out == NULL)
    {
        b->ops->part_end(l->part);
        l->part = NULL;
    }
    else
    {
        *go = AX_GO_BATCH;
        atomic_fetch_add_explicit(&st->parts->rows, (*out)->nsel, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(busy_counter(st->x, st->parts), ax_exec_now_ns() - begin_ns,
                              memory_order_relaxed);
    return AX_OK;
}

static ax_status source_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    switch ((ax_src_kind) l->stage->src)
    {
    case AX_SRC_SCAN:
        return ax_scan_next(l, out, go);
    case AX_SRC_PARTS:
        return parts_next(l, out, go);
    case AX_SRC_EXTERNAL:
        return ax_input_next(l, out, go);
    case AX_SRC_LATE:
        *out = NULL;
        return ax_late_read(l, go);
    case AX_SRC_WINNERS:
        return ax_late_rows(l, out, go);
    case AX_SRC_MERGE:
        return ax_merge_next(l, out, go);
    }
    return AX_OK;
}

/* A batch enters the chain at operator `at`. */
static void enter_chain(ax_lane *l, ax_batch *b, uint32_t at)
{
    l->batch = b;
    l->at = at;
    l->state = AX_LANE_CHAIN;
}

/* The batch is used up: what next? */
static ax_status after_batch(ax_lane *l)
{
    l->batch = NULL;
    l->state = AX_LANE_SOURCE;
    if (l->poison.code == AX_OK)
        return AX_OK;
    if (l->stage->sink->kind != AX_SINK_OUTPUT)
    {
        l->task.err = l->poison;
        return l->poison.code;
    }
    /* Rows before the bad one have left; this lane is done. */
    if (!ax_stage_enough(l->stage))
        ax_exec_poison(l);
    ax_error_clear(&l->poison);
    ax_scan_abandon(l);
    l->ended = true;
    return AX_OK;
}

static ax_status step_source(ax_lane *l, ax_go *go)
{
    ax_batch *b;

    *go = AX_GO_END;
    if (!l->ended)
        AX_TRY(source_next(l, &b, go));
    if (*go == AX_GO_END)
    {
        l->state = AX_LANE_LAST;
        *go = AX_GO_ON;
    }
    else if (*go == AX_GO_BATCH)
    {
        if (b->poison != NULL)
            l->poison = *b->poison;
        enter_chain(l, b, 0);
        *go = AX_GO_ON;
    }
    return AX_OK;
}

static ax_status step_chain(ax_lane *l, ax_go *go)
{
    *go = AX_GO_ON;
    while (l->at < l->stage->nops && l->batch != NULL && l->batch->nsel > 0)
    {
        AX_TRY(ax_op_run(l, l->at, &l->batch, go));
        if (*go == AX_GO_PARK)
            return AX_OK;
        l->at++;
    }
    if (l->batch == NULL || l->batch->nsel == 0)
        return after_batch(l);
    l->state = AX_LANE_SINK;
    return AX_OK;
}

static ax_status step_sink(ax_lane *l, ax_go *go)
{
    ax_sink *s = l->stage->sink;
    uint64_t begin_ns;

    *go = AX_GO_ON;
    switch ((ax_sink_kind) s->kind)
    {
    case AX_SINK_OUTPUT:
        if (l->pending == NULL)
            AX_TRY(ax_held_copy(&l->task, l->stage->x, l->batch, &l->pending));
        if (!ax_out_push(l, l->pending))
        {
            *go = AX_GO_PARK;
            return AX_OK;
        }
        l->pending = NULL;
        break;
    case AX_SINK_SET:
        AX_TRY(ax_keyset_put(&l->task, s->set, l->batch));
        break;
    case AX_SINK_LATE:
        AX_TRY(ax_late_put(&l->task, l->stage->x, s->late, l->batch));
        break;
    case AX_SINK_AGG:
    case AX_SINK_ORDER:
        begin_ns = ax_exec_now_ns();
        AX_TRY(s->breaker->ops->put(&l->task, s->breaker, l->slot, l->batch));
        atomic_fetch_add_explicit(busy_counter(l->stage->x, s), ax_exec_now_ns() - begin_ns,
                                  memory_order_relaxed);
        if (ax_spill_must_ask(&l->stage->x->spill) && ax_host_ask_file(l))
            *go = AX_GO_PARK;
        break;
    }
    return after_batch(l);
}

static ax_status step_last(ax_lane *l, ax_go *go)
{
    ax_breaker *b = l->stage->sink->breaker;

    *go = AX_GO_END;
    return b != NULL ? b->ops->put_end(&l->task, b, l->slot) : AX_OK;
}

static ax_status lane_step(ax_lane *l, ax_go *go)
{
    switch ((ax_lane_state) l->state)
    {
    case AX_LANE_SOURCE:
        return step_source(l, go);
    case AX_LANE_CHAIN:
        return step_chain(l, go);
    case AX_LANE_SINK:
        return step_sink(l, go);
    case AX_LANE_LAST:
        return step_last(l, go);
    }
    return AX_OK;
}

static ax_run lane_run(ax_job *job)
{
    ax_lane *l = (ax_lane *) job;
    ax_exec *x = l->stage->x;
    uint64_t end_ns = ax_exec_now_ns() + AX_SLICE_NS;
    uint32_t n = 0;

    if (ax_host_waits(l))
        return AX_RUN_BLOCKED;
    while (!ax_task_stopped(&l->task))
    {
        ax_go go = AX_GO_ON;
        ax_status st = lane_step(l, &go);

        if (st != AX_OK)
        {
            if (st != AX_ESTOPPED || l->task.err.code != AX_OK)
                ax_exec_fail(x, &l->task.err);
            return AX_RUN_DONE;
        }
        if (go == AX_GO_PARK)
            return AX_RUN_BLOCKED;
        if (go == AX_GO_END)
        {
            ax_scan_flush_stats(l);
            if (atomic_fetch_sub_explicit(&l->stage->lanes_left, 1, memory_order_acq_rel) == 1)
                stage_done(l->stage);
            return AX_RUN_DONE;
        }
        if ((++n & 3) == 0 && ax_exec_now_ns() > end_ns)
        {
            ax_scan_flush_stats(l);
            return AX_RUN_AGAIN;
        }
    }
    return AX_RUN_DONE;
}

/* ---- starting stages ------------------------------------------------------------------------- */

static ax_status lane_init(ax_stage *st, uint32_t i)
{
    ax_lane *l = &st->lane[i];
    ax_exec *x = st->x;

    l->stage = st;
    l->slot = st->slot0 + i;
    l->item = UINT32_MAX;
    AX_TRY(ax_exec_task(x, &l->task));
    l->task.lane = l->slot;
    ax_job_init(&l->job, lane_run, x->group);
    AX_NEW(&l->task, l->state_arena, ax_arena_create(&x->budget, 0));
    AX_NEW(&l->task, l->morsel, ax_arena_create(&x->budget, 0));
    l->own.arena = l->morsel;
    l->rd = &l->own;
    AX_NEW(&l->task, l->ops,
           (ax_opstate *) ax_arena_alloc0(l->state_arena, (st->nops + 1) * sizeof *l->ops));
    for (uint32_t o = 0; o < st->nops; o++)
        AX_TRY(ax_op_init(l, o));
    return st->merge != NULL ? ax_merge_init(l) : AX_OK;
}

static uint32_t lanes_to_run(const ax_stage *st)
{
    if (ax_stage_enough(st))
        return 0;
    if (st->src == AX_SRC_SCAN)
        return st->scan->nwork < st->nlanes ? st->scan->nwork : st->nlanes;
    if (st->src == AX_SRC_PARTS)
        return st->parts->nparts < st->nlanes ? st->parts->nparts : st->nlanes;
    if (st->src == AX_SRC_LATE)
        return ax_late_pieces(st->late) < st->nlanes ? ax_late_pieces(st->late) : st->nlanes;
    return 1;
}

static ax_status stage_make_lanes(ax_stage *st, ax_task *t, uint32_t n)
{
    ax_status s = AX_OK;

    AX_NEW(t, st->arena, ax_arena_create(&st->x->budget, 0));
    AX_NEW(t, st->lane, (ax_lane *) ax_arena_alloc0(st->arena, n * sizeof *st->lane));
    st->room = n;
    n = n < st->x->busy_lanes ? n : st->x->busy_lanes;
    for (uint32_t i = 0; i < n && s == AX_OK; i++)
    {
        atomic_store_explicit(&st->begun, i + 1, memory_order_relaxed);
        s = lane_init(st, i);
        if (s != AX_OK)
            t->err = st->lane[i].task.err;
    }
    atomic_store_explicit(&st->lanes_left, n, memory_order_relaxed);
    return s;
}

static ax_status lane_start(ax_task *t, ax_stage *st, uint32_t i)
{
    ax_status s = ax_job_submit(&st->lane[i].job);

    return s == AX_OK ? s : ax_fail(t, s, "no thread could be started");
}

/* Lanes that compute are as many as processors; those that wait make room for others.  The lane
 * that asks has not ended, so the stage has not either. */
void ax_stage_more(ax_lane *l)
{
    ax_stage *st = l->stage;
    uint32_t i = atomic_load_explicit(&st->begun, memory_order_relaxed);
    ax_status s;

    if (st->src == AX_SRC_SCAN &&
        atomic_load_explicit(&st->scan->cursor, memory_order_relaxed) >= st->scan->nwork)
        return;
    do
        if (i >= st->room)
            return;
    while (!atomic_compare_exchange_weak_explicit(&st->begun, &i, i + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
    atomic_fetch_add_explicit(&st->lanes_left, 1, memory_order_relaxed);
    s = lane_init(st, i);
    if (s == AX_OK)
        s = lane_start(&st->lane[i].task, st, i);
    if (s != AX_OK)
        ax_exec_fail(st->x, &st->lane[i].task.err);
}

/* Thread: the host at launch, afterwards the job that completed the last sink waited for. */
static void stage_start(ax_stage *st)
{
    ax_exec *x = st->x;
    uint32_t n = lanes_to_run(st);
    ax_task t;
    ax_status s;

    if (n == 0)
    {
        stage_done(st);
        return;
    }
    s = ax_exec_task(x, &t);
    if (s == AX_OK)
        s = stage_make_lanes(st, &t, n);
    n = n < x->busy_lanes ? n : x->busy_lanes;
    for (uint32_t i = 0; i < n && s == AX_OK; i++)
        s = lane_start(&t, st, i);
    if (s != AX_OK)
        ax_exec_fail(x, &t.err);
    ax_task_fini(&t);
}

static void tighten_groups(void *arg, const ax_value *bound)
{
    ax_agg_tighten(((const ax_sink *) arg)->breaker, bound);
}

static ax_status make_breaker(ax_exec *x, ax_sink *s)
{
    ax_task *t = &x->task;

    if (s->kind != AX_SINK_AGG && s->kind != AX_SINK_ORDER)
        return AX_OK;
    AX_NEW(t, s->arena, ax_arena_create(&x->budget, 0));
    s->agg.spill = s->order.spill = x->spill.allowed ? &x->spill : NULL;
    s->agg.busy_lanes = s->nbusy;
    if (s->kind == AX_SINK_AGG)
        return ax_agg_create(t, s->arena, &s->agg, s->nlanes, &s->breaker);
    if (s->top_of != NULL)
    {
        s->order.tighten = tighten_groups;
        s->order.tighten_arg = s->top_of;
    }
    return ax_order_create(t, s->arena, &s->order, s->nlanes, &s->breaker);
}

ax_status ax_exec_launch(ax_exec *x)
{
    uint32_t n = 0;
    ax_stage **ready;

    for (ax_sink *s = x->sinks; s != NULL; s = s->all_next)
        AX_TRY(make_breaker(x, s));
    /* Which stages wait for nothing is looked at before any job may change it. */
    AX_NEW(&x->task, ready,
           (ax_stage **) ax_arena_alloc(x->task.arena, (x->nstages + 1) * sizeof(ax_stage *)));
    for (ax_stage *st = x->stages; st != NULL; st = st->all_next)
        if (atomic_load_explicit(&st->waits, memory_order_relaxed) == 0)
            ready[n++] = st;
    for (uint32_t i = 0; i < n; i++)
        stage_start(ready[i]);
    return AX_OK;
}
