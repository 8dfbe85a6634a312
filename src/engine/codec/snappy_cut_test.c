/* Cutting snappy blocks: what the pieces give is what the whole gives, or they are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/codec.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 9 << 20 };

static uint8_t *text, *packed, *back;
static size_t room;
static uint64_t seed;

static uint32_t next(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (seed >> 33) % n;
}

/* Addresses like those of web pages. */
static void make_text(void)
{
    static const char *word[] = {"http://", "example", ".com/", "index", "?page=", "&q=", "search",
                                 "\xd0\xbf\xd0\xbe\xd0\xb3", "-", "/"};
    size_t at = 0;

    while (at < LARGE)
    {
        const char *w = word[next(10)];
        size_t n = strlen(w);

        if (n > LARGE - at)
            n = LARGE - at;
        memcpy(text + at, w, n);
        at += n;
        if (at < LARGE)
            text[at++] = (uint8_t) ('0' + next(40));
    }
}

static void make_noise(void)
{
    for (size_t i = 0; i < LARGE; i++)
        text[i] = (uint8_t) next(256);
}

static int set_up(void **state)
{
    (void) state;
    room = snappy_max_compressed_length(LARGE) + 16;
    text = malloc(LARGE);
    back = malloc(LARGE);
    packed = malloc(room);
    return text == NULL || back == NULL || packed == NULL;
}

static int tear_down(void **state)
{
    (void) state;
    free(text);
    free(back);
    free(packed);
    return 0;
}

static size_t pack(void)
{
    size_t n = room;

    assert_int_equal(snappy_compress((const char *) text, LARGE, (char *) packed, &n), SNAPPY_OK);
    return n;
}

/* Cut packed[n] in any order of walks and pieces; true: all pieces came out. */
static bool unpack(size_t n, ax_cdc_cut *cut)
{
    bool ok = true;

    memset(back, 0x55, LARGE);
    if (!ax_cdc_cut_begin(packed, n, LARGE, cut))
        return false;
    for (uint32_t i = cut->nwalks; i > 0; i -= AX_CDC_ABREAST)
        ax_cdc_cut_walk(cut, i - AX_CDC_ABREAST);
    assert_true(ax_cdc_cut_join(cut) == cut->npieces && cut->npieces > 0);
    for (uint32_t i = cut->npieces; i-- > 0;)
        ok = ax_cdc_cut_piece(cut, i, back) && ok;
    return ok;
}

static void pieces_make_the_whole(void **state)
{
    ax_cdc_cut cut;
    size_t n;

    (void) state;
    seed = 1;
    make_text();
    n = pack();
    assert_true(unpack(n, &cut));
    assert_memory_equal(back, text, LARGE);
    assert_int_equal(cut.nwalks, 8);
    assert_int_equal(cut.npieces, 8);
    for (uint32_t i = 0; i < cut.npieces; i++)
    {
        assert_int_equal(cut.piece[i].dst % 65536, 0);
        assert_true(cut.piece[i].dst_len > LARGE / 16);
    }
    /* Long literals: walks hardly meet, but what is cut is right. */
    make_noise();
    n = pack();
    assert_true(unpack(n, &cut));
    assert_memory_equal(back, text, LARGE);
    /* Hardly any bytes at all are not worth it. */
    memset(text, 'x', LARGE);
    assert_true(!unpack(pack(), &cut) || memcmp(back, text, LARGE) == 0);
}

static void other_blocks_are_refused(void **state)
{
    ax_cdc_cut cut;
    size_t n = 0, at;

    (void) state;
    /* A writer that looks back further than 64 KiB: literal of 100000, then copies of that. */
    for (at = LARGE; at >= 128; at >>= 7)
        packed[n++] = (uint8_t) (at | 128);
    packed[n++] = (uint8_t) at;
    packed[n++] = 62 << 2;
    packed[n++] = (uint8_t) (99999 & 255);
    packed[n++] = (uint8_t) (99999 >> 8);
    packed[n++] = 99999 >> 16;
    seed = 2;
    for (at = 0; at < 100000; at++)
        packed[n++] = (uint8_t) next(256);
    for (; at + 64 <= LARGE; at += 64)
    {
        packed[n++] = 63 << 2 | 3;
        packed[n++] = (uint8_t) (100000 & 255);
        packed[n++] = (uint8_t) (100000 >> 8);
        packed[n++] = 100000 >> 16;
        packed[n++] = 0;
    }
    if (at < LARGE)
    {
        packed[n++] = (uint8_t) ((LARGE - at - 1) << 2);
        memset(packed + n, 'z', LARGE - at);
        n += LARGE - at;
    }
    at = LARGE;
    assert_int_equal(snappy_uncompress((const char *) packed, n, (char *) text, &at), SNAPPY_OK);
    assert_true(!unpack(n, &cut) || memcmp(back, text, LARGE) == 0);
    /* Small blocks, and sizes that lie. */
    assert_false(ax_cdc_cut_begin(packed, n, LARGE - 1, &cut));
    assert_false(ax_cdc_cut_begin(packed, n, AX_CDC_CUT_BYTES - 1, &cut));
    assert_false(ax_cdc_cut_begin(packed, 0, LARGE, &cut));
}

/* Damage anywhere: nothing is read or written outside, and it is refused or what the whole is. */
static void damage_is_no_danger(void **state)
{
    ax_cdc_cut cut;
    size_t n;

    (void) state;
    seed = 3;
    make_text();
    n = pack();
    for (int i = 0; i < 40; i++)
    {
        size_t at = 5 + next((uint32_t) n - 5), whole = LARGE;
        uint8_t was = packed[at], *copy;
        size_t cut_off = i % 4 == 0 ? next((uint32_t) n / 2) : 0;

        packed[at] ^= (uint8_t) (1 + next(255));
        copy = malloc(n - cut_off); /* so that a sanitizer sees its end */
        assert_non_null(copy);
        memcpy(copy, packed, n - cut_off);
        if (ax_cdc_cut_begin(copy, n - cut_off, LARGE, &cut))
        {
            bool ok = true;

            for (uint32_t k = 0; k < cut.nwalks; k += AX_CDC_ABREAST)
                ax_cdc_cut_walk(&cut, k);
            (void) ax_cdc_cut_join(&cut);
            for (uint32_t k = 0; k < cut.npieces; k++)
                ok = ax_cdc_cut_piece(&cut, k, back) && ok;
            if (ok)
            {
                assert_int_equal(snappy_uncompress((const char *) copy, n - cut_off,
                                                   (char *) text, &whole), SNAPPY_OK);
                assert_memory_equal(back, text, LARGE);
            }
        }
        free(copy);
        packed[at] = was;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(other_blocks_are_refused),
        cmocka_unit_test(damage_is_no_danger),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
