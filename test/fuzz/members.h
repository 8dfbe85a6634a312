/* Files as the input of a fuzz target: a row of members, each u8 length of the name, name,
 * u32 length, bytes.  They lie in a scheme of their own, which the target's backend lists. */
#ifndef FUZZ_MEMBERS_H
#define FUZZ_MEMBERS_H

#include "base/bytes.h"
#include "format/format.h"
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY_BYTES = 256 << 20, MEMBERS = 96 };

typedef struct member {
    char uri[280];
    uint8_t *bytes; /* owned */
    uint32_t n;
} member;

typedef struct fuzz {
    ax_budget budget;
    ax_task t;
    ax_io *io;
    member m[MEMBERS];
    uint32_t n;
    const uint8_t *head; /* of the input, before the members */
    ax_fmt_file *f;
} fuzz;

/* root ends with a slash; names may have slashes if `deep`.  Ends at the first that is none. */
static void unpack(fuzz *z, const char *root, bool deep, const uint8_t *p, size_t n)
{
    size_t at = strlen(root);

    while (n >= 5 && z->n < MEMBERS) {
        size_t len = p[0], size;
        member *m = &z->m[z->n];
        const char *slash;

        if (len == 0 || n < 1 + len + 4)
            return;
        memcpy(m->uri, root, at);
        memcpy(m->uri + at, p + 1, len);
        m->uri[at + len] = '\0';
        slash = strchr(m->uri + at, '/');
        if (strlen(m->uri) != at + len || (deep ? slash == m->uri + at : slash != NULL))
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
        p += size;
        n -= size;
        z->n++;
    }
}

static ax_status member_open(ax_task *t, void *self, const char *uri, void **handle, ax_io_id *id)
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

static void member_close(void *self, void *handle)
{
    (void)self;
    (void)handle;
}

static ax_status member_start(void *self, void *handle, uint64_t off, uint64_t len, uint8_t *dst,
                              void *token)
{
    fuzz *z = self;
    member *m = handle;

    memcpy(dst, m->bytes + off, len);
    ax_io_complete(z->io, token, AX_OK, NULL);
    return AX_OK;
}

/* Let `use` work on the members of z, as b (scheme, list) has them, and see that all memory came
 * back. */
static void members_run(fuzz *z, ax_io_backend b, void (*use)(fuzz *))
{
    b.open = member_open;
    b.close = member_close;
    b.start = member_start;
    b.self = z;
    ax_budget_init(&z->budget, "fuzz", MEMORY_BYTES, NULL);
    if (ax_task_init(&z->t, &z->budget, NULL) != AX_OK || ax_io_create(&z->io, 64) != AX_OK ||
        ax_io_register(z->io, &b) != AX_OK)
        abort();
    use(z);
    ax_task_fini(&z->t);
    ax_io_destroy(z->io);
    for (uint32_t i = 0; i < z->n; i++)
        free(z->m[i].bytes);
    /* Whatever was charged is released again. */
    if (atomic_load(&z->budget.used_bytes) != 0)
        abort();
}

#endif
