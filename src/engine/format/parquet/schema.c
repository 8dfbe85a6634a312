/* The schema: a depth-first list of elements becomes a tree of fields and a list of leaves.
 *
 * Elements are decoded one at a time and the tree is built iteratively over a stack of
 * PQ_MAX_DEPTH levels.  Children claimed by groups are counted, so that memory is linear in the
 * number of elements whatever they claim.
 *
 * A leaf that cannot be read (yet) says why in its field's `refusal`; the file opens all the same.
 *
 * Format: apache/parquet-format, LogicalTypes.md; parquet.thrift, SchemaElement. */
#include "parquet_int.h"

#include "func/func.h"

#include <math.h>
#include <stdio.h>

enum { PATH_BYTES = 256 };

typedef struct level
{
    ax_field *child;          /* [n] */
    uint32_t n, next;
    uint8_t def, rep;         /* maximum levels of the group */
    uint32_t path_len;        /* of the group's own path, with its dot */
} level;

typedef struct builder
{
    ax_pq_file *f;
    level stack[PQ_MAX_DEPTH + 1];
    uint32_t depth;
    uint32_t claimed, total;  /* elements promised by groups so far; elements there are */
    char path[PATH_BYTES];
    uint32_t cap;             /* of f->leaf */
} builder;

/* ---- elements -------------------------------------------------------------------------------- */

static void parse_decimal(ax_cur *c, ax_pq_logical *lt)
{
    ax_pq_fld f = {0, 0};

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, &lt->scale);
        else if (f.id == 2)
            (void) ax_pq_th_i32(c, f.type, &lt->precision);
        else
            ax_pq_th_skip(c, f.type);
    }
}

static void parse_time(ax_cur *c, ax_pq_logical *lt)
{
    ax_pq_fld f = {0, 0}, u;

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_bool(c, f.type, &lt->utc);
        else if (f.id == 2 && f.type == TH_STRUCT)
        {
            u = (ax_pq_fld){0, 0};
            while (ax_pq_th_next(c, &u))
            {
                if (u.id >= 1 && u.id <= 3)
                    lt->unit = (uint8_t) u.id;
                ax_pq_th_skip(c, u.type);
            }
        }
        else
            ax_pq_th_skip(c, f.type);
    }
}

static void parse_int(ax_cur *c, ax_pq_logical *lt)
{
    ax_pq_fld f = {0, 0};
    int32_t bits = 0;

    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, &bits);
        else if (f.id == 2)
            (void) ax_pq_th_bool(c, f.type, &lt->is_signed);
        else
            ax_pq_th_skip(c, f.type);
    }
    lt->bits = bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (uint8_t) bits : 0;
}

static void parse_variant(ax_cur *c, ax_pq_logical *lt)
{
    ax_pq_fld f = {0, 0};

    lt->version = 1;
    while (ax_pq_th_next(c, &f))
    {
        if (f.id == 1)
            (void) ax_pq_th_i32(c, f.type, &lt->version);
        else
            ax_pq_th_skip(c, f.type);
    }
}

/* The union LogicalType: which member is set says the kind. */
static void parse_logical(ax_cur *c, ax_pq_logical *lt)
{
    static const uint8_t kinds[] = {
        [1] = LT_STRING, [2] = LT_MAP, [3] = LT_LIST, [4] = LT_ENUM, [5] = LT_DECIMAL,
        [6] = LT_DATE, [7] = LT_TIME, [8] = LT_TIMESTAMP, [10] = LT_INT, [11] = LT_UNKNOWN,
        [12] = LT_JSON, [13] = LT_BSON, [14] = LT_UUID, [15] = LT_FLOAT16, [16] = LT_VARIANT,
        [17] = LT_GEOMETRY, [18] = LT_GEOGRAPHY, [19] = LT_FILE,
    };
    ax_pq_fld f = {0, 0};

    memset(lt, 0, sizeof *lt);
    lt->kind = LT_OTHER;
    while (ax_pq_th_next(c, &f))
    {
        if (f.type != TH_STRUCT)
        {
            ax_pq_th_skip(c, f.type);
            continue;
        }
        lt->kind = f.id > 0 && f.id < (int32_t) sizeof kinds && kinds[f.id] != 0 ? kinds[f.id]
                                                                                : LT_OTHER;
        if (lt->kind == LT_DECIMAL)
            parse_decimal(c, lt);
        else if (lt->kind == LT_TIME || lt->kind == LT_TIMESTAMP)
            parse_time(c, lt);
        else if (lt->kind == LT_INT)
            parse_int(c, lt);
        else if (lt->kind == LT_VARIANT && f.type == TH_STRUCT)
            parse_variant(c, lt);
        else
            ax_pq_th_skip(c, f.type);
    }
}

