/* Calls on integers and floats: absolute values, bits, rounding, roots and logarithms. */
#include "func/call_int.h"

#include "func/number.h"

#include <math.h>

static inline int64_t load_int(const void *p, uint8_t kt, uint32_t i)
{
    return kt == AX_KT_I16   ? ((const int16_t *) p)[i]
           : kt == AX_KT_I32 ? ((const int32_t *) p)[i]
                             : ((const int64_t *) p)[i];
}

static inline void store_int(void *p, uint8_t kt, uint32_t i, int64_t v)
{
    if (kt == AX_KT_I16)
        ((int16_t *) p)[i] = (int16_t) v;
    else if (kt == AX_KT_I32)
        ((int32_t *) p)[i] = (int32_t) v;
    else
        ((int64_t *) p)[i] = v;
}

static inline uint32_t bits_of(uint8_t kt)
{
    return kt == AX_KT_I16 ? 16 : kt == AX_KT_I32 ? 32 : 64;
}

/* ---- integers ------------------------------------------------------------------------------- */

static ax_status run_abs_int(const ax_call *c, ax_call_io *io)
{
    static const char *const too_big[] = {[AX_T_INT2] = "smallint out of range",
                                          [AX_T_INT4] = "integer out of range",
                                          [AX_T_INT8] = "bigint out of range"};
    const ax_vec *a = io->arg[0];

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t r = 0;

        if (ax_io_null(io, row))
            continue;
        if (ax_int_abs(load_int(a->u.data, c->kt, ax_arg_row(a, row)), bits_of(c->kt), &r) != AX_OK)
            return ax_row_fail(io, AX_ERANGE, row, too_big[c->result.id]);
        store_int(io->data, c->kt, row, r);
    }
    return AX_OK;
}

/* The greatest common divisor, not negative; MIN and 0 or MIN have none. */
static ax_status gcd(int64_t a, int64_t b, int64_t min, int64_t *out)
{
    uint64_t x = a < 0 ? -(uint64_t) a : (uint64_t) a, y = b < 0 ? -(uint64_t) b : (uint64_t) b;

    while (y != 0)
    {
        uint64_t r = x % y;

        x = y;
        y = r;
    }
    *out = (int64_t) x;
    return x == -(uint64_t) min ? AX_ERANGE : AX_OK;
}

static ax_status lcm(int64_t a, int64_t b, int64_t min, int64_t *out)
{
    int64_t d;

    *out = 0;
    if (a == 0 || b == 0)
        return AX_OK;
    AX_TRY(gcd(a, b, min, &d));
    if (__builtin_mul_overflow(a / d, b, out) || *out <= min || *out > -(min + 1))
        return AX_ERANGE;
    *out = *out < 0 ? -*out : *out;
    return AX_OK;
}

static ax_status run_gcd(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    int64_t min = ax_int_min(bits_of(c->kt));

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t x, y, r = 0;

        if (ax_io_null(io, row))
            continue;
        x = load_int(a->u.data, c->kt, ax_arg_row(a, row));
        y = load_int(b->u.data, c->kt, ax_arg_row(b, row));
        if ((c->fn == AX_FN_GCD ? gcd(x, y, min, &r) : lcm(x, y, min, &r)) != AX_OK)
            return ax_row_fail(io, AX_ERANGE, row, c->kt == AX_KT_I32 ? "integer out of range"
                                                                      : "bigint out of range");
        store_int(io->data, c->kt, row, r);
    }
    return AX_OK;
}

/* & | # of whole columns, one loop a type and operator. */
#define BITS_LOOP(T, op)                                                                           \
    do                                                                                             \
    {                                                                                              \
        const T *x = (const T *) a->u.data, *y = (const T *) b->u.data;                            \
        T *out = (T *) io->data, k = y[0];                                                         \
        if (one)                                                                                   \
            for (uint32_t i = 0; i < n; i++)                                                       \
                out[i] = (T) (x[i] op k);                                                          \
        else                                                                                       \
            for (uint32_t i = 0; i < n; i++)                                                       \
                out[i] = (T) (x[i] op y[i]);                                                       \
    } while (0)
#define BITS_TYPES(op)                                                                             \
    do                                                                                             \
    {                                                                                              \
        if (c->kt == AX_KT_I16)                                                                    \
            BITS_LOOP(int16_t, op);                                                                \
        else if (c->kt == AX_KT_I32)                                                               \
            BITS_LOOP(int32_t, op);                                                                \
        else                                                                                       \
            BITS_LOOP(int64_t, op);                                                                \
    } while (0)

static ax_status run_bits(const ax_call *c, ax_call_io *io)
{
    bool swap = io->arg[0]->kind == AX_VK_CONST;
    const ax_vec *a = io->arg[swap], *b = io->arg[!swap];
    uint32_t n = io->n;
    bool one = b->kind == AX_VK_CONST;

    if (c->fn == AX_FN_BIT_AND)
        BITS_TYPES(&);
    else if (c->fn == AX_FN_BIT_OR)
        BITS_TYPES(|);
    else
        BITS_TYPES(^);
    return AX_OK;
}

static ax_status run_bit_not(const ax_call *c, ax_call_io *io)
{
    for (uint32_t i = 0; i < io->n; i++)
        store_int(io->data, c->kt, i, ~load_int(io->arg[0]->u.data, c->kt, i));
    return AX_OK;
}

