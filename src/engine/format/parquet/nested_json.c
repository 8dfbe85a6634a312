/* Values of nested columns as JSON text, as the server's to_jsonb would have them: numbers exact,
 * NaN and infinities as strings, times in ISO 8601 (instants in UTC), bytes as "\x..." in hex.
 *
 * One walk over a shape for each row; every leaf has a cursor over its slots.  Leaves below one
 * list must agree on where its elements begin and end, and on what is null: that is checked at
 * every step, since each leaf was read from bytes of its own.
 *
 * Repeated names stay (the last one wins in the host); a null as the key of a map is an error of
 * its row; maps whose keys are no scalars become arrays of {"key", "value"}.
 *
 * Recursion is as deep as the schema, which is limited (PQ_MAX_DEPTH). */
#include "parquet_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROW_BYTES = 0x3fffffff };

typedef struct writer
{
    ax_task *t;
    ax_arena *a;
    uint8_t *p;               /* [cap] */
    size_t n, cap;
    const ax_pq_shape *root;
    ax_pq_slots *slots;       /* [root->nleaf] */
    bool null_key;
} writer;

/* ---- bytes ----------------------------------------------------------------------------------- */

static ax_status room(writer *w, size_t n)
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

static ax_status put(writer *w, const char *s, size_t n)
{
    AX_TRY(room(w, n));
    memcpy(w->p + w->n, s, n);
    w->n += n;
    return AX_OK;
}

static ax_status put_str(writer *w, const char *s) { return put(w, s, strlen(s)); }

static ax_status quoted(writer *w, const uint8_t *s, size_t n)
{
    static const char *const names[] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n",
                                        ['\f'] = "\\f", ['\r'] = "\\r"};
    size_t i;

    AX_TRY(room(w, n * 6 + 2));
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

static int time_text(int64_t us, char *out, size_t n)
{
    int64_t s = us / 1000000, frac = us % 1000000;
    int k = snprintf(out, n, "%02d:%02d:%02d", (int) (s / 3600), (int) (s / 60 % 60),
                     (int) (s % 60));

    if (frac > 0)
    {
        k += snprintf(out + k, n - (size_t) k, ".%06d", (int) frac);
        while (out[k - 1] == '0')
            k--;
    }
    return k;
}

static ax_status put_date(writer *w, int64_t days)
{
    char buf[48];
    bool bc;
    int n = date_text(days, buf + 1, 40, &bc) + 1;

    buf[0] = '"';
    AX_TRY(put(w, buf, (size_t) n));
    return put_str(w, bc ? " BC\"" : "\"");
}

static ax_status put_stamp(writer *w, int64_t us, bool utc)
{
    const int64_t day = 86400000000;
    int64_t d = us / day - (us % day < 0);
    char buf[96] = "\"";
    bool bc;
    int n = date_text(d, buf + 1, 40, &bc) + 1;

    buf[n++] = 'T';
    n += time_text(us - d * day, buf + n, 32);
    n += snprintf(buf + n, 16, "%s%s\"", utc ? "+00:00" : "", bc ? " BC" : "");
    return put(w, buf, (size_t) n);
}

static ax_status put_interval(writer *w, const ax_interval *iv)
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
        n += time_text(iv->usec, buf + n, 32);
    else
        n--;
    buf[n++] = '"';
    return put(w, buf, (size_t) n);
}

/* v * 10^-scale, with a point when scale > 0; key: in quotes. */
static ax_status put_scaled(writer *w, int64_t v, int scale, bool key)
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
    return put(w, buf + at, sizeof buf - (size_t) at);
}

static ax_status put_int(writer *w, int64_t v, bool key)
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
static ax_status put_float(writer *w, double v, int from, int to, bool key)
{
    char buf[48];
    int p, n = 0, scale;
    int64_t whole;

    scale = easy_float(v, to > 9, &whole);
    if (scale >= 0)
        return put_scaled(w, whole, scale, key);
    if (isnan(v) || isinf(v))
        return put_str(w, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    for (p = from; p <= to; p++)
    {
        n = snprintf(buf, sizeof buf, key ? "\"%.*g\"" : "%.*g", p, v);
        if (to == 9 ? strtof(buf + key, NULL) == (float) v : strtod(buf + key, NULL) == v)
            break;
    }
    return put(w, buf, (size_t) n);
}

static ax_status put_num(writer *w, const ax_num *num, bool key)
{
    ax_u128 v = num->v < 0 ? (ax_u128) 0 - (ax_u128) num->v : (ax_u128) num->v;
    char buf[96];
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
    return put(w, buf + at, sizeof buf - (size_t) at);
}

static ax_status put_hex(writer *w, const uint8_t *s, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    size_t i;

    AX_TRY(put_str(w, "\"\\\\x"));
    AX_TRY(room(w, 2 * n + 1));
    for (i = 0; i < n; i++)
    {
        w->p[w->n++] = (uint8_t) digit[s[i] >> 4];
        w->p[w->n++] = (uint8_t) digit[s[i] & 15];
    }
    w->p[w->n++] = '"';
    return AX_OK;
}

static ax_status put_uuid(writer *w, const uint8_t *p)
{
    char buf[48] = "\"";
    int n = 1, i;

    for (i = 0; i < 16; i++)
        n += snprintf(buf + n, 8, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i]);
    buf[n++] = '"';
    return put(w, buf, (size_t) n);
}

