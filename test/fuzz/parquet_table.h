/* What a table may want of a file beyond its own types: other declarations, structures, virtual
 * columns, filters and pruning.  Used by the target of whole files. */
#ifndef PARQUET_TABLE_H
#define PARQUET_TABLE_H

#include "parquet_fuzz.h"

#include <string.h>

static const struct {
    uint8_t type, elem; /* elem: of LIST */
    uint8_t epoch, encoding;
    int16_t precision, scale;
} fuzz_wants[] = {
    {.type = AX_T_TEXT, .encoding = AX_ENC_REMOVE},
    {.type = AX_T_TEXT, .encoding = AX_ENC_REPLACE},
    {.type = AX_T_TEXT, .encoding = AX_ENC_TRUNCATE},
    {.type = AX_T_BYTEA},
    {.type = AX_T_NUMERIC, .precision = 12, .scale = 1},
    {.type = AX_T_NUMERIC, .precision = 30, .scale = 20},
    {.type = AX_T_INT2},
    {.type = AX_T_INT8},
    {.type = AX_T_FLOAT4},
    {.type = AX_T_FLOAT8},
    {.type = AX_T_DATE, .epoch = AX_EPOCH_DAYS},
    {.type = AX_T_DATE, .epoch = AX_EPOCH_S},
    {.type = AX_T_TIMESTAMP, .epoch = AX_EPOCH_NS},
    {.type = AX_T_TIMESTAMP, .epoch = AX_EPOCH_US},
    {.type = AX_T_TIMESTAMPTZ, .epoch = AX_EPOCH_MS},
    {.type = AX_T_TIME},
    {.type = AX_T_UUID},
    {.type = AX_T_INTERVAL},
    {.type = AX_T_BOOL},
    {.type = AX_T_JSONB},
    {.type = AX_T_LIST, .elem = AX_T_INT8},
    {.type = AX_T_LIST, .elem = AX_T_TEXT},
};

/* A condition on column 0, pruned by and applied while reading; raising ones too. */
static inline ax_filter *fuzz_filter(fuzz *z, ax_arena *a, ax_type type, bool equal)
{
    ax_value v = {.type = type};
    ax_expr *args[2], *cond[2];
    ax_filter *f = NULL;
    uint32_t n = 0;

    if (ax_expr_col(&z->t, a, 0, type, &args[0]) == AX_OK &&
        ax_expr_call(&z->t, a, AX_FN_IS_NOT_NULL, args, 1, &cond[n]) == AX_OK)
        n++;
    if (n > 0 && (type.id == AX_T_INT8 || type.id == AX_T_TEXT)) {
        if (type.id == AX_T_INT8)
            v.u.i = 2;
        else
            v.u.s.p = (const uint8_t *)"b", v.u.s.len = 1;
        if (ax_expr_const(&z->t, a, &v, &args[1]) == AX_OK &&
            ax_expr_call(&z->t, a, equal ? AX_FN_EQ : AX_FN_GE, args, 2, &cond[n]) == AX_OK)
            n++;
    }
    if (n == 0 || ax_filter_create(&z->t, a, cond, n, NULL, &f) != AX_OK)
        return NULL;
    return f;
}

static inline void fuzz_filtered(fuzz *z, ax_arena *a, const ax_fmt_bind *bind, uint32_t split,
                                 ax_type type)
{
    const ax_format *fmt = z->f->format;
    const uint32_t columns[] = {0};
    ax_filter *f = fuzz_filter(z, a, type, (split & 1) != 0); /* Bloom filters want equality */
    ax_scan_stats stats = {0};
    ax_scan_req req = {.bind = bind,
                       .split = split,
                       .columns = columns,
                       .ncolumns = 1,
                       .allow = AX_ALLOW_ALL,
                       .stats = &stats,
                       .budget = &z->budget};
    const ax_rowrange range[] = {{1, 2}, {21, 23}, {45, 46}};
    const ax_rowset rows = {range, 3};
    uint64_t sum = 0;
    ax_fmt_op *op;

    if (f != NULL && fmt->prune_begin(&z->t, a, bind, split, (ax_rowrange){0, 0}, f, AX_ALLOW_ALL,
                                      &op) == AX_OK)
        (void)!ax_fmt_drive(&z->t, z->io, fmt, op, NULL, NULL, NULL);
    ax_error_clear(&z->t.err);
    if ((split & 1) != 0) /* few rows, so that pages are located by indexes */
        req.rows = &rows;
    if (f != NULL && ax_filter_lane_create(&z->t, a, f, &req.filter) == AX_OK &&
        fmt->scan_begin(&z->t, a, &req, &op) == AX_OK)
        (void)!ax_fmt_drive(&z->t, z->io, fmt, op, fuzz_batch, &sum, NULL);
    ax_error_clear(&z->t.err);
}

/* Column 0 as declared, from all sides. */
static inline void fuzz_spec(fuzz *z, const ax_colspec *col, const ax_bind_opts *opts)
{
    const ax_format *fmt = z->f->format;
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_fmt_bind *bind;
    ax_split s;

    if (a != NULL && fmt->bind(&z->t, a, z->f, col, 1, opts, &bind) == AX_OK) {
        (void)fmt->distinct(bind, 0);
        (void)fmt->width(bind, 0);
        for (uint32_t i = 0; i < z->f->nsplits && i < 2; i++) {
            memset(&s, 0, sizeof s);
            fmt->split(z->f, i, &s);
            fuzz_windows(z, bind, i);
            fuzz_filtered(z, a, bind, i, col->type);
        }
    }
    ax_error_clear(&z->t.err);
    ax_arena_reset(z->t.arena);
    ax_arena_destroy(a);
}

