/* Status, task context, bounded reader, hashes, processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/task.h"

#include <stdio.h>
#include <string.h>

/* ---- status and task ------------------------------------------------------------------------- */

static void status_list_is_complete(void **state)
{
    (void) state;
    for (int s = 0; s < AX_STATUS_CNT; s++)
    {
        assert_non_null(ax_status_name((ax_status) s));
        assert_non_null(ax_status_text((ax_status) s));
        assert_int_equal(strlen(ax_status_sqlstate((ax_status) s)), 5);
    }
    assert_string_equal(ax_status_name(AX_OK), "OK");
    assert_string_equal(ax_status_name(AX_ECORRUPT), "ECORRUPT");
    assert_string_equal(ax_status_sqlstate(AX_ENOMEM), "53200");
    assert_string_equal(ax_status_sqlstate((ax_status) 999), "XX000");
}

static void first_error_wins_and_place_is_filled_upwards(void **state)
{
    ax_budget b;
    ax_task t;
    char out[1200], tiny[10];
    uint32_t len;

    (void) state;
    ax_budget_init(&b, "query", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&t, &b, NULL), AX_OK);

    ax_note_file(&t, "too early");
    assert_int_equal(ax_fail(&t, AX_ECORRUPT, "bad page of %d bytes", 7), AX_ECORRUPT);
    assert_int_equal(ax_fail(&t, AX_EIO, "second"), AX_ECORRUPT);
    assert_int_equal(ax_fail_nomem(&t, 5), AX_ECORRUPT);
    ax_note_page(&t, 2, 4711);
    ax_note_page(&t, 3, 9);
    ax_note_column(&t, "c.d");
    ax_note_unit(&t, "row group", 3);
    ax_note_unit(&t, "part", 9);
    ax_note_file(&t, "x.parquet");
    ax_note_file(&t, "y.parquet");
    len = ax_error_format(&t.err, out, sizeof out);
    assert_int_equal(len, strlen(out));
    assert_string_equal(out, "bad page of 7 bytes (file \"x.parquet\", row group 3, "
                             "column \"c.d\", page 2, offset 4711)");
    assert_int_equal(ax_error_format(&t.err, tiny, sizeof tiny), 9);
    assert_string_equal(tiny, "bad page ");
    assert_int_equal(ax_error_format(&t.err, tiny, 1), 0);
    assert_string_equal(tiny, "");
    ax_error_clear(&t.err);
    assert_int_equal(t.err.code, AX_OK);
    ax_error_format(&t.err, out, sizeof out);
    assert_string_equal(out, "success");
    ax_task_fini(&t);
    assert_int_equal(atomic_load(&b.used_bytes), 0);
}

static void long_file_names_lose_their_front(void **state)
{
    ax_budget b;
    ax_task t;
    char name[1000];

    (void) state;
    ax_budget_init(&b, "query", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&t, &b, NULL), AX_OK);
    /* Two-byte characters: whatever is cut, no half of one may stay. */
    for (size_t i = 0; i + 1 < sizeof name; i += 2)
        memcpy(name + i, "\xc3\xa4", 2);
    strcpy(name + sizeof name - 11, "z.parquet");
    (void) ax_fail(&t, AX_EIO, "x");
    ax_note_file(&t, name);
    assert_true(strlen(t.err.place.file) < sizeof t.err.place.file);
    assert_memory_equal(t.err.place.file, "...\xc3\xa4", 5);
    assert_string_equal(t.err.place.file + strlen(t.err.place.file) - 9, "z.parquet");
    ax_task_fini(&t);
}

