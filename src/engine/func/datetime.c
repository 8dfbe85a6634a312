/* Units, truncation and fields of dates and timestamps.  Source of the rules: the server's
 * timestamp.c and date.c, 14 to 18. */
#include "func/datetime.h"

#include "func/numeric.h"

#include <math.h>
#include <string.h>

#define K_INLINE static inline __attribute__((always_inline))
#define UNIX_EPOCH_USEC INT64_C(946684800000000) /* 1970-01-01 to 2000-01-01 */
#define JULIAN_2000 2451545

/* ---- units ---------------------------------------------------------------------------------- */

static const struct { const char *name; uint8_t unit; } unit_names[] = {
    {"c", AX_UNIT_CENTURY}, {"cent", AX_UNIT_CENTURY}, {"centuries", AX_UNIT_CENTURY},
    {"century", AX_UNIT_CENTURY}, {"d", AX_UNIT_DAY}, {"day", AX_UNIT_DAY}, {"days", AX_UNIT_DAY},
    {"dec", AX_UNIT_DECADE}, {"decade", AX_UNIT_DECADE}, {"decades", AX_UNIT_DECADE},
    {"decs", AX_UNIT_DECADE}, {"dow", AX_UNIT_DOW}, {"doy", AX_UNIT_DOY}, {"epoch", AX_UNIT_EPOCH},
    {"h", AX_UNIT_HOUR}, {"hour", AX_UNIT_HOUR}, {"hours", AX_UNIT_HOUR}, {"hr", AX_UNIT_HOUR},
    {"hrs", AX_UNIT_HOUR}, {"isodow", AX_UNIT_ISODOW}, {"isoyear", AX_UNIT_ISOYEAR},
    {"julian", AX_UNIT_JULIAN}, {"m", AX_UNIT_MINUTE}, {"microsecon", AX_UNIT_MICROSECOND},
    {"mil", AX_UNIT_MILLENNIUM}, {"millennia", AX_UNIT_MILLENNIUM},
    {"millennium", AX_UNIT_MILLENNIUM}, {"millisecon", AX_UNIT_MILLISECOND},
    {"mils", AX_UNIT_MILLENNIUM}, {"min", AX_UNIT_MINUTE}, {"mins", AX_UNIT_MINUTE},
    {"minute", AX_UNIT_MINUTE}, {"minutes", AX_UNIT_MINUTE}, {"mon", AX_UNIT_MONTH},
    {"mons", AX_UNIT_MONTH}, {"month", AX_UNIT_MONTH}, {"months", AX_UNIT_MONTH},
    {"ms", AX_UNIT_MILLISECOND}, {"msec", AX_UNIT_MILLISECOND}, {"msecond", AX_UNIT_MILLISECOND},
    {"mseconds", AX_UNIT_MILLISECOND}, {"msecs", AX_UNIT_MILLISECOND}, {"qtr", AX_UNIT_QUARTER},
    {"quarter", AX_UNIT_QUARTER}, {"s", AX_UNIT_SECOND}, {"sec", AX_UNIT_SECOND},
    {"second", AX_UNIT_SECOND}, {"seconds", AX_UNIT_SECOND}, {"secs", AX_UNIT_SECOND},
    {"timezone", AX_UNIT_ZONE}, {"timezone_h", AX_UNIT_ZONE_HOUR},
    {"timezone_m", AX_UNIT_ZONE_MINUTE}, {"us", AX_UNIT_MICROSECOND},
    {"usec", AX_UNIT_MICROSECOND}, {"usecond", AX_UNIT_MICROSECOND},
    {"useconds", AX_UNIT_MICROSECOND}, {"usecs", AX_UNIT_MICROSECOND}, {"w", AX_UNIT_WEEK},
    {"week", AX_UNIT_WEEK}, {"weeks", AX_UNIT_WEEK}, {"y", AX_UNIT_YEAR}, {"year", AX_UNIT_YEAR},
    {"years", AX_UNIT_YEAR}, {"yr", AX_UNIT_YEAR}, {"yrs", AX_UNIT_YEAR},
};

ax_unit ax_unit_parse(const uint8_t *p, uint32_t len)
{
    char low[11] = {0}; /* the server's words have 10 significant characters */

    if (len >= 63) /* an identifier would be cut there */
        return AX_UNIT_NONE;
    for (uint32_t i = 0; i < len && i < 10; i++)
        low[i] = (char) (p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);
    for (uint32_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++)
        if (strcmp(unit_names[i].name, low) == 0)
            return (ax_unit) unit_names[i].unit;
    return AX_UNIT_NONE;
}

/* ---- shared --------------------------------------------------------------------------------- */

K_INLINE int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - (a - q * b < 0);
}

/* Remainder >= 0. */
K_INLINE int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;

    return r + (r < 0 ? b : 0);
}

