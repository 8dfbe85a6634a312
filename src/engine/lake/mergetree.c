/* MergeTree tables: which parts of a table directory are rows of the table.
 *
 *      find what each path stands for (mergetree_site.c)
 *      --> OPEN, READ format_version.txt and mutation_<n>.txt --> parts by name
 *      --> open parts that cover others, to see whether they are whole --> DONE
 *
 * Several paths are one table, whose parts may lie on several disks.  Parts are named
 * <partition>_<min>_<max>_<level>[_<mutation>]; a
 * part contains another of its partition when all its numbers reach as far and it is of a higher
 * level or of the same blocks.  Parts that another one contains are left-overs of a merge, unless
 * that one is incomplete: then, as in a server that starts, they are the rows.  What is not named
 * like a part is none (tmp_..., detached, moving).
 *
 * Mutations that a part waits for change its columns at once: they are told to the format with it.
 * So are patch parts of lightweight updates, which are no rows of the table.
 *
 * Format: docs/formats/mergetree.md, "Table directories". */
#include "lake/mergetree_int.h"

#include <stdlib.h>
#include <string.h>

enum { FINDING, OPENING, READING, COVERS, FOUND };

enum { MAX_TEXT_BYTES = 1 << 20 };

typedef struct part
{
    const char *path, *name;
    const char *stat, *files;    /* of its site */
    const char *partition;       /* [npartition] */
    size_t npartition;
    int64_t min, max, level, mutation; /* mutation -1: none */
    bool broken, covered;
} part;

/* mutation: number of the mutation, or what else it is. */
enum { FORMAT_VERSION = -1, DEFINITION = -2 };

typedef struct text_file
{
    const char *path;
    int64_t mutation;
    ax_io_file *file;
    const char *lines;           /* its commands, once it was read */
} text_file;

typedef struct table_op
{
    ax_lake_op base;
    const ax_lake_spec *spec;    /* borrowed */
    ax_arena *a;
    uint8_t state;
    bool old_names;              /* format_version.txt says 0 */
    ax_site_op *sites;
    ax_io_req *req;              /* [nreq] */
    uint32_t nreq;
    part *part;                  /* [nparts] */
    uint32_t nparts, cap;
    text_file *file;             /* [nfiles] small files of the directories */
    uint32_t nfiles, file_cap;
    const ax_format *format;
    uint32_t check;              /* part whose wholeness is looked at */
    ax_fmt_op *op;               /* its opening, or NULL */
    ax_fmt_event ev;
    const char *options;         /* for the parts */
    ax_lake_list list;
} table_op;

/* ---- names ----------------------------------------------------------------------------------- */

/* "_<number>" at *s; moves behind it. */
static bool number(const char **s, const char *end, int64_t max, int64_t *out)
{
    const char *p = *s;
    int64_t v = 0;

    if (p == end || *p++ != '_' || p == end || *p < '0' || *p > '9')
        return false;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
    {
        if (v > (max - (*p - '0')) / 10)
            return false;
        v = v * 10 + (*p - '0');
    }
    *s = p;
    *out = v;
    return true;
}

/* The blocks of a part: _<min>_<max>_<level>[_<mutation>] up to the end. */
static bool blocks(const char *s, const char *end, part *p)
{
    p->mutation = -1;
    if (!number(&s, end, INT64_MAX, &p->min) || !number(&s, end, INT64_MAX, &p->max) ||
        !number(&s, end, UINT32_MAX, &p->level))
        return false;
    if (s < end && !number(&s, end, INT64_MAX, &p->mutation))
        return false;
    return s == end && p->min <= p->max;
}

static bool eight_digits(const char *s, const char *end)
{
    if (end - s < 9)
        return false;
    for (int i = 0; i < 8; i++)
        if (s[i] < '0' || s[i] > '9')
            return false;
    return s[8] == '_';
}

