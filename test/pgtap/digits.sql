-- Decimals of more than 38 digits: their values, and that PostgreSQL computes with them.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
CREATE TYPE long_one AS (x numeric);
-- The rows that tools/gen/cases.py writes.
CREATE TABLE h_digits (id int NOT NULL, f numeric(60,10), b numeric(76,20), n numeric(40,2), u numeric(39,0),
	d numeric(45,4), e numeric(50,3), l numeric(60,3)[], s long_one, t jsonb);
INSERT INTO h_digits
SELECT id, CASE WHEN id % 7 < 6 THEN v * 1e-10 END, CASE WHEN id % 5 < 4 THEN v * 1e-20 END, w,
	CASE WHEN id % 3 < 2 THEN abs(w) END, ((w % 1000000000 + 1000000000) % 1000000000) * 0.01, -w * 0.000001,
	CASE WHEN id <> 3 THEN ARRAY[v * 0.001, w * 0.001, NULL] END,
	CASE WHEN id <> 4 THEN ROW((v * 0.001)::numeric(60,3))::long_one END,
	CASE WHEN id <> 4 THEN jsonb_build_object('x', (v * 0.001)::numeric(60,3)) END
FROM (SELECT ((i - 1) * 4 + j - 1)::int AS id, v, w
	FROM unnest(ARRAY[0, 1, -1, 1e59, -1e59, 1e60 - 1, 1 - 1e60, 1e38, 1e38 - 1, -1e38, 5e9, 15e9, -15e9,
		2::numeric ^ 127, -(2::numeric ^ 127)]) WITH ORDINALITY AS a (v, i),
	unnest('{0,1,-100000000,99999999}'::numeric[]) WITH ORDINALITY AS c (w, j)) r;
INSERT INTO h_digits VALUES
	(100, 7e-10, (1e76 - 1) * 1e-20, 1, 18446744073709551615, 0.01, 999999999999.999999, '{}', ROW(NULL), '{"x": null}'),
	(101, 7e-10, (1 - 1e76) * 1e-20, -1, 9223372036854775808, 0.01, -999999999999.999999, NULL, NULL, NULL);
