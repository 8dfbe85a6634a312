/* Values of nested types as JSON text, as the server's to_jsonb would have them: numbers exact, NaN
 * and infinities as strings, dates and times in ISO 8601, bytes that are no text as "\x..." in hex.
 *
 * Tuples with names are objects, others arrays.  A Map is an object when its keys are plain values,
 * and else an array of pairs; keys that repeat stay (the last one wins in the host).
 *
 * Recursion is as deep as the type, which is limited (MT_MAX_DEPTH). */
#include "mergetree_int.h"

#include "base/utf8.h"

#include <math.h>

enum { MAX_ROW_BYTES = 0x3fffffff };

typedef struct writer
{
    ax_task *t;
    ax_arena *a;
    uint8_t *p;                   /* [cap] */
    size_t n, cap;
} writer;

static ax_status value(writer *w, const ax_mt_node *node, const ax_mt_type *ty,
                       const ax_mt_vals *v, uint32_t i);

/* ---- bytes ----------------------------------------------------------------------------------- */

static ax_status room(writer *w, size_t n)
{
    size_t cap = w->cap < 4096 ? 4096 : w->cap;
    uint8_t *p;

    if (w->n + n <= w->cap)
        return AX_OK;
    while (cap < w->n + n)
        cap *= 2;
    AX_NEW(w->t, p, (uint8_t *) ax_arena_values(w->a, cap));
    if (w->n > 0)
        memcpy(p, w->p, w->n);
    w->p = p;
    w->cap = cap;
    return AX_OK;
}

static ax_status put(writer *w, const char *s, size_t n)
{
    AX_TRY(room(w, n));
    memcpy(w->p + w->n, s, n);
    w->n += n;
    return AX_OK;
}

static ax_status put_str(writer *w, const char *s) { return put(w, s, strlen(s)); }

static ax_status text(writer *w, const uint8_t *s, size_t n)
{
    static const char names[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                   ['\r'] = 'r'};
    static const char hex[] = "0123456789abcdef";

    AX_TRY(room(w, n * 6 + 2));
    w->p[w->n++] = '"';
    for (size_t i = 0; i < n; i++)
    {
        uint8_t ch = s[i];

        if (ch >= 0x20 && ch != '"' && ch != '\\')
        {
            w->p[w->n++] = ch;
            continue;
        }
        w->p[w->n++] = '\\';
        if (ch >= 0x20)
            w->p[w->n++] = ch;
        else if (names[ch] != '\0')
            w->p[w->n++] = (uint8_t) names[ch];
        else
        {
            memcpy(w->p + w->n, "u00", 3);
            w->p[w->n + 3] = (uint8_t) hex[ch >> 4];
            w->p[w->n + 4] = (uint8_t) hex[ch & 15];
            w->n += 5;
        }
    }
    w->p[w->n++] = '"';
    return AX_OK;
}

/* Bytes: text when they are, else hex. */
static ax_status string(writer *w, const uint8_t *s, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    bool ok = true;

    for (size_t i = 0; ok && i < n;)
    {
        uint32_t k = ax_utf8_len(s + i, (uint32_t) (n - i));

        ok = k > 0;
        i += k;
    }
    if (ok)
        return text(w, s, n);
    AX_TRY(put_str(w, "\"\\\\x"));
    AX_TRY(room(w, 2 * n + 1));
    for (size_t i = 0; i < n; i++)
    {
        w->p[w->n++] = (uint8_t) hex[s[i] >> 4];
        w->p[w->n++] = (uint8_t) hex[s[i] & 15];
    }
    return put_str(w, "\"");
}

/* ---- plain values ---------------------------------------------------------------------------- */

static ax_status label(writer *w, const ax_mt_type *ty, const uint8_t *p)
{
    int32_t code = ty->width == 1 ? (int8_t) p[0] : (int16_t) ax_load_u16(p);

    for (uint32_t i = 0; i < ty->nlabel; i++)
        if (ty->label[i].code == code)
            return string(w, (const uint8_t *) ty->label[i].name, ty->label[i].len);
    return ax_fail(w->t, AX_ECORRUPT, "value %d is not one of type %s", (int) code, ty->text);
}

static bool is_number(const ax_mt_type *ty)
{
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_BOOL || ty->id == MT_FLOAT ||
           ty->id == MT_BFLOAT16 || ty->id == MT_DECIMAL || ty->id == MT_INTERVAL;
}

