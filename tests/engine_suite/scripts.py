"""Follows generated scripts of changes on any engine, one at a time or many at once; the oracle says what is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corollary import KnowledgeBase
from corollary.backends.spark import SparkBackend
from corollary.program import Constant, Program
from corollary.transactions import Change as Changes
from corollary.transactions import TransactionResult
from tests.engine_suite.many_programs import name_in, rule_in, together
from tests.generator import Change, Scenario
from tests.oracle import Fact, evaluate

State = dict[str, set[Fact]]
Check = Callable[[KnowledgeBase, TransactionResult, State], None]
"""What a test looks at after every change, beside the facts: the oracle's state is the third argument."""


def follow(
    chosen: Scenario | Sequence[Scenario],
    make: Callable[..., KnowledgeBase] = KnowledgeBase,
    check: Check | None = None,
    **options: Any,
) -> KnowledgeBase:
    """Assert state and difference after every change; return the knowledge base at the end.

    Many scenarios are followed as one, each with predicates and rules of its own: Spark takes its time for each transaction.
    """
    if isinstance(chosen, Scenario):
        programs, changes = chosen.programs(), [changes_of(change) for change in chosen.changes]
    else:
        programs, changes = _at_once(chosen)
    kb = make(programs[0], **options)
    before = expected(programs[0])
    _compare(chosen, 0, visible(kb), before)
    for number, (change, program) in enumerate(zip(changes, programs[1:], strict=True), 1):
        result = kb.apply(change)
        after = expected(program)
        _compare(chosen, number, visible(kb), after)
        inserted, deleted = difference(result, kb)
        _compare(chosen, number, inserted, minus(after, before))
        _compare(chosen, number, deleted, minus(before, after))
        if check is not None:
            check(kb, result, after)
        before = after
    return kb


def apply(kb: KnowledgeBase, change: Change) -> TransactionResult:
    return kb.apply(changes_of(change))


def changes_of(change: Change) -> Changes:
    added = (Program(change.add_rules),) if change.add_rules else ()
    return Changes(by_predicate(change.insert), by_predicate(change.delete), added, change.remove_rules)


def by_predicate(facts: Sequence[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for predicate, row in facts:
        found.setdefault(predicate, []).append(row)
    return found


def visible(kb: KnowledgeBase) -> State:
    """Return the facts of every predicate that has some; on Spark all of them in one job."""
    if isinstance(backend := kb._backend, SparkBackend):
        from tests.engines.spark.engine_runs import decoded

        kb.materialise()
        names = [name for name in backend.engine.predicates() if backend.store.frames(name)]
        return decoded(backend.context, {name: backend.store.visible(name) for name in names})
    found: State = {}
    for predicate in kb.predicates():
        rows = [tuple(map(Constant, row)) for row in kb.facts(predicate).constants()]
        assert len(rows) == len(set(rows)) == kb.count(predicate), f"{predicate} has duplicates"
        if rows:
            found[predicate] = set(rows)
    return found


def difference(result: TransactionResult, kb: KnowledgeBase | None = None) -> tuple[State, State]:
    """Return what came and what went; of a knowledge base on Spark in two jobs."""
    inserted, deleted = (_facts_of(facts, kb) for facts in (result.inserted, result.deleted))
    return inserted, deleted


def _facts_of(facts: Mapping[str, Any], kb: KnowledgeBase | None) -> State:
    if kb is not None and isinstance(backend := kb._backend, SparkBackend):
        from tests.engines.spark.engine_runs import decoded

        return decoded(backend.context, {name: facts[name]._frame for name in facts})
    return {name: {tuple(map(Constant, row)) for row in facts[name].constants()} for name in facts}


def expected(program: Program) -> State:
    return {predicate: facts for predicate, facts in evaluate(program).items() if facts}


def minus(left: State, right: State) -> State:
    found = {name: facts - right.get(name, set()) for name, facts in left.items()}
    return {name: facts for name, facts in found.items() if facts}


def _at_once(chosen: Sequence[Scenario]) -> tuple[list[Program], list[Changes]]:
    """Return the programs of scenarios that change together, and the changes from each to the next one."""
    versions = [scenario.programs() for scenario in chosen]
    steps = range(max(map(len, versions)))
    programs = [together([one[min(step, len(one) - 1)] for one in versions]) for step in steps]
    return programs, [_one_change(chosen, step) for step in steps[:-1]]


def _one_change(chosen: Sequence[Scenario], step: int) -> Changes:
    changes = [one.changes[step] if step < len(one.changes) else Change() for one in chosen]
    insert, delete = (
        [(name_in(number, name), row) for number, facts in enumerate(sides) for name, row in facts]
        for sides in ([change.insert for change in changes], [change.delete for change in changes])
    )
    added = together([Program(change.add_rules) for change in changes])
    removed = tuple(rule_in(number, name) for number, change in enumerate(changes) for name in change.remove_rules)
    return Changes(by_predicate(insert), by_predicate(delete), (added,) if added.rules else (), removed)


def _compare(chosen: Scenario | Sequence[Scenario], step: int, found: State, wanted: State) -> None:
    if found == wanted:
        return
    names = {name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)}
    many = [chosen] if isinstance(chosen, Scenario) else chosen
    wrong = [
        one
        for number, one in enumerate(many)
        if one is chosen or any(name.startswith(name_in(number, "")) for name in names)
    ]
    raise AssertionError(
        f"after change {step} of\n{wrong!r}\nfound {minus(found, wanted)} too many, {minus(wanted, found)} are missing"
    )
