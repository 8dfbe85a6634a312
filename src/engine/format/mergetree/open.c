/* The opening of a part.
 *
 *      LIST the directory, unless whoever found the part told its files
 *      --> OPEN, READ small files --> OPEN, READ one mark file --> DONE
 *
 * The mark file tells how many rows each granule has, which is the same for all streams; marks of
 * other streams are loaded when somebody reads them.
 *
 * The primary index is kept when somebody tells which expressions it has (option primary_key), and
 * minimum and maximum of partition columns always: both are small.
 *
 * Last come the patch parts that change its rows (options patch): each is opened like a part.
 *
 * A part is refused as a whole when a file that checksums.txt lists is missing or has another size:
 * servers do the same.  With the option checksums=shown nothing but the listing is taken, as if the
 * part were empty: who asks for facts.c's verdicts wants to see all that is wrong.
 *
 * Format: mergetree.md, "Files of a part". */
#include "skip_int.h"

#include <stdio.h>
#include <stdlib.h>

enum { LISTING, OPENING, READING, MARKS_OPEN, MARKS_READ, PATCHES, OPENED };

enum { F_COLUMNS, F_COUNT, F_CHECKSUMS, F_SERIALIZATION, F_SUBSTREAMS, F_PRIMARY, F_PARTITION,
       F_SOURCES, F_FIXED,
       F_MINMAX = F_FIXED, F_CNT = F_MINMAX + 8 };

static const char *const file_names[F_FIXED] = {
    "columns.txt", "count.txt", "checksums.txt", "serialization.json", "columns_substreams.txt",
    "primary.cidx", "partition.dat", "source_parts.dat"};

typedef struct open_op
{
    ax_mt_op op;
    uint8_t state;
    ax_arena *a;                  /* of the operation */
    ax_fmt_input in;
    ax_mt_part *part;             /* owned until it is given away */
    ax_io_req open[F_CNT], req[F_CNT];
    uint32_t nreq;
    uint8_t which[F_CNT];         /* file of each request */
    const ax_mt_member *member[F_CNT]; /* the files; NULL: there is no such file, */
    ax_buf *buf[F_CNT];           /* and their bytes; owned */
    ax_mt_sum *sum;               /* [nsums] of checksums.txt */
    uint32_t nsums;
    ax_mt_patch_opening *patches; /* NULL: there are none */
} open_op;

