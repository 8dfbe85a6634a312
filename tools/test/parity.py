#!/usr/bin/env python3
"""Parity test: every function of src/engine/func/functions.def against the running server.

For each AX_PG line the server's function is looked up by its token, applied to columns that hold
the edge values of its argument types in all combinations, and to a constant in each place; for
each AX_FN line without such a line FORMS (parity_values.py) says what SQL reaches it. A line that
nothing reaches fails, so does an expression that is not pushed down (EXPLAIN must be one Foreign
Scan).

The heap table is PostgreSQL's answer. Compared are type, text (scale, sign of zero and NULL with
it) and, row by row, the SQLSTATE of errors, for two files: dictionary pages and plain ones.
Boolean expressions also stand in WHERE.

Usage, inside `private-server.sh exec`: parity.py [WORD...]; a word restricts to lines of that name
or to expressions that contain it.
"""

import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "diff"))
sys.path.insert(0, os.path.join(ROOT, "tools", "gen"))
import make_parquet as mp  # noqa: E402
import pgwire  # noqa: E402
from parity_values import (CONSTANTS, DECIMALS_B, DECLARED, EDGES, FORMS, KINDS,  # noqa: E402
                           LITERALS, OTHER_VERSIONS, PLACES, QUERIES, TYPE_OF, column, literal)

DEF = os.path.join(ROOT, "src", "engine", "func", "functions.def")
SIDE = 20           # edge values a type; the table has the square of it as rows
CONSTANT = 3        # edge values that are tried as a constant in each place
FAILING = 20        # rows that are asked for each SQLSTATE of an expression


# ---------------------------------------------------------------- functions.def

class Line:
    def __init__(self, name, flags):
        self.name, self.flags = name, flags
        self.tokens = []    # (token, version)
        self.io = []        # (from, to) of casts by output and input functions


def of_version(text, version):
    """Without the lines that `#if PG_VERSION_NUM < n` and its #else exclude."""
    out, keep = [], [True]
    for line in text.split("\n"):
        asked = re.match(r"#if PG_VERSION_NUM (<|>=) (\d+)", line)
        if asked:
            keep.append((version * 10000 < int(asked[2])) == (asked[1] == "<"))
        elif line.startswith("#if"):
            keep.append(True)
        elif line.startswith("#else"):
            keep[-1] = not keep[-1]
        elif line.startswith("#endif"):
            keep.pop()
        elif all(keep):
            out.append(line)
    return "\n".join(out)


