/* A MergeTree-like format for tests, over any ax_io scheme: rows in granules, blocks that must be
 * "decompressed", and reads that depend on reads (head -> marks file -> marks -> blocks).
 *
 * Columns: id INT8, v INT8, d INT4, s TEXT.  Rows of a split are ordered by id, which the reader
 * checks.  Everything is static; nothing of it gets into the library.
 *
 * Format: main file: "GRAN", u32 splits, u32 rows a split, u32 rows a granule, blocks.
 * Marks file (uri + ".mrk"): for each split, for each granule: u64 off, u32 len, u32 rows,
 * i64 min id, i64 max id.  Block, every byte xor 0x5a: i64 id[n], i64 v[n], i32 d[n],
 * u32 end of string [n], bytes. */
#ifndef AX_FAKE_FORMAT_TEST_H
#define AX_FAKE_FORMAT_TEST_H

#include "base/bytes.h"
#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FF_COLS 4u
#define FF_HEAD 16u
#define FF_MARK 32u

typedef struct ff_row { int64_t id, v; int32_t d; char s[32]; } ff_row;
typedef void (*ff_make_fn)(uint64_t n, ff_row *out); /* row n of the file */

typedef struct ff_bytes { uint8_t *main, *marks; size_t nmain, nmarks; } ff_bytes;

static void ff_put(uint8_t **at, const void *p, size_t n)
{
    memcpy(*at, p, n);
    *at += n;
}

static size_t ff_block(uint8_t *out, uint64_t row0, uint32_t n, ff_make_fn make, uint8_t *mark)
{
    uint8_t *ids = out, *vs = ids + 8 * n, *ds = vs + 8 * n, *ends = ds + 4 * n, *p = ends + 4 * n;
    uint8_t *text = p;
    ff_row r;

    for (uint32_t i = 0; i < n; i++)
    {
        uint32_t end;

        make(row0 + i, &r);
        memcpy(ids + 8 * i, &r.id, 8);
        memcpy(vs + 8 * i, &r.v, 8);
        memcpy(ds + 4 * i, &r.d, 4);
        ff_put(&p, r.s, strlen(r.s));
        end = (uint32_t) (p - text);
        memcpy(ends + 4 * i, &end, 4);
        if (i == 0)
            memcpy(mark, &r.id, 8);
        memcpy(mark + 8, &r.id, 8);
    }
    for (uint8_t *b = out; b < p; b++)
        *b ^= 0x5a;
    return (size_t) (p - out);
}

/* Bytes of a file with nsplits * rows rows; freed by ff_free. */
static ff_bytes ff_build(uint32_t nsplits, uint32_t rows, uint32_t granule, ff_make_fn make)
{
    uint32_t ngran = rows > 0 ? (rows + granule - 1) / granule : 0;
    ff_bytes f = {0};
    uint8_t *p, *m;

    f.main = (uint8_t *) ax_obj_alloc(FF_HEAD + (size_t) nsplits * rows * 60 + 64);
    f.marks = (uint8_t *) ax_obj_alloc((size_t) nsplits * ngran * FF_MARK + 1);
    p = f.main;
    m = f.marks;
    ff_put(&p, "GRAN", 4);
    ff_put(&p, &nsplits, 4);
    ff_put(&p, &rows, 4);
    ff_put(&p, &granule, 4);
    for (uint32_t s = 0; s < nsplits; s++)
        for (uint32_t g = 0; g < ngran; g++)
        {
            uint32_t n = rows - g * granule < granule ? rows - g * granule : granule;
            uint64_t off = (uint64_t) (p - f.main);
            uint64_t row0 = (uint64_t) s * rows + g * granule;
            uint32_t len = (uint32_t) ff_block(p, row0, n, make, m + 16);

            memcpy(m, &off, 8);
            memcpy(m + 8, &len, 4);
            memcpy(m + 12, &n, 4);
            m += FF_MARK;
            p += len;
        }
    f.nmain = (size_t) (p - f.main);
    f.nmarks = (size_t) (m - f.marks);
    return f;
}

