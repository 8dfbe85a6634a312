#!/usr/bin/env python3
"""Parity test: every function of src/engine/func/functions.def against the running server.

For each AX_PG line the server's function is looked up by its token, applied to columns that hold
the edge values of its argument types in all combinations, and to a constant in each place; for
each AX_FN line without such a line FORMS below says what SQL reaches it. A line that is reached by
nothing fails, so does an expression that is not pushed down (EXPLAIN must be one Foreign Scan).

The heap table is PostgreSQL's answer. Compared are type, text (scale, sign of zero and NULL with
it) and, row by row, the SQLSTATE of errors, for two files: dictionary pages and plain ones.
Boolean expressions also stand in WHERE.

Usage, inside `private-server.sh exec`: parity.py [WORD...]; a word restricts to lines of that name
or to expressions that contain it.
"""

import os
import re
import struct
import sys
import tempfile
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "diff"))
sys.path.insert(0, os.path.join(ROOT, "tools", "gen"))
import make_parquet as mp  # noqa: E402
import pgwire  # noqa: E402

DEF = os.path.join(ROOT, "src", "engine", "func", "functions.def")
DAY = 86400 * 1000000
SIDE = 20           # edge values a type; the table has the square of it as rows
CONSTANT = 3        # edge values that are tried as a constant in each place
FAILING = 20        # rows that are asked for each SQLSTATE of an expression


# ---------------------------------------------------------------- edge values

def days(year, month, day):
    """Days since 1970 in the proleptic Gregorian calendar; years below 1 are BC."""
    y = year - (month <= 2)
    doy = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return y * 365 + y // 4 - y // 100 + y // 400 + doy - 719468


def date_text(year, month, day):
    return "%04d-%02d-%02d%s" % (year if year > 0 else 1 - year, month, day, "" if year > 0 else " BC")


DATES = [(2000, 1, 1), (1970, 1, 1), (2024, 2, 29), (2023, 12, 31), (2024, 12, 30), (1999, 12, 31),
         (1900, 3, 1), (1, 1, 1), (0, 12, 31), (-4712, 1, 1), (9999, 12, 31), (10000, 1, 1),
         (294246, 12, 31), (2001, 1, 1), (2020, 10, 31), (1582, 10, 15)]
CLOCKS = [0, 1, 43200000000, 86399999999, 3600000000, 12345678, 59999999, 82800000001]


def clock_text(micros):
    return "%02d:%02d:%02d.%06d" % (micros // 3600000000, micros // 60000000 % 60,
                                    micros // 1000000 % 60, micros % 1000000)


def stamps(zone):
    out = []
    for i, date in enumerate(DATES):
        clock = CLOCKS[i % len(CLOCKS)]
        text = date_text(*date).split(" ")
        text.insert(1, clock_text(clock) + zone)
        out.append((days(*date) * DAY + clock, " ".join(text)))
    return out


def same(*values):
    return [(v, str(v)) for v in values]


def decimals(scale, *texts):
    return [(int(round(float(t) * 10**scale)), t) for t in texts]


def floats(*extra):
    named = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, 100.0, 1e10, -1e10,
              float("inf"), float("-inf"), float("nan")] + list(extra)
    return [(v, "NaN" if v != v else named.get(v, repr(v))) for v in values]


