/* Names and properties of functions and aggregates, expanded from the .def lists. */
#include "func/func.h"

enum { AX_FNF_0 = 0 };
enum { AX_T_SAME = AX_T_NONE };

static const ax_fn_info fn_table[AX_FN_CNT] = {
    [AX_FN_NONE] = {"none", 0, AX_T_NONE, 0},
#define AX_FN(id, name, nargs, result, flags) \
    [AX_FN_##id] = {name, nargs, AX_T_##result, AX_FNF_##flags},
#include "func/functions.def"
#undef AX_FN
};

const ax_fn_info *ax_fn_get(ax_fn fn) { return &fn_table[fn < AX_FN_CNT ? fn : AX_FN_NONE]; }

static const struct
{
    const char *name;
    uint32_t nargs;
} aggs[AX_AGG_CNT] = {
    [AX_AGG_NONE] = {"none", 0},
#define AX_AGG(id, name, nargs) [AX_AGG_##id] = {name, nargs},
#include "func/aggregates.def"
#undef AX_AGG
};

const char *ax_agg_name(ax_agg_id id) { return aggs[id < AX_AGG_CNT ? id : AX_AGG_NONE].name; }
uint32_t ax_agg_nargs(ax_agg_id id) { return aggs[id < AX_AGG_CNT ? id : AX_AGG_NONE].nargs; }

static const struct
{
    uint8_t agg, arg, result;
} agg_results[] = {
#define AX_AGG(id, name, nargs)
#define AX_PG_AGG(id, arg, result, token) {AX_AGG_##id, AX_T_##arg, AX_T_##result},
#include "func/aggregates.def"
#undef AX_PG_AGG
#undef AX_AGG
};

#define COUNT_DIGITS 19 /* a count is below 10^19 */

/* What the results of an aggregate may need of an argument that fits ax_num. */
static void decimal_result(ax_agg_id id, ax_type arg, ax_type *r)
{
    ax_num_bound b = ax_num_bound_of(arg);
    bool all = arg.precision == AX_NUM_ANY_DIGITS;

    if (id == AX_AGG_MIN || id == AX_AGG_MAX || id == AX_AGG_ANY_VALUE)
    {
        r->precision = arg.precision;
        r->scale = arg.scale;
    }
    else if (arg.id != AX_T_NUMERIC) /* the squares of int8 pass 10^38 */
        r->precision = arg.id == AX_T_INT8 && id >= AX_AGG_VAR_POP ? AX_NUM_ANY_DIGITS : 0;
    else if (!b.known || all)
        r->precision = AX_NUM_ANY_DIGITS;
    else if (id == AX_AGG_SUM)
    {
        bool fits = b.whole + b.scale + COUNT_DIGITS <= AX_NUM_DIGITS;

        r->precision = fits ? b.whole + b.scale + COUNT_DIGITS : AX_NUM_ANY_DIGITS;
        r->scale = fits ? (int16_t) b.scale : 0;
    }
    else if (id != AX_AGG_AVG) /* twice the digits, doubled by N / (N - 1) */
        r->precision = 2 * (b.whole + b.scale) < AX_NUM_DIGITS ? 0 : AX_NUM_ANY_DIGITS;
}

ax_type ax_agg_result(ax_agg_id id, ax_type arg)
{
    if (id == AX_AGG_COUNT)
        return ax_type_make(AX_T_INT8);
    if (id == AX_AGG_ANY_VALUE) /* the first in an order of ours: collations do not matter */
        return arg.phys < AX_P_DOC && arg.phys != AX_P_I8
                && (arg.phys < AX_P_U16 || arg.phys > AX_P_U256)
            ? arg : ax_type_make(AX_T_NONE);
    for (uint32_t i = 0; i < sizeof(agg_results) / sizeof(agg_results[0]); i++)
    {
        ax_type r;

        if (agg_results[i].agg != id || agg_results[i].arg != arg.id)
            continue;
        /* the order of text must be known to find its extremes */
        if (arg.id == AX_T_TEXT && arg.coll != AX_COLL_BYTES)
            break;
        r = ax_type_make(agg_results[i].result);
        r.coll = arg.id == r.id ? arg.coll : r.coll;
        if (r.id == AX_T_NUMERIC)
            decimal_result(id, arg, &r);
        return r;
    }
    return ax_type_make(AX_T_NONE);
}
