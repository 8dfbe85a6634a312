/* Builds the final groups of some partitions from the rows of all lanes.
 *
 * Rows of the lanes' own tables come first: they are the frequent groups, and later rows merge into
 * them.  A row that finds no equal becomes the group where it stands. */
#include "exec/ht_image.h"

#include <string.h>

#define ABSORB_ROWS 256u
#define AHEAD_BYTES 1024u /* chunks lie on scattered pages: no hardware reads ahead */

typedef struct builder
{
    ax_task *t;
    ax_ht *ht;
    ax_arena *mem;
    ax_ht_groups *out;
    ax_ht_merge merge;
    void *arg;
    bool distinct;               /* input has no equal rows: no directory needed */
    bool copy;                   /* waiting rows will not stay where they are */
    ax_ht_rows copies;           /* in mem */
    uint32_t n;                  /* rows waiting */
    uint8_t *row[ABSORB_ROWS];
    uint64_t hash[ABSORB_ROWS];
} builder;

static ax_status block_add(builder *b)
{
    ax_ht_groups *g = b->out;
    ax_ht_block *k;

    AX_NEW(b->t, k, ax_arena_alloc(b->mem, sizeof(*k)));
    k->next = NULL;
    k->n = 0;
    if (g->last != NULL)
        g->last->next = k;
    else
        g->first = k;
    g->last = k;
    return AX_OK;
}

static inline ax_status group_add(builder *b, uint8_t *row)
{
    ax_ht_groups *g = b->out;

    if (__builtin_expect(g->last == NULL || g->last->n == AX_HT_BLOCK, 0))
        AX_TRY(block_add(b));
    g->last->row[g->last->n++] = row;
    g->n++;
    return AX_OK;
}

static ax_status keep_copy(builder *b, uint64_t hash, uint8_t **row)
{
    const ax_ht_layout *lay = &b->ht->lay;
    uint8_t *from = *row;

    AX_NEW(b->t, *row, ax_ht_row_add(b->mem, lay, &b->copies, hash, ax_ht_img(lay, from)));
    memcpy(*row + lay->state_off, from + lay->state_off, lay->row_bytes - lay->state_off);
    return lay->borrow_str ? ax_ht_copy_strings(b->t, b->mem, lay, ax_ht_img(lay, *row)) : AX_OK;
}

/* Find or insert the waiting rows; those that are found are listed for merging. */
AX_HT_INLINE ax_status upsert(builder *b, uint8_t **dst, uint8_t **src, uint32_t *nmerge,
                              ax_ht_shape shape)
{
    const ax_ht_layout *lay = &b->ht->lay;
    ax_ht_dir *d = &b->out->dir;
    uint32_t m = 0;

    for (uint32_t i = 0; i < b->n; i++)
    {
        uint8_t *row = b->row[i], *found = NULL;
        const uint64_t *img = ax_ht_img(lay, row);
        uint64_t h = b->hash[i], s = ax_ht_slot_of(d, h);

        for (; d->slot[s] != 0; s = (s + 1) & d->mask)
        {
            uint64_t x = d->slot[s] ^ h << 48;
            uint8_t *r = (uint8_t *) (uintptr_t) x;

            if (x >> 48 == 0 && ax_ht_shape_eq(lay, shape, ax_ht_img(lay, r), img))
            {
                found = r;
                break;
            }
        }
        if (found != NULL)
        {
            dst[m] = found;
            src[m++] = row;
            continue;
        }
        if (__builtin_expect(b->copy, 0))
            AX_TRY(keep_copy(b, h, &row));
        d->slot[s] = h << 48 | (uint64_t) (uintptr_t) row;
        d->n++;
        AX_TRY(group_add(b, row));
    }
    *nmerge = m;
    return AX_OK;
}

#define UPSERT(name, shape)                                                                        \
    static ax_status upsert_##name(builder *b, uint8_t **dst, uint8_t **src, uint32_t *m)          \
    {                                                                                              \
        return upsert(b, dst, src, m, shape);                                                      \
    }
AX_HT_EACH_SHAPE(UPSERT)

static ax_status upsert_rows(builder *b, uint8_t **dst, uint8_t **src, uint32_t *m)
{
    switch (b->ht->lay.shape)
    {
        case AX_HT_W1: return upsert_w1(b, dst, src, m);
        case AX_HT_W2: return upsert_w2(b, dst, src, m);
        case AX_HT_W3: return upsert_w3(b, dst, src, m);
        case AX_HT_W4: return upsert_w4(b, dst, src, m);
        case AX_HT_S: return upsert_s(b, dst, src, m);
        case AX_HT_WS: return upsert_ws(b, dst, src, m);
        default: return upsert_any(b, dst, src, m);
    }
}

static ax_status absorb(builder *b)
{
    uint8_t *dst[ABSORB_ROWS], *src[ABSORB_ROWS];
    uint32_t nmerge = 0;

    if (ax_task_stopped(b->t))
        return ax_fail(b->t, AX_ESTOPPED, "query stopped");
    if (b->distinct)
        for (uint32_t i = 0; i < b->n; i++)
            AX_TRY(group_add(b, b->row[i]));
    else
    {
        while (b->out->dir.n + b->n > b->out->dir.limit)
            AX_TRY(ax_ht_dir_grow(b->t, b->mem, &b->ht->lay, &b->out->dir));
        AX_TRY(upsert_rows(b, dst, src, &nmerge));
    }
    b->n = 0;
    return b->merge != NULL && nmerge > 0 ? b->merge(b->t, b->arg, dst, src, nmerge) : AX_OK;
}

