/* IN lists: a few values by comparison loops, more by a hash set, odd types by binary search. */
#include "func/call_int.h"

#include "base/bytes.h"
#include "base/hash.h"

#include <string.h>

#define SMALL 6u /* so many comparison loops still beat one probe a row */

struct in_set
{
    const ax_value *val;  /* [n] sorted, distinct, without nulls */
    uint32_t n;
    /* open addressing: 0 is empty, else index + 1 */
    uint32_t *slot;
    uint32_t mask;
    int64_t min, max;     /* integers: everything outside is not in the list */
};

static uint64_t double_key(double d)
{
    uint64_t k;

    if (d != d)
        return UINT64_MAX; /* one NaN */
    if (d == 0)
        d = 0; /* one zero */
    memcpy(&k, &d, 8);
    return k;
}

static uint64_t value_hash(const ax_value *v)
{
    if (v->type.phys == AX_P_STR)
    {
        uint32_t n = v->u.s.len;

        if (v->type.id == AX_T_BPCHAR)
            n = ax_bpchar_len(v->u.s.p, n);
        return ax_hash_bytes(v->u.s.p, n, 0);
    }
    if (v->type.phys == AX_P_F32 || v->type.phys == AX_P_F64)
        return ax_hash_u64(double_key(v->u.f));
    return ax_hash_u64((uint64_t) v->u.i);
}

static bool set_has(const struct in_set *s, const ax_value *v)
{
    for (uint64_t h = value_hash(v);; h++)
    {
        uint32_t at = s->slot[h & s->mask];

        if (at == 0)
            return false;
        if (ax_value_cmp(&s->val[at - 1], v) == 0)
            return true;
    }
}

