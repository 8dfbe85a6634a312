/* The footer: FileMetaData, in one pass over its bytes.
 *
 * Column chunks are most of a footer (a file with 1,000 columns and 100 row groups has 100,000) and
 * few of them are ever asked for.  So the pass only notes where each ColumnChunk begins, four bytes
 * a chunk, and ax_pq_chunk_get decodes one when a scan or a pruning wants it.  Statistics stay
 * bytes even then.
 *
 * Format: apache/parquet-format, src/main/thrift/parquet.thrift. */
#include "parquet_int.h"

/* ---- column chunks --------------------------------------------------------------------------- */

/* Are all data pages dictionary-encoded, as far as encoding_stats tells?  1 yes, 0 no. */
static int page_encodings(ax_cur *c, uint8_t type)
{
    uint8_t elem;
    uint32_t n;
    bool any = false, other = false;

    if (!ax_pq_th_list(c, type, &elem, &n))
        return 0;
    while (n-- > 0 && !c->bad)
    {
        ax_pq_fld f = {0, 0};
        int32_t page = -1, enc = -1;

        if (!ax_pq_th_struct(c, elem))
            continue;
        while (ax_pq_th_next(c, &f))
        {
            if (f.id == 1)
                (void) ax_pq_th_i32(c, f.type, &page);
            else if (f.id == 2)
                (void) ax_pq_th_i32(c, f.type, &enc);
            else
                ax_pq_th_skip(c, f.type);
        }
        if (page != PQ_PAGE_DATA && page != PQ_PAGE_DATA_V2)
            continue;
        any = true;
        if (enc != PQ_PLAIN_DICTIONARY && enc != PQ_RLE_DICTIONARY)
            other = true;
    }
    return any && !other ? 1 : 0;
}

/* The list of encodings proves it only when the old dictionary encoding stands there without
 * PLAIN: writers of RLE_DICTIONARY list PLAIN for the dictionary page itself. */
static bool encodings_prove(ax_cur *c, uint8_t type)
{
    uint8_t elem;
    uint32_t n;
    bool dict = false, other = false;

    if (!ax_pq_th_list(c, type, &elem, &n))
        return false;
    while (n-- > 0 && !c->bad)
    {
        int32_t e = -1;

        (void) ax_pq_th_i32(c, elem, &e);
        if (e == PQ_PLAIN_DICTIONARY)
            dict = true;
        else if (e != PQ_RLE && e != PQ_BIT_PACKED)
            other = true;
    }
    return dict && !other;
}

static void parse_column_meta(ax_cur *c, ax_pq_chunk *m)
{
    ax_pq_fld f = {0, 0};
    unsigned have = 0;
    bool by_list = false, by_stats = false, has_stats = false;

    while (ax_pq_th_next(c, &f))
    {
        switch (f.id)
        {
            case 1:
                have |= ax_pq_th_i32(c, f.type, &m->type) ? 1u : 0;
                break;
            case 2:
                by_list = encodings_prove(c, f.type);
                break;
            case 4:
                have |= ax_pq_th_i32(c, f.type, &m->codec) ? 2u : 0;
                break;
            case 5:
                have |= ax_pq_th_i64(c, f.type, &m->num_values) ? 4u : 0;
                break;
            case 6:
                (void) ax_pq_th_i64(c, f.type, &m->uncompressed);
                break;
            case 7:
                have |= ax_pq_th_i64(c, f.type, &m->compressed) ? 8u : 0;
                break;
            case 9:
                have |= ax_pq_th_i64(c, f.type, &m->data_off) ? 16u : 0;
                break;
            case 11:
                (void) ax_pq_th_i64(c, f.type, &m->dict_off);
                break;
            case 12:
                m->stats = f.type == TH_STRUCT ? c->p : NULL;
                ax_pq_th_skip(c, f.type);
                m->stats_len = m->stats != NULL ? (uint32_t) (c->p - m->stats) : 0;
                break;
            case 13:
                has_stats = true;
                by_stats = page_encodings(c, f.type) == 1;
                break;
            case 14:
                (void) ax_pq_th_i64(c, f.type, &m->bloom_off);
                break;
            case 15:
                (void) ax_pq_th_i32(c, f.type, &m->bloom_len);
                break;
            default:
                ax_pq_th_skip(c, f.type);
        }
    }
    m->has_meta = have == 31u;
    m->dict_only = has_stats ? by_stats : by_list;
}

