/* Turns the rows of a batch into addresses of their groups, for one lane.
 *
 * Hashes of the whole batch come first, so that the directory can be prefetched when it has
 * outgrown the cache.  A row whose key equals its predecessor's takes that one's group without a
 * look-up; data sorted or clustered by the key makes runs. */
#include "exec/ht_image.h"

#include <string.h>

/* Groups of a lane's own table: what fits a second-level cache; with few lanes more, since then a
 * look-up that misses that cache is cheaper than a row staged and drained. */
#define FREEZE_ROWS 16384u
#define FREEZE_BYTES ((uint64_t) 1 << 20)
#define FEW_LANES 8u
#define OWN_SHARE 16u /* of a tight memory limit, for the own tables of all lanes */
#define OWN_LEAST_ROWS 1024u
#define PREFETCH_ROWS 16u
#define CACHE_BYTES ((uint64_t) 512 << 10) /* half of a second-level cache */
#define PARTITION_BYTES 1e6 /* estimated, of one that is built: more partitions cost in staging */
#define BYPASS_ROWS ((uint64_t) 256 << 10)
#define RECENT_PAYS 8u /* one row in so many that would be staged must be found there */
#define THAW_ROWS ((uint64_t) 512 << 10)
#define THAW_BYTES 300u /* staged bytes of a key behind its first row: a larger table pays */
#define QUOTA_BYTES ((uint64_t) 256 << 10)
#define CHOSEN_MAX 16384

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Only a table that is frozen has partitions, so an estimate of few groups is as good as none. */
static uint32_t partition_bits(const ax_ht_layout *lay, double est_groups)
{
    double bytes = est_groups * 2 * (lay->row_bytes + 16);
    uint32_t bits = 8;

    while (bits < 12 && bytes > PARTITION_BYTES * (double) (1u << bits))
        bits++;
    return bits;
}

static ax_status lane_init(ax_task *t, ax_arena *a, const ax_ht *ht, ax_ht_lane **out)
{
    uint64_t kw = ht->lay.kw > 0 ? ht->lay.kw : 1;
    ax_ht_lane *l;

    AX_NEW(t, l, ax_arena_alloc0(a, sizeof(*l) + 128)); /* no line shared between lanes */
    *out = l;
    l->freeze_rows = ht->freeze_rows;
    l->bypass_rows = BYPASS_ROWS;
    l->thaw_rows = THAW_ROWS;
    l->quota_bytes = QUOTA_BYTES;
    AX_NEW(t, l->mem, ax_arena_create(t->budget, 0));
    AX_NEW(t, l->scratch, ax_arena_create(t->budget, 0));
    AX_NEW(t, l->img, ax_arena_values(l->mem, sizeof(uint64_t) * AX_BATCH_ROWS * kw));
    AX_NEW(t, l->hash, ax_arena_values(l->mem, sizeof(uint64_t) * AX_BATCH_ROWS));
    return ax_ht_dir_init(t, l->mem, &l->dir, 512);
}

ax_status ax_ht_init(ax_task *t, ax_arena *a, ax_ht *ht, uint32_t nlanes, uint32_t busy,
                     double est_groups, int64_t group_limit)
{
    ht->nlanes = nlanes;
    ht->tables = 1;
    ht->pbits = partition_bits(&ht->lay, est_groups);
    ht->freeze_rows = FREEZE_BYTES / (ht->lay.row_bytes + 16);
    if (ht->freeze_rows > FREEZE_ROWS)
        ht->freeze_rows = FREEZE_ROWS;
    if (busy <= FEW_LANES)
        ht->freeze_rows *= 4;
    /* A larger choice of groups would be frozen before it is complete. */
    ht->group_limit = group_limit <= CHOSEN_MAX ? group_limit : 0;
    atomic_init(&ht->full, false);
    AX_NEW(t, ht->lane, ax_arena_alloc0(a, sizeof(*ht->lane) * nlanes));
    for (uint32_t i = 0; i < nlanes; i++)
        AX_TRY(lane_init(t, a, ht, &ht->lane[i]));
    if (ht->group_limit > 0)
    {
        ht->freeze_rows = UINT64_MAX;
        for (uint32_t i = 0; i < nlanes; i++)
            ht->lane[i]->freeze_rows = UINT64_MAX;
        AX_NEW(t, ht->chosen_mem, ax_arena_create(t->budget, 0));
        AX_TRY(ax_ht_dir_init(t, ht->chosen_mem, &ht->chosen, (uint64_t) ht->group_limit));
        pthread_mutex_init(&ht->lock, NULL);
        ht->has_lock = true;
    }
    return AX_OK;
}

