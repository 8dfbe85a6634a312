/* Texts of computed columns: what CAST makes of values, and of texts.
 *
 * Source: FunctionsConversion.h, WriteHelpers.h of ClickHouse. */
#include "derive_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
            if (v > ax_mt_pow10(37))
                return 0;
        }
    }
    for (; behind < scale; behind++)
    {
        if (v > ax_mt_pow10(37))
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
            ax_mt_pow10(to->id == MT_DATETIME64 ? to->scale : 0)) + frac;
    return to->id == MT_DATETIME64 ? *out >= INT64_MIN && *out <= INT64_MAX
                                   : *out >= 0 && *out <= UINT32_MAX;
}

static bool is_word(const uint8_t *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

bool ax_mt_int_of_text(const uint8_t *s, size_t n, const ax_mt_type *to, ax_i128 *out)
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
            return n > 0 && ax_mt_digits(s, n, to->scale, out) == n && ax_mt_fits_decimal(to, *out);
        default:
            return n > 0 && ax_mt_digits(s, n, 0, out) == n && ax_mt_fits_int(to, *out) &&
                   !(to->id == MT_UINT && *s == '-');
    }
}

bool ax_mt_float_of_text(const uint8_t *s, size_t n, double *out)
{
    char buf[64], *end;

    if (n == 0 || n >= sizeof buf)
        return false;
    memcpy(buf, s, n);
    buf[n] = '\0';
    if (strspn(buf, "+-0123456789.eE") < n)
        return false;
    *out = strtod(buf, &end);
    return end == buf + n;
}

/* The bytes of a UUID as they are stored. */
bool ax_mt_uuid_of_text(const uint8_t *s, size_t n, uint8_t *out)
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
    char buf[40], digits[24] = {0};
    int n = 0, exp10, i;
    char *o = out;

    if (isnan(v) || isinf(v))
        return (uint32_t) snprintf(out, 8, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    if (signbit(v))
        *o++ = '-';
    v = fabs(v);
    for (i = 0; i < 17; i++)
    {
        (void) snprintf(buf, sizeof buf, "%.*e", i, v);
        if (is_float ? strtof(buf, NULL) == (float) v : strtod(buf, NULL) == v)
            break;
    }
    exp10 = (int) strtol(strchr(buf, 'e') + 1, NULL, 10);
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
        return (uint32_t) (o - out) + (uint32_t) snprintf(o, 8, "e%d", exp10);
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
        int64_t ticks, unit = (int64_t) ax_mt_pow10(from->scale);

        out[10] = ' ';
        n = 19;
        ticks = (int64_t) (arg->i[i] - ax_mt_floor_div(arg->i[i], unit) * unit);
        if (from->id == MT_DATETIME64 && from->scale > 0)
            n += (uint32_t) snprintf(out + n, 24, ".%0*lld", from->scale, (long long) ticks);
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

ax_status ax_mt_texts(ax_mt_run *e, const ax_mt_type *from, const ax_mt_reg *arg,
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
