/* The module object, backends by scheme, and files as counted objects. */
#include "io/io_int.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPEN_FILES_DEFAULT 256u

int64_t ax_io_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

bool ax_io_id_equal(const ax_io_id *a, const ax_io_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->cred == b->cred &&
           strcmp(a->etag, b->etag) == 0;
}

ax_status ax_io_create(ax_io **out, uint32_t max_open_files)
{
    ax_io *io = (ax_io *) ax_obj_alloc(sizeof *io);
    pthread_condattr_t attr;

    *out = NULL;
    if (io == NULL)
        return AX_ENOMEM;
    pthread_mutex_init(&io->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&io->arrived, &attr);
    pthread_condattr_destroy(&attr);
    io->max_open_files = max_open_files > 0 ? max_open_files : OPEN_FILES_DEFAULT;
    ax_budget_init(&io->budget, "io", INT64_MAX, NULL);
    *out = io;
    return AX_OK;
}

void ax_io_destroy(ax_io *io)
{
    if (io == NULL)
        return;
    ax_io_drain(io);
    ax_io_local_end(io);
    ax_io_pages_destroy(atomic_load_explicit(&io->pages, memory_order_acquire));
    pthread_cond_destroy(&io->arrived);
    pthread_mutex_destroy(&io->lock);
    ax_obj_free(io);
}

/* ---- schemes --------------------------------------------------------------------------------- */

size_t ax_io_scheme_len(const char *uri)
{
    size_t n = 0;

    if (!isalpha((unsigned char) uri[0]))
        return 0;
    while (isalnum((unsigned char) uri[n]) || uri[n] == '+' || uri[n] == '-' || uri[n] == '.')
        n++;
    return strncmp(uri + n, "://", 3) == 0 ? n : 0;
}

const char *ax_io_slice(const char *uri, uint64_t *off, uint64_t *len)
{
    unsigned long long o, l;
    int n = 0;

    if (strncmp(uri, "slice://", 8) != 0 || !isdigit((unsigned char) uri[8]) ||
        sscanf(uri + 8, "%19llu+%19llu/%n", &o, &l, &n) != 2 || n == 0)
        return NULL;
    *off = o;
    *len = l;
    return uri + 8 + n;
}

const char *ax_io_local_path(const char *uri)
{
    size_t n = ax_io_scheme_len(uri);
    uint64_t off, len;

    if (n == 0)
        return uri;
    if (n == 5 && strncmp(uri, "slice", 5) == 0)
        return ax_io_slice(uri, &off, &len);
    return n == 4 && strncmp(uri, "file", 4) == 0 ? uri + 7 : NULL;
}

static bool scheme_is(const char *uri, size_t n, const char *scheme)
{
    return strlen(scheme) == n && strncmp(uri, scheme, n) == 0;
}

ax_status ax_io_backend_find(ax_task *t, ax_io *io, const char *uri, const ax_io_backend **out)
{
    enum { BUILTIN, REMOTE };
    static const struct { const char *name; int where; } known[] = {
#define AX_SCHEME(name, where) {name, where},
#include "io/schemes.def"
#undef AX_SCHEME
    };
    uint32_t nbackends = atomic_load_explicit(&io->nbackends, memory_order_acquire);
    size_t n = ax_io_scheme_len(uri);

    for (uint32_t i = 0; i < nbackends; i++)
        if (scheme_is(uri, n, io->backends[i].scheme))
        {
            *out = &io->backends[i];
            return AX_OK;
        }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].where == REMOTE && scheme_is(uri, n, known[i].name))
            return ax_fail(t, AX_EUNSUPPORTED, "reading \"%s\" URIs needs the remote module",
                           known[i].name);
    return ax_fail(t, AX_EUNSUPPORTED, "URI scheme \"%.*s\" is not supported",
                   (int) (n < 32 ? n : 32), uri);
}

