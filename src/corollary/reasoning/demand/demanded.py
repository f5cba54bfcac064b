"""The program for one query: only the rules that it needs, restricted to what it asks for.

A predicate of which some arguments are known gets a predicate for its *demand* (the values that are asked for) and one
for its *answers*, for each pattern of known arguments. If no argument is known, the predicate is derived *whole*, by
its original rules.

A negated predicate, and one whose rules aggregate, must be complete before its answers are used. A demand for it that
comes from the rules it depends on would make that impossible. Such a predicate is asked *apart*: with copies of all
predicates that it needs, whose demands come from nowhere else. If the demand depends on the answers themselves, that
does not help either, and the predicate is derived whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from corollary.analysis import Dependency, RuleGraph
from corollary.analysis.digraph import Digraph
from corollary.language import print_rule
from corollary.planning import normalise
from corollary.planning.optimisers import optimised_rule
from corollary.program import (
    Aggregation,
    Atom,
    BodyElement,
    Comparison,
    Negation,
    Query,
    Rule,
    Term,
    Variable,
    Wildcard,
    atoms_of,
)
from corollary.reasoning.demand.bodies import DemandedBody
from corollary.reasoning.demand.closures import ClosureRules, closures_of, directed, pattern_of, suits
from corollary.reasoning.demand.patterns import FREE, KNOWN, RewrittenNames, asked_terms, shown_terms

# -- groups ------------------------------------------------------------------------------------------------------------

# Aggregations in bodies become predicates, so that a demand for their groups is a demand like any other.


def with_predicates_of_groups(rules: Iterable[Rule], names: RewrittenNames) -> list[Rule]:
    """Return the rules with each `AGGREGATE(…)` alone in the body of a rule whose head holds its groups and results."""
    found: list[Rule] = []
    for rule in rules:
        parts = _SeparatedGroups(rule.name, names)
        body = parts.split(rule.body)
        found += [*parts.rules, replace(rule, body=body)]
    return found


class _SeparatedGroups:
    def __init__(self, rule: str, names: RewrittenNames) -> None:
        self._rule = rule
        self._names = names
        self.rules: list[Rule] = []

    def split(self, elements: tuple[BodyElement, ...]) -> tuple[BodyElement, ...]:
        return tuple(self._atom(one) if isinstance(one, Aggregation) else one for one in elements)

    def _atom(self, aggregation: Aggregation) -> Atom:
        inner = replace(aggregation, body=self.split(aggregation.body))
        name = self._names(f"{self._rule}_groups_{len(self.rules) + 1}")
        results = (operation.result for operation in aggregation.operations)
        atom = Atom(name, (*aggregation.group_by, *results))
        self.rules.append(Rule(name, atom, (inner,)))
        return atom


# -- demanded ----------------------------------------------------------------------------------------------------------

_MOST_COPIES = 4  # of each predicate, on average


@dataclass(frozen=True)
class Outside:
    """A predicate whose facts come from a source, which is asked for the values of the known arguments in `demand`."""

    predicate: str
    pattern: str
    demand: str

    @property
    def known(self) -> list[int]:
        """The positions of the known arguments."""
        return [place for place, letter in enumerate(self.pattern) if letter != FREE]


@dataclass(frozen=True)
class Demanded:
    """Rules that derive, in the predicate `answer`, the answers to the query.

    `demands` are the predicates that are asked with known arguments, with their patterns (`b` and `e` for known
    arguments, `f` for others); `whole` are those derived completely; `outside` are the demands on sources. If
    `limits_growth`, deriving everything might never end.
    """

    graph: RuleGraph
    answer: str
    demands: tuple[tuple[str, str], ...]
    whole: frozenset[str]
    outside: tuple[Outside, ...] = ()
    limits_growth: bool = False

    def text(self, prefixes: dict[str, str] | None = None) -> str:
        """Return the rules as program text, one per line."""
        return "".join(f"{print_rule(rule, prefixes)}\n" for rule in self.graph.rules.values())


def demanded(
    rules: Iterable[Rule],
    query: Query,
    explicit: Collection[str],
    taken: Collection[str] = (),
    without: Collection[str] = (),
    outside: Mapping[str, int] | None = None,
    *,
    computes: bool = True,
) -> Demanded:
    """Return the rules of a program rewritten for a query.

    `explicit` are the predicates with explicit facts, `taken` other names in use, `without` the optimisations to leave
    out. `outside` are predicates whose facts come from sources, with their arities. Unless `computes`, no expression is
    evaluated to find a demand: otherwise one without a value could stop a query that does not need it.
    """
    wanted = [optimised_rule(rule, without) for rule in rules]
    source = _Source(wanted, query, {*explicit, *(outside or ())}, taken, without, outside or {})
    whole: set[str] = set()
    apart = False
    while True:
        try:
            rewriting = _Rewriting(source, frozenset(whole), apart=apart, computes=computes)
            rewriting.run()
        except _NeedsAll as need:
            whole |= source.needed_by(need.predicate)
            continue
        graph = RuleGraph.of(rewriting.rules)
        cyclic = {one for name in _on_strict_cycles(graph) for one in rewriting.asked_by(name)}
        if not cyclic:
            demands = dict.fromkeys((predicate, pattern) for predicate, pattern, _ in rewriting.asked.values())
            asked = tuple(rewriting.outside())
            return Demanded(graph, source.answer, tuple(demands), frozenset(whole), asked, rewriting.is_growth_limited)
        for predicate in cyclic if apart else ():
            whole |= source.needed_by(predicate)
        apart = True


class _NeedsAll(Exception):
    """Raised if no argument of a needed predicate is known."""

    def __init__(self, predicate: str) -> None:
        self.predicate = predicate


def _on_strict_cycles(graph: RuleGraph) -> Iterator[str]:
    """Yield the predicates that would have to be complete before they are asked: negated ones, and heads that aggregate."""
    for source, target, kinds in graph.rule_edges.edges():
        if graph.node_of[source] == graph.node_of[target]:
            if Dependency.NEGATIVE in kinds:
                yield graph.rules[source].head.predicate
            if Dependency.AGGREGATE in kinds:
                yield graph.rules[target].head.predicate


class _Source:
    """The rules of the program and one for the query, with explicit facts under names of their own."""

    def __init__(
        self,
        rules: list[Rule],
        query: Query,
        explicit: Collection[str],
        taken: Collection[str],
        without: Collection[str],
        outside: Mapping[str, int],
    ) -> None:
        self.outside = outside
        mentioned = {
            atom.predicate for body in (query.body, *(rule.body for rule in rules)) for atom, _ in atoms_of(body)
        }
        heads = {**outside, **{rule.head.predicate: rule.head.arity for rule in rules}}
        self.names = RewrittenNames({*taken, *explicit, *mentioned, *heads, *(rule.name for rule in rules)})
        self.answer = self.names("answer")
        goal = Rule(self.names("query"), Atom(self.answer, query.variables), query.body)
        self.goals = with_predicates_of_groups([optimised_rule(goal, without)], self.names)
        self.stored = {self.names(f"{name}_stated"): name for name in heads if name in explicit}
        facts = [_stated_rule(self.names, alias, name, heads[name]) for alias, name in self.stored.items()]
        self.rules: dict[str, list[Rule]] = {}
        for rule in [*with_predicates_of_groups(rules, self.names), *self.goals, *facts]:
            self.rules.setdefault(rule.head.predicate, []).append(rule)

    @cached_property
    def closures(self) -> dict[str, ClosureRules]:
        return closures_of(RuleGraph.of(rule for rules in self.rules.values() for rule in rules))

    @cached_property
    def _uses(self) -> Digraph[str, None]:
        """The edges from each predicate to those that its rules use."""
        uses: Digraph[str, None] = Digraph(self.rules)
        for predicate, rules in self.rules.items():
            for atom in (atom for rule in rules for atom, _ in atoms_of(rule.body)):
                uses.connect(predicate, atom.predicate)
        return uses

    @cached_property
    def _groups(self) -> dict[str, int]:
        """The number of each predicate's strongly connected component."""
        return {name: k for k, group in enumerate(self._uses.components()) for name in group}

    @cached_property
    def aggregating(self) -> set[str]:
        """The predicates with a rule that aggregates."""
        return {
            rule.head.predicate
            for rules in self.rules.values()
            for rule in rules
            if rule.has_head_aggregate or any(isinstance(element, Aggregation) for element in rule.body)
        }

    def are_mutual(self, predicate: str, other: str) -> bool:
        return predicate in self._groups and self._groups[predicate] == self._groups.get(other)

    def needed_by(self, predicate: str) -> set[str]:
        """Return the predicate and all derived predicates that it depends on."""
        if predicate not in self._uses:
            return {predicate}
        needed = self._uses.reached_from([predicate]) - self.outside.keys()
        return {predicate, *(name for name in needed if name in self.rules)}


