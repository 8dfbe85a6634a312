#!/usr/bin/env python3
"""PostgreSQL's own regression queries over Parquet twins of its tables: pgtwins.py SRC [FILE...]

SRC is src/test/regress of the sources of the server that listens (15 or newer). The tables of
test_setup.sql (tenk1, onek, int8_tbl, person and so on) are made in two databases; in one of them
each is written to a Parquet file by our generator and replaced by a foreign table of that file.
Then every statement of the files FILE (default: FILES) runs in both, first with the settings as
they are, then in plans that are parallel whenever they may be, and what queries return is
compared: column types, rows (in order if the statement ends in an ORDER BY), SQLSTATE.

What the foreign side refuses and is no query, as an UPDATE, is kept from the heap side too, so that
the tables stay twins. Not run: COPY FROM stdin and what ends in a command of psql, as \\gset.
"""

import os
import re
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), *parts)
                for parts in (("..", "gen"), ("..", "..", "test", "diff"))]
from make_parquet import Column, Layout, write
from pgwire import Connection, Lost

FILES = ("select select_distinct select_distinct_on select_having select_implicit aggregates "
         "groupingsets join join_hash subselect union limit window with case arrays boolean int8 "
         "expressions equivclass incremental_sort memoize tuplesort select_parallel portals "
         "prepare plancache rangefuncs rowtypes tsrf tid random misc").split()
# Values as text can be read by these types of the generator and their columns by any type.
KINDS = {"smallint": ("int16", int), "integer": ("int32", int), "bigint": ("int64", int),
         "double precision": ("double", float), "real": ("float", float),
         "boolean": ("bool", lambda v: v == "true")}
# What may differ, and why.
EXCUSED = (
    (r"tablesample", "a foreign table has no TABLESAMPLE"),
    (r"^fetch\b", "a scan goes forward only, so a cursor must say SCROLL; and returns rows in its"
     " own order, which nobody can ask a cursor for again"),
    (r"explain", "shows a plan"),
    (r"\b(ctid|xmin|cmin|tableoid)\b", "system columns tell of the table's storage"),
    (r"pg_(class|attribute|proc|type|depend|locks|cursors|relation_size|stat)",
     "the catalogue differs"),
    (r"random\(\)", "random"),
)
PARALLEL = {"parallel_setup_cost": "0", "parallel_tuple_cost": "0",
            "max_parallel_workers_per_gather": "4", "min_parallel_table_scan_size": "0"}
FIRST_OWN_OID = 16384
IS_QUERY = re.compile(r"\(*\s*(select|with|values|table|fetch|execute)\b", re.I)


TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)|\be'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|\"[^\"]*\"|"
    r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|(?P<psql>\\[^\n]*)|(?P<mark>[;()])", re.S | re.I)


def statements(text):
    """The statements of a script for psql, without those that a command of psql ends."""
    text = re.sub(r"^copy [^;]*from stdin[^;]*;\n.*?^\\\.\n", "", text, flags=re.I | re.M | re.S)
    statement, at, depth = "", 0, 0
    for match in TOKEN.finditer(text):
        statement += text[at:match.start()]
        at = match.end()
        mark = match["mark"]
        if match["psql"] or (mark == ";" and depth <= 0):
            if mark and statement.strip():
                yield statement.strip()
            statement, depth = "", 0
        elif not match["comment"]:
            statement += match.group(0)
            depth += (mark == "(") - (mark == ")")