/* Is `name` that of a part?  old: <min date>_<max date>_<blocks>. */
static bool parse_name(const char *name, bool old, part *p)
{
    const char *end = name + strlen(name), *s = name;

    if (old)
    {
        if (!eight_digits(name, end) || !eight_digits(name + 9, end))
            return false;
        p->partition = name;
        p->npartition = 6;
        return blocks(name + 17, end, p);
    }
    while (s < end && *s != '_')
    {
        if ((*s < '0' || *s > '9') && (*s < 'a' || *s > 'z') && (*s < 'A' || *s > 'Z') && *s != '-')
            return false;
        s++;
    }
    p->partition = name;
    p->npartition = (size_t) (s - name);
    return s > name && blocks(s, end, p);
}

/* ---- sites ----------------------------------------------------------------------------- */

static ax_status begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out)
{
    table_op *op;

    AX_NEW(t, op, (table_op *) ax_arena_alloc0(a, sizeof *op));
    op->spec = spec;
    op->a = a;
    op->list.arena = a;
    op->options = spec->options;
    op->format = spec->format != NULL ? spec->format : ax_format_find("mergetree");
    *out = &op->base;
    return ax_site_begin(t, a, spec, &op->sites);
}

static ax_status add_part(ax_task *t, table_op *op, const ax_site_dir *d)
{
    if (op->nparts == op->cap)
    {
        uint32_t cap = op->cap == 0 ? 64 : op->cap * 2;
        part *grown;

        AX_CHECK(t, cap < (1u << 30), AX_ELIMIT, "too many parts");
        AX_NEW(t, grown, (part *) ax_arena_alloc(op->a, cap * sizeof *grown));
        if (op->nparts > 0)
            memcpy(grown, op->part, op->nparts * sizeof *grown);
        op->part = grown;
        op->cap = cap;
    }
    op->part[op->nparts++] = (part){.path = d->path, .name = d->name, .stat = d->stat,
                                    .files = d->files};
    return AX_OK;
}

static ax_status add_file(ax_task *t, table_op *op, const char *path, int64_t mutation)
{
    if (op->nfiles == op->file_cap)
    {
        uint32_t cap = op->file_cap == 0 ? 8 : op->file_cap * 2;
        text_file *grown;

        AX_CHECK(t, cap < (1u << 20), AX_ELIMIT, "too many mutations");
        AX_NEW(t, grown, (text_file *) ax_arena_alloc0(op->a, cap * sizeof *grown));
        if (op->nfiles > 0)
            memcpy(grown, op->file, op->nfiles * sizeof *grown);
        op->file = grown;
        op->file_cap = cap;
    }
    op->file[op->nfiles++] = (text_file){path, mutation, NULL, ""};
    return AX_OK;
}

/* mutation_<n>.txt: n, or -1. */
static int64_t mutation_of(const char *name)
{
    const char *s = name + 8, *end = strchr(name, '.');
    int64_t n;

    if (strncmp(name, "mutation_", 9) != 0 || end == NULL || strcmp(end, ".txt") != 0 ||
        !number(&s, end, INT64_MAX, &n) || s != end)
        return -1;
    return n;
}

/* A part, or what lies in a directory. */
static ax_status take_site(ax_task *t, table_op *op, const ax_site *site)
{
    if (site->is_part)
        return ax_lake_list_add(t, &op->list, &(ax_lake_file){.path = site->dir[0].path});
    for (uint32_t i = 0; i < site->ndirs; i++)
        if (strncmp(site->dir[i].name, "tmp", 3) != 0)
            AX_TRY(add_part(t, op, &site->dir[i]));
    for (uint32_t i = 0; i < site->nfiles; i++)
    {
        const ax_site_file *f = &site->file[i];

        if (strcmp(f->name, "format_version.txt") == 0)
            AX_TRY(add_file(t, op, f->path, FORMAT_VERSION));
        else if (mutation_of(f->name) >= 0)
            AX_TRY(add_file(t, op, f->path, mutation_of(f->name)));
    }
    return AX_OK;
}

/* Where the table's definition stands, when somebody says so (option definition), or one of the
 * paths leads to it. */
