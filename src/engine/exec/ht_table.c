/* Rows of groups in chunks, and the directory that finds them. */
#include "exec/ht_int.h"

#include <string.h>

#define CHUNK_FIRST_BYTES ((uint64_t) 1 << 10)
#define CHUNK_MAX_BYTES ((uint64_t) 64 << 10)

/* ---- rows ------------------------------------------------------------------------------------ */

/* Number of an ordinary size; AX_HT_CHUNK_SIZES: another size. */
static uint32_t size_class(uint64_t bytes)
{
    uint32_t i = 0;

    while (i < AX_HT_CHUNK_SIZES && bytes != CHUNK_FIRST_BYTES << 2 * i)
        i++;
    return i;
}

/* Chunks of other sizes are lost until the arena ends. */
void ax_ht_spare_put(ax_ht_spare *s, ax_ht_chunk *c)
{
    uint32_t i = size_class(c->cap_bytes);

    if (i == AX_HT_CHUNK_SIZES)
        return;
    c->next = s->chunk[i];
    s->chunk[i] = c;
}

static ax_ht_chunk *chunk_alloc(ax_arena *mem, ax_ht_spare *s, uint64_t bytes)
{
    uint32_t i = s != NULL ? size_class(bytes) : AX_HT_CHUNK_SIZES;
    ax_ht_chunk *c;

    if (s != NULL)
        s->used_bytes += bytes;
    if (i == AX_HT_CHUNK_SIZES || s->chunk[i] == NULL)
        return (ax_ht_chunk *) ax_arena_alloc(mem, bytes);
    c = s->chunk[i];
    s->chunk[i] = c->next;
    return c;
}

static bool chunk_add(ax_arena *mem, ax_ht_rows *rows, uint64_t need)
{
    uint64_t bytes = CHUNK_FIRST_BYTES;
    ax_ht_chunk *c;

    /* Grows with the number of rows, so that thousands of partitions start small. */
    if (rows->last != NULL)
    {
        bytes = ((uint64_t) (rows->end - (uint8_t *) (rows->last + 1)) + sizeof(*c)) * 4;
        bytes = bytes > CHUNK_MAX_BYTES ? CHUNK_MAX_BYTES : bytes;
    }
    if (bytes < need + sizeof(*c))
        bytes = need + sizeof(*c);
    c = chunk_alloc(mem, rows->spare, bytes);
    if (c == NULL)
        return false;
    ax_ht_rows_close(rows);
    c->cap_bytes = bytes;
    c->next = NULL;
    c->used_bytes = 0;
    if (rows->last != NULL)
        rows->last->next = c;
    else
        rows->first = c;
    rows->last = c;
    rows->at = (uint8_t *) (c + 1);
    rows->end = (uint8_t *) c + bytes;
    return true;
}

void ax_ht_put_strings(const ax_ht_layout *lay, uint64_t *img, uint8_t *to)
{
    for (uint32_t w = lay->str_w; w < lay->kw; w += 2)
    {
        uint64_t len = img[w] & AX_HT_LEN_MASK;

        if (len <= AX_HT_INLINE_MAX)
            continue;
        memcpy(to, (const void *) (uintptr_t) img[w + 1], len);
        img[w + 1] = (uint64_t) (uintptr_t) to;
        to += (len + 7) & ~(uint64_t) 7;
    }
}

ax_status ax_ht_copy_strings(ax_task *t, ax_arena *mem, const ax_ht_layout *lay, uint64_t *img)
{
    uint64_t n = ax_ht_long_bytes(lay, img);
    uint8_t *to;

    if (n == 0)
        return AX_OK;
    AX_NEW(t, to, ax_arena_alloc(mem, n));
    ax_ht_put_strings(lay, img, to);
    return AX_OK;
}

