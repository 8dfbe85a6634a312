/* Bump allocation in blocks that grow with the arena.
 *
 *   block:  | header 64 | 16-byte aligned allocations ...        | AX_PAD |
 *
 * The first block also holds the arena itself and is small, since most arenas stay small; later
 * ones double up to one slab, so that a large arena lives on huge pages and asks rarely.  A
 * request larger than the next block gets one of its own, which does not become the current one
 * unless more room is left in it.  Every block is charged whole when it is taken. */
#include "base/memory_int.h"
#include "base/task.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_DEFAULT_BYTES ((size_t) 64 << 10)
#define BLOCK_FIRST_BYTES ((size_t) 4 << 10)
#define BLOCK_HEAD_BYTES 64u

typedef struct block
{
    struct block *next; /* owned; older blocks */
    size_t bytes;       /* taken from the raw allocator, header included */
    uint8_t *end;       /* allocations end here; AX_PAD bytes follow */
} block;

_Static_assert(sizeof(block) <= BLOCK_HEAD_BYTES, "header of a block");

typedef struct cleanup
{
    struct cleanup *next;
    ax_cleanup_fn fn;
    void *arg;
} cleanup;

struct ax_arena
{
    uint8_t *at;         /* next free byte of the current block */
    uint8_t *end;        /* its end, as in block */
    block *blocks;       /* owned; the current one first, the first one last */
    cleanup *cleanups;   /* in the arena; last registered first */
    ax_budget *budget;   /* borrowed; outlives the arena */
    size_t block_bytes;  /* least size of ordinary blocks */
    size_t total_bytes;  /* of all blocks */
    size_t used_bytes;   /* handed out, with rounding */
};

/* Take and charge a block with room for `bytes` of allocations. */
static block *block_take(ax_budget *budget, size_t bytes)
{
    block *b;
    size_t size;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    size = ax_raw_size(bytes + BLOCK_HEAD_BYTES + AX_PAD);
    if (!ax_budget_charge(budget, (int64_t) size))
        return NULL;
    b = (block *) ax_raw_alloc(size);
    if (b == NULL)
    {
        ax_budget_release(budget, (int64_t) size);
        return NULL;
    }
    b->next = NULL;
    b->bytes = size;
    b->end = (uint8_t *) b + size - AX_PAD;
    AX_POISON((uint8_t *) b + BLOCK_HEAD_BYTES, size - BLOCK_HEAD_BYTES);
    return b;
}

static void block_give(ax_budget *budget, block *b)
{
    size_t size = b->bytes;

    AX_UNPOISON(b, size);
    ax_raw_free(b, size);
    ax_budget_release(budget, (int64_t) size);
}

static inline uint8_t *block_begin(block *b) { return (uint8_t *) b + BLOCK_HEAD_BYTES; }

/* The arena's own struct stands at the beginning of the first block. */
static inline uint8_t *first_begin(ax_arena *a)
{
    return (uint8_t *) a + ax_round_up(sizeof *a, AX_ALIGN);
}

ax_arena *ax_arena_create(ax_budget *b, size_t block_bytes)
{
    size_t least = block_bytes > 0 ? block_bytes : BLOCK_DEFAULT_BYTES;
    size_t first_bytes = least < BLOCK_FIRST_BYTES ? least : BLOCK_FIRST_BYTES;
    size_t self = ax_round_up(sizeof(ax_arena), AX_ALIGN);
    size_t head = BLOCK_HEAD_BYTES + AX_PAD;
    block *first = block_take(b, first_bytes > self + head ? first_bytes - head : self);
    ax_arena *a;

    if (first == NULL)
        return NULL;
    AX_UNPOISON(block_begin(first), self);
    a = (ax_arena *) block_begin(first);
    a->blocks = first;
    a->cleanups = NULL;
    a->budget = b;
    a->block_bytes = least;
    a->total_bytes = first->bytes;
    a->used_bytes = 0;
    a->at = first_begin(a);
    a->end = first->end;
    return a;
}

static void run_cleanups(ax_arena *a)
{
    while (a->cleanups != NULL)
    {
        cleanup *c = a->cleanups;

        a->cleanups = c->next;
        c->fn(c->arg);
    }
}

void ax_arena_destroy(ax_arena *a)
{
    ax_budget *budget;
    block *b;

    if (a == NULL)
        return;
    run_cleanups(a);
    /* The struct dies with the last block of the list. */
    budget = a->budget;
    b = a->blocks;
    while (b != NULL)
    {
        block *next = b->next;

        block_give(budget, b);
        b = next;
    }
}

