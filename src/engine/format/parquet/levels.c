/* Streams of small numbers: the run-length / bit-packed hybrid, and the older bit-packed levels.
 *
 * Up to AX_PAD bytes behind a stream are read (never used): page buffers have their padding there.
 *
 * Format: apache/parquet-format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)"
 * and "Bit-packed (Deprecated) (BIT_PACKED = 4)". */
#include "parquet_int.h"

void ax_pq_rle_init(ax_pq_rle *r, const uint8_t *p, const uint8_t *end, uint8_t width)
{
    *r = (ax_pq_rle){.p = p, .end = end, .width = width};
    if (width == 0)
    {
        /* Every value is 0 and no byte is needed to say so. */
        r->run_left = UINT32_MAX;
        r->value = 0;
    }
}

/* ULEB128 of at most 32 bits. */
static bool run_header(ax_pq_rle *r, uint32_t *out)
{
    uint64_t v = 0;
    unsigned shift = 0;

    for (; r->p < r->end && shift < 35; shift += 7)
    {
        uint8_t b = *r->p++;

        v |= (uint64_t) (b & 127) << shift;
        if (b < 128)
        {
            *out = (uint32_t) v;
            return v <= UINT32_MAX;
        }
    }
    return false;
}

bool ax_pq_rle_fill(ax_pq_rle *r)
{
    uint32_t h, i;
    size_t left, bytes;

    if (r->run_left > 0 || r->packed_left > 0)
        return true;
    if (r->width == 0)
    {
        r->run_left = UINT32_MAX;
        return true;
    }
    if (!run_header(r, &h) || h >> 1 == 0)
        return false;
    left = (size_t) (r->end - r->p);
    if ((h & 1) == 0)
    {
        bytes = (r->width + 7u) / 8;
        if (left < bytes)
            return false;
        r->value = 0;
        for (i = 0; i < bytes; i++)
            r->value |= (uint32_t) r->p[i] << (8 * i);
        r->p += bytes;
        r->run_left = h >> 1;
        return r->width == 32 || r->value >> r->width == 0;
    }
    bytes = (size_t) (h >> 1) * r->width;
    r->packed = r->p;
    r->packed_idx = 0;
    if (bytes > left)
    {
        /* The padding of the last group may be missing: what is whole may be used. */
        uint64_t whole = (uint64_t) left * 8 / r->width;

        r->p = r->end;
        r->packed_left = (uint32_t) (whole < UINT32_MAX ? whole : UINT32_MAX);
        return r->packed_left > 0;
    }
    r->p += bytes;
    r->packed_left = (uint64_t) (h >> 1) * 8 < UINT32_MAX ? (h >> 1) * 8 : UINT32_MAX;
    return true;
}

/* Values idx.. of a packed run; `w` is a constant in each stamp below. */
__attribute__((always_inline)) static inline void unpack(const uint8_t *restrict p, uint64_t idx,
                                                         uint32_t *restrict out, uint32_t n,
                                                         unsigned w)
{
    uint64_t mask = (1ull << w) - 1;
    uint32_t i = 0, j;

    for (; i < n && ((idx + i) & 7) != 0; i++)
    {
        uint64_t bit = (idx + i) * w;

        out[i] = (uint32_t) (ax_load_u64(p + (bit >> 3)) >> (bit & 7) & mask);
    }
    p += (idx + i) / 8 * w;
    for (; i + 8 <= n; i += 8, p += w)
        for (j = 0; j < 8; j++)
            out[i + j] = (uint32_t) (ax_load_u64(p + (j * w >> 3)) >> (j * w & 7) & mask);
    for (j = 0; i < n; i++, j++)
        out[i] = (uint32_t) (ax_load_u64(p + (j * w >> 3)) >> (j * w & 7) & mask);
}

static uint32_t max_of(const uint32_t *v, uint32_t n, uint32_t m)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

