"""Hyper-nodes that negate their own predicates, under well-founded semantics, if they are too large for one task.

The rules for possible facts and those for true facts alternate (see `alternate` in the embedded engine); each turn is a
hyper-node of its own, without a negation inside, and runs by whatever strategy fits it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from corollary.analysis import HyperNode, Module, ModuleKind
from corollary.analysis.lowering import is_possible
from corollary.engines.spark.relations import Frame, FrameStore, union
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.planning import NormalRule
from corollary.program import Atom

ALTERNATING = "alternating"
RunJob = Callable[[NodeJob, FrameStore], NodeOutcome]


def run_by_turns(job: NodeJob, store: FrameStore, run: RunJob) -> NodeOutcome:
    """Return the true and the possible facts that the store does not have yet."""
    over = _turn(job, [rule for rule in job.rules if is_possible(rule.head.predicate)])
    under = _turn(job, [rule for rule in job.rules if not is_possible(rule.head.predicate)])
    true: dict[str, list[Frame]] = {}
    rounds = 0
    while True:
        known = store.copy()
        for predicate, frames in true.items():
            for frame in frames:
                known.add_derived(predicate, frame)
        possible = run(over, known)
        for predicate, frame in possible.facts.items():
            known.add_derived(predicate, frame)
        found = run(under, known)
        rounds += possible.rounds + found.rounds
        new = {predicate: frame.counted() for predicate, frame in found.facts.items()}
        if not any(frame.rows for frame in new.values()):
            facts = {**possible.facts, **{predicate: union(frames) for predicate, frames in true.items()}}
            return NodeOutcome(facts, rounds, detail=ALTERNATING)
        for predicate, frame in new.items():
            if frame.rows:
                true.setdefault(predicate, []).append(frame)


def _turn(job: NodeJob, rules: list[NormalRule]) -> NodeJob:
    heads = {rule.head.predicate for rule in rules}
    recursive = any(isinstance(one, Atom) and one.predicate in heads for rule in rules for one in rule.body.sources)
    names = tuple(rule.name for rule in rules)
    kind = ModuleKind.RECURSIVE if recursive else ModuleKind.NONRECURSIVE
    return replace(
        job, node=HyperNode(names), rules=tuple(rules), modules=(Module(kind, names),), recursive=recursive,
        decomposition=None, counts=False,
    )  # fmt: skip
