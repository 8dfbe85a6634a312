/* Requests: what can be answered now is answered, the rest is read by backends and delivered by a
 * later call.
 *
 *   requests of one call, sorted by (file, offset), cut into runs of near ranges
 *       local, memory:  one preadv a run, straight into the requests' buffers; gaps into scratch
 *       remote:         one flight a run; a ticket for each request leads to its flight
 *
 *   flight:   started --(ax_io_complete: done, wakes)--> delivered by ax_io_fetch --> freed
 *                |
 *                +--(ax_io_forget, cancel() refused)--> orphan --(ax_io_complete)--> freed
 *
 * An orphan's buffer is charged to the module, since its query may be gone before the backend stops
 * writing.  Counters (ax_io_stats) are touched by the query's own calls only, likewise. */
#include "io/io_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SMALL_CNT 64

/* ---- small answers --------------------------------------------------------------------------- */

static ax_status check_range(ax_task *t, const ax_io_req *r)
{
    uint64_t size = r->file->id.size;

    if (r->len <= size && r->off <= size - r->len)
        return AX_OK;
    (void) ax_fail(t, AX_ECORRUPT,
                   "%llu bytes at offset %llu lie outside of the file, which has %llu",
                   (unsigned long long) r->len, (unsigned long long) r->off,
                   (unsigned long long) size);
    ax_note_file(t, r->file->name);
    ax_note_page(t, -1, r->off <= INT64_MAX ? (int64_t) r->off : -1);
    return t->err.code;
}

static ax_status new_buf(ax_task *t, uint64_t len, ax_buf **out)
{
    *out = ax_buf_alloc(t->budget, (size_t) len);
    return *out != NULL ? AX_OK : ax_fail_nomem(t, (size_t) len);
}

static ax_status serve_memory(ax_task *t, ax_io_req *r)
{
    AX_TRY(new_buf(t, r->len, &r->buf));
    if (r->len > 0)
        memcpy(r->buf->data, r->file->bytes->data + r->off, (size_t) r->len);
    ax_io_count(t, r->file, r->len, 1, 0);
    r->done = true;
    return AX_OK;
}

