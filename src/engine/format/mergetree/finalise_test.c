/* Results of aggregate states, and bytes that are no states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mergetree_int.h"

typedef struct fixture
{
    ax_budget budget;
    ax_task t;
    ax_batch batch;
    ax_mt_win win;
} fixture;

static int set_up(void **state)
{
    static fixture x;

    ax_budget_init(&x.budget, "test", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&x.t, &x.budget, NULL), AX_OK);
    x.batch.arena = ax_arena_create(&x.budget, 0);
    assert_non_null(x.batch.arena);
    x.win.batch = &x.batch;
    *state = &x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    ax_arena_destroy(x->batch.arena);
    ax_task_fini(&x->t);
    assert_int_equal(atomic_load(&x->budget.used_bytes), 0);
    return 0;
}

static const ax_mt_agg *agg_of(fixture *x, const char *type)
{
    const ax_mt_type *ty;

    assert_int_equal(ax_mt_type_parse(&x->t, x->t.arena, type, strlen(type), &ty), AX_OK);
    assert_int_equal(ty->id, MT_AGGREGATE);
    return ty->agg;
}

/* The result of one state as JSON, or "!" and the error. */
static const char *result(fixture *x, const char *type, const uint8_t *p, uint32_t n)
{
    const ax_mt_agg *g = agg_of(x, type);
    const uint8_t *ptr[1] = {p}, *text[1];
    uint32_t len[1] = {n}, text_len[1], fail_row;
    ax_mt_vals states = {.n = 1, .ptr = ptr, .len = len}, got = {0};
    uint8_t null[1];
    ax_mt_node *node;

    if (g == NULL || g->result == NULL)
        return "!not known";
    assert_int_equal(ax_mt_plain_node(&x->t, x->t.arena, g->result, &node), AX_OK);
    if (ax_mt_finalise(&x->t, g, node, &states, 1, &x->win, &got, &fail_row) != AX_OK)
    {
        ax_error_clear(&x->t.err);
        return "!error";
    }
    assert_int_equal(got.n, 1);
    if (ax_mt_json(&x->t, node, &got, 1, x->batch.arena, text, text_len, null, &fail_row) != AX_OK)
    {
        ax_error_clear(&x->t.err); /* an enum has no such value */
        return "!value";
    }
    return null[0] ? "null" : ax_arena_strndup(x->batch.arena, (const char *) text[0], text_len[0]);
}

static uint32_t unhex(const char *s, uint8_t *out)
{
    uint32_t n = 0;
    unsigned byte;

    for (; sscanf(s, "%2x", &byte) == 1; s += 2)
        out[n++] = (uint8_t) byte;
    return n;
}

