/* Kernels from physical values to engine values.
 *
 * Integers go through one body, v = floor(v / div) * mul + add with a test of v against [lo, hi],
 * which is chosen when the column is bound so that no later step can overflow.  Loops or their
 * failures together and look once at the end.
 *
 * Format: apache/parquet-format, LogicalTypes.md; decimals are big-endian two's complement. */
#include "parquet_int.h"

#include "func/func.h"

#include <math.h>

/* ---- integers -------------------------------------------------------------------------------- */

__attribute__((always_inline)) static inline int64_t load_int(const uint8_t *p, uint32_t i,
                                                              ax_pq_src src)
{
    int32_t s;

    if (src == SRC_I64)
        return (int64_t) ax_load_u64(p + (size_t) i * 8);
    memcpy(&s, p + (size_t) i * 4, 4);
    return src == SRC_U32 ? (int64_t) (uint32_t) s : s;
}

/* Returns false when a value is outside [lo, hi]. */
__attribute__((always_inline)) static inline bool linear(const ax_pq_conv *c,
                                                         const uint8_t *restrict src, uint32_t n,
                                                         void *restrict dst, ax_pq_src kind,
                                                         unsigned width)
{
    int64_t lo = c->lo, hi = c->hi, mul = c->mul, add = c->add, div = c->div;
    uint32_t i;
    int bad = 0;

    for (i = 0; i < n; i++)
    {
        int64_t v = load_int(src, i, kind);

        bad |= (v < lo) | (v > hi);
    }
    if (bad)
        return false;
    if (div == 1 && mul == 1 && add == 0)
        for (i = 0; i < n; i++)
            ax_store_int(dst, i, load_int(src, i, kind), width);
    else if (div == 1)
        for (i = 0; i < n; i++)
            ax_store_int(dst, i, load_int(src, i, kind) * mul + add, width);
    else
        for (i = 0; i < n; i++)
            ax_store_int(dst, i, ax_floor_div(load_int(src, i, kind), div) * mul + add, width);
    return true;
}

static bool conv_linear(const ax_pq_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    switch (c->src * 16 + c->dst_width)
    {
        case SRC_I32 * 16 + 2: return linear(c, src, n, dst, SRC_I32, 2);
        case SRC_I32 * 16 + 4: return linear(c, src, n, dst, SRC_I32, 4);
        case SRC_I32 * 16 + 8: return linear(c, src, n, dst, SRC_I32, 8);
        case SRC_U32 * 16 + 2: return linear(c, src, n, dst, SRC_U32, 2);
        case SRC_U32 * 16 + 4: return linear(c, src, n, dst, SRC_U32, 4);
        case SRC_U32 * 16 + 8: return linear(c, src, n, dst, SRC_U32, 8);
        case SRC_I64 * 16 + 2: return linear(c, src, n, dst, SRC_I64, 2);
        case SRC_I64 * 16 + 4: return linear(c, src, n, dst, SRC_I64, 4);
        default: return linear(c, src, n, dst, SRC_I64, 8);
    }
}

/* Are n numbers of nanoseconds whole microseconds? */
static bool whole(const ax_pq_conv *c, const uint8_t *src, uint32_t n)
{
    bool ok = true;

    for (uint32_t i = 0; i < n; i++)
        ok &= load_int(src, i, (ax_pq_src) c->src) % c->div == 0;
    return ok;
}

/* Values out of range become infinite, if the table wants that. */
static bool clamped(const ax_pq_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    if (c->out_of_range != AX_RANGE_INFINITY)
        return false;
    for (uint32_t i = 0; i < n; i++)
    {
        int64_t v = load_int(src, i, (ax_pq_src) c->src);

        if (v < c->lo)
            v = c->dst_width == 4 ? INT32_MIN : INT64_MIN;
        else if (v > c->hi)
            v = c->dst_width == 4 ? INT32_MAX : INT64_MAX;
        else
            v = ax_floor_div(v, c->div) * c->mul + c->add;
        ax_store_int(dst, i, v, c->dst_width);
    }
    return true;
}

/* ---- numeric --------------------------------------------------------------------------------- */

static bool ints_to_num(const ax_pq_conv *c, const uint8_t *src, uint32_t n, ax_num *dst)
{
    uint32_t i;
    bool ok = true;

    for (i = 0; i < n && ok; i++)
    {
        int64_t v;

        if (c->src == SRC_U64)
        {
            ok = ax_fmt_number(&c->num, (ax_i128) ax_load_u64(src + (size_t) i * 8), &dst[i]);
            continue;
        }
        v = load_int(src, i, (ax_pq_src) c->src);
        ok = v >= c->lo && v <= c->hi && ax_fmt_number(&c->num, v, &dst[i]);
    }
    return ok;
}

