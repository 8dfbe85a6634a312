/* What is in parts, as tables: one row a part, a column, a mark of a stream, a file.
 *
 *      parts      from memory
 *      columns    checksums.txt, for sizes after decompression
 *      marks      mark files of streams that nobody has loaded, one after the other
 *      check      checksums.txt, and then every file that it lists, piece by piece
 *
 * Columns are named after those of ClickHouse's system.parts, system.parts_columns and of its
 * function mergeTreeIndex.
 *
 * Format: mergetree.md, "Files of a part", "Marks". */
#include "base/utf8.h"
#include "mergetree_int.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows of a batch, and bytes that are hashed at once: whole blocks of a file's hash. */
enum { BATCH = 128, MAX_COLS = 12, PIECE = 128 * 2048 };

/* ---- the tables ------------------------------------------------------------------------------ */

static const ax_fact_col part_cols[] = {
    {"name", AX_T_TEXT},          {"part_type", AX_T_TEXT},        {"partition_id", AX_T_TEXT},
    {"min_block_number", AX_T_INT8}, {"max_block_number", AX_T_INT8}, {"level", AX_T_INT8},
    {"data_version", AX_T_INT8},  {"marks", AX_T_INT8},            {"rows", AX_T_INT8},
    {"columns", AX_T_INT8},       {"files", AX_T_INT8},            {"bytes_on_disk", AX_T_INT8},
};
static const ax_fact_col column_cols[] = {
    {"column", AX_T_TEXT},
    {"type", AX_T_TEXT},
    {"column_position", AX_T_INT8},
    {"serialization_kind", AX_T_TEXT},
    {"substreams", AX_T_TEXT},
    {"column_bytes_on_disk", AX_T_INT8},
    {"column_data_compressed_bytes", AX_T_INT8},
    {"column_data_uncompressed_bytes", AX_T_INT8},
    {"column_marks_bytes", AX_T_INT8},
    {"note", AX_T_TEXT},
};
static const ax_fact_col mark_cols[] = {
    {"column", AX_T_TEXT},
    {"substream", AX_T_TEXT},
    {"mark_number", AX_T_INT8},
    {"rows_in_granule", AX_T_INT8},
    {"offset_in_compressed_file", AX_T_INT8},
    {"offset_in_decompressed_block", AX_T_INT8},
};
static const ax_fact_col check_cols[] = {
    {"file", AX_T_TEXT}, {"ok", AX_T_BOOL}, {"message", AX_T_TEXT},
};

enum { FACT_PARTS, FACT_COLUMNS, FACT_MARKS, FACT_CHECK };

#define COLS(a) a, sizeof(a) / sizeof(a)[0]
const ax_fact_table ax_mt_fact_table[MT_NFACTS] = {
    [FACT_PARTS] = {"parts", COLS(part_cols)},
    [FACT_COLUMNS] = {"columns", COLS(column_cols)},
    [FACT_MARKS] = {"marks", COLS(mark_cols)},
    [FACT_CHECK] = {"check", COLS(check_cols)},
};

typedef struct facts_op
{
    ax_mt_op op;
    ax_arena *a;                  /* of the operation */
    ax_mt_part *p;                /* borrowed; marks are published in it */
    uint32_t table;
    uint32_t row, gran;           /* next column (PARTS: part, CHECK: sum); MARKS: next granule */
    uint32_t stream;              /* MARKS: next stream */
    ax_io_req req;                /* the file that is read: an owned reference, and its bytes */
    ax_io_file *file;
    uint64_t at;                  /* CHECK: bytes hashed of it */
    ax_mt_hash hash;
    bool summed;                  /* checksums.txt was read, or is not there */
    ax_mt_sum *sum;               /* [nsums] */
    uint32_t nsums;
    ax_value cell[BATCH * MAX_COLS];
    ax_batch batch;
} facts_op;

/* ---- cells ----------------------------------------------------------------------------------- */

