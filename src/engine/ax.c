/* The door's engine and queries: a thin coat over exec/, which may not see ax.h.
 *
 * The engine owns what queries share: pool, io, metadata cache, budget.  A query here is an
 * ax_exec plus the request it shows to the host. */
#include "ax_int.h"

#include "base/cpu.h"

#include <string.h>

#define METADATA_DEFAULT ((int64_t) 64 << 20)
#define FILES_DEFAULT 256u

/* A pool cannot grow, but the setting can; threads are made when they are wanted. */
#define POOL_ROOM 1024u

struct ax_query
{
    ax_engine *e;
    ax_exec *x;
    ax_request request;
};

/* ---- engine ---------------------------------------------------------------------------------- */

static void drop_pages(void *io) { ax_io_trim_pages((ax_io *) io); }

static ax_status parts_create(ax_engine *e, const ax_engine_opts *o, uint32_t threads)
{
    int64_t meta = o->metadata_cache_bytes > 0 ? o->metadata_cache_bytes : METADATA_DEFAULT;

    AX_TRY(ax_pool_create(&e->env.pool, threads, o->idle_ms, o->spin_us));
    AX_TRY(ax_io_create(&e->env.io, o->max_open_files > 0 ? o->max_open_files : FILES_DEFAULT));
    ax_pool_on_idle(e->env.pool, drop_pages, e->env.io);
    ax_io_keep_pages(e->env.io, (size_t) o->page_cache_bytes, &e->budget);
    return ax_cache_create(meta, &e->env.cache);
}

ax_status ax_engine_create(const ax_engine_opts *o, ax_engine **out, ax_error *err)
{
    ax_engine *e = (ax_engine *) ax_obj_alloc(sizeof *e);
    uint32_t cpus = o->cpus > 0 ? o->cpus : ax_cpu_count();
    uint32_t threads = o->max_threads > 0 ? o->max_threads : cpus;
    uint32_t room = threads > POOL_ROOM ? threads : POOL_ROOM;
    ax_status st = AX_ENOMEM;

    ax_error_clear(err);
    *out = NULL;
    if (e != NULL)
    {
        ax_budget_init(&e->budget, "engine",
                       o->memory_limit_bytes > 0 ? o->memory_limit_bytes : INT64_MAX, NULL);
        e->env.budget = &e->budget;
        atomic_init(&e->env.max_threads, threads);
        e->env.cpus = cpus;
        e->pool_threads = room;
        st = parts_create(e, o, room);
    }
    if (st != AX_OK)
    {
        err->code = st;
        memcpy(err->msg, "the engine could not be created",
               sizeof "the engine could not be created");
        ax_engine_destroy(e);
        return st;
    }
    *out = e;
    return AX_OK;
}

void ax_engine_destroy(ax_engine *e)
{
    if (e == NULL)
        return;
    ax_pool_destroy(e->env.pool);
    ax_cache_destroy(e->env.cache);
    if (e->env.io != NULL)
        ax_io_destroy(e->env.io);
    ax_obj_free(e);
}

uint32_t ax_engine_threads(const ax_engine *e) { return ax_pool_threads(e->env.pool); }

uint32_t ax_engine_queries(const ax_engine *e)
{
    return atomic_load_explicit(&e->env.queries, memory_order_relaxed);
}

int64_t ax_engine_used_bytes(const ax_engine *e)
{
    return atomic_load_explicit(&e->budget.used_bytes, memory_order_relaxed);
}

void ax_engine_trim(ax_engine *e)
{
    ax_cache_trim(e->env.cache);
    ax_io_trim_pages(e->env.io);
    (void) ax_slab_trim(0);
}

void ax_engine_set_max_threads(ax_engine *e, uint32_t n)
{
    if (n == 0)
        n = ax_cpu_count();
    if (n > e->pool_threads)
        n = e->pool_threads;
    atomic_store_explicit(&e->env.max_threads, n, memory_order_relaxed);
}

void ax_engine_set_page_cache(ax_engine *e, int64_t bytes)
{
    ax_io_keep_pages(e->env.io, (size_t) bytes, &e->budget);
}

void ax_engine_share(ax_engine *e, ax_permits *s, uint32_t total)
{
    ax_pool_share(e->env.pool, s, total > 0 ? total : ax_cpu_count());
}

ax_budget *ax_engine_budget(ax_engine *e) { return &e->budget; }
ax_io *ax_engine_io(ax_engine *e) { return e->env.io; }

/* ---- queries --------------------------------------------------------------------------------- */

static ax_exec_opts exec_opts(const ax_query_opts *o)
{
    return (ax_exec_opts){.max_threads = o->max_threads,
                          .memory_limit_bytes = o->memory_limit_bytes,
                          .allow = o->allow,
                          .wake = o->wake,
                          .wake_arg = o->wake_arg,
                          .params = o->params,
                          .strict_float_sum = o->strict_float_sum,
                          .host_rows = o->host_rows,
                          .spill = o->spill,
                          .spill_limit_bytes = o->spill_limit_bytes,
                          .open_files = o->open_files,
                          .conj = o->conj,
                          .nconj = o->nconj};
}

static ax_query *wrap(ax_engine *e, ax_query **out, ax_error *err)
{
    ax_error_clear(err);
    *out = (ax_query *) ax_obj_alloc(sizeof **out);
    if (*out == NULL)
        err->code = AX_ENOMEM;
    else
        (*out)->e = e;
    return *out;
}

static ax_status wrapped(ax_query **out, ax_status st)
{
    if (st != AX_OK)
    {
        ax_obj_free(*out);
        *out = NULL;
    }
    return st;
}

