/* Text of expressions to trees, as the server writes them into definitions of tables: operators
 * and functions, literals, arrays, lambdas.
 *
 *      a OR b   a AND b   NOT a   = != < <= > >=   IS [NOT] NULL   a + b   a - b   a * b   a / b
 *      a % b   -a   f(a, ...)   [a, ...]   x -> a   (x, y) -> a   `name`   name.part   'text'   1.5
 *
 * Operators become calls by the names of their functions (plus, equals, isNull).  Tuples, element
 * access, IN, LIKE, and what else there is, are not understood.
 *
 * Depth is limited (MT_MAX_DEPTH). */
#include "derive_int.h"

#include <strings.h>

/* Chains of operators make trees as deep as they are long. */
enum { MAX_NODES = 500 };

typedef struct parser
{
    ax_task *t;
    ax_arena *a;
    const char *p, *end;
    int depth;
    uint32_t nodes;
    bool strange;                 /* what stands at p is not understood */
} parser;

static ax_status expression(parser *c, ax_mt_tree **out);

/* Go no further; the status has no message. */
static ax_status strange(parser *c)
{
    c->strange = true;
    return AX_EUNSUPPORTED;
}

static void blanks(parser *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n'))
        c->p++;
}

static bool sign(parser *c, const char *s)
{
    size_t n = strlen(s);

    blanks(c);
    if ((size_t) (c->end - c->p) < n || memcmp(c->p, s, n) != 0)
        return false;
    c->p += n;
    return true;
}

static bool word_char(char ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           ch == '_';
}

