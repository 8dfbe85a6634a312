/* What readers of formats have in common: columns that need no bytes of a file, windows of rows
 * that filters go over, numbers and instants, cells of facts.  Part of format.h, which includes
 * it.  Nothing here knows of bytes in files. */
#ifndef AX_FORMAT_READER_H
#define AX_FORMAT_READER_H

#include "format/format.h"

#include <string.h>

/* ---- binding --------------------------------------------------------------------------------- */

/* What virtual columns show of a file or part. */
typedef struct ax_fmt_names
{
    const char *path, *file;   /* borrowed from the opened file */
    const char *part;          /* NULL: the format has no parts */
    uint32_t partition_len;    /* so many first bytes of part name its partition */
    int64_t size;
    const ax_io_id *id;        /* whose time of change is shown; NULL: it is not known */
    const char *noun;          /* "file", "part": for messages */
} ax_fmt_names;

/* Arrays of a binding of ncols declared columns, in a; the rest of the struct is the format's. */
ax_status ax_fmt_bind_init(ax_task *t, ax_arena *a, ax_fmt_file *f, const ax_colspec *col,
                           uint32_t ncols, ax_fmt_bind *b) AX_MUST_USE;

/* Column i, if the file has not to answer for it: fixed from outside, or virtual.  *bound: nothing
 * is left to do; virtual columns that are not b->constant are made by windows. */
ax_status ax_fmt_bind_outside(ax_task *t, ax_arena *a, const ax_fmt_names *names,
                              const ax_bind_opts *opts, ax_fmt_bind *b, uint32_t i, bool *bound)
    AX_MUST_USE;

/* Column i, which the file lacks: its default, null, or an error. */
ax_status ax_fmt_bind_missing(ax_task *t, const ax_fmt_names *names, const ax_bind_opts *opts,
                              ax_fmt_bind *b, uint32_t i) AX_MUST_USE;

/* ---- windows --------------------------------------------------------------------------------- */

/* Rows [row, row + n) of a split, n <= AX_BATCH_ROWS, on their way through the filter into a batch.
 * A scan embeds one; its `done` and `by_filter` may count more columns than are wanted. */
typedef struct ax_fmt_window
{
    const ax_scan_req *req;    /* borrowed from the scan */
    uint32_t row, n;           /* in the split */
    bool active;               /* not finished */
    bool hungry;               /* a column lacks bytes: the same again when they have come */
    bool raised;               /* a row raised: `raise` is returned when its batch is done with */
    bool *done;                /* [nall] decoded for this window */
    bool *by_filter;           /* [nall] read by a filter step or a live bound */
    uint32_t nall;
    uint32_t step, nsteps;     /* filter step to run next, as an index into order */
    uint32_t *order;           /* [nsteps] */
    ax_batch batch;            /* owns its arena, which is reset with each window */
    uint16_t *sel;             /* [AX_BATCH_ROWS] selection up to a row that raised */
    ax_error raise;
} ax_fmt_window;

/* In arena a, with nall >= req->ncolumns columns; by_filter is set. */
ax_status ax_fmt_window_init(ax_task *t, ax_arena *a, const ax_scan_req *req, uint32_t nall,
                             ax_fmt_window *w) AX_MUST_USE;

/* Make the batch's arena: the last step of a scan's begin, for nobody ends what has not begun. */
ax_status ax_fmt_window_open(ax_task *t, ax_fmt_window *w) AX_MUST_USE;
void ax_fmt_window_close(ax_fmt_window *w);

/* Go on with the rows [w->row, w->row + w->n): nothing is decoded. */
void ax_fmt_window_begin(ax_fmt_window *w);

/* Column ord of the binding, a constant or made of positions; row0: of the split, in the file. */
ax_status ax_fmt_window_outside(ax_task *t, ax_fmt_window *w, uint32_t ord, uint64_t row0,
                                ax_vec *out) AX_MUST_USE;

/* Is the row of the window still selected?  What has no value in the declared type is an error of
 * rows that are; others get something harmless. */
bool ax_fmt_window_wants(const ax_fmt_window *w, uint32_t row);

/* Row fail_row of the window raised, t->err says what: keep the rows before it, and the error for
 * whoever gets so far. */
void ax_fmt_window_cut(ax_task *t, ax_fmt_window *w, uint32_t fail_row);

