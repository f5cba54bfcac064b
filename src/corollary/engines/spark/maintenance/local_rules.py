"""Rules that choose rows and columns of a few changed facts, in the driver: no job of Spark is short enough for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from corollary.engines.spark.maintenance.distinct_rows import Ids
from corollary.planning.algebra import Algebra, Project, Scan, Select
from corollary.program import Constant

NumberOf: TypeAlias = Callable[[Constant], int]


def reads_one_relation(node: Algebra) -> bool:
    """Whether a rule only chooses rows and columns of one relation."""
    if isinstance(node, (Project, Select)):
        return not (isinstance(node, Project) and node.distinct) and reads_one_relation(node.input)
    return isinstance(node, Scan)


def heads_of(node: Project, facts: Ids, number_of: NumberOf) -> Ids:
    """The heads of such a rule, with repetitions; the first columns of `facts` are those of the relation."""
    columns, count = _rows(node, facts, number_of)
    return np.column_stack([columns[name] for name in node.columns] or [np.zeros(count, np.int64)])


def _rows(node: Algebra, facts: Ids, number_of: NumberOf) -> tuple[dict[str, Ids], int]:
    match node:
        case Scan():
            return {name: facts[:, place] for place, name in enumerate(node.columns)}, len(facts)
        case Select():
            below, count = _rows(node.input, facts, number_of)
            chosen = np.ones(count, np.bool_)
            for name, other in node.equalities:
                chosen &= below[name] == (number_of(other) if isinstance(other, Constant) else below[other])
            return {name: column[chosen] for name, column in below.items()}, int(chosen.sum())
        case Project():
            below, count = _rows(node.input, facts, number_of)
            columns = {
                name: np.full(count, number_of(source)) if isinstance(source, Constant) else below[source]
                for name, source in node.outputs
            }
            return columns, count
        case _:
            raise AssertionError("the rule reads more than one relation")
