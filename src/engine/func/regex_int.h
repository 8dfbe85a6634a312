/* Private to the files regex*.c: syntax trees, character sets, automata. */
#ifndef AX_REGEX_INT_H
#define AX_REGEX_INT_H

#include "func/regex.h"

#define AX_RE_INF 0xffffu       /* no upper bound */
#define AX_RE_MAX_PATTERN 4096u /* bytes */
#define AX_RE_MAX_STATES 1024u

/* ---- sets of characters ---------------------------------------------------------------------- */

typedef struct re_range { uint32_t lo, hi; } re_range;

/* ASCII by table, the others by ranges. */
typedef struct re_set
{
    uint8_t low[128];  /* AX_RE_NO, AX_RE_YES, AX_RE_ASK */
    bool high_ask;     /* every character from 0x80 on: ask; then n == 0 */
    uint32_t n;
    re_range *r;       /* [n] ascending, disjoint, not adjacent, lo >= 0x80 */
} re_set;

/* All characters from 0x80 on are in the set. */
static inline bool re_set_high_all(const re_set *s)
{
    return s->n == 1 && s->r[0].lo == 0x80 && s->r[0].hi == 0x10ffff;
}

/* ---- trees ----------------------------------------------------------------------------------- */

typedef enum re_kind
{
    RE_EMPTY,
    RE_CHAR, /* cp */
    RE_SET,  /* set */
    RE_CAT,  /* kids in order */
    RE_ALT,  /* kids */
    RE_REP,  /* kid, min..max times */
    RE_GROUP,/* kid; cap > 0: captures */
    RE_BOL,  /* start of the string */
    RE_EOL   /* its end */
} re_kind;

typedef struct re_node re_node;
struct re_node
{
    uint8_t kind;
    bool lazy;              /* REP */
    uint16_t min, max;      /* REP; max may be AX_RE_INF */
    uint16_t cap;           /* GROUP: number from 1, or 0 */
    uint32_t cp;
    const re_set *set;
    re_node *first, *last;  /* kids */
    re_node *next, *prev;   /* siblings */
};

typedef struct re_tree
{
    re_node *root;
    uint32_t ncap;
    bool may_ask;
} re_tree;

ax_status ax_re_parse(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, uint32_t flags,
                      re_tree *out) AX_MUST_USE;

/* Any character, newlines too. */
bool ax_re_is_any(const re_node *x);

/* UTF-8 of one character; returns 1..4. */
uint32_t ax_re_encode(uint32_t cp, uint8_t *out);

/* ---- automata -------------------------------------------------------------------------------- */

/* A table over bytes.  State s is the offset of its row of `stride` entries: one for each class of
 * bytes, and the last one for the end of the string: the answer.  Row 0 is the dead state, row 1
 * (offset stride) the one that has matched; both stay what they are. */
typedef struct re_dfa
{
    const uint32_t *next;
    uint32_t stride;
    uint32_t start;
    uint8_t cls[256];
} re_dfa;

typedef enum re_mode
{
    RE_SEARCH,  /* a match may begin anywhere; stop at the first */
    RE_WHOLE,   /* from the first byte to the last */
    RE_REVERSE  /* WHOLE, reading from the last byte to the first */
} re_mode;

/* An automaton for the concatenation of n trees. */
ax_status ax_re_dfa(ax_task *t, ax_arena *a, re_node *const *xs, uint32_t n, re_mode mode,
                    re_dfa *out) AX_MUST_USE;

static inline uint8_t ax_re_dfa_run(const re_dfa *d, const uint8_t *s, uint32_t n)
{
    const uint32_t *next = d->next;
    uint32_t at = d->start, last = d->stride;

    for (uint32_t i = 0; i < n; i++)
    {
        at = next[at + d->cls[s[i]]];
        if (at <= last)
            break;
    }
    return (uint8_t) next[at + d->stride - 1];
}

#endif
