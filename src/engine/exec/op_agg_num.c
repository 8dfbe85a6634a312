/* States of exact numbers whose results are decimals: averages, deviations of integers, and all
 * aggregates of decimals (func/numeric_sum.h has the server's rules).
 *
 * Decimals are added up as integers, apart for each display scale.  Nearly always there is one: it
 * stands in the group's row; others are chained in the pool.
 *
 *      u64 count | u64 specials | next part, scale, used | sum, 3 words | squares, 5 (VARNUM) */
#include "exec/agg_int.h"

#include <string.h>

typedef struct numpart
{
    struct numpart *next;
    int16_t scale;
    bool used;
    uint64_t sum[AX_NUM_SUM_WORDS];
    uint64_t squares[AX_NUM_SQUARE_WORDS]; /* VARNUM only */
} numpart;

typedef struct stnum
{
    uint64_t n;          /* values, NaN and infinities among them */
    uint64_t special;    /* bits 1 << AX_NUM_*: what there was */
    numpart part;
} stnum;

typedef struct stint { uint64_t n, sum[2], squares[3]; } stint;

void *ax_agg_pool_alloc(ax_agg_pool *p, size_t bytes)
{
    void *m;

    pthread_mutex_lock(&p->lock);
    m = ax_arena_alloc0(p->arena, bytes);
    pthread_mutex_unlock(&p->lock);
    return m;
}

/* ---- averages of integers -------------------------------------------------------------------- */

/* First base-10000 digit of v > 0 and its position. */
static void first_digit(ax_u128 v, int32_t *weight, uint32_t *digit)
{
    *weight = 0;
    while (v >= 10000)
    {
        v /= 10000;
        ++*weight;
    }
    *digit = (uint32_t) v;
}

/* The server's select_div_scale for two integers: 16 significant digits, in steps of the
 * base-10000 digits that it computes with. */
static uint32_t div_scale(ax_u128 a, ax_u128 b)
{
    int32_t wa, wb, scale;
    uint32_t da, db;

    first_digit(a, &wa, &da);
    first_digit(b, &wb, &db);
    scale = 16 - 4 * (wa - wb - (da <= db));
    return scale > 0 ? (uint32_t) scale : 0;
}

ax_num ax_num_avg(ax_i128 sum, uint64_t count)
{
    ax_u128 a = sum < 0 ? -(ax_u128) sum : (ax_u128) sum;
    uint32_t scale = div_scale(a, count), left = scale;
    ax_u128 v = a / count, rest = a % count;

    /* The remainder is below 2^64, so 19 digits at a time stay below 2^128. */
    while (left > 0)
    {
        uint32_t step = left < 19 ? left : 19;
        ax_u128 pow = 1;

        for (uint32_t i = 0; i < step; i++)
            pow *= 10;
        v = v * pow + rest * pow / count;
        rest = rest * pow % count;
        left -= step;
    }
    v += rest >= count - rest; /* half away from zero */
    return (ax_num){.v = sum < 0 ? -(ax_i128) v : (ax_i128) v, .dscale = (int16_t) scale};
}

/* ---- updates --------------------------------------------------------------------------------- */

/* dst[0..n) += v, sign-extended */
static inline void add_signed(uint64_t *dst, uint32_t n, ax_i128 v)
{
    uint64_t sign = v < 0 ? UINT64_MAX : 0;
    ax_u128 carry = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        carry += (ax_u128) dst[i] + (i == 0 ? (uint64_t) v : i == 1 ? (uint64_t) (v >> 64) : sign);
        dst[i] = (uint64_t) carry;
        carry >>= 64;
    }
}

static inline void add_words(uint64_t *dst, uint32_t n, const uint64_t *v, uint32_t nv)
{
    ax_u128 carry = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        carry += (ax_u128) dst[i] + (i < nv ? v[i] : 0);
        dst[i] = (uint64_t) carry;
        carry >>= 64;
    }
}

static inline void add_square(uint64_t *dst, ax_i128 v)
{
    ax_u128 u = v < 0 ? -(ax_u128) v : (ax_u128) v, mid;
    uint64_t h = (uint64_t) (u >> 64), l = (uint64_t) u, w[4];

    /* u = h 2^64 + l, u^2 = h^2 2^128 + 2 h l 2^64 + l^2, and h l < 2^127 */
    mid = (ax_u128) h * l * 2;
    w[0] = (uint64_t) ((ax_u128) l * l);
    mid += (uint64_t) ((ax_u128) l * l >> 64);
    w[1] = (uint64_t) mid;
    u = (ax_u128) h * h + (mid >> 64);
    w[2] = (uint64_t) u;
    w[3] = (uint64_t) (u >> 64);
    add_words(dst, AX_NUM_SQUARE_WORDS, w, 4);
}

