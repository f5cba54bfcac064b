"""The rule dependency graph and, on top of it, the graph of hyper-nodes (paper 000, sections 2.1 and 4.2).

A hyper-node is a strongly connected component of the rule graph: the unit of evaluation, storage and maintenance. A
`RuleGraph` is a value: changing rules gives a new one, and unchanged parts are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from corollary.analysis.digraph import Digraph
from corollary.analysis.unification import Restricted, may_unify, refined_atoms, refined_head
from corollary.language import goes_on
from corollary.program import Atom, Constant, Literal, Negation, Rule, Term, Variable, Wildcard, atoms_of, identity
from corollary.program.arithmetic import number_of

_FEW_HEADS = 8  # up to this many heads are all tried


class Dependency(Enum):
    """How a rule uses what another derives."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    AGGREGATE = "aggregate"

    @property
    def is_strict(self) -> bool:
        """Whether the other rule must be complete first: under negation and inside aggregates."""
        return self is not Dependency.POSITIVE


_DEPENDENCIES = {dependency.value: dependency for dependency in Dependency}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class HyperNode:
    """Mutually dependent rules, by name, in the order of the program."""

    rules: tuple[str, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.rules))  # needed for every edge

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[HyperNode], tuple[tuple[str, ...]]]:
        """Return the state without the hash, which differs in another process."""
        return HyperNode, (self.rules,)

    def __str__(self) -> str:
        return "{" + ", ".join(self.rules) + "}"


@dataclass(frozen=True, eq=False)
class RuleGraph:
    """`rule_edges` connects rule names, `hyper_edges` hyper-nodes; every edge has its `kinds`, a set of `Dependency`."""

    rules: dict[str, Rule]
    rule_edges: Digraph[str, Dependency]
    hyper_edges: Digraph[HyperNode, Dependency]

    @classmethod
    def of(cls, rules: Iterable[Rule], *, local: bool = True, tick: Callable[[], None] = goes_on) -> RuleGraph:
        """Return the graph of these rules, whose names must be distinct; unless it is `local`, constants are ignored.

        `tick` is called now and then, and may stop it by raising.
        """
        by_name = {rule.name: rule for rule in rules}
        rule_edges: Digraph[str, Dependency] = Digraph(by_name)
        connect(rule_edges, by_name.values(), by_name.values(), local=local, tick=tick)
        hyper_edges: Digraph[HyperNode, Dependency] = Digraph()
        graph = cls(by_name, rule_edges, hyper_edges)
        hyper_edges.add(graph.hyper_node_of_names(component) for component in rule_edges.components())
        link(hyper_edges, rule_edges, hyper_edges.nodes)
        return graph

    def hyper_node_of_names(self, names: Iterable[str]) -> HyperNode:
        return HyperNode(tuple(sorted(names, key=self.positions.__getitem__)))

    @cached_property
    def positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.rules)}

    @cached_property
    def hyper_nodes(self) -> tuple[HyperNode, ...]:
        """The hyper-nodes in topological order; among the candidates the one whose first rule comes first."""
        return tuple(self.hyper_edges.topological_order(lambda node: self.positions[node.rules[0]]))

    def keep_order(self, nodes: tuple[HyperNode, ...]) -> None:
        """Set the known order of hyper-nodes, most of which a change has left in place."""
        self.__dict__["hyper_nodes"] = nodes

    def order(self, nodes: Iterable[HyperNode]) -> tuple[HyperNode, ...]:
        """Return these hyper-nodes in evaluation order."""
        wanted = set(nodes)
        if len(wanted) < 2:
            return tuple(wanted)
        return tuple(node for node in self.hyper_nodes if node in wanted)

    @cached_property
    def node_of(self) -> dict[str, HyperNode]:
        """The hyper-node of each rule."""
        return {name: node for node in self.hyper_edges.nodes for name in node.rules}

    def edges(self, *, strict: bool) -> list[tuple[int, int]]:
        """Return pairs of positions in `hyper_nodes` with a strict (negative or aggregate) or a positive dependency."""
        index = {node: position for position, node in enumerate(self.hyper_nodes)}
        return sorted(
            (index[source], index[target])
            for source, target, kinds in self.hyper_edges.edges()
            if any(kind.is_strict is strict for kind in kinds)
        )

    @cached_property
    def strata(self) -> dict[HyperNode, int]:
        """The largest number of strict dependencies on a path to each hyper-node."""
        strata: dict[HyperNode, int] = {}
        for node in self.hyper_nodes:
            strata[node] = max(
                (
                    strata[source] + any(kind.is_strict for kind in kinds)
                    for source, _, kinds in self.hyper_edges.edges_into([node])
                ),
                default=0,
            )
        return strata

    def is_recursive(self, node: HyperNode) -> bool:
        return len(node.rules) > 1 or self.rule_edges.has_edge(node.rules[0], node.rules[0])

    def is_undecided(self, node: HyperNode) -> bool:
        """Return whether rules of the hyper-node negate, or aggregate over, its own predicates."""
        return self.is_recursive(node) and any(
            kind.is_strict for _, _, kinds in self.rule_edges.inside(node.rules).edges() for kind in kinds
        )

    @cached_property
    def has_undecided(self) -> bool:
        """Whether some hyper-node is undecided."""
        return any(map(self.is_undecided, self.hyper_nodes))


