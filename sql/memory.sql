-- Little memory: chunks are read in windows, large pages in pieces, with the same answers.
\set suite memory
\i sql/include/tables.inc
CREATE FUNCTION answer(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	EXECUTE 'SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (' || q || ') t' INTO r;
	RETURN coalesce(r, 'nothing');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION answers(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	want text;
	other text := '';
	one text;
BEGIN
	PERFORM set_config('analytics_fdw.memory_limit', '1GB', true);
	want := answer(q);
	FOREACH one IN ARRAY '{14MB,40MB}'::text[] LOOP
		FOR threads IN 1..2 LOOP
			PERFORM set_config('analytics_fdw.memory_limit', one, true);
			PERFORM set_config('analytics_fdw.max_threads', threads::text, true);
			IF answer(q) <> want THEN
				other := other || format(' differs at %s, %s threads: %s', one, threads, answer(q));
			END IF;
		END LOOP;
	END LOOP;
	RETURN CASE WHEN want LIKE '_____ %' THEN want ELSE 'the same' END || other;
END $$;
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT count(*), sum(id), count(w), sum(x), sum(d), min(u), max(w) FROM t'),
	('SELECT id, u, w, x, d FROM t WHERE id % 97 = 3'),
	('SELECT * FROM t'),
	('SELECT id, w FROM t WHERE u LIKE ''%abc%'' AND x > 0'),
	('SELECT * FROM t WHERE id BETWEEN 12345 AND 12349 OR id > 24990'),
	('SELECT d, count(u) FROM t WHERE x IS NULL GROUP BY d'),
	('SELECT u, x FROM t ORDER BY x DESC NULLS LAST, u LIMIT 20'),
	('SELECT x FROM t OFFSET 24000'),
	('SELECT sum(small) FROM t WHERE id < 21000'),
	('SELECT count(*) FROM (SELECT small FROM t LIMIT 20999) s'),
	('SELECT sum(10 / (id - 24000)) FROM t');
\set path :testdata '/large/none.parquet'
CREATE FOREIGN TABLE t (id int8 NOT NULL, u text COLLATE "C" NOT NULL, w text COLLATE "C", x int,
	d numeric, small int2 OPTIONS (column_name 'x'))
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
\set path :testdata '/large/snappy.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
\set path :testdata '/large/zstd.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
\set path :testdata '/large/gzip.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
\set path :testdata '/large/pages.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
\set path :testdata '/large/words.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SELECT n, answers(q) FROM queries ORDER BY n;
-- windows are more requests than a whole chunk
\set path :testdata '/large/snappy.parquet'
ALTER FOREIGN TABLE t OPTIONS (SET path :'path');
SET analytics_fdw.max_threads = 1;
SET analytics_fdw.memory_limit = '12MB';
SELECT sum(id), count(w), sum(length(u)), sum(d) FROM t;
SET analytics_fdw.memory_limit = '1GB';
SELECT sum(id), count(w), sum(length(u)), sum(d) FROM t;
SELECT count(*), max(requests) > min(requests) AS more_requests
FROM (SELECT * FROM analytics_fdw.query_log() WHERE pid = pg_backend_pid() ORDER BY query_start DESC LIMIT 2) l;
