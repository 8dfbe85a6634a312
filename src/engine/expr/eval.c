/* Evaluates programs on batches.
 *
 * Each node has a register: its vector and for which rows it holds.  What costs nothing is computed
 * for all physical rows (scope 0) and holds everywhere; the rest is computed for the rows of a
 * scope, and holds in that scope and in those below it.  Scopes form a tree: the batch's selection
 * is the root, lazy nodes (CASE, COALESCE, AND and OR over costly or raising arguments) make
 * smaller ones.  A value that somebody still holds is never recomputed: holders hold values of
 * their own scope or of one above it, and those are valid in every scope below.
 *
 * A failing row: the attempt is repeated on the rows before it until none fails, so that the least
 * failing row is reported whatever the order of evaluation was. */
#include "expr/expr_int.h"

#include <string.h>

#define ROOM (AX_BATCH_ROWS + 64) /* rows of a buffer */

/* ---- registers ------------------------------------------------------------------------------- */

static ax_status buffers(ax_task *t, ax_eval *e, ax_type type, void **data, uint8_t **null,
                         uint32_t **len)
{
    uint32_t width = ax_phys_width(type.phys);

    if (*data != NULL)
        return AX_OK;
    if (ax_type_is_str(type))
    {
        AX_NEW(t, *len, ax_arena_values(e->arena, sizeof(uint32_t) * ROOM));
        memset(*len, 0, sizeof(uint32_t) * ROOM);
        width = sizeof(void *);
    }
    AX_NEW(t, *null, ax_arena_values(e->arena, ROOM));
    memset(*null, 0, ROOM);
    AX_NEW(t, *data, ax_arena_values(e->arena, (size_t) width * ROOM));
    memset(*data, 0, (size_t) width * ROOM);
    return AX_OK;
}

ax_status ax_reg_buffers(ax_task *t, ax_eval *e, uint32_t i)
{
    ax_reg *r = &e->reg[i];

    return buffers(t, e, e->prog->node[i].type, &r->data, &r->null, &r->len);
}

void ax_reg_set(ax_eval *e, uint32_t i, uint32_t scope, const ax_vec *v)
{
    ax_reg *r = &e->reg[i];

    r->vec = *v;
    r->stamp = e->run;
    r->scope = scope;
    r->flat_stamp = 0;
}

/* The register's own buffers as a vector: FLAT, or VIEW for strings. */
static ax_vec own_vec(ax_eval *e, uint32_t i, bool has_null)
{
    ax_reg *r = &e->reg[i];
    ax_vec v = {.kind = AX_VK_FLAT, .type = e->prog->node[i].type, .n = e->n};

    v.null = has_null ? r->null : NULL;
    if (ax_type_is_str(v.type))
    {
        v.kind = AX_VK_VIEW;
        v.u.view.ptr = (const uint8_t *const *) r->data;
        v.u.view.len = r->len;
    }
    else
        v.u.data = r->data;
    return v;
}

static bool holds(const ax_eval *e, uint32_t stamp, uint32_t scope, const ax_scope *sc)
{
    uint32_t at = sc->id;

    if (stamp != e->run)
        return false;
    while (at != scope && at != 0)
        at = e->parent[at];
    return at == scope;
}

static ax_status scope_new(ax_task *t, ax_eval *e, uint32_t parent, const uint16_t *sel, uint32_t n,
                           ax_scope *out)
{
    if (e->n_scopes == e->cap_scopes)
    {
        uint32_t cap = e->cap_scopes ? 2 * e->cap_scopes : 32, *more;

        AX_NEW(t, more, ax_arena_alloc(e->arena, sizeof(*more) * cap));
        if (e->n_scopes > 0)
            memcpy(more, e->parent, sizeof(*more) * e->n_scopes);
        e->parent = more;
        e->cap_scopes = cap;
    }
    e->parent[e->n_scopes] = parent;
    *out = (ax_scope){e->n_scopes++, sel, n};
    return AX_OK;
}

ax_status ax_eval_fail_row(ax_eval *e, ax_status code, uint32_t row, const char *msg,
                           const ax_error *err)
{
    e->failed = true;
    e->fail_row = row;
    e->fail_code = code;
    e->fail_msg = msg;
    e->fail_err = err;
    return code;
}

