/* The scan source: a work list over files, splits and row ranges, claimed by lanes.
 *
 *      CLAIM --item--> PRUNE --may match--> READ --end--> CLAIM
 *        ^               | no match                         |
 *        +---------------+<---------------------------------+      no item left: END
 *
 * PRUNE and READ drive operations of the format; reads under way park the lane.  When there are
 * fewer splits than lanes could use, splits are cut into row ranges at the format's granules. */
#include "exec/exec_int.h"

#include <string.h>

#define RANGE_ROWS 65536u
#define RANGES_PER_LANE 4u

/* ---- the work list -------------------------------------------------------------------------- */

static void split_at(const ax_snapfile *f, uint32_t i, ax_split *out)
{
    memset(out, 0, sizeof *out);
    f->file->format->split(f->file, i, out);
}

/* Rows of a range, or 0: do not cut. */
static uint32_t range_rows(const ax_snapshot *snap, const ax_split *sp, uint32_t lanes)
{
    uint64_t want, granule = sp->granule_rows;

    if (lanes < 2 || granule == 0 || snap->splits >= 2 * lanes)
        return 0;
    if (sp->nrows <= 0 || sp->nrows > UINT32_MAX / 2)
        return 0;
    want = (uint64_t) (snap->rows > 0 ? snap->rows : 0) / (RANGES_PER_LANE * lanes);
    if (want < RANGE_ROWS)
        want = RANGE_ROWS;
    if (granule < want)
        want -= want % granule;
    else
        want = granule;
    return want * 2 > (uint64_t) sp->nrows ? 0 : (uint32_t) want;
}

static uint32_t ranges_of(const ax_snapshot *snap, const ax_split *sp, uint32_t lanes)
{
    uint32_t rows = range_rows(snap, sp, lanes);

    return rows == 0 ? 1 : (uint32_t) ((sp->nrows + rows - 1) / rows);
}

ax_status ax_scan_plan(ax_exec *x, ax_scan *s, uint32_t max_lanes, uint32_t *nlanes)
{
    const ax_snapshot *snap = s->snap;
    uint64_t n = 0;
    ax_split sp;

    for (uint32_t f = 0; f < snap->nfiles; f++)
        for (uint32_t i = 0; i < snap->file[f].file->nsplits; i++)
        {
            split_at(&snap->file[f], i, &sp);
            n += ranges_of(snap, &sp, max_lanes);
        }
    AX_CHECK(&x->task, n < UINT32_MAX, AX_ELIMIT, "too many row groups");
    AX_NEW(&x->task, s->work,
           (ax_work *) ax_arena_alloc(x->task.arena, (size_t) (n + 1) * sizeof *s->work));
    for (uint32_t f = 0; f < snap->nfiles; f++)
        for (uint32_t i = 0; i < snap->file[f].file->nsplits; i++)
        {
            uint32_t rows;

            split_at(&snap->file[f], i, &sp);
            rows = range_rows(snap, &sp, max_lanes);
            if (rows == 0)
                s->work[s->nwork++] = (ax_work){f, i, {0, 0}};
            for (uint32_t r = 0; rows > 0 && r < sp.nrows; r += rows)
            {
                uint32_t end = sp.nrows - r > rows ? r + rows : (uint32_t) sp.nrows;

                s->work[s->nwork++] = (ax_work){f, i, {r, end}};
            }
        }
    *nlanes = s->nwork < max_lanes ? (s->nwork > 0 ? s->nwork : 1) : max_lanes;
    return AX_OK;
}

/* ---- live bounds ----------------------------------------------------------------------------- */

void ax_scan_tighten(void *scan, const ax_value *bound)
{
    ax_scan *s = (ax_scan *) scan;
    ax_task t = {0};

    /* A lost bound only costs work: errors are dropped. */
    t.arena = NULL;
    t.budget = ax_arena_budget(s->snap->arena);
    pthread_mutex_lock(&s->live_lock);
    if (ax_filter_tighten(&t, s->filter, 0, s->live_col, s->live_op, bound, s->live_nulls) !=
            AX_OK ||
        ax_filter_tighten(&t, s->prune, 0, s->columns[s->live_col], s->live_op, bound,
                          s->live_nulls) != AX_OK)
        ax_error_clear(&t.err);
    pthread_mutex_unlock(&s->live_lock);
}

/* ---- one lane -------------------------------------------------------------------------------- */

