/* States of aggregates: updates, merges and results.  Counts, sums of integers and bits are here;
 * the other families of steps have files of their own (agg_int.h).
 *
 * Updates come in two forms: scattered (each value has its group's row) and into one row (no keys,
 * constant keys), which keeps the state in registers and lets the compiler vectorise.  Integers
 * of all widths are widened to int64 first, so that one loop serves them all. */
#include "exec/agg_int.h"

#include <string.h>

typedef struct st64 { int64_t sum; uint64_t n; } st64;
typedef struct st128 { uint64_t lo; int64_t hi; uint64_t n; } st128;
typedef struct stbits { int64_t v; uint64_t n; } stbits;

/* ---- families -------------------------------------------------------------------------------- */

enum { FAMILY_COUNT, FAMILY_INT, FAMILY_FLOAT, FAMILY_NUM, FAMILY_KEEP };

static const struct { uint8_t bytes, family; } step_info[] = {
    [AX_STEP_ROWS] = {8, FAMILY_COUNT},    [AX_STEP_COUNT] = {8, FAMILY_COUNT},
    [AX_STEP_SUM64] = {16, FAMILY_INT},    [AX_STEP_SUM128] = {24, FAMILY_INT},
    [AX_STEP_BITAND] = {16, FAMILY_INT},   [AX_STEP_BITOR] = {16, FAMILY_INT},
    [AX_STEP_BITXOR] = {16, FAMILY_INT},   [AX_STEP_SUMF4] = {8, FAMILY_FLOAT},
    [AX_STEP_SUMF8] = {16, FAMILY_FLOAT},  [AX_STEP_AVGF] = {24, FAMILY_FLOAT},
    [AX_STEP_FSUM] = {64, FAMILY_FLOAT},   [AX_STEP_FAVG] = {72, FAMILY_FLOAT},
    [AX_STEP_REGR] = {48, FAMILY_FLOAT},   [AX_STEP_VARINT] = {48, FAMILY_NUM},
    [AX_STEP_SUMNUM] = {56, FAMILY_NUM},   [AX_STEP_VARNUM] = {96, FAMILY_NUM},
    [AX_STEP_MIN64] = {16, FAMILY_KEEP},   [AX_STEP_MAX64] = {16, FAMILY_KEEP},
    [AX_STEP_MINSTR] = {24, FAMILY_KEEP},  [AX_STEP_MAXSTR] = {24, FAMILY_KEEP},
    [AX_STEP_MINVAL] = {40, FAMILY_KEEP},  [AX_STEP_MAXVAL] = {40, FAMILY_KEEP},
};

uint32_t ax_step_bytes(uint8_t op) { return step_info[op].bytes; }

/* ---- argument values ------------------------------------------------------------------------- */

#define WIDEN(T)                                                                                   \
    for (uint32_t i = 0; i < n; i++)                                                               \
    o[i] = ((const T *) v->u.data)[i]

