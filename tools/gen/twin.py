"""Writes a table as SQL, so that a heap table can be filled with the very rows of a file without
any reader in between: the other half of a differential test."""

import datetime

EPOCH = datetime.datetime(1970, 1, 1)

SQL_TYPES = {"bool": "boolean", "int16": "smallint", "int32": "integer", "int64": "bigint",
             "float": "real", "double": "double precision", "string": "text", "binary": "bytea",
             "date": "date", "time": "time", "timestamp": "timestamp", "timestamptz": "timestamptz"}


def copy_field(kind, value):
    """A value in COPY's text format."""
    if value is None:
        return "\\N"
    if kind == "bool":
        return "t" if value else "f"
    if kind == "string":
        for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            value = value.replace(plain, escaped)
        return value
    if kind == "binary":
        return "\\\\x" + value.hex()
    if kind == "date":
        return (EPOCH + datetime.timedelta(days=value)).date().isoformat()
    if kind in ("timestamp", "timestamptz"):
        text = (EPOCH + datetime.timedelta(microseconds=value)).isoformat(" ")
        return text + ("+00" if kind == "timestamptz" else "")
    if kind == "time":
        return (EPOCH + datetime.timedelta(microseconds=value)).time().isoformat()
    if kind in ("float", "double"):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    return format(value, "f") if kind.startswith("decimal(") else str(value)


def twin_sql(name, columns, rows):
    """CREATE TABLE and COPY of `rows` into table `name` of the current schema."""
    parts = ["CREATE TABLE %s (%s);\n" % (name, ", ".join(
        '"%s" %s%s' % (c.name, SQL_TYPES.get(c.type, c.type), " NOT NULL" if c.required else "")
        for c in columns)), "COPY %s FROM stdin;\n" % name]
    for row in rows:
        parts.append("\t".join(copy_field(c.type, v) for c, v in zip(columns, row)) + "\n")
    parts.append("\\.\nANALYZE %s;\n" % name)
    return "".join(parts)
