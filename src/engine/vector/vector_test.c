/* Types, order of values, and rows of every encoding through gather, flatten and value. */
#include "vector/vector.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ax_budget budget;
static ax_task task;
static uint64_t rng = 42;

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
    assert_int_equal(atomic_load(&budget.used_bytes), 0);
    return 0;
}

#define OK(call) assert_int_equal((call), AX_OK)

/* ---- order ----------------------------------------------------------------------------------- */

static ax_value num(ax_i128 v, int16_t scale)
{
    ax_value r = {.type = ax_type_make(AX_T_NUMERIC)};

    r.u.num.v = v;
    r.u.num.dscale = scale;
    return r;
}

static ax_value special(uint8_t s)
{
    ax_value r = num(0, 0);

    r.u.num.special = s;
    return r;
}

static int sign(int c) { return (c > 0) - (c < 0); }

static void check_order(const ax_value *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            assert_int_equal(sign(ax_value_cmp(&v[i], &v[j])), (i > j) - (i < j));
}

static void test_numeric_order(void **state)
{
    ax_i128 big = 1; /* 10^38 - 1 */
    ax_value a, b;

    (void) state;
    for (int i = 0; i < 38; i++)
        big *= 10;
    big -= 1;
    {
        ax_value v[] = {special(AX_NUM_NINF),
                        num(-big, 0),
                        num(-big, 1),
                        num(-1, 0),
                        num(-1, 16383),
                        num(0, 5),
                        num(1, 16383),
                        num(big, 16000),
                        num(big, 38),
                        num(1, 0),
                        num(101, 2),
                        num(11, 1),
                        num(2, 0),
                        num(big, 1),
                        num(big, 0),
                        special(AX_NUM_PINF),
                        special(AX_NUM_NAN)};

        check_order(v, sizeof(v) / sizeof(v[0]));
    }
    a = num(110, 2);
    b = num(11, 1);
    assert_int_equal(ax_value_cmp(&a, &b), 0);
    a = num(0, 0);
    b = num(0, 9);
    assert_int_equal(ax_value_cmp(&a, &b), 0);
    a = special(AX_NUM_NAN);
    assert_int_equal(ax_value_cmp(&a, &a), 0);
    /* against exact rational arithmetic on small numbers */
    for (uint32_t i = 0; i < 20000; i++)
    {
        int64_t x = (int64_t) rnd(20001) - 10000, y = (int64_t) rnd(20001) - 10000;
        int16_t sx = (int16_t) rnd(9), sy = (int16_t) rnd(9);
        int64_t px = x, py = y;

        for (int k = 0; k < 8 - sx; k++)
            px *= 10;
        for (int k = 0; k < 8 - sy; k++)
            py *= 10;
        a = num(x, sx);
        b = num(y, sy);
        assert_int_equal(sign(ax_value_cmp(&a, &b)), (px > py) - (px < py));
    }
}

static ax_value text(ax_type_id id, const char *s)
{
    ax_value v = {.type = ax_type_make(id)};

    v.u.s.p = (const uint8_t *) s;
    v.u.s.len = (uint32_t) strlen(s);
    return v;
}

static ax_value f8(double d)
{
    ax_value v = {.type = ax_type_make(AX_T_FLOAT8)};

    v.u.f = d;
    return v;
}

static ax_value interval(int32_t months, int32_t days, int64_t usec)
{
    ax_value v = {.type = ax_type_make(AX_T_INTERVAL)};

    v.u.iv = (ax_interval){usec, days, months};
    return v;
}

