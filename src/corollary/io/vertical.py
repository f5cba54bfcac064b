"""RDF by predicate: triples as p(s, o), and as C(s) where p is rdf:type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from corollary.program import Iri
from corollary.program.arities import name_with_arity
from corollary.program.values import RDF

if TYPE_CHECKING:
    from corollary.engines.embedded.relations.relation import Codes
    from corollary.engines.embedded.values.universe import Universe

TYPE = RDF + "type"


def facts_of_triples(universe: Universe, triples: Codes, arities: Mapping[str, int]) -> list[tuple[str, Codes]]:
    """Facts by predicate. Instances of something that has no IRI of its own stay pairs of rdf:type; all of them do as well
    where the program has rdf:type as a predicate of two arguments."""
    found: list[tuple[str, Codes]] = []
    for predicate, rows in _groups(triples, 1):
        name = str(universe.value(predicate))
        pairs = rows[:, [0, 2]]
        if name == TYPE:
            others = []
            for kind, members in _groups(pairs, 1):
                value = universe.value(kind)
                if isinstance(value, Iri) and not value.value.startswith("_:"):
                    found.append((value.value, members[:, :1]))
                else:
                    others.append(members)
            pairs = pairs if has_type_pairs(arities) else np.concatenate([*others, pairs[:0]])
        if len(pairs):
            found.append((name, pairs))
    return found


def has_type_pairs(arities: Mapping[str, int]) -> bool:
    """Whether rdf:type is a predicate of two arguments."""
    return arities.get(TYPE) == 2 or name_with_arity(TYPE, 2) in arities


def _groups(rows: Codes, column: int) -> list[tuple[int, Codes]]:
    """The rows by their value in a column, in the order of their first appearance."""
    values, first, counts = np.unique(rows[:, column], return_index=True, return_counts=True)
    ordered = rows[np.argsort(rows[:, column], kind="stable")]
    parts = np.split(ordered, np.cumsum(counts)[:-1]) if len(values) else []
    return [(int(values[place]), parts[place]) for place in np.argsort(first)]
