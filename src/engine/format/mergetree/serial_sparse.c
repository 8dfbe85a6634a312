/* Sparse columns: where values other than the default stand, and these values.
 *
 * Offsets are numbers of defaults before the next value; the last of a list has bit 62 set and
 * counts the defaults behind the last value.  A granule has one list for each piece in which it was
 * written, so a list that ends is followed by the next one until the granule's rows are complete.
 *
 * Format: mergetree.md, "Sparse". */
#include "mergetree_int.h"

#define LAST (1ull << 62)

/* The next number of the list. */
static ax_status next(ax_task *t, ax_mt_reader *r)
{
    uint64_t g;

    AX_TRY(ax_mt_cur_varint(t, ax_mt_cur_of(r, 0), &g));
    r->list_open = (g & LAST) == 0;
    r->has_value = r->list_open;
    r->gap = g & ~LAST;
    AX_CHECK(t, r->gap < LAST, AX_ECORRUPT, "offset of a sparse column is too large");
    return AX_OK;
}

/* Which of the next n rows have values: row[*nrow] from `at` on. */
static ax_status places(ax_task *t, ax_mt_reader *r, uint32_t n, uint32_t *row, uint32_t *nrow)
{
    uint32_t at = 0;

    *nrow = 0;
    while (at < n)
    {
        if (r->gap == 0 && !r->has_value)
            AX_TRY(next(t, r));
        if (r->gap > 0)
        {
            uint32_t k = r->gap < n - at ? (uint32_t) r->gap : n - at;

            r->gap -= k;
            at += k;
        }
        else if (r->has_value)
        {
            if (row != NULL)
                row[*nrow] = at;
            (*nrow)++;
            at++;
            r->has_value = false;
        }
    }
    return AX_OK;
}

ax_status ax_mt_finish_sparse(ax_task *t, ax_mt_reader *r)
{
    if (r->gap == 0 && !r->has_value && r->list_open)
        AX_TRY(next(t, r));
    AX_CHECK(t, r->gap == 0 && !r->has_value && !r->list_open, AX_ECORRUPT,
             "offsets of a sparse column go on behind their granule");
    return AX_OK;
}

static ax_status room(ax_task *t, ax_mt_win *w, const ax_mt_node *node, uint32_t n, ax_mt_vals *v)
{
    const ax_mt_type *inner = node->child[0]->type;
    uint32_t cap, i;

    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap > 0)
    {
        if (inner->width > 0)
            AX_TRY(ax_mt_room(t, w, &v->data, v->n, cap, inner->width));
        else
        {
            AX_TRY(ax_mt_room(t, w, &v->ptr, v->n, cap, sizeof *v->ptr));
            AX_TRY(ax_mt_room(t, w, &v->len, v->n, cap, sizeof *v->len));
        }
        if (node->type->id == MT_NULLABLE)
            AX_TRY(ax_mt_room(t, w, &v->null, v->n, cap, 1));
        v->cap = cap;
    }
    if (inner->width > 0)
        memset((uint8_t *) (uintptr_t) v->data + (size_t) v->n * inner->width, 0,
               (size_t) n * inner->width);
    else
        for (i = v->n; i < v->n + n; i++)
        {
            v->ptr[i] = (const uint8_t *) "";
            v->len[i] = 0;
        }
    if (node->type->id == MT_NULLABLE)
        memset(v->null + v->n, 1, n);
    return AX_OK;
}

ax_status ax_mt_read_sparse(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    size_t width = r->node->child[0]->type->width;
    uint32_t *row, k, i;
    ax_mt_vals some = {0};

    if (v == NULL)
    {
        AX_TRY(places(t, r, n, NULL, &k));
        return ax_mt_read(t, &r->child[0], w, k, NULL);
    }
    AX_NEW(t, row, (uint32_t *) ax_arena_alloc(w->batch->arena, (size_t) n * sizeof *row + 1));
    AX_TRY(places(t, r, n, row, &k));
    AX_TRY(ax_mt_read(t, &r->child[0], w, k, &some));
    AX_TRY(room(t, w, r->node, n, v));
    for (i = 0; i < k; i++)
    {
        uint32_t at = v->n + row[i];

        if (width > 0)
            memcpy((uint8_t *) (uintptr_t) v->data + at * width, some.data + i * width, width);
        else
        {
            v->ptr[at] = some.ptr[i];
            v->len[at] = some.len[i];
        }
        if (r->node->type->id == MT_NULLABLE)
            v->null[at] = 0;
    }
    v->one_base = false;
    v->n += n;
    return AX_OK;
}
