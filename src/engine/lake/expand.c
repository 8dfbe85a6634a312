/* From paths to files: plain files, directories, globs. */
#include "lake/lake.h"

#include <stdlib.h>
#include <string.h>

/* Files found so far; grows in the caller's arena. */
typedef struct found
{
    ax_arena *a;
    ax_lake_file *file;
    uint32_t n, cap;
} found;

static ax_status add(ax_task *t, found *f, const char *path, uint64_t size, int64_t mtime_ns)
{
    ax_lake_file *e;

    if (f->n == f->cap)
    {
        uint32_t cap = f->cap == 0 ? 16 : f->cap * 2;
        ax_lake_file *grown;

        AX_CHECK(t, f->cap < (1u << 30), AX_ELIMIT, "too many files");
        AX_NEW(t, grown, (ax_lake_file *) ax_arena_alloc(f->a, cap * sizeof *grown));
        if (f->n > 0)
            memcpy(grown, f->file, f->n * sizeof *grown);
        f->file = grown;
        f->cap = cap;
    }
    e = &f->file[f->n];
    memset(e, 0, sizeof *e);
    AX_NEW(t, e->path, ax_arena_strndup(f->a, path, strlen(path)));
    e->size = size;
    e->mtime_ns = mtime_ns;
    f->n++;
    return AX_OK;
}

/* Does a name below `base` have a component that writers of lakes hide? */
static bool hidden(const char *path, size_t base_len)
{
    const char *p = path + base_len;

    while (*p == '/')
        p++;
    for (;;)
    {
        if (*p == '_' || *p == '.')
            return true;
        p = strchr(p, '/');
        if (p == NULL)
            return false;
        while (*p == '/')
            p++;
    }
}

static bool has_suffix(const char *path, const char *suffixes)
{
    size_t len = strlen(path);

    if (suffixes == NULL)
        return true;
    for (const char *s = suffixes; *s != '\0';)
    {
        size_t n = strcspn(s, " ");

        if (n > 0 && len > n && path[len - n - 1] == '.' && memcmp(path + len - n, s, n) == 0)
            return true;
        s += n;
        s += strspn(s, " ");
    }
    return false;
}

static ax_status add_directory(ax_task *t, ax_io *io, found *f, const char *path,
                               const char *suffixes)
{
    ax_io_entry *e;
    uint32_t n;

    AX_TRY(ax_io_list(t, io, path, true, &e, &n));
    for (uint32_t i = 0; i < n; i++)
        if (!e[i].is_dir && !hidden(e[i].path, strlen(path)) && has_suffix(e[i].path, suffixes))
            AX_TRY(add(t, f, e[i].path, e[i].size, e[i].mtime_ns));
    return AX_OK;
}

/* The folder in front of the first name with magic: where listing has to begin. */
static const char *glob_base(ax_arena *a, const char *pattern)
{
    size_t magic = strcspn(pattern, "*?[{");

    while (magic > 0 && pattern[magic - 1] != '/')
        magic--;
    if (magic == 0)
        return ax_arena_strndup(a, ".", 1);
    while (magic > 1 && pattern[magic - 1] == '/')
        magic--;
    return ax_arena_strndup(a, pattern, magic);
}

/* Can names below the base have slashes?  Else one level is enough. */
static bool glob_is_deep(const char *pattern)
{
    const char *magic = pattern + strcspn(pattern, "*?[{");

    return strchr(magic, '/') != NULL || strstr(magic, "**") != NULL;
}

static ax_status add_glob(ax_task *t, ax_io *io, found *f, const char *pattern)
{
    const char *base;
    ax_io_entry *e;
    ax_io_id id;
    uint32_t n;
    bool is_dir, here;
    ax_status st;

    AX_NEW(t, base, glob_base(t->arena, pattern));
    here = base[0] == '.' && base[1] == '\0' && pattern[0] != '.';
    st = ax_io_stat(t, io, base, &id, &is_dir);
    if (st == AX_ENOFILE)
    {
        ax_error_clear(&t->err); /* a pattern that matches nothing is no error */
        return AX_OK;
    }
    AX_TRY(st);
    if (!is_dir)
        return AX_OK;
    AX_TRY(ax_io_list(t, io, base, glob_is_deep(pattern), &e, &n));
    for (uint32_t i = 0; i < n; i++)
    {
        const char *path = e[i].path;

        if (here && strncmp(path, "./", 2) == 0)
            path += 2;
        if (e[i].is_dir || hidden(path, here ? 0 : strlen(base)) || !ax_glob_match(pattern, path))
            continue;
        AX_TRY(add(t, f, path, e[i].size, e[i].mtime_ns));
    }
    return AX_OK;
}

static ax_status add_path(ax_task *t, ax_io *io, found *f, const char *path, const char *suffixes)
{
    ax_io_id id;
    bool is_dir = false;
    ax_status st = ax_io_stat(t, io, path, &id, &is_dir);

    /* A file whose name only looks like a pattern is that file. */
    if (st == AX_ENOFILE && ax_glob_has_magic(path))
    {
        ax_error_clear(&t->err);
        return add_glob(t, io, f, path);
    }
    AX_TRY(st);
    if (is_dir)
        return add_directory(t, io, f, path, suffixes);
    return add(t, f, path, id.size, id.mtime_ns);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const ax_lake_file *) a)->path, ((const ax_lake_file *) b)->path);
}

ax_status ax_lake_expand(ax_task *t, ax_io *io, ax_arena *a, const char *const *paths,
                         uint32_t npaths, const char *suffixes, ax_lake_file **out, uint32_t *n)
{
    found f = {a, NULL, 0, 0};
    uint32_t kept = 0;

    *out = NULL;
    *n = 0;
    for (uint32_t i = 0; i < npaths; i++)
        AX_TRY(add_path(t, io, &f, paths[i], suffixes));
    if (f.n > 1)
        qsort(f.file, f.n, sizeof *f.file, by_path);
    for (uint32_t i = 0; i < f.n; i++)
        if (kept == 0 || strcmp(f.file[kept - 1].path, f.file[i].path) != 0)
            f.file[kept++] = f.file[i];
    *out = f.file;
    *n = kept;
    return AX_OK;
}
