/* Threads and jobs: one pool per process, jobs that belong to groups (a query is a group).
 *
 *            submit                 claim                run() = DONE
 *   NEW ---------------> QUEUED ------------> RUNNING -----------------> DONE
 *                          ^  ^                 |  |
 *                          |  +--- AGAIN -------+  | BLOCKED
 *                          |                       v
 *                          +------ wake -------- PARKED
 *
 * Nothing sleeps inside a job: one that cannot go on returns AX_RUN_BLOCKED and is queued again by
 * ax_job_wake.  A wake that arrives while the job still runs is remembered, so that none is lost.
 * Hence one thread serves any number of open queries (two cursors on one thread work), and
 * ax_group_stop ends always: it takes QUEUED and PARKED jobs out and waits only for RUNNING ones,
 * which look at their query's stop flag.
 *
 * Threads are made with all asynchronous signals blocked (the host's handlers run on the host's
 * thread only), named "ax-<n>", with 1 MiB stacks; they start when the first job is submitted,
 * spin for a short while when idle, then sleep, and exit after idle_ms; the last one to exit gives
 * the cached slabs back.  A process that never
 * submits a job has no thread of ours.
 *
 * The pool must not be used across fork(). */
#ifndef AX_SCHED_H
#define AX_SCHED_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ax_pool ax_pool;
typedef struct ax_group ax_group;
typedef struct ax_job ax_job;

typedef enum ax_run
{
    AX_RUN_DONE,    /* finished; never run again; the job's memory may be reused at once */
    AX_RUN_AGAIN,   /* let other groups run (used for fairness about every 5 ms), then me: before
                     * jobs of my group that never ran */
    AX_RUN_BLOCKED, /* do not run before ax_job_wake */
} ax_run;

typedef ax_run (*ax_job_fn)(ax_job *job);

/* A number of threads shared by the pools of several processes, in memory that they share; all zero
 * at first.  A pool takes a permit for each job that runs and gives it back when the job returns,
 * about every 5 ms; its first running job needs none to be left, so that nobody waits for others.
 * A pool with less than its fair share (total / pools that run) that found none left is hungry, and
 * while another one is, pools with more than theirs take none.  Only atomics, all relaxed: they are
 * counts and publish nothing.  A process that dies with permits takes them along: who shares must
 * start over with fresh memory then. */
typedef struct ax_permits
{
    _Atomic uint32_t in_use;
    _Atomic uint32_t pools;   /* with a running job */
    _Atomic uint32_t hungry;
} ax_permits;

/* A job is embedded in its owner's struct and initialised by ax_job_init; the other fields are the
 * scheduler's.  Lifetime: until DONE or the return of ax_group_stop. */
struct ax_job
{
    ax_job_fn run;
    ax_group *group;  /* borrowed until the job is done */
    ax_job *next;     /* private: queue link */
    ax_job *prev;     /* private */
    uint8_t state;    /* private, guarded by the pool's lock */
    bool woken;       /* private, guarded by the pool's lock */
};

/* idle_ms: a thread that found no job for so long exits; 0 means 60,000.  spin_us: how long an
 * idle thread looks for work before it sleeps; 0 means 30.  max_threads: upper bound of threads
 * over all groups, at least 1.  No thread is started here.  Thread: the host's. */
ax_status ax_pool_create(ax_pool **out, uint32_t max_threads, uint32_t idle_ms, uint32_t spin_us)
    AX_MUST_USE;

/* Stop all groups, then join all threads.  NULL is allowed. */
void ax_pool_destroy(ax_pool *p);

uint32_t ax_pool_threads(const ax_pool *p); /* threads alive now */
uint32_t ax_pool_most(ax_pool *p);          /* jobs that can run at once, as things are */

/* From now on the pool runs at most so many jobs at once, together with all others that share s
 * (hosted groups do not count).  Later calls change the total; s only counts in the first one,
 * which comes before any job.  total: at least 1. */
void ax_pool_share(ax_pool *p, ax_permits *s, uint32_t total);

/* fn(arg) is called by the last thread that leaves, as nobody has asked for anything for idle_ms,
 * before free memory is given back.  To be set before any job. */
void ax_pool_on_idle(ax_pool *p, void (*fn)(void *arg), void *arg);

/* A group of jobs of which at most max_running run at the same time (a query's max_threads). */
ax_status ax_group_create(ax_pool *p, uint32_t max_running, ax_group **out) AX_MUST_USE;

/* A group whose jobs run on the thread that calls ax_group_run, and on no other: for short work
 * that must not start threads (reading metadata while a query is planned).  wake(arg) is called,
 * under the pool's lock, when a job was queued: it must not block and not call back. */
ax_status ax_group_create_hosted(ax_pool *p, void (*wake)(void *arg), void *wake_arg,
                                 ax_group **out) AX_MUST_USE;

/* Run queued jobs of a hosted group one after another until none is queued or max_us have passed;
 * at least one runs if one is queued.  true: more are queued.  Not inside a job. */
bool ax_group_run(ax_group *g, uint32_t max_us);

/* End a group: see above.  Idempotent.  May be called by any thread but a job of this group.
 * Afterwards no job of the group runs, submits and wakes are ignored. */
void ax_group_stop(ax_group *g);
void ax_group_destroy(ax_group *g); /* stops first; NULL is allowed */

uint32_t ax_group_peak_running(const ax_group *g); /* most jobs seen running at once */
uint64_t ax_group_cpu_ns(const ax_group *g);       /* thread CPU time spent in its jobs */

void ax_job_init(ax_job *j, ax_job_fn run, ax_group *g);

/* Queue a job.  Thread: any, also inside jobs.  Starts threads as needed; when no thread at all
 * can be started, AX_ELIMIT is returned and the job is not queued. */
ax_status ax_job_submit(ax_job *j) AX_MUST_USE;

/* Run a parked job again.  Allowed in every state; ignored for a job that is done. */
void ax_job_wake(ax_job *j);

#endif
