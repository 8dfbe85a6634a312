"""Speaks PostgreSQL's protocol (version 3) over a socket: enough for a test.

It gives what psql hides: the type of each column, the SQLSTATE, the extended protocol with
parameters, and Execute with a row limit (a suspended portal).
"""
import os
import socket
import struct


class Lost(Exception):
    """The connection ended: the backend crashed, or nobody listens."""


class Result:
    """What one statement returned: column types, rows of text, command tag, or a SQLSTATE.

    `raw` are the rows as they came, which is what most are compared by; `rows` decodes them."""

    def __init__(self):
        self.types, self.raw, self.tag, self.sqlstate, self.message = None, [], None, None, None
        self.decoded = None

    @property
    def rows(self):
        if self.decoded is None:
            self.decoded = [row_values(data) for data in self.raw]
        return self.decoded

    def __repr__(self):
        if self.sqlstate:
            return f"{self.sqlstate} {self.message}"
        rows = ", ".join("(" + ",".join("NULL" if v is None else v for v in r) + ")" for r in self.rows[:40])
        return f"{len(self.rows)} rows {rows}" if self.types is not None else str(self.tag)


class Connection:
    def __init__(self, database=None, timeout=120):
        host = os.environ.get("PGHOST", "/var/run/postgresql").split(",")[0]
        port = int(os.environ.get("PGPORT", "5432"))
        user = os.environ.get("PGUSER") or os.environ.get("USER", "postgres")
        try:
            if host.startswith("/"):
                self.s = socket.socket(socket.AF_UNIX)
                self.s.settimeout(timeout)
                self.s.connect(f"{host}/.s.PGSQL.{port}")
            else:
                self.s = socket.create_connection((host, port), timeout)
        except OSError as e:
            raise Lost(str(e)) from e
        self.buf, self.at = b"", 0
        body = struct.pack("!I", 196608)
        for k, v in (("user", user), ("database", database or os.environ.get("PGDATABASE", user)), ("client_encoding", "UTF8")):
            body += k.encode() + b"\0" + v.encode() + b"\0"
        self.raw(struct.pack("!I", len(body) + 5) + body + b"\0")
        for kind, data in self.until_ready():
            if kind == b"R" and data[:4] != b"\0\0\0\0":
                raise Lost("the server asks for a password: only trust is spoken here")
            if kind == b"E":
                raise Lost(fields(data).get("M", ""))

    def raw(self, data):
        try:
            self.s.sendall(data)
        except OSError as e:
            raise Lost(str(e)) from e

    def message(self):
        while True:
            at = self.at
            if len(self.buf) >= at + 5:
                end = at + 1 + int.from_bytes(self.buf[at + 1:at + 5], "big")
                if len(self.buf) >= end:
                    self.at = end
                    return self.buf[at:at + 1], self.buf[at + 5:end]
            try:
                more = self.s.recv(65536)
            except OSError as e:
                raise Lost(str(e)) from e
            if not more:
                raise Lost("the server closed the connection")
            self.buf, self.at = self.buf[at:] + more, 0

    def until_ready(self):
        out = []
        while True:
            m = self.message()
            out.append(m)
            if m[0] == b"Z":
                return out
            if m[0] == b"E" and fields(m[1]).get("S") == "FATAL":
                raise Lost(fields(m[1]).get("M", ""))

    def simple(self, sql):
        """Runs one or more statements; a Result for each."""
        self.send(b"Q", sql.encode() + b"\0")
        return self.results(self.until_ready())

    def extended(self, sql, params=(), max_rows=0):
        """Parse, Bind, Execute one statement; params are (type oid, text or None)."""
        body = b"\0" + sql.encode() + b"\0" + struct.pack("!H", len(params))
        body += b"".join(struct.pack("!I", oid) for oid, _ in params)
        msg = pack(b"P", body)
        body = b"\0\0" + struct.pack("!HH", 0, len(params))
        for _, v in params:
            body += struct.pack("!i", -1) if v is None else struct.pack("!I", len(v.encode())) + v.encode()
        msg += pack(b"B", body + struct.pack("!H", 0)) + pack(b"D", b"P\0")
        execute = pack(b"E", b"\0" + struct.pack("!I", max_rows))
        if not max_rows:
            self.raw(msg + execute + pack(b"S", b""))
            return self.results(self.until_ready())[-1]
        # A suspended portal lives until Sync, so the answers are read after Flush.
        self.raw(msg + execute + pack(b"H", b""))
        got = []
        while True:
            m = self.message()
            got.append(m)
            if m[0] == b"s":
                self.raw(execute + pack(b"H", b""))
            elif m[0] in (b"C", b"E", b"I"):
                self.raw(pack(b"S", b""))
                return self.results(got + self.until_ready())[-1]

    def send(self, kind, body):
        self.raw(pack(kind, body))

    def results(self, messages):
        out, r = [], Result()
        for kind, data in messages:
            if kind == b"T":
                r.types = row_types(data)
            elif kind == b"D":
                r.raw.append(data)
            elif kind in (b"C", b"I"):
                r.tag = data[:-1].decode() if kind == b"C" else ""
                out.append(r)
                r = Result()
            elif kind == b"E":
                f = fields(data)
                r.sqlstate, r.message, r.raw, r.types = f.get("C"), f.get("M"), [], None
                out.append(r)
                r = Result()
        return out or [r]

    def close(self):
        try:
            self.s.sendall(pack(b"X", b""))
            self.s.close()
        except OSError:
            pass


def pack(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


def fields(data):
    return {p[:1].decode(): p[1:].decode("utf-8", "replace") for p in data.split(b"\0") if p}


def row_types(data):
    n = struct.unpack("!H", data[:2])[0]
    at, out = 2, []
    for _ in range(n):
        at = data.index(b"\0", at) + 1
        out.append(struct.unpack("!IHIhiH", data[at:at + 18])[2])
        at += 18
    return out


def row_values(data):
    n = struct.unpack("!H", data[:2])[0]
    at, out = 2, []
    for _ in range(n):
        size = struct.unpack("!i", data[at:at + 4])[0]
        at += 4
        if size < 0:
            out.append(None)
        else:
            out.append(data[at:at + size].decode("utf-8", "replace"))
            at += size
    return tuple(out)
