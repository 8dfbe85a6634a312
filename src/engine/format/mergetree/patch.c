/* Patch parts: what a lightweight UPDATE or DELETE wrote beside the parts that it changes.
 *
 * A patch part is a part whose rows are new values of some columns, each with the row that gets
 * them: the block it was inserted with and its number in the block, and in old ones the part and
 * its number in the part.  In those the number tells while the part is what it was; when it was
 * merged or mutated, and in new ones always, the block does.  New ones have the columns of the
 * sorting key besides, by which ClickHouse finds rows of one block; we need them not.
 * source_parts.dat names the parts whose rows are changed:
 *
 *      u8 0, or 1 and the sorting key as a string; u64 n;
 *      n * { string name; u64 first, last version of the rows that change it }
 *
 * A row counts when its version is above that of the part, which has all changes up to there.
 *
 * Patch parts that concern a part are opened with it (lines patch=<path>, and behind each what is
 * known of it alone as patch.<line>).  Which rows they change is loaded when a scan asks for the
 * first time (patch_scan.c).
 *
 * Format: mergetree.md, "Patch parts". */
#include "mergetree_int.h"

#include <stdlib.h>

/* ---- names of parts -------------------------------------------------------------------------- */

/* <partition>_<min>_<max>_<level>[_<mutation>] */
typedef struct blocks
{
    size_t npartition;
    uint64_t min, max, level, mutation;
    bool mutated;
} blocks;

