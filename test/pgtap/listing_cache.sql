-- L06: whatever planning remembers of files, a query reads those that are there.  Each change is made in a
-- directory of its own that was at rest, so that analytics_fdw.enable_listing_cache is at work, and once
-- more without it; it is seen at once by statements, prepared statements with custom and generic plans,
-- functions and cursors, in the statement that made it and in the next one.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set scratch `echo "$AX_SCRATCH"`
SELECT set_config('test.data', :'testdata', false), set_config('test.dir', :'scratch', false) \g /dev/null
CREATE FUNCTION sh(command text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', 'cat > /dev/null; cd ' || current_setting('test.dir') || ' && data='
				   || current_setting('test.data') || ' && ' || command);
END $$;

-- What the files contain, for the heap.
\set path :testdata '/parts/part-*.parquet'
CREATE FOREIGN TABLE all_parts (id int8, name text OPTIONS (virtual '_file')) SERVER analytics_fdw OPTIONS (path :'path');
\set path :testdata '/customers.parquet'
CREATE FOREIGN TABLE customers (id int8) SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE part AS SELECT replace(name, '.parquet', '') AS part, id FROM all_parts
	UNION ALL SELECT 'customers', id FROM customers;

-- To begin with there are y=1/a, y=2/b and y=2/c; in the command %s is the directory, in the model a set
-- of (path, part).
CREATE TABLE changes (n int, what text, command text, model text);
INSERT INTO changes VALUES
	(1, 'nothing changes', 'true', $$('y=1/a', 'part-0'), ('y=2/b', 'part-1'), ('y=2/c', 'part-2')$$),
	(2, 'a file is added', 'cp $data/customers.parquet %s/y=2/d.parquet', $$('y=1/a', 'part-0'), ('y=2/b', 'part-1'), ('y=2/c', 'part-2'), ('y=2/d', 'customers')$$),
	(3, 'a directory is added', 'mkdir %1$s/y=3 && cp $data/customers.parquet %1$s/y=3/d.parquet', $$('y=1/a', 'part-0'), ('y=2/b', 'part-1'), ('y=2/c', 'part-2'), ('y=3/d', 'customers')$$),
	(4, 'a file is rewritten in place with fewer rows', 'cat $data/customers.parquet > %s/y=1/a.parquet', $$('y=1/a', 'customers'), ('y=2/b', 'part-1'), ('y=2/c', 'part-2')$$),
	(5, 'a file is rewritten in place with others', 'cat $data/parts/part-2.parquet > %s/y=1/a.parquet', $$('y=1/a', 'part-2'), ('y=2/b', 'part-1'), ('y=2/c', 'part-2')$$),
	(6, 'a file is replaced', 'cp $data/customers.parquet %1$s/y=1/.new && mv %1$s/y=1/.new %1$s/y=1/a.parquet', $$('y=1/a', 'customers'), ('y=2/b', 'part-1'), ('y=2/c', 'part-2')$$),
	(7, 'a file is removed', 'rm %s/y=2/c.parquet', $$('y=1/a', 'part-0'), ('y=2/b', 'part-1')$$),
	(8, 'the only file of a directory is removed', 'rm %s/y=1/a.parquet', $$('y=2/b', 'part-1'), ('y=2/c', 'part-2')$$),
	(9, 'a directory is renamed', 'mv %1$s/y=2 %1$s/y=5', $$('y=1/a', 'part-0'), ('y=5/b', 'part-1'), ('y=5/c', 'part-2')$$),
	(10, 'a directory takes the place of another', 'mv %1$s/y=1 %1$s/old && mv %1$s/y=2 %1$s/y=1 && mv %1$s/y=1/b.parquet %1$s/y=1/a.parquet', $$('y=1/a', 'part-1'), ('y=1/c', 'part-2')$$),
	(11, 'all is swapped behind a link', 'ln -sfn other %s', $$('y=1/a', 'customers')$$),
	(12, 'a file is appended to', 'head -c 1000 $data/customers.parquet >> %s/y=1/a.parquet', NULL),
	(13, 'a file is truncated', 'truncate -s 1000 %s/y=1/a.parquet', NULL);
