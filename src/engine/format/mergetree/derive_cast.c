/* Values of one type as another, as ClickHouse's CAST has them: integers wrap, decimals and floats
 * are cut off towards zero, texts must be wholly of the form.  What ClickHouse saturates, or leaves
 * to the machine (floats beyond an integer), is an error here.
 *
 * Times of day depend on a zone; those of UTC are known, others are not.
 *
 * Source: FunctionsConversion.h of ClickHouse. */
#include "derive_int.h"

#include <math.h>

/* ---- which are known ------------------------------------------------------------------------- */

static bool small_unsigned(const ax_mt_type *ty, uint32_t width)
{
    return (ty->id == MT_UINT && ty->width <= width) || ty->id == MT_BOOL;
}

/* Does the wider type have all values of the narrower? */
static bool enum_grows(const ax_mt_type *from, const ax_mt_type *to)
{
    for (uint32_t i = 0; i < from->nlabel; i++)
    {
        uint32_t k;

        for (k = 0; k < to->nlabel; k++)
            if (to->label[k].code == from->label[i].code)
                break;
        if (k == to->nlabel || to->label[k].len != from->label[i].len ||
            memcmp(to->label[k].name, from->label[i].name, from->label[i].len) != 0)
            return false;
    }
    return true;
}

static bool to_string(const ax_mt_type *from)
{
    switch ((ax_mt_tid) from->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_BOOL:
        case MT_FLOAT:
        case MT_DECIMAL:
        case MT_DATE:
        case MT_DATE32:
        case MT_ENUM:
        case MT_UUID:
        case MT_IPV4:
        case MT_STRING:
        case MT_FIXEDSTRING:
            return true;
        case MT_DATETIME:
        case MT_DATETIME64:
            return ax_mt_in_utc(from);
        default:
            return false;
    }
}

static bool of_string(const ax_mt_type *to, bool *raises)
{
    *raises = true;
    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_BOOL:
        case MT_FLOAT:
        case MT_DECIMAL:
        case MT_DATE:
        case MT_DATE32:
        case MT_ENUM:
        case MT_UUID:
        case MT_FIXEDSTRING:
            return true;
        case MT_DATETIME:
        case MT_DATETIME64:
            return ax_mt_in_utc(to);
        default:
            return false;
    }
}

static bool of_whole(const ax_mt_type *from, const ax_mt_type *to, bool *raises)
{
    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_BOOL:
        case MT_FLOAT:
            return true;
        case MT_DECIMAL:
            *raises = true;
            return true;
        case MT_ENUM:
            *raises = true;
            return from->id == MT_INT && from->width <= to->width;
        case MT_DATE:
            return small_unsigned(from, 2);
        case MT_DATETIME:
        case MT_DATETIME64:
            *raises = to->id == MT_DATETIME64;
            return small_unsigned(from, 4);
        default:
            return false;
    }
}

static bool of_time(const ax_mt_type *from, const ax_mt_type *to, bool *raises)
{
    bool day = from->id == MT_DATE || from->id == MT_DATE32;

    *raises = from->id != MT_DATE && to->id != MT_DATETIME64 && !ax_mt_whole(to);
    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
            return from->id == MT_DATE || from->id == MT_DATE32 || from->id == MT_DATETIME;
        case MT_DATE:
        case MT_DATE32:
            return day || ax_mt_in_utc(from);
        case MT_DATETIME:
            *raises = true;
            return day ? ax_mt_in_utc(to) : true;
        case MT_DATETIME64:
            *raises = true;
            return from->id == MT_DATETIME ||
                   (from->id == MT_DATETIME64 && to->scale >= from->scale);
        default:
            return false;
    }
}

