/* Calls on decimals: arithmetic, rounding, conversions.  Row by row on selected rows: a decimal
 * costs, and a row may fail. */
#include "func/call_int.h"

#include "func/numeric.h"

#include <string.h>

#define BEYOND "numeric value has more than 38 digits, which is all the engine computes with"

static const char *message(const ax_call *c, ax_status s, const ax_num *a)
{
    switch (s)
    {
        case AX_EDIVZERO: return "division by zero";
        case AX_EBEYOND: return BEYOND;
        case AX_EUNSUPPORTED:
            return a->special == AX_NUM_NAN ? "cannot convert NaN to an integer"
                                            : "cannot convert infinity to an integer";
        default: break;
    }
    switch (c->result.id)
    {
        case AX_T_INT2: return "smallint out of range";
        case AX_T_INT4: return "integer out of range";
        case AX_T_INT8: return "bigint out of range";
        case AX_T_NUMERIC: return "numeric field overflow";
        default: return "value out of range";
    }
}

static ax_status fail(const ax_call *c, ax_call_io *io, uint32_t row, ax_status s, const ax_num *a)
{
    return ax_row_fail(io, s, row, message(c, s, a));
}

/* ---- two decimals --------------------------------------------------------------------------- */

static inline ax_status binary(uint16_t fn, const ax_num *x, const ax_num *y, ax_num *out)
{
    switch ((ax_fn) fn)
    {
        case AX_FN_ADD: return ax_num_add(x, y, out);
        case AX_FN_SUB: return ax_num_sub(x, y, out);
        case AX_FN_MUL: return ax_num_mul(x, y, out);
        case AX_FN_DIV: return ax_num_div(x, y, out);
        case AX_FN_MOD: return ax_num_mod(x, y, out);
        default: return ax_num_div_trunc(x, y, out);
    }
}

static ax_status run_binary(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    const ax_num *x = (const ax_num *) a->u.data, *y = (const ax_num *) b->u.data;
    ax_num *out = (ax_num *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_status s;

        if (ax_io_null(io, row))
            continue;
        s = binary(c->fn, &x[ax_arg_row(a, row)], &y[ax_arg_row(b, row)], &out[row]);
        if (s != AX_OK)
            return fail(c, io, row, s, x);
    }
    return AX_OK;
}

/* ---- one decimal ---------------------------------------------------------------------------- */

static inline ax_status unary(uint16_t fn, const ax_num *x, ax_num *out)
{
    switch ((ax_fn) fn)
    {
        case AX_FN_NEG: *out = ax_num_neg(x); return AX_OK;
        case AX_FN_ABS: *out = ax_num_abs(x); return AX_OK;
        case AX_FN_SIGN: *out = ax_num_sign(x); return AX_OK;
        case AX_FN_CEIL: *out = ax_num_ceil(x); return AX_OK;
        case AX_FN_FLOOR: *out = ax_num_floor(x); return AX_OK;
        case AX_FN_TRIM_SCALE: *out = ax_num_trim_scale(x); return AX_OK;
        case AX_FN_ROUND: return ax_num_round(x, 0, out);
        default: return ax_num_trunc(x, 0, out);
    }
}

static ax_status run_unary(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0];
    const ax_num *x = (const ax_num *) a->u.data;
    ax_num *out = (ax_num *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_status s = ax_io_null(io, row) ? AX_OK : unary(c->fn, &x[ax_arg_row(a, row)], &out[row]);

        if (s != AX_OK)
            return fail(c, io, row, s, x);
    }
    return AX_OK;
}

/* scale(n), min_scale(n): null where there is no number. */
static ax_status run_scale(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0];
    const ax_num *x = (const ax_num *) a->u.data;
    bool had = io->has_null;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), ra = ax_arg_row(a, row);

        if (ax_io_null(io, row) || (had && io->null[row]))
            continue;
        if (x[ra].special)
        {
            if (!io->has_null)
                memset(io->null, 0, io->n);
            io->has_null = true;
            io->null[row] = 1;
            continue;
        }
        ((int32_t *) io->data)[row] =
            c->fn == AX_FN_SCALE ? x[ra].dscale : ax_num_trim_scale(&x[ra]).dscale;
    }
    return AX_OK;
}

