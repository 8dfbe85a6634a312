/* Hashes of values: filters of skip indexes, and keys that are functions of a column.
 *
 * bloom_filter: one 64-bit hash a value; bit i of it is mix(hash, SALT[i]) mod bits.  Numbers are
 * hashed by their bits, widened to 64; wider ones fold their words; strings by CityHash64.
 *
 * tokenbf_v1, ngrambf_v1: two hashes a word, h1 and h2 with other seeds; bit i is
 * h1 + i h2 + i^2 mod bits.  Words are runs of ASCII letters and digits and of all bytes above 127.
 *
 * A filter without the bit of something proves that it is not there.
 *
 * Format: mergetree.md, "Skip indexes". */
#include "skip_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- bloom_filter ---------------------------------------------------------------------------- */

static const uint64_t salt[15] = {
    13635471485423070496u, 10336109063487487899u, 17779957404565211594u, 8988612159822229247u,
    4954614162757618085u,  12980113590177089081u, 9263883436177860930u,  3656772712723269762u,
    10362091744962961274u, 7582936617938287249u,  15033938188484401405u, 18286745649494826751u,
    6852245486148412312u,  8886056245089344681u,  10151472371158292780u};

/* The probability of a false hit with b bits a value and k hashes, in three digits. */
static double false_hits(uint32_t b, uint32_t k)
{
    char text[32];

    if (k == 0)
        return 1;
    snprintf(text, sizeof text, "%.2e", pow(1 - exp(-(double) k / b), k));
    return strtod(text, NULL);
}

void ax_mt_bloom_shape(double p, uint32_t *bits_per, uint32_t *hashes)
{
    static const uint8_t best[20] = {0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 8, 9, 10, 10, 11, 12, 12,
                                     13};

    for (uint32_t b = 1; b <= 19; b++)
    {
        if (false_hits(b, best[b]) > p)
            continue;
        for (uint32_t k = best[b]; k > 0; k--)
            if (false_hits(b, k) > p)
            {
                *bits_per = b;
                *hashes = k + 1;
                return;
            }
    }
    *bits_per = 19;
    *hashes = 13;
}

