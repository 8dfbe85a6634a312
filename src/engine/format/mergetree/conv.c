/* From values of nodes to vectors of declared columns.
 *
 * Values of the same representation are not copied: the vector points into the frame.  The others
 * go through one loop a kind; loops or their failures together and look once at the end, and a
 * slow pass finds the first row that failed.  Rows under a null never fail.
 *
 * Format: mergetree.md, "Types". */
#include "mergetree_int.h"

#include "base/utf8.h"

#include <math.h>

/* ---- plain values ---------------------------------------------------------------------------- */

__attribute__((always_inline)) static inline int64_t load(const uint8_t *p, uint32_t i,
                                                          uint32_t width, bool is_signed)
{
    switch (width)
    {
        case 1: return is_signed ? (int64_t) (int8_t) p[i] : (int64_t) p[i];
        case 2:
        {
            uint16_t v = ax_load_u16(p + 2ull * i);

            return is_signed ? (int64_t) (int16_t) v : (int64_t) v;
        }
        case 4:
        {
            uint32_t v = ax_load_u32(p + 4ull * i);

            return is_signed ? (int64_t) (int32_t) v : (int64_t) v;
        }
        default: return (int64_t) ax_load_u64(p + 8ull * i);
    }
}

/* Integers of sw bytes to dw bytes; is64: an unsigned source of 64 bits, where negative means too
 * large. */
__attribute__((always_inline)) static inline bool integers(const ax_mt_conv *c,
                                                           const uint8_t *restrict src, uint32_t n,
                                                           void *restrict dst, uint32_t sw,
                                                           uint32_t dw, bool is_signed)
{
    int64_t lo = sw == 8 && !is_signed && c->lo < 0 ? 0 : c->lo, hi = c->hi;
    int bad = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        int64_t v = load(src, i, sw, is_signed);

        bad |= (v < lo) | (v > hi);
        ax_store_int(dst, i, v, dw);
    }
    return !bad;
}

__attribute__((always_inline)) static inline bool linear(const ax_mt_conv *c,
                                                         const uint8_t *restrict src, uint32_t n,
                                                         void *restrict dst, uint32_t sw,
                                                         uint32_t dw, bool is_signed)
{
    int64_t lo = c->lo, hi = c->hi, mul = c->mul, div = c->div, add = c->add;
    int bad = 0;
    uint32_t i;

    for (i = 0; i < n; i++)
    {
        int64_t v = load(src, i, sw, is_signed);

        bad |= (v < lo) | (v > hi);
    }
    if (bad)
        return false;
    if (div == 1)
        for (i = 0; i < n; i++)
            ax_store_int(dst, i, load(src, i, sw, is_signed) * mul + add, dw);
    else
        for (i = 0; i < n; i++)
            ax_store_int(dst, i, ax_floor_div(load(src, i, sw, is_signed), div) + add, dw);
    return true;
}

#define BY_WIDTH(body, dw)                                                                         \
    switch (c->src->width * 2 + c->is_signed)                                                      \
    {                                                                                              \
        case 2: return body(c, src, n, dst, 1, dw, false);                                         \
        case 3: return body(c, src, n, dst, 1, dw, true);                                          \
        case 4: return body(c, src, n, dst, 2, dw, false);                                         \
        case 5: return body(c, src, n, dst, 2, dw, true);                                          \
        case 8: return body(c, src, n, dst, 4, dw, false);                                         \
        case 9: return body(c, src, n, dst, 4, dw, true);                                          \
        case 16: return body(c, src, n, dst, 8, dw, false);                                        \
        default: return body(c, src, n, dst, 8, dw, true);                                         \
    }

static bool int2(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    BY_WIDTH(integers, 2)
}

static bool int4(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    BY_WIDTH(integers, 4)
}

static bool int8(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    BY_WIDTH(integers, 8)
}

static bool linear4(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    BY_WIDTH(linear, 4)
}

static bool linear8(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    BY_WIDTH(linear, 8)
}

/* ---- numeric --------------------------------------------------------------------------------- */

