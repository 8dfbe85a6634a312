/* Glob patterns: `*` and `?` within one name, `[a-z]` and `[!a-z]`, `{a,b}` (nested too), `**` for
 * any depth, and `\` before a character that stands for itself.
 *
 * Backtracking matcher; the work is bounded by a budget of steps, so that a hostile pattern such as
 * `*a*a*a*a*b` ends (it then matches nothing). */
#include "lake/lake_int.h"

#include <string.h>

#define MAX_STEPS 1000000u
#define MAX_NESTING 32u

typedef struct matcher { uint32_t steps; } matcher;

/* What is left to match of the pattern: a piece, then the rest (a stack of pieces, for braces). */
typedef struct piece
{
    const char *p, *end;
    const struct piece *next;
} piece;

static bool match(matcher *m, piece at, const char *s, uint32_t depth);

/* The end of a character class that begins at p ('['), or NULL when it is not closed. */
static const char *class_end(const char *p, const char *end)
{
    const char *q = p + 1;

    if (q < end && (*q == '!' || *q == '^'))
        q++;
    if (q < end && *q == ']')
        q++;
    while (q < end && *q != ']')
        q++;
    return q < end ? q : NULL;
}

static bool class_has(const char *p, const char *close, unsigned char c)
{
    bool negated = false, found = false;

    p++;
    if (*p == '!' || *p == '^')
    {
        negated = true;
        p++;
    }
    do
    {
        unsigned char lo = (unsigned char) *p, hi = lo;

        if (p + 2 < close && p[1] == '-')
        {
            hi = (unsigned char) p[2];
            p += 2;
        }
        found = found || (c >= lo && c <= hi);
        p++;
    } while (p < close);
    return found != negated;
}

/* The closing brace of the group that opens at p, or NULL. */
static const char *brace_end(const char *p, const char *end)
{
    int level = 0;

    for (; p < end; p++)
    {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (*p == '{')
            level++;
        else if (*p == '}' && --level == 0)
            return p;
    }
    return NULL;
}

/* Try every alternative of {a,b,...}. */
static bool match_braces(matcher *m, piece at, const char *close, const char *s, uint32_t depth)
{
    piece rest = {close + 1, at.end, at.next};
    const char *begin = at.p + 1;
    int level = 0;

    for (const char *p = begin; p <= close; p++)
    {
        if (p == close || (*p == ',' && level == 0))
        {
            piece one = {begin, p, &rest};

            if (match(m, one, s, depth + 1))
                return true;
            begin = p + 1;
        }
        else if (*p == '\\' && p + 1 < close)
            p++;
        else if (*p == '{')
            level++;
        else if (*p == '}')
            level--;
    }
    return false;
}

static bool match_star(matcher *m, piece at, const char *s, uint32_t depth)
{
    bool deep = at.p + 1 < at.end && at.p[1] == '*';

    while (at.p < at.end && *at.p == '*')
        at.p++;
    if (deep && at.p < at.end && *at.p == '/')
    {
        piece after = {at.p + 1, at.end, at.next}; /* a double star also stands for no folder */

        if (match(m, after, s, depth + 1))
            return true;
    }
    for (;; s++)
    {
        if (match(m, at, s, depth + 1))
            return true;
        if (*s == '\0' || (*s == '/' && !deep))
            return false;
    }
}

static bool match(matcher *m, piece at, const char *s, uint32_t depth)
{
    for (;;)
    {
        const char *close;

        if (++m->steps > MAX_STEPS || depth > MAX_NESTING * 8)
            return false;
        while (at.p == at.end)
        {
            if (at.next == NULL)
                return *s == '\0';
            at = *at.next;
        }
        if (*at.p == '*')
            return match_star(m, at, s, depth);
        if (*at.p == '{' && (close = brace_end(at.p, at.end)) != NULL)
            return match_braces(m, at, close, s, depth);
        if (*s == '\0')
            return false;
        if (*at.p == '[' && (close = class_end(at.p, at.end)) != NULL)
        {
            if (*s == '/' || !class_has(at.p, close, (unsigned char) *s))
                return false;
            at.p = close + 1;
        }
        else if (*at.p == '?')
        {
            if (*s == '/')
                return false;
            at.p++;
        }
        else
        {
            if (*at.p == '\\' && at.p + 1 < at.end)
                at.p++;
            if (*at.p != *s)
                return false;
            at.p++;
        }
        s++;
    }
}

bool ax_glob_match(const char *pattern, const char *name)
{
    matcher m = {0};
    piece all = {pattern, pattern + strlen(pattern), NULL};

    return match(&m, all, name, 0);
}

bool ax_glob_has_magic(const char *path)
{
    return strpbrk(path, "*?[{") != NULL;
}

bool ax_glob_is_literal(const char *pattern, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (strchr("*?[{\\", pattern[i]) != NULL)
            return false;
    return true;
}

/* Walks as `match` does at its outermost level, so that a name alone means what it means there. */
size_t ax_glob_first(const char *pattern)
{
    const char *end = pattern + strlen(pattern), *p = pattern, *close;
    size_t n = strcspn(pattern, "/");

    while (p < pattern + n)
    {
        if (p[0] == '*' && p[1] == '*')
            return 0;
        if (*p == '{' && (close = brace_end(p, end)) != NULL)
        {
            for (const char *q = p; q < close; q++)
                if (q[0] == '/' || (q[0] == '*' && q[1] == '*'))
                    return 0;
            p = close + 1;
        }
        else if (*p == '[' && (close = class_end(p, end)) != NULL)
            p = close + 1;
        else
            p += *p == '\\' && p + 1 < end ? 2 : 1;
    }
    return p == pattern + n ? n : 0;
}
