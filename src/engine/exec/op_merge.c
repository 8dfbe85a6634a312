/* Rows that replace or remove other rows: MERGE_FINAL over ordered input, and key sets of deletes.
 *
 * FINAL (AX_FINAL_VERSION): of the rows of one key the one with the highest version stays, the last
 * of equal ones; it goes too when its delete mark is set.  Input is ordered by key, one lane.  The
 * last key of a batch may go on in the next one, so its best row is held back, copied.
 *
 * Key sets: serialised keys in an open-addressing table, filled under a lock, then only read.
 * Nulls equal nulls; numbers are normalised so that equal values have equal bytes. */
#include "base/hash.h"
#include "exec/exec_int.h"

#include <string.h>

/* ---- final ----------------------------------------------------------------------------------- */

struct ax_final
{
    ax_arena *arena[2];   /* the held row lives in one, the last emitted batch in both */
    uint32_t cur;
    bool have;            /* a row is held */
    ax_value *held;       /* [ncols] */
    ax_value **emit;      /* [ncols] columns of rows to put out, [AX_BATCH_ROWS] each */
    uint32_t nemit;
    ax_value *row;        /* [ncols] row looked at */
};

static void drop_final(void *arg)
{
    struct ax_final *f = (struct ax_final *) arg;

    ax_arena_destroy(f->arena[0]);
    ax_arena_destroy(f->arena[1]);
}

ax_status ax_final_init(ax_lane *l, uint32_t i)
{
    const ax_op *op = l->stage->op[i];
    ax_arena *a = l->state_arena;
    ax_task *t = &l->task;
    struct ax_final *f;

    for (uint32_t c = 0; c < op->ncols; c++)
        AX_CHECK(t, op->type[c].phys < AX_P_DOC, AX_EUNSUPPORTED,
                 "merging rows with nested columns is not supported");
    AX_NEW(t, f, (struct ax_final *) ax_arena_alloc0(a, sizeof *f));
    if (!ax_arena_on_reset(a, drop_final, f))
        return ax_fail_nomem(t, 0);
    for (int k = 0; k < 2; k++)
        AX_NEW(t, f->arena[k], ax_arena_create(t->budget, 0));
    AX_NEW(t, f->held, (ax_value *) ax_arena_alloc0(a, (op->ncols + 1) * sizeof(ax_value)));
    AX_NEW(t, f->row, (ax_value *) ax_arena_alloc0(a, (op->ncols + 1) * sizeof(ax_value)));
    AX_NEW(t, f->emit, (ax_value **) ax_arena_alloc0(a, (op->ncols + 1) * sizeof(ax_value *)));
    for (uint32_t c = 0; c < op->ncols; c++)
        AX_NEW(t, f->emit[c], (ax_value *) ax_arena_alloc(a, AX_BATCH_ROWS * sizeof(ax_value)));
    AX_NEW(t, l->ops[i].vec, (ax_vec *) ax_arena_alloc0(a, (op->ncols + 1) * sizeof(ax_vec)));
    l->ops[i].final = f;
    return AX_OK;
}

static int cmp_nullable(const ax_value *a, const ax_value *b)
{
    if (a->null || b->null)
        return (int) a->null - (int) b->null;
    return ax_value_cmp(a, b);
}

static bool same_key(const ax_node *n, const ax_value *a, const ax_value *b)
{
    for (uint32_t k = 0; k < n->u.final.nkeys; k++)
        if (cmp_nullable(&a[n->u.final.key[k].col], &b[n->u.final.key[k].col]) != 0)
            return false;
    return true;
}

static bool is_deleted(const ax_op *op, const ax_value *row)
{
    uint32_t c = op->node->u.final.sign_col;

    return c < op->ncols && !row[c].null && row[c].u.i != 0;
}

static void emit_row(const ax_op *op, struct ax_final *f, const ax_value *row)
{
    if (is_deleted(op, row))
        return;
    for (uint32_t c = 0; c < op->ncols; c++)
        f->emit[c][f->nemit] = row[c];
    f->nemit++;
}

