/* From types to nodes, and which streams a column is made of.
 *
 * Names of streams are worked out from the column's name and the way down its type; a file or a
 * substream of that name must exist.  Where versions differ in a name (Nested with shared sizes or
 * not, names of alternatives escaped or not), what exists decides.
 *
 * The streams of a column stand in the order in which they are written into a granule of a Compact
 * part: everything that precedes data first.
 *
 * Format: mergetree.md, "Streams". */
#include "mergetree_int.h"

#include <stdio.h>

typedef struct walk
{
    ax_task *t;
    ax_mt_part *p;
    ax_mt_column *col;
    uint32_t ordinal;             /* of the column */
    const char *shared;           /* name of sizes that columns of a Nested table share, or NULL */
    uint32_t missing, found;
    uint32_t cap;                 /* of p->stream */
    bool prefixing;               /* first pass: only streams that precede data are added, */
    int32_t *prefix;              /* [nprefix] which are here, */
    uint32_t nprefix, prefix_cap;
    uint32_t prefix_at;           /* and the next one in the second pass */
} walk;

/* Where we stand in a type. */
typedef struct place
{
    const char *name;             /* of the stream so far */
    uint32_t level;               /* arrays entered */
    bool inside;                  /* of something but tuples: versions count when propagated */
    bool old_strings;             /* keys of dictionaries */
    const ax_mt_kind *kind;       /* or NULL */
} place;

static ax_status make(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out);

