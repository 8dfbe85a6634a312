/* States of aggregates of floats: sums in stored order, sums in any order (float_sum.h), the
 * server's Youngs-Cramer states of one and of two arguments, and what is computed from them
 * (float.c: float8_accum, float8_combine, float8_regr_accum, float8_regr_combine and the final
 * functions). */
#include "exec/agg_int.h"
#include "exec/float_sum.h"

#include <math.h>

typedef struct stf4 { float sum; uint32_t seen; } stf4;
typedef struct stf8 { double sum; uint64_t n; } stf8;
typedef struct stavg { double n, sx, sxx; } stavg;
typedef struct stfavg { ax_fsum sum; double sxx; } stfavg; /* sxx: where values are large */
typedef struct stregr { double n, sx, sxx, sy, syy, sxy; } stregr;

#define STATE(T, i) ((T *) (void *) (row[i] + off))

static ax_status float_overflow(ax_task *t)
{
    return ax_fail(t, AX_ERANGE, "value out of range: overflow");
}

static ax_status as_f64(ax_task *t, ax_arena *scratch, const ax_vec *v, uint32_t n,
                        const double **out)
{
    double *o;

    if (v->type.phys == AX_P_F64)
    {
        *out = (const double *) v->u.data;
        return AX_OK;
    }
    AX_NEW(t, o, ax_arena_values(scratch, sizeof(*o) * n));
    for (uint32_t i = 0; i < n; i++)
        o[i] = (double) ((const float *) v->u.data)[i];
    *out = o;
    return AX_OK;
}

/* ---- updates --------------------------------------------------------------------------------- */

static bool scatter_sumf4(uint8_t *const *row, uint32_t off, uint32_t n, const float *v,
                          const uint8_t *skip)
{
    bool bad = false;

    for (uint32_t i = 0; i < n; i++)
    {
        stf4 *s = STATE(stf4, i);
        float r;

        if (skip != NULL && skip[i])
            continue;
        r = s->seen ? s->sum + v[i] : v[i];
        bad |= isinf(r) && !isinf(s->sum) && !isinf(v[i]);
        s->sum = r;
        s->seen = 1;
    }
    return bad;
}

static bool scatter_sumf8(uint8_t *const *row, uint32_t off, uint32_t n, const double *v,
                          const uint8_t *skip)
{
    bool bad = false;

    for (uint32_t i = 0; i < n; i++)
    {
        stf8 *s = STATE(stf8, i);
        double r;

        if (skip != NULL && skip[i])
            continue;
        r = s->n ? s->sum + v[i] : v[i];
        bad |= isinf(r) && !isinf(s->sum) && !isinf(v[i]);
        s->sum = r;
        s->n++;
    }
    return bad;
}

/* As the server's float8_accum: Sxx is kept because its overflow is an error there. */
static inline bool add_avg(stavg *s, double v)
{
    bool bad = false;
    double old_sx = s->sx;

    s->n += 1;
    s->sx += v;
    if (s->n > 1)
    {
        double tmp = v * s->n - s->sx;

        s->sxx += tmp * tmp / (s->n * (s->n - 1));
        if (isinf(s->sx) || isinf(s->sxx))
        {
            bad = !isinf(old_sx) && !isinf(v);
            s->sxx = __builtin_nan("");
        }
    }
    else if (isnan(v) || isinf(v))
        s->sxx = __builtin_nan("");
    return bad;
}

static bool scatter_avg(uint8_t *const *row, uint32_t off, uint32_t n, const double *v,
                        const uint8_t *skip)
{
    bool bad = false;

    for (uint32_t i = 0; i < n; i++)
        if (skip == NULL || !skip[i])
            bad |= add_avg(STATE(stavg, i), v[i]);
    return bad;
}

/* What became infinite of finite values is an error; what depends on an infinite one is NaN. */
static bool settle_regr(stregr *s, const stregr *old, double y, double x)
{
    bool x_ok = !isinf(old->sx) && !isinf(x), y_ok = !isinf(old->sy) && !isinf(y), bad;

    if (!isinf(s->sx) && !isinf(s->sxx) && !isinf(s->sy) && !isinf(s->syy) && !isinf(s->sxy))
        return false;
    bad = ((isinf(s->sx) || isinf(s->sxx)) && x_ok) || ((isinf(s->sy) || isinf(s->syy)) && y_ok)
       || (isinf(s->sxy) && x_ok && y_ok);
    s->sxx = isinf(s->sxx) ? (double) NAN : s->sxx;
    s->syy = isinf(s->syy) ? (double) NAN : s->syy;
    s->sxy = isinf(s->sxy) ? (double) NAN : s->sxy;
    return bad;
}

