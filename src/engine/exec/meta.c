/* Answers from metadata: splits that need not be read, and the order in which the others are.
 *
 * An aggregation without keys over a plain scan whose calls are count(*), count(column),
 * min(column) or max(column) is answered split by split: where the filter matches every row of a
 * split and its statistics are exact, the split adds to an account of the scan instead of being
 * read.  The breaker aggregates the rest, and an operator behind it (AX_OP_ADD_META) puts both
 * together.
 *
 * For ORDER BY ... LIMIT the work list is sorted by the statistics of the first key, so that the
 * threshold is tight soon and later splits are pruned. */
#include "exec/exec_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- which aggregations ---------------------------------------------------------------------- */

static bool call_fits(const ax_agg_call *c)
{
    if (c->filter != NULL || c->norder > 0)
        return false;
    switch ((ax_agg_id) c->agg)
    {
    case AX_AGG_COUNT_STAR:
        return true;
    case AX_AGG_COUNT:
        return !c->distinct && c->arg->kind == AX_X_COL;
    case AX_AGG_MIN:
    case AX_AGG_MAX:
        return c->arg->kind == AX_X_COL && c->arg->type.phys < AX_P_DOC;
    default:
        return false;
    }
}

bool ax_meta_fits(const ax_exec *x, const ax_node *n)
{
    const ax_node *below = n->child[0];

    if ((x->o.allow & AX_ALLOW_METADATA_AGG) == 0 || n->u.agg.nkeys > 0 || n->u.agg.ncalls == 0)
        return false;
    for (uint32_t i = 0; i < n->u.agg.ncalls; i++)
        if (!call_fits(&n->u.agg.call[i]))
            return false;
    while (below->kind == AX_N_FILTER)
        below = below->child[0];
    return below->kind == AX_N_SCAN;
}

ax_status ax_meta_create(ax_exec *x, const ax_node *n, const ax_scan *s, ax_meta **out)
{
    ax_meta *m;

    AX_NEW(&x->task, m, (ax_meta *) ax_arena_alloc0(x->task.arena, sizeof *m));
    m->n = n->u.agg.ncalls;
    AX_NEW(&x->task, m->call,
           (ax_meta_call *) ax_arena_alloc0(x->task.arena, m->n * sizeof *m->call));
    for (uint32_t i = 0; i < m->n; i++)
    {
        const ax_agg_call *c = &n->u.agg.call[i];

        m->call[i].agg = c->agg;
        if (c->arg != NULL)
            m->call[i].col = s->columns[c->arg->u.col];
        m->call[i].type = m->call[i].sum.type = c->type;
        m->call[i].sum.null = c->agg == AX_AGG_MIN || c->agg == AX_AGG_MAX;
    }
    *out = m;
    return AX_OK;
}

/* ---- one split ------------------------------------------------------------------------------- */

/* What one split gives to one call; false: its metadata does not say.  Lanes ask without a lock. */
static bool split_value(const ax_snapfile *f, uint32_t split, const ax_split *sp,
                        const ax_meta_call *c, ax_value *out)
{
    const ax_format *fmt = ax_snapfile_file(f)->format;
    ax_bounds b;

    *out = (ax_value){.type = c->type};
    if (c->agg == AX_AGG_COUNT_STAR)
    {
        out->u.i = sp->nrows;
        return true;
    }
    memset(&b, 0, sizeof b);
    if (f->bind == NULL || fmt->bounds == NULL || !fmt->bounds(f->bind, split, c->col, &b))
        return false;
    if (b.nulls < 0)
        return false;
    if (c->agg == AX_AGG_COUNT)
    {
        out->u.i = sp->nrows - b.nulls;
        return true;
    }
    out->null = b.nulls == sp->nrows;
    if (out->null)
        return true;
    if (c->agg == AX_AGG_MIN ? !b.has_min || !b.min_exact : !b.has_max || !b.max_exact)
        return false;
    *out = c->agg == AX_AGG_MIN ? b.min : b.max;
    return out->type.id == c->type.id;
}

