#!/usr/bin/env python3
"""Writes the Parquet files that the tests read: testdata.py DIR. Deterministic.

  types.parquet    every column type once optional, with its edge values; 12 rows, key `id`
  kinds/v<1|2>.parquet   columns of all other types, required and optional
  kinds/text<0|1>.parquet   bytes of which most are no text, without and with a dictionary;
                   kinds/dirty: the same in a MergeTree table ordered by them
  checksums/good.parquet, checksums/bad.parquet   pages with checksums; one of the latter is wrong
  events.parquet   20000 rows, 4 row groups of 10 pages, ordered by id and ts; page index
  visits/   the rows of events as a MergeTree table of three parts, of which one has deleted rows
                   and lacks the table's skip indexes;
                   visits.sql is its definition, visits_later.sql one of later
  final/    a MergeTree table whose rows replace others; final_<engine>.sql: its definitions
  clickhouse/   types that only MergeTree has; clickhouse.sql is its definition
  states/   states of aggregate functions, two for each key; states.sql is its definition
  damaged/   three parts that are not what their checksums say
  dictionaries.parquet   6000 rows whose footer says that all pages use dictionaries
  skips.parquet  8000 rows, 4 row groups of 20 pages: Bloom filters, dictionaries, page indexes
  groups/<pages|one|plain>.parquet  200000 rows in one row group
  large/<codec>.parquet, large/pages.parquet   30000 rows in one row group, for little memory
  customers.parquet  500 rows, the other side of joins on events.customer
  instants.parquet   every half hour of 2024, and the weeks in which clocks are changed of other
                     years: for time zones
  decimals.parquet   decimals of three sizes, times, integers and doubles to aggregate; 4000 rows
  matrix/<codec>_v<1|2>_<dict|plain>.parquet   the same 3000 rows in every layout
  parts/part-<0..2>.parquet       one table in three files with disjoint id ranges
  hive/year=<y>/month=<m>/data.parquet   a Hive tree, two keys, one of them NULL
  empty.parquet    no row group at all;   nulls.parquet   columns with nothing but NULL
  variant/plain.parquet, variant/shredded.parquet   the same VARIANTs, encoded and shredded
  variant/bad.parquet   VARIANTs that contradict themselves, one a row
  nested/v<1|2>.parquet   lists, maps and groups of several layouts; pages end inside of rows
  tables of many files: see manyfiles.py;   cases/: see cases.py
  twin.sql         the same tables as heap tables (CREATE TABLE, COPY), not through any reader
"""

import datetime
import decimal
import os
import random
import shutil
import struct
import sys

from cases import cases
from make_mergetree import Skip, Typed, varuint, write_definition, write_part
from make_parquet import (CODECS, Column, Field, Group, Layout, list_of_field, map_of_fields,
                          variant_field, write)
from manyfiles import many_files
from twin import twin_sql
from variant import encode, metadata, names

DAY = 86400 * 1000000
NAN, INF = float("nan"), float("inf")


def types(folder):
    columns = [Column("id", "int32", True)] + [Column("c_" + t, t) for t in (
        "bool", "int16", "int32", "int64", "float", "double", "string", "binary", "date",
        "timestamp", "timestamptz")]
    low = -2**63
    rows = [
        (1, True, 1, 1, 1, 1.5, 1.5, "one", b"\x01", 1, 1, 1),
        (2, False, 0, 0, 0, 0.0, 0.0, "", b"", 0, 0, 0),
        (3, None, None, None, None, None, None, None, None, None, None, None),
        (4, True, -1, -1, -1, -1.25, -1.25, "minus", b"\xff", -1, -1, -1),
        (5, False, 32767, 2**31 - 1, 2**63 - 1, 3.4028234663852886e38, 1.7976931348623157e308,
         "\u00e4\u00f6\u00fc \u20ac \U0001f600", b"\x00\x01\x02", 20000, 20000 * DAY, 20000 * DAY),
        (6, True, -32768, -2**31, low, -3.4028234663852886e38, -1.7976931348623157e308,
         "a\tb\nc\\d'e\"f", b"\\x00", -25567, -25567 * DAY, -25567 * DAY),
        (7, None, 7, 7, 7, NAN, NAN, "NaN", None, 11016, 11016 * DAY + 1, 11016 * DAY + 1),
        (8, True, None, 8, 8, INF, INF, "Infinity", b"8", None, None, 8),
        (9, False, 9, None, 9, -INF, -INF, "-Infinity", b"9", 9, 9, None),
        (10, True, 10, 10, None, -0.0, -0.0, "zero", b"10", 10, 10, 10),
        (11, True, 11, 11, 11, 1.401298464324817e-45, 5e-324, "x" * 300, b"x" * 300, 11, 11, 11),
        (12, False, 12, 12, 12, 0.1, 0.1, "0.1", b"12", 12, 951782400000000, 951782400000000),
    ]
    write(os.path.join(folder, "types.parquet"), columns, rows, Layout(row_group_rows=8))
    return twin_sql("types", columns, rows)


