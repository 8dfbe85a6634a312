/* Values of nested columns as JSON text (json_out.c).
 *
 * One walk over a shape for each row; every leaf has a cursor over its slots.  Leaves below one
 * list must agree on where its elements begin and end, and on what is null: that is checked at
 * every step, since each leaf was read from bytes of its own.
 *
 * Repeated names stay (the last one wins in the host); an entry of a map whose key is null is an
 * error of its row, or left out; maps whose keys are no scalars become arrays of {"key", "value"}.
 *
 * Recursion is as deep as the schema, which is limited (PQ_MAX_DEPTH). */
#include "json_int.h"

enum { MAX_ROW_BYTES = 0x3fffffff };

/* ---- the walk -------------------------------------------------------------------------------- */

static ax_status value(ax_pq_js *w, const ax_pq_shape *s);

static ax_status disagree(ax_task *t)
{
    return ax_fail(t, AX_ECORRUPT, "fields of one group do not agree on the length of a list");
}

/* One slot of a leaf; key: of a map. */
static ax_status leaf(ax_pq_js *w, const ax_pq_shape *s, bool key)
{
    ax_pq_slots *l = ax_pq_js_first(w, s);
    bool there;

    if (l->at == l->n)
        return disagree(w->t);
    there = l->def[l->at] >= s->def && l->conv->kind != CONV_NULL;
    l->at++;
    if (there && (l->lost == NULL || !l->lost[l->val_at]))
        return ax_pq_js_scalar(w, l, l->val_at++, key);
    l->val_at += there;
    w->null_key |= key;
    return ax_pq_js_str(w, "null");
}

static ax_status named(ax_pq_js *w, const char *name)
{
    AX_TRY(ax_pq_js_quoted(w, (const uint8_t *) name, strlen(name)));
    return ax_pq_js_str(w, ":");
}

static ax_status fields(ax_pq_js *w, const ax_pq_shape *s)
{
    bool any = false;
    uint32_t i;

    AX_TRY(ax_pq_js_str(w, "{"));
    for (i = 0; i < s->n; i++)
    {
        bool null_key = w->null_key;
        size_t mark = w->n;

        if (any)
            AX_TRY(ax_pq_js_str(w, ","));
        AX_TRY(named(w, s->child[i].name));
        AX_TRY(value(w, &s->child[i]));
        if (s->child[i].hidden)
        {
            w->n = mark;
            w->null_key = null_key;
        }
        else
            any = true;
    }
    return ax_pq_js_str(w, "}");
}

/* Do all leaves go on with the list, or none? */
ax_status ax_pq_js_goes_on(ax_pq_js *w, const ax_pq_shape *s, bool *out)
{
    ax_pq_slots *l = ax_pq_js_first(w, s);
    uint8_t rep = l->at < l->n ? l->rep[l->at] : 0;
    uint32_t i;

    for (i = 1; i < s->nleaf; i++)
        if ((l[i].at < l[i].n ? l[i].rep[l[i].at] : 0) != rep)
            return disagree(w->t);
    AX_CHECK(w->t, rep <= s->rep, AX_ECORRUPT, "repetition level %u where a list of level %u ended",
             rep, s->rep);
    *out = rep == s->rep;
    return AX_OK;
}

/* One entry of a map; object: as a field. */
static ax_status entry(ax_pq_js *w, const ax_pq_shape *s, bool object)
{
    if (object)
    {
        AX_TRY(leaf(w, &s->child[0], true));
        AX_TRY(ax_pq_js_str(w, ":"));
    }
    else
    {
        AX_TRY(ax_pq_js_str(w, "{"));
        AX_TRY(named(w, s->entries ? s->child[0].name : "key"));
        AX_TRY(value(w, &s->child[0]));
        AX_TRY(ax_pq_js_str(w, ","));
        AX_TRY(named(w, s->entries && s->n > 1 ? s->child[1].name : "value"));
    }
    if (s->n == 1)
        AX_TRY(ax_pq_js_str(w, "null"));
    else
        AX_TRY(value(w, &s->child[1]));
    return object ? AX_OK : ax_pq_js_str(w, "}");
}