static void put_value(ax_vec *v, uint32_t i, const ax_value *val)
{
    switch ((ax_phys) v->type.phys)
    {
    case AX_P_U8:
    case AX_P_I8:
        ((int8_t *) v->u.data)[i] = (int8_t) val->u.i;
        break;
    case AX_P_I16:
    case AX_P_U16:
        ((int16_t *) v->u.data)[i] = (int16_t) val->u.i;
        break;
    case AX_P_I32:
    case AX_P_U32:
        ((int32_t *) v->u.data)[i] = (int32_t) val->u.i;
        break;
    case AX_P_I64:
    case AX_P_U64:
        ((int64_t *) v->u.data)[i] = val->u.i;
        break;
    case AX_P_F32:
        ((float *) v->u.data)[i] = (float) val->u.f;
        break;
    case AX_P_F64:
        ((double *) v->u.data)[i] = val->u.f;
        break;
    case AX_P_NUM:
        ((ax_num *) v->u.data)[i] = val->u.num;
        break;
    case AX_P_INTERVAL:
        ((ax_interval *) v->u.data)[i] = val->u.iv;
        break;
    case AX_P_FIX16:
        memcpy((uint8_t *) v->u.data + 16 * (size_t) i, val->u.fix, 16);
        break;
    default:
        break;
    }
}

/* n values as a FLAT or VIEW vector; string bytes are borrowed. */
ax_status ax_vec_of_values(ax_task *t, ax_arena *a, ax_type type, const ax_value *val, uint32_t n,
                           ax_vec *out)
{
    bool str = type.phys == AX_P_STR;
    const uint8_t **ptr = NULL;
    uint32_t *len = NULL;

    memset(out, 0, sizeof *out);
    out->type = type;
    out->n = n;
    out->kind = str ? AX_VK_VIEW : AX_VK_FLAT;
    AX_NEW(t, out->null, (uint8_t *) ax_arena_values(a, n));
    if (str)
    {
        AX_NEW(t, ptr, (const uint8_t **) ax_arena_values(a, n * sizeof *ptr));
        AX_NEW(t, len, (uint32_t *) ax_arena_values(a, n * sizeof *len));
        out->u.view.ptr = ptr;
        out->u.view.len = len;
    }
    else
        AX_NEW(t, out->u.data, ax_arena_values(a, (size_t) n * ax_phys_width((ax_phys) type.phys)));
    for (uint32_t i = 0; i < n; i++)
    {
        out->null[i] = val[i].null;
        if (str)
        {
            ptr[i] = val[i].null ? (const uint8_t *) "" : val[i].u.s.p;
            len[i] = val[i].null ? 0 : val[i].u.s.len;
        }
        else
            put_value(out, i, &val[i]);
    }
    return AX_OK;
}

/* Rows collected so far as a batch. */
static ax_status emit_batch(ax_lane *l, uint32_t i, ax_arena *a, ax_batch **b)
{
    const ax_op *op = l->stage->op[i];
    ax_opstate *s = &l->ops[i];
    struct ax_final *f = s->final;

    *b = NULL;
    if (f->nemit == 0)
        return AX_OK;
    memset(&s->out, 0, sizeof s->out);
    s->out.nrows = s->out.nsel = f->nemit;
    s->out.ncols = op->ncols;
    s->out.col = s->vec;
    s->out.arena = a;
    for (uint32_t c = 0; c < op->ncols; c++)
        AX_TRY(ax_vec_of_values(&l->task, a, op->type[c], f->emit[c], f->nemit, &s->vec[c]));
    *b = &s->out;
    return AX_OK;
}

/* Copy the best row's strings into the other arena; the batch that is put out may still use this
 * one. */
static ax_status hold(ax_task *t, const ax_op *op, struct ax_final *f)
{
    ax_arena *a = f->arena[f->cur];

    for (uint32_t c = 0; c < op->ncols; c++)
        if (!f->held[c].null && ax_type_is_str(op->type[c]))
            AX_NEW(t, f->held[c].u.s.p,
                   (const uint8_t *) ax_arena_strndup(a, (const char *) f->held[c].u.s.p,
                                                      f->held[c].u.s.len));
    return AX_OK;
}

