/* The memo of a host function: argument tuples to values or errors.
 *
 * Keys are the exact bytes of the arguments (-0 and 0 are different inputs of a function).  Entries
 * are immutable and never move; the table grows under the memo's lock, which an evaluator takes
 * once a batch. */
#include "expr/expr_int.h"

#include "base/hash.h"

#include <pthread.h>
#include <string.h>

typedef struct entry
{
    struct entry *next;      /* in its bucket */
    uint64_t hash;
    uint32_t key_len;
    bool raises;
    ax_value value;
    ax_error *err;
    uint8_t key[];
} entry;

struct ax_host_memo
{
    pthread_mutex_t lock;
    ax_arena *arena;         /* guarded by lock */
    entry **bucket;          /* guarded by lock */
    uint32_t mask, n;        /* guarded by lock */
};

static void memo_end(void *arg)
{
    ax_host_memo *m = (ax_host_memo *) arg;

    pthread_mutex_destroy(&m->lock);
    ax_arena_destroy(m->arena);
}

ax_status ax_host_memo_create(ax_task *t, ax_arena *a, ax_host_memo **out)
{
    ax_host_memo *m;

    AX_NEW(t, m, ax_arena_alloc0(a, sizeof(*m)));
    AX_NEW(t, m->arena, ax_arena_create(ax_arena_budget(a), 0));
    pthread_mutex_init(&m->lock, NULL);
    if (!ax_arena_on_reset(a, memo_end, m))
    {
        memo_end(m);
        return ax_fail_nomem(t, sizeof(*m));
    }
    m->mask = 63;
    AX_NEW(t, m->bucket, ax_arena_alloc0(m->arena, sizeof(entry *) * (m->mask + 1)));
    *out = m;
    return AX_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Bytes of one argument: a null flag, then the value; strings with their length. */
static uint32_t key_part(const ax_vec *v, uint32_t row, uint8_t *out)
{
    uint32_t at = v->kind == AX_VK_CONST ? 0 : row, width;

    if (v->null != NULL && v->null[at])
    {
        if (out != NULL)
            out[0] = 1;
        return 1;
    }
    if (out != NULL)
        out[0] = 0;
    if (ax_type_is_str(v->type))
    {
        uint32_t len;
        const uint8_t *p = ax_vec_str(v, at, &len);

        if (out != NULL)
        {
            memcpy(out + 1, &len, 4);
            if (len > 0)
                memcpy(out + 5, p, len);
        }
        return 5 + len;
    }
    width = ax_phys_width(v->type.phys);
    if (out == NULL)
        return 1 + width;
    if (v->type.phys == AX_P_NUM)
    {
        /* padding is not part of a number */
        const ax_num *n = &((const ax_num *) v->u.data)[at];

        memset(out + 1, 0, width);
        memcpy(out + 1, &n->v, sizeof(n->v));
        memcpy(out + 1 + sizeof(n->v), &n->dscale, sizeof(n->dscale));
        out[1 + sizeof(n->v) + sizeof(n->dscale)] = n->special;
    }
    else
        memcpy(out + 1, (const uint8_t *) v->u.data + (size_t) width * at, width);
    return 1 + width;
}

static uint32_t key_len(const ax_vec *const *arg, uint32_t nargs, uint32_t row)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < nargs; k++)
        n += key_part(arg[k], row, NULL);
    return n;
}

static void key_write(const ax_vec *const *arg, uint32_t nargs, uint32_t row, uint8_t *out)
{
    for (uint32_t k = 0; k < nargs; k++)
        out += key_part(arg[k], row, out);
}

