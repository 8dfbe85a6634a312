-- What is not read: row groups ruled out by Bloom filters and dictionaries, pages by page indexes.
\set suite skip
\i sql/include/tables.inc
\set path :testdata '/skips.parquet'
CREATE FOREIGN TABLE skips (id int8 NOT NULL, k int4, big int8 NOT NULL, u text COLLATE "C",
	w text COLLATE "C", x float8, d numeric(9, 2), n int4, s text COLLATE "C", ts timestamp NOT NULL)
	SERVER analytics_fdw OPTIONS (path :'path');
CREATE FUNCTION skipped(what text, cond text) RETURNS TABLE (line text) LANGUAGE plpgsql AS $$
DECLARE
	q text := 'SELECT ' || what || ' FROM skips WHERE ' || cond;
	rows text[];
	plain text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || q LOOP
		line := trim(line);
		IF line ~ '^(Row Groups|Pages|Rows Read):' THEN RETURN NEXT; END IF;
	END LOOP;
	EXECUTE 'SELECT array_agg(t::text ORDER BY t::text) FROM (' || q || ') t' INTO rows;
	PERFORM set_config('analytics_fdw.enable_row_group_pruning', 'off', true);
	EXECUTE 'SELECT array_agg(t::text ORDER BY t::text) FROM (' || q || ') t' INTO plain;
	PERFORM set_config('analytics_fdw.enable_row_group_pruning', 'on', true);
	line := coalesce(cardinality(rows), 0) || ' rows, '
		|| CASE WHEN rows IS NOT DISTINCT FROM plain THEN 'the same' ELSE 'OTHERS' END
		|| ' without skipping';
	RETURN NEXT;
END $$;
-- Bloom filters: numbers, text, decimals, IN, = ANY, LIKE without wildcards
SET analytics_fdw.enable_dictionary_filter = off;
SET analytics_fdw.enable_page_index = off;
SELECT skipped('*', 'k = 60001');
SELECT skipped('*', 'k = 60001::int8');
SELECT skipped('*', 'k IN (60001, 60004, 60007)');
SELECT skipped('*', 'k = ANY (ARRAY[60001, NULL])');
SELECT skipped('*', 'u = ''user-00060001-1''');
SELECT skipped('*', 'u LIKE ''user-00060001-1''');
SELECT skipped('*', 'd = 130.01');
SELECT skipped('*', 'd = 130.010');
SELECT skipped('*', 'x = 0');
SELECT skipped('*', 'x = ''NaN''');
SELECT skipped('*', 'k = 60001 OR u = ''user-00060001-1''');
SELECT skipped('*', 'k <> 60001 AND id < 3');
SET analytics_fdw.enable_bloom_filter = off;
SELECT skipped('*', 'k = 60001');
-- dictionaries: any condition on one column that cannot fail; nulls are none of their values
SET analytics_fdw.enable_dictionary_filter = on;
SELECT skipped('id', 'w LIKE ''%d 41''');
SELECT skipped('id', 'length(w) = 7 AND w LIKE ''%17''');
SELECT skipped('id', 'w LIKE ''%d 41'' OR w IS NULL');
SELECT skipped('id', 'x = ''NaN''');
SELECT skipped('id', '1 / (id - 9) > 0 AND w LIKE ''%d 41'' AND id > 9');
SET analytics_fdw.enable_dictionary_filter = off;
SELECT skipped('id', 'w LIKE ''%d 41''');
-- page indexes: ranges, nulls, AND and OR over columns whose pages end at the same or other rows
SET analytics_fdw.enable_page_index = on;
SELECT skipped('*', 'id BETWEEN 3050 AND 3060');
SELECT skipped('*', 'id BETWEEN 3050 AND 3060 OR n = 17');
SELECT skipped('*', 'id > 100 AND id < 2500 AND n IS NULL');
SELECT skipped('id, u', 'n IS NOT NULL AND s IS NULL');
SELECT skipped('id, u', 's LIKE ''s0312%''');
SELECT skipped('id, u', 's > ''s03'' AND n < 3123');
SELECT skipped('id, u', 'ts >= ''2022-01-10 01:00'' AND ts < ''2022-01-10 02:00''');
SELECT skipped('id, u', 'x > 100 AND id < 200');
SELECT skipped('id, u', 'id IN (5, 6, 7777)');
SELECT skipped('id, u', 'n = 1600');
SET analytics_fdw.enable_page_index = off;
SELECT skipped('*', 'id BETWEEN 3050 AND 3060');
SELECT skipped('id, u', 'n = 1600');
