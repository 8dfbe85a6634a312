/* Filters: steps against the naive interpreter, statistics are sound, live bounds, host functions
 * on several lanes. */
#include "expr/ref_test.inc"

#include <pthread.h>
#include <stdatomic.h>

/* ---- steps ----------------------------------------------------------------------------------- */

/* Does the row pass all conjuncts in order?  raises: it fails before it is dropped. */
static bool ref_pass(ax_expr *const *c, uint32_t n, const table *t, uint32_t row, bool *raises)
{
    for (uint32_t k = 0; k < n; k++)
    {
        ax_value v = ref_eval(c[k], t, row, raises);

        if (*raises || v.null || !v.u.i)
            return false;
    }
    return true;
}

static void test_steps(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);

    (void) state;
    for (uint32_t round = 0; round < 800; round++)
    {
        uint32_t n = 1 + rnd(4), rows = rnd(300), q = 0, before, want = 0;
        ax_expr *c[4];
        ax_filter *f;
        ax_filter_lane *l;
        table t;
        const uint32_t *order;
        bool any_raise = false, raised = false;
        uint16_t kept[300];

        ax_cpu_force((ax_cpu_level) rnd(AX_CPU_LEVEL_CNT));
        ax_error_clear(&task.err);
        for (uint32_t k = 0; k < n; k++)
            c[k] = random_expr(a, AX_T_BOOL, 1 + rnd(3));
        OK(ax_filter_create(&task, a, c, n, NULL, &f));
        OK(ax_filter_lane_create(&task, a, f, &l));
        random_table(a, &t, rows);
        before = t.b.nsel;
        for (uint32_t i = 0; i < before; i++)
        {
            bool raises = false;

            if (ref_pass(c, n, &t, row_of(&t.b, i), &raises))
                kept[want++] = (uint16_t) row_of(&t.b, i);
            any_raise |= raises;
        }
        order = ax_filter_lane_order(l);
        for (uint32_t k = 0; k < ax_filter_steps(f) && !raised; k++)
        {
            ax_eval_result r;

            raised = ax_filter_step(&task, l, order[k], &t.b, &r) != AX_OK;
            assert_null(r.need);
            if (raised)
            {
                bool raises = false;

                ref_pass(c, n, &t, r.fail_row, &raises);
                assert_true(raises);
            }
        }
        assert_int_equal(raised, any_raise);
        if (!raised)
        {
            assert_int_equal(t.b.nsel, want);
            for (; q < want; q++)
                assert_int_equal(row_of(&t.b, q), kept[q]);
        }
        ax_arena_reset(a);
        ax_arena_reset(task.arena);
    }
    ax_arena_destroy(a);
}

/* ---- statistics ------------------------------------------------------------------------------ */

typedef struct stats
{
    const table *t;
    bool hide[C_CNT], loose[C_CNT], no_nulls[C_CNT];
} stats;

static bool stats_bounds(void *self, uint32_t col, ax_bounds *out)
{
    const stats *s = self;
    bool any = false;

    if (s->hide[col])
        return false;
    *out = (ax_bounds){.rows = s->t->b.nrows};
    for (uint32_t i = 0; i < s->t->b.nrows; i++)
    {
        const ax_value *v = &s->t->v[col][i];

        if (v->null)
        {
            out->nulls++;
            continue;
        }
        if (!any || ax_value_cmp(v, &out->min) < 0)
            out->min = *v;
        if (!any || ax_value_cmp(v, &out->max) > 0)
            out->max = *v;
        any = true;
    }
    out->has_min = out->has_max = any;
    if (s->loose[col])
    {
        out->has_max = false;
        out->nulls = -1;
        if (any && col == C_I4 && out->min.u.i > INT32_MIN)
            out->min.u.i--;
    }
    return true;
}

static ax_match stats_any(void *self, uint32_t col, const ax_value *vals, uint32_t n)
{
    const stats *s = self;

    if (s->loose[col])
        return AX_MATCH_SOME;
    for (uint32_t i = 0; i < s->t->b.nrows; i++)
        for (uint32_t k = 0; k < n; k++)
            if (!s->t->v[col][i].null && ax_value_cmp(&s->t->v[col][i], &vals[k]) == 0)
                return AX_MATCH_SOME;
    return AX_MATCH_NONE;
}