void ax_arena_reset(ax_arena *a)
{
    block *kept = NULL;
    block *b = a->blocks;
    size_t self = ax_round_up(sizeof *a, AX_ALIGN);

    run_cleanups(a);
    /* Keep the largest block that ordinary growth would make; larger ones served one request. */
    while (b->next != NULL)
    {
        block *next = b->next;
        block *drop = b;

        if (b->bytes <= AX_SLAB_BYTES && (kept == NULL || b->bytes > kept->bytes))
        {
            drop = kept;
            kept = b;
        }
        if (drop != NULL)
        {
            a->total_bytes -= drop->bytes;
            block_give(a->budget, drop);
        }
        b = next;
    }
    a->used_bytes = 0;
    a->blocks = b;
    AX_POISON(block_begin(b) + self, b->bytes - BLOCK_HEAD_BYTES - self);
    a->at = first_begin(a);
    a->end = b->end;
    if (kept != NULL)
    {
        AX_POISON(block_begin(kept), kept->bytes - BLOCK_HEAD_BYTES);
        kept->next = b;
        a->blocks = kept;
        a->at = block_begin(kept);
        a->end = kept->end;
    }
}

/* Room for `bytes` at `align` in a new block. */
static void *alloc_slow(ax_arena *a, size_t bytes, size_t align)
{
    size_t head = BLOCK_HEAD_BYTES + AX_PAD;
    size_t grown = a->total_bytes < a->block_bytes ? a->block_bytes : a->total_bytes;
    block *b = NULL;
    uint8_t *p;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    if (grown > AX_SLAB_BYTES)
        grown = AX_SLAB_BYTES;
    if (bytes + align + head <= grown)
        b = block_take(a->budget, grown - head);
    if (b == NULL && bytes + align + head <= a->block_bytes)
        b = block_take(a->budget, a->block_bytes - head); /* near the limit: a small step */
    if (b == NULL)
        b = block_take(a->budget, bytes + align);
    if (b == NULL)
        return NULL;
    a->total_bytes += b->bytes;

    p = (uint8_t *) ax_round_up((uintptr_t) block_begin(b), align);
    if (b->end - (p + bytes) > a->end - a->at || a->blocks->next == NULL)
    {
        b->next = a->blocks;
        a->blocks = b;
        a->at = p + bytes;
        a->end = b->end;
    }
    else
    {
        /* Full at once: behind the current block, which stays current. */
        b->next = a->blocks->next;
        a->blocks->next = b;
    }
    return p;
}

/* bytes is a multiple of 16, align 16 or AX_ALIGN. */
static inline void *alloc_at(ax_arena *a, size_t bytes, size_t align)
{
    uint8_t *p = (uint8_t *) ax_round_up((uintptr_t) a->at, align);

    if (__builtin_expect(p <= a->end && bytes <= (size_t) (a->end - p), 1))
        a->at = p + bytes;
    else
    {
        p = (uint8_t *) alloc_slow(a, bytes, align);
        if (p == NULL)
            return NULL;
    }
    a->used_bytes += bytes;
    AX_UNPOISON(p, bytes + AX_PAD);
    return p;
}

void *ax_arena_alloc(ax_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    /* No zero-sized allocations: two of them would be the same pointer. */
    return alloc_at(a, bytes > 0 ? ax_round_up(bytes, 16) : 16, 16);
}

void *ax_arena_alloc0(ax_arena *a, size_t bytes)
{
    void *p = ax_arena_alloc(a, bytes);

    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

void *ax_arena_values(ax_arena *a, size_t bytes)
{
    void *p;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    /* The padding is not shared with the next allocation: whole-vector loads at the tail of a
     * buffer that another thread reads would race with writes to that. */
    p = alloc_at(a, ax_round_up(bytes, AX_ALIGN) + AX_PAD, AX_ALIGN);
#ifdef AX_ASAN
    if (p != NULL)
        AX_UNPOISON((uint8_t *) p - 16, 16);
#endif
    return p;
}

char *ax_arena_strndup(ax_arena *a, const char *s, size_t n)
{
    char *p;

    if (n > SIZE_MAX / 4)
        return NULL;
    p = (char *) ax_arena_alloc(a, n + 1);
    if (p == NULL)
        return NULL;
    if (n > 0)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

bool ax_arena_on_reset(ax_arena *a, ax_cleanup_fn fn, void *arg)
{
    cleanup *c = (cleanup *) ax_arena_alloc(a, sizeof *c);

    if (c == NULL)
        return false;
    c->fn = fn;
    c->arg = arg;
    c->next = a->cleanups;
    a->cleanups = c;
    return true;
}

size_t ax_arena_used_bytes(const ax_arena *a) { return a->used_bytes; }
ax_budget *ax_arena_budget(const ax_arena *a) { return a->budget; }
