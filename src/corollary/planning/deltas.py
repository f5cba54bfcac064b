"""Delta rules: one atom ranges over changes, the others over the facts before or after them.

A version of a predicate is a predicate with its own name, so the planner needs to know nothing about versions. An
engine resolves it to rows: to a change, or to a relation without the parts in `LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from corollary.planning.normal_form import NormalBody, NormalRule
from corollary.program import Atom, Variable, Wildcard

BEFORE, AFTER = "\0before\0", "\0after\0"
KEPT = "\0kept\0"  # the facts that are visible both before and after the transaction
EITHER = "\0either\0"  # the facts that are visible before or after the transaction; only for negated atoms
DELETED, INSERTED = "\0deleted\0", "\0inserted\0"
CHANGING = "\0changing\0"  # the facts that a deletion or an insertion reached in its last round
UNTOUCHED = "\0untouched\0"  # before the transaction, without the facts that overdeletion has reached so far
UNSPREAD = "\0unspread\0"  # the same, with the facts reached in its last round
SETTLED = "\0settled\0"  # after the transaction, without the facts that an insertion reached in its last round
PROVED = "\0proved\0"  # the facts found to follow from the remaining ones


class VersionPart(Enum):
    """Parts of a relation, of which versions before or after a transaction leave some out."""

    NEW = auto()
    """The facts that the transaction has inserted so far."""
    GONE = auto()
    """The facts that the transaction has deleted so far."""
    REACHED = auto()
    """The facts that overdeletion has reached so far."""
    SPREAD = auto()
    """The facts that overdeletion had reached before its last round."""
    LAST = auto()
    """The facts that an insertion reached in its last round: CHANGING."""


LEFT_OUT: Mapping[str, frozenset[VersionPart]] = {
    BEFORE: frozenset([VersionPart.NEW]),
    AFTER: frozenset([VersionPart.GONE]),
    KEPT: frozenset([VersionPart.NEW, VersionPart.GONE]),
    UNTOUCHED: frozenset([VersionPart.NEW, VersionPart.REACHED]),
    UNSPREAD: frozenset([VersionPart.NEW, VersionPart.SPREAD]),
    SETTLED: frozenset([VersionPart.GONE, VersionPart.LAST]),
}
"""The versions that are whole relations, each with the parts that it leaves out."""


@dataclass(frozen=True)
class Versions:
    """The versions of a rule's atoms, in pairs: for those before the position of a delta, and for those after it.

    `inside` holds for atoms of predicates that the step itself derives.
    """

    inside: tuple[str, str]
    outside: tuple[str, str]
    negated: tuple[str, str]


@cache
def version_of(predicate: str) -> tuple[str, str]:
    """Split the name of a versioned predicate into version and name."""
    _, version, name = predicate.split("\0", 2)
    return f"\0{version}\0", name


def whole_rule(rule: NormalRule, version: str, inside: Container[str] = (), inside_version: str = "") -> NormalRule:
    """Return the rule over one version of all predicates; positive atoms of predicates inside the step may have another."""
    body = rule.body
    sources = tuple(
        in_version(atom, inside_version if isinstance(atom, Atom) and atom.predicate in inside else version)
        for atom in body.sources
    )
    negated = tuple(in_version(atom, version) for atom in body.negated)
    return NormalRule(rule.name, rule.head, NormalBody(sources, negated, body.computes, body.compares))


def delta_rule(rule: NormalRule, place: int, delta: str, earlier: str, later: str) -> NormalRule:
    """Return the rule with the delta of a predicate at one position, which becomes its first source.

    Positions count the atoms of the body, then the negated ones. Atoms before the position use the version `earlier`,
    those after it the version `later`, so that the deltas of all positions together give each gained or lost instance
    once. A negated atom at the position becomes positive: its instances change when facts come and go.
    """
    pair = (earlier, later)
    return step_delta_rule(rule, place, delta, (), Versions(pair, pair, pair))


def step_delta_rule(rule: NormalRule, place: int, delta: str, inside: Container[str], versions: Versions) -> NormalRule:
    """Like `delta_rule`, with versions that depend on whether the step derives the atom's predicate (`inside`)."""
    body = rule.body
    sources, negated = [], []
    for at, atom in enumerate(body.sources):
        assert isinstance(atom, Atom), "aggregations have steps of their own"
        chosen = versions.inside if atom.predicate in inside else versions.outside
        sources.append(in_version(atom, delta if at == place else chosen[at > place]))
    if place < len(sources):
        sources.insert(0, sources.pop(place))
    for at, atom in enumerate(body.negated, len(body.sources)):
        if at == place:
            sources.insert(0, in_version(atom, delta))
        elif (version := versions.negated[at > place]) == EITHER:
            negated += [in_version(atom, BEFORE), in_version(atom, AFTER)]
        else:
            negated.append(in_version(atom, version))
    return NormalRule(rule.name, rule.head, NormalBody(tuple(sources), tuple(negated), body.computes, body.compares))


def body_after(rule: NormalRule) -> NormalBody:
    """Return the body over the facts after the transaction, which contain the change (or lack it, at a negated atom)."""
    body = rule.body
    sources = tuple(_after(atom) for atom in body.sources if isinstance(atom, Atom))
    return NormalBody(sources, tuple(map(_after, body.negated)), body.computes, body.compares)


def _after(atom: Atom) -> Atom:
    version, name = version_of(atom.predicate)
    return Atom(AFTER + name, atom.arguments) if version in LEFT_OUT else atom


def checking_rule(
    rule: NormalRule, candidates: str, version: str, inside: Container[str] = (), inside_version: str = ""
) -> NormalRule:
    """Return the rule restricted to heads among the candidates, which are its first source."""
    whole = whole_rule(rule, version, inside, inside_version)
    sources = (in_version(rule.head, candidates), *whole.body.sources)
    body = NormalBody(sources, whole.body.negated, whole.body.computes, whole.body.compares)
    return NormalRule(rule.name, rule.head, body)


def backward_rule(rule: NormalRule, place: int, candidates: str, version: str) -> NormalRule:
    """Return a rule from the candidates to the facts at one position of the instances that derive them."""
    wanted = rule.body.sources[place]
    assert isinstance(wanted, Atom), "aggregations have steps of their own"
    named = Atom(
        wanted.predicate,
        tuple(
            Variable(f"\0{at}") if isinstance(argument, Wildcard) else argument
            for at, argument in enumerate(wanted.arguments)
        ),
    )
    checking = checking_rule(rule, candidates, version)
    sources = list(checking.body.sources)
    sources[place + 1] = in_version(named, version)
    body = NormalBody(tuple(sources), checking.body.negated, checking.body.computes, checking.body.compares)
    return NormalRule(rule.name, named, body)


def in_version(atom: object, version: str) -> Atom:
    assert isinstance(atom, Atom), "aggregations have steps of their own"
    return Atom(version + atom.predicate, atom.arguments)
