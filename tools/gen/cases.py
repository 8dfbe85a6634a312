"""Small files for the acceptance cases (docs/internals/acceptance.md), for testdata.py: values and
statistics that made other readers lose rows. cases/<what>.parquet; test/pgtap/acceptance_*.sql
holds the same rows as VALUES."""

import decimal
import math
import os
import struct
import uuid

from make_parquet import (Column, Field, Group, Layout, i64, binary, list_of_field, map_of_fields,
                          stat_bytes, struct_of, write)

NAN = float("nan")
EXACT = decimal.Context(prec=100)


def of_bytes(low, high, nulls=None):
    """Statistics with these bounds, whatever the values are."""
    return lambda kind, values, count: struct_of({
        3: i64(count if nulls is None else nulls), 5: binary(high), 6: binary(low)})


def naive_floats(kind, values, nulls):
    """As a writer makes them that knows neither NaN nor two zeros."""
    low, high = values[0], values[0]
    for v in values:
        low, high = (v if v < low else low), (v if v > high else high)
    return struct_of({3: i64(nulls), 5: binary(stat_bytes(kind, high)),
                      6: binary(stat_bytes(kind, low))})


def deprecated(kind, values, nulls):
    """min and max, of the time when bytes were compared as signed."""
    words = sorted((v.encode() for v in values),
                   key=lambda w: [b - 256 if b > 127 else b for b in w])
    return struct_of({1: binary(words[-1]), 2: binary(words[0]), 3: i64(nulls)})


def without_null_count(kind, values, nulls):
    if not values:
        return struct_of({})
    return struct_of({5: binary(stat_bytes(kind, max(values))),
                      6: binary(stat_bytes(kind, min(values)))})


def ordered(kind, values, nulls):
    """Bounds by Python's order: of unsigned bytes, and of decimals."""
    return struct_of({3: i64(nulls), 5: binary(stat_bytes(kind, max(values))),
                      6: binary(stat_bytes(kind, min(values)))})


def digits(put):
    """More digits than an integer of the machine has, beside numbers of fewer."""
    def scaled(v, digits):
        return decimal.Decimal(v).scaleb(-digits, EXACT)

    longs = (0, 1, -1, 10**59, -10**59, 10**60 - 1, 1 - 10**60, 10**38, 10**38 - 1, -10**38,
             5 * 10**9, 15 * 10**9, -15 * 10**9, 2**127, -2**127)
    pairs = [(v, w) for v in longs for w in (0, 1, -10**8, 10**8 - 1)]
    rows = [(n, None if n % 7 == 6 else v, None if n % 5 == 4 else scaled(v, 20), w,
             None if n % 3 == 2 else abs(w), w % 10**9, -w,
             None if n == 3 else [scaled(v, 3), scaled(w, 3), None],
             None if n == 4 else (scaled(v, 3),)) for n, (v, w) in enumerate(pairs)]
    most = scaled(10**76 - 1, 20)
    rows += [(100, 7, most, 1, 2**64 - 1, 1, 10**18 - 1, [], (None,)),
             (101, 7, most.copy_negate(), -1, 2**63, 1, 1 - 10**18, None, None)]
    columns = [Column("id", "int32", True), Column("f", "dec60"), Column("b", "decimal(76,20)"),
               Column("n", "int32", True), Column("u", "uint64"), Column("d", "dec9"),
               Column("e", "dec18", True), list_of_field("l", Field("element", "decimal(60,3)")),
               Group("s", [Field("x", "decimal(60,3)")])]
    put("digits", columns, rows, row_group_rows=25, page_rows=9, page_version=2)
    put("digits_dict", columns, rows, row_group_rows=40, page_rows=20, dictionary=True,
        codec="zstd")