SELECT set_config('acceptance.columns', 'id int NOT NULL, f numeric(60,10), b numeric(76,20), n numeric(40,2), u numeric(39,0),
	d numeric(45,4), e numeric(50,3), l numeric(60,3)[], s long_one, t jsonb OPTIONS (column_name ''s'')', false) AS columns \gset
\set path :testdata '/cases/digits.parquet'
\set dict :testdata '/cases/digits_dict.parquet'
CREATE FOREIGN TABLE digits (:columns) SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE digits_dict (:columns) SERVER analytics_fdw OPTIONS (path :'dict');
CREATE VIEW h_digits_dict AS SELECT * FROM h_digits;

SELECT agree('values', format('SELECT * FROM {}%s', t)) FROM unnest('{digits,digits_dict}'::text[]) t;
SELECT agree('conditions', format('SELECT id FROM {}%s WHERE %s', t, w)) FROM unnest('{digits,digits_dict}'::text[]) t,
	unnest(ARRAY['f > 1e48', 'f IS NULL', 'b IS NOT NULL AND id > 10', 'b = 1e18', 'n < 0', 'u IN (1, 100000000)',
	'b < f', 'f + b > 0', 'f = (SELECT max(f) FROM {}digits)', 'l[1] > 1e50', '1e-3 = ANY (l)', '(s).x > 1e50',
	'coalesce(f, -1) = -1', 'd BETWEEN 0.01 AND 5']) w;
SELECT agree('aggregates', 'SELECT count(*), count(f), count(DISTINCT b), sum(f), avg(b), min(f), max(f), min(e), sum(n), stddev(d) FROM {}digits');
SELECT agree('groups', 'SELECT f, count(*), sum(b), max(n) FROM {}digits GROUP BY f HAVING count(*) > 0');
SELECT agree('groups of another', 'SELECT id % 3, sum(f), min(b), max(b), count(u) FROM {}digits_dict GROUP BY 1');
SELECT agree('distinct', 'SELECT DISTINCT b FROM {}digits');
SELECT agree('order', 'SELECT f, b, id FROM {}digits ORDER BY f DESC NULLS LAST, b, id', true);
SELECT agree('the first', 'SELECT b, id FROM {}digits ORDER BY b DESC NULLS LAST, id LIMIT 5', true);
SELECT agree('join', 'SELECT a.id, c.id FROM {}digits a JOIN {}digits_dict c USING (f) WHERE a.id < 20');
SELECT agree('text', 'SELECT f::text, b::text, n::text, u::text, e::text, l::text, t::text FROM {}digits');
CREATE FUNCTION explained(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; a text := '';
BEGIN
	FOR r IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || q LOOP a := a || r || E'\n'; END LOOP;
	RETURN a;
END $$;
SELECT matches(explained('SELECT id FROM digits WHERE f > 1'), 'numeric\(60,10\) has more digits than the engine computes with',
	'EXPLAIN says why');
SELECT agree('null tests', 'SELECT count(*) FROM {}digits WHERE f IS NULL');

-- Other declarations of such columns.
CREATE FOREIGN TABLE narrow (id int, f numeric(30,2), b numeric(20,0), n numeric) SERVER analytics_fdw OPTIONS (path :'path');
CREATE VIEW h_narrow AS SELECT id, f::numeric(30,2), b::numeric(20,0), trunc(n) AS n FROM h_digits;
-- What has no value in the declared type is an error of rows that pass the conditions.
CREATE FUNCTION same(what text, q text) RETURNS text LANGUAGE sql AS
	$$SELECT results_eq(replace(q, '{}', ''), replace(q, '{}', 'h_'), what)$$;
SELECT same('rounded to few digits', 'SELECT id, f::text, b::text, n::text FROM {}narrow WHERE id < 12 OR id BETWEEN 40 AND 51 ORDER BY id');
SELECT throws_ok('SELECT f FROM narrow', '22003', NULL, 'too long for numeric(30,2)');
-- numeric without a precision: the files tell whether the engine can compute with it.
SELECT set_config('acceptance.bare', 'id int, f numeric, b numeric, n numeric, u numeric, d numeric, e numeric, l numeric[]', false) AS bare \gset
CREATE FOREIGN TABLE bare (:bare) SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE bare_dict (:bare) SERVER analytics_fdw OPTIONS (path :'dict');
CREATE VIEW h_bare AS SELECT id, f::numeric AS f, b::numeric AS b, trunc(n) AS n, u::numeric AS u, d::numeric(11,2)::numeric AS d,
	l::numeric[] AS l FROM h_digits;
SELECT agree('bare', 'SELECT id, f, b, n, u, d, l FROM {}bare');
SELECT agree('bare: conditions', 'SELECT id FROM {}bare WHERE ' || w) FROM unnest(ARRAY['f > 1e48', 'f IS NULL', 'b = 1e18', 'b < f',
	'f = (SELECT max(f) FROM {}bare)', 'l[1] > 1e50', 'f BETWEEN -1 AND 1e40', 'b IN (0, 1e-20, (1e76 - 1) * 1e-20)', 'f <> 0 AND b / f > 1',
	'abs(f) > 1e40', 'f % 7 = 1', 'n < 0 AND f > 0', 'coalesce(b, -1) = -1', 'f IS DISTINCT FROM b', 'f::text LIKE ''1%''']) w;
SELECT agree('bare: values', 'SELECT id, ' || x || ' FROM {}bare') FROM unnest(ARRAY['f + b', 'f - b', 'f * b', 'f / nullif(b, 0)', 'f % nullif(b, 0)', '-f',
	'round(f, 5)', 'round(b, -30)', 'trunc(f)', 'ceil(b)', 'floor(b)', 'sign(f)', 'f::text', 'f::float8', 'f::numeric(65,2)', 'b::numeric(80,25)', 'scale(f)',
	'greatest(f, b)', 'CASE WHEN f > 1e40 THEN b ELSE f END', 'n * f', 'u + b', 'div(f, 3)']) x;
SELECT agree('bare: errors', 'SELECT ' || x || ' FROM {}bare') FROM unnest(ARRAY['f::int', 'b::bigint', 'f / b', 'f::numeric(20,2)', 'f % (b - b)', 'ln(f)']) x;
SELECT agree('bare: aggregates', 'SELECT count(f), count(DISTINCT b), sum(f), avg(b), min(f), max(f), sum(f * 2), stddev(b), var_pop(f), sum(n), avg(u), sum(b) FILTER (WHERE f > 0) FROM {}bare');
SELECT agree('bare: groups', 'SELECT f, count(*), sum(b), max(n), avg(f) FROM {}bare GROUP BY f HAVING sum(b) > -1e60');
SELECT agree('bare: distinct', 'SELECT DISTINCT b, f > 0 FROM {}bare');
SELECT agree('bare: order', 'SELECT f, b, id FROM {}bare ORDER BY f DESC NULLS LAST, b, id', true);
SELECT agree('bare: the first', 'SELECT b, id FROM {}bare ORDER BY b, id LIMIT 7', true);
SELECT agree('bare: join', 'SELECT a.id, c.id FROM {}bare a JOIN {}digits c ON a.f = c.f AND a.b IS NOT DISTINCT FROM c.b WHERE a.id < 20');
SELECT is((SELECT count(*) FROM bare_dict d JOIN h_bare h USING (id) WHERE d.f IS DISTINCT FROM h.f OR d.b IS DISTINCT FROM h.b OR d.l IS DISTINCT FROM h.l), 0::bigint, 'dictionaries');
SELECT matches(explained('SELECT id FROM bare WHERE f > 1'), 'numeric has more digits in the files than the engine computes with', 'EXPLAIN says why');
SELECT matches(explained('SELECT sum(d) FROM bare WHERE n > 1'), 'Relations: Aggregate on', 'what is short is computed in the engine');
CREATE FOREIGN TABLE absent (id int, b numeric OPTIONS (column_name 'f.none', "default" '1e60')) SERVER analytics_fdw OPTIONS (path :'path');
SELECT is((SELECT DISTINCT b::text FROM absent), (1e60)::text, 'a default of many digits');
CREATE FOREIGN TABLE positions (id int, f numeric, b numeric) SERVER analytics_fdw OPTIONS (path :'path', match_by 'position');
SELECT results_eq('SELECT id, f, b FROM positions ORDER BY id', 'SELECT id, f::numeric, b::numeric FROM h_digits ORDER BY id', 'columns by position');
-- PostgreSQL 14 has no negative scales.
SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 THEN 'numeric(60,-3)' ELSE 'numeric(60,3)' END AS tens
\gset
CREATE FOREIGN TABLE rounded (id int, b numeric(60,5), f :tens) SERVER analytics_fdw OPTIONS (path :'path');
CREATE VIEW h_rounded AS SELECT id, b::numeric(60,5), f:::tens FROM h_digits;
SELECT agree('rounded to many digits', 'SELECT id, b, f FROM {}rounded');
CREATE FOREIGN TABLE short (id int, b numeric(50,20)) SERVER analytics_fdw OPTIONS (path :'path');
SELECT throws_ok('SELECT b FROM short', '22003', NULL, 'too long for numeric(50,20)');
CREATE FOREIGN TABLE usual (id int, b numeric(50,20) OPTIONS (column_name 'none', "default" '1e29')) SERVER analytics_fdw OPTIONS (path :'path', allow_missing_columns 'true');
SELECT is((SELECT DISTINCT b::text FROM usual), '100000000000000000000000000000.00000000000000000000', 'a default of many digits');
SELECT * FROM finish();
