"""The state that one way of following changes leaves and the next one trusts, as a check.

Between two changes, whoever followed the last one, these hold:

1. nothing of a transaction is left: no marks, no lists of changes, no relation that waits to take another one's place;
2. a fact is visible if and only if somebody supports it, and only explicit facts, steps that are there, and auxiliary
   predicates of explicit facts support anything, steps only what they have rules for;
3. the support by a step that counts is the number of its rule instances: by every step that is not recursive, and by recursive
   ones where the way of following changes says so, but for those whose rules run by turns; the engine says so of each;
4. each fact that only a recursive step supports is derived by one of its rules from visible facts; what it says of facts that
   others support, too, nobody trusts where it does not count: when the others give one up, the step is asked again;
5. what a closure starts from is what others support, and its pairs are the facts of its predicate;
6. the facts of a region of a stream are the visible ones, and those with support from outside are marked as such;
7. the support that was written to a journal, change by change, is the support that is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from corollary import KnowledgeBase
from corollary.analysis import Analysis
from corollary.analysis.lowering import is_possible
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.maintenance.journal import ChangedSupport, SupportChange, SupportOfOwner
from corollary.engines.embedded.maintenance.maintained_relation import GONE, UNBORN, MaintainedRelation
from corollary.engines.embedded.marking.strategy import MarkingStrategy
from corollary.engines.embedded.marking.tables import EXPLICIT as FROM_OUTSIDE
from corollary.engines.embedded.marking.tables import PRESENT
from corollary.engines.embedded.relations.relation import Relation
from corollary.planning.steps import RuleStep, Step, is_auxiliary
from corollary.program import Constant, Program
from corollary.reasoning.run import Run
from tests.engine_suite.scripts import expected, visible
from tests.engines.embedded.scenarios import Support, engine_of, owner_name, support
from tests.oracle.evaluator import Relations, head_facts, solutions
from tests.oracle.well_founded import well_founded

Journal = Counter[tuple[str, str, tuple[int, ...]]]


def check_state(kb: KnowledgeBase, program: Program, journal: Journal | None = None) -> None:
    """Asserts all of the above; the facts are those of the program."""
    engine = engine_of(kb)
    _check_facts(kb, program)
    _check_no_rest(engine)
    steps = list(engine.steps(engine._graph))
    _check_owners(engine, steps)
    _check_counts(kb, program, steps)
    _check_recursive_support(kb, steps)
    _check_closures(engine)
    _check_regions(engine, {step.owner for step in steps})
    if journal is not None:
        assert +(journal + _carried(engine)) == support_of(engine)


def _check_facts(kb: KnowledgeBase, program: Program) -> None:
    if kb._backend.settings.semantics != "well-founded":
        assert visible(kb) == expected(program)
        return
    true, undefined = well_founded(program)
    assert visible(kb) == {predicate: facts for predicate, facts in true.items() if facts}
    for predicate in kb.predicates():
        found = {tuple(map(Constant, row)) for row in kb.undefined(predicate).constants()}
        assert found == undefined.get(predicate, set()), f"undefined facts of {predicate}"


def keep_journal(kb: KnowledgeBase) -> Journal:
    """Support, which every change from now on goes into as a store would write it."""
    kb.materialise()
    journal = support_of(engine_of(kb))
    keep_with(kb, lambda changes: note(changes, journal))
    return journal


def note(changes: Iterable[SupportChange], journal: Journal) -> None:
    for change in changes:
        for row, count in zip(change.facts.tolist(), change.change.tolist(), strict=True):
            journal[change.predicate, change.owner, tuple(row)] += count


def keep_with(kb: KnowledgeBase, write: Callable[[list[SupportChange]], object]) -> None:
    """Every change from now on comes with a journal that writes changes of support in this way."""
    engine_of(kb).keep_journal()
    kb._durable = _Written(write, support_of(engine_of(kb)))


class _Written:
    """In the place of a store: what changes and what is there afterwards must tell the same."""

    is_ready = True

    def __init__(self, write: Callable[[list[SupportChange]], object], support: Journal) -> None:
        self._write = write
        self._support = support

    def next_version(self, analysis: Analysis) -> _Written:
        return self

    def prepare(self, run: Run) -> None:
        pass

    def commit(self, support: ChangedSupport) -> None:
        changes = list(support.changes())
        after = _counted(support.after())
        self._write(changes)
        for change in changes:
            for row, count in zip(change.facts.tolist(), change.change.tolist(), strict=True):
                self._support[change.predicate, change.owner, tuple(row)] += count
        assert {fact: count for fact, count in self._support.items() if count} == after


def support_of(engine: EmbeddedEngine) -> Journal:
    return _counted(engine.supports())


def _counted(supports: Iterable[SupportOfOwner]) -> Journal:
    found: Journal = Counter()
    for predicate, owner, facts, counts in supports:
        for row, count in zip(facts.tolist(), counts.tolist(), strict=True):
            found[predicate, owner, tuple(row)] += count
    return found


def _carried(engine: EmbeddedEngine) -> Journal:
    found: Journal = Counter()
    for change in engine._follow().facts.carried:
        for row, count in zip(change.facts.tolist(), change.change.tolist(), strict=True):
            found[change.predicate, change.owner, tuple(row)] += count
    return found


def _relations(engine: EmbeddedEngine) -> dict[str, tuple[Relation, MaintainedRelation | None]]:
    """The relations that carry support."""
    facts = engine._follow().facts
    closed = facts.state.closed
    found = {}
    for name, relation in engine._store.relations.items():
        if name in closed:
            found[name] = closed[name].external.relation, closed[name].external
        else:
            found[name] = relation, facts.relation(name)
    return found


def _check_no_rest(engine: EmbeddedEngine) -> None:
    transaction = engine._follow().facts.state
    assert not any((transaction.replaced, transaction.opened, transaction._enclosed, transaction.views._deltas))
    for name, (relation, maintained) in _relations(engine).items():
        if maintained is None:
            continue
        assert maintained.relation is relation, name
        assert not any((maintained._touched, maintained.counts_before, maintained.lost)), name
        flags = maintained.flags[: relation.size]
        assert set(flags.tolist()) <= {0, GONE | UNBORN}, name
        assert maintained.hidden == np.count_nonzero(flags), name


def _check_owners(engine: EmbeddedEngine, steps: list[Step]) -> None:
    heads: dict[str, Any] = {step.owner: step.heads for step in steps}
    for name, (relation, maintained) in _relations(engine).items():
        supported = np.zeros(relation.size, np.int64)
        for owner in relation.owners:
            counts = relation.support_of(owner)[: relation.size]
            if counts.any():
                assert owner in (EXPLICIT, name) or name in heads.get(owner, ()), f"{owner} supports {name}"
                supported += counts
        if relation.owners:
            hidden = maintained.flags[: relation.size] != 0 if maintained is not None else np.zeros_like(supported)
            assert ((supported == 0) == hidden).all(), name


def _check_counts(kb: KnowledgeBase, program: Program, steps: list[Step]) -> None:
    engine = engine_of(kb)
    counting = {owner_name(step.owner) for step in steps if _counts(engine, step)} | {owner_name(EXPLICIT)}
    settings = kb._backend.settings
    fresh = KnowledgeBase(program, strategy=settings.strategy, without=settings.without, semantics=settings.semantics)
    assert _of(support(kb), counting) == _of(support(fresh), counting)


def _counts(engine: EmbeddedEngine, step: Step) -> bool:
    if not isinstance(step, RuleStep) or not step.recursive:
        return True
    if step.heads.keys() & engine._follow().facts.state.closed.keys():
        return False
    counts = engine.following.counts_recursion and not step.alternates
    assert engine.counts(step.owner) == counts, step.owner
    return counts


def _of(found: Support, owners: set[str]) -> Support:
    """Two engines may split a rule that no program names under other names: those of programs tell enough."""
    return {
        key: counts
        for key, counts in found.items()
        if key[1] in owners and (is_possible(key[0]) or not is_auxiliary(key[0]))
    }


def _check_recursive_support(kb: KnowledgeBase, steps: list[Step]) -> None:
    engine = engine_of(kb)
    rules, known, found = kb.analysis.graph.rules, Relations(), support(kb)
    evaluated = kb.analysis.evaluated.rules
    for predicate, facts in visible(kb).items():
        known.add(predicate, facts)
    for step in steps:
        if not isinstance(step, RuleStep) or not step.recursive or step.alternates:
            continue
        # A rule that stands for others, as that of a closure does, derives more than the one whose name it has.
        if not all(rule.name in rules and evaluated.get(rule.name) == rules[rule.name] for rule in step.rules):
            continue
        for predicate in step.heads:
            owner = owner_name(step.owner)
            others = {fact for key, facts in found.items() if key[0] == predicate and key[1] != owner for fact in facts}
            own = found.get((predicate, owner), {}).keys() - others
            derived = {
                fact
                for rule in step.rules
                if rule.head.predicate == predicate
                for fact in head_facts(rules[rule.name], solutions(rules[rule.name].body, known))
            }
            if predicate not in engine._follow().facts.state.closed:
                assert own <= derived, f"{step.owner} supports what it does not derive"


def _check_closures(engine: EmbeddedEngine) -> None:
    for name, closed in engine._follow().facts.state.closed.items():
        owner = closed.owner
        assert closed.change is None
        external = closed.external.relation
        assert owner not in external.owners or not external.support_of(owner)[: external.size].any()
        pairs = set(map(tuple, closed.closure.rows().tolist()))
        facts = engine.facts(name)
        assert facts is not None
        assert set(map(tuple, facts.tolist())) == pairs
        assert set(map(tuple, closed.external.facts().tolist())) <= pairs


def _check_regions(engine: EmbeddedEngine, owners: set[str]) -> None:
    """Regions of steps that are no more are forgotten before the next change."""
    strategy = engine.following
    if not isinstance(strategy, MarkingStrategy):
        return
    relations = _relations(engine)
    for owner, region in strategy._regions.items():
        if owner not in owners:
            continue
        present, explicit = region.having(PRESENT), region.having(FROM_OUTSIDE)
        for name in region.tables.predicates:
            rows = engine.facts(name)
            facts = set(map(tuple, rows.tolist())) if rows is not None else set()
            assert {row for one, row in present if one == name} == facts, f"{owner} knows other facts of {name}"
            relation, maintained = relations.get(name, (None, None))
            if name in region.tables.heads and relation is not None and maintained is not None:
                numbers = np.flatnonzero(maintained.external_support(owner, np.arange(relation.size)))
                outside = {tuple(row) for row in maintained.rows(numbers).tolist()}
                assert {row for one, row in explicit if one == name} == outside, f"{name} in {owner}"
