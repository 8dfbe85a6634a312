/* Dates, timestamps and intervals with PostgreSQL's results.
 *
 * Values.  date: int32 days since 2000-01-01; timestamp and timestamptz: int64 microseconds since
 * then (timestamptz: in UTC); the extremes of the integers are -infinity and infinity.  Calendar:
 * proleptic Gregorian; inside the engine the year before 1 is 0 (1 BC).  Ranges are the server's:
 * 4714-11-24 BC up to 5874897 AD (dates) and 294276 AD (timestamps).
 *
 * Results.  AX_OK; AX_EDATETIME (22008) out of range; AX_EUNSUPPORTED (0A000).  Nothing is
 * allocated or written to an error slot.  Functions that return bool: false means null.
 *
 * Versions.  What differs between servers: from 17 on date_trunc looks at the unit of an infinite
 * timestamp too (no difference for units that are built), timestamp - timestamp with infinities is
 * an infinite interval instead of an error, and infinite intervals exist: callers must not hand
 * them in.  Before 17 a difference of timestamps above 2^63 microseconds wraps in the server; from
 * 17 on it is an error.
 *
 * Zones.  A zone is a table of offsets made by the server (there is no zone data in the engine);
 * rules of gaps and overlaps are those of the server's DetermineTimeZoneOffset. */
#ifndef AX_DATETIME_H
#define AX_DATETIME_H

#include "vector/vector.h"

#define AX_USEC_SEC INT64_C(1000000)
#define AX_USEC_MIN (60 * AX_USEC_SEC)
#define AX_USEC_HOUR (60 * AX_USEC_MIN)
#define AX_USEC_DAY (24 * AX_USEC_HOUR)

#define AX_DATE_NINF INT32_MIN
#define AX_DATE_PINF INT32_MAX
#define AX_DATE_MIN (-2451545)
#define AX_DATE_END (INT32_C(2147483494) - 2451545)  /* first day behind the last */
#define AX_TS_NINF INT64_MIN
#define AX_TS_PINF INT64_MAX
#define AX_TS_MIN (AX_DATE_MIN * AX_USEC_DAY)
#define AX_TS_END INT64_C(9223371331200000000)
#define AX_TS_DATE_END (INT32_C(109203528) - 2451545) /* AX_TS_END as a day */

static inline bool ax_date_finite(int32_t d) { return d != AX_DATE_NINF && d != AX_DATE_PINF; }
static inline bool ax_ts_finite(int64_t t) { return t != AX_TS_NINF && t != AX_TS_PINF; }

/* ---- units ---------------------------------------------------------------------------------- */

typedef enum ax_unit
{
    AX_UNIT_NONE,
    AX_UNIT_MICROSECOND, AX_UNIT_MILLISECOND, AX_UNIT_SECOND, AX_UNIT_MINUTE, AX_UNIT_HOUR,
    AX_UNIT_DAY, AX_UNIT_WEEK, AX_UNIT_MONTH, AX_UNIT_QUARTER, AX_UNIT_YEAR, AX_UNIT_DECADE,
    AX_UNIT_CENTURY, AX_UNIT_MILLENNIUM,
    /* fields only */
    AX_UNIT_DOW, AX_UNIT_ISODOW, AX_UNIT_DOY, AX_UNIT_ISOYEAR, AX_UNIT_JULIAN, AX_UNIT_EPOCH,
    AX_UNIT_ZONE, AX_UNIT_ZONE_HOUR, AX_UNIT_ZONE_MINUTE,
    AX_UNIT_CNT
} ax_unit;

/* The server's names and abbreviations in any case; AX_UNIT_NONE: not one of them. */
ax_unit ax_unit_parse(const uint8_t *p, uint32_t len);
static inline bool ax_unit_truncates(ax_unit u)
{
    return u >= AX_UNIT_MICROSECOND && u <= AX_UNIT_MILLENNIUM;
}
/* Is it a field of a timestamp, of a date? */
static inline bool ax_unit_of_ts(ax_unit u) { return u > AX_UNIT_NONE && u < AX_UNIT_ZONE; }
static inline bool ax_unit_of_date(ax_unit u) { return u >= AX_UNIT_DAY && u < AX_UNIT_ZONE; }

