/* Opening a source: one job finds the files, then lanes open them in parallel.
 *
 *      lake (one job) --> lanes: CLAIM --> STAT --hit in the cache--> BIND --> CLAIM ...
 *                                           | miss                     ^
 *                                          OPEN --> SNIFF --> STEP ----+
 *
 * A hit costs one stat, which a listing may have answered before.  All are step machines on the
 * pool: requests under way park the job.  The result is a snapshot that the host's thread puts into
 * the source at the end. */
#include "exec/exec_int.h"

#include <string.h>

#define SNIFF_BYTES 16u

typedef enum open_state { OPEN_CLAIM, OPEN_STAT, OPEN_OPEN, OPEN_SNIFF, OPEN_STEP } open_state;

typedef struct open_lane
{
    ax_job job;
    struct ax_opening *o;
    ax_task task;
    ax_arena *morsel;
    ax_arena *binds;          /* goes to the snapshot */
    uint8_t state;            /* open_state */
    uint32_t i;               /* file under way */
    const ax_format *format;
    ax_io_req req[2];
    ax_io_need need;          /* what is fetched now */
    bool fetching;
    bool of_op;               /* the need belongs to the operation */
    ax_io_file *io;           /* a reference while opening */
    ax_fmt_op *op;
    ax_fmt_event ev;
    ax_io_id id;
    ax_io_known known;        /* for req[0] */
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
    ax_arena *arena;          /* lanes */
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
        ax_fmt_file_unref(s->file[i].file);
    for (uint32_t i = 0; i < s->nbind_arenas; i++)
        ax_arena_destroy(s->bind_arena[i]);
    ax_arena_destroy(s->arena);
    ax_obj_free(s);
}

/* ---- one file -------------------------------------------------------------------------------- */

static const char *path_of(const open_lane *l) { return l->o->snap->file[l->i].path; }

static ax_status bind_file(open_lane *l, ax_fmt_file *file)
{
    ax_source *src = l->o->src;
    ax_snapfile *f = &l->o->snap->file[l->i];

    f->file = file; /* the snapshot owns the reference from now on */
    if (src->ncols > 0)
        AX_TRY(l->format->bind(&l->task, l->binds, file, src->col, src->ncols, &src->bind,
                               &f->bind));
    l->state = OPEN_CLAIM;
    return AX_OK;
}

static void fetch_own(open_lane *l, uint32_t n)
{
    l->need = (ax_io_need){l->req, n};
    l->fetching = true;
    l->of_op = false;
}

static ax_status claim(open_lane *l, bool *end)
{
    ax_source *src = l->o->src;
    const ax_lake_file *f;

    l->i = atomic_fetch_add_explicit(&l->o->cursor, 1, memory_order_relaxed);
    *end = l->i >= l->o->snap->nfiles;
    if (*end)
        return AX_OK;
    ax_arena_reset(l->morsel);
    ax_arena_reset(l->task.arena);
    l->format = src->format != NULL ? src->format
                                    : ax_format_guess(path_of(l), NULL, 0, NULL, 0);
    f = l->o->snap->file[l->i].lake;
    l->known = (ax_io_known){f->size, f->mtime_ns, f->etag};
    l->req[0] = (ax_io_req){.kind = AX_IO_STAT,
                            .uri = path_of(l),
                            .id = &l->id,
                            .known = f->listed ? &l->known : NULL};
    fetch_own(l, 1);
    l->state = OPEN_STAT;
    return AX_OK;
}

/* It is known which version stands there: take it from the cache, or open it. */
static ax_status asked(open_lane *l)
{
    ax_source *src = l->o->src;
    ax_env *env = l->o->x->env;
    ax_fmt_file *cached;

    AX_CHECK(&l->task, l->req[0].found, AX_ENOFILE,
             "could not open file: no such file or directory");
    if (l->format != NULL)
    {
        cached = ax_cache_get(env->cache, path_of(l), l->format, src->options, &l->id);
        if (cached != NULL)
            return bind_file(l, cached);
    }
    if (l->format != NULL && l->format->directory)
    {
        l->state = OPEN_STEP;
        return AX_OK;
    }
    l->known = (ax_io_known){l->id.size, l->id.mtime_ns, l->id.etag};
    l->req[0] = (ax_io_req){.kind = AX_IO_OPEN,
                            .uri = path_of(l),
                            .known = l->id.etag[0] != '\0' ? &l->known : NULL,
                            .len = l->format != NULL ? l->format->tail_bytes : SNIFF_BYTES};
    fetch_own(l, 1);
    l->state = OPEN_OPEN;
    return AX_OK;
}

