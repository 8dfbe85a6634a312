/* Pages: headers, what can be checked about them, and their bytes after decompression.
 *
 * Format: apache/parquet-format, parquet.thrift PageHeader; README, "Data Pages" and
 * "Checksumming". */
#include "parquet_int.h"

#include <zlib.h>

static void parse_v1(ax_cur *c, ax_pq_page *p)
{
    ax_pq_fld f = {0, 0};

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, &p->num_values);
        else if (f.id == 2)
            (void) ax_pq_th_i32(c, f.type, &p->encoding);
        else if (f.id == 3)
            (void) ax_pq_th_i32(c, f.type, &p->def_encoding);
        else if (f.id == 4)
            (void) ax_pq_th_i32(c, f.type, &p->rep_encoding);
        else
            ax_pq_th_skip(c, f.type);
    }
}

static void parse_dictionary(ax_cur *c, ax_pq_page *p)
{
    ax_pq_fld f = {0, 0};

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, &p->num_values);
        else if (f.id == 2)
            (void) ax_pq_th_i32(c, f.type, &p->encoding);
        else
            ax_pq_th_skip(c, f.type);
    }
}

static void parse_v2(ax_cur *c, ax_pq_page *p)
{
    ax_pq_fld f = {0, 0};

    p->is_compressed = true;
    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, &p->num_values);
        else if (f.id == 3)
            (void) ax_pq_th_i32(c, f.type, &p->num_rows);
        else if (f.id == 4)
            (void) ax_pq_th_i32(c, f.type, &p->encoding);
        else if (f.id == 5)
            (void) ax_pq_th_i32(c, f.type, &p->def_len);
        else if (f.id == 6)
            (void) ax_pq_th_i32(c, f.type, &p->rep_len);
        else if (f.id == 7)
            (void) ax_pq_th_bool(c, f.type, &p->is_compressed);
        else
            ax_pq_th_skip(c, f.type);
    }
}

/* The header struct; `seen` gets a bit for each kind of inner header. */
static void parse_header(ax_cur *c, ax_pq_page *p, int32_t *type, unsigned *seen)
{
    ax_pq_fld f = {0, 0};
    int32_t crc;

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, type);
        else if (f.id == 2)
            (void) ax_pq_th_i32(c, f.type, &p->uncompressed);
        else if (f.id == 3)
            (void) ax_pq_th_i32(c, f.type, &p->compressed);
        else if (f.id == 4)
        {
            p->has_crc = ax_pq_th_i32(c, f.type, &crc);
            p->crc = p->has_crc ? (uint32_t) crc : 0;
        }
        else if (f.id == 5 && f.type == TH_STRUCT)
        {
            *seen |= 1u << PQ_PAGE_DATA;
            parse_v1(c, p);
        }
        else if (f.id == 7 && f.type == TH_STRUCT)
        {
            *seen |= 1u << PQ_PAGE_DICTIONARY;
            parse_dictionary(c, p);
        }
        else if (f.id == 8 && f.type == TH_STRUCT)
        {
            *seen |= 1u << PQ_PAGE_DATA_V2;
            parse_v2(c, p);
        }
        else
            ax_pq_th_skip(c, f.type);
    }
}

