/* Columns as sequences of granules, and the serializations that need no file of their own: plain
 * values, nulls, tuples.
 *
 * A column is put on each granule by its marks, also when it goes on from the granule before: what
 * was read must end where the marks say that the next granule begins.  That finds wrong types,
 * wrong marks and streams that are too short, at the price of a comparison.
 *
 * Marks of columns (old Compact parts) tell where the first stream of a column begins.  The others
 * follow each other, so each granule is walked through once to find where they begin, and then read
 * like any other.
 *
 * Format: mergetree.md, "Serializations". */
#include "mergetree_int.h"

/* ---- memory of values ------------------------------------------------------------------------ */

ax_status ax_mt_room(ax_task *t, ax_mt_win *w, void *p, uint32_t have, uint32_t cap, size_t width)
{
    void *old, *grown;

    memcpy(&old, p, sizeof old);
    AX_NEW(t, grown, ax_arena_values(w->batch->arena, (size_t) cap * width));
    if (have > 0 && old != NULL)
        memcpy(grown, old, (size_t) have * width);
    memcpy(p, &grown, sizeof grown);
    return AX_OK;
}

ax_status ax_mt_grown(ax_task *t, const ax_mt_vals *v, uint32_t n, uint32_t *cap)
{
    uint64_t need = (uint64_t) v->n + n, c = v->cap;

    *cap = 0;
    AX_CHECK(t, need <= INT32_MAX, AX_ELIMIT, "one batch has more values than the limit");
    if (need <= c)
        return AX_OK;
    c = c * 2 > need ? c * 2 : need;
    *cap = (uint32_t) (c < INT32_MAX ? c : INT32_MAX);
    return AX_OK;
}

ax_status ax_mt_children(ax_task *t, ax_mt_win *w, const ax_mt_node *node, ax_mt_vals *v)
{
    if (v->child == NULL)
        AX_NEW(t, v->child, (ax_mt_vals *) ax_arena_alloc0(w->batch->arena,
                                                           node->nchild * sizeof *v->child));
    return AX_OK;
}

ax_status ax_mt_reserve(ax_task *t, ax_mt_win *w, const ax_mt_node *node, ax_mt_vals *v, uint32_t n)
{
    uint32_t cap;

    AX_TRY(ax_mt_grown(t, v, n, &cap));
    AX_TRY(ax_mt_children(t, w, node, v));
    if (cap == 0)
        return AX_OK;
    switch ((ax_mt_form) node->form)
    {
        case MT_F_FIXED:
            AX_TRY(ax_mt_room(t, w, &v->data, v->n, cap, node->type->width));
            break;
        case MT_F_STRING:
            AX_TRY(ax_mt_room(t, w, &v->ptr, v->n, cap, sizeof *v->ptr));
            AX_TRY(ax_mt_room(t, w, &v->len, v->n, cap, sizeof *v->len));
            break;
        case MT_F_NULLABLE:
            AX_TRY(ax_mt_room(t, w, &v->null, v->n, cap, 1));
            break;
        case MT_F_ARRAY:
            AX_TRY(ax_mt_room(t, w, &v->off, v->n + 1, cap + 1, sizeof *v->off));
            if (v->n == 0)
                v->off[0] = 0;
            break;
        case MT_F_VARIANT:
            AX_TRY(ax_mt_room(t, w, &v->which, v->n, cap, 1));
            AX_TRY(ax_mt_room(t, w, &v->idx, v->n, cap, sizeof *v->idx));
            break;
        default:
            break;
    }
    v->cap = cap;
    return AX_OK;
}

/* ---- cursors of a reader --------------------------------------------------------------------- */

/* It begins where the stream before it in its column ends, which has nothing in this granule when
 * nobody looked at it. */
static void place(ax_mt_cur *c)
{
    if (!c[-1].placed)
        place(&c[-1]);
    ax_mt_cur_put(c, c[-1].off, c[-1].pos);
    c->placed = true;
    c->start_off = c->off;
    c->start_at = c->pos;
}

ax_mt_cur *ax_mt_cur_of(ax_mt_reader *r, int i)
{
    if (!r->cur[i]->placed)
        place(r->cur[i]);
    return r->cur[i];
}

/* ---- plain values ---------------------------------------------------------------------------- */

