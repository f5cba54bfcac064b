"""Rules that look at what changed: one atom ranges over changes, the others over the facts before or after them.

A version of a predicate is a predicate of its own name, so that the planner and the engines need to know nothing about it.
"""

from __future__ import annotations

from corollary.planning.normal_form import NormalBody, NormalRule
from corollary.program import Atom

BEFORE, AFTER = "\0before\0", "\0after\0"
DELETED, INSERTED = "\0deleted\0", "\0inserted\0"
CHANGING = "\0changing\0"  # the facts that a deletion or an insertion has reached in its last round


def version_of(predicate: str) -> tuple[str, str]:
    """The version of a predicate and its name, put together by the functions below."""
    _, version, name = predicate.split("\0", 2)
    return f"\0{version}\0", name


def whole_rule(rule: NormalRule, version: str) -> NormalRule:
    """The rule over one version of all predicates."""
    body = rule.body
    sources = tuple(_in_version(atom, version) for atom in body.sources)
    negated = tuple(_in_version(atom, version) for atom in body.negated)
    return NormalRule(rule.name, rule.head, NormalBody(sources, negated, body.computes, body.compares))


def delta_rule(rule: NormalRule, place: int, delta: str, earlier: str, later: str) -> NormalRule:
    """The rule with the delta of a predicate at one place; its source comes first.

    Places count the atoms of the body and then the negated ones. What stands before the place is taken in the version
    `earlier`, what stands behind it in the version `later`, so that the deltas of all places together tell each gained or
    lost instance once. A negated atom at the place becomes a positive one: its instances change where facts come and go.
    """
    body, count = rule.body, len(rule.body.sources)
    atoms = [*body.sources, *body.negated]
    versions = [_in_version(atom, earlier if at < place else later) for at, atom in enumerate(atoms)]
    changed = _in_version(atoms[place], delta)
    sources = (changed, *(atom for at, atom in enumerate(versions[:count]) if at != place))
    negated = tuple(atom for at, atom in enumerate(versions[count:], count) if at != place)
    return NormalRule(rule.name, rule.head, NormalBody(sources, negated, body.computes, body.compares))


def checking_rule(rule: NormalRule, candidates: str, version: str) -> NormalRule:
    """The rule for those heads only that are among the candidates, which come first."""
    whole = whole_rule(rule, version)
    sources = (_in_version(rule.head, candidates), *whole.body.sources)
    body = NormalBody(sources, whole.body.negated, whole.body.computes, whole.body.compares)
    return NormalRule(rule.name, rule.head, body)


def _in_version(atom: object, version: str) -> Atom:
    assert isinstance(atom, Atom), "aggregations have steps of their own"
    return Atom(version + atom.predicate, atom.arguments)
