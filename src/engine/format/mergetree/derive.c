/* Columns that a part has not as the table has them.
 *
 * An ALTER TABLE ADD COLUMN leaves old parts as they are; their rows have the column's default:
 * its DEFAULT or MATERIALIZED expression, or else zero, '' or [] of its type.  Columns that are an
 * ALIAS are in no part at all.  Until a MODIFY COLUMN is done, parts have a column in the type that
 * it had before.  What the table has is told by its definition (lines column=`name` type DEFAULT
 * expression).
 *
 * Constants become nodes that repeat one value (default.c).  Other expressions, and casts, become
 * columns that are computed from other columns of the part (derive_int.h).  A missing column of a
 * Nested table without a default has as many elements as its siblings: its sizes are theirs, and
 * only the elements have a template.
 *
 * Format: mergetree.md, "Missing columns". */
#include "derive_int.h"

/* Defaults of defaults. */
enum { MAX_DEPTH = 12 };

/* ---- definitions ----------------------------------------------------------------------------- */

/* The line column=<name> <rest>, or NULL. */
static const char *line_of(const char *options, const char *name, const char **end)
{
    size_t n;
    const char *s = options;

    while ((s = ax_mt_option(s, "column", &n)) != NULL)
    {
        const char *p = s, *c = name;

        *end = s + n;
        if (*p == '`')
        {
            for (p++; p < *end && *p != '`'; p++, c++)
            {
                p += *p == '\\' && p + 1 < *end;
                if (*c != *p)
                    break;
            }
            if (p < *end && *p == '`' && *c == '\0')
                return p + 1;
        }
        else
        {
            size_t len = strlen(name);

            if (n > len && memcmp(p, name, len) == 0 && p[len] == ' ')
                return p + len;
        }
        s = *end;
    }
    return NULL;
}

/* Where the type ends and a default expression begins; *expr NULL: there is none. */
const char *ax_mt_type_end(const char *s, const char *end, const char **expr)
{
    static const char *const words[] = {" DEFAULT ", " MATERIALIZED ", " EPHEMERAL", " ALIAS "};
    int depth = 0;

    *expr = NULL;
    for (; s < end; s++)
    {
        if (*s == '\'' || *s == '`')
        {
            char q = *s++;

            while (s < end && *s != q)
                s += *s == '\\' ? 2 : 1;
            if (s >= end)
                return end;
        }
        depth += (*s == '(') - (*s == ')');
        for (size_t i = 0; depth == 0 && i < sizeof words / sizeof words[0]; i++)
        {
            size_t n = strlen(words[i]);

            if ((size_t) (end - s) >= n && memcmp(s, words[i], n) == 0)
            {
                *expr = s + n;
                return s;
            }
        }
    }
    return end;
}

/* A column of the same Nested table that the part has, with the ordinal of its sizes; -1: none. */
static int32_t sibling_sizes(const ax_mt_part *p, const char *name)
{
    const char *dot = strchr(name, '.');

    for (uint32_t i = 0; dot != NULL && i < p->ncolumns; i++)
    {
        const ax_mt_column *c = &p->column[i];

        if (strncmp(c->name, name, (size_t) (dot - name) + 1) == 0 && c->node != NULL &&
            c->node->form == MT_F_ARRAY && c->node->stream[0] >= 0 &&
            (!p->compact || p->stream[c->node->stream[0]].mark_idx >= 0))
            return c->node->stream[0];
    }
    return -1;
}

/* What the table's definition says of a column. */
typedef struct definition
{
    const ax_mt_type *type;       /* NULL: nothing is known */
    const char *expr, *end;       /* its expression, or NULL */
    bool ephemeral, alias;
} definition;

static ax_status definition_of(ax_task *t, ax_arena *a, const ax_mt_part *p, const char *name,
                               definition *d)
{
    const char *s, *stop;

    memset(d, 0, sizeof *d);
    s = line_of(p->options, name, &d->end);
    if (s == NULL)
        return AX_OK;
    stop = ax_mt_type_end(s, d->end, &d->expr);
    d->ephemeral = d->expr != NULL && strncmp(stop, " EPHEMERAL", 10) == 0;
    d->alias = d->expr != NULL && strncmp(stop, " ALIAS", 6) == 0;
    return ax_mt_type_parse(t, a, s, (size_t) (stop - s), &d->type);
}

ax_status ax_mt_table_type(ax_task *t, ax_arena *a, const ax_mt_part *p, const char *name,
                           const ax_mt_type **out)
{
    definition d;

    AX_TRY(definition_of(t, a, p, name, &d));
    *out = d.type;
    return AX_OK;
}

