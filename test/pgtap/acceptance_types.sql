-- Acceptance cases of groups NU, T, Z and SEM: values, and what PostgreSQL makes of them.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
SELECT twin('tenths', 'd numeric(10,1)', '(0.1)');
SELECT is((SELECT avg(d)::text FROM tenths), '0.10000000000000000000', 'NU02 avg of numeric is exact');
SELECT is((SELECT (sum(d), count(d), stddev(d))::text FROM tenths), '(10000.0,100000,0)', 'NU02 sum and stddev');
SELECT twin('wide', 'b int8, d numeric(38,22)', $$(9223372036854775807, 8385930.2158780710128370101138),
	(9223372036854775807, 0.0000000000000000000001), (9223372036854775807, -1.5)$$);
SELECT is((SELECT sum(b)::text FROM wide), '27670116110564327421', 'NU03 sum of bigint');
SELECT agree('NU03 exact sums', 'SELECT sum(b), avg(b), sum(d), avg(d), stddev(d), variance(b), sum(d * 3), sum(b + d) FROM {}wide');
SELECT agree('NU03 products', 'SELECT d * d, d / 3, d % 0.7, b * d, round(d, 4), trunc(d, 3), -d, abs(d) FROM {}wide');
SELECT twin('huge', 'd numeric(38,0)', '(-1), (0), (1e37), (-1e37), (255), (-256)');
SELECT agree('NU05 statistics of decimals', 'SELECT d FROM {}huge WHERE ' || w) FROM unnest(ARRAY['d < 0', 'd = 1e37', 'd > 200', 'd = -256',
	'd <= -1', 'd BETWEEN -1 AND 255', 'd > 1e36', 'd < -1e36', 'd = 255.0', 'd > 254.5', 'd IN (-1, 1e37)', 'd <> 0']) w;
SELECT agree('NU05 extremes', 'SELECT min(d), max(d), sum(d) FROM {}huge');
CREATE TYPE pair AS (x numeric(20,10), n text);
SELECT twin('inside', 'id int, s pair, m jsonb', $$(1, '(1.0000000001,a)', '{"1":"one","2":null}'), (2, '(,b)', '{}'), (3, NULL, NULL)$$);
SELECT agree('NU06 numeric inside of a composite', 'SELECT id, s, (s).x, (s).x * 2 FROM {}inside');
SELECT is((SELECT (s).x::text FROM inside WHERE id = 1), '1.0000000001', 'NU06 all digits');
SELECT twin('zeros', 'f float8', $$('NaN'), ('NaN'), ('-0'), ('0'), ('Infinity')$$);
SELECT is((SELECT count(*) FROM (SELECT f FROM zeros GROUP BY f) s), 3::bigint, 'NU09 groups of NaN and zeros');
SELECT agree('NU09 NaN and zeros', q, true) FROM unnest(ARRAY['SELECT count(*) FROM {}zeros GROUP BY f + 0 ORDER BY 1', 'SELECT max(f), count(DISTINCT f) FROM {}zeros',
	'SELECT f FROM {}zeros ORDER BY f DESC LIMIT 1', 'SELECT count(*) FROM {}zeros WHERE f = ''NaN''', 'SELECT count(*) FROM {}zeros WHERE f = 0',
	'SELECT count(*) FROM {}zeros a JOIN {}zeros b USING (f)', 'SELECT count(*) FROM {}zeros WHERE f > ''Infinity''', 'SELECT count(*) FROM {}zeros WHERE f IN (''NaN'', 0)']) q;
-- nested
\set path :testdata '/cases/inside.parquet'
CREATE FOREIGN TABLE flat (id int, x numeric OPTIONS (column_name 's.x'), n text OPTIONS (column_name 's.n'))
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT results_eq('SELECT * FROM flat ORDER BY id', $$VALUES (1, 1.0000000001, 'a'), (2, NULL, 'b'), (3, NULL, NULL)$$, 'T02 fields of a group as columns');
SELECT is((SELECT n FROM flat WHERE x > 1), 'a', 'T02 in a condition');
SELECT agree('T19 maps as jsonb', 'SELECT id, m, m->>''1'', m->''2'', m ? ''2'' FROM {}inside');
\set path :testdata '/nested/v1.parquet'
CREATE FOREIGN TABLE nested () SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE h_nested AS SELECT * FROM nested;
SELECT agree('T05 lists of groups as jsonb', 'SELECT id, items->0, items->1->>''k'', items #>> ''{0,t}'', jsonb_array_length(items) FROM {}nested') FROM pg_attribute
	WHERE attrelid = 'nested'::regclass AND attname = 'items';
