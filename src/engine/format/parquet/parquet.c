/* Parquet: the format's struct, and opening.
 *
 * Opening reads the last 64 KiB at once, which is the whole footer of most files, and the rest of
 * a longer footer with one more request.
 *
 * Format: apache/parquet-format, README "File format". */
#include "parquet_int.h"

#include <math.h>

/* ---- opening --------------------------------------------------------------------------------- */

enum { OPEN_TAIL, OPEN_FOOTER, OPEN_DONE };

typedef struct open_op
{
    ax_pq_op op;
    uint8_t state;
    bool asked;
    ax_fmt_input in;
    ax_io_req req;
    uint64_t size;
} open_op;

static bool is_magic(const uint8_t *p, const char *magic) { return memcmp(p, magic, 4) == 0; }

static bool sniff(const uint8_t *head, size_t nhead, const uint8_t *tail, size_t ntail)
{
    (void) head;
    (void) nhead;
    return ntail >= 8 && (is_magic(tail + ntail - 4, "PAR1") || is_magic(tail + ntail - 4, "PARE"));
}

static ax_status open_begin(ax_task *t, ax_arena *a, const ax_fmt_input *in, ax_fmt_op **out)
{
    open_op *o;

    AX_NEW(t, o, (open_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = OP_OPEN;
    o->in = *in;
    o->size = ax_io_file_size(in->file);
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

static ax_status need(open_op *o, uint64_t off, uint64_t len, ax_fmt_event *ev)
{
    ax_buf_unref(o->req.buf);
    o->req = (ax_io_req){.kind = AX_IO_READ, .file = o->in.file, .off = off, .len = len};
    o->asked = true;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){&o->req, 1};
    return AX_OK;
}

/* footer[len] lies in memory; make the file. */
static ax_status make_file(ax_task *t, open_op *o, const uint8_t *footer, uint32_t len,
                           ax_fmt_event *ev)
{
    ax_arena *a;
    ax_pq_file *f;
    uint8_t *copy;
    ax_status st;

    AX_NEW(t, a, ax_arena_create(o->in.meta_budget, 0));
    f = (ax_pq_file *) ax_arena_alloc0(a, sizeof *f);
    copy = (uint8_t *) ax_arena_alloc(a, len);
    if (f == NULL || copy == NULL)
    {
        ax_arena_destroy(a);
        return ax_fail_nomem(t, len);
    }
    memcpy(copy, footer, len);
    f->base.format = &ax_format_parquet;
    f->base.arena = a;
    atomic_init(&f->base.refs, 1);
    f->footer = copy;
    f->footer_len = len;
    f->data_end = o->size - 8 - len;
    st = ax_pq_footer_parse(t, f);
    if (st != AX_OK)
    {
        ax_arena_destroy(a);
        return st;
    }
    f->base.io = ax_io_file_ref(o->in.file);
    o->state = OPEN_DONE;
    ev->step = AX_STEP_DONE;
    ev->file = &f->base;
    return AX_OK;
}

static ax_status open_tail(ax_task *t, open_op *o, ax_fmt_event *ev)
{
    const ax_buf *b = o->req.buf;
    const uint8_t *end = b->data + b->len;
    uint32_t len;

    AX_CHECK(t, !is_magic(end - 4, "PARE"), AX_EUNSUPPORTED,
             "files with an encrypted footer are not supported yet");
    AX_CHECK(t, is_magic(end - 4, "PAR1"), AX_ECORRUPT, "not a Parquet file: no magic at its end");
    AX_CHECK(t, b->len < o->size || is_magic(b->data, "PAR1"), AX_ECORRUPT,
             "not a Parquet file: no magic at its start");
    len = ax_load_u32(end - 8);
    AX_CHECK(t, len > 0 && len <= o->size - 12, AX_ECORRUPT,
             "footer of %u bytes does not fit into a file of %llu", len,
             (unsigned long long) o->size);
    if (len + 8ull <= b->len)
        return make_file(t, o, end - 8 - len, len, ev);
    o->state = OPEN_FOOTER;
    return need(o, o->size - 8 - len, len, ev);
}

static ax_status open_step(ax_task *t, open_op *o, ax_fmt_event *ev)
{
    if (!o->asked)
    {
        AX_CHECK(t, o->size >= 12, AX_ECORRUPT, "not a Parquet file: it has only %llu bytes",
                 (unsigned long long) o->size);
        return o->size <= PQ_TAIL_BYTES ? need(o, 0, o->size, ev)
                                        : need(o, o->size - PQ_TAIL_BYTES, PQ_TAIL_BYTES, ev);
    }
    AX_CHECK(t, o->req.done && o->req.buf != NULL, AX_EIO, "requested bytes were not delivered");
    if (o->state == OPEN_TAIL)
        return open_tail(t, o, ev);
    return make_file(t, o, o->req.buf->data, (uint32_t) o->req.buf->len, ev);
}

/* ---- the struct ------------------------------------------------------------------------------ */

static ax_status step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    ax_status st;

    memset(ev, 0, sizeof *ev);
    switch (((ax_pq_op *) op)->kind)
    {
        case OP_OPEN:
            st = open_step(t, (open_op *) op, ev);
            if (st != AX_OK)
                ax_note_file(t, ax_io_file_name(((open_op *) op)->in.file));
            return st;
        case OP_PRUNE:
            return ax_pq_prune_step(t, op, ev);
        case OP_FACTS:
            return ax_pq_facts_step(t, op, ev);
        case OP_PROBE:
            return ax_pq_probe_step(t, op, ev);
        default:
            return ax_pq_scan_step(t, (ax_pq_scan *) op, ev);
    }
}

static void end(ax_fmt_op *op)
{
    if (op == NULL)
        return;
    if (((ax_pq_op *) op)->kind == OP_OPEN)
    {
        ax_buf_unref(((open_op *) op)->req.buf);
        ((open_op *) op)->req.buf = NULL;
    }
    else if (((ax_pq_op *) op)->kind == OP_SCAN)
        ax_pq_scan_end((ax_pq_scan *) op);
    else if (((ax_pq_op *) op)->kind == OP_PRUNE)
        ax_pq_prune_end(op);
    else if (((ax_pq_op *) op)->kind == OP_PROBE)
        ax_pq_probe_end(op);
}

static void split(const ax_fmt_file *file, uint32_t i, ax_split *out)
{
    const ax_pq_file *f = (const ax_pq_file *) file;

    memset(out, 0, sizeof *out);
    out->unit = "row group";
    out->nrows = f->group[i].nrows;
    out->row0 = f->group[i].row0;
    out->bytes = f->group[i].bytes;
    out->shares = true;
}

#define GUESS_GROUPS 64u /* row groups looked at */
#define PAGE_HEADER 30.0 /* bytes, about */

/* How large are the dictionaries of a leaf?  Fixed-width entries can be counted by their bytes.  Of
 * others the ids tell: n values take log2(n) bits each where they do not repeat in runs, and an
 * entry of the dictionary takes 5 bytes at least.  0: some pages have no dictionary. */
static double dictionary_entries(const ax_pq_file *f, const ax_pq_leaf *leaf, uint32_t leaf_idx)
{
    double most = 0;

    for (uint32_t g = 0; g < f->base.nsplits && g < GUESS_GROUPS; g++)
    {
        double dict, bits, n;
        ax_pq_chunk m;

        if (!ax_pq_chunk_get(f, g, leaf_idx, &m) || !m.dict_only || m.dict_off <= 0 ||
            m.data_off <= m.dict_off || m.compressed <= 0 || m.uncompressed <= 0 ||
            m.num_values <= 0)
            return 0;
        dict = (double) (m.data_off - m.dict_off) / (double) m.compressed *
                   (double) m.uncompressed - PAGE_HEADER;
        bits = 8 * ((double) m.uncompressed - dict) / (double) m.num_values;
        if (leaf->max_def > 0 && bits > 1.5)
            bits -= 0.5; /* between no null and many */
        n = bits < 31 ? exp2(bits) : INFINITY;
        n = n > dict / 24 ? n : dict / 24; /* in runs, ids take nearly nothing */
        n = n < dict / 5 ? n : dict / 5;
        if (leaf->phys == PQ_DOUBLE || leaf->phys == PQ_INT64)
            n = dict / 8;
        else if (leaf->phys == PQ_FLOAT || leaf->phys == PQ_INT32)
            n = dict / 4;
        most = n > most ? n : most;
    }
    return most > 1 ? most : f->base.nsplits > 0 ? 1 : 0;
}

/* Integers that fill a range smaller than the file is long: the width of the range.
 * Others by their dictionaries. */
static double distinct(const ax_fmt_bind *b, uint32_t col)
{
    const ax_pq_conv *c = &((const ax_pq_bind *) b)->conv[col];
    double lo = INFINITY, hi = -INFINITY;
    uint32_t i;

    if (c->type.id == AX_T_BOOL)
        return 2;
    if (c->leaf == NULL)
        return 0;
    if ((c->kind != CONV_LINEAR && c->kind != CONV_COPY) ||
        (c->type.phys != AX_P_I16 && c->type.phys != AX_P_I32 && c->type.phys != AX_P_I64))
        return dictionary_entries((const ax_pq_file *) b->file, c->leaf, c->leaf_idx);
    for (i = 0; i < b->file->nsplits; i++)
    {
        ax_bounds bd;

        if (!ax_pq_bounds(b, i, col, &bd) || !bd.has_min || !bd.has_max)
            return 0;
        lo = (double) bd.min.u.i < lo ? (double) bd.min.u.i : lo;
        hi = (double) bd.max.u.i > hi ? (double) bd.max.u.i : hi;
    }
    hi = (hi - lo) / (c->mul > 0 ? (double) c->mul : 1) + 1;
    return hi < (double) b->file->nrows ? hi : 0;
}

static double width(const ax_fmt_bind *b, uint32_t col)
{
    const ax_pq_conv *c = &((const ax_pq_bind *) b)->conv[col];
    ax_pq_chunk m;

    if (c->leaf == NULL || (c->kind != CONV_STR && c->kind != CONV_NEST))
        return c->dst_width;
    if (b->file->nsplits == 0 ||
        !ax_pq_chunk_get((const ax_pq_file *) b->file, 0, c->leaf_idx, &m) || m.num_values <= 0 ||
        m.uncompressed <= 0)
        return 0;
    return (double) m.uncompressed / (double) m.num_values;
}

static void close_file(ax_fmt_file *f) { (void) f; }

const ax_format ax_format_parquet = {
    .name = "parquet",
    .title = "Parquet",
    .suffixes = "parquet parq pq",
    .tail_bytes = PQ_TAIL_BYTES,
    .sniff = sniff,
    .open_begin = open_begin,
    .split = split,
    .bind = ax_pq_bind_open,
    .bounds = ax_pq_bounds,
    .distinct = distinct,
    .width = width,
    .prune_begin = ax_pq_prune_begin,
    .scan_begin = ax_pq_scan_begin,
    .facts = ax_pq_fact_table,
    .nfacts = AX_PQ_NFACTS,
    .facts_begin = ax_pq_facts_begin,
    .step = step,
    .end = end,
    .close = close_file,
};
