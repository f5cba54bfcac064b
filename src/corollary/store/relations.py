"""Relations of the embedded engine from what is stored: all facts of all owners, and the changes since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.engines.embedded.evaluation import RelationStore
from corollary.engines.embedded.kernels.runner import CORES
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.store.parts import StoredChange, merged
from corollary.store.problems import damaged
from corollary.store.store import Store
from corollary.store.tables import StoredFacts, columns_of_file
from corollary.store.terms import StoredTerms

Signed = np.ndarray[Any, np.dtype[np.int64]]


class BelowZero(Exception):
    """Changes that cannot be: an owner would support a fact less than not at all."""


@dataclass(frozen=True)
class SupportedFacts:
    """Distinct facts that an owner supports, and how often each; as a change, how much more or less often."""

    owner: str
    facts: Codes
    counts: np.ndarray[Any, np.dtype[Any]]


def load_relations(store: Store, terms: StoredTerms, owners: Mapping[str, str] | None = None) -> RelationStore:
    """Return the relations of a version of a store. `owners` are those that count: names on disk, and what they are called."""
    relations = RelationStore(counted=True)
    relations.universe = terms.universe
    terms.learn(store.all_terms())
    changes: dict[str, list[StoredChange]] = {}
    for part in merged([*store.tables.stored_changes(store.head.tables), *store.recent_parts()]):
        if owners is None or part.owner in owners:
            changes.setdefault(part.predicate, []).append(part)
    stored: dict[str, list[StoredFacts]] = {}
    for facts in store.tables.stored_facts(store.head.tables):
        if owners is None or facts.owner in owners:
            stored.setdefault(facts.predicate, []).append(facts)
    names = owners or {}
    try:
        found = {
            predicate: (
                [_read(one, terms, names) for one in stored.get(predicate, ())],
                [_decoded(part, terms, names) for part in changes.get(predicate, ()) if part.change.any()],
            )
            for predicate in sorted({*stored, *changes})
        }
    except KeyError as error:
        raise damaged(store.tables.terms.path, f"does not have the constant {error.args[0]}, which facts use") from None
    bits = terms.universe.code_bits
    for predicate, (whole, changed) in found.items():
        if whole or changed:
            arity = (whole or changed)[0].facts.shape[1]
            try:
                relations.relations[predicate] = relation_of(arity, bits, whole, changed)
            except BelowZero as error:
                why = f"is damaged: {error} supports facts of {predicate} less than not at all"
                raise damaged(store.path, why) from None
    return relations


def _read(stored: StoredFacts, terms: StoredTerms, names: Mapping[str, str]) -> SupportedFacts:
    """Return the facts that one owner supports; the next file is read while the ids of this one are looked up."""
    facts: Codes | None = None
    counts = np.empty(stored.rows, np.uint32)
    start = 0
    with ThreadPoolExecutor(2) as pool:
        for number, columns in pool.map(columns_of_file, stored.files):
            if facts is None:
                facts = np.empty((stored.rows, len(columns)), np.uint32)
            stop = start + len(number)
            if stop > stored.rows:
                raise damaged(stored.files[0].parent, "has more rows than its table says")
            counts[start:stop] = number
            _look_up(columns, facts[start:stop], terms)
            start = stop
    assert facts is not None
    if start != stored.rows:
        raise damaged(stored.files[0].parent, "has fewer rows than its table says")
    return SupportedFacts(names.get(stored.owner, stored.owner), facts, counts)


def _look_up(columns: list[Any], facts: Codes, terms: StoredTerms) -> None:
    for place, ids in enumerate(columns):
        terms.write_codes(np.ascontiguousarray(ids), facts, place)


def _decoded(part: StoredChange, terms: StoredTerms, names: Mapping[str, str]) -> SupportedFacts:
    kept = part.change != 0
    facts = np.empty((int(kept.sum()), part.arity), np.uint32)
    _look_up([part.ids[kept, place] for place in range(part.arity)], facts, terms)
    return SupportedFacts(names.get(part.owner, part.owner), facts, part.change[kept])


def relation_of(
    arity: int, code_bits: int, stored: Sequence[SupportedFacts], changes: Sequence[SupportedFacts]
) -> Relation:
    """Return the relation of one predicate; `stored` has each owner's facts once."""
    relation = Relation(arity, code_bits, counted=True)
    for one in sorted(stored, key=lambda one: -len(one.facts)):
        _add(relation, one)
    for one in changes:
        _add(relation, one)
    if changes:
        _drop_unsupported(relation)
    return relation


def _add(relation: Relation, more: SupportedFacts) -> None:
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
    """Return the rows of a relation in which facts are, -1 where they are in none, by a pass over the rows without a set."""
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
    """Remove facts that nobody supports any more."""
    total = np.zeros(max(1, relation.size), np.bool_)
    for owner in relation.owners:
        total |= relation.support_of(owner)[: len(total)] > 0
    if not relation.arity:
        relation.size = int(total[0])
    elif not total[: relation.size].all():
        relation.keep(total[: relation.size])
