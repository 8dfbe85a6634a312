#!/usr/bin/env python3
"""Tests how answers are compared: a wrong one must be found, a right one with other ties must pass."""
import unittest

import clickbench as cb

FULL = {1: (1, 10), 2: (2, 9), 3: (3, 5), 4: (4, 5)}
PEER = [(1, 10), (2, 9), (4, 5)]


def lookup(_ident, values):
    return [FULL[v[0]] for v in values if v[0] in FULL]


class Top(unittest.TestCase):
    def answer(self, *rows, look=lookup):
        return cb.compare(8, list(rows), PEER, look)

    def test_other_tie_is_right(self):
        self.assertEqual("", self.answer((1, 10), (2, 9), (3, 5)))
        self.assertEqual("", self.answer((1, 10), (2, 9), (3, 5), look=None))

    def test_wrong_answers(self):
        for rows in ([(1, 10), (2, 9), (9, 5)], [(1, 10), (2, 9), (2, 5)], [(1, 10), (2, 8), (3, 5)],
                     [(1, 10), (5, 9), (3, 5)], [(1, 10), (2, 9)], [(2, 9), (1, 10), (3, 5)]):
            self.assertNotEqual("", self.answer(*rows), rows)
        self.assertNotEqual("", self.answer((1, 10), (5, 9), (3, 5), look=None))


class Others(unittest.TestCase):
    def test_rows(self):
        self.assertEqual("", cb.compare(0, [(5,)], [(5,)]))
        self.assertNotEqual("", cb.compare(0, [(5,)], [(6,)]))
        self.assertNotEqual("", cb.compare(25, [("b",), ("a",)], [("a",), ("b",)]))

    def test_float_tolerance(self):
        self.assertEqual("", cb.compare(3, [(1.0000000000001,)], [(1.0,)]))
        self.assertNotEqual("", cb.compare(3, [(1.00000000001,)], [(1.0,)]))

    def test_order_by_hidden_column(self):
        pairs = [("a", 1), ("c", 1), ("b", 2), ("d", 2)]
        def judge(*rows):
            return cb.compare(24, [(r,) for r in rows], [(0,)] * len(rows), None, lambda: pairs)
        self.assertEqual("", judge("c", "a", "d"))
        self.assertNotEqual("", judge("a", "b", "c"))


if __name__ == "__main__":
    unittest.main()
