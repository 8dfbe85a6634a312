/* Binding: declared columns to leaves of a file, and the conversion of each.
 *
 * Names are matched exactly first; when nothing matches and the table allows it, without regard to
 * case.  A column that the file lacks is a constant: its declared default or null.  Whatever can be
 * known of the whole file (its name, size, time) is a constant too.
 *
 * Range limits of a conversion are worked out here once, in 128 bits, so that the kernels cannot
 * overflow. */
#include "parquet_int.h"

#include <stdio.h>
#include <strings.h>

/* ---- finding the field ----------------------------------------------------------------------- */

/* The child named so; *n counts candidates. */
static ax_field *find_name(ax_field *child, uint32_t nchild, const char *name, bool fold,
                           uint32_t *n)
{
    ax_field *hit = NULL;
    uint32_t i;

    *n = 0;
    for (i = 0; i < nchild; i++)
        if (fold ? strcasecmp(child[i].name, name) == 0 : strcmp(child[i].name, name) == 0)
        {
            hit = &child[i];
            ++*n;
        }
    return hit;
}

static ax_status find_path(ax_task *t, const ax_pq_file *f, const ax_colspec *col,
                           const ax_bind_opts *opts, ax_field **out)
{
    ax_field *child = f->base.schema.field, *hit = NULL;
    uint32_t nchild = f->base.schema.n, i, n;
    const char *const *path = col->npath > 0 ? col->path : &col->name;
    uint32_t npath = col->npath > 0 ? col->npath : 1;

    *out = NULL;
    for (i = 0; i < npath; i++)
    {
        hit = find_name(child, nchild, path[i], false, &n);
        if (n == 0 && opts->case_insensitive)
            hit = find_name(child, nchild, path[i], true, &n);
        AX_CHECK(t, n <= 1, AX_EAMBIGUOUS, "column \"%s\" is ambiguous: the file has it %u times",
                 path[i], n);
        if (hit == NULL)
            return AX_OK;
        child = hit->child;
        nchild = hit->nchild;
    }
    *out = hit;
    return AX_OK;
}

static ax_status find_id(ax_task *t, const ax_pq_file *f, int32_t id, ax_field **out)
{
    bool any = f->base.schema.n == 0;
    uint32_t i;

    *out = NULL;
    for (i = 0; i < f->base.schema.n; i++)
        any = any || f->base.schema.field[i].field_id >= 0;
    AX_CHECK(t, any, AX_ENOCOLUMN, "the file has no field ids");
    for (i = 0; i < f->base.schema.n; i++)
        if (f->base.schema.field[i].field_id == id)
        {
            AX_CHECK(t, *out == NULL, AX_EAMBIGUOUS, "field id %d is ambiguous", (int) id);
            *out = &f->base.schema.field[i];
        }
    return AX_OK;
}

static ax_status find_field(ax_task *t, const ax_pq_file *f, const ax_colspec *col,
                            const ax_bind_opts *opts, ax_field **out)
{
    if (opts->match_by == AX_BY_POSITION && col->npath <= 1)
    {
        *out = col->position < f->base.schema.n ? &f->base.schema.field[col->position] : NULL;
        return AX_OK;
    }
    if (opts->match_by == AX_BY_FIELD_ID && col->field_id >= 0)
        return find_id(t, f, col->field_id, out);
    return find_path(t, f, col, opts, out);
}

static const ax_pq_leaf *leaf_of(const ax_pq_file *f, const ax_field *fld)
{
    uint32_t lo = 0, i;

    for (i = lo; i < f->nleaf; i++)
        if (f->leaf[i].field == fld)
            return &f->leaf[i];
    return NULL;
}

/* ---- conversions ----------------------------------------------------------------------------- */

static ax_status no_conversion(ax_task *t, const ax_pq_leaf *l, const ax_colspec *col)
{
    return ax_fail(t, AX_ETYPE, "file type %s cannot be read as %s", l->field->source_type,
                   ax_type_name((ax_type_id) col->type.id));
}

