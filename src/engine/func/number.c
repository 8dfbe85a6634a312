/* Functions of integers and floats.  Source of the rules: the server's int.c, int8.c, float.c. */
#include "func/number.h"

#include <math.h>

/* ---- integers ------------------------------------------------------------------------------- */

ax_status ax_int_div(int64_t a, int64_t b, uint32_t bits, int64_t *out)
{
    if (b == 0)
        return AX_EDIVZERO;
    if (b == -1)
    {
        if (a == ax_int_min(bits))
            return AX_ERANGE;
        *out = -a;
        return AX_OK;
    }
    *out = a / b;
    return AX_OK;
}

ax_status ax_int_mod(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return AX_EDIVZERO;
    *out = b == -1 ? 0 : a % b; /* the processor traps on MIN % -1 */
    return AX_OK;
}

ax_status ax_int_abs(int64_t a, uint32_t bits, int64_t *out)
{
    if (a == ax_int_min(bits))
        return AX_ERANGE;
    *out = a < 0 ? -a : a;
    return AX_OK;
}

int64_t ax_int_shl(int64_t a, int32_t count, uint32_t bits)
{
    uint32_t by = (uint32_t) count & (bits == 64 ? 63 : 31);
    uint64_t r = bits == 64 ? (uint64_t) a << by : (uint64_t) (uint32_t) ((uint32_t) a << by);

    return ax_int_cut((int64_t) r, bits);
}

int64_t ax_int_shr(int64_t a, int32_t count, uint32_t bits)
{
    return a >> ((uint32_t) count & (bits == 64 ? 63 : 31));
}

/* ---- floats --------------------------------------------------------------------------------- */

ax_status ax_f64_div(double a, double b, double *out)
{
    if (b == 0 && !isnan(a))
        return AX_EDIVZERO;
    *out = a / b;
    if ((isinf(*out) && !isinf(a)) || (*out == 0 && a != 0 && !isinf(b)))
        return AX_ERANGE;
    return AX_OK;
}

ax_status ax_f32_div(float a, float b, float *out)
{
    if (b == 0 && !isnan(a))
        return AX_EDIVZERO;
    *out = a / b;
    if ((isinf(*out) && !isinf(a)) || (*out == 0 && a != 0 && !isinf(b)))
        return AX_ERANGE;
    return AX_OK;
}

ax_status ax_f64_sqrt(double a, double *out)
{
    if (a < 0)
        return AX_EPOWER;
    *out = sqrt(a);
    return AX_OK;
}

ax_status ax_f64_exp(double a, double *out)
{
    if (isnan(a) || isinf(a))
    {
        *out = a < 0 ? 0 : a;
        return AX_OK;
    }
    *out = exp(a);
    return isinf(*out) || *out == 0 ? AX_ERANGE : AX_OK;
}

ax_status ax_f64_ln(double a, double *out)
{
    if (a <= 0)
        return AX_ELOG;
    *out = log(a);
    return AX_OK;
}

ax_status ax_f64_log10(double a, double *out)
{
    if (a <= 0)
        return AX_ELOG;
    *out = log10(a);
    return AX_OK;
}

/* One of the two is infinite, none is NaN. */
static double power_infinite(double a, double b)
{
    double size = fabs(a);

    if (isinf(b))
    {
        if (size == 1)
            return 1;
        return (b > 0) == (size > 1) ? HUGE_VAL : 0;
    }
    if (b == 0)
        return 1;
    if (a > 0)
        return b > 0 ? a : 0;
    if (floor(b * 0.5) != b * 0.5) /* odd */
        return b > 0 ? a : -0.0;
    return b > 0 ? -a : 0;
}

ax_status ax_f64_power(double a, double b, double *out)
{
    if (isnan(a) || isnan(b))
    {
        *out = b == 0 || a == 1 ? 1 : (double) NAN;
        return AX_OK;
    }
    if ((a == 0 && b < 0) || (a < 0 && floor(b) != b))
        return AX_EPOWER;
    if (isinf(a) || isinf(b))
    {
        *out = power_infinite(a, b);
        return AX_OK;
    }
    *out = pow(a, b);
    return isinf(*out) || (*out == 0 && a != 0) ? AX_ERANGE : AX_OK;
}

double ax_f64_sign(double a) { return (a > 0) - (a < 0); }
