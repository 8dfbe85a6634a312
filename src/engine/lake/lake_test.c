/* Which files make a table: local trees, a fake store, globs against a plain matcher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lake/lake_int.h"

#include "io/fake_remote_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture
{
    char dir[64];
    ax_budget budget;
    ax_task t;
    ax_arena *a;
    ax_io *io;
    ax_fake remote;
    char text[4096];  /* the last list, one path after the other */
    uint32_t steps;
} fixture;

static const ax_format parquetish = {.name = "p", .suffixes = "parquet pq"};
static const ax_format partish = {.name = "m", .directory = true};

/* Files of the tree, local and remote; those that are not hidden are sorted. */
static const char *const names[] = {
    "a.parquet",
    "b.PQ",
    "c.txt",
    "_hidden.parquet",
    "_meta/x.parquet",
    "d/e.parquet",
    "d/f/g.parquet",
    "d/.tmp/h.parquet",
    "lit[1].parquet",
    "y=1/m=2/1.parquet",
    "y=1/m=2/2.parquet",
    "y=1/m=3/1.parquet",
    "y=2/m=2/1.parquet",
    "y=__HIVE_DEFAULT_PARTITION__/m=a%2Fb%/1.parquet",
};

#define NAME_CNT (sizeof names / sizeof names[0])

static int set_up(void **state)
{
    fixture *x = (fixture *) ax_obj_alloc(sizeof *x);
    static char uri[NAME_CNT][100];

    snprintf(x->dir, sizeof x->dir, "/tmp/ax_lake_test.XXXXXX");
    if (mkdtemp(x->dir) == NULL)
        return -1;
    for (size_t i = 0; i < NAME_CNT; i++)
    {
        char path[300];
        int fd;

        for (const char *p = strchr(names[i], '/'); p != NULL; p = strchr(p + 1, '/'))
        {
            snprintf(path, sizeof path, "%s/%.*s", x->dir, (int) (p - names[i]), names[i]);
            mkdir(path, 0700);
        }
        snprintf(path, sizeof path, "%s/%s", x->dir, names[i]);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, "123456789012345", i + 1) != (ssize_t) i + 1)
            return -1;
        close(fd);
        snprintf(uri[i], sizeof uri[i], "fake://t/%s", names[i]);
        x->remote.blob[i] = (ax_fake_blob){uri[i], (const uint8_t *) "123456789012345", i + 1};
    }
    x->remote.nblobs = NAME_CNT;
    x->remote.delay_us = 200;
    ax_budget_init(&x->budget, "query", INT64_MAX, NULL);
    if (ax_task_init(&x->t, &x->budget, NULL) != AX_OK || ax_io_create(&x->io, 0) != AX_OK ||
        ax_fake_run(&x->remote, x->io, 0) != AX_OK)
        return -1;
    x->a = ax_arena_create(&x->budget, 0);
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

    ax_arena_destroy(x->a);
    ax_task_fini(&x->t);
    ax_fake_stop(&x->remote);
    ax_io_destroy(x->io);
    assert_int_equal(atomic_load(&x->budget.used_bytes), 0);
    remove_tree(x->dir);
    ax_obj_free(x);
    return 0;
}

/* Drive an operation to its end, waiting for what it needs. */
static ax_status drive(fixture *x, const ax_lake_spec *spec, const ax_lake_file **file, uint32_t *n)
{
    ax_lake_op *op;
    ax_lake_event ev;
    ax_status st;

    x->steps = 0;
    *n = 0;
    *file = NULL;
    AX_TRY(ax_lake_begin(&x->t, x->a, spec, &op));
    for (;;)
    {
        ax_io_ready ready;

        memset(&ev, 0, sizeof ev);
        st = ax_lake_step(&x->t, op, &ev);
        x->steps++;
        if (st == AX_OK && ev.step == AX_STEP_NEED)
            st = ax_io_fetch(&x->t, x->io, &ev.need, NULL, &ready);
        if (st != AX_OK || ev.step == AX_STEP_DONE)
            break;
    }
    ax_lake_end(op);
    if (st == AX_OK)
    {
        *file = ev.file;
        *n = ev.nfiles;
    }
    return st;
}

/* Files of a path below the root, as text relative to it. */
static const char *files_of(fixture *x, const char *root, const char *below,
                            const ax_format *format)
{
    const ax_lake_file *f;
    char path[300];
    const char *p = path;
    ax_lake_spec spec = {.path = &p, .npaths = 1, .format = format};
    uint32_t n;
    size_t len = 0, nroot = strlen(root);

    snprintf(path, sizeof path, "%s%s", root, below);
    x->text[0] = '\0';
    if (drive(x, &spec, &f, &n) != AX_OK)
    {
        snprintf(x->text, sizeof x->text, "%s", ax_status_name(x->t.err.code));
        ax_error_clear(&x->t.err);
        return x->text;
    }
    for (uint32_t i = 0; i < n; i++)
    {
        assert_memory_equal(f[i].path, root, nroot);
        len += (size_t) snprintf(x->text + len, sizeof x->text - len, "%s%s", i > 0 ? " " : "",
                                 f[i].path + nroot);
    }
    return x->text;
}

