/* Indexes of backups, metadata of disks, archives, and names in trees: good ones and bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lake/mergetree_int.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture
{
    ax_budget budget;
    ax_task t;
    ax_arena *a;
} fixture;

static int set_up(void **state)
{
    fixture *x = (fixture *) ax_obj_alloc(sizeof *x);

    ax_budget_init(&x->budget, "query", INT64_MAX, NULL);
    if (ax_task_init(&x->t, &x->budget, NULL) != AX_OK)
        return -1;
    x->a = ax_arena_create(&x->budget, 0);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    ax_arena_destroy(x->a);
    ax_task_fini(&x->t);
    ax_obj_free(x);
    return 0;
}

static void expect(fixture *x, ax_status want, ax_status got)
{
    if (want != got)
        print_error("%s\n", x->t.err.msg);
    assert_int_equal(want, got);
    ax_error_clear(&x->t.err);
}

/* ---- disks ----------------------------------------------------------------------------------- */

static const char *object(fixture *x, const char *objects, const char *text, uint64_t *size)
{
    const char *uri;

    expect(x, AX_OK, ax_disk_file_parse(&x->t, x->a, objects, text, strlen(text), size, &uri));
    return uri;
}

static void keys_of_objects(void **state)
{
    fixture *x = (fixture *) *state;
    uint64_t size;

    assert_string_equal(object(x, "/b/data", "2\n1\t7\n7\tabc/def\n0\n", &size), "/b/data/abc/def");
    assert_int_equal(size, 7);
    assert_string_equal(object(x, "/b/data/", "5\n1\t7\n7\tdata/abc/def\n0\n0\n\n", &size),
                        "/b/data/abc/def");
    assert_string_equal(object(x, "/b", "5\n1\t7\n7\tdata/abc/def\n0\n0\n\n", &size),
                        "/b/data/abc/def");
    assert_string_equal(object(x, "/b/ata", "1\n1\t7\n7\tata/ata/def\n0\n", &size),
                        "/b/ata/ata/def");
    assert_string_equal(object(x, "/b", "3\n1\t2\n2\ta\\\\b\n0\n1\n", &size), "/b/a\\b");
    assert_null(object(x, "/b", "3\n0\t0\n0\n1\n", &size));
    assert_int_equal(size, 0);
}

static void bad_metadata_of_disks(void **state)
{
    static const struct { ax_status st; const char *text; } bad[] = {
        {AX_ECORRUPT, ""},
        {AX_ECORRUPT, "9\n1\t7\n7\tabc\n0\n"},
        {AX_ECORRUPT, "columns format version: 1\n"},
        {AX_ECORRUPT, "5\n4000000000\t7\n7\tabc\n0\n"},
        {AX_ECORRUPT, "5\n1\t7\n8\tabc\n0\n"},
        {AX_ECORRUPT, "5\n1\t7\n7\t../abc\n0\n"},
        {AX_ECORRUPT, "5\n1\t7\n7\ta/../../abc\n0\n"},
        {AX_ECORRUPT, "5\n1\t7\n7\t/etc/passwd\n0\n"},
        {AX_ECORRUPT, "5\n1\t7\n7\ta\\nfile=1 x\\ty\n0\n"},
        {AX_ECORRUPT, "5\n1\t7\n7\tabc"},
        {AX_EUNSUPPORTED, "5\n2\t7\n3\tabc\n4\tdef\n0\n"},
        {AX_EUNSUPPORTED, "4\n0\t3\n0\n0\nabc\n"},
    };
    fixture *x = (fixture *) *state;
    const char *uri;
    uint64_t size;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect(x, bad[i].st, ax_disk_file_parse(&x->t, x->a, "/b", bad[i].text,
                                                strlen(bad[i].text), &size, &uri));
}

/* ---- backups --------------------------------------------------------------------------------- */

#define SUM "0123456789abcdef0123456789abcdef"
#define INDEX(head, files)                                                                         \
    "<config><version>1</version>" head "<contents>" files "</contents></config>"

