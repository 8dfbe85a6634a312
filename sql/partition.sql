-- Hive partition columns, virtual columns, files that are never opened.
\set suite partition
\i sql/include/tables.inc
\set path :testdata '/tree'
CREATE FUNCTION counts(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || q LOOP
		IF line ~ 'Files:|Row Groups:|Pushed Filter' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
-- one directory holds a damaged file: it is an error to read it, and none to leave it out
CREATE FOREIGN TABLE tree (id int NOT NULL, v float8, region text COLLATE "C", day date)
	SERVER analytics_fdw OPTIONS (path :'path');
\set VERBOSITY sqlstate
SELECT count(v) FROM tree;
\set VERBOSITY default
SELECT count(*), min(id), max(id) FROM tree WHERE region = 'north';
SELECT region, count(*), min(day), max(day) FROM tree WHERE day < '2024-02-01'
	GROUP BY region ORDER BY region;
SELECT * FROM counts($$SELECT * FROM tree WHERE region = 'north'$$);
SELECT * FROM counts($$SELECT * FROM tree WHERE region = 'ü' AND day = '2024-01-03'$$);
SELECT * FROM counts($$SELECT * FROM tree WHERE region IS NULL AND id < 4020$$);
SELECT * FROM counts($$SELECT * FROM tree WHERE region IN ('', 'a b/c') AND id > 3310$$);
SELECT * FROM counts($$SELECT * FROM tree WHERE region = 'nowhere'$$);
-- the setting: files are opened then, and the damaged one is found
SET analytics_fdw.enable_partition_pruning = off;
\set VERBOSITY sqlstate
SELECT count(*) FROM tree WHERE region = 'north';
\set VERBOSITY default
RESET analytics_fdw.enable_partition_pruning;
-- parameters, also of generic plans, also when they change between rescans
SET plan_cache_mode = force_generic_plan;
PREPARE part(text, date) AS SELECT count(*), min(id) FROM tree WHERE region = $1 AND day = $2;
EXECUTE part('north', '2024-01-02');
EXECUTE part('ü', '2024-01-04');
EXECUTE part(NULL, NULL);
SELECT * FROM counts($$EXECUTE part('north', '2024-01-02')$$);
RESET plan_cache_mode;
SELECT r, (SELECT sum(id) FROM tree WHERE region = r) FROM (VALUES ('north'), ('ü'), ('')) x(r);
SELECT t.region, t.day, count(*) FROM tree t JOIN (VALUES ('north', '2024-01-01'::date)) x(r, d)
	ON t.region = x.r AND t.day = x.d WHERE t.region = 'north' GROUP BY 1, 2;

-- hive_partitioning off: the column of the files; on: keys must agree
\set path :testdata '/tree/region=north'
CREATE FOREIGN TABLE plain (id int, region text, day date) SERVER analytics_fdw
	OPTIONS (path :'path', hive_partitioning 'off');
SELECT region, day, count(*) FROM plain GROUP BY region, day;
ALTER FOREIGN TABLE plain OPTIONS (SET hive_partitioning 'on');
SELECT region, day, count(*) FROM plain GROUP BY region, day ORDER BY day;
\set path :testdata '/mixed'
CREATE FOREIGN TABLE mixed (a int, k int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM mixed ORDER BY a;
ALTER FOREIGN TABLE mixed OPTIONS (ADD hive_partitioning 'on');
\set VERBOSITY sqlstate
SELECT * FROM mixed;
\set VERBOSITY default
-- a key that has no value of the declared type names the file
\set path :testdata '/nokey'
CREATE FOREIGN TABLE nokey (a int, n int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM nokey;
CREATE FUNCTION place(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE context text;
BEGIN
	EXECUTE q;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN SQLSTATE || ' ' || regexp_replace(split_part(context, E'\n', 1), '"/[^"]*/testdata', '"...');
END $$;
SELECT place('SELECT * FROM nokey');
ALTER FOREIGN TABLE nokey ALTER n TYPE text;
SELECT * FROM nokey ORDER BY n;
ALTER FOREIGN TABLE nokey ALTER n TYPE varchar(1);
SELECT * FROM nokey ORDER BY n;
CREATE FOREIGN TABLE nulls_refused (id int, region text NOT NULL) SERVER analytics_fdw
	OPTIONS (path '/nowhere');
\set path :testdata '/tree/region=__HIVE_DEFAULT_PARTITION__'
ALTER FOREIGN TABLE nulls_refused OPTIONS (SET path :'path');
SELECT count(*) FROM nulls_refused;
-- types of keys: what the input function takes
\set path :testdata '/hive'
CREATE FOREIGN TABLE hive (id int8, year int2, month numeric) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT year, month, count(*), sum(id) FROM hive GROUP BY year, month ORDER BY 1, 2;
SELECT * FROM counts('SELECT * FROM hive WHERE year = 2024 AND month = 1');
CREATE TYPE month_name AS ENUM ('1', '2');
CREATE FOREIGN TABLE hive_enum (id int8, month month_name) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT month, count(*) FROM hive_enum GROUP BY month ORDER BY month;
CREATE DOMAIN small AS int CHECK (VALUE < 2024);
CREATE FOREIGN TABLE hive_domain (id int8, year small) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT count(*) FROM hive_domain;

-- virtual columns
CREATE FOREIGN TABLE virtual (
	id int8, path text OPTIONS (virtual '_path'), file text OPTIONS (virtual '_file') COLLATE "C",
	size int8 OPTIONS (virtual '_size'), mtime timestamptz OPTIONS (virtual '_mtime'),
	n int8 OPTIONS (virtual '_row_number'), g int OPTIONS (virtual '_row_group'),
	y int OPTIONS (virtual 'year'), none int OPTIONS (virtual 'nothing')
) SERVER analytics_fdw OPTIONS (path :'path');
SELECT id, right(path, 31), file, size > 1000, mtime > '2000-01-01', n, g, y, none FROM virtual
	WHERE id % 300 = 1 ORDER BY id;
\set path :testdata '/parts'
ALTER FOREIGN TABLE virtual OPTIONS (SET path :'path');
SELECT file, g, count(*), min(n), max(n), sum(id - n) FROM virtual GROUP BY file, g ORDER BY 1, 2;
SELECT * FROM counts($$SELECT * FROM virtual WHERE file = 'part-1.parquet'$$);
SELECT * FROM counts($$SELECT * FROM virtual WHERE file = 'part-1.parquet' AND g = 1$$);
SELECT * FROM counts($$SELECT * FROM virtual WHERE n < 10$$);
SELECT * FROM counts($$SELECT * FROM virtual WHERE size < 0 OR mtime < '1990-01-01'$$);
SELECT file, id FROM virtual WHERE n = 999 ORDER BY file;
SELECT file, n FROM virtual ORDER BY file DESC, n DESC LIMIT 2;
SELECT count(DISTINCT file), count(DISTINCT path), min(file), max(g) FROM virtual;
\set VERBOSITY terse
CREATE FOREIGN TABLE bad (a int OPTIONS (virtual '_nothing')) SERVER analytics_fdw;
CREATE FOREIGN TABLE bad (a int OPTIONS (virtual '')) SERVER analytics_fdw;
CREATE FOREIGN TABLE wrong_type (size int4 OPTIONS (virtual '_size')) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT * FROM wrong_type;
\set VERBOSITY default

-- a thousand files: few are opened for few rows (N07, B06)
\set path :testdata '/many'
CREATE FOREIGN TABLE many (id int8 NOT NULL, s text, k int) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT count(*), sum(id), min(k), max(k) FROM many;
SET analytics_fdw.max_threads = 1;
SELECT * FROM counts('SELECT * FROM many WHERE k = 42');
SELECT * FROM counts('SELECT * FROM many WHERE k IN (1, 42) AND id > 2120');
SELECT substring(line FROM 'Files: [0-9]+ of') FROM counts('SELECT * FROM many') line LIMIT 1;
SELECT line ~ '^Files: [0-9]{1,2} of 1000 \(limit 9[0-9]{2} removed\)'
	FROM counts('SELECT * FROM many LIMIT 10') line LIMIT 1;
RESET analytics_fdw.max_threads;
SELECT count(*) FROM (SELECT * FROM many LIMIT 10) x;
SELECT k, count(*) FROM many WHERE s = 's1' GROUP BY k HAVING count(*) <> 17 ORDER BY k LIMIT 3;
-- estimates come from a sample
CREATE FUNCTION estimate(q text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || q INTO j;
	RETURN j -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT estimate('SELECT * FROM many') BETWEEN 4000 AND 6000 AS rows,
	estimate('SELECT * FROM many WHERE k = 42') BETWEEN 30 AND 80 AS of_a_key,
	estimate('SELECT k FROM many GROUP BY k') BETWEEN 80 AND 120 AS keys;
