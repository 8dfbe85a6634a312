/* Columns of VARIANT: the walk over their leaves.
 *
 * A variant is a group of `metadata`, `value` and, when it is shredded, `typed_value`; each level
 * below is again a pair of the last two:
 *
 *      value   typed_value
 *      null    null         nothing: a field that the object has not; elsewhere JSON null
 *      set     null         the encoded value
 *      null    set          the typed value: a scalar, a list of such levels, fields of such levels
 *      set     set          fields: the encoded value is an object with further fields; else damage
 *
 * A field that stands in both places is damage, too.
 *
 * Format: apache/parquet-format, VariantShredding.md. */
#include "json_int.h"

enum { METADATA, VALUE, TYPED };

static ax_status level(ax_pq_js *w, const ax_pq_shape *s, const ax_pq_vmeta *m, bool *there);

/* The bytes at a leaf's slot, NULL: null. */
static ax_status take_bytes(ax_pq_js *w, const ax_pq_shape *s, const uint8_t **p, uint32_t *n)
{
    ax_pq_slots *l;

    *p = NULL;
    *n = 0;
    if (s->kind == SHAPE_ABSENT)
        return AX_OK;
    l = ax_pq_js_first(w, s);
    AX_CHECK(w->t, l->at < l->n, AX_ECORRUPT, "parts of a variant do not agree on their number");
    if (l->def[l->at++] < s->def)
        return AX_OK;
    *p = l->ptr[l->val_at];
    *n = l->len[l->val_at++];
    return AX_OK;
}

static ax_status typed_scalar(ax_pq_js *w, const ax_pq_shape *s)
{
    ax_pq_slots *l = ax_pq_js_first(w, s);
    const ax_pq_logical *lt = &l->conv->leaf->lt;
    uint32_t i = l->val_at++;
    int64_t v;

    l->at++;
    if (l->conv->type.id == AX_T_BYTEA)
        return ax_pq_js_base64(w, l->ptr[i], l->len[i]);
    if (lt->kind != LT_TIMESTAMP)
        return ax_pq_js_scalar(w, l, i, false);
    memcpy(&v, l->val + (size_t) i * 8, 8);
    return ax_pq_js_stamp(w, v, 10957, lt->unit == UNIT_NS ? 9 : 6, lt->utc);
}

static ax_status typed_list(ax_pq_js *w, const ax_pq_shape *s, const ax_pq_vmeta *m)
{
    ax_pq_slots *l = ax_pq_js_first(w, s);
    bool more = true, any = false, there;
    uint32_t i;

    AX_TRY(ax_pq_js_str(w, "["));
    if (l->def[l->at] < s->edef)
    {
        AX_TRY(ax_pq_slots_none(w->t, w->slots, w->root, s));
        AX_TRY(ax_pq_js_goes_on(w, s, &more));
        AX_CHECK(w->t, !more, AX_ECORRUPT, "an empty list has more than one value");
        return ax_pq_js_str(w, "]");
    }
    for (; more; any = true)
    {
        for (i = 0; i < s->nleaf; i++)
            AX_CHECK(w->t, l[i].at < l[i].n && l[i].def[l[i].at] >= s->edef, AX_ECORRUPT,
                     "an element of a list is not there");
        if (any)
            AX_TRY(ax_pq_js_str(w, ","));
        AX_TRY(level(w, s->child, m, &there));
        if (!there)
            AX_TRY(ax_pq_js_str(w, "null"));
        AX_TRY(ax_pq_js_goes_on(w, s, &more));
    }
    return ax_pq_js_str(w, "]");
}

