/* The threads that count: a list that only grows, since counts outlive their threads. */
#include "base/lockstat.h"

#include <string.h>

#ifdef AX_LOCKSTAT

#include <stdlib.h>

typedef struct counter
{
    ax_lockstat s;
    char apart[128 - sizeof(ax_lockstat)]; /* no line is shared */
    struct counter *next;
} counter;

__thread ax_lockstat *ax_lockstat_mine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static counter *counters; /* guarded by lock */
static ax_lockstat lost;  /* of threads for which there was no memory */

ax_lockstat *ax_lockstat_join(void)
{
    counter *c = (counter *) calloc(1, sizeof *c);

    if (c == NULL)
        return ax_lockstat_mine = &lost;
    (pthread_mutex_lock)(&lock);
    c->next = counters;
    counters = c;
    pthread_mutex_unlock(&lock);
    return ax_lockstat_mine = &c->s;
}

bool ax_lockstat_read(ax_lockstat *out)
{
    memset(out, 0, sizeof *out);
    (pthread_mutex_lock)(&lock);
    for (const counter *c = counters; c != NULL; c = c->next)
    {
        out->locks += c->s.locks;
        out->waits += c->s.waits;
        out->sleeps += c->s.sleeps;
        out->changes += c->s.changes;
        out->lost += c->s.lost;
    }
    pthread_mutex_unlock(&lock);
    return true;
}

#else

bool ax_lockstat_read(ax_lockstat *out)
{
    memset(out, 0, sizeof *out);
    return false;
}

#endif
