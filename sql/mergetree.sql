-- MergeTree parts of ClickHouse: discovery, types, pruning, errors.
\set suite mergetree
\i sql/include/tables.inc
\set visits :testdata '/visits'
\set part :testdata '/visits/all_2_2_0'
\set definition :testdata '/visits.sql'

CREATE FOREIGN TABLE visits () SERVER analytics_fdw
	OPTIONS (path :'visits', definition :'definition', format 'mergetree');
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
	WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attnum;

-- parts that another one contains are no rows, deleted rows are none either
SELECT count(*), min(id), max(id) FROM visits;
SELECT id, kind, paid FROM visits WHERE id BETWEEN 15006 AND 15009 ORDER BY id;

-- the key leaves out parts and granules
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE day = '2024-01-05';
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE day = '2024-01-05' AND id > 1400;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE id > 1400;
SET analytics_fdw.enable_row_group_pruning = off;
SELECT count(*) FROM visits WHERE day = '2024-01-05' AND id > 1400;
RESET analytics_fdw.enable_row_group_pruning;
SELECT count(*) FROM visits WHERE day = '2024-01-05' AND id > 1400;

-- skip indexes, each of which says what it removed; one part has none
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE ts = '2024-01-05 10:02:41.264236+00' AND id < 15001;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE customer = 17 AND url = '/blog/19' AND day < '2024-02-22';
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE (customer = 17 OR url LIKE '/blo_/19') AND amount < -99.5;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE url LIKE '%/search/77' AND kind IN ('buy', 'click');
CREATE FUNCTION removed(q text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE j jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || q INTO j;
	RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(j -> 0 -> 'Plan')
		WHERE key IN ('Relations', 'Format', 'Pushed Filter', 'Files', 'Parts', 'Marks', 'Granules', 'Rows Read'));
END $$;
SELECT jsonb_pretty(removed($$SELECT count(*) FROM visits WHERE url = '/none'$$));
SET analytics_fdw.enable_skip_indexes = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE url = '/none';
RESET analytics_fdw.enable_skip_indexes;
SET analytics_fdw.enable_primary_key_pruning = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM visits WHERE day = '2024-01-05' AND id > 1400;
RESET analytics_fdw.enable_primary_key_pruning;

-- one part alone, and its key told by hand
CREATE FOREIGN TABLE part (id int8, day date, kind bytea, quantity int8, amount numeric, part text OPTIONS (column_name 'url'))
	SERVER analytics_fdw OPTIONS (path :'part', format 'mergetree', primary_key 'day, id');
SELECT amount FROM part;
ALTER FOREIGN TABLE part DROP COLUMN amount;
SELECT id, day, kind, quantity FROM part WHERE day = '2024-02-02' ORDER BY id LIMIT 2;
SELECT id, part FROM part ORDER BY id LIMIT 2;

-- columns that the parts lack: nothing is known of them but what is declared
ALTER FOREIGN TABLE part ADD COLUMN later int OPTIONS (default '7'), ADD COLUMN nothing text;
SELECT later, nothing, count(*) FROM part GROUP BY 1, 2;

-- what cannot be
CREATE FOREIGN TABLE none (id int8) SERVER analytics_fdw
	OPTIONS (path '/does/not/exist', format 'mergetree');
SELECT * FROM none;
CREATE FOREIGN TABLE narrow (id int2) SERVER analytics_fdw
	OPTIONS (path :'part', format 'mergetree');
SELECT count(id) FROM narrow;
CREATE FOREIGN TABLE broken (id int8) SERVER analytics_fdw
	OPTIONS (path :'visits', definition :'part', format 'mergetree');
SELECT * FROM broken;