/* round(n, s), trunc(n, s), numeric(n, typmod) */
static ax_status run_scaled(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    const ax_num *x = (const ax_num *) a->u.data;
    const int32_t *n = (const int32_t *) b->u.data;
    ax_num *out = (ax_num *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), ra = ax_arg_row(a, row), rb = ax_arg_row(b, row);
        ax_status s;

        if (ax_io_null(io, row))
            continue;
        if (c->fn == AX_FN_ROUND_TO)
            s = ax_num_round(&x[ra], n[rb], &out[row]);
        else if (c->fn == AX_FN_TRUNC_TO)
            s = ax_num_trunc(&x[ra], n[rb], &out[row]);
        else
            s = ax_num_coerce(&x[ra], c->result.precision, c->result.scale, &out[row]);
        if (s != AX_OK)
            return fail(c, io, row, s, &x[ra]);
    }
    return AX_OK;
}

/* ---- conversions ---------------------------------------------------------------------------- */

static ax_status convert(const ax_num *x, uint8_t to, void *out, uint32_t row)
{
    int64_t v = 0;
    ax_status s;

    switch (to)
    {
        case AX_T_INT2:
            s = ax_num_to_int(x, INT16_MIN, INT16_MAX, &v);
            ((int16_t *) out)[row] = (int16_t) v;
            return s;
        case AX_T_INT4:
            s = ax_num_to_int(x, INT32_MIN, INT32_MAX, &v);
            ((int32_t *) out)[row] = (int32_t) v;
            return s;
        case AX_T_INT8:
            return ax_num_to_int(x, INT64_MIN, INT64_MAX, &((int64_t *) out)[row]);
        case AX_T_FLOAT4:
            return ax_num_to_f32(x, &((float *) out)[row]);
        default:
            return ax_num_to_f64(x, &((double *) out)[row]);
    }
}

static ax_status run_from_numeric(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0];
    const ax_num *x = (const ax_num *) a->u.data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), ra = ax_arg_row(a, row);
        ax_status s = ax_io_null(io, row) ? AX_OK : convert(&x[ra], c->result.id, io->data, row);

        if (s != AX_OK)
            return fail(c, io, row, s, &x[ra]);
    }
    return AX_OK;
}

/* float::numeric(precision, scale).  More than 38 digits are too many for every precision that is
 * pushed down. */
static ax_status run_from_float(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0];
    ax_num *out = (ax_num *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), ra = ax_arg_row(a, row);
        ax_num whole;
        ax_status s;

        if (ax_io_null(io, row))
            continue;
        if (c->arg.id == AX_T_FLOAT4)
            s = ax_num_from_f32(((const float *) a->u.data)[ra], &whole);
        else
            s = ax_num_from_f64(((const double *) a->u.data)[ra], &whole);
        if (s == AX_OK)
            s = ax_num_coerce(&whole, c->result.precision, c->result.scale, &out[row]);
        if (s != AX_OK)
            return fail(c, io, row, s == AX_EBEYOND ? AX_ERANGE : s, &whole);
    }
    return AX_OK;
}

/* ---- binding -------------------------------------------------------------------------------- */

/* A typmod of numeric: precision and scale, the latter with 11 bits and a sign. */
static bool read_typmod(const ax_value *v, int32_t *precision, int16_t *scale)
{
    int32_t typmod = v == NULL || v->null ? -1 : (int32_t) v->u.i - 4;

    *precision = typmod >> 16 & 0xFFFF;
    *scale = (int16_t) (((typmod & 0x7FF) ^ 1024) - 1024);
    return typmod >= 0;
}

