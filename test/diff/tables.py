"""The rows of the tables, from a seed alone: as Python values for the Parquet writer, as CSV for the heap."""
import datetime as dt
import math
import random
import struct

# name, SQL type. Names are those of the queries.
COLUMNS = [("id", "int8"), ("b", "bool"), ("i2", "int2"), ("i4", "int4"), ("i8", "int8"), ("f4", "float4"),
           ("f8", "float8"), ("s", "text"), ("d", "date"), ("ts", "timestamp"), ("tz", "timestamptz"),
           ("k", "int2"), ("ks", "text"), ("z", "int4"), ("n", "int4"), ("u", "text")]

WORDS = ["", "a", "A", "ab", "abc", "abcd", "b", "ba", "Google", "google.com", "http://www.google.ru/search?q=1",
         "ä", "Äpfel", "straße", "日本語", "日本", "😀 smile", "e\u0301", "100%", "50_50", "back\\slash", "it's",
         '"quoted"', "a,b", "tab\there", "new\nline", " lead", "trail ", "NULL", "\\N", "NaN", "смотреть онлайн",
         "z" * 300, "x" * 20 + "é" * 9, "aaaaaaaaaaaaaaaaaaaaaaaaab",
         # what collations disagree about
         "é", "É", "E", "Z", "o", "Ö", "İstanbul", "istanbul", "ISTANBUL", "ısı", "ISI", "STRASSE", "strasse",
         "co-op", "coop", "Co-Op", "ǆ", "ǅ", "ﬁ", "10", "9", "ΣΑΣ", "σας"]
I2 = [-32768, -32767, -1, 0, 1, 2, 32766, 32767]
I4 = [-2147483648, -2147483647, -65536, -1, 0, 1, 2, 65535, 2147483646, 2147483647]
I8 = [-2**63, -2**63 + 1, -2**31 - 1, -1, 0, 1, 2**31, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
F8 = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.1, 1e-300, -1e300, 1.7976931348623157e308, 5e-324,
      9007199254740993.0, 1e15, 123456789.125]
F4 = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.5, 0.1, 1e-38, 3.4028234663852886e38, 16777216.0, 1e6]
DATES = [dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(1900, 2, 28), dt.date(1969, 12, 31), dt.date(1970, 1, 1),
         dt.date(2000, 2, 29), dt.date(2013, 7, 15), dt.date(2024, 12, 31), dt.date(9999, 12, 31)]
TIMES = [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1),
         dt.datetime(2000, 2, 29, 12, 30), dt.datetime(2013, 7, 15, 10, 47, 34), dt.datetime(2024, 3, 31, 1, 30),
         dt.datetime(2024, 10, 27, 0, 30, 0, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def some(r, special, usual, nulls=0.1):
    """NULL, one of the special values, or a usual one."""
    p = r.random()
    return None if p < nulls else r.choice(special) if p < nulls + 0.2 else usual()


def row(r, i, part):
    day = dt.date(2013, 7, 1) + dt.timedelta(days=r.randrange(60))
    time = dt.datetime(2013, 7, 1) + dt.timedelta(seconds=r.randrange(5_000_000), microseconds=r.choice([0, 0, 123456]))
    tz = some(r, TIMES, lambda: time + dt.timedelta(hours=r.randrange(48)))
    return [i,
            some(r, [True], lambda: r.random() < 0.5),
            some(r, I2, lambda: r.randrange(-100, 100)),
            some(r, I4, lambda: r.randrange(-1000, 1000)),
            some(r, I8, lambda: r.randrange(-10**6, 10**6)),
            some(r, F4, lambda: single(round(r.uniform(-50, 50), 2))),
            some(r, F8, lambda: round(r.uniform(-1000, 1000), 3)),
            some(r, WORDS, lambda: r.choice(WORDS[:12]) + r.choice(WORDS)),
            some(r, DATES, lambda: day),
            some(r, TIMES, lambda: time),
            None if tz is None else tz.replace(tzinfo=dt.timezone.utc),
            # k: few values and NULL; in the second file NULL only
            None if part == 1 else some(r, [0], lambda: r.randrange(1, 5)),
            some(r, [""], lambda: r.choice(["red", "green", "blue", "grün", "Red"]), 0.05),
            r.randrange(-3, 4),
            i // 100,
            f"u{i:05d}"]


def table(seed, name, parts, rows):
    """A list of files, each a list of rows."""
    r = random.Random(f"{seed} {name}")
    out, i = [], 0
    for part in range(parts):
        out.append([row(r, i + j, part) for j in range(rows)])
        i += rows
    return out


def tables(seed):
    """name -> files. t is the large one, r small, e empty, one has a single row."""
    return {"t": table(seed, "t", 3, 800), "r": table(seed, "r", 1, 60), "e": [[]], "one": table(seed, "one", 1, 1)}


def text(v, kind):
    """A value as PostgreSQL reads it."""
    if v is None:
        return None
    if kind == "bool":
        return "t" if v else "f"
    if kind in ("float4", "float8"):
        if math.isnan(v):
            return "NaN"
        return ("-" if v < 0 else "") + "Infinity" if math.isinf(v) else repr(v)
    if kind == "date":
        return f"{v.year:04d}-{v.month:02d}-{v.day:02d}"
    if kind in ("timestamp", "timestamptz"):
        t = f"{v.year:04d}-{v.month:02d}-{v.day:02d} {v.hour:02d}:{v.minute:02d}:{v.second:02d}.{v.microsecond:06d}"
        return t + ("+00" if kind == "timestamptz" else "")
    return str(v)


def write_csv(path, rows):
    """NULL is an empty field, an empty string is quoted: what COPY (FORMAT csv) expects."""
    def field(v, kind):
        t = text(v, kind)
        if t is None:
            return ""
        return '"' + t.replace('"', '""') + '"' if kind == "text" else t
    with open(path, "w", encoding="utf-8", newline="") as f:
        for r in rows:
            f.write(",".join(field(v, kind) for v, (_, kind) in zip(r, COLUMNS)) + "\n")


def columns_sql(collation=None):
    """Column definitions; text columns of the collation."""
    collate = f" COLLATE public.{collation}" if collation else ""
    return ", ".join(f"{n} {k}" + (collate if k == "text" else "") for n, k in COLUMNS)
