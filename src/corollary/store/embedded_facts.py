"""Facts of the embedded engine to a store and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.evaluation import Store as Relations
from corollary.engines.embedded.maintenance.journal import SupportChange
from corollary.engines.embedded.maintenance.transaction import EXPLICIT
from corollary.engines.embedded.relation import Codes
from corollary.planning.steps import is_auxiliary
from corollary.store.delta_folder import DataFile
from corollary.store.parts import Part, merged
from corollary.store.problems import damaged
from corollary.store.relations import BelowZero, Supported, relation_of
from corollary.store.store import Store
from corollary.store.tables import ROWS_PER_FILE, StoredFacts, Tables, columns_of_file
from corollary.store.terms import StoredTerms

_SORTED_FROM = 1_000  # rows; fewer are small in any order


class Export:
    """Everything that an engine has, and the constants of it."""

    def __init__(self, engine: EmbeddedEngine, terms: StoredTerms) -> None:
        self._engine = engine
        self._terms = terms
        self._used: list[Codes] = []
        self.explicit = 0
        self.visible = 0

    def parts(self) -> Iterator[Part]:
        for predicate, owner, facts, counts in self._engine.supports():
            self.explicit += len(facts) if owner == EXPLICIT else 0
            self._used.append(_distinct(facts, self._engine.universe.size))
            facts, counts = _in_order(facts, counts)
            for start in range(0, len(counts), ROWS_PER_FILE):
                rows = slice(start, start + ROWS_PER_FILE)
                yield part_of(predicate, owner, facts[rows], counts[rows].astype(np.int64), None, self._terms)

        for predicate in self._engine.predicates:
            self.visible += 0 if is_auxiliary(predicate) else self._engine.count(predicate)

    def write_facts(self, tables: Tables, folder: str) -> list[DataFile]:
        return [file for part in self.parts() for file in tables.write_facts(folder, part)]

    def write_terms(self, tables: Tables, folder: str) -> list[DataFile]:
        """The constants of the parts that were given, as far as they are not stored."""
        codes, rows = self._terms.new_terms(self._used)
        self._terms.note_stored(codes)
        return tables.write_rows(tables.terms, folder, rows)


def stored_owner(owner: str) -> str:
    """The name of an owner on disk: the rules of a hyper-node in an order that does not depend on how they came."""
    if not owner.startswith("{"):
        return owner
    return "{" + ", ".join(sorted(owner.strip("{}").split(", "))) + "}"


def part_of(predicate: str, owner: str, facts: Codes, change: Any, visible: Any | None, terms: StoredTerms) -> Part:
    seen = np.zeros(len(change), np.int8) if visible is None else visible.astype(np.int8)
    return Part(predicate, stored_owner(owner), terms.ids(facts).reshape(facts.shape), change, seen)


def parts_of_changes(changes: Sequence[SupportChange], terms: StoredTerms) -> tuple[list[Part], Codes, pa.Table]:
    """The changes of a transaction with ids, and the constants that are new in them: their codes and their rows."""
    parts = merged(
        part_of(change.predicate, change.owner, change.facts, change.change, change.visible, terms)
        for change in changes
    )
    return parts, *terms.new_terms([change.facts for change in changes])


def _distinct(facts: Codes, size: int) -> Codes:
    seen = np.zeros(size, np.bool_)
    seen[facts.reshape(-1)] = True
    return np.flatnonzero(seen).astype(np.uint32)


def _in_order(facts: Codes, counts: Any) -> tuple[Codes, Any]:
    """Facts that share their first arguments stand together: that is what makes files small."""
    if facts.shape[1] < 2 or len(facts) < _SORTED_FROM or _stand_together(facts):
        return facts, counts
    if facts.shape[1] == 2 and (counts == counts[0]).all():
        keys = facts[:, 0].astype(np.uint64) << np.uint64(32) | facts[:, 1]
        keys.sort()
        ordered = np.empty(facts.shape, np.uint32)
        ordered[:, 0], ordered[:, 1] = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
        return ordered, counts
    order = np.lexsort(tuple(facts[:, place] for place in reversed(range(facts.shape[1]))))
    return facts[order], counts[order]


def _stand_together(facts: Codes) -> bool:
    first = facts[:100_000, 0]
    return int((first[1:] != first[:-1]).sum()) * 8 < len(first)


# -- back --------------------------------------------------------------------------------------------------------------


def load_relations(store: Store, terms: StoredTerms, owners: Mapping[str, str] | None = None) -> Relations:
    """The relations of a version of a store. `owners` are those that count: their names on disk, and what they are called."""
    relations = Relations(counted=True)
    relations.universe = terms.universe
    terms.learn(store.all_terms())
    changes: dict[str, list[Part]] = {}
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


def _read(stored: StoredFacts, terms: StoredTerms, names: Mapping[str, str]) -> Supported:
    """What one owner supports; the next file is read while the ids of this one are looked up."""
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
    return Supported(names.get(stored.owner, stored.owner), facts, counts)


def _look_up(columns: list[Any], facts: Codes, terms: StoredTerms) -> None:
    for place, ids in enumerate(columns):
        terms.write_codes(np.ascontiguousarray(ids), facts, place)


def _decoded(part: Part, terms: StoredTerms, names: Mapping[str, str]) -> Supported:
    kept = part.change != 0
    facts = np.empty((int(kept.sum()), part.arity), np.uint32)
    _look_up([part.ids[kept, place] for place in range(part.arity)], facts, terms)
    return Supported(names.get(part.owner, part.owner), facts, part.change[kept])
