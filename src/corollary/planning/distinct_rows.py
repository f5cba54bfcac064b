"""Whether the rows of an algebra are distinct by themselves, so that nobody has to look for repetitions."""

from __future__ import annotations

from corollary.planning.algebra import (
    Aggregate,
    Algebra,
    AntiJoin,
    Extend,
    Filter,
    Join,
    Project,
    Scan,
    Select,
    Union,
    Unit,
)
from corollary.program import Constant


def has_distinct_rows(node: Algebra) -> bool:
    """Relations are sets; rows can repeat where columns are dropped that the ones that are kept do not determine."""
    match node:
        case Unit() | Scan() | Aggregate():
            return True
        case Select() | Filter() | Extend():
            return has_distinct_rows(node.input)
        case AntiJoin():
            return has_distinct_rows(node.left)
        case Join():
            return has_distinct_rows(node.left) and (node.semi or has_distinct_rows(node.right))
        case Project():
            if node.distinct:
                return True
            kept = {source for _, source in node.outputs if isinstance(source, str)}
            return has_distinct_rows(node.input) and set(node.input.columns) <= _determined(node.input, kept)
        case Union():
            return False


def _determined(node: Algebra, kept: set[str]) -> set[str]:
    """The columns of a node that are the same wherever the kept ones are: what was computed, and what is equal to something."""
    match node:
        case Filter():
            return _determined(node.input, kept)
        case AntiJoin():
            return _determined(node.left, kept)
        case Select():
            found = _determined(node.input, kept)
            found |= {column for column, other in node.equalities if isinstance(other, Constant) or other in found}
            return found
        case Extend():
            found = _determined(node.input, kept)
            return found | {node.compute.variable} if node.compute.inputs <= found else found
        case _:
            return set(kept)