static uint64_t final_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static ax_i128 pow10_of(int n)
{
    ax_i128 v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

/* The integer that becomes this number; false: none does. */
static bool unscaled(const ax_mt_conv *c, const ax_num *v, ax_i128 *out)
{
    int up = c->num.dscale - c->num.rescale - v->dscale; /* the file's scale, and that of v */
    ax_i128 p;

    if (v->special != AX_NUM_FINITE || up > 38 || up < -38)
        return false;
    p = pow10_of(up < 0 ? -up : up);
    if (up < 0 ? v->v % p != 0 : __builtin_mul_overflow(v->v, p, out))
        return false;
    if (up < 0)
        *out = v->v / p;
    return true;
}

/* The bytes of the file's value that becomes v, little-endian in raw[16]; false: not known which,
 * or several; *none: there is none. */
static bool raw_of(const ax_mt_conv *c, const ax_value *v, uint8_t *raw, bool *none)
{
    ax_i128 x = v->u.i;
    uint64_t half;
    float f;

    switch ((ax_mt_convkind) c->kind)
    {
        case MT_C_COPY:
            if (c->src->id == MT_FLOAT)
            {
                f = (float) v->u.f;
                memcpy(raw, c->src->width == 4 ? (const void *) &f : (const void *) &v->u.f,
                       c->src->width);
                /* Zero has two forms and NaN has many. */
                return v->u.f != 0 && !isnan(v->u.f);
            }
            break;
        case MT_C_BOOL:
        case MT_C_INT:
            break;
        case MT_C_F32_F64:
            f = (float) v->u.f;
            memcpy(raw, &f, 4);
            *none = (double) f != v->u.f;
            return v->u.f != 0 && !isnan(v->u.f);
        case MT_C_LINEAR:
            if (c->div != 1 || c->mul == 0)
                return false;
            *none = (v->u.i == INT64_MAX || v->u.i == INT64_MIN) || (x - c->add) % c->mul != 0;
            x = (x - c->add) / c->mul;
            break;
        case MT_C_NUM:
            if (c->num.rescale < 0)
                return false;
            if (v->u.num.special == AX_NUM_WIDE)
                return false;
            *none = !unscaled(c, &v->u.num, &x);
            break;
        case MT_C_UUID:
            for (int i = 0; i < 2; i++)
            {
                half = __builtin_bswap64(ax_load_u64(v->u.fix + 8 * i));
                memcpy(raw + 8 * i, &half, 8);
            }
            return true;
        default:
            return false;
    }
    if (*none)
        return true;
    memcpy(raw, &x, 16);
    /* Does it fit into the width? */
    if (c->src->width < 16)
    {
        unsigned bits = 8 * c->src->width;
        ax_i128 lo = c->is_signed ? -((ax_i128) 1 << (bits - 1)) : 0;
        ax_i128 hi = c->is_signed ? -(lo + 1) : ((ax_i128) 1 << bits) - 1;

        *none = x < lo || x > hi;
    }
    return c->src->width <= 16;
}

static bool hash_raw(const ax_mt_conv *c, const uint8_t *raw, uint64_t *hash)
{
    uint64_t lo = 0, hi = 0;
    double d;
    float f;

    switch (c->src->width)
    {
        case 1:
        case 2:
        case 4:
        case 8:
            memcpy(&lo, raw, c->src->width);
            break;
        case 16:
            lo = ax_load_u64(raw);
            hi = ax_load_u64(raw + 8);
            break;
        default:
            return false;
    }
    if (c->src->id == MT_FLOAT && c->src->width == 4)
    {
        memcpy(&f, raw, 4);
        d = f;
        memcpy(&lo, &d, 8);
    }
    *hash = final_mix(lo ^ hi);
    return true;
}

bool ax_mt_bloom_hash(const ax_mt_conv *c, const ax_value *v, uint64_t *hash, bool *none)
{
    uint8_t raw[16] = {0};

    *none = false;
    if (c->kind == MT_C_STR && c->src->id == MT_STRING)
    {
        *hash = ax_mt_city64(v->u.s.p, v->u.s.len);
        return true;
    }
    if (c->kind == MT_C_FIXSTR && !c->trim)
    {
        *none = v->u.s.len != c->src->width;
        *hash = ax_mt_city64(v->u.s.p, v->u.s.len);
        return true;
    }
    if (c->kind == MT_C_ENUM)
    {
        for (uint32_t i = 0; i < c->src->nlabel; i++)
            if (c->src->label[i].len == v->u.s.len &&
                memcmp(c->src->label[i].name, v->u.s.p, v->u.s.len) == 0)
            {
                memcpy(raw, &c->src->label[i].code, 4);
                return hash_raw(c, raw, hash);
            }
        *none = true;
        return true;
    }
    switch ((ax_mt_tid) c->src->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_BOOL:
        case MT_FLOAT:
        case MT_DATE:
        case MT_DATETIME:
        case MT_UUID:
            return raw_of(c, v, raw, none) && (*none || hash_raw(c, raw, hash));
        default:
            return false;
    }
}

bool ax_mt_bloom_may(const uint8_t *bits, uint64_t nbytes, uint32_t hashes, uint64_t hash)
{
    for (uint32_t i = 0; i < hashes; i++)
    {
        uint64_t pos = ax_mt_city_mix(hash, salt[i]) % (8 * nbytes);

        if ((bits[pos / 8] >> (pos % 8) & 1) == 0)
            return false;
    }
    return true;
}

/* ---- functions in keys ----------------------------------------------------------------------- */

static uint64_t int_hash32(uint64_t x)
{
    uint64_t k = x ^ 0x75d9543de018bf45u;

    k = ~k + (k << 18);
    k ^= k >> 31 | k << 33;
    k *= 21;
    k ^= k >> 11 | k << 53;
    k += k << 6;
    k ^= k >> 22 | k << 42;
    return (uint32_t) k;
}

/* The function of a number, whose bits are x; false: not known. */
static bool number_key(const ax_mt_keycol *k, const ax_mt_conv *c, const uint8_t *raw,
                       uint64_t *out)
{
    uint64_t x = 0;

    if (c->src->width > 8)
        return false;
    memcpy(&x, raw, c->src->width);
    switch ((ax_mt_keyfn) k->fn)
    {
        case MT_K_CITY64:
            *out = final_mix(x ^ 0x4cf2d2baae6da887u);
            return true;
        case MT_K_SIP64:
            *out = ax_mt_sip64(raw, c->src->width);
            return true;
        case MT_K_INT64:
            *out = final_mix(x ^ 0x4cf2d2baae6da887u);
            return c->src->id == MT_UINT || c->src->width == 8;
        case MT_K_INT32:
            *out = int_hash32(x);
            return c->src->id == MT_UINT || c->src->width == 8;
        case MT_K_MODULO:
            *out = k->by > 0 ? x % k->by : 0;
            return k->by > 0 && c->src->id == MT_UINT;
        default:
            return false;
    }
}

static bool between(uint64_t x, const ax_mt_value *lo, const ax_mt_value *hi)
{
    uint64_t a = 0, b = UINT64_MAX;

    if ((lo != NULL && (lo->null || lo->n > 8)) || (hi != NULL && (hi->null || hi->n > 8)))
        return true;
    if (lo != NULL)
        memcpy(&a, lo->p, lo->n);
    if (hi != NULL)
    {
        b = 0;
        memcpy(&b, hi->p, hi->n);
    }
    return a <= x && x <= b;
}

/* Text s with letters of ASCII changed against t: <0, 0, >0. */
static int compare_changed(const ax_value *s, bool upper, const ax_mt_value *t)
{
    uint32_t n = s->u.s.len < t->n ? s->u.s.len : t->n;

    for (uint32_t i = 0; i < n; i++)
    {
        uint8_t c = s->u.s.p[i];

        if (upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z')
            c ^= 0x20;
        if (c != t->p[i])
            return c < t->p[i] ? -1 : 1;
    }
    return s->u.s.len < t->n ? -1 : s->u.s.len > t->n;
}

static int32_t code_of(const ax_mt_value *v)
{
    return v->n == 1 ? (int8_t) v->p[0] : (int16_t) ax_load_u16(v->p);
}

/* Is the code of the label between the two?  Labels are not ordered as their codes are. */
static bool label_may(const ax_mt_conv *c, const ax_value *v, const ax_mt_value *lo,
                      const ax_mt_value *hi)
{
    const ax_mt_type *ty = c->src;

    if ((lo != NULL && (lo->null || lo->n != ty->width)) ||
        (hi != NULL && (hi->null || hi->n != ty->width)) || c->mend != AX_ENC_FAIL)
        return true;
    for (uint32_t i = 0; i < ty->nlabel; i++)
        if (ty->label[i].len == v->u.s.len &&
            memcmp(ty->label[i].name, v->u.s.p, v->u.s.len) == 0 &&
            (lo == NULL || ty->label[i].code >= code_of(lo)) &&
            (hi == NULL || ty->label[i].code <= code_of(hi)))
            return true;
    return false;
}

bool ax_mt_key_may(const ax_mt_keycol *k, const ax_mt_conv *c, const ax_value *v,
                   const ax_mt_value *lo, const ax_mt_value *hi)
{
    bool text = c->kind == MT_C_STR && c->src->id == MT_STRING, none = false;
    uint8_t raw[16] = {0};
    uint64_t x;

    if (v->null)
        return true;
    if (k->fn == MT_K_COLUMN && c->kind == MT_C_ENUM)
        return label_may(c, v, lo, hi);
    if (k->fn == MT_K_OTHER || k->fn >= MT_K_COLUMN)
        return true;
    if (k->fn == MT_K_LOWER || k->fn == MT_K_UPPER)
        return !text || (lo != NULL && lo->null) || (hi != NULL && hi->null) ||
               ((lo == NULL || compare_changed(v, k->fn == MT_K_UPPER, lo) >= 0) &&
                (hi == NULL || compare_changed(v, k->fn == MT_K_UPPER, hi) <= 0));
    if (text && (k->fn == MT_K_CITY64 || k->fn == MT_K_SIP64))
        return between(k->fn == MT_K_CITY64 ? ax_mt_city64(v->u.s.p, v->u.s.len)
                                            : ax_mt_sip64(v->u.s.p, v->u.s.len), lo, hi);
    switch ((ax_mt_tid) c->src->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_DATE:
        case MT_DATETIME:
            if (!raw_of(c, v, raw, &none))
                return true;
            return !none && (!number_key(k, c, raw, &x) || between(x, lo, hi));
        default:
            return true;
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static uint64_t seeded(const uint8_t *s, uint32_t n, uint64_t seed)
{
    return ax_mt_city_mix(ax_mt_city64(s, n) - 0x9ae16a3b2f90404fu, seed);
}

static bool word_may(const ax_mt_skip *x, const uint8_t *bits, const uint8_t *s, uint32_t n)
{
    uint64_t h1 = seeded(s, n, x->seed), h2 = seeded(s, n, 845897321u * x->seed + 217728422u);

    for (uint64_t i = 0; i < x->hashes; i++)
    {
        uint64_t pos = (h1 + i * h2 + i * i) % (8ull * x->bytes);

        if ((bits[pos / 8] >> (pos % 8) & 1) == 0)
            return false;
    }
    return true;
}

static bool in_word(uint8_t c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Words that end inside of s, or at an end of the text. */
static bool tokens_may(const ax_mt_skip *x, const uint8_t *bits, const uint8_t *s, uint32_t n,
                       bool first, bool last)
{
    for (uint32_t i = 0, end; i < n; i = end)
    {
        for (end = i; end < n && in_word(s[end]);)
            end++;
        if (end == i)
        {
            end++;
            continue;
        }
        if ((i == 0 && !first) || (end == n && !last))
            continue;
        if (!word_may(x, bits, s + i, end - i))
            return false;
    }
    return true;
}

/* Bytes of the code point at s, as its first byte says. */
static uint32_t code_point(uint8_t c) { return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4; }

static bool grams_may(const ax_mt_skip *x, const uint8_t *bits, const uint8_t *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += code_point(s[i]))
    {
        uint32_t end = i, k;

        for (k = 0; k < x->gram && end < n; k++)
            end += code_point(s[end]);
        if (k < x->gram || end > n)
            break;
        if (!word_may(x, bits, s + i, end - i))
            return false;
    }
    return true;
}

bool ax_mt_words_may(const ax_mt_skip *x, const uint8_t *bits, const uint8_t *s, uint32_t n,
                     bool first, bool last)
{
    return x->kind == MT_S_NGRAMS ? grams_may(x, bits, s, n)
                                  : tokens_may(x, bits, s, n, first, last);
}
