/* The scheduler: states, wake-ups that come early, limits, fairness, stopping, idle exit.
 *
 * The random test takes its seed from AX_SEED and prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/sched.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OWNER(type, member, ptr) ((type *) (void *) ((char *) (ptr) - offsetof(type, member)))

static void nap_us(long us)
{
    struct timespec ts = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&ts, NULL);
}

/* Wait, at most ten seconds, until *v has reached at_least. */
static bool reaches(_Atomic int *v, int at_least)
{
    for (int i = 0; i < 100000; i++)
    {
        if (atomic_load(v) >= at_least)
            return true;
        nap_us(100);
    }
    return false;
}

typedef struct unit
{
    ax_job job;
    _Atomic int runs;
    _Atomic int go;      /* a running job returns when this is set */
    ax_run answers[4];   /* of the first runs; then DONE */
    int ends_at;         /* runs until DONE */
    uint32_t spin;       /* work */
} unit;

static ax_run step(ax_job *j)
{
    unit *u = OWNER(unit, job, j);
    int n = atomic_fetch_add(&u->runs, 1);

    return n < u->ends_at ? u->answers[n % 4] : AX_RUN_DONE;
}

static ax_run hold(ax_job *j)
{
    unit *u = OWNER(unit, job, j);

    atomic_fetch_add(&u->runs, 1);
    while (!atomic_load(&u->go))
        nap_us(50);
    return AX_RUN_BLOCKED;
}

static ax_run park(ax_job *j)
{
    atomic_fetch_add(&OWNER(unit, job, j)->runs, 1);
    return AX_RUN_BLOCKED;
}

static ax_pool *pool_of(uint32_t threads, uint32_t idle_ms)
{
    ax_pool *p = NULL;

    assert_int_equal(ax_pool_create(&p, threads, idle_ms, 1), AX_OK);
    return p;
}

static ax_group *group_of(ax_pool *p, uint32_t max_running)
{
    ax_group *g = NULL;

    assert_int_equal(ax_group_create(p, max_running, &g), AX_OK);
    return g;
}

