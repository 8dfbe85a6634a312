/* The ordering breaker: top-N and full sort.
 *
 * Top-N: each lane keeps a buffer of up to about twice the wanted rows.  When it is full, the
 * wanted ones are selected and the rest forgotten; the image of the last of them is then a bound
 * for all lanes, and rows behind the bound are dropped before anything of them but the first key
 * is read.  Full sort is the same without a bound.  At its end each lane sorts what it has, and the
 * single part merges the lanes.  Near the memory limit a lane writes its rows to the temporary file
 * as a sorted run, and the part merges the runs, too; of more runs than there is memory for, some
 * are first merged into one.
 *
 * Rows keep their payload.  Slots of forgotten rows are used again; their strings are garbage until
 * there is more garbage than not, then the living ones are copied. */
#include "exec/order_int.h"

#include <pthread.h>
#include <string.h>

#define SORT_MAX ((int64_t) 1 << 40) /* more wanted rows than that are all rows */
#define BUFFER_MIN 64u
#define STR_GARBAGE_BYTES ((uint64_t) 1 << 20)
#define ROWS_PER_BLOCK 64u
#define RUN_SHARE 4u           /* of the memory limit, for rows of all lanes that become runs; */
#define MERGE_SHARE 4u         /* and for blocks of the runs that are merged */
#define RUN_LEAST_KEEP 65536   /* fewer wanted rows stay in memory */

typedef struct olane
{
    ax_arena *rows;          /* owned: slots */
    ax_arena *strs;          /* owned: bytes of strings, nested vectors */
    ax_arena *list;          /* owned: entries */
    ax_arena *scratch;       /* owned: reset per batch */
    ax_order_entry *e;       /* [cap] in list */
    uint64_t n, cap;
    ax_arena *dict;          /* owned: images of the values of the dictionary seen last */
    uint64_t dict_uid;
    uint64_t *dict_image;
    uint8_t *free_row;       /* linked through their first 8 bytes */
    size_t sweep_at;         /* bytes in strs at which garbage is swept */
    uint64_t rows_in;
    uint64_t bound;          /* rows with a greater image cannot enter */
    bool full;               /* the buffer once held all wanted rows: `last` is valid */
    uint8_t *last;           /* the last wanted row at that time; stays in the buffer */
    ax_arena *meta;          /* owned: runs; NULL: none */
    ax_order_run *run;       /* list */
} olane;

typedef struct order
{
    ax_breaker b;
    ax_arena *arena;         /* owned: immutable after create */
    ax_order_layout lay;
    int64_t keep;            /* rows wanted of each lane; -1: all */
    int64_t offset, limit;
    bool ties;               /* rows that equal the bound may still enter */
    void (*tighten)(void *, const ax_value *);
    void *tighten_arg;
    olane **lane;            /* [nlanes] */
    _Atomic uint64_t bound;  /* least bound of all lanes; relaxed: it only saves work */
    pthread_mutex_t lock;    /* of improving the bound, so that tighten sees it fall */
    bool has_lock;
    ax_part *part;           /* open part, or NULL */
    ax_spill *spill;         /* borrowed; NULL: rows stay in memory */
    uint64_t quota;          /* bytes of a lane that are worth a run */
} order;

/* What is merged: sorted entries of a lane, or a run. */
typedef struct source
{
    const ax_order_entry *e, *end; /* NULL: a run */
    ax_order_reader run;
} source;

struct ax_part
{
    order *owner;
    ax_arena *mem;           /* owned: this struct */
    ax_arena *out;           /* owned: the batch last yielded */
    source **heap;           /* [nheap] the one with the smallest head first */
    uint32_t nheap;
    source *source;          /* [nsource] */
    uint32_t nsource;
    ax_buf **held;           /* [nheld] owned: rows of the batch last yielded stand there */
    uint32_t nheld;
    int64_t skip, left;      /* rows to skip and to yield; left < 0: all */
};

/* ---- create --------------------------------------------------------------------------------- */

static ax_status layout_init(ax_task *t, order *o, const ax_order_spec *spec)
{
    ax_order_layout *l = &o->lay;
    uint32_t off;

    l->ncols = spec->ncols;
    l->nkeys = spec->nkeys;
    l->null_off = 8;
    off = (8 + spec->ncols + 7) & ~7u;
    AX_NEW(t, l->off, ax_arena_alloc(o->arena, sizeof(*l->off) * (spec->ncols + 1)));
    l->type = (const ax_type *) ax_arena_alloc(o->arena, sizeof(ax_type) * (spec->ncols + 1));
    l->key = (const ax_order_key *) ax_arena_alloc(o->arena,
                                                   sizeof(ax_order_key) * (spec->nkeys + 1));
    if (l->type == NULL || l->key == NULL)
        return ax_fail_nomem(t, 0);
    memcpy((void *) (uintptr_t) l->type, spec->type, sizeof(ax_type) * spec->ncols);
    if (spec->nkeys > 0)
        memcpy((void *) (uintptr_t) l->key, spec->key, sizeof(ax_order_key) * spec->nkeys);
    for (uint32_t c = 0; c < spec->ncols; c++)
    {
        uint32_t width = ax_phys_width(l->type[c].phys);

        if (ax_type_is_str(l->type[c]) || ax_order_nested(l->type[c]))
            width = 16;
        AX_CHECK(t, width > 0, AX_EUNSUPPORTED, "rows with columns of type %s cannot be ordered",
                 ax_type_name(l->type[c].id));
        l->off[c] = off;
        off += (width + 7) & ~7u;
    }
    l->row_bytes = off;
    for (uint32_t k = 0; k < spec->nkeys; k++)
        AX_CHECK(t, !ax_order_nested(l->type[l->key[k].col]), AX_EUNSUPPORTED,
                 "type %s cannot be ordered", ax_type_name(l->type[l->key[k].col].id));
    l->exact = spec->nkeys == 0 || ax_order_exact(l->type[l->key[0].col]);
    return AX_OK;
}

