/* JSON text: bytes, strings and scalars, as the server's to_jsonb would have them: numbers exact,
 * NaN and infinities as strings, times in ISO 8601 (instants in UTC), bytes as "\x..." in hex. */
#include "json_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

ax_status ax_pq_js_room(ax_pq_js *w, size_t n)
{
    size_t cap = w->cap < 4096 ? 4096 : w->cap;
    uint8_t *p;

    if (w->n + n <= w->cap)
        return AX_OK;
    while (cap < w->n + n)
        cap *= 2;
    AX_NEW(w->t, p, (uint8_t *) ax_arena_values(w->a, cap));
    if (w->n > 0)
        memcpy(p, w->p, w->n);
    w->p = p;
    w->cap = cap;
    return AX_OK;
}

ax_status ax_pq_js_put(ax_pq_js *w, const char *s, size_t n)
{
    AX_TRY(ax_pq_js_room(w, n));
    if (n > 0)
        memcpy(w->p + w->n, s, n);
    w->n += n;
    return AX_OK;
}

ax_status ax_pq_js_str(ax_pq_js *w, const char *s) { return ax_pq_js_put(w, s, strlen(s)); }

ax_status ax_pq_js_quoted(ax_pq_js *w, const uint8_t *s, size_t n)
{
    static const char *const names[] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n",
                                        ['\f'] = "\\f", ['\r'] = "\\r"};
    size_t i;

    AX_TRY(ax_pq_js_room(w, n * 6 + 2));
    w->p[w->n++] = '"';
    for (i = 0; i < n; i++)
    {
        uint8_t c = s[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            w->p[w->n++] = c;
        else if (c == '"' || c == '\\')
        {
            w->p[w->n++] = '\\';
            w->p[w->n++] = c;
        }
        else if (c < sizeof names / sizeof *names && names[c] != NULL)
        {
            memcpy(w->p + w->n, names[c], 2);
            w->n += 2;
        }
        else
            w->n += (size_t) snprintf((char *) w->p + w->n, 7, "\\u%04x", c);
    }
    w->p[w->n++] = '"';
    return AX_OK;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static int date_text(int64_t days, char *out, size_t n, bool *bc)
{
    /* Days since 2000-01-01 to the proleptic Gregorian calendar. */
    int64_t z = days + 730425, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    int64_t y = yoe + era * 400 + (m <= 2);

    *bc = y <= 0;
    return snprintf(out, n, "%04lld-%02d-%02d", (long long) (y > 0 ? y : 1 - y), (int) m, (int) d);
}

/* frac: units of 10^-digits seconds since midnight. */
static int time_text(int64_t frac, int digits, char *out, size_t n)
{
    int64_t per = digits == 6 ? 1000000 : 1000000000, s = frac / per, f = frac % per;
    int k = snprintf(out, n, "%02d:%02d:%02d", (int) (s / 3600), (int) (s / 60 % 60),
                     (int) (s % 60));

    if (f > 0)
    {
        k += snprintf(out + k, n - (size_t) k, ".%0*lld", digits, (long long) f);
        while (out[k - 1] == '0')
            k--;
    }
    return k;
}

ax_status ax_pq_js_date(ax_pq_js *w, int64_t days)
{
    char buf[48];
    bool bc;
    int n = date_text(days, buf + 1, 40, &bc) + 1;

    buf[0] = '"';
    AX_TRY(ax_pq_js_put(w, buf, (size_t) n));
    return ax_pq_js_str(w, bc ? " BC\"" : "\"");
}

ax_status ax_pq_js_time(ax_pq_js *w, int64_t frac, int digits)
{
    char buf[64] = "\"";
    int n = 1 + time_text(frac, digits, buf + 1, 48);

    buf[n++] = '"';
    return ax_pq_js_put(w, buf, (size_t) n);
}

ax_status ax_pq_js_stamp(ax_pq_js *w, int64_t frac, int64_t epoch, int digits, bool utc)
{
    const int64_t day = digits == 6 ? 86400000000 : 86400000000000;
    int64_t d = frac / day - (frac % day < 0);
    char buf[96] = "\"";
    bool bc;
    int n = date_text(d - epoch, buf + 1, 40, &bc) + 1;

    frac %= day;
    buf[n++] = 'T';
    n += time_text(frac + (frac < 0 ? day : 0), digits, buf + n, 40);
    n += snprintf(buf + n, 16, "%s%s\"", utc ? "+00:00" : "", bc ? " BC" : "");
    return ax_pq_js_put(w, buf, (size_t) n);
}

static ax_status put_interval(ax_pq_js *w, const ax_interval *iv)
{
    int32_t years = iv->months / 12, months = iv->months % 12;
    char buf[128] = "\"";
    int n = 1;

    if (years != 0)
        n += snprintf(buf + n, 32, "%d year%s ", (int) years, years == 1 ? "" : "s");
    if (months != 0)
        n += snprintf(buf + n, 32, "%d mon%s ", (int) months, months == 1 ? "" : "s");
    if (iv->days != 0)
        n += snprintf(buf + n, 32, "%d day%s ", (int) iv->days, iv->days == 1 ? "" : "s");
    if (iv->usec != 0 || n == 1)
        n += time_text(iv->usec, 6, buf + n, 32);
    else
        n--;
    buf[n++] = '"';
    return ax_pq_js_put(w, buf, (size_t) n);
}

/* v * 10^-scale, with a point when scale > 0; key: in quotes. */
static ax_status put_scaled(ax_pq_js *w, int64_t v, int scale, bool key)
{
    uint64_t u = v < 0 ? (uint64_t) 0 - (uint64_t) v : (uint64_t) v;
    char buf[40];
    int at = sizeof buf, digits = 0;

    if (key)
        buf[--at] = '"';
    do
    {
        buf[--at] = (char) ('0' + (int) (u % 10));
        u /= 10;
        if (++digits == scale)
            buf[--at] = '.';
    } while (u != 0 || digits <= scale);
    if (v < 0)
        buf[--at] = '-';
    if (key)
        buf[--at] = '"';
    return ax_pq_js_put(w, buf + at, sizeof buf - (size_t) at);
}

ax_status ax_pq_js_int(ax_pq_js *w, int64_t v, bool key)
{
    return put_scaled(w, v, 0, key);
}

/* Whole numbers and (doubles only) those of up to four digits behind the point, as far as fifteen
 * digits hold them: a decimal of so many digits that reads back as v is the shortest one.  -1: not
 * such a number, else its scale. */
static int easy_float(double v, bool wide, int64_t *out)
{
    static const double pow10[] = {1, 10, 100, 1000, 10000};
    double most = wide ? 1e15 : 1e6;
    int k;

    if (v == 0 || !(fabs(v) < most))
        return -1;
    for (k = 0; k < (wide ? 5 : 1); k++)
    {
        double r = rint(v * pow10[k]);

        if (fabs(r) < most && r != 0 && r / pow10[k] == v)
        {
            *out = (int64_t) r;
            return k;
        }
    }
    return -1;
}

/* The shortest decimal that reads back as v. */
ax_status ax_pq_js_float(ax_pq_js *w, double v, int from, int to, bool key)
{
    char buf[48];
    int p, n = 0, scale;
    int64_t whole;

    scale = easy_float(v, to > 9, &whole);
    if (scale >= 0)
        return put_scaled(w, whole, scale, key);
    if (isnan(v) || isinf(v))
        return ax_pq_js_str(w, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    for (p = from; p <= to; p++)
    {
        n = snprintf(buf, sizeof buf, key ? "\"%.*g\"" : "%.*g", p, v);
        if (to == 9 ? strtof(buf + key, NULL) == (float) v : strtod(buf + key, NULL) == v)
            break;
    }
    return ax_pq_js_put(w, buf, (size_t) n);
}

ax_status ax_pq_js_num(ax_pq_js *w, const ax_num *num, bool key)
{
    ax_u128 v = num->v < 0 ? (ax_u128) 0 - (ax_u128) num->v : (ax_u128) num->v;
    char buf[1100]; /* scales are at most 1000 */
    int at = sizeof buf, digits = 0;

    if (key)
        buf[--at] = '"';
    do
    {
        buf[--at] = (char) ('0' + (int) (v % 10));
        v /= 10;
        if (++digits == num->dscale)
            buf[--at] = '.';
    } while (at > 4 && (v != 0 || digits <= num->dscale));
    if (num->v < 0)
        buf[--at] = '-';
    if (key)
        buf[--at] = '"';
    return ax_pq_js_put(w, buf + at, sizeof buf - (size_t) at);
}

static ax_status put_hex(ax_pq_js *w, const uint8_t *s, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    size_t i;

    AX_TRY(ax_pq_js_str(w, "\"\\\\x"));
    AX_TRY(ax_pq_js_room(w, 2 * n + 1));
    for (i = 0; i < n; i++)
    {
        w->p[w->n++] = (uint8_t) digit[s[i] >> 4];
        w->p[w->n++] = (uint8_t) digit[s[i] & 15];
    }
    w->p[w->n++] = '"';
    return AX_OK;
}

ax_status ax_pq_js_base64(ax_pq_js *w, const uint8_t *p, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i;

    AX_TRY(ax_pq_js_room(w, n / 3 * 4 + 6));
    w->p[w->n++] = '"';
    for (i = 0; i < n; i += 3)
    {
        uint32_t left = n - i < 3 ? (uint32_t) (n - i) : 3;
        uint32_t v = (uint32_t) p[i] << 16;

        v |= left > 1 ? (uint32_t) p[i + 1] << 8 : 0;
        v |= left > 2 ? p[i + 2] : 0;
        w->p[w->n++] = (uint8_t) digit[v >> 18];
        w->p[w->n++] = (uint8_t) digit[v >> 12 & 63];
        w->p[w->n++] = (uint8_t) (left > 1 ? digit[v >> 6 & 63] : '=');
        w->p[w->n++] = (uint8_t) (left > 2 ? digit[v & 63] : '=');
    }
    w->p[w->n++] = '"';
    return AX_OK;
}

ax_status ax_pq_js_uuid(ax_pq_js *w, const uint8_t *p)
{
    char buf[48] = "\"";
    int n = 1, i;

    for (i = 0; i < 16; i++)
        n += snprintf(buf + n, 8, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i]);
    buf[n++] = '"';
    return ax_pq_js_put(w, buf, (size_t) n);
}

/* Value i of a leaf; key: numbers and booleans are quoted too. */
ax_status ax_pq_js_scalar(ax_pq_js *w, const ax_pq_slots *s, uint32_t i, bool key)
{
    const uint8_t *v = s->val != NULL ? s->val + (size_t) i * s->conv->dst_width : NULL;
    const char *q = key ? "\"" : "";
    ax_interval iv;
    ax_num num;
    int64_t i64 = 0;
    int32_t i32 = 0;
    int16_t i16 = 0;
    double f64;
    float f32;

    if (s->conv->type.id == AX_T_BYTEA)
        return put_hex(w, s->ptr[i], s->len[i]);
    if (s->conv->type.id == AX_T_DIGITS && !key)
        return ax_pq_js_put(w, (const char *) s->ptr[i], s->len[i]);
    if (s->conv->type.phys == AX_P_STR)
        return ax_pq_js_quoted(w, s->ptr[i], s->len[i]);
    switch (s->conv->type.phys)
    {
        case AX_P_I16: memcpy(&i16, v, 2); i64 = i16; break;
        case AX_P_I32: memcpy(&i32, v, 4); i64 = i32; break;
        case AX_P_I64: memcpy(&i64, v, 8); break;
        default: break;
    }
    switch (s->conv->type.id)
    {
        case AX_T_BOOL:
            AX_TRY(ax_pq_js_str(w, q));
            AX_TRY(ax_pq_js_str(w, *v ? "true" : "false"));
            return ax_pq_js_str(w, q);
        case AX_T_INT2:
        case AX_T_INT4:
        case AX_T_INT8:
            return ax_pq_js_int(w, i64, key);
        case AX_T_FLOAT4:
            memcpy(&f32, v, 4);
            return ax_pq_js_float(w, f32, 6, 9, key);
        case AX_T_FLOAT8:
            memcpy(&f64, v, 8);
            return ax_pq_js_float(w, f64, 15, 17, key);
        case AX_T_NUMERIC:
            memcpy(&num, v, sizeof num);
            return ax_pq_js_num(w, &num, key);
        case AX_T_DATE:
            return ax_pq_js_date(w, i64);
        case AX_T_TIME:
            return ax_pq_js_time(w, i64, 6);
        case AX_T_TIMESTAMP:
        case AX_T_TIMESTAMPTZ:
            return ax_pq_js_stamp(w, i64, 0, 6, s->conv->type.id == AX_T_TIMESTAMPTZ);
        case AX_T_INTERVAL:
            memcpy(&iv, v, sizeof iv);
            return put_interval(w, &iv);
        case AX_T_UUID:
            return ax_pq_js_uuid(w, v);
        default:
            return ax_fail(w->t, AX_EUNSUPPORTED, "values of type %s cannot stand in JSON",
                           ax_type_name((ax_type_id) s->conv->type.id));
    }
}

/* ---- one value as text, for people ---------------------------------------------------------- */

static ax_status scalar_text(ax_pq_js *w, const ax_value *v)
{
    _Alignas(16) uint8_t bytes[sizeof(ax_num)];
    const ax_pq_conv conv = {.type = v->type};
    const ax_pq_slots slots = {.conv = &conv, .val = bytes};

    ax_value_store(v, bytes, 0);
    AX_TRY(ax_pq_js_scalar(w, &slots, 0, false));
    if (w->p[0] == '"')
    {
        w->p++;
        w->n -= 2;
    }
    for (size_t i = 0; i < w->n && v->type.phys == AX_P_I64; i++)
        if (w->p[i] == 'T')
            w->p[i] = ' ';
    return AX_OK;
}

ax_status ax_pq_value_text(ax_task *t, ax_arena *a, const ax_value *v, ax_value *out)
{
    uint8_t text[256];
    ax_pq_js w = {.t = t, .a = a, .p = text, .cap = sizeof text};
    const char *s = NULL;

    if (v->type.id == AX_T_BYTEA)
    {
        AX_TRY(put_hex(&w, v->u.s.p, v->u.s.len)); /* quoted, with its backslash doubled */
        w.p += 2;
        w.n -= 3;
    }
    else if (ax_type_is_str(v->type))
    {
        AX_TRY(ax_pq_shown(t, a, v->u.s.p, v->u.s.len, &s));
        w.p = (uint8_t *) s;
        w.n = strlen(s);
    }
    else
        AX_TRY(scalar_text(&w, v));
    *out = (ax_value){.type = ax_type_make(AX_T_TEXT)};
    AX_NEW(t, out->u.s.p, (const uint8_t *) ax_arena_strndup(a, (const char *) w.p, w.n));
    out->u.s.len = (uint32_t) w.n;
    return AX_OK;
}
