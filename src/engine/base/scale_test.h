/* How much work a test does.
 *
 * Under a sanitizer or an emulator a program is 10 to 40 times slower, and what is looked for there
 * needs no large tables: the makefile sets AX_TEST_DIVISOR, and random cases are so much fewer or
 * smaller. */
#ifndef AX_SCALE_TEST_H
#define AX_SCALE_TEST_H

#include <stdint.h>

#ifndef AX_TEST_DIVISOR
#define AX_TEST_DIVISOR 1u
#endif

/* Rounds, or rows of a table, here; at least one. */
static inline uint32_t ax_test_scale(uint32_t n)
{
    return n > AX_TEST_DIVISOR ? n / AX_TEST_DIVISOR : 1;
}

#endif