/* The file is open: read its ends when the name did not tell the format. */
static ax_status opened(open_lane *l)
{
    uint64_t size, n;

    l->io = l->req[0].file;
    l->req[0].file = NULL;
    l->id = *ax_io_file_id(l->io);
    l->state = OPEN_STEP;
    if (l->format != NULL)
        return AX_OK;
    size = ax_io_file_size(l->io);
    n = size < SNIFF_BYTES ? size : SNIFF_BYTES;
    AX_CHECK(&l->task, n > 0, AX_EUNSUPPORTED, "the format of an empty file cannot be guessed");
    l->req[0] = (ax_io_req){.kind = AX_IO_READ, .file = l->io, .len = n};
    l->req[1] = (ax_io_req){.kind = AX_IO_READ, .file = l->io, .off = size - n, .len = n};
    fetch_own(l, 2);
    l->state = OPEN_SNIFF;
    return AX_OK;
}

static ax_status sniffed(open_lane *l)
{
    ax_buf *head = l->req[0].buf, *tail = l->req[1].buf;

    l->format = ax_format_guess(path_of(l), head->data, head->len, tail->data, tail->len);
    ax_buf_unref(head);
    ax_buf_unref(tail);
    l->req[0].buf = l->req[1].buf = NULL;
    AX_CHECK(&l->task, l->format != NULL, AX_EUNSUPPORTED, "the file's format is not known");
    l->state = OPEN_STEP;
    return AX_OK;
}

static ax_status step(open_lane *l)
{
    ax_env *env = l->o->x->env;

    if (l->op == NULL)
    {
        ax_fmt_input in = {l->io, path_of(l), ax_cache_budget(env->cache), l->o->src->options};

        AX_TRY(l->format->open_begin(&l->task, l->morsel, &in, &l->op));
    }
    memset(&l->ev, 0, sizeof l->ev);
    AX_TRY(l->format->step(&l->task, l->op, &l->ev));
    if (l->ev.step == AX_STEP_NEED)
    {
        AX_CHECK(&l->task, l->ev.need.n > 0, AX_EPLAN, "an opening waits for nothing");
        l->need = l->ev.need;
        l->fetching = true;
        l->of_op = true;
        return AX_OK;
    }
    AX_CHECK(&l->task, l->ev.file != NULL, AX_EPLAN, "an opening gave no file");
    l->format->end(l->op);
    l->op = NULL;
    ax_io_file_drop_tail(l->io);
    ax_io_file_unref(l->io);
    l->io = NULL;
    ax_cache_put(env->cache, path_of(l), l->format, l->o->src->options, &l->id, l->ev.file);
    return bind_file(l, l->ev.file);
}