static ax_status join(walk *w, const char *a, const char *b, const char **out)
{
    size_t n = strlen(a), m = strlen(b);
    char *s;

    *out = NULL;
    AX_NEW(w->t, s, (char *) ax_arena_alloc(w->p->base.arena, n + m + 1));
    memcpy(s, a, n);
    memcpy(s + n, b, m + 1);
    *out = s;
    return AX_OK;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The file <name><ext>, or of the name's hash. */
static ax_status file_of(walk *w, const char *name, const char *ext, const ax_mt_member **out)
{
    ax_arena *a = w->p->base.arena;
    size_t n = strlen(name) + strlen(ext) + 40;
    ax_mt_hash h;
    char *s;

    AX_NEW(w->t, s, (char *) ax_arena_alloc(a, n));
    snprintf(s, n, "%s%s", name, ext);
    *out = ax_mt_member_find(w->p, s);
    if (*out != NULL)
        return AX_OK;
    h = ax_mt_sip128((const uint8_t *) name, strlen(name));
    snprintf(s, n, "%016llx%016llx%s", (unsigned long long) h.hi, (unsigned long long) h.lo, ext);
    *out = ax_mt_member_find(w->p, s);
    return AX_OK;
}

/* Ordinal of a substream of the column in a record of marks, or -1. */
static int32_t substream_of(const walk *w, const char *name)
{
    const ax_mt_part *p = w->p;

    for (uint32_t i = p->substream_at[w->ordinal]; i < p->substream_at[w->ordinal + 1]; i++)
        if (strcmp(p->substream[i], name) == 0)
            return (int32_t) i;
    return -1;
}

/* Is there a stream of this name? */
static ax_status exists(walk *w, const char *name, bool *out)
{
    const ax_mt_member *m;

    *out = true;
    if (w->p->compact)
    {
        *out = w->p->marks_of_columns || substream_of(w, name) >= 0;
        return AX_OK;
    }
    AX_TRY(file_of(w, name, ".bin", &m));
    *out = m != NULL;
    return AX_OK;
}

static ax_status grow(walk *w)
{
    ax_mt_part *p = w->p;
    ax_mt_stream *s;
    uint32_t cap = w->cap == 0 ? 64 : w->cap * 2;

    if (p->nstreams < w->cap)
        return AX_OK;
    AX_CHECK(w->t, cap <= MT_MAX_STREAMS, AX_ELIMIT, "part has more than %d streams",
             MT_MAX_STREAMS);
    AX_NEW(w->t, s, (ax_mt_stream *) ax_arena_alloc0(p->base.arena, cap * sizeof *s));
    if (p->nstreams > 0)
        memcpy((void *) s, (const void *) p->stream, p->nstreams * sizeof *s);
    p->stream = s;
    w->cap = cap;
    return AX_OK;
}

/* Add the stream of this name to the column.  *idx: MT_NO_STREAM when it does not exist. */
static ax_status add(walk *w, const char *name, int32_t *idx)
{
    ax_mt_part *p = w->p;
    ax_mt_stream *s;
    bool there;

    AX_TRY(exists(w, name, &there));
    if (!there)
    {
        const ax_mt_member *marks = NULL;

        w->missing++;
        if (!p->compact)
            AX_TRY(file_of(w, name, p->marks_ext, &marks));
        AX_CHECK(w->t, marks == NULL, AX_ECORRUPT, "part has marks of stream %s but not its bytes",
                 name);
        return AX_OK;
    }
    AX_TRY(grow(w));
    w->found++;
    *idx = (int32_t) p->nstreams;
    s = &p->stream[p->nstreams++];
    s->name = name;
    s->mark_idx = -1;
    if (!p->compact)
    {
        AX_TRY(file_of(w, name, ".bin", &s->bin));
        AX_TRY(file_of(w, name, p->marks_ext, &s->marks_file));
        if (s->marks_file == NULL)
            w->missing++;
        w->col->bytes += s->bin->size;
        return AX_OK;
    }
    s->bin = p->data;
    s->marks_file = p->data_marks;
    if (!p->marks_of_columns)
        s->mark_idx = substream_of(w, name);
    else if (w->found == 1)
        s->mark_idx = (int32_t) w->ordinal;
    return AX_OK;
}

static ax_status stream(walk *w, const char *name, int32_t *idx)
{
    *idx = MT_NO_STREAM;
    return w->prefixing ? AX_OK : add(w, name, idx);
}

/* A stream that precedes all data of a Compact column; other: its name in older parts, or NULL. */
static ax_status prefix_stream(walk *w, const char *name, const char *suffix, const char *other,
                               int32_t *idx)
{
    const char *full;
    bool there;

    *idx = MT_NO_STREAM;
    if (!w->p->compact)
        return AX_OK;
    if (!w->prefixing)
    {
        *idx = w->prefix[w->prefix_at++];
        return AX_OK;
    }
    AX_TRY(join(w, name, suffix, &full));
    AX_TRY(exists(w, full, &there));
    if (!there)
        AX_TRY(join(w, name, other, &full));
    AX_TRY(add(w, full, idx));
    if (w->nprefix == w->prefix_cap)
    {
        uint32_t cap = w->prefix_cap == 0 ? 16 : w->prefix_cap * 2;
        int32_t *grown;

        AX_NEW(w->t, grown, (int32_t *) ax_arena_alloc(w->p->base.arena, cap * sizeof *grown));
        if (w->nprefix > 0)
            memcpy(grown, w->prefix, w->nprefix * sizeof *grown);
        w->prefix = grown;
        w->prefix_cap = cap;
    }
    w->prefix[w->nprefix++] = *idx;
    return AX_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ax_status node(walk *w, const ax_mt_type *ty, ax_mt_form form, uint32_t nchild,
                      ax_mt_node **out)
{
    ax_arena *a = w->p->base.arena;
    ax_mt_node *n;

    *out = NULL;
    AX_NEW(w->t, n, (ax_mt_node *) ax_arena_alloc0(a, sizeof *n));
    AX_NEW(w->t, n->child, (ax_mt_node **) ax_arena_alloc0(a, (nchild + 1) * sizeof *n->child));
    n->type = ty;
    n->form = (uint8_t) form;
    n->nchild = nchild;
    n->stream[0] = n->stream[1] = n->stream[2] = MT_NO_STREAM;
    *out = n;
    return AX_OK;
}

static ax_status suffixed(walk *w, const char *name, const char *suffix, int32_t *idx)
{
    const char *s;

    AX_TRY(join(w, name, suffix, &s));
    return stream(w, s, idx);
}

static bool versions_count(const walk *w, place at) { return !at.inside || w->p->ser.propagate; }

static ax_status string_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    bool sized = !at.old_strings && w->p->ser.string == 1 && versions_count(w, at);

    AX_TRY(node(w, ty, sized ? MT_F_STRING_SIZE : MT_F_STRING, 0, out));
    if (sized)
        AX_TRY(suffixed(w, at.name, ".size", &(*out)->stream[1]));
    return stream(w, at.name, &(*out)->stream[0]);
}

static ax_status sparse_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    const ax_mt_type *inner = ty->id == MT_NULLABLE ? ty->child[0] : ty;

    AX_CHECK(w->t, inner->width > 0 || inner->id == MT_STRING, AX_EUNSUPPORTED,
             "sparse serialization of type %s is not known", ty->text);
    at.kind = NULL;
    AX_TRY(node(w, ty, MT_F_SPARSE, 1, out));
    AX_TRY(suffixed(w, at.name, ".sparse.idx", &(*out)->stream[0]));
    return make(w, inner, at, &(*out)->child[0]);
}