static void test_order(void **state)
{
    ax_value f[] = {f8(-INFINITY), f8(-1), f8(0), f8(1e-300), f8(1), f8(INFINITY), f8(NAN)};
    ax_value s[] = {text(AX_T_TEXT, ""),   text(AX_T_TEXT, "a"), text(AX_T_TEXT, "a "),
                    text(AX_T_TEXT, "ab"), text(AX_T_TEXT, "b"), text(AX_T_TEXT, "\xc3\xa9")};
    ax_value iv[] = {interval(0, -1, 0), interval(0, 0, 1),
                     interval(0, 29, 0), interval(1, 0, 0),
                     interval(0, 30, 1), interval(INT32_MAX, INT32_MAX, INT64_MAX)};
    ax_value a, b;

    (void) state;
    check_order(f, 7);
    check_order(s, 6);
    check_order(iv, 6);
    a = f8(-0.0);
    b = f8(0.0);
    assert_int_equal(ax_value_cmp(&a, &b), 0);
    a = text(AX_T_BPCHAR, "ab  ");
    b = text(AX_T_BPCHAR, "ab");
    assert_int_equal(ax_value_cmp(&a, &b), 0);
    a = interval(1, 0, 0);
    b = interval(0, 29, 86400000000);
    assert_int_equal(ax_value_cmp(&a, &b), 0);
}

static void test_types(void **state)
{
    (void) state;
    for (uint32_t id = 1; id < AX_T_CNT; id++)
    {
        ax_type t = ax_type_make((ax_type_id) id);

        assert_int_equal(t.id, id);
        assert_true(t.phys > AX_P_NONE && t.phys < AX_P_CNT);
        assert_int_equal(ax_phys_width(t.phys) == 0, t.phys >= AX_P_STR);
        assert_int_equal(t.coll != AX_COLL_NONE, id == AX_T_TEXT || id == AX_T_BPCHAR);
    }
    assert_string_equal(ax_type_name(AX_T_TIMESTAMPTZ), "timestamp with time zone");
    assert_int_equal(ax_phys_width(AX_P_NUM), sizeof(ax_num));
    assert_true(ax_dict_uid() != ax_dict_uid());
}

/* ---- encodings ------------------------------------------------------------------------------- */

#define ROWS 60u

static ax_value random_value(uint8_t id)
{
    static const char *const words[] = {"", "x", "hello", "a longer string than sixteen"};
    ax_value v = {.type = ax_type_make(id)};

    if (id == AX_T_TEXT)
        return text(AX_T_TEXT, words[rnd(4)]);
    if (id == AX_T_NUMERIC)
        return num((ax_i128) rnd(100) - 50, (int16_t) rnd(3));
    if (id == AX_T_FLOAT4 || id == AX_T_FLOAT8)
        v.u.f = (double) rnd(100) / 4;
    else if (id == AX_T_UUID || id == AX_T_INTERVAL)
        v.u.fix[0] = (uint8_t) rnd(256);
    else
        v.u.i = id == AX_T_BOOL ? rnd(2) : (int64_t) rnd(200) - 100;
    return v;
}

static ax_vec flat(ax_arena *a, const ax_value *v, uint32_t n, ax_type type)
{
    ax_vec r = {.kind = AX_VK_FLAT, .type = type, .n = n};

    r.null = ax_arena_values(a, n);
    for (uint32_t i = 0; i < n; i++)
        r.null[i] = v[i].null;
    if (ax_type_is_str(type))
    {
        uint32_t *off = ax_arena_values(a, 4 * n), *len = ax_arena_values(a, 4 * n), at = 0;
        uint8_t *page = ax_arena_values(a, 40 * (size_t) n);

        for (uint32_t i = 0; i < n; i++)
        {
            off[i] = at;
            len[i] = v[i].null ? 0 : v[i].u.s.len;
            memcpy(page + at, v[i].u.s.p ? v[i].u.s.p : page, len[i]);
            at += len[i];
        }
        r.u.str.base = page;
        r.u.str.off = off;
        r.u.str.len = len;
        return r;
    }
    r.u.data = ax_arena_values(a, ax_phys_width(type.phys) * (size_t) n);
    memset(r.u.data, 0, ax_phys_width(type.phys) * (size_t) n);
    for (uint32_t i = 0; i < n; i++)
        if (!v[i].null)
            ax_value_store(&v[i], r.u.data, i);
    return r;
}

