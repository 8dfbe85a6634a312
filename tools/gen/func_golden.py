#!/usr/bin/env python3
"""Asks a running PostgreSQL for the answers that the unit tests of func/ replay.

    tools/pg/private-server.sh exec --no-install -- tools/gen/func_golden.py regex > regex.tsv

Connects with psql as the environment says (PGHOST and so on; encoding UTF8). Cases are random, from
a seed that can be given. Output: COPY text format, one case a line; the last column is the server's
answer, E for an error in the pattern, \\N for null.

    regex: operation, pattern, string, replacement, answer
           m ~   c ~ under collation C   i ~* under C   r regexp_replace under C   s substring
    text:  function, argument 1, 2, 3, answer or E and SQLSTATE
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

REGEX_SQL = r"""
create function pg_temp.answer(k text, p text, s text, r text) returns text language plpgsql as $$
begin
    case k
        when 'm' then return case when s ~ p then 't' else 'f' end;
        when 'c' then return case when s ~ (p collate "C") then 't' else 'f' end;
        when 'i' then return case when s ~* (p collate "C") then 't' else 'f' end;
        when 'r' then return regexp_replace(s, p collate "C", r);
        when 's' then return substring(s from p collate "C");
    end case;
exception when invalid_regular_expression then
    return 'E';
end $$;
"""

TEXT_SQL = r"""
create function pg_temp.answer(k text, a text, b text, c text) returns text language plpgsql as $$
begin
    return case k
        when 'lower' then lower(a collate "C")
        when 'upper' then upper(a collate "C")
        when 'substring2' then substring(a, b::int)
        when 'substring3' then substring(a, b::int, c::int)
        when 'left' then left(a, b::int)
        when 'right' then right(a, b::int)
        when 'strpos' then strpos(a, b)::text
        when 'btrim1' then btrim(a)
        when 'ltrim1' then ltrim(a)
        when 'rtrim1' then rtrim(a)
        when 'btrim' then btrim(a, b)
        when 'ltrim' then ltrim(a, b)
        when 'rtrim' then rtrim(a, b)
        when 'replace' then replace(a, b, c)
        when 'split_part' then split_part(a, b, c::int)
        when 'starts_with' then starts_with(a, b)::text
        when 'reverse' then reverse(a)
        when 'repeat' then repeat(a, b::int)
        when 'lpad' then lpad(a, b::int, c)
        when 'rpad' then rpad(a, b::int, c)
        when 'concat' then a || b
        when 'translate' then translate(a, b, c)
        when 'ascii' then ascii(a)::text
        when 'chr' then chr(b::int)
        when 'ilike' then (a ilike b collate "C")::text
        when 'ilike_default' then (a ilike b)::text
        when 'hashtext' then hashtext(a)::text
    end;
exception when others then
    return 'E' || sqlstate;
