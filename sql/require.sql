-- require_pushdown: work that PostgreSQL does on rows of foreign tables, wherever it is.
\set suite require
\i sql/include/tables.inc
CREATE TABLE heap (id int);
SET analytics_fdw.require_pushdown = error;

-- entirely in the engine, with PostgreSQL computing what is put out
SELECT count(*) FROM events;
SELECT kind, count(*) + 1 FROM events WHERE id < 100 GROUP BY kind ORDER BY 2, kind LIMIT 1;
SELECT upper(name) FROM customers ORDER BY name LIMIT 1;
SELECT * FROM (SELECT count(*) FROM events) s;
-- a subquery in an expression is a query of its own
SELECT count(*) FROM heap WHERE id > (SELECT max(id) FROM customers);
INSERT INTO heap SELECT count(*) FROM events;
SELECT * FROM heap;

-- PostgreSQL's
SELECT count(*) FROM events e JOIN customers c ON c.id = e.customer;
SELECT e.id FROM events e, heap h WHERE e.id = h.id;
SELECT id FROM events WHERE id < 3 UNION SELECT id FROM customers;
SELECT id FROM events WHERE id < 3 UNION ALL SELECT id FROM customers;
SELECT id FROM events EXCEPT SELECT id FROM customers;
SELECT id FROM customers FOR UPDATE;
SELECT id, row_number() OVER (ORDER BY id) FROM customers;
SELECT row_number() OVER (ORDER BY count(*)) FROM events GROUP BY kind;
SELECT sum(n) FROM (SELECT kind, count(*) AS n FROM events GROUP BY kind) s;
SELECT n FROM (SELECT kind, count(*) AS n FROM events GROUP BY kind OFFSET 0) s ORDER BY n;
SELECT n FROM (SELECT count(*) AS n FROM events GROUP BY kind LIMIT 2) s WHERE n > 2890;
SELECT n FROM (SELECT kind, count(*) AS n FROM events GROUP BY kind) s JOIN heap ON n = id;
SELECT id FROM events WHERE opaque(kind);
SELECT opaque_max(kind) FROM events;
CREATE TABLE parted (id int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part_ours PARTITION OF parted FOR VALUES FROM (0) TO (10000)
	SERVER analytics_fdw OPTIONS (path '/nowhere/*.parquet', allow_no_files 'true');
SELECT count(*) FROM parted;

SET analytics_fdw.require_pushdown = warn;
SELECT count(*) FROM events e JOIN customers c ON c.id = e.customer WHERE e.id < 10;
RESET analytics_fdw.require_pushdown;
