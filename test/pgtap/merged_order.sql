-- Files and parts that are each in an order, merged: the rows of a heap table, in the same order.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
\set final :testdata '/final'
\set plain :testdata '/final_plain.sql'
\set visits :testdata '/visits'
\set definition :testdata '/visits.sql'
CREATE FOREIGN TABLE parts (k int4 NOT NULL, name text COLLATE "C" NOT NULL, ver int8 NOT NULL, amount int8 NOT NULL,
	note text COLLATE "C") SERVER analytics_fdw OPTIONS (path :'final', format 'mergetree', definition :'plain');
CREATE FOREIGN TABLE visits (day date NOT NULL, id int8 NOT NULL, kind text COLLATE "C", quantity int2)
	SERVER analytics_fdw OPTIONS (path :'visits', format 'mergetree', definition :'definition');
\set path '{' :testdata '/events.parquet,' :testdata '/parts/*.parquet}'
CREATE FOREIGN TABLE files (id int8 NOT NULL, ts timestamptz NOT NULL, day date NOT NULL, kind text COLLATE "C" NOT NULL)
	SERVER analytics_fdw OPTIONS (path :'path', sorted 'ts');
CREATE TABLE h_parts AS SELECT * FROM parts;
CREATE TABLE h_visits AS SELECT * FROM visits;
CREATE TABLE h_files AS SELECT * FROM files;
CREATE TABLE few AS SELECT g * 7 AS k FROM generate_series(1, 40) g;
ANALYZE few;
ANALYZE parts;
CREATE TABLE queries (merged bool, q text);
INSERT INTO queries VALUES
	(true, 'SELECT k, name FROM {}parts ORDER BY k, name'), (true, 'SELECT k FROM {}parts ORDER BY k LIMIT 100'),
	(true, 'SELECT k, name FROM {}parts ORDER BY k, name LIMIT 300 OFFSET 9000'),
	(true, 'SELECT k, name FROM {}parts WHERE ver > 3 ORDER BY k, name'),
	(true, 'SELECT k, name FROM {}parts WHERE note IS NULL AND amount < 0 ORDER BY k, name LIMIT 50'),
	(true, 'SELECT k, name FROM {}parts WHERE k BETWEEN 100 AND 3000 ORDER BY k, name'),
	(false, 'SELECT k, name FROM {}parts ORDER BY k DESC, name DESC LIMIT 20'),
	(false, 'SELECT k, name FROM {}parts ORDER BY name, k LIMIT 20'),
	(true, 'SELECT k, name FROM {}parts ORDER BY k, name NULLS FIRST LIMIT 20'),
	(true, 'SELECT k, name FROM {}parts ORDER BY k, ver, name LIMIT 20'),
	(true, 'SELECT DISTINCT ON (k) k FROM {}parts ORDER BY k'),
	(true, 'SELECT k, count(*) OVER (ORDER BY k) AS n FROM {}parts ORDER BY k LIMIT 200'),
	(false, 'SELECT k, count(*), sum(amount) FROM {}parts GROUP BY k ORDER BY k'),
	(false, 'SELECT f.k, p.name FROM few f JOIN {}parts p USING (k) ORDER BY f.k, p.name'),
	(true, 'SELECT day, id FROM {}visits ORDER BY day, id'), (true, 'SELECT id FROM {}visits ORDER BY day, id LIMIT 77'),
	(true, 'SELECT ts FROM {}files ORDER BY ts'), (true, 'SELECT ts FROM {}files WHERE kind = ''buy'' ORDER BY ts LIMIT 500'),
	(true, 'SELECT ts, rank() OVER (ORDER BY ts) FROM {}files WHERE id % 50 = 0 ORDER BY ts');
CREATE FUNCTION plan(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE l text; a text := '';
BEGIN
	FOR l IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP a := a || l || E'\n'; END LOOP;
	RETURN a;
END $$;
SELECT agree('merged', q, true) FROM queries;
-- Where it is said that order is of use, it is merged, if the planner has no other way.
SET enable_sort = off;
SET enable_hashagg = off;
SET analytics_fdw.enable_sort_pushdown = off;
SELECT is(plan(replace(q, '{}', '')) ~ 'Merge Key', merged, q) FROM queries WHERE q !~ 'JOIN|GROUP';
SELECT agree('without sorts', q, true) FROM queries;
SET analytics_fdw.enable_ordered_merge = off;
SELECT ok(plan(replace(q, '{}', '')) !~ 'Merge Key', 'off: ' || q) FROM queries;
RESET ALL;
-- A limit reads the first granules of each part.
CREATE FUNCTION granules(q text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE l text;
BEGIN
	FOR l IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || q LOOP
		IF l ~ 'Granules: ' THEN
			RETURN (regexp_match(l, 'Granules: (\d+)'))[1];
		END IF;
	END LOOP;
END $$;
SELECT ok(granules('SELECT k, note FROM parts ORDER BY k, name LIMIT 10') < 12, 'a limit reads a few granules of 83');
SELECT ok(granules('SELECT k, note FROM parts ORDER BY k, name') = 83, 'and without one all are read');
SELECT * FROM finish();
