-- allowed_directories: files elsewhere are not read, whoever asks and however they are named.
\set suite directories
\i sql/include/tables.inc
\set events :testdata '/events.parquet'
\set parts :testdata '/parts'
\set glob :testdata '/parts/*.parquet'
\set dots :testdata '/parts/../events.parquet'
\set sibling :testdata '/part'
\set deep :testdata '/parts/**/*.parquet'
\set dotglob :testdata '/parts/*/../../*.parquet'
\set braces :testdata '/{parts,events}*'
-- messages have paths in them
\set VERBOSITY sqlstate

SET analytics_fdw.allowed_directories = :'parts';
SELECT count(*) FROM parts;
SELECT count(*) FROM events;
SELECT count(*) FROM analytics_fdw.list(:'parts');
SELECT count(*) FROM analytics_fdw.list(:'glob');
SELECT count(*) FROM analytics_fdw.list(:'deep');
SELECT count(*) FROM analytics_fdw.list(:'events');
SELECT count(*) FROM analytics_fdw.list(:'dots');
SELECT count(*) FROM analytics_fdw.list(:'dotglob');
SELECT count(*) FROM analytics_fdw.list(:'braces');
SELECT count(*) FROM analytics_fdw.list('/');
SELECT count(*) FROM analytics_fdw.list('parts');
SELECT count(*) FROM analytics_fdw.describe(:'events');
SELECT count(*) FROM analytics_fdw.parquet_metadata(:'events');
IMPORT FOREIGN SCHEMA x FROM SERVER analytics_fdw INTO directories OPTIONS (path :'events');
-- a name that begins alike is another directory
SET analytics_fdw.allowed_directories = :'sibling';
SELECT count(*) FROM parts;
-- several
SELECT set_config('analytics_fdw.allowed_directories', '/nowhere, ' || :'testdata', false) <> '';
SELECT count(*) FROM events;
SELECT count(*) FROM analytics_fdw.list(:'dotglob');
-- none: any
RESET analytics_fdw.allowed_directories;
SELECT count(*) FROM events;

\set VERBOSITY default
SET analytics_fdw.allowed_directories = 'relative';
CREATE ROLE directories_user;
SET ROLE directories_user;
SET analytics_fdw.allowed_directories = '';
RESET ROLE;
DROP ROLE directories_user;

-- what else options name is a file, too
\set VERBOSITY sqlstate
\set visits :testdata '/visits'
\set definition :testdata '/visits.sql'
CREATE FOREIGN TABLE visits (id int8) SERVER analytics_fdw
	OPTIONS (path :'visits', definition :'definition', format 'mergetree');
SET analytics_fdw.allowed_directories = :'visits';
SELECT count(*) FROM visits;
SELECT set_config('analytics_fdw.allowed_directories', :'visits' || ', ' || :'definition', false) <> '';
SELECT count(*) > 0 FROM visits;
