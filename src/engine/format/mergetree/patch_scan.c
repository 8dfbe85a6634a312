/* Values of patch parts in place of the part's own, run by run.
 *
 *      LOAD, once a part: scan patch parts --> which rows they change   (ax_mt_patch_rows)
 *      run --> PLACES: scan the part for the blocks of its rows, if rows are found by these
 *          --> VALUES: scan the rows of each patch part that are for rows of the run
 *          --> winners of each column: of several values for a row the newest
 *
 * All these are scans like any other, whose needs are passed on.  What a run needs of patch parts
 * lives until the next run.  Values are put in place when a column of a window was converted, so
 * that filters see them. */
#include "scan_int.h"

#include <stdlib.h>

enum { LOAD, PLACES, VALUES, READY };

/* A scan inside this one. */
typedef struct inner
{
    ax_fmt_op *op;            /* NULL: not begun */
    ax_scan_req req;
    ax_rowset rows;
    ax_scan_stats stats;
} inner;

/* A value for a row: row `at` of a chunk. */
typedef struct hit
{
    uint64_t row;             /* of the part */
    uint64_t version;
    uint32_t from;            /* row of the patch part */
    uint32_t chunk, at;
} hit;

/* A batch of a patch part. */
typedef struct chunk { ax_vec *col; } chunk; /* [ncols] gathered */

/* A patch part that has columns of the scan. */
typedef struct one
{
    const ax_mt_patch_bind *b;
    uint32_t *ord;            /* [ncols] columns of its binding, ascending, */
    int32_t *of;              /* [ncolumns + 1] and where those of the scan are among them; -1 */
    uint32_t ncols;
    /* of the run */
    hit *hit;                 /* [nhits] by row of the patch part */
    uint32_t nhits, cap, next;
    chunk *chunk;             /* [nchunks] */
    uint32_t nchunks, chunk_cap;
} one;

/* What a column of a run gets, by row of the part. */
typedef struct winner { uint64_t row, version; const ax_vec *v; uint32_t at; } winner;

struct ax_mt_patching
{
    const ax_mt_bind *bind;
    ax_mt_part *part;
    ax_scan_req req;          /* of the scan around this one */
    uint64_t row0;            /* of its split */
    one *patch;               /* [n] */
    uint32_t n;
    bool by_place;            /* some rows are found by their blocks */
    uint8_t state;
    uint32_t current;         /* patch part under way */
    ax_arena *arena;          /* of the run, or of what is being loaded */
    inner in;
    ax_mt_patch_rows loading;
    uint32_t here_cap, moved_cap;
    uint64_t version;         /* of the part */
    uint64_t from, to;        /* the run */
    winner **win;             /* [ncolumns + 1] of the run, ascending rows */
    uint32_t *nwin;
};

/* ---- scans inside ---------------------------------------------------------------------------- */

static void inner_end(ax_mt_patching *x)
{
    ax_scan_stats *to = x->req.stats;
    const ax_scan_stats *s = &x->in.stats;

    if (x->in.op == NULL)
        return;
    ax_mt_scan_end(x->in.op);
    x->in.op = NULL;
    to->pages += s->pages;
    to->pages_skipped += s->pages_skipped;
    to->bytes_compressed += s->bytes_compressed;
    to->bytes_decompressed += s->bytes_decompressed;
    to->decode_ns += s->decode_ns;
}

static ax_status inner_begin(ax_task *t, ax_mt_patching *x, const ax_mt_bind *b, uint32_t split,
                             const ax_rowset *rows, const uint32_t *col, uint32_t ncols)
{
    inner *in = &x->in;

    memset(in, 0, sizeof *in);
    in->rows = *rows;
    in->req = (ax_scan_req){.bind = &b->base, .split = split, .rows = &in->rows, .columns = col,
                            .ncolumns = ncols, .allow = x->req.allow, .stats = &in->stats,
                            .budget = x->req.budget};
    return ax_mt_scan_begin(t, x->arena, &in->req, &in->op);
}

/* The next batch, NULL: it is over; false: it waits. */
static ax_status inner_next(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, ax_batch **b,
                            bool *waits)
{
    ax_fmt_event e = {0};

    *b = NULL;
    *waits = false;
    AX_TRY(ax_mt_scan_step(t, x->in.op, &e));
    if (e.step == AX_STEP_NEED)
    {
        ev->step = AX_STEP_NEED;
        ev->need = e.need;
        *waits = true;
    }
    else if (e.step == AX_STEP_BATCH)
    {
        *b = e.batch;
        if (e.batch->poison != NULL)
        {
            t->err = *e.batch->poison;
            return t->err.code;
        }
    }
    else
        inner_end(x);
    return AX_OK;
}

