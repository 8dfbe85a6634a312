-- Values that the declared type does not hold: nulls (out_of_range), in conditions, groups and arrays as
-- well; nanoseconds (timestamp_ns); INT96 as local time (int96_timezone).
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
SET timezone = 'Pacific/Auckland';
CREATE FUNCTION declare(name text, file text, columns text, options text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE FOREIGN TABLE %I (%s) SERVER analytics_fdw OPTIONS (path %L %s)', name, columns,
		current_setting('acceptance.testdata') || '/cases/' || file || '.parquet', options);
END $$;
-- What is stored, by types that hold it all; days are kept as their number.
SELECT declare(f || '_all', f, 'id int, i bigint, r bigint, f float8, ns bigint, n numeric(60,3), t timestamp, l bigint[], y int OPTIONS (column_name ''s.y'')')
	FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f;
-- The days are those that tools/gen/cases.py writes.
CREATE FUNCTION day(n int) RETURNS date LANGUAGE sql AS $$
	SELECT CASE WHEN n % 11 <> 10 THEN (ARRAY['1970-01-01', '4714-11-24 BC', NULL, '5874867-12-31', NULL, NULL, '2022-01-08'])[n % 7 + 1]::date END
$$;
CREATE FUNCTION fits(x bigint, lo bigint, hi bigint) RETURNS bigint LANGUAGE sql AS 'SELECT CASE WHEN x BETWEEN lo AND hi THEN x END';
CREATE TABLE h_ranges AS
SELECT id, fits(i, -32768, 32767)::int2 AS i, fits(r, -2147483648, 2147483647)::int AS r, day(id / 3) AS d,
	CASE WHEN abs(f) IN (1e300, 1e-300) THEN NULL ELSE f::float4 END AS f,
	'1970-01-01'::timestamp + floor(ns / 1000.0) * interval '1 us' AS ns,
	CASE WHEN abs(round(n, 2)) < 1e8 THEN n::numeric(10,2) END AS n, t,
	(SELECT array_agg(fits(x, -2147483648, 2147483647)::int ORDER BY o) FROM unnest(l) WITH ORDINALITY AS u (x, o)) AS l,
	CASE WHEN y IS NOT NULL THEN jsonb_build_object('x', day(y), 'y', y) END AS s
FROM ranges_all;
UPDATE h_ranges h SET l = '{}' FROM ranges_all a WHERE a.id = h.id AND a.l = '{}';
CREATE VIEW h_ranges_dict AS SELECT * FROM h_ranges;
CREATE VIEW h_ranges_v2 AS SELECT * FROM h_ranges;
SELECT declare(f, f, 'id int, i int2, r int, d date, f float4, ns timestamp, n numeric(10,2), t timestamp, l int[], s jsonb',
			   ', out_of_range ''null''') FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f;
SELECT agree('values of ' || f, format('SELECT id, i, r, d, f, ns, n, t, l, to_jsonb(s) - ''x'' FROM {}%s', f)) FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f;
SELECT agree('null tests', format('SELECT count(*) FROM {}%s WHERE %s %s', f, c, w))
	FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f, unnest('{i,r,d,f,ns,n,t}'::text[]) c,
	unnest('{IS NULL,IS NOT NULL}'::text[]) w;
SELECT agree('conditions', format('SELECT id FROM {}%s WHERE %s', f, w)) FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f,
	unnest(ARRAY['i < 0', 'i IS DISTINCT FROM 7', 'r >= 7', 'r = 2147483647', 'coalesce(r, -5) < 0', 'd > ''2000-01-01''',
	'd = ''4714-11-24 BC''', 'f > 1', 'f = ''NaN''', 'n > 1', 'n = 99999999.99', 'n NOT IN (0, 1.5)', 'NOT (i > 0)', 'i IS NULL AND r = 7',
	'ns < ''1970-01-01''', 'NULL = ANY (l) IS NULL', 'l[1] = 7', 's->>''x'' IS NULL', 'id > 150 AND r IS NULL']) w;
SELECT agree('aggregates', format('SELECT count(*), count(i), count(r), count(d), count(f), count(n), sum(i), min(r), max(r), min(d), max(d), min(n), max(n), avg(r) FROM {}%s', f))
	FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f;
SELECT agree('count alone', format('SELECT count(%s) FROM {}%s', c, f)) FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f, unnest('{i,r,d,f,ns,n}'::text[]) c;
SELECT agree('groups', format('SELECT %s, count(*), min(id), max(id) FROM {}%s GROUP BY 1', c, f))
	FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f, unnest('{i,r,d,f + float8 ''0'',n}'::text[]) c;
SELECT agree('order', format('SELECT %s, id FROM {}%s ORDER BY 1 DESC, 2 LIMIT 60', c, f), true)
	FROM unnest('{ranges,ranges_dict,ranges_v2}'::text[]) f, unnest('{i,r,d,n}'::text[]) c;
