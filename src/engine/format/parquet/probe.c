/* What Bloom filters say of a value, row group by row group, for people (the table bloom_probe).
 *
 *      HEADER  the filter's header of a row group, by a read
 *      BLOCK   the blocks that the hashes of the value are in, by another
 *
 * A row group of which nothing can be said has a null: it has no filter, one that we do not know,
 * or the column's values are not filtered by what they are read as. */
#include "parquet_int.h"

enum { PROBE_BATCH = 128, PROBE_HASHES = 2 };

typedef struct probe_op
{
    ax_pq_op op;
    const ax_pq_file *f;
    const ax_fact_table *table;
    const ax_pq_bind *bind;   /* of one column */
    uint64_t hash[PROBE_HASHES];
    uint32_t nhash;           /* 0: the value cannot be asked for */
    uint32_t group, from;     /* under way; first that was not told yet */
    uint32_t nbytes;          /* of the filter; 0: its header is not there yet */
    bool asked;
    int8_t *told;             /* [nsplits] is it excluded? -1: not known */
    ax_io_req req[PROBE_HASHES];
    ax_pq_chunk meta;
    ax_batch batch;
} probe_op;

static void drop(probe_op *o)
{
    for (uint32_t i = 0; i < PROBE_HASHES; i++)
        ax_buf_unref(o->req[i].buf);
    memset(o->req, 0, sizeof o->req);
    o->asked = false;
}

void ax_pq_probe_end(ax_fmt_op *op) { drop((probe_op *) op); }

ax_status ax_pq_probe_begin(ax_task *t, ax_arena *a, const ax_pq_file *f,
                            const ax_fact_table *table, const ax_fact_arg *arg, ax_fmt_op **out)
{
    const ax_bind_opts opts = {.match_by = AX_BY_NAME, .allow_missing = true};
    const ax_pq_conv *c;
    ax_colspec *col;
    ax_fmt_bind *bind;
    probe_op *o;

    AX_CHECK(t, arg != NULL && arg->npath > 0, AX_EPLAN, "a probe without a value");
    AX_NEW(t, o, (probe_op *) ax_arena_alloc0(a, sizeof *o));
    AX_NEW(t, col, (ax_colspec *) ax_arena_alloc0(a, sizeof *col));
    AX_NEW(t, o->told, (int8_t *) ax_arena_alloc0(a, f->base.nsplits + 1));
    *col = (ax_colspec){.name = arg->path[arg->npath - 1], .path = arg->path, .npath = arg->npath,
                        .field_id = -1, .type = arg->value.type};
    AX_TRY(ax_pq_bind_open(t, a, (ax_fmt_file *) &f->base, col, 1, &opts, &bind));
    o->op.kind = OP_PROBE;
    o->f = f;
    o->table = table;
    o->bind = (const ax_pq_bind *) bind;
    c = &o->bind->conv[0];
    if (!bind->constant[0] && c->leaf != NULL && c->kind != CONV_NEST && c->leaf->max_rep == 0)
        o->nhash = ax_pq_bloom_hashes(c, &arg->value, o->hash);
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

static bool inside(const probe_op *o, int64_t off, int64_t len)
{
    return off >= 4 && len > 0 && off < (int64_t) o->f->data_end &&
           len <= (int64_t) o->f->data_end - off;
}

/* Ask for the header; false: there is no filter. */
static bool ask_header(probe_op *o)
{
    const ax_pq_conv *c = &o->bind->conv[0];
    int64_t len;

    if (o->nhash == 0 || !ax_pq_chunk_get(o->f, o->group, c->leaf_idx, &o->meta) ||
        !o->meta.has_meta || o->meta.encrypted || o->meta.external ||
        o->meta.type != c->leaf->phys || !inside(o, o->meta.bloom_off, 1))
        return false;
    len = o->meta.bloom_len > 0 ? o->meta.bloom_len : (int64_t) o->f->data_end - o->meta.bloom_off;
    len = len < PQ_BLOOM_HEADER ? len : PQ_BLOOM_HEADER;
    if (!inside(o, o->meta.bloom_off, len))
        return false;
    o->req[0] = (ax_io_req){.kind = AX_IO_READ, .file = o->f->base.io,
                            .off = (uint64_t) o->meta.bloom_off, .len = (uint64_t) len};
    return true;
}

/* The header is there: ask for blocks; false: it is none. */
static bool ask_blocks(probe_op *o)
{
    const ax_buf *b = o->req[0].buf;
    uint32_t header, nbytes;
    uint64_t base;

    if (b == NULL || !ax_pq_bloom_header(b->data, b->len, &header, &nbytes) ||
        !inside(o, o->meta.bloom_off, (int64_t) header + nbytes) ||
        (o->meta.bloom_len > 0 && (int64_t) header + nbytes > o->meta.bloom_len))
        return false;
    drop(o);
    o->nbytes = nbytes;
    base = (uint64_t) o->meta.bloom_off + header;
    for (uint32_t i = 0; i < o->nhash; i++)
        o->req[i] = (ax_io_req){.kind = AX_IO_READ, .file = o->f->base.io, .len = PQ_BLOOM_BLOCK,
                                .off = base + (uint64_t) ax_pq_bloom_block(o->hash[i], nbytes) *
                                                  PQ_BLOOM_BLOCK};
    return true;
}

/* The next row group; told: what is known of this one. */
static void next(probe_op *o, int8_t told)
{
    drop(o);
    o->nbytes = 0;
    o->told[o->group++] = told;
}

/* On, until something must be read (true) or enough is known for a batch. */
static bool advance(probe_op *o)
{
    while (o->group < o->f->base.nsplits && o->group - o->from < PROBE_BATCH)
    {
        bool may = false, known = true;

        if (!o->asked)
        {
            if (ask_header(o))
                return true;
            next(o, -1);
            continue;
        }
        if (o->nbytes == 0)
        {
            if (ask_blocks(o))
                return true;
            next(o, -1);
            continue;
        }
        for (uint32_t i = 0; i < o->nhash; i++)
        {
            const ax_buf *b = o->req[i].buf;

            known = known && b != NULL && b->len >= PQ_BLOOM_BLOCK;
            may = may || (known && ax_pq_bloom_may(b->data, o->hash[i]));
        }
        next(o, !known ? -1 : !may);
    }
    return false;
}

ax_status ax_pq_probe_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    probe_op *o = (probe_op *) op;
    ax_value *cell;
    uint32_t n;

    AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
    if (advance(o))
    {
        o->asked = true;
        ev->step = AX_STEP_NEED;
        ev->need = (ax_io_need){o->req, o->nbytes == 0 ? 1 : o->nhash};
        return AX_OK;
    }
    n = o->group - o->from;
    if (n == 0)
    {
        ev->step = AX_STEP_DONE;
        return AX_OK;
    }
    AX_NEW(t, cell, (ax_value *) ax_arena_alloc(t->arena, (size_t) n * 2 * sizeof *cell));
    for (uint32_t i = 0; i < n; i++)
    {
        ax_facts_nulls(cell + (size_t) i * 2, o->table);
        ax_fact_int(&cell[(size_t) i * 2], o->from + i);
        if (o->told[o->from + i] >= 0)
            ax_fact_int(&cell[(size_t) i * 2 + 1], o->told[o->from + i]);
    }
    o->from = o->group;
    AX_TRY(ax_facts_batch(t, t->arena, o->table, cell, n, &o->batch));
    ev->step = AX_STEP_BATCH;
    ev->batch = &o->batch;
    return AX_OK;
}
