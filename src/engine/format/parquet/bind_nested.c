/* Binding of groups and repeated fields: what a declared column makes of their shape.
 *
 *   an array of scalars     lists, one in another as deep as they go: LIST vectors
 *   a document              (jsonb, text) any shape: JSON text
 *   a declared structure    JSON text with the declared names: the host makes records of it.
 *                           Fields that the declaration lacks are left out, maps become arrays of
 *                           entries where an array is declared, scalars are read as their declared
 *                           type */
#include "parquet_int.h"

#include <strings.h>

typedef struct binder
{
    ax_task *t;
    ax_arena *a;
    const ax_pq_file *f;
    const ax_bind_opts *opts;
    const char *source_type;
} binder;

/* ---- declared structures --------------------------------------------------------------------- */

static ax_status declare(binder *b, const ax_type *type, ax_pq_shape *s);

static ax_status misfit(binder *b, const ax_pq_shape *s, const ax_type *type)
{
    return ax_fail(b->t, AX_ETYPE, "field \"%s\" of file type %s cannot be read as %s", s->name,
                   b->source_type, ax_type_name((ax_type_id) type->id));
}

/* The field of that name; n: how many there are. */
static ax_pq_shape *find_child(ax_pq_shape *s, const char *name, bool fold, uint32_t *n)
{
    ax_pq_shape *child = s->child, *hit = NULL;
    uint32_t i;

    *n = 0;
    for (i = 0; i < s->n; i++)
        if (fold ? strcasecmp(child[i].name, name) == 0 : strcmp(child[i].name, name) == 0)
        {
            hit = &child[i];
            ++*n;
        }
    return hit;
}

static ax_status declare_fields(binder *b, const ax_nested *of, ax_pq_shape *s)
{
    bool *used;
    uint32_t i, n;

    AX_NEW(b->t, used, (bool *) ax_arena_alloc0(b->t->arena, s->n + 1));
    for (i = 0; i < of->n; i++)
    {
        ax_pq_shape *c = find_child(s, of->name[i], false, &n);

        if (n == 0 && b->opts->case_insensitive)
            c = find_child(s, of->name[i], true, &n);
        AX_CHECK(b->t, n <= 1, AX_EAMBIGUOUS, "field \"%s\" is ambiguous: \"%s\" has it %u times",
                 of->name[i], s->name, n);
        if (c == NULL)
            continue;
        AX_CHECK(b->t, !used[c - s->child], AX_EAMBIGUOUS,
                 "field \"%s\" is declared twice with different case", c->name);
        used[c - s->child] = true;
        AX_TRY(declare(b, &of->type[i], c));
        c->name = of->name[i];
    }
    for (i = 0; i < s->n; i++)
        s->child[i].hidden = !used[i];
    return AX_OK;
}

/* A map as entries of two named fields. */
static ax_status declare_entries(binder *b, const ax_nested *of, ax_pq_shape *s)
{
    uint32_t i;

    s->entries = true;
    for (i = 0; i < s->n; i++)
    {
        AX_TRY(declare(b, &of->type[i], &s->child[i]));
        s->child[i].name = of->name[i];
    }
    return AX_OK;
}

static ax_status declare_scalar(binder *b, const ax_type *type, ax_pq_shape *s)
{
    const ax_type *own = &b->f->leaf[s->leaf0].type;
    bool text = type->id == AX_T_TEXT || type->id == AX_T_BPCHAR;

    /* What is no text becomes text as JSON has it, numbers of any length too. */
    if (type->id == AX_T_NUMERIC && own->id == AX_T_DIGITS)
        s->as = own;
    else if (!text || own->id == AX_T_TEXT || own->id == AX_T_BYTEA)
        s->as = type;
    return AX_OK;
}