/* Value i of a leaf; key: numbers and booleans are quoted too. */
static ax_status scalar(writer *w, const ax_pq_slots *s, uint32_t i, bool key)
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
    if (s->conv->type.phys == AX_P_STR)
        return quoted(w, s->ptr[i], s->len[i]);
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
            AX_TRY(put_str(w, q));
            AX_TRY(put_str(w, *v ? "true" : "false"));
            return put_str(w, q);
        case AX_T_INT2:
        case AX_T_INT4:
        case AX_T_INT8:
            return put_int(w, i64, key);
        case AX_T_FLOAT4:
            memcpy(&f32, v, 4);
            return put_float(w, f32, 6, 9, key);
        case AX_T_FLOAT8:
            memcpy(&f64, v, 8);
            return put_float(w, f64, 15, 17, key);
        case AX_T_NUMERIC:
            memcpy(&num, v, sizeof num);
            return put_num(w, &num, key);
        case AX_T_DATE:
            return put_date(w, i64);
        case AX_T_TIME:
        {
            char buf[40] = "\"";
            int n = 1 + time_text(i64, buf + 1, 32);

            buf[n++] = '"';
            return put(w, buf, (size_t) n);
        }
        case AX_T_TIMESTAMP:
        case AX_T_TIMESTAMPTZ:
            return put_stamp(w, i64, s->conv->type.id == AX_T_TIMESTAMPTZ);
        case AX_T_INTERVAL:
            memcpy(&iv, v, sizeof iv);
            return put_interval(w, &iv);
        case AX_T_UUID:
            return put_uuid(w, v);
        default:
            return ax_fail(w->t, AX_EUNSUPPORTED, "values of type %s cannot stand in JSON",
                           ax_type_name((ax_type_id) s->conv->type.id));
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static ax_status value(writer *w, const ax_pq_shape *s);

static ax_pq_slots *first(writer *w, const ax_pq_shape *s)
{
    return &w->slots[s->leaf0 - w->root->leaf0];
}

static ax_status disagree(ax_task *t)
{
    return ax_fail(t, AX_ECORRUPT, "fields of one group do not agree on the length of a list");
}

/* One slot of a leaf; key: of a map. */
static ax_status leaf(writer *w, const ax_pq_shape *s, bool key)
{
    ax_pq_slots *l = first(w, s);
    bool there;

    if (l->at == l->n)
        return disagree(w->t);
    there = l->def[l->at] >= s->def && l->conv->kind != CONV_NULL;
    l->at++;
    if (there)
        return scalar(w, l, l->val_at++, key);
    w->null_key |= key;
    return put_str(w, "null");
}

static ax_status fields(writer *w, const ax_pq_shape *s)
{
    uint32_t i;

    AX_TRY(put_str(w, "{"));
    for (i = 0; i < s->n; i++)
    {
        if (i > 0)
            AX_TRY(put_str(w, ","));
        AX_TRY(quoted(w, (const uint8_t *) s->child[i].name, strlen(s->child[i].name)));
        AX_TRY(put_str(w, ":"));
        AX_TRY(value(w, &s->child[i]));
    }
    return put_str(w, "}");
}

/* Do all leaves go on with the list, or none? */
static ax_status goes_on(writer *w, const ax_pq_shape *s, bool *out)
{
    ax_pq_slots *l = first(w, s);
    uint8_t rep = l->at < l->n ? l->rep[l->at] : 0;
    uint32_t i;

    for (i = 1; i < s->nleaf; i++)
        if ((l[i].at < l[i].n ? l[i].rep[l[i].at] : 0) != rep)
            return disagree(w->t);
    AX_CHECK(w->t, rep <= s->rep, AX_ECORRUPT, "repetition level %u where a list of level %u ended",
             rep, s->rep);
    *out = rep == s->rep;
    return AX_OK;
}

