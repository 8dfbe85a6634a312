/* Are these bytes text that PostgreSQL accepts: valid UTF-8 without NUL?
 *
 * Strings of a PLAIN page stand behind each other with their lengths between.  A length below 128
 * is one ASCII byte and three zeros, so that strings before and behind it may be checked as one
 * stretch: a sequence that is cut off still shows, and a NUL is a zero too many.  With AVX2 a
 * stretch is checked by the table lookup of Keiser and Lemire (2020), 32 bytes a step.
 *
 * Without AVX2 high bytes and zeros are counted over all strings, which vectorises, and those of
 * the lengths, which are known, are subtracted: what remains is zero for ASCII, and then no string
 * needs a look.  Otherwise eight ASCII bytes a step and sequence by sequence.
 *
 * Format: RFC 3629; surrogates and overlong forms are invalid, as in PostgreSQL. */
#include "base/utf8.h"

#include "base/bytes.h"
#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

uint32_t ax_utf8_len(const uint8_t *p, uint32_t n)
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
        len = ax_utf8_len(p + i, n - i);
        if (len == 0)
            return false;
        *ascii &= len == 1;
        i += len;
    }
    return true;
}

#ifdef HAVE_AVX2
/* What a pair of bytes may be guilty of; a pair is in order when no bit survives the three tables
 * (by the high and low half of its first byte, and by the high half of its second). */
enum
{
    TOO_SHORT = 1, TOO_LONG = 2, OVERLONG_3 = 4, TOO_LARGE = 8, SURROGATE = 16, OVERLONG_2 = 32,
    TOO_LARGE_1000 = 64, OVERLONG_4 = 64, TWO_CONTS = 128,
    CARRY = TOO_SHORT | TOO_LONG | TWO_CONTS, LARGE = CARRY | TOO_LARGE | TOO_LARGE_1000,
    CONT = TOO_LONG | OVERLONG_2 | TWO_CONTS
};

#define TWICE(...) {__VA_ARGS__, __VA_ARGS__}
static const uint8_t first_high[32] = TWICE(
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TWO_CONTS,
    TWO_CONTS, TWO_CONTS, TWO_CONTS, TOO_SHORT | OVERLONG_2, TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE, TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4);
static const uint8_t first_low[32] = TWICE(
    CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4, CARRY | OVERLONG_2, CARRY, CARRY,
    CARRY | TOO_LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE | SURROGATE,
    LARGE, LARGE);
static const uint8_t second_high[32] = TWICE(
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    CONT | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4, CONT | OVERLONG_3 | TOO_LARGE,
    CONT | SURROGATE | TOO_LARGE, CONT | SURROGATE | TOO_LARGE, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    TOO_SHORT);
static const uint8_t counting[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                     22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* n bytes with so many zeros; 64 bytes behind them are readable.  A block of zeros stands behind
 * the last byte, so that a sequence that is cut off shows. */
__attribute__((target("avx2,popcnt"))) static bool stretch_ok(const uint8_t *p, uint32_t n,
                                                              uint64_t zeros, bool *ascii)
{
    const __m256i *tables[] = {(const __m256i *) (const void *) first_high,
                               (const __m256i *) (const void *) first_low,
                               (const __m256i *) (const void *) second_high};
    const __m256i t1 = _mm256_loadu_si256(tables[0]), t2 = _mm256_loadu_si256(tables[1]);
    const __m256i t3 = _mm256_loadu_si256(tables[2]), low = _mm256_set1_epi8(15);
    const __m256i count = _mm256_loadu_si256((const __m256i *) (const void *) counting);
    const __m256i none = _mm256_setzero_si256();
    __m256i prev = none, bad = none, all = none;
    uint64_t seen = 0;
    uint32_t i;

    for (i = 0; i <= n; i += 32)
    {
        uint32_t left = n - i;
        __m256i in = none, shifted, prev1, special, third, fourth;
        uint32_t zero;

        if (left > 0)
            in = _mm256_loadu_si256((const __m256i *) (const void *) (p + i));
        zero = (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(in, none));
        if (left < 32)
        {
            in = _mm256_and_si256(in, _mm256_cmpgt_epi8(_mm256_set1_epi8((char) left), count));
            zero &= (1u << left) - 1;
        }
        seen += (uint32_t) __builtin_popcount(zero);
        if (_mm256_movemask_epi8(_mm256_or_si256(in, prev)) == 0)
            continue; /* ASCII behind ASCII; prev stays without high bytes, which is all it tells */
        all = _mm256_or_si256(all, in);
        shifted = _mm256_permute2x128_si256(prev, in, 0x21);
        prev1 = _mm256_alignr_epi8(in, shifted, 15);
        special = _mm256_and_si256(
            _mm256_and_si256(
                _mm256_shuffle_epi8(t1, _mm256_and_si256(_mm256_srli_epi16(prev1, 4), low)),
                _mm256_shuffle_epi8(t2, _mm256_and_si256(prev1, low))),
            _mm256_shuffle_epi8(t3, _mm256_and_si256(_mm256_srli_epi16(in, 4), low)));
        third = _mm256_subs_epu8(_mm256_alignr_epi8(in, shifted, 14),
                                 _mm256_set1_epi8((char) (0xe0 - 0x80)));
        fourth = _mm256_subs_epu8(_mm256_alignr_epi8(in, shifted, 13),
                                  _mm256_set1_epi8((char) (0xf0 - 0x80)));
        third = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char) 0x80));
        bad = _mm256_or_si256(bad, _mm256_xor_si256(third, special));
        prev = in;
    }
    *ascii &= _mm256_movemask_epi8(all) == 0;
    return seen == zeros && _mm256_testz_si256(bad, bad) != 0;
}

/* Strings [i, j) as one stretch, else one by one. */
static bool strings_ok(const uint8_t *base, const uint32_t *off, const uint32_t *len, uint32_t i,
                       uint32_t j, uint64_t zeros, bool *ascii)
{
    if (stretch_ok(base + off[i], off[j - 1] + len[j - 1] - off[i], zeros, ascii))
        return true;
    for (; j - i > 1; i++)
        if (!stretch_ok(base + off[i], len[i], 0, ascii))
            return false;
    return stretch_ok(base + off[i], len[i], 0, ascii);
}

static bool all_ok(const uint8_t *base, const uint32_t *off, const uint32_t *len, uint32_t n,
                   int gap, bool *ascii)
{
    uint32_t i = 0, j;

    for (; i < n; i = j)
    {
        uint64_t zeros = 0;

        j = i + 1;
        if (gap == 4)
            for (; j < n && len[j] < 128; j++)
                zeros += 3 + (len[j] == 0);
        else if (gap == 0) /* no string may begin inside a sequence */
            for (; j < n && (len[j] == 0 || (base[off[j]] & 0xc0) != 0x80); j++)
                ;
        if (!strings_ok(base, off, len, i, j, zeros, ascii))
            return false;
    }
    return true;
}
#endif

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

bool ax_utf8_ok(const uint8_t *base, const uint32_t *off, const uint32_t *len, uint32_t n,
                int gap, bool *ascii)
{
    uint64_t high = 0, zero = 0, len_high = 0, len_zero = 0;
    uint32_t i;
    bool low = true;

    if (n == 0)
        return true;
#ifdef HAVE_AVX2
    if (ax_cpu_get() >= AX_CPU_X86V3)
    {
        if (!all_ok(base, off, len, n, gap, &low))
            return false;
        *ascii = *ascii && low;
        return true;
    }
#endif
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
