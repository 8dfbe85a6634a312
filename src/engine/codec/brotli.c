/* Brotli streams, in one call. */
#include "codec/codec_int.h"

#include <brotli/decode.h>

ax_status ax_cdc_brotli(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                        size_t dst_len)
{
    size_t n = dst_len;

    (void) c;
    AX_CHECK(t,
             BrotliDecoderDecompress(src_len, src, &n, dst) == BROTLI_DECODER_RESULT_SUCCESS &&
                 n == dst_len,
             AX_ECORRUPT, "brotli block of %zu bytes is corrupt", src_len);
    return AX_OK;
}