static entry *memo_find(const ax_host_memo *m, uint64_t h, const uint8_t *key, uint32_t len)
{
    entry *x = m->bucket[h & m->mask];

    while (x != NULL && (x->hash != h || x->key_len != len || memcmp(x->key, key, len) != 0))
        x = x->next;
    return x;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Rows of the scope whose input is not known: distinct ones become the need. */
typedef struct asker
{
    ax_eval *e;
    const ax_vec *const *arg;
    const ax_node *n;
    uint8_t *key;
    uint32_t key_cap;
    entry **found;           /* [rows of the scope] */
    uint32_t *missing;       /* rows to ask for, distinct */
    uint64_t *missing_hash;
    uint32_t nmissing;
} asker;

static ax_status key_of(ax_task *t, asker *q, uint32_t row, uint32_t *len)
{
    *len = key_len(q->arg, q->n->nargs, row);
    if (*len > q->key_cap)
    {
        q->key_cap = *len * 2;
        AX_NEW(t, q->key, ax_arena_alloc(t->arena, q->key_cap));
    }
    key_write(q->arg, q->n->nargs, row, q->key);
    return AX_OK;
}

/* Two rows with one input? */
static bool same_input(const asker *q, uint32_t a, uint32_t b, uint32_t len, ax_task *t)
{
    uint8_t *other;

    if (key_len(q->arg, q->n->nargs, a) != len)
        return false;
    other = ax_arena_alloc(t->arena, len + 1);
    if (other == NULL)
        return false; /* asked twice: costs time only */
    key_write(q->arg, q->n->nargs, a, other);
    (void) b;
    return memcmp(other, q->key, len) == 0;
}

static ax_status note_missing(ax_task *t, asker *q, uint32_t *slot, uint32_t mask, uint32_t row,
                              uint64_t h, uint32_t len)
{
    for (uint64_t at = h;; at++)
    {
        uint32_t *s = &slot[at & mask];

        if (*s == 0)
        {
            q->missing[q->nmissing] = row;
            q->missing_hash[q->nmissing++] = h;
            *s = q->nmissing;
            return AX_OK;
        }
        if (q->missing_hash[*s - 1] == h && same_input(q, q->missing[*s - 1], row, len, t))
            return AX_OK;
    }
}

static ax_status look_up(ax_task *t, asker *q, const ax_scope *sc)
{
    ax_host_memo *m = q->n->memo;
    const uint32_t mask = 4 * AX_BATCH_ROWS - 1;
    uint32_t *slot;
    ax_status s = AX_OK;

    AX_NEW(t, slot, ax_arena_alloc0(t->arena, sizeof(*slot) * (mask + 1)));
    pthread_mutex_lock(&m->lock);
    for (uint32_t k = 0; k < sc->n && s == AX_OK; k++)
    {
        uint32_t row = ax_scope_row(sc, k), len;
        uint64_t h;

        s = key_of(t, q, row, &len);
        if (s != AX_OK)
            break;
        h = ax_hash_bytes(q->key, len, 0);
        q->found[k] = memo_find(m, h, q->key, len);
        if (q->found[k] == NULL)
            s = note_missing(t, q, slot, mask, row, h, len);
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

static ax_status make_need(ax_task *t, asker *q)
{
    ax_eval *e = q->e;

    if (e->need_cap < q->n->nargs)
    {
        AX_NEW(t, e->need_arg, ax_arena_alloc(e->arena, sizeof(ax_vec) * q->n->nargs));
        e->need_cap = q->n->nargs;
    }
    for (uint32_t k = 0; k < q->n->nargs; k++)
        AX_TRY(ax_vec_gather32(t, t->arena, q->arg[k], q->missing, q->nmissing, false,
                               &e->need_arg[k]));
    e->need = (ax_host_need){q->n->host, q->n->memo, e->need_arg, q->n->nargs, q->nmissing};
    return AX_EVAL_NEED;
}

static void store(ax_eval *e, uint32_t i, uint32_t row, const ax_value *v)
{
    ax_reg *r = &e->reg[i];

    r->null[row] = v->null;
    if (ax_type_is_str(e->prog->node[i].type))
    {
        ((const uint8_t **) r->data)[row] = v->null ? (const uint8_t *) r->len : v->u.s.p;
        r->len[row] = v->null ? 0 : v->u.s.len;
    }
    else if (!v->null)
        ax_value_store(v, r->data, row);
}

ax_status ax_eval_host(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc)
{
    const ax_node *n = &e->prog->node[i];
    asker q = {.e = e, .n = n};
    const ax_vec **arg;
    ax_reg *r = &e->reg[i];
    ax_vec v = {.kind = AX_VK_FLAT, .type = n->type, .n = e->n};

    AX_NEW(t, arg, ax_arena_alloc(t->arena, sizeof(*arg) * (n->nargs + 1)));
    for (uint32_t k = 0; k < n->nargs; k++)
        AX_TRY(ax_eval_flat(t, e, n->arg[k], sc, &arg[k]));
    AX_TRY(ax_reg_buffers(t, e, i));
    q.arg = arg;
    AX_NEW(t, q.found, ax_arena_alloc(t->arena, sizeof(*q.found) * sc->n));
    AX_NEW(t, q.missing, ax_arena_alloc(t->arena, sizeof(*q.missing) * sc->n));
    AX_NEW(t, q.missing_hash, ax_arena_alloc(t->arena, sizeof(*q.missing_hash) * sc->n));
    AX_TRY(look_up(t, &q, sc));
    if (q.nmissing > 0)
        return make_need(t, &q);
    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t row = ax_scope_row(sc, k);

        if (q.found[k]->raises)
            return ax_eval_fail_row(e, q.found[k]->err->code, row, NULL, q.found[k]->err);
        store(e, i, row, &q.found[k]->value);
    }
    v.null = r->null;
    if (ax_type_is_str(n->type))
    {
        v.kind = AX_VK_VIEW;
        v.u.view.ptr = (const uint8_t *const *) r->data;
        v.u.view.len = r->len;
    }
    else
        v.u.data = r->data;
    ax_reg_set(e, i, sc->id, &v);
    return AX_OK;
}

/* ---- answering ------------------------------------------------------------------------------- */

static ax_status memo_grow(ax_task *t, ax_host_memo *m)
{
    uint32_t mask = 2 * m->mask + 1;
    entry **bucket;

    if (m->n <= m->mask)
        return AX_OK;
    AX_NEW(t, bucket, ax_arena_alloc0(m->arena, sizeof(*bucket) * ((size_t) mask + 1)));
    for (uint32_t i = 0; i <= m->mask; i++)
        for (entry *x = m->bucket[i], *next; x != NULL; x = next)
        {
            next = x->next;
            x->next = bucket[x->hash & mask];
            bucket[x->hash & mask] = x;
        }
    m->bucket = bucket;
    m->mask = mask;
    return AX_OK;
}

static ax_status memo_add(ax_task *t, ax_host_memo *m, const ax_vec *const *arg, uint32_t nargs,
                          uint32_t row, const ax_value *result, const ax_error *raised)
{
    uint32_t len = key_len(arg, nargs, row);
    uint64_t h;
    entry *x;

    AX_NEW(t, x, ax_arena_alloc0(m->arena, sizeof(*x) + len));
    key_write(arg, nargs, row, x->key);
    h = ax_hash_bytes(x->key, len, 0);
    if (memo_find(m, h, x->key, len) != NULL)
        return AX_OK; /* another lane asked the same */
    x->hash = h;
    x->key_len = len;
    x->raises = raised != NULL;
    if (raised != NULL)
    {
        AX_NEW(t, x->err, ax_arena_alloc(m->arena, sizeof(*x->err)));
        *x->err = *raised;
        if (x->err->code == AX_OK)
            x->err->code = AX_EPLAN; /* an error without a code is still one */
    }
    else
        AX_TRY(ax_value_copy(t, m->arena, result, &x->value));
    AX_TRY(memo_grow(t, m));
    x->next = m->bucket[h & m->mask];
    m->bucket[h & m->mask] = x;
    m->n++;
    return AX_OK;
}

ax_status ax_host_reply(ax_task *t, const ax_host_need *need, const ax_value *result,
                        const ax_error *const *raised)
{
    ax_status s = AX_OK;
    const ax_vec **arg;

    AX_NEW(t, arg, ax_arena_alloc(t->arena, sizeof(*arg) * (need->nargs + 1)));
    for (uint32_t k = 0; k < need->nargs; k++)
        arg[k] = &need->arg[k];
    pthread_mutex_lock(&need->memo->lock);
    for (uint32_t i = 0; i < need->nrows && s == AX_OK; i++)
        s = memo_add(t, need->memo, arg, need->nargs, i, &result[i],
                     raised != NULL ? raised[i] : NULL);
    pthread_mutex_unlock(&need->memo->lock);
    return s;
}
