/* Text that is checked late: in rows that are selected, and nothing invalid stays in a window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scan_int.h"

static ax_budget budget;
static ax_task task;

/* "good", "\xff", "\xc3\xa4", "" behind each other, and AX_PAD more bytes. */
static const uint8_t bytes[7 + AX_PAD] = {'g', 'o', 'o', 'd', 0xff, 0xc3, 0xa4};
static const uint32_t offs[4] = {0, 4, 5, 7};

static ax_vec vector(bool flat, const uint8_t **ptr, uint32_t *len)
{
    ax_vec v = {.kind = flat ? AX_VK_FLAT : AX_VK_VIEW, .type = ax_type_make(AX_T_TEXT), .n = 4};

    for (uint32_t i = 0; i < 4; i++)
    {
        ptr[i] = bytes + offs[i];
        len[i] = (i < 3 ? offs[i + 1] : 7) - offs[i];
    }
    if (flat)
    {
        v.u.str.base = bytes;
        v.u.str.off = offs;
        v.u.str.len = len;
    }
    else
    {
        v.u.view.ptr = ptr;
        v.u.view.len = len;
    }
    return v;
}

static void selected_rows_are_checked(void **state)
{
    static const uint16_t without[] = {0, 2, 3}, with[] = {1, 2};

    (void) state;
    for (int flat = 0; flat < 2; flat++)
    {
        const uint8_t *ptr[4];
        uint32_t len[4], fail_row;
        ax_vec v = vector(flat, ptr, len);

        assert_int_equal(ax_mt_check_text(&task, without, 3, &v, &fail_row), AX_OK);
        assert_int_equal(len[0], 4);
        assert_int_equal(len[1], 0); /* nothing invalid is left */
        assert_int_equal(len[2], 2);
        v = vector(flat, ptr, len);
        assert_int_equal(ax_mt_check_text(&task, with, 2, &v, &fail_row), AX_ETEXT);
        assert_int_equal(fail_row, 1);
        ax_error_clear(&task.err);
        v = vector(flat, ptr, len);
        assert_int_equal(ax_mt_check_text(&task, NULL, 4, &v, &fail_row), AX_ETEXT);
        assert_int_equal(fail_row, 1);
        ax_error_clear(&task.err);
    }
}

static void only_text_in_bytes_of_its_own_is_checked_late(void **state)
{
    ax_mt_type s = {.id = MT_STRING, .text = "String"}, f = {.id = MT_FIXEDSTRING, .width = 4};
    ax_mt_node string = {.type = &s, .form = MT_F_STRING_SIZE}, *child = &string;
    ax_mt_node nullable = {.form = MT_F_NULLABLE, .nchild = 1, .child = &child};
    ax_mt_node lowcard = {.form = MT_F_LOWCARD, .nchild = 1, .child = &child};
    ax_mt_node fixed = {.type = &f, .form = MT_F_FIXED};
    ax_mt_conv text = {.kind = MT_C_STR, .check_text = true}, raw = {.kind = MT_C_STR};
    ax_mt_conv padded = {.kind = MT_C_FIXSTR, .check_text = true};

    (void) state;
    assert_true(ax_mt_checks_late(&text, &string));
    assert_true(ax_mt_checks_late(&text, &nullable));
    assert_true(ax_mt_checks_late(&padded, &fixed));
    assert_false(ax_mt_checks_late(&raw, &string));
    assert_false(ax_mt_checks_late(&text, &lowcard));
    assert_false(ax_mt_checks_late(&text, &fixed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selected_rows_are_checked),
        cmocka_unit_test(only_text_in_bytes_of_its_own_is_checked_late),
    };
    int failed;

    ax_budget_init(&budget, "test", INT64_MAX, NULL);
    if (ax_task_init(&task, &budget, NULL) != AX_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    ax_task_fini(&task);
    return failed;
}