static void ff_free(ff_bytes *f)
{
    ax_obj_free(f->main);
    ax_obj_free(f->marks);
}

/* ---- the opened file ------------------------------------------------------------------------- */

typedef struct ff_mark { uint64_t off; uint32_t len, nrows; int64_t min, max; } ff_mark;

typedef struct ff_file
{
    ax_fmt_file f;
    uint32_t rows, granule, ngran; /* of a split */
    const ff_mark *mark;           /* [nsplits * ngran] */
} ff_file;

static _Atomic int ff_opens; /* openings that parsed metadata: the cache makes them rare */
static _Atomic int ff_blocks; /* blocks decompressed */

typedef enum ff_kind { FF_OPEN_HEAD, FF_OPEN_MARKS, FF_OPEN_READ, FF_PRUNE, FF_SCAN,
    FF_FACTS } ff_kind;

struct ax_fmt_op
{
    ff_kind kind;
    ax_arena *a;
    ax_fmt_input in;
    ax_io_req req[4];
    uint32_t nreq;         /* requests whose buffers or files are owned here */
    ff_file *file;
    /* prune and scan */
    const ax_fmt_bind *bind;
    uint32_t split;
    const ax_filter *filter;
    ax_scan_req scan;
    uint32_t next;         /* granule to ask for */
    uint32_t have;         /* buffers in req not used yet, from `at` */
    uint32_t at, first;
    ax_arena *rows;        /* of the batch */
    ax_batch batch;
    ax_error poison;
    bool filtering;
    uint32_t pos;
    uint32_t order[16];
    uint16_t sel[AX_BATCH_ROWS];
};

static ax_fmt_op *ff_op(ax_arena *a, ff_kind kind)
{
    ax_fmt_op *op = (ax_fmt_op *) ax_arena_alloc0(a, sizeof *op);

    op->kind = kind;
    op->a = a;
    return op;
}

static void ff_drop(ax_fmt_op *op)
{
    for (uint32_t i = 0; i < op->nreq; i++)
    {
        ax_buf_unref(op->req[i].buf);
        if (op->req[i].kind == AX_IO_OPEN)
            ax_io_file_unref(op->req[i].file);
        memset(&op->req[i], 0, sizeof op->req[i]);
    }
    op->nreq = 0;
}

static void ff_need(ax_fmt_op *op, uint32_t n, ax_fmt_event *ev)
{
    op->nreq = n;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){op->req, n};
}

static ax_status ff_open_begin(ax_task *t, ax_arena *a, const ax_fmt_input *in, ax_fmt_op **out)
{
    (void) t;
    *out = ff_op(a, FF_OPEN_HEAD);
    (*out)->in = *in;
    atomic_fetch_add(&ff_opens, 1);
    return AX_OK;
}

static void ff_schema(ff_file *f, ax_arena *a)
{
    static const char *const names[FF_COLS] = {"id", "v", "d", "s"};
    static const ax_type_id types[FF_COLS] = {AX_T_INT8, AX_T_INT8, AX_T_INT4, AX_T_TEXT};

    f->f.schema.field = (ax_field *) ax_arena_alloc0(a, FF_COLS * sizeof(ax_field));
    f->f.schema.n = FF_COLS;
    for (uint32_t i = 0; i < FF_COLS; i++)
    {
        f->f.schema.field[i].name = names[i];
        f->f.schema.field[i].type = ax_type_make(types[i]);
        f->f.schema.field[i].source_type = "fake";
        f->f.schema.field[i].field_id = -1;
    }
}

extern const ax_format ff_format;

