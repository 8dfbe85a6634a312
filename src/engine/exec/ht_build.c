/* Builds the final groups of some partitions from the rows of all lanes.
 *
 * Rows of the lanes' own tables come first: they are the frequent groups, and later rows merge into
 * them.  A row that finds no equal becomes the group where it stands. */
#include "exec/ht_int.h"

#include <string.h>

#define ABSORB_ROWS 256u

typedef struct builder
{
    ax_task *t;
    ax_ht *ht;
    ax_arena *mem;
    ax_ht_groups *out;
    ax_ht_merge merge;
    void *arg;
    bool distinct;               /* input has no equal rows: no directory needed */
    uint32_t n;                  /* rows waiting */
    uint8_t *row[ABSORB_ROWS];
    uint64_t hash[ABSORB_ROWS];
} builder;

static ax_status group_add(builder *b, uint8_t *row)
{
    ax_ht_groups *g = b->out;

    if (g->last == NULL || g->last->n == AX_HT_BLOCK)
    {
        ax_ht_block *k;

        AX_NEW(b->t, k, ax_arena_alloc(b->mem, sizeof(*k)));
        k->next = NULL;
        k->n = 0;
        if (g->last != NULL)
            g->last->next = k;
        else
            g->first = k;
        g->last = k;
    }
    g->last->row[g->last->n++] = row;
    g->n++;
    return AX_OK;
}

static ax_status absorb(builder *b)
{
    const ax_ht_layout *lay = &b->ht->lay;
    ax_ht_dir *d = &b->out->dir;
    uint8_t *dst[ABSORB_ROWS], *src[ABSORB_ROWS];
    uint32_t nmerge = 0;

    if (ax_task_stopped(b->t))
        return ax_fail(b->t, AX_ESTOPPED, "query stopped");
    while (!b->distinct && d->n + b->n > d->limit)
        AX_TRY(ax_ht_dir_grow(b->t, b->mem, lay, d));
    for (uint32_t i = 0; i < b->n; i++)
    {
        uint8_t *found = b->distinct
            ? NULL : ax_ht_dir_find(lay, d, b->hash[i], ax_ht_img(lay, b->row[i]));

        if (found != NULL)
        {
            dst[nmerge] = found;
            src[nmerge++] = b->row[i];
            continue;
        }
        if (!b->distinct)
            ax_ht_dir_put(d, b->hash[i], b->row[i]);
        AX_TRY(group_add(b, b->row[i]));
    }
    b->n = 0;
    return b->merge != NULL ? b->merge(b->t, b->arg, dst, src, nmerge) : AX_OK;
}

static inline ax_status take(builder *b, uint8_t *row)
{
    const ax_ht_layout *lay = &b->ht->lay;

    if (!b->distinct)
    {
        b->hash[b->n] = ax_ht_row_hash(lay, row);
        __builtin_prefetch(&b->out->dir.slot[ax_ht_slot_of(&b->out->dir, b->hash[b->n])]);
    }
    b->row[b->n++] = row;
    return b->n == ABSORB_ROWS ? absorb(b) : AX_OK;
}

static ax_status take_all(builder *b, const ax_ht_rows *rows)
{
    const ax_ht_layout *lay = &b->ht->lay;

    for (ax_ht_chunk *c = rows->first; c != NULL; c = c->next)
    {
        uint8_t *row = (uint8_t *) (c + 1), *end = row + c->used_bytes;

        for (; row < end; row += lay->row_bytes + ax_ht_str_bytes(lay, ax_ht_img(lay, row)))
            AX_TRY(take(b, row));
    }
    return AX_OK;
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
            *staged += l->part[p].n;
        *lanes += mine > 0;
    }
    return local;
}

ax_status ax_ht_build(ax_task *t, ax_ht *ht, ax_arena *mem, uint32_t part, uint32_t nparts,
                      bool need_dir, ax_ht_merge merge, void *arg, ax_ht_groups *out)
{
    builder b = {.t = t, .ht = ht, .mem = mem, .out = out, .merge = merge, .arg = arg};
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
    return absorb(&b);
}
