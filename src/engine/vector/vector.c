/* Implements types, single values and the making of vectors; moving rows is in gather.c. */
#include "vector/vector.h"

#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

static const struct
{
    uint8_t phys;
    const char *sql;
} type_table[AX_T_CNT] = {
    [AX_T_NONE] = {AX_P_NONE, "none"},
#define AX_TYPE(name, phys_, sql_) [AX_T_##name] = {AX_P_##phys_, sql_},
#include "vector/types.def"
#undef AX_TYPE
};

static const uint8_t width_table[AX_P_CNT] = {
    [AX_P_U8] = 1,    [AX_P_I8] = 1,    [AX_P_I16] = 2,   [AX_P_I32] = 4,
    [AX_P_I64] = 8,   [AX_P_U16] = 2,   [AX_P_U32] = 4,   [AX_P_U64] = 8,
    [AX_P_I128] = 16, [AX_P_U128] = 16, [AX_P_I256] = 32, [AX_P_U256] = 32,
    [AX_P_F32] = 4,   [AX_P_F64] = 8,   [AX_P_NUM] = sizeof(ax_num),
    [AX_P_INTERVAL] = sizeof(ax_interval), [AX_P_FIX16] = 16,
};

ax_type ax_type_make(ax_type_id id)
{
    ax_type t = {.id = (uint8_t) id};

    if (id < AX_T_CNT)
        t.phys = type_table[id].phys;
    if (id == AX_T_TEXT || id == AX_T_BPCHAR)
        t.coll = AX_COLL_BYTES;
    return t;
}

uint32_t ax_phys_width(ax_phys p) { return p < AX_P_CNT ? width_table[p] : 0; }

const char *ax_type_name(ax_type_id id) { return id < AX_T_CNT ? type_table[id].sql : "unknown"; }

/* ---- comparison ------------------------------------------------------------------------------ */

static int cmp_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int cmp_f64(double a, double b)
{
    bool a_nan = a != a, b_nan = b != b;

    if (a_nan || b_nan)
        return (int) a_nan - (int) b_nan;
    return (a > b) - (a < b);
}

typedef struct u256 { ax_u128 hi, lo; } u256;

static u256 mul_u128(ax_u128 a, ax_u128 b)
{
    uint64_t a0 = (uint64_t) a, a1 = (uint64_t) (a >> 64);
    uint64_t b0 = (uint64_t) b, b1 = (uint64_t) (b >> 64);
    ax_u128 p00 = (ax_u128) a0 * b0, p01 = (ax_u128) a0 * b1;
    ax_u128 p10 = (ax_u128) a1 * b0, p11 = (ax_u128) a1 * b1;
    ax_u128 mid = (p00 >> 64) + (uint64_t) p01 + (uint64_t) p10;

    return (u256){p11 + (p01 >> 64) + (p10 >> 64) + (mid >> 64), (mid << 64) | (uint64_t) p00};
}

static ax_u128 pow10_u128(uint32_t e)
{
    ax_u128 r = 1;

    while (e-- > 0)
        r *= 10;
    return r;
}

/* Compare a * 10^e with b; both below 10^38. */
static int cmp_scaled(ax_u128 a, uint32_t e, ax_u128 b)
{
    u256 p;

    if (a == 0 || e > 38) /* 10^39 passes every b */
        return a == 0 ? -(b != 0) : 1;
    p = mul_u128(a, pow10_u128(e));
    if (p.hi != 0)
        return 1;
    return (p.lo > b) - (p.lo < b);
}

/* The digits of a decimal to base 10,000: of a wide one those it has, else they are put into mine
 * (38 digits around any point touch 11 groups). */
typedef struct groups { const uint16_t *digit; uint32_t n; int32_t weight; bool neg; } groups;

static groups groups_of(const ax_num *a, uint16_t mine[12])
{
    groups g = {.digit = mine};
    ax_u128 u = a->v < 0 ? -(ax_u128) a->v : (ax_u128) a->v;
    int32_t frac = (a->dscale + 3) / 4;
    uint32_t at = 12, drop = 1;

    if (a->special == AX_NUM_WIDE)
    {
        const ax_num_wide *w = ax_num_wide_of(a);

        return (groups){w->digit, w->ndigits, w->weight, w->neg};
    }
    g.neg = a->v < 0;
    for (int32_t i = a->dscale % 4; i > 0; i--)
        drop *= 10;
    if (drop > 1)
    {
        mine[--at] = (uint16_t) (u % drop * (10000 / drop));
        u /= drop;
    }
    for (; u > 0; u /= 10000)
        mine[--at] = (uint16_t) (u % 10000);
    g.n = 12 - at;
    while (g.n > 0 && mine[at] == 0)
    {
        at++;
        g.n--;
    }
    g.digit = mine + at;
    g.weight = (int32_t) g.n - frac - 1;
    while (g.n > 0 && g.digit[g.n - 1] == 0)
        g.n--;
    return g;
}

