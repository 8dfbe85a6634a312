/* Cuts a large snappy block into pieces that can be decompressed apart from each other.
 *
 * Writers compress 64 KiB at a time and forget what came before, so at each such boundary of the
 * output an element begins, and no copy reaches back over it.  Nothing in the block says where that
 * is in the input; one has to walk over the elements.  A walk is a chain of dependent loads, about
 * as slow as decompressing.  So several walks start at once, in the middle of nowhere, and go on in
 * step, which hides the latency.  A walk that started inside an element soon meets the true
 * sequence: that is checked, by going on with the walk before until both stand at one place.
 *
 *      walk 0 |----------->.....x          x: where walk 0 and walk 1 meet; what walk 1 has put
 *      walk 1             |~~~~~x------->  out between there and its end counts
 *
 * A writer that did otherwise is found out when a piece does not decompress.
 *
 * Format: google/snappy, format_description.txt; the boundaries: snappy.cc, kBlockSize. */
#include "codec/codec_int.h"
#include "codec/snappy_int.h"

#include <string.h>

enum
{
    FRAGMENT_BYTES = 65536,
    MEET_BYTES = 65536,       /* walks that did not meet within so much input will not */
    WALK_BYTES = AX_CDC_CUT_BYTES / AX_CDC_ABREAST /* of output, at least */
};

/* Bytes that an element takes and gives, by its first byte: taken << 8 | given; 0: a literal whose
 * length follows. */
static const uint16_t *steps(void)
{
#define S(in, out) (uint16_t) ((in) << 8 | (out))
#define ROW(k)                                                                                     \
    (k) < 60 ? S((k) + 2, (k) + 1) : 0, S(2, 4 + ((k) & 7)), S(3, (k) + 1), S(5, (k) + 1)
#define ROW4(k) ROW(k), ROW((k) + 1), ROW((k) + 2), ROW((k) + 3)
#define ROW16(k) ROW4(k), ROW4((k) + 4), ROW4((k) + 8), ROW4((k) + 12)
    static const uint16_t table[256] = {ROW16(0), ROW16(16), ROW16(32), ROW16(48)};

    return table;
}

/* A literal of 61 bytes or more at p < end; ends at `end` if it would go further. */
static const uint8_t *long_literal(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint32_t nbytes = (uint32_t) (*p >> 2) - 59, len = 0;

    if ((size_t) (end - p) <= nbytes)
        return end;
    for (uint32_t i = 0; i < nbytes; i++)
        len |= (uint32_t) p[1 + i] << (8 * i);
    *out += (uint64_t) len + 1;
    p += 1 + nbytes;
    return (uint64_t) (end - p) > len ? p + len + 1 : end;
}

/* Over one element at p < end. */
static inline const uint8_t *step(const uint16_t *table, const uint8_t *p, const uint8_t *end,
                                  uint64_t *out)
{
    uint32_t e = table[*p];

    if (__builtin_expect(e == 0, 0))
        return long_literal(p, end, out);
    *out += e & 255;
    return (size_t) (end - p) > e >> 8 ? p + (e >> 8) : end;
}

bool ax_cdc_cut_begin(const uint8_t *src, size_t src_len, size_t dst_len, ax_cdc_cut *cut)
{
    const uint8_t *at;
    size_t n, body;

    if (dst_len < AX_CDC_CUT_BYTES || src_len < dst_len / 64
        || !ax_snappy_length(src, src_len, &n, &at) || n != dst_len)
        return false;
    memset(cut, 0, sizeof *cut);
    cut->src = src;
    cut->end = src + src_len;
    cut->dst_len = dst_len;
    body = (size_t) (cut->end - at);
    cut->nwalks = AX_CDC_WALKS;
    if (dst_len / WALK_BYTES < AX_CDC_WALKS)
        cut->nwalks = (uint32_t) (dst_len / WALK_BYTES) & ~(AX_CDC_ABREAST - 1u);
    for (uint32_t i = 0; i < cut->nwalks; i++)
    {
        cut->walk[i].begin = at + body / cut->nwalks * i;
        cut->walk[i].stop = i + 1 < cut->nwalks ? at + body / cut->nwalks * (i + 1) : cut->end;
    }
    return true;
}

