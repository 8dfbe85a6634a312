/* Direct addressing of groups: when all keys of a batch come from small domains, the row of a group
 * is looked up in an array by a number made of the keys, without hashing.
 *
 * A key's domain is the ids of one dictionary, or a window of integers, a power of two long, that
 * moves and grows with the data; number 0 of each domain is null.  The array is a cache in front of
 * the hash table: what is not in it is resolved there once.  Rows of groups never move, so that an
 * entry holds until the domains change; then the array is emptied.  Data for which that happens
 * too often goes straight to the hash table for a while. */
#include "exec/ht_int.h"

#include <string.h>

#define DENSE_KEYS 4u
#define DENSE_MAX 65536u      /* integers of a window; half the entries with several keys */
#define DICT_MAX 262144u      /* entries of a single dictionary */
#define TRIAL_BATCHES 16u     /* of them, half may miss before ... */
#define PAUSE_BATCHES 256u    /* ... so many go to the hash table */

typedef struct domain
{
    const ax_vec *v;          /* this batch: FLAT integers, or DICT */
    const uint16_t *sel;
    uint64_t uid;             /* of a dictionary; 0: integers */
    uint64_t base;            /* first integer of the window */
    uint32_t size;            /* of the window, power of two; or of the dictionary */
} domain;

struct ax_ht_dense
{
    domain d[DENSE_KEYS];
    uint8_t **row;            /* [cap] NULL: ask the hash table */
    uint32_t cap, total;
    uint32_t batches, misses, pause;
    uint32_t id[AX_BATCH_ROWS];
    uint16_t miss[AX_BATCH_ROWS];     /* physical rows to resolve */
    uint8_t *miss_row[AX_BATCH_ROWS];
};

static bool is_int(ax_phys p)
{
    return p == AX_P_U8 || p == AX_P_I16 || p == AX_P_I32 || p == AX_P_I64;
}

/* Entries of a domain, null included. */
static inline uint64_t domain_entries(const domain *d) { return (uint64_t) d->size + 1; }

/* ---- integers ------------------------------------------------------------------------------- */

/* Add stride * (value - base + 1) to id[i]; the OR of all differences tells whether one is beyond
 * the window. */
#define NUMBERS(T)                                                                                 \
    do                                                                                             \
    {                                                                                              \
        const T *p_ = (const T *) d->v->u.data;                                                    \
        if (d->sel != NULL)                                                                        \
            for (uint32_t i = 0; i < n; i++)                                                       \
            {                                                                                      \
                uint64_t x = (uint64_t) (int64_t) p_[d->sel[i]] - d->base;                         \
                uint64_t keep = null != NULL && null[d->sel[i]] ? 0 : ~(uint64_t) 0;               \
                all |= x & keep;                                                                   \
                id[i] += (uint32_t) ((x + 1) & keep) * stride;                                     \
            }                                                                                      \
        else if (null != NULL)                                                                     \
            for (uint32_t i = 0; i < n; i++)                                                       \
            {                                                                                      \
                uint64_t x = (uint64_t) (int64_t) p_[i] - d->base;                                 \
                uint64_t keep = (uint64_t) null[i] - 1;                                            \
                all |= x & keep;                                                                   \
                id[i] += (uint32_t) ((x + 1) & keep) * stride;                                     \
            }                                                                                      \
        else                                                                                       \
            for (uint32_t i = 0; i < n; i++)                                                       \
            {                                                                                      \
                uint64_t x = (uint64_t) (int64_t) p_[i] - d->base;                                 \
                all |= x;                                                                          \
                id[i] += ((uint32_t) x + 1) * stride;                                              \
            }                                                                                      \
    } while (0)

static bool add_numbers(const domain *d, uint32_t n, uint32_t stride, uint32_t *id)
{
    const uint8_t *null = d->v->null;
    uint64_t all = 0;

    switch (d->v->type.phys)
    {
        case AX_P_U8: NUMBERS(uint8_t); break;
        case AX_P_I16: NUMBERS(int16_t); break;
        case AX_P_I32: NUMBERS(int32_t); break;
        default: NUMBERS(int64_t); break;
    }
    return all < d->size;
}

static void add_ids(const domain *d, uint32_t n, uint32_t stride, uint32_t *id)
{
    const uint32_t *p = d->v->u.dict.id;
    const uint8_t *null = d->v->null;

    if (null == NULL && d->sel == NULL)
        for (uint32_t i = 0; i < n; i++)
            id[i] += (p[i] + 1) * stride;
    else
        for (uint32_t i = 0; i < n; i++)
        {
            uint32_t r = d->sel ? d->sel[i] : i;

            id[i] += null != NULL && null[r] ? 0 : (p[r] + 1) * stride;
        }
}