static int64_t pow10_of(int n)
{
    int64_t v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

/* An integer of any width as 128 bits; false: it has more. */
static bool wide(const ax_mt_conv *c, const uint8_t *p, ax_i128 *out)
{
    uint32_t w = c->src->width, i;
    uint64_t fill;

    if (w <= 8)
    {
        int64_t v = load(p, 0, w, c->is_signed);

        *out = c->is_signed ? v : (ax_i128) (uint64_t) v;
        return true;
    }
    memcpy(out, p, 16);
    fill = c->is_signed && *out < 0 ? UINT64_MAX : 0;
    if (!c->is_signed && *out < 0)
        return false;
    for (i = 16; i < w; i += 8)
        if (ax_load_u64(p + i) != fill)
            return false;
    return true;
}

/* 64 bits and less, whose digits stay as they are. */
__attribute__((always_inline)) static inline bool same_scale(const ax_mt_conv *c,
                                                             const uint8_t *restrict src,
                                                             uint32_t n, ax_num *restrict dst,
                                                             uint32_t sw, bool is_signed)
{
    const ax_i128 most = c->num.most;
    ax_i128 widest = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        int64_t x = load(src, i, sw, is_signed);
        ax_i128 v = is_signed ? (ax_i128) x : (ax_i128) (uint64_t) x;

        widest |= v < 0 ? -v : v;
        dst[i] = (ax_num){.v = v, .dscale = c->num.dscale};
    }
    /* The or of all values is at most twice the largest, which nearly always decides. */
    if (widest < most)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (dst[i].v >= most || dst[i].v <= -most)
            return false;
    return true;
}

/* Numbers that 128 bits have no room for, as far as the declared type has. */
static bool long_number(const ax_mt_conv *c, const uint8_t *p, ax_num *out)
{
    char buf[96];
    uint32_t n = ax_mt_text(c->src, p, buf);

    return ax_digits_to_num(buf, n, c->num.precision, c->num.dscale, out);
}

static bool numerics(const ax_mt_conv *c, const uint8_t *src, uint32_t n, ax_num *dst)
{
    bool few = c->num.rescale > -38 && c->num.rescale < 38, ok = true;

    if (c->num.rescale == 0 && c->src->width == 8)
        return c->is_signed ? same_scale(c, src, n, dst, 8, true)
                            : same_scale(c, src, n, dst, 8, false);
    if (c->num.rescale == 0 && c->src->width == 4)
        return c->is_signed ? same_scale(c, src, n, dst, 4, true)
                            : same_scale(c, src, n, dst, 4, false);
    for (uint32_t i = 0; i < n; i++)
    {
        const uint8_t *p = src + (size_t) i * c->src->width;
        ax_i128 v;

        if (few && wide(c, p, &v))
            ok = ax_fmt_number(&c->num, v, &dst[i]) && ok;
        else
            ok = long_number(c, p, &dst[i]) && ok;
    }
    return ok;
}

/* ---- others ---------------------------------------------------------------------------------- */

static void uuids(const uint8_t *src, uint32_t n, uint8_t *dst)
{
    for (uint32_t i = 0; i < n; i++)
    {
        uint64_t high = __builtin_bswap64(ax_load_u64(src + 16ull * i));
        uint64_t low = __builtin_bswap64(ax_load_u64(src + 16ull * i + 8));

        memcpy(dst + 16ull * i, &high, 8);
        memcpy(dst + 16ull * i + 8, &low, 8);
    }
}

static bool interval(const ax_mt_conv *c, int64_t v, ax_interval *out)
{
    static const int64_t us[] = {[MT_MICROSECOND] = 1, [MT_MILLISECOND] = 1000,
                                 [MT_SECOND] = 1000000, [MT_MINUTE] = 60000000,
                                 [MT_HOUR] = 3600000000};
    int64_t n = 0;

    *out = (ax_interval){0};
    if (c->src->id == MT_TIME)
        return !__builtin_mul_overflow(v, 1000000, &out->usec);
    if (c->src->id == MT_TIME64)
    {
        int s = c->src->scale;

        if (s > 6)
        {
            out->usec = v / pow10_of(s - 6);
            return true;
        }
        return !__builtin_mul_overflow(v, pow10_of(6 - s), &out->usec);
    }
    switch (c->src->unit)
    {
        case MT_NANOSECOND:
            out->usec = ax_floor_div(v, 1000);
            return true;
        case MT_DAY:
        case MT_WEEK:
            if (__builtin_mul_overflow(v, c->src->unit == MT_WEEK ? 7 : 1, &n))
                return false;
            out->days = (int32_t) n;
            return n == out->days;
        case MT_MONTH:
        case MT_QUARTER:
        case MT_YEAR:
            if (__builtin_mul_overflow(
                    v, c->src->unit == MT_MONTH ? 1 : c->src->unit == MT_QUARTER ? 3 : 12, &n))
                return false;
            out->months = (int32_t) n;
            return n == out->months;
        default:
            return !__builtin_mul_overflow(v, us[c->src->unit], &out->usec);
    }
}

