/* Comparisons of all types, arithmetic and conversions of numbers. */
#include "func/call_int.h"

#include <string.h>

/* ---- comparisons ----------------------------------------------------------------------------- */

static const uint8_t flipped[AX_KC_CNT] = {[AX_KC_EQ] = AX_KC_EQ, [AX_KC_NE] = AX_KC_NE,
                                           [AX_KC_LT] = AX_KC_GT, [AX_KC_LE] = AX_KC_GE,
                                           [AX_KC_GT] = AX_KC_LT, [AX_KC_GE] = AX_KC_LE};

static inline bool cmp_holds(int cmp, uint8_t op)
{
    switch (op)
    {
        case AX_KC_EQ: return cmp == 0;
        case AX_KC_NE: return cmp != 0;
        case AX_KC_LT: return cmp < 0;
        case AX_KC_LE: return cmp <= 0;
        case AX_KC_GT: return cmp > 0;
        default: return cmp >= 0;
    }
}

static ax_status run_cmp(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    const ax_kernels *k = ax_k_get();

    if (a->kind == AX_VK_CONST)
        k->cmp[c->kt][flipped[c->op]][1](b->u.data, a->u.data, (uint8_t *) io->data, io->n);
    else
        k->cmp[c->kt][c->op][b->kind == AX_VK_CONST](a->u.data, b->u.data, (uint8_t *) io->data,
                                                     io->n);
    return AX_OK;
}

static ax_status run_cmp_num(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    const ax_num *x = (const ax_num *) a->u.data, *y = (const ax_num *) b->u.data;
    uint8_t *out = (uint8_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        out[row] = cmp_holds(ax_num_cmp(&x[ax_arg_row(a, row)], &y[ax_arg_row(b, row)]), c->op);
    }
    return AX_OK;
}

/* Intervals and uuids. */
static ax_status run_cmp_value(const ax_call *c, ax_call_io *io)
{
    uint8_t *out = (uint8_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_value x = ax_vec_value(io->arg[0], row), y = ax_vec_value(io->arg[1], row);

        out[row] = !x.null && !y.null && cmp_holds(ax_value_cmp(&x, &y), c->op);
    }
    return AX_OK;
}

/* Text against a constant for = and <>. */
static ax_status run_str_eq(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    const ax_vec *v = a->kind == AX_VK_CONST ? b : a, *k = a->kind == AX_VK_CONST ? a : b;
    ax_strs s = ax_strs_of(v);
    uint8_t *out = (uint8_t *) io->data, head[8] = {0};
    uint32_t len;
    const uint8_t *p = ax_vec_str(k, 0, &len);

    if (len < 8) /* the kernel reads a whole word */
    {
        memcpy(head, p, len);
        p = head;
    }
    ax_k_get()->str_eq(&s, io->sel, ax_io_rows(io), p, len, out);
    if (c->op == AX_KC_NE)
        ax_k_get()->not(out, out, io->n);
    return AX_OK;
}

static ax_status run_cmp_str(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    bool trim = c->arg.id == AX_T_BPCHAR, equality = c->op == AX_KC_EQ || c->op == AX_KC_NE;
    uint8_t *out = (uint8_t *) io->data;

    if (!trim && equality && (a->kind == AX_VK_CONST || b->kind == AX_VK_CONST))
        return run_str_eq(c, io);
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), xn, yn;
        const uint8_t *x, *y;

        if (ax_io_null(io, row))
        {
            out[row] = 0;
            continue;
        }
        x = ax_vec_str(a, row, &xn);
        y = ax_vec_str(b, row, &yn);
        if (trim)
        {
            xn = ax_bpchar_len(x, xn);
            yn = ax_bpchar_len(y, yn);
        }
        if (equality && xn != yn)
            out[row] = c->op == AX_KC_NE;
        else
            out[row] = cmp_holds(ax_bytes_cmp(x, xn, y, yn), c->op);
    }
    return AX_OK;
}

