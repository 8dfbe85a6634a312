/* Which declared columns of a part patch parts change, and as what they are read there.
 *
 * Such a column is told apart from the part's own, so that nothing that the part's indexes say of
 * values is believed: they are of rows that have others by now.
 *
 * A column that the part computes from others, which patch parts change, is refused: whether it is
 * computed from the old or the new values depends on when it was added. */
#include "mergetree_int.h"

static const struct { const char *name; uint8_t type; } fixed[MT_P_CNT] = {
    [MT_P_PART] = {"_part", AX_T_TEXT},
    [MT_P_OFFSET] = {"_part_offset", AX_T_INT8},
    [MT_P_VERSION] = {"_part_data_version", AX_T_INT8},
    [MT_P_BLOCK] = {"_block_number", AX_T_INT8},
    [MT_P_BLOCK_OFFSET] = {"_block_offset", AX_T_INT8},
    [MT_P_EXISTS] = {"_row_exists", AX_T_INT2},
};

static const ax_mt_column *column_named(const ax_mt_part *p, const char *name)
{
    for (uint32_t i = 0; i < p->ncolumns; i++)
        if (!p->column[i].dropped && strcmp(p->column[i].name, name) == 0)
            return &p->column[i];
    return NULL;
}

static ax_status new_bind(ax_task *t, ax_arena *a, ax_mt_part *p, uint32_t ncols, ax_colspec **col,
                          ax_mt_bind **out)
{
    AX_NEW(t, *out, (ax_mt_bind *) ax_arena_alloc0(a, sizeof **out));
    AX_NEW(t, (*out)->conv, (ax_mt_conv *) ax_arena_alloc0(a, ncols * sizeof *(*out)->conv + 1));
    AX_NEW(t, *col, (ax_colspec *) ax_arena_alloc0(a, (ncols + 1) * sizeof **col));
    return ax_fmt_bind_init(t, a, &p->base, *col, ncols, &(*out)->base);
}

/* One of ClickHouse's own columns as column i. */
static ax_status bind_fixed(ax_task *t, ax_arena *a, ax_mt_part *p, uint32_t which, ax_colspec *col,
                            ax_mt_conv *conv, bool *found)
{
    const ax_mt_column *c = column_named(p, fixed[which].name);

    *col = (ax_colspec){.name = fixed[which].name, .field_id = -1,
                        .type = ax_type_make((ax_type_id) fixed[which].type)};
    *found = c != NULL && c->node != NULL;
    if (!*found)
        return AX_OK;
    AX_TRY(ax_mt_conv_make(t, a, c->type, col->type, NULL, conv));
    conv->column = c;
    conv->not_null = true;
    return AX_OK;
}

/* The name that a declared column has in parts; NULL: the part has not to answer for it. */
static const char *name_of(const ax_mt_bind *b, uint32_t i, const ax_bind_opts *opts)
{
    const ax_colspec *col = &b->base.col[i];

    for (uint32_t k = 0; k < opts->nfixed; k++)
        if (opts->fixed[k].col == i)
            return NULL;
    if (col->virt != AX_VIRT_NONE && col->virt != AX_VIRT_ORDER)
        return NULL;
    if (b->conv[i].column != NULL)
        return b->conv[i].column->name;
    return col->npath > 0 ? col->path[0] : col->name;
}

/* ---- one patch part -------------------------------------------------------------------------- */

static ax_status bind_patch(ax_task *t, ax_arena *a, ax_mt_bind *b, const ax_bind_opts *opts,
                            ax_mt_patch *patch, ax_mt_patch_bind *out)
{
    ax_bind_opts plain = *opts;
    const ax_fmt_names names = {.path = patch->part->dir, .file = patch->part->name,
                                .part = patch->part->name, .noun = "part"};
    uint32_t n = MT_P_CNT;
    ax_colspec *col;
    bool found;

    plain.match_by = AX_BY_NAME;
    plain.case_insensitive = false;
    plain.nfixed = 0;
    out->patch = patch;
    AX_TRY(new_bind(t, a, patch->part, MT_P_CNT + b->base.ncols, &col, &out->bind));
    AX_NEW(t, out->col, (int32_t *) ax_arena_alloc(a, (b->base.ncols + 1) * sizeof *out->col));
    for (uint32_t i = 0; i < MT_P_CNT; i++)
    {
        AX_TRY(bind_fixed(t, a, patch->part, i, &col[i], &out->bind->conv[i], &found));
        AX_CHECK(t, found || i == MT_P_EXISTS ||
                        (i == MT_P_OFFSET && patch->part->source_key != NULL),
                 AX_ECORRUPT, "patch part lacks column %s",
                 fixed[i].name);
        out->exists = found;
    }
    for (uint32_t i = 0; i < b->base.ncols; i++)
    {
        const char *name = name_of(b, i, opts);
        const char **path;

        out->col[i] = -1;
        if (name == NULL || ax_mt_patch_column(patch->part, name) == NULL ||
            b->conv[i].refused != NULL)
            continue;
        AX_NEW(t, path, (const char **) ax_arena_alloc(a, sizeof *path));
        *path = name;
        col[n] = b->base.col[i];
        col[n].path = path;
        col[n].npath = 1;
        AX_TRY(ax_mt_bind_column(t, a, patch->part, &names, &plain, out->bind, n));
        out->col[i] = (int32_t) n++;
    }
    out->bind->base.ncols = n;
    return AX_OK;
}

