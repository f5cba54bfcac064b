"""The rules of a step in every form that maintenance needs, each made once."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from weakref import ref

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.analysis.lowering import chosen_from, closed_predicate
from corollary.engines.base import Signed
from corollary.planning import AggregateSource, NormalBody, NormalRule, normalise
from corollary.planning.deltas import (
    AFTER,
    BEFORE,
    CHANGING,
    DELETED,
    EITHER,
    INSERTED,
    KEPT,
    PROVED,
    SETTLED,
    UNSPREAD,
    UNTOUCHED,
    Versions,
    backward_rule,
    checking_rule,
    delta_rule,
    step_delta_rule,
    whole_rule,
)
from corollary.planning.normal_form import alternates
from corollary.planning.steps import AggregateStep, RuleStep, Step, is_auxiliary, steps_of_rule
from corollary.program import Atom, Rule, Variable

# Changes outside the step are reported first, then what follows from them inside, round by round: no instance occurs twice.
_LOSING = Versions(inside=(BEFORE, BEFORE), outside=(KEPT, BEFORE), negated=(EITHER, BEFORE))
_SPREADING = Versions(inside=(UNTOUCHED, UNSPREAD), outside=(KEPT, KEPT), negated=(EITHER, EITHER))
_GAINING = Versions(inside=(SETTLED, SETTLED), outside=(KEPT, AFTER), negated=(EITHER, AFTER))
_GROWING = Versions(inside=(SETTLED, AFTER), outside=(AFTER, AFTER), negated=(AFTER, AFTER))
_PROVING = Versions(inside=(PROVED, PROVED), outside=(AFTER, AFTER), negated=(AFTER, AFTER))
_FORMS = frozenset(
    {
        "losing",
        "gaining",
        "spreading",
        "growing",
        "proving",
        "checking",
        "checking_proved",
        "backward",
        "ends",
        "externals",
    }
)
"""The properties of `StepRules` that are deltas."""


@dataclass(frozen=True)
class Delta:
    """A delta rule, with the changes of one predicate at one position; `trigger` is the predicate with the version that
    holds them.

    `brings` is true if its instances are those that are new after the transaction.
    """

    trigger: str
    rule: NormalRule
    brings: bool = False


class Triggered(tuple[Delta, ...]):
    """Delta rules by their triggers."""

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, delta in enumerate(self):
            found.setdefault(delta.trigger, []).append(number)
        return found

    def by(self, triggers: Iterable[str]) -> list[Delta]:
        """Return the deltas with one of these triggers, in order."""
        numbers = sorted(number for trigger in triggers for number in self._numbers.get(trigger, ()))
        return [self[number] for number in numbers]


class StepRules:
    """The delta rules of a step: what it loses and gains with the facts of other steps, and what follows inside it."""

    def __init__(self, step: RuleStep) -> None:
        self.step = step
        self.heads = step.heads

    @cached_property
    def uses(self) -> tuple[tuple[str, int, bool], ...]:
        """The predicate of each atom in the rules, with its arity and whether it is negated."""
        return tuple(
            (atom.predicate, atom.arity, place >= len(rule.body.sources))
            for rule in self.step.rules
            for place, atom in enumerate(atoms_of_rule(rule))
        )

    @cached_property
    def inputs(self) -> frozenset[str]:
        return frozenset(predicate for predicate, _, _ in self.uses)

    def made(self) -> Iterator[NormalRule]:
        """Yield the forms of rules that have been made so far."""
        known = vars(self)
        for name in _FORMS & known.keys():
            yield from (delta.rule for delta in known[name])
        yield from (one.rule for one in known.get("counted", ()))
        yield from known.get("whole", {}).values()
        for several in known.get("arriving", {}).values():
            yield from several

    @cached_property
    def counted(self) -> tuple[Signed, ...]:
        """Rules whose instances, with their signs, add up to the change of all derivations."""
        found = []
        for rule in self.step.rules:
            key = self.step.owner, rule.head.predicate
            for place in range(len(atoms_of_rule(rule))):
                sign = 1 if place < len(rule.body.sources) else -1
                for delta, direction in ((DELETED, -sign), (INSERTED, sign)):
                    changed = delta_rule(rule, place, delta, earlier=AFTER, later=BEFORE)
                    found.append(Signed(key, changed, direction, brings=direction > 0))
        return tuple(found)

    @cached_property
    def losing(self) -> tuple[Delta, ...]:
        """Deltas for the instances before the transaction that the changes of other steps remove."""
        return self._from_outside(DELETED, INSERTED, _LOSING, brings=False)

    @cached_property
    def gaining(self) -> tuple[Delta, ...]:
        """Deltas for the instances that the changes of other steps add over the settled facts of the step."""
        return self._from_outside(INSERTED, DELETED, _GAINING, brings=True)

    def _from_outside(self, delta: str, negated_delta: str, versions: Versions, *, brings: bool) -> tuple[Delta, ...]:
        found = []
        for rule in self.step.rules:
            for place, atom in enumerate(atoms_of_rule(rule)):
                is_negated = place >= len(rule.body.sources)
                if is_negated or atom.predicate not in self.heads:  # changes inside are followed round by round
                    kind = negated_delta if is_negated else delta
                    changed = step_delta_rule(rule, place, kind, self.heads, versions)
                    found.append(Delta(kind + atom.predicate, changed, brings=brings))
        return tuple(found)

    @cached_property
    def spreading(self) -> Triggered:
        """Deltas for the remaining instances that use a fact just reached by overdeletion."""
        return self._inside(_SPREADING, brings=False)

    @cached_property
    def growing(self) -> Triggered:
        """Deltas for the instances after the transaction that use a fact just inserted."""
        return self._inside(_GROWING, brings=True)

    @cached_property
    def proving(self) -> Triggered:
        """Deltas for the instances over proved facts that use one just proved."""
        return self._inside(_PROVING, brings=False)

    def _inside(self, versions: Versions, *, brings: bool) -> Triggered:
        return Triggered(
            Delta(
                CHANGING + atom.predicate, step_delta_rule(rule, place, CHANGING, self.heads, versions), brings=brings
            )
            for rule in self.step.rules
            for place, atom in enumerate(rule.body.sources)
            if isinstance(atom, Atom) and atom.predicate in self.heads
        )

    @cached_property
    def checking(self) -> Triggered:
        """Each rule restricted to given heads, over the facts after the transaction."""
        return Triggered(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER)) for rule in self.step.rules
        )

    @cached_property
    def checking_proved(self) -> Triggered:
        """Each rule restricted to given heads, over proved facts of the step."""
        return Triggered(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER, self.heads, PROVED))
            for rule in self.step.rules
        )

    @cached_property
    def ends(self) -> Triggered:
        """Rules from external facts of closures to the same pairs of the closed predicates."""
        return self._renamed({name: closed for name in self.heads if (closed := closed_predicate(name)) in self.heads})

    @cached_property
    def externals(self) -> Triggered:
        """Rules from pairs of closed predicates to the same external facts."""
        return self._renamed({closed: name for name in self.heads if (closed := closed_predicate(name)) in self.heads})

    def _renamed(self, names: Mapping[str, str]) -> Triggered:
        pair = (Variable("X"), Variable("Y"))
        return Triggered(
            Delta(
                CHANGING + name,
                NormalRule(name, Atom(other, pair), NormalBody((Atom(CHANGING + name, pair),), (), (), ())),
            )
            for name, other in names.items()
        )

    @cached_property
    def backward(self) -> Triggered:
        """Rules from given heads to the facts of the step in the instances that derive them."""
        return Triggered(
            Delta(CHANGING + rule.head.predicate, backward_rule(rule, place, CHANGING, AFTER))
            for rule in self.step.rules
            for place, atom in enumerate(rule.body.sources)
            if isinstance(atom, Atom) and atom.predicate in self.heads
        )

    @cached_property
    def arriving(self) -> dict[str, tuple[NormalRule, ...]]:
        """Each rule with a change at one position, over all facts after the transaction: its instances are new."""
        found = {}
        for rule in self.step.rules:
            changes = [INSERTED] * len(rule.body.sources) + [DELETED] * len(rule.body.negated)
            places = enumerate(changes)
            found[rule.name] = tuple(delta_rule(rule, place, change, AFTER, AFTER) for place, change in places)
        return found

    @cached_property
    def whole(self) -> dict[str, NormalRule]:
        """Each rule over all facts after the transaction, as far as they are settled."""
        return {rule.name: whole_rule(rule, AFTER, self.heads, SETTLED) for rule in self.step.rules}


def whole_before(rule: NormalRule) -> NormalRule:
    """Return a rule over all facts before the transaction."""
    return whole_rule(rule, BEFORE)


def atoms_of_rule(rule: NormalRule) -> list[Atom]:
    """Return the atoms of a body, followed by the negated ones."""
    return [atom for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)]


class GroupRules:
    """The rules of an aggregation; the facts of `head` are its rows of groups and results."""

    def __init__(self, owner: str, source: AggregateSource, head: Atom) -> None:
        self.source = source
        self._owner = owner
        self._head = head
        self._group = tuple(Variable(name) for name in source.group_by)

    @cached_property
    def touching(self) -> NormalRule:
        """The rule from bindings to their groups: its deltas find the groups that gained or lost a binding."""
        return NormalRule(self._owner, Atom(self._owner, self._group), self.source.body)

    @cached_property
    def results(self) -> tuple[Signed, Signed]:
        """The rows of the requested groups, as they are now and as they were."""
        key = self._owner, self._head.predicate
        return Signed(key, self._now(), 1, brings=True), Signed(key, self._before(), -1)

    def _now(self) -> NormalRule:
        body = whole_rule(NormalRule(self._owner, Atom("", ()), self.source.body), AFTER).body
        inner = NormalBody((self._asked, *body.sources), body.negated, body.computes, body.compares)
        source = AggregateSource(inner, self.source.group_by, self.source.operations)
        return NormalRule(self._owner, self._head, NormalBody((source,), (), (), ()))

    def _before(self) -> NormalRule:
        known = Atom(BEFORE + self._head.predicate, self._head.arguments)
        return NormalRule(self._owner, self._head, NormalBody((self._asked, known), (), (), ()))

    def made(self) -> Iterator[NormalRule]:
        """Yield the rules that have been made so far."""
        for one in vars(self).get("results", ()):
            yield one.rule

    @property
    def _asked(self) -> Atom:
        return Atom(CHANGING + self._owner, self._group)


# -- steps -------------------------------------------------------------------------------------------------------------

# The steps of a program in order, made once for each hyper-node and each rule that stays.


ATOMS_TO_INDEX = 3
"""In rules with fewer atoms there are no partial matches, so the Yield index has nothing to save."""


class StepForms:
    """A step of the hyper-node `node`, with its rules in every form that maintenance needs."""

    def __init__(self, step: Step, node: str) -> None:
        self.step, self.node = step, node
        self.owner, self.heads = step.owner, step.heads
        self.visible_heads = [name for name in self.heads if not is_auxiliary(name)]
        self.recursive, self.alternates = step.recursive, step.alternates
        self.own_rules, self.following_rules = step.own_rules, step.following_rules
        self.most_atoms = max((len(atoms_of_rule(rule)) for rule in self.own_rules), default=0)
        self.stated = stated_by(self.own_rules)
        self.groups: GroupRules | None = None
        self.inputs: Set[str]
        if isinstance(step, AggregateStep):
            self.groups = _groups(step)
            self.rules = StepRules(RuleStep(step.owner, (self.groups.touching,)))
            self.inputs = frozenset([step.bindings])
        else:
            self.rules = StepRules(step)
            self.inputs = self.rules.inputs

    @property
    def identity(self) -> Step:
        """A key that is equal for equal steps, even from different graphs."""
        return self.step

    def made(self) -> Iterator[NormalRule]:
        """Yield the forms of rules that have been made so far."""
        yield from self.rules.made()
        if self.groups is not None:
            yield from self.groups.made()


def stated_by(rules: Iterable[NormalRule]) -> dict[str, Atom]:
    """Return the predicates of explicit facts that rules read, each with an atom that selects its facts."""
    found = {}
    for rule in rules:
        atoms = atoms_of_rule(rule)
        if len(atoms) == 1 and is_auxiliary(name := atoms[0].predicate) and (chosen := chosen_from(name)) is not None:
            found[name] = Atom(chosen, atoms[0].arguments)
    return found


def _groups(step: AggregateStep) -> GroupRules:
    bindings = Atom(step.bindings, tuple(Variable(name) for name in step.names))
    source = AggregateSource(NormalBody((bindings,), (), (), ()), step.group_by, step.operations)
    return GroupRules(step.owner, source, Atom(step.result, tuple(Variable(name) for name in source.columns)))


def steps_in_order(graph: RuleGraph) -> dict[Step, str]:
    """Return the steps of all hyper-nodes, auxiliary ones before the rules that use them, with the names of their
    hyper-nodes."""
    found: dict[Step, str] = {}
    for node in graph.hyper_nodes:
        steps = steps_of_node(graph, node)
        found.update(dict.fromkeys(steps, steps[-1].owner))
    return found


_STEPS: dict[int, tuple[ref[HyperNode], list[Rule], tuple[Step, ...]]] = {}


def steps_of_node(graph: RuleGraph, node: HyperNode) -> tuple[Step, ...]:
    """Return the steps of one hyper-node; they are cached with it, because most stay when rules change."""
    identity, rules = id(node), [graph.rules[name] for name in node.rules]
    known = _STEPS.get(identity)
    # Other rules may have the same names by now.
    if known is None or known[0]() is not node or not all(map(operator.is_, known[1], rules)):
        kept = ref(node, lambda gone: _STEPS.pop(identity, None))
        known = _STEPS[identity] = kept, rules, tuple(_steps_of_node(graph, node))
    return known[2]


def _steps_of_node(graph: RuleGraph, node: HyperNode) -> Iterator[Step]:
    rules: list[NormalRule] = []
    for name in node.rules:
        auxiliary, rule = _split(graph.rules[name])
        yield from auxiliary
        rules.append(rule)
    modules = () if graph.is_recursive(node) and alternates(rules) else modules_of(graph, node)
    yield RuleStep(str(node), tuple(rules), graph.is_recursive(node), modules)


_SPLIT: dict[int, tuple[ref[Rule], tuple[tuple[Step, ...], NormalRule]]] = {}


def _split(rule: Rule) -> tuple[tuple[Step, ...], NormalRule]:
    """Return the steps of one rule; they are cached with it, because most rules stay when some change."""
    identity = id(rule)
    known = _SPLIT.get(identity)
    if known is None or known[0]() is not rule:
        kept = ref(rule, lambda gone: _SPLIT.pop(identity, None))
        known = _SPLIT[identity] = kept, steps_of_rule(normalise(rule))
    return known[1]
