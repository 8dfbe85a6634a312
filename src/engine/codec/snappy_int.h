/* Snappy: what whole blocks, pieces of blocks and streams share.  Private to codec/.
 *
 * A block is the length of what it holds, a varint, and a body of elements:
 *
 *   tag & 3   bytes behind      what
 *      0      0..4, literal     n = tag >> 2; n < 60: n + 1 bytes; else n - 59 bytes tell length-1
 *      1      1                 copy of 4 + (tag >> 2 & 7), offset (tag >> 5) * 256 + byte
 *      2      2                 copy of 1 + (tag >> 2), offset u16
 *      3      4                 copy of 1 + (tag >> 2), offset u32
 *
 * Format: google/snappy, format_description.txt. */
#ifndef AX_CODEC_SNAPPY_INT_H
#define AX_CODEC_SNAPPY_INT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Room that ax_snappy_copy needs at its destination: it writes more than it is asked for. */
#define AX_SNAPPY_ROOM 80

/* The length in front of a block, and where the body begins.  false: there is none. */
bool ax_snappy_length(const uint8_t *src, size_t src_len, size_t *len, const uint8_t **body);

/* Elements src..end to exactly dst_len bytes; copies reach back to dst at most.  false: corrupt,
 * and what was written is worth nothing.  Never reads or writes outside both ranges. */
bool ax_snappy_body(const uint8_t *src, const uint8_t *end, uint8_t *dst, size_t dst_len);

typedef struct ax_snappy_place
{
    const uint8_t *in, *end;
    uint8_t *out, *stop;
} ax_snappy_place;

/* Whole elements from in to out as long as there is more input and room than the longest copy
 * needs; copies reach back to dst at most.  false: the element at p->in cannot be taken whole,
 * because input or room ends in it or because it is wrong. */
bool ax_snappy_run(ax_snappy_place *p, const uint8_t *dst);

typedef uint8_t ax_snappy_16 __attribute__((vector_size(16)));

/* 64 bytes; all are read before one is written. */
static inline void ax_snappy_copy_64(uint8_t *to, const uint8_t *from)
{
    ax_snappy_16 a, b, c, d;

    memcpy(&a, from, 16);
    memcpy(&b, from + 16, 16);
    memcpy(&c, from + 32, 16);
    memcpy(&d, from + 48, 16);
    memcpy(to, &a, 16);
    memcpy(to + 16, &b, 16);
    memcpy(to + 32, &c, 16);
    memcpy(to + 48, &d, 16);
}

/* len <= 64 bytes to p from off > 0 before it. */
static inline void ax_snappy_copy(uint8_t *p, uint32_t off, uint32_t len)
{
    const uint8_t *from = p - off;
    uint8_t *end = p + len;

    if (off >= len)
    {
        ax_snappy_copy_64(p, from);
        return;
    }
    if (off >= 16)
    {
        for (; p < end; p += 16, from += 16)
            memcpy(p, from, 16);
        return;
    }
    for (; p - from < 8 && p < end; p += p - from) /* what repeats gets longer */
        ax_store_u64(p, ax_load_u64(from));
    for (; p < end; p += 8, from += 8)
        ax_store_u64(p, ax_load_u64(from));
}

#endif
