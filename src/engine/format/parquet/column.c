/* A column chunk as a stream of rows: pages are opened when a row of theirs is wanted, and not
 * before; rows that nobody wants are skipped by count, whole pages without decompressing them.
 *
 *      page header --> [skipped whole] --> next header
 *            \-------> open: decompress, set level and value readers
 *                         --> segments of windows: levels, values, nulls spread in place
 *
 * Format: apache/parquet-format, README "Nested Encoding", "Data Pages". */
#include "parquet_int.h"

/* ---- life ------------------------------------------------------------------------------------ */

/* Where the chunk's pages begin: the declared offsets have a history. */
static int64_t chunk_start(const ax_pq_file *f, const ax_pq_chunk *m)
{
    /* Files of DuckDB up to 0.10.2 declare a wrong data page when there is a dictionary. */
    if (m->dict_off >= 4 && strcmp(f->writer.app, "DuckDB") == 0 && !f->writer.known)
        return m->dict_off;
    return m->dict_off >= 4 && m->dict_off < m->data_off ? m->dict_off : m->data_off;
}

ax_status ax_pq_chunk_range(ax_task *t, const ax_pq_file *f, const ax_pq_chunk *m, uint64_t *off,
                            uint64_t *bytes)
{
    int64_t start = chunk_start(f, m), len = m->compressed, end = (int64_t) f->data_end;

    if (m->num_values == 0)
    {
        *off = 4;
        *bytes = 0;
        return AX_OK;
    }
    AX_CHECK(t, start >= 4 && len > 0 && start < end && len <= end - start, AX_ECORRUPT,
             "column chunk of %lld bytes at offset %lld lies outside the file's data",
             (long long) len, (long long) start);
    /* parquet-mr up to 1.2.8 did not count the header of the dictionary page. */
    if (ax_pq_writer_before(&f->writer, "parquet-mr", 1, 2, 9) ||
        (!f->writer.known && strcmp(f->writer.app, "parquet-mr") == 0))
        len = end - start - len < 100 ? end - start : len + 100;
    *off = (uint64_t) start;
    *bytes = (uint64_t) len;
    return AX_OK;
}

static ax_status chunk_codec(ax_task *t, ax_pq_col *c)
{
    static const uint8_t map[] = {AX_CDC_NONE, AX_CDC_SNAPPY, AX_CDC_GZIP, 255,
                                  AX_CDC_BROTLI, AX_CDC_LZ4_HADOOP, AX_CDC_ZSTD, AX_CDC_LZ4_RAW};
    int32_t codec = c->meta.codec;

    AX_CHECK(t, codec != 3, AX_EUNSUPPORTED, "codec LZO is not supported");
    AX_CHECK(t, codec >= 0 && codec < (int32_t) sizeof map, AX_EUNSUPPORTED,
             "codec %d is not known", (int) codec);
    c->codec = (ax_codec) map[codec];
    return AX_OK;
}

static ax_status window_memory(ax_task *t, ax_pq_col *c)
{
    ax_arena *a = c->scan->arena;
    size_t width = c->conv->dst_width, n = AX_BATCH_ROWS;

    AX_NEW(t, c->id, (uint32_t *) ax_arena_values(a, n * 4));
    AX_NEW(t, c->phys, (uint8_t *) ax_arena_values(a, n * 12));
    if (c->conv->src == SRC_BYTES || c->conv->src == SRC_FIXED || c->conv->kind == CONV_STR)
    {
        AX_NEW(t, c->soff, (uint32_t *) ax_arena_values(a, n * 4));
        AX_NEW(t, c->slen, (uint32_t *) ax_arena_values(a, n * 4));
        AX_NEW(t, c->sptr, (const uint8_t **) ax_arena_values(a, n * sizeof *c->sptr));
    }
    if (c->in_nest)
        return AX_OK; /* windows of such leaves have no fixed length */
    AX_NEW(t, c->null, (uint8_t *) ax_arena_values(a, n));
    AX_NEW(t, c->run_id, (uint32_t *) ax_arena_values(a, PQ_MAX_RUNS * 4));
    if (c->conv->kind != CONV_STR)
        AX_NEW(t, c->val, (uint8_t *) ax_arena_values(a, n * (width > 0 ? width : 1)));
    return AX_OK;
}

ax_status ax_pq_col_init(ax_task *t, ax_pq_scan *s, ax_pq_col *c, const ax_pq_conv *conv)
{
    ax_pq_chunk *m = &c->meta;

    c->scan = s;
    c->conv = conv;
    c->page_no = -1;
    AX_CHECK(t, ax_pq_chunk_get(s->f, s->req.split, conv->leaf_idx, m), AX_ECORRUPT,
             "column chunk does not parse");
    AX_CHECK(t, !m->external, AX_EUNSUPPORTED, "column chunk lies in another file");
    AX_CHECK(t, !m->encrypted, AX_EUNSUPPORTED, "encrypted columns are not supported yet");
    AX_CHECK(t, m->has_meta, AX_ECORRUPT, "column chunk has no complete metadata");
    AX_CHECK(t, m->type == conv->leaf->phys, AX_ECORRUPT,
             "column chunk has physical type %d where the schema says %d", (int) m->type,
             (int) conv->leaf->phys);
    AX_CHECK(t, conv->leaf->max_rep > 0 || m->num_values == s->group->nrows, AX_ECORRUPT,
             "column chunk has %lld values where its row group has %lld rows",
             (long long) m->num_values, (long long) s->group->nrows);
    c->check_later = conv->check_text && conv->mend == AX_ENC_FAIL && !c->in_nest;
    c->slots_left = m->num_values;
    AX_TRY(ax_pq_chunk_range(t, s->f, m, &c->off, &c->len));
    AX_TRY(chunk_codec(t, c));
    c->keeps_last = ax_pq_writer_before(&s->f->writer, "parquet-mr", 1, 8, 0) ||
                    !s->f->writer.known;
    return window_memory(t, c);
}

