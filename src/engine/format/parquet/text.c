/* Are these bytes text that PostgreSQL accepts: valid UTF-8 without NUL?
 *
 * Strings of a PLAIN page stand behind each other with their lengths between.  High bytes and
 * zeros are counted over the whole stretch, which vectorises, and those of the lengths, which are
 * known, are subtracted: what remains is zero for ASCII, and then no string needs a look.
 * Otherwise each string is walked, eight ASCII bytes a step.
 *
 * Format: RFC 3629; surrogates and overlong forms are invalid, as in PostgreSQL. */
#include "parquet_int.h"

uint32_t ax_pq_utf8_len(const uint8_t *p, uint32_t n)
{
    uint8_t a = p[0];

    if (a < 0x80)
        return a != 0 ? 1 : 0;
    if (a < 0xc2 || a > 0xf4)
        return 0;
    if (a < 0xe0)
        return n >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if (n < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
        return 0;
    if (a < 0xf0)
        return (a == 0xe0 && p[1] < 0xa0) || (a == 0xed && p[1] > 0x9f) ? 0 : 3;
    if (n < 4 || (p[3] & 0xc0) != 0x80 || (a == 0xf0 && p[1] < 0x90) || (a == 0xf4 && p[1] > 0x8f))
        return 0;
    return 4;
}

static bool string_ok(const uint8_t *p, uint32_t n, bool *ascii)
{
    uint32_t i = 0;

    while (i < n)
    {
        uint64_t x;
        uint32_t len;

        while (i + 8 <= n)
        {
            x = ax_load_u64(p + i);
            /* a byte >= 0x80, or a zero byte */
            if (((x | (x - 0x0101010101010101ull)) & 0x8080808080808080ull) != 0)
                break;
            i += 8;
        }
        if (i == n)
            break;
        len = ax_pq_utf8_len(p + i, n - i);
        if (len == 0)
            return false;
        *ascii &= len == 1;
        i += len;
    }
    return true;
}

/* Bytes >= 0x80 and zero bytes in a stretch. */
static void count(const uint8_t *p, size_t n, uint64_t *high, uint64_t *zero)
{
    while (n > 0)
    {
        size_t k = n < 224 ? n : 224, i;
        uint8_t h = 0, z = 0;

        for (i = 0; i < k; i++)
        {
            h = (uint8_t) (h + (p[i] >> 7));
            z = (uint8_t) (z + (p[i] == 0));
        }
        *high += h;
        *zero += z;
        p += k;
        n -= k;
    }
}

/* The same for the four bytes of a length. */
static inline void count_length(uint32_t len, uint64_t *high, uint64_t *zero)
{
    if (len < 128)
    {
        *zero += 3 + (len == 0);
        return;
    }
    *high += (uint64_t) __builtin_popcount(len & 0x80808080u);
    *zero += ((len & 0xff) == 0) + ((len & 0xff00) == 0) + ((len & 0xff0000) == 0) +
             ((len & 0xff000000) == 0);
}

bool ax_pq_text_ok(const uint8_t *base, const uint32_t *off, const uint32_t *len, uint32_t n,
                   int gap, bool *ascii)
{
    uint64_t high = 0, zero = 0, len_high = 0, len_zero = 0;
    uint32_t i;
    bool low = true;

    if (n == 0)
        return true;
    if (gap >= 0)
    {
        count(base + off[0], off[n - 1] + len[n - 1] - off[0], &high, &zero);
        if (gap == 4)
            for (i = 1; i < n; i++)
                count_length(len[i], &len_high, &len_zero);
        if (high == len_high && zero == len_zero)
            return true;
    }
    for (i = 0; i < n; i++)
        if (!string_ok(base + off[i], len[i], &low))
            return false;
    *ascii = *ascii && low;
    return true;
}
