/* Where a MergeTree table lies: the input is a tree of files, in which a table is looked for: in
 * backups (`.backup`, archives), disks (metadata, `prefix.path`), data directories of servers.
 *
 *      u8 path  u8 options  { u8 length, name with slashes, u32 length, bytes } ...
 *
 * Files that are found must lie in the tree by their names. */
#include "lake/mergetree_int.h"

#include "members.h"

enum { MAX_STEPS = 4096 };

#define ROOT "mem://p"

/* Files below uri, and the directories in it, each once. */
static ax_status tree_list(ax_task *t, void *self, const char *uri, bool recursive,
                           ax_io_entry **out, uint32_t *n)
{
    fuzz *z = self;
    size_t len = strlen(uri);

    *n = 0;
    while (len > 0 && uri[len - 1] == '/')
        len--;
    AX_NEW(t, *out, ax_arena_alloc0(t->arena, (z->n + 1) * sizeof **out));
    for (uint32_t i = 0; i < z->n; i++) {
        const char *path = z->m[i].uri, *slash;
        bool known = false;

        if (strncmp(path, uri, len) != 0 || path[len] != '/')
            continue;
        slash = strchr(path + len + 1, '/');
        if (recursive || slash == NULL) {
            (*out)[(*n)++] = (ax_io_entry){.path = path, .size = z->m[i].n};
            continue;
        }
        AX_NEW(t, path, ax_arena_strndup(t->arena, path, (size_t)(slash - path)));
        for (uint32_t k = 0; k < *n && !known; k++)
            known = strcmp((*out)[k].path, path) == 0;
        if (!known)
            (*out)[(*n)++] = (ax_io_entry){.path = path, .is_dir = true};
    }
    return *n > 0 ? AX_OK : ax_fail(t, AX_ENOFILE, "no such directory");
}

/* ---- the search ---- */

static bool below(const char *path)
{
    return strncmp(path, ROOT "/", sizeof ROOT) == 0 && strstr(path, "/../") == NULL;
}

/* Nothing that was found is outside, neither a part nor a file of one (lines "file=..."). */
static void look(const ax_lake_file *f, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!below(f[i].path) && strcmp(f[i].path, ROOT) != 0)
            abort();
        for (const char *p = f[i].options; p != NULL; p = strchr(p, '\n')) {
            const char *up;

            p += *p == '\n';
            up = strncmp(p, "file=", 5) == 0 ? strstr(p, "/../") : NULL;
            if (up != NULL && up < p + strcspn(p, "\n"))
                abort();
        }
    }
}

static void search(fuzz *z, const char *path, const char *options)
{
    const ax_format *fmt = ax_format_find("mergetree");
    ax_lake_spec spec = {.path = &path, .npaths = 1, .format = fmt, .options = options};
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_lake_op *op = NULL;
    ax_status st = AX_ENOMEM;

    if (a != NULL)
        st = ax_lake_begin(&z->t, a, &spec, &op);
    for (int i = 0; st == AX_OK; i++) {
        ax_lake_event ev = {0};
        ax_io_ready ready;

        if (i == MAX_STEPS)
            abort(); /* it goes in circles */
        st = ax_lake_step(&z->t, op, &ev);
        if (st == AX_OK && ev.step == AX_STEP_DONE) {
            look(ev.file, ev.nfiles);
            break;
        }
        if (st == AX_OK)
            st = ax_io_fetch(&z->t, z->io, &ev.need, NULL, &ready);
    }
    ax_lake_end(op);
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
}

/* The headers of an archive, in windows as a search asks for them; its members lie inside.  (Slices
 * of files are the local file system's, so that a search ends there.) */
static void take_archive(fuzz *z, const member *m)
{
    ax_arena *a = ax_arena_create(&z->budget, 0);
    ax_tar tar = {.arena = a, .window = 512};
    ax_status st = a != NULL ? AX_OK : AX_ENOMEM;

    while (st == AX_OK && !tar.done && tar.pos < m->n) {
        uint64_t pos = tar.pos, left = m->n - pos;

        st = ax_tar_take(&z->t, &tar, m->bytes + pos, left < tar.window ? left : tar.window, m->n);
        if (st == AX_OK && !tar.done && tar.pos == pos)
            break; /* a name that is longer than the window */
    }
    for (uint32_t i = 0; st == AX_OK && i < tar.n; i++)
        if (tar.off[i] > m->n || tar.file[i].size > m->n - tar.off[i])
            abort();
    ax_error_clear(&z->t.err);
    ax_arena_destroy(a);
}

static void use(fuzz *z)
{
    static const char *const paths[] = {ROOT, ROOT "/t", ROOT "/metadata", ROOT "/a.tar",
                                        ROOT "/b2", ROOT "/store"};
    static const char *const options[] = {
        NULL, "table_name=w.t\n", "list=\n", "objects=" ROOT "/bucket/data\n",
        "objects=" ROOT "/bucket/data\ntable_name=w.t\n", "base_backup=" ROOT "/b1\n",
        "definition=" ROOT "/t.sql\n",
        "table_name=00000000-0000-0000-0000-000000000001\n"};

    search(z, paths[z->head[0] % (sizeof paths / sizeof paths[0])],
           options[z->head[1] % (sizeof options / sizeof options[0])]);
    for (uint32_t i = 0; i < z->n; i++)
        if (strcmp(z->m[i].uri, ROOT "/a.tar") == 0)
            take_archive(z, &z->m[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz z = {.head = data};

    if (size < 2)
        return 0;
    unpack(&z, ROOT "/", true, data + 2, size - 2);
    members_run(&z, (ax_io_backend){.scheme = "mem", .list = tree_list}, use);
    return 0;
}
