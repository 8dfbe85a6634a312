#!/usr/bin/env python3
"""Writes small inputs of fuzz targets: fuzz_inputs.py DIR for parquet_file, --skips DIR for
mergetree_skip.

The files of `make testdata` with few rows, and layouts that only old or odd writers have; parts
with skip indexes of all kinds. Deterministic; the output is kept in test/fuzz/corpus.
"""

import os
import struct
import sys
import tempfile

import testdata
from make_mergetree import Skip, write_part
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


def archive(part):
    """skp_idx.packed instead of the files of skip indexes."""
    names = sorted(n for n in os.listdir(part) if n.startswith("skp_idx_"))
    bodies = []
    for name in names:
        with open(os.path.join(part, name), "rb") as f:
            bodies.append(f.read())
        os.unlink(os.path.join(part, name))
    at = 9 + sum(1 + len(n) + 24 for n in names)
    out = struct.pack("<BQ", 1, len(names))
    for name, body in zip(names, bodies):
        out += bytes([len(name)]) + name.encode() + struct.pack("<QQQ", at, len(body), 0)
        at += len(body)
    with open(os.path.join(part, "skp_idx.packed"), "wb") as f:
        f.write(out + b"".join(bodies))


def skips(folder):
    columns = [Column("id", "int64", True), Column("s", "string", True), Column("t", "string"),
               Column("n", "int32"), Column("d", "date", True), Column("f", "double")]
    rows = [(n, "word %d x" % (n % 7), None if n % 5 == 0 else "text %d" % (n // 9),
             None if n % 6 == 0 else n % 13, 19000 + n // 20, n / 4) for n in range(60)]
    kinds = [Skip("a", "n", "minmax", 1), Skip("b", "t", "set(0)", 2), Skip("c", "n", "set(4)", 1),
             Skip("d", "s", "bloom_filter", 1), Skip("e", "n", "bloom_filter", 3),
             Skip("f", "s", "tokenbf_v1(16, 2, 1)", 1),
             Skip("g", "t", "ngrambf_v1(3, 16, 2, 0)", 2), Skip("h", "d", "minmax", 2),
             Skip("i", "f", "minmax", 1), Skip("j", "f", "set(9)", 1)]
    for name in ("wide", "compact", "packed"):
        with tempfile.TemporaryDirectory() as part:
            write_part(part, columns, rows, ("id",), 10, name == "compact", skips=kinds)
            if name == "packed":
                archive(part)
            with open(os.path.join(part, "options"), "w", encoding="utf-8") as f:
                f.write("".join("index=" + x.definition()[len("INDEX "):] + "\n" for x in kinds))
            with open(os.path.join(folder, name), "wb") as out:
                for member in sorted(os.listdir(part)):
                    with open(os.path.join(part, member), "rb") as f:
                        data = f.read()
                    out.write(bytes([len(member)]) + member.encode() + struct.pack("<I", len(data)))
                    out.write(data)


def main():
    folder = sys.argv[-1]
    os.makedirs(folder, exist_ok=True)
    if sys.argv[1] == "--skips":
        skips(folder)
        return
    for make in (kinds, texts, variants, nested, flat):
        make(folder)


if __name__ == "__main__":
    main()
