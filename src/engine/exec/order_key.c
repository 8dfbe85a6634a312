/* Images of sort keys, and comparison of kept rows. */
#include "exec/agg_int.h"
#include "exec/order_int.h"

#include "base/bytes.h"

#include <string.h>

#define SIGN ((uint64_t) 1 << 63)

bool ax_order_exact(ax_type type)
{
    switch (type.phys)
    {
        case AX_P_U8:
        case AX_P_I16:
        case AX_P_I32:
        case AX_P_I64:
        case AX_P_F32:
        case AX_P_F64: return true;
        default: return false;
    }
}

/* -0 and 0 are one value. */
static inline uint64_t image_f64(double d) { return (uint64_t) ax_f64_order(d + 0.0) ^ SIGN; }

static inline uint64_t image_i128(ax_i128 v)
{
    int64_t x = v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t) v;

    return (uint64_t) x ^ SIGN;
}

/* The integer part, rounded down: needs no rounding that could contradict the order. */
static uint64_t image_num(const ax_num *d)
{
    ax_i128 v = d->v, pow = 1;

    if (d->special == AX_NUM_WIDE)
        return (uint64_t) ax_num_wide_floor(ax_num_wide_of(d)) ^ SIGN;
    if (d->special)
        return d->special == AX_NUM_NINF ? 0 : ~(uint64_t) 0;
    for (int16_t i = 0; i < d->dscale && i < 38; i++)
        pow *= 10;
    if (d->dscale > 38)
        return image_i128(v < 0 ? -1 : 0);
    return image_i128(v / pow - (v < 0 && v % pow != 0));
}

static uint64_t image_interval(const ax_interval *d)
{
    ax_i128 us = ((ax_i128) d->months * 30 + d->days) * 86400000000LL + d->usec;

    return image_i128(us >> 9); /* below 2^72 */
}

static inline uint64_t image_str(const uint8_t *p, uint32_t len)
{
    uint64_t h = 0;

    if (len >= 8)
        return __builtin_bswap64(ax_load_u64(p));
    if (len > 0)
        memcpy(&h, p, len);
    return __builtin_bswap64(h);
}

#define IMAGES(T, expr)                                                                            \
    do                                                                                             \
    {                                                                                              \
        const T *d_ = (const T *) v->u.data;                                                       \
        if (sel != NULL)                                                                           \
            for (uint32_t i = 0; i < n; i++)                                                       \
            {                                                                                      \
                T x = d_[sel[i]];                                                                  \
                image[i] = (expr);                                                                 \
            }                                                                                      \
        else                                                                                       \
            for (uint32_t i = 0; i < n; i++)                                                       \
            {                                                                                      \
                T x = d_[i];                                                                       \
                image[i] = (expr);                                                                 \
            }                                                                                      \
    } while (0)

static ax_status fill_images(ax_task *t, const ax_vec *v, const uint16_t *sel, uint32_t n,
                             uint64_t *image)
{
    switch (v->type.phys)
    {
        case AX_P_U8: IMAGES(uint8_t, x | SIGN); break;
        case AX_P_I16: IMAGES(int16_t, (uint64_t) (int64_t) x ^ SIGN); break;
        case AX_P_I32: IMAGES(int32_t, (uint64_t) (int64_t) x ^ SIGN); break;
        case AX_P_I64: IMAGES(int64_t, (uint64_t) x ^ SIGN); break;
        case AX_P_F32: IMAGES(float, image_f64((double) x)); break;
        case AX_P_F64: IMAGES(double, image_f64(x)); break;
        case AX_P_NUM: IMAGES(ax_num, image_num(&x)); break;
        case AX_P_INTERVAL: IMAGES(ax_interval, image_interval(&x)); break;
        case AX_P_FIX16:
            for (uint32_t i = 0; i < n; i++)
                image[i] = image_str((const uint8_t *) v->u.data + 16u * (sel ? sel[i] : i), 16);
            break;
        case AX_P_STR:
            for (uint32_t i = 0; i < n; i++)
            {
                uint32_t row = sel ? sel[i] : i, len;
                const uint8_t *p;

                if (v->null != NULL && v->null[row])
                    continue;
                p = ax_vec_str(v, row, &len);
                image[i] = image_str(p, v->type.id == AX_T_BPCHAR ? ax_bpchar_len(p, len) : len);
            }
            break;
        default:
            return ax_fail(t, AX_EUNSUPPORTED, "type %s cannot be ordered",
                           ax_type_name(v->type.id));
    }
    return AX_OK;
}

ax_status ax_order_images(ax_task *t, ax_arena *scratch, const ax_order_key *key, const ax_vec *v,
                          const uint16_t *sel, uint32_t n, uint64_t *image)
{
    ax_vec flat = *v;

    if (v->kind != AX_VK_FLAT && v->kind != AX_VK_VIEW)
    {
        AX_TRY(ax_vec_gather(t, scratch, v, sel, n, false, &flat));
        sel = NULL;
    }
    AX_TRY(fill_images(t, &flat, sel, n, image));
    if (key->desc)
        for (uint32_t i = 0; i < n; i++)
            image[i] = ~image[i];
    if (flat.null != NULL)
        for (uint32_t i = 0; i < n; i++)
            if (flat.null[sel ? sel[i] : i])
                image[i] = key->nulls_first ? 0 : ~(uint64_t) 0;
    return AX_OK;
}

/* ---- bound before images -------------------------------------------------------------------- */

