"""The steps of maintenance: the rules of a hyper-node, preceded by the auxiliary facts that they need.

Maintenance follows changes fact by fact, so a rule that looks at many facts at once is taken apart. `not q(X, _)` asks
whether there is any fact: an auxiliary predicate holds the X that have one. An aggregation ranges over bindings: one
auxiliary predicate holds the bindings, another the rows of groups and results. The remaining rules have atoms and
negations about single facts, which counting and deletion can handle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2s
from itertools import count
from typing import ClassVar

from corollary.analysis import Module
from corollary.planning.normal_form import AggregateSource, NormalBody, NormalRule, alternates, source_variables
from corollary.program import AggregateOperation, Atom, Constant, Variable, Wildcard


@dataclass(frozen=True)
class RuleStep:
    """Rules that are evaluated together; `owner` supports the facts they derive, `modules` are those of a hyper-node."""

    owner: str
    rules: tuple[NormalRule, ...]
    recursive: bool = False
    modules: tuple[Module, ...] = ()

    def __hash__(self) -> int:
        """Return the hash of the owner, which identifies a step; hashing whole rules takes longer than many a change."""
        return hash(self.owner)

    @property
    def identity(self) -> RuleStep:
        """A key that is equal for equal steps, even from different graphs."""
        return self

    @property
    def own_rules(self) -> tuple[NormalRule, ...]:
        return self.rules

    following_rules = own_rules
    """The rules in the form used to follow changes, which is their own."""

    @property
    def heads(self) -> dict[str, int]:
        return {rule.head.predicate: rule.head.arity for rule in self.rules}

    @cached_property
    def alternates(self) -> bool:
        """Whether its rules alternate between true and possible facts; such a step is recomputed at every change."""
        return self.recursive and alternates(self.rules)


@dataclass(frozen=True)
class AggregateStep:
    """The step of an aggregation: `result` has a row for each group of the facts of `bindings`, whose columns are `names`."""

    owner: str
    bindings: str
    names: tuple[str, ...]
    result: str
    group_by: tuple[str, ...]
    operations: tuple[AggregateOperation, ...]

    recursive = alternates = False
    own_rules: ClassVar[tuple[NormalRule, ...]] = ()
    following_rules = own_rules

    @property
    def identity(self) -> AggregateStep:
        return self

    @property
    def heads(self) -> dict[str, int]:
        return {self.result: len(self.group_by) + len(self.operations)}


Step = RuleStep | AggregateStep


def is_auxiliary(predicate: str) -> bool:
    """Return whether a predicate is auxiliary; no program text can contain its name."""
    return predicate.startswith("\0")


def steps_of_rule(rule: NormalRule) -> tuple[tuple[Step, ...], NormalRule]:
    """Return the auxiliary steps of a rule, in order, and the rule that uses what they derive."""
    if not rule.body.negated and all(isinstance(source, Atom) for source in rule.body.sources):
        return (), rule
    auxiliary = _Auxiliary(rule)
    body = auxiliary.split(rule.body)
    return tuple(auxiliary.steps), NormalRule(rule.name, rule.head, body)


def steps_of_groups(rule: NormalRule) -> tuple[list[tuple[NormalRule, AggregateSource]], NormalRule]:
    """Return the rule of the groups of each aggregation in a rule, with the aggregation, and the rule that uses the groups.

    Where bindings are too many to be stored, groups are derived at once: this is the split without a step of bindings.
    Negations stay as they are, and each value of an atom has a name (`without_wildcards`), so that each fact is one instance.
    """
    groups = _Groups(rule)
    body = groups.split(rule.body)
    return groups.rules, NormalRule(rule.name, rule.head, without_wildcards(body))


def predicates_of(rules: Iterable[NormalRule]) -> set[str]:
    """Return the predicates that the bodies of split rules mention."""
    return {
        atom.predicate for rule in rules for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)
    }


class _Auxiliary:
    def __init__(self, rule: NormalRule) -> None:
        self._rule = rule
        self._count = 0
        self.steps: list[Step] = []

    def split(self, body: NormalBody) -> NormalBody:
        sources = [self._aggregation(one) if isinstance(one, AggregateSource) else one for one in body.sources]
        known = set(body.variables)
        negated = [self._negation(atom, known) for atom in body.negated]
        return NormalBody(tuple(sources), tuple(negated), body.computes, body.compares)

    @cached_property
    def _digest(self) -> str:
        """Return a digest of the rule, so that a new rule with an old name gets other auxiliary predicates."""
        return blake2s(repr(self._rule).encode(), digest_size=8).hexdigest()

    def _name(self, what: str) -> str:
        self._count += 1
        return f"\0{self._rule.name} {what} {self._count}\0{self._digest}"

    def _aggregation(self, source: AggregateSource) -> Atom:
        names = source.ranged
        bindings, result = self._name("bindings"), self._name("groups")
        head = Atom(bindings, tuple(Variable(name) for name in names))
        rule = NormalRule(bindings, head, self.split(source.body))
        self.steps.append(RuleStep(bindings, (rule,)))
        self.steps.append(AggregateStep(result, bindings, names, result, source.group_by, source.operations))
        return Atom(result, tuple(Variable(name) for name in source.columns))

    def _negation(self, atom: Atom, known: set[str]) -> Atom:
        """Return the atom itself if all its arguments are known, otherwise one about the part that is."""
        shared = tuple(dict.fromkeys(name for name in source_variables(atom) if name in known))
        if all(_is_known(argument, known) for argument in atom.arguments):
            return atom
        name = self._name("exists")
        head = Atom(name, tuple(Variable(variable) for variable in shared))
        self.steps.append(RuleStep(name, (NormalRule(name, head, NormalBody((atom,), (), (), ())),)))
        return head


class _Groups:
    def __init__(self, rule: NormalRule) -> None:
        self._rule = rule
        self.rules: list[tuple[NormalRule, AggregateSource]] = []

    def split(self, body: NormalBody) -> NormalBody:
        sources = tuple(self._groups(one) if isinstance(one, AggregateSource) else one for one in body.sources)
        return NormalBody(sources, body.negated, body.computes, body.compares)

    def _groups(self, source: AggregateSource) -> Atom:
        inner = AggregateSource(self.split(source.body), source.group_by, source.operations)
        digest = blake2s(repr(inner).encode(), digest_size=8).hexdigest()
        name = f"\0{self._rule.name} groups {len(self.rules) + 1}\0{digest}"
        head = Atom(name, tuple(Variable(column) for column in inner.columns))
        self.rules.append((NormalRule(name, head, NormalBody((inner,), (), (), ())), inner))
        return head


def without_wildcards(body: NormalBody) -> NormalBody:
    """Return the body with every `_` of an atom as a variable of its own, so that each matching fact is one instance."""
    numbers = count()
    sources = []
    for source in body.sources:
        if isinstance(source, Atom):
            arguments = (
                Variable(f" _{next(numbers)}") if isinstance(one, Wildcard) else one for one in source.arguments
            )
            source = Atom(source.predicate, tuple(arguments))
        sources.append(source)
    return NormalBody(tuple(sources), body.negated, body.computes, body.compares)


def _is_known(argument: object, known: set[str]) -> bool:
    return isinstance(argument, Constant) or (isinstance(argument, Variable) and argument.name in known)