static ax_status olane_init(ax_task *t, order *o, olane **out)
{
    olane *l;

    AX_NEW(t, l, ax_arena_alloc0(o->arena, sizeof(*l) + 128)); /* no line shared between lanes */
    *out = l;
    AX_NEW(t, l->rows, ax_arena_create(t->budget, 0));
    AX_NEW(t, l->strs, ax_arena_create(t->budget, 0));
    AX_NEW(t, l->scratch, ax_arena_create(t->budget, 0));
    AX_NEW(t, l->dict, ax_arena_create(t->budget, 0));
    l->bound = ~(uint64_t) 0;
    l->sweep_at = STR_GARBAGE_BYTES;
    return AX_OK;
}

static ax_status order_init(ax_task *t, order *o, const ax_order_spec *spec, uint32_t nlanes)
{
    o->limit = spec->limit;
    o->offset = spec->offset > 0 ? spec->offset : 0;
    o->keep = -1;
    if (spec->limit >= 0 && o->offset < SORT_MAX && spec->limit < SORT_MAX)
        o->keep = o->offset + spec->limit;
    o->tighten = spec->tighten;
    o->tighten_arg = spec->tighten_arg;
    AX_TRY(layout_init(t, o, spec));
    o->ties = spec->nkeys > 1 || !o->lay.exact;
    if ((o->keep < 0 || o->keep >= RUN_LEAST_KEEP) && spec->spill != NULL
        && ax_order_spillable(&o->lay))
        o->spill = spec->spill;
    if (o->spill != NULL)
        o->quota = (uint64_t) o->spill->budget->limit_bytes / RUN_SHARE / nlanes;
    if (o->spill != NULL && o->quota < ax_order_block_bytes(o->spill))
        o->quota = ax_order_block_bytes(o->spill);
    atomic_init(&o->bound, ~(uint64_t) 0);
    pthread_mutex_init(&o->lock, NULL);
    o->has_lock = true;
    AX_NEW(t, o->lane, ax_arena_alloc0(o->arena, sizeof(*o->lane) * nlanes));
    for (uint32_t i = 0; i < nlanes; i++)
        AX_TRY(olane_init(t, o, &o->lane[i]));
    return AX_OK;
}

static const ax_breaker_ops order_ops;

ax_status ax_order_create(ax_task *t, ax_arena *a, const ax_order_spec *spec, uint32_t nlanes,
                          ax_breaker **out)
{
    ax_status s;
    order *o;

    AX_NEW(t, o, ax_arena_alloc0(a, sizeof(*o)));
    o->b.ops = &order_ops;
    o->b.nlanes = nlanes;
    o->b.ordered = true;
    AX_NEW(t, o->arena, ax_arena_create(t->budget, 0));
    s = order_init(t, o, spec, nlanes);
    if (s != AX_OK)
    {
        order_ops.destroy(&o->b);
        return s;
    }
    *out = &o->b;
    return AX_OK;
}

/* ---- the buffer ----------------------------------------------------------------------------- */

static ax_status grow(ax_task *t, olane *l, uint64_t cap)
{
    ax_arena *list;
    ax_order_entry *e;

    AX_NEW(t, list, ax_arena_create(t->budget, 0));
    e = (ax_order_entry *) ax_arena_values(list, cap * sizeof(*e));
    if (e == NULL)
    {
        ax_arena_destroy(list);
        return ax_fail_nomem(t, cap * sizeof(*e));
    }
    if (l->n > 0)
        memcpy(e, l->e, l->n * sizeof(*e));
    ax_arena_destroy(l->list);
    l->list = list;
    l->e = e;
    l->cap = cap;
    return AX_OK;
}

static void nested_at(const uint8_t *slot, const ax_vec **v, uint32_t *idx)
{
    memcpy(v, slot, sizeof(*v));
    memcpy(idx, slot + 8, sizeof(*idx));
}

static void nested_set(uint8_t *slot, const ax_vec *v, uint64_t idx)
{
    memcpy(slot, &v, sizeof(v));
    memcpy(slot + 8, &idx, sizeof(idx));
}