/* Big-endian two's complement of any length; false: more than 16 bytes of value. */
static bool load_decimal(const uint8_t *p, uint32_t n, ax_i128 *out)
{
    uint8_t sign = n > 0 && p[0] >= 0x80 ? 0xff : 0;
    ax_u128 v = sign != 0 ? ~(ax_u128) 0 : 0;

    for (; n > 16; n--, p++)
        if (*p != sign)
            return false;
    for (; n > 0; n--, p++)
        v = v << 8 | *p;
    *out = (ax_i128) v;
    return (*out < 0) == (sign != 0);
}

/* Decimals that load_decimal and ax_fmt_number have no room for, as far as the result fits. */
static bool long_decimal(const ax_pq_conv *c, const uint8_t *p, uint32_t n, ax_num *out)
{
    char buf[4096]; /* scales are at most 1000 */
    const char *s = ax_digits_text(p, n, c->num.dscale - c->num.rescale, buf, sizeof buf);

    return s != NULL && ax_digits_to_num(s, (uint32_t) (buf + sizeof buf - s), c->num.precision,
                                         c->num.dscale, out);
}

static bool decimal(const ax_pq_conv *c, const uint8_t *p, uint32_t n, ax_num *out)
{
    ax_i128 v;

    if (c->num.rescale < -37 || c->num.rescale > 37 || !load_decimal(p, n, &v))
        return long_decimal(c, p, n, out);
    return ax_fmt_number(&c->num, v, out);
}

/* ---- floats, timestamps, others -------------------------------------------------------------- */

static bool narrow_floats(const uint8_t *src, uint32_t n, float *dst)
{
    uint32_t i;
    bool ok = true;

    for (i = 0; i < n; i++)
    {
        double v;

        memcpy(&v, src + (size_t) i * 8, 8);
        dst[i] = (float) v;
        if ((isinf(dst[i]) && !isinf(v)) || (dst[i] == 0 && v != 0))
            ok = false;
    }
    return ok;
}

/* IEEE half precision; exact. */
static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t) (h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff, bits;
    float f;

    if (exp == 0)
    {
        f = ldexpf((float) man, -24);
        return sign != 0 ? -f : f;
    }
    bits = exp == 31 ? sign | 0x7f800000u | man << 13 : sign | (exp + 112) << 23 | man << 13;
    memcpy(&f, &bits, 4);
    return f;
}

/* INT96: nanoseconds of the day, then the Julian day.  Out-of-day nanoseconds are carried over. */
static bool conv_int96(const ax_pq_conv *c, const uint8_t *src, uint32_t n, int64_t *dst)
{
    uint32_t i;

    for (i = 0; i < n; i++, src += 12)
    {
        int64_t us = ax_floor_div((int64_t) ax_load_u64(src), 1000);
        int64_t day = (int32_t) ax_load_u32(src + 8) - 2440588ll - AX_Y2K_DAYS;
        ax_i128 v = (ax_i128) day * AX_DAY_US + us;

        if (c->whole && (int64_t) ax_load_u64(src) % 1000 != 0)
            return false;
        if (v >= c->lo && v <= c->hi)
            dst[i] = (int64_t) v;
        else if (c->out_of_range == AX_RANGE_INFINITY)
            dst[i] = v < c->lo ? INT64_MIN : INT64_MAX;
        else
            return false;
    }
    return true;
}

/* Timestamps, converted already, between local time and UTC. */
static bool conv_zone(const ax_pq_conv *c, uint32_t n, int64_t *ts)
{
    uint32_t hint = 0, i;
    ax_status st = AX_OK;

    for (i = 0; i < n && st == AX_OK; i++)
        st = c->type.id == AX_T_TIMESTAMPTZ ? ax_tz_to_utc(&c->zone, ts[i], &hint, &ts[i])
                                            : ax_tz_to_local(&c->zone, ts[i], &hint, &ts[i]);
    return st == AX_OK;
}

