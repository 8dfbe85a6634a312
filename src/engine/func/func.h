/* Function and aggregate identities, from the .def lists.  The second half of this door, kernels
 * and bound calls, is func/kernel.h, which is included below. */
#ifndef AX_FUNC_H
#define AX_FUNC_H

#include "vector/vector.h"

typedef enum ax_fn
{
    AX_FN_NONE = 0,
#define AX_FN(id, name, nargs, result, flags) AX_FN_##id,
#include "func/functions.def"
#undef AX_FN
    AX_FN_CNT
} ax_fn;

enum { AX_FNF_RAISES = 1, AX_FNF_NOT_STRICT = 2, AX_FNF_CONST2 = 4,
       AX_FNF_CONST1 = 8, AX_FNF_CONST1_RAISES = AX_FNF_CONST1 | AX_FNF_RAISES,
       AX_FNF_CONST2_RAISES = AX_FNF_CONST2 | AX_FNF_RAISES,
       AX_FNF_LITERAL = 16, AX_FNF_CTYPE_C = 32, AX_FNF_NEXT_IF_C = 64,
       AX_FNF_PATTERN = AX_FNF_CONST2 | AX_FNF_LITERAL | AX_FNF_NEXT_IF_C,
       AX_FNF_PATTERN_C = AX_FNF_CONST2 | AX_FNF_LITERAL | AX_FNF_CTYPE_C,
       AX_FNF_ZONE = 128, AX_FNF_RAISES_ZONE = AX_FNF_ZONE | AX_FNF_RAISES,
       AX_FNF_CONST1_ZONE = AX_FNF_ZONE | AX_FNF_CONST1,
       AX_FNF_CONST1_RAISES_ZONE = AX_FNF_CONST1_ZONE | AX_FNF_RAISES };

#define AX_FN_MAX_ARGS 4

typedef struct ax_fn_info
{
    const char *name;  /* as printed in plans: operator or function name */
    uint8_t nargs;
    uint8_t result;    /* ax_type_id, or AX_T_NONE: the type of the first argument */
    uint8_t flags;     /* AX_FNF_* */
} ax_fn_info;

const ax_fn_info *ax_fn_get(ax_fn fn);

typedef enum ax_agg_id
{
    AX_AGG_NONE = 0,
#define AX_AGG(id, name, nargs) AX_AGG_##id,
#include "func/aggregates.def"
#undef AX_AGG
    AX_AGG_CNT
} ax_agg_id;

const char *ax_agg_name(ax_agg_id id);
uint32_t ax_agg_nargs(ax_agg_id id);

/* Result type of an aggregate on an argument type (AX_T_NONE for count(*); both, of two); .id is
 * AX_T_NONE when the engine has no such aggregate.  Decimals: the precision that no result passes,
 * 0 if some may need all digits of ax_num, AX_NUM_ANY_DIGITS if some may need more. */
ax_type ax_agg_result(ax_agg_id id, ax_type arg);

#include "func/kernel.h"

/* Values, for finalisers, rewriters and the host: decimals; dates and zones. */
#include "func/datetime.h"
#include "func/numeric.h"
#include "func/numeric_sum.h"

#endif