def connect(
    edges: Digraph[str, Dependency],
    producers: Collection[Rule],
    consumers: Collection[Rule],
    *,
    local: bool = True,
    tick: Callable[[], None] = goes_on,
) -> None:
    """Add the edges from each producer to each consumer that can use what it derives."""
    derived = {rule.head.predicate for rule in producers}
    using = [rule for rule in consumers if _uses(rule, derived)]
    used = {atom.predicate for rule in using for atom, _ in atoms_of(rule.body)}
    by_head: dict[str, _Heads] = {}
    for rule in producers:
        if rule.head.predicate in used:
            head = refined_head(rule) if local and not _has_only_atoms(rule) else rule.head
            by_head.setdefault(head.predicate, _Heads()).add(rule.name, head)
    for consumer in using:
        tick()
        atoms = atoms_of(consumer.body, aggregated=consumer.has_head_aggregate)
        if local and not _has_only_atoms(consumer):
            atoms = refined_atoms(consumer)
        for atom, kind in atoms:
            heads = by_head.get(atom.predicate)
            if heads is not None:
                dependency = _DEPENDENCIES[kind]
                for producer in heads.used_by(atom) if local else heads.names:
                    edges.connect_one(producer, consumer.name, dependency)


def _uses(rule: Rule, predicates: Set[str]) -> bool:
    for element in rule.body:
        if type(element) is Atom:
            if element.predicate in predicates:
                return True
        elif any(atom.predicate in predicates for atom, _ in atoms_of((element,))):
            return True
    return False


def _has_only_atoms(rule: Rule) -> bool:
    """Return whether a body has no conditions on single variables."""
    return all(type(one) is Atom or (type(one) is Negation and type(one.element) is Atom) for one in rule.body)


def _is_open(atom: Atom) -> bool:
    """Return whether every fact of the arity is an instance of the atom."""
    names = set()
    for argument in atom.arguments:
        if type(argument) is Variable:
            if argument.name in names:
                return False
            names.add(argument.name)
        elif type(argument) is not Wildcard:
            return False
    return True


class _Heads:
    """The heads of one predicate, with an index by constants to skip most heads that an atom with constants cannot use.

    A variable that a comparison gives its value counts as a constant, which may equal another one.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._heads: list[Atom] = []
        self._by_value: dict[int, dict[object, list[int]]] = {}

    def add(self, name: str, head: Atom) -> None:
        self.names.append(name)
        self._heads.append(head)
        self._by_value.clear()

    def used_by(self, atom: Atom) -> Iterator[str]:
        """Yield the names of the rules whose heads may produce a fact for the atom, in order."""
        best: list[int] | None = None
        for place, argument in enumerate(atom.arguments) if len(self._heads) > _FEW_HEADS else ():
            value = _value_of(argument)
            if value is not None:
                known = self._at(place)
                same, others = known.get(value, []), known.get(None, [])
                if best is None or len(same) + len(others) < len(best):
                    best = sorted([*same, *others])
        is_open, width = _is_open(atom), len(atom.arguments)
        for number in range(len(self._heads)) if best is None else best:
            head = self._heads[number]
            if (is_open and len(head.arguments) == width and _is_open(head)) or may_unify(head, atom):
                yield self.names[number]

    def _at(self, place: int) -> dict[object, list[int]]:
        """Return the numbers of the heads by the value at a position; None for heads without a constant there."""
        known = self._by_value.get(place)
        if known is None:
            known = self._by_value[place] = {}
            for number, head in enumerate(self._heads):
                value = _value_of(head.arguments[place]) if place < head.arity else None
                known.setdefault(value, []).append(number)
        return known


def _value_of(argument: Term) -> object:
    """Return a key that an argument shares with all constants that it may be, or may equal; None if it may be any."""
    constant = argument.value if isinstance(argument, Restricted) else argument
    if not isinstance(constant, Constant):
        return None
    number = number_of(constant.value)
    if number is not None:
        return "number", (number if number == number else "none")
    return ("literal",) if isinstance(constant.value, Literal) else identity(constant.value)


def link(
    hyper_edges: Digraph[HyperNode, Dependency], rule_edges: Digraph[str, Dependency], nodes: Iterable[HyperNode]
) -> None:
    """Add the edges into and out of these hyper-nodes that the rule edges imply."""
    node_of = {name: node for node in hyper_edges.nodes for name in node.rules}
    linked = dict.fromkeys(nodes)
    for node in linked:
        for name in node.rules:
            for target, kinds in rule_edges.edges_from(name):
                other = node_of.get(target)
                if other is not None and other is not node and other != node:
                    hyper_edges.connect(node, other, kinds)
            for source, kinds in rule_edges.edges_to(name):
                other = node_of.get(source)
                if other is not None and other not in linked:  # the others have been linked from there
                    hyper_edges.connect(other, node, kinds)
