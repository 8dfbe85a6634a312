/* Files, listings and requests: local ones in a temporary directory, remote ones from a fake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/io_int.h"

#include "io/fake_remote_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER(type, member, ptr) ((type *) (void *) ((char *) (ptr) - offsetof(type, member)))

typedef struct fixture
{
    char dir[64];
    ax_budget budget;
    _Atomic int stop;
    ax_task t;
    ax_io *io;
} fixture;

static uint8_t blob[1 << 20];

static int set_up(void **state)
{
    fixture *x = (fixture *) ax_obj_alloc(sizeof *x);

    snprintf(x->dir, sizeof x->dir, "/tmp/ax_io_test.XXXXXX");
    if (mkdtemp(x->dir) == NULL)
        return -1;
    for (size_t i = 0; i < sizeof blob; i++)
        blob[i] = (uint8_t) (i * 2654435761u >> 13);
    ax_budget_init(&x->budget, "query", INT64_MAX, NULL);
    if (ax_task_init(&x->t, &x->budget, &x->stop) != AX_OK || ax_io_create(&x->io, 4) != AX_OK)
        return -1;
    *state = x;
    return 0;
}

static void remove_tree(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char path[512];

    while (d != NULL && (e = readdir(d)) != NULL)
    {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path) != 0)
            remove_tree(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(dir);
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    assert_int_equal(x->io->open_files, 0);
    ax_io_destroy(x->io);
    ax_task_fini(&x->t);
    assert_int_equal(atomic_load(&x->budget.used_bytes), 0);
    remove_tree(x->dir);
    ax_obj_free(x);
    return 0;
}

/* A path below the test's directory, in the task's arena. */
static const char *in_dir(fixture *x, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", x->dir, name);
    return ax_arena_strndup(x->t.arena, path, strlen(path));
}

static const char *put_file(fixture *x, const char *name, const void *bytes, size_t n)
{
    const char *path = in_dir(x, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t) n);
    close(fd);
    return path;
}

/* A change within the granularity of the file system's clock would not show. */
static void put_mtime(const char *path, int64_t sec)
{
    struct timespec ts[2] = {{(time_t) sec, 0}, {(time_t) sec, 0}};

    assert_int_equal(utimensat(AT_FDCWD, path, ts, 0), 0);
}

#define assert_ok(x, call)                                                                         \
    do                                                                                             \
    {                                                                                              \
        ax_status st_ = (call);                                                                    \
        if (st_ != AX_OK)                                                                          \
            print_error("%s: %s\n", ax_status_name(st_), (x)->t.err.msg);                          \
        assert_int_equal(st_, AX_OK);                                                              \
    } while (0)

#define assert_fails(x, code_, call)                                                               \
    do                                                                                             \
    {                                                                                              \
        assert_int_equal((call), (code_));                                                         \
        assert_int_equal((x)->t.err.code, (code_));                                                \
    } while (0)

/* ---- local files ----------------------------------------------------------------------------- */

static void local_file_is_read_by_range(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path = put_file(x, "a.bin", blob, 100000);
    char uri[300];
    ax_io_file *f;
    ax_io_stats stats = {0};
    ax_buf *b;

    snprintf(uri, sizeof uri, "file://%s", path);
    assert_ok(x, ax_io_open(&x->t, x->io, uri, &f));
    assert_string_equal(ax_io_file_name(f), uri);
    assert_int_equal(ax_io_file_size(f), 100000);
    assert_true((fcntl(f->fd, F_GETFD) & FD_CLOEXEC) != 0);
    ax_io_file_count_to(f, &stats);
    assert_ok(x, ax_io_read(&x->t, x->io, f, 777, 5000, &b));
    assert_int_equal(b->len, 5000);
    assert_memory_equal(b->data, blob + 777, 5000);
    ax_buf_unref(b);
    assert_ok(x, ax_io_read(&x->t, x->io, f, 100000, 0, &b));
    assert_int_equal(b->len, 0);
    ax_buf_unref(b);
    assert_int_equal(atomic_load(&stats.bytes_read), 5000);
    ax_io_prefetch(x->io, f, (uint64_t[]){0, 5000}, (uint64_t[]){4000, 10000}, 2);

    assert_fails(x, AX_ECORRUPT, ax_io_read(&x->t, x->io, f, 99999, 2, &b));
    assert_null(b);
    assert_string_equal(x->t.err.place.file, uri);
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ECORRUPT, ax_io_read(&x->t, x->io, f, UINT64_MAX, 2, &b));
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ECORRUPT, ax_io_read(&x->t, x->io, f, 2, UINT64_MAX, &b));
    ax_io_file_unref(ax_io_file_ref(f));
    ax_io_file_unref(f);
    ax_io_file_unref(NULL);
}

static void what_is_no_file_is_refused_without_blocking(void **state)
{
    fixture *x = (fixture *) *state;
    const char *fifo = in_dir(x, "fifo");
    ax_io_file *f;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_fails(x, AX_EUNSUPPORTED, ax_io_open(&x->t, x->io, fifo, &f));
    assert_string_equal(x->t.err.msg, "not a regular file, but a pipe");
    assert_string_equal(x->t.err.place.file, fifo);
    assert_null(f);
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_EUNSUPPORTED, ax_io_open(&x->t, x->io, x->dir, &f));
    assert_string_equal(x->t.err.msg, "not a regular file, but a directory");
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_EUNSUPPORTED, ax_io_open(&x->t, x->io, "/dev/zero", &f));
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ENOFILE, ax_io_open(&x->t, x->io, in_dir(x, "none"), &f));
    assert_true(x->t.err.os_errno != 0);
    assert_string_equal(x->t.err.msg, "could not open file: No such file or directory");
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ENOFILE, ax_io_open(&x->t, x->io, "", &f));
    if (geteuid() != 0)
    {
        const char *secret = put_file(x, "secret", "x", 1);

        ax_error_clear(&x->t.err);
        chmod(secret, 0);
        assert_fails(x, AX_EPERM, ax_io_open(&x->t, x->io, secret, &f));
    }
    assert_int_equal(x->io->open_files, 0);
}

