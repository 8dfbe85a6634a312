-- What the engine lets PostgreSQL compute over distinct values.
\set suite host
\i sql/include/tables.inc

EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE url ILIKE '%é%' COLLATE "en-x-icu";
EXPLAIN (COSTS OFF) SELECT to_char(day, 'YYYY-MM'), sum(quantity) FROM events GROUP BY 1;
-- the smallest expression whose result the engine knows; what it has itself is inside
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE length(quote_literal(kind) || to_char(customer + 1, 'RN')) > 33;
EXPLAIN (COSTS OFF) SELECT (regexp_match(url, '//(a|ab)(c|bcd)'))[2], count(*) FROM events GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT kind FROM events GROUP BY 1 HAVING to_char(count(*), 'RN') LIKE '%X%';
-- what stays: volatile, not built in, a result that the engine does not know
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE quote_literal(url || random()) < '5' COLLATE "C";
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE opaque(lower(url COLLATE "en-x-icu"));
EXPLAIN (COSTS OFF) SELECT string_to_array(kind, 'i'), count(*) FROM events GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT power(quantity::numeric, 40), count(*) FROM events GROUP BY 1;
SET analytics_fdw.enable_dictionary_service = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE url ILIKE '%é%' COLLATE "en-x-icu";
RESET analytics_fdw.enable_dictionary_service;

-- a finished plan does what was decided when it was made
PREPARE p AS SELECT upper(kind COLLATE "en-x-icu"), count(*) FROM events GROUP BY 1 ORDER BY 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE p;
SET analytics_fdw.enable_dictionary_service = off;
EXECUTE p;
RESET analytics_fdw.enable_dictionary_service;
RESET plan_cache_mode;

-- errors carry PostgreSQL's own message; rows that a LIMIT cuts off raise none
SELECT count(*) FROM events WHERE id = 7 AND to_date(kind, 'YYYY') > '2000-01-01';
SELECT count(*) FROM (SELECT id FROM events
	WHERE quantity >= 0 AND to_date(CASE id WHEN 990 THEN 'x' ELSE '2000' END, 'YYYY') = '2000-01-01' LIMIT 3) s;
BEGIN;
SAVEPOINT s;
SELECT decode(kind, 'hex') FROM events WHERE kind = 'view' GROUP BY 1;
ROLLBACK TO s;
SELECT count(*) FROM events WHERE quote_literal(kind) > '';
COMMIT;
-- columns of types that the engine does not understand are read by PostgreSQL
CREATE TYPE kinds AS ENUM ('return', 'view', 'click', 'buy');
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
\set path :testdata '/events.parquet'
CREATE FOREIGN TABLE typed (id int8 NOT NULL, kind kinds NOT NULL, url text COLLATE nocase)
	SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE padded (id int8 NOT NULL, kind char(8) NOT NULL, url name)
	SERVER analytics_fdw OPTIONS (path :'path');
CREATE FOREIGN TABLE wrong (id int8 NOT NULL, kind inet NOT NULL)
	SERVER analytics_fdw OPTIONS (path :'path');
EXPLAIN (COSTS OFF) SELECT count(*) FROM typed WHERE kind > 'view' AND url = '/SHOP/3';
SELECT count(*) FROM typed WHERE kind > 'view' AND url = '/SHOP/3';
SELECT kind::text, min(id) FROM typed GROUP BY 1 ORDER BY 2;
SELECT count(*) FROM padded WHERE kind = 'view' AND kind <> 'view x' AND url > '/shop';
SELECT length(kind), octet_length(kind), kind::text || '|', min(id) FROM padded GROUP BY 1, 2, 3 ORDER BY 4;
SELECT count(*) FROM wrong WHERE id = 7 AND kind = '127.0.0.1';

-- permissions on functions are checked
CREATE ROLE host_reader;
GRANT USAGE ON SCHEMA host TO host_reader;
GRANT SELECT ON events TO host_reader;
BEGIN;
REVOKE EXECUTE ON FUNCTION pg_catalog.quote_literal(text) FROM public;
SET ROLE host_reader;
SELECT count(*) FROM events WHERE quote_literal(kind) > '';
ROLLBACK;
DROP OWNED BY host_reader;
DROP ROLE host_reader;