/* Four at once, by name: as arrays they do not stay in registers. */
void ax_cdc_cut_walk(ax_cdc_cut *cut, uint32_t first)
{
    const uint16_t *table = steps();
    const uint8_t *end = cut->end;
    ax_cdc_walk *w = &cut->walk[first];
    const uint8_t *a = w[0].begin, *b = w[1].begin, *c = w[2].begin, *d = w[3].begin;
    uint64_t oa = 0, ob = 0, oc = 0, od = 0;

    while (a < w[0].stop && b < w[1].stop && c < w[2].stop && d < w[3].stop)
    {
        a = step(table, a, end, &oa);
        b = step(table, b, end, &ob);
        c = step(table, c, end, &oc);
        d = step(table, d, end, &od);
    }
    w[0].at = a;
    w[0].out = oa;
    w[1].at = b;
    w[1].out = ob;
    w[2].at = c;
    w[2].out = oc;
    w[3].at = d;
    w[3].out = od;
    for (uint32_t i = 0; i < AX_CDC_ABREAST; i++)
        while (w[i].at < w[i].stop)
            w[i].at = step(table, w[i].at, end, &w[i].out);
}

/* Does the true walk, at p with `out` bytes before, meet walk w from its beginning?  If so, *p and
 * *out are where, and *lead what w put out until there. */
static bool meet(const ax_cdc_cut *cut, const ax_cdc_walk *w, const uint8_t **p, uint64_t *out,
                 uint64_t *lead)
{
    const uint16_t *table = steps();
    const uint8_t *at = *p, *other = w->begin, *limit = at;
    uint64_t at_out = *out, other_out = 0;

    limit = cut->end - at > MEET_BYTES ? at + MEET_BYTES : cut->end;
    while (at != other && at < limit && other < limit)
        if (at < other)
            at = step(table, at, cut->end, &at_out);
        else
            other = step(table, other, cut->end, &other_out);
    if (at != other || at >= limit || at >= w->stop)
        return false;
    *p = at;
    *out = at_out;
    *lead = other_out;
    return true;
}

uint32_t ax_cdc_cut_join(ax_cdc_cut *cut)
{
    const uint16_t *table = steps();
    const uint8_t *p = cut->walk[0].at;
    uint64_t out = cut->walk[0].out;
    uint32_t n = 0;

    cut->piece[n++] = (ax_cdc_piece){.src = cut->walk[0].begin, .dst = 0};
    for (uint32_t i = 1; i < cut->nwalks; i++)
    {
        const ax_cdc_walk *w = &cut->walk[i];
        uint64_t lead = 0, edge = out;
        const uint8_t *q;

        if (!meet(cut, w, &p, &out, &lead))
        {
            while (p < w->stop)
                p = step(table, p, cut->end, &out);
            continue;
        }
        /* On to the next boundary of the output. */
        q = p;
        edge = out;
        while (q < cut->end && edge % FRAGMENT_BYTES != 0)
            q = step(table, q, cut->end, &edge);
        if (q < cut->end && edge > cut->piece[n - 1].dst && edge < cut->dst_len)
            cut->piece[n++] = (ax_cdc_piece){.src = q, .dst = edge};
        p = w->at;
        out += w->out - lead;
    }
    for (uint32_t i = 0; i < n; i++)
    {
        ax_cdc_piece *x = &cut->piece[i];

        x->src_len = (size_t) ((i + 1 < n ? cut->piece[i + 1].src : cut->end) - x->src);
        x->dst_len = (i + 1 < n ? cut->piece[i + 1].dst : cut->dst_len) - x->dst;
    }
    cut->npieces = n;
    return n;
}

bool ax_cdc_cut_piece(const ax_cdc_cut *cut, uint32_t i, uint8_t *dst)
{
    const ax_cdc_piece *x = &cut->piece[i];

    return ax_snappy_body(x->src, x->src + x->src_len, dst + x->dst, x->dst_len);
}