static bool intervals(const ax_mt_conv *c, const uint8_t *src, uint32_t n, ax_interval *dst)
{
    bool ok = true;

    for (uint32_t i = 0; i < n; i++)
        ok = interval(c, load(src, i, c->src->width, true), &dst[i]) && ok;
    return ok;
}

static void floats(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    uint32_t i, bits;
    float f;

    for (i = 0; i < n; i++)
        switch ((ax_mt_convkind) c->kind)
        {
            case MT_C_INT_F64:
                ((double *) dst)[i] = (double) load(src, i, c->src->width, c->is_signed);
                break;
            case MT_C_F32_F64:
                memcpy(&f, src + 4ull * i, 4);
                ((double *) dst)[i] = f;
                break;
            default:
                bits = (uint32_t) ax_load_u16(src + 2ull * i) << 16;
                memcpy((float *) dst + i, &bits, 4);
        }
}

static bool local(const ax_mt_conv *c, uint32_t n, int64_t *stamp)
{
    uint32_t hint = 0;

    for (uint32_t i = 0; i < n; i++)
        if (ax_tz_to_local(&c->zone, stamp[i], &hint, &stamp[i]) != AX_OK)
            return false;
    return true;
}

bool ax_mt_conv_fixed(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    uint32_t dw = ax_phys_width((ax_phys) c->type.phys);

    switch ((ax_mt_convkind) c->kind)
    {
        case MT_C_COPY:
            memcpy(dst, src, (size_t) n * dw);
            return true;
        case MT_C_BOOL:
            for (uint32_t i = 0; i < n; i++)
                ((uint8_t *) dst)[i] = src[i] != 0;
            return true;
        case MT_C_INT:
            return dw == 2 ? int2(c, src, n, dst) : dw == 4 ? int4(c, src, n, dst)
                                                            : int8(c, src, n, dst);
        case MT_C_LINEAR:
            return dw == 4 ? linear4(c, src, n, dst) : linear8(c, src, n, dst);
        case MT_C_ZONED:
            return linear8(c, src, n, dst) && local(c, n, (int64_t *) dst);
        case MT_C_NUM:
            return numerics(c, src, n, (ax_num *) dst);
        case MT_C_UUID:
            uuids(src, n, (uint8_t *) dst);
            return true;
        case MT_C_INTERVAL:
            return intervals(c, src, n, (ax_interval *) dst);
        default:
            floats(c, src, n, dst);
            return true;
    }
}

static ax_status out_of_range(ax_task *t, const ax_mt_conv *c)
{
    if (c->kind == MT_C_NUM && c->num.precision == 0)
        return ax_fail(t, AX_ERANGE,
                       "value of type %s has more than 38 digits: declare its precision",
                       c->src->text);
    return ax_fail(t, c->range_code, "value of type %s is out of range for type %s", c->src->text,
                   ax_type_name((ax_type_id) c->type.id));
}

/* Value by value, zeros under nulls: the loops failed. */
static ax_status one_by_one(ax_task *t, const ax_mt_conv *c, const uint8_t *src,
                            const uint8_t *null, uint32_t n, uint8_t *dst, uint32_t *fail_row)
{
    uint32_t dw = ax_phys_width((ax_phys) c->type.phys), i;

    for (i = 0; i < n; i++)
        if (null != NULL && null[i])
            memset(dst + (size_t) i * dw, 0, dw);
        else if (!ax_mt_conv_fixed(c, src + (size_t) i * c->src->width, 1, dst + (size_t) i * dw))
        {
            *fail_row = i;
            return out_of_range(t, c);
        }
    return AX_OK;
}

