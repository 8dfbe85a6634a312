/* A remote store for tests: answers late, out of order, and with errors when told to.
 *
 * Blobs are registered by URI ("fake://name").  One thread delivers: it takes a random request that
 * is due, so completions overtake each other and arrive on a foreign thread, as with a real store.
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

typedef struct ax_fake_read
{
    const ax_fake_blob *blob;
    uint64_t off, len;
    uint8_t *dst;
    void *token;
    int64_t due_ns;
} ax_fake_read;

typedef struct ax_fake
{
    /* set by the test before use */
    uint32_t delay_us;      /* each answer comes after 0 .. delay_us */
    uint32_t fail_nth;      /* this read (from 1) fails; 0: none */
    uint32_t refuse_nth;    /* start() itself fails for this one; 0: none */
    bool no_cancel;         /* cancel() always refuses */
    bool hold;              /* nothing is answered while set; under lock once running */

    ax_fake_blob blob[AX_FAKE_BLOBS_MAX];
    uint32_t nblobs;
    _Atomic int opened, starts, cancels; /* handles open now; calls */

    ax_io *io;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    ax_fake_read queue[AX_FAKE_QUEUE_MAX]; /* guarded by lock, like the rest */
    uint32_t nqueue;
    uint32_t seed;
    uint32_t nreads;
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

static ax_status ax_fake_open(ax_task *t, void *self, const char *uri, void **handle, ax_io_id *id)
{
    ax_fake *f = (ax_fake *) self;

    for (uint32_t i = 0; i < f->nblobs; i++)
        if (strcmp(f->blob[i].uri, uri) == 0)
        {
            memset(id, 0, sizeof *id);
            id->size = f->blob[i].n;
            memcpy(id->etag, "fake", 5);
            id->cred = 1;
            *handle = &f->blob[i];
            atomic_fetch_add(&f->opened, 1);
            return AX_OK;
        }
    return ax_fail(t, AX_ENOFILE, "could not open file: no such object");
}

static void ax_fake_close(void *self, void *handle)
{
    (void) handle;
    atomic_fetch_sub(&((ax_fake *) self)->opened, 1);
}

static ax_status ax_fake_start(void *self, void *handle, uint64_t off, uint64_t len, uint8_t *dst,
                               void *token)
{
    ax_fake *f = (ax_fake *) self;
    ax_status st = AX_OK;
    uint32_t delay_us;

    atomic_fetch_add(&f->starts, 1);
    pthread_mutex_lock(&f->lock);
    if (f->nqueue == AX_FAKE_QUEUE_MAX || ++f->nreads == f->refuse_nth)
        st = AX_ENET;
    else
    {
        delay_us = f->delay_us > 0 ? ax_fake_random(f) % f->delay_us : 0;
        if (f->nreads == f->fail_nth)
            dst = NULL;
        f->queue[f->nqueue++] = (ax_fake_read){(const ax_fake_blob *) handle, off, len, dst, token,
                                               ax_fake_now_ns() + (int64_t) delay_us * 1000};
        pthread_cond_signal(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    return st;
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

static void ax_fake_answer(ax_fake *f, const ax_fake_read *r)
{
    ax_error err;

    if (r->dst != NULL)
    {
        memcpy(r->dst, r->blob->bytes + r->off, (size_t) r->len);
        ax_io_complete(f->io, r->token, AX_OK, NULL);
        return;
    }
    ax_error_clear(&err);
    err.code = AX_ENET;
    memcpy(err.msg, "connection reset by fake", 25);
    ax_io_complete(f->io, r->token, AX_ENET, &err);
}

static void *ax_fake_main(void *arg)
{
    ax_fake *f = (ax_fake *) arg;

    pthread_mutex_lock(&f->lock);
    while (!f->ending || f->nqueue > 0)
    {
        struct timespec nap = {0, 20000};
        ax_fake_read r;
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
    ax_io_backend b = {"fake",        ax_fake_open, ax_fake_close,   ax_fake_start,
                       ax_fake_cancel, NULL,        merge_gap_bytes, f};

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