HOUR = 3600 * 1000000
KIND_ROWS = {   # a value, the smallest, the largest, another
    "int8": (1, -128, 127, -1), "uint8": (1, 0, 255, 2), "uint16": (1, 0, 65535, 2),
    "uint32": (1, 0, 2**32 - 1, 2**31), "uint64": (1, 0, 2**64 - 1, 2**63),
    "time_ms": (1, 0, 86400000, 3723004), "time_us": (1, 0, 24 * HOUR, 3723004005),
    "time_ns": (1000, 0, 24 * HOUR * 1000, 3723004005999),
    "timestamp_ms": (1, -62135596800000, 253402300799999, -1),
    "timestamp_ns": (1, -2**63, 2**63 - 1, -1), "int96": (0, -62135596800000000, 10**17, -1),
    "dec9": (1, -999999999, 999999999, 150), "dec18": (1, -10**18 + 1, 10**18 - 1, 1500000),
    "dec38": (1, -10**38 + 1, 10**38 - 1, 15 * 10**9), "decv": (1, -10**20 + 1, 10**20 - 1, -128),
    "dec50": (1, -10**37, 10**37, 150000),
    "uuid": (bytes(range(16)), bytes(16), b"\xff" * 16, b"0123456789abcdef"),
    "fixed5": (b"12345", bytes(5), b"\xff" * 5, b"abcde"),
    "float16": (1.5, -65504.0, 65504.0, 5.960464477539063e-08),
    "interval": ((1, 2, 3), (0, 0, 0), (2**31 - 1, 2**31 - 1, 2**32 - 1), (14, 0, 0)),
    "json": ('{"b": 1, "a": [1.50]}', "null", '"text"', "[]"),
    "bson": (b"\x05\0\0\0\0", b"", b"b", b"c"),
    "enum": ("one", "a", "z", "two"), "geometry": (b"\x01\x01", b"", b"\xff", b"g"),
    "unknown": (None, None, None, None)}


def kinds(folder):
    os.makedirs(os.path.join(folder, "kinds"), exist_ok=True)
    columns = [Column("id", "int32", True)] + [Column("c_" + k, k) for k in KIND_ROWS] + [
        Column("r_" + k, k, True) for k in KIND_ROWS if k != "unknown"]
    rows = []
    for n in range(60):
        values = [v[n % 5] if n % 5 < 4 else None for v in KIND_ROWS.values()]
        required = [v[n % 4] for k, v in KIND_ROWS.items() if k != "unknown"]
        rows.append((n, *values, *required))
    for version in (1, 2):
        write(os.path.join(folder, "kinds", "v%d.parquet" % version), columns, rows, Layout(
            codec="gzip" if version == 2 else "none", page_version=version,
            dictionary=version == 1, row_group_rows=40, page_rows=13))
    dirty = [b"good", b"a\0b", b"\xff\xfe", b"\xe2\x82", "\u00e4".encode(), None, b"", b"tail\xc3"]
    for dictionary in (False, True):
        write(os.path.join(folder, "kinds", "text%d.parquet" % dictionary),
              [Column("id", "int32", True), Column("t", "binary"), list_of_field(
                  "l", Field("element", "binary"))],
              [(n, dirty[n % 8], [dirty[n % 8], dirty[(n + 1) % 8]]) for n in range(24)],
              Layout(dictionary=dictionary, row_group_rows=16))
    table = os.path.join(folder, "kinds", "dirty")
    shutil.rmtree(table, ignore_errors=True)
    rows = sorted((dirty[n % 8] or b"", n, (dirty[n * 3 % 8] or b"xyz")[:4]) for n in range(24))
    write_part(os.path.join(table, "all_1_1_0"),
               [Column("t", "binary", True), Column("id", "int32", True), Typed("f", "fixed")],
               rows, ("t",), 4, False, sums=True)
    return ""


def checksums(folder):
    os.makedirs(os.path.join(folder, "checksums"), exist_ok=True)
    columns = [Column("a", "int64", True), Column("b", "int64")]
    rows = [(n, n * 7) for n in range(300)]
    good = os.path.join(folder, "checksums", "good.parquet")
    write(good, columns, rows, Layout(crc=True, dictionary=False, page_rows=50, statistics=False))
    with open(good, "rb") as f:
        data = f.read()
    value = struct.pack("<q", 1799)
    assert data.count(value) == 1
    with open(os.path.join(folder, "checksums", "bad.parquet"), "wb") as f:
        f.write(data.replace(value, struct.pack("<q", -1799)))
    return ""


