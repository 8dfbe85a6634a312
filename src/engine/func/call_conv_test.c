/* Casts from and to text, GREATEST and LEAST, arithmetic of intervals: single values with the
 * server's answers (15; the radix forms: 16).  tools/test/parity.py compares many more. */
#include "func/func.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static ax_budget budget;
static ax_task task;

static int setup(void **state)
{
    (void) state;
    ax_budget_init(&budget, "test", INT64_MAX, NULL);
    return ax_task_init(&task, &budget, NULL) == AX_OK ? 0 : 1;
}

static int teardown(void **state)
{
    (void) state;
    ax_task_fini(&task);
    return 0;
}

static ax_value text(const char *s)
{
    ax_value v = {.type = ax_type_make(AX_T_TEXT), .null = s == NULL};

    v.u.s.p = (const uint8_t *) (s ? s : "");
    v.u.s.len = s ? (uint32_t) strlen(s) : 0;
    return v;
}

static ax_value of_int(ax_type_id id, int64_t i)
{
    return (ax_value){.type = ax_type_make(id), .u.i = i};
}

static ax_value of_float(double f)
{
    return (ax_value){.type = ax_type_make(AX_T_FLOAT8), .u.f = f};
}

static ax_value of_interval(int32_t months, int32_t days, int64_t usec)
{
    return (ax_value){.type = ax_type_make(AX_T_INTERVAL), .u.iv = {usec, days, months}};
}

static ax_value apply(ax_fn fn, const ax_value *args, uint32_t n, bool *raises)
{
    ax_type types[AX_FN_MAX_ARGS];
    const ax_value *konst[AX_FN_MAX_ARGS] = {NULL};
    ax_value out;
    ax_call *c;

    for (uint32_t i = 0; i < n; i++)
    {
        types[i] = args[i].type;
        konst[i] = i == 1 && (ax_fn_get(fn)->flags & AX_FNF_CONST2) ? &args[i] : NULL;
    }
    assert_int_equal(ax_call_bind(&task, task.arena, fn, types, konst, n, &c), AX_OK);
    assert_int_equal(ax_call_value(&task, task.arena, c, args, n, &out, raises), AX_OK);
    return out;
}

/* want NULL: raises */
static void reads(ax_fn fn, const char *s, const int64_t *want)
{
    ax_value arg = text(s);
    bool raises;
    ax_value v = apply(fn, &arg, 1, &raises);

    assert_int_equal(raises, want == NULL);
    if (want != NULL)
        assert_int_equal(v.u.i, *want);
}
#define READS(fn, s, v) reads(fn, s, &(const int64_t){v})
#define REFUSES(fn, s) reads(fn, s, NULL)

static void integers_are_read_as_the_server_reads_them(void **state)
{
    (void) state;
    READS(AX_FN_TEXT_TO_INT4, "0", 0);
    READS(AX_FN_TEXT_TO_INT4, " \t-2147483648\n", INT32_MIN);
    READS(AX_FN_TEXT_TO_INT4, "+2147483647", INT32_MAX);
    READS(AX_FN_TEXT_TO_INT4, "000000000000000000000000000000000000000000000000000000042", 42);
    READS(AX_FN_TEXT_TO_INT2, "-32768", INT16_MIN);
    READS(AX_FN_TEXT_TO_INT8, "-9223372036854775808", INT64_MIN);
    REFUSES(AX_FN_TEXT_TO_INT4, "");
    REFUSES(AX_FN_TEXT_TO_INT4, " - 1");
    REFUSES(AX_FN_TEXT_TO_INT4, "1.0");
    REFUSES(AX_FN_TEXT_TO_INT4, "0x1f");
    REFUSES(AX_FN_TEXT_TO_INT4, "2147483648");
    REFUSES(AX_FN_TEXT_TO_INT2, "32768");
    REFUSES(AX_FN_TEXT_TO_INT8, "9223372036854775808");
    REFUSES(AX_FN_TEXT_TO_INT8, "99999999999999999999999999999999999999999999999999999999");
}

static void later_servers_read_bases_and_underscores(void **state)
{
    (void) state;
    READS(AX_FN_TEXT_TO_INT4_RADIX, "0x1F", 31);
    READS(AX_FN_TEXT_TO_INT4_RADIX, "-0o17", -15);
    READS(AX_FN_TEXT_TO_INT4_RADIX, " 0b101 ", 5);
    READS(AX_FN_TEXT_TO_INT4_RADIX, "1_000", 1000);
    READS(AX_FN_TEXT_TO_INT4_RADIX, "0x_1", 1);
    READS(AX_FN_TEXT_TO_INT8_RADIX, "-9_223_372_036_854_775_808", INT64_MIN);
    REFUSES(AX_FN_TEXT_TO_INT4_RADIX, "_1");
    REFUSES(AX_FN_TEXT_TO_INT4_RADIX, "1_");
    REFUSES(AX_FN_TEXT_TO_INT4_RADIX, "1__0");
    REFUSES(AX_FN_TEXT_TO_INT4_RADIX, "0x");
    REFUSES(AX_FN_TEXT_TO_INT4_RADIX, "0b2");
    REFUSES(AX_FN_TEXT_TO_INT4_RADIX, "0x80000000");
}

