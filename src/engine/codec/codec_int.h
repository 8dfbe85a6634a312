/* What the codecs' files share: the contexts, and one function a codec. */
#ifndef AX_CODEC_INT_H
#define AX_CODEC_INT_H

#include "codec/codec.h"

struct ax_cdc
{
    void *zstd;   /* ZSTD_DCtx, owned; NULL: not yet */
    void *zlib;   /* z_stream in the arena, inflateEnd when not NULL */
    ax_arena *arena;
};

typedef ax_status (*ax_cdc_fn)(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len,
                               uint8_t *dst, size_t dst_len);

ax_status ax_cdc_snappy(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                        size_t dst_len) AX_MUST_USE;
ax_status ax_cdc_gzip(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                      size_t dst_len) AX_MUST_USE;
ax_status ax_cdc_zstd(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                      size_t dst_len) AX_MUST_USE;
ax_status ax_cdc_lz4_raw(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                         size_t dst_len) AX_MUST_USE;
ax_status ax_cdc_lz4_hadoop(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len,
                            uint8_t *dst, size_t dst_len) AX_MUST_USE;
ax_status ax_cdc_brotli(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                        size_t dst_len) AX_MUST_USE;

void ax_cdc_zstd_free(ax_cdc *c);
void ax_cdc_gzip_free(ax_cdc *c);

#endif
