/* Trees of expressions to typed nodes.
 *
 * Types of literals and of results are ClickHouse's, since they decide where integers wrap: 1 is an
 * UInt8, 300 an UInt16, -1 an Int8.  LowCardinality is looked through.
 *
 * Source: NumberTraits.h and getLeastSupertype.cpp of ClickHouse; results were compared with
 * those of ClickHouse 26.9 (sql/mergetree_default.sql). */
#include "derive_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* With the defaults of columns in it. */
enum { MAX_NODES = 2000 };

ax_status ax_mt_x_refuse(const ax_mt_check *c, const char *fmt, ...)
{
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    (void) vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    if (c->expr == NULL)
        return ax_fail(c->t, AX_EUNSUPPORTED, "type of column \"%s\" was changed: %s", c->column,
                       why);
    return ax_fail(c->t, AX_EUNSUPPORTED, "expression %.*s of column \"%s\" is not understood: %s",
                   c->nexpr, c->expr, c->column, why);
}

/* ---- types ----------------------------------------------------------------------------------- */

ax_status ax_mt_x_type(ax_mt_check *c, const char *name, const ax_mt_type **out)
{
    return ax_mt_type_parse(c->t, c->a, name, strlen(name), out);
}

ax_status ax_mt_x_nullable(ax_mt_check *c, const ax_mt_type *ty, const ax_mt_type **out)
{
    ax_mt_type *n;
    char *text;
    size_t len;

    *out = ty;
    if (ty->id == MT_NULLABLE)
        return AX_OK;
    if (ty->id == MT_ARRAY)
        return ax_mt_x_refuse(c, "an array cannot be null");
    len = strlen(ty->text) + 12;
    AX_NEW(c->t, text, (char *) ax_arena_alloc(c->a, len));
    (void) snprintf(text, len, "Nullable(%s)", ty->text);
    AX_NEW(c->t, n, (ax_mt_type *) ax_arena_alloc0(c->a, sizeof *n));
    AX_NEW(c->t, n->child, (const ax_mt_type **) ax_arena_alloc0(c->a, sizeof *n->child));
    AX_NEW(c->t, n->name, (const char **) ax_arena_alloc0(c->a, sizeof *n->name));
    n->id = MT_NULLABLE;
    n->text = text;
    n->nchild = 1;
    n->child[0] = ty;
    *out = n;
    return AX_OK;
}