static void test_match_sound(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    uint32_t none = 0, all = 0;

    (void) state;
    for (uint32_t round = 0; round < 6000; round++)
    {
        uint32_t n = 1 + rnd(3), rows = 1 + rnd(6), pass = 0, fail = 0;
        ax_expr *c[3];
        ax_filter *f;
        table t;
        stats s = {.t = &t};
        ax_stats_src src = {.self = &s, .bounds = stats_bounds,
                            .has_any = rnd(2) ? stats_any : NULL};
        ax_match m;

        ax_error_clear(&task.err);
        for (uint32_t k = 0; k < n; k++)
            c[k] = random_expr(a, AX_T_BOOL, 1 + rnd(2));
        random_table(a, &t, rows);
        for (uint32_t k = 0; k < C_CNT; k++)
        {
            s.hide[k] = rnd(8) == 0;
            s.loose[k] = rnd(4) == 0;
        }
        OK(ax_filter_create(&task, a, c, n, NULL, &f));
        m = ax_filter_match(f, &src);
        for (uint32_t i = 0; i < rows; i++)
        {
            bool raises = false, p = ref_pass(c, n, &t, i, &raises);

            pass += p;
            fail += raises;
        }
        if ((m == AX_MATCH_NONE && (pass || fail)) || (m == AX_MATCH_ALL && pass != rows))
        {
            char text[1000];

            for (uint32_t k = 0; k < n; k++)
            {
                ax_expr_print(c[k], NULL, text, sizeof(text));
                print_error("%s\n", text);
            }
            print_error("match %d: %u of %u rows, %u raise\n", m, pass, rows, fail);
        }
        assert_false(m == AX_MATCH_NONE && (pass || fail));
        assert_false(m == AX_MATCH_ALL && pass != rows);
        none += m == AX_MATCH_NONE;
        all += m == AX_MATCH_ALL;
        ax_arena_reset(a);
        ax_arena_reset(task.arena);
    }
    /* the test means something only if answers are given */
    assert_true(none > 300 && all > 50);
    ax_arena_destroy(a);
}

static ax_value i4(int64_t v) { return (ax_value){.type = ax_type_make(AX_T_INT4), .u.i = v}; }

static bool one_to_ten(void *self, uint32_t col, ax_bounds *out)
{
    (void) col;
    *out = (ax_bounds){.has_min = true, .has_max = true, .nulls = *(int64_t *) self, .rows = 100};
    out->min = i4(1);
    out->max = i4(10);
    return true;
}

static bool words_b_to_d(void *self, uint32_t col, ax_bounds *out)
{
    (void) self;
    (void) col;
    *out = (ax_bounds){.has_min = true, .has_max = true, .rows = 10};
    out->min.type = out->max.type = ax_type_make(AX_T_TEXT);
    out->min.u.s.p = (const uint8_t *) "bcd";
    out->max.u.s.p = (const uint8_t *) "bd";
    out->min.u.s.len = 3;
    out->max.u.s.len = 2;
    return true;
}

static bool no_nulls(void *self, uint32_t col, ax_bounds *out)
{
    (void) self;
    (void) col;
    *out = (ax_bounds){.rows = 10};
    return true;
}

static ax_match match_of(ax_arena *a, ax_expr *e, ax_stats_src *src)
{
    ax_filter *f;

    OK(ax_filter_create(&task, a, &e, 1, NULL, &f));
    return ax_filter_match(f, src);
}

