/* Files, directories and globs.
 *
 *   PATH  STAT   a file: found; a directory: ALL; nothing: a pattern, walked from its fixed
 *                beginning, or an error
 *   ALL   LIST, recursive        every file below, by suffix
 *   LEVEL LIST of one directory  names that match the first name of what is left of a pattern:
 *                                files when it is the last one, else directories to walk on in
 *   DEEP  LIST, recursive        paths below that match all that is left, from a `**` on
 *   LEAF  STAT                   what a pattern ends with, when that needs no matching
 *   WATCH STAT                   a directory that was listed, for who wants to see it change
 *   SIZE  STAT                   at the end: a file that came without a size, and is not remembered
 *
 * Names of a pattern that stand for themselves are appended without asking.  What has to be asked
 * lies on a stack, from which each step takes up to ROUND_CNT things at once. */
#include "lake/lake_int.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define ROUND_CNT 32u

/* A directory that was changed later than this before it was listed may change again and keep its
 * times: clocks of file systems tick as slowly as that. */
#define AT_REST_NS INT64_C(2000000000)

typedef enum what { PATH, ALL, LEVEL, DEEP, LEAF, WATCH, SIZE } what;

typedef struct item
{
    uint8_t what;
    bool must;        /* nothing there is an error; WATCH: it was there when it was listed */
    const char *path; /* "": the working directory */
    const char *rest; /* LEVEL, DEEP: of the pattern */
    uint32_t file;    /* SIZE: of the list */
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
    int64_t begin_ns;         /* by the clock of files */
    bool sorted;              /* all names are found, and the list is sorted */
    uint32_t sized;           /* then: files before this one have a size, or are under way */
    uint32_t known;           /* and what is remembered before this one has been looked at */
    ax_lake_watch *watch;     /* [nwatch] in the list's arena, room for watch_cap */
    uint32_t nwatch, watch_cap;
    bool watched;             /* so far */
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

/* ---- what the listing stands on -------------------------------------------------------------- */

static bool is_local(const char *path)
{
    return strstr(path, "://") == NULL || strncmp(path, "file://", 7) == 0;
}

/* A directory must have been at rest when the listing began: then a later change shows. */
static bool at_rest(const files_op *op, const ax_io_id *id)
{
    return id->mtime_ns < op->begin_ns - AT_REST_NS && id->ctime_ns < op->begin_ns - AT_REST_NS;
}

/* Note the answer to request i. */
static ax_status watch(ax_task *t, files_op *op, uint32_t i)
{
    const item *it = &op->now[i];
    ax_lake_watch *w;

    if (!op->watched)
        return AX_OK;
    if (op->nwatch == op->watch_cap)
    {
        uint32_t cap = op->watch_cap == 0 ? 4 : op->watch_cap * 2;

        AX_CHECK(t, op->watch_cap < (1u << 30), AX_ELIMIT, "too many directories");
        AX_NEW(t, w, (ax_lake_watch *) ax_arena_alloc(op->list.arena, cap * sizeof *w));
        if (op->nwatch > 0)
            memcpy(w, op->watch, op->nwatch * sizeof *w);
        op->watch = w;
        op->watch_cap = cap;
    }
    w = &op->watch[op->nwatch++];
    *w = (ax_lake_watch){.found = op->req[i].found,
                         .is_dir = op->req[i].found && op->req[i].is_dir,
                         .listed = it->what == WATCH && op->req[i].found,
                         .id = op->id[i]};
    AX_NEW(t, w->path, ax_arena_strndup(op->list.arena, it->path, strlen(it->path)));
    op->watched = is_local(it->path) && (it->what != WATCH || w->found == it->must) &&
                  (!w->listed || (w->is_dir && at_rest(op, &w->id)));
    return AX_OK;
}

/* Have the directories looked at that request i listed: its root, and those below it. */
static ax_status watch_listed(ax_task *t, files_op *op, uint32_t i)
{
    item it = op->now[i];
    const ax_io_req *r = &op->req[i];

    op->watched = op->watched && is_local(it.path);
    if (!op->watched)
        return AX_OK;
    it.path = it.path[0] != '\0' ? it.path : ".";
    AX_TRY(push(t, op, (item){.what = WATCH, .must = r->found, .path = it.path}));
    for (uint32_t k = 0; k < r->nentries && r->recursive; k++)
    {
        const ax_io_entry *e = &r->entries[k];
        const char *path;

        if (!e->is_dir || hidden(below_of(e->path, op->now[i].path)))
            continue;
        AX_NEW(t, path, ax_arena_strndup(op->keep, e->path, strlen(e->path)));
        AX_TRY(push(t, op, (item){.what = WATCH, .must = true, .path = path}));
    }
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
            return push(t, op, (item){.what = ALL, .path = dir});
        if (n == 0)
            return push(t, op, (item){.what = DEEP, .path = dir, .rest = rest});
        if (!ax_glob_is_literal(rest, n))
            return push(t, op, (item){.what = LEVEL, .path = dir, .rest = rest});
        AX_TRY(join(t, op->keep, dir, rest, n, &dir));
        if (rest[n] == '\0')
            return push(t, op, (item){.what = LEAF, .path = dir});
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
                                            .listed = !e->unsized,
                                            .size = e->size,
                                            .mtime_ns = e->mtime_ns,
                                            .etag = e->etag});
}