def single(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


TEXTS = ["", "a", "abc", "ABC abc", " blank ", "  ", "h\u00e4llo w\u00f6rld", "\u20ac\u4e2d\U0001f600x", "a,b,,c",
         "%_\\", "aaa", "abcabc", "http://x.de/p?q=1", "Zebra\nline", "12", "-7", "tRuE", "x" * 40, "O'Neil-mc donald"]

# type name: (kind in the file, kinds of the places or None, [(value in the file, literal)])
EDGES = {
    "boolean": ("bool", [(True, "true"), (False, "false")]),
    "smallint": ("int16", same(0, 1, -1, 2, 3, -3, 7, 10, 15, 16, 17, 31, 100, 255, 12345, 32767, -32767, -32768, 6)),
    "integer": ("int32", same(0, 1, -1, 2, 3, -3, 5, 7, 31, 32, 33, 100, 1000, 12345, 65536, 2**31 - 1, -2**31,
                              -2**31 + 1, 2024)),
    "bigint": ("int64", same(0, 1, -1, 2, -3, 7, 33, 63, 64, 100, 12345, 10**10, 2**31, -2**31 - 1, 2**53 + 1,
                             2**63 - 1, -2**63, -2**63 + 1, 20)),
    "real": ("float", floats(single(1), single(0x7f7fffff), -single(0x7f7fffff))),
    "double precision": ("double", floats(5e-324, 1.7976931348623157e308, 0.1)),
    "numeric": ("decimal(12,3)", decimals(3, "0.000", "1.000", "-1.000", "0.001", "-0.001", "0.500", "-0.500", "1.500",
                                          "2.500", "-2.500", "10.000", "99.995", "123456.789", "-123456.789",
                                          "999999999.999", "-999999999.999", "7.000", "3.333", "100.000")),
    "text": ("string", [(t, t) for t in TEXTS]),
    "bytea": ("binary", [(b, "\\x" + b.hex()) for b in (
        b"", b"\0", b"a", b"abc", b"\xff\xfe", b"abc\0d", b"\x80", b"ab", b"b", b"\x7f" * 20, b" a ")]),
    "date": ("date", [(days(*d), date_text(*d)) for d in DATES] + [(days(5874897, 12, 31), "5874897-12-31")]),
    "time without time zone": ("time", [(c, clock_text(c)) for c in CLOCKS]),
    "timestamp without time zone": ("timestamp", stamps("")),
    "timestamp with time zone": ("timestamptz", stamps("+00")),
    "interval": ("interval", [((m, d, ms), "%d months %d days %d milliseconds" % (m, d, ms)) for m, d, ms in (
        (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 30, 0), (0, 0, 1), (0, 0, 86400000), (12, 0, 0), (13, 31, 3661001),
        (0, 29, 86400000), (2, 40, 90000000), (1200, 0, 0), (0, 100000, 0), (0, 0, 3600000))]),
    "uuid": ("uuid", [(uuid.UUID(int=i).bytes, str(uuid.UUID(int=i))) for i in (
        0, 1, 2**127, 2**128 - 1, 0x123456789abcdef0123456789abcdef, 255)]),
    "character": ("string", [(t, t) for t in ("", "a", "a ", "ab", "abc  ", "B", "\u00e4\u20ac", "abcde", "  x", "a\t")]),
}
DECLARED = {"character": "character(5)", "numeric": {"a": "numeric(12,3)", "b": "numeric(9,2)", "c": "numeric(9,2)"}}
DECIMALS_B = decimals(2, "0.00", "1.00", "-1.00", "0.01", "-0.01", "0.50", "2.00", "-2.00", "3.00", "0.30", "10.00",
                      "0.05", "1234567.89", "-9999999.99", "9999999.99")
# Constants that no file can hold, tried beside the edge values.
LITERALS = {
    "numeric": ["NaN", "Infinity", "-Infinity", "1.10", "0"],
    "date": ["infinity", "-infinity"],
    "timestamp without time zone": ["infinity", "-infinity"],
    "timestamp with time zone": ["infinity", "-infinity"],
    "interval": ["-1 months 3 days -00:00:01", "-10 days", "1 mon -30 days"],
    "time without time zone": ["24:00:00"],
    "double precision": ["-3"],
}
PLACES = "abcd"

# ---------------------------------------------------------------- what reaches a line

LIKES = ["abc", "a%", "%c", "%b%", "_", "%_b%c", "h\u00e4%", "%\\%%", "", "%"]
REGEXES = ["^a", "c$", "b.*c", "[[:alpha:]]+", "^[a-z]+$", "\\d", "^https?://([^/]+)/.*$", "\\w-\\w", "A|b", "", "^$"]
UNITS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year",
         "decade", "century", "millennium"]
