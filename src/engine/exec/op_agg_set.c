/* Aggregates over DISTINCT values: sets of (group, value) pairs.
 *
 * Pairs are grouped like rows are (ht_lane.c), without states.  The top bits of a pair's hash are
 * those of its group, the next ones depend on the value too: with many groups a part owns all pairs
 * of its groups, and with few groups, or none, the pairs of one group are still spread over parts.
 * What is counted in the end is each pair once. */
#include "exec/agg_int.h"
#include "exec/ht_image.h"

#include <string.h>
#include <sys/auxv.h>

#define GROUP_BITS 6u /* parts of the groups */
#define PAIR_BITS 10u /* partitions of the pairs, */
#define FEW_PAIR_BITS 7u /* where each of them having a chunk would be too much memory: */
#define FEW_BELOW ((int64_t) 32 << 20) /* limit for a lane */

/* ---- set-up --------------------------------------------------------------------------------- */

ax_status ax_agg_set_for(ax_task *t, ax_agg *g, const ax_agg_arg *a, int32_t *set)
{
    ax_agg_set *s;

    for (uint32_t i = 0; i < g->nsets; i++)
        if (g->set[i].arg_col == a->arg_col && g->set[i].filter_col == a->filter_col)
        {
            *set = (int32_t) i;
            return AX_OK;
        }
    if (g->set == NULL)
        AX_NEW(t, g->set, ax_arena_alloc0(g->arena, sizeof(*g->set) * g->nargs));
    s = &g->set[g->nsets];
    s->arg_col = a->arg_col;
    s->filter_col = a->filter_col;
    s->arg_type = a->arg_type;
    *set = (int32_t) g->nsets++;
    return AX_OK;
}

/* Keys of the hashes that stand for strings: nobody outside can choose colliding strings. */
static void pick_hash_key(ax_agg *g)
{
    const uint8_t *random = (const uint8_t *) (uintptr_t) getauxval(AT_RANDOM);

    g->hash_key[0] = AX_HASH_K0;
    g->hash_key[1] = AX_HASH_K1;
    if (random != NULL)
        memcpy(g->hash_key, random, sizeof(g->hash_key));
    g->hash_key[0] ^= ax_hash_u64(ax_dict_uid());
}

/* The image of a pair: value, then group. */
static ax_status pair_layout(ax_task *t, ax_agg *g, ax_agg_set *s)
{
    const ax_ht_layout *group = &g->ht.lay;
    ax_ht_layout *pair = &s->ht.lay;
    ax_type type = ax_type_is_str(s->arg_type) ? ax_type_make(AX_T_UUID) : s->arg_type;

    AX_TRY(ax_ht_layout_init(t, g->arena, &s->value, &type, 1, 0, true));
    *pair = (ax_ht_layout){.kw = s->value.kw + group->kw, .str_w = s->value.kw + group->str_w,
                           .borrow_str = true, .stored_hash = g->nkeys > 0};
    AX_CHECK(t, pair->kw <= AX_HT_MAX_WORDS, AX_EUNSUPPORTED, "too many grouping columns");
    AX_NEW(t, pair->mask, ax_arena_alloc(g->arena, sizeof(*pair->mask) * (pair->kw + 1)));
    memcpy(pair->mask, s->value.mask, sizeof(*pair->mask) * s->value.kw);
    memcpy(pair->mask + s->value.kw, group->mask, sizeof(*pair->mask) * group->kw);
    pair->shape = ax_ht_find_shape(pair);
    pair->img_off = pair->stored_hash ? 8 : 0;
    pair->state_off = pair->row_bytes = pair->img_off + pair->kw * 8;
    s->value.img_off = pair->img_off; /* so that values can be read from rows of pairs */
    return AX_OK;
}

ax_status ax_agg_sets_init(ax_task *t, ax_agg *g, const ax_agg_spec *spec)
{
    pick_hash_key(g);
    for (uint32_t i = 0; i < g->nsets; i++)
    {
        AX_TRY(pair_layout(t, g, &g->set[i]));
        AX_TRY(ax_ht_init(t, g->arena, &g->set[i].ht, g->b.nlanes, g->busy, 0, 0));
        g->set[i].ht.pbits = t->budget->limit_bytes / g->b.nlanes < FEW_BELOW ? FEW_PAIR_BITS
                                                                              : PAIR_BITS;
        ax_ht_share(&g->set[i].ht, spec->spill, 1 + g->nsets);
    }
    return AX_OK;
}

void ax_agg_sets_fini(ax_agg *g)
{
    for (uint32_t i = 0; i < g->nsets; i++)
        ax_ht_fini(&g->set[i].ht);
}

/* ---- input ---------------------------------------------------------------------------------- */

