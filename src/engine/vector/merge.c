/* Rows of several vectors: puts rows that stand in several gathered vectors into one vector.
 *
 * The vectors are what ax_vec_gather makes: FLAT, VIEW, DOC, LIST, STRUCT or MAP, never an
 * encoding. */
#include "vector/vector.h"

#include <string.h>

typedef struct from { const ax_vec *const *v; const uint32_t *i; uint32_t n; } from;

static ax_status merge(ax_task *t, ax_arena *a, const from *f, bool copy, ax_vec *out);

static ax_status merge_nulls(ax_task *t, ax_arena *a, const from *f, ax_vec *out)
{
    uint8_t any = 0;

    AX_NEW(t, out->null, ax_arena_values(a, f->n));
    for (uint32_t k = 0; k < f->n; k++)
        any |= out->null[k] = f->v[k]->null != NULL && f->v[k]->null[f->i[k]];
    if (!any)
        out->null = NULL;
    return AX_OK;
}

static ax_status merge_bytes(ax_task *t, ax_arena *a, const from *f, bool copy, ax_vec *out)
{
    const uint8_t **ptr;
    uint32_t *len;

    AX_NEW(t, ptr, ax_arena_values(a, sizeof(*ptr) * (size_t) f->n));
    AX_NEW(t, len, ax_arena_values(a, sizeof(*len) * (size_t) f->n));
    for (uint32_t k = 0; k < f->n; k++)
    {
        const ax_vec *v = f->v[k];
        bool doc = v->kind == AX_VK_DOC;

        AX_CHECK(t, doc == (out->kind == AX_VK_DOC) && (!doc || v->u.doc.form == out->u.doc.form),
                 AX_EUNSUPPORTED, "documents of different forms cannot stand together");
        ptr[k] = doc ? v->u.doc.ptr[f->i[k]] : v->u.view.ptr[f->i[k]];
        len[k] = doc ? v->u.doc.len[f->i[k]] : v->u.view.len[f->i[k]];
        if (out->null != NULL && out->null[k])
            len[k] = 0;
        if (copy)
        {
            uint8_t *p;

            AX_NEW(t, p, ax_arena_values(a, len[k]));
            if (len[k] > 0)
                memcpy(p, ptr[k], len[k]);
            ptr[k] = p;
        }
    }
    if (out->kind == AX_VK_DOC)
    {
        out->u.doc.ptr = ptr;
        out->u.doc.len = len;
        return AX_OK;
    }
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

static ax_status merge_fixed(ax_task *t, ax_arena *a, const from *f, ax_vec *out)
{
    size_t width = ax_phys_width(out->type.phys);
    uint8_t *o;

    AX_CHECK(t, width > 0, AX_EUNSUPPORTED, "rows with columns of type %s cannot be put together",
             ax_type_name(out->type.id));
    AX_NEW(t, o, ax_arena_values(a, width * f->n));
    out->u.data = o;
    for (uint32_t k = 0; k < f->n; k++)
        memcpy(o + width * k, (const uint8_t *) f->v[k]->u.data + width * f->i[k], width);
    return AX_OK;
}

static uint32_t list_len(const from *f, const ax_vec *out, uint32_t k)
{
    const uint32_t *off = f->v[k]->u.list.off;

    return out->null != NULL && out->null[k] ? 0 : off[f->i[k] + 1] - off[f->i[k]];
}

static ax_status merge_list(ax_task *t, ax_arena *a, const from *f, bool copy, ax_vec *out)
{
    uint32_t *off, *idx, total = 0, at = 0;
    const ax_vec **child;

    AX_NEW(t, off, ax_arena_values(a, sizeof(*off) * ((size_t) f->n + 1)));
    for (uint32_t k = 0; k < f->n; k++)
    {
        off[k] = total;
        total += list_len(f, out, k);
    }
    off[f->n] = total;
    AX_NEW(t, child, ax_arena_values(a, sizeof(*child) * (size_t) total));
    AX_NEW(t, idx, ax_arena_values(a, sizeof(*idx) * (size_t) total));
    for (uint32_t k = 0; k < f->n; k++)
        for (uint32_t e = 0; e < list_len(f, out, k); e++, at++)
        {
            child[at] = f->v[k]->u.list.child;
            idx[at] = f->v[k]->u.list.off[f->i[k]] + e;
        }
    out->u.list.off = off;
    AX_NEW(t, out->u.list.child, ax_arena_alloc0(a, sizeof(ax_vec)));
    if (total == 0) /* an element type without elements */
    {
        *out->u.list.child = *f->v[0]->u.list.child;
        out->u.list.child->n = 0;
        return AX_OK;
    }
    return merge(t, a, &(from){child, idx, total}, copy, out->u.list.child);
}

static ax_status merge_struct(ax_task *t, ax_arena *a, const from *f, bool copy, ax_vec *out)
{
    uint32_t nfields = f->v[0]->u.st.n;
    const ax_vec **child;

    AX_NEW(t, child, ax_arena_values(a, sizeof(*child) * (size_t) f->n));
    AX_NEW(t, out->u.st.child, ax_arena_alloc0(a, sizeof(ax_vec) * nfields));
    out->u.st.n = nfields;
    for (uint32_t c = 0; c < nfields; c++)
    {
        for (uint32_t k = 0; k < f->n; k++)
            child[k] = &f->v[k]->u.st.child[c];
        AX_TRY(merge(t, a, &(from){child, f->i, f->n}, copy, &out->u.st.child[c]));
    }
    return AX_OK;
}

static ax_status merge(ax_task *t, ax_arena *a, const from *f, bool copy, ax_vec *out)
{
    const ax_vec *first = f->v[0];

    *out = (ax_vec){.kind = first->kind, .type = first->type, .n = f->n};
    if (first->kind == AX_VK_DOC)
        out->u.doc.form = first->u.doc.form;
    AX_TRY(merge_nulls(t, a, f, out));
    switch (first->kind)
    {
        case AX_VK_LIST:
        case AX_VK_MAP: return merge_list(t, a, f, copy, out);
        case AX_VK_STRUCT: return merge_struct(t, a, f, copy, out);
        case AX_VK_VIEW:
        case AX_VK_DOC: return merge_bytes(t, a, f, copy, out);
        default: return merge_fixed(t, a, f, out);
    }
}

ax_status ax_vec_merge(ax_task *t, ax_arena *a, const ax_vec *const *v, const uint32_t *i,
                       uint32_t n, bool copy, ax_vec *out)
{
    return merge(t, a, &(from){v, i, n}, copy, out);
}
