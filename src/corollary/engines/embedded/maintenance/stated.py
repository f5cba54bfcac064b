"""The explicit facts of derived predicates, as predicates of their own: some rules ask for what was stated, whatever follows.

Such a predicate is its own owner, as auxiliary predicates are: explicit are the facts under the name that a program gave them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corollary.analysis import RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, Numbers
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, Transaction
from corollary.engines.embedded.relation import Codes, Relation
from corollary.program import Atom


def add_stated(store: Store, graph: RuleGraph) -> None:
    """Adds the stated facts that rules read to relations that have the others."""
    for name, atom in stated_predicates(graph).items():
        known = store.relations.get(atom.predicate)
        if known is not None:
            owner = name if store.counted else None
            store.relation(name, atom.arity).append_distinct(_explicit(known), owner)


class StatedFacts:
    """Follows the changes of explicit facts in a transaction; `predicates` are those of stated facts that rules read."""

    def __init__(self, transaction: Transaction, graph: RuleGraph) -> None:
        self._transaction = transaction
        self.predicates: Mapping[str, Atom] = stated_predicates(graph)

    def change(self, predicate: str, maintained: MaintainedRelation, numbers: Numbers, change: int) -> None:
        """Some rows of a predicate become explicit facts (1), or are not any more (-1)."""
        for name, atom in self.predicates.items():
            if atom.predicate == predicate:
                self._change(name, maintained.rows(numbers), change)

    def read(self, wanted: Mapping[str, Atom]) -> None:
        """Rules read others from now on: what was stated so far comes, and what nobody reads goes."""
        for name in self.predicates.keys() - wanted.keys():
            self._transaction.relation(name, self.predicates[name].arity).withdraw(name)
        for name in wanted.keys() - self.predicates.keys():
            atom = wanted[name]
            self._change(name, _explicit(self._transaction.supported(atom.predicate, atom.arity).relation), 1)
        self.predicates = wanted

    def _change(self, name: str, facts: Codes, change: int) -> None:
        stated = self._transaction.relation(name, facts.shape[1])
        stated.change_support(name, stated.place(facts), change)


def _explicit(relation: Relation) -> Codes:
    """The explicit facts of a relation; without owners, all are."""
    if not relation.owners:
        return relation.facts
    return relation.rows[np.flatnonzero(relation.support_of(EXPLICIT)[: relation.size])]
