-- States of aggregate functions: their bytes, and what they are finalised to.
\set suite states
\i sql/include/tables.inc
\set states :testdata '/states'
\set part :testdata '/states/all_1_1_0'
\set definition :testdata '/states.sql'

CREATE FOREIGN TABLE raw () SERVER analytics_fdw
	OPTIONS (path :'states', definition :'definition', format 'mergetree');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
	WHERE attrelid = 'raw'::regclass AND attnum > 0 ORDER BY attnum;
SELECT id, total, mean, top, names FROM raw WHERE id IN (0, 3) ORDER BY id, total;
SELECT sketch FROM raw;

-- the type of the result, or what it can be read as
CREATE FOREIGN TABLE results (id int8, total int8, mean float8, top text, names text[])
	SERVER analytics_fdw OPTIONS (path :'states', definition :'definition', format 'mergetree');
SELECT * FROM results WHERE id < 5 ORDER BY id, total;
EXPLAIN (COSTS OFF) SELECT sum(total) FROM results WHERE mean > 2 AND top IS NOT NULL;
SELECT sum(total), min(mean), count(DISTINCT top) FROM results WHERE mean > 2 AND top IS NOT NULL;
SET analytics_fdw.enabled = off;
SELECT sum(total), min(mean), count(DISTINCT top) FROM results WHERE mean > 2 AND top IS NOT NULL;
RESET analytics_fdw.enabled;
CREATE FOREIGN TABLE others (id int8, total numeric(6,2), names jsonb) SERVER analytics_fdw
	OPTIONS (path :'part', format 'mergetree');
SELECT * FROM others WHERE id BETWEEN 3 AND 4;

-- what they cannot be read as; a function that is not known
CREATE FOREIGN TABLE wrong (total date, mean int4, top bytea, sketch int8[]) SERVER analytics_fdw
	OPTIONS (path :'part', format 'mergetree');
SELECT total FROM wrong;
ALTER FOREIGN TABLE wrong DROP COLUMN total;
SELECT mean FROM wrong;
ALTER FOREIGN TABLE wrong DROP COLUMN mean;
SELECT sketch FROM wrong;
SELECT count(*), count(top) FROM wrong;
CREATE FOREIGN TABLE narrow (id int8, total int2) SERVER analytics_fdw
	OPTIONS (path :'part', format 'mergetree');
SELECT sum(total) FROM narrow;

-- rows of one key become one: states are merged, and of results those of which that is possible
ALTER FOREIGN TABLE raw OPTIONS (ADD final 'true');
SELECT id, total, mean FROM raw WHERE id IN (0, 3) ORDER BY id;
ALTER FOREIGN TABLE results OPTIONS (ADD final 'true');
SELECT id, total FROM results WHERE id < 5 ORDER BY id;
SELECT mean FROM results;
SELECT names FROM results;
