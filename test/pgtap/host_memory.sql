-- Many functions that PostgreSQL computes over one batch fit into a query's memory.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/events.parquet'
SELECT plan(2);
CREATE FOREIGN TABLE events (id int8, url text COLLATE "C") SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE heap AS SELECT * FROM events;
SELECT string_agg(format('sum(hashtextextended(url, %s) %% 1000 + hashint8extended(id, %s) %% 1000)', g, g), ', ') AS sums
	FROM generate_series(1, 20) g \gset
SET analytics_fdw.memory_limit = '64MB';
SELECT results_eq('SELECT ' || :'sums' || ' FROM events', 'SELECT ' || :'sums' || ' FROM heap', '40 functions');
CREATE FUNCTION plan_of(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || q;
END $$;
SELECT is((SELECT count(*)::int FROM plan_of('SELECT ' || :'sums' || ' FROM events') p WHERE p ~ 'Computed by PostgreSQL'), 1,
	'PostgreSQL computes them for the engine');
SELECT * FROM finish();
