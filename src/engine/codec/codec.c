/* The table of codecs and the life of their contexts. */
#include "codec/codec_int.h"

#include <string.h>

static const char *const names[] = {
    "none",
#define AX_CODEC(name, text) text,
#include "codec/codecs.def"
#undef AX_CODEC
};

static const ax_cdc_fn fns[AX_CDC_CNT] = {
    [AX_CDC_SNAPPY] = ax_cdc_snappy,   [AX_CDC_GZIP] = ax_cdc_gzip,
    [AX_CDC_ZSTD] = ax_cdc_zstd,       [AX_CDC_LZ4_RAW] = ax_cdc_lz4_raw,
    [AX_CDC_LZ4_HADOOP] = ax_cdc_lz4_hadoop, [AX_CDC_BROTLI] = ax_cdc_brotli,
};

static void free_contexts(void *arg)
{
    ax_cdc *c = (ax_cdc *) arg;

    ax_cdc_zstd_free(c);
    ax_cdc_gzip_free(c);
}

ax_status ax_cdc_create(ax_task *t, ax_arena *a, ax_cdc **out)
{
    ax_cdc *c;

    AX_NEW(t, c, (ax_cdc *) ax_arena_alloc0(a, sizeof *c));
    c->arena = a;
    if (!ax_arena_on_reset(a, free_contexts, c))
        return ax_fail_nomem(t, sizeof *c);
    *out = c;
    return AX_OK;
}

ax_status ax_cdc_decompress(ax_task *t, ax_cdc *c, ax_codec codec, const uint8_t *src,
                            size_t src_len, uint8_t *dst, size_t dst_len)
{
    if (codec == AX_CDC_NONE)
    {
        AX_CHECK(t, src_len == dst_len, AX_ECORRUPT,
                 "stored block has %zu bytes where %zu were declared", src_len, dst_len);
        if (dst_len > 0)
            memcpy(dst, src, dst_len);
        return AX_OK;
    }
    AX_ASSERT((unsigned) codec < AX_CDC_CNT);
    return fns[codec](t, c, src, src_len, dst, dst_len);
}

const char *ax_cdc_name(ax_codec codec)
{
    return (unsigned) codec < AX_CDC_CNT ? names[codec] : "unknown";
}
