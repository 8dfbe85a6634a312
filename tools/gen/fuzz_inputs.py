#!/usr/bin/env python3
"""Writes small Parquet files as inputs of the fuzz target parquet_file: fuzz_inputs.py DIR.

The files of `make testdata` with few rows, and layouts that only old or odd writers have.
Deterministic; the output is kept in test/fuzz/corpus/parquet_file.
"""

import os
import sys

import testdata
from make_parquet import Column, Field, Group, Layout, list_of_field, map_of_fields, write
from variant import encode, metadata


def kinds(folder):
    names = list(testdata.KIND_ROWS)
    for number in range(0, len(names), 5):
        part = names[number:number + 5]
        columns = [Column(k, k) for k in part] + [
            Column("r_" + k, k, True) for k in part if k != "unknown"]
        rows = []
        for n in range(10):
            rows.append(tuple(testdata.KIND_ROWS[k][n % 5] if n % 5 < 4 else None for k in part) +
                        tuple(testdata.KIND_ROWS[k][n % 4] for k in part if k != "unknown"))
        for version in (1, 2):
            write(os.path.join(folder, "kinds%d-v%d.parquet" % (number, version)), columns, rows,
                  Layout(page_version=version, dictionary=version == 1, page_rows=4,
                         row_group_rows=7))


def texts(folder):
    dirty = [b"good", b"a\0b", b"\xff\xfe", b"\xe2\x82", "\u00e4".encode(), None, b"", b"tail\xc3"]
    for dictionary in (False, True):
        write(os.path.join(folder, "text%d.parquet" % dictionary),
              [Column("t", "binary"), list_of_field("l", Field("element", "binary"))],
              [(t, [t, b"x"]) for t in dirty], Layout(dictionary=dictionary, page_rows=5))
    # bad values behind good ones
    write(os.path.join(folder, "late.parquet"),
          [Column("t", "string"), Column("n", "int64"), list_of_field("l", Field("e", "string"))],
          [("ok", 1, ["a"])] * 5 + [("no\0", 2**40, ["b", "\0"])] + [("ok", 3, [])] * 3,
          Layout(dictionary=False))
    write(os.path.join(folder, "late-dictionary.parquet"),
          [Column("t", "string"), Column("n", "int64"), list_of_field("l", Field("e", "string"))],
          [("ok", 1, ["a"])] * 5 + [("no\0", 2**40, ["b", "\0"])] + [("ok", 3, [])] * 3)


def variants(folder):
    documents = [{"a": 1, "s": "one", "list": [1, 2]}, {"a": "x", "list": [None, "y"]}, None, {},
                 {"other": {"deep": [True, 1.5, b"\0", "long " * 20, 2**40]}}, [1, 70000, -200]]
    plain = []
    for doc in documents:
        words = sorted(testdata.names(doc))
        plain.append(((metadata(words), encode(doc, words)),))
    # every primitive type by its number
    for kind, size in enumerate((0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16)):
        plain.append(((metadata([]), bytes([kind << 2]) + bytes(size)),))
    write(os.path.join(folder, "variant.parquet"), [testdata.variant_field("v")], plain)
    write(os.path.join(folder, "variant-shredded.parquet"),
          [testdata.variant_field("v", testdata.SHREDDED)],
          [(testdata.variant_row(d),) for d in documents] + [(None,)], Layout(page_version=2))
    for kind in ("uuid", "timestamp_ns", "timestamptz", "binary", "dec38", "date", "time_ns"):
        value = testdata.KIND_ROWS.get(kind, (b"x" if kind == "binary" else 5,))[0]
        write(os.path.join(folder, "variant-%s.parquet" % kind),
              [testdata.variant_field("v", Field("typed_value", kind))],
              [((metadata([]), None, value),), ((metadata([]), b"\0", None),)])


def nested(folder):
    columns = [
        map_of_fields("m", Field("key", "string"), Field("value", "int32")),
        map_of_fields("keys", Field("key", "int32", 0), list_of_field(
            "value", Group("element", [Field("x", "double"), Field("y", "float")]))),
        Group("set", [Group("key_value", [Field("key", "date", 0)], 2)], 1, 1, bare=True),
        Group("switched", [Group("map", [Field("value", "int32"), Field("key", "string", 0)], 2)],
              1, 1, bare=True),
        Group("tuples", [Group("tuples_tuple", [Field("x", "int32")], 2)], 1, 3, bare=True),
        Group("arrays", [Group("array", [Field("x", "timestamptz")], 2)], 1, 3, bare=True),
        list_of_field("deep", list_of_field("element", list_of_field(
            "element", Field("element", "uuid")))),
        map_of_fields("complex", Group("key", [Field("a", "time_us"), Field("b", "interval")], 0),
                      Field("value", "float16"))]
    rows = [([("k", 1), (None, 2)], [(1, [(0.5, 1e10), None])], [(1,), (2,)], [(1, "a")], [(1,)],
             [(5,)], [[[bytes(16)], []], None], [((1, (1, 2, 3)), 1.5)]), (None,) * 8,
            ([], [], [], [], [], [], [], [])]
    for version in (1, 2):
        write(os.path.join(folder, "nests-v%d.parquet" % version), columns, rows * 3,
              Layout(page_version=version, dictionary=version == 2, page_rows=3))


def flat(folder):
    columns = [Column("a", "int64"), Column("b", "double"), Column("c", "string", True),
               Column("d", "bool"), Column("f", "float")]
    rows = [(None if n % 7 == 0 else n, n / 4 if n % 5 else float("nan"), "s%d" % (n // 9),
             n % 3 == 0, None if n % 2 else -0.0) for n in range(120)]
    write(os.path.join(folder, "index.parquet"), columns, rows,
          Layout(page_index=True, page_rows=20, row_group_rows=70))
    write(os.path.join(folder, "skips.parquet"), columns, rows,
          Layout(page_index=True, bloom=True, encoding_stats=True, page_rows=20,
                 row_group_rows=70))
    # runs of one value, and a footer that is longer than its first read
    write(os.path.join(folder, "runs.parquet"), columns, [(1, 2.0, "x", True, 3.0)] * 150)
    wide = [Column("column number %d with a long name %s" % (n, "x" * 90), "int32")
            for n in range(330)]
    write(os.path.join(folder, "wide.parquet"), wide, [(1,) * len(wide)], Layout(dictionary=False))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for make in (kinds, texts, variants, nested, flat):
        make(folder)


if __name__ == "__main__":
    main()