static void test_match_cases(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    int64_t nulls = 0;
    ax_stats_src src = {.self = &nulls, .bounds = one_to_ten}, text = {.bounds = words_b_to_d};
    ax_type t4 = ax_type_make(AX_T_INT4), ts = ax_type_make(AX_T_TEXT);
    ax_value v[3] = {i4(20), i4(30), i4(5)}, num = {.type = ax_type_make(AX_T_NUMERIC)};
    ax_value no = {.type = ax_type_make(AX_T_BOOL)}, pat = {.type = ts};
    ax_expr *c, *k, *e, *s, *ts_eq;

    (void) state;
    OK(ax_expr_col(&task, a, 0, t4, &c));
    OK(ax_expr_const(&task, a, &v[0], &k));
    assert_int_equal(match_of(a, call(a, AX_FN_GT, c, k), &src), AX_MATCH_NONE);
    assert_int_equal(match_of(a, call(a, AX_FN_LT, c, k), &src), AX_MATCH_ALL);
    assert_int_equal(match_of(a, call(a, AX_FN_NE, c, k), &src), AX_MATCH_ALL);
    nulls = -1;
    assert_int_equal(match_of(a, call(a, AX_FN_LT, c, k), &src), AX_MATCH_SOME);
    nulls = 100;
    assert_int_equal(match_of(a, call(a, AX_FN_LT, c, k), &src), AX_MATCH_NONE);
    assert_int_equal(match_of(a, call(a, AX_FN_IS_NULL, c, NULL), &src), AX_MATCH_ALL);
    nulls = 0;
    OK(ax_expr_in(&task, a, c, v, 2, false, &e));
    assert_int_equal(match_of(a, e, &src), AX_MATCH_NONE);
    OK(ax_expr_in(&task, a, c, v, 2, true, &e));
    assert_int_equal(match_of(a, e, &src), AX_MATCH_ALL);
    OK(ax_expr_in(&task, a, c, v, 3, false, &e));
    assert_int_equal(match_of(a, e, &src), AX_MATCH_SOME);
    /* across types: integer column, numeric 10.5 */
    num.u.num = (ax_num){.v = 105, .dscale = 1};
    OK(ax_expr_const(&task, a, &num, &k));
    assert_int_equal(match_of(a, call(a, AX_FN_LT, c, k), &src), AX_MATCH_ALL);
    /* what may raise is asked of the rows, unless it is not reached */
    OK(ax_expr_const(&task, a, &v[0], &k));
    e = call(a, AX_FN_GT, call(a, AX_FN_ADD, c, k), k);
    assert_int_equal(match_of(a, e, &src), AX_MATCH_SOME);
    OK(ax_expr_bool(&task, a, AX_X_AND, (ax_expr *[]){call(a, AX_FN_GT, c, k), e}, 2, &e));
    assert_int_equal(match_of(a, e, &src), AX_MATCH_NONE);
    /* a condition that is false from the start */
    OK(ax_expr_const(&task, a, &no, &e));
    assert_int_equal(match_of(a, e, &(ax_stats_src){0}), AX_MATCH_NONE);
    /* prefixes as byte ranges; equality under any deterministic collation, order only for bytes */
    ts.coll = AX_COLL_EQ;
    OK(ax_expr_col(&task, a, 0, ts, &s));
    pat.type = ts;
    for (uint32_t i = 0; i < 6; i++)
    {
        static const char *const p[] = {"b%", "a%", "bc%x", "bd", "be", "be_"};
        static const uint8_t want[] = {AX_MATCH_ALL,  AX_MATCH_NONE, AX_MATCH_SOME,
                                       AX_MATCH_SOME, AX_MATCH_NONE, AX_MATCH_NONE};

        pat.u.s.p = (const uint8_t *) p[i];
        pat.u.s.len = (uint32_t) strlen(p[i]);
        OK(ax_expr_const(&task, a, &pat, &k));
        assert_int_equal(match_of(a, call(a, AX_FN_LIKE, s, k), &text), want[i]);
        if (i == 4)
        {
            ts_eq = call(a, AX_FN_EQ, s, k);
            assert_int_equal(match_of(a, ts_eq, &text), AX_MATCH_NONE);
            assert_int_equal(ax_expr_call(&task, a, AX_FN_LT, (ax_expr *[]){s, k}, 2, &e),
                             AX_EUNSUPPORTED);
            ax_error_clear(&task.err);
        }
    }
    ax_arena_destroy(a);
}

/* Parts as "first literal last", one behind the other. */
static ax_match note_text(void *self, uint32_t col, const ax_text_part *part, uint32_t n)
{
    char *out = (char *) self;

    assert_int_equal(col, 0);
    for (uint32_t i = 0; i < n; i++)
        out += sprintf(out, "%s%.*s%s ", part[i].first ? "^" : "", (int) part[i].len, part[i].p,
                       part[i].last ? "$" : "");
    return AX_MATCH_NONE;
}

static void test_match_text(void **state)
{
    static const struct { ax_fn fn; const char *pat, *parts; ax_match want; } c[] = {
        {AX_FN_LIKE, "%ab%", "ab ", AX_MATCH_NONE}, {AX_FN_LIKE, "ab%", "^ab ", AX_MATCH_NONE},
        {AX_FN_LIKE, "%ab", "ab$ ", AX_MATCH_NONE},
        {AX_FN_LIKE, "a_b%c\\%", "^a b c%$ ", AX_MATCH_NONE},
        {AX_FN_LIKE, "%", "", AX_MATCH_ALL}, {AX_FN_LIKE, "_%", "", AX_MATCH_SOME},
        {AX_FN_NOT_LIKE, "%ab%", "ab ", AX_MATCH_ALL},
        {AX_FN_STARTS_WITH, "ab", "^ab ", AX_MATCH_NONE},
        {AX_FN_STARTS_WITH, "", "", AX_MATCH_SOME},
    };
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_value pat = {.type = ax_type_make(AX_T_TEXT)};
    int64_t nulls = 0;
    ax_expr *s, *k;

    (void) state;
    OK(ax_expr_col(&task, a, 0, pat.type, &s));
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
    {
        char parts[200] = "";
        ax_stats_src src = {.self = parts, .has_text = note_text, .bounds = no_nulls};

        pat.u.s.p = (const uint8_t *) c[i].pat;
        pat.u.s.len = (uint32_t) strlen(c[i].pat);
        OK(ax_expr_const(&task, a, &pat, &k));
        assert_int_equal(match_of(a, call(a, c[i].fn, s, k), &src), c[i].want);
        assert_string_equal(parts, c[i].parts);
    }
    /* prefixes against bounds */
    for (uint32_t i = 0; i < 4; i++)
    {
        static const char *const p[] = {"b", "a", "bd", "be"};
        static const ax_match want[] = {AX_MATCH_ALL, AX_MATCH_NONE, AX_MATCH_SOME,
                                        AX_MATCH_NONE};
        ax_stats_src src = {.self = &nulls, .bounds = words_b_to_d};

        pat.u.s.p = (const uint8_t *) p[i];
        pat.u.s.len = (uint32_t) strlen(p[i]);
        OK(ax_expr_const(&task, a, &pat, &k));
        assert_int_equal(match_of(a, call(a, AX_FN_STARTS_WITH, s, k), &src), want[i]);
    }
    ax_arena_destroy(a);
}

