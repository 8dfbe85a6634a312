/* The definition of a MergeTree table, from the server's own metadata file.
 *
 *      ATTACH TABLE _ UUID '...' ( `a` UInt32 DEFAULT 1, INDEX i a TYPE minmax GRANULARITY 1, ... )
 *      ENGINE = MergeTree PARTITION BY ... PRIMARY KEY ... ORDER BY ... SETTINGS ...
 *
 * It becomes lines of options for the format, one for each column and clause, with the texts of
 * types and expressions as they stand:
 *
 *      column=`a` UInt32 DEFAULT 1
 *      index=i a TYPE minmax GRANULARITY 1
 *      engine=MergeTree
 *      partition_key=toYYYYMM(d)
 *      primary_key=a, b
 *      order_by=a, b
 *      index_granularity=8192
 *
 * Only the structure is looked at: quotes, parentheses, commas, and keywords outside of them.
 *
 * Format: docs/formats/mergetree.md, "Table definitions". */
#include "lake/lake_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct sql { const char *p, *end; } sql;

/* Lines under construction. */
typedef struct lines { ax_task *t; ax_arena *a; char *p; size_t n, cap; } lines;

static ax_status put(lines *l, const char *s, size_t n)
{
    if (l->n + n + 2 > l->cap)
    {
        size_t cap = l->cap * 2 > l->n + n + 2 ? l->cap * 2 : l->n + n + 1024;
        char *p;

        AX_NEW(l->t, p, (char *) ax_arena_alloc(l->a, cap));
        if (l->n > 0)
            memcpy(p, l->p, l->n);
        l->p = p;
        l->cap = cap;
    }
    for (size_t i = 0; i < n; i++)
        l->p[l->n++] = s[i] == '\n' || s[i] == '\r' ? ' ' : s[i];
    l->p[l->n] = '\0';
    return AX_OK;
}

static ax_status line(lines *l, const char *key, const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\n'))
        s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\n'))
        end--;
    AX_TRY(put(l, key, strlen(key)));
    AX_TRY(put(l, s, (size_t) (end - s)));
    /* A line break that put does not take for one. */
    l->p[l->n++] = '\n';
    l->p[l->n] = '\0';
    return AX_OK;
}

/* ---- structure ------------------------------------------------------------------------------- */

/* Step over one character, or a quoted piece as a whole; *depth counts parentheses. */
static const char *past(const char *p, const char *end, int *depth)
{
    char q = *p++;

    if (q == '(' || q == '[')
        ++*depth;
    else if (q == ')' || q == ']')
        --*depth;
    else if (q == '\'' || q == '`' || q == '"')
    {
        while (p < end && *p != q)
            p += *p == '\\' && p + 1 < end ? 2 : 1;
        p += p < end;
    }
    return p;
}

static bool word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Does the keyword stand at p? */
static bool keyword(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t) (end - p) >= n && strncasecmp(p, word, n) == 0 &&
           (p + n == end || !word_char(p[n]));
}

static const char *blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Up to the first of `stop` outside of parentheses and quotes, or the end. */
static const char *until(const char *p, const char *end, char stop)
{
    int depth = 0;

    while (p < end && !(depth == 0 && *p == stop))
    {
        if (depth == 0 && *p == ')')
            break;
        p = past(p, end, &depth);
    }
    return p;
}

/* Up to the first of the keywords that stands at the beginning of a word, outside of parentheses
 * and quotes; *which: its ordinal, or that of the NULL at the end of the list. */
