/* Members of tar archives: names, and where their bytes begin.
 *
 *      +0 name[100]  +124 size[12], octal  +156 type  +257 "ustar"  +345 prefix[155]
 *
 * Headers are 512 bytes, and bodies padded to that.  Names too long for a header stand in the body
 * of a member before it: type L (GNU), or `path=` of type x (POSIX).
 *
 * Format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header". */
#include "lake/mergetree_int.h"

#include <string.h>

enum { BLOCK = 512, MAX_NAME_BYTES = 65536, WINDOW = 256 << 10 };

/* Octal digits, or a binary number behind 0x80. */
static bool size_of(const uint8_t *p, uint64_t *out)
{
    uint64_t v = 0;
    int i = 0;

    if (p[0] == 0x80)
    {
        for (i = 4; i < 12; i++)
            v = v << 8 | p[i];
        *out = v;
        return v <= INT64_MAX;
    }
    for (; i < 12 && p[i] == ' '; i++)
        ;
    for (; i < 12 && p[i] >= '0' && p[i] <= '7'; i++)
        v = v << 3 | (uint64_t) (p[i] - '0');
    *out = v;
    return i == 12 || p[i] == 0 || p[i] == ' ';
}

static bool sum_ok(const uint8_t *h)
{
    uint32_t sum = 8 * ' ', told = 0;
    int i;

    for (i = 0; i < BLOCK; i++)
        sum += i < 148 || i >= 156 ? h[i] : 0;
    for (i = 148; i < 156 && h[i] == ' '; i++)
        ;
    for (; i < 156 && h[i] >= '0' && h[i] <= '7'; i++)
        told = told * 8 + (uint32_t) (h[i] - '0');
    return sum == told;
}

static ax_status header_name(ax_task *t, ax_tar *tar, const uint8_t *h, const char **out)
{
    size_t np = 0, nn = strnlen((const char *) h, 100);
    char *s;

    if (memcmp(h + 257, "ustar", 5) == 0 && h[345] != 0)
        np = strnlen((const char *) h + 345, 155);
    AX_NEW(t, s, (char *) ax_arena_alloc(tar->arena, np + nn + 2));
    if (np > 0)
    {
        memcpy(s, h + 345, np);
        s[np++] = '/';
    }
    memcpy(s + np, h, nn);
    s[np + nn] = '\0';
    *out = strncmp(s, "./", 2) == 0 ? s + 2 : s;
    return AX_OK;
}

/* path=<name> among records of "<length> <key>=<value>\n". */
static ax_status pax_name(ax_task *t, ax_tar *tar, const char *s, size_t n)
{
    const char *at = memmem(s, n, " path=", 6), *end;

    if (at == NULL)
        return AX_OK;
    at += 6;
    end = memchr(at, '\n', n - (size_t) (at - s));
    AX_CHECK(t, end != NULL, AX_ECORRUPT, "archive has a header without an end");
    AX_NEW(t, tar->long_name, ax_arena_strndup(tar->arena, at, (size_t) (end - at)));
    return AX_OK;
}

static ax_status add(ax_task *t, ax_tar *tar, const char *name, uint64_t off, uint64_t size)
{
    if (tar->n == tar->cap)
    {
        uint32_t cap = tar->cap == 0 ? 256 : tar->cap * 2;
        ax_tree_file *file;
        uint64_t *offs;

        AX_CHECK(t, cap < (1u << 28), AX_ELIMIT, "archive has too many members");
        AX_NEW(t, file, (ax_tree_file *) ax_arena_alloc(tar->arena, cap * sizeof *file));
        AX_NEW(t, offs, (uint64_t *) ax_arena_alloc(tar->arena, cap * sizeof *offs));
        if (tar->n > 0)
        {
            memcpy(file, tar->file, tar->n * sizeof *file);
            memcpy(offs, tar->off, tar->n * sizeof *offs);
        }
        tar->file = file;
        tar->off = offs;
        tar->cap = cap;
    }
    tar->file[tar->n] = (ax_tree_file){.name = name, .size = size};
    tar->off[tar->n++] = off;
    return AX_OK;
}

/* The member whose header is h; whole: its body is in the window, too. */
static ax_status member(ax_task *t, ax_tar *tar, const uint8_t *h, uint64_t size)
{
    const char *name = NULL;

    switch (h[156])
    {
        case 'L':
            AX_NEW(t, tar->long_name,
                   ax_arena_strndup(tar->arena, (const char *) h + BLOCK,
                                    strnlen((const char *) h + BLOCK, size)));
            return AX_OK;
        case 'x':
            return pax_name(t, tar, (const char *) h + BLOCK, size);
        case '0':
        case '\0':
            AX_TRY(header_name(t, tar, h, &name));
            name = tar->long_name != NULL ? tar->long_name : name;
            tar->long_name = NULL;
            return add(t, tar, name, tar->pos + BLOCK, size);
        default:
            tar->long_name = NULL;
            return AX_OK;
    }
}

ax_status ax_tar_take(ax_task *t, ax_tar *tar, const uint8_t *s, size_t n, uint64_t size)
{
    static const uint8_t zeros[BLOCK];
    size_t at = 0;

    tar->window = WINDOW;
    while (n - at >= BLOCK)
    {
        const uint8_t *h = s + at;
        uint64_t body, total;

        if (memcmp(h, zeros, BLOCK) == 0)
        {
            tar->done = true;
            return AX_OK;
        }
        AX_CHECK(t, sum_ok(h) && size_of(h + 124, &body), AX_ECORRUPT,
                 "archive has no header at byte %llu", (unsigned long long) tar->pos);
        AX_CHECK(t, body <= size && tar->pos + BLOCK <= size - body, AX_ECORRUPT,
                 "archive ends inside a member");
        if (h[156] == 'L' || h[156] == 'x')
        {
            AX_CHECK(t, body <= MAX_NAME_BYTES, AX_ELIMIT, "archive has a name that is too long");
            if (n - at - BLOCK < body)
                break; /* begin the next window here */
        }
        AX_TRY(member(t, tar, h, body));
        total = BLOCK + (body + BLOCK - 1) / BLOCK * BLOCK;
        tar->pos += total;
        if (total > n - at)
            break;
        at += total;
    }
    tar->done = tar->pos + BLOCK > size;
    return AX_OK;
}
