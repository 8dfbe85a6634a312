"""Tables of many files, for testdata.py: trees, columns that change from file to file.

  tree/region=<r>/day=<d>/x.parquet   a Hive tree: keys that need decoding, a NULL, also a column
      `region` inside of the files that says something else; and one damaged file in a directory
      of its own, region=broken
  evolved/<0..5>.parquet   one table whose columns are reordered, widened, missing, new
  conflict/<0..1>.parquet  one column, integer in the first file, text in the second
  nokey/n=1/, nokey/n=x/   a directory whose key is no number;   mixed/, mixed/k=1/: some have none
  cases.parquet            columns ID, id, Name and name
  folder/                  for imports: files of several kinds, a damaged one, trees below
  many/k=<0..99>/<0..9>.parquet   1000 files of 5 rows
"""

import os

from make_parquet import Column, Layout, write
from twin import twin_sql


def put(folder, *parts):
    path = os.path.join(folder, *parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def junk(path, data):
    with open(path, "wb") as f:
        f.write(data)


def tree(folder):
    columns = [Column("id", "int32", True), Column("v", "double"), Column("region", "string")]
    regions = (("north", "north"), ("a%20b%2Fc", "a b/c"), ("%C3%BC", "\u00fc"), ("", ""),
               ("__HIVE_DEFAULT_PARTITION__", None))
    rows = []
    for r, (name, region) in enumerate(regions):
        for day in range(4):
            part = [(1000 * r + 100 * day + n, None if n % 7 == 3 else n / 4, "inside")
                    for n in range(40)]
            write(put(folder, "tree", "region=" + name, "day=2024-01-0%d" % (day + 1), "x.parquet"),
                  columns, part, Layout(row_group_rows=25))
            rows += [(i, v, region, 19723 + day) for i, v, _ in part]
    junk(put(folder, "tree", "region=broken", "day=2024-02-01", "x.parquet"), b"PAR1 no PAR1")
    return twin_sql("tree", columns[:2] + [Column("region", "string"), Column("day", "date")],
                    rows)


EVOLVED = [Column("id", "int64", True), Column("name", "string"), Column("amount", "double"),
           Column("note", "string")]


def evolved(folder):
    def file(number, *columns):
        rows, shown = [], []
        for n in range(30):
            one = {"id": number * 100 + n, "name": None if n % 9 == 2 else "n%d" % (n % 5),
                   "amount": None if n % 8 == 5 else n * 4 - 20, "note": "note %d" % n}
            rows.append(tuple(one[c.name] for c in columns))
            has = {c.name for c in columns}
            shown.append(tuple(one[c.name] if c.name in has else None for c in EVOLVED))
        write(put(folder, "evolved", "%d.parquet" % number), columns, rows,
              Layout(row_group_rows=20))
        return shown
    id32, id64 = Column("id", "int32", True), Column("id", "int64", True)
    name, note = Column("name", "string"), Column("note", "string")
    rows = file(0, id32, name, Column("amount", "int16"))
    rows += file(1, Column("amount", "int32"), id32, name)
    rows += file(2, id64)
    rows += file(3, note, name, id64, Column("amount", "float"))
    rows += file(4, id64, Column("amount", "double"))
    rows += file(5, Column("id", "int16"), note, Column("amount", "int64"))
    return twin_sql("evolved", EVOLVED, rows)


def odd_trees(folder):
    number, text = [Column("a", "int32")], [Column("a", "string")]
    write(put(folder, "conflict", "0.parquet"), number, [(1,)])
    write(put(folder, "conflict", "1.parquet"), text, [("x",)])
    for key in ("n=1", "n=x"):
        write(put(folder, "nokey", key, "f.parquet"), number, [(1,)])
    write(put(folder, "mixed", "f.parquet"), number, [(1,)])
    write(put(folder, "mixed", "k=1", "f.parquet"), number, [(2,)])
    write(put(folder, "cases.parquet"), [Column("ID", "int32"), Column("id", "int32"),
                                         Column("Name", "string"), Column("name", "string")],
          [(n, n + 1000, "N%d" % n, "n%d" % n) for n in range(20)], Layout(row_group_rows=10))


def import_folder(folder):
    few = [Column("a", "int32", True), Column("B", "string")]
    for path in (("one.parquet",), ("Two.parquet",), ("deep", "three.parquet"),
                 ("sales", "year=2023", "m=01", "x.parquet"),
                 ("sales", "year=2024", "m=02", "x.parquet"),
                 ("deep", "er", "log", "day=2024-01-01", "x.parquet")):
        write(put(folder, "folder", *path), few, [(1, "x"), (2, None)])
    write(put(folder, "folder", "bare"), few, [(1, "x")])
    junk(put(folder, "folder", "README.md"), b"This is not a table of anything.\n")
    junk(put(folder, "folder", "nothing"), b"")
    junk(put(folder, "folder", "broken.parquet"), b"PAR1 no PAR1")


def many(folder):
    columns = [Column("id", "int64", True), Column("s", "string")]
    rows = []
    for k in range(100):
        for f in range(10):
            part = [(k * 50 + f * 5 + n, "s%d" % (n % 3)) for n in range(5)]
            write(put(folder, "many", "k=%d" % k, "%d.parquet" % f), columns, part)
            rows += [r + (k,) for r in part]
    return twin_sql("many", columns + [Column("k", "int32")], rows)


def many_files(folder):
    odd_trees(folder)
    import_folder(folder)
    return tree(folder) + evolved(folder) + many(folder)
