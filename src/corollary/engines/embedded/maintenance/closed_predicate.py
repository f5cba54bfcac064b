"""A predicate that a hyper-node closes: what others support is kept as facts, their closure as components and bits.

The pairs of the closure are written out only when somebody wants to see them: a rule that reads the predicate, or a user. The
difference that a change makes is exact, so nothing is overdeleted (paper 002, sections 5 and 6, with Del and Red in one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from corollary.analysis import Module, ModuleKind
from corollary.engines.embedded.closures import MaintainedClosure, MaintainedSymmetricClosure, PairDifference
from corollary.engines.embedded.closures.closure import TooLarge
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.universe import Universe, may_equal_others
from corollary.planning.steps import RuleStep, Step

T = TypeVar("T")
_CLOSURES = (
    ModuleKind.TRANSITIVE,
    ModuleKind.SYMMETRIC_TRANSITIVE,
    ModuleKind.LEFT_LINEAR,
    ModuleKind.RIGHT_LINEAR,
)


class DoesNotFit(Exception):
    """The facts of a predicate have come to need rules: its closure is too large, or its guard meets doubles."""

    def __init__(self, predicate: str) -> None:
        super().__init__(predicate)
        self.predicate = predicate


def closure_module(modules: tuple[Module, ...]) -> Module | None:
    """The module of a hyper-node that is nothing but one closure, if there is a closure for it."""
    if len(modules) != 1 or modules[0].kind not in _CLOSURES or modules[0].predicate is None:
        return None
    is_linear = modules[0].step is not None
    # With the guard, a chain of steps may not pass through its own target: only rules get that right.
    return None if is_linear and modules[0].guarded else modules[0]


def closing_steps(steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
    """The steps that are nothing but one closure, each with the predicate that it closes."""
    for step in steps:
        module = closure_module(step.modules) if isinstance(step, RuleStep) and step.recursive else None
        if module is not None and module.predicate is not None:
            yield step, module.predicate


class ClosedPredicate:
    """`external` are the facts that others than the closing hyper-node (`owner`) support, `closure` what follows from them."""

    def __init__(
        self, module: Module, owner: str, external: MaintainedRelation, step: Codes | None, universe: Universe
    ) -> None:
        """Raises `DoesNotFit` where rules are needed."""
        assert module.predicate is not None
        self.predicate = module.predicate
        self.module = module
        self.form = module.name
        self.owner = owner
        self.external = external
        self.change: PairDifference | None = None
        self._universe = universe
        facts = external.facts()
        self._check_guard(facts)
        self.closure: MaintainedClosure | MaintainedSymmetricClosure = self._fitting(lambda: self._closed(facts, step))
        self.closure.begin()

    def _closed(self, facts: Codes, step: Codes | None) -> MaintainedClosure | MaintainedSymmetricClosure:
        module, size = self.module, self._universe.size
        if module.kind is ModuleKind.SYMMETRIC_TRANSITIVE:
            return MaintainedSymmetricClosure(facts, size, guarded=module.guarded)
        if module.kind is ModuleKind.TRANSITIVE:
            return MaintainedClosure(facts, None, size, guarded=module.guarded)
        assert step is not None
        return MaintainedClosure(step, facts, size, left=module.kind is ModuleKind.LEFT_LINEAR)

    def relation(self) -> Relation:
        """The closure as a relation whose rows come when they are asked for."""
        relation = Relation(2)
        relation.become(self.closure)
        return relation

    # -- transactions ------------------------------------------------------------------------------------------------

    def update(self, step_change: tuple[Codes, Codes] | None) -> PairDifference:
        """Follows what changed in the external facts and in the steps."""
        deleted, inserted = self.external.difference()
        self._check_guard(inserted)
        closure = self.closure
        if isinstance(closure, MaintainedClosure) and self.module.step is not None:
            gone, new = step_change or (deleted[:0], inserted[:0])
            change = self._fitting(lambda: closure.update(gone, new, deleted, inserted))
        else:
            change = self._fitting(lambda: closure.update(deleted, inserted))
        self.change = change
        return change

    def commit(self) -> None:
        self.external.commit()
        if self.change is not None:
            self.closure.begin()
            self.change = None

    def roll_back(self) -> None:
        self.external.roll_back()
        self.closure.roll_back()
        self.change = None

    def _check_guard(self, facts: Codes) -> None:
        """The guard X != Y compares values, and a closure constants."""
        if self.module.guarded and may_equal_others(self._universe.kinds[facts]):
            raise DoesNotFit(self.predicate)

    def _fitting(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except TooLarge:
            raise DoesNotFit(self.predicate) from None


def closure_of_relation(
    module: Module, owner: str, maintained: MaintainedRelation, step: Codes | None, universe: Universe
) -> ClosedPredicate:
    """The closed predicate of facts that were kept with their support one by one."""
    relation = maintained.relation
    numbers = np.flatnonzero(maintained.external_support(owner, np.arange(relation.size)))
    external = Relation(2, counted=True)
    external.append_distinct(relation.rows[numbers])
    for other in relation.owners:
        if other != owner:
            external.support_of(other)[: len(numbers)] = relation.support_of(other)[numbers]
    return ClosedPredicate(module, owner, MaintainedRelation(external, owner), step, universe)


def relation_of_closure(closed: ClosedPredicate) -> MaintainedRelation:
    """All facts of a closed predicate with their support one by one; the closing hyper-node supports what nobody else does."""
    relation, owner = Relation(2, counted=True), closed.owner
    relation.append_distinct(closed.closure.rows(), owner)
    relation.support_of(owner)
    external = closed.external.relation
    numbers = relation.locate(external.facts)
    known = numbers >= 0
    for other in set(external.owners) - {
        owner
    }:  # a closure that started from nothing has its owner there, without facts
        relation.support_of(other)[numbers[known]] = external.support_of(other)[: external.size][known]
    maintained = MaintainedRelation(relation, owner)
    supported = np.flatnonzero(maintained.external_support(owner, np.arange(relation.size)))
    relation.support_of(owner)[supported] = 0
    return maintained