/* The older annotation, in the words of the newer one. */
static void from_converted(const ax_pq_rawelem *e, ax_pq_logical *lt)
{
    static const struct { uint8_t kind, unit, bits; bool sign; } map[] = {
        [0] = {LT_STRING, 0, 0, 0}, [1] = {LT_MAP, 0, 0, 0}, [2] = {LT_MAP_KEY_VALUE, 0, 0, 0},
        [3] = {LT_LIST, 0, 0, 0}, [4] = {LT_ENUM, 0, 0, 0}, [5] = {LT_DECIMAL, 0, 0, 0},
        [6] = {LT_DATE, 0, 0, 0}, [7] = {LT_TIME, UNIT_MS, 0, 0}, [8] = {LT_TIME, UNIT_US, 0, 0},
        [9] = {LT_TIMESTAMP, UNIT_MS, 0, 0}, [10] = {LT_TIMESTAMP, UNIT_US, 0, 0},
        [11] = {LT_INT, 0, 8, 0}, [12] = {LT_INT, 0, 16, 0}, [13] = {LT_INT, 0, 32, 0},
        [14] = {LT_INT, 0, 64, 0}, [15] = {LT_INT, 0, 8, 1}, [16] = {LT_INT, 0, 16, 1},
        [17] = {LT_INT, 0, 32, 1}, [18] = {LT_INT, 0, 64, 1}, [19] = {LT_JSON, 0, 0, 0},
        [20] = {LT_BSON, 0, 0, 0}, [21] = {LT_INTERVAL, 0, 0, 0}, [22] = {LT_NONE, 0, 0, 0},
        [23] = {LT_NONE, 0, 0, 0}, [24] = {LT_UNKNOWN, 0, 0, 0},
    };

    memset(lt, 0, sizeof *lt);
    if (e->converted < 0 || e->converted > 24)
        return;
    lt->kind = map[e->converted].kind;
    lt->unit = map[e->converted].unit;
    lt->bits = map[e->converted].bits;
    lt->is_signed = map[e->converted].sign;
    lt->utc = true;
    lt->scale = e->scale;
    lt->precision = e->precision;
}

void ax_pq_elem_parse(ax_cur *c, ax_pq_rawelem *e)
{
    ax_pq_fld f = {0, 0};

    memset(e, 0, sizeof *e);
    e->name = (const uint8_t *) "";
    e->type = e->rep = e->converted = e->field_id = e->type_length = -1;
    while (ax_pq_th_next(c, &f))
    {
        switch (f.id)
        {
            case 1:
                e->type = -2; /* present, whatever it is */
                (void) ax_pq_th_i32(c, f.type, &e->type);
                if (e->type < 0 || e->type >= PQ_TYPE_CNT)
                    e->type = -2;
                break;
            case 2:
                (void) ax_pq_th_i32(c, f.type, &e->type_length);
                break;
            case 3:
                (void) ax_pq_th_i32(c, f.type, &e->rep);
                break;
            case 4:
                (void) ax_pq_th_bin(c, f.type, &e->name, &e->name_len);
                break;
            case 5:
                (void) ax_pq_th_i32(c, f.type, &e->children);
                break;
            case 6:
                (void) ax_pq_th_i32(c, f.type, &e->converted);
                break;
            case 7:
                (void) ax_pq_th_i32(c, f.type, &e->scale);
                break;
            case 8:
                (void) ax_pq_th_i32(c, f.type, &e->precision);
                break;
            case 9:
                (void) ax_pq_th_i32(c, f.type, &e->field_id);
                break;
            case 10:
                e->has_lt = f.type == TH_STRUCT;
                if (ax_pq_th_struct(c, f.type))
                    parse_logical(c, &e->lt);
                break;
            default:
                ax_pq_th_skip(c, f.type);
        }
    }
    if (!e->has_lt)
        from_converted(e, &e->lt);
}