static void unpack_any(const uint8_t *p, uint64_t i, uint32_t *out, uint32_t n, uint8_t width)
{
    switch (width)
    {
        case 1: unpack(p, i, out, n, 1); break;
        case 2: unpack(p, i, out, n, 2); break;
        case 3: unpack(p, i, out, n, 3); break;
        case 4: unpack(p, i, out, n, 4); break;
        case 5: unpack(p, i, out, n, 5); break;
        case 6: unpack(p, i, out, n, 6); break;
        case 7: unpack(p, i, out, n, 7); break;
        case 8: unpack(p, i, out, n, 8); break;
        case 9: unpack(p, i, out, n, 9); break;
        case 10: unpack(p, i, out, n, 10); break;
        case 11: unpack(p, i, out, n, 11); break;
        case 12: unpack(p, i, out, n, 12); break;
        case 13: unpack(p, i, out, n, 13); break;
        case 14: unpack(p, i, out, n, 14); break;
        case 15: unpack(p, i, out, n, 15); break;
        case 16: unpack(p, i, out, n, 16); break;
        case 17: unpack(p, i, out, n, 17); break;
        case 18: unpack(p, i, out, n, 18); break;
        case 19: unpack(p, i, out, n, 19); break;
        case 20: unpack(p, i, out, n, 20); break;
        default: unpack(p, i, out, n, width); break;
    }
}

uint32_t ax_pq_rle_unpack(ax_pq_rle *r, uint32_t *out, uint32_t n)
{
    const uint8_t *p = r->packed;
    uint64_t i = r->packed_idx;
    uint32_t head = (uint32_t) (-i & 7), groups, max = 0;

    AX_ASSERT(n <= r->packed_left);
    head = head < n ? head : n;
    groups = (n - head) / 8;
    if (groups > 0 &&
        ax_pq_unpack_groups(p + (i + head) / 8 * r->width, groups, r->width, out + head, &max))
    {
        uint32_t done = head + 8 * groups;

        unpack_any(p, i, out, head, r->width);
        unpack_any(p, i + done, out + done, n - done, r->width);
        max = max_of(out + done, n - done, max_of(out, head, max));
    }
    else
    {
        unpack_any(p, i, out, n, r->width);
        max = max_of(out, n, 0);
    }
    r->packed_idx += n;
    r->packed_left -= n;
    return max;
}

bool ax_pq_rle_read(ax_pq_rle *r, uint32_t *out, uint32_t n, uint32_t *max)
{
    while (n > 0)
    {
        uint32_t k, i;

        if (!ax_pq_rle_fill(r))
            return false;
        if (r->run_left > 0)
        {
            k = n < r->run_left ? n : r->run_left;
            for (i = 0; i < k; i++)
                out[i] = r->value;
            r->run_left -= k;
            *max = r->value > *max ? r->value : *max;
        }
        else
        {
            uint32_t m;

            k = n < r->packed_left ? n : r->packed_left;
            m = ax_pq_rle_unpack(r, out, k);
            *max = m > *max ? m : *max;
        }
        out += k;
        n -= k;
    }
    return true;
}

bool ax_pq_rle_skip(ax_pq_rle *r, uint64_t n)
{
    while (n > 0)
    {
        uint64_t k;

        if (!ax_pq_rle_fill(r))
            return false;
        if (r->run_left > 0)
        {
            k = n < r->run_left ? n : r->run_left;
            r->run_left -= (uint32_t) k;
        }
        else
        {
            k = n < r->packed_left ? n : r->packed_left;
            r->packed_idx += k;
            r->packed_left -= (uint32_t) k;
        }
        n -= k;
    }
    return true;
}

void ax_pq_bitpacked_turn(const uint8_t *src, uint8_t *dst, uint64_t n, uint8_t width)
{
    uint64_t bits = n * width, i;

    memset(dst, 0, (size_t) ((bits + 7) / 8));
    for (i = 0; i < bits; i++)
    {
        /* Bit i of the result is bit (i % width) of value i / width, which is stored with its most
         * significant bit first. */
        uint64_t from = i / width * width + (width - 1 - i % width);

        if (src[from >> 3] >> (7 - (from & 7)) & 1)
            dst[i >> 3] |= (uint8_t) (1u << (i & 7));
    }
}
