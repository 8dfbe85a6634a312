/* CityHash 1.0.2 and SipHash-2-4, as ClickHouse uses them for checksums, names and keys.
 *
 * Version 1.0.2 of CityHash differs from later ones; the algorithm is written from its description
 * in mergetree.md, "Hashes".  The 128-bit form of SipHash is ClickHouse's own: the finalisation of
 * the 64-bit form, of which both halves are kept. */
#include "mergetree_int.h"

#define K0 0xc3a5c85c97cb3127ull
#define K1 0xb492b66fbe98f273ull
#define K2 0x9ae16a3b2f90404full
#define K3 0xc949d7c7509e6557ull
#define KM 0x9ddfea08eb382d69ull

typedef struct pair { uint64_t a, b; } pair;

static inline uint64_t ror(uint64_t x, unsigned n)
{
    return n == 0 ? x : x >> n | x << (64 - n);
}

static inline uint64_t fold(uint64_t x) { return x ^ x >> 47; }

uint64_t ax_mt_city_mix(uint64_t u, uint64_t v)
{
    uint64_t a = (u ^ v) * KM, b;

    a ^= a >> 47;
    b = (v ^ a) * KM;
    b ^= b >> 47;
    return b * KM;
}

static uint64_t hash_short(const uint8_t *s, size_t n)
{
    if (n > 8)
    {
        uint64_t a = ax_load_u64(s), b = ax_load_u64(s + n - 8);

        return ax_mt_city_mix(a, ror(b + n, (unsigned) n)) ^ b;
    }
    if (n >= 4)
        return ax_mt_city_mix(n + ((uint64_t) ax_load_u32(s) << 3), ax_load_u32(s + n - 4));
    if (n > 0)
    {
        uint32_t y = (uint32_t) s[0] + ((uint32_t) s[n / 2] << 8);
        uint32_t z = (uint32_t) n + ((uint32_t) s[n - 1] << 2);

        return fold(y * K2 ^ z * K3) * K2;
    }
    return K2;
}

static inline pair weak(const uint8_t *p, uint64_t a, uint64_t b)
{
    uint64_t w = ax_load_u64(p), x = ax_load_u64(p + 8), y = ax_load_u64(p + 16);
    uint64_t z = ax_load_u64(p + 24), c;

    a += w;
    b = ror(b + a + z, 21);
    c = a;
    a += x + y;
    b += ror(a, 44);
    return (pair){a + z, b + c};
}

typedef struct state { uint64_t x, y, z; pair v, w; } state;

static inline void step(state *s, const uint8_t *p)
{
    uint64_t swap;

    s->x = ror(s->x + s->y + s->v.a + ax_load_u64(p + 16), 37) * K1;
    s->y = ror(s->y + s->v.b + ax_load_u64(p + 48), 42) * K1;
    s->x ^= s->w.b;
    s->y ^= s->v.a;
    s->z = ror(s->z ^ s->w.a, 33);
    s->v = weak(p, s->v.b * K1, s->x + s->w.a);
    s->w = weak(p + 32, s->z + s->w.b, s->y);
    swap = s->z;
    s->z = s->x;
    s->x = swap;
}

static uint64_t hash_17_32(const uint8_t *s, size_t n)
{
    uint64_t a = ax_load_u64(s) * K1, b = ax_load_u64(s + 8);
    uint64_t c = ax_load_u64(s + n - 8) * K2, d = ax_load_u64(s + n - 16) * K0;

    return ax_mt_city_mix(ror(a - b, 43) + ror(c, 30) + d, a + ror(b ^ K3, 20) - c + n);
}

static uint64_t hash_33_64(const uint8_t *s, size_t n)
{
    uint64_t z = ax_load_u64(s + 24);
    uint64_t a = ax_load_u64(s) + (n + ax_load_u64(s + n - 16)) * K0;
    uint64_t b = ror(a + z, 52), c = ror(a, 37), vf, vs, wf, ws, r;

    a += ax_load_u64(s + 8);
    c += ror(a, 7);
    a += ax_load_u64(s + 16);
    vf = a + z;
    vs = b + ror(a, 31) + c;
    a = ax_load_u64(s + 16) + ax_load_u64(s + n - 32);
    z = ax_load_u64(s + n - 8);
    b = ror(a + z, 52);
    c = ror(a, 37);
    a += ax_load_u64(s + n - 24);
    c += ror(a, 7);
    a += ax_load_u64(s + n - 16);
    wf = a + z;
    ws = b + ror(a, 31) + c;
    r = fold((vf + ws) * K2 + (wf + vs) * K0);
    return fold(r * K0 + vs) * K2;
}

uint64_t ax_mt_city64(const uint8_t *s, size_t n)
{
    state h;
    size_t i, steps;

    if (n <= 16)
        return hash_short(s, n);
    if (n <= 32)
        return hash_17_32(s, n);
    if (n <= 64)
        return hash_33_64(s, n);
    h.x = ax_load_u64(s);
    h.y = ax_load_u64(s + n - 16) ^ K1;
    h.z = ax_load_u64(s + n - 56) ^ K0;
    h.v = weak(s + n - 64, n, h.y);
    h.w = weak(s + n - 32, n * K1, K0);
    h.z += fold(h.v.b) * K1;
    h.x = ror(h.z + h.x, 39) * K1;
    h.y = ror(h.y, 33) * K1;
    steps = (n - 1) / 64;
    for (i = 0; i < steps; i++)
        step(&h, s + 64 * i);
    return ax_mt_city_mix(ax_mt_city_mix(h.v.a, h.w.a) + fold(h.y) * K1 + h.z,
                          ax_mt_city_mix(h.v.b, h.w.b) + h.x);
}

