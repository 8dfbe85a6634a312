#!/usr/bin/env python3
"""Tests the figures of the closing lines, and what a form of the data is called."""
import unittest

import data
import report

OURS = report.OURS


def query(q, ours, duckdb, clickhouse, **more):
    ms = {OURS: ours, "duckdb": duckdb, "clickhouse": clickhouse}
    return {"query": q, "ms": ms, "cpu_ms": ms, "bytes": {}, **more}


class Compare(unittest.TestCase):
    def test_ratios(self):
        c = report.compare([query(0, 10, 20, 5), query(3, 10, 10, 40)], ["duckdb", "clickhouse"])
        self.assertAlmostEqual(c["duckdb"]["geomean"], 0.5 ** 0.5)
        self.assertAlmostEqual(c["duckdb"]["sum"], 20 / 30)
        self.assertAlmostEqual(c["duckdb"]["floor_geomean"], 1)   # query 3 alone has a floor
        self.assertAlmostEqual(c["best of them"]["sum"], 20 / 15)

    def test_above(self):
        c = report.compare([query(0, 17, 10, 1), query(1, 17.1, 10, 1000)], ["duckdb"])
        self.assertEqual([q for q, _, _ in c["duckdb"]["above"]], [1])

    def test_failed_query_has_no_ratio(self):
        r = query(0, 10, 20, 5)
        del r["ms"]["duckdb"]
        self.assertEqual(report.compare([r], ["duckdb"]), {})

    def test_bytes(self):
        more = {OURS: 11, "duckdb": 12, "clickhouse": 10}
        self.assertEqual(report.bytes_above([query(5, 1, 1, 1) | {"bytes": more}], ["duckdb", "clickhouse"]),
                         [(5, 11, 10, "clickhouse")])


class Scaling(unittest.TestCase):
    runs = {"scaling": [{"threads": 1, "ms": {OURS: {0: 100, 1: 50}}}, {"threads": 2, "ms": {OURS: {0: 50, 1: 48}}},
                        {"threads": 64, "ms": {OURS: {0: 54, 1: 55}}}]}

    def test_speed_up(self):
        threads, total, up, mean, least, q = report.scaling_table(self.runs)[1]
        self.assertEqual((threads, total, q), (2, 98, 1))
        self.assertAlmostEqual(up, 150 / 98)
        self.assertAlmostEqual(least, 50 / 48)
        self.assertAlmostEqual(mean, (2 * 50 / 48) ** 0.5)

    def test_slower_with_more(self):
        self.assertEqual(report.slower_with_more(self.runs)[64], [(1, 55, 48)])


class Forms(unittest.TestCase):
    def test_names_differ(self):
        forms = [data.Form(1000), data.Form(1000, "unsorted"), data.Form(1000, required=True), data.Form(1000, codec="zstd"),
                 data.Form(1000, files=100), data.Form(1000, one_row_group=True), data.Form(1001)]
        self.assertEqual(len({f.root for f in forms}), len(forms))
        self.assertTrue(forms[0].plain and not any(f.plain for f in forms[1:-1]))


if __name__ == "__main__":
    unittest.main()
