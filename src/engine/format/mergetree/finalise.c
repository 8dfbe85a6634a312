/* Results of states of aggregate functions, as finalizeAggregation has them.
 *
 * A result is a value of the type that the function returns (ax_mt_agg.result), and goes from there
 * into a declared type like any other value of that type.
 *
 * Format: mergetree.md, "Aggregate states". */
#include "mergetree_int.h"

#include <math.h>

typedef struct fin
{
    ax_task *t;
    ax_mt_win *w;
    const ax_mt_agg *g;
    ax_cur c;                     /* the state */
} fin;

/* ---- values ---------------------------------------------------------------------------------- */

/* A number of a plain node. */
static ax_status put(fin *f, const ax_mt_node *node, ax_mt_vals *v, const void *p)
{
    uint32_t w = node->type->width;

    AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
    memcpy((uint8_t *) (uintptr_t) v->data + (size_t) v->n++ * w, p, w);
    return AX_OK;
}

static ax_status put_text(fin *f, const ax_mt_node *node, ax_mt_vals *v, const uint8_t *p,
                          uint64_t n)
{
    AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
    v->ptr[v->n] = p;
    v->len[v->n++] = (uint32_t) n;
    return AX_OK;
}

static ax_status put_u64(fin *f, const ax_mt_node *node, ax_mt_vals *v, uint64_t x)
{
    uint8_t b[8];

    memcpy(b, &x, 8);
    return put(f, node, v, b);
}

static ax_status put_double(fin *f, const ax_mt_node *node, ax_mt_vals *v, double x)
{
    float narrow = (float) x;

    return put(f, node, v, node->type->width == 8 ? (const void *) &x : (const void *) &narrow);
}

/* Zero, '' or [], of an enum its first label. */
static ax_status put_none(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    uint8_t zero[32] = {0};

    switch ((ax_mt_form) node->form)
    {
        case MT_F_FIXED:
            if (node->type->id == MT_ENUM && node->type->nlabel > 0)
                memcpy(zero, &node->type->label[0].code, node->type->width);
            if (node->type->width <= sizeof zero)
                return put(f, node, v, zero);
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            memset((uint8_t *) (uintptr_t) v->data + (size_t) v->n++ * node->type->width, 0,
                   node->type->width);
            return AX_OK;
        case MT_F_STRING:
            return put_text(f, node, v, (const uint8_t *) "", 0);
        case MT_F_NULLABLE:
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            v->null[v->n++] = 1;
            return put_none(f, node->child[0], &v->child[0]);
        case MT_F_ARRAY:
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            v->off[v->n + 1] = v->off[v->n];
            v->n++;
            return AX_OK;
        default:
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            v->n++;
            for (uint32_t i = 0; i < node->nchild; i++)
                AX_TRY(put_none(f, node->child[i], &v->child[i]));
            return AX_OK;
    }
}

static ax_status too_short(fin *f)
{
    return ax_fail(f->t, AX_ECORRUPT, "aggregate state is not one of its function");
}

