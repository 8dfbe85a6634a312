/* Opening a source: one job finds the files, then lanes open those that are wanted.
 *
 *      lake (one job) --> which files? --> lanes: CLAIM --> open one file (open.c) --> CLAIM ...
 *
 * A source that was listed before is only opened further.  Files that cannot match by what is known
 * of them (their partition, name, size) are left closed; when more may match than the host wants
 * opened, a sample is: the largest ones, which are worth their splits on the work list, and some
 * that are spread over the list, for estimates.  Scans open the rest when they get there.
 *
 * All are step machines: requests under way park the job.  The result is a snapshot that the host's
 * thread puts into the source at the end. */
#include "exec/exec_int.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH_2000_US INT64_C(946684800000000) /* since 1970 */

typedef struct open_lane
{
    ax_job job;
    struct ax_opening *o;
    ax_task task;
    ax_opener opener;
    bool opening;             /* the opener has a file */
} open_lane;

struct ax_opening
{
    ax_exec *x;
    ax_source *src;
    ax_snapshot *snap;        /* a reference until published */
    ax_job list_job;
    ax_task list_task;
    ax_lake_spec lake_spec;
    ax_lake_op *lake;         /* until it is done */
    ax_lake_event lake_ev;
    bool fetching;            /* what lake_ev needs */
    ax_arena *arena;          /* lanes, todo */
    uint32_t *todo;           /* [ntodo] files to open */
    uint32_t ntodo;
    open_lane *lane;
    uint32_t nlanes;
    _Atomic uint32_t cursor;
    _Atomic uint32_t left;
};

void ax_snapshot_unref(ax_snapshot *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < s->nfiles; i++)
        ax_fmt_file_unref(ax_snapfile_file(&s->file[i]));
    for (ax_bind_arena *b = s->binds, *next; b != NULL; b = next)
    {
        next = b->next;
        ax_arena_destroy(b->arena);
    }
    ax_arena_destroy(s->arena);
    pthread_mutex_destroy(&s->lock);
    ax_obj_free(s);
}

/* ---- what is known without opening ----------------------------------------------------------- */

bool ax_snapfile_fixed_bounds(const ax_snapfile *f, uint32_t col, ax_bounds *out)
{
    for (uint32_t i = 0; i < f->nfixed; i++)
        if (f->fixed[i].col == col)
        {
            const ax_value *v = &f->fixed[i].value;

            *out = (ax_bounds){.rows = 1, .nulls = v->null ? 1 : 0};
            out->has_min = out->has_max = out->min_exact = out->max_exact = !v->null;
            out->min = out->max = *v;
            return true;
        }
    return false;
}

static bool fixed_bounds(void *self, uint32_t col, ax_bounds *out)
{
    return ax_snapfile_fixed_bounds((const ax_snapfile *) self, col, out);
}

