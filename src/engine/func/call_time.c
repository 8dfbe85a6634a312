/* Calls on dates and timestamps; the values are those of func/datetime.h. */
#include "func/call_int.h"

#include "func/datetime.h"

#include <string.h>

#define TS_RANGE "timestamp out of range"

/* More than half of the rows wanted: loops over all are faster. */
static inline bool is_dense(const ax_call_io *io)
{
    return io->sel == NULL || io->nsel > io->n / 2;
}

/* Make row null; had: there were nulls before. */
static void set_null(ax_call_io *io, uint32_t row)
{
    if (!io->has_null)
        memset(io->null, 0, io->n);
    io->has_null = true;
    io->null[row] = 1;
}

/* ---- dates ---------------------------------------------------------------------------------- */

static ax_status run_date_shift(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    int32_t *out = (int32_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t days;

        if (ax_io_null(io, row))
            continue;
        days = ((const int32_t *) b->u.data)[ax_arg_row(b, row)];
        if (ax_date_add(((const int32_t *) a->u.data)[ax_arg_row(a, row)],
                        c->fn == AX_FN_DATE_ADD ? days : -days, &out[row]) != AX_OK)
            return ax_row_fail(io, AX_EDATETIME, row, "date out of range");
    }
    return AX_OK;
}

static ax_status run_date_diff(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row)
            && ax_date_diff(((const int32_t *) a->u.data)[ax_arg_row(a, row)],
                            ((const int32_t *) b->u.data)[ax_arg_row(b, row)],
                            &((int32_t *) io->data)[row]) != AX_OK)
            return ax_row_fail(io, AX_EDATETIME, row, "cannot subtract infinite dates");
    }
    return AX_OK;
}

static ax_status run_make_date(const ax_call *c, ax_call_io *io)
{
    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int32_t v[3];

        if (ax_io_null(io, row))
            continue;
        for (uint32_t k = 0; k < 3; k++)
            v[k] = ((const int32_t *) io->arg[k]->u.data)[ax_arg_row(io->arg[k], row)];
        if (ax_make_date(v[0], v[1], v[2], &((int32_t *) io->data)[row]) != AX_OK)
            return ax_row_fail(io, AX_EDATETIME, row, "date field value out of range");
    }
    return AX_OK;
}

/* ---- conversions ---------------------------------------------------------------------------- */

static ax_status run_date_to_timestamp(const ax_call *c, ax_call_io *io)
{
    const int32_t *in = (const int32_t *) io->arg[0]->u.data;
    int64_t *out = (int64_t *) io->data;
    uint32_t bad = 0;

    for (uint32_t i = 0; i < io->n; i++)
    {
        int32_t d = in[i];
        bool late = d >= AX_TS_DATE_END;

        out[i] = d == AX_DATE_NINF   ? AX_TS_NINF
                 : d == AX_DATE_PINF ? AX_TS_PINF
                 : late              ? AX_TS_PINF - 1
                                     : d * AX_USEC_DAY;
        bad |= late && d != AX_DATE_PINF;
    }
    if (!bad || c->fn == AX_FN_DATE_ORDER)
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row) && out[row] == AX_TS_PINF - 1)
            return ax_row_fail(io, AX_EDATETIME, row, "date out of range for timestamp");
    }
    return AX_OK;
}

static ax_status run_to_date(const ax_call *c, ax_call_io *io)
{
    const int64_t *in = (const int64_t *) io->arg[0]->u.data;

    (void) c;
    for (uint32_t i = 0; i < io->n; i++)
        ((int32_t *) io->data)[i] = ax_ts_to_date(in[i]);
    return AX_OK;
}

/* An infinite timestamp has no time of day: null. */
static ax_status run_to_time(const ax_call *c, ax_call_io *io)
{
    const int64_t *in = (const int64_t *) io->arg[0]->u.data;

    (void) c;
    for (uint32_t i = 0; i < io->n; i++)
        if (!ax_ts_to_time(in[i], &((int64_t *) io->data)[i]))
            set_null(io, i);
    return AX_OK;
}

