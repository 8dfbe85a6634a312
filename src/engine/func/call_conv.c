/* Conversions between text, numbers and boolean: what the server's casts and its output and input
 * functions do.  Source of the rules: the server's numutils.c (15, and 16 for the radix forms),
 * bool.c, float.c, varchar.c. */
#include "func/call_int.h"

#include "func/numeric.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static inline uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }

/* ---- to text -------------------------------------------------------------------------------- */

static uint32_t put_int(int64_t v, char *out)
{
    char rev[20];
    uint32_t n = 0, len = 0;
    uint64_t mag = v < 0 ? -(uint64_t) v : (uint64_t) v;

    do
    {
        rev[n++] = (char) ('0' + mag % 10);
        mag /= 10;
    } while (mag > 0);
    if (v < 0)
        out[len++] = '-';
    while (n > 0)
        out[len++] = rev[--n];
    return len;
}

static uint32_t put_uuid(const uint8_t *u, char *out)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t len = 0;

    for (uint32_t i = 0; i < 16; i++)
    {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[len++] = '-';
        out[len++] = hex[u[i] >> 4];
        out[len++] = hex[u[i] & 15];
    }
    return len;
}

static uint32_t put_bool(const ax_call *c, bool v, char *out)
{
    const char *word = v ? "true" : "false";
    uint32_t n = c->fn == AX_FN_CONCAT_TEXT ? 1 : (uint32_t) strlen(word);

    memcpy(out, word, n);
    return n;
}

/* v has a fixed width; out has AX_NUM_TEXT_MAX bytes. */
static uint32_t put_value(const ax_call *c, const ax_value *v, char *out)
{
    switch (c->arg.id)
    {
        case AX_T_BOOL: return put_bool(c, v->u.i != 0, out);
        case AX_T_UUID: return put_uuid(v->u.fix, out);
        case AX_T_NUMERIC: return ax_num_format(&v->u.num, out, AX_NUM_TEXT_MAX);
        default: return put_int(v->u.i, out);
    }
}

static ax_status run_to_text(const ax_call *c, ax_call_io *io)
{
    const uint8_t **ptr = (const uint8_t **) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n;
        char text[AX_NUM_TEXT_MAX];
        uint8_t *p;
        ax_value v;

        ptr[row] = (const uint8_t *) io->len;
        io->len[row] = 0;
        if (ax_io_null(io, row))
            continue;
        v = ax_vec_value(io->arg[0], row);
        n = put_value(c, &v, text);
        p = (uint8_t *) ax_arena_alloc(io->arena, n + AX_PAD);
        if (p == NULL)
            return ax_row_fail(io, AX_ENOMEM, row, "out of memory");
        memcpy(p, text, n);
        ptr[row] = p;
        io->len[row] = n;
    }
    return AX_OK;
}

/* character(n): without its blanks */
static ax_status run_unpad(const ax_call *c, ax_call_io *io)
{
    const uint8_t **ptr = (const uint8_t **) io->data;

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n = 0;

        ptr[row] = (const uint8_t *) io->len;
        if (!ax_io_null(io, row))
            ptr[row] = ax_vec_str(io->arg[0], row, &n);
        io->len[row] = ax_bpchar_len(ptr[row], n);
    }
    return AX_OK;
}

/* ---- from text ------------------------------------------------------------------------------ */

static int digit_of(uint8_t c)
{
    return is_digit(c) ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : 16;
}

/* Base of the digits at p[*i], which moves behind a prefix 0x, 0o or 0b. */
static int radix_at(const uint8_t *p, uint32_t n, uint32_t *i)
{
    int base = 10;

    if (*i + 1 < n && p[*i] == '0')
        switch (lower(p[*i + 1]))
        {
            case 'x': base = 16; break;
            case 'o': base = 8; break;
            case 'b': base = 2; break;
            default: break;
        }
    *i += base != 10 ? 2 : 0;
    return base;
}

/* Servers before 16: digits only, and a number that does not fit ends the reading. */
static ax_status int_digits(const uint8_t *p, uint32_t n, uint32_t *i, bool neg, int64_t min,
                            ax_i128 *out)
{
    ax_i128 v = 0; /* negative, since the smallest number has no positive one */

    for (; *i < n && is_digit(p[*i]); ++*i)
    {
        v = v * 10 - (p[*i] - '0');
        if (v < min)
            return AX_ERANGE;
    }
    *out = neg ? v : -v;
    return AX_OK;
}