/* ---- leaves: which type would we declare? ---------------------------------------------------- */

/* Digits that fit in n bytes of two's complement. */
static int32_t digits_of(int32_t n)
{
    return n <= 0 ? 0 : (int32_t) floor(((double) n * 8 - 1) * 0.30102999566398120);
}

static bool decimal_valid(const ax_pq_leaf *l, const ax_pq_logical *lt)
{
    int32_t most = l->phys == PQ_INT32 ? 9
                   : l->phys == PQ_INT64 ? 18
                   : l->phys == PQ_FLBA ? digits_of(l->type_length) : INT32_MAX;

    return lt->precision > 0 && lt->precision <= most && lt->scale >= 0 &&
           lt->scale <= lt->precision;
}

/* Does the annotation fit the physical type? */
static bool fits(const ax_pq_leaf *l, const ax_pq_logical *lt)
{
    bool bytes = l->phys == PQ_BYTE_ARRAY || l->phys == PQ_FLBA;

    switch (lt->kind)
    {
        case LT_STRING:
        case LT_ENUM:
        case LT_JSON:
        case LT_BSON:
            return bytes;
        case LT_GEOMETRY:
        case LT_GEOGRAPHY:
            return l->phys == PQ_BYTE_ARRAY;
        case LT_INT:
            return lt->bits != 0 && l->phys == (lt->bits == 64 ? PQ_INT64 : PQ_INT32);
        case LT_DECIMAL:
            return bytes || l->phys == PQ_INT32 || l->phys == PQ_INT64;
        case LT_DATE:
            return l->phys == PQ_INT32;
        case LT_TIME:
            return lt->unit != 0 && l->phys == (lt->unit == UNIT_MS ? PQ_INT32 : PQ_INT64);
        case LT_TIMESTAMP:
            return lt->unit != 0 && l->phys == PQ_INT64;
        case LT_INTERVAL:
            return l->phys == PQ_FLBA && l->type_length == 12;
        case LT_UUID:
            return l->phys == PQ_FLBA && l->type_length == 16;
        case LT_FLOAT16:
            return l->phys == PQ_FLBA && l->type_length == 2;
        case LT_UNKNOWN:
            return true;
        default:
            return false;
    }
}

static ax_type_id int_type(const ax_pq_logical *lt, int8_t phys)
{
    if (lt->kind != LT_INT)
        return phys == PQ_INT32 ? AX_T_INT4 : AX_T_INT8;
    if (lt->is_signed)
        return lt->bits <= 16 ? AX_T_INT2 : lt->bits == 32 ? AX_T_INT4 : AX_T_INT8;
    return lt->bits == 8    ? AX_T_INT2
           : lt->bits == 16 ? AX_T_INT4
           : lt->bits == 32 ? AX_T_INT8
                            : AX_T_NUMERIC;
}

static ax_type_id plain_type(const ax_pq_leaf *l)
{
    switch (l->phys)
    {
        case PQ_BOOLEAN:
            return AX_T_BOOL;
        case PQ_INT32:
        case PQ_INT64:
            return int_type(&l->lt, l->phys);
        case PQ_INT96:
            return AX_T_TIMESTAMP;
        case PQ_FLOAT:
            return AX_T_FLOAT4;
        case PQ_DOUBLE:
            return AX_T_FLOAT8;
        case PQ_BYTE_ARRAY:
        case PQ_FLBA:
            return AX_T_BYTEA;
        default:
            return AX_T_NONE;
    }
}

