#!/usr/bin/env python3
"""Compares what `axq cat` prints of files of the corpus with the values that the corpus states.

  variants   shredded_variant/cases.json and its .variant.bin files, decoded here; and variant/*.value
             with data_dictionary.json, wrapped into files by our own generator
  csv, json  side files with the same rows
  twins      columns or files that hold the same in another layout

AX_CORPUS names the corpus, AXQ the program. Prints each difference; ends with a line of counts.
"""

import base64
import csv
import datetime
import decimal
import glob
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "gen"))
sys.dont_write_bytecode = True
from make_parquet import variant_field, write  # noqa: E402

CORPUS = os.path.join(os.environ.get("AX_CORPUS", "../shared/corpus"), "parquet")
AXQ = os.environ.get("AXQ", "build/axq")
TESTING = "apache+parquet-testing"
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
passed, failed = 0, 0


def result(name, problem):
    global passed, failed
    if problem is None:
        passed += 1
    else:
        failed += 1
        print("DIFFERS %s: %s" % (name, problem))


# ---- axq --------------------------------------------------------------------------------------

def axq(*args):
    done = subprocess.run(["timeout", "10", AXQ, *args], capture_output=True, text=True,
                          errors="surrogateescape", check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip()[:200])
    return done.stdout


def unescape(text):
    if text == "\\N":
        return None
    out, i = [], 0
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text):
            out.append(ESCAPES.get(text[i + 1], text[i + 1]))
            i += 1
        else:
            out.append(text[i])
        i += 1
    return "".join(out)


def schema(path):
    """[(name, type)] of the columns."""
    lines = [line.split("\t") for line in axq("schema", path).split("\n")
             if line and not line.startswith("  ")]
    return [(line[0], line[1].removesuffix(" not null")) for line in lines]


def read(path, *columns):
    """Rows of texts (None: NULL)."""
    return [[unescape(v) for v in line.split("\t")]
            for line in axq("cat", path, *columns).split("\n")[:-1]]


def rows(path):
    """Rows with lists and documents parsed."""
    types = [t for _, t in schema(path)]
    return [[json.loads(v, parse_float=decimal.Decimal) if v is not None and
             t in ("array", "jsonb") else v for v, t in zip(row, types)] for row in read(path)]


# ---- comparison -------------------------------------------------------------------------------

def number(value):
    if isinstance(value, bool) or value is None:
        return None
    try:
        return decimal.Decimal(str(value))
    except decimal.InvalidOperation:
        return None


def instant(text):
    """A date or time as one form, else None."""
    text = str(text).strip().replace("T", " ").removesuffix("Z").removesuffix("+00")
    text = re.sub(r"^(\d\d:\d\d:\d\d):", r"\1.", text)
    zone = re.search(r" .*([+-]\d\d:\d\d)$", text)
    if zone:
        return datetime.datetime.fromisoformat(text).astimezone(
            datetime.timezone.utc).replace(tzinfo=None)
    for form in ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d", "%H:%M:%S.%f", "%H:%M:%S"):
        try:
            return datetime.datetime.strptime(text, form)
        except ValueError:
            pass
    return None


