/* Sums, differences and conversions of dates and timestamps; zones.  Source of the rules: the
 * server's timestamp.c, date.c and datetime.c, 14 to 18. */
#include "func/datetime.h"

static inline bool ts_valid(int64_t ts) { return ts >= AX_TS_MIN && ts < AX_TS_END; }

/* ---- dates ---------------------------------------------------------------------------------- */

ax_status ax_date_add(int32_t d, int64_t days, int32_t *out)
{
    int64_t r = d + days;

    *out = d;
    if (!ax_date_finite(d))
        return AX_OK;
    if (r < AX_DATE_MIN || r >= AX_DATE_END)
        return AX_EDATETIME;
    *out = (int32_t) r;
    return AX_OK;
}

ax_status ax_date_diff(int32_t a, int32_t b, int32_t *out)
{
    if (!ax_date_finite(a) || !ax_date_finite(b))
        return AX_EDATETIME;
    *out = (int32_t) ((uint32_t) a - (uint32_t) b);
    return AX_OK;
}

ax_status ax_date_to_ts(int32_t d, int64_t *out)
{
    if (!ax_date_finite(d))
        *out = d == AX_DATE_NINF ? AX_TS_NINF : AX_TS_PINF;
    else if (d >= AX_TS_DATE_END)
        return AX_EDATETIME;
    else
        *out = d * AX_USEC_DAY;
    return AX_OK;
}

int32_t ax_ts_to_date(int64_t ts)
{
    if (!ax_ts_finite(ts))
        return ts == AX_TS_NINF ? AX_DATE_NINF : AX_DATE_PINF;
    return ax_ts_day(ts);
}

bool ax_ts_to_time(int64_t ts, int64_t *out)
{
    int64_t r = ts % AX_USEC_DAY;

    *out = r + (r < 0 ? AX_USEC_DAY : 0);
    return ax_ts_finite(ts);
}

ax_status ax_make_date(int32_t year, int32_t month, int32_t day, int32_t *out)
{
    int64_t y = year < 0 ? (int64_t) year + 1 : year, days;

    if (year == 0 || month < 1 || month > 12 || day < 1 || day > ax_days_in_month(y, month))
        return AX_EDATETIME;
    if (y < -5000 || y > 5874897)
        return AX_EDATETIME;
    days = ax_days_of(y, month, day);
    if (days < AX_DATE_MIN || days >= AX_DATE_END)
        return AX_EDATETIME;
    *out = (int32_t) days;
    return AX_OK;
}

/* ---- intervals ------------------------------------------------------------------------------ */

/* Move a local timestamp by months; the day is cut to the month's last. */
static ax_status add_months(int64_t ts, int64_t months, int64_t *out)
{
    int32_t day = ax_ts_day(ts), month;
    int64_t of_day = ts - day * AX_USEC_DAY, total, year;
    ax_civil d = ax_civil_of(day);

    total = d.year * INT64_C(12) + d.month - 1 + months;
    year = total / 12 - (total % 12 < 0);
    month = (int32_t) (total - year * 12) + 1;
    if (year < -5000 || year > 300000)
        return AX_EDATETIME;
    if (d.day > ax_days_in_month(year, month))
        d.day = ax_days_in_month(year, month);
    /* the day of AX_TS_END fits, its last microsecond does not matter */
    if (__builtin_mul_overflow(ax_days_of(year, month, d.day), AX_USEC_DAY, out)
        || __builtin_add_overflow(*out, of_day, out))
        return AX_EDATETIME;
    return ts_valid(*out) ? AX_OK : AX_EDATETIME;
}

static ax_status add_days(int64_t ts, int64_t days, int64_t *out)
{
    int64_t usec;

    if (__builtin_mul_overflow(days, AX_USEC_DAY, &usec) || __builtin_add_overflow(ts, usec, out))
        return AX_EDATETIME;
    return ts_valid(*out) ? AX_OK : AX_EDATETIME;
}

static ax_status add_usec(int64_t ts, int64_t usec, int sign, int64_t *out)
{
    bool over = sign > 0 ? __builtin_add_overflow(ts, usec, out)
                         : __builtin_sub_overflow(ts, usec, out);

    return !over && ts_valid(*out) ? AX_OK : AX_EDATETIME;
}

