"""Closures with conditions or a guard, alone and among other rules: whatever comes and goes, they are those of the oracle.

Constants are few, and some of them have the value of another one: there a guard cuts chains that other rules go around.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from corollary import KnowledgeBase
from corollary.language import parse_program
from corollary.program import Clause, Program
from tests.budgets import is_quick
from tests.engine_suite.engines import NOTHING_IS_SMALL, Engine
from tests.engine_suite.scripts import follow
from tests.generator import Change, Scenario

STEP = "r(X, Z) :- r(X, Y), r(Y, Z)"
GO_BACK = "r(X, Y) :- e(X, Y). e(Y, X) :- r(X, Y), ok(X)."
PROGRAMS = {
    "guard": f"{STEP}, X != Z. {GO_BACK}",
    "symmetric with a guard": f"{STEP}, X != Z. r(Y, X) :- r(X, Y). {GO_BACK} r(X, Y) :- e(X, Z), r(Z, Y), ok(Z).",
    "guard and condition": f"{STEP}, X != Z, ok(Y). {GO_BACK}",
    "guard and condition at the start": f"{STEP}, X != Z, ok(X). {GO_BACK}",
    "inner": f"{STEP}, ok(Y). {GO_BACK}",
    "inner, of the hyper-node itself": f"{STEP}, s(Y). s(Y) :- r(X, Y), ok(X). s(X) :- ok(X). {GO_BACK}",
    "start": f"{STEP}, ok(X), not no(Y). {GO_BACK}",
    "end": f"{STEP}, ok(Z), no(Y). {GO_BACK}",
    "several": f"{STEP}, ok(Y). {STEP}, no(Y). {GO_BACK}",
    "alone": f"{STEP}, ok(Y).",
    "two modules": f"{STEP}, ok(Y). q(X, Z) :- q(X, Y), q(Y, Z), no(Z). r(X, Y) :- q(Y, X), ok(X). q(X, Y) :- r(X, Y). {GO_BACK}",
    "inverse": f"{STEP}. q(X, Z) :- q(X, Y), q(Y, Z). r(X, Y) :- q(Y, X). q(X, Y) :- r(Y, X). {GO_BACK}",
    "inverse, one with a condition": f"{STEP}, ok(Y). q(X, Z) :- q(X, Y), q(Y, Z). q(X, Y) :- r(Y, X). {GO_BACK}",
}
ON_SPARK = {
    "auto": ("symmetric with a guard", "inverse"),
    "dred-counting-modules": ("inner, of the hyper-node itself", "start"),
}
"""Programs that are followed on Spark in a quick run; the others follow all of them with each strategy."""

NUMBERS = ("1", "2", "3", "4")
MOMENTS = ('"2026-01-01T00:00:00Z"^^xsd:dateTime', '"2026-01-01T01:00:00+01:00"^^xsd:dateTime')
ALL = (*NUMBERS, "1.0e0", "2.0e0", *MOMENTS)


def facts_of(random: Random, nodes: tuple[str, ...], share: float) -> Program:
    """Some of all facts over the nodes, by chance."""
    pairs = [f"{one}, {other}" for one in nodes for other in nodes]
    shares = {"e": share, "r": share / 4, "q": share / 6}
    facts = [f"{name}({pair})." for name, part in shares.items() for pair in pairs if random.random() < part]
    facts += [f"{name}({node})." for name in ("ok", "no") for node in nodes if random.random() < 2 * share]
    return parse_program("\n".join(facts))


def scenario(program: str, seed: int) -> Scenario:
    """A script by which facts come and go, and so do rules."""
    random, nodes = Random(seed), ALL if seed % 2 else NUMBERS
    rules = parse_program(
        " ".join(f"r{number}: {rule}." for number, rule in enumerate(PROGRAMS[program][:-1].split(". ")))
    )
    start = facts_of(random, nodes, 0.1 if seed % 3 else 0.3)
    clauses = {clause.name: clause for clause in rules.of_type(Clause)}
    changes, gone = [], set[str]()
    for _ in range(4):
        added, removed = (), ()
        if random.random() < 0.5:
            name = random.choice(list(clauses))
            added, removed = ((clauses[name],), ()) if name in gone else ((), (name,))
            gone ^= {name}
        come, left = facts_of(random, nodes, 0.05), facts_of(random, nodes, 0.15)
        changes.append(Change(pairs_of(come), pairs_of(left), added, removed))
    return Scenario(Program.of([*start.statements, *rules.statements]), tuple(changes))


def pairs_of(program: Program) -> tuple[tuple[str, object], ...]:
    return tuple((block.predicate, row) for block in program.facts for row in block.rows)


@pytest.mark.parametrize("strategy", ["auto", "dred-counting-modules"])
def test_facts_and_rules_come_and_go(engine: Engine, strategy: str) -> None:
    def make(program: Program, **options: object) -> KnowledgeBase:
        return engine(program, strategy=strategy, on_spark=NOTHING_IS_SMALL)

    if engine.name == "spark":
        programs = ON_SPARK[strategy] if is_quick else [name for names in ON_SPARK.values() for name in names]
        chosen = [scenario(program, seed) for seed, program in enumerate(programs)]
        follow([replace(one, changes=one.changes[:2]) for one in chosen], make)
        return
    for program in PROGRAMS:
        for seed in range(6):
            follow(scenario(program, seed), make)
