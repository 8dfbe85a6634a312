/* Files, directories and globs.
 *
 *   PATH  STAT   a file: found; a directory: ALL; nothing: a pattern, walked from its fixed
 *                beginning, or an error
 *   ALL   LIST, recursive        every file below, by suffix
 *   LEVEL LIST of one directory  names that match the first name of what is left of a pattern:
 *                                files when it is the last one, else directories to walk on in
 *   DEEP  LIST, recursive        paths below that match all that is left, from a `**` on
 *   LEAF  STAT                   what a pattern ends with, when that needs no matching
 *
 * Names of a pattern that stand for themselves are appended without asking.  What has to be asked
 * lies on a stack, from which each step takes up to ROUND_CNT things at once. */
#include "lake/lake_int.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define ROUND_CNT 32u

typedef enum what { PATH, ALL, LEVEL, DEEP, LEAF } what;

typedef struct item
{
    uint8_t what;
    bool must;        /* nothing there is an error */
    const char *path; /* "": the working directory */
    const char *rest; /* LEVEL, DEEP: of the pattern */
} item;

typedef struct files_op
{
    ax_lake_op base;
    const ax_lake_spec *spec; /* borrowed */
    ax_arena *keep;           /* owned: this struct, the stack */
    ax_arena *round;          /* owned: answers of one round */
    ax_lake_list list;
    item *todo;               /* [ntodo], room for cap */
    uint32_t ntodo, cap;
    item now[ROUND_CNT];      /* [nnow] asked by req of the same index */
    ax_io_req req[ROUND_CNT];
    ax_io_id id[ROUND_CNT];
    uint32_t nnow;
} files_op;

