/* Files of object-storage disks whose metadata is local: small texts that say where the bytes are.
 *
 *      <version>\n <objects>\t<size>\n { <size>\t<key>\n } <hard links>\n
 *      [<read only>\n [<data>\n]]
 *
 * Keys are below the disk's root (versions 2 to 4) or below the bucket (1 and 5), which is the root
 * without its last directories.
 *
 * Format: docs/formats/mergetree.md, "Disks". */
#include "lake/mergetree_int.h"

#include "base/bytes.h"

#include <string.h>

static bool number(ax_cur *c, char stop, uint64_t *out)
{
    uint64_t v = 0;
    bool any = false;

    while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
    {
        if (v > (UINT64_MAX >> 1) / 10)
            return false;
        v = v * 10 + (uint64_t) (*c->p++ - '0');
        any = true;
    }
    if (!any || c->p == c->end || *c->p != stop)
        return false;
    c->p++;
    *out = v;
    return true;
}

/* A key up to its line's end, without escapes. */
static ax_status key(ax_task *t, ax_arena *a, ax_cur *c, char **out)
{
    size_t n = 0, left = (size_t) (c->end - c->p);
    char *k;

    AX_NEW(t, k, (char *) ax_arena_alloc(a, left + 1));
    while (c->p < c->end && *c->p != '\n')
    {
        char ch = (char) *c->p++;

        if (ch == '\\' && c->p < c->end)
        {
            ch = (char) *c->p++;
            ch = ch == 't' ? '\t' : ch == 'n' ? '\n' : ch;
        }
        k[n++] = ch;
    }
    k[n] = '\0';
    AX_CHECK(t, c->p < c->end, AX_ECORRUPT, "metadata of the disk ends early");
    c->p++;
    AX_CHECK(t, ax_tree_name_ok(k), AX_ECORRUPT, "key of an object leads out of the disk");
    *out = k;
    return AX_OK;
}

/* How many first bytes of `key`, directories with their slashes, are the last ones of `root`? */
static size_t overlap(const char *root, size_t nroot, const char *key)
{
    size_t best = 0;

    for (const char *p = strchr(key, '/'); p != NULL; p = strchr(p + 1, '/'))
    {
        size_t n = (size_t) (p - key);

        if (n <= nroot && memcmp(root + nroot - n, key, n) == 0 &&
            (n == nroot || root[nroot - n - 1] == '/'))
            best = n;
    }
    return best;
}

ax_status ax_disk_file_parse(ax_task *t, ax_arena *a, const char *objects, const char *s, size_t n,
                             uint64_t *size, const char **uri)
{
    ax_cur c = ax_cur_make((const uint8_t *) s, n);
    uint64_t version, count, one;
    size_t nroot = strlen(objects);
    char *k = NULL, *path;

    *uri = NULL;
    AX_CHECK(t, number(&c, '\n', &version) && version >= 1 && version <= 5, AX_ECORRUPT,
             "file is no metadata of a disk");
    AX_CHECK(t, number(&c, '\t', &count) && number(&c, '\n', size), AX_ECORRUPT,
             "metadata of the disk ends early");
    AX_CHECK(t, count <= n, AX_ECORRUPT, "metadata of the disk has no room for %llu objects",
             (unsigned long long) count);
    AX_CHECK(t, count <= 1, AX_EUNSUPPORTED, "file consists of %llu objects",
             (unsigned long long) count);
    AX_CHECK(t, count == 1 || *size == 0, AX_EUNSUPPORTED,
             "file lies in the metadata of the disk itself");
    if (count == 0)
        return AX_OK;
    AX_CHECK(t, number(&c, '\t', &one) && one == *size, AX_ECORRUPT,
             "sizes in the metadata of the disk do not agree");
    AX_TRY(key(t, a, &c, &k));
    while (nroot > 1 && objects[nroot - 1] == '/')
        nroot--;
    if (version == 1 || version == 5)
        nroot -= overlap(objects, nroot, k);
    AX_NEW(t, path, (char *) ax_arena_alloc(a, nroot + strlen(k) + 2));
    memcpy(path, objects, nroot);
    if (nroot > 0 && path[nroot - 1] != '/')
        path[nroot++] = '/';
    memcpy(path + nroot, k, strlen(k) + 1);
    *uri = path;
    return AX_OK;
}