static bool add_regr(stregr *s, double y, double x)
{
    stregr old = *s;

    s->n += 1;
    s->sx += x;
    s->sy += y;
    if (old.n > 0)
    {
        double tx = x * s->n - s->sx, ty = y * s->n - s->sy, scale = 1.0 / (s->n * old.n);

        s->sxx += tx * tx * scale;
        s->syy += ty * ty * scale;
        s->sxy += tx * ty * scale;
        return settle_regr(s, &old, y, x);
    }
    if (!isfinite(x))
        s->sxx = s->sxy = (double) NAN;
    if (!isfinite(y))
        s->syy = s->sxy = (double) NAN;
    return false;
}

static bool scatter_regr(uint8_t *const *row, uint32_t off, uint32_t n, const double *y,
                         const double *x, const uint8_t *skip)
{
    bool bad = false;

    for (uint32_t i = 0; i < n; i++)
        if (skip == NULL || !skip[i])
            bad |= add_regr(STATE(stregr, i), y[i], x[i]);
    return bad;
}

/* avg fails on the server when Sxx overflows, which the sum does not tell.  It cannot before there
 * is a large value; then it is computed, too, unless a NaN or infinity has settled the matter.
 * true: overflow. */
static bool add_large(stfavg *s, double v)
{
    double sx, n, tmp;

    ax_fsum_add(&s->sum, 1, &v, NULL);
    sx = ax_fsum_result(&s->sum);
    if (ax_fsum_special(&s->sum) || !ax_fsum_large(&s->sum))
        return false;
    n = (double) ax_fsum_count(&s->sum);
    tmp = v * n - sx;
    if (n > 1)
        s->sxx += tmp * tmp / (n * (n - 1));
    return isinf(sx) || isinf(s->sxx);
}

static inline bool is_large(double v) { return fabs(v) >= AX_FSUM_LARGE && !isinf(v); }

static bool any_large(uint8_t *const *row, uint32_t off, uint32_t n, const double *v)
{
    bool any = false;

    for (uint32_t i = 0; i < n; i++)
        any |= is_large(v[i]) || ax_fsum_large(&STATE(stfavg, i)->sum);
    return any;
}

static bool scatter_favg(uint8_t *const *row, uint32_t off, uint32_t n, const double *v,
                         const uint8_t *skip)
{
    bool bad = false;

    if (!any_large(row, off, n, v))
        ax_fsum_scatter(row, off, n, v, skip); /* the sum comes first in the state */
    else
        for (uint32_t i = 0; i < n; i++)
            if (skip == NULL || !skip[i])
                bad |= add_large(STATE(stfavg, i), v[i]);
    return bad;
}

/* All values to the state of one row; false: not that simple. */
static bool add_to_one(uint8_t op, uint8_t *one, uint32_t off, uint32_t n, const double *v,
                       const uint8_t *skip)
{
    ax_fsum *s = (ax_fsum *) (void *) (one + off);

    if (op == AX_STEP_FAVG)
    {
        bool large = ax_fsum_large(s);

        for (uint32_t i = 0; i < n; i++)
            large |= is_large(v[i]);
        if (large)
            return false;
    }
    ax_fsum_add(s, n, v, skip);
    return true;
}

static bool scatter(uint8_t op, uint8_t *const *row, uint32_t off, uint32_t n, const double *v,
                    const uint8_t *skip)
{
    switch (op)
    {
        case AX_STEP_FSUM: ax_fsum_scatter(row, off, n, v, skip); return false;
        case AX_STEP_FAVG: return scatter_favg(row, off, n, v, skip);
        case AX_STEP_SUMF8: return scatter_sumf8(row, off, n, v, skip);
        default: return scatter_avg(row, off, n, v, skip);
    }
}

