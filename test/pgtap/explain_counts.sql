-- What EXPLAIN ANALYZE counts is what happened.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/events.parquet'
SELECT plan(10);
CREATE FOREIGN TABLE events (id int8, kind text, url text) SERVER analytics_fdw
	OPTIONS (path :'path');
CREATE FUNCTION counted(q text, key text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || q INTO j;
	RETURN j -> 0 -> 'Plan' ->> key;
END $$;
SELECT cmp_ok(counted('SELECT url FROM events', 'Bytes Read'), '>', 0::numeric,
	'a scan reads bytes');
SELECT cmp_ok(counted('SELECT url FROM events', 'Bytes Read'), '>',
	counted('SELECT url FROM events WHERE id < 100', 'Bytes Read'),
	'a scan of fewer row groups reads fewer bytes');
SELECT is(counted('SELECT count(*) FROM events', 'Bytes Read'), 0::numeric,
	'a count that metadata answers reads nothing');
SELECT cmp_ok(counted('SELECT url FROM events', 'Read Time'), '>', 0::numeric,
	'reading takes time');
-- The inner side of a nested loop runs again and again, and its counts are sums.
CREATE FUNCTION inner_runs(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE j jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || q INTO j;
	j := jsonb_path_query_first(j, '$.**.Plans[*] ? (@."Node Type" == "Foreign Scan")');
	RETURN concat_ws(' ', j->>'Actual Loops', j->>'Runs', j->'Files'->>'Read');
END $$;
SELECT is(inner_runs('SELECT (SELECT max(url) FROM events WHERE id > g) FROM generate_series(1, 3) g'), '3 3 3',
	'three runs of one file');
SELECT is(inner_runs('SELECT (SELECT max(url) FROM events WHERE id > g) FROM generate_series(1, 1) g'), '1 1',
	'one run is not told');
-- One row group is work for one thread, whatever is allowed.
\set path :testdata '/customers.parquet'
CREATE FOREIGN TABLE customers (id int, name text) SERVER analytics_fdw OPTIONS (path :'path');
SET analytics_fdw.max_threads = 2;
SELECT is(counted('SELECT name FROM customers', 'Threads'), 1::numeric,
	'threads are those that ran');
SELECT cmp_ok(counted('SELECT name FROM customers', 'Threads Granted'), '>=', 1::numeric,
	'not those that were granted');
-- A session that began with one thread can get more.
SET analytics_fdw.max_threads = 1;
SELECT count(url) FROM events WHERE url > 'a' \g /dev/null
SET analytics_fdw.max_threads = 3;
SELECT is(counted('SELECT count(url) FROM events WHERE url > ''a''', 'Threads Granted'), 3::numeric,
	'max_threads can grow within a session');
CREATE FUNCTION inner_row_groups(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || q LOOP
		IF line ~ 'Row Groups' THEN RETURN trim(line); END IF;
	END LOOP;
END $$;
SELECT is(inner_row_groups('SELECT (SELECT count(kind) FROM events WHERE id = 7000 * g)
	FROM generate_series(0, 2) g'), 'Row Groups: 2 of 12 (min/max 10 removed)',
	'row groups of a scan that runs three times are those of all its runs');
SELECT * FROM finish();
