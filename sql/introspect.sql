-- Functions that show what is in files; the view of options.
\set suite introspect
\i sql/include/tables.inc
-- a directory's name is the machine's
CREATE FUNCTION base(text) RETURNS text IMMUTABLE LANGUAGE sql AS
	$$ SELECT pg_catalog.regexp_replace($1, '^.*/', '') $$;
\set types :testdata '/types.parquet'
\set events :testdata '/events.parquet'
\set parts :testdata '/parts'
\set glob :testdata '/parts/part-[02].parquet'
\set nothing :testdata '/no-such-*.parquet'
\set missing :testdata '/missing.parquet'

SELECT base(path), size > 40000 AS size, mtime > '2020-01-01' AS mtime, etag
	FROM analytics_fdw.list(:'parts');
SELECT base(path) FROM analytics_fdw.list(:'glob');
SELECT * FROM analytics_fdw.list(:'nothing');
SELECT count(*) FROM analytics_fdw.list(NULL);
\set VERBOSITY sqlstate
SELECT * FROM analytics_fdw.list(:'missing');
\set VERBOSITY default

SELECT * FROM analytics_fdw.describe(:'types');
SELECT * FROM analytics_fdw.describe(:'nothing');

SELECT base(file_name), created_by, num_rows, num_row_groups, format_version,
		file_size_bytes > footer_size AS sizes
	FROM analytics_fdw.parquet_file_metadata(:'parts');
SELECT name, type, type_length, repetition_type, num_children, converted_type, scale,
		"precision", field_id, logical_type
	FROM analytics_fdw.parquet_schema(:'types');
SELECT row_group_id, row_group_num_rows, row_group_num_columns, column_id, num_values,
		path_in_schema, type, stats_null_count, stats_min_value, stats_max_value,
		compression, encodings
	FROM analytics_fdw.parquet_metadata(:'events') WHERE column_id IN (0, 4, 7);
-- one row for each chunk
SELECT count(*), bool_and(data_page_offset >= dictionary_page_offset), sum(num_values),
		sum(total_compressed_size) < sum(total_uncompressed_size) AS smaller
	FROM analytics_fdw.parquet_metadata(:'events');
-- what is believed: no maximum of floats that might hide a NaN
SELECT column_id, path_in_schema, stats_min, stats_max, stats_null_count
	FROM analytics_fdw.parquet_column_stats(:'events');
SELECT * FROM analytics_fdw.parquet_kv_metadata(:'events');
-- over several files
SELECT count(*), count(DISTINCT file_name) FROM analytics_fdw.parquet_metadata(:'parts');

-- what metadata says is what a scan finds
SELECT s.path_in_schema, s.stats_min = q.min AND s.stats_null_count = q.nulls AS same
FROM analytics_fdw.parquet_column_stats(:'events') s, (
	SELECT 'id' AS name, min(id)::text, count(*) - count(id) AS nulls FROM events
	UNION ALL SELECT 'kind', min(kind), count(*) - count(kind) FROM events
	UNION ALL SELECT 'day', min(day)::text, count(*) - count(day) FROM events
	UNION ALL SELECT 'amount', min(amount)::text, count(*) - count(amount) FROM events) q
WHERE s.path_in_schema = q.name ORDER BY 1;

-- rights
CREATE ROLE introspect_nobody;
GRANT USAGE ON SCHEMA introspect TO introspect_nobody;
SET ROLE introspect_nobody;
SELECT * FROM analytics_fdw.list('/');
SELECT * FROM analytics_fdw.parquet_schema('/x');
RESET ROLE;
-- EXECUTE alone is not enough
GRANT EXECUTE ON FUNCTION analytics_fdw.list(text), analytics_fdw.parquet_metadata(text)
	TO introspect_nobody;
SET ROLE introspect_nobody;
SELECT * FROM analytics_fdw.list('/');
SELECT * FROM analytics_fdw.parquet_metadata('/x');
RESET ROLE;
GRANT pg_read_server_files TO introspect_nobody;
SET ROLE introspect_nobody;
SELECT count(*) FROM analytics_fdw.list(:'parts');
RESET ROLE;
DROP OWNED BY introspect_nobody;
DROP ROLE introspect_nobody;

-- options in effect
CREATE SERVER introspect_server FOREIGN DATA WRAPPER analytics_fdw
	OPTIONS (max_threads '3', format 'parquet');
CREATE FOREIGN TABLE configured (a int OPTIONS (column_name 'x'), b date OPTIONS (epoch_unit 's'))
	SERVER introspect_server OPTIONS (path '/x', max_threads '2');
SELECT "column", option, value, source FROM analytics_fdw.options
	WHERE "table" = 'configured'::regclass ORDER BY option, "column";
DROP SERVER introspect_server CASCADE;
