"""Trees of rules as numbers for compiled loops: one set of loops serves all rules.

A *post* is the position of an atom; a fact is at every post of its predicate whose filters it passes. A *side* is one
direction of a link: the facts of its post are listed, by key, where the facts at the other end look for them. A *data
index* belongs to a predicate and some of its columns and is shared by all sides, of all rules, that meet there. With
the reduced set of section 5.1 both ends of a link meet at one data index; otherwise each end has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.engines.embedded.yield_index.layout import (
    BY_ORDER,
    BY_VALUE,
    ENTRY_CELLS,
    F_SIZE,
    G_SIZE,
    HASHED,
    HEADER,
    KINDS,
    NONE,
    OPERATORS,
    P_SIZE,
    S_SIZE,
    SCALARS,
    SIDE_CELLS,
)
from corollary.engines.embedded.yield_index.shape import NEGATED, ORDERED, Cell, JoinLink, RuleShape, Test
from corollary.program import Constant

IndexKey = tuple[Any, ...]  # predicate, columns, mode, and its only user, if any


@dataclass
class IndexLookup:
    """A key of a predicate's facts in a data index."""

    number: int
    index: int
    columns: tuple[int, ...]
    at: int = 0


@dataclass
class Side:
    """One direction of a link; `bit` and `cells` are its positions in masks and blocks, `local` that in entries."""

    post: Post
    link: JoinLink
    is_first: bool
    listed: IndexLookup
    watched: IndexLookup
    local: int
    number: int
    partner: Side | None = None
    bit: int = 0
    cells: int = 0
    at: int = 0

    @property
    def operator(self) -> str:
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        return self.link.operator if self.is_first else turned.get(self.link.operator, self.link.operator)


@dataclass
class Post:
    rule: int
    place: int
    predicate: int
    is_negated: bool
    sides: list[Side] = field(default_factory=list)
    mask: int = 0
    at: int = 0