/* Monday 0 .. Sunday 6; 2000-01-01 was a Saturday */
K_INLINE int32_t weekday(int32_t days)
{
    return (int32_t) floor_mod((int64_t) days + 5, 7);
}

/* Century and the like that a year lies in, for units of `len` years: the first is 1, before it
 * comes -1. */
K_INLINE int64_t period_of(int64_t year, int32_t len)
{
    return year > 0 ? (year + len - 1) / len : -((len - year) / len);
}

/* ---- truncation ----------------------------------------------------------------------------- */

/* Largest multiple of step that is not above ts; may wrap for garbage under nulls. */
K_INLINE int64_t trunc_step(int64_t ts, int64_t step)
{
    int64_t r = ts % step;
    int64_t floor = (int64_t) ((uint64_t) ts - (uint64_t) r - (r < 0 ? (uint64_t) step : 0));

    return ax_ts_finite(ts) ? floor : ts;
}

/* First day of the unit that a day lies in. */
K_INLINE int64_t trunc_days(ax_unit u, int32_t days)
{
    ax_civil d;
    int64_t year;

    if (u == AX_UNIT_WEEK)
        return (int64_t) days - weekday(days);
    d = ax_civil_of(days);
    year = d.year;
    switch (u)
    {
        case AX_UNIT_MONTH:
            return (int64_t) days - d.day + 1;
        case AX_UNIT_QUARTER:
            return ax_days_of(year, (d.month - 1) / 3 * 3 + 1, 1);
        case AX_UNIT_DECADE: /* the server's decades: ..., 0 to 9, 10 to 19, ... */
            year = floor_div(year, 10) * 10;
            break;
        case AX_UNIT_CENTURY: /* begin in 1, 101, ... and -99, ... */
            year = floor_div(year - 1, 100) * 100 + 1;
            break;
        case AX_UNIT_MILLENNIUM:
            year = floor_div(year - 1, 1000) * 1000 + 1;
            break;
        default:
            break;
    }
    return ax_days_of(year, 1, 1);
}

K_INLINE bool trunc_loop(ax_unit u, const int64_t *restrict in, int64_t *restrict out, uint32_t n)
{
    bool bad = false;

    for (uint32_t i = 0; i < n; i++)
    {
        int64_t ts = in[i], r;

        r = (int64_t) ((uint64_t) trunc_days(u, ax_ts_day(ts)) * (uint64_t) AX_USEC_DAY);
        bad |= ax_ts_finite(ts) && r < AX_TS_MIN;
        out[i] = ax_ts_finite(ts) ? r : ts;
    }
    return !bad;
}

bool ax_ts_trunc_run(ax_unit u, const int64_t *restrict in, int64_t *restrict out, uint32_t n)
{
    switch (u)
    {
#define LOOP(unit, step)                                                                           \
        case unit:                                                                                 \
            for (uint32_t i = 0; i < n; i++)                                                       \
                out[i] = trunc_step(in[i], step);                                                  \
            return true;
        LOOP(AX_UNIT_MICROSECOND, 1)
        LOOP(AX_UNIT_MILLISECOND, 1000)
        LOOP(AX_UNIT_SECOND, AX_USEC_SEC)
        LOOP(AX_UNIT_MINUTE, AX_USEC_MIN)
        LOOP(AX_UNIT_HOUR, AX_USEC_HOUR)
        LOOP(AX_UNIT_DAY, AX_USEC_DAY)
#undef LOOP
        case AX_UNIT_WEEK: return trunc_loop(AX_UNIT_WEEK, in, out, n);
        case AX_UNIT_MONTH: return trunc_loop(AX_UNIT_MONTH, in, out, n);
        case AX_UNIT_QUARTER: return trunc_loop(AX_UNIT_QUARTER, in, out, n);
        case AX_UNIT_YEAR: return trunc_loop(AX_UNIT_YEAR, in, out, n);
        default: return trunc_loop(u, in, out, n);
    }
}

ax_status ax_ts_trunc(ax_unit u, int64_t ts, int64_t *out)
{
    return ax_ts_trunc_run(u, &ts, out, 1) ? AX_OK : AX_EDATETIME;
}

ax_status ax_ts_bin(const ax_interval *stride, int64_t ts, int64_t origin, int64_t *out)
{
    int64_t step, diff, rest, r;

    *out = ts;
    if (!ax_ts_finite(ts))
        return AX_OK;
    if (!ax_ts_finite(origin))
        return AX_EDATETIME;
    if (stride->months != 0)
        return AX_EUNSUPPORTED;
    if (__builtin_mul_overflow(stride->days, AX_USEC_DAY, &step)
        || __builtin_add_overflow(step, stride->usec, &step) || step <= 0)
        return AX_EDATETIME;
    if (__builtin_sub_overflow(ts, origin, &diff))
        return AX_EDATETIME;
    rest = diff % step;
    r = origin + (diff - rest);
    if (rest < 0 && __builtin_sub_overflow(r, step, &r))
        return AX_EDATETIME;
    if (r < AX_TS_MIN || r >= AX_TS_END)
        return AX_EDATETIME;
    *out = r;
    return AX_OK;
}