static inline void add_int(stint *s, int64_t v)
{
    ax_u128 square = (ax_u128) ((ax_i128) v * v);
    uint64_t w[2] = {(uint64_t) square, (uint64_t) (square >> 64)};

    s->n++;
    add_signed(s->sum, 2, v);
    add_words(s->squares, 3, w, 2);
}

/* The part of this scale; NULL: out of memory. */
static numpart *part_of(const ax_step *s, stnum *st, int16_t scale)
{
    numpart *p = &st->part;

    if (!p->used)
    {
        p->used = true;
        p->scale = scale;
    }
    while (p->scale != scale && p->next != NULL)
        p = p->next;
    if (p->scale == scale)
        return p;
    p->next = (numpart *) ax_agg_pool_alloc(s->pool, sizeof(*p));
    if (p->next == NULL)
        return NULL;
    p->next->used = true;
    p->next->scale = scale;
    return p->next;
}

static inline ax_status add_num(ax_task *t, const ax_step *s, stnum *st, const ax_num *v)
{
    numpart *p = &st->part;

    st->n++;
    if (v->special)
    {
        st->special |= (uint64_t) 1 << v->special;
        return AX_OK;
    }
    if (!p->used || p->scale != v->dscale)
        AX_NEW(t, p, part_of(s, st, v->dscale));
    add_signed(p->sum, AX_NUM_SUM_WORDS, v->v);
    if (s->op == AX_STEP_VARNUM)
        add_square(p->squares, v->v);
    return AX_OK;
}

ax_status ax_step_update_num(ax_task *t, const ax_step *s, ax_arena *scratch, uint8_t *const *row,
                             uint8_t *one, uint32_t n, const ax_step_in *in)
{
    const ax_num *d = (const ax_num *) in->v.u.data;
    const int64_t *v = NULL;

    if (s->op == AX_STEP_VARINT)
        AX_TRY(ax_step_i64(t, scratch, &in->v, n, &v));
    for (uint32_t i = 0; i < n; i++)
    {
        void *st = (one != NULL ? one : row[i]) + s->off;

        if (in->skip != NULL && in->skip[i])
            continue;
        if (s->op == AX_STEP_VARINT)
            add_int((stint *) st, v[i]);
        else
            AX_TRY(add_num(t, s, (stnum *) st, &d[i]));
    }
    return AX_OK;
}

/* ---- merges ---------------------------------------------------------------------------------- */

