/* Little-endian loads and a bounds-checked reader over bytes of a file.
 *
 * ax_cur never reads outside [p, end): a request that does not fit sets `bad` and yields zeros, so
 * that a parser can read a whole structure and test once.  Format: none of its own. */
#ifndef AX_BYTES_H
#define AX_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t ax_load_u16(const void *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static inline uint32_t ax_load_u32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t ax_load_u64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void ax_store_u64(void *p, uint64_t v) { memcpy(p, &v, 8); }

typedef struct ax_cur
{
    const uint8_t *p;     /* next byte */
    const uint8_t *end;   /* first byte that may not be read */
    const uint8_t *start; /* for offsets in messages */
    bool bad;             /* something did not fit; sticky */
} ax_cur;

static inline ax_cur ax_cur_make(const void *p, size_t n)
{
    const uint8_t *b = (const uint8_t *) p;
    return (ax_cur){b, b + n, b, false};
}

static inline size_t ax_cur_left(const ax_cur *c) { return (size_t) (c->end - c->p); }
static inline size_t ax_cur_off(const ax_cur *c) { return (size_t) (c->p - c->start); }

/* n bytes, or NULL with bad set. */
static inline const uint8_t *ax_cur_take(ax_cur *c, uint64_t n)
{
    const uint8_t *r = c->p;

    if (c->bad || n > ax_cur_left(c))
    {
        c->bad = true;
        return NULL;
    }
    c->p += n;
    return r;
}

static inline uint8_t ax_cur_u8(ax_cur *c)
{
    const uint8_t *r = ax_cur_take(c, 1);
    return r ? *r : 0;
}

static inline uint32_t ax_cur_u32(ax_cur *c)
{
    const uint8_t *r = ax_cur_take(c, 4);
    return r ? ax_load_u32(r) : 0;
}

static inline uint64_t ax_cur_u64(ax_cur *c)
{
    const uint8_t *r = ax_cur_take(c, 8);
    return r ? ax_load_u64(r) : 0;
}

/* ULEB128 of at most 64 bits; longer or overflowing input sets bad. */
uint64_t ax_cur_varint(ax_cur *c);

#endif
