/* States of aggregates that keep one of their values: min, max, any_value, bool_and and bool_or.
 *
 * Numbers of up to 64 bits are compared as int64, floats in an order form; strings by their first
 * bytes, then by all; decimals, intervals and 16-byte values as they are.  Of equal values the last
 * one stays, as in the server. */
#include "exec/agg_int.h"

#include <string.h>

typedef struct stext { int64_t v; uint64_t seen; } stext;
typedef struct ststr { uint64_t head; const uint8_t *p; uint32_t len, room; } ststr;
typedef struct stval { uint64_t seen; uint8_t v[sizeof(ax_num)]; } stval;

#define STATE(T, i) ((T *) (void *) (row[i] + off))

/* ---- numbers --------------------------------------------------------------------------------- */

static void scatter_min(uint8_t *const *row, uint32_t off, uint32_t n, const int64_t *v,
                        const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
    {
        stext *s = STATE(stext, i);

        if ((skip == NULL || !skip[i]) && (v[i] < s->v || !s->seen))
            *s = (stext){v[i], 1};
    }
}

static void scatter_max(uint8_t *const *row, uint32_t off, uint32_t n, const int64_t *v,
                        const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
    {
        stext *s = STATE(stext, i);

        if ((skip == NULL || !skip[i]) && (v[i] > s->v || !s->seen))
            *s = (stext){v[i], 1};
    }
}

static void one_extreme(stext *s, uint32_t n, const int64_t *v, const uint8_t *skip, bool max)
{
    int64_t best = max ? INT64_MIN : INT64_MAX;

    if (ax_step_kept(skip, n) == 0)
        return;
    if (max)
        for (uint32_t i = 0; i < n; i++)
        {
            int64_t x = skip != NULL && skip[i] ? INT64_MIN : v[i];

            best = x > best ? x : best;
        }
    else
        for (uint32_t i = 0; i < n; i++)
        {
            int64_t x = skip != NULL && skip[i] ? INT64_MAX : v[i];

            best = x < best ? x : best;
        }
    if (!s->seen || (max ? best > s->v : best < s->v))
        *s = (stext){best, 1};
}