static ax_status plain(writer *w, const ax_mt_type *ty, const uint8_t *p, bool as_key)
{
    char buf[96];
    uint32_t n;

    switch ((ax_mt_tid) ty->id)
    {
        case MT_ENUM:
            return label(w, ty, p);
        case MT_FIXEDSTRING:
            return string(w, p, ty->width);
        case MT_NOTHING:
            return put_str(w, "null");
        default:
            n = ax_mt_text(ty, p, buf);
            if (as_key || !is_number(ty) || buf[n - 1] == 'N' || buf[n - 1] == 'y')
                return text(w, (const uint8_t *) buf, n);
            return put(w, buf, n);
    }
}

/* ---- nested values --------------------------------------------------------------------------- */

/* May values of a node be names of an object's fields? */
static bool plain_key(const ax_mt_type *ty)
{
    ty = ax_mt_bare(ty);
    return ty->width > 0 || ty->id == MT_STRING;
}

/* Value i of a node that has plain values. */
static ax_status leaf(writer *w, const ax_mt_node *node, const ax_mt_vals *v, uint32_t i,
                      bool as_key)
{
    const ax_mt_type *ty = ax_mt_bare(node->type);

    if (node->form == MT_F_LOWCARD && v->dict != NULL)
    {
        const ax_mt_dict *d = v->dict;

        if (d->off != NULL)
            return string(w, d->bytes + d->off[v->id[i]], d->len[v->id[i]]);
        return plain(w, ty, d->bytes + (size_t) v->id[i] * ty->width, as_key);
    }
    if (ty->width > 0)
        return plain(w, ty, v->data + (size_t) i * ty->width, as_key);
    return string(w, v->ptr[i], v->len[i]);
}

static ax_status key(writer *w, const ax_mt_node *node, const ax_mt_vals *v, uint32_t i)
{
    while (node->form == MT_F_NULLABLE)
    {
        node = node->child[0];
        v = &v->child[0];
    }
    return leaf(w, node, v, i, true);
}

/* Pair i, as a field or as an array of two. */
static ax_status entry(writer *w, const ax_mt_node *pair, const ax_mt_type *ty,
                       const ax_mt_vals *v, uint32_t i, bool object)
{
    if (object)
        AX_TRY(key(w, pair->child[0], &v->child[0], i));
    else
    {
        AX_TRY(put_str(w, "["));
        AX_TRY(value(w, pair->child[0], ty->child[0], &v->child[0], i));
    }
    AX_TRY(put_str(w, object ? ":" : ","));
    AX_TRY(value(w, pair->child[1], ty->child[1], &v->child[1], i));
    return object ? AX_OK : put_str(w, "]");
}

/* Pairs [from, to) of a map; pair: their node. */
static ax_status map(writer *w, const ax_mt_node *pair, const ax_mt_type *ty, const ax_mt_vals *v,
                     uint32_t from, uint32_t to)
{
    bool object = plain_key(ty->child[0]);

    AX_TRY(put_str(w, object ? "{" : "["));
    for (uint32_t i = from; i < to; i++)
    {
        if (i > from)
            AX_TRY(put_str(w, ","));
        AX_TRY(entry(w, pair, ty, v, i, object));
    }
    return put_str(w, object ? "}" : "]");
}

/* The same where the entries are spread over several maps. */
static ax_status buckets(writer *w, const ax_mt_node *node, const ax_mt_type *ty,
                         const ax_mt_vals *v, uint32_t i)
{
    bool object = plain_key(ty->child[0]);

    AX_TRY(put_str(w, object ? "{" : "["));
    for (uint32_t e = v->off[i]; e < v->off[i + 1]; e++)
    {
        const ax_mt_node *pair = node->child[v->which[e]]->child[0];
        const ax_mt_vals *of = &v->child[v->which[e]].child[0];

        if (e > v->off[i])
            AX_TRY(put_str(w, ","));
        AX_TRY(entry(w, pair, ty, of, v->idx[e], object));
    }
    return put_str(w, object ? "}" : "]");
}

static ax_status array(writer *w, const ax_mt_node *node, const ax_mt_type *ty,
                       const ax_mt_vals *v, uint32_t i)
{
    uint32_t from = v->off[i], to = v->off[i + 1];

    if (ty->id == MT_MAP)
        return map(w, node->child[0], ty, &v->child[0], from, to);
    AX_TRY(put_str(w, "["));
    for (uint32_t k = from; k < to; k++)
    {
        if (k > from)
            AX_TRY(put_str(w, ","));
        AX_TRY(value(w, node->child[0], ty->child[0], &v->child[0], k));
    }
    return put_str(w, "]");
}

