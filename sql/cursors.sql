-- Cursors: partial fetches, several at once, savepoints, holdable ones.
\set suite cursors
\i sql/include/tables.inc
SET analytics_fdw.max_threads = 1;

BEGIN;
DECLARE c CURSOR FOR SELECT id FROM events ORDER BY id;
FETCH 2 FROM c;
FETCH 2 FROM c;
MOVE 9996 FROM c;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;

BEGIN;
DECLARE s SCROLL CURSOR FOR SELECT id FROM customers ORDER BY id;
FETCH 2 FROM s;
FETCH LAST FROM s;
FETCH FIRST FROM s;
FETCH PRIOR FROM s;
CLOSE s;
COMMIT;

-- two scans that wait for each other's consumer, on one thread
BEGIN;
DECLARE a CURSOR FOR SELECT id FROM events;
DECLARE b CURSOR FOR SELECT id FROM parts;
FETCH 1 FROM a;
FETCH 1 FROM b;
FETCH 1 FROM a;
MOVE ALL FROM b;
MOVE ALL FROM a;
COMMIT;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM events e JOIN parts p ON e.id = p.id;
RESET enable_hashjoin;
RESET enable_nestloop;
SELECT count(*) FROM (SELECT id FROM events UNION ALL SELECT id FROM parts) s;

-- savepoints and errors
BEGIN;
DECLARE o CURSOR FOR SELECT id FROM events ORDER BY id;
FETCH 1 FROM o;
SAVEPOINT s1;
FETCH 1 FROM o;
DECLARE i CURSOR FOR SELECT id FROM parts ORDER BY id;
FETCH 1 FROM i;
SELECT 1 / 0;
ROLLBACK TO s1;
FETCH 1 FROM o;
FETCH 1 FROM i;
ROLLBACK;
BEGIN;
DECLARE o CURSOR FOR SELECT id, 1 / (id - 3) AS x FROM events ORDER BY id;
FETCH 1 FROM o;
SAVEPOINT s1;
FETCH 5 FROM o;
ROLLBACK TO s1;
FETCH 1 FROM o;
ROLLBACK;

-- holdable
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM customers WHERE id < 6 ORDER BY id;
FETCH 1 FROM h;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT count(*) FROM events;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
DISCARD ALL;
