-- Option time_zone (Z02): local times declared as instants, and the reverse.
\set suite zone_option
\i sql/include/tables.inc
\set path :testdata '/types.parquet'
CREATE FOREIGN TABLE z (id int, c_timestamp timestamptz, c_timestamptz timestamp)
	SERVER analytics_fdw OPTIONS (path :'path');
CREATE FUNCTION differ(zone text) RETURNS TABLE (rows bigint, to_utc bigint, to_local bigint)
LANGUAGE sql AS $$
	SELECT count(*),
		count(*) FILTER (WHERE z.c_timestamp IS DISTINCT FROM t.c_timestamp AT TIME ZONE zone),
		count(*) FILTER (WHERE z.c_timestamptz IS DISTINCT FROM t.c_timestamptz AT TIME ZONE zone)
	FROM z JOIN types t USING (id)
$$;
SELECT * FROM differ('UTC');
ALTER FOREIGN TABLE z OPTIONS (ADD time_zone 'Europe/Berlin');
SELECT * FROM differ('Europe/Berlin');
SELECT * FROM z WHERE id < 6 ORDER BY id;
ALTER FOREIGN TABLE z OPTIONS (SET time_zone 'America/New_York');
SELECT * FROM differ('America/New_York');
-- not the session's zone
SET timezone = 'Asia/Kathmandu';
SELECT * FROM differ('America/New_York');
RESET timezone;
ALTER FOREIGN TABLE z OPTIONS (SET time_zone 'Mars/Crater');

-- conditions, bounds, order; offsets change within the file
\set path :testdata '/events.parquet'
CREATE FOREIGN TABLE e (id int8, ts timestamp, day date) SERVER analytics_fdw
	OPTIONS (path :'path', time_zone 'America/New_York');
CREATE FUNCTION differ() RETURNS TABLE (what text, n bigint) LANGUAGE sql AS $$
	WITH l AS MATERIALIZED (
		SELECT id, ts AT TIME ZONE (SELECT split_part(o, '=', 2) FROM pg_foreign_table, unnest(ftoptions) o
			WHERE ftrelid = 'e'::regclass AND o LIKE 'time_zone=%') AS ts FROM events)
	SELECT 'rows', count(*) FROM e JOIN l USING (id) WHERE e.ts IS DISTINCT FROM l.ts
	UNION ALL SELECT 'filter', abs((SELECT count(*) FROM e WHERE ts >= '2024-03-10 01:00' AND ts < '2024-03-10 04:00')
		- (SELECT count(*) FROM l WHERE ts >= '2024-03-10 01:00' AND ts < '2024-03-10 04:00'))
	UNION ALL SELECT 'bounds', count(*) FROM (SELECT min(ts), max(ts) FROM e) a, (SELECT min(ts), max(ts) FROM l) b
		WHERE a <> b
	UNION ALL SELECT 'order', count(*) FROM (SELECT ts FROM e ORDER BY ts DESC LIMIT 5) a
		WHERE ts NOT IN (SELECT ts FROM l ORDER BY ts DESC LIMIT 5)
$$;
SELECT * FROM differ();
SELECT count(*) > 0 FROM e WHERE ts >= '2024-03-10 01:00' AND ts < '2024-03-10 04:00';
-- a fixed offset still leaves row groups out
ALTER FOREIGN TABLE e OPTIONS (SET time_zone 'Etc/GMT+5');
SELECT * FROM differ();
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT id FROM e WHERE ts < '2024-01-01 00:00';

-- instants of a MergeTree table, which is ordered by them in part
\set path :testdata '/visits'
\set definition :testdata '/visits.sql'
CREATE FOREIGN TABLE v (id int8, ts timestamptz, day date) SERVER analytics_fdw
	OPTIONS (path :'path', format 'mergetree', definition :'definition');
CREATE TABLE instants AS SELECT id, ts, day FROM v;
CREATE FOREIGN TABLE m (id int8, ts timestamp, day date) SERVER analytics_fdw
	OPTIONS (path :'path', format 'mergetree', definition :'definition', time_zone 'America/New_York');
CREATE TABLE here AS SELECT id, ts AT TIME ZONE 'America/New_York' AS ts FROM instants;
SELECT count(*), count(*) FILTER (WHERE m.ts IS DISTINCT FROM h.ts) AS differ FROM m JOIN here h USING (id);
SELECT (SELECT count(*) FROM m WHERE ts >= '2024-03-10 01:00' AND ts < '2024-03-10 04:00') AS ours, count(*)
	FROM here WHERE ts >= '2024-03-10 01:00' AND ts < '2024-03-10 04:00';
SELECT (SELECT count(*) FROM m WHERE ts = (SELECT ts FROM here WHERE id = 17)) AS ours, count(*)
	FROM here WHERE ts = (SELECT ts FROM here WHERE id = 17);
SELECT min(ts) = (SELECT min(ts) FROM here) AS min, max(ts) = (SELECT max(ts) FROM here) AS max FROM m;
SELECT count(*) FROM (SELECT id, ts FROM m ORDER BY ts DESC, id LIMIT 50) a
	JOIN (SELECT id, ts FROM here ORDER BY ts DESC, id LIMIT 50) b USING (id, ts);
