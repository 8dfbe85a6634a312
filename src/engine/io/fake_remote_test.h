/* A remote store for tests: answers late, out of order, and with errors when told to.
 *
 * Blobs are registered by URI ("fake://name"); slashes in names make directories.  Opening, listing
 * and asking are queued like reads.  One thread delivers: it takes a random request that is due, so
 * completions overtake each other and arrive on a foreign thread, as with a real store.  Listings
 * come in pages, in an order of no use.
 * Everything is static: a test includes this file and nothing of it gets into the library. */
#ifndef AX_FAKE_REMOTE_TEST_H
#define AX_FAKE_REMOTE_TEST_H

#include "io/io.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define AX_FAKE_BLOBS_MAX 16
#define AX_FAKE_QUEUE_MAX 1024

typedef struct ax_fake_blob
{
    const char *uri;
    const uint8_t *bytes; /* borrowed */
    size_t n;
} ax_fake_blob;

typedef struct ax_fake_ask
{
    uint8_t kind; /* ax_io_kind */
    bool fails, recursive;
    const ax_fake_blob *blob; /* READ */
    uint64_t off, len;        /* READ; OPEN: len bytes of the tail */
    uint8_t *dst;
    const char *uri;          /* borrowed from the token */
    void *token;
    int64_t due_ns;
} ax_fake_ask;

typedef struct ax_fake
{
    /* set by the test before use */
    uint32_t delay_us;      /* each answer comes after 0 .. delay_us */
    uint32_t fail_nth;      /* this request (from 1) fails; 0: none */
    uint32_t refuse_nth;    /* its start itself fails; 0: none */
    uint32_t page_cnt;      /* entries of a page of a listing; 0: 3 */
    bool no_cancel;         /* cancel() always refuses */
    bool hold;              /* nothing is answered while set; under lock once running */
    bool no_stat;           /* no start_stat: an opening answers for it */

    ax_fake_blob blob[AX_FAKE_BLOBS_MAX];
    uint32_t nblobs;
    _Atomic int opened, cancels;              /* handles open now; calls */
    _Atomic int starts, opens, lists, stats;  /* requests that went out */
    _Atomic int pages;                        /* pages of listings that were wanted */

    ax_io *io;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    ax_fake_ask queue[AX_FAKE_QUEUE_MAX]; /* guarded by lock, like the rest */
    uint32_t nqueue;
    uint32_t seed;
    uint32_t nasked;
    bool ending;
} ax_fake;

static int64_t ax_fake_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static uint32_t ax_fake_random(ax_fake *f)
{
    f->seed = f->seed * 1664525u + 1013904223u;
    return f->seed >> 8;
}

static const ax_fake_blob *ax_fake_find(const ax_fake *f, const char *uri)
{
    for (uint32_t i = 0; i < f->nblobs; i++)
        if (strcmp(f->blob[i].uri, uri) == 0)
            return &f->blob[i];
    return NULL;
}

static void ax_fake_id(const ax_fake *f, const ax_fake_blob *b, ax_io_id *id)
{
    memset(id, 0, sizeof *id);
    id->ino = (uint64_t) (b - f->blob) + 1;
    id->size = b->n;
    memcpy(id->etag, "fake", 5);
    id->cred = 1;
}

static void ax_fake_close(void *self, void *handle)
{
    (void) handle;
    atomic_fetch_sub(&((ax_fake *) self)->opened, 1);
}

