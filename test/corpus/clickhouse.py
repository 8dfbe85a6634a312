"""Tables that ClickHouse makes on the spot, read by us and by ClickHouse.

The package chdb is a whole ClickHouse.  It makes tables with a random history of inserts, updates,
deletes, merges, mutations and changes of columns (topic `history`), of the engines whose rows
replace others (topic `final`), or with one kind of pending change each (topic `pending`); then
all rows, and the answers to some queries, must be the same.

    tools/pg/private-server.sh exec -- python3 test/corpus/clickhouse.py [--seed N] [--tables N] [TOPIC]

Prints the statements that made a table about which the two do not agree.  Without chdb nothing is
tested, and it says so.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mergetree  # noqa: E402

try:
    from chdb import session
except ImportError:
    session = None

OUT = """SETTINGS output_format_json_quote_64bit_integers = 0, output_format_json_quote_denormals = 1,
output_format_json_named_tuples_as_objects = 1, date_time_output_format = 'iso', session_timezone = 'UTC'"""


class ClickHouse:
    """A session of chdb, and what was told to it since `begin`."""

    def __init__(self, work):
        self.work = work
        self.session = session.Session(os.path.join(work, "clickhouse"))
        self.said = []
        self.n = 0
        self.settings = ["mutations_sync = 2", "allow_experimental_lightweight_update = 1",
                         "enable_lightweight_update = 1", "allow_suspicious_low_cardinality_types = 1",
                         "lightweight_delete_mode = 'lightweight_update_force'", "session_timezone = 'UTC'"]
        self.session.query("CREATE DATABASE IF NOT EXISTS w")
        for s in self.settings:
            try:
                self.session.query("SET " + s)
            except Exception:  # of another version
                pass

    def begin(self):
        self.said = []
        self.session.query("DROP TABLE IF EXISTS w.t SYNC")

    def say(self, sql):
        self.said.append(sql)
        self.session.query(sql)

    def rows(self, sql):
        text = self.session.query(f"{sql} {OUT}", "JSONCompactEachRow").bytes().decode()
        return [json.loads(line, parse_float=Decimal) for line in text.splitlines()]

    def columns(self):
        return [{"name": name, "type": type_, "kind": kind} for name, type_, kind in
                self.rows("SELECT name, type, default_kind FROM system.columns WHERE database = 'w' AND table = 't' ORDER BY position")
                if kind not in ("ALIAS", "EPHEMERAL")]

    def copy(self):
        """The table as it lies there: options of a foreign table."""
        path, sql = self.rows("SELECT data_paths[1], metadata_path FROM system.tables WHERE database = 'w' AND name = 't'")[0]
        root = os.path.join(self.work, "clickhouse")
        path, sql = (p if os.path.isabs(p) else os.path.join(root, p) for p in (path, sql))
        self.n += 1
        to = os.path.join(self.work, f"t{self.n}")
        shutil.copytree(path, os.path.join(to, "table"))
        shutil.copy(sql, os.path.join(to, "table.sql"))
        subprocess.run(["chmod", "-R", "a+rX", to], check=True)
        return to, {"path": os.path.join(to, "table"), "definition": os.path.join(to, "table.sql"), "format": "mergetree"}


def value(ch, v):
    """A value of JSONCompactEachRow as the corpus has it (mergetree.py): maps as pairs."""
    name, args = mergetree.parse_type(ch)
    if v is None:
        return None
    if name in ("Nullable", "LowCardinality"):
        return value(args[0], v)
    if name == "SimpleAggregateFunction":
        return value(args[1], v)
    if name == "Array":
        return [value(args[0], x) for x in v]
    if name == "Map":
        return [[k if args[0] == "String" else int(k), value(args[1], x)] for k, x in v.items()]
    if name == "FixedString":
        return {"$hex": v.encode().hex()}
    if name in ("DateTime", "DateTime64"):
        return v.rstrip("Z") + "+00:00"
    if name == "Tuple":
        types = [mergetree.element_type(a) for a in args]
        if isinstance(v, dict):
            return {k: value(t, x) for t, (k, x) in zip(types, v.items())}
        return [value(t, x) for t, x in zip(types, v)]
    return v


class Tester:
    def __init__(self, work):
        self.ch = ClickHouse(work)
        self.run = mergetree.Runner(None)
        self.passed = self.failed = self.refused = 0

    def query(self, sql):
        r = self.run.db.simple(sql)[-1]
        return r, [[None if v is None else json.loads(v, parse_float=Decimal) for v in row] for row in r.rows or []]

    def fail(self, what):
        self.failed += 1
        print("FAILED: " + what[:1500])
        print("    " + ";\n    ".join(self.ch.said) + ";\n")
        return False

    def check(self, order, conditions=("true",), final=False, may_refuse=False):
        """All rows, and how many there are under each condition."""
        columns = self.ch.columns()
        from_ = "w.t FINAL" if final else "w.t"
        names = ", ".join("`" + c["name"] + "`" for c in columns)
        want = [[value(c["type"], v) for c, v in zip(columns, row)]
                for row in self.ch.rows(f"SELECT {names} FROM {from_} ORDER BY {order}")]
        where, options = self.ch.copy()
        if final:
            options["final"] = "true"
        try:
            return self.compare(columns, order, want, options, conditions, from_, may_refuse)
        finally:
            if self.failed == 0:
                shutil.rmtree(where)

    def compare(self, columns, order, want, options, conditions, from_, may_refuse):
        self.run.declare(columns, options, [dict(zip([c["name"] for c in columns], row)) for row in want])
        cols = ", ".join(f"to_jsonb({c['as']})" for c in columns)
        for threads in (1, 4):
            self.run.must(f"SET analytics_fdw.max_threads = {threads}")
            r, got = self.query(f"SELECT {cols} FROM t ORDER BY {order}")
            if r.sqlstate == "0A000" and may_refuse:
                self.refused += 1
                return True
            if r.sqlstate:
                return self.fail(f"{r.sqlstate} {r.message}")
            if len(got) != len(want):
                return self.fail(f"{len(got)} rows where ClickHouse has {len(want)}")
            for w, g in zip(want, got):
                for c, x, y in zip(columns, w, g):
                    if not mergetree.fits(c["type"], x, y):
                        return self.fail(f"column {c['name']} {c['type']}: {y} where ClickHouse has {x}, in row {w}")
        for c in conditions:
            theirs = self.ch.rows(f"SELECT count(), sum(id) FROM {from_} WHERE {c}")[0]
            r, ours = self.query(f"SELECT to_jsonb(count(*)), to_jsonb(coalesce(sum(id), 0)) FROM t WHERE {c}")
            if r.sqlstate or ours[0] != theirs:
                return self.fail(f"{r.sqlstate and r.message or ours[0]} where ClickHouse has {theirs}: {c}")
        self.passed += 1
        return True


# ---- histories --------------------------------------------------------------------------------

# Columns: type, default of new values in terms of `number`, new values of an update.
COLUMNS = {
    "s": ("String", "concat('s', toString(number % 50))", ["concat('u', toString(id % 30))", "'upd'", "''"]),
    "v": ("UInt64", "number * 2", ["v + 1000", "7", "id"]),
    "n": ("Nullable(Int32)", "if(number % 4 = 0, NULL, toInt32(number))", ["NULL", "-id", "coalesce(n, 1) + 1"]),
    "l": ("LowCardinality(String)", "toString(number % 9)", ["concat('p', toString(id % 4))", "'z'"]),
    "ln": ("LowCardinality(Nullable(String))", "if(number % 3 = 0, NULL, toString(number % 5))", ["NULL", "'q'"]),
    "a": ("Array(Int32)", "range(number % 4)", ["[]", "[toInt32(id), 5]", "arrayMap(x -> x + 1, a)"]),
    "an": ("Array(Nullable(String))", "[NULL, toString(number)]", ["['x', NULL]", "[]"]),
    "m": ("Map(String, UInt8)", "map('k', toUInt8(number % 200))", ["map('a', 1, 'b', 2)", "map()"]),
    "tp": ("Tuple(x Int32, y String)", "(toInt32(number), 'y')", ["(1, 'one')", "(tp.x, concat(tp.y, '!'))"]),
    "d": ("Decimal(12, 3)", "toDecimal64(number, 3)", ["toDecimal64(1.5, 3)", "d + toDecimal64(1, 3)"]),
    "fs": ("FixedString(4)", "toFixedString('abcd', 4)", ["toFixedString('wxyz', 4)"]),
    "e": ("Enum8('one' = 1, 'two' = 2, 'three' = 3)", "toInt8(number % 3 + 1)", ["'two'", "'three'"]),
    "ts": ("DateTime('UTC')", "toDateTime(1700000000 + number, 'UTC')", ["toDateTime(0, 'UTC')", "ts + 3600"]),
    "f": ("Float64", "number / 8", ["-0.5", "f * 2"]),
    "b": ("Bool", "number % 2 = 0", ["true", "NOT b"]),
    "z": ("UInt32", "0", ["1", "id"]),
}
CONDITIONS = {
    "s": ["s = 'upd'", "s = 's7'", "s LIKE 'u1%'", "s IN ('', 's3', 'u5')"],
    "v": ["v = 7", "v > 1000", "v < 50", "v BETWEEN 100 AND 300"],
    "n": ["n IS NULL", "n < 0", "n > 150"],
    "l": ["l = 'z'", "l = '3'", "l > 'p'"],
    "ln": ["ln IS NULL", "ln = 'q'"],
    "d": ["d = 1.5", "d > 100"],
    "b": ["b", "NOT b"],
    "z": ["z = 0", "z = 1"],
    "f": ["f < 0"],
}
INDEXES = {"s": ["bloom_filter(0.01)", "ngrambf_v1(2, 256, 2, 0)", "set(100)"], "v": ["minmax"], "n": ["minmax", "set(100)"],
           "l": ["set(10)", "bloom_filter"], "d": ["minmax"], "z": ["minmax"]}


class History:
    """A table under random statements."""

    def __init__(self, rnd, ch):
        self.rnd, self.ch = rnd, ch
        self.cols = rnd.sample(sorted(COLUMNS), rnd.randint(2, 8))
        self.later = [c for c in sorted(COLUMNS) if c not in self.cols]
        self.next = 0
        self.renamed = {}
        ch.begin()
        wide = rnd.random() < 0.5
        skips = [f"INDEX i{c} {c} TYPE {rnd.choice(INDEXES[c])} GRANULARITY {rnd.choice((1, 2))}"
                 for c in self.cols if c in INDEXES and rnd.random() < 0.7]
        fields = ["id UInt32", "k UInt8"] + [f"{c} {COLUMNS[c][0]}" for c in self.cols]
        by = rnd.choice(["", "", "PARTITION BY k "])
        key = rnd.choice(["id", "(k, id)", "(id % 7, id)"])
        version = f"patch_parts_version = '{rnd.choice(('v1', 'v2'))}', " if ch.rows(
            "SELECT count() FROM system.merge_tree_settings WHERE name = 'patch_parts_version'")[0][0] else ""
        ch.say(f"CREATE TABLE w.t ({', '.join(fields + skips)}) ENGINE = MergeTree {by}ORDER BY {key} SETTINGS "
               f"min_bytes_for_wide_part = {0 if wide else 10**12}, min_rows_for_wide_part = {0 if wide else 10**12}, "
               f"index_granularity = {rnd.choice((16, 64, 8192))}, enable_block_number_column = 1, enable_block_offset_column = 1, "
               f"{version}apply_patches_on_merge = {rnd.choice((0, 1))}, max_bytes_to_merge_at_max_space_in_pool = 1, "
               f"ratio_of_defaults_for_sparse_serialization = {rnd.choice((0.5, 1.0))}")
        self.insert()

    def now(self, c):
        return self.renamed.get(c, c)

    def insert(self):
        n = self.rnd.choice((1, 40, 150, 400))
        cols = ", ".join(["id", "k"] + [self.now(c) for c in self.cols])
        exprs = ", ".join(["toUInt32(number)", "toUInt8(number % 3)"] + [COLUMNS[c][1] for c in self.cols])
        self.ch.say(f"INSERT INTO w.t ({cols}) SELECT {exprs} FROM numbers({self.next}, {n})")
        self.next += n

    def where(self):
        r = self.rnd
        lo = r.randrange(self.next)
        return r.choice([f"id BETWEEN {lo} AND {lo + r.choice((0, 10, 100))}", f"id % {r.choice((2, 3, 7, 20))} = 0",
                         f"k = {r.randrange(3)} AND id > {lo}", f"id = {lo}", f"id IN ({lo}, {lo // 2}, {lo // 3})"])

    def assign(self):
        out = []
        for c in self.rnd.sample(self.cols, self.rnd.randint(1, min(3, len(self.cols)))):
            e = self.rnd.choice(COLUMNS[c][2])
            out.append(f"{self.now(c)} = " + re.sub(rf"\b{c}\b(?!')", self.now(c), e))
        return ", ".join(out)

    def update(self):
        self.ch.say(f"UPDATE w.t SET {self.assign()} WHERE {self.where()}")

    def delete(self):
        self.ch.say(f"DELETE FROM w.t WHERE {self.where()}")

    def merge(self):
        self.ch.say("OPTIMIZE TABLE w.t" + self.rnd.choice(["", " FINAL"]))

    def mutate(self):
        self.ch.say(f"ALTER TABLE w.t UPDATE {self.assign()} WHERE {self.where()}")

    def mutate_delete(self):
        self.ch.say(f"ALTER TABLE w.t DELETE WHERE {self.where()}")

    def add(self):
        if not self.later:
            return
        c = self.later.pop()
        self.cols.append(c)
        default = {"v": " DEFAULT 5", "s": " DEFAULT 'new'", "d": " DEFAULT 2.5"}.get(c, "")
        self.ch.say(f"ALTER TABLE w.t ADD COLUMN {c} {COLUMNS[c][0]}{default}")

    def patches(self):
        n = self.rnd.random()
        if n < 0.5:
            self.ch.say(f"ALTER TABLE w.t MODIFY SETTING apply_patches_on_merge = {self.rnd.choice((0, 1))}")
        elif n < 0.7:
            self.ch.say("ALTER TABLE w.t APPLY PATCHES")

    def go(self, steps):
        kinds = [self.insert] * 3 + [self.update] * 8 + [self.delete] * 3 + [self.merge] * 3 + [self.mutate, self.mutate_delete,
                                                                                               self.add, self.patches]
        for _ in range(steps):
            self.rnd.choice(kinds)()

    def conditions(self):
        return [c for col in self.cols for c in CONDITIONS.get(col, []) if col not in self.renamed]


def history(t, rnd):
    h = History(rnd, t.ch)
    h.go(rnd.randint(1, 12))
    t.check("id", h.conditions() + ["true"])


# ---- rows that replace others -------------------------------------------------------------------

ENGINES = ["ReplacingMergeTree", "ReplacingMergeTree(ver)", "ReplacingMergeTree(ver, gone)", "CollapsingMergeTree(sign)",
           "VersionedCollapsingMergeTree(sign, ver)", "SummingMergeTree", "SummingMergeTree((a, b))",
           "AggregatingMergeTree", "CoalescingMergeTree"]


def final(t, rnd):
    """Any engine of which FINAL makes other rows: with parts that overlap or not, several rows of a
    key in one part, deletes and updates."""
    ch = t.ch
    engine = rnd.choice(ENGINES)
    simple = "SimpleAggregateFunction({}, {})".format if engine.startswith("Aggr") else lambda f, x: x
    ch.begin()
    ch.say("SET optimize_on_insert = 0")
    wide = rnd.choice((0, 10**12))
    key = rnd.choice(["k, name", "name, k"])
    by = rnd.choice(["", "", "PARTITION BY k % 3 "])
    nested = engine.startswith("Summing") and rnd.random() < 0.7
    maps = rnd.choice(["key UInt8", "key String", "key Int64"])
    ch.say("CREATE TABLE w.t (id UInt32, k UInt16, name String, ver UInt32, gone UInt8, sign Int8, "
           f"a {simple('sum', 'Int64')}, b {simple('sumWithOverflow', 'Int16')}, f {simple('max', 'Nullable(Float64)')}, "
           f"n {simple('anyLast', 'Nullable(Int32)')}, s {simple('min', 'Nullable(String)')}, "
           f"arr {simple('groupArrayArray', 'Array(Int32)')}"
           + (f", cMap Nested({maps}, v UInt8, w Float64)" if nested else "") +
           f") ENGINE = {engine} {by}ORDER BY ({key}) SETTINGS min_bytes_for_wide_part = {wide}, index_granularity = "
           f"{rnd.choice((16, 64, 8192))}, enable_block_number_column = 1, enable_block_offset_column = 1, "
           "max_bytes_to_merge_at_max_space_in_pool = 1, min_rows_for_wide_part = 0, allow_dimensions_outside_sorting_key = 1")
    at, keys = 0, rnd.choice((5, 50, 400))
    for _ in range(rnd.randint(1, 5)):
        n = rnd.choice((1, 30, 300, 3000))
        h = [f"cityHash64(number, {rnd.randrange(100)})" for _ in range(12)]
        low = rnd.choice((0, 0, keys))
        key_of_map = f"toString({h[9]} % 5)" if "String" in maps else f"{h[9]} % 5"
        ch.say(f"INSERT INTO w.t SELECT number + {at}, {low} + {h[0]} % {keys} AS k, concat('n', toString({h[1]} % 3)), {h[2]} % 4, "
               f"if({h[3]} % 5 = 0, 1, 0), if({h[4]} % 3 = 0, -1, 1), if(k % 4 = 0, 0, toInt64({h[5]} % 7) - 3), "
               f"if(k % 4 = 0, 0, toInt16({h[6]} % 60000 - 30000)), if({h[7]} % 3 = 0, NULL, {h[7]} % 64 / 8), "
               f"if({h[8]} % 3 = 0, NULL, {h[8]} % 100), if({h[8]} % 4 = 1, NULL, toString({h[5]} % 20)), range({h[3]} % 3)"
               + (f", [{key_of_map}, {key_of_map.replace('9', '7')}], [{h[10]} % 3, 200], [{h[11]} % 2, 0.5]" if nested else "") +
               f" FROM numbers({n})")
        at += n
        what = rnd.uniform(0.3 if engine.startswith(("Summing", "Agg", "Coal")) else 0, 1)
        if what < 0.15:
            ch.say(f"DELETE FROM w.t WHERE id % {rnd.choice((2, 5))} = 1")
        elif what < 0.3:
            ch.say(f"UPDATE w.t SET a = 17, s = NULL WHERE id % {rnd.choice((2, 5))} = 1")
        elif what < 0.45:
            ch.say("OPTIMIZE TABLE w.t")
    counts = [] if engine.startswith("Summing") else ["true", "k < 20", "k = 7", "name = 'n1' AND k > 10", "a < 0", "s IS NULL", "ver = 2"]
    order = "k, name, ver, id" if not engine.startswith(("Summing", "Agg")) else "k, name"
    t.check(order, counts, final=True)


# ---- pending changes ------------------------------------------------------------------------------

def pending(t, rnd):
    """Changes of columns that the parts have not seen: merges and mutations are stopped.  Each table
    gets some, before, between and after inserts."""
    ch = t.ch
    ch.begin()
    wide = rnd.choice((0, 10**12))
    nested = ", nest Nested(x Int32, y String)" if rnd.random() < 0.4 else ""
    ch.say("CREATE TABLE w.t (id UInt32, a Int32, b String, c Nullable(Int32), d UInt8 DEFAULT a % 7, e LowCardinality(String), "
           f"arr Array(Int32), m Map(String, Int32), f FixedString(3), dt DateTime('UTC'), INDEX ia a TYPE minmax GRANULARITY 1, "
           f"INDEX ib b TYPE set(10) GRANULARITY 1{nested}) ENGINE = MergeTree ORDER BY id SETTINGS min_bytes_for_wide_part = {wide}, "
           f"min_rows_for_wide_part = 0, index_granularity = {rnd.choice((16, 8192))}, enable_block_number_column = 1, "
           "enable_block_offset_column = 1")
    have = ["a", "b", "c", "d", "e", "arr", "m", "f", "dt"]
    fresh = iter(["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"])
    types = {"a": "Int32", "b": "String", "c": "Nullable(Int32)", "d": "UInt8", "e": "LowCardinality(String)", "arr": "Array(Int32)",
             "m": "Map(String, Int32)", "f": "FixedString(3)", "dt": "DateTime('UTC')"}
    values = {"Int32": "toInt32(number) - 50", "String": "toString(number % 20)", "Nullable(Int32)": "if(number % 3 = 0, NULL, number)",
              "UInt8": "number % 100", "LowCardinality(String)": "toString(number % 5)", "Array(Int32)": "[number, 2]",
              "Map(String, Int32)": "map('k', number)", "FixedString(3)": "toFixedString(toString(number % 9), 3)",
              "DateTime('UTC')": "toDateTime(number * 100000, 'UTC')", "Int64": "number - 20", "Float64": "number / 4",
              "Nullable(String)": "if(number % 2 = 0, NULL, 'q')", "Decimal(10, 2)": "number", "Date": "toDate(number)",
              "Nullable(Int64)": "number", "UInt64": "number", "UInt16": "number", "Bool": "number % 2 = 0"}
    wider = {"Int32": ["Int64", "Nullable(Int32)", "String", "Float64"], "String": ["LowCardinality(String)", "Nullable(String)"],
             "Nullable(Int32)": ["Nullable(Int64)"], "UInt8": ["UInt16", "UInt64", "Int32", "String"], "LowCardinality(String)": ["String"],
             "FixedString(3)": ["String"], "DateTime('UTC')": ["Date"], "Int64": ["String", "Decimal(10, 2)"]}
    at = 0

    def insert():
        nonlocal at
        n = rnd.choice((1, 20, 100))
        cols = [c for c in have if rnd.random() < 0.9]
        ch.say(f"INSERT INTO w.t ({', '.join(['id'] + cols)}) SELECT " + ", ".join([f"number + {at}"] + [values[types[c]] for c in cols]) +
               f" FROM numbers({n})")
        at += n

    def add():
        c = next(fresh, None)
        if c is None:
            return
        types[c] = rnd.choice(sorted(values))
        default = ""
        if types[c] in ("Int32", "Int64", "UInt16", "Float64") and rnd.random() < 0.6:
            default = rnd.choice([" DEFAULT 7", " DEFAULT id + 1", " DEFAULT length(toString(id))", " MATERIALIZED id * 2"])
        elif types[c] == "String" and rnd.random() < 0.6:
            default = rnd.choice([" DEFAULT 'none'", " DEFAULT concat('d', toString(id))"])
        if "MATERIALIZED" not in default:
            have.append(c)
        ch.say(f"ALTER TABLE w.t ADD COLUMN {c} {types[c]}{default}")

    def drop():
        c = rnd.choice(have)
        if c in ("a", "b"):
            return
        have.remove(c)
        ch.say(f"ALTER TABLE w.t DROP COLUMN {c}")
        if rnd.random() < 0.4:
            have.append(c)
            types[c] = rnd.choice(sorted(values))
            ch.say(f"ALTER TABLE w.t ADD COLUMN {c} {types[c]}")

    def rename():
        c, to = rnd.choice(have), next(fresh, None)
        if to is None or c in ("a", "b", "d") or any("ALTER" in x and "ADD" not in x for x in ch.said):
            return  # it would wait for what is pending
        have[have.index(c)] = to
        types[to] = types[c]
        ch.say(f"ALTER TABLE w.t RENAME COLUMN {c} TO {to}")

    def modify():
        c = rnd.choice(have)
        if types[c] not in wider or c in ("a", "b"):
            return
        types[c] = rnd.choice(wider[types[c]])
        ch.say(f"ALTER TABLE w.t MODIFY COLUMN {c} {types[c]}")

    def clear():
        # Of cleared arrays in Compact parts 26.9 shows as many zeros as there were elements.
        c = rnd.choice(have)
        if c not in ("a", "b") and not types[c].startswith(("Array", "Map")):
            ch.say(f"ALTER TABLE w.t CLEAR COLUMN {c}")

    def rows():
        ch.say(rnd.choice(["ALTER TABLE w.t UPDATE a = a + 1 WHERE id % 3 = 0", "ALTER TABLE w.t DELETE WHERE id % 5 = 1"]))

    def index():
        ch.say(rnd.choice(["ALTER TABLE w.t CLEAR INDEX ia", "ALTER TABLE w.t DROP INDEX IF EXISTS ib"]))

    insert()
    insert()
    for _ in range(rnd.choice((0, 0, 1, 2))):
        c = rnd.choice(["c = -id", "e = 'upd', a = 10", "arr = [7]", "dt = toDateTime(0, 'UTC')", "b = '3'", "d = 5"])
        ch.say(f"UPDATE w.t SET {c} WHERE id % {rnd.choice((2, 3))} = 0")
    ch.session.query("SET alter_sync = 0, mutations_sync = 0")
    ch.say("SYSTEM STOP MERGES w.t")
    try:
        for _ in range(rnd.randint(1, 6)):
            # What comes behind a change of a name waits for it.
            renamed = any("RENAME" in x for x in ch.said)
            rnd.choice([insert] + ([] if renamed else [add, add, drop, rename, modify, modify, clear, rows, index]))()
        t.check("id", ["true", "a = 10", "a > 30", "b = '3'", "b IN ('7', '8')"], may_refuse=True)
    finally:
        ch.session.query("SYSTEM START MERGES w.t")
        ch.session.query("SET alter_sync = 1, mutations_sync = 2")


TOPICS = {"history": history, "final": final, "pending": pending}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tables", type=int, default=20)
    p.add_argument("topic", nargs="*", help=" ".join(TOPICS))
    args = p.parse_args()
    if session is None:
        print("== corpus-clickhouse: 0 passed, 0 failed (no chdb)")
        return
    t = Tester(os.environ.get("AX_SCRATCH") or tempfile.mkdtemp())
    for topic in args.topic or TOPICS:
        before = t.failed
        for n in range(args.tables):
            seed = args.seed * 1000 + n
            try:
                TOPICS[topic](t, random.Random(seed))
            except RuntimeError as e:
                print(f"{topic} {seed}: ClickHouse says {str(e)[:300]}: {t.ch.said[-1]}")
            except mergetree.pgwire.Lost as e:
                t.fail(f"connection lost: {e}")
                t.run = mergetree.Runner(None)
            if t.failed > before:
                print(f"--seed {args.seed}, table {n} of {topic}")
                break
    print(f"== corpus-clickhouse: {t.passed} passed, {t.failed} failed ({t.refused} refused)")
    sys.exit(t.failed > 0)


if __name__ == "__main__":
    main()
