/* Partitions in paths: directories named key=value, as Hive, Spark and others write them.
 *
 * Format: names are cut at the first `=`; both sides are percent-encoded, and a `%` without two hex
 * digits stands for itself.  __HIVE_DEFAULT_PARTITION__ is SQL null.  Names of files never count.
 * What the values are (types, an empty one) is the business of who declared the column. */
#include "lake/lake_int.h"

#include <string.h>

#define NULL_VALUE "__HIVE_DEFAULT_PARTITION__"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static ax_status decode(ax_task *t, ax_arena *a, const char *s, size_t n, const char **out)
{
    char *to;
    size_t k = 0;

    AX_NEW(t, to, (char *) ax_arena_alloc(a, n + 1));
    *out = to;
    for (size_t i = 0; i < n; i++, k++)
    {
        int hi = s[i] == '%' && i + 2 < n ? hex(s[i + 1]) : -1, lo = hi >= 0 ? hex(s[i + 2]) : -1;

        /* A zero byte would end the text before its time. */
        if (lo >= 0 && hi + lo > 0)
        {
            to[k] = (char) (hi << 4 | lo);
            i += 2;
        }
        else
            to[k] = s[i];
    }
    to[k] = '\0';
    return AX_OK;
}

/* The next directory named key=value at or behind p; NULL: none before dir_end. */
static const char *next_part(const char *p, const char *dir_end, size_t *nkey, size_t *len)
{
    while (p < dir_end)
    {
        const char *slash = (const char *) memchr(p, '/', (size_t) (dir_end - p)), *eq;

        if (slash == NULL)
            slash = dir_end;
        *len = (size_t) (slash - p);
        eq = *len > 0 ? (const char *) memchr(p, '=', *len) : NULL;
        if (eq != NULL && eq > p)
        {
            *nkey = (size_t) (eq - p);
            return p;
        }
        p = slash + 1;
    }
    return NULL;
}

static ax_status parse(ax_task *t, ax_arena *a, ax_lake_file *f, size_t ndir)
{
    const char *end = f->path + ndir, *p;
    const char **name, **value;
    size_t nkey, len;
    uint32_t n = 0;

    for (p = f->path; (p = next_part(p, end, &nkey, &len)) != NULL; p += len)
        n++;
    if (n == 0)
        return AX_OK;
    AX_NEW(t, name, (const char **) ax_arena_alloc(a, n * sizeof *name));
    AX_NEW(t, value, (const char **) ax_arena_alloc(a, n * sizeof *value));
    n = 0;
    for (p = f->path; (p = next_part(p, end, &nkey, &len)) != NULL; p += len, n++)
    {
        const char *v = p + nkey + 1;
        size_t nv = len - nkey - 1;

        AX_TRY(decode(t, a, p, nkey, &name[n]));
        if (nv == sizeof NULL_VALUE - 1 && memcmp(v, NULL_VALUE, nv) == 0)
            value[n] = NULL;
        else
            AX_TRY(decode(t, a, v, nv, &value[n]));
    }
    f->part_name = name;
    f->part_value = value;
    f->nparts = n;
    return AX_OK;
}

ax_status ax_lake_hive(ax_task *t, ax_lake_list *l)
{
    size_t last_ndir = 0;

    for (uint32_t i = 0; i < l->n; i++)
    {
        ax_lake_file *f = &l->file[i], *last = i > 0 ? f - 1 : NULL;
        const char *slash = strrchr(f->path, '/');
        size_t ndir = slash != NULL ? (size_t) (slash - f->path) : 0;

        /* Files of one directory share its partition. */
        if (last != NULL && ndir == last_ndir && memcmp(f->path, last->path, ndir) == 0)
        {
            f->part_name = last->part_name;
            f->part_value = last->part_value;
            f->nparts = last->nparts;
        }
        else if (ndir > 0)
            AX_TRY(parse(t, l->arena, f, ndir));
        last_ndir = ndir;
    }
    return AX_OK;
}