static ax_status advance(open_lane *l, bool *end)
{
    switch ((open_state) l->state)
    {
    case OPEN_CLAIM:
        return claim(l, end);
    case OPEN_STAT:
        return asked(l);
    case OPEN_OPEN:
        return opened(l);
    case OPEN_SNIFF:
        return sniffed(l);
    case OPEN_STEP:
        return step(l);
    }
    return AX_OK;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void add_up(ax_snapshot *s)
{
    for (uint32_t i = 0; i < s->nfiles; i++)
    {
        ax_snapfile *f = &s->file[i];

        f->split0 = s->splits;
        s->splits += f->file->nsplits;
        s->rows = s->rows < 0 || f->file->nrows < 0 ? -1 : s->rows + f->file->nrows;
        s->bytes += (int64_t) f->size;
    }
}

static ax_run end_lane(open_lane *l)
{
    if (atomic_fetch_sub_explicit(&l->o->left, 1, memory_order_acq_rel) == 1)
    {
        add_up(l->o->snap);
        ax_exec_finish(l->o->x);
    }
    return AX_RUN_DONE;
}

static ax_run fail_lane(open_lane *l)
{
    ax_note_file(&l->task, l->i < l->o->snap->nfiles ? path_of(l) : NULL);
    ax_exec_fail(l->o->x, &l->task.err);
    return AX_RUN_DONE;
}

static ax_run open_run(ax_job *job)
{
    open_lane *l = (open_lane *) job;
    uint64_t end_ns = ax_exec_now_ns() + AX_SLICE_NS;
    bool end = false;

    while (!ax_task_stopped(&l->task))
    {
        if (l->fetching)
        {
            ax_io_ready ready;
            ax_io_need *need = l->of_op ? &l->ev.need : &l->need;

            if (ax_io_fetch(&l->task, l->o->x->env->io, need, &l->job, &ready) != AX_OK)
                return fail_lane(l);
            if (ready == AX_IO_PENDING)
                return AX_RUN_BLOCKED;
            l->fetching = false;
        }
        if (advance(l, &end) != AX_OK)
            return fail_lane(l);
        if (end)
            return end_lane(l);
        if (ax_exec_now_ns() > end_ns)
            return AX_RUN_AGAIN;
    }
    return AX_RUN_DONE;
}

static void free_lane(open_lane *l)
{
    if (l->fetching)
        ax_io_forget(l->o->x->env->io, l->of_op ? &l->ev.need : &l->need);
    if (l->op != NULL)
        l->format->end(l->op);
    for (int i = 0; i < 2; i++)
    {
        ax_buf_unref(l->req[i].buf);
        if (l->req[i].kind == AX_IO_OPEN)
            ax_io_file_unref(l->req[i].file);
    }
    ax_io_file_unref(l->io);
    ax_arena_destroy(l->morsel);
    ax_arena_destroy(l->task.arena);
}

static ax_status make_lane(struct ax_opening *o, open_lane *l)
{
    l->o = o;
    l->i = UINT32_MAX;
    o->nlanes++;
    AX_TRY(ax_exec_task(o->x, &l->task));
    AX_NEW(&l->task, l->morsel, ax_arena_create(&o->x->budget, 0));
    if (o->src->ncols > 0)
    {
        AX_NEW(&l->task, l->binds, ax_arena_create(o->x->env->budget, 0));
        o->snap->bind_arena[o->snap->nbind_arenas++] = l->binds;
    }
    ax_job_init(&l->job, open_run, o->x->group);
    return AX_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

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
    }
    s->nfiles = n;
    return AX_OK;
}

static ax_status start_lanes(struct ax_opening *o, ax_task *t)
{
    uint32_t n;

    AX_TRY(take_files(o, t));
    n = o->snap->nfiles < o->x->max_lanes ? o->snap->nfiles : o->x->max_lanes;
    if (n == 0 || o->x->o.list_only)
    {
        ax_exec_finish(o->x);
        return AX_OK;
    }
    AX_NEW(t, o->lane, (open_lane *) ax_arena_alloc0(o->arena, n * sizeof *o->lane));
    AX_NEW(t, o->snap->bind_arena,
           (ax_arena **) ax_arena_alloc0(o->snap->arena, n * sizeof(ax_arena *)));
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

/* Step the lake until it waits for something (*go: PARK), or is done and lanes run (END). */
static ax_status list_files(struct ax_opening *o, ax_task *t, ax_go *go)
{
    ax_io_ready ready;

    if (o->lake == NULL)
        AX_TRY(ax_lake_begin(t, o->snap->arena, &o->lake_spec, &o->lake));
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
            return start_lanes(o, t);
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
    };
    x->opening = o;
    AX_TRY(ax_exec_task(x, &o->list_task));
    AX_NEW(t, o->arena, ax_arena_create(&x->budget, 0));
    AX_NEW(t, o->snap, (ax_snapshot *) ax_obj_alloc(sizeof *o->snap));
    atomic_init(&o->snap->refs, 1);
    AX_NEW(t, o->snap->arena, ax_arena_create(x->env->budget, 0));
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
