#!/usr/bin/env python3
"""Differential test: every query of test/diff/*.sql on foreign tables and on their heap twins.

The twins are filled from build/testdata/twin.sql, which the generator wrote beside the files, so
our own reader is not its own judge. Each query runs on the twin once and on the foreign tables
once per variant: all optimisations, each boolean setting switched off, one thread and four, and
as a prepared statement with a generic plan. Compared are the result's text (as a bag of lines
unless the query ends in an ORDER BY at its outermost level) and the SQLSTATE of errors.

Query files hold statements that end in `;` at the end of a line. Comments start with `--`.
Usage, inside `private-server.sh exec`: diff.py [--self] [TOPIC...]; --self compares the twin with
itself, which tests the queries and this program.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

FOREIGN = {"types": "types.parquet", "events": "events.parquet", "customers": "customers.parquet",
           "decimals": "decimals.parquet",
           "parts": "parts/*.parquet", "instants": "instants.parquet", "empty": "empty.parquet",
           "nulls": "nulls.parquet"}
# Tables of many files whose columns are not simply those of the first.
DECLARED = {
    "tree": ("id int NOT NULL, v float8, region text, day date", "tree/region={,[!b]*}/**"),
    "evolved": ("id int8 NOT NULL, name text, amount float8, note text", "evolved/*"),
    "many": ("id int8 NOT NULL, s text, k int", "many")}
MERGETREE = {"visits": "visits"}
MARK = "@@ query "
SHOWN = 12      # lines of each side shown for a failure
SETTINGS = ["SET TimeZone = 'Europe/Berlin'", "SET statement_timeout = '60s'"]


def psql(script, verbosity="sqlstate"):
    """Runs a script; (stdout, stderr). Errors do not end it."""
    done = subprocess.run(["psql", "-XAtq", "-v", "VERBOSITY=" + verbosity, "-f", "-"],
                          input=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    return done.stdout, done.stderr


def set_up(is_self):
    testdata = os.environ["AX_TESTDATA"]
    script = ["\\set ON_ERROR_STOP on", "CREATE SCHEMA twin", "SET search_path = twin",
              "\\i '%s/twin.sql'" % testdata, "CREATE SCHEMA foreign_side"]
    if not is_self:
        script.append("CREATE EXTENSION analytics_fdw")
    tables = [(name, "", path) for name, path in FOREIGN.items()]
    tables += [(name, columns, path) for name, (columns, path) in DECLARED.items()]
    for name, columns, path in tables:
        if is_self:
            script.append("CREATE VIEW foreign_side.%s AS SELECT * FROM twin.%s" % (name, name))
        else:
            script.append("CREATE FOREIGN TABLE foreign_side.%s (%s) SERVER analytics_fdw"
                          " OPTIONS (path '%s/%s')" % (name, columns, testdata, path))
    for name, path in MERGETREE.items():
        if is_self:
            script.append("CREATE VIEW foreign_side.%s AS SELECT * FROM twin.%s" % (name, name))
        else:
            script.append("CREATE FOREIGN TABLE foreign_side.%s () SERVER analytics_fdw"
                          " OPTIONS (path '%s/%s', definition '%s/%s.sql', format 'mergetree')"
                          % (name, testdata, path, testdata, path))
    out, err = psql("".join(s + ("\n" if s.startswith("\\") else ";\n") for s in script), "terse")
    if err:
        sys.exit("diff: set-up failed\n" + out + err)


def boolean_settings():
    out, _ = psql("SELECT count(*) FROM foreign_side.types;\n"
                  "SELECT name FROM pg_settings WHERE name LIKE 'analytics_fdw.%'"
                  " AND vartype = 'bool' AND setting = 'on' ORDER BY 1;\n")
    return [line for line in out.splitlines() if "." in line]


def variants(is_self):
    """(name, settings, prepared?)"""
    found = [("default", [], False),
             ("prepared", ["SET plan_cache_mode = force_generic_plan"], True)]
    if is_self:
        return found
    for threads in (1, 4):
        found.append(("%d threads" % threads, ["SET analytics_fdw.max_threads = %d" % threads],
                      False))
    names = boolean_settings()
    found += [("without " + n, ["SET %s = off" % n], False) for n in names]
    found.append(("all off", ["SET %s = off" % n for n in names], False))
    return found


def queries_of(path):
    with open(path, encoding="utf-8") as f:
        text = "\n".join(line for line in f.read().split("\n") if not line.startswith("--"))
    return [q.strip() for q in re.split(r";[ \t]*(?:\n|$)", text) if q.strip()]


def split_marked(text):
    parts = re.split("^" + MARK + r"\d+$\n?", text, flags=re.M)
    return [part.strip("\n") for part in parts[1:]]


def run_all(schema, queries, settings, prepared):
    """Per query: (result text, sqlstate or '')."""
    script = [s + ";" for s in SETTINGS + settings + ["SET search_path = " + schema]]
    for number, query in enumerate(queries):
        script += ["\\echo %s%d" % (MARK, number), "\\warn %s%d" % (MARK, number)]
        if prepared:
            script += ["PREPARE q AS %s;" % query, "EXECUTE q;", "DEALLOCATE ALL;"]
        else:
            script.append(query + ";")
    out, err = psql("\n".join(script) + "\n")
    results, errors = split_marked(out), split_marked(err)
    answers = []
    for number in range(len(queries)):
        if number >= len(results) or number >= len(errors):
            answers.append(("", "no answer: connection lost\n" + err[-300:]))
            continue
        states = re.findall(r"(?:ERROR|FATAL|PANIC): +(\w{5})", errors[number])
        # A failed PREPARE makes its EXECUTE fail too; the first error is the cause.
        state = states[0] if states else ""
        if not state and "server closed the connection" in errors[number]:
            state = "connection lost"
        answers.append(("" if state else results[number], state))
    return answers


def is_ordered(query):
    """Whether the statement's outermost level has an ORDER BY."""
    depth = 0
    for match in re.finditer(r"'(?:[^']|'')*'|[()]|\border\s+by\b", query, re.I):
        token = match.group(0)
        depth += (token == "(") - (token == ")")
        if token.lower().startswith("order") and depth == 0:
            return True
    return False


def same(query, left, right):
    if left[1] != right[1]:
        return False
    if is_ordered(query):
        return left[0] == right[0]
    return sorted(left[0].split("\n")) == sorted(right[0].split("\n"))


def show(answer):
    lines = (answer[1] or answer[0]).split("\n")
    more = ["... %d lines more" % (len(lines) - SHOWN)] if len(lines) > SHOWN else []
    return "\n".join("    " + line for line in lines[:SHOWN] + more)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--self", action="store_true", dest="is_self")
    parser.add_argument("topics", nargs="*")
    args = parser.parse_args()
    paths = ["test/diff/%s.sql" % t for t in args.topics] or sorted(glob.glob("test/diff/*.sql"))
    passed = failed = count = 0
    if paths:
        set_up(args.is_self)
        ways = variants(args.is_self)
    for path in paths:
        queries = queries_of(path)
        count += len(set(queries))
        expected = run_all("twin", queries, [], False)
        for name, settings, prepared in ways:
            found = run_all("foreign_side", queries, settings, prepared)
            for query, want, have in zip(queries, expected, found):
                if same(query, want, have):
                    passed += 1
                    continue
                failed += 1
                print("---- %s, %s\n%s;\n  heap table:\n%s\n  foreign table:\n%s" % (
                    path, name, query, show(want), show(have)))
    print("%d distinct queries, %d ways each" % (count, len(ways) if paths else 0))
    print("== diff: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
