/* A MergeTree part as the input of a fuzz target: a row of members, each u8 length of the name,
 * name, u32 length, bytes.  They make a directory of a scheme of its own.  Checksums of frames are
 * put right, so that mutations get behind them. */
#ifndef FUZZ_MERGETREE_DIR_H
#define FUZZ_MERGETREE_DIR_H

#include "format/mergetree/mergetree_int.h"

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

    /* Of indexes those of the table's own, not the primary one and bounds of columns. */
    return dot != NULL && (strcmp(dot, ".bin") == 0 || strcmp(dot, ".cidx") == 0 ||
                           (strncmp(dot, ".idx", 4) == 0 && strncmp(name, "skp_", 4) == 0) ||
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
        if (has_frames(m->uri + 9))
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

/* Make the directory, let `use` work on it, and see that all memory came back. */
static void fuzz_run(const uint8_t *data, size_t size, void (*use)(fuzz *))
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
    use(&z);
    ax_task_fini(&z.t);
    ax_io_destroy(z.io);
    for (uint32_t i = 0; i < z.n; i++)
        free(z.m[i].bytes);
    /* Whatever was charged is released again. */
    if (atomic_load(&z.budget.used_bytes) != 0)
        abort();
}

#endif
