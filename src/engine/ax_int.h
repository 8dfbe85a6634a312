/* What ax.c and ax_source.c share: the engine. */
#ifndef AX_INT_H
#define AX_INT_H

#include "ax.h"
#include "exec/exec.h"

struct ax_engine
{
    ax_env env;
    ax_budget budget;       /* of all queries, sources and plans */
    uint32_t pool_threads;  /* immutable */
};

#endif
