/* Evaluates expressions of one column on what its encoding stores: a constant once, each run once,
 * each dictionary value once.
 *
 * A second evaluator over the same program gets the stored values as its input.  Where nulls are in
 * the outer vector this is exact only if the expression is null for a null input (null_in), or if
 * there are no nulls.
 *
 * Dictionaries: rows are evaluated one by one until as many rows have asked as the dictionary has
 * values; then all values are evaluated at once and the result is kept with the dictionary.  So the
 * cost is at most twice that of the better choice, whatever the row group brings. */
#include "expr/expr_int.h"

#include <string.h>

static ax_status sub_eval(ax_task *t, ax_eval *e)
{
    if (e->sub != NULL)
        return AX_OK;
    AX_NEW(t, e->sub_col, ax_arena_alloc0(e->arena, sizeof(ax_vec) * (e->prog->max_col + 1)));
    AX_TRY(ax_eval_create(t, e->arena, e->prog, &e->sub));
    e->sub->built = e->built;
    return AX_OK;
}

/* Node i on a vector of values in place of its column. */
static ax_status on_values(ax_task *t, ax_eval *e, uint32_t i, const ax_vec *values,
                           const uint16_t *sel, uint32_t nsel)
{
    uint32_t col = e->prog->node[i].only_col;

    AX_TRY(sub_eval(t, e));
    e->sub_col[col] = *values;
    return ax_eval_attempt(t, e->sub, e->sub_col, values->n, sel, nsel, &i, 1);
}

/* The result of on_values, row by row. */
static ax_status sub_result(ax_task *t, ax_eval *e, uint32_t i, const ax_vec **out)
{
    ax_scope all = {1, NULL, e->sub->n};

    return ax_eval_flat(t, e->sub, i, &all, out);
}

static bool null_at(const ax_vec *v, uint32_t i)
{
    return v->null != NULL && v->null[v->kind == AX_VK_CONST ? 0 : i];
}

/* ---- constants ------------------------------------------------------------------------------- */

static ax_status on_const(ax_task *t, ax_eval *e, uint32_t i, const ax_vec *v, const ax_scope *sc)
{
    ax_reg *r = &e->reg[i];
    ax_vec one = *v, out;
    const ax_vec *res;
    ax_status s;

    one.kind = AX_VK_FLAT;
    one.n = 1;
    s = on_values(t, e, i, &one, NULL, 1);
    if (s != AX_OK)
        return e->sub != NULL && e->sub->failed
                   ? ax_eval_fail_row(e, s, ax_scope_row(sc, 0), e->sub->fail_msg, NULL)
                   : s;
    AX_TRY(sub_result(t, e, i, &res));
    out = *res;
    out.n = e->n;
    out.kind = AX_VK_CONST;
    if (res->kind == AX_VK_VIEW)
    {
        AX_TRY(ax_reg_buffers(t, e, i));
        r->len[0] = 0;
        r->len[1] = res->u.view.len[0];
        out.u.str.base = res->u.view.ptr[0];
        out.u.str.off = r->len;
        out.u.str.len = r->len + 1;
    }
    ax_reg_set(e, i, e->prog->node[i].can_raise ? sc->id : 0, &out);
    return AX_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Runs that have a row of the scope. */
static uint32_t runs_of(const ax_vec *v, const ax_scope *sc, uint16_t *out)
{
    uint32_t q = 0, run = 0;

    for (uint32_t k = 0; k < sc->n && run < v->u.run.n; k++)
    {
        uint32_t row = ax_scope_row(sc, k);

        if (row < (run > 0 ? v->u.run.end[run - 1] : 0u))
            continue; /* this run is listed already */
        while (run < v->u.run.n && v->u.run.end[run] <= row)
            run++;
        if (run < v->u.run.n)
            out[q++] = (uint16_t) run++;
    }
    return q;
}

/* First row of the scope inside a run. */
static uint32_t row_in_run(const ax_vec *v, const ax_scope *sc, uint32_t run)
{
    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t row = ax_scope_row(sc, k);

        if (row < v->u.run.end[run] && (run == 0 || row >= v->u.run.end[run - 1]))
            return row;
    }
    return 0;
}