static void check_tree(fixture *x, const char *root)
{
    static const struct { const char *path, *files; } cases[] = {
        {"a.parquet", "a.parquet"},
        {"none.parquet", "ENOFILE"},
        {"none/", "ENOFILE"},
        {"d", "d/e.parquet d/f/g.parquet"},
        {"d//", "d/e.parquet d/f/g.parquet"},
        {"y=1", "y=1/m=2/1.parquet y=1/m=2/2.parquet y=1/m=3/1.parquet"},
        {"lit[1].parquet", "lit[1].parquet"},
        {"lit\\[1].parquet", "lit[1].parquet"},
        {"lit[[]*", "lit[1].parquet"},
        {"*", "a.parquet b.PQ c.txt lit[1].parquet"},
        {"*.{pq,PQ,txt}", "b.PQ c.txt"},
        {"_h*", "_hidden.parquet"},
        {"none*", ""},
        {"none/*", ""},
        {"a.parquet/*", ""},
        {"*/*", "d/e.parquet"},
        {"*/e.parquet", "d/e.parquet"},
        {"*/x.parquet", ""},
        {"_*/x.parquet", "_meta/x.parquet"},
        {"{d,_meta}/*.parquet", "d/e.parquet"},
        {"{d/f,y=1/m=3}/*", "d/f/g.parquet y=1/m=3/1.parquet"},
        {"y=[12]/m=2/1.parquet", "y=1/m=2/1.parquet y=2/m=2/1.parquet"},
        {"y=[!1]/m=2/*", "y=2/m=2/1.parquet"},
        {"y=?/*3/?.parquet", "y=1/m=3/1.parquet"},
        {"**/g.parquet", "d/f/g.parquet"},
        {"d/**", "d/e.parquet d/f/g.parquet"},
        {"y=1/**/2.*", "y=1/m=2/2.parquet"},
        {"y=*/**2/1*", "y=1/m=2/1.parquet y=2/m=2/1.parquet"},
        {"*/", "d/e.parquet d/f/g.parquet y=1/m=2/1.parquet y=1/m=2/2.parquet y=1/m=3/1.parquet "
               "y=2/m=2/1.parquet y=__HIVE_DEFAULT_PARTITION__/m=a%2Fb%/1.parquet"},
        {"*=[", ""},
    };
    const char *all;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        const char *got = files_of(x, root, cases[i].path, &parquetish);

        if (strcmp(got, cases[i].files) != 0)
            print_error("%s%s\n", root, cases[i].path);
        assert_string_equal(got, cases[i].files);
    }
    all = files_of(x, root, "", &parquetish);
    assert_null(strstr(all, "c.txt"));
    assert_non_null(strstr(all, "b.PQ"));
    all = files_of(x, root, "", NULL);
    assert_non_null(strstr(all, "c.txt"));
    assert_null(strstr(all, "idden"));
}

static void local_trees_are_walked(void **state)
{
    fixture *x = (fixture *) *state;
    char root[100], cwd[512];

    snprintf(root, sizeof root, "%s/", x->dir);
    check_tree(x, root);
    snprintf(root, sizeof root, "file://%s/", x->dir);
    check_tree(x, root);
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(x->dir), 0);
    assert_string_equal(files_of(x, "", "*.parquet", &parquetish), "a.parquet lit[1].parquet");
    assert_string_equal(files_of(x, "", "**/g*", &parquetish), "d/f/g.parquet");
    assert_string_equal(files_of(x, "", "./d/f/*", &parquetish), "./d/f/g.parquet");
    assert_string_equal(files_of(x, "", "?/e.parquet", &parquetish), "d/e.parquet");
    assert_int_equal(chdir(cwd), 0);
}

static void remote_trees_are_walked(void **state)
{
    fixture *x = (fixture *) *state;

    check_tree(x, "fake://t/");
    assert_string_equal(files_of(x, "", "fake://*/a.parquet", &parquetish), "EOPTION");
    assert_string_equal(files_of(x, "", "fake://t*/a.parquet", &parquetish), "EOPTION");
}

