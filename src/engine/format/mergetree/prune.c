/* Pruning: which granules of a split may have rows that match.
 *
 * The rows of granules [b, e) have keys between that of mark b and that of mark e, both included.
 * Such a range of tuples is a set of boxes: with l the first column in which the two keys differ,
 *
 *      columns before l: that value;  column l: between, without the ends;  the rest: anything
 *      columns up to l as in mark b;  the columns behind not below those of mark b   (recursively)
 *      columns up to l as in mark e;  the columns behind not above those of mark e   (recursively)
 *
 * A filter is asked of each box, and a range of granules is left out when no box may match; else it
 * is halved.  Ends that are left out are so only where values are discrete, or where a lower end is
 * text; other boxes are a little too large, which costs nothing but work.
 *
 * Granules that are left are asked about one by one, with what skip indexes say of each: one index
 * after the other, so that it can be told which of them removed a granule.  What they say adds up,
 * and sets are run through the conditions that have no other columns.
 *
 * Of keys that are a function of a column which goes up with it (toYYYYMM), the bounds of the
 * column are worked out; hashes, and letters made small or large, tell where single values are.
 *
 * Format: mergetree.md, "Primary index". */
#include "skip_int.h"

enum { MAX_KEY = 16, DAY = 86400 };

/* Granules whose skip indexes are read at once. */
enum { WINDOW = 256 };

enum { START, SKIPS, BYTES, FINISHED };

/* ---- values ---------------------------------------------------------------------------------- */

/* A value of the file in the declared type; false: it has none. */
static bool value_of(const ax_mt_conv *c, const ax_mt_value *v, ax_value *out)
{
    _Alignas(AX_ALIGN) uint8_t buf[AX_ALIGN];
    ax_vec one = {.kind = AX_VK_FLAT, .type = c->type, .n = 1, .u.data = buf};

    *out = (ax_value){.type = c->type};
    switch ((ax_mt_convkind) c->kind)
    {
        case MT_C_STR:
        case MT_C_FIXSTR:
            out->u.s.p = v->p;
            out->u.s.len = v->n;
            while (c->trim && out->u.s.len > 0 && v->p[out->u.s.len - 1] == 0)
                out->u.s.len--;
            return true;
        case MT_C_ENUM:
        {
            uint32_t code = v->n == 1 ? v->p[0] : ax_load_u16(v->p), at = c->label_at[code];

            if (at >= c->labels.n)
                return false;
            *out = ax_vec_value(&c->labels, at);
            return true;
        }
        case MT_C_TEXT:
        case MT_C_MENDED:
        case MT_C_LIST:
        case MT_C_FINAL:
        case MT_C_JSON:
            return false;
        default:
            if (v->n != c->src->width || !ax_mt_conv_fixed(c, v->p, 1, buf))
                return false;
            *out = ax_vec_value(&one, 0);
            return true;
    }
}

/* Is the next value of the declared type that of the next value of the file, or of none? */
static bool discrete(const ax_mt_conv *c)
{
    ax_phys p = (ax_phys) c->type.phys;

    return (p == AX_P_I16 || p == AX_P_I32 || p == AX_P_I64) && c->kind != MT_C_ZONED &&
           (c->kind != MT_C_LINEAR || c->div == 1);
}

/* ---- functions that go up -------------------------------------------------------------------- */

static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    int64_t yy = y - (m <= 2), era = (yy >= 0 ? yy : yy - 399) / 400, yoe = yy - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* The first day (second, with `seconds`) since 1970 of which the function gives a value not below
 * v; false: not known. */
static bool first_of(const ax_mt_keycol *k, uint64_t v, bool seconds, int64_t *out)
{
    int64_t day;

    switch ((ax_mt_keyfn) k->fn)
    {
        case MT_K_DATE:
        case MT_K_MONTH:
        case MT_K_START_YEAR:
        case MT_K_MONDAY:
            day = (int64_t) v;
            break;
        case MT_K_YYYYMM:
            if (v % 100 < 1 || v % 100 > 12)
                return false;
            day = days_of((int64_t) v / 100, (int64_t) v % 100, 1);
            break;
        case MT_K_YYYYMMDD:
            if (v / 100 % 100 < 1 || v / 100 % 100 > 12 || v % 100 < 1 || v % 100 > 31)
                return false;
            day = days_of((int64_t) v / 10000, (int64_t) v / 100 % 100, (int64_t) v % 100);
            break;
        case MT_K_YEAR:
            day = days_of((int64_t) v, 1, 1);
            break;
        case MT_K_DAY:
        case MT_K_HOUR:
        case MT_K_MINUTE:
            if (!seconds)
                return false;
            *out = (int64_t) v;
            return true;
        default:
            return false;
    }
    *out = seconds ? day * DAY : day;
    return true;
}

