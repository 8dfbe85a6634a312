#!/usr/bin/env python3
"""The house rules as a program: prints `file:line: rule: message`, one finding a line.

Silent and exit status 0 when all is well, 1 with findings. `--report` prints the ten longest
functions and files instead. Rules are listed in RULES at the end of this file; the tables they
read are layers.txt and symbols.txt beside it. Its own tests are in test_lint.py.
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_LINE = 100
MAX_FUNCTION = 100

ENGINE = "src/engine/"
GLUE = "src/pg/"
C_ENDINGS = (".c", ".h", ".inc", ".def")
CODE_ENDINGS = C_ENDINGS + (".py", ".sh", ".pl", ".pm")
TEST_ENDINGS = ("_test.c", "_bench.c", "_fuzz.c")
TEXT_ENDINGS = CODE_ENDINGS + (".md", ".sql", ".out", ".txt", ".json", ".mk", ".control")

BANNED = ("malloc calloc realloc free strcpy strcat sprintf vsprintf atoi atol strtok"
          " setenv").split()
BANNED_RE = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(BANNED))
INCLUDE_RE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# `#define AX_TEMPLATE "func/agg_sum.inc"` is an include too: a template body named by a macro.
TEMPLATE_RE = re.compile(r'^\s*#\s*define\s+\w+\s+"([^"]+\.(?:inc|def|h))"')
# Written in two pieces so that this file does not find itself.
MARKER_RE = re.compile(r"\b(FIX" r"ME|TO" r"DO|X" r"XX)\b")
MACHINE_PATH_RE = re.compile(r"(?<![\w./:*$}~-])/(?:home|root|Users|mnt|work|srv)/[\w.]")
POSTGRES_HEADERS = re.compile(
    r"^(postgres(_fe|_ext)?|fmgr|c|pg_config.*|miscadmin|funcapi|libpq.*)\.h$"
    r"|^(access|catalog|commands|executor|foreign|libpq|mb|nodes|optimizer|parser|port|postmaster"
    r"|replication|rewrite|server|storage|tcop|utils)/")
USELESS_NAMES = {"util", "utils", "common", "misc", "helper", "helpers"}


class Tree:
    """The files under check: relative path -> text, read once."""

    def __init__(self, root, names=None):
        self.root = root
        self.names = sorted(names if names is not None else list_files(root))
        self.known = set(self.names)
        self._lines = {}

    def lines(self, name):
        if name not in self._lines:
            try:
                with open(os.path.join(self.root, name), encoding="utf-8") as f:
                    self._lines[name] = f.read().split("\n")
            except (UnicodeDecodeError, OSError):
                self._lines[name] = []
        return self._lines[name]

    def c_files(self, prefix=""):
        return [n for n in self.names if n.startswith(prefix) and n.endswith(C_ENDINGS)]


def list_files(root):
    """What git tracks or would track; in a tree without git, everything but build products."""
    try:
        listing = subprocess.run(
            ["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        return [n for n in listing.splitlines() if os.path.isfile(os.path.join(root, n))]
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "build", "tmp_check", "results")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return found


def strip_comments(lines):
    """The lines with comments and the insides of literals blanked; line numbers stay."""
    text = "\n".join(lines)
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + " " * (len(found) - 2) + found[0]
        return re.sub(r"[^\n]", " ", found)

    return pattern.sub(blank, text).split("\n")


# ---- includes and layers ----------------------------------------------------------------------

def read_layers(path):
    layers = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if line:
                folder, allowed = line.split(":")
                layers[folder.strip()] = allowed.split()
    return layers


def folder_of(name):
    """The layer table's folder of an engine path below src/engine/: `base`, `format/*`, `.`"""
    parts = name.split("/")
    if len(parts) == 1:
        return "."
    if parts[0] == "format" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def resolve(tree, name, target):
    """The tree's path that `#include "target"` in `name` means, or None."""
    beside = os.path.normpath(os.path.join(os.path.dirname(name), target))
    for candidate in (beside, ENGINE + target, GLUE + target):
        if candidate in tree.known:
            return candidate
    return None


def includes_of(tree, name):
    for number, line in enumerate(tree.lines(name), 1):
        match = INCLUDE_RE.match(line)
        if match:
            yield number, match.group(1), match.group(2)
            continue
        match = TEMPLATE_RE.match(line)
        if match:
            yield number, '"', match.group(1)