/* ---- row-by-row form ------------------------------------------------------------------------- */

/* Copy value `from` of src to rows [lo, hi) of the flat buffers. */
static void spread(ax_reg *r, const ax_vec *src, uint32_t from, uint32_t lo, uint32_t hi)
{
    if (src->kind == AX_VK_CONST)
        from = 0;
    if (ax_type_is_str(src->type))
    {
        uint32_t len;
        const uint8_t *p = ax_vec_str(src, from, &len);

        for (uint32_t i = lo; i < hi; i++)
        {
            ((const uint8_t **) r->fdata)[i] = p;
            r->flen[i] = len;
        }
        return;
    }
    switch (ax_phys_width(src->type.phys))
    {
        case 1:
            memset((uint8_t *) r->fdata + lo, ((const uint8_t *) src->u.data)[from], hi - lo);
            break;
        case 2:
            for (uint32_t i = lo; i < hi; i++)
                ((uint16_t *) r->fdata)[i] = ((const uint16_t *) src->u.data)[from];
            break;
        case 4:
            for (uint32_t i = lo; i < hi; i++)
                ((uint32_t *) r->fdata)[i] = ((const uint32_t *) src->u.data)[from];
            break;
        case 8:
            for (uint32_t i = lo; i < hi; i++)
                ((uint64_t *) r->fdata)[i] = ((const uint64_t *) src->u.data)[from];
            break;
        default:
        {
            uint32_t w = ax_phys_width(src->type.phys);

            for (uint32_t i = lo; i < hi; i++)
                memcpy((uint8_t *) r->fdata + (size_t) w * i,
                       (const uint8_t *) src->u.data + (size_t) w * from, w);
        }
    }
}

static void flatten_dict(ax_eval *e, ax_reg *r, const ax_vec *v)
{
    const uint32_t *id = v->u.dict.id;
    const ax_vec *val = &v->u.dict.dict->val;

    if (v->u.dict.dict->n == 0)
        return; /* all null */
    if (ax_type_is_str(v->type) && val->kind == AX_VK_FLAT)
    {
        const uint8_t **ptr = (const uint8_t **) r->fdata;

        for (uint32_t i = 0; i < e->n; i++)
        {
            ptr[i] = val->u.str.base + val->u.str.off[id[i]];
            r->flen[i] = val->u.str.len[id[i]];
        }
        return;
    }
    switch (ax_phys_width(v->type.phys))
    {
        case 2:
            for (uint32_t i = 0; i < e->n; i++)
                ((uint16_t *) r->fdata)[i] = ((const uint16_t *) val->u.data)[id[i]];
            break;
        case 4:
            for (uint32_t i = 0; i < e->n; i++)
                ((uint32_t *) r->fdata)[i] = ((const uint32_t *) val->u.data)[id[i]];
            break;
        case 8:
            for (uint32_t i = 0; i < e->n; i++)
                ((uint64_t *) r->fdata)[i] = ((const uint64_t *) val->u.data)[id[i]];
            break;
        default:
            for (uint32_t i = 0; i < e->n; i++)
                spread(r, val, id[i], i, i + 1);
            break;
    }
}

static void flatten_run(ax_eval *e, ax_reg *r, const ax_vec *v)
{
    const ax_vec *val = v->u.run.val;
    uint32_t lo = 0;

    for (uint32_t i = 0; i < v->u.run.n && lo < e->n; i++)
    {
        uint32_t hi = v->u.run.end[i] < e->n ? v->u.run.end[i] : e->n;

        if (val->kind != AX_VK_DICT)
            spread(r, val, i, lo, hi);
        else if (val->u.dict.dict->n > 0)
            spread(r, &val->u.dict.dict->val, val->u.dict.id[i], lo, hi);
        lo = hi;
    }
}