static ax_status entry(writer *w, const ax_pq_shape *s)
{
    bool scalar_key = s->child[0].kind == SHAPE_LEAF;

    if (!scalar_key)
    {
        AX_TRY(put_str(w, "{\"key\":"));
        AX_TRY(value(w, &s->child[0]));
        AX_TRY(put_str(w, ",\"value\":"));
    }
    else
    {
        AX_TRY(leaf(w, &s->child[0], true));
        AX_TRY(put_str(w, ":"));
    }
    if (s->n == 1)
        AX_TRY(put_str(w, "null"));
    else
        AX_TRY(value(w, &s->child[1]));
    return scalar_key ? AX_OK : put_str(w, "}");
}

/* The elements of a list or the entries of a map. */
static ax_status elements(writer *w, const ax_pq_shape *s)
{
    bool object = s->kind == SHAPE_MAP && s->child[0].kind == SHAPE_LEAF, more = true, any = false;
    ax_pq_slots *l = first(w, s);
    uint32_t i;

    AX_TRY(put_str(w, object ? "{" : "["));
    if (l->def[l->at] < s->edef)
    {
        AX_TRY(ax_pq_slots_none(w->t, w->slots, w->root, s));
        AX_TRY(goes_on(w, s, &more));
        AX_CHECK(w->t, !more, AX_ECORRUPT, "an empty list has more than one value");
        return put_str(w, object ? "}" : "]");
    }
    for (; more; any = true)
    {
        for (i = 0; i < s->nleaf; i++)
            AX_CHECK(w->t, l[i].at < l[i].n && l[i].def[l[i].at] >= s->edef, AX_ECORRUPT,
                     "an element of a list is not there");
        if (any)
            AX_TRY(put_str(w, ","));
        if (s->kind == SHAPE_MAP)
            AX_TRY(entry(w, s));
        else
            AX_TRY(value(w, s->child));
        AX_TRY(goes_on(w, s, &more));
    }
    return put_str(w, object ? "}" : "]");
}

static ax_status value(writer *w, const ax_pq_shape *s)
{
    ax_pq_slots *l = first(w, s);
    uint32_t i;

    if (s->kind == SHAPE_LEAF)
        return leaf(w, s, false);
    if (s->nleaf == 0)
        return put_str(w, "{}");
    if (l->at == l->n)
        return disagree(w->t);
    if (l->def[l->at] < s->def)
    {
        AX_TRY(ax_pq_slots_none(w->t, w->slots, w->root, s));
        return put_str(w, "null");
    }
    if (s->kind != SHAPE_STRUCT)
        return elements(w, s);
    for (i = 1; i < s->nleaf; i++)
        AX_CHECK(w->t, l[i].at < l[i].n && l[i].def[l[i].at] >= s->def, AX_ECORRUPT,
                 "fields of one group do not agree on whether it is null");
    return fields(w, s);
}

ax_status ax_pq_nested_json(ax_task *t, ax_arena *a, const ax_pq_shape *shape, ax_pq_slots *slots,
                            uint32_t n, const uint8_t **ptr, uint32_t *len, uint8_t *null,
                            uint32_t *fail_row)
{
    writer w = {.t = t, .a = a, .root = shape, .slots = slots};
    size_t *end;
    uint32_t i, k;

    AX_NEW(t, end, (size_t *) ax_arena_alloc(a, (size_t) n * sizeof *end + 1));
    for (i = 0; i < n; i++)
    {
        size_t from = w.n;

        null[i] = slots->at < slots->n && slots->def[slots->at] < shape->def;
        AX_TRY(value(&w, shape));
        for (k = 0; k < shape->nleaf; k++)
            if (slots[k].at < slots[k].n && slots[k].rep[slots[k].at] != 0)
                return disagree(t);
        if (null[i])
            w.n = from;
        AX_CHECK(t, w.n - from <= MAX_ROW_BYTES, AX_ELIMIT, "value of a nested column is too long");
        if (w.null_key)
        {
            *fail_row = i;
            return ax_fail(t, AX_ENOTNULL, "map has a null key");
        }
        end[i] = w.n;
    }
    for (i = 0; i < n; i++)
    {
        size_t from = i > 0 ? end[i - 1] : 0;

        ptr[i] = w.p != NULL ? w.p + from : (const uint8_t *) "";
        len[i] = (uint32_t) (end[i] - from);
    }
    return AX_OK;
}