/* ---- types that changed ---------------------------------------------------------------------- */

static bool same_labels(const ax_mt_type *l, const ax_mt_type *r)
{
    for (uint32_t i = 0; i < l->nlabel; i++)
    {
        uint32_t k;

        for (k = 0; k < r->nlabel; k++)
            if (r->label[k].code == l->label[i].code && r->label[k].len == l->label[i].len &&
                memcmp(r->label[k].name, l->label[i].name, l->label[i].len) == 0)
                break;
        if (k == r->nlabel)
            return false;
    }
    return true;
}

/* Do values of `from` mean the same, whichever of the two types they are taken for?  Which type
 * that has in the host is another matter: the wider one has all values of the narrower. */
static bool same_values(const ax_mt_type *from, const ax_mt_type *to)
{
    while (from->id == MT_LOWCARD)
        from = from->child[0];
    while (to->id == MT_LOWCARD)
        to = to->child[0];
    if (to->id == MT_NULLABLE && from->id != MT_NULLABLE)
        return same_values(from, to->child[0]);
    if (from->id == MT_UINT && to->id == MT_INT)
        return to->width > from->width;
    if (from->id == MT_DATE && to->id == MT_DATE32)
        return true;
    if (from->id != to->id || from->nchild != to->nchild)
        return false;
    switch ((ax_mt_tid) from->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_FLOAT:
            return to->width >= from->width;
        case MT_DECIMAL:
            return to->width >= from->width && to->scale == from->scale;
        case MT_ENUM:
            return same_labels(from, to);
        case MT_DATETIME64:
        case MT_TIME64:
            return to->scale == from->scale;
        case MT_FIXEDSTRING:
            return to->width == from->width;
        case MT_AGGREGATE:
        case MT_OTHER:
        case MT_QBIT:
            return strcmp(from->text, to->text) == 0;
        case MT_INTERVAL:
            return from->unit == to->unit;
        default:
            break;
    }
    for (uint32_t i = 0; i < from->nchild; i++)
        if (!same_values(from->child[i], to->child[i]) ||
            (from->id == MT_TUPLE && from->name[i] != NULL && to->name[i] != NULL &&
             strcmp(from->name[i], to->name[i]) != 0))
            return false;
    return true;
}

/* ---- columns that are computed --------------------------------------------------------------- */

static ax_status template_column(ax_task *t, ax_arena *a, const ax_mt_part *p, const char *name,
                                 const definition *d, ax_mt_column **out)
{
    bool bare = d->expr == NULL;
    int32_t sizes = bare && d->type->id == MT_ARRAY ? sibling_sizes(p, name) : -1;
    ax_mt_column *c;

    AX_NEW(t, c, (ax_mt_column *) ax_arena_alloc0(a, sizeof *c));
    c->name = name;
    c->type = d->type;
    c->field = UINT32_MAX;
    *out = c;
    if (sizes < 0)
    {
        AX_TRY(ax_mt_template(t, a, d->type, d->expr, bare ? 0 : (size_t) (d->end - d->expr),
                              &c->node));
        if (c->node == NULL)
            *out = NULL;
        return AX_OK;
    }
    AX_NEW(t, c->node, (ax_mt_node *) ax_arena_alloc0(a, sizeof *c->node));
    AX_NEW(t, c->node->child, (ax_mt_node **) ax_arena_alloc0(a, sizeof *c->node->child));
    AX_TRY(ax_mt_template(t, a, d->type->child[0], NULL, 0, &c->node->child[0]));
    c->node->type = d->type;
    c->node->form = MT_F_ARRAY;
    c->node->nchild = 1;
    c->node->stream[0] = sizes;
    c->node->stream[1] = c->node->stream[2] = MT_NO_STREAM;
    c->stream0 = (uint32_t) sizes;
    c->nstreams = 1;
    return AX_OK;
}

static const ax_mt_column *stored_column(const ax_mt_part *p, const char *name)
{
    for (uint32_t i = 0; i < p->ncolumns; i++)
        if (p->column[i].field != UINT32_MAX && !p->column[i].dropped &&
            strcmp(p->column[i].name, name) == 0)
            return &p->column[i];
    return NULL;
}