/* States and results of ClickHouse 26.9. */
static void results_of_states(void **state)
{
    static const struct { const char *type, *hex, *want; } cases[] = {
        {"AggregateFunction(count, Nullable(UInt8))", "8101", "129"},
        {"AggregateFunction(countIf, UInt8, Nullable(UInt8))", "0102", "2"},
        {"AggregateFunction(sum, UInt8)", "ffffffffffffffff", "18446744073709551615"},
        {"AggregateFunction(sum, Int8)", "ffffffffffffffff", "-1"},
        {"AggregateFunction(sum, Decimal(18, 3))", "10270000000000000000000000000000", "10.000"},
        {"AggregateFunction(sum, Nullable(UInt8))", "00", "null"},
        {"AggregateFunction(sum, Nullable(UInt8))", "010700000000000000", "7"},
        {"AggregateFunction(sumIf, UInt64, Nullable(UInt8))", "0700000000000000", "7"},
        {"AggregateFunction(sumWithOverflow, UInt8)", "e8", "232"},
        {"AggregateFunction(sumKahan, Float64)", "000000000000f03f000000000000b03c",
         "1.0000000000000002"},
        {"AggregateFunction(avg, Int64)", "d8ffffffffffffff05", "-8"},
        {"AggregateFunction(avg, Int64)", "000000000000000000", "\"NaN\""},
        {"AggregateFunction(avg, Decimal(9, 4))", "3482000000000000000000000000000005", "0.66664"},
        /* rounded twice */
        {"AggregateFunction(avg, Decimal(38, 5))", "5d96d44b03406bea2da45d65f6ffffff01",
         "-7.609104337343651e+24"},
        {"AggregateFunction(avgWeighted, Int16, UInt8)", "fbffffffffffffff0f",
         "1.2297829382473034e+18"},
        {"AggregateFunction(avgWeighted, Int16, Int16)", "05000000000000000500000000000000", "1"},
        {"AggregateFunction(avgWeighted, Float32, Float32)", "0000000000003e400000000000002440",
         "3"},
        {"AggregateFunction(min, String)", "020000003000", "\"0\""},
        {"AggregateFunction(min, String)", "ffffffff", "\"\""},
        {"AggregateFunction(min, UInt64)", "00", "0"},
        {"AggregateFunction(any, Nullable(UInt64))", "00", "null"},
        {"AggregateFunction(minIf, Enum8('a' = 5, 'b' = 6), UInt8)", "00", "\"a\""},
        {"AggregateFunction(max, Tuple(UInt64, Nullable(String)))", "010400000000000000000134",
         "[4,\"4\"]"},
        {"AggregateFunction(any, Array(Nullable(UInt64)))", "010200070000000000000001", "[7,null]"},
        {"AggregateFunction(anyLast, Map(String, String))", "010101610178", "{\"a\":\"x\"}"},
        {"AggregateFunction(argMax, UInt64, String)", "010400000000000000020000003400", "4"},
        {"AggregateFunction(argMax, Array(UInt64), Nullable(UInt64))",
         "0101010400000000000000010400000000000000", "[4]"},
        {"AggregateFunction(argMinIf, UInt64, String, UInt8)", "00ffffffff", "0"},
        {"AggregateFunction(groupBitXor, Nullable(UInt8))", "0104", "4"},
        {"AggregateFunction(uniqExact, Date32)", "020000000001000000", "2"},
        {"AggregateFunction(uniqExact, Nullable(UInt64))", "0100", "0"},
        {"AggregateFunction(uniq, UInt64)", "0003000000002ccbc234e7830665", "3"},
        {"AggregateFunction(uniq, UInt64)", "0103000000002ccbc234e7830665", "!error"},
        {"AggregateFunction(groupArray, Nullable(String))", "0201300131", "[\"0\",\"1\"]"},
        {"AggregateFunction(groupArray, Decimal(9, 2))", "0204000000000464000000",
         "[0.00,1.00]"},
        {"AggregateFunction(groupArray(2), Bool)", "020001", "[false,true]"},
        {"AggregateFunction(groupArray, Decimal(9, 2))", "0103000000", "!error"},
        {"AggregateFunction(groupArray, Array(UInt8))", "00", "!not known"},
        {"AggregateFunction(varPop, UInt8)", "000000000000144000000000000024400000000000003e40",
         "2"},
        {"AggregateFunction(stddevSamp, Float32)", "0000a040000020410000f041", "1.5811388"},
        {"AggregateFunction(varSamp, UInt8)", "000000000000f03f00000000000010400000000000003040",
         "\"NaN\""},
        {"AggregateFunction(varPop, Float64)", "000000000000f03f000000000000f87f000000000000f87f",
         "0"},
        {"AggregateFunction(quantileExact(0.9), Nullable(UInt8))", "01050403020100", "4"},
        {"AggregateFunction(quantileExact, Int8)", "04fd01ff02", "1"},
        {"AggregateFunction(quantileExact(1), Float32)", "00", "\"NaN\""},
        {"AggregateFunction(quantilesExact(0.1, 0.9), UInt8)", "00", "!not known"},
        {"AggregateFunction(1, sumMap, Array(String), Array(Int8))",
         "02013000000000000000000131ffffffffffffffff", "[[\"1\"],[-1]]"},
        {"AggregateFunction(sumMap, Array(String), Array(Int8))", "00", "!not known"},
        {"AggregateFunction(topK(3), UInt64)", "00", "!not known"},
        {"AggregateFunction(sum, Int64)", "00", "!error"},
    };
    fixture *fx = (fixture *) *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        uint8_t p[64];
        const char *got = result(fx, cases[i].type, p, unhex(cases[i].hex, p));

        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s %s: %s where %s is expected", cases[i].type, cases[i].hex, got,
                     cases[i].want);
    }
}

/* The k-th of many, against sorting. */
static void quantiles(void **state)
{
    fixture *fx = (fixture *) *state;

    srand(5);
    for (int k = 0; k < 400; k++)
    {
        uint32_t n = 1 + (uint32_t) rand() % 100, at, less = 0, same = 0;
        uint8_t p[102] = {(uint8_t) n};
        char type[64];
        int got;

        (void) snprintf(type, sizeof type, "AggregateFunction(quantileExact(0.%02d), UInt8)",
                        k % 100);
        for (uint32_t i = 1; i <= n; i++)
            p[i] = (uint8_t) (rand() % 50);
        got = atoi(result(fx, type, p, n + 1));
        at = (uint32_t) (k % 100 / 100.0 * n);
        for (uint32_t i = 1; i <= n; i++)
        {
            less += p[i] < got;
            same += p[i] == got;
        }
        assert_true(less <= at && at < less + same);
    }
}

/* Any bytes of any length: an error or a value, and nothing outside of them is read. */
static void bytes_of_no_function(void **state)
{
    static const char *const types[] = {
        "AggregateFunction(avg, Nullable(UInt64))",
        "AggregateFunction(max, Array(Nullable(String)))",
        "AggregateFunction(argMin, String, Int8)", "AggregateFunction(groupArray, String)",
        "AggregateFunction(groupUniqArray, Decimal(9, 2))",
        "AggregateFunction(quantileExact, Nullable(Float64))",
        "AggregateFunction(1, sumMap, Array(String), Array(UInt8), Array(Float32))",
        "AggregateFunction(any, Map(Int8, Tuple(a Enum8('x' = 1), b FixedString(40))))",
        "AggregateFunction(stddevPop, Float32)", "AggregateFunction(uniqExact, String)"};
    fixture *fx = (fixture *) *state;

    srand(3);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (uint32_t k = 0; k < 4000; k++)
        {
            uint32_t n = (uint32_t) rand() % 60;
            uint8_t *p = (uint8_t *) malloc(n + 1);

            for (uint32_t b = 0; b < n; b++)
                p[b] = (uint8_t) (rand() % 3 == 0 ? rand() : rand() % 4);
            (void) result(fx, types[i], p, n);
            free(p);
            ax_arena_reset(fx->batch.arena);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_states),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(bytes_of_no_function),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
