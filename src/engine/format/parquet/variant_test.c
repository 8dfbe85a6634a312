/* Encoded variants: every type, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_int.h"

#include <stdlib.h>

static ax_budget budget;
static ax_task task;

/* Names a, b, c. */
static const uint8_t abc[] = {0x01, 3, 0, 1, 2, 3, 'a', 'b', 'c'};

static int set_up(void **state)
{
    (void) state;
    ax_budget_init(&budget, "test", 64 << 20, NULL);
    return ax_task_init(&task, &budget, NULL) != AX_OK;
}

static int tear_down(void **state)
{
    (void) state;
    ax_task_fini(&task);
    return atomic_load(&budget.used_bytes) != 0;
}

static ax_status decode(const uint8_t *p, size_t n, ax_pq_js *w)
{
    ax_pq_vmeta m;
    uint8_t *copy = malloc(n > 0 ? n : 1);
    ax_status st;

    *w = (ax_pq_js){.t = &task, .a = task.arena};
    ax_error_clear(&task.err);
    memcpy(copy, p, n); /* so that a sanitizer sees reads behind the end */
    st = ax_pq_variant_meta(&task, abc, sizeof abc, &m);
    if (st == AX_OK)
        st = ax_pq_variant_value(w, &m, copy, n);
    free(copy);
    return st;
}

static void expect(const char *text, const uint8_t *p, size_t n)
{
    ax_pq_js w;
    size_t i;

    if (decode(p, n, &w) != AX_OK)
        fail_msg("%s: %s", text, task.err.msg);
    assert_int_equal(w.n, strlen(text));
    assert_memory_equal(w.p, text, w.n);
    for (i = 0; i < n; i++) /* cut off anywhere it is refused */
        assert_int_not_equal(decode(p, i, &w), AX_OK);
}

