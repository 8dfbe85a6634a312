/* Compressed frames.
 *
 *      +0   hash128   CityHash128 of the bytes from +16 on
 *      +16  u8        method
 *      +17  u32       bytes from +16 to the end of the frame
 *      +21  u32       bytes after decompression
 *      +25            body
 *
 * Frames describe themselves, so each is dispatched by its own method byte.  A frame of codecs in a
 * chain (method 91) holds the frame of the last codec, without checksum; decompressed, that is the
 * frame of the codec before, and so on.
 *
 * Format: mergetree.md, "Compressed frames". */
#include "mergetree_int.h"

enum { MULTIPLE = 0x91, INNER_HEAD = 9 };

ax_status ax_mt_frame_head(ax_task *t, const uint8_t *p, size_t n, ax_mt_frame *out)
{
    uint32_t packed;

    AX_CHECK(t, n >= MT_FRAME_HEAD, AX_ECORRUPT, "compressed frame is cut off in its header");
    out->method = p[16];
    packed = ax_load_u32(p + 17);
    out->size = ax_load_u32(p + 21);
    AX_CHECK(t, memcmp(p, "ENC", 3) != 0 || packed <= n - 16, AX_EUNSUPPORTED,
             "file is encrypted");
    AX_CHECK(t, packed >= INNER_HEAD && packed <= MT_MAX_FRAME_BYTES, AX_ECORRUPT,
             "compressed frame claims %u bytes", packed);
    AX_CHECK(t, out->size > 0 && out->size <= MT_MAX_FRAME_BYTES, AX_ECORRUPT,
             "compressed frame claims %u bytes after decompression", out->size);
    AX_CHECK(t, packed <= n - 16, AX_ECORRUPT, "compressed frame of %u bytes is cut off", packed);
    out->body = p + MT_FRAME_HEAD;
    out->nbody = packed - INNER_HEAD;
    out->total = packed + 16;
    return AX_OK;
}

ax_status ax_mt_frame_check(ax_task *t, const uint8_t *p, const ax_mt_frame *f)
{
    ax_mt_hash h = ax_mt_city128(p + 16, f->total - 16);

    AX_CHECK(t, h.lo == ax_load_u64(p) && h.hi == ax_load_u64(p + 8), AX_ECORRUPT,
             "checksum of a compressed frame does not match");
    return AX_OK;
}

/* ---- codecs ---------------------------------------------------------------------------------- */

static ax_status own(ax_task *t, ax_mt_codec_fn fn, const char *name, const uint8_t *src,
                     size_t n, uint8_t *dst, size_t size)
{
    AX_CHECK(t, fn(src, n, dst, size), AX_ECORRUPT, "frame of codec %s is corrupt", name);
    return AX_OK;
}

static ax_status refuse(ax_task *t, uint8_t method)
{
    if (method == 0x96 || method == 0x97)
        return ax_fail(t, AX_EUNSUPPORTED, "frame is encrypted (codec AES)");
    return ax_fail(t, AX_EUNSUPPORTED, "codec 0x%02x is not known", method);
}

static ax_status decode(ax_task *t, ax_cdc *cdc, uint8_t method, const uint8_t *src, size_t n,
                        uint8_t *dst, size_t size)
{
    switch (method)
    {
        case 0x02:
            AX_CHECK(t, n == size, AX_ECORRUPT, "frame holds %zu bytes where %zu were declared", n,
                     size);
            memcpy(dst, src, size);
            return AX_OK;
        case 0x82:
            return ax_cdc_decompress(t, cdc, AX_CDC_LZ4_RAW, src, n, dst, size);
        case 0x90:
        case 0x9b:
            return ax_cdc_decompress(t, cdc, AX_CDC_ZSTD, src, n, dst, size);
        case 0x92:
            return own(t, ax_mt_delta, "Delta", src, n, dst, size);
        case 0x93:
            return own(t, ax_mt_t64, "T64", src, n, dst, size);
        case 0x94:
            return own(t, ax_mt_double_delta, "DoubleDelta", src, n, dst, size);
        case 0x95:
            return own(t, ax_mt_gorilla, "Gorilla", src, n, dst, size);
        case 0x98:
            return ax_mt_fpc(t, src, n, dst, size);
        case 0x9a:
            return own(t, ax_mt_gcd, "GCD", src, n, dst, size);
        case 0x9c:
            return own(t, ax_mt_alp, "ALP", src, n, dst, size);
        default:
            return refuse(t, method);
    }
}

