/* Turns trees into automata: a nondeterministic one over bytes of UTF-8 (Thompson's), then a table.
 *
 * Bounds: 4096 nodes, 1024 states, and a limit on the work in between, so that no pattern can make
 * compiling slow; whatever exceeds them is refused.  Running is one table load a byte.
 *
 * A character about whose class the collation decides leads to the node ASK, which stays: a string
 * that has not matched otherwise, but could have with such a character in the class, must be asked
 * of the host. */
#include "func/regex_int.h"

#include <string.h>

enum { MAX_NODES = 4096, MAX_DEPTH = 2000 };
#define MAX_WORK UINT64_C(60000000)

typedef enum nfa_kind { N_SET, N_SPLIT, N_BOL, N_EOL, N_MATCH, N_ASK } nfa_kind;

typedef struct nfa_node
{
    uint8_t kind;
    uint32_t out, out2; /* out2: SPLIT */
    uint64_t bits[4];   /* SET: bytes */
} nfa_node;

typedef struct builder
{
    ax_task *t;
    ax_arena *a;        /* scratch, dies with the call */
    nfa_node *nfa;      /* [MAX_NODES] */
    uint32_t n;
    uint32_t match, ask;
    uint32_t depth;
    bool reverse;

    /* determinising */
    uint32_t words;        /* of a set of nodes */
    uint64_t **closure;    /* [n] what is reached from a node without reading; NULL: not yet */
    uint32_t *stack;       /* [n] */
    uint8_t cls[256];
    uint8_t rep[256];      /* a byte of each class */
    uint32_t ncls;
    uint64_t *sets;        /* [states][words] */
    uint32_t nstates;
    uint32_t *slots;       /* hash table of state + 1 */
    uint64_t work;
} builder;

enum { SLOTS = 4096 };

#define TOO_LARGE(b)                                                                               \
    ax_fail((b)->t, AX_EUNSUPPORTED, "regular expression: its automaton is too large")

/* ---- nodes ----------------------------------------------------------------------------------- */

static ax_status node_add(builder *b, nfa_kind kind, uint32_t out, uint32_t out2, uint32_t *id)
{
    if (b->n == MAX_NODES)
        return TOO_LARGE(b);
    b->nfa[b->n] = (nfa_node){.kind = (uint8_t) kind, .out = out, .out2 = out2};
    *id = b->n++;
    return AX_OK;
}

static ax_status bytes_add(builder *b, uint32_t lo, uint32_t hi, uint32_t out, uint32_t *id)
{
    AX_TRY(node_add(b, N_SET, out, 0, id));
    for (uint32_t c = lo; c <= hi; c++)
        b->nfa[*id].bits[c >> 6] |= UINT64_C(1) << (c & 63);
    return AX_OK;
}

/* *id = what *id was, or alt. */
static ax_status or_add(builder *b, uint32_t alt, bool *have, uint32_t *id)
{
    if (*have)
        return node_add(b, N_SPLIT, *id, alt, id);
    *have = true;
    *id = alt;
    return AX_OK;
}

/* A sequence of n byte ranges. */
static ax_status seq_add(builder *b, const uint8_t *lo, const uint8_t *hi, uint32_t n, uint32_t out,
                         uint32_t *id)
{
    *id = out;
    for (uint32_t i = 0; i < n; i++)
    {
        uint32_t k = b->reverse ? i : n - 1 - i;

        AX_TRY(bytes_add(b, lo[k], hi[k], *id, id));
    }
    return AX_OK;
}

/* Characters lo..hi, both of the same number of bytes: split until the bytes of both differ in a
 * prefix only, and every byte behind runs over all continuations. */
static ax_status range_add(builder *b, uint32_t lo, uint32_t hi, uint32_t out, bool *have,
                           uint32_t *id)
{
    uint8_t x[4], y[4];
    uint32_t n, seq;

    for (uint32_t shift = 6; shift <= 18; shift += 6)
    {
        uint32_t mask = (1u << shift) - 1;

        if ((lo & ~mask) == (hi & ~mask))
            break;
        if ((lo & mask) != 0)
        {
            AX_TRY(range_add(b, lo, lo | mask, out, have, id));
            return range_add(b, (lo | mask) + 1, hi, out, have, id);
        }
        if ((hi & mask) != mask)
        {
            AX_TRY(range_add(b, lo, (hi & ~mask) - 1, out, have, id));
            return range_add(b, hi & ~mask, hi, out, have, id);
        }
    }
    n = ax_re_encode(lo, x);
    ax_re_encode(hi, y);
    AX_TRY(seq_add(b, x, y, n, out, &seq));
    return or_add(b, seq, have, id);
}