static ax_status plain(ax_task *t, const ax_mt_conv *c, const uint8_t *src, const uint8_t *null,
                       uint32_t n, ax_arena *a, ax_vec *out, uint32_t *fail_row)
{
    uint8_t *dst;

    out->kind = AX_VK_FLAT;
    if (c->kind == MT_C_COPY && (uintptr_t) src % AX_ALIGN == 0)
    {
        out->u.data = (void *) (uintptr_t) src;
        return AX_OK;
    }
    AX_NEW(t, dst, (uint8_t *) ax_arena_values(
                       a, (size_t) n * ax_phys_width((ax_phys) c->type.phys) + 1));
    out->u.data = dst;
    if (ax_mt_conv_fixed(c, src, n, dst))
        return AX_OK;
    return one_by_one(t, c, src, null, n, dst, fail_row);
}

/* ---- strings --------------------------------------------------------------------------------- */

static ax_status bad_text(ax_task *t) { return ax_fail(t, AX_ETEXT, "value is no valid UTF-8"); }

/* Strings by pointer; those of one buffer become a flat vector. */
static ax_status strings(ax_task *t, const ax_mt_conv *c, const uint8_t *const *ptr,
                         const uint32_t *len, bool one_base, uint32_t n, ax_arena *a, ax_vec *out,
                         uint32_t *fail_row)
{
    static const uint32_t zero = 0;
    bool ascii = true;
    uint32_t *off, i;

    if (one_base && n > 0 && (uint64_t) (ptr[n - 1] - ptr[0]) < UINT32_MAX / 2)
    {
        AX_NEW(t, off, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *off));
        for (i = 0; i < n; i++)
            off[i] = (uint32_t) (ptr[i] - ptr[0]);
        out->kind = AX_VK_FLAT;
        out->u.str.base = ptr[0];
        out->u.str.off = off;
        out->u.str.len = len;
        if (!c->check_text)
            return AX_OK;
        if (ax_utf8_ok(ptr[0], off, len, n, off[n - 1] == 0 || ptr[1] == ptr[0] + len[0] ? 0 : -1,
                       &ascii))
        {
            out->flags = ascii ? AX_VF_ASCII : 0;
            return AX_OK;
        }
    }
    else
    {
        out->kind = AX_VK_VIEW;
        out->u.view.ptr = ptr;
        out->u.view.len = len;
    }
    for (i = 0; c->check_text && i < n; i++)
        if (!ax_utf8_ok(ptr[i], &zero, &len[i], 1, -1, &ascii))
        {
            *fail_row = i;
            return bad_text(t);
        }
    out->flags = c->check_text && ascii ? AX_VF_ASCII : 0;
    return AX_OK;
}

static ax_status fixed_strings(ax_task *t, const ax_mt_conv *c, const uint8_t *src,
                               const uint8_t *null, uint32_t n, ax_arena *a, ax_vec *out,
                               uint32_t *fail_row)
{
    uint32_t w = c->src->width, *off, *len, i;
    bool ascii = true;

    AX_NEW(t, off, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *off + 1));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *len + 1));
    AX_CHECK(t, (uint64_t) n * w < INT32_MAX, AX_ELIMIT, "FixedString is too long");
    for (i = 0; i < n; i++)
    {
        off[i] = i * w;
        len[i] = null != NULL && null[i] ? 0 : w;
        while (c->trim && len[i] > 0 && src[off[i] + len[i] - 1] == 0)
            len[i]--;
    }
    out->kind = AX_VK_FLAT;
    out->u.str.base = src;
    out->u.str.off = off;
    out->u.str.len = len;
    for (i = 0; c->check_text && i < n; i++)
        if (!ax_utf8_ok(src, &off[i], &len[i], 1, -1, &ascii))
        {
            *fail_row = i;
            return bad_text(t);
        }
    out->flags = c->check_text && ascii ? AX_VF_ASCII : 0;
    return AX_OK;
}