/* The value behind an image of an exact type, as the column stores it. */
static bool bound_value(ax_type type, uint64_t image, uint8_t *out, ax_kt *kt)
{
    int64_t i = (int64_t) (image ^ SIGN);
    double f = ax_f64_unorder(i);

    switch (type.phys)
    {
        case AX_P_I16: *kt = AX_KT_I16; break;
        case AX_P_I32: *kt = AX_KT_I32; break;
        case AX_P_I64: *kt = AX_KT_I64; break;
        case AX_P_F32:
        {
            float g = (float) f;

            *kt = AX_KT_F32;
            memcpy(out, &g, sizeof(g));
            return true;
        }
        case AX_P_F64:
            *kt = AX_KT_F64;
            memcpy(out, &f, sizeof(f));
            return true;
        default: return false;
    }
    memcpy(out, &i, sizeof(i)); /* little-endian: the low bytes are the narrow value */
    return true;
}

ax_status ax_order_prefilter(ax_task *t, ax_arena *scratch, const ax_order_key *key,
                             const ax_vec *v, uint64_t bound, const uint16_t *sel, uint32_t *n,
                             uint16_t *out, bool *done)
{
    const ax_kernels *k = ax_k_get();
    uint8_t value[16] = {0}, *mask;
    ax_kt kt;

    *done = false;
    /* An extreme image may be a null's, which stands for no value of the column. */
    if (v->kind != AX_VK_FLAT || bound == 0 || bound == ~(uint64_t) 0
        || !bound_value(v->type, key->desc ? ~bound : bound, value, &kt))
        return AX_OK;
    *done = true;
    AX_NEW(t, mask, ax_arena_values(scratch, v->n));
    k->cmp[kt][key->desc ? AX_KC_GE : AX_KC_LE][1](v->u.data, value, mask, v->n);
    if (v->null != NULL && key->nulls_first)
        k->or(mask, v->null, mask, v->n);
    else if (v->null != NULL)
        k->andnot(mask, v->null, mask, v->n);
    *n = sel != NULL ? k->refine(mask, sel, *n, out) : k->mask_to_sel(mask, v->n, out);
    return AX_OK;
}

/* ---- comparison ----------------------------------------------------------------------------- */

#define LOADED(name, T)                                                                            \
    static inline T load_##name(const uint8_t *p)                                                  \
    {                                                                                              \
        T v;                                                                                       \
        memcpy(&v, p, sizeof(v));                                                                  \
        return v;                                                                                  \
    }
LOADED(i16, int16_t)
LOADED(i32, int32_t)
LOADED(i64, int64_t)
LOADED(f32, float)
LOADED(f64, double)

ax_value ax_order_row_value(const ax_order_layout *l, uint32_t col, const uint8_t *row)
{
    ax_value v = {.type = l->type[col], .null = row[l->null_off + col]};
    const uint8_t *p = row + l->off[col];

    switch (v.type.phys)
    {
        case AX_P_U8: v.u.i = *p; break;
        case AX_P_I16: v.u.i = load_i16(p); break;
        case AX_P_I32: v.u.i = load_i32(p); break;
        case AX_P_I64: v.u.i = load_i64(p); break;
        case AX_P_F32: v.u.f = (double) load_f32(p); break;
        case AX_P_F64: v.u.f = load_f64(p); break;
        case AX_P_NUM: memcpy(&v.u.num, p, sizeof(v.u.num)); break;
        case AX_P_INTERVAL: memcpy(&v.u.iv, p, sizeof(v.u.iv)); break;
        case AX_P_STR:
            v.u.s.p = (const uint8_t *) (uintptr_t) ax_load_u64(p);
            v.u.s.len = ax_load_u32(p + 8);
            break;
        default: memcpy(v.u.fix, p, 16); break;
    }
    return v;
}

static int cmp_column(const ax_order_layout *l, uint32_t col, const uint8_t *a, const uint8_t *b)
{
    uint32_t off = l->off[col];
    int64_t x, y;

    switch (l->type[col].phys)
    {
        case AX_P_I16: x = load_i16(a + off), y = load_i16(b + off); break;
        case AX_P_I32: x = load_i32(a + off), y = load_i32(b + off); break;
        case AX_P_I64: x = load_i64(a + off), y = load_i64(b + off); break;
        case AX_P_STR:
            if (l->type[col].id != AX_T_BPCHAR)
                return ax_bytes_cmp((const uint8_t *) (uintptr_t) ax_load_u64(a + off),
                                    ax_load_u32(a + off + 8),
                                    (const uint8_t *) (uintptr_t) ax_load_u64(b + off),
                                    ax_load_u32(b + off + 8));
            /* fall through */
        default:
        {
            ax_value p = ax_order_row_value(l, col, a), q = ax_order_row_value(l, col, b);

            return ax_value_cmp(&p, &q);
        }
    }
    return (x > y) - (x < y);
}

int ax_order_rows_cmp(const ax_order_layout *l, const uint8_t *a, const uint8_t *b)
{
    for (uint32_t k = 0; k < l->nkeys; k++)
    {
        const ax_order_key *key = &l->key[k];
        uint8_t na = a[l->null_off + key->col], nb = b[l->null_off + key->col];
        int r;

        if (na | nb)
            r = na == nb ? 0 : (na > nb) == key->nulls_first ? -1 : 1;
        else
        {
            r = cmp_column(l, key->col, a, b);
            r = key->desc ? -r : r;
        }
        if (r != 0)
            return r;
    }
    return 0;
}
