/* Values of one type as another, as ClickHouse's CAST has them: integers wrap, decimals and floats
 * are cut off towards zero, texts must be wholly of the form.  What ClickHouse saturates, or leaves
 * to the machine (floats beyond an integer), is an error here.
 *
 * Times of day depend on a zone; those of UTC are known, others are not.
 *
 * Source: FunctionsConversion.h of ClickHouse. */
#include "derive_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- which are known ------------------------------------------------------------------------- */

static bool whole(const ax_mt_type *ty)
{
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_BOOL;
}

static bool in_utc(const ax_mt_type *ty)
{
    return ty->zone != NULL && (strcmp(ty->zone, "UTC") == 0 || strcmp(ty->zone, "Etc/UTC") == 0);
}

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
            return in_utc(from);
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
            return in_utc(to);
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

    *raises = from->id != MT_DATE && to->id != MT_DATETIME64 && !whole(to);
    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
            return from->id == MT_DATE || from->id == MT_DATE32 || from->id == MT_DATETIME;
        case MT_DATE:
        case MT_DATE32:
            return day || in_utc(from);
        case MT_DATETIME:
            *raises = true;
            return day ? in_utc(to) : true;
        case MT_DATETIME64:
            *raises = true;
            return from->id == MT_DATETIME || (from->id == MT_DATETIME64 && to->scale >= from->scale);
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
    if (whole(from))
        return of_whole(from, to, raises);
    switch ((ax_mt_tid) from->id)
    {
        case MT_FLOAT:
            *raises = to->id != MT_FLOAT && to->id != MT_BOOL;
            return whole(to) || to->id == MT_FLOAT || to->id == MT_DECIMAL;
        case MT_DECIMAL:
            *raises = to->id != MT_FLOAT && to->id != MT_BOOL;
            return whole(to) || to->id == MT_FLOAT || to->id == MT_DECIMAL;
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

static ax_i128 pow10_of(int n)
{
    ax_i128 v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

static bool fits_decimal(const ax_mt_type *to, ax_i128 v)
{
    ax_i128 most = pow10_of(to->width == 4 ? 9 : to->width == 8 ? 18 : 38);

    if (to->width == 4)
        return v >= INT32_MIN && v <= INT32_MAX;
    if (to->width == 8)
        return v >= INT64_MIN && v <= INT64_MAX;
    return v < most && v > -most;
}

/* An integer (scale 0) or decimal as a decimal. */
static bool rescale(ax_i128 v, int scale, const ax_mt_type *to, ax_i128 *out)
{
    if (to->scale >= scale)
    {
        if (__builtin_mul_overflow(v, pow10_of(to->scale - scale), out))
            return false;
    }
    else
        *out = v / pow10_of(scale - to->scale);
    return fits_decimal(to, *out);
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
            *out = v * pow10_of(to->scale);
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
        double scaled = v * (double) pow10_of(to->scale), most = ldexp(1, (int) (8 * to->width) - 1);

        if (!(scaled > -most && scaled < most))
            return false;
        *out = (ax_i128) scaled;
        return fits_decimal(to, *out);
    }
    v = trunc(v);
    if (!(v >= lo && v < hi))
        return false;
    *out = (ax_i128) v;
    return true;
}

static bool fits_int(const ax_mt_type *to, ax_i128 v)
{
    return to->id == MT_BOOL || ax_mt_wrap(v, to->width, to->id == MT_INT) == v;
}

static ax_i128 floor_div(ax_i128 v, ax_i128 d) { return v / d - (v % d < 0); }

/* Dates and times, INT to INT. */
static bool time_of(const ax_mt_type *from, ax_i128 v, const ax_mt_type *to, ax_i128 *out)
{
    ax_i128 unit = from->id == MT_DATETIME64 ? pow10_of(from->scale) : 1;
    bool day = from->id == MT_DATE || from->id == MT_DATE32;

    switch ((ax_mt_tid) to->id)
    {
        case MT_INT:
        case MT_UINT:
            *out = ax_mt_wrap(v, to->width, to->id == MT_INT);
            return true;
        case MT_DATE:
        case MT_DATE32:
            *out = day ? v : floor_div(v, unit * 86400);
            return to->id == MT_DATE32 || (*out >= 0 && *out <= UINT16_MAX);
        case MT_DATETIME:
            *out = day ? v * 86400 : floor_div(v, unit);
            return *out >= 0 && *out <= UINT32_MAX && v >= 0;
        default:
            *out = from->id == MT_DATETIME64 ? v * pow10_of(to->scale - from->scale)
                                             : v * pow10_of(to->scale);
            return *out >= INT64_MIN && *out <= INT64_MAX;
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

size_t ax_mt_digits(const uint8_t *s, size_t n, int scale, ax_i128 *out)
{
    bool neg = n > 0 && *s == '-', point = false;
    size_t i = n > 0 && (*s == '-' || *s == '+');
    int behind = 0, digits = 0;
    ax_i128 v = 0;

    for (; i < n; i++)
    {
        if (s[i] == '.' && !point && scale > 0)
            point = true;
        else if (s[i] < '0' || s[i] > '9')
            break;
        else if (point && behind == scale)
            digits++;
        else
        {
            v = v * 10 + (s[i] - '0');
            behind += point;
            digits++;
            if (v > pow10_of(37))
                return 0;
        }
    }
    for (; behind < scale; behind++)
    {
        if (v > pow10_of(37))
            return 0;
        v *= 10;
    }
    *out = neg ? -v : v;
    return digits > 0 ? i : 0;
}

static bool field(const uint8_t *s, int digits, int64_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++)
    {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *out = *out * 10 + (s[i] - '0');
    }
    return true;
}

static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    int64_t yy = y - (m <= 2), era = (yy >= 0 ? yy : yy - 399) / 400, yoe = yy - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* 'YYYY-MM-DD[ hh:mm:ss[.fraction]]' as ticks of 10^-scale seconds since 1970, or days. */
static bool instant_of(const uint8_t *s, size_t n, const ax_mt_type *to, ax_i128 *out)
{
    static const uint8_t month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool day = to->id == MT_DATE || to->id == MT_DATE32, leap;
    int64_t y, m, d, h = 0, mi = 0, sec = 0;
    ax_i128 frac = 0, days;

    if ((n != 10 && (n < 19 || day)) || !field(s, 4, &y) || s[4] != '-' || !field(s + 5, 2, &m) ||
        s[7] != '-' || !field(s + 8, 2, &d) || m < 1 || m > 12 || y < 1900 || y > 2299)
        return false;
    leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (d < 1 || d > month[m - 1] + (m == 2 && leap))
        return false;
    if (n > 10 && (s[10] != ' ' || !field(s + 11, 2, &h) || s[13] != ':' ||
                   !field(s + 14, 2, &mi) || s[16] != ':' || !field(s + 17, 2, &sec) || h > 23 ||
                   mi > 59 || sec > 59))
        return false;
    days = days_of(y, m, d);
    if (day)
    {
        *out = days;
        return to->id == MT_DATE32 || (days >= 0 && days <= UINT16_MAX);
    }
    if (n > 19 && (to->id != MT_DATETIME64 || s[19] != '.' || n - 20 > (size_t) to->scale ||
                   n == 20 || ax_mt_digits(s + 19, n - 19, to->scale, &frac) != n - 19))
        return false;
    *out = ((days * 86400 + h * 3600 + mi * 60 + sec) *
            pow10_of(to->id == MT_DATETIME64 ? to->scale : 0)) + frac;
    return to->id == MT_DATETIME64 ? *out >= INT64_MIN && *out <= INT64_MAX
                                   : *out >= 0 && *out <= UINT32_MAX;
}

static bool is_word(const uint8_t *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool int_of_text(const uint8_t *s, size_t n, const ax_mt_type *to, ax_i128 *out)
{
    switch ((ax_mt_tid) to->id)
    {
        case MT_BOOL:
            *out = is_word(s, n, "true") || is_word(s, n, "1");
            return *out != 0 || is_word(s, n, "false") || is_word(s, n, "0");
        case MT_ENUM:
            for (uint32_t i = 0; i < to->nlabel; i++)
                if (to->label[i].len == n && memcmp(to->label[i].name, s, n) == 0)
                {
                    *out = to->label[i].code;
                    return true;
                }
            return false;
        case MT_DATE:
        case MT_DATE32:
        case MT_DATETIME:
        case MT_DATETIME64:
            return instant_of(s, n, to, out);
        case MT_DECIMAL:
            return n > 0 && ax_mt_digits(s, n, to->scale, out) == n && fits_decimal(to, *out);
        default:
            return n > 0 && ax_mt_digits(s, n, 0, out) == n && fits_int(to, *out) &&
                   !(to->id == MT_UINT && *s == '-');
    }
}

static bool float_of_text(const uint8_t *s, size_t n, double *out)
{
    char buf[64], *end;

    if (n == 0 || n >= sizeof buf || strspn((const char *) memcpy(buf, s, n), "+-0123456789.eE") < n)
        return false;
    buf[n] = '\0';
    *out = strtod(buf, &end);
    return end == buf + n;
}

/* The bytes of a UUID as they are stored. */
static bool uuid_of_text(const uint8_t *s, size_t n, uint8_t *out)
{
    uint64_t half[2] = {0, 0};
    int digits = 0;

    for (size_t i = 0; i < n; i++)
    {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        uint8_t ch = s[i] | 0x20;

        if (dash && s[i] == '-')
            continue;
        if (dash || !((s[i] >= '0' && s[i] <= '9') || (ch >= 'a' && ch <= 'f')) || digits == 32)
            return false;
        half[digits / 16] = half[digits / 16] << 4 |
                            (uint64_t) (s[i] <= '9' ? s[i] - '0' : ch - 'a' + 10);
        digits++;
    }
    memcpy(out, half, 16);
    return n == 36 && digits == 32;
}

/* ---- to text --------------------------------------------------------------------------------- */

/* The shortest digits that give the same value back; between 1e-6 and 1e21 without exponent. */
static uint32_t print_float(double v, bool is_float, char *out)
{
    char buf[40], digits[24];
    int n = 0, exp10, i;
    char *o = out;

    if (isnan(v) || isinf(v))
        return (uint32_t) sprintf(out, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    if (signbit(v))
        *o++ = '-';
    v = fabs(v);
    for (i = 0; i < 17; i++)
    {
        (void) snprintf(buf, sizeof buf, "%.*e", i, v);
        if (is_float ? strtof(buf, NULL) == (float) v : strtod(buf, NULL) == v)
            break;
    }
    exp10 = atoi(strchr(buf, 'e') + 1);
    for (i = 0; buf[i] != 'e'; i++)
        if (buf[i] != '.')
            digits[n++] = buf[i];
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (v != 0 && (exp10 < -6 || exp10 >= 21))
    {
        *o++ = digits[0];
        if (n > 1)
        {
            *o++ = '.';
            memcpy(o, digits + 1, (size_t) n - 1);
            o += n - 1;
        }
        return (uint32_t) (o - out) + (uint32_t) sprintf(o, "e%d", exp10);
    }
    if (exp10 < 0)
    {
        *o++ = '0';
        *o++ = '.';
        for (i = -1; i > exp10; i--)
            *o++ = '0';
    }
    for (i = 0; i < n || i <= exp10; i++)
    {
        if (exp10 >= 0 && i == exp10 + 1)
            *o++ = '.';
        *o++ = i < n ? digits[i] : '0';
    }
    return (uint32_t) (o - out);
}

/* A value of INT or FLOAT, at most 96 bytes. */
static uint32_t print(const ax_mt_type *from, const ax_mt_reg *arg, uint32_t i, char *out)
{
    uint8_t raw[16];
    uint32_t n;

    if (from->id == MT_FLOAT)
        return print_float(arg->f[i], from->width == 4, out);
    memcpy(raw, &arg->i[i], sizeof raw);
    n = ax_mt_text(from, raw, out);
    if (from->id == MT_DECIMAL && from->scale > 0)
    {
        while (out[n - 1] == '0')
            n--;
        n -= out[n - 1] == '.';
    }
    if (from->id == MT_DATETIME || from->id == MT_DATETIME64)
    {
        int64_t ticks, unit = (int64_t) pow10_of(from->scale);

        out[10] = ' ';
        n = 19;
        ticks = (int64_t) (arg->i[i] - floor_div(arg->i[i], unit) * unit);
        if (from->id == MT_DATETIME64 && from->scale > 0)
            n += (uint32_t) sprintf(out + n, ".%0*lld", from->scale, (long long) ticks);
    }
    return n;
}

static ax_status label(ax_mt_run *e, const ax_mt_type *from, ax_i128 code, ax_mt_reg *out,
                       uint32_t i)
{
    for (uint32_t k = 0; k < from->nlabel; k++)
        if (from->label[k].code == code)
        {
            out->ptr[i] = (const uint8_t *) from->label[k].name;
            out->len[i] = from->label[k].len;
            return AX_OK;
        }
    return ax_fail(e->t, AX_ECORRUPT, "value %d is not one of type %s", (int) code, from->text);
}

static ax_status texts(ax_mt_run *e, const ax_mt_type *from, const ax_mt_reg *arg,
                       const uint8_t *skip, ax_mt_reg *out)
{
    uint32_t i;
    char *p;

    enum { MOST = 96 };

    AX_NEW(e->t, p, (char *) ax_arena_values(e->a, (size_t) arg->n * MOST + 1));
    for (i = 0; i < arg->n; i++)
    {
        out->ptr[i] = (const uint8_t *) p;
        out->len[i] = 0;
        if (skip != NULL && skip[i])
            continue;
        if (from->id == MT_ENUM)
            AX_TRY(label(e, from, arg->i[i], out, i));
        else if (from->id == MT_STRING || from->id == MT_FIXEDSTRING)
        {
            out->ptr[i] = arg->ptr[i];
            out->len[i] = arg->len[i];
            while (from->id == MT_FIXEDSTRING && out->len[i] > 0 &&
                   out->ptr[i][out->len[i] - 1] == 0)
                out->len[i]--;
        }
        else
        {
            out->len[i] = from->id == MT_UUID ? ax_mt_text(from, arg->ptr[i], p)
                                              : print(from, arg, i, p);
            p += out->len[i];
        }
    }
    return AX_OK;
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
            ok = uuid_of_text(arg->ptr[i], arg->len[i], p);
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
            return int_of_text(arg->ptr[i], arg->len[i], to, out);
        case MT_FLOAT:
            return float_to_int(arg->f[i], to, out);
        case MT_DECIMAL:
            if (to->id == MT_DECIMAL)
                return rescale(arg->i[i], from->scale, to, out);
            *out = to->id == MT_BOOL ? arg->i[i] != 0 : arg->i[i] / pow10_of(from->scale);
            return fits_int(to, *out);
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
            if (!float_of_text(arg->ptr[i], arg->len[i], &v))
                return no_value(e, from, to);
        }
        else if (from->id == MT_FLOAT)
            v = arg->f[i];
        else if (from->id == MT_DECIMAL)
            v = to->width == 4 ? (float) arg->i[i] / (float) pow10_of(from->scale)
                               : (double) arg->i[i] / (double) pow10_of(from->scale);
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
        return texts(e, from, arg, skip, out);
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
