-- Errors: their codes, and that only rows that are wanted raise them.
\set suite errors
\i sql/include/tables.inc
\set VERBOSITY sqlstate

SELECT count(*) FROM types WHERE c_int16 + c_int16 > 0;
SELECT count(*) FROM types WHERE c_int32 * 2 > 0;
SELECT count(*) FROM types WHERE -c_int64 > 0;
SELECT c_int32 + 1, count(*) FROM types GROUP BY 1;
SELECT sum(c_double * 10) FROM types;
-- only rows that come so far
SELECT count(*) FROM types WHERE id < 5 AND c_int32 * 2 > 0;
SELECT count(*) FROM types WHERE CASE WHEN id < 5 THEN c_int32 * 2 ELSE 0 END > 0;
SELECT count(id) FROM (SELECT id FROM types WHERE c_int32 * 2 IS NOT NULL LIMIT 1) t;

-- files
CREATE FOREIGN TABLE gone (a int) SERVER analytics_fdw OPTIONS (path '/nowhere/x.parquet');
SELECT * FROM gone;
\set path :testdata '/twin.sql'
CREATE FOREIGN TABLE text_file (a int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM text_file;
ALTER FOREIGN TABLE text_file OPTIONS (ADD format 'parquet');
SELECT * FROM text_file;
\set path :testdata '/types.parquet'
CREATE FOREIGN TABLE wrong_type (c_string int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM wrong_type;
CREATE FOREIGN TABLE no_nulls (c_int32 int NOT NULL) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(c_int32), sum(c_int32) FROM no_nulls;
CREATE FOREIGN TABLE narrow (c_int64 int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT c_int64 FROM narrow;

-- the session goes on
SELECT count(*) FROM types;
