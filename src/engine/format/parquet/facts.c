/* Metadata as tables: one row a file, a schema element, a chunk, a leaf, a key.
 *
 * The footer is in memory, so no table but bloom_probe (probe.c) reads anything.  What opening did
 * not keep is parsed again from its bytes, as far as a batch goes.  Names of columns are those of
 * DuckDB's functions parquet_metadata, parquet_schema and so on.
 *
 * Minima and maxima in `metadata` are what the file says.  `column_stats` has what we believe of
 * them: see stats.c.
 *
 * Format: apache/parquet-format, parquet.thrift. */
#include "parquet_int.h"

#include <stdio.h>

#define BATCH 128u /* rows; statistics make them wide */

/* ---- the tables ------------------------------------------------------------------------------ */

static const ax_fact_col file_cols[] = {
    {"created_by", AX_T_TEXT},     {"num_rows", AX_T_INT8},        {"num_row_groups", AX_T_INT8},
    {"format_version", AX_T_INT8}, {"file_size_bytes", AX_T_INT8}, {"footer_size", AX_T_INT8},
};
static const ax_fact_col schema_cols[] = {
    {"name", AX_T_TEXT},         {"type", AX_T_TEXT},           {"type_length", AX_T_INT8},
    {"repetition_type", AX_T_TEXT}, {"num_children", AX_T_INT8}, {"converted_type", AX_T_TEXT},
    {"scale", AX_T_INT8},        {"precision", AX_T_INT8},      {"field_id", AX_T_INT8},
    {"logical_type", AX_T_TEXT},
};
static const ax_fact_col chunk_cols[] = {
    {"row_group_id", AX_T_INT8},
    {"row_group_num_rows", AX_T_INT8},
    {"row_group_num_columns", AX_T_INT8},
    {"row_group_bytes", AX_T_INT8},
    {"column_id", AX_T_INT8},
    {"file_offset", AX_T_INT8},
    {"num_values", AX_T_INT8},
    {"path_in_schema", AX_T_TEXT},
    {"type", AX_T_TEXT},
    {"stats_min", AX_T_TEXT},
    {"stats_max", AX_T_TEXT},
    {"stats_null_count", AX_T_INT8},
    {"stats_distinct_count", AX_T_INT8},
    {"stats_min_value", AX_T_TEXT},
    {"stats_max_value", AX_T_TEXT},
    {"compression", AX_T_TEXT},
    {"encodings", AX_T_TEXT},
    {"index_page_offset", AX_T_INT8},
    {"dictionary_page_offset", AX_T_INT8},
    {"data_page_offset", AX_T_INT8},
    {"total_compressed_size", AX_T_INT8},
    {"total_uncompressed_size", AX_T_INT8},
    {"bloom_filter_offset", AX_T_INT8},
    {"bloom_filter_length", AX_T_INT8},
    {"min_is_exact", AX_T_BOOL},
    {"max_is_exact", AX_T_BOOL},
};
static const ax_fact_col leaf_cols[] = {
    {"column_id", AX_T_INT8},        {"field_id", AX_T_INT8},  {"path_in_schema", AX_T_TEXT},
    {"stats_min", AX_T_TEXT},        {"stats_max", AX_T_TEXT}, {"stats_null_count", AX_T_INT8},
};
static const ax_fact_col key_cols[] = {{"key", AX_T_BYTEA}, {"value", AX_T_BYTEA}};
static const ax_fact_col probe_cols[] = {
    {"row_group_id", AX_T_INT8}, {"bloom_filter_excludes", AX_T_BOOL},
};

enum { FACT_FILE, FACT_SCHEMA, FACT_CHUNK, FACT_LEAF, FACT_KEY, FACT_PROBE };

#define COLS(a) a, sizeof(a) / sizeof(a)[0]
const ax_fact_table ax_pq_fact_table[AX_PQ_NFACTS] = {
    [FACT_FILE] = {"file_metadata", COLS(file_cols)},
    [FACT_SCHEMA] = {"schema", COLS(schema_cols)},
    [FACT_CHUNK] = {"metadata", COLS(chunk_cols)},
    [FACT_LEAF] = {"column_stats", COLS(leaf_cols)},
    [FACT_KEY] = {"kv_metadata", COLS(key_cols)},
    [FACT_PROBE] = {"bloom_probe", COLS(probe_cols)},
};