static ax_status run_cmp_any(const ax_call *c, ax_call_io *io)
{
    if (c->kt != AX_KT_CNT)
        return run_cmp(c, io);
    if (c->arg.phys == AX_P_STR)
        return run_cmp_str(c, io);
    return c->arg.phys == AX_P_NUM ? run_cmp_num(c, io) : run_cmp_value(c, io);
}

/* IS [NOT] DISTINCT FROM: nulls are equal to each other and to nothing else. */
static ax_status run_distinct(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    uint8_t *out = (uint8_t *) io->data;

    io->has_null = a->null != NULL || b->null != NULL;
    if (!io->has_null)
    {
        AX_TRY(run_cmp_any(c, io));
    }
    else
    {
        for (uint32_t i = 0; i < io->n; i++)
        {
            uint8_t x = a->null ? a->null[ax_arg_row(a, i)] : 0;
            uint8_t y = b->null ? b->null[ax_arg_row(b, i)] : 0;

            io->null[i] = (uint8_t) (x | y | (x & y) << 1);
        }
        AX_TRY(run_cmp_any(c, io)); /* op is <> */
        for (uint32_t i = 0; i < io->n; i++)
            if (io->null[i])
                out[i] = io->null[i] == 1; /* one of the two is null */
    }
    io->has_null = false;
    if (c->fn == AX_FN_NOT_DISTINCT)
        ax_k_get()->not(out, out, io->n);
    return AX_OK;
}

ax_status ax_bind_compare(ax_task *t, ax_call *c)
{
    (void) t;
    c->kt = (uint8_t) ax_kt_of(c->arg.phys);
    c->whole = c->kt != AX_KT_CNT;
    c->run = run_cmp_any;
    if (c->fn == AX_FN_DISTINCT || c->fn == AX_FN_NOT_DISTINCT)
    {
        c->op = AX_KC_NE;
        c->run = run_distinct;
    }
    else
        c->op = (uint8_t) (c->fn - AX_FN_EQ);
    return AX_OK;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static const char *range_message(uint8_t type_id, uint32_t flags)
{
    switch (type_id)
    {
        case AX_T_INT2: return "smallint out of range";
        case AX_T_INT4: return "integer out of range";
        case AX_T_INT8: return "bigint out of range";
        default:
            return flags & 1 ? "value out of range: overflow" : "value out of range: underflow";
    }
}

/* The kernel saw a row that does not fit: is there one that counts? */
static ax_status find_arith(const ax_call *c, ax_call_io *io, ax_kshape shape)
{
    uint32_t width = ax_phys_width(c->arg.phys);
    const uint8_t *a = (const uint8_t *) io->arg[0]->u.data;
    const uint8_t *b = (const uint8_t *) io->arg[1]->u.data;
    uint64_t sink;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), flags;

        if (ax_io_null(io, row))
            continue;
        flags = ax_k_get()->arith[c->kt][c->op][AX_KS_VV](
            a + (shape == AX_KS_CV ? 0 : (size_t) row * width),
            b + (shape == AX_KS_VC ? 0 : (size_t) row * width), &sink, 1);
        if (flags)
            return ax_row_fail(io, AX_ERANGE, row, range_message(c->result.id, flags));
    }
    return AX_OK;
}

static ax_status run_arith(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    ax_kshape shape = a->kind == AX_VK_CONST   ? AX_KS_CV
                      : b->kind == AX_VK_CONST ? AX_KS_VC
                                               : AX_KS_VV;

    if (ax_k_get()->arith[c->kt][c->op][shape](a->u.data, b->u.data, io->data, io->n))
        return find_arith(c, io, shape);
    return AX_OK;
}

