/* What groups and repeated fields mean: lists, maps, structs.
 *
 *   LIST group, X its only child, repeated    a list; its element is
 *       X     when X is a leaf, has several fields or one that is repeated, or is named `array` or
 *             `<group>_tuple` (layouts of old writers: elements are never null)
 *       Y     otherwise, X's only field (the standard: optional g (LIST) { repeated x { y } })
 *   MAP group, X its only child, repeated     a map of X's fields: key, value; of more than two: a
 *                                             list
 *   repeated field outside of these           a list that is never null
 *   VARIANT group                             a variant: metadata, value, typed_value by name, and
 *                                             below typed_value levels of the last two
 *   other groups                              a struct
 *
 * Format: apache/parquet-format, LogicalTypes.md, "Nested Types" and its "Backward-compatibility
 * rules"; VariantShredding.md. */
#include "parquet_int.h"

#include <stdlib.h>
#include <strings.h>

enum { MAX_NAME = 63, MAX_FIELDS = 1000 }; /* of a structure that is offered */

typedef struct maker
{
    ax_task *t;
    ax_arena *a;
    const ax_pq_file *f;
    uint8_t lists;            /* ax_legacy_lists */
    const char *reason;       /* the first one */
} maker;

static ax_status value(maker *m, uint32_t i, ax_pq_shape *out);

static void refuse(maker *m, const char *reason)
{
    if (m->reason == NULL)
        m->reason = reason;
}

static ax_status children(maker *m, uint32_t n, ax_pq_shape *out, ax_pq_shape **child)
{
    AX_NEW(m->t, *child, (ax_pq_shape *) ax_arena_alloc0(m->a, n * sizeof **child + 1));
    out->child = *child;
    out->n = n;
    return AX_OK;
}

/* An element with its own repetition: repeated ones are lists of themselves. */
static ax_status field(maker *m, uint32_t i, ax_pq_shape *out)
{
    const ax_pq_elem *e = &m->f->elem[i];
    ax_pq_shape *child;

    if (e->repetition != PQ_REPEATED)
        return value(m, i, out);
    *out = (ax_pq_shape){.kind = SHAPE_LIST, .def = (uint8_t) (e->def - 1), .edef = e->def,
                         .rep = e->rep, .name = e->field->name, .leaf0 = e->leaf0,
                         .nleaf = e->nleaf};
    if (e->nleaf == 0)
        refuse(m, "a repeated group has no fields");
    AX_TRY(children(m, 1, out, &child));
    return value(m, i, child);
}

static bool is_leaf(const maker *m, uint32_t i)
{
    const ax_pq_elem *e = &m->f->elem[i];

    return e->nleaf == 1 && m->f->leaf[e->leaf0].field == e->field;
}

/* Is the only field of the repeated child x the element, rather than x itself? */
static bool three_levels(const maker *m, uint32_t list, uint32_t x)
{
    const ax_field *f = m->f->elem[x].field;
    const char *name = m->f->elem[list].field->name;
    size_t n = strlen(name);

    if (is_leaf(m, x) || f->nchild != 1 || m->f->elem[x + 1].repetition == PQ_REPEATED)
        return false;
    if (m->f->elem[x].lt == LT_LIST || m->f->elem[x].lt == LT_MAP)
        return false;
    if (m->lists != AX_LISTS_AUTO)
        return m->lists == AX_LISTS_THREE_LEVEL;
    return strcmp(f->name, "array") != 0 &&
           !(strncmp(f->name, name, n) == 0 && strcmp(f->name + n, "_tuple") == 0);
}

static ax_status list(maker *m, uint32_t i, ax_pq_shape *out)
{
    const ax_pq_elem *x = &m->f->elem[i + 1];
    ax_pq_shape *child;

    out->kind = SHAPE_LIST;
    out->edef = x->def;
    out->rep = x->rep;
    if (x->nleaf == 0)
        refuse(m, "the elements of a list have no fields");
    AX_TRY(children(m, 1, out, &child));
    return three_levels(m, i, i + 1) ? field(m, i + 2, child) : value(m, i + 1, child);
}