static ax_vec make(ax_arena *a, ax_value *v, uint8_t id, ax_vkind kind)
{
    ax_type type = ax_type_make(id);
    ax_vec r = {.kind = (uint8_t) kind, .type = type, .n = ROWS};
    ax_value dv[8];

    for (uint32_t i = 0; i < ROWS; i++)
    {
        v[i] = random_value(id);
        v[i].null = kind != AX_VK_CONST && rnd(6) == 0;
    }
    for (uint32_t i = 0; i < 8; i++)
        dv[i] = random_value(id);
    switch (kind)
    {
    case AX_VK_CONST:
        for (uint32_t i = 1; i < ROWS; i++)
            v[i] = v[0];
        OK(ax_vec_const(&task, a, &v[0], ROWS, &r));
        return r;
    case AX_VK_DICT:
    {
        uint32_t *ids = ax_arena_values(a, 4 * ROWS);
        ax_dict *d = ax_arena_alloc0(a, sizeof(*d));

        d->n = 8;
        d->val = flat(a, dv, 8, type);
        d->val.null = NULL;
        r.null = flat(a, v, ROWS, type).null;
        for (uint32_t i = 0; i < ROWS; i++)
        {
            ids[i] = v[i].null ? 0 : rnd(8);
            if (!v[i].null)
                v[i] = dv[ids[i]];
        }
        r.u.dict.id = ids;
        r.u.dict.dict = d;
        return r;
    }
    case AX_VK_RUN:
    {
        static const uint16_t end[4] = {1, 20, 45, 60};

        r.null = flat(a, v, ROWS, type).null;
        r.u.run.val = ax_arena_alloc0(a, sizeof(ax_vec));
        *r.u.run.val = flat(a, dv, 4, type);
        r.u.run.val->null = NULL;
        r.u.run.end = end;
        r.u.run.n = 4;
        for (uint32_t i = 0; i < ROWS; i++)
            if (!v[i].null)
                v[i] = dv[i < 1 ? 0 : i < 20 ? 1 : i < 45 ? 2 : 3];
        return r;
    }
    case AX_VK_VIEW:
    {
        ax_vec f = flat(a, v, ROWS, type);

        OK(ax_vec_gather(&task, a, &f, NULL, 0, false, &r));
        return r;
    }
    default: return flat(a, v, ROWS, type);
    }
}

static void check_row(const ax_vec *v, uint32_t i, const ax_value *want)
{
    ax_value got = ax_vec_value(v, i);

    assert_int_equal(got.null, want->null);
    assert_true(got.null || ax_value_cmp(&got, want) == 0);
}

static void test_encodings(void **state)
{
    static const ax_vkind kinds[] = {AX_VK_FLAT, AX_VK_CONST, AX_VK_DICT, AX_VK_RUN, AX_VK_VIEW};
    ax_arena *a = ax_arena_create(&budget, 0);

    (void) state;
    for (uint8_t id = 1; id < AX_T_JSONB; id++)
        for (uint32_t k = 0; k < 5; k++)
        {
            ax_value v[ROWS];
            ax_vec x = make(a, v, id, kinds[k]), out;
            uint16_t sel[ROWS];
            uint32_t rows[2 * ROWS], n = 0;

            for (uint32_t i = 0; i < ROWS; i++)
            {
                check_row(&x, i, &v[i]);
                if (rnd(2))
                    sel[n++] = (uint16_t) i;
            }
            for (uint32_t copy = 0; copy < 2; copy++)
            {
                OK(ax_vec_gather(&task, a, &x, sel, n, copy, &out));
                assert_int_equal(out.n, n);
                assert_int_equal(out.kind, ax_type_make(id).phys == AX_P_STR ? AX_VK_VIEW
                                                                           : AX_VK_FLAT);
                for (uint32_t i = 0; i < n; i++)
                    check_row(&out, i, &v[sel[i]]);
            }
            for (uint32_t i = 0; i < 2 * ROWS; i++)
                rows[i] = rnd(ROWS);
            OK(ax_vec_gather32(&task, a, &x, rows, 2 * ROWS, true, &out));
            for (uint32_t i = 0; i < 2 * ROWS; i++)
                check_row(&out, i, &v[rows[i]]);
            OK(ax_vec_flatten(&task, a, &x, &out));
            assert_true(out.kind == AX_VK_FLAT || out.kind == AX_VK_VIEW);
            for (uint32_t i = 0; i < ROWS; i++)
                check_row(&out, i, &v[i]);
            OK(ax_vec_gather(&task, a, &x, sel, 0, true, &out)); /* no rows */
            assert_int_equal(out.n, 0);
            ax_arena_reset(a);
        }
    ax_arena_destroy(a);
}

