-- VARIANT as jsonb, encoded and shredded.
\set suite variant
\i sql/include/tables.inc
\set VERBOSITY terse
\set folder :testdata '/variant'
IMPORT FOREIGN SCHEMA files LIMIT TO (plain, shredded, bad) FROM SERVER analytics_fdw INTO variant
    OPTIONS (path :'folder');
SELECT attname, format_type(atttypid, atttypmod), attnotnull
    FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attnum > 0 ORDER BY attnum;
SELECT id, v FROM shredded WHERE id < 17 ORDER BY id;
SELECT count(*), count(p.v), count(*) FILTER (WHERE p.v = s.v) FROM plain p JOIN shredded s USING (id);
-- Windows that skip rows.
SELECT id, v FROM shredded WHERE id IN (8, 149, 150, 151, 300) ORDER BY id;
SELECT count(*) FROM shredded WHERE v ? 'list';

-- What contradicts itself is an error of its row.
SELECT id, v FROM bad WHERE id < 1;
SELECT id, v FROM bad WHERE id = 1;
SELECT id, v FROM bad WHERE id = 2;
SELECT id, v FROM bad WHERE id = 3;
SELECT id, v FROM bad WHERE id = 4;
SELECT id, v FROM bad WHERE id = 5;
SELECT count(*) FROM bad;

-- As text, and what it cannot be.
\set path :testdata '/variant/plain.parquet'
CREATE FOREIGN TABLE declared (id int, v text) SERVER analytics_fdw OPTIONS (path :'path');
SELECT v FROM declared WHERE id = 6;
CREATE FOREIGN TABLE wrong (id int, v int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT v FROM wrong;
