/* Dates and timestamps: sums, conversions, extract and date_trunc.
 *
 * Values count from 2000-01-01 (days, microseconds); the extremes of the integers are -infinity
 * and infinity.  Calendar: proleptic Gregorian, year 0 is 1 BC.  Limits are the server's: from
 * 4714-11-24 BC up to 5874897 (date) and 294276 (timestamp). */
#include "func/call_int.h"

#include <string.h>

#define USEC_DAY INT64_C(86400000000)
#define DATE_MIN (-2451545)
#define DATE_END (INT32_C(2147483494) - 2451545)      /* first day behind the last */
#define TS_DATE_END (INT32_C(109203528) - 2451545)    /* the same for timestamps */
#define TS_MIN INT64_C(-211813488000000000)

/* ---- dates ----------------------------------------------------------------------------------- */

static ax_status run_date_shift(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    int32_t *out = (int32_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t d, days;

        if (ax_io_null(io, row))
            continue;
        d = ((const int32_t *) a->u.data)[ax_arg_row(a, row)];
        days = ((const int32_t *) b->u.data)[ax_arg_row(b, row)];
        if (d != INT32_MIN && d != INT32_MAX)
        {
            d += c->fn == AX_FN_DATE_ADD ? days : -days;
            if (d < DATE_MIN || d >= DATE_END)
                return ax_row_fail(io, AX_EDATETIME, row, "date out of range");
        }
        out[row] = (int32_t) d;
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
        int32_t x, y;

        if (ax_io_null(io, row))
            continue;
        x = ((const int32_t *) a->u.data)[ax_arg_row(a, row)];
        y = ((const int32_t *) b->u.data)[ax_arg_row(b, row)];
        if (x == INT32_MIN || x == INT32_MAX || y == INT32_MIN || y == INT32_MAX)
            return ax_row_fail(io, AX_EDATETIME, row, "cannot subtract infinite dates");
        ((int32_t *) io->data)[row] = (int32_t) ((uint32_t) x - (uint32_t) y);
    }
    return AX_OK;
}

static ax_status run_date_to_timestamp(const ax_call *c, ax_call_io *io)
{
    const int32_t *in = (const int32_t *) io->arg[0]->u.data;
    int64_t *out = (int64_t *) io->data;
    uint32_t bad = 0;

    for (uint32_t i = 0; i < io->n; i++)
    {
        int32_t d = in[i];
        bool late = d >= TS_DATE_END;

        out[i] = d == INT32_MIN   ? INT64_MIN
                 : d == INT32_MAX ? INT64_MAX
                 : late           ? INT64_MAX - 1
                                  : d * USEC_DAY;
        bad |= late && d != INT32_MAX;
    }
    if (!bad || c->fn == AX_FN_DATE_ORDER)
        return AX_OK;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        if (!ax_io_null(io, row) && out[row] == INT64_MAX - 1)
            return ax_row_fail(io, AX_EDATETIME, row, "date out of range for timestamp");
    }
    return AX_OK;
}

/* ---- calendar -------------------------------------------------------------------------------- */

typedef struct civil { int64_t year; int32_t month, day; } civil;

static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Days since 2000-01-01 to a date and back; years are cut at 1 March. */
static civil civil_of(int64_t days)
{
    int64_t z = days + 730425; /* since 0000-03-01 */
    int64_t era = floor_div(z, 146097);
    uint32_t doe = (uint32_t) (z - era * 146097);
    uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    uint32_t mp = (5 * doy + 2) / 153;
    int32_t month = (int32_t) (mp < 10 ? mp + 3 : mp - 9);

    return (civil){(int64_t) yoe + era * 400 + (month <= 2), month,
                   (int32_t) (doy - (153 * mp + 2) / 5 + 1)};
}

static int64_t days_of(int64_t year, int32_t month, int32_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = floor_div(y, 400);
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 730425;
}

/* ---- units ----------------------------------------------------------------------------------- */

enum { U_NONE, U_SECOND, U_MINUTE, U_HOUR, U_DAY, U_WEEK, U_MONTH, U_QUARTER, U_YEAR,
       U_DOW, U_ISODOW, U_DOY, U_EPOCH };

static const struct { const char *name; uint8_t unit; } unit_names[] = {
    {"second", U_SECOND}, {"seconds", U_SECOND}, {"minute", U_MINUTE}, {"minutes", U_MINUTE},
    {"hour", U_HOUR}, {"hours", U_HOUR}, {"day", U_DAY}, {"days", U_DAY}, {"week", U_WEEK},
    {"weeks", U_WEEK}, {"month", U_MONTH}, {"months", U_MONTH}, {"quarter", U_QUARTER},
    {"year", U_YEAR}, {"years", U_YEAR}, {"dow", U_DOW}, {"isodow", U_ISODOW}, {"doy", U_DOY},
    {"epoch", U_EPOCH},
};

