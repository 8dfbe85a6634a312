-- Rights (R01, R07): files of the server are for members of pg_read_server_files.
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

-- the owner needs the right whenever the table is read: tables are given away, rights are taken back
SET ROLE afdw_reader;
CREATE FOREIGN TABLE given (id int) SERVER analytics_fdw OPTIONS (path :'path');
GRANT SELECT ON given TO afdw_bob;
CREATE VIEW over_given AS SELECT count(*) FROM given;
GRANT SELECT ON over_given TO afdw_bob;
RESET ROLE;
SET ROLE afdw_bob;
SELECT count(*) FROM given;
PREPARE given_count AS SELECT count(*) FROM given;
EXECUTE given_count;
RESET ROLE;
REVOKE pg_read_server_files FROM afdw_reader;
SET ROLE afdw_bob;
SELECT count(*) FROM given;
EXECUTE given_count;
SELECT * FROM over_given;
ANALYZE given;
RESET ROLE;
SELECT count(*) FROM given;			-- a superuser too: it is the owner's table
ALTER FOREIGN TABLE given OWNER TO afdw_bob;
SELECT count(*) FROM given;
GRANT pg_read_server_files TO afdw_bob;
SELECT count(*) FROM given;
REVOKE pg_read_server_files FROM afdw_bob;
ALTER FOREIGN TABLE given OPTIONS (SET path :'path');
ALTER FOREIGN TABLE given OWNER TO CURRENT_USER;
GRANT pg_read_server_files TO afdw_reader;
DEALLOCATE given_count;
-- a view reads with the rights of its owner, statistics included; its columns are all there is to see
GRANT SELECT (id) ON types TO afdw_reader;
REVOKE ALL ON types FROM afdw_bob;
SET ROLE afdw_reader;
CREATE VIEW ids AS SELECT id FROM types;
CREATE VIEW all_types AS SELECT * FROM types;
GRANT SELECT ON ids, all_types TO afdw_bob;
SELECT c_string FROM types;
SELECT count(*), max(id) FROM types;
SET ROLE afdw_bob;
SELECT count(*) FROM ids WHERE id > 3;
SELECT count(*) FROM all_types;
SELECT id FROM types;
RESET ROLE;

-- a security barrier holds back conditions that could leak
CREATE FUNCTION leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS
$$ BEGIN RAISE NOTICE 'seen %', $1; RETURN true; END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, c_int32 FROM types WHERE id < 3;
EXPLAIN (COSTS OFF) SELECT * FROM barrier WHERE leak(id);
SELECT * FROM barrier WHERE leak(id) ORDER BY id;
CREATE VIEW barrier2 WITH (security_barrier) AS SELECT id, c_int32 FROM types WHERE id % 2 = 0;
EXPLAIN (COSTS OFF) SELECT * FROM barrier2 WHERE c_int32 + 2147483640 > 7;

-- conditions stay in their order: the barrier's own, then those that cannot leak, then the others
CREATE VIEW barrier3 WITH (security_barrier) AS SELECT id, c_int32, c_string FROM types WHERE c_int32 <> 0;
EXPLAIN (COSTS OFF) SELECT id FROM barrier3 WHERE 10 / c_int32 > 0 AND id = 1;
SELECT id FROM barrier3 WHERE 10 / c_int32 > 0 ORDER BY id;
SET analytics_fdw.max_threads = 1;		-- rows come in the file's order
SELECT count(*) FROM barrier3 WHERE leak(id) AND 10 / c_int32 > 0;
RESET analytics_fdw.max_threads;
CREATE TABLE keys AS SELECT g AS id FROM generate_series(1, 3) g;
ANALYZE keys;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT k.id, b.id FROM keys k JOIN barrier3 b ON b.id = k.id AND 10 / b.c_int32 = 10 ORDER BY 1;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- secrets are refused where everybody could read them
CREATE SERVER open_book FOREIGN DATA WRAPPER analytics_fdw OPTIONS (secret 'x');
CREATE FOREIGN TABLE open_book (a int) SERVER analytics_fdw OPTIONS (path 'x', aws_secret_access_key 'x');
ALTER FOREIGN TABLE types ALTER id OPTIONS (ADD password 'x');

DROP OWNED BY afdw_bob, afdw_reader;
DROP ROLE afdw_bob, afdw_reader;