ax_status ax_final_run(ax_lane *l, uint32_t i, ax_batch **b)
{
    const ax_op *op = l->stage->op[i];
    struct ax_final *f = l->ops[i].final;
    uint32_t version = op->node->u.final.version_col;
    ax_batch *in = *b;

    f->cur ^= 1;
    ax_arena_reset(f->arena[f->cur]);
    f->nemit = 0;
    for (uint32_t r = 0; r < in->nsel; r++)
    {
        uint32_t row = in->sel != NULL ? in->sel[r] : r;

        for (uint32_t c = 0; c < op->ncols; c++)
            f->row[c] = ax_vec_value(&in->col[c], row);
        if (f->have && same_key(op->node, f->held, f->row))
        {
            if (cmp_nullable(&f->row[version], &f->held[version]) < 0)
                continue;
        }
        else if (f->have)
            emit_row(op, f, f->held);
        memcpy(f->held, f->row, op->ncols * sizeof *f->held);
        f->have = true;
    }
    AX_TRY(hold(&l->task, op, f));
    return emit_batch(l, i, f->arena[f->cur], b);
}

ax_status ax_final_flush(ax_lane *l, uint32_t i, ax_batch **b)
{
    struct ax_final *f = l->ops[i].final;

    *b = NULL;
    if (!f->have)
        return AX_OK;
    f->have = false;
    f->nemit = 0;
    emit_row(l->stage->op[i], f, f->held);
    return emit_batch(l, i, f->arena[f->cur], b);
}

/* ---- key sets -------------------------------------------------------------------------------- */

struct ax_keyset
{
    pthread_mutex_t lock;    /* guards everything while stages fill the set */
    ax_arena *arena;
    const uint32_t *col;     /* columns of the probed rows; borrowed from the plan */
    uint32_t ncol;           /* 0: positions (split, row) */
    struct key { uint64_t hash; const uint8_t *p; uint32_t len; } *slot;
    uint32_t nslots, n;
};

#define KEY_BYTES 1024u

/* A key being serialised: on the stack while short. */
typedef struct keybuf { uint8_t *p; uint32_t len, cap; uint8_t room[KEY_BYTES]; } keybuf;

ax_status ax_keyset_create(ax_task *t, const uint32_t *col, uint32_t ncol, ax_keyset **out)
{
    ax_keyset *s;

    AX_NEW(t, s, (ax_keyset *) ax_obj_alloc(sizeof *s));
    *out = s;
    pthread_mutex_init(&s->lock, NULL);
    s->col = col;
    s->ncol = ncol;
    AX_NEW(t, s->arena, ax_arena_create(t->budget, 0));
    return AX_OK;
}

void ax_keyset_destroy(ax_keyset *s)
{
    if (s == NULL)
        return;
    ax_arena_destroy(s->arena);
    pthread_mutex_destroy(&s->lock);
    ax_obj_free(s);
}

static ax_status key_add(ax_task *t, keybuf *k, const void *p, uint32_t n)
{
    if (n > k->cap - k->len)
    {
        uint8_t *grown;
        uint32_t cap = (k->cap + n) * 2;

        AX_CHECK(t, n < (1u << 30) && k->len < (1u << 30), AX_ELIMIT, "a delete key is too long");
        AX_NEW(t, grown, (uint8_t *) ax_arena_alloc(t->arena, cap));
        memcpy(grown, k->p, k->len);
        k->p = grown;
        k->cap = cap;
    }
    if (n > 0)
        memcpy(k->p + k->len, p, n);
    k->len += n;
    return AX_OK;
}

/* Equal values, equal bytes. */
static ax_status key_value(ax_task *t, keybuf *k, const ax_value *v)
{
    ax_num num = v->u.num;
    double f = v->u.f;

    AX_TRY(key_add(t, k, &v->null, 1));
    if (v->null)
        return AX_OK;
    switch ((ax_phys) v->type.phys)
    {
    case AX_P_STR:
        AX_TRY(key_add(t, k, &v->u.s.len, sizeof v->u.s.len));
        return key_add(t, k, v->u.s.p, v->u.s.len);
    case AX_P_F32:
    case AX_P_F64:
        if (f == 0)
            f = 0; /* no negative zero */
        if (f != f)
            f = __builtin_nan("");
        return key_add(t, k, &f, sizeof f);
    case AX_P_NUM:
        while (num.special == AX_NUM_FINITE && num.dscale > 0 && num.v % 10 == 0)
        {
            num.v /= 10;
            num.dscale--;
        }
        AX_TRY(key_add(t, k, &num.v, sizeof num.v));
        AX_TRY(key_add(t, k, &num.dscale, sizeof num.dscale));
        return key_add(t, k, &num.special, sizeof num.special);
    case AX_P_FIX16:
        return key_add(t, k, v->u.fix, sizeof v->u.fix);
    case AX_P_INTERVAL:
        return key_add(t, k, &v->u.iv, sizeof v->u.iv);
    default:
        return key_add(t, k, &v->u.i, sizeof v->u.i);
    }
}