/* ---- calendar ------------------------------------------------------------------------------ */

typedef struct ax_civil { int32_t year, month, day; } ax_civil;

/* Both valid for every int32 day and every year of one.  Constant time, no tables: the affine
 * functions of Neri and Schneider (Euclidean affine functions and their application to calendar
 * algorithms, 2022); years begin on 1 March, 15,000 eras of 400 years are added to stay above 0. */
#define AX_CIVIL_SHIFT (INT64_C(730425) + INT64_C(15000) * 146097)

static inline ax_civil ax_civil_of(int32_t days)
{
    uint64_t n1 = 4 * (uint64_t) (days + AX_CIVIL_SHIFT) + 3;
    uint32_t century = (uint32_t) (n1 / 146097);
    uint32_t n2 = (uint32_t) (n1 - (uint64_t) century * 146097) | 3;
    uint64_t p2 = (uint64_t) 2939745 * n2;
    uint32_t doy = (uint32_t) p2 / 2939745 / 4; /* from 1 March */
    uint32_t n3 = 2141 * doy + 197913;
    int32_t late = doy >= 306;

    return (ax_civil){(int32_t) (100 * century + (uint32_t) (p2 >> 32)) - 6000000 + late,
                      (int32_t) (n3 >> 16) - 12 * late, (int32_t) ((n3 & 0xFFFF) / 2141) + 1};
}

/* month 1..12; day may be any int32 */
static inline int64_t ax_days_of(int64_t year, int32_t month, int32_t day)
{
    int32_t early = month <= 2;
    uint64_t y = (uint64_t) (year + 6000000 - early), century = y / 100;
    uint32_t m = (uint32_t) (month + 12 * early);

    return (int64_t) (1461 * y / 4 - century + century / 4) + (979 * m - 2919) / 32 + day - 1
         - AX_CIVIL_SHIFT;
}

static inline int32_t ax_days_in_month(int64_t year, int32_t month)
{
    if (month == 2)
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    return 30 + ((month ^ month >> 3) & 1);
}

/* floor(ts / day), for any int64 */
static inline int32_t ax_ts_day(int64_t ts)
{
    int64_t q = ts / AX_USEC_DAY;

    return (int32_t) (q - (ts - q * AX_USEC_DAY < 0));
}

/* ---- truncation ----------------------------------------------------------------------------- */

/* Infinities stay.  u truncates. */
ax_status ax_ts_trunc(ax_unit u, int64_t ts, int64_t *out) AX_MUST_USE;
/* The same for n values: false when some value, selected or not, is out of range (then ask one by
 * one).  Units up to day never are. */
bool ax_ts_trunc_run(ax_unit u, const int64_t *restrict in, int64_t *restrict out, uint32_t n);

/* date_bin(stride, ts, origin) */
ax_status ax_ts_bin(const ax_interval *stride, int64_t ts, int64_t origin, int64_t *out)
    AX_MUST_USE;

/* ---- fields --------------------------------------------------------------------------------- */

/* extract(u from ts).  false: null, which only infinities give. */
bool ax_ts_extract(ax_unit u, int64_t ts, ax_num *out);
bool ax_date_extract(ax_unit u, int32_t d, ax_num *out);
/* date_part(u, ts) */
bool ax_ts_part(ax_unit u, int64_t ts, double *out);

/* extract for n values.  false: some are infinite, their out means nothing. */
bool ax_ts_extract_run(ax_unit u, const int64_t *restrict in, ax_num *restrict out, uint32_t n);
bool ax_date_extract_run(ax_unit u, const int32_t *restrict in, ax_num *restrict out, uint32_t n);
/* The field as an integer, scaled by 10^ax_unit_scale(u), which extract's results are too; not for
 * JULIAN of timestamps.  Under infinities: means nothing. */