bool ax_pq_chunk_get(const ax_pq_file *f, uint32_t group, uint32_t leaf, ax_pq_chunk *out)
{
    uint32_t off = f->group[group].chunk[leaf];
    ax_cur c = ax_cur_make(f->footer + off, f->footer_len - off);
    ax_pq_fld fld = {0, 0};
    const uint8_t *p;
    uint32_t n;

    memset(out, 0, sizeof *out);
    out->codec = -1;
    while (ax_pq_th_next(&c, &fld))
    {
        switch (fld.id)
        {
            case 1:
                if (ax_pq_th_bin(&c, fld.type, &p, &n))
                    out->external = n > 0;
                break;
            case 3:
                if (ax_pq_th_struct(&c, fld.type))
                    parse_column_meta(&c, out);
                break;
            case 4:
                (void) ax_pq_th_i64(&c, fld.type, &out->oi_off);
                break;
            case 5:
                (void) ax_pq_th_i32(&c, fld.type, &out->oi_len);
                break;
            case 6:
                (void) ax_pq_th_i64(&c, fld.type, &out->ci_off);
                break;
            case 7:
                (void) ax_pq_th_i32(&c, fld.type, &out->ci_len);
                break;
            case 8:
            case 9:
                out->encrypted = true;
                ax_pq_th_skip(&c, fld.type);
                break;
            default:
                ax_pq_th_skip(&c, fld.type);
        }
    }
    return !c.bad;
}

/* ---- row groups ------------------------------------------------------------------------------ */

/* Note where each chunk of the list begins. */
static ax_status parse_chunks(ax_task *t, ax_pq_file *f, ax_cur *c, uint8_t type, ax_pq_group *g)
{
    uint32_t *off;
    uint32_t n, i;
    uint8_t elem;

    AX_CHECK(t, ax_pq_th_list(c, type, &elem, &n), AX_ECORRUPT,
             "list of column chunks does not parse");
    AX_CHECK(t, n == f->nleaf, AX_ECORRUPT,
             "row group has %u column chunks where the schema has %u columns", n, f->nleaf);
    AX_NEW(t, off, (uint32_t *) ax_arena_alloc(f->base.arena, (size_t) n * sizeof *off + 1));
    for (i = 0; i < n; i++)
    {
        off[i] = (uint32_t) (c->p - f->footer);
        AX_CHECK(t, elem == TH_STRUCT, AX_ECORRUPT, "column chunk is not a struct");
        ax_pq_th_skip(c, elem);
    }
    g->chunk = off;
    return AX_OK;
}

static ax_status parse_group(ax_task *t, ax_pq_file *f, ax_cur *c, ax_pq_group *g)
{
    ax_pq_fld fld = {0, 0};
    int64_t total = 0, packed = -1;

    g->nrows = -1;
    while (ax_pq_th_next(c, &fld))
    {
        switch (fld.id)
        {
            case 1:
                AX_TRY(parse_chunks(t, f, c, fld.type, g));
                break;
            case 2:
                (void) ax_pq_th_i64(c, fld.type, &total);
                break;
            case 3:
                (void) ax_pq_th_i64(c, fld.type, &g->nrows);
                break;
            case 6:
                (void) ax_pq_th_i64(c, fld.type, &packed);
                break;
            default:
                ax_pq_th_skip(c, fld.type);
        }
    }
    AX_CHECK(t, !c->bad, AX_ECORRUPT, "row group does not parse");
    AX_CHECK(t, g->nrows >= 0, AX_ECORRUPT, "row group has no valid number of rows");
    AX_CHECK(t, g->chunk != NULL || f->nleaf == 0, AX_ECORRUPT, "row group has no column chunks");
    g->bytes = packed >= 0 ? packed : total > 0 ? total : 0;
    return AX_OK;
}

