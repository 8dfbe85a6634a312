/* Replaces by sequential patterns: ^ ... $ around characters, classes with greedy quantifiers, and
 * groups of such that stand once or are optional.
 *
 * Which submatches does the server take?  It splits the pattern into pieces: each outermost group
 * that captures, or contains one that does, and what lies between them.  Both ends being anchored,
 * the match is the whole string; from left to right each piece takes the longest part such that
 * the rest can still match, and then the same is done inside it.  (That is not what backtracking
 * engines do: in ^a?(?:ab)?(b?)$ on "ab" the first piece takes "ab".)
 *
 * A step is forced when all matches agree about it: a class whose bytes cannot begin what may
 * follow stops where the run of its bytes stops; an optional group whose first bytes cannot is
 * there or not.  Where a step is not forced, "longest" must be its own longest:
 *   a class    what follows in the same piece has a fixed length.  It ends at the last place in its
 *              run from where the rest matches: an automaton reads the rest from the end backwards.
 *   an option  what follows in the same piece varies by no more than the option is long.  It is
 *              taken if the rest matches then: tried first, given up on failure.
 * Everything else is refused.  Options that are not forced: three at most, so the time stays linear
 * in the string.
 *
 * Design: 7 ns a row for ^https?://(?:www\.)?([^/]+)/.*$ against 28 for a compiled backtracking
 * engine. */
#include "func/regex_int.h"

#include "base/bytes.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum
{
    MAX_ITEMS = 256,
    MAX_CAPS = 32,
    NO_CAP = MAX_CAPS + 1,  /* a slot that nobody reads */
    CAP_SLOTS = NO_CAP + 1,
    MAX_RETRY = 3,
    MAX_LAST = 8,
    MAX_PARTS = 64
};

typedef enum op_kind
{
    OP_LIT,   /* these bytes */
    OP_ONE,   /* this byte, or not: an optional ASCII character */
    OP_REST,  /* everything to the end */
    OP_RUN,   /* as many of these bytes as there are */
    OP_COUNT, /* min..max characters of these bytes */
    OP_LAST,  /* the longest run after which the rest matches */
    OP_OPT,   /* an optional part up to `skip` */
    OP_OPT_LIT, /* one that is these bytes */
    OP_OPEN,
    OP_CLOSE,
    OP_END    /* of the string */
} op_kind;

typedef struct seq_op
{
    uint8_t kind;
    uint8_t cap;              /* OPEN, CLOSE: which group; others: the one they are all of */
    uint8_t cap_lo, cap_hi;   /* OPT: groups inside, [lo, hi) */
    bool retry;               /* OPT: not forced, may have to be given up */
    bool until;               /* RUN, LAST: all bytes but `stop` */
    bool all;                 /* RUN, LAST: all bytes */
    uint8_t stop;             /* ONE: the byte */
    uint16_t min, max;
    uint32_t skip;            /* OPT */
    const uint8_t *lit;
    uint32_t lit_n;
    uint64_t head, head_mask; /* LIT: its first eight bytes */
    uint64_t bits[4];         /* bytes of the class; OPT that is forced: its first bytes */
    const re_dfa *rest;       /* LAST */
} seq_op;

/* cap < 0: bytes */
typedef struct seq_part { const uint8_t *p; uint32_t n; int32_t cap; } seq_part;

struct ax_reseq
{
    seq_op *op;
    uint32_t nops;
    uint32_t ncap;
    seq_part part[MAX_PARTS];
    uint32_t nparts;
    uint32_t nreset;
    uint8_t reset[MAX_CAPS];  /* groups inside options: they may take no part */
};

/* ---- items: the pattern as a flat list ------------------------------------------------------- */

typedef enum item_kind { I_ATOM, I_OPT, I_OPT_END, I_OPEN, I_CLOSE } item_kind;

