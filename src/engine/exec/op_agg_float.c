/* States of aggregates of floats: sums, the server's Youngs-Cramer states of one and of two
 * arguments, and what is computed from them (float.c: float8_accum, float8_combine,
 * float8_regr_accum, float8_regr_combine and the final functions). */
#include "exec/agg_int.h"

#include <math.h>

typedef struct stf4 { float sum; uint32_t seen; } stf4;
typedef struct stf8 { double sum; uint64_t n; } stf8;
typedef struct stavg { double n, sx, sxx; } stavg;
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

#define LANES 8u

/* Eight partial sums; false: something is not finite, add one by one to see whose fault it is. */
static bool fast_sumf8(stf8 *s, uint32_t n, const double *v)
{
    double part[LANES] = {0}, sum = s->n ? s->sum : 0;
    uint32_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (uint32_t k = 0; k < LANES; k++)
            part[k] += v[i + k];
    for (; i < n; i++)
        part[0] += v[i];
    for (uint32_t k = 0; k < LANES; k++)
        sum += part[k];
    if (!isfinite(sum) || (n > 0 && sum == 0)) /* the sum of -0 alone is -0 */
        return false;
    s->sum = sum;
    s->n += n;
    return true;
}

ax_status ax_step_update_float(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                               uint8_t *one, uint32_t n, const ax_step_in *in)
{
    const double *v = NULL, *x = NULL;
    bool bad;

    if (s->op == AX_STEP_SUMF8 && one != NULL && in->skip == NULL && !s->strict
        && fast_sumf8((stf8 *) (void *) (one + s->off), n, (const double *) in->v.u.data))
        return AX_OK;
    AX_TRY(ax_step_repeat(t, scratch, one, n, &row));
    if (s->op == AX_STEP_SUMF4)
        bad = scatter_sumf4(row, s->off, n, (const float *) in->v.u.data, in->skip);
    else if (s->op == AX_STEP_REGR)
    {
        AX_TRY(as_f64(t, scratch, &in->v, n, &v));
        AX_TRY(as_f64(t, scratch, &in->v2, n, &x));
        bad = scatter_regr(row, s->off, n, v, x, in->skip);
    }
    else
    {
        AX_TRY(as_f64(t, scratch, &in->v, n, &v));
        bad = s->op == AX_STEP_SUMF8 ? scatter_sumf8(row, s->off, n, v, in->skip)
                                     : scatter_avg(row, s->off, n, v, in->skip);
    }
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

bool ax_step_result_float(uint8_t op, uint8_t agg, const void *st, void *out, uint32_t i)
{
    bool sample = agg == AX_AGG_VAR_SAMP || agg == AX_AGG_STDDEV_SAMP;

    if (ax_step_count_float(op, st) < (sample ? 2 : 1))
        return false;
    switch (op)
    {
        case AX_STEP_SUMF4: ((float *) out)[i] = ((const stf4 *) st)->sum; return true;
        case AX_STEP_SUMF8: ((double *) out)[i] = ((const stf8 *) st)->sum; return true;
        case AX_STEP_AVGF: ((double *) out)[i] = spread(agg, (const stavg *) st); return true;
        default: return regression(agg, (const stregr *) st, (double *) out + i);
    }
}
