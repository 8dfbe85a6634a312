"""What `run` and `twin` share: the queries, how each result is judged, the data file, the servers.

Queries are numbered from 0. A result with LIMIT and ties has more than one right answer, so each
query states in RULES how two answers are compared:

  rows   the same multiset of rows, and the same sequence in the columns `keys`
  top    the same sequence in the columns `keys`; every row is looked up by its identity columns
         `ident` in the other system's answer without LIMIT and must be equal there; no row twice
  first  ORDER BY a column that is not in the output (query 24): blocks of equal keys must be equal,
         the last block a subset
"""
import datetime
import decimal
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

RULES = {
    **{q: ("rows", [], []) for q in (0, 1, 2, 3, 4, 5, 6, 19, 20, 29)},
    7: ("rows", [1], []), 25: ("rows", [0], []), 26: ("rows", [0], []), 42: ("rows", [0], []),
    8: ("top", [1], [0]), 9: ("top", [2], [0]), 10: ("top", [1], [0]), 11: ("top", [2], [0, 1]),
    12: ("top", [1], [0]), 13: ("top", [1], [0]), 14: ("top", [2], [0, 1]), 15: ("top", [1], [0]),
    16: ("top", [2], [0, 1]), 17: ("top", [], [0, 1]), 18: ("top", [3], [0, 1, 2]),
    21: ("top", [2], [0]), 22: ("top", [3], [0]), 23: ("top", [4], [0]), 24: ("first", [], []),
    27: ("top", [1], [0]), 28: ("top", [1], [0]), 30: ("top", [2], [0, 1]), 31: ("top", [2], [0, 1]),
    32: ("top", [2], [0, 1]), 33: ("top", [1], [0]), 34: ("top", [2], [1]), 35: ("top", [4], [0]),
    36: ("top", [1], [0]), 37: ("top", [1], [0]), 38: ("top", [1], [0]),
    39: ("top", [5], [0, 1, 2, 3, 4]), 40: ("top", [2], [0, 1]), 41: ("top", [2], [0, 1]),
}