static uint32_t row_of(const ax_batch *b, uint32_t i) { return b->sel != NULL ? b->sel[i] : i; }

/* ---- which rows are changed ------------------------------------------------------------------ */

static bool between(const ax_mt_value *lo, const char *name, const ax_mt_value *hi)
{
    uint32_t n = (uint32_t) strlen(name);

    return ax_bytes_cmp(lo->p, lo->n, (const uint8_t *) name, n) <= 0 &&
           (hi == NULL || ax_bytes_cmp((const uint8_t *) name, n, hi->p, hi->n) <= 0);
}

/* Granules of the patch part that may have rows for the part: its key begins with the part. */
static ax_status rows_to_load(ax_task *t, ax_mt_patching *x, const ax_mt_patch *e, ax_rowset *out)
{
    const ax_mt_part *q = e->part;
    const ax_mt_keys *k = q->keys;
    ax_rowrange *r;

    AX_NEW(t, r, (ax_rowrange *) ax_arena_alloc(x->arena, (q->ngran + 1ull) * sizeof *r));
    *out = (ax_rowset){r, 0};
    for (uint32_t g = 0; g < q->ngran; g++)
    {
        bool may = k == NULL || g >= k->n;
        uint32_t begin = (uint32_t) q->row_at[g], end = (uint32_t) q->row_at[g + 1];

        for (uint32_t i = 0; i < q->nsources && !may; i++)
            may = e->source[i].of_part &&
                  between(&k->value[(size_t) g * k->ncols], e->source[i].name,
                          g + 1 < k->n ? &k->value[(size_t) (g + 1) * k->ncols] : NULL);
        if (may && out->n > 0 && r[out->n - 1].end == begin)
            r[out->n - 1].end = end;
        else if (may)
            r[out->n++] = (ax_rowrange){begin, end};
    }
    return AX_OK;
}

static ax_status add_row(ax_task *t, ax_mt_patching *x, ax_mt_patch_row **rows, uint32_t *n,
                         uint32_t *cap, const ax_mt_patch_row *row)
{
    if (*n == *cap)
    {
        uint32_t more = *cap == 0 ? 1024 : *cap * 2;
        ax_mt_patch_row *grown;

        AX_CHECK(t, more < UINT32_MAX / 2, AX_ELIMIT, "patch part has too many rows");
        AX_NEW(t, grown, (ax_mt_patch_row *) ax_arena_alloc(x->arena, more * sizeof *grown));
        if (*n > 0)
            memcpy(grown, *rows, *n * sizeof *grown);
        *rows = grown;
        *cap = more;
    }
    (*rows)[(*n)++] = *row;
    return AX_OK;
}

static const ax_mt_source *source_named(const ax_mt_patch *e, const ax_value *name)
{
    for (uint32_t i = 0; i < e->part->nsources; i++)
    {
        const char *s = e->source[i].name;

        if (strlen(s) == name->u.s.len && memcmp(s, name->u.s.p, name->u.s.len) == 0)
            return &e->source[i];
    }
    return NULL;
}

/* Rows of a batch with the columns before MT_P_EXISTS, or before MT_P_OFFSET. */
static ax_status load_batch(ax_task *t, ax_mt_patching *x, const ax_mt_patch *e, const ax_batch *b)
{
    ax_mt_patch_rows *r = &x->loading;

    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint32_t row = row_of(b, i);
        ax_value v[MT_P_EXISTS];
        ax_mt_patch_row add = {.row = b->row0 + row};
        const ax_mt_source *s;

        for (uint32_t k = 0; k < b->ncols; k++)
            v[k] = ax_vec_value(&b->col[k], row);
        s = source_named(e, &v[MT_P_PART]);
        AX_CHECK(t, s != NULL, AX_ECORRUPT,
                 "patch part has rows of a part that source_parts.dat does not name");
        add.version = (uint64_t) v[MT_P_VERSION].u.i;
        if (!s->of_part || add.version <= x->version)
            continue;
        if (!e->here || strcmp(s->name, x->part->name) != 0)
        {
            add.key[0] = (uint64_t) v[MT_P_BLOCK].u.i;
            add.key[1] = (uint64_t) v[MT_P_BLOCK_OFFSET].u.i;
            AX_TRY(add_row(t, x, &r->moved, &r->nmoved, &x->moved_cap, &add));
            continue;
        }
        add.key[0] = (uint64_t) v[MT_P_OFFSET].u.i;
        AX_CHECK(t, v[MT_P_OFFSET].u.i >= 0 && v[MT_P_OFFSET].u.i < x->part->rows, AX_ECORRUPT,
                 "patch part changes row %lld of a part with %lld rows",
                 (long long) v[MT_P_OFFSET].u.i, (long long) x->part->rows);
        AX_TRY(add_row(t, x, &r->here, &r->nhere, &x->here_cap, &add));
    }
    return AX_OK;
}

