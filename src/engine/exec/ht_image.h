/* Comparing and hashing key images, inlined where the shape of the image is a constant.  Private to
 * the hash tables of exec/. */
#ifndef AX_HT_IMAGE_H
#define AX_HT_IMAGE_H

#include "exec/ht_int.h"

#include <string.h>

#define AX_HT_STR_NULL 0x80000000u
#define AX_HT_STR_LENT 0x40000000u
#define AX_HT_STR_FLAGS ((uint64_t) (AX_HT_STR_NULL | AX_HT_STR_LENT))
#define AX_HT_INLINE static inline __attribute__((always_inline))

AX_HT_INLINE bool ax_ht_str_eq(const uint64_t *a, const uint64_t *b)
{
    uint64_t len = a[0] & AX_HT_LEN_MASK;

    if (a[0] != b[0])
        return false;
    return a[1] == b[1]
        || (len > AX_HT_INLINE_MAX
            && memcmp((const uint8_t *) (uintptr_t) a[1] + 4,
                      (const uint8_t *) (uintptr_t) b[1] + 4, len - 4) == 0);
}

AX_HT_INLINE bool ax_ht_shape_eq(const ax_ht_layout *lay, ax_ht_shape shape, const uint64_t *a,
                                 const uint64_t *b)
{
    switch (shape)
    {
        case AX_HT_W1: return a[0] == b[0];
        case AX_HT_W2: return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
        case AX_HT_W3: return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
        case AX_HT_W4:
            return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
        case AX_HT_S: return ax_ht_str_eq(a, b);
        case AX_HT_WS: return a[0] == b[0] && ax_ht_str_eq(a + 1, b + 1);
        default: return ax_ht_image_eq(lay, a, b);
    }
}

AX_HT_INLINE uint64_t ax_ht_str_hash(const uint64_t *w)
{
    uint64_t len = w[0] & AX_HT_LEN_MASK;

    if (len <= AX_HT_INLINE_MAX)
        return ax_hash_mix(w[0] ^ AX_HASH_K0, w[1] ^ AX_HASH_K1);
    return ax_hash_bytes((const void *) (uintptr_t) w[1], len, AX_HASH_K2)
         ^ (w[0] & AX_HT_STR_FLAGS) << 20;
}

/* The same value as ax_ht_image_hash. */
AX_HT_INLINE uint64_t ax_ht_shape_hash(const ax_ht_layout *lay, ax_ht_shape shape,
                                       const uint64_t *w)
{
    switch (shape)
    {
        case AX_HT_W1: return ax_hash_u64(w[0]);
        case AX_HT_W2: return ax_hash_combine(ax_hash_u64(w[0]), w[1]);
        case AX_HT_W3: return ax_hash_combine(ax_hash_combine(ax_hash_u64(w[0]), w[1]), w[2]);
        case AX_HT_W4:
            return ax_hash_combine(
                ax_hash_combine(ax_hash_combine(ax_hash_u64(w[0]), w[1]), w[2]), w[3]);
        case AX_HT_S: return ax_ht_str_hash(w);
        case AX_HT_WS: return ax_hash_combine(ax_hash_u64(w[0]), ax_ht_str_hash(w + 1));
        default: return ax_ht_image_hash(lay, w);
    }
}

/* Words of an image of a shape; of the layout for ANY. */
AX_HT_INLINE uint32_t ax_ht_shape_words(const ax_ht_layout *lay, ax_ht_shape shape)
{
    switch (shape)
    {
        case AX_HT_W1: return 1;
        case AX_HT_W2:
        case AX_HT_S: return 2;
        case AX_HT_W3:
        case AX_HT_WS: return 3;
        case AX_HT_W4: return 4;
        default: return lay->kw;
    }
}

/* Has a row of this shape bytes behind it?  A cheap test that errs towards yes. */
AX_HT_INLINE bool ax_ht_shape_long(ax_ht_shape shape, const uint64_t *w)
{
    switch (shape)
    {
        case AX_HT_W1:
        case AX_HT_W2:
        case AX_HT_W3:
        case AX_HT_W4: return false;
        case AX_HT_S: return (w[0] & AX_HT_LEN_MASK) > AX_HT_INLINE_MAX;
        case AX_HT_WS: return (w[1] & AX_HT_LEN_MASK) > AX_HT_INLINE_MAX;
        default: return true;
    }
}

/* Append a row without bytes behind it; NULL: no room in the chunk. */
AX_HT_INLINE uint8_t *ax_ht_row_fast(const ax_ht_layout *lay, ax_ht_shape shape, ax_ht_rows *rows,
                                     uint64_t hash, const uint64_t *img)
{
    uint8_t *row = rows->at;
    uint64_t *w = (uint64_t *) (void *) row;
    uint64_t *end = (uint64_t *) (void *) (row + lay->row_bytes);

    if (row + lay->row_bytes > rows->end)
        return NULL;
    ax_ht_prefetch_free(rows);
    if (lay->stored_hash)
        *w++ = hash;
    for (uint32_t k = 0; k < ax_ht_shape_words(lay, shape); k++)
        *w++ = img[k];
    for (; w < end; w++)
    {
        *w = 0;
        __asm__("" : "+r"(w)); /* a few words: no call of memset */
    }
    rows->at = (uint8_t *) end;
    rows->n++;
    return row;
}

#define AX_HT_EACH_SHAPE(X)                                                                        \
    X(w1, AX_HT_W1) X(w2, AX_HT_W2) X(w3, AX_HT_W3) X(w4, AX_HT_W4) X(s, AX_HT_S) X(ws, AX_HT_WS)  \
    X(any, AX_HT_ANY)

#endif
