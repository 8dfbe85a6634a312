-- Columns read in windows and large pages in pieces, where memory is short: the same answers.
\set suite windows
\i sql/include/tables.inc
CREATE FUNCTION answers(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	want text;
	got text;
	other int := 0;
BEGIN
	SET LOCAL analytics_fdw.enable_windowed_reads = off;
	EXECUTE 'SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (' || q || ') t' INTO want;
	SET LOCAL analytics_fdw.enable_windowed_reads = on;
	FOR threads IN 1..2 LOOP
		PERFORM set_config('analytics_fdw.max_threads', threads::text, true);
		EXECUTE 'SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (' || q || ') t' INTO got;
		other := other + (got IS DISTINCT FROM want)::int;
	END LOOP;
	RETURN CASE WHEN want IS NULL THEN 'nothing' WHEN other = 0 THEN 'the same' ELSE other || ' of 2 differ' END;
END $$;
-- requests of storage: one for each column as a whole, more in windows
CREATE FUNCTION requests(q text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	j json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || q INTO j;
	RETURN j #>> '{0,Plan,Requests}';
END $$;
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT count(*), sum(id), sum(x), count(w), max(u), min(w) FROM t'),
	('SELECT id, u FROM t WHERE x < 3000'),
	('SELECT id, w FROM t WHERE w LIKE ''%99'' AND u > ''user-00100000'''),
	('SELECT u, x FROM t WHERE id BETWEEN 70000 AND 70100 OR id > 199950');
SET analytics_fdw.memory_limit = '8MB';
SET analytics_fdw.max_threads = 1;
\set path :testdata '/groups/plain.parquet'
CREATE FOREIGN TABLE t (id int8 NOT NULL, w text COLLATE "C", u text COLLATE "C" NOT NULL, x int)
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
SET analytics_fdw.enable_windowed_reads = off;
SELECT requests(q) AS whole FROM queries WHERE n = 1 \gset
SET analytics_fdw.enable_windowed_reads = on;
SELECT requests(q) > :whole AS more_requests FROM queries WHERE n = 1;
SET analytics_fdw.memory_limit = '24MB';
\set path :testdata '/groups/pages.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
