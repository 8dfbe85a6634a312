/* Which skip indexes a part has.
 *
 *      index=i1 (a, lower(b)) TYPE bloom_filter(0.01) GRANULARITY 4
 *
 * stands in the options, from the table's definition; the part has skp_idx_i1.idx or .idx2 and
 * marks when it was written or merged after the index was added.  Implicit indexes have no
 * definition but a name that says all: auto_minmax_index_<column>.
 *
 * A part that waits for a mutation has columns by other names or of other types than the
 * definition, and perhaps an index that was dropped: its indexes are not used.
 *
 * Format: mergetree.md, "Skip indexes". */
#include "skip_int.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct text { const char *p, *end; } text;

static void blanks(text *s)
{
    while (s->p < s->end && *s->p == ' ')
        s->p++;
}

static bool word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A name, quoted or not; NULL: there is none. */
static ax_status name_of(ax_task *t, ax_arena *a, text *s, const char **out)
{
    const char *from = s->p;
    char *name;
    size_t n = 0;

    *out = NULL;
    AX_NEW(t, name, (char *) ax_arena_alloc(a, (size_t) (s->end - s->p) + 1));
    if (s->p < s->end && *s->p == '`')
    {
        for (s->p++; s->p < s->end && *s->p != '`'; s->p++)
        {
            s->p += *s->p == '\\' && s->p + 1 < s->end;
            name[n++] = *s->p;
        }
        s->p += s->p < s->end;
    }
    else
        while (s->p < s->end && word_char(*s->p))
            name[n++] = *s->p++;
    name[n] = '\0';
    if (s->p > from && n > 0)
        *out = name;
    blanks(s);
    return AX_OK;
}

/* What stands before the word outside of parentheses and quotes; s goes behind the word. */
static bool before_word(text *s, const char *word, text *out)
{
    size_t n = strlen(word);
    int depth = 0;

    out->p = s->p;
    for (; s->p < s->end; s->p++)
    {
        const char c = *s->p;

        if (c == '\'' || c == '`')
        {
            for (s->p++; s->p < s->end && *s->p != c; s->p++)
                s->p += *s->p == '\\';
            continue;
        }
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth == 0 && c == ' ' && (size_t) (s->end - s->p) > n + 1 &&
            memcmp(s->p + 1, word, n) == 0 && s->p[n + 1] == ' ')
        {
            out->end = s->p;
            s->p += n + 2;
            return true;
        }
    }
    return false;
}