typedef struct item
{
    uint8_t kind;
    uint8_t cap;
    uint8_t depth;        /* options around it */
    uint16_t min, max;    /* ATOM: characters */
    uint32_t piece;
    uint32_t end;         /* OPT: its OPT_END */
    const re_node *atom;  /* ATOM: CHAR or SET */
    re_node *node;        /* ATOM, OPT: the tree */
    uint64_t bits[4];     /* ATOM: the bytes it may consist of; CHAR: its first byte */
} item;

typedef struct compiler
{
    ax_task *t;
    ax_arena *a;
    item *it;
    uint32_t n;
    uint32_t piece;
    uint32_t retries, lasts;
    ax_reseq *q;
} compiler;

#define REFUSE(c, ...)                                                                             \
    return ax_fail((c)->t, AX_EUNSUPPORTED, "regular expression to replace: " __VA_ARGS__)

static bool bit_get(const uint64_t *b, uint8_t i) { return b[i >> 6] >> (i & 63) & 1; }

static bool disjoint(const uint64_t *a, const uint64_t *b)
{
    return ((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2]) | (a[3] & b[3])) == 0;
}

static ax_status item_add(compiler *c, item_kind kind, uint32_t depth, item **out)
{
    if (c->n == MAX_ITEMS)
        REFUSE(c, "too long");
    *out = &c->it[c->n++];
    **out = (item){.kind = (uint8_t) kind, .depth = (uint8_t) depth, .piece = c->piece};
    return AX_OK;
}

static ax_status add_atom(compiler *c, re_node *node, const re_node *atom, uint32_t depth)
{
    uint8_t bytes[4];
    item *x = NULL;

    AX_TRY(item_add(c, I_ATOM, depth, &x));
    x->node = node;
    x->atom = atom;
    x->min = x->max = 1;
    if (node->kind == RE_REP)
    {
        x->min = node->min;
        x->max = node->max;
    }
    if (atom->kind == RE_CHAR)
    {
        ax_re_encode(atom->cp, bytes);
        x->bits[bytes[0] >> 6] |= UINT64_C(1) << (bytes[0] & 63);
        if (atom->cp >= 0x80 && node->kind == RE_REP)
            REFUSE(c, "a character outside ASCII is repeated");
        return AX_OK;
    }
    if (atom->set->high_ask)
        REFUSE(c, "a character class depends on the collation");
    if (atom->set->n > 0 && !re_set_high_all(atom->set))
        REFUSE(c, "a class names characters outside ASCII");
    for (uint32_t k = 1; k < 128; k++)
        if (atom->set->low[k] == AX_RE_ASK)
            REFUSE(c, "a character class depends on the collation");
        else if (atom->set->low[k])
            x->bits[k >> 6] |= UINT64_C(1) << (k & 63);
    if (atom->set->n > 0)
        x->bits[2] = x->bits[3] = ~UINT64_C(0);
    return AX_OK;
}

static bool captures(const re_node *x)
{
    bool r = x->cap > 0;

    for (const re_node *k = x->first; k != NULL && !r; k = k->next)
        r = captures(k);
    return r;
}

static ax_status flatten(compiler *c, re_node *cat, uint32_t depth, uint32_t nested);

/* A group, optional or not.  An outermost one that captures is a piece. */
static ax_status add_group(compiler *c, re_node *node, re_node *group, uint32_t depth,
                           uint32_t nested)
{
    bool optional = node != group, piece = nested == 0 && captures(group);
    uint32_t opt = c->n;
    item *x = NULL;

    c->piece += piece;
    if (optional)
    {
        AX_TRY(item_add(c, I_OPT, depth, &x));
        x->node = node;
    }
    depth += optional;
    if (group->cap > 0)
    {
        AX_TRY(item_add(c, I_OPEN, depth, &x));
        x->cap = (uint8_t) group->cap;
    }
    /* inside a group that does not capture we are still at the level of the pieces */
    AX_TRY(flatten(c, group->first, depth, nested + (piece || nested > 0)));
    if (group->cap > 0)
    {
        AX_TRY(item_add(c, I_CLOSE, depth, &x));
        x->cap = (uint8_t) group->cap;
    }
    if (optional)
    {
        c->it[opt].end = c->n;
        AX_TRY(item_add(c, I_OPT_END, depth - 1, &x));
    }
    c->piece += piece;
    return AX_OK;
}

