/* Budgets, slabs, arenas, buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory_int.h"

#include <pthread.h>
#include <string.h>

#define MIB ((size_t) 1 << 20)

static int64_t used(const ax_budget *b) { return atomic_load(&b->used_bytes); }

/* ---- budget ---------------------------------------------------------------------------------- */

static void budget_charges_the_whole_chain_or_nothing(void **state)
{
    ax_budget root, query, op;

    (void) state;
    ax_budget_init(&root, "process", 1000, NULL);
    ax_budget_init(&query, "query", 600, &root);
    ax_budget_init(&op, "operator", INT64_MAX, &query);

    assert_true(ax_budget_charge(&op, 500));
    assert_int_equal(used(&op), 500);
    assert_int_equal(used(&query), 500);
    assert_int_equal(used(&root), 500);

    /* The middle refuses: the leaf must be as before. */
    assert_false(ax_budget_charge(&op, 101));
    assert_int_equal(used(&op), 500);
    assert_int_equal(used(&root), 500);

    /* The root refuses: all below must be as before. */
    assert_true(ax_budget_charge(&root, 450));
    assert_false(ax_budget_charge(&op, 60));
    assert_int_equal(used(&op), 500);
    assert_int_equal(used(&query), 500);
    assert_true(ax_budget_charge(&op, 50));
    assert_int_equal(used(&root), 1000);

    ax_budget_release(&op, 550);
    ax_budget_release(&root, 450);
    assert_int_equal(used(&op), 0);
    assert_int_equal(used(&query), 0);
    assert_int_equal(used(&root), 0);
    assert_int_equal(atomic_load(&root.peak_bytes), 1000);
    assert_int_equal(atomic_load(&query.peak_bytes), 550);
}

static void budget_does_not_overflow(void **state)
{
    ax_budget b;

    (void) state;
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    assert_true(ax_budget_charge(&b, INT64_MAX - 1));
    assert_true(ax_budget_charge(&b, 1));
    assert_false(ax_budget_charge(&b, 1));
    assert_false(ax_budget_charge(&b, INT64_MAX));
}

static void *charge_many(void *arg)
{
    ax_budget *b = (ax_budget *) arg;

    for (int i = 0; i < 20000; i++)
        if (ax_budget_charge(b, 7))
            ax_budget_release(b, 7);
    return NULL;
}

static void budget_is_exact_under_contention(void **state)
{
    ax_budget root, leaf;
    pthread_t th[4];

    (void) state;
    ax_budget_init(&root, "root", 20, NULL);
    ax_budget_init(&leaf, "leaf", INT64_MAX, &root);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&th[i], NULL, charge_many, &leaf), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(th[i], NULL);
    assert_int_equal(used(&root), 0);
    assert_int_equal(used(&leaf), 0);
    assert_true(atomic_load(&root.peak_bytes) <= 20);
}

/* ---- slabs ----------------------------------------------------------------------------------- */

static void slab_is_aligned_charged_and_recycled(void **state)
{
    ax_budget b;
    uint8_t *p, *q;

    (void) state;
    ax_slab_trim(0);
    assert_int_equal(ax_slab_cached_bytes(), 0);
    ax_budget_init(&b, "b", 16 * (int64_t) MIB, NULL);

    p = (uint8_t *) ax_slab_alloc(&b, 3 * MIB, false);
    assert_non_null(p);
    assert_int_equal((uintptr_t) p % AX_SLAB_BYTES, 0);
    assert_int_equal(used(&b), 4 * MIB);
    memset(p, 0xab, 4 * MIB);
    assert_null(ax_slab_alloc(&b, 13 * MIB, false));
    assert_int_equal(used(&b), 4 * MIB);
    ax_slab_free(&b, p, 3 * MIB);
    assert_int_equal(used(&b), 0);
    assert_int_equal(ax_slab_cached_bytes(), 4 * MIB);

    /* A smaller request splits the region; the rest stays cached.  Zeroing is real. */
    q = (uint8_t *) ax_slab_alloc(&b, 2 * MIB, true);
    assert_ptr_equal(q, p);
    assert_int_equal(ax_slab_cached_bytes(), 2 * MIB);
    for (size_t i = 0; i < 2 * MIB; i += 61)
        assert_int_equal(q[i], 0);
    p = (uint8_t *) ax_slab_alloc(&b, 1, false);
    assert_ptr_equal(p, q + 2 * MIB);
    assert_int_equal(ax_slab_cached_bytes(), 0);
    ax_slab_free(&b, p, 1);
    ax_slab_free(&b, q, 2 * MIB);
    ax_slab_free(&b, NULL, 5);

    assert_int_equal(ax_slab_trim(2 * MIB), 2 * MIB);
    assert_int_equal(ax_slab_cached_bytes(), 2 * MIB);
    assert_int_equal(ax_slab_trim(0), 2 * MIB);
    assert_int_equal(ax_slab_cached_bytes(), 0);
}

