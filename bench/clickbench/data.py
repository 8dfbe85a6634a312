"""Makes the data of the benchmark, or finds it made: one table of rows in several physical forms.

Every form holds the rows that gen_hits.sql generates for a row count; the first form made is the
plain one (one file, sorted as the official file is, snappy), and the others are written from it.

    sorted / unsorted   in the generator's order, or ordered by a hash of the row number
    required            no column is nullable (Parquet REQUIRED: pages without definition levels); the
                        few nulls of the generator become '' and 0
    codec               none, lz4, snappy, zstd
    files               1, or a folder of about that many files with one row group each
    one_row_group       the whole file is a single row group

ANALYTICS_FDW_BENCH_DATA names the folder, which the server must be able to read. DuckDB writes.
"""
import os
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CODECS = {"none": "uncompressed", "lz4": "lz4_raw", "snappy": "snappy", "zstd": "zstd"}
ROW_GROUP = 442_368            # as gen_hits.sql
DICTIONARY_LIMIT = 1_048_576


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def folder():
    d = os.environ.get("ANALYTICS_FDW_BENCH_DATA") or "/var/tmp/analytics_fdw_bench"
    os.makedirs(d, exist_ok=True)
    return d


def short_count(rows):
    for unit, letter in ((1_000_000, "m"), (1000, "k")):
        if rows % unit == 0:
            return f"{rows // unit}{letter}"
    return str(rows)


class Form:
    """One physical form; `path` is what a reader opens (a glob pattern for several files)."""

    def __init__(self, rows, layout="sorted", codec="snappy", files=1, required=False, one_row_group=False):
        self.rows, self.layout, self.codec, self.files = rows, layout, codec, files
        self.required, self.one_row_group = required, one_row_group
        words = [f"hits_{short_count(rows)}"]
        words += [layout] * (layout != "sorted") + ["required"] * required + [codec] * (codec != "snappy")
        words += ["1rg"] * (one_row_group and files == 1) + [f"{files}files"] * (files > 1)
        self.name = "_".join(words)
        self.plain = len(words) == 1
        self.root = os.path.join(folder(), self.name + (".parquet" if files == 1 else ""))
        self.path = self.root if files == 1 else os.path.join(self.root, "*.parquet")


def mergetree(rows, codec, threads=2):
    """A data directory of ClickHouse with the table; made when it is not there."""
    import gen_mergetree
    root = os.path.join(folder(), f"mergetree_{codec}" + ("" if rows == 10_000_000 else f"_{short_count(rows)}"))
    if not os.path.exists(root):
        print(f"making {root}", file=sys.stderr)
        gen_mergetree.make(make(Form(rows), threads), root, gen_mergetree.CODECS[codec])
    return root


def list_files(path):
    """The files behind a path that may be a pattern, or the data directory of a MergeTree table."""
    import glob
    if os.path.isdir(path):
        import gen_mergetree
        return [os.path.join(d, f) for d, _, files in os.walk(gen_mergetree.table(path)[0]) for f in files]
    found = sorted(glob.glob(path)) if "*" in path else [path]
    if not found:
        raise FileNotFoundError(path)
    return found


def make(form, threads=2, memory="9GB"):
    """Makes the form when it is not there; returns form.path."""
    if os.path.exists(form.root):
        return form.path
    source = None if form.plain else make(Form(form.rows), threads, memory)
    print(f"making {form.root}", file=sys.stderr)
    t = time.time()
    part, work = form.root + ".part", form.root + ".tmp"
    remove(part)
    os.makedirs(work, exist_ok=True)
    try:
        if form.plain:
            generate(form, part, work, threads, memory)
        else:
            rewrite(form, source, part, work, threads, memory)
        os.rename(part, form.root)
    finally:
        remove(part)
        shutil.rmtree(work, ignore_errors=True)
    size = sum(map(os.path.getsize, list_files(form.path)))
    print(f"made {form.root}: {size / 1e6:.0f} MB in {time.time() - t:.0f} s", file=sys.stderr)
    return form.path


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def connect(database, work, threads, memory):
    import duckdb
    return duckdb.connect(database, config={"threads": threads, "memory_limit": memory, "temp_directory": work})


def generate(form, out, work, threads, memory):
    c = connect(":memory:", work, threads, memory)
    c.execute(f"SET VARIABLE rows={form.rows}; SET VARIABLE out={literal(out)}")
    with open(os.path.join(HERE, "gen_hits.sql"), encoding="utf-8") as f:
        for s in c.extract_statements(f.read()):
            c.execute(s)


def rewrite(form, source, out, work, threads, memory):
    # Several files: one thread, so that the files' numbers follow the rows.
    c = connect(os.path.join(work, "db"), work, threads if form.files == 1 else 1, memory)
    c.execute("SET preserve_insertion_order = true")
    rows = f"SELECT * FROM read_parquet({literal(source)})"
    if form.layout == "unsorted":
        rows = (f"SELECT * EXCLUDE (file_row_number) FROM read_parquet({literal(source)}, file_row_number = true)"
                " ORDER BY hash(file_row_number), file_row_number")
    if form.required:  # the writer takes a table's NOT NULL for REQUIRED
        columns = c.execute(f"DESCRIBE {rows}").fetchall()
        c.execute("CREATE TABLE hits (" + ", ".join(f'"{n}" {t} NOT NULL' for n, t, *_ in columns) + ")")
        values = ", ".join(f'coalesce("{n}", ' + ("''::BLOB" if t == "BLOB" else "0") + ")" for n, t, *_ in columns)
        c.execute(f"INSERT INTO hits SELECT {values} FROM ({rows})")
        rows = "SELECT * FROM hits"
    options = f"FORMAT parquet, COMPRESSION {CODECS[form.codec]}, STRING_DICTIONARY_PAGE_SIZE_LIMIT {DICTIONARY_LIMIT}"
    if form.files > 1:
        options += (f", ROW_GROUP_SIZE {-(-form.rows // form.files)}, ROW_GROUPS_PER_FILE 1,"
                    " FILENAME_PATTERN 'hits_{i}'")
    else:
        options += f", ROW_GROUP_SIZE {form.rows if form.one_row_group else ROW_GROUP}"
    c.execute(f"COPY ({rows}) TO {literal(out)} ({options})")
    c.close()
