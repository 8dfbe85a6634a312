/* Functions of computed columns: types of results, and a loop each.
 *
 * Nulls are the caller's, but of functions that say `nulls`.
 *
 * Source: NumberTraits.h, FunctionsComparison.h, FunctionsLogical.cpp, if.cpp, range.cpp,
 * FunctionsHashing.h of ClickHouse; docs/formats/mergetree.md, "Missing columns". */
#include "derive_int.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

enum { PLUS, MINUS, TIMES, DIVIDE, INT_DIV, MODULO };
enum { EQ, NE, LT, LE, GT, GE };
enum { LOWER, UPPER, REVERSE };

static bool whole(const ax_mt_type *ty)
{
    ty = ax_mt_bare(ty);
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_BOOL;
}

static bool is_float(const ax_mt_type *ty) { return ax_mt_bare(ty)->id == MT_FLOAT; }

static ax_status result(ax_mt_check *c, ax_mt_x *x, const char *name)
{
    return ax_mt_x_type(c, name, &x->type);
}

static ax_status wrong(const ax_mt_check *c, const ax_mt_x *x, uint32_t i)
{
    return ax_mt_x_refuse(c, "%s of type %s", x->fn->name, x->arg[i]->type->text);
}

static ax_status int_result(ax_mt_check *c, ax_mt_x *x, bool is_signed, uint32_t width)
{
    char name[16];

    (void) snprintf(name, sizeof name, "%s%u", is_signed ? "Int" : "UInt", 8 * width);
    return result(c, x, name);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static uint32_t next_width(uint32_t w) { return w < 8 ? 2 * w : w; }

static ax_status arithmetic_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *l = ax_mt_bare(x->arg[0]->type), *r = ax_mt_bare(x->arg[1]->type);
    bool is_signed = l->id == MT_INT || r->id == MT_INT;
    int op = x->fn->op;

    for (uint32_t i = 0; i < 2; i++)
        if (!whole(x->arg[i]->type) && !is_float(x->arg[i]->type))
            return wrong(c, x, i);
    if (op == DIVIDE)
        return result(c, x, "Float64");
    if (l->id == MT_FLOAT || r->id == MT_FLOAT)
        return op > DIVIDE ? wrong(c, x, l->id == MT_FLOAT ? 0 : 1) : result(c, x, "Float64");
    x->raises |= op > DIVIDE;
    switch (op)
    {
        case MINUS:
            return int_result(c, x, true, next_width(l->width > r->width ? l->width : r->width));
        case INT_DIV:
            return int_result(c, x, is_signed, l->width);
        case MODULO:
            if (r->width > 8)
                return wrong(c, x, 1);
            return int_result(c, x, l->id == MT_INT,
                              l->id == MT_INT ? next_width(r->width) : r->width);
        default:
            return int_result(c, x, is_signed, next_width(l->width > r->width ? l->width : r->width));
    }
}

static double real(const ax_mt_reg *r, uint32_t i) { return r->f != NULL ? r->f[i] : (double) r->i[i]; }

static ax_status arithmetic_float(ax_mt_run *e, int op, const ax_mt_reg *arg, ax_mt_reg *out)
{
    AX_TRY(ax_mt_reg_room(e, MT_R_FLOAT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        double l = real(&arg[0], i), r = real(&arg[1], i);

        out->f[i] = op == PLUS ? l + r : op == MINUS ? l - r : op == TIMES ? l * r : l / r;
    }
    return AX_OK;
}

static ax_status arithmetic(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg,
                            const uint8_t *skip, ax_mt_reg *out)
{
    const ax_mt_type *ty = ax_mt_bare(x->type);
    bool is_signed = ty->id == MT_INT;
    int op = x->fn->op;

    if (ty->id == MT_FLOAT)
        return arithmetic_float(e, op, arg, out);
    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        ax_mt_u128 l = (ax_mt_u128) arg[0].i[i], r = (ax_mt_u128) arg[1].i[i];
        ax_i128 v = 0;

        if (op <= TIMES)
            v = (ax_i128) (op == PLUS ? l + r : op == MINUS ? l - r : l * r);
        else if (skip == NULL || !skip[i])
        {
            AX_CHECK(e->t, r != 0, AX_EDIVZERO, "division by zero");
            if (r == (ax_mt_u128) -1)
                v = op == MODULO ? 0 : (ax_i128) (0 - l);
            else
                v = op == MODULO ? arg[0].i[i] % arg[1].i[i] : arg[0].i[i] / arg[1].i[i];
        }
        out->i[i] = ax_mt_wrap(v, ty->width, is_signed);
    }
    return AX_OK;
}

