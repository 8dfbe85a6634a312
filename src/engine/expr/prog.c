/* Compiles trees into a program: parameters bound, constants folded and narrowed, equal
 * subexpressions once.
 *
 * Nodes are hash-consed by value: a node is looked up among the existing ones before it is added
 * (programs have tens of nodes, seldom hundreds, so the search is linear). */
#include "expr/expr_int.h"

#include <string.h>

typedef struct compiler
{
    ax_task *t;
    ax_arena *a;
    ax_prog *p;
} compiler;

static _Atomic uint32_t node_ids;

static ax_status lower(compiler *c, const ax_expr *e, uint32_t *out);

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool same_value(const ax_value *a, const ax_value *b)
{
    if (a->type.id != b->type.id || a->null != b->null)
        return false;
    if (a->null)
        return true;
    if (ax_type_is_str(a->type))
        return a->u.s.len == b->u.s.len && memcmp(a->u.s.p, b->u.s.p, a->u.s.len) == 0;
    switch (a->type.phys)
    {
        case AX_P_NUM:
            return a->u.num.v == b->u.num.v && a->u.num.dscale == b->u.num.dscale
                && a->u.num.special == b->u.num.special;
        case AX_P_INTERVAL:
        case AX_P_FIX16:
            return memcmp(a->u.fix, b->u.fix, 16) == 0;
        default:
            return memcmp(a->u.fix, b->u.fix, 8) == 0; /* -0 is not 0 here */
    }
}

bool ax_expr_same(const ax_expr *a, const ax_expr *b)
{
    if (a == b)
        return true;
    if (a->id != b->id || a->kind != b->kind || a->fn != b->fn || a->nargs != b->nargs
        || a->type.id != b->type.id || a->type.coll != b->type.coll)
        return false;
    for (uint32_t i = 0; i < a->nargs; i++)
        if (!ax_expr_same(a->arg[i], b->arg[i]))
            return false;
    switch (a->kind)
    {
        case AX_X_COL: return a->u.col == b->u.col;
        case AX_X_PARAM: return a->u.param == b->u.param;
        case AX_X_HOST: return a->u.host == b->u.host;
        case AX_X_CONST: return same_value(&a->u.val, &b->u.val);
        case AX_X_IN:
            if (a->u.in.n != b->u.in.n || a->u.in.negated != b->u.in.negated)
                return false;
            for (uint32_t i = 0; i < a->u.in.n; i++)
                if (!same_value(&a->u.in.vals[i], &b->u.in.vals[i]))
                    return false;
            return true;
        default: return true;
    }
}

static bool same_node(const ax_node *a, const ax_node *b)
{
    if (a->kind != b->kind || a->fn != b->fn || a->nargs != b->nargs || a->col != b->col
        || a->type.id != b->type.id || a->type.coll != b->type.coll || a->host != b->host
        || a->n_in != b->n_in || a->negated != b->negated)
        return false;
    for (uint32_t i = 0; i < a->nargs; i++)
        if (a->arg[i] != b->arg[i])
            return false;
    for (uint32_t i = 0; i < a->n_in; i++)
        if (!same_value(&a->in[i], &b->in[i]))
            return false;
    return a->kind != AX_X_CONST || same_value(&a->val, &b->val);
}

static uint32_t union_col(uint32_t a, uint32_t b)
{
    if (a == AX_NO_COL || a == b)
        return b;
    return b == AX_NO_COL ? a : AX_MANY_COLS;
}

