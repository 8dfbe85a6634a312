"""The MergeTree corpus against a server: every column of every row, and every damaged copy.

For each case a foreign table is declared with the types of the case's columns, all rows are read
as JSON, and compared with expected.jsonl.gz.  A column that cannot be read for a reason of SQLSTATE
0A000 (not supported) makes its case "refused", if the rest is right; any other error and any other
value make it "wrong".  Damaged copies must end in an error, or give exactly the expected rows where
the corpus allows that.
"""
import glob
import gzip
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "diff"))
import pgwire  # noqa: E402

VERBOSE = os.environ.get("VERBOSE")


# ---- types ------------------------------------------------------------------------------------

def parse_type(s):
    """A type's name and the texts of its arguments."""
    m = re.match(r"^(\w+)(?:\((.*)\))?$", s, re.S)
    name, inner = m.group(1), m.group(2)
    if inner is None:
        return name, []
    args, depth, quote, cur = [], 0, None, ""
    i = 0
    while i < len(inner):
        c = inner[i]
        if quote:
            cur += c
            if c == "\\":
                i += 1
                cur += inner[i]
            elif c == quote:
                quote = None
        elif c in "'`":
            quote = c
            cur += c
        elif c == "," and depth == 0:
            args.append(cur.strip())
            cur = ""
        else:
            depth += (c == "(") - (c == ")")
            cur += c
        i += 1
    if cur.strip():
        args.append(cur.strip())
    return name, args


SIMPLE = {
    "UInt8": "smallint", "UInt16": "integer", "UInt32": "bigint", "UInt64": "numeric",
    "Int8": "smallint", "Int16": "smallint", "Int32": "integer", "Int64": "bigint",
    "Int128": "numeric(39,0)", "Int256": "numeric(77,0)", "UInt128": "numeric(39,0)",
    "UInt256": "numeric(78,0)", "Bool": "boolean",
    "Float32": "real", "Float64": "double precision", "BFloat16": "real", "Date": "date",
    "Date32": "date", "DateTime": "timestamptz", "DateTime64": "timestamptz", "Time": "interval",
    "Time64": "interval", "UUID": "uuid", "IPv4": "inet", "IPv6": "inet", "Enum8": "text",
    "Enum16": "text", "String": "text", "FixedString": "bytea", "AggregateFunction": "bytea",
    "QBit": "jsonb",
}


def pg_type(ch):
    name, args = parse_type(ch)
    if name in ("Nullable", "LowCardinality"):
        return pg_type(args[0])
    if name == "SimpleAggregateFunction":
        return pg_type(args[1])
    if name.startswith("Interval"):
        return "bigint"
    if name == "Decimal":
        p, s = int(args[0]), int(args[1])
        return f"numeric({p},{s})"
    if name == "Array":
        elem = pg_type(args[0])
        plain = elem in ("smallint", "integer", "bigint", "numeric", "boolean", "real",
                         "double precision", "date", "timestamptz", "uuid", "text")
        return elem + "[]" if plain else "jsonb"
    return SIMPLE.get(name, "jsonb")


def final_type(ch):
    """The type of what an aggregate state is finalised to."""
    args = parse_type(ch)[1]
    if args[0].isdigit():
        args = args[1:]
    function, of = args[0].split("(")[0], args[1:]
    if function.endswith("If"):
        function, of = function[:-2], of[:-1]
    nullable = any(a.startswith("Nullable(") for a in of)
    bare = re.sub(r"^Nullable\((.*)\)$", r"\1", of[0])
    if function in ("count", "uniq", "uniqExact"):
        return "UInt64"
    if function.startswith("group") and function.endswith("Array"):
        return f"Array({bare})"
    name, params = parse_type(bare)
    kind = bare
    if function == "sum":
        bits = int(re.sub(r"\D", "", name) or 0)
        kind = (f"Decimal(38, {params[1]})" if name == "Decimal" else "Float64" if name.startswith("Float")
                else re.sub(r"\d+", str(max(bits, 64)), name))
    elif function.startswith(("avg", "var", "stddev")):
        kind = "Float64"
    return f"Nullable({kind})" if nullable else kind


# ---- values -----------------------------------------------------------------------------------

def as_float(v):
    if isinstance(v, str):
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(v)
    return float(v) if isinstance(v, (int, Decimal)) and not isinstance(v, bool) else None