static ax_status flatten(compiler *c, re_node *cat, uint32_t depth, uint32_t nested)
{
    if (cat->kind != RE_CAT)
        REFUSE(c, "alternatives are not supported");
    for (re_node *k = cat->first; k != NULL; k = k->next)
    {
        re_node *x = k->kind == RE_REP ? k->first : k;

        if (k->kind == RE_REP && k->lazy)
            REFUSE(c, "quantifiers that match as little as possible are not supported");
        if (x->kind == RE_CHAR || x->kind == RE_SET)
            AX_TRY(add_atom(c, k, x, depth));
        else if (x->kind != RE_GROUP)
            REFUSE(c, "an anchor inside");
        else if (k->kind == RE_REP && (k->min != 0 || k->max != 1))
            REFUSE(c, "a group is repeated");
        else
            AX_TRY(add_group(c, k, x, depth, nested));
    }
    return AX_OK;
}

/* ---- what may follow ------------------------------------------------------------------------- */

/* First bytes of whatever may stand from item i on. */
static void first_of(const compiler *c, uint32_t i, uint64_t *bits)
{
    for (; i < c->n; i++)
    {
        const item *x = &c->it[i];

        if (x->kind == I_OPT)
        {
            first_of(c, i + 1, bits); /* stops inside: what is optional is not empty */
            i = x->end;
        }
        else if (x->kind == I_ATOM)
        {
            for (uint32_t k = 0; k < 4; k++)
                bits[k] |= x->bits[k];
            if (x->min > 0)
                return;
        }
    }
}

#define MUCH 1000000u

static uint32_t item_max(const item *x) { return x->max == AX_RE_INF ? MUCH : x->max; }

/* By how many characters may the rest of the piece behind item i vary? */
static uint32_t slack_behind(const compiler *c, uint32_t i)
{
    uint32_t sum = 0, depth = c->it[i].depth;

    for (uint32_t j = i + 1; j < c->n && c->it[j].piece == c->it[i].piece; j++)
        if (c->it[j].kind == I_ATOM)
            sum += item_max(&c->it[j]) - (c->it[j].depth > depth ? 0 : c->it[j].min);
    return sum;
}

/* The least number of characters of an option. */
static uint32_t option_min(const compiler *c, uint32_t i)
{
    uint32_t sum = 0;

    for (uint32_t j = i + 1; j < c->it[i].end; j++)
        if (c->it[j].kind == I_ATOM && c->it[j].depth == c->it[i].depth + 1)
            sum += c->it[j].min;
    return sum;
}

