-- Options: names, values, places.
\set suite options
\i sql/include/tables.inc
\set path :testdata '/types.parquet'

-- unknown names: the closest one and the list
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (paht 'x');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (nothing_like_it 'x');
CREATE FOREIGN TABLE bad (a int OPTIONS (column 'x')) SERVER analytics_fdw OPTIONS (path 'x');
CREATE SERVER bad FOREIGN DATA WRAPPER analytics_fdw OPTIONS (path 'x');
CREATE FOREIGN DATA WRAPPER bad VALIDATOR analytics_fdw.analytics_fdw_validator OPTIONS (a 'b');
CREATE USER MAPPING FOR CURRENT_USER SERVER analytics_fdw OPTIONS (nothing 'x');

-- secrets
CREATE SERVER bad FOREIGN DATA WRAPPER analytics_fdw OPTIONS (secret 'hidden');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', session_token 'hidden');

-- values
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path '');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path '{}');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path '{a,""}');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path E'a\nb');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', format 'papyrus');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', match_by 'luck');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', case_insensitive '7');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', max_threads '-1');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', max_threads 'many');
CREATE FOREIGN TABLE bad (a int) SERVER analytics_fdw OPTIONS (path 'x', memory_limit '1 acre');
CREATE FOREIGN TABLE bad (a int OPTIONS (epoch_unit 'weeks'))
	SERVER analytics_fdw OPTIONS (path 'x');
CREATE FOREIGN TABLE bad (a int OPTIONS (binary_as 'audio'))
	SERVER analytics_fdw OPTIONS (path 'x');
CREATE FOREIGN TABLE bad (a int OPTIONS (field_id '-2')) SERVER analytics_fdw OPTIONS (path 'x');
CREATE FOREIGN TABLE bad (a int OPTIONS (column_name '')) SERVER analytics_fdw OPTIONS (path 'x');

-- good ones; nothing is read before the first query
CREATE FOREIGN TABLE good (a int OPTIONS (column_name 'x', field_id '3'))
	SERVER analytics_fdw
	OPTIONS (path '/nowhere/at/all', format 'parquet', match_by 'position', case_insensitive 'on',
			 allow_missing_columns 'off', max_threads '4', memory_limit '64MB');
\set VERBOSITY sqlstate
SELECT * FROM good;
\set VERBOSITY default
CREATE FOREIGN TABLE pathless (a int) SERVER analytics_fdw;
SELECT * FROM pathless;

-- column_name, match_by, case_insensitive, allow_missing_columns
CREATE FOREIGN TABLE named (n int OPTIONS (column_name 'c_int32'), s text OPTIONS (column_name 'c_string'))
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM named ORDER BY n, s LIMIT 3;
CREATE FOREIGN TABLE placed (a int, b bool, c int2) SERVER analytics_fdw
	OPTIONS (path :'path', match_by 'position');
SELECT * FROM placed WHERE a < 4 ORDER BY a;
CREATE FOREIGN TABLE shouting ("ID" int, "C_Int32" int) SERVER analytics_fdw
	OPTIONS (path :'path', case_insensitive 'true');
SELECT * FROM shouting WHERE "ID" < 4 ORDER BY 1;
CREATE FOREIGN TABLE more (id int, missing text) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM more WHERE id < 3 ORDER BY id;
SELECT count(*), count(missing) FROM more WHERE missing IS NULL;
ALTER FOREIGN TABLE more OPTIONS (ADD allow_missing_columns 'false');
\set VERBOSITY terse
SELECT * FROM more;
\set VERBOSITY default

-- changed options are seen by the same session
ALTER FOREIGN TABLE more OPTIONS (SET allow_missing_columns 'true');
SELECT count(*) FROM more;
\set path :testdata '/empty.parquet'
ALTER FOREIGN TABLE more OPTIONS (SET path :'path');
SELECT count(*) FROM more;

-- several paths
\set path '{' :testdata '/parts/part-0.parquet,' :testdata '/parts/part-2.parquet}'
CREATE FOREIGN TABLE two (id int8) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*), min(id), max(id) FROM two;
\set path :testdata '/parts'
CREATE FOREIGN TABLE folder (id int8) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*), min(id), max(id) FROM folder;
\set path :testdata '/parts/part-{0,1}.parquet'
CREATE FOREIGN TABLE braces (id int8) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*), min(id), max(id) FROM braces;
\set path :testdata '/parts/none-*.parquet'
CREATE FOREIGN TABLE nothing (id int8) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*), min(id), max(id) FROM nothing;
ALTER FOREIGN TABLE nothing OPTIONS (ADD allow_no_files 'true');
SELECT count(*), min(id), max(id) FROM nothing;
ALTER FOREIGN TABLE nothing OPTIONS (SET path '/nowhere/at/all/');
SELECT count(*) FROM nothing WHERE id = 1;
ALTER FOREIGN TABLE nothing OPTIONS (SET path '{/nowhere/at/all,/nowhere/else.parquet}');
SELECT id FROM nothing ORDER BY id;
ALTER FOREIGN TABLE nothing OPTIONS (SET allow_no_files 'maybe');
ALTER FOREIGN TABLE nothing OPTIONS (ADD timestamp_ns 'round');
ALTER FOREIGN TABLE nothing OPTIONS (ADD int96_timezone 'Mars/Olympus');
ALTER FOREIGN TABLE nothing OPTIONS (ADD out_of_range 'zero');

-- settings
SET analytics_fdw.max_threads = -1;
SET analytics_fdw.require_pushdown = 'maybe';
SHOW analytics_fdw.memory_limit;
\pset footer off
SELECT name, context FROM pg_settings WHERE name LIKE 'analytics\_fdw.%' ORDER BY name;