void ax_step_update_extreme(const ax_step *s, uint8_t *const *row, uint8_t *one, uint32_t n,
                            const int64_t *v, const uint8_t *skip)
{
    if (one != NULL)
        one_extreme((stext *) (void *) (one + s->off), n, v, skip, s->op == AX_STEP_MAX64);
    else if (s->op == AX_STEP_MIN64)
        scatter_min(row, s->off, n, v, skip);
    else
        scatter_max(row, s->off, n, v, skip);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* First eight bytes as a big-endian number: orders as memcmp does as far as it reaches. */
static inline uint64_t str_head(const uint8_t *p, uint32_t len)
{
    uint64_t h = 0;

    if (len > 0)
        memcpy(&h, p, len < 8 ? len : 8);
    return __builtin_bswap64(h);
}

static inline bool str_better(const ststr *s, uint64_t head, const uint8_t *p, uint32_t len,
                              bool max)
{
    if (s->p == NULL)
        return true;
    if (head != s->head)
        return (head > s->head) == max;
    return max ? ax_bytes_cmp(p, len, s->p, s->len) > 0 : ax_bytes_cmp(p, len, s->p, s->len) < 0;
}

static ax_status str_take(ax_task *t, ax_arena *mem, ststr *s, uint64_t head, const uint8_t *p,
                          uint32_t len)
{
    if (s->p == NULL || len > s->room)
    {
        /* Twice the room, so that a sequence of longer and longer values wastes little. */
        uint32_t room = s->p == NULL ? len : 2 * len;

        AX_NEW(t, s->p, ax_arena_alloc(mem, room));
        s->room = room;
    }
    if (len > 0)
        memcpy((uint8_t *) (uintptr_t) s->p, p, len);
    s->head = head;
    s->len = len;
    return AX_OK;
}

ax_status ax_step_update_str(ax_task *t, const ax_step *step, ax_arena *mem, uint8_t *const *row,
                             uint8_t *one, uint32_t n, const ax_step_in *in)
{
    bool max = step->op == AX_STEP_MAXSTR;

    for (uint32_t i = 0; i < n; i++)
    {
        ststr *s = (ststr *) (void *) ((one ? one : row[i]) + step->off);
        const uint8_t *p;
        uint32_t len;
        uint64_t head;

        if (in->skip != NULL && in->skip[i])
            continue;
        p = ax_vec_str(&in->v, i, &len);
        head = str_head(p, len);
        if (str_better(s, head, p, len, max))
            AX_TRY(str_take(t, mem, s, head, p, len));
    }
    return AX_OK;
}

/* ---- other values ---------------------------------------------------------------------------- */

static int compare(ax_phys p, const uint8_t *a, const uint8_t *b)
{
    ax_value x = {.type.id = AX_T_NUMERIC}, y = {.type.id = AX_T_NUMERIC};

    if (p == AX_P_FIX16)
        return memcmp(a, b, 16);
    x.type.phys = y.type.phys = (uint8_t) p;
    if (p == AX_P_NUM)
    {
        memcpy(&x.u.num, a, sizeof(x.u.num));
        memcpy(&y.u.num, b, sizeof(y.u.num));
        return ax_num_cmp(&x.u.num, &y.u.num);
    }
    memcpy(&x.u.iv, a, sizeof(x.u.iv));
    memcpy(&y.u.iv, b, sizeof(y.u.iv));
    return ax_value_cmp(&x, &y);
}

static inline void take_value(stval *s, ax_phys p, uint32_t width, const uint8_t *v, bool max)
{
    int c = s->seen ? compare(p, v, s->v) : 0;

    if (max ? c < 0 : c > 0)
        return;
    memcpy(s->v, v, width);
    s->seen = 1;
}

void ax_step_update_value(const ax_step *s, uint8_t *const *row, uint8_t *one, uint32_t n,
                          const ax_step_in *in)
{
    ax_phys p = (ax_phys) in->v.type.phys;
    uint32_t width = ax_phys_width(p);
    const uint8_t *v = (const uint8_t *) in->v.u.data;

    for (uint32_t i = 0; i < n; i++, v += width)
        if (in->skip == NULL || !in->skip[i])
            take_value((stval *) (void *) ((one ? one : row[i]) + s->off), p, width, v,
                       s->op == AX_STEP_MAXVAL);
}

/* ---- merges and results ---------------------------------------------------------------------- */

static void merge_extreme(stext *a, const stext *b, bool max)
{
    if (b->seen && (!a->seen || (max ? b->v > a->v : b->v < a->v)))
        *a = *b;
}

static void merge_str(ststr *a, const ststr *b, bool max)
{
    if (b->p != NULL && str_better(a, b->head, b->p, b->len, max))
        *a = *b;
}

void ax_step_merge_keep(const ax_step *s, void *a, const void *b)
{
    ax_phys p = (ax_phys) s->arg_type.phys;

    switch (s->op)
    {
        case AX_STEP_MIN64: merge_extreme((stext *) a, (const stext *) b, false); break;
        case AX_STEP_MAX64: merge_extreme((stext *) a, (const stext *) b, true); break;
        case AX_STEP_MINSTR: merge_str((ststr *) a, (const ststr *) b, false); break;
        case AX_STEP_MAXSTR: merge_str((ststr *) a, (const ststr *) b, true); break;
        default:
            if (((const stval *) b)->seen)
                take_value((stval *) a, p, ax_phys_width(p), ((const stval *) b)->v,
                           s->op == AX_STEP_MAXVAL);
    }
}

uint64_t ax_step_count_keep(uint8_t op, const void *st)
{
    switch (op)
    {
        case AX_STEP_MIN64:
        case AX_STEP_MAX64: return ((const stext *) st)->seen;
        case AX_STEP_MINSTR:
        case AX_STEP_MAXSTR: return ((const ststr *) st)->p != NULL;
        default: return ((const stval *) st)->seen;
    }
}

void ax_step_store_i64(ax_phys p, void *out, uint32_t i, int64_t v)
{
    switch (p)
    {
        case AX_P_U8: ((uint8_t *) out)[i] = (uint8_t) v; break;
        case AX_P_I16: ((int16_t *) out)[i] = (int16_t) v; break;
        case AX_P_I32: ((int32_t *) out)[i] = (int32_t) v; break;
        case AX_P_F32: ((float *) out)[i] = (float) ax_f64_unorder(v); break;
        case AX_P_F64: ((double *) out)[i] = ax_f64_unorder(v); break;
        default: ((int64_t *) out)[i] = v; break;
    }
}

void ax_step_result_keep(const ax_step *s, ax_type type, const void *st, void *out, uint32_t i)
{
    uint32_t width = ax_phys_width((ax_phys) type.phys);

    if (s->op == AX_STEP_MIN64 || s->op == AX_STEP_MAX64)
        ax_step_store_i64((ax_phys) type.phys, out, i, ((const stext *) st)->v);
    else
        memcpy((uint8_t *) out + (size_t) width * i, ((const stval *) st)->v, width);
}

ax_status ax_step_result_str(ax_task *t, ax_arena *a, uint32_t off, uint8_t *const *row, uint32_t n,
                             ax_vec *out)
{
    const uint8_t **ptr;
    uint32_t *len;

    AX_NEW(t, ptr, ax_arena_values(a, sizeof(*ptr) * n));
    AX_NEW(t, len, ax_arena_values(a, sizeof(*len) * n));
    for (uint32_t i = 0; i < n; i++)
    {
        const ststr *s = (const ststr *) (void *) (row[i] + off);

        ptr[i] = s->p;
        len[i] = s->p != NULL ? s->len : 0;
    }
    out->kind = AX_VK_VIEW;
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}
