/* Decimals of any number of digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "func/numeric.h"

static void integers_of_any_length_are_spelled(void **state)
{
    static const struct { const char *in; uint32_t n; int32_t scale; const char *want; } cases[] = {
        {"", 0, 0, "0"},
        {"", 0, 2, "0.00"},
        {"\x00", 1, 0, "0"},
        {"\xff", 1, 0, "-1"},
        {"\xff", 1, 3, "-0.001"},
        {"\x7f", 1, 1, "12.7"},
        {"\x80", 1, 0, "-128"},
        {"\x00\x80", 2, 0, "128"},
        {"\x00\x00\x00\x00\x00\x00\x00\x01", 8, 0, "1"},
        {"\x00\xff\xff\xff\xff\xff\xff\xff\xff", 9, 0, "18446744073709551615"},
        {"\xff\x00\x00\x00\x00\x00\x00\x00\x00", 9, 0, "-18446744073709551616"},
        {"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 17, 20,
         "3402823669209384634.63374607431768211456"},
        {"\x05\x6b\xc7\x5e\x2d\x63\x10\x00\x00", 9, 0, "100000000000000000000"},
    };
    char buf[4096];

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        const char *s = ax_digits_text((const uint8_t *) cases[i].in, cases[i].n, cases[i].scale,
                                       buf, sizeof buf);

        assert_non_null(s);
        assert_int_equal(buf + sizeof buf - s, strlen(cases[i].want));
        assert_memory_equal(s, cases[i].want, strlen(cases[i].want));
    }
}

static void length_is_limited(void **state)
{
    uint8_t in[AX_DIGITS_BYTES_MAX + 9];
    char buf[4096], small[8];

    (void) state;
    memset(in, 0xff, sizeof in);
    assert_non_null(ax_digits_text(in, sizeof in, 0, buf, sizeof buf)); /* all sign: -1 */
    in[8] = 0;
    assert_non_null(ax_digits_text(in + 9, AX_DIGITS_BYTES_MAX, 1000, buf, sizeof buf));
    assert_null(ax_digits_text(in + 8, sizeof in - 8, 0, buf, sizeof buf));
    assert_null(ax_digits_text(in, 1, 0, small, sizeof small));
}

static void texts_become_decimals_as_far_as_they_fit(void **state)
{
    static const struct
    {
        const char *in;
        int32_t precision, scale;
        int64_t want;
        int16_t dscale; /* -1: does not fit */
    } cases[] = {
        {"12.50", 0, 0, 1250, 2},
        {"-12.50", 4, 1, -125, 1},
        {"12.45", 4, 1, 125, 1},
        {"-12.45", 4, 1, -125, 1},
        {"12.44", 4, 1, 124, 1},
        {"0.5", 5, 0, 1, 0},
        {"-0.4", 5, 0, 0, 0},
        {"99.5", 2, 0, 0, -1},
        {"99.4", 2, 0, 99, 0},
        {"100", 2, 0, 0, -1},
        {"7", 5, 3, 7000, 3},
        {"77", 4, 3, 0, -1},
        {"123456789012345678901234567890123456789", 0, 0, 0, -1},
        {"0.00000000000000000000000000000000000000000000000000051", 38, 2, 0, 2},
        {"1.23456789012345678901234567890123456789012345678905", 5, 4, 12346, 4},
        {"1", 5, -1, 0, -1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        ax_num out;
        bool ok = ax_digits_to_num(cases[i].in, (uint32_t) strlen(cases[i].in),
                                   cases[i].precision, cases[i].scale, &out);

        assert_int_equal(ok, cases[i].dscale >= 0);
        if (!ok)
            continue;
        assert_true(out.v == cases[i].want);
        assert_int_equal(out.dscale, cases[i].dscale);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_any_length_are_spelled),
        cmocka_unit_test(length_is_limited),
        cmocka_unit_test(texts_become_decimals_as_far_as_they_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
