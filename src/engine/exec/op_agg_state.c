/* States of aggregates: updates, merges and results.
 *
 * Updates come in two forms: scattered (each value has its group's row) and into one row (no keys,
 * constant keys), which keeps the state in registers and lets the compiler vectorise.  Integers
 * of all widths are widened to int64 first, so that one loop serves them all. */
#include "exec/agg_int.h"

#include <math.h>
#include <string.h>

typedef struct st64 { int64_t sum; uint64_t n; } st64;
typedef struct st128 { uint64_t lo; int64_t hi; uint64_t n; } st128;
typedef struct stf4 { float sum; uint32_t seen; } stf4;
typedef struct stf8 { double sum; uint64_t n; } stf8;
typedef struct stavg { double n, sx, sxx; } stavg;
typedef struct stext { int64_t v; uint64_t seen; } stext;
typedef struct ststr { uint64_t head; const uint8_t *p; uint32_t len, room; } ststr;

uint32_t ax_step_bytes(uint8_t op)
{
    switch (op)
    {
        case AX_STEP_ROWS:
        case AX_STEP_COUNT:
        case AX_STEP_SUMF4: return 8;
        case AX_STEP_SUM128:
        case AX_STEP_AVGF:
        case AX_STEP_MINSTR:
        case AX_STEP_MAXSTR: return 24;
        default: return 16;
    }
}

/* ---- argument values ------------------------------------------------------------------------- */

#define WIDEN(T)                                                                                   \
    for (uint32_t i = 0; i < n; i++)                                                               \
    o[i] = ((const T *) v->u.data)[i]