EVENT_COLUMNS = [
    Column("id", "int64", True), Column("ts", "timestamptz", True), Column("day", "date", True),
    Column("customer", "int32"), Column("kind", "string", True), Column("url", "string"),
    Column("quantity", "int16"), Column("amount", "double"), Column("paid", "bool")]


def event(rng, number):
    # Amounts are multiples of 1/4, so their sums do not depend on the order of additions.
    ts = 19723 * DAY + number * 300 * 1000000 + rng.randrange(300000000)
    kinds = ("view", "view", "view", "click", "click", "buy", "return")
    return (number, ts, ts // DAY,
            None if rng.random() < 0.02 else rng.randrange(1, 521),
            rng.choice(kinds),
            None if rng.random() < 0.05 else "/%s/%d" % (
                rng.choice(("shop", "blog", "help", "search")), rng.randrange(200)),
            None if rng.random() < 0.1 else rng.randrange(1, 20),
            None if rng.random() < 0.1 else rng.randrange(-400, 40000) / 4,
            None if rng.random() < 0.3 else rng.random() < 0.8)


def events(folder):
    rng = random.Random(7)
    rows = [event(rng, n) for n in range(1, 20001)]
    write(os.path.join(folder, "events.parquet"), EVENT_COLUMNS, rows,
          Layout(codec="gzip", row_group_rows=5000, page_rows=500, page_index=True))
    os.makedirs(os.path.join(folder, "parts"), exist_ok=True)
    for part in range(3):
        write(os.path.join(folder, "parts", "part-%d.parquet" % part), EVENT_COLUMNS,
              rows[part * 1000:part * 1000 + 1000], Layout(codec="snappy", row_group_rows=600))
    for year, month, first in ((2023, "1", 0), (2023, "2", 300), (2024, "1", 600),
                               (2024, "__HIVE_DEFAULT_PARTITION__", 900)):
        path = os.path.join(folder, "hive", "year=%d" % year, "month=%s" % month)
        os.makedirs(path, exist_ok=True)
        write(os.path.join(path, "data.parquet"), EVENT_COLUMNS, rows[first:first + 300])
    return twin_sql("events", EVENT_COLUMNS, rows) + twin_sql("parts", EVENT_COLUMNS, rows[:3000])


class Hidden:
    """A column of ClickHouse's own."""
    name, type, required = "_row_exists", "uint8", True


def damaged(table, rows, key):
    """Parts that are not what their checksums say: a byte, a file too few, a file too short."""
    for number in (1, 2, 3):
        part = os.path.join(table, "all_%d_%d_0" % (number, number))
        shutil.rmtree(part, ignore_errors=True)
        write_part(part, EVENT_COLUMNS, rows, key, 256, False, sums=True)
        name = os.path.join(part, "amount.bin")
        if number == 1:
            with open(name, "r+b") as f:
                f.seek(3000)
                byte = f.read(1)
                f.seek(3000)
                f.write(bytes([byte[0] ^ 1]))
        elif number == 2:
            os.remove(os.path.join(part, "id.bin"))
            os.truncate(os.path.join(part, "primary.idx"), 7)
        else:
            os.truncate(name, 100)


# The definition of visits after some ALTER TABLE that its parts have not seen.
LATER = {
    "customer": "Nullable(String)", "quantity": "Nullable(Int8)",
    "later_day": "Date DEFAULT toDate(ts)", "later_month": "UInt32 DEFAULT toYYYYMM(later_day)",
    "double_id": "UInt64 MATERIALIZED id * 2", "next_id": "Int64 ALIAS id + 1",
    "name": "String DEFAULT concat(upper(kind), '-', toString(id))",
    "size": "LowCardinality(String) "
            "DEFAULT multiIf(amount > 400, 'large', amount > 100, 'middle', 'small')",
    "place": "Nullable(String) DEFAULT concat(url, '#', name)",
    "stock": "Int32 DEFAULT coalesce(quantity, -1) * 2", "wraps": "Int64 DEFAULT toInt8(id)",
    "ids": "Array(UInt16) DEFAULT range(toUInt8(id % 4))",
    "tens": "Array(String) DEFAULT arrayMap(x -> concat(kind, toString((x * 10) + id)), ids)",
    "rest": "Int16 DEFAULT (id % 7) - 3", "half": "Float64 DEFAULT id / 2",
    "price": "Decimal(10, 2) DEFAULT 0.29", "since": "DateTime('UTC') DEFAULT ts",
    "state": "Enum8('open' = 1, 'paid' = 2) DEFAULT if(paid, 'paid', 'open')",
    "either": "Bool DEFAULT (NOT (id = 5)) AND ((kind = 'buy') OR (url IS NULL))",
    "unknown": "UInt64 DEFAULT rand64(id)", "circle": "Int32 DEFAULT square + 1",
    "square": "Int32 DEFAULT circle + 1", "zero": "Int64 DEFAULT intDiv(id, id - 15)",
    "local": "String DEFAULT toString(toDateTime(later_month))", "input": "String EPHEMERAL",
    "of_input": "String DEFAULT lower(input)", "bad": "UInt8 DEFAULT kind",
    "strange": "UInt8 DEFAULT (id, 1).1"}