ax_status ax_io_register(ax_io *io, const ax_io_backend *b)
{
    ax_status st = AX_OK;
    uint32_t n;

    pthread_mutex_lock(&io->lock);
    n = atomic_load_explicit(&io->nbackends, memory_order_relaxed);
    for (uint32_t i = 0; i < n && st == AX_OK; i++)
        if (strcmp(io->backends[i].scheme, b->scheme) == 0)
            st = AX_EOPTION;
    if (st == AX_OK && n == AX_IO_BACKENDS_MAX)
        st = AX_ELIMIT;
    if (st == AX_OK)
    {
        io->backends[n] = *b;
        /* Publishes the entry: readers load the count with acquire and take no lock. */
        atomic_store_explicit(&io->nbackends, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&io->lock);
    return st;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static ax_status status_of_errno(int err)
{
    switch (err)
    {
        case ENOENT:
        case ENOTDIR:
            return AX_ENOFILE;
        case EACCES:
        case EPERM:
            return AX_EPERM;
        case ENOMEM:
            return AX_ENOMEM;
        case EMFILE:
        case ENFILE:
            return AX_ELIMIT;
        case ESTALE:
            return AX_ECHANGED;
        default:
            return AX_EIO;
    }
}

ax_status ax_io_fail_os(ax_task *t, int err, const char *what, const char *name)
{
    char buf[128];
    bool first = t->err.code == AX_OK;
    ax_status st;

#if defined(__GLIBC__)
    st = ax_fail(t, status_of_errno(err), "%s: %s", what, strerror_r(err, buf, sizeof buf));
#else
    if (strerror_r(err, buf, sizeof buf) != 0)
        snprintf(buf, sizeof buf, "error %d", err);
    st = ax_fail(t, status_of_errno(err), "%s: %s", what, buf);
#endif
    if (first)
        t->err.os_errno = err;
    ax_note_file(t, name);
    return st;
}

/* ---- files ----------------------------------------------------------------------------------- */

ax_io_file *ax_io_file_new(ax_io *io, const char *name, ax_io_where where)
{
    size_t n = strlen(name) + 1;
    ax_io_file *f = (ax_io_file *) ax_obj_alloc(sizeof *f);
    char *copy = (char *) ax_obj_alloc(n);

    if (f == NULL || copy == NULL)
    {
        ax_obj_free(f);
        ax_obj_free(copy);
        return NULL;
    }
    memcpy(copy, name, n);
    atomic_init(&f->refs, 1);
    f->where = where;
    f->io = io;
    f->name = copy;
    f->fd = -1;
    return f;
}

static void file_free(ax_io_file *f)
{
    switch (f->where)
    {
        case AX_IO_LOCAL:
            ax_io_local_close(f);
            break;
        case AX_IO_MEMORY:
            ax_buf_unref(f->bytes);
            break;
        case AX_IO_REMOTE:
            if (f->handle != NULL)
                f->backend->close(f->backend->self, f->handle);
            ax_buf_unref(f->tail);
            break;
    }
    ax_obj_free(f->name);
    ax_obj_free(f);
}

ax_status ax_io_open_now(ax_task *t, ax_io *io, const char *uri, ax_io_file **out, bool *late)
{
    const char *path = ax_io_local_path(uri);
    const ax_io_backend *b = NULL;
    ax_io_file *f;
    ax_status st;

    *out = NULL;
    *late = false;
    if (path == NULL)
    {
        st = ax_io_backend_find(t, io, uri, &b);
        *late = st == AX_OK && b->start_open != NULL;
        if (st != AX_OK)
            ax_note_file(t, uri);
        if (st != AX_OK || *late)
            return st;
    }
    AX_NEW(t, f, ax_io_file_new(io, uri, path != NULL ? AX_IO_LOCAL : AX_IO_REMOTE));
    f->backend = b;
    if (path != NULL)
    {
        f->path = f->name + (path - uri);
        st = ax_io_local_open(t, f);
    }
    else
        st = b->open(t, b->self, uri, &f->handle, &f->id);
    if (st != AX_OK)
    {
        ax_note_file(t, uri);
        file_free(f);
        return st;
    }
    *out = f;
    return AX_OK;
}

ax_status ax_io_open_memory(ax_task *t, ax_io *io, const char *name, const void *bytes, size_t n,
                            ax_io_file **out)
{
    static _Atomic uint64_t next_ino = 1;
    ax_io_file *f;

    *out = NULL;
    AX_NEW(t, f, ax_io_file_new(io, name, AX_IO_MEMORY));
    /* The module's account: the file may outlive the task's. */
    f->bytes = ax_buf_alloc(&io->budget, n);
    if (f->bytes == NULL)
    {
        file_free(f);
        return ax_fail_nomem(t, n);
    }
    if (n > 0)
        memcpy(f->bytes->data, bytes, n);
    f->id.dev = UINT64_MAX; /* no device of the system */
    f->id.ino = atomic_fetch_add_explicit(&next_ino, 1, memory_order_relaxed);
    f->id.size = n;
    *out = f;
    return AX_OK;
}

/* Nothing there is an answer and not an error, unless there was an error before. */
static ax_status found_or_not(ax_task *t, ax_status st, bool clean, bool *found)
{
    *found = st == AX_OK;
    if (st != AX_ENOFILE || !clean)
        return st;
    ax_error_clear(&t->err);
    return AX_OK;
}

ax_status ax_io_stat_now(ax_task *t, ax_io *io, ax_io_req *r, bool *late)
{
    bool clean = t->err.code == AX_OK;
    const ax_io_backend *b;
    void *handle = NULL;
    ax_status st;

    *late = false;
    if (ax_io_local_path(r->uri) != NULL)
        return found_or_not(t, ax_io_local_stat(t, r->uri, r->id, &r->is_dir), clean, &r->found);
    AX_TRY(ax_io_backend_find(t, io, r->uri, &b));
    *late = b->start_stat != NULL || b->start_open != NULL;
    if (*late)
        return AX_OK;
    /* Opening reads no data. */
    st = b->open(t, b->self, r->uri, &handle, r->id);
    if (st == AX_OK)
        b->close(b->self, handle);
    return found_or_not(t, st, clean, &r->found);
}

ax_status ax_io_list_now(ax_task *t, ax_io *io, ax_io_req *r, bool *late)
{
    bool clean = t->err.code == AX_OK;
    ax_arena *scratch = t->arena;
    const ax_io_backend *b = NULL;
    ax_status st;

    *late = false;
    r->entries = NULL;
    r->nentries = 0;
    if (ax_io_local_path(r->uri) == NULL)
    {
        AX_TRY(ax_io_backend_find(t, io, r->uri, &b));
        if (b->list == NULL && b->start_list == NULL)
            return ax_fail(t, AX_EUNSUPPORTED, "\"%s\" URIs cannot be listed", b->scheme);
        *late = b->start_list != NULL;
        if (*late)
            return AX_OK;
    }
    /* Entries must outlive the task's scratch: the asker may go on in another task. */
    if (r->arena != NULL)
        t->arena = r->arena;
    if (b == NULL)
        st = ax_io_local_list(t, io, r);
    else
        st = b->list(t, b->self, r->uri, r->recursive, &r->entries, &r->nentries);
    t->arena = scratch;
    if (st == AX_OK && b != NULL)
        ax_io_entries_sort(r->entries, r->nentries);
    return found_or_not(t, st, clean, &r->found);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const ax_io_entry *) a)->path, ((const ax_io_entry *) b)->path);
}

