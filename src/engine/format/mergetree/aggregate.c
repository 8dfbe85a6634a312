/* States of aggregate functions: how the bytes of one are laid out, and what type its result has.
 *
 * States stand one behind the other without lengths, so that only those of known functions can be
 * stepped over at all.
 *
 *      count                           varuint
 *      sum, groupBit*                  a number as wide as the sum
 *      sumWithOverflow                 a number as wide as the argument
 *      sumKahan                        f64 sum, f64 compensation
 *      avg                             a number as wide as the sum, varuint count
 *      avgWeighted                     u64, i64, f64 by the weight's type; the sum of weights:
 *                                      varuint, i64, f64
 *      varPop ... stddevSamp           count, sum, sum of squares: f32 of Float32, else f64
 *      min, max, any, anyLast          [String] i32 n (-1: none), n bytes with a zero at the end;
 *                                      [others] u8 there is one, [single value]
 *      argMin, argMax                  two of these
 *      uniq                            u8 degree of sampling, varuint n, n * u32
 *      uniqExact                       varuint n, n numbers, or n hashes of 16 bytes
 *      groupArray, groupUniqArray      varuint n, n numbers, or n varstr of the values' bytes
 *      quantileExact, quantilesExact   varuint n, n values
 *      sumMap of arrays, version 1     varuint n, n * (key as single value, sums of 8 bytes)
 *      f(Nullable)                     u8 there is one, [state of f]; but for count and groupArray
 *      fIf                             as f; countIf(Nullable) has the byte too
 *
 * Format: mergetree.md, "Aggregate states". */
#include "mergetree_int.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- types of results ------------------------------------------------------------------------ */

static ax_status type_of(ax_task *t, ax_arena *a, const char *name, const ax_mt_type **out)
{
    return ax_mt_type_parse(t, a, name, strlen(name), out);
}

/* Type `id`, called `name`, of nchild others. */
static ax_status around(ax_task *t, ax_arena *a, ax_mt_tid id, const char *name, uint32_t nchild,
                        const ax_mt_type *const *child, const ax_mt_type **out)
{
    ax_mt_type *ty;
    size_t room = strlen(name) + 3, n;
    char *text;

    for (uint32_t i = 0; i < nchild; i++)
        room += strlen(child[i]->text) + 2;
    AX_NEW(t, ty, (ax_mt_type *) ax_arena_alloc0(a, sizeof *ty));
    AX_NEW(t, ty->child, (const ax_mt_type **) ax_arena_alloc(a, nchild * sizeof *ty->child));
    AX_NEW(t, ty->name, (const char **) ax_arena_alloc0(a, nchild * sizeof *ty->name));
    AX_NEW(t, text, (char *) ax_arena_alloc(a, room));
    n = (size_t) snprintf(text, room, "%s(", name);
    for (uint32_t i = 0; i < nchild; i++)
    {
        ty->child[i] = child[i];
        n += (size_t) snprintf(text + n, room - n, "%s%s", i > 0 ? ", " : "", child[i]->text);
    }
    (void) snprintf(text + n, room - n, ")");
    ty->id = (uint8_t) id;
    ty->nchild = nchild;
    ty->text = text;
    *out = ty;
    return AX_OK;
}

/* The type of a sum.  *out NULL: there is none. */
static ax_status sum_type(ax_task *t, ax_arena *a, const ax_mt_type *ty, const ax_mt_type **out)
{
    char text[40];

    *out = NULL;
    switch ((ax_mt_tid) ty->id)
    {
        case MT_BOOL:
        case MT_UINT:
        case MT_INT:
            (void) snprintf(text, sizeof text, "%s%u", ty->id == MT_INT ? "Int" : "UInt",
                            ty->width <= 8 ? 64 : 8 * ty->width);
            break;
        case MT_FLOAT:
        case MT_BFLOAT16:
            (void) snprintf(text, sizeof text, "Float64");
            break;
        case MT_DECIMAL:
            (void) snprintf(text, sizeof text, "Decimal(%d, %d)", ty->width <= 16 ? 38 : 76,
                            (int) ty->scale);
            break;
        default:
            return AX_OK;
    }
    return type_of(t, a, text, out);
}