bool ax_snapfile_excluded(const ax_snapfile *f, const ax_filter *filter)
{
    union { const ax_snapfile *in; void *out; } self = {f};
    ax_stats_src src = {.self = self.out, .bounds = fixed_bounds};

    return f->nfixed > 0 && ax_filter_match(filter, &src) == AX_MATCH_NONE;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static ax_run end_lane(open_lane *l)
{
    if (atomic_fetch_sub_explicit(&l->o->left, 1, memory_order_acq_rel) == 1)
        ax_exec_finish(l->o->x);
    return AX_RUN_DONE;
}

static bool claim(open_lane *l)
{
    uint32_t i = atomic_fetch_add_explicit(&l->o->cursor, 1, memory_order_relaxed);

    if (i >= l->o->ntodo)
        return false;
    ax_arena_reset(l->task.arena);
    ax_opener_begin(&l->opener, l->o->todo[i]);
    l->opening = true;
    return true;
}

static ax_run open_run(ax_job *job)
{
    open_lane *l = (open_lane *) job;
    uint64_t end_ns = ax_exec_now_ns() + AX_SLICE_NS;

    while (!ax_task_stopped(&l->task))
    {
        ax_go go;

        if (!l->opening && !claim(l))
            return end_lane(l);
        if (ax_opener_run(&l->task, &l->opener, &l->job, &go) != AX_OK)
        {
            ax_exec_fail(l->o->x, &l->task.err);
            return AX_RUN_DONE;
        }
        if (go == AX_GO_PARK)
            return AX_RUN_BLOCKED;
        l->opening = false;
        if (ax_exec_now_ns() > end_ns)
            return AX_RUN_AGAIN;
    }
    return AX_RUN_DONE;
}

static void free_lane(open_lane *l)
{
    ax_opener_end(&l->opener);
    ax_arena_destroy(l->opener.scratch);
    ax_arena_destroy(l->task.arena);
}

static ax_status make_lane(struct ax_opening *o, open_lane *l)
{
    l->o = o;
    o->nlanes++;
    l->opener = (ax_opener){.env = o->x->env, .src = o->src, .snap = o->snap};
    AX_TRY(ax_exec_task(o->x, &l->task));
    AX_NEW(&l->task, l->opener.scratch, ax_arena_create(&o->x->budget, 0));
    ax_job_init(&l->job, open_run, o->x->group);
    return AX_OK;
}

/* ---- which files ----------------------------------------------------------------------------- */

typedef struct sized { uint32_t file; uint64_t size; } sized;

/* Move the `large` largest of n files to the front; the others stay in their order. */
static void large_first(sized *may, uint32_t n, uint32_t large)
{
    for (uint32_t k = 0; k < large; k++)
    {
        uint32_t best = k;
        sized taken;

        for (uint32_t i = k + 1; i < n; i++)
            if (may[i].size > may[best].size)
                best = i;
        taken = may[best];
        memmove(&may[k + 1], &may[k], (best - k) * sizeof *may);
        may[k] = taken;
    }
}

/* Of n files the half of `max` that are largest, the other half spread over the rest; fewer, when
 * nopen of them are open already. */
static void take_sample(struct ax_opening *o, sized *may, uint32_t n, uint32_t max, uint32_t nopen)
{
    uint32_t large = max / 2, spread = max - large;

    large_first(may, n, large);
    for (uint32_t i = 0; i < max && nopen < max; i++)
    {
        uint64_t at = i < large ? i : large + (uint64_t) (i - large) * (n - large) / spread;

        if (ax_snapfile_file(&o->snap->file[may[at].file]) != NULL)
            continue;
        o->todo[o->ntodo++] = may[at].file;
        nopen++;
    }
}

static ax_status choose_files(struct ax_opening *o, ax_task *t)
{
    const ax_snapshot *s = o->snap;
    uint32_t max = o->x->o.open_files, n = 0, nopen = 0;
    ax_filter *f = NULL;
    sized *may;

    if (o->x->o.list_only)
        return AX_OK;
    if (o->x->o.nconj > 0 && (o->x->o.allow & AX_ALLOW_PARTITION) != 0)
        AX_TRY(ax_filter_create(t, o->arena, o->x->o.conj, o->x->o.nconj, &o->x->o.params, &f));
    AX_NEW(t, may, (sized *) ax_arena_alloc(o->arena, ((size_t) s->nfiles + 1) * sizeof *may));
    AX_NEW(t, o->todo,
           (uint32_t *) ax_arena_alloc(o->arena, ((size_t) s->nfiles + 1) * sizeof *o->todo));
    for (uint32_t i = 0; i < s->nfiles; i++)
        if (f == NULL || !ax_snapfile_excluded(&s->file[i], f))
        {
            may[n++] = (sized){i, s->file[i].size};
            nopen += ax_snapfile_file(&s->file[i]) != NULL;
        }
    if (max > 0 && n > max)
        take_sample(o, may, n, max < 2 * o->x->max_lanes ? max : 2 * o->x->max_lanes, nopen);
    else
        for (uint32_t i = 0; i < n; i++)
            o->todo[o->ntodo++] = may[i].file;
    return AX_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Columns that the listing answers: set for every file. */
static ax_status fix_virtual(struct ax_opening *o, ax_task *t, ax_snapfile *f)
{
    const ax_source *src = o->src;
    ax_fixed_col *fixed;
    uint32_t n = 0;

    for (uint32_t c = 0; c < src->ncols; c++)
        n += src->col[c].virt != AX_VIRT_NONE;
    if (n == 0)
        return AX_OK;
    AX_NEW(t, fixed, (ax_fixed_col *) ax_arena_alloc0(o->snap->arena, n * sizeof *fixed));
    f->fixed = fixed;
    for (uint32_t c = 0; c < src->ncols; c++)
    {
        ax_value *v = &fixed[f->nfixed].value;
        const char *text = f->path, *slash = strrchr(f->path, '/');

        v->type = src->col[c].type;
        switch (src->col[c].virt)
        {
        case AX_VIRT_FILE:
            text = slash != NULL ? slash + 1 : text;
            /* fallthrough */
        case AX_VIRT_PATH:
            v->u.s.p = (const uint8_t *) text;
            v->u.s.len = (uint32_t) strlen(text);
            break;
        case AX_VIRT_SIZE:
            if (!f->lake->listed)
                continue;
            v->u.i = (int64_t) f->size;
            break;
        case AX_VIRT_MTIME:
            if (!f->lake->listed || f->lake->mtime_ns == 0)
                continue;
            v->u.i = f->lake->mtime_ns / 1000 - EPOCH_2000_US;
            break;
        default:
            continue;
        }
        fixed[f->nfixed++].col = c;
    }
    return AX_OK;
}

/* How rows become one is known from the options of the files; it may take more columns than those
 * declared. */
static ax_status plan_final(struct ax_opening *o, ax_task *t)
{
    ax_source *src = o->x->source;
    const ax_format *f = src->format;
    const char *options = src->options;
    ax_colspec *col;
    ax_final *fin;

    if (!src->merged || o->snap->nfiles == 0)
        return AX_OK;
    if (f == NULL)
        f = ax_format_guess(o->snap->file[0].path, NULL, 0, NULL, 0);
    AX_CHECK(t, f != NULL && f->final != NULL, AX_EOPTION,
             "files of this format have no rows that replace others");
    if (o->snap->file[0].lake->options != NULL)
        options = o->snap->file[0].lake->options;
    AX_NEW(t, fin, (ax_final *) ax_arena_alloc0(src->arena, sizeof *fin));
    AX_TRY(f->final(t, src->arena, options, src->col, src->ncols, &src->bind, fin));
    AX_NEW(t, col, (ax_colspec *) ax_arena_alloc0(src->arena, (src->ncols + fin->nhidden + 1) *
                                                                  sizeof *col));
    if (src->ncols > 0)
        memcpy(col, src->col, src->ncols * sizeof *col);
    if (fin->nhidden > 0)
        memcpy(col + src->ncols, fin->hidden, fin->nhidden * sizeof *col);
    src->col = col;
    src->nhidden = fin->nhidden;
    src->final = fin;
    return AX_OK;
}

/* The lake has found the files: they are the snapshot's. */
static ax_status take_files(struct ax_opening *o, ax_task *t)
{
    const ax_lake_file *file = o->lake_ev.file;
    uint32_t n = o->lake_ev.nfiles;
    ax_snapshot *s = o->snap;

    ax_lake_end(o->lake);
    o->lake = NULL;
    AX_NEW(t, s->file,
           (ax_snapfile *) ax_arena_alloc0(s->arena, ((size_t) n + 1) * sizeof *s->file));
    for (uint32_t i = 0; i < n; i++)
    {
        s->file[i].path = file[i].path;
        s->file[i].size = file[i].size;
        s->file[i].lake = &file[i];
        s->bytes += (int64_t) file[i].size;
        AX_TRY(fix_virtual(o, t, &s->file[i]));
    }
    s->nfiles = n;
    s->watch = o->lake_ev.watch;
    s->nwatch = o->lake_ev.nwatch;
    s->watched = o->lake_ev.watched;
    ax_snapshot_unref(o->src->earlier);
    o->src->earlier = NULL;
    return plan_final(o, t);
}

static ax_status start_lanes(struct ax_opening *o, ax_task *t)
{
    uint32_t n;

    AX_TRY(choose_files(o, t));
    n = o->ntodo < o->x->max_lanes ? o->ntodo : o->x->max_lanes;
    if (n == 0)
    {
        ax_exec_finish(o->x);
        return AX_OK;
    }
    AX_NEW(t, o->lane, (open_lane *) ax_arena_alloc0(o->arena, n * sizeof *o->lane));
    for (uint32_t i = 0; i < n; i++)
        if (make_lane(o, &o->lane[i]) != AX_OK)
        {
            t->err = o->lane[i].task.err;
            return t->err.code;
        }
    atomic_store_explicit(&o->left, n, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++)
        if (ax_job_submit(&o->lane[i].job) != AX_OK)
            return ax_fail(t, AX_ELIMIT, "no thread could be started");
    return AX_OK;
}

/* What an earlier listing and openings since then tell of files. */
static ax_status remember(struct ax_opening *o, ax_task *t)
{
    const ax_snapshot *s = o->src->earlier;
    ax_lake_known *known;

    if (s == NULL)
        return AX_OK;
    AX_NEW(t, known, (ax_lake_known *) ax_arena_alloc(o->arena, (s->nfiles + (size_t) 1) *
                                                                    sizeof *known));
    for (uint32_t i = 0; i < s->nfiles; i++)
    {
        const ax_snapfile *f = &s->file[i];

        known[i] = (ax_lake_known){f->path, ax_snapfile_file(f) != NULL ? f->id.size : f->size};
    }
    o->lake_spec.known = known;
    o->lake_spec.nknown = s->nfiles;
    return AX_OK;
}

/* Step the lake until it waits for something (*go: PARK), or is done and lanes run (END). */
static ax_status list_files(struct ax_opening *o, ax_task *t, ax_go *go)
{
    ax_io_ready ready;

    *go = AX_GO_END;
    if (o->src->snap == o->snap)
        return start_lanes(o, t); /* listed before */
    if (o->lake == NULL)
    {
        AX_TRY(remember(o, t));
        AX_TRY(ax_lake_begin(t, o->snap->arena, &o->lake_spec, &o->lake));
    }
    for (;;)
    {
        if (o->fetching)
        {
            AX_TRY(ax_io_fetch(t, o->x->env->io, &o->lake_ev.need, &o->list_job, &ready));
            *go = AX_GO_PARK;
            if (ready == AX_IO_PENDING)
                return AX_OK;
            o->fetching = false;
        }
        memset(&o->lake_ev, 0, sizeof o->lake_ev);
        AX_TRY(ax_lake_step(t, o->lake, &o->lake_ev));
        *go = AX_GO_END;
        if (o->lake_ev.step == AX_STEP_DONE)
        {
            AX_TRY(take_files(o, t));
            return start_lanes(o, t);
        }
        AX_CHECK(t, o->lake_ev.need.n > 0, AX_EPLAN, "a listing waits for nothing");
        o->fetching = true;
    }
}

static ax_run list_run(ax_job *job)
{
    struct ax_opening *o =
        (struct ax_opening *) ((char *) job - offsetof(struct ax_opening, list_job));
    ax_go go = AX_GO_END;

    if (list_files(o, &o->list_task, &go) != AX_OK)
        ax_exec_fail(o->x, &o->list_task.err);
    else if (go == AX_GO_PARK)
        return AX_RUN_BLOCKED;
    return AX_RUN_DONE;
}

/* ---- from and to the run --------------------------------------------------------------------- */

ax_status ax_opening_launch(ax_exec *x)
{
    struct ax_opening *o;
    ax_task *t = &x->task;

    AX_NEW(t, o, (struct ax_opening *) ax_arena_alloc0(t->arena, sizeof *o));
    o->x = x;
    o->src = x->source;
    o->lake_spec = (ax_lake_spec){
        .path = o->src->path,
        .npaths = o->src->npaths,
        .format = o->src->format,
        .options = o->src->options,
        .allow_none = o->src->allow_no_files,
    };
    x->opening = o;
    AX_TRY(ax_exec_task(x, &o->list_task));
    AX_NEW(t, o->arena, ax_arena_create(&x->budget, 0));
    if (o->src->snap != NULL)
    {
        o->snap = o->src->snap;
        atomic_fetch_add_explicit(&o->snap->refs, 1, memory_order_relaxed);
    }
    else
    {
        AX_NEW(t, o->snap, (ax_snapshot *) ax_obj_alloc(sizeof *o->snap));
        atomic_init(&o->snap->refs, 1);
        pthread_mutex_init(&o->snap->lock, NULL);
        AX_NEW(t, o->snap->arena, ax_arena_create(x->env->budget, 0));
    }
    ax_job_init(&o->list_job, list_run, x->group);
    if (ax_job_submit(&o->list_job) != AX_OK)
        return ax_fail(t, AX_ELIMIT, "no thread could be started");
    return AX_OK;
}

void ax_opening_publish(ax_exec *x)
{
    struct ax_opening *o = x->opening;

    if (o == NULL || o->snap == NULL)
        return;
    ax_snapshot_unref(o->src->snap);
    o->src->snap = o->snap;
    o->snap = NULL;
}

void ax_opening_free(ax_exec *x)
{
    struct ax_opening *o = x->opening;

    if (o == NULL)
        return;
    for (uint32_t i = 0; i < o->nlanes; i++)
        free_lane(&o->lane[i]);
    if (o->fetching)
        ax_io_forget(x->env->io, &o->lake_ev.need);
    ax_lake_end(o->lake);
    ax_snapshot_unref(o->snap);
    ax_arena_destroy(o->arena);
    ax_arena_destroy(o->list_task.arena);
    x->opening = NULL;
}
