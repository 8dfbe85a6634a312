/* serialization.json: which columns are sparse, and which version of a type's serialization is
 * used.
 *
 * A small reader of JSON, strict and bounded in depth; keys that are not known are stepped over,
 * versions that are not known refuse the part.
 *
 * Format: mergetree.md, "serialization.json". */
#include "mergetree_int.h"

typedef struct json { ax_task *t; ax_arena *a; const uint8_t *p, *end; int depth; } json;

static ax_status bad(json *j) AX_COLD;
static ax_status bad(json *j)
{
    return ax_fail(j->t, AX_ECORRUPT, "serialization.json is malformed at byte %td from its end",
                   j->end - j->p);
}

static void blanks(json *j)
{
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
        j->p++;
}

static bool accept(json *j, char ch)
{
    blanks(j);
    if (j->p == j->end || *j->p != (uint8_t) ch)
        return false;
    j->p++;
    return true;
}

/* Four hex digits, as UTF-8 at *at. */
static bool code_point(json *j, char **at)
{
    uint32_t v = 0;
    int i;

    if (j->end - j->p < 4)
        return false;
    for (i = 0; i < 4; i++)
    {
        uint8_t ch = *j->p++, low = ch | 0x20;

        if (ch >= '0' && ch <= '9')
            v = v << 4 | (uint32_t) (ch - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (uint32_t) (low - 'a' + 10);
        else
            return false;
    }
    if (v == 0)
        return false;
    if (v >= 0x800)
    {
        *(*at)++ = (char) (0xe0 | v >> 12);
        *(*at)++ = (char) (0x80 | (v >> 6 & 0x3f));
        *(*at)++ = (char) (0x80 | (v & 0x3f));
    }
    else if (v >= 0x80)
    {
        *(*at)++ = (char) (0xc0 | v >> 6);
        *(*at)++ = (char) (0x80 | (v & 0x3f));
    }
    else
        *(*at)++ = (char) v;
    return true;
}

static ax_status string(json *j, const char **out)
{
    char *s, *at;

    if (!accept(j, '"'))
        return bad(j);
    AX_NEW(j->t, s, (char *) ax_arena_alloc(j->a, (size_t) (j->end - j->p) + 1));
    at = s;
    while (j->p < j->end && *j->p != '"')
    {
        char ch = (char) *j->p++;

        if (ch != '\\')
        {
            *at++ = ch;
            continue;
        }
        if (j->p == j->end)
            return bad(j);
        ch = (char) *j->p++;
        if (ch == 'u')
        {
            if (!code_point(j, &at))
                return bad(j);
            continue;
        }
        *at++ = ch == 'n' ? '\n' : ch == 't' ? '\t' : ch == 'r' ? '\r' : ch == 'b' ? '\b'
                : ch == 'f' ? '\f' : ch;
    }
    if (!accept(j, '"'))
        return bad(j);
    AX_NEW(j->t, *out, ax_arena_strndup(j->a, s, (size_t) (at - s)));
    return AX_OK;
}

static ax_status number(json *j, uint64_t *out)
{
    const uint8_t *start;

    blanks(j);
    start = j->p;
    *out = 0;
    while (j->p < j->end && *j->p >= '0' && *j->p <= '9' && j->p - start < 19)
        *out = *out * 10 + (uint64_t) (*j->p++ - '0');
    return j->p > start ? AX_OK : bad(j);
}

static ax_status boolean(json *j, bool *out)
{
    blanks(j);
    *out = j->end - j->p >= 4 && memcmp(j->p, "true", 4) == 0;
    if (!*out && (j->end - j->p < 5 || memcmp(j->p, "false", 5) != 0))
        return bad(j);
    j->p += *out ? 4 : 5;
    return AX_OK;
}

static ax_status skip(json *j)
{
    const char *s;
    bool object;

    blanks(j);
    if (j->p == j->end)
        return bad(j);
    if (*j->p == '"')
        return string(j, &s);
    object = *j->p == '{';
    if (!object && *j->p != '[')
    {
        const uint8_t *start = j->p;

        while (j->p < j->end && memchr(",]} \n\t\r", *j->p, 7) == NULL)
            j->p++;
        return j->p > start ? AX_OK : bad(j);
    }
    AX_CHECK(j->t, ++j->depth < MT_MAX_DEPTH, AX_ECORRUPT, "serialization.json is nested too deep");
    j->p++;
    while (!accept(j, object ? '}' : ']'))
    {
        if (object)
        {
            AX_TRY(string(j, &s));
            if (!accept(j, ':'))
                return bad(j);
        }
        AX_TRY(skip(j));
        (void) accept(j, ',');
    }
    j->depth--;
    return AX_OK;
}

/* The next key of an object; NULL at its end. */
static ax_status key(json *j, bool *first, const char **out)
{
    *out = NULL;
    if (*first)
    {
        if (!accept(j, '{'))
            return bad(j);
    }
    if (accept(j, '}'))
        return AX_OK;
    if (!*first && !accept(j, ','))
        return bad(j);
    *first = false;
    AX_TRY(string(j, out));
    return accept(j, ':') ? AX_OK : bad(j);
}

static ax_status kind_object(json *j, const char **name, ax_mt_kind *kind);

/* An array of such objects. */
static ax_status kinds(json *j, uint32_t *n, const char ***names, ax_mt_kind **list)
{
    uint32_t cap = 0;

    *n = 0;
    *list = NULL;
    AX_CHECK(j->t, ++j->depth < MT_MAX_DEPTH, AX_ECORRUPT, "serialization.json is nested too deep");
    if (!accept(j, '['))
        return bad(j);
    while (!accept(j, ']'))
    {
        const char *name = NULL;

        if (*n == cap)
        {
            uint32_t grown = cap == 0 ? 8 : cap * 2;
            ax_mt_kind *k;
            const char **s;

            AX_NEW(j->t, k, (ax_mt_kind *) ax_arena_alloc0(j->a, grown * sizeof *k));
            AX_NEW(j->t, s, (const char **) ax_arena_alloc0(j->a, grown * sizeof *s));
            if (cap > 0)
            {
                memcpy(k, *list, cap * sizeof *k);
                memcpy(s, *names, cap * sizeof *s);
            }
            *list = k;
            *names = s;
            cap = grown;
        }
        AX_TRY(kind_object(j, &name, &(*list)[*n]));
        (*names)[(*n)++] = name;
        if (!accept(j, ','))
        {
            if (!accept(j, ']'))
                return bad(j);
            break;
        }
    }
    j->depth--;
    return AX_OK;
}

static ax_status kind_object(json *j, const char **name, ax_mt_kind *kind)
{
    const char *k, *s;
    const char **ignored;
    bool first = true;

    for (;;)
    {
        AX_TRY(key(j, &first, &k));
        if (k == NULL)
            return AX_OK;
        if (strcmp(k, "name") == 0)
            AX_TRY(string(j, name));
        else if (strcmp(k, "kind") == 0)
        {
            AX_TRY(string(j, &s));
            kind->sparse = strcmp(s, "Sparse") == 0;
            AX_CHECK(j->t, kind->sparse || strcmp(s, "Default") == 0, AX_EUNSUPPORTED,
                     "serialization of kind \"%s\" is not known", s);
        }
        else if (strcmp(k, "subcolumns") == 0)
            AX_TRY(kinds(j, &kind->nsub, &ignored, &kind->sub));
        else
            AX_TRY(skip(j));
    }
}

static ax_status version_of(json *j, const char *type, ax_mt_serinfo *out)
{
    uint64_t v;

    AX_TRY(number(j, &v));
    if (strcmp(type, "string") != 0 && strcmp(type, "nullable") != 0 && strcmp(type, "map") != 0)
        return AX_OK;
    AX_CHECK(j->t, v <= 1, AX_EUNSUPPORTED, "serialization version %llu of %s is not known",
             (unsigned long long) v, type);
    *(type[0] == 's' ? &out->string : type[0] == 'n' ? &out->nullable : &out->map) = (uint8_t) v;
    return AX_OK;
}

static ax_status versions(json *j, ax_mt_serinfo *out)
{
    bool first = true;
    const char *k;

    for (;;)
    {
        AX_TRY(key(j, &first, &k));
        if (k == NULL)
            return AX_OK;
        AX_TRY(version_of(j, k, out));
    }
}

ax_status ax_mt_serinfo_parse(ax_task *t, ax_arena *a, const uint8_t *s, size_t n,
                              ax_mt_serinfo *out)
{
    json j = {t, a, s, s + n, 0};
    uint64_t version = 0;
    bool first = true;
    const char *k;

    memset(out, 0, sizeof *out);
    for (;;)
    {
        AX_TRY(key(&j, &first, &k));
        if (k == NULL)
            break;
        if (strcmp(k, "version") == 0)
            AX_TRY(number(&j, &version));
        else if (strcmp(k, "columns") == 0)
            AX_TRY(kinds(&j, &out->n, &out->name, &out->kind));
        else if (strcmp(k, "types_serialization_versions") == 0)
            AX_TRY(versions(&j, out));
        else if (strcmp(k, "propagate_types_serialization_versions_to_nested_types") == 0)
            AX_TRY(boolean(&j, &out->propagate));
        else
            AX_TRY(skip(&j));
    }
    blanks(&j);
    if (j.p != j.end)
        return bad(&j);
    AX_CHECK(t, version <= 1, AX_EUNSUPPORTED, "serialization.json has version %llu",
             (unsigned long long) version);
    return AX_OK;
}