class Plan:
    """The rules of an index; `array` is what loops read. `sizes` are the current numbers of facts of predicates."""

    def __init__(
        self,
        shapes: Sequence[RuleShape],
        code: Callable[[Constant], int],
        sizes: Mapping[str, int],
        *,
        reduced: bool = True,
    ) -> None:
        self.shapes = shapes
        self._code = code
        self._sizes = sizes
        self._reduced = reduced
        atoms = [atom for shape in shapes for atom in shape.atoms]
        self.predicates = {name: number for number, name in enumerate(dict.fromkeys(a.predicate for a in atoms))}
        self.arities = [next(a.arity for a in atoms if a.predicate == name) for name in self.predicates]
        self.indexes: dict[IndexKey, int] = {}
        """Data indexes, by predicate, columns and mode."""
        self.sides_of: list[list[Side]] = []
        """The sides that are listed in each data index."""
        self.lookups: list[dict[tuple[int, tuple[int, ...]], IndexLookup]] = [{} for _ in self.predicates]
        self.posts = [
            Post(rule, place, self.predicates[atom.predicate], place >= shape.positive)
            for rule, shape in enumerate(shapes)
            for place, atom in enumerate(shape.atoms)
        ]
        self._post_at = {(post.rule, post.place): post for post in self.posts}
        self.sides: list[Side] = []
        for rule, shape in enumerate(shapes):
            for link in shape.links:
                self._add_link(rule, link)
        self.posts.sort(key=lambda post: post.predicate)
        self.widths = self._place_in_blocks()
        self.modes = [key[2] for key in self.indexes]
        self.entry_sizes = [
            (0 if mode == HASHED else HEADER) + ENTRY_CELLS * len(sides)
            for mode, sides in zip(self.modes, self.sides_of, strict=True)
        ]
        self.longest = max(len(shape.atoms) for shape in shapes)
        self.scalars = SCALARS + len(self.predicates) + len(self.indexes) + 2 * KINDS * len(self.sides)
        self._records: list[int] = []
        self._write()
        self.array = np.array(self._records, np.int64)

    def post(self, rule: int, place: int) -> Post:
        return self._post_at[rule, place]

    def predicate_at(self, predicate: int) -> int:
        """Return the offset of a predicate's record."""
        return predicate * F_SIZE

    # -- links -------------------------------------------------------------------------------------------------------

    def _add_link(self, rule: int, link: JoinLink) -> None:
        ends = [(link.one, link.columns), (link.other, link.other_columns)]
        indexes = self._meeting(rule, link, ends)
        made = []
        for which, (place, columns) in enumerate(ends):
            post = self._post_at[rule, place]
            listed, watched = indexes[1 - which], indexes[which]
            header = HEADER if _mode(link) != HASHED else 0
            local = header + ENTRY_CELLS * len(self.sides_of[listed])
            lists, watches = (self._lookup(post.predicate, index, columns) for index in (listed, watched))
            side = Side(post, link, which == 0, lists, watches, local, len(self.sides))
            self.sides.append(side)
            self.sides_of[listed].append(side)
            post.sides.append(side)
            made.append(side)
        made[0].partner, made[1].partner = made[1], made[0]

    def _meeting(self, rule: int, link: JoinLink, ends: list[tuple[int, tuple[int, ...]]]) -> tuple[int, int]:
        """Return the data indexes at both ends: facts are listed in the one at the other end, and search in their own."""
        mode = _mode(link)
        keys = [(self.shapes[rule].atoms[place].predicate, columns, mode) for place, columns in ends]
        if mode != HASHED:  # an order belongs to its link
            return (self._index((*keys[0], rule, link)),) * 2
        if not self._reduced:
            return self._index((*keys[0], rule, link, 0)), self._index((*keys[1], rule, link, 1))
        known = [key for key in keys if key in self.indexes]
        chosen = known[0] if known else max(keys, key=lambda key: self._sizes.get(key[0], 0))
        return (self._index(chosen),) * 2

    def _index(self, key: IndexKey) -> int:
        if key not in self.indexes:
            self.indexes[key] = len(self.indexes)
            self.sides_of.append([])
        return self.indexes[key]

    def _lookup(self, predicate: int, index: int, columns: tuple[int, ...]) -> IndexLookup:
        known = self.lookups[predicate]
        return known.setdefault((index, columns), IndexLookup(len(known), index, columns))

    def _place_in_blocks(self) -> list[int]:
        """Give each post its mask and each side its cells in the blocks of facts; return the lengths of these blocks."""
        widths = list(self.arities)
        for post in self.posts:
            post.mask = widths[post.predicate]
            for number, side in enumerate(post.sides):
                side.bit = 1 << number
                side.cells = post.mask + 1 + SIDE_CELLS * number
            widths[post.predicate] = post.mask + 1 + SIDE_CELLS * len(post.sides)
        return widths

    # -- records -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        """Write records of fixed length first, so that they can refer to each other; ranges that they refer to follow."""
        at = F_SIZE * len(self.predicates)
        for post in self.posts:
            post.at, at = at, at + P_SIZE
        for post in self.posts:
            for side in post.sides:
                side.at, at = at, at + S_SIZE
        for known in self.lookups:
            for lookup in known.values():
                lookup.at, at = at, at + G_SIZE
        self._records = [0] * at
        for predicate in range(len(self.predicates)):
            self._write_predicate(predicate)
        for known in self.lookups:
            for lookup in known.values():
                self._write_lookup(lookup)
        heads = [self._write_head(number) for number in range(len(self.shapes))]
        for post in self.posts:
            self._write_post(post, heads[post.rule])
            for side in post.sides:
                self._write_side(side)

    def _put(self, at: int, *fields: int) -> None:
        self._records[at : at + len(fields)] = fields

    def _append(self, fields: Sequence[int]) -> tuple[int, int]:
        start = len(self._records)
        self._records += fields
        return start, len(self._records)

    def _write_predicate(self, predicate: int) -> None:
        posts = [post for post in self.posts if post.predicate == predicate]
        lookups = list(self.lookups[predicate].values())
        first_post = posts[0].at
        first_lookup = lookups[0].at if lookups else 0
        self._put(
            self.predicate_at(predicate),
            self.arities[predicate],
            self.widths[predicate],
            first_post,
            first_post + P_SIZE * len(posts),
            first_lookup,
            first_lookup + G_SIZE * len(lookups),
            SCALARS + predicate,
        )

    def _write_lookup(self, lookup: IndexLookup) -> None:
        root = SCALARS + len(self.predicates) + lookup.index
        key = self._append(lookup.columns)
        size = self.entry_sizes[lookup.index]
        self._put(lookup.at, lookup.number, lookup.index, *key, self.modes[lookup.index], root, size)

    def _write_side(self, side: Side) -> None:
        assert side.partner is not None
        extremes = SCALARS + len(self.predicates) + len(self.indexes) + 2 * KINDS * side.number
        self._put(
            side.at,
            side.post.at,
            side.partner.at,
            side.bit,
            side.cells,
            side.listed.at,
            side.watched.at,
            side.local,
            _mode(side.link),
            OPERATORS[side.operator],
            extremes,
            int(side.partner.post.is_negated),
        )

    def _write_post(self, post: Post, head: int) -> None:
        shape = self.shapes[post.rule]
        filters = self._tests(shape.filters[post.place])
        steps = self._append([]) if post.is_negated else self._steps(post, shape)
        first = post.sides[0].at if post.sides else 0
        full = (1 << len(post.sides)) - 1
        self._put(
            post.at,
            post.mask,
            first,
            first + S_SIZE * len(post.sides),
            full,
            *filters,
            int(post.is_negated),
            post.place,
            *steps,
            head,
            int(bool(shape.filters[post.place]) or any(_mode(side.link) != HASHED for side in post.sides)),
        )

    def _steps(self, start: Post, shape: RuleShape) -> tuple[int, int]:
        """Return the range of the steps by which an activation visits the other posts, along the links."""
        found: list[int] = []
        reached = {start.place}
        waiting = list(shape.tests)
        frontier = [start]
        while frontier:
            post = frontier.pop(0)
            for side in post.sides:
                assert side.partner is not None
                other = side.partner.post
                if other.place in reached or other.is_negated:
                    continue
                reached.add(other.place)
                frontier.append(other)
                ready = [test for test in waiting if test.places <= reached]
                waiting = [test for test in waiting if test not in ready]
                found += [side.at, post.place, other.place, *self._tests(ready)]
        return self._append(found)

    def _tests(self, tests: Sequence[Test]) -> tuple[int, int]:
        fields: list[int] = []
        for test in tests:
            fields += [OPERATORS[test.operator], int(test.negated), *self._cell(test.left), *self._cell(test.right)]
        return self._append(fields)

    def _write_head(self, number: int) -> int:
        cells = self.shapes[number].head_cells
        return self._append([number, len(cells), *(part for cell in cells for part in self._cell(cell))])[0]

    def _cell(self, cell: Cell | Constant) -> tuple[int, int]:
        if isinstance(cell, Cell):
            return cell.place, cell.column
        return NONE, self._code(cell)


def _mode(link: JoinLink) -> int:
    if link.kind == ORDERED:
        return BY_VALUE if link.operator == "=" else BY_ORDER
    return HASHED


def type_of(link: JoinLink) -> str:
    """Return the type of a link in the terms of paper 003."""
    return "InequalityS" if link.kind == ORDERED else "TS" if link.kind == NEGATED else "IS"
