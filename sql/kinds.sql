-- T04: every logical type, what it is imported as, its edge values, and what else it may be declared as.
\set suite kinds
\i sql/include/tables.inc
\set VERBOSITY terse
\set folder :testdata '/kinds'
IMPORT FOREIGN SCHEMA files LIMIT TO (v1, v2) FROM SERVER analytics_fdw INTO kinds
    OPTIONS (path :'folder');
SELECT attname, format_type(atttypid, atttypmod)
    FROM pg_attribute WHERE attrelid = 'v1'::regclass AND attnum > 0 AND attname NOT LIKE 'r\_%'
    ORDER BY attnum;
\x on
SELECT * FROM v1 WHERE id BETWEEN 1 AND 4 ORDER BY id;
\x off
-- Both versions of pages, with and without a dictionary; T01: four encodings of decimals, NU08: INT96.
SELECT count(*) FROM (SELECT v1::text FROM v1 EXCEPT SELECT v2::text FROM v2) x;

\set path :testdata '/kinds/v1.parquet'
\set path2 :testdata '/kinds/v2.parquet'
CREATE FOREIGN TABLE other (id int, c_int8 bigint, c_uint8 numeric(6,2), c_uint16 float8,
    c_uint32 numeric, c_uint64 numeric(24,1), c_time_ms timetz, c_time_us timetz(3), c_time_ns bigint,
    c_timestamp_ms timestamp, c_timestamp_ns date, c_int96 timestamptz, c_dec9 numeric,
    c_dec18 numeric(20,2), c_dec38 text, c_decv text, c_dec50 text, c_uuid text,
    c_float16 float8, c_interval bytea, c_json json, c_enum varchar(3), c_unknown inet)
    SERVER analytics_fdw OPTIONS (path :'path');
\x on
SELECT * FROM other WHERE id BETWEEN 1 AND 4 ORDER BY id;
\x off
ALTER FOREIGN TABLE other OPTIONS (SET path :'path2');
SELECT c_time_us, c_dec38, c_dec50, c_uuid, c_json FROM other WHERE id BETWEEN 41 AND 44 ORDER BY id;
SELECT count(*) FROM other JOIN v1 USING (id)
    WHERE (other.c_dec50::numeric, other.c_decv::numeric, other.c_uuid::uuid)
        IS DISTINCT FROM (v1.c_dec50, v1.c_decv, v1.c_uuid);
SELECT id, c_uuid FROM other WHERE c_uuid > '3' ORDER BY id LIMIT 3;

-- Out of range.
CREATE FOREIGN TABLE narrow (id int, c_uint64 bigint OPTIONS (column_name 'c_uint64'))
    SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM narrow;
CREATE FOREIGN TABLE narrow2 (id int, c_uint32 int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM narrow2;
CREATE FOREIGN TABLE narrow3 (id int, c_dec38 numeric(20,0)) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM narrow3;
-- That is an error of rows that pass the conditions, whatever stands beside them.
CREATE FOREIGN TABLE narrow4 (id int, c_uint64 numeric(20,0) NOT NULL, r_dec38 numeric(20,0))
    SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*), sum(c_uint64) FROM narrow WHERE id % 5 < 2;
SELECT count(*), sum(c_uint64) FROM narrow4 WHERE id % 5 < 4;
SELECT count(*), sum(r_dec38) FROM narrow4 WHERE id % 20 IN (0, 8);
SELECT count(*), sum(c_uint64) FROM narrow4 WHERE id % 5 = 4;
ALTER FOREIGN TABLE narrow OPTIONS (SET path :'path2');
ALTER FOREIGN TABLE narrow4 OPTIONS (SET path :'path2');
SELECT count(*), sum(c_uint64) FROM narrow WHERE id % 5 < 2;
SELECT count(*), sum(c_uint64) FROM narrow4 WHERE id % 5 < 4;
SELECT count(*), sum(r_dec38) FROM narrow4 WHERE id % 20 IN (0, 8);

-- Numbers of seconds and days.
CREATE FOREIGN TABLE epochs (id int, c_uint16 date OPTIONS (epoch_unit 'days'),
    c_uint32 timestamptz OPTIONS (epoch_unit 's'), c_int8 timestamp OPTIONS (epoch_unit 'ms'))
    SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM epochs WHERE id < 5 ORDER BY id;

-- T06, T07, T08: bytes that are no text.
\set path :testdata '/kinds/text0.parquet'
\set path2 :testdata '/kinds/text1.parquet'
CREATE FOREIGN TABLE dirty (id int, t text, l text[]) SERVER analytics_fdw
    OPTIONS (path :'path', encoding_check 'replace');
