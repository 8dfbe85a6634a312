/* MergeTree: the format's struct. */
#include "mergetree_int.h"

static ax_status step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    memset(ev, 0, sizeof *ev);
    switch (((ax_mt_op *) op)->kind)
    {
        case MT_OP_OPEN:
            return ax_mt_open_step(t, op, ev);
        case MT_OP_PRUNE:
            return ax_mt_prune_step(t, op, ev);
        case MT_OP_FACTS:
            return ax_mt_facts_step(t, op, ev);
        default:
            return ax_mt_scan_step(t, op, ev);
    }
}

static void end(ax_fmt_op *op)
{
    if (op == NULL)
        return;
    switch (((ax_mt_op *) op)->kind)
    {
        case MT_OP_OPEN:
            ax_mt_open_end(op);
            break;
        case MT_OP_PRUNE:
            ax_mt_prune_end(op);
            break;
        case MT_OP_FACTS:
            ax_mt_facts_end(op);
            break;
        default:
            ax_mt_scan_end(op);
    }
}

static void split(const ax_fmt_file *file, uint32_t i, ax_split *out)
{
    const ax_mt_part *p = (const ax_mt_part *) file;
    uint32_t g0 = p->split_gran[i], g1 = p->split_gran[i + 1];
    uint64_t rows = p->row_at[g1] - p->row_at[g0];

    out->unit = "part";
    out->nrows = ax_mt_hides_rows(p) ? -1 : (int64_t) rows;
    out->row0 = (int64_t) p->row_at[g0];
    out->bytes = (int64_t) ((double) p->bytes / (double) p->ngran * (double) (g1 - g0));
    out->granules = g1 - g0;
    out->granule_rows = (uint32_t) (p->row_at[g0 + 1] - p->row_at[g0]);
}

static bool bounds(const ax_fmt_bind *b, uint32_t split_no, uint32_t col, ax_bounds *out)
{
    const ax_mt_part *p = (const ax_mt_part *) b->file;

    (void) split_no;
    /* A part in several splits has bounds of the whole only. */
    return p->base.nsplits == 1 && ax_mt_part_bounds(&((const ax_mt_bind *) b)->conv[col], p, out);
}

static double distinct(const ax_fmt_bind *b, uint32_t col)
{
    const ax_mt_conv *c = &((const ax_mt_bind *) b)->conv[col];

    if (c->column == NULL)
        return 0;
    return c->kind == MT_C_BOOL ? 2 : c->kind == MT_C_ENUM ? c->labels.n : 0;
}

static double width(const ax_fmt_bind *b, uint32_t col)
{
    const ax_mt_conv *c = &((const ax_mt_bind *) b)->conv[col];
    const ax_mt_part *p = (const ax_mt_part *) b->file;
    uint32_t w = ax_phys_width((ax_phys) c->type.phys);

    if (c->column == NULL || w > 0)
        return w;
    /* Strings compress to a third or so. */
    return p->rows > 0 ? 3.0 * (double) c->column->bytes / (double) p->rows : 0;
}

static void close_file(ax_fmt_file *f)
{
    ax_mt_part *p = (ax_mt_part *) f;

    for (uint32_t i = 0; i < p->npatches; i++)
        ax_fmt_file_unref(&p->patch[i].part->base);
    pthread_mutex_destroy(&p->lock);
}

const ax_format ax_format_mergetree = {
    .name = "mergetree",
    .title = "MergeTree",
    .suffixes = "",
    .directory = true,
    .lake = "mergetree",
    .open_begin = ax_mt_open_begin,
    .split = split,
    .bind = ax_mt_bind_open,
    .final = ax_mt_final,
    .order = ax_mt_order,
    .bounds = bounds,
    .distinct = distinct,
    .width = width,
    .prune_begin = ax_mt_prune_begin,
    .scan_begin = ax_mt_scan_begin,
    .facts = ax_mt_fact_table,
    .nfacts = MT_NFACTS,
    .facts_begin = ax_mt_facts_begin,
    .step = step,
    .end = end,
    .close = close_file,
};
