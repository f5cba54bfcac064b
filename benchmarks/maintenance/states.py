"""States of a knowledge base, as data: its rules and its explicit facts, from which everything can be derived anew."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.data import Row
from corollary import KnowledgeBase

Tables: TypeAlias = Mapping[str, pa.Table]


@dataclass(frozen=True)
class State:
    """`rules` are texts by name."""

    rules: Mapping[str, str]
    tables: Tables

    @property
    def explicit(self) -> int:
        return sum(map(len, self.tables.values()))

    def without_rules(self, names: Iterable[str]) -> State:
        left_out = set(names)
        return replace(self, rules={name: text for name, text in self.rules.items() if name not in left_out})

    def with_tables(self, tables: Tables) -> State:
        return replace(self, tables=tables)

    def loaded(self, *, strategy: str = "auto", updates: bool = True) -> KnowledgeBase:
        """With its facts, and nothing derived yet."""
        kb = KnowledgeBase(program(self.rules), updates=updates, strategy=strategy)
        for predicate, table in self.tables.items():
            kb.insert(predicate, table)
        return kb


@dataclass(frozen=True)
class Scratch:
    """A state derived anew; `reading` is the processor time that reading its rules takes, which is not part of `cpu`."""

    seconds: float
    cpu: float
    reading: float
    load: float
    counts: dict[str, int]


def from_scratch(
    state: State,
    *,
    new: Tables | None = None,
    gone: Tables | None = None,
    strategy: str = "auto",
    updates: bool = True,
    runs: int = 1,
) -> Scratch:
    """Return the fastest of some runs, with the least processor time of any.

    Loading the state is not part of the time. Facts that are `new` come after it, facts that are `gone` are deleted from it:
    reading and finding them is, as it is for a change.
    """
    found = [_from_scratch(state, new or {}, gone or {}, strategy, updates) for _ in range(runs)]
    fastest = min(found, key=lambda scratch: scratch.seconds)
    least = {name: min(getattr(scratch, name) for scratch in found) for name in ("cpu", "reading")}
    return replace(fastest, **least)


def _from_scratch(state: State, new: Tables, gone: Tables, strategy: str, updates: bool) -> Scratch:
    gc.collect()
    reading = time.process_time()
    KnowledgeBase(program(state.rules))
    reading = time.process_time() - reading
    started = time.perf_counter()
    kb = state.loaded(strategy=strategy, updates=updates)
    loaded, cpu = time.perf_counter(), time.process_time()
    for predicate, rows in new.items():
        kb.insert(predicate, rows)
    for predicate, rows in gone.items():
        kb.delete(predicate, rows)
    kb.materialise()
    derived, cpu = time.perf_counter(), time.process_time() - cpu
    return Scratch(derived - loaded, cpu, reading, loaded - started, counts(kb))


def counts(kb: KnowledgeBase) -> dict[str, int]:
    """Visible facts by predicate, where there are any."""
    found = {predicate: kb.count(predicate) for predicate in kb.predicates()}
    return {predicate: count for predicate, count in found.items() if count}


def program(rules: Mapping[str, str]) -> str:
    return "".join(f"{name}: {text}\n" for name, text in rules.items())


def named(text: str, prefix: str = "r") -> dict[str, str]:
    """The rules of a program text by name: r1, r2 …"""
    found = [" ".join(rule.split()) for rule in re.split(r"(?<=\.)\n", text) if rule.strip()]
    return {f"{prefix}{number}": rule for number, rule in enumerate(found, start=1)}


def head(rule: str) -> str:
    """The predicate that a rule derives."""
    return rule.partition("(")[0]


def table(rows: Sequence[Row]) -> pa.Table:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=[f"a{place}" for place in range(1, len(columns) + 1)])


def tables(relations: Mapping[str, Sequence[Row]]) -> dict[str, pa.Table]:
    """Relations without a row are left out: a predicate without facts needs no table."""
    return {predicate: table(rows) for predicate, rows in relations.items() if rows}


def divided(whole: Tables, count: int, seed: int) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """So many random facts of all, and the others."""
    total = sum(map(len, whole.values()))
    wanted = np.zeros(total, bool)
    wanted[np.random.RandomState(seed).permutation(total)[:count]] = True
    chosen, others, start = {}, {}, 0
    for predicate, facts in whole.items():
        mask = wanted[start : start + len(facts)]
        start += len(facts)
        if mask.any():
            chosen[predicate] = facts.filter(pa.array(mask))
        others[predicate] = facts.filter(pa.array(~mask))
    return chosen, others
