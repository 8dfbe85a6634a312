/* Page indexes: where the data pages of a chunk stand, and the bounds of each.
 *
 *      offset index: for each data page  offset, size with header, first row
 *      column index: for each data page  only nulls?, minimum, maximum, count of nulls
 *
 * An index that contradicts itself or its chunk is not used: the chunk is read as if there were
 * none.  What it says of rows is checked against each page that is read; of pages that are not read
 * it is believed as the other statistics are.
 *
 * Format: apache/parquet-format, PageIndex.md, parquet.thrift OffsetIndex and ColumnIndex. */
#include "parquet_int.h"

/* ---- offset index ---------------------------------------------------------------------------- */

static void parse_location(ax_cur *c, int64_t *off, int32_t *len, int64_t *row)
{
    ax_pq_fld f = {0, 0};

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i64(c, f.type, off);
        else if (f.id == 2)
            (void) ax_pq_th_i32(c, f.type, len);
        else if (f.id == 3)
            (void) ax_pq_th_i64(c, f.type, row);
        else
            ax_pq_th_skip(c, f.type);
    }
}

/* The list of locations; false: not a chain of pages inside [begin, end) that covers the rows. */
static bool parse_locations(ax_cur *c, uint8_t type, uint64_t begin, uint64_t end, uint32_t nrows,
                            ax_arena *a, ax_pq_pages *out)
{
    uint8_t elem;
    uint32_t n, i;

    if (!ax_pq_th_list(c, type, &elem, &n) || n == 0 || elem != TH_STRUCT)
        return false;
    out->page = (ax_pq_loc *) ax_arena_alloc(a, (size_t) n * sizeof *out->page);
    if (out->page == NULL)
        return false;
    for (i = 0; i < n && !c->bad; i++)
    {
        int64_t off = -1, row = -1;
        int32_t len = -1;

        parse_location(c, &off, &len, &row);
        if (off < 0 || (uint64_t) off < begin || len <= 0 || (uint64_t) off > end ||
            (uint64_t) len > end - (uint64_t) off || row < 0 || row >= nrows ||
            (i == 0 ? row != 0 : row <= (int64_t) out->page[i - 1].row))
            return false;
        out->page[i] = (ax_pq_loc){(uint64_t) off, (uint32_t) len, (uint32_t) row};
        begin = (uint64_t) off + (uint64_t) len;
    }
    out->n = n;
    out->nrows = nrows;
    return !c->bad;
}

bool ax_pq_offset_index(ax_arena *a, const uint8_t *p, size_t len, uint64_t begin, uint64_t end,
                        uint32_t nrows, ax_pq_pages *out)
{
    ax_cur c = ax_cur_make(p, len);
    ax_pq_fld f = {0, 0};
    bool ok = false;

    memset(out, 0, sizeof *out);
    while (ax_pq_th_next(&c, &f))
    {
        if (f.id == 1)
            ok = parse_locations(&c, f.type, begin, end, nrows, a, out);
        else
            ax_pq_th_skip(&c, f.type);
        if (f.id == 1 && !ok)
            return false;
    }
    return ok && !c.bad;
}

uint32_t ax_pq_page_end(const ax_pq_pages *p, uint32_t i)
{
    return i + 1 < p->n ? p->page[i + 1].row : p->nrows;
}

uint32_t ax_pq_page_of(const ax_pq_pages *p, uint32_t row)
{
    uint32_t lo = 0, hi = p->n;

    while (hi - lo > 1)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        *(p->page[mid].row <= row ? &lo : &hi) = mid;
    }
    return lo;
}

/* ---- column index ---------------------------------------------------------------------------- */

static bool parse_flags(ax_cur *c, uint8_t type, ax_pq_stats *s, uint32_t n)
{
    uint8_t elem;
    uint32_t k;

    if (!ax_pq_th_list(c, type, &elem, &k) || k != n || (elem != TH_TRUE && elem != TH_FALSE))
        return false;
    for (uint32_t i = 0; i < n; i++)
        s[i].min.set = s[i].max.set = ax_cur_u8(c) != 1;
    return !c->bad;
}

static bool parse_bounds(ax_cur *c, uint8_t type, ax_pq_stats *s, uint32_t n, bool max)
{
    uint8_t elem;
    uint32_t k;

    if (!ax_pq_th_list(c, type, &elem, &k) || k != n || elem != TH_BINARY)
        return false;
    for (uint32_t i = 0; i < n; i++)
    {
        ax_pq_bytes *b = max ? &s[i].max : &s[i].min;

        if (!ax_pq_th_bin(c, elem, &b->p, &b->n))
            return false;
    }
    return !c->bad;
}

/* Counts; a list of another length tells nothing. */
static void parse_counts(ax_cur *c, uint8_t type, ax_pq_stats *s, uint32_t n, bool nans)
{
    uint8_t elem;
    uint32_t k;

    if (!ax_pq_th_list(c, type, &elem, &k))
        return;
    for (uint32_t i = 0; i < k && !c->bad; i++)
    {
        int64_t v = -1;

        (void) ax_pq_th_i64(c, elem, &v);
        if (k == n)
            *(nans ? &s[i].nans : &s[i].nulls) = v;
    }
}

bool ax_pq_column_index(ax_arena *a, const uint8_t *p, size_t len, uint32_t n, ax_pq_stats **out)
{
    ax_cur c = ax_cur_make(p, len);
    ax_pq_fld f = {0, 0};
    unsigned seen = 0;
    ax_pq_stats *s = (ax_pq_stats *) ax_arena_alloc0(a, (size_t) n * sizeof *s);

    if (s == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        s[i].nulls = s[i].nans = s[i].distinct = -1;
    while (ax_pq_th_next(&c, &f))
    {
        unsigned bit = f.id >= 1 && f.id <= 3 ? 1u << f.id : 0; /* ids may be negative */
        bool ok = true;

        switch (f.id)
        {
            case 1: ok = parse_flags(&c, f.type, s, n); break;
            case 2: ok = parse_bounds(&c, f.type, s, n, false); break;
            case 3: ok = parse_bounds(&c, f.type, s, n, true); break;
            case 5: parse_counts(&c, f.type, s, n, false); break;
            case 8: parse_counts(&c, f.type, s, n, true); break;
            default: ax_pq_th_skip(&c, f.type);
        }
        if (!ok || (seen & bit) != 0)
            return false;
        seen |= bit;
    }
    *out = s;
    return !c.bad && seen == 14;
}

/* A page of which the index says that it has only nulls has no bounds; whether that is true, its
 * count of nulls must say too. */
bool ax_pq_page_bounds(const ax_pq_file *f, const ax_pq_conv *c, const ax_pq_stats *s,
                       uint32_t rows, ax_bounds *out)
{
    memset(out, 0, sizeof *out);
    out->rows = rows;
    out->nulls = c->leaf->max_def == 0 && !ax_pq_is_lost(c) ? 0 : -1;
    if (!s->min.set && s->nulls != rows)
        return out->nulls >= 0;
    ax_pq_believe(f, c, s, rows, out);
    return out->has_min || out->has_max || out->nulls >= 0;
}