static void slab_serves_large_regions_from_the_cache(void **state)
{
    ax_budget b;
    uint8_t *p, *q;

    (void) state;
    ax_slab_trim(0);
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    p = (uint8_t *) ax_slab_alloc(&b, 80 * MIB, false);
    assert_non_null(p);
    p[0] = p[80 * MIB - 1] = 1;
    ax_slab_free(&b, p, 80 * MIB);
    q = (uint8_t *) ax_slab_alloc(&b, 70 * MIB, false);
    assert_ptr_equal(q, p);
    assert_int_equal(ax_slab_cached_bytes(), 10 * MIB);
    ax_slab_free(&b, q, 70 * MIB);
    assert_int_equal(ax_slab_cached_bytes(), 80 * MIB);

    /* Pieces that come back are one region again, in whatever order. */
    p = (uint8_t *) ax_slab_alloc(&b, 34 * MIB, false);
    q = (uint8_t *) ax_slab_alloc(&b, 30 * MIB, false);
    assert_int_equal(ax_slab_cached_bytes(), 16 * MIB);
    ax_slab_free(&b, q, 30 * MIB);
    ax_slab_free(&b, p, 34 * MIB);
    q = (uint8_t *) ax_slab_alloc(&b, 80 * MIB, false);
    assert_int_equal(ax_slab_cached_bytes(), 0);
    ax_slab_free(&b, q, 80 * MIB);

    /* A part of a region can go back to the system. */
    assert_int_equal(ax_slab_trim(20 * MIB), 60 * MIB);
    assert_int_equal(ax_slab_cached_bytes(), 20 * MIB);
    ax_slab_trim(0);
    assert_null(ax_slab_alloc(&b, 0, false));
    assert_null(ax_slab_alloc(&b, SIZE_MAX, false));
    assert_null(ax_slab_alloc(&b, (size_t) 1 << 60, false));
    assert_int_equal(used(&b), 0);
}

/* Sizes around every border of the raw allocator, alive together, each filled with its own byte:
 * overlaps would show. */
static void raw_sizes_do_not_overlap(void **state)
{
    static const size_t sizes[] = {1,     64,     4096,    32704,   32705,  32768,   65535,
                                   65536, 65537,  131072,  500000,  1 << 20, 2031616, 2031617,
                                   1,     196608, 2097152, 2097153, 65536,  700000,  65537};
    enum { N = sizeof sizes / sizeof sizes[0] };
    uint8_t *p[N];

    (void) state;
    for (int round = 0; round < 20; round++)
    {
        for (int i = 0; i < N; i++)
        {
            p[i] = (uint8_t *) ax_raw_alloc(sizes[i]);
            assert_non_null(p[i]);
            assert_int_equal((uintptr_t) p[i] % AX_ALIGN, 0);
            assert_true(ax_raw_size(sizes[i]) >= sizes[i]);
            assert_int_equal(ax_raw_size(ax_raw_size(sizes[i])), ax_raw_size(sizes[i]));
            memset(p[i], i + 1, sizes[i]);
        }
        for (int i = 0; i < N; i++)
        {
            int at = (i * 8 + round) % N; /* 8 and 21 have no common factor */

            assert_int_equal(p[at][0], at + 1);
            assert_int_equal(p[at][sizes[at] / 2], at + 1);
            assert_int_equal(p[at][sizes[at] - 1], at + 1);
            ax_raw_free(p[at], sizes[at]);
        }
    }
    /* All chunks came back, so their slabs did too: nothing is held but the cache. */
    ax_slab_trim(0);
    assert_int_equal(ax_slab_cached_bytes(), 0);
}

static void *churn(void *arg)
{
    uint32_t seed = (uint32_t) (uintptr_t) arg;
    uint8_t *p[16] = {NULL};
    size_t n[16] = {0};

    for (int i = 0; i < 3000; i++)
    {
        int k;

        seed = seed * 1664525u + 1013904223u;
        k = (int) (seed >> 28);
        if (p[k] != NULL)
        {
            assert_int_equal(p[k][0], k);
            ax_raw_free(p[k], n[k]);
            p[k] = NULL;
        }
        n[k] = 1000 + (seed >> 8) % 300000;
        p[k] = (uint8_t *) ax_raw_alloc(n[k]);
        assert_non_null(p[k]);
        p[k][0] = (uint8_t) k;
    }
    for (int k = 0; k < 16; k++)
        if (p[k] != NULL)
            ax_raw_free(p[k], n[k]);
    return NULL;
}

