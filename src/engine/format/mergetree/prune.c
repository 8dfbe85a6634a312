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
 * Of keys that are a function of a column which goes up with it (toYYYYMM), the bounds of the
 * column are worked out; other functions tell nothing.
 *
 * Format: mergetree.md, "Primary index". */
#include "mergetree_int.h"

enum { MAX_KEY = 16, DAY = 86400 };

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
        case MT_C_LIST:
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

    return (p == AX_P_I16 || p == AX_P_I32 || p == AX_P_I64) &&
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

/* A bound of the function's values as one of the column; up: the upper end. */
static bool through(const ax_mt_keycol *k, const ax_mt_conv *c, const ax_mt_value *v, bool up,
                    ax_value *out)
{
    uint64_t raw = 0;
    int64_t at;
    bool seconds;
    uint8_t bytes[8];

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

typedef struct prune_op
{
    ax_mt_op op;
    const ax_mt_bind *bind;
    ax_mt_part *part;
    uint32_t split, allow;
    const ax_filter *filter;
    ax_arena *a;
    ax_arena *scratch;
    uint32_t ncols;               /* key columns looked at */
    box box;
    bool impossible;              /* bounds asked for: the box is empty */
    bool sure;                    /* every granule so far matches as a whole */
    ax_rowrange *range;           /* [n] */
    uint32_t n, cap;
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
    out->rows = p->row_exists < 0 ? p->rows : -1;
    note_nulls(&(side){lo, false}, &(side){hi, false}, c->column->type, out);
    if (!c->ordered && !same_value(lo, hi))
        return true;
    out->has_min = !lo->null && value_of(c, lo, &out->min);
    out->has_max = !hi->null && value_of(c, hi, &out->max);
    /* NaN is no minimum or maximum of ClickHouse's, and sorts last in keys. */
    if (c->src->id == MT_FLOAT && c->column->minmax == lo)
        out->has_max = false;
    if (out->has_max && p->row_exists < 0)
        out->max_exact = true;
    if (out->has_min && p->row_exists < 0)
        out->min_exact = true;
    return true;
}

/* Bounds of declared column `col` in the current box. */
static bool box_bounds(void *self, uint32_t col, ax_bounds *out)
{
    prune_op *o = (prune_op *) self;
    const ax_mt_conv *c = &o->bind->conv[col];
    const ax_mt_keys *keys = o->part->keys;

    if (c->column == NULL)
        return false;
    if ((o->allow & AX_ALLOW_MINMAX) == 0 || !ax_mt_part_bounds(c, o->part, out))
        *out = (ax_bounds){.nulls = nullable(c->column->type) ? -1 : 0, .rows = -1};
    out->min_exact = out->max_exact = false;
    for (uint32_t i = 0; i < o->ncols; i++)
    {
        const ax_mt_keycol *k = &keys->col[i];
        const side *lo = &o->box.lo[i], *hi = &o->box.hi[i];
        bool point = lo->v != NULL && hi->v != NULL && same_value(lo->v, hi->v);

        if (k->column < 0 || &o->part->column[k->column] != c->column)
            continue;
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
    if (out->has_min && out->has_max && ax_value_cmp(&out->min, &out->max) > 0 && out->nulls == 0)
        o->impossible = true;
    return out->has_min || out->has_max || out->nulls >= 0;
}

/* Ask the filter of the current box. */
static ax_match ask(prune_op *o)
{
    ax_stats_src src = {.self = o, .bounds = box_bounds};
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
    const ax_mt_part *p = o->part;
    uint64_t row0 = p->row_at[p->split_gran[o->split]];
    ax_rowrange r = {(uint32_t) (p->row_at[b] - row0), (uint32_t) (p->row_at[e] - row0)};

    if (o->n > 0 && o->range[o->n - 1].end == r.begin)
    {
        o->range[o->n - 1].end = r.end;
        return AX_OK;
    }
    if (o->n == o->cap)
    {
        uint32_t cap = o->cap == 0 ? 16 : o->cap * 2;
        ax_rowrange *grown;

        AX_NEW(t, grown, (ax_rowrange *) ax_arena_alloc(o->a, cap * sizeof *grown));
        if (o->n > 0)
            memcpy(grown, o->range, o->n * sizeof *grown);
        o->range = grown;
        o->cap = cap;
    }
    o->range[o->n++] = r;
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
    {
        o->sure = o->sure && m == AX_MATCH_ALL;
        return emit(t, o, b, e);
    }
    AX_TRY(search(t, o, b, b + (e - b) / 2));
    return search(t, o, b + (e - b) / 2, e);
}

/* ---- the operation --------------------------------------------------------------------------- */

ax_status ax_mt_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                            const ax_filter *f, uint32_t allow, ax_fmt_op **out)
{
    prune_op *o;

    AX_NEW(t, o, (prune_op *) ax_arena_alloc0(a, sizeof *o));
    o->op.kind = MT_OP_PRUNE;
    o->bind = (const ax_mt_bind *) b;
    o->part = (ax_mt_part *) b->file;
    o->split = split;
    o->filter = f;
    o->allow = allow;
    o->a = a;
    AX_NEW(t, o->scratch, ax_arena_create(ax_arena_budget(a), 4096));
    *out = (ax_fmt_op *) o;
    return AX_OK;
}

ax_status ax_mt_prune_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    prune_op *o = (prune_op *) op;
    ax_mt_part *p = o->part;
    uint32_t g0 = p->split_gran[o->split], g1 = p->split_gran[o->split + 1];
    ax_rowset *set_of;

    ev->step = AX_STEP_DONE;
    ev->match = ask(o);
    if (ev->match != AX_MATCH_SOME)
    {
        ev->by = ev->match == AX_MATCH_NONE ? AX_PRUNED_MINMAX : AX_PRUNED_NOT;
        return AX_OK;
    }
    if (p->keys == NULL || (o->allow & AX_ALLOW_PRIMARY_KEY) == 0)
        return AX_OK;
    o->ncols = p->keys->ncols < MAX_KEY ? p->keys->ncols : MAX_KEY;
    o->sure = true;
    AX_TRY(search(t, o, g0, g1));
    if (o->n == 0)
    {
        ev->match = AX_MATCH_NONE;
        ev->by = AX_PRUNED_PRIMARY_KEY;
        return AX_OK;
    }
    AX_NEW(t, set_of, (ax_rowset *) ax_arena_alloc(o->a, sizeof *set_of));
    *set_of = (ax_rowset){o->range, o->n};
    ev->rows = set_of;
    return AX_OK;
}

void ax_mt_prune_end(ax_fmt_op *op)
{
    prune_op *o = (prune_op *) op;

    ax_arena_destroy(o->scratch);
    o->scratch = NULL;
}
