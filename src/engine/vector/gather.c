/* Moves rows: gathers selected rows of any encoding into plain vectors.
 *
 * The rows to fetch come as uint16 selection, as "all", or (inside dictionaries, runs and lists)
 * as uint32 row numbers; one always-inline body serves the three.  RUN is turned into row numbers
 * of its child, DICT into row numbers of its values, so that encodings compose. */
#include "vector/vector.h"

#include <string.h>

typedef struct rows
{
    const uint16_t *r16; /* one of the two, or none: row i is i */
    const uint32_t *r32;
    uint32_t n;
} rows;

static inline uint32_t row_at(const rows *r, uint32_t i)
{
    return r->r16 ? r->r16[i] : r->r32 ? r->r32[i] : i;
}

#define MOVE(T)                                                                                    \
    do                                                                                             \
    {                                                                                              \
        T *d_ = (T *) dst;                                                                         \
        const T *s_ = (const T *) src;                                                             \
        if (r->r16)                                                                                \
            for (uint32_t i = 0; i < r->n; i++)                                                    \
                d_[i] = s_[r->r16[i]];                                                             \
        else if (r->r32)                                                                           \
            for (uint32_t i = 0; i < r->n; i++)                                                    \
                d_[i] = s_[r->r32[i]];                                                             \
        else                                                                                       \
            memcpy(d_, s_, sizeof(T) * (size_t) r->n);                                             \
    } while (0)

typedef struct w16 { uint64_t w[2]; } w16;
typedef struct w32 { uint64_t w[4]; } w32;

static void move_fixed(void *dst, const void *src, uint32_t width, const rows *r)
{
    if (r->n == 0)
        return;
    switch (width)
    {
        case 1: MOVE(uint8_t); break;
        case 2: MOVE(uint16_t); break;
        case 4: MOVE(uint32_t); break;
        case 8: MOVE(uint64_t); break;
        case 16: MOVE(w16); break;
        default: MOVE(w32); break;
    }
}

static ax_status gather(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r, bool copy_bytes,
                        ax_vec *out);

static ax_status gather_nulls(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r, ax_vec *out)
{
    uint8_t any = 0;

    if (v->null == NULL)
        return AX_OK;
    AX_NEW(t, out->null, ax_arena_values(a, r->n));
    if (v->kind == AX_VK_CONST)
    {
        memset(out->null, v->null[0], r->n);
        any = v->null[0];
    }
    else
    {
        move_fixed(out->null, v->null, 1, r);
        for (uint32_t i = 0; i < r->n; i++)
            any |= out->null[i];
    }
    if (!any)
        out->null = NULL;
    return AX_OK;
}

/* Replace borrowed string pointers by copies in `a`. */
static ax_status own_bytes(ax_task *t, ax_arena *a, const uint8_t **ptr, uint32_t *len,
                           const uint8_t *null, uint32_t n)
{
    size_t total = 0;
    uint8_t *p;

    for (uint32_t i = 0; i < n; i++)
    {
        if (null != NULL && null[i])
            len[i] = 0;
        total += len[i];
    }
    AX_NEW(t, p, ax_arena_values(a, total));
    for (uint32_t i = 0; i < n; i++)
    {
        if (len[i] > 0)
            memcpy(p, ptr[i], len[i]);
        ptr[i] = p;
        p += len[i];
    }
    return AX_OK;
}

/* FLAT, CONST, VIEW strings and DOC: pointers and lengths. */
static ax_status gather_bytes(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r,
                              bool copy_bytes, ax_vec *out)
{
    const uint8_t **ptr;
    uint32_t *len;

    AX_NEW(t, ptr, ax_arena_values(a, sizeof(*ptr) * (size_t) r->n));
    AX_NEW(t, len, ax_arena_values(a, sizeof(*len) * (size_t) r->n));
    if (v->kind == AX_VK_DOC || v->kind == AX_VK_VIEW)
    {
        bool doc = v->kind == AX_VK_DOC;

        move_fixed(ptr, doc ? v->u.doc.ptr : v->u.view.ptr, sizeof(*ptr), r);
        move_fixed(len, doc ? v->u.doc.len : v->u.view.len, sizeof(*len), r);
    }
    else
        for (uint32_t i = 0; i < r->n; i++)
        {
            uint32_t row = v->kind == AX_VK_CONST ? 0 : row_at(r, i);

            ptr[i] = v->u.str.base + v->u.str.off[row];
            len[i] = v->u.str.len[row];
        }
    if (copy_bytes)
        AX_TRY(own_bytes(t, a, ptr, len, out->null, r->n));
    if (v->kind == AX_VK_DOC)
    {
        out->kind = AX_VK_DOC;
        out->u.doc.ptr = ptr;
        out->u.doc.len = len;
        out->u.doc.form = v->u.doc.form;
        return AX_OK;
    }
    out->kind = AX_VK_VIEW;
    out->flags = v->flags & AX_VF_ASCII;
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

/* Row numbers in the child of a RUN or the values of a DICT. */
static ax_status child_rows(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r, rows *out)
{
    uint32_t *idx;

    if (v->kind == AX_VK_DICT && r->r16 == NULL && r->r32 == NULL)
    {
        *out = (rows){NULL, v->u.dict.id, r->n};
        return AX_OK;
    }
    AX_NEW(t, idx, ax_arena_values(a, sizeof(*idx) * (size_t) r->n));
    if (v->kind == AX_VK_DICT)
        move_fixed(idx, v->u.dict.id, sizeof(*idx), r);
    else if (r->r32 == NULL) /* ascending rows: walk the runs */
        for (uint32_t i = 0, run = 0; i < r->n; i++)
        {
            while (run + 1 < v->u.run.n && v->u.run.end[run] <= row_at(r, i))
                run++;
            idx[i] = run;
        }
    else
        for (uint32_t i = 0; i < r->n; i++)
            idx[i] = ax_vec_run_at(v, r->r32[i]);
    *out = (rows){NULL, idx, r->n};
    return AX_OK;
}

static ax_status gather_list(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r,
                             bool copy_bytes, ax_vec *out)
{
    uint32_t *off, *idx, total = 0;
    ax_vec *child;

    AX_NEW(t, off, ax_arena_values(a, sizeof(*off) * ((size_t) r->n + 1)));
    for (uint32_t i = 0; i < r->n; i++)
    {
        uint32_t row = row_at(r, i);

        off[i] = total;
        total += v->u.list.off[row + 1] - v->u.list.off[row];
    }
    off[r->n] = total;
    AX_NEW(t, idx, ax_arena_values(a, sizeof(*idx) * (size_t) total));
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = off[i], src = v->u.list.off[row_at(r, i)]; k < off[i + 1]; k++, src++)
            idx[k] = src;
    AX_NEW(t, child, ax_arena_alloc0(a, sizeof(*child)));
    AX_TRY(gather(t, a, v->u.list.child, &(rows){NULL, idx, total}, copy_bytes, child));
    out->kind = v->kind;
    out->u.list.off = off;
    out->u.list.child = child;
    return AX_OK;
}