const ax_mt_member *ax_mt_member_find(const ax_mt_part *p, const char *name)
{
    uint32_t lo = 0, hi = p->nmembers;

    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;
        int cmp = strcmp(p->member[mid].name, name);

        if (cmp == 0)
            return &p->member[mid];
        if (cmp < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static ax_status new_part(ax_task *t, open_op *o)
{
    ax_arena *a;
    ax_mt_part *p;
    const char *slash;
    size_t n = strlen(o->in.uri);

    AX_NEW(t, a, ax_arena_create(o->in.meta_budget, 0));
    p = (ax_mt_part *) ax_arena_alloc0(a, sizeof *p);
    if (p == NULL)
    {
        ax_arena_destroy(a);
        return ax_fail_nomem(t, sizeof *p);
    }
    p->base.format = &ax_format_mergetree;
    p->base.arena = a;
    atomic_init(&p->base.refs, 1);
    pthread_mutex_init(&p->lock, NULL);
    o->part = p;
    while (n > 1 && o->in.uri[n - 1] == '/')
        n--;
    AX_NEW(t, p->dir, ax_arena_strndup(a, o->in.uri, n));
    if (o->in.options != NULL)
        AX_NEW(t, p->options, ax_arena_strndup(a, o->in.options, strlen(o->in.options)));
    slash = strrchr(p->dir, '/');
    p->name = slash != NULL ? slash + 1 : p->dir;
    return AX_OK;
}

ax_status ax_mt_open_begin(ax_task *t, ax_arena *a, const ax_fmt_input *in, ax_fmt_op **out)
{
    open_op *o;

    AX_NEW(t, o, (open_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = MT_OP_OPEN;
    o->a = a;
    o->in = *in;
    AX_TRY(new_part(t, o));
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

static void release(open_op *o)
{
    for (uint32_t i = 0; i < F_CNT; i++)
    {
        ax_io_file_unref(o->open[i].file);
        ax_buf_unref(o->req[i].buf);
        o->open[i].file = NULL;
        o->req[i].buf = NULL;
    }
}

void ax_mt_open_end(ax_fmt_op *op)
{
    open_op *o = (open_op *) op;

    ax_mt_patches_end(o->patches);
    o->patches = NULL;
    release(o);
    for (uint32_t i = 0; i < F_CNT; i++)
    {
        ax_buf_unref(o->buf[i]);
        o->buf[i] = NULL;
    }
    if (o->part != NULL)
        ax_fmt_file_unref(&o->part->base);
    o->part = NULL;
}

/* ---- the listing ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ax_mt_member *) a)->name, ((const ax_mt_member *) b)->name);
}

static ax_status take_listing(ax_task *t, open_op *o)
{
    ax_mt_part *p = o->part;
    ax_arena *a = p->base.arena;
    const ax_io_req *r = &o->open[0];

    AX_CHECK(t, r->found, AX_ENOFILE, "could not open part: no such directory");
    AX_NEW(t, p->member,
           (ax_mt_member *) ax_arena_alloc(a, ((size_t) r->nentries + 1) * sizeof *p->member));
    for (uint32_t i = 0; i < r->nentries; i++)
    {
        const ax_io_entry *e = &r->entries[i];
        ax_mt_member *m = &p->member[p->nmembers];
        const char *slash;

        if (e->is_dir)
            continue;
        AX_NEW(t, m->path, ax_arena_strndup(a, e->path, strlen(e->path)));
        slash = strrchr(m->path, '/');
        m->name = slash != NULL ? slash + 1 : m->path;
        m->size = e->size;
        p->bytes += e->size;
        p->nmembers++;
    }
    if (p->nmembers > 1)
        qsort(p->member, p->nmembers, sizeof *p->member, by_name);
    return AX_OK;
}

/* Files that lie elsewhere: lines file=<size> <name>\t<uri>. */
static ax_status take_told(ax_task *t, open_op *o, const char *s)
{
    ax_mt_part *p = o->part;
    ax_arena *a = p->base.arena;
    uint32_t n = 1;

    for (const char *q = s; (q = strstr(q, "\nfile=")) != NULL; q++)
        n++;
    AX_NEW(t, p->member, (ax_mt_member *) ax_arena_alloc(a, n * sizeof *p->member));
    for (; s != NULL; s = strstr(s, "\nfile="), s = s != NULL ? s + 6 : NULL)
    {
        ax_mt_member *m = &p->member[p->nmembers++];
        const char *name = strchr(s, ' '), *tab = strchr(s, '\t'), *end = strchr(s, '\n');

        AX_CHECK(t, name != NULL && tab != NULL && end != NULL && name < tab && tab < end,
                 AX_EOPTION, "file of a part is not told well");
        m->size = strtoull(s, NULL, 10);
        AX_NEW(t, m->name, ax_arena_strndup(a, name + 1, (size_t) (tab - name - 1)));
        AX_NEW(t, m->path, ax_arena_strndup(a, tab + 1, (size_t) (end - tab - 1)));
        p->bytes += m->size;
    }
    if (p->nmembers > 1)
        qsort(p->member, p->nmembers, sizeof *p->member, by_name);
    return AX_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void ask(open_op *o, ax_io_req *req, uint32_t n, uint8_t next, ax_fmt_event *ev)
{
    o->nreq = n;
    o->state = next;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){req, n};
}

/* Which files are read. */
static void choose_files(open_op *o)
{
    ax_mt_part *p = o->part;
    uint32_t at = F_MINMAX;
    size_t n;

    for (uint32_t i = 0; i < F_FIXED; i++)
        o->member[i] = ax_mt_member_find(p, file_names[i]);
    if (o->member[F_PRIMARY] == NULL)
        o->member[F_PRIMARY] = ax_mt_member_find(p, "primary.idx");
    if (ax_mt_option(o->in.options, "primary_key", &n) == NULL)
        o->member[F_PRIMARY] = NULL;
    for (uint32_t i = 0; i < p->nmembers && at < F_CNT; i++)
    {
        const char *name = p->member[i].name, *dot = strrchr(name, '.');

        if (strncmp(name, "minmax_", 7) == 0 && dot != NULL && strcmp(dot, ".idx") == 0)
            o->member[at++] = &p->member[i];
    }
}

static ax_status open_files(ax_task *t, open_op *o, ax_fmt_event *ev)
{
    uint32_t n = 0;

    choose_files(o);
    AX_CHECK(t, o->member[F_COLUMNS] != NULL, AX_ECORRUPT, "part has no columns.txt");
    for (uint8_t i = 0; i < F_CNT; i++)
    {
        /* An empty part has empty files. */
        if (o->member[i] == NULL || (i >= F_PRIMARY && o->member[i]->size == 0))
            continue;
        o->open[n] = (ax_io_req){.kind = AX_IO_OPEN, .uri = o->member[i]->path};
        o->which[n++] = i;
    }
    ask(o, o->open, n, OPENING, ev);
    return AX_OK;
}

static ax_status read_opened(ax_task *t, open_op *o, uint8_t next, ax_fmt_event *ev)
{
    for (uint32_t i = 0; i < o->nreq; i++)
    {
        uint64_t size = ax_io_file_size(o->open[i].file);

        AX_CHECK(t, size <= MT_MAX_META_BYTES, AX_ELIMIT, "file \"%s\" is too large",
                 ax_io_file_name(o->open[i].file));
        o->req[i] = (ax_io_req){.kind = AX_IO_READ, .file = o->open[i].file, .len = size};
    }
    ask(o, o->req, o->nreq, next, ev);
    return AX_OK;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static ax_status in_file(ax_task *t, const open_op *o, const char *name, ax_status st)
{
    if (st != AX_OK)
    {
        const ax_mt_member *m = ax_mt_member_find(o->part, name);

        ax_note_file(t, m != NULL ? m->path : o->part->dir);
    }
    return st;
}

/* Every file that is listed must be there with its size; those that were read have their hash. */
static ax_status check_sums(ax_task *t, open_op *o)
{
    const ax_buf *b = o->buf[F_CHECKSUMS];
    const ax_mt_sum *sum;
    uint32_t i;

    if (b == NULL)
        return AX_OK;
    AX_TRY(ax_mt_checksums_parse(t, o->a, b->data, b->len, &o->sum, &o->nsums));
    sum = o->sum;
    for (i = 0; i < o->nsums; i++)
    {
        const ax_mt_member *m = ax_mt_member_find(o->part, sum[i].name);
        size_t len = strlen(sum[i].name);

        if (len > 5 && strcmp(sum[i].name + len - 5, ".proj") == 0)
            continue;
        AX_CHECK(t, m != NULL, AX_ECORRUPT, "file \"%s\" of the part is missing", sum[i].name);
        AX_CHECK(t, m->size == sum[i].size, AX_ECORRUPT,
                 "file \"%s\" has %llu bytes where checksums.txt says %llu", sum[i].name,
                 (unsigned long long) m->size, (unsigned long long) sum[i].size);
        for (uint32_t k = 0; k < F_CNT; k++)
            if (o->buf[k] != NULL && strcmp(o->member[k]->name, sum[i].name) == 0)
            {
                ax_mt_hash h = ax_mt_file_hash((ax_mt_hash){0, 0}, o->buf[k]->data,
                                               o->buf[k]->len);

                AX_CHECK(t, h.lo == sum[i].hash.lo && h.hi == sum[i].hash.hi, AX_ECORRUPT,
                         "file \"%s\" does not match its checksum", sum[i].name);
            }
    }
    return AX_OK;
}

/* Wide or Compact, by the extension of marks. */
static ax_status kind_of_part(ax_task *t, ax_mt_part *p)
{
    static const struct
    {
        const char *ext;
        bool compact, adaptive, compressed, columns;
    } kinds[] = {
        {".mrk", false, false, false, false}, {".cmrk", false, false, true, false},
        {".mrk2", false, true, false, false}, {".cmrk2", false, true, true, false},
        {".mrk3", true, true, false, true}, {".cmrk3", true, true, true, true},
        {".mrk4", true, true, false, false}, {".cmrk4", true, true, true, false},
    };

    for (uint32_t i = 0; i < p->nmembers; i++)
    {
        const char *dot = strrchr(p->member[i].name, '.');

        for (uint32_t k = 0; dot != NULL && k < sizeof kinds / sizeof kinds[0]; k++)
            if (strcmp(dot, kinds[k].ext) == 0)
            {
                p->marks_ext = kinds[k].ext;
                p->compact = kinds[k].compact;
                p->adaptive = kinds[k].adaptive;
                p->compressed_marks = kinds[k].compressed;
                p->marks_of_columns = kinds[k].columns;
                return AX_OK;
            }
        AX_CHECK(t, dot == NULL || strstr(dot, "mrk") == NULL, AX_EUNSUPPORTED,
                 "marks of kind \"%s\" are not known", dot);
    }
    p->marks_ext = "";
    return AX_OK;
}

static ax_status compact(ax_task *t, ax_mt_part *p)
{
    char name[24];

    p->data = ax_mt_member_find(p, "data.bin");
    snprintf(name, sizeof name, "data%s", p->marks_ext);
    p->data_marks = ax_mt_member_find(p, name);
    AX_CHECK(t, p->data != NULL && p->data_marks != NULL, AX_ECORRUPT,
             "part lacks data.bin or its marks");
    AX_CHECK(t, p->marks_of_columns || p->substream != NULL, AX_ECORRUPT,
             "part lacks columns_substreams.txt");
    p->marks_per_record = p->marks_of_columns ? p->ncolumns : p->substream_at[p->ncolumns];
    return AX_OK;
}

/* Rows of a part that has no count.txt (format version 0): the bytes of a stream that has as many
 * for each row. */
static ax_status count_rows(ax_task *t, open_op *o)
{
    ax_mt_part *p = o->part;

    for (uint32_t c = 0; c < p->ncolumns; c++)
    {
        const ax_mt_node *n = p->column[c].node;
        uint32_t width = n == NULL ? 0 : n->form == MT_F_FIXED ? n->type->width
                         : n->form == MT_F_NULLABLE ? 1 : 0;

        for (uint32_t i = 0; width > 0 && i < o->nsums; i++)
            if (o->sum[i].compressed &&
                strcmp(o->sum[i].name, p->stream[n->stream[0]].bin->name) == 0)
            {
                AX_CHECK(t, o->sum[i].plain_size % width == 0 &&
                                o->sum[i].plain_size / width <= INT64_MAX,
                         AX_ECORRUPT, "column \"%s\" has half a value", p->column[c].name);
                p->rows = (int64_t) (o->sum[i].plain_size / width);
                return AX_OK;
            }
    }
    return ax_fail(t, AX_ECORRUPT, "part has no count.txt, and no column that tells its rows");
}

static bool only_listed(const open_op *o)
{
    size_t n;

    return ax_mt_option(o->in.options, "checksums", &n) != NULL;
}

static ax_status parse(ax_task *t, open_op *o)
{
    ax_mt_part *p = o->part;
    ax_buf *const *b = o->buf;

    if (only_listed(o))
    {
        p->marks_ext = "";
        p->row_exists = -1;
        return AX_OK;
    }
    AX_TRY(in_file(t, o, "checksums.txt", check_sums(t, o)));
    AX_TRY(in_file(t, o, "columns.txt",
                   ax_mt_columns_parse(t, p, b[F_COLUMNS]->data, b[F_COLUMNS]->len)));
    AX_CHECK(t, b[F_COUNT] != NULL || ax_mt_old_name(p->name), AX_ECORRUPT,
             "part has no count.txt");
    if (b[F_COUNT] != NULL)
        AX_TRY(in_file(t, o, "count.txt", ax_mt_count_parse(t, b[F_COUNT]->data, b[F_COUNT]->len,
                                                            &p->rows)));
    if (b[F_SERIALIZATION] != NULL)
        AX_TRY(in_file(t, o, "serialization.json",
                       ax_mt_serinfo_parse(t, p->base.arena, b[F_SERIALIZATION]->data,
                                           b[F_SERIALIZATION]->len, &p->ser)));
    if (b[F_SUBSTREAMS] != NULL)
        AX_TRY(in_file(t, o, "columns_substreams.txt",
                       ax_mt_substreams_parse(t, p, b[F_SUBSTREAMS]->data, b[F_SUBSTREAMS]->len)));
    AX_TRY(kind_of_part(t, p));
    if (p->compact)
        AX_TRY(compact(t, p));
    if (p->marks_ext[0] != '\0')
        AX_TRY(ax_mt_streams_make(t, p));
    if (b[F_COUNT] == NULL)
        AX_TRY(count_rows(t, o));
    if (b[F_SOURCES] != NULL)
    {
        AX_TRY(in_file(t, o, "source_parts.dat",
                       ax_mt_sources_parse(t, p, b[F_SOURCES]->data, b[F_SOURCES]->len)));
        p->row_exists = -1; /* it tells of rows of other parts */
    }
    AX_TRY(ax_mt_mutations_apply(t, p));
    return ax_mt_schema_make(t, p);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A mark file that tells the rows of granules, or NULL. */
static const ax_mt_member *any_marks(const ax_mt_part *p)
{
    if (p->compact)
        return p->data_marks;
    for (uint32_t i = 0; i < p->nstreams; i++)
        if (p->stream[i].marks_file != NULL)
            return p->stream[i].marks_file;
    return NULL;
}

/* Primary index and bounds of partition columns. */
static ax_status load_keys(ax_task *t, open_op *o)
{
    ax_mt_part *p = o->part;
    size_t nkey;
    const char *key = ax_mt_option(o->in.options, "primary_key", &nkey);
    const ax_buf *b = o->buf[F_PRIMARY];

    if (b != NULL && p->source_key == NULL)
        AX_TRY(in_file(t, o, o->member[F_PRIMARY]->name,
                       ax_mt_keys_load(t, p, o->a, key, nkey, b->data, b->len,
                                       strcmp(o->member[F_PRIMARY]->name, "primary.cidx") == 0)));
    key = ax_mt_option(o->in.options, "partition_key", &nkey);
    b = o->buf[F_PARTITION];
    if (key != NULL)
        AX_TRY(in_file(t, o, "partition.dat",
                       ax_mt_partition_load(t, p, key, nkey, b != NULL ? b->data : NULL,
                                            b != NULL ? b->len : 0)));
    for (uint32_t i = F_MINMAX; i < F_CNT; i++)
        if (o->buf[i] != NULL)
            AX_TRY(in_file(t, o, o->member[i]->name,
                           ax_mt_minmax_load(t, p, o->member[i]->name, o->buf[i]->data,
                                             o->buf[i]->len)));
    return AX_OK;
}

static ax_status patches(ax_task *t, open_op *o, ax_fmt_event *ev)
{
    ax_mt_part *p = o->part;
    bool all = true;

    if (o->patches != NULL)
        AX_TRY(ax_mt_patches_step(t, o->patches, ev, &all));
    if (!all)
        return AX_OK;
    p->base.nrows = ax_mt_hides_rows(p) ? -1 : p->rows;
    o->state = OPENED;
    o->part = NULL;
    ev->step = AX_STEP_DONE;
    ev->file = &p->base;
    return AX_OK;
}

/* The part itself is known. */
static ax_status complete(ax_task *t, open_op *o, ax_fmt_event *ev)
{
    ax_mt_part *p = o->part;

    AX_CHECK(t, p->rows == 0 || p->ngran > 0, AX_ECORRUPT,
             "part has %lld rows and no marks", (long long) p->rows);
    if (!only_listed(o))
    {
        AX_TRY(load_keys(t, o));
        AX_TRY(ax_mt_skips_find(t, p));
    }
    AX_TRY(ax_mt_splits_make(t, p));
    if (!only_listed(o) && p->rows > 0)
        AX_TRY(ax_mt_patches_begin(t, o->a, p, o->in.meta_budget, &o->patches));
    o->state = PATCHES;
    return patches(t, o, ev);
}

static ax_status take_marks(ax_task *t, open_op *o)
{
    ax_mt_part *p = o->part;
    const ax_buf *b = o->req[0].buf;

    AX_CHECK(t, b != NULL, AX_EIO, "requested bytes were not delivered");
    /* Rows a granule are the table's setting; a part that does not fit is refused. */
    AX_TRY(ax_mt_granules(t, p, o->a, b->data, b->len, ax_mt_granularity(o->in.options)));
    return p->compact ? ax_mt_marks_load(t, p, o->a, NULL, b->data, b->len) : AX_OK;
}

static ax_status take_files(ax_task *t, open_op *o)
{
    for (uint32_t i = 0; i < o->nreq; i++)
    {
        AX_CHECK(t, o->req[i].done && o->req[i].buf != NULL, AX_EIO,
                 "requested bytes were not delivered");
        AX_CHECK(t, o->req[i].len < 64 || memcmp(o->req[i].buf->data, "ENC", 3) != 0,
                 AX_EUNSUPPORTED, "part is encrypted");
        o->buf[o->which[i]] = o->req[i].buf;
        o->req[i].buf = NULL;
        /* The version of checksums.txt, or else of columns.txt, stands for that of the part. */
        if (o->which[i] == F_CHECKSUMS || (o->which[i] == F_COLUMNS && o->part->base.io == NULL))
        {
            ax_io_file_unref(o->part->base.io);
            o->part->base.io = ax_io_file_ref(o->open[i].file);
        }
    }
    release(o);
    return AX_OK;
}

static ax_status step(ax_task *t, open_op *o, ax_fmt_event *ev)
{
    const ax_mt_member *marks;
    const char *told;
    size_t n;

    switch (o->state)
    {
        case LISTING:
            told = ax_mt_option(o->in.options, "file", &n);
            if (told != NULL)
            {
                AX_TRY(take_told(t, o, told));
                return open_files(t, o, ev);
            }
            if (!o->open[0].done)
            {
                o->open[0] = (ax_io_req){.kind = AX_IO_LIST, .uri = o->part->dir, .arena = o->a};
                ask(o, o->open, 1, LISTING, ev);
                return AX_OK;
            }
            AX_TRY(take_listing(t, o));
            return open_files(t, o, ev);
        case OPENING:
            return read_opened(t, o, READING, ev);
        case READING:
            AX_TRY(take_files(t, o));
            AX_TRY(parse(t, o));
            marks = any_marks(o->part);
            if (marks == NULL || marks->size == 0)
                return complete(t, o, ev);
            o->open[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = marks->path};
            ask(o, o->open, 1, MARKS_OPEN, ev);
            return AX_OK;
        case MARKS_OPEN:
            return read_opened(t, o, MARKS_READ, ev);
        case MARKS_READ:
            marks = any_marks(o->part);
            AX_TRY(in_file(t, o, marks->name, take_marks(t, o)));
            release(o);
            return complete(t, o, ev);
        default:
            return patches(t, o, ev);
    }
}

ax_status ax_mt_open_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    open_op *o = (open_op *) op;
    ax_status st = step(t, o, ev);

    if (st != AX_OK)
        ax_note_file(t, o->in.uri);
    return st;
}
