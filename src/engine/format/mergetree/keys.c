/* Keys: what the primary index and minmax_<column>.idx say of columns.
 *
 * The primary index has a row for each mark, one value for each expression of the key, in the form
 * of single values; only who knows the expressions can take it apart.  They come as text (option
 * primary_key): columns, elements of tuples, and functions whose result type is known.  When one of
 * them is not known the index is not used.
 *
 * Format: mergetree.md, "Primary index", "Single values". */
#include "mergetree_int.h"

#include <stdio.h>

/* ---- single values --------------------------------------------------------------------------- */

ax_status ax_mt_single(ax_task *t, const ax_mt_type *ty, ax_cur *c, ax_mt_value *out)
{
    const uint8_t *start = c->p;
    uint64_t n;

    out->null = false;
    if (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    if (ty->id == MT_NULLABLE)
    {
        ty = ty->child[0];
        out->null = ax_cur_u8(c) != 0;
        start = c->p;
        if (out->null)
        {
            *out = (ax_mt_value){start, 0, true};
            return c->bad ? ax_fail(t, AX_ECORRUPT, "key is cut off") : AX_OK;
        }
    }
    switch ((ax_mt_tid) ty->id)
    {
        case MT_STRING:
            n = ax_cur_varint(c);
            start = ax_cur_take(c, n);
            out->n = (uint32_t) n;
            break;
        case MT_TUPLE:
        case MT_ARRAY:
        case MT_MAP:
        {
            ax_mt_value part;
            uint64_t k = ty->id == MT_TUPLE ? 1 : ax_cur_varint(c);

            AX_CHECK(t, !c->bad && k <= ax_cur_left(c) + 1, AX_ECORRUPT, "key is cut off");
            for (uint64_t i = 0; i < k; i++)
                for (uint32_t e = 0; e < ty->nchild; e++)
                    AX_TRY(ax_mt_single(t, ty->child[e], c, &part));
            out->n = (uint32_t) (c->p - start);
            break;
        }
        default:
            AX_CHECK(t, ty->width > 0, AX_EUNSUPPORTED, "values of type %s in keys", ty->text);
            start = ax_cur_take(c, ty->width);
            out->n = ty->width;
    }
    AX_CHECK(t, !c->bad && out->n <= INT32_MAX, AX_ECORRUPT, "key is cut off");
    out->p = start;
    return AX_OK;
}

/* ---- expressions ----------------------------------------------------------------------------- */

typedef ax_mt_span text;

static text trimmed(text s)
{
    while (s.p < s.end && *s.p == ' ')
        s.p++;
    while (s.end > s.p && s.end[-1] == ' ')
        s.end--;
    return s;
}

static bool is(text s, const char *word)
{
    size_t n = strlen(word);

    return (size_t) (s.end - s.p) == n && memcmp(s.p, word, n) == 0;
}

bool ax_mt_next_piece(text *s, text *out)
{
    int depth = 0;
    const char *p = s->p;

    if (p >= s->end)
        return false;
    for (; p < s->end && !(depth == 0 && *p == ','); p++)
    {
        if (*p == '\'' || *p == '`')
        {
            char q = *p++;

            while (p < s->end && *p != q)
                p += *p == '\\' ? 2 : 1;
            if (p >= s->end)
                break;
        }
        depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
    }
    p = p < s->end ? p : s->end;
    *out = trimmed((text){s->p, p});
    s->p = p + 1;
    return true;
}

/* Is `s`, quoted or not, the name? */
static bool same_name(text s, const char *name)
{
    const char *p;

    if (s.p == s.end || *s.p != '`')
        return is(s, name);
    for (p = s.p + 1; p < s.end && *p != '`'; p++, name++)
    {
        p += *p == '\\' && p + 1 < s.end;
        if (*name != *p)
            return false;
    }
    return *name == '\0' && p + 1 == s.end;
}

static int32_t column_named(const ax_mt_part *p, text s)
{
    for (uint32_t i = 0; i < p->ncolumns; i++)
        if (!p->column[i].dropped && same_name(s, p->column[i].name))
            return (int32_t) i;
    return -1;
}

static const struct { const char *name; uint8_t fn; const char *type; } functions[] = {
    {"toDate", MT_K_DATE, "Date"}, {"toYYYYMM", MT_K_YYYYMM, "UInt32"},
    {"toYYYYMMDD", MT_K_YYYYMMDD, "UInt32"}, {"toYear", MT_K_YEAR, "UInt16"},
    {"toStartOfMonth", MT_K_MONTH, "Date"}, {"toStartOfYear", MT_K_START_YEAR, "Date"},
    {"toMonday", MT_K_MONDAY, "Date"}, {"toStartOfDay", MT_K_DAY, "DateTime"},
    {"toStartOfHour", MT_K_HOUR, "DateTime"}, {"toStartOfMinute", MT_K_MINUTE, "DateTime"},
    {"cityHash64", MT_K_CITY64, "UInt64"}, {"sipHash64", MT_K_SIP64, "UInt64"},
    {"intHash64", MT_K_INT64, "UInt64"}, {"intHash32", MT_K_INT32, "UInt32"},
    {"xxHash64", MT_K_OTHER, "UInt64"}, {"lower", MT_K_LOWER, "String"},
    {"upper", MT_K_UPPER, "String"},
};

/* A known function of one column: f(column). */
static ax_status call(ax_task *t, ax_mt_part *p, text s, ax_mt_keycol *k)
{
    const char *open = memchr(s.p, '(', (size_t) (s.end - s.p));

    if (open == NULL || s.end[-1] != ')')
        return AX_OK;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (is(trimmed((text){s.p, open}), functions[i].name))
        {
            text arg = trimmed((text){open + 1, s.end - 1});
            int32_t c = column_named(p, arg);

            k->fn = functions[i].fn;
            k->column = c;
            if (c < 0)
                k->fn = MT_K_OTHER;
            return ax_mt_type_parse(t, p->base.arena, functions[i].type,
                                    strlen(functions[i].type), &k->type);
        }
    return AX_OK;
}

/* The whole number that s is; 0: none, or a large one. */
static uint32_t divisor(text s)
{
    uint64_t v = 0;

    for (; s.p < s.end && *s.p >= '0' && *s.p <= '9' && v <= UINT32_MAX; s.p++)
        v = v * 10 + (uint64_t) (*s.p - '0');
    return s.p == s.end && v <= UINT32_MAX ? (uint32_t) v : 0;
}

/* intDiv(column, n), column % n, -column: for integers, whose results have these types. */
static ax_status arithmetic(ax_task *t, ax_mt_part *p, text s, ax_mt_keycol *k)
{
    static const char head[] = "intDiv(";
    const char *cut = memchr(s.p, '%', (size_t) (s.end - s.p));
    const ax_mt_type *ty;
    text arg = s, by = {s.end, s.end};
    uint32_t width;
    char name[16];

    if (s.end - s.p > 8 && memcmp(s.p, head, sizeof head - 1) == 0 && s.end[-1] == ')')
    {
        text all = {s.p + sizeof head - 1, s.end - 1};

        k->fn = MT_K_DIV;
        if (!ax_mt_next_piece(&all, &arg) || !ax_mt_next_piece(&all, &by) || all.p < all.end)
            return AX_OK;
    }
    else if (cut != NULL)
    {
        k->fn = MT_K_MODULO;
        arg = trimmed((text){s.p, cut});
        by = trimmed((text){cut + 1, s.end});
    }
    else if (s.p < s.end && *s.p == '-')
        arg = trimmed((text){s.p + 1, s.end});
    else
        return AX_OK;
    k->column = column_named(p, arg);
    k->by = divisor(by);
    if (k->column < 0 || (k->fn != MT_K_OTHER && k->by == 0))
        return AX_OK;
    ty = p->column[k->column].type;
    if ((ty->id != MT_INT && ty->id != MT_UINT) || ty->width > 8 ||
        (k->fn == MT_K_MODULO && ty->id != MT_UINT))
        return AX_OK;
    width = ty->width;
    if (k->fn == MT_K_MODULO)
        width = k->by <= UINT8_MAX ? 1 : k->by <= UINT16_MAX ? 2 : 4;
    else if (k->fn == MT_K_OTHER && ty->id == MT_UINT)
        width = width < 8 ? 2 * width : 8;
    (void) snprintf(name, sizeof name, "%s%u",
                    ty->id == MT_UINT && k->fn != MT_K_OTHER ? "UInt" : "Int", 8 * width);
    return ax_mt_type_parse(t, p->base.arena, name, strlen(name), &k->type);
}

static ax_status key_column(ax_task *t, ax_mt_part *p, text s, ax_mt_keycol *k)
{
    if (s.end - s.p > 5 && memcmp(s.end - 5, " DESC", 5) == 0)
    {
        k->desc = true;
        s = trimmed((text){s.p, s.end - 5});
    }
    k->column = column_named(p, s);
    if (k->column >= 0)
    {
        k->fn = MT_K_COLUMN;
        k->type = p->column[k->column].type;
        return AX_OK;
    }
    AX_TRY(arithmetic(t, p, s, k));
    return k->type == NULL && k->fn == MT_K_OTHER ? call(t, p, s, k) : AX_OK;
}

ax_status ax_mt_exprs_parse(ax_task *t, ax_mt_part *p, const char *s, size_t n, ax_mt_keys *keys)
{
    text all = {s, s + n}, piece;
    uint32_t count = 1, i;

    for (i = 0; i < n; i++)
        count += s[i] == ',';
    AX_NEW(t, keys->col,
           (ax_mt_keycol *) ax_arena_alloc0(p->base.arena, count * sizeof *keys->col));
    while (ax_mt_next_piece(&all, &piece))
    {
        ax_mt_keycol *k = &keys->col[keys->ncols++];

        k->column = -1;
        AX_TRY(key_column(t, p, piece, k));
    }
    return AX_OK;
}

/* The key's columns; *known: all their types are. */
static ax_status parse_key(ax_task *t, ax_mt_part *p, const char *s, size_t n, ax_mt_keys *keys,
                           bool *known)
{
    AX_TRY(ax_mt_exprs_parse(t, p, s, n, keys));
    *known = keys->ncols > 0;
    for (uint32_t i = 0; i < keys->ncols; i++)
        *known = *known && keys->col[i].type != NULL;
    return AX_OK;
}

/* ---- the primary index ----------------------------------------------------------------------- */

ax_status ax_mt_keys_load(ax_task *t, ax_mt_part *p, ax_arena *scratch, const char *key,
                          size_t nkey, const uint8_t *s, size_t n, bool compressed)
{
    ax_arena *a = p->base.arena;
    ax_mt_keys *keys;
    const uint8_t *plain = s;
    uint8_t *copy;
    ax_cdc *cdc;
    ax_cur c;
    bool known;

    AX_NEW(t, keys, (ax_mt_keys *) ax_arena_alloc0(a, sizeof *keys));
    AX_TRY(parse_key(t, p, key, nkey, keys, &known));
    if (!known || p->ngran == 0)
        return AX_OK;
    if (compressed)
    {
        AX_TRY(ax_cdc_create(t, scratch, &cdc));
        AX_TRY(ax_mt_frames_all(t, scratch, cdc, s, n, &plain, &n));
    }
    AX_NEW(t, copy, (uint8_t *) ax_arena_values(a, n + 1));
    memcpy(copy, plain, n);
    c = ax_cur_make(copy, n);
    AX_NEW(t, keys->value,
           (ax_mt_value *) ax_arena_alloc(a, (p->ngran + 1ull) * keys->ncols *
                                                 sizeof *keys->value));
    while (c.p < c.end)
    {
        AX_CHECK(t, keys->n <= p->ngran, AX_ECORRUPT,
                 "primary index has more rows than the part has marks");
        for (uint32_t i = 0; i < keys->ncols; i++)
            AX_TRY(ax_mt_single(t, keys->col[i].type, &c,
                                &keys->value[(size_t) keys->n * keys->ncols + i]));
        keys->n++;
    }
    AX_CHECK(t, keys->n >= p->ngran, AX_ECORRUPT, "primary index has %u rows for %u granules",
             keys->n, p->ngran);
    p->keys = keys;
    return AX_OK;
}

/* ---- partition.dat --------------------------------------------------------------------------- */

/* A value of the partition key as the name of a part has it; 0: it is no number. */
static size_t as_text(const ax_mt_type *ty, const ax_mt_value *v, char *out, size_t room)
{
    int64_t x = 0;

    if (ty->id == MT_LOWCARD || ty->id == MT_NULLABLE)
        ty = ty->child[0];
    if (v->null || v->n == 0 || v->n > 8)
        return 0;
    memcpy(&x, v->p, v->n);
    switch ((ax_mt_tid) ty->id)
    {
        case MT_DATE:
            {
                char day[96];
                uint32_t n = ax_mt_text(ty, v->p, day);

                return n == 10 ? (size_t) snprintf(out, room, "%.4s%.2s%.2s", day, day + 5, day + 8)
                               : 0;
            }
        case MT_INT:
        case MT_ENUM:
        case MT_DATE32:
            x = (int64_t) ((uint64_t) x << (64 - 8 * v->n)) >> (64 - 8 * v->n);
            return (size_t) snprintf(out, room, "%lld", (long long) x);
        case MT_UINT:
        case MT_BOOL:
        case MT_DATETIME:
        case MT_IPV4:
            return (size_t) snprintf(out, room, "%llu", (unsigned long long) x);
        default:
            return 0;
    }
}

/* Does the name of the part begin with the values?  Unless one is no number: then it has a hash. */
static ax_status check_name(ax_task *t, const ax_mt_part *p, const ax_mt_keys *keys, size_t len)
{
    char id[512];
    size_t at = 0;

    for (uint32_t i = 0; i < keys->ncols; i++)
    {
        size_t k;

        if (at + 60 > sizeof id)
            return AX_OK;
        if (i > 0)
            id[at++] = '-';
        k = as_text(keys->col[i].type, &keys->value[i], id + at, sizeof id - at);
        if (k == 0)
            return AX_OK;
        at += k;
    }
    AX_CHECK(t, at == len && memcmp(id, p->name, len) == 0, AX_ECORRUPT,
             "partition.dat says %.*s where the part is named \"%s\"", (int) at, id, p->name);
    return AX_OK;
}

ax_status ax_mt_partition_load(ax_task *t, ax_mt_part *p, const char *key, size_t nkey,
                               const uint8_t *s, size_t n)
{
    const char *stop = strchr(p->name, '_');
    size_t len = stop != NULL ? (size_t) (stop - p->name) : 0;
    ax_mt_keys *keys;
    uint8_t *copy;
    ax_cur c;
    bool known;

    /* Parts of the old naming have none. */
    if (len == 0 || nkey == 0 || ax_mt_old_name(p->name))
        return AX_OK;
    AX_NEW(t, keys, (ax_mt_keys *) ax_arena_alloc0(p->base.arena, sizeof *keys));
    AX_TRY(parse_key(t, p, key, nkey, keys, &known));
    AX_CHECK(t, s != NULL || (len == 3 && memcmp(p->name, "all", 3) == 0), AX_ECORRUPT,
             "part of a table with partitions has no partition.dat");
    if (!known || s == NULL)
        return AX_OK;
    AX_NEW(t, copy, (uint8_t *) ax_arena_values(p->base.arena, n + 1));
    AX_NEW(t, keys->value,
           (ax_mt_value *) ax_arena_alloc(p->base.arena, keys->ncols * sizeof *keys->value));
    memcpy(copy, s, n);
    c = ax_cur_make(copy, n);
    for (uint32_t i = 0; i < keys->ncols; i++)
        AX_TRY(ax_mt_single(t, keys->col[i].type, &c, &keys->value[i]));
    keys->n = 1;
    AX_CHECK(t, c.p == c.end, AX_ECORRUPT, "partition.dat goes on behind its values");
    AX_TRY(check_name(t, p, keys, len));
    p->partition = keys;
    return AX_OK;
}

/* ---- minmax_<column>.idx --------------------------------------------------------------------- */

ax_status ax_mt_minmax_load(ax_task *t, ax_mt_part *p, const char *name, const uint8_t *s, size_t n)
{
    const size_t head = strlen("minmax_"), tail = strlen(".idx");
    uint8_t *copy;
    ax_cur c;

    for (uint32_t i = 0; i < p->ncolumns; i++)
    {
        ax_mt_column *col = &p->column[i];
        const char *escaped;
        ax_mt_value *v;

        AX_TRY(ax_mt_escape(t, p->base.arena, col->name, strlen(col->name), &escaped));
        if (strlen(escaped) != strlen(name) - head - tail ||
            memcmp(escaped, name + head, strlen(escaped)) != 0)
            continue;
        AX_NEW(t, copy, (uint8_t *) ax_arena_values(p->base.arena, n + 1));
        AX_NEW(t, v, (ax_mt_value *) ax_arena_alloc0(p->base.arena, 2 * sizeof *v));
        memcpy(copy, s, n);
        c = ax_cur_make(copy, n);
        AX_TRY(ax_mt_single(t, col->type, &c, &v[0]));
        AX_TRY(ax_mt_single(t, col->type, &c, &v[1]));
        AX_CHECK(t, c.p == c.end, AX_ECORRUPT, "file goes on behind its two values");
        col->minmax = v;
        return AX_OK;
    }
    return AX_OK;
}