static ax_status ff_open_head(ax_task *t, ax_fmt_op *op)
{
    ax_arena *a = ax_arena_create(op->in.meta_budget, 0);
    const uint8_t *h = op->req[0].buf->data;
    ff_file *f = (ff_file *) ax_arena_alloc0(a, sizeof *f);

    f->f.format = &ff_format;
    atomic_init(&f->f.refs, 1);
    f->f.arena = a;
    f->f.nsplits = ax_load_u32(h + 4);
    f->rows = ax_load_u32(h + 8);
    f->granule = ax_load_u32(h + 12);
    f->ngran = f->rows > 0 ? (f->rows + f->granule - 1) / f->granule : 0;
    f->f.nrows = (int64_t) f->f.nsplits * f->rows;
    f->f.io = ax_io_file_ref(op->in.file);
    ff_schema(f, a);
    op->file = f;
    AX_CHECK(t, memcmp(h, "GRAN", 4) == 0, AX_ECORRUPT, "bad magic");
    return AX_OK;
}

static ax_status ff_open_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    char *uri;

    if (op->kind == FF_OPEN_HEAD && op->nreq == 0)
    {
        op->req[0] = (ax_io_req){.kind = AX_IO_READ, .file = op->in.file, .len = FF_HEAD};
        ff_need(op, 1, ev);
        return AX_OK;
    }
    if (op->kind == FF_OPEN_HEAD)
    {
        AX_TRY(ff_open_head(t, op));
        ff_drop(op);
        uri = (char *) ax_arena_alloc(op->a, strlen(op->in.uri) + 5);
        snprintf(uri, strlen(op->in.uri) + 5, "%s.mrk", op->in.uri);
        op->req[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = uri};
        op->kind = FF_OPEN_MARKS;
        ff_need(op, 1, ev);
        return AX_OK;
    }
    if (op->kind == FF_OPEN_MARKS)
    {
        op->req[1] = (ax_io_req){.kind = AX_IO_READ, .file = op->req[0].file,
                                 .len = (uint64_t) op->file->f.nsplits * op->file->ngran * FF_MARK};
        op->kind = FF_OPEN_READ;
        if (op->req[1].len > 0)
        {
            ff_need(op, 2, ev);
            return AX_OK;
        }
    }
    if (op->req[1].buf != NULL)
    {
        ff_mark *m = (ff_mark *) ax_arena_alloc(op->file->f.arena, op->req[1].len);

        memcpy(m, op->req[1].buf->data, op->req[1].len);
        op->file->mark = m;
    }
    ff_drop(op);
    ev->step = AX_STEP_DONE;
    ev->file = &op->file->f;
    op->file = NULL;
    return AX_OK;
}

static void ff_split(const ax_fmt_file *file, uint32_t i, ax_split *out)
{
    static const ax_sort_key_claim by_id = {0, false, false};
    const ff_file *f = (const ff_file *) file;

    (void) i;
    out->unit = "part";
    out->nrows = f->rows;
    out->granule_rows = f->granule;
    out->order = &by_id;
    out->norder = 1;
}

static ax_status ff_bind(ax_task *t, ax_arena *a, ax_fmt_file *f, const ax_colspec *col,
                         uint32_t ncols, const ax_bind_opts *o, ax_fmt_bind **out)
{
    (void) o;
    *out = (ax_fmt_bind *) ax_arena_alloc0(a, sizeof **out);
    **out = (ax_fmt_bind){.file = f, .col = col, .ncols = ncols};
    for (uint32_t i = 0; i < ncols; i++)
        if (col[i].position >= FF_COLS ||
            col[i].type.id != f->schema.field[col[i].position].type.id)
            return ax_fail(t, AX_ETYPE, "column \"%s\" does not fit", col[i].name);
    return AX_OK;
}

/* Rows of one id are one key: v is the version, d the mark or sign; FOLD adds v up. */
static uint8_t ff_rule = AX_FINAL_LAST;