AX_HT_INLINE uint64_t row_hash(const ax_ht_layout *lay, uint8_t *row)
{
    if (lay->stored_hash)
        return *(uint64_t *) (void *) row;
    return lay->shape == AX_HT_W1 ? ax_hash_u64(ax_ht_img(lay, row)[0])
                                  : ax_ht_image_hash(lay, ax_ht_img(lay, row));
}

static inline ax_status take(builder *b, uint8_t *row)
{
    if (!b->distinct)
    {
        uint64_t h = row_hash(&b->ht->lay, row);

        b->hash[b->n] = h;
        __builtin_prefetch(&b->out->dir.slot[ax_ht_slot_of(&b->out->dir, h)]);
    }
    b->row[b->n++] = row;
    return b->n == ABSORB_ROWS ? absorb(b) : AX_OK;
}

static ax_status take_all(builder *b, const ax_ht_rows *rows)
{
    const ax_ht_layout *lay = &b->ht->lay;
    uint32_t row_bytes = lay->row_bytes;
    bool fixed = lay->borrow_str || lay->str_w == lay->kw;

    for (ax_ht_chunk *c = rows->first; c != NULL; c = c->next)
    {
        uint8_t *row = (uint8_t *) (c + 1), *end = row + c->used_bytes;

        if (fixed)
            for (; row < end; row += row_bytes)
            {
                __builtin_prefetch(row + AHEAD_BYTES);
                AX_TRY(take(b, row));
            }
        else
            for (; row < end; row += row_bytes + ax_ht_str_bytes(lay, ax_ht_img(lay, row)))
                AX_TRY(take(b, row));
    }
    return AX_OK;
}

/* A spilled row; NULL: those before are about to go. */
static ax_status take_spilled(void *arg, uint8_t *row)
{
    builder *b = (builder *) arg;

    return row != NULL ? take(b, row) : absorb(b);
}

ax_status ax_ht_null_row(ax_task *t, ax_ht *ht, ax_ht_merge merge, void *arg, uint8_t **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < ht->nlanes; i++)
    {
        uint8_t *src = ht->lane[i]->null_row;

        if (src == NULL)
            continue;
        if (*out == NULL)
            *out = src;
        else if (merge != NULL)
            AX_TRY(merge(t, arg, out, &src, 1));
    }
    return AX_OK;
}

/* Rows to come, and the lanes that have any. */
static uint64_t count_rows(const ax_ht *ht, uint32_t part, uint32_t nparts, uint64_t *staged,
                           uint32_t *lanes)
{
    uint64_t local = 0;

    *staged = 0;
    *lanes = 0;
    for (uint32_t i = 0; i < ht->nlanes; i++)
    {
        const ax_ht_lane *l = ht->lane[i];
        uint64_t mine = l->sorted_end[part + nparts - 1] - (part ? l->sorted_end[part - 1] : 0);

        local += mine;
        for (uint32_t p = part; l->part != NULL && p < part + nparts; p++)
            *staged += l->part[p].n + (l->spilled != NULL ? l->spilled[p].rows : 0);
        *lanes += mine > 0;
    }
    return local;
}

ax_status ax_ht_build(ax_task *t, ax_ht *ht, ax_arena *mem, uint32_t part, uint32_t nparts,
                      bool need_dir, ax_ht_merge merge, void *arg, ax_ht_groups *out)
{
    builder b = {.t = t, .ht = ht, .mem = mem, .out = out, .merge = merge, .arg = arg};
    ax_ht_room room = {.mem = mem};
    uint64_t staged, local;
    uint32_t lanes;

    memset(out, 0, sizeof(*out));
    local = count_rows(ht, part, nparts, &staged, &lanes);
    b.distinct = staged == 0 && lanes <= 1 && !need_dir;
    /* Staged rows may repeat: beyond a size, start low and let the directory grow. */
    if (!b.distinct)
        AX_TRY(ax_ht_dir_init(t, mem, &out->dir,
                              local + (staged < (1u << 16) ? staged : (1u << 16) + staged / 4)));
    for (uint32_t i = 0; i < ht->nlanes; i++)
    {
        ax_ht_lane *l = ht->lane[i];

        for (uint32_t k = part ? l->sorted_end[part - 1] : 0;
             k < l->sorted_end[part + nparts - 1]; k++)
            AX_TRY(take(&b, l->sorted[k]));
    }
    for (uint32_t i = 0; i < ht->nlanes; i++)
        for (uint32_t p = part; ht->lane[i]->part != NULL && p < part + nparts; p++)
            AX_TRY(take_all(&b, &ht->lane[i]->part[p]));
    AX_TRY(absorb(&b));
    b.copy = true;
    for (uint32_t i = 0; i < ht->nlanes; i++)
        for (uint32_t p = part; p < part + nparts; p++)
            AX_TRY(ax_ht_unspill(t, ht, ht->lane[i], &room, p, take_spilled, &b));
    return AX_OK;
}
