/* Filters: a conjunction as steps, each a program with one root; adaptive order per lane; live
 * bounds.
 *
 * Order.  A lane measures, per step, rows in and out and time, and sorts the steps that cannot
 * raise by (1 - pass rate) / cost every 32 batches; the others keep the server's order behind them.
 * Live bounds are published by pointer; a lane compiles a bound into a program of its own when it
 * sees a new one. */
#include "expr/filter_int.h"

#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define RESORT_BATCHES 32u
#define ROOM (AX_BATCH_ROWS + 64)

/* ---- filters --------------------------------------------------------------------------------- */

static void filter_end(void *arg)
{
    ax_filter *f = (ax_filter *) arg;

    pthread_mutex_destroy(f->lock);
    ax_arena_destroy(f->live_arena);
}

static uint32_t count_conjuncts(const ax_expr *e)
{
    uint32_t n = 0;

    if (e->kind != AX_X_AND)
        return 1;
    for (uint32_t i = 0; i < e->nargs; i++)
        n += count_conjuncts(e->arg[i]);
    return n;
}

static ax_status add_steps(ax_task *t, ax_arena *a, ax_filter *f, ax_expr *e,
                           const ax_params *params)
{
    ax_prog *p;
    const ax_node *root;

    if (e->kind == AX_X_AND)
    {
        for (uint32_t i = 0; i < e->nargs; i++)
            AX_TRY(add_steps(t, a, f, e->arg[i], params));
        return AX_OK;
    }
    AX_CHECK(t, e->type.id == AX_T_BOOL, AX_EPLAN, "filter condition is not boolean");
    AX_TRY(ax_prog_compile(t, a, &e, 1, params, &p));
    root = &p->node[p->root[0]];
    if (root->kind == AX_X_CONST && !root->val.null && root->val.u.i != 0)
        return AX_OK; /* always true */
    f->step[f->n++] = p;
    return AX_OK;
}

ax_status ax_filter_create(ax_task *t, ax_arena *a, ax_expr *const *conjuncts, uint32_t n,
                           const ax_params *params, ax_filter **out)
{
    ax_filter *f;
    uint32_t cap = 1;

    AX_NEW(t, f, ax_arena_alloc0(a, sizeof(*f)));
    for (uint32_t i = 0; i < n; i++)
        cap += count_conjuncts(conjuncts[i]);
    AX_NEW(t, f->step, ax_arena_alloc0(a, sizeof(*f->step) * cap));
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(add_steps(t, a, f, conjuncts[i], params));
    while (f->n_free < f->n && !f->step[f->n_free]->node[f->step[f->n_free]->root[0]].can_raise)
        f->n_free++;
    AX_NEW(t, f->live, ax_arena_alloc0(a, sizeof(*f->live) * AX_FILTER_SLOTS));
    AX_NEW(t, f->lock, ax_arena_alloc0(a, sizeof(*f->lock)));
    AX_NEW(t, f->live_arena, ax_arena_create(ax_arena_budget(a), 4096));
    pthread_mutex_init(f->lock, NULL);
    if (!ax_arena_on_reset(a, filter_end, f))
    {
        filter_end(f);
        return ax_fail_nomem(t, sizeof(*f));
    }
    *out = f;
    return AX_OK;
}

uint32_t ax_filter_steps(const ax_filter *f) { return f->n; }

bool ax_filter_can_raise(const ax_filter *f) { return f->n_free < f->n; }

const uint32_t *ax_filter_step_columns(const ax_filter *f, uint32_t step, uint32_t *n)
{
    return ax_prog_columns(f->step[step], n);
}

/* Does this call treat its arguments as bytes, whatever they are? */
static bool bytewise(const ax_node *n)
{
    const ax_like *l;

    if (n->kind == AX_X_IN)
        return true;
    if (n->kind != AX_X_CALL)
        return false;
    switch (n->fn)
    {
        case AX_FN_EQ:
        case AX_FN_NE:
        case AX_FN_LT:
        case AX_FN_LE:
        case AX_FN_GT:
        case AX_FN_GE:
        case AX_FN_DISTINCT:
        case AX_FN_NOT_DISTINCT:
        case AX_FN_IS_NULL:
        case AX_FN_IS_NOT_NULL:
        case AX_FN_OCTET_LENGTH:
        case AX_FN_STARTS_WITH:
            return true;
        case AX_FN_LIKE:
        case AX_FN_NOT_LIKE:
            l = ax_call_like(n->call);
            return l != NULL && (l->kind != AX_LIKE_GENERAL || l->nparts > 0);
        default:
            return false;
    }
}