static ax_status bind_coerce(ax_task *t, ax_call *c)
{
    bool known = read_typmod(c->konst[1], &c->result.precision, &c->result.scale);

    AX_CHECK(t, known || c->konst[1]->null, AX_EUNSUPPORTED, "numeric: no precision");
    return AX_OK;
}

ax_status ax_bind_numeric(ax_task *t, ax_call *c)
{
    c->whole = false;
    switch ((ax_fn) c->fn)
    {
        case AX_FN_ADD:
        case AX_FN_SUB:
        case AX_FN_MUL:
        case AX_FN_DIV:
        case AX_FN_MOD:
        case AX_FN_DIV_TRUNC:
            c->run = run_binary;
            return AX_OK;
        case AX_FN_NEG:
        case AX_FN_ABS:
        case AX_FN_SIGN:
        case AX_FN_CEIL:
        case AX_FN_FLOOR:
        case AX_FN_ROUND:
        case AX_FN_TRUNC:
        case AX_FN_TRIM_SCALE:
            c->run = run_unary;
            return AX_OK;
        case AX_FN_ROUND_TO:
        case AX_FN_TRUNC_TO:
            c->run = run_scaled;
            return AX_OK;
        case AX_FN_NUM_COERCE:
            c->run = run_scaled;
            return bind_coerce(t, c);
        case AX_FN_FLOAT_COERCE:
            c->run = run_from_float;
            return bind_coerce(t, c);
        case AX_FN_SCALE:
        case AX_FN_MIN_SCALE:
            c->run = run_scale;
            return AX_OK;
        case AX_FN_TO_INT2:
        case AX_FN_TO_INT4:
        case AX_FN_TO_INT8:
        case AX_FN_TO_FLOAT4:
        case AX_FN_TO_FLOAT8:
            c->run = run_from_numeric;
            return AX_OK;
        default:
            return ax_fail(t, AX_EUNSUPPORTED, "no such function of decimals");
    }
}

/* May fn fail on decimals of these types?  Declared precisions often say no. */
bool ax_numeric_can_raise(ax_fn fn, const ax_type *args, const ax_value *const *konst)
{
    ax_num_bound a = ax_num_bound_of(args[0]);
    int64_t scale;

    switch (fn)
    {
        case AX_FN_ADD:
        case AX_FN_SUB: return !ax_num_fits_add(a, ax_num_bound_of(args[1])).known;
        case AX_FN_MUL: return !ax_num_fits_mul(a, ax_num_bound_of(args[1])).known;
        case AX_FN_NEG:
        case AX_FN_ABS:
        case AX_FN_SIGN:
        case AX_FN_CEIL:
        case AX_FN_FLOOR:
        case AX_FN_ROUND:
        case AX_FN_TRUNC: return false;
        case AX_FN_ROUND_TO:
        case AX_FN_TRUNC_TO:
            if (!a.known || konst == NULL || konst[1] == NULL || konst[1]->null)
                return true;
            scale = konst[1]->u.i > 0 ? konst[1]->u.i : 0;
            return a.whole + 1 + scale > AX_NUM_DIGITS;
        case AX_FN_TO_FLOAT4: return !a.known || a.scale > 30;
        case AX_FN_TO_FLOAT8: return !a.known;
        case AX_FN_SCALE:
        case AX_FN_MIN_SCALE:
        case AX_FN_TRIM_SCALE: return false;
        default: return true;
    }
}

/* ---- digits --------------------------------------------------------------------------------- */

/* Digits of an argument: of a constant those it has, else what its type guarantees. */
static ax_num_bound digits_of(ax_type type, const ax_value *konst)
{
    ax_num_bound b = {.known = true};
    ax_u128 whole;

    if (konst == NULL || type.id != AX_T_NUMERIC)
        return ax_num_bound_of(type);
    if (konst->null || konst->u.num.special != AX_NUM_FINITE)
        return b;
    b.scale = konst->u.num.dscale;
    whole = (ax_u128) (konst->u.num.v < 0 ? -konst->u.num.v : konst->u.num.v);
    for (int32_t i = 0; i < b.scale && whole > 0; i++)
        whole /= 10;
    for (; whole > 0; whole /= 10)
        b.whole++;
    return b;
}

