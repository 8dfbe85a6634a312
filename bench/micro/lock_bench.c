/* Locks and atomic operations for a million rows, of queries of several kinds at 1, 2 and 64 threads.
 *
 *   lock_bench FILE     FILE: rows of the ClickBench table, in Parquet
 *
 * Counted in the variant that `make LOCKSTAT=1` builds; `make locks DATA=FILE` does both.  "64 lanes"
 * has all of them compute at once, on however few processors; "64 threads" is what a query with
 * max_threads = 64 does on this machine.  Counts that grow with threads and not with rows are what
 * stands in the way of more processors; "waits" are locks found taken. */
#include "ax.h"
#include "base/lockstat.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADV, REGION, PHRASE, USER, URL, NCOLS };

static const char *const names[NCOLS] = {"AdvEngineID", "RegionID", "SearchPhrase", "UserID", "URL"};
static const ax_type_id types[NCOLS] = {AX_T_INT2, AX_T_INT4, AX_T_TEXT, AX_T_INT8, AX_T_TEXT};

typedef struct setting { const char *name; uint32_t threads, lanes; } setting;
static const setting settings[] = {{"1 thread", 1, 1}, {"2 threads", 2, 2}, {"64 threads", 64, 0},
                                   {"64 lanes", 64, 64}};
