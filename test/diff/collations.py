"""The collations under which queries over text run, and queries that name one themselves.

A collation stands in three places: as that of the columns (heap_<name>, foreign_<name>: schemas
with the tables once more), as the default of a database, and as COLLATE in an expression.
"""
import re
import unicodedata

# name: how it is made, or "" for one that every server with ICU has. The names are also those of
# schemas and databases.
MADE = {
    "icu_root": "CREATE COLLATION public.icu_root FROM pg_catalog.\"und-x-icu\"",
    "icu_de": "CREATE COLLATION public.icu_de FROM pg_catalog.\"de-x-icu\"",
    "icu_tr": "CREATE COLLATION public.icu_tr FROM pg_catalog.\"tr-x-icu\"",
    "libc_de": "CREATE COLLATION public.libc_de (provider = libc, locale = 'de_DE.UTF-8')",
    "libc_tr": "CREATE COLLATION public.libc_tr (provider = libc, locale = 'tr_TR.UTF-8')",
    "plain_c": "CREATE COLLATION public.plain_c FROM pg_catalog.\"C\"",
    "c_utf8": "CREATE COLLATION public.c_utf8 (provider = libc, locale = 'C.UTF-8')",
    # equal are texts that differ in case only, and canonical equivalents
    "no_case": "CREATE COLLATION public.no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"}
NOT_DETERMINISTIC = ("no_case",)
COLUMNS = ("plain_c", "icu_root", "icu_de", "icu_tr", "libc_de", "no_case")
DATABASES = {
    "default_c": "LC_COLLATE 'C' LC_CTYPE 'C'",
    "default_libc_de": "LC_COLLATE 'de_DE.UTF-8' LC_CTYPE 'de_DE.UTF-8'",
    "default_icu_de": "LOCALE_PROVIDER icu ICU_LOCALE 'de' LC_COLLATE 'C' LC_CTYPE 'C'"}

TEXT = re.compile(r"\b(s|ks|u|name)\b")


def over_text(q):
    """Whether a collation may change the answer to a query that names none."""
    return TEXT.search(q.sql) is not None and "COLLATE" not in q.sql


def over_text_run(q):
    """The same without what does not run: whether its planning raises depends on statistics."""
    return over_text(q) and not q.sql.endswith("LIMIT 0")


