"""The systems that `run` compares, each behind the same few calls.

    name, version, sql     sql: the 43 queries in the system's dialect
    open()                 declares the table; what is read for that counts as part of a cold query
    time(sql)              one execution: {"ms", "cpu_ms", "bytes", "peak_mb"}
    check(sql)             the rows, for comparison with ours
    scanned(sql)           rows that came out of the scan, or None
    restart()              a new process or connection with nothing cached
    close()

The clock stands where the user stands: for PostgreSQL around sending the text and holding all rows
(libpq), for the in-process peers around the call and all rows. CPU time and bytes are those of the
whole process, its threads included; bytes are what it asked of the kernel with read calls, whether
or not they were in the page cache.
"""
import json
import multiprocessing
import os
import sys
import time

import clickbench as cb
import data
import gen_mergetree

OURS = "analytics_fdw"


class Missing(Exception):
    """The peer is not installed here."""


# ---------------------------------------------------------------- what a process used

class Meter:
    """Resources of process `pid` between start() and stop(). Needs the right to read its /proc."""

    def __init__(self, pid):
        self.pid = pid

    def cpu_ms(self):
        try:  # the process's CPU clock: nanoseconds where /proc has ticks
            return time.clock_gettime((~self.pid << 3) | 2) * 1000
        except OSError:
            return 0

    def io(self):
        try:
            with open(f"/proc/{self.pid}/io", encoding="ascii") as f:
                v = dict(line.split(": ") for line in f.read().splitlines())
            return int(v["rchar"]), int(v["read_bytes"])
        except OSError:
            return None

    def status_kb(self, field):
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
                return next(int(s.split()[1]) for s in f if s.startswith(field + ":"))
        except (OSError, StopIteration):
            return None

    def start(self):
        try:  # resets the peak of the resident size
            with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as f:
                f.write("5")
            self.rss = self.status_kb("VmRSS")
        except OSError:
            self.rss = None
        self.io0, self.cpu0, self.t0 = self.io(), self.cpu_ms(), time.perf_counter()

    def stop(self):
        ms = (time.perf_counter() - self.t0) * 1000
        cpu, io = self.cpu_ms() - self.cpu0, self.io()
        peak = self.status_kb("VmHWM") if self.rss is not None else None
        asked = fetched = None
        if io and self.io0:
            asked, fetched = io[0] - self.io0[0], io[1] - self.io0[1]
        return {"ms": ms, "cpu_ms": cpu, "bytes": asked, "fetched": fetched,
                "peak_mb": (peak - self.rss) / 1024 if peak is not None else None}


# ---------------------------------------------------------------- peers inside a Python process

class DuckDB:
    queries = "queries_duckdb.sql"
    counts_bytes = True

    def __init__(self, o):
        import duckdb
        self.o = o
        self.c = duckdb.connect(":memory:", config={"threads": o.threads, "memory_limit": o.memory})
        self.version = duckdb.__version__

    def open(self):
        cb.duckdb_setup(self.c, self.o.data)

    def rows(self, sql):
        return self.c.execute(sql).fetchall()

    def check(self, sql):
        return self.rows(sql.replace("STRLEN(", "LENGTH("))

    def scanned(self, sql):
        self.c.execute("PRAGMA enable_profiling='no_output'")
        try:
            self.rows(sql)
            info = json.loads(self.c.get_profiling_information("json"))
        finally:
            self.c.execute("PRAGMA disable_profiling")
        return info.get("query", info).get("total_rows_scanned", info.get("cumulative_rows_scanned"))


