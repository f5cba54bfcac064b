"""Looking into an index: its semantic entries as paper 003 writes them, for explanations and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corollary.engines.embedded.yield_index.index import YieldIndex
from corollary.engines.embedded.yield_index.layout import (
    ABSENT,
    COUNT,
    FOLLOWING,
    KEYS,
    LISTED,
    LIVE,
    NONE,
    PRECEDING,
    WAITING,
)
from corollary.engines.embedded.yield_index.plan import Side, type_of

Row = tuple[int, ...]


@dataclass(frozen=True)
class SemanticEntry:
    """`root` is the fact that brings the constraint, `pointer` the predicate whose facts it is about, `key` what they share.

    An entry that fires is a match: the fact has partners everywhere else. Otherwise it is a dummy and waits.
    """

    fire: bool
    type: str
    key: Row
    rule: str
    root: tuple[str, Row]
    pointer: str


def semantic_entries(index: YieldIndex) -> Iterator[SemanticEntry]:
    """All of them, in the order of the rules' links."""
    for side in index.plan.sides:
        assert side.partner is not None
        shape = index.shapes[side.post.rule]
        columns = side.link.columns if side.is_first else side.link.other_columns
        predicate, pointer = (shape.atoms[post.place].predicate for post in (side.post, side.partner.post))
        for fires, block in listed(index, side):
            row = _row(index, predicate, block)
            key = tuple(row[column] for column in columns)
            yield SemanticEntry(fires, type_of(side.link), key, shape.name, (predicate, row), pointer)


def listed(index: YieldIndex, side: Side) -> Iterator[tuple[bool, int]]:
    """The blocks in the lists of a side, and whether each is a match; asserts that lists hang together."""
    memory, predicate = index.state.memory, list(index.predicates)[side.post.predicate]
    entries = {
        int(memory[block + side.cells + LISTED])
        for block in index.blocks(predicate)
        if memory[block + side.post.mask] != ABSENT
    }
    for entry in sorted(entries):
        for which in (LIVE, WAITING):
            before, count = NONE, 0
            block = int(memory[entry + side.local + which])
            while block != NONE:
                assert memory[block + side.cells + PRECEDING] == before
                assert memory[block + side.cells + LISTED] == entry
                yield which == LIVE, block
                before, block, count = block, int(memory[block + side.cells + FOLLOWING]), count + 1
            assert which == WAITING or count == memory[entry + side.local + COUNT]


def _row(index: YieldIndex, predicate: str, block: int) -> Row:
    arity = index.plan.arities[index.predicates[predicate]]
    return tuple(index.state.memory[block : block + arity].tolist())


def row_of(index: YieldIndex, side: Side, block: int) -> Row:
    """The codes of a fact in a list of a side."""
    return _row(index, list(index.predicates)[side.post.predicate], block)


def entry_count(index: YieldIndex) -> tuple[int, int]:
    """How many entries the data indexes have, and how many semantic entries there are."""
    tree_entries = sum(1 for _ in _ordered_entries(index))
    semantic = sum(
        int((index.state.memory[index.blocks(name) + post.mask] != ABSENT).sum()) * len(post.sides)
        for name, number in index.predicates.items()
        for post in index.plan.posts
        if post.predicate == number
    )
    return int(index.state.scalars[KEYS]) + tree_entries, semantic


def _ordered_entries(index: YieldIndex) -> Iterator[int]:
    seen = set()
    for side in index.plan.sides:
        if index.plan.modes[side.listed.index]:
            for _, block in listed(index, side):
                seen.add(int(index.state.memory[block + side.cells + LISTED]))
    return iter(seen)
