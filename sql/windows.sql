-- Columns read in windows and large pages in pieces, where memory is short: the same answers.
\set suite windows
\i sql/include/tables.inc
\i sql/include/answers.inc
\set ways '''enable_windowed_reads'', ''{1,2}'''
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
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
SET analytics_fdw.enable_windowed_reads = off;
SELECT requests(q) AS whole FROM queries WHERE n = 1 \gset
SET analytics_fdw.enable_windowed_reads = on;
SELECT requests(q) > :whole AS more_requests FROM queries WHERE n = 1;
SET analytics_fdw.memory_limit = '24MB';
\set path :testdata '/groups/pages.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