void ax_pq_col_free(ax_pq_col *c)
{
    for (uint32_t i = 0; i < c->npieces; i++)
    {
        ax_buf_unref(c->piece[i].buf);
        c->piece[i].buf = NULL;
    }
    ax_buf_unref(c->chunk);
    ax_buf_unref(c->body);
    ax_buf_unref(c->spare);
    ax_buf_unref(c->turned);
    ax_buf_unref(c->turned_rep);
    ax_buf_unref(c->lens);
    ax_buf_unref(c->prefixes);
    ax_buf_unref(c->last);
    ax_buf_unref(c->wbuf);
    ax_buf_unref(c->level_hold);
    c->level_hold = NULL;
    for (uint32_t i = 0; i < c->nwhole; i++)
        ax_buf_unref(c->whole[i]);
    c->nwhole = 0;
    if (c->dict != NULL)
        ax_arena_destroy(c->dict->arena);
    c->chunk = c->body = c->spare = c->turned = c->turned_rep = c->lens = c->prefixes = NULL;
    c->last = c->wbuf = NULL;
    c->dict = NULL;
    c->dict_bad = NULL;
}

void ax_pq_col_rewind(ax_pq_col *c)
{
    ax_buf *chunk = c->windowed ? NULL : c->chunk;
    uint32_t npieces = c->npieces;

    if (c->nread != NULL)
    {
        ax_pq_nested_rewind(c);
        return;
    }
    if (!c->windowed)
        c->chunk = NULL;
    c->npieces = 0; /* they stay */
    ax_pq_col_free(c);
    if (chunk != NULL)
        ax_pq_col_data(c, chunk);
    c->npieces = npieces;
    c->prefix_done = false;
    c->pos = c->page_left = c->last_len = 0;
    c->slots_left = c->meta.num_values;
    c->page_no = -1;
    c->opened = c->pieces = c->reading = c->hungry = false;
    c->marks = NULL;
    c->walked = 0;
}

void ax_pq_col_cut(ax_pq_col *c, ax_vec *v, uint32_t n)
{
    v->n = n;
    if (v->kind != AX_VK_RUN)
        return;
    while (v->u.run.n > 1 && c->run_end[v->u.run.n - 2] >= n)
        v->u.run.n--;
    c->run_end[v->u.run.n - 1] = (uint16_t) n;
    v->u.run.val->n = v->u.run.n;
}

void ax_pq_col_data(ax_pq_col *c, ax_buf *chunk)
{
    if (c->windowed)
    {
        ax_pq_col_window(c, chunk);
        return;
    }
    if (c->nfetched < c->npieces)
    {
        c->piece[c->nfetched++].buf = chunk;
        if (c->chunk != NULL)
            return;
        chunk = ax_buf_ref(chunk);
    }
    c->chunk = chunk;
    c->chunk_off = c->off;
    c->beyond = 0;
    c->cur = ax_cur_make(chunk->data, chunk->len);
}

