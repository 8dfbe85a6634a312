/* Pruning: may rows of a row group match, and if so, which pages hold them?
 *
 *   statistics --> Bloom filters --> dictionaries --> page indexes --> DONE
 *     (footer)       headers,           pages            indexes
 *                    blocks
 *
 * The cheap question comes first, and each answer of "none" ends the operation.  What would cost
 * more to read than it can save is not asked: large dictionaries, filters that are large beside
 * their row group.  Whatever does not parse is passed over: the reader of the rows has to complain
 * about damage, with its place.
 *
 * Conditions on one column that can neither raise nor need the host are evaluated on the values of
 * its dictionary, where the footer proves that all pages use it, and on null.  Page indexes of
 * several columns are laid over each other: the filter is asked once for each stretch of rows in
 * which no column begins a page. */
#include "parquet_int.h"

enum
{
    MAX_ASKED = 16,               /* columns asked about */
    MAX_PIECES = 64,              /* reads of Bloom filters */
    WHOLE_BLOOM_BYTES = 64 << 10, /* filters of at most this size are read at once */
    MAX_DICTIONARY_BYTES = 1 << 20
};

enum { PRUNE_START, PRUNE_BLOOM_HEAD, PRUNE_BLOOM_BITS, PRUNE_DICTIONARY, PRUNE_INDEX, PRUNE_DONE };

/* A column, and what is read for it. */
typedef struct asked
{
    uint32_t col;                 /* ordinal in the binding */
    ax_pq_chunk meta;
    uint32_t header, nbytes;      /* Bloom: sizes of header and blocks; 0: not in use */
    ax_pq_pages pages;            /* index: of the chunk; n == 0: not in use */
    ax_pq_stats *stats;           /* index: [pages.n] */
    uint32_t at;                  /* index: page of the stretch */
} asked;

typedef struct prune_op
{
    ax_pq_op op;
    uint8_t state;
    bool collect;                 /* has_any: name blocks, do not answer */
    uint32_t split, allow;
    const ax_fmt_bind *bind;
    const ax_pq_file *f;
    const ax_filter *filter;
    ax_arena *arena;              /* borrowed from begin */
    asked *asked;                 /* [nasked] */
    uint32_t nasked;
    ax_io_req *req;               /* [nreq] */
    uint32_t nreq;
    ax_rowset rows;
} prune_op;

ax_status ax_pq_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                            ax_rowrange within, const ax_filter *f, uint32_t allow, ax_fmt_op **out)
{
    prune_op *o;

    (void) within; /* row groups are asked as a whole */
    AX_NEW(t, o, (prune_op *) ax_arena_alloc0(a, sizeof *o));
    AX_NEW(t, o->asked, (asked *) ax_arena_alloc0(a, MAX_ASKED * sizeof *o->asked));
    AX_NEW(t, o->req, (ax_io_req *) ax_arena_alloc0(a, MAX_PIECES * sizeof *o->req));
    o->op.kind = OP_PRUNE;
    o->bind = b;
    o->f = (const ax_pq_file *) b->file;
    o->split = split;
    o->filter = f;
    o->allow = allow;
    o->arena = a;
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

static void drop_requests(prune_op *o)
{
    for (uint32_t i = 0; i < o->nreq; i++)
        ax_buf_unref(o->req[i].buf);
    memset(o->req, 0, MAX_PIECES * sizeof *o->req);
    o->nreq = 0;
}

void ax_pq_prune_end(ax_fmt_op *op) { drop_requests((prune_op *) op); }

/* Is [off, off + len) inside the file's data? */
static bool inside(const prune_op *o, int64_t off, int64_t len)
{
    int64_t end = (int64_t) o->f->data_end;

    return off >= 4 && len > 0 && off < end && len <= end - off;
}

/* One more read; false: there are too many. */
static bool add_request(prune_op *o, uint64_t off, uint64_t len)
{
    for (uint32_t i = 0; i < o->nreq; i++)
        if (o->req[i].off <= off && off + len <= o->req[i].off + o->req[i].len)
            return true;
    if (o->nreq == MAX_PIECES)
        return false;
    o->req[o->nreq++] = (ax_io_req){.kind = AX_IO_READ, .file = o->f->base.io, .off = off,
                                    .len = len};
    return true;
}

/* Delivered bytes [off, off + len), or NULL. */
static const uint8_t *bytes_at(const prune_op *o, uint64_t off, uint64_t len)
{
    for (uint32_t i = 0; i < o->nreq; i++)
        if (o->req[i].buf != NULL && o->req[i].off <= off &&
            off + len <= o->req[i].off + o->req[i].len)
            return o->req[i].buf->data + (off - o->req[i].off);
    return NULL;
}

static ax_status wait_for(prune_op *o, uint8_t state, ax_fmt_event *ev)
{
    o->state = state;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){o->req, o->nreq};
    return AX_OK;
}

