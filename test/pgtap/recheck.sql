-- Every way to run a query gives the same rows: the engine, PostgreSQL above plain scans, one thread.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/events.parquet'
SELECT plan(37);
CREATE FOREIGN TABLE events (
	id int8 NOT NULL, ts timestamptz NOT NULL, day date NOT NULL, customer int4,
	kind text COLLATE "C" NOT NULL, url text COLLATE "C", quantity int2, amount float8, paid bool
) SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE heap AS SELECT * FROM events;
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT id FROM %s WHERE id BETWEEN 4990 AND 5010'),
	('SELECT id, url FROM %s WHERE url LIKE ''%%/1_'' AND quantity > 17'),
	('SELECT id FROM %s WHERE customer IS NULL AND paid IS NOT TRUE'),
	('SELECT id FROM %s WHERE quantity IN (3, 70000, NULL) AND amount < 0'),
	('SELECT id FROM %s WHERE NOT (quantity > 2 OR paid)'),
	('SELECT kind, count(*), sum(amount), avg(quantity), min(ts), max(url) FROM %s GROUP BY kind'),
	('SELECT customer, kind, count(*) FROM %s GROUP BY customer, kind HAVING count(*) > 15'),
	('SELECT DISTINCT day, paid FROM %s WHERE id < 3000'),
	('SELECT url FROM %s GROUP BY url ORDER BY url DESC NULLS LAST LIMIT 7 OFFSET 3'),
	('SELECT id, amount FROM %s ORDER BY amount NULLS FIRST, id DESC LIMIT 9'),
	('SELECT count(*), count(url), count(paid), sum(quantity + 1) FROM %s WHERE day > ''2024-02-01'''),
	('SELECT quantity %% 3, count(*) FROM %s GROUP BY 1');
CREATE FUNCTION same(q text, setting text, value text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	PERFORM set_config(setting, value, true);
	EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d',
				   '(' || format(q, 'events') || ')', '(' || format(q, 'heap') || ')') INTO n;
	RETURN n = 0;
END $$;
SELECT ok(same(q, 'analytics_fdw.max_threads', '4'), 'four threads: ' || q) FROM queries ORDER BY n;
SELECT ok(same(q, 'analytics_fdw.max_threads', '1'), 'one thread: ' || q) FROM queries ORDER BY n;
SELECT ok(same(q, 'analytics_fdw.enabled', 'off'), 'plain scan: ' || q) FROM queries ORDER BY n;
SELECT is(current_setting('analytics_fdw.enabled'), 'on', 'settings are back') FROM
	(SELECT set_config('analytics_fdw.enabled', 'on', false)) s;
SELECT * FROM finish();
