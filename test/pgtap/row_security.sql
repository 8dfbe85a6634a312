-- Policies of a parent hold for its foreign partitions: conditions of a query come after them.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/events.parquet'
SELECT plan(5);
CREATE TABLE parent (id int8, kind text, quantity int2) PARTITION BY LIST (kind);
CREATE FOREIGN TABLE part PARTITION OF parent DEFAULT SERVER analytics_fdw OPTIONS (path :'path');
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON parent USING (quantity <> 7 AND id % 2 = 0);
CREATE FUNCTION leak(bigint) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS
$$ BEGIN IF $1 % 2 = 1 THEN RAISE EXCEPTION 'seen %', $1; END IF; RETURN true; END $$;
CREATE TABLE twin AS SELECT * FROM part WHERE quantity <> 7 AND id % 2 = 0;
CREATE ROLE afdw_alice;
GRANT SELECT ON parent, twin TO afdw_alice;
SET ROLE afdw_alice;
SELECT is((SELECT count(*) FROM parent WHERE 1 / (quantity - 7) > -10),
	(SELECT count(*) FROM twin), 'a condition that raises sees no hidden row');
SELECT is((SELECT sum(100 / (quantity - 7)) FROM parent),
	(SELECT sum(100 / (quantity - 7)) FROM twin), 'neither does an aggregate');
SELECT is((SELECT count(*) FROM parent WHERE leak(id)), (SELECT count(*) FROM twin),
	'nor a function');
SELECT is((SELECT count(*) FROM parent WHERE leak(id) AND 1 / (quantity - 7) > -10),
	(SELECT count(*) FROM twin), 'nor both');
SELECT set_config('analytics_fdw.enable_prewhere', 'off', false) \g /dev/null
SELECT is((SELECT count(*) FROM parent WHERE 1 / (quantity - 7) > -10),
	(SELECT count(*) FROM twin), 'in any order of reading');
RESET ROLE;
DROP OWNED BY afdw_alice;
DROP ROLE afdw_alice;
SELECT * FROM finish();
