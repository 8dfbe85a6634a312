/* The small text files of a part, and checksums.txt.
 *
 *      columns.txt              "columns format version: 1", "<n> columns:", `name` type
 *      columns_substreams.txt   "columns substreams version: 1", "<n> columns:", and for each
 *                               column "<k> substreams for column `name`:" and <k> names
 *      count.txt                decimal number of rows
 *      checksums.txt            version 4: frames of (varuint n; entries); 3: the same without
 *                               frames; 2: text
 *
 * Format: mergetree.md, "Files of a part". */
#include "mergetree_int.h"

#include <stdlib.h>

/* A position in text. */
typedef struct text { ax_task *t; ax_arena *a; const uint8_t *p, *end; const char *what; } text;

static bool literal(text *x, const char *s)
{
    size_t n = strlen(s);

    if ((size_t) (x->end - x->p) < n || memcmp(x->p, s, n) != 0)
        return false;
    x->p += n;
    return true;
}

static ax_status expect(text *x, const char *s)
{
    AX_CHECK(x->t, literal(x, s), AX_ECORRUPT, "%s is malformed", x->what);
    return AX_OK;
}

static ax_status number(text *x, uint64_t max, uint64_t *out)
{
    const uint8_t *start = x->p;
    uint64_t v = 0;

    *out = 0;
    while (x->p < x->end && *x->p >= '0' && *x->p <= '9' && x->p - start < 19)
        v = v * 10 + (uint64_t) (*x->p++ - '0');
    AX_CHECK(x->t, x->p > start && v <= max, AX_ECORRUPT, "%s has no number where it should",
             x->what);
    *out = v;
    return AX_OK;
}

/* The rest of the line, without its end. */
static void line(text *x, const char **s, size_t *n)
{
    *s = (const char *) x->p;
    while (x->p < x->end && *x->p != '\n')
        x->p++;
    *n = (size_t) (x->p - (const uint8_t *) *s);
    if (x->p < x->end)
        x->p++;
}

static char unescaped(char ch)
{
    switch (ch)
    {
        case 'n': return '\n';
        case 't': return '\t';
        case 'r': return '\r';
        case '0': return '\0';
        case 'b': return '\b';
        case 'f': return '\f';
        default: return ch;
    }
}

static ax_status back_quoted(text *x, const char **out)
{
    char *s;
    size_t n = 0;

    AX_TRY(expect(x, "`"));
    AX_NEW(x->t, s, (char *) ax_arena_alloc(x->a, (size_t) (x->end - x->p) + 1));
    while (x->p < x->end && *x->p != '`')
    {
        char ch = (char) *x->p++;

        if (ch == '\\' && x->p < x->end)
            ch = unescaped((char) *x->p++);
        AX_CHECK(x->t, ch != '\0', AX_EUNSUPPORTED, "%s has a name with a zero byte", x->what);
        s[n++] = ch;
    }
    AX_TRY(expect(x, "`"));
    AX_NEW(x->t, *out, ax_arena_strndup(x->a, s, n));
    return AX_OK;
}

/* ---- columns.txt ----------------------------------------------------------------------------- */

ax_status ax_mt_columns_parse(ax_task *t, ax_mt_part *p, const uint8_t *s, size_t n)
{
    text x = {t, p->base.arena, s, s + n, "columns.txt"};
    uint64_t count, i;

    AX_TRY(expect(&x, "columns format version: 1\n"));
    AX_TRY(number(&x, n, &count));
    AX_TRY(expect(&x, " columns:\n"));
    AX_NEW(t, p->column,
           (ax_mt_column *) ax_arena_alloc0(x.a, (count + 1) * sizeof *p->column));
    p->row_exists = -1;
    for (i = 0; i < count; i++)
    {
        ax_mt_column *c = &p->column[i];
        const char *type;
        size_t len;

        AX_TRY(back_quoted(&x, &c->name));
        AX_TRY(expect(&x, " "));
        line(&x, &type, &len);
        AX_TRY(ax_mt_type_parse(t, x.a, type, len, &c->type));
        if (strcmp(c->name, "_row_exists") == 0)
            p->row_exists = (int32_t) i;
    }
    AX_CHECK(t, x.p == x.end, AX_ECORRUPT, "columns.txt goes on behind its last column");
    p->ncolumns = (uint32_t) count;
    return AX_OK;
}

