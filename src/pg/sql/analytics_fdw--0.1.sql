/* src/pg/sql/analytics_fdw--0.1.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION analytics_fdw" to load this file. \quit

-- nothing here reads files on its own
GRANT USAGE ON SCHEMA analytics_fdw TO PUBLIC;

CREATE FUNCTION analytics_fdw.analytics_fdw_handler()
RETURNS fdw_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE FUNCTION analytics_fdw.analytics_fdw_validator(text[], oid)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE FUNCTION analytics_fdw.version()
RETURNS text
AS 'MODULE_PATHNAME', 'analytics_fdw_version'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION analytics_fdw.version() IS
'version of the library that is loaded';

CREATE FUNCTION analytics_fdw.build_info(OUT key text, OUT value text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_build_info'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

COMMENT ON FUNCTION analytics_fdw.build_info() IS
'how the library was built and what it can read';

CREATE FUNCTION analytics_fdw.explain_pipeline(query text, format text DEFAULT 'text')
RETURNS text
AS 'MODULE_PATHNAME', 'analytics_fdw_explain_pipeline'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.explain_pipeline(text, text) IS
'operators that the engine runs for a query, as text or for Graphviz (dot)';

-- What is in files.  These read storage with the rights of the server.
CREATE FUNCTION analytics_fdw.list(uri text, OUT path text, OUT size bigint,
	OUT mtime timestamptz, OUT etag text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_list'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.list(text) IS
'files that a path, directory or glob names';

CREATE FUNCTION analytics_fdw.describe(uri text, OUT column_name text, OUT pg_type text,
	OUT source_type text, OUT nullable boolean, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_describe'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.describe(text) IS
'columns of the first of the files, with the types that a foreign table would declare';

CREATE FUNCTION analytics_fdw.parquet_file_metadata(uri text, OUT file_name text,
	OUT created_by text, OUT num_rows bigint, OUT num_row_groups bigint,
	OUT format_version bigint, OUT file_size_bytes bigint, OUT footer_size bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_parquet_file_metadata'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.parquet_file_metadata(text) IS
'one row for each file';

CREATE FUNCTION analytics_fdw.parquet_schema(uri text, OUT file_name text, OUT name text,
	OUT type text, OUT type_length bigint, OUT repetition_type text, OUT num_children bigint,
	OUT converted_type text, OUT scale bigint, OUT "precision" bigint, OUT field_id bigint,
	OUT logical_type text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_parquet_schema'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.parquet_schema(text) IS
'elements of the schema of each file, in the order of the file';

CREATE FUNCTION analytics_fdw.parquet_metadata(uri text, OUT file_name text,
	OUT row_group_id bigint, OUT row_group_num_rows bigint, OUT row_group_num_columns bigint,
	OUT row_group_bytes bigint, OUT column_id bigint, OUT file_offset bigint,
	OUT num_values bigint, OUT path_in_schema text, OUT type text, OUT stats_min text,
	OUT stats_max text, OUT stats_null_count bigint, OUT stats_distinct_count bigint,
	OUT stats_min_value text, OUT stats_max_value text, OUT compression text,
	OUT encodings text, OUT index_page_offset bigint, OUT dictionary_page_offset bigint,
	OUT data_page_offset bigint, OUT total_compressed_size bigint,
	OUT total_uncompressed_size bigint, OUT bloom_filter_offset bigint,
	OUT bloom_filter_length bigint, OUT min_is_exact boolean, OUT max_is_exact boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_parquet_metadata'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.parquet_metadata(text) IS
'one row for each column chunk of each row group, with its statistics as the file has them';

CREATE FUNCTION analytics_fdw.parquet_column_stats(uri text, OUT file_name text,
	OUT column_id bigint, OUT field_id bigint, OUT path_in_schema text, OUT stats_min text,
	OUT stats_max text, OUT stats_null_count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_parquet_column_stats'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.parquet_column_stats(text) IS
'one row for each column of each file, with the statistics that are believed';

CREATE FUNCTION analytics_fdw.parquet_kv_metadata(uri text, OUT file_name text, OUT key bytea,
	OUT value bytea)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_parquet_kv_metadata'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.parquet_kv_metadata(text) IS
'keys and values that the writer left in each file';

CREATE FUNCTION analytics_fdw.parquet_bloom_probe(uri text, column_name text, value text,
	OUT file_name text, OUT row_group_id bigint, OUT bloom_filter_excludes boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_parquet_bloom_probe'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.parquet_bloom_probe(text, text, text) IS
'one row for each row group: is the value surely not in it?';

CREATE FUNCTION analytics_fdw.mergetree_parts(uri text, OUT file_name text, OUT name text,
	OUT part_type text, OUT partition_id text, OUT min_block_number bigint,
	OUT max_block_number bigint, OUT level bigint, OUT data_version bigint, OUT marks bigint,
	OUT rows bigint, OUT columns bigint, OUT files bigint, OUT bytes_on_disk bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_mergetree_parts'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.mergetree_parts(text) IS
'one row for each active part of a MergeTree table';

CREATE FUNCTION analytics_fdw.mergetree_columns(uri text, OUT file_name text, OUT "column" text,
	OUT type text, OUT column_position bigint, OUT serialization_kind text, OUT substreams text,
	OUT column_bytes_on_disk bigint, OUT column_data_compressed_bytes bigint,
	OUT column_data_uncompressed_bytes bigint, OUT column_marks_bytes bigint, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_mergetree_columns'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.mergetree_columns(text) IS
'one row for each column of each active part';

CREATE FUNCTION analytics_fdw.mergetree_marks(uri text, OUT file_name text, OUT "column" text,
	OUT substream text, OUT mark_number bigint, OUT rows_in_granule bigint,
	OUT offset_in_compressed_file bigint, OUT offset_in_decompressed_block bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_mergetree_marks'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.mergetree_marks(text) IS
'one row for each mark of each stream of each active part';

CREATE FUNCTION analytics_fdw.mergetree_check(uri text, OUT file_name text, OUT file text, OUT ok boolean,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_mergetree_check'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.mergetree_check(text) IS
'one row for each file of each active part, compared with checksums.txt';

REVOKE EXECUTE ON FUNCTION analytics_fdw.list(text), analytics_fdw.describe(text),
	analytics_fdw.parquet_file_metadata(text), analytics_fdw.parquet_schema(text),
	analytics_fdw.parquet_metadata(text), analytics_fdw.parquet_column_stats(text),
	analytics_fdw.parquet_kv_metadata(text), analytics_fdw.mergetree_parts(text),
	analytics_fdw.parquet_bloom_probe(text, text, text),
	analytics_fdw.mergetree_columns(text), analytics_fdw.mergetree_marks(text),
	analytics_fdw.mergetree_check(text) FROM PUBLIC;

CREATE FOREIGN DATA WRAPPER analytics_fdw
	HANDLER analytics_fdw.analytics_fdw_handler
	VALIDATOR analytics_fdw.analytics_fdw_validator;

COMMENT ON FOREIGN DATA WRAPPER analytics_fdw IS
'analytical SQL on Parquet files where they lie';

-- For local files; needs no options.
CREATE SERVER analytics_fdw FOREIGN DATA WRAPPER analytics_fdw;

-- CREATE FOREIGN TABLE t () ...: the columns are those of the files.  After an import: comments.
CREATE FUNCTION analytics_fdw.fill_columns()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'analytics_fdw_fill_columns'
LANGUAGE C;

CREATE EVENT TRIGGER analytics_fdw_columns ON ddl_command_end
	WHEN TAG IN ('CREATE FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA')
	EXECUTE FUNCTION analytics_fdw.fill_columns();

-- Options in effect, for whoever may see the tables at all; a table's own come before its server's.
CREATE VIEW analytics_fdw.options AS
SELECT DISTINCT ON (o."table", o.option, o."column")
	o."table", o."column", o.option, o.value, o.source
FROM (
	SELECT t.ftrelid::regclass AS "table", NULL::name AS "column", x.option_name AS option,
		x.option_value AS value, 'table' AS source, 1 AS rank, t.ftserver
	FROM pg_catalog.pg_foreign_table t, pg_catalog.pg_options_to_table(t.ftoptions) x
	UNION ALL
	SELECT t.ftrelid::regclass, NULL, x.option_name, x.option_value, 'server', 2, t.ftserver
	FROM pg_catalog.pg_foreign_table t
		JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver,
		pg_catalog.pg_options_to_table(s.srvoptions) x
	UNION ALL
	SELECT t.ftrelid::regclass, a.attname, x.option_name, x.option_value, 'column', 1, t.ftserver
	FROM pg_catalog.pg_foreign_table t
		JOIN pg_catalog.pg_attribute a ON a.attrelid = t.ftrelid AND NOT a.attisdropped,
		pg_catalog.pg_options_to_table(a.attfdwoptions) x
) o
	JOIN pg_catalog.pg_foreign_server s ON s.oid = o.ftserver
	JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw
WHERE w.fdwname = 'analytics_fdw'
ORDER BY o."table", o.option, o."column", o.rank;

COMMENT ON VIEW analytics_fdw.options IS
'options in effect of each foreign table, its columns and its server';

GRANT SELECT ON analytics_fdw.options TO PUBLIC;

-- Queries of the engine.  The functions show each caller his own, and all to pg_read_all_stats.
CREATE FUNCTION analytics_fdw.stat_queries(OUT pid integer, OUT datid oid, OUT usesysid oid,
	OUT relid oid, OUT queryid bigint, OUT query_start timestamptz, OUT phase text,
	OUT files_done bigint, OUT files_total bigint, OUT row_groups_done bigint,
	OUT row_groups_total bigint, OUT rows_read bigint, OUT rows_returned bigint,
	OUT bytes_read bigint, OUT bytes_total bigint, OUT threads integer, OUT max_threads integer,
	OUT memory bigint, OUT peak_memory bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_stat_queries'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW analytics_fdw.stat_queries AS
SELECT q.pid, q.datid, d.datname, q.usesysid, r.rolname AS usename, q.relid, q.queryid,
	q.query_start, q.phase, q.files_done, q.files_total, q.row_groups_done, q.row_groups_total,
	q.rows_read, q.rows_returned, q.bytes_read, q.bytes_total, q.threads, q.max_threads,
	q.memory, q.peak_memory, a.wait_event_type, a.wait_event
FROM analytics_fdw.stat_queries() q
	LEFT JOIN pg_catalog.pg_database d ON d.oid = q.datid
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = q.usesysid
	LEFT JOIN pg_catalog.pg_stat_get_activity(NULL) a ON a.pid = q.pid;

COMMENT ON VIEW analytics_fdw.stat_queries IS
'queries that the engine runs now, and how far they are';

CREATE FUNCTION analytics_fdw.query_log(OUT pid integer, OUT datid oid, OUT usesysid oid,
	OUT relid oid, OUT queryid bigint, OUT query_start timestamptz,
	OUT duration double precision, OUT format text, OUT files bigint,
	OUT row_groups bigint, OUT row_groups_read bigint, OUT removed_partition bigint,
	OUT removed_minmax bigint, OUT removed_bloom bigint, OUT removed_dictionary bigint,
	OUT removed_page_index bigint, OUT removed_primary_key bigint,
	OUT removed_skip_index bigint, OUT removed_limit bigint, OUT pages_read bigint,
	OUT pages_skipped bigint, OUT rows_read bigint, OUT rows_returned bigint,
	OUT bytes_read bigint, OUT pages_cached bigint, OUT bytes_cached bigint,
	OUT requests bigint,
	OUT peak_memory bigint, OUT max_threads integer, OUT peak_threads integer,
	OUT cpu_time double precision, OUT io_wait double precision, OUT spilled bigint,
	OUT sqlstate text, OUT error text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'analytics_fdw_query_log'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW analytics_fdw.query_log AS
SELECT d.datname, r.rolname AS usename, q.*
FROM analytics_fdw.query_log() q
	LEFT JOIN pg_catalog.pg_database d ON d.oid = q.datid
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = q.usesysid;

COMMENT ON VIEW analytics_fdw.query_log IS
'the last queries that the engine ran, oldest first; times in milliseconds';

CREATE FUNCTION analytics_fdw.query_log_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'analytics_fdw_query_log_reset'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.query_log_reset() IS
'forgets all entries of query_log';

REVOKE EXECUTE ON FUNCTION analytics_fdw.query_log_reset() FROM PUBLIC;
GRANT SELECT ON analytics_fdw.stat_queries, analytics_fdw.query_log TO PUBLIC;

-- A foreign table in one call; the options are those of foreign tables.
CREATE FUNCTION analytics_fdw.import_table(name text, path text, options jsonb DEFAULT '{}')
RETURNS regclass
AS 'MODULE_PATHNAME', 'analytics_fdw_import_table'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.import_table(text, text, jsonb) IS
'creates a foreign table with the columns of the files';

-- Arguments in the order of parquet_fdw's function of this name.
CREATE FUNCTION analytics_fdw.import_parquet(tablename text, schemaname text, servername text,
	userfunc regproc, args jsonb, options jsonb DEFAULT '{}')
RETURNS regclass
AS 'MODULE_PATHNAME', 'analytics_fdw_import_parquet'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION analytics_fdw.import_parquet(text, text, text, regproc, jsonb, jsonb) IS
'creates a foreign table over the files that a function names';

REVOKE EXECUTE ON FUNCTION analytics_fdw.import_table(text, text, jsonb),
	analytics_fdw.import_parquet(text, text, text, regproc, jsonb, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION analytics_fdw.import_table(text, text, jsonb),
	analytics_fdw.import_parquet(text, text, text, regproc, jsonb, jsonb)
	TO pg_read_server_files;