static int64_t int_at(const domain *d, uint32_t i)
{
    uint32_t r = d->sel ? d->sel[i] : i;

    switch (d->v->type.phys)
    {
        case AX_P_U8: return ((const uint8_t *) d->v->u.data)[r];
        case AX_P_I16: return ((const int16_t *) d->v->u.data)[r];
        case AX_P_I32: return ((const int32_t *) d->v->u.data)[r];
        default: return ((const int64_t *) d->v->u.data)[r];
    }
}

/* A window over the integers of this batch, and over the old window if that stays small enough. */
static void move_window(domain *d, uint32_t n, uint32_t nkeys)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    uint64_t range;
    uint32_t size = nkeys == 1 ? 256 : nkeys == 2 ? 64 : 8;

    for (uint32_t i = 0; i < n; i++)
        if (d->v->null == NULL || !d->v->null[d->sel ? d->sel[i] : i])
        {
            int64_t x = int_at(d, i);

            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
    if (lo > hi)
        lo = hi = 0;
    if (d->size > 0 && d->uid == 0)
    {
        int64_t old_lo = (int64_t) d->base, old_hi;

        if (!__builtin_add_overflow(old_lo, (int64_t) d->size - 1, &old_hi))
        {
            int64_t l = old_lo < lo ? old_lo : lo, h = old_hi > hi ? old_hi : hi;

            if ((uint64_t) h - (uint64_t) l < DENSE_MAX / (nkeys == 1 ? 1 : 256))
            {
                lo = l;
                hi = h;
            }
        }
    }
    range = (uint64_t) hi - (uint64_t) lo;
    d->uid = 0;
    d->base = (uint64_t) lo;
    while (size <= range && size < DENSE_MAX)
        size *= 2;
    d->size = size <= range ? 0 : size;
    /* Room on both sides. */
    d->base -= d->size > range ? (d->size - 1 - range) / 2 : 0;
}

/* ---- the array ------------------------------------------------------------------------------ */

static ax_status set_total(ax_task *t, ax_ht_lane *l, ax_ht_dense *ds, uint32_t nkeys, bool *fits)
{
    uint64_t total = 1, most = nkeys == 1 && ds->d[0].uid != 0 ? DICT_MAX : 2 * DENSE_MAX;

    *fits = true;
    for (uint32_t k = 0; k < nkeys; k++)
    {
        if (ds->d[k].size == 0 && ds->d[k].uid == 0)
            *fits = false;
        total *= domain_entries(&ds->d[k]);
        if (total > most + 1)
            *fits = false;
        if (!*fits)
        {
            ds->total = 0;
            return AX_OK;
        }
    }
    if (total > ds->cap)
    {
        uint32_t cap = 4096;

        while (cap < total)
            cap *= 2;
        AX_NEW(t, ds->row, ax_arena_values(l->mem, sizeof(*ds->row) * cap));
        ds->cap = cap;
    }
    ds->total = (uint32_t) total;
    memset(ds->row, 0, sizeof(*ds->row) * total);
    return AX_OK;
}

void ax_ht_dense_forget(ax_ht_lane *l)
{
    if (l->dense != NULL)
        l->dense->total = 0;
}

/* Domains of this batch.  *same: the array still holds; *fits: there is one. */
static ax_status look(ax_task *t, ax_ht_lane *l, ax_ht_dense *ds, const ax_vec *const *col,
                      uint32_t nkeys, const uint16_t *sel, uint32_t n, bool *same, bool *fits)
{
    *same = ds->total > 0;
    *fits = false;
    for (uint32_t k = 0; k < nkeys; k++)
    {
        domain *d = &ds->d[k];
        const ax_vec *v = col[k];
        ax_vec *flat;

        d->sel = sel;
        d->v = v;
        if (v->kind == AX_VK_DICT)
        {
            *same &= d->uid == v->u.dict.dict->uid;
            d->uid = v->u.dict.dict->uid;
            d->size = v->u.dict.dict->n;
            if (d->size > DICT_MAX || d->uid == 0)
                return AX_OK;
            continue;
        }
        if (!is_int(v->type.phys))
            return AX_OK;
        if (v->kind != AX_VK_FLAT)
        {
            AX_NEW(t, flat, ax_arena_alloc(l->scratch, sizeof(*flat)));
            AX_TRY(ax_vec_gather(t, l->scratch, v, sel, n, false, flat));
            d->v = flat;
            d->sel = NULL;
        }
        if (d->uid != 0)
        {
            d->uid = 0;
            d->size = 0;
        }
        *same &= d->size > 0;
    }
    *fits = true;
    return AX_OK;
}

