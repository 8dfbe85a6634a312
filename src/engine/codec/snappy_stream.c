/* Snappy blocks piece by piece.  The library takes whole blocks only; a page of 100 MB would need
 * as much memory.
 *
 * Elements are taken in a fast loop while there is room for the longest and input behind it; what
 * is cut by an end goes byte by byte.  Copies reach back 64 KiB at most in every writer known,
 * since all compress in blocks of that size, though the format has room for more.
 *
 *   tag & 3   bytes behind      what
 *      0      0..4, literal     n = tag >> 2; n < 60: n + 1 bytes; else n - 59 bytes tell length-1
 *      1      1                 copy of 4 + (tag >> 2 & 7), offset (tag >> 5) * 256 + byte
 *      2      2                 copy of 1 + (tag >> 2), offset u16
 *      3      4                 copy of 1 + (tag >> 2), offset u32
 *
 * Format: google/snappy, format_description.txt. */
#include "codec/stream_int.h"

#include "base/bytes.h"

enum { FAST_IN = 80, FAST_OUT = 80 }; /* more than any element that the fast loop takes */

static uint32_t tag_bytes(uint8_t tag)
{
    if ((tag & 3) == 0)
        return tag >> 2 < 60 ? 1 : 1 + (tag >> 2) - 59;
    return (tag & 3) == 1 ? 2 : (tag & 3) == 2 ? 3 : 5;
}

/* Take an element apart; its bytes are all in s->tag. */
static void take_tag(ax_snappy_stream *s)
{
    uint8_t tag = s->tag[0];
    uint32_t v = 0;

    for (uint32_t i = 1; i < s->ntag; i++)
        v |= (uint32_t) s->tag[i] << 8 * (i - 1);
    s->ntag = 0;
    if ((tag & 3) == 0)
    {
        s->lit_left = (tag >> 2 < 60 ? (uint32_t) (tag >> 2) : v) + 1;
        return;
    }
    s->copy_off = (tag & 3) == 1 ? (uint32_t) (tag >> 5) << 8 | v : v;
    s->copy_left = (tag & 3) == 1 ? 4u + (tag >> 2 & 7) : 1u + (tag >> 2);
}

/* len <= 64 bytes from `off` before p; 80 bytes of room. */
static inline void copy_fast(uint8_t *p, uint32_t off, uint32_t len)
{
    const uint8_t *from = p - off;
    uint8_t *end = p + len;

    if (__builtin_expect(off >= 16, 1))
    {
        memcpy(p, from, 16);
        if (len > 16)
        {
            memcpy(p + 16, from + 16, 16);
            memcpy(p + 32, from + 32, 16);
            memcpy(p + 48, from + 48, 16);
        }
        return;
    }
    for (; p - from < 8 && p < end; p += p - from) /* what repeats gets longer */
        memmove(p, from, 8);
    for (; p < end; p += 8, from += 8)
        memcpy(p, from, 8);
}

/* Can a copy reach back so far?  have: bytes in front of it in the buffer. */
static ax_status check_copy(ax_task *t, const ax_snappy_stream *s, uint64_t have)
{
    if (s->copy_off > 0 && s->copy_off <= have)
        return AX_OK;
    AX_CHECK(t, s->copy_off > 0 && s->copy_off <= s->produced, AX_ECORRUPT,
             "snappy block is corrupt");
    return ax_fail(t, AX_EUNSUPPORTED, "snappy block refers far back");
}

