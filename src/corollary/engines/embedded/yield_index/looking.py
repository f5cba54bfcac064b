"""Looking into the index of one rule: its entries with values instead of codes and offsets.

The index is built for looking, over the visible facts, so nothing that a knowledge base works with is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from corollary.analysis.constraints import constraint_elements, minimal_elements
from corollary.analysis.yield_entries import IndexedAtom, IndexWork, YieldEntries, YieldEntry, YieldLink
from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.values.ordering import Ordering
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.embedded.yield_index.index import Accesses, Codes, Order, YieldIndex
from corollary.engines.embedded.yield_index.layout import (
    ABSENT,
    BY_ORDER,
    CODE,
    LISTED,
    NEXT,
    NONE,
    PREVIOUS,
    WATCHED,
)
from corollary.engines.embedded.yield_index.plan import Post, Side, type_of
from corollary.engines.embedded.yield_index.shape import IDENTICAL, JoinLink
from corollary.language import Printer
from corollary.planning import NormalRule
from corollary.program import Atom, Constant, Rule

_Blocks: TypeAlias = list[int]
_MODES = ("hash", "order", "value")


def entries_to_look_at(
    rule: Rule,
    normal: NormalRule,
    universe: Universe,
    facts: Callable[[str], Codes | None],
    prefixes: Mapping[str, str],
    *,
    is_used: bool = False,
    work: Work | None = None,
) -> YieldEntries:
    """Return the Yield index of a rule that fits, over these facts; `normal` is its normal form, at an address if it has
    one."""
    ordering = Ordering(universe)

    def code(constant: Constant) -> int:
        return universe.encode(constant.value)

    def order() -> Order:
        return ordering.arrays(texts=True)

    atoms = [atom for atom in (*normal.body.sources, *normal.body.negated) if isinstance(atom, Atom)]
    known = {name: facts(name) for name in dict.fromkeys(atom.predicate for atom in atoms)}
    sizes = {name: len(rows) for name, rows in known.items() if rows is not None}
    index = YieldIndex([normal], code, order, sizes, work=work)
    for name, rows in known.items():
        if rows is not None:
            index.load(name, rows)
    built = index.accesses
    heads = index.activate(normal.name)
    elements = constraint_elements(rule)
    look = _ReadIndex(index, universe, Printer(dict(prefixes)), order()[0])
    return YieldEntries(
        rule.name,
        look.printer.rule([rule.head], rule.body, width=None),
        elements,
        minimal_elements(elements),
        tuple(look.atom(place) for place in range(len(index.shapes[0].atoms))),
        tuple(look.link(side) for side in index.plan.sides if side.is_first),
        _work(built),
        _work(index.accesses - built),
        tuple(sorted(look.fact(normal.head.predicate, row) for row in heads.tolist())),
        is_used,
    )


def _work(accesses: Accesses) -> IndexWork:
    return IndexWork(accesses.index, accesses.tuples, accesses.wasted)


class _ReadIndex:
    """One index with the names and values that a reader knows."""

    def __init__(self, index: YieldIndex, universe: Universe, printer: Printer, kinds: np.ndarray[Any, Any]) -> None:
        self._index = index
        self._memory = index.state.memory
        self._universe = universe
        self.printer = printer
        self._kinds = kinds
        self._shape = index.shapes[0]
        self._names = [self._name(place) for place in range(len(self._shape.atoms))]

    def _name(self, place: int) -> str:
        """Return the name of an atom as constraint elements have it: numbered if there are several of its predicate."""
        shape = self._shape
        is_negated = place >= shape.positive
        peers = range(shape.positive, len(shape.atoms)) if is_negated else range(shape.positive)
        same = [at for at in peers if shape.atoms[at].predicate == shape.atoms[place].predicate]
        number = f"[{same.index(place) + 1}]" if len(same) > 1 else ""
        return f"{'not ' if is_negated else ''}{self.printer.predicate(shape.atoms[place].predicate)}{number}"

    def fact(self, predicate: str, row: list[int]) -> str:
        values = ", ".join(self.printer.value(self._universe.value(code)) for code in row)
        return f"{self.printer.predicate(predicate)}({values})"

    # -- facts at posts ----------------------------------------------------------------------------------------------

    def _blocks(self, post: Post) -> Iterator[tuple[int, int]]:
        """Yield the block and the mask of each fact of a post's predicate, in the order in which the facts came."""
        for block in self._index.blocks(self._shape.atoms[post.place].predicate).tolist():
            yield block, int(self._memory[block + post.mask])

    def _row(self, post: Post, block: int) -> list[int]:
        row: list[int] = self._memory[block : block + self._shape.atoms[post.place].arity].tolist()
        return row

    def _facts(self, post: Post, blocks: _Blocks) -> tuple[str, ...]:
        predicate = self._shape.atoms[post.place].predicate
        return tuple(self.fact(predicate, self._row(post, block)) for block in blocks)

    def atom(self, place: int) -> IndexedAtom:
        post = self._index.plan.post(0, place)
        full = (1 << len(post.sides)) - 1
        matches: _Blocks = []
        dummies: _Blocks = []
        filtered: _Blocks = []
        forbidding = self._forbidding(post) if post.is_negated else set()
        for block, mask in self._blocks(post):
            is_match = block in forbidding if post.is_negated else mask == full
            (filtered if mask == ABSENT else matches if is_match else dummies).append(block)
        return IndexedAtom(self._names[place], *(self._facts(post, one) for one in (matches, dummies, filtered)))

    def _forbidding(self, post: Post) -> set[int]:
        """Return the blocks of the negated facts that forbid a match."""
        (side,) = post.sides
        assert side.partner is not None
        there = self._listed(side.partner)
        live = {entry for entry, found in there.items() if any(self._is_live(side.partner, mask) for _, mask in found)}
        return {
            block
            for found in self._listed(side).values()
            for block, _ in found
            if int(self._memory[block + side.cells + WATCHED]) in live
        }

    # -- entries -----------------------------------------------------------------------------------------------------

    def link(self, side: Side) -> YieldLink:
        assert side.partner is not None
        one, other = self._names[side.post.place], self._names[side.partner.post.place]
        entries = (*self._entries(side), *self._entries(side.partner))
        condition = _condition(side.link, one, other)
        return YieldLink(condition, type_of(side.link), one, other, self._data_index(side), entries)

    def _data_index(self, side: Side) -> str:
        """Return the predicate and the columns of the data index where both ends of a link meet."""
        predicate, columns, mode = list(self._index.plan.indexes)[side.listed.index][:3]
        name = self.printer.predicate(predicate)
        return f"{', '.join(f'{name}.{column + 1}' for column in columns) or name}, by {_MODES[mode]}"

    def _entries(self, side: Side) -> Iterator[YieldEntry]:
        """Yield an entry for each key of the facts at one end of a link, which points to the facts at the other end."""
        partner = side.partner
        assert partner is not None
        columns = side.link.columns if side.is_first else side.link.other_columns
        there = self._listed(partner)
        for listed, found in self._listed(side).items():
            blocks = [block for block, _ in found]
            first, mask = found[0]
            reached = [one for entry in self._watched(side, first, listed) for one in there.get(entry, ())]
            live = [block for block, its in reached if self._is_live(partner, its)]
            waiting = [block for block, its in reached if not self._is_live(partner, its)]
            if partner.post.is_negated:
                live, waiting = [], live
            row = self._row(side.post, first)
            yield YieldEntry(
                bool(live) if side.post.is_negated else bool(mask & side.bit),
                type_of(side.link),
                tuple(self.printer.value(self._universe.value(row[column])) for column in columns),
                self._names[side.post.place],
                self._names[partner.post.place],
                self._facts(side.post, blocks),
                self._facts(partner.post, live),
                self._facts(partner.post, waiting),
            )

    def _listed(self, side: Side) -> dict[int, list[tuple[int, int]]]:
        """Return the facts of a side, each with its mask, by the entry in which they are listed."""
        found: dict[int, list[tuple[int, int]]] = {}
        for block, mask in self._blocks(side.post):
            if mask != ABSENT:
                found.setdefault(int(self._memory[block + side.cells + LISTED]), []).append((block, mask))
        return found

    @staticmethod
    def _is_live(side: Side, mask: int) -> bool:
        """Return whether a fact has all partners apart from those of this side; a negated fact needs none."""
        full = (1 << len(side.post.sides)) - 1
        return side.post.is_negated or mask | side.bit == full

    def _watched(self, side: Side, block: int, listed: int) -> Iterator[int]:
        """Yield the entries where the partners of a fact are: one, or a range of an order."""
        if self._index.plan.modes[side.listed.index] != BY_ORDER:
            yield int(self._memory[block + side.cells + WATCHED])
            return
        if side.operator in ("<=", ">="):
            yield listed
        direction = NEXT if side.operator in ("<", "<=") else PREVIOUS
        kind = self._kinds[self._memory[listed + CODE]]
        entry = int(self._memory[listed + direction])
        while entry != NONE and self._kinds[self._memory[entry + CODE]] == kind:
            yield entry
            entry = int(self._memory[entry + direction])


def _condition(link: JoinLink, one: str, other: str) -> str:
    """Return `father.1 = mother.1`, or `father, mother` for atoms that share nothing."""
    operator = "=" if link.operator == IDENTICAL else link.operator
    pairs = zip(link.columns, link.other_columns, strict=True)
    return ", ".join(f"{one}.{left + 1} {operator} {other}.{right + 1}" for left, right in pairs) or f"{one}, {other}"
