-- The demo's tables. The lake's directory comes from the environment.
\set lake `echo "$AX_LAKE"`
SET client_min_messages = warning;
CREATE EXTENSION analytics_fdw;
CREATE SCHEMA lake;
SET search_path = lake;

-- Files become tables, with their columns read from the files.
IMPORT FOREIGN SCHEMA "lake" LIMIT TO (stations, weather)
    FROM SERVER analytics_fdw INTO lake OPTIONS (path :'lake');
-- Three files, one table: no column list needed either.
\set trips :lake '/trips/*.parquet'
CREATE FOREIGN TABLE trips () SERVER analytics_fdw OPTIONS (path :'trips');
SET TimeZone = 'UTC';
-- Directory names are columns.
\set repairs :lake '/repairs'
CREATE FOREIGN TABLE repairs () SERVER analytics_fdw OPTIONS (path :'repairs');
-- A table of ClickHouse: its data directory, and its definition for the key.
\set docking :lake '/docking'
\set definition :lake '/docking.sql'
CREATE FOREIGN TABLE docking () SERVER analytics_fdw
    OPTIONS (path :'docking', definition :'definition', format 'mergetree');
