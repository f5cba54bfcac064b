"""The universities: random facts go and come back, and so do two groups of the ontology's rules."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import ontology
from benchmarks.cache import CACHE, input_directory
from benchmarks.maintenance.dag import LARGE_SHARE, deletion_and_insertion_of_sets
from benchmarks.maintenance.published import RULE_GROUPS, ZODIAC
from benchmarks.maintenance.record import Outcome
from benchmarks.maintenance.sizes import Sizes
from benchmarks.maintenance.states import State, Tables, divided, program
from benchmarks.maintenance.trial import Move, Trial, deletion_and_insertion, moves_of_nothing
from corollary.transactions import Change


def run(outcome: Outcome, sizes: Sizes) -> None:
    axioms = {f"o{number}": axiom for number, axiom in enumerate(ontology.axioms(), start=1)}
    start = State({name: axiom.rule for name, axiom in axioms.items()}, _tables(sizes.universities))
    trial = Trial(outcome, sizes, start, start.explicit)
    outcome.timings += deletion_and_insertion_of_sets(trial, sizes.small_change, min(sizes.sets, 5), None)
    chosen, others = divided(start.tables, start.explicit // LARGE_SHARE, seed=100)
    moves = deletion_and_insertion("25 %", chosen)
    outcome.timings += trial.there_and_back(*moves, start.with_tables(others), runs=min(2, sizes.runs))
    for group, (delete, add) in RULE_GROUPS.items():
        names = tuple(name for name, axiom in axioms.items() if group in axiom.groups)
        text = program({name: start.rules[name] for name in names})
        there = Move("delete", group, Change(remove_rules=names), {ZODIAC: delete})
        back = Move("add", group, Change(add_rules=(text,)), {ZODIAC: add})
        outcome.timings += trial.there_and_back(there, back, start.without_rules(names), scratch_runs=2)
    student = start.tables["src_UndergraduateStudent"].slice(0, 1)
    trial.nothing_visible(moves_of_nothing(("src_UndergraduateStudent", student), ("Person", student)))


def _tables(universities: int | None, cache: Path = CACHE) -> Tables:
    directory = input_directory(f"lubm-{universities or 1}", cache) / ("full" if universities else "sample")
    return {file.stem: pq.read_table(file) for file in sorted(directory.iterdir())}