/* Only what lies behind the fixed beginning is asked for, and what is known is not. */
static void globs_ask_for_little(void **state)
{
    static const struct { const char *path; int stats, lists; uint32_t steps; } cases[] = {
        {"fake://t/a.parquet", 1, 0, 2},
        {"fake://t/y=1/", 0, 1, 2},
        {"fake://t/y=1", 1, 1, 3},
        {"fake://t/y=1/m=2/*", 1, 1, 3},
        {"fake://t/y=*/m=2/*.parquet", 1, 4, 4},  /* t, then one in each y */
        {"fake://t/y=1/*/1.parquet", 3, 1, 4},    /* y=1, then one question in each m */
        {"fake://t/y=1/**/1.parquet", 1, 1, 3},
    };
    fixture *x = (fixture *) *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        atomic_store(&x->remote.stats, 0);
        atomic_store(&x->remote.lists, 0);
        (void) files_of(x, "", cases[i].path, &parquetish);
        assert_int_equal(atomic_load(&x->remote.stats), cases[i].stats);
        assert_int_equal(atomic_load(&x->remote.lists), cases[i].lists);
        assert_int_equal(x->steps, cases[i].steps);
    }
}

static void facts_and_partitions_are_kept(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path[] = {"fake://t/y=*/*/1.parquet", "fake://t/y=1", "fake://t/a.parquet"};
    ax_lake_spec spec = {.path = path, .npaths = 3, .format = &parquetish};
    const ax_lake_file *f;
    uint32_t n;

    assert_int_equal(drive(x, &spec, &f, &n), AX_OK);
    assert_int_equal(n, 6);
    for (uint32_t i = 0; i < n; i++)
    {
        assert_true(f[i].listed && f[i].size > 0);
        assert_string_equal(f[i].etag, "fake");
        assert_int_equal(f[i].nparts, i == 0 ? 0 : 2);
        if (i > 0)
        {
            assert_string_equal(f[i].part_name[0], "y");
            assert_string_equal(f[i].part_name[1], "m");
        }
    }
    assert_string_equal(f[0].path, "fake://t/a.parquet");
    assert_string_equal(f[2].path, "fake://t/y=1/m=2/2.parquet");
    assert_string_equal(f[2].part_value[1], "2");
    assert_ptr_equal(f[1].part_value, f[2].part_value);
    assert_string_equal(f[3].part_value[1], "3");
    assert_string_equal(f[4].part_value[0], "2");
    assert_null(f[5].part_value[0]);
    assert_string_equal(f[5].part_value[1], "a/b%");
}

static void partitions_are_read_from_directories_only(void **state)
{
    static const struct { const char *path, *parts; } cases[] = {
        {"a=1", ""},
        {"x/a=1.parquet", ""},
        {"a=1/f", "a:1;"},
        {"/r/a=1//b=2/c/f=4", "a:1;b:2;"},
        {"s3://b/a=%3D%3d%/f", "a:==%;"},
        {"a=b=c/f", "a:b=c;"},
        {"=c/f", ""},
        {"a=/f", "a:;"},
        {"%41=1/a%zz=%0/b=%00/f", "A:1;a%zz:%0;b:%00;"},
        {"a=__HIVE_DEFAULT_PARTITION__/b=NULL/f", "a:null;b:NULL;"},
        {"a=007/f", "a:007;"},
    };
    fixture *x = (fixture *) *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        ax_lake_list l = {.arena = x->a};
        char got[200] = "";

        assert_int_equal(ax_lake_list_add(&x->t, &l, &(ax_lake_file){.path = cases[i].path}),
                         AX_OK);
        assert_int_equal(ax_lake_hive(&x->t, &l), AX_OK);
        for (uint32_t k = 0; k < l.file[0].nparts; k++)
        {
            const char *v = l.file[0].part_value[k];
            size_t len = strlen(got);

            snprintf(got + len, sizeof got - len, "%s:%s;", l.file[0].part_name[k],
                     v != NULL ? v : "null");
        }
        assert_string_equal(got, cases[i].parts);
    }
}

static void paths_of_directory_formats_are_given_through(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path[] = {"/b", "/a*", "/b"};
    ax_lake_spec spec = {.path = path, .npaths = 3, .format = &partish};
    const ax_lake_file *f;
    uint32_t n;

    assert_int_equal(drive(x, &spec, &f, &n), AX_OK);
    assert_int_equal(n, 2);
    assert_string_equal(f[0].path, "/a*");
    assert_false(f[0].listed);
    spec.kind = "files";
    assert_int_equal(drive(x, &spec, &f, &n), AX_ENOFILE);
    ax_error_clear(&x->t.err);
    spec.kind = "swamp";
    assert_int_equal(drive(x, &spec, &f, &n), AX_EOPTION);
}

