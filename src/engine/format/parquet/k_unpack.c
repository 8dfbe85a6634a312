/* Bit-packed numbers with AVX2, eight a step: two loads of 16 bytes, one for each half, bytes moved
 * to their lanes, lanes shifted.  What moves where depends on the width alone. */
#include "parquet_int.h"

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Byte and bit at which number j of a half begins; the second half begins amid its first byte. */
#define AT(w, half, j) ((half) * (4 * (w) & 7) + (j) * (w))
#define BYTES(at) (at) / 8, (at) / 8 + 1, (at) / 8 + 2, (at) / 8 + 3
#define FOUR(w, h) BYTES(AT(w, h, 0)), BYTES(AT(w, h, 1)), BYTES(AT(w, h, 2)), BYTES(AT(w, h, 3))
#define BITS(w, h) AT(w, h, 0) & 7, AT(w, h, 1) & 7, AT(w, h, 2) & 7, AT(w, h, 3) & 7
#define ROW(w) {{FOUR(w, 0), FOUR(w, 1)}, {BITS(w, 0), BITS(w, 1)}}

static const struct moves
{
    uint8_t byte[32];
    uint32_t bit[8];
} moves[PQ_UNPACK_WIDTH + 1] = {
    ROW(0),  ROW(1),  ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),  ROW(8),
    ROW(9),  ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15), ROW(16), ROW(17),
    ROW(18), ROW(19), ROW(20), ROW(21), ROW(22), ROW(23), ROW(24), ROW(25),
};

__attribute__((target("avx2"))) static uint32_t unpack_avx2(const uint8_t *p, uint32_t groups,
                                                            unsigned w, uint32_t *out)
{
    const struct moves *m = &moves[w];
    const __m256i byte = _mm256_loadu_si256((const __m256i *) (const void *) m->byte);
    const __m256i bit = _mm256_loadu_si256((const __m256i *) (const void *) m->bit);
    const __m256i mask = _mm256_set1_epi32((int) ((1u << w) - 1));
    __m256i max = _mm256_setzero_si256();
    uint32_t lane[8], i;

    for (i = 0; i < groups; i++, p += w, out += 8)
    {
        __m128i low = _mm_loadu_si128((const __m128i *) (const void *) p);
        __m128i high = _mm_loadu_si128((const __m128i *) (const void *) (p + w / 2));
        __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);

        v = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, byte), bit);
        v = _mm256_and_si256(v, mask);
        max = _mm256_max_epu32(max, v);
        _mm256_storeu_si256((__m256i *) (void *) out, v);
    }
    _mm256_storeu_si256((__m256i *) (void *) lane, max);
    for (i = 1; i < 8; i++)
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    return lane[0];
}
#endif

bool ax_pq_unpack_groups(const uint8_t *p, uint32_t groups, unsigned w, uint32_t *out,
                         uint32_t *max)
{
#if defined(__x86_64__)
    if (w <= PQ_UNPACK_WIDTH && ax_cpu_get() >= AX_CPU_X86V3)
    {
        uint32_t m = unpack_avx2(p, groups, w, out);

        *max = m > *max ? m : *max;
        return true;
    }
#endif
    (void) p, (void) groups, (void) w, (void) out, (void) max;
    return false;
}
