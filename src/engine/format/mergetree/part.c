/* What a part says of itself: schema, splits, options. */
#include "derive_int.h"

#include <stdlib.h>

/* A split has fewer than 2^32 rows; granules are not cut. */
#define SPLIT_ROWS (1ull << 31)

/* Columns that ClickHouse keeps for itself. */
static bool is_internal(const char *name)
{
    static const char *const names[] = {"_row_exists", "_block_number", "_block_offset", "_part",
                                        "_part_offset", "_part_data_version"};

    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Why values of this type cannot be read, or NULL. */
static const char *refusal_of(const ax_mt_type *ty)
{
    if (ty->id == MT_DYNAMIC || ty->id == MT_JSON || ty->id == MT_OTHER)
        return "the type is not supported";
    for (uint32_t i = 0; ty->id != MT_AGGREGATE && i < ty->nchild; i++)
        if (refusal_of(ty->child[i]) != NULL)
            return refusal_of(ty->child[i]);
    return NULL;
}

/* Tell what an array is made of. */
static ax_status list_of(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_type *out)
{
    ax_nested *n;
    ax_type *elem;

    while (ty->id != MT_ARRAY)
        ty = ty->child[0];
    AX_NEW(t, n, (ax_nested *) ax_arena_alloc0(a, sizeof *n));
    AX_NEW(t, elem, (ax_type *) ax_arena_alloc0(a, sizeof *elem));
    *elem = ax_mt_default_type(ty->child[0]);
    n->n = 1;
    n->type = elem;
    out->nested = n;
    return AX_OK;
}

static bool has_nulls(const ax_mt_type *ty)
{
    if (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    return ty->id == MT_NULLABLE || ty->id == MT_VARIANT;
}

static ax_status put_field(ax_task *t, ax_mt_part *p, const char *name, const ax_mt_type *type,
                           const char *refusal)
{
    ax_field *f = &p->base.schema.field[p->base.schema.n++];

    f->name = name;
    f->type = ax_mt_default_type(type);
    if (f->type.id == AX_T_LIST)
        AX_TRY(list_of(t, p->base.arena, type, &f->type));
    f->source_type = type->text;
    f->refusal = refusal;
    f->nullable = has_nulls(type);
    f->field_id = -1;
    return AX_OK;
}

/* The name at the beginning of a column's definition; *rest: what stands behind it. */
static ax_status defined_name(ax_task *t, ax_arena *a, const char *s, const char *end, char **name,
                              const char **rest)
{
    size_t n = 0;

    AX_NEW(t, *name, (char *) ax_arena_alloc(a, (size_t) (end - s) + 1));
    if (s < end && *s == '`')
        for (s++; s < end && *s != '`'; s++)
        {
            s += *s == '\\' && s + 1 < end;
            (*name)[n++] = *s;
        }
    else
        for (; s < end && *s != ' '; s++)
            (*name)[n++] = *s;
    (*name)[n] = '\0';
    *rest = s + (s < end && *s == '`');
    return AX_OK;
}

/* Columns of the table's definition that the part lacks, but those that are never stored. */
static ax_status add_defined(ax_task *t, ax_mt_part *p)
{
    size_t n;

    for (const char *s = p->options; (s = ax_mt_option(s, "column", &n)) != NULL; s += n)
    {
        const char *rest = s, *stop, *expr;
        const ax_mt_type *type;
        bool known = false;
        char *name = NULL;

        AX_TRY(defined_name(t, p->base.arena, s, s + n, &name, &rest));
        stop = ax_mt_type_end(rest, s + n, &expr);
        if (expr != NULL &&
            (strncmp(stop, " ALIAS", 6) == 0 || strncmp(stop, " EPHEMERAL", 10) == 0))
            continue;
        for (uint32_t i = 0; i < p->ncolumns && !known; i++)
            known = p->column[i].field != UINT32_MAX && strcmp(p->column[i].name, name) == 0;
        if (known)
            continue;
        AX_TRY(ax_mt_table_type(t, p->base.arena, p, name, &type));
        if (type != NULL)
            AX_TRY(put_field(t, p, name, type, refusal_of(type)));
    }
    return AX_OK;
}

ax_status ax_mt_schema_make(ax_task *t, ax_mt_part *p)
{
    uint32_t cap = p->ncolumns + 1;
    size_t n;

    for (const char *s = p->options; (s = ax_mt_option(s, "column", &n)) != NULL; s += n)
        cap++;
    AX_NEW(t, p->base.schema.field,
           (ax_field *) ax_arena_alloc0(p->base.arena, cap * sizeof *p->base.schema.field));
    for (uint32_t i = 0; i < p->ncolumns; i++)
    {
        ax_mt_column *c = &p->column[i];

        c->field = UINT32_MAX;
        if (c->dropped || is_internal(c->name))
            continue;
        if (c->refusal == NULL)
            c->refusal = refusal_of(c->type);
        c->field = p->base.schema.n;
        AX_TRY(put_field(t, p, c->name, c->type, c->refusal));
    }
    return add_defined(t, p);
}

ax_status ax_mt_splits_make(ax_task *t, ax_mt_part *p)
{
    uint32_t n = (uint32_t) ((uint64_t) p->rows / (SPLIT_ROWS / 2)) + 2, g;
    uint64_t start = 0;

    AX_NEW(t, p->split_gran, (uint32_t *) ax_arena_alloc0(p->base.arena, n * sizeof(uint32_t)));
    for (g = 0; g < p->ngran; g++)
    {
        AX_CHECK(t, p->row_at[g + 1] - p->row_at[g] <= SPLIT_ROWS / 2, AX_ELIMIT,
                 "granule %u has too many rows", g);
        if (g > 0 && p->row_at[g + 1] - start > SPLIT_ROWS)
        {
            p->split_gran[++p->base.nsplits] = g;
            start = p->row_at[g];
        }
    }
    if (p->ngran > 0)
        p->split_gran[++p->base.nsplits] = p->ngran;
    return AX_OK;
}

bool ax_mt_old_name(const char *name)
{
    for (int i = 0; i < 17; i++)
        if (i == 8 ? name[i] != '_' : name[i] < '0' || name[i] > '9')
            return false;
    return name[17] == '_';
}

const char *ax_mt_option(const char *options, const char *key, size_t *n)
{
    size_t len = strlen(key);

    while (options != NULL && *options != '\0')
    {
        const char *end = strchr(options, '\n');

        end = end != NULL ? end : options + strlen(options);
        if (strncmp(options, key, len) == 0 && options[len] == '=')
        {
            *n = (size_t) (end - options) - len - 1;
            return options + len + 1;
        }
        options = *end != '\0' ? end + 1 : NULL;
    }
    return NULL;
}

uint64_t ax_mt_granularity(const char *options)
{
    size_t n;
    const char *v = ax_mt_option(options, "index_granularity", &n);

    return v != NULL ? strtoull(v, NULL, 10) : 8192;
}
