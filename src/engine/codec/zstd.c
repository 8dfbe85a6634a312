/* Zstandard: one or several frames, skippable frames included.  The content size in a frame may be
 * absent or wrong; what counts is the output produced. */
#include "codec/codec_int.h"

#include <zstd.h>

void ax_cdc_zstd_free(ax_cdc *c)
{
    if (c->zstd != NULL)
        (void) ZSTD_freeDCtx((ZSTD_DCtx *) c->zstd);
    c->zstd = NULL;
}

ax_status ax_cdc_zstd(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                      size_t dst_len)
{
    size_t n;

    if (c->zstd == NULL)
        AX_NEW(t, c->zstd, ZSTD_createDCtx());
    n = ZSTD_decompressDCtx((ZSTD_DCtx *) c->zstd, dst, dst_len, src, src_len);
    AX_CHECK(t, !ZSTD_isError(n), AX_ECORRUPT, "zstd block of %zu bytes is corrupt: %s", src_len,
             ZSTD_getErrorName(n));
    AX_CHECK(t, n == dst_len, AX_ECORRUPT, "zstd block holds %zu bytes where %zu were declared", n,
             dst_len);
    return AX_OK;
}
