"""The rules of a step in every form that maintaining it needs, made once."""

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

# Changes outside are reported first, then what follows from them inside, round by round: no instance comes twice.
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
    """A rule with changes of one predicate at one place; `trigger` is the predicate with the version that holds them.

    It `brings` instances where it tells those that are new after the transaction.
    """

    trigger: str
    rule: NormalRule
    brings: bool = False


class Triggered(tuple[Delta, ...]):
    """Deltas that are looked up by their triggers."""

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, delta in enumerate(self):
            found.setdefault(delta.trigger, []).append(number)
        return found

    def by(self, triggers: Iterable[str]) -> list[Delta]:
        """Return those with one of these triggers, in order."""
        numbers = sorted(number for trigger in triggers for number in self._numbers.get(trigger, ()))
        return [self[number] for number in numbers]


class StepRules:
    """For each rule: what it loses and gains with the facts of other steps, and what follows inside the step."""

    def __init__(self, step: RuleStep) -> None:
        self.step = step
        self.heads = step.heads

    @cached_property
    def uses(self) -> tuple[tuple[str, int, bool], ...]:
        """The predicate of each atom in the rules, with its number of arguments and whether it is negated."""
        return tuple(
            (atom.predicate, atom.arity, place >= len(rule.body.sources))
            for rule in self.step.rules
            for place, atom in enumerate(atoms_of_rule(rule))
        )

    @cached_property
    def inputs(self) -> frozenset[str]:
        return frozenset(predicate for predicate, _, _ in self.uses)

    def made(self) -> Iterator[NormalRule]:
        """The forms of rules that have been made so far."""
        known = vars(self)
        for name in _FORMS & known.keys():
            yield from (delta.rule for delta in known[name])
        yield from (one.rule for one in known.get("counted", ()))
        yield from known.get("whole", {}).values()
        for several in known.get("arriving", {}).values():
            yield from several

    @cached_property
    def counted(self) -> tuple[Signed, ...]:
        """Rules whose instances, with their signs, sum up to the change of all derivations."""
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
        """The instances before the transaction that the changes of other steps take away."""
        return self._from_outside(DELETED, INSERTED, _LOSING, brings=False)

    @cached_property
    def gaining(self) -> tuple[Delta, ...]:
        """The instances that the changes of other steps bring to the settled facts of the step."""
        return self._from_outside(INSERTED, DELETED, _GAINING, brings=True)

    def _from_outside(self, delta: str, negated_delta: str, versions: Versions, *, brings: bool) -> tuple[Delta, ...]:
        found = []
        for rule in self.step.rules:
            for place, atom in enumerate(atoms_of_rule(rule)):
                is_negated = place >= len(rule.body.sources)
                if is_negated or atom.predicate not in self.heads:  # what is inside the step changes round by round
                    kind = negated_delta if is_negated else delta
                    changed = step_delta_rule(rule, place, kind, self.heads, versions)
                    found.append(Delta(kind + atom.predicate, changed, brings=brings))
        return tuple(found)

    @cached_property
    def spreading(self) -> Triggered:
        """The instances left so far that use a fact which a deletion has just reached."""
        return self._inside(_SPREADING, brings=False)

    @cached_property
    def growing(self) -> Triggered:
        """The instances after the transaction that use a fact which an insertion has just reached."""
        return self._inside(_GROWING, brings=True)

    @cached_property
    def proving(self) -> Triggered:
        """The instances over proved facts that use one which has just been proved."""
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
        """Each rule for given heads, over the facts after the transaction."""
        return Triggered(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER)) for rule in self.step.rules
        )

    @cached_property
    def checking_proved(self) -> Triggered:
        """Each rule for given heads, over proved facts of the step."""
        return Triggered(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER, self.heads, PROVED))
            for rule in self.step.rules
        )

    @cached_property
    def ends(self) -> Triggered:
        """From external facts of closures to the same pairs of the closed predicates."""
        return self._renamed({name: closed for name in self.heads if (closed := closed_predicate(name)) in self.heads})

    @cached_property
    def externals(self) -> Triggered:
        """From pairs of closed predicates to the same external facts."""
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
        """From given heads to the facts of the step that the instances use which derive them."""
        return Triggered(
            Delta(CHANGING + rule.head.predicate, backward_rule(rule, place, CHANGING, AFTER))
            for rule in self.step.rules
            for place, atom in enumerate(rule.body.sources)
            if isinstance(atom, Atom) and atom.predicate in self.heads
        )

    @cached_property
    def arriving(self) -> dict[str, tuple[NormalRule, ...]]:
        """Each rule with a change at one of its places, over all facts after the transaction: its instances are new then."""
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
    """A rule over all facts before the transaction."""
    return whole_rule(rule, BEFORE)


