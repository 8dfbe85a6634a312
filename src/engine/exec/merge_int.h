/* What merge.c and final.c share: rows of several ordered inputs, and what becomes of them.
 * Private to exec/. */
#ifndef AX_MERGE_INT_H
#define AX_MERGE_INT_H

#include "exec/exec_int.h"

#define AX_NO_COL UINT32_MAX

/* A merge as compiled; immutable. */
typedef struct ax_merge
{
    uint8_t rule;                /* ax_final_rule */
    ax_order_key *key;           /* [nkeys] columns of the scan */
    uint32_t nkeys;
    uint32_t version, sign;      /* columns of the scan, AX_NO_COL: none */
    const uint32_t *out;         /* [nout] columns of the scan that are put out */
    uint32_t nout;
    const ax_fold_col *const *fold; /* FOLD: [ncols] of the scan's columns, NULL: the first value */
    const uint32_t *const *map;  /* FOLD: [ncols] of those that are folded as MAP: columns of the
                                  * scan in place of their own (ax_fold_col.map) */
    uint32_t ncols;
    const ax_type *type;         /* [ncols] */
} ax_merge;

/* A row: where it stands now. */
typedef struct ax_row { ax_batch *b; uint32_t row; } ax_row;

/* What one column of a key is folded to: a value of one of its rows, a computed one, or the
 * elements of some rows one behind the other. */
typedef struct ax_acc
{
    ax_row pick;
    ax_value value;
    bool have;
    ax_row *part;                /* CONCAT, MAP: [nparts] */
    uint32_t nparts, cap_parts;
} ax_acc;

/* Rows on their way out, and the key under way. */
typedef struct ax_rows
{
    const ax_merge *m;
    ax_row *row;                 /* [AX_BATCH_ROWS] rows to put out */
    uint32_t n;
    ax_acc **folded;             /* [m->ncols] FOLD: [AX_BATCH_ROWS] values of these rows; NULL:
                                  * those of the row */
    /* the key */
    bool open;
    bool have;                   /* there is a best row */
    ax_row best;                 /* FOLD: the first row */
    uint64_t plus, minus;        /* COLLAPSE: rows with each sign */
    bool last_plus;
    ax_row *left;                /* CANCEL: [nleft] rows not taken away, all of one sign */
    uint32_t nleft, cap_left, taken; /* taken: of those, how many were put out */
    int64_t left_sign;
    ax_acc *acc;                 /* [m->ncols] FOLD */
    ax_held *held;               /* rows of the key whose batches are gone */
    ax_arena *arena, *spare;     /* room of `left` and of parts */
} ax_rows;

/* merge_plan.c.  Of s, node is set; its columns are chosen. */
ax_status ax_merge_plan(ax_task *t, ax_arena *a, ax_scan *s, ax_merge *m) AX_MUST_USE;
/* n: an ORDERED_MERGE of a scan, all of whose columns are read. */
ax_status ax_merge_of_order(ax_task *t, ax_arena *a, const ax_node *n, ax_merge *m) AX_MUST_USE;
/* Conditions above the merge, over the columns of the scan: those over columns of the key hold for
 * all rows of a key or for none, so what they exclude by statistics need not be read. */
ax_status ax_merge_prune(ax_task *t, ax_arena *a, ax_scan *s, ax_expr *const *conj, uint32_t nconj,
                         const ax_params *params) AX_MUST_USE;

/* final.c.  The next row, in order; fresh: it begins a key.  Before a key begins the one before it
 * is closed. */
ax_status ax_rows_add(ax_task *t, ax_rows *r, ax_row row, bool fresh) AX_MUST_USE;

/* The key is complete: put its rows out.  *full: there is no room for all of them, empty the output
 * and call again. */
ax_status ax_rows_close(ax_task *t, ax_rows *r, bool *full) AX_MUST_USE;

/* What was put out is used up. */
ax_status ax_rows_forget(ax_task *t, ax_rows *r) AX_MUST_USE;

/* Batch b goes away: keep the rows of the key under way that stand in it.  No rows are to be put
 * out. */
ax_status ax_rows_keep(ax_task *t, ax_exec *x, ax_rows *r, const ax_batch *b) AX_MUST_USE;

/* Add v to the sum as SUM says; is a sum nothing? */
ax_status ax_fold_sum(ax_task *t, const ax_fold_col *f, ax_value *sum, const ax_value *v)
    AX_MUST_USE;
bool ax_fold_zero(const ax_value *v);

/* final_map.c.  Column c, folded as MAP, of n rows: acc[i].part are those that row i is made of. */
ax_status ax_fold_map(ax_task *t, ax_arena *a, const ax_merge *m, uint32_t c, const ax_acc *acc,
                      uint32_t n, ax_vec *out) AX_MUST_USE;

ax_status ax_rows_init(ax_task *t, ax_arena *a, const ax_merge *m, ax_rows *r) AX_MUST_USE;
void ax_rows_free(ax_exec *x, ax_rows *r);

#endif
