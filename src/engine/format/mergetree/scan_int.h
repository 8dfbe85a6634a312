/* What scan.c and fetch.c share: the state of one scan of one split. */
#ifndef AX_MT_SCAN_INT_H
#define AX_MT_SCAN_INT_H

#include "mergetree_int.h"

typedef struct ax_mt_extent_of { uint32_t src; uint64_t off, end; } ax_mt_extent_of;

typedef struct ax_mt_scan
{
    ax_mt_op op;
    uint8_t state;
    ax_mt_part *part;
    const ax_mt_bind *bind;
    ax_scan_req req;
    ax_arena *arena;          /* borrowed from begin */
    ax_mt_env env;
    ax_mt_win win;
    uint64_t row0;            /* row of the part at which the split begins */
    uint32_t nrows;           /* of the split */

    ax_mt_col *col;           /* [ncol] of req.columns, and behind them _row_exists */
    uint32_t ncol;
    ax_dict **labels;         /* [ncol] dictionaries of enums */
    bool *have;               /* [ncol] its bytes of this run were asked for */
    ax_mt_conv **raw;         /* [ncol] the conversion of text that is checked late; or NULL */
    bool *unchecked;          /* [ncol] text of this window that nobody checked yet */
    bool *stays;              /* [ncol] somebody needs it after the filter */

    ax_mt_src *src;           /* [nsrc] */
    uint32_t nsrc, max_src;
    ax_mt_src **of_stream;    /* [part->nstreams] */
    bool *wanted;             /* [part->nstreams] */

    ax_io_req *io;            /* [nio] requests under way */
    uint32_t *io_of;          /* source, or stream from nmarks0 on */
    uint32_t nio, max_io, nmarks0;
    ax_io_file **marks_file;  /* [nmarks] owned while marks are loaded, */
    uint32_t *marks_of;       /* and their streams */
    uint32_t nmarks;
    ax_mt_extent_of *extent;  /* [nextents] those of io */
    uint32_t nextents, max_extents;

    uint32_t run_rows;        /* gradual: rows of the next run */
    uint32_t g0, g1;          /* granules of the run; g0 == g1: none yet */
    uint32_t counted;         /* granule behind the last one that was counted; 0: none */
    ax_rowrange range;        /* the current range of rows wanted */
    uint32_t range_no, nranges;
    ax_fmt_window w;          /* with ncol columns; _row_exists is one of the filter's */
    uint16_t *alive;          /* [2048] rows that are not deleted */
    struct ax_mt_patching *patching; /* patch parts have values of the columns; or NULL */
    bool patches_wanted;      /* those of the run are not there yet */
} ax_mt_scan;

/* May the text of this column be read unchecked, and checked when somebody looks at it?  Then the
 * selected rows of a vector of it (sel == NULL: all); other rows may become empty.  *fail_row: the
 * row that is no text. */
bool ax_mt_checks_late(const ax_mt_conv *c, const ax_mt_node *node);
ax_status ax_mt_check_text(ax_task *t, const uint16_t *sel, uint32_t nsel, ax_vec *v,
                           uint32_t *fail_row) AX_MUST_USE;

/* Column c is read: note its streams and their files. */
ax_status ax_mt_sources_add(ax_task *t, ax_mt_scan *s, const ax_mt_column *c) AX_MUST_USE;

/* Requests into s->io; false: nothing is wanted. */
bool ax_mt_ask_files(ax_mt_scan *s);
bool ax_mt_ask_marks(ax_mt_scan *s);
ax_status ax_mt_take_marks(ax_task *t, ax_mt_scan *s) AX_MUST_USE;

/* The bytes of the run for columns c with column[c] (NULL: all) that were not asked for yet. */
ax_status ax_mt_ask_bytes(ax_task *t, ax_mt_scan *s, const bool *column, bool *any) AX_MUST_USE;
ax_status ax_mt_take_bytes(ax_task *t, ax_mt_scan *s) AX_MUST_USE;

/* Values that patch parts have for the run; column c as in req.columns, and req.ncolumns: whether
 * rows exist.  begin: *out NULL when no patch part has one of the columns.  run: the rows
 * [from, to) of the part are next; step until *ready. */
typedef struct ax_mt_patching ax_mt_patching;
ax_status ax_mt_patching_begin(ax_task *t, ax_arena *a, const ax_mt_bind *b,
                               const ax_scan_req *req, ax_mt_patching **out) AX_MUST_USE;
void ax_mt_patching_run(ax_mt_patching *x, uint64_t from, uint64_t to);
ax_status ax_mt_patching_step(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, bool *ready)
    AX_MUST_USE;
void ax_mt_patching_end(ax_mt_patching *x); /* NULL is allowed */

/* Has a patch part a value for row `row` of the part? */
bool ax_mt_patching_has(const ax_mt_patching *x, uint32_t c, uint64_t row);

/* The values of rows [row, row + v->n) in *v, where there are such; new memory in arena a. */
ax_status ax_mt_patching_apply(ax_task *t, ax_arena *a, const ax_mt_patching *x, uint32_t c,
                               uint64_t row, ax_vec *v) AX_MUST_USE;

/* exists[i]: does row + i exist?  Rows of which nothing is known are left alone. */
void ax_mt_patching_exists(const ax_mt_patching *x, uint64_t row, uint32_t n, bool *exists);

/* The run is over. */
void ax_mt_forget_bytes(ax_mt_scan *s);

/* Drop what requests brought and nobody took. */
void ax_mt_release_io(ax_mt_scan *s);

#endif