static ax_status map(maker *m, uint32_t i, ax_pq_shape *out)
{
    const ax_pq_elem *x = &m->f->elem[i + 1];
    uint32_t key = i + 2, second = key + m->f->elem[key].span;
    ax_pq_shape *child;

    out->kind = SHAPE_MAP;
    out->edef = x->def;
    out->rep = x->rep;
    AX_TRY(children(m, x->field->nchild, out, &child));
    if (x->field->nchild == 1)
        return field(m, key, &child[0]);
    /* Names win over the order. */
    if (strcasecmp(m->f->elem[key].field->name, "value") == 0 &&
        strcasecmp(m->f->elem[second].field->name, "key") == 0)
    {
        AX_TRY(field(m, second, &child[0]));
        return field(m, key, &child[1]);
    }
    AX_TRY(field(m, key, &child[0]));
    return field(m, second, &child[1]);
}

/* ---- variants -------------------------------------------------------------------------------- */

static ax_status variant(maker *m, uint32_t i, bool root, ax_pq_shape *out);

static const ax_type raw_bytes = {.id = AX_T_BYTEA, .phys = AX_P_STR};
static const ax_type raw_ints = {.id = AX_T_INT8, .phys = AX_P_I64};

/* Can the leaf be a shredded scalar?  *as: the type to read it as. */
static bool shredded_scalar(const ax_pq_leaf *l, const ax_type **as)
{
    switch (l->lt.kind)
    {
        case LT_NONE:
            return l->phys != PQ_FLBA && l->phys != PQ_INT96;
        case LT_INT:
            return l->lt.is_signed;
        case LT_TIME:
            return l->lt.unit == UNIT_US && !l->lt.utc;
        case LT_TIMESTAMP:
            *as = &raw_ints;
            return l->lt.unit != UNIT_MS;
        case LT_DECIMAL:
        case LT_DATE:
        case LT_STRING:
        case LT_UUID:
            return true;
        default:
            return false;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ax_pq_shape *) a)->name, ((const ax_pq_shape *) b)->name);
}

/* The typed value of a level. */
static ax_status shredded(maker *m, uint32_t i, ax_pq_shape *out)
{
    const ax_pq_elem *e = &m->f->elem[i], *x = e + 1;
    ax_pq_shape *child;
    uint32_t k, at = i + 1;

    *out = (ax_pq_shape){.kind = SHAPE_LEAF, .def = e->def, .name = e->field->name,
                         .leaf0 = e->leaf0, .nleaf = e->nleaf};
    if (e->repetition == PQ_REPEATED)
        refuse(m, "a shredded value is repeated");
    if (is_leaf(m, i))
    {
        if (!shredded_scalar(&m->f->leaf[e->leaf0], &out->as))
            refuse(m, "a shredded value has a type that variants have not");
        if (m->f->leaf[e->leaf0].field->refusal != NULL)
            refuse(m, m->f->leaf[e->leaf0].field->refusal);
        return AX_OK;
    }
    if (e->lt == LT_LIST && e->field->nchild == 1 && x->repetition == PQ_REPEATED)
    {
        out->kind = SHAPE_LIST;
        out->edef = x->def;
        out->rep = x->rep;
        AX_TRY(children(m, 1, out, &child));
        return variant(m, three_levels(m, i, i + 1) ? i + 2 : i + 1, false, child);
    }
    out->kind = SHAPE_STRUCT;
    if (e->nleaf == 0)
        refuse(m, "a shredded object has no fields");
    AX_TRY(children(m, e->field->nchild, out, &child));
    for (k = 0; k < e->field->nchild; k++)
    {
        if (m->f->elem[at].repetition == PQ_REPEATED)
            refuse(m, "a shredded field is repeated");
        AX_TRY(variant(m, at, false, &child[k]));
        at += m->f->elem[at].span;
    }
    if (e->field->nchild > 1)
        qsort(child, e->field->nchild, sizeof *child, by_name);
    for (k = 1; k < e->field->nchild; k++)
        if (strcmp(child[k - 1].name, child[k].name) == 0)
            refuse(m, "a shredded object has two fields of one name");
    return AX_OK;
}

