/* axq: look into files with the engine alone, without a server.
 *
 *   axq count FILE           decode every column of every row and print the number of rows
 *   axq schema FILE          columns: name, declared type, type in the file, why it is refused
 *   axq meta FILE            splits and what statistics say
 *   axq cat FILE [COLUMN...] rows as text, tab-separated as COPY writes them; lists as JSON
 *   axq time FILE [COLUMN...] decode each column alone and print its speed
 *
 * FILE may be a directory: a MergeTree part, or a table, whose parts come one behind the other.
 *
 * COLUMN is a name, or NAME:TYPE to declare another type than the file suggests.
 *
 * Exit status 0; 1 when a file is refused, with the reason on standard error; 2 for wrong usage. */
#include "base/task.h"
#include "lake/lake.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MEMORY_BYTES = 1400 << 20, HEAD_BYTES = 16 };

typedef struct tool
{
    ax_budget budget;
    ax_task t;
    ax_io *io;
    ax_io_file *file;
    ax_fmt_file *f;
    const ax_colspec *col;  /* [ncols] one for each column to read */
    uint32_t ncols;
    uint64_t rows, total;
    ax_scan_stats stats;
} tool;

/* ---- values as text -------------------------------------------------------------------------- */

static void put_date(int64_t days)
{
    /* Days since 2000-01-01 to the proleptic Gregorian calendar. */
    int64_t z = days + 730425, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    int64_t y = yoe + era * 400 + (m <= 2);

    printf("%04" PRId64 "-%02d-%02d%s", y > 0 ? y : 1 - y, (int) m, (int) d, y > 0 ? "" : " BC");
}

static void put_time(int64_t us)
{
    int64_t s = us / 1000000, frac = us % 1000000;

    printf("%02d:%02d:%02d", (int) (s / 3600), (int) (s / 60 % 60), (int) (s % 60));
    if (frac > 0)
    {
        char buf[16];
        size_t n = (size_t) snprintf(buf, sizeof buf, ".%06d", (int) frac);

        while (buf[n - 1] == '0')
            buf[--n] = '\0';
        fputs(buf, stdout);
    }
}

static void put_timestamp(int64_t us, bool utc)
{
    int64_t day = 86400000000, d = us / day - (us % day < 0);

    put_date(d);
    putchar(' ');
    put_time(us - d * day);
    if (utc)
        fputs("+00", stdout);
}

static void put_float(double v, int from, int to)
{
    char buf[40];
    int p;

    if (isnan(v) || isinf(v))
    {
        fputs(isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity", stdout);
        return;
    }
    for (p = from; p <= to; p++)
    {
        snprintf(buf, sizeof buf, "%.*g", p, v);
        if (to == 9 ? strtof(buf, NULL) == (float) v : strtod(buf, NULL) == v)
            break;
    }
    fputs(buf, stdout);
}

static void put_num(const ax_num *n)
{
    char buf[1100];
    int at = sizeof buf - 1, digits = 0;
    ax_u128 v = n->v < 0 ? (ax_u128) 0 - (ax_u128) n->v : (ax_u128) n->v;

    if (n->special != AX_NUM_FINITE)
    {
        static const char *const names[] = {"", "-Infinity", "Infinity", "NaN"};

        fputs(names[n->special & 3], stdout);
        return;
    }
    buf[at] = '\0';
    do
    {
        buf[--at] = (char) ('0' + (int) (v % 10));
        v /= 10;
        if (++digits == n->dscale)
            buf[--at] = '.';
    } while (at > 2 && (v != 0 || digits <= n->dscale));
    printf("%s%s", n->v < 0 ? "-" : "", buf + at);
}

static void put_text(const uint8_t *p, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++)
    {
        switch (p[i])
        {
            case '\t': fputs("\\t", stdout); break;
            case '\n': fputs("\\n", stdout); break;
            case '\r': fputs("\\r", stdout); break;
            case '\\': fputs("\\\\", stdout); break;
            default: putchar(p[i]);
        }
    }
}