static void schemes_are_told_apart(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_backend b = {.scheme = "fake"};
    ax_io_file *f;

    assert_fails(x, AX_EUNSUPPORTED, ax_io_open(&x->t, x->io, "s3://bucket/key", &f));
    assert_non_null(strstr(x->t.err.msg, "needs the remote module"));
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_EUNSUPPORTED, ax_io_open(&x->t, x->io, "gopher://x", &f));
    assert_string_equal(x->t.err.msg, "URI scheme \"gopher\" is not supported");
    ax_error_clear(&x->t.err);
    assert_string_equal(ax_io_local_path("file:///a"), "/a");
    assert_string_equal(ax_io_local_path("a:b"), "a:b");
    assert_string_equal(ax_io_local_path("1a://b"), "1a://b");
    assert_null(ax_io_local_path("files:///a"));
    assert_int_equal(ax_io_register(x->io, &b), AX_OK);
    assert_int_equal(ax_io_register(x->io, &b), AX_EOPTION);
}

static void a_changed_file_is_noticed(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path = put_file(x, "a", blob, 5000);
    ax_io_id before, now;
    ax_io_file *f;
    ax_buf *b;
    bool is_dir;

    put_mtime(path, 1000);
    assert_ok(x, ax_io_open(&x->t, x->io, path, &f));
    assert_ok(x, ax_io_stat(&x->t, x->io, path, &before, &is_dir));
    assert_false(is_dir);
    assert_true(ax_io_id_equal(&before, ax_io_file_id(f)));
    assert_ok(x, ax_io_file_check(&x->t, f));

    /* Removed or replaced: the descriptor still reads the old version. */
    assert_int_equal(link(path, in_dir(x, "b")), 0);
    assert_ok(x, ax_io_file_check(&x->t, f));
    assert_ok(x, ax_io_stat(&x->t, x->io, path, &now, &is_dir));

    put_file(x, "a", blob, 5000); /* written in place */
    put_mtime(path, 2000);
    assert_fails(x, AX_ECHANGED, ax_io_file_check(&x->t, f));
    assert_ok(x, ax_io_stat(&x->t, x->io, path, &now, &is_dir));
    assert_false(ax_io_id_equal(&before, &now));
    ax_error_clear(&x->t.err);

    assert_int_equal(truncate(path, 100), 0);
    assert_fails(x, AX_ECHANGED, ax_io_read(&x->t, x->io, f, 50, 1000, &b));
    assert_string_equal(x->t.err.place.file, path);
    ax_io_file_unref(f);

    ax_error_clear(&x->t.err);
    assert_ok(x, ax_io_stat(&x->t, x->io, x->dir, &now, &is_dir));
    assert_true(is_dir);
    assert_fails(x, AX_ENOFILE, ax_io_stat(&x->t, x->io, in_dir(x, "none"), &now, &is_dir));
}

static void descriptors_are_bounded(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_file *f[20];
    ax_buf *b;
    char name[20];

    for (int i = 0; i < 20; i++)
    {
        snprintf(name, sizeof name, "f%d", i);
        assert_ok(x, ax_io_open(&x->t, x->io, put_file(x, name, blob + i, 1000), &f[i]));
        put_mtime(f[i]->path, 1000);
        assert_true(x->io->open_files <= 4);
        /* The version is that of the open; put_mtime came later. */
        f[i]->id.mtime_ns = (int64_t) 1000 * 1000000000;
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20; i++)
        {
            assert_ok(x, ax_io_read(&x->t, x->io, f[i], 10, 500, &b));
            assert_memory_equal(b->data, blob + i + 10, 500);
            ax_buf_unref(b);
            assert_true(x->io->open_files <= 4);
        }
    /* One that was closed and replaced meanwhile is another version. */
    assert_true(f[0]->fd < 0);
    unlink(f[0]->path);
    put_file(x, "f0", blob, 1000);
    assert_fails(x, AX_ECHANGED, ax_io_read(&x->t, x->io, f[0], 10, 500, &b));
    for (int i = 0; i < 20; i++)
        ax_io_file_unref(f[i]);
    assert_int_equal(x->io->open_files, 0);
}

static void the_end_closes_what_is_open(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_file *f;
    ax_io *io;
    int fd;

    assert_int_equal(ax_io_create(&io, 4), AX_OK);
    assert_ok(x, ax_io_open(&x->t, io, put_file(x, "f", blob, 1000), &f));
    fd = f->fd;
    assert_int_not_equal(fcntl(fd, F_GETFD), -1);
    ax_io_destroy(io);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    ax_obj_free(f->name);
    ax_obj_free(f);
}

static void slices_are_files_of_their_own(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path = put_file(x, "archive", blob, 1000);
    ax_io_file *f, *g;
    char uri[300];
    ax_buf *b;

    snprintf(uri, sizeof uri, "slice://100+50/%s", path);
    assert_ok(x, ax_io_open(&x->t, x->io, uri, &f));
    assert_int_equal(ax_io_file_size(f), 50);
    assert_ok(x, ax_io_read(&x->t, x->io, f, 10, 40, &b));
    assert_memory_equal(b->data, blob + 110, 40);
    ax_buf_unref(b);
    assert_fails(x, AX_ECORRUPT, ax_io_read(&x->t, x->io, f, 10, 41, &b));
    ax_error_clear(&x->t.err);
    assert_ok(x, ax_io_file_check(&x->t, f));
    snprintf(uri, sizeof uri, "slice://200+50/%s", path);
    assert_ok(x, ax_io_open(&x->t, x->io, uri, &g));
    assert_false(ax_io_id_equal(ax_io_file_id(f), ax_io_file_id(g)));
    ax_io_file_unref(g);
    ax_io_file_unref(f);
    snprintf(uri, sizeof uri, "slice://1000+1/%s", path);
    assert_fails(x, AX_ECORRUPT, ax_io_open(&x->t, x->io, uri, &f));
    ax_error_clear(&x->t.err);
    assert_null(ax_io_local_path("slice://1/x"));
}

