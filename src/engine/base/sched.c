/* The scheduler: one lock, a ring of groups that have something to run, threads that claim.
 *
 * Jobs are claimed about once a millisecond per thread, so one mutex serves; what must be right is
 * that no wake-up is lost and that stopping ends.
 *
 * Invariants, all guarded by pool.lock:
 * - a group is in the ready ring exactly when it has a queued job, runs fewer than max_running and
 *   is not stopped; a claim takes the first group, its first job (of those that ran before, if
 *   there are any), and puts the group at the end;
 * - while the ring is not empty, a thread is on its way to claim: it spins, or was signalled, or
 *   has just been started, or finishes a job (each claims under the lock before it sleeps).  A
 *   thread that claims and leaves the ring non-empty calls the next one, if there is a permit;
 *   if there is none, the pool runs a job (else it would not need one), whose end looks again;
 * - the last thread does not leave while a job is queued, running or parked, so that a wake finds
 *   a thread although making one may fail;
 * - a job that returned AX_RUN_DONE is not touched again, not even its state: its owner may have
 *   reused the memory inside run().  It therefore stays RUNNING, where a late wake does no harm.
 *
 * Groups may outlive ax_pool_destroy (a host ends pools and queries in either order): the last of
 * the two frees the pool. */
#include "base/sched.h"

#include "base/memory.h"
#include "base/task.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define STACK_BYTES ((size_t) 1 << 20)
#define IDLE_DEFAULT_MS 60000u
#define SPIN_DEFAULT_US 30u
#define SPIN_ROUNDS 64u /* pauses between looks at the clock */

enum job_state
{
    JOB_NEW,
    JOB_QUEUED,
    JOB_RUNNING,
    JOB_PARKED,
    JOB_DONE
};

typedef struct job_list
{
    ax_job *head;
    ax_job *tail;
} job_list;

enum slot_state
{
    SLOT_FREE,
    SLOT_LIVE,
    SLOT_LEFT /* the thread is returning or has returned; to be joined */
};

typedef struct slot
{
    pthread_t thread;
    ax_pool *pool;         /* immutable */
    uint32_t idx;          /* immutable */
    enum slot_state state; /* guarded by pool.lock */
} slot;

struct ax_pool
{
    pthread_mutex_t lock;
    pthread_cond_t work;       /* sleeping threads; monotonic clock */
    uint32_t max_threads;      /* immutable */
    void (*on_idle)(void *arg); /* this, its argument and the next: immutable */
    void *on_idle_arg;
    uint32_t idle_ms;
    uint32_t spin_us;          /* immutable */
    _Atomic uint32_t threads;  /* written under lock; read by anybody for reports */
    _Atomic uint32_t epoch;    /* counts jobs that became ready; spinning threads watch it, the
                                * jobs themselves are published by the lock, so relaxed */
    uint32_t starting;         /* made, have not claimed yet; guarded by lock */
    uint32_t spinning;         /* guarded by lock */
    uint32_t sleeping;         /* guarded by lock */
    uint64_t live_jobs;        /* queued, running or parked; guarded by lock */
    ax_group *ready_head;      /* ring of groups to claim from; guarded by lock */
    ax_group *ready_tail;
    ax_group *groups;          /* all groups, guarded by lock */
    ax_permits *shared;        /* NULL: no permits are needed; guarded by lock, as the next three */
    uint32_t total;            /* permits of all pools together */
    uint32_t running;          /* jobs that run on threads of ours: permits taken */
    bool hungry;               /* counted in shared->hungry */
    bool ending;               /* ax_pool_destroy was called; guarded by lock */
    bool joined;               /* no thread is left, the last group frees the pool; by lock */
    slot slots[];              /* max_threads */
};