/* Names in a part may be any bytes; those that are no text are shown in hex. */
static ax_status name(ax_task *t, const char *s, ax_value *out)
{
    const uint8_t *p = (const uint8_t *) s;
    uint32_t n = (uint32_t) strlen(s), at = 0, k;
    char *shown;
    size_t len = 0;

    ax_fact_word(out, s);
    while (at < n && (k = ax_utf8_len(p + at, n - at)) > 0)
        at += k;
    if (at == n)
        return AX_OK;
    AX_NEW(t, shown, (char *) ax_arena_alloc(t->arena, 4 * (size_t) n + 1));
    for (at = 0; at < n; at += k)
    {
        k = ax_utf8_len(p + at, n - at);
        if (k > 0)
            memcpy(shown + len, p + at, k);
        else
            snprintf(shown + len, 5, "\\x%02X", p[at]);
        len += k > 0 ? k : 4;
        k = k > 0 ? k : 1;
    }
    shown[len] = '\0';
    ax_fact_word(out, shown);
    return AX_OK;
}

/* Row n of the batch, with nothing in it. */
static ax_value *row_of(facts_op *o, uint32_t n)
{
    const ax_fact_table *table = &ax_mt_fact_table[o->table];
    ax_value *cell = o->cell + (size_t) n * table->ncols;

    ax_facts_nulls(cell, table);
    return cell;
}

static ax_status give(ax_task *t, facts_op *o, uint32_t n, ax_fmt_event *ev)
{
    if (n == 0)
    {
        ev->step = AX_STEP_DONE;
        return AX_OK;
    }
    AX_TRY(ax_facts_batch(t, t->arena, &ax_mt_fact_table[o->table], o->cell, n, &o->batch));
    ev->step = AX_STEP_BATCH;
    ev->batch = &o->batch;
    return AX_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void forget(facts_op *o)
{
    if (o->req.kind == AX_IO_OPEN)
        ax_io_file_unref(o->req.file);
    else
        ax_buf_unref(o->req.buf);
    ax_io_file_unref(o->file);
    o->file = NULL;
    memset(&o->req, 0, sizeof o->req);
    o->at = 0;
    o->hash = (ax_mt_hash){0, 0};
}

static void need(facts_op *o, ax_fmt_event *ev)
{
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){&o->req, 1};
}

/* The next bytes of a file, at most `most`; *buf is NULL while they are on their way. */
static ax_status bytes_of(ax_task *t, facts_op *o, const ax_mt_member *m, uint64_t most,
                          const ax_buf **buf, ax_fmt_event *ev)
{
    uint64_t left;

    *buf = NULL;
    if (o->file == NULL && !o->req.done)
    {
        o->req = (ax_io_req){.kind = AX_IO_OPEN, .uri = m->path};
        need(o, ev);
        return AX_OK;
    }
    if (o->file == NULL)
    {
        o->file = o->req.file;
        memset(&o->req, 0, sizeof o->req);
        AX_CHECK(t, o->file != NULL && ax_io_file_size(o->file) == m->size, AX_ECHANGED,
                 "file \"%s\" was changed", m->name);
    }
    if (!o->req.done)
    {
        left = m->size - o->at;
        o->req = (ax_io_req){.kind = AX_IO_READ, .file = o->file, .off = o->at,
                             .len = left < most ? left : most};
        need(o, ev);
        return AX_OK;
    }
    AX_CHECK(t, o->req.buf != NULL, AX_EIO, "requested bytes were not delivered");
    *buf = o->req.buf;
    return AX_OK;
}

/* Read checksums.txt; done when o->summed. */
static ax_status read_sums(ax_task *t, facts_op *o, ax_fmt_event *ev)
{
    const ax_mt_member *m = ax_mt_member_find(o->p, "checksums.txt");
    const ax_buf *b;

    if (m == NULL || m->size == 0)
    {
        o->summed = true;
        return AX_OK;
    }
    AX_CHECK(t, m->size <= MT_MAX_META_BYTES, AX_ELIMIT, "file \"%s\" is too large", m->path);
    AX_TRY(bytes_of(t, o, m, m->size, &b, ev));
    if (b == NULL)
        return AX_OK;
    AX_TRY(ax_mt_checksums_parse(t, o->a, b->data, b->len, &o->sum, &o->nsums));
    forget(o);
    o->summed = true;
    return AX_OK;
}