def _stated_rule(names: RewrittenNames, alias: str, predicate: str, arity: int) -> Rule:
    arguments = tuple(Variable(f"X{place}") for place in range(1, arity + 1))
    return Rule(alias, Atom(predicate, arguments), (Atom(alias, arguments),))


class _Rewriting:
    """One attempt at the rewriting, with a given set of predicates derived whole."""

    def __init__(self, source: _Source, whole: frozenset[str], *, apart: bool, computes: bool) -> None:
        self.computes = computes
        self.is_growth_limited = False
        self._source = source
        self._whole = whole
        self._apart = apart
        self._part = ""  # the predicate asked apart whose rules are being made
        self._rules = dict(source.rules)
        self._names = source.names
        self._taken: set[str] = set()
        self._waiting: list[str] = []
        self.rules: list[Rule] = []
        self._demand_of: dict[str, str] = {}
        self._alone: dict[tuple[str, str, str], str] = {}
        self.asked: dict[str, tuple[str, str, str]] = {}
        """For each predicate of answers: the predicate it answers, the pattern of known arguments, and the part it belongs to."""

    def run(self) -> None:
        for predicate, rules in self._rules.items():
            for rule in rules if predicate in self._whole else ():
                if self._source.stored.get(rule.name) != predicate:  # explicit facts already have this name
                    self._rewrite(rule, rule.name, rule.head, None)
        for rule in self._source.goals:
            if rule.head.predicate == self._source.answer:
                self._rewrite(rule, rule.name, rule.head, None)
        while self._waiting:
            self._answer(self._waiting.pop(0))

    def asked_by(self, name: str) -> Iterable[str]:
        """Return the predicate that a predicate of answers is for; for one that is derived whole, those that its rules ask."""
        if name in self.asked:
            return [self.asked[name][0]]
        atoms = (atom for rule in self._rules[name] for atom, _ in atoms_of(rule.body))
        return {atom.predicate for atom in atoms if self.is_demanded(atom)}

    def outside(self) -> Iterator[Outside]:
        for answers, (predicate, pattern, _) in self.asked.items():
            if predicate in self._source.outside:
                yield Outside(predicate, pattern, self._demand_of[answers])

    # -- demands of bodies -----------------------------------------------------------------------------------------

    def is_demanded(self, atom: Atom) -> bool:
        return atom.predicate in self._rules and atom.predicate not in self._whole

    def is_recursive(self, rule: Rule, atom: Atom) -> bool:
        return self._source.are_mutual(rule.head.predicate, atom.predicate)

    def pattern(self, predicate: str, known: str) -> str:
        return pattern_of(known) if predicate in self._source.closures else known

    def demand(self, predicate: str, pattern: str, *, negated: bool) -> tuple[str, str]:
        if KNOWN not in pattern:
            raise _NeedsAll(predicate)
        is_strict = negated or predicate in self._source.aggregating
        part = predicate if self._apart and is_strict else self._part
        answers = self._names(f"{predicate}_{pattern}" + (f"_for_{_local(part)}" if part else ""))
        return answers, self._demand_for(answers, predicate, pattern, part)

    def demand_alone(self, predicate: str, pattern: str, demand: str | None) -> tuple[str, str] | None:
        """Like `demand`, without the demanded values. Return None for aggregates, which need their groups, and when
        there are too many copies."""
        if predicate in self._source.aggregating or len(self.asked) > _MOST_COPIES * len(self._rules):
            return None
        if demand is None or (predicate, pattern, demand) not in self._alone:
            answers = self.supplement(f"{predicate}_{pattern}")
            demand = self._demand_for(answers, predicate, pattern, self._part, demand)
            self._alone[predicate, pattern, demand] = answers
        return self._alone[predicate, pattern, demand], demand

    def _demand_for(self, answers: str, predicate: str, pattern: str, part: str, demand: str | None = None) -> str:
        """Return the demand predicate of an answers predicate, whose rules are made later; a new one unless one is given."""
        if answers not in self.asked:
            self.asked[answers] = (predicate, pattern, part)
            self._demand_of[answers] = demand or self._names(f"{answers}_demand")
            self._waiting.append(answers)
        return self._demand_of[answers]

    def limit_growth(self) -> None:
        self.is_growth_limited = True

    def add(self, wanted_name: str, head: Atom, body: Iterable[BodyElement]) -> None:
        self._emit(self.supplement(wanted_name), head, tuple(body))

    def supplement(self, wanted_name: str) -> str:
        number, name = 1, self._names(wanted_name)
        while name in self._taken:
            number += 1
            name = self._names(f"{wanted_name}_{number}")
        self._taken.add(name)
        return name

    # -- rules -------------------------------------------------------------------------------------------------------

    def _emit(self, name: str, head: Atom, body: Sequence[BodyElement]) -> None:
        self._taken.add(name)
        self.rules.append(Rule(name, head, tuple(self._of_stored(element) for element in body)))

    def _of_stored(self, element: BodyElement) -> BodyElement:
        """Return the element with the stored name of each predicate of explicit facts."""
        stored = self._source.stored
        match element:
            case Atom() if element.predicate in stored:
                return replace(element, predicate=stored[element.predicate])
            case Negation(element=Atom() as atom) if atom.predicate in stored:
                return replace(element, element=replace(atom, predicate=stored[atom.predicate]))
            case Aggregation():
                return replace(element, body=tuple(self._of_stored(inner) for inner in element.body))
            case _:
                return element

    def _answer(self, answers: str) -> None:
        """Add the rules for the answers to a demand."""
        demand = self._demand_of[answers]
        predicate, pattern, self._part = self.asked[answers]
        for rule in self._rules_for(predicate, pattern):
            label = self.supplement(f"{rule.name}_{pattern}" + (f"_for_{_local(self._part)}" if self._part else ""))
            shown = shown_terms(rule.head.arguments, pattern)
            self._rewrite(rule, label, replace(rule.head, predicate=answers, arguments=shown), (demand, pattern))

    def _rewrite(self, rule: Rule, label: str, head: Atom, asked: tuple[str, str] | None) -> None:
        """Add a rule with this head, restricted to a demand with a pattern; without one, unrestricted."""

        def known(terms: Sequence[Term]) -> tuple[str, Sequence[Term]] | None:
            return (asked[0], asked_terms(terms, asked[1])) if asked is not None else None

        match rule.body:
            case (Aggregation() as aggregation,):
                outside = (*aggregation.group_by, *(one.argument for one in aggregation.operations))
                groups = len(aggregation.group_by)
                terms = (*rule.head.arguments[:groups], *[Wildcard()] * len(aggregation.operations))
                inner = DemandedBody(self, rule, label, keeps_all=True)
                body = inner.rewrite(aggregation.body, outside, known(terms))
                self._emit(label, head, (replace(aggregation, body=body),))
            case _ if asked is None and not any(self.is_demanded(atom) for atom, _ in atoms_of(rule.body)):
                self._emit(label, head, rule.body)
            case _:
                plain = DemandedBody(self, rule, label, keeps_all=rule.has_head_aggregate)
                self._emit(label, head, plain.rewrite(rule.body, head.arguments, known(rule.head.arguments)))

    def _rules_for(self, predicate: str, pattern: str) -> list[Rule]:
        closure = self._source.closures.get(predicate)
        if closure is None or suits(closure, pattern):
            return self._rules[predicate]
        rules = directed(closure, pattern, self._names)
        for name in sorted({rule.head.predicate for rule in rules} - {predicate} - self._rules.keys()):
            self._rules[name] = [rule for rule in rules if rule.head.predicate == name]
            for rule in self._rules[name] if name in self._whole else ():
                self._rewrite(rule, rule.name, rule.head, None)
        return [rule for rule in rules if rule.head.predicate == predicate]