static ax_status gather_struct(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r,
                               bool copy_bytes, ax_vec *out)
{
    ax_vec *child;

    AX_NEW(t, child, ax_arena_alloc0(a, sizeof(*child) * v->u.st.n));
    for (uint32_t i = 0; i < v->u.st.n; i++)
        AX_TRY(gather(t, a, &v->u.st.child[i], r, copy_bytes, &child[i]));
    out->kind = AX_VK_STRUCT;
    out->u.st.child = child;
    out->u.st.n = v->u.st.n;
    return AX_OK;
}

static ax_status gather(ax_task *t, ax_arena *a, const ax_vec *v, const rows *r, bool copy_bytes,
                        ax_vec *out)
{
    uint32_t width = ax_phys_width(v->type.phys);
    rows inner;

    if (v->kind == AX_VK_DICT || v->kind == AX_VK_RUN)
    {
        const ax_vec *child = v->kind == AX_VK_DICT ? &v->u.dict.dict->val : v->u.run.val;
        uint8_t *null;

        *out = (ax_vec){.type = v->type, .n = r->n};
        AX_TRY(gather_nulls(t, a, v, r, out));
        null = out->null;
        if (child->n == 0) /* all rows are null: the ids mean nothing */
        {
            ax_value none = {.type = v->type, .null = true};
            ax_vec c;

            AX_TRY(ax_vec_const(t, a, &none, r->n, &c));
            return gather(t, a, &c, &(rows){NULL, NULL, r->n}, false, out);
        }
        AX_TRY(child_rows(t, a, v, r, &inner));
        AX_TRY(gather(t, a, child, &inner, copy_bytes, out));
        out->type = v->type;
        if (null != NULL && out->null != NULL)
            for (uint32_t i = 0; i < r->n; i++)
                out->null[i] |= null[i];
        else if (null != NULL)
            out->null = null;
        return AX_OK;
    }
    *out = (ax_vec){.kind = AX_VK_FLAT, .type = v->type, .n = r->n};
    AX_TRY(gather_nulls(t, a, v, r, out));
    if (v->kind == AX_VK_LIST || v->kind == AX_VK_MAP)
        return gather_list(t, a, v, r, copy_bytes, out);
    if (v->kind == AX_VK_STRUCT)
        return gather_struct(t, a, v, r, copy_bytes, out);
    if (ax_type_is_str(v->type) || v->kind == AX_VK_DOC)
        return gather_bytes(t, a, v, r, copy_bytes, out);
    AX_CHECK(t, width > 0, AX_EUNSUPPORTED, "rows of type %s cannot be gathered",
             ax_type_name(v->type.id));
    AX_NEW(t, out->u.data, ax_arena_values(a, width * (size_t) r->n));
    if (v->kind == AX_VK_SEQ)
        for (uint32_t i = 0; i < r->n; i++)
            ((int64_t *) out->u.data)[i] = v->u.seq.start + (int64_t) row_at(r, i) * v->u.seq.step;
    else if (v->kind == AX_VK_CONST)
        for (uint32_t i = 0; i < r->n; i++)
            memcpy((uint8_t *) out->u.data + (size_t) width * i, v->u.data, width);
    else
        move_fixed(out->u.data, v->u.data, width, r);
    return AX_OK;
}

ax_status ax_vec_gather(ax_task *t, ax_arena *a, const ax_vec *v, const uint16_t *sel,
                        uint32_t nsel, bool copy_bytes, ax_vec *out)
{
    return gather(t, a, v, &(rows){sel, NULL, sel ? nsel : v->n}, copy_bytes, out);
}

ax_status ax_vec_gather32(ax_task *t, ax_arena *a, const ax_vec *v, const uint32_t *row, uint32_t n,
                          bool copy_bytes, ax_vec *out)
{
    return gather(t, a, v, &(rows){NULL, row, n}, copy_bytes, out);
}

ax_status ax_vec_flatten(ax_task *t, ax_arena *a, const ax_vec *v, ax_vec *out)
{
    switch (v->kind)
    {
        case AX_VK_CONST:
        case AX_VK_DICT:
        case AX_VK_RUN:
        case AX_VK_SEQ:
            return gather(t, a, v, &(rows){NULL, NULL, v->n}, false, out);
        default:
            *out = *v;
            return AX_OK;
    }
}