/* ---- live bounds ----------------------------------------------------------------------------- */

static void test_live(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    int64_t nulls = 0;
    ax_stats_src src = {.self = &nulls, .bounds = one_to_ten};
    ax_filter *f;
    ax_filter_lane *l;
    ax_value v[50], bound = i4(5);
    ax_vec col;
    size_t used;

    (void) state;
    for (uint32_t i = 0; i < 50; i++)
    {
        v[i] = i4(i);
        v[i].null = i % 10 == 9;
    }
    col = flat_of(a, v, 50, v[0].type);
    OK(ax_filter_create(&task, a, NULL, 0, NULL, &f));
    OK(ax_filter_lane_create(&task, a, f, &l));
    assert_ptr_equal(ax_filter_lane_filter(l), f);
    assert_int_equal(ax_filter_steps(f), 0);
    assert_int_equal(ax_filter_match(f, &src), AX_MATCH_ALL);
    for (uint32_t pass = 0; pass < 4; pass++)
    {
        ax_batch b = {.nrows = 50, .nsel = 50, .ncols = 1, .col = &col, .arena = a};
        static const uint32_t want[4] = {50, 5, 10, 8};

        if (pass == 1)
            OK(ax_filter_tighten(&task, f, 0, 0, AX_FN_LT, &bound, false));
        if (pass == 2)
            OK(ax_filter_tighten(&task, f, 0, 0, AX_FN_LT, &bound, true));
        if (pass == 3) /* narrower, on another slot: 3, 4 and the nulls */
        {
            bound = i4(2);
            OK(ax_filter_tighten(&task, f, 15, 0, AX_FN_GE, &bound, true));
        }
        OK(ax_filter_live(&task, l, &b));
        assert_int_equal(b.nsel, want[pass]);
        assert_int_equal(ax_filter_version(f), pass);
        assert_int_equal(ax_filter_match(f, &src), pass == 0 ? AX_MATCH_ALL : AX_MATCH_SOME);
    }
    bound = i4(0);
    OK(ax_filter_tighten(&task, f, 1, 0, AX_FN_LT, &bound, false));
    assert_int_equal(ax_filter_match(f, &src), AX_MATCH_NONE);
    /* memory does not grow with the number of calls */
    used = (size_t) atomic_load(&budget.used_bytes);
    for (uint32_t i = 0; i < 100000; i++)
        OK(ax_filter_tighten(&task, f, 1, 0, AX_FN_LT, &bound, false));
    assert_int_equal(used, (size_t) atomic_load(&budget.used_bytes));
    bound.null = true;
    assert_int_equal(ax_filter_tighten(&task, f, 1, 0, AX_FN_LT, &bound, false), AX_EPLAN);
    ax_error_clear(&task.err);
    ax_arena_destroy(a);
}

/* ---- host functions -------------------------------------------------------------------------- */

/* The host squares its argument, says null for 0, and fails for negative numbers. */
static uint32_t host_answer(ax_task *t, const ax_host_need *need)
{
    ax_value *r = ax_arena_alloc0(t->arena, sizeof(*r) * need->nrows);
    const ax_error **bad = ax_arena_alloc0(t->arena, sizeof(*bad) * need->nrows);
    static const ax_error negative = {.code = AX_EHOST, .msg = "negative", .sqlstate = "2201F"};

    assert_int_equal(need->nargs, 1);
    for (uint32_t i = 0; i < need->nrows; i++)
    {
        ax_value x = ax_vec_value(&need->arg[0], i);

        r[i] = i4(x.null ? -1 : x.u.i * x.u.i);
        r[i].null = !x.null && x.u.i == 0;
        bad[i] = !x.null && x.u.i < 0 ? &negative : NULL;
    }
    OK(ax_host_reply(t, need, r, bad));
    return need->nrows;
}

