-- Option `final`: plans, and tables of which rows cannot be merged.
\set suite final
\i sql/include/tables.inc
\set final :testdata '/final'
\set versions :testdata '/final_versions.sql'
\set events :testdata '/events.parquet'
\set plain :testdata '/final_plain.sql'
\set aggregating :testdata '/final_aggregating.sql'

CREATE FOREIGN TABLE versions (k int4 NOT NULL, name text, ver int8, note text) SERVER analytics_fdw
	OPTIONS (path :'final', format 'mergetree', definition :'versions', final 'true');
EXPLAIN (VERBOSE, COSTS OFF) SELECT note FROM versions WHERE k = 7 AND ver > 2;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM versions WHERE k = 7;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM versions;
SELECT count(*), max(ver) FROM versions WHERE k = 7;
SET analytics_fdw.max_threads = 1;
SELECT analytics_fdw.explain_pipeline('SELECT count(*) FROM versions WHERE k = 7');
ANALYZE versions;
SELECT reltuples FROM pg_class WHERE oid = 'versions'::regclass;
ALTER FOREIGN TABLE versions OPTIONS (SET final 'false');
SELECT count(*), max(ver) FROM versions WHERE k = 7;

-- without a definition, of another engine, of another format
ALTER FOREIGN TABLE versions OPTIONS (SET final 'true', DROP definition);
SELECT count(*) FROM versions;
ALTER FOREIGN TABLE versions OPTIONS (ADD definition :'plain');
SELECT count(*) FROM versions;
CREATE FOREIGN TABLE other (id int8) SERVER analytics_fdw OPTIONS (path :'events', final 'true');
SELECT count(*) FROM other;

-- a column that cannot be merged as it is declared stands in nobody else's way
CREATE FOREIGN TABLE folded (k int4, name text, ver int8, small int2, amount numeric(20,3)) SERVER analytics_fdw
	OPTIONS (path :'final', format 'mergetree', definition :'aggregating', final 'true');
SELECT k, name, ver, small FROM folded WHERE k = 7 ORDER BY name COLLATE "C";
SELECT amount FROM folded WHERE k = 7;
