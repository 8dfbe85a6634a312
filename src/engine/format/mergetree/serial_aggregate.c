/* States of aggregate functions: one behind the other, without lengths.
 *
 * So a state can be stepped over only by who knows its function.  Those below are known; a column
 * of another one cannot be read at all.  What comes out are the bytes of the states.
 *
 *      f(Nullable) u8 there is one, [state of f]     fIf  as f
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

/* ---- functions ------------------------------------------------------------------------------- */

static const ax_mt_type *bare(const ax_mt_type *ty)
{
    while (ty->id == MT_NULLABLE || ty->id == MT_LOWCARD)
        ty = ty->child[0];
    return ty;
}

static ax_status unknown(ax_task *t, const char *name)
{
    return ax_fail(t, AX_EUNSUPPORTED, "states of the aggregate function %s are not known", name);
}

static ax_status single(sink *s, const ax_mt_type *ty)
{
    uint64_t n;

    ty = bare(ty);
    if (ty->width > 0)
        return skip(s, ty->width);
    if (ty->id != MT_STRING)
        return unknown(s->t, ty->text);
    AX_TRY(varuint(s, &n));
    return skip(s, n);
}

/* One value, or none: min, max, any and the like. */
static ax_status one(sink *s, const ax_mt_type *ty)
{
    const uint8_t *at = NULL;
    int32_t n;

    if (bare(ty)->id == MT_STRING)
    {
        AX_TRY(take(s, 4, &at));
        n = (int32_t) ax_load_u32(at);
        return n > 0 ? skip(s, (uint64_t) n) : AX_OK;
    }
    AX_TRY(take(s, 1, &at));
    return *at != 0 ? single(s, ty) : AX_OK;
}

/* varuint n, and n values. */
static ax_status several(sink *s, const ax_mt_type *ty, uint32_t width)
{
    uint64_t n;

    AX_TRY(varuint(s, &n));
    AX_CHECK(s->t, n <= MAX_STATE_BYTES, AX_ECORRUPT, "aggregate state is too long");
    if (width > 0)
        return skip(s, n * width);
    while (n-- > 0)
        AX_TRY(single(s, ty));
    return AX_OK;
}

static bool number(const ax_mt_type *ty)
{
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_FLOAT || ty->id == MT_DATE ||
           ty->id == MT_DATETIME || ty->id == MT_DECIMAL || ty->id == MT_ENUM;
}

static uint32_t sum_width(const ax_mt_type *ty)
{
    if (ty->id == MT_DECIMAL)
        return ty->width <= 16 ? 16 : 32;
    return ty->width <= 8 ? 8 : ty->width;
}

static bool is(const char *name, size_t n, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == n && memcmp(*list, name, n) == 0)
            return true;
    return false;
}

/* A state of the function name[n] with the arguments arg[narg]. */
static ax_status state(sink *s, const char *name, size_t n, const ax_mt_type *const *arg,
                       uint32_t narg)
{
    static const char *const value[] = {"min", "max", "any", "anyLast", "any_value",
                                        "first_value", "last_value", NULL};
    static const char *const pair[] = {"argMin", "argMax", NULL};
    static const char *const moments[] = {"varPop", "varSamp", "stddevPop", "stddevSamp", NULL};
    static const char *const same[] = {"groupBitAnd", "groupBitOr", "groupBitXor",
                                       "sumWithOverflow", NULL};
    static const char *const count[] = {"count", NULL}, *const sum[] = {"sum", NULL};
    static const char *const kahan[] = {"sumKahan", NULL}, *const avg[] = {"avg", NULL};
    static const char *const weighted[] = {"avgWeighted", NULL}, *const uniq[] = {"uniq", NULL};
    static const char *const exact[] = {"uniqExact", NULL};
    static const char *const arrays[] = {"groupArray", "groupUniqArray", NULL};
    const ax_mt_type *ty = narg > 0 ? bare(arg[0]) : NULL;
    uint64_t k;

    if (is(name, n, count))
        return varuint(s, &k);
    if (ty == NULL)
        return unknown(s->t, name);
    if (is(name, n, sum))
        return skip(s, sum_width(ty));
    if (is(name, n, kahan))
        return skip(s, 16);
    if (is(name, n, same))
        return skip(s, ty->width);
    if (is(name, n, avg))
    {
        AX_TRY(skip(s, sum_width(ty)));
        return varuint(s, &k);
    }
    if (is(name, n, weighted) && narg > 1)
    {
        AX_TRY(skip(s, 8));
        return bare(arg[1])->id == MT_FLOAT ? skip(s, 8) : varuint(s, &k);
    }
    if (is(name, n, moments))
        return skip(s, 24);
    if (is(name, n, value))
        return one(s, ty);
    if (is(name, n, pair) && narg > 1)
    {
        AX_TRY(one(s, arg[0]));
        return one(s, arg[1]);
    }
    if (is(name, n, exact) && narg == 1)
        return several(s, NULL, number(ty) ? ty->width : 16);
    if (is(name, n, uniq))
    {
        AX_TRY(skip(s, 1));
        return several(s, NULL, 4);
    }
    if (is(name, n, arrays) && (ty->width > 0 || (name[5] == 'A' && ty->id == MT_STRING)))
        return several(s, ty, ty->width);
    return unknown(s->t, name);
}

static ax_status one_state(sink *s, const ax_mt_type *ty)
{
    const char *name = ty->name[0];
    size_t n = strlen(name);
    uint32_t narg = ty->nchild;
    bool nullable = false;
    const uint8_t *flag;

    for (uint32_t i = 0; i < narg; i++)
        nullable |= ty->child[i]->id == MT_NULLABLE ||
                    (ty->child[i]->id == MT_LOWCARD && ty->child[i]->child[0]->id == MT_NULLABLE);
    if (n > 2 && memcmp(name + n - 2, "If", 2) == 0 && narg > 0)
    {
        n -= 2;
        narg--;
    }
    if (nullable && !(n == 5 && memcmp(name, "count", 5) == 0))
    {
        AX_TRY(take(s, 1, &flag));
        if (*flag == 0)
            return AX_OK;
    }
    return state(s, name, n, ty->child, narg);
}

ax_status ax_mt_read_aggregate(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n,
                               ax_mt_vals *v)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    uint32_t cap;

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

        AX_TRY(one_state(&s, r->node->type));
        if (v == NULL)
            continue;
        v->ptr[v->n] = s.p != NULL ? s.p : (const uint8_t *) "";
        v->len[v->n++] = (uint32_t) s.n;
    }
    return AX_OK;
}