/* 128-bit hashes of the strings sel[0..n) of v as a column of 16-byte values. */
static ax_status hash_strings(ax_task *t, const ax_agg *g, ax_arena *scratch, const ax_vec *v,
                              const uint16_t *sel, uint32_t n, ax_vec *out)
{
    ax_hash128 *h;

    AX_NEW(t, h, ax_arena_values(scratch, sizeof(*h) * n));
    for (uint32_t i = 0; i < n; i++)
    {
        uint32_t len;
        const uint8_t *p = ax_vec_str(v, sel[i], &len);

        if (v->type.id == AX_T_BPCHAR)
            len = ax_bpchar_len(p, len);
        h[i] = ax_hash128_bytes(p, len, g->hash_key[0], g->hash_key[1]);
    }
    *out = (ax_vec){.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_UUID), .n = n, .u.data = h};
    return AX_OK;
}

/* Put values and groups together in l->img, and their hashes in l->hash. */
static void pair_images(const ax_agg *g, const ax_agg_set *s, ax_ht_lane *l, const uint64_t *value,
                        const uint64_t *value_hash, uint8_t *const *row, const uint16_t *keep,
                        uint32_t n)
{
    const uint32_t vw = s->value.kw, gw = g->ht.lay.kw;
    const uint64_t low = ~(uint64_t) 0 >> GROUP_BITS;
    uint64_t *o = l->img;

    for (uint32_t i = 0; i < n; i++, o += vw + gw)
    {
        uint8_t *r = row[keep[i]];
        const uint64_t *img = ax_ht_img(&g->ht.lay, r);
        uint64_t h = g->ht.lay.shape == AX_HT_W1 ? ax_hash_u64(img[0])
                                                 : ax_ht_row_hash(&g->ht.lay, r);

        for (uint32_t w = 0; w < vw; w++)
            o[w] = value[(size_t) i * vw + w];
        for (uint32_t w = 0; w < gw; w++)
            o[vw + w] = img[w];
        l->hash[i] = (ax_hash_combine(h, value_hash[i]) & low) | (h & ~low);
    }
}

static ax_status set_put(ax_task *t, ax_agg *g, ax_agg_set *s, uint32_t lane, const ax_batch *in,
                         uint8_t *const *row)
{
    ax_ht_lane *l = s->ht.lane[lane];
    const uint8_t *trash = g->ht.lane[lane]->trash, *skip, *null;
    uint32_t n = 0;
    uint64_t *value = l->img, *hash = l->hash;
    const uint16_t *sel;
    uint8_t **pair;
    uint16_t *keep;
    ax_vec v, h;
    const ax_vec *col = &v;

    ax_arena_reset(l->scratch);
    AX_TRY(ax_agg_load_column(t, l->scratch, in, s->arg_col, &v));
    AX_TRY(ax_agg_load_skip(t, l->scratch, in, s->filter_col, v.null, &skip));
    v.null = NULL; /* skipped */
    AX_NEW(t, keep, ax_arena_values(l->scratch, sizeof(*keep) * in->nsel));
    for (uint32_t i = 0; i < in->nsel; i++)
    {
        keep[n] = (uint16_t) i;
        n += (skip == NULL || !skip[i]) && (row == NULL || row[i] != trash);
    }
    if (n == 0)
        return AX_OK;
    sel = n == in->nsel ? NULL : keep;
    if (ax_type_is_str(s->arg_type))
    {
        AX_TRY(hash_strings(t, g, l->scratch, &v, keep, n, &h));
        col = &h;
        sel = NULL;
    }
    AX_NEW(t, pair, ax_arena_values(l->scratch, sizeof(*pair) * n));
    if (row != NULL)
    {
        AX_NEW(t, value, ax_arena_values(l->scratch, sizeof(*value) * n * s->value.kw));
        AX_NEW(t, hash, ax_arena_values(l->scratch, sizeof(*hash) * n));
    }
    AX_TRY(ax_ht_images(t, &s->value, l->scratch, &col, sel, n, value, hash, &null));
    if (row != NULL)
        pair_images(g, s, l, value, hash, row, keep, n);
    return ax_ht_resolve_images(t, &s->ht, l, n, NULL, pair);
}

ax_status ax_agg_sets_put(ax_task *t, ax_agg *g, uint32_t lane, const ax_batch *in,
                          uint8_t *const *row)
{
    for (uint32_t i = 0; i < g->nsets; i++)
        AX_TRY(set_put(t, g, &g->set[i], lane, in, row));
    return AX_OK;
}

ax_status ax_agg_sets_relieve(ax_task *t, ax_agg *g, uint32_t lane)
{
    for (uint32_t i = 0; i < g->nsets; i++)
    {
        ax_ht *ht = &g->set[i].ht;
        bool due;

        AX_TRY(ax_ht_relieve(t, ht, ht->lane[lane], &due));
        if (due)
            AX_TRY(ax_ht_spill(t, ht, ht->lane[lane]));
    }
    return AX_OK;
}