static ax_status fixed(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    size_t width = r->node->type->width;
    uint32_t cap;

    if (v == NULL)
        return ax_mt_cur_skip(t, c, (uint64_t) n * width);
    if (v->n == 0 && n > 0)
    {
        AX_TRY(ax_mt_cur_take(t, c, w, n * width, &v->data));
        v->n = n;
        return AX_OK;
    }
    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap > 0)
    {
        AX_TRY(ax_mt_cur_holds(t, c, (uint64_t) n * width));
        AX_TRY(ax_mt_room(t, w, &v->data, v->n, cap, width));
        v->cap = cap;
    }
    AX_TRY(ax_mt_cur_copy(t, c, (uint8_t *) (uintptr_t) v->data + v->n * width, n * width));
    v->n += n;
    return AX_OK;
}

/* ---- nulls ----------------------------------------------------------------------------------- */

static ax_status nullable(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    uint32_t cap, i;

    if (v == NULL)
    {
        AX_TRY(ax_mt_cur_skip(t, c, n));
        return ax_mt_read(t, &r->child[0], w, n, NULL);
    }
    AX_TRY(ax_mt_children(t, w, r->node, v));
    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap > 0)
    {
        AX_TRY(ax_mt_room(t, w, &v->null, v->n, cap, 1));
        v->cap = cap;
    }
    AX_TRY(ax_mt_cur_copy(t, c, v->null + v->n, n));
    for (i = 0; i < n; i++)
        v->null[v->n + i] = v->null[v->n + i] != 0;
    v->n += n;
    return ax_mt_read(t, &r->child[0], w, n, &v->child[0]);
}

/* ---- tuples ---------------------------------------------------------------------------------- */

static ax_status all_children(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    uint32_t i;

    if (v != NULL)
    {
        AX_TRY(ax_mt_children(t, w, r->node, v));
        v->n += n;
    }
    for (i = 0; i < r->node->nchild; i++)
        AX_TRY(ax_mt_read(t, &r->child[i], w, n, v != NULL ? &v->child[i] : NULL));
    return AX_OK;
}