static ax_status load(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, bool *waits)
{
    static const uint32_t cols[MT_P_EXISTS] = {MT_P_PART, MT_P_VERSION, MT_P_BLOCK,
                                               MT_P_BLOCK_OFFSET, MT_P_OFFSET};

    *waits = false;
    for (; x->current < x->n; x->current++)
    {
        const ax_mt_patch_bind *b = x->patch[x->current].b;
        ax_batch *batch;
        ax_rowset rows;

        if (x->in.op == NULL &&
            atomic_load_explicit(&b->patch->rows, memory_order_acquire) != NULL)
            continue;
        if (x->in.op == NULL)
        {
            ax_arena_reset(x->arena);
            memset(&x->loading, 0, sizeof x->loading);
            x->here_cap = x->moved_cap = 0;
            AX_TRY(rows_to_load(t, x, b->patch, &rows));
            AX_TRY(inner_begin(t, x, b->bind, 0, &rows, cols,
                               b->patch->here ? MT_P_EXISTS : MT_P_OFFSET));
        }
        do
        {
            AX_TRY(inner_next(t, x, ev, &batch, waits));
            if (*waits)
                return AX_OK;
            if (batch != NULL)
                AX_TRY(load_batch(t, x, b->patch, batch));
        } while (batch != NULL);
        AX_TRY(ax_mt_patch_publish(t, x->part, b->patch, &x->loading));
    }
    for (uint32_t i = 0; i < x->n; i++)
        x->by_place |= atomic_load_explicit(&x->patch[i].b->patch->rows,
                                            memory_order_acquire)->nmoved > 0;
    return AX_OK;
}

/* ---- rows of the run that are changed -------------------------------------------------------- */

static ax_status add_hit(ax_task *t, ax_mt_patching *x, one *p, uint64_t row,
                         const ax_mt_patch_row *r)
{
    if (p->nhits == p->cap)
    {
        uint32_t more = p->cap == 0 ? 256 : p->cap * 2;
        hit *grown;

        AX_CHECK(t, more < UINT32_MAX / 2, AX_ELIMIT, "patch part has too many rows");
        AX_NEW(t, grown, (hit *) ax_arena_alloc(x->arena, more * sizeof *grown));
        if (p->nhits > 0)
            memcpy(grown, p->hit, p->nhits * sizeof *grown);
        p->hit = grown;
        p->cap = more;
    }
    p->hit[p->nhits++] = (hit){.row = row, .version = r->version, .from = r->row};
    return AX_OK;
}

/* By numbers in the part. */
static ax_status find_here(ax_task *t, ax_mt_patching *x)
{
    for (uint32_t i = 0; i < x->n; i++)
    {
        one *p = &x->patch[i];
        const ax_mt_patch_rows *r = atomic_load_explicit(&p->b->patch->rows, memory_order_acquire);

        for (uint32_t k = ax_mt_patch_find(r->here, r->nhere, x->from, 0);
             k < r->nhere && r->here[k].key[0] < x->to; k++)
            AX_TRY(add_hit(t, x, p, r->here[k].key[0], &r->here[k]));
    }
    return AX_OK;
}

/* The part is one block, whose numbers are those of its rows. */
static ax_status find_block(ax_task *t, ax_mt_patching *x)
{
    uint64_t block = x->bind->patched->block;

    for (uint32_t i = 0; i < x->n; i++)
    {
        one *p = &x->patch[i];
        const ax_mt_patch_rows *r = atomic_load_explicit(&p->b->patch->rows, memory_order_acquire);

        for (uint32_t k = ax_mt_patch_find(r->moved, r->nmoved, block, x->from);
             k < r->nmoved && r->moved[k].key[0] == block && r->moved[k].key[1] < x->to; k++)
            AX_TRY(add_hit(t, x, p, r->moved[k].key[1], &r->moved[k]));
    }
    return AX_OK;
}