/* Values as int64, floats in order form; int8 and the like without a copy. */
static ax_status as_i64(ax_task *t, ax_arena *scratch, const ax_vec *v, uint32_t n,
                        const int64_t **out)
{
    int64_t *o;

    if (v->type.phys == AX_P_I64)
    {
        *out = (const int64_t *) v->u.data;
        return AX_OK;
    }
    AX_NEW(t, o, ax_arena_values(scratch, sizeof(*o) * n));
    *out = o;
    switch (v->type.phys)
    {
        case AX_P_U8: WIDEN(uint8_t); break;
        case AX_P_I16: WIDEN(int16_t); break;
        case AX_P_I32: WIDEN(int32_t); break;
        case AX_P_F32:
            for (uint32_t i = 0; i < n; i++)
                o[i] = ax_f64_order((double) ((const float *) v->u.data)[i]);
            break;
        case AX_P_F64:
            for (uint32_t i = 0; i < n; i++)
                o[i] = ax_f64_order(((const double *) v->u.data)[i]);
            break;
        default:
            return ax_fail(t, AX_EUNSUPPORTED, "type %s cannot be aggregated",
                           ax_type_name(v->type.id));
    }
    return AX_OK;
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

static ax_status out_of_range(ax_task *t) { return ax_fail(t, AX_ERANGE, "bigint out of range"); }

static ax_status float_overflow(ax_task *t)
{
    return ax_fail(t, AX_ERANGE, "value out of range: overflow");
}

/* ---- scattered updates ----------------------------------------------------------------------- */

#define STATE(T, i) ((T *) (void *) (row[i] + off))

static void scatter_count(uint8_t *const *row, uint32_t off, uint32_t n, const uint8_t *skip)
{
    if (skip == NULL)
        for (uint32_t i = 0; i < n; i++)
            ++*STATE(uint64_t, i);
    else
        for (uint32_t i = 0; i < n; i++)
            *STATE(uint64_t, i) += skip[i] == 0;
}

static bool scatter_sum64(uint8_t *const *row, uint32_t off, uint32_t n, const int64_t *v,
                          const uint8_t *skip)
{
    bool bad = false;

    for (uint32_t i = 0; i < n; i++)
    {
        st64 *s = STATE(st64, i);

        if (skip != NULL && skip[i])
            continue;
        bad |= __builtin_add_overflow(s->sum, v[i], &s->sum);
        s->n++;
    }
    return bad;
}

static inline void add128(st128 *s, int64_t v)
{
    uint64_t lo = s->lo + (uint64_t) v;

    s->hi += (v >> 63) + (int64_t) (lo < s->lo);
    s->lo = lo;
}

static void scatter_sum128(uint8_t *const *row, uint32_t off, uint32_t n, const int64_t *v,
                           const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
    {
        st128 *s = STATE(st128, i);

        if (skip != NULL && skip[i])
            continue;
        add128(s, v[i]);
        s->n++;
    }
}

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

static void scatter_min(uint8_t *const *row, uint32_t off, uint32_t n, const int64_t *v,
                        const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
    {
        stext *s = STATE(stext, i);

        if ((skip == NULL || !skip[i]) && (v[i] < s->v || !s->seen))
            *s = (stext){v[i], 1};
    }
}

static void scatter_max(uint8_t *const *row, uint32_t off, uint32_t n, const int64_t *v,
                        const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
    {
        stext *s = STATE(stext, i);

        if ((skip == NULL || !skip[i]) && (v[i] > s->v || !s->seen))
            *s = (stext){v[i], 1};
    }
}

/* First eight bytes as a big-endian number: orders as memcmp does as far as it reaches. */
static inline uint64_t str_head(const uint8_t *p, uint32_t len)
{
    uint64_t h = 0;

    if (len > 0)
        memcpy(&h, p, len < 8 ? len : 8);
    return __builtin_bswap64(h);
}

static inline bool str_better(const ststr *s, uint64_t head, const uint8_t *p, uint32_t len,
                              bool max)
{
    if (s->p == NULL)
        return true;
    if (head != s->head)
        return (head > s->head) == max;
    return max ? ax_bytes_cmp(p, len, s->p, s->len) > 0 : ax_bytes_cmp(p, len, s->p, s->len) < 0;
}

static ax_status str_take(ax_task *t, ax_arena *mem, ststr *s, uint64_t head, const uint8_t *p,
                          uint32_t len)
{
    if (s->p == NULL || len > s->room)
    {
        /* Twice the room, so that a sequence of longer and longer values wastes little. */
        uint32_t room = s->p == NULL ? len : 2 * len;

        AX_NEW(t, s->p, ax_arena_alloc(mem, room));
        s->room = room;
    }
    if (len > 0)
        memcpy((uint8_t *) (uintptr_t) s->p, p, len);
    s->head = head;
    s->len = len;
    return AX_OK;
}

static ax_status update_str(ax_task *t, ax_arena *mem, uint8_t *const *row, uint8_t *one,
                            uint32_t off, uint32_t n, const ax_step_in *in, bool max)
{
    for (uint32_t i = 0; i < n; i++)
    {
        ststr *s = (ststr *) (void *) ((one ? one : row[i]) + off);
        const uint8_t *p;
        uint32_t len;
        uint64_t head;

        if (in->skip != NULL && in->skip[i])
            continue;
        p = ax_vec_str(&in->v, i, &len);
        head = str_head(p, len);
        if (str_better(s, head, p, len, max))
            AX_TRY(str_take(t, mem, s, head, p, len));
    }
    return AX_OK;
}

/* ---- updates of one row ---------------------------------------------------------------------- */

static uint64_t count_kept(const uint8_t *skip, uint32_t n)
{
    uint32_t skipped = 0;

    for (uint32_t i = 0; skip != NULL && i < n; i++)
        skipped += skip[i];
    return n - skipped;
}

#define SUM_NARROW(T)                                                                              \
    do                                                                                             \
    {                                                                                              \
        const T *d_ = (const T *) v->u.data;                                                       \
        if (skip == NULL)                                                                          \
            for (uint32_t i = 0; i < n; i++)                                                       \
                sum += d_[i];                                                                      \
        else                                                                                       \
            for (uint32_t i = 0; i < n; i++)                                                       \
                sum += skip[i] ? 0 : d_[i];                                                        \
    } while (0)

/* 2048 values of 32 bits cannot overflow 64. */
static bool one_sum64(st64 *s, uint32_t n, const ax_vec *v, const uint8_t *skip)
{
    int64_t sum = 0;

    if (v->type.phys == AX_P_I16)
        SUM_NARROW(int16_t);
    else
        SUM_NARROW(int32_t);
    s->n += count_kept(skip, n);
    return __builtin_add_overflow(s->sum, sum, &s->sum);
}

/* Low and high halves are summed apart, which vectorises, and put together once. */
static void one_sum128(st128 *s, uint32_t n, const int64_t *v, const uint8_t *skip)
{
    uint64_t lo = 0;
    int64_t hi = 0;
    ax_i128 sum;

    if (skip == NULL)
        for (uint32_t i = 0; i < n; i++)
        {
            lo += (uint32_t) v[i];
            hi += v[i] >> 32;
        }
    else
        for (uint32_t i = 0; i < n; i++)
        {
            int64_t x = skip[i] ? 0 : v[i];

            lo += (uint32_t) x;
            hi += x >> 32;
        }
    sum = (ax_i128) ((ax_u128) (ax_i128) hi << 32) + (ax_i128) lo;
    sum += (ax_i128) ((ax_u128) (ax_i128) s->hi << 64 | s->lo);
    s->lo = (uint64_t) sum;
    s->hi = (int64_t) (sum >> 64);
    s->n += count_kept(skip, n);
}

static void one_extreme(stext *s, uint32_t n, const int64_t *v, const uint8_t *skip, bool max)
{
    int64_t best = max ? INT64_MIN : INT64_MAX;

    if (count_kept(skip, n) == 0)
        return;
    if (max)
        for (uint32_t i = 0; i < n; i++)
        {
            int64_t x = skip != NULL && skip[i] ? INT64_MIN : v[i];

            best = x > best ? x : best;
        }
    else
        for (uint32_t i = 0; i < n; i++)
        {
            int64_t x = skip != NULL && skip[i] ? INT64_MAX : v[i];

            best = x < best ? x : best;
        }
    if (!s->seen || (max ? best > s->v : best < s->v))
        *s = (stext){best, 1};
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

/* ---- dispatch -------------------------------------------------------------------------------- */

/* A list of n times the same row, for steps without a loop of their own for one row. */
static ax_status repeat_row(ax_task *t, ax_arena *scratch, uint8_t *one, uint32_t n,
                            uint8_t *const **row)
{
    uint8_t **r;

    AX_NEW(t, r, ax_arena_values(scratch, sizeof(*r) * n));
    for (uint32_t i = 0; i < n; i++)
        r[i] = one;
    *row = r;
    return AX_OK;
}

static ax_status update_int(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                            uint8_t *one, uint32_t n, const ax_step_in *in)
{
    void *st = one != NULL ? one + s->off : NULL;
    const int64_t *v = NULL;

    if (s->op == AX_STEP_SUM64 && one != NULL)
        return one_sum64((st64 *) st, n, &in->v, in->skip) ? out_of_range(t) : AX_OK;
    AX_TRY(as_i64(t, scratch, &in->v, n, &v));
    switch (s->op)
    {
        case AX_STEP_SUM64:
            return scatter_sum64(row, s->off, n, v, in->skip) ? out_of_range(t) : AX_OK;
        case AX_STEP_SUM128:
            if (one != NULL)
                one_sum128((st128 *) st, n, v, in->skip);
            else
                scatter_sum128(row, s->off, n, v, in->skip);
            break;
        case AX_STEP_MIN64:
            if (one != NULL)
                one_extreme((stext *) st, n, v, in->skip, false);
            else
                scatter_min(row, s->off, n, v, in->skip);
            break;
        default:
            if (one != NULL)
                one_extreme((stext *) st, n, v, in->skip, true);
            else
                scatter_max(row, s->off, n, v, in->skip);
            break;
    }
    return AX_OK;
}

static ax_status update_float(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                              uint8_t *one, uint32_t n, const ax_step_in *in)
{
    const double *v = NULL;
    bool bad;

    if (s->op == AX_STEP_SUMF8 && one != NULL && in->skip == NULL && !s->strict
        && fast_sumf8((stf8 *) (void *) (one + s->off), n, (const double *) in->v.u.data))
        return AX_OK;
    if (one != NULL)
        AX_TRY(repeat_row(t, scratch, one, n, &row));
    if (s->op == AX_STEP_SUMF4)
        bad = scatter_sumf4(row, s->off, n, (const float *) in->v.u.data, in->skip);
    else
    {
        AX_TRY(as_f64(t, scratch, &in->v, n, &v));
        bad = s->op == AX_STEP_SUMF8 ? scatter_sumf8(row, s->off, n, v, in->skip)
                                     : scatter_avg(row, s->off, n, v, in->skip);
    }
    return bad ? float_overflow(t) : AX_OK;
}

ax_status ax_step_update(ax_task *t, const ax_step *s, ax_arena *scratch, ax_arena *mem,
                         uint8_t *const *row, uint8_t *one, uint32_t n, const ax_step_in *in)
{
    switch (s->op)
    {
        case AX_STEP_ROWS:
        case AX_STEP_COUNT:
            if (one != NULL)
                *(uint64_t *) (void *) (one + s->off) += count_kept(in->skip, n);
            else
                scatter_count(row, s->off, n, in->skip);
            return AX_OK;
        case AX_STEP_SUMF4:
        case AX_STEP_SUMF8:
        case AX_STEP_AVGF:
            return update_float(t, s, scratch, row, one, n, in);
        case AX_STEP_MINSTR:
        case AX_STEP_MAXSTR:
            return update_str(t, mem, row, one, s->off, n, in, s->op == AX_STEP_MAXSTR);
        default:
            return update_int(t, s, scratch, row, one, n, in);
    }
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

static bool merge_sum64(st64 *a, const st64 *b)
{
    a->n += b->n;
    return __builtin_add_overflow(a->sum, b->sum, &a->sum);
}

static void merge_sum128(st128 *a, const st128 *b)
{
    uint64_t lo = a->lo + b->lo;

    a->hi += b->hi + (int64_t) (lo < a->lo);
    a->lo = lo;
    a->n += b->n;
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

static void merge_extreme(stext *a, const stext *b, bool max)
{
    if (b->seen && (!a->seen || (max ? b->v > a->v : b->v < a->v)))
        *a = *b;
}

static void merge_str(ststr *a, const ststr *b, bool max)
{
    if (b->p != NULL && str_better(a, b->head, b->p, b->len, max))
        *a = *b;
}

static bool merge_one(uint8_t op, void *a, const void *b)
{
    switch (op)
    {
        case AX_STEP_SUM64: return merge_sum64((st64 *) a, (const st64 *) b);
        case AX_STEP_SUM128: merge_sum128((st128 *) a, (const st128 *) b); break;
        case AX_STEP_SUMF4: return merge_sumf4((stf4 *) a, (const stf4 *) b);
        case AX_STEP_SUMF8: return merge_sumf8((stf8 *) a, (const stf8 *) b);
        case AX_STEP_AVGF: return merge_avg((stavg *) a, (const stavg *) b);
        case AX_STEP_MIN64: merge_extreme((stext *) a, (const stext *) b, false); break;
        case AX_STEP_MAX64: merge_extreme((stext *) a, (const stext *) b, true); break;
        case AX_STEP_MINSTR: merge_str((ststr *) a, (const ststr *) b, false); break;
        case AX_STEP_MAXSTR: merge_str((ststr *) a, (const ststr *) b, true); break;
        default: *(uint64_t *) a += *(const uint64_t *) b; break;
    }
    return false;
}

ax_status ax_step_merge(ax_task *t, const ax_step *s, uint8_t *const *dst, uint8_t *const *src,
                        uint32_t n)
{
    bool bad = false;
    uint32_t off = s->off;

    if (s->op == AX_STEP_ROWS || s->op == AX_STEP_COUNT)
        for (uint32_t i = 0; i < n; i++)
            *(uint64_t *) (void *) (dst[i] + off) += *(uint64_t *) (void *) (src[i] + off);
    else
        for (uint32_t i = 0; i < n; i++)
            bad |= merge_one(s->op, dst[i] + off, src[i] + off);
    if (!bad)
        return AX_OK;
    return s->op == AX_STEP_SUM64 ? out_of_range(t) : float_overflow(t);
}

/* ---- results --------------------------------------------------------------------------------- */

static uint64_t state_count(uint8_t op, const void *st)
{
    switch (op)
    {
        case AX_STEP_SUM64: return ((const st64 *) st)->n;
        case AX_STEP_SUM128: return ((const st128 *) st)->n;
        case AX_STEP_SUMF4: return ((const stf4 *) st)->seen;
        case AX_STEP_SUMF8: return ((const stf8 *) st)->n;
        case AX_STEP_AVGF: return (uint64_t) ((const stavg *) st)->n;
        case AX_STEP_MIN64:
        case AX_STEP_MAX64: return ((const stext *) st)->seen;
        case AX_STEP_MINSTR:
        case AX_STEP_MAXSTR: return ((const ststr *) st)->p != NULL;
        default: return *(const uint64_t *) st;
    }
}

static ax_i128 state_sum(uint8_t op, const void *st)
{
    const st128 *s = (const st128 *) st;

    if (op == AX_STEP_SUM64)
        return ((const st64 *) st)->sum;
    return (ax_i128) ((ax_u128) (ax_i128) s->hi << 64 | s->lo);
}

static void store_i64(ax_phys p, void *out, uint32_t i, int64_t v)
{
    switch (p)
    {
        case AX_P_U8: ((uint8_t *) out)[i] = (uint8_t) v; break;
        case AX_P_I16: ((int16_t *) out)[i] = (int16_t) v; break;
        case AX_P_I32: ((int32_t *) out)[i] = (int32_t) v; break;
        case AX_P_F32: ((float *) out)[i] = (float) ax_f64_unorder(v); break;
        case AX_P_F64: ((double *) out)[i] = ax_f64_unorder(v); break;
        default: ((int64_t *) out)[i] = v; break;
    }
}

/* Result i of a state that has seen values. */
static void result_one(const ax_step *s, uint8_t agg, ax_type type, const void *st, void *out,
                       uint32_t i)
{
    switch (s->op)
    {
        case AX_STEP_SUM64:
            if (agg == AX_AGG_SUM)
                ((int64_t *) out)[i] = ((const st64 *) st)->sum;
            else
                ((ax_num *) out)[i] = ax_num_avg(state_sum(s->op, st), state_count(s->op, st));
            break;
        case AX_STEP_SUM128:
            ((ax_num *) out)[i] = agg == AX_AGG_SUM
                ? (ax_num){.v = state_sum(s->op, st)}
                : ax_num_avg(state_sum(s->op, st), state_count(s->op, st));
            break;
        case AX_STEP_SUMF4: ((float *) out)[i] = ((const stf4 *) st)->sum; break;
        case AX_STEP_SUMF8: ((double *) out)[i] = ((const stf8 *) st)->sum; break;
        case AX_STEP_AVGF:
            ((double *) out)[i] = ((const stavg *) st)->sx / ((const stavg *) st)->n;
            break;
        default: store_i64(type.phys, out, i, ((const stext *) st)->v); break;
    }
}

static ax_status result_str(ax_task *t, ax_arena *a, uint32_t off, uint8_t *const *row, uint32_t n,
                            ax_vec *out)
{
    const uint8_t **ptr;
    uint32_t *len;

    AX_NEW(t, ptr, ax_arena_values(a, sizeof(*ptr) * n));
    AX_NEW(t, len, ax_arena_values(a, sizeof(*len) * n));
    for (uint32_t i = 0; i < n; i++)
    {
        const ststr *s = (const ststr *) (void *) (row[i] + off);

        ptr[i] = s->p;
        len[i] = s->p != NULL ? s->len : 0;
    }
    out->kind = AX_VK_VIEW;
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

ax_status ax_step_result(ax_task *t, ax_arena *a, const ax_step *s, uint8_t agg, ax_type result,
                         uint8_t *const *row, uint32_t n, ax_vec *out)
{
    uint32_t width = ax_phys_width(result.phys);
    uint8_t any = 0;

    *out = (ax_vec){.kind = AX_VK_FLAT, .type = result, .n = n};
    if (agg == AX_AGG_COUNT || agg == AX_AGG_COUNT_STAR)
    {
        AX_NEW(t, out->u.data, ax_arena_values(a, sizeof(int64_t) * n));
        for (uint32_t i = 0; i < n; i++)
            ((int64_t *) out->u.data)[i] = (int64_t) state_count(s->op, row[i] + s->off);
        return AX_OK;
    }
    AX_NEW(t, out->null, ax_arena_values(a, n));
    for (uint32_t i = 0; i < n; i++)
        any |= out->null[i] = state_count(s->op, row[i] + s->off) == 0;
    if (ax_type_is_str(result))
        AX_TRY(result_str(t, a, s->off, row, n, out));
    else
    {
        AX_NEW(t, out->u.data, ax_arena_values(a, (size_t) width * n));
        for (uint32_t i = 0; i < n; i++)
            if (out->null[i])
                memset((uint8_t *) out->u.data + (size_t) width * i, 0, width);
            else
                result_one(s, agg, result, row[i] + s->off, out->u.data, i);
    }
    if (!any)
        out->null = NULL;
    return AX_OK;
}
