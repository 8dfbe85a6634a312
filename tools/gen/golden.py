#!/usr/bin/env python3
"""Asks a real server what functions of numbers and dates give: golden.py DIR.

Run by hand, the results are committed:
  tools/pg/private-server.sh exec --no-install -- tools/gen/golden.py test/golden
Writes numeric.tsv, ints.tsv, datetime.tsv and aggregates.tsv. Line: operation, arguments, result,
separated by tabs; of aggregates the type and lists of values. A result "!22012" is an SQLSTATE,
"NULL" null. Floats are the bytes of float8send or float4send in hexadecimal; timestamps are
microseconds and dates days since 2000-01-01, infinities the extremes of the integers; intervals are
months/days/microseconds. Deterministic.
"""

import os
import random
import struct
import subprocess
import sys

R = random.Random(20000101)
I64 = (-2**63, 2**63 - 1)

SETUP = """
\\set QUIET on
\\set ON_ERROR_STOP on
set timezone = 'UTC';
create temp table ask (id serial, key text, expr text);
create function pg_temp.try(e text) returns text language plpgsql as $$
declare r text;
begin
  execute 'select (' || e || ')::text' into r;
  return coalesce(r, 'NULL');
exception when others then
  return '!' || sqlstate;
end $$;
create function pg_temp.us(t timestamp) returns text language sql as $$
  select case t when 'infinity' then '9223372036854775807' when '-infinity'
    then '-9223372036854775808' else (select (extract(day from d) * 86400000000
      + extract(hour from d) * 3600000000 + extract(minute from d) * 60000000
      + extract(microseconds from d))::text from (select t - timestamp '2000-01-01' as d) s)
    end $$;
create function pg_temp.us(t timestamptz) returns text language sql as $$
  select pg_temp.us(t at time zone 'UTC') $$;
create function pg_temp.day(d date) returns text language sql as $$
  select case d when 'infinity' then '2147483647' when '-infinity' then '-2147483648'
    else (d - date '2000-01-01')::text end $$;
create function pg_temp.iv(i interval) returns text language sql as $$
  select (extract(year from i) * 12 + extract(month from i))::text || '/' || extract(day from i)
    || '/' || trim_scale((extract(epoch from i) - extract(epoch from
         make_interval(years => extract(year from i)::int, months => extract(month from i)::int,
         days => extract(day from i)::int))) * 1000000) $$;
copy ask (key, expr) from stdin;
"""


def ask(cases, setting=""):
    """[(key fields, SQL expression)] -> lines with the server's answers, in order."""
    lines = ["\t".join(["|".join(map(str, key)), expr]) for key, expr in cases]
    script = SETUP + "\n".join(lines) + "\n\\.\n" + setting + \
        "\n\\pset format unaligned\n\\pset tuples_only on\n\\pset fieldsep '\\t'\n" \
        "select translate(key, '|', E'\\t'), pg_temp.try(expr) from ask order by id;\n"
    done = subprocess.run(["psql", "-X", "-q"], input=script, text=True, check=True,
                          stdout=subprocess.PIPE)
    return done.stdout.splitlines()


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


# ---- numbers -----------------------------------------------------------------------------------

EDGES = ["0", "0.0", "0.000", "1", "-1", "1.0", "2", "3", "-3", "7", "9999", "10000", "10001",
         "-10000.0001", "0.0001", "0.00010000", "0.9999", "99999999", "100000000", "0.5", "1.5",
         "2.5", "-0.5", "-1.5", "12.345", "-12.355", "1234567.891", "0.1", "0.3333333333333333",
         "9" * 38, "-" + "9" * 38, "1" + "0" * 37, "0." + "0" * 37 + "1", "5" + "0" * 37,
         "0." + "9" * 38, "123456789012345678.12345678901234567890", "9223372036854775807",
         "-9223372036854775808", "9223372036854775807.5", "2147483647.4999", "2147483647.5",
         "-2147483648.5", "32767.49", "-32768.5", "NaN", "Infinity", "-Infinity",
         "18446744073709551616", "79228162514264337593543950336", "0.00000000000000000001"]


