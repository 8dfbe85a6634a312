/* The merge of ordered files: a source that gives the rows of all files of a scan in the order of
 * their keys, or what rows of one key become (final.c).
 *
 *      input 0 --batch--\
 *      input 1 --batch---> heap by (key, input) --runs of rows--> ax_rows --> batches
 *      input 2 --batch--/
 *
 * Each split, or file that nobody opened yet, is an input with a reader of its own; the lane drives
 * them one at a time.  A run is as
 * many rows of the first input as come before the first row of the second: where files do not
 * overlap, a run is a batch, and what is put out is that batch, narrowed.  When an input needs its
 * next batch, what was collected is put out before, since rows are only borrowed from batches; the
 * few that a key under way still needs are copied.
 *
 * The order of each input is checked: a file that is not in the order of its key is corrupt. */
#include "exec/merge_int.h"
#include "exec/order_int.h"

#include <string.h>

#define LONG_RUN 128u

/* Keys of the rows of a batch. */
typedef struct keys
{
    uint32_t n;
    uint64_t **image;            /* [nkeys] */
    ax_vec *v;                   /* [nkeys] plain vectors */
} keys;

typedef struct input
{
    ax_reader rd;
    ax_batch *b;                 /* NULL: the next one is to be read */
    ax_arena *arena;             /* of the batch's keys */
    keys k;
    uint32_t pos;                /* next row, among those selected */
    keys last;                   /* one row: the last of the batch before; n == 0: there was none */
    ax_arena *last_arena;
    ax_error poison;             /* code != OK: follows the batch */
} input;

struct ax_merging
{
    const ax_merge *m;
    input *in;                   /* [nin] */
    uint32_t nin;
    uint32_t *heap;              /* [nheap] inputs with rows, the first in front */
    uint32_t nheap;
    uint32_t want;               /* input that needs its next batch; UINT32_MAX: none */
    uint32_t started;            /* inputs that were opened */
    const keys *prev;            /* key of the row added last: */
    uint32_t prev_row;
    ax_rows rows;
    ax_arena *out;               /* of the batch put out */
    ax_batch batch;
    ax_vec *vec;                 /* [nout] */
    uint16_t *sel;               /* [AX_BATCH_ROWS] */
    bool emitted;                /* rows are those of the batch given away */
    bool over;
};

/* ---- keys ------------------------------------------------------------------------------------ */

static ax_status keys_room(ax_task *t, ax_arena *a, uint32_t nkeys, uint32_t n, keys *k)
{
    k->n = n;
    AX_NEW(t, k->image, (uint64_t **) ax_arena_alloc(a, (nkeys + 1) * sizeof *k->image));
    AX_NEW(t, k->v, (ax_vec *) ax_arena_alloc0(a, (nkeys + 1) * sizeof *k->v));
    for (uint32_t i = 0; i < nkeys; i++)
        AX_NEW(t, k->image[i], (uint64_t *) ax_arena_values(a, n * sizeof **k->image));
    return AX_OK;
}

static ax_status take_keys(ax_task *t, const ax_merge *m, input *in)
{
    const ax_batch *b = in->b;

    ax_arena_reset(in->arena);
    AX_TRY(keys_room(t, in->arena, m->nkeys, b->nsel, &in->k));
    for (uint32_t i = 0; i < m->nkeys; i++)
    {
        AX_TRY(ax_vec_gather(t, in->arena, &b->col[m->key[i].col], b->sel, b->nsel, false,
                             &in->k.v[i]));
        AX_TRY(ax_order_images(t, in->arena, &m->key[i], &in->k.v[i], NULL, b->nsel,
                               in->k.image[i]));
    }
    return AX_OK;
}

/* The key of row i of the batch outlives it. */
static ax_status keep_last(ax_task *t, const ax_merge *m, input *in, uint32_t i)
{
    uint16_t row = (uint16_t) i;

    ax_arena_reset(in->last_arena);
    AX_TRY(keys_room(t, in->last_arena, m->nkeys, 1, &in->last));
    for (uint32_t k = 0; k < m->nkeys; k++)
    {
        in->last.image[k][0] = in->k.image[k][i];
        AX_TRY(ax_vec_gather(t, in->last_arena, &in->k.v[k], &row, 1, true, &in->last.v[k]));
    }
    return AX_OK;
}

