/* MD5: blocks of 64 bytes through four rounds of 16 steps.
 *
 *   message | 0x80 | zeros | length in bits (u64, little-endian)      padded to whole blocks
 *
 * Format: RFC 1321. */
#include "func/md5.h"

#include "base/bytes.h"

#include <string.h>

enum { BLOCK = 64, WORDS = 16, TAIL = BLOCK - 8 };

/* floor(2^32 * abs(sin(i + 1))) */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const uint8_t shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23},
                                     {6, 10, 15, 21}};

static uint32_t rotate(uint32_t v, unsigned n) { return v << n | v >> (32 - n); }

static void block(uint32_t *s, const uint8_t *p)
{
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], w[WORDS];

    for (uint32_t i = 0; i < WORDS; i++)
        w[i] = ax_load_u32(p + i * 4);
    for (uint32_t i = 0; i < 64; i++)
    {
        uint32_t f, k, next;

        switch (i / 16)
        {
            case 0: f = (b & c) | (~b & d); k = i; break;
            case 1: f = (d & b) | (~d & c); k = 5 * i + 1; break;
            case 2: f = b ^ c ^ d; k = 3 * i + 5; break;
            default: f = c ^ (b | ~d); k = 7 * i; break;
        }
        next = b + rotate(a + f + sines[i] + w[k % WORDS], shifts[i / 16][i % 4]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
}

void ax_md5_hex(const uint8_t *p, size_t n, uint8_t *out)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t s[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t last[2 * BLOCK] = {0};
    uint64_t bits = (uint64_t) n * 8;
    size_t rest;

    for (rest = n; rest >= BLOCK; rest -= BLOCK, p += BLOCK)
        block(s, p);
    if (rest > 0)
        memcpy(last, p, rest);
    last[rest] = 0x80;
    for (uint32_t i = 0; i < 8; i++)
        last[(rest < TAIL ? TAIL : BLOCK + TAIL) + i] = (uint8_t) (bits >> (8 * i));
    block(s, last);
    if (rest >= TAIL)
        block(s, last + BLOCK);
    for (uint32_t i = 0; i < 16; i++)
    {
        uint8_t byte = (uint8_t) (s[i / 4] >> (8 * (i % 4)));

        out[2 * i] = (uint8_t) hex[byte >> 4];
        out[2 * i + 1] = (uint8_t) hex[byte & 15];
    }
}