static ax_status expression_node(ax_mt_check *c, const definition *d, ax_mt_x **out)
{
    ax_mt_tree *tree;
    const char *at;

    if (c->expr == NULL)
    {
        c->expr = d->expr;
        c->nexpr = d->end - d->expr < 100 ? (int) (d->end - d->expr) : 100;
    }
    if (c->depth >= MAX_DEPTH)
        return ax_mt_x_refuse(c, "defaults refer to each other");
    AX_TRY(ax_mt_tree_parse(c->t, c->a, d->expr, (size_t) (d->end - d->expr), &tree, &at));
    if (tree == NULL)
        return ax_mt_x_refuse(c, "what stands at \"%.*s\"",
                              d->end - at < 40 ? (int) (d->end - at) : 40, at);
    c->depth++;
    AX_TRY(ax_mt_check_tree(c, tree, out));
    c->depth--;
    return ax_mt_x_cast(c, *out, d->type, out);
}

ax_status ax_mt_check_column(ax_mt_check *c, const char *name, ax_mt_x **out)
{
    const ax_mt_column *stored = stored_column(c->part, name);
    ax_mt_column *made;
    definition d;

    *out = NULL;
    AX_TRY(definition_of(c->t, c->a, c->part, name, &d));
    if (stored != NULL && stored->refusal != NULL)
        return ax_mt_x_refuse(c, "column \"%s\": %s", name, stored->refusal);
    if (stored != NULL && stored->node != NULL)
    {
        AX_TRY(ax_mt_x_stored(c, stored, out));
        return d.type != NULL ? ax_mt_x_cast(c, *out, d.type, out) : AX_OK;
    }
    if (d.type == NULL && stored == NULL)
        return AX_OK;
    if (d.type == NULL)
        d.type = stored->type;
    if (d.ephemeral)
        return ax_mt_x_refuse(c, "column \"%s\" is nowhere stored", name);
    AX_TRY(template_column(c->t, c->a, c->part, name, &d, &made));
    return made != NULL ? ax_mt_x_stored(c, made, out) : expression_node(c, &d, out);
}

/* A column of the type whose values are those of x. */
static ax_status computed(ax_mt_check *c, const char *name, const ax_mt_type *ty, ax_mt_x *x,
                          const ax_mt_column **out)
{
    struct ax_mt_derived *d;
    ax_mt_column *made;

    AX_NEW(c->t, d, (struct ax_mt_derived *) ax_arena_alloc0(c->a, sizeof *d));
    AX_NEW(c->t, made, (ax_mt_column *) ax_arena_alloc0(c->a, sizeof *made));
    AX_TRY(ax_mt_plain_node(c->t, c->a, ty, &made->node));
    d->narg = c->narg;
    d->arg = c->arg;
    d->root = x;
    made->name = name;
    made->type = ty;
    made->derived = d;
    made->field = UINT32_MAX;
    for (uint32_t i = 0; i < d->narg; i++)
        made->bytes += d->arg[i]->bytes;
    *out = made;
    return AX_OK;
}

ax_status ax_mt_changed_column(ax_task *t, ax_arena *a, const ax_mt_part *p,
                               const ax_mt_column *stored, const ax_mt_column **out)
{
    ax_mt_check c = {.t = t, .a = a, .part = p, .column = stored->name};
    const ax_mt_type *now;
    ax_mt_x *x;

    *out = stored;
    AX_TRY(ax_mt_table_type(t, a, p, stored->name, &now));
    if (now == NULL || same_values(stored->type, now))
        return AX_OK;
    /* Zeros at the end are taken away by the conversion. */
    if (ax_mt_bare(stored->type)->id == MT_FIXEDSTRING && ax_mt_bare(now)->id == MT_STRING)
        return AX_OK;
    AX_TRY(ax_mt_x_stored(&c, stored, &x));
    AX_TRY(ax_mt_x_cast(&c, x, now, &x));
    return computed(&c, stored->name, now, x, out);
}

ax_status ax_mt_default_column(ax_task *t, ax_arena *a, const ax_mt_part *p, const char *name,
                               const ax_mt_column *stored, const ax_mt_column **out)
{
    ax_mt_check c = {.t = t, .a = a, .part = p, .column = name};
    ax_mt_column *made;
    definition d;
    ax_mt_x *x;

    *out = NULL;
    AX_TRY(definition_of(t, a, p, name, &d));
    if (d.type == NULL && stored != NULL)
        d.type = stored->type;
    if (d.type == NULL)
        return AX_OK;
    AX_CHECK(t, !d.ephemeral, AX_EUNSUPPORTED, "an EPHEMERAL column is nowhere stored");
    AX_TRY(template_column(t, a, p, name, &d, &made));
    *out = made;
    if (made != NULL)
        return AX_OK;
    AX_TRY(expression_node(&c, &d, &x));
    return computed(&c, name, d.type, x, out);
}
