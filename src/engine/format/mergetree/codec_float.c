/* Codecs for floating-point numbers: Gorilla and FPC.
 *
 * Format: mergetree.md, "Codecs". */
#include "mergetree_int.h"

/* ---- Gorilla --------------------------------------------------------------------------------- */

/* Each value is the one before with a window of its bits changed: the same window as last time, or
 * a new one. */
static bool gorilla(ax_mt_bits *b, uint32_t w, uint64_t x, uint8_t *dst, uint32_t count)
{
    unsigned len_bits = w == 1 ? 4 : w == 2 ? 5 : w == 4 ? 6 : 7, db = 0, tz = 0;
    uint32_t i;

    for (i = 1; i < count; i++)
    {
        uint64_t bit, lz, len, y;

        if (!ax_mt_bits_take(b, 1, &bit))
            return false;
        if (bit != 0)
        {
            if (!ax_mt_bits_take(b, 1, &bit))
                return false;
            if (bit != 0)
            {
                if (!ax_mt_bits_take(b, len_bits - 1, &lz) ||
                    !ax_mt_bits_take(b, len_bits, &len) || len == 0 ||
                    lz + len > 8 * w)
                    return false;
                db = (unsigned) len;
                tz = 8 * w - (unsigned) lz - db;
            }
            if (db == 0 || !ax_mt_bits_take(b, db, &y))
                return false;
            x ^= y << tz;
        }
        memcpy(dst + (size_t) i * w, &x, w);
    }
    return true;
}

bool ax_mt_gorilla(const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    uint32_t w = ax_mt_codec_head(&src, &n, &dst, &size, 8), count;
    uint64_t x = 0;
    ax_mt_bits b;

    if (w == 0)
        return false;
    if (n < 4)
        return size == 0 && n == 0;
    count = ax_load_u32(src);
    if (count != size / w)
        return false;
    if (count == 0)
        return true;
    if (n < 4u + w)
        return false;
    memcpy(&x, src + 4, w);
    memcpy(dst, &x, w);
    b = (ax_mt_bits){src + 4 + w, 0, (n - 4 - w) * 8};
    return gorilla(&b, w, x, dst, count);
}

/* ---- FPC ------------------------------------------------------------------------------------- */

/* Two predictors, each a table by the hash of what came before.  The hashes are those of the two
 * widths. */
typedef struct fpc
{
    uint64_t *value, *stride;     /* [mask + 1] */
    uint64_t mask, h, g, last;
    uint32_t w;
} fpc;

static uint64_t fpc_next(fpc *f, uint64_t residual, bool by_stride)
{
    uint64_t limit = f->w == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t guess = by_stride ? (f->stride[f->g] + f->last) & limit : f->value[f->h];
    uint64_t x = guess ^ residual, d = (x - f->last) & limit;

    f->value[f->h] = x;
    f->stride[f->g] = d;
    if (f->w == 8)
    {
        f->h = ((f->h << 6) ^ (x >> 48)) & f->mask;
        f->g = ((f->g << 2) ^ (d >> 40)) & f->mask;
    }
    else
    {
        f->h = ((f->h << 1) ^ (x >> 22)) & f->mask;
        f->g = ((f->g << 4) ^ (d >> 23)) & f->mask;
    }
    f->last = x;
    return x;
}

/* Pairs of values: a byte with a nibble for each, then the low bytes of the residuals. */
static bool fpc_run(fpc *f, const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    size_t at = 0;
    int k;

    while (size > 0)
    {
        uint8_t head;
        uint64_t r[2] = {0, 0};
        uint32_t bytes[2];

        if (at == n)
            return false;
        head = src[at++];
        for (k = 0; k < 2; k++)
        {
            uint32_t code = (k == 0 ? head >> 4 : head) & 7;
            uint32_t zeros = f->w == 8 && code > 3 ? code + 1 : code;

            if (zeros > f->w)
                return false;
            bytes[k] = f->w - zeros;
        }
        for (k = 0; k < 2; k++)
        {
            if (bytes[k] > n - at)
                return false;
            memcpy(&r[k], src + at, bytes[k]);
            at += bytes[k];
        }
        for (k = 0; k < 2 && size > 0; k++)
        {
            uint64_t x = fpc_next(f, r[k], ((k == 0 ? head >> 4 : head) & 8) != 0);
            size_t m = size < f->w ? size : f->w;

            memcpy(dst, &x, m);
            dst += m;
            size -= m;
        }
    }
    return at == n;
}

ax_status ax_mt_fpc(ax_task *t, const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    fpc f = {0};
    uint32_t level;
    ax_buf *tables;
    bool ok;

    AX_CHECK(t, n >= 2 && (src[0] == 4 || src[0] == 8) && src[1] >= 1 && src[1] <= 28, AX_ECORRUPT,
             "frame of codec FPC is corrupt");
    f.w = src[0];
    level = src[1];
    f.mask = (1ull << level) - 1;
    tables = ax_buf_alloc(t->budget, 16ull << level);
    if (tables == NULL)
        return ax_fail_nomem(t, 16ull << level);
    memset(tables->data, 0, tables->len);
    f.value = (uint64_t *) tables->data;
    f.stride = f.value + f.mask + 1;
    ok = fpc_run(&f, src + 2, n - 2, dst, size);
    ax_buf_unref(tables);
    AX_CHECK(t, ok, AX_ECORRUPT, "frame of codec FPC is corrupt");
    return AX_OK;
}