static bool keyword(parser *c, const char *s)
{
    size_t n = strlen(s);

    blanks(c);
    if ((size_t) (c->end - c->p) < n || strncasecmp(c->p, s, n) != 0 ||
        (c->p + n < c->end && word_char(c->p[n])))
        return false;
    c->p += n;
    return true;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static ax_status leaf(parser *c, ax_mt_tree_kind kind, const char *s, size_t n, ax_mt_tree **out)
{
    ax_mt_tree *x;

    *out = NULL;
    if (++c->nodes > MAX_NODES)
        return strange(c);
    AX_NEW(c->t, x, (ax_mt_tree *) ax_arena_alloc0(c->a, sizeof *x));
    AX_NEW(c->t, x->s, ax_arena_strndup(c->a, s, n));
    x->kind = (uint8_t) kind;
    x->n = (uint32_t) n;
    *out = x;
    return AX_OK;
}

static ax_status add(parser *c, ax_mt_tree *x, ax_mt_tree *arg)
{
    if ((x->narg & (x->narg - 1)) == 0)
    {
        ax_mt_tree **list;

        AX_NEW(c->t, list, (ax_mt_tree **) ax_arena_alloc(
                               c->a, (x->narg + 1) * 2 * sizeof *list));
        if (x->narg > 0)
            memcpy(list, x->arg, x->narg * sizeof *list);
        x->arg = list;
    }
    x->arg[x->narg++] = arg;
    return AX_OK;
}

static ax_status call(parser *c, const char *name, ax_mt_tree *l, ax_mt_tree *r, ax_mt_tree **out)
{
    ax_mt_tree *x = NULL;

    AX_TRY(leaf(c, MT_T_CALL, name, strlen(name), &x));
    AX_TRY(add(c, x, l));
    if (r != NULL)
        AX_TRY(add(c, x, r));
    *out = x;
    return AX_OK;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* '...' or `...`, which begins at c->p. */
static ax_status quoted(parser *c, ax_mt_tree_kind kind, ax_mt_tree **out)
{
    static const char from[] = "btnfr0", to[] = "\b\t\n\f\r";
    char q = *c->p++, *s;
    size_t n = 0;

    AX_NEW(c->t, s, (char *) ax_arena_alloc(c->a, (size_t) (c->end - c->p) + 1));
    while (c->p < c->end && *c->p != q)
    {
        char ch = *c->p++;

        if (ch == '\\' && c->p < c->end)
        {
            const char *at = strchr(from, *c->p);

            if (*c->p == 'x' || *c->p == 'u' || *c->p == 'N')
                return strange(c);
            ch = at != NULL && *c->p != '\0' ? to[at - from] : *c->p;
            c->p++;
        }
        s[n++] = ch;
    }
    if (c->p == c->end)
        return strange(c);
    c->p++;
    if (kind == MT_T_NAME && memchr(s, '\0', n) != NULL)
        return strange(c);
    return leaf(c, kind, s, n, out);
}

/* Digits with a point and an exponent, which begin at c->p behind `sign` characters of it. */
static ax_status number(parser *c, size_t signs, ax_mt_tree **out)
{
    const char *s = c->p;

    c->p += signs;
    while (c->p < c->end && ((*c->p >= '0' && *c->p <= '9') || *c->p == '.'))
        c->p++;
    if (c->p < c->end && (*c->p == 'e' || *c->p == 'E'))
    {
        c->p++;
        if (c->p < c->end && (*c->p == '-' || *c->p == '+'))
            c->p++;
        while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
            c->p++;
    }
    if (c->p < c->end && word_char(*c->p))
        return strange(c);
    return leaf(c, MT_T_NUMBER, s, (size_t) (c->p - s), out);
}

/* Arguments up to the closing sign. */
static ax_status arguments(parser *c, ax_mt_tree *x, const char *close)
{
    ax_mt_tree *arg;

    if (sign(c, close))
        return AX_OK;
    do
    {
        AX_TRY(expression(c, &arg));
        AX_TRY(add(c, x, arg));
    } while (sign(c, ","));
    return sign(c, close) ? AX_OK : strange(c);
}

/* A name, a call, or a lambda of one parameter. */
static ax_status named(parser *c, ax_mt_tree **out)
{
    const char *s = c->p;
    ax_mt_tree *x, *part, *body;
    bool bare = *s != '`';

    if (!bare)
        AX_TRY(quoted(c, MT_T_NAME, &x));
    else
    {
        while (c->p < c->end && word_char(*c->p))
            c->p++;
        AX_TRY(leaf(c, MT_T_NAME, s, (size_t) (c->p - s), &x));
    }
    if (bare && c->p < c->end && *c->p == '(')
    {
        c->p++;
        x->kind = MT_T_CALL;
        *out = x;
        return arguments(c, x, ")");
    }
    while (c->p < c->end && *c->p == '.')
    {
        char *joined;

        c->p++;
        if (c->p == c->end || !(word_char(*c->p) || *c->p == '`') ||
            (*c->p >= '0' && *c->p <= '9'))
            return strange(c);
        s = c->p;
        while (*s != '`' && c->p < c->end && word_char(*c->p))
            c->p++;
        if (*s == '`')
            AX_TRY(quoted(c, MT_T_NAME, &part));
        else
            AX_TRY(leaf(c, MT_T_NAME, s, (size_t) (c->p - s), &part));
        AX_NEW(c->t, joined, (char *) ax_arena_alloc(c->a, (size_t) x->n + part->n + 2));
        memcpy(joined, x->s, x->n);
        joined[x->n] = '.';
        memcpy(joined + x->n + 1, part->s, (size_t) part->n + 1);
        x->s = joined;
        x->n += part->n + 1;
    }
    *out = x;
    if (!sign(c, "->"))
        return AX_OK;
    AX_TRY(leaf(c, MT_T_LAMBDA, "", 0, out));
    AX_TRY(add(c, *out, x));
    AX_TRY(expression(c, &body));
    return add(c, *out, body);
}

/* Behind "(": an expression, or the parameters of a lambda. */
static ax_status parenthesised(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *x, *body;

    AX_TRY(leaf(c, MT_T_LAMBDA, "", 0, &x));
    AX_TRY(arguments(c, x, ")"));
    if (!sign(c, "->"))
    {
        if (x->narg != 1)
            return strange(c);
        *out = x->arg[0];
        return AX_OK;
    }
    for (uint32_t i = 0; i < x->narg; i++)
        if (x->arg[i]->kind != MT_T_NAME)
            return strange(c);
    AX_TRY(expression(c, &body));
    *out = x;
    return add(c, x, body);
}

static ax_status primary(parser *c, ax_mt_tree **out)
{
    char ch;

    blanks(c);
    if (c->p == c->end)
        return strange(c);
    ch = *c->p;
    if (ch == '(')
    {
        c->p++;
        AX_TRY(parenthesised(c, out));
    }
    else if (ch == '[')
    {
        c->p++;
        AX_TRY(leaf(c, MT_T_CALL, "array", 5, out));
        AX_TRY(arguments(c, *out, "]"));
    }
    else if (ch == '\'')
        AX_TRY(quoted(c, MT_T_STRING, out));
    else if (ch >= '0' && ch <= '9')
        AX_TRY(number(c, 0, out));
    else if (ch == '`' || word_char(ch))
        AX_TRY(named(c, out));
    else
        return strange(c);
    blanks(c);
    /* Elements of arrays and tuples. */
    return c->p < c->end && (*c->p == '[' || *c->p == '.' || *c->p == ':') ? strange(c) : AX_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

static ax_status unary(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *x;

    blanks(c);
    if (c->end - c->p > 1 && c->p[0] == '-' && c->p[1] >= '0' && c->p[1] <= '9')
        return number(c, 1, out);
    if (!sign(c, "-"))
        return primary(c, out);
    if (++c->depth >= MT_MAX_DEPTH)
        return strange(c);
    AX_TRY(unary(c, &x));
    c->depth--;
    return call(c, "negate", x, NULL, out);
}

static ax_status product(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *r;

    AX_TRY(unary(c, out));
    for (;;)
    {
        const char *name = sign(c, "*") ? "multiply" : sign(c, "/") ? "divide"
                           : sign(c, "%") ? "modulo" : NULL;

        if (name == NULL)
            return AX_OK;
        AX_TRY(unary(c, &r));
        AX_TRY(call(c, name, *out, r, out));
    }
}

static ax_status sum(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *r;

    AX_TRY(product(c, out));
    for (;;)
    {
        const char *name;

        blanks(c);
        if (c->end - c->p > 1 && c->p[0] == '-' && c->p[1] == '>')
            return AX_OK;
        name = sign(c, "+") ? "plus" : sign(c, "-") ? "minus" : NULL;
        if (name == NULL)
            return AX_OK;
        AX_TRY(product(c, &r));
        AX_TRY(call(c, name, *out, r, out));
    }
}

static ax_status comparison(parser *c, ax_mt_tree **out)
{
    static const struct { const char *sign, *name; } ops[] = {
        {"==", "equals"}, {"=", "equals"}, {"!=", "notEquals"}, {"<>", "notEquals"},
        {"<=", "lessOrEquals"}, {">=", "greaterOrEquals"}, {"<", "less"}, {">", "greater"}};
    ax_mt_tree *r;

    AX_TRY(sum(c, out));
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (sign(c, ops[i].sign))
        {
            AX_TRY(sum(c, &r));
            return call(c, ops[i].name, *out, r, out);
        }
    if (keyword(c, "IS"))
    {
        bool negated = keyword(c, "NOT");

        if (!keyword(c, "NULL"))
            return strange(c);
        return call(c, negated ? "isNotNull" : "isNull", *out, NULL, out);
    }
    return AX_OK;
}

static ax_status negation(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *x;

    if (!keyword(c, "NOT"))
        return comparison(c, out);
    if (++c->depth >= MT_MAX_DEPTH)
        return strange(c);
    AX_TRY(negation(c, &x));
    c->depth--;
    return call(c, "not", x, NULL, out);
}

static ax_status conjunction(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *r;

    AX_TRY(negation(c, out));
    while (keyword(c, "AND"))
    {
        AX_TRY(negation(c, &r));
        AX_TRY(call(c, "and", *out, r, out));
    }
    return AX_OK;
}

static ax_status expression(parser *c, ax_mt_tree **out)
{
    ax_mt_tree *r;

    if (++c->depth >= MT_MAX_DEPTH)
        return strange(c);
    AX_TRY(conjunction(c, out));
    while (keyword(c, "OR"))
    {
        AX_TRY(conjunction(c, &r));
        AX_TRY(call(c, "or", *out, r, out));
    }
    c->depth--;
    return AX_OK;
}

ax_status ax_mt_tree_parse(ax_task *t, ax_arena *a, const char *s, size_t n, ax_mt_tree **out,
                           const char **at)
{
    parser c = {.t = t, .a = a, .p = s, .end = s + n};
    ax_status st = expression(&c, out);

    if (!c.strange)
        AX_TRY(st);
    blanks(&c);
    *at = c.p;
    if (c.strange || c.p < c.end)
        *out = NULL;
    return AX_OK;
}
