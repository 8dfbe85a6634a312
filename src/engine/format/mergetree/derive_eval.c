/* Evaluation of computed columns: values of columns to registers, nodes to registers, registers to
 * values.
 *
 * One node is evaluated for all rows of a window before the next.  Everything lives in the window's
 * arena. */
#include "derive_int.h"

ax_mt_cls ax_mt_cls_of(const ax_mt_type *ty)
{
    ty = ax_mt_bare(ty);
    switch ((ax_mt_tid) ty->id)
    {
        case MT_UINT:
            return ty->width <= 8 ? MT_R_INT : MT_R_NONE;
        case MT_INT:
        case MT_DECIMAL:
            return ty->width <= 16 ? MT_R_INT : MT_R_NONE;
        case MT_BOOL:
        case MT_DATE:
        case MT_DATE32:
        case MT_DATETIME:
        case MT_DATETIME64:
        case MT_TIME:
        case MT_TIME64:
        case MT_INTERVAL:
        case MT_ENUM:
        case MT_IPV4:
            return MT_R_INT;
        case MT_FLOAT:
            return MT_R_FLOAT;
        case MT_STRING:
        case MT_FIXEDSTRING:
        case MT_UUID:
        case MT_IPV6:
            return MT_R_STR;
        case MT_ARRAY:
            return ax_mt_cls_of(ty->child[0]) != MT_R_NONE ? MT_R_ARRAY : MT_R_NONE;
        default:
            return MT_R_NONE;
    }
}

/* ---- registers ------------------------------------------------------------------------------- */

ax_status ax_mt_reg_room(ax_mt_run *e, ax_mt_cls cls, uint32_t n, ax_mt_reg *out)
{
    memset(out, 0, sizeof *out);
    out->n = n;
    switch (cls)
    {
        case MT_R_INT:
            AX_NEW(e->t, out->i, (ax_i128 *) ax_arena_values(e->a, (size_t) n * 16 + 16));
            break;
        case MT_R_FLOAT:
            AX_NEW(e->t, out->f, (double *) ax_arena_values(e->a, (size_t) n * 8 + 8));
            break;
        case MT_R_STR:
            AX_NEW(e->t, out->ptr,
                   (const uint8_t **) ax_arena_values(e->a, (size_t) n * sizeof *out->ptr + 8));
            AX_NEW(e->t, out->len, (uint32_t *) ax_arena_values(e->a, (size_t) n * 4 + 4));
            break;
        case MT_R_ARRAY:
            AX_NEW(e->t, out->off, (uint32_t *) ax_arena_values(e->a, (size_t) n * 4 + 4));
            AX_NEW(e->t, out->child, (ax_mt_reg *) ax_arena_alloc0(e->a, sizeof *out->child));
            out->off[0] = 0;
            break;
        default:
            break;
    }
    return AX_OK;
}

static ax_status nulls_room(ax_mt_run *e, uint32_t n, ax_mt_reg *out)
{
    AX_NEW(e->t, out->null, (uint8_t *) ax_arena_values(e->a, (size_t) n + 1));
    return AX_OK;
}

ax_status ax_mt_reg_gather(ax_mt_run *e, const ax_mt_type *ty, const ax_mt_reg *r,
                           const uint32_t *at, uint32_t n, ax_mt_reg *out)
{
    ax_mt_cls cls = ax_mt_cls_of(ty);
    uint32_t i, k, *from;

    AX_TRY(ax_mt_reg_room(e, cls, n, out));
    if (r->null != NULL)
    {
        AX_TRY(nulls_room(e, n, out));
        for (i = 0; i < n; i++)
            out->null[i] = r->null[at[i]];
    }
    for (i = 0; cls == MT_R_INT && i < n; i++)
        out->i[i] = r->i[at[i]];
    for (i = 0; cls == MT_R_FLOAT && i < n; i++)
        out->f[i] = r->f[at[i]];
    for (i = 0; cls == MT_R_STR && i < n; i++)
    {
        out->ptr[i] = r->ptr[at[i]];
        out->len[i] = r->len[at[i]];
    }
    if (cls != MT_R_ARRAY)
        return AX_OK;
    for (i = 0; i < n; i++)
    {
        uint32_t len = r->off[at[i] + 1] - r->off[at[i]];

        AX_CHECK(e->t, len <= INT32_MAX - out->off[i], AX_ELIMIT,
                 "one batch has more values than the limit");
        out->off[i + 1] = out->off[i] + len;
    }
    AX_NEW(e->t, from, (uint32_t *) ax_arena_values(e->a, (size_t) out->off[n] * 4 + 4));
    for (i = 0; i < n; i++)
        for (k = out->off[i]; k < out->off[i + 1]; k++)
            from[k] = r->off[at[i]] + (k - out->off[i]);
    return ax_mt_reg_gather(e, ax_mt_bare(ty)->child[0], r->child, from, out->off[n], out->child);
}