/* Finite decimals, one of them wide. */
static int cmp_wide(const ax_num *a, const ax_num *b)
{
    uint16_t room_a[12], room_b[12];
    groups x = groups_of(a, room_a), y = groups_of(b, room_b);
    int sign_x = x.n == 0 ? 0 : x.neg ? -1 : 1, sign_y = y.n == 0 ? 0 : y.neg ? -1 : 1;

    if (sign_x != sign_y)
        return sign_x < sign_y ? -1 : 1;
    if (x.weight != y.weight)
        return x.weight < y.weight ? -sign_x : sign_x;
    for (uint32_t i = 0; i < x.n && i < y.n; i++)
        if (x.digit[i] != y.digit[i])
            return x.digit[i] < y.digit[i] ? -sign_x : sign_x;
    return x.n == y.n ? 0 : x.n < y.n ? -sign_x : sign_x;
}

int64_t ax_num_wide_floor(const ax_num_wide *w)
{
    ax_i128 v = 0;
    bool rest = w->weight < 0 || w->ndigits > (uint32_t) w->weight + 1;

    if (w->weight > 4)
        return w->neg ? INT64_MIN : INT64_MAX;
    for (int32_t i = 0; i <= w->weight; i++)
        v = v * 10000 + (i < (int32_t) w->ndigits ? w->digit[i] : 0);
    v = w->neg ? -v - rest : v;
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t) v;
}

int ax_num_cmp(const ax_num *a, const ax_num *b)
{
    /* rank: -infinity, finite, infinity, NaN */
    static const int8_t rank[4] = {[AX_NUM_NINF] = -1, [AX_NUM_FINITE] = 0, [AX_NUM_PINF] = 1,
                                   [AX_NUM_NAN] = 2};
    int sign_a, sign_b, r;
    ax_u128 ua, ub;

    if (a->special || b->special)
    {
        int8_t x = rank[a->special & 3], y = rank[b->special & 3]; /* wide: finite */

        return x != y ? (x > y) - (x < y) : x != 0 ? 0 : cmp_wide(a, b);
    }
    if (a->dscale == b->dscale)
        return (a->v > b->v) - (a->v < b->v);
    sign_a = (a->v > 0) - (a->v < 0);
    sign_b = (b->v > 0) - (b->v < 0);
    if (sign_a != sign_b || sign_a == 0)
        return (sign_a > sign_b) - (sign_a < sign_b);
    ua = sign_a < 0 ? -(ax_u128) a->v : (ax_u128) a->v;
    ub = sign_b < 0 ? -(ax_u128) b->v : (ax_u128) b->v;
    if (a->dscale < b->dscale)
        r = cmp_scaled(ua, (uint32_t) (b->dscale - a->dscale), ub);
    else
        r = -cmp_scaled(ub, (uint32_t) (a->dscale - b->dscale), ua);
    return sign_a * r;
}

int ax_bytes_cmp(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
    uint32_t n = a_len < b_len ? a_len : b_len;
    int r = n > 0 ? memcmp(a, b, n) : 0;

    return r != 0 ? r : cmp_i64(a_len, b_len);
}

uint32_t ax_bpchar_len(const uint8_t *p, uint32_t len)
{
    while (len > 0 && p[len - 1] == ' ')
        len--;
    return len;
}

/* Months count 30 days, days 24 hours. */
static ax_i128 interval_span(const ax_interval *i)
{
    ax_i128 days = (ax_i128) i->months * 30 + i->days;

    return days * 86400000000LL + i->usec;
}

