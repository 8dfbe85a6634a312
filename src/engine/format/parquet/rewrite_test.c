/* Text that is mended, and UUIDs as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parquet_int.h"

static ax_budget budget;
static ax_task task;

static int set_up(void **state)
{
    (void) state;
    ax_budget_init(&budget, "test", 1 << 20, NULL);
    return ax_task_init(&task, &budget, NULL) != AX_OK;
}

static int tear_down(void **state)
{
    (void) state;
    ax_task_fini(&task);
    return atomic_load(&budget.used_bytes) != 0;
}

static void expect(const ax_pq_conv *c, const char *in, size_t n, const char *want)
{
    const uint8_t *base = (const uint8_t *) in;
    uint32_t off[2] = {0, 0}, len[2] = {(uint32_t) n, (uint32_t) n};

    assert_int_equal(ax_pq_rewrite(&task, task.arena, c, off, len, 2, &base), AX_OK);
    for (int i = 0; i < 2; i++)
    {
        assert_int_equal(len[i], strlen(want));
        assert_memory_equal(base + off[i], want, len[i]);
    }
}

#define FFFD "\xef\xbf\xbd"

static void text_is_mended(void **state)
{
    static const struct
    {
        const char *in;
        size_t n;
        const char *removed, *replaced, *cut;
    } cases[] = {
        {"", 0, "", "", ""},
        {"plain \xc3\xa4", 8, "plain \xc3\xa4", "plain \xc3\xa4", "plain \xc3\xa4"},
        {"a\0b", 3, "ab", "a" FFFD "b", "a"},
        {"a\xff\xfe z", 5, "a z", "a" FFFD FFFD " z", "a"},
        /* cut off sequences are one subpart each */
        {"x\xe2\x82", 3, "x", "x" FFFD, "x"},
        {"x\xf0\x9f\x98y", 5, "xy", "x" FFFD "y", "x"},
        /* what can begin no character is replaced byte by byte */
        {"\xed\xa0\x80", 3, "", FFFD FFFD FFFD, ""},
        {"\xf4\x90\x80\x80", 4, "", FFFD FFFD FFFD FFFD, ""},
        {"\xc0\xaf", 2, "", FFFD FFFD, ""},
        {"\xe0\x80\x80", 3, "", FFFD FFFD FFFD, ""},
        {"\xc3(", 2, "(", FFFD "(", ""},
    };
    size_t i;

    (void) state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        expect(&(ax_pq_conv){.mend = AX_ENC_REMOVE}, cases[i].in, cases[i].n, cases[i].removed);
        expect(&(ax_pq_conv){.mend = AX_ENC_REPLACE}, cases[i].in, cases[i].n, cases[i].replaced);
        expect(&(ax_pq_conv){.mend = AX_ENC_TRUNCATE}, cases[i].in, cases[i].n, cases[i].cut);
    }
}

static void uuids_become_text(void **state)
{
    (void) state;
    expect(&(ax_pq_conv){.rewrite = REWRITE_UUID},
           "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16,
           "00112233-4455-6677-8899-aabbccddeeff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_mended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(uuids_become_text, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