static ax_status finish(prune_op *o, ax_match match, uint8_t by, ax_fmt_event *ev)
{
    o->state = PRUNE_DONE;
    ev->step = AX_STEP_DONE;
    ev->match = match;
    ev->by = match == AX_MATCH_NONE ? by : AX_PRUNED_NOT;
    ev->rows = match == AX_MATCH_SOME && o->rows.range != NULL ? &o->rows : NULL;
    return AX_OK;
}

/* The column as a plain leaf with a chunk that can be read, or NULL. */
static const ax_pq_conv *leaf_chunk(const prune_op *o, uint32_t col, ax_pq_chunk *m)
{
    const ax_pq_conv *c = &((const ax_pq_bind *) o->bind)->conv[col];

    if (o->bind->constant[col] || c->leaf == NULL || c->kind == CONV_NEST || c->kind == CONV_NULL ||
        c->leaf->max_rep > 0 || !ax_pq_chunk_get(o->f, o->split, c->leaf_idx, m) || !m->has_meta ||
        m->encrypted || m->external || m->type != c->leaf->phys ||
        m->num_values != o->f->group[o->split].nrows)
        return NULL;
    return c;
}

static asked *find_asked(const prune_op *o, uint32_t col)
{
    for (uint32_t i = 0; i < o->nasked; i++)
        if (o->asked[i].col == col)
            return &o->asked[i];
    return NULL;
}

/* Leave nothing of the step before. */
static void forget_asked(prune_op *o)
{
    drop_requests(o);
    memset(o->asked, 0, MAX_ASKED * sizeof *o->asked);
    o->nasked = 0;
}

/* ---- statistics ------------------------------------------------------------------------------ */

static bool chunk_bounds(void *self, uint32_t col, ax_bounds *out)
{
    const prune_op *o = (const prune_op *) self;

    return (o->allow & AX_ALLOW_MINMAX) != 0 && ax_pq_bounds(o->bind, o->split, col, out);
}

/* ---- Bloom filters --------------------------------------------------------------------------- */

/* Bytes that are read for a header. */
static int64_t header_bytes(const prune_op *o, const ax_pq_chunk *m)
{
    int64_t len = m->bloom_len > 0 ? m->bloom_len : (int64_t) o->f->data_end - m->bloom_off;

    return len < PQ_BLOOM_HEADER ? len : PQ_BLOOM_HEADER;
}

/* Which columns are compared with constants? */
static ax_match note_column(void *self, uint32_t col, const ax_value *vals, uint32_t n)
{
    prune_op *o = (prune_op *) self;
    int64_t len;
    ax_pq_chunk m;

    (void) vals;
    if (n > MAX_PIECES || o->nasked == MAX_ASKED || find_asked(o, col) != NULL ||
        leaf_chunk(o, col, &m) == NULL)
        return AX_MATCH_SOME;
    len = header_bytes(o, &m);
    if (inside(o, m.bloom_off, len) && add_request(o, (uint64_t) m.bloom_off, (uint64_t) len))
        o->asked[o->nasked++] = (asked){.col = col, .meta = m};
    return AX_MATCH_SOME;
}

