/* Cuts a plan into stages.
 *
 * The recursion goes from the root down and carries what happens to a node's rows afterwards: a
 * list of operators up to the sink, the sink, and the limits on the way to the root.  A streaming
 * node puts its operator in front of the list; a breaker ends its stage (which reads the parts of
 * the breaker) and goes on below with the breaker as sink; a union hands the same list to all its
 * children, so that they share one sink and one limit.  Filters that end up first in the list of a
 * scan become part of the scan. */
#include "exec/merge_int.h"

#include <string.h>

#define MAX_DEPTH 200u

typedef struct oplink { ax_op *op; struct oplink *next; } oplink;

typedef struct compiler
{
    ax_exec *x;
    ax_task *t;
    ax_arena *a;
    ax_stage *last;
    ax_sink *last_sink;
    const ax_node *late_scan; /* rows of this scan are found again by their ids */
} compiler;

/* What happens to a node's rows. */
typedef struct above
{
    oplink *ops;
    ax_sink *sink;
    ax_limits *limits;
    ax_sink *also_waits; /* a key set that an operator in ops probes, or NULL */
    bool one_lane;       /* an operator in ops needs all rows in order */
} above;

static ax_status node(compiler *c, const ax_node *n, above up, uint32_t depth);

/* ---- small things --------------------------------------------------------------------------- */

static ax_status new_op(compiler *c, ax_op_kind kind, const ax_node *n, uint32_t ncols,
                        const ax_type *type, ax_op **out)
{
    AX_NEW(c->t, *out, (ax_op *) ax_arena_alloc0(c->a, sizeof **out));
    (*out)->kind = (uint8_t) kind;
    (*out)->node = n;
    (*out)->ncols = ncols;
    (*out)->type = type;
    return AX_OK;
}

static ax_status put_front(compiler *c, above *up, ax_op *op)
{
    oplink *l;

    AX_NEW(c->t, l, (oplink *) ax_arena_alloc(c->a, sizeof *l));
    l->op = op;
    l->next = up->ops;
    up->ops = l;
    return AX_OK;
}

static ax_status project(compiler *c, const ax_node *n, ax_expr **expr, uint32_t ncols,
                         const ax_type *type, ax_op **out)
{
    AX_TRY(new_op(c, AX_OP_PROJECT, n, ncols, type, out));
    (*out)->expr = expr;
    return ax_prog_compile(c->t, c->a, expr, ncols, &c->x->o.params, &(*out)->prog);
}

static ax_status new_sink(compiler *c, ax_sink_kind kind, const ax_node *n, ax_sink **out)
{
    AX_NEW(c->t, *out, (ax_sink *) ax_arena_alloc0(c->a, sizeof **out));
    (*out)->kind = (uint8_t) kind;
    (*out)->node = n;
    if (c->last_sink != NULL)
        c->last_sink->all_next = *out;
    else
        c->x->sinks = *out;
    c->last_sink = *out;
    return AX_OK;
}

static ax_status new_stage(compiler *c, ax_src_kind src, above up, ax_stage **out)
{
    ax_stage *st;
    uint32_t n = 0;

    AX_NEW(c->t, st, (ax_stage *) ax_arena_alloc0(c->a, sizeof *st));
    for (oplink *l = up.ops; l != NULL; l = l->next)
        n++;
    AX_NEW(c->t, st->op, (ax_op **) ax_arena_alloc(c->a, (n + 1) * sizeof(ax_op *)));
    for (oplink *l = up.ops; l != NULL; l = l->next)
        st->op[st->nops++] = l->op;
    st->x = c->x;
    st->id = c->x->nstages++;
    st->src = (uint8_t) src;
    st->sink = up.sink;
    st->limits = up.limits;
    st->one_lane = up.one_lane;
    st->nlanes = up.one_lane ? 1 : c->x->max_lanes;
    atomic_fetch_add_explicit(&up.sink->stages_left, 1, memory_order_relaxed);
    if (up.also_waits != NULL)
    {
        atomic_fetch_add_explicit(&st->waits, 1, memory_order_relaxed);
        st->also_waits = up.also_waits;
    }
    if (c->last != NULL)
        c->last->all_next = st;
    else
        c->x->stages = st;
    c->last = st;
    *out = st;
    return AX_OK;
}

/* The stage that reads the parts of a breaker. */
static ax_status parts_stage(compiler *c, ax_sink *s, above up, bool ordered)
{
    ax_stage *st;

    up.one_lane = up.one_lane || ordered;
    AX_TRY(new_stage(c, AX_SRC_PARTS, up, &st));
    if (st->nlanes > c->x->busy_lanes)
        st->nlanes = c->x->busy_lanes; /* they wait for nothing */
    st->parts = s;
    s->next = st;
    atomic_fetch_add_explicit(&st->waits, 1, memory_order_relaxed);
    return AX_OK;
}