bool ax_filter_step_reads_text(const ax_filter *f, uint32_t step, uint32_t col)
{
    const ax_prog *p = f->step[step];

    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->node[i].nargs; k++)
        {
            const ax_node *arg = &p->node[p->node[i].arg[k]];

            if (arg->kind == AX_X_COL && arg->col == col && !bytewise(&p->node[i]))
                return true;
        }
    return false;
}

bool ax_filter_step_apart(const ax_filter *f, uint32_t step)
{
    const ax_prog *p = f->step[step];

    return step < f->n_free && !p->node[p->root[0]].has_host;
}

uint32_t ax_filter_version(const ax_filter *f)
{
    return atomic_load_explicit(&f->version, memory_order_acquire);
}

uint32_t ax_filter_live_columns(const ax_filter *f, uint32_t *cols)
{
    uint32_t n = 0, k;

    if (ax_filter_version(f) == 0)
        return 0;
    pthread_mutex_lock(f->lock);
    for (uint32_t i = 0; i < AX_FILTER_SLOTS; i++)
    {
        if (atomic_load_explicit(&f->live[i].version, memory_order_relaxed) == 0)
            continue;
        for (k = 0; k < n && cols[k] != f->live[i].col; k++)
            ;
        if (k == n)
            cols[n++] = f->live[i].col;
    }
    pthread_mutex_unlock(f->lock);
    return n;
}

/* Store a bound; called under the lock. */
static ax_status live_store(ax_task *t, ax_filter *f, ax_live *l, const ax_value *bound)
{
    uint32_t len = ax_type_is_str(bound->type) ? bound->u.s.len : 0;

    if (len > l->cap)
    {
        AX_NEW(t, l->buf, ax_arena_values(f->live_arena, 2 * (size_t) len));
        l->cap = 2 * len;
    }
    l->bound = *bound;
    if (ax_type_is_str(bound->type))
    {
        if (len > 0)
            memcpy(l->buf, bound->u.s.p, len);
        l->bound.u.s.p = len > 0 ? l->buf : (const uint8_t *) l;
    }
    return AX_OK;
}

ax_status ax_filter_tighten(ax_task *t, ax_filter *f, uint32_t slot, uint32_t col, ax_fn op,
                            const ax_value *bound, bool nulls_pass)
{
    ax_live *l = &f->live[slot];
    ax_status s;

    AX_CHECK(t, slot < AX_FILTER_SLOTS && op >= AX_FN_EQ && op <= AX_FN_GE && op != AX_FN_NE
                    && !bound->null,
             AX_EPLAN, "invalid live bound");
    pthread_mutex_lock(f->lock);
    s = live_store(t, f, l, bound);
    if (s == AX_OK)
    {
        l->col = col;
        l->op = op;
        l->nulls_pass = nulls_pass;
        atomic_fetch_add_explicit(&l->version, 1, memory_order_release);
        atomic_fetch_add_explicit(&f->version, 1, memory_order_release);
    }
    pthread_mutex_unlock(f->lock);
    return s;
}

ax_match ax_filter_match(const ax_filter *f, const ax_stats_src *src)
{
    bool all = true;

    for (uint32_t i = 0; i < f->n; i++)
    {
        uint32_t s = ax_match_node(f->step[i], f->step[i]->root[0], src);

        if (s & AX_MAY_RAISE)
            return AX_MATCH_SOME; /* rows must be asked */
        if (!(s & AX_MAY_TRUE))
            return AX_MATCH_NONE;
        all &= s == AX_MAY_TRUE;
    }
    if (ax_filter_version(f) == 0)
        return all ? AX_MATCH_ALL : AX_MATCH_SOME;
    for (uint32_t i = 0; i < AX_FILTER_SLOTS; i++)
    {
        uint32_t s;

        if (atomic_load_explicit(&f->live[i].version, memory_order_acquire) == 0)
            continue;
        s = ax_match_live(f, i, src);
        if (!(s & AX_MAY_TRUE))
            return AX_MATCH_NONE;
        all &= s == AX_MAY_TRUE;
    }
    return all ? AX_MATCH_ALL : AX_MATCH_SOME;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

typedef struct step_stats
{
    double rows_in, rows_out, ticks; /* decayed */
    double guess;                    /* ticks a row before anything is measured */
} step_stats;

typedef struct lane_live
{
    uint32_t seen;       /* version */
    ax_arena *arena;
    uint32_t col;
    ax_eval *eval;       /* NULL: the column was not there */
} lane_live;

struct ax_filter_lane
{
    const ax_filter *f;
    ax_arena *arena;
    ax_eval **eval;      /* [steps] */
    step_stats *stats;
    uint32_t *order;
    uint32_t batches;
    uint16_t *sel;
    uint8_t *mask;
    lane_live live[AX_FILTER_SLOTS];
};

static uint64_t now_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t v;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
#endif
}

