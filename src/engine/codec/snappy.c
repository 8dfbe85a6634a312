/* Snappy raw blocks.  The length stands in front and is compared before anything is written. */
#include "codec/codec_int.h"

#include <snappy-c.h>

ax_status ax_cdc_snappy(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                        size_t dst_len)
{
    size_t n = 0;

    (void) c;
    AX_CHECK(t, snappy_uncompressed_length((const char *) src, src_len, &n) == SNAPPY_OK,
             AX_ECORRUPT, "snappy block of %zu bytes has no valid length", src_len);
    AX_CHECK(t, n == dst_len, AX_ECORRUPT, "snappy block holds %zu bytes where %zu were declared",
             n, dst_len);
    n = dst_len;
    AX_CHECK(t,
             snappy_uncompress((const char *) src, src_len, (char *) dst, &n) == SNAPPY_OK &&
                 n == dst_len,
             AX_ECORRUPT, "snappy block of %zu bytes is corrupt", src_len);
    return AX_OK;
}