static ax_status sweep_nested(ax_task *t, const order *o, olane *l, uint32_t c, ax_arena *to)
{
    const ax_vec *v[AX_BATCH_ROWS];
    uint32_t idx[AX_BATCH_ROWS], off = o->lay.off[c];

    for (uint64_t i = 0; i < l->n; i += AX_BATCH_ROWS)
    {
        uint32_t n = l->n - i < AX_BATCH_ROWS ? (uint32_t) (l->n - i) : AX_BATCH_ROWS;
        ax_vec *out;

        for (uint32_t k = 0; k < n; k++)
            nested_at(l->e[i + k].row + off, &v[k], &idx[k]);
        AX_NEW(t, out, ax_arena_alloc(to, sizeof(*out)));
        AX_TRY(ax_vec_merge(t, to, v, idx, n, true, out));
        for (uint32_t k = 0; k < n; k++)
            nested_set(l->e[i + k].row + off, out, k);
    }
    return AX_OK;
}

static ax_status sweep_strings(ax_task *t, const order *o, olane *l, uint32_t c, ax_arena *to)
{
    for (uint64_t i = 0; i < l->n; i++)
    {
        ax_value v = ax_order_row_value(&o->lay, c, l->e[i].row);
        uint8_t *p;

        if (v.u.s.len == 0)
            continue;
        AX_NEW(t, p, ax_arena_alloc(to, v.u.s.len));
        memcpy(p, v.u.s.p, v.u.s.len);
        memcpy(l->e[i].row + o->lay.off[c], &p, sizeof(p));
    }
    return AX_OK;
}

/* Copy what the living rows refer to, and forget the rest.  After a failure nobody reads rows. */
static ax_status sweep(ax_task *t, const order *o, olane *l)
{
    ax_status s = AX_OK;
    ax_arena *to;

    AX_NEW(t, to, ax_arena_create(t->budget, 0));
    for (uint32_t c = 0; c < o->lay.ncols && s == AX_OK; c++)
        if (ax_order_nested(o->lay.type[c]))
            s = sweep_nested(t, o, l, c, to);
        else if (ax_type_is_str(o->lay.type[c]))
            s = sweep_strings(t, o, l, c, to);
    if (s != AX_OK)
    {
        ax_arena_destroy(to);
        return s;
    }
    ax_arena_destroy(l->strs);
    l->strs = to;
    l->sweep_at = 2 * ax_arena_used_bytes(to) + STR_GARBAGE_BYTES;
    return AX_OK;
}

/* Tell the other lanes, and the scan. */
static void publish(order *o, const olane *l, uint64_t bound)
{
    ax_value v;

    if (bound >= atomic_load_explicit(&o->bound, memory_order_relaxed))
        return;
    pthread_mutex_lock(&o->lock);
    if (bound < atomic_load_explicit(&o->bound, memory_order_relaxed))
    {
        atomic_store_explicit(&o->bound, bound, memory_order_relaxed);
        if (o->tighten != NULL && o->lay.nkeys > 0)
        {
            v = ax_order_row_value(&o->lay, o->lay.key[0].col, l->last);
            if (!v.null)
                o->tighten(o->tighten_arg, &v);
        }
    }
    pthread_mutex_unlock(&o->lock);
}

/* Forget all but the wanted rows. */
static ax_status shrink(ax_task *t, order *o, olane *l)
{
    uint64_t keep = (uint64_t) o->keep;

    if (l->n < keep || keep == 0)
        return AX_OK;
    AX_TRY(ax_order_select(t, &o->lay, l->e, l->n, keep));
    for (uint64_t i = keep; i < l->n; i++)
    {
        memcpy(l->e[i].row, &l->free_row, sizeof(l->free_row));
        l->free_row = l->e[i].row;
    }
    l->n = keep;
    l->full = true;
    l->last = l->e[keep - 1].row;
    l->bound = l->e[keep - 1].image;
    publish(o, l, l->bound);
    return ax_arena_used_bytes(l->strs) > l->sweep_at ? sweep(t, o, l) : AX_OK;
}

/* ---- input ---------------------------------------------------------------------------------- */

static ax_status new_rows(ax_task *t, const order *o, olane *l, uint8_t **row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
    {
        if (l->free_row == NULL)
        {
            uint8_t *p;

            AX_NEW(t, p, ax_arena_alloc(l->rows, (size_t) o->lay.row_bytes * ROWS_PER_BLOCK));
            for (uint32_t k = 0; k < ROWS_PER_BLOCK; k++, p += o->lay.row_bytes)
            {
                memcpy(p, &l->free_row, sizeof(l->free_row));
                l->free_row = p;
            }
        }
        row[i] = l->free_row;
        memcpy(&l->free_row, row[i], sizeof(l->free_row));
        memset(row[i] + o->lay.null_off, 0, o->lay.ncols);
    }
    return AX_OK;
}

#define COPY_FIXED(bytes)                                                                          \
    for (uint32_t i = 0; i < n; i++)                                                               \
    memcpy(row[i] + off, (const uint8_t *) v->u.data + (size_t) (bytes) * i, bytes)