static ax_status push(ax_task *t, files_op *op, item it)
{
    if (op->ntodo == op->cap)
    {
        uint32_t cap = op->cap == 0 ? 32 : op->cap * 2;
        item *grown;

        AX_CHECK(t, op->cap < (1u << 30), AX_ELIMIT, "too many directories");
        AX_NEW(t, grown, (item *) ax_arena_alloc(op->keep, cap * sizeof *grown));
        if (op->ntodo > 0)
            memcpy(grown, op->todo, op->ntodo * sizeof *grown);
        op->todo = grown;
        op->cap = cap;
    }
    op->todo[op->ntodo++] = it;
    return AX_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Does a path below a listed directory have a component that writers of lakes hide? */
static bool hidden(const char *below)
{
    for (const char *p = below; p != NULL; p = strchr(p, '/'))
    {
        while (*p == '/')
            p++;
        if (*p == '_' || *p == '.')
            return true;
    }
    return false;
}

static bool has_suffix(const char *path, const ax_format *format)
{
    size_t len = strlen(path);

    if (format == NULL || format->suffixes == NULL)
        return true;
    for (const char *s = format->suffixes; *s != '\0';)
    {
        size_t n = strcspn(s, " ");

        if (n > 0 && len > n && path[len - n - 1] == '.' &&
            strncasecmp(path + len - n, s, n) == 0)
            return true;
        s += n;
        s += strspn(s, " ");
    }
    return false;
}

/* The part of a listed path below the directory that was listed. */
static const char *below_of(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    while (n > 0 && dir[n - 1] == '/')
        n--;
    path += dir[0] != '\0' ? n : 1; /* "./name" */
    while (*path == '/')
        path++;
    return path;
}

static const char *skip_slashes(const char *p)
{
    while (*p == '/')
        p++;
    return p;
}

static ax_status join(ax_task *t, ax_arena *a, const char *dir, const char *name, size_t n,
                      const char **out)
{
    size_t ndir = strlen(dir);
    char *path;

    AX_NEW(t, path, (char *) ax_arena_alloc(a, ndir + n + 2));
    memcpy(path, dir, ndir);
    if (ndir > 0 && dir[ndir - 1] != '/')
        path[ndir++] = '/';
    memcpy(path + ndir, name, n);
    path[ndir + n] = '\0';
    *out = path;
    return AX_OK;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Go on with a pattern in a directory.  Both stay until the operation ends. */
static ax_status walk(ax_task *t, files_op *op, const char *dir, const char *rest)
{
    for (;;)
    {
        size_t n = ax_glob_first(rest);

        if (*rest == '\0') /* a pattern that ends with a slash names directories */
            return push(t, op, (item){ALL, false, dir, NULL});
        if (n == 0)
            return push(t, op, (item){DEEP, false, dir, rest});
        if (!ax_glob_is_literal(rest, n))
            return push(t, op, (item){LEVEL, false, dir, rest});
        AX_TRY(join(t, op->keep, dir, rest, n, &dir));
        if (rest[n] == '\0')
            return push(t, op, (item){LEAF, false, dir, NULL});
        rest = skip_slashes(rest + n);
    }
}

/* Cut a pattern before its first name with magic, and walk from there. */
static ax_status walk_begin(ax_task *t, files_op *op, const char *pattern)
{
    const char *scheme = strstr(pattern, "://"), *dir;
    size_t root = scheme != NULL ? (size_t) (scheme - pattern) + 3 : 0;
    size_t n = strcspn(pattern, "*?[{\\"), ndir;

    while (n > 0 && pattern[n - 1] != '/')
        n--;
    AX_CHECK(t, n > root || (n == 0 && scheme == NULL), AX_EOPTION,
             "a pattern cannot stand for a host or bucket");
    for (ndir = n; ndir > root + 1 && pattern[ndir - 1] == '/';)
        ndir--;
    AX_NEW(t, dir, ax_arena_strndup(op->keep, pattern, ndir));
    return walk(t, op, dir, pattern + n);
}

/* ---- answers --------------------------------------------------------------------------------- */

static ax_status fail_nothing(ax_task *t, const char *path)
{
    bool first = t->err.code == AX_OK;
    ax_status st = ax_fail(t, AX_ENOFILE, "could not open file: no such file or directory");

    if (first)
        t->err.os_errno = ENOENT;
    ax_note_file(t, path);
    return st;
}

static ax_status add_asked(ax_task *t, files_op *op, uint32_t i)
{
    const ax_io_id *id = &op->id[i];

    return ax_lake_list_add(t, &op->list,
                            &(ax_lake_file){.path = op->now[i].path,
                                            .listed = true,
                                            .size = id->size,
                                            .mtime_ns = id->mtime_ns,
                                            .etag = id->etag[0] != '\0' ? id->etag : NULL});
}

static ax_status add_listed(ax_task *t, files_op *op, const char *path, const ax_io_entry *e)
{
    return ax_lake_list_add(t, &op->list,
                            &(ax_lake_file){.path = path,
                                            .listed = true,
                                            .size = e->size,
                                            .mtime_ns = e->mtime_ns,
                                            .etag = e->etag});
}

static ax_status asked_path(ax_task *t, files_op *op, uint32_t i)
{
    const item *it = &op->now[i];

    if (!op->req[i].found && it->what == LEAF)
        return AX_OK;
    if (!op->req[i].found && ax_glob_has_magic(it->path))
        return walk_begin(t, op, it->path);
    if (!op->req[i].found)
        return it->must ? fail_nothing(t, it->path) : AX_OK;
    if (!op->req[i].is_dir)
        return add_asked(t, op, i);
    return it->what == PATH ? push(t, op, (item){ALL, false, it->path, NULL}) : AX_OK;
}

/* One entry of a listing. */
static ax_status listed_one(ax_task *t, files_op *op, const item *it, const char *first, size_t n,
                            const ax_io_entry *e)
{
    const char *below = below_of(e->path, it->path);
    const char *path = it->path[0] != '\0' ? e->path : below;
    bool last;

    if (it->what != LEVEL)
    {
        if (e->is_dir || hidden(below) ||
            !(it->what == ALL ? has_suffix(below, op->spec->format)
                              : ax_glob_match(it->rest, below)))
            return AX_OK;
        return add_listed(t, op, path, e);
    }
    last = it->rest[n] == '\0';
    if (e->is_dir == last || (hidden(below) && below[0] != first[0]) ||
        !ax_glob_match(first, below))
        return AX_OK;
    if (last)
        return add_listed(t, op, path, e);
    AX_NEW(t, path, ax_arena_strndup(op->keep, path, strlen(path)));
    return walk(t, op, path, skip_slashes(it->rest + n));
}

static ax_status listed(ax_task *t, files_op *op, uint32_t i)
{
    const item *it = &op->now[i];
    const ax_io_req *r = &op->req[i];
    const char *first = "";
    size_t n = 0;

    if (!r->found)
        return it->must ? fail_nothing(t, it->path) : AX_OK;
    if (it->what == LEVEL)
    {
        n = ax_glob_first(it->rest);
        AX_NEW(t, first, ax_arena_strndup(op->round, it->rest, n));
    }
    for (uint32_t k = 0; k < r->nentries; k++)
    {
        if (ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        AX_TRY(listed_one(t, op, it, first, n, &r->entries[k]));
    }
    return AX_OK;
}

/* ---- the operation --------------------------------------------------------------------------- */

static void end(ax_lake_op *base)
{
    files_op *op = (files_op *) base;

    ax_arena_destroy(op->round);
    ax_arena_destroy(op->keep);
}

static ax_status push_paths(ax_task *t, files_op *op)
{
    bool must = !op->spec->allow_none;

    for (uint32_t i = 0; i < op->spec->npaths; i++)
    {
        const char *path = op->spec->path[i];
        size_t n = strlen(path);

        if (n > 0 && path[n - 1] == '/' && !ax_glob_has_magic(path))
            AX_TRY(push(t, op, (item){ALL, must, path, NULL}));
        else
            AX_TRY(push(t, op, (item){PATH, must, path, NULL}));
    }
    return AX_OK;
}

static ax_status begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out)
{
    ax_arena *keep;
    files_op *op;
    ax_status st = AX_OK;

    AX_NEW(t, keep, ax_arena_create(ax_arena_budget(a), 0));
    op = (files_op *) ax_arena_alloc0(keep, sizeof *op);
    if (op == NULL)
    {
        ax_arena_destroy(keep);
        return ax_fail_nomem(t, sizeof *op);
    }
    op->keep = keep;
    op->spec = spec;
    op->list.arena = a;
    op->round = ax_arena_create(ax_arena_budget(a), 0);
    st = op->round != NULL ? push_paths(t, op) : ax_fail_nomem(t, 0);
    if (st == AX_OK)
        *out = &op->base;
    else
        end(&op->base);
    return st;
}

static void ask_next(files_op *op)
{
    op->nnow = 0;
    while (op->nnow < ROUND_CNT && op->ntodo > 0)
    {
        uint32_t i = op->nnow++;
        item it = op->todo[--op->ntodo];
        bool stat = it.what == PATH || it.what == LEAF;

        op->now[i] = it;
        op->req[i] = (ax_io_req){.kind = stat ? AX_IO_STAT : AX_IO_LIST,
                                 .uri = it.path[0] != '\0' || stat ? it.path : ".",
                                 .recursive = it.what != LEVEL,
                                 .id = &op->id[i],
                                 .arena = op->round};
    }
}

static ax_status step(ax_task *t, ax_lake_op *base, ax_lake_event *ev)
{
    files_op *op = (files_op *) base;

    for (uint32_t i = 0; i < op->nnow; i++)
        if (op->req[i].kind == AX_IO_STAT)
            AX_TRY(asked_path(t, op, i));
        else
            AX_TRY(listed(t, op, i));
    ax_arena_reset(op->round);
    ask_next(op);
    if (op->nnow > 0)
    {
        ev->step = AX_STEP_NEED;
        ev->need = (ax_io_need){op->req, op->nnow};
        return AX_OK;
    }
    ax_lake_list_sort(&op->list);
    AX_TRY(ax_lake_hive(t, &op->list));
    ev->step = AX_STEP_DONE;
    ev->file = op->list.file;
    ev->nfiles = op->list.n;
    return AX_OK;
}

const ax_lake ax_lake_files = {"files", begin, step, end};