static ax_status ff_final(ax_task *t, ax_arena *a, const char *options, const ax_colspec *col,
                          uint32_t ncols, const ax_bind_opts *o, ax_final *out)
{
    static const ax_type_id types[3] = {AX_T_INT8, AX_T_INT8, AX_T_INT4};
    static const bool desc[1] = {false};
    ax_fold_col *fold = (ax_fold_col *) ax_arena_alloc0(a, (ncols + 3) * sizeof *fold);
    bool *is_key = (bool *) ax_arena_alloc0(a, ncols + 1);

    (void) t;
    (void) options;
    (void) o;
    out->rule = ff_rule;
    out->title = "Fake";
    out->key = "id";
    out->nhidden = 3;
    out->hidden = (ax_colspec *) ax_arena_alloc0(a, 3 * sizeof *out->hidden);
    for (uint32_t i = 0; i < 3; i++)
        out->hidden[i] = (ax_colspec){.name = "hidden", .position = i, .field_id = -1,
                                      .type = ax_type_make(types[i])};
    out->nkeys = 1;
    out->desc = desc;
    out->version = 1;
    out->sign = 2;
    for (uint32_t i = 0; i < ncols; i++)
    {
        is_key[i] = col[i].position == 0;
        if (col[i].position == 1)
            fold[i] = (ax_fold_col){.fold = AX_FOLD_SUM, .bits = 64, .is_signed = true,
                                    .counts = true};
        if (col[i].position == 2)
            fold[i].fold = AX_FOLD_MAX;
        if (col[i].position == 3)
            fold[i].fold = AX_FOLD_LAST;
    }
    out->fold = fold;
    out->is_key = is_key;
    return AX_OK;
}

static void ff_int8(ax_value *v, int64_t i)
{
    memset(v, 0, sizeof *v);
    v->type = ax_type_make(AX_T_INT8);
    v->u.i = i;
}

static bool ff_bounds(const ax_fmt_bind *b, uint32_t split, uint32_t col, ax_bounds *out)
{
    const ff_file *f = (const ff_file *) b->file;
    const ff_mark *m = &f->mark[(size_t) split * f->ngran];

    if (b->col[col].position != 0 || f->ngran == 0)
        return false;
    *out = (ax_bounds){.has_min = true, .has_max = true, .min_exact = true, .max_exact = true,
                       .nulls = 0, .rows = f->rows};
    ff_int8(&out->min, m[0].min);
    ff_int8(&out->max, m[f->ngran - 1].max);
    return true;
}

/* ---- pruning --------------------------------------------------------------------------------- */

static ax_status ff_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                                ax_rowrange within, const ax_filter *f, uint32_t allow,
                                ax_fmt_op **out)
{
    (void) t;
    (void) within;
    (void) allow;
    *out = ff_op(a, FF_PRUNE);
    (*out)->bind = b;
    (*out)->split = split;
    (*out)->filter = f;
    return AX_OK;
}

typedef struct ff_src { const ax_fmt_bind *bind; uint32_t split; const ff_mark *m; } ff_src;

static bool ff_src_bounds(void *self, uint32_t col, ax_bounds *out)
{
    const ff_src *s = (const ff_src *) self;

    if (!ff_bounds(s->bind, s->split, col, out))
        return false;
    if (s->m != NULL)
    {
        out->min.u.i = s->m->min;
        out->max.u.i = s->m->max;
        out->rows = s->m->nrows;
    }
    return true;
}

static ax_status ff_prune_step(ax_fmt_op *op, ax_fmt_event *ev)
{
    const ff_file *f = (const ff_file *) op->bind->file;
    ff_src self = {op->bind, op->split, NULL};
    ax_stats_src src = {.self = &self, .bounds = ff_src_bounds};
    ax_rowset *set = (ax_rowset *) ax_arena_alloc0(op->a, sizeof *set);
    ax_rowrange *r = (ax_rowrange *) ax_arena_alloc(op->a, (f->ngran + 1) * sizeof *r);

    ev->step = AX_STEP_DONE;
    ev->match = ax_filter_match(op->filter, &src);
    ev->by = ev->match == AX_MATCH_NONE ? AX_PRUNED_MINMAX : AX_PRUNED_NOT;
    if (ev->match != AX_MATCH_SOME)
        return AX_OK;
    set->range = r;
    for (uint32_t g = 0; g < f->ngran; g++)
    {
        self.m = &f->mark[(size_t) op->split * f->ngran + g];
        if (ax_filter_match(op->filter, &src) != AX_MATCH_NONE)
            r[set->n++] = (ax_rowrange){g * f->granule, g * f->granule + self.m->nrows};
    }
    ev->rows = set;
    return AX_OK;
}