static uint8_t source_of(const ax_pq_leaf *l)
{
    static const uint8_t map[PQ_TYPE_CNT] = {SRC_BOOL, SRC_I32, SRC_I64, SRC_I96,
                                             SRC_F32, SRC_F64, SRC_BYTES, SRC_FIXED};

    if (l->lt.kind == LT_INT && !l->lt.is_signed && l->lt.bits == 32)
        return SRC_U32;
    if (l->lt.kind == LT_INT && !l->lt.is_signed && l->lt.bits == 64)
        return SRC_U64;
    return map[l->phys];
}

/* Physical values that the annotation allows. */
static void source_range(const ax_pq_leaf *l, int64_t *lo, int64_t *hi)
{
    const ax_pq_logical *lt = &l->lt;

    *lo = l->phys == PQ_INT32 ? INT32_MIN : INT64_MIN;
    *hi = l->phys == PQ_INT32 ? INT32_MAX : INT64_MAX;
    if (lt->kind == LT_INT && lt->is_signed && lt->bits < 64)
    {
        *hi = (1ll << (lt->bits - 1)) - 1;
        *lo = -*hi - 1;
    }
    else if (lt->kind == LT_INT && !lt->is_signed)
    {
        *lo = 0;
        *hi = lt->bits == 64 ? INT64_MAX : (1ll << lt->bits) - 1;
    }
}

/* Values v with lo <= floor(v / div) * mul + add <= hi, within what is allowed already. */
static void limit(ax_pq_conv *c, int64_t lo, int64_t hi)
{
    ax_i128 a = (ax_i128) lo - c->add, b = (ax_i128) hi - c->add;
    ax_i128 qlo = a >= 0 ? (a + c->mul - 1) / c->mul : -(-a / c->mul);
    ax_i128 qhi = b >= 0 ? b / c->mul : -((-b + c->mul - 1) / c->mul);
    ax_i128 vlo = qlo * c->div, vhi = qhi * c->div + c->div - 1;

    if (vlo > c->lo)
        c->lo = vlo > INT64_MAX ? INT64_MAX : (int64_t) vlo;
    if (vhi < c->hi)
        c->hi = vhi < INT64_MIN ? INT64_MIN : (int64_t) vhi;
}

/* Integers of `unit` since 1970 to a type; per_day: how many of them a day has. */
static bool instant(ax_pq_conv *c, int64_t div, int64_t mul, int64_t per_day)
{
    c->kind = CONV_LINEAR;
    c->range_code = AX_EDATETIME;
    c->ordered = true;
    if (c->type.id == AX_T_DATE)
    {
        c->div = per_day;
        c->add = -AX_Y2K_DAYS;
        limit(c, AX_DATE_LO, AX_DATE_HI);
        return true;
    }
    if (c->type.id != AX_T_TIMESTAMP && c->type.id != AX_T_TIMESTAMPTZ)
        return false;
    c->div = div;
    c->mul = mul;
    c->add = -AX_Y2K_US;
    limit(c, AX_STAMP_LO, AX_STAMP_HI);
    return true;
}

static bool epoch_conv(ax_pq_conv *c, uint8_t epoch)
{
    switch (epoch)
    {
        case AX_EPOCH_S:
            return instant(c, 1, 1000000, 86400);
        case AX_EPOCH_MS:
            return instant(c, 1, 1000, 86400000);
        case AX_EPOCH_US:
            return instant(c, 1, 1, AX_DAY_US);
        case AX_EPOCH_NS:
            return instant(c, 1000, 1, AX_DAY_US * 1000);
        case AX_EPOCH_DAYS:
            return instant(c, 1, AX_DAY_US, 1);
        default:
            return false;
    }
}

/* Numbers as the text of their digits. */
static bool digits_conv(ax_pq_conv *c)
{
    const ax_pq_logical *lt = &c->leaf->lt;

    c->kind = CONV_STR;
    c->rewrite = REWRITE_DECIMAL;
    if (lt->kind == LT_NONE || lt->kind == LT_INT)
        return c->leaf->phys == PQ_INT32 || c->leaf->phys == PQ_INT64;
    return lt->kind == LT_DECIMAL;
}

