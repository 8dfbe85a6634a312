/* PLAIN values, RLE booleans and BYTE_STREAM_SPLIT.
 *
 * Format: apache/parquet-format, Encodings.md, "Plain (PLAIN = 0)", "Byte Stream Split". */
#include "parquet_int.h"

static ax_status too_few(ax_task *t)
{
    return ax_fail(t, AX_ECORRUPT, "page has fewer values than its levels promise");
}

/* Booleans: bits, least significant first, to bytes. */
static ax_status plain_bool(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    uint64_t have = (uint64_t) (c->vend - c->v) * 8 - c->bit;
    uint32_t i;

    if (n > have)
        return too_few(t);
    for (i = 0; i < n; i++)
    {
        uint32_t bit = c->bit + i;

        c->phys[i] = c->v[bit >> 3] >> (bit & 7) & 1;
    }
    c->bit += n;
    c->v += c->bit >> 3;
    c->bit &= 7;
    *out = c->phys;
    return AX_OK;
}

ax_status ax_pq_plain_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    size_t bytes = (size_t) n * c->conv->src_width;

    if (c->conv->src == SRC_BOOL)
        return plain_bool(t, c, n, out);
    if (bytes > (size_t) (c->vend - c->v))
        return too_few(t);
    *out = c->v;
    c->v += bytes;
    return AX_OK;
}

ax_status ax_pq_rle_bool(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    uint32_t max = 0, i;

    if (!ax_pq_rle_read(&c->ids, c->id, n, &max))
        return too_few(t);
    for (i = 0; i < n; i++)
        c->phys[i] = (uint8_t) c->id[i];
    *out = c->phys;
    return AX_OK;
}

/* Fixed-length byte arrays: one behind the other. */
static ax_status plain_flba(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    uint32_t w = (uint32_t) c->conv->leaf->type_length, at = (uint32_t) (c->v - c->base), i;

    if ((uint64_t) n * w > (uint64_t) (c->vend - c->v))
        return too_few(t);
    for (i = 0; i < n; i++)
    {
        off[i] = at + i * w;
        len[i] = w;
    }
    c->v += (size_t) n * w;
    return AX_OK;
}

/* Each length tells where the next one is, and pages are larger than caches: what comes next is
 * asked for long before (measured: half the time of the walk). */
enum { WALK_AHEAD = 2048 };

static inline void walk_ahead(const uint8_t *v)
{
    __builtin_prefetch(v + WALK_AHEAD);
    __builtin_prefetch(v + WALK_AHEAD + 64);
}

/* n values were stepped through: leave a mark for other scans, if there is none. */
static void mark(ax_pq_col *c, uint32_t n)
{
    ax_pq_mark *at = &c->marks[(c->nth += n) / AX_PQ_MARK_VALUES];

    if (atomic_load_explicit(at, memory_order_relaxed) == 0)
        atomic_store_explicit(at, (uint64_t) (c->v - c->base) << 16 | c->nth % AX_PQ_MARK_VALUES,
                              memory_order_relaxed);
}

ax_status ax_pq_plain_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    const uint8_t *v = c->v, *base = c->base, *vend = c->vend;
    uint32_t i;

    if (c->conv->src == SRC_FIXED)
        return plain_flba(t, c, n, off, len);
    if (c->walked >= n && n > 0)
    {
        c->v = base + off[n - 1] + len[n - 1];
        c->walked = 0;
        return AX_OK;
    }
    for (i = 0; i < n; i++)
    {
        /* Four bytes behind the end are readable; a length from there fails the test. */
        uint32_t l = ax_load_u32(v);

        if ((int64_t) l > (vend - v) - 4)
            break;
        walk_ahead(v);
        off[i] = (uint32_t) (v - base) + 4;
        len[i] = l;
        v += 4 + (size_t) l;
    }
    AX_CHECK(t, i == n, AX_ECORRUPT, "length of a byte array reaches beyond its page");
    c->v = v;
    if (c->marks != NULL)
        mark(c, n);
    return AX_OK;
}

uint64_t ax_pq_plain_jump(ax_pq_col *c, uint64_t n)
{
    uint64_t first = c->nth / AX_PQ_MARK_VALUES, to = c->nth + n;

    for (uint64_t i = to / AX_PQ_MARK_VALUES + 1; i-- > first;)
    {
        uint64_t at = atomic_load_explicit(&c->marks[i], memory_order_relaxed);
        uint64_t nth = i * AX_PQ_MARK_VALUES + (at & 0xffff);

        if (at == 0 || nth > to)
            continue;
        if (nth <= c->nth)
            return 0;
        n = nth - c->nth;
        c->v = c->base + (at >> 16);
        c->nth = nth;
        return n;
    }
    return 0;
}

ax_status ax_pq_split_open(ax_task *t, ax_pq_col *c)
{
    size_t bytes = (size_t) (c->vend - c->v);
    size_t w = c->conv->src == SRC_FIXED ? (size_t) c->conv->leaf->type_length
                                         : c->conv->src_width;

    AX_CHECK(t, w > 0 && bytes % w == 0, AX_ECORRUPT,
             "page of split byte streams has %zu bytes for values of %zu", bytes, w);
    c->split_stride = bytes / w;
    c->split_idx = 0;
    return AX_OK;
}

/* n values of w bytes each into out. */
static ax_status join(ax_task *t, ax_pq_col *c, uint32_t n, size_t w, uint8_t *restrict out)
{
    size_t i, j;

    if (n > c->split_stride - c->split_idx)
        return too_few(t);
    for (j = 0; j < w; j++)
    {
        const uint8_t *restrict in = c->v + j * c->split_stride + c->split_idx;

        for (i = 0; i < n; i++)
            out[i * w + j] = in[i];
    }
    c->split_idx += n;
    return AX_OK;
}

ax_status ax_pq_split_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    AX_TRY(join(t, c, n, c->conv->src_width, c->phys));
    *out = c->phys;
    return AX_OK;
}

ax_status ax_pq_split_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    uint32_t w = (uint32_t) c->conv->leaf->type_length, i;

    AX_TRY(ax_pq_window_buffer(t, c, (size_t) n * w));
    AX_TRY(join(t, c, n, w, c->wbuf->data));
    for (i = 0; i < n; i++)
    {
        off[i] = i * w;
        len[i] = w;
    }
    return AX_OK;
}