void ax_ts_field_run(ax_unit u, const int64_t *restrict in, int64_t *restrict out, uint32_t n);
static inline int16_t ax_unit_scale(ax_unit u)
{
    return u == AX_UNIT_MILLISECOND ? 3 : u == AX_UNIT_SECOND || u == AX_UNIT_EPOCH ? 6 : 0;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

ax_status ax_date_add(int32_t d, int64_t days, int32_t *out) AX_MUST_USE;
ax_status ax_date_diff(int32_t a, int32_t b, int32_t *out) AX_MUST_USE;
/* ts + sign * iv: months (the day cut to the month's last), then days, then time. */
ax_status ax_ts_add(int64_t ts, const ax_interval *iv, int sign, int64_t *out) AX_MUST_USE;
ax_status ax_date_add_interval(int32_t d, const ax_interval *iv, int sign, int64_t *out)
    AX_MUST_USE;
/* a - b in days and time, as justify_hours leaves it.  wrap: modulo 2^64 microseconds */
ax_status ax_ts_diff(int64_t a, int64_t b, bool wrap, ax_interval *out) AX_MUST_USE;

ax_status ax_date_to_ts(int32_t d, int64_t *out) AX_MUST_USE;
int32_t ax_ts_to_date(int64_t ts);
bool ax_ts_to_time(int64_t ts, int64_t *out);
/* Negative years are BC. */
ax_status ax_make_date(int32_t year, int32_t month, int32_t day, int32_t *out) AX_MUST_USE;

/* ---- zones ---------------------------------------------------------------------------------- */

/* From utc_usec on, local time is UTC + offset_s. */
typedef struct ax_zone_step { int64_t utc_usec; int32_t offset_s; } ax_zone_step;

/* n >= 1 steps, ascending; the first holds before its time too, the last for ever after.  Every
 * transition of the server's table is a step, also one that changes nothing but a name.  borrowed.
 *
 * repeat_from, 0: never: from this time on everything is as it was 400 years before, when the
 * calendar was the same; the table covers some days more. */
typedef struct ax_zone { const ax_zone_step *step; uint32_t n; int64_t repeat_from; } ax_zone;

/* A zone as bytes, for constants: repeat_from, then the steps, 16 bytes each, their padding zero.
 * Unpacking points into the bytes, which must be 8-byte aligned; false: they are no zone. */
#define AX_ZONE_BYTES(n) (sizeof(int64_t) + sizeof(ax_zone_step) * (size_t) (n))
bool ax_zone_unpack(const uint8_t *p, uint32_t len, ax_zone *out);

/* hint: in and out, where the last search ended; starts as 0.  Finite values only. */
int32_t ax_zone_offset(const ax_zone *z, int64_t utc, uint32_t *hint);  /* seconds */
int32_t ax_zone_offset_local(const ax_zone *z, int64_t local, uint32_t *hint);

/* timestamptz to timestamp and back; infinities stay. */
ax_status ax_tz_to_local(const ax_zone *z, int64_t utc, uint32_t *hint, int64_t *out) AX_MUST_USE;
ax_status ax_tz_to_utc(const ax_zone *z, int64_t local, uint32_t *hint, int64_t *out) AX_MUST_USE;

ax_status ax_tz_trunc(const ax_zone *z, ax_unit u, int64_t ts, uint32_t *hint, int64_t *out)
    AX_MUST_USE;
bool ax_tz_extract(const ax_zone *z, ax_unit u, int64_t ts, uint32_t *hint, ax_num *out);
ax_status ax_tz_add(const ax_zone *z, int64_t ts, const ax_interval *iv, int sign, uint32_t *hint,
                    int64_t *out) AX_MUST_USE;
int32_t ax_tz_to_date(const ax_zone *z, int64_t ts, uint32_t *hint);
ax_status ax_date_to_tz(const ax_zone *z, int32_t d, uint32_t *hint, int64_t *out) AX_MUST_USE;

#endif