SELECT agree('T14 paths', 'SELECT id, to_jsonb(n) #>> ''{items,0}'', to_jsonb(n) #> ''{point,0}'', to_jsonb(n) ->> ''id'' FROM {}nested n');
\set path :testdata '/cases/words.parquet'
CREATE TYPE word AS ENUM ('\N', 'NULL', '', '"', 'a%b', 'é', 'x\y', 'a_b', '''');
CREATE FOREIGN TABLE as_enum (id int8, s word) SERVER analytics_fdw OPTIONS (path :'path');
SELECT is((SELECT (id, s)::text FROM as_enum WHERE s = 'é'), '(6,é)', 'T12 text as an enum, integer as bigint');
CREATE FOREIGN TABLE as_other (id numeric, s varchar(2)) SERVER analytics_fdw OPTIONS (path :'path');
SELECT is((SELECT id * 1.5 FROM as_other WHERE s = '\N'), 0.0, 'T12 integer as numeric');
CREATE FOREIGN TABLE as_float (id float8, s text) SERVER analytics_fdw OPTIONS (path :'path');
SELECT is((SELECT sum(id / 2) FROM as_float), 22.5::float8, 'T12 integer as float8');
\set path :testdata '/types.parquet'
CREATE FOREIGN TABLE types () SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE h_types AS SELECT * FROM types;
SELECT agree('Z01 a local time is the same everywhere', format('SELECT c_timestamp::text, c_timestamp::date FROM {}types WHERE set_config(''timezone'', %L, true) IS NOT NULL', z))
	FROM unnest('{UTC,Asia/Tehran,Asia/Kathmandu,America/New_York}'::text[]) z;
CREATE FUNCTION shown(zone text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('timezone', zone, true);
	RETURN (SELECT string_agg(c_timestamp::text, ' ' ORDER BY id) FROM types);
END $$;
SELECT is((SELECT count(DISTINCT shown(z)) FROM unnest('{UTC,Asia/Tehran,Asia/Kathmandu,America/New_York}'::text[]) z), 1::bigint, 'Z01 one text in all zones');
RESET timezone;
\set path :testdata '/kinds/v1.parquet'
CREATE FOREIGN TABLE kinds (id int, c_timestamp_ns timestamp, c_timestamp_ms timestamp, c_time_ms time, c_time_us timetz, c_int96 timestamp)
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT is((SELECT string_agg(c_timestamp_ns::text, ' ' ORDER BY id) FROM kinds WHERE id BETWEEN 1 AND 3),
	'1677-09-21 00:12:43.145224 2262-04-11 23:47:16.854775 1969-12-31 23:59:59.999999', 'Z07 T03 nanoseconds are floored');
SELECT is((SELECT count(*) FROM kinds WHERE id < 4 AND c_timestamp_ns = '1969-12-31 23:59:59.999999'), 1::bigint, 'Z07 in a condition');
SELECT is((SELECT c_timestamp_ms::text FROM kinds WHERE id = 3), '1969-12-31 23:59:59.999', 'T03 milliseconds before 1970');
SELECT col_type_is('kinds', 'c_time_us', 'time with time zone', 'T18 timetz');
SELECT is((SELECT (c_time_us, c_time_ms)::text FROM kinds WHERE id = 3), '(01:02:03.004005+00,01:02:03.004)', 'T18 time of UTC, local time');

CREATE TYPE item AS (x int);
SELECT twin('items', 'id int, l item[]', $$(1, '{(7),NULL,()}'), (2, '{NULL}'), (3, '{}'), (4, NULL)$$);
SELECT agree('C18 NULL among the groups of a list', 'SELECT id, l, cardinality(l), (l[1]).x, l[2] IS NULL FROM {}items');
\set path :testdata '/cases/items.parquet'
CREATE FOREIGN TABLE documents (id int, l jsonb) SERVER analytics_fdw OPTIONS (path :'path');
SELECT is((SELECT string_agg(coalesce(l::text, 'none'), ' ' ORDER BY id) FROM documents), '[{"x": 7}, null, {"x": null}] [null] [] none', 'C18 the same as jsonb');
SELECT twin('dates', 'id int, d date', $$(1, '0001-01-01 BC'), (2, '5874897-12-31'), (3, '4714-11-24 BC'), (4, '1970-01-01'), (5, '0001-01-01'), (6, NULL)$$);
SELECT agree('T15 dates of all times', q) FROM unnest(ARRAY['SELECT id, d FROM {}dates', 'SELECT id, d::text, extract(year FROM d), d - 5, to_char(d, ''YYYY BC'') FROM {}dates WHERE id <> 3', 'SELECT min(d), max(d) FROM {}dates',
	'SELECT id FROM {}dates WHERE d < ''0001-01-01''', 'SELECT id FROM {}dates WHERE d = ''4714-11-24 BC''', 'SELECT id FROM {}dates WHERE d > ''9999-12-31'' AND d < ''infinity''', 'SELECT id, d::timestamp FROM {}dates WHERE id <> 2', 'SELECT d::timestamp FROM {}dates WHERE id = 2']) q;