/* What follows from the arguments. */
static void derive(const compiler *c, ax_node *n)
{
    const ax_node *all = c->p->node;
    bool any_null_in = false, all_null_in = n->nargs > 0;

    n->whole = n->kind != AX_X_CASE && n->kind != AX_X_COALESCE && n->kind < AX_X_HOST;
    n->only_col = n->kind == AX_X_COL ? n->col : AX_NO_COL;
    n->has_host = n->kind == AX_X_HOST;
    n->can_raise |= n->kind == AX_X_HOST;
    for (uint32_t i = 0; i < n->nargs; i++)
    {
        const ax_node *arg = &all[n->arg[i]];

        n->whole &= arg->whole;
        n->can_raise |= arg->can_raise;
        n->has_host |= arg->has_host;
        n->only_col = union_col(n->only_col, arg->only_col);
        any_null_in |= arg->null_in;
        all_null_in &= arg->null_in;
    }
    switch (n->kind)
    {
        case AX_X_COL: n->null_in = true; break;
        case AX_X_CALL:
            n->null_in = any_null_in && !(ax_fn_get((ax_fn) n->fn)->flags & AX_FNF_NOT_STRICT);
            n->whole &= ax_call_whole(n->call);
            break;
        case AX_X_IN:
            n->null_in = any_null_in && n->n_in > 0;
            n->whole &= ax_call_whole(n->call);
            break;
        case AX_X_AND:
        case AX_X_OR: n->null_in = all_null_in; break;
        default: n->null_in = false; break;
    }
    n->whole &= !n->can_raise;
}

/* Add n unless an equal node exists.  n->arg may be temporary memory. */
static ax_status add(compiler *c, ax_node *n, uint32_t *out)
{
    ax_prog *p = c->p;

    for (uint32_t i = 0; i < p->n; i++)
        if (same_node(&p->node[i], n))
        {
            *out = i;
            return AX_OK;
        }
    if (p->n == p->cap)
    {
        uint32_t cap = p->cap ? 2 * p->cap : 16;
        ax_node *more;

        AX_NEW(c->t, more, ax_arena_alloc(c->a, sizeof(*more) * cap));
        if (p->n > 0)
            memcpy(more, p->node, sizeof(*more) * p->n);
        p->node = more;
        p->cap = cap;
    }
    if (n->nargs > 0)
    {
        uint32_t *arg;

        AX_NEW(c->t, arg, ax_arena_alloc(c->a, sizeof(*arg) * n->nargs));
        memcpy(arg, n->arg, sizeof(*arg) * n->nargs);
        n->arg = arg;
    }
    derive(c, n);
    if (n->kind == AX_X_HOST)
    {
        /* one memo a function: arguments are its keys */
        for (uint32_t i = 0; i < p->n; i++)
            if (p->node[i].kind == AX_X_HOST && p->node[i].host == n->host)
                n->memo = p->node[i].memo;
        if (n->memo == NULL)
            AX_TRY(ax_host_memo_create(c->t, c->a, &n->memo));
    }
    /* relaxed: only uniqueness matters */
    do
        n->id = atomic_fetch_add_explicit(&node_ids, 1, memory_order_relaxed) + 1;
    while (n->id == 0);
    *out = p->n;
    p->node[p->n++] = *n;
    return AX_OK;
}

static ax_status add_const(compiler *c, const ax_value *v, uint32_t *out)
{
    ax_node n = {.kind = AX_X_CONST, .type = v->type};

    AX_TRY(ax_value_copy(c->t, c->a, v, &n.val));
    return add(c, &n, out);
}

static ax_status add_bool(compiler *c, bool null, bool value, uint32_t *out)
{
    ax_value v = {.type = ax_type_make(AX_T_BOOL), .null = null, .u.i = value};

    return add_const(c, &v, out);
}

static const ax_value *const_of(const compiler *c, uint32_t i)
{
    return c->p->node[i].kind == AX_X_CONST ? &c->p->node[i].val : NULL;
}

static bool is_bool_const(const compiler *c, uint32_t i, bool value)
{
    const ax_value *v = const_of(c, i);

    return v != NULL && !v->null && (v->u.i != 0) == value;
}

/* ---- narrowing ------------------------------------------------------------------------------- */

static bool fits(int64_t v, uint8_t type_id)
{
    switch (type_id)
    {
        case AX_T_INT2: return v >= INT16_MIN && v <= INT16_MAX;
        case AX_T_INT4: return v >= INT32_MIN && v <= INT32_MAX;
        default: return true;
    }
}

static bool is_int(uint8_t id) { return id == AX_T_INT2 || id == AX_T_INT4 || id == AX_T_INT8; }