/* ---- scanning -------------------------------------------------------------------------------- */

static ax_status ff_scan_begin(ax_task *t, ax_arena *a, const ax_scan_req *req, ax_fmt_op **out)
{
    ax_fmt_op *op = ff_op(a, FF_SCAN);

    *out = op;
    op->scan = *req;
    op->bind = req->bind;
    op->split = req->split;
    AX_NEW(t, op->rows, ax_arena_create(req->budget, 0));
    return AX_OK;
}

/* From the first to the last row of granule g that is wanted; end == 0: none. */
static ax_rowrange ff_wanted(const ax_fmt_op *op, uint32_t g)
{
    const ff_file *f = (const ff_file *) op->bind->file;
    ax_rowrange all = {g * f->granule, g * f->granule + f->mark[op->split * f->ngran + g].nrows};
    ax_rowrange hull = {0, 0};

    if (op->scan.rows == NULL)
        return all;
    for (uint32_t i = 0; i < op->scan.rows->n; i++)
    {
        ax_rowrange r = op->scan.rows->range[i];

        if (r.end <= all.begin || r.begin >= all.end)
            continue;
        if (hull.end == 0)
            hull.begin = r.begin > all.begin ? r.begin : all.begin;
        hull.end = r.end < all.end ? r.end : all.end;
    }
    return hull;
}

/* Select the wanted rows of a batch that begins at row `begin` of the split. */
static void ff_select(ax_fmt_op *op, uint32_t begin)
{
    ax_batch *b = &op->batch;

    if (op->scan.rows == NULL)
        return;
    b->sel = op->sel;
    b->nsel = 0;
    for (uint32_t i = 0; i < op->scan.rows->n; i++)
        for (uint32_t r = op->scan.rows->range[i].begin; r < op->scan.rows->range[i].end; r++)
            if (r >= begin && r < begin + b->nrows)
                op->sel[b->nsel++] = (uint16_t) (r - begin);
}

/* Ask for up to four wanted granules; false: none left. */
static bool ff_ask(ax_fmt_op *op, ax_fmt_event *ev)
{
    const ff_file *f = (const ff_file *) op->bind->file;
    uint32_t n = 0;

    ff_drop(op);
    op->at = 0;
    for (; op->next < f->ngran && n < 4; op->next++)
    {
        const ff_mark *m = &f->mark[(size_t) op->split * f->ngran + op->next];

        if (ff_wanted(op, op->next).end == 0)
            continue;
        op->req[n] = (ax_io_req){.kind = AX_IO_READ, .file = f->f.io, .off = m->off, .len = m->len};
        op->req[n].nentries = op->next; /* unused by reads: remembers the granule */
        n++;
    }
    op->have = n;
    if (n > 0)
        ff_need(op, n, ev);
    return n > 0;
}

static ax_status ff_column(ax_task *t, ax_arena *a, const uint8_t *b, uint32_t n, uint32_t pos,
                           ax_rowrange r, ax_vec *out)
{
    static const uint32_t at[FF_COLS] = {0, 8, 16, 20};
    uint32_t rows = r.end - r.begin, w = pos == 2 ? 4 : 8, *off, *len;
    const uint8_t *src = b + (size_t) at[pos] * n;

    out->kind = AX_VK_FLAT;
    out->n = rows;
    if (pos < 3)
    {
        AX_NEW(t, out->u.data, ax_arena_values(a, (size_t) rows * w));
        memcpy(out->u.data, src + (size_t) r.begin * w, (size_t) rows * w);
        return AX_OK;
    }
    AX_NEW(t, off, (uint32_t *) ax_arena_values(a, rows * 4));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, rows * 4));
    for (uint32_t i = 0; i < rows; i++)
    {
        uint32_t k = r.begin + i;

        off[i] = k > 0 ? ax_load_u32(src + 4 * (k - 1)) : 0;
        len[i] = ax_load_u32(src + 4 * k) - off[i];
    }
    out->u.str.base = src + 4 * (size_t) n;
    out->u.str.off = off;
    out->u.str.len = len;
    return AX_OK;
}

