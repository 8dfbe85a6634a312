/* What is under way: flights, and the tickets that lead requests to them.
 *
 *   flight:   started --(completion: done, wakes)--> delivered by ax_io_look_up --> freed
 *                |
 *                +--(ax_io_forget, cancel() refused)--> orphan --(completion)--> freed
 *
 * An orphan holds nothing of its query, which may be gone before the backend ends: its buffer is
 * charged to the module, what was opened is closed, and listings are the module's from the
 * beginning.  Counters (ax_io_stats) are touched by the query's own calls only, likewise. */
#include "io/io_int.h"

#include <string.h>
#include <time.h>

/* ---- tickets --------------------------------------------------------------------------------- */

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

/* The lock is held. */
static void ticket_put(ax_io *io, ax_io_ticket *k)
{
    ax_io_ticket **bucket = bucket_of(io, k->req);

    k->next = *bucket;
    *bucket = k;
}

/* A chain of tickets that nobody knows yet; false: out of memory, nothing was made. */
static bool tickets_make(ax_io_req *const *r, uint32_t n, ax_io_flight *f, ax_job *waker,
                         ax_io_ticket **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < n; i++)
    {
        ax_io_ticket *k = (ax_io_ticket *) ax_obj_alloc(sizeof *k);

        if (k == NULL)
        {
            for (k = *out; k != NULL; k = *out)
            {
                *out = k->next;
                ax_obj_free(k);
            }
            return false;
        }
        *k = (ax_io_ticket){*out, r[i], f, waker};
        *out = k;
    }
    return true;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void flight_free(ax_io_flight *f)
{
    ax_buf_unref(f->buf);
    ax_io_file_unref(f->file);
    ax_arena_destroy(f->arena);
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

/* The struct, with copies of what a request names: its memory may go before the backend ends. */
static ax_status flight_new(ax_task *t, ax_io *io, const ax_io_req *r, ax_io_flight **out)
{
    const char *etag = r->kind != AX_IO_READ && r->known != NULL ? r->known->etag : NULL;
    size_t nuri = r->kind != AX_IO_READ ? strlen(r->uri) + 1 : 0;
    size_t netag = etag != NULL ? strlen(etag) + 1 : 0;
    ax_io_flight *f;
    char *copy;

    AX_NEW(t, f, (ax_io_flight *) ax_obj_alloc(sizeof *f + nuri + netag));
    *out = f;
    f->kind = r->kind;
    f->recursive = r->recursive;
    if (r->kind == AX_IO_READ)
    {
        f->backend = r->file->backend;
        f->uri = r->file->name;
        return AX_OK;
    }
    copy = (char *) (f + 1);
    f->uri = (const char *) memcpy(copy, r->uri, nuri);
    f->has_known = r->known != NULL;
    if (f->has_known)
        f->known = *r->known;
    if (etag != NULL)
        f->known.etag = (const char *) memcpy(copy + nuri, etag, netag);
    AX_TRY(ax_io_backend_find(t, io, r->uri, &f->backend));
    if (f->kind == AX_IO_STAT && f->backend->start_stat == NULL)
        f->kind = AX_IO_OPEN; /* an opening reads no data, and tells the same */
    return AX_OK;
}

/* Where the answer goes, made now: a completion that needs no memory cannot fail. */
static ax_status answer_new(ax_task *t, ax_io *io, const ax_io_req *r, uint64_t end,
                            ax_io_flight *f)
{
    switch ((ax_io_kind) f->kind)
    {
        case AX_IO_READ:
            f->off = r->off;
            f->len = end - r->off;
            AX_NEW(t, f->buf, ax_buf_alloc(t->budget, (size_t) f->len));
            f->file = ax_io_file_ref(r->file);
            break;
        case AX_IO_OPEN:
            f->len = r->kind == AX_IO_OPEN ? r->len : 0;
            AX_NEW(t, f->file, ax_io_file_new(io, r->uri, AX_IO_REMOTE));
            f->file->backend = f->backend;
            break;
        case AX_IO_LIST:
            AX_NEW(t, f->arena, ax_arena_create(&io->budget, 0));
            break;
        case AX_IO_STAT:
            break;
    }
    return AX_OK;
}

ax_status ax_io_flight_make(ax_task *t, ax_io *io, ax_io_req *const *r, uint32_t n, uint64_t end,
                            ax_job *waker, ax_io_flight **out)
{
    ax_io_flight *f = NULL;
    ax_io_ticket *tickets;
    ax_status st = flight_new(t, io, r[0], &f);

    if (st == AX_OK)
        st = answer_new(t, io, r[0], end, f);
    if (st == AX_OK && !tickets_make(r, n, f, waker, &tickets))
        st = ax_fail_nomem(t, sizeof *tickets);
    if (st != AX_OK)
    {
        if (f != NULL)
            flight_free(f);
        return st;
    }
    f->refs = n + 2;
    f->ntickets = n;
    f->start_ns = ax_io_now_ns();
    pthread_mutex_lock(&io->lock);
    io->in_flight++;
    for (ax_io_ticket *k = tickets; k != NULL; k = tickets)
    {
        tickets = k->next;
        ticket_put(io, k);
    }
    pthread_mutex_unlock(&io->lock);
    *out = f;
    return AX_OK;
}

/* ---- ends ------------------------------------------------------------------------------------ */

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
    f->at_once = pthread_equal(f->starter, pthread_self());
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
    ax_io_flight *f = (ax_io_flight *) token;

    AX_ASSERT(status != AX_OK || f->kind == AX_IO_READ);
    flight_end(io, f, status, err);
}