/* Results of runs to rows. */
static void expand_runs(ax_eval *e, uint32_t i, const ax_vec *v, const ax_vec *res, bool *has_null)
{
    ax_reg *r = &e->reg[i];
    uint32_t width = ax_phys_width(res->type.phys), lo = 0;

    *has_null = v->null != NULL || res->null != NULL;
    if (v->null != NULL)
        memcpy(r->null, v->null, e->n);
    else if (*has_null)
        memset(r->null, 0, e->n);
    for (uint32_t run = 0; run < v->u.run.n && lo < e->n; run++)
    {
        uint32_t hi = v->u.run.end[run] < e->n ? v->u.run.end[run] : e->n;
        uint32_t from = res->kind == AX_VK_CONST ? 0 : run;

        if (null_at(res, run))
            memset(r->null + lo, 1, hi - lo);
        if (ax_type_is_str(res->type))
            for (uint32_t k = lo; k < hi; k++)
                ((const uint8_t **) r->data)[k] = ax_vec_str(res, from, &r->len[k]);
        else if (width == 1)
            memset((uint8_t *) r->data + lo, ((const uint8_t *) res->u.data)[from], hi - lo);
        else
            for (uint32_t k = lo; k < hi; k++)
                memcpy((uint8_t *) r->data + (size_t) width * k,
                       (const uint8_t *) res->u.data + (size_t) width * from, width);
        lo = hi;
    }
}

static ax_status on_runs(ax_task *t, ax_eval *e, uint32_t i, const ax_vec *v, const ax_scope *sc,
                         bool *done)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    ax_vec values = *v->u.run.val, out;
    uint32_t nsel;
    const ax_vec *res;
    ax_status s;
    bool has_null;

    values.n = v->u.run.n;
    if (v->u.run.n > sc->n / 2 || v->u.run.n > AX_BATCH_ROWS)
        return AX_OK;
    AX_TRY(ax_reg_buffers(t, e, i));
    if (r->sel[0] == NULL)
        AX_NEW(t, r->sel[0], ax_arena_values(e->arena, sizeof(uint16_t) * (AX_BATCH_ROWS + 64)));
    nsel = runs_of(v, sc, r->sel[0]);
    s = on_values(t, e, i, &values, r->sel[0], nsel);
    if (s != AX_OK && e->sub != NULL && e->sub->failed)
    {
        /* rows under a null do not count: let the rows themselves speak */
        if (v->null != NULL)
            return AX_OK;
        return ax_eval_fail_row(e, s, row_in_run(v, sc, e->sub->fail_row), e->sub->fail_msg, NULL);
    }
    AX_TRY(s);
    AX_TRY(sub_result(t, e, i, &res));
    expand_runs(e, i, v, res, &has_null);
    out = (ax_vec){.kind = AX_VK_FLAT, .type = n->type, .n = e->n,
                   .null = has_null ? r->null : NULL};
    if (ax_type_is_str(n->type))
    {
        out.kind = AX_VK_VIEW;
        out.u.view.ptr = (const uint8_t *const *) r->data;
        out.u.view.len = r->len;
    }
    else
        out.u.data = r->data;
    ax_reg_set(e, i, sc->id, &out);
    *done = true;
    return AX_OK;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Values [at, at + n) of a dictionary as a vector. */
static ax_vec dict_window(const ax_dict *d, uint32_t at, uint32_t n)
{
    ax_vec v = d->val;

    v.n = n;
    if (v.null != NULL)
        v.null += at;
    if (v.kind == AX_VK_VIEW)
    {
        v.u.view.ptr += at;
        v.u.view.len += at;
    }
    else if (ax_type_is_str(v.type))
    {
        v.u.str.off += at;
        v.u.str.len += at;
    }
    else
        v.u.data = (uint8_t *) v.u.data + (size_t) ax_phys_width(v.type.phys) * at;
    return v;
}

