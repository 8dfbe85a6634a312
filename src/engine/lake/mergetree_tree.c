/* Trees of files whose names and places differ: one table cut out of a backup, an archive, a disk.
 *
 * A part in such a tree is told its files by lines of options: file=<size> <name>\t<uri>. */
#include "lake/mergetree_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ax_status ax_path_join(ax_task *t, ax_arena *a, const char *dir, const char *name, const char **out)
{
    size_t n = strlen(dir), len = strlen(name);
    char *p;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    AX_NEW(t, p, (char *) ax_arena_alloc(a, n + len + 2));
    memcpy(p, dir, n);
    if (n > 0 && dir[n - 1] != '/')
        p[n++] = '/';
    memcpy(p + n, name, len + 1);
    *out = p;
    return AX_OK;
}

const char *ax_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool ax_tree_name_ok(const char *name)
{
    if (name[0] == '/' || name[0] == '\0')
        return false;
    for (const char *p = name; p != NULL && *p != '\0'; p = strchr(p, '/'))
    {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return false;
        if (*p == '\0')
            break;
    }
    for (const char *p = name; *p != '\0'; p++)
        if ((unsigned char) *p < 0x20)
            return false;
    return true;
}

ax_status ax_tree_add(ax_task *t, ax_tree *tree, const char *name, const char *uri, uint64_t size)
{
    AX_CHECK(t, ax_tree_name_ok(name), AX_ECORRUPT, "a file's name leads out of its directory");
    if (tree->n == tree->cap)
    {
        uint32_t cap = tree->cap == 0 ? 256 : tree->cap * 2;
        ax_tree_file *grown;

        AX_CHECK(t, cap < (1u << 28), AX_ELIMIT, "too many files");
        AX_NEW(t, grown, (ax_tree_file *) ax_arena_alloc(tree->arena, cap * sizeof *grown));
        if (tree->n > 0)
            memcpy(grown, tree->file, tree->n * sizeof *grown);
        tree->file = grown;
        tree->cap = cap;
    }
    tree->file[tree->n++] = (ax_tree_file){name, uri, size};
    return AX_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ax_tree_file *) a)->name, ((const ax_tree_file *) b)->name);
}

void ax_tree_sort(ax_tree *tree)
{
    if (tree->n > 1)
        qsort(tree->file, tree->n, sizeof *tree->file, by_name);
}

const ax_tree_file *ax_tree_find(const ax_tree *tree, const char *name)
{
    const ax_tree_file key = {.name = name};

    return tree->n == 0 ? NULL : (const ax_tree_file *) bsearch(&key, tree->file, tree->n,
                                                                sizeof key, by_name);
}

uint32_t ax_tree_from(const ax_tree *tree, const char *key, size_t n)
{
    uint32_t lo = 0, hi = tree->n;

    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (strncmp(tree->file[mid].name, key, n) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Length of data/<database>/<table>/ or store/<xxx>/<uuid>/ in front of a name; 0: none. */
static size_t table_dir(const ax_tree *tree, const char *name, size_t *first)
{
    const char *p = name, *a, *b;

    /* Who names store/ itself has it in front of all. */
    if (strcmp(ax_path_base(tree->root), "store") != 0)
    {
        if (strncmp(name, "data/", 5) != 0 && strncmp(name, "store/", 6) != 0)
            return 0;
        p = strchr(name, '/') + 1;
    }
    a = strchr(p, '/');
    b = a != NULL ? strchr(a + 1, '/') : NULL;
    if (b == NULL)
        return 0;
    *first = (size_t) (p - name);
    return (size_t) (b + 1 - name);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Names of databases and tables in paths: %XX stands for other bytes than letters and digits. */
static char *unescape(char *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '%' && i + 2 < n && hex_digit(s[i + 1]) >= 0 && hex_digit(s[i + 2]) >= 0)
        {
            *out++ = (char) (hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2]));
            i += 2;
        }
        else
            *out++ = s[i];
    *out = '\0';
    return out;
}

/* Does `wanted` mean the table whose directory is dir[n]? */
static ax_status means(ax_task *t, ax_arena *a, const char *dir, size_t n, size_t first,
                       const char *wanted, bool *yes)
{
    const char *slash = memchr(dir + first, '/', n - first);
    size_t ndb = (size_t) (slash - dir) - first, ntable = n - first - ndb - 2;
    char *label, *table;

    AX_NEW(t, label, (char *) ax_arena_alloc(a, n + 2));
    table = unescape(label, dir + first, ndb);
    *table++ = '.';
    unescape(table, slash + 1, ntable);
    *yes = strcmp(label, wanted) == 0 || strcmp(table, wanted) == 0;
    return AX_OK;
}

ax_status ax_path_unescape(ax_task *t, ax_arena *a, const char *s, size_t n, const char **out)
{
    char *p;

    AX_NEW(t, p, (char *) ax_arena_alloc(a, n + 1));
    unescape(p, s, n);
    *out = p;
    return AX_OK;
}

