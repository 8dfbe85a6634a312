/* Snappy blocks, and the loop over elements that streams share.
 *
 * An element holds a dozen bytes on average, so the cost of one decides the speed.  Each is put
 * through one table look-up and one unconditional copy of 64 bytes, as long as there is room for
 * that; a single branch sends away what is longer, overlaps itself or refers too far back.  A
 * literal passes that branch as if it were a copy from 64 bytes before.  The last bytes go one by
 * one.  docs/decisions/0014-own-snappy-decoder.md tells what this gains over the library. */
#include "codec/codec_int.h"
#include "codec/snappy_int.h"

enum { FAST_IN = 72 }; /* a tag and a copy of 64 bytes */

/* By tag: length, and the known part of the offset in units of 64 << 7.  A length that no offset
 * reaches, with offset 0, sends elements of other forms to `odd`. */
#define ODD 127u
#define ENTRY(t)                                                                                   \
    (uint16_t) (((t) & 3) == 0   ? ((t) >> 2 < 60 ? ((t) >> 2) + 1 + (1u << 7) : ODD)              \
                : ((t) & 3) == 1 ? 4 + ((t) >> 2 & 7) + ((t) >> 5 << 9)                            \
                : ((t) & 3) == 2 ? 1 + ((t) >> 2)                                                  \
                                 : ODD)
#define ENTRY_4(t) ENTRY(t), ENTRY((t) + 1u), ENTRY((t) + 2u), ENTRY((t) + 3u)
#define ENTRY_16(t) ENTRY_4(t), ENTRY_4((t) + 4u), ENTRY_4((t) + 8u), ENTRY_4((t) + 12u)
#define ENTRY_64(t) ENTRY_16(t), ENTRY_16((t) + 16u), ENTRY_16((t) + 32u), ENTRY_16((t) + 48u)

static const uint16_t entry[256] = {ENTRY_64(0u), ENTRY_64(64u), ENTRY_64(128u), ENTRY_64(192u)};

/* Bytes that stand at `in`. */
static bool literal(ax_snappy_place *p, const uint8_t *in, size_t len)
{
    if (len > (size_t) (p->end - in) || len > (size_t) (p->stop - p->out))
        return false;
    memcpy(p->out, in, len);
    p->in = in + len;
    p->out += len;
    return true;
}

/* An element of any form; there is room for the longest copy, and input for all but a literal. */
static bool odd(ax_snappy_place *p, const uint8_t *dst)
{
    uint32_t tag = *p->in, type = tag & 3, x = tag >> 2, v = ax_load_u32(p->in + 1), len, off;

    if (type == 0 && x < 60)
        return literal(p, p->in + 1, x + 1);
    if (type == 0)
        return literal(p, p->in + x - 58, (size_t) (v & (0xffffffffu >> (8 * (63 - x)))) + 1);
    len = type == 1 ? 4 + (x & 7) : 1 + x;
    off = type == 1 ? tag >> 5 << 8 | (v & 0xff) : type == 2 ? v & 0xffff : v;
    if (off == 0 || off > (size_t) (p->out - dst))
        return false;
    ax_snappy_copy(p->out, off, len);
    p->in += type == 3 ? 5 : 1 + type;
    p->out += len;
    return true;
}

/* An element near an end. */
static bool careful(ax_snappy_place *p, const uint8_t *dst)
{
    uint32_t tag = *p->in, type = tag & 3, x = tag >> 2, v = 0, len, off;
    uint32_t more = type == 0 ? (x < 60 ? 0 : x - 59) : type == 3 ? 4 : type;

    if (more >= (size_t) (p->end - p->in))
        return false;
    for (uint32_t i = 0; i < more; i++)
        v |= (uint32_t) p->in[1 + i] << 8 * i;
    if (type == 0)
        return literal(p, p->in + 1 + more, (size_t) (x < 60 ? x : v) + 1);
    len = type == 1 ? 4 + (x & 7) : 1 + x;
    off = type == 1 ? tag >> 5 << 8 | v : v;
    if (off == 0 || off > (size_t) (p->out - dst) || len > (size_t) (p->stop - p->out))
        return false;
    for (; len > 0; len--, p->out++)
        *p->out = *(p->out - off);
    p->in += 1 + more;
    return true;
}

bool ax_snappy_run(ax_snappy_place *place, const uint8_t *dst)
{
    static const uint32_t mask[4] = {0, 0xff, 0xffff, 0}; /* bytes of the offset behind the tag */
    ax_snappy_place p = *place;
    bool ok = true;

    while (ok && p.end - p.in >= FAST_IN && p.stop - p.out >= AX_SNAPPY_ROOM)
    {
        uint32_t tag = *p.in, type = tag & 3, e = entry[tag], len = e & 127;
        uint32_t off = (e >> 7) * 64 + (ax_load_u32(p.in + 1) & mask[type]);

        if (__builtin_expect(off < len || off > (size_t) (p.out - dst), 0))
        {
            ok = odd(&p, dst);
            continue;
        }
        ax_snappy_copy_64(p.out, type ? p.out - off : p.in + 1);
        p.out += len;
        p.in += 1 + (type ? type : (tag >> 2) + 1);
    }
    *place = p;
    return ok;
}

bool ax_snappy_body(const uint8_t *src, const uint8_t *end, uint8_t *dst, size_t dst_len)
{
    ax_snappy_place p = {src, end, dst, dst + dst_len};
    bool ok = ax_snappy_run(&p, dst);

    while (ok && p.in < end)
        ok = careful(&p, dst);
    return ok && p.out == p.stop;
}

bool ax_snappy_length(const uint8_t *src, size_t src_len, size_t *len, const uint8_t **body)
{
    uint64_t v = 0;

    for (uint32_t i = 0; i < 5 && i < src_len; i++)
    {
        v |= (uint64_t) (src[i] & 127) << 7 * i;
        if (src[i] >= 128)
            continue;
        *len = (size_t) v;
        *body = src + i + 1;
        return v <= UINT32_MAX;
    }
    return false;
}

ax_status ax_cdc_snappy(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                        size_t dst_len)
{
    const uint8_t *body;
    size_t n;

    (void) c;
    AX_CHECK(t, ax_snappy_length(src, src_len, &n, &body), AX_ECORRUPT,
             "snappy block of %zu bytes has no valid length", src_len);
    AX_CHECK(t, n == dst_len, AX_ECORRUPT, "snappy block holds %zu bytes where %zu were declared",
             n, dst_len);
    AX_CHECK(t, ax_snappy_body(body, src + src_len, dst, dst_len), AX_ECORRUPT,
             "snappy block of %zu bytes is corrupt", src_len);
    return AX_OK;
}
