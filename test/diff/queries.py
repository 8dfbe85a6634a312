"""The queries: grids written out below, and random ones from a seed.

A query is judged by its `mode`:
  set     no order: the same multiset of rows
  seq     ORDER BY is total: the same rows in the same order
  subset  LIMIT without a total order: as many rows, all of them among those of `whole`
  script  several statements, each result compared as seq
`approx` allows the freedom PostgreSQL has itself: -0 for 0 as a group or bound, and with "sum" the
order of float additions.
$1, $2 ... are parameters: literals in the simple protocol, parameters in the extended one.
"""
import random

import collations
import shapes

OID = {"bool": 16, "int8": 20, "int2": 21, "int4": 23, "text": 25, "float4": 700, "float8": 701, "date": 1082,
       "timestamp": 1114, "timestamptz": 1184, "numeric": 1700, "int4[]": 1007, "text[]": 1009, "int8[]": 1016}

TYPES = {"id": "int8", "b": "bool", "i2": "int2", "i4": "int4", "i8": "int8", "f4": "float4", "f8": "float8",
         "s": "text", "d": "date", "ts": "timestamp", "tz": "timestamptz", "k": "int2", "ks": "text", "z": "int4",
         "n": "int4", "u": "text"}

CONSTS = {
    "bool": ["t", "f"],
    "int2": ["0", "1", "-1", "32767", "-32768", "57"],
    "int4": ["0", "1", "-1", "2147483647", "-2147483648", "333"],
    "int8": ["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "777"],
    "float4": ["0", "1", "-1.5", "NaN", "Infinity", "-Infinity", "0.1", "16777216"],
    "float8": ["0", "-0", "1", "NaN", "Infinity", "-Infinity", "0.1", "1e300", "9007199254740992"],
    "text": ["", "a", "abc", "ä", "日本語", "zz", "Google", "100%", "trail "],
    "date": ["1970-01-01", "2013-07-15", "2013-08-01", "0001-01-01", "9999-12-31", "infinity", "-infinity"],
    "timestamp": ["1970-01-01", "2013-07-15 10:47:34", "2013-08-01 12:00", "9999-12-31 23:59:59.999999", "infinity"],
    "timestamptz": ["1970-01-01 00:00+00", "2013-07-15 10:47:34+00", "2013-08-01 12:00+02", "-infinity"],
    "numeric": ["0", "0.5", "1.50", "-1", "99999999999999999999", "NaN"],
}
OPS = ["=", "<>", "<", "<=", ">", ">="]


class Query:
    def __init__(self, sql, mode="set", params=(), whole=None, approx=False, expect=None, collation=None, folded=False):
        self.sql, self.mode, self.params, self.whole, self.approx = sql, mode, list(params), whole, approx
        self.collation, self.folded = collation, folded     # which one it names; equal is what folds alike
        self.expect = expect            # a SQLSTATE the heap must report: guards the test itself


def p(kind, value):
    return kind, value


class List(list):
    def set(self, sql, *params, **kw):
        self.append(Query(sql, "set", params, **kw))

    def seq(self, sql, *params, **kw):
        self.append(Query(sql, "seq", params, **kw))

    def subset(self, sql, whole, *params, **kw):
        self.append(Query(sql, "subset", params, whole=whole, **kw))

    def script(self, sql, **kw):
        self.append(Query(sql, "script", **kw))

    def error(self, state, sql, *params):
        self.append(Query(sql, "set", params, expect=state))


def comparisons(q, r):
    for col in ("b", "i2", "i4", "i8", "f4", "f8", "s", "d", "ts", "tz", "k", "ks", "u"):
        kind = TYPES[col]
        for op in OPS:
            c = r.choice(CONSTS[kind])
            q.set(f"SELECT count(*), min(id), max(id) FROM t WHERE {col} {op} $1", p(kind, c))
        q.seq(f"SELECT id, {col} < $1, {col} = $1, {col} >= $1 FROM t ORDER BY id LIMIT 300", p(kind, r.choice(CONSTS[kind])))
        q.set(f"SELECT count(*) FROM t WHERE {col} = $1", p(kind, None))
    pairs = [("i2", "i4"), ("i2", "i8"), ("i4", "i8"), ("i4", "f8"), ("i8", "f8"), ("f4", "f8"), ("i2", "f4"), ("i2", "i2"),
             ("f8", "f8"), ("d", "ts"), ("d", "tz"), ("ts", "tz"), ("s", "u"), ("s", "ks"), ("b", "b"), ("k", "z"), ("d", "d")]
    for a, b in pairs:
        op = r.choice(OPS)
        q.set(f"SELECT count(*), sum(id) FROM t WHERE {a} {op} {b}")
        q.seq(f"SELECT id, {a} < {b}, {a} = {b}, {a} > {b}, {a} IS DISTINCT FROM {b} FROM t ORDER BY id DESC LIMIT 200")
    for a, kind in (("i2", "int4"), ("i2", "int8"), ("i4", "int8"), ("i4", "int2"), ("i8", "int4"), ("i8", "float8"), ("i4", "numeric"),
                    ("i8", "numeric"), ("f4", "float8"), ("f8", "numeric"), ("d", "timestamp"), ("ts", "date"), ("tz", "date")):
        for op in r.sample(OPS, 2):
            q.set(f"SELECT count(*), min(id), max(id) FROM t WHERE {a} {op} $1", p(kind, r.choice(CONSTS[kind])))
    q.set("SELECT count(*) FROM t WHERE i2 > 100000")
    q.set("SELECT count(*) FROM t WHERE 5 < i4 AND 7 >= i4")
    q.set("SELECT count(*) FROM t WHERE i8 = 9007199254740993 AND i8 = 9007199254740992::float8")
    q.set("SELECT count(*) FROM t WHERE f8 = 'NaN' OR f8 > 'Infinity'")
    q.set("SELECT count(*) FROM t WHERE f8 = 0")
    q.set("SELECT count(*) FROM t WHERE (i4, i8) < (10, 20)")
    q.set("SELECT count(*) FROM t WHERE (k, ks) = (2, 'red')")
    q.set("SELECT count(*) FROM t WHERE s < 'b' COLLATE \"C\"")
    q.set("SELECT count(*) FROM t WHERE ts >= '2013-07-05' AND ts < '2013-07-06'::date")
    q.set("SELECT count(*) FROM t WHERE d >= '2013-07-01' AND d <= '2013-07-31'")
    q.set("SELECT count(*) FROM t WHERE tz > to_timestamp('2013-07-15','YYYY-MM-DD')")
    q.set("SELECT count(*) FROM t WHERE d > date '2013-07-15' - 3 AND d < date '2013-07-15' + interval '5 days'")
    q.set("SELECT count(*) FROM t WHERE d < now() AND ts < now() AND tz < now()")
    q.set("SELECT count(*) FROM t WHERE d < current_date AND b")


def atom(r):
    col = r.choice(["b", "i2", "i4", "i8", "f4", "f8", "s", "d", "ts", "tz", "k", "ks", "z"])
    kind = TYPES[col]
    c = "'" + r.choice(CONSTS[kind]).replace("'", "''") + "'::" + kind
    form = r.randrange(8)
    if form < 4:
        return f"{col} {r.choice(OPS)} {c}"
    if form == 4:
        return f"{col} IS {r.choice(['', 'NOT '])}NULL"
    if form == 5:
        return f"{col} {r.choice(['', 'NOT '])}IN ({c}, {r.choice([c, 'NULL'])})"
    if form == 6:
        return "b" if r.random() < 0.5 else f"b IS {r.choice(['', 'NOT '])}{r.choice(['TRUE', 'FALSE', 'UNKNOWN'])}"
    return f"{col} BETWEEN {c} AND '{r.choice(CONSTS[kind])}'::{kind}"


def boolean(r, depth):
    if depth == 0 or r.random() < 0.2:
        return atom(r)
    if r.random() < 0.25:
        return f"NOT ({boolean(r, depth - 1)})"
    return "(" + f" {r.choice(['AND', 'OR'])} ".join(boolean(r, depth - 1) for _ in range(r.choice([2, 2, 3]))) + ")"


def logic(q, r):
    for i in range(60):
        e = boolean(r, 3)
        if i % 3 == 0:
            q.set(f"SELECT id FROM t WHERE {e}")
        elif i % 3 == 1:
            q.set(f"SELECT {e} AS e, count(*), count(i4), sum(id) FROM t GROUP BY 1")
        else:
            q.set(f"SELECT count(*), count(*) FILTER (WHERE {e}), sum(i2) FILTER (WHERE NOT ({e})) FROM t")
    for col in TYPES:
        q.set(f"SELECT count(*), count({col}), count(*) FILTER (WHERE {col} IS NULL) FROM t WHERE {col} IS NULL OR id % 2 = 0")
        q.set(f"SELECT count(*) FROM t WHERE {col} IS NOT NULL")
    for test in ("IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN"):
        q.set(f"SELECT count(*), sum(id) FROM t WHERE (i4 > 0) {test}")
    q.set("SELECT count(*) FROM t WHERE b")
    q.set("SELECT count(*) FROM t WHERE NOT b")
    q.set("SELECT count(*) FROM t WHERE b = (i4 > 0)")
    q.set("SELECT count(*) FROM t WHERE b IS DISTINCT FROM true")
    q.set("SELECT count(*) FROM t WHERE false")
    q.set("SELECT count(*) FROM t WHERE NULL::bool")
    q.set("SELECT id FROM t WHERE true AND id < 3")
    q.set("SELECT count(*) FROM t WHERE $1 AND b", p("bool", "t"))
    q.set("SELECT count(*) FROM t WHERE $1 OR b", p("bool", None))


def lists(q, r):
    q.set("SELECT count(*) FROM t WHERE i4 IN (1, 2, 3, NULL)")
    q.set("SELECT count(*) FROM t WHERE i4 NOT IN (1, 2, 3)")
    q.set("SELECT count(*) FROM t WHERE i4 NOT IN (1, 2, NULL)")
    q.set("SELECT id, i4 IN (0, 1, NULL), i4 NOT IN (0, NULL) FROM t WHERE id < 100")
    q.set("SELECT count(*) FROM t WHERE id IN (" + ", ".join(str(r.randrange(3000)) for _ in range(200)) + ")")
    q.set("SELECT count(*) FROM t WHERE u IN ('u00001', 'u00500', 'u01999', 'nope')")
    q.set("SELECT count(*) FROM t WHERE s IN ('', 'a', 'ä', '日本語')")
    q.set("SELECT count(*) FROM t WHERE s NOT IN ('', 'a', 'ä')")
    q.set("SELECT count(*) FROM t WHERE k IN (1, 3) AND ks IN ('red', 'grün')")
    q.set("SELECT count(*) FROM t WHERE f8 IN (0, 'NaN', 1)")
    q.set("SELECT count(*) FROM t WHERE d IN ('2013-07-15', '1970-01-01')")
    q.set("SELECT count(*) FROM t WHERE i4 = ANY ($1)", p("int4[]", "{1,2,NULL,-5}"))
    q.set("SELECT count(*) FROM t WHERE i4 = ANY ($1)", p("int4[]", "{}"))
    q.set("SELECT count(*) FROM t WHERE i4 = ANY ($1)", p("int4[]", None))
    q.set("SELECT count(*) FROM t WHERE i4 <> ALL ($1)", p("int4[]", "{}"))
    q.set("SELECT count(*) FROM t WHERE i4 <> ALL ($1)", p("int4[]", "{0,1}"))
    q.set("SELECT count(*) FROM t WHERE i4 > ALL ('{1,2}') OR i4 < ANY ('{-900,-800}')")
    q.set("SELECT count(*) FROM t WHERE s = ANY ($1)", p("text[]", '{a,"",NULL}'))
    q.set("SELECT count(*) FROM t WHERE i8 IN (1::int2, 2::int8)")
    for col in ("i2", "i4", "i8", "f4", "f8", "s", "d", "ts", "tz"):
        kind = TYPES[col]
        a, b = r.choice(CONSTS[kind]), r.choice(CONSTS[kind])
        q.set(f"SELECT count(*), sum(id) FROM t WHERE {col} BETWEEN $1 AND $2", p(kind, a), p(kind, b))
        q.set(f"SELECT count(*), sum(id) FROM t WHERE {col} NOT BETWEEN $1 AND $2", p(kind, a), p(kind, b))
    q.set("SELECT count(*) FROM t WHERE i4 BETWEEN SYMMETRIC 100 AND -100")
    q.set("SELECT count(*) FROM t WHERE i4 BETWEEN i2 AND i8")


def arithmetic(q, r):
    safe = "i2 BETWEEN -1000 AND 1000 AND i4 BETWEEN -30000 AND 30000 AND i8 BETWEEN -2000000 AND 2000000"
    for a, b in (("i2", "i2"), ("i2", "i4"), ("i4", "i2"), ("i4", "i4"), ("i4", "i8"), ("i8", "i2"), ("i8", "i8")):
        q.set(f"SELECT id, {a} + {b}, {a} - {b}, {a} * (z + {b} % 10) FROM t WHERE i2 BETWEEN -100 AND 100 AND i4 BETWEEN -30000 AND 30000"
              " AND i8 BETWEEN -2000000 AND 2000000")
        q.set(f"SELECT sum({a} + {b}), min({a} - {b}), max({b} - {a}), count(*) FROM t WHERE i2 BETWEEN -100 AND 100"
              " AND i4 BETWEEN -30000 AND 30000 AND i8 BETWEEN -2000000 AND 2000000")
    q.set("SELECT id, -i2::int4, +i4, -(i8 / 2), i4 / 7, i4 % 7, i8 / -3, i8 % -3, i2 / 3::int2 FROM t WHERE i4 > -1000")
    q.set("SELECT id, f8 + 1, f8 - f4, f4 + 1::float4 FROM t WHERE abs(f8) < 1e10 AND abs(f4) < 1e10")
    q.set("SELECT id, f8 * 2, f8 / 4, f4 * 0.5::float4, f8 + i4, f4 - i2 FROM t WHERE abs(f8) < 1e10 AND abs(f8) > 1e-10 AND abs(f4) < 1e10 AND abs(f4) > 1e-3")
    q.set("SELECT id, i4 * 1.5, i8 + 0.25, i2 / 3.0 FROM t WHERE id < 500")
    q.set("SELECT id, d + 1, d - 7, d + i2, d - date '2013-07-01' FROM t WHERE d BETWEEN '1900-01-01' AND '2100-01-01' AND i2 BETWEEN -100 AND 100")
    q.set("SELECT id, ts + interval '1 day', ts - interval '1 month', d + interval '1 hour', ts - timestamp '2013-07-01' FROM t WHERE ts BETWEEN '1900-01-01' AND '2100-01-01'")
    q.set("SELECT id, tz + interval '1 day', tz - timestamptz '2013-07-01 00:00+00' FROM t WHERE tz BETWEEN '1900-01-01' AND '2100-01-01'")
    q.set("SELECT id, i4 & 255, i4 | 1, i4 # 7, ~i4, i2 << 2, i4 >> 3 FROM t WHERE id < 300")
    # each of these meets a row that overflows
    q.error("22003", "SELECT id, i2 + 1::int2 FROM t")
    q.error("22003", "SELECT id, i2 - 2::int2 FROM t")
    q.error("22003", "SELECT id, i2 * 2::int2 FROM t")
    q.error("22003", "SELECT id, i4 + 1 FROM t")
    q.error("22003", "SELECT id, i4 - 3 FROM t")
    q.error("22003", "SELECT id, i4 * 3 FROM t")
    q.error("22003", "SELECT id, i8 + 1 FROM t")
    q.error("22003", "SELECT id, i8 - i4 FROM t WHERE i8 = -9223372036854775808 OR i8 < -9223372036854775806")
    q.error("22003", "SELECT id, i8 * 2 FROM t")
    q.error("22003", "SELECT -i4 FROM t")
    q.error("22003", "SELECT -i8 FROM t")
    q.error("22003", "SELECT abs(i4) FROM t")
    q.error("22003", "SELECT abs(i2) FROM t")
    q.error("22003", "SELECT sum(i4 + 1) FROM t")
    q.error("22003", "SELECT k, sum(i8 * 2) FROM t GROUP BY k")
    q.error("22003", "SELECT count(*) FROM t WHERE i4 + 1 > 0")
    q.error("22003", "SELECT count(*) FROM t WHERE i2 * 2::int2 > 0")
    q.error("22003", "SELECT i4 + 1, count(*) FROM t GROUP BY i4 + 1")
    q.error("22003", "SELECT id FROM t ORDER BY i4 + 1, id")
    q.error("22003", "SELECT max(f8 * 10) FROM t")
    q.error("22003", "SELECT f4 * 10::float4 FROM t")
    q.error("22003", "SELECT i4::int2 FROM t")
    q.error("22003", "SELECT i8::int4 FROM t")
    q.error("22003", "SELECT f8::int4 FROM t")
    q.error("22003", "SELECT f8::int8 FROM t WHERE f8 = 'NaN'")
    q.error("22012", "SELECT 10 / z FROM t")
    q.error("22012", "SELECT i4 % z FROM t")
    q.error("22012", "SELECT f8 / z FROM t WHERE f8 = 1")
    q.error("22012", "SELECT sum(10 / z) FROM t")
    q.error("22012", "SELECT count(*) FROM t WHERE 10 / z > 1")
    q.error("22008", "SELECT d + 2147483647 FROM t")
    q.error("22P02", "SELECT s::int4 FROM t WHERE s = 'a'")
    # these must not: the guard comes first
    q.set("SELECT count(*) FROM t WHERE z <> 0 AND 10 / z > 1")
    q.set("SELECT count(*) FROM t WHERE z <> 0 AND i4 % z = 0 AND 10 / z < 5")
    q.set("SELECT count(*) FROM t WHERE i4 < 2147483647 AND i4 + 1 > 0")
    q.set("SELECT id, CASE WHEN z = 0 THEN NULL ELSE 100 / z END FROM t")
    q.set("SELECT sum(CASE WHEN z <> 0 THEN i4 / z END) FROM t WHERE i4 BETWEEN -1000 AND 1000")
    q.set("SELECT z, sum(10 / z) FROM t WHERE z <> 0 GROUP BY z")
    q.set("SELECT count(*) FROM t WHERE z = 0 OR 10 / z > 1")
    q.set("SELECT count(*) FROM t WHERE CASE WHEN z <> 0 THEN 10 / z > 1 ELSE false END")
    q.set("SELECT COALESCE(z, 10 / (z * 0)) FROM t WHERE id < 50")
    q.set("SELECT sum(10 / z) FILTER (WHERE z <> 0) FROM t")
    q.set("SELECT i4 + 1 FROM t WHERE i4 < 2147483647 AND id < 200")
    q.set("SELECT count(*) FROM (SELECT i4 + 1 AS x FROM t WHERE i4 BETWEEN 0 AND 1000) q WHERE x > 10")
    q.set("SELECT k, count(*) FROM t GROUP BY k HAVING min(z) = 0 OR 10 / min(z) > -100")
    q.set(f"SELECT count(*), sum(i2 * i4), sum(i4 * i8) FROM t WHERE {safe}")
    q.set("SELECT sum(i2 + 1), sum(i2 + 2), sum(i2 + 89), sum(i2 - 5), sum(i2 * 3), sum(i2), count(i2), avg(i2 + 1) FROM t")


def patterns(q, r):
    likes = ["%", "_", "", "a%", "%a", "%a%", "a_c%", "%google%", "%Google%", "http://%.ru/%", "%.google.%", "ä%", "_ä%", "%é%", "日本%", "__本%",
             "100\\%", "%\\%", "50\\_50", "%\\\\%", "%_%", "%%a%%", "a%b%c%", "%日%", "_", "__", "%smile", "%a%a%a%b", "trail ", "%\n%", "%'%"]
    for pat in likes:
        q.set("SELECT count(*), sum(id) FROM t WHERE s LIKE $1", p("text", pat))
    for pat in r.sample(likes, 12):
        q.set("SELECT count(*), sum(id) FROM t WHERE s NOT LIKE $1", p("text", pat))
    for pat in r.sample(likes, 6):
        lit = "'" + pat.replace("'", "''") + "'"
        q.set(f"SELECT s LIKE {lit} AS m, count(*) FROM t GROUP BY 1")
    q.set("SELECT count(*) FROM t WHERE s LIKE '50!_50' ESCAPE '!'")
    q.set("SELECT count(*) FROM t WHERE s LIKE 'back\\slash' ESCAPE ''")
    q.set("SELECT count(*) FROM t WHERE s LIKE NULL")
    q.set("SELECT count(*) FROM t WHERE s LIKE ks")
    q.set("SELECT count(*) FROM t WHERE s LIKE ks || '%'")
    q.set("SELECT count(*) FROM t WHERE s ILIKE '%GOOGLE%'")
    q.set("SELECT count(*) FROM t WHERE s ILIKE 'Ä%'")
    q.set("SELECT count(*) FROM t WHERE u LIKE 'u012%'")
    q.set("SELECT count(*) FROM t WHERE u LIKE 'u0123_' AND s NOT LIKE '%a'")
    q.set("SELECT count(*) FROM t WHERE s ^@ 'ab'")
    q.set("SELECT count(*) FROM t WHERE s ~ '^a.*b$'")
    q.set("SELECT count(*) FROM t WHERE s !~ 'o{2}'")
    q.set("SELECT count(*) FROM t WHERE s ~* 'GOO'")
    q.set("SELECT count(*) FROM t WHERE s ~ '^[[:alpha:]]+$'")
    q.set("SELECT count(*) FROM t WHERE s SIMILAR TO '(a|b)%'")
    q.error("22025", "SELECT count(*) FROM t WHERE s LIKE 'abcd\\'")
    q.error("22025", "SELECT count(*) FROM t WHERE s LIKE $1", p("text", "a\\"))
    q.error("2201B", "SELECT count(*) FROM t WHERE s ~ '('")


def statistics(q):
    """Deviations and regression of floats: sums whose order is free."""
    near = "abs(f4) < 1000 AND abs(f8) < 1000"
    for f in ("var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"):
        for col in ("f4", "f8"):
            q.set(f"SELECT {f}({col}), avg({col}), count({col}) FROM t WHERE {near}", approx="sum")
            q.set(f"SELECT ks, {f}({col}), {f}({col}) FILTER (WHERE b) FROM t WHERE {near} GROUP BY ks", approx="sum")
            q.set(f"SELECT {f}(DISTINCT {col}) FROM t WHERE {near}", approx="sum")
            q.set(f"SELECT {f}({col}) FROM t WHERE id < 0")
            q.set(f"SELECT {f}({col}) FROM one", approx=True)
            q.set(f"SELECT ks FROM t WHERE {near} GROUP BY ks HAVING {f}({col}) > 0.5")
            q.seq(f"SELECT ks, {f}({col}) FROM t WHERE {near} GROUP BY ks ORDER BY {f}({col}) DESC NULLS LAST, ks LIMIT 3", approx="sum")
    for f in ("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope",
              "regr_sxx", "regr_sxy", "regr_syy"):
        for y, x in (("f8", "f4"), ("i2", "f8"), ("i4", "i2")):
            cond = f"{near} AND i4 BETWEEN -100000 AND 100000"
            q.set(f"SELECT {f}({y}, {x}) FROM t WHERE {cond}", approx="sum")
            q.set(f"SELECT ks, {f}({y}, {x}), {f}({x}, {y}) FILTER (WHERE z > 0) FROM t WHERE {cond} GROUP BY ks", approx="sum")
            q.set(f"SELECT {f}({y}, {x}) FROM t WHERE id < 0")
            q.seq(f"SELECT ks, {f}({y}, {x}) FROM t WHERE {cond} GROUP BY ks HAVING {f}({y}, {x}) IS NOT NULL ORDER BY 2, ks LIMIT 3",
                  approx="sum")
        q.set(f"SELECT {f}(f8, f4) FROM t WHERE f8 = 'NaN' OR f4 = 'Infinity'", approx=True)
        q.set(f"SELECT {f}(i2, 1), {f}(1, i2) FROM t WHERE i2 IS NOT NULL", approx="sum")
        q.set(f"SELECT {f}(f8, f4) FROM one", approx=True)


def aggregates(q, r):
    for col, kind in TYPES.items():
        number = kind in ("int2", "int4", "int8", "float4", "float8")
        floats = kind in ("float4", "float8")
        fs = [f"count({col})", f"count(DISTINCT {col})"]
        if kind != "bool":
            fs += [f"min({col})", f"max({col})"]
        sums = [f"sum({col})", f"avg({col})"] if number and not floats else []
        for fro in ("t", "e", "one", "t WHERE id < 0", "t WHERE k IS NULL", "t WHERE i4 > 0 AND ks <> 'red'"):
            q.set(f"SELECT {', '.join(fs + sums)} FROM {fro}", approx=floats)
        q.set(f"SELECT k, {', '.join(fs + sums)} FROM t GROUP BY k", approx=floats)
        q.set(f"SELECT {col}, count(*), sum(i2) FROM t GROUP BY {col}", approx=floats)
    for col in ("f4", "f8"):
        for v in ("= 'NaN'", "= 'Infinity'", "IN ('-Infinity', 'Infinity')", "IN ('NaN', 'Infinity', 1)", "= 0"):
            q.set(f"SELECT sum({col}), avg({col}), stddev({col}) FROM t WHERE {col} {v}", approx=True)
        fin = f"abs({col}) < 1000"
        q.set(f"SELECT sum({col}), avg({col}), stddev({col}), var_pop({col}) FROM t WHERE {fin}", approx="sum")
        q.set(f"SELECT ks, sum({col}), avg({col}) FROM t WHERE {fin} GROUP BY ks", approx="sum")
        q.set(f"SELECT k, count(*) FROM t WHERE {fin} GROUP BY k HAVING avg({col}) > 0.001", approx=True)
        q.set(f"SELECT sum({col}) FROM e")
    for col in ("i2", "i4", "i8"):
        q.set(f"SELECT stddev({col}), variance({col}), stddev_pop({col}), var_samp({col}) FROM t")
        q.set(f"SELECT k, stddev({col}) FROM t GROUP BY k")
        q.set(f"SELECT sum(DISTINCT {col}), avg(DISTINCT {col}) FROM t")
        q.set(f"SELECT bit_and({col}), bit_or({col}) FROM t WHERE i4 > 0")
    statistics(q)
    q.set("SELECT count(*) FROM t")
    q.set("SELECT count(*) FROM e")
    q.set("SELECT count(1), count(NULL), sum(1), max('x') FROM t")
    q.set("SELECT 1 FROM t WHERE id < 5")
    q.set("SELECT count(*), count(*) + 1, 2 * count(i4), sum(i2) / count(i2) FROM t")
    q.set("SELECT bool_and(b), bool_or(b), every(b) FROM t")
    q.set("SELECT k, bool_and(b), bool_or(b) FROM t GROUP BY k")
    q.set("SELECT string_agg(ks, ',' ORDER BY id) FROM t WHERE id < 50")
    q.set("SELECT k, string_agg(ks, ',' ORDER BY id), array_agg(i2 ORDER BY id) FROM t WHERE id < 300 GROUP BY k")
    q.set("SELECT k, array_agg(DISTINCT ks ORDER BY ks) FROM t GROUP BY k")
    q.set("SELECT count(DISTINCT (k, ks)) FROM t")
    q.set("SELECT k, count(DISTINCT s), count(DISTINCT i4) FROM t GROUP BY k")
    q.set("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i4), percentile_disc(0.9) WITHIN GROUP (ORDER BY ts), mode() WITHIN GROUP (ORDER BY ks) FROM t")
    q.set("SELECT corr(i2, i4), regr_count(i2, i4), covar_pop(i2, i2) FROM t WHERE i4 BETWEEN -1000 AND 1000", approx="sum")
    q.set("SELECT k, count(*) FILTER (WHERE b), sum(i4) FILTER (WHERE i4 BETWEEN 0 AND 10), min(s) FILTER (WHERE s <> '') FROM t GROUP BY k")
    q.set("SELECT min(i4 + i2), max(length(s)), avg(length(s)), sum(octet_length(s)) FROM t WHERE i4 BETWEEN -1000 AND 1000")
    for keys in ("k", "ks", "b", "z", "n", "s", "d", "i4", "k, ks", "b, z", "s, k", "d, k", "k, ks, b", "k, ks, b, z", "ks, d, i2, tz", "n, k, ks, b, z"):
        n = r.choice(["count(*)", "count(*), sum(i2)", "min(i8), max(s)", "avg(i4), count(DISTINCT ks)"])
        q.set(f"SELECT {keys}, {n} FROM t GROUP BY {keys}")
        q.set(f"SELECT {n} FROM t WHERE {r.choice(['i2 > 0', 'b', 'ks IS NOT NULL'])} GROUP BY {keys}")
        q.set(f"SELECT {keys} FROM t GROUP BY {keys} HAVING count(*) > {r.choice([1, 5, 20])}")
    q.set("SELECT 1, k, count(*) FROM t GROUP BY 1, k")
    q.set("SELECT count(*) FROM t GROUP BY ()")
    q.set("SELECT count(*) FROM e GROUP BY k")
    q.set("SELECT 5 FROM t GROUP BY k")
    q.set("SELECT k + 1, count(*) FROM t GROUP BY k + 1")
    q.set("SELECT k, k - 1, k - 2, count(*) FROM t GROUP BY k, k - 1, k - 2")
    q.set("SELECT i4 % 10, count(*) FROM t GROUP BY i4 % 10")
    q.set("SELECT length(s), count(*) FROM t GROUP BY length(s)")
    q.set("SELECT CASE WHEN k = 1 THEN ks ELSE '' END AS c, count(*) FROM t GROUP BY c")
    q.set("SELECT k IS NULL, b, count(*) FROM t GROUP BY 1, 2")
    q.set("SELECT 1, k, 'x', count(*) FROM t GROUP BY 1, 2, 3")
    q.set("SELECT 1, 'x', count(*) FROM t WHERE id < 0 GROUP BY 1, 2")
    q.set("SELECT 1, 2, count(*) FROM t GROUP BY 1, 2")
    q.set("SELECT i2, i2 - 1::int2, i2::int4 + 1, k, count(*) FROM t WHERE i2 BETWEEN -30000 AND 30000 GROUP BY 1, 2, 3, 4")
    q.set("SELECT k, k, ks, k + 1, ks || 'x', count(*), count(DISTINCT i4) FROM t GROUP BY 1, 2, 3, 4, 5")
    q.set("SELECT d, extract(month FROM d), d - 1, min(s) FROM t GROUP BY 1, 2, 3 HAVING count(*) > 1")
    q.error("22012", "SELECT id, 1 / (id - id), count(*) FROM t GROUP BY 1, 2")
    q.error("22012", "SELECT id, 1 / (id - id), count(*) FROM t GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 3")
    q.seq("SELECT k, k - 1, k - 2, count(*) AS c FROM t GROUP BY k, k - 1, k - 2 ORDER BY c DESC, k LIMIT 4")
    q.set("SELECT i4 > 0 AS pos, count(*) FROM t GROUP BY pos")
    q.set("SELECT date_trunc('month', ts), count(*) FROM t GROUP BY 1")
    q.set("SELECT date_trunc('minute', ts) AS m, count(*) FROM t WHERE d >= '2013-07-01' GROUP BY date_trunc('minute', ts)")
    q.set("SELECT extract(minute FROM ts), count(*) FROM t GROUP BY 1")
    q.set("SELECT extract(year FROM d), extract(month FROM d), count(*) FROM t GROUP BY 1, 2")
    q.set("SELECT k, sum(sum(i2)) OVER () FROM t GROUP BY k")
    q.set("SELECT count(*) FROM t HAVING count(*) > 1000000")
    q.set("SELECT count(*) FROM t HAVING true")
    q.set("SELECT k FROM t GROUP BY k HAVING max(i4) > $1", p("int4", "500"))
    q.set("SELECT k, sum(i4) FROM t WHERE i4 > $1 GROUP BY k HAVING count(*) > $2", p("int4", "-100"), p("int8", "10"))
    q.set("SELECT k, avg(i4) FROM t GROUP BY k HAVING avg(i4) > 0 AND count(*) > 3")
    q.set("SELECT k, ks, count(*) FROM t GROUP BY ROLLUP (k, ks)")
    q.set("SELECT k, b, count(*), grouping(k, b) FROM t GROUP BY CUBE (k, b)")
    q.set("SELECT k, ks, sum(i4) FROM t GROUP BY GROUPING SETS ((k), (ks), ())")


def ordering(q, r):
    for col in ("b", "i2", "i4", "i8", "f4", "f8", "s", "d", "ts", "tz", "k", "ks", "u"):
        for way in r.sample(["", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC NULLS LAST", " DESC NULLS FIRST"], 3):
            q.seq(f"SELECT id, {col} FROM t ORDER BY {col}{way}, id LIMIT {r.choice([1, 10, 50])}")
        q.seq(f"SELECT {col}, id FROM t WHERE i4 > 0 ORDER BY {col} DESC, id DESC LIMIT 7 OFFSET {r.choice([1, 13, 100])}")
        if col not in ("f4", "f8"):
            q.seq(f"SELECT {col} FROM t ORDER BY {col} LIMIT 40")
    q.seq("SELECT * FROM t WHERE s LIKE '%google%' ORDER BY ts, id LIMIT 10")
    q.seq("SELECT * FROM t ORDER BY id")
    q.seq("SELECT * FROM r ORDER BY id DESC")
    q.seq("SELECT * FROM one ORDER BY id")
    q.seq("SELECT * FROM e ORDER BY id")
    q.seq("SELECT id FROM t ORDER BY k, ks DESC NULLS LAST, b NULLS FIRST, id")
    q.seq("SELECT id FROM t ORDER BY k, ks, id LIMIT 20 OFFSET 500")
    q.seq("SELECT id, i4 % 7 AS m FROM t ORDER BY m, id LIMIT 30")
    q.seq("SELECT ks, count(*) AS c FROM t GROUP BY ks ORDER BY c DESC, ks LIMIT 3")
    q.seq("SELECT s, count(*) AS c FROM t GROUP BY s ORDER BY count(*) DESC, s NULLS FIRST LIMIT 10 OFFSET 5")
    q.seq("SELECT id % 700 AS g, count(*) AS c, sum(i2), min(s) FROM t GROUP BY 1 ORDER BY c DESC, g LIMIT 9 OFFSET 3")
    q.seq("SELECT id % 700 AS g, max(i4) AS m, avg(i8) FROM t GROUP BY 1 HAVING count(*) > 2 ORDER BY m, g LIMIT 9")
    q.seq("SELECT id, count(DISTINCT k), min(d) FROM t GROUP BY id ORDER BY id DESC LIMIT 9")
    q.seq("SELECT k, avg(i4) AS a FROM t GROUP BY k ORDER BY a DESC, k LIMIT 3")
    q.seq("SELECT k, count(DISTINCT s) AS u FROM t GROUP BY k ORDER BY u DESC, k LIMIT 2")
    q.seq("SELECT d, sum(i2), min(s) FROM t GROUP BY d ORDER BY sum(i2) DESC NULLS LAST, d LIMIT 12")
    q.seq("SELECT k, count(*) FROM t GROUP BY k ORDER BY k")
    q.seq("SELECT id FROM t ORDER BY length(s) DESC NULLS LAST, id LIMIT 5")
    q.seq("SELECT id FROM t ORDER BY s COLLATE \"C\" DESC, id LIMIT 25")
    q.seq("SELECT id FROM t ORDER BY id LIMIT 0")
    q.seq("SELECT id FROM t ORDER BY id LIMIT NULL OFFSET 2390")
    q.seq("SELECT id FROM t ORDER BY id LIMIT ALL OFFSET NULL")
    q.seq("SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 1000000")
    q.seq("SELECT id FROM t ORDER BY id OFFSET 2395")
    q.seq("SELECT id FROM t ORDER BY id LIMIT 9223372036854775807 OFFSET 2397")
    q.seq("SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2", p("int8", "5"), p("int8", "7"))
    q.seq("SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2", p("int8", "0"), p("int8", None))
    q.seq("SELECT id FROM t WHERE k = $2 ORDER BY i4 DESC, id LIMIT $1", p("int8", "3"), p("int2", "2"))
    q.seq("SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT $1", p("int8", None))
    q.seq("SELECT id FROM t ORDER BY k FETCH FIRST 0 ROWS ONLY")
    q.seq("SELECT k FROM t ORDER BY k FETCH FIRST 3 ROWS WITH TIES")
    q.error("2201W", "SELECT id FROM t ORDER BY id LIMIT $1", p("int8", "-1"))
    q.error("2201X", "SELECT id FROM t ORDER BY id OFFSET $1", p("int8", "-1"))
    q.error("2201W", "SELECT k, count(*) FROM t GROUP BY k LIMIT -1")
    for what in ("id", "*", "id, s", "k, ks"):
        for n in ("LIMIT 5", "LIMIT 100 OFFSET 30", "LIMIT 10000", "OFFSET 2399", "LIMIT 0"):
            w = r.choice(["", " WHERE i4 > 0", " WHERE s LIKE '%a%'", " WHERE k IS NULL"])
            q.subset(f"SELECT {what} FROM t{w} {n}", f"SELECT {what} FROM t{w}")
    q.subset("SELECT k, ks, count(*) FROM t GROUP BY k, ks LIMIT 4", "SELECT k, ks, count(*) FROM t GROUP BY k, ks")
    q.subset("SELECT s, k, count(*), min(id) FROM t GROUP BY s, k LIMIT 10", "SELECT s, k, count(*), min(id) FROM t GROUP BY s, k")
    q.subset("SELECT DISTINCT ks FROM t LIMIT 2", "SELECT DISTINCT ks FROM t")
    q.subset("SELECT id FROM t LIMIT $1", "SELECT id FROM t", p("int8", "12"))


def distinct(q, r):
    for col in TYPES:
        q.set(f"SELECT DISTINCT {col} FROM t", approx=col in ("f4", "f8"))
    q.set("SELECT DISTINCT k, ks FROM t WHERE b")
    q.set("SELECT DISTINCT k + 1, length(ks) FROM t")
    q.set("SELECT count(*) FROM (SELECT DISTINCT s, k FROM t) q")
    q.seq("SELECT DISTINCT ks FROM t ORDER BY ks DESC LIMIT 3")
    q.seq("SELECT DISTINCT ON (k) k, id, s FROM t ORDER BY k, i4 DESC, id")
    q.set("SELECT DISTINCT count(*) FROM t GROUP BY k, ks")


def nested(q, r):
    q.set("SELECT count(*) FROM t WHERE k IN (SELECT k FROM r WHERE b)")
    q.set("SELECT count(*) FROM t WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL AND k < 3)")
    q.set("SELECT count(*) FROM t WHERE k NOT IN (SELECT k FROM r)")
    q.set("SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.k = t.k AND r.b)")
    q.set("SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = t.k AND r.z > 0)")
    q.set("SELECT id FROM t WHERE i4 = (SELECT max(i4) FROM t)")
    q.set("SELECT id FROM t WHERE i8 = (SELECT min(i8) FROM t WHERE k = 2)")
    q.set("SELECT count(*) FROM t WHERE i4 > (SELECT avg(i4) FROM t)")
    q.set("SELECT count(*) FROM t WHERE i4 > (SELECT i4 FROM e)")
    q.error("21000", "SELECT count(*) FROM t WHERE i4 > (SELECT i4 FROM r)")
    q.set("SELECT id FROM r WHERE i4 >= (SELECT max(t.i4) FROM t WHERE t.k = r.k AND t.i4 < 500)")
    q.set("SELECT id, (SELECT count(*) FROM t WHERE t.n = r.id) FROM r")
    q.set("SELECT id, (SELECT string_agg(t.ks, ',' ORDER BY t.id) FROM t WHERE t.n = r.id AND t.z = r.z) FROM r")
    q.set("SELECT x, count(*) FROM (SELECT k AS x FROM t WHERE i4 > 0 ORDER BY id LIMIT 100) q GROUP BY x")
    q.set("SELECT max(c) FROM (SELECT ks, count(*) AS c FROM t GROUP BY ks) q")
    q.set("SELECT c, count(*) FROM (SELECT s, count(*) AS c FROM t GROUP BY s) q GROUP BY c")
    q.set("SELECT avg(m) FROM (SELECT max(i4) AS m FROM t GROUP BY k) q")
    q.seq("SELECT * FROM (SELECT id, s FROM t ORDER BY id LIMIT 20) q WHERE id > 10 ORDER BY id")
    q.set("WITH w AS (SELECT k, count(*) AS c FROM t GROUP BY k) SELECT a.k, a.c + b.c FROM w a JOIN w b ON a.k = b.k + 1")
    q.set("WITH w AS MATERIALIZED (SELECT * FROM t WHERE i4 > 0) SELECT count(*), sum(i2) FROM w WHERE b")
    q.set("WITH RECURSIVE c(id, depth) AS (SELECT id, 0 FROM r WHERE id = 1 UNION ALL SELECT r.id, depth + 1 FROM c JOIN r ON r.id = c.id * 2) SELECT * FROM c")
    q.set("SELECT count(*) FROM t WHERE (k, ks) IN (SELECT k, ks FROM r)")
    q.set("SELECT count(*) FROM t WHERE id = ANY (ARRAY(SELECT id FROM r))")
    q.set("SELECT id, ARRAY(SELECT r.id FROM r WHERE r.k = t.k ORDER BY 1) FROM t WHERE id < 20")
    q.set("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM e), (SELECT max(ts) FROM t)")
    q.set("SELECT k FROM t WHERE id < 100 UNION SELECT k FROM r")
    q.set("SELECT id, s FROM t WHERE id < 30 UNION ALL SELECT id, s FROM r")
    q.set("SELECT ks FROM t EXCEPT SELECT ks FROM r WHERE ks = 'red'")
    q.set("SELECT k, ks FROM t INTERSECT SELECT k, ks FROM r")
    q.set("SELECT k, count(*) FROM (SELECT k FROM t UNION ALL SELECT k FROM r UNION ALL SELECT z::int2 FROM t) q GROUP BY k")
    q.seq("SELECT id FROM t WHERE id < 10 UNION ALL SELECT id FROM r WHERE id < 5 ORDER BY 1, 1 LIMIT 12")
    q.set("SELECT i4 FROM t WHERE id < 5 UNION ALL SELECT i8 FROM t WHERE id < 5")


def joins(q, r):
    q.set("SELECT count(*), sum(t.id) FROM t JOIN public.h ON t.k = h.k")
    q.set("SELECT h.name, count(*), sum(t.i4) FROM t JOIN public.h ON t.k = h.k GROUP BY h.name")
    q.set("SELECT t.id, h.name FROM t LEFT JOIN public.h ON t.k = h.k AND h.v > 1 WHERE t.id < 100")
    q.set("SELECT h.k, h.name, t.id FROM public.h LEFT JOIN t ON t.k = h.k AND t.i4 = h.v")
    q.set("SELECT h.k, t.id FROM public.h FULL JOIN (SELECT * FROM t WHERE id < 50) t ON t.k = h.k")
    q.set("SELECT count(*) FROM t JOIN r ON t.k = r.k AND t.z = r.z")
    q.set("SELECT count(*), count(r.id) FROM t LEFT JOIN r ON t.id = r.id AND r.b")
    q.set("SELECT t.ks, count(*), max(r.i4) FROM t JOIN r USING (k) WHERE t.i4 > 0 AND r.i4 < 0 GROUP BY t.ks")
    q.set("SELECT a.id, b.id FROM r a JOIN r b ON a.id < b.id AND a.s = b.s")
    q.set("SELECT count(*) FROM t a JOIN t b ON a.u = b.u")
    q.set("SELECT count(*) FROM t a JOIN t b ON a.f8 = b.f8 WHERE a.id < 200 AND b.id < 200")
    q.set("SELECT count(*) FROM t a JOIN t b ON a.s = b.ks WHERE a.id < 500")
    q.set("SELECT count(*) FROM t JOIN r ON t.i4 = r.i8")
    q.set("SELECT count(*) FROM t CROSS JOIN r WHERE t.id < 10")
    q.set("SELECT count(*) FROM t NATURAL JOIN r")
    q.seq("SELECT t.id, h.name FROM t JOIN public.h USING (k) ORDER BY h.name, t.id LIMIT 15")
    q.set("SELECT h.k, x.c, x.m FROM public.h, LATERAL (SELECT count(*) AS c, max(i4) AS m FROM t WHERE t.k = h.k AND t.i4 > h.v) x")
    q.seq("SELECT h.k, x.id FROM public.h, LATERAL (SELECT id FROM t WHERE t.k = h.k ORDER BY i4 DESC, id LIMIT 3) x ORDER BY h.k, h.name, x.id")
    q.set("SELECT h.k, x.ks, x.c FROM public.h CROSS JOIN LATERAL (SELECT ks, count(*) AS c FROM t WHERE z < h.v GROUP BY ks) x")
    q.set("SELECT h.k, x.id FROM public.h LEFT JOIN LATERAL (SELECT id FROM r WHERE r.k = h.k AND r.s LIKE h.name || '%') x ON true")
    q.set("SELECT h.k, x.* FROM public.h, LATERAL (SELECT min(d), max(tz), sum(i2) FROM t WHERE n BETWEEN h.v AND h.v + 2) x")
    q.set("SELECT g, (SELECT count(*) FROM t WHERE n = g) FROM generate_series(0, 25) g")
    q.set("SELECT r.id, (SELECT count(*) FROM t WHERE t.s = r.s), (SELECT max(u) FROM t WHERE t.ks = r.ks AND t.s < r.s) FROM r WHERE r.id < 12")
    q.set("SELECT g, x.id FROM generate_series(1, 5) g, LATERAL (SELECT id FROM t WHERE id BETWEEN g * 100 AND g * 100 + 2) x")
    q.script("SET enable_hashjoin = off; SET enable_mergejoin = off; SELECT count(*), sum(t.id) FROM public.h JOIN t ON t.k = h.k;"
             " SELECT count(*) FROM r a JOIN r b ON a.k = b.k; RESET enable_hashjoin; RESET enable_mergejoin")
    q.script("SET enable_hashjoin = off; SET enable_nestloop = off; SELECT count(*), sum(t.id) FROM public.h JOIN t ON t.k = h.k;"
             " SELECT count(*) FROM t a FULL JOIN r b ON a.id = b.id; RESET enable_hashjoin; RESET enable_nestloop")
    q.script("SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off;"
             " SELECT count(*) FROM public.h, r WHERE h.v < r.z; RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize")


def functions(q, r):
    q.set("SELECT id, lower(s), upper(s), initcap(ks), length(s), octet_length(s), reverse(s) FROM t WHERE id < 400")
    q.set("SELECT id, substr(s, 2, 3), left(s, 2), right(s, -1), replace(s, 'a', 'x'), strpos(s, 'o'), btrim(s), lpad(s, 5, '*') FROM t WHERE id < 400")
    q.set("SELECT lower(ks), count(*) FROM t GROUP BY lower(ks)")
    q.set("SELECT count(*) FROM t WHERE lower(s) = 'google'")
    q.set("SELECT regexp_replace(s, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1') AS host, avg(length(s)), count(*), min(s) FROM t WHERE s <> '' GROUP BY host")
    q.set("SELECT regexp_replace(s, '[aeiou]', '.', 'g'), count(*) FROM t GROUP BY 1")
    q.set("SELECT id, s || '-' || ks, s || i4, concat(s, NULL, b), md5(s) FROM t WHERE id < 200")
    q.set("SELECT id, f_user(i2), f_text(ks) FROM t WHERE id < 300")
    q.set("SELECT count(*) FROM t WHERE f_user(i2) > 10")
    q.set("SELECT f_text(ks), count(*), sum(f_user(i2)) FROM t GROUP BY 1")
    q.set("SELECT k, count(*) FROM t GROUP BY k HAVING f_user(count(*)::int4) > 300")
    q.seq("SELECT id FROM t ORDER BY f_user(i2) DESC NULLS LAST, id LIMIT 9")
    q.set("SELECT my_sum(i2), k FROM t GROUP BY k")
    q.set("SELECT count(*) FROM t WHERE random() >= 0")
    q.set("SELECT id, i4::text, i8::float8, f8::numeric, f4::text, f8::text, b::text, d::text, ts::text, tz::text, i2::bool FROM (SELECT id, i4, i8, f8, f4, b, d, ts, tz, i2::int4 AS i2 FROM t) q WHERE abs(f8) < 1e10 AND id < 500")
    q.set("SELECT id, f8::int4, f4::int8, round(f8), trunc(f8), ceil(f4), floor(f8), sign(f8), abs(f8), round(f8::numeric, 1) FROM t WHERE abs(f8) < 1e6 AND abs(f4) < 1e6")
    q.set("SELECT id, sqrt(abs(i4)), i4::float4, i4::int8 * 2, i8::numeric FROM t WHERE i4 > -2147483648 AND id < 300")
    q.set("SELECT id, date_trunc('hour', ts), date_trunc('week', ts), date_trunc('year', d), date_trunc('day', tz), date_part('epoch', ts) FROM t WHERE id < 500")
    q.set("SELECT id, extract(epoch FROM ts), extract(dow FROM d), extract(isoyear FROM d), extract(hour FROM ts), extract(second FROM ts), extract(quarter FROM d) FROM t WHERE id < 500")
    q.set("SELECT id, to_char(ts, 'YYYY-MM-DD HH24:MI'), ts::date, d::timestamp, ts AT TIME ZONE 'America/New_York', tz AT TIME ZONE 'UTC', age(ts, '2013-07-01') FROM t WHERE ts < '2100-01-01' AND id < 300")
    q.set("SELECT to_char(ts, 'YYYY-MM') AS m, count(*) FROM t WHERE d BETWEEN '2013-07-01' AND '2013-09-01' GROUP BY m")
    q.set("SELECT ts::date, count(*) FROM t GROUP BY 1")
    q.set("SELECT tz::date, date_trunc('day', tz), count(*) FROM t GROUP BY 1, 2")
    q.script("SET timezone = 'Europe/Berlin'; SELECT tz::date, count(*) FROM t GROUP BY 1 ORDER BY 1; SELECT count(*) FROM t WHERE ts < tz;"
             " SELECT date_trunc('day', tz), count(*) FROM t GROUP BY 1 ORDER BY 1; SELECT count(*) FROM t WHERE d = tz; RESET timezone")
    q.script("SET timezone = 'Asia/Kathmandu'; SELECT tz FROM t WHERE id < 60 ORDER BY id; SELECT max(tz), min(tz) FROM t; RESET timezone")
    q.script("SET datestyle = 'German'; SELECT d, ts, tz FROM t WHERE id < 30 ORDER BY id; RESET datestyle; SET extra_float_digits = 0; SELECT f4, f8 FROM t WHERE id < 60 ORDER BY id; RESET extra_float_digits")
    q.set("SELECT id, CASE k WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE ks END, CASE WHEN i4 > 0 THEN 1 WHEN i4 < 0 THEN -1 END FROM t WHERE id < 500")
    q.set("SELECT sum(CASE WHEN ks = 'red' THEN 1 ELSE 0 END), count(CASE WHEN b THEN 1 END), avg(CASE WHEN k > 2 THEN i2 END) FROM t")
    q.set("SELECT id, COALESCE(i4, k, -1), COALESCE(s, ks, 'none'), NULLIF(k, 2), NULLIF(s, ''), GREATEST(i2, k, z), LEAST(f8, f4, 0) FROM t WHERE id < 500", approx=True)
    q.set("SELECT COALESCE(ks, 'none') AS c, count(*) FROM t GROUP BY c")
    q.set("SELECT count(*) FROM t WHERE COALESCE(b, true) AND GREATEST(k, z) > 1")
    q.set("SELECT t::text FROM t WHERE id < 20")
    q.set("SELECT count(t), count(t.*) FROM t")
    q.set("SELECT (q).id, (q).s FROM (SELECT t AS q FROM t WHERE id < 10) x")
    q.set("SELECT row_to_json(t) FROM t WHERE id < 40")
    q.set("SELECT $1, id FROM t WHERE id < 3", p("text", "x"))
    q.set("SELECT id + $1, $2 || s FROM t WHERE id < 50", p("int4", "7"), p("text", "pre"))
    q.set("SELECT count(*) FROM t WHERE i4 > $1 + 5 AND d < $2 + 3", p("int4", "10"), p("date", "2013-07-15"))
    q.set("SELECT generate_series(1, 2), id FROM t WHERE id < 4")
    q.set("SELECT unnest(ARRAY[id, i4]) FROM t WHERE id < 6")
    q.set("SELECT k, generate_series(1, count(*)::int4 % 3) FROM t GROUP BY k")


def windows(q, r):
    q.set("SELECT id, row_number() OVER (ORDER BY id) FROM t WHERE id < 100")
    q.set("SELECT id, rank() OVER (PARTITION BY k ORDER BY i4), dense_rank() OVER (PARTITION BY k ORDER BY i4) FROM t WHERE b")
    q.set("SELECT id, sum(i2) OVER (PARTITION BY ks ORDER BY id) FROM t")
    q.set("SELECT id, lag(i4) OVER (ORDER BY id), lead(s, 2, 'end') OVER (ORDER BY id) FROM t WHERE id < 200")
    q.set("SELECT id, sum(i2) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING), first_value(u) OVER (PARTITION BY n ORDER BY id DESC) FROM t WHERE id < 300")
    q.set("SELECT k, count(*), rank() OVER (ORDER BY count(*) DESC) FROM t GROUP BY k")
    q.seq("SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY i4 DESC, id) AS rn FROM t) q WHERE rn <= 2 ORDER BY k, rn")
    q.seq("SELECT id, ntile(4) OVER (ORDER BY id), cume_dist() OVER (ORDER BY k) FROM t WHERE id < 50 ORDER BY id")


def sessions(q, r):
    c = "BEGIN; DECLARE c SCROLL CURSOR FOR {}; FETCH 3 FROM c; FETCH 0 FROM c; FETCH 10 FROM c; MOVE 5 FROM c; FETCH 2 FROM c; FETCH ALL FROM c; FETCH 1 FROM c; CLOSE c; COMMIT"
    q.script(c.format("SELECT id, s FROM t WHERE i4 > 0 ORDER BY id LIMIT 60"))
    q.script(c.format("SELECT k, count(*) FROM t GROUP BY k ORDER BY k"))
    q.script(c.format("SELECT id FROM r ORDER BY id"))
    q.script("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id, ks FROM t WHERE id < 40 ORDER BY id; FETCH 5 FROM c; FETCH BACKWARD 2 FROM c; FETCH LAST FROM c; FETCH FIRST FROM c; FETCH ABSOLUTE 7 FROM c; FETCH RELATIVE -3 FROM c; FETCH PRIOR FROM c; COMMIT")
    q.script("BEGIN; DECLARE a CURSOR FOR SELECT id FROM t ORDER BY id; DECLARE b CURSOR FOR SELECT id FROM t ORDER BY id DESC; FETCH 2 FROM a; FETCH 2 FROM b; FETCH 2 FROM a; FETCH 2 FROM b; COMMIT")
    q.script("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT k, sum(i2) FROM t GROUP BY k ORDER BY k; FETCH 2 FROM c; COMMIT; FETCH ALL FROM c; CLOSE c")
    q.script("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id; FETCH 2 FROM c; SAVEPOINT p; SELECT 1/0; ROLLBACK TO p; FETCH 2 FROM c; COMMIT")
    q.script("BEGIN; SAVEPOINT p; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id; FETCH 2 FROM c; ROLLBACK TO p; SELECT count(*) FROM t; COMMIT")
    q.script("BEGIN; SELECT 10 / z FROM t; ROLLBACK; SELECT count(*) FROM t")
    q.script("PREPARE s(int4, text) AS SELECT count(*), min(id) FROM t WHERE i4 > $1 AND ks = $2; EXECUTE s(0, 'red'); EXECUTE s(500, 'blue'); EXECUTE s(NULL, 'red');"
             " SET plan_cache_mode = force_generic_plan; EXECUTE s(0, 'red'); EXECUTE s(500, 'blue'); EXECUTE s(NULL, 'x'); RESET plan_cache_mode;"
             " EXECUTE s(1, 'green'); EXECUTE s(2, 'green'); EXECUTE s(3, 'green'); EXECUTE s(4, 'green'); DEALLOCATE s")
    q.script("PREPARE s(int8) AS SELECT id FROM t WHERE k = 2 ORDER BY id LIMIT $1; SET plan_cache_mode = force_generic_plan; EXECUTE s(3); EXECUTE s(0); EXECUTE s(NULL); EXECUTE s(-1); EXECUTE s(1); RESET plan_cache_mode; DEALLOCATE s")
    q.script("PREPARE s(text) AS SELECT count(*) FROM t WHERE s LIKE $1; SET plan_cache_mode = force_generic_plan; EXECUTE s('a%'); EXECUTE s('%google%'); EXECUTE s(NULL); EXECUTE s('a\\'); EXECUTE s(''); RESET plan_cache_mode; DEALLOCATE s")
    q.script("PREPARE s(date, date) AS SELECT ks, count(*) FROM t WHERE d BETWEEN $1 AND $2 GROUP BY ks ORDER BY ks; SET plan_cache_mode = force_generic_plan; EXECUTE s('2013-07-01', '2013-07-10'); EXECUTE s('2013-08-01', '2013-07-10'); EXECUTE s('-infinity', 'infinity'); RESET plan_cache_mode; DEALLOCATE s")
    q.script("BEGIN; CREATE TEMP TABLE copy_of_t ON COMMIT DROP AS SELECT * FROM t WHERE i4 > 0; SELECT count(*), sum(id), max(s) FROM copy_of_t; INSERT INTO copy_of_t SELECT * FROM r; SELECT count(*) FROM copy_of_t; COMMIT")
    q.script("BEGIN; UPDATE public.h SET v = v + x.c FROM (SELECT k, count(*)::int4 AS c FROM t GROUP BY k) x WHERE x.k = h.k; SELECT * FROM public.h ORDER BY k, name; DELETE FROM public.h USING t WHERE t.k = h.k AND t.i4 > 900; SELECT count(*) FROM public.h; ROLLBACK")
    q.script("SELECT f_loop(); SELECT f_loop(); SELECT f_catch()")
    q.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM t; SELECT count(*) FROM r; COMMIT")
    q.script("SELECT count(*) FROM t; SELECT count(*) FROM e; SELECT sum(i4) FROM t WHERE id < 10")
    q.script("CREATE TEMP VIEW v AS SELECT k, ks, i4 FROM t WHERE i4 > 0; SELECT ks, count(*) FROM v WHERE k = 1 GROUP BY ks ORDER BY ks; SELECT max(i4) FROM v; DROP VIEW v")
    q.script("SET statement_timeout = '60s'; SELECT count(*) FROM t a, t b WHERE a.id = b.id; RESET statement_timeout")


def pruning(q, r):
    for lo in range(0, 2400, 150):
        q.set(f"SELECT count(*), min(id), max(id), min(u) FROM t WHERE id BETWEEN {lo} AND {lo + r.choice([0, 5, 200])}")
    for e in ("id = 1234", "id = -1", "id > 2390", "id < 3", "id >= 2399 OR id <= 0", "u = 'u00777'", "u > 'u02390'", "u < 'u'", "n = 7", "n IN (3, 21)", "n <> 5 AND n < 6",
              "k = 3 AND id BETWEEN 700 AND 1700", "k IS NULL AND id BETWEEN 800 AND 1600", "k IS NOT NULL AND id BETWEEN 800 AND 1600", "NOT (id > 5)", "id = 5 AND id = 6",
              "id > 100 AND id < 50", "n = 4 AND u LIKE 'u004%'", "i4 = 999999", "s = 'no such string'", "d = '1800-01-01'", "id::int4 = 77", "id + 1 = 78", "id = 77.0", "id = 77.5", "id > 2398.5",
              "f8 = 'NaN'", "f8 > 1e308", "f8 < -1e299", "f4 = 0", "ts = '9999-12-31 23:59:59.999999'", "tz = '1970-01-01 00:00+00'", "b IS NULL AND n = 2", "i8 = -9223372036854775808",
              "id = (SELECT 55)", "id = (SELECT max(id) FROM t)"):
        q.set(f"SELECT count(*), sum(id), min(s), max(ts) FROM t WHERE {e}")
        q.set(f"SELECT * FROM t WHERE {e} AND i2 > 0")
    q.set("SELECT count(*) FROM t WHERE id = $1", p("int8", "1500"))
    q.set("SELECT count(*), max(s) FROM t WHERE id > $1 AND u < $2", p("int8", "1500"), p("text", "u01600"))
    q.set("SELECT min(id), max(id), count(*) FROM t WHERE d >= $1 AND d < $2", p("date", "2013-07-10"), p("date", "2013-07-20"))


def random_selects(q, r, count):
    """Selects put together from parts."""
    for _ in range(count):
        where = f" WHERE {boolean(r, 2)}" if r.random() < 0.8 else ""
        keys = r.sample(["k", "ks", "b", "z", "n", "d", "i2", "s"], r.randrange(0, 4))
        aggs = r.sample(["count(*)", "count(s)", "sum(i2)", "sum(i4)", "sum(i8)", "avg(i4)", "avg(i8)", "min(i4)", "max(ts)", "min(s)", "max(d)", "count(DISTINCT k)", "min(tz)", "max(u)"],
                        r.randrange(1, 4))
        if r.random() < 0.6:
            sql = f"SELECT {', '.join(keys + aggs)} FROM t{where}" + (f" GROUP BY {', '.join(keys)}" if keys else "")
            if keys and r.random() < 0.3:
                sql += f" HAVING {r.choice(aggs[:1])} IS NOT NULL"
            if keys and r.random() < 0.5:
                order = [a + r.choice(["", " DESC", " NULLS FIRST"]) for a in r.sample(aggs, 1)] + keys
                q.seq(sql + f" ORDER BY {', '.join(order)} LIMIT {r.choice([1, 5, 20])}" + r.choice(["", " OFFSET 2"]))
            else:
                q.set(sql)
        else:
            cols = r.sample(list(TYPES), r.randrange(1, 6))
            if r.random() < 0.5:
                order = [c + r.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]) for c in r.sample(list(TYPES), 2)] + ["id"]
                q.seq(f"SELECT {', '.join(cols)} FROM t{where} ORDER BY {', '.join(order)} LIMIT {r.choice([1, 10, 100, 3000])}" + r.choice(["", " OFFSET 3"]))
            else:
                q.set(f"SELECT {', '.join(cols)} FROM t{where}")


def queries(seed):
    q, r = List(), random.Random(seed)
    for part in (comparisons, logic, lists, arithmetic, patterns, aggregates, ordering, distinct, nested, joins, functions, windows, sessions, pruning):
        part(q, r)
    random_selects(q, r, 120)
    shapes.add(q, r, boolean, CONSTS, TYPES, 20)
    collations.add(q, p)
    return q