/* The elements of a list or the entries of a map. */
static ax_status elements(ax_pq_js *w, const ax_pq_shape *s)
{
    bool object = s->kind == SHAPE_MAP && s->child[0].kind == SHAPE_LEAF && !s->entries;
    bool more = true, any = false;
    ax_pq_slots *l = ax_pq_js_first(w, s);
    uint32_t i;

    AX_TRY(ax_pq_js_str(w, object ? "{" : "["));
    if (l->def[l->at] < s->edef)
    {
        AX_TRY(ax_pq_slots_none(w->t, w->slots, w->root, s));
        AX_TRY(ax_pq_js_goes_on(w, s, &more));
        AX_CHECK(w->t, !more, AX_ECORRUPT, "an empty list has more than one value");
        return ax_pq_js_str(w, object ? "}" : "]");
    }
    while (more)
    {
        bool null_key = w->null_key;
        size_t mark = w->n;

        for (i = 0; i < s->nleaf; i++)
            AX_CHECK(w->t, l[i].at < l[i].n && l[i].def[l[i].at] >= s->edef, AX_ECORRUPT,
                     "an element of a list is not there");
        if (any)
            AX_TRY(ax_pq_js_str(w, ","));
        w->null_key = false;
        AX_TRY(s->kind == SHAPE_MAP ? entry(w, s, object) : value(w, s->child));
        if (object && w->null_key && w->skip_null_keys)
        {
            w->n = mark;
            w->null_key = false;
        }
        else
            any = true;
        w->null_key |= null_key;
        AX_TRY(ax_pq_js_goes_on(w, s, &more));
    }
    return ax_pq_js_str(w, object ? "}" : "]");
}

static ax_status value(ax_pq_js *w, const ax_pq_shape *s)
{
    ax_pq_slots *l = ax_pq_js_first(w, s);
    uint32_t i;

    if (s->kind == SHAPE_LEAF)
        return leaf(w, s, false);
    if (s->nleaf == 0)
        return ax_pq_js_str(w, "{}");
    if (l->at == l->n)
        return disagree(w->t);
    if (l->def[l->at] < s->def)
    {
        AX_TRY(ax_pq_slots_none(w->t, w->slots, w->root, s));
        return ax_pq_js_str(w, "null");
    }
    if (s->kind == SHAPE_LIST || s->kind == SHAPE_MAP)
        return elements(w, s);
    for (i = 1; i < s->nleaf; i++)
        AX_CHECK(w->t, l[i].at < l[i].n && l[i].def[l[i].at] >= s->def, AX_ECORRUPT,
                 "fields of one group do not agree on whether it is null");
    return s->kind == SHAPE_VARIANT ? ax_pq_js_variant(w, s) : fields(w, s);
}

/* Step over the slots of one row that nobody wants. */
static void skip_row(const ax_pq_shape *shape, ax_pq_slots *slots)
{
    for (uint32_t k = 0; k < shape->nleaf; k++)
    {
        ax_pq_slots *s = &slots[k];

        for (bool first = true; s->at < s->n && (first || s->rep[s->at] != 0); first = false)
            s->val_at += s->def[s->at++] == s->conv->leaf->max_def;
    }
}

ax_status ax_pq_nested_json(ax_task *t, ax_arena *a, ax_pq_col *c, const ax_pq_nest *nest,
                            ax_pq_slots *slots, uint32_t n, const uint8_t **ptr, uint32_t *len,
                            uint8_t *null)
{
    const ax_pq_shape *shape = nest->shape;
    ax_pq_js w = {.t = t, .a = a, .root = shape, .slots = slots,
                  .skip_null_keys = nest->skip_null_keys};
    size_t *end;
    ax_status st;
    uint32_t i, k;

    AX_NEW(t, end, (size_t *) ax_arena_alloc(a, (size_t) n * sizeof *end + 1));
    for (i = 0; i < n; i++)
    {
        size_t from = w.n;

        end[i] = from;
        null[i] = 1;
        if (!ax_fmt_window_wants(&c->scan->w, i))
        {
            skip_row(shape, slots);
            continue;
        }
        null[i] = slots->at < slots->n && slots->def[slots->at] < shape->def;
        w.row_failed = false;
        st = value(&w, shape);
        c->fail_row = w.row_failed ? i : UINT32_MAX;
        AX_TRY(st);
        for (k = 0; k < shape->nleaf; k++)
            if (slots[k].at < slots[k].n && slots[k].rep[slots[k].at] != 0)
                return disagree(t);
        if (null[i])
            w.n = from;
        AX_CHECK(t, w.n - from <= MAX_ROW_BYTES, AX_ELIMIT, "value of a nested column is too long");
        if (w.null_key)
        {
            c->fail_row = i;
            return ax_fail(t, AX_ENOTNULL, "map has a null key");
        }
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