static ax_status typed_fields(ax_pq_js *w, const ax_pq_shape *s, const ax_pq_vmeta *m,
                              const uint8_t *rest, uint32_t rest_len)
{
    const ax_pq_vtaken taken = {s->child, s->n};
    bool any = false, there;
    uint32_t i;

    AX_TRY(ax_pq_js_str(w, "{"));
    for (i = 0; i < s->n; i++)
    {
        const char *name = s->child[i].name;
        size_t mark = w->n;

        if (any)
            AX_TRY(ax_pq_js_str(w, ","));
        AX_TRY(ax_pq_js_quoted(w, (const uint8_t *) name, strlen(name)));
        AX_TRY(ax_pq_js_str(w, ":"));
        AX_TRY(level(w, &s->child[i], m, &there));
        if (!there)
            w->n = mark;
        any |= there;
    }
    if (rest != NULL)
    {
        w->row_failed = true;
        AX_TRY(ax_pq_variant_fields(w, m, rest, rest_len, &taken, any));
        w->row_failed = false;
    }
    return ax_pq_js_str(w, "}");
}

/* The typed value, which is not null; rest: the encoded one beside it, or NULL. */
static ax_status typed(ax_pq_js *w, const ax_pq_shape *s, const ax_pq_vmeta *m,
                       const uint8_t *rest, uint32_t rest_len)
{
    const ax_pq_slots *l = ax_pq_js_first(w, s);
    uint32_t i;

    for (i = 0; i < s->nleaf; i++)
        AX_CHECK(w->t, l[i].at < l[i].n && l[i].def[l[i].at] >= s->def, AX_ECORRUPT,
                 "parts of a variant do not agree on whether it is null");
    if (s->kind == SHAPE_STRUCT)
        return typed_fields(w, s, m, rest, rest_len);
    if (rest != NULL)
    {
        w->row_failed = true;
        return ax_fail(w->t, AX_ECORRUPT, "variant has both a value and a typed value");
    }
    return s->kind == SHAPE_LIST ? typed_list(w, s, m) : typed_scalar(w, s);
}

/* One level; !*there: it has neither value, and nothing was written. */
static ax_status level(ax_pq_js *w, const ax_pq_shape *s, const ax_pq_vmeta *m, bool *there)
{
    const ax_pq_shape *vs = &s->child[VALUE], *ts = &s->child[TYPED];
    const ax_pq_slots *l = ax_pq_js_first(w, vs->kind != SHAPE_ABSENT ? vs : ts);
    const uint8_t *p;
    uint32_t n;

    AX_CHECK(w->t, l->at < l->n, AX_ECORRUPT, "parts of a variant do not agree on their number");
    *there = false;
    if (l->def[l->at] < s->def)
        return ax_pq_slots_none(w->t, w->slots, w->root, s);
    AX_TRY(take_bytes(w, vs, &p, &n));
    *there = true;
    if (ts->kind != SHAPE_ABSENT)
    {
        l = ax_pq_js_first(w, ts);
        AX_CHECK(w->t, l->at < l->n, AX_ECORRUPT,
                 "parts of a variant do not agree on their number");
        if (l->def[l->at] >= ts->def)
            return typed(w, ts, m, p, n);
        AX_TRY(ax_pq_slots_none(w->t, w->slots, w->root, ts));
    }
    *there = p != NULL;
    if (p == NULL)
        return AX_OK;
    w->row_failed = true;
    AX_TRY(ax_pq_variant_value(w, m, p, n));
    w->row_failed = false;
    return AX_OK;
}

ax_status ax_pq_js_variant(ax_pq_js *w, const ax_pq_shape *s)
{
    ax_pq_vmeta m;
    const uint8_t *p;
    uint32_t n;
    bool there;

    AX_TRY(take_bytes(w, &s->child[METADATA], &p, &n));
    w->row_failed = true;
    AX_CHECK(w->t, p != NULL, AX_ECORRUPT, "variant has no metadata");
    AX_TRY(ax_pq_variant_meta(w->t, p, n, &m));
    w->row_failed = false;
    AX_TRY(level(w, s, &m, &there));
    return there ? AX_OK : ax_pq_js_str(w, "null");
}
