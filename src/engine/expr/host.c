/* The memo of a host function: argument tuples to values or errors.
 *
 * Keys are the exact bytes of the arguments (-0 and 0 are different inputs of a function).  Entries
 * are immutable and never move.
 *
 * Bounds.  Entries live in generations, each an arena and a table.  When the current one is full it
 * becomes the previous one, and what was previous is forgotten; so what is asked for again and
 * again is asked for once in two generations.  Vectors that an evaluator gives out point into
 * entries: it pins the generations it took them from until its next run, and what it asked for
 * until that run is over, so that every batch is finished whatever others ask for meanwhile.
 *
 *   current --full--> previous --next one full--> retired --no pins--> freed
 *
 * The lock guards tables and pins.  An evaluator takes it once a batch, to look up the distinct
 * inputs of the batch. */
#include "expr/expr_int.h"

#include "base/hash.h"

#include <pthread.h>
#include <string.h>

#define GEN_BYTES (INT64_C(8) << 20) /* of a generation; less under a small budget */
#define CROWDED_BYTES (INT64_C(256) << 10)

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

struct ax_host_gen
{
    ax_host_gen *next;       /* all generations of the memo */
    ax_arena *arena;
    entry **bucket;
    uint32_t mask, n;
    uint32_t pins;
    bool retired;
};

struct ax_host_memo
{
    pthread_mutex_t lock;    /* guards everything below, and the generations */
    ax_arena *arena;         /* of the program; its budget is charged */
    int64_t gen_bytes;
    ax_host_gen *all, *cur, *prev;
    ax_host_gen *spare;      /* structs of freed generations */
};

/* ---- generations ----------------------------------------------------------------------------- */

static void gen_free(ax_host_memo *m, ax_host_gen *g)
{
    ax_host_gen **p = &m->all;

    while (*p != g)
        p = &(*p)->next;
    *p = g->next;
    ax_arena_destroy(g->arena);
    g->next = m->spare;
    m->spare = g;
}

static void gen_retire(ax_host_memo *m, ax_host_gen *g)
{
    g->retired = true;
    if (g->pins == 0)
        gen_free(m, g);
}

/* A new current generation. */
static ax_status gen_turn(ax_task *t, ax_host_memo *m)
{
    ax_host_gen *g = m->spare;
    ax_arena *arena;
    entry **bucket;

    AX_NEW(t, arena, ax_arena_create(ax_arena_budget(m->arena), 0));
    bucket = ax_arena_alloc0(arena, sizeof(entry *) * 64);
    if (g == NULL && bucket != NULL)
        g = ax_arena_alloc(m->arena, sizeof(*g));
    else if (g != NULL && bucket != NULL)
        m->spare = g->next;
    if (g == NULL || bucket == NULL)
    {
        ax_arena_destroy(arena);
        return ax_fail_nomem(t, sizeof(*g));
    }
    *g = (ax_host_gen){.next = m->all, .arena = arena, .bucket = bucket, .mask = 63};
    m->all = g;
    if (m->prev != NULL)
        gen_retire(m, m->prev);
    m->prev = m->cur;
    m->cur = g;
    return AX_OK;
}

static void memo_end(void *arg)
{
    ax_host_memo *m = (ax_host_memo *) arg;

    for (ax_host_gen *g = m->all; g != NULL; g = g->next)
        ax_arena_destroy(g->arena);
    pthread_mutex_destroy(&m->lock);
}

ax_status ax_host_memo_create(ax_task *t, ax_arena *a, ax_host_memo **out)
{
    ax_host_memo *m;

    AX_NEW(t, m, ax_arena_alloc0(a, sizeof(*m)));
    m->arena = a;
    m->gen_bytes = GEN_BYTES;
    for (const ax_budget *b = ax_arena_budget(a); b != NULL; b = b->parent)
        if (b->limit_bytes / 16 < m->gen_bytes)
            m->gen_bytes = b->limit_bytes / 16;
    pthread_mutex_init(&m->lock, NULL);
    if (!ax_arena_on_reset(a, memo_end, m))
    {
        memo_end(m);
        return ax_fail_nomem(t, sizeof(*m));
    }
    AX_TRY(gen_turn(t, m));
    *out = m;
    return AX_OK;
}

/* The lock is held.  The evaluator does not run, or calls this itself. */
static ax_status pin(ax_task *t, ax_eval *e, ax_host_memo *m, ax_host_gen *g)
{
    for (uint32_t i = 0; i < e->npins; i++)
        if (e->pin[i].gen == g)
            return AX_OK;
    if (e->npins == e->cap_pins)
    {
        uint32_t cap = e->cap_pins ? 2 * e->cap_pins : 8;
        ax_host_pin *more;

        AX_NEW(t, more, ax_arena_alloc(e->arena, sizeof(*more) * cap));
        if (e->npins > 0)
            memcpy(more, e->pin, sizeof(*more) * e->npins);
        e->pin = more;
        e->cap_pins = cap;
    }
    e->pin[e->npins++] = (ax_host_pin){m, g};
    g->pins++;
    return AX_OK;
}

