/* Parses regular expressions: the syntax of PostgreSQL's AREs, read as its lexer does, or refused.
 *
 * Format: PostgreSQL 15 documentation, 9.7.3, and the behaviour of src/backend/regex (lexer and
 * parser of Henry Spencer's library).  Quirks that matter: `{` is a literal unless a digit follows;
 * `[` `]` `-` in brackets are literals by position; a quantifier after an anchor or another
 * quantifier is an error; \b is backspace and \B a backslash. */
#include "func/regex_int.h"

#include <string.h>

enum { MAX_DEPTH = 100, MAX_BOUND = 255 };

typedef struct parser
{
    ax_task *t;
    ax_arena *a;
    const uint8_t *p, *end;
    uint32_t depth, ncap;
    bool icase, ctype_c, may_ask;
} parser;

#define REFUSE(ps, ...)                                                                            \
    return ax_fail((ps)->t, AX_EUNSUPPORTED, "regular expression: " __VA_ARGS__)

/* ---- characters ------------------------------------------------------------------------------ */

uint32_t ax_re_encode(uint32_t cp, uint8_t *out)
{
    if (cp < 0x80)
    {
        out[0] = (uint8_t) cp;
        return 1;
    }
    if (cp < 0x800)
    {
        out[0] = (uint8_t) (0xC0 | cp >> 6);
        out[1] = (uint8_t) (0x80 | (cp & 63));
        return 2;
    }
    if (cp < 0x10000)
    {
        out[0] = (uint8_t) (0xE0 | cp >> 12);
        out[1] = (uint8_t) (0x80 | (cp >> 6 & 63));
        out[2] = (uint8_t) (0x80 | (cp & 63));
        return 3;
    }
    out[0] = (uint8_t) (0xF0 | cp >> 18);
    out[1] = (uint8_t) (0x80 | (cp >> 12 & 63));
    out[2] = (uint8_t) (0x80 | (cp >> 6 & 63));
    out[3] = (uint8_t) (0x80 | (cp & 63));
    return 4;
}

static bool is_char(uint32_t cp)
{
    return cp > 0 && cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);
}

/* The next character of the pattern, which is not at its end. */
static ax_status next_char(parser *ps, uint32_t *out)
{
    uint8_t c = *ps->p++;
    uint32_t more = c < 0x80 ? 0 : c < 0xC2 ? 9 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF5 ? 3 : 9;
    uint32_t cp = more == 0 ? c : c & (0x3fu >> more);

    if (more > 3 || (size_t) (ps->end - ps->p) < more)
        REFUSE(ps, "not UTF-8");
    while (more-- > 0)
    {
        if ((*ps->p & 0xC0) != 0x80)
            REFUSE(ps, "not UTF-8");
        cp = cp << 6 | (*ps->p++ & 63u);
    }
    if (!is_char(cp))
        REFUSE(ps, "not UTF-8");
    if (ps->icase && cp >= 0x80)
        REFUSE(ps, "ignoring case needs a pattern of ASCII characters");
    *out = cp;
    return AX_OK;
}

