/* Dates and timestamps against a real server's answers, the calendar against counting. */
#include "func/golden_test.h"

#include "func/datetime.h"
#include "func/numeric.h"

static bool put_int(ax_status s, int64_t v, char *got, size_t size)
{
    if (!golden_failed(s, got, size))
        snprintf(got, size, "%lld", (long long) v);
    return true;
}

static bool put_num(bool known, const ax_num *v, char *got, size_t size)
{
    if (known)
        ax_num_format(v, got, (uint32_t) size);
    else
        snprintf(got, size, "NULL");
    return true;
}

static ax_unit unit_of(const char *s)
{
    return ax_unit_parse((const uint8_t *) s, (uint32_t) strlen(s));
}

static ax_interval interval_of(const char *s)
{
    char *end;
    ax_interval r;

    r.months = (int32_t) strtol(s, &end, 10);
    r.days = (int32_t) strtol(end + 1, &end, 10);
    r.usec = strtoll(end + 1, NULL, 10);
    return r;
}

static bool field_line(const golden_line *l, char *got, size_t size)
{
    const char *op = l->f[0];
    ax_unit u = unit_of(l->f[1]);
    int64_t ts = golden_int(l->f[2]), r = 0;
    ax_num n;

    if (strcmp(op, "trunc") == 0 || strcmp(op, "unit") == 0)
    {
        ax_status s;

        if (!ax_unit_truncates(u))
        {
            snprintf(got, size, "!22023");
            return true;
        }
        s = ax_ts_trunc(u, ts, &r);
        return put_int(s, r, got, size);
    }
    if (strcmp(op, "extract") == 0)
    {
        bool known = ax_ts_extract(u, ts, &n);

        /* integers are those of extract */
        if (known && ax_ts_finite(ts) && u != AX_UNIT_JULIAN && ts < AX_TS_END / 1000 * 999)
        {
            ax_ts_field_run(u, &ts, &r, 1);
            assert_true(r == n.v && ax_unit_scale(u) == n.dscale);
        }
        return put_num(known, &n, got, size);
    }
    if (strcmp(op, "dextract") == 0)
    {
        bool known;

        if (!ax_unit_of_date(u))
        {
            snprintf(got, size, "!0A000");
            return true;
        }
        known = ax_date_extract(u, (int32_t) ts, &n);
        return put_num(known, &n, got, size);
    }
    if (strcmp(op, "part") == 0)
    {
        double f;

        if (ax_ts_part(u, ts, &f))
            golden_put_f64(f, got, size);
        else
            snprintf(got, size, "NULL");
        return true;
    }
    return false;
}

static bool date_line(const golden_line *l, char *got, size_t size)
{
    const char *op = l->f[0];
    int64_t a = golden_int(l->f[1]), r = 0;
    int32_t d = 0;
    ax_interval iv;
    ax_status s;

    if (strcmp(op, "ts2date") == 0)
        return put_int(AX_OK, ax_ts_to_date(a), got, size);
    if (strcmp(op, "ts2time") == 0)
    {
        if (ax_ts_to_time(a, &r))
            return put_int(AX_OK, r, got, size);
        snprintf(got, size, "NULL");
        return true;
    }
    if (strcmp(op, "date2ts") == 0)
    {
        s = ax_date_to_ts((int32_t) a, &r);
        return put_int(s, r, got, size);
    }
    if (strcmp(op, "dateadd") == 0 || strcmp(op, "datediff") == 0)
    {
        s = op[4] == 'a' ? ax_date_add((int32_t) a, golden_int(l->f[2]), &d)
                         : ax_date_diff((int32_t) a, (int32_t) golden_int(l->f[2]), &d);
        return put_int(s, d, got, size);
    }
    if (strcmp(op, "makedate") == 0)
    {
        s = ax_make_date((int32_t) a, atoi(l->f[2]), atoi(strchr(l->f[2], '/') + 1), &d);
        return put_int(s, d, got, size);
    }
    if (strcmp(op, "tsdiff") == 0)
    {
        if (!golden_failed(ax_ts_diff(a, golden_int(l->f[2]), true, &iv), got, size))
            snprintf(got, size, "%d/%d/%lld", iv.months, iv.days, (long long) iv.usec);
        return true;
    }
    if (strcmp(op, "bin") == 0)
    {
        iv = interval_of(l->f[1]);
        s = ax_ts_bin(&iv, golden_int(l->f[2]), golden_int(l->f[3]), &r);
        return put_int(s, r, got, size);
    }
    if (strcmp(op, "ts+iv") == 0 || strcmp(op, "ts-iv") == 0)
    {
        iv = interval_of(l->f[2]);
        s = ax_ts_add(a, &iv, op[2] == '+' ? 1 : -1, &r);
        return put_int(s, r, got, size);
    }
    if (strcmp(op, "date+iv") == 0 || strcmp(op, "date-iv") == 0)
    {
        iv = interval_of(l->f[2]);
        s = ax_date_add_interval((int32_t) a, &iv, op[4] == '+' ? 1 : -1, &r);
        return put_int(s, r, got, size);
    }
    return false;
}

