/* What patch parts say of themselves: source_parts.dat, names of parts, columns of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mergetree_int.h"

typedef struct fixture { ax_budget budget; ax_task t; ax_mt_part part; } fixture;

static int set_up(void **state)
{
    static fixture x;

    memset(&x, 0, sizeof x);
    ax_budget_init(&x.budget, "test", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&x.t, &x.budget, NULL), AX_OK);
    x.part.base.arena = x.t.arena;
    *state = &x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    ax_task_fini(&x->t);
    assert_int_equal(atomic_load(&x->budget.used_bytes), 0);
    return 0;
}

static ax_status parse(fixture *x, const uint8_t *s, size_t n)
{
    ax_error_clear(&x->t.err);
    x->part.nsources = 0;
    x->part.source_key = NULL;
    return ax_mt_sources_parse(&x->t, &x->part, s, n);
}

static void test_sources(void **state)
{
    fixture *x = (fixture *) *state;
    static const uint8_t old[] = "\0\2\0\0\0\0\0\0\0"
                                 "\11all_1_1_0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
                                 "\11all_2_2_0\3\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0";
    static const uint8_t new[] = "\1\5k, id\1\0\0\0\0\0\0\0"
                                 "\11all_1_1_0\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0";

    assert_int_equal(parse(x, old, sizeof old - 1), AX_OK);
    assert_int_equal(x->part.nsources, 2);
    assert_null(x->part.source_key);
    assert_string_equal(x->part.source[1].name, "all_2_2_0");
    assert_int_equal(x->part.source[1].max_version, 7);
    assert_int_equal(parse(x, new, sizeof new - 1), AX_OK);
    assert_int_equal(x->part.nsources, 1);
    assert_string_equal(x->part.source_key, "k, id");
    assert_int_equal(x->part.source[0].min_version, 2);
}

/* Every byte that is missing, and what no version has. */
static void test_damage(void **state)
{
    fixture *x = (fixture *) *state;
    static const uint8_t good[] = "\1\1k\1\0\0\0\0\0\0\0"
                                  "\11all_1_1_0\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0";
    uint8_t s[sizeof good];

    for (size_t n = 0; n < sizeof good - 1; n++)
        assert_int_equal(parse(x, good, n), AX_ECORRUPT);
    assert_int_equal(parse(x, good, sizeof good), AX_ECORRUPT); /* a byte behind the end */
    memcpy(s, good, sizeof good);
    s[0] = 2;
    assert_int_equal(parse(x, s, sizeof good - 1), AX_EUNSUPPORTED);
    s[0] = 1;
    memset(s + 3, 0xff, 8); /* parts without end */
    assert_int_equal(parse(x, s, sizeof good - 1), AX_ECORRUPT);
    memcpy(s, good, sizeof good);
    s[1] = 0xff; /* a key without end */
    assert_int_equal(parse(x, s, sizeof good - 1), AX_ECORRUPT);
}

static void test_names(void **state)
{
    fixture *x = (fixture *) *state;
    uint64_t n;

    x->part.name = "20240101-7_3_9_2";
    assert_true(ax_mt_data_version(&x->part, &n));
    assert_int_equal(n, 3);
    assert_false(ax_mt_one_block(&x->part, &n));
    x->part.name = "all_4_4_0_12";
    assert_true(ax_mt_data_version(&x->part, &n));
    assert_int_equal(n, 12);
    assert_true(ax_mt_one_block(&x->part, &n));
    assert_int_equal(n, 4);
    x->part.name = "all_4_4";
    assert_false(ax_mt_data_version(&x->part, &n));
    x->part.name = "all_4_4_0_1_2";
    assert_false(ax_mt_data_version(&x->part, &n));
    x->part.name = "all_4_4_99999999999999999999999";
    assert_false(ax_mt_data_version(&x->part, &n));
}

/* Columns of the sorting key are not changed, those that are named like a function of it are. */
static void test_key_columns(void **state)
{
    fixture *x = (fixture *) *state;
    static const char *const names[] = {"id", "lower", "s x", "v", "x", "n.a", "q`r"};
    static const bool changed[] = {false, true, false, true, true, false, false};
    ax_mt_column col[7];

    memset(col, 0, sizeof col);
    for (int i = 0; i < 7; i++)
        col[i].name = names[i];
    x->part.column = col;
    x->part.ncolumns = 7;
    x->part.source_key = "id % 7, lower(`s x`), 'v', toDate(n.a), `q\\`r`";
    for (int i = 0; i < 7; i++)
        assert_int_equal(ax_mt_patch_column(&x->part, names[i]) != NULL, changed[i]);
    x->part.source_key = NULL;
    for (int i = 0; i < 7; i++)
        assert_ptr_equal(ax_mt_patch_column(&x->part, names[i]), &col[i]);
}

static void test_find(void **state)
{
    static const ax_mt_patch_row rows[] = {{{1, 5}, 2, 0}, {{1, 5}, 3, 1}, {{2, 0}, 1, 2},
                                           {{2, 9}, 1, 3}};

    (void) state;
    assert_int_equal(ax_mt_patch_find(rows, 4, 0, 0), 0);
    assert_int_equal(ax_mt_patch_find(rows, 4, 1, 5), 0);
    assert_int_equal(ax_mt_patch_find(rows, 4, 1, 6), 2);
    assert_int_equal(ax_mt_patch_find(rows, 4, 2, 1), 3);
    assert_int_equal(ax_mt_patch_find(rows, 4, 3, 0), 4);
    assert_int_equal(ax_mt_patch_find(rows, 0, 3, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sources, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_columns, set_up, tear_down),
        cmocka_unit_test(test_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
