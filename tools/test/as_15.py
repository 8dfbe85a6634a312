#!/usr/bin/env python3
"""Filter: what a server newer than 15 prints in a regression test, in the words of 15.

expected/ is written by the server of Debian 12. Newer servers word their own parts of EXPLAIN and
some messages differently; this undoes exactly that, so that a difference that is left is ours.
Reads psql's output on stdin, writes it to stdout. The argument is the server's major version.
"""
import re
import sys


def line_as_15(line, version):
    """One line of a plan, or None when 15 prints no such line."""
    if version >= 17:
        line = re.sub(r"\(InitPlan (\d+)\)\.col1", lambda m: "$%d" % (int(m[1]) - 1), line)
        line = re.sub(r"\(ANY \(\S+ = (\(hashed SubPlan \d+\))\.col1\)\)", r"\1", line)
        line = re.sub(r"^( *)InitPlan (\d+) *$", lambda m: "%sInitPlan %s (returns $%d)" %
                      (m[1], m[2], int(m[2]) - 1), line)
    if version >= 18:
        line = re.sub(r"\brows=(\d+)\.00\b", r"rows=\1", line)
        if re.match(r' *(Window: |Buffers: |Planning: *\+?$|"?Disabled"?: |<Disabled>)', line):
            return None
    return line


def message_as_15(line, version):
    """A line outside of tables."""
    if version >= 16:
        line = re.sub(r'^WARNING:  permission denied to analyze "(\w+)", skipping it$',
                      r'WARNING:  skipping "\1" --- only table or database owner can analyze it',
                      line)
    return line


def table_as_15(header, rows, version):
    """The lines of a one-column table called QUERY PLAN, its width and count made anew."""
    kept = [r for r in (line_as_15(r, version) for r in rows) if r is not None]
    if any(r.rstrip().endswith("+") for r in rows):    # one cell of many lines: padded by psql
        return header + kept
    kept = [r.rstrip() for r in kept]
    width = max([len(r) for r in kept] + [len("QUERY PLAN") + 1]) + 1
    left = (width - len("QUERY PLAN")) // 2
    title = (" " * left + "QUERY PLAN").ljust(width)
    return [title, "-" * width] + kept


def main():
    version = int(sys.argv[1])
    lines = sys.stdin.read().split("\n")
    out, i = [], 0
    while i < len(lines):
        if lines[i].strip() == "QUERY PLAN" and i + 1 < len(lines) \
                and set(lines[i + 1]) == {"-"}:
            header, i = lines[i:i + 2], i + 2
            first = i
            while i < len(lines) and not re.fullmatch(r"\(\d+ rows?\)", lines[i]):
                i += 1
            table = table_as_15(header, lines[first:i], version)
            n = len(table) - 2
            one_cell = any(r.rstrip().endswith("+") for r in lines[first:i])
            out += table + [lines[i] if one_cell else "(%d row%s)" % (n, "" if n == 1 else "s")]
        else:
            out.append(message_as_15(lines[i], version))
        i += 1
    sys.stdout.write("\n".join(out))


main()
