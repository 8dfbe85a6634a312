-- Lists, maps and groups: arrays and jsonb.
\set suite nested
\i sql/include/tables.inc
\set VERBOSITY terse
\set folder :testdata '/nested'
IMPORT FOREIGN SCHEMA files FROM SERVER analytics_fdw INTO nested OPTIONS (path :'folder');
SELECT attname, format_type(atttypid, atttypmod), attnotnull
    FROM pg_attribute WHERE attrelid = 'v1'::regclass AND attnum > 0 ORDER BY attnum;
SELECT id, numbers, words, bare, old, days FROM v1 WHERE id <= 10 ORDER BY id;
SELECT id, lists, point, pairs, items FROM v1 WHERE id <= 10 ORDER BY id;

-- Both versions of pages hold the same.
SELECT count(*) FROM (SELECT * FROM v1 EXCEPT SELECT * FROM v2) x;
SELECT count(*), count(numbers), count(words), count(lists), count(point), sum(cardinality(numbers)),
    sum(cardinality(words)), sum(jsonb_array_length(lists)), sum(cardinality(bare)) FROM v1;

-- What rows hold is what was written.
SELECT count(*) FROM v1 WHERE numbers IS DISTINCT FROM CASE WHEN id % 7 <> 1 THEN ARRAY(
    SELECT CASE WHEN (id + k) % 5 <> 0 THEN id * 10 + k END FROM generate_series(0, id % 4 - 1) k)
    END::bigint[];
SELECT count(*) FROM v1 WHERE pairs IS DISTINCT FROM CASE WHEN id % 7 <> 5 THEN (
    SELECT coalesce(jsonb_object_agg('k' || k, CASE WHEN k <> 1 THEN id + k END), '{}')
    FROM generate_series(0, id % 3 - 1) k) END;
SELECT count(*) FROM v1 WHERE point IS DISTINCT FROM CASE WHEN id % 7 <> 4 THEN jsonb_build_object(
    'x', id, 'y', CASE WHEN id % 2 = 0 THEN id / 4.0 END, 'in',
    jsonb_build_object('flag', id % 3 = 0, 'text', 's"' || id || '\')) END;

-- Rows are skipped by a filter on other columns; conditions on arrays stay here.
SELECT id, numbers, point FROM v1 WHERE id IN (36, 37, 38, 150, 179, 180, 181, 299) ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM v1 WHERE 295 * 10 = ANY (numbers);
SELECT id FROM v1 WHERE 295 * 10 + 1 = ANY (numbers);
SELECT id FROM v2 WHERE numbers IS NULL AND id < 30 ORDER BY id;
SELECT id, words, items FROM v2 ORDER BY id DESC LIMIT 3;

-- Other declarations.
\set path :testdata '/nested/v1.parquet'
CREATE FOREIGN TABLE declared (id int, numbers numeric(12,2)[], words varchar(2)[], lists text,
    x int OPTIONS (column_name 'point.x'), t text OPTIONS (column_name 'point.in.text'),
    i jsonb OPTIONS (column_name 'point.in'), days timestamp[], bare jsonb, none int[])
    SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM declared WHERE id BETWEEN 2 AND 6 ORDER BY id;
SELECT id FROM declared WHERE lists = '[[],[0]]' ORDER BY id LIMIT 3;
\set path2 :testdata '/nested/v2.parquet'
ALTER FOREIGN TABLE declared OPTIONS (SET path :'path2');
SELECT count(*) FROM declared WHERE bare = '[0, 1]';

-- Arrays of several dimensions: lists of one length.
CREATE FOREIGN TABLE dims (id int, lists int[][]) SERVER analytics_fdw OPTIONS (path :'path');
SELECT id, lists, array_dims(lists) FROM dims WHERE id % 4 IN (0, 1) ORDER BY id LIMIT 6;
SELECT id, lists FROM dims WHERE id = 6;
ALTER FOREIGN TABLE dims OPTIONS (ADD jagged 'null_pad');
SELECT id, lists, array_dims(lists) FROM dims WHERE id <= 7 ORDER BY id;
SELECT count(*) FROM dims JOIN v1 USING (id) WHERE coalesce(array_length(dims.lists, 1), 0)
    <> coalesce(jsonb_array_length(v1.lists), 0) AND id % 4 > 1;
ALTER FOREIGN TABLE dims OPTIONS (SET jagged 'perhaps');

-- Composite types: fields by name, those that are not declared are left out.
CREATE TYPE inner_t AS (flag bool, text text);
CREATE TYPE spot AS (y float8, x bigint, "in" inner_t, none date);
CREATE TYPE pair AS (k text, v int);
CREATE TYPE item AS (tags text[], n smallint);
CREATE FOREIGN TABLE composite (id int, point spot, pairs pair[], items item[], lists jsonb)
    SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM composite WHERE id BETWEEN 2 AND 7 ORDER BY id;
SELECT (point).x, (point)."in".text, cardinality(pairs), (items[2]).tags FROM composite
    WHERE id BETWEEN 298 AND 300 ORDER BY id;
SELECT count(*) FROM composite c JOIN v1 USING (id)
    WHERE to_jsonb((c.point)."in") IS DISTINCT FROM v1.point -> 'in'
        OR (SELECT jsonb_object_agg(k, v) FROM unnest(c.pairs)) IS DISTINCT FROM nullif(v1.pairs, '{}');
CREATE DOMAIN checked AS spot CHECK ((VALUE).x < 5);
CREATE FOREIGN TABLE checks (id int, point checked) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM checks WHERE id = 3;
SELECT * FROM checks WHERE id = 6;

-- Names with and without regard to case, and what is no text.
CREATE TYPE shouting AS ("X" text, "Y" text);
CREATE FOREIGN TABLE cases (id int, point shouting) SERVER analytics_fdw
    OPTIONS (path :'path', case_insensitive 'false');
SELECT * FROM cases WHERE id = 2;
ALTER FOREIGN TABLE cases OPTIONS (SET case_insensitive 'true');
SELECT * FROM cases WHERE id = 2;

-- Old layouts can be forced.
ALTER FOREIGN TABLE cases OPTIONS (ADD legacy_lists 'two_level');
ALTER FOREIGN TABLE cases ADD COLUMN numbers jsonb;
SELECT numbers FROM cases WHERE id = 2;

-- What cannot be had.
CREATE FOREIGN TABLE r3 (id int, items int[]) SERVER analytics_fdw
    OPTIONS (path :'path');
SELECT * FROM r3;
CREATE FOREIGN TABLE r4 (id int, point int[]) SERVER analytics_fdw
    OPTIONS (path :'path');
SELECT * FROM r4;
CREATE FOREIGN TABLE r5 (id int, e int OPTIONS (column_name 'numbers.list.element')) SERVER analytics_fdw
    OPTIONS (path :'path');
SELECT * FROM r5;
CREATE FOREIGN TABLE r6 (id int, numbers text[]) SERVER analytics_fdw
    OPTIONS (path :'path');
SELECT * FROM r6;
CREATE FOREIGN TABLE r7 (id int, numbers bigint[] NOT NULL) SERVER analytics_fdw
    OPTIONS (path :'path');
SELECT * FROM r7;
CREATE FOREIGN TABLE r8 (id int, numbers spot) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM r8;
CREATE TYPE wrong AS (x int[]);
CREATE FOREIGN TABLE r9 (id int, point wrong) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM r9;
