/* A run that gives facts about the files of an opened source: one job steps the format's operation
 * for one file after another and puts its batches into the output queue.
 *
 * Like an opening it runs on the host's thread: it reads little.  The number of the file travels as
 * the batch's split. */
#include "exec/exec_int.h"

#include <string.h>

struct ax_facts
{
    ax_stage stage;           /* of the lane: only the run is told */
    ax_lane lane;             /* job, task, output */
    ax_snapshot *snap;        /* a reference */
    const char *table;
    uint32_t i;               /* file under way */
};

/* ---- one file -------------------------------------------------------------------------------- */

static ax_status begin(struct ax_facts *o)
{
    ax_lane *l = &o->lane;
    const ax_fmt_file *f = ax_snapfile_file(&o->snap->file[o->i]);

    AX_CHECK(&l->task, f != NULL, AX_EPLAN, "the files of the source are not open");
    l->rd->format = f->format;
    ax_arena_reset(l->morsel);
    for (uint32_t i = 0; i < l->rd->format->nfacts; i++)
        if (strcmp(l->rd->format->facts[i].name, o->table) == 0)
            return l->rd->format->facts_begin(&l->task, l->morsel, f, i,
                                              l->stage->x->facts_arg, &l->rd->op);
    return ax_fail(&l->task, AX_EOPTION, "files of format %s have no table of facts \"%s\"",
                   l->rd->format->name, o->table);
}

static ax_status fetch(ax_lane *l, ax_go *go)
{
    ax_io_ready ready;

    AX_TRY(ax_io_fetch(&l->task, l->stage->x->env->io, &l->rd->ev.need, &l->job, &ready));
    if (ready == AX_IO_PENDING)
        *go = AX_GO_PARK;
    else
        l->rd->fetching = false;
    return AX_OK;
}

/* A batch waits in `pending` until the queue has room. */
static ax_status step(struct ax_facts *o, ax_go *go)
{
    ax_lane *l = &o->lane;

    if (l->rd->op == NULL)
        AX_TRY(begin(o));
    if (l->rd->fetching)
        return fetch(l, go);
    ax_arena_reset(l->task.arena);
    memset(&l->rd->ev, 0, sizeof l->rd->ev);
    AX_TRY(l->rd->format->step(&l->task, l->rd->op, &l->rd->ev));
    if (l->rd->ev.step == AX_STEP_NEED)
    {
        AX_CHECK(&l->task, l->rd->ev.need.n > 0, AX_EPLAN, "a table of facts waits for nothing");
        l->rd->fetching = true;
    }
    else if (l->rd->ev.step == AX_STEP_BATCH)
    {
        l->rd->ev.batch->split = o->i;
        return ax_held_copy(&l->task, l->stage->x, l->rd->ev.batch, &l->pending);
    }
    else
    {
        l->rd->format->end(l->rd->op);
        l->rd->op = NULL;
        o->i++;
    }
    return AX_OK;
}

static ax_status advance(struct ax_facts *o, ax_go *go)
{
    ax_lane *l = &o->lane;

    if (l->pending != NULL)
    {
        if (ax_out_push(l, l->pending))
            l->pending = NULL;
        else
            *go = AX_GO_PARK;
        return AX_OK;
    }
    if (o->i < o->snap->nfiles)
        return step(o, go);
    *go = AX_GO_END;
    return AX_OK;
}

static ax_run facts_run(ax_job *job)
{
    ax_lane *l = (ax_lane *) job;
    ax_exec *x = l->stage->x;
    struct ax_facts *o = x->facts;
    uint64_t end_ns = ax_exec_now_ns() + AX_SLICE_NS;
    ax_go go = AX_GO_ON;

    while (!ax_task_stopped(&l->task))
    {
        ax_status st = advance(o, &go);

        if (st != AX_OK)
        {
            if (o->i < o->snap->nfiles)
                ax_note_file(&l->task, o->snap->file[o->i].path);
            ax_exec_fail(x, &l->task.err);
            return AX_RUN_DONE;
        }
        if (go == AX_GO_PARK)
            return AX_RUN_BLOCKED;
        if (go == AX_GO_END)
        {
            ax_exec_finish(x);
            return AX_RUN_DONE;
        }
        if (ax_exec_now_ns() > end_ns)
            return AX_RUN_AGAIN;
    }
    return AX_RUN_DONE;
}

/* ---- from and to the run --------------------------------------------------------------------- */

ax_status ax_facts_launch(ax_exec *x)
{
    struct ax_facts *o;
    ax_task *t = &x->task;

    AX_CHECK(t, x->source->snap != NULL, AX_EPLAN, "the source is not open");
    AX_NEW(t, o, (struct ax_facts *) ax_arena_alloc0(t->arena, sizeof *o));
    o->snap = x->source->snap;
    atomic_fetch_add_explicit(&o->snap->refs, 1, memory_order_relaxed);
    o->table = x->facts_table;
    o->stage.x = x;
    o->lane.stage = &o->stage;
    o->lane.rd = &o->lane.own;
    x->facts = o;
    AX_TRY(ax_exec_task(x, &o->lane.task));
    AX_NEW(t, o->lane.morsel, ax_arena_create(&x->budget, 0));
    ax_job_init(&o->lane.job, facts_run, x->group);
    if (ax_job_submit(&o->lane.job) != AX_OK)
        return ax_fail(t, AX_ELIMIT, "no thread could be started");
    return AX_OK;
}

void ax_facts_free(ax_exec *x)
{
    struct ax_facts *o = x->facts;

    if (o == NULL)
        return;
    ax_scan_abandon(&o->lane);
    ax_held_free(o->lane.pending);
    ax_arena_destroy(o->lane.morsel);
    ax_arena_destroy(o->lane.task.arena);
    ax_snapshot_unref(o->snap);
    x->facts = NULL;
}