struct ax_group
{
    ax_pool *pool;             /* borrowed; kept alive by this group */
    uint32_t max_running;      /* immutable */
    uint32_t running;          /* the rest: guarded by pool.lock */
    bool stopped;
    bool ready;                /* in the ready ring */
    bool hosted;               /* immutable: jobs run in ax_group_run only, never in the ring */
    void (*wake)(void *arg);   /* immutable, hosted only; may be NULL */
    void *wake_arg;
    job_list resumed;          /* queued, and ran before: these go first, so that a query has no
                                * more jobs under way than there are threads */
    job_list queued;           /* queued, never ran */
    job_list parked;
    ax_group *ready_next;
    ax_group *next, *prev;     /* list of all groups */
    pthread_cond_t quiet;      /* signalled when the last running job of a stopped group ends */
    _Atomic uint32_t peak;     /* written under lock, read by anybody */
    _Atomic uint64_t cpu_ns;   /* a counter; relaxed */
};

/* ---- lists ----------------------------------------------------------------------------------- */

static void list_push(job_list *l, ax_job *j)
{
    j->next = NULL;
    j->prev = l->tail;
    if (l->tail != NULL)
        l->tail->next = j;
    else
        l->head = j;
    l->tail = j;
}

static void list_remove(job_list *l, ax_job *j)
{
    if (j->prev != NULL)
        j->prev->next = j->next;
    else
        l->head = j->next;
    if (j->next != NULL)
        j->next->prev = j->prev;
    else
        l->tail = j->prev;
    j->next = NULL;
    j->prev = NULL;
}

static bool group_has_queued(const ax_group *g)
{
    return g->resumed.head != NULL || g->queued.head != NULL;
}

static ax_job *take_queued(ax_group *g)
{
    job_list *l = g->resumed.head != NULL ? &g->resumed : &g->queued;
    ax_job *j = l->head;

    list_remove(l, j);
    return j;
}

static bool group_can_run(const ax_group *g)
{
    return !g->hosted && !g->stopped && group_has_queued(g) && g->running < g->max_running;
}

/* Put the group at the end of the ring if it belongs there and is not in it. */
static void ring_update(ax_pool *p, ax_group *g)
{
    if (g->ready || !group_can_run(g))
        return;
    g->ready = true;
    g->ready_next = NULL;
    if (p->ready_tail != NULL)
        p->ready_tail->ready_next = g;
    else
        p->ready_head = g;
    p->ready_tail = g;
}

static void ring_remove(ax_pool *p, ax_group *g)
{
    ax_group *before = NULL;

    if (!g->ready)
        return;
    for (ax_group *at = p->ready_head; at != g; at = at->ready_next)
        before = at;
    if (before != NULL)
        before->ready_next = g->ready_next;
    else
        p->ready_head = g->ready_next;
    if (p->ready_tail == g)
        p->ready_tail = before;
    g->ready = false;
    g->ready_next = NULL;
}

/* ---- permits; the lock is held --------------------------------------------------------------- */

#define SHARED(field) atomic_load_explicit(&p->shared->field, memory_order_relaxed)

static uint32_t fair_share(const ax_pool *p)
{
    uint32_t pools = SHARED(pools);

    return pools > 1 && p->total > pools ? p->total / pools : pools > 1 ? 1 : p->total;
}

/* Might one more job run now? */
static bool permit_free(const ax_pool *p)
{
    if (p->shared == NULL || p->running == 0)
        return true;
    if (SHARED(in_use) >= p->total)
        return false;
    return p->running < fair_share(p) || SHARED(hungry) == (p->hungry ? 1u : 0u);
}

