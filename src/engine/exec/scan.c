/* The scan source: a work list over files, splits and row ranges, claimed by lanes.
 *
 *      CLAIM --item--> OPEN (file not open yet)
 *        ^              v
 *        | --item--> PRUNE --may match--> READ --end--> CLAIM
 *        |              | no match                         |
 *        +--------------+<---------------------------------+      no item left: END
 *
 * OPEN drives the opening of a file, PRUNE and READ operations of its format; reads under way park
 * the lane.  Files that cannot match by what is known without opening them are not on the list.  A
 * file that nobody opened yet is one item: who claims it opens it and takes its splits one after
 * the other.  (Large files are opened before a run, so that their splits are shared.)
 *
 * When there are fewer splits than lanes could use, splits are cut into row ranges at the format's
 * granules. */
#include "exec/exec_int.h"

#include <string.h>
#include <sys/resource.h>

#define SLOW_READ_NS 1000000u /* a thread that slept in a longer one waited for storage */
#define RANGE_ROWS 65536u
#define RANGES_PER_LANE 4u
#define SCAN_SHARE 4u /* of the query's memory: for bytes of files, and again for their pages */

/* ---- the work list -------------------------------------------------------------------------- */

static void split_at(const ax_fmt_file *f, uint32_t i, ax_split *out)
{
    memset(out, 0, sizeof *out);
    f->format->split(f, i, out);
}

/* Sums over the files of the list. */
typedef struct totals { uint64_t splits, rows, ids; } totals;

/* Are there enough splits as they are?  lanes, here and below: those that compute at once. */
static bool enough_splits(const totals *all, uint32_t lanes)
{
    return lanes < 2 || all->splits >= 2 * (uint64_t) lanes;
}

/* Rows of a range, or 0: do not cut. */
static uint32_t range_rows(const totals *all, const ax_split *sp, uint32_t lanes)
{
    uint64_t want, granule = sp->granule_rows;

    if (granule == 0 || enough_splits(all, lanes))
        return 0;
    if (sp->nrows <= 0 || sp->nrows > UINT32_MAX / 2)
        return 0;
    want = all->rows / (RANGES_PER_LANE * lanes);
    if (want < RANGE_ROWS)
        want = RANGE_ROWS;
    if (granule < want)
        want -= want % granule;
    else
        want = granule;
    return want * 2 > (uint64_t) sp->nrows ? 0 : (uint32_t) want;
}

static uint32_t ranges_of(const totals *all, const ax_split *sp, uint32_t lanes)
{
    uint32_t rows = range_rows(all, sp, lanes);

    return rows == 0 ? 1 : (uint32_t) ((sp->nrows + rows - 1) / rows);
}

/* Where rows are found by the numbers of splits: what each file that is not open may get besides
 * the room for what its size promises, since it may have been replaced by a larger one. */
static uint64_t spare_room(const ax_scan *s)
{
    uint64_t n = 0;

    if (!s->late)
        return 0;
    for (uint32_t f = 0; f < s->snap->nfiles; f++)
        n += ax_late_room(s->snap->file[f].size);
    return n < AX_LATE_SPLITS ? (AX_LATE_SPLITS - n) / (s->snap->nfiles + (uint64_t) 1) : 0;
}

/* Leave out what cannot match; count the rest, and number its splits.  Numbers only have to ascend:
 * a file that is not open gets room by its size, enough for all where rows are found by them. */
static void take_files(ax_exec *x, ax_scan *s, ax_fmt_file **file, bool *left_out, totals *all)
{
    const ax_snapshot *snap = s->snap;
    bool excludes = s->prune != NULL && (x->o.allow & AX_ALLOW_PARTITION) != 0;
    uint64_t spare = spare_room(s);

    for (uint32_t f = 0; f < snap->nfiles; f++)
    {
        uint64_t size = snap->file[f].size, room = (size >> 10) + 1;

        left_out[f] = excludes && ax_snapfile_excluded(&snap->file[f], s->prune);
        s->split0[f] = (uint32_t) all->ids;
        s->nexcluded += left_out[f];
        if (left_out[f])
            continue;
        file[f] = ax_snapfile_file(&snap->file[f]);
        all->splits += file[f] != NULL ? file[f]->nsplits : 1;
        all->rows += file[f] != NULL && file[f]->nrows > 0 ? (uint64_t) file[f]->nrows : 0;
        if (s->late)
            room = ax_late_room(size) + spare;
        else if (room > 65536)
            room = 65536;
        all->ids += file[f] != NULL ? file[f]->nsplits : room;
    }
    s->split0[snap->nfiles] = (uint32_t) all->ids;
    atomic_fetch_add_explicit(&x->files_pruned[AX_PRUNED_PARTITION], s->nexcluded,
                              memory_order_relaxed);
}