/* All characters from 0x80 on; what is not UTF-8 does not matter. */
static ax_status high_add(builder *b, uint32_t out, bool *have, uint32_t *id)
{
    static const uint8_t lo[4] = {0, 0x80, 0x80, 0x80}, hi[4] = {0, 0xBF, 0xBF, 0xBF};

    for (uint32_t n = 2; n <= 4; n++)
    {
        uint8_t x[4], y[4];
        uint32_t seq;

        memcpy(x, lo, 4);
        memcpy(y, hi, 4);
        x[0] = n == 2 ? 0xC2 : n == 3 ? 0xE0 : 0xF0;
        y[0] = n == 2 ? 0xDF : n == 3 ? 0xEF : 0xF4;
        AX_TRY(seq_add(b, x, y, n, out, &seq));
        AX_TRY(or_add(b, seq, have, id));
    }
    return AX_OK;
}

static ax_status set_add(builder *b, const re_set *s, uint32_t out, uint32_t *id)
{
    static const uint32_t first[4] = {0, 0x80, 0x800, 0x10000};
    static const uint32_t last[4] = {0, 0x7ff, 0xffff, 0x10ffff};
    bool have = false;
    uint32_t x = 0, ask = 0;

    AX_TRY(bytes_add(b, 1, 0, out, &x));
    AX_TRY(bytes_add(b, 1, 0, b->ask, &ask));
    for (uint32_t c = 1; c < 128; c++)
        if (s->low[c] != AX_RE_NO)
            b->nfa[s->low[c] == AX_RE_YES ? x : ask].bits[c >> 6] |= UINT64_C(1) << (c & 63);
    if (s->high_ask)
        b->nfa[ask].bits[2] = b->nfa[ask].bits[3] = ~UINT64_C(0);
    AX_TRY(or_add(b, x, &have, id));
    if ((b->nfa[ask].bits[0] | b->nfa[ask].bits[1] | b->nfa[ask].bits[2]) != 0)
        AX_TRY(or_add(b, ask, &have, id));
    if (re_set_high_all(s))
        return high_add(b, out, &have, id);
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 1; k < 4; k++)
        {
            uint32_t lo = s->r[i].lo > first[k] ? s->r[i].lo : first[k];
            uint32_t hi = s->r[i].hi < last[k] ? s->r[i].hi : last[k];

            if (lo <= hi)
                AX_TRY(range_add(b, lo, hi, out, &have, id));
        }
    return AX_OK;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static ax_status build(builder *b, const re_node *x, uint32_t out, uint32_t *id);

static ax_status build_rep(builder *b, const re_node *x, uint32_t out, uint32_t *id)
{
    uint32_t body = 0, split = 0, copies = x->min;

    *id = out;
    if (x->max == AX_RE_INF)
    {
        AX_TRY(node_add(b, N_SPLIT, 0, out, &split));
        AX_TRY(build(b, x->first, split, &body));
        b->nfa[split].out = body;
        *id = copies > 0 ? body : split;
        copies -= copies > 0;
    }
    else
        for (uint32_t i = x->min; i < x->max; i++)
        {
            AX_TRY(build(b, x->first, *id, &body));
            AX_TRY(node_add(b, N_SPLIT, body, out, id));
        }
    for (; copies > 0; copies--)
        AX_TRY(build(b, x->first, *id, id));
    return AX_OK;
}

static ax_status build_alt(builder *b, const re_node *x, uint32_t out, uint32_t *id)
{
    bool have = false;
    uint32_t kid;

    for (const re_node *k = x->first; k != NULL; k = k->next)
    {
        AX_TRY(build(b, k, out, &kid));
        AX_TRY(or_add(b, kid, &have, id));
    }
    return AX_OK;
}

/* The node that reads x and goes on to `out`. */
static ax_status build(builder *b, const re_node *x, uint32_t out, uint32_t *id)
{
    uint8_t bytes[4];
    uint32_t n;

    if (++b->depth > MAX_DEPTH)
        return TOO_LARGE(b);
    *id = out;
    switch ((re_kind) x->kind)
    {
        case RE_EMPTY:
            break;
        case RE_CHAR:
            n = ax_re_encode(x->cp, bytes);
            AX_TRY(seq_add(b, bytes, bytes, n, out, id));
            break;
        case RE_SET:
            AX_TRY(set_add(b, x->set, out, id));
            break;
        case RE_CAT:
        case RE_GROUP:
            for (const re_node *k = b->reverse ? x->first : x->last; k != NULL;
                 k = b->reverse ? k->next : k->prev)
                AX_TRY(build(b, k, *id, id));
            break;
        case RE_ALT:
            AX_TRY(build_alt(b, x, out, id));
            break;
        case RE_REP:
            AX_TRY(build_rep(b, x, out, id));
            break;
        case RE_BOL:
        case RE_EOL:
            AX_TRY(node_add(b, (x->kind == RE_BOL) != b->reverse ? N_BOL : N_EOL, out, 0, id));
            break;
    }
    b->depth--;
    return AX_OK;
}