void ax_io_complete_open(ax_io *io, void *token, void *handle, const ax_io_id *id,
                         const uint8_t *tail, size_t ntail)
{
    ax_io_flight *f = (ax_io_flight *) token;

    AX_ASSERT(f->kind == AX_IO_OPEN);
    f->file->handle = handle;
    f->file->id = *id;
    if (ntail > 0 && ntail <= id->size)
        f->file->tail = ax_buf_alloc(&io->budget, ntail); /* NULL: it will be read again */
    if (f->file->tail != NULL)
        memcpy(f->file->tail->data, tail, ntail);
    flight_end(io, f, AX_OK, NULL);
}

void ax_io_complete_stat(ax_io *io, void *token, const ax_io_id *id, bool is_dir)
{
    ax_io_flight *f = (ax_io_flight *) token;

    AX_ASSERT(f->kind == AX_IO_STAT);
    f->id = *id;
    f->is_dir = is_dir;
    flight_end(io, f, AX_OK, NULL);
}

static const char *copy_text(ax_arena *a, const char *s)
{
    return ax_arena_strndup(a, s, strlen(s));
}

/* Append copies of entries to the growing array; false: out of memory. */
static bool entries_append(ax_arena *a, ax_io_flight *f, const ax_io_entry *e, uint32_t n)
{
    if (n > f->entry_cap - f->nentries)
    {
        uint32_t cap = f->entry_cap < 32 ? 64 : f->entry_cap * 2;
        ax_io_entry *bigger;

        cap = cap < f->nentries + n ? f->nentries + n : cap;
        bigger = (ax_io_entry *) ax_arena_alloc(a, (size_t) cap * sizeof *bigger);
        if (bigger == NULL)
            return false;
        if (f->nentries > 0)
            memcpy(bigger, f->entry, f->nentries * sizeof *bigger);
        f->entry = bigger;
        f->entry_cap = cap;
    }
    for (uint32_t i = 0; i < n; i++)
    {
        ax_io_entry *to = &f->entry[f->nentries];

        *to = e[i];
        to->path = copy_text(a, e[i].path);
        to->etag = e[i].etag != NULL ? copy_text(a, e[i].etag) : NULL;
        if (to->path == NULL || (e[i].etag != NULL && to->etag == NULL))
            return false;
        f->nentries++;
    }
    return true;
}

bool ax_io_complete_list(ax_io *io, void *token, const ax_io_entry *e, uint32_t n, bool more)
{
    ax_io_flight *f = (ax_io_flight *) token;
    ax_status st = AX_OK;
    bool orphan;

    AX_ASSERT(f->kind == AX_IO_LIST);
    pthread_mutex_lock(&io->lock);
    orphan = f->orphan;
    pthread_mutex_unlock(&io->lock);
    if (orphan)
        st = AX_ESTOPPED;
    else if (n > AX_IO_LISTED_MAX_CNT - f->nentries)
        st = AX_ELIMIT;
    else if (!entries_append(f->arena, f, e, n))
        st = AX_ENOMEM;
    if (st == AX_OK && more)
        return true;
    flight_end(io, f, st, NULL);
    return false;
}