static void put_hex(const uint8_t *p, uint32_t n)
{
    uint32_t i;

    fputs("\\\\x", stdout);
    for (i = 0; i < n; i++)
        printf("%02x", p[i]);
}

static void put_uuid(const uint8_t *p)
{
    uint32_t i;

    for (i = 0; i < 16; i++)
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i]);
}

static void put_value(const ax_value *v)
{
    if (v->null)
    {
        fputs("\\N", stdout);
        return;
    }
    switch (v->type.id)
    {
        case AX_T_BOOL: putchar(v->u.i ? 't' : 'f'); break;
        case AX_T_DATE: put_date(v->u.i); break;
        case AX_T_TIME: put_time(v->u.i); break;
        case AX_T_TIMESTAMP: put_timestamp(v->u.i, false); break;
        case AX_T_TIMESTAMPTZ: put_timestamp(v->u.i, true); break;
        case AX_T_FLOAT4: put_float(v->u.f, 6, 9); break;
        case AX_T_FLOAT8: put_float(v->u.f, 15, 17); break;
        case AX_T_NUMERIC: put_num(&v->u.num); break;
        case AX_T_BYTEA: put_hex(v->u.s.p, v->u.s.len); break;
        case AX_T_UUID: put_uuid(v->u.fix); break;
        case AX_T_INTERVAL:
            printf("%d mons %d days %" PRId64 " us", v->u.iv.months, v->u.iv.days, v->u.iv.usec);
            break;
        default:
            if (ax_type_is_str(v->type) || v->type.phys == AX_P_DOC)
                put_text(v->u.s.p, v->u.s.len);
            else
                printf("%" PRId64, v->u.i);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static ax_status open_with(tool *o, const ax_format *fmt, const char *path)
{
    ax_fmt_input in = {.file = o->file, .uri = path, .meta_budget = &o->budget};
    ax_fmt_event ev;
    ax_fmt_op *op;

    AX_TRY(fmt->open_begin(&o->t, o->t.arena, &in, &op));
    AX_TRY(ax_fmt_drive(&o->t, o->io, fmt, op, NULL, NULL, &ev));
    o->f = ev.file;
    return AX_OK;
}

static ax_status open_file(tool *o, const char *path)
{
    uint8_t head[HEAD_BYTES] = {0}, tail[HEAD_BYTES] = {0};
    uint64_t size, n;
    const ax_format *fmt;

    AX_TRY(ax_io_open(&o->t, o->io, path, &o->file));
    size = ax_io_file_size(o->file);
    n = size < HEAD_BYTES ? size : HEAD_BYTES;
    if (n > 0)
    {
        ax_buf *b = NULL;

        AX_TRY(ax_io_read(&o->t, o->io, o->file, 0, n, &b));
        memcpy(head, b->data, (size_t) n);
        ax_buf_unref(b);
        AX_TRY(ax_io_read(&o->t, o->io, o->file, size - n, n, &b));
        memcpy(tail, b->data, (size_t) n);
        ax_buf_unref(b);
    }
    fmt = ax_format_guess(path, head, (size_t) n, tail, (size_t) n);
    AX_CHECK(&o->t, fmt != NULL, AX_ECORRUPT, "file \"%s\" has no known format", path);
    return open_with(o, fmt, path);
}

/* The parts of a directory. */
static ax_status find_parts(tool *o, const char *path, ax_lake_event *ev)
{
    const ax_lake_spec spec = {.path = &path, .npaths = 1,
                               .format = ax_format_find("mergetree")};
    ax_lake_op *op;
    ax_io_ready ready;
    ax_status st;

    AX_TRY(ax_lake_begin(&o->t, o->t.arena, &spec, &op));
    do
    {
        memset(ev, 0, sizeof *ev);
        st = ax_lake_step(&o->t, op, ev);
        if (st == AX_OK && ev->step == AX_STEP_NEED)
            st = ax_io_fetch(&o->t, o->io, &ev->need, NULL, &ready);
    } while (st == AX_OK && ev->step == AX_STEP_NEED);
    ax_lake_end(op);
    return st;
}

/* "name:type": the length of the name, and the type; a name may have colons of its own. */
static size_t split_name(const char *arg, ax_type *type)
{
    const char *colon = strrchr(arg, ':');
    int id;

    type->id = AX_T_NONE;
    for (id = AX_T_NONE + 1; colon != NULL && id < AX_T_CNT; id++)
        if (strcmp(ax_type_name((ax_type_id) id), colon + 1) == 0)
        {
            *type = ax_type_make((ax_type_id) id);
            return (size_t) (colon - arg);
        }
    return strlen(arg);
}

/* One declared column for each field of the file, or for the names given.  lists: those of scalars
 * as such, not as JSON. */
static ax_status declare(tool *o, int argc, char **argv, bool lists)
{
    const ax_schema *s = &o->f->schema;
    ax_colspec *col;
    uint32_t i, k;

    o->ncols = argc > 0 ? (uint32_t) argc : s->n;
    AX_NEW(&o->t, col,
           (ax_colspec *) ax_arena_alloc0(o->t.arena, (o->ncols + 1) * sizeof *col));
    for (i = 0; i < o->ncols; i++)
    {
        ax_type type = {0};
        size_t n = argc > 0 ? split_name(argv[i], &type) : 0;

        for (k = argc > 0 ? 0 : i; k < s->n; k++)
            if (argc == 0 ||
                (strlen(s->field[k].name) == n && memcmp(s->field[k].name, argv[i], n) == 0))
                break;
        AX_CHECK(&o->t, k < s->n, AX_ENOCOLUMN, "column \"%s\" does not exist", argv[i]);
        if (s->field[k].refusal != NULL)
        {
            ax_status st = ax_fail(&o->t, AX_EUNSUPPORTED, "column of type %s cannot be read: %s",
                                   s->field[k].source_type, s->field[k].refusal);

            ax_note_column(&o->t, s->field[k].name);
            return st;
        }
        col[i].name = s->field[k].name;
        col[i].field_id = -1;
        col[i].position = k;
        col[i].type = type.id != AX_T_NONE ? type : s->field[k].type;
        if (!lists && col[i].type.id == AX_T_LIST)
            col[i].type = ax_type_make(AX_T_JSONB);
    }
    o->col = col;
    return AX_OK;
}

static ax_status on_count(ax_task *t, void *arg, ax_batch *b)
{
    (void) t;
    ((tool *) arg)->rows += b->nsel;
    return AX_OK;
}

static ax_status on_print(ax_task *t, void *arg, ax_batch *b)
{
    uint32_t i, c;

    (void) t;
    ((tool *) arg)->rows += b->nsel;
    for (i = 0; i < b->nsel; i++)
    {
        uint32_t row = b->sel != NULL ? b->sel[i] : i;

        for (c = 0; c < b->ncols; c++)
        {
            ax_value v = ax_vec_value(&b->col[c], row);

            if (c > 0)
                putchar('\t');
            put_value(&v);
        }
        putchar('\n');
    }
    return AX_OK;
}

/* Scan all splits. */
static ax_status scan(tool *o, ax_arena *a, ax_status (*on_batch)(ax_task *, void *, ax_batch *))
{
    /* Columns are taken as they stand, so that two of one name are no obstacle. */
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_fmt_bind *bind;
    uint32_t *columns, i;

    AX_NEW(&o->t, columns, (uint32_t *) ax_arena_alloc(a, (o->ncols + 1) * sizeof *columns));
    for (i = 0; i < o->ncols; i++)
        columns[i] = i;
    AX_TRY(o->f->format->bind(&o->t, a, o->f, o->col, o->ncols, &opts, &bind));
    for (i = 0; i < o->f->nsplits; i++)
    {
        ax_scan_req req = {.bind = bind, .split = i, .split_id = i, .columns = columns,
                           .ncolumns = o->ncols, .allow = AX_ALLOW_ALL, .stats = &o->stats,
                           .budget = &o->budget};
        ax_arena *sa = ax_arena_create(&o->budget, 0);
        ax_fmt_op *op;
        ax_status st;

        if (sa == NULL)
            return ax_fail_nomem(&o->t, 0);
        st = o->f->format->scan_begin(&o->t, sa, &req, &op);
        if (st == AX_OK)
            st = ax_fmt_drive(&o->t, o->io, o->f->format, op, on_batch, o, NULL);
        ax_arena_destroy(sa);
        AX_TRY(st);
    }
    return AX_OK;
}

/* ---- commands -------------------------------------------------------------------------------- */

static ax_status cmd_count(tool *o)
{
    AX_TRY(declare(o, 0, NULL, true));
    AX_TRY(scan(o, o->t.arena, on_count));
    /* A file without columns has rows all the same. */
    if (o->f->nsplits == 0)
        o->rows = (uint64_t) o->f->nrows;
    AX_CHECK(&o->t, o->f->nrows < 0 || o->rows == (uint64_t) o->f->nrows, AX_ECORRUPT,
             "file has %" PRIu64 " rows where its metadata says %" PRId64, o->rows, o->f->nrows);
    o->total += o->rows;
    return AX_OK;
}

static void print_type(ax_type t)
{
    printf("%s", t.id == AX_T_NONE ? "-" : ax_type_name((ax_type_id) t.id));
    if (t.id == AX_T_NUMERIC && t.precision > 0)
        printf("(%d,%d)", t.precision, t.scale);
}

static void print_fields(const ax_field *f, uint32_t n, int depth)
{
    uint32_t i;

    for (i = 0; i < n; i++)
    {
        printf("%*s%s\t", depth * 2, "", f[i].name);
        print_type(f[i].type);
        printf("%s\t%s", f[i].nullable ? "" : " not null", f[i].source_type);
        if (f[i].field_id >= 0)
            printf("\tid %d", (int) f[i].field_id);
        printf(f[i].refusal != NULL ? "\trefused: %s\n" : "\n", f[i].refusal);
        print_fields(f[i].child, f[i].nchild, depth + 1);
    }
}

static ax_status cmd_meta(tool *o)
{
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_colspec *col;
    uint32_t i, k;

    printf("format %s, %" PRId64 " rows, %u splits, %u columns\n", o->f->format->name,
           o->f->nrows, o->f->nsplits, o->f->schema.n);
    AX_NEW(&o->t, col,
           (ax_colspec *) ax_arena_alloc0(o->t.arena, (o->f->schema.n + 1) * sizeof *col));
    for (k = 0; k < o->f->schema.n; k++)
        if (o->f->schema.field[k].refusal == NULL)
        {
            col[o->ncols].name = o->f->schema.field[k].name;
            col[o->ncols].position = k;
            col[o->ncols++].type = o->f->schema.field[k].type;
        }
    for (i = 0; i < o->f->nsplits; i++)
    {
        ax_fmt_bind *bind;
        ax_split s;

        AX_TRY(o->f->format->bind(&o->t, o->t.arena, o->f, col, o->ncols, &opts, &bind));
        o->f->format->split(o->f, i, &s);
        printf("%s %u: %" PRId64 " rows, %" PRId64 " bytes\n", s.unit, i, s.nrows, s.bytes);
        for (k = 0; k < o->ncols; k++)
        {
            ax_bounds b;

            if (!o->f->format->bounds(bind, i, k, &b))
                continue;
            printf("  %s: nulls %" PRId64, col[k].name, b.nulls);
            if (b.has_min)
            {
                printf(", min%s ", b.min_exact ? "" : " >=");
                put_value(&b.min);
            }
            if (b.has_max)
            {
                printf(", max%s ", b.max_exact ? "" : " <=");
                put_value(&b.max);
            }
            printf("\n");
        }
    }
    return AX_OK;
}

/* Of this thread's processor time: others may use the machine. */
static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static ax_status cmd_time(tool *o, int argc, char **argv)
{
    uint32_t n, i;
    const ax_colspec *col;

    AX_TRY(declare(o, argc, argv, true));
    n = o->ncols;
    col = o->col;
    for (i = 0; i < n; i++)
    {
        double t0 = seconds(), t1;

        o->col = &col[i];
        o->ncols = 1;
        o->rows = 0;
        memset(&o->stats, 0, sizeof o->stats);
        AX_TRY(scan(o, o->t.arena, on_count));
        t1 = seconds();
        printf("%-24s %8.2f ms %7.2f ns/row %7.3f GB/s out, %" PRIu64 " pages\n", col[i].name,
               (t1 - t0) * 1e3, (t1 - t0) * 1e9 / (double) (o->rows + !o->rows),
               (double) o->stats.bytes_decompressed / (t1 - t0) * 1e-9, o->stats.pages);
    }
    return AX_OK;
}

static int usage(void)
{
    fprintf(stderr, "usage: axq count|schema|meta|cat|time FILE [COLUMN...]\n");
    return 2;
}

/* One opened file. */
static ax_status command(tool *o, int argc, char **argv)
{
    o->rows = 0;
    if (strcmp(argv[1], "count") == 0)
        return cmd_count(o);
    if (strcmp(argv[1], "meta") == 0)
        return cmd_meta(o);
    if (strcmp(argv[1], "time") == 0)
        return cmd_time(o, argc - 3, argv + 3);
    if (strcmp(argv[1], "schema") == 0)
    {
        print_fields(o->f->schema.field, o->f->schema.n, 0);
        return AX_OK;
    }
    AX_TRY(declare(o, argc - 3, argv + 3, strcmp(argv[1], "cat") != 0));
    return scan(o, o->t.arena, on_print);
}

static ax_status all_files(tool *o, int argc, char **argv)
{
    ax_lake_event found;
    bool is_dir = false;
    ax_io_id id;

    AX_TRY(ax_io_stat(&o->t, o->io, argv[2], &id, &is_dir));
    if (!is_dir)
    {
        AX_TRY(open_file(o, argv[2]));
        AX_TRY(command(o, argc, argv));
    }
    else
    {
        AX_TRY(find_parts(o, argv[2], &found));
        for (uint32_t i = 0; i < found.nfiles; i++)
        {
            AX_TRY(open_with(o, ax_format_find("mergetree"), found.file[i].path));
            AX_TRY(command(o, argc, argv));
            ax_fmt_file_unref(o->f);
            o->f = NULL;
        }
    }
    if (strcmp(argv[1], "count") == 0)
        printf("%" PRIu64 "\n", o->total);
    return AX_OK;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"count", "schema", "meta", "cat", "time", NULL};
    tool o = {0};
    char msg[1400];
    ax_status st;
    int i;

    for (i = 0; argc >= 3 && names[i] != NULL && strcmp(names[i], argv[1]) != 0; i++)
        ;
    if (argc < 3 || names[i] == NULL)
        return usage();
    ax_budget_init(&o.budget, "axq", MEMORY_BYTES, NULL);
    if (ax_task_init(&o.t, &o.budget, NULL) != AX_OK || ax_io_create(&o.io, 16) != AX_OK)
    {
        fprintf(stderr, "axq: out of memory\n");
        return 1;
    }
    st = all_files(&o, argc, argv);
    fflush(stdout);
    if (st != AX_OK)
    {
        ax_note_file(&o.t, argv[2]);
        ax_error_format(&o.t.err, msg, sizeof msg);
        fprintf(stderr, "axq: %s: %s\n", ax_status_name(st), msg);
    }
    ax_fmt_file_unref(o.f);
    ax_io_file_unref(o.file);
    ax_task_fini(&o.t);
    ax_io_destroy(o.io);
    return st == AX_OK ? 0 : 1;
}