/* The node below an integer widening, or the node itself. */
static uint32_t below_widening(const compiler *c, uint32_t i)
{
    const ax_node *n = &c->p->node[i];

    if (n->kind == AX_X_CALL && (n->fn == AX_FN_TO_INT4 || n->fn == AX_FN_TO_INT8)
        && c->p->node[n->arg[0]].type.id < n->type.id && is_int(c->p->node[n->arg[0]].type.id))
        return n->arg[0];
    if (n->kind == AX_X_CALL && n->fn == AX_FN_TO_NUMERIC)
        return n->arg[0];
    return i;
}

/* The integer a constant stands for, if it is one. */
static bool int_value(const ax_value *v, int64_t *out)
{
    ax_i128 x;

    if (v->null)
        return false;
    if (is_int(v->type.id))
    {
        *out = v->u.i;
        return true;
    }
    if (v->type.id != AX_T_NUMERIC || v->u.num.special || v->u.num.dscale > 38)
        return false;
    x = v->u.num.v;
    for (int i = 0; i < v->u.num.dscale; i++)
    {
        if (x % 10 != 0)
            return false;
        x /= 10;
    }
    *out = (int64_t) x;
    return x >= INT64_MIN && x <= INT64_MAX;
}

/* wide(x) op const, where const fits x's type: compare x itself, with a column's own width, its
 * statistics and its dictionary. */