uint8_t *ax_ht_row_add(ax_arena *mem, const ax_ht_layout *lay, ax_ht_rows *rows, uint64_t hash,
                       const uint64_t *img)
{
    bool copy = lay->str_w < lay->kw && !lay->borrow_str;
    uint64_t need = lay->row_bytes + (copy ? ax_ht_str_bytes(lay, img) : 0);
    uint64_t *w;
    uint8_t *row;

    if ((uint64_t) (rows->end - rows->at) < need && !chunk_add(mem, rows, need))
        return NULL;
    row = rows->at;
    rows->at += need;
    ax_ht_prefetch_free(rows);
    rows->n++;
    w = (uint64_t *) (void *) row;
    if (lay->stored_hash)
        *w++ = hash;
    for (uint32_t k = 0; k < lay->kw; k++)
        *w++ = img[k];
    for (uint32_t k = lay->state_off; k < lay->row_bytes; k += 8)
        *w++ = 0;
    if (copy)
        ax_ht_put_strings(lay, ax_ht_img(lay, row), row + lay->row_bytes);
    return row;
}

/* ---- directory ------------------------------------------------------------------------------- */

typedef struct slab { ax_budget *budget; void *p; size_t bytes; } slab;

static void slab_free(void *arg)
{
    slab *s = (slab *) arg;

    ax_slab_free(s->budget, s->p, s->bytes);
}

/* Whole slabs that die with mem: an arena would round a power of two up to the next one. */
static ax_status slab_alloc(ax_task *t, ax_arena *mem, size_t bytes, void **out)
{
    slab *s;

    AX_NEW(t, s, ax_arena_alloc(mem, sizeof(*s)));
    *s = (slab){ax_arena_budget(mem), NULL, bytes};
    s->p = ax_slab_alloc(s->budget, bytes, true);
    if (s->p == NULL)
        return ax_fail_nomem(t, bytes);
    if (!ax_arena_on_reset(mem, slab_free, s))
    {
        slab_free(s);
        return ax_fail_nomem(t, sizeof(*s));
    }
    *out = s->p;
    return AX_OK;
}

static ax_status dir_alloc(ax_task *t, ax_arena *mem, ax_ht_dir *d, uint64_t slots)
{
    size_t bytes = slots * sizeof(*d->slot);
    void *p = NULL;

    if (bytes >= AX_SLAB_BYTES)
        AX_TRY(slab_alloc(t, mem, bytes, &p));
    else
    {
        AX_NEW(t, p, ax_arena_values(mem, bytes));
        memset(p, 0, bytes);
    }
    d->slot = (uint64_t *) p;
    d->mask = slots - 1;
    d->limit = AX_HT_DIR_LIMIT(slots);
    return AX_OK;
}

ax_status ax_ht_dir_init(ax_task *t, ax_arena *mem, ax_ht_dir *d, uint64_t expect)
{
    uint64_t slots = 256;

    while (AX_HT_DIR_LIMIT(slots) < expect)
        slots *= 2;
    d->n = 0;
    return dir_alloc(t, mem, d, slots);
}

ax_status ax_ht_dir_grow(ax_task *t, ax_arena *mem, const ax_ht_layout *lay, ax_ht_dir *d)
{
    ax_ht_dir old = *d;

    AX_TRY(dir_alloc(t, mem, d, (old.mask + 1) * (old.mask < (1u << 20) ? 4 : 2)));
    d->n = 0;
    for (uint64_t s = 0; s <= old.mask; s++)
    {
        uint8_t *row = (uint8_t *) (uintptr_t) (old.slot[s] & AX_HT_PTR_MASK);

        if (row != NULL)
            ax_ht_dir_put(d, ax_ht_row_hash(lay, row), row);
        if (s % 65536 == 65535 && ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
    }
    return AX_OK;
}

uint8_t *ax_ht_dir_find(const ax_ht_layout *lay, const ax_ht_dir *d, uint64_t hash,
                        const uint64_t *img)
{
    uint64_t s = ax_ht_slot_of(d, hash);

    for (; d->slot[s] != 0; s = (s + 1) & d->mask)
    {
        uint64_t x = d->slot[s] ^ hash << 48;
        uint8_t *row = (uint8_t *) (uintptr_t) x;

        if (x >> 48 == 0 && ax_ht_image_eq(lay, ax_ht_img(lay, row), img))
            return row;
    }
    return NULL;
}
