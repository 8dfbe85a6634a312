/* Algebra on arguments of aggregates, where it changes neither results nor errors.
 *
 *      sum(e + c)  ->  sum(e) + c count(e)          and avg alike; e - c, c + e too
 *
 * Many sums over one column then share one state.  e + c must not be able to overflow, which would
 * be an error of the row: the range of e is known from its type, or from what it is made of.
 *
 *      group by extract(minute from t)  ->  group by an integer, numeric once per group
 *
 * Keys that follow from others are left out, and keys become as narrow as they go. */
#include "exec/exec_int.h"

typedef struct range { ax_i128 low, high; } range;

static bool is_int(uint8_t id) { return id == AX_T_INT2 || id == AX_T_INT4 || id == AX_T_INT8; }

static range range_of_type(uint8_t id)
{
    int bits = id == AX_T_INT2 ? 15 : id == AX_T_INT4 ? 31 : 63;

    return (range){-((ax_i128) 1 << bits), ((ax_i128) 1 << bits) - 1};
}

static bool within(range a, range b) { return a.low >= b.low && a.high <= b.high; }

/* The integer that e is, if it is a constant. */
static bool constant(const ax_expr *e, int64_t *v)
{
    if (e->kind == AX_X_CALL && (e->fn == AX_FN_TO_INT4 || e->fn == AX_FN_TO_INT8))
        e = e->arg[0]; /* constants are folded later */
    if (e->kind != AX_X_CONST || !is_int(e->type.id) || e->u.val.null)
        return false;
    *v = e->u.val.u.i;
    return true;
}

/* e as rest + add, with add constant and without an overflow on any row. */
static bool split(const ax_expr *e, ax_expr **rest, int64_t *add, range *r);

static range range_of(const ax_expr *e)
{
    range all = range_of_type(e->type.id), r;
    ax_expr *rest;
    int64_t add;

    if (split(e, &rest, &add, &r))
        return r;
    if (e->kind == AX_X_CALL && (e->fn == AX_FN_TO_INT4 || e->fn == AX_FN_TO_INT8)
        && is_int(e->arg[0]->type.id))
    {
        r = range_of(e->arg[0]);
        return within(r, all) ? r : all;
    }
    return all;
}

static bool split(const ax_expr *e, ax_expr **rest, int64_t *add, range *r)
{
    bool minus = e->fn == AX_FN_SUB;
    int64_t c;

    if (e->kind != AX_X_CALL || (e->fn != AX_FN_ADD && !minus) || !is_int(e->type.id))
        return false;
    if (constant(e->arg[1], &c))
        *rest = e->arg[0];
    else if (!minus && constant(e->arg[0], &c))
        *rest = e->arg[1];
    else
        return false;
    if (c > INT32_MAX || c < -INT32_MAX) /* far from an overflow of add * count */
        return false;
    *add = minus ? -c : c;
    *r = range_of(*rest);
    r->low += *add;
    r->high += *add;
    return within(*r, range_of_type(e->type.id));
}

int64_t ax_sum_split(ax_expr **arg)
{
    int64_t sum = 0, add;
    ax_expr *rest;
    range r;

    while (split(*arg, &rest, &add, &r) && sum + add <= INT32_MAX && sum + add >= -INT32_MAX)
    {
        sum += add;
        *arg = rest;
    }
    /* the sums of int2 and int4 are one thing */
    if ((*arg)->kind == AX_X_CALL && (*arg)->fn == AX_FN_TO_INT4
        && (*arg)->arg[0]->type.id == AX_T_INT2)
        *arg = (*arg)->arg[0];
    return sum;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Types whose equal values cannot be told apart by any function. */
static bool exact(ax_type_id id)
{
    return is_int(id) || id == AX_T_BOOL || id == AX_T_DATE || id == AX_T_TIMESTAMP
        || id == AX_T_TIMESTAMPTZ || id == AX_T_TEXT;
}

/* Is e a function of the columns in have[0..n)?  One of the host may cost more for each group than
 * for each distinct value of a batch. */
static bool function_of(const ax_expr *e, const bool *have, uint32_t n)
{
    if (e->kind == AX_X_HOST || e->kind == AX_X_BEYOND)
        return false;
    if (e->kind == AX_X_COL)
        return e->u.col < n && have[e->u.col];
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!function_of(e->arg[i], have, n))
            return false;
    return true;
}

uint32_t ax_keys_determined(ax_expr *const *key, uint32_t nkeys, bool may_raise, bool *have,
                            uint32_t ncols, bool *drop)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < nkeys; i++)
    {
        const ax_expr *e = key[i];
        bool plain = e->kind == AX_X_COL && e->u.col < ncols && exact(e->type.id);

        drop[i] = plain && have[e->u.col];
        if (plain)
            have[e->u.col] = true;
    }
    for (uint32_t i = 0; i < nkeys; i++)
    {
        if (key[i]->kind != AX_X_COL)
            drop[i] = (may_raise || !key[i]->can_raise) && function_of(key[i], have, ncols);
        n += drop[i];
    }
    if (n < nkeys)
        return n;
    drop[0] = false; /* no key at all would make a group of no rows */
    return n - 1;
}

/* Does fn map no two unequal values of these types to equal ones, and raise on none? */
static bool injective(const ax_expr *e)
{
    uint8_t from = e->nargs > 0 ? e->arg[0]->type.id : AX_T_NONE;

    if (e->kind != AX_X_CALL || e->can_raise)
        return false;
    switch (e->fn)
    {
        case AX_FN_TO_NUMERIC: return is_int(from);
        case AX_FN_TO_TEXT: return is_int(from) || from == AX_T_BOOL || from == AX_T_UUID;
        default: return false;
    }
}

/* extract of a field that fits into an integer, and never is one of the extremes. */
static bool small_field(const ax_expr *e)
{
    const ax_expr *unit = e->nargs > 0 ? e->arg[0] : NULL;
    ax_unit u;

    if (e->kind != AX_X_CALL || e->fn != AX_FN_EXTRACT || unit->kind != AX_X_CONST
        || unit->u.val.null)
        return false;
    u = ax_unit_parse(unit->u.val.u.s.p, unit->u.val.u.s.len);
    return u != AX_UNIT_NONE && u < AX_UNIT_JULIAN;
}

ax_status ax_key_split(ax_task *t, ax_arena *a, ax_expr *key, uint32_t col, ax_expr **in,
                       ax_expr **out)
{
    ax_expr *arg[2] = {NULL, NULL};

    if (small_field(key))
    {
        AX_TRY(ax_expr_call(t, a, AX_FN_FIELD, key->arg, 2, in));
        arg[0] = key->arg[0];
        AX_TRY(ax_expr_col(t, a, col, (*in)->type, &arg[1]));
        AX_TRY(ax_expr_call(t, a, AX_FN_FIELD_NUMERIC, arg, 2, out));
    }
    else if (injective(key))
    {
        AX_TRY(ax_key_split(t, a, key->arg[0], col, in, &arg[0]));
        AX_TRY(ax_expr_call(t, a, key->fn, arg, 1, out));
    }
    else
    {
        *in = key;
        return ax_expr_col(t, a, col, key->type, out);
    }
    (*out)->type = key->type;
    return AX_OK;
}