static ax_type leaf_type(const ax_pq_leaf *l)
{
    ax_type_id id = plain_type(l);
    ax_type type;

    switch (l->lt.kind)
    {
        case LT_STRING:
        case LT_ENUM:
        case LT_JSON:
        case LT_UNKNOWN:
            id = AX_T_TEXT;
            break;
        case LT_DECIMAL:
            id = l->lt.precision > AX_NUM_DIGITS ? AX_T_DIGITS : AX_T_NUMERIC;
            break;
        case LT_DATE:
            id = AX_T_DATE;
            break;
        case LT_TIME:
            id = AX_T_TIME;
            break;
        case LT_TIMESTAMP:
            id = l->lt.utc ? AX_T_TIMESTAMPTZ : AX_T_TIMESTAMP;
            break;
        case LT_INTERVAL:
            id = AX_T_INTERVAL;
            break;
        case LT_UUID:
            id = AX_T_UUID;
            break;
        case LT_FLOAT16:
            id = AX_T_FLOAT4;
            break;
        default:
            break;
    }
    type = ax_type_make(id);
    if (id == AX_T_NUMERIC || id == AX_T_DIGITS)
    {
        type.precision = l->lt.kind == LT_DECIMAL ? (int16_t) l->lt.precision : 20;
        type.scale = l->lt.kind == LT_DECIMAL ? (int16_t) l->lt.scale : 0;
    }
    return type;
}

static const char *refusal_of(const ax_pq_leaf *l)
{
    if (l->phys < 0)
        return "its physical type is not known";
    if (l->phys == PQ_FLBA && (l->type_length < 0 || l->type_length > PQ_MAX_TYPE_LENGTH))
        return "its type length is missing or out of range";
    if (l->lt.kind == LT_DECIMAL && !decimal_valid(l, &l->lt))
        return "its DECIMAL has no valid precision and scale";
    if (l->lt.kind == LT_DECIMAL && l->lt.precision > 1000)
        return "its DECIMAL has more than 1000 digits";
    return NULL;
}

