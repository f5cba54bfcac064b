"""Streams of inserts through a knowledge base, with the index and without.

People pass zones with devices; a device reports to stations, and an alarm needs a station that is armed. Nearly every person
finds devices and stations in the zone, and nearly none of them is armed: partial partners are looked at in vain, or not at all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corollary import Change, KnowledgeBase

RULES = """
watched: seen(P, D) :- near(P, Z), device(D, Z), switched(D).
alarm: alarm(P, S) :- near(P, Z), device(D, Z), reports(D, S), armed(S).
"""
CHAIN = "r1: h(X, W) :- a(X, Y), b(Y, Z), c(Z, W)."
BATCH = 5_000
DEVICES, STATIONS = 100, 4  # in a zone; that a device reports to

Inserts = list[dict[str, pa.Table]]


@dataclass(frozen=True)
class Stream:
    name: str
    rules: str
    inserts: Inserts
    rows: int


def _batches(relations: dict[str, np.ndarray], batch: int) -> Inserts:
    """All relations side by side, a part of each in each batch."""
    rows = sum(map(len, relations.values()))
    count = max(1, rows // batch)
    parts = {name: np.array_split(table, count) for name, table in relations.items()}
    return [
        {name: _table(pieces[number]) for name, pieces in parts.items() if len(pieces[number])}
        for number in range(count)
    ]


def _table(rows: np.ndarray) -> pa.Table:
    return pa.table({f"a{column}": rows[:, column] for column in range(rows.shape[1])})


def few_match(rows: int, seed: int = 5) -> Stream:
    """One of a hundred inserts completes a match: in one of a hundred zones, one device is switched on and one station armed."""
    random = np.random.default_rng(seed)
    zones = max(20, rows // 10 // DEVICES // 3)
    devices = np.arange(zones * DEVICES)
    zone_of = devices % zones
    lucky = np.arange(0, zones, 100)
    reports = np.stack([np.repeat(devices, STATIONS), np.arange(len(devices) * STATIONS) + 10_000_000], axis=1)
    first_device = lucky  # the first device of each lucky zone
    people = rows - len(devices) - len(reports) - 2 * len(lucky)
    near = np.stack([np.arange(people) + 50_000_000, random.integers(0, zones, people)], axis=1)
    setup = {
        "device": np.stack([devices, zone_of], axis=1),
        "reports": random.permutation(reports),
        "switched": first_device.reshape(-1, 1),
        "armed": (first_device * STATIONS + 10_000_000).reshape(-1, 1),
    }
    inserts = [*_batches(setup, BATCH), *_batches({"near": near}, BATCH)]
    return Stream("1 % match", RULES, inserts, rows)


def all_match(rows: int, seed: int = 6) -> Stream:
    """Every insert of b finds one partner on each side; a and c come before it."""
    random = np.random.default_rng(seed)
    third = rows // 3
    key = np.arange(third)
    a = np.stack([key + 10_000_000, key + 20_000_000], axis=1)
    c = np.stack([key + 30_000_000, key + 40_000_000], axis=1)
    b = np.stack([key + 20_000_000, key + 30_000_000], axis=1)
    order = random.permutation(third)
    size = BATCH // 3
    inserts = [
        {name: _table(table[order[start : start + size]]) for name, table in (("a", a), ("c", c), ("b", b))}
        for start in range(0, third, size)
    ]
    return Stream("every b matches", CHAIN, inserts, 3 * third)


@dataclass
class Run:
    index: str
    seconds: float
    step_seconds: float
    heads: int


def run(stream: Stream, index: str) -> Run:
    """The whole stream, transaction by transaction, and how long rules took of it."""
    kb = KnowledgeBase(stream.rules, index=index)
    kb.materialise()
    in_steps = 0.0
    started = time.perf_counter()
    for insert in stream.inserts:
        report = kb.apply(Change(insert=insert)).report
        in_steps += sum(step.seconds for step in report.steps)
    seconds = time.perf_counter() - started
    heads = sum(kb.count(rule.head.predicate) for rule in kb.program.rules)
    return Run(index, seconds, in_steps, heads)