/* The frame inside a chain, without checksum: method (which must be `want`), sizes, body. */
static ax_status inner_head(ax_task *t, uint8_t want, const uint8_t *p, size_t n, ax_mt_frame *out)
{
    AX_CHECK(t, n >= INNER_HEAD && p[0] == want && ax_load_u32(p + 1) == n, AX_ECORRUPT,
             "frame of a chain of codecs is corrupt");
    out->method = p[0];
    out->size = ax_load_u32(p + 5);
    out->body = p + INNER_HEAD;
    out->nbody = (uint32_t) n - INNER_HEAD;
    AX_CHECK(t, out->size > 0 && out->size <= MT_MAX_FRAME_BYTES, AX_ECORRUPT,
             "frame of a chain of codecs claims %u bytes", out->size);
    return AX_OK;
}

/* Undo the codecs of a chain, the last one first. */
static ax_status multiple(ax_task *t, ax_cdc *cdc, const ax_mt_frame *f, uint8_t *dst)
{
    const uint8_t *methods, *p;
    ax_buf *held = NULL;
    size_t n;
    uint8_t k;
    ax_status st = AX_OK;

    AX_CHECK(t, f->nbody >= 1 && f->body[0] > 0 && f->body[0] <= MT_MAX_DEPTH &&
                 f->nbody > 1u + f->body[0], AX_ECORRUPT, "chain of codecs is corrupt");
    k = f->body[0];
    methods = f->body + 1;
    p = methods + k;
    n = f->nbody - 1u - k;
    while (k-- > 0 && st == AX_OK)
    {
        ax_mt_frame in = {0};
        ax_buf *next = NULL;

        st = inner_head(t, methods[k], p, n, &in);
        if (st == AX_OK && k == 0 && in.size != f->size)
            st = ax_fail(t, AX_ECORRUPT, "chain of codecs holds %u bytes where %u were declared",
                         in.size, f->size);
        if (st == AX_OK && k > 0)
        {
            next = ax_buf_alloc(t->budget, in.size);
            if (next == NULL)
                st = ax_fail_nomem(t, in.size);
        }
        if (st == AX_OK)
            st = decode(t, cdc, in.method, in.body, in.nbody, k > 0 ? next->data : dst, in.size);
        ax_buf_unref(held);
        held = next;
        p = held != NULL ? held->data : NULL;
        n = in.size;
    }
    ax_buf_unref(held);
    return st;
}

ax_status ax_mt_frame_decode(ax_task *t, ax_cdc *cdc, const ax_mt_frame *f, uint8_t *dst)
{
    if (f->method == MULTIPLE)
        return multiple(t, cdc, f, dst);
    return decode(t, cdc, f->method, f->body, f->nbody, dst, f->size);
}

/* ---- whole files ----------------------------------------------------------------------------- */

ax_status ax_mt_frames_all(ax_task *t, ax_arena *a, ax_cdc *cdc, const uint8_t *p, size_t n,
                           const uint8_t **out, size_t *nout)
{
    uint64_t total = 0, at;
    ax_mt_frame f;
    uint8_t *dst;

    for (at = 0; at < n; at += f.total)
    {
        AX_TRY(ax_mt_frame_head(t, p + at, n - at, &f));
        AX_TRY(ax_mt_frame_check(t, p + at, &f));
        total += f.size;
        AX_CHECK(t, total <= MT_MAX_META_BYTES, AX_ELIMIT,
                 "file has more than %d bytes after decompression", MT_MAX_META_BYTES);
    }
    AX_NEW(t, dst, (uint8_t *) ax_arena_values(a, total + 1));
    *out = dst;
    *nout = (size_t) total;
    for (at = 0; at < n; at += f.total)
    {
        AX_TRY(ax_mt_frame_head(t, p + at, n - at, &f));
        AX_TRY(ax_mt_frame_decode(t, cdc, &f, dst));
        dst += f.size;
    }
    return AX_OK;
}