/* Behind item i the pattern accepts everything. */
static bool rest_is_any(const compiler *c, uint32_t i)
{
    while (++i < c->n)
        if (c->it[i].kind == I_OPT
            || (c->it[i].kind == I_ATOM
                && (c->it[i].min > 0 || c->it[i].max != AX_RE_INF || !ax_re_is_any(c->it[i].atom))))
            return false;
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static seq_op *op_add(compiler *c, op_kind kind)
{
    seq_op *op = &c->q->op[c->q->nops++];

    *op = (seq_op){.kind = (uint8_t) kind, .cap = NO_CAP};
    return op;
}

/* The class is all bytes but one of ASCII (NUL occurs in no text). */
static bool one_stop(const uint64_t *bits, uint8_t *stop)
{
    uint64_t low = ~(bits[0] | 1), high = ~bits[1];

    if ((bits[2] & bits[3]) != ~UINT64_C(0)
        || __builtin_popcountll(low) + __builtin_popcountll(high) != 1)
        return false;
    *stop = (uint8_t) (low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll(high));
    return true;
}

static ax_status last_op(compiler *c, uint32_t i, seq_op *op)
{
    re_node **rest;
    re_dfa *dfa;
    uint32_t n = 0;

    if (c->it[i].depth > 0)
        REFUSE(c, "an optional part is ambiguous");
    if (slack_behind(c, i) > 0 || ++c->lasts > MAX_LAST)
        REFUSE(c, "parts of variable length overlap");
    AX_NEW(c->t, rest, ax_arena_alloc(c->a, sizeof(*rest) * c->n));
    for (uint32_t j = i + 1; j < c->n; j++)
    {
        if (c->it[j].node != NULL)
            rest[n++] = c->it[j].node;
        if (c->it[j].kind == I_OPT)
            j = c->it[j].end;
    }
    op->kind = OP_LAST;
    AX_NEW(c->t, dfa, ax_arena_alloc0(c->a, sizeof(*dfa)));
    op->rest = dfa;
    return ax_re_dfa(c->t, c->a, rest, n, RE_REVERSE, dfa);
}

static ax_status run_op(compiler *c, uint32_t i)
{
    const item *x = &c->it[i];
    uint64_t follow[4] = {0};
    seq_op *op = op_add(c, OP_COUNT);

    op->min = x->min;
    op->max = x->max;
    memcpy(op->bits, x->bits, sizeof op->bits);
    op->until = one_stop(x->bits, &op->stop);
    op->all = ax_re_is_any(x->atom);
    if (ax_re_is_any(x->atom) && x->max == AX_RE_INF && x->min <= 1 && rest_is_any(c, i))
    {
        op->kind = OP_REST;
        return AX_OK;
    }
    if (x->max == AX_RE_INF && x->min <= 1)
        op->kind = OP_RUN;
    if (x->min == x->max)
        return AX_OK;
    first_of(c, i + 1, follow);
    if (!disjoint(x->bits, follow) && !rest_is_any(c, i))
        return last_op(c, i, op);
    if (x->min == 0 && x->max == 1 && x->atom->kind == RE_CHAR)
    {
        op->kind = OP_ONE;
        op->stop = (uint8_t) x->atom->cp;
    }
    return AX_OK;
}

/* A literal of as many items as possible from item *i on. */
static ax_status lit_op(compiler *c, uint32_t *i)
{
    seq_op *op = op_add(c, OP_LIT);
    uint8_t *p;

    AX_NEW(c->t, p, ax_arena_values(c->a, 4 * (size_t) (c->n - *i)));
    for (; *i < c->n; ++*i)
    {
        const item *x = &c->it[*i];

        if (x->kind != I_ATOM || x->atom->kind != RE_CHAR || x->node != x->atom)
            break;
        op->lit_n += ax_re_encode(x->atom->cp, p + op->lit_n);
    }
    --*i;
    op->lit = p;
    op->head_mask = op->lit_n >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * op->lit_n)) - 1;
    memcpy(&op->head, p, op->lit_n < 8 ? op->lit_n : 8);
    return AX_OK;
}

static ax_status opt_op(compiler *c, uint32_t i, uint32_t *patch)
{
    uint64_t inside[4] = {0}, follow[4] = {0};
    seq_op *op = op_add(c, OP_OPT);

    *patch = c->q->nops - 1;
    if (option_min(c, i) == 0)
        REFUSE(c, "an optional group may be empty");
    for (uint32_t j = i; j < c->it[i].end; j++)
        if (c->it[j].kind == I_OPEN)
        {
            op->cap_lo = op->cap_lo == 0 ? c->it[j].cap : op->cap_lo;
            op->cap_hi = (uint8_t) (c->it[j].cap + 1);
            if (c->it[i].depth == 0)
                c->q->reset[c->q->nreset++] = c->it[j].cap;
        }
    first_of(c, i + 1, inside);
    first_of(c, c->it[i].end, follow);
    memcpy(op->bits, inside, sizeof inside);
    if (disjoint(inside, follow))
        return AX_OK;
    op->retry = true;
    if (c->it[i].depth > 0 || ++c->retries > MAX_RETRY)
        REFUSE(c, "optional parts are ambiguous");
    if (slack_behind(c, c->it[i].end) > option_min(c, i))
        REFUSE(c, "an optional part and one of variable length overlap");
    return AX_OK;
}

