"""By which columns relations are partitioned for rounds, read off the algebra of the rules. No data is seen here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from corollary.planning import Version
from corollary.planning.algebra import Algebra, AntiJoin, Join, Project, Scan, Select, walk


def joined_scans(tree: Algebra) -> Iterator[tuple[Scan, tuple[int, ...]]]:
    """The relations on the right sides of joins, each with the columns that it is joined by."""
    for node in walk(tree):
        if isinstance(node, (Join, AntiJoin)) and node.on:
            found = _scan_below(node.right)
            if found is not None:
                scan, places = found
                yield scan, tuple(places[name] for name in node.on)


def delta_key(tree: Algebra) -> tuple[Scan, tuple[int, ...]] | None:
    """The delta of a rule and the columns by which it meets the next relation."""
    while isinstance(tree, (Project, Select)):
        tree = tree.input
    above: Join | AntiJoin | None = None
    node: Algebra = tree
    while True:
        match node:
            case Join() | AntiJoin():
                above, node = node, node.left
            case Scan():
                break
            case Project() if (found := _scan_below(node)) is not None and above is not None and above.on:
                scan, places = found
                columns = tuple(places[name] for name in above.on if name in places)
                return (scan, columns) if scan.version is Version.DELTA and len(columns) == len(above.on) else None
            case _ if hasattr(node, "input"):
                node = node.input
            case _:
                break
    return None


def partition_keys(trees: Iterable[Algebra], growing: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The key of every growing predicate: what its full relation is looked up by, else what its delta is joined by.

    The full relation is the larger one, so it stays where it is and the delta travels.
    """
    votes: dict[str, Counter[tuple[int, ...]]] = {predicate: Counter() for predicate in growing}
    for tree in trees:
        for scan, columns in joined_scans(tree):
            if scan.predicate in votes and scan.version is not Version.DELTA:
                votes[scan.predicate][columns] += 10
        found = delta_key(tree)
        if found is not None and found[0].predicate in votes:
            votes[found[0].predicate][found[1]] += 1
    keys = {}
    for predicate, arity in growing.items():
        best = sorted(votes[predicate].items(), key=lambda item: (-item[1], item[0]))
        keys[predicate] = best[0][0] if best else tuple(range(max(1, arity)))
    return keys


def _scan_below(node: Algebra) -> tuple[Scan, dict[str, int]] | None:
    """The relation that a projection of a selection reads, and in which of its columns each variable is."""
    if not isinstance(node, Project):
        return None
    below = node.input.input if isinstance(node.input, Select) else node.input
    if not isinstance(below, Scan):
        return None
    places = {name: int(place[1:]) for name, place in node.outputs if isinstance(place, str)}
    return below, places
