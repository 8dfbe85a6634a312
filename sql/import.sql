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

-- a tree: by default only the files in the directory itself
CREATE SCHEMA i3;
\set folder :testdata '/hive'
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder');
SELECT count(*) FROM pg_class WHERE relnamespace = 'i3'::regnamespace;
\set VERBOSITY terse
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder', recursive 'on');

-- options
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder', nothing '1');
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3 OPTIONS (path :'folder', "case" 'camel');
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO i3
	OPTIONS (path :'folder', unsupported 'invent');
\set VERBOSITY default
IMPORT FOREIGN SCHEMA "123456789 123456789 123456789 123456789 123456789 123456789 123456789"
	FROM SERVER analytics_fdw INTO i3;
DROP SCHEMA i1, i2, i3 CASCADE;
