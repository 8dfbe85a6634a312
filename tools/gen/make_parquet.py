#!/usr/bin/env python3
"""A small Parquet writer in plain Python: tables for tests and for the demo.

It exists so that test input can be made anywhere without a Parquet library, with full control
over layout: codec, page version, dictionary or plain, rows per page and per row group, min/max
statistics, page index, required or optional columns. Output depends on nothing but the
arguments (gzip pages also on the zlib version). Compressors other than gzip are honest but lazy:
snappy, lz4_raw and zstd write their formats' literal blocks and make nothing smaller.

Groups, lists and maps of any layout, old ones too, are columns of class Group; without page index.

As a library: write(path, columns, rows, Layout(...)). As a command, random data by seed:
  make_parquet.py out.parquet --rows 1000 --column id:int64:required --column name:string

Format: apache/parquet-format, parquet.thrift, Encodings.md; Thrift compact protocol.
"""

import argparse
import decimal
import math
import random
import struct
import zlib
from dataclasses import dataclass

# Physical types.
BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
WIDE = decimal.Context(prec=100)
CODECS = {"none": 0, "snappy": 1, "gzip": 2, "zstd": 6, "lz4_raw": 7}
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
# Thrift compact types.
T_TRUE, T_FALSE, T_BYTE, T_I16, T_I32, T_I64 = 1, 2, 3, 4, 5, 6
T_BINARY, T_LIST, T_STRUCT = 8, 9, 12


# ---- Thrift compact protocol ------------------------------------------------------------------

def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    return varint((n << 1) ^ (n >> 63))


def i32(n):
    return T_I32, zigzag(n)


def i64(n):
    return T_I64, zigzag(n)


def binary(value):
    data = value.encode() if isinstance(value, str) else value
    return T_BINARY, varint(len(data)) + data


def boolean(value):
    return (T_TRUE if value else T_FALSE), b""


def struct_of(fields):
    """A struct from {field id: (type, bytes) or None}; None fields are left out."""
    out = bytearray()
    last = 0
    for number in sorted(fields):
        if fields[number] is None:
            continue
        kind, data = fields[number]
        delta = number - last
        out += bytes([delta << 4 | kind]) if delta <= 15 else bytes([kind]) + zigzag(number)
        out += data
        last = number
    return T_STRUCT, bytes(out) + b"\0"


def list_of(kind, items):
    """A list of values given as (type, bytes) pairs; a list of booleans holds 1 and 2."""
    head = bytes([min(len(items), 15) << 4 | kind])
    if len(items) >= 15:
        head += varint(len(items))
    if kind == T_TRUE:
        return T_LIST, head + bytes(item[0] for item in items)
    return T_LIST, head + b"".join(item[1] for item in items)


# ---- columns ----------------------------------------------------------------------------------

@dataclass
class Kind:
    """How a column type of ours is stored."""
    physical: int
    pack: object          # value -> PLAIN bytes; None for booleans, which are bit-packed
    converted: int = None
    logical: object = None
    length: int = None    # of FIXED
    decimal: tuple = None  # (precision, scale)


def fixed(code):
    return struct.Struct("<" + code).pack


