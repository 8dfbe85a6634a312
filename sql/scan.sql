-- Plain scans: every type, columns that are not there any more, rows that PostgreSQL filters.
\set suite scan
\i sql/include/tables.inc
\pset null (null)

SELECT id, c_bool, c_int16, c_int32, c_int64 FROM types ORDER BY id;
SELECT id, c_float, c_double, left(c_string, 12) AS c_string FROM types ORDER BY id;
SELECT id, left(c_binary::text, 12) AS c_binary, c_date, c_timestamp, c_timestamptz
	FROM types ORDER BY id;
SELECT id, length(c_string), length(c_binary), md5(c_string) FROM types WHERE id IN (5, 6, 11)
	ORDER BY id;

-- wider declared types
\set path :testdata '/types.parquet'
CREATE FOREIGN TABLE wide (id int8, c_int16 int4, c_int32 numeric, c_int64 numeric, c_float float8,
	c_date timestamp, c_string varchar(20)) SERVER analytics_fdw OPTIONS (path :'path');
SELECT id, c_int16, c_int32, c_int64, c_float, c_date FROM wide ORDER BY id;
SELECT id, c_string FROM wide WHERE id < 5 ORDER BY id;
SELECT id, c_string FROM wide;		-- one is too long

-- types that go through text
CREATE TYPE mood AS ENUM ('one', 'zero', 'minus');
CREATE DOMAIN short AS text CHECK (length(value) < 100);
CREATE FOREIGN TABLE cast_tables (id int, c_string mood) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT * FROM cast_tables WHERE id = 1 OR id = 10 ORDER BY id;
SELECT id FROM cast_tables WHERE c_string = 'one' AND id < 2;
CREATE FOREIGN TABLE domains (id int, c_string short) SERVER analytics_fdw OPTIONS (path :'path');
SELECT id, c_string FROM domains WHERE id < 3 ORDER BY id;
SELECT id, length(c_string) FROM domains;
CREATE FOREIGN TABLE padded (id int, c_string char(8)) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT id, c_string || '|', octet_length(c_string) FROM padded WHERE id < 5 ORDER BY id;
SELECT id FROM padded WHERE id < 5 AND c_string = 'one';

-- columns that were dropped, added, renamed
ALTER FOREIGN TABLE types DROP COLUMN c_int16;
ALTER FOREIGN TABLE types ADD COLUMN extra int;
ALTER FOREIGN TABLE types RENAME COLUMN c_bool TO truth;
ALTER FOREIGN TABLE types ALTER COLUMN truth OPTIONS (ADD column_name 'c_bool');
SELECT id, truth, c_int32, extra FROM types WHERE id < 4 ORDER BY id;
SELECT count(*) FROM types WHERE truth;

-- no column at all
SELECT count(*) FROM (SELECT 1 FROM events OFFSET 0) s;
SET analytics_fdw.enabled = off;
SELECT count(*) FROM events;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events;
RESET analytics_fdw.enabled;

-- whole rows and system columns
SELECT customers.tableoid::regclass, empty.tableoid, id FROM empty RIGHT JOIN customers ON a = id ORDER BY id LIMIT 2;
SELECT tableoid::regclass, id FROM customers ORDER BY id LIMIT 2;
SELECT c FROM customers c ORDER BY id LIMIT 2;
SELECT count(c) FROM customers c;
SELECT ctid FROM customers LIMIT 1;

-- several files
SELECT count(*), count(DISTINCT id), sum(id) FROM parts;
SELECT kind, count(*) FROM parts GROUP BY kind ORDER BY kind;

-- the same table twice, and with a local one
SELECT count(*) FROM customers a JOIN customers b ON a.id = b.id + 1;
CREATE TABLE local (country text, label text);
INSERT INTO local VALUES ('de', 'Germany'), ('fr', 'France');
SELECT label, count(*) FROM customers JOIN local USING (country) GROUP BY label ORDER BY label;
SELECT label, n FROM local, LATERAL (SELECT count(*) AS n FROM customers c
	WHERE c.country = local.country) s ORDER BY label;
SELECT label FROM local WHERE EXISTS (SELECT FROM customers c WHERE c.country = local.country)
	ORDER BY label;

-- changing rows is refused
INSERT INTO customers VALUES (1, 'x');
UPDATE customers SET name = 'x';
DELETE FROM customers;
SELECT id FROM customers WHERE id < 3 ORDER BY id FOR UPDATE;
