/* Builders of plans: every node copies its arrays into the plan's arena and checks that its
 * expressions fit the columns below it, so that exec/ may trust a plan blindly. */
#include "plan/plan.h"

#include <string.h>

#define MAX_COLUMNS 65535u
#define MAX_EXPR_DEPTH 10000u

ax_status ax_plan_create(ax_budget *b, ax_plan **out, ax_error *err)
{
    ax_plan *p = (ax_plan *) ax_obj_alloc(sizeof *p);
    ax_status st;

    *out = NULL;
    ax_error_clear(err);
    if (p == NULL)
    {
        err->code = AX_ENOMEM;
        return AX_ENOMEM;
    }
    p->budget = b;
    st = ax_task_init(&p->task, b, NULL);
    if (st != AX_OK)
    {
        *err = p->task.err;
        ax_obj_free(p);
        return st;
    }
    p->arena = p->task.arena;
    *out = p;
    return AX_OK;
}

void ax_plan_destroy(ax_plan *p)
{
    if (p == NULL)
        return;
    ax_task_fini(&p->task);
    ax_obj_free(p);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* Does the expression refer to existing columns of the right type only?  `right` continues the
 * numbering of `left`; NULL: none. */
static bool expr_fits(ax_plan *p, const ax_expr *e, const ax_node *left, const ax_node *right,
                      uint32_t depth)
{
    if (e == NULL || depth > MAX_EXPR_DEPTH)
    {
        (void) ax_fail(&p->task, AX_EPLAN, "plan expression is missing or nested too deep");
        return false;
    }
    if (e->kind == AX_X_COL)
    {
        uint32_t nleft = left != NULL ? left->ncols : 0;
        uint32_t nall = nleft + (right != NULL ? right->ncols : 0);
        ax_type have;

        if (e->u.col >= nall)
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan expression uses column %u of %u", e->u.col,
                           nall);
            return false;
        }
        have = e->u.col < nleft ? left->type[e->u.col] : right->type[e->u.col - nleft];
        if (have.id != e->type.id)
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan column %u has type %s, not %s", e->u.col,
                           ax_type_name((ax_type_id) have.id),
                           ax_type_name((ax_type_id) e->type.id));
            return false;
        }
        return true;
    }
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!expr_fits(p, e->arg[i], left, right, depth + 1))
            return false;
    return true;
}

static bool exprs_fit(ax_plan *p, ax_expr *const *e, uint32_t n, const ax_node *child, bool bools)
{
    for (uint32_t i = 0; i < n; i++)
    {
        if (!expr_fits(p, e[i], child, NULL, 0))
            return false;
        if (bools && e[i]->type.id != AX_T_BOOL)
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan condition %u is not boolean", i);
            return false;
        }
    }
    return true;
}

static bool keys_fit(ax_plan *p, const ax_sort_key *key, uint32_t n, const ax_node *child)
{
    for (uint32_t i = 0; i < n; i++)
        if (key[i].col >= child->ncols)
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan sort key uses column %u of %u", key[i].col,
                           child->ncols);
            return false;
        }
    return true;
}

/* LIMIT and OFFSET depend on no row. */
static bool bound_fits(ax_plan *p, const ax_expr *e)
{
    if (e == NULL)
        return true;
    if (!expr_fits(p, e, NULL, NULL, 0))
        return false;
    if (e->type.id != AX_T_INT8)
    {
        (void) ax_fail(&p->task, AX_EPLAN, "plan limit is not a bigint");
        return false;
    }
    return true;
}

static bool have_children(ax_plan *p, ax_node *const *child, uint32_t n)
{
    if (p->task.err.code != AX_OK)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (child[i] == NULL)
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan node lacks an input");
            return false;
        }
    return true;
}

/* ---- making nodes --------------------------------------------------------------------------- */

static void *copy(ax_plan *p, const void *src, size_t bytes)
{
    void *dst = ax_arena_alloc(p->arena, bytes > 0 ? bytes : 1);

    if (dst == NULL)
        (void) ax_fail_nomem(&p->task, bytes);
    else if (bytes > 0)
        memcpy(dst, src, bytes);
    return dst;
}

