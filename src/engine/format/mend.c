/* Text with bytes that PostgreSQL does not accept, under an encoding_check that mends it.
 *
 *   remove    bytes that are not UTF-8, and NULs, are left out
 *   replace   each becomes U+FFFD: one for a sequence as far as it could have been a character (The
 *             Unicode Standard, 3.9, "maximal subpart"), one for every other byte
 *   truncate  the text ends before the first of them */
#include "base/utf8.h"
#include "format/format.h"

/* Bytes at p that do not make a character, but could be the beginning of one; at least 1. */
static uint32_t subpart(const uint8_t *p, uint32_t n)
{
    uint32_t want = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2, k;
    uint8_t lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;

    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 1;
    for (k = 1; k < want && k < n && p[k] >= lo && p[k] <= hi; k++)
    {
        lo = 0x80;
        hi = 0xbf;
    }
    return k;
}

uint32_t ax_fmt_mend(ax_encoding_check mode, const uint8_t *p, uint32_t n, uint8_t *out)
{
    uint32_t at = 0, i = 0;

    while (i < n)
    {
        uint32_t len = ax_utf8_len(p + i, n - i);

        if (len == 0 && mode == AX_ENC_TRUNCATE)
            return at;
        if (len > 0)
        {
            memcpy(out + at, p + i, len);
            at += len;
            i += len;
            continue;
        }
        if (mode == AX_ENC_REPLACE)
        {
            memcpy(out + at, "\xef\xbf\xbd", 3);
            at += 3;
        }
        i += subpart(p + i, n - i);
    }
    return at;
}