/* negate, abs (op 1) */
static ax_status negate_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *ty = ax_mt_bare(x->arg[0]->type);

    if (ty->id == MT_FLOAT)
    {
        x->type = ty;
        return AX_OK;
    }
    if (!whole(ty) || ty->width > 8)
        return wrong(c, x, 0);
    if (x->fn->op == 1)
        return int_result(c, x, false, ty->width);
    return int_result(c, x, true, ty->id == MT_INT ? ty->width : next_width(ty->width));
}

static ax_status negate(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                        ax_mt_reg *out)
{
    const ax_mt_type *ty = ax_mt_bare(x->type);

    (void) skip;
    AX_TRY(ax_mt_reg_room(e, ty->id == MT_FLOAT ? MT_R_FLOAT : MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
        if (ty->id == MT_FLOAT)
            out->f[i] = x->fn->op == 1 ? fabs(arg[0].f[i]) : -arg[0].f[i];
        else
            out->i[i] = ax_mt_wrap(x->fn->op == 1 && arg[0].i[i] >= 0 ? arg[0].i[i] : -arg[0].i[i],
                                   ty->width, ty->id == MT_INT);
    return AX_OK;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Values that are compared as they are kept. */
static bool comparable(const ax_mt_type *l, const ax_mt_type *r)
{
    if (whole(l) && whole(r))
        return true;
    if (l->id == MT_FLOAT || r->id == MT_FLOAT)
        return (l->id == MT_FLOAT || (whole(l) && l->width <= 4)) &&
               (r->id == MT_FLOAT || (whole(r) && r->width <= 4));
    if (l->id == MT_DATETIME && r->id == MT_DATETIME)
        return true;
    return (l->id == MT_STRING || l->id == MT_DATE || l->id == MT_DATE32 || l->id == MT_DATETIME64 ||
            l->id == MT_DECIMAL) && strcmp(l->text, r->text) == 0;
}

/* A literal that stands for a date or the like becomes one. */
static ax_status literal(ax_mt_check *c, ax_mt_x *x, uint32_t i)
{
    const ax_mt_type *to = ax_mt_bare(x->arg[1 - i]->type);

    if (x->arg[i]->kind != MT_X_CONST || x->arg[i]->type->id != MT_STRING || to->id == MT_STRING ||
        whole(to) || to->id == MT_FLOAT || to->id == MT_DECIMAL)
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
        !(x->fn->op <= NE && (l->id == MT_ENUM || l->id == MT_UUID) && strcmp(l->text, r->text) == 0))
        return ax_mt_x_refuse(c, "a comparison of %s and %s", l->text, r->text);
    return result(c, x, "UInt8");
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
            out->i[i] = holds_float(op, real(l, i), real(r, i));
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
        if (!whole(x->arg[i]->type))
            return wrong(c, x, i);
        if (i > 0 && x->arg[i]->raises)
            return ax_mt_x_refuse(c, "%s of what may raise an error", x->fn->name);
        all_bool &= ax_mt_bare(x->arg[i]->type)->id == MT_BOOL;
        null |= x->arg[i]->type->id == MT_NULLABLE;
    }
    AX_TRY(result(c, x, all_bool ? "Bool" : "UInt8"));
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
static ax_status is_null_type(ax_mt_check *c, ax_mt_x *x) { return result(c, x, "UInt8"); }

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

/* Values are cast to the common type; those at i with is_value(i). */
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
        if (!whole(x->arg[i]->type) || ax_mt_bare(x->arg[i]->type)->width != 1)
            return wrong(c, x, i);
    return common(c, x, 1, 2);
}

/* Row i of args[which[i]] each: all of one type. */
static ax_status pick(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint32_t *which,
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
    return pick(e, x, arg, which, out);
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
    return pick(e, x, arg, which, out);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* concat: other values as toString has them; FixedString with its zeros. */
static ax_status concat_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *text;

    AX_TRY(ax_mt_x_type(c, "String", &text));
    for (uint32_t i = 0; i < x->narg; i++)
    {
        const ax_mt_type *to = text;

        if (ax_mt_bare(x->arg[i]->type)->id == MT_FIXEDSTRING)
            continue;
        if (x->arg[i]->type->id == MT_NULLABLE)
            AX_TRY(ax_mt_x_nullable(c, to, &to));
        AX_TRY(ax_mt_x_cast(c, x->arg[i], to, &x->arg[i]));
    }
    x->type = text;
    return AX_OK;
}

static ax_status concat(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                        ax_mt_reg *out)
{
    size_t total = 0;
    uint8_t *p;
    uint32_t i, k;

    AX_TRY(ax_mt_reg_room(e, MT_R_STR, e->n, out));
    for (i = 0; i < e->n; i++)
        for (k = 0; k < x->narg; k++)
            total += skip == NULL || !skip[i] ? arg[k].len[i] : 0;
    AX_CHECK(e->t, total <= INT32_MAX, AX_ELIMIT, "one batch has more bytes than the limit");
    AX_NEW(e->t, p, (uint8_t *) ax_arena_values(e->a, total + 1));
    for (i = 0; i < e->n; i++)
    {
        out->ptr[i] = p;
        for (k = 0; k < x->narg && (skip == NULL || !skip[i]); k++)
        {
            if (arg[k].len[i] > 0)
                memcpy(p, arg[k].ptr[i], arg[k].len[i]);
            p += arg[k].len[i];
        }
        out->len[i] = (uint32_t) (p - out->ptr[i]);
    }
    return AX_OK;
}

static ax_status text_type(ax_mt_check *c, ax_mt_x *x)
{
    if (ax_mt_bare(x->arg[0]->type)->id != MT_STRING)
        return wrong(c, x, 0);
    return result(c, x, "String");
}

/* lower, upper: of ASCII letters; reverse: of bytes. */
static ax_status letters(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                         ax_mt_reg *out)
{
    AX_TRY(ax_mt_reg_room(e, MT_R_STR, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        uint32_t n = skip == NULL || !skip[i] ? arg[0].len[i] : 0;
        const uint8_t *s = arg[0].ptr[i];
        uint8_t *p;

        AX_NEW(e->t, p, (uint8_t *) ax_arena_values(e->a, (size_t) n + 1));
        for (uint32_t k = 0; k < n; k++)
            if (x->fn->op == REVERSE)
                p[k] = s[n - 1 - k];
            else if (x->fn->op == LOWER)
                p[k] = s[k] >= 'A' && s[k] <= 'Z' ? s[k] + 32 : s[k];
            else
                p[k] = s[k] >= 'a' && s[k] <= 'z' ? s[k] - 32 : s[k];
        out->ptr[i] = p;
        out->len[i] = n;
    }
    return AX_OK;
}

/* length, empty (op 1), notEmpty (op 2): of bytes, or of an array. */
static ax_status length_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *ty = ax_mt_bare(x->arg[0]->type);

    if (ty->id != MT_STRING && ty->id != MT_ARRAY)
        return wrong(c, x, 0);
    return result(c, x, x->fn->op == 0 ? "UInt64" : "UInt8");
}

static ax_status length(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                        ax_mt_reg *out)
{
    (void) skip;
    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        uint32_t n = arg[0].off != NULL ? arg[0].off[i + 1] - arg[0].off[i] : arg[0].len[i];

        out->i[i] = x->fn->op == 0 ? n : (n == 0) == (x->fn->op == 1);
    }
    return AX_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static ax_status array_of(ax_mt_check *c, ax_mt_x *x, const ax_mt_type *elem)
{
    size_t n = strlen(elem->text) + 8;
    char *text;

    AX_NEW(c->t, text, (char *) ax_arena_alloc(c->a, n));
    (void) snprintf(text, n, "Array(%s)", elem->text);
    return result(c, x, text);
}

static ax_status array_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *ty;

    if (x->narg == 0)
        return result(c, x, "Array(Nothing)");
    ty = x->arg[0]->type;
    for (uint32_t i = 1; i < x->narg; i++)
        AX_TRY(ax_mt_x_super(c, ty, x->arg[i]->type, &ty));
    if (ax_mt_cls_of(ty) == MT_R_NONE || ty->id == MT_ARRAY)
        return wrong(c, x, 0);
    for (uint32_t i = 0; i < x->narg; i++)
        AX_TRY(ax_mt_x_cast(c, x->arg[i], ty, &x->arg[i]));
    return array_of(c, x, ty);
}