void ax_ht_share(ax_ht *ht, ax_spill *spill, uint32_t tables)
{
    uint64_t most;

    ht->spill = spill;
    ht->tables = tables;
    if (spill == NULL || ht->group_limit > 0)
        return;
    most = (uint64_t) spill->budget->limit_bytes / OWN_SHARE / ht->nlanes / tables
         / (ht->lay.row_bytes + 16);
    most = most < OWN_LEAST_ROWS ? OWN_LEAST_ROWS : most;
    for (uint32_t i = 0; i < ht->nlanes; i++)
        if (ht->lane[i]->freeze_rows > most)
            ht->lane[i]->freeze_rows = most;
}

void ax_ht_fini(ax_ht *ht)
{
    for (uint32_t i = 0; ht->lane != NULL && i < ht->nlanes; i++)
        if (ht->lane[i] != NULL)
        {
            ax_arena_destroy(ht->lane[i]->scratch);
            ax_arena_destroy(ht->lane[i]->mem);
            ht->lane[i] = NULL;
        }
    ax_arena_destroy(ht->chosen_mem);
    ht->chosen_mem = NULL;
    if (ht->has_lock)
        pthread_mutex_destroy(&ht->lock);
    ht->has_lock = false;
}

/* ---- groups that are not in the directory ---------------------------------------------------- */

ax_status ax_ht_freeze(ax_task *t, const ax_ht *ht, ax_ht_lane *l)
{
    if (l->part == NULL)
    {
        AX_NEW(t, l->part, ax_arena_alloc0(l->mem, sizeof(*l->part) << ht->pbits));
        for (uint32_t p = 0; ht->spill != NULL && p < 1u << ht->pbits; p++)
            l->part[p].spare = &l->spare;
        AX_NEW(t, l->sample, ax_arena_alloc0(l->mem, sizeof(*l->sample) * AX_HT_SAMPLE));
        AX_NEW(t, l->recent, ax_arena_alloc0(l->mem, sizeof(*l->recent) * AX_HT_RECENT));
    }
    l->frozen = true;
    l->bypass = false;
    l->probed = l->missed = l->again = 0;
    return AX_OK;
}

/* Where a staged row of this hash is remembered: rare keys often come back soon. */
static inline uint64_t *recent_slot(const ax_ht_lane *l, uint64_t hash)
{
    return &l->recent[hash >> 24 & (AX_HT_RECENT - 1)];
}

static inline void remember(ax_ht_lane *l, uint64_t hash, uint8_t *row)
{
    if (l->recent != NULL)
        *recent_slot(l, hash) = hash << 48 | (uint64_t) (uintptr_t) row;
}

/* Look at one staged row in 256, chosen by hash, to learn how often staged keys repeat: with many
 * repeats a larger table of this lane beats a record for each row. */
static void sample_staged(ax_ht_lane *l, uint64_t hash)
{
    uint32_t s = (uint32_t) (hash >> 28) & (AX_HT_SAMPLE - 1);

    l->sample_rows++;
    if (l->sample_n >= AX_HT_SAMPLE / 2)
        return;
    for (; l->sample[s] != 0; s = (s + 1) & (AX_HT_SAMPLE - 1))
        if (l->sample[s] == hash)
            return;
    l->sample[s] = hash;
    l->sample_n++;
}

static void maybe_thaw(const ax_ht *ht, ax_ht_lane *l)
{
    uint64_t row_bytes = ht->lay.row_bytes + l->staged_str_bytes / l->staged;

    l->staged_mark = l->staged;
    if (l->sample_n >= AX_HT_SAMPLE / 2
        || (l->sample_rows - l->sample_n) * row_bytes <= THAW_BYTES * (uint64_t) l->sample_n)
        return;
    l->frozen = false;
    l->bypass = false;
    l->freeze_rows *= 4;
    l->sample_n = l->sample_rows = 0;
    memset(l->sample, 0, sizeof(*l->sample) * AX_HT_SAMPLE);
}