ax_status ax_ts_add(int64_t ts, const ax_interval *iv, int sign, int64_t *out)
{
    ax_status s = AX_OK;

    *out = ts;
    if (!ax_ts_finite(ts))
        return AX_OK;
    if (iv->months != 0)
        s = add_months(ts, (int64_t) iv->months * sign, &ts);
    if (s == AX_OK && iv->days != 0)
        s = add_days(ts, (int64_t) iv->days * sign, &ts);
    return s == AX_OK ? add_usec(ts, iv->usec, sign, out) : s;
}

ax_status ax_date_add_interval(int32_t d, const ax_interval *iv, int sign, int64_t *out)
{
    int64_t ts;
    ax_status s = ax_date_to_ts(d, &ts);

    return s == AX_OK ? ax_ts_add(ts, iv, sign, out) : s;
}

ax_status ax_ts_diff(int64_t a, int64_t b, bool wrap, ax_interval *out)
{
    int64_t d;

    if (!ax_ts_finite(a) || !ax_ts_finite(b) || (__builtin_sub_overflow(a, b, &d) && !wrap))
        return AX_EDATETIME;
    *out = (ax_interval){.usec = d % AX_USEC_DAY, .days = (int32_t) (d / AX_USEC_DAY)};
    return AX_OK;
}

/* ---- zones ---------------------------------------------------------------------------------- */

