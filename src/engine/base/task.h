/* The task context: first argument of every fallible engine function.
 *
 * A task is one thread's view of the work it does now: where to allocate, where to report, when to
 * stop.  It is never shared between threads.  An early return through AX_TRY leaks nothing, since
 * memory belongs to arenas and everything else is registered on them. */
#ifndef AX_TASK_H
#define AX_TASK_H

#include "base/memory.h"
#include "base/status.h"

typedef struct ax_task
{
    ax_arena *arena;            /* scratch of this task; reset between morsels by its driver */
    ax_budget *budget;          /* the query's account */
    const _Atomic int *stop;    /* non-zero: the query ends; NULL: never.  Relaxed reads suffice,
                                 * nothing is published through it */
    uint32_t lane;              /* which of the query's lanes runs here, from 0 */
    ax_error err;               /* first error of this task; later ones are dropped */
    struct ax_io_stats *io;     /* account of the reads that this task asks for, of one query; NULL:
                                 * nobody counts */
} ax_task;

/* A context for code that runs outside a query (tools, tests, opening).  Creates an arena. */
ax_status ax_task_init(ax_task *t, ax_budget *b, const _Atomic int *stop) AX_MUST_USE;
void ax_task_fini(ax_task *t);

/* Has somebody asked the query to end?  Look between batches and in every long inner loop (more
 * than 5 ms), never inside kernels. */
static inline bool ax_task_stopped(const ax_task *t)
{
    return t->stop != NULL && atomic_load_explicit(t->stop, memory_order_relaxed) != 0;
}

/* Record an error and return its code.  If the slot already holds one, that one stays and its code
 * is returned.  Message in Postgres style: lower case, no full stop, no row values of other
 * people's data. */
#define ax_fail(t, code, ...) ax_fail_at((t), (code), __FILE__, __LINE__, __VA_ARGS__)
ax_status ax_fail_at(ax_task *t, ax_status code, const char *src_file, int src_line,
                     const char *fmt, ...) AX_COLD AX_PRINTF(5, 6);

/* The usual "out of memory" report: ENOMEM with limit and use of the budget as detail. */
ax_status ax_fail_nomem(ax_task *t, size_t wanted_bytes) AX_COLD;

/* Fill in what is not yet known of the place; used by each level on the way up, and free when
 * nothing failed.  NULL or negative: leave alone. */
void ax_note_file(ax_task *t, const char *file) AX_COLD;
void ax_note_unit(ax_task *t, const char *unit, int64_t idx) AX_COLD;
void ax_note_column(ax_task *t, const char *column) AX_COLD;
void ax_note_page(ax_task *t, int64_t page_idx, int64_t byte_off) AX_COLD;

/* Forward a failure. */
#define AX_TRY(call)                                                                               \
    do                                                                                             \
    {                                                                                              \
        ax_status ax_try_status_ = (call);                                                         \
        if (__builtin_expect(ax_try_status_ != AX_OK, 0))                                          \
            return ax_try_status_;                                                                 \
    } while (0)

/* Test input: a false condition is the file's fault, not ours. */
#define AX_CHECK(t, cond, code, ...)                                                               \
    do                                                                                             \
    {                                                                                              \
        if (__builtin_expect(!(cond), 0))                                                          \
            return ax_fail((t), (code), __VA_ARGS__);                                              \
    } while (0)

/* p = allocation; fails with ENOMEM when it is NULL. */
#define AX_NEW(t, p, expr)                                                                         \
    do                                                                                             \
    {                                                                                              \
        (p) = (expr);                                                                              \
        if (__builtin_expect((p) == NULL, 0))                                                      \
            return ax_fail_nomem((t), 0);                                                          \
    } while (0)

/* Our own mistakes only; never the content of a file. */
#ifdef AX_DEBUG
void ax_assert_failed(const char *cond, const char *file, int line) __attribute__((noreturn));
#define AX_ASSERT(cond) ((cond) ? (void) 0 : ax_assert_failed(#cond, __FILE__, __LINE__))
#else
#define AX_ASSERT(cond) ((void) sizeof(cond))
#endif

#endif
