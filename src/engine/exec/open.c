/* Opening one file: find which version stands there, take its metadata from the cache or read it,
 * bind the declared columns, publish it in the snapshot.
 *
 *      STAT --hit in the cache--> bind, publish
 *       | miss                      ^
 *      OPEN --> SNIFF --> STEP -----+
 *
 * Openings of a source and lanes of scans drive it; requests under way park them.  Two may open the
 * same file at once: nobody waits, who comes second drops his copy. */
#include "exec/exec_int.h"

#include <string.h>
#include <time.h>

#define SNIFF_BYTES 16u

/* A file that was changed later than this before it was looked at may change again and keep its
 * times: clocks of file systems tick as slowly as that. */
#define SETTLED_NS INT64_C(2000000000)

enum { OPEN_STAT, OPEN_ASKED, OPEN_OPENED, OPEN_SNIFFED, OPEN_STEP, OPEN_DONE };

static ax_snapfile *file_of(const ax_opener *o) { return &o->snap->file[o->i]; }

/* What the format is told: by whoever found the file, or by the table. */
static const char *options_of(const ax_opener *o)
{
    const char *of_file = file_of(o)->lake->options;

    return of_file != NULL ? of_file : o->src->options;
}

/* May the version be taken for the same bytes later?  Remote ones have no such times. */
static bool settled(const ax_opener *o)
{
    int64_t last = o->id.mtime_ns > o->id.ctime_ns ? o->id.mtime_ns : o->id.ctime_ns;

    return o->id.etag[0] != '\0' || last < o->begin_ns - SETTLED_NS;
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static void publish(const ax_opener *o, ax_fmt_file *file, ax_fmt_bind *bind)
{
    ax_snapshot *s = o->snap;
    ax_snapfile *f = file_of(o);

    pthread_mutex_lock(&s->lock);
    if (ax_snapfile_file(f) == NULL)
    {
        s->sum.files++;
        s->sum.splits += file->nsplits;
        s->sum.rows = s->sum.rows < 0 || file->nrows < 0 ? -1 : s->sum.rows + file->nrows;
        s->sum.bytes += (int64_t) f->size;
        s->sum.bytes_now += (int64_t) (o->format->directory ? f->size : o->id.size);
        f->bind = bind;
        f->id = o->id;
        f->settled = settled(o);
        atomic_store_explicit(&f->file, file, memory_order_release);
        file = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    ax_fmt_file_unref(file);
}

ax_opened ax_snapshot_opened(ax_snapshot *s)
{
    ax_opened sum;

    pthread_mutex_lock(&s->lock);
    sum = s->sum;
    pthread_mutex_unlock(&s->lock);
    return sum;
}

/* An arena for bindings that lives as long as the snapshot. */
static ax_status binds_arena(ax_task *t, ax_opener *o)
{
    ax_bind_arena *node;

    if (o->binds != NULL)
        return AX_OK;
    AX_NEW(t, o->binds, ax_arena_create(o->env->budget, 0));
    node = (ax_bind_arena *) ax_arena_alloc(o->binds, sizeof *node);
    if (node == NULL)
    {
        ax_arena_destroy(o->binds);
        o->binds = NULL;
        return ax_fail_nomem(t, sizeof *node);
    }
    node->arena = o->binds;
    pthread_mutex_lock(&o->snap->lock);
    node->next = o->snap->binds;
    o->snap->binds = node;
    pthread_mutex_unlock(&o->snap->lock);
    return AX_OK;
}

/* Takes the reference to file. */
static ax_status bind_file(ax_task *t, ax_opener *o, ax_fmt_file *file)
{
    ax_snapfile *f = file_of(o);
    ax_bind_opts opts = o->src->bind;
    ax_fmt_bind *bind = NULL;
    ax_status st = AX_OK;

    opts.fixed = f->fixed;
    opts.nfixed = f->nfixed;
    if (o->src->ncols + o->src->nhidden > 0)
    {
        st = binds_arena(t, o);
        if (st == AX_OK)
            st = o->format->bind(t, o->binds, file, o->src->col,
                                 o->src->ncols + o->src->nhidden, &opts, &bind);
    }
    if (st != AX_OK)
    {
        ax_fmt_file_unref(file);
        return st;
    }
    publish(o, file, bind);
    o->state = OPEN_DONE;
    return AX_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void fetch_own(ax_opener *o, uint32_t n)
{
    o->need = (ax_io_need){o->req, n};
    o->fetching = true;
    o->of_op = false;
}

static void ask(ax_opener *o)
{
    const ax_lake_file *f = file_of(o)->lake;

    o->format = o->src->format != NULL ? o->src->format
                                       : ax_format_guess(f->path, NULL, 0, NULL, 0);
    o->known = (ax_io_known){f->size, f->mtime_ns, f->etag};
    o->req[0] = (ax_io_req){.kind = AX_IO_STAT,
                            .uri = f->stat != NULL ? f->stat : f->path,
                            .id = &o->id,
                            .known = f->listed ? &o->known : NULL};
    fetch_own(o, 1);
    o->state = OPEN_ASKED;
}

/* It is known which version stands there: take it from the cache, or open it. */
static ax_status asked(ax_task *t, ax_opener *o)
{
    const char *path = file_of(o)->path;

    AX_CHECK(t, o->req[0].found, AX_ENOFILE, "could not open file: no such file or directory");
    if (o->format != NULL)
    {
        ax_fmt_file *cached = ax_cache_get(o->env->cache, path, o->format, options_of(o), &o->id);

        if (cached != NULL)
            return bind_file(t, o, cached);
    }
    if (o->format != NULL && o->format->directory)
    {
        o->state = OPEN_STEP;
        return AX_OK;
    }
    o->known = (ax_io_known){o->id.size, o->id.mtime_ns, o->id.etag};
    o->req[0] = (ax_io_req){.kind = AX_IO_OPEN,
                            .uri = path,
                            .known = o->id.etag[0] != '\0' ? &o->known : NULL,
                            .len = o->format != NULL ? o->format->tail_bytes : SNIFF_BYTES};
    fetch_own(o, 1);
    o->state = OPEN_OPENED;
    return AX_OK;
}

/* The file is open: read its ends when the name did not tell the format. */
static ax_status opened(ax_task *t, ax_opener *o)
{
    uint64_t size, n;

    o->io = o->req[0].file;
    o->req[0].file = NULL;
    o->id = *ax_io_file_id(o->io);
    o->state = OPEN_STEP;
    if (o->format != NULL)
        return AX_OK;
    size = ax_io_file_size(o->io);
    n = size < SNIFF_BYTES ? size : SNIFF_BYTES;
    AX_CHECK(t, n > 0, AX_EUNSUPPORTED, "the format of an empty file cannot be guessed");
    o->req[0] = (ax_io_req){.kind = AX_IO_READ, .file = o->io, .len = n};
    o->req[1] = (ax_io_req){.kind = AX_IO_READ, .file = o->io, .off = size - n, .len = n};
    fetch_own(o, 2);
    o->state = OPEN_SNIFFED;
    return AX_OK;
}

static ax_status sniffed(ax_task *t, ax_opener *o)
{
    ax_buf *head = o->req[0].buf, *tail = o->req[1].buf;

    o->format = ax_format_guess(file_of(o)->path, head->data, head->len, tail->data, tail->len);
    ax_buf_unref(head);
    ax_buf_unref(tail);
    o->req[0].buf = o->req[1].buf = NULL;
    AX_CHECK(t, o->format != NULL, AX_EUNSUPPORTED, "the file's format is not known");
    o->state = OPEN_STEP;
    return AX_OK;
}

static ax_status step(ax_task *t, ax_opener *o)
{
    const char *path = file_of(o)->path;

    if (o->op == NULL)
    {
        ax_fmt_input in = {o->io, path, ax_cache_budget(o->env->cache), options_of(o)};

        AX_TRY(o->format->open_begin(t, o->scratch, &in, &o->op));
    }
    memset(&o->ev, 0, sizeof o->ev);
    AX_TRY(o->format->step(t, o->op, &o->ev));
    if (o->ev.step == AX_STEP_NEED)
    {
        AX_CHECK(t, o->ev.need.n > 0, AX_EPLAN, "an opening waits for nothing");
        o->need = o->ev.need;
        o->fetching = true;
        o->of_op = true;
        return AX_OK;
    }
    AX_CHECK(t, o->ev.file != NULL, AX_EPLAN, "an opening gave no file");
    o->format->end(o->op);
    o->op = NULL;
    ax_io_file_drop_tail(o->io);
    ax_io_file_unref(o->io);
    o->io = NULL;
    if (settled(o))
        ax_cache_put(o->env->cache, path, o->format, options_of(o), &o->id, o->ev.file);
    return bind_file(t, o, o->ev.file);
}

static ax_status advance(ax_task *t, ax_opener *o)
{
    switch (o->state)
    {
    case OPEN_STAT:
        ask(o);
        return AX_OK;
    case OPEN_ASKED:
        return asked(t, o);
    case OPEN_OPENED:
        return opened(t, o);
    case OPEN_SNIFFED:
        return sniffed(t, o);
    default:
        return step(t, o);
    }
}

/* ---- from and to who drives it --------------------------------------------------------------- */

void ax_opener_begin(ax_opener *o, uint32_t i)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    o->begin_ns = (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
    o->i = i;
    o->state = OPEN_STAT;
    ax_arena_reset(o->scratch);
}

static ax_status run(ax_task *t, ax_opener *o, ax_job *job, ax_go *go)
{
    *go = AX_GO_END;
    if (ax_snapfile_file(file_of(o)) != NULL && o->state == OPEN_STAT)
        return AX_OK;
    while (o->state != OPEN_DONE)
    {
        if (o->fetching)
        {
            ax_io_need *need = o->of_op ? &o->ev.need : &o->need;
            ax_io_ready ready;

            AX_TRY(ax_io_fetch(t, o->env->io, need, job, &ready));
            *go = AX_GO_PARK;
            if (ready == AX_IO_PENDING)
                return AX_OK;
            *go = AX_GO_END;
            o->fetching = false;
        }
        if (ax_task_stopped(t))
            return AX_ESTOPPED;
        AX_TRY(advance(t, o));
    }
    return AX_OK;
}

ax_status ax_opener_run(ax_task *t, ax_opener *o, ax_job *job, ax_go *go)
{
    ax_status st = run(t, o, job, go);

    if (st != AX_OK && st != AX_ESTOPPED)
        ax_note_file(t, file_of(o)->path);
    return st;
}

void ax_opener_end(ax_opener *o)
{
    if (o->fetching)
        ax_io_forget(o->env->io, o->of_op ? &o->ev.need : &o->need);
    o->fetching = false;
    if (o->op != NULL)
        o->format->end(o->op);
    o->op = NULL;
    for (int i = 0; i < 2; i++)
    {
        ax_buf_unref(o->req[i].buf);
        o->req[i].buf = NULL;
        if (o->req[i].kind == AX_IO_OPEN)
            ax_io_file_unref(o->req[i].file);
        o->req[i].file = NULL;
    }
    ax_io_file_unref(o->io);
    o->io = NULL;
}