/* ---- closures -------------------------------------------------------------------------------- */

static inline bool bit_get(const uint64_t *set, uint32_t i) { return set[i >> 6] >> (i & 63) & 1; }
static inline void bit_set(uint64_t *set, uint32_t i) { set[i >> 6] |= UINT64_C(1) << (i & 63); }

/* Everything reached from `from` without reading, `from` included. */
static void close_over(builder *b, uint32_t from, bool at_start, bool at_end, uint64_t *set)
{
    uint32_t top = 0;

    if (bit_get(set, from))
        return;
    bit_set(set, from);
    b->stack[top++] = from;
    while (top > 0)
    {
        const nfa_node *x = &b->nfa[b->stack[--top]];
        bool pass = x->kind == N_SPLIT || (x->kind == N_BOL && at_start)
                 || (x->kind == N_EOL && at_end);
        uint32_t to[2] = {x->out, x->out2};

        b->work++;
        for (uint32_t k = 0; pass && k < (x->kind == N_SPLIT ? 2u : 1u); k++)
            if (!bit_get(set, to[k]))
            {
                bit_set(set, to[k]);
                b->stack[top++] = to[k];
            }
    }
}

/* The closure of a node away from both ends, remembered. */
static const uint64_t *closure_of(builder *b, uint32_t id)
{
    if (b->closure[id] == NULL)
    {
        b->closure[id] = (uint64_t *) ax_arena_alloc0(b->a, 8 * (size_t) b->words);
        if (b->closure[id] == NULL)
            return NULL;
        close_over(b, id, false, false, b->closure[id]);
    }
    return b->closure[id];
}

/* ---- classes of bytes ------------------------------------------------------------------------ */

/* Bytes that no node tells apart have one class. */
static void make_classes(builder *b)
{
    uint16_t map[256][2];

    b->ncls = 1;
    for (uint32_t i = 0; i < b->n && b->ncls < 256; i++)
    {
        uint32_t m = 0;

        if (b->nfa[i].kind != N_SET)
            continue;
        memset(map, 0xff, sizeof map);
        for (uint32_t c = 0; c < 256; c++)
        {
            uint16_t *to = &map[b->cls[c]][bit_get(b->nfa[i].bits, c)];

            if (*to == UINT16_MAX)
                *to = (uint16_t) m++;
            b->cls[c] = (uint8_t) *to;
        }
        b->ncls = m;
    }
    for (uint32_t c = 256; c-- > 0;)
        b->rep[b->cls[c]] = (uint8_t) c;
}

/* ---- states ---------------------------------------------------------------------------------- */

static uint64_t *state_set(const builder *b, uint32_t s) { return b->sets + (size_t) s * b->words; }

static uint64_t hash_set(const uint64_t *set, uint32_t words)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

    for (uint32_t i = 0; i < words; i++)
    {
        h = (h ^ set[i]) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

/* The state of a set; a new one if there is none yet. */
static ax_status state_of(builder *b, const uint64_t *set, uint32_t *out)
{
    uint32_t slot = (uint32_t) hash_set(set, b->words) % SLOTS;

    b->work += b->words;
    for (; b->slots[slot] != 0; slot = (slot + 1) % SLOTS)
    {
        *out = b->slots[slot] - 1;
        b->work += b->words;
        if (memcmp(state_set(b, *out), set, 8 * (size_t) b->words) == 0)
            return AX_OK;
    }
    if (b->nstates == AX_RE_MAX_STATES)
        return TOO_LARGE(b);
    memcpy(state_set(b, b->nstates), set, 8 * (size_t) b->words);
    *out = b->nstates++;
    b->slots[slot] = *out + 1;
    return AX_OK;
}

/* What a state reaches by a byte; into `to`, which is zero. */
static ax_status step(builder *b, const uint64_t *from, uint32_t byte, uint64_t *to)
{
    for (uint32_t w = 0; w < b->words; w++)
        for (uint64_t k = from[w]; k != 0; k &= k - 1)
        {
            const nfa_node *x = &b->nfa[w * 64 + (uint32_t) __builtin_ctzll(k)];
            const uint64_t *c;

            b->work++;
            if (x->kind != N_SET || !bit_get(x->bits, byte))
                continue;
            AX_NEW(b->t, c, closure_of(b, x->out));
            b->work += b->words;
            for (uint32_t i = 0; i < b->words; i++)
                to[i] |= c[i];
        }
    if (bit_get(from, b->ask))
        bit_set(to, b->ask);
    return AX_OK;
}

/* The answer when the string ends in this state. */
static uint8_t verdict(builder *b, const uint64_t *set, bool at_start, uint64_t *scratch)
{
    if (bit_get(set, b->match))
        return AX_RE_YES;
    memset(scratch, 0, 8 * (size_t) b->words);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->nfa[i].kind == N_EOL && bit_get(set, i))
            close_over(b, i, at_start, true, scratch);
    if (bit_get(scratch, b->match))
        return AX_RE_YES;
    return bit_get(set, b->ask) ? AX_RE_ASK : AX_RE_NO;
}