ax_status ax_eval_flat(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc, const ax_vec **out)
{
    ax_reg *r = &e->reg[i];
    const ax_vec *v = &r->vec;

    AX_TRY(ax_eval_node(t, e, i, sc));
    *out = v;
    if (v->kind != AX_VK_DICT && v->kind != AX_VK_RUN && v->kind != AX_VK_SEQ)
        return AX_OK;
    *out = &r->flat;
    if (r->flat_stamp == e->run && r->flat_scope == r->scope)
        return AX_OK;
    AX_TRY(buffers(t, e, v->type, &r->fdata, &r->fnull, &r->flen));
    r->flat = (ax_vec){.kind = AX_VK_FLAT, .type = v->type, .n = e->n, .null = v->null};
    if (ax_type_is_str(v->type))
    {
        r->flat.kind = AX_VK_VIEW;
        r->flat.u.view.ptr = (const uint8_t *const *) r->fdata;
        r->flat.u.view.len = r->flen;
    }
    else
        r->flat.u.data = r->fdata;
    if (v->kind == AX_VK_DICT)
        flatten_dict(e, r, v);
    else if (v->kind == AX_VK_RUN)
        flatten_run(e, r, v);
    else
        for (uint32_t k = 0; k < e->n; k++)
            ((int64_t *) r->fdata)[k] = v->u.seq.start + (int64_t) k * v->u.seq.step;
    r->flat_stamp = e->run;
    r->flat_scope = r->scope;
    return AX_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static uint32_t first_row(const ax_scope *sc) { return sc->sel ? sc->sel[0] : 0; }

/* All arguments are constant: once, for all rows. */
static ax_status call_once(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc, ax_call_io *io)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    ax_vec one[AX_FN_MAX_ARGS], v;
    ax_status s;

    for (uint32_t k = 0; k < n->nargs; k++)
    {
        one[k] = *io->arg[k];
        one[k].kind = AX_VK_FLAT;
        io->arg[k] = &one[k];
    }
    io->n = io->nsel = 1;
    io->sel = NULL;
    s = ax_call_run(n->call, io);
    if (s != AX_OK)
        return ax_eval_fail_row(e, s, first_row(sc), io->fail_msg, NULL);
    v = own_vec(e, i, io->has_null);
    v.kind = AX_VK_CONST;
    if (ax_type_is_str(n->type))
    {
        AX_TRY(buffers(t, e, n->type, &r->fdata, &r->fnull, &r->flen));
        r->flen[0] = 0; /* offset */
        v.u.str.base = ((const uint8_t **) r->data)[0];
        v.u.str.off = r->flen;
        v.u.str.len = r->len;
    }
    ax_reg_set(e, i, n->whole ? 0 : sc->id, &v);
    return AX_OK;
}

static void built_end(void *arg) { ax_arena_destroy((ax_arena *) arg); }

/* Where calls build strings: one arena for an evaluator and those below it, emptied by each run. */
static ax_status built_arena(ax_task *t, ax_eval *e, ax_arena **out)
{
    if (*e->built == NULL)
    {
        AX_NEW(t, *e->built, ax_arena_create(ax_arena_budget(e->arena), 256u << 10));
        if (!ax_arena_on_reset(e->arena, built_end, *e->built))
        {
            ax_arena_destroy(*e->built);
            *e->built = NULL;
            return ax_fail_nomem(t, 0);
        }
    }
    *out = *e->built;
    return AX_OK;
}

/* One of several independent nodes did not come to a result: do we go on to the next, so that the
 * host is asked for all at once?  Errors of rows that come behind a question wait for its
 * answer. */
static bool asks_on(ax_eval *e, ax_status s, bool *need)
{
    bool later = *need && e->failed;

    *need |= s == AX_EVAL_NEED;
    e->failed &= !later;
    return s == AX_EVAL_NEED || later;
}

static ax_status eval_call(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    bool any_form = n->kind == AX_X_CALL && (n->fn == AX_FN_IS_NULL || n->fn == AX_FN_IS_NOT_NULL);
    bool all_const = true, need = false;
    ax_call_io io = {.n = e->n, .sel = sc->sel, .nsel = sc->n};
    ax_reg *r = &e->reg[i];
    ax_status s;
    ax_vec v;

    for (uint32_t k = 0; k < n->nargs; k++)
    {
        io.arg[k] = &e->reg[n->arg[k]].vec;
        s = any_form ? ax_eval_node(t, e, n->arg[k], sc)
                     : ax_eval_flat(t, e, n->arg[k], sc, &io.arg[k]);
        if (s != AX_OK && !asks_on(e, s, &need))
            return s;
        all_const &= io.arg[k]->kind == AX_VK_CONST;
    }
    if (need)
        return AX_EVAL_NEED;
    AX_TRY(ax_reg_buffers(t, e, i));
    AX_TRY(built_arena(t, e, &io.arena));
    io.data = r->data;
    io.null = r->null;
    io.len = r->len;
    if (all_const && !any_form)
        return call_once(t, e, i, sc, &io);
    if (n->whole)
    {
        io.sel = NULL;
        io.nsel = e->n;
    }
    s = ax_call_run(n->call, &io);
    if (s != AX_OK)
        return ax_eval_fail_row(e, s, io.fail_row, io.fail_msg, NULL);
    v = own_vec(e, i, io.has_null);
    ax_reg_set(e, i, n->whole ? 0 : sc->id, &v);
    return AX_OK;
}