/* Run the filter.  need: decode column i, which filter step `step` reads, into w->batch.  *wait:
 * the host has to answer before it can go on; it stops, too, when need has set w->hungry. */
typedef ax_status (*ax_fmt_need)(ax_task *t, void *scan, uint32_t i, uint32_t step);
ax_status ax_fmt_window_filter(ax_task *t, ax_fmt_window *w, ax_fmt_need need, void *scan,
                               const ax_host_need **wait) AX_MUST_USE;

/* The window is complete; true: the event has its batch, false: no row is left. */
bool ax_fmt_window_finish(ax_fmt_window *w, ax_fmt_event *ev);

/* There are no more windows: DONE, or what a row raised. */
ax_status ax_fmt_window_last(ax_task *t, const ax_fmt_window *w, ax_fmt_event *ev) AX_MUST_USE;

/* A monotonic clock, for counters. */
uint64_t ax_fmt_now_ns(void);

/* ---- numbers --------------------------------------------------------------------------------- */

/* The host counts days and microseconds from 2000-01-01, files from 1970-01-01. */
#define AX_Y2K_DAYS 10957ll
#define AX_DAY_US 86400000000ll
#define AX_Y2K_US (AX_Y2K_DAYS * AX_DAY_US)

/* Days and microseconds that the host's dates and timestamps can be. */
#define AX_DATE_LO (-2451545ll)
#define AX_DATE_HI 2145031948ll
#define AX_STAMP_LO (-211813488000000000ll)
#define AX_STAMP_HI 9223371331199999999ll

static inline int64_t ax_floor_div(int64_t v, int64_t d)
{
    int64_t q = v / d;

    return q - (v % d < 0);
}

/* dst[i] = v, of `width` bytes; callers have a constant width. */
__attribute__((always_inline)) static inline void ax_store_int(void *dst, uint32_t i, int64_t v,
                                                               uint32_t width)
{
    if (width == 2)
        ((int16_t *) dst)[i] = (int16_t) v;
    else if (width == 4)
        ((int32_t *) dst)[i] = (int32_t) v;
    else
        ((int64_t *) dst)[i] = v;
}

/* From numbers with a scale to a declared numeric. */
typedef struct ax_fmt_digits
{
    ax_i128 most;              /* first value with too many digits, at the declared scale */
    ax_i128 factor;            /* 10^|rescale| */
    ax_i128 room;              /* largest value that can be multiplied by it */
    int16_t dscale;            /* declared */
    int16_t rescale;           /* digits to add (> 0) or to round away */
    int16_t precision;         /* digits allowed, 0: any */
} ax_fmt_digits;

/* type is a numeric; false: the scales are too far apart for ax_fmt_number. */
bool ax_fmt_digits_init(ax_type type, int32_t scale, ax_fmt_digits *d);

/* v of the file's scale into out, rounded half away from zero; false: more digits than allowed. */
static inline bool ax_fmt_number(const ax_fmt_digits *d, ax_i128 v, ax_num *out)
{
    if (d->rescale > 0)
    {
        if (v > d->room || v < -d->room)
            return false;
        v *= d->factor;
    }
    else if (d->rescale < 0)
    {
        ax_i128 r = v % d->factor;

        v /= d->factor;
        if (r >= d->factor / 2)
            v++;
        else if (r <= -(d->factor / 2))
            v--;
    }
    *out = (ax_num){.v = v, .dscale = d->dscale};
    return v < d->most && v > -d->most;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Mend p[n] into out, which has room for 3 * n bytes; returns the length.  Not for AX_ENC_FAIL. */
uint32_t ax_fmt_mend(ax_encoding_check mode, const uint8_t *p, uint32_t n, uint8_t *out);

/* ---- cells of facts -------------------------------------------------------------------------- */

/* A row of nulls of the table's types, and values into its cells; strings are borrowed. */
void ax_facts_nulls(ax_value *cell, const ax_fact_table *table);

static inline void ax_fact_int(ax_value *cell, int64_t v)
{
    cell->null = false;
    cell->u.i = v;
}

static inline void ax_fact_bytes(ax_value *cell, const void *p, size_t n)
{
    cell->null = false;
    cell->u.s.p = (const uint8_t *) p;
    cell->u.s.len = (uint32_t) n;
}

/* NULL: it stays null. */
static inline void ax_fact_word(ax_value *cell, const char *s)
{
    if (s != NULL)
        ax_fact_bytes(cell, s, strlen(s));
}

#endif