CREATE TABLE tries AS SELECT *, 'd' || n || cache AS dir FROM changes, unnest('{on,off}'::text[]) cache;

-- Tables t (a pattern), u (a directory), o (one file, which may have a fixed name); and queries on them.
CREATE FUNCTION make(dir text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sh(format('mkdir -p real_%1$s/y=1 real_%1$s/y=2 other/y=1 && ln -s real_%1$s %1$s && cp $data/parts/part-0.parquet %1$s/y=1/a.parquet && '
					  'cp $data/parts/part-1.parquet %1$s/y=2/b.parquet && cp $data/parts/part-2.parquet %1$s/y=2/c.parquet && cp $data/customers.parquet other/y=1/a.parquet', dir));
	EXECUTE format('CREATE SCHEMA %1$s; '
				   'CREATE FOREIGN TABLE %1$s.t (id int8, y int) SERVER analytics_fdw OPTIONS (path %2$L); '
				   'CREATE FOREIGN TABLE %1$s.u (id int8, y int, size int8 OPTIONS (virtual ''_size''), path text OPTIONS (virtual ''_path'')) SERVER analytics_fdw OPTIONS (path %3$L, format ''parquet''); '
				   'CREATE FOREIGN TABLE %1$s.o (id int8) SERVER analytics_fdw OPTIONS (path %4$L)',
				   dir, current_setting('test.dir') || '/' || dir || '/y=*/*.parquet', current_setting('test.dir') || '/' || dir,
				   current_setting('test.dir') || '/' || dir || '/y=1/a.parquet');
	EXECUTE format('PREPARE %1$s_t(int8) AS SELECT count(*), sum(id), max(y) FROM %1$s.t WHERE id > $1', dir);
	EXECUTE format('PREPARE %1$s_o AS SELECT count(*), min(id), max(id) FROM %1$s.o', dir);
	EXECUTE format('CREATE FUNCTION %1$s.counted() RETURNS text LANGUAGE plpgsql AS '
				   '''BEGIN RETURN concat_ws(chr(32), (SELECT count(*) FROM %1$s.t), (SELECT sum(id) FROM %1$s.o)); END''', dir);
END $$;
CREATE FUNCTION said(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	EXECUTE q INTO r;
	RETURN r::text;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION questions() RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY['SELECT count(*), sum(id) FROM %1$s.t', 'SELECT count(*), min(id), max(id) FROM %1$s.u WHERE y = 1', 'SELECT count(*) FROM %1$s.t WHERE id <= 1500',
				 'SELECT count(*), max(id) FROM %1$s.o', 'SELECT count(*) FROM %1$s.t JOIN %1$s.o USING (id)', 'SELECT id, y FROM %1$s.u ORDER BY id DESC, y LIMIT 1']
$$;
CREATE FUNCTION answers(dir text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text[] := '{}'; q text; mode text;
BEGIN
	FOREACH q IN ARRAY questions() LOOP
		PERFORM said('EXPLAIN ' || format(q, dir)); -- planned, but never run
		a := a || said(format(q, dir));
	END LOOP;
	FOREACH mode IN ARRAY ARRAY['force_custom_plan', 'force_generic_plan'] LOOP
		PERFORM set_config('plan_cache_mode', mode, true);
		a := a || said(format('EXECUTE %s_t(500)', dir)) || said(format('EXECUTE %s_o', dir));
	END LOOP;
	a := a || said(format('SELECT %s.counted()', dir));
	IF (SELECT model FROM tries WHERE tries.dir = answers.dir) IS NOT NULL THEN -- sizes are never remembered for true
		a := a || said(format('SELECT count(*) FROM (SELECT DISTINCT path, size FROM %s.u) s WHERE size <> (pg_stat_file(path)).size', dir));
	END IF;
	RETURN array_to_string(a, E'\n');
END $$;
-- From the model; no file y=1/a is an error.
CREATE FUNCTION truth(model text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text[] := '{}'; q text; one bool;
BEGIN
	DROP SCHEMA IF EXISTS heap CASCADE;
	CREATE SCHEMA heap;
	EXECUTE 'CREATE TABLE heap.t AS SELECT id, substr(path, 3, 1)::int AS y, path FROM (VALUES ' || model || ') v (path, part) JOIN part USING (part)';
	CREATE VIEW heap.u AS SELECT id, y FROM heap.t;
	CREATE VIEW heap.o AS SELECT id FROM heap.t WHERE path = 'y=1/a';
	one := EXISTS (SELECT FROM heap.o);
	FOREACH q IN ARRAY questions() LOOP
		a := a || CASE WHEN one OR q NOT LIKE '%.o%' THEN said(format(q, 'heap')) ELSE '58P01' END;
	END LOOP;
	FOR i IN 1 .. 2 LOOP
		a := a || said('SELECT count(*), sum(id), max(y) FROM heap.t WHERE id > 500')
			|| CASE WHEN one THEN said('SELECT count(*), min(id), max(id) FROM heap.o') ELSE '58P01' END;
	END LOOP;
	a := a || CASE WHEN one THEN format('("%s %s")', (SELECT count(*) FROM heap.t), (SELECT sum(id) FROM heap.o)) ELSE '58P01' END || '(0)'::text;
	RETURN array_to_string(a, E'\n');
END $$;
CREATE FUNCTION change(t tries) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before text; now text;
BEGIN
	PERFORM set_config('analytics_fdw.enable_listing_cache', t.cache, true);
	before := answers(t.dir);
	PERFORM sh(format(t.command, t.dir));
	now := answers(t.dir);
	RETURN CASE WHEN t.n > 1 AND now = before THEN 'no change was seen' ELSE now END;
END $$;

SELECT make(dir) FROM tries \g /dev/null
SELECT answers(dir) FROM tries \g /dev/null
SELECT pg_sleep(2.2) \g /dev/null
SELECT answers(dir) FROM tries \g /dev/null
SELECT answers(dir) FROM tries \g /dev/null

SELECT plan(54);
SELECT is(change(tries), truth(model), what || ': seen in the same statement, cache ' || cache) FROM tries WHERE model IS NOT NULL ORDER BY n, cache;
SET analytics_fdw.enable_listing_cache = off;
SELECT is(answers(dir), truth(model), what || ': seen by the next one, cache off') FROM tries WHERE model IS NOT NULL AND cache = 'off' ORDER BY n;
SET analytics_fdw.enable_listing_cache = on;
SELECT is(answers(dir), truth(model), what || ': seen by the next one, cache on') FROM tries WHERE model IS NOT NULL AND cache = 'on' ORDER BY n;
SELECT matches(change(tries), 'XX001', what || ': an error, cache ' || cache) FROM tries WHERE model IS NULL ORDER BY n, cache;
SELECT unalike(answers(dir), '%(1000,1,1000)%', what || ': no old answer, cache on') FROM tries WHERE model IS NULL AND cache = 'on' ORDER BY n;

-- A cursor goes on with the files that it began with; statements beside it see others.
SELECT make('x') \g /dev/null
SELECT pg_sleep(2.2) \g /dev/null
SELECT count(*) FROM x.t \g /dev/null
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM x.t;
SELECT cmp_ok(count(*), '=', 3000::bigint, 'a statement before the cursor begins') FROM x.t;
MOVE 1 FROM c;
SELECT sh('cp $data/customers.parquet x/y=2/d.parquet && rm x/y=1/a.parquet') \g /dev/null
SELECT results_eq('SELECT count(*), min(id) FROM x.t WHERE y = 2', 'VALUES (2500::bigint, 1::bigint)', 'a statement in the transaction sees a file more');
CREATE FUNCTION rest() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE c refcursor := 'c'; n bigint; BEGIN
	MOVE FORWARD ALL FROM c;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
SELECT is(rest(), 2999::bigint, 'the cursor has the rows of its time');
DECLARE d CURSOR FOR SELECT id FROM x.t;
MOVE 1 FROM d;
SELECT results_eq('SELECT count(*) FROM x.t', 'VALUES (2500::bigint)', 'and the next one');
COMMIT;