ax_status ax_pq_page_head(ax_task *t, ax_cur *c, int64_t file_off, int64_t slots_left,
                          ax_pq_page *p)
{
    int32_t type = -1;
    unsigned seen = 0;

    memset(p, 0, sizeof *p);
    p->uncompressed = p->compressed = p->num_values = p->encoding = -1;
    p->num_rows = -1;
    p->off = file_off;
    AX_CHECK(t, c->p < c->end, AX_ECORRUPT,
             "column chunk ends before all its values were found");
    parse_header(c, p, &type, &seen);
    AX_CHECK(t, !c->bad, AX_ECORRUPT, "page header does not parse");
    AX_CHECK(t, p->uncompressed >= 0 && p->compressed >= 0, AX_ECORRUPT,
             "page header has sizes %d and %d", (int) p->compressed, (int) p->uncompressed);
    AX_CHECK(t, p->uncompressed <= PQ_MAX_PAGE_BYTES, AX_ELIMIT,
             "page of %d bytes is larger than the limit", (int) p->uncompressed);
    p->type = type == PQ_PAGE_DATA || type == PQ_PAGE_DATA_V2 || type == PQ_PAGE_DICTIONARY
                  ? (uint8_t) type : PQ_PAGE_INDEX;
    if (p->type == PQ_PAGE_INDEX)
    {
        AX_CHECK(t, type == PQ_PAGE_INDEX, AX_ECORRUPT, "page has type %d", (int) type);
        return AX_OK;
    }
    AX_CHECK(t, (seen >> p->type & 1) != 0, AX_ECORRUPT, "page header lacks the part for its type");
    AX_CHECK(t, p->num_values >= 0, AX_ECORRUPT, "page header has %d values",
             (int) p->num_values);
    if (p->type == PQ_PAGE_DICTIONARY)
        return AX_OK;
    AX_CHECK(t, p->num_values <= slots_left, AX_ECORRUPT,
             "page has %d values where its column chunk has %lld left", (int) p->num_values,
             (long long) slots_left);
    if (p->type == PQ_PAGE_DATA_V2)
    {
        int64_t levels = (int64_t) p->def_len + p->rep_len;

        AX_CHECK(t, p->def_len >= 0 && p->rep_len >= 0 && levels <= p->compressed &&
                        levels <= p->uncompressed,
                 AX_ECORRUPT, "page header has levels of %d and %d bytes", (int) p->rep_len,
                 (int) p->def_len);
    }
    return AX_OK;
}

ax_status ax_pq_page_header(ax_task *t, ax_cur *c, int64_t file_off, int64_t slots_left,
                            ax_pq_page *p)
{
    AX_TRY(ax_pq_page_head(t, c, file_off, slots_left, p));
    p->body = ax_cur_take(c, (uint64_t) p->compressed);
    AX_CHECK(t, p->body != NULL, AX_ECORRUPT,
             "page of %d bytes reaches beyond its column chunk", (int) p->compressed);
    return AX_OK;
}

ax_status ax_pq_page_check(ax_task *t, const ax_pq_page *p)
{
    if (!p->has_crc)
        return AX_OK;
    AX_CHECK(t, (uint32_t) crc32(0, p->body, (uInt) p->compressed) == p->crc, AX_ECORRUPT,
             "checksum of the page does not match");
    return AX_OK;
}

void ax_pq_retire_buffer(ax_pq_col *c)
{
    ax_buf *b = c->body;

    c->body = NULL;
    if (b != NULL && b != c->chunk && atomic_load_explicit(&b->refs, memory_order_acquire) == 1 &&
        b->budget == c->scan->req.budget && (c->spare == NULL || c->spare->cap < b->cap))
    {
        ax_buf_unref(c->spare);
        c->spare = b;
        return;
    }
    ax_buf_unref(b);
}

/* The spare one goes when nobody else holds it and it is large enough. */
ax_status ax_pq_take_buffer(ax_task *t, ax_pq_col *c, size_t n, ax_buf **out)
{
    ax_buf *b = c->spare;

    if (b != NULL && atomic_load_explicit(&b->refs, memory_order_acquire) == 1 && b->cap >= n)
    {
        c->spare = NULL;
        b->len = n;
        *out = b;
        return AX_OK;
    }
    b = ax_buf_alloc(c->scan->req.budget, n);
    if (b == NULL)
        return ax_fail_nomem(t, n);
    *out = b;
    return AX_OK;
}

bool ax_pq_page_stored(const ax_pq_col *c, const ax_pq_page *p)
{
    return c->codec == AX_CDC_NONE ||
           (p->type == PQ_PAGE_DATA_V2 && !p->is_compressed &&
            !ax_pq_writer_before(&c->scan->f->writer, "parquet-cpp", 2, 0, 0));
}

