-- Columns that parts lack, or have in another type than the table: computed as ClickHouse does.
\set suite mergetree_default
\i sql/include/tables.inc
\set visits :testdata '/visits'
\set definition :testdata '/visits.sql'
\set later :testdata '/visits_later.sql'

CREATE FOREIGN TABLE visits () SERVER analytics_fdw
	OPTIONS (path :'visits', definition :'definition', format 'mergetree');
CREATE FOREIGN TABLE later (
	id int8, customer text, quantity int8, later_day date, later_month int8, double_id int8,
	next_id int8, name text, size text, place text, stock int4, wraps int8, ids int4[],
	tens text[], rest int2, half float8, price numeric, since timestamptz, state text, either bool
) SERVER analytics_fdw OPTIONS (path :'visits', definition :'later', format 'mergetree');

SELECT * FROM later WHERE id IN (1, 7, 9001, 15003) ORDER BY id;

-- the same computed by the server: no row differs
\set ECHO all
SELECT count(*) FROM later JOIN visits v USING (id);
SELECT v.id FROM later l JOIN visits v USING (id) WHERE
	l.customer IS DISTINCT FROM v.customer::text
	OR l.quantity IS DISTINCT FROM ((v.quantity + 128) & 255) - 128
	OR later_day <> v.day OR later_month <> to_char(v.day, 'YYYYMM')::int
	OR double_id <> v.id * 2 OR next_id <> v.id + 1
	OR name <> upper(kind) || '-' || v.id
	OR size <> CASE WHEN amount > 400 THEN 'large' WHEN amount > 100 THEN 'middle' ELSE 'small' END
	OR place IS DISTINCT FROM v.url || '#' || upper(kind) || '-' || v.id
	OR stock <> coalesce(l.quantity, -1) * 2 OR wraps <> ((v.id + 128) & 255) - 128
	OR ids <> ARRAY(SELECT generate_series(0, (v.id % 4)::int - 1))
	OR tens <> ARRAY(SELECT kind || (x * 10 + v.id) FROM generate_series(0, v.id % 4 - 1) x)
	OR rest <> v.id % 7 - 3 OR half <> v.id / 2.0
	OR since <> date_trunc('second', ts)
	OR state <> CASE WHEN paid THEN 'paid' ELSE 'open' END
	OR either <> (v.id <> 5 AND (kind = 'buy' OR url IS NULL))
	ORDER BY v.id LIMIT 3;

-- 0.29 is a float first: that is what ClickHouse makes of it
SELECT price, count(*) FROM later GROUP BY price;

-- they can be filtered, aggregated, and ordered by like others
SELECT size, count(*), sum(stock), min(name) FROM later WHERE double_id > 1000 GROUP BY size ORDER BY 1;
SELECT name, ids FROM later WHERE name LIKE 'BUY-1%' ORDER BY half DESC LIMIT 3;
SELECT count(*) FROM later WHERE customer = '17';
SET analytics_fdw.max_threads = 1;
SELECT size, count(*), sum(stock), min(name) FROM later WHERE double_id > 1000 GROUP BY size ORDER BY 1;
RESET analytics_fdw.max_threads;

-- what is not understood is refused by name, when it is read
CREATE FOREIGN TABLE refused (id int8, unknown numeric, circle int4, zero int8, local text,
	input text, of_input text, bad int4, strange int4
) SERVER analytics_fdw OPTIONS (path :'visits', definition :'later', format 'mergetree');
\set VERBOSITY terse
SELECT count(id) FROM refused;
SELECT unknown FROM refused;
SELECT circle FROM refused;
SELECT local FROM refused;
SELECT input FROM refused;
SELECT of_input FROM refused;
SELECT strange FROM refused;
-- errors of values
SELECT zero FROM refused;
SELECT bad FROM refused;
