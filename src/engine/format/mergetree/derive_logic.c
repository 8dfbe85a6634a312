/* Functions of computed columns: comparisons, logic, choices.
 *
 * Source: FunctionsComparison.h, FunctionsLogical.cpp, if.cpp of ClickHouse. */
#include "derive_int.h"

enum { EQ, NE, LT, LE, GT, GE };

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Values that are compared as they are kept. */
static bool comparable(const ax_mt_type *l, const ax_mt_type *r)
{
    if (ax_mt_whole(l) && ax_mt_whole(r))
        return true;
    if (l->id == MT_FLOAT || r->id == MT_FLOAT)
        return (l->id == MT_FLOAT || (ax_mt_whole(l) && l->width <= 4)) &&
               (r->id == MT_FLOAT || (ax_mt_whole(r) && r->width <= 4));
    if (l->id == MT_DATETIME && r->id == MT_DATETIME)
        return true;
    return (l->id == MT_STRING || l->id == MT_DATE || l->id == MT_DATE32 ||
            l->id == MT_DATETIME64 || l->id == MT_DECIMAL) && strcmp(l->text, r->text) == 0;
}

/* A literal that stands for a date or the like becomes one. */
static ax_status literal(ax_mt_check *c, ax_mt_x *x, uint32_t i)
{
    const ax_mt_type *to = ax_mt_bare(x->arg[1 - i]->type);

    if (x->arg[i]->kind != MT_X_CONST || x->arg[i]->type->id != MT_STRING || to->id == MT_STRING ||
        ax_mt_whole(to) || to->id == MT_FLOAT || to->id == MT_DECIMAL)
        return AX_OK;
    return ax_mt_x_cast(c, x->arg[i], to, &x->arg[i]);
}

static ax_status comparison_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *l, *r;

    AX_TRY(literal(c, x, 0));
    AX_TRY(literal(c, x, 1));
    x->raises |= x->arg[0]->raises || x->arg[1]->raises;
    l = ax_mt_bare(x->arg[0]->type);
    r = ax_mt_bare(x->arg[1]->type);
    if (!comparable(l, r) &&
        !(x->fn->op <= NE && (l->id == MT_ENUM || l->id == MT_UUID) &&
          strcmp(l->text, r->text) == 0))
        return ax_mt_x_refuse(c, "a comparison of %s and %s", l->text, r->text);
    return ax_mt_x_result(c, x, "UInt8");
}

static bool holds(int op, int cmp)
{
    switch (op)
    {
        case EQ: return cmp == 0;
        case NE: return cmp != 0;
        case LT: return cmp < 0;
        case LE: return cmp <= 0;
        case GT: return cmp > 0;
        default: return cmp >= 0;
    }
}

static bool holds_float(int op, double l, double r)
{
    switch (op)
    {
        case EQ: return l == r;
        case NE: return l != r;
        case LT: return l < r;
        case LE: return l <= r;
        case GT: return l > r;
        default: return l >= r;
    }
}

static int compare_bytes(const ax_mt_reg *l, const ax_mt_reg *r, uint32_t i)
{
    uint32_t n = l->len[i] < r->len[i] ? l->len[i] : r->len[i];
    int cmp = n > 0 ? memcmp(l->ptr[i], r->ptr[i], n) : 0;

    return cmp != 0 ? cmp : l->len[i] < r->len[i] ? -1 : l->len[i] > r->len[i];
}

static ax_status comparison(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg,
                            const uint8_t *skip, ax_mt_reg *out)
{
    const ax_mt_reg *l = &arg[0], *r = &arg[1];
    int op = x->fn->op;

    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
        if (skip != NULL && skip[i])
            out->i[i] = 0;
        else if (l->ptr != NULL)
            out->i[i] = holds(op, compare_bytes(l, r, i));
        else if (l->f != NULL || r->f != NULL)
            out->i[i] = holds_float(op, ax_mt_real(l, i), ax_mt_real(r, i));
        else
            out->i[i] = holds(op, l->i[i] < r->i[i] ? -1 : l->i[i] > r->i[i]);
    return AX_OK;
}

