-- One row group for several threads: the same answers as with one.
\set suite share
\i sql/include/tables.inc
\i sql/include/answers.inc
\set ways '''enable_shared_row_groups'', ''{4,4,4,4,4}'''
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT count(*), sum(id), sum(x), count(w), max(u), min(w) FROM t'),
	('SELECT w, count(*), sum(id) FROM t GROUP BY w'),
	('SELECT * FROM t WHERE x < 3000'),
	('SELECT id, w FROM t WHERE w LIKE ''%99'' AND u > ''user-00100000'''),
	('SELECT * FROM t WHERE id BETWEEN 70000 AND 70100 OR id > 199950'),
	('SELECT u, x FROM t ORDER BY x DESC NULLS LAST, u LIMIT 20'),
	('SELECT count(DISTINCT x) FROM t WHERE w IS NULL'),
	('SELECT id FROM t WHERE id % 1000 = 7'),
	('SELECT count(*) FROM t WHERE id >= 0'),
	('SELECT min(id), max(id), count(*) FROM t');
\set path :testdata '/groups/pages.parquet'
CREATE FOREIGN TABLE t (id int8 NOT NULL, w text COLLATE "C", u text COLLATE "C" NOT NULL, x int)
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
\set path :testdata '/groups/one.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
\set path :testdata '/groups/plain.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q, :ways) FROM queries ORDER BY n;
-- each row is read once, by whichever thread
SET analytics_fdw.max_threads = 4;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(u), sum(x) FROM t;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM t WHERE id > 300000;
-- an error of a row is an error, whoever finds it
SELECT sum(1 / (id - 150000)) FROM t;
SELECT count(*) FROM (SELECT u FROM t LIMIT 10) l;
