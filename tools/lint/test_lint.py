#!/usr/bin/env python3
"""Tests of lint.py: each rule finds what it is for, and leaves its neighbour alone."""

import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lint  # noqa: E402

LAYERS = {"base": [], "vector": ["base"], "format": ["vector", "base"],
          "format/*": ["format", "vector", "base"], ".": ["format", "vector", "base"]}
MARKER = "FIX" + "ME"


class LintCase(unittest.TestCase):
    def found(self, rule, files):
        """The findings of one rule over a tree given as {path: text}."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                    f.write(text)
            tree = lint.Tree(root, list(files))
            return ["%s:%d:%s" % (n, line, r) for n, line, r, _ in rule(tree, LAYERS)]

    def test_layers_point_downward(self):
        files = {"src/engine/base/a.h": '#include "vector/vector.h"\n',
                 "src/engine/vector/vector.h": '#include "base/a.h"\n'}
        self.assertEqual(self.found(lint.check_layers, files), ["src/engine/base/a.h:1:layer"])

    def test_other_folders_enter_by_the_door(self):
        files = {"src/engine/vector/vector.h": "", "src/engine/vector/vector_int.h": "",
                 "src/engine/vector/page.h": "", "src/engine/vector/types.def": "",
                 "src/engine/vector/page.c": '#include "vector_int.h"\n',
                 "src/engine/format/format.h": '#include "vector/vector.h"\n'
                                               '#include "vector/vector_int.h"\n'
                                               '#include "vector/page.h"\n'
                                               '#include "vector/types.def"\n'}
        self.assertEqual(self.found(lint.check_layers, files),
                         ["src/engine/format/format.h:2:door", "src/engine/format/format.h:3:door"])

    def test_base_has_many_doors_but_not_int(self):
        files = {"src/engine/base/buf.h": "", "src/engine/base/pool_int.h": "",
                 "src/engine/vector/x.c": '#include "base/buf.h"\n#include "base/pool_int.h"\n'}
        self.assertEqual(self.found(lint.check_layers, files), ["src/engine/vector/x.c:2:door"])

    def test_formats_do_not_see_each_other(self):
        files = {"src/engine/format/csv/csv.h": "", "src/engine/format/format.h": "",
                 "src/engine/format/json/json.c": '#include "format/csv/csv.h"\n'
                                                  '#include "format/format.h"\n'}
        self.assertEqual(self.found(lint.check_layers, files),
                         ["src/engine/format/json/json.c:1:layer"])

    def test_template_named_by_macro_is_an_include(self):
        files = {"src/engine/vector/k.inc": "",
                 "src/engine/base/a.c": '#define AX_TEMPLATE "vector/k.inc"\n'}
        self.assertEqual(self.found(lint.check_layers, files), ["src/engine/base/a.c:1:layer"])

    def test_unknown_folder_and_missing_file(self):
        files = {"src/engine/attic/a.c": "", "src/engine/base/a.c": '#include "gone.h"\n'}
        self.assertEqual(self.found(lint.check_layers, files),
                         ["src/engine/attic/a.c:1:layer", "src/engine/base/a.c:1:include"])

    def test_glue_sees_what_ax_h_shows(self):
        files = {"src/engine/ax.h": '#include "vector/vector.h"\n',
                 "src/engine/vector/vector.h": "", "src/engine/format/format.h": "",
                 "src/engine/format/formats.def": "",
                 "src/pg/a.c": '#include "ax.h"\n#include "vector/vector.h"\n'
                               '#include "format/format.h"\n#include "format/formats.def"\n'}
        self.assertEqual(self.found(lint.check_glue_includes, files), ["src/pg/a.c:3:layer"])

    def test_wall(self):
        files = {"src/engine/base/a.c": '#include <stdio.h>\n#include "postgres.h"\n'
                                        '#include "utils/builtins.h"\n'}
        self.assertEqual(self.found(lint.check_wall, files),
                         ["src/engine/base/a.c:2:wall", "src/engine/base/a.c:3:wall"])

    def test_dead_header(self):
        files = {"src/engine/base/a.h": "", "src/engine/base/b.h": "",
                 "src/engine/base/a.c": '#include "a.h"\n'}
        self.assertEqual(self.found(lint.check_dead_headers, files), ["src/engine/base/b.h:1:dead"])

    def test_banned_calls(self):
        text = 'void *p = malloc(3);\n/* malloc(3) */\nax_free(p); x.free(p); "free(p)";\n'
        files = {"src/engine/vector/a.c": text, "src/engine/base/a.c": text,
                 "src/engine/vector/a_test.c": text}
        self.assertEqual(self.found(lint.check_banned, files), ["src/engine/vector/a.c:1:banned"])

    def test_lines_and_markers(self):
        files = {"src/engine/a.c": "x" * 100 + "\n" + "x" * 101 + "\n/* " + MARKER + " */\n"}
        self.assertEqual(self.found(lint.check_lines, files),
                         ["src/engine/a.c:2:long-line", "src/engine/a.c:3:marker"])
        self.assertEqual(self.found(lint.check_lines, {"tools/a.sh": "mktemp a.XXXX" + "XX\n"}), [])

    def test_long_function(self):
        body = "{\n" + "    x++;\n" * 120 + "}\n"
        long = "static int walk(int x,\n                int y)\n" + body
        excused = "/* Walks.\n * long: one state machine */\n" + long
        files = {"src/engine/a.c": "int y;\n\n" + long, "src/engine/b.c": excused,
                 "src/engine/c.c": "static int t[] = {\n" + "    1,\n" * 120 + "};\n"}
        self.assertEqual(self.found(lint.check_functions, files),
                         ["src/engine/a.c:3:long-function"])

    def test_brace_on_the_same_line(self):
        lines = ["int f(void) {", "    return 1;", "}"]
        self.assertEqual(list(lint.functions_of(lines)), [(1, "f", 3)])

    def test_names(self):
        files = {"src/engine/base/str_utils.c": "", "src/engine/base/utility.c": ""}
        self.assertEqual(self.found(lint.check_names, files),
                         ["src/engine/base/str_utils.c:1:name"])

    def test_links(self):
        text = "# One & two\n[a](b.md) [b](#one--two) [c](docs/) [d](https://x.y)\n[e](#gone)\n" \
               "```\n[f](nowhere)\n```\n`[g](nowhere)`\n"
        files = {"README.md": text, "docs/x.md": "[up](../README.md#one--two)\n"}
        self.assertEqual(self.found(lint.check_links, files),
                         ["README.md:2:link", "README.md:3:link"])

    def test_machine_paths(self):
        files = {"docs/a.md": "see /ho" "me/me/x\n", "docs/b.md": "s3://b/ho" "me/x $D/wo" "rk/y\n"}
        self.assertEqual(self.found(lint.check_machine_paths, files), ["docs/a.md:1:path"])

    def test_function_page(self):
        files = {"src/engine/func/functions.def": 'AX_FN(A, "abs", 1, SAME, 0)\n'
                                                  'AX_FN(B, "||", 2, SAME, 0)\n'
                                                  'AX_FN(C, "chr", 1, TEXT, 0)\n',
                 "docs/user/functions.md": "# F\n`chr`\n## Of PostgreSQL\n| `abs`, `\\|\\|` |\n"
                                           "## Other\n`chr`\n"}
        self.assertEqual(self.found(lint.check_function_page, files),
                         ["src/engine/func/functions.def:3:docs"])

    def test_reference(self):
        files = {"src/pg/options.def": '/* AFDW_OPT(no) */\nAFDW_OPT("path", AFDW_T, PATH)\n'
                                       'AFDW_OPT("dark", AFDW_T, BOOL)\n'
                                       'AFDW_ALIAS("uri", AFDW_T, P)\n',
                 "src/pg/gucs.def": "AFDW_BOOL(enabled, true,\n",
                 "docs/user/reference/README.md": "[path](options/path.md)\n",
                 "docs/user/reference/options/path.md": "",
                 "docs/user/reference/options/old.md": "",
                 "docs/user/reference/settings/enabled.md": ""}
        self.assertEqual(self.found(lint.check_reference, files), [
            "src/pg/options.def:3:docs", "docs/user/reference/options/old.md:1:docs",
            "docs/user/reference/README.md:1:docs"])

    def test_acceptance(self):
        rows = ("| case | test | state |", "| W02 | `a.sql` | passes |",
                "| W3 | `a.sql` | passes |", "| W4 | | later: no |",
                "| W5 | | passes |", "| W6 | `gone.sql` | passes |")
        files = {"docs/internals/acceptance.md": "\n".join(rows),
                 "a.sql": "-- W02, W33: a claim\n"}
        self.assertEqual(self.found(lint.check_acceptance, files), [
            "docs/internals/acceptance.md:%d:acceptance" % n for n in (3, 5, 6)])

    def test_undefined_symbols(self):
        listing = "l.a:a.o:0000000000000000 T ax_one\nl.a:a.o:                 U memcpy\n" \
                  "l.a:b.o:                 U ax_one\nl.a:b.o:                 U palloc\n" \
                  "l.a:b.o:                 w __gmon_start__\n"
        self.assertEqual(lint.undefined_symbols(listing), [("a.o", "memcpy"), ("b.o", "palloc")])


if __name__ == "__main__":
    output = io.StringIO()
    result = unittest.TextTestRunner(stream=output).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(LintCase))
    if not result.wasSuccessful() or result.testsRun == 0:
        print(output.getvalue())
        sys.exit(1)