ax_status ax_pq_window_buffer(ax_task *t, ax_pq_col *c, size_t n)
{
    ax_buf *b = c->wbuf;

    if (b != NULL && b->cap >= n && atomic_load_explicit(&b->refs, memory_order_acquire) == 1)
    {
        b->len = n;
        return AX_OK;
    }
    b = ax_buf_alloc(c->scan->req.budget, n);
    if (b == NULL)
        return ax_fail_nomem(t, n);
    ax_buf_unref(c->wbuf);
    c->wbuf = b;
    return AX_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Let go of the current page. */
static void retire_page(ax_pq_col *c)
{
    ax_pq_retire_buffer(c);
    ax_buf_unref(c->level_hold);
    c->level_hold = NULL;
    c->opened = c->pieces = false;
    c->marks = NULL;
    c->walked = 0;
}

/* ---- pages that an index locates ------------------------------------------------------------- */

/* A piece behind the last, or more of the last. */
static void add_piece(ax_pq_col *c, uint64_t off, uint64_t len)
{
    ax_pq_piece *last = c->npieces > 0 ? &c->piece[c->npieces - 1] : NULL;

    if (last != NULL && last->off + last->len == off)
        last->len += len;
    else
        c->piece[c->npieces++] = (ax_pq_piece){off, len, NULL};
}

ax_status ax_pq_col_locate(ax_task *t, ax_pq_col *c, const ax_pq_pages *pages,
                           const ax_rowset *rows)
{
    uint64_t bytes = pages->page[0].off - c->off;
    uint32_t wanted = 0, r = 0;

    AX_NEW(t, c->piece,
           (ax_pq_piece *) ax_arena_alloc(c->scan->arena, (pages->n + 1u) * sizeof *c->piece));
    c->npieces = 0;
    if (bytes > 0)
        add_piece(c, c->off, bytes);
    for (uint32_t i = 0; i < pages->n; i++)
    {
        const ax_pq_loc *p = &pages->page[i];

        while (r < rows->n && rows->range[r].end <= p->row)
            r++;
        if (r == rows->n || rows->range[r].begin >= ax_pq_page_end(pages, i))
            continue;
        add_piece(c, p->off, p->len);
        bytes += p->len;
        wanted++;
    }
    if (wanted == 0 || bytes > c->len - c->len / 4)
    {
        c->npieces = 0;
        return AX_OK;
    }
    c->pages = *pages;
    c->len = bytes;
    if (!c->scan->joined || c->scan->first)
        c->scan->req.stats->pages_skipped += pages->n - wanted;
    return AX_OK;
}

static void go_to_piece(ax_pq_col *c, uint32_t i, uint64_t off, uint64_t len)
{
    ax_buf *b = ax_buf_ref(c->piece[i].buf);

    ax_buf_unref(c->chunk);
    c->chunk = b;
    c->chunk_off = off;
    c->cur = ax_cur_make(b->data + (off - c->piece[i].off), (size_t) len);
}

/* Load the dictionary, which stands in front of the data pages. */
static ax_status load_prefix(ax_task *t, ax_pq_col *c)
{
    uint64_t len = c->pages.page[0].off - c->off;
    ax_pq_page page;

    if (c->prefix_done)
        return AX_OK;
    c->prefix_done = true;
    if (len == 0)
        return AX_OK;
    go_to_piece(c, 0, c->off, len);
    while (ax_cur_left(&c->cur) > 0)
    {
        int64_t off = (int64_t) (c->chunk_off + ax_cur_off(&c->cur));

        AX_TRY(ax_pq_page_header(t, &c->cur, off, 0, &page));
        if (page.type == PQ_PAGE_DICTIONARY)
            AX_TRY(ax_pq_dict_load(t, c, &page, NULL));
        else
            AX_CHECK(t, page.type == PQ_PAGE_INDEX, AX_ECORRUPT,
                     "data page stands in front of those of the offset index");
    }
    return AX_OK;
}

/* Put the cursor on the page after the current one. */
static ax_status find_page(ax_task *t, ax_pq_col *c)
{
    uint32_t i = (uint32_t) (c->page_no + 1), k;

    AX_TRY(load_prefix(t, c));
    AX_CHECK(t, i < c->pages.n, AX_ECORRUPT, "offset index ends before all values were found");
    for (k = 0; k < c->npieces; k++)
        if (c->piece[k].off <= c->pages.page[i].off &&
            c->pages.page[i].off < c->piece[k].off + c->piece[k].len)
            break;
    AX_CHECK(t, k < c->npieces, AX_ECORRUPT, "page %u was not asked for", i);
    go_to_piece(c, k, c->pages.page[i].off, c->pages.page[i].len);
    return AX_OK;
}

/* Step over the next page, unread, when all its rows are before `row`. */
static ax_status jump(ax_task *t, ax_pq_col *c, uint32_t row, bool *jumped)
{
    uint32_t i = (uint32_t) (c->page_no + 1), end;

    *jumped = false;
    if (i >= c->pages.n)
        return AX_OK;
    AX_TRY(load_prefix(t, c));
    end = ax_pq_page_end(&c->pages, i);
    if (end > row)
        return AX_OK;
    *jumped = true;
    c->page_no++;
    c->slots_left -= end - c->pos;
    c->pos = end;
    return AX_OK;
}

/* ---- one page after the other ---------------------------------------------------------------- */

/* Go to the next data page, or be hungry; a dictionary on the way is loaded. */
ax_status ax_pq_col_next_page(ax_task *t, ax_pq_col *c)
{
    retire_page(c);
    if (c->pages.n > 0)
        AX_TRY(find_page(t, c));
    if (c->windowed && c->chunk == NULL)
        ax_pq_want(c, c->off, 0);
    if (c->hungry)
        return AX_OK;
    do
    {
        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        AX_TRY(ax_pq_col_header(t, c));
        if (c->hungry)
            return AX_OK;
        if (c->page.type == PQ_PAGE_DICTIONARY)
            AX_TRY(ax_pq_dict_load(t, c, &c->page, NULL));
    } while (c->page.type != PQ_PAGE_DATA && c->page.type != PQ_PAGE_DATA_V2);
    c->page_no++;
    c->page_left = (uint32_t) c->page.num_values;
    c->slots_left -= c->page.num_values;
    if (c->pages.n > 0)
        AX_CHECK(t, c->page_left == ax_pq_page_end(&c->pages, (uint32_t) c->page_no) - c->pos,
                 AX_ECORRUPT, "page has %u values where the offset index has %u", c->page_left,
                 ax_pq_page_end(&c->pages, (uint32_t) c->page_no) - c->pos);
    if (c->page.type == PQ_PAGE_DATA_V2 && c->conv->leaf->max_rep == 0)
        AX_CHECK(t, c->page.num_rows == c->page.num_values, AX_ECORRUPT,
                 "page has %d values for %d rows", (int) c->page.num_values,
                 (int) c->page.num_rows);
    return AX_OK;
}

static uint8_t bits_for(uint32_t max) { return max == 0 ? 0 : (uint8_t) (32 - __builtin_clz(max)); }

/* BIT_PACKED levels, turned into one long run of the hybrid. */
static ax_status packed_levels(ax_task *t, ax_pq_col *c, uint8_t width, ax_pq_rle *out,
                               ax_buf **turned)
{
    uint64_t n = (uint64_t) c->page.num_values, bytes = (n * width + 7) / 8;

    AX_CHECK(t, bytes <= (uint64_t) (c->vend - c->v), AX_ECORRUPT,
             "levels reach beyond their page");
    ax_buf_unref(*turned);
    *turned = ax_buf_alloc(c->scan->req.budget, (size_t) bytes);
    if (*turned == NULL)
        return ax_fail_nomem(t, (size_t) bytes);
    ax_pq_bitpacked_turn(c->v, (*turned)->data, n, width);
    *out = (ax_pq_rle){.packed = (*turned)->data, .packed_left = (uint32_t) n, .width = width};
    c->v += bytes;
    return AX_OK;
}

/* Set a reader of levels that stand in front of the values (v1). */
static ax_status levels_in_front(ax_task *t, ax_pq_col *c, uint8_t max, int32_t encoding,
                                 ax_pq_rle *out, ax_buf **turned)
{
    uint8_t width = bits_for(max);
    uint32_t n;

    if (width == 0)
    {
        ax_pq_rle_init(out, c->v, c->v, 0);
        return AX_OK;
    }
    if (encoding == PQ_BIT_PACKED)
        return packed_levels(t, c, width, out, turned);
    AX_CHECK(t, encoding == PQ_RLE, AX_ECORRUPT, "levels have encoding %d", (int) encoding);
    n = c->vend - c->v >= 4 ? ax_load_u32(c->v) : UINT32_MAX;
    AX_CHECK(t, c->vend - c->v >= 4 && n <= (uint64_t) (c->vend - c->v) - 4, AX_ECORRUPT,
             "levels reach beyond their page");
    ax_pq_rle_init(out, c->v + 4, c->v + 4 + n, width);
    c->v += 4 + (size_t) n;
    return AX_OK;
}

/* Set the readers of levels: repetition first, then definition. */
static ax_status open_levels(ax_task *t, ax_pq_col *c)
{
    const ax_pq_page *p = &c->page;
    const ax_pq_leaf *l = c->conv->leaf;

    if (p->type == PQ_PAGE_DATA_V2)
    {
        const uint8_t *levels = p->body + p->rep_len;

        ax_pq_rle_init(&c->rep_levels, p->body, levels, bits_for(l->max_rep));
        ax_pq_rle_init(&c->def, levels, levels + p->def_len, bits_for(l->max_def));
        return AX_OK;
    }
    AX_TRY(levels_in_front(t, c, l->max_rep, p->rep_encoding, &c->rep_levels, &c->turned_rep));
    return levels_in_front(t, c, l->max_def, p->def_encoding, &c->def, &c->turned);
}

static ax_status wrong_encoding(ax_task *t, ax_pq_col *c)
{
    return ax_fail(t, AX_EUNSUPPORTED, "encoding %d is not supported for type %s", (int) c->enc,
                   c->conv->leaf->field->source_type);
}

/* Dictionary ids: the first byte is their width. */
static ax_status open_ids(ax_task *t, ax_pq_col *c)
{
    AX_CHECK(t, c->dict != NULL, AX_ECORRUPT, "page refers to a dictionary that is not there");
    if (c->v == c->vend)
    {
        /* Only nulls: nothing was written.  A stream of width 1 without bytes refuses to give. */
        ax_pq_rle_init(&c->ids, c->v, c->v, 1);
        return AX_OK;
    }
    AX_CHECK(t, *c->v <= 32, AX_ECORRUPT, "dictionary ids have %u bits", *c->v);
    ax_pq_rle_init(&c->ids, c->v + 1, c->vend, *c->v);
    return AX_OK;
}

/* RLE booleans have a length in front, in both kinds of page. */
static ax_status open_rle_bool(ax_task *t, ax_pq_col *c)
{
    uint32_t n;

    if (c->conv->src != SRC_BOOL)
        return wrong_encoding(t, c);
    if (c->v == c->vend)
    {
        ax_pq_rle_init(&c->ids, c->v, c->v, 1);
        return AX_OK;
    }
    n = c->vend - c->v >= 4 ? ax_load_u32(c->v) : UINT32_MAX;
    AX_CHECK(t, c->vend - c->v >= 4 && n <= (uint64_t) (c->vend - c->v) - 4, AX_ECORRUPT,
             "booleans reach beyond their page");
    ax_pq_rle_init(&c->ids, c->v + 4, c->v + 4 + n, 1);
    return AX_OK;
}

static ax_status open_values(ax_task *t, ax_pq_col *c)
{
    uint8_t src = c->conv->src;
    bool bytes = src == SRC_BYTES || src == SRC_FIXED, empty = c->v == c->vend;
    bool ints = src == SRC_I32 || src == SRC_U32 || src == SRC_I64 || src == SRC_U64;

    c->base = c->v;
    c->bit = 0;
    c->enc = c->page.encoding == PQ_PLAIN_DICTIONARY ? PQ_RLE_DICTIONARY : c->page.encoding;
    switch (c->enc)
    {
        case PQ_PLAIN:
            return AX_OK;
        case PQ_RLE_DICTIONARY:
            return open_ids(t, c);
        case PQ_RLE:
            return open_rle_bool(t, c);
        case PQ_BYTE_STREAM_SPLIT:
            if (src == SRC_BOOL || src == SRC_I96 || src == SRC_BYTES)
                return wrong_encoding(t, c);
            return ax_pq_split_open(t, c);
        case PQ_ALP:
            if (src != SRC_F32 && src != SRC_F64)
                return wrong_encoding(t, c);
            return ax_pq_alp_open(t, c);
        case PQ_DELTA_BINARY_PACKED:
            if (!ints)
                return wrong_encoding(t, c);
            memset(&c->delta, 0, sizeof c->delta);
            AX_CHECK(t, empty || ax_pq_delta_init(&c->delta, c->v, c->vend,
                                                  c->conv->src_width == 4 ? 32 : 64),
                     AX_ECORRUPT, "header of delta-encoded integers is corrupt");
            return AX_OK;
        case PQ_DELTA_LENGTH_BYTE_ARRAY:
        case PQ_DELTA_BYTE_ARRAY:
            if (!bytes || (c->enc == PQ_DELTA_LENGTH_BYTE_ARRAY && src == SRC_FIXED))
                return wrong_encoding(t, c);
            c->len_idx = c->len_n = 0;
            return empty ? AX_OK : ax_pq_delta_open(t, c);
        default:
            return wrong_encoding(t, c);
    }
}

ax_status ax_pq_col_open_page(ax_task *t, ax_pq_col *c)
{
    if (c->page_no < (int64_t) c->nwhole)
    {
        c->body = ax_buf_ref(c->whole[c->page_no]);
        c->v = c->body->data;
        c->vend = c->v + c->body->len;
        c->marks = c->whole_marks[c->page_no];
        c->nth = 0;
    }
    else
    {
        AX_TRY(ax_pq_pieces_open(t, c, ax_pq_page_stored(c, &c->page)));
        if (c->hungry)
            return AX_OK;
        if (!c->pieces)
            AX_TRY(ax_pq_page_body(t, c, &c->page, &c->body, &c->v, &c->vend));
        c->scan->req.stats->pages++;
    }
    c->opened = true;
    AX_TRY(open_levels(t, c));
    return open_values(t, c);
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Definition levels of the next n rows.  null != NULL: written from null[0] on, given that the
 * window had *nnull nulls in `before` rows.  *nvals: rows that have a value. */
static ax_status take_levels(ax_task *t, ax_pq_col *c, uint32_t n, uint8_t *null, uint32_t before,
                             uint32_t *nvals)
{
    uint32_t max_def = c->conv->leaf->max_def, done = 0, vals = 0, i;
    uint32_t lvl[256];

    if (max_def == 0)
    {
        if (null != NULL && c->nnull > 0)
            memset(null, 0, n);
        *nvals = n;
        return AX_OK;
    }
    while (done < n)
    {
        uint32_t k = n - done, ones = 0, max = 0;

        AX_CHECK(t, ax_pq_rle_fill(&c->def), AX_ECORRUPT,
                 "definition levels are corrupt or fewer than the page's values");
        if (c->def.run_left > 0)
        {
            k = k < c->def.run_left ? k : c->def.run_left;
            max = c->def.value;
            ones = max == max_def ? k : 0;
            c->def.run_left -= k;
        }
        else
        {
            k = k < c->def.packed_left ? k : c->def.packed_left;
            k = k < 256 ? k : 256;
            max = ax_pq_rle_unpack(&c->def, lvl, k);
            for (i = 0; i < k; i++)
                ones += lvl[i] == max_def;
        }
        AX_CHECK(t, max <= max_def, AX_ECORRUPT, "definition level %u is above %u", max, max_def);
        if (null != NULL)
        {
            if (ones < k && c->nnull == 0)
                memset(null - before, 0, before + done);
            c->nnull += k - ones;
            if (ones == k && c->nnull > 0)
                memset(null + done, 0, k);
            else if (ones == 0)
                memset(null + done, 1, k);
            else if (ones < k)
                for (i = 0; i < k; i++)
                    null[done + i] = lvl[i] != max_def;
        }
        vals += ones;
        done += k;
    }
    *nvals = vals;
    return AX_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

ax_status ax_pq_col_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    switch (c->enc)
    {
        case PQ_RLE:
            return ax_pq_rle_bool(t, c, n, out);
        case PQ_BYTE_STREAM_SPLIT:
            return ax_pq_split_fixed(t, c, n, out);
        case PQ_ALP:
            return ax_pq_alp_fixed(t, c, n, out);
        case PQ_DELTA_BINARY_PACKED:
            return ax_pq_delta_fixed(t, c, n, out);
        default:
            return ax_pq_plain_fixed(t, c, n, out);
    }
}

/* Strings of the page: *base, *hold say where they stand; *gap as for ax_pq_text_check. */
ax_status ax_pq_col_strings(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len,
                            const uint8_t **base, ax_buf **hold, int *gap)
{
    *base = c->base;
    *hold = c->body;
    *gap = 0;
    switch (c->enc)
    {
        case PQ_BYTE_STREAM_SPLIT:
            AX_TRY(ax_pq_split_str(t, c, n, off, len));
            break;
        case PQ_DELTA_BYTE_ARRAY:
            AX_TRY(ax_pq_delta_str(t, c, n, off, len));
            break;
        case PQ_DELTA_LENGTH_BYTE_ARRAY:
            return ax_pq_delta_str(t, c, n, off, len);
        default:
            *gap = c->conv->src == SRC_FIXED ? 0 : 4;
            return ax_pq_plain_str(t, c, n, off, len);
    }
    *base = c->wbuf != NULL ? c->wbuf->data : c->base;
    *hold = c->wbuf;
    return AX_OK;
}

static bool is_bytes(const ax_pq_col *c)
{
    return c->conv->src == SRC_BYTES || c->conv->src == SRC_FIXED;
}

/* Step over n values of the open page. */
ax_status ax_pq_col_skip_values(ax_task *t, ax_pq_col *c, uint64_t n)
{
    if (c->enc == PQ_PLAIN && c->marks != NULL)
        n -= ax_pq_plain_jump(c, n);
    while (n > 0)
    {
        uint32_t k = n < AX_BATCH_ROWS ? (uint32_t) n : AX_BATCH_ROWS;
        const uint8_t *p;
        ax_buf *hold;
        int gap;

        if (c->enc == PQ_RLE_DICTIONARY)
        {
            AX_CHECK(t, ax_pq_rle_skip(&c->ids, n), AX_ECORRUPT,
                     "dictionary ids are corrupt or fewer than the levels promise");
            return AX_OK;
        }
        if (c->enc == PQ_ALP)
            return ax_pq_alp_skip(t, c, n);
        if (is_bytes(c))
            AX_TRY(ax_pq_col_strings(t, c, k, c->soff, c->slen, &p, &hold, &gap));
        else
            AX_TRY(ax_pq_col_fixed(t, c, k, &p));
        n -= k;
    }
    return AX_OK;
}

/* Move to `row`. */
static ax_status skip_to(ax_task *t, ax_pq_col *c, uint32_t row)
{
    while (c->pos < row && !c->hungry)
    {
        uint32_t k = row - c->pos, vals;

        if (c->page_left == 0)
        {
            bool jumped;

            AX_TRY(jump(t, c, row, &jumped));
            if (!jumped)
                AX_TRY(ax_pq_col_next_page(t, c));
            continue;
        }
        k = k < c->page_left ? k : c->page_left;
        if (k < c->page_left || (c->keeps_last && c->page.encoding == PQ_DELTA_BYTE_ARRAY))
        {
            if (!c->opened)
                AX_TRY(ax_pq_col_open_page(t, c));
            if (c->pieces && !c->hungry)
                AX_TRY(ax_pq_pieces_fit(t, c, 0, &k));
            if (c->hungry)
                break;
            AX_TRY(take_levels(t, c, k, NULL, 0, &vals));
            AX_TRY(ax_pq_col_skip_values(t, c, vals));
        }
        else if (!c->opened)
            c->scan->req.stats->pages_skipped++;
        c->page_left -= k;
        c->pos += k;
    }
    return AX_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Move n values that stand at the front of v to the rows that are not null, from the last on; what
 * lies under nulls becomes zero. */
__attribute__((always_inline)) static inline void spread_width(uint8_t *v, size_t w, uint32_t nvals,
                                                               const uint8_t *null, uint32_t n)
{
    while (n-- > 0)
    {
        if (null[n])
            memset(v + n * w, 0, w);
        else if (--nvals != n)
            memcpy(v + n * w, v + nvals * w, w);
    }
}

static void spread(void *values, uint32_t width, uint32_t nvals, const uint8_t *null, uint32_t n)
{
    uint8_t *v = (uint8_t *) values;

    switch (width)
    {
        case 1: spread_width(v, 1, nvals, null, n); break;
        case 2: spread_width(v, 2, nvals, null, n); break;
        case 4: spread_width(v, 4, nvals, null, n); break;
        case 8: spread_width(v, 8, nvals, null, n); break;
        case 16: spread_width(v, 16, nvals, null, n); break;
        default: spread_width(v, width, nvals, null, n); break;
    }
}

/* The same for offsets of strings: under a null stands that of the next string, so that offsets
 * ascend. */
static void spread_offsets(uint32_t *off, const uint32_t *len, uint32_t nvals, const uint8_t *null,
                           uint32_t n)
{
    uint32_t next = nvals > 0 ? off[nvals - 1] + len[nvals - 1] : 0;

    while (n-- > 0)
        off[n] = next = null[n] ? next : off[--nvals];
}

/* v[i] = dict[id[i]] for fixed widths. */
static void gather(const ax_pq_col *c, uint32_t from, uint32_t n)
{
    const uint8_t *src = (const uint8_t *) c->dict->val.u.data;
    uint32_t w = c->conv->dst_width, i;

    if (c->dict->n == 0)
        memset(c->val + (size_t) from * w, 0, (size_t) n * w);
    else if (w == 4)
        for (i = from; i < from + n; i++)
            ((uint32_t *) (void *) c->val)[i] = ((const uint32_t *) (const void *) src)[c->id[i]];
    else
        for (i = from; i < from + n; i++)
            memcpy(c->val + (size_t) i * w, src + (size_t) c->id[i] * w, w);
}

/* Ids of a string dictionary as pointers. */
static void point_ids(ax_pq_col *c, uint32_t from, uint32_t n)
{
    const ax_vec *d = &c->dict->val;
    uint32_t i;

    for (i = from; i < from + n; i++)
    {
        bool none = c->dict->n == 0;

        c->sptr[i] = none ? (const uint8_t *) "" : d->u.str.base + d->u.str.off[c->id[i]];
        c->slen[i] = none ? 0 : d->u.str.len[c->id[i]];
    }
}

/* Rows [0, n) of the window as pointers, whatever they are now. */
static void to_view(ax_pq_col *c, uint32_t n)
{
    uint32_t i;

    if (c->rep == REP_DICT)
        point_ids(c, 0, n);
    else if (c->rep == REP_STR)
        for (i = 0; i < n; i++)
            c->sptr[i] = c->win_base + c->soff[i];
    c->rep = REP_VIEW;
}

bool ax_pq_is_lost(const ax_pq_conv *c)
{
    return c->out_of_range == AX_RANGE_NULL && !c->check_text;
}

ax_status ax_pq_bad_value(ax_task *t, ax_pq_col *c, uint32_t row)
{
    const ax_pq_conv *v = c->conv;

    if (!ax_fmt_window_wants(&c->scan->w, row))
        return AX_OK;
    c->fail_row = row;
    AX_CHECK(t, !v->check_text, AX_ETEXT, "text is not valid UTF-8 or contains a NUL byte");
    if (ax_pq_is_lost(v))
    {
        AX_CHECK(t, !v->not_null, AX_ENOTNULL,
                 "value is out of range, and so null, in a column declared NOT NULL");
        c->fail_row = UINT32_MAX;
        return AX_OK;
    }
    return ax_fail(t, v->range_code, v->whole ? "value is out of range for type %s, or has "
                                                "nanoseconds that are no whole microseconds"
                                              : "value is out of range for type %s",
                   ax_type_name((ax_type_id) v->type.id));
}

/* The same, of a segment [at, at + n) of the window.  true: the row is null now. */
static ax_status bad_row(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, uint32_t row,
                         bool *lost)
{
    AX_TRY(ax_pq_bad_value(t, c, row));
    *lost = ax_pq_is_lost(c->conv);
    if (!*lost)
        return AX_OK;
    if (c->nnull == 0)
        memset(c->null, 0, at + n);
    c->null[row] = 1;
    c->nnull++;
    return AX_OK;
}

/* Ids of entries that cannot be converted are errors of their rows, or left out. */
static ax_status check_ids(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, uint32_t *nvals)
{
    uint32_t *id = c->id + at, row = at, have = *nvals, kept = 0;

    for (uint32_t i = 0; i < have; i++, row++)
    {
        bool lost = false;

        while (have < n && c->null[row])
            row++;
        if (c->dict_bad[id[i]])
            AX_TRY(bad_row(t, c, at, n, row, &lost));
        if (!lost)
            id[kept++] = id[i];
    }
    *nvals = kept;
    return AX_OK;
}

static ax_status add_dict(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, uint32_t nvals)
{
    bool str = c->conv->kind == CONV_STR;

    AX_TRY(ax_pq_dict_ids(t, c, nvals, at, c->id + at));
    if (c->dict_bad != NULL)
        AX_TRY(check_ids(t, c, at, n, &nvals));
    if (nvals < n)
    {
        spread(c->id + at, 4, nvals, c->null + at, n);
        c->runs_ok = false;
    }
    if (c->rep == REP_EMPTY)
        c->rep = REP_DICT;
    else if (c->rep != REP_DICT && str)
    {
        to_view(c, at);
        point_ids(c, at, n);
    }
    else if (c->rep != REP_DICT)
        gather(c, at, n);
    return AX_OK;
}

/* Check nvals strings (or see that it is done later), or rewrite them: *base is where they are
 * then. */
static ax_status check_strings(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t nvals, int gap,
                               ax_arena *a, const uint8_t **base)
{
    uint32_t *off = c->soff + at, *len = c->slen + at;

    if (c->conv->rewrite == REWRITE_NOT)
    {
        if (c->check_later)
        {
            c->unchecked = true;
            return AX_OK;
        }
        if (!c->conv->check_text || ax_utf8_ok(*base, off, len, nvals, gap, &c->ascii))
            return AX_OK;
        c->ascii = false;
    }
    return ax_pq_rewrite(t, a, c->conv, off, len, nvals, base);
}

static ax_status add_strings(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, uint32_t nvals,
                             ax_batch *b)
{
    const uint8_t *base;
    ax_buf *hold = NULL;
    uint32_t i;
    int gap = -1;

    if (is_bytes(c))
    {
        AX_TRY(ax_pq_col_strings(t, c, nvals, c->soff + at, c->slen + at, &base, &hold, &gap));
        AX_TRY(check_strings(t, c, at, nvals, gap, b->arena, &base));
    }
    else
    {
        AX_TRY(ax_pq_col_fixed(t, c, nvals, &base));
        AX_TRY(ax_pq_rewrite_ints(t, b->arena, c->conv, base, nvals, c->soff + at, c->slen + at,
                                  &base));
    }
    c->win_gap = nvals == n && (at == 0 || gap == c->win_gap) ? gap : -1;
    if (nvals < n)
    {
        spread_offsets(c->soff + at, c->slen + at, nvals, c->null + at, n);
        spread(c->slen + at, 4, nvals, c->null + at, n);
    }
    if (hold != NULL)
        AX_TRY(ax_batch_pin(t, b, hold));
    if (c->rep == REP_EMPTY || (c->rep == REP_STR && c->win_base == base))
    {
        c->rep = REP_STR;
        c->win_base = base;
        return AX_OK;
    }
    to_view(c, at);
    for (i = at; i < at + n; i++)
        c->sptr[i] = base + c->soff[i];
    return AX_OK;
}

/* Some value of a segment cannot be converted: one after the other, from strings or from values;
 * those that are taken for null are left out. */
static ax_status one_by_one(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, uint32_t *nvals,
                            const uint8_t *src, uint8_t *dst)
{
    uint32_t w = c->conv->dst_width, row = at, have = *nvals, i;

    *nvals = 0;
    for (i = 0; i < have; i++, row++)
    {
        bool lost = false;

        while (have < n && c->null[row])
            row++;
        if (!(is_bytes(c) ? ax_pq_conv_bytes(c->conv, src, c->soff + i, c->slen + i, 1, dst)
                          : ax_pq_conv_fixed(c->conv, src + (size_t) i * c->conv->src_width, 1,
                                             dst)))
        {
            AX_TRY(bad_row(t, c, at, n, row, &lost));
            memset(dst, 0, w);
        }
        dst += lost ? 0 : w;
        *nvals += !lost;
    }
    return AX_OK;
}

/* Values that end up in c->val. */
static ax_status add_flat(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, uint32_t nvals)
{
    uint32_t w = c->conv->dst_width;
    uint8_t *dst = c->val + (size_t) at * w;

    if (c->rep == REP_DICT)
        gather(c, 0, at);
    c->rep = REP_FLAT;
    if (is_bytes(c))
    {
        const uint8_t *base;
        ax_buf *hold;
        int gap;

        AX_TRY(ax_pq_col_strings(t, c, nvals, c->soff, c->slen, &base, &hold, &gap));
        if (!ax_pq_conv_bytes(c->conv, base, c->soff, c->slen, nvals, dst))
            AX_TRY(one_by_one(t, c, at, n, &nvals, base, dst));
    }
    else
    {
        const uint8_t *phys;

        AX_TRY(ax_pq_col_fixed(t, c, nvals, &phys));
        if (!ax_pq_conv_fixed(c->conv, phys, nvals, dst))
            AX_TRY(one_by_one(t, c, at, n, &nvals, phys, dst));
    }
    if (nvals < n)
        spread(dst, w, nvals, c->null + at, n);
    return AX_OK;
}

static ax_status add_segment(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t n, ax_batch *b)
{
    uint32_t nvals, row;

    AX_TRY(take_levels(t, c, n, c->null + at, at, &nvals));
    for (row = at; nvals < n && c->conv->not_null && row < at + n; row++)
        if (c->null[row] && ax_fmt_window_wants(&c->scan->w, row))
        {
            c->fail_row = row;
            return ax_fail(t, AX_ENOTNULL, "null value in a column declared NOT NULL");
        }
    if (c->enc == PQ_RLE_DICTIONARY)
        return add_dict(t, c, at, n, nvals);
    c->runs_ok = false;
    if (c->conv->kind == CONV_STR)
        return add_strings(t, c, at, n, nvals, b);
    return add_flat(t, c, at, n, nvals);
}

/* One value for all rows. */
static ax_status const_vec(ax_task *t, ax_pq_col *c, ax_batch *b, bool null, uint32_t n,
                           ax_vec *out)
{
    ax_value v = {.type = c->conv->type, .null = true};

    if (!null)
        v = ax_vec_value(&c->dict->val, c->id[0]);
    return ax_vec_const(t, b->arena, &v, n, out);
}

static ax_status emit(ax_task *t, ax_pq_col *c, uint32_t n, ax_batch *b, ax_vec *out)
{
    if (c->nnull == n)
        return const_vec(t, c, b, true, n, out);
    memset(out, 0, sizeof *out);
    out->type = c->conv->type;
    out->n = n;
    out->null = c->nnull > 0 ? c->null : NULL;
    switch (c->rep)
    {
        case REP_DICT:
            if (c->runs_ok && c->nruns == 1)
                return const_vec(t, c, b, false, n, out);
            out->kind = AX_VK_DICT;
            out->u.dict.id = c->id;
            out->u.dict.dict = c->dict;
            if (c->runs_ok && c->nruns * 16 <= n)
            {
                c->run_vec = *out;
                c->run_vec.n = c->nruns;
                c->run_vec.u.dict.id = c->run_id;
                out->kind = AX_VK_RUN;
                out->u.run.end = c->run_end;
                out->u.run.val = &c->run_vec;
                out->u.run.n = c->nruns;
            }
            break;
        case REP_STR:
            out->kind = AX_VK_FLAT;
            out->flags = c->ascii && c->conv->check_text && !c->unchecked ? AX_VF_ASCII : 0;
            out->u.str.base = c->win_base;
            out->u.str.off = c->soff;
            out->u.str.len = c->slen;
            break;
        case REP_VIEW:
            out->kind = AX_VK_VIEW;
            out->u.view.ptr = c->sptr;
            out->u.view.len = c->slen;
            break;
        default:
            out->kind = AX_VK_FLAT;
            out->u.data = c->val;
    }
    return AX_OK;
}

ax_status ax_pq_col_read(ax_task *t, ax_pq_col *c, uint32_t row, uint32_t n, ax_batch *b,
                         ax_vec *out)
{
    if (c->nread != NULL)
        return ax_pq_nested_read(t, c, row, n, b, out);
    AX_ASSERT(n <= AX_BATCH_ROWS && (c->reading ? c->pos == row + c->at : c->pos <= row));
    c->fail_row = UINT32_MAX;
    if (c->conv->kind == CONV_NULL)
    {
        if (c->conv->not_null)
            c->fail_row = b->sel != NULL ? b->sel[0] : 0;
        AX_CHECK(t, !c->conv->not_null, AX_ENOTNULL, "null value in a column declared NOT NULL");
        return const_vec(t, c, b, true, n, out);
    }
    if (!c->reading)
    {
        AX_TRY(skip_to(t, c, row));
        if (c->hungry)
            return AX_OK;
        c->rep = REP_EMPTY;
        c->nnull = 0;
        c->ascii = true;
        c->unchecked = false;
        c->runs_ok = true;
        c->nruns = 0;
        c->at = 0;
    }
    c->reading = true;
    while (c->at < n)
    {
        uint32_t k = n - c->at;

        if (c->page_left == 0)
        {
            AX_TRY(ax_pq_col_next_page(t, c));
            if (c->hungry)
                return AX_OK;
            continue;
        }
        if (!c->opened)
            AX_TRY(ax_pq_col_open_page(t, c));
        k = k < c->page_left ? k : c->page_left;
        if (c->pieces && !c->hungry)
            AX_TRY(ax_pq_pieces_fit(t, c, c->conv->kind == CONV_STR ? c->at : 0, &k));
        if (c->hungry)
            return AX_OK;
        AX_TRY(add_segment(t, c, c->at, k, b));
        c->page_left -= k;
        c->pos += k;
        c->at += k;
    }
    c->reading = false;
    return emit(t, c, n, b, out);
}
