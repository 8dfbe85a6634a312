/* Functions of computed columns: arrays, hashes.
 *
 * Source: range.cpp, FunctionsHashing.h of ClickHouse. */
#include "derive_int.h"

#include <stdio.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

static ax_status array_of(ax_mt_check *c, ax_mt_x *x, const ax_mt_type *elem)
{
    size_t n = strlen(elem->text) + 8;
    char *text;

    AX_NEW(c->t, text, (char *) ax_arena_alloc(c->a, n));
    (void) snprintf(text, n, "Array(%s)", elem->text);
    return ax_mt_x_result(c, x, text);
}

static ax_status array_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *ty;

    if (x->narg == 0)
        return ax_mt_x_result(c, x, "Array(Nothing)");
    ty = x->arg[0]->type;
    for (uint32_t i = 1; i < x->narg; i++)
        AX_TRY(ax_mt_x_super(c, ty, x->arg[i]->type, &ty));
    if (ax_mt_cls_of(ty) == MT_R_NONE || ty->id == MT_ARRAY)
        return ax_mt_x_wrong(c, x, 0);
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
    return ax_mt_pick(&in, &one, wide, which, out->child);
}

static ax_status map_type(ax_mt_check *c, ax_mt_x *x)
{
    if (ax_mt_cls_of(x->arg[0]->type) == MT_R_NONE)
        return ax_mt_x_wrong(c, x, 0);
    return array_of(c, x, x->arg[0]->type);
}

/* range(end), range(start, end), range(start, end, step) of numbers that are not negative. */
static ax_status range_type(ax_mt_check *c, ax_mt_x *x)
{
    const ax_mt_type *ty = x->arg[0]->type;

    for (uint32_t i = 0; i < x->narg; i++)
    {
        if (x->arg[i]->type->id != MT_UINT)
            return ax_mt_x_wrong(c, x, i);
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
        bool small = (ax_mt_whole(ty) || ty->id == MT_DATE || ty->id == MT_DATE32 ||
                      ty->id == MT_DATETIME || ty->id == MT_ENUM) && ty->width <= 8;

        if (ty->id == MT_NULLABLE ||
            !(x->fn->op == 2 ? ty->id == MT_UINT
                             : ty->id == MT_STRING || (x->fn->op == 0 && small)))
            return ax_mt_x_wrong(c, x, i);
    }
    return ax_mt_x_result(c, x, "UInt64");
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

/* ---- the list -------------------------------------------------------------------------------- */

const ax_mt_fn ax_mt_fn_arrays[] = {
    {"array", 0, 255, true, 0, array_type, array}, {"arrayMap", 2, 255, true, 0, map_type, NULL},
    {"range", 1, 3, false, 0, range_type, range}, {"cityHash64", 1, 255, false, 0, hash_type, hash},
    {"sipHash64", 1, 1, false, 1, hash_type, hash}, {"intHash64", 1, 1, false, 2, hash_type, hash},
    {0}};
