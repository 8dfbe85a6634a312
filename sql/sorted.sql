-- Files in a declared order: options sorted, files_in_order, check_sorted.
\set suite sorted
\i sql/include/tables.inc
ALTER FOREIGN TABLE events OPTIONS (ADD sorted 'id');
ALTER FOREIGN TABLE parts OPTIONS (ADD sorted 'ID asc nulls last, ts');

-- the order spares sorts, and LIMIT ends the reading
EXPLAIN (COSTS OFF) SELECT id, kind FROM events ORDER BY id LIMIT 3;
SELECT id, kind FROM events ORDER BY id LIMIT 3;
SELECT id FROM events WHERE kind = 'buy' ORDER BY id LIMIT 3 OFFSET 1000;
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM parts ORDER BY id, ts;
SELECT count(*), count(*) FILTER (WHERE d = 1) FROM
	(SELECT id - lag(id) OVER (ORDER BY id, ts) AS d FROM parts) s;
EXPLAIN (COSTS OFF) SELECT id FROM parts WHERE id = 7 ORDER BY ts;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT DISTINCT ON (id) id, kind FROM parts ORDER BY id) d;
EXPLAIN (COSTS OFF) SELECT id, row_number() OVER (ORDER BY id) FROM events;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT e.kind, p.kind FROM events e JOIN parts p USING (id);
SELECT count(*) FROM events e JOIN parts p USING (id) WHERE e.kind = p.kind;
RESET enable_hashjoin;
RESET enable_nestloop;
SELECT min(id), max(id) FROM events WHERE kind = 'buy';
SET analytics_fdw.enable_ordered_scan = off;
EXPLAIN (COSTS OFF) SELECT id FROM parts ORDER BY id, ts;
RESET analytics_fdw.enable_ordered_scan;

-- C03: as partitions, one after the other, or merged
CREATE TABLE whole (id int8 NOT NULL, kind text COLLATE "C") PARTITION BY RANGE (id);
\set path :testdata '/parts/part-0.parquet'
CREATE FOREIGN TABLE whole0 PARTITION OF whole FOR VALUES FROM (1) TO (1001)
	SERVER analytics_fdw OPTIONS (path :'path', sorted 'id');
\set path :testdata '/parts/part-1.parquet'
CREATE FOREIGN TABLE whole1 PARTITION OF whole FOR VALUES FROM (1001) TO (2001)
	SERVER analytics_fdw OPTIONS (path :'path', sorted 'id');
EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY id;
SELECT id FROM whole WHERE id > 998 ORDER BY id LIMIT 4;
SELECT array_agg(id) FROM (SELECT id FROM whole WHERE kind = 'return' ORDER BY id OFFSET 280 LIMIT 3) s;

-- files that overlap are merged; that they are one sequence is an error when somebody says so
\set path '{' :testdata '/events.parquet,' :testdata '/parts/part-0.parquet}'
CREATE FOREIGN TABLE both_ (id int8, kind text) SERVER analytics_fdw OPTIONS (path :'path', sorted 'id');
EXPLAIN (COSTS OFF) SELECT id FROM both_ ORDER BY id;
SELECT id FROM both_ ORDER BY id LIMIT 4;
ALTER FOREIGN TABLE both_ OPTIONS (ADD files_in_order 'true');
\set VERBOSITY terse
SELECT id FROM both_ ORDER BY id LIMIT 4;
\set VERBOSITY default
SELECT count(*) FROM both_;

-- files of a Hive tree: directories fix the first keys
\set path :testdata '/hive'
CREATE FOREIGN TABLE tree (year int, month int, id int8) SERVER analytics_fdw
	OPTIONS (path :'path', sorted 'year, month, id');
EXPLAIN (COSTS OFF) SELECT year, month FROM tree ORDER BY year, month;
SELECT count(*), count(*) FILTER (WHERE (year, month, id) < (y, m, i)) FROM
	(SELECT year, month, id, lag(year) OVER w AS y, lag(month) OVER w AS m, lag(id) OVER w AS i FROM
		(SELECT * FROM tree ORDER BY year, month, id OFFSET 0) t WINDOW w AS ()) s;
EXPLAIN (COSTS OFF) SELECT id FROM tree WHERE year = 2023 ORDER BY month, id;
SELECT year, month FROM tree ORDER BY year, month LIMIT 1;
ALTER FOREIGN TABLE tree OPTIONS (SET sorted 'year DESC', ADD files_in_order 'true');
\set VERBOSITY terse
SELECT year FROM tree ORDER BY year DESC LIMIT 1;
\set VERBOSITY default

-- declarations that are not true
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'customer');
\set VERBOSITY terse
SELECT id FROM events ORDER BY customer LIMIT 1;
\set VERBOSITY default
SELECT id FROM events ORDER BY id LIMIT 1;
ALTER FOREIGN TABLE events OPTIONS (ADD check_sorted 'off');
SELECT count(*) FROM (SELECT customer FROM events ORDER BY customer OFFSET 0) s;
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'kind');
\set VERBOSITY default
SELECT kind FROM events ORDER BY kind OFFSET 10;

-- options
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'nothing');
SELECT count(*) FROM events;
SELECT id FROM events ORDER BY id LIMIT 1;
ALTER FOREIGN TABLE events OPTIONS (SET sorted '');
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'id,');
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'id up');
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'id nulls');
ALTER FOREIGN TABLE events OPTIONS (SET sorted '"id');
ALTER FOREIGN TABLE events OPTIONS (SET sorted 'id DESC NULLS LAST "ts"asc');
ALTER FOREIGN TABLE events OPTIONS (SET sorted '"id" ts, day DESC');
ALTER FOREIGN TABLE events OPTIONS (SET check_sorted 'perhaps');
