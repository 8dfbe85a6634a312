/* Functions of computed columns: arithmetic and texts.
 *
 * Nulls are the caller's, but of functions that say `nulls`.
 *
 * Source: NumberTraits.h and FunctionBinaryArithmetic.h of ClickHouse; docs/formats/mergetree.md,
 * "Missing columns". */
#include "derive_int.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

enum { PLUS, MINUS, TIMES, DIVIDE, INT_DIV, MODULO };
enum { LOWER, UPPER, REVERSE };

static bool is_float(const ax_mt_type *ty) { return ax_mt_bare(ty)->id == MT_FLOAT; }

ax_status ax_mt_x_result(ax_mt_check *c, ax_mt_x *x, const char *name)
{
    return ax_mt_x_type(c, name, &x->type);
}

ax_status ax_mt_x_wrong(const ax_mt_check *c, const ax_mt_x *x, uint32_t i)
{
    return ax_mt_x_refuse(c, "%s of type %s", x->fn->name, x->arg[i]->type->text);
}

static ax_status int_result(ax_mt_check *c, ax_mt_x *x, bool is_signed, uint32_t width)
{
    char name[16];

    (void) snprintf(name, sizeof name, "%s%u", is_signed ? "Int" : "UInt", 8 * width);
    return ax_mt_x_result(c, x, name);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static uint32_t next_width(uint32_t w) { return w < 8 ? 2 * w : w; }

static ax_status arithmetic_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *l = ax_mt_bare(x->arg[0]->type), *r = ax_mt_bare(x->arg[1]->type);
    bool is_signed = l->id == MT_INT || r->id == MT_INT;
    uint32_t widest = l->width > r->width ? l->width : r->width;
    int op = x->fn->op;

    for (uint32_t i = 0; i < 2; i++)
        if (!ax_mt_whole(x->arg[i]->type) && !is_float(x->arg[i]->type))
            return ax_mt_x_wrong(c, x, i);
    if (op == DIVIDE)
        return ax_mt_x_result(c, x, "Float64");
    if (l->id == MT_FLOAT || r->id == MT_FLOAT)
    {
        if (op > DIVIDE)
            return ax_mt_x_wrong(c, x, l->id == MT_FLOAT ? 0 : 1);
        return ax_mt_x_result(c, x, "Float64");
    }
    x->raises |= op > DIVIDE;
    switch (op)
    {
        case MINUS:
            return int_result(c, x, true, next_width(widest));
        case INT_DIV:
            /* ClickHouse divides by a negative number as if it were none. */
            if (l->id != MT_INT && r->id == MT_INT)
                return ax_mt_x_wrong(c, x, 1);
            return int_result(c, x, is_signed, l->width);
        case MODULO:
            if (r->width > 8)
                return ax_mt_x_wrong(c, x, 1);
            return int_result(c, x, l->id == MT_INT,
                              l->id == MT_INT ? next_width(r->width) : r->width);
        default:
            return int_result(c, x, is_signed, next_width(widest));
    }
}

static ax_status arithmetic_float(ax_mt_run *e, int op, const ax_mt_reg *arg, ax_mt_reg *out)
{
    AX_TRY(ax_mt_reg_room(e, MT_R_FLOAT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        double l = ax_mt_real(&arg[0], i), r = ax_mt_real(&arg[1], i);

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
    if (!ax_mt_whole(ty) || ty->width > 8)
        return ax_mt_x_wrong(c, x, 0);
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
        return ax_mt_x_wrong(c, x, 0);
    return ax_mt_x_result(c, x, "String");
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
        return ax_mt_x_wrong(c, x, 0);
    return ax_mt_x_result(c, x, x->fn->op == 0 ? "UInt64" : "UInt8");
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

/* ---- the list -------------------------------------------------------------------------------- */

#define ARITHMETIC(name, op) {name, 2, 2, false, op, arithmetic_type, arithmetic}

static const ax_mt_fn functions[] = {
    ARITHMETIC("plus", PLUS), ARITHMETIC("minus", MINUS), ARITHMETIC("multiply", TIMES),
    ARITHMETIC("divide", DIVIDE), ARITHMETIC("intDiv", INT_DIV), ARITHMETIC("modulo", MODULO),
    {"negate", 1, 1, false, 0, negate_type, negate}, {"abs", 1, 1, false, 1, negate_type, negate},
    {"concat", 1, 255, false, 0, concat_type, concat},
    {"lower", 1, 1, false, LOWER, text_type, letters},
    {"upper", 1, 1, false, UPPER, text_type, letters},
    {"reverse", 1, 1, false, REVERSE, text_type, letters},
    {"length", 1, 1, false, 0, length_type, length}, {"empty", 1, 1, false, 1, length_type, length},
    {"notEmpty", 1, 1, false, 2, length_type, length}, {0}};

const ax_mt_fn *ax_mt_fn_find(const char *name)
{
    const ax_mt_fn *const lists[] = {functions, ax_mt_fn_logic, ax_mt_fn_arrays, ax_mt_fn_dates};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const ax_mt_fn *fn = lists[i]; fn->name != NULL; fn++)
            if (strcasecmp(fn->name, name) == 0)
                return fn;
    return NULL;
}
