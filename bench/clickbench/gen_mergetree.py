#!/usr/bin/env python3
"""Makes the ClickBench table as a MergeTree table, with ClickHouse itself (the Python package chdb).

    bench/clickbench/gen_mergetree.py --data hits_10m.parquet --out DIR [--codec 'ZSTD(1)']

DIR becomes a data directory of ClickHouse with one table, bench.hits, of one merged part in
ClickBench's order.  `run --format mergetree` calls it when the directory is not there yet.
"""
import argparse
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clickbench as cb  # noqa: E402

TYPES = {"smallint": "Int16", "integer": "Int32", "bigint": "Int64", "text": "String",
         "date": "Date", "timestamp": "DateTime('UTC')"}
KEY = ("CounterID", "EventDate", "UserID", "EventTime", "WatchID")


def columns():
    """Name in the file and ClickHouse's type of each column."""
    return [(name, TYPES[kind]) for name, _, kind in cb.heap_columns()]


def make(data, out, codec):
    import chdb
    cols = ", ".join(f"{name} {kind}" for name, kind in columns())
    part = out + ".part"
    c = chdb.connect(part)
    c.query("CREATE DATABASE bench ENGINE = Atomic")
    c.query(f"CREATE TABLE bench.hits ({cols}) ENGINE = MergeTree ORDER BY ({', '.join(KEY)}) "
            f"SETTINGS default_compression_codec = {cb.literal(codec)}")
    c.query(f"INSERT INTO bench.hits SELECT * FROM file({cb.literal(data)}, Parquet, {cb.literal(cols)})")
    c.query("OPTIMIZE TABLE bench.hits FINAL SETTINGS optimize_throw_if_noop = 1")
    c.query("SYSTEM STOP MERGES bench.hits")
    c.close()
    os.rename(part, out)
    subprocess.run(["chmod", "-R", "a+rX", out], check=True)


def table(out):
    """The directory of bench.hits."""
    return os.path.realpath(glob.glob(os.path.join(out, "store", "*", "*", "format_version.txt"))[0]
                            .rsplit("/", 1)[0])


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", required=True)
    a.add_argument("--out", required=True)
    a.add_argument("--codec", default="LZ4")
    o = a.parse_args()
    make(os.path.abspath(o.data), os.path.abspath(o.out), o.codec)
    print(table(o.out))


if __name__ == "__main__":
    main()