/* The rest of the process may leave less than the limit: idle ones make way. */
static void idle_descriptors_make_way_when_the_kernel_has_none(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_file *f[6];
    ax_io_entry *entry;
    uint32_t n;
    ax_buf *b;
    char name[20];
    int taken[1024], ntaken = 0, fd;
    struct rlimit old, low;

    for (int i = 0; i < 6; i++)
    {
        snprintf(name, sizeof name, "f%d", i);
        put_file(x, name, blob + i, 1000);
    }
    x->io->max_open_files = 100;
    for (int i = 0; i < 3; i++)
    {
        snprintf(name, sizeof name, "f%d", i);
        assert_ok(x, ax_io_open(&x->t, x->io, in_dir(x, name), &f[i]));
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 200;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (ntaken < 1024 && (fd = open("/dev/null", O_RDONLY)) >= 0)
        taken[ntaken++] = fd;
    for (int i = 3; i < 6; i++)
    {
        snprintf(name, sizeof name, "f%d", i);
        assert_ok(x, ax_io_open(&x->t, x->io, in_dir(x, name), &f[i]));
    }
    assert_ok(x, ax_io_list(&x->t, x->io, x->dir, false, &entry, &n));
    assert_int_equal(n, 6);
    for (int i = 0; i < 6; i++)
    {
        assert_ok(x, ax_io_read(&x->t, x->io, f[i], 10, 500, &b));
        assert_memory_equal(b->data, blob + i + 10, 500);
        ax_buf_unref(b);
        assert_true(x->io->open_files <= 3);
    }
    while (ntaken > 0)
        close(taken[--ntaken]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (int i = 0; i < 6; i++)
        ax_io_file_unref(f[i]);
}

typedef struct reader
{
    fixture *x;
    ax_io_file **f;
    uint32_t seed;
    int bad;
} reader;

static void *read_many(void *arg)
{
    reader *r = (reader *) arg;
    ax_budget budget;
    ax_task t;

    ax_budget_init(&budget, "reader", INT64_MAX, NULL);
    r->bad += ax_task_init(&t, &budget, NULL) != AX_OK;
    for (int i = 0; i < 500; i++)
    {
        uint32_t k, off;
        ax_buf *b = NULL;

        r->seed = r->seed * 1664525u + 1013904223u;
        k = (r->seed >> 8) % 10;
        off = (r->seed >> 16) % 900;
        if (ax_io_read(&t, r->x->io, r->f[k], off, 100, &b) != AX_OK ||
            memcmp(b->data, blob + k + off, 100) != 0)
            r->bad++;
        ax_buf_unref(b);
    }
    ax_task_fini(&t);
    return NULL;
}

static void files_are_shared_between_threads(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_file *f[10];
    reader r[3];
    pthread_t th[3];
    char name[20];

    for (int i = 0; i < 10; i++)
    {
        snprintf(name, sizeof name, "f%d", i);
        assert_ok(x, ax_io_open(&x->t, x->io, put_file(x, name, blob + i, 1000), &f[i]));
    }
    for (uint32_t i = 0; i < 3; i++)
    {
        r[i] = (reader){x, f, i, 0};
        assert_int_equal(pthread_create(&th[i], NULL, read_many, &r[i]), 0);
    }
    for (int i = 0; i < 3; i++)
    {
        pthread_join(th[i], NULL);
        assert_int_equal(r[i].bad, 0);
    }
    for (int i = 0; i < 10; i++)
        ax_io_file_unref(f[i]);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Random ranges, many overlapping or touching, of several files in one need. */
static void ask_random(ax_io_req *req, uint32_t n, ax_io_file **f, uint32_t nf, uint32_t *seed)
{
    memset(req, 0, n * sizeof *req);
    for (uint32_t i = 0; i < n; i++)
    {
        *seed = *seed * 1664525u + 1013904223u;
        req[i].kind = AX_IO_READ;
        req[i].file = f[(*seed >> 28) % nf];
        req[i].off = (*seed >> 8) % (sizeof blob - 30000);
        req[i].len = (*seed >> 3) % (i % 4 == 0 ? 30000 : 300);
        if (i % 5 == 4)
            req[i].off = req[i - 1].off + req[i - 1].len; /* adjacent */
        if (req[i].off + req[i].len > sizeof blob)
            req[i].off = 0;
    }
}

static void check_answers(ax_io_req *req, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
    {
        assert_true(req[i].done);
        assert_int_equal(req[i].buf->len, req[i].len);
        assert_memory_equal(req[i].buf->data, blob + req[i].off, req[i].len);
        ax_buf_unref(req[i].buf);
    }
}

static void local_and_memory_requests_are_served_at_once(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path = put_file(x, "a", blob, sizeof blob);
    ax_io_file *f[3];
    ax_io_req req[200];
    ax_io_need need = {req, 0};
    ax_io_ready ready;
    uint32_t seed = 7;

    assert_ok(x, ax_io_open(&x->t, x->io, path, &f[0]));
    assert_ok(x, ax_io_open(&x->t, x->io, path, &f[1]));
    assert_ok(x, ax_io_open_memory(&x->t, x->io, "m", blob, sizeof blob, &f[2]));
    assert_false(ax_io_id_equal(ax_io_file_id(f[0]), ax_io_file_id(f[2])));
    assert_ok(x, ax_io_file_check(&x->t, f[2]));
    for (need.n = 1; need.n <= 200; need.n = need.n * 2 + 1)
    {
        ask_random(req, need.n, f, 3, &seed);
        assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
        assert_int_equal(ready, AX_IO_READY);
        check_answers(req, need.n);
    }
    for (int i = 0; i < 3; i++)
        ax_io_file_unref(f[i]);
}

static void near_ranges_become_one_read(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_stats stats = {0};
    ax_io_file *f;
    ax_io_req req[4] = {{0}};
    ax_io_need need = {req, 4};
    ax_io_ready ready;
    static const uint64_t off[4] = {100000, 0, 5000, 500000};

    assert_ok(x, ax_io_open(&x->t, x->io, put_file(x, "a", blob, sizeof blob), &f));
    ax_io_file_count_to(f, &stats);
    for (int i = 0; i < 4; i++)
        req[i] = (ax_io_req){.kind = AX_IO_READ, .file = f, .off = off[i], .len = 1000};
    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    check_answers(req, 4);
    assert_int_equal(atomic_load(&stats.requests), 3);
    assert_int_equal(atomic_load(&stats.bytes_read), 6000 + 1000 + 1000);
    ax_io_file_unref(f);
}

static void opening_and_listing_are_requests_too(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_req req[2] = {{.kind = AX_IO_OPEN, .uri = put_file(x, "a", blob, 10)},
                        {.kind = AX_IO_LIST, .uri = x->dir}};
    ax_io_need need = {req, 2};
    ax_io_ready ready;

    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    assert_int_equal(ax_io_file_size(req[0].file), 10);
    assert_int_equal(req[1].nentries, 1);
    assert_string_equal(req[1].entries[0].path, req[0].uri);
    ax_io_file_unref(req[0].file);
}

static void a_budget_bounds_reads(void **state)
{
    fixture *x = (fixture *) *state;
    ax_budget small;
    ax_task t;
    ax_io_file *f;
    ax_io_req req[3];
    ax_io_need need = {req, 3};
    ax_io_ready ready;

    assert_ok(x, ax_io_open(&x->t, x->io, put_file(x, "a", blob, sizeof blob), &f));
    ax_budget_init(&small, "small", 300000, NULL);
    assert_int_equal(ax_task_init(&t, &small, NULL), AX_OK);
    for (int i = 0; i < 3; i++)
        req[i] = (ax_io_req){.kind = AX_IO_READ, .file = f, .off = 1000, .len = 200000};
    assert_int_equal(ax_io_fetch(&t, x->io, &need, NULL, &ready), AX_ENOMEM);
    for (int i = 0; i < 3; i++)
        ax_buf_unref(req[i].buf);
    ax_task_fini(&t);
    assert_int_equal(atomic_load(&small.used_bytes), 0);
    ax_io_file_unref(f);
}

/* ---- listings -------------------------------------------------------------------------------- */

static void listings_are_sorted_and_leave_out_what_is_no_file(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_entry *e;
    uint32_t n;
    char uri[300];
    const char *loop;

    assert_int_equal(mkdir(in_dir(x, "sub"), 0700), 0);
    put_file(x, "b", blob, 7);
    put_file(x, "a", blob, 5);
    put_file(x, "sub/c", blob, 3);
    assert_int_equal(mkfifo(in_dir(x, "pipe"), 0600), 0);
    assert_int_equal(symlink("nowhere", in_dir(x, "broken")), 0);
    assert_int_equal(symlink("a", in_dir(x, "link")), 0);
    loop = in_dir(x, "sub/loop");
    assert_int_equal(symlink("..", loop), 0);

    snprintf(uri, sizeof uri, "file://%s//", x->dir);
    assert_ok(x, ax_io_list(&x->t, x->io, uri, false, &e, &n));
    assert_int_equal(n, 4);
    snprintf(uri, sizeof uri, "file://%s/a", x->dir);
    assert_string_equal(e[0].path, uri);
    assert_int_equal(e[0].size, 5);
    assert_true(e[0].mtime_ns > 0);
    assert_string_equal(e[1].path + strlen(e[1].path) - 2, "/b");
    assert_string_equal(e[2].path + strlen(e[2].path) - 5, "/link");
    assert_int_equal(e[2].size, 5);
    assert_true(e[3].is_dir);

    assert_ok(x, ax_io_list(&x->t, x->io, x->dir, true, &e, &n));
    assert_int_equal(n, 6);
    assert_string_equal(e[4].path, in_dir(x, "sub/c"));
    assert_string_equal(e[5].path, loop);
    assert_ok(x, ax_io_list(&x->t, x->io, "/", false, &e, &n));
    assert_true(n > 0 && e[0].path[0] == '/' && e[0].path[1] != '/');

    assert_fails(x, AX_ENOFILE, ax_io_list(&x->t, x->io, in_dir(x, "none"), false, &e, &n));
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ENOFILE, ax_io_list(&x->t, x->io, in_dir(x, "a"), false, &e, &n));
    ax_error_clear(&x->t.err);
    atomic_store(&x->stop, 1);
    assert_fails(x, AX_ESTOPPED, ax_io_list(&x->t, x->io, x->dir, true, &e, &n));
}

/* ---- remote ---------------------------------------------------------------------------------- */

static ax_fake *fake_new(fixture *x, uint32_t delay_us, uint64_t gap)
{
    ax_fake *k = (ax_fake *) ax_obj_alloc(sizeof *k);

    k->delay_us = delay_us;
    k->blob[0] = (ax_fake_blob){"fake://a", blob, sizeof blob};
    k->blob[1] = (ax_fake_blob){"fake://b", blob, sizeof blob};
    k->blob[2] = (ax_fake_blob){"fake://d/x", blob, 10};
    k->blob[3] = (ax_fake_blob){"fake://d/y/2", blob, 20};
    k->blob[4] = (ax_fake_blob){"fake://d/y/1", blob, 30};
    k->nblobs = 5;
    k->page_cnt = 2;
    assert_int_equal(ax_fake_run(k, x->io, gap), AX_OK);
    return k;
}

static void fake_free(ax_fake *k)
{
    ax_fake_stop(k);
    assert_int_equal(atomic_load(&k->opened), 0);
    ax_obj_free(k);
}

static void remote_reads_without_a_job_wait(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 500, 1000);
    ax_io_stats stats = {0};
    ax_io_file *f[2];
    ax_io_req req[150];
    ax_io_need need = {req, 150};
    ax_io_ready ready;
    ax_io_entry *e;
    ax_io_id id;
    ax_buf *b;
    bool is_dir;
    uint32_t seed = 3, n;

    assert_ok(x, ax_io_open(&x->t, x->io, "fake://a", &f[0]));
    assert_ok(x, ax_io_open(&x->t, x->io, "fake://b", &f[1]));
    assert_ok(x, ax_io_stat(&x->t, x->io, "fake://b", &id, &is_dir));
    assert_true(ax_io_id_equal(&id, ax_io_file_id(f[1])));
    ax_io_file_count_to(f[0], &stats);
    assert_ok(x, ax_io_read(&x->t, x->io, f[0], 10, 20, &b));
    assert_memory_equal(b->data, blob + 10, 20);
    ax_buf_unref(b);
    assert_int_equal(atomic_load(&stats.bytes_read), 20);
    for (int round = 0; round < 5; round++)
    {
        ask_random(req, 150, f, 2, &seed);
        assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
        assert_int_equal(ready, AX_IO_READY);
        check_answers(req, 150);
    }
    assert_true(atomic_load(&k->starts) < 5 * 150);
    ax_io_file_unref(f[0]);
    ax_io_file_unref(f[1]);
    assert_fails(x, AX_ENOFILE, ax_io_open(&x->t, x->io, "fake://c", &f[0]));
    assert_string_equal(x->t.err.place.file, "fake://c");
    ax_error_clear(&x->t.err);
    assert_ok(x, ax_io_list(&x->t, x->io, "fake://", true, &e, &n));
    assert_int_equal(n, 5);
    fake_free(k);
}

/* A reader as a job: asks, parks, is woken, checks, asks again. */
typedef struct asker
{
    ax_job job;
    fixture *x;
    ax_budget budget;
    ax_task t;
    ax_io_file **f;
    ax_io_req req[40];
    ax_io_need need;
    ax_io_id id[40];
    bool mixed;        /* opens, lists and asks, too */
    uint32_t seed;
    int rounds;
    bool asked;
    ax_status end;
    int bad;
    _Atomic int *over;
} asker;

static void ask_mixed(asker *a)
{
    static const char *const uri[] = {"fake://a", "fake://b", "fake://d/x", "fake://d/y/2"};

    for (uint32_t i = 0; i < a->need.n; i++)
    {
        ax_io_req *r = &a->req[i];

        if (i % 4 == 1)
            *r = (ax_io_req){.kind = AX_IO_OPEN, .uri = uri[i / 4 % 4], .len = i % 8 == 1 ? 25 : 0};
        else if (i % 4 == 2)
            *r = (ax_io_req){.kind = AX_IO_STAT, .uri = i % 8 == 2 ? "fake://d" : uri[i / 4 % 4],
                             .id = &a->id[i]};
        else if (i % 12 == 3)
            *r = (ax_io_req){.kind = AX_IO_LIST, .uri = "fake://d/", .recursive = i == 3};
        else if (i % 12 == 7)
            *r = (ax_io_req){.kind = AX_IO_STAT, .uri = "fake://d/none", .id = &a->id[i]};
    }
}

/* Is the answer right? */
static bool is_right(const ax_io_req *r)
{
    if (!r->done)
        return false;
    switch ((ax_io_kind) r->kind)
    {
        case AX_IO_READ:
            return r->buf->len == r->len && memcmp(r->buf->data, blob + r->off, r->len) == 0;
        case AX_IO_OPEN:
            return strcmp(ax_io_file_name(r->file), r->uri) == 0 &&
                   ax_io_file_size(r->file) == ax_io_file_id(r->file)->size &&
                   ax_io_file_size(r->file) >= 10;
        case AX_IO_LIST:
            return r->found && r->nentries == (r->recursive ? 3 : 2) &&
                   strcmp(r->entries[0].path, "fake://d/x") == 0 && r->entries[0].size == 10 &&
                   strcmp(r->entries[0].etag, "fake") == 0 &&
                   (r->recursive ? strcmp(r->entries[2].path, "fake://d/y/2") == 0
                                 : strcmp(r->entries[1].path, "fake://d/y") == 0 &&
                                       r->entries[1].is_dir);
        case AX_IO_STAT:
            if (strcmp(r->uri, "fake://d/none") == 0)
                return !r->found;
            return r->found && r->is_dir == (strcmp(r->uri, "fake://d") == 0) &&
                   (r->is_dir || r->id->size >= 10);
    }
    return false;
}

static void drop_answer(ax_io_req *r)
{
    ax_buf_unref(r->buf);
    r->buf = NULL;
    if (r->kind != AX_IO_OPEN)
        return;
    ax_io_file_unref(r->file);
    r->file = NULL;
}

static ax_run ask(ax_job *j)
{
    asker *a = OWNER(asker, job, j);
    ax_io_ready ready;

    while (a->rounds > 0)
    {
        if (!a->asked)
            ask_random(a->req, a->need.n, a->f, 2, &a->seed);
        if (!a->asked && a->mixed)
            ask_mixed(a);
        a->asked = true;
        a->end = ax_io_fetch(&a->t, a->x->io, &a->need, j, &ready);
        if (a->end != AX_OK)
            break;
        if (ready == AX_IO_PENDING)
            return AX_RUN_BLOCKED;
        for (uint32_t i = 0; i < a->need.n; i++)
        {
            a->bad += !is_right(&a->req[i]);
            drop_answer(&a->req[i]);
        }
        a->asked = false;
        a->rounds--;
    }
    for (uint32_t i = 0; i < a->need.n && a->end != AX_OK; i++)
        drop_answer(&a->req[i]);
    atomic_fetch_add(a->over, 1);
    return AX_RUN_DONE;
}

static void asker_init(asker *a, fixture *x, ax_io_file **f, ax_group *g, uint32_t seed,
                       _Atomic int *over)
{
    memset(a, 0, sizeof *a);
    a->x = x;
    a->f = f;
    a->seed = seed;
    a->mixed = seed % 2 == 1;
    a->need = (ax_io_need){a->req, 40};
    a->rounds = 10;
    a->over = over;
    ax_budget_init(&a->budget, "asker", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&a->t, &a->budget, NULL), AX_OK);
    ax_job_init(&a->job, ask, g);
    assert_int_equal(ax_job_submit(&a->job), AX_OK);
}