/* Row i of the array is row i of each argument. */
static ax_status array(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                       ax_mt_reg *out)
{
    ax_mt_x one = *x;
    uint32_t *which, *at, i, n = x->narg;
    ax_mt_reg *wide;
    ax_mt_run in = *e;

    (void) skip;
    AX_TRY(ax_mt_reg_room(e, MT_R_ARRAY, e->n, out));
    AX_CHECK(e->t, (uint64_t) n * e->n <= INT32_MAX, AX_ELIMIT,
             "one batch has more values than the limit");
    for (i = 0; i < e->n; i++)
        out->off[i + 1] = out->off[i] + n;
    if (n == 0)
        return AX_OK;
    one.type = x->type->child[0];
    in.n = n * e->n;
    AX_NEW(e->t, which, (uint32_t *) ax_arena_values(e->a, (size_t) in.n * 4 + 4));
    AX_NEW(e->t, at, (uint32_t *) ax_arena_values(e->a, (size_t) in.n * 4 + 4));
    AX_NEW(e->t, wide, (ax_mt_reg *) ax_arena_alloc0(e->a, n * sizeof *wide));
    for (i = 0; i < in.n; i++)
    {
        which[i] = i % n;
        at[i] = i / n;
    }
    for (i = 0; i < n; i++)
        AX_TRY(ax_mt_reg_gather(e, one.type, &arg[i], at, in.n, &wide[i]));
    return pick(&in, &one, wide, which, out->child);
}

