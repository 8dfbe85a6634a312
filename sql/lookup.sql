-- Parameterised scans: one value after another of another relation, each for the row groups that
-- may have it.
\set suite lookup
\i sql/include/tables.inc
CREATE TABLE small AS SELECT g, g * 4000::int8 AS id, 'x' || g AS t FROM generate_series(1, 3) g;
ANALYZE small;
EXPLAIN (COSTS OFF) SELECT s.g, e.kind FROM small s JOIN events e ON e.id = s.id;
SELECT s.g, e.id, e.kind FROM small s JOIN events e ON e.id = s.id ORDER BY 1;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT s.g, e.kind FROM small s JOIN events e ON e.id = s.id;
-- an outer join keeps its condition; expressions of the other side; two conditions
EXPLAIN (COSTS OFF) SELECT s.g, e.id FROM small s LEFT JOIN events e ON e.id = s.id + 1 AND s.t <> 'x2';
SELECT s.g, e.id FROM small s LEFT JOIN events e ON e.id = s.id + 1 AND s.t <> 'x2' ORDER BY 1;
SELECT s.g, e.id FROM small s LEFT JOIN events e ON e.id = s.id AND e.kind LIKE 'v%' AND e.quantity > s.g
	ORDER BY 1;
-- nothing is found for a null
SELECT s.v, e.id FROM (VALUES (4000::int8), (NULL), (4001)) s (v) LEFT JOIN events e ON e.id = s.v ORDER BY 1;
-- semi-joins, anti-joins, EXISTS, correlated subqueries, LATERAL
SELECT count(*) FROM small s WHERE EXISTS (SELECT FROM events e WHERE e.id = s.id AND e.kind <> 'buy');
SELECT count(*) FROM small s WHERE NOT EXISTS (SELECT FROM events e WHERE e.id = s.id + 20000);
EXPLAIN (COSTS OFF) SELECT g, (SELECT kind FROM events e WHERE e.id = s.id) FROM small s;
SELECT g, (SELECT kind FROM events e WHERE e.id = s.id) FROM small s ORDER BY 1;
SELECT s.g, l.n FROM small s, LATERAL (SELECT count(*) AS n FROM events e WHERE e.id BETWEEN s.id AND
	s.id + 5) l ORDER BY 1;
SELECT s.g, l.id FROM small s CROSS JOIN LATERAL (SELECT e.id FROM events e WHERE e.id > s.id ORDER BY e.id
	LIMIT 2) l ORDER BY 1, 2;
-- other types: the column's or the value's is wider; text has no bounds that tell a share
SELECT s.g, e.id FROM (SELECT g::int2, id::int4 FROM small) s JOIN events e ON e.id = s.id ORDER BY 1;
SELECT count(*) FROM (SELECT id::numeric FROM small) s JOIN events e ON e.id = s.id;
-- a condition that PostgreSQL evaluates goes before one that may raise
SELECT count(*) FROM small s JOIN events e ON e.id = s.id WHERE opaque(e.kind);
-- generic plans; the inner side in a prepared statement
SET plan_cache_mode = force_generic_plan;
PREPARE p(int) AS SELECT e.id FROM small s JOIN events e ON e.id = s.id + $1 ORDER BY 1;
EXECUTE p(0);
EXECUTE p(1);
EXECUTE p(NULL);
RESET plan_cache_mode;
SET analytics_fdw.enable_parameterized_scan = off;
EXPLAIN (COSTS OFF) SELECT s.g, e.kind FROM small s JOIN events e ON e.id = s.id;
RESET analytics_fdw.enable_parameterized_scan;
-- L01: joins with everything, a hash join, when many values are looked for
EXPLAIN (COSTS OFF) SELECT e.kind FROM customers c JOIN events e ON e.customer = c.id;