/* ---- values of columns ----------------------------------------------------------------------- */

static bool is_signed(const ax_mt_type *ty)
{
    return ty->id != MT_UINT && ty->id != MT_BOOL && ty->id != MT_DATE && ty->id != MT_DATETIME &&
           ty->id != MT_IPV4;
}

static ax_i128 load_int(const ax_mt_type *ty, const uint8_t *p)
{
    ax_i128 v = 0;

    memcpy(&v, p, ty->width);
    if (ty->id == MT_BOOL)
        return v != 0;
    return ax_mt_wrap(v, ty->width, is_signed(ty));
}

static double load_float(const ax_mt_type *ty, const uint8_t *p)
{
    double d;
    float f;

    if (ty->width == 4)
    {
        memcpy(&f, p, 4);
        return f;
    }
    memcpy(&d, p, 8);
    return d;
}

/* Plain values: bytes of row i at p(i). */
static void load_plain(const ax_mt_type *ty, const uint8_t *base, const uint32_t *id, uint32_t n,
                       ax_mt_reg *out)
{
    for (uint32_t i = 0; i < n; i++)
    {
        const uint8_t *p = base + (size_t) (id != NULL ? id[i] : i) * ty->width;

        if (out->i != NULL)
            out->i[i] = load_int(ty, p);
        else if (out->f != NULL)
            out->f[i] = load_float(ty, p);
        else
        {
            out->ptr[i] = p;
            out->len[i] = ty->width;
        }
    }
}

static ax_status load(ax_mt_run *e, const ax_mt_node *node, const ax_mt_vals *v, uint32_t n,
                      const ax_mt_type *ty, ax_mt_reg *out)
{
    const ax_mt_dict *d;

    ty = ax_mt_bare(ty);
    AX_TRY(ax_mt_reg_room(e, ax_mt_cls_of(ty), n, out));
    if (n == 0)
        return ax_mt_cls_of(ty) == MT_R_ARRAY ? load(e, node, v, 0, ty->child[0], out->child)
                                              : AX_OK;
    out->null = v->null;
    if (node->form == MT_F_SPARSE)
        node = node->child[0];
    else if (node->form == MT_F_NULLABLE)
    {
        node = node->child[0];
        v = &v->child[0];
    }
    d = node->form == MT_F_LOWCARD ? v->dict : NULL;
    if (ty->id == MT_ARRAY)
    {
        memcpy(out->off, v->off, ((size_t) n + 1) * sizeof *out->off);
        return load(e, node->child[0], &v->child[0], v->off[n], ty->child[0], out->child);
    }
    if (ty->width > 0)
        load_plain(ty, d != NULL ? d->bytes : v->data, d != NULL ? v->id : NULL, n, out);
    else
        for (uint32_t i = 0; i < n; i++)
        {
            out->ptr[i] = d != NULL ? d->bytes + d->off[v->id[i]] : v->ptr[i];
            out->len[i] = d != NULL ? d->len[v->id[i]] : v->len[i];
        }
    return AX_OK;
}