ax_status ax_step_update_float(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                               uint8_t *one, uint32_t n, const ax_step_in *in)
{
    const double *v = NULL, *x = NULL;
    bool bad;

    if (s->op == AX_STEP_SUMF4)
    {
        AX_TRY(ax_step_repeat(t, scratch, one, n, &row));
        bad = scatter_sumf4(row, s->off, n, (const float *) in->v.u.data, in->skip);
        return bad ? float_overflow(t) : AX_OK;
    }
    AX_TRY(as_f64(t, scratch, &in->v, n, &v));
    if (one != NULL && (s->op == AX_STEP_FSUM || s->op == AX_STEP_FAVG)
        && add_to_one(s->op, one, s->off, n, v, in->skip))
        return AX_OK;
    AX_TRY(ax_step_repeat(t, scratch, one, n, &row));
    if (s->op == AX_STEP_REGR)
    {
        AX_TRY(as_f64(t, scratch, &in->v2, n, &x));
        bad = scatter_regr(row, s->off, n, v, x, in->skip);
    }
    else
        bad = scatter(s->op, row, s->off, n, v, in->skip);
    return bad ? float_overflow(t) : AX_OK;
}

/* ---- merges ---------------------------------------------------------------------------------- */

/* As the server's float8_combine. */
static bool merge_avg(stavg *a, const stavg *b)
{
    double n = a->n + b->n, tmp, sx, sxx;
    bool bad;

    if (b->n == 0)
        return false;
    if (a->n == 0)
    {
        *a = *b;
        return false;
    }
    sx = a->sx + b->sx;
    bad = isinf(sx) && !isinf(a->sx) && !isinf(b->sx);
    tmp = a->sx / a->n - b->sx / b->n;
    sxx = a->sxx + b->sxx + a->n * b->n * tmp * tmp / n;
    bad |= isinf(sxx) && !isinf(a->sxx) && !isinf(b->sxx);
    *a = (stavg){n, sx, sxx};
    return bad;
}

static bool merge_sumf4(stf4 *a, const stf4 *b)
{
    float r;
    bool bad;

    if (!b->seen)
        return false;
    r = a->seen ? a->sum + b->sum : b->sum;
    bad = isinf(r) && !isinf(a->sum) && !isinf(b->sum);
    *a = (stf4){r, 1};
    return bad;
}

static bool merge_sumf8(stf8 *a, const stf8 *b)
{
    double r = a->n == 0 ? b->sum : b->n == 0 ? a->sum : a->sum + b->sum;
    bool bad = isinf(r) && !isinf(a->sum) && !isinf(b->sum);

    *a = (stf8){r, a->n + b->n};
    return bad;
}

static bool merge_favg(stfavg *a, const stfavg *b)
{
    double na = (double) ax_fsum_count(&a->sum), nb = (double) ax_fsum_count(&b->sum), tmp;

    a->sxx += b->sxx;
    if (na > 0 && nb > 0 && (ax_fsum_large(&a->sum) || ax_fsum_large(&b->sum)))
    {
        tmp = ax_fsum_result(&a->sum) / na - ax_fsum_result(&b->sum) / nb;
        a->sxx += na * nb * tmp * tmp / (na + nb);
    }
    ax_fsum_merge(&a->sum, &b->sum);
    return isinf(a->sxx) && !ax_fsum_special(&a->sum);
}

/* The part of float8_regr_combine that one pair of sums takes; false: overflow. */
static bool merge_product(double *a, double b, double n1, double n2, double t1, double t2)
{
    double r = *a + b + n1 * n2 * t1 * t2 / (n1 + n2);
    bool bad = isinf(r) && !isinf(*a) && !isinf(b);

    *a = r;
    return bad;
}

static bool merge_regr(stregr *a, const stregr *b)
{
    double tx, ty, sx, sy;
    bool bad;

    if (b->n == 0)
        return false;
    if (a->n == 0)
    {
        *a = *b;
        return false;
    }
    tx = a->sx / a->n - b->sx / b->n;
    ty = a->sy / a->n - b->sy / b->n;
    sx = a->sx + b->sx;
    sy = a->sy + b->sy;
    bad = (isinf(sx) && !isinf(a->sx) && !isinf(b->sx))
       || (isinf(sy) && !isinf(a->sy) && !isinf(b->sy));
    bad |= merge_product(&a->sxx, b->sxx, a->n, b->n, tx, tx);
    bad |= merge_product(&a->syy, b->syy, a->n, b->n, ty, ty);
    bad |= merge_product(&a->sxy, b->sxy, a->n, b->n, tx, ty);
    a->sx = sx;
    a->sy = sy;
    a->n += b->n;
    return bad;
}