/* Strings of both kinds, some of whose bytes are no text. */
static ax_status mended(ax_task *t, const ax_mt_conv *c, const ax_mt_vals *v, const uint8_t *null,
                        uint32_t n, ax_arena *a, ax_vec *out)
{
    uint32_t w = c->src->width, *off, *len, i, at = 0;
    uint64_t room = 0;
    uint8_t *bytes;

    AX_NEW(t, off, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *off + 1));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *len + 1));
    for (i = 0; i < n; i++)
    {
        len[i] = null != NULL && null[i] ? 0 : w > 0 ? w : v->len[i];
        room += 3 * (uint64_t) len[i];
    }
    AX_CHECK(t, room <= INT32_MAX, AX_ELIMIT, "strings of one batch are longer than the limit");
    AX_NEW(t, bytes, (uint8_t *) ax_arena_values(a, (size_t) room + 1));
    for (i = 0; i < n; i++)
    {
        const uint8_t *p = w > 0 ? v->data + (size_t) i * w : v->ptr[i];

        while (c->trim && len[i] > 0 && p[len[i] - 1] == 0)
            len[i]--;
        off[i] = at;
        len[i] = ax_fmt_mend((ax_encoding_check) c->mend, p, len[i], bytes + at);
        at += len[i];
    }
    out->kind = AX_VK_FLAT;
    out->u.str.base = bytes;
    out->u.str.off = off;
    out->u.str.len = len;
    return AX_OK;
}

static ax_status texts(ax_task *t, const ax_mt_conv *c, const uint8_t *src, const uint8_t *null,
                       uint32_t n, ax_arena *a, ax_vec *out)
{
    const uint8_t **ptr;
    uint32_t *len, i;
    uint8_t *p;

    enum { MOST = 96 };

    AX_NEW(t, ptr, (const uint8_t **) ax_arena_values(a, (size_t) n * sizeof *ptr + 1));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *len + 1));
    AX_NEW(t, p, (uint8_t *) ax_arena_values(a, (size_t) n * MOST + 1));
    for (i = 0; i < n; i++)
    {
        ptr[i] = p;
        len[i] = null != NULL && null[i]
                     ? 0 : ax_mt_text(c->src, src + (size_t) i * c->src->width, (char *) p);
        p += len[i];
    }
    out->kind = AX_VK_VIEW;
    out->flags = AX_VF_ASCII;
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* -0 is 0, NaN the greatest, as files are sorted. */
static int64_t order_of_float(const ax_mt_type *ty, const uint8_t *p)
{
    uint64_t bits;
    int64_t x;
    double d;
    float f;

    if (ty->width == 8)
        memcpy(&d, p, 8);
    else
    {
        uint32_t b = ty->width == 2 ? (uint32_t) ax_load_u16(p) << 16 : ax_load_u32(p);

        memcpy(&f, &b, 4);
        d = f;
    }
    if (isnan(d))
        return INT64_MAX;
    d += 0.0;
    memcpy(&bits, &d, 8);
    x = (int64_t) bits;
    return x < 0 ? (int64_t) (~bits ^ (1ull << 63)) : x;
}

static int64_t order_of_8(const ax_mt_type *ty, const uint8_t *p)
{
    switch ((ax_mt_tid) ty->id)
    {
        case MT_FLOAT:
        case MT_BFLOAT16:
            return order_of_float(ty, p);
        case MT_UINT:
            if (ty->width == 8)
                return (int64_t) (ax_load_u64(p) ^ (1ull << 63));
            return load(p, 0, ty->width, false);
        case MT_BOOL:
        case MT_DATE:
        case MT_DATETIME:
        case MT_IPV4:
            return load(p, 0, ty->width, false);
        default:
            return load(p, 0, ty->width, true);
    }
}

/* Numbers of more than 64 bits, from the most significant byte on; UUIDs are ordered as numbers of
 * 128 bits, whose halves are stored the other way around. */
static void order_of_wide(const ax_mt_type *ty, const uint8_t *p, uint8_t *out)
{
    if (ty->id == MT_IPV6)
    {
        memcpy(out, p, 16);
        return;
    }
    for (uint32_t i = 0; i < ty->width; i++)
        out[i] = p[ty->width - 1 - i];
    if (ty->id != MT_UINT && ty->id != MT_UUID)
        out[0] ^= 0x80;
}

int ax_mt_order_cmp(const ax_mt_type *ty, const uint8_t *p, const uint8_t *q)
{
    uint8_t a[32], b[32];
    int64_t x, y;

    if (ty->width > 8)
    {
        order_of_wide(ty, p, a);
        order_of_wide(ty, q, b);
        return memcmp(a, b, ty->width);
    }
    x = order_of_8(ty, p);
    y = order_of_8(ty, q);
    if ((ty->id == MT_FLOAT || ty->id == MT_BFLOAT16) && (x == INT64_MAX || y == INT64_MAX))
        return 0;
    return (x > y) - (x < y);
}

