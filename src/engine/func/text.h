/* Functions of text on single values: UTF-8 in, UTF-8 out, PostgreSQL's results byte for byte.
 *
 * A position counts characters from 1.  Strings are valid UTF-8; others do no harm, but the result
 * means nothing.  Results are slices of the arguments where that is possible, else they are built
 * in the arena given; `false` then means out of memory or more than a gigabyte, which the server
 * refuses too.
 *
 * Case is that of the collation C: ASCII letters only.
 *
 * Thread: any.  Tests: the server's answers, test/golden/text.tsv. */
#ifndef AX_TEXT_H
#define AX_TEXT_H

#include "func/kernel.h"

typedef struct ax_text { const uint8_t *p; uint32_t n; } ax_text;

/* Longest text that is built. */
#define AX_TEXT_MAX 0x3ffffff0u

/* ---- slices ---------------------------------------------------------------------------------- */

/* Byte offset of character number `chars` (n when there are fewer). */
uint32_t ax_text_skip(ax_text s, uint64_t chars);

/* Characters. */
uint32_t ax_text_chars(ax_text s);

/* left, right: a negative count means all but so many. */
ax_text ax_text_left(ax_text s, int32_t k);
ax_text ax_text_right(ax_text s, int32_t k);

/* substring from `from` on, `count` characters.  count >= 0: the server raises 22011 otherwise. */
ax_text ax_text_substring(ax_text s, int32_t from, int32_t count);
ax_text ax_text_substring_from(ax_text s, int32_t from);

/* Without leading and trailing characters of the set. */
ax_text ax_text_trim(ax_text s, ax_text set, bool left, bool right);

/* Field number k between separators, from the end when negative.  k != 0: the server raises 22023.
 * sep: its needle, when it is not empty. */
ax_text ax_text_split_part(ax_text s, const ax_needle *sep, uint32_t sep_n, int32_t k);

bool ax_text_starts_with(ax_text s, ax_text prefix);

/* strpos: 1 for an empty part, 0 when it is not there. */
int32_t ax_text_position(ax_text s, const ax_needle *part, uint32_t part_n);

/* Code point of the first character, 0 for ''. */
int32_t ax_text_ascii(ax_text s);

/* The server's hash of the bytes, as on little-endian machines. */
int32_t ax_text_hash(ax_text s);

/* ---- built texts ----------------------------------------------------------------------------- */

bool ax_text_lower(ax_arena *a, ax_text s, ax_text *out);
bool ax_text_upper(ax_arena *a, ax_text s, ax_text *out);
bool ax_text_initcap(ax_arena *a, ax_text s, ax_text *out);

/* Every occurrence from left to right; s itself when there is none. */
bool ax_text_replace(ax_arena *a, ax_text s, const ax_needle *from, uint32_t from_n, ax_text to,
                     ax_text *out);
bool ax_text_concat(ax_arena *a, ax_text x, ax_text y, ax_text *out);
bool ax_text_reverse(ax_arena *a, ax_text s, ax_text *out);
bool ax_text_repeat(ax_arena *a, ax_text s, int32_t times, ax_text *out);
bool ax_text_pad(ax_arena *a, ax_text s, int32_t chars, ax_text fill, bool left, ax_text *out);
bool ax_text_translate(ax_arena *a, ax_text s, ax_text from, ax_text to, ax_text *out);

/* false also for numbers that are no characters: the server raises 54000,
 * or 22023 for negative ones. */
bool ax_text_chr(ax_arena *a, int32_t cp, ax_text *out);

/* ---- LIKE without case ----------------------------------------------------------------------- */

/* Compile a pattern of ILIKE.  plain: the collation's case is not that of C but maps ASCII as C
 * does; then only ASCII patterns are possible. */
ax_status ax_ilike_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, bool plain,
                           ax_like *out) AX_MUST_USE;

/* 0, 1, or 2 with `plain`: folding characters outside ASCII may matter, ask the host.
 * fold: room for s.n + AX_PAD bytes. */
uint8_t ax_ilike_match(const ax_like *l, ax_text s, bool plain, uint8_t *fold);

#endif
