/* Rows that other rows remove: key sets of deletes.
 *
 * Key sets: serialised keys in an open-addressing table, filled under a lock, then only read.
 * Nulls equal nulls; numbers are normalised so that equal values have equal bytes. */
#include "base/hash.h"
#include "exec/exec_int.h"

#include <string.h>

/* ---- values as vectors ----------------------------------------------------------------------- */

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