static ax_status tuple(writer *w, const ax_mt_node *node, const ax_mt_type *ty,
                       const ax_mt_vals *v, uint32_t i)
{
    bool object = ty->nchild > 0 && ty->name[0] != NULL;

    AX_TRY(put_str(w, object ? "{" : "["));
    for (uint32_t k = 0; k < ty->nchild; k++)
    {
        if (k > 0)
            AX_TRY(put_str(w, ","));
        if (object)
        {
            AX_TRY(string(w, (const uint8_t *) ty->name[k], strlen(ty->name[k])));
            AX_TRY(put_str(w, ":"));
        }
        AX_TRY(value(w, node->child[k], ty->child[k], &v->child[k], i));
    }
    return put_str(w, object ? "}" : "]");
}

/* A vector whose bits are spread over planes, the sign's first. */
static ax_status qbit(writer *w, const ax_mt_type *ty, const ax_mt_vals *v, uint32_t i)
{
    uint32_t bits = ty->child[0]->width * 8, bytes = (ty->dim + 7) / 8;

    AX_TRY(put_str(w, "["));
    for (uint32_t e = 0; e < ty->dim; e++)
    {
        uint64_t x = 0;

        for (uint32_t b = 0; b < bits; b++)
        {
            const uint8_t *plane = v->child[b].data + (size_t) i * bytes;

            x = x << 1 | (plane[bytes - 1 - e / 8] >> (e % 8) & 1);
        }
        if (e > 0)
            AX_TRY(put_str(w, ","));
        AX_TRY(plain(w, ty->child[0], (const uint8_t *) &x, false));
    }
    return put_str(w, "]");
}

static bool is_null(const ax_mt_node *node, const ax_mt_vals *v, uint32_t i)
{
    switch ((ax_mt_form) node->form)
    {
        case MT_F_NULLABLE:
        case MT_F_SPARSE:
        case MT_F_LOWCARD:
            return v->null != NULL && v->null[i];
        case MT_F_VARIANT:
            return v->which[i] == 255;
        default:
            return false;
    }
}

/* ty: the node's type, or the map's of which the node is the array. */
static ax_status value(writer *w, const ax_mt_node *node, const ax_mt_type *ty,
                       const ax_mt_vals *v, uint32_t i)
{
    if (is_null(node, v, i))
        return put_str(w, "null");
    switch ((ax_mt_form) node->form)
    {
        case MT_F_NULLABLE:
            return value(w, node->child[0], ty->child[0], &v->child[0], i);
        case MT_F_ARRAY:
            return array(w, node, ty, v, i);
        case MT_F_BUCKETS:
            return buckets(w, node, ty, v, i);
        case MT_F_TUPLE:
        case MT_F_EMPTY_TUPLE:
            return tuple(w, node, ty, v, i);
        case MT_F_VARIANT:
            return value(w, node->child[v->which[i]], ty->child[v->which[i]],
                         &v->child[v->which[i]], v->idx[i]);
        case MT_F_QBIT:
            return qbit(w, ty, v, i);
        default:
            return leaf(w, node, v, i, false);
    }
}

ax_status ax_mt_json(ax_task *t, const ax_mt_node *node, const ax_mt_vals *v, uint32_t n,
                     ax_arena *a, const uint8_t **ptr, uint32_t *len, uint8_t *null,
                     uint32_t *fail_row)
{
    writer w = {.t = t, .a = a};
    size_t *end;
    uint32_t i;

    *fail_row = UINT32_MAX;
    AX_NEW(t, end, (size_t *) ax_arena_alloc(a, (size_t) n * sizeof *end + 1));
    for (i = 0; i < n; i++)
    {
        size_t from = w.n;

        null[i] = is_null(node, v, i);
        if (!null[i])
            AX_TRY(value(&w, node, node->type, v, i));
        AX_CHECK(t, w.n - from <= MAX_ROW_BYTES, AX_ELIMIT, "value of a nested column is too long");
        end[i] = w.n;
    }
    for (i = 0; i < n; i++)
    {
        size_t from = i > 0 ? end[i - 1] : 0;

        ptr[i] = w.p != NULL ? w.p + from : (const uint8_t *) "";
        len[i] = (uint32_t) (end[i] - from);
    }
    return AX_OK;
}