/* ---- layouts --------------------------------------------------------------------------------- */

typedef struct made
{
    ax_task *t;
    ax_arena *a;
    const ax_mt_type *ty;         /* of the states */
    uint32_t narg;                /* without the condition of -If */
    const char *params;
    ax_mt_agg *g;                 /* to be filled in */
} made;

static bool is_nullable(const ax_mt_type *ty)
{
    return (ty->id == MT_LOWCARD ? ty->child[0] : ty)->id == MT_NULLABLE;
}

/* Numbers that stand in lists as they are. */
static bool listed_raw(const ax_mt_type *ty)
{
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_FLOAT || ty->id == MT_BFLOAT16 ||
           ty->id == MT_BOOL || ty->id == MT_DATE || ty->id == MT_DATETIME || ty->id == MT_ENUM ||
           ty->id == MT_IPV4;
}

static bool summable(const ax_mt_type *ty)
{
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_FLOAT || ty->id == MT_BFLOAT16 ||
           ty->id == MT_BOOL || ty->id == MT_DECIMAL;
}

/* Can it be stepped over as a single value? */
static bool is_single(const ax_mt_type *ty)
{
    if (ty->id != MT_NULLABLE && ty->id != MT_LOWCARD && ty->id != MT_ARRAY && ty->id != MT_MAP &&
        ty->id != MT_TUPLE)
        return ty->id == MT_STRING || (ty->width > 0 && ty->id != MT_QBIT);
    for (uint32_t i = 0; i < ty->nchild; i++)
        if (!is_single(ty->child[i]))
            return false;
    return ty->nchild > 0;
}

static ax_status make_count(made *m)
{
    m->g->kind = MT_A_COUNT;
    return type_of(m->t, m->a, "UInt64", &m->g->result);
}

static ax_status make_sum(made *m)
{
    const ax_mt_type *ty = m->g->arg[0];

    if (!summable(ty))
        return AX_OK;
    m->g->kind = MT_A_NUMBER;
    m->g->width = ty->id == MT_DECIMAL ? (ty->width <= 16 ? 16 : 32)
                  : ty->width <= 8 ? 8 : ty->width;
    return sum_type(m->t, m->a, ty, &m->g->result);
}

static ax_status make_same(made *m)
{
    if (!summable(m->g->arg[0]))
        return AX_OK;
    m->g->kind = MT_A_NUMBER;
    m->g->width = m->g->arg[0]->width;
    m->g->result = m->g->arg[0];
    return AX_OK;
}

static ax_status make_kahan(made *m)
{
    m->g->kind = MT_A_NUMBER;
    m->g->width = 16;
    return type_of(m->t, m->a, "Float64", &m->g->result);
}

/* The average of dates is a date: only its bytes are known. */
static ax_status make_avg(made *m)
{
    const ax_mt_type *ty = m->g->arg[0];

    if (!summable(ty) && ty->id != MT_DATE && ty->id != MT_DATETIME)
        return AX_OK;
    if (summable(ty))
        AX_TRY(make_sum(m));
    m->g->kind = MT_A_AVG;
    m->g->width = summable(ty) ? m->g->width : 8;
    return summable(ty) ? type_of(m->t, m->a, "Float64", &m->g->result) : AX_OK;
}

static ax_status make_weighted(made *m)
{
    const ax_mt_type *by = m->narg == 2 ? m->g->arg[1] : NULL;

    if (by == NULL || (by->id != MT_INT && by->id != MT_UINT && by->id != MT_FLOAT) ||
        by->width > 8 || !summable(m->g->arg[0]) || m->g->arg[0]->width > 8)
        return AX_OK;
    m->g->kind = MT_A_WEIGHTED;
    return type_of(m->t, m->a, "Float64", &m->g->result);
}

