-- What EXPLAIN ANALYZE counts is what happened.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/events.parquet'
SELECT plan(4);
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
SELECT * FROM finish();
