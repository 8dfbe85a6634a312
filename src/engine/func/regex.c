/* Compiles boolean regular expressions and matches them: picks the cheapest machine that gives the
 * answer, a comparison of literals, a search for a literal, a short run of classes, or the table.
 *
 * A trailing `.*` or `.*$` and a leading `^.*` say nothing and are dropped first. */
#include "func/regex_int.h"

#include <string.h>

/* How the answer is found. */
typedef enum shape
{
    SHAPE_DFA,
    SHAPE_ALL,      /* everything matches */
    SHAPE_LITERAL,  /* contains, starts with, ends with, equals: by anchors */
    SHAPE_CLASSES   /* a run of ASCII characters, each of a class, anywhere */
} shape;

enum { MAX_CLASSES = 8, MAX_RANGES = 3 };

/* One ASCII character: of up to three ranges; span = hi - lo. */
typedef struct class_ranges
{
    uint32_t n;
    uint8_t lo[MAX_RANGES], span[MAX_RANGES];
} class_ranges;

struct ax_regex
{
    uint8_t shape;
    bool may_ask;
    bool bol, eol;          /* LITERAL */
    bool lit_starts;        /* DFA: every match begins with the literal, and it is not anchored */
    const uint8_t *lit;     /* LITERAL; DFA: what every match contains */
    uint32_t lit_n;
    ax_needle needle;       /* of lit, when lit_n > 0 */
    uint32_t ncls;
    class_ranges cls[MAX_CLASSES];
    re_dfa dfa;
};

bool ax_regex_may_ask(const ax_regex *re) { return re->may_ask; }

/* ---- simplification -------------------------------------------------------------------------- */

static void unlink_kid(re_node *cat, re_node *k)
{
    if (k->prev != NULL)
        k->prev->next = k->next;
    else
        cat->first = k->next;
    if (k->next != NULL)
        k->next->prev = k->prev;
    else
        cat->last = k->prev;
}

static bool is_any_star(const re_node *x)
{
    return x != NULL && x->kind == RE_REP && x->min == 0 && x->max == AX_RE_INF
        && ax_re_is_any(x->first);
}

static void simplify(re_node *cat)
{
    re_node *x;

    if (cat->kind != RE_CAT)
        return;
    while ((x = cat->last) != NULL)
    {
        if (x->kind == RE_EOL && is_any_star(x->prev))
            unlink_kid(cat, x);
        else if (is_any_star(x))
            unlink_kid(cat, x);
        else
            break;
    }
    while ((x = cat->first) != NULL)
    {
        if (x->kind == RE_BOL && is_any_star(x->next))
            unlink_kid(cat, x);
        else if (is_any_star(x))
            unlink_kid(cat, x);
        else
            break;
    }
}

/* ---- literals -------------------------------------------------------------------------------- */

typedef struct literals
{
    uint8_t *run;           /* literal bytes that end where we are */
    uint32_t n;
    uint8_t *best;
    uint32_t best_n;
    bool best_first, first; /* nothing but literals before (the best, the run) */
} literals;

static void cut(literals *l)
{
    if (l->n > l->best_n)
    {
        memcpy(l->best, l->run, l->n);
        l->best_n = l->n;
        l->best_first = l->first;
    }
    l->n = 0;
    l->first = false;
}

/* Collect what every match of x contains. */
static void collect(literals *l, const re_node *x)
{
    switch ((re_kind) x->kind)
    {
        case RE_CHAR:
            if (l->n < AX_RE_MAX_PATTERN)
                l->n += ax_re_encode(x->cp, l->run + l->n);
            else
                cut(l);
            break;
        case RE_CAT:
        case RE_GROUP:
            for (const re_node *k = x->first; k != NULL; k = k->next)
                collect(l, k);
            break;
        case RE_REP:
            if (x->min > 0)
                collect(l, x->first);
            cut(l);
            if (x->min > 0 && x->first->kind == RE_CHAR)
                collect(l, x->first);
            break;
        case RE_EMPTY:
            break;
        default: /* anchors end a run too: a$b matches nothing, but ab is not contained either */
            cut(l);
            break;
    }
}

/* All of cat is literal characters, but for anchors at its ends. */
static bool only_literals(const re_node *cat, bool *bol, bool *eol)
{
    *bol = *eol = false;
    if (cat->kind != RE_CAT)
        return false;
    for (const re_node *k = cat->first; k != NULL; k = k->next)
        if (k->kind == RE_BOL && k->prev == NULL)
            *bol = true;
        else if (k->kind == RE_EOL && k->next == NULL)
            *eol = true;
        else if (k->kind != RE_CHAR)
            return false;
    return true;
}