static struct key *find(const ax_keyset *s, uint64_t h, const keybuf *k)
{
    uint32_t i = (uint32_t) h & (s->nslots - 1);

    while (s->slot[i].p != NULL && (s->slot[i].hash != h || s->slot[i].len != k->len ||
                                    memcmp(s->slot[i].p, k->p, k->len) != 0))
        i = (i + 1) & (s->nslots - 1);
    return &s->slot[i];
}

static ax_status grow(ax_task *t, ax_keyset *s)
{
    uint32_t n = s->nslots == 0 ? 1024 : s->nslots * 2;
    struct key *old = s->slot;
    uint32_t nold = s->nslots;

    AX_CHECK(t, n <= (1u << 30), AX_ELIMIT, "too many deleted keys");
    AX_NEW(t, s->slot, (struct key *) ax_arena_alloc0(s->arena, (size_t) n * sizeof *s->slot));
    s->nslots = n;
    for (uint32_t i = 0; i < nold; i++)
    {
        uint32_t at = (uint32_t) old[i].hash & (n - 1);

        if (old[i].p == NULL)
            continue;
        while (s->slot[at].p != NULL)
            at = (at + 1) & (n - 1);
        s->slot[at] = old[i];
    }
    return AX_OK;
}

static ax_status add_key(ax_task *t, ax_keyset *s, const keybuf *k)
{
    uint64_t h = ax_hash_bytes(k->p, k->len, 0);
    struct key *e;

    if (s->n * 2 >= s->nslots)
        AX_TRY(grow(t, s));
    e = find(s, h, k);
    if (e->p != NULL)
        return AX_OK;
    AX_NEW(t, e->p, (const uint8_t *) ax_arena_strndup(s->arena, (const char *) k->p, k->len));
    e->hash = h;
    e->len = k->len;
    s->n++;
    return AX_OK;
}

static ax_status put_rows(ax_task *t, ax_keyset *s, const ax_batch *b)
{
    uint32_t ncol = s->ncol > 0 ? s->ncol : 2;

    for (uint32_t r = 0; r < b->nsel; r++)
    {
        keybuf k = {.cap = KEY_BYTES};

        k.p = k.room;
        for (uint32_t c = 0; c < ncol; c++)
        {
            ax_value v = ax_vec_value(&b->col[c], b->sel != NULL ? b->sel[r] : r);

            AX_TRY(key_value(t, &k, &v));
        }
        AX_TRY(add_key(t, s, &k));
    }
    return AX_OK;
}

ax_status ax_keyset_put(ax_task *t, ax_keyset *s, ax_batch *b)
{
    ax_status st;

    pthread_mutex_lock(&s->lock);
    st = put_rows(t, s, b);
    pthread_mutex_unlock(&s->lock);
    return st;
}

/* The key of row `row` of a probed batch. */
static ax_status probe_key(ax_task *t, const ax_keyset *s, const ax_batch *b, uint32_t row,
                           keybuf *k)
{
    ax_rowid id = b->rowid != NULL ? b->rowid[row] : (ax_rowid){b->split, b->row0 + row};
    ax_value v = {.type = ax_type_make(AX_T_INT8)};

    for (uint32_t c = 0; c < s->ncol; c++)
    {
        ax_value of = ax_vec_value(&b->col[s->col[c]], row);

        AX_TRY(key_value(t, k, &of));
    }
    if (s->ncol > 0)
        return AX_OK;
    v.u.i = id.split;
    AX_TRY(key_value(t, k, &v));
    v.u.i = id.row;
    return key_value(t, k, &v);
}

ax_status ax_keyset_remove(ax_task *t, const ax_keyset *s, ax_batch *b, uint16_t *sel)
{
    uint32_t n = 0;

    if (s->n == 0)
        return AX_OK;
    for (uint32_t r = 0; r < b->nsel; r++)
    {
        uint32_t row = b->sel != NULL ? b->sel[r] : r;
        keybuf k = {.cap = KEY_BYTES};

        k.p = k.room;
        AX_TRY(probe_key(t, s, b, row, &k));
        if (find(s, ax_hash_bytes(k.p, k.len, 0), &k)->p == NULL)
            sel[n++] = (uint16_t) row;
    }
    b->sel = sel;
    b->nsel = n;
    return AX_OK;
}
