/* What the micro benchmarks share: a clock, numbers that repeat, text that looks like URLs, a filter
 * of one comparison, and the row of a table.  Everything is one thread's. */
#ifndef AX_BENCH_H
#define AX_BENCH_H

#include "expr/expr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static ax_budget budget;
static ax_task task;
static uint64_t rng = 1;

static inline uint32_t rnd(uint32_t n)
{
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (rng >> 33) % n;
}

/* CPU time of this thread. */
static inline double now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}

static inline void must(ax_status s)
{
    if (s == AX_OK)
        return;
    fprintf(stderr, "%s: %s\n", ax_status_name(s), task.err.msg);
    exit(1);
}

static inline void bench_begin(void)
{
    ax_budget_init(&budget, "bench", INT64_MAX, NULL);
    must(ax_task_init(&task, &budget, NULL));
}

/* A string of `want` bytes or a little more to p; one part in `rare` is "google". */
static inline uint32_t put_url(uint8_t *p, uint32_t want, uint32_t rare)
{
    static const char *const parts[] = {"http://", "www.",   "example", "index.php", "?id=",
                                        "/a/b/",   "search", "mail",    "12345",     "&lang=ru"};
    uint32_t n = 0;

    while (n < want)
    {
        const char *part = rnd(rare) == 0 ? "google" : parts[rnd(10)];

        memcpy(p + n, part, strlen(part));
        n += (uint32_t) strlen(part);
    }
    return n;
}

/* fn(column 0, konst) in an arena of its own. */
typedef struct filter
{
    ax_arena *a;
    ax_filter_lane *lane;
} filter;

static inline filter make_filter(ax_type type, ax_fn fn, const ax_value *konst)
{
    filter f = {.a = ax_arena_create(&budget, 0)};
    ax_expr *args[2], *e;
    ax_filter *made;

    must(ax_expr_col(&task, f.a, 0, type, &args[0]));
    must(ax_expr_const(&task, f.a, konst, &args[1]));
    must(ax_expr_call(&task, f.a, fn, args, 2, &e));
    must(ax_filter_create(&task, f.a, &e, 1, NULL, &made));
    must(ax_filter_lane_create(&task, f.a, made, &f.lane));
    return f;
}

/* Rows of v that pass. */
static inline uint32_t filter_step(const filter *f, ax_vec *v)
{
    ax_batch b = {.nrows = v->n, .nsel = v->n, .ncols = 1, .col = v, .arena = f->a};
    ax_eval_result r;

    must(ax_filter_step(&task, f->lane, 0, &b, &r));
    return b.nsel;
}

static inline void table_head(void)
{
    printf("| kernel | measured | bound | ratio | goal |\n|---|---|---|---|---|\n");
}

/* bound or goal 0: none.  less: less is better.  The ratio is measured / bound. */
static inline void table_row(const char *what, double value, const char *unit,
                             const char *bound_name, double bound, double goal, bool less)
{
    printf("| %s | %.2f %s | ", what, value, unit);
    if (bound > 0)
        printf("%s %.2f | %.2f | ", bound_name, bound, value / bound);
    else
        printf("- | - | ");
    if (goal > 0)
        printf("%.1f: %s |\n", goal, (less ? value <= goal : value >= goal) ? "reached" : "missed");
    else
        printf("- |\n");
    fflush(stdout);
}

#endif
