/* What a part says of itself: schema, splits, options. */
#include "mergetree_int.h"

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

ax_status ax_mt_schema_make(ax_task *t, ax_mt_part *p)
{
    ax_field *f;

    AX_NEW(t, f, (ax_field *) ax_arena_alloc0(p->base.arena, (p->ncolumns + 1) * sizeof *f));
    p->base.schema.field = f;
    for (uint32_t i = 0; i < p->ncolumns; i++)
    {
        ax_mt_column *c = &p->column[i];

        c->field = UINT32_MAX;
        if (c->dropped || is_internal(c->name))
            continue;
        if (c->refusal == NULL)
            c->refusal = refusal_of(c->type);
        c->field = p->base.schema.n++;
        f->name = c->name;
        f->type = ax_mt_default_type(c->type);
        if (f->type.id == AX_T_LIST)
            AX_TRY(list_of(t, p->base.arena, c->type, &f->type));
        f->source_type = c->type->text;
        f->refusal = c->refusal;
        f->nullable = has_nulls(c->type);
        f->field_id = -1;
        f++;
    }
    return AX_OK;
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
