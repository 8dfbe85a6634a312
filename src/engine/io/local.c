/* The local file system: descriptors, identity, reads.
 *
 * Descriptors are a scarce resource of the host process, and a table may have more files than it
 * may hold open.  So an opened file keeps its path, and its descriptor may be closed while nobody
 * reads (least recently used first); it is opened again at need, and then must be the same version.
 *
 * Version.  Device, inode, size and mtime tell a change of content.  ctime is part of the identity
 * that caches use, but is not tested while reading: it also changes when a file is renamed, hard
 * linked or removed, and a descriptor goes on reading the same bytes then. */
#include "io/io_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define IOV_CNT 64
#define READ_MAX_BYTES ((size_t) 16 << 20) /* between two looks at the stop flag */

static void id_of(const struct stat *st, ax_io_id *id)
{
    memset(id, 0, sizeof *id);
    id->dev = (uint64_t) st->st_dev;
    id->ino = (uint64_t) st->st_ino;
    id->size = st->st_size > 0 ? (uint64_t) st->st_size : 0;
    id->mtime_ns = (int64_t) st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    id->ctime_ns = (int64_t) st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

static bool same_content(const ax_io_id *a, const ax_io_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime_ns == b->mtime_ns;
}

/* The identity of the file around a slice. */
static ax_io_id whole_id(const ax_io_file *f)
{
    ax_io_id id = f->id;

    id.size = f->whole;
    return id;
}

static ax_status fail_changed(ax_task *t, const char *name)
{
    ax_status st = ax_fail(t, AX_ECHANGED, "file changed while it was read");

    ax_note_file(t, name);
    return st;
}

static ax_status check_regular(ax_task *t, mode_t mode, const char *name)
{
    const char *kind = S_ISDIR(mode)    ? "a directory"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                       : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                                        : "of an unknown kind";
    ax_status st;

    if (S_ISREG(mode))
        return AX_OK;
    st = ax_fail(t, AX_EUNSUPPORTED, "not a regular file, but %s", kind);
    ax_note_file(t, name);
    return st;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void lru_remove(ax_io *io, ax_io_file *f)
{
    if (f->lru_prev != NULL)
        f->lru_prev->lru_next = f->lru_next;
    else
        io->lru_oldest = f->lru_next;
    if (f->lru_next != NULL)
        f->lru_next->lru_prev = f->lru_prev;
    else
        io->lru_newest = f->lru_prev;
    f->lru_next = NULL;
    f->lru_prev = NULL;
}

static void lru_append(ax_io *io, ax_io_file *f)
{
    f->lru_next = NULL;
    f->lru_prev = io->lru_newest;
    if (io->lru_newest != NULL)
        io->lru_newest->lru_next = f;
    else
        io->lru_oldest = f;
    io->lru_newest = f;
}

/* Give the descriptor up that nobody has used for longest; the lock is held.  false: all are in
 * use. */
static bool drop_oldest(ax_io *io)
{
    ax_io_file *f = io->lru_oldest;

    if (f == NULL)
        return false;
    lru_remove(io, f);
    close(f->fd);
    f->fd = -1;
    io->open_files--;
    return true;
}

/* Make room for one more; the lock is held.  When all are in use the limit is passed: it is a
 * matter of good manners, the kernel's own limit is higher. */
static void make_room(ax_io *io)
{
    while (io->open_files >= io->max_open_files && drop_oldest(io))
        ;
}

/* The kernel's limit was met after all: the rest of the process has many descriptors. */
bool ax_io_local_spare(ax_io *io, int err)
{
    bool found;

    if (err != EMFILE && err != ENFILE)
        return false;
    pthread_mutex_lock(&io->lock);
    found = drop_oldest(io);
    pthread_mutex_unlock(&io->lock);
    return found;
}

/* Open without ever blocking: asking first keeps devices untouched, and O_NONBLOCK with a second
 * look covers a pipe that was put there in between. */
static ax_status open_regular(ax_task *t, ax_io *io, const char *path, const char *name, int *out,
                              ax_io_id *id)
{
    struct stat st;
    ax_status rc;
    int fd;

    if (stat(path, &st) != 0)
        return ax_io_fail_os(t, errno, "could not open file", name);
    AX_TRY(check_regular(t, st.st_mode, name));
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && (errno == EINTR || ax_io_local_spare(io, errno)));
    if (fd < 0)
        return ax_io_fail_os(t, errno, "could not open file", name);
    if (fstat(fd, &st) != 0)
        rc = ax_io_fail_os(t, errno, "could not stat file", name);
    else
        rc = check_regular(t, st.st_mode, name);
    if (rc != AX_OK)
    {
        close(fd);
        return rc;
    }
    /* Some network file systems would honour it on regular files. */
    (void) fcntl(fd, F_SETFL, 0);
    id_of(&st, id);
    *out = fd;
    return AX_OK;
}

/* Open again what was closed to save descriptors; the lock is held, and let go meanwhile. */
static ax_status reopen(ax_task *t, ax_io_file *f)
{
    ax_io *io = f->io;
    ax_io_id id, was = whole_id(f);
    ax_status st;
    int fd = -1;

    make_room(io);
    io->open_files++;
    pthread_mutex_unlock(&io->lock);
    st = open_regular(t, io, f->path, f->name, &fd, &id);
    if (st == AX_OK && !same_content(&id, &was))
        st = fail_changed(t, f->name);
    pthread_mutex_lock(&io->lock);
    if (st == AX_OK && f->fd < 0)
    {
        f->fd = fd;
        lru_append(io, f);
        return AX_OK;
    }
    /* Failed, or another thread was faster. */
    if (fd >= 0)
        close(fd);
    io->open_files--;
    return st;
}

/* A descriptor that stays open until unpin. */
static ax_status pin(ax_task *t, ax_io_file *f, int *out)
{
    ax_io *io = f->io;
    ax_status st = AX_OK;

    pthread_mutex_lock(&io->lock);
    if (f->fd < 0)
        st = reopen(t, f);
    if (st == AX_OK)
    {
        if (f->pins++ == 0)
            lru_remove(io, f);
        *out = f->fd;
    }
    pthread_mutex_unlock(&io->lock);
    return st;
}

static void unpin(ax_io_file *f)
{
    ax_io *io = f->io;

    pthread_mutex_lock(&io->lock);
    if (--f->pins == 0)
        lru_append(io, f);
    pthread_mutex_unlock(&io->lock);
}

/* A slice is a file of its own. */
static ax_status cut_slice(ax_task *t, ax_io_file *f)
{
    uint64_t len;

    f->whole = f->id.size;
    if (ax_io_slice(f->name, &f->base, &len) == NULL)
        return AX_OK;
    AX_CHECK(t, f->base <= f->whole && len <= f->whole - f->base, AX_ECORRUPT,
             "file has %llu bytes, of which %llu from byte %llu on are wanted",
             (unsigned long long) f->whole, (unsigned long long) len,
             (unsigned long long) f->base);
    f->id.size = len;
    snprintf(f->id.etag, sizeof f->id.etag, "slice %llu", (unsigned long long) f->base);
    return AX_OK;
}

ax_status ax_io_local_open(ax_task *t, ax_io_file *f)
{
    ax_io *io = f->io;
    ax_status st;
    int fd;

    pthread_mutex_lock(&io->lock);
    make_room(io);
    io->open_files++;
    pthread_mutex_unlock(&io->lock);
    st = open_regular(t, io, f->path, f->name, &fd, &f->id);
    if (st != AX_OK)
    {
        pthread_mutex_lock(&io->lock);
        io->open_files--;
        pthread_mutex_unlock(&io->lock);
        return st;
    }
    pthread_mutex_lock(&io->lock);
    f->fd = fd;
    lru_append(io, f);
    pthread_mutex_unlock(&io->lock);
    return cut_slice(t, f);
}

void ax_io_local_close(ax_io_file *f)
{
    ax_io *io = f->io;
    int fd;

    pthread_mutex_lock(&io->lock);
    AX_ASSERT(f->pins == 0);
    fd = f->fd;
    if (fd >= 0)
    {
        lru_remove(io, f);
        io->open_files--;
    }
    pthread_mutex_unlock(&io->lock);
    if (fd >= 0)
        close(fd);
}

void ax_io_local_end(ax_io *io)
{
    pthread_mutex_lock(&io->lock);
    while (drop_oldest(io))
        ;
    AX_ASSERT(io->open_files == 0);
    pthread_mutex_unlock(&io->lock);
}

/* ---- identity -------------------------------------------------------------------------------- */

ax_status ax_io_local_stat(ax_task *t, const char *uri, ax_io_id *out, bool *is_dir)
{
    struct stat st;

    if (stat(ax_io_local_path(uri), &st) != 0)
        return ax_io_fail_os(t, errno, "could not stat file", uri);
    id_of(&st, out);
    *is_dir = S_ISDIR(st.st_mode);
    return AX_OK;
}

ax_status ax_io_local_check(ax_task *t, ax_io_file *f)
{
    struct stat st;
    ax_io_id now, was = whole_id(f);
    ax_status rc = AX_OK;
    int fd;

    AX_TRY(pin(t, f, &fd));
    if (fstat(fd, &st) != 0)
        rc = ax_io_fail_os(t, errno, "could not stat file", f->name);
    else
    {
        id_of(&st, &now);
        if (!same_content(&now, &was))
            rc = fail_changed(t, f->name);
    }
    unpin(f);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Fill iov[0, n), consumed in place, from off on. */
static ax_status read_iov(ax_task *t, ax_io_file *f, int fd, uint64_t off, struct iovec *iov, int n)
{
    while (n > 0)
    {
        ssize_t got;

        if (iov->iov_len == 0)
        {
            iov++;
            n--;
            continue;
        }
        if (ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        if (iov->iov_len > READ_MAX_BYTES)
            got = pread(fd, iov->iov_base, READ_MAX_BYTES, (off_t) off);
        else
            got = preadv(fd, iov, n, (off_t) off);
        if (got < 0)
        {
            if (errno == EINTR)
                continue;
            return ax_io_fail_os(t, errno, "could not read file", f->name);
        }
        if (got == 0)
            return fail_changed(t, f->name); /* shorter than when it was opened */
        off += (uint64_t) got;
        while (n > 0 && (size_t) got >= iov->iov_len)
        {
            got -= (ssize_t) iov->iov_len;
            iov++;
            n--;
        }
        if (n > 0)
        {
            iov->iov_base = (uint8_t *) iov->iov_base + got;
            iov->iov_len -= (size_t) got;
        }
    }
    return AX_OK;
}

ax_status ax_io_local_read(ax_task *t, ax_io_file *f, uint64_t off, const ax_io_piece *piece,
                           uint32_t n)
{
    uint8_t gap[AX_IO_LOCAL_GAP_BYTES];
    struct iovec iov[IOV_CNT];
    uint64_t total = 0, done = 0, calls = 0;
    int64_t begin_ns = ax_io_now_ns();
    ax_status st = AX_OK;
    int fd;

    AX_TRY(pin(t, f, &fd));
    for (uint32_t i = 0; i < n && st == AX_OK; calls++)
    {
        uint64_t at = f->base + off + done;
        int k = 0;

        for (; k < IOV_CNT && i < n; k++, i++)
        {
            AX_ASSERT(piece[i].dst != NULL || piece[i].len <= sizeof gap);
            iov[k].iov_base = piece[i].dst != NULL ? piece[i].dst : gap;
            iov[k].iov_len = piece[i].len;
            done += piece[i].len;
        }
        st = read_iov(t, f, fd, at, iov, k);
        total = done;
    }
    unpin(f);
    if (st == AX_OK)
        ax_io_count(t, f, total, calls, (uint64_t) (ax_io_now_ns() - begin_ns));
    return st;
}

void ax_io_local_advise(ax_io_file *f, uint64_t off, uint64_t len)
{
    ax_io *io = f->io;

    /* A hint: not worth opening the file again, and short enough to keep the lock. */
    pthread_mutex_lock(&io->lock);
    if (f->fd >= 0)
        (void) posix_fadvise(f->fd, (off_t) (f->base + off), (off_t) len, POSIX_FADV_WILLNEED);
    pthread_mutex_unlock(&io->lock);
}