def fold(value):
    """One text for all that are equal under no_case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", value).casefold())


FILTERS = [
    "s {C} < 'b'", "s {C} <= 'Ä'", "s {C} > 'ä'", "s {C} >= 'istanbul'", "s {C} = 'istanbul'", "s {C} <> 'A'", "s {C} = 'É'",
    "s {C} BETWEEN 'a' AND 'o'", "s {C} NOT BETWEEN 'O' AND 'z'", "s {C} IN ('a', 'É', NULL)", "s {C} NOT IN ('a', 'STRASSE')",
    "s {C} = ANY ('{\"\",ISI,straße}')", "s {C} <> ALL ('{a,o}')", "s {C} < ANY ('{E,co-op}')", "s {C} > ALL ('{10,É}')",
    "s {C} LIKE 'a%'", "s {C} NOT LIKE '%S%'", "s {C} LIKE '_'", "s {C} ILIKE 'i%'", "s {C} ILIKE '%STRASSE'", "s {C} ILIKE 'Ö'", "s {C} ILIKE '%ß%'",
    "s {C} ~ '^[a-z]+$'", "s {C} ~* '^i'", "s {C} ~ '\\w\\W'", "s {C} ~ '^[[:upper:]]'", "s {C} ^@ 'co'", "s {C} < ks", "s {C} = ks", "u {C} > 'u01000' AND u {C} <= 'U01200'",
    "(s {C}, ks) < ('co-op', 'red')", "(ks, s {C}) >= ('red', 'a')", "s {C} IS DISTINCT FROM 'É'", "upper(s {C}) = 'ISI'", "lower(s {C}) IN ('istanbul', 'ısı', 'é')",
    "lower(s {C}) LIKE '%i%'", "initcap(s {C}) = 'Istanbul'", "coalesce(s {C}, 'o') > 'n'", "greatest(s {C}, 'coop') = 'coop'", "nullif(s {C}, 'É') IS NULL",
    "CASE s {C} WHEN 'É' THEN true WHEN 'A' THEN false END", "NOT (s {C} < 'o' OR ks = 'red')", "s {C} SIMILAR TO '(i|I)%'", "strpos(s {C}, 'i') > 0"]
SELECTS = [
    ("set", "SELECT min(s {C}), max(s {C}), min(ks {C}), max(u {C}) FROM t"),
    ("set", "SELECT k, min(s {C}), max(s {C}) FROM t GROUP BY k"),
    ("set", "SELECT count(DISTINCT s {C}), count(DISTINCT ks {C}) FROM t"),
    ("set", "SELECT s {C}, count(*), min(id) FROM t GROUP BY 1"),
    ("set", "SELECT ks {C} AS g, b, count(*) FROM t GROUP BY 1, 2"),
    ("set", "SELECT count(*), sum(i2) FROM t GROUP BY s {C}"),
    ("set", "SELECT upper(s {C}), lower(s {C}), initcap(s {C}), count(*) FROM t GROUP BY 1, 2, 3"),
    ("set", "SELECT DISTINCT s {C} FROM t"),
    ("set", "SELECT DISTINCT ks {C}, k FROM t WHERE s {C} < 'o'"),
    ("set", "SELECT ks {C} FROM t GROUP BY 1 HAVING min(s {C}) < 'a'"),
    ("seq", "SELECT id, s FROM t ORDER BY s {C}, id"),
    ("seq", "SELECT id, s FROM t ORDER BY s {C} DESC, id LIMIT 60"),
    ("seq", "SELECT id FROM t ORDER BY s {C} NULLS FIRST, id LIMIT 60 OFFSET 200"),
    ("seq", "SELECT id, ks, s FROM t ORDER BY ks {C} DESC NULLS LAST, s {C}, id LIMIT 80"),
    ("seq", "SELECT s {C} AS g, count(*) FROM t GROUP BY 1 ORDER BY 1"),
    ("seq", "SELECT s {C} AS g, count(*) FROM t GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 12"),
    ("seq", "SELECT DISTINCT ks {C} AS g FROM t ORDER BY 1 DESC"),
    ("seq", "SELECT DISTINCT ON (s {C}) s {C} AS g, id FROM t ORDER BY s {C}, id"),
    ("set", "SELECT id, row_number() OVER (PARTITION BY ks {C} ORDER BY s {C}, id) FROM t WHERE id < 300"),
    ("set", "SELECT string_agg(s, ',' ORDER BY s {C}, id) FROM t WHERE id < 200"),
    ("set", "SELECT string_agg(DISTINCT ks {C}, ',') FROM t"),
    ("set", "SELECT count(*) FROM t a JOIN r b ON a.s = b.s {C}"),
    ("set", "SELECT count(*) FROM t a JOIN r b ON a.ks < b.s {C} WHERE a.id < 100"),
    ("set", "SELECT count(*) FROM t WHERE s {C} IN (SELECT ks FROM r)"),
    ("set", "SELECT count(*) FROM t WHERE s {C} > (SELECT min(s {C}) FROM r WHERE s <> '')"),
    ("set", "SELECT id, (SELECT count(*) FROM t WHERE t.s {C} = r.s), (SELECT min(id) FROM t WHERE t.ks {C} > r.s) FROM r WHERE r.id < 12"),
    ("set", "SELECT r.id, x.id FROM r, LATERAL (SELECT id FROM t WHERE t.s = r.s {C} ORDER BY id LIMIT 2) x WHERE r.id < 12"),
    ("set", "SELECT s {C} FROM t UNION SELECT ks FROM r"),
    ("set", "SELECT id, s {C} < 'o', s {C} = 'É', greatest(s {C}, ks), least(s {C}, ks), strpos(s {C}, 'i'), replace(s {C}, 'i', 'I'), "
            "split_part(s {C}, 'o', 1), translate(s {C}, 'iI', '12') FROM t WHERE id < 400")]


def add(q, p):
    """The queries with COLLATE in an expression: each once for each collation."""
    for name in ['pg_catalog."C"', "pg_catalog.ucs_basic"] + ["public." + n for n in MADE]:
        kind = {"collation": name.split(".")[1], "folded": name.split(".")[1] in NOT_DETERMINISTIC}
        collate = f"COLLATE {name}"
        for i, f in enumerate(FILTERS):
            f = f.replace("{C}", collate)
            q.set(f"SELECT count(*), sum(id) FROM t WHERE {f}" if i % 2 else f"SELECT {f} AS e, count(*) FROM t GROUP BY 1", **kind)
        for mode, sql in SELECTS:
            (q.seq if mode == "seq" else q.set)(sql.replace("{C}", collate), **kind)
        q.set(f"SELECT count(*) FROM t WHERE s {collate} < $1 AND s {collate} <> ALL ($2)", p("text", "o"), p("text[]", "{É,a}"), **kind)
        q.seq(f"SELECT id, s FROM t WHERE s {collate} >= $1 ORDER BY s {collate} DESC, id LIMIT 30", p("text", "I"), **kind)
    q.error("42P21", 'SELECT count(*) FROM t WHERE s COLLATE "C" < ks COLLATE public.icu_de')
    q.error("42P21", 'SELECT max(s COLLATE "C" || ks COLLATE public.icu_de) FROM t')