def same_float(a, b, width):
    x, y = as_float(a), as_float(b)
    if x is None or y is None:
        return False
    if width == 4:
        x, y = (struct.unpack("f", struct.pack("f", z))[0] if abs(z) < 3.5e38 else z for z in (x, y))
    return x == y or (math.isnan(x) and math.isnan(y))


def instant(v):
    """Microseconds are all that PostgreSQL keeps."""
    m = re.match(r"^(.*?)(\.\d+)?(\+00:00)?$", v)
    frac = (m.group(2) or "")[:7].rstrip("0")
    return m.group(1) + ("" if frac == "." else frac)


def same(ch, want, got):
    """Is the JSON value `got` the canonical value `want` of ClickHouse type `ch`?"""
    name, args = parse_type(ch)
    if name in ("Nullable", "LowCardinality"):
        return got is None if want is None else same(args[0], want, got)
    if name == "SimpleAggregateFunction":
        return same(args[1], want, got)
    if isinstance(want, dict) and set(want) == {"$hex"}:
        return got == "\\x" + want["$hex"]
    if name == "Array":
        return (isinstance(got, list) and len(got) == len(want)
                and all(same(args[0], w, g) for w, g in zip(want, got)))
    if name == "Nested":
        return isinstance(got, list) and len(got) == len(want) and all(
            same("Tuple(" + ", ".join(args) + ")", w, g) for w, g in zip(want, got))
    if name == "Map":
        if isinstance(got, dict):
            last = {key_text(args[0], k): v for k, v in want}
            return set(last) == set(got) and all(same(args[1], v, got[k]) for k, v in last.items())
        return isinstance(got, list) and len(got) == len(want) and all(
            same(args[0], w[0], g[0]) and same(args[1], w[1], g[1]) for w, g in zip(want, got))
    if name == "Tuple":
        types = [element_type(a) for a in args]
        if isinstance(want, dict):
            return isinstance(got, dict) and list(want) and set(want) == set(got) and all(
                same(t, want[k], got[k]) for t, k in zip(types, want))
        return isinstance(got, list) and len(got) == len(want) and all(
            same(t, w, g) for t, w, g in zip(types, want, got))
    if name == "Variant":
        return got is None if want is None else any(fits(t, want, got) for t in args)
    if name in ("Float64", "Float32", "BFloat16"):
        return same_float(want, got, 8 if name == "Float64" else 4)
    if name in ("DateTime", "DateTime64", "Time", "Time64"):
        return isinstance(got, str) and instant(want) == instant(got)
    if name in ("Int128", "Int256", "UInt128", "UInt256", "IPv6", "UInt64", "Int64"):
        return str(got) == str(want) or (name == "IPv6" and same_ip(want, got))
    if name in ("FixedString", "String") and isinstance(got, str) and got.startswith("\\x") and got != want:
        return bytes.fromhex(got[2:]) == want.encode()
    if name in GEO:
        return same_number_lists(want, got)
    return got == want


GEO = ("Point", "Ring", "LineString", "Polygon", "MultiLineString", "MultiPolygon", "Geometry", "QBit")


def same_number_lists(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same_number_lists, a, b))
    return a == b if a is None or b is None else same_float(a, b, 8)


def fits(ch, want, got):
    try:
        return same(ch, want, got)
    except (TypeError, ValueError, AttributeError, KeyError):
        return False


class Pairs(list):
    """The fields of an object in their order, names may repeat."""


def plain(v):
    if isinstance(v, Pairs):
        return {k: plain(x) for k, x in v}
    return [plain(x) for x in v] if isinstance(v, list) else v


def differs(sql, columns, rows):
    """Would PostgreSQL mean something else?"""
    if re.search(r"\w\['|/|UUID|\bNaN\b|\buser\b", sql):
        return True
    for c in columns:
        used = re.search(r"\b" + re.escape(c["name"]) + r"\b", sql if "min(" in sql else sql.split("WHERE")[-1])
        if used and "FixedString" in c["type"]:
            return True
        if used and "Enum" in c["type"] and re.search(r"ORDER BY|[<>]", sql):
            return True
        if used and "Float" in c["type"] and any(r.get(c["name"]) == "NaN" for r in rows):
            return True
        if "Float32" in c["type"] and re.search(r"(sum|avg)\(" + re.escape(c["name"]), sql):
            return True
        if used and c["type"] == "UUID" and re.search(r"ORDER BY|[<>]|min|max", sql):
            return True
    return False


