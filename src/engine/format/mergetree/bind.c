/* Binding: declared columns to columns of a part, and the conversion of each.
 *
 * A column that the part lacks is a constant: its declared default or null.  Limits of a conversion
 * are worked out here once, so that its kernels cannot overflow. */
#include "mergetree_int.h"

#include "base/utf8.h"

#include <strings.h>

/* ---- default types --------------------------------------------------------------------------- */

static ax_type numeric(int p, int s)
{
    ax_type ty = ax_type_make(p > AX_NUM_DIGITS ? AX_T_DIGITS : AX_T_NUMERIC);

    ty.precision = p;
    ty.scale = (int16_t) s;
    return ty;
}

static ax_type integer(const ax_mt_type *ty)
{
    uint32_t w = ty->width * (ty->id == MT_UINT ? 2 : 1);

    /* Hashes are 64 unsigned bits, half of which are too large for bigint; who declares bigint
     * gets an error for these, and is faster. */
    if (ty->id == MT_UINT && ty->width == 8)
        return numeric(20, 0);
    if (ty->width > 8)
        return numeric(ty->width == 16 ? 39 : ty->id == MT_UINT ? 78 : 77, 0);
    return ax_type_make(w <= 2 ? AX_T_INT2 : w <= 4 ? AX_T_INT4 : AX_T_INT8);
}

static ax_status list_type(const ax_mt_type *ty, ax_type *out)
{
    ax_type elem = ax_mt_default_type(ty->child[0]);

    *out = ax_type_make(elem.id == AX_T_LIST || elem.id == AX_T_JSONB ? AX_T_JSONB : AX_T_LIST);
    return AX_OK;
}

ax_type ax_mt_default_type(const ax_mt_type *ty)
{
    ax_type list;

    ty = ax_mt_bare(ty);
    switch ((ax_mt_tid) ty->id)
    {
        case MT_INT:
        case MT_UINT:
            return integer(ty);
        case MT_BOOL:
            return ax_type_make(AX_T_BOOL);
        case MT_FLOAT:
            return ax_type_make(ty->width == 4 ? AX_T_FLOAT4 : AX_T_FLOAT8);
        case MT_BFLOAT16:
            return ax_type_make(AX_T_FLOAT4);
        case MT_DECIMAL:
            return numeric(ty->precision, ty->scale);
        case MT_DATE:
        case MT_DATE32:
            return ax_type_make(AX_T_DATE);
        case MT_DATETIME:
        case MT_DATETIME64:
            return ax_type_make(AX_T_TIMESTAMPTZ);
        case MT_TIME:
        case MT_TIME64:
        case MT_INTERVAL:
            return ax_type_make(AX_T_INTERVAL);
        case MT_UUID:
            return ax_type_make(AX_T_UUID);
        case MT_FIXEDSTRING:
        case MT_AGGREGATE:
            return ax_type_make(AX_T_BYTEA);
        case MT_ARRAY:
            (void) list_type(ty, &list);
            return list;
        case MT_QBIT:
        case MT_TUPLE:
        case MT_MAP:
        case MT_VARIANT:
            return ax_type_make(AX_T_JSONB);
        case MT_DYNAMIC:
        case MT_JSON:
        case MT_OTHER:
            return (ax_type){0};
        default:
            return ax_type_make(AX_T_TEXT);
    }
}