/* ---- AND, OR --------------------------------------------------------------------------------- */

/* A boolean argument as bytes; constants are spread. */
static ax_status bool_bytes(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc,
                            const uint8_t **val, const uint8_t **null)
{
    ax_reg *r = &e->reg[i];
    const ax_vec *v;

    AX_TRY(ax_eval_flat(t, e, i, sc, &v));
    if (v->kind != AX_VK_CONST)
    {
        *val = (const uint8_t *) v->u.data;
        *null = v->null;
        return AX_OK;
    }
    AX_TRY(buffers(t, e, v->type, &r->fdata, &r->fnull, &r->flen));
    memset(r->fdata, ((const uint8_t *) v->u.data)[0], e->n);
    *val = (const uint8_t *) r->fdata;
    *null = NULL;
    if (v->null != NULL && v->null[0])
    {
        memset(r->fnull, 1, e->n);
        *null = r->fnull;
    }
    return AX_OK;
}

static ax_status eval_bool_whole(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    const ax_kernels *k = ax_k_get();
    ax_reg *r = &e->reg[i];
    uint8_t *acc;
    bool has_null = false;
    ax_vec v;

    AX_TRY(ax_reg_buffers(t, e, i));
    acc = (uint8_t *) r->data;
    for (uint32_t a = 0; a < n->nargs; a++)
    {
        const uint8_t *val, *null;

        AX_TRY(bool_bytes(t, e, n->arg[a], sc, &val, &null));
        if (null != NULL && !has_null)
            memset(r->null, 0, e->n);
        has_null |= null != NULL;
        if (a == 0)
        {
            memcpy(acc, val, e->n);
            if (null != NULL)
                memcpy(r->null, null, e->n);
        }
        else if (!has_null)
            (n->kind == AX_X_AND ? k->and : k->or)(acc, val, acc, e->n);
        else
            (n->kind == AX_X_AND ? k->and3 : k->or3)(acc, r->null, val, null, e->n);
    }
    v = own_vec(e, i, has_null);
    ax_reg_set(e, i, 0, &v);
    return AX_OK;
}

static ax_status sub_selection(ax_task *t, ax_eval *e, uint32_t i, uint32_t which)
{
    ax_reg *r = &e->reg[i];

    if (r->sel[which] == NULL)
        AX_NEW(t, r->sel[which], ax_arena_values(e->arena, sizeof(uint16_t) * ROOM));
    return AX_OK;
}

/* Argument by argument on the rows that are not decided yet. */
static ax_status eval_bool_lazy(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    uint8_t decides = n->kind == AX_X_OR, *acc;
    ax_scope cur = *sc;
    uint16_t *sel;
    ax_vec v;

    AX_TRY(ax_reg_buffers(t, e, i));
    AX_TRY(sub_selection(t, e, i, 0));
    acc = (uint8_t *) r->data;
    sel = r->sel[0];
    for (uint32_t k = 0; k < sc->n; k++)
    {
        acc[ax_scope_row(sc, k)] = !decides;
        r->null[ax_scope_row(sc, k)] = 0;
    }
    for (uint32_t a = 0; a < n->nargs && cur.n > 0; a++)
    {
        const uint8_t *val, *null;
        uint32_t q = 0, m = cur.n;

        AX_TRY(bool_bytes(t, e, n->arg[a], &cur, &val, &null));
        for (uint32_t k = 0; k < m; k++)
        {
            uint32_t row = ax_scope_row(&cur, k);
            uint8_t is_null = null != NULL && null[row];
            uint8_t decided = !is_null && val[row] == decides;

            acc[row] = decided ? decides : acc[row];
            r->null[row] = decided ? 0 : r->null[row] | is_null;
            sel[q] = (uint16_t) row;
            q += !decided;
        }
        AX_TRY(scope_new(t, e, cur.id, sel, q, &cur));
    }
    v = own_vec(e, i, true);
    ax_reg_set(e, i, sc->id, &v);
    return AX_OK;
}