static ax_status parse_groups(ax_task *t, ax_pq_file *f, ax_cur *c, uint8_t type)
{
    uint32_t n, i;
    uint8_t elem;
    int64_t rows = 0;

    AX_CHECK(t, ax_pq_th_list(c, type, &elem, &n), AX_ECORRUPT,
             "list of row groups does not parse");
    AX_NEW(t, f->group, (ax_pq_group *) ax_arena_alloc0(f->base.arena,
                                                        (size_t) n * sizeof *f->group + 1));
    for (i = 0; i < n; i++)
    {
        ax_status st = elem == TH_STRUCT
                           ? parse_group(t, f, c, &f->group[i])
                           : ax_fail(t, AX_ECORRUPT, "row group is not a struct");

        if (st != AX_OK)
        {
            ax_note_unit(t, "row group", i);
            return st;
        }
        f->group[i].row0 = rows;
        AX_CHECK(t, !__builtin_add_overflow(rows, f->group[i].nrows, &rows), AX_ECORRUPT,
                 "numbers of rows of the row groups overflow");
    }
    f->base.nsplits = n;
    f->base.nrows = rows;
    return AX_OK;
}

/* ---- file level ------------------------------------------------------------------------------ */

/* column_orders: one union a leaf.  Which member is set is all that matters. */
static ax_status parse_orders(ax_task *t, ax_pq_file *f, ax_cur *c, uint8_t type)
{
    uint8_t *order;
    uint32_t n, i;
    uint8_t elem;

    if (!ax_pq_th_list(c, type, &elem, &n))
        return AX_OK;
    AX_NEW(t, order, (uint8_t *) ax_arena_alloc0(f->base.arena, (size_t) f->nleaf + 1));
    for (i = 0; i < n && !c->bad; i++)
    {
        ax_pq_fld fld = {0, 0};
        uint8_t o = ORDER_UNKNOWN;

        if (!ax_pq_th_struct(c, elem))
            continue;
        while (ax_pq_th_next(c, &fld))
        {
            if (fld.id >= 1 && fld.id <= 3)
                o = (uint8_t) (ORDER_TYPE + fld.id - 1);
            ax_pq_th_skip(c, fld.type);
        }
        if (i < f->nleaf)
            order[i] = o;
    }
    for (i = n; i < f->nleaf; i++)
        order[i] = ORDER_UNKNOWN;
    f->order = order;
    return AX_OK;
}

/* Lists that need the schema, noted in case they stand in front of it. */
typedef struct later { ax_cur groups, orders; uint8_t groups_type, orders_type; } later;

static ax_status parse_schema_list(ax_task *t, ax_pq_file *f, ax_cur *c, uint8_t type)
{
    uint8_t elem;
    uint32_t n;

    AX_CHECK(t, ax_pq_th_list(c, type, &elem, &n) && (elem == TH_STRUCT || n == 0), AX_ECORRUPT,
             "list of schema elements does not parse");
    return ax_pq_schema_parse(t, f, c, n);
}

