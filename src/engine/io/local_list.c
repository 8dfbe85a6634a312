/* Listings of the local file system. */
#include "io/io_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIST_DEPTH_MAX 64
#define WALKS_MAX 50
#define MTIME_SURE_NS 2000000000

/* Directories between the root of a listing and the place it is at, to notice loops of links. */
typedef struct ancestor
{
    const struct ancestor *up;
    dev_t dev;
    ino_t ino;
} ancestor;

typedef struct one_name
{
    const char *text;
    uint8_t type; /* d_type: a kind of file, or DT_UNKNOWN */
} one_name;

/* Of one directory, in the task's arena. */
typedef struct names
{
    one_name *name; /* [n], room for cap */
    uint32_t n, cap;
} names;

typedef struct listing
{
    ax_task *t;
    ax_io *io;
    ax_io_entry *entry; /* in t->arena, room for cap */
    uint32_t n, cap;
    bool recursive;
    bool only_names; /* sizes and times are not wanted */
    bool gone; /* a name of the directory being listed went away since it was read */
} listing;

/* Room for one more than n of `size` bytes each, which the old ones move to. */
static ax_status grow(listing *l, void **array, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t more = *cap == 0 ? 64 : *cap * 2;
    void *bigger;

    if (n < *cap)
        return AX_OK;
    AX_CHECK(l->t, more > *cap, AX_ELIMIT, "too many directory entries");
    AX_NEW(l->t, bigger, ax_arena_alloc(l->t->arena, more * size));
    if (n > 0)
        memcpy(bigger, *array, n * size);
    *array = bigger;
    *cap = more;
    return AX_OK;
}

static ax_status listing_add(listing *l, const ax_io_entry *e)
{
    void *entries = l->entry;

    AX_TRY(grow(l, &entries, l->n, &l->cap, sizeof *l->entry));
    l->entry = (ax_io_entry *) entries;
    l->entry[l->n++] = *e;
    return AX_OK;
}

static ax_status list_dir(listing *l, int fd, const char *name, const ancestor *up, int depth);

/* Open a directory below or at `at` and list it. */
static ax_status list_at(listing *l, int at, const char *path, const char *name,
                         const ancestor *up, int depth)
{
    ancestor here = {.up = up};
    struct stat st;
    int fd;

    do
        fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && (errno == EINTR || ax_io_local_spare(l->io, errno)));
    if (fd < 0 && depth > 0 && errno == ENOENT)
    {
        l->gone = true;
        return AX_OK;
    }
    if (fd < 0)
        return ax_io_fail_os(l->t, errno, "could not open directory", name);
    if (fstat(fd, &st) != 0)
    {
        int err = errno;

        close(fd);
        return ax_io_fail_os(l->t, err, "could not stat directory", name);
    }
    for (const ancestor *a = up; a != NULL; a = a->up)
        if (a->dev == st.st_dev && a->ino == st.st_ino)
        {
            close(fd);
            return AX_OK; /* a link back up: everything below is listed already */
        }
    here.dev = st.st_dev;
    here.ino = st.st_ino;
    return list_dir(l, fd, name, &here, depth);
}

/* What stands at a name; *found: a file or a directory. */
static ax_status look_at(listing *l, int fd, const char *dir, const one_name *name, ax_io_entry *e,
                         bool *found)
{
    struct stat st;

    *found = true;
    e->unsized = l->only_names && (name->type == DT_REG || name->type == DT_DIR);
    e->is_dir = name->type == DT_DIR;
    if (e->unsized)
        return AX_OK;
    *found = false;
    if (fstatat(fd, name->text, &st, 0) != 0)
    {
        int err = errno;

        if (err == ENOENT && fstatat(fd, name->text, &st, AT_SYMLINK_NOFOLLOW) != 0)
            l->gone = true;
        if (err == ENOENT || err == ELOOP)
            return AX_OK;
        return ax_io_fail_os(l->t, err, "could not stat directory entry", dir);
    }
    *found = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
    e->size = S_ISREG(st.st_mode) ? (uint64_t) st.st_size : 0;
    e->mtime_ns = (int64_t) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    e->is_dir = S_ISDIR(st.st_mode);
    return AX_OK;
}

/* One name of a directory.  Links are followed; what is neither file nor directory is left out, as
 * are links that lead nowhere. */
static ax_status list_one(listing *l, int fd, const char *dir, const one_name *name,
                          const ancestor *up, int depth)
{
    size_t ndir = strlen(dir), nname = strlen(name->text);
    ax_io_entry e = {0};
    bool found;
    char *path;

    AX_TRY(look_at(l, fd, dir, name, &e, &found));
    if (!found)
        return AX_OK;
    AX_NEW(l->t, path, (char *) ax_arena_alloc(l->t->arena, ndir + nname + 2));
    memcpy(path, dir, ndir);
    if (ndir > 0 && path[ndir - 1] != '/')
        path[ndir++] = '/';
    memcpy(path + ndir, name->text, nname + 1);
    e.path = path;
    AX_TRY(listing_add(l, &e));
    return e.is_dir && l->recursive ? list_at(l, fd, name->text, path, up, depth + 1) : AX_OK;
}

