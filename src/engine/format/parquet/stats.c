/* Statistics: which bounds of a column chunk may be believed.
 *
 * Writers got minima and maxima wrong in many ways, and a wrong bound loses rows without a word.
 * The rules, in the order in which they are applied:
 *   - min_value/max_value count when the column's order is TYPE_ORDER (or IEEE 754 total order for
 *     floats), or when the file has no column orders at all (DuckDB, Photon, arrow2 and others);
 *   - the deprecated min/max were compared as signed values: they count for types with signed
 *     order, and elsewhere when both are equal;
 *   - parquet-mr before 1.8.0 wrote garbage for binary columns (PARQUET-251), parquet-mr before
 *     1.10.0 and parquet-cpp before 1.3.0 sorted them as signed bytes;
 *   - a bound of the wrong length, a NaN, and a pair with min > max are dropped;
 *   - floats: NaN is above everything in PostgreSQL and absent from bounds, so there is a maximum
 *     only where the file says that there is no NaN;
 *   - a null count of 0 is believed from known writers only (some mean "unknown").
 *
 * Format: apache/parquet-format, parquet.thrift Statistics and ColumnOrder. */
#include "parquet_int.h"

#include <math.h>

void ax_pq_stats_parse(const ax_pq_chunk *m, ax_pq_stats *s)
{
    ax_cur c = ax_cur_make(m->stats, m->stats_len);
    ax_pq_fld f = {0, 0};
    ax_pq_bytes *const slot[] = {
        [1] = &s->old_max, [2] = &s->old_min, [5] = &s->max, [6] = &s->min};

    memset(s, 0, sizeof *s);
    s->nulls = s->nans = s->distinct = -1;
    while (ax_pq_th_next(&c, &f))
    {
        switch (f.id)
        {
            case 1:
            case 2:
            case 5:
            case 6:
                if (ax_pq_th_bin(&c, f.type, &slot[f.id]->p, &slot[f.id]->n))
                    slot[f.id]->set = true;
                break;
            case 3:
                (void) ax_pq_th_i64(&c, f.type, &s->nulls);
                break;
            case 4:
                (void) ax_pq_th_i64(&c, f.type, &s->distinct);
                break;
            case 7:
                (void) ax_pq_th_bool(&c, f.type, &s->max_exact);
                break;
            case 8:
                (void) ax_pq_th_bool(&c, f.type, &s->min_exact);
                break;
            case 9:
                (void) ax_pq_th_i64(&c, f.type, &s->nans);
                break;
            default:
                ax_pq_th_skip(&c, f.type);
        }
    }
}

/* Writers whose counts of nulls and whose exactness of fixed-width bounds are good. */
static bool trusted(const ax_pq_writer *w)
{
    static const char *const apps[] = {"parquet-mr", "parquet-cpp", "parquet-cpp-arrow",
                                       "parquet-rs", "DuckDB", "ClickHouse", "impala", "Polars",
                                       "analytics_fdw", NULL};
    uint32_t i;

    for (i = 0; apps[i] != NULL; i++)
        if (strcmp(w->app, apps[i]) == 0)
            return !ax_pq_writer_before(w, "parquet-mr", 1, 10, 0) &&
                   !ax_pq_writer_before(w, "parquet-cpp", 1, 3, 0);
    return false;
}

/* Is the order of the physical bytes' type signed, so that old statistics are right? */
static bool signed_order(const ax_pq_leaf *l)
{
    switch (l->phys)
    {
        case PQ_INT32:
        case PQ_INT64:
            return l->lt.kind != LT_INT || l->lt.is_signed;
        case PQ_BOOLEAN:
        case PQ_FLOAT:
        case PQ_DOUBLE:
            return true;
        default:
            return false;
    }
}

static bool is_float(const ax_pq_leaf *l)
{
    return l->phys == PQ_FLOAT || l->phys == PQ_DOUBLE || l->lt.kind == LT_FLOAT16;
}