/* Classes of cost: fixed width is nearly free, strings are not. */
static double guess_cost(const ax_prog *p)
{
    double cost = 0.1;

    for (uint32_t i = 0; i < p->n; i++)
    {
        const ax_node *n = &p->node[i];

        if (n->kind == AX_X_COL || n->kind == AX_X_CONST)
            continue;
        cost += n->has_host ? 200 : n->whole ? 0.3 : 5;
    }
    return cost;
}

static void lane_end(void *arg)
{
    ax_filter_lane *l = (ax_filter_lane *) arg;

    for (uint32_t i = 0; i < AX_FILTER_SLOTS; i++)
        ax_arena_destroy(l->live[i].arena);
}

static double score(const step_stats *s)
{
    double pass = s->rows_in > 0 ? s->rows_out / s->rows_in : 0.5;
    double cost = s->rows_in > 0 ? s->ticks / s->rows_in : s->guess;

    return (1 - pass) / (cost + 0.01);
}

/* Insertion sort of the free steps; a neighbour must be 10 % better to be passed. */
static void sort_steps(ax_filter_lane *l)
{
    for (uint32_t i = 1; i < l->f->n_free; i++)
        for (uint32_t j = i; j > 0; j--)
        {
            uint32_t x = l->order[j - 1], y = l->order[j];

            if (score(&l->stats[y]) <= 1.1 * score(&l->stats[x]))
                break;
            l->order[j - 1] = y;
            l->order[j] = x;
        }
}

ax_status ax_filter_lane_create(ax_task *t, ax_arena *a, const ax_filter *f, ax_filter_lane **out)
{
    ax_filter_lane *l;

    AX_NEW(t, l, ax_arena_alloc0(a, sizeof(*l)));
    AX_NEW(t, l->eval, ax_arena_alloc0(a, sizeof(*l->eval) * (f->n + 1)));
    AX_NEW(t, l->stats, ax_arena_alloc0(a, sizeof(*l->stats) * (f->n + 1)));
    AX_NEW(t, l->order, ax_arena_alloc0(a, sizeof(*l->order) * (f->n + 1)));
    AX_NEW(t, l->sel, ax_arena_values(a, sizeof(*l->sel) * ROOM));
    AX_NEW(t, l->mask, ax_arena_values(a, ROOM));
    l->f = f;
    l->arena = a;
    for (uint32_t i = 0; i < f->n; i++)
    {
        AX_TRY(ax_eval_create(t, a, f->step[i], &l->eval[i]));
        l->order[i] = i;
        l->stats[i].guess = guess_cost(f->step[i]);
    }
    sort_steps(l);
    if (!ax_arena_on_reset(a, lane_end, l))
        return ax_fail_nomem(t, sizeof(*l));
    *out = l;
    return AX_OK;
}

const uint32_t *ax_filter_lane_order(ax_filter_lane *l)
{
    if (++l->batches % RESORT_BATCHES == 0)
    {
        sort_steps(l);
        for (uint32_t i = 0; i < l->f->n; i++)
        {
            l->stats[i].rows_in *= 0.875;
            l->stats[i].rows_out *= 0.875;
            l->stats[i].ticks *= 0.875;
        }
    }
    return l->order;
}

/* Keep the rows for which v is true. */
static void narrow(ax_filter_lane *l, ax_batch *b, const ax_vec *v)
{
    const ax_kernels *k = ax_k_get();
    const uint8_t *mask = (const uint8_t *) v->u.data;
    uint32_t q;

    if (v->kind == AX_VK_CONST)
    {
        if ((v->null != NULL && v->null[0]) || !mask[0])
        {
            b->sel = l->sel;
            b->nsel = 0;
        }
        return;
    }
    if (v->null != NULL)
    {
        k->andnot(mask, v->null, l->mask, b->nrows);
        mask = l->mask;
    }
    if (b->sel != NULL)
        q = k->refine(mask, b->sel, b->nsel, l->sel);
    else
    {
        q = k->mask_to_sel(mask, b->nrows, l->sel);
        if (q == b->nrows)
            return;
    }
    b->sel = l->sel;
    b->nsel = q;
}