/* The type without LowCardinality, on top and in arrays. */
static ax_status plain_type(ax_mt_check *c, const ax_mt_type *ty, const ax_mt_type **out)
{
    const ax_mt_type *elem;
    ax_mt_type *n;

    while (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    *out = ty;
    if (ty->id != MT_ARRAY)
        return AX_OK;
    AX_TRY(plain_type(c, ty->child[0], &elem));
    if (elem == ty->child[0])
        return AX_OK;
    AX_NEW(c->t, n, (ax_mt_type *) ax_arena_alloc(c->a, sizeof *n));
    *n = *ty;
    AX_NEW(c->t, n->child, (const ax_mt_type **) ax_arena_alloc0(c->a, sizeof *n->child));
    n->child[0] = elem;
    *out = n;
    return AX_OK;
}

static bool same_type(const ax_mt_type *l, const ax_mt_type *r)
{
    if (l->id == MT_ARRAY && r->id == MT_ARRAY)
        return same_type(l->child[0], r->child[0]);
    return strcmp(l->text, r->text) == 0;
}

static bool whole(const ax_mt_type *ty) { return ty->id == MT_INT || ty->id == MT_UINT; }

/* Integers: the wider one, or a signed one that holds both. */
static const char *super_number(const ax_mt_type *l, const ax_mt_type *r)
{
    static const char *const names[2][4] = {{"UInt8", "UInt16", "UInt32", "UInt64"},
                                            {"Int8", "Int16", "Int32", "Int64"}};
    bool is_signed = l->id == MT_INT || r->id == MT_INT;
    uint32_t lw, rw, w, at;

    if (l->id == MT_FLOAT || r->id == MT_FLOAT)
    {
        uint32_t most = l->id == MT_FLOAT && r->id == MT_FLOAT
                            ? (l->width > r->width ? l->width : r->width) : 0;

        if (most > 0)
            return most == 4 ? "Float32" : "Float64";
        lw = l->id == MT_FLOAT ? l->width : r->width;
        rw = l->id == MT_FLOAT ? r->width : l->width;
        return rw > 4 ? NULL : lw == 4 && rw <= 2 ? "Float32" : "Float64";
    }
    lw = l->id == MT_UINT && is_signed ? 2 * l->width : l->width;
    rw = r->id == MT_UINT && is_signed ? 2 * r->width : r->width;
    w = lw > rw ? lw : rw;
    for (at = 0; w > 1u << at;)
        at++;
    return at < 4 ? names[is_signed][at] : NULL;
}

ax_status ax_mt_x_super(ax_mt_check *c, const ax_mt_type *l, const ax_mt_type *r,
                        const ax_mt_type **out)
{
    const ax_mt_type *a = ax_mt_bare(l), *b = ax_mt_bare(r);
    bool null = l->id == MT_NULLABLE || r->id == MT_NULLABLE;
    const char *name = NULL;

    if (a->id == MT_NOTHING || b->id == MT_NOTHING)
        *out = a->id == MT_NOTHING ? b : a;
    else if (same_type(a, b))
        *out = a;
    else
    {
        if ((whole(a) || a->id == MT_FLOAT) && (whole(b) || b->id == MT_FLOAT))
            name = super_number(a, b);
        if (name == NULL)
            return ax_mt_x_refuse(c, "%s and %s have no type in common", a->text, b->text);
        AX_TRY(ax_mt_x_type(c, name, out));
    }
    return null ? ax_mt_x_nullable(c, *out, out) : AX_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ax_status node(ax_mt_check *c, ax_mt_xkind kind, const ax_mt_type *ty, ax_mt_x **out)
{
    if (++c->nodes > MAX_NODES)
        return ax_mt_x_refuse(c, "it is too long");
    AX_NEW(c->t, *out, (ax_mt_x *) ax_arena_alloc0(c->a, sizeof **out));
    (*out)->kind = (uint8_t) kind;
    (*out)->type = ty;
    return AX_OK;
}

ax_status ax_mt_x_stored(ax_mt_check *c, const ax_mt_column *column, ax_mt_x **out)
{
    const ax_mt_type *ty;
    uint32_t i;

    AX_TRY(plain_type(c, column->type, &ty));
    if (ax_mt_cls_of(ty) == MT_R_NONE)
        return ax_mt_x_refuse(c, "column \"%s\" has type %s", column->name, ty->text);
    for (i = 0; i < c->narg; i++)
        if (c->arg[i] == column)
            break;
    if (i == c->cap)
    {
        uint32_t cap = i == 0 ? 8 : 2 * i;
        const ax_mt_column **list;

        AX_NEW(c->t, list, (const ax_mt_column **) ax_arena_alloc(c->a, cap * sizeof *list));
        if (i > 0)
            memcpy(list, c->arg, i * sizeof *list);
        c->arg = list;
        c->cap = cap;
    }
    if (i == c->narg)
        c->arg[c->narg++] = column;
    AX_TRY(node(c, MT_X_COLUMN, ty, out));
    (*out)->at = i;
    return AX_OK;
}

ax_status ax_mt_x_cast(ax_mt_check *c, ax_mt_x *x, const ax_mt_type *to, ax_mt_x **out)
{
    const ax_mt_type *from = x->type;
    bool raises = false;

    AX_TRY(plain_type(c, to, &to));
    *out = x;
    if (same_type(from, to))
        return AX_OK;
    if (ax_mt_bare(from)->id == MT_NOTHING && to->id == MT_NULLABLE &&
        ax_mt_cls_of(to) != MT_R_NONE)
        ;
    else if (!ax_mt_cast_known(ax_mt_bare(from), ax_mt_bare(to), &raises))
        return ax_mt_x_refuse(c, "a cast of %s to %s is not known", from->text, to->text);
    AX_TRY(node(c, MT_X_CALL, to, out));
    AX_NEW(c->t, (*out)->arg, (ax_mt_x **) ax_arena_alloc(c->a, sizeof x));
    (*out)->fn = &ax_mt_cast_fn;
    (*out)->arg[0] = x;
    (*out)->narg = 1;
    (*out)->raises = x->raises || raises || (from->id == MT_NULLABLE && to->id != MT_NULLABLE);
    return AX_OK;
}

/* ---- literals -------------------------------------------------------------------------------- */

static ax_status constant(ax_mt_check *c, const char *type, ax_mt_x **out)
{
    const ax_mt_type *ty;

    AX_TRY(ax_mt_x_type(c, type, &ty));
    AX_TRY(node(c, MT_X_CONST, ty, out));
    (*out)->value.n = 1;
    return AX_OK;
}

static ax_status int_constant(ax_mt_check *c, const char *type, ax_i128 v, ax_mt_x **out)
{
    AX_TRY(constant(c, type, out));
    AX_NEW(c->t, (*out)->value.i, (ax_i128 *) ax_arena_values(c->a, sizeof v));
    (*out)->value.i[0] = v;
    return AX_OK;
}

static ax_status number(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out)
{
    static const char *const pos[] = {"UInt8", "UInt16", "UInt32", "UInt64"};
    static const char *const neg[] = {"Int8", "Int16", "Int32", "Int64"};
    ax_i128 v = 0, one = 1;
    char *end;

    if (memchr(tree->s, '.', tree->n) == NULL && memchr(tree->s, 'e', tree->n) == NULL &&
        memchr(tree->s, 'E', tree->n) == NULL &&
        ax_mt_digits((const uint8_t *) tree->s, tree->n, 0, &v) == tree->n)
        for (uint32_t i = 0; i < 4; i++)
        {
            if (v >= 0 && v < one << (8 << i))
                return int_constant(c, pos[i], v, out);
            if (v < 0 && v >= -(one << ((8 << i) - 1)))
                return int_constant(c, neg[i], v, out);
        }
    AX_TRY(constant(c, "Float64", out));
    AX_NEW(c->t, (*out)->value.f, (double *) ax_arena_values(c->a, sizeof(double)));
    (*out)->value.f[0] = strtod(tree->s, &end);
    return end == tree->s + tree->n ? AX_OK : ax_mt_x_refuse(c, "number %s", tree->s);
}

static ax_status text(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out)
{
    AX_TRY(constant(c, "String", out));
    AX_NEW(c->t, (*out)->value.ptr, (const uint8_t **) ax_arena_values(c->a, sizeof(void *)));
    AX_NEW(c->t, (*out)->value.len, (uint32_t *) ax_arena_values(c->a, sizeof(uint32_t)));
    (*out)->value.ptr[0] = (const uint8_t *) tree->s;
    (*out)->value.len[0] = tree->n;
    return AX_OK;
}

static ax_status name(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out)
{
    for (uint32_t i = 0; c->lambda != NULL && i + 1 < c->lambda->narg; i++)
        if (strcmp(c->lambda->arg[i]->s, tree->s) == 0)
        {
            AX_TRY(node(c, MT_X_PARAM, c->param[i], out));
            (*out)->at = i;
            return AX_OK;
        }
    AX_TRY(ax_mt_check_column(c, tree->s, out));
    if (*out != NULL)
        return AX_OK;
    if (strcasecmp(tree->s, "true") == 0 || strcasecmp(tree->s, "false") == 0)
        return int_constant(c, "Bool", tree->s[0] == 't' || tree->s[0] == 'T', out);
    if (strcasecmp(tree->s, "NULL") == 0)
    {
        AX_TRY(constant(c, "Nullable(Nothing)", out));
        AX_NEW(c->t, (*out)->value.null, (uint8_t *) ax_arena_values(c->a, 1));
        (*out)->value.null[0] = 1;
        return AX_OK;
    }
    return ax_mt_x_refuse(c, "there is no column \"%s\"", tree->s);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The type that a function toType casts to: %u stands for its second argument, a number. */
static const struct { const char *name, *type; } conversions[] = {
    {"toUInt8", "UInt8"}, {"toUInt16", "UInt16"}, {"toUInt32", "UInt32"}, {"toUInt64", "UInt64"},
    {"toInt8", "Int8"}, {"toInt16", "Int16"}, {"toInt32", "Int32"}, {"toInt64", "Int64"},
    {"toInt128", "Int128"}, {"toFloat32", "Float32"}, {"toFloat64", "Float64"},
    {"toBool", "Bool"}, {"toString", "String"}, {"toDate", "Date"}, {"toDate32", "Date32"},
    {"toUUID", "UUID"}, {"toUnixTimestamp", "UInt32"}, {"toDecimal32", "Decimal(9, %u)"},
    {"toDecimal64", "Decimal(18, %u)"}, {"toDecimal128", "Decimal(38, %u)"},
    {"toFixedString", "FixedString(%u)"}, {"toDateTime", "DateTime"}};

static ax_status conversion(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out, bool *found)
{
    const ax_mt_type *to;
    const char *type = NULL;
    char text[64];
    ax_mt_x *x;

    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++)
        if (strcasecmp(conversions[i].name, tree->s) == 0)
            type = conversions[i].type;
    *found = type != NULL;
    if (!*found)
        return AX_OK;
    if (tree->narg == 2 && strcmp(type, "DateTime") == 0 && tree->arg[1]->kind == MT_T_STRING &&
        tree->arg[1]->n < 40 && strchr(tree->arg[1]->s, '\'') == NULL)
        (void) snprintf(text, sizeof text, "DateTime('%s')", tree->arg[1]->s);
    else if (tree->narg == 2 && strchr(type, '%') != NULL && tree->arg[1]->kind == MT_T_NUMBER &&
             tree->arg[1]->n < 6)
        (void) snprintf(text, sizeof text, "%.*s%s)", (int) (strchr(type, '%') - type), type,
                        tree->arg[1]->s);
    else if (tree->narg == 1 && strchr(type, '%') == NULL)
        (void) snprintf(text, sizeof text, "%s", type);
    else
        return ax_mt_x_refuse(c, "arguments of function %s", tree->s);
    AX_TRY(ax_mt_check_tree(c, tree->arg[0], &x));
    AX_TRY(ax_mt_x_type(c, text, &to));
    if (strcasecmp(tree->s, "toUnixTimestamp") == 0 && ax_mt_bare(x->type)->id != MT_DATETIME)
        return ax_mt_x_refuse(c, "toUnixTimestamp of type %s", x->type->text);
    if (x->type->id == MT_NULLABLE)
        AX_TRY(ax_mt_x_nullable(c, to, &to));
    return ax_mt_x_cast(c, x, to, out);
}

/* CAST(x, 'type') */
static ax_status cast(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out)
{
    const ax_mt_type *to;
    ax_mt_x *x;

    if (tree->narg != 2 || tree->arg[1]->kind != MT_T_STRING)
        return ax_mt_x_refuse(c, "arguments of CAST");
    AX_TRY(ax_mt_check_tree(c, tree->arg[0], &x));
    AX_TRY(ax_mt_type_parse(c->t, c->a, tree->arg[1]->s, tree->arg[1]->n, &to));
    return ax_mt_x_cast(c, x, to, out);
}

/* arrayMap(x -> ..., array): the body is the first argument of the node. */
static ax_status map(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x *x)
{
    const ax_mt_tree *lambda = tree->narg > 0 ? tree->arg[0] : NULL;
    const ax_mt_type **param;

    if (lambda == NULL || lambda->kind != MT_T_LAMBDA || lambda->narg != tree->narg ||
        tree->narg < 2)
        return ax_mt_x_refuse(c, "arguments of arrayMap");
    if (c->lambda != NULL)
        return ax_mt_x_refuse(c, "a lambda in a lambda");
    AX_NEW(c->t, param, (const ax_mt_type **) ax_arena_alloc(c->a, tree->narg * sizeof *param));
    for (uint32_t i = 1; i < tree->narg; i++)
    {
        AX_TRY(ax_mt_check_tree(c, tree->arg[i], &x->arg[i]));
        if (x->arg[i]->type->id != MT_ARRAY)
            return ax_mt_x_refuse(c, "arrayMap of type %s", x->arg[i]->type->text);
        param[i - 1] = x->arg[i]->type->child[0];
    }
    c->lambda = lambda;
    c->param = param;
    AX_TRY(ax_mt_check_tree(c, lambda->arg[lambda->narg - 1], &x->arg[0]));
    c->lambda = NULL;
    return AX_OK;
}

static ax_status call(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out)
{
    const ax_mt_fn *fn = ax_mt_fn_find(tree->s);
    bool null = false;
    ax_mt_x *x;

    if (strcasecmp(tree->s, "CAST") == 0 || strcmp(tree->s, "_CAST") == 0)
        return cast(c, tree, out);
    if (fn == NULL)
    {
        bool found;

        AX_TRY(conversion(c, tree, out, &found));
        return found ? AX_OK : ax_mt_x_refuse(c, "function %s is not known", tree->s);
    }
    if (tree->narg < fn->least || (fn->most < 255 && tree->narg > fn->most))
        return ax_mt_x_refuse(c, "%s with %u arguments", tree->s, tree->narg);
    AX_TRY(node(c, MT_X_CALL, NULL, &x));
    AX_NEW(c->t, x->arg, (ax_mt_x **) ax_arena_alloc0(c->a, (tree->narg + 1) * sizeof *x->arg));
    x->fn = fn;
    x->narg = tree->narg;
    if (strcasecmp(tree->s, "arrayMap") == 0)
        AX_TRY(map(c, tree, x));
    else
        for (uint32_t i = 0; i < tree->narg; i++)
            AX_TRY(ax_mt_check_tree(c, tree->arg[i], &x->arg[i]));
    for (uint32_t i = 0; i < x->narg; i++)
    {
        x->raises |= x->arg[i]->raises;
        null |= x->arg[i]->type->id == MT_NULLABLE;
        if (!fn->nulls && ax_mt_bare(x->arg[i]->type)->id == MT_NOTHING)
            return ax_mt_x_refuse(c, "%s of NULL", tree->s);
    }
    AX_TRY(fn->type(c, x));
    if (null && !fn->nulls)
        AX_TRY(ax_mt_x_nullable(c, x->type, &x->type));
    *out = x;
    return AX_OK;
}

ax_status ax_mt_check_tree(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out)
{
    switch ((ax_mt_tree_kind) tree->kind)
    {
        case MT_T_NAME:
            return name(c, tree, out);
        case MT_T_NUMBER:
            return number(c, tree, out);
        case MT_T_STRING:
            return text(c, tree, out);
        case MT_T_CALL:
            return call(c, tree, out);
        default:
            return ax_mt_x_refuse(c, "a lambda stands where a value is expected");
    }
}
