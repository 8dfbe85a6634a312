"""Queries of every shape SQL has around a scan, put together at random: windows, common table
expressions, LATERAL, correlated subqueries, grouping sets, aggregates of aggregates, DISTINCT ON,
ties, writes from foreign tables, parameters of every type, cursors that go back.
"""
EXACT = ["count(*)", "count(s)", "count(i4)", "sum(i2)", "sum(i4)", "sum(i8)", "avg(i2)", "avg(i4)", "avg(i8)",
         "min(i4)", "max(i8)", "min(d)", "max(ts)", "min(tz)", "max(u)", "min(s COLLATE \"C\")", "count(DISTINCT k)",
         "count(DISTINCT s)", "sum(DISTINCT i2)", "bool_and(b)", "bool_or(b)", "sum(i4::numeric)", "avg(i8::numeric)",
         "sum(i4 * 1.25)", "min(i4::numeric / 8)", "max(i2 + 0.50)", "bit_and(i2)", "bit_or(i4)",
         "variance(i2)", "stddev_pop(i4)", "sum(length(s))", "max(extract(year FROM d))", "string_agg(u, ',' ORDER BY u)",
         "array_agg(i2 ORDER BY id)", "count(*) FILTER (WHERE b)", "sum(i2) FILTER (WHERE i4 > 0)",
         "sum(CASE WHEN b THEN i4 ELSE i2 END)", "count(DISTINCT (k, b))", "sum(i2 + 1)", "sum(i2 - id % 7)"]
KEYS = ["k", "ks", "b", "z", "n", "d", "i2", "s", "k + z", "i2 % 10", "lower(ks)", "length(s)", "date_trunc('month', ts)",
        "date_trunc('day', tz)", "extract(year FROM d)", "extract(hour FROM ts)", "left(s, 2)", "coalesce(k, -1)", "i4 > 0",
        "i4::numeric", "id / 100", "id % 7", "upper(s)", "CASE WHEN i2 > 0 THEN 'p' WHEN i2 < 0 THEN 'n' END", "s || '-'",
        "substr(u, 1, 4)", "d + 1 > '2013-07-15'", "concat(k, ks)", "to_char(d, 'YYYY-MM')", "i8 / 1000", "f8 > 0", "nullif(z, 0)"]
COLUMNS = ["b", "i2", "i4", "i8", "f4", "f8", "s", "d", "ts", "tz", "k", "ks", "z", "n", "u"]
# The order of text is that of the database; ties are broken by id.
ORDER = ["b", "i2", "i4", "i8", "d", "ts", "tz", "k", "ks", "s", "z", "n", "f8", "i2 % 5", "length(s)"]
TURN = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]


def keys(r, low, high):
    return r.sample(KEYS, r.randrange(low, high + 1))


def where(r, boolean, depth=1):
    return f" WHERE {boolean(r, depth)}" if r.random() < 0.7 else ""


def named(exprs, letter):
    return ", ".join(f"{e} AS {letter}{i}" for i, e in enumerate(exprs))


def ordering(r, most):
    return ", ".join(e + r.choice(TURN) for e in r.sample(ORDER, r.randrange(1, most + 1)))


def grouped(r, boolean):
    """A grouped SELECT; how many keys and aggregates it has."""
    k, a = keys(r, 1, 3), r.sample(EXACT, r.randrange(1, 4))
    group = ", ".join(str(i + 1) for i in range(len(k)))
    return f"SELECT {named(k, 'g')}, {named(a, 'a')} FROM t{where(r, boolean)} GROUP BY {group}", len(k), len(a)