static bool permit_take(ax_pool *p)
{
    uint32_t seen;

    if (p->shared == NULL)
        return true;
    if (p->running == 0)
    {
        atomic_fetch_add_explicit(&p->shared->in_use, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&p->shared->pools, 1, memory_order_relaxed);
        p->running = 1;
        return true;
    }
    seen = SHARED(in_use);
    while (permit_free(p) && seen < p->total)
        if (atomic_compare_exchange_weak_explicit(&p->shared->in_use, &seen, seen + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        {
            p->running++;
            return true;
        }
    return false;
}

static void permit_give(ax_pool *p)
{
    if (p->shared == NULL)
        return;
    atomic_fetch_sub_explicit(&p->shared->in_use, 1, memory_order_relaxed);
    if (--p->running == 0)
        atomic_fetch_sub_explicit(&p->shared->pools, 1, memory_order_relaxed);
}

/* To be called when the ring or the number of running jobs has changed. */
static void permit_tell(ax_pool *p)
{
    bool hungry;

    if (p->shared == NULL)
        return;
    hungry = p->ready_head != NULL && p->running > 0 && p->running < fair_share(p) &&
             SHARED(in_use) >= p->total;
    if (hungry && !p->hungry)
        atomic_fetch_add_explicit(&p->shared->hungry, 1, memory_order_relaxed);
    else if (!hungry && p->hungry)
        atomic_fetch_sub_explicit(&p->shared->hungry, 1, memory_order_relaxed);
    p->hungry = hungry;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *thread_main(void *arg);

/* Start a thread into slot s; its signal mask is inherited, so there is no window in which it
 * could take a signal meant for the host. */
static bool slot_start(slot *s)
{
    static const int sync_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    pthread_attr_t attr;
    int rc;

    if (s->state == SLOT_LEFT)
    {
        /* It set this state under the lock as its last act: the join waits for its exit only. */
        pthread_join(s->thread, NULL);
        s->state = SLOT_FREE;
    }
    if (pthread_attr_init(&attr) != 0)
        return false;
    (void) pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof sync_signals / sizeof sync_signals[0]; i++)
        sigdelset(&blocked, sync_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    rc = pthread_create(&s->thread, &attr, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc != 0)
        return false;
    s->state = SLOT_LIVE;
    return true;
}

static bool pool_grow(ax_pool *p)
{
    uint32_t threads = atomic_load_explicit(&p->threads, memory_order_relaxed);

    if (threads >= p->max_threads || p->ending)
        return false;
    for (uint32_t i = 0; i < p->max_threads; i++)
        if (p->slots[i].state != SLOT_LIVE)
        {
            if (!slot_start(&p->slots[i]))
                return false;
            atomic_store_explicit(&p->threads, threads + 1, memory_order_relaxed);
            p->starting++;
            return true;
        }
    return false;
}

/* The ring may have become non-empty: see that somebody claims. */
static void call_thread(ax_pool *p)
{
    permit_tell(p);
    if (p->ready_head == NULL || !permit_free(p))
        return;
    atomic_fetch_add_explicit(&p->epoch, 1, memory_order_relaxed);
    if (p->spinning > 0 || p->starting > 0)
        return; /* they look again under the lock before they sleep */
    if (p->sleeping > 0)
        pthread_cond_signal(&p->work);
    else
        (void) pool_grow(p);
}

static void job_enqueue(ax_pool *p, ax_job *j)
{
    list_push(j->state == JOB_NEW ? &j->group->queued : &j->group->resumed, j);
    j->state = JOB_QUEUED;
    ring_update(p, j->group);
    if (j->group->wake != NULL)
        j->group->wake(j->group->wake_arg);
}

/* ---- claiming and running -------------------------------------------------------------------- */

static void start_job(ax_group *g, ax_job *j)
{
    j->state = JOB_RUNNING;
    j->woken = false;
    g->running++;
    if (g->running > atomic_load_explicit(&g->peak, memory_order_relaxed))
        atomic_store_explicit(&g->peak, g->running, memory_order_relaxed);
}

static ax_job *claim(ax_pool *p)
{
    ax_group *g = p->ready_head;
    ax_job *j;

    if (g == NULL || !permit_take(p))
    {
        permit_tell(p);
        return NULL;
    }
    ring_remove(p, g);
    j = take_queued(g);
    start_job(g, j);
    ring_update(p, g);
    call_thread(p);
    return j;
}

static void job_after_run(ax_pool *p, ax_group *g, ax_job *j, ax_run result)
{
    g->running--;
    if (result == AX_RUN_DONE)
        p->live_jobs--;
    else if (g->stopped)
    {
        j->state = JOB_DONE;
        p->live_jobs--;
    }
    else if (result == AX_RUN_AGAIN || j->woken)
        job_enqueue(p, j);
    else
    {
        j->state = JOB_PARKED;
        list_push(&g->parked, j);
    }
    ring_update(p, g);
    if (g->stopped && g->running == 0)
        pthread_cond_broadcast(&g->quiet);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

/* Called and returns with the lock held. */
static void run_job(ax_pool *p, ax_job *j)
{
    ax_group *g = j->group;
    bool hosted = g->hosted;
    uint64_t begin_ns;
    ax_run result;

    pthread_mutex_unlock(&p->lock);
    begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    result = j->run(j);
    atomic_fetch_add_explicit(&g->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns,
                              memory_order_relaxed);
    pthread_mutex_lock(&p->lock);
    if (!hosted)
        permit_give(p);
    job_after_run(p, g, j, result);
}

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Look for work without the lock for a short while; called and returns with the lock held. */
static void spin(ax_pool *p)
{
    uint32_t seen = atomic_load_explicit(&p->epoch, memory_order_relaxed);
    uint64_t end_ns;

    p->spinning++;
    pthread_mutex_unlock(&p->lock);
    end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t) p->spin_us * 1000u;
    do
    {
        for (uint32_t i = 0; i < SPIN_ROUNDS; i++)
        {
            if (atomic_load_explicit(&p->epoch, memory_order_relaxed) != seen)
                break;
            cpu_pause();
        }
    } while (atomic_load_explicit(&p->epoch, memory_order_relaxed) == seen &&
             clock_ns(CLOCK_MONOTONIC) < end_ns);
    pthread_mutex_lock(&p->lock);
    p->spinning--;
}

/* Sleep until called or until the deadline; false: the deadline has passed. */
static bool sleep_until(ax_pool *p, uint64_t deadline_ns)
{
    struct timespec ts = {(time_t) (deadline_ns / 1000000000u), (long) (deadline_ns % 1000000000u)};
    int rc;

    p->sleeping++;
    rc = pthread_cond_timedwait(&p->work, &p->lock, &ts);
    p->sleeping--;
    return rc != ETIMEDOUT;
}

/* No job is to be had: spin, then sleep.  false: the thread shall leave.  The lock is held. */
static bool wait_for_work(ax_pool *p)
{
    uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t) p->idle_ms * 1000000u;

    spin(p);
    while (p->ready_head == NULL || !permit_free(p))
    {
        if (p->ending)
            return false;
        if (sleep_until(p, deadline_ns) || (p->ready_head != NULL && permit_free(p)) || p->ending)
            continue;
        if (p->live_jobs == 0 || atomic_load_explicit(&p->threads, memory_order_relaxed) > 1)
            return false;
        deadline_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t) p->idle_ms * 1000000u;
    }
    return true;
}

static void *thread_main(void *arg)
{
    slot *s = (slot *) arg;
    ax_pool *p = s->pool;
    char name[16];
    bool last;

    snprintf(name, sizeof name, "ax-%u", s->idx % 1000000u);
    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&p->lock);
    p->starting--;
    for (;;)
    {
        ax_job *j = claim(p);

        if (j != NULL)
            run_job(p, j);
        else if (!wait_for_work(p))
            break;
    }
    s->state = SLOT_LEFT;
    last = atomic_fetch_sub_explicit(&p->threads, 1, memory_order_relaxed) == 1;
    pthread_mutex_unlock(&p->lock);
    /* Nobody has asked for anything for a while: what was kept for the next query goes back. */
    if (last && p->on_idle != NULL)
        p->on_idle(p->on_idle_arg);
    if (last)
        (void) ax_slab_trim(0);
    return NULL;
}