/* By the place where row `row` of the part was inserted. */
static ax_status find_place(ax_task *t, ax_mt_patching *x, uint64_t row, uint64_t block,
                            uint64_t in_block)
{
    for (uint32_t i = 0; i < x->n; i++)
    {
        one *p = &x->patch[i];
        const ax_mt_patch_rows *r = atomic_load_explicit(&p->b->patch->rows, memory_order_acquire);

        if (r->nmoved == 0 || block < r->moved[0].key[0] || block > r->moved[r->nmoved - 1].key[0])
            continue;
        for (uint32_t k = ax_mt_patch_find(r->moved, r->nmoved, block, in_block);
             k < r->nmoved && r->moved[k].key[0] == block && r->moved[k].key[1] == in_block; k++)
            AX_TRY(add_hit(t, x, p, row, &r->moved[k]));
    }
    return AX_OK;
}

static ax_status find_places(ax_task *t, ax_mt_patching *x, const ax_batch *b)
{
    const ax_mt_patched *d = x->bind->patched;

    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint32_t row = row_of(b, i);
        uint64_t in_part = x->row0 + b->row0 + row, place[2] = {d->block, in_part};

        for (uint32_t k = 0, c = 0; k < 2; k++)
            if (d->has_place[k])
                place[k] = (uint64_t) ax_vec_value(&b->col[c++], row).u.i;
        AX_TRY(find_place(t, x, in_part, place[0], place[1]));
    }
    return AX_OK;
}