static ax_node *make(ax_plan *p, ax_node_kind kind, ax_node *const *child, uint32_t nchild,
                     uint32_t ncols)
{
    ax_node *n;

    if (!have_children(p, child, nchild))
        return NULL;
    if (ncols > MAX_COLUMNS)
    {
        (void) ax_fail(&p->task, AX_EPLAN, "plan node has too many columns (%u)", ncols);
        return NULL;
    }
    n = (ax_node *) ax_arena_alloc0(p->arena, sizeof *n);
    if (n == NULL)
    {
        (void) ax_fail_nomem(&p->task, sizeof *n);
        return NULL;
    }
    n->kind = (uint8_t) kind;
    n->ncols = ncols;
    n->nchild = nchild;
    n->type = (ax_type *) ax_arena_alloc0(p->arena, (ncols + 1) * sizeof *n->type);
    n->name = (const char **) ax_arena_alloc0(p->arena, (ncols + 1) * sizeof *n->name);
    n->child = (ax_node **) ax_arena_alloc0(p->arena, (nchild + 1) * sizeof *n->child);
    if (n->type == NULL || n->name == NULL || n->child == NULL)
    {
        (void) ax_fail_nomem(&p->task, ncols * sizeof *n->type);
        return NULL;
    }
    for (uint32_t i = 0; i < nchild; i++)
        n->child[i] = child[i];
    return n;
}

/* A node with the columns of its first child. */
static ax_node *make_like(ax_plan *p, ax_node_kind kind, ax_node *const *child, uint32_t nchild)
{
    ax_node *n;

    if (!have_children(p, child, nchild))
        return NULL;
    n = make(p, kind, child, nchild, child[0]->ncols);
    if (n != NULL && n->ncols > 0)
    {
        memcpy(n->type, child[0]->type, n->ncols * sizeof *n->type);
        memcpy(n->name, child[0]->name, n->ncols * sizeof *n->name);
    }
    return n;
}

/* The node is complete: number it and make it the root so far. */
static ax_node *done(ax_plan *p, ax_node *n)
{
    if (p->task.err.code != AX_OK)
        return NULL;
    n->id = p->nnodes++;
    p->root = n;
    return n;
}

/* ---- builders ------------------------------------------------------------------------------- */

ax_node *ax_plan_scan(ax_plan *p, struct ax_source *src, const uint32_t *columns,
                      const ax_type *types, const char *const *names, uint32_t n,
                      ax_expr *const *conj, uint32_t nconj)
{
    ax_node *node = make(p, AX_N_SCAN, NULL, 0, n);

    if (node == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
    {
        if (i > 0 && columns[i] <= columns[i - 1])
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan scan columns are not ascending");
            return NULL;
        }
        node->type[i] = types[i];
        if (names != NULL && names[i] != NULL)
            node->name[i] = (const char *) copy(p, names[i], strlen(names[i]) + 1);
    }
    if (src == NULL)
        (void) ax_fail(&p->task, AX_EPLAN, "plan scan has no source");
    node->u.scan.source = src;
    node->u.scan.columns = (uint32_t *) copy(p, columns, n * sizeof *columns);
    node->u.scan.conj = (ax_expr **) copy(p, conj, nconj * sizeof *conj);
    node->u.scan.nconj = nconj;
    if (!exprs_fit(p, conj, nconj, node, true))
        return NULL;
    return done(p, node);
}

void ax_plan_scan_stored_order(ax_node *scan) { scan->u.scan.stored_order = true; }

void ax_plan_scan_sample(ax_node *scan, uint32_t rows, uint32_t splits, uint64_t seed)
{
    AX_ASSERT(scan->u.scan.nconj == 0);
    scan->u.scan.sample_rows = rows;
    scan->u.scan.sample_splits = splits;
    scan->u.scan.sample_seed = seed;
}