bool ax_mt_cast_known(const ax_mt_type *from, const ax_mt_type *to, bool *raises)
{
    *raises = false;
    if (from->id == MT_ARRAY || to->id == MT_ARRAY)
    {
        const ax_mt_type *l, *r;

        if (from->id != to->id)
            return false;
        l = from->child[0];
        r = to->child[0];
        if (ax_mt_bare(l)->id == MT_NOTHING)
            return ax_mt_cls_of(r) != MT_R_NONE;
        if (!ax_mt_cast_known(ax_mt_bare(l), ax_mt_bare(r), raises))
            return false;
        *raises |= l->id == MT_NULLABLE && r->id != MT_NULLABLE;
        return true;
    }
    if (ax_mt_cls_of(from) == MT_R_NONE || ax_mt_cls_of(to) == MT_R_NONE)
        return false;
    if (strcmp(from->text, to->text) == 0)
        return true;
    if (to->id == MT_STRING)
        return to_string(from);
    if (from->id == MT_STRING)
        return of_string(to, raises);
    if (ax_mt_whole(from))
        return of_whole(from, to, raises);
    switch ((ax_mt_tid) from->id)
    {
        case MT_FLOAT:
            *raises = to->id != MT_FLOAT && to->id != MT_BOOL;
            return ax_mt_whole(to) || to->id == MT_FLOAT ||
                   (to->id == MT_DECIMAL && from->width == 8);
        case MT_DECIMAL:
            *raises = to->id != MT_FLOAT && to->id != MT_BOOL;
            return ax_mt_whole(to) || to->id == MT_FLOAT || to->id == MT_DECIMAL;
        case MT_DATE:
        case MT_DATE32:
        case MT_DATETIME:
        case MT_DATETIME64:
            return of_time(from, to, raises);
        case MT_ENUM:
            return to->id == MT_INT || (to->id == MT_ENUM && enum_grows(from, to));
        case MT_IPV4:
            return to->id == MT_UINT && to->width >= 4;
        case MT_INTERVAL:
            return to->id == MT_INT && to->width == 8;
        default:
            return false;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* An integer (scale 0) or decimal as a decimal. */
static bool rescale(ax_i128 v, int scale, const ax_mt_type *to, ax_i128 *out)
{
    if (to->scale >= scale)
    {
        if (__builtin_mul_overflow(v, ax_mt_pow10(to->scale - scale), out))
            return false;
    }
    else
        *out = v / ax_mt_pow10(scale - to->scale);
    return ax_mt_fits_decimal(to, *out);
}

/* What a whole number becomes. */
static bool int_of(ax_i128 v, const ax_mt_type *to, ax_i128 *out)
{
    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
            *out = ax_mt_wrap(v, to->width, to->id == MT_INT);
            return true;
        case MT_BOOL:
            *out = v != 0;
            return true;
        case MT_DECIMAL:
            return rescale(v, 0, to, out);
        case MT_DATETIME64:
            *out = v * ax_mt_pow10(to->scale);
            return *out >= INT64_MIN && *out <= INT64_MAX;
        case MT_ENUM:
            *out = v;
            for (uint32_t i = 0; i < to->nlabel; i++)
                if (to->label[i].code == v)
                    return true;
            return false;
        default:
            *out = v;
            return true;
    }
}

/* Towards zero; |v| < 2^127. */
static ax_i128 cut_off(double v)
{
    int e;
    double m = frexp(v, &e);

    if (e <= 62)
        return (int64_t) v;
    return (ax_i128) (int64_t) ldexp(m, 53) * ((ax_i128) 1 << (e - 53));
}

static bool float_to_int(double v, const ax_mt_type *to, ax_i128 *out)
{
    double lo = to->id == MT_UINT ? 0 : -ldexp(1, (int) (8 * to->width) - 1);
    double hi = ldexp(1, (int) (8 * to->width) - (to->id == MT_UINT ? 0 : 1));

    if (to->id == MT_BOOL)
    {
        *out = v != 0;
        return true;
    }
    if (to->id == MT_DECIMAL)
    {
        double scaled = v * (double) ax_mt_pow10(to->scale);
        double most = ldexp(1, (int) (8 * to->width) - 1);

        if (!(scaled > -most && scaled < most))
            return false;
        *out = cut_off(scaled);
        return ax_mt_fits_decimal(to, *out);
    }
    v = trunc(v);
    if (!(v >= lo && v < hi))
        return false;
    *out = cut_off(v);
    return true;
}

/* Dates and times, INT to INT. */
static bool time_of(const ax_mt_type *from, ax_i128 v, const ax_mt_type *to, ax_i128 *out)
{
    ax_i128 unit = from->id == MT_DATETIME64 ? ax_mt_pow10(from->scale) : 1;
    bool day = from->id == MT_DATE || from->id == MT_DATE32;

    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
            *out = ax_mt_wrap(v, to->width, to->id == MT_INT);
            return true;
        case MT_DATE:
        case MT_DATE32:
            *out = day ? v : ax_mt_floor_div(v, unit * 86400);
            return to->id == MT_DATE32 || (*out >= 0 && *out <= UINT16_MAX);
        case MT_DATETIME:
            *out = day ? v * 86400 : ax_mt_floor_div(v, unit);
            return *out >= 0 && *out <= UINT32_MAX && v >= 0;
        default:
            *out = from->id == MT_DATETIME64 ? v * ax_mt_pow10(to->scale - from->scale)
                                             : v * ax_mt_pow10(to->scale);
            return *out >= INT64_MIN && *out <= INT64_MAX;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static ax_status no_value(ax_mt_run *e, const ax_mt_type *from, const ax_mt_type *to)
{
    return ax_fail(e->t, AX_ERANGE, "a value of type %s has no value in type %s", from->text,
                   to->text);
}

/* To FixedString and UUID. */
static ax_status bytes(ax_mt_run *e, const ax_mt_type *from, const ax_mt_type *to,
                       const ax_mt_reg *arg, const uint8_t *skip, ax_mt_reg *out)
{
    uint8_t *p;

    AX_NEW(e->t, p, (uint8_t *) ax_arena_values(e->a, (size_t) arg->n * to->width + 1));
    memset(p, 0, (size_t) arg->n * to->width);
    for (uint32_t i = 0; i < arg->n; i++, p += to->width)
    {
        bool ok = true;

        out->ptr[i] = p;
        out->len[i] = to->width;
        if (skip != NULL && skip[i])
            continue;
        if (to->id == MT_UUID)
            ok = ax_mt_uuid_of_text(arg->ptr[i], arg->len[i], p);
        else if ((ok = arg->len[i] <= to->width))
            memcpy(p, arg->ptr[i], arg->len[i]);
        if (!ok)
            return no_value(e, from, to);
    }
    return AX_OK;
}

static bool int_value(const ax_mt_type *from, const ax_mt_type *to, const ax_mt_reg *arg,
                      uint32_t i, ax_i128 *out)
{
    switch ((ax_mt_tid) from->id)
    {
        case MT_STRING:
            return ax_mt_int_of_text(arg->ptr[i], arg->len[i], to, out);
        case MT_FLOAT:
            return float_to_int(arg->f[i], to, out);
        case MT_DECIMAL:
            if (to->id == MT_DECIMAL)
                return rescale(arg->i[i], from->scale, to, out);
            *out = to->id == MT_BOOL ? arg->i[i] != 0 : arg->i[i] / ax_mt_pow10(from->scale);
            return ax_mt_fits_int(to, *out);
        case MT_DATE:
        case MT_DATE32:
        case MT_DATETIME:
        case MT_DATETIME64:
            return time_of(from, arg->i[i], to, out);
        default:
            return int_of(arg->i[i], to, out);
    }
}

static ax_status floats(ax_mt_run *e, const ax_mt_type *from, const ax_mt_type *to,
                        const ax_mt_reg *arg, const uint8_t *skip, ax_mt_reg *out)
{
    for (uint32_t i = 0; i < arg->n; i++)
    {
        double v = 0;

        if (skip != NULL && skip[i])
            ;
        else if (from->id == MT_STRING)
        {
            if (!ax_mt_float_of_text(arg->ptr[i], arg->len[i], &v))
                return no_value(e, from, to);
        }
        else if (from->id == MT_FLOAT)
            v = arg->f[i];
        else if (from->id == MT_DECIMAL)
            v = to->width == 4 ? (float) arg->i[i] / (float) ax_mt_pow10(from->scale)
                               : (double) arg->i[i] / (double) ax_mt_pow10(from->scale);
        else
            v = to->width == 4 ? (float) arg->i[i] : (double) arg->i[i];
        out->f[i] = to->width == 4 ? (float) v : v;
    }
    return AX_OK;
}

/* Plain values; arrays go element by element. */
static ax_status plain(ax_mt_run *e, const ax_mt_type *from, const ax_mt_type *to,
                       const ax_mt_reg *arg, const uint8_t *skip, ax_mt_reg *out)
{
    ax_mt_cls cls = ax_mt_cls_of(to);

    if (strcmp(from->text, to->text) == 0)
    {
        *out = *arg;
        return AX_OK;
    }
    AX_TRY(ax_mt_reg_room(e, cls, arg->n, out));
    if (to->id == MT_STRING)
        return ax_mt_texts(e, from, arg, skip, out);
    if (cls == MT_R_STR)
        return bytes(e, from, to, arg, skip, out);
    if (cls == MT_R_FLOAT)
        return floats(e, from, to, arg, skip, out);
    for (uint32_t i = 0; i < arg->n; i++)
    {
        out->i[i] = 0;
        if ((skip == NULL || !skip[i]) && !int_value(from, to, arg, i, &out->i[i]))
            return no_value(e, from, to);
    }
    return AX_OK;
}

ax_status ax_mt_cast(ax_mt_run *e, const ax_mt_type *from, const ax_mt_type *to,
                     const ax_mt_reg *arg, const uint8_t *skip, ax_mt_reg *out)
{
    const uint8_t *null = arg->null != NULL ? arg->null : skip;

    if (to->id != MT_NULLABLE && arg->null != NULL && memchr(arg->null, 1, arg->n) != NULL)
        return ax_fail(e->t, AX_ERANGE, "null has no value in type %s", to->text);
    if (ax_mt_bare(from)->id == MT_NOTHING)
    {
        ax_mt_cls cls = ax_mt_cls_of(to);

        AX_TRY(ax_mt_reg_room(e, cls, arg->n, out));
        for (uint32_t i = 0; i < arg->n; i++)
            if (cls == MT_R_INT)
                out->i[i] = 0;
            else if (cls == MT_R_FLOAT)
                out->f[i] = 0;
            else
            {
                out->ptr[i] = (const uint8_t *) "";
                out->len[i] = 0;
            }
    }
    else if (ax_mt_bare(to)->id == MT_ARRAY)
    {
        AX_TRY(ax_mt_reg_room(e, MT_R_ARRAY, arg->n, out));
        out->off = arg->off;
        AX_TRY(ax_mt_cast(e, from->child[0], to->child[0], arg->child, NULL, out->child));
    }
    else
        AX_TRY(plain(e, ax_mt_bare(from), ax_mt_bare(to), arg, null, out));
    out->null = to->id == MT_NULLABLE ? arg->null : NULL;
    return AX_OK;
}

static ax_status run(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                     ax_mt_reg *out)
{
    return ax_mt_cast(e, x->arg[0]->type, x->type, &arg[0], skip, out);
}

const ax_mt_fn ax_mt_cast_fn = {.name = "CAST", .least = 1, .most = 1, .nulls = true, .run = run};