static ax_status copy_strings(ax_task *t, olane *l, const ax_vec *v, uint32_t off,
                              uint8_t *const *row, uint32_t n)
{
    uint64_t total = 0;
    uint8_t *to;

    for (uint32_t i = 0; i < n; i++)
        if (v->null == NULL || !v->null[i])
            total += v->u.view.len[i];
    AX_NEW(t, to, ax_arena_alloc(l->strs, total));
    for (uint32_t i = 0; i < n; i++)
    {
        uint64_t len = v->null != NULL && v->null[i] ? 0 : v->u.view.len[i];

        if (len > 0)
            memcpy(to, v->u.view.ptr[i], len);
        memcpy(row[i] + off, &to, 8);
        memcpy(row[i] + off + 8, &len, 8);
        to += len;
    }
    return AX_OK;
}

/* Copy rows sel[0..n) of the batch into new rows. */
static ax_status copy_rows(ax_task *t, const order *o, olane *l, const ax_batch *in,
                           const uint16_t *sel, uint8_t *const *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
    {
        ax_rowid id = in->rowid != NULL ? in->rowid[sel[i]]
                                        : (ax_rowid){in->split, in->row0 + sel[i]};

        memcpy(row[i], &id, sizeof(id));
    }
    for (uint32_t c = 0; c < o->lay.ncols; c++)
    {
        uint32_t width = ax_phys_width(o->lay.type[c].phys), off = o->lay.off[c];
        ax_vec flat, *v = &flat;

        if (ax_order_nested(o->lay.type[c]))
        {
            AX_NEW(t, v, ax_arena_alloc(l->strs, sizeof(*v)));
            AX_TRY(ax_vec_gather(t, l->strs, &in->col[c], sel, n, true, v));
            for (uint32_t i = 0; i < n; i++)
                nested_set(row[i] + off, v, i);
            continue;
        }
        AX_TRY(ax_vec_gather(t, l->scratch, &in->col[c], sel, n, false, &flat));
        if (ax_type_is_str(o->lay.type[c]))
            AX_TRY(copy_strings(t, l, v, off, row, n));
        else if (width == 8)
            COPY_FIXED(8);
        else if (width == 4)
            COPY_FIXED(4);
        else
            COPY_FIXED(width);
        for (uint32_t i = 0; v->null != NULL && i < n; i++)
            row[i][o->lay.null_off + c] = v->null[i];
    }
    return AX_OK;
}

/* Does row r of the batch sort behind the last wanted row of this lane?  Its image is equal. */
static bool behind_last(const order *o, const olane *l, const ax_batch *in, uint32_t r)
{
    for (uint32_t k = 0; k < o->lay.nkeys; k++)
    {
        const ax_order_key *key = &o->lay.key[k];
        ax_value a = ax_vec_value(&in->col[key->col], r);
        ax_value b = ax_order_row_value(&o->lay, key->col, l->last);
        int c;

        if (a.null || b.null)
            c = a.null == b.null ? 0 : a.null == key->nulls_first ? -1 : 1;
        else
        {
            c = ax_value_cmp(&a, &b);
            c = key->desc ? -c : c;
        }
        if (c != 0)
            return c > 0;
    }
    return true; /* equal: the one we have will do */
}

/* Rows whose image passes the bound; compacts image and sel, returns how many. */
static uint32_t pass_bound(const order *o, const olane *l, const ax_batch *in, uint64_t bound,
                           uint64_t *image, uint16_t *sel, uint32_t n)
{
    uint32_t q = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        image[q] = image[i];
        sel[q] = sel[i];
        q += image[i] <= bound;
    }
    if (q == 0 || bound == ~(uint64_t) 0)
        return q;
    n = q;
    q = 0;
    for (uint32_t i = 0; i < n; i++)
    {
        bool drop = image[i] == bound
            && (o->ties || bound == 0 ? l->full && l->bound == bound
                                            && behind_last(o, l, in, sel[i])
                                      : true);

        image[q] = image[i];
        sel[q] = sel[i];
        q += !drop;
    }
    return q;
}

/* At most `keep` rows of one batch can enter: find the image that so many do not pass. */
static ax_status pass_batch(ax_task *t, const order *o, olane *l, uint64_t *image, uint16_t *sel,
                            uint32_t *n)
{
    uint64_t *copy, kth;
    uint32_t q = 0;

    if (o->keep < 0 || *n < 32 || (uint64_t) o->keep * 2 > *n)
        return AX_OK;
    AX_NEW(t, copy, ax_arena_values(l->scratch, sizeof(*copy) * *n));
    memcpy(copy, image, sizeof(*copy) * *n);
    kth = ax_order_kth(copy, *n, (uint32_t) o->keep);
    for (uint32_t i = 0; i < *n; i++)
    {
        image[q] = image[i];
        sel[q] = sel[i];
        q += image[i] <= kth;
    }
    *n = q;
    return AX_OK;
}

