"""What parity.py tries: edge values of each type, constants, and SQL for lines of functions.def
that are no function of the server. A value is a pair: as the file has it, and as an SQL literal."""

import decimal
import struct
import uuid

DAY = 86400 * 1000000


# ---------------------------------------------------------------- edge values

def days(year, month, day):
    """Days since 1970 in the proleptic Gregorian calendar; years below 1 are BC."""
    y = year - (month <= 2)
    doy = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return y * 365 + y // 4 - y // 100 + y // 400 + doy - 719468


def date_text(year, month, day):
    era = "" if year > 0 else " BC"
    return "%04d-%02d-%02d%s" % (year if year > 0 else 1 - year, month, day, era)


DATES = [(2000, 1, 1), (1970, 1, 1), (2024, 2, 29), (2023, 12, 31), (2024, 12, 30), (1999, 12, 31),
         (1900, 3, 1), (1, 1, 1), (0, 12, 31), (-4712, 1, 1), (9999, 12, 31), (10000, 1, 1),
         (294246, 12, 31), (2001, 1, 1), (2020, 10, 31), (1582, 10, 15)]
CLOCKS = [0, 1, 43200000000, 86399999999, 3600000000, 12345678, 59999999, 82800000001]


def clock_text(micros):
    return "%02d:%02d:%02d.%06d" % (micros // 3600000000, micros // 60000000 % 60,
                                    micros // 1000000 % 60, micros % 1000000)


def stamps(zone):
    out = []
    for i, date in enumerate(DATES):
        clock = CLOCKS[i % len(CLOCKS)]
        text = date_text(*date).split(" ")
        text.insert(1, clock_text(clock) + zone)
        out.append((days(*date) * DAY + clock, " ".join(text)))
    return out


def same(*values):
    return [(v, str(v)) for v in values]


def decimals(*texts):
    return [(decimal.Decimal(t), t) for t in texts]


def floats(*extra):
    named = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, 100.0, 1e10, -1e10,
              float("inf"), float("-inf"), float("nan")] + list(extra)
    return [(v, "NaN" if v != v else named.get(v, repr(v))) for v in values]


