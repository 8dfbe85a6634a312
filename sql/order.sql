-- ORDER BY, LIMIT, OFFSET.
\set suite ordering
\i sql/include/tables.inc
\pset null (null)

EXPLAIN (COSTS OFF) SELECT id, amount FROM events ORDER BY amount DESC NULLS LAST, id LIMIT 4;
SELECT id, amount FROM events ORDER BY amount DESC NULLS LAST, id LIMIT 4;
SELECT id, amount FROM events ORDER BY amount DESC, id LIMIT 4;
SELECT id, amount FROM events ORDER BY amount, id LIMIT 4 OFFSET 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, url FROM events ORDER BY url NULLS FIRST, id DESC LIMIT 3;
SELECT id, url FROM events ORDER BY url NULLS FIRST, id DESC LIMIT 3;
SELECT kind, quantity, id FROM events ORDER BY kind, quantity DESC, id LIMIT 5 OFFSET 1000;
SELECT id FROM events ORDER BY id OFFSET 19998;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY quantity + id LIMIT 3;
SELECT id, quantity FROM events ORDER BY quantity + id DESC, id LIMIT 3;
SELECT id, c_double FROM types ORDER BY c_double DESC, id;
SELECT id, left(c_string, 5) FROM types ORDER BY c_string COLLATE "C", id;
SELECT * FROM customers ORDER BY since DESC, id LIMIT 2;

-- sorting without limit, and a sort that PostgreSQL must do
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY kind, id;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY kind USING ~<~;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY opaque(kind) LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY random() LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE opaque(kind) ORDER BY id LIMIT 1;
SET analytics_fdw.enable_sort_pushdown = off;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY id LIMIT 1;
RESET analytics_fdw.enable_sort_pushdown;
SET analytics_fdw.enable_limit_pushdown = off;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY id LIMIT 1;
RESET analytics_fdw.enable_limit_pushdown;

-- limits alone
EXPLAIN (COSTS OFF) SELECT id FROM events LIMIT 3;
SELECT count(*) FROM (SELECT id FROM events LIMIT 4000) s;
SELECT count(*) FROM (SELECT id FROM events LIMIT 4000 OFFSET 19000) s;
SELECT count(*) FROM (SELECT id FROM events OFFSET 19990) s;
SELECT id FROM events LIMIT 0;
SELECT count(*) FROM (SELECT id FROM events LIMIT ALL) s;
SELECT count(*) FROM (SELECT id FROM events LIMIT NULL OFFSET NULL) s;
SELECT id FROM events LIMIT -1;
SELECT id FROM events OFFSET -1;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY kind FETCH FIRST 1 ROWS WITH TIES;
EXPLAIN (COSTS OFF) SELECT id FROM events ORDER BY id LIMIT (SELECT count(*) FROM customers
	WHERE id < 3);
SELECT id FROM events ORDER BY id LIMIT (SELECT count(*) FROM customers WHERE id < 3);

-- over groups
EXPLAIN (COSTS OFF) SELECT customer, count(*) AS n FROM events GROUP BY customer
	ORDER BY n DESC, customer LIMIT 4;
SELECT customer, count(*) AS n FROM events GROUP BY customer ORDER BY n DESC, customer LIMIT 4;
SELECT customer, count(*) AS n FROM events GROUP BY customer ORDER BY n, customer LIMIT 2 OFFSET 3;
EXPLAIN (COSTS OFF) SELECT customer FROM events GROUP BY customer LIMIT 5;
SELECT count(*) FROM (SELECT customer FROM events GROUP BY customer LIMIT 5) s;
EXPLAIN (COSTS OFF) SELECT DISTINCT kind FROM events ORDER BY kind DESC LIMIT 2;
SELECT DISTINCT kind FROM events ORDER BY kind DESC LIMIT 2;
-- expressions above what the engine computes
EXPLAIN (VERBOSE, COSTS OFF)
	SELECT upper(kind), round(avg(quantity), 2) FROM events GROUP BY kind ORDER BY avg(quantity) DESC
	LIMIT 2;
SELECT upper(kind), round(avg(quantity), 2) FROM events GROUP BY kind ORDER BY avg(quantity) DESC
	LIMIT 2;
SELECT id, (SELECT name FROM customers c WHERE c.id = e.customer) FROM events e
	ORDER BY id LIMIT 3;