static ax_status run_isfinite(const ax_call *c, ax_call_io *io)
{
    const void *in = io->arg[0]->u.data;
    uint8_t *out = (uint8_t *) io->data;

    for (uint32_t i = 0; i < io->n; i++)
        out[i] = c->arg.id == AX_T_DATE ? ax_date_finite(((const int32_t *) in)[i])
                                        : ax_ts_finite(((const int64_t *) in)[i]);
    return AX_OK;
}

/* ---- extract and date_part ------------------------------------------------------------------ */

static ax_status run_extract_ts(const ax_call *c, ax_call_io *io)
{
    const int64_t *in = (const int64_t *) io->arg[1]->u.data;
    ax_num *out = (ax_num *) io->data;
    ax_unit u = (ax_unit) c->unit;

    if (is_dense(io) && ax_ts_extract_run(u, in, out, io->n))
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row) && !ax_ts_extract(u, in[row], &out[row]))
            set_null(io, row);
    }
    return AX_OK;
}

static ax_status run_extract_date(const ax_call *c, ax_call_io *io)
{
    const int32_t *in = (const int32_t *) io->arg[1]->u.data;
    ax_num *out = (ax_num *) io->data;
    ax_unit u = (ax_unit) c->unit;

    if (is_dense(io) && ax_date_extract_run(u, in, out, io->n))
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row) && !ax_date_extract(u, in[row], &out[row]))
            set_null(io, row);
    }
    return AX_OK;
}

/* A field of a time of day, which may be 24:00:00. */
static ax_num time_field(ax_unit u, int64_t t)
{
    int64_t second = t % AX_USEC_MIN;
    int64_t v = u == AX_UNIT_HOUR     ? t / AX_USEC_HOUR
                : u == AX_UNIT_MINUTE ? t / AX_USEC_MIN % 60
                : u == AX_UNIT_EPOCH  ? t
                                      : second;

    return (ax_num){.v = v, .dscale = ax_unit_scale(u)};
}

static ax_status run_extract_time(const ax_call *c, ax_call_io *io)
{
    const int64_t *in = (const int64_t *) io->arg[1]->u.data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row))
            ((ax_num *) io->data)[row] = time_field((ax_unit) c->unit, in[row]);
    }
    return AX_OK;
}

/* Fields of finite timestamps; false: some are not. */
static bool ts_fields(ax_unit u, const int64_t *in, int32_t *out, uint32_t n)
{
    enum { STEP = 256 };
    int64_t field[STEP];
    bool finite = true;

    for (uint32_t at = 0; at < n; at += STEP)
    {
        uint32_t k = n - at < STEP ? n - at : STEP;

        ax_ts_field_run(u, in + at, field, k);
        for (uint32_t i = 0; i < k; i++)
        {
            finite &= ax_ts_finite(in[at + i]);
            out[at + i] = (int32_t) field[i];
        }
    }
    return finite;
}

static ax_status run_field(const ax_call *c, ax_call_io *io)
{
    const void *in = io->arg[1]->u.data;
    ax_type_id type = (ax_type_id) io->arg[1]->type.id;
    int32_t *out = (int32_t *) io->data;
    ax_unit u = (ax_unit) c->unit;

    if (type == AX_T_TIMESTAMP && is_dense(io) && ts_fields(u, (const int64_t *) in, out, io->n))
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        bool known = true;
        ax_num x;

        if (ax_io_null(io, row))
            continue;
        if (type == AX_T_TIME)
            x = time_field(u, ((const int64_t *) in)[row]);
        else
            known = type == AX_T_DATE ? ax_date_extract(u, ((const int32_t *) in)[row], &x)
                                      : ax_ts_extract(u, ((const int64_t *) in)[row], &x);
        if (!known)
            set_null(io, row);
        else
            out[row] = x.special == AX_NUM_NINF   ? INT32_MIN
                       : x.special == AX_NUM_PINF ? INT32_MAX
                                                  : (int32_t) x.v;
    }
    return AX_OK;
}

