-- The tables that each driver suite reads: a foreign table and a heap table with the same rows.
CREATE EXTENSION analytics_fdw;
CREATE FOREIGN TABLE events (
	id int8, ts timestamptz, day date, customer int4, kind text COLLATE "C", url text COLLATE "C",
	quantity int2, amount float8, paid bool
) SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE heap AS SELECT * FROM events;
CREATE VIEW wide AS SELECT id, amount::numeric(20,4) AS price, md5(url)::uuid AS key,
	ARRAY[quantity, customer] AS pair, CASE WHEN paid THEN ts END AS paid_at FROM events;
