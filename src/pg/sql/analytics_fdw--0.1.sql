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

CREATE FOREIGN DATA WRAPPER analytics_fdw
	HANDLER analytics_fdw.analytics_fdw_handler
	VALIDATOR analytics_fdw.analytics_fdw_validator;

COMMENT ON FOREIGN DATA WRAPPER analytics_fdw IS
'analytical SQL on Parquet files where they lie';

-- For local files; needs no options.
CREATE SERVER analytics_fdw FOREIGN DATA WRAPPER analytics_fdw;

-- CREATE FOREIGN TABLE t () ...: the columns are those of the files.
CREATE FUNCTION analytics_fdw.fill_columns()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'analytics_fdw_fill_columns'
LANGUAGE C;

CREATE EVENT TRIGGER analytics_fdw_columns ON ddl_command_end
	WHEN TAG IN ('CREATE FOREIGN TABLE')
	EXECUTE FUNCTION analytics_fdw.fill_columns();
