-- Foreign tables as partitions and children: partitionwise aggregation, tableoid, whole rows, locks.
\set suite children
\i sql/include/tables.inc
CREATE TABLE log (id int8 NOT NULL, ts timestamptz NOT NULL, kind text COLLATE "C" NOT NULL, quantity int2)
	PARTITION BY RANGE (id);
\set path :testdata '/parts/part-0.parquet'
CREATE FOREIGN TABLE log0 PARTITION OF log FOR VALUES FROM (1) TO (1001)
	SERVER analytics_fdw OPTIONS (path :'path');
\set path :testdata '/parts/part-1.parquet'
CREATE FOREIGN TABLE log1 PARTITION OF log FOR VALUES FROM (1001) TO (2001)
	SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE log2 PARTITION OF log FOR VALUES FROM (2001) TO (MAXVALUE);
INSERT INTO log SELECT id, ts, kind, quantity FROM events WHERE id BETWEEN 2001 AND 2100;
CREATE TABLE twin AS SELECT * FROM log;
SELECT count(*), min(id), max(id) FROM twin;

-- groups that do not cross partitions are whole in the engine, others partial
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM log GROUP BY id HAVING count(*) > 1;
EXPLAIN (COSTS OFF) SELECT kind, count(*), sum(quantity), min(ts) FROM log GROUP BY kind
	HAVING count(*) > 500;
SELECT kind, count(*), sum(quantity), min(ts) FROM log GROUP BY kind HAVING count(*) > 500 ORDER BY 1;
SELECT kind, count(*), sum(quantity), min(ts) FROM twin GROUP BY kind HAVING count(*) > 500 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT count(*), max(id) FROM log WHERE quantity > 10;
SELECT count(*), max(id), sum(quantity), bool_or(id > 2099), count(*) FILTER (WHERE kind = 'buy')
	FROM log WHERE quantity > 10;
SELECT count(*), max(id), sum(quantity), bool_or(id > 2099), count(*) FILTER (WHERE kind = 'buy')
	FROM twin WHERE quantity > 10;
SELECT count(*), sum(quantity), max(kind) FROM log WHERE id < 0;
SELECT quantity % 3 AS q, count(*), max(kind) FROM log GROUP BY 1 ORDER BY 1;
SELECT quantity % 3 AS q, count(*), max(kind) FROM twin GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT kind, avg(quantity) FROM log GROUP BY kind;
SELECT kind, round(avg(quantity), 3) AS a, round(stddev(id), 3) AS s, count(DISTINCT quantity) FROM log
	GROUP BY kind ORDER BY 1;
SELECT kind, round(avg(quantity), 3) AS a, round(stddev(id), 3) AS s, count(DISTINCT quantity) FROM twin
	GROUP BY kind ORDER BY 1;
SET analytics_fdw.enable_aggregate_pushdown = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM log WHERE id < 1500;
RESET analytics_fdw.enable_aggregate_pushdown;
RESET enable_partitionwise_aggregate;

-- partitions that a condition excludes; parameters
EXPLAIN (COSTS OFF) SELECT * FROM log WHERE id = 1500;
PREPARE one(int8) AS SELECT tableoid::regclass, id, kind FROM log WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE one(1500);
EXECUTE one(2050);
EXECUTE one(5000);
RESET plan_cache_mode;
SET enable_partitionwise_join = on;
SELECT a.id, b.kind FROM log a JOIN log b USING (id) WHERE id BETWEEN 999 AND 1002 ORDER BY 1;
RESET enable_partitionwise_join;

-- tableoid, whole rows, other system columns
SELECT tableoid::regclass, count(*) FROM log GROUP BY 1 ORDER BY 1;
SELECT l FROM log l WHERE id IN (1, 1999, 2001) ORDER BY id;
SELECT count(DISTINCT l) FROM log0 l;
SELECT count(*) FROM log0 l WHERE l IS NOT NULL;
SELECT row_to_json(l) FROM log0 l WHERE id = 2;
SELECT tableoid::regclass FROM log0 WHERE tableoid = 'log0'::regclass LIMIT 1;
SELECT id FROM log0 WHERE id < 4 ORDER BY tableoid, id DESC;
SELECT xmin FROM log0 LIMIT 1;

-- children of a table
CREATE TABLE parent (id int8, quantity int2);
\set path :testdata '/parts/part-0.parquet'
CREATE FOREIGN TABLE child (kind text) INHERITS (parent) SERVER analytics_fdw OPTIONS (path :'path');
INSERT INTO parent VALUES (-5, 1);
SELECT count(*), min(id), max(id), sum(quantity) FROM parent;
SELECT count(*), min(id), max(id) FROM ONLY parent;
SELECT tableoid::regclass, id, quantity FROM parent WHERE id IN (-5, 7) ORDER BY id;

-- set operations and common table expressions over them
SELECT count(*) FROM (SELECT id FROM log UNION SELECT id FROM parent) s;
WITH w AS MATERIALIZED (SELECT * FROM log WHERE kind = 'buy')
	SELECT count(*), (SELECT max(id) FROM w) FROM w;

-- rows are locked in heap tables only
BEGIN;
SELECT id FROM log WHERE id IN (7, 2007) ORDER BY id FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT id FROM log0 WHERE id < 3 ORDER BY id LIMIT 1 FOR UPDATE;
SELECT id FROM log0 WHERE id < 3 ORDER BY id LIMIT 1 FOR SHARE;
SELECT h.id, l.kind FROM twin h JOIN log l USING (id) WHERE h.id IN (5, 2005) ORDER BY 1 FOR UPDATE OF h;
UPDATE twin SET quantity = l.quantity + 100 FROM log l WHERE l.id = twin.id AND l.id IN (4, 2004)
	RETURNING twin.id, twin.quantity - l.quantity AS more;
DELETE FROM twin USING (SELECT kind, min(id) AS m FROM log GROUP BY kind) s WHERE twin.id = s.m
	RETURNING twin.id = s.m AS same;
ROLLBACK;

-- what does not change through a foreign table
INSERT INTO log VALUES (1, now(), 'x', 1);
UPDATE log0 SET id = 1;
DELETE FROM log0;
TRUNCATE log0;
SELECT count(*) FROM log0 TABLESAMPLE system (10);