static ax_status stage(ax_task *t, const ax_ht *ht, ax_ht_lane *l, uint64_t hash,
                       const uint64_t *img, uint8_t **row)
{
    ax_ht_rows *p = &l->part[hash >> (64 - ht->pbits)];

    AX_NEW(t, *row, ax_ht_row_add(l->mem, &ht->lay, p, hash, img));
    remember(l, hash, *row);
    l->staged++;
    l->staged_str_bytes += ax_ht_str_bytes(&ht->lay, img);
    if ((hash >> 20 & 255) == 0)
        sample_staged(l, hash);
    return AX_OK;
}

static ax_status insert(ax_task *t, const ax_ht *ht, ax_ht_lane *l, uint64_t hash,
                        const uint64_t *img, uint8_t **row)
{
    if (l->dir.n >= l->dir.limit)
        AX_TRY(ax_ht_dir_grow(t, l->mem, &ht->lay, &l->dir));
    AX_NEW(t, *row, ax_ht_row_add(l->mem, &ht->lay, &l->local, hash, img));
    ax_ht_dir_put(&l->dir, hash, *row);
    return AX_OK;
}

/* May this new group be kept?  The first group_limit keys of all lanes are chosen; afterwards the
 * set is only read. */
static ax_status choose(ax_task *t, ax_ht *ht, uint64_t hash, const uint64_t *img, bool *kept)
{
    ax_status s = AX_OK;
    uint8_t *row;

    if (atomic_load_explicit(&ht->full, memory_order_acquire))
    {
        *kept = ax_ht_dir_find(&ht->lay, &ht->chosen, hash, img) != NULL;
        return AX_OK;
    }
    pthread_mutex_lock(&ht->lock);
    *kept = ax_ht_dir_find(&ht->lay, &ht->chosen, hash, img) != NULL;
    if (!*kept && ht->chosen.n < (uint64_t) ht->group_limit)
    {
        row = ax_ht_row_add(ht->chosen_mem, &ht->lay, &ht->chosen_rows, hash, img);
        if (row != NULL)
        {
            ax_ht_dir_put(&ht->chosen, hash, row);
            *kept = true;
        }
        else
            s = ax_fail_nomem(t, 0);
        if (ht->chosen.n >= (uint64_t) ht->group_limit)
            atomic_store_explicit(&ht->full, true, memory_order_release);
    }
    pthread_mutex_unlock(&ht->lock);
    return s;
}

static ax_status trash_row(ax_task *t, const ax_ht *ht, ax_ht_lane *l, uint8_t **row)
{
    if (l->trash == NULL)
        AX_NEW(t, l->trash, ax_arena_alloc0(l->mem, ht->lay.row_bytes));
    *row = l->trash;
    return AX_OK;
}

static __attribute__((noinline)) ax_status missing(ax_task *t, ax_ht *ht, ax_ht_lane *l,
                                                   uint64_t hash, const uint64_t *img,
                                                   uint8_t **row)
{
    bool kept = true;

    if (l->frozen)
    {
        l->missed++;
        return stage(t, ht, l, hash, img, row);
    }
    if (ht->group_limit > 0)
    {
        AX_TRY(choose(t, ht, hash, img, &kept));
        if (!kept)
            return trash_row(t, ht, l, row);
    }
    if (l->local.n >= l->freeze_rows)
    {
        AX_TRY(ax_ht_freeze(t, ht, l));
        return stage(t, ht, l, hash, img, row);
    }
    return insert(t, ht, l, hash, img, row);
}

static ax_status null_row(ax_task *t, ax_ht *ht, ax_ht_lane *l, uint8_t **row)
{
    if (l->null_row == NULL)
        AX_NEW(t, l->null_row, ax_arena_alloc0(l->mem, ht->lay.row_bytes));
    *row = l->null_row;
    return AX_OK;
}

/* ---- look-up --------------------------------------------------------------------------------- */

static inline void prefetch_slot(const ax_ht_dir *d, uint64_t hash)
{
    __builtin_prefetch(&d->slot[ax_ht_slot_of(d, hash)]);
}