def number(most=38):
    digits = R.randint(1, most)
    text = str(R.randrange(10 ** (digits - 1), 10 ** digits))
    scale = R.choice([0, 0, 1, 2, 2, 4, 6, 9, R.randint(0, most)])
    if scale:
        text = text.rjust(scale + 1, "0")
        text = text[:-scale] + "." + text[-scale:]
    return ("-" if R.random() < 0.4 else "") + text


def f64(x):
    return struct.pack(">d", x).hex()


def f32(x):
    return struct.pack(">f", x).hex()


def sql_f64(x):
    return "'%r'::float8" % x


def sql_f32(x):
    return "'%r'::float4" % x


def num(text):
    return "'%s'::numeric" % text


def random_f64():
    kind = R.random()
    if kind < 0.3:
        return struct.unpack(">d", R.randbytes(8))[0]
    if kind < 0.6:
        return R.uniform(-1000, 1000)
    if kind < 0.8:
        return round(R.uniform(-1e6, 1e6), R.randint(0, 6))
    return float(R.randint(-10**17, 10**17))


def random_f32():
    return struct.unpack(">f", struct.pack(">f", R.choice([
        R.uniform(-1000, 1000), 10 ** R.uniform(-44, 37), float(R.randint(-10**9, 10**9))])))[0]


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 0.1 + 0.2, 1e15, 999999999999999.0, 1e14 + 0.5, 1e37, 9.9e37,
          1e38, 1e39, 1e-5, 1e-300, 5e-324, 1.7976931348623157e308, 123456.789, 2.5, 1.5, 0.5, -0.5,
          -2.5, 3.5, float("inf"), float("-inf"), float("nan"), 2.0**53, 2.0**63, 1e22, 1e23, 0.3]