/* ---- zones ----------------------------------------------------------------------------------- */

static struct
{
    char name[64];
    ax_zone_step step[512];
    ax_zone zone;
    uint32_t hint;
} tz;

static bool step_line(const golden_line *l)
{
    if (strcmp(l->f[0], "step") != 0)
        return false;
    if (strcmp(tz.name, l->f[1]) != 0)
    {
        snprintf(tz.name, sizeof(tz.name), "%s", l->f[1]);
        tz.zone = (ax_zone){.step = tz.step};
        tz.hint = 0;
    }
    assert_true(tz.zone.n < 512);
    tz.step[tz.zone.n++] = (ax_zone_step){golden_int(l->f[2]), atoi(l->f[3])};
    return true;
}

static bool zone_line(const golden_line *l, char *got, size_t size)
{
    const char *op = l->f[0];
    const ax_zone *z = &tz.zone;
    int64_t a, r = 0;
    ax_interval iv;
    ax_status s;
    ax_num n;

    if (step_line(l))
    {
        snprintf(got, size, "%s", l->want);
        return true;
    }
    a = golden_int(l->f[2]);
    assert_string_equal(l->f[1], tz.name);
    if (strcmp(op, "tz2ts") == 0)
        s = ax_tz_to_local(z, a, &tz.hint, &r);
    else if (strcmp(op, "ts2tz") == 0)
        s = ax_tz_to_utc(z, a, &tz.hint, &r);
    else if (strcmp(op, "tz2date") == 0)
    {
        r = ax_tz_to_date(z, a, &tz.hint);
        s = AX_OK;
    }
    else if (strcmp(op, "date2tz") == 0)
        s = ax_date_to_tz(z, (int32_t) a, &tz.hint, &r);
    else if (strcmp(op, "tztrunc") == 0)
        s = ax_tz_trunc(z, unit_of(l->f[2]), golden_int(l->f[3]), &tz.hint, &r);
    else if (strcmp(op, "tzextract") == 0)
    {
        bool known = ax_tz_extract(z, unit_of(l->f[2]), golden_int(l->f[3]), &tz.hint, &n);

        return put_num(known, &n, got, size);
    }
    else if (strcmp(op, "tz+iv") == 0 || strcmp(op, "tz-iv") == 0)
    {
        iv = interval_of(l->f[3]);
        s = ax_tz_add(z, a, &iv, op[2] == '+' ? 1 : -1, &tz.hint, &r);
    }
    else
        return false;
    return put_int(s, r, got, size);
}

static bool datetime_line(const golden_line *l, char *got, size_t size)
{
    if (field_line(l, got, size) || date_line(l, got, size) || zone_line(l, got, size))
        return true;
    fail_msg("unknown operation %s", l->f[0]);
    return true;
}

static void same_as_the_server(void **state)
{
    (void) state;
    golden_replay("datetime.tsv", datetime_line, NULL);
}

/* ---- brute force ----------------------------------------------------------------------------- */

static void calendar_counts_days(void **state)
{
    ax_civil want = {-4713, 11, 24};

    (void) state;
    for (int32_t day = AX_DATE_MIN; day < 4000000; day++)
    {
        ax_civil d = ax_civil_of(day);

        if (d.year != want.year || d.month != want.month || d.day != want.day
            || ax_days_of(d.year, d.month, d.day) != day)
            fail_msg("day %d is %d-%d-%d", day, d.year, d.month, d.day);
        if (++want.day > ax_days_in_month(want.year, want.month))
        {
            want.day = 1;
            if (++want.month > 12)
            {
                want.month = 1;
                want.year++;
            }
        }
    }
    for (int64_t day = INT32_MIN; day <= INT32_MAX; day += 99991)
    {
        ax_civil d = ax_civil_of((int32_t) day);

        assert_true(ax_days_of(d.year, d.month, d.day) == day);
        assert_true(d.month >= 1 && d.month <= 12 && d.day >= 1
                    && d.day <= ax_days_in_month(d.year, d.month));
    }
}