static void index_of_backups(void **state)
{
    static const char text[] = INDEX(
        "<base_backup>Disk(&apos;b&apos;, &apos;x/b1/&apos;)</base_backup>",
        "<file><name>data/a&amp;b/t/p/c.bin</name><size>12</size><checksum>" SUM "</checksum>"
        "<use_base>true</use_base></file>"
        "<file><name>e</name><size>0</size></file>"
        "<file><name>f</name><size>1</size><checksum>" SUM "</checksum>"
        "<data_file>012/3</data_file></file>");
    fixture *x = (fixture *) *state;
    const char *base;
    ax_backup b;

    expect(x, AX_OK, ax_backup_parse(&x->t, x->a, text, sizeof text - 1, &b));
    assert_int_equal(b.n, 3);
    assert_string_equal(b.file[0].name, "data/a&b/t/p/c.bin");
    assert_int_equal(b.file[0].size, 12);
    assert_true(b.file[0].use_base);
    assert_false(b.file[1].use_base);
    assert_string_equal(b.file[2].data_file, "012/3");
    expect(x, AX_OK, ax_backup_base_name(&x->t, x->a, b.base, &base));
    assert_string_equal(base, "b1");
}

static void bad_indexes_of_backups(void **state)
{
    static const char *const bad[] = {
        "", "<config>", INDEX("", "<file><size>1</size></file>"),
        INDEX("", "<file><name>a</name></file>"),
        INDEX("", "<file><name>a</name><size>x</size></file>"),
        INDEX("", "<file><name>a</name><size>1</size></file>"),
        INDEX("", "<file><name>../a</name><size>0</size></file>"),
        INDEX("", "<file><name>a/..</name><size>0</size></file>"),
        INDEX("", "<file><name>/a</name><size>0</size></file>"),
        INDEX("", "<file><name>a</name><size>0</size><data_file>b/../../c</data_file></file>"),
        INDEX("", "<file><name>&x;</name><size>0</size></file>"),
        INDEX("", "<file><name>a</name><size>0</size>"),
        "<!DOCTYPE x [<!ENTITY a \"b\">]>" INDEX("", ""),
    };
    static const char newer[] = "<config><version>99</version><contents></contents></config>";
    fixture *x = (fixture *) *state;
    const char *base;
    ax_backup b;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect(x, AX_ECORRUPT, ax_backup_parse(&x->t, x->a, bad[i], strlen(bad[i]), &b));
    expect(x, AX_EUNSUPPORTED, ax_backup_parse(&x->t, x->a, newer, sizeof newer - 1, &b));
    expect(x, AX_EUNSUPPORTED, ax_backup_base_name(&x->t, x->a, "File(b1)", &base));
    expect(x, AX_EUNSUPPORTED, ax_backup_base_name(&x->t, x->a, "File('..')", &base));
}

/* ---- archives -------------------------------------------------------------------------------- */

