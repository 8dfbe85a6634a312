/* Answers "may rows match?" from statistics.
 *
 * Every boolean node gets the set of outcomes that are possible on some row: true, false, null, or
 * an error; every value node gets bounds.  Sets are supersets of the truth (columns are taken as
 * independent), so NONE and ALL are proofs and SOME is not. */
#include "expr/filter_int.h"

#include <string.h>

enum { T = AX_MAY_TRUE, F = AX_MAY_FALSE, N = AX_MAY_NULL, R = AX_MAY_RAISE };

typedef struct range
{
    bool has_min, has_max;
    bool may_value, may_null, may_raise;
    ax_value min, max;
} range;

static const range unknown = {.may_value = true, .may_null = true};

/* ---- values ---------------------------------------------------------------------------------- */

static range range_col(uint32_t col, ax_type type, const ax_stats_src *src)
{
    range r = unknown;
    ax_bounds b = {.nulls = -1, .rows = -1};

    if (src->bounds == NULL || !src->bounds(src->self, col, &b))
        return r;
    r.may_null = b.nulls != 0;
    r.may_value = b.nulls < 0 || b.rows < 0 || b.nulls < b.rows;
    /* bounds of padded text say nothing about it without the padding */
    if (type.id == AX_T_BPCHAR)
        return r;
    r.has_min = b.has_min && !b.min.null && b.min.type.phys == type.phys;
    r.has_max = b.has_max && !b.max.null && b.max.type.phys == type.phys;
    r.min = b.min;
    r.max = b.max;
    r.min.type = r.max.type = type;
    return r;
}

/* A widening of one bound; false: not one we know. */
static bool widen(ax_fn fn, ax_type from, ax_type to, ax_value *v)
{
    bool from_int = from.phys == AX_P_I16 || from.phys == AX_P_I32 || from.phys == AX_P_I64;
    int64_t i = v->u.i;

    v->type = to;
    switch (fn)
    {
        case AX_FN_TO_INT4:
        case AX_FN_TO_INT8:
            return from_int && from.phys < to.phys;
        case AX_FN_TO_FLOAT8:
            if (from_int)
                v->u.f = (double) i;
            return from_int || from.phys == AX_P_F32;
        case AX_FN_TO_NUMERIC:
            v->u.num = (ax_num){.v = i};
            return from_int;
        default:
            return false;
    }
}

