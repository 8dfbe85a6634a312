/* Are bytes text that PostgreSQL accepts: valid UTF-8 without NUL? */
#ifndef AX_UTF8_H
#define AX_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at p, 0 when it is invalid, cut off or a NUL.  n > 0. */
uint32_t ax_utf8_len(const uint8_t *p, uint32_t n);

/* Are n strings UTF-8 without NUL?  gap: bytes between a string and the next if they stand behind
 * each other (4: their own lengths), or -1.  AX_PAD bytes behind each string are readable.
 * *ascii is cleared when a byte is above 0x7f. */
bool ax_utf8_ok(const uint8_t *base, const uint32_t *off, const uint32_t *len, uint32_t n,
                int gap, bool *ascii);

#endif