/* Loops over many values give what the single functions give, whatever the values. */
static void loops_equal_single_values(void **state)
{
    enum { N = 3000 };
    static int64_t in[N], out[N];
    static ax_num num[N];
    uint64_t x = 1234567;

    (void) state;
    for (uint32_t i = 0; i < N; i++)
    {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        in[i] = i % 50 == 0 ? (i % 100 ? AX_TS_NINF : AX_TS_PINF)
                            : (int64_t) (x % (uint64_t) AX_TS_END) + AX_TS_MIN;
        if (i % 3 == 0)
            in[i] /= 1000;
    }
    for (ax_unit u = AX_UNIT_MICROSECOND; u < AX_UNIT_ZONE; u++)
    {
        if (ax_unit_truncates(u))
        {
            bool all = ax_ts_trunc_run(u, in, out, N), single = true;

            for (uint32_t i = 0; i < N; i++)
            {
                int64_t r;

                if (ax_ts_trunc(u, in[i], &r) != AX_OK)
                    single = false;
                else
                    assert_true(out[i] == r);
            }
            assert_true(all == single);
        }
        assert_false(ax_ts_extract_run(u, in, num, N));
        for (uint32_t i = 0; i < N; i++)
        {
            ax_num r;

            if (ax_ts_finite(in[i]) && ax_ts_extract(u, in[i], &r))
                assert_true(num[i].v == r.v && num[i].dscale == r.dscale);
        }
    }
}

/* Summer time for ever: a table of 402 years, whose last 400 repeat. */
static void rules_repeat_for_ever(void **state)
{
    static int64_t bytes[1 + 2 * 805];
    ax_zone_step *step = (ax_zone_step *) (bytes + 1);
    uint32_t n = 0, hint = 0;
    ax_zone z;

    (void) state;
    step[n++] = (ax_zone_step){INT64_MIN, 3600};
    for (int32_t y = 2000; y < 2402; y++)
    {
        step[n++] = (ax_zone_step){ax_days_of(y, 3, 31) * AX_USEC_DAY, 7200};
        step[n++] = (ax_zone_step){ax_days_of(y, 10, 31) * AX_USEC_DAY, 3600};
    }
    bytes[0] = ax_days_of(2401, 1, 1) * AX_USEC_DAY;
    assert_false(ax_zone_unpack((const uint8_t *) bytes, (uint32_t) AX_ZONE_BYTES(n) - 8, &z));
    assert_false(ax_zone_unpack((const uint8_t *) bytes, (uint32_t) AX_ZONE_BYTES(0), &z));
    assert_true(ax_zone_unpack((const uint8_t *) bytes, (uint32_t) AX_ZONE_BYTES(n), &z));
    assert_int_equal(z.n, n);
    for (int32_t y = 1990; y < 290000; y += y < 2900 ? 1 : 997)
    {
        int64_t march = ax_days_of(y, 3, 31) * AX_USEC_DAY;
        int64_t october = ax_days_of(y, 10, 31) * AX_USEC_DAY;
        int32_t summer = y < 2000 ? 3600 : 7200;

        assert_int_equal(ax_zone_offset(&z, march - 1, &hint), 3600);
        assert_int_equal(ax_zone_offset(&z, march, &hint), summer);
        assert_int_equal(ax_zone_offset(&z, october - 1, &hint), summer);
        assert_int_equal(ax_zone_offset(&z, october, &hint), 3600);
        /* missing: the earlier offset; twice: the later one */
        assert_int_equal(ax_zone_offset_local(&z, march + AX_USEC_HOUR, &hint), 3600);
        assert_int_equal(ax_zone_offset_local(&z, march + 2 * AX_USEC_HOUR, &hint), summer);
        assert_int_equal(ax_zone_offset_local(&z, october + AX_USEC_HOUR - 1, &hint), summer);
        assert_int_equal(ax_zone_offset_local(&z, october + AX_USEC_HOUR, &hint), 3600);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_repeat_for_ever),
        cmocka_unit_test(same_as_the_server),
        cmocka_unit_test(calendar_counts_days),
        cmocka_unit_test(loops_equal_single_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