/* A level of a variant, or (root) one as a whole. */
static ax_status variant(maker *m, uint32_t i, bool root, ax_pq_shape *out)
{
    static const char *const names[] = {"metadata", "value", "typed_value"};
    const ax_pq_elem *e = &m->f->elem[i];
    ax_pq_shape *child;
    uint32_t k, n, at = i + 1;

    *out = (ax_pq_shape){.kind = SHAPE_VARIANT, .def = e->def, .name = e->field->name,
                         .leaf0 = e->leaf0, .nleaf = e->nleaf};
    AX_TRY(children(m, 3, out, &child));
    for (n = 0; n < 3; n++)
        child[n].kind = SHAPE_ABSENT;
    for (k = 0; k < e->field->nchild; k++, at += m->f->elem[at].span)
    {
        const ax_pq_elem *x = &m->f->elem[at];

        for (n = root ? 0 : 1; n < 3 && strcmp(x->field->name, names[n]) != 0; n++)
            ;
        if (n == 3 || child[n].kind != SHAPE_ABSENT)
            refuse(m, "a variant has other fields than metadata, value and typed_value");
        else if (n == 2)
            AX_TRY(shredded(m, at, &child[n]));
        else
        {
            child[n] = (ax_pq_shape){.kind = SHAPE_LEAF, .def = x->def, .name = x->field->name,
                                     .as = &raw_bytes, .leaf0 = x->leaf0, .nleaf = x->nleaf};
            if (!is_leaf(m, at) || m->f->leaf[x->leaf0].phys != PQ_BYTE_ARRAY ||
                x->repetition == PQ_REPEATED)
                refuse(m, "metadata or value of a variant is not a BYTE_ARRAY");
        }
    }
    if ((root && child[0].kind == SHAPE_ABSENT) ||
        (child[1].kind == SHAPE_ABSENT && child[2].kind == SHAPE_ABSENT))
        refuse(m, "a variant lacks its metadata or its value");
    return AX_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The value of element i, or one value of it when it is repeated. */
static ax_status value(maker *m, uint32_t i, ax_pq_shape *out)
{
    const ax_pq_elem *e = &m->f->elem[i], *x = e + 1;
    bool wraps = e->field->nchild == 1 && x->repetition == PQ_REPEATED;
    ax_pq_shape *child;
    uint32_t k, at = i + 1;

    *out = (ax_pq_shape){.kind = SHAPE_LEAF, .def = e->def, .name = e->field->name,
                         .leaf0 = e->leaf0, .nleaf = e->nleaf};
    if (is_leaf(m, i))
    {
        if (m->f->leaf[e->leaf0].field->refusal != NULL)
            refuse(m, m->f->leaf[e->leaf0].field->refusal);
        return AX_OK;
    }
    if (e->lt == LT_VARIANT)
    {
        if (e->version > 1)
            refuse(m, "this version of VARIANT is not known");
        return variant(m, i, true, out);
    }
    if (e->lt == LT_LIST && wraps)
        return list(m, i, out);
    if ((e->lt == LT_MAP || e->lt == LT_MAP_KEY_VALUE) && wraps && x->nleaf > 0 &&
        !is_leaf(m, i + 1))
    {
        if (x->field->nchild > 2)
            return list(m, i, out);
        if (m->f->elem[i + 2].nleaf == 0)
            refuse(m, "the keys of a map have no fields");
        return map(m, i, out);
    }
    out->kind = SHAPE_STRUCT;
    AX_TRY(children(m, e->field->nchild, out, &child));
    for (k = 0; k < e->field->nchild; k++)
    {
        AX_TRY(field(m, at, &child[k]));
        at += m->f->elem[at].span;
    }
    return AX_OK;
}

ax_status ax_pq_shape_make(ax_task *t, ax_arena *a, const ax_pq_file *f, uint32_t elem,
                           uint8_t lists, ax_pq_shape **out, const char **reason)
{
    maker m = {.t = t, .a = a, .f = f, .lists = lists};
    ax_pq_shape *s;

    AX_NEW(t, s, (ax_pq_shape *) ax_arena_alloc0(a, sizeof *s));
    AX_TRY(field(&m, elem, s));
    if (f->elem[elem].nleaf == 0)
        refuse(&m, "it has no fields");
    *out = s;
    *reason = m.reason;
    return AX_OK;
}

/* ---- structures ------------------------------------------------------------------------------ */

static ax_status structure(ax_task *t, ax_pq_file *f, const ax_pq_shape *s, ax_type *out);

/* Named fields.  What cannot be a name of the host, and two of one name, stay documents. */
static ax_status fields(ax_task *t, ax_pq_file *f, const ax_pq_shape *s, uint32_t n, ax_type *out)
{
    ax_arena *a = f->base.arena;
    ax_nested *nested;
    ax_type *type;
    const char **name;
    uint32_t i, k;

    if (n > MAX_FIELDS)
        return AX_OK;
    AX_NEW(t, nested, (ax_nested *) ax_arena_alloc0(a, sizeof *nested));
    AX_NEW(t, type, (ax_type *) ax_arena_alloc0(a, n * sizeof *type));
    AX_NEW(t, name, (const char **) ax_arena_alloc0(a, n * sizeof *name));
    for (i = 0; i < n; i++)
    {
        AX_TRY(structure(t, f, &s[i], &type[i]));
        name[i] = s[i].name;
        if (*name[i] == '\0' || strlen(name[i]) > MAX_NAME)
            return AX_OK;
        for (k = 0; k < i; k++)
            if (strcmp(name[k], name[i]) == 0)
                return AX_OK;
    }
    *nested = (ax_nested){.n = n, .type = type, .name = name};
    *out = ax_type_make(AX_T_STRUCT);
    out->nested = nested;
    return AX_OK;
}

/* A list of one type. */
static ax_status list_of(ax_task *t, ax_pq_file *f, const ax_type *elem, ax_type *out)
{
    ax_nested *nested;
    ax_type *copy;

    AX_NEW(t, nested, (ax_nested *) ax_arena_alloc0(f->base.arena, sizeof *nested));
    AX_NEW(t, copy, (ax_type *) ax_arena_alloc0(f->base.arena, sizeof *copy));
    *copy = *elem;
    *nested = (ax_nested){.n = 1, .type = copy};
    *out = ax_type_make(AX_T_LIST);
    out->nested = nested;
    return AX_OK;
}

/* What a shape could be declared as; JSONB where nothing better fits. */
static ax_status structure(ax_task *t, ax_pq_file *f, const ax_pq_shape *s, ax_type *out)
{
    ax_type elem = ax_type_make(AX_T_JSONB);

    *out = elem;
    if (s->kind == SHAPE_LEAF)
        *out = f->leaf[s->leaf0].type;
    if (s->kind == SHAPE_STRUCT && s->n > 0)
        return fields(t, f, s->child, s->n, out);
    if (s->kind == SHAPE_LIST && (s->child->kind == SHAPE_LEAF || s->child->kind == SHAPE_STRUCT))
        AX_TRY(structure(t, f, s->child, &elem));
    else if (s->kind == SHAPE_MAP && s->n == 2)
        AX_TRY(fields(t, f, s->child, 2, &elem));
    return elem.id != AX_T_JSONB ? list_of(t, f, &elem, out) : AX_OK;
}

/* Structures of groups, lists of groups and maps. */
static ax_status field_structure(ax_task *t, ax_pq_file *f, const ax_pq_shape *s, ax_field *fld)
{
    ax_type *type;

    AX_NEW(t, type, (ax_type *) ax_arena_alloc0(f->base.arena, sizeof *type));
    AX_TRY(structure(t, f, s, type));
    if (type->id == AX_T_STRUCT || type->id == AX_T_LIST)
        fld->structure = type;
    return AX_OK;
}

ax_status ax_pq_shape_fields(ax_task *t, ax_pq_file *f)
{
    uint32_t i;

    for (i = 0; i < f->nelem; i += f->elem[i].span)
    {
        ax_field *fld = f->elem[i].field;
        ax_pq_shape *s = NULL;

        if (f->elem[i].repetition != PQ_REPEATED && fld->nchild == 0 && f->elem[i].nleaf == 1)
            continue;
        AX_TRY(ax_pq_shape_make(t, t->arena, f, i, AX_LISTS_AUTO, &s, &fld->refusal));
        fld->type = ax_type_make(AX_T_JSONB);
        if (s->kind == SHAPE_LIST && s->child->kind == SHAPE_LEAF)
            AX_TRY(list_of(t, f, &f->leaf[s->child->leaf0].type, &fld->type));
        else if (fld->refusal == NULL)
            AX_TRY(field_structure(t, f, s, fld));
    }
    return AX_OK;
}
