/* (L06) Sources that a host keeps, over real directories: what changes is seen, and what is
 * remembered is never taken for true of a file that was not looked at. */
#include "fake_host_test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 3u
#define ROWS 200u
#define AT_REST_US 2100000

typedef struct folder
{
    host h;
    char dir[64], sub[80], pattern[96];
} folder;

static void write_file(const char *dir, const char *name, const ff_bytes *b)
{
    char path[160];
    const struct { const char *suffix; const uint8_t *p; size_t n; } part[] = {
        {"", b->main, b->nmain}, {".mrk", b->marks, b->nmarks}};

    for (int i = 0; i < 2; i++)
    {
        FILE *out;

        snprintf(path, sizeof path, "%s/%s.gran%s", dir, name, part[i].suffix);
        out = fopen(path, "w");
        assert_non_null(out);
        assert_int_equal(fwrite(part[i].p, 1, part[i].n, out), part[i].n);
        assert_int_equal(fclose(out), 0);
    }
}

static void write_rows(folder *f, const char *name, uint32_t rows)
{
    ff_bytes b = ff_build(1, rows, 10, row_plain);

    write_file(f->sub, name, &b);
    ff_free(&b);
}

static void folder_begin(folder *f)
{
    host_begin(&f->h, 2, 0);
    snprintf(f->dir, sizeof f->dir, "/tmp/ax_kept_XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->sub, sizeof f->sub, "%s/p=1", f->dir);
    assert_int_equal(mkdir(f->sub, 0755), 0);
    snprintf(f->pattern, sizeof f->pattern, "%s/p=*/*.gran", f->dir);
    write_rows(f, "a", ROWS);
    write_rows(f, "b", ROWS);
    write_rows(f, "c", ROWS);
}

static void folder_end(folder *f)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
    host_end(&f->h);
}

static void list(folder *f, ax_source *s)
{
    ax_query_opts o = host_opts(&f->h);
    ax_query *q;
    ax_batch *b;
    ax_error err;

    assert_int_equal(ax_query_list(f->h.engine, s, &o, &q, &err), AX_OK);
    assert_int_equal(host_next(&f->h, q, &b), AX_NEXT_DONE);
    ax_query_destroy(q);
}

static ax_source *listed(folder *f, const char *path)
{
    ax_source *s = host_source(&f->h, path);

    list(f, s);
    return s;
}

static void nothing(folder *f) { (void) f; }
static void add(folder *f) { write_rows(f, "d", ROWS); }
static void rewrite(folder *f) { write_rows(f, "b", 2 * ROWS); }

static void move(folder *f, const char *from, const char *to)
{
    char a[160], b[160];

    snprintf(a, sizeof a, "%s/%s", f->dir, from);
    snprintf(b, sizeof b, "%s/%s", f->dir, to);
    assert_int_equal(rename(a, b), 0);
}

static void hide(folder *f) { move(f, "p=1/b.gran", "p=1/_b"); }
static void replace(folder *f) { move(f, "p=1/a.gran", "p=1/b.gran"); }
static void move_away(folder *f) { move(f, "p=1", "q"); }
static void move_back(folder *f) { move(f, "q", "p=1"); }

enum { PATTERN, DIRECTORY, ONE_FILE };

static const struct { int what; bool open; void (*before)(folder *f), (*change)(folder *f);
                      ax_current how; } cases[] = {
    {PATTERN, false, nothing, nothing, AX_CURRENT_NAMES},
    {PATTERN, true, nothing, nothing, AX_CURRENT_NAMES},
    {PATTERN, false, move_away, nothing, AX_CURRENT_NAMES}, /* of no file */
    {DIRECTORY, true, nothing, nothing, AX_CURRENT_NAMES},
    {ONE_FILE, false, nothing, nothing, AX_CURRENT_NAMES},
    {ONE_FILE, true, nothing, nothing, AX_CURRENT_FILES},
    {PATTERN, false, nothing, rewrite, AX_CURRENT_NAMES},
    {PATTERN, true, nothing, rewrite, AX_CURRENT_CHANGED},
    {ONE_FILE, true, nothing, rewrite, AX_CURRENT_CHANGED},
    {PATTERN, false, nothing, add, AX_CURRENT_CHANGED},
    {DIRECTORY, false, nothing, add, AX_CURRENT_CHANGED},
    {PATTERN, false, nothing, hide, AX_CURRENT_CHANGED},
    {PATTERN, false, nothing, replace, AX_CURRENT_CHANGED},
    {PATTERN, false, nothing, move_away, AX_CURRENT_CHANGED},
    {PATTERN, false, move_away, move_back, AX_CURRENT_CHANGED},
    {DIRECTORY, false, nothing, move_away, AX_CURRENT_CHANGED},
    {ONE_FILE, true, nothing, hide, AX_CURRENT_CHANGED},
};
#define CASES (sizeof cases / sizeof cases[0])

