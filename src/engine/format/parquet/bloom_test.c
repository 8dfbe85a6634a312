/* Bloom filters: hash, header checks, probes; page indexes: what is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encode_test.h"

/* Values of xxHash's own specification and tests. */
static void hash_is_xxh64(void **state)
{
    const char *text = "Nobody inspects the spammish repetition";

    (void) state;
    assert_true(ax_pq_xxh64((const uint8_t *) "", 0) == 0xef46db3751d8e999ull);
    assert_true(ax_pq_xxh64((const uint8_t *) "a", 1) == 0xd24ec4f1a98c6e5bull);
    assert_true(ax_pq_xxh64((const uint8_t *) text, strlen(text)) == 0xfbcea83c8a378bf1ull);
}

/* A union with member `id`. */
static void e_member(enc *e, int field, int id)
{
    e_field(e, field, TH_STRUCT);
    e_field(e, id, TH_STRUCT);
    e_u8(e, 0);
    e_u8(e, 0);
}

static bool header_is_good(int32_t bytes, int algorithm, int hash, int compression, size_t cut)
{
    static enc e;
    uint32_t header, nbytes;
    bool good;

    e.n = 0;
    e_int(&e, 1, bytes);
    e_member(&e, 2, algorithm);
    e_member(&e, 3, hash);
    if (compression > 0)
        e_member(&e, 4, compression);
    e_u8(&e, 0);
    good = ax_pq_bloom_header(e.p, e.n - cut, &header, &nbytes);
    if (good)
    {
        assert_int_equal(header, e.n);
        assert_int_equal(nbytes, bytes);
    }
    return good;
}

static void other_headers_are_refused(void **state)
{
    (void) state;
    assert_true(header_is_good(1024, 1, 1, 1, 0));
    assert_false(header_is_good(1024, 2, 1, 1, 0));
    assert_false(header_is_good(1024, 1, 2, 1, 0));
    assert_false(header_is_good(1024, 1, 1, 2, 0));
    assert_false(header_is_good(1024, 1, 1, 0, 0));
    assert_false(header_is_good(0, 1, 1, 1, 0));
    assert_false(header_is_good(-32, 1, 1, 1, 0));
    assert_false(header_is_good(1000, 1, 1, 1, 0));
    assert_false(header_is_good(PQ_BLOOM_MAX + 32, 1, 1, 1, 0));
    for (size_t cut = 1; cut < 10; cut++)
        assert_false(header_is_good(1024, 1, 1, 1, cut));
}

static void blocks_stay_inside(void **state)
{
    (void) state;
    assert_int_equal(ax_pq_bloom_block(0, 32), 0);
    assert_int_equal(ax_pq_bloom_block(UINT64_MAX, 32), 0);
    assert_int_equal(ax_pq_bloom_block(UINT64_MAX, 96), 2);
    assert_int_equal(ax_pq_bloom_block(UINT64_MAX, PQ_BLOOM_MAX), PQ_BLOOM_MAX / 32 - 1);
}

static void a_bit_that_is_missing_tells(void **state)
{
    uint8_t block[32];
    uint64_t hash = ax_pq_xxh64((const uint8_t *) "a", 1);

    (void) state;
    memset(block, 0xff, sizeof block);
    assert_true(ax_pq_bloom_may(block, hash));
    for (int i = 0; i < 8; i++)
    {
        memset(block + 4 * i, 0, 4);
        assert_false(ax_pq_bloom_may(block, hash));
        memset(block + 4 * i, 0xff, 4);
    }
    memset(block, 0, sizeof block);
    assert_false(ax_pq_bloom_may(block, hash));
}

/* ---- offset indexes -------------------------------------------------------------------------- */

typedef struct loc { int64_t off, len, row; } loc;

/* Is the index of n pages of a chunk [100, 1000) with 50 rows one to rely on? */
static bool index_is_good(const loc *l, uint32_t n)
{
    static enc e;
    ax_budget budget;
    ax_arena *a;
    ax_pq_pages pages;
    bool good;

    e.n = 0;
    e_list(&e, 1, TH_STRUCT, n);
    for (uint32_t i = 0; i < n; i++)
    {
        e_int(&e, 1, l[i].off);
        e_int(&e, 2, l[i].len);
        e_int(&e, 3, l[i].row);
        e_u8(&e, 0);
    }
    e_u8(&e, 0);
    ax_budget_init(&budget, "test", 64 << 20, NULL);
    a = ax_arena_create(&budget, 0);
    good = ax_pq_offset_index(a, e.p, e.n, 100, 1000, 50, &pages);
    if (good)
    {
        assert_int_equal(pages.n, n);
        for (uint32_t row = 0; row < 50; row++)
        {
            uint32_t i = ax_pq_page_of(&pages, row);

            assert_true(pages.page[i].row <= row && row < ax_pq_page_end(&pages, i));
        }
    }
    assert_false(ax_pq_offset_index(a, e.p, e.n - 2, 100, 1000, 50, &pages));
    ax_arena_destroy(a);
    return good;
}

static void locations_are_checked(void **state)
{
    static const struct { bool good; uint32_t n; loc l[3]; } cases[] = {
        {true, 1, {{100, 900, 0}}},
        {true, 3, {{110, 90, 0}, {200, 300, 20}, {500, 500, 49}}},
        {false, 0, {{0, 0, 0}}},
        {false, 1, {{99, 10, 0}}},                                  /* in front of the chunk */
        {false, 1, {{100, 901, 0}}},                                /* behind it */
        {false, 1, {{INT64_MAX, 10, 0}}},
        {false, 1, {{-1, 10, 0}}},
        {false, 1, {{100, 0, 0}}},
        {false, 1, {{100, -1, 0}}},
        {false, 1, {{100, 10, 1}}},                                 /* not from row 0 */
        {false, 2, {{200, 10, 0}, {100, 10, 20}}},                  /* turned over */
        {false, 2, {{100, 50, 0}, {140, 50, 20}}},                  /* overlapping */
        {false, 3, {{100, 10, 0}, {200, 10, 20}, {300, 10, 20}}},   /* two pages of one row */
        {false, 3, {{100, 10, 0}, {200, 10, 20}, {300, 10, 10}}},
        {false, 2, {{100, 10, 0}, {200, 10, 50}}},                  /* behind the last row */
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (index_is_good(cases[i].l, cases[i].n) != cases[i].good)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_xxh64),
        cmocka_unit_test(other_headers_are_refused),
        cmocka_unit_test(blocks_stay_inside),
        cmocka_unit_test(a_bit_that_is_missing_tells),
        cmocka_unit_test(locations_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