static ax_status nullable_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    AX_TRY(node(w, ty, MT_F_NULLABLE, 1, out));
    AX_TRY(suffixed(w, at.name, ".null", &(*out)->stream[0]));
    at.inside = true;
    at.kind = NULL;
    return make(w, ty->child[0], at, &(*out)->child[0]);
}

/* Sizes, by the name that exists. */
static ax_status sizes(walk *w, place at, int32_t *idx)
{
    char suffix[24];
    const char *name;
    bool there = false;

    snprintf(suffix, sizeof suffix, ".size%u", at.level);
    if (at.level == 0 && w->shared != NULL)
    {
        AX_TRY(join(w, w->shared, suffix, &name));
        AX_TRY(exists(w, name, &there));
        if (there)
            return stream(w, name, idx);
    }
    return suffixed(w, at.name, suffix, idx);
}

static ax_status array_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    AX_TRY(node(w, ty, MT_F_ARRAY, 1, out));
    AX_TRY(sizes(w, at, &(*out)->stream[0]));
    at.inside = true;
    at.kind = NULL;
    at.level++;
    return make(w, ty->child[0], at, &(*out)->child[0]);
}

/* A map in one piece: an array of pairs. */
static ax_status pairs_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    ax_mt_node *pair;
    place in = at;

    AX_TRY(node(w, ty, MT_F_ARRAY, 1, out));
    AX_TRY(sizes(w, at, &(*out)->stream[0]));
    AX_TRY(node(w, ty, MT_F_TUPLE, 2, &pair));
    (*out)->child[0] = pair;
    in.inside = true;
    in.kind = NULL;
    in.level++;
    AX_TRY(join(w, at.name, "%2Ekeys", &in.name));
    AX_TRY(make(w, ty->child[0], in, &pair->child[0]));
    AX_TRY(join(w, at.name, "%2Evalues", &in.name));
    return make(w, ty->child[1], in, &pair->child[1]);
}

/* A map in buckets: as many as have a stream of sizes. */
static ax_status buckets_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    const char *name = at.name, *sized;
    char suffix[48];
    uint32_t n = 0;
    bool there = true;

    while (n < 256 && there)
    {
        snprintf(suffix, sizeof suffix, ".%u.size%u", n, at.level);
        AX_TRY(join(w, name, suffix, &sized));
        AX_TRY(exists(w, sized, &there));
        n += there;
        AX_CHECK(w->t, !w->p->marks_of_columns, AX_EUNSUPPORTED,
                 "maps in buckets with marks of columns are not known");
    }
    AX_TRY(node(w, ty, MT_F_BUCKETS, n, out));
    AX_TRY(suffixed(w, name, ".buckets_info", &(*out)->stream[1]));
    if (!w->p->compact && (*out)->stream[1] >= 0)
        w->p->stream[(*out)->stream[1]].prefix = w->p->stream[(*out)->stream[1]].info = true;
    if (n > 1)
        AX_TRY(suffixed(w, name, ".bucket_indexes", &(*out)->stream[0]));
    for (uint32_t i = 0; i < n; i++)
    {
        snprintf(suffix, sizeof suffix, ".%u", i);
        AX_TRY(join(w, name, suffix, &at.name));
        AX_TRY(pairs_node(w, ty, at, &(*out)->child[i]));
    }
    /* Of a map of which nothing is there, the sizes are what is missing. */
    w->missing += n == 0;
    return AX_OK;
}

