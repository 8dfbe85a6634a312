/* Decompression piece by piece: one interface over codecs that can. */
#include "codec/stream_int.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { WINDOW_BITS_ANY = 15 + 32, ZSTD_WINDOW_LOG = 23 };

bool ax_cdc_streams(ax_codec codec)
{
    return codec == AX_CDC_SNAPPY || codec == AX_CDC_ZSTD || codec == AX_CDC_GZIP;
}

static void free_contexts(void *arg)
{
    ax_cdc_stream *s = (ax_cdc_stream *) arg;

    if (s->zstd != NULL)
        (void) ZSTD_freeDCtx((ZSTD_DCtx *) s->zstd);
    if (s->zlib != NULL)
        (void) inflateEnd((z_stream *) s->zlib);
    s->zstd = s->zlib = NULL;
}

ax_status ax_cdc_stream_create(ax_task *t, ax_arena *a, ax_cdc_stream **out)
{
    ax_cdc_stream *s;

    AX_NEW(t, s, (ax_cdc_stream *) ax_arena_alloc0(a, sizeof *s));
    s->arena = a;
    if (!ax_arena_on_reset(a, free_contexts, s))
        return ax_fail_nomem(t, sizeof *s);
    *out = s;
    return AX_OK;
}

static ax_status begin_zstd(ax_task *t, ax_cdc_stream *s)
{
    if (s->zstd == NULL)
    {
        AX_NEW(t, s->zstd, ZSTD_createDCtx());
        (void) ZSTD_DCtx_setParameter((ZSTD_DCtx *) s->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    }
    (void) ZSTD_DCtx_reset((ZSTD_DCtx *) s->zstd, ZSTD_reset_session_only);
    return AX_OK;
}

static ax_status begin_gzip(ax_task *t, ax_cdc_stream *s)
{
    z_stream *z = (z_stream *) s->zlib;

    if (z != NULL)
    {
        AX_CHECK(t, inflateReset2(z, WINDOW_BITS_ANY) == Z_OK, AX_ECORRUPT,
                 "gzip context cannot be reset");
        return AX_OK;
    }
    AX_NEW(t, z, (z_stream *) ax_arena_alloc0(s->arena, sizeof *z));
    if (inflateInit2(z, WINDOW_BITS_ANY) != Z_OK)
        return ax_fail_nomem(t, sizeof *z);
    s->zlib = z;
    return AX_OK;
}

ax_status ax_cdc_stream_begin(ax_task *t, ax_cdc_stream *s, ax_codec codec, size_t total)
{
    AX_ASSERT(ax_cdc_streams(codec));
    s->codec = codec;
    s->total = total;
    s->produced = 0;
    s->ended = true;
    memset(&s->snappy, 0, sizeof s->snappy);
    if (codec == AX_CDC_GZIP)
        return begin_gzip(t, s);
    return codec == AX_CDC_ZSTD ? begin_zstd(t, s) : AX_OK;
}

static ax_status run_zstd(ax_task *t, ax_cdc_stream *s, const uint8_t **src, const uint8_t *end,
                          uint8_t *buf, size_t *pos, size_t cap)
{
    ZSTD_inBuffer in = {*src, (size_t) (end - *src), 0};
    ZSTD_outBuffer out = {buf, cap, *pos};

    for (;;)
    {
        size_t in0 = in.pos, out0 = out.pos;
        size_t rc = ZSTD_decompressStream((ZSTD_DCtx *) s->zstd, &out, &in);

        if (ZSTD_isError(rc))
        {
            /* Frames with larger windows need memory of their own size. */
            bool far = strstr(ZSTD_getErrorName(rc), "memory") != NULL;

            return ax_fail(t, far ? AX_EUNSUPPORTED : AX_ECORRUPT, "zstd block is corrupt: %s",
                           ZSTD_getErrorName(rc));
        }
        s->ended = rc == 0;
        if (out.pos == cap || (in.pos == in0 && out.pos == out0))
            break;
    }
    *src += in.pos;
    *pos = out.pos;
    return AX_OK;
}

static ax_status run_gzip(ax_task *t, ax_cdc_stream *s, const uint8_t **src, const uint8_t *end,
                          uint8_t *buf, size_t *pos, size_t cap)
{
    z_stream *z = (z_stream *) s->zlib;

    while (*src < end && *pos < cap)
    {
        size_t in = (size_t) (end - *src), out = cap - *pos;
        int rc;

        if (s->ended && inflateReset2(z, WINDOW_BITS_ANY) != Z_OK) /* the next member */
            return ax_fail(t, AX_ECORRUPT, "gzip context cannot be reset");
        in = in < UINT32_MAX ? in : UINT32_MAX;
        out = out < UINT32_MAX ? out : UINT32_MAX;
        z->next_in = (Bytef *) (uintptr_t) *src;
        z->avail_in = (uInt) in;
        z->next_out = buf + *pos;
        z->avail_out = (uInt) out;
        rc = inflate(z, Z_NO_FLUSH);
        AX_CHECK(t, rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR, AX_ECORRUPT,
                 "gzip block is corrupt: %s", z->msg != NULL ? z->msg : "unknown error");
        *src += in - z->avail_in;
        *pos += out - z->avail_out;
        s->ended = rc == Z_STREAM_END;
        if (rc == Z_BUF_ERROR)
            break;
    }
    return AX_OK;
}

/* Some input with room for `cap` bytes behind *pos. */
static ax_status run(ax_task *t, ax_cdc_stream *s, const uint8_t **src, const uint8_t *end,
                     uint8_t *buf, size_t *pos, size_t cap)
{
    if (s->codec == AX_CDC_SNAPPY)
        return ax_snappy_stream_run(t, s, src, end, buf, pos, cap);
    if (s->codec == AX_CDC_ZSTD)
        return run_zstd(t, s, src, end, buf, pos, cap);
    return run_gzip(t, s, src, end, buf, pos, cap);
}

ax_status ax_cdc_stream_run(ax_task *t, ax_cdc_stream *s, const uint8_t **src, const uint8_t *end,
                            uint8_t *buf, size_t *pos, size_t cap)
{
    size_t before = *pos, left = s->total - s->produced;

    cap = left < cap - *pos ? *pos + left : cap;
    AX_TRY(run(t, s, src, end, buf, pos, cap));
    s->produced += *pos - before;
    return AX_OK;
}

ax_status ax_cdc_stream_end(ax_task *t, ax_cdc_stream *s, const uint8_t *src, const uint8_t *end)
{
    uint8_t spare[AX_PAD]; /* what closes a block is taken only when there is room */
    size_t pos = 0;
    bool whole;

    if (s->codec != AX_CDC_SNAPPY && src < end)
        AX_TRY(run(t, s, &src, end, spare, &pos, 1));
    whole = s->codec == AX_CDC_SNAPPY
                ? s->snappy.lit_left + s->snappy.copy_left + s->snappy.ntag == 0 : s->ended;
    AX_CHECK(t, whole && src == end && pos == 0 && s->produced == s->total, AX_ECORRUPT,
             "%s block does not hold the %zu bytes declared", ax_cdc_name(s->codec), s->total);
    return AX_OK;
}