def visits(folder):
    rng = random.Random(12)
    rows = [event(rng, n) for n in range(1, 20001)]
    key = ("day", "id")
    skips = [Skip("by_ts", "ts", "minmax", 2), Skip("by_amount", "amount", "minmax", 1),
             Skip("customers", "customer", "bloom_filter", 1), Skip("urls", "url", "set(0)", 1),
             Skip("few_kinds", "kind", "set(2)", 3),
             Skip("words", "url", "tokenbf_v1(64, 2, 5)", 1),
             Skip("letters", "url", "ngrambf_v1(3, 128, 2, 0)", 2)]
    table = os.path.join(folder, "visits")
    shutil.rmtree(table, ignore_errors=True)
    os.makedirs(table)
    with open(os.path.join(table, "format_version.txt"), "w", encoding="utf-8") as f:
        f.write("1")
    write_part(os.path.join(table, "all_1_1_0"), EVENT_COLUMNS, rows[:9000], key, 512, False,
               sums=True, skips=skips)
    write_part(os.path.join(table, "all_2_2_0"), EVENT_COLUMNS, rows[9000:15000], key, 300, True,
               sums=True, skips=skips)
    write_part(os.path.join(table, "all_3_3_0_4"), EVENT_COLUMNS + [Hidden],
               [r + (r[0] % 7 != 0,) for r in rows[15000:]], key, 1000, False, sums=True)
    # What a merge would have left over.
    write_part(os.path.join(table, "all_3_3_0"), EVENT_COLUMNS, rows[15000:], key, 1000, True)
    write_definition(os.path.join(folder, "visits.sql"), EVENT_COLUMNS, key, skips)
    write_definition(os.path.join(folder, "visits_later.sql"), EVENT_COLUMNS, key, skips, LATER)
    damaged(os.path.join(folder, "damaged"), rows[:600], key)
    return twin_sql("visits", EVENT_COLUMNS,
                    rows[:15000] + [r for r in rows[15000:] if r[0] % 7 != 0])


FINAL_COLUMNS = [Column("k", "int32", True), Column("name", "string", True),
                 Column("ver", "int64", True), Column("gone", "uint8", True),
                 Column("sign", "int8", True), Column("amount", "int64", True),
                 Column("small", "int16"), Column("price", "double", True), Column("day", "date"),
                 Column("note", "string")]

FINAL_ENGINES = {
    "replacing": "ReplacingMergeTree", "versions": "ReplacingMergeTree(ver)",
    "marks": "ReplicatedReplacingMergeTree('/tables/t', '{replica}', ver, gone)",
    "collapsing": "CollapsingMergeTree(sign)",
    "cancelling": "VersionedCollapsingMergeTree(sign, ver)",
    "summing": "SummingMergeTree((amount, small))", "aggregating": "AggregatingMergeTree",
    "coalescing": "CoalescingMergeTree", "plain": "MergeTree"}

FINAL_TYPES = {
    "ver": "SimpleAggregateFunction(max, Int64)", "amount": "SimpleAggregateFunction(sum, Int64)",
    "small": "SimpleAggregateFunction(min, Nullable(Int16))",
    "note": "SimpleAggregateFunction(anyLast, Nullable(String))"}


def finals(folder):
    """A table `final` whose parts have rows of the same keys, and a definition for each engine:
    final_<engine>.sql.  Part 10 comes behind part 9 in time, not by name; the last two parts do not
    overlap the others."""
    rng = random.Random(14)
    table = os.path.join(folder, "final")
    shutil.rmtree(table, ignore_errors=True)
    os.makedirs(table)
    with open(os.path.join(table, "format_version.txt"), "w", encoding="utf-8") as f:
        f.write("1")
    n = 0
    for number, count, low, high in ((1, 3000, 0, 800), (2, 5000, 0, 900), (9, 700, 100, 300),
                                     (10, 2500, 0, 40), (11, 4000, 2000, 9000),
                                     (12, 3000, 10000, 90000)):
        rows = []
        for _ in range(count):
            n += 1
            rows.append((rng.randrange(low, high), "n%d" % rng.randrange(3), rng.randrange(6),
                         rng.randrange(4) == 0, 1 if rng.randrange(2) else -1,
                         rng.randrange(-2, 3), None if rng.randrange(3) == 0 else
                         rng.randrange(-20000, 20000), rng.randrange(8) / 4,
                         None if rng.randrange(2) else rng.randrange(1000),
                         None if rng.randrange(2) else "note %d" % n))
        rows.sort(key=lambda r: r[:3])
        write_part(os.path.join(table, "all_%d_%d_0" % (number, number)), FINAL_COLUMNS, rows,
                   ("k", "name"), 128 if number % 2 else 512, number % 3 == 0, sums=True)
    for name, engine in FINAL_ENGINES.items():
        write_definition(os.path.join(folder, "final_%s.sql" % name), FINAL_COLUMNS, ("k", "name"),
                         engine=engine, later=FINAL_TYPES if name == "aggregating" else None)
    return ""