/* Scans that share a split have whole chunks of it in memory: do these fit into the part of the
 * query's memory that is for bytes of files?  Some columns are larger than others. */
static bool shares_fit(const ax_exec *x, const ax_scan *s, const ax_fmt_file *f,
                       const ax_split *sp)
{
    double read = 4.0 * s->ncolumns / (f->schema.n + 1.0);

    return (double) sp->bytes * (read < 1 ? read : 1)
           <= (double) x->budget.limit_bytes / SCAN_SHARE;
}

/* Scans that take part in one split: all lanes, where there are too few splits for them. */
static uint32_t copies_of(const ax_exec *x, const ax_scan *s, const totals *all,
                          const ax_fmt_file *f, const ax_split *sp, uint32_t lanes)
{
    if (!sp->shares || (x->o.allow & AX_ALLOW_SHARE) == 0 || enough_splits(all, lanes) ||
        !shares_fit(x, s, f, sp) || sp->nrows < 2 * (int64_t) RANGE_ROWS)
        return 1;
    return lanes;
}

static ax_status make_share(ax_exec *x, uint32_t nscans, ax_fmt_share **out)
{
    ax_arena *a = x->task.arena;
    ax_fmt_share *h;

    AX_NEW(&x->task, h, (ax_fmt_share *) ax_arena_alloc0(a, sizeof *h));
    AX_NEW(&x->task, h->waiter,
           (ax_job **) ax_arena_alloc0(a, nscans * sizeof(ax_job *)));
    h->nscans = nscans;
    pthread_mutex_init(&h->lock, NULL);
    *out = h;
    return AX_OK;
}

/* Behind all items, those of splits that several scans share: lanes that find nothing else help. */
static ax_status add_copies(ax_exec *x, ax_scan *s, const totals *all, uint32_t lanes)
{
    uint32_t n = s->nwork;

    for (uint32_t i = 0; i < n; i++)
    {
        ax_work *w = &s->work[i];
        const ax_fmt_file *file;
        uint32_t copies;
        ax_split sp;

        if (w->split == AX_SPLIT_ALL || w->range.end > 0)
            continue;
        file = ax_snapfile_file(&s->snap->file[w->file]);
        split_at(file, w->split, &sp);
        copies = copies_of(x, s, all, file, &sp, lanes);
        if (copies > 1)
            AX_TRY(make_share(x, copies, &w->share));
        for (; copies > 1; copies--)
        {
            s->work[s->nwork] = *w;
            s->work[s->nwork++].copy = true;
        }
    }
    return AX_OK;
}

static void add_splits(ax_scan *s, uint32_t f, const ax_fmt_file *file, const totals *all,
                       uint32_t lanes)
{
    for (uint32_t i = 0; i < file->nsplits; i++)
    {
        ax_split sp;
        uint32_t rows;

        split_at(file, i, &sp);
        rows = range_rows(all, &sp, lanes);
        if (rows == 0)
            s->work[s->nwork++] = (ax_work){.file = f, .split = i};
        for (uint32_t r = 0; rows > 0 && r < sp.nrows; r += rows)
        {
            uint32_t end = sp.nrows - r > rows ? r + rows : (uint32_t) sp.nrows;

            s->work[s->nwork++] = (ax_work){.file = f, .split = i, .range = {r, end}};
        }
    }
}

/* A file that is not open, as one item. */
static void add_closed(ax_scan *s, uint32_t f)
{
    s->work[s->nwork++] = (ax_work){.file = f, .split = AX_SPLIT_ALL};
}