def pack_string(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def timestamp_type(utc):
    micros = struct_of({2: struct_of({})})
    return struct_of({8: struct_of({1: boolean(utc), 2: micros})})


def time_type(utc, unit):
    return struct_of({7: struct_of({1: boolean(utc), 2: struct_of({unit: struct_of({})})})})


def int_type(bits, signed):
    return struct_of({10: struct_of({1: (T_BYTE, bytes([bits])), 2: boolean(signed)})})


def decimal_kind(physical, precision, scale, pack, length=None):
    logical = struct_of({5: struct_of({1: i32(scale), 2: i32(precision)})})
    return Kind(physical, pack, 5, logical, length, (precision, scale))


def big_endian(length):
    return lambda value: value.to_bytes(length, "big", signed=True)


def pack_varying(value):
    return pack_string(value.to_bytes(max(1, (value.bit_length() + 8) // 8), "big", signed=True))


def pack_interval(value):
    return struct.pack("<III", *value)


def pack_int96(value):
    """Microseconds since 1970."""
    return struct.pack("<QI", value % (86400 * 10**6) * 1000, value // (86400 * 10**6) + 2440588)


INT16_TYPE = struct_of({10: struct_of({1: (T_BYTE, b"\x10"), 2: boolean(True)})})
KINDS = {
    "bool": Kind(BOOLEAN, None),
    "int16": Kind(INT32, fixed("i"), 16, INT16_TYPE),
    "int32": Kind(INT32, fixed("i")),
    "int64": Kind(INT64, fixed("q")),
    "float": Kind(FLOAT, fixed("f")),
    "double": Kind(DOUBLE, fixed("d")),
    "string": Kind(BYTE_ARRAY, pack_string, 0, struct_of({1: struct_of({})})),
    "binary": Kind(BYTE_ARRAY, pack_string),
    "date": Kind(INT32, fixed("i"), 6, struct_of({6: struct_of({})})),
    # Microseconds since 1970; a local time has no converted type of its own.
    "timestamp": Kind(INT64, fixed("q"), None, timestamp_type(False)),
    "timestamptz": Kind(INT64, fixed("q"), 10, timestamp_type(True)),
    "int8": Kind(INT32, fixed("i"), 15, int_type(8, True)),
    "uint8": Kind(INT32, fixed("I"), 11, int_type(8, False)),
    "uint16": Kind(INT32, fixed("I"), 12, int_type(16, False)),
    "uint32": Kind(INT32, fixed("I"), 13, int_type(32, False)),
    "uint64": Kind(INT64, fixed("Q"), 14, int_type(64, False)),
    "time": Kind(INT64, fixed("q"), None, time_type(False, 2)),
    "time_ms": Kind(INT32, fixed("i"), 7, time_type(False, 1)),
    "time_us": Kind(INT64, fixed("q"), 8, time_type(True, 2)),
    "time_ns": Kind(INT64, fixed("q"), None, time_type(False, 3)),
    # Annotations of the old kind only.
    "timestamp_ms": Kind(INT64, fixed("q"), 9),
    "timestamp_ns": Kind(INT64, fixed("q"), None, struct_of({8: struct_of(
        {1: boolean(False), 2: struct_of({3: struct_of({})})})})),
    "int96": Kind(INT96, pack_int96),
    "dec9": decimal_kind(INT32, 9, 2, fixed("i")),
    "dec18": decimal_kind(INT64, 18, 6, fixed("q")),
    "dec38": decimal_kind(FIXED, 38, 10, big_endian(16), 16),
    "decv": decimal_kind(BYTE_ARRAY, 20, 0, pack_varying),
    "dec50": decimal_kind(FIXED, 50, 5, big_endian(21), 21),
    "dec60": decimal_kind(FIXED, 60, 10, big_endian(40), 40),   # more bytes than it needs
    "uuid": Kind(FIXED, bytes, None, struct_of({14: struct_of({})}), 16),
    "fixed5": Kind(FIXED, bytes, length=5),
    "float16": Kind(FIXED, fixed("e"), None, struct_of({15: struct_of({})}), 2),
    "interval": Kind(FIXED, pack_interval, 21, length=12),
    "json": Kind(BYTE_ARRAY, pack_string, 19, struct_of({12: struct_of({})})),
    "bson": Kind(BYTE_ARRAY, pack_string, 20),
    "enum": Kind(BYTE_ARRAY, pack_string, 4),
    "geometry": Kind(BYTE_ARRAY, pack_string, None, struct_of({17: struct_of({})})),
    "unknown": Kind(INT32, fixed("i"), None, struct_of({11: struct_of({})})),
}


def leaf_element(kind, repetition, name):
    """The SchemaElement of a leaf."""
    precision, scale = kind.decimal or (None, None)
    return struct_of({1: i32(kind.physical),
                      2: None if kind.length is None else i32(kind.length),
                      3: i32(repetition), 4: binary(name),
                      6: None if kind.converted is None else i32(kind.converted),
                      7: None if scale is None else i32(scale),
                      8: None if precision is None else i32(precision), 10: kind.logical})


def exact_kind(precision, scale):
    """Values are decimal.Decimal; stored big-endian with as many bytes as needed."""
    def pack(value):
        number = int(value.scaleb(scale, WIDE))
        return pack_string(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))
    return Kind(BYTE_ARRAY, pack, None, struct_of({5: struct_of({1: i32(scale),
                                                                 2: i32(precision)})}))


def kind_of(name):
    """One of KINDS, or decimal(precision,scale)."""
    if name.startswith("decimal("):
        return exact_kind(*map(int, name[8:-1].split(",")))
    return KINDS[name]


@dataclass
class Column:
    """A column: name, a type as in kind_of, and whether it is required (holds no NULL)."""
    name: str
    type: str
    required: bool = False

    def __post_init__(self):
        self.kind = kind_of(self.type)


class Field:
    """A leaf below a Group."""

    def __init__(self, name, type_name, repetition=1):
        self.name, self.kind, self.repetition = name, kind_of(type_name), repetition
        self.children = []

    def measure(self, path=(), level=0, rep=0):
        """Sets paths and maximum levels; returns the leaves."""
        self.path = path + (self.name,)
        self.level = level + (self.repetition > 0)
        self.rep = rep + (self.repetition == 2)
        return [self]

    def element(self):
        return [leaf_element(self.kind, self.repetition, self.name)]


class Group(Field):
    """A group: its values are tuples of its fields' values. `bare`: its only field's values stand
    for it. Values of repeated fields (repetition 2) are lists. converted: 3 LIST, 1 MAP."""

    def __init__(self, name, children, repetition=1, converted=None, bare=False, logical=None):
        self.name, self.children, self.repetition = name, children, repetition
        self.converted, self.bare, self.logical = converted, bare, logical

    def measure(self, path=(), level=0, rep=0):
        super().measure(path, level, rep)
        self.leaves = [leaf for child in self.children
                       for leaf in child.measure(self.path, self.level, self.rep)]
        return self.leaves

    def element(self):
        own = struct_of({3: i32(self.repetition), 4: binary(self.name),
                         5: i32(len(self.children)),
                         6: None if self.converted is None else i32(self.converted),
                         10: self.logical})
        return [own] + [e for child in self.children for e in child.element()]


def variant_field(name, typed=None, repetition=1):
    """A VARIANT; values are (metadata, value) or, shredded, (metadata, value, typed value)."""
    return Group(name, [Field("metadata", "binary", 0), Field("value", "binary")] +
                 ([typed] if typed else []), repetition,
                 logical=struct_of({16: struct_of({1: (T_BYTE, b"\x01")})}))


def list_of_field(name, item, repetition=1):
    """The standard layout; values are lists of the item's values."""
    return Group(name, [Group("list", [item], 2, bare=True)], repetition, 3, bare=True)


def map_of_fields(name, key, value, repetition=1):
    """Values are lists of (key, value)."""
    return Group(name, [Group("key_value", [key, value], 2)], repetition, 1, bare=True)


def shred(node, value, level, rep, out):
    """Appends (repetition level, definition level, value) to out[leaf] for a field's leaves."""
    if node.repetition == 2 and value:
        for i, item in enumerate(value):
            put(node, item, level + 1, rep if i == 0 else node.rep, out)
    elif node.repetition == 2 or (node.repetition == 1 and value is None):
        for leaf in node.leaves if node.children else [node]:
            out[leaf].append((rep, level, None))
    else:
        put(node, value, level + node.repetition, rep, out)


def put(node, value, level, rep, out):
    if not node.children:
        out[node].append((rep, level, value))
        return
    for child, item in zip(node.children, [value] if node.bare else value):
        shred(child, item, level, rep, out)


@dataclass
class Layout:
    """How a table is cut and written."""
    codec: str = "none"
    page_version: int = 1
    dictionary: bool = True
    row_group_rows: int = 100000
    page_rows: int = 20000
    statistics: object = True       # or what makes them, as `statistics` below does
    page_index: bool = False
    encoding_stats: bool = False    # how many pages have which encoding
    crc: bool = False
    bloom: bool = False             # Bloom filters of all columns that may have one
    created_by: str = "analytics_fdw make_parquet"
    keys: tuple = ()                # (key, value) pairs of the footer


# ---- encodings --------------------------------------------------------------------------------

def bit_pack(values, width):
    """Little-endian bit packing of a multiple of eight values."""
    out = bytearray()
    for i in range(0, len(values), 8):
        word = 0
        for k, value in enumerate(values[i:i + 8]):
            word |= value << (k * width)
        out += word.to_bytes(width, "little")
    return bytes(out)


def hybrid(values, width):
    """RLE / bit-packed hybrid, without a length before it."""
    out = bytearray()
    waiting = []    # values for the next bit-packed run; only the last run may need padding
    size = (width + 7) // 8

    def flush():
        if waiting:
            padded = waiting + [0] * (-len(waiting) % 8)
            out.extend(varint(len(padded) // 8 << 1 | 1) + bit_pack(padded, width))
            waiting.clear()

    i = 0
    while i < len(values):
        end = i
        while end < len(values) and values[end] == values[i]:
            end += 1
        fill = -len(waiting) % 8
        if end - i - fill >= 8:
            waiting.extend(values[i:i + fill])
            flush()
            out.extend(varint((end - i - fill) << 1) + values[i].to_bytes(size, "little"))
        else:
            waiting.extend(values[i:end])
        i = end
    flush()
    return bytes(out)


def plain(kind, values):
    if kind.physical == BOOLEAN:
        bits = [int(v) for v in values]
        return bit_pack(bits + [0] * (-len(bits) % 8), 1)
    return b"".join(map(kind.pack, values))


# ---- codecs -----------------------------------------------------------------------------------

def snappy_literals(data):
    out = bytearray(varint(len(data)))
    for i in range(0, len(data), 65536):
        piece = data[i:i + 65536]
        n = len(piece) - 1
        out += bytes([n << 2]) if n < 60 else bytes([61 << 2]) + struct.pack("<H", n)
        out += piece
    return bytes(out)


def lz4_literals(data):
    n = len(data)
    if n < 15:
        return bytes([n << 4]) + data
    return b"\xf0" + b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255]) + data


def zstd_raw(data):
    """One frame, single segment with an 8-byte content size, of raw blocks."""
    out = bytearray(struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(data)))
    pieces = [data[i:i + 131072] for i in range(0, len(data), 131072)] or [b""]
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        out += struct.pack("<I", len(piece) << 3 | last)[:3] + piece
    return bytes(out)


def gzip_member(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


COMPRESS = {"none": bytes, "snappy": snappy_literals, "gzip": gzip_member, "zstd": zstd_raw,
            "lz4_raw": lz4_literals}


# ---- statistics -------------------------------------------------------------------------------

def stat_bytes(kind, value):
    """A bound as statistics store it: PLAIN without the length of a byte array."""
    if kind.physical == BOOLEAN:
        return bytes([int(value)])
    return kind.pack(value)[4 if kind.physical == BYTE_ARRAY else 0:]


def bounds(kind, values):
    """(min, max) as bytes, or None without a usable value. NaN is no bound; a zero bound takes
    the sign that keeps both zeros inside."""
    if kind.physical in (FLOAT, DOUBLE):
        values = [v for v in values if not math.isnan(v)]
    if kind.physical == BYTE_ARRAY:
        values = [v.encode() if isinstance(v, str) else v for v in values]
    if not values or kind.physical in (INT96, FIXED) or kind.decimal:
        return None
    low, high = min(values), max(values)
    if kind.physical in (FLOAT, DOUBLE):
        low = -0.0 if low == 0 else low
        high = 0.0 if high == 0 else high
    return stat_bytes(kind, low), stat_bytes(kind, high)


def statistics(kind, values, nulls):
    found = bounds(kind, values)
    return struct_of({3: i64(nulls), 5: binary(found[1]) if found else None,
                      6: binary(found[0]) if found else None})


# ---- Bloom filters ----------------------------------------------------------------------------

MASK = 2**64 - 1
PRIMES = (0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63,
          0x27d4eb2f165667c5)
SALT = (0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947,
        0x5c6bfb31)


def xxh64(data):
    """XXH64 with seed 0, after the specification of xxHash."""
    p1, p2, p3, p4, p5 = PRIMES

    def rotate(v, by):
        return (v << by | v >> (64 - by)) & MASK

    def lane(acc, word):
        return rotate((acc + word * p2) & MASK, 31) * p1 & MASK

    words = len(data) // 32 * 32
    if words:
        acc = [p1 + p2 & MASK, p2, 0, -p1 & MASK]
        for i in range(0, words, 32):
            acc = [lane(a, w) for a, w in zip(acc, struct.unpack_from("<4Q", data, i))]
        h = sum(rotate(a, by) for a, by in zip(acc, (1, 7, 12, 18))) & MASK
        for a in acc:
            h = ((h ^ lane(0, a)) * p1 + p4) & MASK
    else:
        h = p5
    h = h + len(data) & MASK
    at = words
    while at + 8 <= len(data):
        h = (rotate(h ^ lane(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & MASK, 11) * p1 & MASK
    h = (h ^ h >> 33) * p2 & MASK
    h = (h ^ h >> 29) * p3 & MASK
    return h ^ h >> 32


def bloom_filter(kind, values):
    """A filter with its header, of about ten bits a value."""
    keys = {stat_bytes(kind, v) for v in values}
    blocks = 1
    while blocks * 256 < len(keys) * 10:
        blocks *= 2
    words = [0] * (8 * blocks)
    for key in keys:
        h = xxh64(key)
        block = (h >> 32) * blocks >> 32
        for i, salt in enumerate(SALT):
            words[8 * block + i] |= 1 << (((h & 0xffffffff) * salt & 0xffffffff) >> 27)
    head = struct_of({1: i32(32 * blocks), 2: struct_of({1: struct_of({})}),
                      3: struct_of({1: struct_of({})}), 4: struct_of({1: struct_of({})})})[1]
    return head + struct.pack("<%dI" % len(words), *words)


# ---- pages and chunks -------------------------------------------------------------------------

class Chunk:
    """Writes one column of one row group and remembers what the footer needs."""

    bloom = None            # (offset, length)

    def __init__(self, out, column, values, layout):
        self.out, self.column, self.kind, self.layout = out, column, column.kind, layout
        self.values = values
        self.raw_size = 0
        self.dictionary_offset = None
        self.pages = []     # (offset, size with header, first row, present values, nulls)
        if column.required and None in values:
            raise ValueError("NULL in required column " + column.name)
        self.start = out.tell()
        words = self.dictionary() if layout.dictionary else None
        first = 0
        while first < len(values) or (first == 0 and not self.pages):
            self.data_page(first, values[first:first + layout.page_rows], words)
            first += layout.page_rows
        self.size = out.tell() - self.start

    def dictionary(self):
        """Writes the dictionary page; {value: index}, or None where one does not pay."""
        if self.kind.physical == BOOLEAN:
            return None
        words = {}
        for value in self.values:
            # repr tells 0.0 from -0.0 and makes NaN equal to itself.
            if value is not None:
                words.setdefault(repr(value), (len(words), value))
        if not words or len(words) > 40000:
            return None
        body = plain(self.kind, [value for _, value in words.values()])
        self.dictionary_offset = self.out.tell()
        self.page(2, {7: struct_of({1: i32(len(words)), 2: i32(PLAIN)})}, b"", body)
        return {key: index for key, (index, _) in words.items()}

    def data_page(self, first, values, words):
        present = [v for v in values if v is not None]
        nulls = len(values) - len(present)
        levels = b""
        if not self.column.required:
            levels = hybrid([int(v is not None) for v in values], 1)
        if words is None:
            encoding, body = PLAIN, plain(self.kind, present)
        else:
            width = max(1, (len(words) - 1).bit_length())
            encoding = RLE_DICTIONARY
            body = bytes([width]) + hybrid([words[repr(v)] for v in present], width)
        stats = self.statistics(present, nulls)
        offset = self.out.tell()
        if self.layout.page_version == 1:
            if not self.column.required:
                levels = struct.pack("<I", len(levels)) + levels
            head = struct_of({1: i32(len(values)), 2: i32(encoding), 3: i32(RLE), 4: i32(RLE),
                              5: stats})
            self.page(0, {5: head}, b"", levels + body)
        else:
            head = struct_of({1: i32(len(values)), 2: i32(nulls), 3: i32(len(values)),
                              4: i32(encoding), 5: i32(len(levels)), 6: i32(0),
                              7: boolean(self.layout.codec != "none"), 8: stats})
            self.page(3, {8: head}, levels, body)
        self.pages.append((offset, self.out.tell() - offset, first, present, nulls))

    def page(self, kind, header, levels, body):
        packed = COMPRESS[self.layout.codec](body)
        head = struct_of({1: i32(kind), 2: i32(len(levels) + len(body)),
                          3: i32(len(levels) + len(packed)),
                          4: self.checksum(levels + packed), **header})[1]
        self.out.write(head + levels + packed)
        self.raw_size += len(head) + len(levels) + len(body)

    def statistics(self, present, nulls):
        make = self.layout.statistics
        return (make if callable(make) else statistics)(self.kind, present, nulls) if make else None

    def checksum(self, body):
        value = zlib.crc32(body)
        return i32(value - 2**32 if value >= 2**31 else value) if self.layout.crc else None

    def column_index(self):
        limits = [bounds(self.kind, page[3]) for page in self.pages]
        if any(limit is None and page[3] for limit, page in zip(limits, self.pages)):
            return None     # only NaN in a page: no honest bound
        return struct_of({
            1: list_of(T_TRUE, [boolean(limit is None) for limit in limits]),
            2: list_of(T_BINARY, [binary(limit[0] if limit else b"") for limit in limits]),
            3: list_of(T_BINARY, [binary(limit[1] if limit else b"") for limit in limits]),
            4: i32(0),
            5: list_of(T_I64, [i64(page[4]) for page in self.pages])})[1]

    def offset_index(self):
        return struct_of({1: list_of(T_STRUCT, [
            struct_of({1: i64(offset), 2: i32(size), 3: i64(first)})
            for offset, size, first, _, _ in self.pages])})[1]

    def write_bloom(self):
        """Writes the filter of a column that may have one."""
        if self.kind.physical in (BOOLEAN, INT96):
            return
        data = bloom_filter(self.kind, [v for v in self.values if v is not None])
        self.bloom = (self.out.tell(), len(data))
        self.out.write(data)

    def write_index(self):
        """Writes both indexes; the ColumnChunk fields that point to them."""
        fields = {}
        column_index = self.column_index()
        if column_index:
            fields[6], fields[7] = i64(self.out.tell()), i32(len(column_index))
            self.out.write(column_index)
        offset_index = self.offset_index()
        fields[4], fields[5] = i64(self.out.tell()), i32(len(offset_index))
        self.out.write(offset_index)
        return fields

    def metadata(self, index_fields):
        present = [v for v in self.values if v is not None]
        encodings = [PLAIN, RLE] + ([RLE_DICTIONARY] if self.dictionary_offset is not None else [])
        meta = struct_of({
            1: i32(self.kind.physical),
            2: list_of(T_I32, [i32(e) for e in encodings]),
            3: list_of(T_BINARY, [binary(self.column.name)]),
            4: i32(CODECS[self.layout.codec]),
            5: i64(len(self.values)),
            6: i64(self.raw_size),
            7: i64(self.size),
            9: i64(self.pages[0][0]),
            11: None if self.dictionary_offset is None else i64(self.dictionary_offset),
            12: self.statistics(present, len(self.values) - len(present)),
            13: self.encoding_stats() if self.layout.encoding_stats else None,
            14: i64(self.bloom[0]) if self.bloom else None,
            15: i32(self.bloom[1]) if self.bloom else None})
        return struct_of({2: i64(self.start), 3: meta, **index_fields})

    def encoding_stats(self):
        """Of (kind of page, encoding, pages)."""
        page = 0 if self.layout.page_version == 1 else 3
        dictionary = self.dictionary_offset is not None
        counts = [(page, RLE_DICTIONARY if dictionary else PLAIN, len(self.pages))]
        if dictionary:
            counts.insert(0, (2, PLAIN, 1))
        return list_of(T_STRUCT, [struct_of({1: i32(kind), 2: i32(encoding), 3: i32(n)})
                                  for kind, encoding, n in counts])


class LeafChunk(Chunk):
    """A leaf of a Group. Pages of version 1 are cut anywhere, every page_rows slots; those of
    version 2 where rows begin."""

    def __init__(self, out, leaf, slots, layout):
        self.out, self.column, self.kind, self.layout = out, leaf, leaf.kind, layout
        self.values = [value for _, level, value in slots if level == leaf.level]
        self.slots = slots
        self.raw_size = 0
        self.dictionary_offset = None
        self.pages = []
        self.start = out.tell()
        words = self.dictionary() if layout.dictionary else None
        first = 0
        while first < len(slots) or (first == 0 and not self.pages):
            last = min(first + layout.page_rows, len(slots))
            while layout.page_version == 2 and last < len(slots) and slots[last][0] > 0:
                last += 1
            self.slot_page(slots[first:last], words)
            first = last
        self.size = out.tell() - self.start

    def slot_page(self, slots, words):
        leaf = self.column
        present = [value for _, level, value in slots if level == leaf.level]
        reps = hybrid([s[0] for s in slots], leaf.rep.bit_length()) if leaf.rep else b""
        defs = hybrid([s[1] for s in slots], leaf.level.bit_length()) if leaf.level else b""
        if words is None:
            encoding, body = PLAIN, plain(self.kind, present)
        else:
            width = max(1, (len(words) - 1).bit_length())
            encoding = RLE_DICTIONARY
            body = bytes([width]) + hybrid([words[repr(v)] for v in present], width)
        offset = self.out.tell()
        if self.layout.page_version == 1:
            levels = b"".join(struct.pack("<I", len(x)) + x for x in (reps, defs) if x)
            head = struct_of({1: i32(len(slots)), 2: i32(encoding), 3: i32(RLE), 4: i32(RLE)})
            self.page(0, {5: head}, b"", levels + body)
        else:
            rows = sum(s[0] == 0 for s in slots)
            head = struct_of({1: i32(len(slots)), 2: i32(len(slots) - len(present)), 3: i32(rows),
                              4: i32(encoding), 5: i32(len(defs)), 6: i32(len(reps)),
                              7: boolean(self.layout.codec != "none")})
            self.page(3, {8: head}, reps + defs, body)
        self.pages.append((offset,))

    def write_bloom(self):
        pass

    def write_index(self):
        return {}

    def metadata(self, index_fields):
        encodings = [PLAIN, RLE] + ([RLE_DICTIONARY] if self.dictionary_offset is not None else [])
        return struct_of({2: i64(self.start), 3: struct_of({
            1: i32(self.kind.physical),
            2: list_of(T_I32, [i32(e) for e in encodings]),
            3: list_of(T_BINARY, [binary(name) for name in self.column.path]),
            4: i32(CODECS[self.layout.codec]),
            5: i64(len(self.slots)),
            6: i64(self.raw_size),
            7: i64(self.size),
            9: i64(self.pages[0][0]),
            11: None if self.dictionary_offset is None else i64(self.dictionary_offset)})})


def column_chunks(out, column, values, layout):
    if isinstance(column, Column):
        return [Chunk(out, column, values, layout)]
    slots = {leaf: [] for leaf in column.measure()}
    for value in values:
        shred(column, value, 0, 0, slots)
    return [LeafChunk(out, leaf, slots[leaf], layout) for leaf in slots]


def schema_element(column):
    if not isinstance(column, Column):
        return column.element()
    return [leaf_element(column.kind, 0 if column.required else 1, column.name)]


def write(path, columns, rows, layout=Layout()):
    """Writes `rows` (tuples in the order of `columns`; None is NULL) to `path`."""
    groups = []
    with open(path, "wb") as out:
        out.write(b"PAR1")
        for first in range(0, len(rows), layout.row_group_rows):
            part = rows[first:first + layout.row_group_rows]
            chunks = [chunk for i, column in enumerate(columns)
                      for chunk in column_chunks(out, column, [row[i] for row in part], layout)]
            groups.append((len(part), chunks))
        if layout.bloom:
            for _, chunks in groups:
                for chunk in chunks:
                    chunk.write_bloom()
        index = {}
        if layout.page_index:
            index = {id(c): c.write_index() for _, chunks in groups for c in chunks}
        row_groups = [struct_of({
            1: list_of(T_STRUCT, [c.metadata(index.get(id(c), {})) for c in chunks]),
            2: i64(sum(c.raw_size for c in chunks)), 3: i64(count),
            5: i64(chunks[0].start), 6: i64(sum(c.size for c in chunks)),
            7: (T_I16, zigzag(number))}) for number, (count, chunks) in enumerate(groups)]
        root = struct_of({4: binary("schema"), 5: i32(len(columns))})
        footer = struct_of({
            1: i32(2 if layout.page_version == 2 else 1),
            2: list_of(T_STRUCT, [root] + [e for c in columns for e in schema_element(c)]),
            3: i64(len(rows)),
            4: list_of(T_STRUCT, row_groups),
            **({5: list_of(T_STRUCT, [struct_of({1: binary(k), 2: binary(v)})
                                      for k, v in layout.keys])} if layout.keys else {}),
            6: binary(layout.created_by),
            7: list_of(T_STRUCT, [struct_of({1: struct_of({})}) for c in columns for _ in
                                  ([c] if isinstance(c, Column) else c.measure())])})[1]
        out.write(footer + struct.pack("<I", len(footer)) + b"PAR1")


# ---- command line -----------------------------------------------------------------------------

RANDOM = ("bool", "int16", "int32", "int64", "float", "double", "string", "binary", "date",
          "timestamp", "timestamptz")


def random_value(rng, kind, number):
    day = 86400 * 1000000
    makers = {
        "bool": lambda: rng.random() < 0.5,
        "int16": lambda: rng.randint(-32768, 32767),
        "int32": lambda: rng.randint(-2**31, 2**31 - 1),
        "int64": lambda: number,
        "float": lambda: struct.unpack("<f", struct.pack("<f", rng.gauss(0, 100)))[0],
        "double": lambda: rng.gauss(0, 100),
        "string": lambda: "value %d" % rng.randint(0, 999),
        "binary": lambda: rng.randbytes(rng.randint(0, 12)),
        "date": lambda: rng.randint(0, 20000),
        "timestamp": lambda: rng.randint(0, 20000 * day),
        "timestamptz": lambda: rng.randint(0, 20000 * day),
    }
    return makers[kind]()


def parse_column(text):
    parts = text.split(":")
    if len(parts) not in (2, 3) or parts[1] not in RANDOM or parts[2:] not in ([], ["required"]):
        raise argparse.ArgumentTypeError("want name:type[:required], type one of " +
                                         " ".join(RANDOM))
    return Column(parts[0], parts[1], len(parts) == 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--column", type=parse_column, action="append", required=True,
                        metavar="NAME:TYPE[:required]")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nulls", type=float, default=0.1, help="share of NULLs where allowed")
    parser.add_argument("--codec", choices=sorted(CODECS), default="none")
    parser.add_argument("--page-version", type=int, choices=(1, 2), default=1)
    parser.add_argument("--plain", action="store_true", help="no dictionaries")
    parser.add_argument("--row-group-rows", type=int, default=100000)
    parser.add_argument("--page-rows", type=int, default=20000)
    parser.add_argument("--no-statistics", action="store_true")
    parser.add_argument("--page-index", action="store_true")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    rows = [tuple(None if not c.required and rng.random() < args.nulls
                  else random_value(rng, c.type, number) for c in args.column)
            for number in range(args.rows)]
    write(args.path, args.column, rows, Layout(
        codec=args.codec, page_version=args.page_version, dictionary=not args.plain,
        row_group_rows=args.row_group_rows, page_rows=args.page_rows,
        statistics=not args.no_statistics, page_index=args.page_index))


if __name__ == "__main__":
    main()
