-- Parameters, generic plans, rescans.
\set suite params
\i sql/include/tables.inc
SET plan_cache_mode = force_generic_plan;

PREPARE p1(int8, text) AS SELECT count(*) FROM events WHERE id <= $1 AND kind = $2;
EXPLAIN (COSTS OFF) EXECUTE p1(10, 'view');
EXECUTE p1(10, 'view');
EXECUTE p1(20000, 'view');
EXECUTE p1(NULL, 'view');
EXECUTE p1(10, NULL);
PREPARE p2(int8, int8) AS SELECT id FROM events ORDER BY id DESC LIMIT $1 OFFSET $2;
EXPLAIN (COSTS OFF) EXECUTE p2(2, 3);
EXECUTE p2(2, 3);
EXECUTE p2(0, 0);
EXECUTE p2(1, NULL);
EXECUTE p2(NULL, 19999);
EXECUTE p2(-1, 0);
EXECUTE p2(1, -1);
PREPARE p3(int, int) AS SELECT count(*) FROM events WHERE customer IN ($1, $2, 7);
EXPLAIN (COSTS OFF) EXECUTE p3(1, 2);
EXECUTE p3(1, 2);
EXECUTE p3(NULL, 2);
PREPARE p4(int[]) AS SELECT count(*) FROM events WHERE customer = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE p4('{1,2,7}');
EXECUTE p4('{1,2,7}');
EXECUTE p4('{1,NULL}');
EXECUTE p4('{}');
EXECUTE p4(NULL);
PREPARE p4n(text[]) AS SELECT count(*) FROM events WHERE kind <> ALL ($1);
EXECUTE p4n('{buy,view}');
EXECUTE p4n('{buy,NULL}');
EXECUTE p4n('{}');
EXECUTE p4n(NULL);
PREPARE p5(int) AS SELECT kind, count(*) FILTER (WHERE customer = $1) FROM events GROUP BY kind
	HAVING count(*) > $1 ORDER BY kind;
EXECUTE p5(7);
EXECUTE p5(4000);
PREPARE p6(timestamptz) AS SELECT count(*) FROM events WHERE ts < $1 - interval '1 day';
EXECUTE p6('2024-01-10');
PREPARE p7(numeric) AS SELECT count(*) FROM types WHERE c_int64 = $1;
EXECUTE p7(7);
DEALLOCATE ALL;
RESET plan_cache_mode;

-- the inner side of a nested loop runs again and again, with other values
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT c.id, n, first FROM customers c, LATERAL (SELECT count(*) AS n, min(e.id) AS first FROM events e
	WHERE e.customer = c.id AND e.id < 2000) s WHERE c.id BETWEEN 10 AND 13 ORDER BY c.id;
SELECT v, (SELECT e.id FROM events e WHERE e.quantity = v ORDER BY e.id LIMIT 1)
	FROM generate_series(1, 4) v;
SELECT a, n FROM (VALUES (1, '{1,2}'::int[]), (2, '{7}'), (3, NULL), (4, '{}')) v (i, a),
	LATERAL (SELECT count(*) AS n FROM events WHERE customer = ANY (a)) s ORDER BY i;
SELECT count(*) FROM generate_series(1, 3) v, LATERAL (SELECT 1 FROM customers LIMIT v) s;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.id = b.id - 1 WHERE a.id < 3 AND b.id < 6
	ORDER BY 1;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- values of subqueries
SELECT count(*) FROM events WHERE customer = (SELECT max(id) FROM customers WHERE country = 'de');
SELECT kind FROM events GROUP BY kind HAVING count(*) > (SELECT count(*) / 3 FROM events);

-- PL/pgSQL: cached plans, loops in batches, exceptions
CREATE FUNCTION total(k text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint := 0; r record;
BEGIN
	FOR r IN SELECT id FROM events WHERE kind = k AND id < 1000 LOOP n := n + r.id; END LOOP;
	RETURN n;
END $$;
SELECT total('buy'), total('view'), total('none');
SELECT sum(id) FROM events WHERE kind = 'buy' AND id < 1000;
DO $$
DECLARE n int := 0; r record;
BEGIN
	FOR r IN SELECT id FROM events LOOP n := n + 1; EXIT WHEN n = 5; END LOOP;
	RAISE NOTICE '%', n;
	BEGIN
		FOR r IN SELECT id FROM events LOOP PERFORM 1 / (r.id - r.id); END LOOP;
	EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'caught';
	END;
	SELECT count(*) INTO n FROM events;
	RAISE NOTICE '%', n;
END $$;
