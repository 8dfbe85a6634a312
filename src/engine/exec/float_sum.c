#include "exec/float_sum.h"

#include "base/cpu.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BITS 24
#define MASK ((1 << BITS) - 1)
#define HEAD (AX_FSUM_DIGITS - 4) /* place of the lowest digit of the largest value */
#define MINUS_ZERO (1ull << 63)
#define CARRY_EVERY (1ull << 37)  /* digits of 24 bits, additions, and room for a merge */

/* A finite value: sign * mantissa * 2^(24 place + shift - 1074). */
typedef struct parts
{
    uint64_t mantissa, sign; /* sign: all bits or none */
    int32_t place;           /* relative to the window's lowest digit */
    uint32_t shift;          /* 0..23: the mantissa falls into four digits */
} parts;

/* Move the window up by `by` digits. */
static void raise_window(ax_fsum *s, uint32_t by)
{
    for (uint32_t k = 0; k < AX_FSUM_DIGITS; k++)
        s->digit[k] = k + by < AX_FSUM_DIGITS ? s->digit[k + by] : 0;
    s->base += by;
}

/* Puts digits back into 24 bits, all but the highest, before they can overflow. */
static void carry(ax_fsum *s)
{
    for (uint32_t k = 0; k + 1 < AX_FSUM_DIGITS; k++)
    {
        int64_t over = s->digit[k] >> BITS;

        s->digit[k] -= over * (1 << BITS);
        s->digit[k + 1] += over;
    }
}

static void add_special(ax_fsum *s, double v)
{
    s->tally |= isnan(v) ? AX_FSUM_NAN : v > 0 ? AX_FSUM_POSITIVE_INF : AX_FSUM_NEGATIVE_INF;
}

/* false: the value has been dealt with. */
static inline __attribute__((always_inline)) bool take_apart(ax_fsum *s, double v, parts *p)
{
    uint64_t b;
    uint32_t e, pos, place;

    memcpy(&b, &v, 8);
    e = (uint32_t) (b >> 52) & 2047;
    s->tally = (s->tally + 1) | (b == MINUS_ZERO ? 0 : AX_FSUM_NOT_MINUS_ZERO);
    if (__builtin_expect((s->tally & (CARRY_EVERY - 1)) == 0, 0))
        carry(s);
    if (__builtin_expect(e == 2047, 0))
    {
        add_special(s, v);
        return false;
    }
    p->mantissa = (b & ((1ull << 52) - 1)) | (uint64_t) (e != 0) << 52;
    p->sign = (uint64_t) ((int64_t) b >> 63);
    pos = e - (e != 0);
    place = pos * 2731 >> 16; /* pos / 24 below 2048 */
    p->shift = pos - place * BITS;
    p->place = (int32_t) (place - s->base);
    if (__builtin_expect(p->place > HEAD, 0))
    {
        raise_window(s, (uint32_t) (p->place - HEAD));
        p->place = HEAD;
    }
    if (__builtin_expect(p->place < 0, 0))
    {
        uint32_t below = (uint32_t) -p->place * BITS;
        unsigned __int128 w = (unsigned __int128) p->mantissa << p->shift;

        w = below < 128 ? w >> below : 0; /* at most 52 bits are left */
        p->mantissa = (uint64_t) w;
        p->shift = 0;
        p->place = 0;
    }
    return true;
}

static inline __attribute__((always_inline)) void add_portable(ax_fsum *s, double v)
{
    parts p;
    unsigned __int128 w;

    if (!take_apart(s, v, &p))
        return;
    w = (unsigned __int128) p.mantissa << p.shift;
    for (uint32_t k = 0; k < 4; k++)
    {
        uint64_t d = (uint64_t) (w >> (BITS * k)) & MASK;

        s->digit[(uint32_t) p.place + k] += (int64_t) ((d ^ p.sign) - p.sign);
    }
}

