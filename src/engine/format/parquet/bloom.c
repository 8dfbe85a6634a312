/* Bloom filters: split blocks of 32 bytes, keyed by XXH64 of a value as PLAIN has it.
 *
 *      header (thrift): number of bytes, algorithm, hash, compression | blocks of 8 words
 *
 * A filter that is not exactly of the kind we know, or does not fit into its file, is not used; it
 * can never be a reason to refuse a file.  Constants are turned back into the bytes that the file
 * would hold; one that cannot be, or has several forms, is not asked about.
 *
 * Format: apache/parquet-format, BloomFilter.md; XXH64: Cyan4973/xxHash, doc/xxhash_spec.md. */
#include "parquet_int.h"

#include <math.h>

/* ---- XXH64 with seed 0 ----------------------------------------------------------------------- */

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull
#define P5 0x27d4eb2f165667c5ull

static uint64_t rotl(uint64_t v, int by) { return v << by | v >> (64 - by); }

static uint64_t lane(uint64_t acc, uint64_t in) { return rotl(acc + in * P2, 31) * P1; }

static uint64_t merge(uint64_t h, uint64_t acc) { return (h ^ lane(0, acc)) * P1 + P4; }

uint64_t ax_pq_xxh64(const uint8_t *p, size_t n)
{
    uint64_t h = P5, acc[4] = {P1 + P2, P2, 0, 0 - P1};
    size_t left = n;

    if (n >= 32)
    {
        for (; left >= 32; left -= 32, p += 32)
            for (int i = 0; i < 4; i++)
                acc[i] = lane(acc[i], ax_load_u64(p + 8 * i));
        h = rotl(acc[0], 1) + rotl(acc[1], 7) + rotl(acc[2], 12) + rotl(acc[3], 18);
        for (int i = 0; i < 4; i++)
            h = merge(h, acc[i]);
    }
    h += n;
    for (; left >= 8; left -= 8, p += 8)
        h = rotl(h ^ lane(0, ax_load_u64(p)), 27) * P1 + P4;
    if (left >= 4)
    {
        h = rotl(h ^ ax_load_u32(p) * P1, 23) * P2 + P3;
        left -= 4;
        p += 4;
    }
    for (; left > 0; left--, p++)
        h = rotl(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Is the union's only known member there? */
static bool first_member(ax_cur *c, uint8_t type)
{
    ax_pq_fld f = {0, 0};
    bool found = false, other = false;

    if (!ax_pq_th_struct(c, type))
        return false;
    while (ax_pq_th_next(c, &f))
    {
        found |= f.id == 1 && f.type == TH_STRUCT;
        other |= f.id != 1;
        ax_pq_th_skip(c, f.type);
    }
    return found && !other;
}

bool ax_pq_bloom_header(const uint8_t *p, size_t n, uint32_t *header, uint32_t *nbytes)
{
    ax_cur c = ax_cur_make(p, n);
    ax_pq_fld f = {0, 0};
    int32_t bytes = 0;
    unsigned known = 0;

    while (ax_pq_th_next(&c, &f))
    {
        if (f.id == 1)
            known |= ax_pq_th_i32(&c, f.type, &bytes) ? 1u : 0;
        else if (f.id >= 2 && f.id <= 4)
            known |= first_member(&c, f.type) ? 1u << (f.id - 1) : 0;
        else
            ax_pq_th_skip(&c, f.type);
    }
    *header = (uint32_t) ax_cur_off(&c);
    *nbytes = (uint32_t) bytes;
    return !c.bad && known == 15 && bytes > 0 && bytes % PQ_BLOOM_BLOCK == 0 &&
           bytes <= PQ_BLOOM_MAX;
}

uint32_t ax_pq_bloom_block(uint64_t hash, uint32_t nbytes)
{
    return (uint32_t) ((hash >> 32) * (nbytes / PQ_BLOOM_BLOCK) >> 32);
}

bool ax_pq_bloom_may(const uint8_t *block, uint64_t hash)
{
    static const uint32_t salt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                     0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    uint32_t miss = 0;

    for (int i = 0; i < 8; i++)
        miss |= ~ax_load_u32(block + 4 * i) & 1u << ((uint32_t) hash * salt[i] >> 27);
    return miss == 0;
}

/* ---- constants as the file would hold them --------------------------------------------------- */

static bool put_int(const ax_pq_conv *c, ax_i128 v, uint8_t *out, uint32_t *n)
{
    int64_t i = (int64_t) v;

    if (v != i || (c->src_width != 4 && c->src_width != 8))
        return false;
    memcpy(out, &i, c->src_width); /* little-endian, as everything here */
    *n = c->src_width;
    return true;
}

/* Unscaled value of a decimal in the file's scale. */
static bool unscaled(const ax_pq_conv *c, const ax_num *num, ax_i128 *out)
{
    int up = c->num.dscale - c->num.rescale - num->dscale;
    ax_i128 v = num->v;

    if (num->special != AX_NUM_FINITE || c->num.rescale < 0 || up > 38 || up < -38)
        return false;
    for (; up > 0; up--)
        if (__builtin_mul_overflow(v, 10, &v))
            return false;
    for (; up < 0; up++, v /= 10)
        if (v % 10 != 0)
            return false;
    *out = v;
    return true;
}

static bool put_decimal(const ax_pq_conv *c, const ax_num *num, uint8_t *out, uint32_t *n)
{
    ax_i128 v;
    int32_t len = c->leaf->type_length, i;

    if (!unscaled(c, num, &v))
        return false;
    if (c->kind == CONV_INT_NUM)
        return put_int(c, v, out, n);
    /* Decimals in byte arrays have no one length. */
    if (c->src != SRC_FIXED || len <= 0 || len > PQ_PROBE_BYTES)
        return false;
    for (i = len - 1; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t) v;
    *n = (uint32_t) len;
    return true;
}

static bool put_float(const ax_pq_conv *c, double v, uint8_t *out, uint32_t *n)
{
    float f = (float) v;

    if (isnan(v))
        return false; /* many bit patterns */
    if (c->src == SRC_F64)
        memcpy(out, &v, 8);
    else if (c->src == SRC_F32)
        memcpy(out, &f, 4);
    else
        return false;
    *n = c->src_width;
    return true;
}

static bool put_linear(const ax_pq_conv *c, int64_t v, uint8_t *out, uint32_t *n)
{
    ax_i128 p = (ax_i128) v - c->add;

    return c->div == 1 && c->zone.n == 0 && c->mul != 0 && p % c->mul == 0 &&
           put_int(c, p / c->mul, out, n);
}

static bool physical(const ax_pq_conv *c, const ax_value *v, uint8_t *out, uint32_t *n)
{
    switch (c->kind)
    {
        case CONV_LINEAR:
            return put_linear(c, v->u.i, out, n);
        case CONV_INT_NUM:
        case CONV_DEC_NUM:
            return put_decimal(c, &v->u.num, out, n);
        case CONV_F32_F64:
            return put_float(c, v->u.f, out, n);
        case CONV_COPY:
            if (c->type.phys == AX_P_F32 || c->type.phys == AX_P_F64)
                return put_float(c, v->u.f, out, n);
            if (c->type.phys == AX_P_I32 || c->type.phys == AX_P_I64)
                return put_int(c, v->u.i, out, n);
            memcpy(out, v->u.fix, 16);
            *n = 16;
            return c->type.phys == AX_P_FIX16;
        default:
            return false;
    }
}

uint32_t ax_pq_bloom_hashes(const ax_pq_conv *c, const ax_value *v, uint64_t *hash)
{
    uint8_t bytes[PQ_PROBE_BYTES];
    ax_value back;
    uint32_t n = 0;

    if (c->kind == CONV_STR)
    {
        if (c->rewrite != REWRITE_NOT || c->mend != AX_ENC_FAIL ||
            (c->src == SRC_FIXED && v->u.s.len != (uint32_t) c->leaf->type_length))
            return 0;
        hash[0] = ax_pq_xxh64(v->u.s.p, v->u.s.len);
        return 1;
    }
    /* The bytes count if the reader makes the very value of them. */
    if (!physical(c, v, bytes, &n) || !ax_pq_conv_one(c, bytes, n, &back) ||
        back.type.phys != v->type.phys || ax_value_cmp(&back, v) != 0)
        return 0;
    hash[0] = ax_pq_xxh64(bytes, n);
    if ((c->type.phys != AX_P_F32 && c->type.phys != AX_P_F64) || v->u.f != 0)
        return 1;
    bytes[n - 1] ^= 0x80; /* the other zero */
    hash[1] = ax_pq_xxh64(bytes, n);
    return 2;
}