/* How many days (seconds) have the value v of the function, at most. */
static int64_t length_of(const ax_mt_keycol *k, bool seconds)
{
    static const int64_t days[] = {[MT_K_DATE] = 1, [MT_K_YYYYMM] = 31, [MT_K_YYYYMMDD] = 1,
                                   [MT_K_YEAR] = 366, [MT_K_MONTH] = 31, [MT_K_START_YEAR] = 366,
                                   [MT_K_MONDAY] = 7, [MT_K_DAY] = 1};

    if (k->fn == MT_K_HOUR || k->fn == MT_K_MINUTE)
        return k->fn == MT_K_HOUR ? 3600 : 60;
    return seconds ? days[k->fn] * DAY : days[k->fn];
}

/* The column below a function has days or seconds, and the function does not depend on a zone that
 * we do not know. */
static bool plain_time(const ax_mt_type *ty, bool *seconds)
{
    *seconds = ty->id == MT_DATETIME;
    return ty->id == MT_DATE || ty->id == MT_DATE32 ||
           (ty->id == MT_DATETIME && ty->zone != NULL &&
            (strcmp(ty->zone, "UTC") == 0 || strcmp(ty->zone, "Etc/UTC") == 0));
}

/* The least (up: greatest) integer that has the quotient v; false: not one of the column's width.
 * Quotients are cut off towards zero. */
static bool dividend(const ax_mt_keycol *k, const ax_mt_type *ty, const ax_mt_value *v, bool up,
                     int64_t *out)
{
    bool is_signed = ty->id == MT_INT;
    unsigned bits = 8 * ty->width;
    uint64_t raw = 0;
    ax_i128 q, x;

    if ((ty->id != MT_INT && ty->id != MT_UINT) || v->null || v->n != ty->width || v->n > 8)
        return false;
    memcpy(&raw, v->p, v->n);
    q = is_signed ? (ax_i128) ((int64_t) (raw << (64 - bits)) >> (64 - bits)) : (ax_i128) raw;
    x = q * k->by;
    if (up && q >= 0)
        x += k->by - 1;
    else if (!up && is_signed && q <= 0)
        x -= k->by - 1;
    if (x < (is_signed ? -((ax_i128) 1 << (bits - 1)) : 0) ||
        x >= (ax_i128) 1 << (is_signed ? bits - 1 : bits))
        return false;
    *out = (int64_t) (uint64_t) x;
    return true;
}

