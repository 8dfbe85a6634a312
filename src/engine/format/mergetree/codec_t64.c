/* T64: integers in groups of 64, as a transposed matrix of their valuable bits.
 *
 *      u8   type code | 0x80 for the bit variant
 *      raw  size mod w bytes
 *      i64  min, max
 *      groups of b words of 64 bits; the last group is padded
 *
 * In the byte variant whole bytes of the values stand together (64 bytes each), and the bits that
 * are left over follow, one word each.  In the bit variant each word holds one bit of all values.
 *
 * Format: mergetree.md, "Codecs". */
#include "mergetree_int.h"

typedef struct kind { uint8_t width; bool is_signed; } kind;

static const kind kinds[32] = {
    [1] = {1, false}, [2] = {2, false}, [3] = {4, false}, [4] = {8, false}, [6] = {1, true},
    [7] = {2, true}, [8] = {4, true}, [9] = {8, true}, [13] = {2, false}, [14] = {4, false},
    [15] = {8, true}, [17] = {1, false}, [18] = {2, false}, [19] = {4, true}, [20] = {8, true},
    [21] = {4, false}, [22] = {4, true}, [23] = {4, true}, [24] = {8, true},
};

static unsigned bit_len(uint64_t v) { return v == 0 ? 0 : 64u - (unsigned) __builtin_clzll(v); }

static unsigned valuable_bits(bool is_signed, int64_t min, int64_t max)
{
    if (is_signed && min < 0 && max >= 0)
        return min + max >= 0 ? bit_len((uint64_t) max) + 1 : bit_len(~(uint64_t) min) + 1;
    return bit_len((uint64_t) min ^ (uint64_t) max);
}

/* Transpose 64 x 64 bits: bit c of row r becomes bit r of row c. */
static void transpose(uint64_t m[64])
{
    uint64_t mask = 0x00000000ffffffffull;
    unsigned j, k;

    for (j = 32; j != 0; j >>= 1, mask ^= mask << j)
        for (k = 0; k < 64; k = ((k | j) + 1) & ~j)
        {
            uint64_t x = ((m[k] >> j) ^ m[k | j]) & mask;

            m[k] ^= x << j;
            m[k | j] ^= x;
        }
}

/* One group: b words to 64 values. */
static void group(const uint8_t *src, unsigned b, bool bits, uint64_t v[64])
{
    unsigned full = bits ? 0 : b / 8, part = bits ? b : b % 8, i, j;

    memset(v, 0, 64 * sizeof *v);
    for (i = 0; i < part; i++)
        v[i] = ax_load_u64(src + full * 64 + 8 * i);
    transpose(v);
    if (full == 0)
        return;
    for (i = 0; i < 64; i++)
    {
        uint64_t x = full < 8 ? v[i] << (8 * full) : 0;

        for (j = 0; j < full; j++)
            x |= (uint64_t) src[64 * j + i] << (8 * j);
        v[i] = x;
    }
}

typedef struct restore { uint64_t low, high, sign; } restore;

static restore how(bool is_signed, int64_t min, int64_t max, unsigned b)
{
    restore r = {0, 0, 0};

    if (b == 64)
        return r;
    r.low = (uint64_t) min >> b << b;
    r.high = r.low;
    if (is_signed && min < 0 && max >= 0)
    {
        r.high = (uint64_t) max >> b << b;
        r.sign = 1ull << (b - 1);
    }
    return r;
}

bool ax_mt_t64(const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    uint64_t v[64];
    int64_t min, max;
    unsigned b;
    bool bits;
    size_t raw, count, i, k;
    restore r;
    kind what;

    if (n < 1)
        return false;
    bits = (src[0] & 0x80) != 0;
    what = (src[0] & 0x7f) < 32 ? kinds[src[0] & 0x7f] : (kind){0, false};
    if (what.width == 0)
        return false;
    raw = size % what.width;
    if (n < 1 + raw)
        return false;
    memcpy(dst, src + 1, raw);
    src += 1 + raw;
    n -= 1 + raw;
    dst += raw;
    count = size / what.width;
    if (count == 0)
        return n == 0;
    if (n < 16)
        return false;
    min = (int64_t) ax_load_u64(src);
    max = (int64_t) ax_load_u64(src + 8);
    src += 16;
    n -= 16;
    b = valuable_bits(what.is_signed, min, max);
    if (b > 8u * what.width || n != (count + 63) / 64 * 8 * b)
        return false;
    r = how(what.is_signed, min, max, b);
    for (i = 0; i < count; i += 64)
    {
        if (b == 0)
            for (k = 0; k < 64; k++)
                v[k] = (uint64_t) min;
        else
            group(src + i / 64 * 8 * b, b, bits, v);
        for (k = 0; k < 64 && i + k < count; k++)
        {
            uint64_t x = b == 0 ? v[k] : v[k] | ((v[k] & r.sign) || r.sign == 0 ? r.low : r.high);

            memcpy(dst + (i + k) * what.width, &x, what.width);
        }
    }
    return true;
}