def aggregates(q, r, boolean):
    sql, nk, na = grouped(r, boolean)
    names = [f"g{i}" for i in range(nk)] + [f"a{i}" for i in range(na)]
    form = r.randrange(7)
    if form == 0:
        q.set(sql)
    elif form == 1:
        q.seq(f"{sql} ORDER BY {', '.join(str(nk + i + 1) + r.choice(TURN) for i in range(na))}, {', '.join(str(i + 1) for i in range(nk))}"
              f" LIMIT {r.choice([1, 7, 30])}{r.choice(['', ' OFFSET 3'])}")
    elif form == 2:
        q.set(f"SELECT count(*), count({r.choice(names)}), min({names[0]}::text COLLATE \"C\"), max({names[-1]}::text COLLATE \"C\") FROM ({sql}) x")
    elif form == 3:
        q.set(f"SELECT {names[0]}, count(*) FROM ({sql}) x GROUP BY 1 HAVING count(*) > 0")
    elif form == 4:
        q.set(f"{sql} HAVING count(*) > {r.choice([1, 3, 20])} AND {r.choice(['min(i4) < 0', 'max(i8) > 5', 'bool_or(b)', 'sum(i2) <> 0', 'count(DISTINCT k) > 1'])}")
    elif form == 5:
        q.set(f"SELECT DISTINCT {', '.join(names[:2])} FROM ({sql}) x")
    else:
        q.set(f"WITH x AS {r.choice(['', 'MATERIALIZED ', 'NOT MATERIALIZED '])}({sql}) SELECT * FROM x UNION ALL SELECT * FROM x")


def grouping_sets(q, r, boolean):
    k = keys(r, 2, 2)
    a = r.sample(EXACT, 2)
    inner = f"SELECT {named(k, 'g')}, t.* FROM t{where(r, boolean)}"
    names = [f"g{i}" for i in range(len(k))]
    sets = r.choice([f"ROLLUP ({', '.join(names)})", f"CUBE ({', '.join(names)})", f"GROUPING SETS (({names[0]}), ({names[1]}), ())",
                     f"GROUPING SETS (({', '.join(names)}), ({names[-1]}))", f"{names[0]}, ROLLUP ({', '.join(names[1:])})"])
    q.set(f"SELECT {', '.join(names)}, GROUPING({names[0]}), {', '.join(a)} FROM ({inner}) x GROUP BY {sets}")