def queries(name="queries.sql", rows=None):
    """The 43 queries; HAVING and OFFSET literals shrink with a small table so that rows come back."""
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        out = [line.strip().rstrip(";") for line in f if line.strip()]
    assert len(out) == 43
    if rows and rows < 3_000_000:
        having = max(1, rows // 100)
        out = [q.replace("> 100000", f"> {having}") for q in out]
    if rows and rows < 500_000:
        out = [re.sub(r"OFFSET (\d+)", lambda m: f"OFFSET {int(m[1]) // 50}", q) for q in out]
    return out


def query_list(text):
    """'0-3,7' -> [0, 1, 2, 3, 7]"""
    if not text:
        return list(range(43))
    out = []
    for part in text.split(","):
        a, _, b = part.partition("-")
        out += range(int(a), int(b or a) + 1)
    return out


# ---------------------------------------------------------------- comparing answers

def canon(v):
    if isinstance(v, datetime.datetime):
        return v.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(v, datetime.date):
        return v.isoformat()
    if isinstance(v, (bytes, bytearray)):
        return bytes(v).decode("utf-8", "replace")
    if isinstance(v, decimal.Decimal) and v == v.to_integral_value():
        return int(v)
    if isinstance(v, bool):
        return int(v)
    return v


def epoch(v):
    d = datetime.datetime.strptime(v, "%Y-%m-%d %H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return int(d.timestamp())


def same(a, b):
    """Equal values; numbers that are not both whole: within 1e-12 relative."""
    if a is None or b is None:
        return a is b
    num = (int, float, decimal.Decimal)
    if isinstance(a, num) and isinstance(b, num):
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        x, y = float(a), float(b)
        return x == y or abs(x - y) <= 1e-12 * max(abs(x), abs(y))
    if isinstance(a, str) and isinstance(b, int):
        try:
            return epoch(a) == b
        except ValueError:
            return False
    return a == b


def same_row(a, b):
    return len(a) == len(b) and all(map(same, a, b))


def sort_key(row):
    # numbers by value so that 1 and 1.0 meet; everything else by text
    return [(0, float(v), "") if isinstance(v, (int, float, decimal.Decimal)) else (1, 0.0, str(v)) for v in row]


def compare(q, ours, theirs, lookup=None, keyed=None):
    """'' when `ours` is a right answer to query q given the other system's answer, else what differs.

    lookup(ident columns, list of ident tuples) -> the other system's rows with these identities;
    without it only groups that no tie at the edge can replace are compared.
    keyed() -> the other system's (value, key) pairs up to and including the last key, for `first`."""
    ours = [tuple(map(canon, r)) for r in ours]
    theirs = [tuple(map(canon, r)) for r in theirs]
    kind, keys, ident = RULES[q]
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, expected {len(theirs)}"
    if kind == "first":
        return compare_first(ours, theirs, keyed) if keyed else ""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        for k in keys:
            if not same(a[k], b[k]):
                return f"row {i}: sort key {a[k]!r}, expected {b[k]!r}"
    if kind == "rows":
        for a, b in zip(sorted(ours, key=sort_key), sorted(theirs, key=sort_key)):
            if not same_row(a, b):
                return f"row {short(a)}, expected {short(b)}"
        return ""
    if q != 23 and len({tuple(r[i] for i in ident) for r in ours}) != len(ours):
        return "the same group twice"
    if lookup is None:
        edge = {tuple(r[k] for k in keys) for r in (theirs[:1] + theirs[-1:])}
        known = [r for r in theirs if tuple(r[k] for k in keys) not in edge]
        pool = [r for r in ours if any(same_row(tuple(r[k] for k in keys), tuple(t[k] for k in keys)) for t in known)]
        for r in known:
            if not any(same_row(r, o) for o in pool):
                return f"row {short(r)} is missing"
        return ""
    found = [tuple(map(canon, r)) for r in lookup(ident, sorted({tuple(r[i] for i in ident) for r in ours}, key=sort_key))]
    for r in ours:
        if not any(same_row(r, t) for t in found):
            near = [t for t in found if all(same(t[i], r[i]) for i in ident)]
            return f"row {short(r)}, expected {short(near[0]) if near else 'no such group'}"
    return ""


def compare_first(ours, theirs, keyed):
    pairs = [(canon(v), canon(k)) for v, k in keyed()]
    at = 0
    for key in sorted({k for _, k in pairs}):
        block = [v for v, k in pairs if k == key]
        mine = [r[0] for r in ours[at:at + len(block)]]
        rest = list(block)
        for v in mine:
            if v not in rest:
                return f"row {at}: {v!r} does not have the sort key {key}"
            rest.remove(v)
        at += len(block)
    return ""


def short(row):
    s = repr(tuple(row))
    return s if len(s) < 300 else s[:300] + "..."


def without_order(sql):
    return re.sub(r" (ORDER BY|LIMIT) .*$", "", sql)


def lookup_sql(sql, ncols, ident, values):
    """The answer without LIMIT, restricted to the groups `values`."""
    cols = ", ".join(f"c{i}" for i in range(ncols))
    lits = ", ".join("(" + ", ".join(map(literal, v)) + ")" for v in values)
    return f"SELECT * FROM ({without_order(sql)}) AS q({cols}) WHERE ({', '.join(f'c{i}' for i in ident)}) IN ({lits})"


def literal(v):
    if v is None:
        return "NULL"
    if isinstance(v, str):
        return "'" + v.replace("'", "''") + "'"
    return str(v)


KEYED_SQL = """SELECT SearchPhrase, EventTime FROM hits WHERE SearchPhrase <> '' AND EventTime <=
 (SELECT max(EventTime) FROM (SELECT EventTime FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10) AS t)"""


# ---------------------------------------------------------------- data

def count_rows(path):
    import duckdb
    return duckdb.sql(f"SELECT count(*) FROM read_parquet({literal(path)})").fetchone()[0]


def duckdb_setup(c, path):
    c.execute("SET parquet_metadata_cache = true")
    c.execute(f"CREATE VIEW hits AS SELECT * REPLACE (make_date(EventDate) AS EventDate)"
              f" FROM read_parquet({literal(path)}, binary_as_string = true)")


# ---------------------------------------------------------------- PostgreSQL

def schema(path, name="schema.sql"):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read().replace(":'path'", literal(path))


def heap_columns():
    """(name in the file, column, type) of the 105 columns, read from schema.sql."""
    text = schema("")
    return [(m[3], m[1], m[2]) for m in re.finditer(r"^    (\w+) +(\w+) +OPTIONS \(column_name '(\w+)'", text, re.M)]


def pushed(cur, sql):
    """Whether the whole query is one Foreign Scan: (bool, the node names above or beside it)."""
    cur.execute("EXPLAIN (FORMAT JSON, VERBOSE) " + sql)
    plan = cur.fetchone()[0]
    if isinstance(plan, str):
        import json
        plan = json.loads(plan)
    node = plan[0]["Plan"]
    above = []
    while node["Node Type"] == "Result" and len(node.get("Plans", [])) == 1 and "One-Time Filter" not in node:
        above.append("Result")
        node = node["Plans"][0]
    whole = node["Node Type"] == "Foreign Scan" and not node.get("Plans") and "Filter" not in node
    names = []

    def walk(n):
        names.append(n["Node Type"] + (" + Filter" if "Filter" in n else ""))
        for p in n.get("Plans", []):
            walk(p)
    walk(node)
    return whole, " > ".join(above + names)


def private_server(conf=()):
    """Runs this program again inside a private server, unless it is there already."""
    if os.environ.get("AX_TOP"):
        return
    script = os.path.join(ROOT, "tools", "pg", "private-server.sh")
    args = [script, "exec", "--locale=C"] + [f"--conf={c}" for c in conf]
    os.execv(script, args + ["--", sys.executable] + sys.argv)


def git_commit():
    r = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return r.stdout.strip()