static ax_status narrow_compare(compiler *c, uint32_t *arg)
{
    for (uint32_t k = 0; k < 2; k++)
    {
        const ax_value *v = const_of(c, arg[1 - k]);
        uint32_t inner = below_widening(c, arg[k]);
        ax_type type = c->p->node[inner].type;
        ax_value small = {.type = type};

        if (inner == arg[k] || v == NULL || !int_value(v, &small.u.i) || !fits(small.u.i, type.id))
            continue;
        arg[k] = inner;
        return add_const(c, &small, &arg[1 - k]);
    }
    return AX_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static ax_status lower_call(compiler *c, const ax_expr *e, uint32_t *out)
{
    const ax_fn_info *info = ax_fn_get((ax_fn) e->fn);
    bool strict = !(info->flags & AX_FNF_NOT_STRICT), all_const = true, raises_below = false;
    uint32_t arg[AX_FN_MAX_ARGS];
    ax_type types[AX_FN_MAX_ARGS];
    const ax_value *konst[AX_FN_MAX_ARGS];
    ax_call *call;
    ax_node n = {.kind = AX_X_CALL, .fn = e->fn, .type = e->type, .nargs = e->nargs, .arg = arg};

    for (uint32_t i = 0; i < e->nargs; i++)
    {
        AX_TRY(lower(c, e->arg[i], &arg[i]));
        raises_below |= c->p->node[arg[i]].can_raise;
    }
    if (e->fn >= AX_FN_EQ && e->fn <= AX_FN_NOT_DISTINCT)
        AX_TRY(narrow_compare(c, arg));
    for (uint32_t i = 0; i < e->nargs; i++)
    {
        types[i] = c->p->node[arg[i]].type;
        konst[i] = NULL;
        if (const_of(c, arg[i]) == NULL)
            all_const = false;
        else if (strict && const_of(c, arg[i])->null && !raises_below)
        {
            ax_value null = {.type = e->type, .null = true};

            return add_const(c, &null, out);
        }
        else
        {
            /* nodes move while the program grows: calls keep a copy */
            ax_value *v;

            AX_NEW(c->t, v, ax_arena_alloc(c->a, sizeof(*v)));
            *v = *const_of(c, arg[i]);
            konst[i] = v;
        }
    }
    AX_TRY(ax_call_bind(c->t, c->a, (ax_fn) e->fn, types, konst, e->nargs, &call));
    n.call = call;
    n.can_raise = ax_fn_can_raise((ax_fn) e->fn, types, konst);
    if (all_const)
    {
        ax_value args[AX_FN_MAX_ARGS], v;
        bool raises;

        for (uint32_t i = 0; i < e->nargs; i++)
            args[i] = *konst[i];
        AX_TRY(ax_call_value(c->t, c->a, call, args, e->nargs, &v, &raises));
        v.type = e->type;
        if (!raises)
            return add_const(c, &v, out);
    }
    return add(c, &n, out);
}

/* ---- AND, OR --------------------------------------------------------------------------------- */

static ax_status lower_bool(compiler *c, const ax_expr *e, uint32_t *out)
{
    bool is_and = e->kind == AX_X_AND, raises = false;
    ax_node n = {.kind = e->kind, .type = e->type};
    uint32_t cap = 0;

    for (uint32_t i = 0; i < e->nargs; i++)
        cap += e->arg[i]->kind == e->kind ? e->arg[i]->nargs : 1;
    AX_NEW(c->t, n.arg, ax_arena_alloc(c->a, sizeof(*n.arg) * cap));
    for (uint32_t i = 0; i < e->nargs; i++)
    {
        bool nested = e->arg[i]->kind == e->kind; /* flattened one level; deeper ones stay nodes */
        uint32_t m = nested ? e->arg[i]->nargs : 1;

        for (uint32_t j = 0; j < m; j++)
        {
            uint32_t arg;
            bool seen = false;

            AX_TRY(lower(c, nested ? e->arg[i]->arg[j] : e->arg[i], &arg));
            if (is_bool_const(c, arg, !is_and) && !raises) /* decides */
                return add_bool(c, false, !is_and, out);
            raises |= c->p->node[arg].can_raise;
            for (uint32_t k = 0; k < n.nargs; k++)
                seen |= n.arg[k] == arg;
            if (!seen && !is_bool_const(c, arg, is_and))
                n.arg[n.nargs++] = arg;
        }
    }
    if (n.nargs == 0)
        return add_bool(c, false, is_and, out);
    if (n.nargs == 1)
    {
        *out = n.arg[0];
        return AX_OK;
    }
    return add(c, &n, out);
}

/* ---- IN -------------------------------------------------------------------------------------- */

/* The list: constants, and parameters converted to the argument's type. */
static ax_status in_list(compiler *c, const ax_expr *e, ax_type type, ax_value **out, uint32_t *n)
{
    uint32_t cap = e->u.in.n + e->nargs;
    ax_value *v;

    AX_NEW(c->t, v, ax_arena_alloc0(c->a, sizeof(*v) * cap));
    *n = 0;
    for (uint32_t i = 0; i < e->u.in.n; i++)
        v[(*n)++] = e->u.in.vals[i];
    for (uint32_t i = 1; i < e->nargs; i++)
    {
        uint32_t at;
        const ax_value *k;
        ax_type types[2] = {type, e->arg[i]->type};
        ax_fn_shape shape;
        bool ok;

        AX_TRY(lower(c, e->arg[i], &at));
        k = const_of(c, at);
        AX_CHECK(c->t, k != NULL, AX_EUNSUPPORTED, "IN: element %u is not constant", i);
        AX_CHECK(c->t, ax_fn_resolve(AX_FN_EQ, types, 2, &shape) == NULL
                           && shape.cast[0] == AX_FN_NONE,
                 AX_EUNSUPPORTED, "IN: element %u has another type", i);
        AX_TRY(ax_value_cast(c->t, c->a, k, type, (ax_fn) shape.cast[1], &v[*n], &ok));
        AX_CHECK(c->t, ok, AX_EUNSUPPORTED, "IN: element %u is out of range", i);
        (*n)++;
    }
    *out = v;
    return AX_OK;
}

static ax_status lower_in(compiler *c, const ax_expr *e, uint32_t *out)
{
    ax_node n = {.kind = AX_X_IN, .type = e->type, .nargs = 1, .negated = e->u.in.negated};
    uint32_t arg, inner, m = 0, kept = 0;
    ax_type type;
    ax_value *v = NULL;
    ax_call *call;
    bool narrow;

    AX_TRY(lower(c, e->arg[0], &arg));
    AX_TRY(in_list(c, e, c->p->node[arg].type, &v, &m));
    inner = below_widening(c, arg);
    type = c->p->node[inner].type;
    narrow = inner != arg;
    for (uint32_t i = 0; narrow && i < m; i++)
    {
        int64_t k;

        /* an element that does not fit is equal to nothing; without others nulls would show */
        if (v[i].null || (int_value(&v[i], &k) && fits(k, type.id)))
            kept++;
    }
    if (narrow && kept > 0)
    {
        uint32_t q = 0;

        for (uint32_t i = 0; i < m; i++)
        {
            ax_value small = {.type = type, .null = v[i].null};

            if (v[i].null || (int_value(&v[i], &small.u.i) && fits(small.u.i, type.id)))
                v[q++] = small;
        }
        m = q;
        arg = inner;
    }
    n.arg = &arg;
    n.in = v;
    n.n_in = m;
    AX_TRY(ax_call_bind_in(c->t, c->a, c->p->node[arg].type, v, m, n.negated, &call));
    n.call = call;
    if (const_of(c, arg) != NULL)
    {
        ax_value k = *const_of(c, arg), r;
        bool raises;

        AX_TRY(ax_call_value(c->t, c->a, call, &k, 1, &r, &raises));
        if (!raises)
            return add_const(c, &r, out);
    }
    return add(c, &n, out);
}

/* ---- CASE, COALESCE, host functions ---------------------------------------------------------- */

static ax_status lower_case(compiler *c, const ax_expr *e, uint32_t *out)
{
    ax_node n = {.kind = AX_X_CASE, .type = e->type};

    AX_NEW(c->t, n.arg, ax_arena_alloc(c->a, sizeof(*n.arg) * e->nargs));
    for (uint32_t i = 0; i < e->nargs; i++)
    {
        uint32_t when;

        if (i + 1 == e->nargs) /* ELSE */
        {
            AX_TRY(lower(c, e->arg[i], &n.arg[n.nargs++]));
            break;
        }
        AX_TRY(lower(c, e->arg[i++], &when));
        if (is_bool_const(c, when, true)) /* the rest is never reached */
        {
            AX_TRY(lower(c, e->arg[i], &n.arg[n.nargs++]));
            break;
        }
        if (const_of(c, when) != NULL) /* false or null: this branch is never taken */
            continue;
        n.arg[n.nargs++] = when;
        AX_TRY(lower(c, e->arg[i], &n.arg[n.nargs++]));
    }
    if (n.nargs == 1)
    {
        *out = n.arg[0];
        return AX_OK;
    }
    if (n.nargs == 0)
    {
        ax_value null = {.type = e->type, .null = true};

        return add_const(c, &null, out);
    }
    return add(c, &n, out);
}

static ax_status lower_coalesce(compiler *c, const ax_expr *e, uint32_t *out)
{
    ax_node n = {.kind = AX_X_COALESCE, .type = e->type};

    AX_NEW(c->t, n.arg, ax_arena_alloc(c->a, sizeof(*n.arg) * e->nargs));
    for (uint32_t i = 0; i < e->nargs; i++)
    {
        uint32_t arg;
        const ax_value *v;

        AX_TRY(lower(c, e->arg[i], &arg));
        v = const_of(c, arg);
        if (v != NULL && v->null)
            continue;
        n.arg[n.nargs++] = arg;
        if (v != NULL)
            break;
    }
    if (n.nargs == 0)
    {
        ax_value null = {.type = e->type, .null = true};

        return add_const(c, &null, out);
    }
    if (n.nargs == 1)
    {
        *out = n.arg[0];
        return AX_OK;
    }
    return add(c, &n, out);
}

static ax_status lower_host(compiler *c, const ax_expr *e, uint32_t *out)
{
    ax_node n = {.kind = AX_X_HOST, .type = e->type, .nargs = e->nargs, .host = e->u.host};

    AX_NEW(c->t, n.arg, ax_arena_alloc(c->a, sizeof(*n.arg) * (e->nargs + 1)));
    for (uint32_t i = 0; i < e->nargs; i++)
        AX_TRY(lower(c, e->arg[i], &n.arg[i]));
    return add(c, &n, out);
}

static ax_status lower_beyond(compiler *c, const ax_expr *e, uint32_t *out)
{
    ax_node n = {.kind = AX_X_BEYOND, .type = e->type, .nargs = 2};

    AX_NEW(c->t, n.arg, ax_arena_alloc(c->a, sizeof(*n.arg) * 2));
    AX_TRY(lower(c, e->arg[0], &n.arg[0]));
    if (!c->p->node[n.arg[0]].can_raise)
    {
        *out = n.arg[0]; /* constants folded: it is known to fit */
        return AX_OK;
    }
    AX_TRY(lower(c, e->arg[1], &n.arg[1]));
    return add(c, &n, out);
}

static ax_status lower(compiler *c, const ax_expr *e, uint32_t *out)
{
    switch (e->kind)
    {
        case AX_X_COL:
            return add(c, &(ax_node){.kind = AX_X_COL, .type = e->type, .col = e->u.col}, out);
        case AX_X_CONST:
            return add_const(c, &e->u.val, out);
        case AX_X_PARAM:
        {
            ax_value v;

            AX_CHECK(c->t, e->u.param < c->p->params.n, AX_EPLAN, "parameter %u has no value",
                     e->u.param);
            v = c->p->params.val[e->u.param];
            AX_CHECK(c->t, v.null || v.type.phys == e->type.phys, AX_EPLAN,
                     "parameter %u has type %s instead of %s", e->u.param, ax_type_name(v.type.id),
                     ax_type_name(e->type.id));
            v.type = e->type;
            return add_const(c, &v, out);
        }
        case AX_X_CALL: return lower_call(c, e, out);
        case AX_X_AND:
        case AX_X_OR: return lower_bool(c, e, out);
        case AX_X_IN: return lower_in(c, e, out);
        case AX_X_CASE: return lower_case(c, e, out);
        case AX_X_COALESCE: return lower_coalesce(c, e, out);
        case AX_X_HOST: return lower_host(c, e, out);
        case AX_X_BEYOND: return lower_beyond(c, e, out);
        default: return ax_fail(c->t, AX_EPLAN, "unknown expression kind %d", e->kind);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Columns of the nodes that the roots reach. */
static ax_status collect_columns(compiler *c)
{
    ax_prog *p = c->p;
    bool *live;
    uint32_t m = 0;

    AX_NEW(c->t, live, ax_arena_alloc0(c->a, p->n + 1));
    for (uint32_t i = 0; i < p->nroots; i++)
        live[p->root[i]] = true;
    for (uint32_t i = p->n; i-- > 0;)
    {
        if (!live[i])
            continue;
        for (uint32_t k = 0; k < p->node[i].nargs; k++)
            live[p->node[i].arg[k]] = true;
        m += p->node[i].kind == AX_X_COL;
    }
    AX_NEW(c->t, p->cols, ax_arena_alloc(c->a, sizeof(*p->cols) * (m + 1)));
    for (uint32_t i = 0; i < p->n; i++)
    {
        uint32_t at = p->ncols;

        if (!live[i] || p->node[i].kind != AX_X_COL)
            continue;
        for (; at > 0 && p->cols[at - 1] > p->node[i].col; at--)
            p->cols[at] = p->cols[at - 1];
        p->cols[at] = p->node[i].col;
        p->ncols++;
    }
    p->max_col = p->ncols > 0 ? p->cols[p->ncols - 1] + 1 : 0;
    return AX_OK;
}

ax_status ax_prog_compile(ax_task *t, ax_arena *a, ax_expr *const *exprs, uint32_t n,
                          const ax_params *params, ax_prog **out)
{
    compiler c = {t, a, NULL};
    ax_value *vals;

    AX_NEW(t, c.p, ax_arena_alloc0(a, sizeof(*c.p)));
    if (params != NULL && params->n > 0)
    {
        AX_NEW(t, vals, ax_arena_alloc(a, sizeof(*vals) * params->n));
        for (uint32_t i = 0; i < params->n; i++)
            AX_TRY(ax_value_copy(t, a, &params->val[i], &vals[i]));
        c.p->params = (ax_params){vals, params->n};
    }
    AX_NEW(t, c.p->root, ax_arena_alloc(a, sizeof(*c.p->root) * (n + 1)));
    c.p->nroots = n;
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(lower(&c, exprs[i], &c.p->root[i]));
    AX_TRY(collect_columns(&c));
    *out = c.p;
    return AX_OK;
}

const uint32_t *ax_prog_columns(const ax_prog *p, uint32_t *n)
{
    *n = p->ncols;
    return p->cols;
}