def numeric_cases():
    binary = {"add": "%s + %s", "sub": "%s - %s", "mul": "%s * %s", "div": "%s / %s",
              "mod": "%s %% %s", "idiv": "div(%s, %s)", "cmp": "numeric_cmp(%s, %s)"}
    for op, form in binary.items():
        pairs = [(R.choice(EDGES), R.choice(EDGES)) for _ in range(260)]
        pairs += [(number(R.choice([4, 9, 18, 38])), number(R.choice([4, 9, 18, 38])))
                  for _ in range(160)]
        pairs += [(a, b) for a in EDGES[-6:] for b in ("0", "2", "-2", "NaN", "Infinity")]
        for a, b in pairs:
            yield (op, a, b), form % (num(a), num(b))
    unary = {"neg": "-%s", "abs": "abs(%s)", "sign": "sign(%s)", "ceil": "ceil(%s)",
             "floor": "floor(%s)", "i2": "%s::int2", "i4": "%s::int4", "i8": "%s::int8",
             "f8": "encode(float8send(%s::float8), 'hex')",
             "f4": "encode(float4send(%s::float4), 'hex')", "text": "%s"}
    for op, form in unary.items():
        few = [number(R.choice([5, 10, 19, 38])) for _ in range(150 if op in ("f8", "f4") else 40)]
        for a in EDGES + few:
            yield (op, a, ""), form % num(a)
    for op in ("round", "trunc"):
        for a in EDGES * 3 + [number() for _ in range(100)]:
            s = R.choice([-40, -38, -20, -5, -4, -2, -1, 0, 0, 1, 2, 3, 4, 8, 20, 37, 38, 60])
            yield (op, a, s), "%s(%s, %d)" % (op, num(a), s)
    for a in EDGES * 4 + [number() for _ in range(100)]:
        p = R.choice([1, 2, 4, 5, 9, 10, 15, 18, 38, 38, 60])
        s = R.choice([0, 0, 1, 2, p // 2, p, -2, p + 3])
        yield ("coerce", a, "%d,%d" % (p, s)), "%s::numeric(%d,%d)" % (num(a), p, s)
    for x in FLOATS + [random_f64() for _ in range(300)]:
        yield ("of_f8", f64(x), ""), sql_f64(x) + "::numeric"
    for x in [struct.unpack(">f", struct.pack(">f", x))[0] for x in FLOATS
              if not 3.4e38 < abs(x) < float("inf")] + [random_f32() for _ in range(200)]:
        yield ("of_f4", f32(x), ""), sql_f32(x) + "::numeric"
    for _ in range(300):
        total = R.choice([0, 1, -1, 7, R.randint(-10**6, 10**6), R.randint(*I64),
                          R.randint(-10**30, 10**30)])
        count = R.choice([1, 2, 3, 7, 10, 9999, 10000, R.randint(1, 10**6), R.randint(1, 10**12)])
        scale = R.choice([0, 0, 2, 6])
        text = "%s::numeric / power(10::numeric, 0)" % num(total)
        if scale:
            text = "round(%s / power(10::numeric, %d), %d)" % (num(total), scale, scale)
        else:
            text = num(total)
        yield ("avg", "%d/%d" % (total, scale), count), "%s / %s" % (text, num(count))


# ---- integers and floats -----------------------------------------------------------------------

def int_cases():
    for bits, name in ((16, "int2"), (32, "int4"), (64, "int8")):
        low, high = -2**(bits - 1), 2**(bits - 1) - 1
        edge = [low, low + 1, -1, 0, 1, 2, -2, 3, 7, 10, 255, high - 1, high]
        def one():
            return R.choice(edge + [R.randint(low, high), R.randint(-1000, 1000)])
        def lit(v):
            return "'%d'::%s" % (v, name)
        for op, sign in (("div", "/"), ("mod", "%"), ("and", "&"), ("or", "|"), ("xor", "#")):
            for a, b in [(a, b) for a in (low, -1, 0, 1, high) for b in (-1, 0, 1, low, high)] + \
                    [(one(), one()) for _ in range(60)]:
                yield (op + str(bits), a, b), "%s %s %s" % (lit(a), sign, lit(b))
        for op, sign in (("shl", "<<"), ("shr", ">>")):
            for _ in range(80):
                a = one()
                b = R.choice([0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, -1, -33, 2**31 - 1])
                yield (op + str(bits), a, b), "%s %s (%d)::int4" % (lit(a), sign, b)
        for op, sign in (("abs", "@ "), ("not", "~ "), ("neg", "- ")):
            for a in edge + [one() for _ in range(20)]:
                yield (op + str(bits), a, ""), "%s(%s)" % (sign, lit(a))


def float_cases():
    near = [0.49999999999999994, 0.5, 1.5, 2.5, -0.5, -1.5, 4503599627370495.5, 9007199254740993.0,
            709.0, 710.0, -745.0, -746.0, 1e-320, -1e300, 1e300, 4.0, 2.0, -2.0, 3.0, -3.0, 100.0,
            1000.0, 1e-310]
    pool = FLOATS + near
    for op in ("sqrt", "abs", "ceil", "floor", "round", "trunc", "sign", "exp", "ln", "log10"):
        call = {"log10": "log"}.get(op, op)
        for x in pool + [random_f64() for _ in range(60)]:
            yield (op, f64(x), ""), "encode(float8send(%s(%s)), 'hex')" % (call, sql_f64(x))
    for op, form in (("fdiv", "%s / %s"), ("power", "power(%s, %s)")):
        for a, b in [(R.choice(pool), R.choice(pool)) for _ in range(500)] + \
                [(random_f64(), random_f64()) for _ in range(100)] + \
                [(R.uniform(0, 100), R.uniform(-20, 20)) for _ in range(50)]:
            yield (op, f64(a), f64(b)), \
                "encode(float8send(" + form % (sql_f64(a), sql_f64(b)) + "), 'hex')"
    singles = [struct.unpack(">f", struct.pack(">f", x))[0] for x in pool
               if not 3.4e38 < abs(x) < float("inf")]
    for a, b in [(R.choice(singles), R.choice(singles)) for _ in range(300)] + \
            [(random_f32(), random_f32()) for _ in range(60)]:
        yield ("fdiv4", f32(a), f32(b)), \
            "encode(float4send(%s / %s), 'hex')" % (sql_f32(a), sql_f32(b))


# ---- dates -------------------------------------------------------------------------------------

DAY = 86400 * 10**6
TS_MIN, TS_LAST = -211813488000000000, 9223371331199999999
D_MIN, D_LAST = -2451545, 2147483493 - 2451545


def sql_ts(us):
    if us in I64:
        return "'%sinfinity'::timestamp" % ("-" if us < 0 else "")
    return "(timestamp '2000-01-01' + interval '%d days' + interval '%d microseconds')" % (
        us // DAY, us % DAY)


def sql_tz(us):
    return "(%s at time zone 'UTC')" % sql_ts(us)


def sql_date(d):
    if abs(d) >= 2**31 - 1:
        return "'%sinfinity'::date" % ("-" if d < 0 else "")
    return "(date '2000-01-01' + (%d))" % d


def sql_iv(iv):
    return "make_interval(months => %d, days => %d) %s interval '%d microseconds'" % (
        iv[0], iv[1], "+" if iv[2] >= 0 else "-", abs(iv[2]))


def show_iv(iv):
    return "%d/%d/%d" % iv


def days_of(y, m, d):
    """Proleptic Gregorian; year 0 is 1 BC."""
    y -= m <= 2
    doy = (153 * (m - 3 if m > 2 else m + 9) + 2) // 5 + d - 1
    return y // 400 * 146097 + y % 400 * 365 + y % 400 // 4 - y % 400 // 100 + doy - 730425


def edge_days():
    for y in (-4713, -4712, -1001, -1000, -999, -101, -100, -99, -10, -9, -4, -1, 0, 1, 2, 4, 9, 10,
              11, 99, 100, 101, 1000, 1001, 1582, 1899, 1900, 1901, 1969, 1970, 1999, 2000, 2001,
              2004, 2005, 2008, 2009, 2010, 2015, 2016, 2020, 2021, 2026, 2100, 9999, 294276):
        for m, d in ((1, 1), (1, 2), (1, 3), (1, 4), (2, 28), (3, 1), (3, 31), (6, 30), (10, 1),
                     (11, 30), (12, 28), (12, 29), (12, 30), (12, 31)):
            if y > -4713 or m >= 12:
                yield days_of(y, m, d)
        if y % 4 == 0 and (y % 100 or y % 400 == 0):
            yield days_of(y, 2, 29)


EDGE_DAYS = list(edge_days())


def stamp(far=True):
    if R.random() < 0.5:
        day = R.choice(EDGE_DAYS)
    elif R.random() < 0.5 or not far:
        day = R.randint(-20000, 20000)
    else:
        day = R.randint(D_MIN, 106751000)
    return day * DAY + R.choice([0, 1, DAY - 1, 43200 * 10**6, R.randrange(DAY), R.randrange(DAY)])


ENDS = [I64[0], I64[1], TS_MIN, TS_MIN + 1, TS_LAST, TS_LAST - DAY, 0, -1, 1, -946684800000000]
TRUNC = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month",
         "quarter", "year", "decade", "century", "millennium"]
FIELDS = TRUNC + ["dow", "isodow", "doy", "isoyear", "julian", "epoch"]
UNIT_NAMES = ["SECOND", "Sec", "usec", "us", "ms", "msecs", "min", "mins", "m", "h", "hr", "hrs",
              "d", "days", "w", "weeks", "mon", "mons", "months", "qtr", "y", "yr", "yrs", "years",
              "dec", "decs", "decades", "c", "cent", "centuries", "mil", "mils", "millennia",
              "millisecond", "microsecond", "microsecondsandmore", "quarters", "fortnight"]


def interval():
    return (R.choice([0, 0, 1, -1, 2, 11, 12, 13, -13, 1200, R.randint(-5000, 5000)]),
            R.choice([0, 0, 1, -1, 30, 31, -365, R.randint(-40000, 40000)]),
            R.choice([0, 0, 1, -1, 3600 * 10**6, -DAY, DAY + 1, R.randint(-10**15, 10**15)]))


def date_cases():
    for unit in TRUNC:
        for ts in ENDS + [stamp() for _ in range(60)]:
            yield ("trunc", unit, ts), "pg_temp.us(date_trunc('%s', %s))" % (unit, sql_ts(ts))
    for unit in FIELDS:
        for ts in ENDS + [stamp() for _ in range(45)]:
            yield ("extract", unit, ts), "extract(%s from %s)" % (unit, sql_ts(ts))
        for ts in ENDS + [stamp() for _ in range(15)]:
            yield ("part", unit, ts), \
                "encode(float8send(date_part('%s', %s)), 'hex')" % (unit, sql_ts(ts))
        for d in [-2**31, 2**31 - 1, D_MIN, D_LAST, 0] + \
                [R.choice(EDGE_DAYS + [R.randint(D_MIN, D_LAST)]) for _ in range(25)]:
            yield ("dextract", unit, d), "extract(%s from %s)" % (unit, sql_date(d))
    for name in UNIT_NAMES:
        yield ("unit", name, 86399999999), \
            "pg_temp.us(date_trunc('%s', %s))" % (name, sql_ts(86399999999))
    for ts in ENDS + [stamp() for _ in range(100)]:
        yield ("ts2date", ts, ""), "pg_temp.day(%s::date)" % sql_ts(ts)
        yield ("ts2time", ts, ""), \
            "trim_scale(extract(epoch from %s::time) * 1000000)" % sql_ts(ts)
    dates = [-2**31, 2**31 - 1, D_MIN, D_LAST, 106751991, 106751982, 106751983, 0] + \
        [R.choice(EDGE_DAYS + [R.randint(D_MIN, D_LAST)]) for _ in range(100)]
    for d in dates:
        yield ("date2ts", d, ""), "pg_temp.us(%s::timestamp)" % sql_date(d)
        n = R.choice([0, 1, -1, 1000, -100000, 2**31 - 1, -2**31, R.randint(-10**7, 10**7)])
        yield ("dateadd", d, n), "pg_temp.day(%s + (%d))" % (sql_date(d), n)
        e = R.choice(dates)
        yield ("datediff", d, e), "%s - %s" % (sql_date(d), sql_date(e))
        iv = interval()
        sign = R.choice("+-")
        yield ("date" + sign + "iv", d, show_iv(iv)), \
            "pg_temp.us(%s %s (%s))" % (sql_date(d), sign, sql_iv(iv))
    for ts in ENDS * 8 + [stamp() for _ in range(500)]:
        iv = interval()
        sign = R.choice("+-")
        yield ("ts" + sign + "iv", ts, show_iv(iv)), \
            "pg_temp.us(%s %s (%s))" % (sql_ts(ts), sign, sql_iv(iv))
    for a in ENDS * 3 + [stamp() for _ in range(100)]:
        b = R.choice(ENDS + [stamp(), stamp()])
        if -2**63 <= a - b < 2**63 or a in I64 or b in I64:
            yield ("tsdiff", a, b), "pg_temp.iv(%s - %s)" % (sql_ts(a), sql_ts(b))
    for _ in range(300):
        stride = R.choice([(0, 0, 900 * 10**6), (0, 1, 0), (0, 7, 0), (0, 0, 1), (0, 0, 0),
                           (0, -1, 0), (1, 0, 0), (0, 0, R.randint(1, 10**12)), (0, 3, 5)])
        ts, origin = R.choice(ENDS + [stamp()] * 20), R.choice([0, 1, stamp(), R.choice(ENDS)])
        yield ("bin", show_iv(stride), ts, origin), "pg_temp.us(date_bin(%s, %s, %s))" % (
            sql_iv(stride), sql_ts(ts), sql_ts(origin))
    for y in (-4714, -4713, -2, -1, 0, 1, 4, 1900, 2000, 2023, 2024, 294277, 5874897, 5874898):
        for m, d in ((0, 1), (1, 0), (1, 1), (2, 28), (2, 29), (2, 30), (4, 31), (6, 3), (11, 23),
                     (11, 24), (12, 31), (13, 1), (-1, 5)):
            yield ("makedate", y, "%d/%d" % (m, d)), \
                "pg_temp.day(make_date(%d, %d, %d))" % (y, m, d)


# ---- zones -------------------------------------------------------------------------------------

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata",
         "Pacific/Apia", "America/Sao_Paulo", "Europe/Dublin", "UTC"]
ZONE_UNITS = ["minute", "hour", "day", "week", "month", "quarter", "year", "century"]
ZONE_FIELDS = ["second", "minute", "hour", "day", "dow", "doy", "year", "week", "epoch", "julian",
               "timezone", "timezone_hour", "timezone_minute"]
EPOCH = 946684800


def zone_steps(name):
    """(UTC seconds since 1970, offset) of the compiled zone file, first type first."""
    with open("/usr/share/zoneinfo/" + name, "rb") as f:
        data = f.read()
    head = struct.unpack(">6I", data[20:44])
    isut, isstd, leap, times, types, chars = head
    data = data[44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isut:]
    isut, isstd, leap, times, types, chars = struct.unpack(">6I", data[20:44])
    at = struct.unpack(">%dq" % times, data[44:44 + times * 8])
    kind = data[44 + times * 8:44 + times * 9]
    offset = [struct.unpack(">i", data[44 + times * 9 + 6 * i:][:4])[0] for i in range(types)]
    return [(-10**12, offset[0])] + [(t, offset[k]) for t, k in zip(at, kind)]


def zone_cases(name, steps):
    changes = [t for t, _ in steps[1:] if t > -2 * 10**9] or [EPOCH]
    def near():
        """Microseconds since 2000 around a transition, before 2037."""
        t = R.choice(changes + [R.randint(-10**9, 2 * 10**9)])
        t += R.choice([0, -1, 1, 1800, 3599, 3600, -3600, R.randint(-90000, 90000)])
        return min(t - EPOCH, 1140000000) * 10**6 + R.choice([0, 0, 1, R.randrange(10**6)])
    def local():
        t, off = R.choice(steps[1:] or steps)
        t = max(t, -2 * 10**9)
        t += off + R.choice([0, -1, 1, 1800, 3600, 3599, 5400, 7200, -3600, -1800, -7200,
                             R.randint(-100000, 100000)])
        return min(t - EPOCH, 1140000000) * 10**6 + R.choice([0, 0, 1])
    for ts in [near() for _ in range(60)] + list(I64):
        yield ("tz2ts", name, ts), "pg_temp.us(%s::timestamp)" % sql_tz(ts)
        yield ("tz2date", name, ts), "pg_temp.day(%s::date)" % sql_tz(ts)
        unit = R.choice(ZONE_UNITS)
        yield ("tztrunc", name, unit, ts), "pg_temp.us(date_trunc('%s', %s))" % (unit, sql_tz(ts))
        unit = R.choice(ZONE_FIELDS)
        yield ("tzextract", name, unit, ts), "extract(%s from %s)" % (unit, sql_tz(ts))
        iv = R.choice([(0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 1, 0), (0, 1, 3600 * 10**6),
                       (R.randint(-600, 4), R.randint(-900, 100), R.randint(-10**13, 10**13))])
        sign = R.choice("+-")
        if sign == "-" and iv[0] < -1:
            iv = tuple(-x for x in iv)
        yield ("tz" + sign + "iv", name, ts, show_iv(iv)), \
            "pg_temp.us(%s %s (%s))" % (sql_tz(ts), sign, sql_iv(iv))
    for ts in [local() for _ in range(120)] + list(I64):
        yield ("ts2tz", name, ts), "pg_temp.us(%s::timestamptz)" % sql_ts(ts)
    for _ in range(30):
        d = local() // DAY
        yield ("date2tz", name, d), "pg_temp.us(%s::timestamptz)" % sql_date(d)


# ---- aggregates --------------------------------------------------------------------------------

SPREAD = ["var_pop", "var_samp", "stddev_pop", "stddev_samp"]
PAIRS = ["corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count",
         "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy"]
AGGREGATES = {"int2": ["sum", "avg", "min", "max", "bit_and", "bit_or", "bit_xor"] + SPREAD,
              "numeric": ["sum", "avg", "min", "max"] + SPREAD,
              "float8": ["sum", "avg", "min", "max"] + SPREAD,
              "bool": ["bool_and", "bool_or"]}
AGGREGATES["int4"] = AGGREGATES["int8"] = AGGREGATES["int2"]
AGGREGATES["float4"] = AGGREGATES["float8"]
RANGE = {"int2": 2**15, "int4": 2**31, "int8": 2**63}


def decimals(count):
    """Texts of decimals that belong together: of one scale, of few, or of any."""
    kind = R.random()
    if kind < 0.4:
        most, scale = R.choice([(4, 0), (6, 2), (12, 2), (18, 4), (38, 0), (38, 10), (38, 37)])
        def one():
            text = str(R.randrange(10 ** R.randint(1, most))).rjust(scale + 1, "0")
            text = text[:-scale] + "." + text[-scale:] if scale else text
            return R.choice(["", "", "-"]) + text
    elif kind < 0.6:
        def one():
            return "%.*f" % (R.randint(0, 3), R.uniform(-1000, 1000))
    else:
        def one():
            return number(R.choice([3, 10, 38])) if R.random() < 0.8 else R.choice(EDGES)
    values = [one() for _ in range(count)]
    return values if kind < 0.9 else [v for v in values if v.lstrip("-")[0].isdigit()]


def some_values(kind, count):
    if kind == "numeric":
        values = decimals(count)
    elif kind == "bool":
        values = [R.choice("tf") if R.random() < 0.5 else "t" for _ in range(count)]
    elif kind in RANGE:
        end = RANGE[kind]
        small = R.random() < 0.4
        values = [str(R.randrange(-100, 100) if small else R.choice([
            R.randrange(-end, end), -end, end - 1, R.randrange(-100, 100)])) for _ in range(count)]
    else:
        pick = R.random()
        values = [repr(R.choice(FLOATS) if pick < 0.2 else R.uniform(-1e3, 1e3) if pick < 0.8
                       else 1e6 + R.random()) for _ in range(count)]
        if kind == "float4":
            values = [v if float(v) == 0 or 1e-30 < abs(float(v)) < 3e38
                      else R.choice(["inf", "-inf", "nan"]) for v in values]
    return ["NULL" if R.random() < 0.05 else v for v in values]


def few():
    return R.choice([0, 1, 1, 2, 2, 3, 5, 8, 20, R.randint(20, 60)])


def shown(result, expr):
    return "encode(%ssend(%s), 'hex')" % (result, expr) if result else expr


def aggregate_cases():
    for kind, names in AGGREGATES.items():
        for name in names:
            for _ in range(100 if kind == "numeric" else 30):
                values = some_values(kind, few())
                result = "float8" if kind.startswith("float") else None
                if kind == "float4" and name in ("sum", "min", "max"):
                    result = "float4"
                yield (name, kind, ",".join(values)), shown(
                    result, "(select %s(x order by n) from unnest('{%s}'::%s[]) with ordinality"
                    " as u(x, n))" % (name, ",".join(values), kind))
    for name in PAIRS:
        for _ in range(60):
            y, x = some_values("float8", few()), some_values("float8", 60)
            if R.random() < 0.1:
                x = x[:1] * 60
            if R.random() < 0.1:
                y = y[:1] * len(y)
            x = x[:len(y)]
            yield (name, "float8", ",".join(y), ",".join(x)), shown(
                None if name == "regr_count" else "float8",
                "(select %s(y, x order by n) from unnest('{%s}'::float8[], '{%s}'::float8[])"
                " with ordinality as u(y, x, n))" % (name, ",".join(y), ",".join(x)))


def main(folder):
    write(folder, "numeric.tsv", ask(list(numeric_cases())))
    write(folder, "ints.tsv", ask(list(int_cases()) + list(float_cases())))
    lines = ask(list(date_cases()))
    for name in ZONES:
        steps = zone_steps(name)
        lines += ["step\t%s\t%d\t%d" % (name, (t - EPOCH) * 10**6, off) for t, off in steps]
        lines += ask(list(zone_cases(name, steps)), "set timezone = '%s';" % name)
    write(folder, "datetime.tsv", lines)
    # NaN has a sign that nobody sees
    write(folder, "aggregates.tsv", [line.replace("\tfff8000000000000", "\t7ff8000000000000")
                                     for line in ask(list(aggregate_cases()))])


main(sys.argv[1])