static ax_status order(ax_task *t, const ax_mt_conv *c, const uint8_t *src, uint32_t n,
                       ax_arena *a, ax_vec *out)
{
    uint32_t w = c->src->width, *off, *len, i;
    uint8_t *bytes;
    int64_t *v;

    out->kind = AX_VK_FLAT;
    if (c->type.id == AX_T_INT8)
    {
        AX_NEW(t, v, (int64_t *) ax_arena_values(a, (size_t) n * sizeof *v + 1));
        for (i = 0; i < n; i++)
            v[i] = order_of_8(c->src, src + (size_t) i * w);
        out->u.data = v;
        return AX_OK;
    }
    AX_NEW(t, bytes, (uint8_t *) ax_arena_values(a, (size_t) n * w + 1));
    AX_NEW(t, off, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *off + 1));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *len + 1));
    for (i = 0; i < n; i++)
    {
        order_of_wide(c->src, src + (size_t) i * w, bytes + (size_t) i * w);
        off[i] = i * w;
        len[i] = w;
    }
    out->u.str.base = bytes;
    out->u.str.off = off;
    out->u.str.len = len;
    return AX_OK;
}

/* ---- enums ----------------------------------------------------------------------------------- */

static ax_status label_ids(ax_task *t, const ax_mt_conv *c, const uint8_t *src,
                           const uint8_t *null, uint32_t n, uint32_t *id, uint32_t *fail_row)
{
    for (uint32_t i = 0; i < n; i++)
    {
        uint32_t code = (uint32_t) load(src, i, c->src->width, false);

        id[i] = null != NULL && null[i] ? 0 : c->label_at[code];
        if (id[i] >= c->labels.n)
        {
            *fail_row = i;
            return ax_fail(t, AX_ECORRUPT, "value %d is not one of type %s",
                           (int) load(src, i, c->src->width, true), c->src->text);
        }
    }
    return AX_OK;
}

static ax_status enums(ax_task *t, const ax_mt_conv *c, const uint8_t *src, const uint8_t *null,
                       uint32_t n, ax_arena *batch, ax_arena *a, ax_dict **labels, ax_vec *out,
                       uint32_t *fail_row)
{
    uint32_t *id;

    AX_NEW(t, id, (uint32_t *) ax_arena_values(batch, (size_t) n * sizeof *id + 1));
    if (*labels == NULL)
    {
        AX_NEW(t, *labels, (ax_dict *) ax_arena_alloc0(a, sizeof **labels));
        (*labels)->n = c->labels.n;
        (*labels)->uid = ax_dict_uid();
        (*labels)->val = c->labels;
        (*labels)->arena = a;
    }
    AX_TRY(label_ids(t, c, src, null, n, id, fail_row));
    out->kind = AX_VK_DICT;
    out->u.dict.id = id;
    out->u.dict.dict = *labels;
    return AX_OK;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static ax_status values(ax_task *t, const ax_mt_conv *c, const ax_mt_vals *v, const uint8_t *null,
                        uint32_t n, ax_arena *batch, ax_arena *a, ax_dict **labels, ax_vec *out,
                        uint32_t *fail_row);

/* Convert the keys of a dictionary, once; false: some key has no value in the declared type, which
 * matters only to rows that have it. */
static ax_status make_dict(ax_task *t, const ax_mt_conv *c, ax_mt_dict *d)
{
    ax_mt_vals v = {.n = d->n, .data = d->bytes, .one_base = true, .len = d->len};
    uint32_t fail_row = UINT32_MAX, i;
    ax_dict *made;
    ax_status st;

    AX_NEW(t, made, (ax_dict *) ax_arena_alloc0(d->arena, sizeof *made));
    if (d->off != NULL)
    {
        AX_NEW(t, v.ptr, (const uint8_t **) ax_arena_alloc(d->arena, d->n * sizeof *v.ptr + 1));
        for (i = 0; i < d->n; i++)
            v.ptr[i] = d->bytes + d->off[i];
    }
    made->n = d->n;
    made->arena = d->arena;
    made->uid = ax_dict_uid();
    made->val = (ax_vec){.type = c->type, .n = d->n};
    st = values(t, c, &v, NULL, d->n, d->arena, d->arena, NULL, &made->val, &fail_row);
    if (st != AX_OK && fail_row == UINT32_MAX)
        return st;
    d->failed = st != AX_OK || made->val.kind != AX_VK_FLAT;
    if (st != AX_OK)
        ax_error_clear(&t->err);
    d->made = made;
    return AX_OK;
}

/* Rows that are indexes, value by value. */
static ax_status spread(ax_task *t, const ax_mt_conv *c, const ax_mt_vals *v, uint32_t n,
                        ax_arena *a, ax_mt_vals *out)
{
    const ax_mt_dict *d = v->dict;
    uint32_t w = c->src->width, i;
    uint8_t *data;

    *out = (ax_mt_vals){.n = n, .null = v->null};
    if (d->off == NULL)
    {
        AX_NEW(t, data, (uint8_t *) ax_arena_values(a, (size_t) n * w + 1));
        out->data = data;
        for (i = 0; i < n; i++)
            memcpy(data + (size_t) i * w, d->bytes + (size_t) v->id[i] * w, w);
        return AX_OK;
    }
    AX_NEW(t, out->ptr, (const uint8_t **) ax_arena_values(a, (size_t) n * sizeof *out->ptr + 1));
    AX_NEW(t, out->len, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *out->len + 1));
    for (i = 0; i < n; i++)
    {
        out->ptr[i] = d->bytes + d->off[v->id[i]];
        out->len[i] = v->null != NULL && v->null[i] ? 0 : d->len[v->id[i]];
    }
    return AX_OK;
}