/* ---- fields --------------------------------------------------------------------------------- */

/* ISO 8601: a week belongs to the year of its Thursday. */
K_INLINE int64_t iso_week(int32_t days, bool want_year)
{
    int32_t thursday = (int32_t) ((uint32_t) days - (uint32_t) weekday(days) + 3);
    int32_t year = ax_civil_of(thursday).year;

    if (want_year)
        return year > 0 ? year : (int64_t) year - 1;
    return (thursday - ax_days_of(year, 1, 1)) / 7 + 1;
}

/* Fields of a day; u is one of them. */
K_INLINE int64_t day_field(ax_unit u, int32_t days)
{
    ax_civil d;

    switch (u)
    {
        case AX_UNIT_DOW: return floor_mod((int64_t) days + 6, 7);
        case AX_UNIT_ISODOW: return weekday(days) + 1;
        case AX_UNIT_WEEK: return iso_week(days, false);
        case AX_UNIT_ISOYEAR: return iso_week(days, true);
        case AX_UNIT_JULIAN: return (int64_t) days + JULIAN_2000;
        case AX_UNIT_EPOCH: return ((int64_t) days + 10957) * 86400;
        default: break;
    }
    d = ax_civil_of(days);
    switch (u)
    {
        case AX_UNIT_DAY: return d.day;
        case AX_UNIT_MONTH: return d.month;
        case AX_UNIT_QUARTER: return (d.month - 1) / 3 + 1;
        case AX_UNIT_YEAR: return d.year > 0 ? d.year : (int64_t) d.year - 1;
        case AX_UNIT_DECADE: return floor_div(d.year, 10);
        case AX_UNIT_CENTURY: return period_of(d.year, 100);
        case AX_UNIT_MILLENNIUM: return period_of(d.year, 1000);
        default: return days - ax_days_of(d.year, 1, 1) + 1; /* DOY */
    }
}

/* The field scaled by its unit's scale; wraps for EPOCH behind 294247 AD. */
K_INLINE int64_t ts_field(ax_unit u, int64_t ts)
{
    switch (u)
    {
        case AX_UNIT_MICROSECOND:
        case AX_UNIT_MILLISECOND:
        case AX_UNIT_SECOND: return floor_mod(ts, AX_USEC_MIN);
        case AX_UNIT_MINUTE: return floor_mod(ts, AX_USEC_HOUR) / AX_USEC_MIN;
        case AX_UNIT_HOUR: return floor_mod(ts, AX_USEC_DAY) / AX_USEC_HOUR;
        case AX_UNIT_EPOCH: return (int64_t) ((uint64_t) ts + (uint64_t) UNIX_EPOCH_USEC);
        default: return day_field(u, ax_ts_day(ts));
    }
}

/* One loop a unit, so that the switch above is gone inside it. */
#define EACH_TIME_UNIT(X)                                                                          \
    X(MICROSECOND) X(MILLISECOND) X(SECOND) X(MINUTE) X(HOUR)
#define EACH_DAY_UNIT(X)                                                                           \
    X(DAY) X(WEEK) X(MONTH) X(QUARTER) X(YEAR) X(DECADE) X(CENTURY) X(MILLENNIUM) X(DOW)           \
    X(ISODOW) X(DOY) X(ISOYEAR)

