/* Requests: what can be answered now is answered, the rest is asked of backends and delivered by a
 * later call (flight.c).
 *
 *   OPEN, LIST, STAT     local, and backends that answer at once: now
 *                        others: one flight a request
 *   READ, sorted by (file, offset), cut into runs of near ranges
 *       local, memory:   one preadv a run, straight into the requests' buffers; gaps into scratch
 *       remote:          one flight a run, but what came along with the open is there already */
#include "io/io_int.h"

#include <stdlib.h>
#include <string.h>

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

/* Answer a read from the last bytes that came with the open, if it lies in them. */
static ax_status serve_tail(ax_task *t, ax_io *io, ax_io_req *r)
{
    uint64_t size = r->file->id.size;
    ax_buf *tail = NULL;
    ax_status st = AX_OK;

    pthread_mutex_lock(&io->lock);
    if (r->file->tail != NULL && r->off >= size - r->file->tail->len)
        tail = ax_buf_ref(r->file->tail);
    pthread_mutex_unlock(&io->lock);
    if (tail == NULL)
        return AX_OK;
    if (r->len == tail->len)
        r->buf = ax_buf_ref(tail);
    else
    {
        st = new_buf(t, r->len, &r->buf);
        if (st == AX_OK && r->len > 0)
            memcpy(r->buf->data, tail->data + (r->off - (size - tail->len)), (size_t) r->len);
    }
    ax_buf_unref(tail);
    r->done = st == AX_OK;
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

        st = ax_io_flight_make(t, io, r + i, k, end, waker, tail);
        if (st == AX_OK)
            tail = &(*tail)->next;
        i += k;
    }
    /* Even when one failed the others have tickets, so they are started and then forgotten. */
    while (made != NULL)
    {
        ax_io_flight *f = made;

        made = f->next;
        ax_io_flight_start(t, io, f);
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
                under_way = false;
                AX_TRY(serve_tail(t, io, r[i]));
                if (!r[i]->done)
                    AX_TRY(ax_io_look_up(t, io, r[i], waker, &under_way));
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

/* Answer OPEN, LIST or STAT, or start it. */
static ax_status serve_named(ax_task *t, ax_io *io, ax_io_req *r, ax_job *waker, uint32_t *pending)
{
    ax_io_flight *f;
    bool late = false, under_way;

    AX_TRY(ax_io_look_up(t, io, r, waker, &under_way));
    if (!r->done && !under_way)
    {
        switch ((ax_io_kind) r->kind)
        {
            case AX_IO_OPEN:
                AX_TRY(ax_io_open_now(t, io, r->uri, &r->file, &late));
                break;
            case AX_IO_LIST:
                AX_TRY(ax_io_list_now(t, io, r, &late));
                break;
            default:
                AX_TRY(ax_io_stat_now(t, io, r, &late));
                break;
        }
        r->done = !late;
    }
    if (late)
    {
        AX_TRY(ax_io_flight_make(t, io, &r, 1, 0, waker, &f));
        ax_io_flight_start(t, io, f);
        /* What is known needs no waiting. */
        AX_TRY(ax_io_look_up(t, io, r, waker, &under_way));
    }
    *pending += under_way;
    return AX_OK;
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
            case AX_IO_LIST:
            case AX_IO_STAT:
                AX_TRY(serve_named(t, io, r, waker, pending));
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

ax_status ax_io_fetch(ax_task *t, ax_io *io, ax_io_need *need, ax_job *waker, ax_io_ready *out)
{
    uint32_t pending = 0;
    ax_status st;

    for (;;)
    {
        st = fetch_once(t, io, need, waker, &pending);
        if (st == AX_OK && pending > 0 && waker == NULL)
        {
            st = ax_io_wait_arrival(t, io, need);
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

/* ---- blocking forms -------------------------------------------------------------------------- */

static ax_status fetch_one(ax_task *t, ax_io *io, ax_io_req *req)
{
    ax_io_need need = {req, 1};
    ax_io_ready ready;

    return ax_io_fetch(t, io, &need, NULL, &ready);
}

ax_status ax_io_read(ax_task *t, ax_io *io, ax_io_file *f, uint64_t off, uint64_t len, ax_buf **out)
{
    ax_io_req req = {.kind = AX_IO_READ, .file = f, .off = off, .len = len};

    *out = NULL;
    AX_TRY(fetch_one(t, io, &req));
    *out = req.buf;
    return AX_OK;
}

ax_status ax_io_open(ax_task *t, ax_io *io, const char *uri, ax_io_file **out)
{
    ax_io_req req = {.kind = AX_IO_OPEN, .uri = uri};

    *out = NULL;
    AX_TRY(fetch_one(t, io, &req));
    *out = req.file;
    return AX_OK;
}

static ax_status fail_nothing(ax_task *t, const char *uri)
{
    ax_status st = ax_fail(t, AX_ENOFILE, "nothing found");

    ax_note_file(t, uri);
    return st;
}

ax_status ax_io_list(ax_task *t, ax_io *io, const char *uri, bool recursive, ax_io_entry **out,
                     uint32_t *n)
{
    ax_io_req req = {.kind = AX_IO_LIST, .uri = uri, .recursive = recursive};

    *out = NULL;
    *n = 0;
    AX_TRY(fetch_one(t, io, &req));
    if (!req.found)
        return fail_nothing(t, uri);
    *out = req.entries;
    *n = req.nentries;
    return AX_OK;
}

ax_status ax_io_stat(ax_task *t, ax_io *io, const char *uri, ax_io_id *out, bool *is_dir)
{
    ax_io_req req = {.kind = AX_IO_STAT, .uri = uri, .id = out};

    memset(out, 0, sizeof *out);
    *is_dir = false;
    AX_TRY(fetch_one(t, io, &req));
    if (!req.found)
        return fail_nothing(t, uri);
    *is_dir = req.is_dir;
    return AX_OK;
}
