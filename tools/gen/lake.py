#!/usr/bin/env python3
"""Writes the demo lake, two years of an invented bike-sharing scheme: lake.py DIR.

  trips/part-<1..3>.parquet   150000 trips, ordered by start; two row groups a file
  stations.parquet            40 stations
  weather.parquet             one row a day
  repairs/year=<y>/city=<c>/data.parquet   a Hive tree
  docking/                    a ClickHouse table in two parts, ordered by station and time
"""

import math
import os
import random
import sys

from make_mergetree import write_definition, write_part
from make_parquet import Column, Layout, write

DAY_US = 86400 * 1000000
FIRST_DAY = 19358       # 2023-01-01
DAYS = 731
TRIPS = 150000
PARTS = 3
GZIP = {"codec": "gzip", "page_index": True}

PLACES = ("Harbour", "Market", "Station", "University", "Museum", "Park", "Old Town", "Hospital",
          "Stadium", "Library")
SIDES = ("North", "East", "South", "West")


def stations():
    rng = random.Random(1)
    return [(n + 1, "%s %s" % (PLACES[n // 4], SIDES[n % 4]), 8 + 4 * rng.randrange(6),
             round(53.5 + rng.gauss(0, 0.03), 5), round(10.0 + rng.gauss(0, 0.05), 5))
            for n in range(40)]


def weather():
    rng = random.Random(2)
    rows = []
    for day in range(DAYS):
        season = -math.cos(2 * math.pi * (day % 365) / 365)
        rain = max(0.0, rng.gauss(-1, 4))
        rows.append((FIRST_DAY + day, round(10 + 9 * season + rng.gauss(0, 3), 1),
                     round(rain, 1), None if rng.random() < 0.05 else rng.randrange(0, 60)))
    return rows


def trips(weather_rows):
    rng = random.Random(3)
    weights = [max(0.1, 1 + temperature / 12) * (0.5 if rain > 3 else 1)
               for _, temperature, rain, _ in weather_rows]
    starts = sorted(
        (FIRST_DAY + day) * DAY_US +
        min(86399, max(0, int(rng.gauss(rng.choice((8, 13, 17.5)), 2) * 3600))) * 1000000
        for day in rng.choices(range(DAYS), weights, k=TRIPS))
    rows = []
    for number, start in enumerate(starts, 1):
        minutes = 3 + int(rng.expovariate(1 / 14))
        start_station = int(40 * rng.random() ** 1.6) + 1
        lost = rng.random() < 0.003
        rows.append((number, start, None if lost else start + minutes * 60 * 1000000,
                     start_station, None if lost else rng.randrange(1, 41),
                     rng.randrange(1, 400), rng.random() < 0.7,
                     None if lost else round(minutes * 0.21 * rng.uniform(0.5, 1.1), 2)))
    return rows


def repairs(folder):
    rng = random.Random(4)
    columns = [Column("bike", "int32", True), Column("part", "string", True),
               Column("cost", "double", True)]
    for year in (2023, 2024):
        for city in ("altona", "mitte", "wandsbek"):
            path = os.path.join(folder, "year=%d" % year, "city=" + city)
            os.makedirs(path, exist_ok=True)
            rows = [(rng.randrange(1, 400), rng.choice(("brake", "chain", "light", "tyre")),
                     round(rng.uniform(4, 60), 2)) for _ in range(200)]
            write(os.path.join(path, "data.parquet"), columns, rows, Layout(**GZIP))


def docking(folder):
    """Free docks of each station every hour, as a ClickHouse server would have stored them."""
    rng = random.Random(5)
    columns = [Column("station", "int32", True), Column("at", "timestamptz", True),
               Column("free", "int16", True), Column("state", "string", True)]
    key = ["station", "at"]
    for number, (first, days) in enumerate(((0, 20), (20, 11)), 1):
        rows = [(station, (FIRST_DAY + first + hour // 24) * DAY_US + hour % 24 * 3600 * 1000000,
                 rng.randrange(0, 28), rng.choice(("ok", "ok", "ok", "full", "offline")))
                for station in range(1, 41) for hour in range(days * 24)]
        write_part(os.path.join(folder, "all_%d_%d_0" % (number, number)), columns, rows, key, 1024,
                   number == 2)
    write_definition(folder + ".sql", columns, key, engine="ReplacingMergeTree")


def main():
    folder = sys.argv[1]
    repairs(os.path.join(folder, "repairs"))
    docking(os.path.join(folder, "docking"))
    os.makedirs(os.path.join(folder, "trips"), exist_ok=True)
    write(os.path.join(folder, "stations.parquet"), [
        Column("id", "int32", True), Column("name", "string", True),
        Column("docks", "int16", True), Column("latitude", "double", True),
        Column("longitude", "double", True)], stations(), Layout(**GZIP))
    days = weather()
    write(os.path.join(folder, "weather.parquet"), [
        Column("day", "date", True), Column("temperature", "double", True),
        Column("rain_mm", "double", True), Column("wind_kmh", "int16")], days, Layout(**GZIP))
    columns = [
        Column("id", "int64", True), Column("started_at", "timestamptz", True),
        Column("ended_at", "timestamptz"), Column("start_station", "int32", True),
        Column("end_station", "int32"), Column("bike", "int32", True),
        Column("member", "bool", True), Column("distance_km", "double")]
    rows = trips(days)
    size = TRIPS // PARTS
    for part in range(PARTS):
        write(os.path.join(folder, "trips", "part-%d.parquet" % (part + 1)), columns,
              rows[part * size:part * size + size],
              Layout(row_group_rows=size // 2, page_rows=5000, **GZIP))


if __name__ == "__main__":
    main()