static ax_status make_moments(made *m)
{
    const ax_mt_type *ty = m->g->arg[0];

    if (!summable(ty))
        return AX_OK;
    m->g->kind = MT_A_MOMENTS;
    m->g->width = ty->id == MT_FLOAT ? ty->width : 8;
    return type_of(m->t, m->a, m->g->width == 4 ? "Float32" : "Float64", &m->g->result);
}

static ax_status make_one(made *m)
{
    if (!is_single(m->g->arg[0]))
        return AX_OK;
    m->g->kind = MT_A_ONE;
    m->g->result = m->g->arg[0];
    return AX_OK;
}

static ax_status make_pair(made *m)
{
    if (m->narg != 2 || !is_single(m->g->arg[0]) || !is_single(m->g->arg[1]))
        return AX_OK;
    m->g->kind = MT_A_PAIR;
    m->g->result = m->g->arg[0];
    return AX_OK;
}

static ax_status make_uniq(made *m)
{
    m->g->kind = MT_A_UNIQ;
    return type_of(m->t, m->a, "UInt64", &m->g->result);
}

static ax_status make_exact(made *m)
{
    const ax_mt_type *ty = m->g->arg[0];

    m->g->kind = MT_A_SET;
    m->g->width = m->narg == 1 && (listed_raw(ty) || ty->id == MT_DATE32) ? ty->width : 16;
    return type_of(m->t, m->a, "UInt64", &m->g->result);
}

static ax_status make_list(made *m)
{
    const ax_mt_type *ty = m->g->arg[0];

    if (m->narg != 1)
        return AX_OK;
    m->g->kind = MT_A_LIST;
    m->g->width = listed_raw(ty) ? ty->width : 0;
    return ty->width > 0 || ty->id == MT_STRING
               ? around(m->t, m->a, MT_ARRAY, "Array", 1, &ty, &m->g->result) : AX_OK;
}

/* The level is one half when the function has no parameter. */
static ax_status make_quantile(made *m)
{
    const ax_mt_type *ty = m->g->arg[0];
    char *stop;

    if (m->narg != 1 || (!summable(ty) && ty->id != MT_DATE && ty->id != MT_DATETIME &&
                         ty->id != MT_DATETIME64))
        return AX_OK;
    m->g->kind = MT_A_QUANTILE;
    m->g->width = ty->width;
    m->g->level = 0.5;
    if (strcmp(m->g->name, "quantileExact") != 0 || ty->id == MT_BFLOAT16)
        return AX_OK;
    if (m->params[0] == '(')
    {
        m->g->level = strtod(m->params + 1, &stop);
        if (*stop != ')' || !(m->g->level >= 0 && m->g->level <= 1))
            return AX_OK;
    }
    m->g->result = ty;
    return AX_OK;
}

/* Keys and values of version 1, whose sums are wide; decimals and nulls are not known. */
static ax_status make_map(made *m)
{
    const ax_mt_type *part[MT_AGG_ARGS];

    if (m->g->version != 1 || m->narg < 2 || m->narg > MT_AGG_ARGS)
        return AX_OK;
    for (uint32_t i = 0; i < m->narg; i++)
    {
        const ax_mt_type *ty = m->ty->child[i];
        bool plain = ty->id == MT_ARRAY && !is_nullable(ty->child[0]);

        ty = plain ? ax_mt_bare(ty->child[0]) : ty;
        if (!plain || (i == 0 ? !is_single(ty) || ty->nchild > 0
                              : !summable(ty) || ty->id == MT_DECIMAL || ty->width > 8))
            return AX_OK;
        m->g->arg[i] = part[i] = ty;
        if (i > 0)
            AX_TRY(sum_type(m->t, m->a, ty, &part[i]));
        AX_TRY(around(m->t, m->a, MT_ARRAY, "Array", 1, &part[i], &part[i]));
    }
    m->g->kind = MT_A_MAP;
    m->g->narg = m->narg;
    return around(m->t, m->a, MT_TUPLE, "Tuple", m->narg, part, &m->g->result);
}

