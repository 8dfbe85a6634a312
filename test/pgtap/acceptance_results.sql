-- Acceptance cases of group W: results that other readers and wrappers got wrong.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
SELECT twin('floats', 'f float4', $$('-0'), ('-0'), ('NaN'), ('1'), ('1'), ('NaN'), ('0.1'), ('0.1'), ('0'), ('-0')$$);
SELECT agree('W02 float statistics with NaN and two zeros', 'SELECT f FROM {}floats WHERE ' || w) FROM unnest(ARRAY[
	'f = 0', 'f > 0.5', 'f = 0.1::float8', 'f = 0.1::float4', 'f = ''NaN''', 'f < 0', 'f >= 0', 'f <= 0',
	'f <> 0', 'f > 1', 'f IN (0, ''NaN'')', 'NOT f > 0', 'f < 0.1::float8']) w;
SELECT twin('nan', 'f float8', $$(1), ('NaN'), (2)$$);
SELECT is((SELECT count(*) FROM nan WHERE f > 5), 1::bigint, 'W03 a NaN outside of the bounds is found');
SELECT agree('W03 bounds leave NaN out', 'SELECT f FROM {}nan WHERE ' || w) FROM unnest(ARRAY[
	'f > 5', 'f > 1e308', 'f = ''NaN''', 'f >= ''Infinity''', 'f <> 1', 'NOT f < 3', 'f < 1', 'f < ''NaN''']) w;
SELECT agree('W03 extremes', 'SELECT min(f), max(f), count(f) FROM {}nan');
SELECT twin('signed', 's text COLLATE "C"', $$('apple'), ('zebra'), ('été'), ('日本')$$);
SELECT agree('W06 deprecated bounds of text', 'SELECT s FROM {}signed WHERE ' || w) FROM unnest(ARRAY[
	's = ''été''', 's = ''apple''', 's > ''zz''', 's >= ''日''', 's < ''b''', 's LIKE ''é%''', 's IN (''zebra'', ''日本'')']) w;
SELECT agree('W06 extremes', 'SELECT min(s), max(s) FROM {}signed');
SELECT twin('second', 's text', $$('a'), ('b'), ('c'), ('x')$$);
SELECT agree('W07 only the second row group has it', 'SELECT count(*) FROM {}second WHERE s = ''x''') FROM generate_series(1, 2);
SELECT agree('W07 neither has it', 'SELECT count(*) FROM {}second WHERE s = ''bb''');
SELECT twin('nulls', 'a int', '(NULL), (NULL), (1), (NULL), (2), (3)');
SELECT agree('W09 lists with NULL', 'SELECT count(*), sum(a) FROM {}nulls WHERE ' || w) FROM unnest(ARRAY[
	'a IN (1, NULL)', 'a NOT IN (1, NULL)', 'a = ANY (''{}''::int[])', 'a <> ALL (''{}''::int[])', 'a <> ALL (''{1,NULL}''::int[])',
	'a = ANY (NULL::int[])', 'a NOT IN (1, 2)', '(a IN (1, NULL)) IS NULL', 'a > ANY (''{1,NULL}''::int[])', 'NOT (a <> ALL (''{1,NULL}''::int[]))']) w;
SELECT is((SELECT count(*) FROM nulls WHERE a IN (1, NULL)), 1::bigint, 'W09 IN');
SELECT is((SELECT count(*) FROM nulls WHERE a NOT IN (1, NULL)), 0::bigint, 'W09 NOT IN');
SELECT agree('W10 NOT IN with a NULL in the subquery', 'SELECT a FROM {}nulls WHERE a NOT IN (SELECT a FROM {}nulls WHERE a IS NULL OR a = 1)');
SELECT agree('W10 NOT IN of an empty subquery', 'SELECT a FROM {}nulls WHERE a NOT IN (SELECT a FROM {}nulls WHERE a > 5)');
SELECT agree('W10 NOT IN without NULL', 'SELECT a FROM {}nulls WHERE a NOT IN (SELECT a FROM {}nulls WHERE a = 1)');
SELECT agree('W11 no count of nulls', 'SELECT count(*), count(a) FROM {}nulls WHERE ' || w) FROM unnest(ARRAY[
	'a IS NULL', 'a IS NOT NULL', 'a IS NULL OR a > 2', 'a IS DISTINCT FROM 1', 'NOT (a = 1)', 'a IS NULL AND a > 0', 'coalesce(a, 9) = 9']) w;
