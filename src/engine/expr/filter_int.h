/* Private to expr/: what a filter consists of. */
#ifndef AX_FILTER_INT_H
#define AX_FILTER_INT_H

#include "expr/expr_int.h"

#include <pthread.h>

#define AX_LIVE_SLOTS 4u

/* A bound added while lanes run.  Immutable once published. */
typedef struct ax_live
{
    uint32_t col;
    ax_fn op;
    ax_value bound;
    bool nulls_pass;
} ax_live;

struct ax_filter
{
    ax_prog **step;      /* [n] one root each; immutable */
    uint32_t n;
    uint32_t n_free;     /* the first so many cannot raise and may be reordered; immutable */
    /* acquire/release: the pointer publishes the bound behind it */
    const ax_live *_Atomic live[AX_LIVE_SLOTS];
    _Atomic uint32_t version;
    pthread_mutex_t lock;
    ax_arena *live_arena; /* guarded by lock */
};

/* Outcomes that a predicate may have on rows described by statistics. */
enum { AX_MAY_TRUE = 1, AX_MAY_FALSE = 2, AX_MAY_NULL = 4, AX_MAY_RAISE = 8 };

uint32_t ax_match_node(const ax_prog *p, uint32_t i, const ax_stats_src *src);
uint32_t ax_match_live(const ax_live *l, const ax_stats_src *src);

#endif