static ax_status places(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, bool *waits)
{
    const ax_mt_patched *d = x->bind->patched;
    static const uint32_t cols[2] = {0, 1};
    ax_rowrange *r;
    ax_batch *b;

    *waits = false;
    if (!x->by_place)
        return AX_OK;
    if (!d->has_place[0] && !d->has_place[1])
        return find_block(t, x);
    if (x->in.op == NULL)
    {
        AX_NEW(t, r, (ax_rowrange *) ax_arena_alloc(x->arena, sizeof *r));
        *r = (ax_rowrange){(uint32_t) (x->from - x->row0), (uint32_t) (x->to - x->row0)};
        AX_TRY(inner_begin(t, x, d->place, x->req.split, &(ax_rowset){r, 1},
                           &cols[!d->has_place[0]],
                           (uint32_t) d->has_place[0] + d->has_place[1]));
    }
    do
    {
        AX_TRY(inner_next(t, x, ev, &b, waits));
        if (b != NULL)
            AX_TRY(find_places(t, x, b));
    } while (b != NULL);
    return AX_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int by_source(const void *a, const void *b)
{
    const hit *x = (const hit *) a, *y = (const hit *) b;

    return x->from < y->from ? -1 : x->from > y->from;
}

static ax_status begin_values(ax_task *t, ax_mt_patching *x, one *p)
{
    ax_rowrange *r;
    uint32_t n = 0;

    qsort(p->hit, p->nhits, sizeof *p->hit, by_source);
    AX_NEW(t, r, (ax_rowrange *) ax_arena_alloc(x->arena, p->nhits * sizeof *r));
    for (uint32_t i = 0; i < p->nhits; i++)
        if (n > 0 && p->hit[i].from <= r[n - 1].end)
            r[n - 1].end = p->hit[i].from + 1;
        else
            r[n++] = (ax_rowrange){p->hit[i].from, p->hit[i].from + 1};
    return inner_begin(t, x, p->b->bind, 0, &(ax_rowset){r, n}, p->ord, p->ncols);
}

static ax_status keep(ax_task *t, ax_mt_patching *x, one *p, const ax_batch *b)
{
    chunk *c;

    if (p->nchunks == p->chunk_cap)
    {
        uint32_t more = p->chunk_cap == 0 ? 16 : p->chunk_cap * 2;
        chunk *grown;

        AX_NEW(t, grown, (chunk *) ax_arena_alloc(x->arena, more * sizeof *grown));
        if (p->nchunks > 0)
            memcpy(grown, p->chunk, p->nchunks * sizeof *grown);
        p->chunk = grown;
        p->chunk_cap = more;
    }
    c = &p->chunk[p->nchunks];
    AX_NEW(t, c->col, (ax_vec *) ax_arena_alloc0(x->arena, (p->ncols + 1) * sizeof *c->col));
    for (uint32_t k = 0; k < p->ncols; k++)
        AX_TRY(ax_vec_gather(t, x->arena, &b->col[k], b->sel, b->nsel, true, &c->col[k]));
    for (uint32_t i = 0; i < b->nsel; i++)
        while (p->next < p->nhits && p->hit[p->next].from == b->row0 + row_of(b, i))
        {
            p->hit[p->next].chunk = p->nchunks;
            p->hit[p->next++].at = i;
        }
    p->nchunks++;
    return AX_OK;
}

static ax_status values(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, bool *waits)
{
    *waits = false;
    for (; x->current < x->n; x->current++)
    {
        one *p = &x->patch[x->current];
        ax_batch *b;

        if (p->nhits == 0)
            continue;
        if (x->in.op == NULL)
            AX_TRY(begin_values(t, x, p));
        do
        {
            AX_TRY(inner_next(t, x, ev, &b, waits));
            if (*waits)
                return AX_OK;
            if (b != NULL)
                AX_TRY(keep(t, x, p, b));
        } while (b != NULL);
        AX_CHECK(t, p->next == p->nhits, AX_ECORRUPT, "patch part lacks rows");
    }
    return AX_OK;
}

static int by_row(const void *a, const void *b)
{
    const winner *x = (const winner *) a, *y = (const winner *) b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->version < y->version ? -1 : x->version > y->version;
}

/* Of the values for one row of column c the newest. */
static ax_status choose(ax_task *t, ax_mt_patching *x, uint32_t c)
{
    uint32_t all = 0, n = 0;
    winner *w;

    x->nwin[c] = 0;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->patch[i].of[c] >= 0)
            all += x->patch[i].nhits;
    if (all == 0)
        return AX_OK;
    AX_NEW(t, w, (winner *) ax_arena_alloc(x->arena, all * sizeof *w));
    all = 0;
    for (uint32_t i = 0; i < x->n; i++)
    {
        const one *p = &x->patch[i];

        for (uint32_t k = 0; p->of[c] >= 0 && k < p->nhits; k++)
            w[all++] = (winner){p->hit[k].row, p->hit[k].version,
                                &p->chunk[p->hit[k].chunk].col[p->of[c]], p->hit[k].at};
    }
    qsort(w, all, sizeof *w, by_row);
    for (uint32_t i = 0; i < all; i++)
        if (i + 1 == all || w[i + 1].row != w[i].row)
            w[n++] = w[i];
    x->win[c] = w;
    x->nwin[c] = n;
    return AX_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

void ax_mt_patching_run(ax_mt_patching *x, uint64_t from, uint64_t to)
{
    x->from = from;
    x->to = to;
    x->state = LOAD;
    x->current = 0;
}

static ax_status begin_run(ax_task *t, ax_mt_patching *x)
{
    ax_arena_reset(x->arena);
    for (uint32_t i = 0; i < x->n; i++)
    {
        one *p = &x->patch[i];

        p->hit = NULL;
        p->chunk = NULL;
        p->nhits = p->cap = p->next = p->nchunks = p->chunk_cap = 0;
    }
    return find_here(t, x);
}

static ax_status step(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, bool *ready)
{
    bool waits = false;

    *ready = false;
    if (x->state == LOAD)
    {
        AX_TRY(load(t, x, ev, &waits));
        if (waits)
            return AX_OK;
        AX_TRY(begin_run(t, x));
        x->state = PLACES;
    }
    if (x->state == PLACES)
    {
        AX_TRY(places(t, x, ev, &waits));
        if (waits)
            return AX_OK;
        x->state = VALUES;
        x->current = 0;
    }
    AX_TRY(values(t, x, ev, &waits));
    if (waits)
        return AX_OK;
    for (uint32_t c = 0; c <= x->req.ncolumns; c++)
        AX_TRY(choose(t, x, c));
    x->state = READY;
    *ready = true;
    return AX_OK;
}

ax_status ax_mt_patching_step(ax_task *t, ax_mt_patching *x, ax_fmt_event *ev, bool *ready)
{
    ax_status st = step(t, x, ev, ready);

    if (st != AX_OK && x->current < x->n && x->state != PLACES)
        ax_note_file(t, x->patch[x->current].b->patch->part->dir);
    return st;
}

/* The first winner of column c at or behind the row. */
static uint32_t winner_from(const ax_mt_patching *x, uint32_t c, uint64_t row)
{
    uint32_t lo = 0, hi = x->nwin[c];

    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (x->win[c][mid].row < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool ax_mt_patching_has(const ax_mt_patching *x, uint32_t c, uint64_t row)
{
    uint32_t i = winner_from(x, c, row);

    return i < x->nwin[c] && x->win[c][i].row == row;
}

ax_status ax_mt_patching_apply(ax_task *t, ax_arena *a, const ax_mt_patching *x, uint32_t c,
                               uint64_t row, ax_vec *v)
{
    uint32_t i = winner_from(x, c, row), n = v->n, *at;
    const ax_vec **from;
    ax_vec own;

    if (i == x->nwin[c] || x->win[c][i].row >= row + n)
        return AX_OK;
    AX_NEW(t, from, (const ax_vec **) ax_arena_values(a, n * sizeof *from));
    AX_NEW(t, at, (uint32_t *) ax_arena_values(a, n * sizeof *at));
    AX_TRY(ax_vec_gather(t, a, v, NULL, 0, false, &own));
    for (uint32_t k = 0; k < n; k++)
    {
        from[k] = &own;
        at[k] = k;
    }
    for (; i < x->nwin[c] && x->win[c][i].row < row + n; i++)
    {
        uint32_t k = (uint32_t) (x->win[c][i].row - row);

        from[k] = x->win[c][i].v;
        at[k] = x->win[c][i].at;
    }
    return ax_vec_merge(t, a, from, at, n, false, v);
}

void ax_mt_patching_exists(const ax_mt_patching *x, uint64_t row, uint32_t n, bool *exists)
{
    uint32_t c = x->req.ncolumns;

    for (uint32_t i = winner_from(x, c, row); i < x->nwin[c] && x->win[c][i].row < row + n; i++)
        exists[x->win[c][i].row - row] = ax_vec_value(x->win[c][i].v, x->win[c][i].at).u.i != 0;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Which columns of the scan has a patch part? */
static ax_status columns_of(ax_task *t, ax_arena *a, const ax_scan_req *req,
                            const ax_mt_patch_bind *b, one *p)
{
    p->b = b;
    AX_NEW(t, p->ord, (uint32_t *) ax_arena_alloc(a, (req->ncolumns + 1ull) * sizeof *p->ord));
    AX_NEW(t, p->of, (int32_t *) ax_arena_alloc(a, (req->ncolumns + 1ull) * sizeof *p->of));
    memset(p->of, 0xff, (req->ncolumns + 1ull) * sizeof *p->of);
    /* Ascending: ClickHouse's own come before the declared ones. */
    if (b->exists)
    {
        p->of[req->ncolumns] = (int32_t) p->ncols;
        p->ord[p->ncols++] = MT_P_EXISTS;
    }
    for (uint32_t i = 0; i < req->ncolumns; i++)
        if (b->col[req->columns[i]] >= 0)
        {
            p->of[i] = (int32_t) p->ncols;
            p->ord[p->ncols++] = (uint32_t) b->col[req->columns[i]];
        }
    return AX_OK;
}

ax_status ax_mt_patching_begin(ax_task *t, ax_arena *a, const ax_mt_bind *b,
                               const ax_scan_req *req, ax_mt_patching **out)
{
    ax_mt_patching *x;

    *out = NULL;
    if (b->patched == NULL)
        return AX_OK;
    AX_NEW(t, x, (ax_mt_patching *) ax_arena_alloc0(a, sizeof *x));
    AX_NEW(t, x->patch, (one *) ax_arena_alloc0(a, (b->patched->n + 1) * sizeof *x->patch));
    for (uint32_t i = 0; i < b->patched->n; i++)
    {
        one *p = &x->patch[x->n];

        memset(p, 0, sizeof *p);
        AX_TRY(columns_of(t, a, req, &b->patched->patch[i], p));
        x->n += p->ncols > 0;
    }
    if (x->n == 0)
        return AX_OK;
    x->bind = b;
    x->part = (ax_mt_part *) b->base.file;
    x->req = *req;
    x->row0 = x->part->row_at[x->part->split_gran[req->split]];
    AX_CHECK(t, ax_mt_data_version(x->part, &x->version), AX_EUNSUPPORTED,
             "patch parts cannot be applied to a part of this name");
    AX_NEW(t, x->win, (winner **) ax_arena_alloc0(a, (req->ncolumns + 1ull) * sizeof *x->win));
    AX_NEW(t, x->nwin, (uint32_t *) ax_arena_alloc0(a, (req->ncolumns + 1ull) * sizeof *x->nwin));
    AX_NEW(t, x->arena, ax_arena_create(req->budget, 0));
    *out = x;
    return AX_OK;
}

void ax_mt_patching_end(ax_mt_patching *x)
{
    if (x == NULL)
        return;
    inner_end(x);
    ax_arena_destroy(x->arena);
    x->arena = NULL;
}
