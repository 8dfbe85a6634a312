/* Gzip or zlib wrapped deflate; several members may follow each other in one block. */
#include "codec/codec_int.h"

#include <string.h>
#include <zlib.h>

/* Window of any size; the header tells gzip from zlib. */
enum { WINDOW_BITS_ANY = 15 + 32 };

void ax_cdc_gzip_free(ax_cdc *c)
{
    if (c->zlib != NULL)
        (void) inflateEnd((z_stream *) c->zlib);
    c->zlib = NULL;
}

static ax_status start(ax_task *t, ax_cdc *c, z_stream **out)
{
    z_stream *z = (z_stream *) c->zlib;

    if (z == NULL)
    {
        AX_NEW(t, z, (z_stream *) ax_arena_alloc0(c->arena, sizeof *z));
        if (inflateInit2(z, WINDOW_BITS_ANY) != Z_OK)
            return ax_fail_nomem(t, sizeof *z);
        c->zlib = z;
    }
    else if (inflateReset2(z, WINDOW_BITS_ANY) != Z_OK)
        return ax_fail(t, AX_ECORRUPT, "gzip context cannot be reset");
    *out = z;
    return AX_OK;
}

ax_status ax_cdc_gzip(ax_task *t, ax_cdc *c, const uint8_t *src, size_t src_len, uint8_t *dst,
                      size_t dst_len)
{
    z_stream *z = NULL;
    size_t in = 0, out = 0;
    uint8_t spare;  /* inflate wants room for its end-of-stream check even when none is left */

    AX_CHECK(t, src_len <= UINT32_MAX && dst_len <= UINT32_MAX, AX_ELIMIT,
             "gzip block of %zu bytes is too large", src_len);
    do
    {
        int rc;

        AX_TRY(start(t, c, &z));
        z->next_in = (Bytef *) (uintptr_t) (src + in);
        z->avail_in = (uInt) (src_len - in);
        z->next_out = out < dst_len ? dst + out : &spare;
        z->avail_out = out < dst_len ? (uInt) (dst_len - out) : 1;
        rc = inflate(z, Z_FINISH);
        AX_CHECK(t, rc == Z_STREAM_END, AX_ECORRUPT, "gzip block of %zu bytes is corrupt: %s",
                 src_len, z->msg != NULL ? z->msg : "size differs from the declared one");
        AX_CHECK(t, out < dst_len || z->avail_out == 1, AX_ECORRUPT,
                 "gzip block holds more than the %zu bytes declared", dst_len);
        in = src_len - z->avail_in;
        if (out < dst_len)
            out = dst_len - z->avail_out;
    } while (in < src_len);
    AX_CHECK(t, out == dst_len, AX_ECORRUPT, "gzip block holds %zu bytes where %zu were declared",
             out, dst_len);
    return AX_OK;
}
