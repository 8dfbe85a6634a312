/* Rows of one key: which of them, or what of them, are rows of the table (ax_final_rule).
 *
 * Rows come in order, as places in batches; what is put out are places again, and for folded
 * columns places or values of their own.  A batch goes away when its last row was added: what the
 * key under way needs of it is copied then. */
#include "exec/merge_int.h"

#include <string.h>

/* ---- beginning and end ----------------------------------------------------------------------- */

ax_status ax_rows_init(ax_task *t, ax_arena *a, const ax_merge *m, ax_rows *r)
{
    size_t room = AX_BATCH_ROWS;

    r->m = m;
    AX_NEW(t, r->arena, ax_arena_create(t->budget, 0));
    AX_NEW(t, r->spare, ax_arena_create(t->budget, 0));
    AX_NEW(t, r->row, (ax_row *) ax_arena_alloc(a, room * sizeof *r->row));
    if (m->fold == NULL)
        return AX_OK;
    AX_NEW(t, r->acc, (ax_acc *) ax_arena_alloc0(a, (m->ncols + 1) * sizeof *r->acc));
    AX_NEW(t, r->folded, (ax_acc **) ax_arena_alloc0(a, (m->ncols + 1) * sizeof *r->folded));
    for (uint32_t c = 0; c < m->ncols; c++)
        if (m->fold[c] != NULL)
            AX_NEW(t, r->folded[c],
                   (ax_acc *) ax_arena_alloc0(a, room * sizeof **r->folded));
    return AX_OK;
}