static range range_of(const ax_prog *p, uint32_t i, const ax_stats_src *src)
{
    const ax_node *n = &p->node[i];
    range r = unknown;

    if (n->kind == AX_X_COL)
        return range_col(n->col, n->type, src);
    if (n->kind == AX_X_CONST)
    {
        r.may_null = n->val.null;
        r.may_value = r.has_min = r.has_max = !n->val.null;
        r.min = r.max = n->val;
        return r;
    }
    r.may_raise = n->can_raise;
    if (n->kind == AX_X_CALL && n->nargs == 1 && !n->can_raise)
    {
        range a = range_of(p, n->arg[0], src);
        ax_type from = p->node[n->arg[0]].type;

        if (a.has_min && a.has_max && widen((ax_fn) n->fn, from, n->type, &a.min)
            && widen((ax_fn) n->fn, from, n->type, &a.max))
            return a;
        if (!(ax_fn_get((ax_fn) n->fn)->flags & AX_FNF_NOT_STRICT) && n->null_in)
            r.may_value = a.may_value; /* only nulls in: only nulls out */
    }
    return r;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static uint32_t base_set(const range *a, const range *b)
{
    return (a->may_null || b->may_null ? N : 0) | (a->may_raise || b->may_raise ? R : 0);
}

static bool below(const range *a, const range *b) /* some a < some b */
{
    return !a->has_min || !b->has_max || ax_value_cmp(&a->min, &b->max) < 0;
}

static bool below_eq(const range *a, const range *b)
{
    return !a->has_min || !b->has_max || ax_value_cmp(&a->min, &b->max) <= 0;
}

/* All values of both are one and the same. */
static bool all_equal(const range *a, const range *b)
{
    return a->has_min && a->has_max && b->has_min && b->has_max
        && ax_value_cmp(&a->min, &a->max) == 0 && ax_value_cmp(&b->min, &b->max) == 0
        && ax_value_cmp(&a->min, &b->min) == 0;
}

static uint32_t swap_tf(uint32_t s) { return (s & (N | R)) | (s & T ? F : 0) | (s & F ? T : 0); }

static uint32_t match_compare(ax_fn op, const range *a, const range *b)
{
    uint32_t s = base_set(a, b);
    bool yes, no;

    if (!a->may_value || !b->may_value)
        return s;
    switch (op)
    {
        case AX_FN_EQ:
        case AX_FN_NE:
            yes = below_eq(a, b) && below_eq(b, a);
            no = !all_equal(a, b);
            break;
        case AX_FN_LT:
        case AX_FN_GE:
            yes = below(a, b);
            no = below_eq(b, a);
            break;
        default: /* LE, GT */
            yes = below_eq(a, b);
            no = below(b, a);
            break;
    }
    s |= (yes ? T : 0) | (no ? F : 0);
    return op == AX_FN_NE || op == AX_FN_GE || op == AX_FN_GT ? swap_tf(s) : s;
}

/* Column = constants, asked of sets and bloom filters. */
static uint32_t ask_any(const ax_node *col, const ax_value *vals, uint32_t n, uint32_t s,
                        const ax_stats_src *src)
{
    ax_match m;

    if (col->kind != AX_X_COL || src->has_any == NULL || !(s & T) || col->type.id == AX_T_BPCHAR)
        return s;
    m = src->has_any(src->self, col->col, vals, n);
    return m == AX_MATCH_NONE ? s & ~(uint32_t) T : s;
}

static uint32_t match_call_compare(const ax_prog *p, const ax_node *n, const ax_stats_src *src)
{
    range a = range_of(p, n->arg[0], src), b = range_of(p, n->arg[1], src);
    const ax_node *x = &p->node[n->arg[0]], *y = &p->node[n->arg[1]];
    ax_fn op = (ax_fn) n->fn;
    bool distinct = op == AX_FN_DISTINCT || op == AX_FN_NOT_DISTINCT;
    uint32_t s;

    if (distinct)
    {
        if (a.may_null || b.may_null)
            return T | F | (base_set(&a, &b) & R);
        op = op == AX_FN_DISTINCT ? AX_FN_NE : AX_FN_EQ;
    }
    s = match_compare(op == AX_FN_NE ? AX_FN_EQ : op, &a, &b);
    if (op == AX_FN_EQ || op == AX_FN_NE)
    {
        if (y->kind == AX_X_CONST && !y->val.null)
            s = ask_any(x, &y->val, 1, s, src);
        else if (x->kind == AX_X_CONST && !x->val.null)
            s = ask_any(y, &x->val, 1, s, src);
    }
    return op == AX_FN_NE ? swap_tf(s) : s;
}

static uint32_t match_in(const ax_prog *p, const ax_node *n, const ax_stats_src *src)
{
    range a = range_of(p, n->arg[0], src);
    uint32_t s = base_set(&a, &a), found = 0;
    bool list_null = false;

    if (n->n_in == 0)
        return (n->negated ? T : F) | (s & R);
    if (a.may_value)
    {
        bool always = false;

        for (uint32_t i = 0; i < n->n_in; i++)
        {
            range v = {.has_min = true, .has_max = true, .may_value = true, .min = n->in[i],
                       .max = n->in[i]};

            if (n->in[i].null)
            {
                list_null = true;
                continue;
            }
            found |= match_compare(AX_FN_EQ, &a, &v) & T;
            always |= all_equal(&a, &v);
        }
        if (!list_null) /* callbacks get values */
            found = ask_any(&p->node[n->arg[0]], n->in, n->n_in, found, src);
        s |= found;
        if (!always)
            s |= list_null ? N : F;
    }
    return n->negated ? swap_tf(s) : s;
}

/* ---- LIKE ------------------------------------------------------------------------------------ */

enum { MAX_PARTS = 16 };

/* The literals of a pattern, as many as there is room for. */
static uint32_t parts_of(const ax_like *l, ax_text_part *part)
{
    uint32_t n = 0;

    if (l->kind != AX_LIKE_GENERAL)
    {
        part[0] = (ax_text_part){l->lit, l->lit_len, l->kind == AX_LIKE_PREFIX,
                                 l->kind == AX_LIKE_SUFFIX};
        return l->lit_len > 0;
    }
    for (uint32_t i = 0, end; i < l->pat_len && n < MAX_PARTS; i = end)
    {
        for (end = i; end < l->pat_len && l->wild[end] == 0;)
            end++;
        if (end > i)
            part[n++] = (ax_text_part){l->pat + i, end - i, i == 0, end == l->pat_len};
        end += end == i;
    }
    return n;
}

static uint32_t ask_text(const ax_node *col, const ax_text_part *part, uint32_t n, uint32_t s,
                         const ax_stats_src *src)
{
    if (n == 0 || col->kind != AX_X_COL || src->has_text == NULL || !(s & T) ||
        col->type.id == AX_T_BPCHAR)
        return s;
    return src->has_text(src->self, col->col, part, n) == AX_MATCH_NONE ? s & ~(uint32_t) T : s;
}

/* v against the values that begin with p: <0 before all of them, 0 among them, >0 behind. */
static int cmp_prefix(const ax_value *v, const uint8_t *p, uint32_t n)
{
    uint32_t m = v->u.s.len < n ? v->u.s.len : n;
    int c = m > 0 ? memcmp(v->u.s.p, p, m) : 0;

    return c != 0 ? c : v->u.s.len < n ? -1 : 0;
}

static uint32_t match_like(const ax_prog *p, const ax_node *n, const ax_stats_src *src)
{
    range a = range_of(p, n->arg[0], src);
    const ax_like *l = ax_call_like(n->call);
    uint32_t s = base_set(&a, &a);
    ax_text_part part[MAX_PARTS];

    if (l == NULL)
        return T | F | N | s;
    if (a.may_value && l->kind == AX_LIKE_EXACT)
    {
        range v = {.has_min = true, .has_max = true, .may_value = true};

        v.min = (ax_value){.type = p->node[n->arg[0]].type};
        v.min.u.s.p = l->lit;
        v.min.u.s.len = l->lit_len;
        v.max = v.min;
        s |= match_compare(AX_FN_EQ, &a, &v);
        s = ask_any(&p->node[n->arg[0]], &v.min, 1, s, src);
    }
    else if (a.may_value)
    {
        int lo = a.has_min ? cmp_prefix(&a.min, l->prefix, l->prefix_len) : -1;
        int hi = a.has_max ? cmp_prefix(&a.max, l->prefix, l->prefix_len) : 1;
        bool inside = a.has_min && a.has_max && lo == 0 && hi == 0;
        bool only_prefix = l->kind == AX_LIKE_PREFIX || l->kind == AX_LIKE_ALL;

        if (lo <= 0 && hi >= 0)
            s |= T;
        if (l->kind != AX_LIKE_ALL && !(inside && only_prefix))
            s |= F;
        s = ask_text(&p->node[n->arg[0]], part, parts_of(l, part), s, src);
    }
    return n->fn == AX_FN_NOT_LIKE ? swap_tf(s) : s;
}

static uint32_t match_starts_with(const ax_prog *p, const ax_node *n, const ax_stats_src *src)
{
    range a = range_of(p, n->arg[0], src);
    const ax_node *c = &p->node[n->arg[1]];
    uint32_t s = base_set(&a, &a), len;
    ax_text_part part;

    if (c->kind != AX_X_CONST || n->can_raise)
        return T | F | N | s | (n->can_raise ? R : 0);
    if (c->val.null)
        return N | s;
    part = (ax_text_part){c->val.u.s.p, c->val.u.s.len, true, false};
    len = part.len;
    if (!a.may_value)
        return s;
    if ((!a.has_min || cmp_prefix(&a.min, part.p, len) <= 0) &&
        (!a.has_max || cmp_prefix(&a.max, part.p, len) >= 0))
        s |= T;
    if (!a.has_min || !a.has_max || cmp_prefix(&a.min, part.p, len) != 0 ||
        cmp_prefix(&a.max, part.p, len) != 0)
        s |= F;
    return ask_text(&p->node[n->arg[0]], &part, len > 0, s, src);
}

/* ---- booleans -------------------------------------------------------------------------------- */

static uint32_t match_value(const range *r)
{
    uint32_t s = base_set(r, r);

    if (!r->may_value)
        return s;
    if (!r->has_max || r->max.u.i != 0)
        s |= T;
    if (!r->has_min || r->min.u.i == 0)
        s |= F;
    return s;
}

/* In order; arguments behind a decided one are not evaluated. */
static uint32_t match_bool(const ax_prog *p, const ax_node *n, const ax_stats_src *src)
{
    uint32_t decides = n->kind == AX_X_AND ? F : T, neutral = n->kind == AX_X_AND ? T : F;
    uint32_t acc = neutral;

    for (uint32_t i = 0; i < n->nargs && (acc & (neutral | N)); i++)
    {
        uint32_t s = ax_match_node(p, n->arg[i], src), next = acc & (decides | R);

        next |= s & (decides | R);
        if (acc & neutral)
            next |= s & (neutral | N);
        if ((acc & N) && (s & (neutral | N)))
            next |= N;
        acc = next;
    }
    return acc;
}

static uint32_t match_call(const ax_prog *p, const ax_node *n, const ax_stats_src *src)
{
    uint32_t s;
    range a;

    switch ((ax_fn) n->fn)
    {
        case AX_FN_EQ:
        case AX_FN_NE:
        case AX_FN_LT:
        case AX_FN_LE:
        case AX_FN_GT:
        case AX_FN_GE:
        case AX_FN_DISTINCT:
        case AX_FN_NOT_DISTINCT: return match_call_compare(p, n, src);
        case AX_FN_LIKE:
        case AX_FN_NOT_LIKE: return match_like(p, n, src);
        case AX_FN_STARTS_WITH: return match_starts_with(p, n, src);
        case AX_FN_NOT: return swap_tf(ax_match_node(p, n->arg[0], src));
        case AX_FN_IS_NULL:
        case AX_FN_IS_NOT_NULL:
            a = range_of(p, n->arg[0], src);
            s = (a.may_null ? T : 0) | (a.may_value ? F : 0) | (a.may_raise ? R : 0);
            return n->fn == AX_FN_IS_NULL ? s : swap_tf(s);
        case AX_FN_IS_TRUE:
        case AX_FN_IS_NOT_TRUE:
            s = ax_match_node(p, n->arg[0], src);
            s = (s & (T | F | R)) | (s & N ? F : 0);
            return n->fn == AX_FN_IS_TRUE ? s : swap_tf(s);
        case AX_FN_IS_FALSE:
        case AX_FN_IS_NOT_FALSE:
            s = swap_tf(ax_match_node(p, n->arg[0], src));
            s = (s & (T | F | R)) | (s & N ? F : 0);
            return n->fn == AX_FN_IS_FALSE ? s : swap_tf(s);
        default: return T | F | N | (n->can_raise ? R : 0);
    }
}

uint32_t ax_match_node(const ax_prog *p, uint32_t i, const ax_stats_src *src)
{
    const ax_node *n = &p->node[i];
    range r;

    switch (n->kind)
    {
        case AX_X_COL:
        case AX_X_CONST:
            r = range_of(p, i, src);
            return match_value(&r);
        case AX_X_AND:
        case AX_X_OR: return match_bool(p, n, src);
        case AX_X_IN: return match_in(p, n, src);
        case AX_X_CALL: return match_call(p, n, src);
        default: return T | F | N | (n->can_raise ? R : 0);
    }
}

uint32_t ax_match_live(const ax_filter *f, uint32_t slot, const ax_stats_src *src)
{
    const ax_live *l = &f->live[slot];
    range a, b = {.has_min = true, .has_max = true, .may_value = true};
    ax_type type;
    uint32_t col, s;

    pthread_mutex_lock(f->lock);
    type = l->bound.type;
    col = l->col;
    pthread_mutex_unlock(f->lock);
    a = range_col(col, type, src); /* not under the lock: it is somebody else's code */
    pthread_mutex_lock(f->lock);
    b.min = b.max = l->bound;
    s = col == l->col && type.id == l->bound.type.id ? match_compare(l->op, &a, &b) : T | F | N;
    if ((s & N) && l->nulls_pass)
        s = (s & ~(uint32_t) N) | T;
    pthread_mutex_unlock(f->lock);
    return s;
}
