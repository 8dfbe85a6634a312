/* Functions of computed columns: parts and beginnings of dates.  Those of times are of UTC.
 *
 * Source: DateTimeTransforms.h of ClickHouse. */
#include "derive_int.h"

enum { YEAR, QUARTER, MONTH, DAY, WEEKDAY, YEAR_DAY, YYYYMM, YYYYMMDD, HOUR, MINUTE, SECOND,
       START_YEAR, START_QUARTER, START_MONTH, MONDAY };

static ax_status part_type(ax_mt_check *c, ax_mt_x *x)
{
    static const char *const types[] = {
        [YEAR] = "UInt16", [QUARTER] = "UInt8", [MONTH] = "UInt8", [DAY] = "UInt8",
        [WEEKDAY] = "UInt8", [YEAR_DAY] = "UInt16", [YYYYMM] = "UInt32", [YYYYMMDD] = "UInt32",
        [HOUR] = "UInt8", [MINUTE] = "UInt8", [SECOND] = "UInt8", [START_YEAR] = "Date",
        [START_QUARTER] = "Date", [START_MONTH] = "Date", [MONDAY] = "Date"};
    const ax_mt_type *ty = ax_mt_bare(x->arg[0]->type), *day;
    int op = x->fn->op;

    if (ty->id != MT_DATE && ty->id != MT_DATETIME)
        return ax_mt_x_wrong(c, x, 0);
    if (op < HOUR || op > SECOND)
    {
        /* The day in UTC; of other zones it is not known. */
        AX_TRY(ax_mt_x_type(c, "Date", &day));
        if (x->arg[0]->type->id == MT_NULLABLE)
            AX_TRY(ax_mt_x_nullable(c, day, &day));
        AX_TRY(ax_mt_x_cast(c, x->arg[0], day, &x->arg[0]));
    }
    else if (ty->id != MT_DATETIME || !ax_mt_in_utc(ty))
        return ax_mt_x_wrong(c, x, 0);
    return ax_mt_x_result(c, x, types[op]);
}

static int64_t part_of_day(int op, int64_t days)
{
    int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    int64_t y = yoe + era * 400 + (m <= 2), week = (days + 3) % 7;
    /* Days of the year before its month, those of a leap year. */
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    int64_t in_year = m > 2 ? doy + 60 + leap : doy - 305;
    int64_t in_quarter = 0;

    switch (op)
    {
        case YEAR: return y;
        case QUARTER: return (m + 2) / 3;
        case MONTH: return m;
        case DAY: return d;
        case WEEKDAY: return week + 1;
        case YEAR_DAY: return in_year;
        case YYYYMM: return y * 100 + m;
        case YYYYMMDD: return y * 10000 + m * 100 + d;
        case START_YEAR: return days - in_year + 1;
        case START_MONTH: return days - d + 1;
        case MONDAY: return days < 4 ? 0 : days - week;
        default:
            /* First of the month, so many months back. */
            for (in_quarter = days - d + 1; (m - 1) % 3 != 0; m--)
                in_quarter -= part_of_day(DAY, in_quarter - 1);
            return in_quarter;
    }
}

static ax_status part(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                      ax_mt_reg *out)
{
    int op = x->fn->op;

    AX_TRY(ax_mt_reg_room(e, MT_R_INT, e->n, out));
    for (uint32_t i = 0; i < e->n; i++)
    {
        int64_t v = skip == NULL || !skip[i] ? (int64_t) arg[0].i[i] : 0;

        out->i[i] = op == HOUR ? v / 3600 % 24 : op == MINUTE ? v / 60 % 60
                    : op == SECOND ? v % 60 : part_of_day(op, v);
    }
    return AX_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

#define PART(name, op) {name, 1, 1, false, op, part_type, part}

const ax_mt_fn ax_mt_fn_dates[] = {
    PART("toYear", YEAR), PART("toQuarter", QUARTER), PART("toMonth", MONTH),
    PART("toDayOfMonth", DAY), PART("toDayOfWeek", WEEKDAY), PART("toDayOfYear", YEAR_DAY),
    PART("toYYYYMM", YYYYMM), PART("toYYYYMMDD", YYYYMMDD), PART("toHour", HOUR),
    PART("toMinute", MINUTE), PART("toSecond", SECOND), PART("toStartOfYear", START_YEAR),
    PART("toStartOfQuarter", START_QUARTER), PART("toStartOfMonth", START_MONTH),
    PART("toMonday", MONDAY), {0}};