ax_status ax_step_merge_num(ax_task *t, const ax_step *s, void *a, const void *b)
{
    const stnum *from = (const stnum *) b;
    stnum *to = (stnum *) a;

    if (s->op == AX_STEP_VARINT)
    {
        const stint *y = (const stint *) b;
        stint *x = (stint *) a;

        x->n += y->n;
        add_words(x->sum, 2, y->sum, 2);
        add_words(x->squares, 3, y->squares, 3);
        return AX_OK;
    }
    to->n += from->n;
    to->special |= from->special;
    for (const numpart *p = &from->part; p != NULL && p->used; p = p->next)
    {
        numpart *q;

        AX_NEW(t, q, part_of(s, to, p->scale));
        add_words(q->sum, AX_NUM_SUM_WORDS, p->sum, AX_NUM_SUM_WORDS);
        if (s->op == AX_STEP_VARNUM)
            add_words(q->squares, AX_NUM_SQUARE_WORDS, p->squares, AX_NUM_SQUARE_WORDS);
    }
    return AX_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static ax_num_result result_of(uint8_t agg)
{
    switch (agg)
    {
        case AX_AGG_SUM: return AX_NUM_SUM;
        case AX_AGG_AVG: return AX_NUM_AVG;
        case AX_AGG_VAR_POP: return AX_NUM_VAR_POP;
        case AX_AGG_VAR_SAMP: return AX_NUM_VAR_SAMP;
        case AX_AGG_STDDEV_POP: return AX_NUM_STDDEV_POP;
        default: return AX_NUM_STDDEV_SAMP;
    }
}

/* What NaN and infinities make of a sum or an average; others are NaN. */
static ax_num special_result(uint64_t special, ax_num_result what)
{
    if (special == (uint64_t) 1 << AX_NUM_PINF && what <= AX_NUM_AVG)
        return (ax_num){.special = AX_NUM_PINF};
    if (special == (uint64_t) 1 << AX_NUM_NINF && what <= AX_NUM_AVG)
        return (ax_num){.special = AX_NUM_NINF};
    return (ax_num){.special = AX_NUM_NAN};
}

/* By the general rules; the digits of a wide result move to the pool. */
static ax_status exact(ax_task *t, ax_arena *tmp, const ax_step *s, const ax_num_part *part,
                       uint32_t n, uint64_t count, ax_num_result what, ax_num *out)
{
    AX_TRY(ax_num_aggregate(t, tmp, part, n, count, what, out));
    if (out->special == AX_NUM_WIDE)
    {
        const ax_num_wide *w = ax_num_wide_of(out);
        size_t bytes = sizeof(*w) + sizeof(w->digit[0]) * w->ndigits;
        void *keep;

        AX_NEW(t, keep, ax_agg_pool_alloc(s->pool, bytes));
        memcpy(keep, w, bytes);
        *out = ax_num_of_wide((const ax_num_wide *) keep, out->dscale);
    }
    return AX_OK;
}

/* A sum in three words that fits 128 bits, and further 38 digits? */
static bool narrow(const uint64_t *w, ax_i128 *out)
{
    const ax_i128 end = (ax_i128) UINT64_C(10000000000000000000) * UINT64_C(10000000000000000000);

    *out = (ax_i128) ((ax_u128) w[1] << 64 | w[0]);
    return w[2] == (*out < 0 ? UINT64_MAX : 0) && *out < end && *out > -end;
}

static ax_status result_dec(ax_task *t, ax_arena *tmp, const ax_step *s, const stnum *st,
                            ax_num_result what, ax_num *out)
{
    const numpart *p = &st->part;
    ax_num_part *part;
    uint32_t n = 0;
    ax_i128 sum;

    if (st->special != 0)
    {
        *out = special_result(st->special, what);
        return AX_OK;
    }
    if (what <= AX_NUM_AVG && p->next == NULL && narrow(p->sum, &sum))
    {
        *out = (ax_num){.v = sum, .dscale = p->scale};
        if (what == AX_NUM_SUM || ax_num_mean(sum, p->scale, (int64_t) st->n, out) == AX_OK)
            return AX_OK;
    }
    for (; p != NULL; p = p->next)
        n++;
    ax_arena_reset(tmp);
    AX_NEW(t, part, (ax_num_part *) ax_arena_alloc(tmp, sizeof(*part) * n));
    n = 0;
    for (p = &st->part; p != NULL; p = p->next)
    {
        part[n].scale = p->scale;
        part[n].sum = p->sum;
        part[n++].squares = s->op == AX_STEP_VARNUM ? p->squares : NULL;
    }
    return exact(t, tmp, s, part, n, st->n, what, out);
}

ax_status ax_step_result_sum(ax_task *t, const ax_agg_arg *call, ax_i128 sum, uint64_t count,
                             void *out, uint32_t i)
{
    sum += (ax_i128) call->add * (ax_i128) count;
    if (call->agg == AX_AGG_AVG)
        ((ax_num *) out)[i] = ax_num_avg(sum, count);
    else if (call->type.id == AX_T_NUMERIC)
        ((ax_num *) out)[i] = (ax_num){.v = sum};
    else
    {
        AX_CHECK(t, (int64_t) sum == sum, AX_ERANGE, "bigint out of range");
        ((int64_t *) out)[i] = (int64_t) sum;
    }
    return AX_OK;
}

static ax_status result_int(ax_task *t, ax_arena *tmp, const ax_step *s, const ax_agg_arg *call,
                            const stint *st, ax_num_result what, void *out, uint32_t i)
{
    ax_i128 sum = (ax_i128) ((ax_u128) st->sum[1] << 64 | st->sum[0]);
    uint64_t words[AX_NUM_SUM_WORDS] = {st->sum[0], st->sum[1], sum < 0 ? UINT64_MAX : 0};
    uint64_t squares[AX_NUM_SQUARE_WORDS] = {st->squares[0], st->squares[1], st->squares[2]};
    ax_num_part part = {0, words, squares};

    if (what <= AX_NUM_AVG)
        return ax_step_result_sum(t, call, sum, st->n, out, i);
    ax_arena_reset(tmp);
    return exact(t, tmp, s, &part, 1, st->n, what, (ax_num *) out + i);
}

ax_status ax_step_result_num(ax_task *t, ax_arena *tmp, const ax_step *s, const ax_agg_arg *call,
                             const void *st, void *out, uint32_t i, uint8_t *null)
{
    ax_num_result what = result_of(call->agg);
    uint64_t least = what == AX_NUM_VAR_SAMP || what == AX_NUM_STDDEV_SAMP ? 2 : 1;

    *null = *(const uint64_t *) st < least;
    if (*null)
        return AX_OK;
    if (s->op == AX_STEP_VARINT)
        return result_int(t, tmp, s, call, (const stint *) st, what, out, i);
    return result_dec(t, tmp, s, (const stnum *) st, what, (ax_num *) out + i);
}