static void booleans_are_read_from_beginnings_of_words(void **state)
{
    (void) state;
    READS(AX_FN_TEXT_TO_BOOL, " T ", 1);
    READS(AX_FN_TEXT_TO_BOOL, "Yes", 1);
    READS(AX_FN_TEXT_TO_BOOL, "on", 1);
    READS(AX_FN_TEXT_TO_BOOL, "of", 0);
    READS(AX_FN_TEXT_TO_BOOL, "fals", 0);
    READS(AX_FN_TEXT_TO_BOOL, "0", 0);
    REFUSES(AX_FN_TEXT_TO_BOOL, "o");
    REFUSES(AX_FN_TEXT_TO_BOOL, "");
    REFUSES(AX_FN_TEXT_TO_BOOL, "truely");
    REFUSES(AX_FN_TEXT_TO_BOOL, "10");
}

static void prints(ax_fn fn, ax_value v, const char *want)
{
    bool raises;
    ax_value out = apply(fn, &v, 1, &raises);

    assert_false(raises);
    assert_int_equal(out.u.s.len, strlen(want));
    assert_memory_equal(out.u.s.p, want, strlen(want));
}

static void values_are_printed_as_the_server_prints_them(void **state)
{
    ax_value num = {.type = ax_type_make(AX_T_NUMERIC), .u.num = {.v = -5, .dscale = 3}};
    ax_value uuid = {.type = ax_type_make(AX_T_UUID), .u.fix = {0xff, 1}};
    ax_value padded = text("ab  ");

    (void) state;
    padded.type = ax_type_make(AX_T_BPCHAR);
    prints(AX_FN_TO_TEXT, of_int(AX_T_INT8, INT64_MIN), "-9223372036854775808");
    prints(AX_FN_TO_TEXT, of_int(AX_T_INT2, 0), "0");
    prints(AX_FN_TO_TEXT, of_int(AX_T_BOOL, 1), "true");
    prints(AX_FN_CONCAT_TEXT, of_int(AX_T_BOOL, 1), "t");
    prints(AX_FN_TO_TEXT, num, "-0.005");
    prints(AX_FN_TO_TEXT, uuid, "ff010000-0000-0000-0000-000000000000");
    prints(AX_FN_TO_TEXT, padded, "ab");
}

/* Nulls are passed over, NaN is greatest, of equal values the first stands. */
static void greatest_and_least(void **state)
{
    ax_value ints[2] = {of_int(AX_T_INT4, 3), of_int(AX_T_INT4, -4)};
    ax_value floats[2] = {of_float(NAN), of_float(INFINITY)};
    ax_value zeros[2] = {of_float(-0.0), of_float(0.0)};
    ax_value words[2] = {text("b"), text(NULL)};
    bool raises;
    ax_value v;

    (void) state;
    assert_int_equal(apply(AX_FN_GREATEST, ints, 2, &raises).u.i, 3);
    assert_int_equal(apply(AX_FN_LEAST, ints, 2, &raises).u.i, -4);
    ints[0].null = true;
    assert_int_equal(apply(AX_FN_GREATEST, ints, 2, &raises).u.i, -4);
    ints[1].null = true;
    assert_true(apply(AX_FN_LEAST, ints, 2, &raises).null);
    assert_true(isnan(apply(AX_FN_GREATEST, floats, 2, &raises).u.f));
    assert_true(isinf(apply(AX_FN_LEAST, floats, 2, &raises).u.f));
    assert_true(signbit(apply(AX_FN_GREATEST, zeros, 2, &raises).u.f));
    v = apply(AX_FN_LEAST, words, 2, &raises);
    assert_int_equal(v.u.s.len, 1);
    assert_false(v.null);
}

/* What is lost of months goes to days, what is lost of days to the time. */
static void intervals_are_scaled_field_by_field(void **state)
{
    ax_value args[2] = {of_interval(1, 1, 0), of_float(0.5)};
    ax_value too_long[2] = {of_interval(INT32_MAX, 0, 0), of_float(2)};
    bool raises;
    ax_interval iv = apply(AX_FN_INTERVAL_MUL, args, 2, &raises).u.iv;

    (void) state;
    assert_int_equal(iv.months, 0);
    assert_int_equal(iv.days, 15);
    assert_true(iv.usec == INT64_C(43200000000));
    apply(AX_FN_INTERVAL_MUL, too_long, 2, &raises);
    assert_true(raises);
    args[1].u.f = 0;
    apply(AX_FN_INTERVAL_DIV, args, 2, &raises);
    assert_true(raises);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_as_the_server_reads_them),
        cmocka_unit_test(later_servers_read_bases_and_underscores),
        cmocka_unit_test(booleans_are_read_from_beginnings_of_words),
        cmocka_unit_test(values_are_printed_as_the_server_prints_them),
        cmocka_unit_test(greatest_and_least),
        cmocka_unit_test(intervals_are_scaled_field_by_field),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