/* As many whole elements as surely fit. */
static ax_status run_fast(ax_task *t, ax_snappy_stream *s, const uint8_t **src, const uint8_t *end,
                          uint8_t *buf, size_t *pos, size_t cap)
{
    const uint8_t *in = *src;
    uint8_t *p = buf + *pos, *p0 = p, *stop = buf + cap;
    ax_status st = AX_OK;

    while (end - in >= FAST_IN && stop - p >= FAST_OUT)
    {
        uint32_t tag = *in++, len = (tag >> 2) + 1, off;

        if ((tag & 3) == 0)
        {
            if (len > 60)
            {
                s->lit_left = (ax_load_u32(in) & (0xffffffffu >> (8 * (64 - len)))) + 1;
                in += len - 60;
                break;
            }
            memcpy(p, in, 16);
            if (len > 16)
            {
                memcpy(p + 16, in + 16, 16);
                memcpy(p + 32, in + 32, 16);
                memcpy(p + 48, in + 48, 16);
            }
            p += len;
            in += len;
            continue;
        }
        off = ax_load_u32(in);
        if ((tag & 3) == 2)
        {
            off &= 0xffff;
            in += 2;
        }
        else if ((tag & 3) == 1)
        {
            len = 4 + (tag >> 2 & 7);
            off = (tag >> 5) << 8 | (off & 0xff);
            in++;
        }
        else
            in += 4;
        if (__builtin_expect(off - 1 >= (uint64_t) (p - buf), 0))
        {
            s->copy_off = off;
            s->copy_left = len;
            break;
        }
        copy_fast(p, off, len);
        p += len;
    }
    s->produced += (uint64_t) (p - p0);
    *src = in;
    *pos = (size_t) (p - buf);
    if (s->copy_left > 0)
        st = check_copy(t, s, *pos);
    return st;
}

/* The length in front: as many bytes of it as there are. */
static ax_status run_length(ax_task *t, ax_cdc_stream *c, const uint8_t **src, const uint8_t *end)
{
    ax_snappy_stream *s = &c->snappy;

    while (!s->begun && *src < end)
    {
        uint8_t b = *(*src)++;

        AX_CHECK(t, s->nlen < 5, AX_ECORRUPT, "snappy block has no valid length");
        s->len |= (uint64_t) (b & 127) << 7 * s->nlen++;
        s->begun = b < 128;
    }
    if (s->begun)
        AX_CHECK(t, s->len == c->total, AX_ECORRUPT,
                 "snappy block holds %llu bytes where %zu were declared",
                 (unsigned long long) s->len, c->total);
    return AX_OK;
}

/* Go on with the current element; the one after it is in s->tag when it is cut. */
static ax_status run_slow(ax_task *t, ax_snappy_stream *s, const uint8_t **src, const uint8_t *end,
                          uint8_t *buf, size_t *pos, size_t cap)
{
    size_t n = 0;

    if (s->lit_left > 0)
    {
        n = (size_t) (end - *src) < cap - *pos ? (size_t) (end - *src) : cap - *pos;
        n = n < s->lit_left ? n : s->lit_left;
        if (n > 0)
            memcpy(buf + *pos, *src, n);
        *src += n;
        s->lit_left -= (uint32_t) n;
    }
    else if (s->copy_left > 0)
    {
        AX_TRY(check_copy(t, s, *pos));
        n = s->copy_left < cap - *pos ? s->copy_left : cap - *pos;
        for (size_t i = *pos; i < *pos + n; i++)
            buf[i] = buf[i - s->copy_off];
        s->copy_left -= (uint32_t) n;
    }
    else
    {
        s->tag[s->ntag++] = *(*src)++;
        if (s->ntag == tag_bytes(s->tag[0]))
            take_tag(s);
    }
    *pos += n;
    s->produced += n;
    return AX_OK;
}

ax_status ax_snappy_stream_run(ax_task *t, ax_cdc_stream *c, const uint8_t **src,
                               const uint8_t *end, uint8_t *buf, size_t *pos, size_t cap)
{
    ax_snappy_stream *s = &c->snappy;

    AX_TRY(run_length(t, c, src, end));
    while (s->begun && *pos < cap && (*src < end || (s->copy_left > 0 && s->lit_left == 0)))
    {
        if (s->lit_left == 0 && s->copy_left == 0 && s->ntag == 0)
            AX_TRY(run_fast(t, s, src, end, buf, pos, cap));
        if (*pos < cap && (*src < end || s->copy_left > 0))
            AX_TRY(run_slow(t, s, src, end, buf, pos, cap));
    }
    return AX_OK;
}
