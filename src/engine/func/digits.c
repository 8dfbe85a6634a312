/* Decimals of any number of digits: from the integers in which files hold them to text, and from
 * that text to ax_num.
 *
 * For values that ax_num cannot hold; readers give them out as AX_T_DIGITS. */
#include "func/numeric.h"

#include <string.h>

enum
{
    LIMBS = AX_DIGITS_BYTES_MAX / 4,
    DIGITS = LIMBS * 32 * 30103 / 100000 + 2
};

/* The value of p[n], big-endian two's complement, as limbs of its magnitude, least significant
 * first; -1: it is too long. */
static int32_t magnitude(const uint8_t *p, uint32_t n, uint32_t *limb, bool *negative)
{
    uint8_t sign = n > 0 && p[0] >= 0x80 ? 0xff : 0;
    uint64_t carry = 1;
    uint32_t count, i;

    *negative = sign != 0;
    for (; n > 1 && p[0] == sign && (p[1] & 0x80) == (sign & 0x80); n--, p++)
        ;
    if (n > LIMBS * 4)
        return -1;
    count = (n + 3) / 4;
    for (i = 0; i < count; i++)
        limb[i] = sign != 0 ? UINT32_MAX : 0;
    for (i = 0; i < n; i++)
    {
        uint32_t k = n - 1 - i, shift = k % 4 * 8;

        limb[k / 4] = (limb[k / 4] & ~(0xffu << shift)) | (uint32_t) p[i] << shift;
    }
    for (i = 0; *negative && i < count; i++)
    {
        carry += (uint32_t) ~limb[i];
        limb[i] = (uint32_t) carry;
        carry >>= 32;
    }
    return (int32_t) count;
}

size_t ax_digits_room(int32_t scale)
{
    return (size_t) DIGITS + (size_t) scale + 4;
}

char *ax_digits_text(const uint8_t *p, uint32_t n, int32_t scale, char *out, size_t out_len)
{
    uint32_t limb[LIMBS];
    bool negative;
    int32_t count = magnitude(p, n, limb, &negative), digits = 0;
    char *at = out + out_len;

    if (count < 0 || out_len < ax_digits_room(scale))
        return NULL;
    while (count > 0 && limb[count - 1] == 0)
        count--;
    while (count > 0 || digits <= scale)
    {
        uint64_t rest = 0;
        int32_t i;

        for (i = count; i-- > 0;)
        {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t) (rest / 1000000000);
            rest %= 1000000000;
        }
        while (count > 0 && limb[count - 1] == 0)
            count--;
        for (i = 0; i < 9 && (count > 0 || rest > 0 || digits <= scale); i++)
        {
            *--at = (char) ('0' + (int) (rest % 10));
            rest /= 10;
            if (++digits == scale)
                *--at = '.';
        }
    }
    if (negative)
        *--at = '-';
    return at;
}

bool ax_digits_to_num(const char *p, uint32_t len, int32_t precision, int32_t scale, ax_num *out)
{
    bool negative = len > 0 && p[0] == '-', up = false;
    const char *point = (const char *) memchr(p, '.', len);
    int32_t has = point != NULL ? (int32_t) (p + len - point) - 1 : 0, want, left;
    int32_t most = precision > 0 && precision < AX_NUM_DIGITS ? precision : AX_NUM_DIGITS, i;
    ax_u128 v = 0, limit = 1;

    want = precision > 0 ? scale : has;
    /* digits that stay: those up to `want` behind the point */
    left = (int32_t) len - negative - (point != NULL) - has + want;
    for (i = 0; i < most; i++)
        limit *= 10;
    for (i = negative; i < (int32_t) len && left >= 0; i++)
    {
        if (p[i] == '.')
            continue;
        if (left-- == 0)
        {
            up = p[i] >= '5';
            break;
        }
        if (v >= limit / 10)
            return false;
        v = v * 10 + (ax_u128) (p[i] - '0');
    }
    for (; left > 0; left--)
    {
        if (v >= limit / 10)
            return false;
        v *= 10;
    }
    v += up;
    if (v >= limit || want < 0)
        return false;
    memset(out, 0, sizeof *out);
    out->v = negative ? -(ax_i128) v : (ax_i128) v;
    out->dscale = (int16_t) want;
    return true;
}
