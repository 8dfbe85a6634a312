/* The part of the bounded reader that is too long for a header. */
#include "base/bytes.h"

/* Format: ULEB128, seven bits a byte, least significant group first; the tenth byte of a 64-bit
 * value holds one bit. */
uint64_t ax_cur_varint(ax_cur *c)
{
    uint64_t v = 0;

    if (c->bad)
        return 0;
    for (uint32_t shift = 0; shift < 70; shift += 7)
    {
        uint8_t b;

        if (c->p == c->end)
            break;
        b = *c->p++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t) (b & 0x7f) << shift;
        if ((b & 0x80) == 0)
            return v;
    }
    c->bad = true;
    return 0;
}