/* The numbers of an index type, at most max; how many. */
static uint32_t numbers(const text *s, double *out, uint32_t max)
{
    const char *p = memchr(s->p, '(', (size_t) (s->end - s->p));
    uint32_t n = 0;

    while (p != NULL && p < s->end && *p != ')' && n < max)
    {
        char *stop, copy[40] = "";
        size_t k = 0;

        for (p++; p < s->end && *p != ',' && *p != ')'; p++)
            if (*p != ' ' && k + 1 < sizeof copy)
                copy[k++] = *p;
        out[n] = strtod(copy, &stop);
        if (stop == copy || *stop != '\0' || !(out[n] >= 0 && out[n] <= 1e18))
            break;
        n++;
    }
    return n;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static bool is(const text *s, const char *word)
{
    size_t n = strlen(word);

    return (size_t) (s->end - s->p) >= n && memcmp(s->p, word, n) == 0 &&
           (s->p + n == s->end || !word_char(s->p[n]));
}

/* Kind and parameters; false: not one that is used. */
static bool kind_of(const text *s, ax_mt_skip *x)
{
    double v[4] = {0};
    uint32_t n = numbers(s, v, 4), at = 0;

    if (is(s, "minmax"))
    {
        x->kind = MT_S_MINMAX;
        return true;
    }
    if (is(s, "set"))
    {
        x->kind = MT_S_SET;
        return true;
    }
    if (is(s, "bloom_filter"))
    {
        x->kind = MT_S_BLOOM;
        ax_mt_bloom_shape(n > 0 ? v[0] : 0.025, &x->bits_per, &x->hashes);
        return true;
    }
    if (is(s, "ngrambf_v1"))
    {
        x->kind = MT_S_NGRAMS;
        x->gram = v[0] <= 64 ? (uint32_t) v[0] : 0;
        at = 1;
    }
    else if (is(s, "tokenbf_v1"))
        x->kind = MT_S_TOKENS;
    else
        return false;
    if (n != at + 3 || v[at] < 1 || v[at] > (1 << 24) || v[at + 1] < 1 || v[at + 1] > 64 ||
        (at == 1 && x->gram == 0))
        return false;
    x->bytes = (uint32_t) v[at];
    x->hashes = (uint32_t) v[at + 1];
    x->seed = (uint64_t) v[at + 2];
    return true;
}

/* The type without Nullable and LowCardinality. */
static const ax_mt_type *bare(const ax_mt_type *ty)
{
    while (ty->id == MT_LOWCARD || ty->id == MT_NULLABLE)
        ty = ty->child[0];
    return ty;
}

/* Do we know how its granules are laid out? */
static bool readable(const ax_mt_skip *x)
{
    for (uint32_t i = 0; i < x->ncols; i++)
    {
        const ax_mt_type *ty = x->col[i].type;

        /* Filters have a size for each expression, whatever it is. */
        if (x->kind >= MT_S_BLOOM)
            continue;
        if (ty == NULL)
            return false;
        ty = bare(ty);
        if (ty->id != MT_STRING && ty->width == 0)
            return false;
    }
    return x->ncols > 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static ax_status format_name(ax_task *t, ax_mt_part *p, const char *base, const char *ext,
                             const char **out)
{
    size_t n = strlen(base) + strlen(ext) + 1;
    char *s;

    AX_NEW(t, s, (char *) ax_arena_alloc(p->base.arena, n));
    snprintf(s, n, "%s%s", base, ext);
    *out = s;
    return AX_OK;
}

/* The index's file by this name without extension; x->file stays NULL when there is none. */
static ax_status try_name(ax_task *t, ax_mt_part *p, const char *base, ax_mt_skip *x)
{
    const char *file = NULL, *marks = NULL;

    AX_TRY(format_name(t, p, base, x->kind == MT_S_MINMAX ? ".idx2" : ".idx", &file));
    AX_TRY(format_name(t, p, base, p->marks_ext, &marks));
    if (x->kind == MT_S_MINMAX && ax_mt_member_find(p, file) == NULL && p->skip_pack == NULL)
    {
        AX_TRY(format_name(t, p, base, ".idx", &file));
        x->old = true;
    }
    if (ax_mt_member_find(p, file) != NULL && ax_mt_member_find(p, marks) != NULL)
    {
        x->file = file;
        x->marks = marks;
    }
    return AX_OK;
}

static ax_status find_files(ax_task *t, ax_mt_part *p, ax_mt_skip *x)
{
    const char *escaped, *plain[2], *base = NULL;
    ax_mt_hash h;
    char hash[33];

    AX_TRY(ax_mt_escape(t, p->base.arena, x->name, strlen(x->name), &escaped));
    AX_TRY(format_name(t, p, "skp_idx_", escaped, &plain[0]));
    AX_TRY(format_name(t, p, "skp_idx_", x->name, &plain[1]));
    for (int i = 0; i < 2 && x->file == NULL; i++)
        AX_TRY(try_name(t, p, plain[i], x));
    for (int i = 0; i < 2 && x->file == NULL; i++)
    {
        h = ax_mt_sip128((const uint8_t *) plain[i], strlen(plain[i]));
        snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long) h.hi,
                 (unsigned long long) h.lo);
        AX_TRY(try_name(t, p, hash, x));
    }
    if (x->file != NULL || p->skip_pack == NULL)
        return AX_OK;
    /* It may be in the archive, whose listing nobody has read yet. */
    base = plain[0];
    x->old = false;
    AX_TRY(format_name(t, p, base, x->kind == MT_S_MINMAX ? ".idx2" : ".idx", &x->file));
    return format_name(t, p, base, p->marks_ext, &x->marks);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static ax_status add(ax_task *t, ax_mt_part *p, const text *exprs, ax_mt_skip *x)
{
    text e = *exprs;
    ax_mt_keys keys = {0};
    uint32_t depth = 0;
    const char *q;

    /* (a, b): the parentheses go. */
    if (e.p < e.end && *e.p == '(' && e.end[-1] == ')')
    {
        for (q = e.p; q < e.end; q++)
        {
            depth += (*q == '(') - (*q == ')');
            if (depth == 0)
                break;
        }
        if (q == e.end - 1)
            e = (text){e.p + 1, e.end - 1};
    }
    AX_TRY(ax_mt_exprs_parse(t, p, e.p, (size_t) (e.end - e.p), &keys));
    x->ncols = keys.ncols;
    x->col = keys.col;
    if (x->ncols > MT_MAX_SKIP_COLUMNS || !readable(x))
        return AX_OK;
    AX_TRY(find_files(t, p, x));
    if (x->file != NULL)
        p->skip[p->nskips++] = *x;
    return AX_OK;
}

static ax_status define(ax_task *t, ax_mt_part *p, const char *line, size_t n)
{
    text s = {line, line + n}, expr, type;
    ax_mt_skip x = {.granularity = 1};
    bool has;

    AX_TRY(name_of(t, p->base.arena, &s, &x.name));
    if (x.name == NULL)
        return AX_OK;
    s.p -= s.p > line; /* the blank before the expression, or before TYPE */
    if (!before_word(&s, "TYPE", &expr))
        return AX_OK;
    blanks(&expr);
    type = s;
    has = before_word(&s, "GRANULARITY", &type);
    if (has)
        x.granularity = (uint32_t) strtoul(s.p, NULL, 10);
    if (x.granularity == 0 || !kind_of(&type, &x))
        return AX_OK;
    return add(t, p, &expr, &x);
}

/* auto_minmax_index_<column> of this file's name? */
static ax_status implicit(ax_task *t, ax_mt_part *p, const char *file)
{
    static const char prefix[] = "skp_idx_auto_minmax_index_";
    size_t n = strlen(file), head = sizeof prefix - 1, tail = strlen(".idx2");

    if (n <= head + tail || strncmp(file, prefix, head) != 0 ||
        strcmp(file + n - tail, ".idx2") != 0)
        return AX_OK;
    for (uint32_t i = 0; i < p->ncolumns; i++)
    {
        ax_mt_skip x = {.kind = MT_S_MINMAX, .granularity = 1, .ncols = 1};
        const char *escaped;

        AX_TRY(ax_mt_escape(t, p->base.arena, p->column[i].name, strlen(p->column[i].name),
                            &escaped));
        if (strlen(escaped) != n - head - tail ||
            memcmp(escaped, file + head, strlen(escaped)) != 0)
            continue;
        AX_NEW(t, x.col, (ax_mt_keycol *) ax_arena_alloc0(p->base.arena, sizeof *x.col));
        *x.col = (ax_mt_keycol){.fn = MT_K_COLUMN, .column = (int32_t) i,
                                .type = p->column[i].type};
        AX_TRY(format_name(t, p, "auto_minmax_index_", p->column[i].name, &x.name));
        if (!readable(&x))
            continue;
        AX_TRY(find_files(t, p, &x));
        if (x.file != NULL)
            p->skip[p->nskips++] = x;
    }
    return AX_OK;
}

ax_status ax_mt_skips_find(ax_task *t, ax_mt_part *p)
{
    const char *s;
    size_t n;
    uint32_t most = p->nmembers;

    if (p->ngran == 0 || ax_mt_option(p->options, "mutation", &n) != NULL)
        return AX_OK;
    p->skip_pack = ax_mt_member_find(p, "skp_idx.packed");
    for (s = p->options; (s = ax_mt_option(s, "index", &n)) != NULL; s += n)
        most++;
    AX_NEW(t, p->skip, (ax_mt_skip *) ax_arena_alloc0(p->base.arena, (most + 1) * sizeof *p->skip));
    for (s = p->options; (s = ax_mt_option(s, "index", &n)) != NULL; s += n)
        AX_TRY(define(t, p, s, n));
    for (uint32_t i = 0; i < p->nmembers; i++)
        AX_TRY(implicit(t, p, p->member[i].name));
    return AX_OK;
}