/* ---- pool ------------------------------------------------------------------------------------ */

ax_status ax_pool_create(ax_pool **out, uint32_t max_threads, uint32_t idle_ms, uint32_t spin_us)
{
    ax_pool *p;
    pthread_condattr_t attr;

    *out = NULL;
    if (max_threads == 0)
        max_threads = 1;
    p = (ax_pool *) ax_obj_alloc(sizeof *p + (size_t) max_threads * sizeof(slot));
    if (p == NULL)
        return AX_ENOMEM;
    p->max_threads = max_threads;
    p->idle_ms = idle_ms > 0 ? idle_ms : IDLE_DEFAULT_MS;
    p->spin_us = spin_us > 0 ? spin_us : SPIN_DEFAULT_US;
    for (uint32_t i = 0; i < max_threads; i++)
    {
        p->slots[i].pool = p;
        p->slots[i].idx = i;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->work, &attr);
    pthread_condattr_destroy(&attr);
    *out = p;
    return AX_OK;
}

static void pool_free(ax_pool *p)
{
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    ax_obj_free(p);
}

/* Take all jobs of a list out; they are over. */
static void list_finish(ax_pool *p, job_list *l)
{
    while (l->head != NULL)
    {
        ax_job *j = l->head;

        list_remove(l, j);
        j->state = JOB_DONE;
        p->live_jobs--;
    }
}