static uint8_t unit_of(const ax_value *v)
{
    char low[16];

    if (v == NULL || v->null || v->u.s.len >= sizeof(low))
        return U_NONE;
    for (uint32_t i = 0; i < v->u.s.len; i++)
    {
        uint8_t c = v->u.s.p[i];

        low[i] = (char) (c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    low[v->u.s.len] = 0;
    for (uint32_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++)
        if (strcmp(unit_names[i].name, low) == 0)
            return unit_names[i].unit;
    return U_NONE;
}

bool ax_trunc_can_raise(const ax_value *unit)
{
    uint8_t u = unit_of(unit);

    return u == U_NONE || u > U_DAY; /* the first days of time have no week, month or year before */
}

/* ---- extract --------------------------------------------------------------------------------- */

static ax_num extract_one(uint8_t unit, int64_t ts)
{
    int64_t days = floor_div(ts, USEC_DAY), usec = ts - days * USEC_DAY;
    ax_num r = {0};
    civil d;

    switch (unit)
    {
        case U_SECOND:
            r.dscale = 6;
            r.v = usec % 60000000;
            return r;
        case U_MINUTE: r.v = usec / 60000000 % 60; return r;
        case U_HOUR: r.v = usec / INT64_C(3600000000); return r;
        case U_DOW: r.v = (days % 7 + 13) % 7; return r; /* 2000-01-01 was a Saturday */
        case U_ISODOW: r.v = (days % 7 + 12) % 7 + 1; return r;
        case U_EPOCH:
            r.dscale = 6;
            r.v = (ax_i128) ts + INT64_C(946684800000000);
            if (r.v > INT64_MAX) /* the server divides as numeric then: four digits are left */
                r.v = (r.v + 50) / 100 * 100;
            return r;
        default: break;
    }
    d = civil_of(days);
    switch (unit)
    {
        case U_DAY: r.v = d.day; break;
        case U_MONTH: r.v = d.month; break;
        case U_QUARTER: r.v = (d.month - 1) / 3 + 1; break;
        case U_YEAR: r.v = d.year > 0 ? d.year : d.year - 1; break; /* there is no year 0 */
        default: r.v = days - days_of(d.year, 1, 1) + 1; break;     /* day of the year */
    }
    return r;
}

static ax_status run_extract(const ax_call *c, ax_call_io *io)
{
    const ax_vec *v = io->arg[1];
    ax_num *out = (ax_num *) io->data;
    uint8_t unit = (uint8_t) c->unit;
    bool grows = unit == U_YEAR || unit == U_EPOCH;
    bool had_null = io->has_null;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t ts = ((const int64_t *) v->u.data)[row];

        if (ts != INT64_MIN && ts != INT64_MAX)
        {
            out[row] = extract_one(unit, ts);
            continue;
        }
        /* what grows without end is infinite, the rest is null */
        out[row] = (ax_num){.special = ts == INT64_MIN ? AX_NUM_NINF : AX_NUM_PINF};
        if (grows)
            continue;
        if (!io->has_null)
            memset(io->null, 0, io->n);
        io->has_null = true;
        if (!had_null || !io->null[row])
            io->null[row] = 1;
    }
    return AX_OK;
}

/* ---- date_trunc ------------------------------------------------------------------------------ */

static int64_t trunc_calendar(uint8_t unit, int64_t ts)
{
    int64_t days = floor_div(ts, USEC_DAY);
    civil d;

    if (unit == U_WEEK) /* Monday */
        return (days - (days % 7 + 12) % 7) * USEC_DAY;
    d = civil_of(days);
    if (unit == U_QUARTER)
        d.month = (d.month - 1) / 3 * 3 + 1;
    else if (unit == U_YEAR)
        d.month = 1;
    return days_of(d.year, d.month, 1) * USEC_DAY;
}

static ax_status run_trunc(const ax_call *c, ax_call_io *io)
{
    static const int64_t step[] = {[U_SECOND] = 1000000, [U_MINUTE] = 60000000,
                                   [U_HOUR] = INT64_C(3600000000), [U_DAY] = USEC_DAY};
    const int64_t *in = (const int64_t *) io->arg[1]->u.data;
    int64_t *out = (int64_t *) io->data;
    uint8_t unit = (uint8_t) c->unit;

    if (unit <= U_DAY)
    {
        int64_t s = step[unit];

        for (uint32_t i = 0; i < io->n; i++)
        {
            /* a negative value under a null may have no multiple below it: wrap */
            uint64_t floor = (uint64_t) in[i] - (uint64_t) (in[i] % s)
                           - (in[i] % s < 0 ? (uint64_t) s : 0);

            out[i] = in[i] == INT64_MIN || in[i] == INT64_MAX ? in[i] : (int64_t) floor;
        }
        return AX_OK;
    }
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        int64_t ts = in[row];

        if (ax_io_null(io, row))
            continue;
        out[row] = ts == INT64_MIN || ts == INT64_MAX ? ts : trunc_calendar(unit, ts);
        if (out[row] < TS_MIN && ts != INT64_MIN)
            return ax_row_fail(io, AX_EDATETIME, row, "timestamp out of range");
    }
    return AX_OK;
}

ax_status ax_bind_time(ax_task *t, ax_call *c)
{
    switch (c->fn)
    {
        case AX_FN_DATE_ADD:
        case AX_FN_DATE_SUB: c->run = run_date_shift; return AX_OK;
        case AX_FN_DATE_DIFF: c->run = run_date_diff; return AX_OK;
        case AX_FN_TO_TIMESTAMP:
        case AX_FN_DATE_ORDER: c->run = run_date_to_timestamp; return AX_OK;
        case AX_FN_EXTRACT:
        case AX_FN_DATE_TRUNC:
            c->unit = unit_of(c->konst[0]);
            c->run = c->fn == AX_FN_EXTRACT ? run_extract : run_trunc;
            c->whole = c->fn == AX_FN_DATE_TRUNC && c->unit <= U_DAY;
            AX_CHECK(t, c->unit != U_NONE
                            && (c->fn == AX_FN_EXTRACT ? c->unit != U_WEEK : c->unit <= U_YEAR),
                     AX_EUNSUPPORTED, "%s: this unit is not in the engine", ax_fn_get(c->fn)->name);
            return AX_OK;
        default:
            return ax_fail(t, AX_EUNSUPPORTED, "no such function of dates");
    }
}
