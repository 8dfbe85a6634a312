"""Aggregate states against ClickHouse itself: what finalizeAggregation says of a state is what a
column has that is declared with the type of the result, and the bytes are those of hex().

Needs the chdb package, which is a whole ClickHouse.  Groups have 0 to 40 rows, some of them huge
numbers, NULL, NaN or empty.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal

from chdb import session

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "diff"))
import mergetree  # noqa: E402
import pgwire  # noqa: E402

# Columns of the rows that are aggregated.
COLUMNS = {
    "u8": "toUInt8(h)", "u32": "toUInt32(h)", "u64": "h", "i8": "toInt8(h)", "i32": "toInt32(h)",
    "i64": "toInt64(h)", "u128": "toUInt128(h) * h", "i128": "toInt128(toInt64(h)) * toInt64(h2)",
    "f32": "toFloat32(toInt32(h) / 7)", "f64": "toInt64(h) / 7", "nan": "if(n % 5 = 0, nan, toInt8(h) / 3)",
    "d9": "toDecimal32(toInt32(h) / 1000, 2)", "d18": "toDecimal64(toInt32(h) / 13, 6)",
    "d38": "toDecimal128(toInt64(h) / 17, 11)", "s": "substring(toString(h), 1, h2 % 7)",
    "fs": "toFixedString(leftPad(toString(h % 1000), 3, 'x'), 3)", "d": "toDate(h % 40000)",
    "d32": "toDate32(h % 40000)", "dt": "toDateTime(h % 2000000000, 'UTC')",
    "dt64": "toDateTime64(h % 2000000000, 3, 'UTC') + toIntervalMillisecond(h2 % 1000)",
    "e": "CAST(h % 3 + 1, 'Enum8(\\'x\\' = 1, \\'yy\\' = 2, \\'zzz\\' = 3)')", "b": "toBool(h % 2)",
    "uu": "reinterpretAsUUID(toUInt128(h) * h2)", "ip4": "toIPv4(toUInt32(h))",
    "nu": "if(h % 3 = 0, NULL, toUInt32(h))", "ns": "if(h % 3 = 0, NULL, toString(h % 100))",
    "nf": "if(h % 4 = 0, NULL, toInt16(h) / 9)", "a": "range(h % 4)", "c": "h % 3 = 0",
    "nc": "if(h % 5 = 0, NULL, h % 3 = 0)",
}
NUMBERS = "u8 u32 u64 i8 i32 i64 u128 i128 f32 f64 d9 d18 d38 nu nf"
STATES = (
    [f"sum({c})" for c in NUMBERS.split()] + ["sumKahan(f64)", "sumKahan(i32)", "sumWithOverflow(u8)", "sumWithOverflow(i64)",
     "sumWithOverflow(d18)"]
    + [f"avg({c})" for c in NUMBERS.split()]
    + [f"avgWeighted({c})" for c in ("u8, u8", "i8, u8", "u8, i8", "i32, i32", "f64, f64", "f32, f32", "i8, f64")]
    + [f"{f}({c})" for f in ("varPop", "varSamp", "stddevPop", "stddevSamp")
       for c in ("u8", "i32", "f32", "f64", "d9", "nf", "nan")]
    + [f"{f}({c})" for f in ("min", "max", "any", "anyLast")
       for c in NUMBERS.split() + "s fs d d32 dt dt64 e b uu ip4 ns a nan".split()]
    + [f"argMin({c})" for c in ("s, u64", "u64, s", "nu, u8", "s, nf", "ns, u64", "a, u64", "dt64, d38")]
    + [f"argMax({c})" for c in ("u8, u64", "uu, d", "d18, i128")]
    + ["count()", "count(nu)", "groupBitAnd(u8)", "groupBitOr(u32)", "groupBitXor(i64)", "groupBitXor(nu)"]
    + [f"uniqExact({c})" for c in "u8 u64 i128 f32 d9 d18 s fs d d32 dt dt64 e b uu ip4 nu ns a".split()]
    + ["uniqExact(u8, s)", "uniq(u8)", "uniq(ns)"]
    + [f"groupArray({c})" for c in NUMBERS.split() + "s fs d d32 dt dt64 b uu ns".split()] + ["groupArray(3)(u64)"]
    + [f"groupUniqArray({c})" for c in NUMBERS.split() + "s fs d d32 dt dt64 b uu ns".split()]
    + [f"quantileExact({p})({c})" for p in ("0", "0.37", "1") for c in "u8 i64 f64 nan d38 d dt64 nu".split()]
    + ["quantileExact(i32)", "sumMap([u8], [i32])", "sumMap([s, 'k'], [f64, 0])", "sumMap([d], [u8], [f32])"]
    + ["sumIf(i64, c)", "sumIf(nu, c)", "sumIf(i64, nc)", "sumIf(nf, nc)", "countIf(c)", "countIf(nu, c)", "countIf(nc)",
       "avgIf(f64, c)", "minIf(s, c)", "anyIf(e, c)", "argMaxIf(s, u64, c)", "uniqExactIf(ns, c)", "groupArrayIf(nu, c)",
       "varSampIf(f64, c)", "quantileExactIf(f64, c)", "maxIf(dt64, c)"]
)
ROWS, MANY = 60, 1200


def state(call):
    return re.sub(r"^(\w+?)(If)?\(", lambda m: f"{m.group(1)}State{m.group(2) or ''}(", call)


def value(v):
    """A value of ClickHouse's JSON as the corpus has it."""
    if isinstance(v, list):
        return [value(x) for x in v]
    if isinstance(v, str) and re.match(r"^\d{4}-\d\d-\d\dT.*Z$", v):
        return v[:-1] + "+00:00"
    return {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(v, v) if isinstance(v, str) else v


def in_order(values):
    return sorted(values, key=lambda v: (0, float(v), "") if isinstance(v, (int, Decimal)) else (1, 0, str(v)))


def ask(s, sql):
    out = s.query(sql + " SETTINGS output_format_json_quote_64bit_integers = 0, output_format_json_quote_decimals = 0, "
                  "output_format_decimal_trailing_zeros = 1, output_format_json_quote_denormals = 1, "
                  "date_time_output_format = 'iso'", "JSONCompact").bytes()
    return json.loads(out, parse_float=Decimal)


def check(s, db, work, wide):
    rows = ", ".join(f"{e} AS {c}" for c, e in COLUMNS.items())
    s.query("DROP TABLE IF EXISTS states SYNC")
    s.query(f"CREATE TABLE states ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 16, "
            f"min_bytes_for_wide_part = {0 if wide else 10 ** 9} AS "
            f"SELECT toUInt32(h2 % {ROWS}) AS id, {', '.join(f'{state(c)} AS x{i}' for i, c in enumerate(STATES))} "
            f"FROM (SELECT number AS n, cityHash64(n) AS h, cityHash64(n, 1) AS h2, {rows} FROM numbers({MANY})) GROUP BY id")
    finals = ", ".join(f"finalizeAggregation(x{i})" for i in range(len(STATES)))
    hexes = ", ".join(f"lower(hex(x{i}))" for i in range(len(STATES)))
    want = ask(s, f"SELECT {finals} FROM states ORDER BY id")
    bytes_ = ask(s, f"SELECT {hexes} FROM states ORDER BY id")["data"]
    subprocess.run(["chmod", "-R", "a+rX", work], check=True)
    failed = 0
    for i, call in enumerate(STATES):
        ch = want["meta"][i]["type"]
        for what in ("result", "bytes"):
            ty = mergetree.pg_type(ch) if what == "result" else "bytea"
            if "FixedString" in ch and what == "result":
                ty = "text[]" if ch.startswith("Array") else "text"  # bytea is the state
            db.simple("DROP FOREIGN TABLE IF EXISTS states")
            made = db.simple(f"CREATE FOREIGN TABLE states (id bigint, x{i} {ty}) SERVER analytics_fdw OPTIONS "
                             f"(format 'mergetree', path '{work}', table_name 'default.states')")[-1]
            got = made if made.sqlstate else db.simple(f"SELECT to_jsonb(x{i}) FROM states ORDER BY id")[-1]
            if got.sqlstate:
                print(f"{call} ({what}): {got.sqlstate} {got.message}")
                failed += 1
                continue
            have = [None if r[0] is None else json.loads(r[0], parse_float=Decimal) for r in got.rows]
            right = len(have) == len(bytes_)
            for k in range(len(have) if right else 0):
                w = value(want["data"][k][i]) if what == "result" else bytes_[k][i]
                right = mergetree.fits(ch, w, have[k]) if what == "result" else have[k] == "\\x" + w
                # Sets may be written in another order each time.
                if not right and what == "result" and call.startswith("groupUniqArray"):
                    right = mergetree.fits(ch, in_order(w), in_order(have[k]))
                if not right and not (what == "bytes" and re.match("uniq|groupUniq", call)):
                    print(f"{call} ({what}): {str(have[k])[:90]} where {ch} {str(w)[:90]} is expected")
                    break
                right = True
            failed += not right
    return failed


def main():
    work = tempfile.mkdtemp()
    os.chmod(work, 0o755)
    db = pgwire.Connection()
    for sql in ("CREATE EXTENSION IF NOT EXISTS analytics_fdw", "SET timezone = 'UTC'", "SET extra_float_digits = 1"):
        db.simple(sql)
    s = session.Session(work)
    failed = check(s, db, work, True) + check(s, db, work, False)
    s.close()
    subprocess.run(["rm", "-rf", work], check=True)
    print(f"== corpus-mergetree-states: {4 * len(STATES) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