static void test_host(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_type t4 = ax_type_make(AX_T_INT4);
    ax_value v[100], zero = i4(0);
    ax_expr *c, *h, *k, *e[2];
    ax_vec col, out[2];
    ax_batch b = {.nrows = 100, .nsel = 100, .ncols = 1, .col = &col, .arena = a};
    ax_prog *p;
    ax_eval *ev;
    ax_eval_result r;
    ax_filter *f;
    ax_filter_lane *l;
    uint32_t asked = 0, rounds = 0;

    (void) state;
    for (uint32_t i = 0; i < 100; i++)
    {
        v[i] = i4((int64_t) (i % 11) - 1);
        v[i].null = i % 7 == 3;
    }
    col = flat_of(a, v, 100, t4);
    OK(ax_expr_col(&task, a, 0, t4, &c));
    OK(ax_expr_const(&task, a, &zero, &k));
    OK(ax_expr_host(&task, a, 7, &c, 1, t4, &h));
    assert_true(h->can_raise);
    /* on all rows: one of them raises, the first with -1 */
    OK(ax_prog_compile(&task, a, &h, 1, NULL, &p));
    OK(ax_eval_create(&task, a, p, &ev));
    OK(ax_eval_run(&task, ev, &b, out, &r));
    assert_non_null(r.need);
    assert_int_equal(r.need->host, 7);
    assert_int_equal(host_answer(&task, r.need), 12); /* -1 .. 9 and null */
    assert_int_equal(ax_eval_run(&task, ev, &b, out, &r), AX_EHOST);
    assert_int_equal(r.fail_row, 0);
    assert_string_equal(task.err.msg, "negative");
    assert_string_equal(task.err.sqlstate, "2201F");
    ax_error_clear(&task.err);
    /* behind a filter that drops them nothing raises, and nothing is asked twice */
    e[0] = call(a, AX_FN_GE, c, k);
    e[1] = call(a, AX_FN_GT, h, k);
    OK(ax_filter_create(&task, a, e, 2, NULL, &f));
    OK(ax_filter_lane_create(&task, a, f, &l));
    for (uint32_t batch = 0; batch < 3; batch++)
    {
        b.sel = NULL;
        b.nsel = 100;
        for (uint32_t s = 0; s < 2;)
        {
            OK(ax_filter_step(&task, l, s, &b, &r));
            rounds++;
            if (r.need != NULL)
                asked += host_answer(&task, r.need);
            else
                s++;
        }
        for (uint32_t i = 0; i < b.nsel; i++)
            assert_true(!v[b.sel[i]].null && v[b.sel[i]].u.i > 0);
    }
    assert_int_equal(asked, 10);
    assert_int_equal(rounds, 7);
    ax_arena_destroy(a);
}

/* h1(v) + h2(v), h1(v) + 1, h3(h2(v)): two questions at once, then one, each value asked once. */
static void independent_functions_are_asked_for_at_once(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_type t4 = ax_type_make(AX_T_INT4);
    ax_value v[9], one = i4(1);
    ax_expr *c, *k, *h1, *h2, *h3, *e[3];
    ax_vec col, out[3];
    ax_batch b = {.nrows = 9, .nsel = 9, .ncols = 1, .col = &col, .arena = a};
    ax_prog *p;
    ax_eval *ev;
    ax_eval_result r;
    uint32_t hosts[3], n = 0, rounds = 0;

    (void) state;
    for (uint32_t i = 0; i < 9; i++)
        v[i] = i4((int64_t) (i % 3) + 1);
    col = flat_of(a, v, 9, t4);
    OK(ax_expr_col(&task, a, 0, t4, &c));
    OK(ax_expr_const(&task, a, &one, &k));
    OK(ax_expr_host(&task, a, 1, &c, 1, t4, &h1));
    OK(ax_expr_host(&task, a, 2, &c, 1, t4, &h2));
    OK(ax_expr_host(&task, a, 3, &h2, 1, t4, &h3));
    e[0] = call(a, AX_FN_ADD, h1, h2);
    e[1] = call(a, AX_FN_ADD, h1, k);
    e[2] = h3;
    OK(ax_prog_compile(&task, a, e, 3, NULL, &p));
    OK(ax_eval_create(&task, a, p, &ev));
    for (;; rounds++)
    {
        OK(ax_eval_run(&task, ev, &b, out, &r));
        if (r.need == NULL)
            break;
        for (const ax_host_need *need = r.need; need != NULL; need = need->next)
        {
            assert_true(n < 3);
            hosts[n++] = need->host;
            assert_int_equal(host_answer(&task, need), 3);
        }
    }
    assert_int_equal(rounds, 2);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(hosts[i], i + 1);
    for (uint32_t i = 0; i < 9; i++)
    {
        int64_t x = v[i].u.i;

        assert_int_equal(ax_vec_value(&out[0], i).u.i, 2 * x * x);
        assert_int_equal(ax_vec_value(&out[1], i).u.i, x * x + 1);
        assert_int_equal(ax_vec_value(&out[2], i).u.i, x * x * x * x);
    }
    ax_arena_destroy(a);
}