static ax_status ax_fake_put(ax_fake *f, ax_fake_ask ask)
{
    ax_status st = AX_OK;

    pthread_mutex_lock(&f->lock);
    if (f->nqueue == AX_FAKE_QUEUE_MAX || ++f->nasked == f->refuse_nth)
        st = AX_ENET;
    else
    {
        ask.fails = f->nasked == f->fail_nth;
        ask.due_ns = ax_fake_now_ns();
        if (f->delay_us > 0)
            ask.due_ns += (int64_t) (ax_fake_random(f) % f->delay_us) * 1000;
        f->queue[f->nqueue++] = ask;
        pthread_cond_signal(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    return st;
}

static ax_status ax_fake_start(void *self, void *handle, uint64_t off, uint64_t len, uint8_t *dst,
                               void *token)
{
    ax_fake *f = (ax_fake *) self;

    atomic_fetch_add(&f->starts, 1);
    return ax_fake_put(f, (ax_fake_ask){.kind = AX_IO_READ, .blob = (const ax_fake_blob *) handle,
                                        .off = off, .len = len, .dst = dst, .token = token});
}

static ax_status ax_fake_start_open(ax_task *t, void *self, const char *uri,
                                    const ax_io_known *known, uint64_t tail_len, void *token)
{
    ax_fake *f = (ax_fake *) self;
    const ax_fake_blob *b = ax_fake_find(f, uri);
    ax_io_id id;

    (void) t;
    if (known != NULL && known->etag != NULL && b != NULL)
    {
        ax_fake_id(f, b, &id);
        id.size = known->size;
        atomic_fetch_add(&f->opened, 1);
        ax_io_complete_open(f->io, token, (void *) (uintptr_t) b, &id, NULL, 0);
        return AX_OK;
    }
    atomic_fetch_add(&f->opens, 1);
    return ax_fake_put(
        f, (ax_fake_ask){.kind = AX_IO_OPEN, .uri = uri, .len = tail_len, .token = token});
}

static ax_status ax_fake_start_list(ax_task *t, void *self, const char *uri, bool recursive,
                                    void *token)
{
    ax_fake *f = (ax_fake *) self;

    (void) t;
    atomic_fetch_add(&f->lists, 1);
    return ax_fake_put(f, (ax_fake_ask){.kind = AX_IO_LIST, .uri = uri, .recursive = recursive,
                                        .token = token});
}

static ax_status ax_fake_start_stat(ax_task *t, void *self, const char *uri,
                                    const ax_io_known *known, void *token)
{
    ax_fake *f = (ax_fake *) self;
    const ax_fake_blob *b = ax_fake_find(f, uri);
    ax_io_id id;

    (void) t;
    if (known != NULL && known->etag != NULL && b != NULL)
    {
        ax_fake_id(f, b, &id);
        ax_io_complete_stat(f->io, token, &id, false);
        return AX_OK;
    }
    atomic_fetch_add(&f->stats, 1);
    return ax_fake_put(f, (ax_fake_ask){.kind = AX_IO_STAT, .uri = uri, .token = token});
}

static bool ax_fake_cancel(void *self, void *token)
{
    ax_fake *f = (ax_fake *) self;
    bool found = false;

    atomic_fetch_add(&f->cancels, 1);
    pthread_mutex_lock(&f->lock);
    for (uint32_t i = 0; i < f->nqueue && !f->no_cancel; i++)
        if (f->queue[i].token == token)
        {
            f->queue[i] = f->queue[--f->nqueue];
            found = true;
            break;
        }
    pthread_mutex_unlock(&f->lock);
    return found;
}

static void ax_fake_fail(ax_fake *f, const ax_fake_ask *r, ax_status st, const char *msg)
{
    ax_error err;

    ax_error_clear(&err);
    err.code = st;
    memcpy(err.msg, msg, strlen(msg) + 1);
    ax_io_complete(f->io, r->token, st, &err);
}

/* How a blob shows in a listing of uri: 0 not at all, else the length of its part of the path. */
static size_t ax_fake_below(const ax_fake_blob *b, const char *uri, bool recursive)
{
    size_t n = strlen(uri), end;

    while (n > 0 && uri[n - 1] == '/')
        n--;
    if (strncmp(b->uri, uri, n) != 0 || b->uri[n] != '/' || b->uri[n + 1] == '\0')
        return 0;
    while (b->uri[n] == '/')
        n++;
    end = strcspn(b->uri + n, "/");
    return recursive ? strlen(b->uri) : n + end;
}

static void ax_fake_list(ax_fake *f, const ax_fake_ask *r)
{
    uint32_t cap = f->page_cnt > 0 ? f->page_cnt : 3, n = 0;
    char path[8][256];
    ax_io_entry e[8];
    bool any = false;

    for (uint32_t i = f->nblobs; i-- > 0;)
    {
        size_t len = ax_fake_below(&f->blob[i], r->uri, r->recursive);
        bool seen = len == 0;

        any |= len > 0;
        for (uint32_t k = i + 1; k < f->nblobs && !seen; k++)
            seen = ax_fake_below(&f->blob[k], r->uri, r->recursive) == len &&
                   strncmp(f->blob[k].uri, f->blob[i].uri, len) == 0;
        if (seen)
            continue;
        if (n == cap)
        {
            atomic_fetch_add(&f->pages, 1);
            if (!ax_io_complete_list(f->io, r->token, e, n, true))
                return;
            n = 0;
        }
        memcpy(path[n], f->blob[i].uri, len);
        path[n][len] = '\0';
        e[n] = (ax_io_entry){.path = path[n], .is_dir = f->blob[i].uri[len] == '/'};
        if (!e[n].is_dir)
        {
            e[n].size = f->blob[i].n;
            e[n].etag = "fake";
        }
        n++;
    }
    if (any)
        (void) ax_io_complete_list(f->io, r->token, e, n, false);
    else
        ax_fake_fail(f, r, AX_ENOFILE, "no such prefix");
}

static void ax_fake_answer(ax_fake *f, const ax_fake_ask *r)
{
    const ax_fake_blob *b = r->kind != AX_IO_READ ? ax_fake_find(f, r->uri) : r->blob;
    ax_io_id id = {0};
    bool is_dir = false;

    if (b != NULL)
        ax_fake_id(f, b, &id);
    for (uint32_t i = 0; i < f->nblobs && r->kind == AX_IO_STAT && b == NULL; i++)
        is_dir |= ax_fake_below(&f->blob[i], r->uri, true) > 0;
    if (r->fails)
        ax_fake_fail(f, r, AX_ENET, "connection reset by fake");
    else if (r->kind == AX_IO_LIST)
        ax_fake_list(f, r);
    else if (b == NULL && !is_dir)
        ax_fake_fail(f, r, AX_ENOFILE, "could not open file: no such object");
    else if (r->kind == AX_IO_STAT)
        ax_io_complete_stat(f->io, r->token, &id, is_dir);
    else if (r->kind == AX_IO_OPEN)
    {
        size_t tail = r->len < b->n ? (size_t) r->len : b->n;

        atomic_fetch_add(&f->opened, 1);
        ax_io_complete_open(f->io, r->token, (void *) (uintptr_t) b, &id, b->bytes + b->n - tail,
                            tail);
    }
    else
    {
        memcpy(r->dst, b->bytes + r->off, (size_t) r->len);
        ax_io_complete(f->io, r->token, AX_OK, NULL);
    }
}

static void *ax_fake_main(void *arg)
{
    ax_fake *f = (ax_fake *) arg;

    pthread_mutex_lock(&f->lock);
    while (!f->ending || f->nqueue > 0)
    {
        struct timespec nap = {0, 20000};
        ax_fake_ask r;
        uint32_t i;

        if (f->nqueue == 0 || (f->hold && !f->ending))
        {
            pthread_cond_wait(&f->changed, &f->lock);
            continue;
        }
        i = ax_fake_random(f) % f->nqueue;
        r = f->queue[i];
        if (r.due_ns <= ax_fake_now_ns() || f->ending)
            f->queue[i] = f->queue[--f->nqueue];
        else
            r.token = NULL;
        pthread_mutex_unlock(&f->lock);
        if (r.token != NULL)
            ax_fake_answer(f, &r);
        else
            nanosleep(&nap, NULL);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Register the scheme "fake" with io.  f is zeroed but for the knobs and blobs, and stays until
 * ax_fake_stop, which comes before ax_io_destroy or after all files are closed. */
static ax_status ax_fake_run(ax_fake *f, ax_io *io, uint64_t merge_gap_bytes)
{
    ax_io_backend b = {.scheme = "fake",
                       .close = ax_fake_close,
                       .start = ax_fake_start,
                       .cancel = ax_fake_cancel,
                       .merge_gap_bytes = merge_gap_bytes,
                       .self = f,
                       .start_open = ax_fake_start_open,
                       .start_list = ax_fake_start_list,
                       .start_stat = f->no_stat ? NULL : ax_fake_start_stat};

    f->io = io;
    f->seed += 12345;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    if (pthread_create(&f->thread, NULL, ax_fake_main, f) != 0)
        return AX_ELIMIT;
    return ax_io_register(io, &b);
}

static inline void ax_fake_hold(ax_fake *f, bool hold)
{
    pthread_mutex_lock(&f->lock);
    f->hold = hold;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* Answer what is left and end the thread. */
static void ax_fake_stop(ax_fake *f)
{
    pthread_mutex_lock(&f->lock);
    f->ending = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

#endif
