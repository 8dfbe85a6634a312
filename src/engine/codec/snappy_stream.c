/* Snappy blocks piece by piece: a page of 100 MB would need as much memory as a whole.
 *
 * Elements are taken whole while there is room for the longest and input behind it; what
 * is cut by an end goes byte by byte.  Copies reach back 64 KiB at most in every writer known,
 * since all compress in blocks of that size, though the format has room for more. */
#include "codec/snappy_int.h"
#include "codec/stream_int.h"

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

/* Can a copy reach back so far?  have: bytes in front of it in the buffer. */
static ax_status check_copy(ax_task *t, const ax_snappy_stream *s, uint64_t have)
{
    if (s->copy_off > 0 && s->copy_off <= have)
        return AX_OK;
    AX_CHECK(t, s->copy_off > 0 && s->copy_off <= s->produced, AX_ECORRUPT,
             "snappy block is corrupt");
    return ax_fail(t, AX_EUNSUPPORTED, "snappy block refers far back");
}

/* As many elements as can be taken whole. */
static void run_fast(ax_snappy_stream *s, const uint8_t **src, const uint8_t *end, uint8_t *buf,
                     size_t *pos, size_t cap)
{
    ax_snappy_place p = {*src, end, buf + *pos, buf + cap};

    (void) ax_snappy_run(&p, buf);
    s->produced += (size_t) (p.out - buf) - *pos;
    *src = p.in;
    *pos = (size_t) (p.out - buf);
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
            run_fast(s, src, end, buf, pos, cap);
        if (*pos < cap && (*src < end || s->copy_left > 0))
            AX_TRY(run_slow(t, s, src, end, buf, pos, cap));
    }
    return AX_OK;
}