enum { NSETTINGS = sizeof settings / sizeof settings[0], WARM = 1, RUNS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static uint64_t wakes; /* guarded by lock, whose name in parentheses is not counted */

static void wake(void *arg)
{
    (void) arg;
    (pthread_mutex_lock)(&lock);
    wakes++;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
}

static void must(ax_status st, const ax_error *err)
{
    if (st == AX_OK)
        return;
    fprintf(stderr, "lock_bench: %s\n", err->msg);
    exit(1);
}

/* Run to the end; rows that came out. */
static uint64_t drain(ax_query *q)
{
    uint64_t rows = 0, seen;
    ax_next n;
    ax_batch *b;

    for (;;)
    {
        (pthread_mutex_lock)(&lock);
        seen = wakes;
        pthread_mutex_unlock(&lock);
        n = ax_query_next(q, &b);
        if (n == AX_NEXT_BATCH)
            rows += b->nsel;
        else if (n == AX_NEXT_DONE)
            return rows;
        else if (n != AX_NEXT_WAIT)
            must(AX_EPLAN, ax_query_error(q));
        (pthread_mutex_lock)(&lock);
        while (n == AX_NEXT_WAIT && wakes == seen)
            (pthread_cond_wait)(&woken, &lock);
        pthread_mutex_unlock(&lock);
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

static ax_plan *plan;
static ax_source *source;

static ax_expr *column(uint32_t at, ax_type_id type)
{
    ax_expr *e;

    must(ax_expr_col(&plan->task, plan->arena, at, ax_type_make(type), &e), &plan->task.err);
    return e;
}

static ax_expr *number(ax_type_id type, int64_t i)
{
    ax_value v = {.type = ax_type_make(type), .u.i = i};
    ax_expr *e;

    must(ax_expr_const(&plan->task, plan->arena, &v, &e), &plan->task.err);
    return e;
}

static ax_expr *not_zero(uint32_t at)
{
    ax_expr *arg[2] = {column(at, AX_T_INT2), number(AX_T_INT2, 0)}, *e;

    must(ax_expr_call(&plan->task, plan->arena, AX_FN_NE, arg, 2, &e), &plan->task.err);
    return e;
}

static ax_node *checked(ax_node *n)
{
    must(n != NULL ? AX_OK : AX_EPLAN, &plan->task.err);
    return n;
}

static ax_node *scan(const uint32_t *col, uint32_t n, ax_expr *conj)
{
    ax_type type[NCOLS];
    const char *name[NCOLS];

    for (uint32_t i = 0; i < n; i++)
    {
        type[i] = ax_type_make(types[col[i]]);
        name[i] = names[col[i]];
    }
    return checked(ax_plan_scan(plan, source, col, type, name, n, &conj, conj != NULL));
}

/* The ten largest groups of the first nkeys columns, by count(*), or by count(distinct) of the
 * column behind them. */
static void groups(ax_node *in, const ax_type_id *type, uint32_t nkeys, bool distinct)
{
    ax_agg_call call = {.agg = distinct ? AX_AGG_COUNT : AX_AGG_COUNT_STAR, .distinct = distinct};
    ax_sort_key by = {.col = nkeys, .desc = true};
    ax_expr *key[NCOLS];

    for (uint32_t i = 0; i < nkeys; i++)
        key[i] = column(i, type[i]);
    if (distinct)
        call.arg = column(nkeys, type[nkeys]);
    in = checked(ax_plan_aggregate(plan, in, key, nkeys, &call, 1));
    if (nkeys > 0)
        (void) checked(ax_plan_topn(plan, in, &by, 1, number(AX_T_INT8, 10), NULL));
}

static void count_where(void)
{
    groups(scan((uint32_t[]){ADV}, 1, not_zero(0)), NULL, 0, false);
}

static void few_groups(void)
{
    groups(scan((uint32_t[]){REGION}, 1, NULL), (ax_type_id[]){AX_T_INT4}, 1, false);
}

static void many_groups(void)
{
    groups(scan((uint32_t[]){PHRASE, USER}, 2, NULL), (ax_type_id[]){AX_T_TEXT, AX_T_INT8}, 2,
           false);
}

static void long_texts(void)
{
    groups(scan((uint32_t[]){URL}, 1, NULL), (ax_type_id[]){AX_T_TEXT}, 1, false);
}

static void distinct(void)
{
    groups(scan((uint32_t[]){PHRASE, USER}, 2, NULL), (ax_type_id[]){AX_T_TEXT, AX_T_INT8}, 1,
           true);
}

static void top_rows(void)
{
    ax_sort_key by = {.col = 1};

    (void) checked(ax_plan_topn(plan, scan((uint32_t[]){PHRASE, USER}, 2, NULL), &by, 1,
                                number(AX_T_INT8, 10), NULL));
}

static void sort_all(void)
{
    ax_sort_key by = {.col = 1};

    (void) checked(ax_plan_sort(plan, scan((uint32_t[]){REGION, USER}, 2, NULL), &by, 1));
}

static void all_rows(void) { (void) scan((uint32_t[]){PHRASE, USER}, 2, NULL); }

static const struct { const char *name; void (*build)(void); } queries[] = {
    {"count(*) where", count_where},    {"few groups", few_groups},
    {"many groups", many_groups},       {"groups of long texts", long_texts},
    {"count(distinct) by text", distinct}, {"top 10 rows", top_rows},
    {"sort", sort_all},                 {"all rows to the host", all_rows}};

/* ---- measuring ------------------------------------------------------------------------------- */

static void open_source(ax_engine *e, const char *path)
{
    ax_colspec col[NCOLS];
    ax_source_spec spec = {.path = &path, .npaths = 1, .format = "auto", .col = col,
                           .ncols = NCOLS};
    ax_query_opts o = {.allow = AX_ALLOW_ALL, .wake = wake};
    ax_query *q;
    ax_error err;

    for (uint32_t i = 0; i < NCOLS; i++)
        col[i] = (ax_colspec){.name = names[i], .path = &names[i], .npath = 1, .field_id = -1,
                              .position = i, .type = ax_type_make(types[i]),
                              .binary_as = types[i] == AX_T_TEXT ? AX_BIN_TEXT : AX_BIN_NONE};
    must(ax_source_create(e, &spec, &source, &err), &err);
    must(ax_query_open(e, source, &o, &q, &err), &err);
    (void) drain(q);
    ax_query_destroy(q);
}

static void measure(ax_engine *e, uint32_t query, const setting *s)
{
    ax_query_opts o = {.allow = AX_ALLOW_ALL, .wake = wake};
    double million = (double) ax_source_rows(source) / 1e6 * RUNS;
    ax_lockstat before = {0}, after;
    uint32_t peak = 0;
    ax_error err;

    must(ax_plan_create(ax_engine_budget(e), &plan, &err), &err);
    queries[query].build();
    for (uint32_t i = 0; i < WARM + RUNS; i++)
    {
        ax_profile p;
        ax_query *q;

        if (i == WARM)
            (void) ax_lockstat_read(&before);
        must(ax_query_start(e, plan, &o, &q, &err), &err);
        (void) drain(q);
        ax_query_profile(q, &p);
        peak = p.threads_peak > peak ? p.threads_peak : peak;
        ax_query_destroy(q);
    }
    (void) ax_lockstat_read(&after);
    ax_plan_destroy(plan);
    printf("%-24s %-10s %4u %9.0f %7.1f %7.1f %9.0f %7.1f\n", queries[query].name, s->name, peak,
           (double) (after.locks - before.locks) / million,
           (double) (after.waits - before.waits) / million,
           (double) (after.sleeps - before.sleeps) / million,
           (double) (after.changes - before.changes) / million,
           (double) (after.lost - before.lost) / million);
}

int main(int argc, char **argv)
{
    ax_lockstat s;

    if (!ax_lockstat_read(&s) || argc != 2)
    {
        puts(argc == 2 ? "lock_bench: nothing is counted in this build; see make locks"
                       : "lock_bench: needs a file; see make locks");
        return 2;
    }
    printf("%-24s %-10s %4s %9s %7s %7s %9s %7s\n", "for a million rows", "threads", "peak", "locks",
           "waits", "sleeps", "changes", "lost");
    for (uint32_t q = 0; q < sizeof queries / sizeof queries[0]; q++)
        for (uint32_t i = 0; i < NSETTINGS; i++)
        {
            ax_engine_opts o = {.max_threads = settings[i].threads, .cpus = settings[i].lanes};
            ax_engine *e;
            ax_error err;

            must(ax_engine_create(&o, &e, &err), &err);
            open_source(e, argv[1]);
            measure(e, q, &settings[i]);
            ax_source_destroy(source);
            ax_engine_destroy(e);
        }
    return 0;
}