void ax_rows_free(ax_exec *x, ax_rows *r)
{
    while (r->held != NULL)
    {
        ax_held *next = r->held->next;

        ax_held_release(x, r->held);
        r->held = next;
    }
    ax_arena_destroy(r->arena);
    ax_arena_destroy(r->spare);
    r->arena = r->spare = NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static ax_value value_of(ax_row r, uint32_t col) { return ax_vec_value(&r.b->col[col], r.row); }

static int cmp_values(const ax_value *a, const ax_value *b)
{
    if (a->null || b->null)
        return (int) b->null - (int) a->null; /* a version that is null is the least */
    return ax_value_cmp(a, b);
}

/* Lower bits of v, as a number of that many bits. */
static ax_i128 wrap(ax_i128 v, uint32_t bits, bool is_signed)
{
    unsigned __int128 u = (unsigned __int128) v;

    if (bits >= 128)
        return v;
    u &= ((unsigned __int128) 1 << bits) - 1;
    if (is_signed && (u >> (bits - 1)) != 0)
        u |= ~(unsigned __int128) 0 << bits;
    return (ax_i128) u;
}

static bool is_float(const ax_value *v)
{
    return v->type.phys == AX_P_F32 || v->type.phys == AX_P_F64;
}

/* ---- lists of rows --------------------------------------------------------------------------- */

static ax_status add_row(ax_task *t, ax_rows *r, ax_row **list, uint32_t *n, uint32_t *cap,
                         ax_row row)
{
    if (*n == *cap)
    {
        uint32_t more = *cap == 0 ? 8 : *cap * 2;
        ax_row *grown;

        AX_CHECK(t, more < (1u << 28), AX_ELIMIT, "too many rows of one key");
        AX_NEW(t, grown, (ax_row *) ax_arena_alloc(r->arena, more * sizeof *grown));
        if (*n > 0)
            memcpy(grown, *list, *n * sizeof *grown);
        *list = grown;
        *cap = more;
    }
    (*list)[(*n)++] = row;
    return AX_OK;
}

/* A state of one's own, which others are added to. */
static ax_status own_state(ax_task *t, ax_rows *r, ax_value *v)
{
    uint8_t *room;

    AX_CHECK(t, v->u.s.len <= AX_STATE_BYTES, AX_ECORRUPT, "aggregate state is too long");
    AX_NEW(t, room, (uint8_t *) ax_arena_alloc(r->arena, AX_STATE_BYTES));
    memcpy(room, v->u.s.p, v->u.s.len);
    v->u.s.p = room;
    return AX_OK;
}

/* Parts of rows that were put out are over; those of the key under way move. */
ax_status ax_rows_forget(ax_task *t, ax_rows *r)
{
    ax_arena *old = r->arena;

    r->n = 0;
    if (r->m->fold == NULL || ax_arena_used_bytes(old) == 0)
        return AX_OK;
    r->arena = r->spare;
    r->spare = old;
    for (uint32_t c = 0; r->open && c < r->m->ncols; c++)
    {
        ax_acc *acc = &r->acc[c];
        ax_row *from = acc->part;
        uint32_t n = acc->nparts;

        if (r->m->fold[c] != NULL && r->m->fold[c]->fold == AX_FOLD_STATE && acc->have)
            AX_TRY(own_state(t, r, &acc->value));
        if (n == 0)
            continue;
        acc->part = NULL;
        acc->nparts = acc->cap_parts = 0;
        for (uint32_t i = 0; i < n; i++)
            AX_TRY(add_row(t, r, &acc->part, &acc->nparts, &acc->cap_parts, from[i]));
    }
    ax_arena_reset(old);
    return AX_OK;
}

/* ---- folding --------------------------------------------------------------------------------- */

ax_status ax_fold_sum(ax_task *t, const ax_fold_col *f, ax_value *sum, const ax_value *v)
{
    if (is_float(v))
        sum->u.f = f->single ? (double) ((float) sum->u.f + (float) v->u.f) : sum->u.f + v->u.f;
    else if (v->type.phys == AX_P_NUM)
    {
        /* Values of one column of a file have one scale. */
        AX_CHECK(t, v->u.num.special == AX_NUM_FINITE && sum->u.num.special == AX_NUM_FINITE &&
                        v->u.num.dscale == sum->u.num.dscale,
                 AX_EUNSUPPORTED, "numbers of different scales cannot be merged");
        sum->u.num.v = wrap((ax_i128) ((unsigned __int128) sum->u.num.v +
                                       (unsigned __int128) v->u.num.v), f->bits, f->is_signed);
    }
    else
        sum->u.i = (int64_t) wrap((ax_i128) sum->u.i + v->u.i, f->bits, f->is_signed);
    return AX_OK;
}

static ax_status fold_bits(ax_task *t, const ax_fold_col *f, ax_value *acc, const ax_value *v)
{
    bool num = v->type.phys == AX_P_NUM;
    ax_i128 a = num ? acc->u.num.v : acc->u.i, b = num ? v->u.num.v : v->u.i;

    AX_CHECK(t, !is_float(v) && v->type.phys != AX_P_STR, AX_EPLAN, "bits of something else");
    a = f->fold == AX_FOLD_AND ? (a & b) : f->fold == AX_FOLD_OR ? (a | b) : (a ^ b);
    if (num)
        acc->u.num.v = a;
    else
        acc->u.i = (int64_t) a;
    return AX_OK;
}

/* sum is one's own. */
static ax_status add_state(ax_task *t, const ax_fold_col *f, ax_value *sum, const ax_value *v)
{
    union { const uint8_t *in; uint8_t *out; } room = {sum->u.s.p};

    AX_CHECK(t, f->add(f->how, room.out, &sum->u.s.len, v->u.s.p, v->u.s.len), AX_ECORRUPT,
             "aggregate state is not one of its function");
    return AX_OK;
}

/* Is v less (MIN) or greater (MAX) than what is kept?  A NaN is neither. */
static bool replaces(const ax_fold_col *f, const ax_value *v, const ax_value *kept)
{
    if (is_float(v))
        return f->fold == AX_FOLD_MIN ? v->u.f < kept->u.f : v->u.f > kept->u.f;
    return f->fold == AX_FOLD_MIN ? ax_value_cmp(v, kept) < 0 : ax_value_cmp(v, kept) > 0;
}

static ax_status fold_one(ax_task *t, ax_rows *r, uint32_t col, ax_row row)
{
    const ax_fold_col *f = r->m->fold[col];
    ax_acc *acc = &r->acc[col];
    ax_value v, kept;

    if (f->fold == AX_FOLD_LAST)
    {
        acc->pick = row;
        return AX_OK;
    }
    if (f->fold == AX_FOLD_CONCAT || f->fold == AX_FOLD_MAP)
        return add_row(t, r, &acc->part, &acc->nparts, &acc->cap_parts, row);
    v = value_of(row, col);
    if (v.null)
        return AX_OK;
    if (!acc->have)
    {
        acc->have = true;
        acc->pick = row;
        acc->value = v;
        return f->fold == AX_FOLD_STATE ? own_state(t, r, &acc->value) : AX_OK;
    }
    switch ((ax_fold) f->fold)
    {
        case AX_FOLD_ANY_LAST:
            acc->pick = row;
            return AX_OK;
        case AX_FOLD_MIN:
        case AX_FOLD_MAX:
            kept = value_of(acc->pick, col);
            if (replaces(f, &v, &kept))
                acc->pick = row;
            return AX_OK;
        case AX_FOLD_SUM:
            return ax_fold_sum(t, f, &acc->value, &v);
        case AX_FOLD_STATE:
            return add_state(t, f, &acc->value, &v);
        case AX_FOLD_AND:
        case AX_FOLD_OR:
        case AX_FOLD_XOR:
            return fold_bits(t, f, &acc->value, &v);
        default:
            return AX_OK;
    }
}

static ax_status fold(ax_task *t, ax_rows *r, ax_row row, bool fresh)
{
    for (uint32_t c = 0; c < r->m->ncols; c++)
    {
        const ax_fold_col *f = r->m->fold[c];

        if (f == NULL)
            continue;
        if (fresh)
        {
            r->acc[c] = (ax_acc){.pick = row};
            r->acc[c].value = (ax_value){.type = r->m->type[c], .null = true};
        }
        AX_TRY(fold_one(t, r, c, row));
    }
    return AX_OK;
}

bool ax_fold_zero(const ax_value *v)
{
    return v->null || (is_float(v) ? v->u.f == 0 : v->type.phys == AX_P_NUM ? v->u.num.v == 0
                                                                            : v->u.i == 0);
}

/* Does the row that was folded vanish? */
static bool vanishes(const ax_rows *r)
{
    bool any = false;

    for (uint32_t c = 0; c < r->m->ncols; c++)
    {
        const ax_fold_col *f = r->m->fold[c];

        if (f == NULL || !f->counts)
            continue;
        any = true;
        if (!ax_fold_zero(&r->acc[c].value))
            return false;
    }
    return any;
}

/* ---- signs ----------------------------------------------------------------------------------- */

static ax_status sign_of(ax_task *t, const ax_merge *m, ax_row row, int64_t *sign)
{
    *sign = value_of(row, m->sign).u.i;
    AX_CHECK(t, *sign == 1 || *sign == -1, AX_ECORRUPT, "sign of a row is %lld where it is 1 or -1",
             (long long) *sign);
    return AX_OK;
}

static ax_status collapse(ax_task *t, ax_rows *r, ax_row row)
{
    int64_t sign;

    AX_TRY(sign_of(t, r->m, row, &sign));
    r->last_plus = sign > 0;
    if (sign > 0)
    {
        r->plus++;
        r->best = row;
        r->have = true;
    }
    else
        r->minus++;
    return AX_OK;
}

static ax_status cancel(ax_task *t, ax_rows *r, ax_row row)
{
    int64_t sign;

    AX_TRY(sign_of(t, r->m, row, &sign));
    if (r->nleft > 0 && sign != r->left_sign)
    {
        r->nleft--;
        return AX_OK;
    }
    r->left_sign = sign;
    return add_row(t, r, &r->left, &r->nleft, &r->cap_left, row);
}

/* ---- the key --------------------------------------------------------------------------------- */

ax_status ax_rows_add(ax_task *t, ax_rows *r, ax_row row, bool fresh)
{
    const ax_merge *m = r->m;
    ax_value a, b;

    if (fresh)
    {
        AX_ASSERT(!r->open);
        r->open = true;
        r->have = false;
        r->plus = r->minus = 0;
        r->nleft = r->taken = 0;
    }
    switch ((ax_final_rule) m->rule)
    {
        case AX_FINAL_NONE:
            r->best = row;
            r->have = true;
            return AX_OK;
        case AX_FINAL_LAST:
            if (r->have && m->version != AX_NO_COL)
            {
                a = value_of(row, m->version);
                b = value_of(r->best, m->version);
                if (cmp_values(&a, &b) < 0)
                    return AX_OK;
            }
            r->best = row;
            r->have = true;
            return AX_OK;
        case AX_FINAL_COLLAPSE:
            return collapse(t, r, row);
        case AX_FINAL_CANCEL:
            return cancel(t, r, row);
        case AX_FINAL_FOLD:
            if (fresh)
                r->best = row;
            r->have = true;
            return fold(t, r, row, fresh);
    }
    return AX_OK;
}

/* Is the best row a row of the table? */
static bool stays(const ax_rows *r)
{
    ax_value v;

    if (!r->have)
        return false;
    switch ((ax_final_rule) r->m->rule)
    {
        case AX_FINAL_LAST:
            if (r->m->sign == AX_NO_COL)
                return true;
            v = value_of(r->best, r->m->sign);
            return v.null || v.u.i == 0;
        case AX_FINAL_COLLAPSE:
            return r->plus > r->minus || (r->plus == r->minus && r->last_plus);
        case AX_FINAL_FOLD:
            return !vanishes(r);
        default:
            return true;
    }
}

ax_status ax_rows_close(ax_task *t, ax_rows *r, bool *full)
{
    (void) t;
    *full = false;
    if (!r->open)
        return AX_OK;
    while (r->taken < r->nleft && r->n < AX_BATCH_ROWS)
        r->row[r->n++] = r->left[r->taken++];
    *full = r->taken < r->nleft || (r->m->rule != AX_FINAL_CANCEL && r->n == AX_BATCH_ROWS);
    if (*full)
        return AX_OK;
    r->open = false;
    if (r->m->rule == AX_FINAL_CANCEL)
    {
        ax_arena_reset(r->arena);
        r->left = NULL;
        r->cap_left = r->nleft = r->taken = 0;
        return AX_OK;
    }
    if (!stays(r))
        return AX_OK;
    for (uint32_t c = 0; r->m->fold != NULL && c < r->m->ncols; c++)
        if (r->folded[c] != NULL)
            r->folded[c][r->n] = r->acc[c];
    r->row[r->n++] = r->best;
    return AX_OK;
}

/* ---- batches that go away -------------------------------------------------------------------- */

/* Places of the key under way; f is applied to each. */
typedef void (*place_fn)(ax_row *row, void *arg);

static void each_place(ax_rows *r, place_fn f, void *arg)
{
    if (!r->open)
        return;
    if (r->have)
        f(&r->best, arg);
    for (uint32_t i = 0; i < r->nleft; i++)
        f(&r->left[i], arg);
    for (uint32_t c = 0; r->m->fold != NULL && c < r->m->ncols; c++)
    {
        if (r->m->fold[c] != NULL)
            f(&r->acc[c].pick, arg);
        for (uint32_t i = 0; i < r->acc[c].nparts; i++)
            f(&r->acc[c].part[i], arg);
    }
}

typedef struct moving
{
    const ax_batch *b;
    ax_held *to;
    uint16_t sel[AX_BATCH_ROWS], at[AX_BATCH_ROWS];
    bool seen[AX_BATCH_ROWS];
    uint32_t n;
} moving;

static void note_place(ax_row *row, void *arg)
{
    moving *mv = (moving *) arg;

    if (row->b == mv->b)
        mv->seen[row->row] = true;
}

static void move_place(ax_row *row, void *arg)
{
    const moving *mv = (const moving *) arg;

    if (row->b == mv->b)
        *row = (ax_row){&mv->to->b, mv->at[row->row]};
}

/* Release what no place of the key is in any more. */
static void sweep(ax_exec *x, ax_rows *r, moving *mv)
{
    for (ax_held **p = &r->held; *p != NULL;)
    {
        ax_held *h = *p;

        mv->b = &h->b;
        memset(mv->seen, 0, sizeof mv->seen);
        each_place(r, note_place, mv);
        if (memchr(mv->seen, 1, sizeof mv->seen) != NULL)
        {
            p = &h->next;
            continue;
        }
        *p = h->next;
        ax_held_release(x, h);
    }
}

ax_status ax_rows_keep(ax_task *t, ax_exec *x, ax_rows *r, const ax_batch *b)
{
    ax_batch part = *b;
    moving mv = {.b = b};

    AX_ASSERT(r->n == 0);
    each_place(r, note_place, &mv);
    for (uint32_t i = 0; i < b->nrows; i++)
        if (mv.seen[i])
        {
            mv.at[i] = (uint16_t) mv.n;
            mv.sel[mv.n++] = (uint16_t) i;
        }
    if (mv.n > 0)
    {
        part.sel = mv.sel;
        part.nsel = mv.n;
        part.poison = NULL;
        AX_TRY(ax_held_copy(t, x, &part, &mv.to));
        each_place(r, move_place, &mv);
        mv.to->next = r->held;
        r->held = mv.to;
    }
    if (r->held != NULL)
        sweep(x, r, &mv);
    return AX_OK;
}
