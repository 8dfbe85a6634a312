/* Old dates: writers that counted days by the hybrid Julian calendar before 1582-10-15, and Drill's
 * dates that lie twice the Julian day of 1970 too late.
 *
 * Who did: Spark tells its version and whether it was asked for the old calendar
 * (org.apache.spark.version, .legacyDateTime, .legacyINT96), Hive says writer.date.proleptic, Drill
 * has drill.version and, since it is right, drill-writer.version or is.date.correct.  Hive's
 * writer.time.zone, where its clock was, is noted along the way. */
#include "parquet_int.h"

#include <stdlib.h>

#define EPOCH_DAYS 10957
#define DAY_US 86400000000ll
#define CUTOVER (-141427 - EPOCH_DAYS)    /* 1582-10-15, in days since 2000-01-01 */
#define JULIAN_DAY (2440588 + EPOCH_DAYS) /* of 2000-01-01 */
#define DRILL_SHIFT (2 * 2440588)
#define DRILL_LAST (1106685 - EPOCH_DAYS) /* 5000-01-01: no date is later but by mistake */

/* ---- who did --------------------------------------------------------------------------------- */

typedef struct keys
{
    bool spark_old, spark_old_96, hive_hybrid, drill, drill_right;
    const uint8_t *zone;      /* [nzone] */
    uint32_t nzone;
} keys;

static bool is(const uint8_t *p, uint32_t n, const char *s)
{
    return n == strlen(s) && memcmp(p, s, n) == 0;
}

/* Is the version "major.minor..." before this one?  What is no version is not. */
static bool before(const uint8_t *p, uint32_t n, long major, long minor)
{
    char s[32], *end;
    long have;

    n = n < sizeof s - 1 ? n : sizeof s - 1;
    memcpy(s, p, n);
    s[n] = 0;
    have = strtol(s, &end, 10);
    if (end == s || *end != '.' || have != major)
        return end != s && have < major;
    return strtol(end + 1, NULL, 10) < minor;
}

static void note(keys *k, const uint8_t *key, uint32_t nkey, const uint8_t *val, uint32_t nval)
{
    if (is(key, nkey, "org.apache.spark.version"))
    {
        k->spark_old |= before(val, nval, 3, 0);
        k->spark_old_96 |= before(val, nval, 3, 1);
    }
    else if (is(key, nkey, "org.apache.spark.legacyDateTime"))
        k->spark_old = true;
    else if (is(key, nkey, "org.apache.spark.legacyINT96"))
        k->spark_old_96 = true;
    else if (is(key, nkey, "writer.date.proleptic"))
        k->hive_hybrid = is(val, nval, "false");
    else if (is(key, nkey, "writer.time.zone"))
    {
        k->zone = val;
        k->nzone = nval;
    }
    else if (is(key, nkey, "drill.version"))
        k->drill = true;
    else if (is(key, nkey, "drill-writer.version"))
        k->drill_right |= nval > 0 && !before(val, nval, 2, 0);
    else if (is(key, nkey, "is.date.correct"))
        k->drill_right |= is(val, nval, "true");
}

/* Drill before it had keys: no writer at all, or a bare one of the libraries that it came with. */
static bool maybe_drill(const ax_pq_writer *w)
{
    return w->app[0] == 0 || (strcmp(w->app, "parquet-mr") == 0 && (!w->known || w->drill));
}

ax_status ax_pq_calendar_note(ax_task *t, ax_pq_file *f, ax_cur *list, uint8_t type)
{
    keys k = {0};
    uint32_t n = 0, i;
    uint8_t elem;

    if (type != 0 && ax_pq_th_list(list, type, &elem, &n) && elem == TH_STRUCT)
        for (i = 0; i < n && !list->bad; i++)
        {
            const uint8_t *key = NULL, *val = NULL;
            uint32_t nkey = 0, nval = 0;
            ax_pq_fld fld = {0, 0};

            while (ax_pq_th_next(list, &fld))
                if (fld.id == 1)
                    (void) ax_pq_th_bin(list, fld.type, &key, &nkey);
                else if (fld.id == 2)
                    (void) ax_pq_th_bin(list, fld.type, &val, &nval);
                else
                    ax_pq_th_skip(list, fld.type);
            if (key != NULL && val != NULL)
                note(&k, key, nkey, val, nval);
        }
    f->hybrid_dates = k.spark_old || k.hive_hybrid;
    f->hybrid_int96 = k.spark_old_96;
    f->drill = k.drill ? (k.drill_right ? PQ_DRILL_NOT : PQ_DRILL_KNOWN)
                       : (maybe_drill(&f->writer) ? PQ_DRILL_MAYBE : PQ_DRILL_NOT);
    return k.nzone > 0 ? ax_pq_shown(t, f->base.arena, k.zone, k.nzone, &f->base.writer_zone)
                       : AX_OK;
}