static ax_status append(ax_task *t, order *o, olane *l, const ax_batch *in, const uint64_t *image,
                        const uint16_t *sel, uint32_t n)
{
    uint8_t **row;

    AX_NEW(t, row, ax_arena_values(l->scratch, sizeof(*row) * n));
    while (n > 0)
    {
        uint64_t most = o->keep < 0 ? UINT64_MAX : (uint64_t) o->keep * 2 + BUFFER_MIN;
        uint64_t now = n;

        if (l->n == l->cap && l->n < most)
        {
            uint64_t cap = l->cap ? l->cap * 2 : 1024;

            AX_TRY(grow(t, l, cap < most ? cap : most));
        }
        if (l->n == l->cap)
            AX_TRY(shrink(t, o, l));
        now = now < l->cap - l->n ? now : l->cap - l->n;
        AX_TRY(new_rows(t, o, l, row, (uint32_t) now));
        AX_TRY(copy_rows(t, o, l, in, sel, row, (uint32_t) now));
        for (uint64_t i = 0; i < now; i++)
            l->e[l->n++] = (ax_order_entry){image[i], row[i]};
        image += now;
        sel += now;
        n -= (uint32_t) now;
    }
    return AX_OK;
}

/* Images by dictionary id: each value is looked at once for as long as the dictionary lasts. */
static ax_status dict_images(ax_task *t, olane *l, const ax_order_key *key, const ax_vec *v,
                             const uint16_t *sel, uint32_t n, uint64_t *image)
{
    const ax_dict *d = v->u.dict.dict;

    if (l->dict_uid != d->uid)
    {
        l->dict_uid = 0;
        ax_arena_reset(l->dict);
        AX_NEW(t, l->dict_image, ax_arena_values(l->dict, sizeof(*l->dict_image) * d->n));
        AX_TRY(ax_order_images(t, l->scratch, key, &d->val, NULL, d->n, l->dict_image));
        l->dict_uid = d->uid;
    }
    for (uint32_t i = 0; i < n; i++)
        image[i] = l->dict_image[v->u.dict.id[sel[i]]];
    if (v->null != NULL)
        for (uint32_t i = 0; i < n; i++)
            if (v->null[sel[i]])
                image[i] = key->nulls_first ? 0 : ~(uint64_t) 0;
    return AX_OK;
}

/* Rows that may enter, with their images. */
static ax_status candidates(ax_task *t, const order *o, olane *l, const ax_batch *in,
                            uint64_t bound, uint32_t *n, uint16_t **sel, uint64_t **image)
{
    const ax_order_key *key = &o->lay.key[0];
    bool done = false;

    AX_NEW(t, *sel, ax_arena_values(l->scratch, sizeof(**sel) * in->nrows));
    if (o->lay.nkeys > 0 && o->keep > 0)
        AX_TRY(ax_order_prefilter(t, l->scratch, key, &in->col[key->col], bound, in->sel, n, *sel,
                                  &done));
    for (uint32_t i = 0; !done && i < *n; i++)
        (*sel)[i] = in->sel != NULL ? in->sel[i] : (uint16_t) i;
    if (*n == 0)
        return AX_OK;
    AX_NEW(t, *image, ax_arena_values(l->scratch, sizeof(**image) * *n));
    if (o->lay.nkeys > 0)
    {
        const ax_vec *v = &in->col[key->col];

        if (v->kind == AX_VK_DICT && v->u.dict.dict->uid != 0 && v->u.dict.dict->n > 0)
            return dict_images(t, l, key, v, *sel, *n, *image);
        return ax_order_images(t, l->scratch, key, v, *sel, *n, *image);
    }
    memset(*image, 0x80, sizeof(**image) * *n); /* all rows are equal */
    return AX_OK;
}

static ax_status sort_lane(ax_task *t, const order *o, olane *l)
{
    ax_arena *mem;
    ax_order_entry *tmp;
    ax_status s;

    if (l->n < 2)
        return AX_OK;
    AX_NEW(t, mem, ax_arena_create(t->budget, 0));
    tmp = (ax_order_entry *) ax_arena_values(mem, l->n * sizeof(*tmp));
    s = tmp != NULL ? ax_order_sort(t, &o->lay, l->e, tmp, l->n)
                    : ax_fail_nomem(t, l->n * sizeof(*tmp));
    ax_arena_destroy(mem);
    return s;
}

/* Write the sorted rows of a lane. */
static ax_status write_run(ax_task *t, olane *l, ax_order_writer *w)
{
    ax_order_run *run;

    for (uint64_t i = 0; i < l->n; i++)
        AX_TRY(ax_order_writer_add(t, w, &l->e[i]));
    AX_TRY(ax_order_writer_end(t, w, &run));
    run->next = l->run;
    l->run = run;
    return AX_OK;
}

