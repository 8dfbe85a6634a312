-- Acceptance cases of groups C, E, L, X, Q, R and D: plans, errors, prepared statements, rights.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
SELECT twin('four', 'x int', '(1), (2), (3), (4)');
SELECT twin('nulls', 'a int', '(NULL), (NULL), (1), (NULL), (2), (3)');
\set path :testdata '/events.parquet'
CREATE FOREIGN TABLE events (id int8, kind text COLLATE "C", quantity int2, gone int, amount float8, paid bool) SERVER analytics_fdw OPTIONS (path :'path');
ALTER FOREIGN TABLE events DROP COLUMN gone;
CREATE TABLE h_events AS SELECT * FROM events;

-- C: nothing crashes, nothing stays
CREATE FUNCTION status(key text) RETURNS int LANGUAGE sql AS $$
	SELECT substring(pg_read_file('/proc/self/status') FROM key || ':\s*(\d+)')::int $$;
CREATE FUNCTION descriptors() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_ls_dir('/proc/self/fd') $$;
CREATE FUNCTION fail(times int, q text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0;
BEGIN
	FOR i IN 1 .. times LOOP
		BEGIN
			EXECUTE q;
		EXCEPTION WHEN division_by_zero THEN n := n + 1;
		END;
	END LOOP;
	RETURN n;
END $$;
SELECT fail(200, 'SELECT 1 / (x - 1) FROM four WHERE x < 3 ORDER BY x LIMIT 1') AS warm \gset
SELECT status('VmRSS') AS rss, status('Threads') AS threads, descriptors() AS fds \gset
SELECT is(fail(2000, 'SELECT 1 / (x - 1) FROM four WHERE x < 3 ORDER BY x LIMIT 1'), 2000, 'C05 C21 errors in subtransactions');
SELECT is(fail(300, 'SELECT count(*), sum(10 / (id - 7)) FROM events GROUP BY quantity'), 300, 'C05 C21 errors in the middle of an aggregate');
SELECT cmp_ok(descriptors(), '<=', :fds::bigint + 2, 'C05 C21 descriptors are closed');
SELECT cmp_ok(status('Threads'), '<=', greatest(:threads, 1 + 16), 'C05 C21 threads are those of the pool');
SELECT cmp_ok(status('VmRSS'), '<', :rss + 30000, 'C05 C21 memory comes back');
SELECT twin('badstats', 'a int', '(1), (2), (3), (4)');
SELECT agree('C15 statistics of a wrong length', 'SELECT a FROM {}badstats WHERE ' || w) FROM unnest(ARRAY['a = 1', 'a > 2', 'a IS NULL', 'a IS NOT NULL', 'a < 100']) w;
SELECT agree('C15 extremes and counts', 'SELECT min(a), max(a), count(a), count(*) FROM {}badstats');
\set path :testdata '/cases/badstats.parquet'
SELECT lives_ok(format('IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO pg_temp OPTIONS (path %L)', :'path'), 'C15 import');
SELECT agree('C19 names of subqueries, dropped columns', q) FROM unnest(ARRAY['SELECT max(x) FROM (SELECT quantity AS x, id FROM {}events OFFSET 0) s',
	'SELECT max(x), min(y) FROM (SELECT quantity AS x, id AS y FROM (SELECT * FROM {}events WHERE paid) e) s WHERE x > 3', 'SELECT amount, id FROM {}events WHERE id < 30',
	'SELECT (s).id, (s).amount FROM (SELECT e AS s FROM {}events e WHERE id < 10) x', 'SELECT k, sum(c) FROM (SELECT kind AS k, paid, count(*) AS c FROM {}events GROUP BY kind, paid) s GROUP BY k']) q;
ALTER FOREIGN TABLE events RENAME quantity TO n;
ALTER FOREIGN TABLE events ALTER n OPTIONS (ADD column_name 'quantity');
ALTER TABLE h_events RENAME quantity TO n;
SELECT agree('C19 a renamed column', 'SELECT sum(n), count(*) FROM {}events WHERE n > 3');
SELECT lives_ok($$ DO $d$ BEGIN FOR i IN 1..10 LOOP EXECUTE 'CREATE TEMP TABLE x' || i || ' AS SELECT * FROM events WHERE id < 100'; END LOOP; END $d$ $$, 'C20 tables made in a loop');
SELECT is((SELECT count(*) FROM x10), 99::bigint, 'C20 with all rows');
CREATE FUNCTION make_and_count() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	CREATE TEMP TABLE made ON COMMIT DROP AS SELECT kind, count(*) AS c FROM events GROUP BY kind;
	SELECT sum(c) INTO n FROM made;
	DROP TABLE made;
	RETURN n;
END $$;
SELECT is((SELECT count(*) FROM generate_series(1, 10) WHERE make_and_count() = 20000), 10::bigint, 'C20 a plan that is run again');
CREATE DOMAIN short AS text CHECK (length(value) < 9);
\set path :testdata '/cases/keys.parquet'
CREATE FOREIGN TABLE keys (id int, s short, t varchar(10)) SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE h_keys AS SELECT * FROM keys;
SELECT agree('C17 a domain over text, varchar', q) FROM unnest(ARRAY['SELECT s, count(*) FROM {}keys GROUP BY s', 'SELECT t, count(*), min(s), max(t) FROM {}keys GROUP BY t', 'SELECT id FROM {}keys WHERE s = ''ab''',
	'SELECT id FROM {}keys WHERE t LIKE ''b%''', 'SELECT count(*) FROM {}keys a JOIN {}keys b ON a.t = b.s::text']) q;

-- E
\set path :testdata '/many'
CREATE FOREIGN TABLE many (id int8, s text, k int) SERVER analytics_fdw OPTIONS (path :'path', format 'parquet');
CREATE FUNCTION explained(q text, key text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || q INTO j;
	RETURN j -> 0 -> 'Plan' ->> key;
END $$;
SELECT cmp_ok(explained('SELECT * FROM many LIMIT 1', 'Requests')::int, '<', 200, 'E04 LIMIT 1 of 1000 files reads few of them');
\set path :testdata '/cases/names.parquet'
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO imported OPTIONS (path :'path');
SELECT columns_are('imported', 'names', ARRAY['Order', 'a b', '"q"'], 'E11 identifiers are quoted');
SELECT results_eq('SELECT "Order", "a b", """q""" FROM imported.names', 'VALUES (1, 2, 3)', 'E11 and found');

-- L
CREATE TABLE small AS SELECT g AS n FROM generate_series(1, 10000) g;
ANALYZE small;
CREATE FUNCTION plan_of(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; a text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP a := a || line || E'\n'; END LOOP;
	RETURN a;
END $$;
SELECT matches(plan_of('SELECT count(*) FROM events e JOIN small s ON e.n = s.n'), 'Hash Join|Merge Join', 'L01 no nested loop without ANALYZE');
\set path :testdata '/none-*.parquet'
CREATE FOREIGN TABLE none (a int) SERVER analytics_fdw OPTIONS (path :'path', allow_no_files 'true');
SELECT lives_ok('ANALYZE none', 'L03 ANALYZE of no file');
SELECT is((SELECT count(*) FROM none), 0::bigint, 'L03 no rows');
ANALYZE events;
SELECT ok((SELECT relpages BETWEEN 1 AND 10000 AND reltuples = 20000 FROM pg_class WHERE relname = 'events'), 'L07 relpages');

-- X
SELECT lives_ok(format('SELECT explained(%L, %L)', q, 'Node Type'), 'X03 EXPLAIN VERBOSE: ' || q) FROM unnest(ARRAY[
	'SELECT id, rank() OVER (PARTITION BY kind ORDER BY n DESC) FROM events', 'SELECT kind, count(*), sum(count(*)) OVER () FROM events GROUP BY kind',
	'SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM events) s WHERE r < 5', 'SELECT kind, n, count(*) FROM events GROUP BY ROLLUP (kind, n)']) q;

-- Q
SET plan_cache_mode = force_generic_plan;
PREPARE counted AS SELECT count(*) FROM events;
PREPARE less(numeric) AS SELECT count(*) FROM events WHERE amount < $1;
PREPARE less8(int8) AS SELECT count(*) FROM events WHERE n < $1;
PREPARE like_(text) AS SELECT count(*) FROM events WHERE kind = $1;
PREPARE among(int[]) AS SELECT count(*) FROM events WHERE n = ANY ($1);
SELECT is(answer(q), answer(h), 'Q01 Q02 Q03: ' || q) FROM (VALUES
	('EXECUTE counted', 'SELECT 20000'), ('EXECUTE less(1.1)', 'SELECT count(*) FROM h_events WHERE amount < 1.1::numeric'),
	('EXECUTE less(NULL)', 'SELECT 0'), ('EXECUTE less8(3)', 'SELECT count(*) FROM h_events WHERE n < 3'), ('EXECUTE less8(9223372036854775807)', 'SELECT count(n) FROM h_events'),
	('EXECUTE like_(''buy'')', 'SELECT count(*) FROM h_events WHERE kind = ''buy'''), ('EXECUTE like_(NULL)', 'SELECT 0'),
	('EXECUTE among(''{1,2,NULL}'')', 'SELECT count(*) FROM h_events WHERE n IN (1, 2)'), ('EXECUTE among(NULL)', 'SELECT 0'), ('EXECUTE among(''{}'')', 'SELECT 0')) v (q, h),
	generate_series(1, 7);
DISCARD PLANS;
SELECT is(answer('EXECUTE counted'), '(20000)', 'Q02 after DISCARD PLANS');
PREPARE p(int) AS SELECT sum(x) FROM four WHERE x > $1;
SELECT isnt(answer('EXPLAIN EXECUTE p(2)'), '', 'Q04 EXPLAIN of a generic plan');
SELECT is(answer('EXECUTE p(1)'), '(9)', 'Q04 and then its execution');
SELECT is(answer('EXPLAIN ANALYZE EXECUTE p(2)') ~ 'Foreign Scan', true, 'Q04 EXPLAIN ANALYZE');
SELECT is(answer('EXECUTE p(3)'), '(4)', 'Q04 and again');
\set path :testdata '/cases/uuids.parquet'
CREATE FOREIGN TABLE uuids (u uuid) SERVER analytics_fdw OPTIONS (path :'path');
PREPARE pu(uuid) AS SELECT count(*) FROM uuids WHERE u >= $1;
SELECT is(answer('EXECUTE pu(''80000000-0000-0000-0000-000000000000'')'), '(3)', 'Q03 uuid');
\set path :testdata '/types.parquet'
CREATE FOREIGN TABLE types () SERVER analytics_fdw OPTIONS (path :'path');
PREPARE pt(timestamptz, bytea) AS SELECT count(*) FROM types WHERE c_timestamptz < $1 OR c_binary = $2;
SELECT is(answer($$EXECUTE pt('1970-01-01 00:00:00.00001+00', '\x00')$$), answer($$SELECT count(*) FROM types WHERE c_timestamptz::text::timestamptz < '1970-01-01 00:00:00.00001+00'::text::timestamptz OR c_binary::text = '\x00'$$), 'Q03 timestamptz, bytea');
RESET plan_cache_mode;

-- R
CREATE ROLE acceptance_bob;
CREATE TABLE texts AS SELECT t FROM unnest(ARRAY[E'x\r\nHost: y', E'a\nb', E'\r']) t;
SELECT throws_ok(format('CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path %L)', t), NULL, NULL, 'R12 no line ends in options') FROM texts;
SELECT lives_ok(format('CREATE FOREIGN TABLE r%s (a int) SERVER analytics_fdw OPTIONS (path %L)', n, t), 'R11 quotes in options') FROM unnest(ARRAY['/a''; DROP TABLE four; --', '/$$x$$', '/a\b"c', '/%s%n%d'])
	WITH ORDINALITY u (t, n);
SELECT throws_ok(format('SELECT * FROM r%s', n), NULL, NULL, 'R11 and are names of files') FROM generate_series(1, 4) n;
SET ROLE acceptance_bob;
SELECT throws_ok('SELECT * FROM four', '42501', NULL, 'R01 no right on the table');
SELECT throws_ok('CREATE FOREIGN TABLE pg_temp.passwd (a text) SERVER analytics_fdw OPTIONS (path ''/etc/passwd'')', '42501', NULL, 'R01 no right on the server');
SELECT is((SELECT count(*) FROM pg_proc p WHERE pronamespace = 'analytics_fdw'::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')
	AND proname ~ '^(parquet_|list|describe|import_)'), 0::bigint, 'R10 functions that read files are for nobody but those who are told');
RESET ROLE;

-- D
SELECT lives_ok('CREATE USER MAPPING FOR acceptance_bob SERVER analytics_fdw', 'D01 a mapping needs no option');
CREATE MATERIALIZED VIEW later AS SELECT kind, count(*) FROM events GROUP BY kind WITH NO DATA;
SELECT throws_ok('SELECT * FROM later', '55000', NULL, 'D02 WITH NO DATA reads nothing');
REFRESH MATERIALIZED VIEW later;
SELECT is((SELECT sum(count) FROM later), 20000::numeric, 'D02 refreshed');
SELECT is((SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid JOIN pg_class c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass
	WHERE extname = 'analytics_fdw' AND relnamespace <> 'analytics_fdw'::regnamespace), 0::bigint, 'D08 no relation outside of the schema');
SELECT is((SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
	WHERE extname = 'analytics_fdw' AND pronamespace <> 'analytics_fdw'::regnamespace), 0::bigint, 'D08 no function outside of the schema');
SELECT is((SELECT extrelocatable FROM pg_extension WHERE extname = 'analytics_fdw'), false, 'D08 not relocatable');
DROP OWNED BY acceptance_bob;
DROP ROLE acceptance_bob;
SELECT * FROM finish();