/* Nothing of the group starts any more.  The lock is held. */
static void group_close(ax_pool *p, ax_group *g)
{
    g->stopped = true;
    ring_remove(p, g);
    list_finish(p, &g->resumed);
    list_finish(p, &g->queued);
    list_finish(p, &g->parked);
    permit_tell(p);
}

void ax_pool_on_idle(ax_pool *p, void (*fn)(void *arg), void *arg)
{
    p->on_idle = fn;
    p->on_idle_arg = arg;
}

void ax_pool_destroy(ax_pool *p)
{
    bool last;

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    for (ax_group *g = p->groups; g != NULL; g = g->next)
        group_close(p, g);
    p->ending = true;
    atomic_fetch_add_explicit(&p->epoch, 1, memory_order_relaxed);
    pthread_cond_broadcast(&p->work);
    /* No slot changes to LIVE any more, so the lock is not needed to walk them. */
    for (uint32_t i = 0; i < p->max_threads; i++)
        if (p->slots[i].state != SLOT_FREE)
        {
            pthread_t thread = p->slots[i].thread;

            pthread_mutex_unlock(&p->lock);
            pthread_join(thread, NULL);
            pthread_mutex_lock(&p->lock);
            p->slots[i].state = SLOT_FREE;
        }
    p->joined = true;
    last = p->groups == NULL;
    pthread_mutex_unlock(&p->lock);
    if (last)
        pool_free(p);
}

void ax_pool_share(ax_pool *p, ax_permits *s, uint32_t total)
{
    pthread_mutex_lock(&p->lock);
    if (p->shared == NULL && atomic_load_explicit(&p->threads, memory_order_relaxed) == 0)
        p->shared = s;
    p->total = total;
    call_thread(p);
    pthread_mutex_unlock(&p->lock);
}

uint32_t ax_pool_most(ax_pool *p)
{
    uint32_t most;

    pthread_mutex_lock(&p->lock);
    most = p->shared != NULL && p->total < p->max_threads ? p->total : p->max_threads;
    pthread_mutex_unlock(&p->lock);
    return most;
}

uint32_t ax_pool_threads(const ax_pool *p)
{
    return atomic_load_explicit(&p->threads, memory_order_relaxed);
}

/* ---- groups ---------------------------------------------------------------------------------- */