/* Two values of key k with equal images. */
static int cmp_tie(const ax_order_key *k, const ax_vec *a, uint32_t i, const ax_vec *b, uint32_t j)
{
    bool an = a->null != NULL && a->null[i], bn = b->null != NULL && b->null[j];
    ax_value x, y;
    int c;

    if (an || bn)
        return an == bn ? 0 : an == k->nulls_first ? -1 : 1;
    if (ax_order_exact(a->type))
        return 0;
    x = ax_vec_value(a, i);
    y = ax_vec_value(b, j);
    c = ax_value_cmp(&x, &y);
    return k->desc ? -c : c;
}

static inline int cmp(const ax_merge *m, const keys *a, uint32_t i, const keys *b, uint32_t j)
{
    for (uint32_t k = 0; k < m->nkeys; k++)
    {
        uint64_t x = a->image[k][i], y = b->image[k][j];
        int c;

        if (x != y)
            return x < y ? -1 : 1;
        c = cmp_tie(&m->key[k], &a->v[k], i, &b->v[k], j);
        if (c != 0)
            return c;
    }
    return 0;
}

static ax_status check_order(ax_task *t, const ax_merge *m, const input *in)
{
    bool bad = in->last.n > 0 && cmp(m, &in->last, 0, &in->k, 0) > 0;

    for (uint32_t i = 1; i < in->k.n && !bad; i++)
        bad = cmp(m, &in->k, i - 1, &in->k, i) > 0;
    AX_CHECK(t, !bad, AX_ECORRUPT, "rows are not in the order of the key");
    return AX_OK;
}

/* ---- the heap -------------------------------------------------------------------------------- */

/* Does the next row of input a come before that of b? */
static bool before(const struct ax_merging *g, uint32_t a, uint32_t b)
{
    const input *x = &g->in[a], *y = &g->in[b];
    int c = cmp(g->m, &x->k, x->pos, &y->k, y->pos);

    return c != 0 ? c < 0 : a < b;
}

static void sift_down(struct ax_merging *g, uint32_t i)
{
    for (;;)
    {
        uint32_t first = i, l = 2 * i + 1, swap;

        for (uint32_t c = l; c < l + 2 && c < g->nheap; c++)
            if (before(g, g->heap[c], g->heap[first]))
                first = c;
        if (first == i)
            return;
        swap = g->heap[i];
        g->heap[i] = g->heap[first];
        g->heap[first] = swap;
        i = first;
    }
}

static void heap_add(struct ax_merging *g, uint32_t in)
{
    uint32_t i = g->nheap++;

    g->heap[i] = in;
    while (i > 0 && before(g, g->heap[i], g->heap[(i - 1) / 2]))
    {
        uint32_t up = (i - 1) / 2;

        g->heap[i] = g->heap[up];
        g->heap[up] = in;
        i = up;
    }
}

static void heap_drop(struct ax_merging *g)
{
    g->heap[0] = g->heap[--g->nheap];
    if (g->nheap > 0)
        sift_down(g, 0);
}