/* ---- CASE, COALESCE -------------------------------------------------------------------------- */

/* Take rows of argument arg into node i's own buffers. */
static ax_status take(ax_task *t, ax_eval *e, uint32_t i, uint32_t arg, const ax_scope *sc)
{
    ax_reg *r = &e->reg[i];
    const ax_vec *v;
    uint32_t width;

    AX_TRY(ax_eval_flat(t, e, arg, sc, &v));
    width = ax_phys_width(v->type.phys);
    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t row = ax_scope_row(sc, k), from = v->kind == AX_VK_CONST ? 0 : row;

        r->null[row] = v->null != NULL && v->null[from];
        if (ax_type_is_str(v->type))
        {
            ((const uint8_t **) r->data)[row] = ax_vec_str(v, from, &r->len[row]);
            continue;
        }
        switch (width)
        {
            case 1: ((uint8_t *) r->data)[row] = ((const uint8_t *) v->u.data)[from]; break;
            case 2: ((uint16_t *) r->data)[row] = ((const uint16_t *) v->u.data)[from]; break;
            case 4: ((uint32_t *) r->data)[row] = ((const uint32_t *) v->u.data)[from]; break;
            case 8: ((uint64_t *) r->data)[row] = ((const uint64_t *) v->u.data)[from]; break;
            default:
                memcpy((uint8_t *) r->data + (size_t) width * row,
                       (const uint8_t *) v->u.data + (size_t) width * from, width);
                break;
        }
    }
    return AX_OK;
}

static void take_null(ax_eval *e, uint32_t i, const ax_scope *sc)
{
    ax_reg *r = &e->reg[i];

    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t row = ax_scope_row(sc, k);

        r->null[row] = 1;
        if (ax_type_is_str(e->prog->node[i].type))
        {
            ((const uint8_t **) r->data)[row] = (const uint8_t *) r->len;
            r->len[row] = 0;
        }
    }
}

static ax_status eval_case(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    ax_scope cur = *sc, hit;
    ax_vec v;

    AX_TRY(ax_reg_buffers(t, e, i));
    AX_TRY(sub_selection(t, e, i, 0));
    AX_TRY(sub_selection(t, e, i, 1));
    for (uint32_t a = 0; a + 1 < n->nargs && cur.n > 0; a += 2)
    {
        const uint8_t *val, *null;
        uint32_t q = 0, m = 0;

        AX_TRY(bool_bytes(t, e, n->arg[a], &cur, &val, &null));
        for (uint32_t k = 0; k < cur.n; k++)
        {
            uint32_t row = ax_scope_row(&cur, k);
            bool yes = val[row] && !(null != NULL && null[row]);

            r->sel[1][m] = (uint16_t) row;
            m += yes;
            r->sel[0][q] = (uint16_t) row;
            q += !yes;
        }
        AX_TRY(scope_new(t, e, cur.id, r->sel[1], m, &hit));
        AX_TRY(scope_new(t, e, cur.id, r->sel[0], q, &cur));
        if (m > 0)
            AX_TRY(take(t, e, i, n->arg[a + 1], &hit));
    }
    if (cur.n > 0 && n->nargs % 2 == 1)
        AX_TRY(take(t, e, i, n->arg[n->nargs - 1], &cur));
    else
        take_null(e, i, &cur);
    v = own_vec(e, i, true);
    ax_reg_set(e, i, sc->id, &v);
    return AX_OK;
}

