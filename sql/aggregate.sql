-- Grouping, aggregates, HAVING, DISTINCT.
\set suite aggregate
\i sql/include/tables.inc
\pset null (null)

EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM events;
SELECT count(*), count(amount), count(DISTINCT customer) FROM events;
EXPLAIN (VERBOSE, COSTS OFF)
	SELECT kind, count(*), sum(amount) / count(*) AS mean FROM events WHERE paid GROUP BY kind;
SELECT kind, count(*), sum(amount) / count(*) AS mean FROM events WHERE paid GROUP BY kind
	ORDER BY kind;
SELECT sum(id), sum(quantity), sum(customer), sum(amount) FROM events;
SELECT avg(id), avg(quantity), avg(amount), avg(customer) FROM events;
SELECT min(ts), max(ts), min(day), max(day), min(url), max(url), min(amount), max(amount)
	FROM events;

-- numeric values are written as PostgreSQL writes them
CREATE TEMP TABLE written AS SELECT a, a::text::numeric AS b FROM
	(SELECT avg(quantity) AS a FROM events GROUP BY day, kind
	 UNION ALL SELECT sum(id * (id - 10000)) FROM events GROUP BY customer
	 UNION ALL SELECT avg(id) FROM events GROUP BY quantity
	 UNION ALL SELECT avg(c_int64) FROM types GROUP BY id) s;
SELECT count(*), count(*) FILTER (WHERE a <> b OR pg_column_size(a) <> pg_column_size(b) OR
	scale(a) <> scale(b)) AS odd, count(*) FILTER (WHERE a IS NULL) AS nulls FROM written;
-- keys
SELECT customer, kind, count(*) FROM events GROUP BY customer, kind ORDER BY 3 DESC, 1, 2 LIMIT 5;
SELECT paid, count(*), count(paid) FROM events GROUP BY paid ORDER BY paid;
SELECT quantity + 1, count(*) FROM events GROUP BY quantity + 1 ORDER BY 1 NULLS FIRST LIMIT 3;
SELECT count(*) FROM (SELECT count(*) FROM events GROUP BY customer, kind) s;
EXPLAIN (COSTS OFF) SELECT 1, kind, count(*) FROM events GROUP BY 1, 2;
SELECT 1, 'x', count(*) FROM events GROUP BY 1, 2;
SELECT (quantity + 1) * 2, count(*) FROM events GROUP BY quantity + 1 ORDER BY 1 LIMIT 2;
SELECT c_double + 0, count(*) FROM types GROUP BY c_double ORDER BY 1;

-- no rows
SELECT count(*), sum(a), min(a), max(b) FROM empty;
SELECT a, count(*) FROM empty GROUP BY a;
SELECT count(*), count(a), sum(a), min(b), avg(c) FROM nulls;
SELECT a, b, count(*) FROM nulls GROUP BY a, b;
SELECT count(*) FROM events WHERE false;

-- HAVING: in the engine, in PostgreSQL, both
EXPLAIN (COSTS OFF)
	SELECT kind, count(*) FROM events GROUP BY kind HAVING count(*) > 3000 AND sum(quantity) > 0;
SELECT kind, count(*) FROM events GROUP BY kind HAVING count(*) > 3000 AND sum(quantity) > 0
	ORDER BY kind;
EXPLAIN (COSTS OFF)
	SELECT kind, count(*) FROM events GROUP BY kind
	HAVING count(*) > 2900 AND opaque(max(kind)) AND count(*) < 8000;
SELECT kind, count(*) FROM events GROUP BY kind
	HAVING count(*) > 2900 AND opaque(max(kind)) AND count(*) < 8000;
EXPLAIN (COSTS OFF) SELECT kind, count(*) FROM events GROUP BY kind
	HAVING opaque(max(kind)) ORDER BY 2 LIMIT 1;
EXPLAIN (COSTS OFF) SELECT kind FROM events GROUP BY kind HAVING opaque(kind);

-- FILTER, DISTINCT
SELECT count(*) FILTER (WHERE paid), sum(quantity) FILTER (WHERE kind = 'buy') FROM events;
EXPLAIN (COSTS OFF) SELECT DISTINCT kind FROM events;
SELECT DISTINCT kind, paid FROM events ORDER BY 1, 2;
SELECT DISTINCT count(*) FROM events GROUP BY day HAVING count(*) > 280 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT DISTINCT count(*) FROM events GROUP BY day;

-- what PostgreSQL evaluates
EXPLAIN (COSTS OFF) SELECT kind, paid, count(*) FROM events GROUP BY ROLLUP (kind, paid);
EXPLAIN (COSTS OFF) SELECT opaque_max(kind) FROM events;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (kind) kind, id FROM events ORDER BY kind, id;
EXPLAIN (COSTS OFF) SELECT kind, count(*) FROM events WHERE opaque(kind) GROUP BY kind;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events e JOIN customers c ON c.id = e.customer;
EXPLAIN (COSTS OFF) SELECT kind, rank() OVER (ORDER BY count(*)) FROM events GROUP BY kind;
EXPLAIN (COSTS OFF) SELECT count(e) FROM events e;
SET analytics_fdw.enable_aggregate_pushdown = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events;
SELECT count(*), sum(quantity) FROM events;
RESET analytics_fdw.enable_aggregate_pushdown;
SET analytics_fdw.enable_distinct_pushdown = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT kind FROM events;
RESET analytics_fdw.enable_distinct_pushdown;

-- subqueries see each its own part
SELECT sum(n) FROM (SELECT kind, count(*) AS n FROM events GROUP BY kind) AS s;
SELECT kind, n FROM (SELECT kind, count(*) AS n FROM events GROUP BY kind) s WHERE n > 3000
	ORDER BY kind;
SELECT (SELECT count(*) FROM events e WHERE e.customer = c.id) FROM customers c
	WHERE c.id < 4 ORDER BY c.id;
SELECT count(*) FROM events GROUP BY kind UNION ALL SELECT count(*) FROM customers ORDER BY 1;
