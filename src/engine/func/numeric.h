/* Exact decimals with PostgreSQL's results: value, display scale, NaN and infinities.
 *
 * Who uses it: the calls of func/ and the finalisers of aggregates.  Everything is computed on
 * ax_num (38 digits, sign, scale) with 256-bit intermediates; nothing is allocated and nothing
 * written to an error slot.
 *
 * Results.  AX_OK; or the status the server would raise: AX_EDIVZERO (22012), AX_ERANGE (22003),
 * AX_EUNSUPPORTED (0A000: NaN or infinity to an integer).
 *
 * Beyond.  AX_EBEYOND means: the server has a result, but it does not fit ax_num (more than 38
 * digits, or a display scale above what a function handles).  It is never the answer of the
 * server.  Ways back, best first: ax_num_fits_* on the declared types before anything is pushed
 * (no row can be beyond then); run the query again without the operation, as long as none of its
 * rows was given out; evaluate the expression of that row in the host (AX_X_HOST); else fail with
 * the status as it is (its SQLSTATE is 0A000, not one of the server's for numbers).
 *
 * Rules of the server reproduced here (14 and later, where infinities exist): + - % take the larger
 * scale, * the sum of the scales, / the scale of select_div_scale, div() none; rounding is half
 * away from zero. */
#ifndef AX_NUMERIC_H
#define AX_NUMERIC_H

#include "vector/vector.h"

#define AX_NUM_DIGITS 38        /* |v| < 10^38 */
#define AX_NUM_TEXT_MAX 16432   /* bytes ax_num_format writes at most, with the terminator */

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* out may be an argument.  out means nothing unless AX_OK is returned. */
ax_status ax_num_add(const ax_num *a, const ax_num *b, ax_num *out) AX_MUST_USE;
ax_status ax_num_sub(const ax_num *a, const ax_num *b, ax_num *out) AX_MUST_USE;
ax_status ax_num_mul(const ax_num *a, const ax_num *b, ax_num *out) AX_MUST_USE;
ax_status ax_num_div(const ax_num *a, const ax_num *b, ax_num *out) AX_MUST_USE;
ax_status ax_num_mod(const ax_num *a, const ax_num *b, ax_num *out) AX_MUST_USE;
/* div(a, b): a / b cut to an integer */
ax_status ax_num_div_trunc(const ax_num *a, const ax_num *b, ax_num *out) AX_MUST_USE;

ax_num ax_num_neg(const ax_num *a);
ax_num ax_num_abs(const ax_num *a);
ax_num ax_num_sign(const ax_num *a);

/* To `scale` digits behind the point (negative: before it), rounded or cut. */
ax_status ax_num_round(const ax_num *a, int32_t scale, ax_num *out) AX_MUST_USE;
ax_status ax_num_trunc(const ax_num *a, int32_t scale, ax_num *out) AX_MUST_USE;
ax_num ax_num_ceil(const ax_num *a);
ax_num ax_num_floor(const ax_num *a);

/* avg of integers or decimals: sum * 10^-dscale / count, count > 0, as the server's final functions
 * compute it.  |sum| may be any 128-bit integer.  For integers dscale is 0. */
ax_status ax_num_mean(ax_i128 sum, int16_t dscale, int64_t count, ax_num *out) AX_MUST_USE;

/* ---- conversions ---------------------------------------------------------------------------- */

static inline ax_num ax_num_from_int(int64_t v) { return (ax_num){.v = v}; }

/* Half away from zero; 22003 outside [min, max]. */
ax_status ax_num_to_int(const ax_num *a, int64_t min, int64_t max, int64_t *out) AX_MUST_USE;

/* Nearest float, half to even.  22003 when a value that is not 0 becomes 0 or a finite one
 * infinite. */
ax_status ax_num_to_f64(const ax_num *a, double *out) AX_MUST_USE;
ax_status ax_num_to_f32(const ax_num *a, float *out) AX_MUST_USE;

/* With 15 and 6 significant digits, which is all the server keeps. */
ax_status ax_num_from_f64(double f, ax_num *out) AX_MUST_USE;
ax_status ax_num_from_f32(float f, ax_num *out) AX_MUST_USE;

/* a::numeric(precision, scale); 22003 when it has too many digits before the point. */
ax_status ax_num_coerce(const ax_num *a, int32_t precision, int32_t scale, ax_num *out)
    AX_MUST_USE;

/* Without the zeros behind the last digit. */
ax_num ax_num_trim_scale(const ax_num *a);

/* ---- text ----------------------------------------------------------------------------------- */

/* As the server prints it; terminated.  Returns the length, or 0 when out_len is too small. */
uint32_t ax_num_format(const ax_num *a, char *out, uint32_t out_len);

/* Digits with sign, point and exponent, or NaN, Infinity, inf in any case; nothing around them.
 * false: not a number, or one beyond ax_num. */
bool ax_num_parse(const char *p, uint32_t len, ax_num *out);

/* The integer in [n] bytes at p, big-endian two's complement of any length, with `scale` >= 0 of
 * its digits behind the point, as the server prints a numeric; not terminated.  It is put at the
 * end of out[out_len].  Returns where it begins, or NULL: more than AX_DIGITS_BYTES_MAX bytes are
 * significant, or out is shorter than ax_digits_room(scale). */
#define AX_DIGITS_BYTES_MAX 1024u
size_t ax_digits_room(int32_t scale);
char *ax_digits_text(const uint8_t *p, uint32_t n, int32_t scale, char *out, size_t out_len);

/* Such a text as numeric(precision, scale), or with precision 0 as it is: rounded half away from
 * zero.  false: it does not fit, or has more than 38 digits. */
bool ax_digits_to_num(const char *p, uint32_t len, int32_t precision, int32_t scale, ax_num *out);

/* ---- what can be told before ---------------------------------------------------------------- */

/* Digits a declared type guarantees: before the point, and behind it.  known is false for numeric
 * without precision. */
typedef struct ax_num_bound { bool known; int32_t whole, scale; } ax_num_bound;

ax_num_bound ax_num_bound_of(ax_type t);  /* integers and numeric(p, s) */
/* Bound of the result, known only when no result can be beyond. */
ax_num_bound ax_num_fits_add(ax_num_bound a, ax_num_bound b);
ax_num_bound ax_num_fits_mul(ax_num_bound a, ax_num_bound b);
/* Is no quotient beyond? (the scale of a quotient depends on the values) */
bool ax_num_fits_div(ax_num_bound a, ax_num_bound b);

#endif