def atoms_of_rule(rule: NormalRule) -> list[Atom]:
    """The atoms of a body, then the negated ones."""
    return [atom for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)]


class GroupRules:
    """The rules of an aggregation whose rows of groups and results are the facts of `head`."""

    def __init__(self, owner: str, source: AggregateSource, head: Atom) -> None:
        self.source = source
        self._owner = owner
        self._head = head
        self._group = tuple(Variable(name) for name in source.group_by)

    @cached_property
    def touching(self) -> NormalRule:
        """From bindings to their groups: its deltas tell the groups that got or lost a binding."""
        return NormalRule(self._owner, Atom(self._owner, self._group), self.source.body)

    @cached_property
    def results(self) -> tuple[Signed, Signed]:
        """The rows of the groups asked about, as they are now and as they were."""
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
        """The rules that have been made so far."""
        for one in vars(self).get("results", ()):
            yield one.rule

    @property
    def _asked(self) -> Atom:
        return Atom(CHANGING + self._owner, self._group)


# -- steps -------------------------------------------------------------------------------------------------------------

# The steps of a program in order, made once for each hyper-node and each rule that stays.


ATOMS_TO_INDEX = 3
"""In rules with fewer atoms there is no partial partner that somebody could look at in vain."""


class StepForms:
    """A step of the hyper-node `node`, with its rules in every form that following changes needs."""

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
        """A key that is equal for equal steps, whatever graph they came from."""
        return self.step

    def made(self) -> Iterator[NormalRule]:
        """The forms of rules that have been made so far."""
        yield from self.rules.made()
        if self.groups is not None:
            yield from self.groups.made()


def stated_by(rules: Iterable[NormalRule]) -> dict[str, Atom]:
    """The predicates of explicit facts that rules read, each with an atom for the facts that they are chosen from."""
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
    """The steps of all hyper-nodes, auxiliary ones before the rules that use them, each with the name of its hyper-node."""
    found: dict[Step, str] = {}
    for node in graph.hyper_nodes:
        steps = steps_of_node(graph, node)
        found.update(dict.fromkeys(steps, steps[-1].owner))
    return found


_STEPS: dict[int, tuple[ref[HyperNode], list[Rule], tuple[Step, ...]]] = {}


def steps_of_node(graph: RuleGraph, node: HyperNode) -> tuple[Step, ...]:
    """The steps of one hyper-node; most stay when rules change, so they are kept as long as the hyper-node is."""
    identity, rules = id(node), [graph.rules[name] for name in node.rules]
    known = _STEPS.get(identity)
    if known is None or known[0]() is not node or not all(map(operator.is_, known[1], rules)):  # rules may be others
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
    """The steps of one rule; most rules of a program stay when some change, so they are kept as long as the rule is."""
    identity = id(rule)
    known = _SPLIT.get(identity)
    if known is None or known[0]() is not rule:
        kept = ref(rule, lambda gone: _SPLIT.pop(identity, None))
        known = _SPLIT[identity] = kept, steps_of_rule(normalise(rule))
    return known[1]