const char *ax_pq_type_name(int32_t type)
{
    static const char *const names[] = {"BOOLEAN", "INT32", "INT64", "INT96",
                                        "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};

    return type >= 0 && type < PQ_TYPE_CNT ? names[type] : NULL;
}

void ax_pq_logical_text(const ax_pq_logical *lt, char *out, size_t n)
{
    static const char *const kinds[] = {
        "", "STRING", "MAP", "LIST", "ENUM", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "INT",
        "UNKNOWN", "JSON", "BSON", "UUID", "FLOAT16", "VARIANT", "GEOMETRY", "GEOGRAPHY", "FILE",
        "INTERVAL", "MAP_KEY_VALUE", "?"};
    static const char *const units[] = {"?", "ms", "us", "ns"};
    char par[48] = "";

    if (lt->kind == LT_DECIMAL)
        snprintf(par, sizeof par, "(%d,%d)", (int) lt->precision, (int) lt->scale);
    else if (lt->kind == LT_TIME || lt->kind == LT_TIMESTAMP)
        snprintf(par, sizeof par, "(%s,%s)", units[lt->unit & 3], lt->utc ? "UTC" : "local");
    else if (lt->kind == LT_INT)
        snprintf(par, sizeof par, "(%u,%s)", lt->bits, lt->is_signed ? "signed" : "unsigned");
    snprintf(out, n, "%s%s", kinds[lt->kind], par);
}

/* "INT32 (DATE)", as the format calls it. */
static const char *source_type(ax_arena *a, const ax_pq_leaf *l)
{
    const char *phys = ax_pq_type_name(l->phys);
    char buf[192], logical[96];

    if (phys == NULL)
        return "unknown";
    if (l->lt.kind == LT_NONE && l->phys != PQ_FLBA)
        return phys;
    if (l->phys == PQ_FLBA)
        snprintf(buf, sizeof buf, "%s(%d)", phys, (int) l->type_length);
    else
        snprintf(buf, sizeof buf, "%s", phys);
    if (l->lt.kind != LT_NONE)
    {
        size_t n = strlen(buf);

        ax_pq_logical_text(&l->lt, logical, sizeof logical);
        snprintf(buf + n, sizeof buf - n, " (%s)", logical);
    }
    return ax_arena_strndup(a, buf, strlen(buf));
}

static ax_status make_leaf(ax_task *t, builder *b, const ax_pq_rawelem *e, ax_field *fld,
                           uint8_t def, uint8_t rep)
{
    ax_pq_leaf *l = &b->f->leaf[b->f->nleaf++];

    memset(l, 0, sizeof *l);
    l->field = fld;
    l->phys = e->type >= 0 ? (int8_t) e->type : -1;
    l->max_def = def;
    l->max_rep = rep;
    l->type_length = e->type_length;
    l->lt = e->lt;
    if (!fits(l, &l->lt))
        memset(&l->lt, 0, sizeof l->lt);
    fld->type = l->type = leaf_type(l);
    if (l->lt.kind == LT_JSON)
        fld->type = ax_type_make(AX_T_JSONB);
    fld->refusal = refusal_of(l);
    AX_NEW(t, fld->source_type, source_type(b->f->base.arena, l));
    l->path = fld->name;
    if (b->depth > 1)
    {
        uint32_t at = b->stack[b->depth - 1].path_len;

        snprintf(b->path + at, sizeof b->path - at, "%s", fld->name);
        AX_NEW(t, l->path, ax_arena_strndup(b->f->base.arena, b->path, strlen(b->path)));
    }
    return AX_OK;
}

/* ---- the tree -------------------------------------------------------------------------------- */

ax_status ax_pq_shown(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, const char **out)
{
    uint32_t i = 0, bad = 0;
    char *s;

    for (i = 0; i < n;)
    {
        uint32_t len = ax_utf8_len(p + i, n - i);

        bad += len == 0;
        i += len > 0 ? len : 1;
    }
    AX_NEW(t, s, (char *) ax_arena_alloc(a, (size_t) n + 2 * (size_t) bad + 1));
    *out = s;
    for (i = 0; i < n;)
    {
        uint32_t len = ax_utf8_len(p + i, n - i);

        memcpy(s, len > 0 ? (const char *) p + i : "\xef\xbf\xbd", len > 0 ? len : 3);
        s += len > 0 ? len : 3;
        i += len > 0 ? len : 1;
    }
    *s = '\0';
    return AX_OK;
}

static ax_status push_group(ax_task *t, builder *b, ax_field *fld, uint32_t n, uint8_t def,
                            uint8_t rep)
{
    level *l;
    ax_field *child;
    uint32_t at = b->depth > 1 ? b->stack[b->depth - 1].path_len : 0;

    AX_CHECK(t, b->depth <= PQ_MAX_DEPTH - 1, AX_ELIMIT, "schema is nested more than %d deep",
             PQ_MAX_DEPTH);
    AX_CHECK(t, n <= b->total - b->claimed, AX_ECORRUPT,
             "schema promises more elements than it has");
    b->claimed += n;
    AX_NEW(t, child, (ax_field *) ax_arena_alloc0(b->f->base.arena, n * sizeof *child + 1));
    if (fld != NULL)
    {
        fld->child = child;
        fld->nchild = n;
        snprintf(b->path + at, sizeof b->path - at, "%s.", fld->name);
        at = (uint32_t) strlen(b->path);
    }
    else
        b->f->base.schema = (ax_schema){child, n};
    l = &b->stack[b->depth++];
    *l = (level){child, n, 0, def, rep, at};
    return AX_OK;
}

static ax_status add_elem(ax_task *t, builder *b, const ax_pq_rawelem *e)
{
    level *top = &b->stack[b->depth - 1];
    ax_field *fld = &top->child[top->next++];
    uint8_t def = top->def, rep = top->rep;
    ax_pq_elem *rec;

    AX_CHECK(t, e->rep >= -1 && e->rep <= PQ_REPEATED, AX_ECORRUPT,
             "schema element has repetition %d", (int) e->rep);
    AX_CHECK(t, e->children >= 0, AX_ECORRUPT, "schema element has %d children", (int) e->children);
    AX_TRY(ax_pq_shown(t, b->f->base.arena, e->name, e->name_len, &fld->name));
    fld->field_id = e->field_id;
    fld->nullable = e->rep == PQ_OPTIONAL;
    rec = &b->f->elem[b->f->nelem++];
    def = (uint8_t) (def + (e->rep == PQ_OPTIONAL || e->rep == PQ_REPEATED));
    rep = (uint8_t) (rep + (e->rep == PQ_REPEATED));
    *rec = (ax_pq_elem){.field = fld, .leaf0 = b->f->nleaf, .def = def, .rep = rep,
                        .repetition = e->rep < 0 ? PQ_REQUIRED : (uint8_t) e->rep};
    if (e->children == 0 && e->type != -1)
        return make_leaf(t, b, e, fld, def, rep);
    fld->type = ax_type_make(AX_T_NONE);
    rec->lt = e->lt.kind;
    rec->version = (uint8_t) (e->lt.version >= 0 && e->lt.version < 255 ? e->lt.version : 255);
    fld->source_type = e->lt.kind == LT_LIST ? "LIST" : e->lt.kind == LT_MAP ? "MAP"
                       : e->lt.kind == LT_VARIANT ? "VARIANT" : "group";
    return push_group(t, b, fld, (uint32_t) e->children, def, rep);
}

/* Sizes of subtrees, from the last element on. */
static void measure(ax_pq_file *f)
{
    uint32_t i, k;

    for (i = f->nelem; i-- > 0;)
    {
        ax_pq_elem *e = &f->elem[i];
        bool leaf = e->leaf0 < f->nleaf && f->leaf[e->leaf0].field == e->field;

        e->span = 1;
        e->nleaf = leaf;
        for (k = 0; k < e->field->nchild; k++)
        {
            e->nleaf += e[e->span].nleaf;
            e->span += e[e->span].span;
        }
    }
}

ax_status ax_pq_schema_parse(ax_task *t, ax_pq_file *f, ax_cur *c, uint32_t n)
{
    builder *b;
    ax_pq_rawelem e;
    uint32_t i;

    AX_CHECK(t, n > 0, AX_ECORRUPT, "schema is empty");
    AX_NEW(t, b, (builder *) ax_arena_alloc0(t->arena, sizeof *b));
    b->f = f;
    b->claimed = 1;
    b->total = n;
    AX_NEW(t, f->leaf, (ax_pq_leaf *) ax_arena_alloc(f->base.arena, n * sizeof *f->leaf));
    AX_NEW(t, f->elem, (ax_pq_elem *) ax_arena_alloc(f->base.arena, n * sizeof *f->elem));
    for (i = 0; i < n; i++)
    {
        ax_pq_elem_parse(c, &e);
        AX_CHECK(t, !c->bad, AX_ECORRUPT, "schema element %u does not parse", i);
        if (i == 0)
        {
            AX_CHECK(t, e.children >= 0, AX_ECORRUPT, "schema has %d columns", (int) e.children);
            AX_TRY(push_group(t, b, NULL, (uint32_t) e.children, 0, 0));
        }
        else
        {
            AX_CHECK(t, b->depth > 0, AX_ECORRUPT, "schema has elements behind its end");
            AX_TRY(add_elem(t, b, &e));
        }
        while (b->depth > 0 && b->stack[b->depth - 1].next == b->stack[b->depth - 1].n)
            b->depth--;
    }
    AX_CHECK(t, b->depth == 0, AX_ECORRUPT, "schema ends before all its elements were seen");
    measure(f);
    return ax_pq_shape_fields(t, f);
}