class ClickHouse:
    queries = "queries_clickhouse.sql"

    def __init__(self, o):
        import chdb
        self.o = o
        self.c = chdb.connect(o.data if o.format == "mergetree" else ":memory:")
        memory = int(float(o.memory.upper().rstrip("B").rstrip("GM")) * (1 << (30 if "G" in o.memory.upper() else 20)))
        for k, v in (("max_threads", o.threads), ("max_memory_usage", memory),
                     ("output_format_json_quote_64bit_integers", 0)):
            self.c.query(f"SET {k} = {v}")
        # It maps local files; then nobody knows how much it reads. Hot times are those of its default.
        self.counts_bytes = o.cold
        if o.cold:
            self.c.query("SET storage_file_read_method = 'pread'")
        self.version = str(self.c.query("SELECT version()")).strip().strip('"')

    def open(self):
        if self.o.format != "mergetree":
            self.c.query("CREATE DATABASE bench ENGINE = Memory")
            self.c.query(f"CREATE TABLE bench.hits ({gen_mergetree.columns()}) "
                         f"ENGINE = File(Parquet, {data.literal(self.o.data)})")
        self.c.query("USE bench")

    def rows(self, sql):
        text = self.c.query(sql, "JSONCompactEachRow").bytes()
        return [json.loads(line) for line in text.decode("utf-8", "replace").splitlines()]

    def check(self, sql):
        return self.rows(sql.replace("length(", "lengthUTF8("))

    def scanned(self, sql):
        return self.c.query(sql, "JSONCompactEachRow").storage_rows_read()


IN_PROCESS = {"duckdb": DuckDB, "clickhouse": ClickHouse}


def serve(pipe, name, o):
    try:
        os.sched_setaffinity(0, o.cpus)
        try:
            peer = IN_PROCESS[name](o)
            meter = Meter(os.getpid())
        except ImportError as e:
            pipe.send(Missing(f"Python package {e.name} is not installed"))
            return
        pipe.send(peer.version)
        while True:
            what, sql = pipe.recv()
            try:
                if what == "time":
                    meter.start()
                    peer.rows(sql)
                    pipe.send({**meter.stop(), **({} if peer.counts_bytes else {"bytes": None})})
                elif what == "cold":
                    meter.start()
                    peer.open()
                    peer.rows(sql)
                    pipe.send(meter.stop())
                elif what == "open":
                    pipe.send(peer.open())
                else:
                    pipe.send(getattr(peer, what)(sql))
            except Exception as e:  # whatever a peer raises belongs into the report
                pipe.send(e if isinstance(e, RuntimeError) else RuntimeError(f"{type(e).__name__}: {e}"))
    except EOFError:
        pass


class InProcess:
    """A peer in a process of its own, so that its memory and threads do not meet the others'."""

    def __init__(self, name, o):
        self.name, self.o = name, o
        self.sql = cb.queries(IN_PROCESS[name].queries, o.rows)
        self.start()

    def start(self):
        ctx = multiprocessing.get_context("spawn")
        self.pipe, child = ctx.Pipe()
        self.process = ctx.Process(target=serve, args=(child, self.name, self.o), daemon=True)
        self.process.start()
        child.close()
        self.version = self.receive()

    def receive(self):
        try:
            r = self.pipe.recv()
        except EOFError:
            raise RuntimeError(f"the process of {self.name} ended") from None
        if isinstance(r, Exception):
            raise r
        return r

    def ask(self, what, sql=None):
        self.pipe.send((what, sql))
        return self.receive()

    def open(self):
        self.ask("open")

    def time(self, sql):
        return self.ask("time", sql)

    def cold(self, sql):
        """open() and the query, on one clock."""
        return self.ask("cold", sql)

    def check(self, sql):
        return self.ask("check", sql)

    def scanned(self, sql):
        return self.ask("scanned", sql)

    def close(self):
        self.pipe.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def restart(self):
        self.close()
        self.start()


# ---------------------------------------------------------------- tables of a PostgreSQL server