/* Numbers of all rows; false: a window does not cover this batch. */
static bool number_rows(ax_ht_dense *ds, uint32_t nkeys, uint32_t n)
{
    uint32_t stride = 1;
    bool ok = true;

    memset(ds->id, 0, sizeof(*ds->id) * n);
    for (uint32_t k = 0; k < nkeys; k++)
    {
        domain *d = &ds->d[k];

        if (d->uid != 0)
            add_ids(d, n, stride, ds->id);
        else
            ok &= add_numbers(d, n, stride, ds->id);
        stride *= (uint32_t) domain_entries(d);
    }
    return ok;
}

/* Have numbers in ds->id, or *fits false. */
static ax_status prepare_numbers(ax_task *t, ax_ht_lane *l, ax_ht_dense *ds,
                                 const ax_vec *const *col, uint32_t nkeys, const uint16_t *sel,
                                 uint32_t n, bool *fits)
{
    bool same;

    AX_TRY(look(t, l, ds, col, nkeys, sel, n, &same, fits));
    if (!*fits)
    {
        ds->total = 0;
        return AX_OK;
    }
    if (same && number_rows(ds, nkeys, n))
        return AX_OK;
    ds->misses++;
    for (uint32_t k = 0; k < nkeys; k++)
        if (ds->d[k].uid == 0 && (ds->d[k].size == 0 || !add_numbers(&ds->d[k], n, 0, ds->id)))
            move_window(&ds->d[k], n, nkeys);
    AX_TRY(set_total(t, l, ds, nkeys, fits));
    if (*fits && !number_rows(ds, nkeys, n))
        *fits = false;
    return AX_OK;
}

/* Rows that the array does not know yet, each number once. */
static uint32_t find_misses(ax_ht_dense *ds, const uint16_t *sel, uint32_t n)
{
    static uint8_t pending; /* only its address counts */
    uint32_t m = 0;

    for (uint32_t i = 0; i < n; i++)
        if (ds->row[ds->id[i]] == NULL)
        {
            ds->row[ds->id[i]] = &pending;
            ds->miss[m++] = (uint16_t) i;
        }
    for (uint32_t i = 0; i < m; i++)
    {
        ds->row[ds->id[ds->miss[i]]] = NULL;
        /* keep the number beside the row that stands for it */
        ds->id[i] = ds->id[ds->miss[i]];
        ds->miss[i] = sel ? sel[ds->miss[i]] : ds->miss[i];
    }
    return m;
}

ax_status ax_ht_dense_resolve(ax_task *t, ax_ht *ht, ax_ht_lane *l, const ax_vec *const *col,
                              const uint16_t *sel, uint32_t n, uint8_t **row, bool *done)
{
    ax_ht_dense *ds = l->dense;
    uint32_t nkeys = ht->lay.nkeys, m;
    uint8_t *all = (uint8_t *) ~(uintptr_t) 0;
    bool fits;

    *done = false;
    if (nkeys > DENSE_KEYS)
        return AX_OK;
    if (ds == NULL)
    {
        AX_NEW(t, ds, ax_arena_alloc0(l->mem, sizeof(*ds)));
        l->dense = ds;
    }
    if (ds->pause > 0)
    {
        ds->pause--;
        return AX_OK;
    }
    if (++ds->batches > TRIAL_BATCHES)
    {
        ds->pause = ds->misses * 2 > ds->batches ? PAUSE_BATCHES : 0;
        ds->batches = ds->misses = 0;
    }
    AX_TRY(prepare_numbers(t, l, ds, col, nkeys, sel, n, &fits));
    if (!fits)
    {
        ds->misses++;
        return AX_OK;
    }
    *done = true;
    for (uint32_t i = 0; i < n; i++)
    {
        row[i] = ds->row[ds->id[i]];
        all = row[i] == NULL ? NULL : all;
    }
    if (all != NULL)
        return AX_OK;
    m = find_misses(ds, sel, n);
    AX_TRY(ax_ht_hash_resolve(t, ht, l, col, ds->miss, m, ds->miss_row));
    for (uint32_t i = 0; i < m; i++)
        ds->row[ds->id[i]] = ds->miss_row[i];
    number_rows(ds, nkeys, n);
    for (uint32_t i = 0; i < n; i++)
        row[i] = ds->row[ds->id[i]];
    return AX_OK;
}
