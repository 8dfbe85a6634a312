/* ALP: decimal-like floating-point numbers as integers, and ALP_RD, which cuts numbers in a left
 * part from a small dictionary and a right part.
 *
 *      u8 version (low four bits) and variant (bit 4), u8 w, u16 1024
 *      ALP_RD: u8 bits on the left, u8 k, k x u16
 *      blocks of 1024 values
 *
 * Integers are packed in lanes: with words of W bits there are 1024 / W lanes, value i is in lane
 * i mod lanes, and the words of a lane stand that far from each other.
 *
 * Format: mergetree.md, "Codecs". */
#include "mergetree_int.h"

enum { BLOCK = 1024, HEAD = 4 };

/* Value i of 1024 packed in words of W bits, b bits each. */
static uint64_t unpack(const uint8_t *p, unsigned word_bits, unsigned b, unsigned i)
{
    unsigned lanes = BLOCK / word_bits, lane = i % lanes, bit = i / lanes * b;
    unsigned bytes = word_bits / 8, got = 0;
    uint64_t v = 0;

    while (got < b)
    {
        unsigned k = (bit + got) / word_bits, in = (bit + got) % word_bits, m = word_bits - in;
        uint64_t w = 0;

        memcpy(&w, p + ((size_t) k * lanes + lane) * bytes, bytes);
        w >>= in;
        if (m > b - got)
        {
            m = b - got;
            w &= (1ull << m) - 1;
        }
        v |= w << got;
        got += m;
    }
    return v;
}

static bool exceptions(const uint8_t **p, const uint8_t *end, unsigned n, unsigned w, uint8_t *dst,
                       unsigned count)
{
    unsigned i;

    if ((size_t) (end - *p) < (size_t) n * (2 + w))
        return false;
    for (i = 0; i < n; i++, *p += 2 + w)
    {
        unsigned at = ax_load_u16(*p);

        if (at >= count)
            return false;
        memcpy(dst + (size_t) at * w, *p + 2, w);
    }
    return true;
}

static bool raw(const uint8_t **p, const uint8_t *end, size_t n, uint8_t *dst)
{
    if ((size_t) (end - *p) < n)
        return false;
    memcpy(dst, *p, n);
    *p += n;
    return true;
}

static void decimal_of(int64_t v, unsigned e, unsigned f, unsigned w, uint8_t *dst)
{
    static const double p10[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (w == 8)
    {
        double x = (double) v * p10[f] * (1.0 / p10[e]);

        memcpy(dst, &x, 8);
    }
    else
    {
        float up = (float) p10[f], down = 1.0f / (float) p10[e];
        float x = (float) v * up * down;

        memcpy(dst, &x, 4);
    }
}

static bool alp_block(const uint8_t **p, const uint8_t *end, unsigned w, unsigned count,
                      uint8_t *dst)
{
    unsigned e, f, n, b, i;
    uint64_t base;

    if (*p == end)
        return false;
    e = *(*p)++;
    if (e == 255)
        return raw(p, end, (size_t) count * w, dst);
    if (end - *p < 12)
        return false;
    f = (*p)[0];
    n = ax_load_u16(*p + 1);
    b = (*p)[3];
    base = ax_load_u64(*p + 4);
    *p += 12;
    if (e > 22 || f > 22 || b > 64 || (size_t) (end - *p) < (size_t) b * 128)
        return false;
    for (i = 0; i < count; i++)
        decimal_of((int64_t) (unpack(*p, 64, b, i) + base), e, f, w, dst + (size_t) i * w);
    *p += (size_t) b * 128;
    return exceptions(p, end, n, w, dst, count);
}

typedef struct left { unsigned bits, n, code_bits; uint16_t value[256]; } left;

static bool rd_head(const uint8_t **p, const uint8_t *end, unsigned w, left *l)
{
    unsigned i;

    if (end - *p < 2)
        return false;
    l->bits = (*p)[0];
    l->n = (*p)[1];
    *p += 2;
    if (l->bits == 0 || l->bits > 16 || l->bits >= 8 * w || l->n == 0 ||
        (size_t) (end - *p) < 2u * l->n)
        return false;
    for (i = 0; i < l->n; i++, *p += 2)
        l->value[i] = ax_load_u16(*p);
    for (l->code_bits = 0; 1u << l->code_bits < l->n;)
        l->code_bits++;
    return true;
}

static bool rd_block(const uint8_t **p, const uint8_t *end, unsigned w, const left *l,
                     unsigned count, uint8_t *dst)
{
    unsigned n, right = 8 * w - l->bits, i;
    const uint8_t *codes, *values;

    if (end - *p < 2)
        return false;
    n = ax_load_u16(*p);
    *p += 2;
    if (n == 0xffff)
        return raw(p, end, (size_t) count * w, dst);
    if ((size_t) (end - *p) < (size_t) (l->code_bits + right) * 128)
        return false;
    codes = *p;
    values = codes + (size_t) l->code_bits * 128;
    *p = values + (size_t) right * 128;
    for (i = 0; i < count; i++)
    {
        unsigned code = (unsigned) unpack(codes, 16, l->code_bits, i);
        uint64_t x;

        if (code >= l->n)
            return false;
        x = (uint64_t) l->value[code] << right | unpack(values, 8 * w, right, i);
        memcpy(dst + (size_t) i * w, &x, w);
    }
    return exceptions(p, end, n, w, dst, count);
}

bool ax_mt_alp(const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    const uint8_t *p = src + HEAD, *end = src + n;
    unsigned w;
    bool rd;
    left l = {0};

    if (n < HEAD || (src[0] & 15) != 1 || src[0] >> 5 != 0 || ax_load_u16(src + 2) != BLOCK)
        return false;
    rd = (src[0] & 16) != 0;
    w = src[1];
    if ((w != 4 && w != 8) || size % w != 0)
        return false;
    if (rd && !rd_head(&p, end, w, &l))
        return false;
    while (size > 0)
    {
        unsigned count = size / w < BLOCK ? (unsigned) (size / w) : BLOCK;

        if (rd ? !rd_block(&p, end, w, &l, count, dst) : !alp_block(&p, end, w, count, dst))
            return false;
        dst += (size_t) count * w;
        size -= (size_t) count * w;
    }
    return p == end;
}