def is_door(path):
    """Whether an engine path (below src/engine/) may be included from another folder."""
    folder, base = os.path.split(path)
    if base.endswith((".def", ".inc")):
        return True
    if base.endswith("_int.h"):
        return False
    return folder == "base" or base == os.path.basename(folder) + ".h"


def check_layers(tree, layers):
    for name in tree.c_files(ENGINE):
        own = folder_of(name[len(ENGINE):])
        key = "format/*" if own.startswith("format/") else own
        if key not in layers:
            yield name, 1, "layer", "folder %s is not in tools/lint/layers.txt" % own
            continue
        for number, kind, target in includes_of(tree, name):
            if kind == "<":
                continue
            path = resolve(tree, name, target)
            if path is None:
                if not os.path.isabs(target) and not POSTGRES_HEADERS.match(target):
                    yield name, number, "include", "%s is not in the tree" % target
                continue
            if not path.startswith(ENGINE):
                yield name, number, "layer", "the engine includes %s" % path
                continue
            other = folder_of(path[len(ENGINE):])
            if other == own:
                continue
            if other not in layers[key]:
                yield name, number, "layer", "%s may not include %s" % (own, target)
            elif not is_door(path[len(ENGINE):]) and not shared_by_tests(name, path):
                yield name, number, "door", "%s is not the door of %s" % (target, other)


def shared_by_tests(name, path):
    """May a test include it: a fake that another folder's tests made?"""
    return path.endswith("_test.h") and name.endswith(("_test.c", "_test.h"))


def check_glue_includes(tree, _layers):
    """Glue sees ax.h, what ax.h re-exports, and the .def lists."""
    visible = set()
    todo = [ENGINE + "ax.h"] if ENGINE + "ax.h" in tree.known else []
    while todo:
        name = todo.pop()
        if name not in visible:
            visible.add(name)
            for _, kind, target in includes_of(tree, name):
                path = resolve(tree, name, target) if kind == '"' else None
                if path:
                    todo.append(path)
    for name in tree.c_files(GLUE):
        for number, kind, target in includes_of(tree, name):
            path = resolve(tree, name, target) if kind == '"' else None
            if not path or not path.startswith(ENGINE) or path in visible:
                continue
            if not path.endswith(".def"):
                yield name, number, "layer", "glue may not include %s, only ax.h" % target


def check_wall(tree, _layers):
    for name in tree.c_files(ENGINE):
        for number, _, target in includes_of(tree, name):
            if POSTGRES_HEADERS.match(target) and resolve(tree, name, target) is None:
                yield name, number, "wall", "PostgreSQL header %s in the engine" % target


def check_dead_headers(tree, _layers):
    used = set()
    for name in tree.c_files():
        for _, _, target in includes_of(tree, name):
            path = resolve(tree, name, target)
            if path:
                used.add(path)
    for name in tree.c_files("src/"):
        if name.endswith((".h", ".inc", ".def")) and name not in used:
            yield name, 1, "dead", "nobody includes this file"


# ---- text rules -------------------------------------------------------------------------------

def check_banned(tree, _layers):
    for name in tree.c_files(ENGINE):
        if name.startswith(ENGINE + "base/") or name.endswith(TEST_ENDINGS):
            continue
        for number, line in enumerate(strip_comments(tree.lines(name)), 1):
            for match in BANNED_RE.finditer(line):
                yield name, number, "banned", "%s() outside base/" % match.group(1)


def check_lines(tree, _layers):
    for name in tree.names:
        if not name.endswith(CODE_ENDINGS):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            if name.startswith(("src/", "tools/", "test/fuzz/")):
                width = len(line.expandtabs(4))
                if width > MAX_LINE:
                    yield name, number, "long-line", "%d columns, limit %d" % (width, MAX_LINE)
            match = MARKER_RE.search(line)
            if match:
                yield name, number, "marker", "%s: do it, or open an issue" % match.group(1)