/* One pass; schema, row groups and orders are only noted, since fields may come in any order. */
static ax_status parse_file(ax_task *t, ax_pq_file *f)
{
    ax_cur c = ax_cur_make(f->footer, f->footer_len);
    ax_cur schema = {0}, keys = {0};
    ax_pq_fld fld = {0, 0};
    later l = {0};
    uint8_t schema_type = 0, keys_type = 0;
    int64_t nrows = -1;
    const uint8_t *by = (const uint8_t *) "";
    uint32_t by_len = 0;

    while (ax_pq_th_next(&c, &fld))
    {
        switch (fld.id)
        {
            case 2:
                schema = c;
                schema_type = fld.type;
                ax_pq_th_skip(&c, fld.type);
                break;
            case 3:
                (void) ax_pq_th_i64(&c, fld.type, &nrows);
                break;
            case 4:
                l.groups = c;
                l.groups_type = fld.type;
                ax_pq_th_skip(&c, fld.type);
                break;
            case 5:
                keys = c;
                keys_type = fld.type;
                ax_pq_th_skip(&c, fld.type);
                break;
            case 6:
                (void) ax_pq_th_bin(&c, fld.type, &by, &by_len);
                break;
            case 7:
                l.orders = c;
                l.orders_type = fld.type;
                ax_pq_th_skip(&c, fld.type);
                break;
            default:
                ax_pq_th_skip(&c, fld.type);
        }
    }
    AX_CHECK(t, !c.bad, AX_ECORRUPT, "file metadata does not parse");
    AX_CHECK(t, schema_type != 0, AX_ECORRUPT, "file metadata has no schema");
    AX_CHECK(t, nrows >= 0, AX_ECORRUPT, "file metadata has no valid number of rows");
    AX_CHECK(t, l.groups_type != 0, AX_ECORRUPT, "file metadata has no row groups");
    AX_TRY(ax_pq_writer_parse(t, f->base.arena, by, by_len, &f->writer));
    AX_TRY(ax_pq_calendar_note(t, f, &keys, keys_type));
    AX_TRY(parse_schema_list(t, f, &schema, schema_type));
    AX_TRY(parse_groups(t, f, &l.groups, l.groups_type));
    if (l.orders_type != 0)
        AX_TRY(parse_orders(t, f, &l.orders, l.orders_type));
    /* A schema without columns has no row group that could carry rows. */
    if (f->nleaf == 0 && f->base.nsplits == 0)
        f->base.nrows = nrows;
    return AX_OK;
}

ax_status ax_pq_footer_parse(ax_task *t, ax_pq_file *f)
{
    f->base.nsplits = 0;
    f->base.nrows = 0;
    return parse_file(t, f);
}

/* ---- created_by ------------------------------------------------------------------------------ */

static bool is_blank(uint8_t ch) { return ch == ' ' || ch == '\t'; }

static const uint8_t *number(const uint8_t *p, const uint8_t *end, int32_t *out)
{
    int32_t v = 0;
    const uint8_t *q = p;

    while (q < end && *q >= '0' && *q <= '9' && v < 100000000)
        v = v * 10 + (*q++ - '0');
    if (q == p)
        return NULL;
    *out = v;
    return q;
}

ax_status ax_pq_writer_parse(ax_task *t, ax_arena *a, const uint8_t *s, uint32_t n,
                             ax_pq_writer *out)
{
    static const char word[] = "version";
    const uint8_t *end = s + n, *p = NULL, *q;
    uint32_t i, app = n;

    memset(out, 0, sizeof *out);
    for (i = 1; i + sizeof word - 1 <= n && p == NULL; i++)
        if (is_blank(s[i - 1]) && memcmp(s + i, word, sizeof word - 1) == 0)
        {
            app = i - 1;
            p = s + i + sizeof word - 1;
        }
    while (app > 0 && p != NULL && is_blank(s[app - 1]))
        app--;
    AX_NEW(t, out->app, ax_arena_strndup(a, n > 0 ? (const char *) s : "", app));
    if (p == NULL)
        return AX_OK;
    while (p < end && is_blank(*p))
        p++;
    if (p < end && *p == 'v')
        p++;
    q = number(p, end, &out->major);
    if (q == NULL || q >= end || *q != '.' || (q = number(q + 1, end, &out->minor)) == NULL)
        return AX_OK;
    if (q < end && *q == '.')
        q = number(q + 1, end, &out->patch);
    out->known = q != NULL;
    if (q != NULL && end - q >= 7 && memcmp(q, "-cdh5.", 6) == 0)
        out->cdh55 = q[6] >= '5' && q[6] <= '9';
    out->drill = q != NULL && end - q >= 6 && memcmp(q, "-drill", 6) == 0;
    return AX_OK;
}

bool ax_pq_writer_before(const ax_pq_writer *w, const char *app, int32_t major, int32_t minor,
                         int32_t patch)
{
    if (!w->known || strcmp(w->app, app) != 0)
        return false;
    if (w->major != major)
        return w->major < major;
    if (w->minor != minor)
        return w->minor < minor;
    return w->patch < patch;
}
