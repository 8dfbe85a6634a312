/* Bound calls: dates against the server's own answers, LIKE against its definition, IN lists,
 * conversions, which combinations exist. */
#include "func/func.h"

#include "base/cpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ax_budget budget;
static ax_task task;
static uint64_t rng = 7;

static uint32_t rnd(uint32_t n)
{
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (rng >> 33) % n;
}

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

#define OK(call) assert_int_equal((call), AX_OK)

static ax_value text(const char *s)
{
    ax_value v = {.type = ax_type_make(AX_T_TEXT)};

    v.u.s.p = (const uint8_t *) s;
    v.u.s.len = (uint32_t) strlen(s);
    return v;
}

static ax_value integer(ax_type_id id, int64_t i)
{
    return (ax_value){.type = ax_type_make(id), .u.i = i};
}

/* One call on single values; the first or second argument may be bound as constant. */
static ax_value apply(ax_fn fn, const ax_value *args, uint32_t n, bool *raises)
{
    ax_type types[3];
    const ax_value *konst[3] = {NULL, NULL, NULL};
    ax_value out;
    ax_call *c;

    for (uint32_t i = 0; i < n; i++)
    {
        uint8_t flag = i == 0 ? AX_FNF_CONST1 : AX_FNF_CONST2;

        types[i] = args[i].type;
        if (i < 2 && (ax_fn_get(fn)->flags & flag))
            konst[i] = &args[i];
    }
    OK(ax_call_bind(&task, task.arena, fn, types, konst, n, &c));
    OK(ax_call_value(&task, task.arena, c, args, n, &out, raises));
    return out;
}

/* ---- dates ----------------------------------------------------------------------------------- */

#define BAD INT64_MIN

static const struct
{
    int64_t ts, extract[10], trunc[8];
} cases[] = {
#include "func/time_cases.inc"
};

/* The two steps in which keys have it. */
static void field_is_extract(const ax_value *args, const ax_value *want)
{
    bool raises;
    ax_value two[2] = {args[0], apply(AX_FN_FIELD, args, 2, &raises)}, r;

    assert_true(!raises && !two[1].null);
    assert_int_equal(two[1].type.id, AX_T_INT4);
    r = apply(AX_FN_FIELD_NUMERIC, two, 2, &raises);
    assert_false(raises);
    assert_true(r.u.num.v == want->u.num.v || r.u.num.special != AX_NUM_FINITE);
    assert_int_equal(r.u.num.special, want->u.num.special);
    assert_int_equal(r.u.num.dscale, want->u.num.dscale);
}

static void test_time(void **state)
{
    static const char *const ex[] = {"second",  "MINUTE", "hour", "day",    "month",
                                     "quarter", "year",   "dow",  "isodow", "doy"};
    static const char *const tr[] = {"second", "minute", "Hour",    "day",
                                     "week",   "month",  "quarter", "year"};
    bool raises;

    (void) state;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        ax_value args[2] = {text(""), integer(AX_T_TIMESTAMP, cases[i].ts)}, r;

        for (uint32_t k = 0; k < 10; k++)
        {
            args[0] = text(ex[k]);
            r = apply(AX_FN_EXTRACT, args, 2, &raises);
            assert_true(!raises && !r.null);
            assert_int_equal(r.u.num.dscale, k == 0 ? 6 : 0);
            assert_int_equal((int64_t) r.u.num.v, cases[i].extract[k]);
            field_is_extract(args, &r);
        }
        for (uint32_t k = 0; k < 8; k++)
        {
            args[0] = text(tr[k]);
            r = apply(AX_FN_DATE_TRUNC, args, 2, &raises);
            assert_int_equal(raises, cases[i].trunc[k] == BAD);
            assert_true(raises || r.u.i == cases[i].trunc[k]);
        }
    }
}