static ax_status empty_tuple(ax_task *t, ax_mt_reader *r, uint32_t n, ax_mt_vals *v)
{
    if (v != NULL)
        v->n += n;
    return ax_mt_cur_skip(t, ax_mt_cur_of(r, 0), n);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

ax_status ax_mt_read(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
    if (n == 0)
        return AX_OK;
    if (r->node->deflt != NULL)
        return ax_mt_read_default(t, r->node, w, n, v);
    switch ((ax_mt_form) r->node->form)
    {
        case MT_F_FIXED:
            return fixed(t, r, w, n, v);
        case MT_F_STRING:
            return ax_mt_read_string(t, r, w, n, v);
        case MT_F_STRING_SIZE:
            return ax_mt_read_sized(t, r, w, n, v);
        case MT_F_NULLABLE:
            return nullable(t, r, w, n, v);
        case MT_F_SPARSE:
            return ax_mt_read_sparse(t, r, w, n, v);
        case MT_F_ARRAY:
            return ax_mt_read_array(t, r, w, n, v);
        case MT_F_TUPLE:
        case MT_F_QBIT:
            return all_children(t, r, w, n, v);
        case MT_F_EMPTY_TUPLE:
            return empty_tuple(t, r, n, v);
        case MT_F_LOWCARD:
            return ax_mt_read_lowcard(t, r, w, n, v);
        case MT_F_VARIANT:
            return ax_mt_read_variant(t, r, w, n, v);
        case MT_F_BUCKETS:
            return ax_mt_read_buckets(t, r, w, n, v);
        case MT_F_AGGREGATE:
            return ax_mt_read_aggregate(t, r, w, n, v);
    }
    return ax_fail(t, AX_EUNSUPPORTED, "type %s is not supported", r->node->type->text);
}

ax_status ax_mt_begin(ax_task *t, ax_mt_reader *r, uint32_t gran)
{
    uint32_t i;

    if (r->node->deflt != NULL)
        return AX_OK;
    switch ((ax_mt_form) r->node->form)
    {
        case MT_F_SPARSE:
            r->gap = 0;
            r->has_value = r->list_open = false;
            break;
        case MT_F_LOWCARD:
            /* Keys stand in the column's own streams and have no state. */
            return ax_mt_begin_lowcard(t, r, gran);
        case MT_F_VARIANT:
            AX_TRY(ax_mt_begin_variant(t, r));
            break;
        case MT_F_BUCKETS:
            AX_TRY(ax_mt_begin_buckets(t, r));
            break;
        default:
            break;
    }
    for (i = 0; i < r->node->nchild; i++)
        AX_TRY(ax_mt_begin(t, &r->child[i], gran));
    return AX_OK;
}

/* All rows of a granule were read: is nothing left of it? */
static ax_status finish(ax_task *t, ax_mt_reader *r)
{
    uint32_t i;

    if (r->node->deflt != NULL)
        return AX_OK;
    if (r->node->form == MT_F_SPARSE)
        AX_TRY(ax_mt_finish_sparse(t, r));
    if (r->node->form == MT_F_LOWCARD)
        return ax_mt_finish_lowcard(t, r);
    if (r->node->form == MT_F_VARIANT)
        AX_CHECK(t, r->run_left == 0, AX_ECORRUPT, "run of a Variant goes on behind its granule");
    for (i = 0; i < r->node->nchild; i++)
        AX_TRY(finish(t, &r->child[i]));
    return AX_OK;
}

static void end_window(ax_mt_reader *r)
{
    uint32_t i;

    if (r->node->form == MT_F_LOWCARD)
        ax_mt_retire(r, false);
    else
        for (i = 0; i < r->node->nchild; i++)
            end_window(&r->child[i]);
}

/* ---- columns --------------------------------------------------------------------------------- */

static ax_status init_reader(ax_task *t, ax_arena *a, ax_mt_col *c, const ax_mt_node *node,
                             ax_mt_reader *r)
{
    uint32_t i;

    r->node = node;
    for (i = 0; i < 3; i++)
        if (node->stream[i] >= 0)
            r->cur[i] = &c->cur[(uint32_t) node->stream[i] - c->column->stream0];
    AX_NEW(t, r->child,
           (ax_mt_reader *) ax_arena_alloc0(a, (node->nchild + 1) * sizeof *r->child));
    for (i = 0; i < node->nchild; i++)
        AX_TRY(init_reader(t, a, c, node->child[i], &r->child[i]));
    return AX_OK;
}

const ax_mt_column *ax_mt_input(const ax_mt_column *c, uint32_t k)
{
    if (c == NULL || c->derived == NULL)
        return k == 0 ? c : NULL;
    return k < c->derived->narg ? c->derived->arg[k] : NULL;
}

static ax_status init_inputs(ax_task *t, ax_arena *a, const ax_mt_env *env,
                             const ax_mt_column *column, ax_mt_src *const *src, ax_mt_col *out)
{
    uint32_t n = column->derived->narg;

    AX_NEW(t, out->input, (ax_mt_col *) ax_arena_alloc0(a, (n + 1) * sizeof *out->input));
    out->column = column;
    out->ninputs = n;
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(ax_mt_col_init(t, a, env, column->derived->arg[i], src, &out->input[i]));
    return AX_OK;
}

ax_status ax_mt_col_init(ax_task *t, ax_arena *a, const ax_mt_env *env, const ax_mt_column *column,
                         ax_mt_src *const *src, ax_mt_col *out)
{
    uint32_t i;

    memset(out, 0, sizeof *out);
    out->env = env;
    out->gran = UINT32_MAX;
    if (column->derived != NULL)
        return init_inputs(t, a, env, column, src, out);
    AX_NEW(t, out->cur,
           (ax_mt_cur *) ax_arena_alloc0(a, (column->nstreams + 1) * sizeof *out->cur));
    AX_NEW(t, out->root, (ax_mt_reader *) ax_arena_alloc0(a, sizeof *out->root));
    out->column = column;
    for (i = 0; i < column->nstreams; i++)
    {
        out->cur[i].env = env;
        out->cur[i].stream = &env->part->stream[column->stream0 + i];
        out->cur[i].src = src[column->stream0 + i];
        out->cur[i].placed = true;
    }
    return init_reader(t, a, out, column->node, out->root);
}

static void free_reader(ax_mt_reader *r)
{
    if (r->node == NULL)
        return;
    ax_mt_retire(r, true);
    for (uint32_t i = 0; r->child != NULL && i < r->node->nchild; i++)
        free_reader(&r->child[i]);
}

void ax_mt_col_free(ax_mt_col *c)
{
    if (c->column == NULL)
        return;
    for (uint32_t i = 0; i < c->ninputs; i++)
        ax_mt_col_free(&c->input[i]);
    for (uint32_t i = 0; i < c->column->nstreams; i++)
        ax_mt_cur_free(&c->cur[i]);
    if (c->root != NULL)
        free_reader(c->root);
    c->column = NULL;
}

/* Find where the streams of the granule begin of which no mark tells. */
static ax_status locate(ax_task *t, ax_mt_col *c, uint32_t g)
{
    uint64_t rows = c->env->part->row_at[g + 1] - c->env->part->row_at[g];
    uint32_t i;

    for (i = 1; i < c->column->nstreams; i++)
        c->cur[i].placed = false;
    AX_TRY(ax_mt_begin(t, c->root, g));
    AX_CHECK(t, rows <= INT32_MAX, AX_ELIMIT, "granule %u has too many rows", g);
    AX_TRY(ax_mt_read(t, c->root, NULL, (uint32_t) rows, NULL));
    AX_TRY(finish(t, c->root));
    ax_mt_cur_seek(&c->cur[0], g);
    for (i = 1; i < c->column->nstreams; i++)
    {
        /* One that has nothing in this granule was not looked at. */
        if (!c->cur[i].placed)
            place(&c->cur[i]);
        ax_mt_cur_put(&c->cur[i], c->cur[i].start_off, c->cur[i].start_at);
    }
    return AX_OK;
}

static ax_status seek(ax_task *t, ax_mt_col *c, uint32_t g)
{
    const ax_mt_part *p = c->env->part;

    for (uint32_t i = 0; i < c->column->nstreams; i++)
        if (c->cur[i].stream->mark_idx >= 0 || (!p->compact && !c->cur[i].stream->ahead))
            ax_mt_cur_seek(&c->cur[i], g);
    if (p->marks_of_columns && c->column->nstreams > 1)
        AX_TRY(locate(t, c, g));
    AX_TRY(ax_mt_begin(t, c->root, g));
    c->gran = g;
    c->row = p->row_at[g];
    return AX_OK;
}

/* The granule is read to its end. */
static ax_status check_end(ax_task *t, ax_mt_col *c)
{
    const ax_mt_part *p = c->env->part;
    uint32_t g = c->gran + 1;

    AX_TRY(finish(t, c->root));
    c->gran = UINT32_MAX;
    if (p->compact)
        return AX_OK;
    for (uint32_t i = 0; i < c->column->nstreams; i++)
        if (!c->cur[i].stream->ahead && !c->cur[i].stream->info)
            AX_TRY(ax_mt_cur_at_mark(t, &c->cur[i], g));
    return AX_OK;
}

uint32_t ax_mt_granule_of(const ax_mt_part *p, uint64_t row)
{
    uint32_t lo = 0, hi = p->ngran;

    while (hi - lo > 1)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (p->row_at[mid] <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static ax_status derived(ax_task *t, ax_mt_col *c, ax_mt_win *w, uint64_t row, uint32_t n,
                         ax_mt_vals *out)
{
    ax_mt_vals *arg;

    AX_NEW(t, arg, (ax_mt_vals *) ax_arena_alloc0(w->batch->arena,
                                                  (c->ninputs + 1) * sizeof *arg));
    for (uint32_t i = 0; i < c->ninputs; i++)
        AX_TRY(ax_mt_col_read(t, &c->input[i], w, row, n, &arg[i]));
    return ax_mt_derive(t, c->column->derived, c->column->node, w, arg, n, out);
}

ax_status ax_mt_col_read(ax_task *t, ax_mt_col *c, ax_mt_win *w, uint64_t row, uint32_t n,
                         ax_mt_vals *out)
{
    const ax_mt_part *p = c->env->part;

    if (c->column->derived != NULL)
        return derived(t, c, w, row, n, out);
    end_window(c->root);
    while (n > 0)
    {
        uint32_t g = c->gran, k;

        if (g == UINT32_MAX || row < c->row || row >= p->row_at[g + 1])
        {
            g = ax_mt_granule_of(p, row);
            AX_TRY(seek(t, c, g));
        }
        if (row > c->row)
        {
            AX_TRY(ax_mt_read(t, c->root, NULL, (uint32_t) (row - c->row), NULL));
            c->row = row;
        }
        k = p->row_at[g + 1] - row < n ? (uint32_t) (p->row_at[g + 1] - row) : n;
        AX_TRY(ax_mt_read(t, c->root, w, k, out));
        row += k;
        n -= k;
        c->row = row;
        if (row == p->row_at[g + 1])
            AX_TRY(check_end(t, c));
    }
    return AX_OK;
}