class Postgres:
    """Our foreign table; also what other extensions of the same server have in common with it."""
    name = OURS

    def __init__(self, o):
        self.o = o
        self.sql = cb.queries("queries.sql", o.rows)
        self.declared = False
        self.connect()

    def connect(self):
        import psycopg2
        o = self.o
        self.c = psycopg2.connect(o.dsn or "")
        self.c.autocommit = True
        self.cur = self.c.cursor()
        self.cur.execute("SELECT version(), pg_backend_pid()")
        self.version, self.pid = self.cur.fetchone()
        bind(self.pid, o.cpus)
        self.cur.execute("CREATE EXTENSION IF NOT EXISTS analytics_fdw; LOAD 'analytics_fdw'")
        for s in self.settings() + list(o.set or ()):
            self.cur.execute("SET " + s)
        self.meter = Meter(self.pid)

    def settings(self):
        return [f"analytics_fdw.max_threads = {self.o.threads}", f"analytics_fdw.memory_limit = '{self.o.memory}'",
                "statement_timeout = '600s'", "timezone = 'UTC'"]

    def open(self):
        if not self.declared:
            schema = gen_mergetree.schema if self.o.format == "mergetree" else cb.schema
            self.cur.execute(schema(self.o.data, self.o.schema))
        self.declared = True

    def restart(self):
        self.close()
        self.connect()

    def reconnect(self):
        """After a crash: waits until the server has recovered."""
        import psycopg2
        for _ in range(60):
            try:
                self.connect()
                return
            except psycopg2.OperationalError:
                time.sleep(1)

    def close(self):
        self.c.close()

    def rows(self, sql):
        self.cur.execute(sql)
        return self.cur.fetchall()

    check = rows

    def time(self, sql):
        self.meter.start()
        self.rows(sql)
        return self.meter.stop()

    cold = time

    def explain(self, sql):
        """The numbers of EXPLAIN ANALYZE's top node."""
        self.cur.execute("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) " + sql)
        plan = self.cur.fetchone()[0]
        node = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
        while node["Node Type"] != "Foreign Scan" and node.get("Plans"):
            node = node["Plans"][0]
        return node

    def scanned(self, sql):
        return self.explain(sql).get("Rows Read")


class PgColumnar(Postgres):
    """The extension pgcolumnar: a columnar table of the same server, filled from our foreign table.

    Its own storage, not the Parquet file: it reads Parquet too, but only with the file's own types."""
    name = "pgcolumnar"

    def settings(self):
        workers = self.o.threads - 1
        return ["statement_timeout = '600s'", "timezone = 'UTC'", "search_path = bench_pgcolumnar, public",
                f"max_parallel_workers_per_gather = {workers}", f"max_parallel_workers = {max(workers, 1)}"]

    def open(self):
        if self.declared:
            return
        import psycopg2
        try:
            self.cur.execute("CREATE EXTENSION IF NOT EXISTS pgcolumnar")
        except psycopg2.Error as e:
            raise Missing(str(e).strip().splitlines()[0]) from None
        self.cur.execute("SELECT extversion FROM pg_extension WHERE extname = 'pgcolumnar'")
        self.version = self.cur.fetchone()[0]
        columns = cb.heap_columns()
        self.cur.execute("DROP SCHEMA IF EXISTS bench_pgcolumnar CASCADE; CREATE SCHEMA bench_pgcolumnar")
        self.cur.execute("CREATE TABLE bench_pgcolumnar.hits (" + ", ".join(f"{n} {t}" for _, n, t in columns)
                         + ") USING pgcolumnar")
        print("loading the table of pgcolumnar", file=sys.stderr)
        self.cur.execute("SET statement_timeout = 0; INSERT INTO bench_pgcolumnar.hits SELECT "
                         + ", ".join(n for _, n, _ in columns) + " FROM public.hits;"
                         " SET statement_timeout = '600s'; ANALYZE bench_pgcolumnar.hits")
        self.declared = True

    def scanned(self, sql):
        return None


def bind(pid, cpus):
    """Binds a backend, and the server, from which later threads and workers inherit it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            parent = int(f.read().rsplit(")", 1)[1].split()[1])
        for p in (pid, parent):
            os.sched_setaffinity(p, cpus)
    except OSError as e:
        print(f"cannot bind the server to cores {sorted(cpus)}: {e}", file=sys.stderr)


PEERS = ("duckdb", "clickhouse", "pgcolumnar")


def start_peer(name, o):
    return PgColumnar(o) if name == "pgcolumnar" else InProcess(name, o)