static void test_time_infinite(void **state)
{
    ax_value args[2] = {text("minute"), integer(AX_T_TIMESTAMP, INT64_MAX)}, r;
    ax_type types[2] = {args[0].type, args[1].type};
    const ax_value *konst[2] = {&args[0], NULL};
    ax_call *c;
    bool raises;

    (void) state;
    r = apply(AX_FN_EXTRACT, args, 2, &raises);
    assert_true(r.null);
    r = apply(AX_FN_DATE_TRUNC, args, 2, &raises);
    assert_true(r.u.i == INT64_MAX);
    assert_false(ax_fn_can_raise(AX_FN_DATE_TRUNC, types, konst));
    args[0] = text("year");
    assert_true(ax_fn_can_raise(AX_FN_DATE_TRUNC, types, konst));
    args[1].u.i = INT64_MIN;
    r = apply(AX_FN_EXTRACT, args, 2, &raises);
    assert_int_equal(r.u.num.special, AX_NUM_NINF);
    field_is_extract(args, &r);
    args[1].u.i = INT64_MAX;
    r = apply(AX_FN_EXTRACT, args, 2, &raises);
    assert_int_equal(r.u.num.special, AX_NUM_PINF);
    field_is_extract(args, &r);
    args[0] = text("epoch");
    args[1].u.i = -1;
    r = apply(AX_FN_EXTRACT, args, 2, &raises);
    assert_true(r.u.num.v == 946684799999999 && r.u.num.dscale == 6);
    /* far years: four digits, as numeric division has them */
    args[1].u.i = INT64_C(9223371331199999999);
    r = apply(AX_FN_EXTRACT, args, 2, &raises);
    assert_true(r.u.num.v == (ax_i128) 92243180160 * 100000000);
    args[0] = text("fortnight");
    assert_int_equal(ax_call_bind(&task, task.arena, AX_FN_DATE_TRUNC, types, konst, 2, &c),
                     AX_EUNSUPPORTED);
    ax_error_clear(&task.err);
}

static void test_dates(void **state)
{
    ax_value d[2] = {integer(AX_T_DATE, 100), integer(AX_T_INT4, 5)}, r;
    bool raises;

    (void) state;
    r = apply(AX_FN_DATE_ADD, d, 2, &raises);
    assert_true(!raises && r.u.i == 105 && r.type.id == AX_T_DATE);
    r = apply(AX_FN_DATE_SUB, d, 2, &raises);
    assert_true(!raises && r.u.i == 95);
    d[0].u.i = INT32_MAX; /* infinity stays */
    r = apply(AX_FN_DATE_ADD, d, 2, &raises);
    assert_true(!raises && r.u.i == INT32_MAX);
    d[0].u.i = 2145031948; /* 5874897-12-31 */
    d[1].u.i = 0;
    apply(AX_FN_DATE_ADD, d, 2, &raises);
    assert_false(raises);
    d[1].u.i = 1;
    apply(AX_FN_DATE_ADD, d, 2, &raises);
    assert_true(raises);
    d[0].u.i = -2451545;
    apply(AX_FN_DATE_SUB, d, 2, &raises);
    assert_true(raises);
    d[1] = integer(AX_T_DATE, 5);
    r = apply(AX_FN_DATE_DIFF, d, 2, &raises);
    assert_true(!raises && r.u.i == -2451550 && r.type.id == AX_T_INT4);
    d[1].u.i = INT32_MIN;
    apply(AX_FN_DATE_DIFF, d, 2, &raises);
    assert_true(raises);
    /* as timestamps: out of range raises, unless only the order matters */
    d[0].u.i = 109203528 - 2451545;
    apply(AX_FN_TO_TIMESTAMP, d, 1, &raises);
    assert_true(raises);
    r = apply(AX_FN_DATE_ORDER, d, 1, &raises);
    assert_true(!raises && r.u.i == INT64_MAX - 1);
    d[0].u.i--;
    r = apply(AX_FN_TO_TIMESTAMP, d, 1, &raises);
    assert_true(!raises && r.u.i == (109203528 - 2451545 - 1) * INT64_C(86400000000));
}

/* ---- LIKE ------------------------------------------------------------------------------------ */

static uint32_t next_char(const uint8_t *s, uint32_t n, uint32_t i)
{
    for (i++; i < n && (s[i] & 0xC0) == 0x80; i++)
        ;
    return i;
}

static bool naive_like(const uint8_t *s, uint32_t n, const uint8_t *p, uint32_t m)
{
    if (m == 0)
        return n == 0;
    if (*p == '%')
    {
        for (uint32_t i = 0; i <= n; i++)
            if (naive_like(s + i, n - i, p + 1, m - 1))
                return true;
        return false;
    }
    if (n == 0)
        return false;
    if (*p == '_')
    {
        uint32_t k = next_char(s, n, 0);

        return naive_like(s + k, n - k, p + 1, m - 1);
    }
    if (*p == '\\')
    {
        p++;
        m--;
    }
    return *s == *p && naive_like(s + 1, n - 1, p + 1, m - 1);
}