/* Number of steps at or before t. */
static uint32_t steps_until(const ax_zone *z, int64_t t, uint32_t *hint)
{
    uint32_t lo = 0, hi = z->n, h = *hint;

    if (h <= z->n && (h == 0 || z->step[h - 1].utc_usec <= t)
        && (h == z->n || t < z->step[h].utc_usec))
        return h;
    while (lo < hi)
    {
        uint32_t mid = (lo + hi) / 2;

        if (z->step[mid].utc_usec <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    *hint = lo;
    return lo;
}

#define AX_USEC_400Y (146097 * AX_USEC_DAY)

static int64_t fold(const ax_zone *z, int64_t t)
{
    if (z->repeat_from == 0 || t < z->repeat_from)
        return t;
    return t - ((t - z->repeat_from) / AX_USEC_400Y + 1) * AX_USEC_400Y;
}

bool ax_zone_unpack(const uint8_t *p, uint32_t len, ax_zone *out)
{
    uint32_t n = (uint32_t) ((len - sizeof(int64_t)) / sizeof(ax_zone_step));

    if (len < AX_ZONE_BYTES(1) || len != AX_ZONE_BYTES(n) || (uintptr_t) p % 8 != 0)
        return false;
    *out = (ax_zone){(const ax_zone_step *) (p + sizeof(int64_t)), n, *(const int64_t *) p};
    return true;
}

int32_t ax_zone_offset(const ax_zone *z, int64_t utc, uint32_t *hint)
{
    uint32_t k = steps_until(z, fold(z, utc), hint);

    return z->step[k > 0 ? k - 1 : 0].offset_s;
}

/* Looks at the first step behind the day before: its two offsets give two candidates.  Both before
 * or both after the step: clear.  Otherwise the local time is missing (clocks went forward: the
 * earlier offset) or occurs twice (clocks went back: the later one). */
int32_t ax_zone_offset_local(const ax_zone *z, int64_t local, uint32_t *hint)
{
    /* whole seconds, as the server compares */
    int64_t t = fold(z, local), when, early, late;
    int64_t sec = t / AX_USEC_SEC - (t % AX_USEC_SEC < 0);
    uint32_t k = steps_until(z, (sec - 86400) * AX_USEC_SEC, hint);
    int32_t before, after;

    before = z->step[k > 0 ? k - 1 : 0].offset_s;
    if (k == z->n || k == 0) /* the first step is no transition */
    {
        if (k == z->n || z->n == 1)
            return before;
        k = 1;
    }
    after = z->step[k].offset_s;
    when = z->step[k].utc_usec / AX_USEC_SEC - (z->step[k].utc_usec % AX_USEC_SEC < 0);
    early = sec - before;
    late = sec - after;
    if (early < when && late < when)
        return before;
    if (early > when && late >= when)
        return after;
    return early > late ? before : after;
}

ax_status ax_tz_to_local(const ax_zone *z, int64_t utc, uint32_t *hint, int64_t *out)
{
    *out = utc;
    if (!ax_ts_finite(utc))
        return AX_OK;
    *out = utc + ax_zone_offset(z, utc, hint) * AX_USEC_SEC;
    return ts_valid(*out) ? AX_OK : AX_EDATETIME;
}

ax_status ax_tz_to_utc(const ax_zone *z, int64_t local, uint32_t *hint, int64_t *out)
{
    *out = local;
    if (!ax_ts_finite(local))
        return AX_OK;
    *out = local - ax_zone_offset_local(z, local, hint) * AX_USEC_SEC;
    return ts_valid(*out) ? AX_OK : AX_EDATETIME;
}

/* From a day on, the offset of the result is that of the result's local time; below, the offset
 * of the argument stays. */
ax_status ax_tz_trunc(const ax_zone *z, ax_unit u, int64_t ts, uint32_t *hint, int64_t *out)
{
    int32_t offset;
    int64_t local;
    ax_status s;

    *out = ts;
    if (!ax_ts_finite(ts))
        return AX_OK;
    offset = ax_zone_offset(z, ts, hint);
    s = ax_ts_trunc(u, ts + offset * AX_USEC_SEC, &local);
    /* the limits hold for the result in UTC; the days around them have no early units */
    if (s != AX_OK)
        return s;
    if (u >= AX_UNIT_DAY)
        offset = ax_zone_offset_local(z, local, hint);
    *out = local - offset * AX_USEC_SEC;
    return ts_valid(*out) ? AX_OK : AX_EDATETIME;
}

bool ax_tz_extract(const ax_zone *z, ax_unit u, int64_t ts, uint32_t *hint, ax_num *out)
{
    int32_t offset;

    if (u == AX_UNIT_EPOCH)
        return ax_ts_extract(u, ts, out);
    if (!ax_ts_finite(ts))
        return ax_ts_extract(u >= AX_UNIT_ZONE ? AX_UNIT_HOUR : u, ts, out);
    offset = ax_zone_offset(z, ts, hint);
    switch (u)
    {
        case AX_UNIT_ZONE: *out = (ax_num){.v = offset}; return true;
        case AX_UNIT_ZONE_HOUR: *out = (ax_num){.v = offset / 3600}; return true;
        case AX_UNIT_ZONE_MINUTE: *out = (ax_num){.v = offset / 60 % 60}; return true;
        default: return ax_ts_extract(u, ts + offset * AX_USEC_SEC, out);
    }
}

ax_status ax_tz_add(const ax_zone *z, int64_t ts, const ax_interval *iv, int sign, uint32_t *hint,
                    int64_t *out)
{
    int64_t local;
    ax_status s = AX_OK;

    *out = ts;
    if (!ax_ts_finite(ts))
        return AX_OK;
    if (iv->months != 0)
    {
        local = ts + ax_zone_offset(z, ts, hint) * AX_USEC_SEC;
        s = add_months(local, (int64_t) iv->months * sign, &local);
        if (s == AX_OK)
            s = ax_tz_to_utc(z, local, hint, &ts);
    }
    if (s == AX_OK && iv->days != 0)
    {
        local = ts + ax_zone_offset(z, ts, hint) * AX_USEC_SEC;
        s = add_days(local, (int64_t) iv->days * sign, &local);
        if (s == AX_OK)
            s = ax_tz_to_utc(z, local, hint, &ts);
    }
    return s == AX_OK ? add_usec(ts, iv->usec, sign, out) : s;
}

int32_t ax_tz_to_date(const ax_zone *z, int64_t ts, uint32_t *hint)
{
    if (!ax_ts_finite(ts))
        return ax_ts_to_date(ts);
    return ax_ts_to_date(ts + ax_zone_offset(z, ts, hint) * AX_USEC_SEC);
}

ax_status ax_date_to_tz(const ax_zone *z, int32_t d, uint32_t *hint, int64_t *out)
{
    int64_t local;
    ax_status s = ax_date_to_ts(d, &local);

    return s == AX_OK ? ax_tz_to_utc(z, local, hint, out) : s;
}
