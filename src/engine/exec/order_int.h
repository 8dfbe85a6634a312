/* Rows kept for ordering.  Private to exec/.
 *
 * A kept row is [rowid 8] [null bytes, padded to 8] [one slot a column]; fixed-width values take
 * their width rounded up to 8, strings {address 8, length 4, 0 4}.  What is sorted are entries: the
 * row's address and a 64-bit image of its first key that never contradicts the order: a smaller
 * image sorts first, equal images need a look at the rows unless the image is exact. */
#ifndef AX_ORDER_INT_H
#define AX_ORDER_INT_H

#include "exec/breaker.h"

typedef struct ax_order_entry { uint64_t image; uint8_t *row; } ax_order_entry;

typedef struct ax_order_layout
{
    const ax_type *type;       /* [ncols] */
    uint32_t ncols;
    const ax_order_key *key;   /* [nkeys] */
    uint32_t nkeys;
    uint32_t null_off;
    uint32_t *off;             /* [ncols] slot of each column */
    uint32_t row_bytes;
    bool exact;                /* the image tells all about the first key, but for nulls */
} ax_order_layout;

/* ---- order_key.c ---------------------------------------------------------------------------- */

/* Images of rows sel[0..n) (NULL: 0..n) of the first key's column. */
ax_status ax_order_images(ax_task *t, ax_arena *scratch, const ax_order_key *key, const ax_vec *v,
                          const uint16_t *sel, uint32_t n, uint64_t *image) AX_MUST_USE;
bool ax_order_exact(ax_type type);

/* Rows of sel[0..*n) (NULL: all v->n rows) whose image is not greater than bound, found without
 * making images, into out; false, with nothing done, when the column's encoding does not allow
 * that.  out has room for all rows and the padding of kernels. */
ax_status ax_order_prefilter(ax_task *t, ax_arena *scratch, const ax_order_key *key,
                             const ax_vec *v, uint64_t bound, const uint16_t *sel, uint32_t *n,
                             uint16_t *out, bool *done) AX_MUST_USE;

int ax_order_rows_cmp(const ax_order_layout *l, const uint8_t *a, const uint8_t *b);
static inline int ax_order_cmp(const ax_order_layout *l, const ax_order_entry *a,
                               const ax_order_entry *b)
{
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return ax_order_rows_cmp(l, a->row, b->row);
}

ax_value ax_order_row_value(const ax_order_layout *l, uint32_t col, const uint8_t *row);

/* ---- nested columns ------------------------------------------------------------------------- */

/* Is this a column whose kept rows hold {address of a vector 8, row in it 4, 0 4}? */
static inline bool ax_order_nested(ax_type t)
{
    return t.phys == AX_P_DOC || t.phys == AX_P_LIST || t.phys == AX_P_STRUCT || t.phys == AX_P_MAP;
}

/* ---- order_spill.c -------------------------------------------------------------------------- */

typedef struct ax_order_block
{
    struct ax_order_block *next;
    int64_t off;
    uint64_t bytes, rows;
} ax_order_block;

typedef struct ax_order_run
{
    struct ax_order_run *next; /* of the same lane */
    ax_order_block *first;
    uint64_t rows;
} ax_order_run;

size_t ax_order_block_bytes(const ax_spill *s);

/* Can rows be written? */
bool ax_order_spillable(const ax_order_layout *l);

/* A run of the entries added, which come in order; it lives in mem.  free: in every state. */
typedef struct ax_order_writer
{
    ax_spill *spill;
    const ax_order_layout *lay;
    ax_arena *mem;
    ax_order_run *run;
    ax_order_block *last;
    ax_buf *buf;               /* owned */
    size_t n;
    uint64_t rows;
} ax_order_writer;
ax_status ax_order_writer_begin(ax_task *t, ax_order_writer *w, ax_spill *s,
                                const ax_order_layout *l, ax_arena *mem) AX_MUST_USE;
ax_status ax_order_writer_add(ax_task *t, ax_order_writer *w, const ax_order_entry *e) AX_MUST_USE;
ax_status ax_order_writer_end(ax_task *t, ax_order_writer *w, ax_order_run **out) AX_MUST_USE;
void ax_order_writer_free(ax_order_writer *w);

/* The rows of a run, one after the other, in cur; cur.row is NULL behind the last.  Begins zeroed
 * but for block, the run's first. */
typedef struct ax_order_reader
{
    const ax_order_block *block; /* to read next */
    ax_buf *buf;                 /* owned: the current one */
    uint8_t *at;
    uint64_t left;
    ax_order_entry cur;
} ax_order_reader;

/* *done: the buffer of the rows before, the caller's from now on, or NULL: they stay. */
ax_status ax_order_reader_next(ax_task *t, ax_order_reader *r, const ax_spill *s,
                               const ax_order_layout *l, ax_buf **done) AX_MUST_USE;

/* ---- order_sort.c --------------------------------------------------------------------------- */

/* Sort e[0..n); tmp has room for as many. Fails only when stopped. */
ax_status ax_order_sort(ax_task *t, const ax_order_layout *l, ax_order_entry *e,
                        ax_order_entry *tmp, uint64_t n) AX_MUST_USE;

/* Put the k first of e[0..n) in front, in any order, with the last of them at e[k - 1]. */
ax_status ax_order_select(ax_task *t, const ax_order_layout *l, ax_order_entry *e, uint64_t n,
                          uint64_t k) AX_MUST_USE;

/* The k-th smallest (from 1) of v[0..n), which are moved. */
uint64_t ax_order_kth(uint64_t *v, uint32_t n, uint32_t k);

#endif
