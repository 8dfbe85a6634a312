-- Functions that show what is in MergeTree parts.
\set suite mergetree_facts
\i sql/include/tables.inc
-- a directory's name is the machine's
CREATE FUNCTION base(text) RETURNS text IMMUTABLE LANGUAGE sql AS
	$$ SELECT pg_catalog.regexp_replace($1, '^.*/', '') $$;
\set visits :testdata '/visits'
\set part :testdata '/visits/all_3_3_0_4'
\set compact :testdata '/visits/all_2_2_0'
\set unsummed :testdata '/visits/all_3_3_0'
\set damaged :testdata '/damaged'
\set flipped :testdata '/damaged/all_1_1_0'
\set missing :testdata '/damaged/all_2_2_0'
\set events :testdata '/events.parquet'

SELECT base(file_name) = name AS same, name, part_type, partition_id, min_block_number,
		max_block_number, level, data_version, marks, rows, columns, files, bytes_on_disk > 0 AS bytes
	FROM analytics_fdw.mergetree_parts(:'visits');
SELECT "column", type, column_position, serialization_kind, substreams,
		column_data_uncompressed_bytes, column_marks_bytes,
		column_bytes_on_disk = column_data_compressed_bytes + column_marks_bytes AS sum, note
	FROM analytics_fdw.mergetree_columns(:'part');
-- streams of a compact part have no files of their own
SELECT count(*), count(substreams), count(column_bytes_on_disk)
	FROM analytics_fdw.mergetree_columns(:'compact');
SELECT "column", substream, mark_number, rows_in_granule, offset_in_compressed_file,
		offset_in_decompressed_block
	FROM analytics_fdw.mergetree_marks(:'part') WHERE "column" IN ('id', 'customer');
-- every granule of a stream once, and all rows
SELECT base(file_name), count(DISTINCT substream), count(*), sum(rows_in_granule),
		count(DISTINCT mark_number)
	FROM analytics_fdw.mergetree_marks(:'visits') GROUP BY 1 ORDER BY 1;

-- what is written is what was meant
SELECT base(file_name), file, ok, message FROM analytics_fdw.mergetree_check(:'part') ORDER BY 1, 2;
SELECT base(file_name), count(*), bool_and(ok) FROM analytics_fdw.mergetree_check(:'visits')
	GROUP BY 1 ORDER BY 1;
SELECT base(file_name), file, ok, message FROM analytics_fdw.mergetree_check(:'unsummed');
-- what is wrong is a row here ...
SELECT base(file_name), file, ok, message
	FROM analytics_fdw.mergetree_check(:'damaged') WHERE NOT ok ORDER BY 1, 2;
-- ... and an error for who reads
\set VERBOSITY sqlstate
SELECT count(*) FROM analytics_fdw.mergetree_parts(:'missing');
CREATE FOREIGN TABLE flipped (amount float8) SERVER analytics_fdw
	OPTIONS (path :'flipped', format 'mergetree');
SELECT sum(amount) FROM flipped;
SELECT * FROM analytics_fdw.mergetree_parts(:'events');
\set VERBOSITY default

-- rights
SET analytics_fdw.allowed_directories = '/nowhere';
\set VERBOSITY sqlstate
SELECT * FROM analytics_fdw.mergetree_parts(:'visits');
SELECT * FROM analytics_fdw.mergetree_check(:'visits');
\set VERBOSITY default
RESET analytics_fdw.allowed_directories;
CREATE ROLE mergetree_nobody;
SET ROLE mergetree_nobody;
SELECT * FROM analytics_fdw.mergetree_parts('/x');
SELECT * FROM analytics_fdw.mergetree_columns('/x');
SELECT * FROM analytics_fdw.mergetree_marks('/x');
SELECT * FROM analytics_fdw.mergetree_check('/x');
RESET ROLE;
-- EXECUTE alone is not enough
GRANT EXECUTE ON FUNCTION analytics_fdw.mergetree_check(text) TO mergetree_nobody;
SET ROLE mergetree_nobody;
SELECT * FROM analytics_fdw.mergetree_check('/x');
RESET ROLE;
DROP OWNED BY mergetree_nobody;
DROP ROLE mergetree_nobody;