def single(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


TEXTS = ["", "a", "abc", "ABC abc", " blank ", "  ", "h\u00e4llo w\u00f6rld",
         "\u20ac\u4e2d\U0001f600x", "a,b,,c", "%_\\", "aaa", "abcabc", "http://x.de/p?q=1",
         "Zebra\nline", "12", "-7", "tRuE", "x" * 40, "O'Neil-mc donald"]

# type name: (kind in the file, kinds of the places or None, [(value in the file, literal)])
EDGES = {
    "boolean": ("bool", [(True, "true"), (False, "false")]),
    "smallint": ("int16", same(0, 1, -1, 2, 3, -3, 7, 10, 15, 16, 17, 31, 100, 255, 12345,
                               32767, -32767, -32768, 6)),
    "integer": ("int32", same(0, 1, -1, 2, 3, -3, 5, 7, 31, 32, 33, 100, 1000, 12345, 65536,
                              2**31 - 1, -2**31,
                              -2**31 + 1, 2024)),
    "bigint": ("int64", same(0, 1, -1, 2, -3, 7, 33, 63, 64, 100, 12345, 10**10, 2**31,
                             -2**31 - 1, 2**53 + 1,
                             2**63 - 1, -2**63, -2**63 + 1, 20)),
    "real": ("float", floats(single(1), single(0x7f7fffff), -single(0x7f7fffff))),
    "double precision": ("double", floats(5e-324, 1.7976931348623157e308, 0.1)),
    "numeric": ("decimal(12,3)", decimals(
        "0.000", "1.000", "-1.000", "0.001", "-0.001", "0.500", "-0.500", "1.500", "2.500",
        "-2.500", "10.000", "99.995", "123456.789", "-123456.789", "999999999.999",
        "-999999999.999", "7.000", "3.333", "100.000")),
    "text": ("string", [(t, t) for t in TEXTS]),
    "bytea": ("binary", [(b, "\\x" + b.hex()) for b in (
        b"", b"\0", b"a", b"abc", b"\xff\xfe", b"abc\0d", b"\x80", b"ab", b"b",
        b"\x7f" * 20, b" a ")]),
    "date": ("date", [(days(*d), date_text(*d)) for d in DATES + [(5874897, 12, 31)]]),
    "time without time zone": ("time", [(c, clock_text(c)) for c in CLOCKS]),
    "timestamp without time zone": ("timestamp", stamps("")),
    "timestamp with time zone": ("timestamptz", stamps("+00")),
    "interval": ("interval", [(v, "%d months %d days %d milliseconds" % v) for v in (
        (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 30, 0), (0, 0, 1), (0, 0, 86400000), (12, 0, 0),
        (13, 31, 3661001),
        (0, 29, 86400000), (2, 40, 90000000), (1200, 0, 0), (0, 100000, 0), (0, 0, 3600000))]),
    "uuid": ("uuid", [(uuid.UUID(int=i).bytes, str(uuid.UUID(int=i))) for i in (
        0, 1, 2**127, 2**128 - 1, 0x123456789abcdef0123456789abcdef, 255)]),
    "color": ("string", same("red", "green", "blue")),
    "character": ("string", [(t, t) for t in (
        "", "a", "a ", "ab", "abc  ", "B", "\u00e4\u20ac", "abcde", "  x", "a\t")]),
}
DECLARED = {"character": "character(5)",
            "numeric": {"a": "numeric(12,3)", "b": "numeric(9,2)", "c": "numeric(9,2)"}}
DECIMALS_B = decimals("0.00", "1.00", "-1.00", "0.01", "-0.01", "0.50", "2.00", "-2.00",
                      "3.00", "0.30", "10.00", "0.05", "1234567.89", "-9999999.99", "9999999.99")
# Constants that no file can hold, tried beside the edge values.
LITERALS = {
    "numeric": ["NaN", "Infinity", "-Infinity", "1.10", "0"],
    "date": ["infinity", "-infinity"],
    "timestamp without time zone": ["infinity", "-infinity"],
    "timestamp with time zone": ["infinity", "-infinity"],
    "interval": ["-1 months 3 days -00:00:01", "-10 days", "1 mon -30 days"],
    "time without time zone": ["24:00:00"],
    "double precision": ["-3"],
}
PLACES = "abcd"

# ---------------------------------------------------------------- what reaches a line

LIKES = ["abc", "a%", "%c", "%b%", "_", "%_b%c", "h\u00e4%", "%\\%%", "", "%"]
REGEXES = ["^a", "c$", "b.*c", "[[:alpha:]]+", "^[a-z]+$", "\\d", "^https?://([^/]+)/.*$",
           "\\w-\\w", "A|b", "", "^$"]
UNITS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month",
         "quarter", "year", "decade", "century", "millennium"]
FIELDS = UNITS + ["dow", "isodow", "doy", "isoyear", "julian", "epoch"]
TIMESTAMPTZ = "timestamp with time zone"
ZONES = ["Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata"]
# Constants of places that must be constant: {line: [tuple of (place, literal)]}.
CONSTANTS = {
    "LIKE": [((2, p),) for p in LIKES], "NOT_LIKE": [((2, p),) for p in LIKES],
    "ILIKE": [((2, p),) for p in LIKES if p.isascii()],
    "NOT_ILIKE": [((2, p),) for p in LIKES if p.isascii()],
    "REGEXP_REPLACE": [((2, p), (3, r)) for p in ("^a(.*)$", "^https?://([^/]+)/.*$")
                       for r in ("\\1", "[\\&]", "")],
    "REGEXP_REPLACE_FLAGS": [((2, "^a(b?)(.*)$"), (3, "\\2\\1"), (4, f)) for f in ("", "g")],
    "REGEXP_SUBSTRING": [((2, p),) for p in ("^([a-z]*).*$", "^a.*$")],
    "EXTRACT": {("text", "date"): [((1, u),) for u in FIELDS[5:]],
                ("text", "time without time zone"): [((1, u),) for u in UNITS[:5] + ["epoch"]],
                None: [((1, u),) for u in FIELDS]},
    "TZ_EXTRACT": [((1, u),) for u in FIELDS], "TZ_PART": [((1, u),) for u in FIELDS],
    "TZ_TRUNC": {("text", TIMESTAMPTZ): [((1, u),) for u in UNITS],
                 ("text", TIMESTAMPTZ, "text"): [((1, "day"), (3, z)) for z in ZONES]},
    "TZ_LOCAL": {("text", TIMESTAMPTZ): [((1, z),) for z in ZONES]},
    "TZ_INSTANT": {("text", "timestamp without time zone"): [((1, z),) for z in ZONES]},
    "DATE_PART": [((1, u),) for u in FIELDS], "DATE_TRUNC": [((1, u),) for u in UNITS],
    "ROUND_TO": [((2, n),) for n in ("0", "2", "5", "-1", "-5", "20")],
    "TRUNC_TO": [((2, n),) for n in ("0", "1", "-2", "10")],
    "TIME_COERCE": [((2, n),) for n in ("0", "2", "3", "6")],
    "VARCHAR": [((2, n), (3, cast)) for n in ("7", "5", "4") for cast in ("true", "false")],
    "NUM_COERCE": [((2, str((p << 16 | s) + 4)),) for p, s in ((12, 3), (6, 2), (20, 6), (3, 0))],
}
for _line in ("REGEX", "NOT_REGEX", "IREGEX", "NOT_IREGEX"):
    CONSTANTS[_line] = [((2, p),) for p in REGEXES
                        if _line in ("IREGEX", "NOT_IREGEX") or "\\" not in p and ":" not in p]
