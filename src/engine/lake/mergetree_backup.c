/* The index of a BACKUP, which says where the bytes of each file are: files with equal bytes are
 * stored once, under the name of one of them, and unchanged ones only in the base backup.
 *
 *      <config><version>1</version> ... [<base_backup>File('b1')</base_backup>]
 *       <contents><file><name>..</name><size>..</size>[<checksum>..</checksum>]
 *                       [<data_file>..</data_file>][<use_base>true</use_base>]</file> ...
 *       </contents></config>
 *
 * It is XML as its writer makes it: elements without attributes, the five named entities.  Anything
 * else is refused.
 *
 * Format: docs/formats/mergetree.md, "Backups". */
#include "lake/mergetree_int.h"

#include <stdlib.h>
#include <string.h>

/* What stands between <tag> and </tag> in s[0, end); NULL: there is no such element. */
static const char *element(const char *s, const char *end, const char *tag, size_t *n)
{
    size_t len = strlen(tag);

    while (s < end && (s = memchr(s, '<', (size_t) (end - s))) != NULL)
    {
        const char *body = s + len + 2, *p = body;

        s++;
        if ((size_t) (end - s) < len + 1 || memcmp(s, tag, len) != 0 || s[len] != '>')
            continue;
        for (; (p = memchr(p, '<', (size_t) (end - p))) != NULL; p++)
            if ((size_t) (end - p) >= len + 3 && p[1] == '/' && memcmp(p + 2, tag, len) == 0 &&
                p[len + 2] == '>')
            {
                *n = (size_t) (p - body);
                return body;
            }
        return NULL;
    }
    return NULL;
}

static ax_status text(ax_task *t, ax_arena *a, const char *s, size_t n, const char **out)
{
    static const struct { const char *name; char c; } entity[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t at = 0, len = 0;
    char *p;

    AX_NEW(t, p, (char *) ax_arena_alloc(a, n + 1));
    while (at < n)
    {
        bool known = s[at] != '&';

        for (size_t i = 0; !known && i < sizeof entity / sizeof entity[0]; i++)
            if (n - at >= strlen(entity[i].name) &&
                memcmp(s + at, entity[i].name, strlen(entity[i].name)) == 0)
            {
                p[len++] = entity[i].c;
                at += strlen(entity[i].name);
                known = true;
            }
        AX_CHECK(t, known, AX_ECORRUPT, "index of the backup has an entity that is not known");
        if (at < n && s[at] != '&')
            p[len++] = s[at++];
    }
    p[len] = '\0';
    *out = p;
    return AX_OK;
}

static bool decimal(const char *s, size_t n, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
    {
        if (s[i] < '0' || s[i] > '9' || v > (UINT64_MAX >> 1) / 10)
            return false;
        v = v * 10 + (uint64_t) (s[i] - '0');
    }
    *out = v;
    return n > 0;
}

static ax_status one_file(ax_task *t, ax_arena *a, const char *s, const char *end,
                          ax_backup_file *f)
{
    const char *v;
    size_t n;

    v = element(s, end, "name", &n);
    AX_CHECK(t, v != NULL, AX_ECORRUPT, "index of the backup has a file without a name");
    AX_TRY(text(t, a, v, n, &f->name));
    v = element(s, end, "size", &n);
    AX_CHECK(t, v != NULL && decimal(v, n, &f->size), AX_ECORRUPT,
             "index of the backup has a file without a size");
    v = element(s, end, "data_file", &n);
    if (v != NULL)
        AX_TRY(text(t, a, v, n, &f->data_file));
    AX_CHECK(t, ax_tree_name_ok(f->name) && (v == NULL || ax_tree_name_ok(f->data_file)),
             AX_ECORRUPT, "index of the backup has a file outside of the backup");
    v = element(s, end, "checksum", &n);
    AX_CHECK(t, v != NULL ? n == 32 : f->size == 0, AX_ECORRUPT,
             "index of the backup has a file without a checksum");
    if (v != NULL)
        memcpy(f->checksum, v, 32);
    v = element(s, end, "use_base", &n);
    f->use_base = v != NULL && n == 4 && memcmp(v, "true", 4) == 0;
    AX_CHECK(t, element(s, end, "encrypted_by_disk", &n) == NULL, AX_EUNSUPPORTED,
             "backup is of an encrypted disk");
    v = element(s, end, "base_size", &n);
    AX_CHECK(t, v == NULL, AX_EUNSUPPORTED,
             "backup has a file of which its base has the beginning");
    return AX_OK;
}

ax_status ax_backup_parse(ax_task *t, ax_arena *a, const char *s, size_t n, ax_backup *out)
{
    const char *end = s + n, *v, *p, *stop;
    uint64_t version = 0;
    uint32_t cap = 0;
    size_t len;

    memset(out, 0, sizeof *out);
    AX_CHECK(t, memmem(s, n, "<!", 2) == NULL, AX_ECORRUPT, "index of the backup has declarations");
    v = element(s, end, "config", &len);
    AX_CHECK(t, v != NULL, AX_ECORRUPT, "index of the backup is not complete");
    end = v + len;
    p = element(v, end, "contents", &len);
    AX_CHECK(t, p != NULL, AX_ECORRUPT, "index of the backup is not complete");
    stop = p + len;
    s = v;
    v = element(s, p, "version", &len);
    AX_CHECK(t, v != NULL && decimal(v, len, &version) && version == 1, AX_EUNSUPPORTED,
             "index of the backup has version %llu", (unsigned long long) version);
    v = element(s, p, "base_backup", &len);
    if (v != NULL)
        AX_TRY(text(t, a, v, len, &out->base));
    for (const char *q = p; (q = memmem(q, (size_t) (stop - q), "<file>", 6)) != NULL; q += 6)
        cap++;
    AX_NEW(t, out->file, (ax_backup_file *) ax_arena_alloc0(a, (cap + 1u) * sizeof *out->file));
    while ((v = element(p, stop, "file", &len)) != NULL && out->n < cap)
    {
        AX_TRY(one_file(t, a, v, v + len, &out->file[out->n++]));
        p = v + len + 7;
    }
    AX_CHECK(t, out->n == cap, AX_ECORRUPT, "index of the backup is not complete");
    return AX_OK;
}

ax_status ax_backup_base_name(ax_task *t, ax_arena *a, const char *base, const char **out)
{
    const char *close = strrchr(base, '\''), *open = close;

    while (open != NULL && open > base && open[-1] != '\'')
        open--;
    AX_CHECK(t, open != NULL && open > base && close > open, AX_EUNSUPPORTED,
             "base backup \"%s\" is not known", base);
    while (close > open && close[-1] == '/')
        close--;
    for (const char *p = open; p < close; p++)
        if (*p == '/')
            open = p + 1;
    AX_NEW(t, *out, ax_arena_strndup(a, open, (size_t) (close - open)));
    AX_CHECK(t, ax_tree_name_ok(*out), AX_EUNSUPPORTED, "base backup \"%s\" is not known", base);
    return AX_OK;
}