/* Inputs of a merge: each split of a file that is open, other files as a whole. */
static ax_status plan_merged(ax_exec *x, ax_scan *s, ax_fmt_file *const *file,
                             const bool *left_out, const totals *all)
{
    uint64_t opened = 0;

    AX_CHECK(&x->task, all->splits < UINT32_MAX && all->ids < UINT32_MAX, AX_ELIMIT,
             "too many row groups");
    AX_NEW(&x->task, s->work,
           (ax_work *) ax_arena_alloc(x->task.arena, (size_t) (all->splits + s->snap->nfiles + 1) *
                                                         sizeof *s->work));
    for (uint32_t f = 0; f < s->snap->nfiles; f++)
    {
        bool whole = file[f] == NULL || s->whole_files;

        if (!left_out[f] && whole)
            add_closed(s, f);
        for (uint32_t i = 0; !whole && i < file[f]->nsplits; i++)
            s->work[s->nwork++] = (ax_work){.file = f, .split = i};
        opened += whole ? 0 : file[f]->nsplits;
    }
    atomic_fetch_add_explicit(&x->splits, opened, memory_order_relaxed);
    return AX_OK;
}

ax_status ax_scan_plan(ax_exec *x, ax_scan *s, uint32_t *nlanes)
{
    uint32_t most = *nlanes, lanes = most < x->busy_lanes ? most : x->busy_lanes;
    const ax_snapshot *snap = s->snap;
    ax_arena *a = x->task.arena;
    size_t nfiles = (size_t) snap->nfiles + 1;
    totals all = {0};
    ax_fmt_file **file;
    bool *left_out;
    uint64_t n = 0, opened = 0;

    AX_NEW(&x->task, s->split0, (uint32_t *) ax_arena_alloc(a, nfiles * sizeof *s->split0));
    AX_NEW(&x->task, s->gone,
           (_Atomic uint32_t *) ax_arena_alloc0(a, nfiles * sizeof *s->gone));
    AX_NEW(&x->task, left_out, (bool *) ax_arena_alloc(a, nfiles * sizeof *left_out));
    AX_NEW(&x->task, file, (ax_fmt_file **) ax_arena_alloc0(a, nfiles * sizeof *file));
    take_files(x, s, file, left_out, &all);
    if (s->node->u.scan.sample_rows > 0 || s->node->u.scan.sample_splits > 0)
    {
        AX_TRY(ax_scan_sample(x, s, file));
        *nlanes = s->nwork < most ? s->nwork + (s->nwork == 0) : most;
        return AX_OK;
    }
    if (s->merged)
        return plan_merged(x, s, file, left_out, &all);
    for (uint32_t f = 0; f < snap->nfiles; f++)
    {
        n += !left_out[f] && file[f] == NULL;
        for (uint32_t i = 0; file[f] != NULL && i < file[f]->nsplits; i++)
        {
            ax_split sp;

            split_at(file[f], i, &sp);
            n += ranges_of(&all, &sp, lanes) - 1;
            n += copies_of(x, s, &all, file[f], &sp, lanes);
            opened++;
        }
    }
    AX_CHECK(&x->task, n < UINT32_MAX && all.ids < UINT32_MAX, AX_ELIMIT, "too many row groups");
    AX_NEW(&x->task, s->work, (ax_work *) ax_arena_alloc(a, (size_t) (n + 1) * sizeof *s->work));
    for (uint32_t f = 0; f < snap->nfiles; f++)
        if (file[f] != NULL)
            add_splits(s, f, file[f], &all, lanes);
        else if (!left_out[f] && s->gradual)
            add_closed(s, f);
    for (uint32_t f = 0; f < snap->nfiles && !s->gradual; f++)
        if (file[f] == NULL && !left_out[f])
            add_closed(s, f); /* a scan that ends early should not open them */
    AX_TRY(add_copies(x, s, &all, lanes));
    atomic_fetch_add_explicit(&x->splits, opened, memory_order_relaxed);
    *nlanes = s->nwork < most ? (s->nwork > 0 ? s->nwork : 1) : most;
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

static ax_snapfile *file_of(const ax_lane *l)
{
    return &l->stage->scan->snap->file[l->rd->work.file];
}

void ax_scan_abandon(ax_lane *l)
{
    if (l->rd == NULL)
        return;
    l->rd->whole_file = false;
    if (l->rd->opener.snap != NULL)
        ax_opener_end(&l->rd->opener);
    if (l->rd->op == NULL)
        return;
    if (l->rd->fetching)
        ax_io_forget(l->stage->x->env->io, &l->rd->ev.need);
    l->rd->format->end(l->rd->op);
    l->rd->op = NULL;
    l->rd->fetching = false;
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
    FLUSH(granules);
    FLUSH(bytes_compressed);
    FLUSH(bytes_decompressed);
    FLUSH(open_ns);
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
    ax_note_file(&l->task, file_of(l)->path);
    if (l->rd->scan_state != AX_SCAN_OPEN)
    {
        split_at(ax_snapfile_file(file_of(l)), l->rd->work.split, &sp);
        ax_note_unit(&l->task, sp.unit, l->rd->work.split);
    }
    return st;
}

/* Wait for the next epoch of the share; false: it has come already. */
static bool wait_share(ax_lane *l)
{
    ax_fmt_share *h = l->rd->req.share;
    uint32_t i = 0;
    bool wait;

    pthread_mutex_lock(&h->lock);
    wait = h->epoch == l->rd->ev.epoch;
    for (; i < h->nwaiters && h->waiter[i] != &l->job; i++)
        ; /* it may have been woken by something else */
    if (wait && i == h->nwaiters)
        h->waiter[h->nwaiters++] = &l->job;
    pthread_mutex_unlock(&h->lock);
    return wait;
}

/* How often this thread has slept. */
static long sleeps(void)
{
    struct rusage u;

    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : 0;
}

/* While the storage works for this lane, be it that the lane parks or that its thread sleeps in a
 * read, the processor is another one's. */
static ax_status fetch(ax_lane *l, ax_io_ready *ready)
{
    ax_stage *st = l->stage;
    bool others = atomic_load_explicit(&st->begun, memory_order_relaxed) < st->room;
    long before = others ? sleeps() : 0;
    uint64_t begin_ns = others ? ax_exec_now_ns() : 0;

    AX_TRY(ax_io_fetch(&l->task, st->x->env->io, &l->rd->ev.need, &l->job, ready));
    if (others && (*ready == AX_IO_PENDING ||
                   (ax_exec_now_ns() - begin_ns > SLOW_READ_NS && sleeps() > before)))
        ax_stage_more(l);
    return AX_OK;
}

ax_status ax_scan_drive(ax_lane *l, ax_go *go)
{
    for (;;)
    {
        if (l->rd->fetching)
        {
            ax_io_ready ready;

            AX_TRY(fetch(l, &ready));
            if (ready == AX_IO_PENDING)
            {
                *go = AX_GO_PARK;
                return AX_OK;
            }
            l->rd->fetching = false;
        }
        if (ax_task_stopped(&l->task))
            return AX_ESTOPPED;
        memset(&l->rd->ev, 0, sizeof l->rd->ev);
        AX_TRY(l->rd->format->step(&l->task, l->rd->op, &l->rd->ev));
        if (l->rd->ev.step != AX_STEP_NEED)
        {
            *go = AX_GO_BATCH;
            return AX_OK;
        }
        if (l->rd->ev.need.n == 0 && l->rd->ev.host == NULL && l->rd->req.share != NULL)
        {
            if (!wait_share(l))
                continue;
            *go = AX_GO_PARK;
            return AX_OK;
        }
        if (l->rd->ev.need.n == 0)
        {
            AX_CHECK(&l->task, l->rd->ev.host != NULL, AX_EPLAN, "a reader waits for nothing");
            ax_host_ask(l, l->rd->ev.host);
            *go = AX_GO_PARK;
            return AX_OK;
        }
        l->rd->fetching = true;
    }
}

uint64_t ax_scan_buffer_bytes(const ax_lane *l)
{
    int64_t limit = l->stage->x->budget.limit_bytes;
    const ax_stage *st = l->stage;
    uint32_t readers = st->nlanes, busy = st->x->busy_lanes;

    if (limit == INT64_MAX)
        return 0;
    limit /= SCAN_SHARE;
    if (l->rd->given)
        readers = st->scan->nwork;
    else if (readers > busy)
    {
        /* Half is for those that begin at once. */
        limit /= 2;
        readers = l->slot - st->slot0 < busy ? busy : readers - busy;
    }
    return (uint64_t) limit / readers;
}

static void end_op(ax_lane *l)
{
    memset(&l->rd->ev, 0, sizeof l->rd->ev);
    l->rd->format->end(l->rd->op);
    l->rd->op = NULL;
}

/* Rows that may match, cut to the item's range, into l->rd->rows; false: none. */
static ax_status cut_rows(ax_lane *l, const ax_rowset *may, bool *any)
{
    ax_rowrange want = l->rd->work.range;
    ax_rowrange *r;
    uint32_t n = may != NULL ? may->n : 1;

    l->rd->req.rows = NULL;
    *any = true;
    if (l->rd->work.rows != NULL)
    {
        l->rd->req.rows = l->rd->work.rows;
        return AX_OK;
    }
    if (may == NULL && want.end == 0)
        return AX_OK;
    AX_NEW(&l->task, r, (ax_rowrange *) ax_arena_alloc(l->rd->arena, (n + 1) * sizeof *r));
    l->rd->rows = (ax_rowset){r, 0};
    for (uint32_t i = 0; i < n; i++)
    {
        ax_rowrange one = may != NULL ? may->range[i] : want;

        if (want.end > 0 && one.begin < want.begin)
            one.begin = want.begin;
        if (want.end > 0 && one.end > want.end)
            one.end = want.end;
        if (one.begin < one.end)
            r[l->rd->rows.n++] = one;
    }
    l->rd->req.rows = &l->rd->rows;
    *any = l->rd->rows.n > 0;
    return AX_OK;
}

static ax_status begin_read(ax_lane *l, ax_match match)
{
    ax_scan *s = l->stage->scan;
    const ax_snapfile *f = file_of(l);
    bool filtered = s->filter != NULL && (l->stage->x->o.allow & AX_ALLOW_PREWHERE) != 0;

    if (s->meta != NULL && match == AX_MATCH_ALL && ax_meta_answers(s, &l->rd->work))
    {
        if (!l->rd->work.copy)
            atomic_fetch_add_explicit(&l->stage->x->splits_done, 1, memory_order_relaxed);
        l->rd->scan_state = AX_SCAN_CLAIM;
        return AX_OK;
    }
    if (filtered && match == AX_MATCH_ALL && !s->live)
        filtered = false;
    if (filtered && l->rd->filter == NULL)
        AX_TRY(ax_filter_lane_create(&l->task, l->state_arena, s->filter, &l->rd->filter));
    l->rd->req.bind = f->bind;
    l->rd->req.split = l->rd->work.split;
    l->rd->req.split_id = s->split0[l->rd->work.file] + l->rd->work.split;
    l->rd->req.columns = s->columns;
    l->rd->req.ncolumns = s->ncolumns;
    l->rd->req.filter = filtered ? l->rd->filter : NULL;
    l->rd->req.filter_only = s->filter_only;
    l->rd->req.nfilter_only = s->nfilter_only;
    l->rd->req.share = l->rd->work.share;
    l->rd->req.allow = l->stage->x->o.allow;
    l->rd->req.gradual = s->gradual;
    l->rd->req.stats = &l->stats;
    l->rd->req.budget = l->task.budget;
    l->rd->req.buffer_bytes = ax_scan_buffer_bytes(l);
    atomic_fetch_add_explicit(&s->read_splits, 1, memory_order_relaxed);
    l->rd->scan_state = AX_SCAN_READ;
    return l->rd->format->scan_begin(&l->task, l->rd->arena, &l->rd->req, &l->rd->op);
}

/* Are there rows of the split left that nobody took? */
static bool worth_helping(const ax_lane *l)
{
    uint64_t next = atomic_load_explicit(&l->rd->work.share->next, memory_order_relaxed);
    ax_split sp;

    split_at(ax_snapfile_file(file_of(l)), l->rd->work.split, &sp);
    return next + RANGE_ROWS / 2 < (uint64_t) sp.nrows;
}

/* One split, or a range of one, of a file that is open. */
static ax_status begin_split(ax_lane *l)
{
    ax_stage *st = l->stage;
    ax_scan *s = st->scan;
    bool any;

    if (l->rd->work.copy && !worth_helping(l))
    {
        l->rd->scan_state = AX_SCAN_CLAIM;
        return AX_OK;
    }
    l->rd->format = ax_snapfile_file(file_of(l))->format;
    AX_CHECK(&l->task, file_of(l)->bind != NULL || s->ncolumns == 0, AX_EPLAN,
             "plan scans a source without declared columns");
    if (s->prune == NULL || (ax_filter_steps(s->prune) == 0 && ax_filter_version(s->prune) == 0))
    {
        AX_TRY(cut_rows(l, NULL, &any));
        return begin_read(l, AX_MATCH_ALL);
    }
    l->rd->scan_state = AX_SCAN_PRUNE;
    return l->rd->format->prune_begin(&l->task, l->rd->arena, file_of(l)->bind, l->rd->work.split,
                                      l->rd->work.range, s->prune, st->x->o.allow, &l->rd->op);
}

static void reset(ax_lane *l)
{
    ax_scan_flush_stats(l);
    ax_arena_reset(l->rd->arena);
    if (!l->rd->given) /* else other readers of the lane may use it */
        ax_arena_reset(l->task.arena);
}

/* The file of the item was opened: its first split comes next. */
static ax_status opened(ax_lane *l)
{
    const ax_scan *s = l->stage->scan;
    uint32_t nsplits = ax_snapfile_file(file_of(l))->nsplits;
    const uint32_t *room = &s->split0[l->rd->work.file];

    AX_CHECK(&l->task, !s->late || nsplits <= room[1] - room[0], AX_ECHANGED,
             "file grew while it was read");
    l->rd->whole_file = true;
    l->rd->work.split = UINT32_MAX; /* one before 0 */
    l->rd->scan_state = AX_SCAN_CLAIM;
    atomic_fetch_add_explicit(&l->stage->x->splits, nsplits, memory_order_relaxed);
    return AX_OK;
}

/* Open the file of the item, if that is still to be done, and go on with all its splits. */
static void begin_file(ax_lane *l)
{
    ax_stage *st = l->stage;
    ax_scan *s = st->scan;

    l->rd->opener.env = st->x->env;
    l->rd->opener.src = s->node->u.scan.source;
    l->rd->opener.snap = s->snap;
    l->rd->opener.scratch = l->rd->arena;
    ax_opener_begin(&l->rd->opener, l->rd->work.file);
    l->rd->scan_state = AX_SCAN_OPEN;
}

static ax_status claim(ax_lane *l, ax_go *go)
{
    ax_stage *st = l->stage;
    ax_scan *s = st->scan;
    bool enough = ax_stage_enough(st);
    uint32_t i = UINT32_MAX;

    *go = AX_GO_ON;
    if (l->rd->whole_file && !enough && !ax_behind_poison(st, l->item) &&
        ++l->rd->work.split < ax_snapfile_file(file_of(l))->nsplits)
    {
        reset(l);
        return begin_split(l);
    }
    l->rd->whole_file = false;
    *go = AX_GO_END;
    if (l->rd->given)
        return AX_OK;
    if (!enough)
        i = atomic_fetch_add_explicit(&s->cursor, 1, memory_order_relaxed);
    if (i >= s->nwork || ax_behind_poison(st, i))
        return AX_OK;
    *go = AX_GO_ON;
    reset(l);
    l->item = i;
    l->rd->work = s->work[i];
    if (l->rd->work.split != AX_SPLIT_ALL)
        return begin_split(l);
    begin_file(l);
    return AX_OK;
}

/* Statistics removed a split; when it was the last of its file, they removed the file. */
static void count_pruned(ax_lane *l, uint8_t by)
{
    ax_exec *x = l->stage->x;
    _Atomic uint32_t *gone = &l->stage->scan->gone[l->rd->work.file];

    atomic_fetch_add_explicit(&x->splits_pruned[by], 1, memory_order_relaxed);
    if (by == AX_PRUNED_MINMAX && atomic_fetch_add_explicit(gone, 1, memory_order_relaxed) + 1 ==
                                      ax_snapfile_file(file_of(l))->nsplits)
        atomic_fetch_add_explicit(&x->files_pruned[by], 1, memory_order_relaxed);
}

static void count_removed(ax_exec *x, const ax_removed *r)
{
    uint32_t i = 0;

    if (r->granules == 0)
        return;
    pthread_mutex_lock(&x->lock);
    while (i < x->nremoved && strncmp(x->removed[i].name, r->name, sizeof x->removed[i].name - 1))
        i++;
    if (i == x->nremoved && i < AX_MAX_REMOVED)
        (void) strncpy(x->removed[x->nremoved++].name, r->name, sizeof x->removed[i].name - 1);
    if (i < AX_MAX_REMOVED)
        x->removed[i].granules += r->granules;
    pthread_mutex_unlock(&x->lock);
}

static ax_status pruned(ax_lane *l)
{
    ax_match match = l->rd->ev.match;
    uint8_t by = l->rd->ev.by < AX_PRUNED_CNT ? l->rd->ev.by : AX_PRUNED_NOT;
    bool any = match != AX_MATCH_NONE;

    for (uint32_t i = 0; i < l->rd->ev.nremoved && !l->rd->work.copy; i++)
        count_removed(l->stage->x, &l->rd->ev.removed[i]);
    /* The rows die with the operation. */
    if (any)
        AX_TRY(cut_rows(l, match == AX_MATCH_SOME ? l->rd->ev.rows : NULL, &any));
    end_op(l);
    if (any)
        return begin_read(l, match);
    /* Of a split in several ranges the first counts. */
    if (match == AX_MATCH_NONE && l->rd->work.range.begin == 0 && !l->rd->work.copy)
        count_pruned(l, by);
    l->rd->scan_state = AX_SCAN_CLAIM;
    return AX_OK;
}

static ax_status scan_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    *out = NULL;
    if (l->rd->scan_state == AX_SCAN_CLAIM)
        return claim(l, go);
    if (ax_behind_poison(l->stage, l->item) || ax_stage_enough(l->stage))
    {
        ax_scan_abandon(l);
        l->rd->scan_state = AX_SCAN_CLAIM;
        *go = AX_GO_ON;
        return AX_OK;
    }
    if (l->rd->scan_state == AX_SCAN_OPEN)
    {
        uint64_t begin_ns = ax_exec_now_ns();

        AX_TRY(ax_opener_run(&l->task, &l->rd->opener, &l->job, go));
        l->stats.open_ns += ax_exec_now_ns() - begin_ns;
        if (*go == AX_GO_PARK)
        {
            ax_stage_more(l);
            return AX_OK;
        }
        AX_TRY(opened(l));
        *go = AX_GO_ON;
        return AX_OK;
    }
    AX_TRY(ax_scan_drive(l, go));
    if (*go == AX_GO_PARK)
        return AX_OK;
    *go = AX_GO_ON;
    if (l->rd->scan_state == AX_SCAN_PRUNE)
        return pruned(l);
    if (l->rd->ev.step == AX_STEP_BATCH)
    {
        *out = l->rd->ev.batch;
        *go = AX_GO_BATCH;
        return AX_OK;
    }
    end_op(l);
    if (!l->rd->work.copy)
        atomic_fetch_add_explicit(&l->stage->x->splits_done, 1, memory_order_relaxed);
    l->rd->scan_state = AX_SCAN_CLAIM;
    return AX_OK;
}

ax_status ax_scan_give(ax_lane *l, const ax_work *w)
{
    l->rd->given = true;
    l->rd->work = *w;
    if (w->split != AX_SPLIT_ALL)
        return begin_split(l);
    begin_file(l);
    return AX_OK;
}

ax_status ax_scan_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    ax_status st = scan_next(l, out, go);

    return st == AX_OK || st == AX_ESTOPPED || l->item == UINT32_MAX ? st : note(l, st);
}