/* ---- logic ----------------------------------------------------------------------------------- */

/* and, or (op 1), not (op 2): three-valued. */
static ax_status logic_type(ax_mt_check *c, ax_mt_x *x)
{
    bool all_bool = true, null = false;

    for (uint32_t i = 0; i < x->narg; i++)
    {
        if (!ax_mt_whole(x->arg[i]->type))
            return ax_mt_x_wrong(c, x, i);
        if (i > 0 && x->arg[i]->raises)
            return ax_mt_x_refuse(c, "%s of what may raise an error", x->fn->name);
        all_bool &= ax_mt_bare(x->arg[i]->type)->id == MT_BOOL;
        null |= x->arg[i]->type->id == MT_NULLABLE;
    }
    AX_TRY(ax_mt_x_result(c, x, all_bool ? "Bool" : "UInt8"));
    return null ? ax_mt_x_nullable(c, x->type, &x->type) : AX_OK;
}

static ax_status logic(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                       ax_mt_reg *out)
{
    bool any = x->fn->op == 1;

    (void) skip;
    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    if (x->type->id == MT_NULLABLE)
        AX_NEW(e->t, out->null, (uint8_t *) ax_arena_values(e->a, (size_t) e->n + 1));
    for (uint32_t i = 0; i < e->n; i++)
    {
        bool decided = false, null = false;

        for (uint32_t k = 0; k < x->narg; k++)
        {
            bool unknown = arg[k].null != NULL && arg[k].null[i];

            null |= unknown;
            decided |= !unknown && (arg[k].i[i] != 0) == any;
        }
        /* `not` is `and` of one argument, the other way round. */
        out->i[i] = decided ? any : !any;
        if (x->fn->op == 2)
            out->i[i] = !out->i[i];
        if (out->null != NULL)
            out->null[i] = null && (!decided || x->fn->op == 2);
    }
    return AX_OK;
}

/* isNull, isNotNull (op 1) */
static ax_status is_null_type(ax_mt_check *c, ax_mt_x *x) { return ax_mt_x_result(c, x, "UInt8"); }