def windows(q, r, boolean):
    f = r.choice(["row_number()", "rank()", "dense_rank()", "sum(i2)", "count(*)", "min(i4)", "lag(s)", "lead(d, 2)", "first_value(u)",
                  "last_value(i8)", "nth_value(i4, 2)", "ntile(3)", "avg(i4)", "count(s)", "max(ts)", "array_agg(i2)"])
    total = f"{ordering(r, 2)}, id"
    frame = r.choice(["", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING"])
    if f.startswith(("row", "rank", "dense", "ntile")):
        frame = ""
    part = f"PARTITION BY {', '.join(keys(r, 1, 2))} " if r.random() < 0.7 else ""
    sql = f"SELECT id, {f} OVER ({part}ORDER BY {total}{frame}) AS w FROM t{where(r, boolean)}"
    form = r.randrange(3)
    if form == 0:
        q.set(sql)
    elif form == 1:
        q.seq(f"SELECT * FROM ({sql}) x ORDER BY id{r.choice(['', ' DESC'])} LIMIT 20")
    else:
        g = r.choice(KEYS[:8])
        q.set(f"SELECT {g}, count(*), row_number() OVER (ORDER BY count(*) DESC, {g}), sum(count(*)) OVER () FROM t{where(r, boolean)} GROUP BY {g}")


def subqueries(q, r, boolean):
    col = r.choice(["k", "z", "n", "ks", "i2", "d", "b"])
    agg = r.choice(["count(*)", "max(i4)", "min(u)", "sum(i2)", "avg(i4)", "max(ts)"])
    form = r.randrange(8)
    if form == 0:
        q.set(f"SELECT r.id, (SELECT {agg} FROM t WHERE t.{col} = r.{col} AND {boolean(r, 1)}) FROM r")
    elif form == 1:
        q.set(f"SELECT r.id, x.* FROM r CROSS JOIN LATERAL (SELECT {agg} AS a, count(*) AS c FROM t WHERE t.{col} = r.{col} AND t.id > r.id) x")
    elif form == 2:
        q.set(f"SELECT r.id, x.id, x.s FROM r LEFT JOIN LATERAL (SELECT id, s FROM t WHERE t.{col} = r.{col} ORDER BY t.i4 DESC, t.id LIMIT 2 OFFSET {r.choice([0, 1])}) x ON true")
    elif form == 3:
        q.set(f"SELECT id, {col} FROM t WHERE {r.choice(['', 'NOT '])}EXISTS (SELECT FROM r WHERE r.{col} = t.{col} AND r.i4 < t.i4)")
    elif form == 4:
        q.set(f"SELECT count(*), sum(id) FROM t WHERE {col} {r.choice(['', 'NOT '])}IN (SELECT {col} FROM r{where(r, boolean)})")
    elif form == 5:
        q.set(f"SELECT id FROM t WHERE i4 {r.choice(['>', '<=', '='])} (SELECT {r.choice(['max', 'min'])}(i4) FROM r WHERE r.k = t.k)")
    elif form == 6:
        q.set(f"SELECT count(*) FROM t WHERE i8 {r.choice(['>', '<'])} {r.choice(['ALL', 'ANY'])} (SELECT i8 FROM r WHERE i8 IS NOT NULL AND abs(i8 / 2) < {r.choice([10, 10000, 10000000])})")
    else:
        q.set(f"SELECT {agg}, (SELECT count(*) FROM r WHERE r.{col} = x.{col}) FROM t x{where(r, boolean)} GROUP BY x.{col}")


def joins(q, r, boolean):
    kind = r.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    col = r.choice(["k", "z", "n", "ks", "id", "d", "i2", "s", "u", "i4"])
    form = r.randrange(4)
    if form == 0:
        q.set(f"SELECT count(*), sum(a.id), sum(c.id), max(a.u), min(c.s COLLATE \"C\") FROM (SELECT * FROM t{where(r, boolean)}) a {kind} (SELECT * FROM r{where(r, boolean)}) c ON a.{col} = c.{col}")
    elif form == 1:
        q.set(f"SELECT a.{col}, a.c, b.c FROM (SELECT {col}, count(*) AS c FROM t GROUP BY 1) a {kind} (SELECT {col}, count(*) AS c FROM r GROUP BY 1) b ON a.{col} = b.{col}")
    elif form == 2:
        q.set(f"SELECT h.name, x.a FROM public.h LEFT JOIN LATERAL (SELECT {r.choice(EXACT)} AS a FROM t WHERE t.k = h.k AND t.i4 > h.v) x ON true")
    else:
        q.set(f"SELECT * FROM (SELECT id, {col} FROM t{where(r, boolean)} {r.choice(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL'])} SELECT id, {col} FROM r) x")


def limits(q, r, boolean):
    form = r.randrange(5)
    cols = ", ".join(r.sample(COLUMNS, r.randrange(1, 5)))
    if form == 0:
        on = r.sample(["k", "ks", "z", "n", "b", "d", "i2"], r.randrange(1, 3))
        turn = [c + r.choice(TURN) for c in on]
        q.seq(f"SELECT DISTINCT ON ({', '.join(on)}) id, {cols} FROM t{where(r, boolean)} ORDER BY {', '.join(turn)}, {ordering(r, 1)}, id LIMIT {r.choice([3, 50, 2000])}")
    elif form == 1:
        # Ties at the end: whichever rows, the keys are the same.
        key = r.choice(["k", "z", "n", "d", "b", "i2", "ks", "ts", "i2 % 5", "length(s)"])
        turn = r.choice(TURN)
        q.seq(f"SELECT {key} FROM t{where(r, boolean)} ORDER BY 1{turn} LIMIT {r.choice([1, 10, 500])} OFFSET {r.choice([0, 1, 90])}")
    elif form == 2:
        key = r.choice(["k", "z", "n", "d", "i2"])
        q.set(f"SELECT id, {key} FROM t{where(r, boolean)} ORDER BY {key}{r.choice(TURN)} FETCH FIRST {r.choice([1, 10])} ROWS WITH TIES")
    elif form == 3:
        e = boolean(r, 1)
        q.subset(f"SELECT id, {cols} FROM t WHERE {e} LIMIT {r.choice([0, 1, 40])} OFFSET {r.choice([0, 5])}", f"SELECT id, {cols} FROM t WHERE {e}")
    else:
        q.seq(f"SELECT {cols}, id FROM t{where(r, boolean, 2)} ORDER BY {ordering(r, 3)}, id LIMIT {r.choice([1, 9, 100, 900])} OFFSET {r.choice([0, 0, 2, 400])}")


def scripts(q, r, boolean, constants, types):
    form = r.randrange(6)
    if form == 0:
        q.script(f"BEGIN; CREATE TEMP TABLE w (x text, y int8) ON COMMIT DROP; INSERT INTO w SELECT min(ks COLLATE \"C\"), sum(i2) FROM t{where(r, boolean)} GROUP BY ks;"
                 " SELECT * FROM w ORDER BY x, y; UPDATE w SET y = y + (SELECT count(*) FROM t WHERE t.ks = w.x); SELECT * FROM w ORDER BY x, y;"
                 " DELETE FROM w WHERE x IN (SELECT ks FROM r WHERE k = 2); SELECT * FROM w ORDER BY x, y; COMMIT")
    elif form == 1:
        moves = "; ".join(f"FETCH {r.choice(['1', '4', 'BACKWARD 2', 'PRIOR', 'FIRST', 'LAST', 'ABSOLUTE 3', 'ABSOLUTE -2', 'RELATIVE 2', 'RELATIVE -1', 'BACKWARD ALL', 'FORWARD ALL', '0'])} FROM c" for _ in range(7))
        body = r.choice([f"SELECT id, s FROM t{where(r, boolean)} ORDER BY {ordering(r, 2)}, id{r.choice(['', ' LIMIT 25'])}",
                         "SELECT k, count(*), sum(i4) FROM t GROUP BY k ORDER BY k", "SELECT DISTINCT ks, z FROM t ORDER BY ks, z"])
        q.script(f"BEGIN; DECLARE c SCROLL CURSOR {r.choice(['', 'WITH HOLD '])}FOR {body}; {moves}; {r.choice(['COMMIT', 'ROLLBACK', 'CLOSE c; COMMIT'])}; CLOSE ALL")
    elif form == 2:
        col = r.choice(["b", "i2", "i4", "i8", "f4", "f8", "s", "d", "ts", "tz"])
        kind = types[col]
        values = ["'" + v.replace("'", "''") + "'" for v in r.sample(constants[kind], 2)] + ["NULL"]
        op = r.choice(["=", "<>", "<", ">=", "IS DISTINCT FROM"])
        body = r.choice([f"SELECT count(*), min(id), max(u) FROM t WHERE {col} {op} $1", f"SELECT ks, count(*) FROM t WHERE {col} {op} $1 GROUP BY ks ORDER BY ks",
                         f"SELECT id, $1 FROM t WHERE {col} {op} $1 ORDER BY {col} DESC, id LIMIT 5", f"SELECT count(*), count($1) FROM t WHERE {col} IN ($1, NULL) OR id < 3"])
        q.script(f"PREPARE s({kind}) AS {body}; " + "; ".join(f"EXECUTE s({v})" for v in values) +
                 "; SET plan_cache_mode = force_generic_plan; " + "; ".join(f"EXECUTE s({v})" for v in values) + "; RESET plan_cache_mode; DEALLOCATE s")
    elif form == 3:
        q.script(f"BEGIN; CREATE TEMP TABLE w ON COMMIT DROP AS SELECT {named(keys(r, 2, 3), 'g')}, id FROM t{where(r, boolean)}; SELECT * FROM w ORDER BY id; COMMIT")
    elif form == 4:
        q.script("BEGIN; DECLARE c CURSOR FOR SELECT id, u FROM t ORDER BY id; FETCH 3 FROM c; SELECT count(*) FROM t; SAVEPOINT p; SELECT sum(10 / z) FROM t; ROLLBACK TO p;"
                 f" SELECT count(*) FROM t{where(r, boolean)}; FETCH 3 FROM c; COMMIT")
    else:
        v = r.choice(["date", "timestamptz", "text", "int8"])
        col = {"date": "d", "timestamptz": "tz", "text": "u", "int8": "i8"}[v]
        c = [x.replace("'", "''") for x in r.sample(constants[v], 2)]
        q.script(f"PREPARE s({v}, {v}, int8) AS SELECT id, {col} FROM t WHERE {col} BETWEEN $1 AND $2 ORDER BY {col}, id LIMIT $3; EXECUTE s('{c[0]}', '{c[1]}', 4); SET plan_cache_mode = force_generic_plan;"
                 f" EXECUTE s('{c[0]}', '{c[1]}', 4); EXECUTE s('{c[1]}', '{c[0]}', NULL); EXECUTE s(NULL, '{c[0]}', 2); RESET plan_cache_mode; DEALLOCATE s")


def add(q, r, boolean, constants, types, count):
    for _ in range(count):
        for part in (aggregates, aggregates, grouping_sets, windows, subqueries, joins, limits, limits):
            part(q, r, boolean)
        scripts(q, r, boolean, constants, types)
