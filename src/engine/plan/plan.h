/* Plans: what a query computes, as data.
 *
 * A plan is a tree of nodes in one arena, built bottom-up by the host and not changed by running:
 * the same plan may run again with other parameters.  Every node has output columns with types;
 * expressions of a node refer to its child's output columns by ordinal (a join's: left columns,
 * then right).  Nodes say what, not how: threads, partitions, spilling and pruning are exec/'s.
 *
 *     scan ---------+
 *     external_input+--> filter --> project --> aggregate --> filter (having) --> topn --> limit
 *     set operations+
 *
 * Builders check types and ordinals and return EPLAN for a mistake of the caller.
 * Thread: the host's, before the query starts; immutable afterwards. */
#ifndef AX_PLAN_H
#define AX_PLAN_H

#include "expr/expr.h"

struct ax_source; /* ax.h: an opened table of files */

typedef struct ax_node ax_node;

/* Kinds of nodes: plan/nodes.def. */
typedef enum ax_node_kind
{
    AX_N_NONE = 0,
#define AX_NODE(id, name) AX_N_##id,
#include "plan/nodes.def"
#undef AX_NODE
    AX_N_CNT
} ax_node_kind;

typedef struct ax_sort_key
{
    uint32_t col;        /* output column of the child */
    bool desc;
    bool nulls_first;
} ax_sort_key;

typedef struct ax_agg_call
{
    uint8_t agg;         /* ax_agg_id */
    bool distinct;
    ax_expr *arg;        /* NULL for count(*) */
    ax_expr *arg2;       /* of aggregates of two arguments, else NULL */
    ax_expr *filter;     /* FILTER (WHERE ...), or NULL */
    ax_sort_key *order;  /* ORDER BY inside the call; [norder] over `order_arg` */
    ax_expr **order_arg;
    uint32_t norder;
    ax_type type;        /* result, set by the builder */
} ax_agg_call;

typedef enum ax_join_kind { AX_JOIN_INNER, AX_JOIN_LEFT, AX_JOIN_RIGHT, AX_JOIN_FULL, AX_JOIN_SEMI,
    AX_JOIN_ANTI } ax_join_kind;
typedef enum ax_setop_kind
{
    AX_SET_UNION_ALL, AX_SET_UNION, AX_SET_INTERSECT, AX_SET_EXCEPT
} ax_setop_kind;
struct ax_node
{
    uint8_t kind;             /* ax_node_kind */
    uint32_t id;              /* ordinal in the plan, from 0; names the node in profiles */
    ax_type *type;            /* [ncols] output columns */
    const char **name;        /* [ncols] for printing; entries may be NULL */
    uint32_t ncols;
    ax_node **child;          /* [nchild] */
    uint32_t nchild;
    double est_rows;          /* the host's estimate, 0: none; sizes nothing, only hints */
    union
    {
        struct /* SCAN: output i is column columns[i] of the source */
        {
            struct ax_source *source;      /* borrowed until the plan is destroyed */
            uint32_t *columns;             /* [ncols] ascending ordinals of declared columns */
            ax_expr **conj;                /* [nconj] filter over the output columns, in order */
            uint32_t nconj;
            bool stored_order;             /* see ax_plan_scan_stored_order */
            uint32_t sample_rows, sample_splits;
            uint64_t sample_seed;          /* see ax_plan_scan_sample */
        } scan;
        struct { uint32_t input; } external; /* EXTERNAL_INPUT: fed by ax_query_feed */
        struct { ax_expr **conj; uint32_t nconj; } filter;
        struct { ax_expr **expr; } project;  /* [ncols] */
        struct /* AGGREGATE: output: keys, then calls, and with `sets` one INT4 more: the ordinal of
                * the set that the row belongs to (a null key is not a key that is not grouped;
                * GROUPING() follows from it).  nkeys == 0: exactly one row */
        {
            ax_expr **key;
            uint32_t nkeys;
            ax_agg_call *call;
            uint32_t ncalls;
            uint64_t *sets;               /* grouping sets as bit masks over keys; NULL: one set */
            uint32_t nsets;
        } agg;
        struct { ax_sort_key *key; uint32_t nkeys; ax_expr *limit, *offset; } sort; /* SORT, TOPN */
        struct { ax_expr *limit, *offset; } limit; /* INT8; NULL or a null value: none */
        struct { ax_join_kind kind; ax_expr **left_key, **right_key; uint32_t nkeys;
                 ax_expr **residual; uint32_t nresidual; bool build_left; } join;
        struct { ax_sort_key *part; uint32_t nparts; ax_sort_key *order; uint32_t norder;
                 struct ax_window_call *calls; uint32_t ncalls; } window;
        struct { ax_setop_kind kind; bool all; } setop;
        struct { ax_sort_key *key; uint32_t nkeys; } merge;   /* ORDERED_MERGE of ordered children;
                              * a SCAN stands for all its files, each an ordered input.  Ties: child
                              * by child, file by file, in order */
        struct { const uint32_t *col; uint32_t ncol; } deletes; /* APPLY_DELETES: child 1 is the
                              * deleted keys (null equals null) or (split, row) positions.  Below
                              * it no filter may run that can raise: such rows may be gone */
    } u;
};