SELECT agree('W17 a function that makes NULL', 'SELECT a FROM {}nulls WHERE nullif(a, 1) > 0');
SELECT agree('W17 neither it nor its reverse', 'SELECT a FROM {}nulls WHERE NOT nullif(a, 1) > 0');
SELECT twin('lists', 'id int, a int[]', $$(1, NULL), (2, '{}'), (3, '{NULL}'), (4, '{1,NULL}'), (5, '{1,2,3}')$$);
SELECT is((SELECT (count(*), count(a), sum(cardinality(a)))::text FROM lists WHERE id < 5), '(4,3,3)', 'W12 NULL, empty list, list of NULL');
SELECT agree('W12 arrays', 'SELECT id FROM {}lists WHERE ' || w) FROM unnest(ARRAY['a IS NULL', 'a = ''{}''', '1 = ANY (a)', '2 <> ALL (a)',
	'a = ''{NULL}''', 'cardinality(a) = 1', 'a[2] IS NULL', 'a @> ''{1}''']) w;
SELECT agree('W31 array_position', 'SELECT id, array_position(a, 3), array_position(a, NULL), array_position(a, 9) FROM {}lists');
SELECT agree('W32 array_length', 'SELECT id, array_length(a, 1), cardinality(a), array_upper(a, 1), array_ndims(a) FROM {}lists');
SELECT twin('keys', 'id int, s text, t text', $$(1, 'a', 'bc'), (2, 'ab', 'c'), (3, NULL, 'x'), (4, '', 'x'), (5, 'ab', 'c')$$);
SELECT agree('W13 keys that look alike in a row', 'SELECT s, t, count(*) FROM {}keys GROUP BY s, t');
SELECT is((SELECT count(*) FROM (SELECT count(*) FROM keys GROUP BY s, t) x), 4::bigint, 'W13 groups whose keys are not selected');
SELECT agree('W13 keys that are not selected', 'SELECT count(*), sum(id) FROM {}keys GROUP BY t, s');
SELECT agree('W13 keys in another order', 'SELECT t, max(id), s FROM {}keys GROUP BY s, t');
\set path :testdata '/events.parquet'
CREATE FOREIGN TABLE events (id int8, kind text, quantity int2) SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE h_events AS SELECT * FROM events;
SELECT agree('W13 expressions as keys', 'SELECT count(*) FROM (SELECT count(*) FROM {}events GROUP BY id % 100, id % 5) s');
SELECT agree('W14 every row a group', 'SELECT count(*), sum(c), min(m) FROM (SELECT id, count(*) AS c, min(kind) AS m FROM {}events GROUP BY id) s');
SELECT agree('W14 many groups of two keys', 'SELECT count(*), sum(c) FROM (SELECT id * 7919 % 10007 AS a, kind, count(*) AS c FROM {}events GROUP BY 1, 2) s');
SELECT twin('sums', 'f float8', (SELECT string_agg(format('(%s)', CASE n WHEN 0 THEN '1e16' WHEN 8 THEN '-1e16' ELSE '1' END), ', ' ORDER BY n)
	FROM generate_series(0, 15) n));
SET analytics_fdw.strict_float_sum = on;
SELECT is((SELECT sum(f) FROM sums), 7::float8, 'W15 added in the order of the file');
CREATE FUNCTION sum_with(threads text) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('analytics_fdw.max_threads', threads, true);
	RETURN (SELECT sum(f) FROM sums);