static ax_status indexes(ax_task *t, const ax_mt_conv *c, const ax_mt_vals *v, uint32_t n,
                         ax_arena *a, ax_vec *out, uint32_t *fail_row)
{
    ax_mt_vals each;

    if (v->dict->made == NULL)
        AX_TRY(make_dict(t, c, v->dict));
    if (v->dict->failed)
    {
        AX_TRY(spread(t, c, v, n, a, &each));
        return values(t, c, &each, v->null, n, a, a, NULL, out, fail_row);
    }
    out->kind = AX_VK_DICT;
    out->u.dict.id = v->id;
    out->u.dict.dict = v->dict->made;
    return AX_OK;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

/* Values of the plain type c->src. */
static ax_status values(ax_task *t, const ax_mt_conv *c, const ax_mt_vals *v, const uint8_t *null,
                        uint32_t n, ax_arena *batch, ax_arena *a, ax_dict **labels, ax_vec *out,
                        uint32_t *fail_row)
{
    switch ((ax_mt_convkind) c->kind)
    {
        case MT_C_STR:
            return strings(t, c, v->ptr, v->len, v->one_base, n, batch, out, fail_row);
        case MT_C_FIXSTR:
            return fixed_strings(t, c, v->data, null, n, batch, out, fail_row);
        case MT_C_MENDED:
            return mended(t, c, v, null, n, batch, out);
        case MT_C_TEXT:
            return texts(t, c, v->data, null, n, batch, out);
        case MT_C_ENUM:
            if (labels == NULL)
                return ax_fail(t, AX_EUNSUPPORTED, "LowCardinality of an enum is not supported");
            return enums(t, c, v->data, null, n, batch, a, labels, out, fail_row);
        case MT_C_ORDER:
            return order(t, c, v->data, n, batch, out);
        default:
            return plain(t, c, v->data, null, n, batch, out, fail_row);
    }
}

/* Strings under a null have no bytes. */
static void empty_under_nulls(ax_mt_vals *v, const uint8_t *null, uint32_t n)
{
    for (uint32_t i = 0; v->len != NULL && i < n; i++)
        if (null[i])
            v->len[i] = 0;
}

static ax_status nulls(ax_task *t, const ax_mt_conv *c, const ax_vec *v, uint32_t *fail_row)
{
    for (uint32_t i = 0; c->not_null && v->null != NULL && i < v->n; i++)
        if (v->null[i])
        {
            *fail_row = i;
            return ax_fail(t, AX_ENOTNULL, "null value in a column declared NOT NULL");
        }
    return AX_OK;
}

static ax_status json(ax_task *t, const ax_mt_node *node, const ax_mt_vals *v, uint32_t n,
                      ax_arena *a, ax_vec *out, uint32_t *fail_row)
{
    const uint8_t **ptr;
    uint32_t *len;

    AX_NEW(t, ptr, (const uint8_t **) ax_arena_values(a, (size_t) n * sizeof *ptr + 1));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, (size_t) n * sizeof *len + 1));
    AX_NEW(t, out->null, (uint8_t *) ax_arena_values(a, n + 1));
    AX_TRY(ax_mt_json(t, node, v, n, a, ptr, len, out->null, fail_row));
    if (memchr(out->null, 1, n) == NULL)
        out->null = NULL;
    if (out->type.phys == AX_P_DOC)
    {
        out->kind = AX_VK_DOC;
        out->u.doc.ptr = ptr;
        out->u.doc.len = len;
        return AX_OK;
    }
    out->kind = AX_VK_VIEW;
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

