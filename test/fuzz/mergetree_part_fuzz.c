/* A whole MergeTree part (mergetree_dir.h), which is opened; all columns are read, at once and in
 * pieces, and facts are told. */
#include "mergetree_dir.h"

/* ---- reading ---- */

static void touch(const ax_vec *v, uint32_t n, uint64_t *sum)
{
    if (v->kind == AX_VK_LIST) {
        for (uint32_t i = 0; i < n; i++)
            if (v->u.list.off[i] > v->u.list.off[i + 1])
                abort();
        if (n > 0 && v->u.list.child->n < v->u.list.off[n])
            abort();
        if (n > 0)
            touch(v->u.list.child, v->u.list.off[n], sum);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        ax_value x = ax_vec_value(v, i);

        if (!x.null && (ax_type_is_str(x.type) || x.type.phys == AX_P_DOC))
            for (uint32_t k = 0; k < x.u.s.len; k++)
                *sum += x.u.s.p[k];
        else
            *sum += (uint64_t)x.u.i;
    }
}

static ax_status on_batch(ax_task *t, void *arg, ax_batch *b)
{
    (void)t;
    for (uint32_t c = 0; c < b->ncols; c++)
        touch(&b->col[c], b->nrows, arg);
    return AX_OK;
}

static void scan(fuzz *z, const ax_fmt_bind *bind, uint32_t split, const ax_rowset *rows)
{
    static const uint32_t columns[] = {0, 1, 2, 3, 4, 5, 6, 7};
    ax_scan_stats stats = {0};
    uint64_t sum = 0;
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_scan_req req = {.bind = bind,
                       .split = split,
                       .rows = rows,
                       .columns = columns,
                       .ncolumns = bind->ncols,
                       .allow = AX_ALLOW_ALL,
                       .stats = &stats,
                       .budget = &z->budget};
    ax_fmt_op *op;

    if (a != NULL && z->f->format->scan_begin(&z->t, a, &req, &op) == AX_OK)
        (void)!ax_fmt_drive(&z->t, z->io, z->f->format, op, on_batch, &sum, NULL);
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
}

/* Bind columns and read them from all splits. */
static void read_bound(fuzz *z, const ax_colspec *col, uint32_t n)
{
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_fmt_bind *bind;

    if (a != NULL && n > 0 && z->f->format->bind(&z->t, a, z->f, col, n, &opts, &bind) == AX_OK)
        for (uint32_t i = 0; i < z->f->nsplits && i < 4; i++) {
            static const ax_rowrange two[] = {{1, 3}, {40, 2050}};
            const ax_rowset rows = {two, 2};
            ax_bounds b;

            for (uint32_t c = 0; c < n; c++)
                (void)z->f->format->bounds(bind, i, c, &b);
            scan(z, bind, i, NULL);
            scan(z, bind, i, &rows);
        }
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
}

static void read_columns(fuzz *z, uint32_t from, uint32_t to, bool json)
{
    const ax_schema *s = &z->f->schema;
    ax_colspec col[8] = {0};
    uint32_t n = 0;

    for (uint32_t i = from; i < to && n < 8; i++)
        if (s->field[i].refusal == NULL) {
            col[n] = (ax_colspec){
                .name = s->field[i].name, .field_id = -1, .position = i, .type = s->field[i].type};
            if (json && col[n].type.id == AX_T_LIST)
                col[n].type = ax_type_make(AX_T_JSONB);
            n++;
        }
    read_bound(z, col, n);
}

/* Column i in some of the types that are not its own. */
static void read_as(fuzz *z, uint32_t i)
{
    static const ax_type_id ids[] = {AX_T_INT2, AX_T_INT4, AX_T_INT8, AX_T_FLOAT8, AX_T_NUMERIC,
                                     AX_T_TEXT, AX_T_BYTEA, AX_T_TIMESTAMP, AX_T_TIMESTAMPTZ,
                                     AX_T_INTERVAL, AX_T_DIGITS, AX_T_DATE};
    enum { IDS = sizeof ids / sizeof ids[0] };

    for (uint32_t k = 0; k < 4; k++) {
        ax_type type = ax_type_make(ids[(i * 5 + z->n + k * 3) % IDS]);
        ax_colspec col = {.name = z->f->schema.field[i].name, .field_id = -1, .position = i};

        if (type.id == AX_T_NUMERIC && i % 2 == 0) {
            type.precision = 12;
            type.scale = (int16_t)(i % 5);
        }
        col.type = type;
        col.not_null = i % 7 == 3;
        read_bound(z, &col, 1);
    }
}

