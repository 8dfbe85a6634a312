/* Processor level, and how much of the machine this process may use.
 *
 * Format: Linux cgroup v2 cpu.max "<quota|max> <period>" and memory.max "<bytes|max>"; v1
 * cpu.cfs_quota_us, cpu.cfs_period_us, memory.limit_in_bytes.  Every level from the process's
 * group up to the mount counts; a container usually sees its own group as the root. */
#include "base/cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic int chosen_level = -1;

static const char *const level_names[AX_CPU_LEVEL_CNT] = {
    [AX_CPU_BASE] = "base",
    [AX_CPU_X86V2] = "x86v2",
    [AX_CPU_X86V3] = "x86v3",
    [AX_CPU_X86V4] = "x86v4",
};

ax_cpu_level ax_cpu_detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt") ||
        !__builtin_cpu_supports("ssse3"))
        return AX_CPU_BASE;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma"))
        return AX_CPU_X86V2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vbmi2"))
        return AX_CPU_X86V3;
    return AX_CPU_X86V4;
#else
    return AX_CPU_BASE;
#endif
}

static ax_cpu_level level_at_most(ax_cpu_level wanted)
{
    ax_cpu_level have = ax_cpu_detect();

    return wanted < have ? wanted : have;
}

ax_cpu_level ax_cpu_get(void)
{
    int level = atomic_load_explicit(&chosen_level, memory_order_relaxed);

    if (level < 0)
    {
        const char *env = getenv("AX_CPU");

        /* Threads that race here compute the same answer. */
        level = (int) ax_cpu_detect();
        for (int i = 0; env != NULL && i < AX_CPU_LEVEL_CNT; i++)
            if (strcmp(env, level_names[i]) == 0)
                level = (int) level_at_most((ax_cpu_level) i);
        atomic_store_explicit(&chosen_level, level, memory_order_relaxed);
    }
    return (ax_cpu_level) level;
}

void ax_cpu_force(ax_cpu_level level)
{
    atomic_store_explicit(&chosen_level, (int) level_at_most(level), memory_order_relaxed);
}

const char *ax_cpu_name(ax_cpu_level level)
{
    return (unsigned) level < AX_CPU_LEVEL_CNT ? level_names[level] : "unknown";
}

/* ---- limits of the process ------------------------------------------------------------------- */

#define CGROUP_ROOT "/sys/fs/cgroup"

/* A small pseudo file as a terminated string; false when it cannot be read. */
static bool read_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, buf, size - 1);
    close(fd);
    if (n < 0)
        return false;
    buf[n] = '\0';
    return true;
}

/* The process's group below the mount of one controller ("" is the unified hierarchy of v2). */
static bool own_group(const char *controller, char *out, size_t size)
{
    char text[4096];
    char *save = NULL;

    if (!read_text("/proc/self/cgroup", text, sizeof text))
        return false;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
    {
        char *names = strchr(line, ':');
        char *path = names != NULL ? strchr(names + 1, ':') : NULL;

        if (path == NULL)
            continue;
        *path++ = '\0';
        names++;
        if (controller[0] == '\0' ? names[0] != '\0' : strstr(names, controller) == NULL)
            continue;
        snprintf(out, size, "%s", path);
        return true;
    }
    return false;
}

typedef void (*group_fn)(const char *dir, void *arg);

/* Call fn for the group's directory and for all above it, the root of the mount last. */
static void walk_groups(const char *controller, const char *mount, group_fn fn, void *arg)
{
    char group[1024] = "";
    char dir[1280];

    (void) own_group(controller, group, sizeof group);
    for (;;)
    {
        char *slash;

        snprintf(dir, sizeof dir, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
        fn(dir, arg);
        slash = strrchr(group, '/');
        if (slash == NULL || group[1] == '\0')
            break;
        *slash = '\0';
    }
}

static void cpu_limit_v2(const char *dir, void *arg)
{
    double *limit = (double *) arg;
    char path[1400], text[128];
    double quota, period;

    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (read_text(path, text, sizeof text) && sscanf(text, "%lf %lf", &quota, &period) == 2 &&
        quota > 0 && period > 0 && quota / period < *limit)
        *limit = quota / period;
}

static void cpu_limit_v1(const char *dir, void *arg)
{
    double *limit = (double *) arg;
    char path[1400], quota_text[64], period_text[64];
    double quota, period;

    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    if (!read_text(path, quota_text, sizeof quota_text))
        return;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    if (!read_text(path, period_text, sizeof period_text))
        return;
    quota = strtod(quota_text, NULL);
    period = strtod(period_text, NULL);
    if (quota > 0 && period > 0 && quota / period < *limit)
        *limit = quota / period;
}

static void memory_limit_file(const char *dir, const char *name, uint64_t *limit)
{
    char path[1400], text[64], *end;
    unsigned long long v;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!read_text(path, text, sizeof text))
        return;
    v = strtoull(text, &end, 10);
    if (end != text && v > 0 && v < *limit)
        *limit = v;
}

static void memory_limit_v2(const char *dir, void *arg)
{
    memory_limit_file(dir, "memory.max", (uint64_t *) arg);
}

static void memory_limit_v1(const char *dir, void *arg)
{
    memory_limit_file(dir, "memory.limit_in_bytes", (uint64_t *) arg);
}

uint32_t ax_cpu_count(void)
{
    cpu_set_t set;
    double limit = 1e9;
    long cnt = 0;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cnt = CPU_COUNT(&set);
    else
        cnt = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than cpu_set_t has bits */
    walk_groups("", CGROUP_ROOT, cpu_limit_v2, &limit);
    walk_groups("cpu", CGROUP_ROOT "/cpu", cpu_limit_v1, &limit);
    if (limit < (double) cnt)
        cnt = (long) (limit + 0.5);
    return cnt < 1 ? 1 : (uint32_t) cnt;
}

uint64_t ax_cpu_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && page_bytes > 0 ? (uint64_t) pages * (uint64_t) page_bytes
                                                 : (uint64_t) 1 << 30;

    walk_groups("", CGROUP_ROOT, memory_limit_v2, &limit);
    walk_groups("memory", CGROUP_ROOT "/memory", memory_limit_v1, &limit);
    return limit;
}