bool ax_mt_order_type(const ax_mt_type *ty, ax_type *out)
{
    ty = ax_mt_bare(ty);
    switch ((ax_mt_tid) ty->id)
    {
        case MT_STRING:
        case MT_FIXEDSTRING:
        case MT_UUID:
        case MT_IPV6:
            *out = ax_type_make(AX_T_BYTEA);
            return true;
        case MT_INT:
        case MT_UINT:
        case MT_BOOL:
        case MT_FLOAT:
        case MT_BFLOAT16:
        case MT_DECIMAL:
        case MT_DATE:
        case MT_DATE32:
        case MT_DATETIME:
        case MT_DATETIME64:
        case MT_TIME:
        case MT_TIME64:
        case MT_INTERVAL:
        case MT_ENUM:
        case MT_IPV4:
            *out = ax_type_make(ty->width <= 8 ? AX_T_INT8 : AX_T_BYTEA);
            return true;
        default:
            return false;
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* Values v with lo <= v * mul / div + add <= hi. */
static void limit(ax_mt_conv *c, int64_t lo, int64_t hi)
{
    ax_i128 a = (ax_i128) lo - c->add, b = (ax_i128) hi - c->add;

    a = a * c->div / c->mul;
    b = b * c->div / c->mul;
    c->lo = a < INT64_MIN ? INT64_MIN : (int64_t) a;
    c->hi = b > INT64_MAX ? INT64_MAX : (int64_t) b;
}

static void linear(ax_mt_conv *c, int64_t mul, int64_t div, int64_t add, int64_t lo, int64_t hi)
{
    c->kind = MT_C_LINEAR;
    c->range_code = AX_EDATETIME;
    c->mul = mul;
    c->div = div;
    c->add = add;
    c->ordered = true;
    limit(c, lo, hi);
}

static int64_t pow10_of(int n)
{
    int64_t v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

static bool is_stamp(ax_type ty) { return ty.id == AX_T_TIMESTAMP || ty.id == AX_T_TIMESTAMPTZ; }

/* Ticks of 10^-scale seconds since 1970. */
static bool instant(ax_mt_conv *c, int scale, const ax_colspec *col)
{
    if (!is_stamp(c->type))
        return false;
    linear(c, scale < 6 ? pow10_of(6 - scale) : 1, scale > 6 ? pow10_of(scale - 6) : 1,
           -AX_Y2K_US, AX_STAMP_LO, AX_STAMP_HI);
    if (c->type.id != AX_T_TIMESTAMP || col == NULL || col->zone == NULL)
        return true;
    /* Where offsets change, later is not always later. */
    c->kind = MT_C_ZONED;
    c->ordered = false;
    return ax_zone_unpack(col->zone, col->zone_len, &c->zone);
}

static bool day(ax_mt_conv *c)
{
    if (c->type.id == AX_T_DATE)
        linear(c, 1, 1, -AX_Y2K_DAYS, AX_DATE_LO, AX_DATE_HI);
    else if (is_stamp(c->type))
        linear(c, AX_DAY_US, 1, -AX_Y2K_US, AX_STAMP_LO, AX_STAMP_HI);
    else
        return false;
    return true;
}

static bool number(ax_mt_conv *c, int scale)
{
    c->kind = MT_C_NUM;
    c->ordered = true;
    (void) ax_fmt_digits_init(c->type, scale, &c->num);
    return c->num.dscale >= 0;
}

static bool whole(ax_mt_conv *c)
{
    uint32_t w = c->src->width;

    c->ordered = true;
    switch (c->type.id)
    {
        case AX_T_INT2:
        case AX_T_INT4:
        case AX_T_INT8:
            if (w > 8)
                return false;
            c->kind = c->is_signed && w == ax_phys_width((ax_phys) c->type.phys) ? MT_C_COPY
                                                                                 : MT_C_INT;
            c->lo = c->type.id == AX_T_INT2 ? INT16_MIN
                    : c->type.id == AX_T_INT4 ? INT32_MIN : INT64_MIN;
            c->hi = -(c->lo + 1);
            return true;
        case AX_T_FLOAT8:
            c->kind = MT_C_INT_F64;
            return w <= 4;
        case AX_T_NUMERIC:
            return number(c, 0);
        case AX_T_BOOL:
            return false;
        case AX_T_DIGITS:
        case AX_T_TEXT:
            c->kind = MT_C_TEXT;
            c->ordered = false;
            return w > 8 || c->type.id == AX_T_DIGITS;
        default:
            return false;
    }
}

static ax_status labels(ax_task *t, ax_arena *a, ax_mt_conv *c)
{
    const ax_mt_type *ty = c->src;
    uint32_t codes = 1u << (8 * ty->width), *at, *off, *len, i, used = 0;
    const uint32_t zero = 0;
    uint8_t *bytes;
    bool ascii = true;

    for (i = 0; i < ty->nlabel; i++)
        used += 3 * ty->label[i].len; /* as much as it may be when it was mended */
    AX_NEW(t, at, (uint32_t *) ax_arena_alloc(a, codes * sizeof *at));
    AX_NEW(t, off, (uint32_t *) ax_arena_values(a, (ty->nlabel + 1) * sizeof *off));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(a, (ty->nlabel + 1) * sizeof *len));
    AX_NEW(t, bytes, (uint8_t *) ax_arena_values(a, used + 1));
    memset(at, 0xff, codes * sizeof *at);
    for (used = 0, i = 0; i < ty->nlabel; i++)
    {
        const uint8_t *name = (const uint8_t *) ty->label[i].name;

        at[(uint32_t) ty->label[i].code & (codes - 1)] = i;
        off[i] = used;
        len[i] = ty->label[i].len;
        if (ax_utf8_ok(name, &zero, &len[i], 1, -1, &ascii))
            memcpy(bytes + used, name, len[i]);
        else
        {
            AX_CHECK(t, c->mend != AX_ENC_FAIL, AX_ETEXT, "label of an enum is no valid UTF-8");
            len[i] = ax_fmt_mend((ax_encoding_check) c->mend, name, len[i], bytes + used);
        }
        used += len[i];
    }
    c->labels = (ax_vec){.kind = AX_VK_FLAT, .type = c->type, .n = ty->nlabel,
                         .u.str = {bytes, off, len}};
    c->label_at = at;
    c->kind = MT_C_ENUM;
    return AX_OK;
}

static bool text_like(ax_type ty) { return ty.id == AX_T_TEXT || ty.id == AX_T_BPCHAR; }

/* States as results of their function. */
static ax_status finalised(ax_task *t, ax_arena *a, const ax_colspec *col, ax_mt_conv *c)
{
    const ax_mt_agg *g = c->src->agg;
    ax_mt_node *node;
    ax_mt_conv *e;

    AX_CHECK(t, g != NULL && g->result != NULL, AX_EUNSUPPORTED,
             "states of type %s cannot be finalised: declare the column as bytea", c->src->text);
    AX_TRY(ax_mt_plain_node(t, a, g->result, &node));
    AX_NEW(t, e, (ax_mt_conv *) ax_arena_alloc0(a, sizeof *e));
    AX_TRY(ax_mt_conv_make(t, a, g->result, c->type, col, e));
    c->kind = MT_C_FINAL;
    c->elem = e;
    c->result = node;
    return AX_OK;
}

/* The rest: false when there is no conversion. */
static ax_status other(ax_task *t, ax_arena *a, const ax_colspec *col, ax_mt_conv *c, bool *ok)
{
    const ax_mt_type *ty = c->src;

    *ok = true;
    switch ((ax_mt_tid) ty->id)
    {
        case MT_ENUM:
            *ok = text_like(c->type);
            return *ok ? labels(t, a, c) : AX_OK;
        case MT_UUID:
            c->kind = c->type.id == AX_T_TEXT ? MT_C_TEXT : MT_C_UUID;
            *ok = c->type.id == AX_T_UUID || c->type.id == AX_T_TEXT;
            return AX_OK;
        case MT_IPV4:
        case MT_IPV6:
        case MT_NOTHING:
            c->kind = MT_C_TEXT;
            *ok = c->type.id == AX_T_TEXT;
            return AX_OK;
        case MT_TIME:
        case MT_TIME64:
        case MT_INTERVAL:
            c->kind = MT_C_INTERVAL;
            c->range_code = AX_EDATETIME;
            *ok = c->type.id == AX_T_INTERVAL;
            if (ty->id == MT_INTERVAL && c->type.id == AX_T_INT8)
            {
                c->kind = MT_C_COPY;
                *ok = true;
            }
            return AX_OK;
        case MT_AGGREGATE:
            c->kind = MT_C_STR;
            return c->type.id == AX_T_BYTEA ? AX_OK : finalised(t, a, col, c);
        case MT_STRING:
        case MT_FIXEDSTRING:
            c->kind = ty->id == MT_STRING ? MT_C_STR : MT_C_FIXSTR;
            c->check_text = c->type.id != AX_T_BYTEA;
            c->ordered = c->type.id == AX_T_BYTEA || c->type.id == AX_T_TEXT;
            *ok = text_like(c->type) || c->type.id == AX_T_BYTEA;
            if (c->check_text && c->mend != AX_ENC_FAIL)
            {
                c->kind = MT_C_MENDED;
                c->check_text = c->ordered = false;
            }
            return AX_OK;
        default:
            *ok = false;
            return AX_OK;
    }
}

static bool scalar(ax_mt_conv *c, const ax_colspec *col)
{
    const ax_mt_type *ty = c->src;

    switch ((ax_mt_tid) ty->id)
    {
        case MT_INT:
        case MT_UINT:
            return whole(c);
        case MT_BOOL:
            c->kind = MT_C_BOOL;
            c->ordered = true;
            return c->type.id == AX_T_BOOL;
        case MT_FLOAT:
            c->ordered = true;
            c->kind = ty->width == ax_phys_width((ax_phys) c->type.phys) ? MT_C_COPY : MT_C_F32_F64;
            return c->type.id == AX_T_FLOAT8 || (c->type.id == AX_T_FLOAT4 && ty->width == 4);
        case MT_BFLOAT16:
            c->kind = MT_C_BF16;
            c->ordered = true;
            return c->type.id == AX_T_FLOAT4;
        case MT_DECIMAL:
            if (c->type.id == AX_T_DIGITS)
            {
                c->kind = MT_C_TEXT;
                return true;
            }
            return c->type.id == AX_T_NUMERIC && number(c, ty->scale);
        case MT_DATE:
        case MT_DATE32:
            return day(c);
        case MT_DATETIME:
            return instant(c, 0, col);
        case MT_DATETIME64:
            return instant(c, ty->scale, col);
        default:
            return false;
    }
}

static ax_status list(ax_task *t, ax_arena *a, const ax_mt_type *ty, const ax_colspec *col,
                      ax_mt_conv *c)
{
    ax_type elem = c->type.nested != NULL && c->type.nested->n == 1
                       ? c->type.nested->type[0] : ax_mt_default_type(ty->child[0]);
    ax_mt_conv *e;

    AX_CHECK(t, ty->id == MT_ARRAY && elem.id != AX_T_LIST && elem.id != AX_T_JSONB,
             AX_EUNSUPPORTED, "type %s can be read as jsonb only", ty->text);
    AX_NEW(t, e, (ax_mt_conv *) ax_arena_alloc0(a, sizeof *e));
    AX_TRY(ax_mt_conv_make(t, a, ty->child[0], elem, col, e));
    c->kind = MT_C_LIST;
    c->elem = e;
    return AX_OK;
}

ax_status ax_mt_conv_make(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_type type,
                          const ax_colspec *col, ax_mt_conv *c)
{
    bool ok = true;

    memset(c, 0, sizeof *c);
    c->src = ax_mt_bare(ty);
    c->type = type;
    c->mend = col != NULL ? col->encoding_check : AX_ENC_FAIL;
    c->range_code = AX_ERANGE;
    c->is_signed = c->src->id != MT_UINT && c->src->id != MT_DATE && c->src->id != MT_DATETIME;
    c->lo = INT64_MIN;
    c->hi = INT64_MAX;
    switch ((ax_mt_tid) c->src->id)
    {
        case MT_ARRAY:
        case MT_TUPLE:
        case MT_MAP:
        case MT_VARIANT:
        case MT_QBIT:
            if (type.id == AX_T_LIST)
                return list(t, a, c->src, col, c);
            c->kind = MT_C_JSON;
            ok = type.id == AX_T_JSONB || type.id == AX_T_TEXT;
            break;
        default:
            ok = scalar(c, col);
            if (!ok)
                AX_TRY(other(t, a, col, c, &ok));
    }
    AX_CHECK(t, ok, AX_ETYPE, "type %s cannot be read as %s", ty->text,
             ax_type_name((ax_type_id) type.id));
    return AX_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static ax_status find(ax_task *t, const ax_mt_part *p, const ax_colspec *col,
                      const ax_bind_opts *opts, const ax_mt_column **out)
{
    const char *name = col->npath > 0 ? col->path[0] : col->name;
    uint32_t hits = 0;

    *out = NULL;
    AX_CHECK(t, col->npath <= 1 && col->sub_path == NULL, AX_EUNSUPPORTED,
             "columns inside other columns are not supported yet");
    for (uint32_t i = 0; i < p->ncolumns; i++)
    {
        const ax_mt_column *c = &p->column[i];
        bool same = opts->match_by == AX_BY_POSITION && col->npath == 0
                        ? c->field == col->position : strcmp(c->name, name) == 0;

        if (c->field != UINT32_MAX && same)
            *out = c;
    }
    for (uint32_t i = 0; *out == NULL && opts->case_insensitive && i < p->ncolumns; i++)
        if (p->column[i].field != UINT32_MAX && strcasecmp(p->column[i].name, name) == 0)
        {
            AX_CHECK(t, hits++ == 0, AX_EAMBIGUOUS, "column \"%s\" is ambiguous", name);
            *out = &p->column[i];
        }
    return AX_OK;
}

/* The part has the column in a type that the table had before: what a cast would change besides
 * what the declared type does. */
static ax_status changed_type(ax_task *t, ax_arena *a, const ax_mt_part *p, const ax_mt_column *c,
                              ax_mt_conv *conv)
{
    const ax_mt_type *now;

    if (conv->src->id != MT_FIXEDSTRING || conv->kind == MT_C_ORDER)
        return AX_OK;
    AX_TRY(ax_mt_table_type(t, a, p, c->name, &now));
    conv->trim = now != NULL && ax_mt_bare(now)->id == MT_STRING;
    conv->ordered = conv->ordered && !conv->trim;
    return AX_OK;
}

/* Stops behind a column of which different values are one value here. */
uint32_t ax_mt_order(const ax_fmt_bind *base, ax_sort_key_claim *out, uint32_t max)
{
    const ax_mt_bind *b = (const ax_mt_bind *) base;
    const ax_mt_part *p = (const ax_mt_part *) base->file;
    uint32_t n = 0, nkeys = p->keys != NULL ? p->keys->ncols : 0;

    for (uint32_t k = 0; k < nkeys && n < max && p->keys->col[k].fn == MT_K_COLUMN; k++)
    {
        const ax_mt_conv *conv = NULL;

        for (uint32_t i = 0; i < base->ncols && conv == NULL; i++)
            if (!base->constant[i] && b->conv[i].ordered &&
                b->conv[i].column == &p->column[p->keys->col[k].column])
            {
                conv = &b->conv[i];
                out[n++] = (ax_sort_key_claim){i, p->keys->col[k].desc, p->keys->col[k].desc};
            }
        if (conv == NULL || (conv->kind == MT_C_LINEAR && conv->div > 1) ||
            (conv->kind == MT_C_NUM && conv->type.precision > 0 &&
             conv->type.scale < (conv->src->id == MT_DECIMAL ? conv->src->scale : 0)))
            break;
    }
    return n;
}

/* The order of a column of the part, if it is that of the table's type. */
static ax_status order(ax_task *t, const ax_mt_column *c, const ax_colspec *col, ax_mt_conv *conv)
{
    ax_type type;

    AX_CHECK(t, ax_mt_order_type(c->type, &type) && type.id == col->type.id, AX_EUNSUPPORTED,
             "rows cannot be merged by a column of type %s", c->type->text);
    *conv = (ax_mt_conv){.column = c, .src = ax_mt_bare(c->type), .type = type, .kind = MT_C_ORDER};
    if (conv->src->id == MT_STRING)
        conv->kind = MT_C_STR;
    else if (conv->src->id == MT_FIXEDSTRING)
        conv->kind = MT_C_FIXSTR;
    return AX_OK;
}

ax_status ax_mt_bind_column(ax_task *t, ax_arena *a, ax_mt_part *p, const ax_fmt_names *names,
                            const ax_bind_opts *opts, ax_mt_bind *b, uint32_t i)
{
    const ax_colspec *col = &b->base.col[i];
    const ax_mt_column *c;
    bool bound;

    AX_TRY(ax_fmt_bind_outside(t, a, names, opts, &b->base, i, &bound));
    if (bound)
        return AX_OK;
    AX_TRY(find(t, p, col, opts, &c));
    if (c != NULL)
        AX_CHECK(t, c->refusal == NULL, AX_EUNSUPPORTED, "column of type %s cannot be read: %s",
                 c->type->text, c->refusal);
    if (c == NULL || (c->node == NULL && p->rows > 0))
    {
        const char *name = c != NULL ? c->name : col->npath > 0 ? col->path[0] : col->name;

        if (col->deflt == NULL)
            AX_TRY(ax_mt_default_column(t, a, p, name, c, &c));
    }
    if (c == NULL || (c->node == NULL && p->rows > 0))
        return ax_fmt_bind_missing(t, names, opts, &b->base, i);
    if (c->node != NULL && c->derived == NULL && c->field != UINT32_MAX)
        AX_TRY(ax_mt_changed_column(t, a, p, c, &c));
    if (col->virt == AX_VIRT_ORDER)
        return order(t, c, col, &b->conv[i]);
    AX_TRY(ax_mt_conv_make(t, a, c->type, col->type, col, &b->conv[i]));
    AX_TRY(changed_type(t, a, p, c, &b->conv[i]));
    b->conv[i].column = c;
    b->conv[i].not_null = col->not_null;
    return AX_OK;
}

ax_status ax_mt_bind_refuse(ax_task *t, ax_arena *a, ax_mt_conv *c)
{
    ax_error *e;

    AX_NEW(t, e, (ax_error *) ax_arena_alloc(a, sizeof *e));
    *e = t->err;
    ax_error_clear(&t->err);
    memset(c, 0, sizeof *c);
    c->refused = e;
    return AX_OK;
}

ax_status ax_mt_bind_open(ax_task *t, ax_arena *a, ax_fmt_file *file, const ax_colspec *col,
                          uint32_t ncols, const ax_bind_opts *opts, ax_fmt_bind **out)
{
    ax_mt_part *p = (ax_mt_part *) file;
    const ax_fmt_names names = {.path = p->dir, .file = p->name, .part = p->name,
                                .partition_len = (uint32_t) strcspn(p->name, "_"),
                                .size = (int64_t) p->bytes,
                                .id = p->base.io != NULL ? ax_io_file_id(p->base.io) : NULL,
                                .noun = "part"};
    ax_mt_bind *b;

    AX_NEW(t, b, (ax_mt_bind *) ax_arena_alloc0(a, sizeof *b));
    AX_NEW(t, b->conv, (ax_mt_conv *) ax_arena_alloc0(a, ncols * sizeof *b->conv + 1));
    AX_TRY(ax_fmt_bind_init(t, a, file, col, ncols, &b->base));
    for (uint32_t i = 0; i < ncols; i++)
    {
        ax_status st = ax_mt_bind_column(t, a, p, &names, opts, b, i);

        if (st == AX_OK)
            continue;
        ax_note_column(t, col[i].name);
        ax_note_file(t, p->dir);
        if (st != AX_EUNSUPPORTED)
            return st;
        AX_TRY(ax_mt_bind_refuse(t, a, &b->conv[i]));
    }
    if (p->npatches > 0)
        AX_TRY(ax_mt_patches_bind(t, a, b, opts));
    *out = &b->base;
    return AX_OK;
}