/* Entries must outlive the task's scratch: the asker may go on in another task. */
static ax_status list_into(ax_task *t, ax_io *io, ax_io_req *r)
{
    ax_arena *scratch = t->arena;
    ax_status st;

    if (r->arena != NULL)
        t->arena = r->arena;
    st = ax_io_list(t, io, r->uri, r->recursive, &r->entries, &r->nentries);
    t->arena = scratch;
    return st;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int by_place(const void *pa, const void *pb)
{
    const ax_io_req *a = *(ax_io_req *const *) pa, *b = *(ax_io_req *const *) pb;

    if (a->file != b->file)
        return (uintptr_t) a->file < (uintptr_t) b->file ? -1 : 1;
    if (a->off != b->off)
        return a->off < b->off ? -1 : 1;
    return a->len < b->len ? -1 : a->len > b->len;
}

/* How many of the sorted requests r[0, n) one read shall serve, and where that read ends. */
static uint32_t run_cnt(ax_io_req *const *r, uint32_t n, uint64_t gap, bool overlaps,
                        uint64_t *out_end)
{
    uint64_t end = r[0]->off + r[0]->len;
    uint32_t k = 1;

    for (; k < n && r[k]->file == r[0]->file; k++)
    {
        uint64_t next_end = r[k]->off + r[k]->len;

        if (r[k]->off > end && r[k]->off - end > gap)
            break;
        if (r[k]->off < end && !overlaps)
            break;
        if (next_end < end)
            next_end = end;
        if (next_end - r[0]->off > AX_IO_MERGED_MAX_BYTES)
            break;
        end = next_end;
    }
    *out_end = end;
    return k;
}

/* ---- local ----------------------------------------------------------------------------------- */

/* Read a run of requests that do not overlap; all or none of them is done. */
static ax_status serve_local(ax_task *t, ax_io_req *const *r, uint32_t n)
{
    ax_io_piece few[2 * SMALL_CNT], *piece = few;
    uint64_t at = r[0]->off;
    uint32_t k = 0, made = 0;
    ax_status st = AX_OK;

    if (n > SMALL_CNT)
        AX_NEW(t, piece,
               (ax_io_piece *) ax_arena_alloc(t->arena, 2 * (size_t) n * sizeof *piece));
    for (; made < n && st == AX_OK; made++)
    {
        ax_io_req *q = r[made];

        st = new_buf(t, q->len, &q->buf);
        if (st != AX_OK)
            break;
        if (q->off > at)
            piece[k++] = (ax_io_piece){NULL, (size_t) (q->off - at)};
        piece[k++] = (ax_io_piece){q->buf->data, (size_t) q->len};
        at = q->off + q->len;
    }
    if (st == AX_OK)
        st = ax_io_local_read(t, r[0]->file, r[0]->off, piece, k);
    for (uint32_t i = 0; i < made; i++)
    {
        r[i]->done = st == AX_OK;
        if (st != AX_OK)
        {
            ax_buf_unref(r[i]->buf);
            r[i]->buf = NULL;
        }
    }
    return st;
}

/* ---- flights --------------------------------------------------------------------------------- */

static ax_io_ticket **bucket_of(ax_io *io, const ax_io_req *r)
{
    return &io->buckets[((uintptr_t) r >> 4) * 0x9e3779b97f4a7c15ull >> 56];
}

_Static_assert(AX_IO_BUCKET_CNT == 256, "bucket_of takes eight bits");

/* Take the ticket of a request out, if it has one; the lock is held. */
static ax_io_ticket *ticket_take(ax_io *io, const ax_io_req *r)
{
    for (ax_io_ticket **link = bucket_of(io, r); *link != NULL; link = &(*link)->next)
        if ((*link)->req == r)
        {
            ax_io_ticket *k = *link;

            *link = k->next;
            return k;
        }
    return NULL;
}

static void flight_free(ax_io_flight *f)
{
    ax_buf_unref(f->buf);
    ax_io_file_unref(f->file);
    ax_obj_free(f->err);
    ax_obj_free(f);
}

/* Drop one reference; not under the lock, since freeing may close a file. */
static void flight_unref(ax_io *io, ax_io_flight *f)
{
    bool last;

    pthread_mutex_lock(&io->lock);
    last = --f->refs == 0;
    pthread_mutex_unlock(&io->lock);
    if (last)
        flight_free(f);
}

/* Mark a flight done and tell its requesters; drops the backend's reference. */
static void flight_end(ax_io *io, ax_io_flight *f, ax_status status, const ax_error *err)
{
    ax_error *copy = NULL;
    bool last;

    if (status != AX_OK && err != NULL)
    {
        copy = (ax_error *) ax_obj_alloc(sizeof *copy);
        if (copy != NULL)
            *copy = *err;
    }
    pthread_mutex_lock(&io->lock);
    AX_ASSERT(!f->done);
    f->done = true;
    f->status = status;
    f->err = copy;
    f->wait_ns = ax_io_now_ns() - f->start_ns;
    /* Few tickets exist at any time; a list per flight would have to be kept in order instead. */
    for (uint32_t i = 0; i < AX_IO_BUCKET_CNT; i++)
        for (ax_io_ticket *k = io->buckets[i]; k != NULL; k = k->next)
            if (k->flight == f && k->waker != NULL)
                ax_job_wake(k->waker);
    pthread_cond_broadcast(&io->arrived);
    last = --f->refs == 0;
    pthread_mutex_unlock(&io->lock);
    if (last)
        flight_free(f);
    /* Counted down last: the module may be destroyed from here on. */
    pthread_mutex_lock(&io->lock);
    io->in_flight--;
    pthread_cond_broadcast(&io->arrived);
    pthread_mutex_unlock(&io->lock);
}

void ax_io_complete(ax_io *io, void *token, ax_status status, const ax_error *err)
{
    flight_end(io, (ax_io_flight *) token, status, err);
}

void ax_io_drain(ax_io *io)
{
    pthread_mutex_lock(&io->lock);
    while (io->in_flight > 0)
        pthread_cond_wait(&io->arrived, &io->lock);
    pthread_mutex_unlock(&io->lock);
}

/* A flight for a run of requests, with a ticket for each; not started.  The caller holds one
 * reference, the backend's is counted already. */
static ax_status flight_make(ax_task *t, ax_io *io, ax_io_req *const *r, uint32_t n, uint64_t end,
                             ax_job *waker, ax_io_flight **out)
{
    ax_io_flight *f;
    ax_io_ticket *tickets = NULL;
    ax_status st;

    AX_NEW(t, f, (ax_io_flight *) ax_obj_alloc(sizeof *f));
    st = new_buf(t, end - r[0]->off, &f->buf);
    for (uint32_t i = 0; i < n && st == AX_OK; i++)
    {
        ax_io_ticket *k = (ax_io_ticket *) ax_obj_alloc(sizeof *k);

        if (k == NULL)
            st = ax_fail_nomem(t, sizeof *k);
        else
        {
            *k = (ax_io_ticket){tickets, r[i], f, waker};
            tickets = k;
        }
    }
    if (st != AX_OK)
    {
        for (ax_io_ticket *k = tickets; k != NULL; k = tickets)
        {
            tickets = k->next;
            ax_obj_free(k);
        }
        ax_buf_unref(f->buf);
        ax_obj_free(f);
        return st;
    }
    f->file = ax_io_file_ref(r[0]->file);
    f->off = r[0]->off;
    f->len = end - r[0]->off;
    f->refs = n + 2;
    f->ntickets = n;
    f->start_ns = ax_io_now_ns();
    pthread_mutex_lock(&io->lock);
    io->in_flight++;
    for (ax_io_ticket *k = tickets; k != NULL; k = tickets)
    {
        ax_io_ticket **bucket = bucket_of(io, k->req);

        tickets = k->next;
        k->next = *bucket;
        *bucket = k;
    }
    pthread_mutex_unlock(&io->lock);
    *out = f;
    return AX_OK;
}

static void flight_start(ax_task *t, ax_io *io, ax_io_flight *f)
{
    const ax_io_backend *b = f->file->backend;
    ax_status st = b->start(b->self, f->file->handle, f->off, f->len, f->buf->data, f);

    ax_io_count(t, f->file, f->len, 1, 0);
    if (st != AX_OK)
        flight_end(io, f, st, NULL);
}

static ax_status fail_flight(ax_task *t, const ax_io_flight *f)
{
    if (t->err.code == AX_OK && f->err != NULL && f->err->code != AX_OK)
        t->err = *f->err;
    else
        (void) ax_fail(t, f->status, "could not read file");
    ax_note_file(t, f->file->name);
    ax_note_page(t, -1, (int64_t) f->off);
    return t->err.code;
}

/* Hand a finished flight's bytes to a request: the buffer itself when nobody else wants it. */
static ax_status flight_deliver(ax_task *t, ax_io_flight *f, ax_io_req *r)
{
    if (f->status != AX_OK)
        return fail_flight(t, f);
    if (f->ntickets == 1 && r->off == f->off && r->len == f->len)
        r->buf = ax_buf_ref(f->buf);
    else
    {
        AX_TRY(new_buf(t, r->len, &r->buf));
        memcpy(r->buf->data, f->buf->data + (r->off - f->off), (size_t) r->len);
    }
    ax_io_count(t, r->file, 0, 0, (uint64_t) f->wait_ns / f->ntickets);
    r->done = true;
    return AX_OK;
}

/* Look up a request: delivered (done set), under way (*under_way), or unknown. */
static ax_status look_up(ax_task *t, ax_io *io, ax_io_req *r, ax_job *waker, bool *under_way)
{
    ax_io_ticket *k;
    ax_io_flight *f = NULL;
    ax_status st;

    *under_way = false;
    pthread_mutex_lock(&io->lock);
    k = ticket_take(io, r);
    if (k != NULL && !k->flight->done)
    {
        k->waker = waker;
        k->next = *bucket_of(io, r);
        *bucket_of(io, r) = k;
        *under_way = true;
    }
    else if (k != NULL)
        f = k->flight;
    pthread_mutex_unlock(&io->lock);
    if (f == NULL)
        return AX_OK;
    ax_obj_free(k);
    st = flight_deliver(t, f, r);
    flight_unref(io, f);
    return st;
}

/* ---- fetch ----------------------------------------------------------------------------------- */

/* Start what is new in the sorted remote requests r[0, n). */
static ax_status start_remote(ax_task *t, ax_io *io, ax_io_req *const *r, uint32_t n, ax_job *waker)
{
    ax_io_flight *made = NULL, **tail = &made;
    ax_status st = AX_OK;

    for (uint32_t i = 0; i < n && st == AX_OK;)
    {
        uint64_t end;
        uint32_t k = run_cnt(r + i, n - i, r[i]->file->backend->merge_gap_bytes, true, &end);

        st = flight_make(t, io, r + i, k, end, waker, tail);
        if (st == AX_OK)
            tail = &(*tail)->next;
        i += k;
    }
    /* Even when one failed the others have tickets, so they are started and then forgotten. */
    while (made != NULL)
    {
        ax_io_flight *f = made;

        made = f->next;
        flight_start(t, io, f);
        flight_unref(io, f);
    }
    return st;
}

/* Answer the sorted requests r[0, n), all of one kind of place. */
static ax_status serve_sorted(ax_task *t, ax_io *io, ax_io_req **r, uint32_t n, ax_job *waker,
                              uint32_t *pending)
{
    uint32_t nremote = 0;

    for (uint32_t i = 0; i < n;)
    {
        uint32_t k = 1;
        uint64_t end;
        bool under_way;

        switch (r[i]->file->where)
        {
            case AX_IO_MEMORY:
                AX_TRY(serve_memory(t, r[i]));
                break;
            case AX_IO_LOCAL:
                k = run_cnt(r + i, n - i, AX_IO_LOCAL_GAP_BYTES, false, &end);
                AX_TRY(serve_local(t, r + i, k));
                break;
            case AX_IO_REMOTE:
                AX_TRY(look_up(t, io, r[i], waker, &under_way));
                if (under_way)
                    ++*pending;
                else if (!r[i]->done)
                    r[nremote++] = r[i]; /* nremote <= i: the order stays */
                break;
        }
        i += k;
    }
    *pending += nremote;
    return start_remote(t, io, r, nremote, waker);
}

static ax_status fetch_once(ax_task *t, ax_io *io, ax_io_need *need, ax_job *waker,
                            uint32_t *pending)
{
    ax_io_req *few[SMALL_CNT], **read = few;
    uint32_t n = 0;

    *pending = 0;
    if (need->n > SMALL_CNT)
        AX_NEW(t, read, (ax_io_req **) ax_arena_alloc(t->arena, need->n * sizeof *read));
    for (uint32_t i = 0; i < need->n; i++)
    {
        ax_io_req *r = &need->req[i];

        if (r->done)
            continue;
        switch ((ax_io_kind) r->kind)
        {
            case AX_IO_OPEN:
                AX_TRY(ax_io_open(t, io, r->uri, &r->file));
                r->done = true;
                break;
            case AX_IO_LIST:
                AX_TRY(list_into(t, io, r));
                r->done = true;
                break;
            case AX_IO_READ:
                AX_TRY(check_range(t, r));
                read[n++] = r;
                break;
            default:
                return ax_fail(t, AX_EPLAN, "unknown kind of request: %d", r->kind);
        }
    }
    if (n > 1)
        qsort(read, n, sizeof *read, by_place);
    return n > 0 ? serve_sorted(t, io, read, n, waker, pending) : AX_OK;
}

/* For callers without a job: sleep until something arrived, with looks at the stop flag. */
static ax_status wait_arrival(ax_task *t, ax_io *io, const ax_io_need *need)
{
    ax_status st = AX_OK;
    bool arrived = false;

    pthread_mutex_lock(&io->lock);
    while (!arrived && st == AX_OK)
    {
        for (uint32_t i = 0; i < need->n && !arrived; i++)
            for (ax_io_ticket *k = *bucket_of(io, &need->req[i]); k != NULL; k = k->next)
                arrived |= k->req == &need->req[i] && k->flight->done;
        if (!arrived && ax_task_stopped(t))
            st = ax_fail(t, AX_ESTOPPED, "query stopped");
        else if (!arrived)
        {
            int64_t end_ns = ax_io_now_ns() + 10000000;
            struct timespec ts = {(time_t) (end_ns / 1000000000), (long) (end_ns % 1000000000)};

            (void) pthread_cond_timedwait(&io->arrived, &io->lock, &ts);
        }
    }
    pthread_mutex_unlock(&io->lock);
    return st;
}

ax_status ax_io_fetch(ax_task *t, ax_io *io, ax_io_need *need, ax_job *waker, ax_io_ready *out)
{
    uint32_t pending = 0;
    ax_status st;

    for (;;)
    {
        st = fetch_once(t, io, need, waker, &pending);
        if (st == AX_OK && pending > 0 && waker == NULL)
        {
            st = wait_arrival(t, io, need);
            if (st == AX_OK)
                continue;
        }
        break;
    }
    /* A caller that failed goes away, and its requests with it. */
    if (st != AX_OK)
        ax_io_forget(io, need);
    *out = pending > 0 ? AX_IO_PENDING : AX_IO_READY;
    return st;
}

/* No request wants the flight any more: cancel it, or let it end on its own. */
static void flight_abandon(ax_io *io, ax_io_flight *f)
{
    const ax_io_backend *b = f->file->backend;

    if (b->cancel != NULL && b->cancel(b->self, f))
    {
        flight_end(io, f, AX_ESTOPPED, NULL);
        return;
    }
    /* The module's account has no limit, so this cannot fail. */
    (void) ax_buf_recharge(f->buf, &io->budget);
}

void ax_io_forget(ax_io *io, ax_io_need *need)
{
    for (uint32_t i = 0; i < need->n; i++)
    {
        ax_io_flight *f = NULL;
        ax_io_ticket *k;
        bool abandon = false;

        if (need->req[i].kind != AX_IO_READ || need->req[i].done)
            continue;
        pthread_mutex_lock(&io->lock);
        k = ticket_take(io, &need->req[i]);
        if (k != NULL)
        {
            f = k->flight;
            /* The ticket's reference is kept until below; with it and the backend's, refs is 2
             * when no other ticket is left. */
            abandon = !f->done && f->refs == 2;
        }
        pthread_mutex_unlock(&io->lock);
        if (k == NULL)
            continue;
        ax_obj_free(k);
        if (abandon)
            flight_abandon(io, f);
        flight_unref(io, f);
    }
}

void ax_io_prefetch(ax_io *io, ax_io_file *file, const uint64_t *off, const uint64_t *len,
                    uint32_t n)
{
    (void) io;
    if (file->where != AX_IO_LOCAL)
        return;
    for (uint32_t i = 0; i < n;)
    {
        uint64_t begin = off[i], end = off[i] + len[i];

        for (i++; i < n && off[i] >= end && off[i] - end <= AX_IO_LOCAL_GAP_BYTES; i++)
            end = off[i] + len[i];
        if (begin < end && end <= file->id.size)
            ax_io_local_advise(file, begin, end - begin);
    }
}

ax_status ax_io_read(ax_task *t, ax_io *io, ax_io_file *f, uint64_t off, uint64_t len, ax_buf **out)
{
    ax_io_req req = {.kind = AX_IO_READ, .file = f, .off = off, .len = len};
    ax_io_need need = {&req, 1};
    ax_io_ready ready;

    *out = NULL;
    AX_TRY(ax_io_fetch(t, io, &need, NULL, &ready));
    *out = req.buf;
    return AX_OK;
}
