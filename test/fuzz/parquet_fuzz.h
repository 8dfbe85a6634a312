/* What the fuzz targets of Parquet share: read a file in memory with the engine alone. */
#ifndef PARQUET_FUZZ_H
#define PARQUET_FUZZ_H

#include "base/task.h"
#include "format/format.h"

#include <stdlib.h>

enum { FUZZ_MEMORY_BYTES = 256 << 20, FUZZ_WINDOW_BYTES = 512 };

typedef struct fuzz {
    ax_budget budget;
    ax_task t;
    ax_io *io;
    ax_fmt_file *f;
} fuzz;

static inline void fuzz_vector(const ax_vec *v, uint32_t n, uint64_t *sum)
{
    if (v->kind == AX_VK_LIST) {
        for (uint32_t i = 0; i < n; i++)
            if (v->u.list.off[i] > v->u.list.off[i + 1])
                abort();
        if (v->u.list.child->n < v->u.list.off[v->n])
            abort();
        fuzz_vector(v->u.list.child, v->u.list.child->n, sum);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        ax_value x = ax_vec_value(v, i);

        /* Touch every byte, so that the sanitizer sees it. */
        if (!x.null && (ax_type_is_str(x.type) || x.type.phys == AX_P_DOC))
            for (uint32_t k = 0; k < x.u.s.len; k++)
                *sum += x.u.s.p[k];
        else
            *sum += (uint64_t)x.u.i;
    }
}

static inline ax_status fuzz_batch(ax_task *t, void *arg, ax_batch *b)
{
    uint64_t *sum = (uint64_t *)arg;

    (void)t;
    for (uint32_t c = 0; c < b->ncols; c++)
        fuzz_vector(&b->col[c], b->nrows, sum);
    return AX_OK;
}

/* window: columns are read in windows of so many bytes, large pages in pieces of half of it; 0: as
 * a whole.  True, the rows were read to their end: *out is their sum. */
static inline bool fuzz_scan(fuzz *z, const ax_fmt_bind *bind, uint32_t split,
                             const ax_rowset *rows, uint32_t window, uint64_t *out)
{
    bool whole = false;
    ax_scan_stats stats = {0};
    uint64_t sum = 0;
    ax_arena *a = ax_arena_create(&z->budget, 0);
    uint32_t *columns = a != NULL ? ax_arena_alloc(a, (bind->ncols + 1) * sizeof *columns) : NULL;
    ax_fmt_op *op;

    if (columns != NULL) {
        for (uint32_t i = 0; i < bind->ncols; i++)
            columns[i] = i;
        ax_scan_req req = {.bind = bind,
                           .split = split,
                           .rows = rows,
                           .columns = columns,
                           .ncolumns = bind->ncols,
                           .allow = AX_ALLOW_ALL & ~(uint32_t)AX_ALLOW_CHECKSUMS,
                           .stats = &stats,
                           .budget = &z->budget,
                           .buffer_bytes = window,
                           .window_bytes = window};
        if (z->f->format->scan_begin(&z->t, a, &req, &op) == AX_OK)
            whole = ax_fmt_drive(&z->t, z->io, z->f->format, op, fuzz_batch, &sum, NULL) == AX_OK;
    }
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
    *out = sum;
    return whole;
}

/* The rows are the same whether columns are in memory as a whole or in small windows. */
static inline void fuzz_windows(fuzz *z, const ax_fmt_bind *bind, uint32_t split)
{
    uint64_t all, windows;

    if (fuzz_scan(z, bind, split, NULL, 0, &all) &&
        fuzz_scan(z, bind, split, NULL, FUZZ_WINDOW_BYTES, &windows) && all != windows)
        abort();
}