/* Random UTF-8 of few different characters. */
static uint32_t random_utf8(uint8_t *out, uint32_t chars, const char *const *alphabet, uint32_t n)
{
    uint32_t len = 0;

    while (chars-- > 0)
    {
        const char *c = alphabet[rnd(n)];

        memcpy(out + len, c, strlen(c));
        len += (uint32_t) strlen(c);
    }
    return len;
}

static void test_like(void **state)
{
    static const char *const chars[] = {"a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                        "%", "_", "\\"};
    static const char *const parts[] = {"a",   "b",   "\xc3\xa9", "\xe2\x82\xac", "%", "_",
                                        "\\%", "\\_", "\\\\",     "\\a",          "%", "ab"};
    uint32_t matched = 0;

    (void) state;
    for (uint32_t round = 0; round < 20000; round++)
    {
        uint8_t s[64 + 64] = {0}, p[64] = {0};
        uint32_t n = random_utf8(s, rnd(10), chars, 8), m = random_utf8(p, rnd(6), parts, 12);
        ax_like l;
        bool want = naive_like(s, n, p, m);

        ax_cpu_force((ax_cpu_level) (round % AX_CPU_LEVEL_CNT));
        OK(ax_like_compile(&task, task.arena, p, m, &l));
        if (ax_like_match(&l, s, n) != want)
            print_error("'%.*s' like '%.*s'\n", (int) n, (char *) s, (int) m, (char *) p);
        assert_int_equal(ax_like_match(&l, s, n), want);
        matched += want;
        if (round % 100 == 0)
            ax_arena_reset(task.arena);
    }
    assert_true(matched > 1000);
}

static void test_like_kinds(void **state)
{
    static const struct
    {
        const char *p;
        uint8_t kind;
    } k[] = {{"", AX_LIKE_EXACT},      {"abc", AX_LIKE_EXACT},     {"a\\%c", AX_LIKE_EXACT},
             {"%", AX_LIKE_ALL},       {"%%", AX_LIKE_ALL},        {"ab%", AX_LIKE_PREFIX},
             {"%ab", AX_LIKE_SUFFIX},  {"%ab%", AX_LIKE_CONTAINS}, {"%%ab%%", AX_LIKE_CONTAINS},
             {"a%b", AX_LIKE_GENERAL}, {"a_", AX_LIKE_GENERAL},    {"%a%b%", AX_LIKE_GENERAL}};
    ax_like l;

    (void) state;
    for (uint32_t i = 0; i < sizeof(k) / sizeof(k[0]); i++)
    {
        OK(ax_like_compile(&task, task.arena, (const uint8_t *) k[i].p, (uint32_t) strlen(k[i].p),
                           &l));
        assert_int_equal(l.kind, k[i].kind);
    }
    assert_int_equal(ax_like_compile(&task, task.arena, (const uint8_t *) "ab\\", 3, &l),
                     AX_EESCAPE);
    ax_error_clear(&task.err);
}

/* ---- IN -------------------------------------------------------------------------------------- */

static void test_in_types(void **state)
{
    static const uint8_t ids[] = {AX_T_BOOL,   AX_T_INT2,    AX_T_INT4, AX_T_INT8,   AX_T_FLOAT4,
                                  AX_T_FLOAT8, AX_T_NUMERIC, AX_T_TEXT, AX_T_BPCHAR, AX_T_DATE};
    static const char *const words[] = {"", "a", "a ", "b", "abc", "abc  ", "xyz", "\xc3\xa9"};

    (void) state;
    for (uint32_t round = 0; round < 3000; round++)
    {
        ax_type type = ax_type_make((ax_type_id) ids[rnd(10)]);
        ax_value v[40], x, r;
        uint32_t n = rnd(2) ? rnd(5) : rnd(40);
        bool found = false, has_null = false, negated = rnd(2), raises;
        ax_call *c;

        for (uint32_t i = 0; i <= n; i++)
        {
            ax_value *y = i < n ? &v[i] : &x;
            bool is_null = rnd(30) == 0;

            *y = (ax_value){.type = type};
            if (type.phys == AX_P_STR)
            {
                *y = text(words[rnd(8)]);
                y->type = type;
            }
            else if (type.phys == AX_P_NUM)
                y->u.num = (ax_num){.v = rnd(20) * (rnd(2) ? 10 : 1), .dscale = (int16_t) rnd(2)};
            else if (type.phys == AX_P_F32 || type.phys == AX_P_F64)
                y->u.f = rnd(10) ? (double) rnd(30) : rnd(2) ? (double) NAN : -0.0;
            else
                y->u.i = type.id == AX_T_BOOL ? rnd(2) : (int64_t) rnd(60) - 30;
            y->null = is_null;
        }
        for (uint32_t i = 0; i < n; i++)
        {
            has_null |= v[i].null;
            found |= !x.null && !v[i].null && ax_value_cmp(&x, &v[i]) == 0;
        }
        OK(ax_call_bind_in(&task, task.arena, type, v, n, negated, &c));
        OK(ax_call_value(&task, task.arena, c, &x, 1, &r, &raises));
        assert_false(raises);
        if (n > 0 && (x.null || (!found && has_null)))
            assert_true(r.null);
        else
            assert_true(!r.null && (r.u.i != 0) == (found != negated));
        if (round % 50 == 0)
            ax_arena_reset(task.arena);
    }
}

/* ---- what exists ----------------------------------------------------------------------------- */

static void test_resolve(void **state)
{
    ax_type t2 = ax_type_make(AX_T_INT2), t8 = ax_type_make(AX_T_INT8);
    ax_type num = ax_type_make(AX_T_NUMERIC), f8 = ax_type_make(AX_T_FLOAT8);
    ax_type ts = ax_type_make(AX_T_TIMESTAMP), tz = ax_type_make(AX_T_TIMESTAMPTZ);
    ax_type str = ax_type_make(AX_T_TEXT), icu = str, dt = ax_type_make(AX_T_DATE);
    ax_fn_shape s;

    (void) state;
    icu.coll = AX_COLL_EQ;
    assert_null(ax_fn_resolve(AX_FN_LT, (ax_type[]){t2, t8}, 2, &s));
    assert_int_equal(s.cast[0], AX_FN_TO_INT8);
    assert_int_equal(s.cast[1], AX_FN_NONE);
    assert_null(ax_fn_resolve(AX_FN_LT, (ax_type[]){t8, num}, 2, &s));
    assert_int_equal(s.cast[0], AX_FN_TO_NUMERIC);
    assert_null(ax_fn_resolve(AX_FN_EQ, (ax_type[]){t8, f8}, 2, &s));
    assert_int_equal(s.want[0].id, AX_T_FLOAT8); /* as the server: 2^53 + 1 = 2^53 */
    assert_null(ax_fn_resolve(AX_FN_EQ, (ax_type[]){ts, dt}, 2, &s));
    assert_int_equal(s.cast[1], AX_FN_DATE_ORDER);
    assert_null(ax_fn_resolve(AX_FN_EQ, (ax_type[]){icu, str}, 2, &s));
    assert_non_null(ax_fn_resolve(AX_FN_LT, (ax_type[]){icu, str}, 2, &s));
    assert_non_null(ax_fn_resolve(AX_FN_EQ, (ax_type[]){ts, tz}, 2, &s));
    assert_non_null(ax_fn_resolve(AX_FN_EQ, (ax_type[]){num, f8}, 2, &s));
    assert_non_null(ax_fn_resolve(AX_FN_ADD, (ax_type[]){num, f8}, 2, &s));
    assert_non_null(ax_fn_resolve(AX_FN_MOD, (ax_type[]){f8, f8}, 2, &s));
    assert_non_null(ax_fn_resolve(AX_FN_EQ, (ax_type[]){t2}, 1, &s));
    assert_null(ax_fn_resolve(AX_FN_ADD, (ax_type[]){t2, t2}, 2, &s));
    assert_int_equal(s.result.id, AX_T_INT2);
    assert_false(ax_fn_can_raise(AX_FN_TO_INT8, &t2, NULL));
    assert_true(ax_fn_can_raise(AX_FN_TO_INT8, &f8, NULL));
    assert_true(ax_fn_can_raise(AX_FN_TO_INT2, &t8, NULL));
    assert_int_equal(ax_agg_result(AX_AGG_SUM, t8).id, AX_T_NUMERIC);
    assert_int_equal(ax_agg_result(AX_AGG_MIN, str).id, AX_T_TEXT);
    assert_int_equal(ax_agg_result(AX_AGG_MIN, icu).id, AX_T_NONE);
    assert_int_equal(ax_agg_result(AX_AGG_COUNT, icu).id, AX_T_INT8);
    assert_int_equal(ax_agg_result(AX_AGG_SUM, str).id, AX_T_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),       cmocka_unit_test(test_time_infinite),
        cmocka_unit_test(test_dates),      cmocka_unit_test(test_like),
        cmocka_unit_test(test_like_kinds), cmocka_unit_test(test_in_types),
        cmocka_unit_test(test_resolve),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