/* A LIMIT or OFFSET expression; absent and null are `none`. */
static ax_status bound_value(compiler *c, ax_expr *e, int64_t none, int64_t *out)
{
    ax_prog *prog;
    ax_eval *eval;
    ax_vec v;
    ax_batch one = {.nrows = 1, .nsel = 1, .arena = c->a};
    ax_eval_result r = {0};
    ax_value val;

    *out = none;
    if (e == NULL)
        return AX_OK;
    AX_TRY(ax_prog_compile(c->t, c->a, &e, 1, &c->x->o.params, &prog));
    AX_TRY(ax_eval_create(c->t, c->a, prog, &eval));
    AX_TRY(ax_eval_run(c->t, eval, &one, &v, &r));
    AX_CHECK(c->t, r.need == NULL, AX_EUNSUPPORTED, "limit needs a function of the host");
    val = ax_vec_value(&v, 0);
    if (val.null)
        return AX_OK;
    AX_CHECK(c->t, val.u.i >= 0, AX_EPLAN, "limit or offset must not be negative");
    *out = val.u.i;
    return AX_OK;
}

static int64_t add_sat(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

/* ---- scans ---------------------------------------------------------------------------------- */

static ax_status renumber(ax_task *t, ax_arena *a, const ax_expr *e, const uint32_t *to,
                          uint32_t depth, ax_expr **out)
{
    ax_expr *n;

    AX_CHECK(t, depth < 10000, AX_EPLAN, "plan expression is nested too deep");
    AX_NEW(t, n, (ax_expr *) ax_arena_alloc(a, sizeof *n));
    *n = *e;
    if (e->kind == AX_X_COL)
        n->u.col = to[e->u.col];
    AX_NEW(t, n->arg, (ax_expr **) ax_arena_alloc(a, (e->nargs + 1) * sizeof *n->arg));
    for (uint32_t i = 0; i < e->nargs; i++)
        AX_TRY(renumber(t, a, e->arg[i], to, depth + 1, &n->arg[i]));
    *out = n;
    return AX_OK;
}

ax_status ax_exec_renumber(ax_task *t, ax_arena *a, const ax_expr *e, const uint32_t *to,
                           ax_expr **out)
{
    return renumber(t, a, e, to, 0, out);
}

void ax_exec_mark_columns(const ax_expr *e, bool *used, uint32_t n)
{
    if (e->kind == AX_X_COL && e->u.col < n)
        used[e->u.col] = true;
    for (uint32_t i = 0; i < e->nargs; i++)
        ax_exec_mark_columns(e->arg[i], used, n);
}

/* Which columns of the scan does anything above the merged filter look at? */
static ax_status find_filter_only(compiler *c, ax_scan *s, const oplink *ops)
{
    uint32_t n = s->ncolumns;
    bool *used;
    bool all = true;

    AX_NEW(c->t, used, (bool *) ax_arena_alloc0(c->a, n + 1));
    AX_NEW(c->t, s->filter_only, (uint32_t *) ax_arena_alloc(c->a, (n + 1) * sizeof(uint32_t)));
    for (; ops != NULL && all; ops = ops->next)
    {
        const ax_op *op = ops->op;

        if (op->kind == AX_OP_LIMIT)
            continue;
        if (op->kind == AX_OP_FILTER)
            for (uint32_t i = 0; i < op->nconj; i++)
                ax_exec_mark_columns(op->conj[i], used, n);
        else if (op->kind == AX_OP_PROJECT)
        {
            for (uint32_t i = 0; i < op->ncols; i++)
                ax_exec_mark_columns(op->expr[i], used, n);
            all = false;
        }
        else
            break;
    }
    for (uint32_t i = 0; i < n && !all; i++)
        if (!used[i])
            s->filter_only[s->nfilter_only++] = i;
    return AX_OK;
}

/* Move filters at the head of the operators into the scan. */
static ax_status merge_filters(compiler *c, ax_scan *s, const ax_node *n, above *up)
{
    uint32_t total = n->u.scan.nconj;

    for (oplink *l = up->ops; l != NULL && l->op->kind == AX_OP_FILTER; l = l->next)
        total += l->op->nconj;
    AX_NEW(c->t, s->conj, (ax_expr **) ax_arena_alloc(c->a, (total + 1) * sizeof(ax_expr *)));
    for (uint32_t i = 0; i < n->u.scan.nconj; i++)
        s->conj[s->nconj++] = n->u.scan.conj[i];
    for (; up->ops != NULL && up->ops->op->kind == AX_OP_FILTER; up->ops = up->ops->next)
        for (uint32_t i = 0; i < up->ops->op->nconj; i++)
            s->conj[s->nconj++] = up->ops->op->conj[i];
    return AX_OK;
}

/* The sink's first sort key is a plain column of this scan: its threshold tightens the filter. */
static void wire_live(compiler *c, ax_scan *s, const ax_node *n, ax_sink *sink)
{
    if (sink->kind != AX_SINK_ORDER || sink->tighten_scan != n ||
        (c->x->o.allow & AX_ALLOW_LIVE) == 0)
        return;
    s->live = true;
    s->live_col = sink->tighten_col;
    s->live_op = sink->order.key[0].desc ? AX_FN_GE : AX_FN_LE;
    s->live_nulls = sink->order.key[0].nulls_first;
    sink->order.tighten = ax_scan_tighten;
    sink->order.tighten_arg = s;
}

static ax_status scan_filters(compiler *c, ax_scan *s)
{
    ax_expr **declared;

    if (s->nconj == 0 && !s->live)
        return AX_OK;
    AX_TRY(ax_filter_create(c->t, c->a, s->conj, s->nconj, &c->x->o.params, &s->filter));
    AX_NEW(c->t, declared, (ax_expr **) ax_arena_alloc(c->a, (s->nconj + 1) * sizeof(ax_expr *)));
    for (uint32_t i = 0; i < s->nconj; i++)
        AX_TRY(ax_exec_renumber(c->t, c->a, s->conj[i], s->columns, &declared[i]));
    return ax_filter_create(c->t, c->a, declared, s->nconj, &c->x->o.params, &s->prune);
}

/* The reader may not apply filters: they come back as an operator above it. */
static ax_status filters_above(compiler *c, ax_scan *s, const ax_node *n, above *up)
{
    ax_op *op;

    if (s->filter == NULL || (c->x->o.allow & AX_ALLOW_PREWHERE) != 0)
        return AX_OK;
    AX_TRY(new_op(c, AX_OP_FILTER, NULL, n->ncols, n->type, &op));
    op->filter = s->filter;
    op->conj = s->conj;
    op->nconj = s->nconj;
    s->nfilter_only = 0;
    return put_front(c, up, op);
}

static void take_snapshot(compiler *c, ax_stage *st, ax_scan *s)
{
    st->scan = s;
    s->snap = s->node->u.scan.source->snap;
    atomic_fetch_add_explicit(&s->snap->refs, 1, memory_order_relaxed);
    pthread_mutex_init(&s->live_lock, NULL);
    if (c->x->first_scan == NULL)
        c->x->first_scan = s;
}

static ax_status scan(compiler *c, const ax_node *n, above up)
{
    ax_scan *s;
    ax_stage *st;
    ax_source *src = n->u.scan.source;

    AX_CHECK(c->t, src->snap != NULL, AX_EPLAN, "plan uses a source that is not open");
    AX_NEW(c->t, s, (ax_scan *) ax_arena_alloc0(c->a, sizeof *s));
    s->node = n;
    s->columns = n->u.scan.columns;
    s->ncolumns = n->ncols;
    s->late = c->late_scan == n;
    AX_TRY(merge_filters(c, s, n, &up));
    wire_live(c, s, n, up.sink);
    AX_TRY(scan_filters(c, s));
    AX_TRY(find_filter_only(c, s, up.ops));
    AX_TRY(filters_above(c, s, n, &up));
    s->gradual = n->u.scan.stored_order;
    up.one_lane = up.one_lane || n->u.scan.stored_order;
    AX_TRY(new_stage(c, AX_SRC_SCAN, up, &st));
    take_snapshot(c, st, s);
    AX_TRY(ax_scan_plan(c->x, s, &st->nlanes));
    return s->live ? ax_meta_order(c->x, s) : AX_OK;
}

/* ---- breakers -------------------------------------------------------------------------------- */

/* An argument that may raise is evaluated only on rows that pass the call's filter, as the server
 * does: sum(10 / x) FILTER (WHERE x <> 0) never divides by zero. */
static ax_status guarded_arg(compiler *c, const ax_agg_call *call, ax_expr *arg, ax_expr **out)
{
    ax_expr *when_then[2] = {call->filter, arg};

    *out = arg;
    if (call->filter == NULL || !arg->can_raise)
        return AX_OK;
    return ax_expr_case(c->t, c->a, when_then, 2, arg->type, out);
}

/* The operands of the calls of an aggregation; equal ones are one column, so that calls over it
 * can share their state. */
typedef struct operands { ax_expr **expr; uint32_t first, n; } operands;

static int32_t operand(operands *o, ax_expr *e)
{
    for (uint32_t i = o->first; i < o->n; i++)
        if (ax_expr_same(o->expr[i], e))
            return (int32_t) i;
    o->expr[o->n] = e;
    return (int32_t) o->n++;
}

/* Operands of an aggregation: keys, then for each call its argument and its filter. */
static ax_status agg_operands(compiler *c, const ax_node *n, ax_expr **key, uint32_t nkeys,
                              ax_sink *s, above *down)
{
    uint32_t ncalls = n->u.agg.ncalls, room = nkeys + 3 * ncalls + 1;
    operands o = {.first = nkeys, .n = nkeys};
    ax_type *type;
    ax_agg_arg *arg;
    ax_expr *e;
    ax_op *op;

    AX_NEW(c->t, o.expr, (ax_expr **) ax_arena_alloc(c->a, room * sizeof *o.expr));
    AX_NEW(c->t, type, (ax_type *) ax_arena_alloc(c->a, room * sizeof *type));
    AX_NEW(c->t, arg, (ax_agg_arg *) ax_arena_alloc0(c->a, (ncalls + 1) * sizeof *arg));
    for (uint32_t i = 0; i < nkeys; i++)
        o.expr[i] = key[i];
    for (uint32_t i = 0; i < ncalls; i++)
    {
        const ax_agg_call *call = &n->u.agg.call[i];

        AX_CHECK(c->t, call->norder == 0, AX_EUNSUPPORTED,
                 "aggregates with their own order are not supported");
        arg[i] = (ax_agg_arg){.agg = call->agg, .distinct = call->distinct, .arg_col = -1,
                              .arg2_col = -1, .filter_col = -1, .type = call->type};
        if (call->arg != NULL)
        {
            e = call->arg;
            if (c->x->o.allow & AX_ALLOW_ALGEBRA
                && (call->agg == AX_AGG_SUM || call->agg == AX_AGG_AVG))
                arg[i].add = ax_sum_split(&e);
            arg[i].arg_type = e->type;
            AX_TRY(guarded_arg(c, call, e, &e));
            arg[i].arg_col = operand(&o, e);
        }
        if (call->arg2 != NULL)
        {
            AX_TRY(guarded_arg(c, call, call->arg2, &e));
            arg[i].arg2_col = operand(&o, e);
        }
        if (call->filter != NULL)
            arg[i].filter_col = operand(&o, call->filter);
        /* sum(float4) is what the server makes of it only in the order of the rows */
        s->agg.strict_float_sum |= call->agg == AX_AGG_SUM && arg[i].arg_type.id == AX_T_FLOAT4;
    }
    for (uint32_t i = 0; i < o.n; i++)
        type[i] = o.expr[i]->type;
    s->agg.key_type = type;
    s->agg.nkeys = nkeys;
    s->agg.arg = arg;
    s->agg.nargs = ncalls;
    AX_TRY(project(c, n, o.expr, o.n, type, &op));
    return put_front(c, down, op);
}

/* How many groups do the operators above want at most?  0: all. */
static int64_t group_limit(const above *up)
{
    for (const oplink *l = up->ops; l != NULL; l = l->next)
    {
        const ax_limit *lim = l->op->limit;

        if (l->op->kind == AX_OP_PROJECT)
            continue;
        if (l->op->kind != AX_OP_LIMIT || lim->limit >= INT64_MAX / 2 ||
            lim->offset >= INT64_MAX / 2)
            return 0;
        return (int64_t) (lim->limit + lim->offset);
    }
    return 0;
}

/* Results that are computed without an error, whatever the group. */
static bool safe_result(const ax_agg_arg *a)
{
    bool is_int = a->arg_type.id == AX_T_INT2 || a->arg_type.id == AX_T_INT4
               || a->arg_type.id == AX_T_INT8;

    switch (a->agg)
    {
    case AX_AGG_COUNT_STAR:
    case AX_AGG_COUNT:
    case AX_AGG_MIN:
    case AX_AGG_MAX:
        return true;
    case AX_AGG_SUM:
    case AX_AGG_AVG:
        return is_int && (a->add == 0 || a->type.id == AX_T_NUMERIC);
    default:
        return false;
    }
}

/* A top-N above that sorts by an integer column first, with nothing in between that can raise or
 * look at more than one group, wants only groups up to its threshold. */
static ax_status top_groups(compiler *c, const above *up, ax_sink *s)
{
    ax_sink *order = up->sink;
    ax_order_key *key;
    uint32_t col, depth = 0;
    uint8_t id;

    if ((c->x->o.allow & AX_ALLOW_TOP_GROUPS) == 0 || order->kind != AX_SINK_ORDER
        || order->order.nkeys == 0 || order->order.limit < 0)
        return AX_OK;
    for (const oplink *l = up->ops; l != NULL; l = l->next)
        depth++;
    col = order->order.key[0].col;
    for (uint32_t i = depth; i > 0; i--) /* from the sink down */
    {
        const oplink *l = up->ops;
        const ax_op *op;

        for (uint32_t k = 1; k < i; k++)
            l = l->next;
        op = l->op;
        for (uint32_t e = 0; op->kind == AX_OP_FILTER && e < op->nconj; e++)
            if (op->conj[e]->can_raise)
                return AX_OK;
        if (op->kind == AX_OP_FILTER)
            continue;
        if (op->kind != AX_OP_PROJECT)
            return AX_OK;
        for (uint32_t e = 0; e < op->ncols; e++)
            if (op->expr[e]->can_raise)
                return AX_OK;
        if (op->expr[col]->kind != AX_X_COL)
            return AX_OK;
        col = op->expr[col]->u.col;
    }
    for (uint32_t i = 0; i < s->agg.nargs; i++)
        if (!safe_result(&s->agg.arg[i]))
            return AX_OK;
    id = col < s->agg.nkeys ? s->agg.key_type[col].id : s->agg.arg[col - s->agg.nkeys].type.id;
    if (id != AX_T_INT2 && id != AX_T_INT4 && id != AX_T_INT8)
        return AX_OK;
    AX_NEW(c->t, key, (ax_order_key *) ax_arena_alloc(c->a, sizeof *key));
    *key = order->order.key[0];
    key->col = col;
    s->agg.top = key;
    s->agg.top_ties = order->order.nkeys > 1;
    order->top_of = s;
    return AX_OK;
}

/* Group by the keys that the others follow from, each as narrow as it goes, and compute the others
 * of each group: put into *up.  A key that raises is computed for all groups then, unless a limit
 * ends the query early. */
static ax_status fewer_keys(compiler *c, const ax_node *n, above *up, ax_expr **key,
                            uint32_t *nkeys)
{
    uint32_t all = n->u.agg.nkeys, ncols = n->child[0]->ncols, kept = 0, *to;
    bool *have, *drop, changed;
    ax_expr **out;
    ax_op *op;

    *nkeys = all;
    if (all > 0)
        memcpy(key, n->u.agg.key, sizeof *key * all);
    if (all == 0 || (c->x->o.allow & AX_ALLOW_ALGEBRA) == 0)
        return AX_OK;
    AX_NEW(c->t, have, (bool *) ax_arena_alloc0(c->a, ncols + 1));
    AX_NEW(c->t, drop, (bool *) ax_arena_alloc0(c->a, all));
    changed = ax_keys_determined(n->u.agg.key, all, up->limits == NULL, have, ncols, drop) > 0;
    AX_NEW(c->t, to, (uint32_t *) ax_arena_alloc0(c->a, (ncols + 1) * sizeof *to));
    AX_NEW(c->t, out, (ax_expr **) ax_arena_alloc(c->a, (n->ncols + 1) * sizeof *out));
    for (uint32_t i = 0; i < all; i++)
    {
        if (drop[i])
            continue;
        if (key[i]->kind == AX_X_COL)
            to[key[i]->u.col] = kept;
        AX_TRY(ax_key_split(c->t, c->a, n->u.agg.key[i], kept, &key[kept], &out[i]));
        changed |= key[kept++] != n->u.agg.key[i];
    }
    if (!changed)
        return AX_OK;
    for (uint32_t i = 0; i < all; i++)
        if (drop[i])
            AX_TRY(ax_exec_renumber(c->t, c->a, n->u.agg.key[i], to, &out[i]));
    for (uint32_t i = all; i < n->ncols; i++)
        AX_TRY(ax_expr_col(c->t, c->a, i - all + kept, n->type[i], &out[i]));
    *nkeys = kept;
    AX_TRY(project(c, n, out, n->ncols, n->type, &op));
    return put_front(c, up, op);
}

static ax_status aggregate(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    ax_expr **key;
    uint32_t nkeys;
    above down = {.limits = up.limits};
    ax_sink *s;
    bool from_meta = ax_meta_fits(c->x, n);
    ax_scan *first = c->x->first_scan;
    ax_op *add = NULL;

    AX_CHECK(c->t, n->u.agg.nsets == 0, AX_EUNSUPPORTED, "grouping sets are not supported");
    AX_TRY(new_sink(c, AX_SINK_AGG, n, &s));
    s->agg.strict_float_sum = c->x->o.strict_float_sum;
    AX_NEW(c->t, key, (ax_expr **) ax_arena_alloc(c->a, (n->u.agg.nkeys + 1) * sizeof *key));
    AX_TRY(fewer_keys(c, n, &up, key, &nkeys));
    AX_TRY(agg_operands(c, n, key, nkeys, s, &down));
    s->agg.est_groups = n->est_rows;
    s->agg.group_limit = n->u.agg.nkeys > 0 ? group_limit(&up) : 0;
    if (n->u.agg.nkeys > 0 && !from_meta)
        AX_TRY(top_groups(c, &up, s));
    down.sink = s;
    down.one_lane = s->agg.strict_float_sum;
    if (from_meta)
    {
        AX_TRY(new_op(c, AX_OP_ADD_META, n, n->ncols, n->type, &add));
        AX_TRY(put_front(c, &up, add));
    }
    AX_TRY(node(c, n->child[0], down, depth + 1));
    if (from_meta)
    {
        /* The child is the one scan just made, the newest stage. */
        AX_TRY(ax_meta_create(c->x, n, c->last->scan, &c->last->scan->meta));
        add->meta = c->last->scan->meta;
        c->x->meta_only = first == NULL;
    }
    return parts_stage(c, s, up, false);
}

static ax_status distinct(compiler *c, const ax_node *n, const ax_node *const *child,
                          uint32_t nchild, above up, uint32_t depth)
{
    above down = {.limits = up.limits};
    ax_sink *s;

    AX_TRY(new_sink(c, AX_SINK_AGG, n, &s));
    s->agg.key_type = n->type;
    s->agg.nkeys = n->ncols;
    s->agg.est_groups = n->est_rows;
    s->agg.group_limit = group_limit(&up);
    down.sink = s;
    for (uint32_t i = 0; i < nchild; i++)
        AX_TRY(node(c, child[i], down, depth + 1));
    return parts_stage(c, s, up, false);
}

/* Follow the first sort key down to a scan column, through nodes that drop no row for another
 * reason than its own values and that cannot raise. */
static void trace_key(ax_sink *s, const ax_node *n)
{
    uint32_t col = s->order.key[0].col;

    for (;; n = n->child[0])
    {
        if (n->kind == AX_N_SCAN)
        {
            s->tighten_scan = n;
            s->tighten_col = col;
            return;
        }
        if (n->kind == AX_N_PROJECT)
        {
            for (uint32_t i = 0; i < n->ncols; i++)
                if (n->u.project.expr[i]->can_raise)
                    return;
            if (n->u.project.expr[col]->kind != AX_X_COL)
                return;
            col = n->u.project.expr[col]->u.col;
        }
        else if (n->kind != AX_N_FILTER)
            return;
    }
}

/* A sink that orders rows of these types. */
static ax_status order_sink(compiler *c, const ax_node *n, const ax_type *type, uint32_t ncols,
                            const ax_sort_key *key, uint32_t nkeys, ax_sink **out)
{
    ax_order_key *k;

    AX_TRY(new_sink(c, AX_SINK_ORDER, n, out));
    AX_NEW(c->t, k, (ax_order_key *) ax_arena_alloc(c->a, (nkeys + 1) * sizeof *k));
    for (uint32_t i = 0; i < nkeys; i++)
        k[i] = (ax_order_key){key[i].col, key[i].desc, key[i].nulls_first};
    (*out)->order = (ax_order_spec){.type = type, .ncols = ncols, .key = k, .nkeys = nkeys,
                                    .limit = -1};
    return AX_OK;
}

/* A sink that collects what belongs to winners, and the stage that waits for it. */
static ax_status late_stage(compiler *c, ax_late *late, ax_src_kind src, above up,
                            ax_sink *sink)
{
    ax_stage *st;

    AX_TRY(new_stage(c, src, up, &st));
    st->late = late;
    sink->late = late;
    sink->next = st;
    atomic_fetch_add_explicit(&st->waits, 1, memory_order_relaxed);
    return AX_OK;
}

/* Behind the top-N s: its winners, then their late columns, then both together. */
static ax_status fetch_late(compiler *c, const ax_node *n, ax_sink *s, ax_late *late, above up)
{
    above winners = {.limits = up.limits}, columns = {.limits = up.limits};

    AX_TRY(new_sink(c, AX_SINK_LATE, n, &winners.sink));
    AX_TRY(new_sink(c, AX_SINK_LATE, n, &columns.sink));
    AX_TRY(parts_stage(c, s, winners, true));
    AX_TRY(late_stage(c, late, AX_SRC_LATE, columns, winners.sink));
    up.one_lane = true;
    return late_stage(c, late, AX_SRC_WINNERS, up, columns.sink);
}

static ax_status order(compiler *c, const ax_node *n, const ax_sort_key *given, uint32_t nkeys,
                       ax_expr *limit, ax_expr *offset, above up, uint32_t depth)
{
    above down = {.limits = up.limits};
    int64_t most, skip;
    ax_node *child = n->nchild > 0 ? n->child[0] : NULL;
    ax_late *late = NULL;
    ax_sort_key *key;
    ax_sink *s;

    AX_NEW(c->t, key, (ax_sort_key *) ax_arena_alloc(c->a, (nkeys + 1) * sizeof *key));
    if (nkeys > 0)
        memcpy(key, given, nkeys * sizeof *key);
    AX_TRY(bound_value(c, limit, -1, &most));
    AX_TRY(bound_value(c, offset, 0, &skip));
    if (most >= 0)
        most = add_sat(most, skip) - skip;
    if (nkeys > 0 && most > 0 && most <= AX_LATE_ROWS_MAX &&
        (c->x->o.allow & AX_ALLOW_LAZY) != 0)
        AX_TRY(ax_late_plan(c->t, c->a, child, key, nkeys, &child, &late));
    AX_TRY(order_sink(c, n, child->type, child->ncols, key, nkeys, &s));
    s->order.limit = most;
    s->order.offset = skip;
    down.sink = s;
    if (nkeys > 0 && most >= 0)
        trace_key(s, child);
    for (const ax_node *d = late != NULL ? child : NULL; d != NULL; d = d->child[0])
        if (d->kind == AX_N_SCAN)
        {
            c->late_scan = d;
            break;
        }
    AX_TRY(node(c, child, down, depth + 1));
    for (uint32_t i = 1; i < n->nchild; i++)
        AX_TRY(node(c, n->child[i], down, depth + 1));
    if (late == NULL)
        return parts_stage(c, s, up, true);
    ax_late_scan(late, c->last->scan); /* the stage just made reads it */
    return fetch_late(c, n, s, late, up);
}

/* ---- streaming nodes ------------------------------------------------------------------------ */

static ax_status filter(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    ax_op *op;

    AX_TRY(new_op(c, AX_OP_FILTER, n, n->ncols, n->type, &op));
    op->conj = n->u.filter.conj;
    op->nconj = n->u.filter.nconj;
    AX_TRY(ax_filter_create(c->t, c->a, op->conj, op->nconj, &c->x->o.params, &op->filter));
    AX_TRY(put_front(c, &up, op));
    return node(c, n->child[0], up, depth + 1);
}

static ax_status limit(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    int64_t lim, off;
    ax_limits *l;
    ax_op *op;

    AX_TRY(bound_value(c, n->u.limit.limit, -1, &lim));
    AX_TRY(bound_value(c, n->u.limit.offset, 0, &off));
    AX_TRY(new_op(c, AX_OP_LIMIT, n, n->ncols, n->type, &op));
    AX_NEW(c->t, op->limit, (ax_limit *) ax_arena_alloc0(c->a, sizeof *op->limit));
    op->limit->limit = lim < 0 ? UINT64_MAX : (uint64_t) lim;
    op->limit->offset = (uint64_t) off;
    atomic_init(&op->limit->enough, lim == 0);
    AX_NEW(c->t, l, (ax_limits *) ax_arena_alloc(c->a, sizeof *l));
    l->limit = op->limit;
    l->next = up.limits;
    up.limits = l;
    AX_TRY(put_front(c, &up, op));
    return node(c, n->child[0], up, depth + 1);
}

static ax_status merge_stage(compiler *c, ax_scan *s, const ax_merge *m, above up)
{
    ax_stage *st;

    s->merged = true;
    up.one_lane = true;
    AX_TRY(new_stage(c, AX_SRC_MERGE, up, &st));
    st->merge = m;
    take_snapshot(c, st, s);
    st->nlanes = 1;
    return ax_scan_plan(c->x, s, &st->nlanes);
}

/* A scan whose files are the inputs of a merge. */
static ax_status merge_final(compiler *c, const ax_node *n, above up)
{
    const ax_node *scan = n->child[0];
    ax_source *src = scan->u.scan.source;
    uint32_t nconj = 0;
    ax_expr **conj;
    ax_merge *m;
    ax_scan *s;

    AX_CHECK(c->t, src->snap != NULL, AX_EPLAN, "plan uses a source that is not open");
    AX_CHECK(c->t, src->final != NULL || src->snap->nfiles == 0, AX_EPLAN,
             "plan merges rows of a source that is not made for it");
    AX_NEW(c->t, s, (ax_scan *) ax_arena_alloc0(c->a, sizeof *s));
    AX_NEW(c->t, m, (ax_merge *) ax_arena_alloc0(c->a, sizeof *m));
    s->node = scan;
    if (src->final != NULL)
        AX_TRY(ax_merge_plan(c->t, c->a, s, m));
    for (oplink *l = up.ops; l != NULL && l->op->kind == AX_OP_FILTER; l = l->next)
        nconj += l->op->nconj;
    AX_NEW(c->t, conj, (ax_expr **) ax_arena_alloc(c->a, (nconj + 1) * sizeof(ax_expr *)));
    nconj = 0;
    for (oplink *l = up.ops; l != NULL && l->op->kind == AX_OP_FILTER; l = l->next)
        for (uint32_t i = 0; i < l->op->nconj; i++)
            conj[nconj++] = l->op->conj[i];
    if (src->final != NULL)
        AX_TRY(ax_merge_prune(c->t, c->a, s, conj, nconj, &c->x->o.params));
    return merge_stage(c, s, m, up);
}

/* Files that are ordered by the keys become one sequence; what is not a plain scan is sorted. */
static ax_status ordered_merge(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    const ax_node *scan = n->child[0];
    ax_merge *m;
    ax_scan *s;

    if (n->nchild > 1 || scan->kind != AX_N_SCAN)
        return order(c, n, n->u.merge.key, n->u.merge.nkeys, NULL, NULL, up, depth);
    AX_CHECK(c->t, scan->u.scan.source->snap != NULL, AX_EPLAN,
             "plan uses a source that is not open");
    AX_NEW(c->t, s, (ax_scan *) ax_arena_alloc0(c->a, sizeof *s));
    AX_NEW(c->t, m, (ax_merge *) ax_arena_alloc0(c->a, sizeof *m));
    s->node = scan;
    s->columns = scan->u.scan.columns;
    s->ncolumns = scan->ncols;
    s->gradual = s->whole_files = true;
    AX_TRY(merge_filters(c, s, scan, &up));
    AX_TRY(scan_filters(c, s));
    AX_TRY(filters_above(c, s, scan, &up));
    AX_TRY(ax_merge_of_order(c->t, c->a, n, m));
    return merge_stage(c, s, m, up);
}

static ax_status deletes(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    above below = {.limits = up.limits};
    ax_sink *s;
    ax_op *op;

    AX_CHECK(c->t, up.also_waits == NULL, AX_EUNSUPPORTED, "nested deletes are not supported");
    AX_TRY(new_sink(c, AX_SINK_SET, n, &s));
    AX_TRY(ax_keyset_create(c->t, n->u.deletes.col, n->u.deletes.ncol, &s->set));
    below.sink = s;
    AX_TRY(node(c, n->child[1], below, depth + 1));
    AX_TRY(new_op(c, AX_OP_DELETES, n, n->ncols, n->type, &op));
    op->set = s->set;
    AX_TRY(put_front(c, &up, op));
    up.also_waits = s;
    return node(c, n->child[0], up, depth + 1);
}

static ax_status setop(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    if (n->u.setop.kind == AX_SET_UNION && !n->u.setop.all)
        return distinct(c, n, (const ax_node *const *) n->child, n->nchild, up, depth);
    AX_CHECK(c->t, n->u.setop.kind <= AX_SET_UNION, AX_EUNSUPPORTED,
             "intersect and except are not supported");
    for (uint32_t i = 0; i < n->nchild; i++)
        AX_TRY(node(c, n->child[i], up, depth + 1));
    return AX_OK;
}

static ax_status external(compiler *c, const ax_node *n, above up)
{
    ax_stage *st;

    AX_CHECK(c->t, n->u.external.input < AX_MAX_INPUTS && !c->x->input[n->u.external.input].used,
             AX_EPLAN, "external input %u is used twice or too large", n->u.external.input);
    up.one_lane = true;
    AX_TRY(new_stage(c, AX_SRC_EXTERNAL, up, &st));
    st->input = n->u.external.input;
    c->x->input[st->input].used = true;
    return AX_OK;
}

static ax_status node(compiler *c, const ax_node *n, above up, uint32_t depth)
{
    const ax_node *child = n->nchild > 0 ? n->child[0] : NULL;
    ax_op *op;

    AX_CHECK(c->t, depth < MAX_DEPTH, AX_EPLAN, "plan is nested too deep");
    switch ((ax_node_kind) n->kind)
    {
    case AX_N_SCAN:
        return scan(c, n, up);
    case AX_N_EXTERNAL_INPUT:
        return external(c, n, up);
    case AX_N_FILTER:
        return filter(c, n, up, depth);
    case AX_N_PROJECT:
        AX_TRY(project(c, n, n->u.project.expr, n->ncols, n->type, &op));
        AX_TRY(put_front(c, &up, op));
        return node(c, child, up, depth + 1);
    case AX_N_AGGREGATE:
        return aggregate(c, n, up, depth);
    case AX_N_SORT:
    case AX_N_TOPN:
        return order(c, n, n->u.sort.key, n->u.sort.nkeys, n->u.sort.limit, n->u.sort.offset, up,
                     depth);
    case AX_N_ORDERED_MERGE:
        return ordered_merge(c, n, up, depth);
    case AX_N_LIMIT:
        return limit(c, n, up, depth);
    case AX_N_DISTINCT:
        return distinct(c, n, &child, 1, up, depth);
    case AX_N_SETOP:
        return setop(c, n, up, depth);
    case AX_N_MERGE_FINAL:
        return merge_final(c, n, up);
    case AX_N_APPLY_DELETES:
        return deletes(c, n, up, depth);
    default:
        return ax_fail(c->t, AX_EUNSUPPORTED, "this kind of plan node is not supported");
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Number the lanes of each sink and link stages that wait for a key set. */
static void assign_lanes(ax_exec *x)
{
    for (ax_stage *st = x->stages; st != NULL; st = st->all_next)
    {
        st->slot0 = st->sink->nlanes;
        st->sink->nlanes += st->nlanes;
        st->sink->nbusy += st->nlanes < x->busy_lanes ? st->nlanes : x->busy_lanes;
        if (st->also_waits != NULL)
        {
            st->set_next = st->also_waits->next;
            st->also_waits->next = st;
        }
    }
}

ax_status ax_exec_compile(ax_exec *x)
{
    compiler c = {.x = x, .t = &x->task, .a = x->task.arena};
    above up = {0};

    AX_CHECK(&x->task, x->plan->root != NULL, AX_EPLAN, "plan has no root");
    AX_TRY(new_sink(&c, AX_SINK_OUTPUT, NULL, &up.sink));
    AX_TRY(node(&c, x->plan->root, up, 0));
    assign_lanes(x);
    return AX_OK;
}

static void free_lane(ax_lane *l)
{
    ax_merge_free(l);
    ax_scan_abandon(l);
    if (l->part != NULL)
        l->stage->parts->breaker->ops->part_end(l->part);
    ax_held_free(l->held);
    ax_held_free(l->pending);
    ax_arena_destroy(l->morsel);
    ax_arena_destroy(l->state_arena);
    ax_arena_destroy(l->task.arena);
}

void ax_exec_release(ax_exec *x)
{
    for (ax_stage *st = x->stages; st != NULL; st = st->all_next)
    {
        uint32_t begun = atomic_load_explicit(&st->begun, memory_order_relaxed);

        for (uint32_t i = 0; i < begun; i++)
            free_lane(&st->lane[i]);
        st->ran = begun > 0 ? begun : st->ran;
        ax_arena_destroy(st->arena);
        st->arena = NULL;
        st->lane = NULL;
        st->room = 0;
        atomic_store_explicit(&st->begun, 0, memory_order_relaxed);
    }
    for (ax_sink *s = x->sinks; s != NULL; s = s->all_next)
    {
        if (s->breaker != NULL)
            s->breaker->ops->destroy(s->breaker);
        s->breaker = NULL;
        ax_keyset_destroy(s->set);
        s->set = NULL;
        if (s->late != NULL)
            ax_late_free(s->late);
        ax_arena_destroy(s->arena);
        s->arena = NULL;
    }
}

void ax_exec_uncompile(ax_exec *x)
{
    ax_exec_release(x);
    for (ax_stage *st = x->stages; st != NULL; st = st->all_next)
        if (st->scan != NULL)
        {
            pthread_mutex_destroy(&st->scan->live_lock);
            ax_snapshot_unref(st->scan->snap);
        }
    x->stages = NULL;
    x->sinks = NULL;
    x->nstages = 0;
    x->first_scan = NULL;
    x->meta_only = false;
    for (uint32_t i = 0; i < AX_MAX_INPUTS; i++)
        x->input[i].used = false;
    ax_arena_reset(x->task.arena);
}