static bool same(const ax_pq_bytes *a, const ax_pq_bytes *b)
{
    return a->set && b->set && a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

/* Choose the pair that counts; false: none. */
static bool choose(const ax_pq_file *f, uint32_t leaf, const ax_pq_stats *s, ax_pq_bytes *min,
                   ax_pq_bytes *max)
{
    const ax_pq_leaf *l = &f->leaf[leaf];
    uint8_t order = f->order != NULL ? f->order[leaf] : ORDER_TYPE;
    bool binary = l->phys == PQ_BYTE_ARRAY || l->phys == PQ_FLBA;
    bool mr_bad = ax_pq_writer_before(&f->writer, "parquet-mr", 1, 8, 0) && !f->writer.cdh55;
    bool signed_bytes = ax_pq_writer_before(&f->writer, "parquet-mr", 1, 10, 0) ||
                        ax_pq_writer_before(&f->writer, "parquet-cpp", 1, 3, 0);

    if (l->lt.kind == LT_INTERVAL || l->lt.kind == LT_GEOMETRY || l->lt.kind == LT_GEOGRAPHY)
        return false;
    if (l->phys == PQ_INT96 && order != ORDER_INT96)
        return false;
    if (binary && mr_bad)
        return false;
    if ((s->min.set || s->max.set) &&
        (order == ORDER_TYPE || (order == ORDER_IEEE && is_float(l)) || order == ORDER_INT96))
    {
        *min = s->min;
        *max = s->max;
        return signed_order(l) || !signed_bytes || same(min, max);
    }
    if (binary && !f->writer.known)
        return false;
    *min = s->old_min;
    *max = s->old_max;
    return (min->set || max->set) && l->phys != PQ_INT96 && (signed_order(l) || same(min, max));
}

static int64_t count_nulls(const ax_pq_file *f, const ax_pq_leaf *l, int64_t rows,
                           const ax_pq_stats *s)
{
    if (l->max_def == 0)
        return 0;
    if (s->nulls < 0 || s->nulls > rows)
        return -1;
    if (s->nulls == 0 && rows > 0)
        return trusted(&f->writer) ? 0 : -1;
    if (s->nulls == rows && (s->min.set || s->max.set))
        return -1;
    return s->nulls;
}

static bool bound(const ax_pq_conv *c, const ax_pq_bytes *b, ax_value *out)
{
    if (!b->set || !ax_pq_conv_one(c, b->p, b->n, out))
        return false;
    return !((c->type.phys == AX_P_F32 || c->type.phys == AX_P_F64) && isnan(out->u.f));
}

/* Values that are taken for null because they are out of range: may there be any? */
static bool may_lose(const ax_pq_conv *c, const ax_bounds *b)
{
    /* numbers too small for a float lie between its bounds */
    return ax_pq_is_lost(c) && (!b->has_min || !b->has_max || c->kind == CONV_F64_F32);
}

static void believe(const ax_pq_file *f, const ax_pq_conv *c, const ax_pq_stats *s, int64_t rows,
                    ax_bounds *out)
{
    bool fixed = c->kind != CONV_STR, good = trusted(&f->writer);
    ax_pq_bytes min = {0}, max = {0};

    out->nulls = count_nulls(f, c->leaf, rows, s);
    if (c->leaf->max_def == 0 && s->nulls > 0)
        return; /* nulls in a required column: whoever wrote this is not to be believed */
    if (!c->ordered || !choose(f, c->leaf_idx, s, &min, &max))
        return;
    out->has_min = bound(c, &min, &out->min);
    out->has_max = bound(c, &max, &out->max);
    if (is_float(c->leaf) && s->nans != 0)
        out->has_max = false;
    /* An empty maximum that nobody vouches for may just mean that there is none. */
    if (c->kind == CONV_STR && max.n == 0 && !s->max_exact)
        out->has_max = false;
    if (out->has_min && out->has_max && ax_value_cmp(&out->min, &out->max) > 0)
        out->has_min = out->has_max = false;
    out->min_exact = out->has_min && c->num.rescale >= 0 && c->kind != CONV_INT_F64 &&
                     (fixed ? good : s->min_exact);
    out->max_exact = out->has_max && c->num.rescale >= 0 && c->kind != CONV_INT_F64 &&
                     (fixed ? good : s->max_exact);
}

void ax_pq_believe(const ax_pq_file *f, const ax_pq_conv *c, const ax_pq_stats *s, int64_t rows,
                   ax_bounds *out)
{
    believe(f, c, s, rows, out);
    if (out->nulls < rows && may_lose(c, out))
        out->nulls = -1;
}

/* Constants, row numbers. */
static bool constant_bounds(const ax_pq_bind *b, const ax_pq_group *g, uint32_t split, uint32_t col,
                            ax_bounds *out)
{
    ax_value v = {.type = b->base.col[col].type};

    if (b->base.constant[col])
    {
        v = b->base.value[col];
        out->nulls = v.null ? out->rows : 0;
        out->has_min = out->has_max = out->min_exact = out->max_exact = !v.null;
        out->min = out->max = v;
        return true;
    }
    out->nulls = 0;
    out->has_min = out->has_max = out->min_exact = out->max_exact = g->nrows > 0;
    v.u.i = split;
    out->min = out->max = v;
    if (b->base.col[col].virt == AX_VIRT_ROWID)
        return false;
    if (b->base.col[col].virt == AX_VIRT_ROW_NUMBER)
    {
        out->min.u.i = g->row0;
        out->max.u.i = g->row0 + g->nrows - 1;
    }
    return true;
}

bool ax_pq_bounds(const ax_fmt_bind *bind, uint32_t split, uint32_t col, ax_bounds *out)
{
    const ax_pq_bind *b = (const ax_pq_bind *) bind;
    const ax_pq_file *f = (const ax_pq_file *) bind->file;
    const ax_pq_conv *c = &b->conv[col];
    ax_pq_chunk m;
    ax_pq_stats s;

    memset(out, 0, sizeof *out);
    out->rows = f->group[split].nrows;
    out->nulls = -1;
    if (c->leaf == NULL)
        return constant_bounds(b, &f->group[split], split, col, out);
    if (c->kind == CONV_NEST)
        return false;
    if (c->kind == CONV_NULL)
    {
        out->nulls = out->rows;
        return true;
    }
    if (c->leaf->max_def == 0 && !ax_pq_is_lost(c))
        out->nulls = 0;
    if (!ax_pq_chunk_get(f, split, c->leaf_idx, &m) || !m.has_meta || m.encrypted ||
        m.stats == NULL || m.num_values != out->rows || m.type != c->leaf->phys)
        return out->nulls >= 0;
    ax_pq_stats_parse(&m, &s);
    ax_pq_believe(f, c, &s, m.num_values, out);
    return out->has_min || out->has_max || out->nulls >= 0;
}