FIELDS = UNITS + ["dow", "isodow", "doy", "isoyear", "julian", "epoch"]
# Constants of places that must be constant: {line: [tuple of (place, literal)]}.
CONSTANTS = {
    "LIKE": [((2, p),) for p in LIKES], "NOT_LIKE": [((2, p),) for p in LIKES],
    "ILIKE": [((2, p),) for p in LIKES if p.isascii()], "NOT_ILIKE": [((2, p),) for p in LIKES if p.isascii()],
    "REGEXP_REPLACE": [((2, p), (3, r)) for p in ("^a(.*)$", "^https?://([^/]+)/.*$") for r in ("\\1", "[\\&]", "")],
    "REGEXP_REPLACE_FLAGS": [((2, "^a(b?)(.*)$"), (3, "\\2\\1"), (4, f)) for f in ("", "g")],
    "REGEXP_SUBSTRING": [((2, p),) for p in ("^([a-z]*).*$", "^a.*$")],
    "EXTRACT": {"date": [((1, u),) for u in FIELDS[5:]], "timestamp with time zone": [((1, "epoch"),)],
                None: [((1, u),) for u in FIELDS]},
    "DATE_PART": [((1, u),) for u in FIELDS], "DATE_TRUNC": [((1, u),) for u in UNITS],
    "ROUND_TO": [((2, n),) for n in ("0", "2", "5", "-1", "-5", "20")],
    "TRUNC_TO": [((2, n),) for n in ("0", "1", "-2", "10")],
    "NUM_COERCE": [((2, str((p << 16 | s) + 4)),) for p, s in ((12, 3), (6, 2), (20, 6), (3, 0))],
}
for _line in ("REGEX", "NOT_REGEX", "IREGEX", "NOT_IREGEX"):
    CONSTANTS[_line] = [((2, p),) for p in REGEXES if _line in ("IREGEX", "NOT_IREGEX") or "\\" not in p and ":" not in p]
for _line in ("REGEX", "NOT_REGEX", "REGEXP_REPLACE", "REGEXP_REPLACE_FLAGS", "REGEXP_SUBSTRING"):
    CONSTANTS[_line + "_C"] = CONSTANTS[_line]
for _line in ("REGEX_C", "NOT_REGEX_C"):
    CONSTANTS[_line] = [((2, p),) for p in REGEXES]

# SQL for lines that are no function of the server; {T} stands for each type's name in columns.
FORMS = {
    "DISTINCT": ["a_{T} IS DISTINCT FROM b_{T}"],
    "NOT_DISTINCT": ["a_{T} IS NOT DISTINCT FROM b_{T}"],
    "NOT": ["NOT a_boolean"],
    "IS_NULL": ["a_{T} IS NULL", "a_boolean IS UNKNOWN"],
    "IS_NOT_NULL": ["a_{T} IS NOT NULL", "a_boolean IS NOT UNKNOWN"],
    "IS_TRUE": ["a_boolean IS TRUE"], "IS_NOT_TRUE": ["a_boolean IS NOT TRUE"],
    "IS_FALSE": ["a_boolean IS FALSE"], "IS_NOT_FALSE": ["a_boolean IS NOT FALSE"],
    "DATE_ORDER": ["a_date < b_timestamp", "a_date = b_timestamp", "b_timestamp <= a_date"],
}
# What is no line: kinds of expressions over all types.
KINDS = [
    "coalesce(a_{T}, b_{T})", "nullif(a_{T}, b_{T})", "CASE WHEN a_boolean THEN a_{T} ELSE b_{T} END",
    "CASE a_{T} WHEN b_{T} THEN 1 WHEN c_{T} THEN 2 ELSE 3 END", "a_{T} IN (b_{T}, c_{T})",
]


def column(place, name):
    return "%s_%s" % (place, name.split(" ")[0] if name not in (
        "timestamp with time zone", "double precision") else {"double precision": "double"}.get(name, "timestamptz"))


def literal(text, name):
    return "'%s'::%s" % (text.replace("'", "''"), name)


# ---------------------------------------------------------------- functions.def

class Line:
    def __init__(self, name, shown, nargs, flags):
        self.name, self.shown, self.nargs, self.flags = name, shown, nargs, flags
        self.tokens = []    # (token, version)


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
        text = re.sub(r"\b%s\((\w+)\)" % macro, lambda m, b=body: b.replace("##T##", m[1]).replace("##T", m[1]), text)
    lines = {}
    for name, shown, nargs, flags in re.findall(r'AX_FN\((\w+), "([^"]*)", (\d+), \w+, (\w+)\)', text):
        lines[name] = Line(name, shown, int(nargs), flags)
    for name, token, version in re.findall(r"AX_PG\((\w+), (\w+), (\d+)\)", text):
        lines[name].tokens.append((token, int(version)))
    names = list(lines)
    for name, after in zip(names, names[1:]):
        if lines[name].flags == "PATTERN" and not lines[after].tokens:
            lines[after].tokens = lines[name].tokens
    return lines


