/* A MergeTree part as the input of a fuzz target: its files are members (members.h) of a directory.
 * Checksums of frames are put right, so that mutations get behind them. */
#ifndef FUZZ_MERGETREE_DIR_H
#define FUZZ_MERGETREE_DIR_H

#include "format/mergetree/mergetree_int.h"
#include "members.h"

#define DIR_ROOT "part://p/"

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

    unpack(&z, DIR_ROOT, false, data, size);
    for (uint32_t i = 0; i < z.n; i++) {
        const char *name = z.m[i].uri + strlen(DIR_ROOT);

        if (has_frames(name))
            fix_frames(z.m[i].bytes, z.m[i].n);
        else if (strcmp(name, "checksums.txt") == 0 && z.m[i].n > 28)
            fix_frames(z.m[i].bytes + 28, z.m[i].n - 28);
    }
    members_run(&z, (ax_io_backend){.scheme = "part", .list = dir_list}, use);
}

#endif
