/* A whole MergeTree part: the input is a row of members, each u8 length of the name, name, u32
 * length, bytes.  They make a directory of a scheme of its own, which is opened; all columns are
 * read, at once and in pieces, and granules are pruned.
 *
 * Checksums of frames are put right first, so that mutations get behind them. */
#include "format/mergetree/mergetree_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_BYTES = 256 << 20, MEMBERS = 96 };

typedef struct member {
    char uri[280];
    uint8_t *bytes;
    uint32_t n;
} member;

typedef struct fuzz {
    ax_budget budget;
    ax_task t;
    ax_io *io;
    member m[MEMBERS];
    uint32_t n;
    ax_fmt_file *f;
} fuzz;

/* ---- the directory ---- */

static void fix_frames(uint8_t *p, size_t n)
{
    while (n >= 25) {
        uint32_t c = ax_load_u32(p + 17);
        if (c < 9 || c > n - 16)
            return;
        ax_mt_hash h = ax_mt_city128(p + 16, c);
        memcpy(p, &h, 16);
        p += 16 + c;
        n -= 16 + c;
    }
}

static bool has_frames(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && (strcmp(dot, ".bin") == 0 || strcmp(dot, ".cidx") == 0 ||
                           strncmp(dot, ".cmrk", 5) == 0);
}

static void unpack(fuzz *z, const uint8_t *p, size_t n)
{
    while (n >= 5 && z->n < MEMBERS) {
        size_t len = p[0], size;
        member *m = &z->m[z->n];
        if (len == 0 || n < 1 + len + 4)
            return;
        memcpy(m->uri, "part://p/", 9);
        memcpy(m->uri + 9, p + 1, len);
        m->uri[9 + len] = '\0';
        if (strlen(m->uri) != 9 + len || strchr(m->uri + 9, '/') != NULL)
            return;
        size = ax_load_u32(p + 1 + len);
        p += 5 + len;
        n -= 5 + len;
        if (size > n)
            size = n;
        m->bytes = malloc(size + 1);
        if (m->bytes == NULL)
            return;
        memcpy(m->bytes, p, size);
        m->n = (uint32_t)size;
        if (has_frames(m->uri))
            fix_frames(m->bytes, size);
        else if (strcmp(m->uri + 9, "checksums.txt") == 0 && size > 28)
            fix_frames(m->bytes + 28, size - 28);
        p += size;
        n -= size;
        z->n++;
    }
}

static ax_status dir_open(ax_task *t, void *self, const char *uri, void **handle, ax_io_id *id)
{
    fuzz *z = self;

    for (uint32_t i = 0; i < z->n; i++)
        if (strcmp(z->m[i].uri, uri) == 0) {
            memset(id, 0, sizeof *id);
            id->ino = i + 1;
            id->size = z->m[i].n;
            *handle = &z->m[i];
            return AX_OK;
        }
    return ax_fail(t, AX_ENOFILE, "no such file");
}

static void dir_close(void *self, void *handle)
{
    (void)self;
    (void)handle;
}

static ax_status dir_start(void *self, void *handle, uint64_t off, uint64_t len, uint8_t *dst,
                           void *token)
{
    fuzz *z = self;
    member *m = handle;

    memcpy(dst, m->bytes + off, len);
    ax_io_complete(z->io, token, AX_OK, NULL);
    return AX_OK;
}

static ax_status dir_list(ax_task *t, void *self, const char *uri, bool recursive,
                          ax_io_entry **out, uint32_t *n)
{
    fuzz *z = self;

    (void)uri;
    (void)recursive;
    AX_NEW(t, *out, ax_arena_alloc0(t->arena, (z->n + 1) * sizeof **out));
    for (uint32_t i = 0; i < z->n; i++)
        (*out)[i] = (ax_io_entry){.path = z->m[i].uri, .size = z->m[i].n};
    *n = z->n;
    return AX_OK;
}

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

static void read_columns(fuzz *z, uint32_t from, uint32_t to, bool json)
{
    const ax_schema *s = &z->f->schema;
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_colspec col[8] = {0};
    ax_bind_opts opts = {.match_by = AX_BY_POSITION};
    ax_fmt_bind *bind;
    uint32_t n = 0;

    for (uint32_t i = from; i < to && n < 8; i++)
        if (s->field[i].refusal == NULL) {
            col[n] = (ax_colspec){
                .name = s->field[i].name, .field_id = -1, .position = i, .type = s->field[i].type};
            if (json && col[n].type.id == AX_T_LIST)
                col[n].type = ax_type_make(AX_T_JSONB);
            n++;
        }
    if (a != NULL && n > 0 &&
        z->f->format->bind(&z->t, a, z->f, col, n, &opts, &bind) == AX_OK)
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

        if (a != NULL && fmt->facts_begin(&z->t, a, z->f, i, &op) == AX_OK)
            (void)!ax_fmt_drive(&z->t, z->io, fmt, op, facts_batch, &sum, NULL);
        ax_error_clear(&z->t.err);
        ax_arena_destroy(a);
    }
}

static void open_part(fuzz *z)
{
    const ax_format *fmt = ax_format_find("mergetree");
    ax_fmt_input in = {.meta_budget = &z->budget,
                       .uri = "part://p",
                       .options = "primary_key=id, s, toYYYYMM(d)\nindex_granularity=50"};
    ax_fmt_event ev;
    ax_fmt_op *op;

    /* Facts are wanted of parts whose checksums are wrong, too. */
    if (z->n % 2 == 1)
        in.options = "checksums=shown\nindex_granularity=50";
    if (fmt->open_begin(&z->t, z->t.arena, &in, &op) != AX_OK ||
        ax_fmt_drive(&z->t, z->io, fmt, op, NULL, NULL, &ev) != AX_OK)
        return;
    z->f = ev.file;
    read_facts(z);
    uint32_t n = z->f->schema.n;
    for (uint32_t i = 0; i < n && i < 48; i++)
        read_columns(z, i, i + 1, i % 2 == 0);
    read_columns(z, 0, n, false);
    ax_fmt_file_unref(z->f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz z = {0};
    ax_io_backend b = {.scheme = "part",
                       .open = dir_open,
                       .close = dir_close,
                       .start = dir_start,
                       .list = dir_list,
                       .self = &z};

    ax_budget_init(&z.budget, "fuzz", MEMORY_BYTES, NULL);
    if (ax_task_init(&z.t, &z.budget, NULL) != AX_OK || ax_io_create(&z.io, 64) != AX_OK ||
        ax_io_register(z.io, &b) != AX_OK)
        abort();
    unpack(&z, data, size);
    open_part(&z);
    ax_task_fini(&z.t);
    ax_io_destroy(z.io);
    for (uint32_t i = 0; i < z.n; i++)
        free(z.m[i].bytes);
    /* Whatever was charged is released again. */
    if (atomic_load(&z.budget.used_bytes) != 0)
        abort();
    return 0;
}
