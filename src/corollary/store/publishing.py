"""Publishing: decoded tables, one for each output predicate, that are updated with the knowledge base.

Beside them stands of which store and of which version they are. A publication that is behind gets
what differs; one whose origin is of no use is written from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from corollary.io.publication import Origin, Publication
from corollary.program import Program
from corollary.results import Result
from corollary.store.history import difference
from corollary.store.store import Store


class Publisher:
    """Keeps a publication up to date with a knowledge base; `facts` returns its facts."""

    def __init__(
        self, place: Publication, predicates: Sequence[str], facts: Callable[[str], Result], store: Store | None
    ) -> None:
        self._place = place
        self._predicates = tuple(predicates)
        self._facts = facts
        self._store = store
        self._is_behind = False  # somebody could not write what a transaction had

    def start(self) -> None:
        """Bring the publication up to date."""
        origin = self._place.origin()
        with self._place.changing():
            changes = self._changes_since(origin)
            if changes is None:
                for predicate in self._predicates:
                    self._place.replace(predicate, table_of(self._facts(predicate)))
            else:
                self._change(*changes, again=True)
            self._place.set_origin(self._origin())
        self._is_behind = False

    def follow(self, inserted: Mapping[str, Result], deleted: Mapping[str, Result]) -> None:
        """Publish the visible facts that a transaction inserted and deleted."""
        if self._is_behind:
            self.start()
            return
        self._is_behind = True
        with self._place.changing():
            self._change(inserted, deleted)
            self._place.set_origin(self._origin())
        self._is_behind = False

    def _change(self, inserted: Mapping[str, Result], deleted: Mapping[str, Result], *, again: bool = False) -> None:
        changed = {*inserted, *deleted}
        for predicate in self._predicates:
            if predicate in changed:
                gone, new = table_of(deleted[predicate]), table_of(inserted[predicate])
                if not self._place.change(predicate, gone, new, again=again):
                    self._place.replace(predicate, table_of(self._facts(predicate)))

    def _changes_since(self, origin: Origin | None) -> tuple[Mapping[str, Result], Mapping[str, Result]] | None:
        """Return the facts inserted and deleted since the publication was made; None where that is not known."""
        store = self._store
        if origin is None or store is None or origin.version is None or origin.store != store.identity:
            return None
        if origin.predicates != self._predicates or origin.version not in store.versions.numbers():
            return None
        found = difference(store, origin.version, store.version, lambda name: name)
        return found.inserted, found.deleted

    def _origin(self) -> Origin:
        store = self._store
        return Origin(store.identity if store else "", store.version if store else None, self._predicates)


def published_predicates(program: Program, wanted: Iterable[str] | None) -> list[str]:
    """The predicates that are named, or those of `@output`, or all that rules derive."""
    if wanted is not None:
        return list(wanted)
    declared = dict.fromkeys(output.predicate for output in program.outputs)
    return list(declared or dict.fromkeys(rule.head.predicate for rule in program.rules))


def table_of(result: Result) -> pa.Table:
    """Return the rows of a result in columns that every store has; a predicate without arguments has one column all the same."""
    from corollary.engines.embedded.values.tables import narrowed
    from corollary.io.delta import unit_table

    return narrowed(result.to_arrow()) if result.variables else unit_table(len(result))