/* What numeric(p, s) holds; unknown when that may be more than 38 digits. */
static ax_num_bound digits_of_typmod(const ax_value *typmod)
{
    int32_t precision;
    int16_t scale;

    if (!read_typmod(typmod, &precision, &scale) || scale > precision)
        return (ax_num_bound){0};
    return (ax_num_bound){precision - (scale < 0 ? scale : 0) <= AX_NUM_DIGITS, precision - scale,
                          scale > 0 ? scale : 0};
}

static ax_num_bound digits_to_scale(ax_num_bound a, const ax_value *scale)
{
    int64_t to = scale != NULL && !scale->null ? scale->u.i : AX_NUM_DIGITS;

    if (to < 0)
        to = 0;
    return (ax_num_bound){a.known && a.whole + 1 + to <= AX_NUM_DIGITS, a.whole + 1, (int32_t) to};
}

static ax_num_bound digits_of_result(ax_fn fn, ax_num_bound a, ax_num_bound b,
                                     const ax_value *const *konst)
{
    switch (fn)
    {
        case AX_FN_ADD:
        case AX_FN_SUB: return ax_num_fits_add(a, b);
        case AX_FN_MUL: return ax_num_fits_mul(a, b);
        case AX_FN_MOD: return ax_num_fits_add(a, b);
        case AX_FN_DIV_TRUNC:
            a.known = a.known && b.known && a.whole + b.scale <= AX_NUM_DIGITS;
            return (ax_num_bound){a.known, a.whole + b.scale, 0};
        case AX_FN_ROUND_TO:
        case AX_FN_TRUNC_TO: return digits_to_scale(a, konst[1]);
        default: return (ax_num_bound){0};
    }
}

const char *ax_fn_digits(ax_fn fn, const ax_type *args, const ax_value *const *konst,
                         ax_type *result)
{
    static const char *const why = "the result may need more than 38 digits";
    ax_num_bound a, b = {0}, r;

    if (result->id != AX_T_NUMERIC)
        return NULL;
    a = digits_of(args[0], konst[0]);
    switch (fn)
    {
        case AX_FN_TO_NUMERIC:
        case AX_FN_NEG:
        case AX_FN_TRIM_SCALE:
        case AX_FN_ABS: r = a; break;
        case AX_FN_NUM_COERCE:
        case AX_FN_FLOAT_COERCE:
            r = digits_of_typmod(konst[1]);
            if (!r.known)
                return why;
            break;
        case AX_FN_SIGN: r = (ax_num_bound){true, 1, 0}; break;
        case AX_FN_CEIL:
        case AX_FN_FLOOR:
        case AX_FN_ROUND:
        case AX_FN_TRUNC: r = (ax_num_bound){a.known && a.whole < AX_NUM_DIGITS, a.whole + 1, 0};
            break;
        case AX_FN_DIV: /* the scale of a quotient depends on the values */
            return ax_num_fits_div(a, digits_of(args[1], konst[1])) ? NULL : why;
        case AX_FN_ADD:
        case AX_FN_SUB:
        case AX_FN_MUL:
        case AX_FN_MOD:
        case AX_FN_DIV_TRUNC:
        case AX_FN_ROUND_TO:
        case AX_FN_TRUNC_TO:
            if (fn != AX_FN_ROUND_TO && fn != AX_FN_TRUNC_TO)
                b = digits_of(args[1], konst[1]);
            r = digits_of_result(fn, a, b, konst);
            if (!r.known)
                return why;
            break;
        default: return NULL;
    }
    if (r.known)
    {
        result->precision = r.whole + r.scale > 0 ? r.whole + r.scale : 1;
        result->scale = (int16_t) r.scale;
    }
    return NULL;
}