static void nomem_names_the_budget_that_is_full(void **state)
{
    ax_budget root, query;
    ax_task t;

    (void) state;
    ax_budget_init(&root, "process", 100000, NULL);
    ax_budget_init(&query, "query", 50000, &root);
    assert_int_equal(ax_task_init(&t, &query, NULL), AX_OK);
    assert_null(ax_arena_alloc(t.arena, 90000));
    assert_int_equal(ax_fail_nomem(&t, 90000), AX_ENOMEM);
    assert_non_null(strstr(t.err.detail, "\"query\""));
    assert_non_null(strstr(t.err.detail, "50000"));
    ax_task_fini(&t);
    ax_budget_init(&query, "query", 10, &root);
    assert_int_equal(ax_task_init(&t, &query, NULL), AX_ENOMEM);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void cursor_never_leaves_its_range(void **state)
{
    uint8_t b[] = {1, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9, 9};
    ax_cur c = ax_cur_make(b, sizeof b);

    (void) state;
    assert_int_equal(ax_cur_u8(&c), 1);
    assert_int_equal(ax_cur_u32(&c), 2);
    assert_int_equal(ax_cur_u64(&c), 3);
    assert_int_equal(ax_cur_off(&c), 13);
    assert_int_equal(ax_cur_left(&c), 2);
    assert_false(c.bad);
    assert_int_equal(ax_cur_u32(&c), 0);
    assert_true(c.bad);
    assert_int_equal(ax_cur_off(&c), 13);
    assert_int_equal(ax_cur_u8(&c), 0); /* sticky, although one byte would fit */
    c = ax_cur_make(b, sizeof b);
    assert_null(ax_cur_take(&c, UINT64_MAX));
    assert_true(c.bad);
    c = ax_cur_make(b, sizeof b);
    assert_ptr_equal(ax_cur_take(&c, sizeof b), b);
    assert_non_null(ax_cur_take(&c, 0));
    assert_false(c.bad);
}

static uint64_t varint_of(const char *bytes, size_t n, bool *bad)
{
    ax_cur c = ax_cur_make(bytes, n);
    uint64_t v = ax_cur_varint(&c);

    *bad = c.bad;
    return v;
}

static void varint_takes_64_bits_and_no_more(void **state)
{
    bool bad;

    (void) state;
    assert_int_equal(varint_of("\x00", 1, &bad), 0);
    assert_false(bad);
    assert_int_equal(varint_of("\xac\x02", 2, &bad), 300);
    assert_false(bad);
    assert_true(varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &bad) == UINT64_MAX);
    assert_false(bad);
    varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &bad);
    assert_true(bad);
    varint_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, &bad);
    assert_true(bad);
    varint_of("\x80", 1, &bad);
    assert_true(bad);
    varint_of("", 0, &bad);
    assert_true(bad);
}

/* ---- hash ------------------------------------------------------------------------------------ */

/* Frozen: files and spilled partitions may hold these values. */
static void hash_vectors(void **state)
{
    static const struct { uint32_t n; uint64_t h, lo, hi; } vec[] = {
        {0, 0xf6024f56a489f6b1ull, 0x915871353f9a44d3ull, 0x8c8a03716552ad76ull},
        {1, 0xee181a7363273e5cull, 0x730c2a5c6d834399ull, 0x5f79cd1b1a773d84ull},
        {2, 0xb35c7fddce15ec53ull, 0x9e6fa3bebbbcc712ull, 0x3b424bdd15cdb037ull},
        {3, 0x073c9cb761a76d3dull, 0x64cbb09f5d5b7d4aull, 0x7602f1abe06fe48dull},
        {4, 0x2119ace65a203cbdull, 0x058d511abf6285e5ull, 0xdd9ace94cb5bfd0bull},
        {7, 0x5d0bc4d77259355aull, 0x19c8ac258a1b59efull, 0x8d39d6b1dfcc99d1ull},
        {8, 0xe8c907b251c3efbbull, 0x8d6b124539a03b00ull, 0x0b0f324cd8e7c648ull},
        {9, 0x0f5a49cb8ccc5db5ull, 0x75e053b4a02cf24full, 0x9ae7935db1bf8150ull},
        {15, 0xd131e529e1b533dcull, 0x0364ffa74296555bull, 0xad5e8a7a8cff2c52ull},
        {16, 0x14e968d3f22cbf9aull, 0x12adbc0c5ea1185cull, 0x43d15c21acc4ac72ull},
        {17, 0x8f92f2c7dac9f417ull, 0xa15e3bffecfb668cull, 0xd38c459a59b5f4c4ull},
        {31, 0x4eb438a59f1c7b68ull, 0xf408c244804c65afull, 0x695894c665ce8b87ull},
        {32, 0x9738c4934fe50169ull, 0xcc27c3a086ff6510ull, 0xf7f8d7e04c7da0eeull},
        {33, 0x8c0792504ce007ceull, 0x737c06084ecebb8aull, 0x2e302f30b66f4172ull},
        {48, 0x462a664ea73cf5e8ull, 0xa77f28af06fde301ull, 0x560ffd5d25700935ull},
        {49, 0x8ab4e989be37452dull, 0xa6a40d87b32903e9ull, 0xcaa478080a328376ull},
        {64, 0x5d5276ba1731161cull, 0x8e2607b68c9e9687ull, 0x55db99adb4c8b360ull},
        {96, 0xd6e3cbd74ae040cdull, 0xcb2fd4768ca2eaf7ull, 0x91befeb7eba9c98eull},
        {97, 0xa92f03dbaa8ec771ull, 0x95eba4bc2dfb58b4ull, 0x1fccb14582337354ull},
        {100, 0x738677ad512397d7ull, 0xb781673f1b6b6283ull, 0x32aaed833b8706e9ull},
        {144, 0xc4f9247d9ba5ed5full, 0xa11d885cc4e04c8aull, 0xf4711a234fca0b6dull},
        {145, 0xa9e143d26d32b936ull, 0x42ab933142013773ull, 0x68e383f7bda45db7ull},
        {200, 0x22375ee0ca3adbaaull, 0x49df2919a1be7c68ull, 0xb32a42978493c7beull},
        {256, 0x5325a26609dc31fbull, 0x1fa9165342dbb249ull, 0xd75e2bfdf9bbae97ull},
    };
    uint8_t in[256];

    (void) state;
    for (int i = 0; i < 256; i++)
        in[i] = (uint8_t) (i * 7 + 1);
    for (size_t i = 0; i < sizeof vec / sizeof vec[0]; i++)
    {
        uint64_t h = ax_hash_bytes(in, vec[i].n, 42);
        ax_hash128 w = ax_hash128_bytes(in, vec[i].n, 1, 2);

        if (h != vec[i].h || w.lo != vec[i].lo || w.hi != vec[i].hi)
            print_error("        {%u, 0x%016llxull, 0x%016llxull, 0x%016llxull},\n", vec[i].n,
                        (unsigned long long) h, (unsigned long long) w.lo,
                        (unsigned long long) w.hi);
        assert_true(h == vec[i].h && w.lo == vec[i].lo && w.hi == vec[i].hi);
    }
    assert_true(ax_hash_u64(0) == 0x0850f9794d5108b4ull);
    assert_true(ax_hash_u64(12345) == 0x2ed9d28524e833a3ull);
}