static bool int_conv(ax_pq_conv *c, const ax_colspec *col)
{
    c->ordered = true;
    switch (c->type.id)
    {
        case AX_T_INT2:
        case AX_T_INT4:
        case AX_T_INT8:
            c->kind = CONV_LINEAR;
            if (c->src == SRC_U64)
                c->src = SRC_I64;
            limit(c, c->type.id == AX_T_INT2 ? INT16_MIN : c->type.id == AX_T_INT4 ? INT32_MIN
                                                                                  : INT64_MIN,
                  c->type.id == AX_T_INT2 ? INT16_MAX : c->type.id == AX_T_INT4 ? INT32_MAX
                                                                               : INT64_MAX);
            if (c->leaf->lt.kind != LT_INT || c->leaf->lt.bits >= 32)
                if (c->src != SRC_U32 && c->src_width == c->dst_width && c->lo < 0)
                    c->kind = CONV_COPY;
            return true;
        case AX_T_FLOAT8:
            c->kind = CONV_INT_F64;
            return c->src != SRC_U64;
        case AX_T_NUMERIC:
            c->kind = CONV_INT_NUM;
            return ax_fmt_digits_init(c->type, 0, &c->num);
        default:
            return c->src != SRC_U64 && epoch_conv(c, col->epoch);
    }
}

static bool time_conv(ax_pq_conv *c, uint8_t unit)
{
    c->kind = CONV_LINEAR;
    c->range_code = AX_EDATETIME;
    c->ordered = true;
    c->mul = unit == UNIT_MS ? 1000 : 1;
    c->div = unit == UNIT_NS ? 1000 : 1;
    limit(c, 0, AX_DAY_US);
    return c->type.id == AX_T_TIME;
}

static bool float_conv(ax_pq_conv *c)
{
    c->ordered = true;
    if (c->type.id == AX_T_FLOAT4)
        c->kind = c->src == SRC_F32 ? CONV_COPY : CONV_F64_F32;
    else if (c->type.id == AX_T_FLOAT8)
        c->kind = c->src == SRC_F64 ? CONV_COPY : CONV_F32_F64;
    else
        return false;
    return true;
}

static bool bytes_conv(ax_pq_conv *c, uint8_t binary_as)
{
    const ax_pq_logical *lt = &c->leaf->lt;

    c->kind = CONV_COPY;
    switch (c->type.id)
    {
        case AX_T_TEXT:
        case AX_T_BPCHAR:
        case AX_T_JSONB:
            c->kind = CONV_STR;
            c->rewrite = lt->kind == LT_UUID ? REWRITE_UUID
                         : lt->kind == LT_DECIMAL ? REWRITE_DECIMAL
                         : lt->kind != LT_NONE ? REWRITE_NOT
                         : binary_as == AX_BIN_INET ? REWRITE_INET
                         : binary_as == AX_BIN_HEX ? REWRITE_HEX : REWRITE_NOT;
            c->check_text = c->rewrite == REWRITE_NOT;
            /* mended text has another order, and other values, than bounds */
            c->ordered = c->type.id == AX_T_TEXT && c->mend == AX_ENC_FAIL && c->check_text;
            if (c->type.id == AX_T_JSONB)
                c->type = ax_type_make(AX_T_TEXT); /* the text of a document */
            return lt->kind == LT_NONE || lt->kind == LT_STRING || lt->kind == LT_ENUM ||
                   lt->kind == LT_JSON || c->rewrite != REWRITE_NOT;
        case AX_T_BYTEA:
            c->kind = CONV_STR;
            c->ordered = lt->kind == LT_NONE || lt->kind == LT_STRING || lt->kind == LT_ENUM ||
                             lt->kind == LT_JSON || lt->kind == LT_BSON || lt->kind == LT_UUID;
            return true;
        case AX_T_UUID:
            c->ordered = true;
            return c->src == SRC_FIXED && c->leaf->type_length == 16 &&
                   (lt->kind == LT_UUID || lt->kind == LT_NONE);
        case AX_T_INTERVAL:
            c->kind = CONV_INTERVAL;
            c->range_code = AX_EDATETIME;
            return lt->kind == LT_INTERVAL;
        case AX_T_FLOAT4:
        case AX_T_FLOAT8:
            c->kind = c->type.id == AX_T_FLOAT4 ? CONV_F16_F32 : CONV_F16_F64;
            return lt->kind == LT_FLOAT16;
        case AX_T_NUMERIC:
            c->kind = CONV_DEC_NUM;
            c->ordered = true;
            (void) ax_fmt_digits_init(c->type, lt->scale, &c->num);
            return lt->kind == LT_DECIMAL && c->num.dscale >= 0;
        case AX_T_DIGITS:
            return digits_conv(c);
        default:
            return false;
    }
}

