/* Hashes over bytes.
 *
 * ax_hash_bytes follows wyhash (public domain, Wang Yi): 16 bytes a step through one folded
 * multiplication, 48 bytes a step in three independent lanes for long input; reads stay inside
 * [p, p + n).  ax_hash128_bytes runs two such chains with different keys and crosses them at the
 * end; it is no cryptographic hash, and relies on a key that the data's author does not know.
 *
 * The results are written down in hash_test.c: Bloom filters and spill files may outlive a
 * process, so they change only together with a version of those. */
#include "base/hash.h"

#include "base/bytes.h"

#define K3 0x589965cc75374cc3ull

/* 1 to 3 bytes as a number, without a branch on each length. */
static inline uint64_t load_1to3(const uint8_t *p, size_t n)
{
    return (uint64_t) p[0] << 16 | (uint64_t) p[n >> 1] << 8 | p[n - 1];
}

/* At most 16 bytes as two words; overlapping loads cover every length. */
static inline void load_tail(const uint8_t *p, size_t n, uint64_t *a, uint64_t *b)
{
    if (n >= 4)
    {
        size_t mid = (n >> 3) << 2;

        *a = (uint64_t) ax_load_u32(p) << 32 | ax_load_u32(p + mid);
        *b = (uint64_t) ax_load_u32(p + n - 4) << 32 | ax_load_u32(p + n - 4 - mid);
    }
    else
    {
        *a = n > 0 ? load_1to3(p, n) : 0;
        *b = 0;
    }
}

uint64_t ax_hash_bytes(const void *ptr, size_t n, uint64_t seed)
{
    const uint8_t *p = (const uint8_t *) ptr;
    uint64_t a, b;
    size_t left = n;

    seed ^= ax_hash_mix(seed ^ AX_HASH_K0, AX_HASH_K1);
    if (n <= 16)
        load_tail(p, n, &a, &b);
    else
    {
        if (left > 48)
        {
            uint64_t s1 = seed, s2 = seed;

            do
            {
                seed = ax_hash_mix(ax_load_u64(p) ^ AX_HASH_K1, ax_load_u64(p + 8) ^ seed);
                s1 = ax_hash_mix(ax_load_u64(p + 16) ^ AX_HASH_K2, ax_load_u64(p + 24) ^ s1);
                s2 = ax_hash_mix(ax_load_u64(p + 32) ^ K3, ax_load_u64(p + 40) ^ s2);
                p += 48;
                left -= 48;
            } while (left > 48);
            seed ^= s1 ^ s2;
        }
        while (left > 16)
        {
            seed = ax_hash_mix(ax_load_u64(p) ^ AX_HASH_K1, ax_load_u64(p + 8) ^ seed);
            p += 16;
            left -= 16;
        }
        /* The last 16 bytes, which may overlap what was read: n > 16. */
        a = ax_load_u64(p + left - 16);
        b = ax_load_u64(p + left - 8);
    }
    return ax_hash_mix(AX_HASH_K1 ^ n, ax_hash_mix(a ^ AX_HASH_K1, b ^ seed));
}

ax_hash128 ax_hash128_bytes(const void *ptr, size_t n, uint64_t key0, uint64_t key1)
{
    const uint8_t *p = (const uint8_t *) ptr;
    uint64_t lo = ax_hash_mix(key0 ^ AX_HASH_K0, AX_HASH_K1 ^ n);
    uint64_t hi = ax_hash_mix(key1 ^ AX_HASH_K2, K3 ^ n);
    uint64_t k0 = key0 ^ AX_HASH_K1, k1 = key1 ^ AX_HASH_K2;
    uint64_t a, b, x, y;
    size_t left = n;

    if (n <= 16)
        load_tail(p, n, &a, &b);
    else
    {
        while (left > 16)
        {
            a = ax_load_u64(p);
            b = ax_load_u64(p + 8);
            lo = ax_hash_mix(a ^ k0, b ^ lo);
            hi = ax_hash_mix(a ^ hi, b ^ k1);
            p += 16;
            left -= 16;
        }
        a = ax_load_u64(p + left - 16);
        b = ax_load_u64(p + left - 8);
    }
    x = ax_hash_mix(a ^ k0, b ^ lo);
    y = ax_hash_mix(a ^ hi, b ^ k1);
    return (ax_hash128){ax_hash_mix(x ^ AX_HASH_K0, y ^ k1), ax_hash_mix(y ^ K3, x ^ k0)};
}