static ax_status run_and_narrow(ax_task *t, ax_filter_lane *l, ax_eval *e, ax_batch *b,
                                ax_eval_result *r)
{
    ax_scope sc = {1, b->sel, b->nsel};
    const ax_vec *v;
    ax_vec out;

    AX_TRY(ax_eval_run(t, e, b, &out, r));
    if (r->need != NULL)
        return AX_OK;
    AX_TRY(ax_eval_flat(t, e, e->prog->root[0], &sc, &v));
    narrow(l, b, v);
    return AX_OK;
}

ax_status ax_filter_step(ax_task *t, ax_filter_lane *l, uint32_t step, ax_batch *b,
                         ax_eval_result *r)
{
    uint64_t begin = now_ticks();
    uint32_t rows = b->nsel;
    step_stats *s = &l->stats[step];

    *r = (ax_eval_result){0};
    if (rows == 0)
        return AX_OK;
    AX_TRY(run_and_narrow(t, l, l->eval[step], b, r));
    if (r->need != NULL)
        return AX_OK;
    s->rows_in += rows;
    s->rows_out += b->nsel;
    s->ticks += (double) (now_ticks() - begin);
    return AX_OK;
}

/* ---- live bounds ----------------------------------------------------------------------------- */

static ax_status live_compile(ax_task *t, ax_arena *a, ax_type type, const ax_live *live,
                              ax_eval **out)
{
    ax_expr *args[2], *both[2], *root;
    ax_prog *p;

    AX_TRY(ax_expr_col(t, a, live->col, type, &args[0]));
    AX_TRY(ax_expr_const(t, a, &live->bound, &args[1]));
    AX_TRY(ax_expr_call(t, a, live->op, args, 2, &root));
    if (live->nulls_pass)
    {
        both[0] = root;
        AX_TRY(ax_expr_call(t, a, AX_FN_IS_NULL, args, 1, &both[1]));
        AX_TRY(ax_expr_bool(t, a, AX_X_OR, both, 2, &root));
    }
    AX_TRY(ax_prog_compile(t, a, &root, 1, NULL, &p));
    return ax_eval_create(t, a, p, out);
}

/* Bring this lane's program for a slot up to date. */
static ax_status live_refresh(ax_task *t, ax_filter_lane *l, uint32_t slot, const ax_batch *b)
{
    const ax_live *live = &l->f->live[slot];
    lane_live *mine = &l->live[slot];
    ax_status s;

    mine->eval = NULL;
    if (mine->arena == NULL)
        AX_NEW(t, mine->arena, ax_arena_create(ax_arena_budget(l->arena), 0));
    else
        ax_arena_reset(mine->arena);
    pthread_mutex_lock(l->f->lock);
    mine->seen = atomic_load_explicit(&live->version, memory_order_relaxed);
    mine->col = live->col;
    s = AX_OK;
    if (live->col < b->ncols && b->col[live->col].type.id != AX_T_NONE)
        s = live_compile(t, mine->arena, b->col[live->col].type, live, &mine->eval);
    pthread_mutex_unlock(l->f->lock);
    return s;
}

ax_status ax_filter_live(ax_task *t, ax_filter_lane *l, ax_batch *b)
{
    if (ax_filter_version(l->f) == 0)
        return AX_OK;
    for (uint32_t i = 0; i < AX_FILTER_SLOTS && b->nsel > 0; i++)
    {
        uint32_t version = atomic_load_explicit(&l->f->live[i].version, memory_order_acquire);
        lane_live *mine = &l->live[i];
        ax_eval_result r;

        if (version == 0)
            continue;
        if (mine->seen != version || mine->eval == NULL)
            AX_TRY(live_refresh(t, l, i, b));
        if (mine->eval != NULL && b->col[mine->col].type.id != AX_T_NONE)
            AX_TRY(run_and_narrow(t, l, mine->eval, b, &r));
    }
    return AX_OK;
}

const ax_filter *ax_filter_lane_filter(const ax_filter_lane *l) { return l->f; }