static ax_status find_definition(ax_task *t, table_op *op)
{
    const char *path;

    AX_TRY(ax_lake_option(t, op->a, op->spec->options, "definition", &path));
    for (uint32_t i = 0; i < op->spec->npaths && path == NULL; i++)
        path = ax_site_of(op->sites, i)->definition;
    return path != NULL ? add_file(t, op, path, DEFINITION) : AX_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const part *x = (const part *) a, *y = (const part *) b;
    size_t n = x->npartition < y->npartition ? x->npartition : y->npartition;
    int c = memcmp(x->partition, y->partition, n);

    if (c != 0)
        return c;
    if (x->npartition != y->npartition)
        return x->npartition < y->npartition ? -1 : 1;
    if (x->min != y->min)
        return x->min < y->min ? -1 : 1;
    if (x->max != y->max)
        return x->max > y->max ? -1 : 1;
    if (x->level != y->level)
        return x->level > y->level ? -1 : 1;
    return x->mutation == y->mutation ? 0 : x->mutation > y->mutation ? -1 : 1;
}

static bool same_partition(const part *a, const part *b)
{
    return a->npartition == b->npartition && memcmp(a->partition, b->partition, a->npartition) == 0;
}

static bool contains(const part *a, const part *b)
{
    bool infinite = a->level == 999999999 || a->level == UINT32_MAX;

    return a->min <= b->min && a->max >= b->max && a->level >= b->level &&
           a->mutation >= b->mutation &&
           ((a->min == b->min && a->max == b->max) || a->level > b->level || infinite);
}

/* Names to parts; the same part on two disks counts once. */
static void parse_parts(table_op *op)
{
    uint32_t n = 0, k = 0;

    for (uint32_t i = 0; i < op->nparts; i++)
        if (parse_name(op->part[i].name, op->old_names, &op->part[i]))
            op->part[n++] = op->part[i];
    if (n > 1)
        qsort(op->part, n, sizeof *op->part, compare);
    for (uint32_t i = 0; i < n; i++)
        if (k == 0 || compare(&op->part[k - 1], &op->part[i]) != 0)
            op->part[k++] = op->part[i];
    op->nparts = k;
}

/* Which parts lie in another one that is whole? */
static ax_status cover(ax_task *t, table_op *op)
{
    for (uint32_t i = 0; i < op->nparts; i++)
        op->part[i].covered = false;
    /* A part stands before those it contains. */
    for (uint32_t i = 0; i < op->nparts; i++)
    {
        const part *p = &op->part[i];

        for (uint32_t k = i + 1; k < op->nparts && !p->broken; k++)
        {
            part *q = &op->part[k];

            if (!same_partition(p, q) || q->min > p->max)
                break;
            if (contains(p, q))
                q->covered = true;
            else if (!p->covered && !q->covered && !q->broken)
            {
                ax_note_file(t, q->path);
                return ax_fail(t, AX_ECORRUPT, "part \"%s\" intersects part \"%s\"", q->name,
                               p->name);
            }
        }
    }
    return AX_OK;
}

/* The next part from `from` on that counts and has others below it. */
static uint32_t next_cover(const table_op *op, uint32_t from)
{
    for (uint32_t i = from; i < op->nparts; i++)
        for (uint32_t k = 0; k < op->nparts && !op->part[i].covered && !op->part[i].broken; k++)
            if (k != i && same_partition(&op->part[i], &op->part[k]) && op->part[k].covered &&
                contains(&op->part[i], &op->part[k]))
                return i;
    return op->nparts;
}

static ax_status options_of(ax_task *t, table_op *op, const part *p, const char **out);

/* Open the parts that cover others.  true: ev says what is needed. */
static ax_status check_covers(ax_task *t, table_op *op, ax_lake_event *ev, bool *waits)
{
    *waits = true;
    while (op->check < op->nparts)
    {
        part *p = &op->part[op->check];
        ax_status st = AX_OK;

        if (op->op == NULL)
        {
            ax_fmt_input in = {.uri = p->path, .meta_budget = t->budget};

            AX_TRY(options_of(t, op, p, &in.options));
            AX_TRY(op->format->open_begin(t, op->a, &in, &op->op));
        }
        memset(&op->ev, 0, sizeof op->ev);
        st = op->format->step(t, op->op, &op->ev);
        if (st == AX_OK && op->ev.step == AX_STEP_NEED)
        {
            ev->step = AX_STEP_NEED;
            ev->need = op->ev.need;
            return AX_OK;
        }
        op->format->end(op->op);
        op->op = NULL;
        ax_fmt_file_unref(op->ev.file);
        op->ev.file = NULL;
        if (st != AX_OK && st != AX_ECORRUPT)
            return st;
        if (st != AX_OK)
        {
            ax_error_clear(&t->err);
            p->broken = true;
            AX_TRY(cover(t, op));
            op->check = next_cover(op, 0);
        }
        else
            op->check = next_cover(op, op->check + 1);
    }
    *waits = false;
    return AX_OK;
}