void ax_ts_field_run(ax_unit u, const int64_t *restrict in, int64_t *restrict out, uint32_t n)
{
    switch (u)
    {
#define LOOP(name)                                                                                 \
        case AX_UNIT_##name:                                                                       \
            for (uint32_t i = 0; i < n; i++)                                                       \
                out[i] = ts_field(AX_UNIT_##name, in[i]);                                          \
            break;
        EACH_TIME_UNIT(LOOP)
        EACH_DAY_UNIT(LOOP)
        LOOP(EPOCH)
#undef LOOP
        default: break;
    }
}

/* Day and time of day as a fraction, in the scale that division gives. */
static ax_num julian_of(int64_t ts)
{
    int32_t day = ax_ts_day(ts);
    ax_num whole = ax_num_from_int((int64_t) day + JULIAN_2000);
    ax_num part = ax_num_from_int(floor_mod(ts, AX_USEC_DAY)), unit = ax_num_from_int(AX_USEC_DAY);

    if (ax_num_div(&part, &unit, &part) != AX_OK || ax_num_add(&whole, &part, &whole) != AX_OK)
        return (ax_num){.special = AX_NUM_NAN}; /* cannot be: 20 digits and 9 */
    return whole;
}

/* Behind 294247 AD, where 64 bits end, the server divides decimals and keeps 4 digits. */
K_INLINE ax_i128 epoch_of(int64_t ts)
{
    ax_i128 v = (ax_i128) ts + UNIX_EPOCH_USEC;

    return ts < INT64_MAX - UNIX_EPOCH_USEC ? v : (v + 50) / 100 * 100;
}

K_INLINE bool extract_loop(ax_unit u, const int64_t *restrict in, ax_num *restrict out, uint32_t n)
{
    bool finite = true;

    for (uint32_t i = 0; i < n; i++)
    {
        finite &= ax_ts_finite(in[i]);
        out[i] = (ax_num){.v = u == AX_UNIT_EPOCH ? epoch_of(in[i])
                                                  : (ax_i128) ts_field(u, in[i]),
                          .dscale = ax_unit_scale(u)};
    }
    return finite;
}

bool ax_ts_extract_run(ax_unit u, const int64_t *restrict in, ax_num *restrict out, uint32_t n)
{
    bool finite = true;

    switch (u)
    {
#define LOOP(name) case AX_UNIT_##name: return extract_loop(AX_UNIT_##name, in, out, n);
        EACH_TIME_UNIT(LOOP)
        EACH_DAY_UNIT(LOOP)
        LOOP(EPOCH)
#undef LOOP
        default: break;
    }
    for (uint32_t i = 0; i < n; i++)
    {
        out[i] = julian_of(in[i]);
        finite &= ax_ts_finite(in[i]);
    }
    return finite;
}

K_INLINE bool extract_date_loop(ax_unit u, const int32_t *restrict in, ax_num *restrict out,
                                uint32_t n)
{
    bool finite = true;

    for (uint32_t i = 0; i < n; i++)
    {
        finite &= ax_date_finite(in[i]);
        out[i] = (ax_num){.v = day_field(u, in[i])};
    }
    return finite;
}

bool ax_date_extract_run(ax_unit u, const int32_t *restrict in, ax_num *restrict out, uint32_t n)
{
    switch (u)
    {
#define LOOP(name) case AX_UNIT_##name: return extract_date_loop(AX_UNIT_##name, in, out, n);
        EACH_DAY_UNIT(LOOP)
        LOOP(EPOCH)
        LOOP(JULIAN)
#undef LOOP
        default: return true;
    }
}

/* Fields that grow without end are infinite for infinity, the others null. */
static bool grows(ax_unit u)
{
    return (u >= AX_UNIT_YEAR && u <= AX_UNIT_MILLENNIUM) || u == AX_UNIT_ISOYEAR
        || u == AX_UNIT_JULIAN || u == AX_UNIT_EPOCH;
}

bool ax_ts_extract(ax_unit u, int64_t ts, ax_num *out)
{
    if (ax_ts_extract_run(u, &ts, out, 1))
        return true;
    *out = (ax_num){.special = ts == AX_TS_NINF ? AX_NUM_NINF : AX_NUM_PINF};
    return grows(u);
}

bool ax_date_extract(ax_unit u, int32_t d, ax_num *out)
{
    if (ax_date_extract_run(u, &d, out, 1))
        return true;
    *out = (ax_num){.special = d == AX_DATE_NINF ? AX_NUM_NINF : AX_NUM_PINF};
    return grows(u);
}

bool ax_ts_part(ax_unit u, int64_t ts, double *out)
{
    int64_t of_day, usec;
    int32_t day;

    if (!ax_ts_finite(ts))
    {
        *out = ts == AX_TS_NINF ? -HUGE_VAL : HUGE_VAL;
        return grows(u);
    }
    usec = floor_mod(ts, AX_USEC_MIN);
    switch (u)
    {
        case AX_UNIT_MILLISECOND:
            *out = (double) (usec / AX_USEC_SEC) * 1000.0 + (double) (usec % AX_USEC_SEC) / 1000.0;
            return true;
        case AX_UNIT_SECOND:
            *out = (double) (usec / AX_USEC_SEC) + (double) (usec % AX_USEC_SEC) / 1000000.0;
            return true;
        case AX_UNIT_EPOCH:
            if (ts < INT64_MAX - UNIX_EPOCH_USEC)
                *out = (double) (ts + UNIX_EPOCH_USEC) / 1000000.0;
            else
                *out = ((double) ts + (double) UNIX_EPOCH_USEC) / 1000000.0;
            return true;
        case AX_UNIT_JULIAN:
            day = ax_ts_day(ts);
            of_day = ts - day * AX_USEC_DAY;
            *out = (double) ((int64_t) day + JULIAN_2000)
                 + ((double) (of_day / AX_USEC_SEC) + (double) (of_day % AX_USEC_SEC) / 1000000.0)
                       / 86400.0;
            return true;
        default:
            *out = (double) ts_field(u, ts);
            return true;
    }
}