/* Servers from 16 on: a base, and single underscores between digits. */
static ax_status radix_digits(const uint8_t *p, uint32_t n, uint32_t *i, bool neg, int64_t min,
                              ax_i128 *out)
{
    int base = radix_at(p, n, i);
    uint32_t first = *i;
    ax_i128 v = 0, limit = -(ax_i128) min / base;

    for (; *i < n; ++*i)
    {
        if (p[*i] == '_')
        {
            if ((base == 10 && *i == first) || *i + 1 == n || digit_of(p[*i + 1]) >= base)
                return AX_ETEXTREP;
            continue;
        }
        if (digit_of(p[*i]) >= base)
            break;
        if (v > limit)
            return AX_ERANGE;
        v = v * base + digit_of(p[*i]);
    }
    *out = neg ? -v : v;
    return *i == first ? AX_ETEXTREP : AX_OK;
}

static ax_status parse_int(ax_text s, bool radix, int64_t min, int64_t max, int64_t *out)
{
    uint32_t i = 0, digits;
    bool neg = false;
    ax_i128 v;

    while (i < s.n && is_space(s.p[i]))
        i++;
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
        neg = s.p[i++] == '-';
    digits = i;
    AX_TRY(radix ? radix_digits(s.p, s.n, &i, neg, min, &v)
                 : int_digits(s.p, s.n, &i, neg, min, &v));
    if (i == digits)
        return AX_ETEXTREP;
    while (i < s.n && is_space(s.p[i]))
        i++;
    if (i < s.n)
        return AX_ETEXTREP;
    if (v < min || v > max)
        return AX_ERANGE;
    *out = (int64_t) v;
    return AX_OK;
}

/* Is s a beginning of the word, of `least` letters or more? */
static bool begins(ax_text s, const char *word, uint32_t least)
{
    if (s.n < least || s.n > strlen(word))
        return false;
    for (uint32_t i = 0; i < s.n; i++)
        if (lower(s.p[i]) != (uint8_t) word[i])
            return false;
    return true;
}

static ax_status parse_bool(ax_text s, uint8_t *out)
{
    while (s.n > 0 && is_space(s.p[0]))
    {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s.n--;
    *out = begins(s, "true", 1) || begins(s, "yes", 1) || begins(s, "on", 2) || begins(s, "1", 1);
    if (*out || begins(s, "false", 1) || begins(s, "no", 1) || begins(s, "off", 2)
        || begins(s, "0", 1))
        return AX_OK;
    return AX_ETEXTREP;
}

static ax_status parse_float(ax_arena *a, ax_text s, bool single, double *out)
{
    char small[64], *text = small, *end;
    double v;

    if (s.n >= sizeof(small) && (text = (char *) ax_arena_alloc(a, (size_t) s.n + 1)) == NULL)
        return AX_ENOMEM;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    while (is_space((uint8_t) *text))
        text++;
    errno = 0;
    v = single ? (double) strtof(text, &end) : strtod(text, &end);
    if (end == text)
        return AX_ETEXTREP;
    if (errno == ERANGE && (v == 0 || isinf(v)))
        return AX_ERANGE;
    while (is_space((uint8_t) *end))
        end++;
    *out = v;
    return *end == '\0' ? AX_OK : AX_ETEXTREP;
}

static ax_status parse(const ax_call *c, ax_call_io *io, ax_text s, uint32_t row)
{
    bool radix = c->fn >= AX_FN_TEXT_TO_INT2_RADIX && c->fn <= AX_FN_TEXT_TO_INT8_RADIX;
    int64_t i = 0;
    double f = 0;
    ax_status st;

    switch (c->result.id)
    {
        case AX_T_INT2:
            st = parse_int(s, radix, INT16_MIN, INT16_MAX, &i);
            ((int16_t *) io->data)[row] = (int16_t) i;
            return st;
        case AX_T_INT4:
            st = parse_int(s, radix, INT32_MIN, INT32_MAX, &i);
            ((int32_t *) io->data)[row] = (int32_t) i;
            return st;
        case AX_T_INT8:
            return parse_int(s, radix, INT64_MIN, INT64_MAX, (int64_t *) io->data + row);
        case AX_T_FLOAT4:
            st = parse_float(io->arena, s, true, &f);
            ((float *) io->data)[row] = (float) f;
            return st;
        case AX_T_FLOAT8: return parse_float(io->arena, s, false, (double *) io->data + row);
        default: return parse_bool(s, (uint8_t *) io->data + row);
    }
}

/* What the server says of this text; cut to what an error has room for. */
static const char *complaint(const ax_call *c, ax_call_io *io, ax_text s, ax_status st)
{
    const char *type = ax_type_name(c->result.id);
    bool is_float = c->result.phys == AX_P_F32 || c->result.phys == AX_P_F64;
    int n = s.n < 400 ? (int) s.n : 400;
    char *msg = (char *) ax_arena_alloc(io->arena, 512);

    if (msg == NULL || st == AX_ENOMEM)
        return "out of memory";
    while (n > 0 && n < (int) s.n && (s.p[n] & 0xC0) == 0x80) /* whole characters */
        n--;
    if (st == AX_ETEXTREP)
        snprintf(msg, 512, "invalid input syntax for type %s: \"%.*s\"", type, n, s.p);
    else if (is_float)
        snprintf(msg, 512, "\"%.*s\" is out of range for type %s", n, s.p, type);
    else
        snprintf(msg, 512, "value \"%.*s\" is out of range for type %s", n, s.p, type);
    return msg;
}

static ax_status run_from_text(const ax_call *c, ax_call_io *io)
{
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_text s;
        ax_status st;

        if (ax_io_null(io, row))
            continue;
        s.p = ax_vec_str(io->arg[0], row, &s.n);
        st = parse(c, io, s, row);
        if (st != AX_OK)
            return ax_row_fail(io, st, row, complaint(c, io, s, st));
    }
    return AX_OK;
}