static void failures_name_the_place(void **state)
{
    fixture *x = (fixture *) *state;

    for (uint32_t nth = 1; nth <= 5; nth++)
        for (uint32_t refused = 0; refused < 2; refused++)
        {
            const char *path = "fake://t/y=*/m=2/*.parquet";
            ax_lake_spec spec = {.path = &path, .npaths = 1, .format = &parquetish};
            const ax_lake_file *f;
            uint32_t n;

            pthread_mutex_lock(&x->remote.lock);
            x->remote.nasked = 0;
            x->remote.fail_nth = refused ? 0 : nth;
            x->remote.refuse_nth = refused ? nth : 0;
            pthread_mutex_unlock(&x->remote.lock);
            assert_int_equal(drive(x, &spec, &f, &n), AX_ENET);
            assert_memory_equal(x->t.err.place.file, "fake://t", 8);
            ax_error_clear(&x->t.err);
        }
}

/* Operations are given up after each of their steps, with answers under way. */
static void operations_end_in_every_state(void **state)
{
    fixture *x = (fixture *) *state;
    const char *path = "fake://t/y=*/m=*/*.parquet";
    ax_lake_spec spec = {.path = &path, .npaths = 1, .format = &parquetish};
    ax_job job;

    memset(&job, 0, sizeof job);
    ax_lake_end(NULL);
    for (uint32_t steps = 0; steps < 5; steps++)
        for (uint32_t late = 0; late < 2; late++)
        {
            ax_lake_op *op;
            ax_lake_event ev = {0};
            ax_io_ready ready;

            assert_int_equal(ax_lake_begin(&x->t, x->a, &spec, &op), AX_OK);
            for (uint32_t i = 0; i < steps && ev.step != AX_STEP_DONE; i++)
            {
                memset(&ev, 0, sizeof ev);
                assert_int_equal(ax_lake_step(&x->t, op, &ev), AX_OK);
                if (ev.step == AX_STEP_DONE || (late && i + 1 == steps))
                    break;
                assert_int_equal(ax_io_fetch(&x->t, x->io, &ev.need, NULL, &ready), AX_OK);
            }
            if (steps > 0 && late && ev.step == AX_STEP_NEED)
            {
                ax_fake_hold(&x->remote, true);
                assert_int_equal(ax_io_fetch(&x->t, x->io, &ev.need, &job, &ready), AX_OK);
                assert_int_equal(ready, AX_IO_PENDING);
                ax_io_forget(x->io, &ev.need);
                ax_fake_hold(&x->remote, false);
            }
            ax_lake_end(op);
        }
}

/* ---- globs against a plain matcher ----------------------------------------------------------- */

static uint32_t next(uint32_t *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 16; }

/* Walking must find what matching all paths finds; hidden names apart. */
static void walking_finds_what_matching_finds(void **state)
{
    static const char *const piece[] = {"*", "?", "y", "=", "1", "/", "/", "**", "{1,2}", "[12]",
                                        "{a,y=1/m}", "m=2", "d", ".parquet", "\\", "e", "{", "["};
    fixture *x = (fixture *) *state;
    uint32_t seed = 11, nonempty = 0;

    for (int round = 0; round < 5000; round++)
    {
        char pattern[100] = "", want[4096] = "";
        const char *got;

        for (uint32_t k = next(&seed) % 7 + 1; k > 0; k--)
            strncat(pattern, piece[next(&seed) % (sizeof piece / sizeof piece[0])], 20);
        if (!ax_glob_has_magic(pattern) || pattern[0] == '/' ||
            pattern[strlen(pattern) - 1] == '/' || strstr(pattern, "//") != NULL)
            continue;
        for (size_t i = 0; i < NAME_CNT; i++)
        {
            size_t len = strlen(want);

            if (strchr("_", names[i][0]) == NULL && strstr(names[i], "/.") == NULL &&
                ax_glob_match(pattern, names[i]))
                snprintf(want + len, sizeof want - len, "%s%s", len > 0 ? " " : "", names[i]);
        }
        {
            char root[100];

            snprintf(root, sizeof root, "%s/", x->dir);
            got = files_of(x, root, pattern, &parquetish);
        }
        if (strcmp(got, want) != 0)
            print_error("pattern %s\n", pattern);
        assert_string_equal(got, want);
        nonempty += want[0] != '\0';
        ax_arena_reset(x->a);
        ax_arena_reset(x->t.arena);
    }
    assert_true(nonempty > 50);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(local_trees_are_walked),
        TEST(remote_trees_are_walked),
        TEST(globs_ask_for_little),
        TEST(facts_and_partitions_are_kept),
        TEST(partitions_are_read_from_directories_only),
        TEST(paths_of_directory_formats_are_given_through),
        TEST(failures_name_the_place),
        TEST(operations_end_in_every_state),
        TEST(walking_finds_what_matching_finds),
    };

    return cmocka_run_group_tests_name("lake", tests, NULL, NULL);
}