/* A group that is one run of characters becomes one operation. */
static void close_group(compiler *c, uint8_t cap)
{
    seq_op *op = &c->q->op[c->q->nops - 1]; /* there is one: that of the opening */
    bool run = op->kind == OP_REST || op->kind == OP_RUN || op->kind == OP_COUNT
            || op->kind == OP_LAST;

    if (!run || op->cap != NO_CAP || op[-1].kind != OP_OPEN || op[-1].cap != cap)
    {
        op_add(c, OP_CLOSE)->cap = cap;
        return;
    }
    op[-1] = *op;
    op[-1].cap = cap;
    c->q->nops--;
}

/* An option that is one literal becomes one operation. */
static void opt_end(compiler *c, uint32_t opt)
{
    seq_op *op = &c->q->op[opt];

    if (c->q->nops == opt + 2 && op[1].kind == OP_LIT)
    {
        bool again = op->retry;

        *op = op[1];
        op->kind = OP_OPT_LIT;
        op->retry = again;
        c->q->nops--;
    }
    op->skip = c->q->nops;
}

static ax_status make_ops(compiler *c)
{
    uint32_t patch[MAX_ITEMS], top = 0;

    AX_NEW(c->t, c->q->op, ax_arena_alloc(c->a, sizeof(seq_op) * (c->n + 1)));
    for (uint32_t i = 0; i < c->n; i++)
        switch ((item_kind) c->it[i].kind)
        {
            case I_OPEN:
                op_add(c, OP_OPEN)->cap = c->it[i].cap;
                break;
            case I_CLOSE:
                close_group(c, c->it[i].cap);
                break;
            case I_OPT:
                AX_TRY(opt_op(c, i, &patch[top++]));
                break;
            case I_OPT_END:
                opt_end(c, patch[--top]);
                break;
            case I_ATOM:
                if (c->it[i].atom->kind == RE_CHAR && c->it[i].node == c->it[i].atom)
                    AX_TRY(lit_op(c, &i));
                else
                    AX_TRY(run_op(c, i));
                break;
        }
    op_add(c, OP_END);
    return AX_OK;
}

/* ---- replacements ---------------------------------------------------------------------------- */

/* A backslash that means nothing stands for itself. */
static ax_status parse_replacement(compiler *c, const uint8_t *p, uint32_t n)
{
    ax_reseq *q = c->q;
    uint8_t *lit;
    uint32_t m = 0, from = 0;

    AX_NEW(c->t, lit, ax_arena_values(c->a, n));
    for (uint32_t i = 0; i <= n; i++)
    {
        bool escape = i + 1 < n && p[i] == '\\';
        bool group = escape && (p[i + 1] == '&' || (p[i + 1] >= '1' && p[i + 1] <= '9'));

        if (i < n && !group)
        {
            lit[m++] = p[i];
            i += escape && p[i + 1] == '\\';
            continue;
        }
        if (q->nparts + 2 > MAX_PARTS)
            REFUSE(c, "too many parts in the replacement");
        if (m > from)
            q->part[q->nparts++] = (seq_part){lit + from, m - from, -1};
        from = m;
        if (group)
        {
            int32_t cap = p[++i] == '&' ? 0 : p[i] - '0';

            if ((uint32_t) cap <= q->ncap)
                q->part[q->nparts++] = (seq_part){NULL, 0, cap};
        }
    }
    return AX_OK;
}