/* ---- runs of classes ------------------------------------------------------------------------- */

static bool to_ranges(const re_node *x, class_ranges *out)
{
    bool in = false;

    out->n = 0;
    if (x->kind == RE_CHAR && x->cp < 0x80)
    {
        *out = (class_ranges){1, {(uint8_t) x->cp}, {0}};
        return true;
    }
    if (x->kind != RE_SET || x->set->n > 0 || x->set->high_ask)
        return false;
    for (uint32_t c = 1; c < 128; c++)
    {
        uint8_t v = x->set->low[c];

        if (v == AX_RE_ASK || (v && !in && out->n == MAX_RANGES))
            return false;
        if (v && !in)
        {
            out->lo[out->n] = (uint8_t) c;
            out->span[out->n++] = 0;
        }
        else if (v)
            out->span[out->n - 1]++;
        in = v;
    }
    return out->n > 0;
}

static bool only_classes(const re_node *cat, ax_regex *re)
{
    uint32_t n = 0;

    if (cat->kind != RE_CAT)
        return false;
    for (const re_node *k = cat->first; k != NULL; k = k->next)
    {
        bool rep = k->kind == RE_REP && k->min == k->max;
        uint32_t times = rep ? k->min : 1;

        for (uint32_t i = 0; i < times; i++)
        {
            if (n == MAX_CLASSES || !to_ranges(rep ? k->first : k, &re->cls[n]))
                return false;
            n++;
        }
    }
    re->ncls = n;
    return n > 0;
}

enum { BLOCK = 64 };

/* hit[i]: the run matches at p + i, for BLOCK positions; reads BLOCK + ncls - 1 bytes. */
static inline void classes_block(const ax_regex *re, const uint8_t *p, uint8_t *restrict hit)
{
    memset(hit, 1, BLOCK);
    for (uint32_t k = 0; k < re->ncls; k++)
    {
        const class_ranges *c = &re->cls[k];
        uint8_t lo0 = c->lo[0], span0 = c->span[0];

        if (c->n == 1)
        {
            for (uint32_t i = 0; i < BLOCK; i++)
                hit[i] &= (uint8_t) (p[k + i] - lo0) <= span0;
            continue;
        }
        for (uint32_t i = 0; i < BLOCK; i++)
        {
            uint8_t b = p[k + i];
            uint8_t in = (uint8_t) (b - lo0) <= span0;

            in |= (uint8_t) (b - c->lo[1]) <= c->span[1];
            in |= (uint8_t) (c->n > 2) & ((uint8_t) (b - c->lo[2]) <= c->span[2]);
            hit[i] &= in;
        }
    }
}

static inline uint64_t any_of(const uint8_t *hit)
{
    uint64_t w[BLOCK / 8], any = 0;

    memcpy(w, hit, BLOCK);
    for (uint32_t i = 0; i < BLOCK / 8; i++)
        any |= w[i];
    return any;
}

/* The blocks at a position where the run still fits read less than AX_PAD bytes behind the end. */
static bool classes_match(const ax_regex *re, const uint8_t *s, uint32_t n)
{
    uint8_t hit[BLOCK];

    if (n < re->ncls)
        return false;
    for (uint32_t i = 0, ends = n - re->ncls + 1; i < ends; i += BLOCK)
    {
        classes_block(re, s + i, hit);
        if (ends - i < BLOCK)
            memset(hit + (ends - i), 0, BLOCK - (ends - i));
        if (any_of(hit))
            return true;
    }
    return false;
}

/* All rows of a span: search it as one string, then see which rows the hits are in. */
static void classes_span(const ax_regex *re, const ax_strs *s, uint32_t total, uint8_t *out)
{
    uint32_t at = s->off[0], end = s->off[total - 1] + s->len[total - 1], row = 0;
    uint8_t hit[BLOCK];

    memset(out, 0, total);
    for (; end - at >= re->ncls && at < end; at = end - at > BLOCK ? at + BLOCK : end)
    {
        classes_block(re, s->base + at, hit);
        for (uint32_t w = 0; w < BLOCK; w += 8)
        {
            uint64_t bits;

            memcpy(&bits, hit + w, 8);
            for (; bits != 0; bits &= bits - 1)
            {
                uint32_t pos = at + w + (uint32_t) __builtin_ctzll(bits) / 8;

                while (row < total && s->off[row] + s->len[row] <= pos)
                    row++;
                if (row == total)
                    return;
                if (pos >= s->off[row] && s->off[row] + s->len[row] - pos >= re->ncls)
                    out[row] = 1;
            }
        }
    }
}

