/* Calls on times of day and intervals.  Source of the rules: the server's date.c, timestamp.c. */
#include "func/call_int.h"

#include "func/datetime.h"

#include <math.h>

#define IV_RANGE "interval out of range"

static inline int64_t time_at(const ax_vec *v, uint32_t row)
{
    return ((const int64_t *) v->u.data)[ax_arg_row(v, row)];
}

static inline const ax_interval *interval_at(const ax_vec *v, uint32_t row)
{
    return &((const ax_interval *) v->u.data)[ax_arg_row(v, row)];
}

/* ---- times ---------------------------------------------------------------------------------- */

/* v modulo a day, never negative */
static inline int64_t within_day(int64_t v)
{
    v %= AX_USEC_DAY;
    return v < 0 ? v + AX_USEC_DAY : v;
}

static ax_status run_time_shift(const ax_call *c, ax_call_io *io)
{
    int64_t *out = (int64_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        uint64_t a, b;

        if (ax_io_null(io, row))
            continue;
        a = (uint64_t) time_at(io->arg[0], row);
        b = (uint64_t) interval_at(io->arg[1], row)->usec;
        out[row] = within_day((int64_t) (c->fn == AX_FN_TIME_ADD ? a + b : a - b));
    }
    return AX_OK;
}

static ax_status run_time_diff(const ax_call *c, ax_call_io *io)
{
    ax_interval *out = (ax_interval *) io->data;

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row))
            out[row] = (ax_interval){.usec = time_at(io->arg[0], row) - time_at(io->arg[1], row)};
    }
    return AX_OK;
}

static ax_status run_to_time(const ax_call *c, ax_call_io *io)
{
    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row))
            ((int64_t *) io->data)[row] = within_day(interval_at(io->arg[0], row)->usec);
    }
    return AX_OK;
}

static ax_status run_from_time(const ax_call *c, ax_call_io *io)
{
    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row))
            ((ax_interval *) io->data)[row] = (ax_interval){.usec = time_at(io->arg[0], row)};
    }
    return AX_OK;
}

/* date + time */
static ax_status run_date_time(const ax_call *c, ax_call_io *io)
{
    const ax_vec *d = io->arg[0];
    int64_t *out = (int64_t *) io->data;

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (ax_io_null(io, row))
            continue;
        if (ax_date_to_ts(((const int32_t *) d->u.data)[ax_arg_row(d, row)], &out[row]) != AX_OK)
            return ax_row_fail(io, AX_EDATETIME, row, "date out of range for timestamp");
        if (!ax_ts_finite(out[row]))
            continue;
        out[row] += time_at(io->arg[1], row); /* below AX_TS_END + a day: fits */
        if (out[row] < AX_TS_MIN || out[row] >= AX_TS_END)
            return ax_row_fail(io, AX_EDATETIME, row, "timestamp out of range");
    }
    return AX_OK;
}

/* make_time(hour, minute, second): 24:00:00 and a second of 60 are times. */
static bool make_time(int32_t hour, int32_t minute, double second, int64_t *out)
{
    if (hour < 0 || minute < 0 || minute > 59 || isnan(second) || second < 0 || second > 60
        || hour > 24 || (hour == 24 && (minute > 0 || second > 0)))
        return false;
    second = rint(second * 1000000.0);
    if (hour == 24 && second > 0)
        return false;
    *out = hour * AX_USEC_HOUR + minute * AX_USEC_MIN + (int64_t) second;
    return true;
}

static ax_status run_make_time(const ax_call *c, ax_call_io *io)
{
    const ax_vec *h = io->arg[0], *m = io->arg[1], *s = io->arg[2];

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row)
            && !make_time(((const int32_t *) h->u.data)[ax_arg_row(h, row)],
                          ((const int32_t *) m->u.data)[ax_arg_row(m, row)],
                          ((const double *) s->u.data)[ax_arg_row(s, row)],
                          &((int64_t *) io->data)[row]))
            return ax_row_fail(io, AX_EDATETIME, row, "time field value out of range");
    }
    return AX_OK;
}

/* Microseconds rounded half away from zero to c->unit of them. */
static ax_status run_coerce(const ax_call *c, ax_call_io *io)
{
    int64_t unit = c->unit, half = unit / 2;
    int64_t *out = (int64_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t v;

        if (ax_io_null(io, row))
            continue;
        v = time_at(io->arg[0], row);
        if (unit > 1 && (c->arg.id == AX_T_TIME || ax_ts_finite(v)))
            v = v >= 0 ? (v + half) / unit * unit : -((half - v) / unit * unit);
        out[row] = v;
    }
    return AX_OK;
}

