/* Adding states of aggregate functions up, as a merge of parts does: those of a few bytes.
 *
 * Format: mergetree.md, "Aggregate states". */
#include "mergetree_int.h"

typedef struct state_fn state_fn;

/* x [*n] becomes x and y together; both were read as states of this function. */
typedef void (*add_fn)(const state_fn *f, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny);

struct state_fn
{
    add_fn add;
    const ax_mt_type *arg;        /* without Nullable; NULL: it has none */
    uint32_t width;               /* of the sum, or of a value */
    bool flag;                    /* a byte before it tells if there is one */
    int8_t which;                 /* what the functions of one family differ in */
};

/* ---- numbers --------------------------------------------------------------------------------- */

/* Sum of width bytes: integers wrap around. */
static void add_number(const state_fn *f, uint8_t *x, const uint8_t *y)
{
    unsigned carry = 0;
    double a, b;
    float p, q;

    if (f->arg->id == MT_FLOAT && f->width == 8)
    {
        memcpy(&a, x, 8);
        memcpy(&b, y, 8);
        a += b;
        memcpy(x, &a, 8);
        return;
    }
    if (f->arg->id == MT_FLOAT)
    {
        memcpy(&p, x, 4);
        memcpy(&q, y, 4);
        p += q;
        memcpy(x, &p, 4);
        return;
    }
    for (uint32_t i = 0; i < f->width; i++)
    {
        carry += (unsigned) x[i] + y[i];
        x[i] = (uint8_t) carry;
        carry >>= 8;
    }
}

static void add_varuint(uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    ax_cur a = ax_cur_make(x, *n), b = ax_cur_make(y, ny);
    uint64_t v = ax_cur_varint(&a) + ax_cur_varint(&b);

    for (*n = 0; v >= 0x80; v >>= 7)
        x[(*n)++] = (uint8_t) (v | 0x80);
    x[(*n)++] = (uint8_t) v;
}

static void add_count(const state_fn *f, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    (void) f;
    add_varuint(x, n, y, ny);
}

static void add_sum(const state_fn *f, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    if (*n == f->width && ny == f->width)
        add_number(f, x, y);
}

static void add_avg(const state_fn *f, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    uint32_t count = *n - f->width;

    add_number(f, x, y);
    add_varuint(x + f->width, &count, y + f->width, ny - f->width);
    *n = f->width + count;
}

/* which: 0 and, 1 or, 2 exclusive or. */
static void add_bits(const state_fn *f, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    for (uint32_t i = 0; i < *n && i < ny; i++)
        x[i] = f->which == 0 ? (x[i] & y[i]) : f->which == 1 ? (x[i] | y[i]) : (x[i] ^ y[i]);
}

/* ---- one value ------------------------------------------------------------------------------- */

/* which: -1 min, 1 max, 0 the first, 2 the last. */
static void add_value(const state_fn *f, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    bool take = ny > 1;

    if (take && *n > 1 && f->which != 2)
        take = f->which != 0 && ax_mt_order_cmp(f->arg, y + 1, x + 1) * f->which > 0;
    if (!take)
        return;
    memcpy(x, y, ny);
    *n = ny;
}

/* ---- the door -------------------------------------------------------------------------------- */

bool ax_mt_state_add(const void *how, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny)
{
    const state_fn *f = (const state_fn *) how;
    uint32_t head = f->flag ? 1 : 0, rest;

    if (*n < head || ny < head || ny > AX_STATE_BYTES || *n > AX_STATE_BYTES)
        return false;
    if (f->flag && y[0] == 0)
        return true;
    if (f->flag && x[0] == 0)
    {
        memcpy(x, y, ny);
        *n = ny;
        return true;
    }
    if (f->add == add_avg && (*n - head < f->width + 1 || ny - head < f->width + 1))
        return false;
    if (f->add == add_value && *n - head > 1 && ny - head > 1 &&
        (*n - head != f->width + 1 || ny - head != f->width + 1))
        return false;
    rest = *n - head;
    f->add(f, x + head, &rest, y + head, ny - head);
    *n = rest + head;
    return true;
}

static const struct { const char *name; add_fn add; int8_t which; } known[] = {
    {"count", add_count, 0}, {"sum", add_sum, 0}, {"sumWithOverflow", add_sum, 0},
    {"avg", add_avg, 0}, {"groupBitAnd", add_bits, 0}, {"groupBitOr", add_bits, 1},
    {"groupBitXor", add_bits, 2}, {"min", add_value, -1}, {"max", add_value, 1},
    {"any", add_value, 0}, {"any_value", add_value, 0}, {"first_value", add_value, 0},
    {"anyLast", add_value, 2}, {"last_value", add_value, 2},
};

/* Are states of it added up so? */
static bool fits(state_fn *f)
{
    ax_type order;

    if (f->add == add_value)
        return f->width > 0 && f->arg->id != MT_FIXEDSTRING && ax_mt_order_type(f->arg, &order);
    if (f->add == add_bits)
        return f->arg->id == MT_INT || f->arg->id == MT_UINT;
    return f->add == add_count ||
           (f->width > 0 && (f->arg->id == MT_INT || f->arg->id == MT_UINT ||
                             f->arg->id == MT_FLOAT || f->arg->id == MT_DECIMAL));
}

ax_status ax_mt_state_fold(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_type as,
                           ax_fold_col *out)
{
    const ax_mt_agg *g = ty->agg;
    uint32_t i, count = sizeof known / sizeof known[0];
    state_fn *f;

    out->refusal = "merging states of this aggregate function is not supported";
    if (as.id != AX_T_BYTEA || g == NULL)
        return AX_OK;
    for (i = 0; i < count && strcmp(known[i].name, g->name) != 0;)
        i++;
    if (i == count)
        return AX_OK;
    AX_NEW(t, f, (state_fn *) ax_arena_alloc0(a, sizeof *f));
    f->add = known[i].add;
    f->which = known[i].which;
    f->arg = g->arg[0];
    f->width = g->kind == MT_A_ONE ? f->arg->width : g->width;
    f->flag = g->flag;
    if (!fits(f))
        return AX_OK;
    *out = (ax_fold_col){.fold = AX_FOLD_STATE, .add = ax_mt_state_add, .how = f};
    return AX_OK;
}
