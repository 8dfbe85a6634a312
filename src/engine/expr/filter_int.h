/* Private to expr/: what a filter consists of. */
#ifndef AX_FILTER_INT_H
#define AX_FILTER_INT_H

#include "expr/expr_int.h"

#include <pthread.h>

/* A bound added while lanes run: guarded by the filter's lock, except version. */
typedef struct ax_live
{
    uint32_t col;
    ax_fn op;
    ax_value bound;      /* strings are in buf */
    bool nulls_pass;
    uint8_t *buf;        /* [cap] reused, so that memory does not grow with the number of calls */
    uint32_t cap;
    /* 0: no bound yet.  Acquire/release only to see a change soon: the bound itself is read under
     * the lock. */
    _Atomic uint32_t version;
} ax_live;

struct ax_filter
{
    ax_prog **step;      /* [n] one root each; immutable */
    uint32_t n;
    uint32_t n_free;     /* the first so many cannot raise and may be reordered; immutable */
    ax_live *live;       /* [AX_FILTER_SLOTS] */
    _Atomic uint32_t version;
    pthread_mutex_t *lock;
    ax_arena *live_arena; /* guarded by lock */
};

/* Outcomes that a predicate may have on rows described by statistics. */
enum { AX_MAY_TRUE = 1, AX_MAY_FALSE = 2, AX_MAY_NULL = 4, AX_MAY_RAISE = 8 };

uint32_t ax_match_node(const ax_prog *p, uint32_t i, const ax_stats_src *src);
uint32_t ax_match_live(const ax_filter *f, uint32_t slot, const ax_stats_src *src);

#endif
