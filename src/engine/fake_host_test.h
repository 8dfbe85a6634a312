/* The host of a test: an engine with a fake remote store and a granule table in it, the wait loop,
 * and short names for plans and expressions. */
#ifndef AX_FAKE_HOST_TEST_H
#define AX_FAKE_HOST_TEST_H

#include "ax.h"
#include "exec/exec.h"
#include "fake_format_test.h"
#include "io/fake_remote_test.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MAX_TABLES 4u

typedef struct host
{
    pthread_mutex_t lock;
    pthread_cond_t woken;
    uint64_t wakes;          /* guarded by lock */
    ax_engine *engine;
    ax_fake remote;
    ff_bytes bytes[MAX_TABLES];
    uint32_t ntables;
    bool merged;              /* of tables made from now on */
    ax_source *source[MAX_TABLES];
    ax_plan *plan;           /* the last one */
    char uri[MAX_TABLES][2][48];
} host;

static void host_wake(void *arg)
{
    host *h = (host *) arg;

    pthread_mutex_lock(&h->lock);
    h->wakes++;
    pthread_cond_signal(&h->woken);
    pthread_mutex_unlock(&h->lock);
}

static uint64_t host_wakes(host *h)
{
    uint64_t n;

    pthread_mutex_lock(&h->lock);
    n = h->wakes;
    pthread_mutex_unlock(&h->lock);
    return n;
}

/* Sleep until there were more than `seen` wakes; a lost wake-up fails the test. */
static void host_wait(host *h, uint64_t seen)
{
    struct timespec ts;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += 60;
    pthread_mutex_lock(&h->lock);
    while (h->wakes <= seen && rc == 0)
        rc = pthread_cond_timedwait(&h->woken, &h->lock, &ts);
    pthread_mutex_unlock(&h->lock);
    assert_int_equal(rc, 0);
}

static void host_begin_on(host *h, uint32_t cpus, uint32_t threads, uint32_t delay_us)
{
    ax_engine_opts o = {.max_threads = threads, .cpus = cpus, .idle_ms = 50};
    ax_error err;

    memset(h, 0, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->woken, NULL);
    assert_int_equal(ax_engine_create(&o, &h->engine, &err), AX_OK);
    h->remote.delay_us = delay_us;
    assert_int_equal(ax_fake_run(&h->remote, ax_engine_io(h->engine), 0), AX_OK);
}

static inline void host_begin(host *h, uint32_t threads, uint32_t delay_us)
{
    host_begin_on(h, threads, threads, delay_us);
}

static ax_query_opts host_opts(host *h)
{
    return (ax_query_opts){.allow = AX_ALLOW_ALL, .wake = host_wake, .wake_arg = h};
}

/* Next that is not WAIT. */
static ax_next host_next(host *h, ax_query *q, ax_batch **b)
{
    for (;;)
    {
        uint64_t seen = host_wakes(h);
        ax_next n = ax_query_next(q, b);

        if (n != AX_NEXT_WAIT)
            return n;
        host_wait(h, seen);
    }
}

static void host_open(host *h, ax_source *s)
{
    ax_query_opts o = host_opts(h);
    ax_query *q;
    ax_batch *b;
    ax_error err;

    assert_int_equal(ax_query_open(h->engine, s, &o, &q, &err), AX_OK);
    assert_int_equal(host_next(h, q, &b), AX_NEXT_DONE);
    ax_query_destroy(q);
}

/* The four columns of the fake format. */
static const ax_colspec *host_columns(void)
{
    static ax_colspec col[FF_COLS];
    static const ax_type_id types[FF_COLS] = {AX_T_INT8, AX_T_INT8, AX_T_INT4, AX_T_TEXT};
    static const char *const names[FF_COLS] = {"id", "v", "d", "s"};

    for (uint32_t i = 0; i < FF_COLS; i++)
        col[i] = (ax_colspec){.name = names[i], .path = &names[i], .npath = 1, .field_id = -1,
                              .position = i, .type = ax_type_make(types[i])};
    return col;
}

static ax_source *host_source(host *h, const char *uri)
{
    ax_source_spec spec = {.path = &uri, .npaths = 1, .format = "auto", .col = host_columns(),
                           .ncols = FF_COLS, .merged = h->merged};
    ax_source *s;
    ax_error err;

    assert_int_equal(ax_source_create(h->engine, &spec, &s, &err), AX_OK);
    s->format = &ff_format; /* not in the registry */
    return s;
}