static void jobs_park_until_late_answers_arrive(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 300, 5000);
    static asker a[12];
    ax_io_file *f[2];
    _Atomic int over = 0;
    ax_pool *p;
    ax_group *g;

    assert_ok(x, ax_io_open(&x->t, x->io, "fake://a", &f[0]));
    assert_ok(x, ax_io_open(&x->t, x->io, put_file(x, "l", blob, sizeof blob), &f[1]));
    assert_int_equal(ax_pool_create(&p, 2, 0, 0), AX_OK);
    assert_int_equal(ax_group_create(p, 2, &g), AX_OK);
    for (uint32_t i = 0; i < 12; i++)
        asker_init(&a[i], x, f, g, i, &over);
    for (int i = 0; i < 30000 && atomic_load(&over) < 12; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_int_equal(atomic_load(&over), 12);
    ax_group_destroy(g);
    ax_pool_destroy(p);
    for (int i = 0; i < 12; i++)
    {
        assert_int_equal(a[i].end, AX_OK);
        assert_int_equal(a[i].bad, 0);
        ax_task_fini(&a[i].t);
        assert_int_equal(atomic_load(&a[i].budget.used_bytes), 0);
    }
    ax_io_file_unref(f[0]);
    ax_io_file_unref(f[1]);
    fake_free(k);
}