static ax_status list(ax_task *t, const ax_mt_conv *c, const ax_mt_node *node,
                      const ax_mt_vals *v, uint32_t n, ax_mt_win *w, ax_arena *a,
                      ax_dict **labels, ax_vec *out, uint32_t *fail_row)
{
    uint32_t bad = UINT32_MAX, i;
    ax_vec *child, got = {0};
    ax_status st;

    AX_NEW(t, child, (ax_vec *) ax_arena_alloc0(w->batch->arena, sizeof *child));
    st = ax_mt_conv_vec(t, c->elem, node->child[0], &v->child[0], v->off[n], w, a, labels, &got,
                        &bad);
    if (st != AX_OK)
    {
        for (i = 0; bad != UINT32_MAX && v->off[i + 1] <= bad;)
            i++;
        *fail_row = bad == UINT32_MAX ? bad : i;
        return st;
    }
    /* Who reads lists reads flat elements. */
    AX_TRY(ax_vec_flatten(t, w->batch->arena, &got, child));
    out->kind = AX_VK_LIST;
    out->u.list.off = v->off;
    out->u.list.child = child;
    return AX_OK;
}

static ax_status results(ax_task *t, const ax_mt_conv *c, const ax_mt_vals *v, uint32_t n,
                         ax_mt_win *w, ax_arena *a, ax_dict **labels, ax_vec *out,
                         uint32_t *fail_row)
{
    ax_mt_vals results = {0};

    AX_TRY(ax_mt_finalise(t, c->src->agg, c->result, v, n, w, &results, fail_row));
    return ax_mt_conv_vec(t, c->elem, c->result, &results, n, w, a, labels, out, fail_row);
}

/* No rows: nothing below v has arrays. */
static ax_status no_values(ax_task *t, ax_arena *a, ax_vec *out)
{
    out->kind = ax_type_is_str(out->type) ? AX_VK_VIEW : AX_VK_FLAT;
    AX_NEW(t, out->u.data, ax_arena_values(a, 16));
    return AX_OK;
}

ax_status ax_mt_conv_vec(ax_task *t, const ax_mt_conv *c, const ax_mt_node *node,
                         const ax_mt_vals *v, uint32_t n, ax_mt_win *w, ax_arena *a,
                         ax_dict **labels, ax_vec *out, uint32_t *fail_row)
{
    ax_arena *batch = w->batch->arena;

    *fail_row = UINT32_MAX;
    *out = (ax_vec){.type = c->type, .n = n};
    if (n == 0)
        return no_values(t, batch, out);
    if (c->kind == MT_C_JSON)
        AX_TRY(json(t, node, v, n, batch, out, fail_row));
    else if (c->kind == MT_C_FINAL)
        AX_TRY(results(t, c, v, n, w, a, labels, out, fail_row));
    else
    {
        const uint8_t *null = v->null;
        const ax_mt_vals *inner = v;

        if (node->form == MT_F_NULLABLE)
        {
            node = node->child[0];
            inner = &v->child[0];
            empty_under_nulls(&v->child[0], null, n);
        }
        if (null != NULL && memchr(null, 1, n) != NULL)
            out->null = v->null;
        if (c->kind == MT_C_LIST)
            AX_TRY(list(t, c, node, inner, n, w, a, labels, out, fail_row));
        else if (node->form == MT_F_LOWCARD && inner->dict != NULL)
            AX_TRY(indexes(t, c, inner, n, batch, out, fail_row));
        else
            AX_TRY(values(t, c, inner, null, n, batch, a, labels, out, fail_row));
    }
    return nulls(t, c, out, fail_row);
}
