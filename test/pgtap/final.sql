-- Option `final`: what each engine makes of rows of one key is what SQL over the stored rows says,
-- whatever conditions, columns and limits stand above it.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
CREATE FUNCTION engine(name text, kind text, final bool, extra text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE FOREIGN TABLE %I (k int4 NOT NULL, name text COLLATE "C" NOT NULL, ver int8 NOT NULL,
		gone int2 NOT NULL, sign int2 NOT NULL, amount int8 NOT NULL, small int2, price float8 NOT NULL, day date,
		note text COLLATE "C" %s) SERVER analytics_fdw OPTIONS (path %L, format ''mergetree'', definition %L, final %L)',
		name, extra, current_setting('acceptance.testdata') || '/final',
		current_setting('acceptance.testdata') || '/final_' || kind || '.sql', final);
END $$;
SELECT engine('stored', 'plain', false, ', part text OPTIONS (virtual ''_file''), n int8 OPTIONS (virtual ''_row_number'')');
CREATE TABLE raw AS SELECT *, row_number() OVER (ORDER BY split_part(part, '_', 2)::int, n) AS place FROM stored;
SELECT is((SELECT count(*) FROM raw), 18200::bigint, 'without final all stored rows are rows');

-- Rows of a key, each taking away one before it that has the other sign.
CREATE FUNCTION cancel() RETURNS SETOF raw LANGUAGE plpgsql AS $$
DECLARE r raw; stack raw[] := '{}';
BEGIN
	FOR r IN SELECT * FROM raw ORDER BY k, name, ver, place LOOP
		IF cardinality(stack) > 0 AND (stack[1].k, stack[1].name, stack[1].ver) <> (r.k, r.name, r.ver) THEN
			RETURN QUERY SELECT * FROM unnest(stack);
			stack := '{}';
		END IF;
		IF cardinality(stack) > 0 AND stack[cardinality(stack)].sign <> r.sign THEN
			stack := stack[:cardinality(stack) - 1];
		ELSE
			stack := stack || r;
		END IF;
	END LOOP;
	RETURN QUERY SELECT * FROM unnest(stack);
END $$;
CREATE VIEW last AS SELECT DISTINCT ON (k, name) * FROM raw ORDER BY k, name, place DESC;
CREATE VIEW first AS SELECT DISTINCT ON (k, name) * FROM raw ORDER BY k, name, place;
CREATE VIEW greatest_version AS SELECT DISTINCT ON (k, name) * FROM raw ORDER BY k, name, ver DESC, place DESC;
CREATE VIEW answers AS
	SELECT 'replacing' AS kind, k, name, ver, gone, sign, amount, small, price, day, note FROM last
	UNION ALL SELECT 'versions', k, name, ver, gone, sign, amount, small, price, day, note FROM greatest_version
	UNION ALL SELECT 'marks', k, name, ver, gone, sign, amount, small, price, day, note FROM greatest_version WHERE gone = 0
	UNION ALL SELECT 'collapsing', k, name, p.ver, p.gone, p.sign, p.amount, p.small, p.price, p.day, p.note
		FROM (SELECT DISTINCT ON (k, name) * FROM raw WHERE sign = 1 ORDER BY k, name, place DESC) p
		JOIN (SELECT k, name, sum(sign) AS signs FROM raw GROUP BY k, name) s USING (k, name) JOIN last l USING (k, name)
		WHERE signs > 0 OR (signs = 0 AND l.sign = 1)
	UNION ALL SELECT 'cancelling', k, name, ver, gone, sign, amount, small, price, day, note FROM cancel()
	UNION ALL SELECT 'summing', k, name, f.ver, f.gone, f.sign, s.amount, s.small, f.price, f.day, f.note FROM first f
		JOIN (SELECT k, name, sum(amount) AS amount, (((sum(small) + 32768) & 65535) - 32768)::int2 AS small
			  FROM raw GROUP BY k, name) s USING (k, name) WHERE s.amount <> 0 OR s.small <> 0
	UNION ALL SELECT 'aggregating', k, name, s.ver, f.gone, f.sign, s.amount, s.small, f.price, f.day, s.note FROM first f
		JOIN (SELECT k, name, max(ver) AS ver, sum(amount)::int8 AS amount, min(small) AS small,
			  (array_agg(note ORDER BY place DESC) FILTER (WHERE note IS NOT NULL))[1] AS note
			  FROM raw GROUP BY k, name) s USING (k, name)
	UNION ALL SELECT 'coalescing', k, name, l.ver, l.gone, l.sign, l.amount, s.small, l.price, s.day, s.note FROM last l
		JOIN (SELECT k, name, (array_agg(small ORDER BY place DESC) FILTER (WHERE small IS NOT NULL))[1] AS small,
			  (array_agg(day ORDER BY place DESC) FILTER (WHERE day IS NOT NULL))[1] AS day,
			  (array_agg(note ORDER BY place DESC) FILTER (WHERE note IS NOT NULL))[1] AS note
			  FROM raw GROUP BY k, name) s USING (k, name);
CREATE TABLE kinds AS SELECT DISTINCT kind FROM answers;
SELECT is((SELECT count(*) FROM kinds), 8::bigint, 'eight kinds of engines');
DO $$
DECLARE kind text;
BEGIN
	FOR kind IN SELECT k.kind FROM kinds k LOOP
		PERFORM engine(kind, kind, true);
		EXECUTE format('CREATE TABLE %I AS SELECT k, name, ver, gone, sign, amount, small, price, day, note
					   FROM answers WHERE kind = %L', 'h_' || kind, kind);
	END LOOP;
END $$;
SELECT agree(kind || ': ' || q, 'SELECT ' || replace(q, '{}', '{}' || kind), q LIKE '%ORDER BY%') FROM kinds, unnest(ARRAY[
	'* FROM {}', 'count(*) FROM {}', 'note FROM {}', 'k, name FROM {} WHERE ver = 3', 'count(*), sum(amount), min(small), max(day) FROM {}',
	'* FROM {} WHERE k = 17', '* FROM {} WHERE k BETWEEN 30 AND 35 AND name = ''n1''', 'count(*) FROM {} WHERE gone = 1',
	'* FROM {} WHERE amount < 0 AND k < 200', 'k, name, ver FROM {} ORDER BY k, name, ver, note NULLS FIRST, amount LIMIT 40 OFFSET 900',
	'name, count(*), avg(price) FROM {} GROUP BY name', 'count(*) FROM {} WHERE note IS NULL', 'count(*) FROM {} WHERE sign > 0',
	'DISTINCT ver, gone FROM {}', 'max(k) FROM {} WHERE k < 9000 OR ver = 2', '* FROM {} WHERE k = 5 OR note = ''note 77''',
	'count(*) FROM {} a JOIN {} b USING (k, name)']) q;
-- A condition on a column of the key leaves granules out; others do not.
CREATE FUNCTION granules(q text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE l text;
BEGIN
	FOR l IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || q LOOP
		IF l ~ 'Granules: ' THEN
			RETURN (regexp_match(l, 'Granules: (\d+)'))[1];
		END IF;
	END LOOP;
END $$;
SELECT is(granules('SELECT count(*) FROM versions WHERE ver = 1'), granules('SELECT count(*) FROM versions'),
		  'a condition on a version reads all rows');
SELECT ok(granules('SELECT count(*) FROM versions WHERE k BETWEEN 500 AND 510') < 8, 'a condition on the key does not');
SELECT ok(granules('SELECT count(*) FROM versions WHERE k BETWEEN 500 AND 510') > 0, 'but some');
SELECT * FROM finish();