def functions_of(lines):
    """(first line, name, length) of each function: its body's braces stand in column 0, or the
    opening one ends a line that starts in column 0."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{" or (re.match(r"^[A-Za-z_].*\)\s*\{$", line)):
            start = number
            while start > 1 and re.match(r"^[A-Za-z_\s*].*\S", lines[start - 2]) \
                    and not re.search(r"[;}]\s*$|^\s*(/\*|\*|#)|\*/\s*$", lines[start - 2]):
                start -= 1
        elif line.startswith("}") and start is not None:
            head = " ".join(lines[start - 1:start + 4])
            match = re.search(r"(\w+)\s*\(", head)
            # A struct or an array initialiser also closes in column 0, with a semicolon.
            if match and not line.rstrip().endswith(";"):
                yield start, match.group(1), number - start + 1
            start = None


def has_excuse(lines, start):
    """Whether the comment right before line `start` contains `long:`."""
    number = start - 1
    while number >= 1 and lines[number - 1].strip():
        if "long:" in lines[number - 1]:
            return True
        if "/*" in lines[number - 1] or lines[number - 1].startswith("}"):
            break
        number -= 1
    return False


def check_functions(tree, _layers):
    for name in tree.c_files("src/") + tree.c_files("tools/"):
        lines = tree.lines(name)
        for start, function, length in functions_of(lines):
            if length > MAX_FUNCTION and not has_excuse(lines, start):
                yield (name, start, "long-function", "%s has %d lines; split it, or say "
                       "/* long: reason */ before it" % (function, length))


def check_names(tree, _layers):
    for name in tree.names:
        if name.endswith(CODE_ENDINGS):
            stem = os.path.splitext(os.path.basename(name))[0]
            if USELESS_NAMES & set(re.split(r"[_-]", stem.lower())):
                yield name, 1, "name", "name a file by its concept"


def slug(heading):
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose_lines(lines):
    """Numbered lines of a markdown file outside fenced blocks."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def check_links(tree, _layers):
    folders = {os.path.dirname(n) for n in tree.names}
    folders |= {os.path.dirname(f) for f in folders}
    for name in tree.names:
        if not name.endswith(".md"):
            continue
        for number, line in prose_lines(tree.lines(name)):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"^[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                full = name
                if path:
                    full = os.path.normpath(os.path.join(os.path.dirname(name), path))
                if full not in tree.known and full not in folders:
                    yield name, number, "link", "%s does not exist" % target
                elif anchor and full.endswith(".md"):
                    heads = {slug(text.lstrip("#")) for _, text in prose_lines(tree.lines(full))
                             if text.startswith("#")}
                    if anchor not in heads:
                        yield name, number, "link", "no heading for #%s in %s" % (anchor, full)


def check_machine_paths(tree, _layers):
    for name in tree.names:
        if name.endswith(TEXT_ENDINGS) or os.path.basename(name) in ("Makefile", "run", "LICENSE"):
            for number, line in enumerate(tree.lines(name), 1):
                match = MACHINE_PATH_RE.search(line)
                if match:
                    yield name, number, "path", "a path of one machine: %s" % match.group(0)


def check_function_page(tree, _layers):
    """The page of functions names each function of functions.def, by the name it is called by."""
    def_name, page = "src/engine/func/functions.def", "docs/user/functions.md"
    if def_name not in tree.known:
        return
    named = set()
    inside = False
    for line in tree.lines(page):
        inside = line == "## Of PostgreSQL" if line.startswith("## ") else inside
        if inside:
            named.update(re.findall(r"`([^`]+)`", line.replace("\\|", "|")))
    for number, line in enumerate(tree.lines(def_name), 1):
        match = re.match(r'AX_FN\(\w+, "([^"]*)"', line)
        if match and match[1] not in named:
            yield def_name, number, "docs", "%s does not name `%s`" % (page, match[1])


REFERENCE = "docs/user/reference/"
DEFINED = (("options", "src/pg/options.def", r'AFDW_OPT\("(\w+)"'),
           ("settings", "src/pg/gucs.def", r"AFDW_(?:\w+)\((\w+),"),
           ("functions", "src/pg/sql/analytics_fdw--0.1.sql",
            r"CREATE (?:FUNCTION|VIEW) analytics_fdw\.(\w+)"))
# Called by PostgreSQL, not by users.
UNCALLED = {"analytics_fdw_handler", "analytics_fdw_validator", "fill_columns"}


def check_reference(tree, _layers):
    """Each option, setting and function has a page, which the index names, and no other has one."""
    index = REFERENCE + "README.md"
    linked = set(re.findall(r"\]\((\w+/\w+)\.md\)", "\n".join(tree.lines(index)))
                 if index in tree.known else ())
    for kind, source, pattern in DEFINED:
        if source not in tree.known:
            continue
        wanted = {}
        for number, line in enumerate(tree.lines(source), 1):
            match = re.match(pattern, line)
            if match and match[1] not in UNCALLED:
                wanted.setdefault(match[1], number)
        for name, number in wanted.items():
            if "%s%s/%s.md" % (REFERENCE, kind, name) not in tree.known:
                yield source, number, "docs", "%s has no page in %s%s" % (name, REFERENCE, kind)
            elif "%s/%s" % (kind, name) not in linked:
                yield index, 1, "docs", "%s/%s is not named" % (kind, name)
        for page in tree.names:
            stem = os.path.basename(page)[:-3]
            if page.startswith(REFERENCE + kind + "/") and stem not in wanted:
                yield page, 1, "docs", "there is no %s" % stem


