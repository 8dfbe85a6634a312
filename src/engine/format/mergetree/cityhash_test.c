/* Hashes against the numbers of the description of the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mergetree_int.h"

static void is(ax_mt_hash h, uint64_t lo, uint64_t hi)
{
    assert_int_equal(h.lo, lo);
    assert_int_equal(h.hi, hi);
}

static void counted(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t) i;
}

static void city_128(void **state)
{
    uint8_t p[200];

    (void) state;
    counted(p, sizeof p);
    is(ax_mt_city128(p, 0), 0x3df09dfc64c09a2b, 0x3cb540c392e51e29);
    is(ax_mt_city128((const uint8_t *) "a", 1), 0xd27139a1afe01ad0, 0xfd7e8ee2e4c86cf6);
    is(ax_mt_city128((const uint8_t *) "abcdefgh", 8), 0x4ba34274d268afb4, 0xfb0ea90987f10634);
    is(ax_mt_city128((const uint8_t *) "0123456789abcdef", 16), 0xc52ea1adb29e4800,
       0x7369a2fab076de4c);
    is(ax_mt_city128(p, 64), 0x83d9a0502fd851d0, 0x718073343ea63f22);
    is(ax_mt_city128(p, 200), 0x275774699e23b6fd, 0x5682ef01ebe7289c);
}

static void city_64(void **state)
{
    uint8_t p[200];

    (void) state;
    counted(p, sizeof p);
    assert_int_equal(ax_mt_city64((const uint8_t *) "abc", 3), 4220206313085259313ull);
    assert_int_equal(ax_mt_city64(p, 200), 0xe49ce9a6d9f41656);
}

static void of_files(void **state)
{
    static uint8_t p[5000];

    (void) state;
    counted(p, sizeof p);
    is(ax_mt_file_hash((ax_mt_hash){0, 0}, p, sizeof p), 0x734b826082734b52,
       0xb56a87a0130902bc);
    is(ax_mt_file_hash((ax_mt_hash){0, 0}, (const uint8_t *) "3", 1), 0xbdf9b8450495b777,
       0xdb7b13ffcb46ab2b);
    is(ax_mt_file_hash((ax_mt_hash){0, 0}, p, 0), 0, 0);
}

static void sip(void **state)
{
    static const uint8_t abc[16] = {0xb6, 0xb4, 0x15, 0xa2, 0xda, 0x96, 0x6b, 0x6c,
                                    0x68, 0x5a, 0x65, 0xe5, 0x4c, 0x12, 0xa3, 0x53};
    char name[140];
    ax_mt_hash h = ax_mt_sip128((const uint8_t *) "abc", 3);

    (void) state;
    assert_memory_equal(&h, abc, 16);
    /* The name of a file whose stream's name is too long. */
    memset(name, 'c', sizeof name);
    h = ax_mt_sip128((const uint8_t *) name, sizeof name);
    is(h, 0xd53d49ec287555c5, 0xcfdd632141e4e6a2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(city_128),
        cmocka_unit_test(city_64),
        cmocka_unit_test(of_files),
        cmocka_unit_test(sip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