def close(ch, want, got):
    """A value of a query: sums of floats depend on the order, empty sets give NULL here."""
    if isinstance(want, (int, Decimal)) and isinstance(got, (int, Decimal)):
        return want == got or abs(float(want) - float(got)) <= 1e-6 * abs(float(want))
    return fits(ch, want, got) or (got is None and want in (0, ""))


def same_ip(a, b):
    import ipaddress
    try:
        return ipaddress.ip_address(a) == ipaddress.ip_address(b)
    except ValueError:
        return False


def key_text(ch, k):
    if isinstance(k, dict):
        return "\\x" + k["$hex"]
    return k if isinstance(k, str) else json.dumps(k, default=str)


def element_type(arg):
    """Of "name Type" or "Type"."""
    m = re.match(r"^(?:`(?:[^`\\]|\\.)*`|\w+) +(.*)$", arg, re.S)
    return m.group(1) if m else arg


# ---- cases ------------------------------------------------------------------------------------

class Case:
    def __init__(self, corpus, name):
        self.dir = os.path.join(corpus, name)
        self.name = name
        with open(os.path.join(self.dir, "case.json")) as f:
            self.case = json.load(f)
        self.columns = [c for c in self.case["columns"] if c.get("default_kind") != "ALIAS"]

    def expected(self, what="expected"):
        with gzip.open(os.path.join(self.dir, what + ".jsonl.gz"), "rt") as f:
            return [json.loads(line, parse_float=Decimal) for line in f]

    def has_final(self):
        return os.path.exists(os.path.join(self.dir, "expected_final.jsonl.gz"))

    def is_json(self):
        return any(re.search(r"\b(JSON|Dynamic|Object)\b", c["type"]) for c in self.columns)

    def options(self, root=None):
        """Where the table is, as options of a foreign table."""
        root = root or self.dir
        layout, roots = self.case["layout"], [os.path.join(root, r) for r in self.case["roots"]]
        path = roots[0] if len(roots) == 1 or layout == "disk_local" else "{" + ",".join(roots) + "}"
        options = {"path": path, "format": "mergetree"}
        if layout in ("server", "backup"):
            options["table_name"] = "w.t"
        if layout == "disk_local":
            # Keys of later versions begin with the prefix of the disk in the bucket.
            options["objects"] = os.path.join(roots[1], "data")
        sql = os.path.join(self.dir, "metadata.sql")
        if layout not in ("server", "backup") and os.path.exists(sql):
            options["definition"] = sql
        return options


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def literal(s):
    return "'" + s.replace("'", "''") + "'"