ax_status ax_step_merge_float(ax_task *t, uint8_t op, void *a, const void *b)
{
    bool bad;

    switch (op)
    {
        case AX_STEP_SUMF4: bad = merge_sumf4((stf4 *) a, (const stf4 *) b); break;
        case AX_STEP_SUMF8: bad = merge_sumf8((stf8 *) a, (const stf8 *) b); break;
        case AX_STEP_FSUM:
            ax_fsum_merge((ax_fsum *) a, (const ax_fsum *) b);
            return AX_OK;
        case AX_STEP_FAVG: bad = merge_favg((stfavg *) a, (const stfavg *) b); break;
        case AX_STEP_AVGF: bad = merge_avg((stavg *) a, (const stavg *) b); break;
        default: bad = merge_regr((stregr *) a, (const stregr *) b); break;
    }
    return bad ? float_overflow(t) : AX_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

uint64_t ax_step_count_float(uint8_t op, const void *st)
{
    switch (op)
    {
        case AX_STEP_SUMF4: return ((const stf4 *) st)->seen;
        case AX_STEP_SUMF8: return ((const stf8 *) st)->n;
        case AX_STEP_FSUM:
        case AX_STEP_FAVG: return ax_fsum_count((const ax_fsum *) st);
        case AX_STEP_AVGF: return (uint64_t) ((const stavg *) st)->n;
        default: return (uint64_t) ((const stregr *) st)->n;
    }
}

static double spread(uint8_t agg, const stavg *s)
{
    switch (agg)
    {
        case AX_AGG_VAR_POP: return s->sxx / s->n;
        case AX_AGG_VAR_SAMP: return s->sxx / (s->n - 1);
        case AX_AGG_STDDEV_POP: return sqrt(s->sxx / s->n);
        case AX_AGG_STDDEV_SAMP: return sqrt(s->sxx / (s->n - 1));
        default: return s->sx / s->n;
    }
}

/* false: null */
static bool regression(uint8_t agg, const stregr *s, double *out)
{
    switch (agg)
    {
        case AX_AGG_CORR: *out = s->sxy / sqrt(s->sxx * s->syy); return s->sxx != 0 && s->syy != 0;
        case AX_AGG_COVAR_POP: *out = s->sxy / s->n; return true;
        case AX_AGG_COVAR_SAMP: *out = s->sxy / (s->n - 1); return s->n >= 2;
        case AX_AGG_REGR_AVGX: *out = s->sx / s->n; return true;
        case AX_AGG_REGR_AVGY: *out = s->sy / s->n; return true;
        case AX_AGG_REGR_SXX: *out = s->sxx; return true;
        case AX_AGG_REGR_SXY: *out = s->sxy; return true;
        case AX_AGG_REGR_SYY: *out = s->syy; return true;
        case AX_AGG_REGR_SLOPE: *out = s->sxy / s->sxx; return s->sxx != 0;
        case AX_AGG_REGR_INTERCEPT:
            *out = (s->sy - s->sx * s->sxy / s->sxx) / s->n;
            return s->sxx != 0;
        default: /* regr_r2: a horizontal line fits */
            *out = s->syy == 0 ? 1 : s->sxy * s->sxy / (s->sxx * s->syy);
            return s->sxx != 0;
    }
}

ax_status ax_step_result_float(ax_task *t, uint8_t op, uint8_t agg, const void *st, void *out,
                               uint32_t i, uint8_t *null)
{
    bool sample = agg == AX_AGG_VAR_SAMP || agg == AX_AGG_STDDEV_SAMP;
    double sum;

    if (ax_step_count_float(op, st) < (sample ? 2 : 1))
    {
        *null = 1;
        return AX_OK;
    }
    switch (op)
    {
        case AX_STEP_SUMF4: ((float *) out)[i] = ((const stf4 *) st)->sum; return AX_OK;
        case AX_STEP_SUMF8: ((double *) out)[i] = ((const stf8 *) st)->sum; return AX_OK;
        case AX_STEP_FSUM:
        case AX_STEP_FAVG:
            sum = ax_fsum_result((const ax_fsum *) st);
            if (isinf(sum) && !ax_fsum_special((const ax_fsum *) st))
                return float_overflow(t);
            ((double *) out)[i] = agg == AX_AGG_SUM
                                      ? sum : sum / (double) ax_fsum_count((const ax_fsum *) st);
            return AX_OK;
        case AX_STEP_AVGF: ((double *) out)[i] = spread(agg, (const stavg *) st); return AX_OK;
        default: *null = !regression(agg, (const stregr *) st, (double *) out + i); return AX_OK;
    }
}
