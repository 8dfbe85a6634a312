-- Columns that change from file to file, and how columns find those of a file.
\set suite evolve
\i sql/include/tables.inc
-- E02: declared columns win; what a file lacks is NULL or the default
\set path :testdata '/evolved'
CREATE FOREIGN TABLE evolved (id int8 NOT NULL, name text, amount float8, note text)
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT id / 100 AS file, count(*), count(name), count(amount), sum(amount), count(note) FROM evolved
	GROUP BY 1 ORDER BY 1;
SELECT * FROM evolved WHERE id % 100 = 7 ORDER BY id;
-- E02: an empty list has the columns of the first file; other names
CREATE FOREIGN TABLE inferred () SERVER analytics_fdw OPTIONS (path :'path');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
	WHERE attrelid = 'inferred'::regclass AND attnum > 0 ORDER BY attnum;
ALTER FOREIGN TABLE inferred RENAME amount TO total;
ALTER FOREIGN TABLE inferred ALTER total OPTIONS (ADD column_name 'amount'),
	ALTER total TYPE float8;
SELECT id, total FROM inferred WHERE id < 3 ORDER BY id;
-- defaults, in conditions and groups too
ALTER FOREIGN TABLE evolved ALTER note OPTIONS (ADD "default" 'no note');
ALTER FOREIGN TABLE evolved ALTER amount OPTIONS (ADD "default" '-0.5');
SELECT note, amount, count(*) FROM evolved WHERE id >= 200 AND id < 300 GROUP BY 1, 2;
SELECT count(*) FROM evolved WHERE note = 'no note';
SELECT count(*), sum(id) FROM evolved WHERE amount = -0.5;
SELECT max(note), count(DISTINCT note) FROM evolved;
ALTER FOREIGN TABLE evolved ALTER amount OPTIONS (SET "default" 'much');
SELECT count(*) FROM evolved;
ALTER FOREIGN TABLE evolved ALTER amount OPTIONS (DROP "default");
-- a column that must not be missing; the error names the file
CREATE FUNCTION place(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; context text;
BEGIN
	EXECUTE q;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, message = MESSAGE_TEXT;
	RETURN SQLSTATE || ' ' || message || ': ' ||
		regexp_replace(split_part(context, E'\n', 1), '"/[^"]*/testdata', '"...');
END $$;
ALTER FOREIGN TABLE evolved ALTER note OPTIONS (DROP "default");
ALTER FOREIGN TABLE evolved OPTIONS (ADD allow_missing_columns 'off');
SELECT place('SELECT count(note) FROM evolved');
ALTER FOREIGN TABLE evolved OPTIONS (DROP allow_missing_columns);
ALTER FOREIGN TABLE evolved ALTER name SET NOT NULL;
SELECT place('SELECT count(name) FROM evolved WHERE id >= 200');
ALTER FOREIGN TABLE evolved ALTER name DROP NOT NULL;
-- C23: types that do not fit
\set path :testdata '/conflict'
CREATE FOREIGN TABLE conflict (a int) SERVER analytics_fdw OPTIONS (path :'path');
SELECT place('SELECT * FROM conflict');
-- a value that does not fit into a narrower column is an error of its row only
\set path :testdata '/evolved'
CREATE FOREIGN TABLE narrow (id int2, amount int2) SERVER analytics_fdw OPTIONS (path :'path');
SELECT place('SELECT amount FROM narrow');
-- by position: names do not matter
CREATE FOREIGN TABLE placed (first int8) SERVER analytics_fdw
	OPTIONS (path :'path', match_by 'position');
SELECT place('SELECT * FROM placed');
\set path :testdata '/evolved/[02]*'
CREATE FOREIGN TABLE placed2 (f text OPTIONS (virtual '_file'), a int8, b text)
	SERVER analytics_fdw OPTIONS (path :'path', match_by 'position');
SELECT f, count(*), min(a), max(b) FROM placed2 GROUP BY f ORDER BY f;
-- by field id: a file without ids is an error, not a table of NULLs
CREATE FOREIGN TABLE ids (a int8 OPTIONS (field_id '1')) SERVER analytics_fdw
	OPTIONS (path :'path', match_by 'field_id');
SELECT place('SELECT * FROM ids');
-- W05, E13: names that differ in case only
\set path :testdata '/cases.parquet'
CREATE FOREIGN TABLE cases ("ID" int, id int, "Name" text, name text) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT * FROM cases WHERE id = 1005;
SELECT * FROM cases WHERE "ID" = 5;
SELECT count(*) FROM cases WHERE id = 5;
CREATE FOREIGN TABLE folded ("Id" int) SERVER analytics_fdw
	OPTIONS (path :'path', case_insensitive 'on');
SELECT place('SELECT * FROM folded');
CREATE FOREIGN TABLE exact (id int, "NAME" text OPTIONS (column_name 'Name')) SERVER analytics_fdw
	OPTIONS (path :'path', case_insensitive 'on');
SELECT * FROM exact WHERE id = 1003;
-- E05: keys with any declared type
\set path :testdata '/folder/sales'
CREATE FOREIGN TABLE sales (a int, year text, m int, "B" text) SERVER analytics_fdw
	OPTIONS (path :'path');
SELECT * FROM sales WHERE year = '2024' ORDER BY a;
ALTER FOREIGN TABLE sales ALTER year TYPE int, ALTER m TYPE text;
SELECT * FROM sales WHERE year > 2023 AND m = '02' ORDER BY a;
ALTER FOREIGN TABLE sales ALTER year TYPE date;
SELECT place('SELECT * FROM sales');

-- words of other wrappers
CREATE FOREIGN TABLE other (id int8) SERVER analytics_fdw OPTIONS (filename '/nowhere');
\set files :testdata '/parts/part-0.parquet  ' :testdata '/parts/part-2.parquet'
ALTER FOREIGN TABLE other OPTIONS (SET filename :'files');
SELECT count(*), max(id) FROM other;
\set files :testdata '/parts/part-0.parquet, ' :testdata '/parts/part-1.parquet'
ALTER FOREIGN TABLE other OPTIONS (DROP filename, ADD files :'files');
SELECT count(*), max(id) FROM other;
\set files :testdata '/parts/part-1.parquet'
ALTER FOREIGN TABLE other OPTIONS (DROP files, ADD uri :'files');
SELECT count(*), max(id) FROM other;
\set files :testdata '/parts'
ALTER FOREIGN TABLE other OPTIONS (DROP uri, ADD dirname :'files', ADD union_by_name 'true',
	ADD max_open_files '1');
SELECT count(*), max(id) FROM other;
ALTER FOREIGN TABLE other OPTIONS (ADD path '/x');

-- files_func: with the rights of the owner
CREATE FUNCTION which(arg jsonb) RETURNS text[] LANGUAGE sql
	AS $$ SELECT array_agg(arg ->> 'dir' || '/part-' || n || '.parquet')
		FROM jsonb_array_elements_text(arg -> 'parts') n $$;
CREATE FOREIGN TABLE chosen (id int8) SERVER analytics_fdw OPTIONS (files_func 'evolve.which');
\set arg '{"parts": [0, 2], "dir": "' :testdata '/parts"}'
ALTER FOREIGN TABLE chosen OPTIONS (ADD files_func_arg :'arg');
SELECT count(*), min(id), max(id) FROM chosen;
CREATE FOREIGN TABLE filled () SERVER analytics_fdw
	OPTIONS (files_func 'evolve.which', files_func_arg :'arg');
SELECT count(*) FROM pg_attribute WHERE attrelid = 'filled'::regclass AND attnum > 0;
CREATE FUNCTION whoami(arg jsonb) RETURNS text[] LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE 'as %', current_user; RETURN ARRAY['/nowhere/*']; END $$;
CREATE ROLE evolve_owner;
CREATE ROLE evolve_reader;
GRANT USAGE ON SCHEMA evolve TO evolve_owner, evolve_reader;
CREATE FOREIGN TABLE owned (id int8) SERVER analytics_fdw OPTIONS (files_func 'evolve.whoami');
ALTER FOREIGN TABLE owned OWNER TO evolve_owner;
GRANT SELECT ON owned TO evolve_reader;
SET ROLE evolve_reader;
SELECT count(*) FROM owned;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION whoami FROM PUBLIC;
SET ROLE evolve_reader;
SELECT count(*) FROM owned;
RESET ROLE;
GRANT EXECUTE ON FUNCTION whoami TO evolve_owner;
ALTER FUNCTION whoami OWNER TO evolve_owner;
SELECT count(*) FROM owned;
-- tables in one call
\set path :testdata '/hive'
SELECT analytics_fdw.import_table('evolve."My hive"', :'path', '{"hive_partitioning": "on"}');
SELECT year, count(*) FROM "My hive" GROUP BY year ORDER BY year;
SELECT analytics_fdw.import_table('pg_temp.brief', :'path');
SELECT count(*) FROM brief WHERE month = 1;
SELECT analytics_fdw.import_parquet('parquet', 'evolve', 'analytics_fdw', 'evolve.which'::regproc,
	:'arg', '{"max_threads": "2"}');
SELECT count(*) FROM parquet;
SELECT array_to_string(ftoptions[1:1] || ftoptions[3:3], ' ') FROM pg_foreign_table
	WHERE ftrelid = 'parquet'::regclass;
\set VERBOSITY terse
SELECT analytics_fdw.import_table('bad', '/nowhere', '{"paht": 1}');
SET ROLE evolve_reader;
SELECT analytics_fdw.import_table('bad', '/nowhere');
RESET ROLE;
-- E09: a generated column
CREATE FOREIGN TABLE generated (a int, b int GENERATED ALWAYS AS (a + 1) STORED)
	SERVER analytics_fdw OPTIONS (path :'path');
SELECT * FROM generated;
CREATE FOREIGN TABLE bad (id int8) SERVER analytics_fdw OPTIONS (files_func 'which');
CREATE FOREIGN TABLE bad (id int8) SERVER analytics_fdw
	OPTIONS (files_func 'evolve.which', files_func_arg 'no json');
CREATE FOREIGN TABLE wrong (id int8) SERVER analytics_fdw
	OPTIONS (files_func 'pg_catalog.jsonb_typeof');
SELECT * FROM wrong;
SET ROLE evolve_owner;
ALTER FOREIGN TABLE owned OPTIONS (SET files_func 'evolve.which');
RESET ROLE;
SET client_min_messages = warning;
DROP OWNED BY evolve_owner, evolve_reader;
DROP ROLE evolve_owner, evolve_reader;