class Runner:
    def __init__(self, corpus):
        self.corpus = corpus
        self.asked = self.skipped = self.merged = self.states = 0
        self.pruned, self.weaker = [0, 0], [0, 0]  # by primary key and partition alone, with skip indexes
        self.db = pgwire.Connection()
        for sql in ("CREATE EXTENSION IF NOT EXISTS analytics_fdw", "SET timezone = 'UTC'",
                    "CREATE SERVER IF NOT EXISTS corpus FOREIGN DATA WRAPPER analytics_fdw",
                    "SET statement_timeout = '20s'", "SET extra_float_digits = 1"):
            self.must(sql)

    def must(self, sql):
        r = self.db.simple(sql)[-1]
        if r.sqlstate:
            raise SystemExit(f"{sql}: {r}")
        return r

    def declare(self, columns, options, rows):
        cols = []
        for c in columns:
            ty = pg_type(c["type"])
            if ty == "text" and any(isinstance(r.get(c["name"]), dict) for r in rows):
                ty = "bytea"
            if ty == "text[]" and any(isinstance(e, dict) for r in rows for e in r.get(c["name"]) or []):
                ty = "jsonb"
            c["as"], in_file = quote(c["name"]), ""
            if len(c["name"].encode()) > 63:
                c["as"] = f"c{len(cols)}"
                in_file = f" OPTIONS (column_name {literal(quote(c['name']))})"
            cols.append(f"{c['as']} {ty}{in_file}")
        self.must("DROP FOREIGN TABLE IF EXISTS t")
        told = ", ".join(f"{k} {literal(v)}" for k, v in options.items())
        self.must(f"CREATE FOREIGN TABLE t ({', '.join(cols)}) SERVER corpus OPTIONS ({told})")

    def read(self, columns, key):
        """Rows as lists of JSON values, or the failed result."""
        cols = ", ".join(f"to_jsonb({c['as']})" for c in columns)
        m = re.match(r"^toUInt32\((\w+)\)$", key or "")
        by = [c["as"] + ("::bigint" if m else "") for c in columns if c["name"] == (m.group(1) if m else key)]
        by = f" ORDER BY {by[0]}" if by else ""
        r = self.db.simple(f"SELECT {cols} FROM t{by}")[-1]
        if r.sqlstate:
            return None, r
        return [[None if v is None else json.loads(v, parse_float=Decimal) for v in row]
                for row in r.rows], None

    def compare(self, columns, order, rows):
        """(verdict, message) for these columns together."""
        got, err = self.read(columns, order)
        if err:
            return ("refused" if err.sqlstate == "0A000" else "wrong"), f"{err.sqlstate} {err.message}"
        if len(got) != len(rows):
            return "wrong", f"{len(got)} rows, expected {len(rows)}"
        for want, have in zip(rows, got):
            for c, g in zip(columns, have):
                # States without an order of their bytes are not told.
                if c["name"] in want and not fits(c["type"], want[c["name"]], g):
                    return "wrong", (f"column {c['name']} {c['type']}: {str(g)[:200]} where "
                                     f"{str(want.get(c['name']))[:200]} is expected (row {want.get(order)})")
        return "right", ""

    def case(self, case):
        rows = case.expected()
        options = case.options()
        self.declare(case.columns, options, rows)
        key = case.case["id"]
        verdict, why = self.compare(case.columns, key, rows)
        if verdict == "right" and case.has_final():
            verdict, why = self.final(case, options)
            if verdict != "wrong":
                v, w = self.queries(case, rows, final=True)
                verdict, why = (v, w) if v == "wrong" else (verdict, why)
            self.declare(case.columns, options, rows)
            if why:
                return verdict, "FINAL: " + why
        if verdict == "right":
            verdict, why = self.results(case, rows, options)
            if verdict != "right":
                return verdict, "results: " + why
            self.declare(case.columns, options, rows)
            return self.queries(case, rows)
        # Which columns are it?
        worst, whys = "right", []
        for c in case.columns:
            v, w = self.one(case, c, rows, options)
            if v != "right":
                whys.append(f"{c['name']} {c['type'][:60]}: {w}")
                worst = "wrong" if "wrong" in (v, worst) else v
        return worst if whys else verdict, "; ".join(whys[:4]) or why

    def results(self, case, rows, options):
        """Aggregate states that are declared as their results."""
        states = [c for c in case.columns if c["type"].startswith("AggregateFunction(")]
        if not states:
            return "right", ""
        self.states += len(states)
        columns = [dict(c, type=final_type(c["type"])) if c in states else c for c in case.columns]
        names = {c["name"] for c in states}
        rows = [{c["name"]: r[c["name"] + ("#final" if c["name"] in names else "")] for c in columns}
                for r in rows]
        self.declare(columns, options, rows)
        return self.compare(columns, case.case["id"], rows)

    def final(self, case, options):
        """The rows of SELECT ... FINAL: all columns, then each alone, and how many there are."""
        rows = case.expected("expected_final")
        order = case.case["final_order"].split(", ")
        refused = []
        self.declare(case.columns, dict(options, final="true"), rows)
        self.merged += 1
        count = self.db.simple("SELECT count(*) FROM t")[-1]
        if count.sqlstate:
            return ("refused" if count.sqlstate == "0A000" else "wrong"), f"{count.sqlstate} {count.message}"
        if int(count.rows[0][0]) != len(rows):
            return "wrong", f"count(*) is {count.rows[0][0]}, expected {len(rows)}"
        by = ", ".join(quote(c) + (' COLLATE "C"' if pg_type(self.type_of(case, c)) == "text" else "")
                       for c in order)
        for columns in [case.columns] + [[c] for c in case.columns]:
            cols = ", ".join(f"to_jsonb({c['as']})" for c in columns)
            r = self.db.simple(f"SELECT {cols} FROM t ORDER BY {by}")[-1]
            if r.sqlstate == "0A000":
                refused.append(f"{columns[0]['name']}: {r.message}" if len(columns) == 1 else r.message)
                continue
            if r.sqlstate:
                return "wrong", f"{r.sqlstate} {r.message}"
            got = [[None if v is None else json.loads(v, parse_float=Decimal) for v in row] for row in r.rows]
            if len(got) != len(rows):
                return "wrong", f"{len(got)} rows, expected {len(rows)}"
            for want, have in zip(rows, got):
                for c, g in zip(columns, have):
                    if c["name"] in want and not fits(c["type"], want[c["name"]], g):
                        return "wrong", (f"column {c['name']} {c['type']}: {str(g)[:200]} where "
                                         f"{str(want[c['name']])[:200]} is expected")
        return ("refused", "; ".join(refused)) if refused else ("right", "")

    @staticmethod
    def leaves_sums(case, sql):
        """Rows of a SummingMergeTree with zero sums go: a server looks at the sums that a query
        reads, we at all of them."""
        with open(os.path.join(case.dir, "metadata.sql")) as f:
            m = re.search(r"SummingMergeTree(?:\(\((.*)\)\))?", f.read())
        return m is not None and not all(re.search(rf"\b{c}\b", sql) for c in
                                         (m.group(1) or "a, b").split(", ") if not c.endswith("Map"))

    @staticmethod
    def type_of(case, name):
        return next(c["type"] for c in case.columns if c["name"] == name)

    def queries(self, case, rows, final=False):
        """Those of queries.tsv that mean the same to PostgreSQL as they stand; final: those with
        FINAL, of a table that has that as an option."""
        with open(os.path.join(case.dir, "queries.tsv")) as f:
            lines = [line.rstrip("\n").split("\t") for line in f][1:]
        for name, sql, types, want, pruning in lines:
            sql = sql.replace("count()", "count(*)")
            if (" FINAL" in sql) != final:
                continue
            sql = sql.replace(" FINAL", "").replace("uniqExact(k)", "count(DISTINCT k)")
            types, want = json.loads(types), json.loads(want, parse_float=Decimal)
            if differs(sql, case.columns, rows) or (final and self.leaves_sums(case, sql)):
                continue
            r = self.db.simple(f"SELECT row_to_json(q) FROM ({sql}) q")[-1]
            if r.sqlstate and r.sqlstate[:2] in ("42", "22"):
                self.skipped += 1
                continue
            if r.sqlstate:
                return "wrong", f"{name} {sql}: {r.sqlstate} {r.message}"
            self.asked += 1
            got = [[plain(v) for _, v in json.loads(row[0], parse_float=Decimal, object_pairs_hook=Pairs)]
                   for row in r.rows]
            if "ORDER BY" not in sql:
                got, want = sorted(got, key=str), sorted(want, key=str)
            if len(got) != len(want) or not all(
                    close(t, w, g) for a, b in zip(want, got) for t, w, g in zip(types, a, b)):
                return "wrong", f"{name} {sql}: {str(got)[:200]} where {str(want)[:200]} is expected"
            self.pruning(case, name, sql, json.loads(pruning) if pruning else [])
        return "right", ""

    def pruning(self, case, name, sql, theirs):
        """Do all indexes leave no more granules than ClickHouse's?"""
        kept = [int(g.split("/")[0]) for _, _, g in theirs]
        skips = any(index.startswith("Skip") for index, _, _ in theirs)
        if not kept or "LIMIT" in sql:
            return
        r = self.db.simple(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}")[-1]
        lines = [m for row in r.rows for m in [re.search(r"Marks: (\d+) of (.*)", row[0])] if m]
        ours = sum(int(m.group(1)) for m in lines)
        self.pruned[skips] += 1
        self.weaker[skips] += ours > kept[-1]
        if VERBOSE and ours != kept[-1]:
            what = "weaker" if ours > kept[-1] else "better"
            print(f"{what:8}{case.name} {name}: {' '.join(m.group(0) for m in lines)} where ClickHouse has "
                  f"{theirs}: {sql}")

    def one(self, case, column, rows, options):
        """One column, in a table that has no other but the key."""
        key = case.case["id"]
        columns = [c for c in case.columns if c is column or c["name"] == re.sub(r"^toUInt32\((.*)\)$", r"\1", key)]
        self.declare(columns, options, rows)
        return self.compare(columns, key, rows)

    def damaged(self, case, kind, work):
        dest = os.path.join(work, "copy")
        subprocess.run(["rm", "-rf", dest], check=True)
        subprocess.run(["sh", os.path.join(self.corpus, "assemble.sh"), case.name, kind, dest],
                       check=True, capture_output=True)
        subprocess.run(["chmod", "-R", "a+rX", dest], check=True)
        with open(os.path.join(case.dir, "damaged", kind, "damage.json")) as f:
            damage = json.load(f)
        options = case.options(dest)
        rows = case.expected()
        self.declare(case.columns, options, rows)
        hit = damage["columns"]
        columns = [c for c in case.columns if hit == "all" or c["name"] in hit]
        if hit == "all":
            verdict, why = self.compare(columns, case.case["id"], rows)
        else:
            verdict, why = self.several(case, columns or case.columns, rows, options)
        failed = re.match(r"^[0-9A-Z]{5} ", why)
        if not failed and not (damage["expect"] == "error_or_rows" and verdict == "right"):
            return "wrong", f"{damage['what']}: {verdict} {why or 'all rows'}"
        # Canceled, an internal error, out of memory: no answer to damage.  That a file is not there
        # is one only where files were removed.
        removed = os.path.exists(os.path.join(case.dir, "damaged", kind, "removed.txt"))
        if re.match(r"^(57014|XX000|53200) " if removed else r"^(57014|XX000|53200|58P01) ", why) \
                and damage["expect"] == "error":
            return "wrong", f"{damage['what']}: {why}"
        # Other columns must be right, or an error.
        v, w = self.several(case, [c for c in case.columns if c not in columns], rows, options)
        if v == "wrong" and not re.match(r"^[0-9A-Z]{5} ", w):
            return "wrong", f"{damage['what']}: {w}"
        return "right", why

    def several(self, case, columns, rows, options):
        """Each column alone; the first that gives other values, else the first that is an error."""
        worst = ("right", "")
        for c in columns:
            v = self.one(case, c, rows, options)
            if v[0] == "right":
                continue
            if not re.match(r"^[0-9A-Z]{5} ", v[1]):
                return v
            if worst[0] == "right":
                worst = v
        return worst


