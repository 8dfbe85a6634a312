/* LZ4 blocks: raw, and in Hadoop's framing.
 *
 * The block decoder is the library's.  Hadoop's framing repeats [u32be size after decompression]
 * [u32be compressed size][block]; one uncompressed size may be followed by several (compressed
 * size, block) pairs until that many bytes are out.  Old writers put a raw block under the same
 * codec number, so strict framing is tried first. */
#include "codec/codec_int.h"

#include <limits.h>
#include <lz4.h>

static bool raw_block(const uint8_t *src, size_t src_len, uint8_t *dst, size_t dst_len,
                      size_t *out_len)
{
    int n;

    if (src_len > INT_MAX || dst_len > INT_MAX)
        return false;
    n = LZ4_decompress_safe((const char *) src, (char *) dst, (int) src_len, (int) dst_len);
    if (n < 0)
        return false;
    *out_len = (size_t) n;
    return true;
}

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static bool hadoop_frames(const uint8_t *src, size_t src_len, uint8_t *dst, size_t dst_len)
{
    size_t in = 0, out = 0;

    while (in < src_len)
    {
        size_t frame, done = 0;

        if (src_len - in < 8)
            return false;
        frame = load_be32(src + in);
        in += 4;
        if (frame == 0 || frame > dst_len - out)
            return false;
        while (done < frame)
        {
            size_t packed, n = 0;

            if (src_len - in < 4)
                return false;
            packed = load_be32(src + in);
            in += 4;
            if (packed == 0 || packed > src_len - in ||
                !raw_block(src + in, packed, dst + out, frame - done, &n) || n == 0)
                return false;
            in += packed;
            out += n;
            done += n;
        }
    }
    return out == dst_len;
}

ax_status ax_cdc_lz4_raw(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                         size_t dst_len)
{
    size_t n = 0;

    (void) c;
    if (raw_block(src, src_len, dst, dst_len, &n) && n == dst_len)
        return AX_OK;
    AX_CHECK(t, hadoop_frames(src, src_len, dst, dst_len), AX_ECORRUPT,
             "lz4 block of %zu bytes is corrupt", src_len);
    return AX_OK;
}

ax_status ax_cdc_lz4_hadoop(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len,
                            uint8_t *dst, size_t dst_len)
{
    size_t n = 0;

    (void) c;
    if (hadoop_frames(src, src_len, dst, dst_len))
        return AX_OK;
    AX_CHECK(t, raw_block(src, src_len, dst, dst_len, &n) && n == dst_len, AX_ECORRUPT,
             "lz4 block of %zu bytes is corrupt", src_len);
    return AX_OK;
}