ax_status ax_reseq_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n,
                           const uint8_t *rep, uint32_t rep_n, uint32_t flags, ax_reseq **out)
{
    compiler c = {.t = t, .a = a};
    re_tree tree;
    re_node *root;

    AX_TRY(ax_re_parse(t, a, p, n, flags & AX_RE_CTYPE_C, &tree));
    root = tree.root;
    if (root->kind != RE_CAT || root->first == NULL || root->first->kind != RE_BOL
        || root->last->kind != RE_EOL)
        REFUSE(&c, "it must begin with ^ and end with $, without alternatives");
    if (tree.ncap > MAX_CAPS)
        REFUSE(&c, "too many groups");
    root->first = root->first->next;
    root->first->prev = NULL;
    if (root->first == root->last)
        root->first = NULL;
    else
        root->last->prev->next = NULL;
    AX_NEW(t, c.q, ax_arena_alloc0(a, sizeof(*c.q)));
    AX_NEW(t, c.it, ax_arena_alloc(a, sizeof(item) * MAX_ITEMS));
    c.q->ncap = tree.ncap;
    AX_TRY(flatten(&c, root, 0, 0));
    AX_TRY(make_ops(&c));
    AX_TRY(parse_replacement(&c, rep, rep_n));
    *out = c.q;
    return AX_OK;
}

/* ---- matching -------------------------------------------------------------------------------- */

typedef struct span { const uint8_t *from, *to; } span;

/* The first byte c, or end.  May read 32 bytes behind the end. */
static inline const uint8_t *find_byte(const uint8_t *p, const uint8_t *end, uint8_t c)
{
#ifdef __SSE2__
    __m128i want = _mm_set1_epi8((char) c);

    for (; p < end; p += 32)
    {
        __m128i v = _mm_loadu_si128((const __m128i *) p);
        __m128i w = _mm_loadu_si128((const __m128i *) (p + 16));
        uint32_t hit = (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(v, want));

        hit |= (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(w, want)) << 16;
        if (hit != 0)
        {
            p += __builtin_ctz(hit);
            break;
        }
    }
    return p < end ? p : end;
#else
    const uint8_t *r = p < end ? (const uint8_t *) memchr(p, c, (size_t) (end - p)) : NULL;

    return r != NULL ? r : end;
#endif
}

static inline const uint8_t *run_end(const seq_op *op, const uint8_t *p, const uint8_t *end)
{
    if (op->until)
        return find_byte(p, end, op->stop);
    if (op->all)
        return end;
    while (p < end && bit_get(op->bits, *p))
        p++;
    return p;
}

/* Behind up to max characters of the class; fewer than min: NULL. */
static const uint8_t *count_end(const seq_op *op, uint32_t min, uint32_t max, const uint8_t *p,
                                const uint8_t *end)
{
    uint32_t n = 0;

    for (; n < max && p < end && bit_get(op->bits, *p); n++)
        do
            p++;
        while (p < end && (*p & 0xC0) == 0x80);
    return n < min ? NULL : p;
}

/* The last place from where the rest matches, at least min characters on; NULL: there is none. */
static const uint8_t *last_end(const seq_op *op, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *lo = count_end(op, op->min, op->min, p, end), *hi, *at = end;
    const re_dfa *d = op->rest;
    uint32_t state = d->start;

    if (lo == NULL)
        return NULL;
    hi = op->max == AX_RE_INF ? run_end(op, lo, end) : count_end(op, 0, op->max, p, end);
    for (;;)
    {
        if (at <= hi && d->next[state + d->stride - 1] == AX_RE_YES)
            return at;
        if (at == lo || state == 0)
            return NULL;
        state = d->next[state + d->cls[*--at]];
    }
}

typedef struct retry { const seq_op *opt; const uint8_t *p; } retry;

static inline bool lit_here(const seq_op *op, const uint8_t *p, const uint8_t *end)
{
    return (size_t) (end - p) >= op->lit_n && ((ax_load_u64(p) ^ op->head) & op->head_mask) == 0
        && (op->lit_n <= 8 || memcmp(p + 8, op->lit + 8, op->lit_n - 8) == 0);
}

/* NULL unless p is at least min bytes behind from. */
static inline const uint8_t *at_least(const uint8_t *from, const uint8_t *p, uint32_t min)
{
    return (size_t) (p - from) >= min ? p : NULL;
}