static const char *until_word(const char *p, const char *end, const char *const *words, int *which)
{
    bool fresh = true;
    int depth = 0;

    while (p < end)
    {
        if (depth == 0 && fresh)
            for (*which = 0; words[*which] != NULL; ++*which)
                if (keyword(p, end, words[*which]))
                    return p;
        fresh = !word_char(*p);
        p = past(p, end, &depth);
    }
    for (*which = 0; words[*which] != NULL;)
        ++*which;
    return end;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* `name` type [DEFAULT expression]: clauses that tell nothing of values are cut off. */
static ax_status column(lines *l, const char *p, const char *end)
{
    static const char *const cut[] = {"CODEC", "TTL", "COMMENT", "STATISTICS", "SETTINGS", NULL};
    int which, depth = 0;
    const char *name = p;

    if (*p == '`' || *p == '"')
        p = past(p, end, &depth);
    else
        while (p < end && word_char(*p))
            p++;
    return line(l, "column=", name, until_word(p, end, cut, &which));
}

static ax_status columns(lines *l, const char *p, const char *end)
{
    while (p < end)
    {
        const char *next;

        p = blanks(p, end);
        next = until(p, end, ',');
        if (keyword(p, end, "INDEX"))
            AX_TRY(line(l, "index=", p + 5, next));
        else if (!keyword(p, end, "PROJECTION") && !keyword(p, end, "CONSTRAINT") && p < next)
            AX_TRY(column(l, p, next));
        p = next < end ? next + 1 : end;
    }
    return AX_OK;
}

/* ---- clauses --------------------------------------------------------------------------------- */

/* An expression or a tuple of them, without the parentheses of the tuple. */
static ax_status key(lines *l, const char *name, const char *p, const char *end)
{
    int depth = 0;

    p = blanks(p, end);
    while (end > p && (end[-1] == ' ' || end[-1] == '\n'))
        end--;
    if (keyword(p, end, "tuple") && p + 5 < end && p[5] == '(')
        p += 5;
    if (p < end && *p == '(' && past(p, end, &depth) != NULL)
    {
        const char *q = p;

        depth = 0;
        do
            q = past(q, end, &depth);
        while (q < end && depth > 0);
        if (q == end && depth == 0)
            return line(l, name, p + 1, end - 1);
    }
    return line(l, name, p, end);
}

static ax_status setting(lines *l, const char *p, const char *end)
{
    while (p < end)
    {
        const char *next = until(p, end, ',');

        p = blanks(p, next);
        if (keyword(p, next, "index_granularity"))
        {
            const char *eq = memchr(p, '=', (size_t) (next - p));

            if (eq != NULL)
                AX_TRY(line(l, "index_granularity=", eq + 1, next));
        }
        p = next < end ? next + 1 : end;
    }
    return AX_OK;
}

/* MergeTree(date, [sampling,] (key...), granularity), as it was before clauses. */
static ax_status old_engine(lines *l, const char *p, const char *end)
{
    const char *arg[8], *stop[8];
    int n = 0, at;
    char partition[300];

    for (; p < end && n < 8; n++)
    {
        arg[n] = blanks(p, end);
        stop[n] = until(p, end, ',');
        p = stop[n] < end ? stop[n] + 1 : end;
    }
    /* The key is the tuple before the granularity; a version column may follow. */
    for (at = 1; at + 1 < n; at++)
        if (arg[at + 1] < stop[at + 1] && arg[at + 1][0] >= '1' && arg[at + 1][0] <= '9')
            break;
    if (at + 1 >= n || stop[0] - arg[0] > 200)
        return AX_OK;
    snprintf(partition, sizeof partition, "toYYYYMM(%.*s)", (int) (stop[0] - arg[0]), arg[0]);
    AX_TRY(line(l, "partition_key=", partition, partition + strlen(partition)));
    AX_TRY(key(l, "primary_key=", arg[at], stop[at]));
    return line(l, "index_granularity=", arg[at + 1], stop[at + 1]);
}

static ax_status clauses(lines *l, const char *p, const char *end)
{
    static const char *const words[] = {"ENGINE", "PARTITION BY", "PRIMARY KEY", "ORDER BY",
                                        "SAMPLE BY", "TTL", "SETTINGS", "COMMENT", NULL};
    enum { ENGINE, PARTITION, PRIMARY, ORDER, SAMPLE, TTL, SETTINGS };
    const char *from[8] = {NULL}, *to[8];
    int which, next;

    for (p = until_word(p, end, words, &which); words[which] != NULL; which = next)
    {
        const char *start = p + strlen(words[which]);

        p = until_word(start, end, words, &next);
        from[which] = start;
        to[which] = p;
    }
    if (from[ENGINE] != NULL)
    {
        const char *e = blanks(from[ENGINE], to[ENGINE]), *open;

        e = e < to[ENGINE] && *e == '=' ? blanks(e + 1, to[ENGINE]) : e;
        AX_TRY(line(l, "engine=", e, to[ENGINE]));
        open = memchr(e, '(', (size_t) (to[ENGINE] - e));
        if (open != NULL && from[ORDER] == NULL)
            AX_TRY(old_engine(l, open + 1, until(open + 1, to[ENGINE], '\0')));
    }
    if (from[PARTITION] != NULL)
        AX_TRY(key(l, "partition_key=", from[PARTITION], to[PARTITION]));
    if (from[PRIMARY] != NULL)
        AX_TRY(key(l, "primary_key=", from[PRIMARY], to[PRIMARY]));
    else if (from[ORDER] != NULL)
        AX_TRY(key(l, "primary_key=", from[ORDER], to[ORDER]));
    if (from[ORDER] != NULL)
        AX_TRY(key(l, "order_by=", from[ORDER], to[ORDER]));
    if (from[SETTINGS] != NULL)
        AX_TRY(setting(l, from[SETTINGS], to[SETTINGS]));
    return AX_OK;
}

ax_status ax_lake_mergetree_sql(ax_task *t, ax_arena *a, const char *before, const char *s,
                                size_t n, const char **out)
{
    lines l = {.t = t, .a = a};
    const char *end = s + n, *p = s, *open, *close;
    int depth = 0;

    while (before != NULL && *before != '\0')
    {
        const char *stop = strchr(before, '\n');

        AX_TRY(line(&l, "", before, stop != NULL ? stop : before + strlen(before)));
        before = stop != NULL ? stop + 1 : NULL;
    }
    while (p < end && *p != '(')
        p = past(p, end, &depth);
    AX_CHECK(t, p < end && memchr(s, '\0', n) == NULL, AX_EOPTION,
             "file is no definition of a table");
    open = p;
    depth = 0;
    do
        p = past(p, end, &depth);
    while (p < end && depth > 0);
    AX_CHECK(t, depth == 0, AX_EOPTION, "definition of the table lacks a parenthesis");
    close = p - 1;
    AX_TRY(columns(&l, open + 1, close));
    AX_TRY(clauses(&l, p, end));
    *out = l.p;
    return AX_OK;
}

/* The text of a literal in quotes, without them and their escapes. */
static ax_status literal(ax_task *t, ax_arena *a, const char *p, const char *end, const char **out)
{
    size_t n = 0;
    char *s;

    p = blanks(p, end);
    *out = NULL;
    if (p == end || *p != '\'')
        return AX_OK;
    AX_NEW(t, s, (char *) ax_arena_alloc(a, (size_t) (end - p) + 1));
    for (p++; p < end && (*p != '\'' || (p + 1 < end && p[1] == '\'')); p++)
    {
        char c = *p;

        if ((c == '\\' || c == '\'') && p + 1 < end)
        {
            c = *++p;
            c = p[-1] != '\\' ? c : c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        s[n++] = c;
    }
    s[n] = '\0';
    *out = s;
    return AX_OK;
}

ax_status ax_lake_mergetree_about(ax_task *t, ax_arena *a, const char *s, size_t n,
                                  const char **engine, const char **comment)
{
    static const char *const words[] = {"ENGINE", "COMMENT", NULL};
    static const char *const prefix[] = {"Replicated", "Shared"};
    const char *end = s + n, *p = blanks(s, end), *e;
    int which, depth = 0;

    *engine = *comment = NULL;
    if (!keyword(p, end, "ATTACH") && !keyword(p, end, "CREATE"))
        return AX_OK;
    p = blanks(p + 6, end);
    if (!keyword(p, end, "TABLE"))
        return AX_OK;
    /* Behind the columns. */
    while (p < end && *p != '(')
        p = past(p, end, &depth);
    for (depth = 0; p < end;)
    {
        p = past(p, end, &depth);
        if (depth == 0)
            break;
    }
    for (p = until_word(p, end, words, &which); words[which] != NULL;
         p = until_word(p, end, words, &which))
    {
        p += strlen(words[which]);
        if (which == 1)
        {
            AX_TRY(literal(t, a, p, end, comment));
            continue;
        }
        p = blanks(p, end);
        p = p < end && *p == '=' ? blanks(p + 1, end) : p;
        for (size_t i = 0; i < sizeof prefix / sizeof prefix[0]; i++)
            if ((size_t) (end - p) > strlen(prefix[i]) &&
                memcmp(p, prefix[i], strlen(prefix[i])) == 0)
                p += strlen(prefix[i]);
        for (e = p; e < end && word_char(*e);)
            e++;
        AX_NEW(t, *engine, ax_arena_strndup(a, p, (size_t) (e - p)));
        p = e;
    }
    return AX_OK;
}