static ax_status map_type(ax_mt_check *c, ax_mt_x *x)
{
    if (ax_mt_cls_of(x->arg[0]->type) == MT_R_NONE)
        return wrong(c, x, 0);
    return array_of(c, x, x->arg[0]->type);
}

/* range(end), range(start, end), range(start, end, step) of numbers that are not negative. */
static ax_status range_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *ty = x->arg[0]->type;

    for (uint32_t i = 0; i < x->narg; i++)
    {
        if (x->arg[i]->type->id != MT_UINT)
            return wrong(c, x, i);
        ty = x->arg[i]->type->width > ty->width ? x->arg[i]->type : ty;
    }
    x->raises = true;
    return array_of(c, x, ty);
}

static ax_status range(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                       ax_mt_reg *out)
{
    uint32_t i, k;

    (void) skip;
    AX_TRY(ax_mt_reg_room(e, MT_R_ARRAY, e->n, out));
    for (i = 0; i < e->n; i++)
    {
        ax_i128 from = x->narg > 1 ? arg[0].i[i] : 0, to = arg[x->narg > 1].i[i];
        ax_i128 step = x->narg > 2 ? arg[2].i[i] : 1, n = 0;

        AX_CHECK(e->t, step > 0, AX_EPARAM, "step of range is zero");
        n = to > from ? (to - from + step - 1) / step : 0;
        AX_CHECK(e->t, n <= (ax_i128) (INT32_MAX - out->off[i]), AX_ELIMIT,
                 "one batch has more values than the limit");
        out->off[i + 1] = out->off[i] + (uint32_t) n;
    }
    AX_TRY(ax_mt_reg_room(e, MT_R_INT, out->off[e->n], out->child));
    for (i = 0; i < e->n; i++)
        for (k = out->off[i]; k < out->off[i + 1]; k++)
            out->child->i[k] = (x->narg > 1 ? arg[0].i[i] : 0) +
                               (ax_i128) (k - out->off[i]) * (x->narg > 2 ? arg[2].i[i] : 1);
    return AX_OK;
}

/* ---- hashes ---------------------------------------------------------------------------------- */