static const ax_work *item_of(const ax_lane *l)
{
    return &l->stage->scan->work[l->item];
}

static const ax_snapfile *file_of(const ax_lane *l)
{
    return &l->stage->scan->snap->file[item_of(l)->file];
}

void ax_scan_abandon(ax_lane *l)
{
    if (l->op == NULL)
        return;
    if (l->fetching)
        ax_io_forget(l->stage->x->env->io, &l->ev.need);
    l->format->end(l->op);
    l->op = NULL;
    l->fetching = false;
}

#define FLUSH(field)                                                                               \
    atomic_fetch_add_explicit(&x->scan.field, l->stats.field - l->flushed.field,                   \
                              memory_order_relaxed)

void ax_scan_flush_stats(ax_lane *l)
{
    ax_exec *x = l->stage->x;

    FLUSH(rows_read);
    FLUSH(rows_after_filter);
    FLUSH(pages);
    FLUSH(pages_skipped);
    FLUSH(bytes_compressed);
    FLUSH(bytes_decompressed);
    FLUSH(read_ns);
    FLUSH(decode_ns);
    FLUSH(filter_ns);
    l->flushed = l->stats;
}

/* Fill in where an error happened. */
static ax_status note(ax_lane *l, ax_status st)
{
    ax_split sp;

    if (st == AX_OK)
        return st;
    split_at(file_of(l), item_of(l)->split, &sp);
    ax_note_file(&l->task, file_of(l)->path);
    ax_note_unit(&l->task, sp.unit, item_of(l)->split);
    return st;
}

/* Step the operation until it has something for us; PARK: waits for reads or the host. */
static ax_status drive(ax_lane *l, ax_go *go)
{
    for (;;)
    {
        if (l->fetching)
        {
            ax_io_ready ready;

            AX_TRY(ax_io_fetch(&l->task, l->stage->x->env->io, &l->ev.need, &l->job, &ready));
            if (ready == AX_IO_PENDING)
            {
                *go = AX_GO_PARK;
                return AX_OK;
            }
            l->fetching = false;
        }
        if (ax_task_stopped(&l->task))
            return AX_ESTOPPED;
        memset(&l->ev, 0, sizeof l->ev);
        AX_TRY(l->format->step(&l->task, l->op, &l->ev));
        if (l->ev.step != AX_STEP_NEED)
        {
            *go = AX_GO_BATCH;
            return AX_OK;
        }
        if (l->ev.need.n == 0)
        {
            AX_CHECK(&l->task, l->ev.host != NULL, AX_EPLAN, "a reader waits for nothing");
            ax_host_ask(l, l->ev.host);
            *go = AX_GO_PARK;
            return AX_OK;
        }
        l->fetching = true;
    }
}

static void end_op(ax_lane *l)
{
    memset(&l->ev, 0, sizeof l->ev);
    ax_scan_abandon(l);
}

/* Rows that may match, cut to the item's range, into l->rows; false: none. */
static ax_status cut_rows(ax_lane *l, const ax_rowset *may, bool *any)
{
    ax_rowrange want = item_of(l)->range;
    ax_rowrange *r;
    uint32_t n = may != NULL ? may->n : 1;

    l->req.rows = NULL;
    *any = true;
    if (may == NULL && want.end == 0)
        return AX_OK;
    AX_NEW(&l->task, r, (ax_rowrange *) ax_arena_alloc(l->morsel, (n + 1) * sizeof *r));
    l->rows = (ax_rowset){r, 0};
    for (uint32_t i = 0; i < n; i++)
    {
        ax_rowrange one = may != NULL ? may->range[i] : want;

        if (want.end > 0 && one.begin < want.begin)
            one.begin = want.begin;
        if (want.end > 0 && one.end > want.end)
            one.end = want.end;
        if (one.begin < one.end)
            r[l->rows.n++] = one;
    }
    l->req.rows = &l->rows;
    *any = l->rows.n > 0;
    return AX_OK;
}