/* Predicate: one byte a value. */
static ax_status make_pred(ax_task *t, ax_eval *e, uint32_t i, ax_dict *d, uint8_t *out,
                           bool *nulls)
{
    *nulls = false;
    for (uint32_t at = 0; at < d->n; at += AX_BATCH_ROWS)
    {
        uint32_t n = d->n - at < AX_BATCH_ROWS ? d->n - at : AX_BATCH_ROWS;
        ax_vec window = dict_window(d, at, n);
        const ax_vec *res;

        AX_TRY(on_values(t, e, i, &window, NULL, n));
        AX_TRY(sub_result(t, e, i, &res));
        for (uint32_t k = 0; k < n; k++)
        {
            uint32_t from = res->kind == AX_VK_CONST ? 0 : k;

            out[at + k] = null_at(res, k) ? 2 : ((const uint8_t *) res->u.data)[from] != 0;
            *nulls |= out[at + k] == 2;
        }
    }
    return AX_OK;
}

/* Rows of a predicate from its table. */
static ax_status pred_rows(ax_task *t, ax_eval *e, uint32_t i, const ax_vec *v,
                           const uint8_t *table, bool nulls)
{
    ax_reg *r = &e->reg[i];
    uint8_t *out;
    ax_vec res = {.kind = AX_VK_FLAT, .type = e->prog->node[i].type, .n = e->n};

    AX_TRY(ax_reg_buffers(t, e, i));
    out = (uint8_t *) r->data;
    if (v->u.dict.dict->n > 0)
        ax_k_get()->map8(table, v->u.dict.dict->n, v->u.dict.id, out, e->n);
    else
        memset(out, 0, e->n);
    if (nulls)
    {
        for (uint32_t k = 0; k < e->n; k++)
        {
            r->null[k] = out[k] >> 1;
            out[k] &= 1;
        }
        if (v->null != NULL)
            ax_k_get()->or(r->null, v->null, r->null, e->n);
        res.null = r->null;
    }
    else
        res.null = v->null;
    res.u.data = out;
    ax_reg_set(e, i, 0, &res);
    return AX_OK;
}

/* Gather result pieces of all windows into one FLAT vector of the dictionary's arena. */
typedef struct proj_sink
{
    uint8_t *data, *null;
    uint32_t *off, *len;
    const uint8_t **ptr;
    bool any_null;
} proj_sink;

static void proj_add(proj_sink *p, uint32_t at, uint32_t n, const ax_vec *res)
{
    uint32_t width = ax_phys_width(res->type.phys);

    for (uint32_t k = 0; k < n; k++)
    {
        uint32_t from = res->kind == AX_VK_CONST ? 0 : k;

        p->null[at + k] = null_at(res, k);
        p->any_null |= null_at(res, k);
        if (ax_type_is_str(res->type))
            p->ptr[at + k] = ax_vec_str(res, from, &p->len[at + k]);
        else
            memcpy(p->data + (size_t) width * (at + k),
                   (const uint8_t *) res->u.data + (size_t) width * from, width);
    }
}

/* Strings: one block of bytes, since a FLAT vector has one base. */
static ax_status proj_strings(ax_task *t, ax_arena *a, proj_sink *p, uint32_t n)
{
    uint64_t total = 0;
    uint8_t *bytes;

    for (uint32_t k = 0; k < n; k++)
        total += p->null[k] ? 0 : p->len[k];
    AX_CHECK(t, total <= UINT32_MAX, AX_ELIMIT, "strings of a dictionary pass 4 GiB");
    AX_NEW(t, bytes, ax_arena_values(a, total));
    p->data = bytes;
    total = 0;
    for (uint32_t k = 0; k < n; k++)
    {
        p->off[k] = (uint32_t) total;
        if (p->null[k])
            p->len[k] = 0;
        if (p->len[k] > 0)
            memcpy(bytes + total, p->ptr[k], p->len[k]);
        total += p->len[k];
    }
    return AX_OK;
}