/* Near the memory limit: the rows of the lane become a run. */
static ax_status relieve(ax_task *t, order *o, olane *l)
{
    ax_order_writer w;
    ax_status s;

    if (o->spill == NULL || !ax_spill_pressed(o->spill, 2)
        || ax_arena_used_bytes(l->rows) + ax_arena_used_bytes(l->strs) + l->n * sizeof(*l->e)
               < o->quota
        || !ax_spill_ready(o->spill))
        return AX_OK;
    if (o->keep > 0 && l->n > (uint64_t) o->keep)
        AX_TRY(shrink(t, o, l));
    AX_TRY(sort_lane(t, o, l));
    if (l->meta == NULL)
        AX_NEW(t, l->meta, ax_arena_create(t->budget, 0));
    s = ax_order_writer_begin(t, &w, o->spill, &o->lay, l->meta);
    if (s == AX_OK)
        s = write_run(t, l, &w);
    ax_order_writer_free(&w);
    AX_TRY(s);
    ax_arena_reset(l->rows);
    ax_arena_reset(l->strs);
    l->sweep_at = STR_GARBAGE_BYTES;
    l->free_row = l->last = NULL;
    l->full = false;
    l->n = 0;
    return AX_OK;
}

static ax_status order_put(ax_task *t, ax_breaker *b, uint32_t lane, ax_batch *in)
{
    order *o = (order *) b;
    olane *l = o->lane[lane];
    uint64_t *image = NULL, bound;
    uint16_t *sel = NULL;
    uint32_t n = in->nsel;

    if (ax_task_stopped(t))
        return ax_fail(t, AX_ESTOPPED, "query stopped");
    l->rows_in += n;
    if (n == 0 || o->keep == 0)
        return AX_OK;
    ax_arena_reset(l->scratch);
    bound = atomic_load_explicit(&o->bound, memory_order_relaxed);
    bound = bound < l->bound ? bound : l->bound;
    AX_TRY(candidates(t, o, l, in, bound, &n, &sel, &image));
    if (n > 0 && o->keep > 0)
    {
        n = pass_bound(o, l, in, bound, image, sel, n);
        AX_TRY(pass_batch(t, o, l, image, sel, &n));
    }
    if (n == 0)
        return AX_OK;
    AX_TRY(append(t, o, l, in, image, sel, n));
    /* A first bound as early as possible: later batches are cheap once there is one. */
    if (o->keep > 0 && l->n >= (uint64_t) o->keep
        && (!l->full || l->n >= (uint64_t) (o->keep + o->keep / 4 + 8)))
        AX_TRY(shrink(t, o, l));
    return relieve(t, o, l);
}

static ax_status order_put_end(ax_task *t, ax_breaker *b, uint32_t lane)
{
    order *o = (order *) b;
    olane *l = o->lane[lane];

    if (o->keep > 0 && l->n > (uint64_t) o->keep)
        AX_TRY(shrink(t, o, l));
    return sort_lane(t, o, l);
}

static ax_status order_prepare(ax_task *t, ax_breaker *b, uint32_t *nparts)
{
    order *o = (order *) b;

    (void) t;
    b->rows_in = b->groups = 0;
    for (uint32_t i = 0; i < b->nlanes; i++)
    {
        b->rows_in += o->lane[i]->rows_in;
        b->groups += o->lane[i]->n;
        for (const ax_order_run *r = o->lane[i]->run; r != NULL; r = r->next)
            b->groups += r->rows;
    }
    *nparts = 1;
    return AX_OK;
}

/* ---- output --------------------------------------------------------------------------------- */

static const ax_order_entry *head(const source *s) { return s->e != NULL ? s->e : &s->run.cur; }

static bool head_less(const ax_part *p, const source *a, const source *b)
{
    return ax_order_cmp(&p->owner->lay, head(a), head(b)) < 0;
}

static void sift_down(ax_part *p, uint32_t i)
{
    source *s = p->heap[i];

    for (;;)
    {
        uint32_t k = 2 * i + 1;

        if (k + 1 < p->nheap && head_less(p, p->heap[k + 1], p->heap[k]))
            k++;
        if (k >= p->nheap || !head_less(p, p->heap[k], s))
            break;
        p->heap[i] = p->heap[k];
        i = k;
    }
    p->heap[i] = s;
}

static void let_go(ax_part *p)
{
    while (p->nheld > 0)
        ax_buf_unref(p->held[--p->nheld]);
}

/* Go to the next row of a run.  Its rows before stay until let_go, which must be called before
 * AX_BATCH_ROWS more rows. */
static ax_status advance(ax_task *t, ax_part *p, source *s)
{
    ax_buf *done;
    ax_status st = ax_order_reader_next(t, &s->run, p->owner->spill, &p->owner->lay, &done);

    if (done != NULL)
        p->held[p->nheld++] = done;
    return st;
}

/* The next entry in order; row NULL: none. */
static ax_status pop(ax_task *t, ax_part *p, ax_order_entry *out)
{
    source *s;
    bool ended;

    out->row = NULL;
    if (p->nheap == 0)
        return AX_OK;
    s = p->heap[0];
    *out = *head(s);
    if (s->e != NULL)
        ended = ++s->e == s->end;
    else
    {
        AX_TRY(advance(t, p, s));
        ended = s->run.cur.row == NULL;
    }
    if (ended)
        p->heap[0] = p->heap[--p->nheap];
    if (p->nheap > 1)
        sift_down(p, 0);
    return AX_OK;
}

