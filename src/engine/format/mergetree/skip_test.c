/* Skip indexes: which of a definition's are found, shapes of filters, and what filters tell.  Their
 * bytes are tested by the MergeTree corpus and by test/diff. */
#include "format/mergetree/skip_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct fixture { ax_budget budget; ax_task t; ax_mt_part p; } fixture;

static int setup(void **state)
{
    static fixture f;

    memset(&f, 0, sizeof f);
    ax_budget_init(&f.budget, "test", 64 << 20, NULL);
    assert_int_equal(ax_task_init(&f.t, &f.budget, NULL), AX_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = (fixture *) *state;

    ax_task_fini(&f->t);
    assert_int_equal(atomic_load(&f->budget.used_bytes), 0);
    return 0;
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Find indexes in a part of two columns, `u` UInt32 and `s` String, and five granules. */
static ax_mt_part *find(fixture *f, const char *options, const char *const *files, uint32_t n)
{
    static ax_mt_column column[2];
    static ax_mt_member member[16];

    column[0] = (ax_mt_column){.name = "u"};
    column[1] = (ax_mt_column){.name = "s"};
    assert_int_equal(ax_mt_type_parse(&f->t, f->t.arena, "UInt32", 6, &column[0].type), AX_OK);
    assert_int_equal(ax_mt_type_parse(&f->t, f->t.arena, "String", 6, &column[1].type), AX_OK);
    for (uint32_t i = 0; i < n; i++)
        member[i] = (ax_mt_member){.name = files[i], .path = files[i], .size = 100};
    f->p = (ax_mt_part){.options = options, .marks_ext = ".cmrk2", .ngran = 5, .member = member,
                        .nmembers = n, .column = column, .ncolumns = 2};
    f->p.base.arena = f->t.arena;
    assert_int_equal(ax_mt_skips_find(&f->t, &f->p), AX_OK);
    return &f->p;
}

static void definitions_are_read(void **state)
{
    static const char *const files[] = {"skp_idx_a%20b.cmrk2", "skp_idx_a%20b.idx",
                                        "skp_idx_i1.cmrk2", "skp_idx_i1.idx2"};
    ax_mt_part *p = find((fixture *) *state,
                         "engine=MergeTree\n"
                         "index=i1 (u, s) TYPE minmax GRANULARITY 4\n"
                         "index=`a b` s TYPE ngrambf_v1(3, 256, 2, 7) GRANULARITY 1\n",
                         files, 4);

    assert_int_equal(p->nskips, 2);
    assert_string_equal(p->skip[0].name, "i1");
    assert_int_equal(p->skip[0].kind, MT_S_MINMAX);
    assert_int_equal(p->skip[0].granularity, 4);
    assert_int_equal(p->skip[0].ncols, 2);
    assert_int_equal(p->skip[0].col[1].column, 1);
    assert_false(p->skip[0].old);
    assert_string_equal(p->skip[1].name, "a b");
    assert_int_equal(p->skip[1].kind, MT_S_NGRAMS);
    assert_int_equal(p->skip[1].gram, 3);
    assert_int_equal(p->skip[1].bytes, 256);
    assert_int_equal(p->skip[1].hashes, 2);
    assert_int_equal(p->skip[1].seed, 7);
}

static void indexes_that_are_not_understood_are_left_out(void **state)
{
    static const char *const files[] = {"skp_idx_i.cmrk2", "skp_idx_i.idx", "skp_idx_i.idx2"};
    static const char *const lines[] = {
        "index=i s TYPE text(tokenizer = 'ngrams') GRANULARITY 1",
        "index=i u + 1 TYPE minmax GRANULARITY 1", "index=i u + 1 TYPE set(5) GRANULARITY 1",
        "index=i TYPE minmax GRANULARITY 1", "index=i u TYPE minmax GRANULARITY 0",
        "index=i u", "index=", "index=i s TYPE tokenbf_v1(0, 1, 2)",
        "index=i s TYPE ngrambf_v1(99999, 1, 2, 3)", "index=i s TYPE tokenbf_v1(1, 2",
        "index=j u TYPE minmax GRANULARITY 1",
        "mutation=DROP INDEX i\nindex=i u TYPE minmax GRANULARITY 1"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_int_equal(find((fixture *) *state, lines[i], files, 3)->nskips, 0);
    /* A filter over something that is not known may stand beside one that is. */
    assert_int_equal(find((fixture *) *state, "index=i (lower(s), f(u), s) TYPE bloom_filter",
                          files, 3)->nskips, 1);
}

static void implicit_indexes_are_found_by_name(void **state)
{
    static const char *const files[] = {"skp_idx_auto_minmax_index_u.cmrk2",
                                        "skp_idx_auto_minmax_index_u.idx2"};
    ax_mt_part *p = find((fixture *) *state, NULL, files, 2);

    assert_int_equal(p->nskips, 1);
    assert_int_equal(p->skip[0].col[0].column, 0);
}

/* ---- filters --------------------------------------------------------------------------------- */

static void shapes_follow_from_probabilities(void **state)
{
    uint32_t b, k;

    (void) state;
    ax_mt_bloom_shape(0.025, &b, &k);
    assert_int_equal(b, 8);
    assert_int_equal(k, 4);
    ax_mt_bloom_shape(0.01, &b, &k);
    assert_int_equal(b, 10);
    assert_int_equal(k, 5);
    ax_mt_bloom_shape(0, &b, &k);
    assert_int_equal(b, 19);
    assert_int_equal(k, 13);
}

static void a_missing_bit_excludes_the_value(void **state)
{
    ax_mt_type ty = {.id = MT_UINT, .width = 4, .text = "UInt32"};
    ax_mt_conv c = {.src = &ty, .type = ax_type_make(AX_T_INT8), .kind = MT_C_INT};
    ax_value v = {.type = c.type, .u.i = 3330}, beyond = {.type = c.type, .u.i = 1ll << 32};
    uint8_t bits[64];
    uint64_t hash;
    bool none;

    (void) state;
    memset(bits, 0xff, sizeof bits);
    assert_true(ax_mt_bloom_hash(&c, &v, &hash, &none));
    assert_false(none);
    assert_true(ax_mt_bloom_may(bits, sizeof bits, 4, hash));
    memset(bits, 0, sizeof bits);
    assert_false(ax_mt_bloom_may(bits, sizeof bits, 4, hash));
    assert_true(ax_mt_bloom_hash(&c, &beyond, &hash, &none));
    assert_true(none);
}

static void values_of_several_forms_have_no_hash(void **state)
{
    ax_mt_type f64 = {.id = MT_FLOAT, .width = 8, .text = "Float64"};
    ax_mt_type f32 = {.id = MT_FLOAT, .width = 4, .text = "Float32"};
    ax_mt_conv c = {.src = &f64, .type = ax_type_make(AX_T_FLOAT8), .kind = MT_C_COPY};
    ax_mt_conv narrow = {.src = &f32, .type = c.type, .kind = MT_C_F32_F64};
    ax_value v = {.type = c.type, .u.f = -0.0};
    uint64_t hash;
    bool none;

    (void) state;
    assert_false(ax_mt_bloom_hash(&c, &v, &hash, &none));
    v.u.f = __builtin_nan("");
    assert_false(ax_mt_bloom_hash(&c, &v, &hash, &none));
    v.u.f = 0.5;
    assert_true(ax_mt_bloom_hash(&c, &v, &hash, &none));
    v.u.f = 0.1; /* no float */
    assert_true(ax_mt_bloom_hash(&narrow, &v, &hash, &none));
    assert_true(none);
}

static bool may(const ax_mt_skip *x, const char *s, bool first, bool last)
{
    static const uint8_t empty[8];

    return ax_mt_words_may(x, empty, (const uint8_t *) s, (uint32_t) strlen(s), first, last);
}

/* In an empty filter everything is excluded that is looked up at all. */
static void only_whole_words_are_looked_up(void **state)
{
    const ax_mt_skip tokens = {.kind = MT_S_TOKENS, .bytes = 8, .hashes = 2};
    const ax_mt_skip grams = {.kind = MT_S_NGRAMS, .bytes = 8, .hashes = 2, .gram = 3};

    (void) state;
    assert_true(may(&tokens, "word", false, false));
    assert_true(may(&tokens, "word", true, false));
    assert_false(may(&tokens, "word", true, true));
    assert_false(may(&tokens, "word ", true, false));
    assert_false(may(&tokens, ".word", false, true));
    assert_false(may(&tokens, "a word b", false, false));
    assert_true(may(&tokens, "a b", false, false));
    assert_true(may(&tokens, "", true, true));
    assert_true(may(&tokens, "%,;", true, true));
    assert_true(may(&grams, "ab", true, true));
    assert_false(may(&grams, "abc", false, false));
    assert_true(may(&grams, "\xc3\xa4\xc3\xb6", false, false));        /* two code points */
    assert_false(may(&grams, "\xc3\xa4\xc3\xb6\xc3\xbc", false, false));
    assert_true(may(&grams, "ab\xf0", false, false));                  /* cut off */
}

static bool key_may(uint8_t fn, const ax_mt_type *ty, ax_value v, uint64_t lo, uint64_t hi)
{
    ax_mt_keycol k = {.fn = fn};
    ax_mt_conv c = {.src = ty, .type = v.type,
                    .kind = ty->id == MT_STRING ? MT_C_STR : MT_C_INT};
    uint32_t n = fn == MT_K_INT32 ? 4 : 8;
    ax_mt_value a = {(const uint8_t *) &lo, n, false}, b = {(const uint8_t *) &hi, n, false};

    return ax_mt_key_may(&k, &c, &v, &a, &b);
}

/* cityHash64('abc') is the format's own vector; intHash64(x) is cityHash64(x). */
static void functions_in_keys_tell_where_a_value_is(void **state)
{
    ax_mt_type str = {.id = MT_STRING, .text = "String"};
    ax_mt_type num = {.id = MT_UINT, .width = 8, .text = "UInt64"};
    ax_mt_type narrow = {.id = MT_INT, .width = 4, .text = "Int32"};
    ax_value abc = {.type = ax_type_make(AX_T_TEXT), .u.s = {(const uint8_t *) "abc", 3}};
    ax_value one = {.type = ax_type_make(AX_T_INT8), .u.i = 1};
    ax_mt_keycol lower = {.fn = MT_K_LOWER};
    ax_mt_conv c = {.src = &str, .type = abc.type, .kind = MT_C_STR};
    ax_mt_value b = {(const uint8_t *) "b", 1, false}, null = {NULL, 0, true};
    const uint64_t city = 4220206313085259313u;

    (void) state;
    assert_true(key_may(MT_K_CITY64, &str, abc, city, city));
    assert_false(key_may(MT_K_CITY64, &str, abc, city + 1, UINT64_MAX));
    assert_false(key_may(MT_K_CITY64, &str, abc, 0, city - 1));
    assert_int_equal(key_may(MT_K_CITY64, &num, one, 0, UINT64_MAX / 2),
                     key_may(MT_K_INT64, &num, one, 0, UINT64_MAX / 2));
    assert_true(key_may(MT_K_INT32, &num, one, 0, UINT32_MAX));
    assert_true(key_may(MT_K_INT32, &narrow, one, 7, 7)); /* its widening is not known */
    assert_true(key_may(MT_K_OTHER, &num, one, 7, 7));
    abc.u.s.p = (const uint8_t *) "ABC";
    assert_true(ax_mt_key_may(&lower, &c, &abc, NULL, &b));
    assert_false(ax_mt_key_may(&lower, &c, &abc, &b, NULL));
    assert_true(ax_mt_key_may(&lower, &c, &abc, &b, &null));
}

static void remainders_and_labels_tell_where_a_value_is(void **state)
{
    static const ax_mt_label labels[] = {{-2, 1, "z"}, {5, 1, "a"}};
    ax_mt_type num = {.id = MT_UINT, .width = 8, .text = "UInt64"};
    ax_mt_type negative = {.id = MT_INT, .width = 8, .text = "Int64"};
    ax_mt_type word = {.id = MT_ENUM, .width = 1, .nlabel = 2, .label = labels, .text = "Enum8"};
    ax_mt_keycol rest = {.fn = MT_K_MODULO, .by = 4}, label = {.fn = MT_K_COLUMN};
    ax_mt_conv c = {.src = &num, .type = ax_type_make(AX_T_INT8), .kind = MT_C_INT};
    ax_mt_conv e = {.src = &word, .type = ax_type_make(AX_T_TEXT), .kind = MT_C_ENUM};
    ax_value seven = {.type = c.type, .u.i = 7};
    ax_value z = {.type = e.type, .u.s = {(const uint8_t *) "z", 1}}, q = z;
    const uint8_t two = 2, three = 3, minus = 0xfe, zero = 0;
    ax_mt_value v2 = {&two, 1, false}, v3 = {&three, 1, false}, null = {NULL, 0, true};
    ax_mt_value m2 = {&minus, 1, false}, v0 = {&zero, 1, false};

    (void) state;
    assert_true(ax_mt_key_may(&rest, &c, &seven, &v3, &v3));
    assert_false(ax_mt_key_may(&rest, &c, &seven, &v2, &v2));
    c.src = &negative;
    assert_true(ax_mt_key_may(&rest, &c, &seven, &v2, &v2)); /* not known of signed ones */
    q.u.s.p = (const uint8_t *) "q";
    assert_true(ax_mt_key_may(&label, &e, &z, &m2, &v0));
    assert_false(ax_mt_key_may(&label, &e, &z, &v0, NULL));
    assert_true(ax_mt_key_may(&label, &e, &z, &null, NULL));
    assert_false(ax_mt_key_may(&label, &e, &q, &m2, NULL)); /* no row has it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(definitions_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(indexes_that_are_not_understood_are_left_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(implicit_indexes_are_found_by_name, setup, teardown),
        cmocka_unit_test(shapes_follow_from_probabilities),
        cmocka_unit_test(a_missing_bit_excludes_the_value),
        cmocka_unit_test(values_of_several_forms_have_no_hash),
        cmocka_unit_test(only_whole_words_are_looked_up),
        cmocka_unit_test(functions_in_keys_tell_where_a_value_is),
        cmocka_unit_test(remainders_and_labels_tell_where_a_value_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
