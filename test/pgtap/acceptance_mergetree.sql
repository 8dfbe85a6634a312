-- Acceptance cases of MergeTree's types: those that are inferred, and instants.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
\set path :testdata '/clickhouse'
\set definition :testdata '/clickhouse.sql'
CREATE FOREIGN TABLE kinds () SERVER analytics_fdw OPTIONS (path :'path', definition :'definition', format 'mergetree');
-- The rows that tools/gen/testdata.py writes.
CREATE TABLE h_kinds AS
SELECT id::int8 AS id, to_timestamp(1679792400 + id * 1800) AS at,
	to_timestamp(0) + (1700000000123 + id * 86400001::int8) * interval '1 ms' AS tick,
	(ARRAY['x', 'it''s'])[id % 2 + 1] AS state, jsonb_build_object('a', CASE WHEN id % 4 > 0 THEN id - 30 END) AS point,
	sign * ('1e' || id % 38)::numeric AS i128, sign * power - id AS i256, trunc(2::numeric ^ 256) - 1 - id AS u256,
	(floor(sign * power / 10) + id) * 1e-20 AS d256, CASE WHEN id % 5 > 0 THEN -power END AS n256
FROM (SELECT id, 1 - id % 3 AS sign, ('1e' || id % 12 * 7 % 77)::numeric AS power FROM generate_series(0, 59) id) r;

SELECT is((SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'kinds'::regclass AND attnum > 0),
	'id bigint, at timestamp with time zone, tick timestamp with time zone, state text, point jsonb, '
	'i128 numeric(39,0), i256 numeric(77,0), u256 numeric(78,0), d256 numeric(76,20), n256 numeric(77,0)',
	'C22 DateTime64, Enum8, Tuple and wide integers have types');
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO imported OPTIONS (path :'path', format 'mergetree', one_table 'true');
SELECT results_eq('SELECT id, tick, state, point FROM imported.clickhouse ORDER BY id', 'SELECT id, tick, state, point FROM h_kinds ORDER BY id',
	'C22 IMPORT FOREIGN SCHEMA of parts with such types');

SELECT agree('values', 'SELECT id, at, tick, state, point, i128::text, i256::text, u256::text, n256::text FROM {}kinds');
SELECT agree('long decimals', 'SELECT id, round(d256, 20)::text FROM {}kinds');
SELECT agree('conditions', 'SELECT id FROM {}kinds WHERE ' || w) FROM unnest(ARRAY['i256 < 0', 'u256 > 1e77', 'n256 IS NULL',
	'i128 = -1e37', 'd256 > 1e50', 'i256 = (SELECT max(i256) FROM {}kinds)', 'state = ''it''''s''', 'point->>''a'' = ''5''']) w;
SELECT agree('aggregates', 'SELECT count(n256), sum(i256), min(d256), max(u256), count(DISTINCT i128) FROM {}kinds');
CREATE FOREIGN TABLE narrow (id int8, i128 numeric(30,0), d256 numeric(38,3), n256 text) SERVER analytics_fdw OPTIONS (path :'path', format 'mergetree');
CREATE VIEW h_narrow AS SELECT id, i128, d256::numeric(38,3), n256::text FROM h_kinds;
-- What has no value in the declared type is an error of rows that pass the conditions.
SELECT results_eq('SELECT id, d256::text, n256 FROM narrow WHERE id IN (1, 2, 3, 13, 14) ORDER BY id',
	'SELECT id, d256::numeric(38,3)::text, n256::text FROM h_kinds WHERE id IN (1, 2, 3, 13, 14) ORDER BY id', 'rounded to few digits');
SELECT throws_ok('SELECT i128 FROM narrow', '22003', NULL, 'too long for numeric(30,0)');
CREATE FOREIGN TABLE bare (id int8, i256 numeric) SERVER analytics_fdw OPTIONS (path :'path', format 'mergetree');
SELECT results_eq('SELECT id, i256::text, i256 + 1 FROM bare ORDER BY i256, id',
	'SELECT id, i256::text, i256 + 1 FROM h_kinds ORDER BY i256, id', 'longer ones need no declared precision');

-- Europe/Berlin goes from one to two hours within these rows.
SELECT is((SELECT max(at) - min(at) FROM kinds), interval '29:30', 'Z03 DateTime with a zone is an instant');
CREATE FUNCTION shown(zone text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('timezone', zone, true);
	RETURN (SELECT string_agg(at::text || ' ' || extract(hour FROM at) || ' ' || to_char(at, 'HH24:MI TZH') || ' ' || at::date, ',' ORDER BY id) FROM kinds);
END $$;
CREATE FUNCTION h_shown(zone text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('timezone', zone, true);
	RETURN (SELECT string_agg(at::text || ' ' || extract(hour FROM at) || ' ' || to_char(at, 'HH24:MI TZH') || ' ' || at::date, ',' ORDER BY id) FROM h_kinds);
END $$;
SELECT is(shown(z), h_shown(z), 'Z03 text and parts of it are of the session''s zone, ' || z) FROM unnest('{UTC,Europe/Berlin,Asia/Kathmandu}'::text[]) z;
SELECT agree('Z03 hours in a zone', format('SELECT extract(hour FROM at), count(*) FROM {}kinds WHERE set_config(''timezone'', %L, true) IS NOT NULL GROUP BY 1', z))
	FROM unnest('{UTC,Europe/Berlin}'::text[]) z;
SELECT agree('Z03 conditions', 'SELECT id FROM {}kinds WHERE at >= timestamptz ''2023-03-26 03:00:00 Europe/Berlin''');
SELECT * FROM finish();