typedef struct facts_op
{
    ax_pq_op op;
    const ax_pq_file *f;
    uint32_t table;
    uint64_t row, rows;       /* next, and how many there are */
    ax_cur cur;               /* SCHEMA, KEY: the next element of the list */
    uint8_t elem;             /* its wire type */
    ax_batch batch;
} facts_op;

/* ---- cells ----------------------------------------------------------------------------------- */

/* A word of a list; "?<number>" for those that nobody has told us of. */
static ax_status put_name(ax_task *t, ax_value *cell, const char *const *names, uint32_t n,
                          int32_t i)
{
    char *s;

    if (i >= 0 && (uint32_t) i < n && names[i] != NULL)
    {
        ax_fact_word(cell, names[i]);
        return AX_OK;
    }
    AX_NEW(t, s, (char *) ax_arena_alloc(t->arena, 16));
    snprintf(s, 16, "?%d", (int) i);
    ax_fact_word(cell, s);
    return AX_OK;
}

/* ---- the file, its schema, its keys ---------------------------------------------------------- */

/* The cursor at field id of FileMetaData; false: the file has none. */
static bool file_field(const ax_pq_file *f, int32_t id, ax_cur *out, uint8_t *type)
{
    ax_pq_fld fld = {0, 0};

    *out = ax_cur_make(f->footer, f->footer_len);
    while (ax_pq_th_next(out, &fld))
    {
        *type = fld.type;
        if (fld.id == id)
            return true;
        ax_pq_th_skip(out, fld.type);
    }
    return false;
}

static ax_status file_row(ax_task *t, const facts_op *o, ax_value *cell)
{
    const uint8_t *p;
    const char *by;
    uint32_t n;
    int32_t version;
    ax_cur c;
    uint8_t type;

    if (file_field(o->f, 6, &c, &type) && ax_pq_th_bin(&c, type, &p, &n))
    {
        AX_TRY(ax_pq_shown(t, t->arena, p, n, &by));
        ax_fact_word(&cell[0], by);
    }
    ax_fact_int(&cell[1], o->f->base.nrows);
    ax_fact_int(&cell[2], o->f->base.nsplits);
    if (file_field(o->f, 1, &c, &type) && ax_pq_th_i32(&c, type, &version))
        ax_fact_int(&cell[3], version);
    ax_fact_int(&cell[4], (int64_t) ax_io_file_size(o->f->base.io));
    ax_fact_int(&cell[5], o->f->footer_len);
    return AX_OK;
}

static ax_status schema_row(ax_task *t, facts_op *o, ax_value *cell)
{
    static const char *const repetition[] = {"REQUIRED", "OPTIONAL", "REPEATED"};
    static const char *const converted[] = {
        "UTF8", "MAP", "MAP_KEY_VALUE", "LIST", "ENUM", "DECIMAL", "DATE", "TIME_MILLIS",
        "TIME_MICROS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "UINT_8", "UINT_16", "UINT_32",
        "UINT_64", "INT_8", "INT_16", "INT_32", "INT_64", "JSON", "BSON", "INTERVAL"};
    ax_pq_rawelem e;
    const char *name;
    char *logical;

    ax_pq_elem_parse(&o->cur, &e);
    AX_TRY(ax_pq_shown(t, t->arena, e.name, e.name_len, &name));
    ax_fact_word(&cell[0], name);
    ax_fact_word(&cell[1], ax_pq_type_name(e.type));
    if (e.type_length >= 0)
        ax_fact_int(&cell[2], e.type_length);
    if (e.rep >= 0)
        AX_TRY(put_name(t, &cell[3], repetition, 3, e.rep));
    if (e.type == -1)
        ax_fact_int(&cell[4], e.children);
    if (e.converted >= 0)
        AX_TRY(put_name(t, &cell[5], converted, sizeof converted / sizeof *converted, e.converted));
    if (e.lt.kind == LT_DECIMAL)
    {
        ax_fact_int(&cell[6], e.lt.scale);
        ax_fact_int(&cell[7], e.lt.precision);
    }
    if (e.field_id >= 0)
        ax_fact_int(&cell[8], e.field_id);
    if (e.has_lt)
    {
        AX_NEW(t, logical, (char *) ax_arena_alloc(t->arena, 96));
        ax_pq_logical_text(&e.lt, logical, 96);
        ax_fact_word(&cell[9], logical);
    }
    return AX_OK;
}

