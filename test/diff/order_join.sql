-- Sorting, limits, windows, joins, set operations, subqueries.
SELECT id FROM events ORDER BY id DESC LIMIT 5;
SELECT id FROM events ORDER BY id LIMIT 5 OFFSET 4998;
SELECT id, amount FROM events ORDER BY amount DESC NULLS LAST, id LIMIT 10;
SELECT id, amount FROM events ORDER BY amount DESC, id LIMIT 10;
SELECT id, amount FROM events ORDER BY amount, id LIMIT 10;
SELECT id, url FROM events ORDER BY url NULLS FIRST, id LIMIT 10;
SELECT id, url FROM events ORDER BY url DESC NULLS LAST, id DESC LIMIT 10;
SELECT kind, quantity, id FROM events ORDER BY kind, quantity DESC, id LIMIT 25;
SELECT * FROM events ORDER BY quantity, id LIMIT 40;
SELECT * FROM events WHERE url LIKE '%a%' ORDER BY amount DESC NULLS LAST, id LIMIT 30 OFFSET 11;
SELECT url, kind, length(url), customer FROM events WHERE quantity < 9 ORDER BY id DESC LIMIT 2000;
SELECT * FROM types ORDER BY c_int32 NULLS FIRST, id LIMIT 7;
SELECT * FROM parts ORDER BY id DESC LIMIT 50;
SELECT id FROM events WHERE kind = 'buy' ORDER BY ts DESC LIMIT 7;
SELECT id, c_double FROM types ORDER BY c_double, id;
SELECT id, c_double FROM types ORDER BY c_double DESC, id;
SELECT id, c_string FROM types ORDER BY c_string, id;
SELECT id, c_string FROM types ORDER BY c_string COLLATE "C", id;
SELECT id, c_binary FROM types ORDER BY c_binary, id;
SELECT id, c_bool FROM types ORDER BY c_bool DESC, id;
SELECT id FROM events ORDER BY abs(amount), id LIMIT 10;
SELECT id FROM events ORDER BY id LIMIT 0;
SELECT count(*) FROM (SELECT id FROM events LIMIT 4000) AS s;
SELECT count(*) FROM (SELECT id FROM events LIMIT 4000 OFFSET 19000) AS s;
SELECT count(*), sum(id) FROM
(SELECT id FROM events ORDER BY quantity FETCH FIRST 1 ROWS WITH TIES) AS s;
SELECT id, row_number() OVER (ORDER BY id), rank() OVER (ORDER BY kind) FROM events WHERE id < 40;
SELECT id, sum(quantity) OVER (PARTITION BY kind ORDER BY id) FROM events WHERE id < 60;
SELECT id, lag(quantity) OVER (ORDER BY id), lead(id) OVER (ORDER BY id) FROM events WHERE id < 30;
SELECT kind, rank() OVER (ORDER BY count(*) DESC) FROM events GROUP BY kind;
SELECT c.name, count(*) FROM events e JOIN customers c ON c.id = e.customer GROUP BY c.name;
SELECT c.country, sum(e.amount) FROM events e JOIN customers c ON c.id = e.customer
GROUP BY c.country ORDER BY 1;
SELECT count(*) FROM events e LEFT JOIN customers c ON c.id = e.customer WHERE c.id IS NULL;
SELECT count(*), count(c.id), count(e.id)
FROM events e FULL JOIN customers c ON c.id = e.customer;
SELECT count(*) FROM customers c WHERE EXISTS (SELECT FROM events e WHERE e.customer = c.id);
SELECT count(*) FROM customers c WHERE NOT EXISTS
(SELECT FROM events e WHERE e.customer = c.id AND e.kind = 'buy' AND e.quantity = 19);
SELECT count(*) FROM events WHERE customer NOT IN (SELECT id FROM customers);
SELECT count(*) FROM events WHERE customer IN (SELECT id FROM customers WHERE country = 'pl');
SELECT e.id, c.name FROM events e JOIN customers c ON c.id = e.customer AND c.country = 'de'
WHERE e.amount > 9900 ORDER BY e.id;
SELECT count(*) FROM parts a JOIN parts b ON a.id = b.id + 1000;
SELECT count(*) FROM types a, types b WHERE a.c_int32 < b.c_int32;
SELECT a.id, b.id FROM types a JOIN types b ON a.c_double = b.c_double ORDER BY 1, 2;
SELECT e.id, (SELECT name FROM customers c WHERE c.id = e.customer) FROM events e WHERE e.id < 20;
SELECT id FROM events WHERE amount = (SELECT max(amount) FROM events);
SELECT id FROM events WHERE id < 10 UNION SELECT id FROM parts WHERE id < 12;
SELECT id FROM events WHERE id < 10 UNION ALL SELECT id FROM parts WHERE id < 12;
SELECT kind FROM events EXCEPT SELECT kind FROM events WHERE kind = 'buy';
SELECT id FROM events WHERE id < 10 INTERSECT SELECT id FROM parts WHERE id > 5;
WITH top AS (SELECT customer, sum(amount) AS total FROM events GROUP BY customer)
SELECT c.name, total FROM top JOIN customers c ON c.id = top.customer ORDER BY total DESC, 1 LIMIT 5;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5)
SELECT i, (SELECT count(*) FROM events WHERE quantity = i) FROM n;
SELECT t.id, e.n FROM types t, LATERAL
(SELECT count(*) AS n FROM events WHERE quantity = t.c_int16) AS e;
SELECT x.kind, x.n, y.n FROM (SELECT kind, count(*) AS n FROM events GROUP BY 1) AS x
JOIN (SELECT kind, count(*) AS n FROM parts GROUP BY 1) AS y USING (kind);