/* ---- what parts do not say themselves -------------------------------------------------------- */

static int64_t data_version(const part *p) { return p->mutation >= 0 ? p->mutation : p->min; }

enum { PATCH_HEAD = 6 + 32 + 1 }; /* patch-<hash of its columns>-, then the partition */

static bool is_patch(const part *p)
{
    return p->npartition > PATCH_HEAD && memcmp(p->partition, "patch-", 6) == 0;
}

/* Has patch part q rows that may change part p?  What it was made of is told inside it. */
static bool may_patch(const part *q, const part *p)
{
    return is_patch(q) && !q->covered && !q->broken && !is_patch(p) &&
           q->npartition - PATCH_HEAD == p->npartition &&
           memcmp(q->partition + PATCH_HEAD, p->partition, p->npartition) == 0 &&
           data_version(q) > data_version(p);
}

/* ---- pending mutations ----------------------------------------------------------------------- */

static int by_mutation(const void *a, const void *b)
{
    int64_t x = ((const text_file *) a)->mutation, y = ((const text_file *) b)->mutation;

    return (x > y) - (x < y);
}

/* One command in parentheses, escaped once more by the file: a line, when it changes columns or
 * indexes. */
static void command(char **at, const char *p, const char *end)
{
    static const char *const words[] = {"RENAME COLUMN ", "DROP COLUMN ", "CLEAR COLUMN ",
                                        "DROP INDEX ", "CLEAR INDEX "};
    bool wanted = false;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        wanted |= (size_t) (end - p) > strlen(words[i]) &&
                  memcmp(p, words[i], strlen(words[i])) == 0;
    if (!wanted)
        return;
    memcpy(*at, "mutation=", 9);
    *at += 9;
    for (; p < end; p++)
    {
        p += *p == '\\' && p + 1 < end;
        *(*at)++ = *p != '\n' ? *p : ' ';
    }
    *(*at)++ = '\n';
}

/* The commands of a mutation file as lines; rows that it changes are not visible before
 * it is done, columns are at once. */
static ax_status commands(ax_task *t, table_op *op, text_file *f, const ax_buf *b)
{
    const char *p = (const char *) b->data, *end = p + b->len, *start = NULL;
    char *at, *lines;
    int depth = 0;

    /* A command of n bytes makes a line of n + 10, and takes more than that with its words. */
    AX_NEW(t, lines, (char *) ax_arena_alloc(op->a, b->len * 2 + 16));
    at = lines;
    p = memmem(p, b->len, "commands: ", 10);
    for (p = p != NULL ? p + 10 : end; p < end; p++)
    {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (*p == '(' && depth++ == 0)
            start = p + 1;
        else if (*p == ')' && --depth == 0 && start != NULL)
            command(&at, start, p);
    }
    *at = '\0';
    f->lines = lines;
    return AX_OK;
}

/* Lines for the format under construction: without room they are only counted. */
typedef struct lines { char *at; size_t n; } lines;

static void put(lines *l, const char *s, size_t n)
{
    l->n += n;
    if (l->at == NULL || n == 0)
        return;
    memcpy(l->at, s, n);
    l->at += n;
}

/* The lines of s, each behind a prefix. */
static void put_lines(lines *l, const char *prefix, const char *s)
{
    while (s != NULL && *s != '\0')
    {
        size_t n = strcspn(s, "\n");

        put(l, prefix, strlen(prefix));
        put(l, s, n);
        put(l, "\n", 1);
        s += n + (s[n] != '\0');
    }
}

/* The mutations that a part waits for, and its files when they lie elsewhere. */
static void put_pending(lines *l, const table_op *op, const part *p, const char *prefix)
{
    for (uint32_t i = 0; i < op->nfiles; i++)
        if (op->file[i].mutation > data_version(p))
            put_lines(l, prefix, op->file[i].lines);
    put_lines(l, prefix, p->files);
}

