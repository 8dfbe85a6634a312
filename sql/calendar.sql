-- Dates of writers that counted by the hybrid Julian calendar, Drill's shifted ones, and those that
-- PostgreSQL does not reach.
\set suite calendar
\i sql/include/tables.inc
CREATE FUNCTION declare(file text, options text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'DROP FOREIGN TABLE IF EXISTS c';
	EXECUTE format('CREATE FOREIGN TABLE c (id int, d date, t timestamp, n timestamp, l date[]) SERVER analytics_fdw
		OPTIONS (path %L %s)', current_setting('afdw.testdata') || '/cases/' || file || '.parquet', options);
END $$;
SELECT set_config('afdw.testdata', :'testdata', false) IS NOT NULL AS ok;
-- 1500-02-29 was a day of the old calendar only; 1582-10-04 was the last one
SELECT declare('calendar_spark2');
SELECT * FROM c ORDER BY id;
-- the numbers as they are
SELECT declare('calendar_new');
SELECT * FROM c ORDER BY id;
CREATE TABLE proleptic AS SELECT * FROM c;
SELECT declare('calendar_spark2');
CREATE TABLE hybrid AS SELECT * FROM c;
-- who wrote what by which calendar: dates and timestamps, INT96
CREATE FUNCTION which() RETURNS TABLE (dates text, int96 text) LANGUAGE sql AS $$
	SELECT CASE WHEN (SELECT array_agg((d, t, l) ORDER BY id) FROM c) = (SELECT array_agg((d, t, l) ORDER BY id) FROM hybrid)
			THEN 'hybrid' WHEN (SELECT array_agg((d, t, l) ORDER BY id) FROM c) = (SELECT array_agg((d, t, l) ORDER BY id) FROM proleptic)
			THEN 'proleptic' END,
		CASE WHEN (SELECT array_agg(n ORDER BY id) FROM c) = (SELECT array_agg(n ORDER BY id) FROM hybrid) THEN 'hybrid'
			WHEN (SELECT array_agg(n ORDER BY id) FROM c) = (SELECT array_agg(n ORDER BY id) FROM proleptic) THEN 'proleptic' END
$$;
SELECT declare('calendar_spark30');
SELECT * FROM which();
SELECT declare('calendar_legacy');
SELECT * FROM which();
SELECT declare('calendar_hive');
SELECT * FROM which();
SELECT declare('calendar_spark2', ', calendar ''proleptic''');
SELECT * FROM which();
SELECT declare('calendar_new', ', calendar ''hybrid''');
SELECT * FROM which();
SELECT declare('calendar_new', ', calendar ''mayan''');
-- conditions and bounds are those of the corrected values
SELECT declare('calendar_spark2');
SELECT w, (SELECT array_agg(id ORDER BY id) FROM hybrid h WHERE CASE w WHEN 'd' THEN h.d < '1500-03-02' ELSE h.t >= '1500-03-01 12:00' END) AS heap
	FROM (VALUES ('d'), ('t')) v(w);
SELECT array_agg(id ORDER BY id) FROM c WHERE d < '1500-03-02';
SELECT array_agg(id ORDER BY id) FROM c WHERE t >= '1500-03-01 12:00';
SELECT array_agg(id ORDER BY id) FROM c WHERE d = '1500-03-01';
SELECT array_agg(id ORDER BY id) FROM c WHERE d = '1582-10-04';
SELECT min(d), max(d), min(t), max(t) FROM c;
SELECT count(*) FROM c JOIN hybrid h USING (id) WHERE c.d::timestamp = h.d AND c.t::date = h.t::date;

-- Drill
CREATE FUNCTION drill(file text, options text DEFAULT '') RETURNS SETOF date LANGUAGE plpgsql AS $$
BEGIN
	PERFORM declare(file, options);
	RETURN QUERY SELECT d FROM c ORDER BY id;
END $$;
SELECT * FROM drill('drill_old');
SELECT count(*) FROM c WHERE d < '2000-01-01';
SELECT min(d), max(d) FROM c;
SELECT * FROM drill('drill_old', ', drill_dates ''off''');
SELECT * FROM drill('drill_new');
SELECT * FROM drill('drill_maybe');
SELECT * FROM drill('drill_maybe', ', drill_dates ''auto''');
SELECT count(*) FROM c WHERE d > '1990-01-01';

-- dates that PostgreSQL does not have
SELECT declare('dates');
SELECT id, d FROM c ORDER BY id;
SELECT declare('nodate');
SELECT d FROM c;
SELECT declare('nodate', ', out_of_range ''infinity''');
SELECT d FROM c;
SELECT count(*) FROM c WHERE d = '-infinity';
SELECT count(*) FROM c WHERE d > '-infinity';