static ax_status store(ax_mt_run *e, const ax_mt_node *node, const ax_mt_reg *r, ax_mt_vals *v)
{
    const ax_mt_type *ty = node->type;
    uint8_t *data;

    v->n = v->cap = r->n;
    if (node->nchild > 0)
        AX_NEW(e->t, v->child,
               (ax_mt_vals *) ax_arena_alloc0(e->a, node->nchild * sizeof *v->child));
    if (node->form == MT_F_NULLABLE)
    {
        AX_NEW(e->t, v->null, (uint8_t *) ax_arena_values(e->a, (size_t) r->n + 1));
        memset(v->null, 0, r->n);
        for (uint32_t i = 0; r->null != NULL && i < r->n; i++)
            v->null[i] = r->null[i] != 0;
        return store(e, node->child[0], r, &v->child[0]);
    }
    if (node->form == MT_F_ARRAY)
    {
        v->off = r->off;
        return store(e, node->child[0], r->child, &v->child[0]);
    }
    if (node->form == MT_F_STRING)
    {
        v->ptr = r->ptr;
        v->len = r->len;
        return AX_OK;
    }
    AX_NEW(e->t, data, (uint8_t *) ax_arena_values(e->a, (size_t) r->n * ty->width + 1));
    v->data = data;
    for (uint32_t i = 0; i < r->n; i++)
    {
        uint8_t *p = data + (size_t) i * ty->width;
        float f;

        if (r->null != NULL && r->null[i])
            memset(p, 0, ty->width);
        else if (r->i != NULL)
            memcpy(p, &r->i[i], ty->width);
        else if (r->ptr != NULL)
            memcpy(p, r->ptr[i], ty->width);
        else if (ty->width == 8)
            memcpy(p, &r->f[i], 8);
        else
        {
            f = (float) r->f[i];
            memcpy(p, &f, 4);
        }
    }
    return AX_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ax_status repeat(ax_mt_run *e, const ax_mt_x *x, ax_mt_reg *out)
{
    uint32_t *zero;

    AX_NEW(e->t, zero, (uint32_t *) ax_arena_values(e->a, (size_t) e->n * 4 + 4));
    memset(zero, 0, (size_t) e->n * 4);
    return ax_mt_reg_gather(e, x->type, &x->value, zero, e->n, out);
}

static ax_status map(ax_mt_run *e, const ax_mt_x *x, ax_mt_reg *out)
{
    ax_mt_reg *param, arr;
    ax_mt_run in = *e;
    uint32_t *row, i, k;

    AX_NEW(e->t, param, (ax_mt_reg *) ax_arena_alloc0(e->a, x->narg * sizeof *param));
    AX_TRY(ax_mt_reg_room(e, MT_R_ARRAY, e->n, out));
    for (i = 1; i < x->narg; i++)
    {
        AX_TRY(ax_mt_x_run(e, x->arg[i], &arr));
        if (i > 1 && memcmp(arr.off, out->off, ((size_t) e->n + 1) * 4) != 0)
            return ax_fail(e->t, AX_EPARAM, "arrays of arrayMap have different sizes");
        memcpy(out->off, arr.off, ((size_t) e->n + 1) * 4);
        param[i - 1] = *arr.child;
    }
    AX_NEW(e->t, row, (uint32_t *) ax_arena_values(e->a, (size_t) out->off[e->n] * 4 + 4));
    for (i = 0; i < e->n; i++)
        for (k = out->off[i]; k < out->off[i + 1]; k++)
            row[k] = i;
    in.n = out->off[e->n];
    in.row = row;
    in.param = param;
    return ax_mt_x_run(&in, x->arg[0], out->child);
}

static ax_status call(ax_mt_run *e, const ax_mt_x *x, ax_mt_reg *out)
{
    uint8_t *skip = NULL;
    ax_mt_reg *arg;

    AX_NEW(e->t, arg, (ax_mt_reg *) ax_arena_alloc0(e->a, (x->narg + 1) * sizeof *arg));
    for (uint32_t i = 0; i < x->narg; i++)
    {
        AX_TRY(ax_mt_x_run(e, x->arg[i], &arg[i]));
        if (x->fn->nulls || arg[i].null == NULL)
            continue;
        if (skip == NULL)
        {
            AX_NEW(e->t, skip, (uint8_t *) ax_arena_values(e->a, (size_t) e->n + 1));
            memset(skip, 0, e->n);
        }
        for (uint32_t k = 0; k < e->n; k++)
            skip[k] |= arg[i].null[k];
        arg[i].null = NULL;
    }
    AX_TRY(x->fn->run(e, x, arg, skip, out));
    if (!x->fn->nulls)
        out->null = skip;
    return AX_OK;
}

ax_status ax_mt_x_run(ax_mt_run *e, const ax_mt_x *x, ax_mt_reg *out)
{
    AX_CHECK(e->t, !ax_task_stopped(e->t), AX_ESTOPPED, "query stopped");
    switch ((ax_mt_xkind) x->kind)
    {
        case MT_X_CONST:
            return repeat(e, x, out);
        case MT_X_COLUMN:
            if (e->row != NULL)
                return ax_mt_reg_gather(e, x->type, &e->column[x->at], e->row, e->n, out);
            *out = e->column[x->at];
            return AX_OK;
        case MT_X_PARAM:
            *out = e->param[x->at];
            return AX_OK;
        default:
            return x->fn->run == NULL ? map(e, x, out) : call(e, x, out);
    }
}

ax_status ax_mt_derive(ax_task *t, const struct ax_mt_derived *d, const ax_mt_node *node,
                       ax_mt_win *w, const ax_mt_vals *arg, uint32_t n, ax_mt_vals *out)
{
    ax_mt_run e = {.t = t, .a = w->batch->arena, .n = n};
    ax_mt_reg r;

    AX_NEW(t, e.column, (ax_mt_reg *) ax_arena_alloc0(e.a, (d->narg + 1) * sizeof *e.column));
    for (uint32_t i = 0; i < d->narg; i++)
        AX_TRY(load(&e, d->arg[i]->node, &arg[i], n, d->arg[i]->type, &e.column[i]));
    AX_TRY(ax_mt_x_run(&e, d->root, &r));
    return store(&e, node, &r, out);
}