static void scatter_portable(uint8_t *const *state, uint32_t off, uint32_t n, const double *v,
                             const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
        if (skip == NULL || !skip[i])
            add_portable((ax_fsum *) (void *) (state[i] + off), v[i]);
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

/* The digits of four values, of which the lowest counts as much as the mantissa << by; counts of 64
 * and more, which negative ones are, give 0. */
AVX2 static inline __m256i digits(__m256i mantissa, __m256i sign, __m256i by)
{
    __m256i d = _mm256_or_si256(
        _mm256_sllv_epi64(mantissa, by),
        _mm256_srlv_epi64(mantissa, _mm256_sub_epi64(_mm256_setzero_si256(), by)));

    d = _mm256_and_si256(d, _mm256_set1_epi64x(MASK));
    return _mm256_sub_epi64(_mm256_xor_si256(d, sign), sign);
}

/* Four digits of one value. */
AVX2 static void scatter_avx2(uint8_t *const *state, uint32_t off, uint32_t n, const double *v,
                              const uint8_t *skip)
{
    const __m256i places = _mm256_set_epi64x(3 * BITS, 2 * BITS, BITS, 0);

    for (uint32_t i = 0; i < n; i++)
    {
        ax_fsum *s = (ax_fsum *) (void *) (state[i] + off);
        __m256i d, *at;
        parts p;

        if ((skip != NULL && skip[i]) || !take_apart(s, v[i], &p))
            continue;
        d = digits(_mm256_set1_epi64x((int64_t) p.mantissa), _mm256_set1_epi64x((int64_t) p.sign),
                   _mm256_sub_epi64(_mm256_set1_epi64x(p.shift), places));
        at = (__m256i *) (void *) &s->digit[p.place];
        _mm256_storeu_si256(at, _mm256_add_epi64(_mm256_loadu_si256(at), d));
    }
}

/* One digit of four values after the other; the window covers them all. */
AVX2 static void add_avx2(ax_fsum *s, uint32_t n, const double *v)
{
    const __m256i fraction = _mm256_set1_epi64x((1ll << 52) - 1), none = _mm256_setzero_si256();
    const __m256i base = _mm256_set1_epi64x((int64_t) s->base * BITS);
    __m256i sum[AX_FSUM_DIGITS] = {none, none, none, none, none, none};

    for (uint32_t i = 0; i < n; i += 4)
    {
        __m256i b = _mm256_loadu_si256((const __m256i *) (const void *) (v + i));
        __m256i e = _mm256_and_si256(_mm256_srli_epi64(b, 52), _mm256_set1_epi64x(2047));
        __m256i subnormal = _mm256_cmpeq_epi64(e, none); /* -1 */
        __m256i m = _mm256_or_si256(
            _mm256_and_si256(b, fraction),
            _mm256_andnot_si256(subnormal, _mm256_set1_epi64x(1ll << 52)));
        __m256i sign = _mm256_sub_epi64(none, _mm256_srli_epi64(b, 63));
        __m256i by = _mm256_sub_epi64(_mm256_sub_epi64(e, base),
                                      _mm256_add_epi64(_mm256_set1_epi64x(1), subnormal));

        for (uint32_t k = 0; k < AX_FSUM_DIGITS; k++)
        {
            sum[k] = _mm256_add_epi64(sum[k], digits(m, sign, by));
            by = _mm256_sub_epi64(by, _mm256_set1_epi64x(BITS));
        }
    }
    for (uint32_t k = 0; k < AX_FSUM_DIGITS; k++)
    {
        int64_t part[4];

        _mm256_storeu_si256((__m256i *) (void *) part, sum[k]);
        s->digit[k] += part[0] + part[1] + part[2] + part[3];
    }
}
#endif

void ax_fsum_scatter(uint8_t *const *state, uint32_t off, uint32_t n, const double *v,
                     const uint8_t *skip)
{
#if defined(__x86_64__)
    if (ax_cpu_get() >= AX_CPU_X86V3)
    {
        scatter_avx2(state, off, n, v, skip);
        return;
    }
#endif
    scatter_portable(state, off, n, v, skip);
}

/* The exponent of the largest value, and whether there is another than -0. */
static uint32_t survey(uint32_t n, const double *v, bool *not_minus_zero)
{
    uint64_t largest = 0, other = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        uint64_t b;

        memcpy(&b, &v[i], 8);
        other |= b ^ MINUS_ZERO;
        b &= ~MINUS_ZERO;
        largest = b > largest ? b : largest;
    }
    *not_minus_zero = other != 0;
    return (uint32_t) (largest >> 52);
}