static ax_status make_proj(ax_task *t, ax_eval *e, uint32_t i, ax_dict *d, ax_vec **out)
{
    ax_type type = e->prog->node[i].type;
    bool str = ax_type_is_str(type);
    uint32_t rows = d->n + 64;
    proj_sink p = {0};
    ax_vec val = {.kind = AX_VK_FLAT, .type = type, .n = d->n}, *v;
    ax_dict *derived;

    AX_NEW(t, p.null, ax_arena_values(d->arena, rows));
    if (str)
    {
        AX_NEW(t, p.ptr, ax_arena_values(d->arena, sizeof(*p.ptr) * (size_t) rows));
        AX_NEW(t, p.len, ax_arena_values(d->arena, sizeof(*p.len) * (size_t) rows));
        AX_NEW(t, p.off, ax_arena_values(d->arena, sizeof(*p.off) * (size_t) rows));
    }
    else
        AX_NEW(t, p.data, ax_arena_values(d->arena, ax_phys_width(type.phys) * (size_t) rows));
    for (uint32_t at = 0; at < d->n; at += AX_BATCH_ROWS)
    {
        uint32_t n = d->n - at < AX_BATCH_ROWS ? d->n - at : AX_BATCH_ROWS;
        ax_vec window = dict_window(d, at, n);
        const ax_vec *res;

        AX_TRY(on_values(t, e, i, &window, NULL, n));
        AX_TRY(sub_result(t, e, i, &res));
        proj_add(&p, at, n, res);
    }
    if (str)
    {
        AX_TRY(proj_strings(t, d->arena, &p, d->n));
        val.u.str.base = p.data;
        val.u.str.off = p.off;
        val.u.str.len = p.len;
    }
    else
        val.u.data = p.data;
    AX_NEW(t, v, ax_arena_alloc0(d->arena, sizeof(*v)));
    *out = v;
    if (p.any_null) /* no dictionary: rows get null or value */
    {
        *v = val;
        v->null = p.null;
        return AX_OK;
    }
    AX_NEW(t, derived, ax_arena_alloc0(d->arena, sizeof(*derived)));
    derived->n = d->n;
    derived->uid = ax_dict_uid();
    derived->val = val;
    derived->arena = d->arena;
    *v = (ax_vec){.kind = AX_VK_DICT, .type = type, .u.dict = {NULL, derived}};
    return AX_OK;
}

/* Rows of a projection: the same ids under the derived dictionary, or values if some are null. */
static ax_status proj_rows(ax_task *t, ax_eval *e, uint32_t i, const ax_vec *v, const ax_vec *res)
{
    ax_reg *r = &e->reg[i];
    uint32_t width = ax_phys_width(res->type.phys);
    ax_vec out = {.kind = AX_VK_DICT, .type = res->type, .n = e->n, .null = v->null};

    if (res->kind == AX_VK_DICT)
    {
        out.u.dict.id = v->u.dict.id;
        out.u.dict.dict = res->u.dict.dict;
        ax_reg_set(e, i, 0, &out);
        return AX_OK;
    }
    AX_TRY(ax_reg_buffers(t, e, i));
    for (uint32_t k = 0; k < e->n; k++)
    {
        uint32_t id = v->u.dict.id[k];

        r->null[k] = res->null[id] | (v->null != NULL ? v->null[k] : 0);
        if (ax_type_is_str(res->type))
            ((const uint8_t **) r->data)[k] = ax_vec_str(res, id, &r->len[k]);
        else
            memcpy((uint8_t *) r->data + (size_t) width * k,
                   (const uint8_t *) res->u.data + (size_t) width * id, width);
    }
    out.kind = AX_VK_FLAT;
    out.null = r->null;
    if (ax_type_is_str(res->type))
    {
        out.kind = AX_VK_VIEW;
        out.u.view.ptr = (const uint8_t *const *) r->data;
        out.u.view.len = r->len;
    }
    else
        out.u.data = r->data;
    ax_reg_set(e, i, 0, &out);
    return AX_OK;
}