/* "Decompress" a block and make the batch of its wanted rows. */
static ax_status ff_decode(ax_task *t, ax_fmt_op *op)
{
    const ff_file *f = (const ff_file *) op->bind->file;
    ax_io_req *rq = &op->req[op->at++];
    uint32_t g = rq->nentries, n = f->mark[op->split * f->ngran + g].nrows;
    ax_rowrange want = ff_wanted(op, g);
    ax_rowrange in = {want.begin - g * f->granule, want.end - g * f->granule};
    uint8_t *b;

    ax_arena_reset(op->rows);
    AX_NEW(t, b, (uint8_t *) ax_arena_values(op->rows, rq->len));
    for (uint64_t i = 0; i < rq->len; i++)
        b[i] = rq->buf->data[i] ^ 0x5a;
    for (uint32_t i = 1; i < n; i++)
        AX_CHECK(t, ax_load_u64(b + 8 * i) >= ax_load_u64(b + 8 * i - 8), AX_ECORRUPT,
                 "rows are not in the order that the part claims");
    atomic_fetch_add(&ff_blocks, 1);
    memset(&op->batch, 0, sizeof op->batch);
    op->batch.nrows = op->batch.nsel = in.end - in.begin;
    op->batch.ncols = op->scan.ncolumns;
    op->batch.split = op->scan.split_id;
    op->batch.row0 = want.begin;
    op->batch.arena = op->rows;
    AX_NEW(t, op->batch.col,
           (ax_vec *) ax_arena_alloc0(op->rows, (op->scan.ncolumns + 1) * sizeof(ax_vec)));
    for (uint32_t i = 0; i < op->scan.ncolumns; i++)
    {
        const ax_colspec *c = &op->bind->col[op->scan.columns[i]];

        op->batch.col[i].type = c->type;
        AX_TRY(ff_column(t, op->rows, b, n, c->position, in, &op->batch.col[i]));
    }
    ff_select(op, want.begin);
    op->scan.stats->rows_read += op->batch.nrows;
    op->scan.stats->pages++;
    return AX_OK;
}

/* Cut in front of the failing row and keep its error for the consumer. */
static void ff_cut(ax_task *t, ax_fmt_op *op, uint32_t row)
{
    ax_batch *b = &op->batch;
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint16_t r = b->sel != NULL ? b->sel[i] : (uint16_t) i;

        if (r < row)
            op->sel[n++] = r;
    }
    b->sel = op->sel;
    b->nsel = n;
    op->poison = t->err;
    ax_error_clear(&t->err);
    b->poison = &op->poison;
}

/* Run the filter's steps on the batch; false: the host has to answer first. */
static ax_status ff_filter(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev, bool *waits)
{
    uint32_t steps = ax_filter_steps(ax_filter_lane_filter(op->scan.filter));

    *waits = false;
    for (; op->pos < steps && op->batch.nsel > 0; op->pos++)
    {
        ax_eval_result r = {.fail_row = UINT32_MAX};
        ax_status st = ax_filter_step(t, op->scan.filter, op->order[op->pos], &op->batch, &r);

        if (st != AX_OK && r.fail_row == UINT32_MAX)
            return st;
        if (st != AX_OK)
        {
            ff_cut(t, op, r.fail_row);
            op->pos--; /* once more, on the rows before it */
            continue;
        }
        if (r.need != NULL)
        {
            ev->step = AX_STEP_NEED;
            ev->host = r.need;
            *waits = true;
            return AX_OK;
        }
    }
    return AX_OK;
}