ax_node *ax_plan_external(ax_plan *p, uint32_t input, const ax_type *types, uint32_t n)
{
    ax_node *node = make(p, AX_N_EXTERNAL_INPUT, NULL, 0, n);

    if (node == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        node->type[i] = types[i];
    node->u.external.input = input;
    return done(p, node);
}

ax_node *ax_plan_filter(ax_plan *p, ax_node *child, ax_expr *const *conj, uint32_t nconj)
{
    ax_node *node = make_like(p, AX_N_FILTER, &child, 1);

    if (node == NULL || !exprs_fit(p, conj, nconj, child, true))
        return NULL;
    node->u.filter.conj = (ax_expr **) copy(p, conj, nconj * sizeof *conj);
    node->u.filter.nconj = nconj;
    return done(p, node);
}

/* The name of a column that an expression merely passes on, or NULL. */
static const char *passed_name(const ax_node *child, const ax_expr *e)
{
    return e->kind == AX_X_COL ? child->name[e->u.col] : NULL;
}

ax_node *ax_plan_project(ax_plan *p, ax_node *child, ax_expr *const *expr, uint32_t n)
{
    ax_node *node = make(p, AX_N_PROJECT, &child, 1, n);

    if (node == NULL || !exprs_fit(p, expr, n, child, false))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
    {
        node->type[i] = expr[i]->type;
        node->name[i] = passed_name(child, expr[i]);
    }
    node->u.project.expr = (ax_expr **) copy(p, expr, n * sizeof *expr);
    return done(p, node);
}

static const char too_many_digits[] = "a grouped value may need more than 38 digits";

/* Groups are formed of decimals as ax_num has them, and so is what is aggregated. */
static bool digits_fit(ax_plan *p, ax_expr *const *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (e[i] != NULL && e[i]->type.id == AX_T_NUMERIC
            && e[i]->type.precision == AX_NUM_ANY_DIGITS)
        {
            (void) ax_fail(&p->task, AX_EUNSUPPORTED, "%s", too_many_digits);
            return false;
        }
    return true;
}

/* Check one call and copy what it points to. */
static bool call_copy(ax_plan *p, const ax_node *child, const ax_agg_call *in, ax_agg_call *out)
{
    bool star = in->agg == AX_AGG_COUNT_STAR, two = ax_agg_nargs((ax_agg_id) in->agg) == 2;

    *out = *in;
    if (in->agg == AX_AGG_NONE || in->agg >= AX_AGG_CNT || star != (in->arg == NULL) ||
        two != (in->arg2 != NULL) || (two && in->distinct))
    {
        (void) ax_fail(&p->task, AX_EPLAN, "plan aggregate call is malformed");
        return false;
    }
    if (in->arg != NULL && (!expr_fits(p, in->arg, child, NULL, 0) || !digits_fit(p, &in->arg, 1)))
        return false;
    if (two && (!expr_fits(p, in->arg2, child, NULL, 0) || in->arg2->type.id != in->arg->type.id))
        return ax_fail(&p->task, AX_EPLAN, "plan aggregate call of two types") == AX_OK;
    if (in->filter != NULL && !exprs_fit(p, &in->filter, 1, child, true))
        return false;
    if (!exprs_fit(p, in->order_arg, in->norder, child, false))
        return false;
    out->type = ax_agg_result((ax_agg_id) in->agg, star ? (ax_type){0} : in->arg->type);
    if (out->type.id == AX_T_NONE)
    {
        (void) ax_fail(&p->task, AX_EUNSUPPORTED, "aggregate %s does not take type %s",
                       ax_agg_name((ax_agg_id) in->agg),
                       star ? "none" : ax_type_name((ax_type_id) in->arg->type.id));
        return false;
    }
    if (in->norder > 0)
    {
        out->order = (ax_sort_key *) copy(p, in->order, in->norder * sizeof *in->order);
        out->order_arg = (ax_expr **) copy(p, in->order_arg, in->norder * sizeof *in->order_arg);
    }
    return true;
}

ax_node *ax_plan_aggregate(ax_plan *p, ax_node *child, ax_expr *const *key, uint32_t nkeys,
                           const ax_agg_call *call, uint32_t ncalls)
{
    ax_node *node = make(p, AX_N_AGGREGATE, &child, 1, nkeys + ncalls);

    if (node == NULL || !exprs_fit(p, key, nkeys, child, false) || !digits_fit(p, key, nkeys))
        return NULL;
    node->u.agg.key = (ax_expr **) copy(p, key, nkeys * sizeof *key);
    node->u.agg.nkeys = nkeys;
    node->u.agg.call = (ax_agg_call *) copy(p, call, ncalls * sizeof *call);
    node->u.agg.ncalls = ncalls;
    if (node->u.agg.call == NULL)
        return NULL;
    for (uint32_t i = 0; i < nkeys; i++)
    {
        node->type[i] = key[i]->type;
        node->name[i] = passed_name(child, key[i]);
    }
    for (uint32_t i = 0; i < ncalls; i++)
    {
        if (!call_copy(p, child, &call[i], &node->u.agg.call[i]))
            return NULL;
        node->type[nkeys + i] = node->u.agg.call[i].type;
    }
    return done(p, node);
}

static ax_node *order_node(ax_plan *p, ax_node_kind kind, ax_node *child, const ax_sort_key *key,
                           uint32_t nkeys, ax_expr *limit, ax_expr *offset)
{
    ax_node *node = make_like(p, kind, &child, 1);

    if (node == NULL || !keys_fit(p, key, nkeys, child))
        return NULL;
    if (!bound_fits(p, limit) || !bound_fits(p, offset))
        return NULL;
    node->u.sort.key = (ax_sort_key *) copy(p, key, nkeys * sizeof *key);
    node->u.sort.nkeys = nkeys;
    node->u.sort.limit = limit;
    node->u.sort.offset = offset;
    return done(p, node);
}

ax_node *ax_plan_sort(ax_plan *p, ax_node *child, const ax_sort_key *key, uint32_t nkeys)
{
    return order_node(p, AX_N_SORT, child, key, nkeys, NULL, NULL);
}

ax_node *ax_plan_topn(ax_plan *p, ax_node *child, const ax_sort_key *key, uint32_t nkeys,
                      ax_expr *limit, ax_expr *offset)
{
    return order_node(p, AX_N_TOPN, child, key, nkeys, limit, offset);
}

ax_node *ax_plan_limit(ax_plan *p, ax_node *child, ax_expr *limit, ax_expr *offset)
{
    ax_node *node = make_like(p, AX_N_LIMIT, &child, 1);

    if (node == NULL || !bound_fits(p, limit) || !bound_fits(p, offset))
        return NULL;
    node->u.limit.limit = limit;
    node->u.limit.offset = offset;
    return done(p, node);
}

ax_node *ax_plan_distinct(ax_plan *p, ax_node *child)
{
    ax_node *node = make_like(p, AX_N_DISTINCT, &child, 1);

    for (uint32_t i = 0; node != NULL && i < node->ncols; i++)
        if (node->type[i].id == AX_T_NUMERIC && node->type[i].precision == AX_NUM_ANY_DIGITS)
        {
            (void) ax_fail(&p->task, AX_EUNSUPPORTED, "%s", too_many_digits);
            return NULL;
        }
    return node != NULL ? done(p, node) : NULL;
}

/* Do all children have the columns of the first? */
static bool same_columns(ax_plan *p, ax_node *const *child, uint32_t nchild)
{
    if (nchild == 0)
    {
        (void) ax_fail(&p->task, AX_EPLAN, "plan node lacks an input");
        return false;
    }
    if (!have_children(p, child, nchild))
        return false;
    for (uint32_t c = 1; c < nchild; c++)
    {
        bool same = child[c]->ncols == child[0]->ncols;

        for (uint32_t i = 0; same && i < child[0]->ncols; i++)
            same = child[c]->type[i].id == child[0]->type[i].id;
        if (!same)
        {
            (void) ax_fail(&p->task, AX_EPLAN, "plan inputs differ in their columns");
            return false;
        }
    }
    return true;
}

ax_node *ax_plan_merge(ax_plan *p, ax_node *const *child, uint32_t nchild, const ax_sort_key *key,
                       uint32_t nkeys)
{
    ax_node *node;

    if (!same_columns(p, child, nchild) || !keys_fit(p, key, nkeys, child[0]))
        return NULL;
    node = make_like(p, AX_N_ORDERED_MERGE, child, nchild);
    if (node == NULL)
        return NULL;
    node->u.merge.key = (ax_sort_key *) copy(p, key, nkeys * sizeof *key);
    node->u.merge.nkeys = nkeys;
    return done(p, node);
}

ax_node *ax_plan_merge_final(ax_plan *p, ax_node *scan)
{
    ax_node *node = make_like(p, AX_N_MERGE_FINAL, &scan, 1);

    if (node == NULL)
        return NULL;
    if (scan->kind != AX_N_SCAN || scan->u.scan.nconj > 0)
    {
        (void) ax_fail(&p->task, AX_EPLAN, "plan merges something that is no whole scan");
        return NULL;
    }
    return done(p, node);
}

ax_node *ax_plan_deletes(ax_plan *p, ax_node *child, ax_node *deleted, const uint32_t *col,
                         uint32_t ncol)
{
    ax_node *both[2] = {child, deleted};
    ax_node *node = make_like(p, AX_N_APPLY_DELETES, both, 2);

    if (node == NULL)
        return NULL;
    if (deleted->ncols < (ncol > 0 ? ncol : 2))
        (void) ax_fail(&p->task, AX_EPLAN, "plan deletes have too few columns");
    for (uint32_t i = 0; i < ncol && p->task.err.code == AX_OK; i++)
        if (col[i] >= child->ncols || child->type[col[i]].id != deleted->type[i].id)
            (void) ax_fail(&p->task, AX_EPLAN, "plan delete key %u does not fit", i);
    node->u.deletes.col = (const uint32_t *) copy(p, col, ncol * sizeof *col);
    node->u.deletes.ncol = ncol;
    return done(p, node);
}

ax_node *ax_plan_join(ax_plan *p, ax_join_kind kind, ax_node *left, ax_node *right,
                      ax_expr *const *left_key, ax_expr *const *right_key, uint32_t nkeys,
                      ax_expr *const *residual, uint32_t nresidual)
{
    ax_node *both[2] = {left, right};
    bool left_only = kind == AX_JOIN_SEMI || kind == AX_JOIN_ANTI;
    ax_node *node;

    if (!have_children(p, both, 2))
        return NULL;
    node = make(p, AX_N_JOIN, both, 2, left->ncols + (left_only ? 0 : right->ncols));
    if (node == NULL)
        return NULL;
    for (uint32_t i = 0; i < node->ncols; i++)
    {
        bool from_left = i < left->ncols;

        node->type[i] = from_left ? left->type[i] : right->type[i - left->ncols];
        node->name[i] = from_left ? left->name[i] : right->name[i - left->ncols];
    }
    if (!exprs_fit(p, left_key, nkeys, left, false) ||
        !exprs_fit(p, right_key, nkeys, right, false))
        return NULL;
    for (uint32_t i = 0; i < nkeys; i++)
        if (left_key[i]->type.id != right_key[i]->type.id)
            (void) ax_fail(&p->task, AX_EPLAN, "plan join key %u has two types", i);
    for (uint32_t i = 0; i < nresidual; i++)
        if (!expr_fits(p, residual[i], left, right, 0))
            return NULL;
    node->u.join.kind = kind;
    node->u.join.left_key = (ax_expr **) copy(p, left_key, nkeys * sizeof *left_key);
    node->u.join.right_key = (ax_expr **) copy(p, right_key, nkeys * sizeof *right_key);
    node->u.join.nkeys = nkeys;
    node->u.join.residual = (ax_expr **) copy(p, residual, nresidual * sizeof *residual);
    node->u.join.nresidual = nresidual;
    return done(p, node);
}

ax_node *ax_plan_setop(ax_plan *p, ax_setop_kind kind, bool all, ax_node *const *child,
                       uint32_t nchild)
{
    ax_node *node;

    if (!same_columns(p, child, nchild))
        return NULL;
    node = make_like(p, AX_N_SETOP, child, nchild);
    if (node == NULL)
        return NULL;
    node->u.setop.kind = kind;
    node->u.setop.all = all;
    return done(p, node);
}