static void test_sequence(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_vec v = {.kind = AX_VK_SEQ, .type = ax_type_make(AX_T_INT8), .n = 5}, out;
    uint16_t sel[2] = {1, 4};

    (void) state;
    v.u.seq.start = 100;
    v.u.seq.step = -3;
    OK(ax_vec_gather(&task, a, &v, sel, 2, false, &out));
    assert_int_equal(ax_vec_value(&out, 0).u.i, 97);
    assert_int_equal(ax_vec_value(&out, 1).u.i, 88);
    OK(ax_vec_flatten(&task, a, &v, &out));
    assert_int_equal(out.kind, AX_VK_FLAT);
    assert_int_equal(((int64_t *) out.u.data)[4], 88);
    ax_arena_destroy(a);
}

/* Lists of rows out of order, with a window that does not begin at the child's first value. */
static void test_lists(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    static const uint32_t off[] = {2, 2, 5, 6};
    ax_value v[8];
    ax_vec child, list = {.kind = AX_VK_LIST, .type = ax_type_make(AX_T_LIST), .n = 3}, out, st,
                  got;
    uint32_t rows[2] = {2, 1};

    (void) state;
    for (uint32_t i = 0; i < 8; i++)
        v[i] = (ax_value){.type = ax_type_make(AX_T_INT4), .u.i = i};
    child = flat(a, v, 8, v[0].type);
    list.u.list.off = off;
    list.u.list.child = &child;
    OK(ax_vec_gather32(&task, a, &list, rows, 2, true, &out));
    assert_int_equal(out.kind, AX_VK_LIST);
    assert_int_equal(out.u.list.off[0], 0);
    assert_int_equal(out.u.list.off[1], 1);
    assert_int_equal(out.u.list.off[2], 4);
    assert_int_equal(ax_vec_value(out.u.list.child, 0).u.i, 5);
    assert_int_equal(ax_vec_value(out.u.list.child, 3).u.i, 4);
    st = (ax_vec){.kind = AX_VK_STRUCT, .type = ax_type_make(AX_T_STRUCT), .n = 3};
    st.u.st.child = &list;
    st.u.st.n = 1;
    OK(ax_vec_gather32(&task, a, &st, rows, 1, true, &got));
    assert_int_equal(got.u.st.child[0].u.list.off[1], 1);
    ax_arena_destroy(a);
}

static void test_pin(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_buf *buf = ax_buf_alloc(&budget, 1000);
    ax_batch b = {.arena = a};

    (void) state;
    OK(ax_batch_pin(&task, &b, buf));
    assert_int_equal(atomic_load(&buf->refs), 2);
    ax_arena_reset(a);
    assert_int_equal(atomic_load(&buf->refs), 1);
    ax_buf_unref(buf);
    ax_arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_numeric_order), cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_sequence),      cmocka_unit_test(test_lists),
        cmocka_unit_test(test_pin),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