def read_def(version):
    with open(DEF, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    text = of_version(text.replace("\\\n", " "), version)
    for macro, body in re.findall(r"#define (\w+)\(T\)(.*)", text):
        text = re.sub(r"^#define %s.*$" % macro, "", text, flags=re.M)
        text = re.sub(r"\b%s\((\w+)\)" % macro,
                      lambda m, b=body: re.sub("##T(##|\\b)", m[1], b), text)
    lines = {}
    for name, flags in re.findall(r'AX_FN\((\w+), "[^"]*", \d+, \w+, (\w+)\)', text):
        lines[name] = Line(name, flags)
    for name, source, target in re.findall(r"AX_PG_IO\((\w+), (\w+)OID, (\w+)OID\)", text):
        lines[name].io.append((TYPE_OF[source], TYPE_OF[target]))
    for name, token, version in re.findall(r"AX_PG\((\w+), (\w+), (\d+)\)", text):
        lines[name].tokens.append((token, int(version)))
    names = list(lines)
    for name, after in zip(names, names[1:]):
        if lines[name].flags == "PATTERN" and not lines[after].tokens:
            lines[after].tokens = lines[name].tokens
    return lines


def server_functions(c):
    """{token: (name, [argument types])} as fmgroids.h names them."""
    rows = c.simple("""SELECT proname,
        coalesce(string_agg(format_type(t.oid, NULL), ';' ORDER BY i), ''),
        coalesce(string_agg(typname, '_' ORDER BY i), '')
        FROM pg_proc p LEFT JOIN LATERAL unnest(proargtypes) WITH ORDINALITY AS u(t, i) ON true
        LEFT JOIN pg_type t ON t.oid = u.t WHERE p.oid < 16384 GROUP BY p.oid, proname""")[-1].rows
    seen = {}
    for row in rows:
        seen[row[0]] = seen.get(row[0], 0) + 1
    out = {}
    for name, types, short in rows:
        token = "F_" + name.upper()
        if seen[name] > 1:
            token += "_" + short.upper() if short else "_"
        types = types.replace("character varying", "text")
        out[token] = (name, types.split(";") if types else [])
    return out


# ---------------------------------------------------------------- expressions

def calls(line, name, types):
    """Expressions that apply a function of the server to columns and constants."""
    collate = ' COLLATE "C"' if line.flags in ("CTYPE_C", "PATTERN_C") else ""

    def arg(i, constant=None):
        if constant is not None:
            return literal(constant, types[i])
        return column(PLACES[i % 3], types[i]) + (collate if types[i] == "text" and i == 0 else "")

    def call(constants):
        args = [arg(i, constants.get(i)) for i in range(len(types))]
        return 'pg_catalog."%s"(%s)' % (name, ", ".join(args))

    fixed = CONSTANTS.get(line.name)
    if isinstance(fixed, dict):
        fixed = fixed.get(tuple(types), fixed.get(None))
    if fixed:
        return [call({place - 1: text for place, text in constants}) for constants in fixed]
    out = [call({})]
    for i, kind in enumerate(types if len(types) > 1 else []):
        edges = [text for _, text in EDGES[kind][1]]
        tried = edges[1:2] + edges[3:4] + edges[-2:-1]
        out += [call({i: text}) for text in tried[:CONSTANT] + LITERALS.get(kind, [])]
    return out


def expressions(lines, functions, version):
    """(line, expression), and the lines that nothing reaches."""
    out, missed = [], []
    for line in lines.values():
        before = len(out)
        for token, since in line.tokens:
            if since > version:
                continue
            if token not in functions:
                missed.append("%s: the server has no %s" % (line.name, token))
                continue
            name, types = functions[token]
            unknown = [t for t in types if t not in EDGES]
            if unknown:
                if line.name not in FORMS:
                    missed.append("%s: no edge values of type %s" % (line.name, unknown[0]))
                continue
            out += [(line.name, e) for e in calls(line, name, types)]
        out += [(line.name, "%s::%s" % (column("a", source), target)) for source, target in line.io]
        out += [(line.name, e) for form in FORMS.get(line.name, []) for e in over_types(form)]
        other = line.name in OTHER_VERSIONS and version not in OTHER_VERSIONS[line.name]
        other = other or any(since > version for _, since in line.tokens)
        if len(out) == before and not other:
            missed.append("%s: no query reaches it" % line.name)
    out += [("kinds", e) for form in KINDS for e in over_types(form)]
    return out, missed


def over_types(form):
    form = form.replace("{E}", "color")
    if "{T}" not in form:
        return [form]
    return [form.replace("{T}", column("a", name)[2:]) for name in EDGES
            if name != "color" or not re.search("<[^>]|>=|BETWEEN|greatest|least", form)]


# ---------------------------------------------------------------- tables

def values_of(name, place):
    """Edge values of a type in one place, NULL among them."""
    kind, edges = EDGES[name]
    if name == "numeric" and place != "a":
        kind, edges = "decimal(9,2)", DECIMALS_B
    return kind, edges[:SIDE - 1] + [(None, None)]


def make_tables(c, folder):
    columns, declared, picks = [mp.Column("id", "int32", True)], ["id integer"], []
    for place in PLACES[:3]:
        for name in EDGES:
            kind, edges = values_of(name, place)
            sql = DECLARED.get(name, name)
            sql = sql[place] if isinstance(sql, dict) else sql
            columns.append(mp.Column(column(place, name), kind))
            declared.append("%s %s" % (column(place, name), sql))
            picks.append((place, edges))
    rows, tuples = [], []
    for i in range(SIDE * SIDE):
        at = {"a": i // SIDE, "b": i % SIDE, "c": i * 7 + i // SIDE}
        row = [edges[at[place] % len(edges)] for place, edges in picks]
        rows.append(tuple([i] + [v for v, _ in row]))
        tuples.append("(%d, %s)" % (i, ", ".join(
            "NULL" if t is None else "'" + t.replace("'", "''") + "'" for _, t in row)))
    script = ["SET client_min_messages = warning", "CREATE EXTENSION IF NOT EXISTS analytics_fdw",
              "CREATE TYPE color AS ENUM ('red', 'green', 'blue')",
              "CREATE TABLE heap (%s)" % ", ".join(declared),
              "INSERT INTO heap VALUES " + ", ".join(tuples)]
    for table, layout in (("dict", dict(row_group_rows=250, page_rows=100, codec="snappy")),
                          ("plain", dict(dictionary=False, statistics=False, page_version=2,
                                         codec="zstd"))):
        path = os.path.join(folder, table + ".parquet")
        mp.write(path, columns, rows, mp.Layout(**layout))
        os.chmod(path, 0o644)
        script.append("CREATE FOREIGN TABLE %s (%s) SERVER analytics_fdw OPTIONS (path '%s')"
                      % (table, ", ".join(declared), path))
    for sql in script:
        answer = c.simple(sql)[-1]
        if answer.sqlstate:
            sys.exit("parity: set-up failed: %s\n%s" % (answer.message, sql[:300]))


# SQLSTATE of an expression on single rows, '' where there is none.
STATES = """CREATE FUNCTION states(tab text, expr text, ids int[]) 
RETURNS TABLE (id int, state text) LANGUAGE plpgsql AS $$
BEGIN
  FOREACH id IN ARRAY ids LOOP
    state := '';
    BEGIN
      EXECUTE format('SELECT (%s) AS v FROM %I WHERE id = %s GROUP BY 1', expr, tab, id);
    EXCEPTION WHEN OTHERS THEN state := SQLSTATE;
    END;
    IF state <> '' OR tab <> 'heap' THEN RETURN NEXT; END IF;
  END LOOP;
END$$"""


def spread(bad):
    """Of rows that fail, some for each SQLSTATE, first and last among them."""
    out = []
    for state in set(bad.values()):
        ids = [i for i, s in bad.items() if s == state]
        out += ids[::len(ids) // FAILING + 1] + ids[-1:]
    return list(dict.fromkeys(out))


class Check:
    def __init__(self, c):
        self.c = c
        self.passed = 0
        self.failures = []

    def rows(self, sql):
        return self.c.simple(sql)[-1]

    def states(self, table, expr, ids):
        answer = self.rows("SELECT * FROM states('%s', $x$%s$x$, '{%s}')" % (
            table, expr, ",".join(ids)))
        if answer.sqlstate:
            return {i: answer.sqlstate for i in ids}
        return dict(answer.rows)

    def fail(self, line, expr, table, why):
        self.failures.append("%s, %s: %s: %s" % (line, table, expr, why))
        print("FAIL " + self.failures[-1], flush=True)

    def is_pushed(self, sql):
        plan = [row[0] for row in self.rows("EXPLAIN (COSTS OFF) " + sql).rows]
        return bool(plan) and plan[0].startswith("Foreign Scan") and not any(
            "->" in text or text.strip().startswith("Filter:") for text in plan), plan

    def reason(self, plan):
        found = [text.strip() for text in plan if "Not Pushed" in text]
        return "not pushed down: " + (found or [" / ".join(t.strip() for t in plan[:3])])[0]

    def query(self, sql):
        """Compares the rows of a query, in any order."""
        want = self.rows(sql.replace("{TAB}", "heap"))
        for table in ("dict", "plain"):
            have = self.rows(sql.replace("{TAB}", table))
            if (have.sqlstate, have.types) != (want.sqlstate, want.types) or sorted(
                    have.raw) != sorted(want.raw):
                self.fail("query", sql, table, "%r for %r" % (have, want))
            else:
                self.passed += 1

    def expression(self, line, expr):
        """Compares one expression on both foreign tables."""
        def query(table, where):
            return "SELECT id, (%s) AS v, count(*) FROM %s %s GROUP BY 1, 2" % (expr, table, where)
        want = self.rows(query("heap", ""))
        bad = {}
        if want.sqlstate:
            bad = self.states("heap", expr, [str(i) for i in range(SIDE * SIDE)])
            where = "WHERE id <> ALL ('{%s}')" % ",".join(bad)
            want = self.rows(query("heap", where))
        where = "WHERE id <> ALL ('{%s}')" % ",".join(bad) if bad else ""
        if want.sqlstate:
            self.fail(line, expr, "heap", "%s %s" % (want.sqlstate, want.message))
            return
        for table in ("dict", "plain"):
            if self.compare(line, expr, table, query, where, want, bad):
                self.passed += 1

    def compare(self, line, expr, table, query, where, want, bad):
        pushed, plan = self.is_pushed(query(table, where))
        if not pushed:
            self.fail(line, expr, table, self.reason(plan))
            return False
        have = self.rows(query(table, where))
        if have.sqlstate or have.types != want.types:
            self.fail(line, expr, table, "%s %s, types %s for %s" % (
                have.sqlstate, have.message, have.types, want.types))
            return False
        if sorted(have.raw) != sorted(want.raw):
            mine, theirs = ({r[0]: r[1] for r in side.rows} for side in (have, want))
            wrong = [i for i in theirs if mine.get(i, "no row") != theirs[i]]
            self.fail(line, expr, table, "%d rows for %d; %d differ, first row %s: %s for %s" % (
                len(have.rows), len(want.rows), len(wrong), wrong[:1],
                [mine.get(i) for i in wrong[:1]], [theirs[i] for i in wrong[:1]]))
            return False
        if bad:
            asked = spread(bad)
            states = self.states(table, expr, asked)
            wrong = [i for i in asked if states.get(i) != bad[i]]
            if wrong:
                self.fail(line, expr, table, "SQLSTATE of row %s: %s for %s (%d rows)" % (
                    wrong[0], states.get(wrong[0]) or "none", bad[wrong[0]], len(wrong)))
                return False
        return want.types[1] != 16 or self.filters(line, expr, table, where, dict(
            r[:2] for r in want.rows))

    def filters(self, line, expr, table, where, truth):
        """A condition: WHERE with it and without it."""
        for form, wanted in (("(%s)", "t"), ("NOT (%s)", "f")):
            sql = "SELECT id FROM %s %s %s" % (
                table, where + " AND" if where else "WHERE", form % expr)
            pushed, plan = self.is_pushed(sql) if wanted == "t" else (True, None)
            if not pushed:
                self.fail(line, form % expr, table, self.reason(plan))
                return False
            have = sorted(r[0] for r in self.rows(sql).rows)
            if have != sorted(i for i, v in truth.items() if v == wanted):
                self.fail(line, form % expr, table, "as a condition: %d rows for %d" % (
                    len(have), sum(v == wanted for v in truth.values())))
                return False
        return True


def main():
    words = sys.argv[1:]
    c = pgwire.Connection()
    version = int(c.simple("SHOW server_version_num")[-1].rows[0][0]) // 10000
    lines = read_def(version)
    todo, missed = expressions(lines, server_functions(c), version)
    todo = [(line, e) for line, e in todo if all(w == line or w in e for w in words)]
    if words and not todo and not any(all(w in sql for w in words) for sql in QUERIES):
        sys.exit("diff-parity: nothing has all of: " + ", ".join(words))
    with tempfile.TemporaryDirectory(dir=os.environ.get("AX_SCRATCH")) as folder:
        os.chmod(folder, 0o755)
        c.simple("SET TimeZone = 'Europe/Berlin'")
        make_tables(c, folder)
        c.simple(STATES)
        # What PostgreSQL computes would agree with it.
        c.simple("SET analytics_fdw.enable_dictionary_service = off")
        check = Check(c)
        for line, expr in dict.fromkeys(todo):
            check.expression(line, expr)
        c.simple("RESET analytics_fdw.enable_dictionary_service")
        for sql in QUERIES:
            if all(w in sql for w in words):
                check.query(sql)
    for what in missed:
        print("FAIL " + what)
    print("== diff-parity: %d lines, %d expressions; %d passed, %d failed" % (
        len(lines), len(set(todo)), check.passed, len(check.failures) + len(missed)))
    return 1 if check.failures or missed else 0


if __name__ == "__main__":
    sys.exit(main())