/* 0 - x for integers; x * -1 for floats, where 0 - 0 would lose the sign. */
static ax_status run_neg(const ax_call *c, ax_call_io *io)
{
    static const int64_t zero;
    static const float minus_f32 = -1;
    static const double minus_f64 = -1;
    ax_vec konst = {.kind = AX_VK_CONST, .type = c->arg, .n = io->n};
    ax_call_io two = *io;
    ax_status s;

    if (c->op == AX_KA_SUB)
    {
        konst.u.data = (void *) (uintptr_t) &zero;
        two.arg[1] = io->arg[0];
        two.arg[0] = &konst;
    }
    else
    {
        konst.u.data = (void *) (uintptr_t) (c->kt == AX_KT_F32 ? (const void *) &minus_f32
                                                                : (const void *) &minus_f64);
        two.arg[1] = &konst;
    }
    s = run_arith(c, &two);
    io->fail_row = two.fail_row;
    io->fail_msg = two.fail_msg;
    return s;
}

/* / and %: row by row, since a row may fail in several ways.  32-bit division where both operands
 * fit, because 64-bit division is several times slower on older processors. */
static inline int64_t load_int(const void *p, uint8_t kt, uint32_t i)
{
    return kt == AX_KT_I16   ? ((const int16_t *) p)[i]
           : kt == AX_KT_I32 ? ((const int32_t *) p)[i]
                             : ((const int64_t *) p)[i];
}

static inline int64_t divide(int64_t x, int64_t y, bool mod)
{
    if (((uint64_t) x | (uint64_t) y) <= INT32_MAX)
        return mod ? (int64_t) ((uint32_t) x % (uint32_t) y)
                   : (int64_t) ((uint32_t) x / (uint32_t) y);
    return mod ? x % y : x / y;
}

static ax_status run_div_int(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    bool mod = c->fn == AX_FN_MOD;
    int64_t min = c->kt == AX_KT_I16 ? INT16_MIN : c->kt == AX_KT_I32 ? INT32_MIN : INT64_MIN;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t x, y, r;

        if (ax_io_null(io, row))
            continue;
        x = load_int(a->u.data, c->kt, ax_arg_row(a, row));
        y = load_int(b->u.data, c->kt, ax_arg_row(b, row));
        if (y == 0)
            return ax_row_fail(io, AX_EDIVZERO, row, "division by zero");
        if (y == -1)
        {
            if (!mod && x == min)
                return ax_row_fail(io, AX_ERANGE, row, range_message(c->result.id, 1));
            r = mod ? 0 : -x;
        }
        else
            r = divide(x, y, mod);
        if (c->kt == AX_KT_I16)
            ((int16_t *) io->data)[row] = (int16_t) r;
        else if (c->kt == AX_KT_I32)
            ((int32_t *) io->data)[row] = (int32_t) r;
        else
            ((int64_t *) io->data)[row] = r;
    }
    return AX_OK;
}

static inline double load_float(const void *p, uint8_t kt, uint32_t i)
{
    return kt == AX_KT_F32 ? (double) ((const float *) p)[i] : ((const double *) p)[i];
}

static ax_status run_div_float(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        double x, y, r;

        if (ax_io_null(io, row))
            continue;
        x = load_float(a->u.data, c->kt, ax_arg_row(a, row));
        y = load_float(b->u.data, c->kt, ax_arg_row(b, row));
        if (y == 0 && x == x)
            return ax_row_fail(io, AX_EDIVZERO, row, "division by zero");
        if (c->kt == AX_KT_F32) /* rounding the double quotient again gives the float quotient */
            r = (double) (((float *) io->data)[row] = (float) x / (float) y);
        else
            r = ((double *) io->data)[row] = x / y;
        if (__builtin_isinf(r) && !__builtin_isinf(x))
            return ax_row_fail(io, AX_ERANGE, row, range_message(c->result.id, 1));
        if (r == 0 && x != 0 && !__builtin_isinf(y))
            return ax_row_fail(io, AX_ERANGE, row, range_message(c->result.id, 2));
    }
    return AX_OK;
}