void ax_host_unpin(ax_eval *e)
{
    for (uint32_t i = 0; i < e->npins; i++)
    {
        ax_host_memo *m = e->pin[i].memo;
        ax_host_gen *g = e->pin[i].gen;

        pthread_mutex_lock(&m->lock);
        if (--g->pins == 0 && g->retired)
            gen_free(m, g);
        pthread_mutex_unlock(&m->lock);
    }
    e->npins = 0;
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

static entry *gen_find(const ax_host_gen *g, uint64_t h, const uint8_t *key, uint32_t len)
{
    entry *x = g->bucket[h & g->mask];

    while (x != NULL && (x->hash != h || x->key_len != len || memcmp(x->key, key, len) != 0))
        x = x->next;
    return x;
}

/* An entry that stays until the evaluator's next run, or NULL.  The lock is held. */
static ax_status memo_find(ax_task *t, ax_eval *e, ax_host_memo *m, uint64_t h, const uint8_t *key,
                           uint32_t len, const entry **out)
{
    ax_host_gen *known[2] = {m->cur, m->prev};

    for (uint32_t i = 0; i < 2 && known[i] != NULL; i++)
    {
        *out = gen_find(known[i], h, key, len);
        if (*out != NULL)
            return pin(t, e, m, known[i]);
    }
    for (uint32_t i = 0; i < e->npins; i++) /* retired, but asked for by this batch */
    {
        *out = e->pin[i].memo == m ? gen_find(e->pin[i].gen, h, key, len) : NULL;
        if (*out != NULL)
            return AX_OK;
    }
    *out = NULL;
    return AX_OK;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The distinct inputs of a batch. */
typedef struct inputs
{
    ax_arena *arena;         /* of the attempt */
    const ax_vec **arg;      /* [nargs] FLAT, VIEW or CONST; or the values of one dictionary */
    uint32_t nargs;
    const ax_vec *dict;      /* not NULL: rows are ids of this vector, the only argument */
    uint32_t n;
    uint32_t *row;           /* [n] a row that has it */
    uint64_t *hash;          /* [n] */
    const uint8_t **key;     /* [n] */
    uint32_t *len;           /* [n] */
    uint16_t *of;            /* [rows of the scope] which input */
    const entry **found;     /* [n] */
} inputs;

/* The row in x->arg that stands for a row of the batch.  A null of the rows, not of the dictionary,
 * has none. */
static bool arg_row(const inputs *x, uint32_t row, uint32_t *at)
{
    *at = row;
    if (x->dict == NULL)
        return true;
    if (x->dict->null != NULL && x->dict->null[row])
        return false;
    *at = x->dict->u.dict.id[row];
    return true;
}

static ax_status input_key(ax_task *t, const inputs *x, uint32_t row, const uint8_t **key,
                           uint32_t *len)
{
    static const uint8_t null_key = 1;
    uint32_t at;
    uint8_t *p;

    if (!arg_row(x, row, &at))
    {
        *key = &null_key;
        *len = 1;
        return AX_OK;
    }
    *len = key_len(x->arg, x->nargs, at);
    AX_NEW(t, p, ax_arena_alloc(x->arena, *len));
    key_write(x->arg, x->nargs, at, p);
    *key = p;
    return AX_OK;
}

/* Number of the input with this key, which is new if no other row had it. */
static uint32_t input_of(inputs *x, uint32_t *slot, uint32_t mask, uint32_t row,
                         const uint8_t *key, uint32_t len)
{
    uint64_t h = ax_hash_bytes(key, len, 0);

    for (uint64_t at = h;; at++)
    {
        uint32_t *s = &slot[at & mask], i = *s - 1;

        if (*s != 0 && x->hash[i] == h && x->len[i] == len && memcmp(x->key[i], key, len) == 0)
            return i;
        if (*s != 0)
            continue;
        i = x->n++;
        x->row[i] = row;
        x->hash[i] = h;
        x->key[i] = key;
        x->len[i] = len;
        *s = x->n;
        return i;
    }
}

#define DICT_MAX 16384u /* larger dictionaries: clearing a table of ids costs more than it saves */

static ax_status distinct_inputs(ax_task *t, inputs *x, const ax_scope *sc)
{
    const uint32_t mask = 4 * AX_BATCH_ROWS - 1;
    uint32_t *slot, *of_id = NULL;

    AX_NEW(t, slot, ax_arena_alloc0(x->arena, sizeof(*slot) * (mask + 1)));
    AX_NEW(t, x->row, ax_arena_alloc(x->arena, sizeof(*x->row) * sc->n));
    AX_NEW(t, x->hash, ax_arena_alloc(x->arena, sizeof(*x->hash) * sc->n));
    AX_NEW(t, x->key, ax_arena_alloc(x->arena, sizeof(*x->key) * sc->n));
    AX_NEW(t, x->len, ax_arena_alloc(x->arena, sizeof(*x->len) * sc->n));
    AX_NEW(t, x->of, ax_arena_alloc(x->arena, sizeof(*x->of) * sc->n));
    AX_NEW(t, x->found, ax_arena_alloc(x->arena, sizeof(*x->found) * sc->n));
    if (x->dict != NULL)
        AX_NEW(t, of_id,
               ax_arena_alloc0(x->arena, sizeof(*of_id) * (x->dict->u.dict.dict->n + 1)));
    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t row = ax_scope_row(sc, k), at = 0, len = 0;
        const uint8_t *key = NULL;
        bool by_id = of_id != NULL && arg_row(x, row, &at);

        if (by_id && of_id[at] != 0)
        {
            x->of[k] = (uint16_t) (of_id[at] - 1);
            continue;
        }
        AX_TRY(input_key(t, x, row, &key, &len));
        x->of[k] = (uint16_t) input_of(x, slot, mask, row, key, len);
        if (by_id)
            of_id[at] = x->of[k] + 1u;
    }
    return AX_OK;
}

static void attempt_end(void *arg) { ax_arena_destroy((ax_arena *) arg); }

/* What one attempt needs dies with the next: a batch is attempted once more for each function of
 * another's result that lacks answers, and the task's memory lives as long as a split. */
static ax_status attempt_arena(ax_task *t, ax_eval *e)
{
    if (e->attempt == NULL)
    {
        ax_arena *a;

        AX_NEW(t, a, ax_arena_create(ax_arena_budget(e->arena), 0));
        if (!ax_arena_on_reset(e->arena, attempt_end, a))
        {
            ax_arena_destroy(a);
            return ax_fail_nomem(t, sizeof(void *));
        }
        e->attempt = a;
    }
    else if (e->attempt_run != e->run)
        ax_arena_reset(e->attempt);
    e->attempt_run = e->run;
    return AX_OK;
}

/* Arguments of host node i: the values of a small dictionary, or rows. */
static ax_status arguments(ax_task *t, ax_eval *e, const ax_node *n, const ax_scope *sc, inputs *x)
{
    x->nargs = n->nargs;
    AX_NEW(t, x->arg, ax_arena_alloc(x->arena, sizeof(*x->arg) * (n->nargs + 1)));
    if (n->nargs == 1)
    {
        const ax_vec *v = &e->reg[n->arg[0]].vec;

        AX_TRY(ax_eval_node(t, e, n->arg[0], sc));
        if (v->kind == AX_VK_DICT && v->u.dict.dict->n <= DICT_MAX
            && (v->u.dict.dict->val.kind == AX_VK_FLAT || v->u.dict.dict->val.kind == AX_VK_VIEW))
        {
            x->dict = v;
            x->arg[0] = &v->u.dict.dict->val;
            return AX_OK;
        }
    }
    for (uint32_t k = 0; k < n->nargs; k++)
        AX_TRY(ax_eval_flat(t, e, n->arg[k], sc, &x->arg[k]));
    return AX_OK;
}

static ax_status make_need(ax_task *t, ax_eval *e, const ax_node *n, const ax_scope *sc,
                           const inputs *x)
{
    uint32_t *missing, m = 0;
    ax_host_need *need;
    ax_vec *arg;

    AX_NEW(t, missing, ax_arena_alloc(x->arena, sizeof(*missing) * (x->n + 1)));
    for (uint32_t i = 0; i < x->n; i++)
        if (x->found[i] == NULL)
            missing[m++] = x->row[i];
    AX_NEW(t, need, ax_arena_alloc(x->arena, sizeof(*need)));
    AX_NEW(t, arg, ax_arena_alloc(x->arena, sizeof(*arg) * (n->nargs + 1)));
    for (uint32_t k = 0; k < n->nargs; k++)
    {
        const ax_vec *v;

        AX_TRY(ax_eval_flat(t, e, n->arg[k], sc, &v));
        AX_TRY(ax_vec_gather32(t, x->arena, v, missing, m, false, &arg[k]));
    }
    *need = (ax_host_need){n->host, n->memo, e, arg, n->nargs, m, NULL};
    *e->need_end = need;
    e->need_end = &need->next;
    e->asked = true;
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
    inputs x = {0};
    ax_reg *r = &e->reg[i];
    ax_vec v = {.kind = AX_VK_FLAT, .type = n->type, .n = e->n};
    ax_status s = AX_OK;
    bool missing = false;

    if (r->asked == e->run)
        return AX_EVAL_NEED; /* somebody else wants it, too */
    AX_TRY(attempt_arena(t, e));
    x.arena = e->attempt;
    AX_TRY(arguments(t, e, n, sc, &x));
    AX_TRY(ax_reg_buffers(t, e, i));
    AX_TRY(distinct_inputs(t, &x, sc));
    pthread_mutex_lock(&n->memo->lock);
    for (uint32_t k = 0; k < x.n && s == AX_OK; k++)
    {
        s = memo_find(t, e, n->memo, x.hash[k], x.key[k], x.len[k], &x.found[k]);
        missing |= x.found[k] == NULL;
    }
    pthread_mutex_unlock(&n->memo->lock);
    AX_TRY(s);
    if (missing)
    {
        r->asked = e->run;
        return make_need(t, e, n, sc, &x);
    }
    for (uint32_t k = 0; k < sc->n; k++)
    {
        uint32_t row = ax_scope_row(sc, k);
        const entry *found = x.found[x.of[k]];

        if (found->raises)
            return ax_eval_fail_row(e, found->err->code, row, NULL, found->err);
        store(e, i, row, &found->value);
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

static ax_status gen_grow(ax_task *t, ax_host_gen *g)
{
    uint32_t mask = 2 * g->mask + 1;
    entry **bucket;

    if (g->n <= g->mask)
        return AX_OK;
    AX_NEW(t, bucket, ax_arena_alloc0(g->arena, sizeof(*bucket) * ((size_t) mask + 1)));
    for (uint32_t i = 0; i <= g->mask; i++)
        for (entry *x = g->bucket[i], *next; x != NULL; x = next)
        {
            next = x->next;
            x->next = bucket[x->hash & mask];
            bucket[x->hash & mask] = x;
        }
    g->bucket = bucket;
    g->mask = mask;
    return AX_OK;
}

/* Bytes that a generation may have now.  A query may have a hundred memos: from half of the budget
 * on they keep little, and what they kept goes with their next turns. */
static int64_t gen_room(const ax_host_memo *m)
{
    for (const ax_budget *b = ax_arena_budget(m->arena); b != NULL; b = b->parent)
        if (atomic_load_explicit(&b->used_bytes, memory_order_relaxed) > b->limit_bytes / 2)
            return m->gen_bytes < CROWDED_BYTES ? m->gen_bytes : CROWDED_BYTES;
    return m->gen_bytes;
}

/* An answer, pinned for the evaluator that asked.  The lock is held. */
static ax_status memo_add(ax_task *t, const ax_host_need *need, const ax_vec *const *arg,
                          uint32_t row, const ax_value *result, const ax_error *raised)
{
    ax_host_memo *m = need->memo;
    uint32_t len = key_len(arg, need->nargs, row);
    const entry *known;
    ax_host_gen *g;
    uint64_t h;
    entry *x;

    if ((int64_t) ax_arena_used_bytes(m->cur->arena) >= gen_room(m))
        AX_TRY(gen_turn(t, m));
    g = m->cur;
    AX_NEW(t, x, ax_arena_alloc0(g->arena, sizeof(*x) + len));
    key_write(arg, need->nargs, row, x->key);
    h = ax_hash_bytes(x->key, len, 0);
    AX_TRY(memo_find(t, need->eval, m, h, x->key, len, &known));
    if (known != NULL)
        return AX_OK; /* another lane asked the same */
    x->hash = h;
    x->key_len = len;
    x->raises = raised != NULL;
    if (raised != NULL)
    {
        AX_NEW(t, x->err, ax_arena_alloc(g->arena, sizeof(*x->err)));
        *x->err = *raised;
        if (x->err->code == AX_OK)
            x->err->code = AX_EPLAN; /* an error without a code is still one */
    }
    else
        AX_TRY(ax_value_copy(t, g->arena, result, &x->value));
    AX_TRY(gen_grow(t, g));
    AX_TRY(pin(t, need->eval, m, g));
    x->next = g->bucket[x->hash & g->mask];
    g->bucket[x->hash & g->mask] = x;
    g->n++;
    return AX_OK;
}

/* Give up the previous generation; false: it is needed, or there is none. */
static bool memo_shrink(ax_host_memo *m)
{
    if (m->prev == NULL || m->prev->pins > 0)
        return false;
    gen_retire(m, m->prev);
    m->prev = NULL;
    return true;
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
    {
        const ax_error *err = raised != NULL ? raised[i] : NULL;

        s = memo_add(t, need, arg, i, &result[i], err);
        if (s == AX_ENOMEM && memo_shrink(need->memo))
        {
            ax_error_clear(&t->err);
            s = memo_add(t, need, arg, i, &result[i], err);
        }
    }
    pthread_mutex_unlock(&need->memo->lock);
    return s;
}