/* Rows 0 and 1 are dead and matched; the first state of the string, which alone may pass ^, is 2:
 * it has a set of its own even when another state has the same. */
static ax_status determinise(builder *b, uint32_t entry, re_mode mode, uint32_t *table)
{
    uint32_t stride = b->ncls + 1, dead;
    const uint64_t *restart;
    uint64_t *to, *scratch;

    AX_NEW(b->t, to, ax_arena_alloc0(b->a, 8 * (size_t) b->words));
    AX_NEW(b->t, scratch, ax_arena_alloc0(b->a, 8 * (size_t) b->words));
    AX_NEW(b->t, restart, closure_of(b, entry));
    AX_TRY(state_of(b, to, &dead)); /* the empty set: 0 */
    b->nstates = 3;
    close_over(b, entry, true, false, state_set(b, 2));
    for (uint32_t c = 0; c < stride; c++)
    {
        table[c] = 0;
        table[stride + c] = stride;
    }
    table[stride - 1] = AX_RE_NO;
    table[2 * stride - 1] = AX_RE_YES;
    for (uint32_t s = 2; s < b->nstates; s++)
    {
        uint32_t *row = table + (size_t) s * stride;

        row[b->ncls] = verdict(b, state_set(b, s), s == 2, scratch);
        for (uint32_t c = 0; c < b->ncls; c++)
        {
            uint32_t next = 1;

            if (b->work > MAX_WORK)
                return TOO_LARGE(b);
            memset(to, 0, 8 * (size_t) b->words);
            AX_TRY(step(b, state_set(b, s), b->rep[c], to));
            for (uint32_t i = 0; mode == RE_SEARCH && i < b->words; i++)
                to[i] |= restart[i];
            if (mode != RE_SEARCH || !bit_get(to, b->match))
                AX_TRY(state_of(b, to, &next));
            row[c] = next * stride;
        }
    }
    return AX_OK;
}

static ax_status make(builder *b, ax_arena *a, re_node *const *xs, uint32_t n, re_mode mode,
                      re_dfa *out)
{
    uint32_t entry, *table, *kept;
    size_t bytes;

    AX_NEW(b->t, b->nfa, ax_arena_alloc(b->a, sizeof(nfa_node) * MAX_NODES));
    AX_TRY(node_add(b, N_MATCH, 0, 0, &b->match));
    AX_TRY(node_add(b, N_ASK, 0, 0, &b->ask));
    entry = b->match;
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(build(b, xs[b->reverse ? i : n - 1 - i], entry, &entry));
    b->words = (b->n + 63) / 64;
    make_classes(b);
    AX_NEW(b->t, b->closure, ax_arena_alloc0(b->a, sizeof(*b->closure) * b->n));
    AX_NEW(b->t, b->stack, ax_arena_alloc(b->a, sizeof(*b->stack) * b->n));
    AX_NEW(b->t, b->slots, ax_arena_alloc0(b->a, sizeof(*b->slots) * SLOTS));
    AX_NEW(b->t, b->sets, ax_arena_alloc0(b->a, (AX_RE_MAX_STATES + 1) * 8 * (size_t) b->words));
    AX_NEW(b->t, table,
           ax_arena_alloc(b->a, AX_RE_MAX_STATES * sizeof(uint32_t) * (b->ncls + 1)));
    AX_TRY(determinise(b, entry, mode, table));
    out->stride = b->ncls + 1;
    out->start = 2 * out->stride;
    if (mode == RE_SEARCH && bit_get(state_set(b, 2), b->match))
        out->start = out->stride;
    memcpy(out->cls, b->cls, sizeof out->cls);
    bytes = sizeof(uint32_t) * (size_t) b->nstates * out->stride;
    AX_NEW(b->t, kept, ax_arena_values(a, bytes));
    memcpy(kept, table, bytes);
    out->next = kept;
    return AX_OK;
}

ax_status ax_re_dfa(ax_task *t, ax_arena *a, re_node *const *xs, uint32_t n, re_mode mode,
                    re_dfa *out)
{
    builder b = {.t = t, .a = ax_arena_create(t->budget, 0), .reverse = mode == RE_REVERSE};
    ax_status s;

    if (b.a == NULL)
        return ax_fail_nomem(t, 0);
    s = make(&b, a, xs, n, mode, out);
    ax_arena_destroy(b.a);
    return s;
}