/* The row a slot most likely leads to, half the distance later than the slot itself. */
AX_HT_INLINE void prefetch_row(const ax_ht_dir *d, uint64_t hash, ax_ht_shape shape)
{
    const uint8_t *row = (const uint8_t *) (uintptr_t) (d->slot[ax_ht_slot_of(d, hash)]
                                                        & AX_HT_PTR_MASK);

    __builtin_prefetch(row);
    if (shape == AX_HT_S || shape == AX_HT_WS || shape == AX_HT_ANY)
        __builtin_prefetch(row + 64); /* bytes of strings stand behind the row */
}

AX_HT_INLINE uint8_t *look_up(const ax_ht *ht, const ax_ht_dir *d, uint64_t h,
                              const uint64_t *img, ax_ht_shape shape)
{
    for (uint64_t s = ax_ht_slot_of(d, h); d->slot[s] != 0; s = (s + 1) & d->mask)
    {
        uint64_t x = d->slot[s] ^ h << 48;
        uint8_t *row = (uint8_t *) (uintptr_t) x;

        if (x >> 48 == 0 && ax_ht_shape_eq(&ht->lay, shape, ax_ht_img(&ht->lay, row), img))
            return row;
    }
    return NULL;
}

/* Stage without a call, if there is room and nothing special about the row. */
AX_HT_INLINE uint8_t *stage_fast(const ax_ht *ht, ax_ht_lane *l, uint64_t h, const uint64_t *img,
                                 ax_ht_shape shape)
{
    uint8_t *row;

    if (!l->frozen || (h >> 20 & 255) == 0 || (!ht->lay.borrow_str && ax_ht_shape_long(shape, img)))
        return NULL;
    row = ax_ht_row_fast(&ht->lay, shape, &l->part[h >> (64 - ht->pbits)], h, img);
    if (row == NULL)
        return NULL;
    remember(l, h, row);
    l->staged++;
    l->missed++;
    return row;
}

AX_HT_INLINE uint8_t *look_recent(const ax_ht *ht, ax_ht_lane *l, uint64_t h, const uint64_t *img,
                                  ax_ht_shape shape)
{
    uint64_t x;
    uint8_t *row;

    if (!l->frozen || l->recent == NULL)
        return NULL;
    x = *recent_slot(l, h) ^ h << 48;
    row = (uint8_t *) (uintptr_t) x;
    if (x >> 48 != 0 || x == 0 || !ax_ht_shape_eq(&ht->lay, shape, ax_ht_img(&ht->lay, row), img))
        return NULL;
    l->again++;
    return row;
}

AX_HT_INLINE ax_status probe(ax_task *t, ax_ht *ht, ax_ht_lane *l, uint32_t n, const uint8_t *null,
                             uint8_t **row, ax_ht_shape shape, bool far)
{
    const uint32_t kw = ax_ht_shape_words(&ht->lay, shape);
    const uint64_t *hash = l->hash, *img = l->img;
    uint8_t *found = NULL;

    for (uint32_t i = 0; i < n; i++, img += kw)
    {
        uint64_t h = hash[i];

        if (far && i + PREFETCH_ROWS < n)
        {
            prefetch_slot(&l->dir, hash[i + PREFETCH_ROWS]);
            prefetch_row(&l->dir, hash[i + PREFETCH_ROWS / 2], shape);
        }
        if (null != NULL && null[i])
        {
            AX_TRY(null_row(t, ht, l, &row[i]));
            continue;
        }
        if (i > 0 && h == hash[i - 1] && (null == NULL || !null[i - 1])
            && ax_ht_shape_eq(&ht->lay, shape, img, img - kw))
        {
            row[i] = found;
            continue;
        }
        found = l->bypass ? NULL : look_up(ht, &l->dir, h, img, shape);
        if (found == NULL)
            found = look_recent(ht, l, h, img, shape);
        if (found == NULL)
            found = stage_fast(ht, l, h, img, shape);
        if (found == NULL)
            AX_TRY(missing(t, ht, l, h, img, &found));
        row[i] = found;
    }
    return AX_OK;
}

#define PROBE(name, shape)                                                                         \
    static ax_status probe_##name(ax_task *t, ax_ht *ht, ax_ht_lane *l, uint32_t n,                \
                                  const uint8_t *null, uint8_t **row, bool far)                    \
    {                                                                                              \
        return far ? probe(t, ht, l, n, null, row, shape, true)                                    \
                   : probe(t, ht, l, n, null, row, shape, false);                                  \
    }