void ax_fsum_add(ax_fsum *s, uint32_t n, const double *v, const uint8_t *skip)
{
    uint32_t i = 0;

#if defined(__x86_64__)
    if (skip == NULL && n >= 4 && ax_cpu_get() >= AX_CPU_X86V3)
    {
        bool other;
        uint32_t e = survey(n, v, &other), place = (e - (e != 0)) / BITS;

        if (e != 2047)
        {
            if (place > s->base + HEAD)
                raise_window(s, place - HEAD - s->base);
            i = n & ~3u;
            if ((s->tally & (CARRY_EVERY - 1)) + i >= CARRY_EVERY)
                carry(s);
            s->tally = (s->tally + i) | (other ? AX_FSUM_NOT_MINUS_ZERO : 0);
            add_avx2(s, i, v);
        }
    }
#endif
    for (; i < n; i++)
        if (skip == NULL || !skip[i])
            add_portable(s, v[i]);
}

void ax_fsum_merge(ax_fsum *a, const ax_fsum *b)
{
    uint32_t below;

    if (b->base > a->base)
        raise_window(a, (uint32_t) (b->base - a->base));
    below = (uint32_t) (a->base - b->base);
    for (uint32_t k = 0; k + below < AX_FSUM_DIGITS; k++)
        a->digit[k] += b->digit[k + below];
    if ((a->tally & (CARRY_EVERY - 1)) + (b->tally & (CARRY_EVERY - 1)) >= CARRY_EVERY)
        carry(a);
    a->tally = (ax_fsum_count(a) + ax_fsum_count(b)) | ((a->tally | b->tally) & ~AX_FSUM_COUNT);
}

/* A magnitude of up to 192 bits, little limbs first, times 2^exponent, rounded to nearest, ties to
 * even.  No result is subnormal that is not exact: its last bit counts at least 2^-1074. */
static double round_once(uint64_t m[3], int32_t exponent)
{
    uint32_t bits = 0, drop;
    uint64_t top, half;
    bool more;

    for (uint32_t k = 0; k < 3; k++)
        if (m[k] != 0)
            bits = 64 * k + 64 - (uint32_t) __builtin_clzll(m[k]);
    drop = bits > 53 ? bits - 53 : 0;
    if (drop == 0)
        return ldexp((double) m[0], exponent);
    top = m[drop / 64] >> (drop % 64);
    if (drop % 64 > 11 && drop / 64 + 1 < 3)
        top |= m[drop / 64 + 1] << (64 - drop % 64);
    top &= (1ull << 53) - 1;
    half = m[(drop - 1) / 64] >> ((drop - 1) % 64) & 1;
    more = (m[(drop - 1) / 64] & ((1ull << ((drop - 1) % 64)) - 1)) != 0;
    for (uint32_t k = 0; k < (drop - 1) / 64; k++)
        more |= m[k] != 0;
    top += half && (more || (top & 1));
    return ldexp((double) top, exponent + (int32_t) drop);
}

double ax_fsum_result(const ax_fsum *s)
{
    ax_fsum c = *s;
    uint64_t m[3] = {0};
    bool negative;
    double r;

    if (s->tally & AX_FSUM_NAN
        || (s->tally & (AX_FSUM_POSITIVE_INF | AX_FSUM_NEGATIVE_INF))
               == (AX_FSUM_POSITIVE_INF | AX_FSUM_NEGATIVE_INF))
        return (double) NAN;
    if (s->tally & AX_FSUM_POSITIVE_INF)
        return (double) INFINITY;
    if (s->tally & AX_FSUM_NEGATIVE_INF)
        return (double) -INFINITY;
    if (ax_fsum_count(s) > 0 && !(s->tally & AX_FSUM_NOT_MINUS_ZERO))
        return -0.0;
    carry(&c);
    negative = c.digit[AX_FSUM_DIGITS - 1] < 0; /* all others are in [0, 2^24) now */
    if (negative)
    {
        for (uint32_t k = 0; k < AX_FSUM_DIGITS; k++)
            c.digit[k] = -c.digit[k];
        carry(&c);
    }
    for (uint32_t k = 0; k < AX_FSUM_DIGITS; k++)
    {
        uint32_t at = BITS * k;
        uint64_t d = (uint64_t) c.digit[k];

        /* Digits do not overlap: only the highest has more than 24 bits. */
        m[at / 64] |= d << (at % 64);
        if (at % 64 > 0 && at / 64 + 1 < 3)
            m[at / 64 + 1] |= d >> (64 - at % 64);
    }
    r = round_once(m, BITS * c.base - 1074);
    return negative ? -r : r;
}