static ax_status run_field_numeric(const ax_call *c, ax_call_io *io)
{
    const int32_t *in = (const int32_t *) io->arg[1]->u.data;
    ax_num *out = (ax_num *) io->data;

    for (uint32_t i = 0; i < io->n; i++)
        out[i] = in[i] == INT32_MIN   ? (ax_num){.special = AX_NUM_NINF}
                 : in[i] == INT32_MAX ? (ax_num){.special = AX_NUM_PINF}
                                      : (ax_num){.v = in[i],
                                                 .dscale = ax_unit_scale((ax_unit) c->unit)};
    return AX_OK;
}

static ax_status run_part(const ax_call *c, ax_call_io *io)
{
    const int64_t *in = (const int64_t *) io->arg[1]->u.data;
    double *out = (double *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row) && !ax_ts_part((ax_unit) c->unit, in[row], &out[row]))
            set_null(io, row);
    }
    return AX_OK;
}

/* ---- date_trunc and date_bin ---------------------------------------------------------------- */

static ax_status run_trunc(const ax_call *c, ax_call_io *io)
{
    const int64_t *in = (const int64_t *) io->arg[1]->u.data;
    int64_t *out = (int64_t *) io->data;
    ax_unit u = (ax_unit) c->unit;

    if ((u <= AX_UNIT_DAY || is_dense(io)) && ax_ts_trunc_run(u, in, out, io->n))
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row) && ax_ts_trunc(u, in[row], &out[row]) != AX_OK)
            return ax_row_fail(io, AX_EDATETIME, row, TS_RANGE);
    }
    return AX_OK;
}

static ax_status run_bin(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1], *o = io->arg[2];

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_status s;

        if (ax_io_null(io, row))
            continue;
        s = ax_ts_bin(&((const ax_interval *) a->u.data)[ax_arg_row(a, row)],
                      ((const int64_t *) b->u.data)[ax_arg_row(b, row)],
                      ((const int64_t *) o->u.data)[ax_arg_row(o, row)],
                      &((int64_t *) io->data)[row]);
        if (s == AX_EUNSUPPORTED)
            return ax_row_fail(io, s, row, "timestamps cannot be binned into intervals containing "
                                           "months or years");
        if (s != AX_OK)
            return ax_row_fail(io, s, row, "timestamp, origin or stride out of range");
    }
    return AX_OK;
}

/* ---- intervals ------------------------------------------------------------------------------ */

static ax_status run_add_interval(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    bool date = c->arg.id == AX_T_DATE;
    int sign = c->fn == AX_FN_TS_ADD || c->fn == AX_FN_DATE_ADD_INTERVAL ? 1 : -1;
    int64_t *out = (int64_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), ra = ax_arg_row(a, row);
        const ax_interval *iv = &((const ax_interval *) b->u.data)[ax_arg_row(b, row)];
        ax_status s;

        if (ax_io_null(io, row))
            continue;
        if (date)
            s = ax_date_add_interval(((const int32_t *) a->u.data)[ra], iv, sign, &out[row]);
        else
            s = ax_ts_add(((const int64_t *) a->u.data)[ra], iv, sign, &out[row]);
        if (s != AX_OK)
            return ax_row_fail(io, s, row, TS_RANGE);
    }
    return AX_OK;
}

static ax_status run_ts_diff(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row)
            && ax_ts_diff(((const int64_t *) a->u.data)[ax_arg_row(a, row)],
                          ((const int64_t *) b->u.data)[ax_arg_row(b, row)],
                          c->fn == AX_FN_TS_DIFF_WRAP, &((ax_interval *) io->data)[row]) != AX_OK)
            return ax_row_fail(io, AX_EDATETIME, row, "cannot subtract these timestamps");
    }
    return AX_OK;
}

/* ---- binding -------------------------------------------------------------------------------- */