/* bare: the result is never null, also of arguments that are all null. */
static const struct known
{
    const char *name;
    ax_status (*make)(made *m);
    bool bare;
} known[] = {
    {"count", make_count, true}, {"sum", make_sum, false}, {"sumWithOverflow", make_same, false},
    {"sumKahan", make_kahan, false}, {"avg", make_avg, false},
    {"avgWeighted", make_weighted, false}, {"groupBitAnd", make_same, false},
    {"groupBitOr", make_same, false}, {"groupBitXor", make_same, false},
    {"varPop", make_moments, false}, {"varSamp", make_moments, false},
    {"stddevPop", make_moments, false}, {"stddevSamp", make_moments, false},
    {"min", make_one, false}, {"max", make_one, false}, {"any", make_one, false},
    {"any_value", make_one, false}, {"anyLast", make_one, false},
    {"first_value", make_one, false}, {"last_value", make_one, false},
    {"argMin", make_pair, false}, {"argMax", make_pair, false}, {"uniq", make_uniq, true},
    {"uniqExact", make_exact, true}, {"groupArray", make_list, true},
    {"groupUniqArray", make_list, true}, {"quantileExact", make_quantile, false},
    {"quantilesExact", make_quantile, false}, {"quantileExactLow", make_quantile, false},
    {"quantileExactHigh", make_quantile, false}, {"quantileExactInclusive", make_quantile, false},
    {"quantileExactExclusive", make_quantile, false}, {"sumMap", make_map, true},
};

/* Is there a byte before the state?  The condition of -If counts for count alone. */
static bool flagged(const made *m, bool conditional)
{
    uint32_t narg = m->ty->nchild;
    bool count = m->g->kind == MT_A_COUNT;

    if (m->g->kind == MT_A_LIST || m->g->kind == MT_A_MAP || (count && !conditional))
        return false;
    for (uint32_t i = 0; i < (count ? narg : m->narg); i++)
        if (is_nullable(m->ty->child[i]))
            return true;
    return false;
}

ax_status ax_mt_agg_make(ax_task *t, ax_arena *a, const ax_mt_type *ty, uint32_t version,
                         const char *params, const ax_mt_agg **out)
{
    const char *name = ty->name[0];
    size_t n = strlen(name), i, count = sizeof known / sizeof known[0];
    bool conditional = n > 2 && memcmp(name + n - 2, "If", 2) == 0 && ty->nchild > 0;
    made m = {.t = t, .a = a, .ty = ty, .narg = ty->nchild - conditional,
              .params = params};

    *out = NULL;
    AX_NEW(t, m.g, (ax_mt_agg *) ax_arena_alloc0(a, sizeof *m.g));
    AX_NEW(t, m.g->name, ax_arena_strndup(a, name, n - (conditional ? 2 : 0)));
    m.g->version = version;
    for (i = 0; i < count && strcmp(known[i].name, m.g->name) != 0;)
        i++;
    if (i == count || (m.narg == 0 && known[i].make != make_count))
        return AX_OK;
    for (uint32_t k = 0; k < m.narg && k < MT_AGG_ARGS; k++)
        m.g->arg[k] = ax_mt_bare(ty->child[k]);
    AX_TRY(known[i].make(&m));
    if (m.g->kind == MT_A_NONE)
        return AX_OK;
    m.g->flag = flagged(&m, conditional);
    m.g->nullable = m.g->flag && !known[i].bare && m.g->result != NULL &&
                    m.g->result->id != MT_ARRAY && m.g->result->id != MT_MAP;
    /* What ClickHouse makes of tuples here has changed. */
    if (m.g->nullable && m.g->result->id == MT_TUPLE)
        m.g->result = NULL;
    if (m.g->nullable && m.g->result != NULL)
        AX_TRY(around(t, a, MT_NULLABLE, "Nullable", 1, &m.g->result, &m.g->result));
    *out = m.g;
    return AX_OK;
}
