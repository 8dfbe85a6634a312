-- EXPLAIN in its formats, counters that do not depend on the machine, pipelines.
\set suite explain
\i sql/include/tables.inc

EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id < 10;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM events WHERE id < 10;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM events WHERE id < 10;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM events;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM parts WHERE id > 2000;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM events WHERE id < 10 AND opaque(kind);
SET analytics_fdw.enable_row_group_pruning = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM events WHERE id < 10;
RESET analytics_fdw.enable_row_group_pruning;
EXPLAIN (COSTS OFF, FORMAT JSON)
	SELECT kind, count(*) FROM events e WHERE paid GROUP BY kind ORDER BY 2 DESC, kind LIMIT 2;
EXPLAIN (COSTS OFF, FORMAT YAML) SELECT id FROM events WHERE opaque(kind) AND paid LIMIT 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT kind, count(*) FROM events e GROUP BY kind;
-- never executed
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT * FROM customers c WHERE c.id < 3 AND EXISTS (SELECT FROM empty);

SELECT analytics_fdw.explain_pipeline('SELECT 1');
SELECT analytics_fdw.explain_pipeline('SELECT 1; SELECT 2');
SELECT analytics_fdw.explain_pipeline('DELETE FROM customers');
SELECT analytics_fdw.explain_pipeline('SELECT count(*) FROM events', 'svg');
SELECT analytics_fdw.explain_pipeline(
	'SELECT kind, count(*) FROM events WHERE paid GROUP BY kind ORDER BY 2 LIMIT 3') ~ 'Aggregate';
SELECT analytics_fdw.explain_pipeline('SELECT id FROM events', 'dot') ~ '^digraph';
SELECT count(*) > 3 FROM analytics_fdw.build_info();
SELECT analytics_fdw.version() ~ '^\d+\.\d+\.\d+$';