static uint64_t int_hash(uint64_t v)
{
    v ^= 0x4CF2D2BAAE6DA887ull;
    v ^= v >> 33;
    v *= 0xff51afd7ed558ccdull;
    v ^= v >> 33;
    v *= 0xc4ceb9fe1a85ec53ull;
    return v ^ v >> 33;
}

/* cityHash64, sipHash64 (op 1, of one String), intHash64 (op 2) */
static ax_status hash_type(ax_mt_check *c, ax_mt_x *x)
{
    for (uint32_t i = 0; i < x->narg; i++)
    {
        const ax_mt_type *ty = x->arg[i]->type;
        bool small = (whole(ty) || ty->id == MT_DATE || ty->id == MT_DATE32 || ty->id == MT_DATETIME ||
                      ty->id == MT_ENUM) && ty->width <= 8;

        if (ty->id == MT_NULLABLE ||
            !(x->fn->op == 2 ? ty->id == MT_UINT
                             : ty->id == MT_STRING || (x->fn->op == 0 && small)))
            return wrong(c, x, i);
    }
    return result(c, x, "UInt64");
}

static ax_status hash(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                      ax_mt_reg *out)
{
    (void) skip;
    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        uint64_t h = 0;

        for (uint32_t k = 0; k < x->narg; k++)
        {
            uint64_t one;

            if (arg[k].ptr != NULL)
                one = x->fn->op == 1 ? ax_mt_sip64(arg[k].ptr[i], arg[k].len[i])
                                     : ax_mt_city64(arg[k].ptr[i], arg[k].len[i]);
            else
                one = int_hash((uint64_t) ax_mt_wrap(arg[k].i[i], x->arg[k]->type->width, false));
            h = k == 0 ? one : ax_mt_city_mix(h, one);
        }
        out->i[i] = h;
    }
    return AX_OK;
}

/* ---- dates ----------------------------------------------------------------------------------- */

enum { YEAR, QUARTER, MONTH, DAY, WEEKDAY, YEAR_DAY, YYYYMM, YYYYMMDD, HOUR, MINUTE, SECOND,
       START_YEAR, START_QUARTER, START_MONTH, MONDAY };

static ax_status part_type(ax_mt_check *c, ax_mt_x *x)
{
    static const char *const types[] = {
        [YEAR] = "UInt16", [QUARTER] = "UInt8", [MONTH] = "UInt8", [DAY] = "UInt8",
        [WEEKDAY] = "UInt8", [YEAR_DAY] = "UInt16", [YYYYMM] = "UInt32", [YYYYMMDD] = "UInt32",
        [HOUR] = "UInt8", [MINUTE] = "UInt8", [SECOND] = "UInt8", [START_YEAR] = "Date",
        [START_QUARTER] = "Date", [START_MONTH] = "Date", [MONDAY] = "Date"};
    const ax_mt_type *ty = ax_mt_bare(x->arg[0]->type), *day;
    int op = x->fn->op;

    if (ty->id != MT_DATE && ty->id != MT_DATETIME)
        return wrong(c, x, 0);
    if (op < HOUR || op > SECOND)
    {
        /* The day in UTC; of other zones it is not known. */
        AX_TRY(ax_mt_x_type(c, "Date", &day));
        if (x->arg[0]->type->id == MT_NULLABLE)
            AX_TRY(ax_mt_x_nullable(c, day, &day));
        AX_TRY(ax_mt_x_cast(c, x->arg[0], day, &x->arg[0]));
    }
    else if (ty->id != MT_DATETIME || ty->zone == NULL ||
             (strcmp(ty->zone, "UTC") != 0 && strcmp(ty->zone, "Etc/UTC") != 0))
        return wrong(c, x, 0);
    return result(c, x, types[op]);
}