/* The cache slot of an expression: its own, a free one, or one given up for it. */
#define SLOT(array, want)                                                                          \
    __extension__({                                                                                \
        uint32_t at_ = (want) % 8;                                                                 \
        for (uint32_t k_ = 0; k_ < 8; k_++)                                                        \
            if ((array)[k_].expr_id == (want))                                                     \
            {                                                                                      \
                at_ = k_;                                                                          \
                break;                                                                             \
            }                                                                                      \
            else if ((array)[k_].expr_id == 0)                                                     \
                at_ = k_;                                                                          \
        at_;                                                                                       \
    })

static ax_status on_dict(ax_task *t, ax_eval *e, uint32_t i, const ax_vec *v, const ax_scope *sc,
                         bool *done)
{
    const ax_node *n = &e->prog->node[i];
    ax_dict *d = v->u.dict.dict;
    uint32_t at;

    if (n->can_raise || d->arena == NULL)
        return AX_OK;
    if (n->type.id == AX_T_BOOL)
    {
        at = SLOT(d->pred, n->id);
        if (d->pred[at].expr_id != n->id)
        {
            d->pred[at].expr_id = n->id;
            d->pred[at].rows = 0;
            d->pred[at].result = NULL;
        }
        if (d->pred[at].result == NULL)
        {
            uint8_t *table;

            if (d->pred[at].rows < UINT32_MAX - sc->n)
                d->pred[at].rows += sc->n;
            if (d->pred[at].rows < d->n)
                return AX_OK;
            AX_NEW(t, table, ax_arena_values(d->arena, d->n + 1));
            AX_TRY(make_pred(t, e, i, d, table, &d->pred[at].nulls));
            d->pred[at].result = table;
        }
        *done = true;
        return pred_rows(t, e, i, v, d->pred[at].result, d->pred[at].nulls);
    }
    at = SLOT(d->proj, n->id);
    if (d->proj[at].expr_id != n->id)
    {
        d->proj[at].expr_id = n->id;
        d->proj[at].rows = 0;
        d->proj[at].result = NULL;
    }
    if (d->proj[at].result == NULL)
    {
        ax_vec *res = NULL;

        if (d->proj[at].rows < UINT32_MAX - sc->n)
            d->proj[at].rows += sc->n;
        if (d->proj[at].rows < d->n || d->n == 0)
            return AX_OK;
        AX_TRY(make_proj(t, e, i, d, &res));
        d->proj[at].result = res;
    }
    *done = true;
    return proj_rows(t, e, i, v, d->proj[at].result);
}

ax_status ax_eval_encoded(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc, bool *done)
{
    const ax_node *n = &e->prog->node[i];
    const ax_vec *v = &e->col[n->only_col];

    *done = false;
    if (n->kind == AX_X_CALL && (n->fn == AX_FN_IS_NULL || n->fn == AX_FN_IS_NOT_NULL)
        && e->prog->node[n->arg[0]].kind == AX_X_COL)
        return AX_OK; /* nulls are there already */
    if (v->kind == AX_VK_CONST)
    {
        *done = true;
        return on_const(t, e, i, v, sc);
    }
    if (v->null != NULL && !n->null_in)
        return AX_OK;
    if (v->kind == AX_VK_RUN)
        return on_runs(t, e, i, v, sc, done);
    if (v->kind == AX_VK_DICT)
        return on_dict(t, e, i, v, sc, done);
    return AX_OK;
}