/* to_timestamp(seconds since 1970) */
static ax_status run_from_epoch(const ax_call *c, ax_call_io *io)
{
    const double *in = (const double *) io->arg[0]->u.data;
    int64_t *out = (int64_t *) io->data;

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        double x;

        if (ax_io_null(io, row))
            continue;
        x = in[row];
        if (isinf(x))
        {
            out[row] = x < 0 ? AX_TS_NINF : AX_TS_PINF;
            continue;
        }
        if (isnan(x))
            return ax_row_fail(io, AX_EDATETIME, row, "timestamp cannot be NaN");
        x -= 10957.0 * 86400; /* 2000-01-01 */
        if (x < (double) AX_DATE_MIN * 86400 || x >= (double) AX_TS_DATE_END * 86400)
            return ax_row_fail(io, AX_EDATETIME, row, "timestamp out of range");
        out[row] = (int64_t) rint(x * 1000000.0);
        if (out[row] < AX_TS_MIN || out[row] >= AX_TS_END)
            return ax_row_fail(io, AX_EDATETIME, row, "timestamp out of range");
    }
    return AX_OK;
}

/* ---- intervals ------------------------------------------------------------------------------ */

static bool add(const ax_interval *a, const ax_interval *b, ax_interval *out)
{
    return !__builtin_add_overflow(a->months, b->months, &out->months)
        && !__builtin_add_overflow(a->days, b->days, &out->days)
        && !__builtin_add_overflow(a->usec, b->usec, &out->usec);
}

static bool subtract(const ax_interval *a, const ax_interval *b, ax_interval *out)
{
    return !__builtin_sub_overflow(a->months, b->months, &out->months)
        && !__builtin_sub_overflow(a->days, b->days, &out->days)
        && !__builtin_sub_overflow(a->usec, b->usec, &out->usec);
}

static ax_status run_sum(const ax_call *c, ax_call_io *io)
{
    static const ax_interval zero;
    ax_interval *out = (ax_interval *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        const ax_interval *a;
        bool ok;

        if (ax_io_null(io, row))
            continue;
        a = interval_at(io->arg[0], row);
        if (c->fn == AX_FN_INTERVAL_NEG)
            ok = subtract(&zero, a, &out[row]);
        else if (c->fn == AX_FN_INTERVAL_ADD)
            ok = add(a, interval_at(io->arg[1], row), &out[row]);
        else
            ok = subtract(a, interval_at(io->arg[1], row), &out[row]);
        if (!ok)
            return ax_row_fail(io, AX_EDATETIME, row, IV_RANGE);
    }
    return AX_OK;
}

/* A fraction of days in seconds, to the microsecond. */
static inline double to_micro(double v) { return rint(v * 1000000.0) / 1000000.0; }

/* v of type double as int32; false: NaN or too large */
static inline bool to_int32(double v, int32_t *out)
{
    if (isnan(v) || v > INT32_MAX || v < INT32_MIN)
        return false;
    *out = (int32_t) v;
    return true;
}

/* Each field times f (or divided by f); what is lost of months goes to days of 30 a month, what is
 * lost of days to the time. */
static bool scale(const ax_interval *iv, double f, bool divide, ax_interval *out)
{
    double months = divide ? iv->months / f : iv->months * f;
    double days = divide ? iv->days / f : iv->days * f;
    double rest_days, rest_sec, usec;

    if (!to_int32(months, &out->months) || !to_int32(days, &out->days))
        return false;
    rest_days = to_micro((months - out->months) * 30);
    rest_sec = to_micro((days - out->days + rest_days - (double) (int64_t) rest_days) * 86400);
    /* a whole day of seconds is a day */
    if (fabs(rest_sec) >= 86400)
    {
        if (__builtin_add_overflow(out->days, (int32_t) (rest_sec / 86400), &out->days))
            return false;
        rest_sec -= (double) ((int32_t) (rest_sec / 86400) * INT64_C(86400));
    }
    if (__builtin_add_overflow(out->days, (int32_t) rest_days, &out->days))
        return false;
    usec = rint((divide ? (double) iv->usec / f : (double) iv->usec * f) + rest_sec * 1000000.0);
    if (isnan(usec) || usec < -9223372036854775808.0 || usec >= 9223372036854775808.0)
        return false;
    out->usec = (int64_t) usec;
    return true;
}