def server_functions(c):
    """{token: (name, [argument types])} as fmgroids.h names them."""
    rows = c.simple("SELECT proname, array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes)"
                    " WITH ORDINALITY AS u(t, i) ORDER BY i), ';'), array_to_string(ARRAY(SELECT typname FROM"
                    " unnest(proargtypes) WITH ORDINALITY AS u(t, i) JOIN pg_type ON pg_type.oid = t ORDER BY i), '_')"
                    " FROM pg_proc WHERE oid < 16384")[-1].rows
    seen = {}
    for row in rows:
        seen[row[0]] = seen.get(row[0], 0) + 1
    out = {}
    for name, types, short in rows:
        token = "F_" + name.upper()
        if seen[name] > 1:
            token += "_" + short.upper() if short else "_"
        out[token] = (name, [{"bpchar": "character"}.get(t, t) for t in types.split(";")] if types else [])
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
        return 'pg_catalog."%s"(%s)' % (name, ", ".join(arg(i, constants.get(i)) for i in range(len(types))))

    fixed = CONSTANTS.get(line.name)
    if isinstance(fixed, dict):
        fixed = fixed.get(types[-1], fixed[None])
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
                missed.append("%s: no edge values of type %s" % (line.name, unknown[0]))
                continue
            out += [(line.name, e) for e in calls(line, name, types)]
        out += [(line.name, e) for form in FORMS.get(line.name, []) for e in over_types(form)]
        if len(out) == before and not [t for t, since in line.tokens if since > version]:
            missed.append("%s: no query reaches it" % line.name)
    out += [("kinds", e) for form in KINDS for e in over_types(form)]
    return out, missed


def over_types(form):
    if "{T}" not in form:
        return [form]
    return [form.replace("{T}", column("a", name)[2:]) for name in EDGES]


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
              "CREATE TABLE heap (%s)" % ", ".join(declared), "INSERT INTO heap VALUES " + ", ".join(tuples)]
    for table, layout in (("dict", dict(row_group_rows=250, page_rows=100, codec="snappy")),
                          ("plain", dict(dictionary=False, statistics=False, page_version=2, codec="zstd"))):
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
STATES = """CREATE FUNCTION states(tab text, expr text, ids int[]) RETURNS TABLE (id int, state text)
LANGUAGE plpgsql AS $$
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
        answer = self.rows("SELECT * FROM states('%s', $x$%s$x$, '{%s}')" % (table, expr, ",".join(ids)))
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
        return "not pushed down: " + (found[0] if found else " / ".join(t.strip() for t in plan[:3]))

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
        mine, theirs = {r[0]: r[1] for r in have.rows}, {r[0]: r[1] for r in want.rows}
        if len(have.rows) != len(want.rows) or mine != theirs:
            wrong = [i for i in theirs if mine.get(i, "no row") != theirs[i]]
            self.fail(line, expr, table, "%d rows for %d; %d differ, first row %s: %s for %s" % (
                len(have.rows), len(want.rows), len(wrong), wrong[:1], [mine.get(i) for i in wrong[:1]],
                [theirs[i] for i in wrong[:1]]))
            return False
        if bad:
            asked = spread(bad)
            states = self.states(table, expr, asked)
            wrong = [i for i in asked if states.get(i) != bad[i]]
            if wrong:
                self.fail(line, expr, table, "SQLSTATE of row %s: %s for %s (%d rows)" % (
                    wrong[0], states.get(wrong[0]) or "none", bad[wrong[0]], len(wrong)))
                return False
        return want.types[1] != 16 or self.filters(line, expr, table, where, theirs)

    def filters(self, line, expr, table, where, truth):
        """A condition: WHERE with it and without it."""
        for form, wanted in (("(%s)", "t"), ("NOT (%s)", "f")):
            sql = "SELECT id FROM %s %s %s %s" % (table, where, "AND" if where else "WHERE", form % expr)
            pushed, plan = self.is_pushed(sql)
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
    with tempfile.TemporaryDirectory(dir=os.environ.get("AX_SCRATCH")) as folder:
        os.chmod(folder, 0o755)
        c.simple("SET TimeZone = 'Europe/Berlin'")
        make_tables(c, folder)
        c.simple(STATES)
        check = Check(c)
        for line, expr in dict.fromkeys(todo):
            check.expression(line, expr)
    for what in missed:
        print("FAIL " + what)
    print("== diff-parity: %d lines, %d expressions; %d passed, %d failed" % (
        len(lines), len(set(todo)), check.passed, len(check.failures) + len(missed)))
    return 1 if check.failures or missed else 0


if __name__ == "__main__":
    sys.exit(main())
