/* Replays a table of a real server's answers (tools/gen/golden.py): calls back per line and
 * compares texts, showing the first lines that differ. */
#ifndef AX_GOLDEN_TEST_H
#define AX_GOLDEN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_FIELDS 8

typedef struct golden_line
{
    uint32_t n;                   /* fields, the result included */
    const char *f[GOLDEN_FIELDS]; /* f[0] is the operation; missing ones are empty */
    const char *want;
} golden_line;

/* Write the answer into got; false: the line is none of the caller's. */
typedef bool (*golden_fn)(const golden_line *l, char *got, size_t size);
/* Is a difference allowed? */
typedef bool (*golden_excuse)(const golden_line *l, const char *got);

static void golden_replay(const char *name, golden_fn fn, golden_excuse excuse)
{
    static char line[1 << 16], got[1 << 16];
    char path[256];
    uint32_t lines = 0, bad = 0;
    FILE *f;

    snprintf(path, sizeof(path), "test/golden/%s", name);
    f = fopen(path, "r");
    if (f == NULL)
        fail_msg("cannot open %s", path);
    while (fgets(line, sizeof(line), f) != NULL)
    {
        golden_line l = {0};
        char shown[256];

        line[strcspn(line, "\n")] = 0;
        snprintf(shown, sizeof(shown), "%.250s", line);
        for (char *p = line; p != NULL && l.n < GOLDEN_FIELDS;)
        {
            char *tab = strchr(p, '\t');

            l.f[l.n++] = p;
            if (tab != NULL)
                *tab++ = 0;
            p = tab;
        }
        l.want = l.f[l.n - 1];
        for (uint32_t i = l.n; i < GOLDEN_FIELDS; i++)
            l.f[i] = "";
        if (!fn(&l, got, sizeof(got)))
            continue;
        lines++;
        if (strcmp(got, l.want) != 0 && (excuse == NULL || !excuse(&l, got)) && bad++ < 20)
            print_error("%s -> %.200s\n", shown, got);
    }
    fclose(f);
    assert_true(lines > 1000);
    assert_int_equal(bad, 0);
}

/* "!22012", or false for AX_OK. */
static inline bool golden_failed(ax_status s, char *got, size_t size)
{
    if (s != AX_OK)
        snprintf(got, size, "!%s", s == AX_EBEYOND ? "BEYOND" : ax_status_sqlstate(s));
    return s != AX_OK;
}

static inline int64_t golden_int(const char *s) { return strtoll(s, NULL, 10); }

static inline double golden_f64(const char *hex)
{
    uint64_t bits = strtoull(hex, NULL, 16);
    double f;

    memcpy(&f, &bits, 8);
    return f;
}

static inline float golden_f32(const char *hex)
{
    uint32_t bits = (uint32_t) strtoul(hex, NULL, 16);
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

/* NaN has many forms; the server makes this one. */
static inline void golden_put_f64(double f, char *got, size_t size)
{
    uint64_t bits;

    memcpy(&bits, &f, 8);
    snprintf(got, size, "%016llx",
             f != f ? 0x7ff8000000000000ull : (unsigned long long) bits);
}

static inline void golden_put_f32(float f, char *got, size_t size)
{
    uint32_t bits;

    memcpy(&bits, &f, 4);
    snprintf(got, size, "%08x", f != f ? 0x7fc00000u : bits);
}

#endif
