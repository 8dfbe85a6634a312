"""Writes MergeTree parts for tests: the smallest set of files that a server attaches, both kinds.

Not a copy of the reader's ideas: layouts are those of docs/formats/mergetree.md, and a server
attaches what comes out.  Codecs are NONE, LZ4 blocks of literals, and Delta behind NONE, in turn.
"""

import os
import re
import struct

M64 = (1 << 64) - 1
K0, K1, K2, K3 = 0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f, 0xc949d7c7509e6557
KM = 0x9ddfea08eb382d69

TYPES = {"bool": ("Bool", "<B"), "int16": ("Int16", "<h"), "int32": ("Int32", "<i"),
         "int64": ("Int64", "<q"), "float": ("Float32", "<f"), "double": ("Float64", "<d"),
         "date": ("Date32", "<i"), "timestamptz": ("DateTime64(6, 'UTC')", "<q"),
         "string": ("String", None), "binary": ("String", None), "uint8": ("UInt8", "<B"),
         "int8": ("Int8", "<b"), "datetime": ("DateTime('Europe/Berlin')", "<I"),
         "datetime64": ("DateTime64(3, 'UTC')", "<q"), "int128": ("Int128", 16),
         "int256": ("Int256", 32), "uint256": ("UInt256", 32), "decimal": ("Decimal(76, 20)", 32),
         "enum": ("Enum8('x' = 1, 'it\\'s' = -2)", "<b"),
         "tuple": ("Tuple(a Nullable(Int8))", None), "fixed": ("FixedString(4)", "4s"),
         "total": ("AggregateFunction(sum, Int64)", None),
         "mean": ("AggregateFunction(avg, Int32)", None),
         "top": ("AggregateFunction(max, Nullable(String))", None),
         "names": ("AggregateFunction(groupArray, String)", None),
         "sketch": ("AggregateFunction(topK(3), Int64)", None)}
STATES = ("total", "mean", "top", "names", "sketch")  # whose values are bytes


class Typed:
    """A column of a type of TYPES that no other format has."""

    def __init__(self, name, kind, required=True):
        self.name, self.type, self.required = name, kind, required


# ---- CityHash 1.0.2 ----------------------------------------------------------------------------

def ror(x, n):
    return ((x >> n) | (x << (64 - n))) & M64 if n else x


def fold(x):
    return x ^ (x >> 47)


def mix(u, v):
    a = ((u ^ v) * KM) & M64
    a ^= a >> 47
    b = ((v ^ a) * KM) & M64
    b ^= b >> 47
    return (b * KM) & M64


def u64(s, at):
    return struct.unpack_from("<Q", s, at)[0]


def u32(s, at):
    return struct.unpack_from("<I", s, at)[0]