ax_status ax_step_i64(ax_task *t, ax_arena *scratch, const ax_vec *v, uint32_t n,
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

static ax_status out_of_range(ax_task *t) { return ax_fail(t, AX_ERANGE, "bigint out of range"); }

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

static void scatter_bits(uint8_t op, uint8_t *const *row, uint32_t off, uint32_t n,
                         const int64_t *v, const uint8_t *skip)
{
    for (uint32_t i = 0; i < n; i++)
    {
        stbits *s = STATE(stbits, i);

        if (skip != NULL && skip[i])
            continue;
        if (op == AX_STEP_BITAND)
            s->v = s->n ? s->v & v[i] : v[i];
        else if (op == AX_STEP_BITOR)
            s->v |= v[i];
        else
            s->v ^= v[i];
        s->n = 1;
    }
}

/* ---- updates of one row ---------------------------------------------------------------------- */

uint64_t ax_step_kept(const uint8_t *skip, uint32_t n)
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
    s->n += ax_step_kept(skip, n);
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
    s->n += ax_step_kept(skip, n);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* A list of n times the same row, for steps without a loop of their own for one row. */
ax_status ax_step_repeat(ax_task *t, ax_arena *scratch, uint8_t *one, uint32_t n,
                         uint8_t *const **row)
{
    uint8_t **r;

    if (one == NULL)
        return AX_OK;
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
    AX_TRY(ax_step_i64(t, scratch, &in->v, n, &v));
    if (s->op == AX_STEP_SUM64)
        return scatter_sum64(row, s->off, n, v, in->skip) ? out_of_range(t) : AX_OK;
    if (s->op == AX_STEP_SUM128 && one != NULL)
        one_sum128((st128 *) st, n, v, in->skip);
    else if (s->op == AX_STEP_SUM128)
        scatter_sum128(row, s->off, n, v, in->skip);
    else
    {
        AX_TRY(ax_step_repeat(t, scratch, one, n, &row));
        scatter_bits(s->op, row, s->off, n, v, in->skip);
    }
    return AX_OK;
}

static ax_status update_keep(ax_task *t, const ax_step *s, ax_arena *scratch, ax_arena *mem,
                             uint8_t *const *row, uint8_t *one, uint32_t n, const ax_step_in *in)
{
    const int64_t *v = NULL;

    switch (s->op)
    {
        case AX_STEP_MINSTR:
        case AX_STEP_MAXSTR: return ax_step_update_str(t, s, mem, row, one, n, in);
        case AX_STEP_MINVAL:
        case AX_STEP_MAXVAL: ax_step_update_value(s, row, one, n, in); return AX_OK;
        default:
            AX_TRY(ax_step_i64(t, scratch, &in->v, n, &v));
            ax_step_update_extreme(s, row, one, n, v, in->skip);
            return AX_OK;
    }
}

ax_status ax_step_update(ax_task *t, const ax_step *s, ax_arena *scratch, ax_arena *mem,
                         uint8_t *const *row, uint8_t *one, uint32_t n, const ax_step_in *in)
{
    switch (step_info[s->op].family)
    {
        case FAMILY_COUNT:
            if (one != NULL)
                *(uint64_t *) (void *) (one + s->off) += ax_step_kept(in->skip, n);
            else
                scatter_count(row, s->off, n, in->skip);
            return AX_OK;
        case FAMILY_INT: return update_int(t, s, scratch, row, one, n, in);
        case FAMILY_FLOAT: return ax_step_update_float(t, s, scratch, row, one, n, in);
        case FAMILY_NUM: return ax_step_update_num(t, s, scratch, row, one, n, in);
        default: return update_keep(t, s, scratch, mem, row, one, n, in);
    }
}

/* ---- merges ---------------------------------------------------------------------------------- */

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

static void merge_bits(uint8_t op, stbits *a, const stbits *b)
{
    if (b->n == 0)
        return;
    if (op == AX_STEP_BITAND)
        a->v = a->n ? a->v & b->v : b->v;
    else if (op == AX_STEP_BITOR)
        a->v |= b->v;
    else
        a->v ^= b->v;
    a->n = 1;
}

static ax_status merge_int(ax_task *t, uint8_t op, void *a, const void *b)
{
    switch (op)
    {
        case AX_STEP_SUM64:
            return merge_sum64((st64 *) a, (const st64 *) b) ? out_of_range(t) : AX_OK;
        case AX_STEP_SUM128: merge_sum128((st128 *) a, (const st128 *) b); return AX_OK;
        default: merge_bits(op, (stbits *) a, (const stbits *) b); return AX_OK;
    }
}

ax_status ax_step_merge(ax_task *t, const ax_step *s, uint8_t *const *dst, uint8_t *const *src,
                        uint32_t n)
{
    uint8_t family = step_info[s->op].family;
    uint32_t off = s->off;

    for (uint32_t i = 0; i < n; i++)
        switch (family)
        {
            case FAMILY_COUNT:
                *(uint64_t *) (void *) (dst[i] + off) += *(uint64_t *) (void *) (src[i] + off);
                break;
            case FAMILY_INT: AX_TRY(merge_int(t, s->op, dst[i] + off, src[i] + off)); break;
            case FAMILY_FLOAT:
                AX_TRY(ax_step_merge_float(t, s->op, dst[i] + off, src[i] + off));
                break;
            case FAMILY_NUM: AX_TRY(ax_step_merge_num(t, s, dst[i] + off, src[i] + off)); break;
            default: ax_step_merge_keep(s, dst[i] + off, src[i] + off); break;
        }
    return AX_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Values that the state has seen, or for those that do not count, whether there were any. */
static uint64_t state_count(uint8_t op, const void *st)
{
    switch (step_info[op].family)
    {
        case FAMILY_COUNT: return *(const uint64_t *) st;
        case FAMILY_INT:
            return op == AX_STEP_SUM128 ? ((const st128 *) st)->n : ((const st64 *) st)->n;
        case FAMILY_FLOAT: return ax_step_count_float(op, st);
        case FAMILY_NUM: return *(const uint64_t *) st; /* all begin with it */
        default: return ax_step_count_keep(op, st);
    }
}

static ax_i128 state_sum(uint8_t op, const void *st)
{
    const st128 *s = (const st128 *) st;

    if (op == AX_STEP_SUM64)
        return ((const st64 *) st)->sum;
    return (ax_i128) ((ax_u128) (ax_i128) s->hi << 64 | s->lo);
}

static ax_status result_int(ax_task *t, uint8_t op, const ax_agg_arg *call, const void *st,
                            void *out, uint32_t i)
{
    if (op == AX_STEP_SUM64 || op == AX_STEP_SUM128)
        return ax_step_result_sum(t, call, state_sum(op, st), state_count(op, st), out, i);
    ax_step_store_i64((ax_phys) call->type.phys, out, i, ((const stbits *) st)->v);
    return AX_OK;
}

/* Result i of a state that has seen values. */
static ax_status result_one(ax_task *t, ax_arena *tmp, const ax_step *s, const ax_agg_arg *call,
                            const void *st, void *out, uint32_t i, uint8_t *null)
{
    switch (step_info[s->op].family)
    {
        case FAMILY_INT: return result_int(t, s->op, call, st, out, i);
        case FAMILY_FLOAT:
            return ax_step_result_float(t, s->op, call->agg, st, out, i, null);
        case FAMILY_NUM: return ax_step_result_num(t, tmp, s, call, st, out, i, null);
        default: ax_step_result_keep(s, call->type, st, out, i); return AX_OK;
    }
}

ax_status ax_step_result(ax_task *t, ax_arena *a, ax_arena *tmp, const ax_step *s,
                         const ax_agg_arg *call, uint8_t *const *row, uint32_t n, ax_vec *out)
{
    uint32_t width = ax_phys_width((ax_phys) call->type.phys);
    uint8_t agg = call->agg, any = 0;

    *out = (ax_vec){.kind = AX_VK_FLAT, .type = call->type, .n = n};
    if (agg == AX_AGG_COUNT || agg == AX_AGG_COUNT_STAR || agg == AX_AGG_REGR_COUNT)
    {
        AX_NEW(t, out->u.data, ax_arena_values(a, sizeof(int64_t) * n));
        for (uint32_t i = 0; i < n; i++)
            ((int64_t *) out->u.data)[i] = (int64_t) state_count(s->op, row[i] + s->off);
        return AX_OK;
    }
    AX_NEW(t, out->null, ax_arena_values(a, n));
    for (uint32_t i = 0; i < n; i++)
        out->null[i] = state_count(s->op, row[i] + s->off) == 0;
    if (ax_type_is_str(call->type))
        AX_TRY(ax_step_result_str(t, a, s->off, row, n, out));
    else
    {
        AX_NEW(t, out->u.data, ax_arena_values(a, (size_t) width * n));
        for (uint32_t i = 0; i < n; i++)
        {
            if (!out->null[i])
                AX_TRY(result_one(t, tmp, s, call, row[i] + s->off, out->u.data, i,
                                  &out->null[i]));
            if (out->null[i])
                memset((uint8_t *) out->u.data + (size_t) width * i, 0, width);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        any |= out->null[i];
    if (!any)
        out->null = NULL;
    return AX_OK;
}
