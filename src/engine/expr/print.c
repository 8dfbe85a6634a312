/* Prints expressions as text for plans. */
#include "expr/expr_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct sink
{
    char *out;
    uint32_t len, cap; /* cap includes the terminator */
    const char *const *names;
} sink;

static void put(sink *s, const char *fmt, ...) AX_PRINTF(2, 3);
static void put(sink *s, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(s->out + s->len, s->cap - s->len, fmt, ap);
    va_end(ap);
    if (n > 0)
        s->len = s->len + (uint32_t) n < s->cap ? s->len + (uint32_t) n : s->cap - 1;
}

static void put_bytes(sink *s, const uint8_t *p, uint32_t n)
{
    uint32_t shown = n < 64 ? n : 64;

    while (shown < n && shown > 0 && (p[shown] & 0xC0) == 0x80)
        shown--; /* whole characters */
    put(s, "'");
    for (uint32_t i = 0; i < shown; i++)
        put(s, p[i] == '\'' ? "''" : "%c", p[i]);
    put(s, shown < n ? "...'" : "'");
}

static void put_num(sink *s, const ax_num *n)
{
    char digits[48];
    uint32_t q = sizeof(digits) - 1;
    ax_u128 v = n->v < 0 ? -(ax_u128) n->v : (ax_u128) n->v;
    int32_t scale = 0;

    if (n->special)
    {
        put(s, n->special == AX_NUM_NAN ? "NaN" : n->special == AX_NUM_PINF ? "Inf" : "-Inf");
        return;
    }
    if (n->dscale > 38)
    {
        put(s, "%ge-%d", (double) n->v, n->dscale);
        return;
    }
    digits[q] = 0;
    do
    {
        if (scale > 0 && scale == n->dscale)
            digits[--q] = '.';
        digits[--q] = (char) ('0' + (int) (v % 10));
        v /= 10;
        scale++;
    } while (v != 0 || scale <= n->dscale);
    put(s, "%s%s", n->v < 0 ? "-" : "", digits + q);
}

static void put_value(sink *s, const ax_value *v)
{
    int64_t days = v->u.i;

    if (v->null)
    {
        put(s, "NULL");
        return;
    }
    switch (v->type.id)
    {
        case AX_T_BOOL: put(s, "%s", v->u.i ? "true" : "false"); break;
        case AX_T_FLOAT4: put(s, "%.9g", v->u.f); break;
        case AX_T_FLOAT8: put(s, "%.17g", v->u.f); break;
        case AX_T_NUMERIC: put_num(s, &v->u.num); break;
        case AX_T_TEXT:
        case AX_T_BPCHAR: put_bytes(s, v->u.s.p, v->u.s.len); break;
        case AX_T_BYTEA: put(s, "bytea[%u]", v->u.s.len); break;
        case AX_T_DATE: put(s, "date '2000-01-01' + %" PRId64, days); break;
        case AX_T_TIMESTAMP:
        case AX_T_TIMESTAMPTZ: put(s, "timestamp %" PRId64, v->u.i); break;
        case AX_T_INTERVAL: put(s, "interval"); break;
        case AX_T_UUID:
            for (uint32_t i = 0; i < 16; i++)
                put(s, "%02x", v->u.fix[i]);
            break;
        default: put(s, "%" PRId64, v->u.i); break;
    }
}

static void print(sink *s, const ax_expr *e);

static void print_list(sink *s, const ax_expr *e, const char *sep)
{
    for (uint32_t i = 0; i < e->nargs; i++)
    {
        put(s, "%s", i > 0 ? sep : "");
        print(s, e->arg[i]);
    }
}

static void print_call(sink *s, const ax_expr *e)
{
    const char *name = ax_fn_get((ax_fn) e->fn)->name;
    bool word = (name[0] >= 'a' && name[0] <= 'z');
    bool infix = e->nargs == 2 && (!word || strchr(name, ' ') != NULL);
    bool postfix = e->nargs == 1 && strncmp(name, "is ", 3) == 0;
    bool prefix = e->nargs == 1 && (!word || e->fn == AX_FN_NOT);

    if (infix)
    {
        put(s, "(");
        print(s, e->arg[0]);
        put(s, " %s ", name);
        print(s, e->arg[1]);
        put(s, ")");
    }
    else if (postfix || prefix)
    {
        put(s, prefix ? "(%s " : "(", name);
        print(s, e->arg[0]);
        put(s, postfix ? " %s)" : ")", name);
    }
    else
    {
        put(s, "%s(", name);
        print_list(s, e, ", ");
        put(s, ")");
    }
}

static void print_in(sink *s, const ax_expr *e)
{
    put(s, "(");
    print(s, e->arg[0]);
    put(s, e->u.in.negated ? " <> ALL (" : " = ANY (");
    for (uint32_t i = 0; i < e->u.in.n && i < 8; i++)
    {
        put(s, "%s", i > 0 ? ", " : "");
        put_value(s, &e->u.in.vals[i]);
    }
    for (uint32_t i = 1; i < e->nargs; i++)
    {
        put(s, "%s", i > 1 ? ", " : "");
        print(s, e->arg[i]);
    }
    put(s, e->u.in.n > 8 ? ", ... %u more))" : "))", e->u.in.n - 8);
}

static void print_case(sink *s, const ax_expr *e)
{
    put(s, "CASE");
    for (uint32_t i = 0; i < e->nargs; i++)
    {
        put(s, i % 2 == 1 ? " THEN " : i + 1 < e->nargs ? " WHEN " : " ELSE ");
        print(s, e->arg[i]);
    }
    put(s, " END");
}

static void print(sink *s, const ax_expr *e)
{
    if (s->len + 1 >= s->cap)
        return;
    switch (e->kind)
    {
        case AX_X_COL:
            if (s->names != NULL && s->names[e->u.col] != NULL)
                put(s, "%s", s->names[e->u.col]);
            else
                put(s, "$%u", e->u.col);
            break;
        case AX_X_CONST: put_value(s, &e->u.val); break;
        case AX_X_PARAM: put(s, ":%u", e->u.param); break;
        case AX_X_CALL: print_call(s, e); break;
        case AX_X_AND:
        case AX_X_OR:
            put(s, "(");
            print_list(s, e, e->kind == AX_X_AND ? " AND " : " OR ");
            put(s, ")");
            break;
        case AX_X_IN: print_in(s, e); break;
        case AX_X_CASE: print_case(s, e); break;
        case AX_X_COALESCE:
            put(s, "coalesce(");
            print_list(s, e, ", ");
            put(s, ")");
            break;
        case AX_X_BEYOND: print(s, e->arg[0]); break;
        default:
            put(s, "host%u(", e->u.host);
            print_list(s, e, ", ");
            put(s, ")");
            break;
    }
}

uint32_t ax_expr_print(const ax_expr *e, const char *const *names, char *out, uint32_t out_len)
{
    sink s = {out, 0, out_len, names};

    if (out_len == 0)
        return 0;
    out[0] = 0;
    print(&s, e);
    return s.len;
}