-- fields of documents
SELECT is((SELECT count(*) FROM ranges r JOIN h_ranges h USING (id) WHERE r.s->'y' IS DISTINCT FROM h.s->'y' OR (r.s->>'x')::date IS DISTINCT FROM (h.s->>'x')::date), 0::bigint, 'dates in documents');
-- a column that may not be null, and the other policies
SELECT declare('strict', 'ranges', 'id int, r int NOT NULL', ', out_of_range ''null''');
SELECT throws_ok('SELECT r FROM strict', '23502', NULL, 'null in a column declared NOT NULL');
SELECT declare('failing', 'ranges', 'id int, r int, d date, f float4');
SELECT throws_ok('SELECT r FROM failing', '22003', NULL, 'integers are errors');
SELECT throws_ok('SELECT f FROM failing', '22003', NULL, 'so are floats');
SELECT declare('endless', 'ranges', 'id int, r int, d date', ', out_of_range ''infinity''');
SELECT throws_ok('SELECT r FROM endless', '22003', NULL, 'integers are not infinite');
SELECT is((SELECT count(*) FROM endless WHERE d IN ('infinity', '-infinity')), (SELECT count(*) FROM h_ranges WHERE d IS NULL AND id / 3 % 11 <> 10), 'dates are');

-- nanoseconds
SELECT declare('exact', 'ranges', 'id int, ns timestamp', ', timestamp_ns ''error''');
SELECT throws_ok('SELECT ns FROM exact', '22008', NULL, 'nanoseconds that are no microseconds');
SELECT is((SELECT ns FROM exact WHERE id = 0), '1970-01-01'::timestamp, 'an error of its row');
SELECT declare('whole', 'ranges', 'id int, ns timestamptz', ', timestamp_ns ''error'', out_of_range ''null''');
SELECT is((SELECT count(ns) FROM whole), (SELECT count(*) FROM ranges_all WHERE ns % 1000 = 0), 'or null');
SELECT is((SELECT count(*) FROM whole WHERE ns IS NULL), (SELECT count(*) FROM ranges_all WHERE ns % 1000 <> 0 OR ns IS NULL), 'in conditions');
SELECT declare('counted', 'ranges', 'id int, ns timestamp OPTIONS (column_name ''i'', epoch_unit ''ns'')', ', timestamp_ns ''error'', out_of_range ''null''');
SELECT is((SELECT count(ns) FROM counted), (SELECT count(*) FROM ranges_all WHERE i % 1000 = 0), 'integers that count nanoseconds');
SELECT declare('raw', 'ranges', 'id int, ns numeric');
SELECT bag_eq('SELECT id, ns FROM raw WHERE ns > -5', 'SELECT id, ns::numeric FROM ranges_all WHERE ns > -5', 'the number that is stored');

-- INT96
SELECT declare('berlin', 'ranges', 'id int, t timestamp', ', int96_timezone ''Europe/Berlin''');
SELECT bag_eq('SELECT id, t FROM berlin', $$SELECT id, t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' FROM ranges_all$$, 'UTC as local time of a zone');
SELECT bag_eq($$SELECT id FROM berlin WHERE t > '2200-07-01 12:00'$$, $$SELECT id FROM ranges_all WHERE t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' > '2200-07-01 12:00'$$, 'conditions on it');
SELECT declare('instant', 'ranges', 'id int, t timestamptz', ', int96_timezone ''Europe/Berlin''');
SELECT bag_eq('SELECT id, t FROM instant', $$SELECT id, t AT TIME ZONE 'UTC' FROM ranges_all$$, 'timestamptz is UTC');
SELECT declare('w_' || f, 'written_' || f, 'id int, t timestamp', ', int96_timezone ''writer''')
	FROM unnest('{los_angeles,kolkata,nowhere,odd}'::text[]) f;
SELECT declare('stored', 'written_nowhere', 'id int, t timestamp');
SELECT bag_eq('SELECT id, t FROM w_los_angeles', $$SELECT id, t AT TIME ZONE 'UTC' AT TIME ZONE 'America/Los_Angeles' FROM stored$$, 'the zone of the writer');
SELECT bag_eq('SELECT id, t FROM w_kolkata', $$SELECT id, t AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Kolkata' FROM stored$$, 'another one');
SELECT bag_eq('SELECT id, t FROM w_nowhere', 'SELECT id, t FROM stored', 'none');
SELECT throws_like('SELECT t FROM w_odd', '%time zone "GMT+05:00", which is not known%', 'one that is not known');
SELECT declare('w_all', 'written_[lkn]*', 'id int, t timestamp, file text OPTIONS (virtual ''_file'')', ', int96_timezone ''writer''');
SELECT bag_eq('SELECT t FROM w_all ',
	'SELECT t FROM (SELECT t FROM w_los_angeles UNION ALL SELECT t FROM w_kolkata UNION ALL SELECT t FROM w_nowhere) x', 'each file its own');
SELECT * FROM finish();