def clickhouse(folder):
    """Types that only MergeTree has; test/pgtap/acceptance_mergetree.sql holds the same rows."""
    names = ("id int64", "at datetime", "tick datetime64", "state enum", "point tuple",
             "i128 int128", "i256 int256", "u256 uint256", "d256 decimal")
    columns = [Typed(*n.split()) for n in names] + [Typed("n256", "int256", False)]
    rows = []
    for n in range(60):
        sign, power = 1 - n % 3, 10 ** (n % 12 * 7 % 77)
        rows.append((n, 1679792400 + n * 1800, 1700000000123 + n * 86400001, (1, -2)[n % 2],
                     None if n % 4 == 0 else n - 30, sign * 10 ** (n % 38), sign * power - n,
                     2 ** 256 - 1 - n, sign * power // 10 + n, None if n % 5 == 0 else -power))
    table = os.path.join(folder, "clickhouse")
    shutil.rmtree(table, ignore_errors=True)
    write_part(os.path.join(table, "all_1_1_0"), columns, rows[:37], ("id",), 8, False, sums=True)
    write_part(os.path.join(table, "all_2_2_0"), columns, rows[37:], ("id",), 5, True, sums=True)
    write_definition(os.path.join(folder, "clickhouse.sql"), columns, ("id",))
    return ""


def states(folder):
    """States of aggregate functions: of the numbers from 1 to id in the first part, of -id in the
    second one."""
    columns = [Column("id", "int64", True)] + [
        Typed(name, name) for name in ("total", "mean", "top", "names", "sketch")]
    table = os.path.join(folder, "states")
    shutil.rmtree(table, ignore_errors=True)
    for number in (1, 2):
        rows = []
        for n in range(12):
            values = range(1, n + 1) if number == 1 else (-n,)
            texts = ["v%d" % v for v in values]
            top = max(texts).encode() + b"\0" if texts and n % 4 else None
            names = b"".join(varuint(len(t)) + t.encode() for t in texts)
            rows.append((n, struct.pack("<q", sum(values)),
                         struct.pack("<q", sum(values)) + varuint(len(values)),
                         b"\0" if top is None else b"\1" + struct.pack("<i", len(top)) + top,
                         varuint(len(texts)) + names, b"\0"))
        write_part(os.path.join(table, "all_%d_%d_0" % (number, number)), columns, rows, ("id",), 5,
                   number == 2, sums=True)
    write_definition(os.path.join(folder, "states.sql"), columns, ("id",),
                     engine="AggregatingMergeTree")
    return ""


def dictionaries(folder):
    """Columns with few different values, whose dictionaries the footer tells of."""
    rng = random.Random(11)
    write(os.path.join(folder, "dictionaries.parquet"),
          [Column("few", "string", True), Column("many", "string"), Column("runs", "string", True),
           Column("number", "double", True)],
          [(rng.choice(("red", "green", "blue", "yellow")),
            None if n % 20 == 0 else "/item/%d" % rng.randrange(600),
            "batch number %d" % (n // 100), rng.randrange(50) / 4) for n in range(6000)],
          Layout(row_group_rows=3000, page_rows=1000, encoding_stats=True))
    return ""


def skips(folder):
    """Row groups and pages that Bloom filters, dictionaries and page indexes rule out: `k` has
    every third value of the range of each row group, `w` words of which each row group lacks most,
    `n` and `s` are ordered, with nulls together."""
    rng = random.Random(12)
    columns = [Column("id", "int64", True), Column("k", "int32"), Column("big", "int64", True),
               Column("u", "string"), Column("w", "string"), Column("x", "double"),
               Column("d", "dec9"), Column("n", "int32"), Column("s", "string"),
               Column("ts", "timestamp", True)]
    rows = []
    for n in range(8000):
        k = 3 * rng.randrange(40000) + n // 2000 % 3
        rows.append((n, None if n % 50 == 0 else k, rng.randrange(2**40) * 4 + n // 2000,
                     "user-%08d-%d" % (k, n // 2000), None if n % 9 == 0 else
                     "word %d" % (rng.randrange(30) * 4 + n // 2000),
                     (0.0, -0.0, NAN, 1.5)[n % 4] if n < 4000 else rng.randrange(900) / 8 + 2,
                     3 * rng.randrange(9000) + n // 2000 % 3,
                     None if n % 2000 >= 1500 else n, None if n % 2000 < 300 else "s%05d" % n,
                     19000 * DAY + n * 60000000))
    write(os.path.join(folder, "skips.parquet"), columns, rows,
          Layout(codec="snappy", row_group_rows=2000, page_rows=100, page_index=True, bloom=True,
                 encoding_stats=True))
    return ""


def groups(folder):
    """One row group that is large enough for several threads: in pages, and in one page a column;
    uncompressed, too."""
    rng = random.Random(13)
    columns = [Column("id", "int64", True), Column("w", "string"), Column("u", "string", True),
               Column("x", "int32")]
    os.makedirs(os.path.join(folder, "groups"), exist_ok=True)
    rows = [(n, None if n % 11 == 0 else "word %d" % rng.randrange(3000), "user-%08d" % n,
             None if rng.random() < 0.1 else rng.randrange(10**6)) for n in range(200000)]
    for name, codec, page_rows in (("pages", "snappy", 15000), ("one", "snappy", 200000),
                                   ("plain", "none", 200000)):
        write(os.path.join(folder, "groups", name + ".parquet"), columns, rows,
              Layout(codec=codec, row_group_rows=200000, page_rows=page_rows,
                     page_version=2 if name == "pages" else 1, page_index=name == "pages"))
    return ""


def large(folder):
    """Pages that are decompressed in pieces: 30000 rows in one page a column, with checksums."""
    rng = random.Random(14)
    columns = [Column("id", "int64", True), Column("u", "string", True), Column("w", "string"),
               Column("x", "int32"), Column("d", "decv")]
    os.makedirs(os.path.join(folder, "large"), exist_ok=True)
    rows = [(n, "%d-%s" % (n, "".join(rng.choices("abcdef ", k=rng.randrange(200)))),
             None if n % 7 < 2 else "word %d" % rng.randrange(3000),
             None if n % 3000 > 2500 else rng.randrange(-30000, 30000) if n != 21000 else 2**31 - 1,
             None if n % 5 == 0 else rng.randrange(10**12)) for n in range(30000)]
    for codec in ("none", "snappy", "zstd", "gzip"):
        version = 2 if codec in ("none", "gzip") else 1
        write(os.path.join(folder, "large", codec + ".parquet"), columns, rows,
              Layout(codec=codec, dictionary=False, row_group_rows=30000, page_rows=30000,
                     page_version=version, crc=True))
    write(os.path.join(folder, "large", "pages.parquet"), columns, rows,
          Layout(codec="snappy", dictionary=False, row_group_rows=30000, page_rows=3000,
                 page_version=2, crc=True))
    write(os.path.join(folder, "large", "words.parquet"), columns, rows[:12000],
          Layout(codec="snappy", row_group_rows=30000, page_rows=5000))
    return ""


def customers(folder):
    rng = random.Random(8)
    names = ("Ada", "Bo", "Cleo", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo")
    columns = [Column("id", "int32", True), Column("name", "string", True),
               Column("country", "string"), Column("since", "date")]
    rows = [(n, "%s %d" % (rng.choice(names), n),
             rng.choice(("de", "fr", "pl", "se", None)), rng.randrange(15000, 19700))
            for n in range(1, 501)]
    write(os.path.join(folder, "customers.parquet"), columns, rows, Layout(codec="zstd"))
    return twin_sql("customers", columns, rows)


def instants(folder):
    day = lambda year, month, d: (datetime.date(year, month, d) - datetime.date(1970, 1, 1)).days
    spans = [(day(2024, 1, 1), day(2025, 1, 1), 48)]
    for year in (1900, 1947, 1977, 2007, 2016, 2037, 2087, 2437, 2499, 2500, 3000, 9998):
        spans += [(day(year, 3, 1), day(year, 4, 20), 24),
                  (day(year, 9, 15), day(year, 11, 20), 24)]
    times = [begin * DAY + n * (DAY // steps)
             for begin, end, steps in spans for n in range((end - begin) * steps)]
    columns = [Column("id", "int32", True), Column("tz", "timestamptz", True),
               Column("ts", "timestamp", True), Column("d", "date", True)]
    rows = [(n, t, t, t // DAY) for n, t in enumerate(times)]
    write(os.path.join(folder, "instants.parquet"), columns, rows,
          Layout(codec="zstd", row_group_rows=20000))
    return twin_sql("instants", columns, rows)


def decimals(folder):
    rng = random.Random(10)
    columns = [Column("id", "int32", True), Column("g", "int16"), Column("few", "decimal(5,2)"),
               Column("m", "decimal(12,2)"), Column("w", "decimal(38,10)"),
               Column("z", "decimal(38,0)"), Column("t", "time"), Column("i2", "int16"),
               Column("i4", "int32"), Column("i8", "int64"), Column("x", "double"),
               Column("y", "double"), Column("f", "float"), Column("b", "bool")]
    nines = decimal.Decimal("9" * 28 + "." + "9" * 10)
    wide = (nines, nines.copy_negate(), decimal.Decimal("0E-10"), decimal.Decimal("1E-10"),
            decimal.Decimal("-123456789012345678.0123456789"))
    huge = tuple(decimal.Decimal(n) for n in ("9" * 38, "-" + "9" * 38, "1" + "0" * 37, "7", "0"))

    def some(edge, usual):
        part = rng.random()
        return None if part < 0.1 else rng.choice(edge) if part < 0.2 else usual()

    def cents(most):
        return decimal.Decimal(rng.randrange(-most, most)) / 100

    rows = [(n, rng.choice((None, 0, 0, 1, 2, 3, 4, 5)), some((cents(1),), lambda: cents(900)),
             some((decimal.Decimal("9999999999.99"),), lambda: cents(10**7)),
             some(wide, lambda: rng.choice((1, -1)) * decimal.Decimal(
                 "%d.%010d" % (rng.randrange(10**6), rng.randrange(10**10)))),
             some(huge, lambda: decimal.Decimal(rng.randrange(-10**20, 10**20))),
             some((0, DAY - 1), lambda: rng.randrange(DAY)),
             some((-2**15, 2**15 - 1), lambda: rng.randrange(-100, 100)),
             some((-2**31, 2**31 - 1), lambda: rng.randrange(-10**6, 10**6)),
             some((-2**63, 2**63 - 1), lambda: rng.randrange(-10**12, 10**12)),
             some((NAN, INF, -INF, 0.0), lambda: rng.uniform(-10, 10)),
             some((1.0, -0.0), lambda: rng.uniform(-1e6, 1e6)),
             some((0.5,), lambda: float(rng.randrange(-10**4, 10**4))),
             some((True,), lambda: rng.random() < 0.9)) for n in range(4000)]
    write(os.path.join(folder, "decimals.parquet"), columns, rows,
          Layout(codec="snappy", row_group_rows=900))
    return twin_sql("decimals", columns, rows)


def matrix(folder):
    os.makedirs(os.path.join(folder, "matrix"), exist_ok=True)
    rng = random.Random(9)
    rows = [event(rng, n) for n in range(1, 3001)]
    for codec in CODECS:
        for version in (1, 2):
            for dictionary in (True, False):
                name = "%s_v%d_%s.parquet" % (codec, version, "dict" if dictionary else "plain")
                write(os.path.join(folder, "matrix", name), EVENT_COLUMNS, rows, Layout(
                    codec=codec, page_version=version, dictionary=dictionary,
                    row_group_rows=1700, page_rows=400))
    return ""


def odd(folder):
    few = [Column("a", "int32", True), Column("b", "string")]
    write(os.path.join(folder, "empty.parquet"), few, [])
    columns = [Column("a", "int32"), Column("b", "string"), Column("c", "double")]
    rows = [(None, None, None)] * 100
    write(os.path.join(folder, "nulls.parquet"), columns, rows)
    return twin_sql("empty", few, []) + twin_sql("nulls", columns, rows)


def nested_row(n):
    maybe = n % 7
    numbers = None if maybe == 1 else [None if (n + k) % 5 == 0 else n * 10 + k
                                       for k in range(n % 4)]
    words = None if maybe == 2 else ["w%d" % (k % 3) if k % 4 else None for k in range(n % 6)]
    lists = None if maybe == 3 else [None if k == 2 else list(range(k)) for k in range(n % 4)]
    point = None if maybe == 4 else (n, None if n % 2 else n / 4, (n % 3 == 0, "s\"%d\\" % n))
    pairs = None if maybe == 5 else [("k%d" % k, None if k == 1 else n + k) for k in range(n % 3)]
    items = None if maybe == 6 else [(k, ["t%d" % t for t in range(k)]) for k in range(n % 4)]
    return (n, numbers, words, lists, point, pairs, items, list(range(n % 3)), [n] * (n % 2),
            None if n % 5 == 0 else [n % 5])


def nested(folder):
    os.makedirs(os.path.join(folder, "nested"), exist_ok=True)
    columns = [
        Column("id", "int32", True),
        list_of_field("numbers", Field("element", "int64")),
        list_of_field("words", Field("element", "string")),
        list_of_field("lists", list_of_field("element", Field("element", "int32", 0))),
        Group("point", [Field("x", "int32", 0), Field("y", "double"),
                        Group("in", [Field("flag", "bool"), Field("text", "string")])]),
        map_of_fields("pairs", Field("key", "string", 0), Field("value", "int32")),
        list_of_field("items", Group("element", [
            Field("n", "int32"), list_of_field("tags", Field("element", "string", 0), 0)])),
        Field("bare", "int32", 2),
        # Two levels, as old writers have it.
        Group("old", [Field("array", "int32", 2)], 0, 3, bare=True),
        list_of_field("days", Field("element", "date", 0))]
    rows = [nested_row(n) for n in range(1, 301)]
    for version in (1, 2):
        write(os.path.join(folder, "nested", "v%d.parquet" % version), columns, rows,
              Layout(codec="snappy" if version == 2 else "none", page_version=version,
                     dictionary=version == 2, row_group_rows=180, page_rows=37))
    return ""


def level(typed, name="element", repetition=0):
    """A pair of value and typed_value."""
    return Group(name, [Field("value", "binary"), typed], repetition)


# What variant/shredded.parquet shreds: {a: int, s: text, list: [int]}.
SHREDDED = Group("typed_value", [
    level(Field("typed_value", "int64"), "a"), level(Field("typed_value", "string"), "s"),
    level(list_of_field("typed_value", level(Field("typed_value", "int64"))), "list")])


def shredded(value, kind, words):
    """(value, typed value) of a level: the typed one where it fits."""
    if kind == "list" and isinstance(value, list):
        return None, [shredded(v, int, words) for v in value]
    if kind in (int, str) and type(value) is kind:
        return None, value
    return encode(value, words), None


def variant_row(value):
    """(metadata, value, typed value) of a document."""
    words = sorted(names(value))
    if not isinstance(value, dict):
        return metadata(words), encode(value, words), None
    kinds = (("a", int), ("s", str), ("list", "list"))
    typed = tuple(shredded(value[k], kind, words) if k in value else (None, None)
                  for k, kind in kinds)
    rest = {k: v for k, v in value.items() if k not in ("a", "s", "list")}
    return metadata(words), encode(rest, words) if rest else None, typed


def variants(folder):
    os.makedirs(os.path.join(folder, "variant"), exist_ok=True)
    documents = [
        {"a": 1, "s": "one", "list": [1, 2]}, {"a": "text", "s": 5, "list": []}, {}, None, [],
        [[1], {}], {"a": None, "other": {"deep": [True, None, {"a": 2}]}},
        {"list": [1, "x", None, [2]], "z": 1.5}, "just text",
        12345678901, {"s": "\u00e4\"\n", "list": None}, {"b": b"\x00\xff", "a": -1},
        {"list": {"not": "a list"}}, float("inf"), "long " * 20, False]
    docs = [d for _ in range(20) for d in documents]
    plain, shred = [], []
    for n, doc in enumerate(docs):
        words = sorted(names(doc))
        null = n % 17 == 16
        plain.append((n, None if null else (metadata(words), encode(doc, words))))
        shred.append((n, None if null else variant_row(doc)))
    ident = Column("id", "int32", True)
    write(os.path.join(folder, "variant", "plain.parquet"), [ident, variant_field("v")], plain,
          Layout(row_group_rows=150, page_rows=40))
    write(os.path.join(folder, "variant", "shredded.parquet"),
          [ident, variant_field("v", SHREDDED)], shred,
          Layout(codec="snappy", page_version=2, row_group_rows=150, page_rows=40))
    words = ["a", "b"]
    one = ((None, 1), (None, None), (None, None))
    bad = [(0, (metadata(words), encode({"b": 2}, words), one)),
           (1, (metadata(words), encode({"a": 2}, words), one)),
           (2, (metadata(words), encode(3, words), one)),
           (3, (metadata(words), None, ((encode(1, words), 1),) + one[1:])),
           (4, (metadata(["a"]), encode({"b": 2}, words), one)),
           (5, (metadata(words), b"\xff", None))]
    write(os.path.join(folder, "variant", "bad.parquet"), [ident, variant_field("v", SHREDDED)],
          bad, Layout(row_group_rows=1))
    return ""


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    twin = "".join(make(folder) for make in (
        types, kinds, checksums, events, visits, finals, clickhouse, states, dictionaries, skips,
        groups, large, customers, instants, decimals, matrix, odd, nested, variants, many_files,
        cases))
    with open(os.path.join(folder, "twin.sql"), "w", encoding="utf-8") as f:
        f.write(twin)


if __name__ == "__main__":
    main()