end $$;
"""


def copy_text(value):
    if value is None:
        return r"\N"
    for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(plain, escaped)
    return value


def ask(sql, cases):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".tsv", delete=False) as f:
        for number, case in enumerate(cases):
            f.write("\t".join([str(number)] + [copy_text(x) for x in case]) + "\n")
    script = (
        "\\set QUIET on\nset client_encoding = 'UTF8';\nset client_min_messages = error;\n" + sql
        + "create temp table c (id int, k text, a text, b text, c text);\n"
        + "\\copy c from '%s'\n" % f.name
        + "\\copy (select k, a, b, c, pg_temp.answer(k, a, b, c) from c order by id) to stdout\n")
    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"], input=script, text=True,
                          encoding="utf-8", stdout=subprocess.PIPE)
    os.unlink(f.name)
    if done.returncode != 0:
        sys.exit("func_golden: psql failed")
    sys.stdout.write(done.stdout)


# ---- regular expressions ----------------------------------------------------------------------

LETTERS = "aaabbcz09_/.-é \nKZ"
SPECIAL = r"\.[]()*+?{}|^$-"


def a_string(rng, longest=9):
    return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(longest + 1)))


def an_atom(rng, depth, boolean):
    roll = rng.random()
    if roll < 0.5:
        c = rng.choice(LETTERS)
        return "\\" + c if c in "./-" and rng.random() < 0.8 else c
    if roll < 0.6:
        return "."
    if roll < 0.75:
        return a_bracket(rng)
    if roll < 0.8 and boolean:
        return rng.choice([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\n", r"\x41", r"\u00e9",
                           r"\.", r"\\", r"\$", r"\t"])
    if depth > 0:
        inside = a_pattern(rng, depth - 1, boolean) if boolean else a_sequence(rng, depth - 1)
        return rng.choice(["(", "(?:", "("]) + inside + ")"
    return rng.choice("abc")


def a_bracket(rng):
    items = ["a", "b", "c", "0-9", "a-z", "a-c", "/", ".", "-", "]", "^", "é", "A-Z", "_", "[",
             r"\d", r"\w", r"\s", "[:alpha:]", "[:digit:]", "b-é", r"\n", r"\\", "\u00e0-\u20ac",
             "*", "$"]
    return "[" + rng.choice(["", "", "^"]) + "".join(
        rng.choice(items) for _ in range(rng.randrange(1, 4))) + "]"


def a_quantifier(rng, lazy):
    q = rng.choice(["*", "+", "?", "*", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "{1,}", "{0,1}"])
    return q + ("?" if lazy and rng.random() < 0.2 else "")


def a_pattern(rng, depth=2, boolean=True):
    branches = []
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        parts = []
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
            if rng.random() < 0.07:
                parts.append(rng.choice(["^", "$", r"\A", r"\Z"]))
                continue
            parts.append(an_atom(rng, depth, boolean))
            if rng.random() < 0.3:
                parts.append(a_quantifier(rng, True))
        branches.append("".join(parts))
    return "|".join(branches)


def mutate(rng, pattern):
    chars = list(pattern)
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(len(chars) + 1)
        if rng.random() < 0.6:
            chars.insert(at, rng.choice(SPECIAL + "a0"))
        elif chars:
            del chars[min(at, len(chars) - 1)]
    return "".join(chars)


def a_sequence(rng, depth):
    parts = []
    for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
        atom = an_atom(rng, depth, False)
        parts.append(atom)
        if rng.random() < 0.4:
            group = atom.startswith("(") and len(atom) > 1
            parts.append("?" if group and rng.random() < 0.9 else a_quantifier(rng, False))
    return "".join(parts)


def a_replacement(rng):
    return rng.choice([r"\1", r"\2", r"\1", r"<\1>", r"\2\1", r"\&", r"x", "", r"\1|\2|\3",
                       r"a\\b\1", r"\9", r"\1\1", r"\0", r"\a\2", "\\"])


WEB = [
    (r"^https?://(?:www\.)?([^/]+)/.*$", r"\1"),
    (r"^https?://(www\.)?([^/?]+)(/.*)?$", r"\2"),
    (r"^.*/([^/]+)$", r"\1"),
    (r"^(.*)/[^/]*$", r"\1"),
    (r"^([a-z]+)://.*$", r"\1"),
    (r"^([^:]+):([0-9]+)$", r"\2:\1"),
    (r"^(?:https?://)?([^/]+).*$", r"\1"),
    (r"^(.*)\.([^.]*)$", r"\2"),
    (r"^ *(.*)$", r"[\1]"),
    (r"^([0-9]{4})-([0-9]{2})-([0-9]{2})$", r"\3.\2.\1"),
    (r"^a?(?:ab)?(b?)$", r"\1"),
    (r"^a?(ab)?$", r"<\1>"),
    (r"^(a*)(a*)$", r"\1|\2"),
    (r"^(.*)(.*)$", r"\1|\2"),
    (r"^(.{1,3})(.*)$", r"\2\1"),
]
URLS = ["http://www.example.com/a/b?c", "https://example.com/", "https://www./x", "http://www.//",
        "http://", "ftp://x/y", "http://www.a", "http://www.é.de/ü\nx", "/usr/lib/x.so", "a:80",
        "2024-01-31", "a.b.c", "  x ", "ab", "aab", "aaa", "https://x/www.y/z", ""]


def a_url(rng):
    base = rng.choice(URLS)
    if rng.random() < 0.4 and base:
        at = rng.randrange(len(base))
        base = base[:at] + rng.choice(["", "/", "www.", "a", "é", ":"]) + base[at + 1:]
    return base


def regex_cases(rng, count):
    cases = []
    for pattern, replacement in WEB:
        for url in URLS:
            cases.append(("r", pattern, url, replacement))
            cases.append(("s", pattern, url, ""))
    while len(cases) < count:
        kind = rng.choice("mmcciirrrs")
        if kind in "mci":
            pattern = a_pattern(rng)
            if rng.random() < 0.15:
                pattern = mutate(rng, pattern)
            for _ in range(3):
                cases.append((kind, pattern, a_string(rng), ""))
            continue
        if rng.random() < 0.2:
            pattern, replacement = rng.choice(WEB)
            cases.append((kind, pattern, a_url(rng), replacement))
            continue
        pattern = "^" + a_sequence(rng, 2) + "$"
        if rng.random() < 0.03:
            pattern = mutate(rng, pattern)
        for _ in range(4):
            cases.append((kind, pattern, a_string(rng), a_replacement(rng)))
    return cases


# ---- texts ------------------------------------------------------------------------------------

TEXT_LETTERS = "aabbcABZz09 _%./é€𝄞ßİK\t-"


def a_text(rng, longest=8):
    return "".join(rng.choice(TEXT_LETTERS) for _ in range(rng.randrange(longest + 1)))


def a_number(rng):
    return str(rng.choice([0, 1, 2, 3, 4, 5, 7, -1, -2, -3, -5, 10, 2147483647, -2147483648]))


def a_part(rng, text):
    """Part of the text, or any other."""
    if text and rng.random() < 0.7:
        at = rng.randrange(len(text))
        return text[at:at + rng.randrange(1, 3)]
    return a_text(rng, 2)


def an_ilike(rng):
    return "".join(rng.choice("aAbBzZ09%%%__ .k") for _ in range(rng.randrange(6)))


def a_text_case(rng, function):
    a = a_text(rng)
    small = str(rng.randrange(-2, 7))
    if function in ("lower", "upper", "btrim1", "ltrim1", "rtrim1", "reverse", "ascii"):
        if "trim" in function:
            a = " " * rng.randrange(3) + a + " " * rng.randrange(3)
        return (a, "", "")
    if function == "hashtext":  # all lengths of the tail, and several steps
        return (a_text(rng, rng.randrange(40)), "", "")
    if function in ("left", "right", "substring2"):
        return (a, a_number(rng), "")
    if function == "substring3":
        return (a, a_number(rng), a_number(rng))
    if function in ("strpos", "starts_with", "btrim", "ltrim", "rtrim"):
        b = a_part(rng, a)
        if function == "starts_with" and rng.random() < 0.6:
            b = a[:rng.randrange(len(a) + 1)]
        return (a, b, "")
    if function == "replace":
        return (a, a_part(rng, a), a_text(rng, 3))
    if function == "split_part":
        a = "".join(rng.choice("a,b;é,") for _ in range(rng.randrange(9)))
        return (a, rng.choice([",", ",", ";", "é", ",,", "", "x"]), str(rng.randrange(-4, 5)))
    if function == "repeat":
        return (a, small, "")
    if function in ("lpad", "rpad"):
        return (a, str(rng.randrange(-1, 12)), a_text(rng, 3))
    if function == "concat":
        return (a, a_text(rng), "")
    if function == "translate":
        return (a, a_text(rng, 4), a_text(rng, 4))
    if function == "chr":
        return ("", str(rng.choice([0, 1, 65, 127, 128, 233, 2047, 2048, 8364, 55295, 55296, 57343,
                                    57344, 65535, 65536, 119070, 1114111, 1114112, -1,
                                    rng.randrange(1, 1114112)])), "")
    return (a, an_ilike(rng), "")


def text_cases(rng, count):
    functions = [line.split("'")[1] for line in TEXT_SQL.splitlines() if " when '" in line]
    return [(f,) + a_text_case(rng, f) for f in functions for _ in range(count // len(functions))]


# ---- main -------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["regex", "text"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    if args.what == "regex":
        ask(REGEX_SQL, regex_cases(rng, args.count))
    else:
        ask(TEXT_SQL, text_cases(rng, args.count))


if __name__ == "__main__":
    main()
