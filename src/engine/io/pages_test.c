/* Pages that stay: what is let in, what goes, whose bytes they are, what they are charged to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/io_int.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

typedef struct fixture
{
    char path[64];
    ax_budget engine, query;
    _Atomic int stop;
    ax_io_stats stats;
    ax_task t;
    ax_io *io;
    ax_io_file *f;
} fixture;

/* The file's times are `age` seconds ago, as far as that can be: its ctime is set to what the open
 * saw, which nobody can do with a real one. */
static ax_io_file *open_file(fixture *x, int age)
{
    ax_io_file *f;
    struct timespec now;

    assert_int_equal(ax_io_open(&x->t, x->io, x->path, &f), AX_OK);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    f->id.mtime_ns = f->id.ctime_ns = ((int64_t) now.tv_sec - age) * 1000000000;
    return f;
}

static int set_up(void **state)
{
    fixture *x = (fixture *) ax_obj_alloc(sizeof *x);
    int fd;

    snprintf(x->path, sizeof x->path, "/tmp/ax_pages_test.XXXXXX");
    fd = mkstemp(x->path);
    if (fd < 0 || write(fd, "some bytes", 10) != 10 || close(fd) != 0)
        return -1;
    ax_budget_init(&x->engine, "engine", INT64_MAX, NULL);
    ax_budget_init(&x->query, "query", INT64_MAX, NULL);
    if (ax_task_init(&x->t, &x->query, &x->stop) != AX_OK || ax_io_create(&x->io, 4) != AX_OK)
        return -1;
    x->t.io = &x->stats;
    x->f = open_file(x, 60);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    ax_io_file_unref(x->f);
    ax_io_destroy(x->io);
    ax_task_fini(&x->t);
    assert_int_equal(atomic_load(&x->engine.used_bytes), 0);
    assert_int_equal(atomic_load(&x->query.used_bytes), 0);
    unlink(x->path);
    ax_obj_free(x);
    return 0;
}

static ax_io_page key(uint64_t off) { return (ax_io_page){.off = off, .len = PAGE, .how = 1}; }

/* Read page `off` as a reader does: true, it was in the cache.  Its bytes are made from `off`. */
static bool read_key(fixture *x, ax_io_file *f, ax_io_page k)
{
    bool wanted;
    ax_buf *b = ax_io_page_get(&x->t, f, &k, &wanted);
    bool hit = b != NULL;

    assert_false(hit && wanted);
    if (hit)
    {
        assert_int_equal(b->len, k.len);
        assert_int_equal(b->data[0], (uint8_t) (k.off + k.how));
        assert_int_equal(b->data[k.len - 1], (uint8_t) (k.off + k.how));
    }
    else
    {
        b = ax_buf_alloc(&x->query, k.len);
        memset(b->data, (int) (k.off + k.how), k.len);
        if (wanted)
            ax_io_page_put(f, &k, b);
    }
    ax_buf_unref(b);
    return hit;
}

static bool read_page(fixture *x, uint64_t off) { return read_key(x, x->f, key(off)); }

/* ---- what is let in -------------------------------------------------------------------------- */

static void nothing_stays_unless_asked(void **state)
{
    fixture *x = (fixture *) *state;

    for (int i = 0; i < 5; i++)
        assert_false(read_page(x, 4));
    ax_io_keep_pages(x->io, 0, &x->engine);
    assert_false(read_page(x, 4));
    assert_int_equal(ax_io_kept_bytes(x->io), 0);
}

static void the_second_time_lets_in(void **state)
{
    fixture *x = (fixture *) *state;

    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    assert_false(read_page(x, 4));
    assert_int_equal(ax_io_kept_bytes(x->io), 0);
    assert_false(read_page(x, 4));
    assert_true(ax_io_kept_bytes(x->io) >= PAGE);
    assert_true(atomic_load(&x->engine.used_bytes) >= PAGE);
    assert_int_equal(atomic_load(&x->stats.pages_cached), 0);
    assert_true(read_page(x, 4));
    assert_int_equal(atomic_load(&x->stats.pages_cached), 1);
    assert_int_equal(atomic_load(&x->stats.bytes_cached), PAGE);
    ax_io_trim_pages(x->io);
    assert_int_equal(ax_io_kept_bytes(x->io), 0);
    assert_int_equal(atomic_load(&x->engine.used_bytes), 0);
}

static void other_pages_are_not_taken_for_it(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_page k = key(4), longer = k, codec = k, checked = k;

    longer.len = PAGE + 1;
    codec.how = 2;
    checked.checked = true;
    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    for (int i = 0; i < 2; i++)
        (void) read_page(x, 4);
    assert_true(read_page(x, 4));
    assert_false(read_page(x, 5));
    assert_false(read_key(x, x->f, codec));
    assert_false(read_key(x, x->f, longer)); /* takes its place */
    assert_true(read_key(x, x->f, longer));
    assert_false(read_page(x, 4));
    assert_false(read_key(x, x->f, checked)); /* nobody has compared its checksum */
    assert_true(read_key(x, x->f, checked));
    assert_true(read_page(x, 4));
}

static void a_new_version_has_pages_of_its_own(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_file *f = open_file(x, 30);

    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    for (int i = 0; i < 3; i++)
        (void) read_page(x, 4);
    assert_true(read_page(x, 4));
    assert_false(read_key(x, f, key(4)));
    ax_io_file_unref(f);
}

static void a_file_written_just_now_is_not_trusted(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_file *f = open_file(x, 0);

    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    for (int i = 0; i < 5; i++)
        assert_false(read_key(x, f, key(4)));
    assert_int_equal(ax_io_kept_bytes(x->io), 0);
    ax_io_file_unref(f);
}