static bool timestamp_conv(ax_pq_conv *c, const ax_colspec *col)
{
    const ax_pq_logical *lt = &c->leaf->lt;
    ax_type_id other = lt->utc ? AX_T_TIMESTAMP : AX_T_TIMESTAMPTZ;

    if (!(lt->unit == UNIT_MS ? instant(c, 1, 1000, 86400000)
          : lt->unit == UNIT_US ? instant(c, 1, 1, AX_DAY_US)
                                : instant(c, 1000, 1, AX_DAY_US * 1000)))
        return false;
    if (c->type.id != other || col->zone == NULL)
        return true;
    /* where offsets change, later is not always later */
    if (!ax_zone_unpack(col->zone, col->zone_len, &c->zone))
        return false;
    c->ordered = c->zone.n == 1;
    return true;
}

/* Integers with an annotation of their own. */
static bool annotated_int(ax_pq_conv *c, const ax_colspec *col)
{
    const ax_pq_logical *lt = &c->leaf->lt;
    bool raw = c->type.id == AX_T_INT8 || c->type.id == AX_T_INT4 || c->type.id == AX_T_NUMERIC;

    if (c->type.id == AX_T_DIGITS)
        return digits_conv(c);
    switch (lt->kind)
    {
        case LT_DATE:
            return instant(c, 1, AX_DAY_US, 1);
        case LT_TIMESTAMP:
            if (raw)
                return int_conv(c, col);
            return timestamp_conv(c, col);
        case LT_TIME:
            return raw ? int_conv(c, col) : time_conv(c, lt->unit);
        case LT_DECIMAL:
            c->ordered = true;
            c->kind = CONV_INT_NUM;
            if (c->type.id == AX_T_NUMERIC)
                return ax_fmt_digits_init(c->type, lt->scale, &c->num);
            return lt->scale == 0 && int_conv(c, col);
        default:
            return int_conv(c, col);
    }
}

/* The zone whose local time INT96 becomes, if any. */
static ax_status int96_zone(ax_task *t, const ax_pq_file *f, const ax_colspec *col, ax_pq_conv *c)
{
    const char *writer = f->base.writer_zone;

    if (c->kind != CONV_I96 || c->type.id != AX_T_TIMESTAMP)
        return AX_OK;
    for (uint32_t i = 0; i < col->nint96_zones; i++)
    {
        const ax_named_zone *z = &col->int96_zone[i];

        if (z->name != NULL && (writer == NULL || strcmp(z->name, writer) != 0))
            continue;
        AX_CHECK(t, ax_zone_unpack(z->bytes, z->len, &c->zone), AX_EPLAN, "no time zone");
        return AX_OK;
    }
    AX_CHECK(t, col->int96_zone == NULL || writer == NULL, AX_EOPTION,
             "the file was written in time zone \"%s\", which is not known", writer);
    return AX_OK;
}

