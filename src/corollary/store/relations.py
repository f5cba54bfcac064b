"""Relations of the embedded engine from what is stored: all facts of all owners, and the changes since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.engines.embedded.relation import Codes, Relation
from corollary.engines.embedded.threads import CORES

Signed = np.ndarray[Any, np.dtype[np.int64]]


class BelowZero(Exception):
    """Changes that cannot be: an owner would support a fact less than not at all."""


@dataclass(frozen=True)
class Supported:
    """Distinct facts that an owner supports, and how often each; as a change, how much more or less often."""

    owner: str
    facts: Codes
    counts: np.ndarray[Any, np.dtype[Any]]


def relation_of(arity: int, code_bits: int, stored: Sequence[Supported], changes: Sequence[Supported]) -> Relation:
    """The relation of one predicate; `stored` has each owner's facts once."""
    relation = Relation(arity, code_bits, counted=True)
    for one in sorted(stored, key=lambda one: -len(one.facts)):
        _add(relation, one)
    for one in changes:
        _add(relation, one)
    if changes:
        _drop_unsupported(relation)
    return relation


def _add(relation: Relation, more: Supported) -> None:
    if not relation.arity:
        if len(more.counts):
            relation.size = 1
            support = relation.support_of(more.owner)
            after = int(support[0]) + int(more.counts.sum())
            if after < 0:
                raise BelowZero(more.owner)
            support[0] = after
        return
    if not relation.size:
        if len(more.counts) and more.counts.min() < 0:
            raise BelowZero(more.owner)
        relation.rows, relation.size = more.facts, len(more.facts)
        relation.support_of(more.owner)[: relation.size] = more.counts
        return
    numbers = places_of(more.facts, relation)
    new = numbers < 0
    if new.any():
        numbers[new] = np.arange(relation.size, relation.size + int(new.sum()))
        relation.append_distinct(more.facts[new])
    support = relation.support_of(more.owner)
    after = support[numbers].astype(np.int64) + more.counts
    if len(after) and after.min() < 0:
        raise BelowZero(more.owner)
    support[numbers] = after


def places_of(facts: Codes, relation: Relation) -> Signed:
    """The rows of a relation in which facts are, -1 where they are in none; a pass over the rows, without a set of them."""
    wanted = Relation(facts.shape[1], counted=True)
    wanted.append_distinct(facts)
    places = np.full(len(facts), -1, np.int64)
    wanted.ensure_set()

    def look(start: int, rows: Codes) -> None:
        found = wanted.locate(rows)
        hits = np.flatnonzero(found >= 0)
        places[found[hits]] = start + hits

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(lambda piece: look(*piece), _pieces(relation.facts)))
    return places


def _pieces(rows: Codes, size: int = 1 << 20) -> Iterator[tuple[int, Codes]]:
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]


def _drop_unsupported(relation: Relation) -> None:
    """Facts that nobody supports any more."""
    total = np.zeros(max(1, relation.size), np.bool_)
    for owner in relation.owners:
        total |= relation.support_of(owner)[: len(total)] > 0
    if not relation.arity:
        relation.size = int(total[0])
    elif not total[: relation.size].all():
        relation.keep(total[: relation.size])