/* Askers are stopped and freed while their requests are under way, with a backend that can cancel
 * and with one that cannot: late answers must find memory that is still there. */
static void forgotten_requests_end_on_their_own(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 2000, 5000);
    ax_io_file *f[2];

    assert_ok(x, ax_io_open(&x->t, x->io, "fake://a", &f[0]));
    assert_ok(x, ax_io_open(&x->t, x->io, "fake://b", &f[1]));
    for (uint32_t round = 0; round < 20; round++)
    {
        asker *a = (asker *) ax_obj_alloc(4 * sizeof *a);
        int before = atomic_load(&k->starts);
        _Atomic int over = 0;
        ax_pool *p;
        ax_group *g;

        pthread_mutex_lock(&k->lock);
        k->no_cancel = round % 2 == 1;
        k->hold = round < 2; /* there something is under way in any case */
        pthread_mutex_unlock(&k->lock);
        assert_int_equal(ax_pool_create(&p, 2, 0, 0), AX_OK);
        assert_int_equal(ax_group_create(p, 2, &g), AX_OK);
        for (uint32_t i = 0; i < 4; i++)
            asker_init(&a[i], x, f, g, round * 4 + i, &over);
        while (round < 2 && atomic_load(&k->starts) == before)
            nanosleep(&(struct timespec){0, 100000}, NULL);
        nanosleep(&(struct timespec){0, (long) (round * 100000)}, NULL);
        ax_group_stop(g);
        for (int i = 0; i < 4; i++)
        {
            if (a[i].asked && a[i].end == AX_OK && a[i].rounds > 0)
            {
                ax_io_forget(x->io, &a[i].need);
                for (uint32_t q = 0; q < a[i].need.n; q++)
                    drop_answer(&a[i].req[q]);
            }
            ax_task_fini(&a[i].t);
            assert_int_equal(atomic_load(&a[i].budget.used_bytes), 0);
        }
        ax_group_destroy(g);
        ax_pool_destroy(p);
        memset(a, 0xee, 4 * sizeof *a);
        ax_obj_free(a);
        ax_fake_hold(k, false);
    }
    assert_true(atomic_load(&k->cancels) > 0);
    ax_io_file_unref(f[0]);
    ax_io_file_unref(f[1]);
    ax_io_drain(x->io);
    assert_int_equal(atomic_load(&x->io->budget.used_bytes), 0);
    fake_free(k);
}

