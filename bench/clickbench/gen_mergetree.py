#!/usr/bin/env python3
"""The ClickBench table as a MergeTree table, made by ClickHouse itself (the Python package chdb).

    bench/clickbench/gen_mergetree.py --data hits_10m.parquet --out DIR [--codec 'ZSTD(1)']

DIR becomes a data directory of ClickHouse with one table, bench.hits, of one merged part in
ClickBench's order.  `run --format mergetree` calls it when the directory is not there yet.
"""
import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clickbench as cb  # noqa: E402

TYPES = {"smallint": "Int16", "integer": "Int32", "bigint": "Int64", "text": "String",
         "date": "Date", "timestamp": "DateTime('UTC')"}
KEY = ("CounterID", "EventDate", "UserID", "EventTime", "WatchID")
CODECS = {"lz4": "LZ4", "zstd": "ZSTD(1)", "none": "NONE"}


def columns():
    """The columns as CREATE TABLE has them."""
    return ", ".join(f"{name} {TYPES[kind]}" for name, _, kind in cb.heap_columns())


def make(source, out, codec):
    import chdb
    part = out + ".part"
    c = chdb.connect(part)
    c.query("CREATE DATABASE bench ENGINE = Atomic")
    c.query(f"CREATE TABLE bench.hits ({columns()}) ENGINE = MergeTree ORDER BY ({', '.join(KEY)}) "
            f"SETTINGS default_compression_codec = {cb.literal(codec)}")
    c.query(f"INSERT INTO bench.hits SELECT * FROM file({cb.literal(source)}, Parquet, {cb.literal(columns())})")
    c.query("OPTIMIZE TABLE bench.hits FINAL SETTINGS optimize_throw_if_noop = 1")
    c.close()
    os.rename(part, out)
    subprocess.run(["chmod", "-R", "a+rX", out], check=True)


def table(root):
    """The directory of bench.hits in a data directory, and the file that defines it."""
    return (os.path.realpath(os.path.join(root, "data", "bench", "hits")),
            os.path.join(os.path.realpath(os.path.join(root, "metadata", "bench")), "hits.sql"))


def schema(root, name="schema.sql"):
    """The foreign table: types of its columns are those of the file, so no options tell them."""
    path, definition = table(root)
    text = re.sub(r", (epoch_unit|binary_as) '\w+'", "", cb.schema(path, name))
    return text.replace("OPTIONS (path", f"OPTIONS (format 'mergetree', definition {cb.literal(definition)}, path")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", required=True)
    a.add_argument("--out", required=True)
    a.add_argument("--codec", default="LZ4")
    o = a.parse_args()
    make(os.path.abspath(o.data), os.path.abspath(o.out), o.codec)
    print(table(o.out)[0])


if __name__ == "__main__":
    main()