static ax_status begin_read(ax_lane *l, ax_match match)
{
    ax_scan *s = l->stage->scan;
    const ax_snapfile *f = file_of(l);
    bool filtered = s->filter != NULL && (l->stage->x->o.allow & AX_ALLOW_PREWHERE) != 0;

    if (s->meta != NULL && match == AX_MATCH_ALL && ax_meta_answers(s, item_of(l)))
    {
        l->scan_state = AX_SCAN_CLAIM;
        return AX_OK;
    }
    if (filtered && match == AX_MATCH_ALL && !s->live)
        filtered = false;
    if (filtered && l->filter == NULL)
        AX_TRY(ax_filter_lane_create(&l->task, l->state_arena, s->filter, &l->filter));
    l->req.bind = f->bind;
    l->req.split = item_of(l)->split;
    l->req.split_id = f->split0 + item_of(l)->split;
    l->req.columns = s->columns;
    l->req.ncolumns = s->ncolumns;
    l->req.filter = filtered ? l->filter : NULL;
    l->req.filter_only = s->filter_only;
    l->req.nfilter_only = s->nfilter_only;
    l->req.allow = l->stage->x->o.allow;
    l->req.stats = &l->stats;
    l->req.budget = l->task.budget;
    atomic_fetch_add_explicit(&s->read_splits, 1, memory_order_relaxed);
    l->scan_state = AX_SCAN_READ;
    return l->format->scan_begin(&l->task, l->morsel, &l->req, &l->op);
}

static ax_status claim(ax_lane *l, ax_go *go)
{
    ax_stage *st = l->stage;
    ax_scan *s = st->scan;
    uint32_t i = UINT32_MAX;
    bool any;

    *go = AX_GO_END;
    if (!ax_stage_enough(st))
        i = atomic_fetch_add_explicit(&s->cursor, 1, memory_order_relaxed);
    if (i >= s->nwork || ax_behind_poison(st, i))
        return AX_OK;
    *go = AX_GO_ON;
    ax_scan_flush_stats(l);
    ax_arena_reset(l->morsel);
    ax_arena_reset(l->task.arena);
    l->item = i;
    l->format = file_of(l)->file->format;
    AX_CHECK(&l->task, file_of(l)->bind != NULL || s->ncolumns == 0, AX_EPLAN,
             "plan scans a source without declared columns");
    if (s->prune == NULL || (ax_filter_steps(s->prune) == 0 && ax_filter_version(s->prune) == 0))
    {
        AX_TRY(cut_rows(l, NULL, &any));
        return begin_read(l, AX_MATCH_ALL);
    }
    l->scan_state = AX_SCAN_PRUNE;
    return l->format->prune_begin(&l->task, l->morsel, file_of(l)->bind, item_of(l)->split,
                                  s->prune, st->x->o.allow, &l->op);
}

static ax_status pruned(ax_lane *l)
{
    ax_match match = l->ev.match;
    uint8_t by = l->ev.by < AX_PRUNED_CNT ? l->ev.by : AX_PRUNED_NOT;
    ax_exec *x = l->stage->x;
    bool any = match != AX_MATCH_NONE;

    /* The rows die with the operation. */
    if (any)
        AX_TRY(cut_rows(l, match == AX_MATCH_SOME ? l->ev.rows : NULL, &any));
    end_op(l);
    if (any)
        return begin_read(l, match);
    /* Of a split in several ranges the first counts. */
    if (match == AX_MATCH_NONE && item_of(l)->range.begin == 0)
        atomic_fetch_add_explicit(&x->splits_pruned[by], 1, memory_order_relaxed);
    l->scan_state = AX_SCAN_CLAIM;
    return AX_OK;
}

static ax_status scan_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    *out = NULL;
    if (l->scan_state == AX_SCAN_CLAIM)
        return claim(l, go);
    if (ax_behind_poison(l->stage, l->item) || ax_stage_enough(l->stage))
    {
        ax_scan_abandon(l);
        l->scan_state = AX_SCAN_CLAIM;
        *go = AX_GO_ON;
        return AX_OK;
    }
    AX_TRY(drive(l, go));
    if (*go == AX_GO_PARK)
        return AX_OK;
    *go = AX_GO_ON;
    if (l->scan_state == AX_SCAN_PRUNE)
        return pruned(l);
    if (l->ev.step == AX_STEP_BATCH)
    {
        *out = l->ev.batch;
        *go = AX_GO_BATCH;
        return AX_OK;
    }
    end_op(l);
    atomic_fetch_add_explicit(&l->stage->x->splits_done, 1, memory_order_relaxed);
    l->scan_state = AX_SCAN_CLAIM;
    return AX_OK;
}

ax_status ax_scan_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    ax_status st = scan_next(l, out, go);

    return st == AX_OK || st == AX_ESTOPPED || l->item == UINT32_MAX ? st : note(l, st);
}