/* ---- the part -------------------------------------------------------------------------------- */

/* Where rows of the part were inserted: its columns, or the one block that it is. */
static ax_status bind_place(ax_task *t, ax_arena *a, ax_mt_part *p, ax_mt_patched *x)
{
    static const uint8_t which[2] = {MT_P_BLOCK, MT_P_BLOCK_OFFSET};
    ax_colspec *col;

    AX_TRY(new_bind(t, a, p, 2, &col, &x->place));
    for (uint32_t i = 0; i < 2; i++)
    {
        AX_TRY(bind_fixed(t, a, p, which[i], &col[i], &x->place->conv[i], &x->has_place[i]));
        AX_CHECK(t, x->has_place[i] || ax_mt_one_block(p, &x->block), AX_EUNSUPPORTED,
                 "patch parts cannot be applied to a merged part without column %s",
                 fixed[which[i]].name);
    }
    return AX_OK;
}

static bool changes(const ax_mt_patched *x, const char *name)
{
    for (uint32_t k = 0; k < x->n; k++)
        if (ax_mt_patch_column(x->patch[k].patch->part, name) != NULL)
            return true;
    return false;
}

static bool has_values(const ax_mt_patched *x, uint32_t col)
{
    for (uint32_t k = 0; k < x->n; k++)
        if (x->patch[k].col[col] >= 0)
            return true;
    return false;
}

static ax_status mark_column(ax_task *t, ax_arena *a, const ax_mt_patched *x, ax_mt_bind *b,
                             uint32_t i)
{
    ax_mt_conv *c = &b->conv[i];
    ax_mt_column *own;

    if (c->column != NULL && c->column->derived != NULL)
        for (uint32_t k = 0; k < c->column->derived->narg; k++)
        {
            const char *arg = c->column->derived->arg[k]->name;

            AX_CHECK(t, strcmp(arg, c->column->name) == 0 || !changes(x, arg), AX_EUNSUPPORTED,
                     "column is computed from column \"%s\", which patch parts change", arg);
        }
    if (!has_values(x, i))
        return AX_OK;
    AX_CHECK(t, c->column != NULL, AX_EUNSUPPORTED,
             "patch parts change a column that the part lacks, and nothing tells its default");
    AX_NEW(t, own, (ax_mt_column *) ax_arena_alloc(a, sizeof *own));
    *own = *c->column;
    own->minmax = NULL;
    own->patched = true;
    c->column = own;
    return AX_OK;
}

ax_status ax_mt_patches_bind(ax_task *t, ax_arena *a, ax_mt_bind *b, const ax_bind_opts *opts)
{
    ax_mt_part *p = (ax_mt_part *) b->base.file;
    ax_mt_patched *x;
    bool moved = false;

    AX_NEW(t, x, (ax_mt_patched *) ax_arena_alloc0(a, sizeof *x));
    AX_NEW(t, x->patch,
           (ax_mt_patch_bind *) ax_arena_alloc0(a, p->npatches * sizeof *x->patch));
    for (; x->n < p->npatches; x->n++)
    {
        ax_status st = bind_patch(t, a, b, opts, &p->patch[x->n], &x->patch[x->n]);

        if (st != AX_OK)
        {
            ax_note_file(t, p->patch[x->n].part->dir);
            return st;
        }
        moved |= p->patch[x->n].moved;
    }
    if (moved)
        AX_TRY(bind_place(t, a, p, x));
    for (uint32_t i = 0; i < b->base.ncols; i++)
    {
        ax_status st = mark_column(t, a, x, b, i);

        if (st == AX_OK)
            continue;
        ax_note_column(t, b->base.col[i].name);
        ax_note_file(t, p->dir);
        if (st != AX_EUNSUPPORTED)
            return st;
        AX_TRY(ax_mt_bind_refuse(t, a, &b->conv[i]));
    }
    b->patched = x;
    return AX_OK;
}