static int64_t part_of_day(int op, int64_t days)
{
    int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    int64_t y = yoe + era * 400 + (m <= 2), week = (days + 3) % 7;
    /* Days of the year before its month, those of a leap year. */
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    int64_t in_year = m > 2 ? doy + 60 + leap : doy - 305;
    int64_t in_quarter = 0;

    switch (op)
    {
        case YEAR: return y;
        case QUARTER: return (m + 2) / 3;
        case MONTH: return m;
        case DAY: return d;
        case WEEKDAY: return week + 1;
        case YEAR_DAY: return in_year;
        case YYYYMM: return y * 100 + m;
        case YYYYMMDD: return y * 10000 + m * 100 + d;
        case START_YEAR: return days - in_year + 1;
        case START_MONTH: return days - d + 1;
        case MONDAY: return days < 4 ? 0 : days - week;
        default:
            /* First of the month, so many months back. */
            for (in_quarter = days - d + 1; (m - 1) % 3 != 0; m--)
                in_quarter -= part_of_day(DAY, in_quarter - 1);
            return in_quarter;
    }
}

static ax_status part(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                      ax_mt_reg *out)
{
    int op = x->fn->op;

    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        int64_t v = skip == NULL || !skip[i] ? (int64_t) arg[0].i[i] : 0;

        out->i[i] = op == HOUR ? v / 3600 % 24 : op == MINUTE ? v / 60 % 60
                    : op == SECOND ? v % 60 : part_of_day(op, v);
    }
    return AX_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

#define ARITHMETIC(name, op) {name, 2, 2, false, op, arithmetic_type, arithmetic}
#define COMPARISON(name, op) {name, 2, 2, false, op, comparison_type, comparison}
#define PART(name, op) {name, 1, 1, false, op, part_type, part}

static const ax_mt_fn functions[] = {
    ARITHMETIC("plus", PLUS), ARITHMETIC("minus", MINUS), ARITHMETIC("multiply", TIMES),
    ARITHMETIC("divide", DIVIDE), ARITHMETIC("intDiv", INT_DIV), ARITHMETIC("modulo", MODULO),
    {"negate", 1, 1, false, 0, negate_type, negate}, {"abs", 1, 1, false, 1, negate_type, negate},
    COMPARISON("equals", EQ), COMPARISON("notEquals", NE), COMPARISON("less", LT),
    COMPARISON("lessOrEquals", LE), COMPARISON("greater", GT), COMPARISON("greaterOrEquals", GE),
    {"and", 2, 255, true, 0, logic_type, logic}, {"or", 2, 255, true, 1, logic_type, logic},
    {"not", 1, 1, true, 2, logic_type, logic},
    {"isNull", 1, 1, true, 0, is_null_type, is_null},
    {"isNotNull", 1, 1, true, 1, is_null_type, is_null},
    {"if", 3, 3, true, 0, choice_type, choice}, {"multiIf", 3, 255, true, 0, choice_type, choice},
    {"coalesce", 1, 255, true, 0, first_type, first}, {"ifNull", 2, 2, true, 0, first_type, first},
    {"concat", 1, 255, false, 0, concat_type, concat},
    {"lower", 1, 1, false, LOWER, text_type, letters},
    {"upper", 1, 1, false, UPPER, text_type, letters},
    {"reverse", 1, 1, false, REVERSE, text_type, letters},
    {"length", 1, 1, false, 0, length_type, length},
    {"empty", 1, 1, false, 1, length_type, length},
    {"notEmpty", 1, 1, false, 2, length_type, length},
    {"array", 0, 255, true, 0, array_type, array}, {"arrayMap", 2, 255, true, 0, map_type, NULL},
    {"range", 1, 3, false, 0, range_type, range},
    {"cityHash64", 1, 255, false, 0, hash_type, hash},
    {"sipHash64", 1, 1, false, 1, hash_type, hash}, {"intHash64", 1, 1, false, 2, hash_type, hash},
    PART("toYear", YEAR), PART("toQuarter", QUARTER), PART("toMonth", MONTH),
    PART("toDayOfMonth", DAY), PART("toDayOfWeek", WEEKDAY), PART("toDayOfYear", YEAR_DAY),
    PART("toYYYYMM", YYYYMM), PART("toYYYYMMDD", YYYYMMDD), PART("toHour", HOUR),
    PART("toMinute", MINUTE), PART("toSecond", SECOND), PART("toStartOfYear", START_YEAR),
    PART("toStartOfQuarter", START_QUARTER), PART("toStartOfMonth", START_MONTH),
    PART("toMonday", MONDAY)};

const ax_mt_fn *ax_mt_fn_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcasecmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}
