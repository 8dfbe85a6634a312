/* Delta, DoubleDelta and GCD: codecs over integers of w bytes.
 *
 * All begin with u8 w, a byte that repeats (size mod w), and so many raw bytes, which precede the
 * values: frames are cut at any byte, and inside a chain the input is another codec's frame.
 * Arithmetic wraps in w bytes.
 *
 * Format: mergetree.md, "Codecs". */
#include "mergetree_int.h"

uint32_t ax_mt_codec_head(const uint8_t **src, size_t *n, uint8_t **dst, size_t *size,
                          uint32_t max_w)
{
    uint32_t w, raw;

    if (*n < 2)
        return 0;
    w = (*src)[0];
    if (w == 0 || w > max_w || (w & (w - 1)) != 0)
        return 0;
    raw = (uint32_t) (*size % w);
    if (*n < 2u + raw)
        return 0;
    memcpy(*dst, *src + 2, raw);
    *src += 2 + raw;
    *n -= 2 + raw;
    *dst += raw;
    *size -= raw;
    return w;
}

#define DELTA(type)                                                                                \
    do                                                                                             \
    {                                                                                              \
        type sum = 0, d;                                                                           \
        for (i = 0; i < size; i += sizeof d)                                                       \
        {                                                                                          \
            memcpy(&d, src + i, sizeof d);                                                         \
            sum = (type) (sum + d);                                                                \
            memcpy(dst + i, &sum, sizeof d);                                                       \
        }                                                                                          \
    } while (0)

bool ax_mt_delta(const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    uint32_t w = ax_mt_codec_head(&src, &n, &dst, &size, 8);
    size_t i;

    if (w == 0 || n != size)
        return false;
    switch (w)
    {
        case 1: DELTA(uint8_t); break;
        case 2: DELTA(uint16_t); break;
        case 4: DELTA(uint32_t); break;
        default: DELTA(uint64_t);
    }
    return true;
}

/* ---- greatest common divisor ----------------------------------------------------------------- */

/* dst = a * b in 64 * words bits. */
static void multiply(const uint64_t *a, const uint64_t *b, uint64_t *dst, uint32_t words)
{
    uint64_t r[4] = {0};
    uint32_t i, k;

    for (i = 0; i < words; i++)
    {
        uint64_t carry = 0;

        for (k = 0; i + k < words; k++)
        {
            ax_u128 m = (ax_u128) a[i] * b[k] + r[i + k] + carry;

            r[i + k] = (uint64_t) m;
            carry = (uint64_t) (m >> 64);
        }
    }
    memcpy(dst, r, words * 8);
}

#define GCD(type)                                                                                  \
    do                                                                                             \
    {                                                                                              \
        type by, q;                                                                                \
        memcpy(&by, src, sizeof by);                                                               \
        src += sizeof by;                                                                          \
        for (i = 0; i < size; i += sizeof q)                                                       \
        {                                                                                          \
            memcpy(&q, src + i, sizeof q);                                                         \
            q = (type) ((uint64_t) q * (uint64_t) by);                                             \
            memcpy(dst + i, &q, sizeof q);                                                         \
        }                                                                                          \
    } while (0)

bool ax_mt_gcd(const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    uint32_t w = ax_mt_codec_head(&src, &n, &dst, &size, 32);
    uint64_t g[4], x[4];
    size_t i;

    if (w == 0)
        return false;
    if (size == 0)
        return n == 0;
    if (n != size + w)
        return false;
    switch (w)
    {
        case 1: GCD(uint8_t); break;
        case 2: GCD(uint16_t); break;
        case 4: GCD(uint32_t); break;
        case 8: GCD(uint64_t); break;
        default:
            memcpy(g, src, w);
            src += w;
            for (i = 0; i < size; i += w)
            {
                memcpy(x, src + i, w);
                multiply(x, g, x, w / 8);
                memcpy(dst + i, x, w);
            }
    }
    return true;
}

/* ---- second differences ---------------------------------------------------------------------- */

/* The next second difference. */
static bool second(ax_mt_bits *b, uint64_t *out)
{
    static const uint8_t width[] = {7, 9, 12, 32, 64};
    uint64_t bit, neg, v;
    unsigned ones = 0;

    while (ones < 5)
    {
        if (!ax_mt_bits_take(b, 1, &bit))
            return false;
        if (bit == 0)
            break;
        ones++;
    }
    *out = 0;
    if (ones == 0)
        return true;
    if (!ax_mt_bits_take(b, 1, &neg) || !ax_mt_bits_take(b, width[ones - 1] - 1u, &v))
        return false;
    v++;
    *out = neg ? 0 - v : v;
    return true;
}

static void store(uint8_t *p, uint64_t v, uint32_t w) { memcpy(p, &v, w); }

static uint64_t load(const uint8_t *p, uint32_t w)
{
    uint64_t v = 0;

    memcpy(&v, p, w);
    return v;
}

bool ax_mt_double_delta(const uint8_t *src, size_t n, uint8_t *dst, size_t size)
{
    uint32_t w = ax_mt_codec_head(&src, &n, &dst, &size, 8), count, i;
    uint64_t x, d, dd;
    ax_mt_bits b;

    if (w == 0 || n < 4)
        return w != 0 && size == 0 && n == 0;
    count = ax_load_u32(src);
    if (count != size / w)
        return false;
    src += 4;
    n -= 4;
    if (count == 0)
        return true;
    if (n < w)
        return false;
    x = load(src, w);
    store(dst, x, w);
    if (count == 1)
        return true;
    if (n < 2u * w)
        return false;
    d = load(src + w, w);
    x += d;
    store(dst + w, x, w);
    b = (ax_mt_bits){src + 2 * w, 0, (n - 2 * w) * 8};
    for (i = 2; i < count; i++)
    {
        if (!second(&b, &dd))
            return false;
        d += dd;
        x += d;
        store(dst + (size_t) i * w, x, w);
    }
    return true;
}
