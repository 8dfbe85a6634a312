-- Which expressions run in the engine, and why others do not.
\set suite pushdown
\i sql/include/tables.inc

-- conditions
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE id > 5 AND quantity <= 3 AND amount <> 1.5;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE kind = 'buy' AND url LIKE '%shop%';
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE kind IN ('buy', 'view') AND quantity NOT IN (1, 2);
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE quantity IN (1, 70000);
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE (paid OR quantity IS NULL) AND NOT (id < 10);
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE paid IS NOT TRUE AND customer IS DISTINCT FROM 7;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE day >= '2024-01-05' AND ts < '2024-02-01 00:00+00';
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE quantity + 1 > 5 AND day + 1 > '2024-01-05';
EXPLAIN (COSTS OFF) SELECT id FROM events
	WHERE CASE WHEN paid THEN quantity ELSE 0::int2 END > 3 AND coalesce(customer, 0) = 1;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE nullif(customer, 7) > 500;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE ts > now() - interval '1 day';

-- what stays, with the reason
CREATE FUNCTION mine(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 3; END';
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE mine(customer) AND quantity > 3;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE random() < 0.5;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE opaque(kind);
EXPLAIN (COSTS OFF) SELECT id FROM events e WHERE e IS NOT NULL;
SET analytics_fdw.enable_dictionary_service = off;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE kind LIKE url;
RESET analytics_fdw.enable_dictionary_service;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE tableoid > 0;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE id IN (SELECT 1 WHERE false) OR quantity = 1;
-- a condition that can raise stays behind a local one of lower cost
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE opaque(kind) AND customer * 100000 > 5;
SET analytics_fdw.explain_not_pushed = off;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE mine(customer);
RESET analytics_fdw.explain_not_pushed;

-- collations
CREATE COLLATION nd (provider = icu, locale = 'und', deterministic = false);
CREATE COLLATION icu (provider = icu, locale = 'en');
\set path :testdata '/customers.parquet'
CREATE FOREIGN TABLE collated (id int, name text COLLATE icu, country text COLLATE nd)
	SERVER analytics_fdw OPTIONS (path :'path');
EXPLAIN (COSTS OFF) SELECT id FROM collated WHERE name = 'Ada 1';
SET analytics_fdw.enable_dictionary_service = off;
EXPLAIN (COSTS OFF) SELECT id FROM collated WHERE name < 'B';
RESET analytics_fdw.enable_dictionary_service;
EXPLAIN (COSTS OFF) SELECT id FROM collated WHERE name < 'B' COLLATE "C";
SET analytics_fdw.enable_dictionary_service = off;
EXPLAIN (COSTS OFF) SELECT id FROM collated WHERE country = 'de';
RESET analytics_fdw.enable_dictionary_service;
EXPLAIN (COSTS OFF) SELECT name, count(*) FROM collated GROUP BY name;
EXPLAIN (COSTS OFF) SELECT country, count(*) FROM collated GROUP BY country;
EXPLAIN (COSTS OFF) SELECT id FROM collated ORDER BY name LIMIT 3;
EXPLAIN (COSTS OFF) SELECT max(name) FROM collated;
EXPLAIN (COSTS OFF) SELECT id FROM collated ORDER BY name COLLATE "C" LIMIT 3;

-- pushdown_regex: the engine's own regular expressions, or PostgreSQL's
SET analytics_fdw.pushdown_regex = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE url ~ 'h/.*[0-4]$';
SELECT count(*) FROM events WHERE url ~ 'h/.*[0-4]$' AND regexp_replace(url, '^(.)(.*)$', '\2') !~* '[XYZ]';
SET analytics_fdw.enable_dictionary_service = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE url ~ 'h/.*[0-4]$';
SELECT count(*) FROM events WHERE url ~ 'h/.*[0-4]$' AND regexp_replace(url, '^(.)(.*)$', '\2') !~* '[XYZ]';
RESET analytics_fdw.enable_dictionary_service;
RESET analytics_fdw.pushdown_regex;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE url ~ 'h/.*[0-4]$';
SELECT count(*) FROM events WHERE url ~ 'h/.*[0-4]$' AND regexp_replace(url, '^(.)(.*)$', '\2') !~* '[XYZ]';
-- what looks into arrays, and why it stays
\set path :testdata '/cases/lists.parquet'
CREATE FOREIGN TABLE lists (id int, a int[]) SERVER analytics_fdw OPTIONS (path :'path');
EXPLAIN (COSTS OFF) SELECT count(*) FROM lists WHERE 1 = ANY (a) OR a @> '{1}';
EXPLAIN (COSTS OFF) SELECT count(*) FROM lists WHERE a[1] = 1 AND cardinality(a) > 1 AND array_length(a, 1) > 1 AND a && '{1}';
SELECT array_agg(id ORDER BY id) FROM lists WHERE a[1] = 1 OR cardinality(a) = 0;

-- require_pushdown
SET analytics_fdw.require_pushdown = warn;
SELECT count(*) FROM events WHERE mine(customer) AND id < 100;
SET analytics_fdw.require_pushdown = error;
SELECT count(*) FROM events WHERE mine(customer) AND id < 100;
SELECT count(*) FROM events WHERE id < 100;
RESET analytics_fdw.require_pushdown;

-- names do not matter, functions do
CREATE FUNCTION pushdown.int4gt(int, int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR pushdown.> (leftarg = int, rightarg = int, function = pushdown.int4gt);
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE customer OPERATOR(pushdown.>) 3 AND customer > 500;