\set path :testdata '/cases/nodate.parquet'
CREATE FOREIGN TABLE nodate (d date) SERVER analytics_fdw OPTIONS (path :'path');
SELECT throws_ok('SELECT d FROM nodate', '22008', NULL, 'T15 a day that PostgreSQL has not');

-- SEM: expressions over VALUES, in the engine and not
SELECT twin('guards', 'id int, s text', (SELECT string_agg(format('(%s, %L)', n, CASE WHEN n % 3 = 0 THEN 'no number' ELSE n::text END), ', ' ORDER BY n)
	FROM generate_series(0, 59) n));
SELECT agree('SEM', format('SELECT id, %s FROM {}guards', e)) FROM unnest(ARRAY[
	'id / 7, -id / 7, (id - 30) % 7, id / -3', 'id / (id - 5)', 'id % (id - 5)', '(-2147483648 + id * 0) / (-1 + id * 0)',
	'id + 2147483600', 'id * 100000000', '(id * 1000)::int2', 'id::int8 * 9223372036854775', 'round(id / 2.0), round(id / 2.0::float8), round(-id / 2.0, 0)',
	'(id / 2.0::float8)::int, (id / 2.0)::int, (id + 0.5::float4)::int8', '1.10 * id, id / 3.0, id * 1.000', '(id / 3.0::float8)::text, (1e15 * id)::float8::text, (id * 1e-5::float8)::text',
	's || NULL, concat(s, NULL, id), concat_ws('','', s, NULL, id)', 'greatest(id, NULL, 7), least(NULL, id, 7), greatest(NULL::int, NULL)',
	'substr(s, -1, 3), substr(s, 0, 2), substring(s, 2), left(s, -1), right(s, -2), left(s, 0)', 'substr(s, 1, id - 5)', 'lpad(s, 12, ''é''), reverse(s), strpos(s, ''o''), length(s), octet_length(s)',
	'date_trunc(''week'', date ''2024-01-01'' + id), date_trunc(''century'', timestamp ''2000-12-15'' + id * interval ''1 day'')',
	'extract(dow FROM date ''2024-01-01'' + id), extract(isodow FROM date ''2024-01-01'' + id), extract(epoch FROM timestamptz ''2024-01-01 00:00+00'' + id * interval ''1 hour'')',
	'date_part(''epoch'', date ''2024-01-01'' + id), extract(isoyear FROM date ''2023-12-20'' + id)', 'date ''2024-01-31'' - (date ''2024-01-01'' + id), date ''2024-01-31'' + interval ''1 month'' * id',
	'timestamp ''2024-01-31 12:00'' + id * interval ''1 month'', timestamptz ''2024-03-30 12:00+00'' + id * interval ''1 day''', 'age(timestamp ''2024-03-01'' + id * interval ''1 day'', ''2024-02-29'')',
	'''infinity''::timestamp + id * interval ''1 day'', ''-infinity''::date < date ''2024-01-01'' + id', 's::int', 's::bool', 's::date', 'CASE WHEN id % 3 > 0 THEN s::int END', 'coalesce(id, 1 / (id - id))',
	'nullif(s, ''1''), nullif(id, 4)', 's ~ ''^[0-9]+$'', s ~* ''NO'', regexp_replace(s, ''(\d)(\d)'', ''\2\1'')', 's ILIKE ''NO%'', s LIKE ''_'', upper(s), initcap(s)',
	'to_char(id, ''000''), to_char(date ''2024-01-01'' + id, ''IYYY-IW'')', 'row(id, s) < row(30, ''3''), row(id, NULL) = row(5, NULL), row(id, s) IS NULL', '(ARRAY[id, NULL, 7])[2], (ARRAY[id, 8])[3], array_length(ARRAY[id], 2)',
	'id = ANY (ARRAY[1, NULL]), id <> ALL (ARRAY[1, NULL]), id = ANY (''{}'')', 'width_bucket(id, 0, 60, 6), sign(id - 30), abs(30 - id), gcd(id, 12), lcm(id, 4)', 'sqrt(id - 30)', 'ln(id)', 'power(id::float8, 200)', 'exp(id * 20.0::float8)',
	'id & 5, id | 8, id # 3, ~id, id << 2, -id >> 1', 'chr(id + 65), ascii(s), md5(s), repeat(s, 2)', 'translate(s, ''no'', ''NO''), split_part(s, '' '', 2), split_part(s, '' '', -1), trim(both ''n'' from s)']) e;
SELECT agree('SEM', q, true) FROM unnest(ARRAY[
	'SELECT sum(id::int2), sum(id), sum(id::int8), sum(id::numeric), pg_typeof(sum(id::float4)), pg_typeof(avg(id::float4)), pg_typeof(sum(id::int2)) FROM {}guards',
	'SELECT avg(id), avg(id::numeric), avg(id::numeric(9,3)), sum(id::numeric(9,3)), stddev(id), round(variance(id::float8)::numeric, 6), var_pop(id::numeric) FROM {}guards',
	'SELECT sum(id::float4 / 3), avg(id::float8 / 4) FROM {}guards WHERE id < 8', 'SELECT count(DISTINCT s), count(s), count(DISTINCT nullif(s, ''no number'')) FROM {}guards',
	'SELECT nullif(s, ''no number'') AS k, count(*) FROM {}guards GROUP BY 1 ORDER BY 1 NULLS FIRST LIMIT 3', 'SELECT id FROM {}guards ORDER BY nullif(id, 7) DESC LIMIT 2',
	'SELECT id FROM {}guards ORDER BY id LIMIT NULL OFFSET 57', 'SELECT id FROM {}guards LIMIT -1', 'SELECT id FROM {}guards OFFSET -1', 'SELECT id FROM {}guards ORDER BY id LIMIT (SELECT 2) OFFSET (SELECT 3)',
	'SELECT count(*) FROM {}guards WHERE s::int > 5', 'SELECT count(*) FROM {}guards WHERE id % 3 > 0 AND s::int > 5', 'SELECT count(*) FROM {}guards WHERE CASE WHEN id % 3 > 0 THEN s::int > 5 END',
	'SELECT sum(s::int) FILTER (WHERE id % 3 > 0) FROM {}guards', 'SELECT sum(10 / (id - 5)) FILTER (WHERE id <> 5) FROM {}guards', 'SELECT sum(10 / (id - 5)) FROM {}guards', 'SELECT max(10 / (id - 5)) FROM {}guards WHERE id <> 5',
	'SELECT bool_and(id > 3), bool_or(id > 58), every(s <> ''''), min(s COLLATE "C"), max(s COLLATE "C") FROM {}guards', 'SELECT id, sum(id) OVER (ORDER BY id / 10), count(*) OVER (ORDER BY id ROWS 2 PRECEDING) FROM {}guards ORDER BY id LIMIT 30',
	'SELECT id / 2.0 AS k, count(*) FROM {}guards GROUP BY 1 ORDER BY 1 LIMIT 3', 'SELECT count(*) FROM {}guards WHERE now() > date ''2000-01-01'' + id AND current_date > date ''2000-01-01'' + id']) q;
SELECT twin('keys', 'id int, s char(4), t varchar(3)', $$(1, 'a', 'bc'), (2, 'ab', 'c'), (3, NULL, 'x'), (4, '', 'x'), (5, 'ab', 'c')$$);
SELECT agree('SEM C17 character(n) and varchar', 'SELECT ' || e) FROM unnest(ARRAY['count(*) FROM {}keys WHERE s = ''ab''', 'count(*) FROM {}keys WHERE s = ''ab  ''', 'count(*) FROM {}keys WHERE s LIKE ''ab''', 's, count(*) FROM {}keys GROUP BY s',
	't, count(*) FROM {}keys GROUP BY t', 'min(s), max(s), min(t), max(t) FROM {}keys', 'count(*) FROM {}keys a JOIN {}keys b ON a.s = b.t', 'count(*) FROM {}keys a JOIN {}keys b ON a.t = b.t::text', 'id, length(s), octet_length(s), s || ''|'' FROM {}keys']) e;
SELECT * FROM finish();
