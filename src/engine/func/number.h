/* Functions of integers and floats with PostgreSQL's errors, one value at a time.
 *
 * Results: AX_OK; AX_ERANGE (22003), AX_EDIVZERO (22012), AX_ELOG (2201E), AX_EPOWER (2201F).
 * exp, ln, log10 and power are those of the C library, as in the server: equal to the last bit when
 * both run with the same one. */
#ifndef AX_NUMBER_H
#define AX_NUMBER_H

#include "vector/vector.h"

/* ---- integers of `bits` 16, 32 or 64, carried in 64 ----------------------------------------- */

static inline int64_t ax_int_min(uint32_t bits) { return INT64_MIN >> (64 - bits); }
static inline int64_t ax_int_cut(int64_t v, uint32_t bits)
{
    return (int64_t) ((uint64_t) v << (64 - bits)) >> (64 - bits);
}

ax_status ax_int_div(int64_t a, int64_t b, uint32_t bits, int64_t *out) AX_MUST_USE;
ax_status ax_int_mod(int64_t a, int64_t b, int64_t *out) AX_MUST_USE;
ax_status ax_int_abs(int64_t a, uint32_t bits, int64_t *out) AX_MUST_USE;

/* Counts are taken modulo 32 (int2 and int4) or 64; >> keeps the sign. */
int64_t ax_int_shl(int64_t a, int32_t count, uint32_t bits);
int64_t ax_int_shr(int64_t a, int32_t count, uint32_t bits);

/* ---- floats --------------------------------------------------------------------------------- */

ax_status ax_f64_div(double a, double b, double *out) AX_MUST_USE;
ax_status ax_f32_div(float a, float b, float *out) AX_MUST_USE;
ax_status ax_f64_sqrt(double a, double *out) AX_MUST_USE;
ax_status ax_f64_exp(double a, double *out) AX_MUST_USE;
ax_status ax_f64_ln(double a, double *out) AX_MUST_USE;
ax_status ax_f64_log10(double a, double *out) AX_MUST_USE;
ax_status ax_f64_power(double a, double b, double *out) AX_MUST_USE;

double ax_f64_sign(double a);  /* -1, 0, 1; NaN gives 0 */
/* abs, ceil, floor, round (half to even) and trunc are fabs, ceil, floor, rint and trunc. */

#endif