ax_status ax_pq_conv_make(ax_task *t, const ax_pq_file *f, const ax_pq_leaf *l,
                          const ax_colspec *col, ax_pq_conv *c)
{
    static const char *const binary[] = {"", "text", "uuid", "inet", "hex"};
    static const uint8_t widths[] = {1, 4, 4, 8, 8, 4, 8, 0, 12, 0, 0};
    bool ok;

    AX_CHECK(t, l->field->refusal == NULL, AX_EUNSUPPORTED, "column of type %s cannot be read: %s",
             l->field->source_type, l->field->refusal);
    AX_CHECK(t, col->binary_as == AX_BIN_NONE || (col->binary_as == AX_BIN_UUID
                                                      ? col->type.id == AX_T_UUID
                                                      : ax_type_is_str(col->type)),
             AX_ETYPE, "bytes taken as %s cannot be read as %s", binary[col->binary_as],
             ax_type_name((ax_type_id) col->type.id));
    memset(c, 0, sizeof *c);
    c->leaf = l;
    c->type = col->type;
    c->not_null = col->not_null;
    c->mend = col->encoding_check;
    c->days = ax_pq_calendar_of(f, l, col);
    c->src = source_of(l);
    c->src_width = widths[c->src];
    c->dst_width = (uint8_t) ax_phys_width((ax_phys) col->type.phys);
    c->div = c->mul = 1;
    c->range_code = AX_ERANGE;
    source_range(l, &c->lo, &c->hi);
    if (l->lt.kind == LT_UNKNOWN)
    {
        c->kind = CONV_NULL;
        return AX_OK;
    }
    switch (l->phys)
    {
        case PQ_BOOLEAN:
            c->kind = CONV_COPY;
            c->ordered = true;
            ok = col->type.id == AX_T_BOOL;
            break;
        case PQ_INT32:
        case PQ_INT64:
            ok = annotated_int(c, col);
            break;
        case PQ_INT96:
            c->kind = CONV_I96;
            c->lo = AX_STAMP_LO;
            c->hi = AX_STAMP_HI;
            c->range_code = AX_EDATETIME;
            ok = col->type.id == AX_T_TIMESTAMP || col->type.id == AX_T_TIMESTAMPTZ;
            break;
        case PQ_FLOAT:
        case PQ_DOUBLE:
            ok = float_conv(c);
            break;
        default:
            ok = bytes_conv(c, col->binary_as);
    }
    if (col->out_of_range != AX_RANGE_INFINITY || c->type.id == AX_T_DATE ||
        c->type.id == AX_T_TIMESTAMP || c->type.id == AX_T_TIMESTAMPTZ)
        c->out_of_range = col->out_of_range;
    c->whole = col->timestamp_ns == AX_NS_ERROR &&
               (c->kind == CONV_I96 || (c->kind == CONV_LINEAR && c->div == 1000));
    return ok ? int96_zone(t, f, col, c) : no_conversion(t, l, col);
}

/* ---- columns --------------------------------------------------------------------------------- */

static ax_status bind_column(ax_task *t, ax_arena *a, ax_pq_file *f, const ax_fmt_names *names,
                             const ax_bind_opts *opts, ax_pq_bind *b, uint32_t i)
{
    const ax_colspec *col = &b->base.col[i];
    const ax_pq_leaf *l;
    ax_field *fld;
    bool bound;

    AX_TRY(ax_fmt_bind_outside(t, a, names, opts, &b->base, i, &bound));
    if (bound)
        return AX_OK;
    AX_TRY(find_field(t, f, col, opts, &fld));
    if (fld == NULL)
        return ax_fmt_bind_missing(t, names, opts, &b->base, i);
    l = leaf_of(f, fld);
    AX_CHECK(t, col->sub_path == NULL, AX_EUNSUPPORTED,
             "paths inside a document are not supported");
    if (l == NULL || l->max_rep > 0)
        return ax_pq_bind_nested(t, a, f, fld, col, opts, &b->conv[i]);
    AX_TRY(ax_pq_conv_make(t, f, l, col, &b->conv[i]));
    b->conv[i].leaf_idx = (uint32_t) (l - f->leaf);
    return AX_OK;
}

ax_status ax_pq_bind_open(ax_task *t, ax_arena *a, ax_fmt_file *file, const ax_colspec *col,
                          uint32_t ncols, const ax_bind_opts *opts, ax_fmt_bind **out)
{
    ax_pq_file *f = (ax_pq_file *) file;
    const char *path = ax_io_file_name(file->io), *slash = strrchr(path, '/');
    const ax_fmt_names names = {.path = path, .file = slash != NULL ? slash + 1 : path,
                                .size = (int64_t) ax_io_file_id(file->io)->size,
                                .id = ax_io_file_id(file->io), .noun = "file"};
    ax_pq_bind *b;
    uint32_t i;

    AX_NEW(t, b, (ax_pq_bind *) ax_arena_alloc0(a, sizeof *b));
    AX_NEW(t, b->conv, (ax_pq_conv *) ax_arena_alloc0(a, ncols * sizeof *b->conv + 1));
    AX_TRY(ax_fmt_bind_init(t, a, file, col, ncols, &b->base));
    for (i = 0; i < ncols; i++)
    {
        ax_status st = bind_column(t, a, f, &names, opts, b, i);

        if (st != AX_OK)
        {
            ax_note_column(t, col[i].name);
            ax_note_file(t, path);
            return st;
        }
    }
    *out = &b->base;
    return AX_OK;
}