/* Rows of the first input before the next row of any other: [pos, end). */
static uint32_t run_end(const struct ax_merging *g)
{
    uint32_t first = g->heap[0], other, lo, hi, step = 1;
    const input *in = &g->in[first], *next;

    if (g->nheap == 1)
        return in->k.n;
    other = g->nheap > 2 && before(g, g->heap[2], g->heap[1]) ? g->heap[2] : g->heap[1];
    next = &g->in[other];
    /* Row lo is before the other's; gallop to one that is not, then halve. */
    for (lo = in->pos, hi = lo + 1; hi < in->k.n; hi = lo + step)
    {
        int c = cmp(g->m, &in->k, hi, &next->k, next->pos);

        if (c > 0 || (c == 0 && first > other))
            break;
        lo = hi;
        step *= 2;
    }
    hi = hi < in->k.n ? hi : in->k.n;
    while (hi - lo > 1)
    {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = cmp(g->m, &in->k, mid, &next->k, next->pos);

        if (c > 0 || (c == 0 && first > other))
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

/* ---- batches out ----------------------------------------------------------------------------- */

/* All rows stand in one batch, ascending: it is narrowed. */
static bool from_one_batch(struct ax_merging *g)
{
    ax_rows *r = &g->rows;

    for (uint32_t i = 0; i < r->n; i++)
    {
        if (r->row[i].b != r->row[0].b || (i > 0 && r->row[i].row <= r->row[i - 1].row))
            return false;
        g->sel[i] = (uint16_t) r->row[i].row;
    }
    return true;
}

typedef struct piece { const ax_batch *b; uint16_t *sel; uint32_t n; ax_vec v; } piece;

/* Values of column c of the rows at row[0], row[stride], ... */
static ax_status gather(ax_task *t, struct ax_merging *g, uint32_t c, const ax_row *row,
                        size_t stride, uint32_t n, ax_vec *out)
{
    uint32_t np = 0, at = 0, *idx, *of, cap = g->nin + 8;
    const ax_vec **v;
    piece *p;

    AX_NEW(t, p, (piece *) ax_arena_alloc0(g->out, cap * sizeof *p));
    AX_NEW(t, idx, (uint32_t *) ax_arena_values(g->out, n * sizeof *idx));
    AX_NEW(t, of, (uint32_t *) ax_arena_values(g->out, n * sizeof *of));
    AX_NEW(t, v, (const ax_vec **) ax_arena_values(g->out, n * sizeof *v));
    for (uint32_t i = 0; i < n; i++)
    {
        const ax_row *r = (const ax_row *) ((const char *) row + i * stride);

        if (np == 0 || p[at].b != r->b)
            for (at = 0; at < np && p[at].b != r->b;)
                at++;
        if (at == cap)
        {
            piece *more;

            cap *= 2;
            AX_NEW(t, more, (piece *) ax_arena_alloc0(g->out, cap * sizeof *p));
            memcpy(more, p, np * sizeof *p);
            p = more;
        }
        if (at == np)
        {
            np++;
            p[at].b = r->b;
            AX_NEW(t, p[at].sel, (uint16_t *) ax_arena_values(g->out, n * sizeof(uint16_t)));
        }
        of[i] = at;
        idx[i] = p[at].n;
        p[at].sel[p[at].n++] = (uint16_t) r->row;
    }
    for (uint32_t i = 0; i < np; i++)
        AX_TRY(ax_vec_gather(t, g->out, &p[i].b->col[c], p[i].sel, p[i].n, false, &p[i].v));
    if (np == 1)
    {
        *out = p[0].v;
        return AX_OK;
    }
    for (uint32_t i = 0; i < n; i++)
        v[i] = &p[of[i]].v;
    return ax_vec_merge(t, g->out, v, idx, n, false, out);
}

/* Lists of all parts, whose offsets in between are left out. */
static ax_status concatenated(ax_task *t, struct ax_merging *g, uint32_t c, ax_vec *out)
{
    const ax_acc *acc = g->rows.folded[c];
    uint32_t total = 0, *off;
    ax_row *all;
    ax_vec v;

    for (uint32_t i = 0; i < g->rows.n; i++)
    {
        AX_CHECK(t, acc[i].nparts < INT32_MAX - total, AX_ELIMIT, "too many arrays of one key");
        total += acc[i].nparts;
    }
    AX_NEW(t, all, (ax_row *) ax_arena_alloc(g->out, (total + 1) * sizeof *all));
    AX_NEW(t, off, (uint32_t *) ax_arena_values(g->out, (g->rows.n + 1) * sizeof *off));
    total = 0;
    for (uint32_t i = 0; i < g->rows.n; i++)
    {
        memcpy(all + total, acc[i].part, acc[i].nparts * sizeof *all);
        total += acc[i].nparts;
    }
    AX_TRY(gather(t, g, c, all, sizeof *all, total, &v));
    AX_CHECK(t, v.kind == AX_VK_LIST && v.null == NULL, AX_EPLAN, "arrays of another kind");
    total = 0;
    for (uint32_t i = 0; i < g->rows.n; i++)
    {
        off[i] = v.u.list.off[total];
        total += acc[i].nparts;
    }
    off[g->rows.n] = v.u.list.off[total];
    *out = v;
    out->n = g->rows.n;
    out->u.list.off = off;
    return AX_OK;
}

static ax_status folded(ax_task *t, struct ax_merging *g, uint32_t c, ax_vec *out)
{
    const ax_acc *acc = g->rows.folded[c];
    ax_value *val;

    if (g->m->fold[c]->fold == AX_FOLD_CONCAT)
        return concatenated(t, g, c, out);
    if (g->m->fold[c]->fold == AX_FOLD_MAP)
        return ax_fold_map(t, g->out, g->m, c, acc, g->rows.n, out);
    if (g->m->fold[c]->fold < AX_FOLD_SUM)
        return gather(t, g, c, &acc->pick, sizeof *acc, g->rows.n, out);
    AX_NEW(t, val, (ax_value *) ax_arena_alloc(g->out, g->rows.n * sizeof *val));
    for (uint32_t i = 0; i < g->rows.n; i++)
        val[i] = acc[i].value;
    return ax_vec_of_values(t, g->out, g->m->type[c], val, g->rows.n, out);
}

static ax_status emit(ax_lane *l, ax_batch **out)
{
    struct ax_merging *g = l->merging;
    ax_task *t = &l->task;
    ax_batch *b = &g->batch;
    bool one = g->m->fold == NULL && from_one_batch(g);

    ax_arena_reset(g->out);
    memset(b, 0, sizeof *b);
    b->ncols = g->m->nout;
    b->col = g->vec;
    b->arena = g->out;
    b->nrows = b->nsel = g->rows.n;
    if (one)
    {
        b->nrows = g->rows.row[0].b->nrows;
        b->sel = b->nsel < b->nrows ? g->sel : NULL;
    }
    for (uint32_t i = 0; i < g->m->nout; i++)
    {
        uint32_t c = g->m->out[i];

        if (one)
            g->vec[i] = g->rows.row[0].b->col[c];
        else if (g->m->fold != NULL && g->rows.folded[c] != NULL)
            AX_TRY(folded(t, g, c, &g->vec[i]));
        else
            AX_TRY(gather(t, g, c, g->rows.row, sizeof *g->rows.row, g->rows.n, &g->vec[i]));
    }
    g->emitted = true;
    *out = b;
    return AX_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The batch of the first input is used up. */
static ax_status used_up(ax_lane *l)
{
    struct ax_merging *g = l->merging;
    input *in = &g->in[g->heap[0]];
    bool full;

    if (g->m->rule == AX_FINAL_NONE) /* its last row has not to wait for the next one */
        AX_TRY(ax_rows_close(&l->task, &g->rows, &full));
    AX_TRY(keep_last(&l->task, g->m, in, in->k.n - 1));
    if (g->prev == &in->k)
    {
        g->prev = &in->last;
        g->prev_row = 0;
    }
    g->want = g->heap[0];
    heap_drop(g);
    return AX_OK;
}

/* Add rows of the first input until its run ends or the output is full. */
static ax_status add_run(ax_lane *l, bool *full)
{
    struct ax_merging *g = l->merging;
    input *in = &g->in[g->heap[0]];
    uint32_t end = run_end(g);

    *full = false;
    while (in->pos < end)
    {
        uint32_t i = in->pos;
        bool fresh = g->m->rule == AX_FINAL_NONE || g->prev == NULL ||
                     cmp(g->m, g->prev, g->prev_row, &in->k, i) != 0;

        if (fresh)
            AX_TRY(ax_rows_close(&l->task, &g->rows, full));
        /* A long run leaves as it is, without what came before. */
        *full = *full || (g->rows.n > 0 && g->rows.row[0].b != in->b && end - i >= LONG_RUN);
        if (*full)
            return AX_OK;
        AX_TRY(ax_rows_add(&l->task, &g->rows,
                           (ax_row){in->b, in->b->sel != NULL ? in->b->sel[i] : i}, fresh));
        g->prev = &in->k;
        g->prev_row = i;
        in->pos++;
    }
    if (in->pos == in->k.n)
        return used_up(l);
    sift_down(g, 0);
    return AX_OK;
}

/* A row has an error: those that were put out before it are delivered. */
static ax_status row_failed(ax_lane *l, const ax_error *err, ax_go *go)
{
    if (l->stage->sink->kind != AX_SINK_OUTPUT)
    {
        l->task.err = *err;
        return err->code;
    }
    l->poison = *err;
    ax_exec_poison(l);
    ax_error_clear(&l->poison);
    l->merging->over = true;
    *go = AX_GO_END;
    return AX_OK;
}

/* The next batch of the input that wants one. */
static ax_status advance(ax_lane *l, ax_go *go)
{
    struct ax_merging *g = l->merging;
    input *in = &g->in[g->want];
    ax_batch *b = NULL;

    if (in->b != NULL)
    {
        AX_TRY(ax_rows_keep(&l->task, l->stage->x, &g->rows, in->b));
        in->b = NULL;
        if (in->poison.code != AX_OK)
            return row_failed(l, &in->poison, go);
    }
    l->rd = &in->rd;
    AX_TRY(ax_scan_next(l, &b, go));
    if (*go == AX_GO_PARK)
        return AX_OK;
    if (*go == AX_GO_END)
        g->want = UINT32_MAX;
    *go = AX_GO_ON;
    if (b == NULL)
        return AX_OK;
    if (b->poison != NULL)
        in->poison = *b->poison;
    in->b = b;
    in->pos = 0;
    if (b->nsel == 0)
        return AX_OK;
    AX_TRY(take_keys(&l->task, g->m, in));
    AX_TRY(check_order(&l->task, g->m, in));
    heap_add(g, g->want);
    g->want = UINT32_MAX;
    return AX_OK;
}

/* Inputs are opened one after the other, as if each wanted a batch. */
static ax_status start_next(ax_lane *l)
{
    struct ax_merging *g = l->merging;
    ax_scan *s = l->stage->scan;

    g->want = g->started++;
    l->rd = &g->in[g->want].rd;
    atomic_store_explicit(&s->cursor, g->started, memory_order_relaxed);
    return ax_scan_give(l, &s->work[g->want]);
}

static ax_status forget_rows(ax_lane *l)
{
    struct ax_merging *g = l->merging;

    if (g->emitted)
        AX_TRY(ax_rows_forget(&l->task, &g->rows));
    g->emitted = false;
    return AX_OK;
}

ax_status ax_merge_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    struct ax_merging *g = l->merging;
    bool full = false;

    *out = NULL;
    *go = AX_GO_ON;
    AX_TRY(forget_rows(l));
    if (ax_stage_enough(l->stage))
        g->over = true;
    if (g->over)
    {
        *go = AX_GO_END;
        return AX_OK;
    }
    if (g->want == UINT32_MAX && g->started < g->nin)
        AX_TRY(start_next(l));
    if (g->want != UINT32_MAX && g->rows.n == 0)
        return advance(l, go);
    if (g->want == UINT32_MAX && g->nheap > 0)
        AX_TRY(add_run(l, &full));
    else if (g->want == UINT32_MAX)
    {
        AX_TRY(ax_rows_close(&l->task, &g->rows, &full));
        g->over = !full;
    }
    if (!full && g->want == UINT32_MAX && !g->over && g->rows.n < AX_BATCH_ROWS)
        return AX_OK;
    if (g->rows.n == 0)
        return AX_OK;
    *go = AX_GO_BATCH;
    return emit(l, out);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

ax_status ax_merge_init(ax_lane *l)
{
    ax_arena *a = l->state_arena;
    ax_budget *budget = l->task.budget;
    ax_task *t = &l->task;
    const ax_merge *m = l->stage->merge;
    struct ax_merging *g;

    AX_NEW(t, g, (struct ax_merging *) ax_arena_alloc0(a, sizeof *g));
    AX_NEW(t, g->in, (input *) ax_arena_alloc0(a, (l->stage->scan->nwork + 1) * sizeof *g->in));
    l->merging = g;
    l->item = 0;
    g->m = m;
    g->want = UINT32_MAX;
    AX_NEW(t, g->heap, (uint32_t *) ax_arena_alloc(a, (l->stage->scan->nwork + 1) * 4));
    AX_NEW(t, g->vec, (ax_vec *) ax_arena_alloc0(a, (m->nout + 1) * sizeof *g->vec));
    AX_NEW(t, g->sel, (uint16_t *) ax_arena_values(a, AX_BATCH_ROWS * sizeof *g->sel));
    AX_NEW(t, g->out, ax_arena_create(budget, 0));
    AX_TRY(ax_rows_init(t, a, m, &g->rows));
    for (; g->nin < l->stage->scan->nwork; g->nin++)
    {
        input *in = &g->in[g->nin];

        AX_NEW(t, in->arena, ax_arena_create(budget, 0));
        AX_NEW(t, in->last_arena, ax_arena_create(budget, 0));
        AX_NEW(t, in->rd.arena, ax_arena_create(budget, 0));
    }
    return AX_OK;
}

void ax_merge_free(ax_lane *l)
{
    struct ax_merging *g = l->merging;

    if (g == NULL)
        return;
    for (uint32_t i = 0; i <= g->nin && i < l->stage->scan->nwork; i++)
    {
        l->rd = &g->in[i].rd;
        ax_scan_abandon(l);
        ax_arena_destroy(g->in[i].rd.arena);
        ax_arena_destroy(g->in[i].arena);
        ax_arena_destroy(g->in[i].last_arena);
    }
    l->rd = &l->own;
    ax_rows_free(l->stage->x, &g->rows);
    ax_arena_destroy(g->out);
    l->merging = NULL;
}
