/* Calls on floats through the C library: the cube root, angles, hyperbolic functions.
 *
 * Values are those of the C library, as in the server: equal to the last bit when both run with the
 * same one.  Source of the rules for infinities, ranges and errors: the server's float.c. */
#include "func/call_int.h"

#include <math.h>

#define RADIANS_PER_DEGREE 0.0174532925199432957692

static const char out_of_range[] = "input is out of range";
static const char overflow[] = "value out of range: overflow";
static const char underflow[] = "value out of range: underflow";

/* A finite argument gave r: an infinite one is too large. */
static inline const char *too_large(double r) { return isinf(r) ? overflow : NULL; }

/* sin, cos and relatives have no value at infinity. */
static const char *angle(ax_fn fn, double x, double *out)
{
    if (isinf(x))
        return out_of_range;
    switch (fn)
    {
        case AX_FN_SIN: *out = sin(x); return too_large(*out);
        case AX_FN_COS: *out = cos(x); return too_large(*out);
        case AX_FN_TAN: *out = tan(x); return NULL;
        default: *out = 1.0 / tan(x); return NULL; /* cot(0) is infinite */
    }
}

/* Functions defined on a part of the line only. */
static const char *limited(ax_fn fn, double x, double *out)
{
    switch (fn)
    {
        case AX_FN_ACOSH:
            if (x < 1)
                return out_of_range;
            *out = acosh(x);
            return NULL;
        case AX_FN_ATANH:
            if (x < -1 || x > 1)
                return out_of_range;
            *out = x == -1 ? -HUGE_VAL : x == 1 ? HUGE_VAL : atanh(x);
            return NULL;
        default:
            if (x < -1 || x > 1)
                return out_of_range;
            *out = fn == AX_FN_ASIN ? asin(x) : acos(x);
            return too_large(*out);
    }
}

/* NULL, or what to say. */
static const char *unary(ax_fn fn, double x, double *out)
{
    *out = x;
    if (isnan(x))
        return NULL;
    switch (fn)
    {
        case AX_FN_SIN:
        case AX_FN_COS:
        case AX_FN_TAN:
        case AX_FN_COT: return angle(fn, x, out);
        case AX_FN_ASIN:
        case AX_FN_ACOS:
        case AX_FN_ACOSH:
        case AX_FN_ATANH: return limited(fn, x, out);
        case AX_FN_CBRT: *out = cbrt(x); return NULL;
        case AX_FN_ATAN: *out = atan(x); return too_large(*out);
        case AX_FN_SINH: *out = sinh(x); return NULL; /* too large is infinite here */
        case AX_FN_COSH: *out = cosh(x); return *out == 0 ? underflow : NULL;
        case AX_FN_TANH: *out = tanh(x); return too_large(*out);
        case AX_FN_ASINH: *out = asinh(x); return NULL;
        case AX_FN_DEGREES:
            *out = x / RADIANS_PER_DEGREE;
            return isinf(*out) && !isinf(x) ? overflow : *out == 0 && x != 0 ? underflow : NULL;
        default: /* radians */
            *out = x * RADIANS_PER_DEGREE;
            return isinf(*out) && !isinf(x) ? overflow : *out == 0 && x != 0 ? underflow : NULL;
    }
}

static ax_status run_unary(const ax_call *c, ax_call_io *io)
{
    const double *in = (const double *) io->arg[0]->u.data;
    double *out = (double *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        const char *why = ax_io_null(io, row) ? NULL : unary((ax_fn) c->fn, in[row], &out[row]);

        if (why != NULL)
            return ax_row_fail(io, AX_ERANGE, row, why);
    }
    return AX_OK;
}

static inline double float_at(const ax_vec *v, uint32_t row)
{
    return ((const double *) v->u.data)[ax_arg_row(v, row)];
}

static ax_status run_atan2(const ax_call *c, ax_call_io *io)
{
    double *out = (double *) io->data;

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        double y, x;

        if (ax_io_null(io, row))
            continue;
        y = float_at(io->arg[0], row);
        x = float_at(io->arg[1], row);
        out[row] = isnan(x) || isnan(y) ? (double) NAN : atan2(y, x);
    }
    return AX_OK;
}

ax_status ax_bind_float(ax_task *t, ax_call *c)
{
    (void) t;
    c->run = c->fn == AX_FN_ATAN2 ? run_atan2 : run_unary;
    return AX_OK;
}