ax_status ax_mt_substreams_parse(ax_task *t, ax_mt_part *p, const uint8_t *s, size_t n)
{
    text x = {t, p->base.arena, s, s + n, "columns_substreams.txt"};
    const char **name;
    uint32_t *at, total = 0;
    uint64_t count, i, k, j;

    AX_TRY(expect(&x, "columns substreams version: 1\n"));
    AX_TRY(number(&x, n, &count));
    AX_TRY(expect(&x, " columns:\n"));
    AX_CHECK(t, count == p->ncolumns, AX_ECORRUPT,
             "columns_substreams.txt has %llu columns where columns.txt has %u",
             (unsigned long long) count, p->ncolumns);
    /* A substream takes two bytes at least. */
    AX_NEW(t, name, (const char **) ax_arena_alloc(x.a, (n / 2 + 1) * sizeof *name));
    AX_NEW(t, at, (uint32_t *) ax_arena_alloc(x.a, (count + 1) * sizeof *at));
    for (i = 0; i < count; i++)
    {
        const char *column, *sub;
        size_t len;

        at[i] = total;
        AX_TRY(number(&x, n, &k));
        AX_TRY(expect(&x, " substreams for column "));
        AX_TRY(back_quoted(&x, &column));
        AX_TRY(expect(&x, ":\n"));
        AX_CHECK(t, strcmp(column, p->column[i].name) == 0, AX_ECORRUPT,
                 "columns_substreams.txt has other columns than columns.txt");
        for (j = 0; j < k; j++)
        {
            AX_TRY(expect(&x, "\t"));
            line(&x, &sub, &len);
            AX_CHECK(t, total < n / 2, AX_ECORRUPT, "columns_substreams.txt is malformed");
            AX_NEW(t, name[total], ax_arena_strndup(x.a, sub, len));
            total++;
        }
    }
    AX_CHECK(t, x.p == x.end, AX_ECORRUPT, "columns_substreams.txt goes on behind its end");
    at[count] = total;
    p->substream = name;
    p->substream_at = at;
    return AX_OK;
}

ax_status ax_mt_count_parse(ax_task *t, const uint8_t *s, size_t n, int64_t *rows)
{
    text x = {t, NULL, s, s + n, "count.txt"};
    uint64_t v;

    AX_TRY(number(&x, INT64_MAX, &v));
    (void) literal(&x, "\n");
    AX_CHECK(t, x.p == x.end, AX_ECORRUPT, "count.txt is malformed");
    *rows = (int64_t) v;
    return AX_OK;
}

/* ---- pending mutations ----------------------------------------------------------------------- */

/* A name, quoted or not, up to a blank. */
static ax_status name_of(text *x, const char **out)
{
    const uint8_t *start = x->p;

    (void) literal(x, "IF EXISTS ");
    if (x->p < x->end && *x->p == '`')
        return back_quoted(x, out);
    for (start = x->p; x->p < x->end && *x->p != ' ';)
        x->p++;
    AX_NEW(x->t, *out, ax_arena_strndup(x->a, (const char *) start, (size_t) (x->p - start)));
    return AX_OK;
}

static ax_mt_column *stored_column(ax_mt_part *p, const char *name)
{
    for (uint32_t i = 0; i < p->ncolumns; i++)
        if (!p->column[i].dropped && strcmp(p->column[i].name, name) == 0)
            return &p->column[i];
    return NULL;
}

ax_status ax_mt_mutations_apply(ax_task *t, ax_mt_part *p)
{
    const char *s = p->options, *from, *to;
    size_t n;

    while ((s = ax_mt_option(s, "mutation", &n)) != NULL)
    {
        text x = {t, p->base.arena, (const uint8_t *) s, (const uint8_t *) s + n, "mutation"};
        bool rename = literal(&x, "RENAME COLUMN ");
        ax_mt_column *c;

        s += n;
        if (literal(&x, "DROP INDEX ") || literal(&x, "CLEAR INDEX "))
            continue; /* skip.c minds that there is one */
        if (!rename && !literal(&x, "DROP COLUMN "))
            AX_TRY(expect(&x, "CLEAR COLUMN "));
        AX_TRY(name_of(&x, &from));
        c = stored_column(p, from);
        if (rename)
        {
            AX_TRY(expect(&x, " TO "));
            AX_TRY(name_of(&x, &to));
            if (c != NULL)
                c->name = to;
        }
        else if (c != NULL)
            c->dropped = true;
    }
    return AX_OK;
}

/* ---- checksums.txt --------------------------------------------------------------------------- */

static ax_status hash_of_text(text *x, ax_mt_hash *h)
{
    AX_TRY(number(x, UINT64_MAX, &h->lo));
    AX_TRY(expect(x, " "));
    return number(x, UINT64_MAX, &h->hi);
}