/* ---- the names of one directory -------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const one_name *) a)->text, ((const one_name *) b)->text);
}

static ax_status names_add(listing *l, names *v, const struct dirent *de)
{
    void *array = v->name;

    AX_TRY(grow(l, &array, v->n, &v->cap, sizeof *v->name));
    v->name = (one_name *) array;
    AX_NEW(l->t, v->name[v->n].text,
           ax_arena_strndup(l->t->arena, de->d_name, strlen(de->d_name)));
    v->name[v->n++].type = de->d_type;
    return AX_OK;
}

/* The names that one walk over the directory meets, sorted. */
static ax_status read_names(listing *l, DIR *d, const char *dir, names *out)
{
    *out = (names){0};
    rewinddir(d);
    for (;;)
    {
        struct dirent *de;

        if (ax_task_stopped(l->t))
            return ax_fail(l->t, AX_ESTOPPED, "query stopped");
        errno = 0;
        de = readdir(d);
        if (de == NULL && errno != 0)
            return ax_io_fail_os(l->t, errno, "could not read directory", dir);
        if (de == NULL)
            break;
        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
            AX_TRY(names_add(l, out, de));
    }
    if (out->n > 1)
        qsort(out->name, out->n, sizeof *out->name, by_name);
    return AX_OK;
}

/* Are all names of a in b?  Both are sorted. */
static bool none_gone(const names *a, const names *b)
{
    uint32_t k = 0;

    for (uint32_t i = 0; i < a->n; i++, k++)
    {
        while (k < b->n && strcmp(b->name[k].text, a->name[i].text) < 0)
            k++;
        if (k == b->n || strcmp(b->name[k].text, a->name[i].text) != 0)
            return false;
    }
    return true;
}

static int64_t mtime_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0
               ? (int64_t) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec
               : INT64_MAX;
}

static ax_status fail_restless(listing *l, const char *dir)
{
    ax_status st = ax_fail(l->t, AX_ECHANGED, "directory changed each of %d times it was listed",
                           WALKS_MAX);

    ax_note_file(l->t, dir);
    return st;
}

/* The names of a directory at one moment.
 *
 * readdir promises nothing about names that come or go meanwhile: when one file takes another's
 * place, a walk may meet neither.  So the directory must not have changed during the walk, by its
 * mtime, which counts only when it is older than the clock's ticks and than clocks of file servers
 * differ; or a second walk must meet all names of the first.  What only grows is settled, too. */
static ax_status settled_names(listing *l, DIR *d, const char *dir, names *out)
{
    names before = {0};

    for (int i = 0; i < WALKS_MAX; i++)
    {
        int64_t mtime = mtime_of(dirfd(d));
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        AX_TRY(read_names(l, d, dir, out));
        if (mtime < (int64_t) now.tv_sec * 1000000000 + now.tv_nsec - MTIME_SURE_NS &&
            mtime_of(dirfd(d)) == mtime)
            return AX_OK;
        if (i > 0 && none_gone(&before, out))
            return AX_OK;
        before = *out;
    }
    return fail_restless(l, dir);
}

/* The names and what is below them; once more when one of them went away before it was looked at,
 * since what took its place has no name here. */
static ax_status list_names(listing *l, DIR *d, const char *dir, const ancestor *up, int depth)
{
    bool gone_above = l->gone;
    uint32_t begin = l->n;

    for (int i = 0; i < WALKS_MAX; i++)
    {
        names found;

        l->n = begin;
        l->gone = false;
        AX_TRY(settled_names(l, d, dir, &found));
        for (uint32_t k = 0; k < found.n; k++)
        {
            if (ax_task_stopped(l->t))
                return ax_fail(l->t, AX_ESTOPPED, "query stopped");
            AX_TRY(list_one(l, dirfd(d), dir, &found.name[k], up, depth));
        }
        if (!l->gone)
        {
            l->gone = gone_above;
            return AX_OK;
        }
    }
    return fail_restless(l, dir);
}

/* Takes fd over. */
static ax_status list_dir(listing *l, int fd, const char *name, const ancestor *up, int depth)
{
    struct stat here;
    ax_status st;
    DIR *d;

    if (depth >= LIST_DEPTH_MAX)
    {
        close(fd);
        st = ax_fail(l->t, AX_ELIMIT, "directories are nested more than %d deep", LIST_DEPTH_MAX);
        ax_note_file(l->t, name);
        return st;
    }
    d = fdopendir(fd);
    if (d == NULL)
    {
        int err = errno;

        close(fd);
        return ax_io_fail_os(l->t, err, "could not open directory", name);
    }
    st = list_names(l, d, name, up, depth);
    if (fstat(fd, &here) == 0 && here.st_nlink == 0)
        l->gone = true; /* itself, and what was in it with it */
    closedir(d);
    return st;
}

ax_status ax_io_local_list(ax_task *t, ax_io *io, ax_io_req *r)
{
    listing l = {.t = t, .io = io, .recursive = r->recursive, .only_names = r->only_names};
    const char *uri = r->uri, *path = ax_io_local_path(uri);
    char *name;
    size_t len = strlen(uri);

    /* "dir//" and "dir" list the same names; "/" stays. */
    while (len > (size_t) (path - uri) + 1 && uri[len - 1] == '/')
        len--;
    AX_NEW(t, name, ax_arena_strndup(t->arena, uri, len));
    path = ax_io_local_path(name);
    AX_TRY(list_at(&l, AT_FDCWD, path[0] != '\0' ? path : ".", name, NULL, 0));
    ax_io_entries_sort(l.entry, l.n);
    r->entries = l.entry;
    r->nentries = l.n;
    return AX_OK;
}
