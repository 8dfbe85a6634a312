/* Names of types, as columns.txt has them, to trees.
 *
 * The text is a name, optionally followed by arguments in parentheses.  An argument is a type, a
 * number, a quoted string, 'label' = number (enums), or a name before a type (tuples, Nested,
 * back-quoted where it must be).  What is not known becomes MT_OTHER with its text, and makes its
 * column unreadable, not its part.
 *
 * Format: mergetree.md, "Types". */
#include "mergetree_int.h"

#include <stdlib.h>

typedef struct parser
{
    ax_task *t;
    ax_arena *a;
    const char *p, *end;
    int depth;
} parser;

static ax_status parse_type(parser *c, const ax_mt_type **out);

/* ---- tokens ---------------------------------------------------------------------------------- */

static void blanks(parser *c)
{
    while (c->p < c->end && *c->p == ' ')
        c->p++;
}

static bool accept(parser *c, char ch)
{
    blanks(c);
    if (c->p == c->end || *c->p != ch)
        return false;
    c->p++;
    return true;
}

static ax_status expect(parser *c, char ch)
{
    AX_CHECK(c->t, accept(c, ch), AX_ECORRUPT, "name of a type lacks \"%c\"", ch);
    return AX_OK;
}

static bool word_char(char ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           ch == '_';
}

static bool word(parser *c, const char **s, size_t *n)
{
    blanks(c);
    *s = c->p;
    while (c->p < c->end && word_char(*c->p))
        c->p++;
    *n = (size_t) (c->p - *s);
    return *n > 0;
}

static char unescaped(char ch)
{
    static const char from[] = "btnfr0a v", to[] = "\b\t\n\f\r\0\a \v";
    const char *at = ch != '\0' ? strchr(from, ch) : NULL;

    return at != NULL ? to[at - from] : ch;
}

/* A string between quotes `q`, with backslash escapes. */
static ax_status quoted(parser *c, char q, const char **out, uint32_t *len)
{
    char *s;
    uint32_t n = 0;

    AX_TRY(expect(c, q));
    AX_NEW(c->t, s, (char *) ax_arena_alloc(c->a, (size_t) (c->end - c->p) + 1));
    while (c->p < c->end && *c->p != q)
    {
        char ch = *c->p++;

        if (ch == '\\' && c->p < c->end)
            ch = unescaped(*c->p++);
        s[n++] = ch;
    }
    s[n] = '\0';
    *out = s;
    *len = n;
    return expect(c, q);
}

static ax_status number(parser *c, int64_t lo, int64_t hi, int64_t *out)
{
    bool neg = accept(c, '-');
    const char *s;
    size_t n, i;
    int64_t v = 0;

    AX_CHECK(c->t, word(c, &s, &n) && n <= 12, AX_ECORRUPT, "name of a type lacks a number");
    for (i = 0; i < n; i++)
    {
        AX_CHECK(c->t, s[i] >= '0' && s[i] <= '9', AX_ECORRUPT, "name of a type lacks a number");
        v = v * 10 + (s[i] - '0');
    }
    v = neg ? -v : v;
    AX_CHECK(c->t, v >= lo && v <= hi, AX_ECORRUPT, "number %lld in the name of a type",
             (long long) v);
    *out = v;
    return AX_OK;
}

/* ---- types without arguments ----------------------------------------------------------------- */

typedef struct plain { const char *name; uint8_t id; uint32_t width; } plain;

static const plain plains[] = {
    {"UInt8", MT_UINT, 1}, {"UInt16", MT_UINT, 2}, {"UInt32", MT_UINT, 4}, {"UInt64", MT_UINT, 8},
    {"UInt128", MT_UINT, 16}, {"UInt256", MT_UINT, 32}, {"Int8", MT_INT, 1}, {"Int16", MT_INT, 2},
    {"Int32", MT_INT, 4}, {"Int64", MT_INT, 8}, {"Int128", MT_INT, 16}, {"Int256", MT_INT, 32},
    {"Bool", MT_BOOL, 1}, {"Float32", MT_FLOAT, 4}, {"Float64", MT_FLOAT, 8},
    {"BFloat16", MT_BFLOAT16, 2}, {"Date", MT_DATE, 2}, {"Date32", MT_DATE32, 4},
    {"DateTime", MT_DATETIME, 4}, {"Time", MT_TIME, 4}, {"UUID", MT_UUID, 16},
    {"IPv4", MT_IPV4, 4}, {"IPv6", MT_IPV6, 16}, {"String", MT_STRING, 0},
    {"Nothing", MT_NOTHING, 1}, {"Dynamic", MT_DYNAMIC, 0}, {"JSON", MT_JSON, 0},
    {"Object", MT_JSON, 0},
};

