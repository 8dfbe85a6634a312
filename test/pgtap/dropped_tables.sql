-- A session that makes and drops tables does not grow.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/customers.parquet'
SELECT plan(2);
SELECT set_config('test.path', :'path', false) \g /dev/null
CREATE TABLE heap AS SELECT 1 AS a;
DO $$ BEGIN FOR i IN 1 .. 30 LOOP
	EXECUTE format('CREATE FOREIGN TABLE t (id int) SERVER analytics_fdw OPTIONS (path %L)',
				   current_setting('test.path'));
	PERFORM count(*) FROM t;
	DROP FOREIGN TABLE t;
END LOOP; END $$;
SELECT cmp_ok(count(*), '<=', 2::bigint, 'dropped tables are forgotten')
	FROM pg_backend_memory_contexts WHERE name = 'analytics_fdw table';

-- in use while it is dropped from the cache: a cursor goes on
CREATE FOREIGN TABLE t (id int) SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE other (id int) SERVER analytics_fdw OPTIONS (path :'path');
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t;
MOVE 1 FROM c;
GRANT SELECT ON t TO public;
ALTER SERVER analytics_fdw OPTIONS (ADD max_threads '1');
SELECT count(*) FROM other \g /dev/null
CREATE FUNCTION rest() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE c refcursor := 'c'; n bigint; BEGIN
	MOVE FORWARD ALL FROM c;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
SELECT is(rest(), count(*) - 1, 'a cursor outlives what the session remembers of its table')
	FROM other;
COMMIT;
ALTER SERVER analytics_fdw OPTIONS (DROP max_threads);
SELECT * FROM finish();
