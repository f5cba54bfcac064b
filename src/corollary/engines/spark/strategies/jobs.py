"""The interface between the engine and a strategy: one hyper-node with its rules, and the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from corollary.analysis import HyperNode, Module, RuleGraph, modules_of
from corollary.analysis.modules import Decomposition, decomposition_of
from corollary.planning import AggregateSource, NormalBody, NormalRule, normalise
from corollary.planning.normal_form import alternates
from corollary.program import Atom

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context
    from corollary.engines.spark.relations import Frame, FrameStore


@dataclass(frozen=True)
class NodeJob:
    """One hyper-node, ready to run."""

    node: HyperNode
    rules: tuple[NormalRule, ...]
    modules: tuple[Module, ...]
    recursive: bool
    decomposition: Decomposition | None = None
    discards_errors: bool = True
    counts: bool = False
    """Whether the derivations of each fact are counted, if the rules are not recursive."""
    part_of: HyperNode | None = None
    """The hyper-node for which this job derives auxiliary facts."""

    @property
    def hyper_node(self) -> HyperNode:
        return self.part_of or self.node

    @classmethod
    def of(cls, graph: RuleGraph, node: HyperNode, *, discards_errors: bool = True) -> NodeJob:
        rules = tuple(normalise(graph.rules[name]) for name in node.rules)
        recursive = graph.is_recursive(node)
        modules = () if recursive and alternates(rules) else modules_of(graph, node)
        return cls(node, rules, modules, recursive, decomposition_of(graph, node), discards_errors)

    @cached_property
    def alternates(self) -> bool:
        """Whether its rules alternate between true and possible facts, under well-founded semantics."""
        return self.recursive and alternates(self.rules)

    @cached_property
    def heads(self) -> dict[str, int]:
        """The predicates that it derives, with their arities."""
        return {rule.head.predicate: rule.head.arity for rule in self.rules}

    @cached_property
    def reads(self) -> dict[str, int]:
        """The predicates of its bodies, with their arities."""
        return {atom.predicate: atom.arity for rule in self.rules for atom in body_atoms(rule.body)}

    @cached_property
    def relations(self) -> dict[str, int]:
        """Every predicate whose facts it needs: those of its bodies, and the existing facts of its heads."""
        return {**self.reads, **self.heads}


def body_atoms(body: NormalBody) -> Iterator[Atom]:
    """Yield every atom of a body: positive, negated, and inside aggregates."""
    for source in body.sources:
        if isinstance(source, AggregateSource):
            yield from body_atoms(source.body)
        else:
            yield source
    yield from body.negated


@dataclass
class NodeOutcome:
    """The facts that a hyper-node added to the visible ones, by predicate; they are distinct, and none was visible
    before.

    If `unfinished`, which gives the reason, they are only a part. `terms` are rows of the universe for new constants
    that the strategy has not appended itself. `counted` has all facts of a job that counts, with their numbers of
    derivations.
    """

    facts: dict[str, Frame]
    rounds: int
    instances: int | None = None
    detail: str = ""
    unfinished: str | None = None
    terms: list[DataFrame] = field(default_factory=list)
    seconds: float | None = None
    counted: dict[str, Frame] = field(default_factory=dict)


class JobStrategy(Protocol):
    """One way to run hyper-nodes."""

    name: str

    def run(self, job: NodeJob, store: FrameStore, context: Context) -> NodeOutcome: ...