def short(s):
    n = len(s)
    if n > 8:
        a, b = u64(s, 0), u64(s, n - 8)
        return mix(a, ror((b + n) & M64, n)) ^ b
    if n >= 4:
        return mix((n + (u32(s, 0) << 3)) & M64, u32(s, n - 4))
    if n > 0:
        y = (s[0] + (s[n // 2] << 8)) & 0xffffffff
        z = (n + (s[n - 1] << 2)) & 0xffffffff
        return (fold((y * K2 ^ z * K3) & M64) * K2) & M64
    return K2


def weak(s, at, a, b):
    w, x, y, z = struct.unpack_from("<4Q", s, at)
    a = (a + w) & M64
    b = ror((b + a + z) & M64, 21)
    c = a
    a = (a + x + y) & M64
    b = (b + ror(a, 44)) & M64
    return (a + z) & M64, (b + c) & M64


def city_seed(s, a, b):
    n = len(s)
    if n < 128:
        if n <= 16:
            a = (fold((a * K1) & M64) * K1) & M64
            c = (b * K1 + short(s)) & M64
            d = fold((a + (u64(s, 0) if n >= 8 else c)) & M64)
        else:
            c = mix((u64(s, n - 8) + K1) & M64, a)
            d = mix((b + n) & M64, (c + u64(s, n - 16)) & M64)
            a = (a + d) & M64
            for at in range(0, n - 16, 16):
                a = ((a ^ (fold((u64(s, at) * K1) & M64) * K1)) * K1) & M64
                b ^= a
                c = ((c ^ (fold((u64(s, at + 8) * K1) & M64) * K1)) * K1) & M64
                d ^= c
        a, b = mix(a, c), mix(d, b)
        return a ^ b, mix(b, a)
    x, y, z = a, b, (n * K1) & M64
    v = (ror(y ^ K1, 49) * K1 + u64(s, 0)) & M64
    v = (v, (ror(v, 42) * K1 + u64(s, 8)) & M64)
    w = ((ror((y + z) & M64, 35) * K1 + x) & M64, (ror((x + u64(s, 88)) & M64, 53) * K1) & M64)
    at = 0
    for at in range(0, n // 128 * 128, 64):
        x = (ror((x + y + v[0] + u64(s, at + 16)) & M64, 37) * K1) & M64
        y = (ror((y + v[1] + u64(s, at + 48)) & M64, 42) * K1) & M64
        x ^= w[1]
        y ^= v[0]
        z = ror(z ^ w[0], 33)
        v = weak(s, at, (v[1] * K1) & M64, (x + w[0]) & M64)
        w = weak(s, at + 32, (z + w[1]) & M64, y)
        z, x = x, z
    left, end = n % 128, n // 128 * 128
    y = (y + ror(w[0], 37) * K0 + z) & M64
    x = (x + ror((v[0] + z) & M64, 49) * K0) & M64
    t = 0
    while t < left:
        t += 32
        e = end + left - t
        y = (ror((y - x) & M64, 42) * K0 + v[1]) & M64
        w = ((w[0] + u64(s, e + 16)) & M64, w[1])
        x = (ror(x, 49) * K0 + w[0]) & M64
        w = ((w[0] + v[0]) & M64, w[1])
        v = weak(s, e, v[0], v[1])
    x, y = mix(x, v[0]), mix(y, w[0])
    return (mix((x + v[1]) & M64, w[1]) + y) & M64, mix((x + w[1]) & M64, (y + v[1]) & M64)


def city(s):
    n = len(s)
    if n >= 16:
        return city_seed(s[16:], u64(s, 0) ^ K3, u64(s, 8))
    if n >= 8:
        return city_seed(b"", u64(s, 0) ^ (n * K0 & M64), u64(s, n - 8) ^ K1)
    return city_seed(s, K0, K1)


def city64(s):
    """Of at most 64 bytes."""
    n = len(s)
    if n <= 16:
        return short(s)
    if n <= 32:
        a, b = (u64(s, 0) * K1) & M64, u64(s, 8)
        c, d = (u64(s, n - 8) * K2) & M64, (u64(s, n - 16) * K0) & M64
        return mix((ror((a - b) & M64, 43) + ror(c, 30) + d) & M64,
                   (a + ror(b ^ K3, 20) - c + n) & M64)
    z, halves = u64(s, 24), []
    for at in (0, n - 32):
        if at:
            a, z = (u64(s, 16) + u64(s, at)) & M64, u64(s, n - 8)
        else:
            a = (u64(s, 0) + (n + u64(s, n - 16)) * K0) & M64
        b, c = ror((a + z) & M64, 52), ror(a, 37)
        a = (a + u64(s, at + 8)) & M64
        c = (c + ror(a, 7)) & M64
        a = (a + u64(s, at + 16)) & M64
        halves.append(((a + z) & M64, (b + ror(a, 31) + c) & M64))
    (vf, vs), (wf, ws) = halves
    r = fold(((vf + ws) * K2 + (wf + vs) * K0) & M64)
    return (fold((r * K0 + vs) & M64) * K2) & M64


# ---- frames ------------------------------------------------------------------------------------

def lz4(data):
    """One sequence of literals."""
    n = len(data)
    head = bytes([min(n, 15) << 4])
    if n >= 15:
        head += b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])
    return head + data


def delta(data, width):
    at = len(data) % width
    kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[width]
    values = struct.unpack_from("<%d%s" % (len(data) // width, kind), data, at)
    mask = (1 << 8 * width) - 1
    out = [(v - before) & mask for v, before in zip(values, (0,) + values)]
    return bytes([width, at]) + data[:at] + struct.pack("<%d%s" % (len(out), kind), *out)


def block(method, size, body):
    return struct.pack("<BII", method, len(body) + 9, size) + body


def frame(data, turn, width):
    if turn % 3 == 1:
        inner = block(0x82, len(data), lz4(data))
    elif turn % 3 == 2 and width in (1, 2, 4, 8):
        first = block(0x92, len(data), delta(data, width))
        inner = block(0x91, len(data), b"\x02\x92\x02" + block(0x02, len(first), first))
    else:
        inner = block(0x02, len(data), data)
    return struct.pack("<QQ", *city(inner)) + inner


class Stream:
    """Bytes of one stream, cut into frames at marks."""

    def __init__(self, width):
        self.width, self.out, self.pending, self.marks, self.turn = width, b"", b"", [], 0
        self.plain = b""

    def mark(self, close_bytes):
        if len(self.pending) >= close_bytes:
            self.close()
        self.marks.append((len(self.out), len(self.pending)))

    def close(self):
        if self.pending:
            self.out += frame(self.pending, self.turn, self.width)
            self.turn += 1
            self.plain += self.pending
            self.pending = b""


# ---- values ------------------------------------------------------------------------------------

def varuint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def value(kind, v):
    if kind in STATES:
        return v
    if kind in ("string", "binary"):
        s = v.encode() if isinstance(v, str) else (v or b"")
        return varuint(len(s)) + s
    if isinstance(TYPES[kind][1], int):
        return (v or 0).to_bytes(TYPES[kind][1], "little", signed=kind != "uint256")
    zero = 0.0 if kind in ("float", "double") else b"" if kind == "fixed" else 0
    return struct.pack(TYPES[kind][1], zero if v is None else v)


def streams_of(column, rows, i):
    """(name, width, bytes) of the streams of column i over some rows."""
    out = []
    if not column.required:
        out.append((".null", 1, bytes(r[i] is None for r in rows)))
    if column.type == "tuple":
        return [("%2Ea.null", 1, bytes(r[i] is None for r in rows)),
                ("%2Ea", 1, b"".join(value("int8", r[i]) for r in rows))]
    fmt = TYPES[column.type][1]
    if isinstance(fmt, int):
        fmt = "%ds" % fmt
    out.append(("", struct.calcsize(fmt) if fmt else 0,
                b"".join(value(column.type, r[i]) for r in rows)))
    return out


def type_name(column):
    name = TYPES[column.type][0]
    return name if column.required else "Nullable(%s)" % name


# ---- parts -------------------------------------------------------------------------------------

def put(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def file_hash(data):
    a, b = 0, 0
    for at in range(0, len(data), 2048):
        a, b = city_seed(data[at:at + 2048], a, b)
    return struct.pack("<QQ", a, b)


def write_checksums(folder, plain):
    """checksums.txt of all files; plain: those of compressed ones before compression."""
    names = sorted(os.listdir(folder))
    out = varuint(len(names))
    for name in names:
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        out += varuint(len(name)) + name.encode() + varuint(len(data)) + file_hash(data)
        if name in plain:
            out += b"\1" + varuint(len(plain[name])) + file_hash(plain[name])
        else:
            out += b"\0"
    put(folder, "checksums.txt", b"checksums format version: 4\n" + frame(out, 0, 0))


# ---- skip indexes ------------------------------------------------------------------------------

SALT = (13635471485423070496, 10336109063487487899, 17779957404565211594, 8988612159822229247)


class Skip:
    """An index over one column: kind is its TYPE with arguments, of which bloom_filter has none."""

    def __init__(self, name, column, kind, granularity):
        self.name, self.column, self.kind, self.granularity = name, column, kind, granularity
        self.args = [int(x) for x in re.findall(r"\d+", kind.partition("(")[2])]

    def definition(self):
        return "INDEX %s %s TYPE %s GRANULARITY %d" % (
            self.name, self.column, self.kind, self.granularity)

    def granule(self, column, values):
        if self.kind == "minmax":
            return self.minmax(column, values)
        if self.kind.startswith("set"):
            return self.set(column, values)
        raw = [v.encode() if isinstance(v, str) else v or b"" for v in values]
        if self.kind == "bloom_filter":
            hashes = {city64(v) if column.type in ("string", "binary") else
                      final_mix((v or 0) & (1 << 8 * struct.calcsize(TYPES[column.type][1])) - 1)
                      for v in (raw if column.type in ("string", "binary") else values)}
            bits = bytearray(len(hashes))
            for h in hashes:
                set_bits(bits, [mix(h, s) for s in SALT])
            return varuint(len(hashes)) + bytes(bits)
        size, k, seed = self.args[-3:]
        bits = bytearray(size)
        for v in raw:
            for word in words(v, self.args[0] if self.kind.startswith("ngram") else 0):
                h = city64(word)
                h1 = mix((h - K2) & M64, seed)
                h2 = mix((h - K2) & M64, (845897321 * seed + 217728422) & M64)
                set_bits(bits, [(h1 + i * h2 + i * i) & M64 for i in range(k)])
        return bytes(bits)

    def minmax(self, column, values):
        there = [v for v in values if v is not None]
        lo = min(there) if there else None
        hi = max(there) if len(there) == len(values) else None
        if column.required:
            return value(column.type, lo) + value(column.type, hi)
        return b"".join(b"\1" if v is None else b"\0" + value(column.type, v) for v in (lo, hi))

    def set(self, column, values):
        different = sorted(set(values) - {None}) + [None] * (None in values)
        if self.args[0] and len(different) > self.args[0]:
            return struct.pack("<Q", 0)
        out = struct.pack("<Q", len(different))
        if not column.required:
            out += bytes(v is None for v in different)
        return out + b"".join(value(column.type, v) for v in different)


def final_mix(x):
    for k in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        x ^= x >> 33
        x = (x * k) & M64
    return x ^ x >> 33


def set_bits(bits, positions):
    for p in positions:
        p %= 8 * len(bits)
        bits[p // 8] |= 1 << p % 8


def words(v, gram):
    if gram:
        text = v.decode()
        return {text[i:i + gram].encode() for i in range(len(text) - gram + 1)}
    return set(re.findall(rb"[0-9A-Za-z\x80-\xff]+", v))


def write_skips(folder, columns, granules, skips, marks_ext, plain):
    names = [c.name for c in columns]
    for x in skips:
        i = names.index(x.column)
        s = Stream(0)
        for at in range(0, len(granules), x.granularity):
            s.mark(4000)
            s.pending += x.granule(columns[i],
                                   [r[i] for g in granules[at:at + x.granularity] for r in g])
        s.close()
        name = "skp_idx_%s.%s" % (x.name, "idx2" if x.kind == "minmax" else "idx")
        put(folder, name, s.out)
        plain[name] = s.plain
        put(folder, "skp_idx_%s%s" % (x.name, marks_ext),
            b"".join(struct.pack("<QQQ", off, at, 1) for off, at in s.marks))


def write_part(folder, columns, rows, key, granule_rows, compact, close_bytes=4000, sums=False,
               skips=()):
    """A part with these rows, which are in the order of the columns `key`; sums: it has checksums,
    for which the folder must be new."""
    os.makedirs(folder, exist_ok=True)
    plain = {}
    granules = [rows[at:at + granule_rows] for at in range(0, len(rows), granule_rows)]
    put(folder, "columns.txt", ("columns format version: 1\n%d columns:\n" % len(columns) + "".join(
        "`%s` %s\n" % (c.name, type_name(c)) for c in columns)).encode())
    put(folder, "count.txt", b"%d" % len(rows))
    names = [c.name for c in columns]
    firsts = [g[0] for g in granules] + [rows[-1]]
    put(folder, "primary.idx", b"".join(value(columns[names.index(k)].type, r[names.index(k)])
                                        for r in firsts for k in key))
    if compact:
        data, marks, bare = b"", b"", b""
        for g in granules:
            for i, c in enumerate(columns):
                marks += struct.pack("<QQ", len(data), 0)
                values = b"".join(b for _, _, b in streams_of(c, g, i))
                data += frame(values, i, 0)
                bare += values
            marks += struct.pack("<Q", len(g))
        put(folder, "data.bin", data)
        put(folder, "data.mrk3", marks + struct.pack("<QQ", len(data), 0) * len(columns) + bytes(8))
        plain["data.bin"] = bare
        write_skips(folder, columns, granules, skips, ".mrk3", plain)
        if sums:
            write_checksums(folder, plain)
        return
    for i, c in enumerate(columns):
        streams = {}
        for g in granules:
            for name, width, data in streams_of(c, g, i):
                s = streams.setdefault(name, Stream(width))
                s.mark(close_bytes)
                s.pending += data
        for name, s in streams.items():
            s.close()
            s.marks.append((len(s.out), 0))
            sizes = [len(g) for g in granules] + [0]
            put(folder, c.name + name + ".bin", s.out)
            plain[c.name + name + ".bin"] = s.plain
            put(folder, c.name + name + ".mrk2", b"".join(
                struct.pack("<QQQ", off, at, n) for (off, at), n in zip(s.marks, sizes)))
    write_skips(folder, columns, granules, skips, ".mrk2", plain)
    if sums:
        write_checksums(folder, plain)


def write_definition(path, columns, key, skips=(), later=None, engine="MergeTree"):
    """later: name to type and default, of columns that the parts lack or have in another type."""
    later = dict(later or {})
    lines = ["`%s` %s" % (c.name, later.pop(c.name, type_name(c))) for c in columns]
    lines += ["`%s` %s" % item for item in later.items()] + [x.definition() for x in skips]
    with open(path, "w", encoding="utf-8") as f:
        f.write("ATTACH TABLE _ UUID '00000000-0000-0000-0000-000000000001'\n(\n%s\n)\nENGINE = "
                "%s\nORDER BY (%s)\nSETTINGS index_granularity = 8192\n" % (
                    ",\n".join("    " + line for line in lines), engine, ", ".join(key)))