static void key_row(facts_op *o, ax_value *cell)
{
    ax_pq_fld f = {0, 0};
    const uint8_t *p;
    uint32_t n;

    if (!ax_pq_th_struct(&o->cur, o->elem))
        return;
    while (ax_pq_th_next(&o->cur, &f))
    {
        if ((f.id == 1 || f.id == 2) && ax_pq_th_bin(&o->cur, f.type, &p, &n))
            ax_fact_bytes(&cell[f.id - 1], p, n);
        else if (f.id != 1 && f.id != 2)
            ax_pq_th_skip(&o->cur, f.type);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Physical values of a leaf as values of the type that we would declare; false: not converted. */
static bool leaf_conv(ax_task *t, const ax_pq_file *f, uint32_t i, ax_colspec *col,
                      ax_pq_conv *conv)
{
    const ax_pq_leaf *leaf = &f->leaf[i];

    *col = (ax_colspec){.name = leaf->path, .field_id = -1, .type = leaf->type};
    memset(conv, 0, sizeof *conv);
    if (leaf->phys < 0 || leaf->field->refusal != NULL ||
        ax_pq_conv_make(t, f, leaf, col, conv) != AX_OK)
    {
        ax_error_clear(&t->err);
        return false;
    }
    conv->leaf = leaf;
    conv->leaf_idx = i;
    return true;
}

static ax_status put_bound(ax_task *t, const ax_pq_conv *conv, const ax_pq_bytes *b, ax_value *cell)
{
    ax_value v;

    if (!b->set || !ax_pq_conv_one(conv, b->p, b->n, &v))
        return AX_OK;
    if (conv->rewrite != REWRITE_NOT)
    {
        uint32_t off = 0;

        AX_TRY(ax_pq_rewrite(t, t->arena, conv, &off, &v.u.s.len, 1, &v.u.s.p));
        v.u.s.p += off;
    }
    return ax_pq_value_text(t, t->arena, &v, cell);
}

static ax_status put_stats(ax_task *t, const facts_op *o, uint32_t leaf, const ax_pq_chunk *m,
                           ax_value *cell)
{
    ax_colspec col;
    ax_pq_conv conv;
    ax_pq_stats s;

    ax_pq_stats_parse(m, &s);
    if (leaf_conv(t, o->f, leaf, &col, &conv))
    {
        AX_TRY(put_bound(t, &conv, &s.old_min, &cell[9]));
        AX_TRY(put_bound(t, &conv, &s.old_max, &cell[10]));
        AX_TRY(put_bound(t, &conv, &s.min, &cell[13]));
        AX_TRY(put_bound(t, &conv, &s.max, &cell[14]));
    }
    if (s.nulls >= 0)
        ax_fact_int(&cell[11], s.nulls);
    if (s.distinct >= 0)
        ax_fact_int(&cell[12], s.distinct);
    if (s.min_exact)
        ax_fact_int(&cell[24], 1);
    if (s.max_exact)
        ax_fact_int(&cell[25], 1);
    return AX_OK;
}

/* "PLAIN, RLE_DICTIONARY" */
static ax_status put_encodings(ax_task *t, ax_cur *c, uint8_t type, ax_value *cell)
{
    static const char *const names[] = {
        [PQ_PLAIN] = "PLAIN", [PQ_PLAIN_DICTIONARY] = "PLAIN_DICTIONARY", [PQ_RLE] = "RLE",
        [PQ_BIT_PACKED] = "BIT_PACKED", [PQ_DELTA_BINARY_PACKED] = "DELTA_BINARY_PACKED",
        [PQ_DELTA_LENGTH_BYTE_ARRAY] = "DELTA_LENGTH_BYTE_ARRAY",
        [PQ_DELTA_BYTE_ARRAY] = "DELTA_BYTE_ARRAY", [PQ_RLE_DICTIONARY] = "RLE_DICTIONARY",
        [PQ_BYTE_STREAM_SPLIT] = "BYTE_STREAM_SPLIT", [PQ_ALP] = "ALP"};
    enum { ROOM = 512 };
    uint8_t elem;
    uint32_t n, at = 0;
    char *s;

    if (!ax_pq_th_list(c, type, &elem, &n))
        return AX_OK;
    AX_NEW(t, s, (char *) ax_arena_alloc0(t->arena, ROOM));
    for (uint32_t i = 0; i < n && !c->bad; i++)
    {
        ax_value one = {.null = true};
        int32_t e = -1;

        (void) ax_pq_th_i32(c, elem, &e);
        AX_TRY(put_name(t, &one, names, sizeof names / sizeof *names, e));
        if (at + one.u.s.len + 3 < ROOM)
            at += (uint32_t) snprintf(s + at, ROOM - at, "%s%.*s", i > 0 ? ", " : "",
                                      (int) one.u.s.len, (const char *) one.u.s.p);
    }
    ax_fact_word(cell, s);
    return AX_OK;
}

/* What ax_pq_chunk does not keep. */
static ax_status put_rest(ax_task *t, const ax_pq_file *f, uint32_t group, uint32_t leaf,
                          ax_value *cell)
{
    uint32_t off = f->group[group].chunk[leaf];
    ax_cur c = ax_cur_make(f->footer + off, f->footer_len - off);
    ax_pq_fld fld = {0, 0}, m;
    int64_t v;

    while (ax_pq_th_next(&c, &fld))
    {
        if (fld.id == 2 && ax_pq_th_i64(&c, fld.type, &v))
            ax_fact_int(&cell[5], v);
        else if (fld.id == 3 && ax_pq_th_struct(&c, fld.type))
        {
            m = (ax_pq_fld){0, 0};
            while (ax_pq_th_next(&c, &m))
            {
                if (m.id == 2)
                    AX_TRY(put_encodings(t, &c, m.type, &cell[16]));
                else if (m.id == 10 && ax_pq_th_i64(&c, m.type, &v))
                    ax_fact_int(&cell[17], v);
                else if (m.id != 10)
                    ax_pq_th_skip(&c, m.type);
            }
        }
        else if (fld.id != 2 && fld.id != 3)
            ax_pq_th_skip(&c, fld.type);
    }
    return AX_OK;
}

static ax_status chunk_row(ax_task *t, const facts_op *o, ax_value *cell)
{
    static const char *const codecs[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                         "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"};
    const ax_pq_file *f = o->f;
    uint32_t group = (uint32_t) (o->row / f->nleaf), leaf = (uint32_t) (o->row % f->nleaf);
    ax_pq_chunk m;

    ax_fact_int(&cell[0], group);
    ax_fact_int(&cell[1], f->group[group].nrows);
    ax_fact_int(&cell[2], f->nleaf);
    ax_fact_int(&cell[3], f->group[group].bytes);
    ax_fact_int(&cell[4], leaf);
    ax_fact_word(&cell[7], f->leaf[leaf].path);
    ax_fact_word(&cell[8], ax_pq_type_name(f->leaf[leaf].phys));
    AX_TRY(put_rest(t, f, group, leaf, cell));
    if (!ax_pq_chunk_get(f, group, leaf, &m) || !m.has_meta)
        return AX_OK;
    ax_fact_int(&cell[6], m.num_values);
    if (m.stats != NULL)
        AX_TRY(put_stats(t, o, leaf, &m, cell));
    AX_TRY(put_name(t, &cell[15], codecs, sizeof codecs / sizeof *codecs, m.codec));
    if (m.dict_off > 0)
        ax_fact_int(&cell[18], m.dict_off);
    ax_fact_int(&cell[19], m.data_off);
    ax_fact_int(&cell[20], m.compressed);
    ax_fact_int(&cell[21], m.uncompressed);
    if (m.bloom_off > 0)
        ax_fact_int(&cell[22], m.bloom_off);
    if (m.bloom_len > 0)
        ax_fact_int(&cell[23], m.bloom_len);
    return AX_OK;
}

/* ---- leaves over all row groups -------------------------------------------------------------- */

/* Widen `all` by the bounds of one more group; groups of nulls alone have none. */
static void widen(ax_bounds *all, const ax_bounds *b, bool first)
{
    all->nulls = all->nulls < 0 || b->nulls < 0 ? -1 : all->nulls + b->nulls;
    if (b->nulls >= 0 && b->nulls == b->rows)
        return;
    if (first)
    {
        all->has_min = b->has_min;
        all->has_max = b->has_max;
        all->min = b->min;
        all->max = b->max;
        return;
    }
    all->has_min = all->has_min && b->has_min;
    all->has_max = all->has_max && b->has_max;
    if (all->has_min && ax_value_cmp(&b->min, &all->min) < 0)
        all->min = b->min;
    if (all->has_max && ax_value_cmp(&b->max, &all->max) > 0)
        all->max = b->max;
}

static ax_status leaf_row(ax_task *t, const facts_op *o, ax_value *cell)
{
    const ax_pq_file *f = o->f;
    uint32_t leaf = (uint32_t) o->row;
    bool constant = false, first = true, known = true;
    ax_bounds all = {0}, b;
    ax_colspec col;
    ax_pq_conv conv;
    ax_pq_bind bind = {.base = {.file = (ax_fmt_file *) &f->base, .col = &col, .ncols = 1,
                                .constant = &constant}, .conv = &conv};

    ax_fact_int(&cell[0], leaf);
    if (f->leaf[leaf].field->field_id >= 0)
        ax_fact_int(&cell[1], f->leaf[leaf].field->field_id);
    ax_fact_word(&cell[2], f->leaf[leaf].path);
    if (f->leaf[leaf].max_rep > 0 || !leaf_conv(t, f, leaf, &col, &conv))
        return AX_OK;
    for (uint32_t g = 0; g < f->base.nsplits && known; g++)
    {
        known = ax_pq_bounds(&bind.base, g, 0, &b);
        if (known)
            widen(&all, &b, first);
        first = first && known && b.nulls >= 0 && b.nulls == b.rows;
    }
    if (!known)
        return AX_OK;
    if (all.has_min)
        AX_TRY(ax_pq_value_text(t, t->arena, &all.min, &cell[3]));
    if (all.has_max)
        AX_TRY(ax_pq_value_text(t, t->arena, &all.max, &cell[4]));
    if (all.nulls >= 0)
        ax_fact_int(&cell[5], all.nulls);
    return AX_OK;
}

/* ---- the operation --------------------------------------------------------------------------- */

static ax_status fact_row(ax_task *t, facts_op *o, ax_value *cell)
{
    switch (o->table)
    {
        case FACT_FILE: return file_row(t, o, cell);
        case FACT_SCHEMA: return schema_row(t, o, cell);
        case FACT_CHUNK: return chunk_row(t, o, cell);
        case FACT_LEAF: return leaf_row(t, o, cell);
        default: key_row(o, cell); return AX_OK;
    }
}

/* How many elements has list `id` of the file?  The cursor stands at the first then. */
static uint64_t list_rows(facts_op *o, int32_t id)
{
    uint32_t n;
    uint8_t type;

    return file_field(o->f, id, &o->cur, &type) && ax_pq_th_list(&o->cur, type, &o->elem, &n) ? n
                                                                                            : 0;
}

ax_status ax_pq_facts_begin(ax_task *t, ax_arena *a, const ax_fmt_file *f, uint32_t table,
                            const ax_fact_arg *arg, ax_fmt_op **out)
{
    facts_op *o;

    if (table == FACT_PROBE)
        return ax_pq_probe_begin(t, a, (const ax_pq_file *) f, &ax_pq_fact_table[table], arg, out);
    AX_NEW(t, o, (facts_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = OP_FACTS;
    o->f = (const ax_pq_file *) f;
    o->table = table;
    switch (table)
    {
        case FACT_FILE: o->rows = 1; break;
        case FACT_SCHEMA: o->rows = list_rows(o, 2); break;
        case FACT_CHUNK: o->rows = (uint64_t) f->nsplits * o->f->nleaf; break;
        case FACT_LEAF: o->rows = o->f->nleaf; break;
        default: o->rows = list_rows(o, 5); break;
    }
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

ax_status ax_pq_facts_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    facts_op *o = (facts_op *) op;
    const ax_fact_table *table = &ax_pq_fact_table[o->table];
    uint32_t n = o->rows - o->row < BATCH ? (uint32_t) (o->rows - o->row) : BATCH;
    ax_value *cell;

    if (n == 0)
    {
        ev->step = AX_STEP_DONE;
        return AX_OK;
    }
    AX_NEW(t, cell,
           (ax_value *) ax_arena_alloc(t->arena, (size_t) n * table->ncols * sizeof *cell));
    for (uint32_t i = 0; i < n; i++, o->row++)
    {
        ax_facts_nulls(cell + (size_t) i * table->ncols, table);
        AX_TRY(fact_row(t, o, cell + (size_t) i * table->ncols));
    }
    AX_TRY(ax_facts_batch(t, t->arena, table, cell, n, &o->batch));
    ev->step = AX_STEP_BATCH;
    ev->batch = &o->batch;
    return AX_OK;
}