/* ---- facts ---- */

static ax_status facts_batch(ax_task *t, void *arg, ax_batch *b)
{
    (void)t;
    for (uint32_t i = 0; i < b->ncols; i++)
        touch(&b->col[i], b->nrows, arg);
    return AX_OK;
}

static void read_facts(fuzz *z)
{
    const ax_format *fmt = z->f->format;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < fmt->nfacts; i++) {
        ax_arena *a = ax_arena_create(&z->budget, 0);
        ax_fmt_op *op;

        if (a != NULL && fmt->facts_begin(&z->t, a, z->f, i, NULL, &op) == AX_OK)
            (void)!ax_fmt_drive(&z->t, z->io, fmt, op, facts_batch, &sum, NULL);
        ax_error_clear(&z->t.err);
        ax_arena_destroy(a);
    }
}

/* Open the part with these options, tell its facts, read its columns; false: it cannot be. */
static bool open_with(fuzz *z, const char *options)
{
    const ax_format *fmt = ax_format_find("mergetree");
    ax_fmt_input in = {.meta_budget = &z->budget, .uri = "part://p", .options = options};
    ax_fmt_event ev;
    ax_fmt_op *op;

    if (fmt->open_begin(&z->t, z->t.arena, &in, &op) != AX_OK ||
        ax_fmt_drive(&z->t, z->io, fmt, op, NULL, NULL, &ev) != AX_OK) {
        ax_error_clear(&z->t.err);
        return false;
    }
    z->f = ev.file;
    read_facts(z);
    uint32_t n = z->f->schema.n;
    for (uint32_t i = 0; i < n && i < 48; i++)
        read_columns(z, i, i + 1, i % 2 == 0);
    read_columns(z, 0, n, false);
    for (uint32_t i = 0; i < n && i < 48; i++)
        read_as(z, i);
    ax_fmt_file_unref(z->f);
    return true;
}

/* A definition in which the columns that the part was just read with have other types. */
static void open_changed(fuzz *z, const uint8_t *columns, uint32_t size)
{
    static const char *const types[] = {
        "String", "Int64", "Nullable(UInt8)", "Array(Nullable(String))", "Decimal(18, 4)",
        "DateTime('UTC')", "Float64", "Bool", "Enum16('a' = 1, 'b' = 2)", "DateTime64(3, 'UTC')",
        "LowCardinality(Nullable(String))", "Int256", "Decimal(38, 4)", "Date32", "FixedString(8)",
        "Tuple(a String, b UInt8)", "Variant(String, UInt8)"};
    enum { TYPES = sizeof types / sizeof types[0] };
    char options[4096] = "index_granularity=50";
    size_t n = strlen(options);

    for (uint32_t at = 0, k = z->n; at < size; k++) {
        const uint8_t *end = memchr(columns + at, '\n', size - at);
        uint32_t len = end != NULL ? (uint32_t)(end - columns) - at : size - at;
        const uint8_t *close = len > 2 ? memchr(columns + at + 1, '`', len - 1) : NULL;
        uint32_t name = close != NULL ? (uint32_t)(close - columns) - at + 1 : 0;

        if (columns[at] == '`' && name > 0 && n + name + 40 < sizeof options) {
            memcpy(options + n, "\ncolumn=", 8);
            memcpy(options + n + 8, columns + at, name);
            n += 8 + name;
            options[n++] = ' ';
            memcpy(options + n, types[k % TYPES], strlen(types[k % TYPES]) + 1);
            n += strlen(types[k % TYPES]);
        }
        at += len + 1;
    }
    options[n] = '\0';
    if (memchr(options, '\0', n) == NULL)
        (void)open_with(z, options);
}

/* What is not told of a table by its parts is guessed; facts are wanted of damaged parts, too. */
static void open_part(fuzz *z)
{
    if (!open_with(z, "primary_key=id, s, toYYYYMM(d)\nindex_granularity=50") &&
        !open_with(z, "primary_key=id\nindex_granularity=50"))
        (void)open_with(z, "index_granularity=150");
    (void)open_with(z, "checksums=shown\nindex_granularity=50");
    for (uint32_t i = 0; i < z->n; i++)
        if (strcmp(z->m[i].uri + 9, "columns.txt") == 0)
            open_changed(z, z->m[i].bytes, z->m[i].n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(data, size, open_part);
    return 0;
}