/* ---- what goes ------------------------------------------------------------------------------- */

static uint32_t pass(fixture *x, uint64_t first, uint32_t n)
{
    uint32_t hits = 0;

    for (uint32_t i = 0; i < n; i++)
        hits += read_page(x, first + i);
    return hits;
}

static void the_limit_holds(void **state)
{
    fixture *x = (fixture *) *state;
    size_t limit = 40 * PAGE;

    ax_io_keep_pages(x->io, limit, &x->engine);
    for (int i = 0; i < 10; i++)
    {
        (void) pass(x, 4, 100);
        assert_true(ax_io_kept_bytes(x->io) <= limit);
    }
    assert_true(atomic_load(&x->engine.used_bytes) <= (int64_t) limit);
    ax_io_keep_pages(x->io, limit / 2, &x->engine);
    assert_true(ax_io_kept_bytes(x->io) <= limit / 2);
}

static void passes_over_too_much_find_what_fits(void **state)
{
    fixture *x = (fixture *) *state;
    uint32_t hits = 0;

    ax_io_keep_pages(x->io, 40 * PAGE, &x->engine);
    for (int i = 0; i < 4; i++)
        hits = pass(x, 4, 100);
    assert_in_range(hits, 30, 40);
}

static void a_single_pass_displaces_nothing(void **state)
{
    fixture *x = (fixture *) *state;

    ax_io_keep_pages(x->io, 40 * PAGE, &x->engine);
    (void) pass(x, 4, 30);
    (void) pass(x, 4, 30);
    assert_int_equal(pass(x, 1000, 500), 0);
    assert_int_equal(pass(x, 4, 30), 30);
}

static void what_is_wanted_now_displaces_what_was(void **state)
{
    fixture *x = (fixture *) *state;
    uint32_t hits = 0;

    ax_io_keep_pages(x->io, 40 * PAGE, &x->engine);
    for (int i = 0; i < 100; i++)
        (void) pass(x, 4, 35);
    for (int i = 0; i < 10000 && hits < 35; i++)
        hits = pass(x, 1000, 35);
    assert_int_equal(hits, 35);
}

static void what_is_dropped_while_it_is_read_stays(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_page k = key(4);
    bool wanted;
    ax_buf *b;

    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    (void) pass(x, 4, 1);
    (void) pass(x, 4, 1);
    b = ax_io_page_get(&x->t, x->f, &k, &wanted);
    assert_non_null(b);
    ax_io_keep_pages(x->io, 0, &x->engine);
    assert_int_equal(b->data[PAGE - 1], 5);
    assert_true(atomic_load(&x->engine.used_bytes) >= PAGE);
    ax_buf_unref(b);
    assert_int_equal(atomic_load(&x->engine.used_bytes), 0);
}

static void an_account_that_is_full_keeps_nothing(void **state)
{
    fixture *x = (fixture *) *state;

    x->engine.limit_bytes = PAGE;
    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    for (int i = 0; i < 4; i++)
        assert_false(read_page(x, 4));
    assert_int_equal(atomic_load(&x->engine.used_bytes), 0);
}

/* ---- readers that need not have a page whole ------------------------------------------------- */

static void asking_whether_it_is_wanted_counts(void **state)
{
    fixture *x = (fixture *) *state;
    ax_io_page k = key(4);

    assert_false(ax_io_page_wanted(x->f, &k));
    ax_io_keep_pages(x->io, 1 << 20, &x->engine);
    assert_false(ax_io_page_wanted(x->f, &k));
    assert_true(ax_io_page_wanted(x->f, &k));
    assert_false(read_page(x, 4));
    assert_true(ax_io_page_wanted(x->f, &k));
    assert_true(read_page(x, 4));
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct reader { fixture *x; uint32_t no, hits; } reader;

static void *read_much(void *arg)
{
    reader *r = (reader *) arg;

    for (uint32_t i = 0; i < 20000; i++)
        r->hits += read_page(r->x, 4 + (i * (r->no * 2 + 1)) % 64);
    return NULL;
}

static void many_threads_at_once(void **state)
{
    fixture *x = (fixture *) *state;
    reader r[4];
    pthread_t th[4];

    ax_io_keep_pages(x->io, 40 * PAGE, &x->engine);
    for (uint32_t i = 0; i < 4; i++)
    {
        r[i] = (reader){x, i, 0};
        assert_int_equal(pthread_create(&th[i], NULL, read_much, &r[i]), 0);
    }
    for (uint32_t i = 0; i < 200; i++)
        ax_io_keep_pages(x->io, (20 + i % 3 * 10) * PAGE, &x->engine);
    for (uint32_t i = 0; i < 4; i++)
    {
        assert_int_equal(pthread_join(th[i], NULL), 0);
        assert_true(r[i].hits > 0);
    }
    assert_true(ax_io_kept_bytes(x->io) <= 40 * PAGE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_stays_unless_asked),
        TEST(the_second_time_lets_in),
        TEST(other_pages_are_not_taken_for_it),
        TEST(a_new_version_has_pages_of_its_own),
        TEST(a_file_written_just_now_is_not_trusted),
        TEST(the_limit_holds),
        TEST(passes_over_too_much_find_what_fits),
        TEST(a_single_pass_displaces_nothing),
        TEST(what_is_wanted_now_displaces_what_was),
        TEST(what_is_dropped_while_it_is_read_stays),
        TEST(an_account_that_is_full_keeps_nothing),
        TEST(asking_whether_it_is_wanted_counts),
        TEST(many_threads_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
