/* A run from the host's side: create, take batches, stop, destroy, start over.
 *
 *     CREATED --next--> RUNNING --> DRAINED | FAILED          stop: STOPPED
 *
 * Every function here runs on the host's thread.  Jobs exist between the first `next` and the end
 * of ax_group_stop; what they share with this file is behind ax_exec.lock (output.c). */
#include "exec/exec_int.h"

#include <string.h>

/* Of what runs on the host's thread. */
#define HOST_MAX_FILES 16u
#define HOST_ROW_BYTES 256 /* in files, of all columns */

ax_status ax_exec_task(ax_exec *x, ax_task *t)
{
    ax_status s;

    memset(t, 0, sizeof *t);
    s = ax_task_init(t, &x->budget, &x->stop);
    t->io = &x->io; /* afterwards: a new task has no account */
    return s;
}

/* ---- making ---------------------------------------------------------------------------------- */

static ax_status copy_params(ax_exec *x, const ax_params *p)
{
    ax_value *v;

    AX_NEW(&x->task, v, (ax_value *) ax_arena_alloc0(x->base, (p->n + 1) * sizeof *v));
    for (uint32_t i = 0; i < p->n; i++)
    {
        v[i] = p->val[i];
        if (!v[i].null && ax_type_is_str(v[i].type))
            AX_NEW(&x->task, v[i].u.s.p,
                   (const uint8_t *) ax_arena_strndup(x->base, (const char *) v[i].u.s.p,
                                                      v[i].u.s.len));
    }
    x->o.params = (ax_params){v, p->n};
    return AX_OK;
}

static ax_status make(ax_env *env, const ax_exec_opts *o, ax_exec **out)
{
    ax_exec *x = (ax_exec *) ax_obj_alloc(sizeof *x);
    uint32_t all = atomic_load_explicit(&env->max_threads, memory_order_relaxed), most;

    *out = x;
    if (x == NULL)
        return AX_ENOMEM;
    x->env = env;
    x->o = *o;
    x->max_lanes = o->max_threads > 0 && o->max_threads < all ? o->max_threads : all;
    if (x->max_lanes > AX_MAX_LANES)
        x->max_lanes = AX_MAX_LANES;
    x->granted = x->max_lanes;
    /* A lane that no thread can run only divides the work, and the memory. */
    most = ax_pool_most(env->pool);
    x->max_lanes = x->max_lanes < most ? x->max_lanes : most;
    x->busy_lanes = x->max_lanes < env->cpus ? x->max_lanes : env->cpus;
    pthread_mutex_init(&x->lock, NULL);
    atomic_init(&x->poison_key, UINT64_MAX);
    ax_error_clear(&x->error);
    ax_budget_init(&x->budget, "query",
                   o->memory_limit_bytes > 0 ? o->memory_limit_bytes : INT64_MAX, env->budget);
    ax_spill_init(&x->spill, &x->budget, o->spill, o->spill_limit_bytes);
    atomic_fetch_add_explicit(&env->queries, 1, memory_order_relaxed);
    AX_TRY(ax_exec_task(x, &x->task));
    x->task.stop = NULL;
    AX_NEW(&x->task, x->base, ax_arena_create(&x->budget, 0));
    return copy_params(x, &o->params);
}

/* Give the finished query to the caller, or destroy it and hand out its error. */
static ax_status hand_out(ax_exec *x, ax_status st, ax_exec **out, ax_error *err)
{
    ax_error_clear(err);
    *out = st == AX_OK ? x : NULL;
    if (st == AX_OK)
        return AX_OK;
    err->code = st;
    if (x != NULL)
        *err = x->task.err;
    ax_exec_destroy(x);
    return st;
}

ax_status ax_exec_open(ax_env *env, ax_source *s, const ax_exec_opts *o, ax_exec **out,
                       ax_error *err)
{
    ax_exec *x;
    ax_status st = make(env, o, &x);

    if (x != NULL)
        x->source = s;
    return hand_out(x, st, out, err);
}

/* A rebind would forget the name of the table; nobody rebinds facts. */
ax_status ax_exec_facts(ax_env *env, ax_source *s, const char *table, const ax_fact_arg *arg,
                        const ax_exec_opts *o, ax_exec **out, ax_error *err)
{
    ax_exec *x;
    ax_status st = make(env, o, &x);

    if (st == AX_OK)
    {
        x->source = s;
        x->facts_arg = arg;
        x->facts_table = ax_arena_strndup(x->base, table, strlen(table));
        if (x->facts_table == NULL)
            st = ax_fail_nomem(&x->task, 0);
    }
    return hand_out(x, st, out, err);
}

/* Rows below node n, as far as the files of its sources are open; else more than there can be. */
static uint64_t rows_below(const ax_node *n)
{
    const ax_snapshot *snap;
    uint64_t rows = 0;

    for (uint32_t i = 0; i < n->nchild && rows < UINT32_MAX; i++)
        rows += rows_below(n->child[i]);
    if (n->nchild > 0)
        return rows;
    snap = n->kind == AX_N_SCAN ? n->u.scan.source->snap : NULL;
    if (snap == NULL || snap->nfiles > HOST_MAX_FILES)
        return UINT32_MAX;
    for (uint32_t i = 0; i < snap->nfiles; i++)
    {
        const ax_fmt_file *f = ax_snapfile_file(&snap->file[i]);

        if (f == NULL || f->nrows < 0)
            return UINT32_MAX;
        rows += (uint64_t) f->nrows;
    }
    /* Rows of long texts are more work. */
    if (snap->bytes / HOST_ROW_BYTES > (int64_t) rows)
        rows = (uint64_t) snap->bytes / HOST_ROW_BYTES;
    /* Rows without columns are only counted. */
    return n->ncols == 0 ? rows / AX_BATCH_ROWS : rows;
}