/* A bound of the function's values as one of the column; up: the upper end. */
static bool through(const ax_mt_keycol *k, const ax_mt_conv *c, const ax_mt_value *v, bool up,
                    ax_value *out)
{
    uint64_t raw = 0;
    int64_t at;
    bool seconds;
    uint8_t bytes[8];

    if (k->fn == MT_K_DIV)
        return dividend(k, c->src, v, up, &at) &&
               value_of(c, &(ax_mt_value){memcpy(bytes, &at, 8), c->src->width, false}, out);
    if (v->null || v->n > 8 || !plain_time(c->src, &seconds))
        return false;
    memcpy(&raw, v->p, v->n);
    if (!first_of(k, raw, seconds, &at))
        return false;
    if (up)
        at += length_of(k, seconds) - 1;
    if (at < 0 || (c->src->width < 8 && at >= 1ll << (8 * c->src->width)))
        return false;
    memcpy(bytes, &at, 8);
    return value_of(c, &(ax_mt_value){bytes, c->src->width, false}, out);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* A side of a column of a box: value NULL: open end. */
typedef struct side { const ax_mt_value *v; bool excluded; } side;

typedef struct box { side lo[MAX_KEY], hi[MAX_KEY]; } box;

/* Granules in ascending order. */
typedef struct ranges { ax_rowrange *range; uint32_t n, cap; } ranges;

typedef struct prune_op
{
    ax_mt_op op;
    uint8_t state;
    const ax_mt_bind *bind;
    ax_mt_part *part;
    uint32_t split, allow;
    uint64_t row0;                /* of the split in the part */
    ax_rowrange within;           /* rows of the split that are asked about */
    uint32_t g0, g1;              /* their granules */
    const ax_filter *filter;
    ax_arena *a;
    ax_arena *scratch;
    uint32_t ncols;               /* key columns looked at */
    box box;
    bool impossible;              /* bounds asked for: the box is empty */
    ranges may;                   /* granules that may match so far */

    ax_mt_skips *skips;           /* NULL: none are of use */
    uint32_t active;              /* indexes that may be asked now */
    bool *asked[3];               /* [ncols of the binding] by bounds, values, text: while indexes
                                   * are chosen */
    ranges before;                /* granules that skip indexes are asked about, */
    uint32_t range_no, from, to;  /* and those of the window */
    ax_filter_lane *lane;         /* for values of sets */
    ax_batch values;
    ax_dict **labels;             /* [ncols of the binding] */
    uint32_t set_at[MT_MAX_SKIPS]; /* index granule + 1 of which set_none tells */
    bool set_none[MT_MAX_SKIPS];
    ax_removed removed[MT_MAX_SKIPS + 2];
    uint32_t nremoved;
    ax_rowset rows;
} prune_op;

/* Narrow the bounds by one side. */
static void narrow(prune_op *o, const ax_mt_conv *c, const side *s, bool up, ax_bounds *out)
{
    ax_value v;
    uint8_t *longer;

    if (s->v == NULL || s->v->null || !value_of(c, s->v, &v))
        return;
    if (s->excluded && discrete(c))
    {
        if (v.u.i == (up ? INT64_MIN : INT64_MAX))
            return;
        v.u.i += up ? -1 : 1;
    }
    else if (s->excluded && !up && c->kind == MT_C_STR)
    {
        /* The least string above it. */
        longer = (uint8_t *) ax_arena_alloc(o->scratch, v.u.s.len + 1 + AX_PAD);
        if (longer == NULL)
            return;
        memcpy(longer, v.u.s.p, v.u.s.len);
        longer[v.u.s.len] = 0;
        v.u.s.p = longer;
        v.u.s.len++;
    }
    if (up && (!out->has_max || ax_value_cmp(&v, &out->max) < 0))
    {
        out->has_max = true;
        out->max = v;
        out->max_exact = false;
    }
    if (!up && (!out->has_min || ax_value_cmp(&v, &out->min) > 0))
    {
        out->has_min = true;
        out->min = v;
        out->min_exact = false;
    }
}

static void narrow_through(const ax_mt_keycol *k, const ax_mt_conv *c, const side *s, bool up,
                           ax_bounds *out)
{
    ax_value v;

    if (s->v == NULL || !through(k, c, s->v, up, &v))
        return;
    if (up && (!out->has_max || ax_value_cmp(&v, &out->max) < 0))
    {
        out->has_max = true;
        out->max = v;
        out->max_exact = false;
    }
    if (!up && (!out->has_min || ax_value_cmp(&v, &out->min) > 0))
    {
        out->has_min = true;
        out->min = v;
        out->min_exact = false;
    }
}

static bool same_value(const ax_mt_value *a, const ax_mt_value *b)
{
    return a->null == b->null && a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static bool nullable(const ax_mt_type *ty)
{
    if (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    return ty->id == MT_NULLABLE || ty->id == MT_VARIANT;
}

/* A null is behind all values: below an end that is a value there is none, and above one that is
 * null there is nothing else. */
static void note_nulls(const side *lo, const side *hi, const ax_mt_type *ty, ax_bounds *out)
{
    if (!nullable(ty) || (hi->v != NULL && (!hi->v->null || hi->excluded)))
        out->nulls = 0;
    else if (lo->v != NULL && lo->v->null)
    {
        out->rows = out->rows > 0 ? out->rows : 1;
        out->nulls = out->rows;
    }
}

bool ax_mt_part_bounds(const ax_mt_conv *c, const ax_mt_part *p, ax_bounds *out)
{
    const ax_mt_value *lo = NULL, *hi = NULL;
    const ax_mt_keys *k = p->keys;

    *out = (ax_bounds){.nulls = -1, .rows = -1};
    if (c->column == NULL)
        return false;
    if (k != NULL && k->n == p->ngran + 1 && k->col[0].fn == MT_K_COLUMN && !k->col[0].desc &&
        &p->column[k->col[0].column] == c->column)
    {
        lo = &k->value[0];
        hi = &k->value[(size_t) (k->n - 1) * k->ncols];
    }
    else if (c->column->minmax != NULL)
    {
        lo = &c->column->minmax[0];
        hi = &c->column->minmax[1];
    }
    else
        return false;
    out->rows = ax_mt_hides_rows(p) ? -1 : p->rows;
    note_nulls(&(side){lo, false}, &(side){hi, false}, c->column->type, out);
    if (!c->ordered && !same_value(lo, hi))
        return true;
    out->has_min = !lo->null && value_of(c, lo, &out->min);
    out->has_max = !hi->null && value_of(c, hi, &out->max);
    /* NaN is no minimum or maximum of ClickHouse's, and sorts last in keys. */
    if (c->src->id == MT_FLOAT && c->column->minmax == lo)
        out->has_max = false;
    if (out->has_max && !ax_mt_hides_rows(p))
        out->max_exact = true;
    if (out->has_min && !ax_mt_hides_rows(p))
        out->min_exact = true;
    return true;
}

/* What index i, a minmax, says of a column. */
static void skip_bounds(prune_op *o, const ax_mt_skip_reader *r, const ax_mt_conv *c,
                        ax_bounds *out)
{
    for (uint32_t i = 0; i < r->def->ncols; i++)
    {
        const ax_mt_keycol *k = &r->def->col[i];
        const ax_mt_type *ty = c->column->type;
        side lo = {&r->value[2 * i], false}, hi = {&r->value[2 * i + 1], false};

        if (k->column < 0 || &o->part->column[k->column] != c->column || !r->known[i])
            continue;
        if (k->fn == MT_K_COLUMN && !r->def->old)
            note_nulls(&lo, &hi, ty, out);
        if (!c->ordered && !(k->fn == MT_K_COLUMN && same_value(lo.v, hi.v)))
            continue;
        if (k->fn == MT_K_COLUMN)
        {
            narrow(o, c, &lo, false, out);
            /* NaN is no maximum of ClickHouse's. */
            if (c->src->id != MT_FLOAT && c->src->id != MT_BFLOAT16)
                narrow(o, c, &hi, true, out);
        }
        else if (k->fn > MT_K_COLUMN && !nullable(ty))
        {
            narrow_through(k, c, &lo, false, out);
            narrow_through(k, c, &hi, true, out);
        }
    }
}

/* The values that all rows of the part have, if they may be used. */
static const ax_mt_keys *partition_of(const prune_op *o)
{
    return (o->allow & AX_ALLOW_MINMAX) != 0 ? o->part->partition : NULL;
}

/* What one column of a key, from lo to hi, says of declared column c. */
static void key_bounds(prune_op *o, const ax_mt_keycol *k, const side *lo, const side *hi,
                       const ax_mt_conv *c, ax_bounds *out)
{
    bool point = lo->v != NULL && hi->v != NULL && same_value(lo->v, hi->v);

    if (k->column < 0 || &o->part->column[k->column] != c->column)
        return;
    if (k->fn == MT_K_COLUMN && !k->desc)
        note_nulls(lo, hi, c->column->type, out);
    if (k->fn == MT_K_COLUMN && (c->ordered || point))
    {
        narrow(o, c, lo, false, out);
        narrow(o, c, hi, true, out);
    }
    else if (k->fn > MT_K_COLUMN && c->ordered && !nullable(c->column->type))
    {
        narrow_through(k, c, lo, false, out);
        narrow_through(k, c, hi, true, out);
    }
}

/* Bounds of declared column `col` in the current box. */
static bool box_bounds(void *self, uint32_t col, ax_bounds *out)
{
    prune_op *o = (prune_op *) self;
    const ax_mt_conv *c = &o->bind->conv[col];
    const ax_mt_keys *keys = o->part->keys, *of_part = partition_of(o);

    if (c->column == NULL || c->column->patched)
        return false;
    if ((o->allow & AX_ALLOW_MINMAX) == 0 || !ax_mt_part_bounds(c, o->part, out))
        *out = (ax_bounds){.nulls = nullable(c->column->type) ? -1 : 0, .rows = -1};
    out->min_exact = out->max_exact = false;
    for (uint32_t i = 0; i < o->ncols; i++)
        key_bounds(o, &keys->col[i], &o->box.lo[i], &o->box.hi[i], c, out);
    for (uint32_t i = 0; of_part != NULL && i < of_part->ncols; i++)
    {
        const side at = {&of_part->value[i], false};

        key_bounds(o, &of_part->col[i], &at, &at, c, out);
    }
    for (uint32_t i = 0; i < o->active; i++)
        if (o->skips->reader[i].def->kind == MT_S_MINMAX && o->skips->reader[i].marks.n > 0)
            skip_bounds(o, &o->skips->reader[i], c, out);
    if (out->has_min && out->has_max && ax_value_cmp(&out->min, &out->max) > 0 && out->nulls == 0)
        o->impossible = true;
    return out->has_min || out->has_max || out->nulls >= 0;
}

/* The filter of column `col` in index i, or NULL. */
static const uint8_t *bits_of(const prune_op *o, uint32_t i, uint32_t col)
{
    const ax_mt_skip_reader *r = &o->skips->reader[i];
    const ax_mt_conv *c = &o->bind->conv[col];

    if (r->def->kind < MT_S_BLOOM || r->marks.n == 0 || c->column == NULL || r->nbytes == 0)
        return NULL;
    for (uint32_t k = 0; k < r->def->ncols; k++)
    {
        const ax_mt_keycol *e = &r->def->col[k];

        if (e->fn == MT_K_COLUMN && &o->part->column[e->column] == c->column)
            return r->bits[k];
    }
    return NULL;
}

static bool value_may(const ax_mt_skip_reader *r, const ax_mt_conv *c, const uint8_t *bits,
                      const ax_value *v)
{
    uint64_t hash;
    bool none;

    if (r->def->kind != MT_S_BLOOM)
        return c->kind != MT_C_STR ||
               ax_mt_words_may(r->def, bits, v->u.s.p, v->u.s.len, true, true);
    if (v->null || !ax_mt_bloom_hash(c, v, &hash, &none))
        return true;
    return !none && ax_mt_bloom_may(bits, r->nbytes, r->def->hashes, hash);
}

/* May rows whose key column is from lo to hi have one of the values? */
static bool column_may(const prune_op *o, const ax_mt_keycol *k, const ax_mt_conv *c,
                       const ax_value *vals, uint32_t n, const ax_mt_value *lo,
                       const ax_mt_value *hi)
{
    bool may = false;

    if (k->column < 0 || &o->part->column[k->column] != c->column || nullable(c->column->type))
        return true;
    for (uint32_t i = 0; i < n && !may; i++)
        may = ax_mt_key_may(k, c, &vals[i], lo, hi);
    return may;
}

/* May the box have one of the values, by functions of the column in the keys? */
static bool key_may(const prune_op *o, uint32_t col, const ax_value *vals, uint32_t n)
{
    const ax_mt_keys *of_part = partition_of(o);
    const ax_mt_conv *c = &o->bind->conv[col];

    for (uint32_t i = 0; i < o->ncols; i++)
        if (!column_may(o, &o->part->keys->col[i], c, vals, n, o->box.lo[i].v, o->box.hi[i].v))
            return false;
    for (uint32_t i = 0; of_part != NULL && i < of_part->ncols; i++)
        if (!column_may(o, &of_part->col[i], c, vals, n, &of_part->value[i], &of_part->value[i]))
            return false;
    return true;
}

static ax_match has_any(void *self, uint32_t col, const ax_value *vals, uint32_t n)
{
    prune_op *o = (prune_op *) self;

    if (!key_may(o, col, vals, n))
        return AX_MATCH_NONE;
    for (uint32_t i = 0; i < o->active; i++)
    {
        const uint8_t *bits = bits_of(o, i, col);
        bool may = bits == NULL;

        for (uint32_t k = 0; k < n && !may; k++)
            may = value_may(&o->skips->reader[i], &o->bind->conv[col], bits, &vals[k]);
        if (!may)
            return AX_MATCH_NONE;
    }
    return AX_MATCH_SOME;
}

static ax_match has_text(void *self, uint32_t col, const ax_text_part *part, uint32_t n)
{
    prune_op *o = (prune_op *) self;

    for (uint32_t i = 0; i < o->active && o->bind->conv[col].kind == MT_C_STR; i++)
    {
        const ax_mt_skip *x = o->skips->reader[i].def;
        const uint8_t *bits = x->kind > MT_S_BLOOM ? bits_of(o, i, col) : NULL;

        for (uint32_t k = 0; k < n && bits != NULL; k++)
            if (!ax_mt_words_may(x, bits, part[k].p, part[k].len, part[k].first, part[k].last))
                return AX_MATCH_NONE;
    }
    return AX_MATCH_SOME;
}

/* Ask the filter of the current box. */
static ax_match ask(prune_op *o)
{
    ax_stats_src src = {.self = o, .bounds = box_bounds, .has_any = has_any,
                        .has_text = has_text};
    ax_match m;

    o->impossible = false;
    m = ax_filter_match(o->filter, &src);
    ax_arena_reset(o->scratch);
    return o->impossible ? AX_MATCH_NONE : m;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static const ax_mt_value *key_at(const prune_op *o, uint32_t mark, uint32_t i)
{
    const ax_mt_keys *k = o->part->keys;

    return mark < k->n ? &k->value[(size_t) mark * k->ncols + i] : NULL;
}

/* Set column i of the box to go from a to b in the key's order. */
static void set(prune_op *o, uint32_t i, side a, side b)
{
    bool desc = o->part->keys->col[i].desc;

    o->box.lo[i] = desc ? b : a;
    o->box.hi[i] = desc ? a : b;
}

static void set_free(prune_op *o, uint32_t from)
{
    for (uint32_t i = from; i < o->ncols; i++)
        o->box.lo[i] = o->box.hi[i] = (side){NULL, false};
}

static ax_match worst(ax_match a, ax_match b)
{
    return a == b ? a : AX_MATCH_SOME;
}

/* The boxes where columns before i are those of `mark`, and the rest are not below (low) or not
 * above it. */
static ax_match edge(prune_op *o, uint32_t mark, uint32_t i, bool low, ax_match so_far)
{
    for (; i < o->ncols && so_far != AX_MATCH_SOME; i++)
    {
        side v = {key_at(o, mark, i), true}, point = {v.v, false}, none = {NULL, false};

        set(o, i, low ? v : none, low ? none : v);
        set_free(o, i + 1);
        so_far = worst(so_far, ask(o));
        set(o, i, point, point);
    }
    /* The key itself. */
    return so_far == AX_MATCH_SOME ? so_far : worst(so_far, ask(o));
}

/* May rows of granules [b, e) match? */
static ax_match check(prune_op *o, uint32_t b, uint32_t e)
{
    uint32_t i;
    ax_match m;

    for (i = 0; i < o->ncols; i++)
    {
        const ax_mt_value *x = key_at(o, b, i), *y = key_at(o, e, i);

        if (y == NULL || !same_value(x, y))
            break;
        set(o, i, (side){x, false}, (side){y, false});
    }
    if (i == o->ncols)
        return ask(o);
    set_free(o, i + 1);
    if (key_at(o, e, i) == NULL)
    {
        set(o, i, (side){key_at(o, b, i), false}, (side){NULL, false});
        return ask(o);
    }
    set(o, i, (side){key_at(o, b, i), true}, (side){key_at(o, e, i), true});
    m = ask(o);
    for (int end = 0; end < 2 && m != AX_MATCH_SOME; end++)
    {
        uint32_t mark = end == 0 ? b : e;

        set(o, i, (side){key_at(o, mark, i), false}, (side){key_at(o, mark, i), false});
        m = edge(o, mark, i + 1, end == 0, m);
    }
    return m;
}

static ax_status emit(ax_task *t, prune_op *o, uint32_t b, uint32_t e)
{
    ranges *r = &o->may;

    if (r->n > 0 && r->range[r->n - 1].end == b)
    {
        r->range[r->n - 1].end = e;
        return AX_OK;
    }
    if (r->n == r->cap)
    {
        uint32_t cap = r->cap == 0 ? 16 : r->cap * 2;
        ax_rowrange *grown;

        AX_NEW(t, grown, (ax_rowrange *) ax_arena_alloc(o->a, cap * sizeof *grown));
        if (r->n > 0)
            memcpy(grown, r->range, r->n * sizeof *grown);
        r->range = grown;
        r->cap = cap;
    }
    r->range[r->n++] = (ax_rowrange){b, e};
    return AX_OK;
}

/* Recursion is as deep as the logarithm of the number of granules. */
static ax_status search(ax_task *t, prune_op *o, uint32_t b, uint32_t e)
{
    ax_match m = check(o, b, e);

    AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
    if (m == AX_MATCH_NONE)
        return AX_OK;
    if (m == AX_MATCH_ALL || e - b == 1)
        return emit(t, o, b, e);
    AX_TRY(search(t, o, b, b + (e - b) / 2));
    return search(t, o, b + (e - b) / 2, e);
}

/* ---- what was removed ------------------------------------------------------------------------ */

/* How many of granules [b, e) begin with a row that is asked about: the rest is of another piece of
 * the split. */
static uint32_t counted(const prune_op *o, uint32_t b, uint32_t e)
{
    return e - b - (b == o->g0 && o->part->row_at[b] < o->row0 + o->within.begin);
}

static void removed(prune_op *o, const char *name, uint32_t n)
{
    if (n > 0)
        o->removed[o->nremoved++] = (ax_removed){name, n};
}

/* ---- skip indexes ---------------------------------------------------------------------------- */

static bool note_bounds(void *self, uint32_t col, ax_bounds *out)
{
    prune_op *o = (prune_op *) self;

    o->asked[0][col] = true;
    return box_bounds(self, col, out);
}

static ax_match note_values(void *self, uint32_t col, const ax_value *vals, uint32_t n)
{
    (void) vals;
    (void) n;
    ((prune_op *) self)->asked[1][col] = true;
    return AX_MATCH_SOME;
}

static ax_match note_text(void *self, uint32_t col, const ax_text_part *part, uint32_t n)
{
    (void) part;
    (void) n;
    ((prune_op *) self)->asked[2][col] = true;
    return AX_MATCH_SOME;
}

/* Does a column of the index equal declared column `col`? */
static bool has_column(const prune_op *o, const ax_mt_skip *x, uint32_t col, bool plain)
{
    const ax_mt_column *c = o->bind->conv[col].column;

    for (uint32_t i = 0; i < x->ncols; i++)
        if (c != NULL && x->col[i].column >= 0 && &o->part->column[x->col[i].column] == c &&
            (x->col[i].fn == MT_K_COLUMN || (!plain && x->col[i].fn > MT_K_COLUMN)))
            return true;
    return false;
}

/* Is the step a condition on the set's columns alone, that may be asked of any value? */
static bool of_set(const prune_op *o, const ax_mt_skip *x, uint32_t step)
{
    uint32_t n;
    const uint32_t *cols = ax_filter_step_columns(o->filter, step, &n);

    for (uint32_t i = 0; i < n; i++)
        if (!has_column(o, x, cols[i], true))
            return false;
    return n > 0 && ax_filter_step_apart(o->filter, step);
}

static bool useful(const prune_op *o, const ax_mt_skip *x)
{
    if (x->kind == MT_S_SET)
    {
        for (uint32_t i = 0; i < ax_filter_steps(o->filter); i++)
            if (of_set(o, x, i))
                return true;
        return false;
    }
    for (uint32_t col = 0; col < o->bind->base.ncols; col++)
        if ((x->kind == MT_S_MINMAX && o->asked[0][col] && has_column(o, x, col, false)) ||
            (x->kind >= MT_S_BLOOM && o->asked[1][col] && has_column(o, x, col, true)) ||
            (x->kind > MT_S_BLOOM && o->asked[2][col] && has_column(o, x, col, true)))
            return true;
    return false;
}

/* Which indexes can tell something about the filter? */
static ax_status choose_skips(ax_task *t, prune_op *o)
{
    const ax_mt_part *p = o->part;
    const ax_mt_skip *def[MT_MAX_SKIPS];
    ax_stats_src src = {.self = o, .bounds = note_bounds, .has_any = note_values,
                        .has_text = note_text};
    uint32_t n = 0, ncols = o->bind->base.ncols;

    if (p->nskips == 0 || (o->allow & AX_ALLOW_SKIP_INDEX) == 0)
        return AX_OK;
    for (int i = 0; i < 3; i++)
        AX_NEW(t, o->asked[i], (bool *) ax_arena_alloc0(o->a, ncols + 1));
    set_free(o, 0);
    (void) ax_filter_match(o->filter, &src);
    ax_arena_reset(o->scratch);
    for (uint32_t i = 0; i < p->nskips && n < MT_MAX_SKIPS; i++)
        if (useful(o, &p->skip[i]))
            def[n++] = &p->skip[i];
    if (n == 0)
        return AX_OK;
    AX_NEW(t, o->skips, (ax_mt_skips *) ax_arena_alloc0(o->a, sizeof *o->skips));
    AX_NEW(t, o->labels, (ax_dict **) ax_arena_alloc0(o->a, (ncols + 1) * sizeof *o->labels));
    AX_NEW(t, o->values.col, (ax_vec *) ax_arena_alloc0(o->a, (ncols + 1) * sizeof(ax_vec)));
    o->values.ncols = ncols;
    for (uint32_t i = 0; i < n; i++)
        o->removed[o->nremoved + i].name = def[i]->name;
    AX_TRY(ax_filter_lane_create(t, o->a, o->filter, &o->lane));
    return ax_mt_skips_begin(t, o->a, p, def, n, o->allow, o->skips);
}

/* The next n values of the set's columns into the batch.  *known: they have declared values. */
static ax_status set_values(ax_task *t, prune_op *o, ax_mt_skip_reader *r, uint32_t n, bool *known)
{
    const ax_mt_skip *x = r->def;

    memset(o->values.col, 0, o->values.ncols * sizeof(ax_vec));
    for (uint32_t k = 0; k < x->ncols; k++)
    {
        ax_mt_vals v = {0};

        AX_TRY(ax_mt_skip_values(t, r, k, n, &v));
        for (uint32_t col = 0; col < o->values.ncols; col++)
        {
            const ax_mt_conv *c = &o->bind->conv[col];
            uint32_t fail_row = UINT32_MAX;
            ax_status st;

            if (x->col[k].fn != MT_K_COLUMN || c->column != &o->part->column[x->col[k].column])
                continue;
            st = ax_mt_conv_vec(t, c, r->root[k].node, &v, n, &r->win, o->a, &o->labels[col],
                                &o->values.col[col], &fail_row);
            if (st != AX_OK && fail_row == UINT32_MAX)
                return st;
            *known = *known && st == AX_OK;
            ax_error_clear(&t->err);
        }
    }
    return AX_OK;
}

/* Does no value of set i pass the conditions on its columns? */
static ax_status ask_set(ax_task *t, prune_op *o, uint32_t i, bool *none)
{
    ax_mt_skip_reader *r = &o->skips->reader[i];
    bool known = true;
    uint32_t n;

    *none = false;
    if (r->marks.n == 0 || r->count == 0)
        return AX_OK;
    for (uint64_t from = 0; from < r->count; from += n)
    {
        ax_batch *b = &o->values;

        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        n = r->count - from < AX_BATCH_ROWS ? (uint32_t) (r->count - from) : AX_BATCH_ROWS;
        AX_TRY(set_values(t, o, r, n, &known));
        b->arena = r->batch.arena;
        b->nrows = b->nsel = n;
        b->sel = NULL;
        for (uint32_t step = 0; known && step < ax_filter_steps(o->filter) && b->nsel > 0; step++)
        {
            ax_eval_result e = {.fail_row = UINT32_MAX};

            if (!of_set(o, r->def, step))
                continue;
            AX_TRY(ax_filter_step(t, o->lane, step, b, &e));
            known = e.need == NULL;
        }
        if (!known || b->nsel > 0)
            return AX_OK;
    }
    *none = true;
    return AX_OK;
}

/* May granule g match, by all indexes?  *by: the one that removed it. */
static ax_status ask_skips(ax_task *t, prune_op *o, uint32_t g, bool *may, uint32_t *by)
{
    ax_mt_skips *s = o->skips;

    *may = true;
    for (uint32_t i = 0; i < s->n && *may; i++)
    {
        uint32_t j = g / s->reader[i].def->granularity + 1;

        *by = i;
        AX_TRY(ax_mt_skip_at(t, s, i, g));
        o->active = i + 1;
        if (s->reader[i].def->kind != MT_S_SET)
            *may = check(o, g, g + 1) != AX_MATCH_NONE;
        else if (o->set_at[i] != j)
        {
            AX_TRY(ask_set(t, o, i, &o->set_none[i]));
            o->set_at[i] = j;
        }
        if (s->reader[i].def->kind == MT_S_SET)
            *may = !o->set_none[i];
    }
    o->active = 0;
    return AX_OK;
}

/* The next granules to be asked about; false: there are none. */
static bool next_window(prune_op *o)
{
    const ranges *r = &o->before;

    if (o->range_no < r->n && o->to == r->range[o->range_no].end)
        o->range_no++;
    if (o->range_no == r->n)
        return false;
    o->from = o->to > r->range[o->range_no].begin ? o->to : r->range[o->range_no].begin;
    o->to = r->range[o->range_no].end;
    if (o->to - o->from > WINDOW)
        o->to = o->from + WINDOW;
    return true;
}

static ax_status ask_window(ax_task *t, prune_op *o)
{
    for (uint32_t g = o->from; g < o->to; g++)
    {
        bool may;
        uint32_t by = 0;

        AX_TRY(ask_skips(t, o, g, &may, &by));
        if (may)
            AX_TRY(emit(t, o, g, g + 1));
        else
            o->removed[o->nremoved + by].granules += counted(o, g, g + 1);
    }
    return AX_OK;
}

/* ---- the operation --------------------------------------------------------------------------- */

ax_status ax_mt_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                            ax_rowrange within, const ax_filter *f, uint32_t allow,
                            ax_fmt_op **out)
{
    prune_op *o;
    const ax_mt_part *p = (const ax_mt_part *) b->file;

    AX_NEW(t, o, (prune_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = MT_OP_PRUNE;
    o->bind = (const ax_mt_bind *) b;
    o->part = (ax_mt_part *) b->file;
    o->split = split;
    o->filter = f;
    o->allow = allow;
    o->a = a;
    o->g0 = p->split_gran[split];
    o->g1 = p->split_gran[split + 1];
    o->row0 = p->row_at[o->g0];
    o->within = within;
    if (within.end > 0)
    {
        o->g0 = ax_mt_granule_of(p, o->row0 + within.begin);
        o->g1 = ax_mt_granule_of(p, o->row0 + within.end - 1) + 1;
    }
    AX_NEW(t, o->scratch, ax_arena_create(ax_arena_budget(a), 4096));
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

static ax_status finish(ax_task *t, prune_op *o, ax_match match, uint8_t by, ax_fmt_event *ev)
{
    const ax_mt_part *p = o->part;
    ax_rowrange *r;

    o->state = FINISHED;
    ev->step = AX_STEP_DONE;
    ev->match = match;
    ev->by = match == AX_MATCH_NONE ? by : AX_PRUNED_NOT;
    ev->removed = o->removed;
    ev->nremoved = o->nremoved + (o->skips != NULL ? o->skips->n : 0);
    if (match != AX_MATCH_SOME)
        return AX_OK;
    AX_NEW(t, r, (ax_rowrange *) ax_arena_alloc(o->a, (o->may.n + 1) * sizeof *r));
    for (uint32_t i = 0; i < o->may.n; i++)
        r[i] = (ax_rowrange){(uint32_t) (p->row_at[o->may.range[i].begin] - o->row0),
                             (uint32_t) (p->row_at[o->may.range[i].end] - o->row0)};
    o->rows = (ax_rowset){r, o->may.n};
    ev->rows = &o->rows;
    return AX_OK;
}

static ax_status start(ax_task *t, prune_op *o, ax_fmt_event *ev)
{
    const ax_mt_part *p = o->part;
    uint32_t all = counted(o, o->g0, o->g1), kept = 0;
    ax_match m = ask(o);

    if (m == AX_MATCH_NONE)
        removed(o, "min/max", all);
    if (m != AX_MATCH_SOME)
        return finish(t, o, m, AX_PRUNED_MINMAX, ev);
    if (p->keys != NULL && (o->allow & AX_ALLOW_PRIMARY_KEY) != 0)
        o->ncols = p->keys->ncols < MAX_KEY ? p->keys->ncols : MAX_KEY;
    if (o->ncols > 0)
        AX_TRY(search(t, o, o->g0, o->g1));
    else
        AX_TRY(emit(t, o, o->g0, o->g1));
    for (uint32_t i = 0; i < o->may.n; i++)
        kept += counted(o, o->may.range[i].begin, o->may.range[i].end);
    removed(o, "primary key", all - kept);
    if (o->may.n == 0)
        return finish(t, o, AX_MATCH_NONE, AX_PRUNED_PRIMARY_KEY, ev);
    AX_TRY(choose_skips(t, o));
    if (o->skips == NULL)
        return finish(t, o, AX_MATCH_SOME, AX_PRUNED_NOT, ev);
    o->before = o->may;
    o->may = (ranges){NULL, 0, 0};
    o->state = SKIPS;
    return AX_OK;
}

static ax_status step(ax_task *t, prune_op *o, ax_fmt_event *ev)
{
    bool ready;

    if (o->state == START)
    {
        AX_TRY(start(t, o, ev));
        if (o->state == FINISHED)
            return AX_OK;
    }
    if (o->state == SKIPS)
    {
        AX_TRY(ax_mt_skips_open(t, o->skips, ev, &ready));
        if (!ready)
            return AX_OK;
    }
    else if (o->state == BYTES)
    {
        AX_TRY(ax_mt_skips_take(t, o->skips));
        AX_TRY(ask_window(t, o));
    }
    o->state = BYTES;
    while (next_window(o))
    {
        if (ax_mt_skips_ask(o->skips, o->from, o->to, ev))
            return AX_OK;
        AX_TRY(ask_window(t, o));
    }
    return finish(t, o, o->may.n > 0 ? AX_MATCH_SOME : AX_MATCH_NONE, AX_PRUNED_SKIP_INDEX, ev);
}

ax_status ax_mt_prune_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    prune_op *o = (prune_op *) op;
    ax_status st = step(t, o, ev);

    if (st != AX_OK)
        ax_note_file(t, o->part->dir);
    return st;
}

void ax_mt_prune_end(ax_fmt_op *op)
{
    prune_op *o = (prune_op *) op;

    if (o->skips != NULL)
        ax_mt_skips_end(o->skips);
    ax_arena_destroy(o->scratch);
    o->scratch = NULL;
}