ax_status ax_group_create(ax_pool *p, uint32_t max_running, ax_group **out)
{
    ax_group *g = (ax_group *) ax_obj_alloc(sizeof *g);

    *out = NULL;
    if (g == NULL)
        return AX_ENOMEM;
    g->pool = p;
    g->max_running = max_running > 0 ? max_running : 1;
    pthread_cond_init(&g->quiet, NULL);
    pthread_mutex_lock(&p->lock);
    g->stopped = p->ending;
    g->next = p->groups;
    if (p->groups != NULL)
        p->groups->prev = g;
    p->groups = g;
    pthread_mutex_unlock(&p->lock);
    *out = g;
    return AX_OK;
}

ax_status ax_group_create_hosted(ax_pool *p, void (*wake)(void *arg), void *wake_arg,
                                 ax_group **out)
{
    ax_status st = ax_group_create(p, 1, out);

    if (st != AX_OK)
        return st;
    (*out)->hosted = true;
    (*out)->wake = wake;
    (*out)->wake_arg = wake_arg;
    return AX_OK;
}

bool ax_group_run(ax_group *g, uint32_t max_us)
{
    ax_pool *p = g->pool;
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t) max_us * 1000u;
    bool more;

    AX_ASSERT(g->hosted);
    pthread_mutex_lock(&p->lock);
    while (!g->stopped && group_has_queued(g))
    {
        ax_job *j = take_queued(g);

        start_job(g, j);
        run_job(p, j);
        if (clock_ns(CLOCK_MONOTONIC) >= end_ns)
            break;
    }
    more = !g->stopped && group_has_queued(g);
    pthread_mutex_unlock(&p->lock);
    return more;
}

void ax_group_stop(ax_group *g)
{
    ax_pool *p = g->pool;

    pthread_mutex_lock(&p->lock);
    group_close(p, g);
    while (g->running > 0)
        pthread_cond_wait(&g->quiet, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void ax_group_destroy(ax_group *g)
{
    ax_pool *p;
    bool last;

    if (g == NULL)
        return;
    p = g->pool;
    ax_group_stop(g);
    pthread_mutex_lock(&p->lock);
    if (g->prev != NULL)
        g->prev->next = g->next;
    else
        p->groups = g->next;
    if (g->next != NULL)
        g->next->prev = g->prev;
    last = p->joined && p->groups == NULL;
    pthread_mutex_unlock(&p->lock);
    pthread_cond_destroy(&g->quiet);
    ax_obj_free(g);
    if (last)
        pool_free(p);
}

uint32_t ax_group_peak_running(const ax_group *g)
{
    return atomic_load_explicit(&g->peak, memory_order_relaxed);
}

uint64_t ax_group_cpu_ns(const ax_group *g)
{
    return atomic_load_explicit(&g->cpu_ns, memory_order_relaxed);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

void ax_job_init(ax_job *j, ax_job_fn run, ax_group *g)
{
    j->run = run;
    j->group = g;
    j->next = NULL;
    j->prev = NULL;
    j->state = JOB_NEW;
    j->woken = false;
}

ax_status ax_job_submit(ax_job *j)
{
    ax_group *g = j->group;
    ax_pool *p = g->pool;
    ax_status st = AX_OK;

    pthread_mutex_lock(&p->lock);
    AX_ASSERT(j->state == JOB_NEW);
    if (g->stopped)
        j->state = JOB_DONE;
    else if (!g->hosted && atomic_load_explicit(&p->threads, memory_order_relaxed) == 0
             && !pool_grow(p))
        st = AX_ELIMIT;
    else
    {
        p->live_jobs++;
        job_enqueue(p, j);
        call_thread(p);
    }
    pthread_mutex_unlock(&p->lock);
    return st;
}

void ax_job_wake(ax_job *j)
{
    ax_group *g = j->group;
    ax_pool *p = g->pool;

    pthread_mutex_lock(&p->lock);
    if (j->state == JOB_RUNNING)
        j->woken = true;
    else if (j->state == JOB_PARKED)
    {
        list_remove(&g->parked, j);
        job_enqueue(p, j);
        call_thread(p);
    }
    pthread_mutex_unlock(&p->lock);
}