static void a_failed_read_fails_the_fetch_and_forgets_the_rest(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 300, 0);
    ax_io_file *f;

    assert_ok(x, ax_io_open(&x->t, x->io, "fake://a", &f));
    for (uint32_t round = 0; round < 6; round++)
    {
        ax_io_req req[8] = {{0}};
        ax_io_need need = {req, 8};
        ax_io_ready ready;

        pthread_mutex_lock(&k->lock);
        k->nasked = 0;
        k->fail_nth = round < 3 ? round * 3 + 1 : 0;
        k->refuse_nth = round < 3 ? 0 : (round - 3) * 3 + 1;
        pthread_mutex_unlock(&k->lock);
        for (uint32_t i = 0; i < 8; i++)
            req[i] = (ax_io_req){.kind = AX_IO_READ, .file = f, .off = i * 10000, .len = 5000};
        assert_fails(x, AX_ENET, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
        assert_string_equal(x->t.err.place.file, "fake://a");
        if (round < 3)
            assert_string_equal(x->t.err.msg, "connection reset by fake");
        for (int i = 0; i < 8; i++)
        {
            assert_int_equal(req[i].done, req[i].buf != NULL);
            ax_buf_unref(req[i].buf);
        }
        ax_error_clear(&x->t.err);
    }
    ax_io_file_unref(f);
    ax_io_drain(x->io);
    fake_free(k);
}

/* An opening, a listing and a question fail, at the start or later, alone and among others. */
static void failures_of_other_requests_are_told(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 300, 0);
    ax_io_id id[9];

    for (uint32_t round = 0; round < 18; round++)
    {
        ax_io_req req[9] = {{0}};
        ax_io_need need = {req, 9};
        ax_io_ready ready;

        pthread_mutex_lock(&k->lock);
        k->nasked = 0;
        k->fail_nth = round < 9 ? round + 1 : 0;
        k->refuse_nth = round < 9 ? 0 : round - 8;
        pthread_mutex_unlock(&k->lock);
        for (uint32_t i = 0; i < 9; i++)
            req[i] = (ax_io_req){.kind = (uint8_t) (AX_IO_OPEN + i % 3),
                                 .uri = i % 3 == 1 ? "fake://d" : "fake://a",
                                 .id = &id[i]};
        assert_fails(x, AX_ENET, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
        assert_string_equal(x->t.err.place.file, req[(round % 9)].uri);
        if (round < 9)
            assert_string_equal(x->t.err.msg, "connection reset by fake");
        for (int i = 0; i < 9; i++)
            drop_answer(&req[i]);
        ax_error_clear(&x->t.err);
    }
    ax_io_drain(x->io);
    assert_int_equal(atomic_load(&x->io->budget.used_bytes), 0);
    fake_free(k);
}

