"""Writes farm/neighbour.csv and farm/temperature.csv: who stands next to whom, and what the temperature sensors say.

`python generate.py` writes the 30 turbines in two farms that are committed, `--turbines 60 --farms 3 --out big` others.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

SEED = 20
LONELY = 2  # turbines that stand apart from every farm, next to each other only
COLUMNS = 5  # the turbines of a farm stand in rows of five


def facts(turbines: int, farms: int) -> Iterator[tuple[str, str, str]]:
    """Predicate and arguments. Every other farm is 4 degrees warmer than 20 °C, the rest cooler."""
    chance = random.Random(SEED)
    for number, size in enumerate(_sizes(turbines, farms)):
        name = f"farm{number + 1}" if number < farms else "lonely"
        members = [f"{name}_t{k:02}" for k in range(1, size + 1)]
        climate = 24 if number % 2 else 16
        broken = set(chance.sample(members, max(1, size // 6)))
        yield from (("neighbour", one, other) for one, other in _next_to_each_other(members))
        for turbine in members:
            degrees = climate + chance.gauss(0, 0.8)
            if turbine in broken:
                degrees += chance.choice((-1, 1)) * chance.uniform(7, 12)
            yield "temperature", turbine, f"{degrees:.1f}"


def _sizes(turbines: int, farms: int) -> list[int]:
    """The turbines of each farm, then the lonely ones."""
    in_farms = turbines - LONELY
    return [in_farms // farms + (number < in_farms % farms) for number in range(farms)] + [LONELY]


def _next_to_each_other(members: list[str]) -> Iterator[tuple[str, str]]:
    for position, turbine in enumerate(members):
        if position + 1 < len(members) and (position + 1) % COLUMNS:
            yield turbine, members[position + 1]
        if position + COLUMNS < len(members):
            yield turbine, members[position + COLUMNS]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the facts of a wind farm.")
    parser.add_argument("--turbines", type=int, default=30)
    parser.add_argument("--farms", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("farm"))
    options = parser.parse_args()
    if options.farms < 1 or options.turbines < options.farms + LONELY:
        parser.error(f"there must be a farm, and a turbine for each farm besides the {LONELY} lonely ones")
    options.out.mkdir(parents=True, exist_ok=True)
    found = list(facts(options.turbines, options.farms))
    for predicate in ("neighbour", "temperature"):
        rows = [f"{one},{other}\n" for name, one, other in found if name == predicate]
        (options.out / f"{predicate}.csv").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
