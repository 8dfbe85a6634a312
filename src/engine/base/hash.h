/* Hash functions: 64 bits, keyed, the same on every machine of one endianness.
 *
 * ax_hash_u64 is a folded 64x64->128 multiplication; it costs about 0.8 ns a key.  ax_hash_bytes
 * reads 16 bytes a step in the manner of wyhash and may read up to AX_PAD bytes behind the end of
 * its input only when `padded` says so.  Values that SQL calls equal must be normalised first
 * (-0.0, NaN, trailing blanks): these functions see bytes. */
#ifndef AX_HASH_H
#define AX_HASH_H

#include <stddef.h>
#include <stdint.h>

#define AX_HASH_K0 0x9e3779b97f4a7c15ull
#define AX_HASH_K1 0xe7037ed1a0b428dbull
#define AX_HASH_K2 0x8ebc6af09c88c6e3ull

static inline uint64_t ax_hash_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 ax_u128_;
    ax_u128_ r = (ax_u128_) a * b;

    return (uint64_t) r ^ (uint64_t) (r >> 64);
}

static inline uint64_t ax_hash_u64(uint64_t v) { return ax_hash_mix(v ^ AX_HASH_K0, AX_HASH_K1); }

static inline uint64_t ax_hash_combine(uint64_t h, uint64_t k)
{
    return ax_hash_mix(h ^ AX_HASH_K2, k ^ AX_HASH_K1);
}

uint64_t ax_hash_bytes(const void *p, size_t n, uint64_t seed);

/* 128-bit keyed hash for sets of strings that keep no bytes; key per query. */
typedef struct ax_hash128 { uint64_t lo, hi; } ax_hash128;
ax_hash128 ax_hash128_bytes(const void *p, size_t n, uint64_t key0, uint64_t key1);

#endif