static void put_patches(lines *l, const table_op *op, const part *p)
{
    for (uint32_t i = 0; i < op->nparts; i++)
        if (may_patch(&op->part[i], p))
        {
            put_lines(l, "patch=", op->part[i].path);
            put_pending(l, op, &op->part[i], "patch.");
        }
}

/* What a part must be told: the table's options, and what is pending for it. */
static ax_status options_of(ax_task *t, table_op *op, const part *p, const char **out)
{
    lines l = {NULL, 0};
    char *s;

    *out = op->options;
    put_pending(&l, op, p, "");
    put_patches(&l, op, p);
    if (l.n == 0)
        return AX_OK;
    put_lines(&l, "", op->options);
    AX_NEW(t, s, (char *) ax_arena_alloc(op->a, l.n + 1));
    l.at = s;
    put_pending(&l, op, p, "");
    put_patches(&l, op, p);
    put_lines(&l, "", op->options);
    *l.at = '\0';
    *out = s;
    return AX_OK;
}

/* ---- lists of tables ------------------------------------------------------------------------- */

/* Tables in place of parts: what is of MergeTree's family, with what ClickHouse calls it as its
 * partition. */
static ax_status add_table(ax_task *t, table_op *op, const char *root, const ax_site_table *table)
{
    static const char *const names[] = {"database", "table", "comment"};
    const char *engine = NULL, *comment = NULL, *dir = root;
    ax_lake_file f = {.nparts = sizeof names / sizeof names[0], .part_name = names};
    const char **value;
    size_t n;

    if (table->text != NULL)
    {
        AX_TRY(ax_lake_mergetree_about(t, op->a, table->text, table->ntext, &engine, &comment));
        n = engine != NULL ? strlen(engine) : 0;
        if (n < 9 || strcmp(engine + n - 9, "MergeTree") != 0)
            return AX_OK;
    }
    AX_NEW(t, value, (const char **) ax_arena_alloc(op->a, sizeof names));
    value[0] = table->database;
    value[1] = table->name;
    value[2] = comment;
    f.part_value = value;
    if (table->database != NULL)
        AX_TRY(ax_path_join(t, op->a, root, table->database, &dir));
    AX_TRY(ax_path_join(t, op->a, dir, table->name, &f.path));
    return ax_lake_list_add(t, &op->list, &f);
}

static ax_status list_tables(ax_task *t, table_op *op, ax_lake_event *ev)
{
    for (uint32_t i = 0; i < op->spec->npaths; i++)
        for (uint32_t k = 0; k < ax_site_of(op->sites, i)->ntables; k++)
            AX_TRY(add_table(t, op, op->spec->path[i], &ax_site_of(op->sites, i)->table[k]));
    ax_lake_list_sort(&op->list);
    op->state = FOUND;
    ev->step = AX_STEP_DONE;
    ev->file = op->list.file;
    ev->nfiles = op->list.n;
    return AX_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static ax_status need(table_op *op, uint32_t n, uint8_t next, ax_lake_event *ev)
{
    op->nreq = n;
    op->state = next;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){op->req, n};
    return AX_OK;
}

static ax_status open_files(ax_task *t, table_op *op, ax_lake_event *ev)
{
    for (uint32_t i = 0; i < op->spec->npaths; i++)
        AX_TRY(take_site(t, op, ax_site_of(op->sites, i)));
    AX_TRY(find_definition(t, op));
    AX_NEW(t, op->req, (ax_io_req *) ax_arena_alloc0(op->a, (op->nfiles + 1) * sizeof *op->req));
    for (uint32_t i = 0; i < op->nfiles; i++)
        op->req[i] = (ax_io_req){.kind = AX_IO_OPEN, .uri = op->file[i].path};
    op->nreq = 0;
    return op->nfiles > 0 ? need(op, op->nfiles, OPENING, ev) : AX_OK;
}