/* A single value of the state. */
static ax_status put_single(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const uint8_t *p;
    uint64_t n;
    uint8_t null;

    switch ((ax_mt_form) node->form)
    {
        case MT_F_FIXED:
            p = ax_cur_take(&f->c, node->type->width);
            return p != NULL ? put(f, node, v, p) : too_short(f);
        case MT_F_STRING:
            n = ax_cur_varint(&f->c);
            p = ax_cur_take(&f->c, n);
            return p != NULL ? put_text(f, node, v, p, n) : too_short(f);
        case MT_F_NULLABLE:
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            v->null[v->n++] = null = ax_cur_u8(&f->c) != 0;
            return null ? put_none(f, node->child[0], &v->child[0])
                        : put_single(f, node->child[0], &v->child[0]);
        case MT_F_ARRAY:
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            for (n = ax_cur_varint(&f->c); n > 0; n--)
                AX_TRY(put_single(f, node->child[0], &v->child[0]));
            v->off[v->n + 1] = v->child[0].n;
            v->n++;
            return AX_OK;
        default:
            AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
            v->n++;
            for (uint32_t i = 0; i < node->nchild; i++)
                AX_TRY(put_single(f, node->child[i], &v->child[i]));
            return AX_OK;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* ClickHouse rounds 128 bits to the 64 of an x87 register first, and these to 53. */
static double wide_double(const uint8_t *p, bool is_signed)
{
    unsigned __int128 u, rest, half;
    uint64_t top;
    bool neg;
    int shift;

    memcpy(&u, p, 16);
    neg = is_signed && u >> 127 != 0;
    u = neg ? -u : u;
    if (u >> 64 == 0)
        return neg ? -(double) (uint64_t) u : (double) (uint64_t) u;
    shift = 64 - __builtin_clzll((uint64_t) (u >> 64));
    half = (unsigned __int128) 1 << (shift - 1);
    rest = u & ((half << 1) - 1);
    top = (uint64_t) (u >> shift);
    if (rest > half || (rest == half && (top & 1) != 0))
        top++;
    if (top == 0)
        return ldexp(neg ? -1.0 : 1.0, shift + 64);
    return ldexp(neg ? -(double) top : (double) top, shift);
}

static double load_double(const uint8_t *p)
{
    double d;

    memcpy(&d, p, 8);
    return d;
}

static double power_of_ten(int n)
{
    unsigned __int128 v = 1;
    uint8_t b[16];

    while (n-- > 0)
        v *= 10;
    memcpy(b, &v, 16);
    return wide_double(b, false);
}

/* The sum of an average. */
static double sum_of(const ax_mt_agg *g, const uint8_t *p)
{
    const ax_mt_type *ty = g->arg[0];

    if (ty->id == MT_FLOAT || ty->id == MT_BFLOAT16)
        return load_double(p);
    if (ty->id == MT_DECIMAL)
        return wide_double(p, true) / power_of_ten(ty->scale);
    if (g->width == 16)
        return wide_double(p, ty->id == MT_INT);
    return ty->id == MT_INT ? (double) (int64_t) ax_load_u64(p) : (double) ax_load_u64(p);
}

static double ratio(double a, double b) { return b == 0 && a == 0 ? (double) NAN : a / b; }

static ax_status average(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const uint8_t *p = ax_cur_take(&f->c, f->g->width);
    uint64_t n = ax_cur_varint(&f->c);

    if (p == NULL)
        return too_short(f);
    return put_double(f, node, v, ratio(sum_of(f->g, p), (double) n));
}

/* The type of the weights is that of the sums. */
static ax_status weighted(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const ax_mt_tid by = (ax_mt_tid) f->g->arg[1]->id;
    const uint8_t *p = ax_cur_take(&f->c, 8);
    const uint8_t *q = by != MT_UINT ? ax_cur_take(&f->c, 8) : p;

    if (p == NULL || q == NULL)
        return too_short(f);
    if (by == MT_UINT)
        return put_double(f, node, v, ratio((double) ax_load_u64(p),
                                            (double) ax_cur_varint(&f->c)));
    if (by == MT_FLOAT)
        return put_double(f, node, v, ratio(load_double(p), load_double(q)));
    return put_double(f, node, v, ratio((double) (int64_t) ax_load_u64(p),
                                        (double) (int64_t) ax_load_u64(q)));
}

/* Variance of a count, a sum and a sum of squares: never negative, and 0 where there is a NaN.
 * Each operation is rounded for itself. */
#define VARIANCE(type, m, sample, out)                                                             \
    do                                                                                             \
    {                                                                                              \
        volatile type square = (m)[1] * (m)[1], mean = square / (m)[0], rest = (m)[2] - mean;      \
        type left = (sample) ? (m)[0] - 1 : (m)[0];                                                \
        (out) = rest / left;                                                                       \
        if (!((out) > 0))                                                                          \
            (out) = 0;                                                                             \
        if (!(left > 0))                                                                           \
            (out) = (type) NAN;                                                                    \
    } while (0)

static ax_status moments(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    bool sample = strstr(f->g->name, "Samp") != NULL, root = f->g->name[0] == 's';
    const uint8_t *p = ax_cur_take(&f->c, 3ull * f->g->width);
    double m[3], x;
    float n[3], y;

    if (p == NULL)
        return too_short(f);
    if (f->g->width == 8)
    {
        memcpy(m, p, sizeof m);
        VARIANCE(double, m, sample, x);
        return put_double(f, node, v, root ? sqrt(x) : x);
    }
    memcpy(n, p, sizeof n);
    VARIANCE(float, n, sample, y);
    return put_double(f, node, v, root ? (double) sqrtf(y) : (double) y);
}

/* ---- one value ------------------------------------------------------------------------------- */

static ax_status one(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const uint8_t *p;
    int32_t n;

    if (node->form != MT_F_STRING)
        return ax_cur_u8(&f->c) != 0 ? put_single(f, node, v) : put_none(f, node, v);
    n = (int32_t) ax_cur_u32(&f->c);
    if (n <= 0)
        return put_none(f, node, v);
    p = ax_cur_take(&f->c, (uint64_t) n);
    if (p == NULL)
        return too_short(f);
    return put_text(f, node, v, p, (uint64_t) n - (p[n - 1] == 0));
}

/* ---- several values -------------------------------------------------------------------------- */

static ax_status list(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const ax_mt_node *elem = node->child[0];
    uint32_t width = elem->type->width;
    uint64_t n = ax_cur_varint(&f->c);

    AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
    while (n-- > 0)
    {
        uint64_t k = f->g->width > 0 ? width : ax_cur_varint(&f->c);
        const uint8_t *p = ax_cur_take(&f->c, k);

        if (p == NULL || (width > 0 && k != width))
            return too_short(f);
        AX_TRY(width > 0 ? put(f, elem, &v->child[0], p) : put_text(f, elem, &v->child[0], p, k));
    }
    v->off[v->n + 1] = v->child[0].n;
    v->n++;
    return AX_OK;
}

/* x[at] sinks in the heap x[n], whose root is the greatest. */
static void sink(const ax_mt_type *ty, uint8_t *x, uint64_t at, uint64_t n)
{
    uint32_t w = ty->width;
    uint8_t keep[32];

    for (uint64_t down = 2 * at + 1; down < n; at = down, down = 2 * at + 1)
    {
        if (down + 1 < n && ax_mt_order_cmp(ty, x + down * w, x + (down + 1) * w) < 0)
            down++;
        if (ax_mt_order_cmp(ty, x + at * w, x + down * w) >= 0)
            return;
        memcpy(keep, x + at * w, w);
        memcpy(x + at * w, x + down * w, w);
        memcpy(x + down * w, keep, w);
    }
}

/* Put the k-th of the n values at x in front; the others lose their order. */
static ax_status nth(ax_task *t, const ax_mt_type *ty, uint8_t *x, uint64_t n, uint64_t k)
{
    uint32_t w = ty->width;

    for (uint64_t i = n / 2; i-- > 0;)
        sink(ty, x, i, n);
    for (; n - 1 > k; n--)
    {
        memcpy(x, x + (n - 1) * w, w);
        sink(ty, x, 0, n - 1);
        if ((n & 0xfff) == 0)
            AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
    }
    return AX_OK;
}

static ax_status quantile(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const ax_mt_type *ty = node->type;
    uint64_t n = ax_cur_varint(&f->c);
    const uint8_t *p = n <= UINT32_MAX ? ax_cur_take(&f->c, n * ty->width) : NULL;
    uint8_t *x;

    if (p == NULL)
        return too_short(f);
    if (n == 0)
        return ty->id == MT_FLOAT ? put_double(f, node, v, (double) NAN) : put_none(f, node, v);
    AX_NEW(f->t, x, (uint8_t *) ax_arena_values(f->w->batch->arena, n * ty->width));
    memcpy(x, p, n * ty->width);
    AX_TRY(nth(f->t, ty, x, n,
               f->g->level < 1 ? (uint64_t) (f->g->level * (double) n) : n - 1));
    return put(f, node, v, x);
}

static bool is_zero(const ax_mt_type *sum, const uint8_t *p)
{
    return sum->id == MT_FLOAT ? load_double(p) == 0 : ax_load_u64(p) == 0;
}

/* Arrays of keys and of sums; keys whose sums are all zero are left out. */
static ax_status map(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    uint64_t n = ax_cur_varint(&f->c);
    uint32_t nsums = f->g->narg - 1;

    AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
    v->n++;
    for (uint32_t i = 0; i <= nsums; i++)
        AX_TRY(ax_mt_reserve(f->t, f->w, node->child[i], &v->child[i], 1));
    while (n-- > 0)
    {
        ax_mt_vals *keys = &v->child[0].child[0];
        const uint8_t *p;
        bool zero = true;

        AX_TRY(put_single(f, node->child[0]->child[0], keys));
        p = ax_cur_take(&f->c, 8ull * nsums);
        if (p == NULL)
            return too_short(f);
        for (uint32_t i = 0; i < nsums; i++)
            zero = zero && is_zero(node->child[i + 1]->child[0]->type, p + 8ull * i);
        keys->n -= zero;
        for (uint32_t i = 0; i < nsums && !zero; i++)
            AX_TRY(put(f, node->child[i + 1]->child[0], &v->child[i + 1].child[0], p + 8ull * i));
    }
    for (uint32_t i = 0; i <= nsums; i++)
    {
        v->child[i].off[v->child[i].n + 1] = v->child[i].child[0].n;
        v->child[i].n++;
    }
    return AX_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

static ax_status uniq(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    AX_CHECK(f->t, ax_cur_u8(&f->c) == 0, AX_EUNSUPPORTED,
             "state of uniq is a sample, whose result is an estimate");
    return put_u64(f, node, v, ax_cur_varint(&f->c));
}

/* sumKahan: the sum and what was lost of it; others are as they are. */
static ax_status number(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    const uint8_t *p = ax_cur_take(&f->c, f->g->width);

    if (p == NULL)
        return too_short(f);
    if (f->g->width == node->type->width)
        return put(f, node, v, p);
    return put_double(f, node, v, load_double(p) + load_double(p + 8));
}

static ax_status result(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    switch ((ax_mt_aggkind) f->g->kind)
    {
        case MT_A_COUNT:
        case MT_A_SET:
            return put_u64(f, node, v, ax_cur_varint(&f->c));
        case MT_A_UNIQ:
            return uniq(f, node, v);
        case MT_A_AVG:
            return average(f, node, v);
        case MT_A_WEIGHTED:
            return weighted(f, node, v);
        case MT_A_MOMENTS:
            return moments(f, node, v);
        case MT_A_ONE:
        case MT_A_PAIR:
            return one(f, node, v);
        case MT_A_LIST:
            return list(f, node, v);
        case MT_A_QUANTILE:
            return quantile(f, node, v);
        case MT_A_MAP:
            return map(f, node, v);
        default:
            return number(f, node, v);
    }
}

static ax_status state(fin *f, const ax_mt_node *node, ax_mt_vals *v)
{
    bool none = f->g->flag && ax_cur_u8(&f->c) == 0;

    if (f->g->nullable)
    {
        AX_TRY(ax_mt_reserve(f->t, f->w, node, v, 1));
        v->null[v->n++] = none;
        node = node->child[0];
        v = &v->child[0];
    }
    return none ? put_none(f, node, v) : result(f, node, v);
}

ax_status ax_mt_finalise(ax_task *t, const ax_mt_agg *g, const ax_mt_node *node,
                         const ax_mt_vals *v, uint32_t n, ax_mt_win *w, ax_mt_vals *out,
                         uint32_t *fail_row)
{
    fin f = {.t = t, .w = w, .g = g};

    *fail_row = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++)
    {
        ax_status st;

        f.c = ax_cur_make(v->ptr[i], v->len[i]);
        st = state(&f, node, out);
        if (st == AX_OK && f.c.bad)
            st = too_short(&f);
        if (st == AX_ECORRUPT || st == AX_EUNSUPPORTED)
            *fail_row = i;
        AX_TRY(st);
    }
    return AX_OK;
}