static ax_status is_null(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                         ax_mt_reg *out)
{
    (void) skip;
    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
        out->i[i] = (arg[0].null != NULL && arg[0].null[i]) != (x->fn->op == 1);
    return AX_OK;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* Values are cast to the common type; those at i with i = from, from + step, ..., and the last. */
static ax_status common(ax_mt_check *c, ax_mt_x *x, uint32_t from, uint32_t step)
{
    const ax_mt_type *ty = NULL;
    uint32_t last = x->narg - 1, i;

    for (i = from; i < x->narg; i = i + step < last || i == last ? i + step : last)
        if (ty == NULL)
            ty = x->arg[i]->type;
        else
            AX_TRY(ax_mt_x_super(c, ty, x->arg[i]->type, &ty));
    if (ax_mt_cls_of(ty) == MT_R_NONE)
        return ax_mt_x_refuse(c, "%s of type %s", x->fn->name, ty->text);
    for (i = from; i < x->narg; i = i + step < last || i == last ? i + step : last)
        AX_TRY(ax_mt_x_cast(c, x->arg[i], ty, &x->arg[i]));
    for (i = 1; i < x->narg; i++)
        if (x->arg[i]->raises)
            return ax_mt_x_refuse(c, "%s of what may raise an error", x->fn->name);
    x->type = ty;
    return AX_OK;
}

/* if, multiIf: condition, value, ..., value */
static ax_status choice_type(ax_mt_check *c, ax_mt_x *x)
{
    if (x->narg % 2 == 0)
        return ax_mt_x_refuse(c, "%s with %u arguments", x->fn->name, x->narg);
    for (uint32_t i = 0; i + 1 < x->narg; i += 2)
        if (!ax_mt_whole(x->arg[i]->type) || ax_mt_bare(x->arg[i]->type)->width != 1)
            return ax_mt_x_wrong(c, x, i);
    return common(c, x, 1, 2);
}

ax_status ax_mt_pick(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint32_t *which,
                      ax_mt_reg *out)
{
    ax_mt_cls cls = ax_mt_cls_of(x->type);
    uint32_t i;

    if (cls == MT_R_ARRAY)
        return ax_fail(e->t, AX_EUNSUPPORTED, "%s of arrays is not supported", x->fn->name);
    AX_TRY(ax_mt_reg_room(e, cls, e->n, out));
    if (x->type->id == MT_NULLABLE)
        AX_NEW(e->t, out->null, (uint8_t *) ax_arena_values(e->a, (size_t) e->n + 1));
    for (i = 0; i < e->n; i++)
    {
        const ax_mt_reg *r = &arg[which[i]];

        if (out->null != NULL)
            out->null[i] = r->null != NULL && r->null[i];
        if (cls == MT_R_INT)
            out->i[i] = r->i[i];
        else if (cls == MT_R_FLOAT)
            out->f[i] = r->f[i];
        else
        {
            out->ptr[i] = r->ptr[i];
            out->len[i] = r->len[i];
        }
    }
    return AX_OK;
}

static ax_status choice(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                        ax_mt_reg *out)
{
    uint32_t *which, i, k;

    (void) skip;
    AX_NEW(e->t, which, (uint32_t *) ax_arena_values(e->a, (size_t) e->n * 4 + 4));
    for (i = 0; i < e->n; i++)
    {
        for (k = 0; k + 1 < x->narg; k += 2)
            if (arg[k].i[i] != 0 && !(arg[k].null != NULL && arg[k].null[i]))
                break;
        which[i] = k + 1 < x->narg ? k + 1 : k;
    }
    return ax_mt_pick(e, x, arg, which, out);
}

/* coalesce, ifNull: the first that is not null. */
static ax_status first_type(ax_mt_check *c, ax_mt_x *x)
{
    bool null = true;

    AX_TRY(common(c, x, 0, 1));
    for (uint32_t i = 0; i < x->narg; i++)
        null &= x->arg[i]->kind == MT_X_CALL && x->arg[i]->fn == &ax_mt_cast_fn
                    ? x->arg[i]->arg[0]->type->id == MT_NULLABLE
                    : x->arg[i]->type->id == MT_NULLABLE;
    if (!null)
        x->type = ax_mt_bare(x->type);
    return AX_OK;
}

static ax_status first(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                       ax_mt_reg *out)
{
    uint32_t *which, i, k;

    (void) skip;
    AX_NEW(e->t, which, (uint32_t *) ax_arena_values(e->a, (size_t) e->n * 4 + 4));
    for (i = 0; i < e->n; i++)
    {
        for (k = 0; k + 1 < x->narg && arg[k].null != NULL && arg[k].null[i];)
            k++;
        which[i] = k;
    }
    return ax_mt_pick(e, x, arg, which, out);
}

/* ---- the list -------------------------------------------------------------------------------- */

#define COMPARISON(name, op) {name, 2, 2, false, op, comparison_type, comparison}

const ax_mt_fn ax_mt_fn_logic[] = {
    COMPARISON("equals", EQ), COMPARISON("notEquals", NE), COMPARISON("less", LT),
    COMPARISON("lessOrEquals", LE), COMPARISON("greater", GT), COMPARISON("greaterOrEquals", GE),
    {"and", 2, 255, true, 0, logic_type, logic}, {"or", 2, 255, true, 1, logic_type, logic},
    {"not", 1, 1, true, 2, logic_type, logic}, {"isNull", 1, 1, true, 0, is_null_type, is_null},
    {"isNotNull", 1, 1, true, 1, is_null_type, is_null}, {"if", 3, 3, true, 0, choice_type, choice},
    {"multiIf", 3, 255, true, 0, choice_type, choice},
    {"coalesce", 1, 255, true, 0, first_type, first}, {"ifNull", 2, 2, true, 0, first_type, first},
    {0}};