def same(got, want, digits=None):
    """Are two values the same? digits: significant ones of a rounded expectation."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(
            same(got.get(k), want.get(k), digits) for k in {*got, *want})
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(
            same(g, w, digits) for g, w in zip(got, want))
    if isinstance(want, bool):
        return got is want or got in (("t", "true") if want else ("f", "false"))
    if got is None or want is None:
        return got is None and want is None
    if str(got) == str(want):
        return True
    if str(got).startswith("\\x") and isinstance(want, str):
        return bytes.fromhex(got[2:]) == want.encode()
    a, b = number(got), number(want)
    if a is not None and b is not None:
        if a.is_nan() or b.is_nan():
            return a.is_nan() and b.is_nan()
        return a == b or (digits is not None and
                          math.isclose(float(a), float(b), rel_tol=10.0 ** -digits))
    a, b = instant(got), instant(want)
    return a is not None and a == b


def first_difference(got, want, digits=None):
    if len(got) != len(want):
        return "%d rows, expected %d" % (len(got), len(want))
    for i, (g, w) in enumerate(zip(got, want)):
        if len(g) != len(w):
            return "row %d: %d values, expected %d" % (i, len(g), len(w))
        for k, (a, b) in enumerate(zip(g, w)):
            if not same(a, b, digits):
                return "row %d, value %d: %.100r, expected %.100r" % (i, k, a, b)
    return None


# ---- variants ---------------------------------------------------------------------------------

DAY0 = datetime.date(1970, 1, 1)


def stamp(value, digits, zone):
    seconds, rest = divmod(value, 10 ** digits)
    text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat()
    return text + (".%0*d" % (digits, rest)).rstrip("0").rstrip(".") + ("+00:00" if zone else "")


def primitive(kind, data):
    """A primitive as JSON has it."""
    take = {3: "<b", 4: "<h", 5: "<i", 6: "<q", 7: "<d", 11: "<i", 12: "<q", 13: "<q", 14: "<f",
            17: "<q", 18: "<q", 19: "<q"}
    if kind < 3:
        return (None, True, False)[kind]
    if kind in (8, 9, 10):
        unscaled = int.from_bytes(data[1:1 + (4, 8, 16)[kind - 8]], "little", signed=True)
        return decimal.Decimal(unscaled).scaleb(-data[0], decimal.Context(prec=60))
    if kind in (15, 16):
        raw = data[4:4 + struct.unpack_from("<I", data)[0]]
        return base64.b64encode(raw).decode() if kind == 15 else raw.decode()
    if kind == 20:
        return str(uuid.UUID(bytes=bytes(data[:16])))
    value = struct.unpack_from(take[kind], data)[0]
    if kind == 11:
        return (DAY0 + datetime.timedelta(days=value)).isoformat()
    if kind in (12, 13, 18, 19):
        return stamp(value, 6 if kind < 18 else 9, kind in (12, 18))
    if kind == 17:
        return stamp(value, 6, False)[11:]
    return value


def decode(names, data):
    kind, head = data[0] & 3, data[0] >> 2
    if kind == 0:
        return primitive(head, data[1:])
    if kind == 1:
        return data[1:1 + head].decode()
    width, large = (head & 3) + 1, head >> (4 if kind == 2 else 2) & 1
    count = int.from_bytes(data[1:5 if large else 2], "little")
    at, ids = 5 if large else 2, []
    if kind == 2:
        size = (head >> 2 & 3) + 1
        ids = [int.from_bytes(data[at + i * size:at + (i + 1) * size], "little")
               for i in range(count)]
        at += count * size
    offsets = [int.from_bytes(data[at + i * width:at + (i + 1) * width], "little")
               for i in range(count + 1)]
    at += (count + 1) * width
    values = [decode(names, data[at + offset:]) for offset in offsets[:-1]]
    return dict(zip([names[i] for i in ids], values)) if kind == 2 else values


def decode_document(data):
    """Metadata and, behind it, a value."""
    width = (data[0] >> 6) + 1
    count = int.from_bytes(data[1:1 + width], "little")
    offsets = [int.from_bytes(data[1 + (i + 1) * width:1 + (i + 2) * width], "little")
               for i in range(count + 1)]
    text = 1 + (count + 2) * width
    names = [data[text + a:text + b].decode() for a, b in zip(offsets, offsets[1:])]
    return decode(names, data[text + offsets[-1]:])


def document(text):
    return None if text is None else json.loads(text, parse_float=decimal.Decimal)


def shredded_variants():
    folder = os.path.join(CORPUS, TESTING, "shredded_variant")
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as f:
        cases = json.load(f)
    for case in cases:
        path = os.path.join(folder, case.get("parquet_file", "none"))
        if not os.path.exists(path):
            continue
        files = case.get("variant_files", [case.get("variant_file")])
        try:
            got = [[document(row[-1])] for row in read(path)]
        except ValueError as error:
            may = "error_message" in case or "INVALID" in path
            result(path, None if may else str(error))
            continue
        if "error_message" in case:
            result(path, "was read, must be refused: " + case["error_message"])
            continue
        want = []
        for name in files:
            if name is None:
                want.append([None])
                continue
            with open(os.path.join(folder, name), "rb") as f:
                want.append([decode_document(f.read())])
        result(path, first_difference(got, want, 7))


def encoded_variants(scratch):
    folder = os.path.join(CORPUS, TESTING, "variant")
    with open(os.path.join(folder, "data_dictionary.json"), encoding="utf-8") as f:
        want = json.loads(re.sub(r",(\s*})", r"\1", f.read()))    # ends with a comma
    for path in sorted(glob.glob(os.path.join(folder, "*.value"))):
        name = os.path.basename(path).removesuffix(".value")
        if name not in want:
            continue
        with open(path, "rb") as f:
            value = f.read()
        with open(path.removesuffix("value") + "metadata", "rb") as f:
            metadata = f.read()
        out = os.path.join(scratch, name + ".parquet")
        write(out, [variant_field("v")], [((metadata, value),)])
        got = document(read(out)[0][0])
        result("variant/" + name, first_difference([[got]], [[want[name]]], 7))


# ---- side files -------------------------------------------------------------------------------

CSV = [  # file, separator, heading, NULL, digits
    (TESTING + "/data/delta_binary_packed", ",", True, "", None),
    (TESTING + "/data/delta_byte_array", ",", True, "", None),
    (TESTING + "/data/delta_encoding_required_column", ",", True, "", None),
    (TESTING + "/data/delta_encoding_optional_column", ",", True, "", None),
    ("duckdb+duckdb/data/parquet-testing/p2", ",", False, "", None),
    ("duckdb+duckdb/data/parquet-testing/p2strings", ",", False, "", None),
    ("duckdb+duckdb/data/parquet-testing/byte_stream_split", "|", True, "NULL", 6),
    ("duckdb+pg_duckdb/test/regression/data/iris", ",", True, "", None),
    ("pola-rs+polars/py-polars/tests/unit/io/files/foods1", ",", True, "", None),
    ("heterodb+pg-strom/test/data/python_generated_data", ",", True, "", 7)]


def csv_files():
    for name, separator, heading, null, digits in CSV:
        side = os.path.join(CORPUS, name + ("_expect.csv" if TESTING in name else ".csv"))
        path = os.path.join(CORPUS, name + ".parquet")
        if not os.path.exists(side) or not os.path.exists(path):
            continue
        with open(side, newline="", encoding="utf-8") as f:
            want = list(csv.reader(f, delimiter=separator))[1 if heading else 0:]
        got = rows(path)
        want = [[None if v == null and g is None else v for v, g in zip(w, g_row)]
                for w, g_row in zip(want, got + [[None]] * len(want))]
        result(path, first_difference(got, want, digits))


def plain_json(value):
    """Values of our JSON as the JavaScript files have them: no keys that are null."""
    if isinstance(value, dict):
        return {k: plain_json(v) for k, v in value.items() if v is not None}
    return [plain_json(v) for v in value] if isinstance(value, list) else value


def json_files():
    for side in sorted(glob.glob(os.path.join(CORPUS, "hyparam+hyparquet/test/files/*.json"))):
        path = side.removesuffix(".json") + ".parquet"
        if side.endswith(".metadata.json") or not os.path.exists(path):
            continue
        if os.path.basename(path) == "geospatial.parquet":
            continue    # geometries are WKB here, and objects there
        with open(side, encoding="utf-8") as f:
            want = json.load(f, parse_float=decimal.Decimal)
        got = [[plain_json(v) for v in row] for row in rows(path)]
        result(path, first_difference(got, [[plain_json(v) for v in row] for row in want], 7))
    base = os.path.join(CORPUS, "aloneguid+parquet-dotnet/src/Parquet.Test/data/")
    for name in ("list_simple", "list_structs"):
        if os.path.exists(base + name + ".json"):
            with open(base + name + ".json", encoding="utf-8") as f:
                want = json.load(f)
            names = [n for n, _ in schema(base + name + ".parquet")]
            got = [dict(zip(names, row)) for row in rows(base + name + ".parquet")]
            result(base + name, None if same(got[0], want) else "%.200r" % got)


# ---- twins ------------------------------------------------------------------------------------

TWINS = [
    ("alltypes_tiny_pages", "alltypes_tiny_pages_plain"),
    ("datapage_v1-snappy-compressed-checksum", "datapage_v1-uncompressed-checksum"),
    ("hadoop_lz4_compressed", "non_hadoop_lz4_compressed"),
    ("hadoop_lz4_compressed", "lz4_raw_compressed"),
    ("hadoop_lz4_compressed_larger", "lz4_raw_compressed_larger"),
    ("data_index_bloom_encoding_stats", "data_index_bloom_encoding_with_length"),
    ("int32_decimal", "int64_decimal"), ("int32_decimal", "fixed_length_decimal"),
    ("int32_decimal", "fixed_length_decimal_legacy"), ("int32_decimal", "byte_array_decimal")]


def twins():
    base = os.path.join(CORPUS, TESTING, "data/")
    for a, b in TWINS:
        result(a + " = " + b, first_difference(read(base + a + ".parquet"),
                                               read(base + b + ".parquet")))
    path = base + "byte_stream_split_extended.gzip.parquet"
    names = [n for n, _ in schema(path)]
    for plain in [n for n in names if n.endswith("_plain")]:
        other = plain.removesuffix("_plain") + "_byte_stream_split"
        result(plain, first_difference(read(path, plain), read(path, other)))
    base = os.path.join(CORPUS, "apache+iceberg/parquet/src/testFixtures/resources/encodings/")
    plain = {os.path.basename(p): p for p in glob.glob(base + "PLAIN/*.parquet")}
    for path in sorted(glob.glob(base + "[BD]*/*.parquet")) + sorted(
            glob.glob(base + "PLAIN_*/*.parquet")):
        if os.path.basename(path) in plain:
            result(path, first_difference(read(path), read(plain[os.path.basename(path)])))


def main():
    if not os.path.exists(os.path.join(CORPUS, "MANIFEST.tsv")):
        print("== corpus-content: 0 passed, 0 failed (no corpus)")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        shredded_variants()
        encoded_variants(scratch)
    csv_files()
    json_files()
    twins()
    print("== corpus-content: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