uint8_t ax_pq_calendar_of(const ax_pq_file *f, const ax_pq_leaf *l, const ax_colspec *col)
{
    bool date = l->lt.kind == LT_DATE, hybrid;

    if (!date && l->lt.kind != LT_TIMESTAMP && l->phys != PQ_INT96)
        return PQ_DAYS_AS_IS;
    if (col->type.id != AX_T_DATE && col->type.id != AX_T_TIMESTAMP
        && col->type.id != AX_T_TIMESTAMPTZ)
        return PQ_DAYS_AS_IS; /* the number itself */
    if (date && col->drill_dates != AX_DRILL_OFF
        && (f->drill == PQ_DRILL_KNOWN
            || (f->drill == PQ_DRILL_MAYBE && col->drill_dates == AX_DRILL_AUTO)))
        return PQ_DAYS_DRILL;
    hybrid = l->phys == PQ_INT96 ? f->hybrid_int96 : f->hybrid_dates;
    if (col->calendar != AX_CAL_AUTO)
        hybrid = col->calendar == AX_CAL_HYBRID;
    return hybrid ? PQ_DAYS_HYBRID : PQ_DAYS_AS_IS;
}

/* ---- what is done ---------------------------------------------------------------------------- */

/* Days since 2000 by the proleptic Gregorian calendar of what was day d by the Julian one; a 29th
 * of February that only the latter has becomes the 1st of March.  d: a Julian day number >= 0. */
static int64_t from_julian(int64_t d)
{
    int64_t c = d + JULIAN_DAY + 32082, y = (4 * c + 3) / 1461, e = c - 1461 * y / 4;
    int64_t m = (5 * e + 2) / 153, day = e - (153 * m + 2) / 5;

    /* the same numbers, counted by the other calendar from March of the year -4800 on */
    return day + (153 * m + 2) / 5 + 365 * y + y / 4 - y / 100 + y / 400 - 32044 - JULIAN_DAY;
}

static int64_t redate(uint8_t days, int64_t d)
{
    if (days == PQ_DAYS_DRILL)
        return d > DRILL_LAST ? d - DRILL_SHIFT : d;
    return d < CUTOVER ? from_julian(d) : d;
}

bool ax_pq_redate(const ax_pq_conv *c, uint32_t n, void *values)
{
    bool drill = c->days == PQ_DAYS_DRILL, ok = true;
    int64_t unit = c->dst_width == 4 ? 1 : DAY_US;
    /* Values in [lo, hi) stay as they are. */
    int64_t lo = drill ? INT64_MIN : CUTOVER * unit;
    int64_t hi = drill ? (DRILL_LAST + 1) * unit : INT64_MAX;

    for (uint32_t i = 0; i < n; i++)
    {
        int64_t v = c->dst_width == 4 ? ((int32_t *) values)[i] : ((int64_t *) values)[i], day;

        if ((v >= lo && v < hi) || (c->dst_width == 4 ? v == INT32_MIN || v == INT32_MAX
                                                      : v == INT64_MIN || v == INT64_MAX))
            continue;
        day = v / unit - (v % unit < 0);
        v += (redate(c->days, day) - day) * unit;
        ok &= v >= -JULIAN_DAY * unit;
        if (c->dst_width == 4)
            ((int32_t *) values)[i] = (int32_t) v;
        else
            ((int64_t *) values)[i] = v;
    }
    return ok;
}

bool ax_pq_redate_bound(const ax_pq_conv *c, const ax_value *v)
{
    return c->days == PQ_DAYS_AS_IS
        || (c->days == PQ_DAYS_HYBRID
            && v->u.i >= (c->dst_width == 4 ? CUTOVER : CUTOVER * DAY_US));
}
