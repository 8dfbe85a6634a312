/* What a merge reads and puts out, from what the format says of the table (ax_final). */
#include "exec/merge_int.h"

#include <string.h>

/* The columns that a merge reads: those of the scan, those that count, and the hidden ones; *at:
 * where declared and hidden columns are among them. */
static ax_status merge_columns(ax_task *t, ax_arena *a, const ax_node *scan, const ax_final *fin,
                               ax_scan *s, uint32_t **at)
{
    uint32_t declared = scan->u.scan.source->ncols, all = declared + fin->nhidden;
    uint32_t *columns;
    bool *used;

    AX_NEW(t, used, (bool *) ax_arena_alloc0(a, all + 1));
    AX_NEW(t, columns, (uint32_t *) ax_arena_alloc(a, (all + 1) * sizeof *columns));
    AX_NEW(t, *at, (uint32_t *) ax_arena_alloc(a, (all + 1) * sizeof **at));
    for (uint32_t i = 0; i < scan->ncols; i++)
        used[scan->u.scan.columns[i]] = true;
    for (uint32_t i = 0; fin->fold != NULL && i < declared; i++)
        for (uint32_t k = 0; used[i] && k < fin->fold[i].nmap; k++)
            used[fin->fold[i].map[k]] = true;
    for (uint32_t i = 0; i < all; i++)
    {
        (*at)[i] = AX_NO_COL;
        if (!used[i] && i < declared && (fin->fold == NULL || !fin->fold[i].counts))
            continue;
        (*at)[i] = s->ncolumns;
        columns[s->ncolumns++] = i;
    }
    s->columns = columns;
    return AX_OK;
}

static ax_status merge_folds(ax_task *t, ax_arena *a, const ax_scan *s, const ax_source *src,
                             const uint32_t *at, ax_merge *m)
{
    const ax_fold_col **fold;
    const uint32_t **map;

    AX_NEW(t, fold,
           (const ax_fold_col **) ax_arena_alloc0(a, (m->ncols + 1) * sizeof *fold));
    AX_NEW(t, map, (const uint32_t **) ax_arena_alloc0(a, (m->ncols + 1) * sizeof *map));
    for (uint32_t i = 0; i < m->ncols; i++)
    {
        const ax_fold_col *f = &src->final->fold[s->columns[i]];

        AX_CHECK(t, f->refusal == NULL, AX_EUNSUPPORTED, "column \"%s\" cannot be merged: %s",
                 src->col[s->columns[i]].name, f->refusal);
        if (f->fold != AX_FOLD_FIRST)
            fold[i] = f;
        if (f->nmap > 0)
        {
            uint32_t *of_scan;

            AX_NEW(t, of_scan, (uint32_t *) ax_arena_alloc(a, f->nmap * sizeof *of_scan));
            for (uint32_t k = 0; k < f->nmap; k++)
                of_scan[k] = at[f->map[k]];
            map[i] = of_scan;
        }
    }
    m->fold = fold;
    m->map = map;
    return AX_OK;
}

ax_status ax_merge_plan(ax_task *t, ax_arena *a, ax_scan *s, ax_merge *m)
{
    const ax_node *scan = s->node;
    const ax_source *src = scan->u.scan.source;
    const ax_final *fin = src->final;
    uint32_t *at, *out, hidden = src->ncols;
    ax_type *type;

    AX_TRY(merge_columns(t, a, scan, fin, s, &at));
    m->rule = fin->rule;
    m->ncols = s->ncolumns;
    m->nout = scan->ncols;
    m->nkeys = fin->nkeys;
    m->version = fin->version != AX_NO_COL ? at[hidden + fin->version] : AX_NO_COL;
    m->sign = fin->sign != AX_NO_COL ? at[hidden + fin->sign] : AX_NO_COL;
    AX_NEW(t, m->key, (ax_order_key *) ax_arena_alloc(a, (m->nkeys + 1) * sizeof *m->key));
    for (uint32_t i = 0; i < m->nkeys; i++)
        m->key[i] = (ax_order_key){at[hidden + i], fin->desc[i], fin->desc[i]};
    AX_NEW(t, out, (uint32_t *) ax_arena_alloc(a, (m->nout + 1) * sizeof *out));
    for (uint32_t i = 0; i < m->nout; i++)
        out[i] = at[scan->u.scan.columns[i]];
    m->out = out;
    AX_NEW(t, type, (ax_type *) ax_arena_alloc(a, (m->ncols + 1) * sizeof *type));
    for (uint32_t i = 0; i < m->ncols; i++)
        type[i] = src->col[s->columns[i]].type;
    m->type = type;
    return m->rule == AX_FINAL_FOLD ? merge_folds(t, a, s, src, at, m) : AX_OK;
}

ax_status ax_merge_of_order(ax_task *t, ax_arena *a, const ax_node *n, ax_merge *m)
{
    uint32_t ncols = n->child[0]->ncols, *out;

    m->rule = AX_FINAL_NONE;
    m->ncols = m->nout = ncols;
    m->nkeys = n->u.merge.nkeys;
    m->version = m->sign = AX_NO_COL;
    m->type = n->child[0]->type;
    AX_NEW(t, m->key, (ax_order_key *) ax_arena_alloc(a, (m->nkeys + 1) * sizeof *m->key));
    for (uint32_t i = 0; i < m->nkeys; i++)
        m->key[i] = (ax_order_key){n->u.merge.key[i].col, n->u.merge.key[i].desc,
                                   n->u.merge.key[i].nulls_first};
    AX_NEW(t, out, (uint32_t *) ax_arena_alloc(a, (ncols + 1) * sizeof *out));
    for (uint32_t i = 0; i < ncols; i++)
        out[i] = i;
    m->out = out;
    return AX_OK;
}

ax_status ax_merge_prune(ax_task *t, ax_arena *a, ax_scan *s, ax_expr *const *conj, uint32_t nconj,
                         const ax_params *params)
{
    const ax_node *scan = s->node;
    const ax_final *fin = scan->u.scan.source->final;
    uint32_t n = 0;
    ax_expr **of_keys;
    bool *used;

    AX_NEW(t, of_keys, (ax_expr **) ax_arena_alloc(a, (nconj + 1) * sizeof(ax_expr *)));
    AX_NEW(t, used, (bool *) ax_arena_alloc(a, scan->ncols + 1));
    for (uint32_t i = 0; i < nconj; i++)
    {
        bool of_key = !conj[i]->can_raise;

        memset(used, 0, scan->ncols);
        ax_exec_mark_columns(conj[i], used, scan->ncols);
        for (uint32_t k = 0; k < scan->ncols; k++)
            of_key = of_key && (!used[k] || fin->is_key[scan->u.scan.columns[k]]);
        if (of_key)
            AX_TRY(ax_exec_renumber(t, a, conj[i], scan->u.scan.columns, &of_keys[n++]));
    }
    return n > 0 ? ax_filter_create(t, a, of_keys, n, params, &s->prune) : AX_OK;
}
