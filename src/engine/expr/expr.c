/* Builds expression trees: type rules, widening, what may raise. */
#include "expr/expr_int.h"

#include "base/hash.h"

#include <string.h>

/* ---- identity -------------------------------------------------------------------------------- */

static uint64_t value_fingerprint(const ax_value *v)
{
    uint64_t h = ax_hash_combine(v->type.id, v->null);

    if (v->null)
        return h;
    if (ax_type_is_str(v->type))
        return ax_hash_combine(h, ax_hash_bytes(v->u.s.p, v->u.s.len, 0));
    return ax_hash_combine(h, ax_hash_bytes(v->u.fix, 8, 0));
}

static void seal(ax_expr *e)
{
    uint64_t h = ax_hash_combine(e->kind, ((uint64_t) e->fn << 8) | e->type.id);

    for (uint32_t i = 0; i < e->nargs; i++)
    {
        h = ax_hash_combine(h, e->arg[i]->id);
        e->can_raise |= e->arg[i]->can_raise;
    }
    if (e->kind == AX_X_CONST)
        h = ax_hash_combine(h, value_fingerprint(&e->u.val));
    else if (e->kind == AX_X_IN)
        for (uint32_t i = 0; i < e->u.in.n; i++)
            h = ax_hash_combine(h, value_fingerprint(&e->u.in.vals[i]) + e->u.in.negated);
    else if (e->kind != AX_X_CALL)
        h = ax_hash_combine(h, e->u.col);
    e->id = (uint32_t) (h ^ (h >> 32)) | 1;
}