static bool sorted_has(const struct in_set *s, const ax_value *v)
{
    uint32_t lo = 0, hi = s->n;

    while (lo < hi)
    {
        uint32_t mid = (lo + hi) / 2;
        int c = ax_value_cmp(&s->val[mid], v);

        if (c == 0)
            return true;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static inline bool int_has(const struct in_set *s, int64_t v)
{
    if (v < s->min || v > s->max)
        return false;
    for (uint64_t h = ax_hash_u64((uint64_t) v);; h++)
    {
        uint32_t at = s->slot[h & s->mask];

        if (at == 0 || s->val[at - 1].u.i == v)
            return at != 0;
    }
}

static void run_ints(const ax_call *c, ax_call_io *io)
{
    const struct in_set *s = c->set;
    const void *p = io->arg[0]->u.data;
    uint8_t *out = (uint8_t *) io->data;

    switch (c->kt)
    {
        case AX_KT_U8:
            for (uint32_t i = 0; i < io->n; i++)
                out[i] = int_has(s, ((const uint8_t *) p)[i]);
            break;
        case AX_KT_I16:
            for (uint32_t i = 0; i < io->n; i++)
                out[i] = int_has(s, ((const int16_t *) p)[i]);
            break;
        case AX_KT_I32:
            for (uint32_t i = 0; i < io->n; i++)
                out[i] = int_has(s, ((const int32_t *) p)[i]);
            break;
        default:
            for (uint32_t i = 0; i < io->n; i++)
                out[i] = int_has(s, ((const int64_t *) p)[i]);
            break;
    }
}

/* One kernel call a value, ORed. */
static void run_small(const ax_call *c, ax_call_io *io)
{
    const ax_kernels *k = ax_k_get();
    uint8_t *out = (uint8_t *) io->data, one[AX_BATCH_ROWS + 64];
    const uint8_t *in = (const uint8_t *) io->arg[0]->u.data;
    uint32_t width = ax_phys_width(c->arg.phys);

    memset(out, 0, io->n);
    for (uint32_t at = 0; at < io->n; at += AX_BATCH_ROWS)
    {
        uint32_t n = io->n - at < AX_BATCH_ROWS ? io->n - at : AX_BATCH_ROWS;

        for (uint32_t i = 0; i < c->set->n; i++)
        {
            uint64_t konst = 0;

            ax_value_store(&c->set->val[i], &konst, 0);
            k->cmp[c->kt][AX_KC_EQ][1](in + (size_t) at * width, &konst, one, n);
            k->or(out + at, one, out + at, n);
        }
    }
}

static void run_rows(const ax_call *c, ax_call_io *io)
{
    uint8_t *out = (uint8_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_value v;

        out[row] = 0;
        if (ax_io_null(io, row))
            continue;
        v = ax_vec_value(io->arg[0], row);
        out[row] = c->set->slot != NULL ? set_has(c->set, &v) : sorted_has(c->set, &v);
    }
}

static ax_status run_in(const ax_call *c, ax_call_io *io)
{
    uint8_t *out = (uint8_t *) io->data;

    if (c->kt == AX_KT_CNT)
        run_rows(c, io);
    else if (c->set->n <= SMALL)
        run_small(c, io);
    else if (c->kt < AX_KT_F32)
        run_ints(c, io);
    else
        run_rows(c, io);
    if (c->set_null) /* not found is not known */
    {
        if (!io->has_null)
            memset(io->null, 0, io->n);
        for (uint32_t i = 0; i < io->n; i++)
            io->null[i] |= out[i] ^ 1;
        io->has_null = true;
    }
    if (c->invert)
        ax_k_get()->not(out, out, io->n);
    return AX_OK;
}

static ax_status run_in_nothing(const ax_call *c, ax_call_io *io)
{
    io->has_null = false;
    memset(io->data, c->invert, io->n);
    return AX_OK;
}

/* Bottom-up merge sort: no recursion, no worst case. */
static void sort_values(ax_value *v, ax_value *tmp, uint32_t n)
{
    for (uint32_t w = 1; w < n; w *= 2)
    {
        for (uint32_t lo = 0; lo < n; lo += 2 * w)
        {
            uint32_t mid = lo + w < n ? lo + w : n, hi = mid + w < n ? mid + w : n;
            uint32_t i = lo, j = mid;

            for (uint32_t q = lo; q < hi; q++)
                tmp[q] = i < mid && (j >= hi || ax_value_cmp(&v[i], &v[j]) <= 0) ? v[i++] : v[j++];
        }
        memcpy(v, tmp, sizeof(*v) * n);
    }
}

static ax_status set_index(ax_task *t, ax_arena *a, struct in_set *s)
{
    uint32_t cap = 16;

    while (cap < 2 * s->n)
        cap *= 2;
    AX_NEW(t, s->slot, ax_arena_alloc0(a, sizeof(*s->slot) * (size_t) cap));
    s->mask = cap - 1;
    for (uint32_t i = 0; i < s->n; i++)
    {
        uint64_t h = value_hash(&s->val[i]);

        while (s->slot[h & s->mask] != 0)
            h++;
        s->slot[h & s->mask] = i + 1;
    }
    s->min = s->val[0].u.i;
    s->max = s->val[s->n - 1].u.i;
    return AX_OK;
}

ax_status ax_call_bind_in(ax_task *t, ax_arena *a, ax_type arg, const ax_value *vals, uint32_t n,
                          bool negated, ax_call **out)
{
    struct in_set *s;
    ax_value *v, *tmp;
    ax_call *c;
    uint32_t m = 0;

    AX_NEW(t, c, ax_arena_alloc0(a, sizeof(*c)));
    AX_NEW(t, s, ax_arena_alloc0(a, sizeof(*s)));
    AX_NEW(t, v, ax_arena_alloc0(a, sizeof(*v) * (size_t) n));
    AX_NEW(t, tmp, ax_arena_alloc0(a, sizeof(*v) * (size_t) n));
    c->nargs = 1;
    c->arg = arg;
    c->result = ax_type_make(AX_T_BOOL);
    c->strict = n > 0;
    c->invert = negated;
    c->kt = (uint8_t) ax_kt_of(arg.phys);
    c->whole = c->kt != AX_KT_CNT;
    c->set = s;
    c->run = n > 0 ? run_in : run_in_nothing;
    for (uint32_t i = 0; i < n; i++)
        if (vals[i].null)
            c->set_null = true;
        else
            AX_TRY(ax_value_copy(t, a, &vals[i], &v[m++]));
    sort_values(v, tmp, m);
    s->val = v;
    for (uint32_t i = 0; i < m; i++)
        if (s->n == 0 || ax_value_cmp(&v[s->n - 1], &v[i]) != 0)
            v[s->n++] = v[i];
    if (s->n > 0 && (arg.phys == AX_P_STR || c->kt != AX_KT_CNT))
        AX_TRY(set_index(t, a, s));
    *out = c;
    return AX_OK;
}