/* a is the account, b is added to it. */
static void combine(uint8_t agg, ax_value *a, const ax_value *b)
{
    if (agg == AX_AGG_COUNT_STAR || agg == AX_AGG_COUNT)
        a->u.i += b->u.i;
    else if (!b->null && (a->null || (agg == AX_AGG_MIN ? ax_value_cmp(b, a) < 0
                                                        : ax_value_cmp(b, a) > 0)))
    {
        ax_type type = a->type;

        *a = *b;
        a->type = type;
    }
}

bool ax_meta_answers(ax_scan *s, const ax_work *w)
{
    const ax_snapfile *f = &s->snap->file[w->file];
    ax_meta *m = s->meta;
    ax_value v;
    ax_split sp;

    memset(&sp, 0, sizeof sp);
    ax_snapfile_file(f)->format->split(ax_snapfile_file(f), w->split, &sp);
    if (sp.ndeletes > 0 || sp.nrows < 0)
        return false;
    for (uint32_t i = 0; i < m->n; i++)
        if (!split_value(f, w->split, &sp, &m->call[i], &v))
            return false;
    /* Of a split in several ranges the first answers for all. */
    if (w->range.begin > 0 || w->copy)
        return true;
    pthread_mutex_lock(&s->live_lock);
    for (uint32_t i = 0; i < m->n; i++)
    {
        (void) split_value(f, w->split, &sp, &m->call[i], &v);
        combine(m->call[i].agg, &m->call[i].sum, &v);
    }
    pthread_mutex_unlock(&s->live_lock);
    return true;
}

/* ---- behind the breaker ---------------------------------------------------------------------- */

ax_status ax_meta_add(ax_task *t, ax_arena *a, const ax_meta *m, ax_batch *b, ax_vec *out)
{
    for (uint32_t c = 0; c < b->ncols; c++)
    {
        ax_value v = ax_vec_value(&b->col[c], b->sel != NULL ? b->sel[0] : 0);

        combine(m->call[c].agg, &v, &m->call[c].sum);
        AX_TRY(ax_vec_of_values(t, a, b->col[c].type, &v, 1, &out[c]));
    }
    b->nrows = b->nsel = 1;
    b->sel = NULL;
    b->rowid = NULL;
    b->col = out;
    return AX_OK;
}

/* ---- order of the work list ------------------------------------------------------------------ */

typedef struct ranked
{
    ax_work work;
    uint32_t at;         /* place before, to keep equal ones in order */
    bool known, desc;
    ax_value best;       /* the first value in sort order that the split may have */
} ranked;

static int by_best(const void *pa, const void *pb)
{
    const ranked *a = (const ranked *) pa, *b = (const ranked *) pb;
    int c = 0;

    if (a->known && b->known)
        c = a->desc ? ax_value_cmp(&b->best, &a->best) : ax_value_cmp(&a->best, &b->best);
    else if (a->known != b->known)
        c = a->known ? 1 : -1; /* unknown ones may have anything */
    return c != 0 ? c : a->at < b->at ? -1 : 1;
}

ax_status ax_meta_order(ax_exec *x, ax_scan *s)
{
    bool desc = s->live_op == AX_FN_GE;
    uint32_t col = s->columns[s->live_col];
    ranked *r;

    if (s->nwork < 2)
        return AX_OK;
    AX_NEW(&x->task, r, (ranked *) ax_arena_alloc0(x->task.arena, s->nwork * sizeof *r));
    for (uint32_t i = 0; i < s->nwork; i++)
    {
        const ax_snapfile *f = &s->snap->file[s->work[i].file];
        const ax_fmt_file *file = ax_snapfile_file(f);
        ax_bounds b;
        bool told;

        memset(&b, 0, sizeof b);
        r[i].work = s->work[i];
        r[i].at = i;
        r[i].desc = desc;
        if (s->work[i].split == AX_SPLIT_ALL)
            told = ax_snapfile_fixed_bounds(f, col, &b);
        else
            told = f->bind != NULL && file->format->bounds != NULL &&
                   file->format->bounds(f->bind, s->work[i].split, col, &b);
        r[i].known = told && (desc ? b.has_max : b.has_min);
        r[i].best = desc ? b.max : b.min;
    }
    qsort(r, s->nwork, sizeof *r, by_best);
    for (uint32_t i = 0; i < s->nwork; i++)
        s->work[i] = r[i].work;
    return AX_OK;
}