static ax_status tuple_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    const ax_mt_kind *kind = at.kind;
    const char *name = at.name;

    if (ty->nchild == 0)
    {
        AX_TRY(node(w, ty, MT_F_EMPTY_TUPLE, 0, out));
        return stream(w, at.name, &(*out)->stream[0]);
    }
    AX_TRY(node(w, ty, MT_F_TUPLE, ty->nchild, out));
    for (uint32_t i = 0; i < ty->nchild; i++)
    {
        char number[16];
        const char *element = ty->name[i], *escaped;

        snprintf(number, sizeof number, "%u", i + 1);
        if (element == NULL)
            element = number;
        AX_TRY(ax_mt_escape(w->t, w->p->base.arena, element, strlen(element), &escaped));
        AX_TRY(join(w, name, "%2E", &at.name));
        AX_TRY(join(w, at.name, escaped, &at.name));
        at.kind = kind != NULL && i < kind->nsub ? &kind->sub[i] : NULL;
        AX_TRY(make(w, ty->child[i], at, &(*out)->child[i]));
    }
    return AX_OK;
}

static ax_status lowcard_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    const ax_mt_type *key = ty->child[0]->id == MT_NULLABLE ? ty->child[0]->child[0]
                                                           : ty->child[0];
    ax_mt_node *keys;

    AX_CHECK(w->t, key->width > 0 || key->id == MT_STRING, AX_EUNSUPPORTED,
             "LowCardinality of %s is not known", key->text);
    AX_TRY(node(w, ty, MT_F_LOWCARD, 1, out));
    /* Keys stand in the streams of the column itself. */
    AX_TRY(node(w, key, key->id == MT_STRING ? MT_F_STRING : MT_F_FIXED, 0, &keys));
    (*out)->child[0] = keys;
    AX_TRY(prefix_stream(w, at.name, ".dict_prefix", ".dict", &(*out)->stream[2]));
    if (!w->p->compact)
    {
        AX_TRY(suffixed(w, at.name, ".dict", &(*out)->stream[1]));
        if ((*out)->stream[1] >= 0)
            w->p->stream[(*out)->stream[1]].prefix = w->p->stream[(*out)->stream[1]].ahead = true;
    }
    return stream(w, at.name, &(*out)->stream[0]);
}

static ax_status variant_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    const char *name = at.name, *escaped;

    AX_TRY(node(w, ty, MT_F_VARIANT, ty->nchild, out));
    AX_TRY(prefix_stream(w, at.name, ".variant_discr_prefix", ".variant_discr",
                         &(*out)->stream[1]));
    AX_TRY(suffixed(w, at.name, ".variant_discr", &(*out)->stream[0]));
    if (!w->p->compact && (*out)->stream[0] >= 0)
        w->p->stream[(*out)->stream[0]].prefix = true;
    at.inside = true;
    at.kind = NULL;
    for (uint32_t i = 0; i < ty->nchild; i++)
    {
        const char *text = ty->child[i]->text;
        uint32_t found = w->found, missing = w->missing, nstreams = w->p->nstreams;
        uint32_t nprefix = w->nprefix, prefix_at = w->prefix_at;

        AX_TRY(ax_mt_escape(w->t, w->p->base.arena, text, strlen(text), &escaped));
        AX_TRY(join(w, name, ".", &at.name));
        AX_TRY(join(w, at.name, escaped, &at.name));
        AX_TRY(make(w, ty->child[i], at, &(*out)->child[i]));
        if (w->missing == missing || w->p->marks_of_columns)
            continue;
        /* Before 25.11 the type's name was not escaped. */
        w->found = found;
        w->missing = missing;
        w->p->nstreams = nstreams;
        w->nprefix = nprefix;
        w->prefix_at = prefix_at;
        AX_TRY(join(w, name, ".", &at.name));
        AX_TRY(join(w, at.name, text, &at.name));
        AX_TRY(make(w, ty->child[i], at, &(*out)->child[i]));
    }
    return AX_OK;
}

static ax_status qbit_node(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    uint32_t bits = ty->child[0]->width * 8;
    const char *name = at.name;
    ax_mt_type *plane;

    AX_NEW(w->t, plane, (ax_mt_type *) ax_arena_alloc0(w->p->base.arena, sizeof *plane));
    plane->id = MT_FIXEDSTRING;
    plane->width = (ty->dim + 7) / 8;
    plane->text = ty->text;
    AX_TRY(node(w, ty, MT_F_QBIT, bits, out));
    for (uint32_t i = 0; i < bits; i++)
    {
        char suffix[24];

        snprintf(suffix, sizeof suffix, "%%2E%u", i + 1);
        AX_TRY(join(w, name, suffix, &at.name));
        AX_TRY(make(w, plane, at, &(*out)->child[i]));
    }
    return AX_OK;
}