for _line in ("REGEX", "NOT_REGEX", "REGEXP_REPLACE", "REGEXP_REPLACE_FLAGS", "REGEXP_SUBSTRING"):
    CONSTANTS[_line + "_C"] = CONSTANTS[_line]
for _line in ("REGEX_C", "NOT_REGEX_C"):
    CONSTANTS[_line] = [((2, p),) for p in REGEXES]

# SQL for lines that are no function of the server; {T} stands for each type's name in columns.
FORMS = {
    # What GROUP BY makes of EXTRACT: see algebra.c.
    "FIELD": ["extract(minute FROM a_timestamp)"],
    "FIELD_NUMERIC": ["extract(year FROM a_date)"],
    "DISTINCT": ["a_{T} IS DISTINCT FROM b_{T}"],
    "NOT_DISTINCT": ["a_{T} IS NOT DISTINCT FROM b_{T}"],
    "NOT": ["NOT a_boolean"],
    "IS_NULL": ["a_{T} IS NULL", "a_boolean IS UNKNOWN"],
    "IS_NOT_NULL": ["a_{T} IS NOT NULL", "a_boolean IS NOT UNKNOWN"],
    "IS_TRUE": ["a_boolean IS TRUE"], "IS_NOT_TRUE": ["a_boolean IS NOT TRUE"],
    "IS_FALSE": ["a_boolean IS FALSE"], "IS_NOT_FALSE": ["a_boolean IS NOT FALSE"],
    "EQ": ["a_{E} = b_{E}", "a_{E} = 'blue'", "a_{E} IN ('red', 'green')"],
    "NE": ["a_{E} <> b_{E}"],
    "GREATEST": ["greatest(a_{T}, b_{T})", "greatest(a_{T}, b_{T}, c_{T})"],
    "LEAST": ["least(a_{T}, b_{T})", "least(a_{T}, b_{T}, c_{T})"],
    "FLOAT_COERCE": ["a_double::numeric(12,2)", "a_double::numeric(38,10)", "a_real::numeric(9,3)"],
    "CONCAT_TEXT": ["concat(a_smallint, a_integer, a_bigint)", "concat(a_boolean)",
                    "concat(a_numeric, a_uuid)"],
    "CONCAT_STEP": ["concat(a_text, b_text)", "concat(a_text)",
                    "concat(a_text, '-', b_integer, c_text)"],
    "CONCAT_WS_STEP": ["concat_ws(a_text, b_text, c_text)",
                       "concat_ws(',', a_text, b_integer, c_text, a_boolean)",
                       "concat_ws('/', a_text)"],
    "TZ_ORDER": ["a_date < b_timestamptz", "a_timestamp >= b_timestamptz",
                 "a_timestamptz = b_date"],
    "DATE_ORDER": ["a_date < b_timestamp", "a_date = b_timestamp", "b_timestamp <= a_date"],
}
# What is no line: kinds of expressions over all types.
KINDS = [
    "a_{T} = ANY (ARRAY[b_{T}, c_{T}])", "a_{T} BETWEEN SYMMETRIC b_{T} AND c_{T}",
    "(a_{T}, b_integer) < (b_{T}, c_integer)",
    "(a_{T}, b_integer) >= (b_{T}, c_integer)", "(a_integer, b_{T}) <= (c_integer, c_{T})",
    "coalesce(a_{T}, b_{T})", "nullif(a_{T}, b_{T})",
    "CASE WHEN a_boolean THEN a_{T} ELSE b_{T} END",
    "CASE a_{T} WHEN b_{T} THEN 1 WHEN c_{T} THEN 2 ELSE 3 END", "a_{T} IN (b_{T}, c_{T})",
]