ax_status ax_exec_start(ax_env *env, const ax_plan *p, const ax_exec_opts *o, ax_exec **out,
                        ax_error *err)
{
    ax_exec *x;
    ax_status st = make(env, o, &x);

    if (st == AX_OK)
    {
        x->plan = p;
        x->hosted = o->host_rows > 0 && rows_below(p->root) <= o->host_rows;
        if (x->hosted)
            x->max_lanes = x->busy_lanes = 1;
        st = ax_exec_compile(x);
    }
    return hand_out(x, st, out, err);
}

/* ---- running --------------------------------------------------------------------------------- */

/* An opening runs on the host's thread, in slices between which the host looks for interrupts: it
 * reads little, and planning a query must not start threads.  So does a run that has little to
 * do. */
#define HOST_SLICE_US 2000u

static ax_status launch(ax_exec *x)
{
    ax_pool *pool = x->env->pool;
    ax_status st;

    if (x->begin_ns == 0)
        x->begin_ns = ax_exec_now_ns();
    if (x->plan != NULL && !x->hosted)
        st = ax_group_create(pool, x->max_lanes, &x->group);
    else
        st = ax_group_create_hosted(pool, x->o.wake, x->o.wake_arg, &x->group);
    if (st != AX_OK)
        return ax_fail_nomem(&x->task, 0);
    if (x->plan != NULL)
        return ax_exec_launch(x);
    return x->facts_table != NULL ? ax_facts_launch(x) : ax_opening_launch(x);
}

/* No job of ours runs after this. */
static void quiesce(ax_exec *x)
{
    atomic_store_explicit(&x->stop, 1, memory_order_relaxed);
    if (x->group != NULL)
        ax_group_stop(x->group);
    if (x->begin_ns != 0 && x->end_ns == 0)
        x->end_ns = ax_exec_now_ns();
}

/* The run is over: give memory back early; the structure stays for printing. */
static void finish(ax_exec *x, ax_exec_state state)
{
    quiesce(x);
    x->state = (uint8_t) state;
    if (x->plan == NULL && state == AX_ES_DRAINED)
        ax_opening_publish(x);
    ax_opening_free(x);
    ax_facts_free(x);
    ax_exec_release(x);
    ax_out_clear(x);
    ax_spill_close(&x->spill);
}

ax_exec_next_result ax_exec_next(ax_exec *x, ax_batch **out)
{
    ax_exec_next_result r;

    *out = NULL;
    if (x->state == AX_ES_CREATED)
    {
        x->state = AX_ES_RUNNING;
        x->runs++;
        if (launch(x) != AX_OK)
            ax_exec_fail(x, &x->task.err);
    }
    if (x->state == AX_ES_DRAINED)
        return AX_EXEC_DONE;
    if (x->state != AX_ES_RUNNING)
        return AX_EXEC_ERROR;
    if ((x->plan == NULL || x->hosted) && x->group != NULL &&
        ax_group_run(x->group, HOST_SLICE_US) && x->o.wake != NULL)
        x->o.wake(x->o.wake_arg); /* more is queued: the host shall not sleep */
    r = ax_out_next(x, out);
    if (r == AX_EXEC_DONE)
        finish(x, AX_ES_DRAINED);
    else if (r == AX_EXEC_ERROR)
        finish(x, AX_ES_FAILED);
    return r;
}

const ax_error *ax_exec_error(const ax_exec *x) { return &x->error; }

void ax_exec_stop(ax_exec *x)
{
    if (x->state != AX_ES_CREATED && x->state != AX_ES_RUNNING)
        return;
    quiesce(x);
    x->state = AX_ES_STOPPED;
    if (x->error.code == AX_OK)
    {
        x->error.code = AX_ESTOPPED;
        memcpy(x->error.msg, "query stopped", sizeof "query stopped");
    }
}

/* Everything that belongs to one run goes; parameters and budget stay. */
static void reset(ax_exec *x)
{
    quiesce(x);
    ax_opening_free(x);
    ax_facts_free(x);
    if (x->task.arena != NULL)
        ax_exec_uncompile(x);
    ax_out_clear(x);
    ax_spill_close(&x->spill);
    ax_group_destroy(x->group);
    x->group = NULL;
}

void ax_exec_destroy(ax_exec *x)
{
    ax_env *env;

    if (x == NULL)
        return;
    env = x->env;
    reset(x);
    ax_arena_destroy(x->base);
    ax_task_fini(&x->task);
    pthread_mutex_destroy(&x->lock);
    ax_obj_free(x);
    atomic_fetch_sub_explicit(&env->queries, 1, memory_order_relaxed);
}

ax_status ax_exec_rebind(ax_exec *x, const ax_params *params)
{
    ax_status st;

    if (x->group != NULL)
    {
        x->cpu_ns += ax_group_cpu_ns(x->group);
        if (ax_group_peak_running(x->group) > x->peak_threads)
            x->peak_threads = ax_group_peak_running(x->group);
    }
    reset(x);
    atomic_store_explicit(&x->stop, 0, memory_order_relaxed);
    atomic_store_explicit(&x->failed, false, memory_order_relaxed);
    atomic_store_explicit(&x->poison_key, UINT64_MAX, memory_order_relaxed);
    ax_error_clear(&x->error);
    ax_error_clear(&x->task.err);
    x->out_done = false;
    x->end_ns = 0;
    x->state = AX_ES_CREATED;
    ax_arena_reset(x->base);
    st = copy_params(x, params);
    if (st == AX_OK && x->plan != NULL)
        st = ax_exec_compile(x);
    if (st != AX_OK)
    {
        x->error = x->task.err;
        x->state = AX_ES_FAILED;
    }
    return st;
}
