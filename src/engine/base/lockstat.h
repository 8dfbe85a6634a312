/* Counts of locks taken and of atomic operations that change memory: measurements of contention.
 *
 * `make LOCKSTAT=1` builds a variant of its own, in which the compiler reads this header before
 * every file of the engine, so that the calls below are counted wherever they are written.  In
 * every other build nothing here exists but ax_lockstat_read, which finds nothing.
 *
 * Counts belong to the thread that counts; nothing is shared but the list of threads. */
#ifndef AX_LOCKSTAT_H
#define AX_LOCKSTAT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ax_lockstat
{
    uint64_t locks;   /* mutexes taken */
    uint64_t waits;   /* of these, found taken by another thread */
    uint64_t sleeps;  /* waits for a condition */
    uint64_t changes; /* atomic additions, subtractions, exchanges */
    uint64_t lost;    /* exchanges that found another value than expected */
} ax_lockstat;

/* Sums over all threads since the process began; exact when no thread of the engine runs.  false:
 * built without. */
bool ax_lockstat_read(ax_lockstat *out);

#ifdef AX_LOCKSTAT

#include <pthread.h>
#include <stdatomic.h>

extern __thread ax_lockstat *ax_lockstat_mine;
ax_lockstat *ax_lockstat_join(void); /* makes that of this thread */

static inline ax_lockstat *ax_lockstat_here(void)
{
    return ax_lockstat_mine != NULL ? ax_lockstat_mine : ax_lockstat_join();
}

static inline int ax_lockstat_lock(pthread_mutex_t *m)
{
    ax_lockstat *s = ax_lockstat_here();

    s->locks++;
    if (pthread_mutex_trylock(m) == 0)
        return 0;
    s->waits++;
    return pthread_mutex_lock(m);
}

static inline bool ax_lockstat_cas(bool won)
{
    ax_lockstat_here()->lost += !won;
    return won;
}

#define pthread_mutex_lock(m) ax_lockstat_lock(m)
#define pthread_cond_wait(c, m) (ax_lockstat_here()->sleeps++, (pthread_cond_wait)(c, m))
#define pthread_cond_timedwait(c, m, t)                                                            \
    (ax_lockstat_here()->sleeps++, (pthread_cond_timedwait)(c, m, t))

#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_fetch_add_explicit(p, v, order)                                                     \
    (ax_lockstat_here()->changes++, __atomic_fetch_add(p, v, order))
#define atomic_fetch_sub_explicit(p, v, order)                                                     \
    (ax_lockstat_here()->changes++, __atomic_fetch_sub(p, v, order))
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define AX_LOCKSTAT_CAS(p, old, new, weak, won, lost)                                              \
    (ax_lockstat_here()->changes++,                                                                \
     ax_lockstat_cas(__atomic_compare_exchange_n(p, old, new, weak, won, lost)))
#define atomic_compare_exchange_weak_explicit(p, old, new, won, lost)                              \
    AX_LOCKSTAT_CAS(p, old, new, true, won, lost)
#define atomic_compare_exchange_strong_explicit(p, old, new, won, lost)                            \
    AX_LOCKSTAT_CAS(p, old, new, false, won, lost)
#define atomic_compare_exchange_weak(p, old, new)                                                  \
    AX_LOCKSTAT_CAS(p, old, new, true, memory_order_seq_cst, memory_order_seq_cst)

#endif
#endif