static ax_status sums_of_text(text *x, ax_mt_sum **out, uint32_t *nout)
{
    uint64_t count, i, flag;
    ax_mt_sum *e;

    AX_TRY(number(x, (uint64_t) (x->end - x->p), &count));
    AX_TRY(expect(x, " files:\n"));
    AX_NEW(x->t, e, (ax_mt_sum *) ax_arena_alloc0(x->a, (count + 1) * sizeof *e));
    for (i = 0; i < count; i++)
    {
        const char *name;
        size_t len;

        line(x, &name, &len);
        AX_NEW(x->t, e[i].name, ax_arena_strndup(x->a, name, len));
        AX_TRY(expect(x, "\tsize: "));
        AX_TRY(number(x, INT64_MAX, &e[i].size));
        AX_TRY(expect(x, "\n\thash: "));
        AX_TRY(hash_of_text(x, &e[i].hash));
        AX_TRY(expect(x, "\n\tcompressed: "));
        AX_TRY(number(x, 1, &flag));
        e[i].compressed = flag != 0;
        if (e[i].compressed)
        {
            AX_TRY(expect(x, "\n\tuncompressed size: "));
            AX_TRY(number(x, INT64_MAX, &e[i].plain_size));
            AX_TRY(expect(x, "\n\tuncompressed hash: "));
            AX_TRY(hash_of_text(x, &e[i].plain_hash));
        }
        AX_TRY(expect(x, "\n"));
    }
    *out = e;
    *nout = (uint32_t) count;
    return AX_OK;
}

static ax_mt_hash hash_at(ax_cur *c)
{
    ax_mt_hash h;

    h.lo = ax_cur_u64(c);
    h.hi = ax_cur_u64(c);
    return h;
}

static ax_status sums_of_binary(ax_task *t, ax_arena *a, const uint8_t *s, size_t n,
                                ax_mt_sum **out, uint32_t *nout)
{
    ax_cur c = ax_cur_make(s, n);
    uint64_t count = ax_cur_varint(&c), i;
    ax_mt_sum *e;

    AX_CHECK(t, !c.bad && count <= n / 19, AX_ECORRUPT, "checksums.txt is malformed");
    AX_NEW(t, e, (ax_mt_sum *) ax_arena_alloc0(a, (count + 1) * sizeof *e));
    for (i = 0; i < count; i++)
    {
        uint64_t len = ax_cur_varint(&c);
        const uint8_t *name = ax_cur_take(&c, len);

        AX_CHECK(t, name != NULL && memchr(name, '\0', len) == NULL, AX_ECORRUPT,
                 "checksums.txt is malformed");
        AX_NEW(t, e[i].name, ax_arena_strndup(a, (const char *) name, len));
        e[i].size = ax_cur_varint(&c);
        e[i].hash = hash_at(&c);
        e[i].compressed = ax_cur_u8(&c) != 0;
        if (e[i].compressed)
        {
            e[i].plain_size = ax_cur_varint(&c);
            e[i].plain_hash = hash_at(&c);
        }
    }
    AX_CHECK(t, !c.bad && c.p == c.end, AX_ECORRUPT, "checksums.txt is malformed");
    *out = e;
    *nout = (uint32_t) count;
    return AX_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ax_mt_sum *) a)->name, ((const ax_mt_sum *) b)->name);
}

ax_status ax_mt_checksums_parse(ax_task *t, ax_arena *a, const uint8_t *s, size_t n,
                                ax_mt_sum **out, uint32_t *nout)
{
    text x = {t, a, s, s + n, "checksums.txt"};
    uint64_t version;
    const uint8_t *plain = NULL;
    size_t nplain = 0;
    ax_cdc *cdc;

    *out = NULL;
    *nout = 0;
    AX_TRY(expect(&x, "checksums format version: "));
    AX_TRY(number(&x, 99, &version));
    AX_TRY(expect(&x, "\n"));
    switch (version)
    {
        case 1:
            return AX_OK;
        case 2:
            AX_TRY(sums_of_text(&x, out, nout));
            break;
        case 3:
            AX_TRY(sums_of_binary(t, a, x.p, (size_t) (x.end - x.p), out, nout));
            break;
        case 4:
            AX_TRY(ax_cdc_create(t, a, &cdc));
            AX_TRY(ax_mt_frames_all(t, a, cdc, x.p, (size_t) (x.end - x.p), &plain, &nplain));
            AX_TRY(sums_of_binary(t, a, plain, nplain, out, nout));
            break;
        default:
            return ax_fail(t, AX_EUNSUPPORTED, "checksums.txt has version %llu",
                           (unsigned long long) version);
    }
    if (*nout > 1)
        qsort(*out, *nout, sizeof **out, by_name);
    return AX_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

ax_status ax_mt_escape(ax_task *t, ax_arena *a, const char *s, size_t n, const char **out)
{
    static const char hex[] = "0123456789ABCDEF";
    char *e, *at;
    size_t i;

    AX_NEW(t, e, (char *) ax_arena_alloc(a, n * 3 + 1));
    for (at = e, i = 0; i < n; i++)
    {
        unsigned char ch = (unsigned char) s[i];

        if ((ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
            ch == '_')
            *at++ = (char) ch;
        else
        {
            *at++ = '%';
            *at++ = hex[ch >> 4];
            *at++ = hex[ch & 15];
        }
    }
    *at = '\0';
    *out = e;
    return AX_OK;
}