static ax_status run_shift(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    uint32_t bits = bits_of(c->kt);

    for (uint32_t i = 0; i < io->n; i++)
    {
        int64_t x = load_int(a->u.data, c->kt, ax_arg_row(a, i));
        int32_t by = ((const int32_t *) b->u.data)[ax_arg_row(b, i)];

        store_int(io->data, c->kt, i,
                  c->fn == AX_FN_SHL ? ax_int_shl(x, by, bits) : ax_int_shr(x, by, bits));
    }
    return AX_OK;
}

/* ---- floats that cannot fail ---------------------------------------------------------------- */

static ax_status run_round(const ax_call *c, ax_call_io *io)
{
    const double *restrict x = (const double *) io->arg[0]->u.data;
    double *restrict out = (double *) io->data;
    uint32_t n = io->n;

#define LOOP(fn, expr)                                                                             \
    case fn:                                                                                       \
        for (uint32_t i = 0; i < n; i++)                                                           \
            out[i] = (expr);                                                                       \
        return AX_OK;
    switch ((ax_fn) c->fn)
    {
        LOOP(AX_FN_ABS, fabs(x[i]))
        LOOP(AX_FN_CEIL, ceil(x[i]))
        LOOP(AX_FN_FLOOR, floor(x[i]))
        LOOP(AX_FN_ROUND, rint(x[i]))
        LOOP(AX_FN_TRUNC, trunc(x[i]))
        default: break;
    }
#undef LOOP
    for (uint32_t i = 0; i < n; i++)
        out[i] = ax_f64_sign(x[i]);
    return AX_OK;
}

static ax_status run_abs_f32(const ax_call *c, ax_call_io *io)
{
    (void) c;
    for (uint32_t i = 0; i < io->n; i++)
        ((float *) io->data)[i] = fabsf(((const float *) io->arg[0]->u.data)[i]);
    return AX_OK;
}

/* ---- floats that may fail ------------------------------------------------------------------- */

static ax_status float_fail(const ax_call *c, ax_call_io *io, uint32_t row, ax_status s, double x,
                            double y)
{
    const char *msg;

    switch (s)
    {
        case AX_ELOG:
            msg = x == 0 ? "cannot take logarithm of zero"
                         : "cannot take logarithm of a negative number";
            break;
        case AX_EPOWER:
            msg = c->fn == AX_FN_SQRT ? "cannot take square root of a negative number"
                  : x == 0 ? "zero raised to a negative power is undefined"
                           : "a negative number raised to a non-integer power yields a complex "
                             "result";
            break;
        default: /* exp and power */
            msg = (c->fn == AX_FN_EXP ? x > 0 : (fabs(x) > 1) == (y > 0))
                      ? "value out of range: overflow"
                      : "value out of range: underflow";
            break;
    }
    return ax_row_fail(io, s, row, msg);
}

static ax_status run_float(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = c->nargs > 1 ? io->arg[1] : a;
    double *out = (double *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        double x, y;
        ax_status s;

        if (ax_io_null(io, row))
            continue;
        x = ((const double *) a->u.data)[ax_arg_row(a, row)];
        y = ((const double *) b->u.data)[ax_arg_row(b, row)];
        switch ((ax_fn) c->fn)
        {
            case AX_FN_SQRT: s = ax_f64_sqrt(x, &out[row]); break;
            case AX_FN_EXP: s = ax_f64_exp(x, &out[row]); break;
            case AX_FN_LN: s = ax_f64_ln(x, &out[row]); break;
            case AX_FN_LOG10: s = ax_f64_log10(x, &out[row]); break;
            default: s = ax_f64_power(x, y, &out[row]); break;
        }
        if (s != AX_OK)
            return float_fail(c, io, row, s, x, y);
    }
    return AX_OK;
}

/* ---- binding -------------------------------------------------------------------------------- */

ax_status ax_bind_math(ax_task *t, ax_call *c)
{
    c->kt = (uint8_t) ax_kt_of(c->arg.phys);
    if (c->fn >= AX_FN_CBRT && c->fn <= AX_FN_ATAN2)
        return ax_bind_float(t, c);
    switch ((ax_fn) c->fn)
    {
        case AX_FN_GCD:
        case AX_FN_LCM: c->run = run_gcd; return AX_OK;
        case AX_FN_BIT_AND:
        case AX_FN_BIT_OR:
        case AX_FN_BIT_XOR: c->run = run_bits; return AX_OK;
        case AX_FN_BIT_NOT: c->run = run_bit_not; return AX_OK;
        case AX_FN_SHL:
        case AX_FN_SHR: c->run = run_shift; return AX_OK;
        case AX_FN_ABS:
            if (c->kt < AX_KT_F32)
                c->run = run_abs_int;
            else
                c->run = c->kt == AX_KT_F32 ? run_abs_f32 : run_round;
            return AX_OK;
        case AX_FN_SIGN:
        case AX_FN_CEIL:
        case AX_FN_FLOOR:
        case AX_FN_ROUND:
        case AX_FN_TRUNC: c->run = run_round; return AX_OK;
        case AX_FN_SQRT:
        case AX_FN_EXP:
        case AX_FN_LN:
        case AX_FN_LOG10:
        case AX_FN_POWER: c->run = run_float; return AX_OK;
        default: return ax_fail(t, AX_EUNSUPPORTED, "no such function of numbers");
    }
}
