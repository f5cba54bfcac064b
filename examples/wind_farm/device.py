"""Rules travel to a device at the wind farm, do their work there, and are withdrawn again.

    python examples/wind_farm/device.py

The cloud knows which turbines are neighbours. A device at the farm gets a snapshot of that, takes readings, and has no idea what
an anomaly is. One day somebody wants to know: the rules are pushed to the device in a change file, the device derives and
answers by itself, and its readings travel back in the same way. When the rules are withdrawn, what they derived goes with them.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

from corollary import KnowledgeBase

FARM = Path(__file__).parent / "farm"
NEIGHBOURS = """
r1: neighbour(X, Y) :- neighbour(Y, X).
r2: neighbour(X, Y) :- neighbour(X, Z), neighbour(Z, Y), X != Y.
"""
ANOMALIES = """
r3: readings_nearby(X, N) :- AGGREGATE(neighbour(X, Y) and temperature(Y, T)) ON X WITH COUNT(T) AS N.
r4: median_nearby(X, M) :- AGGREGATE(neighbour(X, Y) and temperature(Y, T)) ON X WITH MED(T) AS M.
r5: sensor_anomaly(X) :- median_nearby(X, M), readings_nearby(X, N), N >= 3, temperature(X, T), abs(T - M) > 5.
"""


def readings() -> list[tuple[str, float]]:
    with (FARM / "temperature.csv").open(encoding="utf-8") as file:
        return [(turbine, float(degrees)) for turbine, degrees in csv.reader(file)]


def tell_story(folder: Path) -> None:
    cloud = KnowledgeBase.create(folder / "cloud", NEIGHBOURS)
    cloud.load("neighbour", FARM / "neighbour.csv")
    cloud.save(folder / "device")
    device = KnowledgeBase.open(folder / "device")
    print(f"the device starts with {device.count('neighbour')} pairs of neighbours")

    start = device.version
    device.insert("temperature", readings())
    print(f"it takes {device.count('temperature')} readings; anomalies: {device.count('sensor_anomaly')}")

    before = cloud.version
    cloud.add_rules(ANOMALIES)
    cloud.changes(folder / "rules.changes", since=before)
    device.apply(folder / "rules.changes")
    print("the rules arrive; anomalies:", *sorted(turbine for (turbine,) in device.facts("sensor_anomaly")))

    device.changes(folder / "readings.changes", since=start)
    cloud.apply(folder / "readings.changes")
    print(f"the readings travel back: the cloud sees {cloud.count('sensor_anomaly')} anomalies, too")

    before = cloud.version
    cloud.remove_rules("r3", "r4", "r5")
    cloud.changes(folder / "withdrawn.changes", since=before)
    device.apply(folder / "withdrawn.changes")
    print(
        f"the rules are withdrawn; anomalies: {device.count('sensor_anomaly')}, readings: {device.count('temperature')}"
    )

    again = KnowledgeBase.open(folder / "device", version=device.version - 1)
    print(f"one version ago there were {again.count('sensor_anomaly')}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        tell_story(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            tell_story(Path(temporary))