static const struct { const char *name, *text; } aliases[] = {
    {"Point", "Tuple(Float64, Float64)"},
    {"Ring", "Array(Point)"},
    {"LineString", "Array(Point)"},
    {"Polygon", "Array(Ring)"},
    {"MultiLineString", "Array(LineString)"},
    {"MultiPolygon", "Array(Polygon)"},
    {"Geometry", "Variant(LineString, MultiLineString, MultiPolygon, Point, Polygon, Ring)"},
};

static const char *const units[] = {"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute",
                                    "Hour", "Day", "Week", "Month", "Quarter", "Year"};

static bool is(const char *s, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(s, name, n) == 0;
}

static bool interval(const char *s, size_t n, ax_mt_type *ty)
{
    size_t i;

    if (n < 9 || memcmp(s, "Interval", 8) != 0)
        return false;
    for (i = 0; i < sizeof units / sizeof units[0]; i++)
        if (is(s + 8, n - 8, units[i]))
        {
            ty->id = MT_INTERVAL;
            ty->unit = (uint8_t) i;
            ty->width = 8;
            return true;
        }
    return false;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static ax_status add_child(parser *c, ax_mt_type *ty, uint32_t *cap, const ax_mt_type *child,
                           const char *name)
{
    if (ty->nchild == *cap)
    {
        uint32_t grown = *cap == 0 ? 4 : *cap * 2;
        const ax_mt_type **list;
        const char **names;

        AX_NEW(c->t, list, (const ax_mt_type **) ax_arena_alloc(c->a, grown * sizeof *list));
        AX_NEW(c->t, names, (const char **) ax_arena_alloc(c->a, grown * sizeof *names));
        if (*cap > 0)
        {
            memcpy(list, ty->child, *cap * sizeof *list);
            memcpy(names, ty->name, *cap * sizeof *names);
        }
        ty->child = list;
        ty->name = names;
        *cap = grown;
    }
    ty->child[ty->nchild] = child;
    ty->name[ty->nchild++] = name;
    return AX_OK;
}

/* The types up to the closing parenthesis; `want` of them, or any number when it is 0. */
static ax_status children(parser *c, ax_mt_type *ty, uint32_t want)
{
    const ax_mt_type *child;
    uint32_t cap = 0;

    AX_TRY(expect(c, '('));
    do
    {
        AX_TRY(parse_type(c, &child));
        AX_TRY(add_child(c, ty, &cap, child, NULL));
    } while (accept(c, ','));
    AX_CHECK(c->t, want == 0 || ty->nchild == want, AX_ECORRUPT,
             "type has %u arguments where it takes %u", ty->nchild, want);
    return expect(c, ')');
}

/* An element of a tuple: a type, or a name and a type.  Two words behind each other are the latter,
 * so is whatever stands in back quotes. */
static ax_status element(parser *c, const char **name, const ax_mt_type **type)
{
    const char *back = c->p, *s;
    uint32_t len;
    size_t n;

    *name = NULL;
    blanks(c);
    if (c->p < c->end && *c->p == '`')
        AX_TRY(quoted(c, '`', name, &len));
    else if (word(c, &s, &n) && c->p < c->end && *c->p == ' ')
        AX_NEW(c->t, *name, ax_arena_strndup(c->a, s, n));
    else
        c->p = back;
    return parse_type(c, type);
}

static ax_status tuple(parser *c, ax_mt_type *ty)
{
    uint32_t cap = 0;

    ty->id = MT_TUPLE;
    /* Definitions of tables have Tuple where parts have Tuple(). */
    if (!accept(c, '(') || accept(c, ')'))
        return AX_OK;
    do
    {
        const ax_mt_type *child;
        const char *name;

        AX_TRY(element(c, &name, &child));
        AX_TRY(add_child(c, ty, &cap, child, name));
        AX_CHECK(c->t, (name != NULL) == (ty->name[0] != NULL), AX_ECORRUPT,
                 "tuple has elements with and without names");
    } while (accept(c, ','));
    return expect(c, ')');
}

static int by_code(const void *a, const void *b)
{
    int32_t x = ((const ax_mt_label *) a)->code, y = ((const ax_mt_label *) b)->code;

    return (x > y) - (x < y);
}

static ax_status enumeration(parser *c, ax_mt_type *ty)
{
    ax_mt_label *list = NULL;
    uint32_t cap = 0;

    ty->id = MT_ENUM;
    AX_TRY(expect(c, '('));
    do
    {
        int64_t code;
        ax_mt_label *l;

        if (ty->nlabel == cap)
        {
            ax_mt_label *grown;

            cap = cap == 0 ? 8 : cap * 2;
            AX_NEW(c->t, grown, (ax_mt_label *) ax_arena_alloc(c->a, cap * sizeof *grown));
            if (ty->nlabel > 0)
                memcpy(grown, list, ty->nlabel * sizeof *grown);
            list = grown;
        }
        l = &list[ty->nlabel];
        blanks(c);
        AX_TRY(quoted(c, '\'', &l->name, &l->len));
        AX_TRY(expect(c, '='));
        AX_TRY(number(c, ty->width == 1 ? INT8_MIN : INT16_MIN,
                      ty->width == 1 ? INT8_MAX : INT16_MAX, &code));
        l->code = (int32_t) code;
        ty->nlabel++;
    } while (accept(c, ','));
    qsort(list, ty->nlabel, sizeof *list, by_code);
    ty->label = list;
    return expect(c, ')');
}

static ax_status decimal(parser *c, ax_mt_type *ty)
{
    int64_t p, s;

    ty->id = MT_DECIMAL;
    AX_TRY(expect(c, '('));
    AX_TRY(number(c, 1, 76, &p));
    AX_TRY(expect(c, ','));
    AX_TRY(number(c, 0, p, &s));
    ty->precision = (int16_t) p;
    ty->scale = (int16_t) s;
    ty->width = p <= 9 ? 4 : p <= 18 ? 8 : p <= 38 ? 16 : 32;
    return expect(c, ')');
}

/* [(scale[, 'zone'])] of DateTime64 and Time64; [('zone')] of DateTime. */
static ax_status instant(parser *c, ax_mt_type *ty, bool scaled)
{
    uint32_t len;
    int64_t s = 3;

    if (accept(c, '('))
    {
        if (scaled)
        {
            AX_TRY(number(c, 0, 9, &s));
            if (accept(c, ','))
            {
                blanks(c);
                AX_TRY(quoted(c, '\'', &ty->zone, &len));
            }
        }
        else
        {
            blanks(c);
            AX_TRY(quoted(c, '\'', &ty->zone, &len));
        }
        AX_TRY(expect(c, ')'));
    }
    if (scaled)
        ty->scale = (int16_t) s;
    return AX_OK;
}

static ax_status fixed_string(parser *c, ax_mt_type *ty)
{
    int64_t n;

    ty->id = MT_FIXEDSTRING;
    AX_TRY(expect(c, '('));
    AX_TRY(number(c, 1, 1 << 24, &n));
    ty->width = (uint32_t) n;
    return expect(c, ')');
}

static ax_status qbit(parser *c, ax_mt_type *ty)
{
    int64_t n;

    ty->id = MT_QBIT;
    AX_TRY(expect(c, '('));
    AX_NEW(c->t, ty->child, (const ax_mt_type **) ax_arena_alloc0(c->a, sizeof *ty->child));
    AX_NEW(c->t, ty->name, (const char **) ax_arena_alloc0(c->a, sizeof *ty->name));
    ty->nchild = 1;
    AX_TRY(parse_type(c, &ty->child[0]));
    AX_CHECK(c->t, ty->child[0]->id == MT_FLOAT || ty->child[0]->id == MT_BFLOAT16, AX_ECORRUPT,
             "QBit has no floating-point type");
    AX_TRY(expect(c, ','));
    AX_TRY(number(c, 1, 1 << 20, &n));
    ty->dim = (uint32_t) n;
    return expect(c, ')');
}

/* Step over arguments of any form. */
static ax_status skip_arguments(parser *c)
{
    uint32_t open = 0, len;
    const char *s;

    blanks(c);
    if (c->p == c->end || *c->p != '(')
        return AX_OK;
    do
    {
        AX_CHECK(c->t, c->p < c->end, AX_ECORRUPT, "name of a type lacks a parenthesis");
        if (*c->p == '\'' || *c->p == '`')
        {
            AX_TRY(quoted(c, *c->p, &s, &len));
            continue;
        }
        open += *c->p == '(';
        open -= *c->p == ')';
        c->p++;
    } while (open > 0);
    return AX_OK;
}

/* AggregateFunction([version,] f[(parameters)], types...); the simple form is its argument. */
static ax_status aggregate(parser *c, ax_mt_type *ty, bool simple, const ax_mt_type **inner)
{
    const char *s, *name, *params;
    const ax_mt_type *child;
    uint32_t cap = 0, version = 0;
    size_t n;

    ty->id = MT_AGGREGATE;
    AX_TRY(expect(c, '('));
    AX_CHECK(c->t, word(c, &s, &n), AX_ECORRUPT, "name of an aggregate function is missing");
    if (s[0] >= '0' && s[0] <= '9')
    {
        version = n == 1 ? (uint32_t) (s[0] - '0') : UINT32_MAX;
        AX_TRY(expect(c, ','));
        AX_CHECK(c->t, word(c, &s, &n), AX_ECORRUPT, "name of an aggregate function is missing");
    }
    AX_NEW(c->t, name, ax_arena_strndup(c->a, s, n));
    s = c->p;
    AX_TRY(skip_arguments(c));
    AX_NEW(c->t, params, ax_arena_strndup(c->a, s, (size_t) (c->p - s)));
    *inner = NULL;
    while (accept(c, ','))
    {
        AX_TRY(parse_type(c, &child));
        AX_TRY(add_child(c, ty, &cap, child, name));
        *inner = child;
    }
    if (ty->nchild == 0)
    {
        AX_NEW(c->t, ty->name, (const char **) ax_arena_alloc(c->a, sizeof *ty->name));
        ty->name[0] = name;
    }
    AX_CHECK(c->t, !simple || ty->nchild == 1, AX_ECORRUPT,
             "SimpleAggregateFunction has %u types", ty->nchild);
    AX_TRY(expect(c, ')'));
    return simple ? AX_OK : ax_mt_agg_make(c->t, c->a, ty, version, params, &ty->agg);
}

/* Nested(name type, ...), as it is when it was not flattened. */
static ax_status nested(parser *c, ax_mt_type *ty)
{
    ax_mt_type *inner;

    AX_NEW(c->t, inner, (ax_mt_type *) ax_arena_alloc0(c->a, sizeof *inner));
    inner->text = ty->text;
    AX_TRY(tuple(c, inner));
    AX_NEW(c->t, ty->child, (const ax_mt_type **) ax_arena_alloc0(c->a, sizeof *ty->child));
    AX_NEW(c->t, ty->name, (const char **) ax_arena_alloc0(c->a, sizeof *ty->name));
    ty->id = MT_ARRAY;
    ty->child[0] = inner;
    ty->nchild = 1;
    return AX_OK;
}

/* ---- one type -------------------------------------------------------------------------------- */

/* The type named s[n], whose arguments follow.  *inner: it stands for another type. */
static ax_status named(parser *c, const char *s, size_t n, ax_mt_type *ty,
                       const ax_mt_type **inner)
{
    *inner = NULL;
    if (is(s, n, "Nullable") || is(s, n, "LowCardinality") || is(s, n, "Array"))
    {
        ty->id = s[0] == 'N' ? MT_NULLABLE : s[0] == 'L' ? MT_LOWCARD : MT_ARRAY;
        return children(c, ty, 1);
    }
    if (is(s, n, "Map"))
    {
        ty->id = MT_MAP;
        return children(c, ty, 2);
    }
    if (is(s, n, "Variant"))
    {
        ty->id = MT_VARIANT;
        AX_TRY(children(c, ty, 0));
        AX_CHECK(c->t, ty->nchild < 255, AX_ECORRUPT, "Variant has too many types");
        return AX_OK;
    }
    if (is(s, n, "Tuple"))
        return tuple(c, ty);
    if (is(s, n, "Nested"))
        return nested(c, ty);
    if (is(s, n, "Enum8") || is(s, n, "Enum16"))
    {
        ty->width = n == 5 ? 1 : 2;
        return enumeration(c, ty);
    }
    if (is(s, n, "Decimal"))
        return decimal(c, ty);
    if (is(s, n, "DateTime64") || is(s, n, "Time64"))
    {
        ty->id = s[0] == 'D' ? MT_DATETIME64 : MT_TIME64;
        ty->width = 8;
        return instant(c, ty, true);
    }
    if (is(s, n, "FixedString"))
        return fixed_string(c, ty);
    if (is(s, n, "QBit"))
        return qbit(c, ty);
    if (is(s, n, "AggregateFunction"))
    {
        const ax_mt_type *last;

        return aggregate(c, ty, false, &last);
    }
    if (is(s, n, "SimpleAggregateFunction"))
        return aggregate(c, ty, true, inner);
    ty->id = MT_OTHER;
    return skip_arguments(c);
}

static ax_status alias(parser *c, const char *s, size_t n, const ax_mt_type **out)
{
    size_t i;

    *out = NULL;
    for (i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (is(s, n, aliases[i].name))
        {
            parser in = *c;
            ax_mt_type *copy;
            const ax_mt_type *what;

            in.p = aliases[i].text;
            in.end = in.p + strlen(in.p);
            AX_TRY(parse_type(&in, &what));
            AX_NEW(c->t, copy, (ax_mt_type *) ax_arena_alloc(c->a, sizeof *copy));
            *copy = *what;
            copy->text = aliases[i].name;
            *out = copy;
        }
    return AX_OK;
}

static ax_status parse_type(parser *c, const ax_mt_type **out)
{
    const ax_mt_type *inner = NULL;
    const char *s;
    ax_mt_type *ty;
    size_t n, i;
    ax_status st;

    AX_CHECK(c->t, word(c, &s, &n), AX_ECORRUPT, "name of a type is missing");
    AX_CHECK(c->t, c->depth < MT_MAX_DEPTH, AX_EUNSUPPORTED, "type is nested more than %d deep",
             MT_MAX_DEPTH);
    AX_TRY(alias(c, s, n, out));
    if (*out != NULL)
        return AX_OK;
    AX_NEW(c->t, ty, (ax_mt_type *) ax_arena_alloc0(c->a, sizeof *ty));
    c->depth++;
    for (i = 0; i < sizeof plains / sizeof plains[0]; i++)
        if (is(s, n, plains[i].name))
            break;
    st = AX_OK;
    if (i < sizeof plains / sizeof plains[0])
    {
        ty->id = plains[i].id;
        ty->width = plains[i].width;
        if (ty->id == MT_DATETIME)
            st = instant(c, ty, false);
        else if (ty->id == MT_DYNAMIC || ty->id == MT_JSON)
            st = skip_arguments(c);
    }
    else if (!interval(s, n, ty))
        st = named(c, s, n, ty, &inner);
    c->depth--;
    AX_TRY(st);
    AX_NEW(c->t, ty->text, ax_arena_strndup(c->a, s, (size_t) (c->p - s)));
    *out = inner != NULL ? inner : ty;
    return AX_OK;
}

ax_status ax_mt_type_parse(ax_task *t, ax_arena *a, const char *text, size_t n,
                           const ax_mt_type **out)
{
    parser c = {.t = t, .a = a, .p = text, .end = text + n};

    AX_TRY(parse_type(&c, out));
    blanks(&c);
    AX_CHECK(t, c.p == c.end, AX_ECORRUPT, "name of a type goes on behind its end");
    return AX_OK;
}