/* Bind the columns [from, to) of the file that are not refused, and read them. */
static inline void fuzz_columns(fuzz *z, uint32_t from, uint32_t to, bool pieces)
{
    const ax_schema *s = &z->f->schema;
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_colspec *col = a != NULL ? ax_arena_alloc0(a, (to - from + 1) * sizeof *col) : NULL;
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_fmt_bind *bind;
    uint32_t n = 0;

    for (uint32_t i = from; col != NULL && i < to; i++)
        if (s->field[i].refusal == NULL)
            col[n++] = (ax_colspec){.name = s->field[i].name,
                                    .field_id = -1,
                                    .position = i,
                                    .type = s->field[i].type};
    if (col != NULL && n > 0 &&
        z->f->format->bind(&z->t, a, z->f, col, n, &opts, &bind) == AX_OK) {
        for (uint32_t i = 0; i < z->f->nsplits && i < 8; i++) {
            static const ax_rowrange two[] = {{1, 3}, {40, 50}};
            const ax_rowset rows = {two, 2};
            ax_bounds b;
            uint64_t sum;

            for (uint32_t c = 0; c < n; c++)
                (void)z->f->format->bounds(bind, i, c, &b);
            fuzz_windows(z, bind, i);
            if (pieces)
                (void)fuzz_scan(z, bind, i, &rows, 0, &sum);
        }
    }
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
}

/* Every table of facts, as introspection shows it. */
static inline void fuzz_facts(fuzz *z)
{
    const ax_format *fmt = z->f->format;
    uint64_t sum = 0;
    ax_fmt_op *op;

    for (uint32_t i = 0; i < fmt->nfacts; i++) {
        ax_arena *a = ax_arena_create(&z->budget, 0);

        if (a != NULL && fmt->facts_begin(&z->t, a, z->f, i, NULL, &op) == AX_OK)
            (void)!ax_fmt_drive(&z->t, z->io, fmt, op, fuzz_batch, &sum, NULL);
        ax_error_clear(&z->t.err);
        ax_arena_reset(z->t.arena);
        ax_arena_destroy(a);
    }
}

static inline void fuzz_open(fuzz *z, const uint8_t *data, size_t size, bool scan,
                             void (*more)(fuzz *z))
{
    const ax_format *fmt = ax_format_find("parquet");
    ax_io_file *file = NULL;
    ax_fmt_input in = {.meta_budget = &z->budget, .uri = "fuzz"};
    ax_fmt_event ev;
    ax_fmt_op *op;

    if (ax_io_open_memory(&z->t, z->io, "fuzz", data, size, &file) != AX_OK)
        return;
    in.file = file;
    if (fmt->open_begin(&z->t, z->t.arena, &in, &op) == AX_OK &&
        ax_fmt_drive(&z->t, z->io, fmt, op, NULL, NULL, &ev) == AX_OK) {
        z->f = ev.file;
        uint32_t n = z->f->schema.n;

        fuzz_facts(z);
        for (uint32_t i = 0; i < n && i < 32; i++)
            fuzz_columns(z, i, i + 1, scan);
        if (more != NULL)
            more(z);
        if (scan && n > 1)
            fuzz_columns(z, 0, n, true);
        /* Lists as JSON too. */
        for (uint32_t i = 0; i < n; i++)
            if (z->f->schema.field[i].type.id == AX_T_LIST)
                z->f->schema.field[i].type = ax_type_make(AX_T_JSONB);
        if (scan)
            fuzz_columns(z, 0, n, true);
        ax_fmt_file_unref(z->f);
    }
    ax_io_file_unref(file);
}

static inline void fuzz_file(const uint8_t *data, size_t size, bool scan, void (*more)(fuzz *z))
{
    fuzz z = {0};

    ax_budget_init(&z.budget, "fuzz", FUZZ_MEMORY_BYTES, NULL);
    if (ax_task_init(&z.t, &z.budget, NULL) != AX_OK || ax_io_create(&z.io, 4) != AX_OK)
        abort();
    fuzz_open(&z, data, size, scan, more);
    ax_task_fini(&z.t);
    ax_io_destroy(z.io);
    /* Whatever was charged is released again. */
    if (atomic_load(&z.budget.used_bytes) != 0)
        abort();
}

#endif