/* May one of vals be there?  While collecting, name the blocks that will tell. */
static ax_match probe(void *self, uint32_t col, const ax_value *vals, uint32_t n)
{
    prune_op *o = (prune_op *) self;
    const ax_pq_conv *c = &((const ax_pq_bind *) o->bind)->conv[col];
    asked *k = find_asked(o, col);
    bool may = false;

    if (k == NULL || k->nbytes == 0)
        return AX_MATCH_SOME;
    for (uint32_t i = 0; i < n && !may; i++)
    {
        uint64_t hash[2], base = (uint64_t) k->meta.bloom_off + k->header;
        uint32_t m = vals[i].null ? 0 : ax_pq_bloom_hashes(c, &vals[i], hash);

        may = m == 0;
        for (uint32_t j = 0; j < m; j++)
        {
            uint64_t off = base + (uint64_t) ax_pq_bloom_block(hash[j], k->nbytes) * PQ_BLOOM_BLOCK;
            const uint8_t *block;

            if (o->collect)
            {
                if (k->nbytes <= WHOLE_BLOOM_BYTES ? !add_request(o, base, k->nbytes)
                                                   : !add_request(o, off, PQ_BLOOM_BLOCK))
                    k->nbytes = 0;
                continue;
            }
            block = bytes_at(o, off, PQ_BLOOM_BLOCK);
            may |= block == NULL || ax_pq_bloom_may(block, hash[j]);
        }
        if (k->nbytes == 0)
            return AX_MATCH_SOME;
    }
    return o->collect || may ? AX_MATCH_SOME : AX_MATCH_NONE;
}

static ax_match ask_blooms(prune_op *o, bool collect)
{
    ax_stats_src src = {.self = o, .bounds = chunk_bounds, .has_any = probe};

    o->collect = collect;
    return ax_filter_match(o->filter, &src);
}