static void raw_memory_moves_between_threads(void **state)
{
    pthread_t th[3];

    (void) state;
    for (uintptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&th[i], NULL, churn, (void *) (i + 1)), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(th[i], NULL);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

static void arena_alignment_and_padding(void **state)
{
    ax_budget b;
    ax_arena *a;
    volatile uint8_t sum = 0;

    (void) state;
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    a = ax_arena_create(&b, 0);
    assert_non_null(a);
    assert_ptr_equal(ax_arena_budget(a), &b);
    for (size_t n = 0; n < 5000; n += 37)
    {
        uint8_t *p = (uint8_t *) ax_arena_alloc(a, n);
        uint8_t *v = (uint8_t *) ax_arena_values(a, n);

        assert_int_equal((uintptr_t) p % 16, 0);
        assert_int_equal((uintptr_t) v % AX_ALIGN, 0);
        memset(p, 1, n);
        memset(v, 2, n);
        /* Readable, whatever stands there; ASan would complain. */
        for (size_t i = 0; i < AX_PAD; i++)
            sum = (uint8_t) (sum + p[n + i] + v[n + i]);
        for (size_t i = 1; i <= 16; i++)
            sum = (uint8_t) (sum + v[-(ptrdiff_t) i]);
    }
    assert_true(ax_arena_used_bytes(a) > 0);
    assert_true((int64_t) ax_arena_used_bytes(a) <= used(&b));
    assert_null(ax_arena_alloc(a, SIZE_MAX));
    assert_null(ax_arena_values(a, SIZE_MAX - 10));
    assert_null(ax_arena_strndup(a, "x", SIZE_MAX));
    ax_arena_destroy(a);
    assert_int_equal(used(&b), 0);
    ax_arena_destroy(NULL);
}

static void arena_zeroes_and_copies(void **state)
{
    ax_budget b;
    ax_arena *a;
    uint8_t *p;

    (void) state;
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    a = ax_arena_create(&b, 0);
    p = (uint8_t *) ax_arena_alloc(a, 3000);
    memset(p, 0xff, 3000);
    ax_arena_reset(a);
    assert_int_equal(ax_arena_used_bytes(a), 0);
    p = (uint8_t *) ax_arena_alloc0(a, 3000);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(p[i], 0);
    assert_string_equal(ax_arena_strndup(a, "hello", 3), "hel");
    assert_string_equal(ax_arena_strndup(a, NULL, 0), "");
    ax_arena_destroy(a);
}

static char order[16];
static void note(void *arg) { strcat(order, (const char *) arg); }

static void arena_cleanups_run_backwards_once(void **state)
{
    ax_budget b;
    ax_arena *a;

    (void) state;
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    a = ax_arena_create(&b, 0);
    order[0] = '\0';
    assert_true(ax_arena_on_reset(a, note, "a"));
    assert_true(ax_arena_on_reset(a, note, "b"));
    assert_true(ax_arena_on_reset(a, note, "c"));
    ax_arena_reset(a);
    assert_string_equal(order, "cba");
    ax_arena_reset(a);
    assert_string_equal(order, "cba");
    assert_true(ax_arena_on_reset(a, note, "d"));
    assert_true(ax_arena_on_reset(a, note, "e"));
    ax_arena_destroy(a);
    assert_string_equal(order, "cbaed");
}

static void arena_stops_at_the_budget(void **state)
{
    ax_budget b;
    ax_arena *a;
    size_t got = 0;
    int calls = 0;

    (void) state;
    ax_budget_init(&b, "b", 1 * (int64_t) MIB, NULL);
    a = ax_arena_create(&b, 0);
    assert_null(ax_arena_alloc(a, 2 * MIB));
    while (ax_arena_alloc(a, 1000) != NULL)
        got += 1000;
    /* Growing blocks must not waste what a small one could still use. */
    assert_true(got > MIB * 9 / 10 && got <= MIB);
    /* A cleanup that finds no memory is refused and not called. */
    order[0] = '\0';
    while (ax_arena_on_reset(a, note, ""))
        calls++;
    assert_true(calls < 100);
    assert_string_equal(order, "");
    ax_arena_destroy(a);
    assert_int_equal(used(&b), 0);
    ax_budget_init(&b, "b", 100, NULL);
    assert_null(ax_arena_create(&b, 0));
    assert_int_equal(used(&b), 0);
}

static void arena_reset_keeps_at_most_one_grown_block(void **state)
{
    ax_budget b;
    ax_arena *a;

    (void) state;
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    a = ax_arena_create(&b, 0);
    for (int i = 0; i < 20000; i++)
        memset(ax_arena_alloc(a, 1024), i, 1024);
    assert_non_null(ax_arena_alloc(a, 30 * MIB)); /* a block of its own, not kept */
    assert_true(used(&b) > 50 * (int64_t) MIB);
    ax_arena_reset(a);
    assert_true(used(&b) <= (int64_t) AX_SLAB_BYTES + 4096);
    for (int i = 0; i < 1000; i++)
        memset(ax_arena_alloc(a, 1024), i, 1024);
    assert_true(used(&b) <= (int64_t) AX_SLAB_BYTES + 4096);
    ax_arena_destroy(a);
    assert_int_equal(used(&b), 0);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void *hold_and_drop(void *arg)
{
    ax_buf *buf = (ax_buf *) arg;

    for (int i = 0; i < 10000; i++)
        ax_buf_unref(ax_buf_ref(buf));
    ax_buf_unref(buf);
    return NULL;
}

static void buf_lives_until_the_last_reference(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 40000, 65536, 1 << 20, 3 << 20};
    ax_budget b;

    (void) state;
    ax_budget_init(&b, "b", 8 * (int64_t) MIB, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    {
        ax_buf *buf = ax_buf_alloc(&b, sizes[i]);
        pthread_t th[3];
        uint32_t sum = 0;

        assert_non_null(buf);
        assert_int_equal(buf->len, sizes[i]);
        assert_int_equal(buf->cap, sizes[i]);
        assert_int_equal((uintptr_t) buf->data % AX_ALIGN, 0);
        memset(buf->data, 0x5a, sizes[i]);
        for (size_t k = 0; k < AX_PAD; k++)
            sum += buf->data[sizes[i] + k];
        assert_int_equal(sum, 0);
        buf->len /= 2; /* freeing goes by cap */
        for (int k = 0; k < 3; k++)
            assert_int_equal(pthread_create(&th[k], NULL, hold_and_drop, ax_buf_ref(buf)), 0);
        ax_buf_unref(buf);
        for (int k = 0; k < 3; k++)
            pthread_join(th[k], NULL);
        assert_int_equal(used(&b), 0);
    }
    assert_null(ax_buf_alloc(&b, 9 * MIB));
    assert_null(ax_buf_alloc(&b, SIZE_MAX));
    assert_int_equal(used(&b), 0);
    ax_buf_unref(NULL);
}

static void buf_changes_its_account(void **state)
{
    ax_budget a, b, small;
    ax_buf *buf;

    (void) state;
    ax_budget_init(&a, "a", INT64_MAX, NULL);
    ax_budget_init(&b, "b", INT64_MAX, NULL);
    ax_budget_init(&small, "small", 10, NULL);
    buf = ax_buf_alloc(&a, 5000);
    assert_false(ax_buf_recharge(buf, &small));
    assert_true(used(&a) >= 5000);
    assert_true(ax_buf_recharge(buf, &b));
    assert_int_equal(used(&a), 0);
    assert_true(used(&b) >= 5000);
    ax_buf_unref(buf);
    assert_int_equal(used(&b), 0);
}

static void obj_is_zeroed_and_aligned(void **state)
{
    uint8_t *p = (uint8_t *) ax_obj_alloc(130);

    (void) state;
    assert_int_equal((uintptr_t) p % 64, 0);
    for (int i = 0; i < 130; i++)
        assert_int_equal(p[i], 0);
    ax_obj_free(p);
    ax_obj_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_charges_the_whole_chain_or_nothing),
        cmocka_unit_test(budget_does_not_overflow),
        cmocka_unit_test(budget_is_exact_under_contention),
        cmocka_unit_test(slab_is_aligned_charged_and_recycled),
        cmocka_unit_test(slab_serves_large_regions_from_the_cache),
        cmocka_unit_test(raw_sizes_do_not_overlap),
        cmocka_unit_test(raw_memory_moves_between_threads),
        cmocka_unit_test(arena_alignment_and_padding),
        cmocka_unit_test(arena_zeroes_and_copies),
        cmocka_unit_test(arena_cleanups_run_backwards_once),
        cmocka_unit_test(arena_stops_at_the_budget),
        cmocka_unit_test(arena_reset_keeps_at_most_one_grown_block),
        cmocka_unit_test(buf_lives_until_the_last_reference),
        cmocka_unit_test(buf_changes_its_account),
        cmocka_unit_test(obj_is_zeroed_and_aligned),
    };

    return cmocka_run_group_tests_name("base memory", tests, NULL, NULL);
}