int ax_value_cmp(const ax_value *a, const ax_value *b)
{
    ax_i128 x, y;

    switch (a->type.phys)
    {
        case AX_P_F32:
        case AX_P_F64:
            return cmp_f64(a->u.f, b->u.f);
        case AX_P_NUM:
            return ax_num_cmp(&a->u.num, &b->u.num);
        case AX_P_STR:
            if (a->type.id == AX_T_BPCHAR)
                return ax_bytes_cmp(a->u.s.p, ax_bpchar_len(a->u.s.p, a->u.s.len), b->u.s.p,
                                    ax_bpchar_len(b->u.s.p, b->u.s.len));
            return ax_bytes_cmp(a->u.s.p, a->u.s.len, b->u.s.p, b->u.s.len);
        case AX_P_INTERVAL:
            x = interval_span(&a->u.iv);
            y = interval_span(&b->u.iv);
            return (x > y) - (x < y);
        case AX_P_FIX16:
            return memcmp(a->u.fix, b->u.fix, 16);
        default:
            return cmp_i64(a->u.i, b->u.i);
    }
}

/* ---- values in and out of vectors ------------------------------------------------------------ */

/* Value of width-typed storage. */
static void value_load(ax_value *out, ax_phys phys, const void *data, uint32_t i)
{
    switch (phys)
    {
        case AX_P_U8: out->u.i = ((const uint8_t *) data)[i]; break;
        case AX_P_I8: out->u.i = ((const int8_t *) data)[i]; break;
        case AX_P_I16: out->u.i = ((const int16_t *) data)[i]; break;
        case AX_P_U16: out->u.i = ((const uint16_t *) data)[i]; break;
        case AX_P_I32: out->u.i = ((const int32_t *) data)[i]; break;
        case AX_P_U32: out->u.i = ((const uint32_t *) data)[i]; break;
        case AX_P_I64: out->u.i = ((const int64_t *) data)[i]; break;
        case AX_P_U64: out->u.i = (int64_t) ((const uint64_t *) data)[i]; break;
        case AX_P_F32: out->u.f = (double) ((const float *) data)[i]; break;
        case AX_P_F64: out->u.f = ((const double *) data)[i]; break;
        case AX_P_NUM: out->u.num = ((const ax_num *) data)[i]; break;
        case AX_P_INTERVAL: out->u.iv = ((const ax_interval *) data)[i]; break;
        case AX_P_I128:
        case AX_P_U128:
        case AX_P_FIX16: memcpy(out->u.fix, (const uint8_t *) data + 16u * i, 16); break;
        default: out->null = true; break;
    }
}

void ax_value_store(const ax_value *v, void *data, uint32_t i)
{
    switch (v->type.phys)
    {
        case AX_P_U8:
        case AX_P_I8: ((uint8_t *) data)[i] = (uint8_t) v->u.i; break;
        case AX_P_I16:
        case AX_P_U16: ((uint16_t *) data)[i] = (uint16_t) v->u.i; break;
        case AX_P_I32:
        case AX_P_U32: ((uint32_t *) data)[i] = (uint32_t) v->u.i; break;
        case AX_P_I64:
        case AX_P_U64: ((int64_t *) data)[i] = v->u.i; break;
        case AX_P_F32: ((float *) data)[i] = (float) v->u.f; break;
        case AX_P_F64: ((double *) data)[i] = v->u.f; break;
        case AX_P_NUM: ((ax_num *) data)[i] = v->u.num; break;
        case AX_P_INTERVAL: ((ax_interval *) data)[i] = v->u.iv; break;
        case AX_P_FIX16: memcpy((uint8_t *) data + 16u * i, v->u.fix, 16); break;
        default: break;
    }
}