typedef struct ax_plan
{
    ax_arena *arena;          /* owns all nodes and expressions */
    ax_task task;             /* for builders: errors, scratch */
    ax_node *root;
    uint32_t nnodes;
    ax_budget *budget;
} ax_plan;

/* An empty plan charged to b.  Destroy frees everything; sources are only borrowed. */
ax_status ax_plan_create(ax_budget *b, ax_plan **out, ax_error *err) AX_MUST_USE;
void ax_plan_destroy(ax_plan *p); /* NULL is allowed */

/* Builders: all return a node in p->arena, or NULL with the error in p->task.err. */
ax_node *ax_plan_scan(ax_plan *p, struct ax_source *src, const uint32_t *columns,
                      const ax_type *types, const char *const *names, uint32_t n,
                      ax_expr *const *conj, uint32_t nconj);
/* The scan's rows come in the order in which they are stored: file by file, split by split. */
void ax_plan_scan_stored_order(ax_node *scan);
/* The scan gives `rows` rows (0: all) of `splits` splits (0: all), both chosen at random, each set
 * of that size as likely as any other; the same seed chooses the same.  A scan without filter.
 * Where a file does not know its number of rows, all rows come. */
void ax_plan_scan_sample(ax_node *scan, uint32_t rows, uint32_t splits, uint64_t seed);
ax_node *ax_plan_external(ax_plan *p, uint32_t input, const ax_type *types, uint32_t n);
ax_node *ax_plan_filter(ax_plan *p, ax_node *child, ax_expr *const *conj, uint32_t nconj);
ax_node *ax_plan_project(ax_plan *p, ax_node *child, ax_expr *const *expr, uint32_t n);
ax_node *ax_plan_aggregate(ax_plan *p, ax_node *child, ax_expr *const *key, uint32_t nkeys,
                           const ax_agg_call *call, uint32_t ncalls);
ax_node *ax_plan_sort(ax_plan *p, ax_node *child, const ax_sort_key *key, uint32_t nkeys);
ax_node *ax_plan_topn(ax_plan *p, ax_node *child, const ax_sort_key *key, uint32_t nkeys,
                      ax_expr *limit, ax_expr *offset);
ax_node *ax_plan_limit(ax_plan *p, ax_node *child, ax_expr *limit, ax_expr *offset);
ax_node *ax_plan_distinct(ax_plan *p, ax_node *child);
ax_node *ax_plan_merge(ax_plan *p, ax_node *const *child, uint32_t nchild, const ax_sort_key *key,
                       uint32_t nkeys);
/* Of rows of one key in the files of a scan those that its format says (ax_final): the source was
 * made for that.  The scan has no filter: rows that one takes away could have replaced others. */
ax_node *ax_plan_merge_final(ax_plan *p, ax_node *scan);
ax_node *ax_plan_deletes(ax_plan *p, ax_node *child, ax_node *deleted, const uint32_t *col,
                         uint32_t ncol);
ax_node *ax_plan_join(ax_plan *p, ax_join_kind kind, ax_node *left, ax_node *right,
                      ax_expr *const *left_key, ax_expr *const *right_key, uint32_t nkeys,
                      ax_expr *const *residual, uint32_t nresidual);
ax_node *ax_plan_setop(ax_plan *p, ax_setop_kind kind, bool all, ax_node *const *child,
                       uint32_t nchild);

/* Print: one line a node, indented, root first ('text'), or Graphviz ('dot').  Returns a string in
 * `a`, NULL when memory is out. */
const char *ax_plan_print(const ax_plan *p, ax_arena *a, bool dot);

#endif