AX_HT_EACH_SHAPE(PROBE)

ax_status ax_ht_resolve_images(ax_task *t, ax_ht *ht, ax_ht_lane *l, uint32_t n,
                               const uint8_t *null, uint8_t **row)
{
    bool far = !l->bypass
            && (l->dir.mask + 1) * 8 + l->local.n * ht->lay.row_bytes > CACHE_BYTES;

    if (l->frozen)
    {
        l->probed += n;
        if (l->probed >= l->bypass_rows)
        {
            l->bypass |= (l->missed + l->again) * 4 > l->probed * 3;
            if (l->again * RECENT_PAYS < l->missed + l->again)
                l->recent = NULL;
            l->probed = l->missed = l->again = 0;
        }
        if (l->staged - l->staged_mark >= l->thaw_rows
            && (ht->spill == NULL || !ax_spill_pressed(ht->spill, 4)))
            maybe_thaw(ht, l);
    }
    switch (ht->lay.shape)
    {
        case AX_HT_W1: return probe_w1(t, ht, l, n, null, row, far);
        case AX_HT_W2: return probe_w2(t, ht, l, n, null, row, far);
        case AX_HT_W3: return probe_w3(t, ht, l, n, null, row, far);
        case AX_HT_W4: return probe_w4(t, ht, l, n, null, row, far);
        case AX_HT_S: return probe_s(t, ht, l, n, null, row, far);
        case AX_HT_WS: return probe_ws(t, ht, l, n, null, row, far);
        default: return probe_any(t, ht, l, n, null, row, far);
    }
}

ax_status ax_ht_hash_resolve(ax_task *t, ax_ht *ht, ax_ht_lane *l, const ax_vec *const *col,
                             const uint16_t *sel, uint32_t n, uint8_t **row)
{
    const uint8_t *null;

    AX_TRY(ax_ht_images(t, &ht->lay, l->scratch, col, sel, n, l->img, l->hash, &null));
    return ax_ht_resolve_images(t, ht, l, n, null, row);
}

ax_status ax_ht_resolve(ax_task *t, ax_ht *ht, ax_ht_lane *l, const ax_vec *const *col,
                        const uint16_t *sel, uint32_t n, uint8_t **row)
{
    bool done;

    AX_TRY(ax_ht_dense_resolve(t, ht, l, col, sel, n, row, &done));
    return done ? AX_OK : ax_ht_hash_resolve(t, ht, l, col, sel, n, row);
}

/* ---- end of input ---------------------------------------------------------------------------- */

/* Sort the addresses of local rows by partition, so that each build finds its own. */
ax_status ax_ht_lane_end(ax_task *t, ax_ht *ht, ax_ht_lane *l)
{
    uint32_t nparts = 1u << ht->pbits, shift = 64 - ht->pbits;
    uint32_t *at;
    const ax_ht_layout *lay = &ht->lay;

    ax_ht_rows_close(&l->local);
    for (uint32_t p = 0; l->part != NULL && p < nparts; p++)
        ax_ht_rows_close(&l->part[p]);
    AX_CHECK(t, l->local.n < UINT32_MAX, AX_ELIMIT, "too many groups");
    AX_NEW(t, l->sorted, ax_arena_alloc(l->mem, sizeof(*l->sorted) * (l->local.n + 1)));
    AX_NEW(t, at, ax_arena_alloc0(l->mem, sizeof(*at) * (nparts + 1)));
    l->sorted_end = at;
    for (uint32_t pass = 0; pass < 2; pass++)
    {
        for (ax_ht_chunk *c = l->local.first; c != NULL; c = c->next)
        {
            uint8_t *row = (uint8_t *) (c + 1), *end = row + c->used_bytes;

            for (; row < end; row += lay->row_bytes + ax_ht_str_bytes(lay, ax_ht_img(lay, row)))
            {
                uint64_t p = ax_ht_row_hash(lay, row) >> shift;

                if (pass == 0)
                    at[p + 1]++;
                else
                    l->sorted[at[p]++] = row;
            }
        }
        /* counts to begins; the second pass moves begins to ends */
        for (uint32_t p = 0; pass == 0 && p < nparts; p++)
            at[p + 1] += at[p];
    }
    return AX_OK;
}