static void changes_are_seen(void **state)
{
    static folder f[CASES];

    (void) state;
    for (size_t i = 0; i < CASES; i++)
    {
        folder_begin(&f[i]);
        cases[i].before(&f[i]);
    }
    usleep(AT_REST_US);
    for (size_t i = 0; i < CASES; i++)
    {
        char file[160];
        ax_source *s;

        snprintf(file, sizeof file, "%s/b.gran", f[i].sub);
        s = listed(&f[i], cases[i].what == PATTERN     ? f[i].pattern
                          : cases[i].what == DIRECTORY ? f[i].dir
                                                       : file);
        if (cases[i].open)
            host_open(&f[i].h, s);
        cases[i].change(&f[i]);
        assert_int_equal(ax_source_current(s, 0), cases[i].how);
        ax_source_destroy(s);
        folder_end(&f[i]);
    }
}

/* A directory that has just changed may change again and look the same. */
static void a_directory_must_be_at_rest(void **state)
{
    ax_source *s;
    folder f;

    (void) state;
    folder_begin(&f);
    s = listed(&f, f.pattern);
    assert_int_equal(ax_source_current(s, 0), AX_CURRENT_CHANGED);
    ax_source_destroy(s);
    folder_end(&f);
}

/* Names are those of now, sizes may be old; what is open is what is there. */
static void a_listing_that_follows_has_the_names_of_now(void **state)
{
    folder f;
    ax_source *first, *second;
    int64_t bytes;

    (void) state;
    folder_begin(&f);
    first = listed(&f, f.pattern);
    assert_int_equal(ax_source_files(first), FILES);
    bytes = ax_source_bytes(first);
    rewrite(&f);
    add(&f);
    second = host_source(&f.h, f.pattern);
    ax_source_follow(second, first);
    ax_source_destroy(first);
    list(&f, second);
    assert_int_equal(ax_source_files(second), FILES + 1);
    assert_true(ax_source_bytes(second) > bytes);
    assert_int_equal(ax_source_file(second, 1) == NULL, 1);
    host_open(&f.h, second);
    assert_int_equal(ax_source_rows(second), 5 * ROWS);
    assert_string_equal(strrchr(ax_source_file_path(second, 3), '/'), "/d.gran");
    ax_source_destroy(second);
    folder_end(&f);
}

/* A file that was rewritten within one tick of the clock has the same times: what was read of it
 * soon after a change is not kept. */
static void what_was_just_written_is_read_again(void **state)
{
    folder f;
    ax_source *s;
    char path[160];
    int opens;

    (void) state;
    folder_begin(&f);
    usleep(AT_REST_US);
    snprintf(path, sizeof path, "%s/b.gran", f.sub);
    for (int i = 0; i < 3; i++)
    {
        opens = atomic_load(&ff_opens);
        s = listed(&f, path);
        host_open(&f.h, s);
        assert_int_equal(atomic_load(&ff_opens), opens + (i != 1));
        assert_int_equal(ax_source_current(s, 0),
                         i < 2 ? AX_CURRENT_FILES : AX_CURRENT_CHANGED);
        ax_source_destroy(s);
        if (i == 1)
            write_rows(&f, "b", ROWS);
    }
    folder_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_seen),
        cmocka_unit_test(a_directory_must_be_at_rest),
        cmocka_unit_test(a_listing_that_follows_has_the_names_of_now),
        cmocka_unit_test(what_was_just_written_is_read_again),
    };

    return cmocka_run_group_tests_name("ax kept", tests, NULL, NULL);
}
