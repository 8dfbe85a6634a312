-- EXPLAIN in its formats, X04: counters that do not depend on the machine, pipelines.
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
-- conditions that the reader evaluates before it reads other columns
EXPLAIN (VERBOSE, COSTS OFF) SELECT url FROM events WHERE id < 10 AND paid;
SET analytics_fdw.enable_prewhere = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT url FROM events WHERE id < 10 AND paid;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT url FROM events WHERE id < 10 AND paid;
RESET analytics_fdw.enable_prewhere;
-- columns that only the result has are read for its rows alone
SET analytics_fdw.max_threads = 1;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT * FROM events WHERE paid ORDER BY id LIMIT 3;
SET analytics_fdw.enable_lazy_materialization = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT * FROM events WHERE paid ORDER BY id LIMIT 3;
RESET analytics_fdw.enable_lazy_materialization;
RESET analytics_fdw.max_threads;
-- X02: our part of the other formats
CREATE FUNCTION ours(format text, q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	out text;
	line text;
	inside bool := false;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT ' || format || ') ' || q
		INTO out;
	FOR line IN SELECT regexp_split_to_table(out, '\n') LOOP
		inside := inside OR line ~ '\mFormat\M.*Parquet';
		IF inside THEN RETURN NEXT rtrim(line, ','); END IF;
		EXIT WHEN line ~ 'Rows.After.Prewhere';
	END LOOP;
END $$;
SELECT ours('json', 'SELECT id FROM events WHERE id < 10 AND opaque(kind)');
SELECT ours('xml', 'SELECT count(*) FROM parts WHERE id > 2500 AND opaque(kind)');
SELECT ours('yaml', 'SELECT id FROM events WHERE id < 10 AND opaque(kind)');
-- what depends on the machine is named alike in all formats
CREATE FUNCTION resources(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || q INTO j;
	RETURN QUERY SELECT k || ' ' || json_typeof(j -> 0 -> 'Plan' -> k)
		FROM json_object_keys(j -> 0 -> 'Plan') k
		WHERE k ~ 'Time$|Bytes|Requests|Threads|Peak|Spilled|Rows|Groups|Files|Pages'
			AND k !~ '^Actual|^Plan';
END $$;
-- other lines depend on what was read before
SET analytics_fdw.enable_page_cache = off;
SELECT resources('SELECT url FROM events WHERE id < 10');
CREATE FUNCTION resource_lines(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE) ' || q LOOP
		IF line ~ '(Bytes Read|Requests|Threads|Peak Memory|Threads Granted| Time):' THEN
			RETURN NEXT regexp_replace(trim(line), '\d+(\.\d+)?', 'N', 'g');
		END IF;
	END LOOP;
END $$;
SELECT resource_lines('SELECT kind, count(*) FROM events WHERE id < 10 GROUP BY kind');
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