/* v * 10^30 > 10^35 by the engine where it fits 38 digits, else by the host: few rows are found one
 * by one, many take the whole batch with them. */
static void host_where_digits_end(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_type t8 = ax_type_make(AX_T_INT8);
    ax_value big = {.type = ax_type_make(AX_T_NUMERIC)}, limit = big, v[200];
    ax_expr *c, *n, *k[2], *product, *fast, *exact, *e, *args[2];
    ax_prog *p;
    ax_eval *ev;
    ax_eval_result r;
    ax_vec col, out;

    (void) state;
    big.u.num.v = limit.u.num.v = 1;
    for (uint32_t i = 0; i < 35; i++)
    {
        big.u.num.v *= i < 30 ? 10 : 1;
        limit.u.num.v *= 10;
    }
    OK(ax_expr_col(&task, a, 0, t8, &c));
    OK(ax_expr_call(&task, a, AX_FN_TO_NUMERIC, &c, 1, &n));
    OK(ax_expr_const(&task, a, &big, &k[0]));
    OK(ax_expr_const(&task, a, &limit, &k[1]));
    args[0] = n;
    args[1] = k[0];
    assert_int_equal(ax_expr_call(&task, a, AX_FN_MUL, args, 2, &product), AX_EUNSUPPORTED);
    ax_error_clear(&task.err);
    OK(ax_expr_call_any(&task, a, AX_FN_MUL, args, 2, &product));
    assert_true(product->can_raise);
    args[0] = product;
    args[1] = k[1];
    OK(ax_expr_call(&task, a, AX_FN_GT, args, 2, &fast));
    OK(ax_expr_host(&task, a, 5, &c, 1, ax_type_make(AX_T_BOOL), &exact));
    OK(ax_expr_beyond(&task, a, fast, exact, &e));
    for (uint32_t every = 100; every != 0; every = every == 100 ? 2 : 0)
    {
        ax_batch b = {.nrows = 200, .nsel = 200, .ncols = 1, .col = &col, .arena = a};
        uint32_t asked = 0;

        OK(ax_prog_compile(&task, a, &e, 1, NULL, &p));
        OK(ax_eval_create(&task, a, p, &ev));
        for (uint32_t i = 0; i < 200; i++)
        {
            v[i] = (ax_value){.type = t8, .u.i = (int64_t) i * 1000, .null = i % 50 == 3};
            if (i % every == 1)
                v[i].u.i = INT64_C(1000000000000) + i; /* more than 38 digits */
        }
        col = flat_of(a, v, 200, t8);
        for (OK(ax_eval_run(&task, ev, &b, &out, &r)); r.need != NULL;
             OK(ax_eval_run(&task, ev, &b, &out, &r)))
        {
            ax_value *yes = ax_arena_alloc0(task.arena, sizeof(*yes) * r.need->nrows);

            asked += r.need->nrows;
            for (uint32_t i = 0; i < r.need->nrows; i++)
            {
                ax_value x = ax_vec_value(&r.need->arg[0], i);

                yes[i] = (ax_value){.type = ax_type_make(AX_T_BOOL), .null = x.null,
                                    .u.i = x.u.i > 100000};
            }
            OK(ax_host_reply(&task, r.need, yes, NULL));
        }
        assert_int_equal(asked, every == 100 ? 2 : 197); /* four nulls are one input */
        for (uint32_t i = 0; i < 200; i++)
        {
            ax_value x = ax_vec_value(&out, i);

            assert_int_equal(x.null, v[i].null);
            assert_true(x.null || (x.u.i != 0) == (v[i].u.i > 100000));
        }
    }
    ax_arena_destroy(a);
}

/* A million inputs with answers of 400 bytes: the memo stays small, every batch is finished, and
 * strings hold until the next run, also when what they come from was forgotten meanwhile. */
