-- parquet_bloom_probe(): a value that a row group has is never excluded, and others mostly are.
\set ECHO none
\i test/pgtap/agree.inc
SELECT * FROM no_plan();
SET search_path = analytics_fdw, public;
\set path :testdata '/cases/ranges_dict.parquet'
CREATE FOREIGN TABLE t (id int, i bigint, r bigint, d date, f float8, n numeric(60,3), rg int OPTIONS (virtual '_row_group'))
	SERVER analytics_fdw OPTIONS (path :'path', out_of_range 'null');
CREATE FUNCTION lost(file text, col text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT DISTINCT rg, %I::text AS v FROM t WHERE %1$I IS NOT NULL) x,
		parquet_bloom_probe(%L, %L, v) p WHERE p.row_group_id = x.rg AND p.bloom_filter_excludes', col, file, col) INTO n;
	RETURN n;
END $$;
SELECT is(lost(:'path', c), 0::bigint, 'nothing lost of ' || c) FROM unnest('{id,i,r,d,f,n}'::text[]) c;
SELECT is((SELECT count(*) FROM parquet_bloom_probe(:'path', 'id', '17')), 5::bigint, 'a row for each row group');
SELECT is((SELECT array_agg(row_group_id ORDER BY 1) FROM parquet_bloom_probe(:'path', 'id', '17') WHERE NOT bloom_filter_excludes AND row_group_id < 1), '{0}', 'the row group that has it');
SELECT cmp_ok((SELECT count(*) FROM generate_series(1000, 1400) g, parquet_bloom_probe(:'path', 'id', g::text) WHERE bloom_filter_excludes), '>', 1900::bigint, 'most others are excluded');
SELECT is((SELECT count(*) FROM parquet_bloom_probe(:'path', 'n', '1.5') WHERE bloom_filter_excludes IS NULL), 5::bigint, 'long decimals are not asked for');
SELECT is((SELECT count(*) FROM parquet_bloom_probe(:'path', 'f', 'NaN') WHERE bloom_filter_excludes IS NULL), 5::bigint, 'nor is NaN');
SELECT is((SELECT count(*) FROM parquet_bloom_probe(:'path', 's.y', '3') WHERE NOT coalesce(bloom_filter_excludes, false)) > 0, true, 'a field of a group');
\set none :testdata '/cases/ranges.parquet'
SELECT is((SELECT count(*) FROM parquet_bloom_probe(:'none', 'id', '17') WHERE bloom_filter_excludes IS NULL), 5::bigint, 'no filters');
SELECT throws_ok(format('SELECT * FROM parquet_bloom_probe(%L, ''nope'', ''1'')', :'path'), '42703', NULL, 'a column that is not there');
SELECT throws_ok(format('SELECT * FROM parquet_bloom_probe(%L, ''id'', ''x'')', :'path'), '22P02', NULL, 'a value that is none');
SELECT throws_ok(format('SELECT * FROM parquet_bloom_probe(%L, ''l'', ''1'')', :'path'), '0A000', NULL, 'a list');
SELECT is((SELECT count(*) FROM parquet_bloom_probe(:'path', 'id', NULL)), 0::bigint, 'no value');
CREATE ROLE curious;
GRANT USAGE ON SCHEMA analytics_fdw TO curious;
SET ROLE curious;
SELECT throws_ok(format('SELECT * FROM analytics_fdw.parquet_bloom_probe(%L, ''id'', ''1'')', :'path'), '42501', NULL, 'files of the server are not for all');
RESET ROLE;
SELECT * FROM finish();
DROP OWNED BY curious;
DROP ROLE curious;