/* ---- compiling ------------------------------------------------------------------------------- */

static ax_status find_literal(ax_task *t, ax_arena *a, const re_node *cat, ax_regex *re)
{
    literals l = {.first = true};

    AX_NEW(t, l.run, ax_arena_alloc(a, AX_RE_MAX_PATTERN + 4));
    AX_NEW(t, l.best, ax_arena_values(a, AX_RE_MAX_PATTERN + 4));
    collect(&l, cat);
    cut(&l);
    re->lit = l.best;
    re->lit_n = l.best_n;
    re->lit_starts = l.best_first;
    if (l.best_n > 0)
        re->needle = ax_needle_make(l.best, l.best_n);
    return AX_OK;
}

ax_status ax_regex_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, uint32_t flags,
                           ax_regex **out)
{
    re_tree tree;
    ax_regex *re;

    AX_NEW(t, re, ax_arena_alloc0(a, sizeof(*re)));
    AX_TRY(ax_re_parse(t, a, p, n, flags, &tree));
    simplify(tree.root);
    re->may_ask = tree.may_ask;
    AX_TRY(find_literal(t, a, tree.root, re));
    if (only_literals(tree.root, &re->bol, &re->eol))
        re->shape = re->lit_n > 0 || (re->bol && re->eol) ? SHAPE_LITERAL : SHAPE_ALL;
    else if (only_classes(tree.root, re))
        re->shape = SHAPE_CLASSES;
    else
        AX_TRY(ax_re_dfa(t, a, &tree.root, 1, RE_SEARCH, &re->dfa));
    *out = re;
    return AX_OK;
}

/* ---- matching -------------------------------------------------------------------------------- */

static uint8_t match_literal(const ax_regex *re, const uint8_t *s, uint32_t n)
{
    if (n < re->lit_n || (re->bol && re->eol && n != re->lit_n))
        return AX_RE_NO;
    if (re->bol)
        return memcmp(s, re->lit, re->lit_n) == 0;
    if (re->eol)
        return memcmp(s + (n - re->lit_n), re->lit, re->lit_n) == 0;
    return ax_k_get()->find(s, n, &re->needle) < n;
}

/* The literal is known to be somewhere in s, or there is none; from: where it was first found. */
static inline uint8_t match_dfa(const ax_regex *re, const uint8_t *s, uint32_t n, uint32_t from)
{
    /* ^ cannot pass behind the start: start the table there only when it begins with a literal */
    if (!re->lit_starts)
        from = 0;
    return ax_re_dfa_run(&re->dfa, s + from, n - from);
}

uint8_t ax_regex_match(const ax_regex *re, const uint8_t *s, uint32_t n)
{
    uint32_t from = 0;

    switch ((shape) re->shape)
    {
        case SHAPE_ALL:
            return AX_RE_YES;
        case SHAPE_LITERAL:
            return match_literal(re, s, n);
        case SHAPE_CLASSES:
            return classes_match(re, s, n);
        case SHAPE_DFA:
            break;
    }
    if (re->lit_n > 1)
    {
        from = ax_k_get()->find(s, n, &re->needle);
        if (from == n)
            return AX_RE_NO;
    }
    return match_dfa(re, s, n, from);
}

void ax_regex_match_rows(const ax_regex *re, const ax_strs *s, const uint16_t *sel, uint32_t n,
                         bool span, uint32_t total, uint8_t *out)
{
    const ax_kernels *k = ax_k_get();
    bool search = (re->shape == SHAPE_DFA && re->lit_n > 1)
               || (re->shape == SHAPE_LITERAL && !re->bol && !re->eol);

    if (span && re->shape == SHAPE_CLASSES)
    {
        classes_span(re, s, total, out);
        return;
    }
    if (!span || !search)
    {
        for (uint32_t i = 0; i < n; i++)
        {
            uint32_t row = sel != NULL ? sel[i] : i;

            out[row] = ax_regex_match(re, ax_strs_at(s, row), s->len[row]);
        }
        return;
    }
    k->find_span(s, total, &re->needle, out);
    if (re->shape == SHAPE_LITERAL)
        return;
    for (uint32_t i = 0; i < n; i++)
    {
        uint32_t row = sel != NULL ? sel[i] : i;

        if (out[row])
            out[row] = ax_regex_match(re, ax_strs_at(s, row), s->len[row]);
    }
}