static void memo_forgets(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_type t4 = ax_type_make(AX_T_INT4);
    ax_expr *c, *h;
    int32_t *d = ax_arena_values(a, 4 * (1000 + 64));
    ax_vec col = {.kind = AX_VK_FLAT, .type = t4, .n = 1000, .u.data = d}, out, other;
    ax_batch b = {.nrows = 1000, .nsel = 1000, .ncols = 1, .col = &col, .arena = a};
    ax_prog *p;
    ax_eval *ev, *slow;
    ax_eval_result r;
    int64_t before = atomic_load(&budget.used_bytes);
    uint32_t asked_zero = 0;

    (void) state;
    OK(ax_expr_col(&task, a, 0, t4, &c));
    OK(ax_expr_host(&task, a, 3, &c, 1, ax_type_make(AX_T_TEXT), &h));
    OK(ax_prog_compile(&task, a, &h, 1, NULL, &p));
    OK(ax_eval_create(&task, a, p, &ev));
    OK(ax_eval_create(&task, a, p, &slow));
    for (uint32_t batch = 0; batch < 1000; batch++)
    {
        ax_eval *e = batch == 0 ? slow : ev; /* the first evaluator does not go on */
        ax_vec *o = batch == 0 ? &other : &out;
        uint32_t rounds = 0;

        for (uint32_t i = 0; i < 1000; i++)
            d[i] = i == 0 ? 0 : (int32_t) (batch * 1000 + i); /* 0 is in every batch */
        for (OK(ax_eval_run(&task, e, &b, o, &r)); r.need != NULL;
             OK(ax_eval_run(&task, e, &b, o, &r)))
        {
            ax_value *v = ax_arena_alloc0(task.arena, sizeof(*v) * r.need->nrows);
            char *text = ax_arena_alloc(task.arena, 400 * r.need->nrows);

            rounds++;
            for (uint32_t i = 0; i < r.need->nrows; i++)
            {
                int64_t x = ax_vec_value(&r.need->arg[0], i).u.i;

                asked_zero += x == 0;
                memset(text + 400 * i, 'a' + (int) (x % 26), 400);
                v[i].type = ax_type_make(AX_T_TEXT);
                v[i].u.s.p = (const uint8_t *) text + 400 * i;
                v[i].u.s.len = 400;
            }
            OK(ax_host_reply(&task, r.need, v, NULL));
        }
        assert_int_equal(rounds, 1);
        for (uint32_t i = 0; i < 1000; i++)
        {
            ax_value x = ax_vec_value(o, i), first = ax_vec_value(&other, i);

            assert_int_equal(x.u.s.len, 400);
            assert_int_equal(x.u.s.p[399], 'a' + d[i] % 26);
            assert_int_equal(first.u.s.p[0], 'a' + (int) i % 26);
        }
        ax_arena_reset(task.arena);
        assert_true(atomic_load(&budget.used_bytes) - before < 40 << 20);
    }
    assert_true(asked_zero > 1 && asked_zero < 60);
    ax_arena_destroy(a);
}

/* Lanes share one program; the host is whoever is there. */
typedef struct lane
{
    pthread_t thread;
    const ax_prog *p;
    ax_filter *f;
    uint32_t seed;
} lane;

static void *lane_main(void *arg)
{
    lane *me = arg;
    ax_task t;
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_eval *ev;
    ax_filter_lane *fl;
    uint32_t x = me->seed;

    OK(ax_task_init(&t, &budget, NULL));
    OK(ax_eval_create(&t, a, me->p, &ev));
    OK(ax_filter_lane_create(&t, a, me->f, &fl));
    for (uint32_t round = 0; round < 60; round++)
    {
        int32_t *d = ax_arena_values(t.arena, 4 * 264);
        ax_vec col = {.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_INT4), .n = 200, .u.data = d};
        ax_batch b = {.nrows = 200, .nsel = 200, .ncols = 1, .col = &col, .arena = t.arena};
        ax_value bound = i4(200 - round), shared = i4(250);
        ax_vec out;
        ax_eval_result r;

        for (uint32_t i = 0; i < 200; i++)
            d[i] = (int32_t) ((x = x * 1664525 + 1013904223) >> 20) % 300;
        do
        {
            OK(ax_eval_run(&t, ev, &b, &out, &r));
            if (r.need != NULL)
                host_answer(&t, r.need);
        } while (r.need != NULL);
        for (uint32_t i = 0; i < 200; i++)
        {
            ax_value v = ax_vec_value(&out, i);

            assert_int_equal(v.null, d[i] == 0);
            assert_true(v.null || v.u.i == (int64_t) d[i] * d[i]);
        }
        /* A slot of its own, since lanes are not in step and a bound must not rise; and a shared
         * one, that all write. */
        OK(ax_filter_tighten(&t, me->f, me->seed, 0, AX_FN_LT, &bound, false));
        OK(ax_filter_tighten(&t, me->f, 0, 0, AX_FN_LT, &shared, false));
        OK(ax_filter_live(&t, fl, &b));
        for (uint32_t i = 0; i < b.nsel; i++)
            assert_true(d[row_of(&b, i)] < 200 - (int32_t) round);
        ax_arena_reset(t.arena);
    }
    ax_task_fini(&t);
    ax_arena_destroy(a);
    return NULL;
}

static void test_lanes(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    lane lanes[6];
    ax_expr *c, *h;
    ax_prog *p;
    ax_filter *f;

    (void) state;
    OK(ax_expr_col(&task, a, 0, ax_type_make(AX_T_INT4), &c));
    OK(ax_expr_host(&task, a, 1, &c, 1, ax_type_make(AX_T_INT4), &h));
    OK(ax_prog_compile(&task, a, &h, 1, NULL, &p));
    OK(ax_filter_create(&task, a, NULL, 0, NULL, &f));
    for (uint32_t i = 0; i < 6; i++)
    {
        lanes[i] = (lane){.p = p, .f = f, .seed = i + 1};
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]), 0);
    }
    for (uint32_t i = 0; i < 6; i++)
        pthread_join(lanes[i].thread, NULL);
    ax_arena_destroy(a);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* What looks at characters, and what at bytes alone. */
