-- Pages that stay in memory between queries: the same answers with and without them.
\set suite page_cache
\i sql/include/tables.inc
\i sql/include/answers.inc
\set ways '''enable_page_cache'', ''{1,2,3,4}'''
CREATE FUNCTION plan(q text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	j json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || q INTO j;
	WHILE j #> '{0,Plan}' IS NOT NULL LOOP
		j := j #> '{0,Plan}';
	END LOOP;
	WHILE j -> 'Plans' IS NOT NULL LOOP
		j := j #> '{Plans,0}';
	END LOOP;
	RETURN j;
END $$;
CREATE FUNCTION pages(q text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN (p ->> 'Pages From Cache')::int > 0 AND (p ->> 'Bytes From Cache')::int > 0
		THEN 'from the cache' ELSE 'decompressed' END FROM plan(q) p
$$;
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT count(*), sum(id), sum(x), count(w), max(u), min(w) FROM t'),
	('SELECT w, count(*), sum(id) FROM t GROUP BY w'),
	('SELECT * FROM t WHERE x < 3000'),
	('SELECT id, w FROM t WHERE w LIKE ''%99'' AND u > ''user-00100000'''),
	('SELECT * FROM t WHERE id BETWEEN 70000 AND 70100 OR id > 199950'),
	('SELECT u, x FROM t ORDER BY x DESC NULLS LAST, u LIMIT 20'),
	('SELECT count(DISTINCT x) FROM t WHERE w IS NULL');
\set path :testdata '/groups/pages.parquet'
CREATE FOREIGN TABLE t (id int8 NOT NULL, w text COLLATE "C", u text COLLATE "C" NOT NULL, x int)
	SERVER analytics_fdw OPTIONS (path :'path');
-- files that were written just now are not trusted
SELECT count(pg_sleep(greatest(0, 3 - age)::float8)) AS waited
	FROM (SELECT extract(epoch FROM clock_timestamp() - max(change)) AS age
		FROM unnest(ARRAY['groups/pages', 'groups/one', 'groups/plain', 'large/gzip']) f,
			pg_stat_file(:'testdata' || '/' || f || '.parquet')) s;
-- the first time nothing is kept, the second time lets pages in
SELECT n, pages('SELECT count(w), sum(x), max(u) FROM t') FROM generate_series(1, 4) n;
SET analytics_fdw.enable_page_cache = off;
SELECT pages('SELECT count(w), sum(x), max(u) FROM t');
SET analytics_fdw.enable_page_cache = on;
SELECT pages('SELECT count(w), sum(x), max(u) FROM t');
SELECT pages_cached > 0 AS pages, bytes_cached > pages_cached AS bytes
	FROM analytics_fdw.query_log WHERE pid = pg_backend_pid() ORDER BY query_start DESC LIMIT 1;
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
\set path :testdata '/groups/one.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
SELECT pages(q) FROM queries WHERE n = 1;
-- what is not compressed needs no cache
\set path :testdata '/groups/plain.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
SELECT pages(q) FROM queries WHERE n = 1;
-- a page that is large for the memory there is goes on being read in pieces
\set path :testdata '/large/gzip.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SET analytics_fdw.memory_limit = '5800kB';
SELECT n, answers('SELECT count(u), max(u), min(w), sum(length(w)) FROM t', 'enable_page_cache', '{1,1,1,1,1}')
	FROM generate_series(1, 2) n;