static bool match(const ax_reseq *q, const uint8_t *s, uint32_t n, span *caps)
{
    const uint8_t *p = s, *end = s + n;
    const seq_op *op = q->op;
    retry again[MAX_RETRY + 1];
    uint32_t top = 0;

    caps[0] = (span){s, end};
    for (uint32_t i = 0; i < q->nreset; i++)
        caps[q->reset[i]] = (span){NULL, NULL};
    for (;; op++)
    {
        switch ((op_kind) op->kind)
        {
            case OP_OPEN: caps[op->cap].from = p; continue;
            case OP_CLOSE: caps[op->cap].to = p; continue;
            case OP_ONE: p += p < end && *p == op->stop; continue;
            case OP_OPT:
                if (op->retry)
                    again[top++] = (retry){op, p};
                else if (p == end || !bit_get(op->bits, *p))
                    op = q->op + op->skip - 1;
                continue;
            case OP_OPT_LIT:
            {
                bool here = lit_here(op, p, end);

                again[top] = (retry){op, p};
                top += here && op->retry;
                p += here ? op->lit_n : 0;
                continue;
            }
            case OP_LIT: p = lit_here(op, p, end) ? p + op->lit_n : NULL; break;
            case OP_REST:
                caps[op->cap].from = p;
                caps[op->cap].to = p = at_least(p, end, op->min);
                break;
            case OP_RUN:
                caps[op->cap].from = p;
                caps[op->cap].to = p = at_least(p, run_end(op, p, end), op->min);
                break;
            case OP_COUNT:
                caps[op->cap].from = p;
                caps[op->cap].to = p = count_end(op, op->min, op->max, p, end);
                break;
            case OP_LAST:
                caps[op->cap].from = p;
                caps[op->cap].to = p = last_end(op, p, end);
                break;
            case OP_END:
                if (p == end)
                    return true;
                p = NULL;
                break;
        }
        if (p != NULL)
            continue;
        if (top == 0)
            return false;
        /* without the last option that was tried */
        op = again[--top].opt;
        p = again[top].p;
        for (uint32_t i = op->cap_lo; i < op->cap_hi; i++)
            caps[i] = (span){NULL, NULL};
        op = q->op + op->skip - 1;
    }
}

static inline uint32_t span_len(span c) { return c.to == NULL ? 0 : (uint32_t) (c.to - c.from); }

bool ax_reseq_replace(const ax_reseq *q, ax_arena *a, const uint8_t *s, uint32_t n,
                      const uint8_t **out, uint32_t *out_n)
{
    span caps[CAP_SLOTS];
    uint64_t total = 0;
    uint8_t *to;

    *out = s;
    *out_n = n;
    if (!match(q, s, n, caps))
        return true;
    if (q->nparts == 1)
    {
        const seq_part *x = &q->part[0];

        *out = x->cap < 0 ? x->p : caps[x->cap].to != NULL ? caps[x->cap].from : s;
        *out_n = x->cap < 0 ? x->n : span_len(caps[x->cap]);
        return true;
    }
    for (uint32_t i = 0; i < q->nparts; i++)
        total += q->part[i].cap < 0 ? q->part[i].n : span_len(caps[q->part[i].cap]);
    if (total > INT32_MAX / 2)
        return false;
    *out_n = (uint32_t) total;
    if (total == 0)
        return true;
    to = (uint8_t *) ax_arena_alloc(a, total + AX_PAD);
    if (to == NULL)
        return false;
    *out = to;
    for (uint32_t i = 0; i < q->nparts; i++)
    {
        const seq_part *x = &q->part[i];
        const uint8_t *from = x->cap < 0 ? x->p : caps[x->cap].from;
        uint32_t len = x->cap < 0 ? x->n : span_len(caps[x->cap]);

        if (len > 0)
            memcpy(to, from, len);
        to += len;
    }
    return true;
}

const uint8_t *ax_reseq_substring(const ax_reseq *q, const uint8_t *s, uint32_t n, uint32_t *out_n)
{
    span caps[CAP_SLOTS];
    uint32_t which = q->ncap > 0;

    if (!match(q, s, n, caps) || caps[which].to == NULL)
        return NULL;
    *out_n = span_len(caps[which]);
    return caps[which].from;
}