/* ---- boolean and integer, varchar(n) -------------------------------------------------------- */

static ax_status run_bool_int(const ax_call *c, ax_call_io *io)
{
    const void *in = io->arg[0]->u.data;

    for (uint32_t i = 0; i < io->n; i++)
        if (c->fn == AX_FN_BOOL_TO_INT)
            ((int32_t *) io->data)[i] = ((const uint8_t *) in)[i];
        else
            ((uint8_t *) io->data)[i] = ((const int32_t *) in)[i] != 0;
    return AX_OK;
}

/* At most c->unit characters; an assignment, not a cast, may only cut blanks. */
static ax_status run_varchar(const ax_call *c, ax_call_io *io)
{
    const uint8_t **ptr = (const uint8_t **) io->data;
    const ax_vec *cast = io->arg[2];

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), keep;
        ax_text s = {(const uint8_t *) io->len, 0};

        if (!ax_io_null(io, row))
            s.p = ax_vec_str(io->arg[0], row, &s.n);
        keep = c->unit < 0 || s.n <= c->unit ? s.n : ax_text_skip(s, (uint64_t) c->unit);
        if (keep < s.n && !((const uint8_t *) cast->u.data)[ax_arg_row(cast, row)])
            for (uint32_t k = keep; k < s.n; k++)
                if (s.p[k] != ' ')
                    return ax_row_fail(io, AX_ETRUNCATED, row,
                                       "value too long for type character varying");
        ptr[row] = s.p;
        io->len[row] = keep;
    }
    return AX_OK;
}

/* ---- binding -------------------------------------------------------------------------------- */

ax_status ax_bind_conv(ax_task *t, ax_call *c)
{
    c->whole = false;
    switch ((ax_fn) c->fn)
    {
        case AX_FN_BOOL_TO_INT:
        case AX_FN_INT_TO_BOOL:
            c->run = run_bool_int;
            c->whole = true;
            return AX_OK;
        case AX_FN_TO_TEXT:
        case AX_FN_CONCAT_TEXT:
            c->run = ax_type_is_str(c->arg) ? run_unpad : run_to_text;
            return AX_OK;
        case AX_FN_VARCHAR:
            AX_CHECK(t, !c->konst[1]->null, AX_EUNSUPPORTED, "varchar of an unknown length");
            c->unit = c->konst[1]->u.i < 4 ? -1 : c->konst[1]->u.i - 4;
            c->run = run_varchar;
            return AX_OK;
        default: c->run = run_from_text; return AX_OK;
    }
}

const char *ax_resolve_conv(ax_fn fn, const ax_type *args)
{
    uint8_t a = args[0].id;
    bool ok;

    switch (fn)
    {
        case AX_FN_BOOL_TO_INT: ok = a == AX_T_BOOL; break;
        case AX_FN_INT_TO_BOOL: ok = a == AX_T_INT4; break;
        case AX_FN_TO_TEXT:
        case AX_FN_CONCAT_TEXT: /* whose text of character(n) has blanks */
            ok = (a >= AX_T_INT2 && a <= AX_T_INT8) || a == AX_T_NUMERIC || a == AX_T_BOOL
              || a == AX_T_UUID || (a == AX_T_BPCHAR && fn == AX_FN_TO_TEXT);
            break;
        case AX_FN_VARCHAR:
            ok = a == AX_T_TEXT && args[1].id == AX_T_INT4 && args[2].id == AX_T_BOOL;
            break;
        default: ok = a == AX_T_TEXT; break;
    }
    return ok ? NULL : "no such conversion in the engine";
}