static ax_status read_files(ax_task *t, table_op *op, ax_lake_event *ev)
{
    for (uint32_t i = 0; i < op->nfiles; i++)
    {
        op->file[i].file = op->req[i].file;
        op->req[i] = (ax_io_req){.kind = AX_IO_READ, .file = op->file[i].file,
                                 .len = ax_io_file_size(op->file[i].file)};
    }
    for (uint32_t i = 0; i < op->nfiles; i++)
        AX_CHECK(t, op->req[i].len <= MAX_TEXT_BYTES, AX_ELIMIT, "file \"%s\" is too large",
                 op->file[i].path);
    return need(op, op->nfiles, READING, ev);
}

static ax_status definition(ax_task *t, table_op *op, const char *path, const ax_buf *b)
{
    ax_status st = ax_lake_mergetree_sql(t, op->a, op->spec->options, (const char *) b->data,
                                         b->len, &op->options);

    if (st != AX_OK)
        ax_note_file(t, path);
    return st;
}

static ax_status take_files(ax_task *t, table_op *op)
{
    for (uint32_t i = 0; i < op->nfiles; i++)
    {
        const ax_buf *b = op->req[i].buf;

        AX_CHECK(t, b != NULL, AX_EIO, "requested bytes were not delivered");
        if (op->file[i].mutation == FORMAT_VERSION)
            op->old_names = b->len > 0 && b->data[0] == '0';
        if (op->file[i].mutation >= 0)
            AX_TRY(commands(t, op, &op->file[i], b));
        if (op->file[i].mutation == DEFINITION)
            AX_TRY(definition(t, op, op->file[i].path, b));
    }
    parse_parts(op);
    if (op->nfiles > 0)
        qsort(op->file, op->nfiles, sizeof *op->file, by_mutation);
    AX_TRY(cover(t, op));
    op->check = next_cover(op, 0);
    op->state = COVERS;
    return AX_OK;
}

static ax_status found(ax_task *t, table_op *op, ax_lake_event *ev)
{
    /* Paths that are parts, then parts of directories from the oldest to the newest. */
    ax_lake_list_sort(&op->list);
    for (uint32_t i = 0; i < op->nparts; i++)
        if (!op->part[i].covered && !op->part[i].broken && !is_patch(&op->part[i]))
        {
            ax_lake_file f = {.path = op->part[i].path, .stat = op->part[i].stat};

            AX_TRY(options_of(t, op, &op->part[i], &f.options));
            AX_TRY(ax_lake_list_add(t, &op->list, &f));
        }
    op->state = FOUND;
    ev->step = AX_STEP_DONE;
    ev->file = op->list.file;
    ev->nfiles = op->list.n;
    return AX_OK;
}

static ax_status step(ax_task *t, ax_lake_op *base, ax_lake_event *ev)
{
    table_op *op = (table_op *) base;
    bool waits, found_all;
    const char *listing;

    switch (op->state)
    {
        case FINDING:
            AX_TRY(ax_site_step(t, op->sites, ev, &found_all));
            if (!found_all)
                return AX_OK;
            AX_TRY(ax_lake_option(t, op->a, op->spec->options, "list", &listing));
            if (listing != NULL)
                return list_tables(t, op, ev);
            AX_TRY(open_files(t, op, ev));
            if (op->nfiles > 0)
                return AX_OK;
            AX_TRY(take_files(t, op));
            break;
        case OPENING:
            return read_files(t, op, ev);
        case READING:
            AX_TRY(take_files(t, op));
            break;
        default:
            break;
    }
    AX_TRY(check_covers(t, op, ev, &waits));
    return waits ? AX_OK : found(t, op, ev);
}

static void end(ax_lake_op *base)
{
    table_op *op = (table_op *) base;

    ax_site_end(op->sites);
    op->sites = NULL;
    if (op->op != NULL)
        op->format->end(op->op);
    op->op = NULL;
    for (uint32_t i = 0; i < op->nreq; i++)
    {
        ax_buf_unref(op->req[i].buf);
        if (op->req[i].kind == AX_IO_OPEN)
            ax_io_file_unref(op->req[i].file);
        op->req[i].buf = NULL;
    }
    for (uint32_t i = 0; i < op->nfiles; i++)
        ax_io_file_unref(op->file[i].file);
    op->nfiles = 0;
}

const ax_lake ax_lake_mergetree = {"mergetree", begin, step, end};