/* Each input bit changes about half of the output bits, at every length. */
static void hash_avalanche(void **state)
{
    uint8_t in[100];

    (void) state;
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t) (i * 31 + 5);
    for (size_t n = 1; n <= sizeof in; n++)
    {
        uint64_t h0 = ax_hash_bytes(in, n, 0);
        ax_hash128 w0 = ax_hash128_bytes(in, n, 3, 4);
        uint64_t flips = 0;

        for (size_t bit = 0; bit < n * 8; bit++)
        {
            ax_hash128 w;
            uint64_t h;

            in[bit / 8] ^= (uint8_t) (1u << (bit % 8));
            h = ax_hash_bytes(in, n, 0);
            w = ax_hash128_bytes(in, n, 3, 4);
            in[bit / 8] ^= (uint8_t) (1u << (bit % 8));
            flips += (uint64_t) __builtin_popcountll(h ^ h0);
            assert_in_range(__builtin_popcountll(h ^ h0), 8, 56);
            assert_in_range(__builtin_popcountll(w.lo ^ w0.lo), 8, 56);
            assert_in_range(__builtin_popcountll(w.hi ^ w0.hi), 8, 56);
        }
        assert_in_range(flips, n * 8 * 28, n * 8 * 36);
    }
}

static void hash_depends_on_length_seed_and_key(void **state)
{
    uint8_t zero[64] = {0};

    (void) state;
    for (size_t n = 0; n < 64; n++)
    {
        assert_true(ax_hash_bytes(zero, n, 0) != ax_hash_bytes(zero, n + 1, 0));
        assert_true(ax_hash_bytes(zero, n, 0) != ax_hash_bytes(zero, n, 1));
        assert_true(ax_hash128_bytes(zero, n, 0, 0).lo != ax_hash128_bytes(zero, n, 1, 0).lo);
        assert_true(ax_hash128_bytes(zero, n, 0, 0).lo != ax_hash128_bytes(zero, n + 1, 0, 0).lo);
        assert_true(ax_hash128_bytes(zero, n, 0, 0).hi != ax_hash128_bytes(zero, n, 0, 1).hi);
    }
}

/* ---- cpu ------------------------------------------------------------------------------------- */

static void cpu_level_can_be_lowered_only(void **state)
{
    ax_cpu_level have = ax_cpu_detect();

    (void) state;
    ax_cpu_force(AX_CPU_BASE);
    assert_int_equal(ax_cpu_get(), AX_CPU_BASE);
    ax_cpu_force(AX_CPU_X86V4);
    assert_int_equal(ax_cpu_get(), have);
    assert_string_equal(ax_cpu_name(AX_CPU_X86V3), "x86v3");
    assert_string_equal(ax_cpu_name((ax_cpu_level) 99), "unknown");
    assert_in_range(ax_cpu_count(), 1, 1 << 16);
    assert_true(ax_cpu_memory_bytes() > 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_list_is_complete),
        cmocka_unit_test(first_error_wins_and_place_is_filled_upwards),
        cmocka_unit_test(long_file_names_lose_their_front),
        cmocka_unit_test(nomem_names_the_budget_that_is_full),
        cmocka_unit_test(cursor_never_leaves_its_range),
        cmocka_unit_test(varint_takes_64_bits_and_no_more),
        cmocka_unit_test(hash_vectors),
        cmocka_unit_test(hash_avalanche),
        cmocka_unit_test(hash_depends_on_length_seed_and_key),
        cmocka_unit_test(cpu_level_can_be_lowered_only),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
