-- Estimates from metadata, and ANALYZE.  Row counts in coarse words, so that the output is stable.
\set suite statistics
\i sql/include/tables.inc
\set path :testdata '/dictionaries.parquet'
CREATE FOREIGN TABLE dictionaries (few text, many text, runs text, number float8)
	SERVER analytics_fdw OPTIONS (path :'path');
CREATE FUNCTION estimate(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	j json;
	e float8;
	a float8;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || q INTO j;
	e := greatest((j->0->'Plan'->>'Plan Rows')::float8, 1);
	EXECUTE 'SELECT count(*) FROM (' || q || ') s' INTO a;
	a := greatest(a, 1);
	RETURN CASE WHEN greatest(e / a, a / e) <= 1.25 THEN 'right'
				WHEN greatest(e / a, a / e) <= 3 THEN 'near'
				WHEN e > a THEN 'over' ELSE 'under' END;
END $$;
CREATE TABLE queries (n serial, q text);
INSERT INTO queries (q) VALUES
	('SELECT id FROM events'),
	('SELECT id FROM events WHERE id < 100'),
	('SELECT id FROM events WHERE id BETWEEN 7000 AND 8000'),
	('SELECT id FROM events WHERE id > 1000000'),
	('SELECT id FROM events WHERE id = 77'),
	('SELECT id FROM events WHERE ts < ''2024-01-05'''),
	('SELECT id FROM events WHERE day = ''2024-01-05'''),
	('SELECT id FROM events WHERE customer = 7'),
	('SELECT id FROM events WHERE customer IS NULL'),
	('SELECT id FROM events WHERE customer IN (1, 2, 3)'),
	('SELECT id FROM events WHERE url IS NOT NULL AND quantity > 17'),
	('SELECT 1 FROM events e JOIN customers c ON e.customer = c.id'),
	('SELECT 1 FROM events e JOIN parts p ON e.id = p.id'),
	('SELECT day FROM events GROUP BY day'),
	('SELECT customer FROM events GROUP BY customer'),
	('SELECT DISTINCT id FROM events'),
	('SELECT DISTINCT quantity FROM events'),
	('SELECT a FROM nulls WHERE a = 1'),
	('SELECT a FROM empty'),
	('SELECT few FROM dictionaries WHERE few = ''red'''),
	('SELECT few FROM dictionaries GROUP BY few'),
	('SELECT many FROM dictionaries GROUP BY many'),
	('SELECT runs FROM dictionaries GROUP BY runs'),
	('SELECT number FROM dictionaries GROUP BY number');
SELECT q, estimate(q) FROM queries ORDER BY n;

-- L03, L07: ANALYZE, the sample is the whole table here, so its results are exact
ANALYZE events;
ANALYZE empty;
ANALYZE nulls;
SELECT relname, reltuples, relpages > 0 AS pages FROM pg_class
	WHERE relnamespace = 'statistics'::regnamespace AND relname IN ('events', 'empty', 'nulls') ORDER BY 1;
SELECT attname, null_frac, n_distinct, round(correlation::numeric, 2) AS correlation,
	array_length(most_common_freqs, 1) AS common FROM pg_stats
	WHERE schemaname = 'statistics' AND tablename = 'events' ORDER BY 1;
INSERT INTO queries (q) VALUES
	('SELECT id FROM events WHERE kind = ''buy'''),
	('SELECT id FROM events WHERE amount < 100'),
	('SELECT id FROM events WHERE paid'),
	('SELECT DISTINCT url FROM events'),
	('SELECT kind, paid FROM events GROUP BY kind, paid');
SELECT q, estimate(q) FROM queries ORDER BY n;

-- samples that are smaller than the table
SET default_statistics_target = 1;
CREATE FUNCTION sampled(sampling text) RETURNS TABLE (columns bigint, rows float4, ids text, kinds text)
	LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER FOREIGN TABLE events OPTIONS (SET analyze_sampling %L)', sampling);
	ANALYZE events;
	RETURN QUERY SELECT count(*), max(c.reltuples),
		max(CASE WHEN attname = 'id' THEN s.n_distinct::text END),
		max(CASE WHEN attname = 'kind' THEN s.n_distinct::text END)
		FROM pg_stats s, pg_class c WHERE s.schemaname = 'statistics' AND s.tablename = 'events' AND
			c.oid = 'events'::regclass;
END $$;
ALTER FOREIGN TABLE events OPTIONS (ADD analyze_sampling 'auto');
SELECT * FROM unnest('{auto,random,bernoulli,system,off}'::text[]) m, LATERAL sampled(m);
RESET default_statistics_target;
ALTER FOREIGN TABLE events OPTIONS (SET analyze_sampling 'some');
ANALYZE events (kind, id);
ANALYZE events (nothing);

-- as a child, and columns whose values go through input functions
CREATE TABLE parent (id int8, kind text);
CREATE FOREIGN TABLE child (quantity int2) INHERITS (parent) SERVER analytics_fdw OPTIONS (path :'path');
ALTER TABLE parent ALTER kind TYPE varchar(10);
\set path :testdata '/events.parquet'
ALTER FOREIGN TABLE child OPTIONS (SET path :'path');
INSERT INTO parent VALUES (-1, 'heap');
ANALYZE parent;
SELECT attname, inherited, n_distinct FROM pg_stats WHERE schemaname = 'statistics' AND tablename = 'parent'
	ORDER BY 1, 2;

-- costs are options
ALTER FOREIGN TABLE customers OPTIONS (ADD fdw_startup_cost '1000', ADD fdw_tuple_cost '0');
CREATE FUNCTION cost(q text, OUT startup float8, OUT rest float8) LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || q INTO j;
	startup := (j->0->'Plan'->>'Startup Cost')::float8;
	rest := (j->0->'Plan'->>'Total Cost')::float8 - startup;
END $$;
SELECT startup, rest < 1 AS cheap FROM cost('SELECT * FROM customers');
ALTER FOREIGN TABLE customers OPTIONS (SET fdw_tuple_cost '2');
SELECT startup, rest >= 1000 AS dear FROM cost('SELECT * FROM customers');
ALTER FOREIGN TABLE customers OPTIONS (SET fdw_tuple_cost '-1');
ALTER FOREIGN TABLE customers OPTIONS (SET fdw_startup_cost 'much');

-- the hook shows bounds to nobody who may not see the column
CREATE ROLE afdw_curious;
GRANT USAGE ON SCHEMA statistics TO afdw_curious;
CREATE VIEW some_customers WITH (security_barrier) AS SELECT id, country FROM customers WHERE country = 'de';
GRANT SELECT ON some_customers TO afdw_curious;
CREATE FUNCTION spy(int, int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN RAISE NOTICE 'planner saw a bound'; RETURN $1 < $2; END $$;
CREATE OPERATOR <<< (LEFTARG = int, RIGHTARG = int, PROCEDURE = spy, RESTRICT = scalarltsel);
EXPLAIN (COSTS OFF) SELECT FROM customers WHERE id <<< 3;
SET ROLE afdw_curious;
EXPLAIN (COSTS OFF) SELECT * FROM some_customers WHERE id <<< 3;
RESET ROLE;
DROP OWNED BY afdw_curious;
DROP ROLE afdw_curious;
