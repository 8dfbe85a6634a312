-- Rows read in stored order, and looked up one value after another, are those of a heap table, in
-- the same order.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/events.parquet'
CREATE FOREIGN TABLE events (
	id int8 NOT NULL, ts timestamptz NOT NULL, day date NOT NULL, customer int4,
	kind text COLLATE "C" NOT NULL, url text COLLATE "C", quantity int2, amount float8, paid bool
) SERVER analytics_fdw OPTIONS (path :'path', sorted 'day, id');
\set path :testdata '/parts/*.parquet'
CREATE FOREIGN TABLE parts (
	id int8 NOT NULL, ts timestamptz NOT NULL, day date NOT NULL, customer int4,
	kind text COLLATE "C" NOT NULL, url text COLLATE "C", quantity int2, amount float8, paid bool
) SERVER analytics_fdw OPTIONS (path :'path', sorted 'ts');
CREATE TABLE h_events AS SELECT * FROM events;
CREATE TABLE h_parts AS SELECT * FROM parts;
CREATE TABLE few AS SELECT g * 997 AS id, CASE WHEN g % 5 > 0 THEN date '2024-01-01' + g END AS day
	FROM generate_series(1, 25) g;
ANALYZE few;
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT day, id FROM events ORDER BY day, id LIMIT 50 OFFSET 4980'),
	('SELECT id FROM events ORDER BY day, id'),
	('SELECT id, url FROM events WHERE kind = ''buy'' AND quantity > 15 ORDER BY day, id'),
	('SELECT id FROM events WHERE day = ''2024-01-09'' ORDER BY id LIMIT 9'),
	('SELECT id FROM events ORDER BY day DESC, id DESC LIMIT 20'),
	('SELECT id, kind FROM events ORDER BY day, kind, id LIMIT 300'),
	('SELECT DISTINCT ON (day) day, id FROM events ORDER BY day, id'),
	('SELECT day, count(*), max(id) FROM events GROUP BY day ORDER BY day'),
	('SELECT id, rank() OVER (ORDER BY day) AS r FROM events WHERE id %% 100 = 0 ORDER BY id'),
	('SELECT id FROM parts ORDER BY ts'),
	('SELECT id FROM parts ORDER BY ts LIMIT 3 OFFSET 998'),
	('SELECT e.id, p.kind FROM events e JOIN parts p ON e.ts = p.ts ORDER BY e.id'),
	('SELECT e.id, p.id AS o FROM parts p JOIN events e ON e.day = p.day AND e.id = p.id ORDER BY 1'),
	('SELECT p.id, e.id AS o FROM parts p LEFT JOIN events e ON e.id = p.id + 2500 ORDER BY 1'),
	('SELECT min(day), max(day), min(id) FROM events WHERE kind = ''return'''),
	('SELECT f.id, e.kind FROM few f JOIN events e ON e.id = f.id ORDER BY 1'),
	('SELECT f.id, e.id AS o FROM few f LEFT JOIN events e ON e.id = f.id AND e.day > f.day ORDER BY 1'),
	('SELECT f.day, e.id FROM few f JOIN events e ON e.day = f.day AND e.quantity = 7 ORDER BY 1, 2'),
	('SELECT f.id, (SELECT min(e.id) FROM events e WHERE e.day > f.day) AS m FROM few f ORDER BY 1'),
	('SELECT f.id FROM few f WHERE EXISTS (SELECT FROM parts p WHERE p.id = f.id) ORDER BY 1'),
	('SELECT id FROM events WHERE day IN (SELECT day FROM few WHERE id < 5000) ORDER BY day, id LIMIT 40');
-- Rows with their positions: the order counts.
CREATE FUNCTION rows_of(q text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r record; a text[] := '{}';
BEGIN
	FOR r IN EXECUTE q LOOP a := a || r::text; END LOOP;
	RETURN a;
END $$;
CREATE FUNCTION same(q text, settings text[]) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE s text; result bool;
BEGIN
	FOREACH s IN ARRAY settings LOOP
		PERFORM set_config(split_part(s, '=', 1), split_part(s, '=', 2), false);
	END LOOP;
	result := rows_of(format(q)) = rows_of(regexp_replace(format(q), '\m(events|parts)\M', 'h_\1', 'g'));
	FOREACH s IN ARRAY settings LOOP
		EXECUTE 'RESET ' || split_part(s, '=', 1);
	END LOOP;
	RETURN result;
END $$;
SELECT plan(106);
SELECT ok(same(q, '{analytics_fdw.max_threads=4}'), 'as it comes: ' || q) FROM queries ORDER BY n;
SELECT ok(same(q, '{analytics_fdw.enable_ordered_scan=off,analytics_fdw.enable_parameterized_scan=off}'),
	'without both: ' || q) FROM queries ORDER BY n;
SELECT ok(same(q, '{enable_hashjoin=off,enable_nestloop=off,enable_sort=off,enable_hashagg=off}'),
	'merged: ' || q) FROM queries ORDER BY n;
SELECT ok(same(q, '{enable_hashjoin=off,enable_mergejoin=off,enable_material=off,enable_memoize=off,analytics_fdw.max_threads=2}'),
	'in loops: ' || q) FROM queries ORDER BY n;
SELECT CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query'
	ELSE 'force_parallel_mode' END AS parallel \gset
SELECT ok(same(q, ARRAY['analytics_fdw.enable_limit_pushdown=off', 'analytics_fdw.enable_prewhere=off', :'parallel' || '=on']),
	'otherwise: ' || q) FROM queries ORDER BY n;
SELECT is((SELECT count(*)::int FROM queries), 21, 'all queries are there');
SELECT * FROM finish();
