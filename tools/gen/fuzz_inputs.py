#!/usr/bin/env python3
"""Writes small inputs of fuzz targets: fuzz_inputs.py DIR for parquet_file, --skips DIR for
mergetree_skip, --places DIR for mergetree_place.

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


def tar(members):
    out = b""
    for name, body in members:
        head = bytearray(512)
        head[0:len(name[:100])] = name[:100].encode()
        head[100:108], head[124:136] = b"0000644\0", b"%011o\0" % len(body)
        head[148:156], head[156:157], head[257:262] = b" " * 8, b"0", b"ustar"
        head[148:156] = b"%06o\0 " % sum(head)
        if len(name) > 100:
            out += tar([("././@LongLink", name.encode())]).replace(b"\0" * 1024, b"", 1)
        out += bytes(head) + body + bytes(-len(body) % 512)
    return out + bytes(1024)


def places(folder):
    """Trees in which a table is found; the first byte says at which path, the second how."""
    sql = (b"ATTACH TABLE _ UUID '00000000-0000-0000-0000-000000000001'\n(\n    `id` UInt32,\n"
           b"    `s` String DEFAULT 'x'\n)\nENGINE = MergeTree\nORDER BY id\n"
           b"SETTINGS index_granularity = 8192\nCOMMENT 'of tests'\n")
    part = [("columns.txt", b"columns format version: 1\n1 columns:\n`id` UInt32\n"),
            ("count.txt", b"2"), ("id.bin", b"bytes"), ("id.mrk2", b"marks")]
    uuid = "store/000/00000000-0000-0000-0000-000000000001/"

    def below(root, parts=("all_1_1_0", "all_2_2_0")):
        return [(root + p + "/" + name, body) for p in parts for name, body in part]

    def index(files, head=""):
        text = "<config><version>1</version>%s<contents>" % head
        for name, size, rest in files:
            text += "<file><name>%s</name><size>%d</size>%s</file>" % (name, size, rest)
        return (text + "</contents></config>").encode()

    sums = {name: "<checksum>%032x</checksum>" % n for n, (name, _) in enumerate(part)}
    listed = [("data/w/t/all_1_1_0/" + n, len(b), sums[n]) for n, b in part]
    again = [("data/w/t/all_2_2_0/" + n, len(b), sums[n] + (
        "<data_file>data/w/t/all_1_1_0/%s</data_file>" % n)) for n, b in part]
    of_base = [(name, size, rest + "<use_base>true</use_base>") for name, size, rest in listed]
    text = [("metadata/w/t.sql", len(sql), "<checksum>%032x</checksum>" % 9)]
    backup = [(".backup", index(text + listed + again)), ("metadata/w/t.sql", sql)] + below(
        "data/w/t/", ("all_1_1_0",))
    object_of = lambda n, key: b"5\n1\t%d\n%d\t%s\n0\n0\n\n" % (n, n, key)
    trees = {
        "table": (1, 6, [("t/format_version.txt", b"1"), ("t.sql", sql),
                         ("t/mutation_3.txt", b"format version: 1\ncreate time: x\n"
                          b"commands: (RENAME COLUMN s TO u)\n")] +
                  below("t/", ("all_1_1_0", "all_1_2_1", "all_2_2_0"))),
        "server": (0, 1, [("metadata/w.sql", b"ATTACH DATABASE _ UUID '%s'\nENGINE = Atomic\n" %
                           uuid[10:46].encode()), ("metadata/w/t.sql", sql),
                          ("data/x", b"")] + below(uuid)),
        "server_list": (0, 2, [("metadata/w.sql", b"ATTACH DATABASE w\nENGINE = Ordinary\n"),
                               ("metadata/w/t%2Dx.sql", sql)] + below("data/w/t%2Dx/")),
        "shadow": (0, 0, below(uuid)),
        "backup": (0, 1, backup),
        "backup_list": (0, 2, backup),
        "incremental": (4, 0, [("b1/" + n, b) for n, b in backup] + [
            ("b2/.backup", index(text + of_base, "<base_backup>File('b1')</base_backup>")),
            ("b2/metadata/w/t.sql", sql)]),
        "archive": (3, 1, [("a.tar", tar(backup))]),
        "disk": (2, 3, [("metadata/" + uuid + "all_1_1_0/" + n,
                         object_of(len(b), b"data/ab/" + n.encode())) for n, b in part] +
                 [("bucket/data/ab/" + n, b) for n, b in part]),
        "disk_old": (2, 3, [("metadata/" + uuid + "all_1_1_0/" + n,
                             b"3\n1\t%d\n%d\tab/%s\n0\n1\n" % (len(b), len(b), n.encode()))
                            for n, b in part]),
        "rewritable": (0, 0, [("__meta/abc/prefix.path", (uuid + "all_1_1_0/").encode()),
                              ("__meta/def/prefix.path", uuid.encode()),
                              ("def/format_version.txt", b"1")] + [
                                  ("abc/" + n, b) for n, b in part]),
        "rewritable_named": (0, 7, [("__meta/abc/prefix.path", (uuid + "all_1_1_0/").encode())] + [
            ("abc/" + n, b) for n, b in part]),
        "plain": (5, 0, below(uuid)),
    }
    for name, (path, options, members) in trees.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(bytes([path, options]))
            for member, body in members:
                f.write(bytes([len(member)]) + member.encode())
                f.write(struct.pack("<I", len(body)) + body)


def main():
    folder = sys.argv[-1]
    os.makedirs(folder, exist_ok=True)
    if sys.argv[1] == "--places":
        places(folder)
        return
    if sys.argv[1] == "--skips":
        skips(folder)
        return
    for make in (kinds, texts, variants, nested, flat):
        make(folder)


if __name__ == "__main__":
    main()