static const ax_mt_sum *sum_of(const facts_op *o, const char *file)
{
    for (uint32_t lo = 0, hi = o->nsums; lo < hi;)
    {
        uint32_t mid = lo + (hi - lo) / 2;
        int cmp = strcmp(o->sum[mid].name, file);

        if (cmp == 0)
            return &o->sum[mid];
        if (cmp < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* The numbers behind the partition in a part's name; -1: it has no such number.  false: the name is
 * none of a part. */
static bool name_numbers(const char *s, size_t *partition, int64_t num[4])
{
    uint32_t n = 0;

    *partition = ax_mt_old_name(s) && strlen(s) > 18 ? 17 : strcspn(s, "_");
    num[0] = num[1] = num[2] = num[3] = -1;
    for (s += *partition; *s == '_' && n < 4; n++)
    {
        if (s[1] < '0' || s[1] > '9' || strspn(s + 1, "0123456789") > 18)
            return false;
        num[n] = strtoll(s + 1, (char **) &s, 10);
    }
    return *s == '\0' && n >= 3 && *partition > 0;
}

static ax_status part_row(ax_task *t, facts_op *o, ax_value *c)
{
    const ax_mt_part *p = o->p;
    const char *type = p->marks_ext[0] == '\0' ? NULL : p->compact ? "Compact" : "Wide";
    int64_t num[4];
    size_t len;
    bool known = name_numbers(p->name, &len, num);
    char *id;

    AX_TRY(name(t, p->name, &c[0]));
    ax_fact_word(&c[1], type);
    /* Old names begin with dates, and partitions are months. */
    if (known)
    {
        AX_NEW(t, id, ax_arena_strndup(t->arena, p->name, ax_mt_old_name(p->name) ? 6 : len));
        AX_TRY(name(t, id, &c[2]));
    }
    for (uint32_t i = 0; known && i < 3; i++)
        ax_fact_int(&c[3 + i], num[i]);
    if (known)
        ax_fact_int(&c[6], num[3] >= 0 ? num[3] : num[0]);
    ax_fact_int(&c[7], p->ngran);
    ax_fact_int(&c[8], p->rows);
    ax_fact_int(&c[9], p->ncolumns);
    ax_fact_int(&c[10], p->nmembers);
    ax_fact_int(&c[11], (int64_t) p->bytes);
    return AX_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Names of a column's streams, separated by commas. */
static ax_status streams_of(ax_task *t, const ax_mt_part *p, const ax_mt_column *col, ax_value *out)
{
    size_t n = 1;
    char *s, *at;

    for (uint32_t i = 0; i < col->nstreams; i++)
        n += strlen(p->stream[col->stream0 + i].name) + 2;
    AX_NEW(t, s, (char *) ax_arena_alloc(t->arena, n));
    at = s;
    *at = '\0';
    for (uint32_t i = 0; i < col->nstreams; i++)
    {
        at = stpcpy(at, i > 0 ? ", " : "");
        at = stpcpy(at, p->stream[col->stream0 + i].name);
    }
    return name(t, s, out);
}

/* A column of a Wide part has files of its own. */
static void sizes_of(const facts_op *o, const ax_mt_column *col, ax_value *c)
{
    uint64_t plain = 0, marks = 0;
    bool told = true;

    for (uint32_t i = 0; i < col->nstreams; i++)
    {
        const ax_mt_stream *s = &o->p->stream[col->stream0 + i];
        const ax_mt_sum *sum = sum_of(o, s->bin->name);

        told = told && sum != NULL && sum->compressed;
        plain += told ? sum->plain_size : 0;
        marks += s->marks_file != NULL ? s->marks_file->size : 0;
    }
    ax_fact_int(&c[0], (int64_t) (col->bytes + marks));
    ax_fact_int(&c[1], (int64_t) col->bytes);
    if (told)
        ax_fact_int(&c[2], (int64_t) plain);
    ax_fact_int(&c[3], (int64_t) marks);
}

static ax_status column_row(ax_task *t, facts_op *o, ax_value *c)
{
    const ax_mt_column *col = &o->p->column[o->row];
    bool sparse = col->node != NULL && col->node->form == MT_F_SPARSE;

    AX_TRY(name(t, col->name, &c[0]));
    AX_TRY(name(t, col->type->text, &c[1]));
    ax_fact_int(&c[2], o->row + 1);
    ax_fact_word(&c[3], col->node == NULL ? NULL : sparse ? "Sparse" : "Default");
    AX_TRY(streams_of(t, o->p, col, &c[4]));
    if (!o->p->compact && col->nstreams > 0)
        sizes_of(o, col, c + 5);
    if (col->refusal != NULL)
        return name(t, col->refusal, &c[9]);
    ax_fact_word(&c[9], col->dropped ? "dropped by a mutation" : NULL);
    return AX_OK;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* The marks of the next stream that has some, or NULL: they are on their way, or there is none. */
static ax_status next_marks(ax_task *t, facts_op *o, const ax_mt_marks **out, ax_fmt_event *ev)
{
    ax_mt_part *p = o->p;
    const ax_buf *b;
    ax_status st;

    *out = NULL;
    while (o->row < p->ncolumns)
    {
        const ax_mt_column *col = &p->column[o->row];
        ax_mt_stream *s;

        if (o->stream < col->stream0)
            o->stream = col->stream0;
        if (o->stream >= col->stream0 + col->nstreams)
        {
            o->row++;
            continue;
        }
        s = &p->stream[o->stream];
        *out = ax_mt_marks_of(s);
        if (*out == NULL && !p->compact && s->marks_file != NULL && s->marks_file->size > 0)
        {
            AX_CHECK(t, s->marks_file->size <= MT_MAX_META_BYTES, AX_ELIMIT,
                     "file \"%s\" is too large", s->marks_file->path);
            AX_TRY(bytes_of(t, o, s->marks_file, s->marks_file->size, &b, ev));
            if (b == NULL)
                return AX_OK;
            st = ax_mt_marks_load(t, p, t->arena, s, b->data, b->len);
            if (st != AX_OK)
            {
                ax_note_file(t, s->marks_file->path);
                return st;
            }
            forget(o);
            *out = ax_mt_marks_of(s);
        }
        if (*out != NULL && o->gran < p->ngran)
            return AX_OK;
        *out = NULL;
        o->stream++;
        o->gran = 0;
    }
    return AX_OK;
}

static ax_status marks_step(ax_task *t, facts_op *o, ax_fmt_event *ev)
{
    const ax_mt_marks *m;
    uint32_t n = 0;
    ax_value column, stream;

    AX_TRY(next_marks(t, o, &m, ev));
    if (m == NULL)
        return ev->step == AX_STEP_NEED && ev->need.n > 0 ? AX_OK : give(t, o, 0, ev);
    AX_TRY(name(t, o->p->column[o->row].name, &column));
    AX_TRY(name(t, o->p->stream[o->stream].name, &stream));
    for (; n < BATCH && o->gran < o->p->ngran; n++, o->gran++)
    {
        ax_value *c = row_of(o, n);

        c[0] = column;
        c[1] = stream;
        ax_fact_int(&c[2], o->gran);
        ax_fact_int(&c[3], (int64_t) (o->p->row_at[o->gran + 1] - o->p->row_at[o->gran]));
        ax_fact_int(&c[4], (int64_t) m->off[o->gran]);
        ax_fact_int(&c[5], m->at[o->gran]);
    }
    return give(t, o, n, ev);
}

/* ---- check ----------------------------------------------------------------------------------- */

static ax_status verdict(ax_task *t, facts_op *o, const char *file, const char *message,
                         ax_fmt_event *ev)
{
    ax_value *c = row_of(o, 0);

    AX_TRY(name(t, file, &c[0]));
    ax_fact_int(&c[1], message == NULL);
    ax_fact_word(&c[2], message);
    forget(o);
    o->row++;
    return give(t, o, 1, ev);
}

/* Projections are directories, which have checksums of their own. */
static bool is_projection(const char *file)
{
    size_t len = strlen(file);

    return len > 5 && strcmp(file + len - 5, ".proj") == 0;
}

static ax_status check_step(ax_task *t, facts_op *o, ax_fmt_event *ev)
{
    const ax_mt_sum *sum;
    const ax_mt_member *m;
    const ax_buf *b;
    char *message;

    if (o->sum == NULL && o->row == 0)
        return verdict(t, o, "checksums.txt",
                       ax_mt_member_find(o->p, "checksums.txt") != NULL
                           ? "it has no checksums" : "the part has no such file", ev);
    while (o->row < o->nsums && is_projection(o->sum[o->row].name))
        o->row++;
    if (o->row >= o->nsums)
        return give(t, o, 0, ev);
    sum = &o->sum[o->row];
    m = ax_mt_member_find(o->p, sum->name);
    if (m == NULL)
        return verdict(t, o, sum->name, "the file is missing", ev);
    if (m->size != sum->size)
    {
        AX_NEW(t, message, (char *) ax_arena_alloc(t->arena, 96));
        snprintf(message, 96, "%llu bytes where checksums.txt says %llu",
                 (unsigned long long) m->size, (unsigned long long) sum->size);
        return verdict(t, o, sum->name, message, ev);
    }
    if (m->size > 0)
    {
        AX_TRY(bytes_of(t, o, m, PIECE, &b, ev));
        if (b == NULL)
            return AX_OK;
        o->hash = ax_mt_file_hash(o->hash, b->data, b->len);
        o->at += b->len;
        ax_buf_unref(o->req.buf);
        memset(&o->req, 0, sizeof o->req);
        if (o->at < m->size)
            return bytes_of(t, o, m, PIECE, &b, ev);
    }
    return verdict(t, o, sum->name,
                   o->hash.lo == sum->hash.lo && o->hash.hi == sum->hash.hi
                       ? NULL : "the bytes do not match the checksum", ev);
}

/* ---- the operation --------------------------------------------------------------------------- */

ax_status ax_mt_facts_begin(ax_task *t, ax_arena *a, const ax_fmt_file *f, uint32_t table,
                            const ax_fact_arg *arg, ax_fmt_op **out)
{
    facts_op *o;

    (void) arg; /* no table asks for one */
    AX_NEW(t, o, (facts_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = MT_OP_FACTS;
    o->a = a;
    o->p = (ax_mt_part *) f;
    o->table = table;
    o->summed = table == FACT_PARTS || table == FACT_MARKS;
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

ax_status ax_mt_facts_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    facts_op *o = (facts_op *) op;
    uint32_t n = 0, rows = o->table == FACT_PARTS ? 1 : o->p->ncolumns;

    if (!o->summed)
        AX_TRY(read_sums(t, o, ev));
    if (!o->summed)
        return AX_OK;
    if (o->table == FACT_MARKS)
        return marks_step(t, o, ev);
    if (o->table == FACT_CHECK)
        return check_step(t, o, ev);
    for (; n < BATCH && o->row < rows; n++, o->row++)
        AX_TRY(o->table == FACT_PARTS ? part_row(t, o, row_of(o, n))
                                      : column_row(t, o, row_of(o, n)));
    return give(t, o, n, ev);
}

void ax_mt_facts_end(ax_fmt_op *op) { forget((facts_op *) op); }