def ranges(put):
    """Values that a narrower declared type does not hold, among others."""
    ints = (0, 1, -1, 2**15, 2**31 - 1, 2**31, -2**31 - 1, 2**63 - 1, -2**63, 7)
    days = (0, -2440588, -2440589, 2145042904 - 10957, 2**31 - 1, -2**31, 19000)
    doubles = (0.0, 1.5, 1e300, -1e300, 1e-300, NAN, math.inf, -0.0, 0.1)
    nanos = (0, 1, -1, 1000, -1000, 999, 10**18, 10**18 + 7)
    numbers = ("0", "1.5", "99999999.99", "99999999.994", "99999999.995", "-1e30", "1e50")

    def pick(values, n):
        return None if n % 11 == 10 else values[n % len(values)]
    columns = [Column("id", "int32", True), Column("i", "int64"), Column("r", "int64", True),
               Column("d", "date"), Column("f", "double"), Column("ns", "timestamp_ns"),
               Column("n", "decimal(60,3)"), Column("t", "int96"),
               list_of_field("l", Field("element", "int64")),
               Group("s", [Field("x", "date"), Field("y", "int32")])]
    rows = [(n, pick(ints, n), ints[n // 2 % len(ints)], pick(days, n // 3), pick(doubles, n),
             pick(nanos, n), pick([decimal.Decimal(x) for x in numbers], n // 2),
             None if n % 5 == 4 else n * 10**15 + n,
             None if n % 7 == 6 else [pick(ints, n + k) for k in range(n % 4)],
             None if n % 9 == 8 else (pick(days, n), n)) for n in range(200)]
    for name, layout in (("ranges", {"page_index": True}),
                         ("ranges_dict", {"dictionary": True, "codec": "snappy", "bloom": True}),
                         ("ranges_v2", {"page_version": 2, "codec": "zstd"})):
        put(name, columns, rows, row_group_rows=40, page_rows=17, **layout)


def cases(folder):
    def put(name, columns, rows, **layout):
        write(os.path.join(folder, "cases", name + ".parquet"), columns, rows,
              Layout(dictionary=layout.pop("dictionary", False), **layout))

    os.makedirs(os.path.join(folder, "cases"), exist_ok=True)
    number, text = [Column("id", "int32", True)], [Column("s", "string")]
    one = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    real, double = [Column("f", "float")], [Column("f", "double")]
    zeros = [(-0.0,), (-0.0,), (NAN,), (1.0,), (1.0,), (NAN,), (one,), (one,), (0.0,), (-0.0,)]
    put("floats", real, zeros, row_group_rows=2, statistics=naive_floats)
    put("nan", double, [(1.0,), (NAN,), (2.0,)],
        statistics=of_bytes(struct.pack("<d", 1.0), struct.pack("<d", 2.0)))
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
    put("zeros", double, [(NAN,), (odd_nan,), (-0.0,), (0.0,), (math.inf,)], row_group_rows=3)
    put("signed", text, [(w,) for w in ("apple", "zebra", "\u00e9t\u00e9", "\u65e5\u672c")],
        row_group_rows=4, statistics=deprecated)
    put("second", text, [(w,) for w in "abcx"], row_group_rows=2, statistics=None, bloom=True)
    put("nulls", [Column("a", "int32")], [(v,) for v in (None, None, 1, None, 2, 3)],
        row_group_rows=2, statistics=without_null_count)
    put("lists", number + [list_of_field("a", Field("element", "int32"))],
        [(1, None), (2, []), (3, [None]), (4, [1, None]), (5, [1, 2, 3])])
    put("sums", double, [(1e16 if n == 0 else -1e16 if n == 8 else 1.0,) for n in range(16)],
        row_group_rows=4)
    put("four", [Column("x", "int32", True)], [(n,) for n in (1, 2, 3, 4)], row_group_rows=2)
    put("flags", [Column("a", "int32"), Column("f", "bool")],
        [(10, True), (100, None), (1, False), (200, None)], row_group_rows=2)
    put("words", number + text, list(enumerate(
        ("\\N", "NULL", "", '"', None, "a%b", "\u00e9", "x\\y", "a_b", "'"))), row_group_rows=5)
    put("keys", number + text + [Column("t", "string")],
        [(1, "a", "bc"), (2, "ab", "c"), (3, None, "x"), (4, "", "x"), (5, "ab", "c")])
    ids = [uuid.UUID(int=n).bytes for n in (
        0, 1, 2**63, 2**63 - 1, 2**127 - 1, 2**127, 2**127 + 2**63, 2**128 - 1)]
    put("uuids", [Column("u", "uuid")], [(u,) for u in ids], row_group_rows=2, statistics=ordered)
    put("tenths", [Column("d", "decimal(10,1)", True)], [(decimal.Decimal("0.1"),)] * 100000,
        dictionary=True, row_group_rows=30000, codec="gzip")
    put("wide", [Column("b", "int64"), Column("d", "decimal(38,22)")],
        [(2**63 - 1, decimal.Decimal(n)) for n in (
            "8385930.2158780710128370101138", "0.0000000000000000000001", "-1.5")])
    huge = [decimal.Decimal(n) for n in ("-1", "0", "1E37", "-1E37", "255", "-256")]
    put("huge", [Column("d", "decimal(38,0)")], [(d,) for d in huge], row_group_rows=2,
        statistics=ordered)
    digits(put)
    put("inside", number + [Group("s", [Field("x", "decimal(20,10)"), Field("n", "string")]),
                            map_of_fields("m", Field("key", "int32", 0), Field("value", "string"))],
        [(1, (decimal.Decimal("1.0000000001"), "a"), [(1, "one"), (2, None)]),
         (2, (None, "b"), []), (3, None, None)])
    put("items", number + [list_of_field("l", Group("element", [Field("x", "int32")]))],
        [(1, [(7,), None, (None,)]), (2, [None]), (3, []), (4, None)])
    put("dates", number + [Column("d", "date")],
        [(1, -719528), (2, 2145042905), (3, -2440588), (4, 0), (5, -719162), (6, None)])
    # The same numbers of three writers: 1582-10-15 is the first day of the new calendar.
    day = 86400 * 10**6
    old = [-719164, -719163, -171596, -171595, -141429, -141428, -141427, -141426, 0, 9728]
    for name, keys in (("new", ()), ("spark2", (("org.apache.spark.version", "2.4.5"),)),
                       ("spark30", (("org.apache.spark.version", "3.0.1"),)),
                       ("legacy", (("org.apache.spark.version", "3.5.0"),
                                   ("org.apache.spark.legacyDateTime", ""))),
                       ("hive", (("writer.date.proleptic", "false"),))):
        put("calendar_" + name,
            number + [Column("d", "date"), Column("t", "timestamp"), Column("n", "int96"),
                      list_of_field("l", Field("element", "date"))],
            [(n, d, d * day + day // 2, d * day + 1, [d, None]) for n, d in enumerate(old)],
            row_group_rows=3, keys=keys)
    drill = [9728 + 2 * 2440588, 2 * 2440588, -100 + 2 * 2440588]
    put("drill_old", number + [Column("d", "date")], list(enumerate(drill)), row_group_rows=1,
        keys=(("drill.version", "1.4.0"),))
    put("drill_new", number + [Column("d", "date")], list(enumerate([9728, 1106686])),
        keys=(("drill.version", "1.9.0"), ("drill-writer.version", "2")))
    put("drill_maybe", number + [Column("d", "date")], list(enumerate(drill + [7])),
        row_group_rows=2, created_by="parquet-mr version 1.8.1-drill-r0 (build 1)")
    ranges(put)
    # INT96 of writers in three places, and of one that does not say where.
    times = [(n, 1700000000 * 10**6 + n * 3600 * 10**6 * 1000) for n in range(12)]
    for name, keys in (("los_angeles", (("writer.time.zone", "America/Los_Angeles"),)),
                       ("kolkata", (("writer.time.zone", "Asia/Kolkata"),)), ("nowhere", ()),
                       ("odd", (("writer.time.zone", "GMT+05:00"),))):
        put("written_" + name, number + [Column("t", "int96")], times, row_group_rows=5, keys=keys)
    put("addresses", number + [Column("a", "binary")], list(enumerate(
        [bytes([192, 0, 2, 1]), bytes.fromhex("20010db8000000000000000000000001"), None,
         bytes(16), b"", b"abc"])), dictionary=True)
    put("nodate", [Column("d", "date")], [(-2**31,)])
    # Lengths of statistics that no value of the type has, and one that no file could hold.
    put("badstats", [Column("a", "int32")], [(v,) for v in (1, 2, 3, 4)], row_group_rows=2,
        statistics=of_bytes(b"\x05", b"\x01\x02\x03\x04\x05\x06\x07\x08\x09", 2**62))
    put("guards", number + text, [(n, str(n) if n % 3 else "no number") for n in range(60)],
        row_group_rows=20)
    put("names", [Column("Order", "int32"), Column("a b", "int32"), Column('"q"', "int32")],
        [(1, 2, 3)])
    return ""