ax_status ax_bind_arith(ax_task *t, ax_call *c)
{
    c->kt = (uint8_t) ax_kt_of(c->arg.phys);
    AX_CHECK(t, c->kt != AX_KT_CNT && c->kt != AX_KT_U8, AX_EUNSUPPORTED, "no such arithmetic");
    c->run = run_arith;
    switch (c->fn)
    {
        case AX_FN_ADD: c->op = AX_KA_ADD; break;
        case AX_FN_SUB: c->op = AX_KA_SUB; break;
        case AX_FN_MUL: c->op = AX_KA_MUL; break;
        case AX_FN_NEG:
            c->run = run_neg;
            c->op = c->kt >= AX_KT_F32 ? AX_KA_MUL : AX_KA_SUB;
            break;
        default:
            c->run = c->kt >= AX_KT_F32 ? run_div_float : run_div_int;
            break;
    }
    return AX_OK;
}

/* ---- conversions ----------------------------------------------------------------------------- */

static const uint8_t cast_table[AX_KT_CNT][AX_KT_CNT] = {
    [AX_KT_I16] = {[AX_KT_I32] = AX_KX_I16_I32 + 1, [AX_KT_I64] = AX_KX_I16_I64 + 1,
                   [AX_KT_F32] = AX_KX_I16_F32 + 1, [AX_KT_F64] = AX_KX_I16_F64 + 1},
    [AX_KT_I32] = {[AX_KT_I16] = AX_KX_I32_I16 + 1, [AX_KT_I64] = AX_KX_I32_I64 + 1,
                   [AX_KT_F32] = AX_KX_I32_F32 + 1, [AX_KT_F64] = AX_KX_I32_F64 + 1},
    [AX_KT_I64] = {[AX_KT_I16] = AX_KX_I64_I16 + 1, [AX_KT_I32] = AX_KX_I64_I32 + 1,
                   [AX_KT_F32] = AX_KX_I64_F32 + 1, [AX_KT_F64] = AX_KX_I64_F64 + 1},
    [AX_KT_F32] = {[AX_KT_I16] = AX_KX_F32_I16 + 1, [AX_KT_I32] = AX_KX_F32_I32 + 1,
                   [AX_KT_I64] = AX_KX_F32_I64 + 1, [AX_KT_F64] = AX_KX_F32_F64 + 1},
    [AX_KT_F64] = {[AX_KT_I16] = AX_KX_F64_I16 + 1, [AX_KT_I32] = AX_KX_F64_I32 + 1,
                   [AX_KT_I64] = AX_KX_F64_I64 + 1, [AX_KT_F32] = AX_KX_F64_F32 + 1},
};

static ax_status run_cast(const ax_call *c, ax_call_io *io)
{
    const uint8_t *a = (const uint8_t *) io->arg[0]->u.data;
    uint32_t width = ax_phys_width(c->arg.phys);
    uint64_t sink;

    if (ax_k_get()->cast[c->cast](a, io->data, io->n) == 0)
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), flags;

        if (ax_io_null(io, row))
            continue;
        flags = ax_k_get()->cast[c->cast](a + (size_t) row * width, &sink, 1);
        if (flags)
            return ax_row_fail(io, AX_ERANGE, row, range_message(c->result.id, flags));
    }
    return AX_OK;
}

static ax_status run_to_numeric(const ax_call *c, ax_call_io *io)
{
    ax_num *out = (ax_num *) io->data;

    for (uint32_t i = 0; i < io->n; i++)
        out[i] = (ax_num){.v = load_int(io->arg[0]->u.data, c->kt, i)};
    return AX_OK;
}

ax_status ax_bind_cast(ax_task *t, ax_call *c)
{
    ax_kt to = ax_kt_of(c->result.phys);

    c->kt = (uint8_t) ax_kt_of(c->arg.phys);
    if (c->fn == AX_FN_TO_NUMERIC)
    {
        c->run = run_to_numeric;
        return AX_OK;
    }
    AX_CHECK(t, c->kt != AX_KT_CNT && to != AX_KT_CNT && cast_table[c->kt][to] != 0,
             AX_EUNSUPPORTED, "no conversion from %s to %s", ax_type_name(c->arg.id),
             ax_type_name(c->result.id));
    c->cast = (uint8_t) (cast_table[c->kt][to] - 1);
    c->run = run_cast;
    return AX_OK;
}