static ax_status ff_scan_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    bool waits;

    for (;;)
    {
        if (!op->filtering)
        {
            if (op->at == op->have && !ff_ask(op, ev))
            {
                ev->step = AX_STEP_DONE;
                return AX_OK;
            }
            if (ev->need.n > 0)
                return AX_OK;
            AX_TRY(ff_decode(t, op));
            op->pos = 0;
            op->filtering = op->scan.filter != NULL;
            if (op->filtering)
            {
                AX_TRY(ax_filter_live(t, op->scan.filter, &op->batch));
                memcpy(op->order, ax_filter_lane_order(op->scan.filter),
                       ax_filter_steps(ax_filter_lane_filter(op->scan.filter)) * 4);
            }
        }
        if (op->filtering)
        {
            AX_TRY(ff_filter(t, op, ev, &waits));
            if (waits)
                return AX_OK;
        }
        op->filtering = false;
        op->scan.stats->rows_after_filter += op->batch.nsel;
        if (op->batch.nsel == 0 && op->batch.poison == NULL)
            continue;
        ev->step = AX_STEP_BATCH;
        ev->batch = &op->batch;
        return AX_OK;
    }
}

/* ---- the struct ------------------------------------------------------------------------------ */

/* ---- facts: a row a granule, which needs a read of its own ----------------------------------- */

static const ax_fact_col ff_fact_cols[] = {{"split", AX_T_INT8}, {"rows", AX_T_INT8},
                                           {"head", AX_T_BYTEA}};
static const ax_fact_table ff_facts[] = {{"granules", ff_fact_cols, 3}};

static ax_status ff_facts_begin(ax_task *t, ax_arena *a, const ax_fmt_file *f, uint32_t table,
                                const ax_fact_arg *arg, ax_fmt_op **out)
{
    AX_CHECK(t, table == 0 && arg == NULL, AX_EPLAN, "no such table of facts");
    *out = ff_op(a, FF_FACTS);
    (*out)->file = (ff_file *) ax_fmt_file_ref((ax_fmt_file *) f);
    return AX_OK;
}

static ax_status ff_facts_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    const ff_file *f = op->file;
    const ff_mark *m;
    ax_value cell[3];

    if (op->nreq == 0)
    {
        ev->step = AX_STEP_DONE;
        if (op->next == f->f.nsplits * f->ngran)
            return AX_OK;
        op->req[0] = (ax_io_req){.kind = AX_IO_READ, .file = f->f.io,
                                 .off = f->mark[op->next].off, .len = 8};
        ff_need(op, 1, ev);
        return AX_OK;
    }
    m = &f->mark[op->next];
    ff_int8(&cell[0], op->next / f->ngran);
    ff_int8(&cell[1], m->nrows);
    cell[2] = (ax_value){.type = ax_type_make(AX_T_BYTEA), .null = op->next % 2 == 1};
    cell[2].u.s.p = (const uint8_t *) ax_arena_strndup(t->arena,
                                                       (const char *) op->req[0].buf->data, 8);
    cell[2].u.s.len = 8;
    ff_drop(op);
    op->next++;
    AX_TRY(ax_facts_batch(t, t->arena, &ff_facts[0], cell, 1, &op->batch));
    ev->step = AX_STEP_BATCH;
    ev->batch = &op->batch;
    return AX_OK;
}

static ax_status ff_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    if (op->kind == FF_FACTS)
        return ff_facts_step(t, op, ev);
    if (op->kind == FF_PRUNE)
        return ff_prune_step(op, ev);
    if (op->kind == FF_SCAN)
        return ff_scan_step(t, op, ev);
    return ff_open_step(t, op, ev);
}

static void ff_end(ax_fmt_op *op)
{
    ff_drop(op);
    ax_arena_destroy(op->rows);
    if (op->file != NULL)
        ax_fmt_file_unref(&op->file->f);
}

static void ff_close(ax_fmt_file *f)
{
    (void) f;
}

const ax_format ff_format = {
    .name = "granules",
    .suffixes = "gran",
    .open_begin = ff_open_begin,
    .split = ff_split,
    .bind = ff_bind,
    .final = ff_final,
    .bounds = ff_bounds,
    .prune_begin = ff_prune_begin,
    .scan_begin = ff_scan_begin,
    .facts = ff_facts,
    .nfacts = 1,
    .facts_begin = ff_facts_begin,
    .step = ff_step,
    .end = ff_end,
    .close = ff_close,
};

#endif
