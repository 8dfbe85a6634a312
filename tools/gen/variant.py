"""Variants as tests need them: Python values to metadata and value bytes, and shredding.

None, bool, int, float, str, bytes, lists and dicts are encoded; names() collects the dictionary.

Format: apache/parquet-format, VariantEncoding.md.
"""

import struct


def names(value, out=None):
    out = set() if out is None else out
    if isinstance(value, dict):
        out.update(value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(
            value, list) else ():
        names(item, out)
    return out


def metadata(words):
    """The dictionary of sorted names, with offsets of one byte."""
    data = [w.encode() for w in words]
    offsets = [sum(len(d) for d in data[:i]) for i in range(len(data) + 1)]
    return bytes([0x11, len(data)] + offsets) + b"".join(data)


def encode(value, words):
    if value is None or isinstance(value, bool):
        return bytes([{None: 0, True: 1, False: 2}[value] << 2])
    if isinstance(value, int):
        for kind, code in ((3, "b"), (4, "h"), (5, "i"), (6, "q")):
            bits = 8 * struct.calcsize(code)
            if -2**(bits - 1) <= value < 2**(bits - 1):
                return bytes([kind << 2]) + struct.pack("<" + code, value)
    if isinstance(value, float):
        return bytes([7 << 2]) + struct.pack("<d", value)
    if isinstance(value, bytes):
        return bytes([15 << 2]) + struct.pack("<I", len(value)) + value
    if isinstance(value, str):
        data = value.encode()
        if len(data) < 64:
            return bytes([len(data) << 2 | 1]) + data
        return bytes([16 << 2]) + struct.pack("<I", len(data)) + data
    keys = sorted(value) if isinstance(value, dict) else []
    items = [encode(v, words) for v in ([value[k] for k in keys] if keys or isinstance(
        value, dict) else value)]
    offsets = [sum(len(i) for i in items[:k]) for k in range(len(items) + 1)]
    head = bytes([2 | 1 << 2 if isinstance(value, dict) else 3 | 1 << 2, len(items)])
    return (head + bytes(words.index(k) for k in keys) +
            b"".join(struct.pack("<H", o) for o in offsets) + b"".join(items))
