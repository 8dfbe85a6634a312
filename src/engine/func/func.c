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

static const char *const agg_names[AX_AGG_CNT] = {
    [AX_AGG_NONE] = "none",
#define AX_AGG(id, name, nargs) [AX_AGG_##id] = name,
#include "func/aggregates.def"
#undef AX_AGG
};

const char *ax_agg_name(ax_agg_id id) { return agg_names[id < AX_AGG_CNT ? id : AX_AGG_NONE]; }

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

ax_type ax_agg_result(ax_agg_id id, ax_type arg)
{
    if (id == AX_AGG_COUNT)
        return ax_type_make(AX_T_INT8);
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
        return r;
    }
    return ax_type_make(AX_T_NONE);
}