static ax_status add_run(ax_task *t, ax_part *p, const ax_order_run *r)
{
    source *s = &p->source[p->nsource++];

    *s = (source){.run = {.block = r->first}};
    p->heap[p->nheap++] = s;
    return advance(t, p, s);
}

static void make_heap(ax_part *p)
{
    for (uint32_t i = p->nheap / 2; i-- > 0;)
        sift_down(p, i);
}

/* Merge n runs into one, in mem. */
static ax_status merge_runs(ax_task *t, ax_part *p, ax_order_run *const *run, uint32_t n,
                            ax_order_writer *w, ax_order_run **out)
{
    ax_order_entry e;

    p->nsource = p->nheap = 0;
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(add_run(t, p, run[i]));
    make_heap(p);
    for (uint32_t i = 0;; i++)
    {
        AX_TRY(pop(t, p, &e));
        if (e.row == NULL)
            break;
        AX_TRY(ax_order_writer_add(t, w, &e));
        let_go(p);
        if (i % 1024 == 0 && ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
    }
    return ax_order_writer_end(t, w, out);
}

/* All runs, merged until no more than `most` are left. */
static ax_status few_runs(ax_task *t, ax_part *p, ax_order_run **run, uint32_t *n, uint32_t most)
{
    while (*n > most)
    {
        uint32_t k = *n - most + 1 < most ? *n - most + 1 : most;
        ax_order_writer w;
        ax_order_run *one = NULL;
        ax_status s = ax_order_writer_begin(t, &w, p->owner->spill, &p->owner->lay, p->mem);

        if (s == AX_OK)
            s = merge_runs(t, p, run, k, &w, &one);
        ax_order_writer_free(&w);
        AX_TRY(s);
        /* The new one is larger than others, and comes last. */
        memmove(run, run + k, (*n - k) * sizeof(*run));
        *n -= k;
        run[(*n)++] = one;
    }
    return AX_OK;
}

static ax_status part_init(ax_task *t, order *o, ax_part *p)
{
    uint32_t nruns = 0, nlanes = o->b.nlanes, most = 0, i = 0;
    ax_order_run **run;

    AX_NEW(t, p->out, ax_arena_create(t->budget, 0));
    for (uint32_t k = 0; k < nlanes; k++)
        for (const ax_order_run *r = o->lane[k]->run; r != NULL; r = r->next)
            nruns++;
    if (nruns > 0)
        most = (uint32_t) ((uint64_t) o->spill->budget->limit_bytes / MERGE_SHARE
                           / ax_order_block_bytes(o->spill));
    AX_NEW(t, p->source, ax_arena_alloc0(p->mem, sizeof(*p->source) * (nruns + nlanes)));
    AX_NEW(t, p->heap, ax_arena_alloc0(p->mem, sizeof(source *) * (nruns + nlanes)));
    AX_NEW(t, p->held, ax_arena_alloc0(p->mem, sizeof(ax_buf *) * (AX_BATCH_ROWS + nruns + 1)));
    AX_NEW(t, run, ax_arena_alloc(p->mem, sizeof(*run) * (nruns + 1)));
    for (uint32_t k = 0; k < nlanes; k++)
        for (ax_order_run *r = o->lane[k]->run; r != NULL; r = r->next)
            run[i++] = r;
    AX_TRY(few_runs(t, p, run, &nruns, most > 8 ? most : 8));
    p->nsource = p->nheap = 0;
    for (i = 0; i < nruns; i++)
        AX_TRY(add_run(t, p, run[i]));
    for (i = 0; i < nlanes; i++)
        if (o->lane[i]->n > 0)
        {
            source *s = &p->source[p->nsource++];

            *s = (source){.e = o->lane[i]->e, .end = o->lane[i]->e + o->lane[i]->n};
            p->heap[p->nheap++] = s;
        }
    make_heap(p);
    p->skip = o->offset;
    p->left = o->limit;
    return AX_OK;
}

static ax_status order_part_begin(ax_task *t, ax_breaker *b, uint32_t part, ax_arena *a,
                                  ax_part **out)
{
    order *o = (order *) b;
    ax_arena *mem;
    ax_part *p;

    (void) part;
    (void) a; /* freed by its owner at a time of its choosing: the part has memory of its own */
    AX_NEW(t, mem, ax_arena_create(t->budget, 0));
    p = (ax_part *) ax_arena_alloc0(mem, sizeof(*p));
    if (p == NULL)
    {
        ax_arena_destroy(mem);
        return ax_fail_nomem(t, sizeof(*p));
    }
    p->owner = o;
    p->mem = mem;
    o->part = p;
    AX_TRY(part_init(t, o, p));
    *out = p;
    return AX_OK;
}

static ax_status out_column(ax_task *t, ax_arena *a, const ax_order_layout *l, uint32_t c,
                            uint8_t *const *row, uint32_t n, ax_vec *out)
{
    uint32_t width = ax_phys_width(l->type[c].phys), off = l->off[c];
    uint8_t any = 0;

    *out = (ax_vec){.kind = AX_VK_FLAT, .type = l->type[c], .n = n};
    AX_NEW(t, out->null, ax_arena_values(a, n));
    for (uint32_t i = 0; i < n; i++)
        any |= out->null[i] = row[i][l->null_off + c];
    if (!any)
        out->null = NULL;
    if (ax_type_is_str(l->type[c]))
    {
        const uint8_t **ptr;
        uint32_t *len;

        AX_NEW(t, ptr, ax_arena_values(a, sizeof(*ptr) * n));
        AX_NEW(t, len, ax_arena_values(a, sizeof(*len) * n));
        for (uint32_t i = 0; i < n; i++)
        {
            memcpy(&ptr[i], row[i] + off, 8);
            memcpy(&len[i], row[i] + off + 8, 4);
        }
        out->kind = AX_VK_VIEW;
        out->u.view.ptr = ptr;
        out->u.view.len = len;
        return AX_OK;
    }
    AX_NEW(t, out->u.data, ax_arena_values(a, (size_t) width * n));
    for (uint32_t i = 0; i < n; i++)
        memcpy((uint8_t *) out->u.data + (size_t) width * i, row[i] + off, width);
    return AX_OK;
}

static ax_status out_nested(ax_task *t, ax_arena *a, uint32_t off, uint8_t *const *row, uint32_t n,
                            ax_vec *out)
{
    const ax_vec *v[AX_BATCH_ROWS];
    uint32_t idx[AX_BATCH_ROWS];

    for (uint32_t i = 0; i < n; i++)
        nested_at(row[i] + off, &v[i], &idx[i]);
    return ax_vec_merge(t, a, v, idx, n, false, out);
}

static ax_status order_part_next(ax_task *t, ax_part *p, ax_batch **out)
{
    const ax_order_layout *l = &p->owner->lay;
    uint8_t *row[AX_BATCH_ROWS];
    uint32_t n = 0;
    ax_batch *o;

    ax_order_entry e = {0};

    *out = NULL;
    let_go(p);
    for (uint32_t i = 0; p->skip > 0; i++, p->skip--)
    {
        AX_TRY(pop(t, p, &e));
        let_go(p);
        if (e.row == NULL || (i % 4096 == 0 && ax_task_stopped(t)))
            break;
    }
    if (ax_task_stopped(t))
        return ax_fail(t, AX_ESTOPPED, "query stopped");
    while (n < AX_BATCH_ROWS && (p->left < 0 || (int64_t) n < p->left))
    {
        AX_TRY(pop(t, p, &e));
        if (e.row == NULL)
            break;
        row[n++] = e.row;
    }
    if (n == 0)
        return AX_OK;
    p->left -= p->left < 0 ? 0 : (int64_t) n;
    ax_arena_reset(p->out);
    AX_NEW(t, o, ax_arena_alloc0(p->out, sizeof(*o)));
    o->arena = p->out;
    o->nrows = o->nsel = n;
    o->ncols = l->ncols;
    AX_NEW(t, o->col, ax_arena_alloc0(p->out, sizeof(*o->col) * (l->ncols + 1)));
    AX_NEW(t, o->rowid, ax_arena_alloc(p->out, sizeof(*o->rowid) * n));
    for (uint32_t i = 0; i < n; i++)
        memcpy(&o->rowid[i], row[i], sizeof(o->rowid[i]));
    for (uint32_t c = 0; c < l->ncols; c++)
        AX_TRY(ax_order_nested(l->type[c])
                   ? out_nested(t, p->out, l->off[c], row, n, &o->col[c])
                   : out_column(t, p->out, l, c, row, n, &o->col[c]));
    *out = o;
    return AX_OK;
}

static void order_part_end(ax_part *p)
{
    if (p == NULL)
        return;
    p->owner->part = NULL;
    let_go(p);
    for (uint32_t i = 0; i < p->nsource; i++)
        ax_buf_unref(p->source[i].run.buf);
    ax_arena_destroy(p->out);
    ax_arena_destroy(p->mem);
}

static void order_destroy(ax_breaker *b)
{
    order *o = (order *) b;

    order_part_end(o->part);
    for (uint32_t i = 0; o->lane != NULL && i < b->nlanes; i++)
        if (o->lane[i] != NULL)
        {
            ax_arena_destroy(o->lane[i]->scratch);
            ax_arena_destroy(o->lane[i]->dict);
            ax_arena_destroy(o->lane[i]->list);
            ax_arena_destroy(o->lane[i]->strs);
            ax_arena_destroy(o->lane[i]->rows);
            ax_arena_destroy(o->lane[i]->meta);
        }
    if (o->has_lock)
        pthread_mutex_destroy(&o->lock);
    o->has_lock = false;
    ax_arena_destroy(o->arena);
    o->arena = NULL;
}

static const ax_breaker_ops order_ops = {order_put, order_put_end, order_prepare, order_part_begin,
                                         order_part_next, order_part_end, order_destroy};