static ax_status eval_coalesce(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    ax_scope cur = *sc;
    ax_vec v;

    AX_TRY(ax_reg_buffers(t, e, i));
    AX_TRY(sub_selection(t, e, i, 0));
    for (uint32_t a = 0; a < n->nargs && cur.n > 0; a++)
    {
        uint32_t q = 0;

        AX_TRY(take(t, e, i, n->arg[a], &cur));
        for (uint32_t k = 0; k < cur.n; k++)
        {
            uint32_t row = ax_scope_row(&cur, k);

            r->sel[0][q] = (uint16_t) row;
            q += r->null[row];
        }
        AX_TRY(scope_new(t, e, cur.id, r->sel[0], q, &cur));
    }
    v = own_vec(e, i, true);
    ax_reg_set(e, i, sc->id, &v);
    return AX_OK;
}

/* ---- numbers beyond the engine's ------------------------------------------------------------- */

/* The rows of sc but `row` to out; returns how many. */
static uint32_t without(const ax_scope *sc, uint32_t row, uint16_t *out)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t r = ax_scope_row(sc, k);

        out[n] = (uint16_t) r;
        n += r != row;
    }
    return n;
}

#define BEYOND_TRIES 8u /* rows found one by one; with more the whole batch goes the other way */

static ax_status eval_beyond(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    ax_scope fast = *sc, rest;
    uint32_t beyond = 0, left;
    ax_status s;
    ax_vec v;

    AX_TRY(ax_reg_buffers(t, e, i));
    AX_TRY(sub_selection(t, e, i, 0));
    AX_TRY(sub_selection(t, e, i, 1));
    while ((s = ax_eval_node(t, e, n->arg[0], &fast)) != AX_OK)
    {
        if (s != AX_EBEYOND || !e->failed)
            return s;
        e->failed = false;
        if (beyond == BEYOND_TRIES)
            break;
        r->sel[1][beyond++] = (uint16_t) e->fail_row;
        left = without(&fast, e->fail_row, r->sel[0]);
        AX_TRY(scope_new(t, e, fast.id, r->sel[0], left, &fast));
        if (fast.n == 0)
            break;
    }
    if (s == AX_OK)
        AX_TRY(take(t, e, i, n->arg[0], &fast));
    else if (fast.n > 0)
        beyond = without(sc, UINT32_MAX, r->sel[1]);
    AX_TRY(scope_new(t, e, sc->id, r->sel[1], beyond, &rest));
    if (beyond > 0)
        AX_TRY(take(t, e, i, n->arg[1], &rest));
    v = own_vec(e, i, true);
    ax_reg_set(e, i, sc->id, &v);
    return AX_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ax_status eval_leaf(ax_task *t, ax_eval *e, uint32_t i)
{
    const ax_node *n = &e->prog->node[i];
    ax_reg *r = &e->reg[i];
    ax_vec v;

    if (n->kind == AX_X_COL)
    {
        ax_reg_set(e, i, 0, &e->col[n->col]);
        return AX_OK;
    }
    if (r->data == NULL) /* made once */
    {
        AX_TRY(ax_vec_const(t, e->arena, &n->val, e->n, &r->vec));
        r->data = &r->vec;
    }
    v = r->vec;
    v.n = e->n;
    ax_reg_set(e, i, 0, &v);
    return AX_OK;
}

/* Nobody asks for a row: any vector of the type will do. */
static ax_status eval_nothing(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    ax_vec v;

    AX_TRY(ax_reg_buffers(t, e, i));
    v = own_vec(e, i, true);
    if (ax_type_is_str(v.type))
        for (uint32_t k = 0; k < e->n; k++)
        {
            ((const uint8_t **) e->reg[i].data)[k] = (const uint8_t *) e->reg[i].len;
            e->reg[i].len[k] = 0;
        }
    memset(e->reg[i].null, 1, e->n);
    ax_reg_set(e, i, sc->id, &v);
    return AX_OK;
}

ax_status ax_eval_node(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    bool done = false;

    if (holds(e, e->reg[i].stamp, e->reg[i].scope, sc))
        return AX_OK;
    if (n->kind == AX_X_COL || n->kind == AX_X_CONST)
        return eval_leaf(t, e, i);
    if (sc->n == 0)
        return eval_nothing(t, e, i, sc);
    if (n->only_col < AX_MANY_COLS && !n->has_host)
        AX_TRY(ax_eval_encoded(t, e, i, sc, &done));
    if (done)
        return AX_OK;
    switch (n->kind)
    {
        case AX_X_CALL:
        case AX_X_IN: return eval_call(t, e, i, sc);
        case AX_X_AND:
        case AX_X_OR:
            return n->whole ? eval_bool_whole(t, e, i, sc) : eval_bool_lazy(t, e, i, sc);
        case AX_X_CASE: return eval_case(t, e, i, sc);
        case AX_X_COALESCE: return eval_coalesce(t, e, i, sc);
        case AX_X_BEYOND: return eval_beyond(t, e, i, sc);
        default: return ax_eval_host(t, e, i, sc);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

ax_status ax_eval_create(ax_task *t, ax_arena *a, const ax_prog *p, ax_eval **out)
{
    ax_eval *e;

    AX_NEW(t, e, ax_arena_alloc0(a, sizeof(*e)));
    AX_NEW(t, e->reg, ax_arena_alloc0(a, sizeof(*e->reg) * (p->n + 1)));
    e->prog = p;
    e->arena = a;
    e->built = &e->own_built;
    *out = e;
    return AX_OK;
}

/* One attempt at all roots (or at one node) on given rows. */
ax_status ax_eval_attempt(ax_task *t, ax_eval *e, const ax_vec *col, uint32_t n,
                          const uint16_t *sel, uint32_t nsel, const uint32_t *root, uint32_t nroots)
{
    bool need = false;
    ax_scope sc;
    ax_status s;

    e->col = col;
    e->n = n;
    e->need = NULL;
    e->need_end = &e->need;
    if (++e->run == 0) /* wrapped: no register may look current */
    {
        for (uint32_t i = 0; i < e->prog->n; i++)
            e->reg[i].stamp = e->reg[i].flat_stamp = e->reg[i].asked = 0;
        e->run = 1;
    }
    e->n_scopes = 0;
    e->failed = false;
    AX_TRY(scope_new(t, e, 0, NULL, n, &sc)); /* scope 0 */
    AX_TRY(scope_new(t, e, 0, sel, sel ? nsel : n, &sc));
    for (uint32_t i = 0; i < nroots; i++)
    {
        s = ax_eval_node(t, e, root[i], &sc);
        if (s != AX_OK && !asks_on(e, s, &need))
            return s;
    }
    return need ? AX_EVAL_NEED : AX_OK;
}

static uint32_t rows_before(const uint16_t *sel, uint32_t nsel, uint32_t row)
{
    uint32_t lo = 0, hi = nsel;

    while (lo < hi)
    {
        uint32_t mid = (lo + hi) / 2;

        if (sel[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

ax_status ax_eval_run(ax_task *t, ax_eval *e, ax_batch *in, ax_vec *out, ax_eval_result *r)
{
    const ax_prog *p = e->prog;
    uint32_t n = in->nrows, nsel = in->nsel, row = 0;
    ax_status code = AX_OK, s;
    const char *msg = NULL;
    const ax_error *err = NULL;

    *r = (ax_eval_result){0};
    if (*e->built != NULL)
        ax_arena_reset(*e->built);
    if (!e->asked)
        ax_host_unpin(e);
    e->asked = false;
    AX_CHECK(t, in->nrows <= AX_BATCH_ROWS, AX_EPLAN, "batch of %u rows", in->nrows);
    for (;;)
    {
        s = ax_eval_attempt(t, e, in->col, n, in->sel, nsel, p->root, p->nroots);
        if (s == AX_OK || !e->failed)
            break;
        code = s;
        row = e->fail_row;
        msg = e->fail_msg;
        err = e->fail_err;
        if (in->sel != NULL)
            nsel = rows_before(in->sel, nsel, row);
        else
            n = row;
        if (n == 0 || (in->sel != NULL && nsel == 0))
        {
            s = AX_OK;
            break;
        }
    }
    if (s == AX_EVAL_NEED)
    {
        r->need = e->need;
        return AX_OK;
    }
    if (s != AX_OK)
        return s;
    if (code != AX_OK)
    {
        r->fail_row = row;
        if (err == NULL)
            return ax_fail(t, code, "%s", msg);
        if (t->err.code == AX_OK)
            t->err = *err;
        return t->err.code;
    }
    for (uint32_t i = 0; i < p->nroots; i++)
    {
        out[i] = e->reg[p->root[i]].vec;
        out[i].n = in->nrows;
    }
    return AX_OK;
}