ax_status ax_query_open(ax_engine *e, ax_source *s, const ax_query_opts *o, ax_query **out,
                        ax_error *err)
{
    ax_exec_opts eo = exec_opts(o);

    if (wrap(e, out, err) == NULL)
        return AX_ENOMEM;
    return wrapped(out, ax_exec_open(&e->env, s, &eo, &(*out)->x, err));
}

ax_status ax_query_list(ax_engine *e, ax_source *s, const ax_query_opts *o, ax_query **out,
                        ax_error *err)
{
    ax_exec_opts eo = exec_opts(o);

    eo.list_only = true;
    if (wrap(e, out, err) == NULL)
        return AX_ENOMEM;
    return wrapped(out, ax_exec_open(&e->env, s, &eo, &(*out)->x, err));
}

ax_status ax_query_facts(ax_engine *e, ax_source *s, const char *table, const ax_fact_arg *arg,
                         const ax_query_opts *o, ax_query **out, ax_error *err)
{
    ax_exec_opts eo = exec_opts(o);

    if (wrap(e, out, err) == NULL)
        return AX_ENOMEM;
    return wrapped(out, ax_exec_facts(&e->env, s, table, arg, &eo, &(*out)->x, err));
}

ax_status ax_query_start(ax_engine *e, const ax_plan *p, const ax_query_opts *o, ax_query **out,
                         ax_error *err)
{
    ax_exec_opts eo = exec_opts(o);

    if (wrap(e, out, err) == NULL)
        return AX_ENOMEM;
    /* Fresh memory costs more than what is done with it; see base/memory.h. */
    ax_slab_cache_max((size_t) (o->memory_limit_bytes / 2));
    return wrapped(out, ax_exec_start(&e->env, p, &eo, &(*out)->x, err));
}

ax_next ax_query_next(ax_query *q, ax_batch **out)
{
    switch (ax_exec_next(q->x, out))
    {
    case AX_EXEC_BATCH:
        return AX_NEXT_BATCH;
    case AX_EXEC_DONE:
        return AX_NEXT_DONE;
    case AX_EXEC_WAIT:
        return AX_NEXT_WAIT;
    case AX_EXEC_REQUEST:
        q->request.u.fn = ax_exec_request(q->x);
        q->request.kind = q->request.u.fn != NULL ? AX_REQ_HOST_FN : AX_REQ_SPILL_FD;
        return AX_NEXT_REQUEST;
    case AX_EXEC_ERROR:
        break;
    }
    return AX_NEXT_ERROR;
}

const ax_error *ax_query_error(const ax_query *q) { return ax_exec_error(q->x); }
void ax_query_stop(ax_query *q) { ax_exec_stop(q->x); }

void ax_query_destroy(ax_query *q)
{
    if (q == NULL)
        return;
    ax_exec_destroy(q->x);
    ax_obj_free(q);
}

ax_status ax_query_rebind(ax_query *q, const ax_params *params)
{
    return ax_exec_rebind(q->x, params);
}

const ax_request *ax_query_request(const ax_query *q)
{
    return ax_exec_request(q->x) != NULL || ax_exec_asks_file(q->x) ? &q->request : NULL;
}

ax_status ax_query_reply(ax_query *q, const ax_reply *r)
{
    if (q->request.kind == AX_REQ_SPILL_FD)
    {
        ax_exec_reply_file(q->x, r->fd);
        return AX_OK;
    }
    return ax_exec_reply(q->x, r->value, r->raised);
}

ax_status ax_query_feed(ax_query *q, uint32_t input, const ax_batch *rows, bool *full)
{
    return ax_exec_feed(q->x, input, rows, full);
}

ax_status ax_query_feed_end(ax_query *q, uint32_t input)
{
    return ax_exec_feed_end(q->x, input);
}

void ax_query_profile(const ax_query *q, ax_profile *out)
{
    ax_exec_profile p;

    ax_exec_profile_get(q->x, &p);
    memset(out, 0, sizeof *out);
    out->format = p.format;
    out->split_unit = p.split_unit;
    out->runs = p.runs;
    out->files = p.files;
    memcpy(out->files_pruned, p.files_pruned, sizeof out->files_pruned);
    out->splits = p.splits;
    memcpy(out->splits_pruned, p.splits_pruned, sizeof out->splits_pruned);
    memcpy(out->removed, p.removed, sizeof out->removed);
    out->nremoved = p.nremoved;
    out->files_done = p.files_done;
    out->splits_done = p.splits_done;
    out->bytes_total = p.bytes_total;
    out->scan = p.scan;
    out->requests = p.requests;
    out->bytes_read = p.bytes_read;
    out->bytes_cached = p.bytes_cached;
    out->pages_cached = p.pages_cached;
    out->rows_out = p.rows_out;
    out->groups = p.groups;
    out->spilled_bytes = p.spilled_bytes;
    out->memory_bytes = p.memory_bytes;
    out->memory_peak_bytes = p.memory_peak_bytes;
    out->threads_granted = p.threads_granted;
    out->threads_peak = p.threads_peak;
    out->elapsed_ns = p.elapsed_ns;
    out->cpu_ns = p.cpu_ns;
    out->open_ns = p.open_ns;
    out->aggregate_ns = p.aggregate_ns;
    out->sort_ns = p.sort_ns;
    out->host_calls = p.host_calls;
    out->host_values = p.host_values;
    out->from_metadata = p.from_metadata;
    out->late_columns = p.late_columns;
    out->late_of = p.late_of;
}

const char *ax_query_pipeline(const ax_query *q, ax_arena *a, bool dot)
{
    return ax_exec_pipeline(q->x, a, dot);
}