static ax_status asked_path(ax_task *t, files_op *op, uint32_t i)
{
    const item *it = &op->now[i];

    AX_TRY(watch(t, op, i));
    if (it->what == WATCH || (!op->req[i].found && it->what == LEAF))
        return AX_OK;
    if (!op->req[i].found && ax_glob_has_magic(it->path))
        return walk_begin(t, op, it->path);
    if (!op->req[i].found)
        return it->must ? fail_nothing(t, it->path) : AX_OK;
    if (!op->req[i].is_dir)
        return add_asked(t, op, i);
    return it->what == PATH ? push(t, op, (item){.what = ALL, .path = it->path}) : AX_OK;
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

    if (!r->found && it->must)
        return fail_nothing(t, it->path);
    AX_TRY(watch_listed(t, op, i));
    if (!r->found)
        return AX_OK;
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
            AX_TRY(push(t, op, (item){.what = ALL, .must = must, .path = path}));
        else
            AX_TRY(push(t, op, (item){.what = PATH, .must = must, .path = path}));
    }
    return AX_OK;
}

static ax_status begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out)
{
    struct timespec now;
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
    op->watched = true;
    clock_gettime(CLOCK_REALTIME, &now);
    op->begin_ns = (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
    op->list.arena = a;
    op->round = ax_arena_create(ax_arena_budget(a), 0);
    st = op->round != NULL ? push_paths(t, op) : ax_fail_nomem(t, 0);
    if (st == AX_OK)
        *out = &op->base;
    else
        end(&op->base);
    return st;
}

static void ask(files_op *op, item it)
{
    uint32_t i = op->nnow++;
    bool list = it.what == ALL || it.what == LEVEL || it.what == DEEP;

    op->now[i] = it;
    op->req[i] = (ax_io_req){.kind = list ? AX_IO_LIST : AX_IO_STAT,
                             .uri = it.path[0] != '\0' || !list ? it.path : ".",
                             .recursive = it.what != LEVEL,
                             .only_names = op->spec->known != NULL,
                             .id = &op->id[i],
                             .arena = op->round};
}

/* What is remembered of a file, or NULL; to be asked in the order of paths. */
static const ax_lake_known *recall(files_op *op, const char *path)
{
    const ax_lake_spec *spec = op->spec;
    int cmp = 1;

    while (op->known < spec->nknown &&
           (cmp = strcmp(spec->known[op->known].path, path)) < 0)
        op->known++;
    return op->known < spec->nknown && cmp == 0 ? &spec->known[op->known] : NULL;
}

/* Files that came without a size get the one that is remembered, or are looked at. */
static void ask_sizes(files_op *op)
{
    for (; op->nnow < ROUND_CNT && op->sized < op->list.n; op->sized++)
    {
        ax_lake_file *f = &op->list.file[op->sized];
        const ax_lake_known *k = f->listed ? NULL : recall(op, f->path);

        if (k != NULL)
            f->size = k->size;
        else if (!f->listed)
            ask(op, (item){.what = SIZE, .path = f->path, .file = op->sized});
    }
}

/* A file that is gone meanwhile stays on the list, as one that goes later does. */
static void sized(files_op *op, uint32_t i)
{
    ax_lake_file *f = &op->list.file[op->now[i].file];

    if (!op->req[i].found)
        return;
    f->listed = true;
    f->size = op->id[i].size;
    f->mtime_ns = op->id[i].mtime_ns;
}

static ax_status answered(ax_task *t, files_op *op, uint32_t i)
{
    if (op->now[i].what == SIZE)
        sized(op, i);
    else if (op->req[i].kind == AX_IO_STAT)
        return asked_path(t, op, i);
    else
        return listed(t, op, i);
    return AX_OK;
}

static ax_status step(ax_task *t, ax_lake_op *base, ax_lake_event *ev)
{
    files_op *op = (files_op *) base;

    for (uint32_t i = 0; i < op->nnow; i++)
        AX_TRY(answered(t, op, i));
    ax_arena_reset(op->round);
    op->nnow = 0;
    while (op->nnow < ROUND_CNT && op->ntodo > 0)
        ask(op, op->todo[--op->ntodo]);
    if (op->nnow == 0)
    {
        if (!op->sorted)
            ax_lake_list_sort(&op->list);
        op->sorted = true;
        ask_sizes(op);
    }
    if (op->nnow > 0)
    {
        ev->step = AX_STEP_NEED;
        ev->need = (ax_io_need){op->req, op->nnow};
        return AX_OK;
    }
    AX_TRY(ax_lake_hive(t, &op->list));
    ev->step = AX_STEP_DONE;
    ev->file = op->list.file;
    ev->nfiles = op->list.n;
    ev->watch = op->watch;
    ev->nwatch = op->nwatch;
    ev->watched = op->watched;
    return AX_OK;
}

const ax_lake ax_lake_files = {"files", begin, step, end};
