/* Compiles patterns of LIKE and matches them against one string.
 *
 * A pattern becomes one of a few simple kinds, or bytes with a class each.  `_` stands for one
 * character of UTF-8: a lead byte and the continuation bytes behind it, as in the server's
 * like_match.c.  The backslash is the escape. */
#include "func/kernel.h"

#include <string.h>

enum { LITERAL = 0, ONE = 1, ANY = 2 };

/* Split into bytes and classes; runs of % become one. */
static ax_status unescape(ax_task *t, const uint8_t *p, uint32_t n, uint8_t *pat, uint8_t *wild,
                          uint32_t *out_n)
{
    uint32_t q = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        uint8_t c = p[i], w = LITERAL;

        if (c == '\\')
        {
            AX_CHECK(t, i + 1 < n, AX_EESCAPE,
                     "LIKE pattern must not end with escape character");
            c = p[++i];
        }
        else if (c == '%')
            w = ANY;
        else if (c == '_')
            w = ONE;
        if (w == ANY && q > 0 && wild[q - 1] == ANY)
            continue;
        pat[q] = c;
        wild[q++] = w;
    }
    *out_n = q;
    return AX_OK;
}

static void longest_literal(ax_like *l)
{
    for (uint32_t i = 0; i < l->pat_len;)
    {
        uint32_t j = i;

        while (j < l->pat_len && l->wild[j] == LITERAL)
            j++;
        if (j - i > l->lit_len)
        {
            l->lit = l->pat + i;
            l->lit_len = j - i;
        }
        i = j + 1;
    }
}

/* Literals between the %s, when there is no `_`. */
static ax_status split_parts(ax_task *t, ax_arena *a, ax_like *l)
{
    AX_NEW(t, l->part, ax_arena_alloc0(a, sizeof(*l->part) * (l->pat_len + 1)));
    for (uint32_t i = 0; i < l->pat_len;)
    {
        uint32_t j = i;

        while (j < l->pat_len && l->wild[j] == LITERAL)
            j++;
        if (j > i)
            l->part[l->nparts++] = ax_needle_make(l->pat + i, j - i);
        l->min_len += j - i;
        i = j + 1;
    }
    return AX_OK;
}

ax_status ax_like_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, ax_like *out)
{
    uint8_t *pat, *wild;
    uint32_t m = 0, any = 0, one = 0;

    *out = (ax_like){0};
    AX_NEW(t, pat, ax_arena_values(a, n));
    AX_NEW(t, wild, ax_arena_values(a, n));
    memset(pat, 0, n);
    AX_TRY(unescape(t, p, n, pat, wild, &m));
    out->pat = pat;
    out->wild = wild;
    out->pat_len = m;
    for (uint32_t i = 0; i < m; i++)
    {
        any += wild[i] == ANY;
        one += wild[i] == ONE;
    }
    out->lit = pat;
    longest_literal(out);
    if (out->lit_len > 0)
        out->needle = ax_needle_make(out->lit, out->lit_len);
    while (out->prefix_len < m && wild[out->prefix_len] == LITERAL)
        out->prefix_len++;
    out->prefix = pat;
    if (one > 0 || any > 2)
        out->kind = AX_LIKE_GENERAL;
    else if (any == 0)
        out->kind = AX_LIKE_EXACT;
    else if (m == 1)
        out->kind = AX_LIKE_ALL;
    else if (any == 1 && wild[m - 1] == ANY)
        out->kind = AX_LIKE_PREFIX;
    else if (any == 1 && wild[0] == ANY)
        out->kind = AX_LIKE_SUFFIX;
    else if (any == 2 && wild[0] == ANY && wild[m - 1] == ANY)
        out->kind = AX_LIKE_CONTAINS;
    else
        out->kind = AX_LIKE_GENERAL;
    if (out->kind == AX_LIKE_GENERAL && one == 0)
        return split_parts(t, a, out);
    return AX_OK;
}

/* First byte of the character behind the one at i. */
static inline uint32_t next_char(const uint8_t *s, uint32_t n, uint32_t i)
{
    do
        i++;
    while (i < n && (s[i] & 0xC0) == 0x80);
    return i;
}

/* Only the last % needs to be remembered: what an earlier one could give, it can give as well. */
static bool match_general(const ax_like *l, const uint8_t *s, uint32_t n)
{
    uint32_t i = 0, j = 0, m = l->pat_len, after_any = UINT32_MAX, retry = 0;

    while (i < n)
    {
        if (j < m && l->wild[j] == ANY)
        {
            after_any = ++j;
            retry = i;
            if (j == m)
                return true;
        }
        else if (j < m && l->wild[j] == ONE)
        {
            i = next_char(s, n, i);
            j++;
        }
        else if (j < m && l->pat[j] == s[i])
        {
            i++;
            j++;
        }
        else if (after_any != UINT32_MAX)
        {
            retry = next_char(s, n, retry);
            i = retry;
            j = after_any;
        }
        else
            return false;
    }
    while (j < m && l->wild[j] == ANY)
        j++;
    return j == m;
}

/* Without `_`: the first literal at the start, the last at the end, those between in order, each
 * as early as it goes. */
static bool match_parts(const ax_like *l, const uint8_t *s, uint32_t n)
{
    const ax_kernels *k = ax_k_get();
    const ax_needle *last = &l->part[l->nparts - 1];
    uint32_t at = l->prefix_len, end = n, i = 0, m = l->nparts;

    if (n < l->min_len || (at > 0 && memcmp(s, l->prefix, at) != 0))
        return false;
    if (l->wild[l->pat_len - 1] == LITERAL)
    {
        end -= last->n;
        if (memcmp(s + end, last->p, last->n) != 0)
            return false;
        m--;
    }
    for (i = at > 0; i < m; i++)
    {
        uint32_t pos = k->find(s + at, end - at, &l->part[i]);

        if (pos == end - at)
            return false;
        at += pos + l->part[i].n;
    }
    return true;
}

bool ax_like_match(const ax_like *l, const uint8_t *s, uint32_t n)
{
    switch (l->kind)
    {
        case AX_LIKE_ALL:
            return true;
        case AX_LIKE_EXACT:
            return n == l->lit_len && memcmp(s, l->lit, n) == 0;
        case AX_LIKE_PREFIX:
            return n >= l->lit_len && memcmp(s, l->lit, l->lit_len) == 0;
        case AX_LIKE_SUFFIX:
            return n >= l->lit_len && memcmp(s + (n - l->lit_len), l->lit, l->lit_len) == 0;
        case AX_LIKE_CONTAINS:
            return ax_k_get()->find(s, n, &l->needle) < n;
        default:
            return l->nparts > 0 ? match_parts(l, s, n) : match_general(l, s, n);
    }
}