void ax_io_entries_sort(ax_io_entry *e, uint32_t n)
{
    uint32_t i = 1;

    while (i < n && strcmp(e[i - 1].path, e[i].path) <= 0)
        i++; /* directories are walked in the order of names, so mostly all of them */
    if (i < n)
        qsort(e, n, sizeof *e, by_path);
}

ax_io_file *ax_io_file_ref(ax_io_file *f)
{
    int32_t before = atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);

    AX_ASSERT(before > 0);
    (void) before;
    return f;
}

void ax_io_file_unref(ax_io_file *f)
{
    int32_t before;

    if (f == NULL)
        return;
    before = atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel);
    AX_ASSERT(before > 0);
    if (before == 1)
        file_free(f);
}

const ax_io_id *ax_io_file_id(const ax_io_file *f) { return &f->id; }
const char *ax_io_file_name(const ax_io_file *f) { return f->name; }
uint64_t ax_io_file_size(const ax_io_file *f) { return f->id.size; }

void ax_io_file_drop_tail(ax_io_file *f)
{
    ax_buf *tail;

    if (f == NULL || f->where != AX_IO_REMOTE)
        return;
    pthread_mutex_lock(&f->io->lock);
    tail = f->tail;
    f->tail = NULL;
    pthread_mutex_unlock(&f->io->lock);
    ax_buf_unref(tail);
}

ax_status ax_io_file_check(ax_task *t, ax_io_file *f)
{
    /* A remote read names the version it wants; memory does not change. */
    return f->where == AX_IO_LOCAL ? ax_io_local_check(t, f) : AX_OK;
}

void ax_io_file_count_to(ax_io_file *f, ax_io_stats *s)
{
    atomic_store_explicit(&f->stats, s, memory_order_release);
}