static bool at(const parser *ps, uint8_t c) { return ps->p < ps->end && *ps->p == c; }
static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_alpha(uint8_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static re_node *node_new(parser *ps, re_kind kind)
{
    re_node *x = (re_node *) ax_arena_alloc0(ps->a, sizeof(*x));

    if (x != NULL)
        x->kind = (uint8_t) kind;
    return x;
}

static void add_kid(re_node *x, re_node *kid)
{
    kid->prev = x->last;
    if (x->last != NULL)
        x->last->next = kid;
    else
        x->first = kid;
    x->last = kid;
}

bool ax_re_is_any(const re_node *x)
{
    if (x->kind != RE_SET || !re_set_high_all(x->set))
        return false;
    for (uint32_t c = 1; c < 128; c++)
        if (x->set->low[c] != AX_RE_YES)
            return false;
    return true;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void add_range(re_set *s, uint32_t lo, uint32_t hi)
{
    for (; lo < 0x80 && lo <= hi; lo++)
        s->low[lo] = AX_RE_YES;
    if (lo <= hi && !s->high_ask)
        s->r[s->n++] = (re_range){lo, hi};
}

/* Ascending, disjoint, not adjacent.  Insertion sort: brackets are short. */
static void normalise(re_set *s)
{
    uint32_t m = 0;

    for (uint32_t i = 1; i < s->n; i++)
        for (uint32_t j = i; j > 0 && s->r[j].lo < s->r[j - 1].lo; j--)
        {
            re_range swap = s->r[j];

            s->r[j] = s->r[j - 1];
            s->r[j - 1] = swap;
        }
    for (uint32_t i = 0; i < s->n; i++)
    {
        if (m > 0 && s->r[i].lo <= s->r[m - 1].hi + 1)
        {
            if (s->r[i].hi > s->r[m - 1].hi)
                s->r[m - 1].hi = s->r[i].hi;
        }
        else
            s->r[m++] = s->r[i];
    }
    s->n = m;
}

/* The other characters.  There is room for one range more. */
static void complement(re_set *s)
{
    uint32_t lo = 0x80, m = 0;

    for (uint32_t c = 0; c < 128; c++)
        if (s->low[c] != AX_RE_ASK)
            s->low[c] = !s->low[c];
    if (s->high_ask)
        return;
    normalise(s);
    for (uint32_t i = 0; i < s->n; i++)
    {
        re_range r = s->r[i];

        if (r.lo > lo)
            s->r[m++] = (re_range){lo, r.lo - 1};
        lo = r.hi + 1;
    }
    if (lo <= 0x10ffff)
        s->r[m++] = (re_range){lo, 0x10ffff};
    s->n = m;
}

/* Is c in a class, under C?  name: d w s of the escapes, and a l u of alpha, lower, upper, n of
 * alnum, x of xdigit. */
static bool in_class(char name, uint8_t c)
{
    bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';

    switch (name)
    {
        case 'd': return is_digit(c);
        case 'w': return is_digit(c) || lower || upper || c == '_';
        case 's': return c == ' ' || (c >= 9 && c <= 13);
        case 'a': return lower || upper;
        case 'l': return lower;
        case 'u': return upper;
        case 'n': return is_digit(c) || lower || upper;
        case 'x': return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
        default: return false;
    }
}

/* Union with a class or with its complement. */
static void add_class(parser *ps, re_set *s, char name, bool negated)
{
    bool exact = ps->ctype_c || name == 'x';

    for (uint32_t c = 1; c < 128; c++)
    {
        /* libraries disagree about the four separators of ASCII */
        bool ask = !exact && name == 's' && c >= 0x1c && c <= 0x1f;

        if (!ask && in_class(name, (uint8_t) c) != negated)
            s->low[c] = AX_RE_YES;
        else if (ask && s->low[c] == AX_RE_NO)
            s->low[c] = AX_RE_ASK;
    }
    if (!exact)
    {
        s->high_ask = true;
        s->n = 0;
        ps->may_ask = true;
    }
    else if (negated)
        add_range(s, 0x80, 0x10ffff);
}

/* ---- escapes --------------------------------------------------------------------------------- */

typedef struct escape { char cls; char anchor; bool negated; uint32_t cp; } escape;

static ax_status parse_hex(parser *ps, uint32_t min, uint32_t max, uint32_t *out)
{
    uint32_t v = 0, n = 0;

    for (; n < max && ps->p < ps->end; n++)
    {
        uint8_t c = *ps->p, lower = c | 32;

        if (is_digit(c))
            v = v << 4 | (uint32_t) (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v << 4 | (uint32_t) (lower - 'a' + 10);
        else
            break;
        ps->p++;
    }
    if (n < min || (max > 8 && n > 6) || !is_char(v))
        REFUSE(ps, "a character by number that is none or is too long");
    if (ps->icase && v >= 0x80)
        REFUSE(ps, "ignoring case needs a pattern of ASCII characters");
    *out = v;
    return AX_OK;
}

/* Behind a backslash. */
static ax_status parse_escape(parser *ps, escape *e)
{
    static const char from[] = "abBefnrtv", to[] = "\a\b\\\033\f\n\r\t\v";
    const char *simple;
    uint32_t cp = 0;

    *e = (escape){0};
    if (ps->p >= ps->end)
        REFUSE(ps, "ends with a backslash");
    AX_TRY(next_char(ps, &cp));
    e->cp = cp;
    if (cp >= 0x80 || !(is_alpha((uint8_t) cp) || is_digit((uint8_t) cp)))
        return AX_OK;
    simple = strchr(from, (int) cp);
    if (simple != NULL)
    {
        e->cp = (uint8_t) to[simple - from];
        return AX_OK;
    }
    switch (cp)
    {
        case 'A':
        case 'Z':
            e->anchor = (char) cp;
            return AX_OK;
        case 'd':
        case 'w':
        case 's':
        case 'D':
        case 'W':
        case 'S':
            e->cls = (char) (cp | 32);
            e->negated = cp < 'a';
            return AX_OK;
        case 'x': return parse_hex(ps, 1, 255, &e->cp);
        case 'u': return parse_hex(ps, 4, 4, &e->cp);
        case 'U': return parse_hex(ps, 8, 8, &e->cp);
        case 'y':
        case 'Y':
        case 'm':
        case 'M':
            REFUSE(ps, "word boundaries are not supported");
        default:
            if (is_digit((uint8_t) cp))
                REFUSE(ps, "back references and octal characters are not supported");
            REFUSE(ps, "escape \\%c is not supported", (char) cp);
    }
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* Behind "[:". */
static ax_status parse_posix_class(parser *ps, re_set *s)
{
    static const struct { const char *name; char cls; } classes[] = {
        {"digit:]", 'd'}, {"space:]", 's'}, {"alpha:]", 'a'}, {"lower:]", 'l'},
        {"upper:]", 'u'}, {"alnum:]", 'n'}, {"xdigit:]", 'x'},
    };

    for (uint32_t i = 0; i < sizeof classes / sizeof *classes; i++)
    {
        size_t n = strlen(classes[i].name);

        if ((size_t) (ps->end - ps->p) < n || memcmp(ps->p, classes[i].name, n) != 0)
            continue;
        if (ps->icase && (classes[i].cls == 'l' || classes[i].cls == 'u'))
            break;
        ps->p += n;
        add_class(ps, s, classes[i].cls, false);
        return AX_OK;
    }
    REFUSE(ps, "this character class is not supported");
}

/* One literal of a bracket expression, or a class.  cls_done: a class was added, there is no
 * literal.  first: directly behind the opening. */
static ax_status parse_bracket_item(parser *ps, re_set *s, bool first, bool *cls_done, uint32_t *cp)
{
    escape e;

    *cls_done = false;
    if (ps->p >= ps->end)
        REFUSE(ps, "brackets are not balanced");
    AX_TRY(next_char(ps, cp));
    if (*cp == '\\')
    {
        AX_TRY(parse_escape(ps, &e));
        if (e.anchor)
            REFUSE(ps, "an anchor in brackets");
        *cp = e.cp;
        if (e.cls)
        {
            add_class(ps, s, e.cls, e.negated);
            *cls_done = true;
        }
    }
    else if (*cp == '[' && at(ps, ':'))
    {
        ps->p++;
        AX_TRY(parse_posix_class(ps, s));
        *cls_done = true;
    }
    else if (*cp == '[' && (at(ps, '.') || at(ps, '=')))
        REFUSE(ps, "collating elements are not supported");
    else if (*cp == '-' && !first && !at(ps, ']'))
        REFUSE(ps, "a misplaced - in brackets");
    return AX_OK;
}

/* The upper end of a range, behind its dash. */
static ax_status parse_range_end(parser *ps, uint32_t *cp)
{
    escape e;

    if (ps->p >= ps->end)
        REFUSE(ps, "brackets are not balanced");
    AX_TRY(next_char(ps, cp));
    if (*cp == '\\')
    {
        AX_TRY(parse_escape(ps, &e));
        if (e.anchor || e.cls)
            REFUSE(ps, "a range that ends with a class");
        *cp = e.cp;
    }
    else if (*cp == ']' || (*cp == '[' && (at(ps, ':') || at(ps, '.') || at(ps, '='))))
        REFUSE(ps, "a range without an end");
    return AX_OK;
}

static void fold_case(re_set *s)
{
    for (uint32_t c = 'a'; c <= 'z'; c++)
        if (s->low[c] == AX_RE_YES || s->low[c - 32] == AX_RE_YES)
            s->low[c] = s->low[c - 32] = AX_RE_YES;
}

/* Behind "[". */
static ax_status parse_bracket(parser *ps, re_node **out)
{
    bool negated = at(ps, '^'), cls = false, first = true;
    uint32_t lo = 0, hi = 0;
    re_set *s;

    ps->p += negated;
    AX_NEW(ps->t, *out, node_new(ps, RE_SET));
    AX_NEW(ps->t, s, ax_arena_alloc0(ps->a, sizeof(*s)));
    AX_NEW(ps->t, s->r, ax_arena_alloc(ps->a, sizeof(re_range) * (size_t) (ps->end - ps->p + 2)));
    while (first || !at(ps, ']'))
    {
        AX_TRY(parse_bracket_item(ps, s, first, &cls, &lo));
        first = false;
        /* a dash before the closing bracket is a literal, and so not a range */
        if (at(ps, '-') && !(ps->p + 1 < ps->end && ps->p[1] == ']'))
        {
            if (cls)
                REFUSE(ps, "a range that begins with a class");
            ps->p++;
            AX_TRY(parse_range_end(ps, &hi));
            if (hi < lo)
                REFUSE(ps, "a range whose end comes before its start");
        }
        else
            hi = lo;
        if (!cls)
            add_range(s, lo, hi);
    }
    ps->p++;
    if (ps->icase)
        fold_case(s);
    if (negated)
        complement(s);
    else
        normalise(s);
    (*out)->set = s;
    return AX_OK;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static ax_status parse_alternatives(parser *ps, re_node **out);

static ax_status make_set(parser *ps, re_node **out, re_set **set)
{
    re_set *s;

    AX_NEW(ps->t, *out, node_new(ps, RE_SET));
    AX_NEW(ps->t, s, ax_arena_alloc0(ps->a, sizeof(*s)));
    AX_NEW(ps->t, s->r, ax_arena_alloc(ps->a, 2 * sizeof(re_range)));
    (*out)->set = s;
    *set = s;
    return AX_OK;
}

static ax_status make_char(parser *ps, uint32_t cp, re_node **out)
{
    re_set *s;

    if (ps->icase && cp < 0x80 && is_alpha((uint8_t) cp))
    {
        AX_TRY(make_set(ps, out, &s));
        s->low[cp | 32] = s->low[cp & ~32u] = AX_RE_YES;
        return AX_OK;
    }
    AX_NEW(ps->t, *out, node_new(ps, RE_CHAR));
    (*out)->cp = cp;
    return AX_OK;
}

/* Behind "(". */
static ax_status parse_group(parser *ps, re_node **out)
{
    re_node *kid;

    AX_NEW(ps->t, *out, node_new(ps, RE_GROUP));
    if (at(ps, '?'))
    {
        if (ps->end - ps->p < 2 || ps->p[1] != ':')
            REFUSE(ps, "(? is supported only as (?:");
        ps->p += 2;
    }
    else
        (*out)->cap = (uint16_t) ++ps->ncap;
    if (++ps->depth > MAX_DEPTH)
        REFUSE(ps, "groups are nested too deeply");
    AX_TRY(parse_alternatives(ps, &kid));
    ps->depth--;
    if (!at(ps, ')'))
        REFUSE(ps, "parentheses are not balanced");
    ps->p++;
    add_kid(*out, kid);
    return AX_OK;
}

/* An atom or an anchor; anchor says which. */
static ax_status parse_atom(parser *ps, re_node **out, bool *anchor)
{
    uint32_t cp = 0;
    re_set *s;
    escape e;

    *anchor = false;
    AX_TRY(next_char(ps, &cp));
    switch (cp)
    {
        case '*':
        case '+':
        case '?':
            REFUSE(ps, "a quantifier without something to repeat");
        case '{':
            if (ps->p < ps->end && is_digit(*ps->p))
                REFUSE(ps, "a quantifier without something to repeat");
            return make_char(ps, cp, out);
        case ')':
            REFUSE(ps, "parentheses are not balanced");
        case '(':
            return parse_group(ps, out);
        case '[':
            return parse_bracket(ps, out);
        case '.':
            AX_TRY(make_set(ps, out, &s));
            complement(s);
            return AX_OK;
        case '^':
        case '$':
            *anchor = true;
            AX_NEW(ps->t, *out, node_new(ps, cp == '^' ? RE_BOL : RE_EOL));
            return AX_OK;
        case '\\':
            break;
        default:
            return make_char(ps, cp, out);
    }
    AX_TRY(parse_escape(ps, &e));
    if (e.anchor)
    {
        *anchor = true;
        AX_NEW(ps->t, *out, node_new(ps, e.anchor == 'A' ? RE_BOL : RE_EOL));
        return AX_OK;
    }
    if (!e.cls)
        return make_char(ps, e.cp, out);
    AX_TRY(make_set(ps, out, &s));
    add_class(ps, s, e.cls, e.negated);
    return AX_OK;
}

static ax_status parse_number(parser *ps, uint32_t *out)
{
    uint32_t v = 0;

    while (ps->p < ps->end && is_digit(*ps->p) && v <= MAX_BOUND)
        v = v * 10 + (uint32_t) (*ps->p++ - '0');
    if (v > MAX_BOUND)
        REFUSE(ps, "a repetition of more than 255");
    *out = v;
    return AX_OK;
}

/* A quantifier, if there is one: min == max == 1 otherwise. */
static ax_status parse_quantifier(parser *ps, uint32_t *min, uint32_t *max, bool *lazy)
{
    *min = *max = 1;
    *lazy = false;
    if (ps->p >= ps->end)
        return AX_OK;
    switch (*ps->p)
    {
        case '*': *min = 0; *max = AX_RE_INF; break;
        case '+': *min = 1; *max = AX_RE_INF; break;
        case '?': *min = 0; *max = 1; break;
        case '{':
            if (ps->p + 1 >= ps->end || !is_digit(ps->p[1]))
                return AX_OK;
            ps->p++;
            AX_TRY(parse_number(ps, min));
            *max = *min;
            if (at(ps, ','))
            {
                ps->p++;
                *max = AX_RE_INF;
                if (ps->p < ps->end && is_digit(*ps->p))
                    AX_TRY(parse_number(ps, max));
            }
            if (!at(ps, '}') || *max < *min)
                REFUSE(ps, "a malformed bound in braces");
            if (*max == 0)
                REFUSE(ps, "a bound of zero repetitions");
            break;
        default: return AX_OK;
    }
    ps->p++;
    if (at(ps, '?'))
    {
        *lazy = true;
        ps->p++;
    }
    return AX_OK;
}

static ax_status parse_branch(parser *ps, re_node **out)
{
    re_node *cat, *x, *rep;
    uint32_t min, max;
    bool anchor, lazy;

    AX_NEW(ps->t, cat, node_new(ps, RE_CAT));
    while (ps->p < ps->end && *ps->p != '|' && !(*ps->p == ')' && ps->depth > 0))
    {
        AX_TRY(parse_atom(ps, &x, &anchor));
        if (!anchor)
        {
            AX_TRY(parse_quantifier(ps, &min, &max, &lazy));
            if (lazy || min != 1 || max != 1)
            {
                AX_NEW(ps->t, rep, node_new(ps, RE_REP));
                rep->min = (uint16_t) min;
                rep->max = (uint16_t) max;
                rep->lazy = lazy;
                add_kid(rep, x);
                x = rep;
            }
        }
        add_kid(cat, x);
    }
    *out = cat;
    return AX_OK;
}

static ax_status parse_alternatives(parser *ps, re_node **out)
{
    re_node *alt, *x;

    AX_TRY(parse_branch(ps, out));
    if (!at(ps, '|'))
        return AX_OK;
    AX_NEW(ps->t, alt, node_new(ps, RE_ALT));
    add_kid(alt, *out);
    while (at(ps, '|'))
    {
        ps->p++;
        AX_TRY(parse_branch(ps, &x));
        add_kid(alt, x);
    }
    *out = alt;
    return AX_OK;
}

ax_status ax_re_parse(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, uint32_t flags,
                      re_tree *out)
{
    parser ps = {.t = t, .a = a, .p = p, .end = p + n};

    ps.icase = (flags & AX_RE_ICASE) != 0;
    ps.ctype_c = (flags & AX_RE_CTYPE_C) != 0;
    *out = (re_tree){0};
    if (n > AX_RE_MAX_PATTERN)
        REFUSE(&ps, "longer than %u bytes", AX_RE_MAX_PATTERN);
    AX_TRY(parse_alternatives(&ps, &out->root));
    if (ps.p < ps.end) /* only a closing parenthesis stops early */
        REFUSE(&ps, "parentheses are not balanced");
    out->ncap = ps.ncap;
    out->may_ask = ps.may_ask;
    return AX_OK;
}