/* A table in the remote store, opened; its ordinal. */
static inline uint32_t host_table(host *h, uint32_t nsplits, uint32_t rows, uint32_t granule,
                           ff_make_fn make)
{
    uint32_t i = h->ntables++;

    h->bytes[i] = ff_build(nsplits, rows, granule, make);
    snprintf(h->uri[i][0], sizeof h->uri[i][0], "fake://t%u.gran", i);
    snprintf(h->uri[i][1], sizeof h->uri[i][1], "fake://t%u.gran.mrk", i);
    h->remote.blob[h->remote.nblobs++] =
        (ax_fake_blob){h->uri[i][0], h->bytes[i].main, h->bytes[i].nmain};
    h->remote.blob[h->remote.nblobs++] =
        (ax_fake_blob){h->uri[i][1], h->bytes[i].marks, h->bytes[i].nmarks};
    h->source[i] = host_source(h, h->uri[i][0]);
    host_open(h, h->source[i]);
    return i;
}

/* Everything must be given back. */
static void host_end(host *h)
{
    ax_plan_destroy(h->plan);
    for (uint32_t i = 0; i < h->ntables; i++)
        ax_source_destroy(h->source[i]);
    assert_int_equal(ax_engine_queries(h->engine), 0);
    assert_int_equal(ax_engine_used_bytes(h->engine), 0);
    ax_engine_trim(h->engine);
    ax_fake_stop(&h->remote);
    ax_engine_destroy(h->engine);
    for (uint32_t i = 0; i < h->ntables; i++)
        ff_free(&h->bytes[i]);
    pthread_cond_destroy(&h->woken);
    pthread_mutex_destroy(&h->lock);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static inline ax_plan *host_plan(host *h)
{
    ax_error err;

    ax_plan_destroy(h->plan);
    assert_int_equal(ax_plan_create(ax_engine_budget(h->engine), &h->plan, &err), AX_OK);
    return h->plan;
}

static inline ax_node *x_scan(host *h, uint32_t table, ax_expr *conj)
{
    static const uint32_t columns[FF_COLS] = {0, 1, 2, 3};
    ax_type types[FF_COLS];
    static const char *const names[FF_COLS] = {"id", "v", "d", "s"};
    ax_node *n;

    for (uint32_t i = 0; i < FF_COLS; i++)
        types[i] = host_columns()[i].type;
    n = ax_plan_scan(h->plan, h->source[table], columns, types, names, FF_COLS, &conj,
                     conj != NULL ? 1 : 0);
    assert_non_null(n);
    return n;
}

static inline ax_expr *x_col(host *h, uint32_t col)
{
    ax_expr *e;

    assert_int_equal(ax_expr_col(&h->plan->task, h->plan->arena, col, host_columns()[col].type, &e),
                     AX_OK);
    return e;
}

static inline ax_expr *x_int8(host *h, int64_t i)
{
    ax_value v;
    ax_expr *e;

    ff_int8(&v, i);
    assert_int_equal(ax_expr_const(&h->plan->task, h->plan->arena, &v, &e), AX_OK);
    return e;
}

static inline ax_expr *x_call(host *h, ax_fn fn, ax_expr *a, ax_expr *b)
{
    ax_expr *args[2] = {a, b}, *e;

    assert_int_equal(ax_expr_call(&h->plan->task, h->plan->arena, fn, args, 2, &e), AX_OK);
    return e;
}

static inline ax_query *host_start_with(host *h, const ax_query_opts *o)
{
    ax_query *q;
    ax_error err;
    ax_status st = ax_query_start(h->engine, h->plan, o, &q, &err);

    if (st != AX_OK)
        print_message("start: %s\n", err.msg);
    assert_int_equal(st, AX_OK);
    return q;
}

static inline ax_query *host_start(host *h)
{
    ax_query_opts o = host_opts(h);

    return host_start_with(h, &o);
}

/* Rows, and the sum of column 0 (int8), until the end; `last`: how it ended. */
typedef struct sums { uint64_t rows; int64_t sum; ax_next last; ax_status poison; } sums;

static inline sums host_drain(host *h, ax_query *q)
{
    sums s = {0};
    ax_batch *b;

    while ((s.last = host_next(h, q, &b)) == AX_NEXT_BATCH)
    {
        s.rows += b->nsel;
        for (uint32_t i = 0; i < b->nsel && b->ncols > 0; i++)
            s.sum += ax_vec_value(&b->col[0], b->sel != NULL ? b->sel[i] : i).u.i;
        if (b->poison != NULL)
            s.poison = b->poison->code;
    }
    if (s.last == AX_NEXT_ERROR)
        print_message("query: %s\n", ax_query_error(q)->msg);
    return s;
}

/* Start, drain, destroy. */
static inline sums host_run(host *h)
{
    ax_query *q = host_start(h);
    sums s = host_drain(h, q);

    ax_query_destroy(q);
    return s;
}

/* Rows of most tests: id = n, v = n * 3, d = n % 7, s = "row n". */
static inline void row_plain(uint64_t n, ff_row *r)
{
    r->id = (int64_t) n;
    r->v = (int64_t) n * 3;
    r->d = (int32_t) (n % 7);
    snprintf(r->s, sizeof r->s, "row %llu", (unsigned long long) n);
}

#endif
