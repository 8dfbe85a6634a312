/* MD5: the digests of RFC 1321, and of texts whose padding takes a block more or not. */
#include "func/md5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void digests_of_the_rfc(void **state)
{
    static const char *const cases[][2] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"}};
    uint8_t hex[AX_MD5_HEX];

    (void) state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        ax_md5_hex((const uint8_t *) cases[i][0], strlen(cases[i][0]), hex);
        assert_memory_equal(hex, cases[i][1], AX_MD5_HEX);
    }
}

/* A text is padded to whole blocks: each length around a block's end has another digest. */
static void lengths_around_blocks(void **state)
{
    static const struct { size_t n; const char *hex; } cases[] = {
        {55, "04364420e25c512fd958a70738aa8f72"},
        {56, "668a72d5ba17f08e62dabcafad6db14b"},
        {63, "7dc2ca208106a2f703567bdff99d8981"},
        {64, "c1bb4f81d892b2d57947682aeb252456"},
        {65, "1bc932052302d074bdec39795fe00cf6"},
        {119, "ab347a5f68c8a443cfcddc633f12c24f"},
        {120, "fb98667f98096de92620b64f46e1c5b5"}};
    uint8_t text[128], hex[AX_MD5_HEX];

    (void) state;
    memset(text, 'x', sizeof text);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        ax_md5_hex(text, cases[i].n, hex);
        assert_memory_equal(hex, cases[i].hex, AX_MD5_HEX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(digests_of_the_rfc),
                                       cmocka_unit_test(lengths_around_blocks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
