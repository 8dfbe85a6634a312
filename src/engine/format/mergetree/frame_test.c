/* Frames that a server wrote, and names of types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mergetree_int.h"

typedef struct fixture { ax_budget budget; ax_task t; ax_cdc *cdc; } fixture;

static int set_up(void **state)
{
    static fixture x;

    ax_budget_init(&x.budget, "test", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&x.t, &x.budget, NULL), AX_OK);
    assert_int_equal(ax_cdc_create(&x.t, x.t.arena, &x.cdc), AX_OK);
    *state = &x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = (fixture *) *state;

    ax_task_fini(&x->t);
    assert_int_equal(atomic_load(&x->budget.used_bytes), 0);
    return 0;
}

static size_t unhex(const char *s, uint8_t *out)
{
    size_t n = 0;

    for (; *s != '\0'; s++)
        if (*s != ' ')
        {
            unsigned v = (unsigned) (*s <= '9' ? *s - '0' : *s - 'a' + 10);

            out[n / 2] = (uint8_t) (n % 2 == 0 ? v << 4 : out[n / 2] | v);
            n++;
        }
    return n / 2;
}

/* Table (id UInt32, s String, n Nullable(UInt8)) with rows (1, 'a', 7), (2, 'ab', NULL),
 * (3, 'abc', 9), as ClickHouse 26.7 wrote it. */
static const struct { const char *file, *plain; } written[] = {
    {"a1c583a0eca35e24a0db4f20c6470c37 82 16000000 0c000000 c0010000000200000003000000",
     "010000000200000003000000"},
    {"e11bc1ad163c3499e2081995375f290c 82 1c000000 18000000"
     "22010001001202070090000300000000000000",
     "010000000000000002000000000000000300000000000000"},
    {"0fd03cd71a3b14c1bf23a4c6872cb9f8 82 10000000 06000000 60616162616263", "616162616263"},
    {"ad0f3b719adff1cf18652707d7ffd1b2 82 0d000000 03000000 30000100", "000100"},
    {"e0e39d857996c93500d2921025203141 82 0d000000 03000000 30070809", "070809"},
    {"b8857c35d901f3cb4d53993dc74d0ec6 90 1e000000 0c000000"
     "28b52ffd200c61000001000000 0300000003000000",
     "010000000300000003000000"},
};

static void of_a_server(void **state)
{
    fixture *x = (fixture *) *state;

    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
    {
        uint8_t file[128], plain[64];
        size_t n = unhex(written[i].file, file), want = unhex(written[i].plain, plain), got;
        const uint8_t *out;

        assert_int_equal(ax_mt_frames_all(&x->t, x->t.arena, x->cdc, file, n, &out, &got), AX_OK);
        assert_int_equal(got, want);
        assert_memory_equal(out, plain, want);
    }
}

/* Every bit counts: whichever is turned, the frame is refused or, behind an unchanged checksum of
 * its own, never was another one. */
static void turned_bits(void **state)
{
    fixture *x = (fixture *) *state;
    uint8_t file[128];
    size_t n = unhex(written[1].file, file), got;
    const uint8_t *out;

    for (size_t bit = 0; bit < n * 8; bit++)
    {
        file[bit / 8] ^= (uint8_t) (1u << bit % 8);
        assert_int_not_equal(
            ax_mt_frames_all(&x->t, x->t.arena, x->cdc, file, n, &out, &got), AX_OK);
        ax_error_clear(&x->t.err);
        file[bit / 8] ^= (uint8_t) (1u << bit % 8);
    }
    for (size_t k = 1; k < n; k++)
    {
        assert_int_not_equal(
            ax_mt_frames_all(&x->t, x->t.arena, x->cdc, file, k, &out, &got), AX_OK);
        ax_error_clear(&x->t.err);
    }
}

/* CODEC(Delta(4), NONE): two frames in one. */
static void chains(void **state)
{
    fixture *x = (fixture *) *state;
    static const uint32_t want[] = {5, 7, 4};
    uint8_t body[64], dst[64 + AX_PAD];
    ax_mt_frame f = {.body = body, .size = 12, .method = 0x91};

    f.nbody = (uint32_t) unhex("02 92 02"                 /* two codecs, Delta first */
                               "02 20000000 17000000"     /* NONE: 9 + 23 bytes */
                               "92 17000000 0c000000"     /* Delta: 9 + 14 bytes, 12 after */
                               "0400 05000000 02000000 fdffffff",
                               body);
    assert_int_equal(ax_mt_frame_decode(&x->t, x->cdc, &f, dst), AX_OK);
    assert_memory_equal(dst, want, sizeof want);
    body[1] = 0x93;
    assert_int_equal(ax_mt_frame_decode(&x->t, x->cdc, &f, dst), AX_ECORRUPT);
    ax_error_clear(&x->t.err);
}

static const ax_mt_type *parsed(fixture *x, const char *s)
{
    const ax_mt_type *ty = NULL;

    assert_int_equal(ax_mt_type_parse(&x->t, x->t.arena, s, strlen(s), &ty), AX_OK);
    return ty;
}

static void types(void **state)
{
    fixture *x = (fixture *) *state;
    static const char *const bad[] = {"", "Array(", "Array(UInt8", "Tuple(a)b", "Decimal(10)",
                                      "Enum8('a')", "UInt8 UInt8", "FixedString(0)",
                                      "Nullable(UInt8, UInt8)"};
    const ax_mt_type *ty = parsed(x, "Tuple(a Nullable(Decimal(10, 2)), `b c` Array(String))");

    assert_int_equal(ty->id, MT_TUPLE);
    assert_int_equal(ty->nchild, 2);
    assert_string_equal(ty->name[0], "a");
    assert_string_equal(ty->name[1], "b c");
    assert_int_equal(ty->child[0]->child[0]->width, 8);
    ty = parsed(x, "Enum8('x, \\'y' = 2, 'z' = -1)");
    assert_int_equal(ty->nlabel, 2);
    assert_int_equal(ty->label[0].code, -1);
    assert_string_equal(ty->label[1].name, "x, 'y");
    ty = parsed(x, "DateTime64(9, 'Europe/Berlin')");
    assert_int_equal(ty->scale, 9);
    assert_string_equal(ty->zone, "Europe/Berlin");
    assert_int_equal(parsed(x, "SimpleAggregateFunction(sum, UInt64)")->id, MT_UINT);
    assert_int_equal(parsed(x, "Point")->nchild, 2);
    assert_int_equal(parsed(x, "Hologram(3, 'x')")->id, MT_OTHER);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        assert_int_equal(ax_mt_type_parse(&x->t, x->t.arena, bad[i], strlen(bad[i]), &ty),
                         AX_ECORRUPT);
        ax_error_clear(&x->t.err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_server),
        cmocka_unit_test(turned_bits),
        cmocka_unit_test(chains),
        cmocka_unit_test(types),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