def _local(name: str) -> str:
    """Return the local name of an IRI: its last part."""
    return name.rstrip("/#").replace("#", "/").rpartition("/")[2]


# -- needed rules ----------------------------------------------------------------------------------------------------

# The part of a program that a query needs, if deriving the rest might never end.

_BOUNDS = ("<", "<=", ">", ">=")
_ANSWER = "?answer"  # no program text has such a predicate


def growing_rules(graph: RuleGraph) -> frozenset[str]:
    """Return the rules that compute values and depend on themselves: what they derive may have no end.

    A rule that compares by order usually has a bound, and is left out.
    """
    found: list[str] = []
    for node in graph.hyper_nodes:
        if graph.is_recursive(node) and any(_grows(graph.rules[name]) for name in node.rules):
            found += node.rules
    return frozenset(found)


def _grows(rule: Rule) -> bool:
    if not normalise(rule).body.computes:
        return False
    return not any(isinstance(one, Comparison) and one.operator in _BOUNDS for one in rule.body)


def needed_rules(graph: RuleGraph, predicates: Iterable[str]) -> set[str]:
    """Return the names of the rules that derive these predicates, and of those that they depend on."""
    by_head: dict[str, list[Rule]] = {}
    for rule in graph.rules.values():
        by_head.setdefault(rule.head.predicate, []).append(rule)
    found: set[str] = set()
    waiting, seen = list(predicates), set(predicates)
    while waiting:
        for rule in by_head.get(waiting.pop(), ()):
            found.add(rule.name)
            new = {atom.predicate for atom, _ in atoms_of(rule.body)} - seen
            seen |= new
            waiting += new
    return found


def part_for(graph: RuleGraph, query: Query) -> Demanded:
    """Return the rules that a query depends on, with one that derives its answers."""
    asked = {atom.predicate for atom, _ in atoms_of(query.body)}
    names = needed_rules(graph, asked)
    rules = [rule for rule in graph.rules.values() if rule.name in names]
    used = asked.union(*({atom.predicate for atom, _ in atoms_of(rule.body)} for rule in rules))
    answer = Rule(_ANSWER, Atom(_ANSWER, query.variables), query.body)
    return Demanded(RuleGraph.of([*rules, answer]), _ANSWER, (), frozenset(used))