/* A declared structure for a field: groups lose their last field, names change their case. */
static inline ax_type fuzz_structure(fuzz *z, const ax_field *f, int depth)
{
    ax_arena *a = z->f->arena;
    bool list = strcmp(f->source_type, "LIST") == 0, map = strcmp(f->source_type, "MAP") == 0;
    ax_nested *nested = ax_arena_alloc0(a, sizeof *nested);
    uint32_t n = f->nchild;
    ax_type *types, type = ax_type_make(AX_T_TEXT);
    const char **names;

    if (nested == NULL || depth > 8 || n == 0)
        return f->nchild == 0 && f->type.id != AX_T_JSONB && f->type.id != AX_T_NONE ? f->type
                                                                                       : type;
    if ((list || map) && n == 1 && f->child[0].nchild > 0)
        f = list && f->child[0].nchild == 1 ? &f->child[0].child[0] : &f->child[0];
    if (list && depth < 8) {
        types = ax_arena_alloc0(a, sizeof *types);
        if (types == NULL)
            return type;
        types[0] = fuzz_structure(z, f, depth + 1);
        *nested = (ax_nested){.n = 1, .type = types};
        type = ax_type_make(AX_T_LIST);
        type.nested = nested;
        return type;
    }
    n = map || f->nchild < 2 ? f->nchild : f->nchild - 1;
    types = ax_arena_alloc0(a, (n + 1) * sizeof *types);
    names = ax_arena_alloc0(a, (n + 1) * sizeof *names);
    if (types == NULL || names == NULL)
        return type;
    for (uint32_t i = 0; i < n; i++) {
        char *name = ax_arena_strndup(a, f->child[i].name, strlen(f->child[i].name));

        if (name == NULL)
            return type;
        if (name[0] >= 'a' && name[0] <= 'z')
            name[0] = (char)(name[0] - 'a' + 'A');
        names[i] = name;
        types[i] = fuzz_structure(z, &f->child[i], depth + 1);
    }
    *nested = (ax_nested){.n = n, .type = types, .name = names};
    type = ax_type_make(AX_T_STRUCT);
    type.nested = nested;
    if (map) {
        ax_nested *outer = ax_arena_alloc0(a, sizeof *outer);
        ax_type *elem = ax_arena_alloc0(a, sizeof *elem);

        if (outer == NULL || elem == NULL)
            return type;
        *elem = type;
        *outer = (ax_nested){.n = 1, .type = elem};
        type = ax_type_make(AX_T_LIST);
        type.nested = outer;
    }
    return type;
}

static inline void fuzz_declarations(fuzz *z, uint32_t i)
{
    const ax_field *f = &z->f->schema.field[i];
    const char *inner[2] = {f->name, f->nchild > 0 ? f->child[0].name : ""};
    ax_colspec col = {.name = "c", .field_id = f->field_id, .position = i};
    ax_bind_opts opts = {.match_by = AX_BY_NAME, .case_insensitive = true, .allow_missing = true,
                         .skip_null_keys = (i & 1) != 0, .legacy_lists = (uint8_t)(i % 3)};
    ax_nested doc = {.n = 1}, elem = {.n = 1};
    ax_type root, of;

    col.path = inner;
    col.npath = 1;
    for (size_t k = 0; k < sizeof fuzz_wants / sizeof *fuzz_wants; k++) {
        col.type = ax_type_make((ax_type_id)fuzz_wants[k].type);
        col.type.precision = fuzz_wants[k].precision;
        col.type.scale = fuzz_wants[k].scale;
        col.epoch = fuzz_wants[k].epoch;
        col.encoding_check = fuzz_wants[k].encoding;
        if (fuzz_wants[k].elem != 0) {
            of = ax_type_make((ax_type_id)fuzz_wants[k].elem);
            elem.type = &of;
            col.type.nested = &elem;
        }
        fuzz_spec(z, &col, &opts);
    }
    col.epoch = col.encoding_check = 0;
    if (f->nchild > 0) {
        root = fuzz_structure(z, f, 0);
        doc.type = &root;
        col.type = ax_type_make(AX_T_TEXT);
        col.type.nested = &doc;
        fuzz_spec(z, &col, &opts);
        col.npath = 2;
        col.type = f->child[0].type.id != AX_T_NONE ? f->child[0].type : ax_type_make(AX_T_JSONB);
        fuzz_spec(z, &col, &opts);
        col.npath = 1;
    }
    col.type = f->type;
    opts.match_by = AX_BY_FIELD_ID;
    fuzz_spec(z, &col, &opts);
    opts.match_by = AX_BY_NAME;
    inner[0] = "no such column";
    fuzz_spec(z, &col, &opts);
}

static inline void fuzz_table(fuzz *z)
{
    static const uint8_t kinds[] = {AX_VIRT_PATH, AX_VIRT_FILE, AX_VIRT_SIZE, AX_VIRT_MTIME,
                                    AX_VIRT_ROW_NUMBER, AX_VIRT_ROW_GROUP, AX_VIRT_ROWID};
    static const uint8_t types[] = {AX_T_TEXT, AX_T_TEXT, AX_T_INT8, AX_T_TIMESTAMPTZ, AX_T_INT8,
                                    AX_T_INT4, AX_T_INT8};
    ax_bind_opts opts = {0};

    for (uint32_t i = 0; i < z->f->schema.n && i < 64; i++)
        if (z->f->schema.field[i].refusal == NULL)
            fuzz_declarations(z, i);
    for (size_t k = 0; k < sizeof kinds; k++) {
        ax_colspec col = {.name = "v", .field_id = -1, .virt = kinds[k],
                          .type = ax_type_make((ax_type_id)types[k])};

        fuzz_spec(z, &col, &opts);
    }
}

#endif
