/* Our snappy decoder against the library: its verdict and its bytes, for blocks that a writer made,
 * that are made of every form of element, that were cut and that were changed.  Input and output
 * end where their memory ends, so that a sanitizer sees a byte too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/snappy_int.h"

#include <snappy-c.h>
#include <stdlib.h>

enum { MOST = 200000 };

static uint8_t text[MOST], block[MOST * 2];
static uint64_t seed = 1;

static uint32_t next(uint32_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (seed >> 33) % n;
}

/* Both decoders on block[n]; true: both took it, and gave the same. */
static bool agree(size_t n)
{
    uint8_t *src = malloc(n + (n == 0)), *ours, *theirs;
    size_t len = 0, lib_len = 0, got;
    const uint8_t *body;
    bool ok, lib_ok;

    assert_non_null(src);
    memcpy(src, block, n);
    ok = ax_snappy_length(src, n, &len, &body);
    lib_ok = snappy_uncompressed_length((const char *) src, n, &lib_len) == SNAPPY_OK;
    assert_int_equal(ok, lib_ok);
    if (!ok || len > 4 * MOST)
    {
        assert_true(!ok || len == lib_len);
        free(src);
        return false;
    }
    ours = malloc(len + (len == 0));
    theirs = malloc(len + (len == 0));
    assert_true(ours != NULL && theirs != NULL && len == lib_len);
    got = len;
    ok = ax_snappy_body(body, src + n, ours, len);
    lib_ok = snappy_uncompress((const char *) src, n, (char *) theirs, &got) == SNAPPY_OK;
    assert_int_equal(ok, lib_ok);
    if (ok)
        assert_memory_equal(ours, theirs, len);
    free(src);
    free(ours);
    free(theirs);
    return ok;
}

/* Text of n bytes whose repeats are near, far, short and long. */
static size_t packed_text(size_t n)
{
    uint32_t letters = 1 + next(60), far = 1 + next(n < 2 ? 1 : (uint32_t) n);
    size_t len = sizeof block;

    for (size_t i = 0; i < n;)
    {
        uint32_t run = 1 + next(next(20) == 0 ? 300 : 12);
        bool copy = i > 0 && next(3) > 0;
        size_t from = copy ? i - 1 - next((uint32_t) (i < far ? i : far)) : 0;

        for (; run > 0 && i < n; run--, i++)
            text[i] = copy ? text[from++] : (uint8_t) ('A' + next(letters));
    }
    assert_int_equal(snappy_compress((const char *) text, n, (char *) block, &len), SNAPPY_OK);
    return len;
}

static void what_the_library_packs(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < 400; i++)
        assert_true(agree(packed_text(i < 200 ? i : next(MOST))));
}

static void put_number(size_t *n, uint32_t v, uint32_t bytes)
{
    for (; bytes > 0; bytes--, v >>= 8)
        block[(*n)++] = (uint8_t) v;
}

/* An element of a random form for a block that has given `made` bytes; returns what it gives. */
static uint32_t put_element(size_t *n, uint32_t made)
{
    uint32_t form = made > 0 ? next(6) : 0, len, off, reach = next(4) == 0 ? made : 80;

    if (form < 2)
    {
        uint32_t more = next(20) == 0 ? 1 + next(4) : 0;

        len = 1 + next(more > 1 ? 1000 : more == 1 ? 256 : 60);
        block[(*n)++] = (uint8_t) ((more > 0 ? 59 + more : len - 1) << 2);
        put_number(n, len - 1, more);
        for (uint32_t i = 0; i < len; i++)
            block[(*n)++] = (uint8_t) next(256);
        return len;
    }
    off = 1 + next(made < reach ? made : reach);
    len = 1 + next(64);
    if (form == 2 && off < 2048)
    {
        len = 4 + next(8);
        block[(*n)++] = (uint8_t) (1 | (len - 4) << 2 | off >> 8 << 5);
        put_number(n, off, 1);
        return len;
    }
    form = form == 3 || off > 65535 ? 3 : 2;
    block[(*n)++] = (uint8_t) (form | (len - 1) << 2);
    put_number(n, off, form == 3 ? 4 : 2);
    return len;
}

static size_t made_up(uint32_t elements)
{
    static uint8_t body[sizeof block];
    uint32_t made = 0, v;
    size_t n = 0, bytes;

    for (uint32_t i = 0; i < elements; i++)
        made += put_element(&n, made);
    bytes = n;
    memcpy(body, block, bytes);
    for (n = 0, v = made; v >= 128; v >>= 7)
        block[n++] = (uint8_t) (v | 128);
    block[n++] = (uint8_t) v;
    memcpy(block + n, body, bytes);
    return n + bytes;
}

static void every_form_of_element(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < 2000; i++)
        assert_true(agree(made_up(1 + next(i % 10 == 0 ? 1000 : 40))));
}

static void cut_and_changed(void **state)
{
    uint32_t taken = 0;

    (void) state;
    for (uint32_t i = 0; i < 3000; i++)
    {
        size_t n = i % 2 ? made_up(1 + next(60)) : packed_text(1 + next(3000));

        if (i % 3 == 0)
            n -= next((uint32_t) n);
        for (uint32_t k = next(4); k > 0 && n > 0; k--)
            block[next(next(2) && n > 8 ? 8 : (uint32_t) n)] = (uint8_t) next(256);
        taken += agree(n);
    }
    assert_in_range(taken, 100, 2900); /* both kinds were seen */
}

static void lengths(void **state)
{
    static const uint8_t bad[][6] = {{0x80}, {0x80, 0x80, 0x80, 0x80, 0x80, 1},
                                     {0xff, 0xff, 0xff, 0xff, 0x10}, {0xff, 0xff, 0xff, 0xff}};
    static const uint8_t size[] = {1, 6, 5, 4};

    (void) state;
    assert_false(agree(0));
    for (uint32_t i = 0; i < sizeof size; i++)
    {
        memcpy(block, bad[i], size[i]);
        assert_false(agree(size[i]));
    }
    memcpy(block, (uint8_t[]){0x81, 0x80, 0, 0, 'x'}, 5); /* 1, longer than need be */
    assert_true(agree(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_library_packs),
        cmocka_unit_test(every_form_of_element),
        cmocka_unit_test(cut_and_changed),
        cmocka_unit_test(lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