#define EXPECT(text, ...) \
    expect(text, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void refuse(ax_status want, const uint8_t *p, size_t n)
{
    ax_pq_js w;

    assert_int_equal(decode(p, n, &w), want);
}

#define REFUSE(code, ...) \
    refuse(code, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#define TYPE(id) ((id) << 2)

static void scalars_are_the_servers_json(void **state)
{
    (void) state;
    EXPECT("null", TYPE(0));
    EXPECT("true", TYPE(1));
    EXPECT("false", TYPE(2));
    EXPECT("-2", TYPE(3), 0xfe);
    EXPECT("-32768", TYPE(4), 0x00, 0x80);
    EXPECT("65536", TYPE(5), 0, 0, 1, 0);
    EXPECT("-9223372036854775808", TYPE(6), 0, 0, 0, 0, 0, 0, 0, 0x80);
    EXPECT("1.5", TYPE(7), 0, 0, 0, 0, 0, 0, 0xf8, 0x3f);
    EXPECT("\"NaN\"", TYPE(7), 0, 0, 0, 0, 0, 0, 0xf8, 0x7f);
    EXPECT("\"-Infinity\"", TYPE(14), 0, 0, 0x80, 0xff);
    EXPECT("0.1", TYPE(14), 0xcd, 0xcc, 0xcc, 0x3d);
    EXPECT("-0.01", TYPE(8), 2, 0xff, 0xff, 0xff, 0xff);
    EXPECT("12.50", TYPE(9), 2, 0xe2, 0x04, 0, 0, 0, 0, 0, 0);
    EXPECT("-170141183460469231731687303715884105728", TYPE(10), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           0, 0, 0, 0, 0x80);
    EXPECT("\"AP8=\"", TYPE(15), 2, 0, 0, 0, 0x00, 0xff);
    EXPECT("\"\"", TYPE(15), 0, 0, 0, 0);
    EXPECT("\"x\\n\"", TYPE(16), 2, 0, 0, 0, 'x', '\n');
    EXPECT("\"hi\"", 2 << 2 | 1, 'h', 'i');
    EXPECT("\"00112233-4455-6677-8899-aabbccddeeff\"", TYPE(20), 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
           0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff);
}

static void times_are_iso_8601(void **state)
{
    (void) state;
    EXPECT("\"1970-01-01\"", TYPE(11), 0, 0, 0, 0);
    EXPECT("\"1969-12-31\"", TYPE(11), 0xff, 0xff, 0xff, 0xff);
    EXPECT("\"1970-01-01T00:00:01+00:00\"", TYPE(12), 0x40, 0x42, 0x0f, 0, 0, 0, 0, 0);
    EXPECT("\"1969-12-31T23:59:59.999999\"", TYPE(13), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
           0xff);
    EXPECT("\"1969-12-31T23:59:59.999999999+00:00\"", TYPE(18), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
           0xff, 0xff);
    EXPECT("\"1970-01-01T00:00:00.0000001\"", TYPE(19), 100, 0, 0, 0, 0, 0, 0, 0);
    EXPECT("\"00:00:01.5\"", TYPE(17), 0x60, 0xe3, 0x16, 0, 0, 0, 0, 0);
}

static void objects_and_arrays_nest(void **state)
{
    (void) state;
    EXPECT("[]", 3, 0, 0);
    EXPECT("{}", 2, 0, 0);
    EXPECT("[1,[true]]", 3, 2, 0, 2, 7, TYPE(3), 1, 3, 1, 0, 1, TYPE(1));
    /* values in another order than their names */
    EXPECT("{\"a\":1,\"c\":2}", 2, 2, 0, 2, 2, 0, 4, TYPE(3), 2, TYPE(3), 1);
    /* names in another order than that of their bytes */
    EXPECT("{\"b\":1,\"a\":2}", 2, 2, 1, 0, 0, 2, 4, TYPE(3), 1, TYPE(3), 2);
    /* large counts, wide ids and offsets */
    EXPECT("{\"b\":null}", 2 | 0x15 << 2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, TYPE(0));
}

static void damage_is_refused(void **state)
{
    (void) state;
    REFUSE(AX_EUNSUPPORTED, TYPE(21));
    REFUSE(AX_ECORRUPT, TYPE(8), 39, 0, 0, 0, 0);              /* scale */
    REFUSE(AX_ETEXT, 1 << 2 | 1, 0);                           /* NUL */
    REFUSE(AX_ETEXT, 1 << 2 | 1, 0xff);                        /* not UTF-8 */
    REFUSE(AX_ECORRUPT, TYPE(16), 0xff, 0xff, 0xff, 0xff);     /* length */
    REFUSE(AX_ECORRUPT, 2, 1, 3, 0, 1, TYPE(0));               /* id 3 of 3 */
    REFUSE(AX_ECORRUPT, 2, 2, 0, 0, 0, 1, 2, TYPE(0), TYPE(0)); /* a twice */
    REFUSE(AX_ECORRUPT, 2, 3, 1, 0, 1, 0, 1, 2, 3, 0, 0, 0);   /* b twice, not side by side */
    REFUSE(AX_ECORRUPT, 3, 1, 1, 1, TYPE(0));                  /* offset at the end */
    REFUSE(AX_ECORRUPT, 3, 0xff, 0);
    REFUSE(AX_ECORRUPT, 3, 2, 0, 0, 4, 3, 0, 0, 0);            /* both at the same bytes */
    REFUSE(AX_EDATETIME, TYPE(17), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
}

static void nesting_is_limited(void **state)
{
    enum { DEPTH = 129, HEAD = 10 };
    static uint8_t deep[DEPTH * HEAD + 1];
    ax_pq_js w;
    uint32_t i;

    (void) state;
    for (i = 0; i < DEPTH; i++)
    {
        uint8_t *p = deep + (size_t) i * HEAD;
        uint32_t size = (uint32_t) (sizeof deep - (size_t) (i + 1) * HEAD);

        p[0] = 3 | 3 << 2; /* offsets of four bytes, count of one */
        p[1] = 1;
        memset(p + 2, 0, 4);
        memcpy(p + 6, &size, 4);
    }
    deep[DEPTH * HEAD] = TYPE(0);
    assert_int_equal(decode(deep, sizeof deep, &w), AX_ELIMIT);
    assert_int_equal(decode(deep + HEAD, sizeof deep - HEAD, &w), AX_OK);
}

static void metadata_is_checked(void **state)
{
    static const struct { uint8_t p[6]; size_t n; ax_status want; } cases[] = {
        {{0}, 0, AX_ECORRUPT},
        {{0x02, 0, 0}, 3, AX_EUNSUPPORTED},       /* version */
        {{0x01}, 1, AX_ECORRUPT},
        {{0x01, 0, 0}, 3, AX_OK},
        {{0x01, 1, 0, 2, 'x'}, 5, AX_ECORRUPT},   /* beyond the end */
        {{0x01, 1, 1, 1, 'x'}, 5, AX_ECORRUPT},   /* does not begin at 0 */
        {{0x01, 2, 0, 1, 0, 'x'}, 6, AX_ECORRUPT}, /* goes back */
        {{0xc1, 0xff, 0xff, 0xff, 0xff}, 5, AX_ECORRUPT},
    };
    ax_pq_vmeta m;
    size_t i;

    (void) state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        ax_error_clear(&task.err);
        assert_int_equal(ax_pq_variant_meta(&task, cases[i].p, cases[i].n, &m), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars_are_the_servers_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_are_iso_8601, set_up, tear_down),
        cmocka_unit_test_setup_teardown(objects_and_arrays_nest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nesting_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(metadata_is_checked, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