/* Fit a shape to a declared type. */
static ax_status declare(binder *b, const ax_type *type, ax_pq_shape *s)
{
    const ax_nested *of = type->nested;

    if (type->id == AX_T_STRUCT)
        return s->kind == SHAPE_STRUCT ? declare_fields(b, of, s) : misfit(b, s, type);
    if (type->id == AX_T_LIST && s->kind == SHAPE_MAP && of->type->id == AX_T_STRUCT &&
        of->type->nested->n == 2)
        return declare_entries(b, of->type->nested, s);
    if (type->id == AX_T_LIST)
    {
        if (s->kind != SHAPE_LIST)
            return misfit(b, s, type);
        return declare(b, s->child->kind == SHAPE_LIST ? type : of->type, s->child);
    }
    if (s->kind == SHAPE_LEAF)
        return declare_scalar(b, type, s);
    return type->id == AX_T_TEXT || type->id == AX_T_JSONB ? AX_OK : misfit(b, s, type);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Types to read the leaves of a shape as, where they are not their own. */
static void leaf_types(const ax_pq_shape *root, const ax_pq_shape *s, const ax_type **as)
{
    uint32_t i;

    if (s->kind == SHAPE_LEAF)
        as[s->leaf0 - root->leaf0] = s->as;
    for (i = 0; i < s->n; i++)
        leaf_types(root, &s->child[i], as);
}

static ax_status bind_leaves(binder *b, const ax_colspec *col, ax_pq_nest *nest)
{
    const ax_type *elem = nest->list && col->type.nested != NULL ? col->type.nested->type : NULL;
    const ax_type **as;
    uint32_t i;

    AX_NEW(b->t, as, (const ax_type **) ax_arena_alloc0(b->t->arena,
                                                        (nest->shape->nleaf + 1) * sizeof *as));
    leaf_types(nest->shape, nest->shape, as);
    for (i = 0; i < nest->shape->nleaf; i++)
    {
        const ax_pq_leaf *l = &b->f->leaf[nest->shape->leaf0 + i];
        const ax_type *type = elem != NULL ? elem : as[i] != NULL ? as[i] : &l->type;
        ax_colspec c = {.name = col->name, .type = *type, .epoch = col->epoch,
                        .encoding_check = col->encoding_check, .binary_as = col->binary_as,
                        .zone = col->zone, .zone_len = col->zone_len,
                        .int96_zone = col->int96_zone, .nint96_zones = col->nint96_zones,
                        .calendar = col->calendar, .drill_dates = col->drill_dates,
                        .out_of_range = col->out_of_range, .timestamp_ns = col->timestamp_ns};

        AX_TRY(ax_pq_conv_make(b->t, b->f, l, &c, &nest->conv[i]));
        nest->conv[i].leaf_idx = nest->shape->leaf0 + i;
    }
    return AX_OK;
}

/* Lists one in another, down to scalars: how many? 0: other things are in them. */
static uint32_t dimensions(const ax_pq_shape *s)
{
    uint32_t n = 0;

    for (; s->kind == SHAPE_LIST; s = s->child)
        n++;
    return s->kind == SHAPE_LEAF ? n : 0;
}

ax_status ax_pq_bind_nested(ax_task *t, ax_arena *a, const ax_pq_file *f, const ax_field *fld,
                            const ax_colspec *col, const ax_bind_opts *opts, ax_pq_conv *out)
{
    binder b = {t, a, f, opts, fld->source_type};
    const char *reason = NULL;
    const ax_pq_elem *e;
    ax_pq_shape *s;
    ax_pq_nest *nest;
    uint32_t i = 0;

    while (f->elem[i].field != fld)
        i++;
    e = &f->elem[i];
    AX_CHECK(t, e->rep == (e->repetition == PQ_REPEATED), AX_EUNSUPPORTED,
             "field \"%s\" lies inside a list: declare the list", fld->name);
    AX_TRY(ax_pq_shape_make(t, a, f, i, opts->legacy_lists, &s, &reason));
    AX_CHECK(t, reason == NULL, AX_EUNSUPPORTED, "column of type %s cannot be read: %s",
             fld->source_type, reason);
    AX_NEW(t, nest, (ax_pq_nest *) ax_arena_alloc0(a, sizeof *nest));
    AX_NEW(t, nest->conv, (ax_pq_conv *) ax_arena_alloc0(a, s->nleaf * sizeof *nest->conv));
    nest->shape = s;
    nest->skip_null_keys = opts->skip_null_keys;
    nest->list = col->type.id == AX_T_LIST;
    if (nest->list)
    {
        AX_CHECK(t, s->kind == SHAPE_LIST, AX_ETYPE, "file type %s cannot be read as %s",
                 fld->source_type, ax_type_name((ax_type_id) col->type.id));
        AX_CHECK(t, dimensions(s) > 0, AX_EUNSUPPORTED,
                 "lists of maps or groups are no arrays of scalars: declare the column as jsonb, "
                 "or as an array of a composite type");
        AX_CHECK(t, dimensions(s) <= PQ_MAX_DIMENSIONS, AX_ELIMIT,
                 "lists are nested %u deep, arrays have %d dimensions at most: declare the column "
                 "as jsonb", dimensions(s), PQ_MAX_DIMENSIONS);
    }
    else
        AX_CHECK(t, col->type.id == AX_T_JSONB || col->type.id == AX_T_TEXT, AX_ETYPE,
                 "file type %s cannot be read as %s", fld->source_type,
                 ax_type_name((ax_type_id) col->type.id));
    if (!nest->list && col->type.nested != NULL)
        AX_TRY(declare(&b, col->type.nested->type, s));
    AX_TRY(bind_leaves(&b, col, nest));
    *out = (ax_pq_conv){.leaf = &f->leaf[s->leaf0], .leaf_idx = s->leaf0, .nest = nest,
                        .type = col->type, .kind = CONV_NEST, .not_null = col->not_null};
    return AX_OK;
}
