-- A tour of analytics_fdw over the demo lake: `make demo` runs it.
\ir tables.sql
\pset footer off

\echo
\echo '== What is there: tables imported from files, columns and types found in them'
SELECT c.relname AS table, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
       ORDER BY a.attnum) AS columns
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'f' GROUP BY 1 ORDER BY 1;

\echo '== Count and filter: plain SQL'
SELECT count(*) AS trips, min(started_at), max(started_at) FROM trips;

SELECT count(*) AS trips, round(avg(distance_km)::numeric, 2) AS km
FROM trips WHERE started_at >= '2024-06-01' AND started_at < '2024-06-08' AND member;

\echo '== What the plan says: what runs in the engine and what was never read'
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT count(*) AS trips, avg(distance_km) AS km
FROM trips WHERE started_at >= '2024-06-01' AND started_at < '2024-06-08' AND member;

\echo '== Group and order'
SELECT extract(hour FROM started_at) AS hour, count(*) AS trips, count(*) FILTER (WHERE member) AS members
FROM trips GROUP BY 1 ORDER BY trips DESC LIMIT 5;

EXPLAIN (COSTS OFF)
SELECT start_station, count(*) FROM trips GROUP BY 1 ORDER BY 2 DESC LIMIT 5;

\echo '== Directory names are columns, and files that they exclude are never opened'
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT city, count(*), sum(cost) FROM repairs WHERE year = 2024 AND part = 'chain' GROUP BY city;

\echo '== Parts of a ClickHouse table, without ClickHouse: its primary key leaves out granules'
SELECT state, count(*), avg(free) FROM docking WHERE station = 7 GROUP BY state ORDER BY 2 DESC;

EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT state, count(*), avg(free) FROM docking WHERE station = 7 GROUP BY state ORDER BY 2 DESC;

\echo '== What the engine lacks, PostgreSQL computes once for each value; what cannot be shipped stays'
EXPLAIN (COSTS OFF)
SELECT count(*) FROM stations WHERE to_char(docks, 'RN') LIKE '%X%';

EXPLAIN (COSTS OFF)
SELECT name FROM stations WHERE random() < 0.5;

\echo '== What is in the files'
SELECT row_group_id, path_in_schema, encodings, total_compressed_size, stats_min, stats_max
FROM analytics_fdw.parquet_metadata(:'lake' || '/weather.parquet')
WHERE path_in_schema IN ('day', 'rain_mm');

\echo '== Join files with files'
SELECT s.name AS station, count(*) AS trips, round(sum(t.distance_km)) AS km
FROM trips t JOIN stations s ON s.id = t.start_station
GROUP BY s.name ORDER BY trips DESC LIMIT 5;

SELECT w.rain_mm > 3 AS rainy, count(*) / count(DISTINCT w.day) AS trips_a_day
FROM trips t JOIN weather w ON w.day = t.started_at::date
GROUP BY 1 ORDER BY 1;

\echo '== Join files with a local table'
CREATE TABLE pass (bike int PRIMARY KEY, checked date);
INSERT INTO pass SELECT g, '2024-01-01'::date + g FROM generate_series(1, 400, 7) AS g;
SELECT count(*) AS trips_on_checked_bikes FROM trips JOIN pass USING (bike)
WHERE started_at::date > checked;
