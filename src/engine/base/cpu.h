/* What this processor can do; asked once.
 *
 * Kernels exist in up to four levels in one source file each; a table of function pointers is
 * filled at first use.  The environment variable AX_CPU=base|x86v2|x86v3|x86v4, read once by the
 * process that owns the engine, or ax_cpu_force, lowers the level so that tests cover all of them
 * on one machine; asking for more than the machine has gives what the machine has. */
#ifndef AX_CPU_H
#define AX_CPU_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ax_cpu_level
{
    AX_CPU_BASE,  /* portable C, any architecture */
    AX_CPU_X86V2, /* SSE4.2, POPCNT */
    AX_CPU_X86V3, /* AVX2, BMI2, FMA */
    AX_CPU_X86V4, /* AVX-512 F BW CD DQ VL plus VBMI2 */
    AX_CPU_LEVEL_CNT
} ax_cpu_level;

ax_cpu_level ax_cpu_detect(void);          /* what the machine has, uncached */
ax_cpu_level ax_cpu_get(void);             /* what to use */
void ax_cpu_force(ax_cpu_level level);     /* tests only, before other threads run */
const char *ax_cpu_name(ax_cpu_level level);

uint32_t ax_cpu_count(void);        /* cores this process may use: affinity and cgroup quota */
uint64_t ax_cpu_memory_bytes(void); /* memory this process may use: machine or cgroup */

#endif