/* Headers are there: which filters are good, and worth their bytes? */
static void check_headers(prune_op *o)
{
    int64_t group = o->f->group[o->split].bytes;

    for (uint32_t i = 0; i < o->nasked; i++)
    {
        asked *k = &o->asked[i];
        size_t len = (size_t) header_bytes(o, &k->meta);
        const uint8_t *p = bytes_at(o, (uint64_t) k->meta.bloom_off, len);
        int64_t read;

        if (p == NULL || !ax_pq_bloom_header(p, len, &k->header, &k->nbytes) ||
            !inside(o, k->meta.bloom_off, (int64_t) k->header + k->nbytes) ||
            (k->meta.bloom_len > 0 && (int64_t) k->header + k->nbytes > k->meta.bloom_len))
            k->nbytes = 0;
        read = k->nbytes < WHOLE_BLOOM_BYTES ? k->nbytes : 4096;
        if (read > group / 2)
            k->nbytes = 0;
    }
    drop_requests(o);
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Is step i a condition on one column alone that may be asked of any value? */
static bool single(const prune_op *o, uint32_t step, uint32_t *col)
{
    uint32_t n;
    const uint32_t *cols = ax_filter_step_columns(o->filter, step, &n);

    if (n != 1 || !ax_filter_step_apart(o->filter, step))
        return false;
    *col = cols[0];
    return true;
}

static void name_dictionaries(prune_op *o)
{
    forget_asked(o);
    for (uint32_t i = 0; i < ax_filter_steps(o->filter) && o->nasked < MAX_ASKED; i++)
    {
        uint32_t col;
        ax_pq_chunk m;

        if (!single(o, i, &col) || find_asked(o, col) != NULL || leaf_chunk(o, col, &m) == NULL ||
            !m.dict_only || m.dict_off >= m.data_off ||
            !inside(o, m.dict_off, m.data_off - m.dict_off) ||
            m.data_off - m.dict_off > MAX_DICTIONARY_BYTES ||
            m.data_off - m.dict_off > o->f->group[o->split].bytes / 4)
            continue;
        o->asked[o->nasked++] = (asked){.col = col, .meta = m};
        o->req[o->nreq++] = (ax_io_req){.kind = AX_IO_READ, .file = o->f->base.io,
                                        .off = (uint64_t) m.dict_off,
                                        .len = (uint64_t) (m.data_off - m.dict_off)};
    }
}

/* A column without a scan, to decode the dictionary with. */
static ax_status load_dictionary(ax_task *t, prune_op *o, uint32_t i, ax_pq_scan *s, ax_pq_col *c)
{
    const ax_pq_conv *conv = &((const ax_pq_bind *) o->bind)->conv[o->asked[i].col];
    ax_io_req *r = &o->req[i];
    ax_pq_page page;

    AX_TRY(ax_pq_col_init(t, s, c, conv));
    AX_CHECK(t, r->buf != NULL, AX_EIO, "requested bytes were not delivered");
    ax_pq_col_data(c, r->buf);
    r->buf = NULL;
    AX_TRY(ax_pq_page_header(t, &c->cur, (int64_t) r->off, 0, &page));
    AX_CHECK(t, page.type == PQ_PAGE_DICTIONARY, AX_ECORRUPT, "no dictionary");
    return ax_pq_dict_load(t, c, &page, NULL);
}

/* Run the steps that look at `col` alone over the batch; *any: some row passes. */
static ax_status run_steps(ax_task *t, const prune_op *o, ax_filter_lane *l, uint32_t col,
                           ax_batch *b, bool *any)
{
    uint32_t own;

    for (uint32_t i = 0; i < ax_filter_steps(o->filter) && b->nsel > 0; i++)
    {
        ax_eval_result r = {.fail_row = UINT32_MAX};

        if (!single(o, i, &own) || own != col)
            continue;
        AX_TRY(ax_filter_step(t, l, i, b, &r));
        if (r.need != NULL)
            break; /* who knows */
    }
    *any |= b->nsel > 0;
    return AX_OK;
}

/* Values [from, from + n) of a dictionary. */
static void slice(const ax_dict *d, uint32_t from, uint32_t n, uint32_t width, ax_vec *out)
{
    *out = d->val;
    out->n = n;
    if (ax_type_is_str(d->val.type))
    {
        out->u.str.off += from;
        out->u.str.len += from;
    }
    else
        out->u.data = (uint8_t *) d->val.u.data + (size_t) from * width;
}

static ax_status ask_values(ax_task *t, prune_op *o, ax_filter_lane *l, const ax_pq_col *c,
                            uint32_t col, bool *any)
{
    ax_value null = {.type = c->conv->type, .null = true};
    ax_batch b = {.ncols = o->bind->ncols, .arena = o->arena};
    ax_bounds bd;

    AX_NEW(t, b.col, (ax_vec *) ax_arena_alloc0(o->arena, b.ncols * sizeof *b.col));
    for (uint32_t from = 0; from < c->dict->n && !*any; from += AX_BATCH_ROWS)
    {
        uint32_t n = c->dict->n - from < AX_BATCH_ROWS ? c->dict->n - from : AX_BATCH_ROWS;

        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        b.nrows = b.nsel = n;
        b.sel = NULL;
        slice(c->dict, from, n, c->conv->dst_width, &b.col[col]);
        AX_TRY(run_steps(t, o, l, col, &b, any));
    }
    if (*any || c->conv->leaf->max_def == 0 ||
        (ax_pq_bounds(o->bind, o->split, col, &bd) && bd.nulls == 0))
        return AX_OK;
    b.nrows = b.nsel = 1;
    b.sel = NULL;
    AX_TRY(ax_vec_const(t, o->arena, &null, 1, &b.col[col]));
    return run_steps(t, o, l, col, &b, any);
}

/* Does some value of dictionary i, or null, pass? */
static ax_status ask_dictionary(ax_task *t, prune_op *o, uint32_t i, ax_filter_lane *l, bool *any)
{
    ax_scan_stats stats = {0};
    ax_pq_scan s = {.f = o->f, .bind = (const ax_pq_bind *) o->bind, .arena = o->arena,
                    .group = &o->f->group[o->split]};
    ax_pq_col c = {0};
    ax_status st;

    s.req = (ax_scan_req){.bind = o->bind, .split = o->split, .allow = o->allow, .stats = &stats,
                          .budget = t->budget};
    *any = true;
    AX_TRY(ax_cdc_create(t, o->arena, &s.cdc));
    st = load_dictionary(t, o, i, &s, &c);
    if (st == AX_OK && c.dict_bad == NULL)
    {
        *any = false;
        st = ask_values(t, o, l, &c, o->asked[i].col, any);
    }
    ax_pq_col_free(&c);
    return st;
}

static ax_status ask_dictionaries(ax_task *t, prune_op *o, bool *none)
{
    ax_filter_lane *l;

    AX_TRY(ax_filter_lane_create(t, o->arena, o->filter, &l));
    for (uint32_t i = 0; i < o->nasked && !*none; i++)
    {
        bool any;
        ax_status st = ask_dictionary(t, o, i, l, &any);

        if (st == AX_ENOMEM || st == AX_ESTOPPED)
            return st;
        if (st != AX_OK)
            ax_error_clear(&t->err);
        *none = st == AX_OK && !any;
    }
    return AX_OK;
}

/* ---- page indexes ---------------------------------------------------------------------------- */

static void name_index(prune_op *o, uint32_t col)
{
    ax_pq_chunk m;

    if (o->nasked == MAX_ASKED || find_asked(o, col) != NULL || leaf_chunk(o, col, &m) == NULL ||
        !inside(o, m.ci_off, m.ci_len) || !inside(o, m.oi_off, m.oi_len) ||
        (int64_t) m.ci_len + m.oi_len > o->f->group[o->split].bytes / 4)
        return;
    o->asked[o->nasked++] = (asked){.col = col, .meta = m};
    o->req[o->nreq++] = (ax_io_req){.kind = AX_IO_READ, .file = o->f->base.io,
                                    .off = (uint64_t) m.ci_off, .len = (uint64_t) m.ci_len};
    o->req[o->nreq++] = (ax_io_req){.kind = AX_IO_READ, .file = o->f->base.io,
                                    .off = (uint64_t) m.oi_off, .len = (uint64_t) m.oi_len};
}

static void name_indexes(prune_op *o)
{
    uint32_t live[AX_FILTER_SLOTS], n;

    forget_asked(o);
    for (uint32_t i = 0; i < ax_filter_steps(o->filter); i++)
    {
        const uint32_t *cols = ax_filter_step_columns(o->filter, i, &n);

        for (uint32_t k = 0; k < n; k++)
            name_index(o, cols[k]);
    }
    n = ax_filter_live_columns(o->filter, live);
    for (uint32_t i = 0; i < n; i++)
        name_index(o, live[i]);
}

/* Take the indexes that are good; how many? */
static uint32_t take_indexes(ax_task *t, prune_op *o)
{
    uint32_t good = 0, nrows = (uint32_t) o->f->group[o->split].nrows;

    for (uint32_t i = 0; i < o->nasked; i++)
    {
        asked *k = &o->asked[i];
        const ax_buf *ci = o->req[2 * i].buf, *oi = o->req[2 * i + 1].buf;
        uint64_t off, len;
        bool ok = ci != NULL && oi != NULL &&
                  ax_pq_chunk_range(t, o->f, &k->meta, &off, &len) == AX_OK;

        ok = ok && ax_pq_offset_index(o->arena, oi->data, oi->len, off, off + len, nrows,
                                      &k->pages) &&
             ax_pq_column_index(o->arena, ci->data, ci->len, k->pages.n, &k->stats);
        if (!ok)
            k->pages.n = 0;
        good += k->pages.n > 1;
    }
    ax_error_clear(&t->err);
    return good;
}

static bool page_bounds(void *self, uint32_t col, ax_bounds *out)
{
    const prune_op *o = (const prune_op *) self;
    const asked *k = find_asked(o, col);

    if (k == NULL || k->pages.n == 0)
        return chunk_bounds(self, col, out);
    return ax_pq_page_bounds(o->f, &((const ax_pq_bind *) o->bind)->conv[col], &k->stats[k->at],
                             ax_pq_page_end(&k->pages, k->at) - k->pages.page[k->at].row, out);
}

/* First row behind `row` at which some column begins a page; each is put on its page of `row`. */
static uint32_t stretch(prune_op *o, uint32_t row)
{
    uint32_t end = (uint32_t) o->f->group[o->split].nrows;

    for (uint32_t i = 0; i < o->nasked; i++)
    {
        asked *k = &o->asked[i];

        if (k->pages.n == 0)
            continue;
        while (ax_pq_page_end(&k->pages, k->at) <= row)
            k->at++;
        if (ax_pq_page_end(&k->pages, k->at) < end)
            end = ax_pq_page_end(&k->pages, k->at);
    }
    return end;
}

/* Ranges of rows that may match into o->rows; *none: there are none. */
static ax_status ask_pages(ax_task *t, prune_op *o, bool *none)
{
    ax_stats_src src = {.self = o, .bounds = page_bounds};
    uint32_t nrows = (uint32_t) o->f->group[o->split].nrows, n = 0, most = 1;
    bool all = true;
    ax_rowrange *r;

    for (uint32_t i = 0; i < o->nasked; i++)
        most += o->asked[i].pages.n;
    AX_NEW(t, r, (ax_rowrange *) ax_arena_alloc(o->arena, (size_t) most * sizeof *r));
    for (uint32_t row = 0; row < nrows;)
    {
        uint32_t end = stretch(o, row);

        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        if (ax_filter_match(o->filter, &src) == AX_MATCH_NONE)
            all = false;
        else if (n > 0 && r[n - 1].end == row)
            r[n - 1].end = end;
        else
            r[n++] = (ax_rowrange){row, end};
        row = end;
    }
    *none = n == 0 && nrows > 0;
    if (!all)
        o->rows = (ax_rowset){r, n};
    return AX_OK;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static ax_status to_index(prune_op *o, ax_fmt_event *ev)
{
    int64_t nrows = o->f->group[o->split].nrows;

    if ((o->allow & AX_ALLOW_PAGE_INDEX) != 0 && nrows > 0 && nrows <= UINT32_MAX)
        name_indexes(o);
    else
        forget_asked(o);
    return o->nreq > 0 ? wait_for(o, PRUNE_INDEX, ev) : finish(o, AX_MATCH_SOME, 0, ev);
}

static ax_status to_dictionaries(prune_op *o, ax_fmt_event *ev)
{
    if ((o->allow & AX_ALLOW_DICTIONARY) != 0)
        name_dictionaries(o);
    else
        forget_asked(o);
    return o->nreq > 0 ? wait_for(o, PRUNE_DICTIONARY, ev) : to_index(o, ev);
}

static ax_status start(prune_op *o, ax_fmt_event *ev)
{
    ax_stats_src src = {.self = o, .bounds = chunk_bounds};
    ax_match match = o->filter != NULL ? ax_filter_match(o->filter, &src) : AX_MATCH_SOME;

    if (match != AX_MATCH_SOME || o->filter == NULL)
        return finish(o, match, AX_PRUNED_MINMAX, ev);
    src.has_any = note_column;
    if ((o->allow & AX_ALLOW_BLOOM) != 0)
        (void) ax_filter_match(o->filter, &src);
    return o->nreq > 0 ? wait_for(o, PRUNE_BLOOM_HEAD, ev) : to_dictionaries(o, ev);
}

ax_status ax_pq_prune_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    prune_op *o = (prune_op *) op;
    bool none = false;

    switch (o->state)
    {
        case PRUNE_START:
            return start(o, ev);
        case PRUNE_BLOOM_HEAD:
            check_headers(o);
            (void) ask_blooms(o, true);
            return o->nreq > 0 ? wait_for(o, PRUNE_BLOOM_BITS, ev) : to_dictionaries(o, ev);
        case PRUNE_BLOOM_BITS:
            if (ask_blooms(o, false) == AX_MATCH_NONE)
                return finish(o, AX_MATCH_NONE, AX_PRUNED_BLOOM, ev);
            return to_dictionaries(o, ev);
        case PRUNE_DICTIONARY:
            AX_TRY(ask_dictionaries(t, o, &none));
            return none ? finish(o, AX_MATCH_NONE, AX_PRUNED_DICTIONARY, ev) : to_index(o, ev);
        case PRUNE_INDEX:
            if (take_indexes(t, o) > 0)
                AX_TRY(ask_pages(t, o, &none));
            return finish(o, none ? AX_MATCH_NONE : AX_MATCH_SOME, AX_PRUNED_PAGE_INDEX, ev);
        default:
            return finish(o, AX_MATCH_SOME, 0, ev);
    }
}
