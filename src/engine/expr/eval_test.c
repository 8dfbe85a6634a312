/* The evaluator against the naive interpreter: random expressions over columns in all encodings,
 * under selections, with nulls and failing rows; at every level of the processor. */
#include "base/scale_test.h"
#include "expr/ref_test.inc"

static void say(const ax_expr *e, uint64_t seed, uint32_t row)
{
    char text[2000];

    ax_expr_print(e, NULL, text, sizeof(text));
    print_error("seed %llu row %u: %s\n", (unsigned long long) seed, row, text);
}

/* One program of n expressions on one table, run twice (caches of dictionaries are warm then). */
static void check_program(ax_arena *a, table *t, ax_expr **e, uint32_t n, ax_eval *ev,
                          uint64_t seed)
{
    ax_vec out[4];
    ax_eval_result r;
    uint32_t bad_row = UINT32_MAX;
    ax_status s;

    (void) a;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < t->b.nsel; i++)
        {
            bool raises = false;
            uint32_t row = row_of(&t->b, i);

            ref_eval(e[k], t, row, &raises);
            if (raises && row < bad_row)
                bad_row = row;
        }
    ax_error_clear(&task.err);
    s = ax_eval_run(&task, ev, &t->b, out, &r);
    assert_null(r.need);
    if (bad_row != UINT32_MAX)
    {
        if (s == AX_OK || r.fail_row != bad_row)
        {
            for (uint32_t k = 0; k < n; k++)
                say(e[k], seed, bad_row);
            print_error("expected failure at %u, got %s at %u\n", bad_row, ax_status_name(s),
                        r.fail_row);
        }
        assert_int_not_equal(s, AX_OK);
        assert_int_equal(r.fail_row, bad_row);
        assert_int_equal(task.err.code, s);
        return;
    }
    if (s != AX_OK)
        say(e[0], seed, 0);
    assert_int_equal(s, AX_OK);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < t->b.nsel; i++)
        {
            bool raises = false;
            uint32_t row = row_of(&t->b, i);
            ax_value want = ref_eval(e[k], t, row, &raises), got = ax_vec_value(&out[k], row);

            got.type = want.type;
            if (!same(&want, &got))
            {
                say(e[k], seed, row);
                print_error("kind %u want null %d %lld got null %d %lld\n", out[k].kind, want.null,
                            (long long) want.u.i, got.null, (long long) got.u.i);
            }
            assert_true(same(&want, &got));
            assert_int_equal(out[k].n, t->b.nrows);
        }
}

static void test_random(void **state)
{
    static const uint8_t types[] = {AX_T_BOOL, AX_T_BOOL,   AX_T_INT2, AX_T_INT4,
                                    AX_T_INT8, AX_T_FLOAT8, AX_T_TEXT};
    const char *given = getenv("AX_ROUNDS");
    uint32_t rounds = given ? (uint32_t) atoi(given) : ax_test_scale(1500);
    ax_arena *a = ax_arena_create(&budget, 0);

    (void) state;
    for (uint32_t round = 0; round < rounds; round++)
    {
        uint64_t seed = rng;
        uint32_t n = 1 + rnd(3), rows = rnd(4) ? rnd(200) : rnd(2049);
        ax_expr *e[3];
        ax_prog *p;
        ax_eval *ev;
        table t;

        ax_cpu_force((ax_cpu_level) rnd(AX_CPU_LEVEL_CNT));
        ax_error_clear(&task.err);
        for (uint32_t k = 0; k < n; k++)
            e[k] = random_expr(a, types[rnd(7)], 1 + rnd(4));
        OK(ax_prog_compile(&task, a, e, n, NULL, &p));
        OK(ax_eval_create(&task, a, p, &ev));
        for (uint32_t k = 0; k < 3; k++)
        {
            random_table(a, &t, rows);
            check_program(a, &t, e, n, ev, seed);
            check_program(a, &t, e, n, ev, seed);
        }
        ax_arena_reset(a);
        ax_arena_reset(task.arena);
    }
    ax_arena_destroy(a);
}

/* ---- three-valued logic, exhaustively -------------------------------------------------------- */

