-- Rights: files of the server are for members of pg_read_server_files.
\set suite security
\i sql/include/tables.inc
\set path :testdata '/types.parquet'
\set folder :testdata '/parts'

CREATE ROLE afdw_bob;
CREATE ROLE afdw_reader IN ROLE pg_read_server_files;
GRANT USAGE ON FOREIGN SERVER analytics_fdw TO afdw_bob, afdw_reader;
GRANT USAGE, CREATE ON SCHEMA security TO afdw_bob, afdw_reader;
GRANT SELECT ON types TO afdw_bob;
CREATE VIEW through_view AS SELECT count(*) FROM customers;
GRANT SELECT ON through_view TO afdw_bob;

SET ROLE afdw_bob;
CREATE FOREIGN TABLE passwd (a text) SERVER analytics_fdw OPTIONS (path '/etc/passwd');
CREATE FOREIGN TABLE blank (a text) SERVER analytics_fdw;
ALTER FOREIGN TABLE blank OPTIONS (ADD path '/etc/passwd');
IMPORT FOREIGN SCHEMA "/etc" FROM SERVER analytics_fdw INTO security;
SELECT count(*) FROM types;			-- a table of somebody with the right
SELECT count(*) FROM customers;		-- no right on the table
SELECT * FROM through_view;
RESET ROLE;

SET ROLE afdw_reader;
CREATE FOREIGN TABLE mine (id int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT count(*) FROM mine;
IMPORT FOREIGN SCHEMA parts FROM SERVER analytics_fdw INTO security OPTIONS (path :'folder');
SELECT relname FROM pg_class WHERE relname LIKE 'part-_' ORDER BY 1;
RESET ROLE;

-- a security barrier holds back conditions that could leak
CREATE FUNCTION leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS
$$ BEGIN RAISE NOTICE 'seen %', $1; RETURN true; END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, c_int32 FROM types WHERE id < 3;
EXPLAIN (COSTS OFF) SELECT * FROM barrier WHERE leak(id);
SELECT * FROM barrier WHERE leak(id) ORDER BY id;
CREATE VIEW barrier2 WITH (security_barrier) AS SELECT id, c_int32 FROM types WHERE id % 2 = 0;
EXPLAIN (COSTS OFF) SELECT * FROM barrier2 WHERE c_int32 + 2147483640 > 7;

DROP OWNED BY afdw_bob, afdw_reader;
DROP ROLE afdw_bob, afdw_reader;
