-- IMPORT FOREIGN SCHEMA
\set suite import
\i sql/include/tables.inc
CREATE SCHEMA i1;
CREATE SCHEMA i2;
\set folder :testdata '/parts'
IMPORT FOREIGN SCHEMA parts FROM SERVER analytics_fdw INTO i1 OPTIONS (path :'folder');
SELECT relname FROM pg_class WHERE relnamespace = 'i1'::regnamespace ORDER BY 1;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
	WHERE attrelid = 'i1."part-1"'::regclass AND attnum > 0 ORDER BY attnum;
SELECT count(*), min(id), max(id) FROM i1."part-1";

-- names and nullability
DROP SCHEMA i1 CASCADE;
CREATE SCHEMA i1;
IMPORT FOREIGN SCHEMA parts LIMIT TO ("part-0", "part-2") FROM SERVER analytics_fdw INTO i1
	OPTIONS (path :'folder', import_not_null 'false', max_threads '2');
SELECT relname FROM pg_class WHERE relnamespace = 'i1'::regnamespace ORDER BY 1;
SELECT count(*) FROM pg_attribute
	WHERE attrelid = 'i1."part-0"'::regclass AND attnum > 0 AND attnotnull;
IMPORT FOREIGN SCHEMA parts EXCEPT ("part-0", "part-2") FROM SERVER analytics_fdw INTO i1
	OPTIONS (path :'folder');
SELECT relname FROM pg_class WHERE relnamespace = 'i1'::regnamespace ORDER BY 1;

-- one table of all files
IMPORT FOREIGN SCHEMA parts FROM SERVER analytics_fdw INTO i2
	OPTIONS (path :'folder', one_table 'true');
SELECT relname FROM pg_class WHERE relnamespace = 'i2'::regnamespace ORDER BY 1;
SELECT count(*), min(id), max(id) FROM i2.parts;

-- types as declared by the file
\set file :testdata '/types.parquet'
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i2 OPTIONS (path :'file');
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
	WHERE attrelid = 'i2.types'::regclass AND attnum > 0 ORDER BY attnum;
SELECT count(*) FROM i2.types;

-- a Hive tree is one table; keys are columns
CREATE SCHEMA i3;
\set folder :testdata '/hive'
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder');
SELECT relname FROM pg_class WHERE relnamespace = 'i3'::regnamespace;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
	WHERE attrelid = 'i3.hive'::regclass AND attnum > 8 ORDER BY attnum;
SELECT year, month, count(*) FROM i3.hive GROUP BY 1, 2 ORDER BY 1, 2;
-- as files they would have one name
\set VERBOSITY terse
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3
	OPTIONS (path :'folder', recursive 'on', hive_partitioning 'off');
\set VERBOSITY default

-- a folder of everything: tables below only when told, other files are skipped
CREATE FUNCTION made(schema text) RETURNS TABLE (name name, columns text, options text)
LANGUAGE sql AS $$
	SELECT c.relname, (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', '
			ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
		regexp_replace(array_to_string(ftoptions, ' '), 'path=[^ ]*/testdata', 'path=...')
	FROM pg_class c JOIN pg_foreign_table ON ftrelid = c.oid
	WHERE relnamespace = schema::regnamespace ORDER BY 1
$$;
CREATE SCHEMA i4;
\set folder :testdata '/folder'
SET client_min_messages = error;
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i4 OPTIONS (path :'folder');
SELECT * FROM made('i4');
DROP SCHEMA i4 CASCADE;
CREATE SCHEMA i4;
IMPORT FOREIGN SCHEMA x EXCEPT (bare) FROM SERVER analytics_fdw INTO i4
	OPTIONS (path :'folder', recursive 'on', "case" 'lower', match_by 'position');
SELECT * FROM made('i4');
SELECT * FROM i4.log;
SELECT year, m, count(*) FROM i4.sales GROUP BY 1, 2 ORDER BY 1;
SET client_min_messages = warning;
-- what is not wanted is not opened, so that nothing is said of it
DROP SCHEMA i4 CASCADE;
CREATE SCHEMA i4;
IMPORT FOREIGN SCHEMA x LIMIT TO (one, sales) FROM SERVER analytics_fdw INTO i4
	OPTIONS (path :'folder');
SELECT * FROM made('i4');
\set VERBOSITY terse
IMPORT FOREIGN SCHEMA x LIMIT TO ("README", nothing) FROM SERVER analytics_fdw INTO i4
	OPTIONS (path :'folder');
\set VERBOSITY sqlstate
\set file :folder '/broken.parquet'
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i4 OPTIONS (path :'file');
\set VERBOSITY default
-- a glob; everything in one table
\set glob :testdata '/folder/{one,Two}.parquet'
IMPORT FOREIGN SCHEMA x EXCEPT (one) FROM SERVER analytics_fdw INTO i4 OPTIONS (path :'glob');
\set glob :testdata '/folder/sales/*/*/*'
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i2
	OPTIONS (path :'glob', one_table 'true', import_not_null 'off');
SELECT * FROM made('i4');
SELECT * FROM made('i2') WHERE name = 'sales';
-- B09: comments say what was imported
SELECT count(*) FROM pg_description WHERE objoid = 'i4.one'::regclass;
DROP SCHEMA i4 CASCADE;
CREATE SCHEMA i4;
IMPORT FOREIGN SCHEMA x LIMIT TO (one) FROM SERVER analytics_fdw INTO i4
	OPTIONS (path :'folder', comments 'on');
SELECT objsubid, regexp_replace(description, '/[^ ]*/testdata', '...') FROM pg_description
	WHERE objoid = 'i4.one'::regclass ORDER BY 1;
-- documents
\set file :testdata '/nested/v2.parquet'
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i4
	OPTIONS (path :'file', json_as 'json', nested_as 'jsonb');
SELECT columns FROM made('i4') WHERE name = 'v2';

-- an empty column list has the keys, too
CREATE FOREIGN TABLE pg_temp.h () SERVER analytics_fdw OPTIONS (path :'folder', format 'parquet');
\set folder :testdata '/hive'
CREATE FOREIGN TABLE pg_temp.h2 () SERVER analytics_fdw OPTIONS (path :'folder');
SELECT year, month, count(*) FROM h2 GROUP BY 1, 2 ORDER BY 1, 2;
\set VERBOSITY terse

-- options
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder', nothing '1');
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder', "case" 'camel');
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3
	OPTIONS (path :'folder', unsupported 'invent');
\set VERBOSITY default
IMPORT FOREIGN SCHEMA "123456789 123456789 123456789 123456789 123456789 123456789 123456789"
	FROM SERVER analytics_fdw INTO i3;
SET client_min_messages = warning;
DROP SCHEMA i1, i2, i3, i4 CASCADE;

-- Groups as composite types.
\set folder :testdata '/nested'
CREATE SCHEMA composites;
IMPORT FOREIGN SCHEMA files LIMIT TO (v1) FROM SERVER analytics_fdw INTO composites
    OPTIONS (path :'folder', nested_as 'composite');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = 'composites.v1'::regclass AND attnum > 0 ORDER BY attnum;
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind = 'c' AND c.relnamespace = 'composites'::regnamespace ORDER BY c.relname, a.attnum;
SELECT id, point, pairs, items FROM composites.v1 WHERE id BETWEEN 2 AND 5 ORDER BY id;
IMPORT FOREIGN SCHEMA files LIMIT TO (v1) FROM SERVER analytics_fdw INTO composites
    OPTIONS (path :'folder', nested_as 'records');