SELECT id, t, l FROM dirty WHERE id < 8 ORDER BY id;
SELECT count(*) FROM dirty WHERE t = 'good';
ALTER FOREIGN TABLE dirty OPTIONS (SET encoding_check 'remove');
SELECT id, t, l FROM dirty WHERE id < 8 ORDER BY id;
SELECT count(*) FROM dirty WHERE t = 'ab';
ALTER FOREIGN TABLE dirty OPTIONS (SET path :'path2');
SELECT count(*) FROM dirty WHERE t = 'ab';
SELECT count(*), count(DISTINCT t), max(t COLLATE "C") FROM dirty;
ALTER FOREIGN TABLE dirty OPTIONS (SET encoding_check 'truncate');
SELECT id, t, l FROM dirty WHERE id < 8 ORDER BY id;
ALTER FOREIGN TABLE dirty OPTIONS (DROP encoding_check);
SELECT id, t, l FROM dirty WHERE id < 8 ORDER BY id;
SELECT id, l FROM dirty WHERE id % 8 IN (4, 5) ORDER BY id;
-- Conditions may drop rows by their bytes; what leaves, or is counted in characters, is checked.
ALTER FOREIGN TABLE dirty OPTIONS (SET path :'path');
SELECT id, t FROM dirty WHERE t = 'good' ORDER BY id;
SELECT count(*) FROM dirty WHERE t LIKE 'g%d';
SELECT count(*) FROM dirty WHERE t LIKE 'goo_';
SELECT count(*) FROM dirty WHERE length(t) = 4;
SELECT max(t COLLATE "C") FROM dirty WHERE t <> 'good';
SET analytics_fdw.enable_prewhere = off;
SELECT id, t FROM dirty WHERE t = 'good' ORDER BY id;
RESET analytics_fdw.enable_prewhere;

-- Checksums of pages.
\set path :testdata '/checksums/good.parquet'
\set path2 :testdata '/checksums/bad.parquet'
CREATE FOREIGN TABLE sums (a bigint, b bigint) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*), sum(b) FROM sums;
ALTER FOREIGN TABLE sums OPTIONS (SET path :'path2');
SELECT count(*), sum(a) FROM sums;
SELECT count(*), sum(b) FROM sums;
SET analytics_fdw.verify_checksums = off;
SELECT count(*), sum(b) FROM sums;
RESET analytics_fdw.verify_checksums;

-- bytes without annotation
\set path :testdata '/cases/addresses.parquet'
CREATE FOREIGN TABLE addresses (id int, a inet OPTIONS (binary_as 'inet')) SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM addresses WHERE id < 4 ORDER BY id;
SELECT id FROM addresses WHERE id < 4 AND a << '192.0.2.0/24';
SELECT a FROM addresses WHERE id = 5;
ALTER FOREIGN TABLE addresses ALTER a TYPE text, ALTER a OPTIONS (SET binary_as 'hex');
SELECT * FROM addresses ORDER BY id;
SELECT id FROM addresses WHERE a = '616263';
SELECT max(length(a)), min(a) FROM addresses;
ALTER FOREIGN TABLE addresses ALTER a TYPE uuid;
SELECT * FROM addresses;

-- The same in a MergeTree table that is ordered by the bytes: the key tells nothing of mended text.
\set path :testdata '/kinds/dirty'
CREATE FOREIGN TABLE mt_dirty (t text, id int, f text) SERVER analytics_fdw
    OPTIONS (path :'path', format 'mergetree', primary_key 't', encoding_check 'replace');
SELECT id, t, f FROM mt_dirty WHERE id < 8 ORDER BY id;
SELECT count(*), min(t COLLATE "C"), max(t COLLATE "C") FROM mt_dirty WHERE t <> 'good';
ALTER FOREIGN TABLE mt_dirty OPTIONS (SET encoding_check 'remove');
SELECT id, t, f FROM mt_dirty WHERE id < 8 ORDER BY id;
SELECT count(*) FROM mt_dirty WHERE t = 'ab';
SELECT t, count(*) FROM mt_dirty GROUP BY t ORDER BY t COLLATE "C";
SELECT t FROM mt_dirty ORDER BY t COLLATE "C" LIMIT 4;
ALTER FOREIGN TABLE mt_dirty OPTIONS (SET encoding_check 'truncate');
SELECT id, t, f FROM mt_dirty WHERE id < 8 ORDER BY id;
SELECT count(*) FROM mt_dirty WHERE t = '';
ALTER FOREIGN TABLE mt_dirty OPTIONS (DROP encoding_check);
SELECT id, t FROM mt_dirty WHERE id < 8 ORDER BY id;
SELECT count(*) FROM mt_dirty WHERE t = 'good';