# Whole queries: keys, lists and arguments of types that are not stored as they are compared.
QUERIES = [
    "SELECT a_character, count(*) FROM {TAB} GROUP BY 1",
    "SELECT count(DISTINCT a_character), count(a_character) FROM {TAB}",
    "SELECT DISTINCT a_character FROM {TAB}",
    "SELECT count(*) FROM {TAB} WHERE a_character LIKE 'a%'",
    "SELECT count(*) FROM {TAB} WHERE a_character LIKE 'a    '",
    "SELECT octet_length(a_character), count(*) FROM {TAB} GROUP BY 1",
    "SELECT md5(a_character::text), count(*) FROM {TAB} GROUP BY 1",
    "SELECT a_character || 'x', count(*) FROM {TAB} GROUP BY 1",
    "SELECT concat(a_character, '|'), count(*) FROM {TAB} GROUP BY 1",
    "SELECT format('%s|', a_character), count(*) FROM {TAB} GROUP BY 1",
    "SELECT upper(a_character), count(*) FROM {TAB} GROUP BY 1",
    "SELECT min(a_character), max(a_character) FROM {TAB}",
    "SELECT count(*) FROM {TAB} WHERE a_character = 'a'",
    "SELECT count(*) FROM {TAB} WHERE a_character = 'a  ' OR a_character IN ('ab', 'B  ')",
    "SELECT count(*) FROM {TAB} WHERE a_character = ANY ('{a,\"ab   \"}'::bpchar[])",
    "SELECT CASE WHEN a_boolean THEN a_character ELSE 'zz' END, count(*) FROM {TAB} GROUP"
    " BY 1",
    "SELECT a_character::bpchar, count(*) FROM {TAB} GROUP BY 1",
    "SELECT a_character FROM {TAB} ORDER BY a_character, id LIMIT 30",
    "SELECT a_color, count(*) FROM {TAB} GROUP BY 1",
    "SELECT a_color FROM {TAB} ORDER BY a_color, id LIMIT 30",
    "SELECT min(a_color), max(a_color), count(DISTINCT a_color) FROM {TAB}",
    "SELECT count(*) FROM {TAB} WHERE a_color < 'blue'",
    "SELECT count(*) FROM {TAB} WHERE a_color IN ('red', 'blue')",
    "SELECT a_color::text, count(*) FROM {TAB} GROUP BY 1",
    "SELECT a_uuid, a_interval, a_time, count(*) FROM {TAB} GROUP BY 1,2,3",
    "SELECT count(*) FROM {TAB} WHERE a_time BETWEEN '01:00' AND '12:00:00' AND a_uuid > "
    "'00000000-0000-0000-0000-000000000001'",
    "SELECT count(*) FROM {TAB} WHERE a_interval > interval '29 days'",
    "SELECT count(*) FROM {TAB} WHERE a_time = ANY (ARRAY['12:00','01:00']::time[]) AND "
    "a_uuid <> ALL ('{00000000-0000-0000-0000-000000000001}'::uuid[])",
    "SELECT string_agg(a_character, ',' ORDER BY id) FROM {TAB}",
    "SELECT array_agg(a_character ORDER BY id) FROM {TAB}",
]

# Lines for some servers only.
OTHER_VERSIONS = {"TS_DIFF": range(17, 99), "TS_DIFF_WRAP": range(14, 17)}
for _line in ("TEXT_TO_INT2", "TEXT_TO_INT4", "TEXT_TO_INT8"):
    OTHER_VERSIONS[_line], OTHER_VERSIONS[_line + "_RADIX"] = range(14, 16), range(16, 99)

TYPE_OF = {"INT2": "smallint", "INT4": "integer", "INT8": "bigint", "FLOAT4": "real",
           "FLOAT8": "double precision", "NUMERIC": "numeric", "TEXT": "text", "UUID": "uuid",
           "BOOL": "boolean"}


def column(place, name):
    return "%s_%s" % (place, {"timestamp with time zone": "timestamptz"}.get(name, name.split()[0]))


def literal(text, name):
    return "'%s'::%s" % (text.replace("'", "''"), name)