END $$;
SELECT is((SELECT count(DISTINCT sum_with(t)) FROM unnest('{1,2,3,4,8,16,32,1,8}'::text[]) t), 1::bigint, 'W15 as many threads as you like');
RESET analytics_fdw.strict_float_sum;
SELECT is((SELECT count(DISTINCT sum_with(t)) FROM unnest('{1,2,3,4,8,16,32,1,8}'::text[]) t), 1::bigint, 'W15 nor in what order');
SELECT is((SELECT sum(f) FROM sums), 14::float8, 'W15 added exactly');
CREATE FUNCTION spread_with(threads text, shared text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('analytics_fdw.max_threads', threads, true), set_config('analytics_fdw.enable_shared_row_groups', shared, true);
	RETURN (SELECT string_agg(s::text, ' ' ORDER BY k) FROM (SELECT id % 3 AS k, (sum(v), avg(v), sum(DISTINCT v)) AS s
		FROM (SELECT id, exp((id % 97 - 48)::float8) * (id * 7919 % 10007 - 5000) AS v FROM events) e GROUP BY 1) g)
		|| (SELECT (sum(v), avg(v))::text FROM (SELECT exp((id % 97 - 48)::float8) * (id * 7919 % 10007 - 5000) AS v FROM events) e);
END $$;
SELECT is((SELECT count(DISTINCT spread_with(t, s)) FROM unnest('{1,2,3,4,8,16,32,1,8,32,4}'::text[]) t, unnest('{on,off}'::text[]) s), 1::bigint,
	'W15 groups, and values of all sizes, over many row groups');
SELECT twin('four', 'x int', '(1), (2), (3), (4)');
SELECT is((SELECT avg(x)::text || ' ' || stddev(x) FROM four), '2.5000000000000000 1.2909944487358056', 'W16 avg and stddev');
CREATE TABLE names AS SELECT row_number() OVER () AS n, a FROM unnest(ARRAY['count(*)', 'count(x)', 'sum(x)', 'avg(x)', 'min(x)', 'max(x)',
	'stddev(x)', 'stddev_pop(x)', 'variance(x)', 'var_pop(x)', 'bit_and(x)', 'bit_or(x)', 'count(DISTINCT x)', 'sum(DISTINCT x)',
	'avg(x) FILTER (WHERE x > 1)', 'stddev(x) FILTER (WHERE x > 2)', 'sum(x::int8)', 'avg(x::int8)', 'sum(x::numeric)', 'avg(x::numeric)',
	'stddev(x::numeric)', 'sum(x::float8)', 'avg(x::float8)', 'stddev(x::float8)', 'variance(x::float8)', 'regr_slope(x, x * x)', 'corr(x, x)',
	'bool_and(x > 1)', 'bool_or(x > 3)', 'sum(x::int2)']) a;
SELECT is((SELECT string_agg(a.a || ', ' || b.a, '; ') FROM names a, names b
	WHERE answer(format('SELECT %s, %s FROM four', a.a, b.a)) IS DISTINCT FROM answer(format('SELECT %s, %s FROM h_four', a.a, b.a))),
	NULL, 'W16 every aggregate beside every other: ' || count(*)) FROM names a, names b;
SELECT agree('W20 rescans', 'SELECT o.x, (SELECT count(*) FROM {}four t WHERE t.x < o.x), (SELECT sum(a) FROM {}nulls n WHERE n.a = o.x) FROM {}four o');
SELECT agree('W20 LATERAL with LIMIT', 'SELECT g, s.x FROM generate_series(1, 5) g, LATERAL (SELECT x FROM {}four WHERE x > g ORDER BY x LIMIT 2) s');
SELECT agree('W21 operators of a type', format('SELECT count(*), sum(id) FROM {}events WHERE %s', w)) FROM unnest(ARRAY['id <> 5', 'id < 5',
	'id <= 5', 'id = 5', 'id >= 5', 'id > 5', 'id IS DISTINCT FROM 5', 'id IS NOT DISTINCT FROM 5', 'kind <> ''buy''', 'quantity <> 5',
	'quantity IS DISTINCT FROM 5::int8', '5 <> quantity', 'NOT quantity = 5']) w;
SELECT is((SELECT count(*) FROM events WHERE id <> 5), 19999::bigint, 'W21 all but one');
SELECT twin('flags', 'a int, f bool', '(10, true), (100, NULL), (1, false), (200, NULL)');
SELECT is((SELECT (sum(a) FILTER (WHERE NOT f), count(*) FILTER (WHERE NOT f))::text FROM flags), '(1,1)', 'W23 FILTER takes true alone');
SELECT agree('W23 FILTER', 'SELECT sum(a) FILTER (WHERE f), count(*) FILTER (WHERE f IS NULL), count(*) FILTER (WHERE NOT f OR NULL) FROM {}flags');
\set path :testdata '/cases/four.parquet'
CREATE FOREIGN TABLE p1 (y int OPTIONS (column_name 'x'), x int NOT NULL) SERVER analytics_fdw OPTIONS (path :'path', sorted 'x');
CREATE FOREIGN TABLE p2 (x int, y int OPTIONS (column_name 'x')) SERVER analytics_fdw OPTIONS (path :'path', sorted 'x');
CREATE VIEW twice AS SELECT x, y FROM p1 UNION ALL SELECT x, y FROM p2;
CREATE VIEW h_twice AS SELECT x, x AS y FROM h_four UNION ALL SELECT x, x FROM h_four;
SELECT agree('W24 DISTINCT ON over two sorted children', 'SELECT DISTINCT ON (x) x, y FROM {}twice ORDER BY x, y', true);
SELECT agree('W24 DISTINCT over two sorted children', 'SELECT DISTINCT x FROM {}twice ORDER BY x', true);
SELECT agree('W25 plans with workers', q) FROM unnest(ARRAY['SELECT count(*) FROM {}events', 'SELECT kind, sum(id) FROM {}events GROUP BY kind',
	'SELECT count(*) FROM {}events a JOIN {}events b USING (id) WHERE a.quantity > 3']) q;
SELECT agree('W26 LATERAL', 'SELECT g.x, s.x FROM {}four g, LATERAL (SELECT * FROM {}four t WHERE t.x = g.x LIMIT 1) s');
SELECT is((SELECT tableoid::regclass::text FROM four LIMIT 1), 'four', 'W26 tableoid');
SELECT throws_ok('SELECT xmin FROM four', '0A000', NULL, 'W26 xmin is no column of a foreign table');
SELECT agree('W27 NULLs in an order', format('SELECT a FROM {}nulls ORDER BY a %s LIMIT 2', w), true) FROM unnest(ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST']) w;
SELECT twin('words', 'id int, s text', $$(0, '\N'), (1, 'NULL'), (2, ''), (3, '"'), (4, NULL), (5, 'a%b'), (6, 'é'), (7, 'x\y'), (8, 'a_b'), (9, '''')$$);
SELECT agree('W28 LIKE', 'SELECT id FROM {}words WHERE ' || w) FROM unnest(ARRAY['s LIKE ''a\%b''', 's LIKE ''_''', 's LIKE ''a\_b''', 's LIKE ''x\\y''',
	's LIKE ''x\'' ', 's LIKE ''x\y'' ESCAPE ''''', 's LIKE ''a!%b'' ESCAPE ''!''', 's LIKE ''\\N''', 's NOT LIKE ''%\%%''', 's LIKE s', 's LIKE ''''',
	's ILIKE ''A\%B''']) w;
SELECT is(answer('SELECT count(*) FROM words WHERE s LIKE ''x\'''), '22025', 'W28 a pattern must not end in an escape');
SELECT agree('W33 to_timestamp keeps microseconds', 'SELECT to_timestamp(x + 0.000001), to_timestamp(x / 3.0), to_timestamp(-x - 0.000001) FROM {}four');
SELECT twin('uuids', 'u uuid', (SELECT string_agg(format('(%L)', u), ', ') FROM unnest('{00000000-0000-0000-0000-000000000000,
00000000-0000-0000-0000-000000000001,00000000-0000-0000-8000-000000000000,00000000-0000-0000-7fff-ffffffffffff,7fffffff-ffff-ffff-ffff-ffffffffffff,
80000000-0000-0000-0000-000000000000,80000000-0000-0000-8000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[]) u));
SELECT agree('W35 uuids compare as unsigned bytes', format('SELECT u FROM {}uuids WHERE u %s %L', op, u)) FROM
	unnest(ARRAY['=', '<', '>', '<=', '>=', '<>']) op, unnest(ARRAY['7fffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000000']) u;
SELECT agree('W35 order of uuids', 'SELECT u FROM {}uuids ORDER BY u DESC', true);
SELECT agree('W36 IN beside another condition', format('SELECT id FROM {}events WHERE id IN (5, 77, 12345) AND %s', w)) FROM unnest(ARRAY[
	'quantity > 3', 'kind IN (''view'', ''buy'')', 'quantity NOT IN (1, 2)', 'kind || ''x'' IN (''viewx'')', 'to_char(id, ''FM99999'') IN (''77'', ''5'')']) w;
SELECT agree('W38 texts that look like something else', 'SELECT id, s, s IS NULL, length(s) FROM {}words');
SELECT agree('W38 as groups', 'SELECT s, count(*) FROM {}words GROUP BY s');
SELECT * FROM finish();