uint32_t ax_vec_run_at(const ax_vec *v, uint32_t i)
{
    uint32_t lo = 0, hi = v->u.run.n; /* first run whose end is behind i */

    while (lo < hi)
    {
        uint32_t mid = (lo + hi) / 2;

        if (v->u.run.end[mid] > i)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

ax_value ax_vec_value(const ax_vec *v, uint32_t i)
{
    ax_value out = {.type = v->type};

    if (v->kind == AX_VK_CONST)
        i = 0;
    if (v->null != NULL && v->null[i])
    {
        out.null = true;
        return out;
    }
    switch (v->kind)
    {
        case AX_VK_FLAT:
        case AX_VK_CONST:
            if (v->type.phys == AX_P_STR)
            {
                out.u.s.p = v->u.str.base + v->u.str.off[i];
                out.u.s.len = v->u.str.len[i];
            }
            else
                value_load(&out, v->type.phys, v->u.data, i);
            break;
        case AX_VK_VIEW:
            out.u.s.p = v->u.view.ptr[i];
            out.u.s.len = v->u.view.len[i];
            break;
        case AX_VK_DICT:
            return ax_vec_value(&v->u.dict.dict->val, v->u.dict.id[i]);
        case AX_VK_RUN:
            return ax_vec_value(v->u.run.val, ax_vec_run_at(v, i));
        case AX_VK_SEQ:
            out.u.i = v->u.seq.start + (int64_t) i * v->u.seq.step;
            break;
        case AX_VK_DOC:
            out.u.s.p = v->u.doc.ptr[i];
            out.u.s.len = v->u.doc.len[i];
            break;
        default:
            out.null = true; /* nested values have no ax_value form */
            break;
    }
    return out;
}

/* n nulls of a list type: a LIST vector, there are no constant ones. */
static ax_status null_lists(ax_task *t, ax_arena *a, ax_type type, uint32_t n, ax_vec *out)
{
    uint32_t *off;
    ax_vec *child;

    *out = (ax_vec){.kind = AX_VK_LIST, .type = type, .n = n};
    AX_NEW(t, out->null, ax_arena_values(a, n));
    memset(out->null, 1, n);
    AX_NEW(t, off, ax_arena_values(a, ((size_t) n + 1) * sizeof(*off)));
    memset(off, 0, ((size_t) n + 1) * sizeof(*off));
    AX_NEW(t, child, ax_arena_alloc0(a, sizeof(*child)));
    if (type.nested != NULL && type.nested->n > 0)
        child->type = type.nested->type[0];
    child->kind = ax_type_is_str(child->type) ? AX_VK_VIEW : AX_VK_FLAT;
    out->u.list.off = off;
    out->u.list.child = child;
    return AX_OK;
}

ax_status ax_vec_const(ax_task *t, ax_arena *a, const ax_value *val, uint32_t n, ax_vec *out)
{
    uint32_t width = ax_phys_width(val->type.phys);

    *out = (ax_vec){.kind = AX_VK_CONST, .type = val->type, .n = n};
    if (val->null)
    {
        AX_NEW(t, out->null, ax_arena_values(a, 1));
        out->null[0] = 1;
    }
    if (ax_type_is_str(val->type))
    {
        uint32_t *off_len;
        ax_value copy;

        AX_NEW(t, off_len, ax_arena_values(a, 2 * sizeof(uint32_t)));
        off_len[0] = 0;
        off_len[1] = val->null ? 0 : val->u.s.len;
        AX_TRY(ax_value_copy(t, a, val, &copy));
        out->u.str.base = val->null ? (const uint8_t *) off_len : copy.u.s.p;
        out->u.str.off = off_len;
        out->u.str.len = off_len + 1;
        return AX_OK;
    }
    if (val->null && (val->type.phys == AX_P_LIST || val->type.phys == AX_P_MAP))
        return null_lists(t, a, val->type, n, out);
    AX_CHECK(t, width > 0, AX_EUNSUPPORTED, "constants of type %s are not supported",
             ax_type_name(val->type.id));
    AX_NEW(t, out->u.data, ax_arena_values(a, width));
    memset(out->u.data, 0, width);
    if (!val->null)
        ax_value_store(val, out->u.data, 0);
    return AX_OK;
}

ax_status ax_value_copy(ax_task *t, ax_arena *a, const ax_value *v, ax_value *out)
{
    uint8_t *p;

    *out = *v;
    if (v->null || !ax_type_is_str(v->type))
        return AX_OK;
    AX_NEW(t, p, ax_arena_values(a, v->u.s.len));
    if (v->u.s.len > 0)
        memcpy(p, v->u.s.p, v->u.s.len);
    out->u.s.p = p;
    return AX_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void unpin(void *buf) { ax_buf_unref((ax_buf *) buf); }

ax_status ax_batch_pin(ax_task *t, ax_batch *b, ax_buf *buf)
{
    if (!ax_arena_on_reset(b->arena, unpin, buf))
        return ax_fail_nomem(t, sizeof(void *));
    ax_buf_ref(buf);
    return AX_OK;
}

static _Atomic uint64_t dict_uid;

uint64_t ax_dict_uid(void)
{
    /* relaxed: only uniqueness matters */
    return atomic_fetch_add_explicit(&dict_uid, 1, memory_order_relaxed) + 1;
}