static ax_mt_hash hash128_small(const uint8_t *s, size_t n, uint64_t a, uint64_t b)
{
    uint64_t c, d;

    if (n <= 16)
    {
        a = fold(a * K1) * K1;
        c = b * K1 + hash_short(s, n);
        d = fold(a + (n >= 8 ? ax_load_u64(s) : c));
    }
    else
    {
        const uint8_t *p = s;
        int64_t left = (int64_t) n - 16;

        c = ax_mt_city_mix(ax_load_u64(s + n - 8) + K1, a);
        d = ax_mt_city_mix(b + n, c + ax_load_u64(s + n - 16));
        a += d;
        for (; left > 0; p += 16, left -= 16)
        {
            a = (a ^ fold(ax_load_u64(p) * K1) * K1) * K1;
            b ^= a;
            c = (c ^ fold(ax_load_u64(p + 8) * K1) * K1) * K1;
            d ^= c;
        }
    }
    a = ax_mt_city_mix(a, c);
    b = ax_mt_city_mix(d, b);
    return (ax_mt_hash){a ^ b, ax_mt_city_mix(b, a)};
}

ax_mt_hash ax_mt_city128_seed(const uint8_t *s, size_t n, ax_mt_hash seed)
{
    const uint8_t *p = s;
    size_t left = n, i;
    state h;

    if (n < 128)
        return hash128_small(s, n, seed.lo, seed.hi);
    h.x = seed.lo;
    h.y = seed.hi;
    h.z = n * K1;
    h.v.a = ror(h.y ^ K1, 49) * K1 + ax_load_u64(s);
    h.v.b = ror(h.v.a, 42) * K1 + ax_load_u64(s + 8);
    h.w.a = ror(h.y + h.z, 35) * K1 + h.x;
    h.w.b = ror(h.x + ax_load_u64(s + 88), 53) * K1;
    do
    {
        step(&h, p);
        step(&h, p + 64);
        p += 128;
        left -= 128;
    } while (left >= 128);
    h.y += ror(h.w.a, 37) * K0 + h.z;
    h.x += ror(h.v.a + h.z, 49) * K0;
    for (i = 0; i < left;)
    {
        const uint8_t *e;

        i += 32;
        e = p + left - i; /* may reach back before p */
        h.y = ror(h.y - h.x, 42) * K0 + h.v.b;
        h.w.a += ax_load_u64(e + 16);
        h.x = ror(h.x, 49) * K0 + h.w.a;
        h.w.a += h.v.a;
        h.v = weak(e, h.v.a, h.v.b);
    }
    h.x = ax_mt_city_mix(h.x, h.v.a);
    h.y = ax_mt_city_mix(h.y, h.w.a);
    return (ax_mt_hash){ax_mt_city_mix(h.x + h.v.b, h.w.b) + h.y,
                        ax_mt_city_mix(h.x + h.w.b, h.y + h.v.b)};
}

ax_mt_hash ax_mt_city128(const uint8_t *s, size_t n)
{
    if (n >= 16)
        return ax_mt_city128_seed(
            s + 16, n - 16, (ax_mt_hash){ax_load_u64(s) ^ K3, ax_load_u64(s + 8)});
    if (n >= 8)
        return ax_mt_city128_seed(
            s, 0, (ax_mt_hash){ax_load_u64(s) ^ n * K0, ax_load_u64(s + n - 8) ^ K1});
    return ax_mt_city128_seed(s, n, (ax_mt_hash){K0, K1});
}

ax_mt_hash ax_mt_file_hash(ax_mt_hash h, const uint8_t *s, size_t n)
{
    for (; n > 0; s += 2048)
    {
        size_t k = n < 2048 ? n : 2048;

        h = ax_mt_city128_seed(s, k, h);
        n -= k;
    }
    return h;
}

/* ---- SipHash --------------------------------------------------------------------------------- */

typedef struct sip { uint64_t v0, v1, v2, v3; } sip;

static inline uint64_t rol(uint64_t x, unsigned n) { return x << n | x >> (64 - n); }

static inline void sip_round(sip *s)
{
    s->v0 += s->v1;
    s->v1 = rol(s->v1, 13) ^ s->v0;
    s->v0 = rol(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rol(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rol(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rol(s->v1, 17) ^ s->v2;
    s->v2 = rol(s->v2, 32);
}

static sip sip_run(const uint8_t *p, size_t n)
{
    sip s = {0x736f6d6570736575ull, 0x646f72616e646f6dull, 0x6c7967656e657261ull,
             0x7465646279746573ull};
    uint64_t last = (uint64_t) n << 56;
    size_t i;

    for (i = 0; i + 8 <= n; i += 8)
    {
        uint64_t m = ax_load_u64(p + i);

        s.v3 ^= m;
        sip_round(&s);
        sip_round(&s);
        s.v0 ^= m;
    }
    for (unsigned shift = 0; i < n; i++, shift += 8)
        last |= (uint64_t) p[i] << shift;
    s.v3 ^= last;
    sip_round(&s);
    sip_round(&s);
    s.v0 ^= last;
    s.v2 ^= 0xff;
    for (i = 0; i < 4; i++)
        sip_round(&s);
    return s;
}

uint64_t ax_mt_sip64(const uint8_t *p, size_t n)
{
    sip s = sip_run(p, n);

    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

ax_mt_hash ax_mt_sip128(const uint8_t *p, size_t n)
{
    sip s = sip_run(p, n);

    return (ax_mt_hash){s.v0 ^ s.v1, s.v2 ^ s.v3};
}