void ax_io_drain(ax_io *io)
{
    pthread_mutex_lock(&io->lock);
    while (io->in_flight > 0)
        pthread_cond_wait(&io->arrived, &io->lock);
    pthread_mutex_unlock(&io->lock);
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool is_at_once(ax_io *io, const ax_io_flight *f)
{
    bool at_once;

    pthread_mutex_lock(&io->lock);
    at_once = f->at_once;
    pthread_mutex_unlock(&io->lock);
    return at_once;
}

void ax_io_flight_start(ax_task *t, ax_io *io, ax_io_flight *f)
{
    const ax_io_backend *b = f->backend;
    const ax_io_known *known = f->has_known ? &f->known : NULL;
    ax_status st = AX_OK;

    f->starter = pthread_self();
    switch ((ax_io_kind) f->kind)
    {
        case AX_IO_READ:
            st = b->start(b->self, f->file->handle, f->off, f->len, f->buf->data, f);
            ax_io_count(t, f->file, f->len, 1, 0);
            break;
        case AX_IO_OPEN:
            st = b->start_open(t, b->self, f->uri, known, f->len, f);
            break;
        case AX_IO_LIST:
            st = b->start_list(t, b->self, f->uri, f->recursive, f);
            break;
        case AX_IO_STAT:
            st = b->start_stat(t, b->self, f->uri, known, f);
            break;
    }
    if (st != AX_OK)
        flight_end(io, f, st, t->err.code != AX_OK ? &t->err : NULL);
    else if (f->kind != AX_IO_READ && !is_at_once(io, f))
        ax_io_count(t, NULL, 0, 1, 0);
    flight_unref(io, f);
}

/* ---- delivery -------------------------------------------------------------------------------- */

static ax_status fail_flight(ax_task *t, const ax_io_flight *f)
{
    static const char *const what[] = {
        [AX_IO_READ] = "could not read file",
        [AX_IO_OPEN] = "could not open file",
        [AX_IO_LIST] = "could not list files",
        [AX_IO_STAT] = "could not stat file",
    };

    if (t->err.code == AX_OK && f->err != NULL && f->err->code != AX_OK)
        t->err = *f->err;
    else if (f->status == AX_ELIMIT && f->kind == AX_IO_LIST)
        (void) ax_fail(t, AX_ELIMIT, "too many files in one listing");
    else
        (void) ax_fail(t, f->status, "%s", what[f->kind]);
    ax_note_file(t, f->uri);
    if (f->kind == AX_IO_READ)
        ax_note_page(t, -1, (int64_t) f->off);
    return t->err.code;
}

/* The buffer itself when nobody else wants it. */
static ax_status deliver_bytes(ax_task *t, ax_io_flight *f, ax_io_req *r)
{
    if (f->ntickets == 1 && r->off == f->off && r->len == f->len)
        r->buf = ax_buf_ref(f->buf);
    else
    {
        AX_NEW(t, r->buf, ax_buf_alloc(t->budget, (size_t) r->len));
        memcpy(r->buf->data, f->buf->data + (r->off - f->off), (size_t) r->len);
    }
    return AX_OK;
}

/* Entries must be the asker's: the flight ends now. */
static ax_status deliver_entries(ax_task *t, ax_io_flight *f, ax_io_req *r)
{
    ax_arena *a = r->arena != NULL ? r->arena : t->arena;

    AX_NEW(t, r->entries,
           (ax_io_entry *) ax_arena_alloc(a, ((size_t) f->nentries + 1) * sizeof *r->entries));
    for (uint32_t i = 0; i < f->nentries; i++)
    {
        ax_io_entry *to = &r->entries[i];

        *to = f->entry[i];
        AX_NEW(t, to->path, copy_text(a, to->path));
        if (to->etag != NULL)
            AX_NEW(t, to->etag, copy_text(a, to->etag));
    }
    r->nentries = f->nentries;
    ax_io_entries_sort(r->entries, r->nentries);
    return AX_OK;
}

/* Hand a finished flight's answer to a request. */
static ax_status flight_deliver(ax_task *t, ax_io_flight *f, ax_io_req *r)
{
    bool may_lack = r->kind == AX_IO_LIST || r->kind == AX_IO_STAT;

    if (f->status != AX_OK && !(f->status == AX_ENOFILE && may_lack))
        return fail_flight(t, f);
    r->found = f->status == AX_OK;
    switch ((ax_io_kind) r->kind)
    {
        case AX_IO_READ:
            AX_TRY(deliver_bytes(t, f, r));
            break;
        case AX_IO_OPEN:
            r->file = ax_io_file_ref(f->file);
            if (f->file->tail != NULL)
                ax_io_count(t, NULL, f->file->tail->len, 0, 0);
            break;
        case AX_IO_LIST:
            r->entries = NULL;
            r->nentries = 0;
            if (r->found)
                AX_TRY(deliver_entries(t, f, r));
            break;
        case AX_IO_STAT:
            r->is_dir = f->is_dir;
            if (r->found)
                *r->id = f->kind == AX_IO_OPEN ? f->file->id : f->id;
            break;
    }
    ax_io_count(t, r->file, 0, 0, (uint64_t) f->wait_ns / f->ntickets);
    r->done = true;
    return AX_OK;
}

ax_status ax_io_look_up(ax_task *t, ax_io *io, ax_io_req *r, ax_job *waker, bool *under_way)
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
        ticket_put(io, k);
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

ax_status ax_io_wait_arrival(ax_task *t, ax_io *io, const ax_io_need *need)
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

/* ---- forgetting ------------------------------------------------------------------------------ */

/* No request wants the flight any more: cancel it, or let it end on its own. */
static void flight_abandon(ax_io *io, ax_io_flight *f)
{
    const ax_io_backend *b = f->backend;

    if (b->cancel != NULL && b->cancel(b->self, f))
        flight_end(io, f, AX_ESTOPPED, NULL);
    else if (f->buf != NULL)
        (void) ax_buf_recharge(f->buf, &io->budget); /* the module's account has no limit */
}

void ax_io_forget(ax_io *io, ax_io_need *need)
{
    for (uint32_t i = 0; i < need->n; i++)
    {
        ax_io_flight *f = NULL;
        ax_io_ticket *k;
        bool abandon = false;

        if (need->req[i].done)
            continue;
        pthread_mutex_lock(&io->lock);
        k = ticket_take(io, &need->req[i]);
        if (k != NULL)
        {
            f = k->flight;
            /* The ticket's reference is kept until below; with it and the backend's, refs is 2
             * when no other ticket is left. */
            abandon = !f->done && f->refs == 2;
            f->orphan |= abandon;
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