static void reads_text(void **state)
{
    static const struct { ax_fn fn; const char *konst; bool reads; } cases[] = {
        {AX_FN_EQ, "x", false}, {AX_FN_LT, "x", false}, {AX_FN_LIKE, "%x%", false},
        {AX_FN_NOT_LIKE, "a%x%b", false}, {AX_FN_LIKE, "x_", true}, {AX_FN_STARTS_WITH, "x", false},
        {AX_FN_DISTINCT, "x", false},
    };
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_expr *args[2], *e;
    ax_filter *f;

    (void) state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        ax_value v = {.type = ax_type_make(AX_T_TEXT),
                      .u.s = {(const uint8_t *) cases[i].konst,
                              (uint32_t) strlen(cases[i].konst)}};

        OK(ax_expr_col(&task, a, 3, v.type, &args[0]));
        OK(ax_expr_const(&task, a, &v, &args[1]));
        OK(ax_expr_call(&task, a, cases[i].fn, args, 2, &e));
        OK(ax_filter_create(&task, a, &e, 1, NULL, &f));
        assert_int_equal(ax_filter_step_reads_text(f, 0, 3), cases[i].reads);
        assert_false(ax_filter_step_reads_text(f, 0, 2));
        OK(ax_expr_call(&task, a, AX_FN_LOWER, args, 1, &args[0])); /* bytes of a text function */
        OK(ax_expr_call(&task, a, cases[i].fn, args, 2, &e));
        OK(ax_filter_create(&task, a, &e, 1, NULL, &f));
        assert_true(ax_filter_step_reads_text(f, 0, 3));
    }
    ax_arena_destroy(a);
}

static void test_order_adapts(void **state)
{
    ax_arena *a = ax_arena_create(&budget, 0);
    ax_type t4 = ax_type_make(AX_T_INT4), ts = ax_type_make(AX_T_TEXT);
    ax_value v[200], w[200], k = i4(3), none = i4(1000);
    ax_expr *c0, *c1, *pat, *e[3], *kc, *nc;
    ax_value p = {.type = ts};
    ax_vec col[2];
    ax_filter *f;
    ax_filter_lane *l;
    const uint32_t *order;

    (void) state;
    for (uint32_t i = 0; i < 200; i++)
    {
        v[i] = i4(i % 100);
        w[i] = random_value(AX_T_TEXT);
    }
    col[0] = flat_of(a, v, 200, t4);
    col[1] = flat_of(a, w, 200, ts);
    p.u.s.p = (const uint8_t *) "%g_o%e%";
    p.u.s.len = 7;
    OK(ax_expr_col(&task, a, 0, t4, &c0));
    OK(ax_expr_col(&task, a, 1, ts, &c1));
    OK(ax_expr_const(&task, a, &p, &pat));
    OK(ax_expr_const(&task, a, &k, &kc));
    OK(ax_expr_const(&task, a, &none, &nc));
    e[0] = call(a, AX_FN_LIKE, c1, pat);
    e[1] = call(a, AX_FN_LT, c0, nc); /* passes all */
    e[2] = call(a, AX_FN_LT, c0, kc); /* passes 3 % */
    OK(ax_filter_create(&task, a, e, 3, NULL, &f));
    OK(ax_filter_lane_create(&task, a, f, &l));
    order = ax_filter_lane_order(l);
    assert_int_not_equal(order[0], 0); /* the dear one is not first to begin with */
    for (uint32_t batch = 0; batch < 200; batch++)
    {
        ax_batch b = {.nrows = 200, .nsel = 200, .ncols = 2, .col = col, .arena = a};
        ax_eval_result r;

        order = ax_filter_lane_order(l);
        for (uint32_t i = 0; i < 3; i++)
            OK(ax_filter_step(&task, l, order[i], &b, &r));
    }
    assert_int_equal(order[0], 2);
    ax_arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),        cmocka_unit_test(test_match_cases),
        cmocka_unit_test(test_match_sound),  cmocka_unit_test(test_live),
        cmocka_unit_test(test_host),         cmocka_unit_test(memo_forgets),
        cmocka_unit_test(test_lanes),        cmocka_unit_test(reads_text),
        cmocka_unit_test(test_order_adapts),
        cmocka_unit_test(host_where_digits_end),
        cmocka_unit_test(independent_functions_are_asked_for_at_once),
        cmocka_unit_test(test_match_text),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