static void nothing_there_is_an_answer_but_for_open(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 100, 0);
    ax_io_id id;
    ax_io_req req[4] = {{.kind = AX_IO_STAT, .uri = "fake://none", .id = &id},
                        {.kind = AX_IO_LIST, .uri = "fake://none/"},
                        {.kind = AX_IO_STAT, .uri = in_dir(x, "none"), .id = &id},
                        {.kind = AX_IO_LIST, .uri = in_dir(x, "none")}};
    ax_io_req open = {.kind = AX_IO_OPEN, .uri = "fake://none"};
    ax_io_need need = {req, 4}, one = {&open, 1};
    ax_io_ready ready;
    ax_io_entry *e;
    uint32_t n;
    bool is_dir;

    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    for (int i = 0; i < 4; i++)
        assert_true(req[i].done && !req[i].found && req[i].nentries == 0);
    assert_int_equal(x->t.err.code, AX_OK);
    assert_fails(x, AX_ENOFILE, ax_io_fetch(&x->t, x->io, &one, NULL, &ready));
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ENOFILE, ax_io_list(&x->t, x->io, "fake://none", false, &e, &n));
    assert_string_equal(x->t.err.place.file, "fake://none");
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ENOFILE, ax_io_stat(&x->t, x->io, "fake://none", &id, &is_dir));
    fake_free(k);
}

/* What a listing told is not asked again, and answers in the first call. */
static void known_objects_open_without_a_request(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 100, 0);
    ax_io_entry *e;
    ax_io_known known;
    ax_io_id id;
    ax_io_req req[2];
    ax_io_need need = {req, 2};
    ax_io_ready ready;
    ax_io_stats stats = {0};
    uint32_t n;

    assert_ok(x, ax_io_list(&x->t, x->io, "fake://d", true, &e, &n));
    assert_int_equal(n, 3);
    x->t.io = &stats;
    known = (ax_io_known){e[1].size, e[1].mtime_ns, e[1].etag};
    req[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = e[1].path, .known = &known};
    req[1] = (ax_io_req){.kind = AX_IO_STAT, .uri = e[1].path, .known = &known, .id = &id};
    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    assert_int_equal(ready, AX_IO_READY);
    assert_int_equal(ax_io_file_size(req[0].file), 30);
    assert_true(ax_io_id_equal(&id, ax_io_file_id(req[0].file)));
    assert_int_equal(atomic_load(&k->opens) + atomic_load(&k->stats), 0);
    assert_int_equal(atomic_load(&stats.requests), 0);
    ax_io_file_unref(req[0].file);

    /* Without an ETag it has to ask. */
    known.etag = NULL;
    req[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = e[1].path, .known = &known};
    req[1] = (ax_io_req){.kind = AX_IO_STAT, .uri = e[1].path, .known = &known, .id = &id};
    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    assert_int_equal(atomic_load(&k->opens), 1);
    assert_int_equal(atomic_load(&k->stats), 1);
    assert_int_equal(atomic_load(&stats.requests), 2);
    ax_io_file_unref(req[0].file);
    x->t.io = NULL;
    fake_free(k);
}

static void the_tail_comes_with_the_open(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 100, 0);
    ax_io_req req = {.kind = AX_IO_OPEN, .uri = "fake://a", .len = 4096};
    ax_io_need need = {&req, 1};
    ax_io_ready ready;
    ax_io_file *f;
    ax_buf *b;

    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    f = req.file;
    for (uint64_t len = 0; len <= 4096; len += 1024)
    {
        assert_ok(x, ax_io_read(&x->t, x->io, f, sizeof blob - 4096, len, &b));
        assert_int_equal(b->len, len);
        assert_memory_equal(b->data, blob + sizeof blob - 4096, len);
        ax_buf_unref(b);
        assert_ok(x, ax_io_read(&x->t, x->io, f, sizeof blob - len, len, &b));
        assert_memory_equal(b->data, blob + sizeof blob - len, len);
        ax_buf_unref(b);
    }
    assert_int_equal(atomic_load(&k->starts), 0);
    assert_ok(x, ax_io_read(&x->t, x->io, f, sizeof blob - 4097, 4097, &b));
    ax_buf_unref(b);
    assert_int_equal(atomic_load(&k->starts), 1);
    ax_io_file_drop_tail(f);
    assert_int_equal(atomic_load(&x->io->budget.used_bytes), 0);
    assert_ok(x, ax_io_read(&x->t, x->io, f, sizeof blob - 10, 10, &b));
    ax_buf_unref(b);
    assert_int_equal(atomic_load(&k->starts), 2);
    ax_io_file_unref(f);

    /* One that is longer than the file is the file. */
    req = (ax_io_req){.kind = AX_IO_OPEN, .uri = "fake://d/x", .len = 4096};
    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, NULL, &ready));
    assert_ok(x, ax_io_read(&x->t, x->io, req.file, 0, 10, &b));
    assert_memory_equal(b->data, blob, 10);
    ax_buf_unref(b);
    ax_io_file_unref(req.file);
    assert_int_equal(atomic_load(&k->starts), 2);
    fake_free(k);
}

static void an_opening_answers_where_a_store_cannot_be_asked(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = (ax_fake *) ax_obj_alloc(sizeof *k);
    ax_io_id id;
    bool is_dir;

    k->blob[0] = (ax_fake_blob){"fake://a", blob, 77};
    k->nblobs = 1;
    k->no_stat = true;
    assert_int_equal(ax_fake_run(k, x->io, 0), AX_OK);
    assert_ok(x, ax_io_stat(&x->t, x->io, "fake://a", &id, &is_dir));
    assert_int_equal(id.size, 77);
    assert_false(is_dir);
    assert_fails(x, AX_ENOFILE, ax_io_stat(&x->t, x->io, "fake://b", &id, &is_dir));
    assert_int_equal(atomic_load(&k->opens), 2);
    fake_free(k);
}

