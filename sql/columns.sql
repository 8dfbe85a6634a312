-- Tables created without columns get those of their files.
\set suite columns
\i sql/include/tables.inc
\set path :testdata '/types.parquet'
CREATE FOREIGN TABLE bare () SERVER analytics_fdw OPTIONS (path :'path');
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
	WHERE attrelid = 'bare'::regclass AND attnum > 0 ORDER BY attnum;
SELECT count(*), sum(c_int64) FROM bare WHERE id > 6;
\set path :testdata '/parts/*.parquet'
CREATE FOREIGN TABLE pg_temp.adhoc () SERVER analytics_fdw OPTIONS (path :'path');
SELECT kind, count(*) FROM pg_temp.adhoc GROUP BY kind ORDER BY kind;
-- not for tables with columns, without path, without files
CREATE FOREIGN TABLE one (id int) SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE pathless () SERVER analytics_fdw;
\set path :testdata '/parts/none-*.parquet'
CREATE FOREIGN TABLE none () SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE none () SERVER analytics_fdw OPTIONS (path :'path', allow_no_files 'true');
SELECT relname, relnatts FROM pg_class
	WHERE relname IN ('one', 'pathless', 'none') AND relnamespace = 'columns'::regnamespace ORDER BY 1;
\set VERBOSITY sqlstate
CREATE FOREIGN TABLE missing () SERVER analytics_fdw OPTIONS (path '/nowhere/at/all.parquet');
\set VERBOSITY default
ALTER EVENT TRIGGER analytics_fdw_columns DISABLE;
CREATE FOREIGN TABLE missing () SERVER analytics_fdw OPTIONS (path '/nowhere/at/all.parquet');
ALTER EVENT TRIGGER analytics_fdw_columns ENABLE;
SELECT analytics_fdw.fill_columns();