static ax_status run_scale(const ax_call *c, ax_call_io *io)
{
    const ax_vec *by = io->arg[1];

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        double f;

        if (ax_io_null(io, row))
            continue;
        f = ((const double *) by->u.data)[ax_arg_row(by, row)];
        if (c->fn == AX_FN_INTERVAL_DIV && f == 0)
            return ax_row_fail(io, AX_EDIVZERO, row, "division by zero");
        if (!scale(interval_at(io->arg[0], row), f, c->fn == AX_FN_INTERVAL_DIV,
                   &((ax_interval *) io->data)[row]))
            return ax_row_fail(io, AX_EDATETIME, row, IV_RANGE);
    }
    return AX_OK;
}

/* ---- binding -------------------------------------------------------------------------------- */

static ax_status bind_coerce(ax_task *t, ax_call *c)
{
    int64_t p = c->konst[1]->null ? 6 : c->konst[1]->u.i;

    AX_CHECK(t, p >= -1 && p <= 6, AX_EUNSUPPORTED, "a precision of %lld digits", (long long) p);
    c->unit = 1;
    for (; p >= 0 && p < 6; p++)
        c->unit *= 10;
    c->run = run_coerce;
    return AX_OK;
}

ax_status ax_bind_interval(ax_task *t, ax_call *c)
{
    switch ((ax_fn) c->fn)
    {
        case AX_FN_TIME_ADD:
        case AX_FN_TIME_SUB: c->run = run_time_shift; return AX_OK;
        case AX_FN_TIME_DIFF: c->run = run_time_diff; return AX_OK;
        case AX_FN_DATE_TIME: c->run = run_date_time; return AX_OK;
        case AX_FN_INTERVAL_ADD:
        case AX_FN_INTERVAL_SUB:
        case AX_FN_INTERVAL_NEG: c->run = run_sum; return AX_OK;
        case AX_FN_INTERVAL_MUL:
        case AX_FN_INTERVAL_DIV: c->run = run_scale; return AX_OK;
        case AX_FN_INTERVAL_TO_TIME: c->run = run_to_time; return AX_OK;
        case AX_FN_TIME_TO_INTERVAL: c->run = run_from_time; return AX_OK;
        case AX_FN_TIME_COERCE: return bind_coerce(t, c);
        case AX_FN_MAKE_TIME: c->run = run_make_time; return AX_OK;
        case AX_FN_FROM_EPOCH: c->run = run_from_epoch; return AX_OK;
        default: return ax_fail(t, AX_EUNSUPPORTED, "no such function of intervals");
    }
}

const char *ax_resolve_interval(ax_fn fn, const ax_type *args, ax_fn_shape *out)
{
    uint8_t a = args[0].id, b = ax_fn_get(fn)->nargs > 1 ? args[1].id : AX_T_NONE;
    bool ok;

    switch (fn)
    {
        case AX_FN_TIME_ADD:
        case AX_FN_TIME_SUB: ok = a == AX_T_TIME && b == AX_T_INTERVAL; break;
        case AX_FN_TIME_DIFF: ok = a == AX_T_TIME && b == AX_T_TIME; break;
        case AX_FN_DATE_TIME: ok = a == AX_T_DATE && b == AX_T_TIME; break;
        case AX_FN_INTERVAL_ADD:
        case AX_FN_INTERVAL_SUB: ok = a == AX_T_INTERVAL && b == AX_T_INTERVAL; break;
        case AX_FN_INTERVAL_MUL:
        case AX_FN_INTERVAL_DIV: ok = a == AX_T_INTERVAL && b == AX_T_FLOAT8; break;
        case AX_FN_INTERVAL_NEG:
        case AX_FN_INTERVAL_TO_TIME: ok = a == AX_T_INTERVAL; break;
        case AX_FN_TIME_TO_INTERVAL: ok = a == AX_T_TIME; break;
        case AX_FN_TIME_COERCE:
            ok = (a == AX_T_TIME || a == AX_T_TIMESTAMP || a == AX_T_TIMESTAMPTZ) && b == AX_T_INT4;
            out->result = args[0];
            break;
        case AX_FN_MAKE_TIME:
            ok = a == AX_T_INT4 && b == AX_T_INT4 && args[2].id == AX_T_FLOAT8;
            break;
        default: ok = a == AX_T_FLOAT8; break;
    }
    return ok ? NULL : "no such combination of types in the engine";
}
