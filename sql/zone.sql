-- Time zones: of the session when execution starts, and constant ones.
\set suite zone
\i sql/include/tables.inc

EXPLAIN (COSTS OFF) SELECT date_trunc('day', ts), count(*) FROM events
	WHERE ts::date = '2024-02-01' AND ts < date '2024-03-31' AND extract(hour FROM ts) < 12 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT ts AT TIME ZONE 'Europe/Berlin', count(*) FROM events
	WHERE date_trunc('hour', ts, 'Asia/Kathmandu') + interval '1 month' > '2024-03-01' GROUP BY 1;
-- other names of zones: PostgreSQL computes them
EXPLAIN (COSTS OFF) SELECT ts AT TIME ZONE 'CET', count(*) FROM events GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT ts AT TIME ZONE interval '-03:30', count(*) FROM events GROUP BY 1;

-- a plan made under one zone runs under another
SET plan_cache_mode = force_generic_plan;
PREPARE days AS SELECT ts::date, count(*), min(id), max(ts::timestamp) FROM events WHERE id < 900 GROUP BY 1 ORDER BY 1;
PREPARE hours(int) AS SELECT count(*), min(id) FROM events WHERE extract(hour FROM ts) = $1;
EXECUTE days;
EXECUTE hours(3);
SET timezone = 'America/St_Johns';
EXECUTE days;
EXECUTE hours(3);
SET timezone = '<-03>+3';
EXECUTE days;
EXECUTE hours(3);
SET timezone = 'EST5EDT4,M3.2.0,M11.1.0';
EXECUTE days;
EXECUTE hours(3);
-- and what is fetched from a cursor has the zone of its beginning
BEGIN;
SET LOCAL timezone = 'Asia/Kathmandu';
DECLARE c CURSOR FOR SELECT extract(hour FROM ts), count(*) FROM events WHERE id < 900 GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
SET LOCAL timezone = 'UTC';
FETCH 2 FROM c;
COMMIT;
-- also when it runs again and again
SET timezone = 'Australia/Lord_Howe';
SELECT x, (SELECT count(*) FROM events WHERE ts::date = d + x AND id < 900)
	FROM generate_series(0, 2) x, (VALUES (date '2024-01-02')) v(d);
RESET timezone;
SELECT count(*) FROM events WHERE ts + interval '300000 years' > now();