static size_t put_member(uint8_t *p, const char *prefix, const char *name, char type,
                         const char *body)
{
    size_t n = strlen(body);
    uint32_t sum = 0;

    memset(p, 0, 512 + (n + 511) / 512 * 512);
    memcpy(p, name, strlen(name));
    snprintf((char *) p + 124, 12, "%011o", (unsigned) n);
    p[156] = (uint8_t) type;
    memcpy(p + 257, "ustar", 6);
    memcpy(p + 345, prefix, strlen(prefix));
    memset(p + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += p[i];
    snprintf((char *) p + 148, 8, "%06o", sum);
    memcpy(p + 512, body, n);
    return 512 + (n + 511) / 512 * 512;
}

/* Members with names of all kinds, in windows of every size. */
static void archives_in_windows(void **state)
{
    fixture *x = (fixture *) *state;
    static uint8_t bytes[16384];
    size_t n = 0, at[4];

    at[0] = n + 512;
    n += put_member(bytes + n, "", "./a", '0', "x");
    at[1] = n + 512;
    n += put_member(bytes + n, "dir", "b", '\0', "");
    n += put_member(bytes + n, "", "dir", '5', "");
    n += put_member(bytes + n, "", "././@LongLink", 'L', "long/name");
    at[2] = n + 512;
    n += put_member(bytes + n, "", "long", '0', "yy");
    n += put_member(bytes + n, "", "pax", 'x', "13 path=p/q/r\n");
    at[3] = n + 512;
    n += put_member(bytes + n, "", "p", '0', "zzz");
    n += 1024;
    for (size_t window = 1024; window <= n + 512; window += 512)
    {
        static const char *const names[] = {"a", "dir/b", "long/name", "p/q/r"};
        ax_tar tar = {.arena = x->a};
        int turns = 0;

        while (!tar.done)
        {
            size_t left = n - tar.pos;

            expect(x, AX_OK, ax_tar_take(&x->t, &tar, bytes + tar.pos,
                                         left < window ? left : window, n));
            assert_true(++turns < 100);
        }
        assert_int_equal(tar.n, 4);
        for (int i = 0; i < 4; i++)
        {
            assert_string_equal(tar.file[i].name, names[i]);
            assert_int_equal(tar.off[i], at[i]);
            assert_int_equal(tar.file[i].size, i == 0 ? 1 : i == 1 ? 0 : i);
        }
    }
    bytes[3] ^= 1;
    expect(x, AX_ECORRUPT, ax_tar_take(&x->t, &(ax_tar){.arena = x->a}, bytes, n, n));
    put_member(bytes, "", "a", '0', "x");
    expect(x, AX_ECORRUPT, ax_tar_take(&x->t, &(ax_tar){.arena = x->a}, bytes, 512, 512));
}

/* ---- tables in trees ------------------------------------------------------------------------- */

static void tables_of_trees(void **state)
{
    fixture *x = (fixture *) *state;
    ax_tree tree = {.arena = x->a, .root = "/r", .stat = "/r"};
    const char *prefix;
    ax_site site = {0};

    expect(x, AX_ENOFILE, ax_tree_table(&x->t, &tree, NULL, &prefix));
    expect(x, AX_OK, ax_tree_add(&x->t, &tree, "data/w/t/all_1_1_0/columns.txt", "/u/1", 5));
    expect(x, AX_OK, ax_tree_add(&x->t, &tree, "data/w/t/all_1_1_0/p.proj/columns.txt", "/u/2", 5));
    expect(x, AX_OK, ax_tree_add(&x->t, &tree, "data/w/t/format_version.txt", "/u/3", 1));
    expect(x, AX_ECORRUPT, ax_tree_add(&x->t, &tree, "data/../x", "/u/4", 1));
    ax_tree_sort(&tree);
    expect(x, AX_OK, ax_tree_table(&x->t, &tree, NULL, &prefix));
    assert_string_equal(prefix, "data/w/t/");
    tree.moved = true;
    expect(x, AX_OK, ax_tree_site(&x->t, &tree, prefix, &site));
    assert_int_equal(site.ndirs, 1);
    assert_int_equal(site.nfiles, 1);
    assert_string_equal(site.dir[0].path, "/r/data/w/t/all_1_1_0");
    assert_string_equal(site.dir[0].files, "file=5 columns.txt\t/u/1\n");
    expect(x, AX_OK, ax_tree_add(&x->t, &tree, "data/w/o%2Eth%65r/x/y", "/u/5", 1));
    ax_tree_sort(&tree);
    expect(x, AX_EOPTION, ax_tree_table(&x->t, &tree, NULL, &prefix));
    expect(x, AX_OK, ax_tree_table(&x->t, &tree, "w.o.ther", &prefix));
    assert_string_equal(prefix, "data/w/o%2Eth%65r/");
    expect(x, AX_OK, ax_tree_table(&x->t, &tree, "t", &prefix));
    expect(x, AX_ENOFILE, ax_tree_table(&x->t, &tree, "w.x", &prefix));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_of_objects),       TEST(bad_metadata_of_disks), TEST(index_of_backups),
        TEST(bad_indexes_of_backups), TEST(archives_in_windows),  TEST(tables_of_trees),
    };

    return cmocka_run_group_tests_name("mergetree places", tests, NULL, NULL);
}