static ax_status node_new(ax_task *t, ax_arena *a, ax_xkind kind, ax_type type,
                          ax_expr *const *args, uint32_t nargs, ax_expr **out)
{
    ax_expr *e;

    AX_NEW(t, e, ax_arena_alloc0(a, sizeof(*e)));
    e->kind = (uint8_t) kind;
    e->type = type;
    e->nargs = nargs;
    if (nargs > 0)
    {
        AX_NEW(t, e->arg, ax_arena_alloc(a, sizeof(*e->arg) * nargs));
        memcpy(e->arg, args, sizeof(*e->arg) * nargs);
    }
    *out = e;
    return AX_OK;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

ax_status ax_expr_col(ax_task *t, ax_arena *a, uint32_t col, ax_type type, ax_expr **out)
{
    AX_TRY(node_new(t, a, AX_X_COL, type, NULL, 0, out));
    (*out)->u.col = col;
    seal(*out);
    return AX_OK;
}

ax_status ax_expr_const(ax_task *t, ax_arena *a, const ax_value *v, ax_expr **out)
{
    AX_CHECK(t, ax_phys_width(v->type.phys) > 0 || ax_type_is_str(v->type), AX_EUNSUPPORTED,
             "constants of type %s are not supported", ax_type_name(v->type.id));
    AX_TRY(node_new(t, a, AX_X_CONST, v->type, NULL, 0, out));
    AX_TRY(ax_value_copy(t, a, v, &(*out)->u.val));
    seal(*out);
    return AX_OK;
}

ax_status ax_expr_param(ax_task *t, ax_arena *a, uint32_t param, ax_type type, ax_expr **out)
{
    AX_TRY(node_new(t, a, AX_X_PARAM, type, NULL, 0, out));
    (*out)->u.param = param;
    seal(*out);
    return AX_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* any: also when the result may have too many digits; nothing is known about them then. */
static ax_status call_node(ax_task *t, ax_arena *a, ax_fn fn, ax_type type, ax_expr *const *args,
                           uint32_t nargs, bool any, ax_expr **out)
{
    ax_type types[AX_FN_MAX_ARGS];
    const ax_value *konst[AX_FN_MAX_ARGS] = {NULL};
    const char *why;

    for (uint32_t i = 0; i < nargs; i++)
    {
        types[i] = args[i]->type;
        konst[i] = args[i]->kind == AX_X_CONST ? &args[i]->u.val : NULL;
    }
    AX_TRY(node_new(t, a, AX_X_CALL, type, args, nargs, out));
    (*out)->fn = (uint16_t) fn;
    why = ax_fn_digits(fn, types, konst, &(*out)->type);
    AX_CHECK(t, why == NULL || any, AX_EUNSUPPORTED, "%s(%s%s%s): %s", ax_fn_get(fn)->name,
             ax_type_name(types[0].id), nargs > 1 ? ", " : "",
             nargs > 1 ? ax_type_name(types[1].id) : "", why);
    (*out)->can_raise = ax_fn_can_raise(fn, types, konst);
    seal(*out);
    return AX_OK;
}

/* Bring e to a type by cast (AX_FN_NONE: it is there). */
static ax_status widen(ax_task *t, ax_arena *a, ax_expr *e, ax_type want, ax_fn cast, ax_expr **out)
{
    *out = e;
    if (cast == AX_FN_NONE || e->type.id == want.id)
        return AX_OK;
    return call_node(t, a, cast, want, &e, 1, false, out);
}

/* Patterns and units are refused here: the host keeps what the engine would refuse later. */
static ax_status check_constants(ax_task *t, ax_arena *a, ax_fn fn, ax_expr *const *args,
                                 uint32_t nargs)
{
    uint8_t flags = ax_fn_get(fn)->flags;
    ax_type types[AX_FN_MAX_ARGS];
    const ax_value *konst[AX_FN_MAX_ARGS];
    ax_call *call;
    ax_status s;

    if (!(flags & (AX_FNF_CONST1 | AX_FNF_CONST2)))
        return AX_OK;
    for (uint32_t i = 0; i < nargs; i++)
    {
        bool literal = i > 0 && (flags & AX_FNF_LITERAL);
        bool must = (i == 0 && (flags & AX_FNF_CONST1)) || (i == 1 && (flags & AX_FNF_CONST2));

        types[i] = args[i]->type;
        konst[i] = args[i]->kind == AX_X_CONST ? &args[i]->u.val : NULL;
        AX_CHECK(t, !literal || konst[i] != NULL, AX_EUNSUPPORTED,
                 "%s: argument %u is not known when the plan is made", ax_fn_get(fn)->name, i + 1);
        AX_CHECK(t, !must || konst[i] != NULL || args[i]->kind == AX_X_PARAM, AX_EUNSUPPORTED,
                 "%s: argument %u is not constant", ax_fn_get(fn)->name, i + 1);
        if (must && konst[i] == NULL)
            return AX_OK; /* a parameter: looked at when it is known */
    }
    s = ax_call_bind(t, a, fn, types, konst, nargs, &call);
    if (s != AX_EESCAPE)
        return s;
    ax_error_clear(&t->err);
    return ax_fail(t, AX_EUNSUPPORTED, "LIKE pattern ends with an escape character");
}

static ax_status make_call(ax_task *t, ax_arena *a, ax_fn fn, ax_expr **args, uint32_t nargs,
                           bool any, ax_expr **out)
{
    const ax_fn_info *info = ax_fn_get(fn);
    ax_type types[AX_FN_MAX_ARGS];
    ax_fn_shape shape;
    const char *why;
    ax_expr *wide[AX_FN_MAX_ARGS];

    AX_CHECK(t, fn > AX_FN_NONE && fn < AX_FN_CNT && nargs == info->nargs
                 && nargs <= AX_FN_MAX_ARGS,
             AX_EPLAN, "function %d called with %u arguments", (int) fn, nargs);
    for (uint32_t i = 0; i < nargs; i++)
        types[i] = args[i]->type;
    why = ax_fn_resolve(fn, types, nargs, &shape);
    AX_CHECK(t, why == NULL, AX_EUNSUPPORTED, "%s(%s%s%s): %s", info->name,
             ax_type_name(types[0].id), nargs > 1 ? ", " : "",
             nargs > 1 ? ax_type_name(types[1].id) : "", why);
    if (fn >= AX_FN_TO_INT2 && fn <= AX_FN_TO_NUMERIC && shape.result.id == types[0].id)
    {
        *out = args[0]; /* conversion to what it is */
        return AX_OK;
    }
    for (uint32_t i = 0; i < nargs; i++)
        AX_TRY(widen(t, a, args[i], shape.want[i], (ax_fn) shape.cast[i], &wide[i]));
    AX_TRY(check_constants(t, a, fn, wide, nargs));
    return call_node(t, a, fn, shape.result, wide, nargs, any, out);
}

ax_status ax_expr_call(ax_task *t, ax_arena *a, ax_fn fn, ax_expr **args, uint32_t nargs,
                       ax_expr **out)
{
    return make_call(t, a, fn, args, nargs, false, out);
}

ax_status ax_expr_call_any(ax_task *t, ax_arena *a, ax_fn fn, ax_expr **args, uint32_t nargs,
                           ax_expr **out)
{
    return make_call(t, a, fn, args, nargs, true, out);
}

static bool same_type(ax_type a, ax_type b) { return a.id == b.id; }

ax_status ax_expr_beyond(ax_task *t, ax_arena *a, ax_expr *fast, ax_expr *exact, ax_expr **out)
{
    ax_expr *args[2] = {fast, exact};

    AX_CHECK(t, same_type(fast->type, exact->type), AX_EPLAN, "BEYOND of two types");
    AX_TRY(node_new(t, a, AX_X_BEYOND, exact->type, args, 2, out));
    seal(*out);
    return AX_OK;
}

ax_status ax_expr_bool(ax_task *t, ax_arena *a, ax_xkind and_or, ax_expr **args, uint32_t nargs,
                       ax_expr **out)
{
    AX_CHECK(t, (and_or == AX_X_AND || and_or == AX_X_OR) && nargs > 0, AX_EPLAN,
             "not a boolean connective");
    for (uint32_t i = 0; i < nargs; i++)
        AX_CHECK(t, args[i]->type.id == AX_T_BOOL, AX_EPLAN, "argument %u is not boolean", i + 1);
    AX_TRY(node_new(t, a, and_or, ax_type_make(AX_T_BOOL), args, nargs, out));
    seal(*out);
    return AX_OK;
}

/* Convert a constant to another type; a value that cannot be converted makes ok false. */
ax_status ax_value_cast(ax_task *t, ax_arena *a, const ax_value *v, ax_type to, ax_fn cast,
                        ax_value *out, bool *ok)
{
    ax_call *call;
    bool raises = false;

    *ok = true;
    *out = *v;
    out->type = to;
    if (v->null || v->type.id == to.id)
        return AX_OK;
    AX_TRY(ax_call_bind(t, a, cast, &v->type, NULL, 1, &call));
    AX_TRY(ax_call_value(t, a, call, v, 1, out, &raises));
    *ok = !raises;
    return AX_OK;
}

/* Lists, branches and host functions take decimals as ax_num has them. */
static ax_status check_digits(ax_task *t, ax_expr *const *arg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        AX_CHECK(t, arg[i]->type.id != AX_T_NUMERIC || arg[i]->type.precision != AX_NUM_ANY_DIGITS,
                 AX_EUNSUPPORTED, "the argument may need more than 38 digits");
    return AX_OK;
}

ax_status ax_expr_in(ax_task *t, ax_arena *a, ax_expr *arg, const ax_value *vals, uint32_t n,
                     bool negated, ax_expr **out)
{
    ax_value *copy;
    ax_expr *e;

    AX_TRY(check_digits(t, &arg, 1));
    AX_NEW(t, copy, ax_arena_alloc0(a, sizeof(*copy) * (n + 1)));
    for (uint32_t i = 0; i < n; i++)
    {
        ax_type types[2] = {arg->type, vals[i].type};
        ax_fn_shape shape;
        const char *why = ax_fn_resolve(AX_FN_EQ, types, 2, &shape);
        ax_value v;
        bool ok;

        if (why == NULL && shape.cast[0] != AX_FN_NONE)
            why = "list element is wider than the argument";
        AX_CHECK(t, why == NULL, AX_EUNSUPPORTED, "IN: %s", why);
        AX_TRY(ax_value_cast(t, a, &vals[i], shape.want[0], (ax_fn) shape.cast[1], &v, &ok));
        AX_CHECK(t, ok, AX_EUNSUPPORTED, "IN: list element out of range");
        v.type = arg->type;
        AX_TRY(ax_value_copy(t, a, &v, &copy[i]));
    }
    AX_TRY(node_new(t, a, AX_X_IN, ax_type_make(AX_T_BOOL), &arg, 1, &e));
    e->u.in.vals = copy;
    e->u.in.n = n;
    e->u.in.negated = negated;
    for (uint32_t i = 0; i < n; i++)
        e->u.in.has_null |= copy[i].null;
    seal(e);
    *out = e;
    return AX_OK;
}

ax_status ax_expr_case(ax_task *t, ax_arena *a, ax_expr **whens_thens_else, uint32_t n,
                       ax_type type, ax_expr **out)
{
    AX_CHECK(t, n >= 2, AX_EPLAN, "CASE without a branch");
    for (uint32_t i = 0; i < n; i++)
    {
        bool is_when = i % 2 == 0 && i + 1 < n;

        if (is_when)
            AX_CHECK(t, whens_thens_else[i]->type.id == AX_T_BOOL, AX_EPLAN,
                     "CASE condition is not boolean");
        else
            AX_CHECK(t, same_type(whens_thens_else[i]->type, type), AX_EPLAN,
                     "CASE branch has another type");
    }
    AX_CHECK(t, ax_phys_width(type.phys) > 0 || ax_type_is_str(type), AX_EUNSUPPORTED,
             "CASE of type %s is not supported", ax_type_name(type.id));
    AX_TRY(check_digits(t, whens_thens_else, n));
    AX_TRY(node_new(t, a, AX_X_CASE, type, whens_thens_else, n, out));
    seal(*out);
    return AX_OK;
}

ax_status ax_expr_coalesce(ax_task *t, ax_arena *a, ax_expr **args, uint32_t n, ax_expr **out)
{
    AX_CHECK(t, n >= 1, AX_EPLAN, "COALESCE without arguments");
    for (uint32_t i = 0; i < n; i++)
        AX_CHECK(t, same_type(args[i]->type, args[0]->type), AX_EPLAN,
                 "COALESCE of several types");
    AX_CHECK(t, ax_phys_width(args[0]->type.phys) > 0 || ax_type_is_str(args[0]->type),
             AX_EUNSUPPORTED, "COALESCE of type %s is not supported",
             ax_type_name(args[0]->type.id));
    AX_TRY(check_digits(t, args, n));
    AX_TRY(node_new(t, a, AX_X_COALESCE, args[0]->type, args, n, out));
    for (uint32_t i = 1; i < n; i++) /* digits are told when all have the same */
        if (args[i]->type.precision != args[0]->type.precision
            || args[i]->type.scale != args[0]->type.scale)
            (*out)->type.precision = (*out)->type.scale = 0;
    seal(*out);
    return AX_OK;
}

ax_status ax_expr_host(ax_task *t, ax_arena *a, uint32_t host, ax_expr **args, uint32_t n,
                       ax_type type, ax_expr **out)
{
    for (uint32_t i = 0; i < n; i++)
        AX_CHECK(t, ax_phys_width(args[i]->type.phys) > 0 || ax_type_is_str(args[i]->type),
                 AX_EUNSUPPORTED, "host function of type %s is not supported",
                 ax_type_name(args[i]->type.id));
    AX_CHECK(t, ax_phys_width(type.phys) > 0 || ax_type_is_str(type), AX_EUNSUPPORTED,
             "host function to type %s is not supported", ax_type_name(type.id));
    AX_TRY(check_digits(t, args, n));
    AX_TRY(node_new(t, a, AX_X_HOST, type, args, n, out));
    (*out)->u.host = host;
    (*out)->can_raise = true;
    seal(*out);
    return AX_OK;
}