/* ---- a directory whose files take each other's place ----------------------------------------- */

#define SWAP_FILE_CNT 40
#define SWAP_LISTING_CNT 3000

typedef struct swapper
{
    char dir[300];
    _Atomic bool stop;
} swapper;

/* Each file has one name at any time: the next one exists before the one before goes. */
static void *swap(void *arg)
{
    swapper *s = (swapper *) arg;
    char from[400], to[400];

    for (int round = 1; !atomic_load(&s->stop); round++)
        for (int i = 0; i < SWAP_FILE_CNT; i += 7)
        {
            (void) snprintf(from, sizeof from, "%s/f%d/%x.%d", s->dir, i % 4, i, round - 1);
            (void) snprintf(to, sizeof to, "%s/f%d/%x.%d", s->dir, i % 4, i, round);
            if (link(from, to) != 0 || unlink(from) != 0)
                abort();
            usleep(50);
        }
    return NULL;
}

static void a_listing_misses_no_file_that_is_replaced(void **state)
{
    fixture *x = (fixture *) *state;
    swapper s = {.stop = false};
    pthread_t thread;
    uint32_t missed = 0;
    char path[400];

    (void) snprintf(s.dir, sizeof s.dir, "%s", in_dir(x, "swap"));
    assert_int_equal(mkdir(s.dir, 0700), 0);
    for (int i = 0; i < SWAP_FILE_CNT; i++)
    {
        int fd;

        (void) snprintf(path, sizeof path, "%s/f%d", s.dir, i % 4);
        if (i < 4)
            assert_int_equal(mkdir(path, 0700), 0);
        (void) snprintf(path, sizeof path, "%s/f%d/%x.0", s.dir, i % 4, i);
        fd = creat(path, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
    for (int k = 0; k < SWAP_LISTING_CNT; k++)
    {
        bool seen[SWAP_FILE_CNT] = {false};
        ax_io_entry *e;
        uint32_t n;

        assert_ok(x, ax_io_list(&x->t, x->io, s.dir, true, &e, &n));
        for (uint32_t i = 0; i < n; i++)
        {
            const char *name = strrchr(e[i].path, '/') + 1;

            if (!e[i].is_dir)
                seen[strtol(name, NULL, 16)] = true;
        }
        for (int i = 0; i < SWAP_FILE_CNT; i++)
            missed += !seen[i];
        ax_arena_reset(x->t.arena);
    }
    atomic_store(&s.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(missed, 0);
}

/* A listing that nobody wants any more ends at its next page. */
static void a_forgotten_listing_stops_at_a_page(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 0, 0);
    ax_io_req req = {.kind = AX_IO_LIST, .uri = "fake://", .recursive = true};
    ax_io_need need = {&req, 1};
    ax_io_ready ready;
    ax_job job;

    memset(&job, 0, sizeof job);
    k->page_cnt = 1;
    k->no_cancel = true;
    ax_fake_hold(k, true);
    assert_ok(x, ax_io_fetch(&x->t, x->io, &need, &job, &ready));
    assert_int_equal(ready, AX_IO_PENDING);
    ax_io_forget(x->io, &need);
    ax_fake_hold(k, false);
    ax_io_drain(x->io);
    assert_int_equal(atomic_load(&k->pages), 1);
    assert_int_equal(atomic_load(&x->io->budget.used_bytes), 0);
    fake_free(k);
}

static void *stop_soon(void *arg)
{
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    atomic_store((_Atomic int *) arg, 1);
    return NULL;
}

static void a_stop_ends_a_blocking_wait(void **state)
{
    fixture *x = (fixture *) *state;
    ax_fake *k = fake_new(x, 0, 0);
    ax_io_file *f;
    pthread_t th;
    ax_buf *b;

    assert_ok(x, ax_io_open(&x->t, x->io, "fake://a", &f));
    ax_fake_hold(k, true);
    assert_int_equal(pthread_create(&th, NULL, stop_soon, &x->stop), 0);
    assert_fails(x, AX_ESTOPPED, ax_io_read(&x->t, x->io, f, 0, 10, &b));
    pthread_join(th, NULL);
    ax_io_file_unref(f);
    ax_error_clear(&x->t.err);
    assert_fails(x, AX_ESTOPPED, ax_io_open(&x->t, x->io, "fake://a", &f));
    assert_null(f);
    fake_free(k);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(local_file_is_read_by_range),
        TEST(what_is_no_file_is_refused_without_blocking),
        TEST(schemes_are_told_apart),
        TEST(a_changed_file_is_noticed),
        TEST(descriptors_are_bounded),
        TEST(the_end_closes_what_is_open),
        TEST(slices_are_files_of_their_own),
        TEST(idle_descriptors_make_way_when_the_kernel_has_none),
        TEST(files_are_shared_between_threads),
        TEST(local_and_memory_requests_are_served_at_once),
        TEST(near_ranges_become_one_read),
        TEST(opening_and_listing_are_requests_too),
        TEST(a_budget_bounds_reads),
        TEST(listings_are_sorted_and_leave_out_what_is_no_file),
        TEST(remote_reads_without_a_job_wait),
        TEST(jobs_park_until_late_answers_arrive),
        TEST(forgotten_requests_end_on_their_own),
        TEST(a_failed_read_fails_the_fetch_and_forgets_the_rest),
        TEST(a_stop_ends_a_blocking_wait),
        TEST(failures_of_other_requests_are_told),
        TEST(nothing_there_is_an_answer_but_for_open),
        TEST(known_objects_open_without_a_request),
        TEST(the_tail_comes_with_the_open),
        TEST(an_opening_answers_where_a_store_cannot_be_asked),
        TEST(a_listing_misses_no_file_that_is_replaced),
        TEST(a_forgotten_listing_stops_at_a_page),
    };

    return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