ACCEPTANCE = "docs/internals/acceptance.md"


def check_acceptance(tree, _layers):
    """Each file that the table of acceptance cases names for a case must name the case."""
    for number, line in enumerate(tree.lines(ACCEPTANCE) if ACCEPTANCE in tree.known else [], 1):
        match = re.match(r"^\| ([A-Z]+\d*) \|([^|]*)\| *([^|]*?) *\|$", line)
        if not match:
            continue
        case, files, state = match.groups()
        paths = re.findall(r"`([^`]+)`", files)
        if not paths and not state.startswith("later: "):
            yield ACCEPTANCE, number, "acceptance", "%s has neither test nor reason" % case
        for path in paths:
            lines = tree.lines(path) if path in tree.known else []
            if not any(re.search(r"\b%s\b" % case, text) for text in lines):
                yield ACCEPTANCE, number, "acceptance", "%s does not name %s" % (path, case)


# ---- symbols ----------------------------------------------------------------------------------

def read_symbols(path):
    rules = {"lib": [], "allow": [], "deny": []}
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                rules[words[0]].append(words[1])
    return rules


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def library_symbols(library):
    path = run(os.environ.get("CC", "cc"), "-print-file-name=" + library).strip()
    return {line.split()[-1].split("@")[0]
            for line in run("nm", "-D", "--defined-only", path).splitlines() if line.strip()}


def undefined_symbols(listing):
    """(member, symbol) for every symbol that no member of the archive defines; `listing` is what
    `nm -A` prints: archive:member:address type name."""
    defined, wanted = set(), []
    for line in listing.splitlines():
        match = re.match(r"^.*?:([^:]+\.o):\s*[0-9a-fA-F]*\s+(\w)\s+(\S+)$", line)
        if not match:
            continue
        member, kind, symbol = match.groups()
        if kind in "Uwv":
            wanted.append((member, symbol, kind))
        else:
            defined.add(symbol)
    return [(m, s) for m, s, kind in wanted if s not in defined and kind == "U"]


def check_symbols(archive, rules):
    allowed = set()
    for library in rules["lib"]:
        allowed |= library_symbols(library)
    for member, symbol in undefined_symbols(run("nm", "-A", archive)):
        # ThreadSanitizer and friends may wrap; plain names decide.
        if any(fnmatch.fnmatchcase(symbol, g) for g in rules["deny"]):
            yield archive, 1, "symbol", "%s uses %s, which is denied" % (member, symbol)
        elif symbol not in allowed and not any(fnmatch.fnmatchcase(symbol, g)
                                               for g in rules["allow"]):
            yield archive, 1, "symbol", "%s uses %s, which is not allowed" % (member, symbol)


# ---- main -------------------------------------------------------------------------------------

RULES = (check_layers, check_glue_includes, check_wall, check_dead_headers, check_banned,
         check_lines, check_functions, check_names, check_links, check_machine_paths,
         check_function_page, check_reference, check_acceptance)


def findings(tree, layers):
    for rule in RULES:
        yield from rule(tree, layers)


def report(tree):
    functions, files = [], []
    for name in tree.c_files("src/") + tree.c_files("tools/"):
        lines = tree.lines(name)
        files.append((len(lines), name))
        functions += [(length, "%s:%d %s" % (name, start, function))
                      for start, function, length in functions_of(lines)]
    for title, rows in (("longest functions", functions), ("longest files", files)):
        print(title)
        for length, what in sorted(rows, reverse=True)[:10]:
            print("%6d  %s" % (length, what))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=os.path.join(HERE, "..", ".."))
    parser.add_argument("--archive", help="engine archive whose undefined symbols are checked")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    tree = Tree(os.path.normpath(args.root))
    if args.report:
        report(tree)
        return 0
    found = list(findings(tree, read_layers(os.path.join(HERE, "layers.txt"))))
    if args.archive:
        found += check_symbols(args.archive, read_symbols(os.path.join(HERE, "symbols.txt")))
    for name, number, rule, message in sorted(found):
        print("%s:%d: %s: %s" % (name, number, rule, message))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