ax_status ax_tree_tables(ax_task *t, const ax_tree *tree, ax_site_table **out, uint32_t *n)
{
    const char *last = NULL;
    size_t nlast = 0, first = 0;

    *n = 0;
    AX_NEW(t, *out, (ax_site_table *) ax_arena_alloc0(tree->arena, (tree->n + 1u) * sizeof **out));
    for (uint32_t i = 0; i < tree->n; i++)
    {
        const char *name = tree->file[i].name, *slash;
        size_t len = table_dir(tree, name, &first);
        ax_site_table *table = &(*out)[*n];
        const ax_tree_file *f;
        char *sql;

        if (len == 0 || (last != NULL && len == nlast && strncmp(name, last, len) == 0))
            continue;
        last = name;
        nlast = len;
        ++*n;
        slash = strchr(name + first, '/');
        AX_TRY(ax_path_unescape(t, tree->arena, slash + 1, (size_t) (name + len - slash) - 2,
                                &table->name));
        if (strncmp(name, "data/", 5) != 0)
            continue;
        AX_TRY(ax_path_unescape(t, tree->arena, name + first, (size_t) (slash - name) - first,
                                &table->database));
        AX_NEW(t, sql, (char *) ax_arena_alloc(tree->arena, len + 16));
        snprintf(sql, len + 16, "metadata/%.*s.sql", (int) (len - 6), name + 5);
        f = ax_tree_find(tree, sql);
        table->definition = f != NULL ? f->uri : NULL;
    }
    return AX_OK;
}

ax_status ax_tree_table(ax_task *t, const ax_tree *tree, const char *wanted, const char **prefix)
{
    const char *last = NULL;
    size_t nlast = 0, first = 0;
    uint32_t hits = 0;

    *prefix = NULL;
    for (uint32_t i = 0; i < tree->n; i++)
    {
        const char *name = tree->file[i].name;
        size_t n = table_dir(tree, name, &first);
        bool yes = true;

        if (n == 0 || (last != NULL && n == nlast && strncmp(name, last, n) == 0))
            continue;
        last = name;
        nlast = n;
        if (wanted != NULL)
            AX_TRY(means(t, tree->arena, name, n, first, wanted, &yes));
        hits += yes;
        if (yes)
            AX_NEW(t, *prefix, ax_arena_strndup(tree->arena, name, n));
    }
    AX_CHECK(t, hits <= 1, AX_EOPTION,
             "there are several tables: option table_name must say which");
    AX_CHECK(t, hits == 1 || wanted == NULL, AX_ENOFILE, "there is no table \"%s\"", wanted);
    AX_CHECK(t, hits == 1, AX_ENOFILE, "there is no table");
    return AX_OK;
}

/* ---- sites ----------------------------------------------------------------------------------- */

/* Lines for the files [from, to), which are those of one directory whose name is n bytes long. */
static ax_status lines(ax_task *t, const ax_tree *tree, uint32_t from, uint32_t to, size_t n,
                       const char **out)
{
    size_t room = 1;
    char *s, *at;

    for (uint32_t i = from; i < to; i++)
        room += strlen(tree->file[i].name) - n + 64 +
                strlen(tree->file[i].uri != NULL ? tree->file[i].uri : tree->stat);
    AX_NEW(t, s, (char *) ax_arena_alloc(tree->arena, room));
    at = s;
    *at = '\0';
    for (uint32_t i = from; i < to; i++)
    {
        const ax_tree_file *f = &tree->file[i];

        if (strchr(f->name + n, '/') != NULL)
            continue; /* of a projection */
        at += snprintf(at, 32, "file=%llu ", (unsigned long long) f->size);
        at = stpcpy(at, f->name + n);
        /* What has no bytes is opened all the same. */
        at = stpcpy(at, f->uri != NULL ? "\t" : "\tslice://0+0/");
        at = stpcpy(at, f->uri != NULL ? f->uri : tree->stat);
        at = stpcpy(at, "\n");
    }
    *out = s;
    return AX_OK;
}

static ax_status add_dir(ax_task *t, const ax_tree *tree, uint32_t from, uint32_t to,
                         size_t nprefix, size_t n, ax_site *out)
{
    ax_site_dir *d = &out->dir[out->ndirs++];
    const char *dir;

    AX_NEW(t, dir, ax_arena_strndup(tree->arena, tree->file[from].name, n - 1));
    d->name = dir + nprefix;
    AX_TRY(ax_path_join(t, tree->arena, tree->root, dir, &d->path));
    if (!tree->moved)
        return AX_OK;
    d->stat = tree->stat;
    return lines(t, tree, from, to, n, &d->files);
}

ax_status ax_tree_site(ax_task *t, const ax_tree *tree, const char *prefix, ax_site *out)
{
    size_t nprefix = strlen(prefix), n;
    uint32_t to;

    AX_NEW(t, out->dir, (ax_site_dir *) ax_arena_alloc0(tree->arena, (tree->n + 1u) *
                                                                          sizeof *out->dir));
    AX_NEW(t, out->file, (ax_site_file *) ax_arena_alloc0(tree->arena, (tree->n + 1u) *
                                                                            sizeof *out->file));
    for (uint32_t i = 0; i < tree->n; i = to)
    {
        const ax_tree_file *f = &tree->file[i];
        const char *slash;

        to = i + 1;
        if (strncmp(f->name, prefix, nprefix) != 0)
            continue;
        slash = strchr(f->name + nprefix, '/');
        if (slash == NULL)
        {
            if (f->uri != NULL)
                out->file[out->nfiles++] = (ax_site_file){f->uri, f->name + nprefix};
            continue;
        }
        n = (size_t) (slash + 1 - f->name);
        while (to < tree->n && strncmp(tree->file[to].name, f->name, n) == 0)
            to++;
        AX_TRY(add_dir(t, tree, i, to, nprefix, n, out));
    }
    return AX_OK;
}