static ax_status make(walk *w, const ax_mt_type *ty, place at, ax_mt_node **out)
{
    if (at.kind != NULL && at.kind->sparse)
        return sparse_node(w, ty, at, out);
    switch (ty->id)
    {
        case MT_STRING:
            return string_node(w, ty, at, out);
        case MT_NULLABLE:
            return nullable_node(w, ty, at, out);
        case MT_ARRAY:
            return array_node(w, ty, at, out);
        case MT_TUPLE:
            return tuple_node(w, ty, at, out);
        case MT_LOWCARD:
            return lowcard_node(w, ty, at, out);
        case MT_VARIANT:
            return variant_node(w, ty, at, out);
        case MT_QBIT:
            return qbit_node(w, ty, at, out);
        case MT_MAP:
            if (w->p->ser.map == 1 && versions_count(w, at))
                return buckets_node(w, ty, at, out);
            return pairs_node(w, ty, at, out);
        case MT_AGGREGATE:
            AX_TRY(node(w, ty, MT_F_AGGREGATE, 0, out));
            return stream(w, at.name, &(*out)->stream[0]);
        case MT_DYNAMIC:
        case MT_JSON:
        case MT_OTHER:
            return ax_fail(w->t, AX_EUNSUPPORTED, "type %s is not supported", ty->text);
        default:
            AX_TRY(node(w, ty, MT_F_FIXED, 0, out));
            return stream(w, at.name, &(*out)->stream[0]);
    }
}


/* ---- columns --------------------------------------------------------------------------------- */

static const ax_mt_kind *kind_of(const ax_mt_serinfo *ser, const char *name)
{
    for (uint32_t i = 0; i < ser->n; i++)
        if (ser->name[i] != NULL && strcmp(ser->name[i], name) == 0)
            return &ser->kind[i];
    return NULL;
}

/* The part of a name before its dot, for columns of a Nested table. */
static ax_status shared_name(walk *w, const char **out)
{
    const char *dot = strchr(w->col->name, '.');
    bool list = w->col->type->id == MT_ARRAY || w->col->type->id == MT_MAP;

    *out = NULL;
    if (dot == NULL || !list)
        return AX_OK;
    return ax_mt_escape(w->t, w->p->base.arena, w->col->name, (size_t) (dot - w->col->name), out);
}

static ax_status column(walk *w)
{
    ax_mt_column *c = w->col;
    place at = {.kind = kind_of(&w->p->ser, c->name)};
    ax_mt_node *root;

    AX_TRY(ax_mt_escape(w->t, w->p->base.arena, c->name, strlen(c->name), &at.name));
    AX_TRY(shared_name(w, &w->shared));
    w->missing = w->found = w->nprefix = w->prefix_at = 0;
    c->stream0 = w->p->nstreams;
    w->prefixing = true;
    AX_TRY(make(w, c->type, at, &root));
    w->prefixing = false;
    AX_TRY(make(w, c->type, at, &root));
    c->nstreams = w->p->nstreams - c->stream0;
    /* A column of which nothing is there has its default in every row. */
    if (w->found == 0)
        return AX_OK;
    AX_CHECK(w->t, w->missing == 0, AX_ECORRUPT, "part lacks a stream of column \"%s\"", c->name);
    c->node = root;
    return AX_OK;
}

ax_status ax_mt_streams_make(ax_task *t, ax_mt_part *p)
{
    walk w = {.t = t, .p = p};

    for (uint32_t i = 0; i < p->ncolumns; i++)
    {
        ax_status st;

        w.col = &p->column[i];
        w.ordinal = i;
        st = column(&w);
        if (st == AX_EUNSUPPORTED)
        {
            AX_NEW(t, w.col->refusal,
                   ax_arena_strndup(p->base.arena, t->err.msg, strlen(t->err.msg)));
            ax_error_clear(&t->err);
            p->nstreams = w.col->stream0;
            w.col->nstreams = 0;
            continue;
        }
        if (st != AX_OK)
        {
            ax_note_column(t, w.col->name);
            return st;
        }
    }
    return AX_OK;
}
