/* Regular expressions: the part of PostgreSQL's AREs whose answers are provably the same here.
 *
 * Two machines.  ax_regex answers "does it match somewhere?" (~, !~, ~*, !~*): which of several
 * matches is meant does not matter there, so any automaton for the language will do; this one is a
 * table over bytes of UTF-8, linear in the string.  ax_reseq replaces (regexp_replace) with
 * patterns of a simple shape, anchored at both ends, for which it takes the same submatches as the
 * server; see regex_seq.c for why.
 *
 * What is not in the subset is refused with EUNSUPPORTED and a reason for users, and the host
 * evaluates it: prefixes (***, (?i)), back references, look-around, word boundaries, collating
 * elements and equivalence classes, and whatever the server would refuse too (the host compiles
 * patterns first and raises 2201B itself).
 *
 * Character classes (\d \w \s [[:alpha:]] and the like) depend on the collation.  With
 * AX_RE_CTYPE_C they are ASCII, as under C and POSIX.  Without it every character that collations
 * might disagree about makes the answer AX_RE_ASK where it matters; on other strings the answer is
 * exact.
 *
 * Thread: compiled objects are immutable and shared by lanes.  They live in the arena given. */
#ifndef AX_REGEX_H
#define AX_REGEX_H

#include "func/kernel.h"

enum
{
    AX_RE_ICASE = 1,   /* ignore case; ASCII patterns only; the collation maps ASCII as C does */
    AX_RE_CTYPE_C = 2, /* the collation's character classes are those of C */
};

/* Answers. */
enum { AX_RE_NO = 0, AX_RE_YES = 1, AX_RE_ASK = 2 };

typedef struct ax_regex ax_regex;

/* p: valid UTF-8, copied as far as needed.  EUNSUPPORTED: outside the subset, or the automaton has
 * more than 1024 states; the message says why. */
ax_status ax_regex_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, uint32_t flags,
                           ax_regex **out) AX_MUST_USE;

/* Can the answer be AX_RE_ASK? */
bool ax_regex_may_ask(const ax_regex *re);

/* s: valid UTF-8 (other bytes do no harm, but the answer means nothing), readable AX_PAD bytes
 * behind its end. */
uint8_t ax_regex_match(const ax_regex *re, const uint8_t *s, uint32_t n);

/* out[row] = answer for the rows of sel (NULL: all n rows).  span: the rows lie ascending and
 * without overlap in one span of bytes and most of them are wanted; then out of all rows may be
 * written, total is the number of rows. */
void ax_regex_match_rows(const ax_regex *re, const ax_strs *s, const uint16_t *sel, uint32_t n,
                         bool span, uint32_t total, uint8_t *out);

/* ---- replacing ------------------------------------------------------------------------------- */

typedef struct ax_reseq ax_reseq;

/* regexp_replace(text, pattern, replacement): the replacement may use \1 .. \9, \& and \\.
 * flags: AX_RE_CTYPE_C.  EUNSUPPORTED with a reason when the pattern is not sequential. */
ax_status ax_reseq_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n,
                           const uint8_t *rep, uint32_t rep_n, uint32_t flags, ax_reseq **out)
    AX_MUST_USE;

/* The string s with the match replaced (s itself when nothing matches).  The result points into s,
 * into q, or into memory of `a`.  s: as for ax_regex_match.  false: out of memory. */
bool ax_reseq_replace(const ax_reseq *q, ax_arena *a, const uint8_t *s, uint32_t n,
                      const uint8_t **out, uint32_t *out_n);

/* substring(s from pattern): the first group of the match, or all of it when the pattern has none.
 * NULL: no match, or the group took no part; such a call was compiled with an empty replacement. */
const uint8_t *ax_reseq_substring(const ax_reseq *q, const uint8_t *s, uint32_t n, uint32_t *out_n);

#endif