ax_status ax_agg_sets_let_go(ax_task *t, ax_agg *g, uint32_t lane)
{
    for (uint32_t i = 0; i < g->nsets; i++)
    {
        ax_ht *ht = &g->set[i].ht;

        if (ht->lay.str_w == ht->lay.kw)
            continue;
        AX_TRY(ax_ht_spill(t, ht, ht->lane[lane]));
        AX_TRY(ax_ht_own_strings(t, ht, ht->lane[lane]));
    }
    return AX_OK;
}

ax_status ax_agg_sets_end(ax_task *t, ax_agg *g, uint32_t lane)
{
    for (uint32_t i = 0; i < g->nsets; i++)
    {
        ax_arena_reset(g->set[i].ht.lane[lane]->scratch);
        AX_TRY(ax_ht_lane_end(t, &g->set[i].ht, g->set[i].ht.lane[lane]));
    }
    return AX_OK;
}

/* ---- counting the pairs --------------------------------------------------------------------- */

bool ax_agg_sets_large(const ax_agg *g)
{
    uint64_t pairs = 0;

    for (uint32_t i = 0; i < g->nsets; i++)
        for (uint32_t k = 0; k < g->b.nlanes; k++)
            pairs += g->set[i].ht.lane[k]->local.n + g->set[i].ht.lane[k]->staged;
    return pairs > 32768;
}

/* Where a group's number stands while its set steps are empty. */
uint64_t *ax_agg_ordinal(const ax_agg *g, uint8_t *row)
{
    uint32_t i = 0;

    while (g->step[i].set < 0)
        i++;
    return (uint64_t *) (void *) (row + g->step[i].off);
}

typedef struct apply
{
    ax_agg *g;
    ax_agg_set *s;
    int32_t set;
    const ax_ht_dir *dir;
    uint8_t *acc, *one;
    ax_arena *mem;
} apply;

/* State rows of the groups of n pairs. */
static void find_groups(const apply *a, uint8_t *const *pair, uint32_t n, uint8_t **row)
{
    const ax_ht_layout *lay = &a->g->ht.lay;
    uint64_t hash[AX_HT_BLOCK];

    for (uint32_t i = 0; i < n; i++)
    {
        hash[i] = ax_ht_image_hash(lay, ax_ht_img(&a->s->ht.lay, pair[i]) + a->s->value.kw);
        __builtin_prefetch(&a->dir->slot[ax_ht_slot_of(a->dir, hash[i])]);
    }
    for (uint32_t i = 0; i < n; i++)
    {
        row[i] = ax_ht_dir_find(lay, a->dir, hash[i],
                                ax_ht_img(&a->s->ht.lay, pair[i]) + a->s->value.kw);
        if (a->acc != NULL)
            row[i] = a->acc + *ax_agg_ordinal(a->g, row[i]) * lay->row_bytes;
    }
}

static ax_status apply_block(ax_task *t, const apply *a, ax_ht_block *k)
{
    uint8_t *row[AX_HT_BLOCK];
    ax_step_in in = {.skip = NULL};
    bool loaded = false;

    if (a->one == NULL)
        find_groups(a, k->row, k->n, row);
    for (uint32_t i = 0; i < a->g->nsteps; i++)
    {
        const ax_step *step = &a->g->step[i];

        if (step->set != a->set)
            continue;
        if (step->op != AX_STEP_COUNT && !loaded)
        {
            AX_TRY(ax_ht_key_vec(t, a->mem, &a->s->value, 0, k->row, k->n, NULL, &in.v));
            loaded = true;
        }
        AX_TRY(ax_step_update(t, step, a->mem, a->mem, row, a->one, k->n, &in));
    }
    return AX_OK;
}

static ax_status apply_partition(ax_task *t, apply *a, uint32_t part)
{
    ax_ht_groups pairs;

    AX_TRY(ax_ht_build(t, &a->s->ht, a->mem, part, 1, false, NULL, NULL, &pairs));
    for (ax_ht_block *k = pairs.first; k != NULL; k = k->next)
        AX_TRY(apply_block(t, a, k));
    return AX_OK;
}

ax_status ax_agg_sets_apply(ax_task *t, ax_agg *g, uint32_t part, uint32_t nparts,
                            const ax_ht_dir *dir, uint8_t *acc, uint8_t *one)
{
    apply a = {.g = g, .dir = dir, .acc = acc, .one = one};
    ax_status st = AX_OK;

    AX_NEW(t, a.mem, ax_arena_create(t->budget, 0));
    for (uint32_t i = 0; i < g->nsets && st == AX_OK; i++)
    {
        uint32_t all = 1u << g->set[i].ht.pbits;
        uint32_t first = part * all / nparts, end = (part + 1) * all / nparts;

        a.s = &g->set[i];
        a.set = (int32_t) i;
        for (uint32_t p = first; p < end && st == AX_OK; p++)
        {
            st = apply_partition(t, &a, p);
            ax_arena_reset(a.mem);
        }
    }
    ax_arena_destroy(a.mem);
    return st;
}