static ax_unit unit_of(const ax_value *v)
{
    return v == NULL || v->null ? AX_UNIT_NONE : ax_unit_parse(v->u.s.p, v->u.s.len);
}

bool ax_trunc_can_raise(const ax_value *unit)
{
    ax_unit u = unit_of(unit);

    /* the first days of time have no month or year before; their first is a Monday */
    return u == AX_UNIT_NONE || u > AX_UNIT_WEEK;
}

/* (unit, value): arg of the call becomes the value's type. */
static ax_status bind_unit(ax_task *t, ax_call *c, ax_type value)
{
    const char *name = ax_fn_get(c->fn)->name;
    ax_unit u = unit_of(c->konst[0]);
    bool ok;

    c->whole = c->fn == AX_FN_DATE_TRUNC && u <= AX_UNIT_DAY;
    c->unit = u;
    if (c->fn == AX_FN_DATE_TRUNC)
    {
        ok = ax_unit_truncates(u);
        c->run = run_trunc;
    }
    else if (c->fn == AX_FN_DATE_PART)
    {
        ok = ax_unit_of_ts(u);
        c->run = run_part;
    }
    else if (c->fn == AX_FN_FIELD_NUMERIC)
    {
        ok = u < AX_UNIT_JULIAN;
        c->run = run_field_numeric;
    }
    else if (c->fn == AX_FN_FIELD)
    {
        ok = u != AX_UNIT_NONE && u < AX_UNIT_JULIAN
          && (value.id != AX_T_DATE || ax_unit_of_date(u))
          && (value.id != AX_T_TIME || u <= AX_UNIT_HOUR);
        c->run = run_field;
    }
    else if (value.id == AX_T_TIME)
    {
        ok = (u >= AX_UNIT_MICROSECOND && u <= AX_UNIT_HOUR) || u == AX_UNIT_EPOCH;
        c->run = run_extract_time;
    }
    else if (value.id == AX_T_DATE)
    {
        ok = ax_unit_of_date(u);
        c->run = run_extract_date;
    }
    else
    {
        ok = ax_unit_of_ts(u);
        c->run = run_extract_ts;
    }
    AX_CHECK(t, ok || c->konst[0]->null, AX_EUNSUPPORTED, "%s: this unit is not in the engine",
             name);
    return AX_OK;
}

ax_status ax_bind_time(ax_task *t, ax_call *c, const ax_type *args)
{
    switch ((ax_fn) c->fn)
    {
        case AX_FN_DATE_ADD:
        case AX_FN_DATE_SUB: c->run = run_date_shift; return AX_OK;
        case AX_FN_DATE_DIFF: c->run = run_date_diff; return AX_OK;
        case AX_FN_MAKE_DATE: c->run = run_make_date; return AX_OK;
        case AX_FN_TO_TIMESTAMP:
        case AX_FN_DATE_ORDER: c->run = run_date_to_timestamp; return AX_OK;
        case AX_FN_TO_DATE: c->run = run_to_date; return AX_OK;
        case AX_FN_TO_TIME: c->run = run_to_time; return AX_OK;
        case AX_FN_ISFINITE: c->run = run_isfinite; return AX_OK;
        case AX_FN_TS_ADD:
        case AX_FN_TS_SUB:
        case AX_FN_DATE_ADD_INTERVAL:
        case AX_FN_DATE_SUB_INTERVAL: c->run = run_add_interval; return AX_OK;
        case AX_FN_TS_DIFF:
        case AX_FN_TS_DIFF_WRAP: c->run = run_ts_diff; return AX_OK;
        case AX_FN_DATE_BIN: c->run = run_bin; return AX_OK;
        case AX_FN_EXTRACT:
        case AX_FN_FIELD:
        case AX_FN_FIELD_NUMERIC:
        case AX_FN_DATE_PART:
        case AX_FN_DATE_TRUNC: return bind_unit(t, c, args[1]);
        default: return ax_fail(t, AX_EUNSUPPORTED, "no such function of dates");
    }
}
