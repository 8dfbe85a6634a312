"""Q08: psycopg 3 on a foreign table: extended protocol, prepared statements, binary results, server-side
cursors, errors and cancel. Prints TAP."""
import datetime
import os
import sys
import threading
import time

import psycopg

QUERY = ("SELECT kind, count(*), sum(quantity), avg(quantity), min(ts), max(day), bool_or(paid) "
         "FROM {} WHERE id < %s AND kind <> %s AND day >= %s GROUP BY kind ORDER BY kind")
results = []


def check(ok, name, note=""):
    results.append(ok)
    print("%sok %d - %s" % ("" if ok else "not ", len(results), name))
    if not ok and note:
        print("# " + str(note))


def main():
    conn = psycopg.connect(autocommit=True)
    cur = conn.cursor()

    args = (7000, "view", datetime.date(2020, 1, 1))
    ours, heap = (cur.execute(QUERY.format(t), args).fetchall() for t in ("events", "heap"))
    check(ours == heap and len(ours) > 1, "parameters are bound, values have their types", ours)

    # The server makes a generic plan after the fifth execution.
    for i in range(12):
        ours, heap = (cur.execute("SELECT count(*), max(url) FROM %s WHERE id BETWEEN %%s AND %%s" % t,
                                  (i * 100, i * 900), prepare=True).fetchone()
                      for t in ("events", "heap"))
        if ours != heap:
            break
    check(ours == heap, "a prepared statement keeps its answers", (i, ours, heap))

    for array in ([1, 5, 4999, None], [], None):
        ours, heap = (cur.execute("SELECT id FROM %s WHERE id = ANY(%%s) ORDER BY id" % t,
                                  (array,)).fetchall() for t in ("events", "heap"))
        check(ours == heap, "array parameter %s" % (array,), ours)

    binary = conn.cursor(binary=True)
    for column in ("id", "ts", "day", "customer", "kind", "quantity", "amount", "paid"):
        sql = "SELECT %s FROM %%s WHERE id %%%% 997 = 0 ORDER BY id" % column
        ours, heap = (binary.execute(sql % t, prepare=True).fetchall() for t in ("events", "heap"))
        check(ours == heap and ours, "binary result of " + column, ours[:3])
    ours = cur.execute("SELECT * FROM wide ORDER BY id LIMIT 3").fetchall()
    check(len(ours) == 3 and len(ours[0][3]) == 2, "a view with casts", ours)

    with conn.transaction():
        with conn.cursor(name="many") as named:
            named.itersize = 100
            named.execute("SELECT id FROM events WHERE paid ORDER BY id")
            ours = [r[0] for r in named]
    heap = [r[0] for r in cur.execute("SELECT id FROM heap WHERE paid ORDER BY id").fetchall()]
    check(ours == heap and len(ours) > 200, "a server-side cursor, 100 rows a fetch", len(ours))

    with conn.transaction():
        with conn.cursor(name="left") as named:
            named.execute("SELECT id FROM events")
            named.fetchmany(5)
    check(cur.execute("SELECT count(*) FROM events").fetchone() ==
          cur.execute("SELECT count(*) FROM heap").fetchone(), "a cursor left in the middle")

    try:
        cur.execute("SELECT sum(1 / (id - %s)) FROM events", (5,))
        check(False, "an error of a row")
    except psycopg.errors.DivisionByZero as e:
        check(e.sqlstate == "22012", "an error of a row", e)
    check(cur.execute("SELECT count(*) FROM events WHERE id = 5").fetchone() is not None,
          "the connection goes on")

    with conn.pipeline():
        a = conn.execute("SELECT count(*) FROM events WHERE id < %s", (50,))
        b = conn.execute("SELECT count(*) FROM heap WHERE id < %s", (50,))
    check(a.fetchone() == b.fetchone(), "pipeline mode")

    slow = ("SELECT count(*) FROM events a, events b, events c "
            "WHERE a.id + b.id + c.id = -1 AND a.url < b.url")
    threading.Timer(0.3, conn.cancel).start()
    begin = time.monotonic()
    try:
        cur.execute(slow)
        check(False, "cancel")
    except psycopg.errors.QueryCanceled:
        check(time.monotonic() - begin < 20, "cancel", time.monotonic() - begin)

    out = []
    with cur.copy("COPY (SELECT id, url FROM events WHERE id < 100 ORDER BY id) TO STDOUT") as copy:
        out = list(copy.rows())
    check(len(out) > 50, "COPY (query) TO STDOUT", len(out))
    print("1..%d" % len(results))
    return 0 if all(results) else 1


sys.exit(main())