def psql(database, script, **settings):
    """Runs a script; errors, as of a role that exists already, do not end it."""
    done = subprocess.run(["psql", "-Xq", "-d", database, "-f", "-"], input=script, text=True,
                          env={**os.environ, **settings}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.stderr


def rows_of(connection, sql):
    result = connection.simple(sql)[-1]
    if result.sqlstate:
        sys.exit("pgtwins: %s: %r" % (sql, result))
    return result.rows


def foreign_table(connection, oid, name, parents):
    """Writes a table's own rows to a file; the definition of the foreign table of it."""
    columns = rows_of(connection, """
        SELECT attname, quote_ident(attname), format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum""" % oid)
    if not columns:
        return ""
    path = os.path.join(os.environ["AX_SCRATCH"], name + ".parquet")
    kinds = [KINDS.get(kind, ("string", str)) for _, _, kind in columns]
    rows = rows_of(connection, "SELECT %s FROM ONLY %s" % (
        ", ".join(quoted + "::text" for _, quoted, _ in columns), name))
    write(path, [Column(column[0], kind) for column, (kind, _) in zip(columns, kinds)],
          [[None if v is None else read(v) for v, (_, read) in zip(row, kinds)] for row in rows],
          Layout(row_group_rows=2048, page_rows=500))
    os.chmod(path, 0o644)
    return """
        DROP TABLE IF EXISTS %s CASCADE;
        CREATE FOREIGN TABLE %s (%s) %s SERVER analytics_fdw OPTIONS (path '%s');""" % (
            name, name, ", ".join("%s %s" % (quoted, kind) for _, quoted, kind in columns),
            "INHERITS (%s)" % parents if parents else "", path)


def set_up(source):
    """Databases "heap" and "parquet"."""
    with open(os.path.join(source, "sql", "test_setup.sql"), encoding="utf-8") as f:
        script = f.read()
    for database in ("heap", "parquet"):
        psql("postgres", "CREATE DATABASE %s TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
             % database)
        psql(database, script, PG_ABS_SRCDIR=source)
    connection = Connection("heap")
    tables = rows_of(connection, """
        SELECT c.oid, quote_ident(relname),
               (SELECT string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno)
                FROM pg_inherits WHERE inhrelid = c.oid)
        FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        ORDER BY 1""")
    script = "CREATE EXTENSION analytics_fdw;" + "".join(
        foreign_table(connection, *table) for table in tables)
    connection.close()
    errors = [line for line in psql("parquet", script).splitlines() if "ERROR" in line]
    if errors:
        sys.exit("pgtwins: set-up failed\n" + "\n".join(errors))


class Pair:
    """A connection to each database; the foreign side goes first."""

    def __init__(self, settings):
        self.foreign, self.heap = (Connection(d, timeout=900) for d in ("parquet", "heap"))
        for side in (self.foreign, self.heap):
            for name, value in settings.items():
                rows = side.simple("SET %s = %s" % (name, value))
                assert not rows[-1].sqlstate, rows

    def run(self, statement):
        """(foreign, heap) results; None for a heap side that was spared."""
        foreign, heap = self.foreign.simple(statement)[-1], None
        if IS_QUERY.match(statement) or not foreign.sqlstate:
            heap = self.heap.simple(statement)[-1]
        # When a transaction has failed here, the other side's shall have failed too.
        if foreign.sqlstate and self.foreign.simple("SELECT 1")[-1].sqlstate == "25P02":
            self.heap.simple("SELECT 1/0")
        return foreign, heap


    def same_in_order(self, statement, heap):
        """Whether the results are the same when rows come as they stand in the file: that decides,
        for instance, what a window without ORDER BY sees."""
        if heap.sqlstate:
            return False
        self.foreign.simple("SET analytics_fdw.max_threads = 1")
        again = self.foreign.simple(statement)[-1]
        self.foreign.simple("RESET analytics_fdw.max_threads")
        return same(statement, again, heap)


def is_ordered(statement):
    """Whether the outermost level has an ORDER BY."""
    depth = 0
    for match in re.finditer(r"'(?:[^']|'')*'|[()]|\border\s+by\b", statement, re.I):
        token = match.group(0)
        if depth == 0 and token[0] in "oO":
            return True
        depth += (token == "(") - (token == ")")
    return False


def types_of(result):
    """The types of a result's columns; each database numbers its own ones."""
    return result.types and [oid if oid < FIRST_OWN_OID else None for oid in result.types]


def same(statement, foreign, heap):
    if foreign.sqlstate != heap.sqlstate or types_of(foreign) != types_of(heap):
        return False
    if is_ordered(statement):
        return foreign.raw == heap.raw
    return sorted(foreign.raw) == sorted(heap.raw)


def run(source, files, settings):
    """(statements run, statements compared, statements that differ)"""
    count = compared = failed = 0
    for name in files:
        pair = Pair({"statement_timeout": "'600s'", "datestyle": "'Postgres, MDY'",
                     "timezone": "'PST8PDT'", **settings})
        with open(os.path.join(source, "sql", name + ".sql"), encoding="utf-8") as f:
            text = f.read()
        for statement in statements(text):
            count += 1
            try:
                foreign, heap = pair.run(statement)
            except Lost as e:
                print("---- %s: %s\n%s;" % (name, e, statement))
                failed += 1
                break
            if heap is None or not IS_QUERY.match(statement):
                continue
            if any(re.search(pattern, statement, re.I) for pattern, _ in EXCUSED):
                continue
            compared += 1
            if not same(statement, foreign, heap) and not pair.same_in_order(statement, heap):
                failed += 1
                print("---- %s\n%s;\n  heap table:    %.700r\n  foreign table: %.700r"
                      % (name, statement, heap, foreign))
    return count, compared, failed


def main():
    if len(sys.argv) < 2 or not os.path.exists(os.path.join(sys.argv[1], "sql", "test_setup.sql")):
        sys.exit(__doc__)
    source, files = sys.argv[1], sys.argv[2:] or FILES
    set_up(source)
    passed = failed = 0
    forced = rows_of(Connection("heap"), "SELECT name FROM pg_settings WHERE name IN"
                     " ('force_parallel_mode', 'debug_parallel_query') ORDER BY 1")[0][0]
    for title, settings in (("as set", {}), ("parallel", {**PARALLEL, forced: "on"})):
        count, compared, differ = run(source, files, settings)
        print("%s: %d statements, %d queries compared" % (title, count, compared))
        passed, failed = passed + compared - differ, failed + differ
    print("== pgtwins: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
