/* Compiles the kernels once per instruction set and picks a table.
 *
 * One body, included up to three times under target pragmas: gcc's target_clones crash in a
 * loaded module when compiled by clang, ifunc does not exist everywhere.  A static inline function
 * must be defined inside its region, or it is compiled for the baseline and never inlined; hence
 * everything the kernels need is in the .inc files. */
#include "func/kernel.h"

#include "base/bytes.h"
#include "base/cpu.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define K_X86 1
#endif

#define K_INLINE static inline __attribute__((always_inline))
#define K_CAT3(a, b) a##_##b
#define K_CAT2(a, b) K_CAT3(a, b)
#define K(name) K_CAT2(name, K_SUFFIX)

#ifdef K_X86
/* Positions of the set bits of a byte, for compressing eight rows at a time. */
static uint8_t compress_table[256][8];

__attribute__((constructor)) static void compress_table_fill(void)
{
    for (uint32_t m = 0; m < 256; m++)
        for (uint32_t bit = 0, q = 0; bit < 8; bit++)
            if (m >> bit & 1)
                compress_table[m][q++] = (uint8_t) bit;
}
#endif

#define K_SUFFIX base
#define K_LEVEL 0
#include "func/kernels.inc"
#undef K_SUFFIX
#undef K_LEVEL

#ifdef K_X86

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("arch=x86-64-v3"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#endif
#define K_SUFFIX v3
#define K_LEVEL 3
#include "func/kernels.inc"
#undef K_SUFFIX
#undef K_LEVEL
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#ifdef __clang__
#pragma clang attribute push(                                                                      \
    __attribute__((target("arch=x86-64-v4,avx512vbmi,avx512vbmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4", "avx512vbmi", "avx512vbmi2", "prefer-vector-width=512")
#endif
#define K_SUFFIX v4
#define K_LEVEL 4
#include "func/kernels.inc"
#undef K_SUFFIX
#undef K_LEVEL
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif /* K_X86 */

const ax_kernels *ax_k_get(void)
{
#ifdef K_X86
    ax_cpu_level level = ax_cpu_get();

    if (level >= AX_CPU_X86V4)
        return &kernels_v4;
    if (level >= AX_CPU_X86V3)
        return &kernels_v3;
#endif
    return &kernels_base;
}

/* Expected frequency class of a byte in web text, 0 = rare.  Only the order matters. */
static uint32_t byte_class(uint8_t c)
{
    static const char common[] = "etaoinsrlhdcumpfgwyb/.-%=&?:_0123456789";
    const char *at = c != 0 ? strchr(common, c) : NULL;

    if (at != NULL)
        return 60 - (uint32_t) (at - common);
    if (c < 0x20)
        return 70; /* looks like the length of a string */
    return c >= 0x80 ? 30 : 10;
}

ax_needle ax_needle_make(const uint8_t *p, uint32_t n)
{
    ax_needle r = {.p = p, .n = n};
    uint32_t limit = n < 64 ? n : 64, best = UINT32_MAX, second = UINT32_MAX, x = 0, y = 0;

    for (uint32_t i = 0; i < limit; i++)
    {
        uint32_t c = byte_class(p[i]);

        if (c < best)
        {
            second = best;
            y = x;
            best = c;
            x = i;
        }
        else if (c < second)
        {
            second = c;
            y = i;
        }
    }
    if (n == 1)
        y = x;
    r.a = x < y ? x : y;
    r.b = x < y ? y : x;
    return r;
}