bool ax_pq_page_key(const ax_pq_col *c, const ax_pq_page *p, ax_io_page *key)
{
    *key = (ax_io_page){.off = (uint64_t) p->off, .how = (uint32_t) c->codec};
    key->len = (size_t) p->uncompressed - ax_pq_page_levels(p);
    key->checked = (c->scan->req.allow & AX_ALLOW_CHECKSUMS) != 0 && p->has_crc;
    return (c->scan->req.allow & AX_ALLOW_KEPT_PAGES) != 0;
}

ax_buf *ax_pq_page_kept(ax_task *t, ax_pq_col *c, const ax_pq_page *p, bool *wanted)
{
    ax_io_page key;

    *wanted = false;
    return ax_pq_page_key(c, p, &key) ? ax_io_page_get(t, c->scan->f->base.io, &key, wanted)
                                           : NULL;
}

void ax_pq_page_keep(ax_pq_col *c, const ax_pq_page *p, ax_buf *body)
{
    ax_io_page key;

    if (!ax_pq_page_key(c, p, &key))
        return;
    key.checked |= !p->has_crc;
    ax_io_page_put(c->scan->f->base.io, &key, body);
}

/* Where the values of the page stand. */
static ax_status packed(ax_task *t, const ax_pq_col *c, const ax_pq_page *p, ax_pq_packed *out)
{
    size_t levels = ax_pq_page_levels(p);

    out->src = p->body + levels;
    out->packed = (size_t) p->compressed - levels;
    out->plain = (size_t) p->uncompressed - levels;
    out->stored = ax_pq_page_stored(c, p);
    if (p->type == PQ_PAGE_DATA_V2 && (out->packed == 0 || out->plain == 0))
    {
        /* Nothing but nulls: codecs do not accept empty input. */
        AX_CHECK(t, out->plain == 0, AX_ECORRUPT, "page has no bytes where %zu were declared",
                 out->plain);
        out->stored = true;
        out->packed = 0;
    }
    return AX_OK;
}

ax_status ax_pq_page_source(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_pq_packed *out)
{
    ax_scan_stats *stats = c->scan->req.stats;

    AX_TRY(packed(t, c, p, out));
    if ((c->scan->req.allow & AX_ALLOW_CHECKSUMS) != 0)
        AX_TRY(ax_pq_page_check(t, p));
    stats->bytes_compressed += out->packed;
    stats->bytes_decompressed += out->plain;
    return AX_OK;
}

ax_status ax_pq_page_body(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_buf **hold,
                          const uint8_t **v, const uint8_t **vend)
{
    ax_pq_packed in;
    ax_buf *b = NULL;
    bool wanted = false;
    ax_status st;

    AX_TRY(packed(t, c, p, &in));
    if (!in.stored)
        b = ax_pq_page_kept(t, c, p, &wanted);
    if (b != NULL)
    {
        *hold = b;
        *v = b->data;
        *vend = b->data + in.plain;
        return AX_OK;
    }
    AX_TRY(ax_pq_page_source(t, c, p, &in));
    if (in.stored)
    {
        AX_CHECK(t, in.packed == in.plain, AX_ECORRUPT,
                 "stored page has %zu bytes where %zu were declared", in.packed, in.plain);
        *hold = ax_buf_ref(c->chunk);
        *v = in.src;
        *vend = *v + in.plain;
        return AX_OK;
    }
    if (!wanted)
        AX_TRY(ax_pq_take_buffer(t, c, in.plain, &b));
    else if ((b = ax_buf_alloc(c->scan->req.budget, in.plain)) == NULL)
        return ax_fail_nomem(t, in.plain);
    st = ax_cdc_decompress(t, c->scan->cdc, c->codec, in.src, in.packed, b->data, in.plain);
    if (st != AX_OK)
    {
        ax_buf_unref(b);
        return st;
    }
    if (wanted)
        ax_pq_page_keep(c, p, b);
    *hold = b;
    *v = b->data;
    *vend = b->data + in.plain;
    return AX_OK;
}