static void submit(unit *u, ax_job_fn fn, ax_group *g)
{
    ax_job_init(&u->job, fn, g);
    assert_int_equal(ax_job_submit(&u->job), AX_OK);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void a_job_runs_again_until_done(void **state)
{
    ax_pool *p = pool_of(2, 0);
    ax_group *g = group_of(p, 2);
    unit u = {.answers = {AX_RUN_AGAIN, AX_RUN_AGAIN, AX_RUN_AGAIN, AX_RUN_AGAIN}, .ends_at = 9};

    (void) state;
    assert_int_equal(ax_pool_threads(p), 0);
    submit(&u, step, g);
    assert_true(reaches(&u.runs, 10));
    ax_group_destroy(g);
    assert_int_equal(atomic_load(&u.runs), 10);
    ax_pool_destroy(p);
}

static void one_job_starts_one_thread(void **state)
{
    ax_pool *p = pool_of(8, 0);
    ax_group *g = group_of(p, 8);
    unit u = {.ends_at = 0};

    (void) state;
    submit(&u, step, g);
    assert_true(reaches(&u.runs, 1));
    assert_int_equal(ax_pool_threads(p), 1);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

static void a_parked_job_waits_for_its_wake(void **state)
{
    ax_pool *p = pool_of(1, 0);
    ax_group *g = group_of(p, 1);
    unit u = {.answers = {AX_RUN_BLOCKED, AX_RUN_BLOCKED}, .ends_at = 2};

    (void) state;
    submit(&u, step, g);
    assert_true(reaches(&u.runs, 1));
    nap_us(3000);
    assert_int_equal(atomic_load(&u.runs), 1);
    ax_job_wake(&u.job);
    assert_true(reaches(&u.runs, 2));
    nap_us(3000);
    assert_int_equal(atomic_load(&u.runs), 2);
    ax_job_wake(&u.job);
    assert_true(reaches(&u.runs, 3));
    nap_us(1000);
    ax_job_wake(&u.job); /* done: ignored */
    nap_us(1000);
    assert_int_equal(atomic_load(&u.runs), 3);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

static void a_wake_before_the_park_is_remembered(void **state)
{
    ax_pool *p = pool_of(1, 0);
    ax_group *g = group_of(p, 1);
    unit u = {.ends_at = 0};

    (void) state;
    ax_job_init(&u.job, hold, g);
    ax_job_wake(&u.job); /* not submitted yet: ignored */
    assert_int_equal(ax_job_submit(&u.job), AX_OK);
    assert_true(reaches(&u.runs, 1));
    ax_job_wake(&u.job); /* it runs */
    ax_job_wake(&u.job); /* two wakes are one */
    atomic_store(&u.go, 1);
    assert_true(reaches(&u.runs, 2));
    nap_us(3000);
    assert_int_equal(atomic_load(&u.runs), 2);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

/* run() may give its own memory away: nobody touches it after DONE. */
typedef struct heap_unit
{
    ax_job job;
    _Atomic int *left;
} heap_unit;

static ax_run free_myself(ax_job *j)
{
    heap_unit *u = OWNER(heap_unit, job, j);
    _Atomic int *left = u->left;

    ax_obj_free(u);
    atomic_fetch_add(left, 1);
    return AX_RUN_DONE;
}

static void a_job_may_free_itself(void **state)
{
    ax_pool *p = pool_of(2, 0);
    ax_group *g = group_of(p, 2);
    _Atomic int done = 0;

    (void) state;
    for (int i = 0; i < 500; i++)
    {
        heap_unit *u = (heap_unit *) ax_obj_alloc(sizeof *u);

        u->left = &done;
        ax_job_init(&u->job, free_myself, g);
        assert_int_equal(ax_job_submit(&u->job), AX_OK);
    }
    assert_true(reaches(&done, 500));
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

/* ---- limits and fairness --------------------------------------------------------------------- */

typedef struct gauge
{
    ax_job job;
    _Atomic int *now, *peak, *done;
    int want; /* jobs hold on until so many ran at once: whatever the machine's load */
} gauge;

static ax_run measure(ax_job *j)
{
    gauge *u = OWNER(gauge, job, j);
    int now = atomic_fetch_add(u->now, 1) + 1;
    int peak = atomic_load(u->peak);

    while (now > peak && !atomic_compare_exchange_weak(u->peak, &peak, now))
        ;
    for (int i = 0; i < 50000 && atomic_load(u->peak) < u->want; i++)
        nap_us(200);
    nap_us(200);
    atomic_fetch_sub(u->now, 1);
    atomic_fetch_add(u->done, 1);
    return AX_RUN_DONE;
}

static void max_running_is_respected_and_used(void **state)
{
    ax_pool *p = pool_of(8, 0);
    ax_group *g[2] = {group_of(p, 3), group_of(p, 1)};
    _Atomic int now[2] = {0, 0}, peak[2] = {0, 0}, done[2] = {0, 0};
    static gauge u[2][100];

    (void) state;
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 2; k++)
        {
            u[k][i].now = &now[k];
            u[k][i].peak = &peak[k];
            u[k][i].done = &done[k];
            u[k][i].want = k == 0 ? 3 : 1;
            ax_job_init(&u[k][i].job, measure, g[k]);
            assert_int_equal(ax_job_submit(&u[k][i].job), AX_OK);
        }
    assert_true(reaches(&done[0], 100));
    assert_true(reaches(&done[1], 100));
    assert_int_equal(atomic_load(&peak[0]), 3);
    assert_int_equal(atomic_load(&peak[1]), 1);
    assert_int_equal(ax_group_peak_running(g[0]), 3);
    assert_int_equal(ax_group_peak_running(g[1]), 1);
    assert_in_range(ax_pool_threads(p), 3, 8);
    ax_group_destroy(g[0]);
    ax_group_destroy(g[1]);
    ax_pool_destroy(p);
}

static ax_run forever(ax_job *j)
{
    atomic_fetch_add(&OWNER(unit, job, j)->runs, 1);
    return AX_RUN_AGAIN;
}

/* One thread, a group of a hundred restless jobs and a group of one: the one gets half. */
static void groups_take_turns(void **state)
{
    ax_pool *p = pool_of(1, 0);
    ax_group *many = group_of(p, 1), *one = group_of(p, 1);
    static unit u[100];
    unit single = {.ends_at = 0};
    long sum = 0;

    (void) state;
    for (int i = 0; i < 100; i++)
        submit(&u[i], forever, many);
    submit(&single, forever, one);
    assert_true(reaches(&single.runs, 1));
    for (int i = 0; i < 100; i++)
        atomic_store(&u[i].runs, 0);
    atomic_store(&single.runs, 0);
    assert_true(reaches(&single.runs, 2000));
    ax_group_stop(one);
    ax_group_stop(many);
    for (int i = 0; i < 100; i++)
        sum += atomic_load(&u[i].runs);
    /* The stop of `many` comes a little later than that of `one`; only starving is excluded. */
    assert_true(sum >= atomic_load(&single.runs) - 200);
    ax_group_destroy(one);
    ax_group_destroy(many);
    ax_pool_destroy(p);
}

/* Which job ran when. */
static unit *turn[8];
static _Atomic int nturns;

static ax_run note_turn(ax_job *j)
{
    unit *u = OWNER(unit, job, j);
    int n = atomic_fetch_add(&u->runs, 1);

    turn[atomic_load(&nturns)] = u;
    atomic_fetch_add(&nturns, 1);
    return n < 3 ? AX_RUN_AGAIN : AX_RUN_DONE;
}

/* What has begun is finished first: a second job begins when a thread has nothing else to run. */
static void jobs_that_ran_go_before_new_ones(void **state)
{
    ax_pool *p = pool_of(1, 0);
    ax_group *g = group_of(p, 2);
    unit gate = {0}, a = {0}, b = {0};

    (void) state;
    submit(&gate, hold, g);
    assert_true(reaches(&gate.runs, 1));
    submit(&a, note_turn, g);
    submit(&b, note_turn, g);
    atomic_store(&gate.go, true);
    assert_true(reaches(&nturns, 8));
    for (int i = 0; i < 8; i++)
        assert_ptr_equal(turn[i], i < 4 ? &a : &b);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

static ax_run burn(ax_job *j)
{
    unit *u = OWNER(unit, job, j);
    struct timespec a, b;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 20000000L);
    atomic_fetch_add(&u->runs, 1);
    return AX_RUN_DONE;
}

static void cpu_time_is_the_groups_own(void **state)
{
    ax_pool *p = pool_of(2, 0);
    ax_group *busy = group_of(p, 1), *lazy = group_of(p, 1);
    unit u = {.ends_at = 0}, v = {.ends_at = 0};

    (void) state;
    submit(&u, burn, busy);
    submit(&v, hold, lazy);
    assert_true(reaches(&u.runs, 1));
    assert_true(reaches(&v.runs, 1));
    atomic_store(&v.go, 1);
    ax_group_stop(busy);
    ax_group_stop(lazy);
    assert_true(ax_group_cpu_ns(busy) >= 20000000u);
    assert_true(ax_group_cpu_ns(lazy) < 20000000u);
    ax_group_destroy(busy);
    ax_group_destroy(lazy);
    ax_pool_destroy(p);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* The case that hangs pools whose jobs sleep: two cursors on one thread. */
static void two_groups_on_one_thread_first_parked_for_ever(void **state)
{
    ax_pool *p = pool_of(1, 0);
    ax_group *first = group_of(p, 1), *second = group_of(p, 1);
    unit a = {.ends_at = 0};
    unit b = {.ends_at = 3, .answers = {AX_RUN_AGAIN, AX_RUN_AGAIN, AX_RUN_AGAIN}};

    (void) state;
    submit(&a, park, first);
    assert_true(reaches(&a.runs, 1));
    submit(&b, step, second);
    assert_true(reaches(&b.runs, 4));
    ax_group_stop(first);
    ax_group_stop(first);
    ax_job_wake(&a.job);
    nap_us(2000);
    assert_int_equal(atomic_load(&a.runs), 1);
    ax_group_destroy(first);
    ax_group_destroy(second);
    ax_pool_destroy(p);
}

/* The only thread is busy for another group: stopping must not wait for it. */
static void stop_takes_queued_jobs_out(void **state)
{
    ax_pool *p = pool_of(1, 0);
    ax_group *busy = group_of(p, 1), *g = group_of(p, 1);
    unit a = {.ends_at = 0};
    static unit b[10];

    (void) state;
    memset(b, 0, sizeof b);
    submit(&a, hold, busy);
    assert_true(reaches(&a.runs, 1));
    for (int i = 0; i < 10; i++)
        submit(&b[i], step, g);
    ax_group_stop(g);
    atomic_store(&a.go, 1);
    submit(&b[0], step, g); /* ignored */
    nap_us(2000);
    for (int i = 0; i < 10; i++)
        assert_int_equal(atomic_load(&b[i].runs), 0);
    ax_group_destroy(g);
    ax_group_destroy(busy);
    ax_pool_destroy(p);
}

static void stop_waits_for_running_jobs(void **state)
{
    ax_pool *p = pool_of(3, 0);
    ax_group *g = group_of(p, 3);
    static gauge u[30];
    _Atomic int now = 0, peak = 0, done = 0;

    (void) state;
    for (int i = 0; i < 30; i++)
    {
        u[i].now = &now;
        u[i].peak = &peak;
        u[i].done = &done;
        ax_job_init(&u[i].job, measure, g);
        assert_int_equal(ax_job_submit(&u[i].job), AX_OK);
    }
    assert_true(reaches(&done, 1));
    ax_group_stop(g);
    assert_int_equal(atomic_load(&now), 0);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

static void the_pool_may_die_before_its_groups(void **state)
{
    ax_pool *p = pool_of(2, 0);
    ax_group *g = group_of(p, 1), *h = group_of(p, 1);
    unit a = {.ends_at = 0}, b = {.ends_at = 0};

    (void) state;
    submit(&a, park, g);
    submit(&b, forever, h);
    assert_true(reaches(&b.runs, 1));
    ax_pool_destroy(p);
    ax_job_wake(&a.job);
    ax_group_stop(g);
    ax_group_destroy(g);
    submit(&a, park, h);
    ax_group_destroy(h);
    ax_pool_destroy(NULL);
    ax_group_destroy(NULL);
    /* A pool that never ran anything. */
    ax_pool_destroy(pool_of(4, 0));
}

/* ---- threads --------------------------------------------------------------------------------- */

static void idle_threads_leave_but_not_from_parked_jobs(void **state)
{
    ax_pool *p = pool_of(4, 5);
    ax_group *g = group_of(p, 4);
    unit a[4] = {{.ends_at = 0}}, b = {.ends_at = 0};
    int i;

    (void) state;
    for (int round = 0; round < 3; round++)
    {
        for (i = 0; i < 4; i++)
        {
            atomic_store(&a[i].runs, 0);
            submit(&a[i], burn, g);
        }
        for (i = 0; i < 4; i++)
            assert_true(reaches(&a[i].runs, 1));
        for (i = 0; i < 10000 && ax_pool_threads(p) > 0; i++)
            nap_us(1000);
        assert_int_equal(ax_pool_threads(p), 0);
    }
    submit(&b, park, g);
    assert_true(reaches(&b.runs, 1));
    nap_us(30000);
    assert_int_equal(ax_pool_threads(p), 1);
    ax_job_wake(&b.job);
    assert_true(reaches(&b.runs, 2));
    ax_group_stop(g);
    for (i = 0; i < 10000 && ax_pool_threads(p) > 0; i++)
        nap_us(1000);
    assert_int_equal(ax_pool_threads(p), 0);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

typedef struct look
{
    ax_job job;
    _Atomic int seen;
    sigset_t mask;
    char name[16];
} look;

static ax_run look_around(ax_job *j)
{
    look *u = OWNER(look, job, j);

    pthread_sigmask(SIG_BLOCK, NULL, &u->mask);
    pthread_getname_np(pthread_self(), u->name, sizeof u->name);
    atomic_store(&u->seen, 1);
    return AX_RUN_DONE;
}

/* C12 */
static void threads_block_asynchronous_signals_only(void **state)
{
    static const int async[] = {SIGINT,  SIGTERM, SIGHUP, SIGALRM,
                                SIGUSR1, SIGUSR2, SIGURG, SIGCHLD};
    static const int sync[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    ax_pool *p = pool_of(1, 0);
    ax_group *g = group_of(p, 1);
    look u = {.seen = 0};
    sigset_t mine;

    (void) state;
    ax_job_init(&u.job, look_around, g);
    assert_int_equal(ax_job_submit(&u.job), AX_OK);
    assert_true(reaches(&u.seen, 1));
    for (size_t i = 0; i < sizeof async / sizeof async[0]; i++)
        assert_int_equal(sigismember(&u.mask, async[i]), 1);
    for (size_t i = 0; i < sizeof sync / sizeof sync[0]; i++)
        assert_int_equal(sigismember(&u.mask, sync[i]), 0);
    assert_string_equal(u.name, "ax-0");
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    assert_int_equal(sigismember(&mine, SIGINT), 0);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

/* ---- fifty random orders --------------------------------------------------------------------- */

typedef struct dice
{
    ax_job job;
    uint32_t seed;
    _Atomic int runs;
    _Atomic int parks;
} dice;

enum { DICE = 24, GROUPS = 3 };

typedef struct table
{
    ax_pool *p;
    ax_group *g[GROUPS];
    dice d[GROUPS][DICE];
    _Atomic int over;
} table;

static table *the_table;

static uint32_t roll(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static ax_run roll_on(ax_job *j)
{
    dice *d = OWNER(dice, job, j);
    uint32_t r = roll(&d->seed); /* plain memory: the scheduler must order successive runs */

    atomic_fetch_add(&d->runs, 1);
    /* Wake somebody of any group, maybe myself. */
    if (r % 3 == 0)
        ax_job_wake(&the_table->d[r / 3 % GROUPS][r / 9 % DICE].job);
    switch (r % 8)
    {
        case 0: return AX_RUN_DONE;
        case 1: case 2: case 3: atomic_fetch_add(&d->parks, 1); return AX_RUN_BLOCKED;
        default: return AX_RUN_AGAIN;
    }
}

static void *wake_about(void *arg)
{
    uint32_t seed = *(uint32_t *) arg;

    while (!atomic_load(&the_table->over))
    {
        uint32_t r = roll(&seed);

        ax_job_wake(&the_table->d[r % GROUPS][r / GROUPS % DICE].job);
        if (r % 16 == 0)
            nap_us(20);
    }
    return NULL;
}

static void one_random_order(uint32_t seed)
{
    table *t = (table *) ax_obj_alloc(sizeof *t);
    uint32_t waker_seed = seed ^ 0x5555;
    pthread_t waker;

    the_table = t;
    t->p = pool_of(1 + roll(&seed) % 4, 1 + roll(&seed) % 3);
    for (int k = 0; k < GROUPS; k++)
    {
        t->g[k] = group_of(t->p, 1 + roll(&seed) % 3);
        for (int i = 0; i < DICE; i++)
        {
            ax_job_init(&t->d[k][i].job, roll_on, t->g[k]);
            t->d[k][i].seed = roll(&seed) * 77u + seed;
        }
    }
    assert_int_equal(pthread_create(&waker, NULL, wake_about, &waker_seed), 0);
    for (int i = 0; i < DICE; i++)
        for (int k = 0; k < GROUPS; k++)
        {
            assert_int_equal(ax_job_submit(&t->d[k][i].job), AX_OK);
            if (roll(&seed) % 8 == 0)
                nap_us(roll(&seed) % 300);
            if (roll(&seed) % 40 == 0)
            {
                ax_group_stop(t->g[k]);
            }
        }
    nap_us(roll(&seed) % 2000);
    atomic_store(&t->over, 1);
    pthread_join(waker, NULL);
    if (roll(&seed) % 2 == 0)
    {
        ax_pool_destroy(t->p);
        t->p = NULL;
    }
    /* Jobs wake jobs of other groups, so all groups are stopped before one is freed. */
    for (int k = 0; k < GROUPS; k++)
        ax_group_stop(t->g[k]);
    for (int k = 0; k < GROUPS; k++)
        ax_group_destroy(t->g[k]);
    ax_pool_destroy(t->p);
    ax_obj_free(t);
}

static void fifty_random_orders(void **state)
{
    const char *env = getenv("AX_SEED");
    uint32_t seed = env != NULL ? (uint32_t) strtoul(env, NULL, 10) : (uint32_t) time(NULL);

    (void) state;
    print_message("AX_SEED=%u\n", seed);
    for (uint32_t i = 0; i < 50; i++)
        one_random_order(seed + i * 7919u);
}

/* Ping-pong: every wake must arrive, or the count stops. */
typedef struct pong
{
    ax_job job;
    struct pong *other;
    _Atomic int *count;
    _Atomic int balls;
} pong;

static ax_run play(ax_job *j)
{
    pong *u = OWNER(pong, job, j);

    while (atomic_load(&u->balls) > 0)
    {
        atomic_fetch_sub(&u->balls, 1);
        if (atomic_fetch_add(u->count, 1) >= 20000)
            return AX_RUN_BLOCKED;
        atomic_fetch_add(&u->other->balls, 1);
        ax_job_wake(&u->other->job);
    }
    return AX_RUN_BLOCKED;
}

static void no_wake_is_lost(void **state)
{
    ax_pool *p = pool_of(2, 1);
    ax_group *g = group_of(p, 1), *h = group_of(p, 1);
    _Atomic int count = 0;
    pong a = {.count = &count}, b = {.count = &count};

    (void) state;
    a.other = &b;
    b.other = &a;
    ax_job_init(&a.job, play, g);
    ax_job_init(&b.job, play, h);
    atomic_store(&a.balls, 1);
    assert_int_equal(ax_job_submit(&b.job), AX_OK);
    assert_int_equal(ax_job_submit(&a.job), AX_OK);
    assert_true(reaches(&count, 20000));
    ax_group_destroy(g);
    ax_group_destroy(h);
    ax_pool_destroy(p);
}

typedef struct hosted_job
{
    ax_job job; /* first */
    int runs;
} hosted_job;

static ax_run park_once(ax_job *job)
{
    return ((hosted_job *) job)->runs++ == 0 ? AX_RUN_BLOCKED : AX_RUN_DONE;
}

static void count_wake(void *arg) { ++*(int *) arg; }

static void hosted_jobs_run_on_the_caller_and_start_no_thread(void **state)
{
    ax_pool *p;
    ax_group *g;
    hosted_job j = {.runs = 0};
    int wakes = 0;

    (void) state;
    assert_int_equal(ax_pool_create(&p, 2, 0, 0), AX_OK);
    assert_int_equal(ax_group_create_hosted(p, count_wake, &wakes, &g), AX_OK);
    ax_job_init(&j.job, park_once, g);
    assert_int_equal(ax_job_submit(&j.job), AX_OK);
    assert_int_equal(wakes, 1);
    assert_int_equal(j.runs, 0);
    assert_false(ax_group_run(g, 1000));
    assert_int_equal(j.runs, 1);
    assert_false(ax_group_run(g, 1000)); /* parked: nothing to run */
    assert_int_equal(j.runs, 1);
    ax_job_wake(&j.job);
    assert_int_equal(wakes, 2);
    assert_false(ax_group_run(g, 1000));
    assert_int_equal(j.runs, 2);
    assert_int_equal(ax_pool_threads(p), 0);
    ax_group_destroy(g);
    ax_pool_destroy(p);
}

/* ---- permits --------------------------------------------------------------------------------- */

#define SHARERS 4

typedef struct sharer
{
    ax_job job;
    _Atomic int *running, *most; /* of its pool; of all pools together */
    _Atomic int *all;
    _Atomic int *over;
} sharer;

static ax_run take_turns(ax_job *j)
{
    sharer *s = OWNER(sharer, job, j);
    int all = atomic_fetch_add(s->all, 1) + 1, most = atomic_load(s->most);

    atomic_fetch_add(s->running, 1);
    while (all > most && !atomic_compare_exchange_weak(s->most, &most, all))
        ;
    nap_us(300);
    atomic_fetch_sub(s->running, 1);
    atomic_fetch_sub(s->all, 1);
    return atomic_load(s->over) ? AX_RUN_DONE : AX_RUN_AGAIN;
}

typedef struct pool_share
{
    ax_pool *p;
    ax_group *g;
    sharer s[SHARERS];
    _Atomic int running, over;
} pool_share;

static void share_start(pool_share *h, ax_permits *permits, _Atomic int *all, _Atomic int *most)
{
    h->p = pool_of(SHARERS, 0);
    ax_pool_share(h->p, permits, SHARERS);
    assert_int_equal(ax_group_create(h->p, SHARERS, &h->g), AX_OK);
    for (int i = 0; i < SHARERS; i++)
    {
        h->s[i] = (sharer){.running = &h->running, .most = most, .all = all, .over = &h->over};
        ax_job_init(&h->s[i].job, take_turns, h->g);
        assert_int_equal(ax_job_submit(&h->s[i].job), AX_OK);
    }
}

static void share_end(pool_share *h)
{
    atomic_store(&h->over, 1);
    ax_group_destroy(h->g);
    ax_pool_destroy(h->p);
}

/* One alone gets all, two get half each, and what one gives up the other takes. */
static void pools_share_permits(void **state)
{
    static ax_permits permits;
    static pool_share a, b;
    static _Atomic int all, most;

    (void) state;
    share_start(&a, &permits, &all, &most);
    assert_true(reaches(&a.running, SHARERS));
    share_start(&b, &permits, &all, &most);
    assert_true(reaches(&b.running, SHARERS / 2));
    nap_us(20000);
    assert_true(atomic_load(&permits.in_use) <= SHARERS + 1);
    assert_int_equal(atomic_load(&permits.pools), 2);
    /* the first job of a pool needs none to be left */
    assert_true(atomic_load(&most) <= SHARERS + 1);
    share_end(&a);
    assert_true(reaches(&b.running, SHARERS));
    share_end(&b);
    assert_int_equal(atomic_load(&permits.in_use), 0);
    assert_int_equal(atomic_load(&permits.pools), 0);
    assert_int_equal(atomic_load(&permits.hungry), 0);
}

/* No permit is left for anybody, and yet each goes on. */
static void a_pool_without_permits_runs_one_job(void **state)
{
    static ax_permits permits = {.in_use = 100, .pools = 1};
    static pool_share h;
    static _Atomic int all, most;

    (void) state;
    share_start(&h, &permits, &all, &most);
    assert_true(reaches(&h.running, 1));
    nap_us(20000);
    assert_int_equal(atomic_load(&most), 1);
    ax_pool_share(h.p, &permits, 200); /* a higher total comes into effect while jobs run */
    assert_true(reaches(&h.running, SHARERS));
    share_end(&h);
    assert_int_equal(atomic_load(&permits.in_use), 100);
    assert_int_equal(atomic_load(&permits.hungry), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs_again_until_done),
        cmocka_unit_test(one_job_starts_one_thread),
        cmocka_unit_test(a_parked_job_waits_for_its_wake),
        cmocka_unit_test(a_wake_before_the_park_is_remembered),
        cmocka_unit_test(a_job_may_free_itself),
        cmocka_unit_test(max_running_is_respected_and_used),
        cmocka_unit_test(groups_take_turns),
        cmocka_unit_test(jobs_that_ran_go_before_new_ones),
        cmocka_unit_test(cpu_time_is_the_groups_own),
        cmocka_unit_test(two_groups_on_one_thread_first_parked_for_ever),
        cmocka_unit_test(stop_takes_queued_jobs_out),
        cmocka_unit_test(stop_waits_for_running_jobs),
        cmocka_unit_test(the_pool_may_die_before_its_groups),
        cmocka_unit_test(idle_threads_leave_but_not_from_parked_jobs),
        cmocka_unit_test(threads_block_asynchronous_signals_only),
        cmocka_unit_test(fifty_random_orders),
        cmocka_unit_test(no_wake_is_lost),
        cmocka_unit_test(hosted_jobs_run_on_the_caller_and_start_no_thread),
        cmocka_unit_test(pools_share_permits),
        cmocka_unit_test(a_pool_without_permits_runs_one_job),
    };

    return cmocka_run_group_tests_name("base sched", tests, NULL, NULL);
}