static bool number(const char **s, uint64_t *out)
{
    const char *p = *s;

    *out = 0;
    if (*p++ != '_' || *p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
    {
        if (*out > (UINT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t) (*p - '0');
    }
    *s = p;
    return true;
}

static bool blocks_of(const char *name, blocks *b)
{
    const char *s = name + strcspn(name, "_");

    memset(b, 0, sizeof *b);
    b->npartition = (size_t) (s - name);
    if (!number(&s, &b->min) || !number(&s, &b->max) || !number(&s, &b->level))
        return false;
    b->mutated = *s != '\0';
    return (!b->mutated || number(&s, &b->mutation)) && *s == '\0';
}

/* Of which partition and blocks is what is named `inner` the same as `outer`, or merged into it? */
static bool lies_in(const char *inner, const char *outer)
{
    blocks i, o;

    return blocks_of(inner, &i) && blocks_of(outer, &o) && i.npartition == o.npartition &&
           memcmp(inner, outer, i.npartition) == 0 && i.min >= o.min && i.max <= o.max &&
           i.level <= o.level && i.mutation <= o.mutation;
}

bool ax_mt_data_version(const ax_mt_part *p, uint64_t *out)
{
    blocks b;

    if (!blocks_of(p->name, &b))
        return false;
    *out = b.mutated ? b.mutation : b.min;
    return true;
}

bool ax_mt_one_block(const ax_mt_part *p, uint64_t *out)
{
    blocks b;

    if (!blocks_of(p->name, &b) || b.level > 0 || b.min != b.max)
        return false;
    *out = b.min;
    return true;
}

/* ---- source_parts.dat ------------------------------------------------------------------------ */

ax_status ax_mt_sources_parse(ax_task *t, ax_mt_part *p, const uint8_t *s, size_t n)
{
    ax_cur c = ax_cur_make(s, n);
    uint8_t version = ax_cur_u8(&c);
    uint64_t count, nkey = version == 1 ? ax_cur_varint(&c) : 0;
    const uint8_t *key = ax_cur_take(&c, nkey);

    AX_CHECK(t, version <= 1, AX_EUNSUPPORTED,
             "source_parts.dat has version %u, which is not known", version);
    count = ax_cur_u64(&c);
    AX_CHECK(t, !c.bad && count <= ax_cur_left(&c) / 17, AX_ECORRUPT,
             "source_parts.dat is cut off");
    if (version == 1)
        AX_NEW(t, p->source_key, ax_arena_strndup(p->base.arena, (const char *) key, nkey));
    AX_NEW(t, p->source, (ax_mt_source *) ax_arena_alloc0(p->base.arena,
                                                          (count + 1) * sizeof *p->source));
    for (uint64_t i = 0; i < count; i++)
    {
        ax_mt_source *e = &p->source[i];
        uint64_t len = ax_cur_varint(&c);
        const uint8_t *name = ax_cur_take(&c, len);

        e->min_version = ax_cur_u64(&c);
        e->max_version = ax_cur_u64(&c);
        AX_CHECK(t, !c.bad, AX_ECORRUPT, "source_parts.dat is cut off");
        AX_NEW(t, e->name, ax_arena_strndup(p->base.arena, (const char *) name, len));
    }
    AX_CHECK(t, c.p == c.end, AX_ECORRUPT, "source_parts.dat goes on behind its last part");
    p->nsources = (uint32_t) count;
    return AX_OK;
}

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_' || c == '.';
}

/* Is the column one of a key's?  Columns are words, or stand between backquotes; words before a
 * parenthesis are functions. */
static bool key_has(const char *key, const char *name)
{
    for (const char *s = key; *s != '\0';)
    {
        const char *c = name;
        char quote = *s;

        if (quote == '`' || quote == '\'')
        {
            bool same = quote == '`';

            for (s++; *s != '\0' && *s != quote; s++)
            {
                s += *s == '\\' && s[1] != '\0';
                same = same && *c == *s;
                c += same;
            }
            s += *s != '\0';
            if (same && *c == '\0')
                return true;
        }
        else if (in_word(*s))
        {
            const char *end = s;

            while (in_word(*end))
                end++;
            if (*end != '(' && strlen(name) == (size_t) (end - s) &&
                memcmp(s, name, (size_t) (end - s)) == 0)
                return true;
            s = end;
        }
        else
            s++;
    }
    return false;
}

const ax_mt_column *ax_mt_patch_column(const ax_mt_part *q, const char *name)
{
    if (q->source_key != NULL && key_has(q->source_key, name))
        return NULL;
    for (uint32_t i = 0; i < q->ncolumns; i++)
        if (!q->column[i].dropped && strcmp(q->column[i].name, name) == 0)
            return &q->column[i];
    return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

struct ax_mt_patch_opening
{
    ax_arena *a;
    ax_mt_part *part;
    ax_budget *meta_budget;
    uint64_t version;             /* of the part */
    const char *next;             /* options from which on patch parts were not opened yet */
    ax_fmt_op *op;                /* under way, or NULL */
};

ax_status ax_mt_patches_begin(ax_task *t, ax_arena *a, ax_mt_part *p, ax_budget *meta_budget,
                              ax_mt_patch_opening **out)
{
    const char *s = p->options;
    uint32_t count = 0;
    size_t n;

    *out = NULL;
    for (; (s = ax_mt_option(s, "patch", &n)) != NULL; s += n)
        count++;
    if (count == 0)
        return AX_OK;
    AX_NEW(t, p->patch, (ax_mt_patch *) ax_arena_alloc0(p->base.arena, count * sizeof *p->patch));
    AX_NEW(t, *out, (ax_mt_patch_opening *) ax_arena_alloc0(a, sizeof **out));
    **out = (ax_mt_patch_opening){.a = a, .part = p, .meta_budget = meta_budget,
                                  .next = p->options};
    AX_CHECK(t, ax_mt_data_version(p, &(*out)->version), AX_EUNSUPPORTED,
             "patch parts cannot be applied to a part of this name");
    return AX_OK;
}

/* Options of the patch part whose line ends at s: its own lines, and the table's columns. */
static ax_status options_of(ax_task *t, ax_mt_patch_opening *o, const char *s, char **out)
{
    static const char own[] = "patch.", key[] = "primary_key=_part, _part_offset\n";
    const char *line = s + (*s == '\n');
    char *at;

    AX_NEW(t, *out, (char *) ax_arena_alloc(o->a, strlen(o->part->options) + sizeof key + 2));
    at = *out;
    while (strncmp(line, own, sizeof own - 1) == 0)
    {
        size_t len = strcspn(line, "\n");

        memcpy(at, line + sizeof own - 1, len - (sizeof own - 1));
        at += len - (sizeof own - 1);
        *at++ = '\n';
        line += len + (line[len] != '\0');
    }
    for (line = o->part->options; *line != '\0';)
    {
        size_t len = strcspn(line, "\n");

        if (strncmp(line, "column=", 7) == 0)
        {
            memcpy(at, line, len);
            at += len;
            *at++ = '\n';
        }
        line += len + (line[len] != '\0');
    }
    memcpy(at, key, sizeof key);
    return AX_OK;
}

static ax_status begin_next(ax_task *t, ax_mt_patch_opening *o, bool *any)
{
    ax_fmt_input in = {.meta_budget = o->meta_budget};
    char *options;
    size_t n;
    const char *path = ax_mt_option(o->next, "patch", &n);

    *any = path != NULL;
    if (path == NULL)
        return AX_OK;
    o->next = path + n;
    AX_NEW(t, in.uri, ax_arena_strndup(o->a, path, n));
    AX_TRY(options_of(t, o, o->next, &options));
    in.options = options;
    return ax_mt_open_begin(t, o->a, &in, &o->op);
}

/* A patch part was opened: what has it to do with the part? */
static ax_status take(ax_task *t, ax_mt_patch_opening *o, ax_mt_part *q)
{
    ax_mt_part *p = o->part;
    ax_mt_patch *e = &p->patch[p->npatches];

    /* The slot owns the reference from here on. */
    e->part = q;
    p->npatches++;
    AX_CHECK(t, q->nsources > 0, AX_ECORRUPT, "patch part lacks source_parts.dat");
    AX_CHECK(t, q->base.nsplits <= 1, AX_ELIMIT, "patch part has too many rows");
    AX_NEW(t, e->source, (ax_mt_source *) ax_arena_alloc(p->base.arena,
                                                         q->nsources * sizeof *e->source));
    memcpy(e->source, q->source, q->nsources * sizeof *e->source);
    for (uint32_t i = 0; i < q->nsources; i++)
    {
        bool same = strcmp(e->source[i].name, p->name) == 0;

        e->source[i].of_part = e->source[i].max_version > o->version &&
                               (same || lies_in(e->source[i].name, p->name));
        e->here |= e->source[i].of_part && same && q->source_key == NULL;
        e->moved |= e->source[i].of_part && !(same && q->source_key == NULL);
    }
    if (q->rows == 0 || !(e->here || e->moved))
    {
        p->npatches--;
        ax_fmt_file_unref(&q->base);
        return AX_OK;
    }
    for (uint32_t i = 0; i < q->ncolumns; i++)
        p->patched_away |= strcmp(q->column[i].name, "_row_exists") == 0;
    return AX_OK;
}

ax_status ax_mt_patches_step(ax_task *t, ax_mt_patch_opening *o, ax_fmt_event *ev, bool *done)
{
    bool any = true;

    *done = false;
    for (;;)
    {
        ax_fmt_event e = {0};
        ax_mt_part *q;
        ax_status st;

        if (o->op == NULL)
            AX_TRY(begin_next(t, o, &any));
        if (!any)
            break;
        AX_TRY(ax_mt_open_step(t, o->op, &e));
        if (e.step == AX_STEP_NEED)
        {
            ev->step = AX_STEP_NEED;
            ev->need = e.need;
            return AX_OK;
        }
        ax_mt_open_end(o->op);
        o->op = NULL;
        q = (ax_mt_part *) e.file;
        st = take(t, o, q);
        if (st != AX_OK)
        {
            ax_note_file(t, q->dir);
            return st;
        }
    }
    *done = true;
    return AX_OK;
}

void ax_mt_patches_end(ax_mt_patch_opening *o)
{
    if (o != NULL && o->op != NULL)
        ax_mt_open_end(o->op);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
    const ax_mt_patch_row *x = (const ax_mt_patch_row *) a, *y = (const ax_mt_patch_row *) b;

    for (int i = 0; i < 2; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return x->version < y->version ? -1 : x->version > y->version;
}

static bool copy_rows(ax_arena *a, ax_mt_patch_row **rows, uint32_t n)
{
    ax_mt_patch_row *own = (ax_mt_patch_row *) ax_arena_alloc(a, (n + 1ull) * sizeof *own);

    if (own != NULL && n > 0)
        memcpy(own, *rows, n * sizeof *own);
    *rows = own;
    return own != NULL;
}

ax_status ax_mt_patch_publish(ax_task *t, ax_mt_part *p, ax_mt_patch *e, ax_mt_patch_rows *r)
{
    const ax_mt_patch_rows *none = NULL;
    ax_mt_patch_rows *own;
    bool ok;

    if (r->nhere > 1)
        qsort(r->here, r->nhere, sizeof *r->here, by_key);
    if (r->nmoved > 1)
        qsort(r->moved, r->nmoved, sizeof *r->moved, by_key);
    pthread_mutex_lock(&p->lock);
    own = (ax_mt_patch_rows *) ax_arena_alloc(p->base.arena, sizeof *own);
    ok = own != NULL && copy_rows(p->base.arena, &r->here, r->nhere) &&
         copy_rows(p->base.arena, &r->moved, r->nmoved);
    pthread_mutex_unlock(&p->lock);
    if (!ok)
        return ax_fail_nomem(t, (r->nhere + (size_t) r->nmoved) * sizeof *r->here);
    *own = *r;
    /* Whoever was first wins. */
    (void) atomic_compare_exchange_strong_explicit(&e->rows, &none, own, memory_order_acq_rel,
                                                   memory_order_acquire);
    return AX_OK;
}

uint32_t ax_mt_patch_find(const ax_mt_patch_row *r, uint32_t n, uint64_t k0, uint64_t k1)
{
    uint32_t lo = 0, hi = n;

    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (r[mid].key[0] < k0 || (r[mid].key[0] == k0 && r[mid].key[1] < k1))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