static void test_three_valued(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    table t = {0};
    ax_expr *x, *y, *args[2], *e[2];
    ax_vec col[2], out[2];
    ax_prog *p;
    ax_eval *ev;
    ax_eval_result r;

    (void) state;
    for (uint32_t c = 0; c < 2; c++)
    {
        ax_value *v = ax_arena_alloc0(a, sizeof(ax_value) * 9);

        for (uint32_t i = 0; i < 9; i++)
        {
            uint32_t k = c == 0 ? i / 3 : i % 3;

            v[i] = boolean(k == 1);
            v[i].null = k == 2;
        }
        t.v[c] = v;
        col[c] = flat_of(a, v, 9, ax_type_make(AX_T_BOOL));
    }
    t.b = (ax_batch){.nrows = 9, .nsel = 9, .ncols = 2, .col = col, .arena = a};
    OK(ax_expr_col(&task, a, 0, ax_type_make(AX_T_BOOL), &x));
    OK(ax_expr_col(&task, a, 1, ax_type_make(AX_T_BOOL), &y));
    args[0] = x;
    args[1] = y;
    OK(ax_expr_bool(&task, a, AX_X_AND, args, 2, &e[0]));
    OK(ax_expr_bool(&task, a, AX_X_OR, args, 2, &e[1]));
    OK(ax_prog_compile(&task, a, e, 2, NULL, &p));
    OK(ax_eval_create(&task, a, p, &ev));
    for (uint32_t level = 0; level < AX_CPU_LEVEL_CNT; level++)
    {
        ax_cpu_force((ax_cpu_level) level);
        OK(ax_eval_run(&task, ev, &t.b, out, &r));
        for (uint32_t i = 0; i < 9; i++)
        {
            static const char want_and[] = "FFF"
                                           "FTN"
                                           "FNN",
                              want_or[] = "FTN"
                                          "TTT"
                                          "NTN";
            ax_value va = ax_vec_value(&out[0], i), vo = ax_vec_value(&out[1], i);

            assert_int_equal(want_and[i], va.null ? 'N' : va.u.i ? 'T' : 'F');
            assert_int_equal(want_or[i], vo.null ? 'N' : vo.u.i ? 'T' : 'F');
        }
    }
    ax_arena_destroy(a);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void test_columns_and_params(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_expr *c5, *c2, *prm, *e[2], *never;
    ax_value five = {.type = ax_type_make(AX_T_INT4), .u.i = 5};
    ax_params params = {&five, 1};
    ax_prog *p;
    const uint32_t *cols;
    uint32_t n;
    char text[100];

    (void) state;
    OK(ax_expr_col(&task, a, 5, ax_type_make(AX_T_INT2), &c5));
    OK(ax_expr_col(&task, a, 2, ax_type_make(AX_T_INT4), &c2));
    OK(ax_expr_param(&task, a, 0, ax_type_make(AX_T_INT4), &prm));
    e[0] = call(a, AX_FN_GT, c5, prm);
    e[1] = call(a, AX_FN_ADD, c2, prm);
    OK(ax_prog_compile(&task, a, e, 2, &params, &p));
    cols = ax_prog_columns(p, &n);
    assert_int_equal(n, 2);
    assert_int_equal(cols[0], 2);
    assert_int_equal(cols[1], 5);
    ax_expr_print(e[0], NULL, text, sizeof(text));
    assert_string_equal(text, "(int4($5) > :0)");
    assert_false(e[0]->can_raise);
    assert_true(e[1]->can_raise);
    /* no value for the parameter */
    assert_int_equal(ax_prog_compile(&task, a, e, 2, NULL, &p), AX_EPLAN);
    ax_error_clear(&task.err);
    /* no such combination */
    assert_int_equal(ax_expr_call(&task, a, AX_FN_LIKE, (ax_expr *[]){c5, prm}, 2, &never),
                     AX_EUNSUPPORTED);
    ax_error_clear(&task.err);
    ax_arena_destroy(a);
}

/* LEFT of a dictionary column stays a dictionary. */
static void test_dictionary_kept(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_type text = ax_type_make(AX_T_TEXT);
    ax_value v[100] = {{.type = text}}, two = {.type = ax_type_make(AX_T_INT4), .u.i = 2};
    ax_expr *col, *k, *e;
    ax_vec c, out;
    ax_batch b = {.nrows = 100, .nsel = 100, .ncols = 1, .col = &c, .arena = a};
    ax_prog *p;
    ax_eval *ev;
    ax_eval_result r;

    (void) state;
    for (uint32_t i = 0; i < 100; i++)
        v[i] = random_value(AX_T_TEXT);
    c = encode(a, v, 100, text, AX_VK_DICT);
    OK(ax_expr_col(&task, a, 0, text, &col));
    OK(ax_expr_const(&task, a, &two, &k));
    e = call(a, AX_FN_LEFT, col, k);
    OK(ax_prog_compile(&task, a, &e, 1, NULL, &p));
    OK(ax_eval_create(&task, a, p, &ev));
    OK(ax_eval_run(&task, ev, &b, &out, &r));
    assert_int_equal(out.kind, AX_VK_DICT);
    assert_ptr_equal(out.u.dict.id, c.u.dict.id);
    assert_ptr_not_equal(out.u.dict.dict, c.u.dict.dict);
    ax_arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_valued),
        cmocka_unit_test(test_columns_and_params),
        cmocka_unit_test(test_dictionary_kept),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
