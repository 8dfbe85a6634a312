/* Nodes whose values are all the same: a constant, or zero, '' or [] of the type.
 *
 * Such a node has a template: one value, which is repeated.  Columns that a part lacks are made of
 * them (derive.c).
 *
 * Format: mergetree.md, "Missing columns". */
#include "mergetree_int.h"

#include <stdlib.h>
#include <strings.h>

typedef struct maker
{
    ax_task *t;
    ax_arena *a;
    const char *p, *end;          /* literal not yet read; NULL: the type's own default */
    bool ok;                      /* it is a constant that we understand */
} maker;

static ax_status add(maker *m, ax_mt_node *n, ax_mt_vals *v);

/* ---- templates ------------------------------------------------------------------------------- */

/* Nodes of a type without streams. */
static ax_status plain_node(maker *m, const ax_mt_type *ty, ax_mt_node **out)
{
    uint32_t nchild;
    ax_mt_node *n;

    while (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    nchild = ty->id == MT_MAP ? 1 : ty->id == MT_AGGREGATE ? 0 : ty->nchild;
    AX_NEW(m->t, n, (ax_mt_node *) ax_arena_alloc0(m->a, sizeof *n));
    AX_NEW(m->t, n->child, (ax_mt_node **) ax_arena_alloc0(m->a, (nchild + 1) * sizeof *n->child));
    n->type = ty;
    n->nchild = nchild;
    n->stream[0] = n->stream[1] = n->stream[2] = MT_NO_STREAM;
    *out = n;
    switch ((ax_mt_tid) ty->id)
    {
        case MT_STRING: n->form = MT_F_STRING; break;
        case MT_NULLABLE: n->form = MT_F_NULLABLE; break;
        case MT_ARRAY: n->form = MT_F_ARRAY; break;
        case MT_TUPLE: n->form = ty->nchild > 0 ? MT_F_TUPLE : MT_F_EMPTY_TUPLE; break;
        case MT_VARIANT: n->form = MT_F_VARIANT; break;
        case MT_MAP:
            n->form = MT_F_ARRAY;
            AX_NEW(m->t, n->child[0], (ax_mt_node *) ax_arena_alloc0(m->a, sizeof *n));
            *n->child[0] = (ax_mt_node){.type = ty, .form = MT_F_TUPLE, .nchild = 2,
                                        .stream = {MT_NO_STREAM, MT_NO_STREAM, MT_NO_STREAM}};
            n = n->child[0];
            AX_NEW(m->t, n->child, (ax_mt_node **) ax_arena_alloc0(m->a, 2 * sizeof *n->child));
            break;
        default:
            AX_CHECK(m->t, ty->width > 0 && ty->id != MT_QBIT, AX_EUNSUPPORTED,
                     "default of a column of type %s is not known", ty->text);
            n->form = MT_F_FIXED;
    }
    for (uint32_t i = 0; i < n->nchild; i++)
        AX_TRY(plain_node(m, ty->child[i], &n->child[i]));
    return AX_OK;
}

static ax_status grown(maker *m, void *p, uint32_t have, size_t width)
{
    void *old, *bigger;

    memcpy(&old, p, sizeof old);
    AX_NEW(m->t, bigger, ax_arena_values(m->a, (have + 1) * width));
    if (have > 0 && old != NULL)
        memcpy(bigger, old, have * width);
    memcpy(p, &bigger, sizeof bigger);
    return AX_OK;
}

/* ---- literals -------------------------------------------------------------------------------- */

static void blanks(maker *m)
{
    while (m->p < m->end && *m->p == ' ')
        m->p++;
}

static bool accept(maker *m, char ch)
{
    blanks(m);
    if (m->p == m->end || *m->p != ch)
        return false;
    m->p++;
    return true;
}

static bool word(maker *m, const char *s)
{
    size_t n = strlen(s);

    blanks(m);
    if ((size_t) (m->end - m->p) < n || strncasecmp(m->p, s, n) != 0)
        return false;
    m->p += n;
    return true;
}

/* '...' */
static ax_status quoted(maker *m, const uint8_t **out, uint32_t *len)
{
    static const char from[] = "btnfr0", to[] = "\b\t\n\f\r";
    char *s;
    uint32_t n = 0;

    *len = 0;
    m->ok = m->ok && accept(m, '\'');
    if (!m->ok)
        return AX_OK;
    AX_NEW(m->t, s, (char *) ax_arena_values(m->a, (size_t) (m->end - m->p) + 1));
    while (m->p < m->end && *m->p != '\'')
    {
        char ch = *m->p++;

        if (ch == '\\' && m->p < m->end)
        {
            const char *at = strchr(from, *m->p);

            ch = at != NULL && *m->p != '\0' ? to[at - from] : *m->p;
            m->p++;
        }
        s[n++] = ch;
    }
    m->ok = accept(m, '\'');
    *out = (const uint8_t *) s;
    *len = n;
    return AX_OK;
}

/* A decimal number as an integer with `scale` digits behind the point. */
static bool number(maker *m, int scale, ax_i128 *out)
{
    bool neg = accept(m, '-'), point = false;
    int behind = 0, digits = 0;
    ax_i128 v = 0;

    for (; m->p < m->end && digits < 37; m->p++)
    {
        if (*m->p == '.' && !point)
            point = true;
        else if (*m->p >= '0' && *m->p <= '9')
        {
            v = v * 10 + (*m->p - '0');
            behind += point;
            digits++;
        }
        else
            break;
    }
    for (; behind < scale && digits < 37; behind++, digits++)
        v *= 10;
    *out = neg ? -v : v;
    return digits > 0 && behind == scale;
}

/* The literal as a value of width bytes. */
static ax_status plain_literal(maker *m, const ax_mt_type *ty, uint8_t *dst)
{
    const uint8_t *s = NULL;
    const char *start = m->p;
    uint32_t len, i;
    ax_i128 v = 0;
    double d;
    float f;
    char *stop;

    switch ((ax_mt_tid) ty->id)
    {
        case MT_INT:
        case MT_UINT:
            m->ok = m->ok && number(m, 0, &v);
            break;
        case MT_DECIMAL:
            /* Literals with a fraction are floats first, which may change their last digit. */
            m->ok = m->ok && ty->width > 16 && number(m, ty->scale, &v) &&
                    memchr(start, '.', (size_t) (m->p - start)) == NULL;
            break;
        case MT_BOOL:
            v = word(m, "true");
            m->ok = m->ok && (v != 0 || word(m, "false") || number(m, 0, &v));
            break;
        case MT_FLOAT:
            d = strtod(m->p, &stop);
            f = (float) d;
            m->ok = m->ok && stop > m->p && stop <= m->end;
            m->p = stop;
            memcpy(dst, ty->width == 8 ? (void *) &d : (void *) &f, ty->width);
            return AX_OK;
        case MT_FIXEDSTRING:
            AX_TRY(quoted(m, &s, &len));
            m->ok = m->ok && len <= ty->width;
            if (m->ok)
                memcpy(dst, s, len);
            return AX_OK;
        case MT_ENUM:
            AX_TRY(quoted(m, &s, &len));
            for (i = 0; m->ok && i < ty->nlabel; i++)
                if (ty->label[i].len == len && memcmp(ty->label[i].name, s, len) == 0)
                    break;
            m->ok = m->ok && i < ty->nlabel;
            v = m->ok ? ty->label[i].code : 0;
            break;
        default:
            m->ok = false;
    }
    for (i = 0; i < ty->width; i++)
        dst[i] = (uint8_t) (i < 16 ? v >> (8 * i) : v < 0 ? -1 : 0);
    return AX_OK;
}

/* ---- one value more -------------------------------------------------------------------------- */

static ax_status add_array(maker *m, ax_mt_node *n, ax_mt_vals *v)
{
    AX_TRY(grown(m, &v->off, v->n + 1, sizeof *v->off));
    if (v->n == 0)
        v->off[0] = 0;
    if (m->p != NULL)
    {
        m->ok = m->ok && n->type->id == MT_ARRAY && accept(m, '[');
        while (m->ok && !accept(m, ']'))
        {
            AX_TRY(add(m, n->child[0], &v->child[0]));
            (void) accept(m, ',');
        }
    }
    v->off[v->n + 1] = v->child[0].n;
    return AX_OK;
}

/* Add the value of the literal, or the type's default. */
static ax_status add(maker *m, ax_mt_node *n, ax_mt_vals *v)
{
    const ax_mt_type *ty = n->type;
    uint8_t *data;

    if (v->child == NULL)
        AX_NEW(m->t, v->child,
               (ax_mt_vals *) ax_arena_alloc0(m->a, (n->nchild + 1) * sizeof *v->child));
    switch ((ax_mt_form) n->form)
    {
        case MT_F_FIXED:
            AX_TRY(grown(m, &v->data, v->n, ty->width));
            data = (uint8_t *) (uintptr_t) v->data + (size_t) v->n * ty->width;
            memset(data, 0, ty->width);
            if (m->p != NULL)
                AX_TRY(plain_literal(m, ty, data));
            break;
        case MT_F_STRING:
            AX_TRY(grown(m, &v->ptr, v->n, sizeof *v->ptr));
            AX_TRY(grown(m, &v->len, v->n, sizeof *v->len));
            v->ptr[v->n] = (const uint8_t *) "";
            v->len[v->n] = 0;
            if (m->p != NULL)
                AX_TRY(quoted(m, &v->ptr[v->n], &v->len[v->n]));
            break;
        case MT_F_NULLABLE:
        {
            bool null = m->p == NULL || word(m, "NULL");
            maker none = {.t = m->t, .a = m->a};

            AX_TRY(grown(m, &v->null, v->n, 1));
            v->null[v->n] = null;
            AX_TRY(add(null ? &none : m, n->child[0], &v->child[0]));
            break;
        }
        case MT_F_ARRAY:
            AX_TRY(add_array(m, n, v));
            break;
        case MT_F_VARIANT:
            m->ok = m->ok && m->p == NULL;
            break;
        default:
            m->ok = m->ok && m->p == NULL;
            for (uint32_t i = 0; i < n->nchild; i++)
                AX_TRY(add(m, n->child[i], &v->child[i]));
    }
    v->n++;
    return AX_OK;
}

ax_status ax_mt_template(ax_task *t, ax_arena *a, const ax_mt_type *ty, const char *s, size_t n,
                         ax_mt_node **out)
{
    maker m = {t, a, s, s != NULL ? s + n : NULL, true};
    ax_mt_vals *v;

    AX_TRY(plain_node(&m, ty, out));
    AX_NEW(t, v, (ax_mt_vals *) ax_arena_alloc0(a, sizeof *v));
    AX_TRY(add(&m, *out, v));
    if (s != NULL)
        blanks(&m);
    (*out)->deflt = v;
    if (!m.ok || (s != NULL && m.p != m.end))
        *out = NULL;
    return AX_OK;
}

ax_status ax_mt_plain_node(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_mt_node **out)
{
    maker m = {t, a, NULL, NULL, true};

    return plain_node(&m, ty, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Append `times` copies of the values [from, from + k) of a template. */
static ax_status repeat(ax_task *t, ax_mt_win *w, const ax_mt_node *n, const ax_mt_vals *of,
                        uint32_t from, uint32_t k, uint32_t times, ax_mt_vals *v)
{
    uint32_t width = n->type->width, i, at;
    uint64_t total = (uint64_t) k * times;

    if (total == 0)
        return AX_OK;
    AX_CHECK(t, total <= INT32_MAX, AX_ELIMIT, "one batch has more values than the limit");
    AX_TRY(ax_mt_reserve(t, w, n, v, (uint32_t) total));
    for (i = 0; i < total; i++)
    {
        at = v->n + i;
        switch ((ax_mt_form) n->form)
        {
            case MT_F_FIXED:
                memcpy((uint8_t *) (uintptr_t) v->data + (size_t) at * width,
                       of->data + (size_t) (from + i % k) * width, width);
                break;
            case MT_F_STRING:
                v->ptr[at] = of->ptr[from + i % k];
                v->len[at] = of->len[from + i % k];
                break;
            case MT_F_NULLABLE:
                v->null[at] = of->null[from + i % k];
                break;
            case MT_F_ARRAY:
                v->off[at + 1] =
                    v->off[at] + of->off[from + i % k + 1] - of->off[from + i % k];
                break;
            case MT_F_VARIANT:
                v->which[at] = 255;
                v->idx[at] = 0;
                break;
            default:
                break;
        }
    }
    v->n += (uint32_t) total;
    if (n->form == MT_F_ARRAY)
        return repeat(t, w, n->child[0], &of->child[0], of->off[from],
                      of->off[from + k] - of->off[from], times, &v->child[0]);
    for (i = 0; n->form != MT_F_VARIANT && i < n->nchild; i++)
        AX_TRY(repeat(t, w, n->child[i], &of->child[i], from, k, times, &v->child[i]));
    return AX_OK;
}

ax_status ax_mt_read_default(ax_task *t, const ax_mt_node *n, ax_mt_win *w, uint32_t rows,
                             ax_mt_vals *v)
{
    return v != NULL && rows > 0 ? repeat(t, w, n, n->deflt, 0, 1, rows, v) : AX_OK;
}
