/* Columns of states of aggregate functions: the bytes of each, whose layout is told in aggregate.c.
 *
 * Format: mergetree.md, "Aggregate states". */
#include "mergetree_int.h"

enum { MAX_STATE_BYTES = 0x3fffffff };

/* Where the bytes of a state go; v == NULL: nowhere. */
typedef struct sink
{
    ax_task *t;
    ax_mt_cur *c;
    ax_mt_win *w;                 /* NULL: they are stepped over */
    uint8_t *p;                   /* [cap], n used */
    size_t n, cap;
    uint8_t small[16];            /* what was stepped over last */
} sink;

/* The next k bytes of the state; *at: where they are, valid until the next call; of no use when
 * more than 16 are stepped over. */
static ax_status take(sink *s, uint64_t k, const uint8_t **at)
{
    AX_CHECK(s->t, k <= MAX_STATE_BYTES && s->n + k <= MAX_STATE_BYTES, AX_ELIMIT,
             "aggregate state is too long");
    *at = s->small;
    if (s->w == NULL)
        return k <= sizeof s->small ? ax_mt_cur_copy(s->t, s->c, s->small, k)
                                    : ax_mt_cur_skip(s->t, s->c, k);
    if (s->n + k > s->cap)
    {
        size_t cap = s->cap * 2 > s->n + k ? s->cap * 2 : s->n + k + 64;
        uint8_t *grown;

        AX_TRY(ax_mt_cur_holds(s->t, s->c, k));
        AX_NEW(s->t, grown, (uint8_t *) ax_arena_values(s->w->batch->arena, cap));
        if (s->n > 0)
            memcpy(grown, s->p, s->n);
        s->p = grown;
        s->cap = cap;
    }
    if (k > 0)
        AX_TRY(ax_mt_cur_copy(s->t, s->c, s->p + s->n, k));
    *at = s->p + s->n;
    s->n += k;
    return AX_OK;
}

static ax_status skip(sink *s, uint64_t k)
{
    const uint8_t *at;

    return take(s, k, &at);
}

static ax_status varuint(sink *s, uint64_t *out)
{
    const uint8_t *b = NULL;
    unsigned shift = 0;

    *out = 0;
    do
    {
        AX_CHECK(s->t, shift < 63, AX_ECORRUPT, "number in an aggregate state is too long");
        AX_TRY(take(s, 1, &b));
        *out |= (uint64_t) (*b & 0x7f) << shift;
        shift += 7;
    } while (*b >= 0x80);
    return AX_OK;
}

/* ---- layouts --------------------------------------------------------------------------------- */

static ax_status varuint_of_values(sink *s, uint64_t *n)
{
    AX_TRY(varuint(s, n));
    AX_CHECK(s->t, *n <= MAX_STATE_BYTES, AX_ECORRUPT, "aggregate state is too long");
    return AX_OK;
}

static ax_status single(sink *s, const ax_mt_type *ty);

static ax_status singles(sink *s, const ax_mt_type *ty, uint64_t n)
{
    while (n-- > 0)
        for (uint32_t i = 0; i < ty->nchild; i++)
            AX_TRY(single(s, ty->child[i]));
    return AX_OK;
}

/* A single value; types without one have no known states. */
static ax_status single(sink *s, const ax_mt_type *ty)
{
    const uint8_t *at = NULL;
    uint64_t n;

    switch ((ax_mt_tid) ty->id)
    {
        case MT_NULLABLE:
            AX_TRY(take(s, 1, &at));
            return *at == 0 ? single(s, ty->child[0]) : AX_OK;
        case MT_LOWCARD:
            return single(s, ty->child[0]);
        case MT_TUPLE:
            return singles(s, ty, 1);
        case MT_ARRAY:
        case MT_MAP:
            AX_TRY(varuint_of_values(s, &n));
            return singles(s, ty, n);
        case MT_STRING:
            AX_TRY(varuint(s, &n));
            return skip(s, n);
        default:
            return skip(s, ty->width);
    }
}

/* One value, or none: min, max, any and the like. */
static ax_status one(sink *s, const ax_mt_type *ty)
{
    const uint8_t *at = NULL;
    int32_t n;

    if (ty->id == MT_STRING)
    {
        AX_TRY(take(s, 4, &at));
        n = (int32_t) ax_load_u32(at);
        return n > 0 ? skip(s, (uint64_t) n) : AX_OK;
    }
    AX_TRY(take(s, 1, &at));
    return *at != 0 ? single(s, ty) : AX_OK;
}

/* varuint n, and n times width bytes, or varstr. */
static ax_status several(sink *s, uint32_t width)
{
    uint64_t n, k;

    AX_TRY(varuint_of_values(s, &n));
    if (width > 0)
        return skip(s, n * width);
    while (n-- > 0)
    {
        AX_TRY(varuint(s, &k));
        AX_TRY(skip(s, k));
    }
    return AX_OK;
}

static ax_status map(sink *s, const ax_mt_agg *g)
{
    uint64_t n;

    AX_TRY(varuint_of_values(s, &n));
    while (n-- > 0)
    {
        AX_TRY(single(s, g->arg[0]));
        AX_TRY(skip(s, 8ull * (g->narg - 1)));
    }
    return AX_OK;
}

static ax_status state(sink *s, const ax_mt_agg *g)
{
    const uint8_t *at = NULL;
    uint64_t k;

    if (g->flag)
    {
        AX_TRY(take(s, 1, &at));
        if (*at == 0)
            return AX_OK;
    }
    switch ((ax_mt_aggkind) g->kind)
    {
        case MT_A_COUNT:
            return varuint(s, &k);
        case MT_A_AVG:
            AX_TRY(skip(s, g->width));
            return varuint(s, &k);
        case MT_A_WEIGHTED:
            AX_TRY(skip(s, 8));
            return g->arg[1]->id == MT_UINT ? varuint(s, &k) : skip(s, 8);
        case MT_A_MOMENTS:
            return skip(s, 3ull * g->width);
        case MT_A_ONE:
            return one(s, g->arg[0]);
        case MT_A_PAIR:
            AX_TRY(one(s, g->arg[0]));
            return one(s, g->arg[1]);
        case MT_A_UNIQ:
            AX_TRY(skip(s, 1));
            return several(s, 4);
        case MT_A_SET:
        case MT_A_LIST:
        case MT_A_QUANTILE:
            return several(s, g->width);
        case MT_A_MAP:
            return map(s, g);
        default:
            return skip(s, g->width);
    }
}

ax_status ax_mt_read_aggregate(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n,
                               ax_mt_vals *v)
{
    const ax_mt_type *ty = r->node->type;
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    uint32_t cap;

    AX_CHECK(t, ty->agg != NULL, AX_EUNSUPPORTED,
             "states of the aggregate function %s are not known", ty->name[0]);
    if (v != NULL)
    {
        AX_TRY(ax_mt_grown(t, v, n, &cap));
        if (cap > 0)
        {
            AX_TRY(ax_mt_room(t, w, &v->ptr, v->n, cap, sizeof *v->ptr));
            AX_TRY(ax_mt_room(t, w, &v->len, v->n, cap, sizeof *v->len));
            v->cap = cap;
        }
    }
    for (uint32_t i = 0; i < n; i++)
    {
        sink s = {.t = t, .c = c, .w = v != NULL ? w : NULL};

        AX_TRY(state(&s, ty->agg));
        if (v == NULL)
            continue;
        v->ptr[v->n] = s.p != NULL ? s.p : (const uint8_t *) "";
        v->len[v->n++] = (uint32_t) s.n;
    }
    return AX_OK;
}