bool ax_pq_conv_fixed(const ax_pq_conv *c, const uint8_t *src, uint32_t n, void *dst)
{
    uint32_t i;
    bool ok = true;

    switch (c->kind)
    {
        case CONV_LINEAR:
            return (!c->whole || whole(c, src, n)) &&
                   (conv_linear(c, src, n, dst) || clamped(c, src, n, dst)) &&
                   (c->days == PQ_DAYS_AS_IS || ax_pq_redate(c, n, dst)) &&
                   (c->zone.n == 0 || conv_zone(c, n, dst));
        case CONV_INT_F64:
            for (i = 0; i < n; i++)
            {
                int64_t v = load_int(src, i, (ax_pq_src) c->src);

                ok &= v >= c->lo && v <= c->hi;
                ((double *) dst)[i] = (double) v;
            }
            return ok;
        case CONV_INT_NUM:
            return ints_to_num(c, src, n, (ax_num *) dst);
        case CONV_F32_F64:
            for (i = 0; i < n; i++)
            {
                float v;

                memcpy(&v, src + (size_t) i * 4, 4);
                ((double *) dst)[i] = v;
            }
            return true;
        case CONV_F64_F32:
            return narrow_floats(src, n, (float *) dst);
        case CONV_I96:
            /* the calendar was that of local time */
            return conv_int96(c, src, n, (int64_t *) dst) &&
                   (c->zone.n == 0 || conv_zone(c, n, dst)) &&
                   (c->days == PQ_DAYS_AS_IS || ax_pq_redate(c, n, dst));
        default:
            AX_ASSERT(c->kind == CONV_COPY);
            if (n > 0)
                memcpy(dst, src, (size_t) n * c->dst_width);
            return true;
    }
}

/* Parquet's interval: months, days and milliseconds, unsigned. */
static bool conv_interval(const uint8_t *p, ax_interval *out)
{
    uint32_t months = ax_load_u32(p), days = ax_load_u32(p + 4);

    out->months = (int32_t) months;
    out->days = (int32_t) days;
    out->usec = (int64_t) ax_load_u32(p + 8) * 1000;
    return months <= INT32_MAX && days <= INT32_MAX;
}

bool ax_pq_conv_bytes(const ax_pq_conv *c, const uint8_t *base, const uint32_t *off,
                      const uint32_t *len, uint32_t n, void *dst)
{
    uint32_t i;
    bool ok = true;

    for (i = 0; i < n && ok; i++)
    {
        const uint8_t *p = base + off[i];

        switch (c->kind)
        {
            case CONV_DEC_NUM:
                ok = decimal(c, p, len[i], (ax_num *) dst + i);
                break;
            case CONV_F16_F32:
                ((float *) dst)[i] = half_to_float(ax_load_u16(p));
                break;
            case CONV_F16_F64:
                ((double *) dst)[i] = half_to_float(ax_load_u16(p));
                break;
            case CONV_INTERVAL:
                ok = conv_interval(p, (ax_interval *) dst + i);
                break;
            default:
                memcpy((uint8_t *) dst + (size_t) i * c->dst_width, p, c->dst_width);
        }
    }
    return ok;
}

bool ax_pq_conv_one(const ax_pq_conv *c, const uint8_t *p, uint32_t n, ax_value *out)
{
    union
    {
        ax_num num;
        ax_interval iv;
        uint8_t fix[16];
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
        uint8_t u8;
    } u;
    const uint32_t zero = 0;
    bool bytes = c->src == SRC_BYTES || c->src == SRC_FIXED;

    *out = (ax_value){.type = c->type};
    if (c->kind == CONV_STR)
    {
        out->u.s.p = p;
        out->u.s.len = n;
        return true;
    }
    if (bytes && c->kind != CONV_DEC_NUM && n != (uint32_t) c->leaf->type_length)
        return false;
    if (!bytes && n != c->src_width)
        return false;
    if (bytes ? !ax_pq_conv_bytes(c, p, &zero, &n, 1, &u) : !ax_pq_conv_fixed(c, p, 1, &u))
        return false;
    switch (c->type.phys)
    {
        case AX_P_U8: out->u.i = u.u8 != 0; break;
        case AX_P_I16: out->u.i = u.i16; break;
        case AX_P_I32: out->u.i = u.i32; break;
        case AX_P_I64: out->u.i = u.i64; break;
        case AX_P_F32: out->u.f = u.f32; break;
        case AX_P_F64: out->u.f = u.f64; break;
        case AX_P_NUM: out->u.num = u.num; break;
        case AX_P_INTERVAL: out->u.iv = u.iv; break;
        case AX_P_FIX16: memcpy(out->u.fix, u.fix, 16); break;
        default: return false;
    }
    return ax_pq_redate_bound(c, out);
}