def for_server(corpus, work):
    """The corpus by a name that the server can open: it has another working directory, and may run
    as a user who cannot come to this place."""
    corpus = os.path.abspath(corpus)
    seen = pgwire.Connection().simple(f"SELECT pg_stat_file({literal(corpus + '/README.md')}, true)")[-1]
    if not seen.sqlstate and seen.rows[0][0] is not None:
        return corpus
    copy = os.path.join(work, "corpus")
    subprocess.run(["cp", "-R", corpus, copy], check=True)
    subprocess.run(["chmod", "-R", "a+rX,u+w", copy], check=True)
    return copy


def main():
    work = os.environ.get("AX_SCRATCH") or tempfile.mkdtemp()
    corpus = for_server(sys.argv[1], work)
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    run = Runner(corpus)
    count = {"right": 0, "refused": 0, "wrong": 0}
    harm = {"right": 0, "refused": 0, "wrong": 0}
    for name in sorted(os.listdir(corpus)):
        if not os.path.exists(os.path.join(corpus, name, "case.json")):
            continue
        case = Case(corpus, name)
        kinds = sorted(os.listdir(os.path.join(case.dir, "damaged"))) \
            if os.path.isdir(os.path.join(case.dir, "damaged")) else []
        for kind in [None] + kinds:
            title = name if kind is None else f"{name}/{kind}"
            if not re.search(pattern, title):
                continue
            try:
                verdict, why = run.case(case) if kind is None else run.damaged(case, kind, work)
            except pgwire.Lost as e:
                verdict, why = "wrong", f"connection lost: {e}"
                run = Runner(corpus)
            if verdict == "refused" and case.is_json():
                verdict_line = "json"
            else:
                verdict_line = verdict
            (count if kind is None else harm)[verdict] += 1
            if verdict == "wrong" or (VERBOSE and verdict != "right") or VERBOSE == "2":
                print(f"{verdict_line:8}{title}: {why[:400]}", flush=True)
    print(f"queries: {run.asked} asked, {run.skipped} not PostgreSQL's; more granules than ClickHouse's indexes leave: "
          f"{run.weaker[0]} of {run.pruned[0]}, with skip indexes {run.weaker[1]} of {run.pruned[1]}")
    print(f"FINAL: {run.merged} tables; columns of states declared as results: {run.states}")
    print("corpus: {right} right, {refused} refused, {wrong} wrong".format(**count))
    print("damaged: {right} right, {refused} refused, {wrong} wrong".format(**harm))
    failed = count["wrong"] + harm["wrong"]
    print(f"== corpus-mergetree: {sum(count.values()) + sum(harm.values()) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
