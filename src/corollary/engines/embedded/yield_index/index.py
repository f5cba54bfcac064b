"""The Yield index of some rules: facts come and go, and the instances they complete or break are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.yield_index.activation import activate_facts
from corollary.engines.embedded.yield_index.changing import delete_facts, insert_facts
from corollary.engines.embedded.yield_index.layout import (
    FACTS,
    FOLLOWED,
    HAS_GIVEN_UP,
    LOOKUPS,
    MOST_LOOKS,
    MOVED,
    NONE,
    OUT_HEAD,
    OUT_RULE,
    OUT_SIGN,
    TUPLES,
    WASTED,
)
from corollary.engines.embedded.yield_index.plan import Plan
from corollary.engines.embedded.yield_index.shape import compares, shape_of
from corollary.engines.embedded.yield_index.state import State
from corollary.planning import NormalRule
from corollary.program import Constant

Codes: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Order: TypeAlias = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

NO_ORDER: Order = (np.zeros(1, np.uint8), np.zeros(1, np.float64))
_BATCH = 1 << 16  # facts; interrupts are possible between batches
_MOST_LOOKS = 1 << 22  # entries and facts that one activation may visit before it gives up


class TooManyInstances(Exception):
    """Raised if one fact has more instances than the index can handle; the index cannot be used any more."""


@dataclass(frozen=True)
class Accesses:
    """The cost of work: look-ups of keys, semantic entries followed or changed, facts visited, and those visited in vain."""

    lookups: int
    followed: int
    moved: int
    tuples: int
    wasted: int

    @property
    def index(self) -> int:
        return self.lookups + self.followed + self.moved

    def __sub__(self, other: Accesses) -> Accesses:
        return Accesses(*(getattr(self, name) - getattr(other, name) for name in self.__dataclass_fields__))


class YieldIndex:
    """The index of some rules; `order` returns kinds and ranks of constants, for comparisons. The caller numbers the facts."""

    def __init__(
        self,
        rules: Sequence[NormalRule],
        code: Callable[[Constant], int],
        order: Callable[[], Order] = lambda: NO_ORDER,
        sizes: Mapping[str, int] | None = None,
        *,
        reduced: bool = True,
        work: Work | None = None,
    ) -> None:
        self.rules = list(rules)
        self.shapes = [shape_of(rule) for rule in rules]
        self.plan = Plan(self.shapes, code, sizes or {}, reduced=reduced)
        self.state = State.of(self.plan)
        self.state.scalars[MOST_LOOKS] = _MOST_LOOKS
        self._order = order
        self._work = work or Work()
        self._compares = any(compares(shape) for shape in self.shapes)
        self._counts = dict.fromkeys(self.predicates, 0)
        self._blocks = {name: np.full(16, NONE, np.int64) for name in self.predicates}
        width = OUT_HEAD + max(len(shape.head_cells) for shape in self.shapes)
        self._out = np.empty((1024, width), np.int64)
        self._yielded: dict[str, list[tuple[Codes, Codes]]] = {rule.name: [] for rule in rules}

    @property
    def predicates(self) -> dict[str, int]:
        return self.plan.predicates

    @property
    def size(self) -> int:
        """The number of facts of all predicates."""
        return int(self.state.scalars[FACTS])

    @property
    def accesses(self) -> Accesses:
        return Accesses(*(int(self.state.scalars[name]) for name in (LOOKUPS, FOLLOWED, MOVED, TUPLES, WASTED)))

    @property
    def nbytes(self) -> int:
        return int(sum(array.nbytes for array in self.state.arrays))

    # -- facts -------------------------------------------------------------------------------------------------------

    def load(self, predicate: str, rows: Codes, numbers: Numbers | None = None) -> None:
        """Load existing facts, which activate nothing (construction, Algorithms 2 and 3)."""
        self._insert(predicate, rows, numbers, activates=False)

    def insert(self, predicate: str, rows: Codes, numbers: Numbers | None = None) -> None:
        """Insert new facts and activate them in the same step (Algorithm 4)."""
        self._insert(predicate, rows, numbers, activates=True)

    def _insert(self, predicate: str, rows: Codes, numbers: Numbers | None, *, activates: bool) -> None:
        number = self.predicates[predicate]
        known = self._blocks[predicate]
        if numbers is None:
            start = self._counts[predicate]
            numbers = np.arange(start, start + len(rows))
        if len(numbers) and int(numbers.max()) >= len(known):
            grown = np.full(max(int(numbers.max()) + 1, 2 * len(known)), NONE, np.int64)
            grown[: len(known)] = known
            known = self._blocks[predicate] = grown
        for first in range(0, len(rows), _BATCH):
            batch = np.ascontiguousarray(rows[first : first + _BATCH], np.uint32)
            self.state.reserve(self.plan, number, len(batch))
            blocks = np.empty(len(batch), np.int64)
            at = 0
            while at < len(batch):
                at, out, count = insert_facts(
                    self.plan.array,
                    *self.state.arrays,
                    self.plan.longest,
                    self.plan.predicate_at(number),
                    batch,
                    at,
                    blocks,
                    activates,
                    *self._current_order(),
                    self._out,
                )
                self._collect(out, count)
            known[numbers[first : first + _BATCH]] = blocks
            self._counts[predicate] += len(batch)

    def delete(self, predicate: str, numbers: Numbers, *, activates: bool = True) -> None:
        """Delete facts (Algorithm 5)."""
        known = self._blocks[predicate]
        blocks = known[numbers]
        known[numbers] = NONE
        self._counts[predicate] -= len(blocks)
        memory, _, _, scalars = self.state.arrays
        at = 0
        while at < len(blocks):
            at, out, count = delete_facts(
                self.plan.array,
                memory,
                scalars,
                self.plan.longest,
                self.plan.predicate_at(self.predicates[predicate]),
                blocks,
                at,
                activates,
                *self._current_order(),
                self._out,
            )
            self._collect(out, count)

    def activate(self, rule: str, place: int | None = None) -> Codes:
        """Return the heads of all instances of a rule (Algorithm 7), starting from the facts at one position of its body."""
        number = next(at for at, one in enumerate(self.rules) if one.name == rule)
        shape = self.shapes[number]
        if place is None:
            place = min(range(shape.positive), key=lambda at: len(self.blocks(shape.atoms[at].predicate)))
        blocks = self.blocks(shape.atoms[place].predicate)
        waiting, self._yielded[rule] = self._yielded[rule], []
        memory, _, _, scalars = self.state.arrays
        at = 0
        while at < len(blocks):
            at, out, count = activate_facts(
                self.plan.array,
                memory,
                scalars,
                self.plan.longest,
                self.plan.post(number, place).at,
                blocks,
                at,
                *self._current_order(),
                self._out,
            )
            self._collect(out, count)
        found = self.take(rule)[0]
        self._yielded[rule] = waiting
        return found

    def take(self, rule: str) -> tuple[Codes, Codes]:
        """Return the heads of the instances that a rule has gained and lost since the last call; they may repeat."""
        parts, self._yielded[rule] = self._yielded[rule], []
        shape = next(one for one in self.shapes if one.name == rule)
        empty = np.empty((0, len(shape.head_cells)), np.uint32)
        gained, lost = zip(*parts, strict=True) if parts else ((), ())
        return np.concatenate([empty, *gained]), np.concatenate([empty, *lost])

    def renumber(self, predicate: str) -> None:
        """Renumber the facts consecutively, as the caller has done without the deleted ones."""
        self._blocks[predicate] = self.blocks(predicate)

    def count(self, predicate: str) -> int:
        """Return how many facts of a predicate there are."""
        return self._counts[predicate]

    def knows(self, predicate: str, numbers: Numbers) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return, for each number, whether its fact is in the index."""
        known = self._blocks[predicate]
        found = np.zeros(len(numbers), np.bool_)
        is_inside = numbers < len(known)
        found[is_inside] = known[numbers[is_inside]] != NONE
        return found

    def blocks(self, predicate: str) -> Numbers:
        """Return the positions in memory of the existing facts."""
        blocks = self._blocks[predicate]
        found: Numbers = blocks[blocks != NONE]
        return found

    # -- kernels -----------------------------------------------------------------------------------------------------

    def _current_order(self) -> Order:
        return self._order() if self._compares else NO_ORDER

    def _collect(self, out: np.ndarray[Any, Any], count: int) -> None:
        self._out = out
        self._work.check()
        if self.state.scalars[HAS_GIVEN_UP]:
            raise TooManyInstances
        found = out[:count]
        for number, shape in enumerate(self.shapes) if count else ():
            of_rule = found[found[:, OUT_RULE] == number] if len(self.rules) > 1 else found
            if len(of_rule):
                heads = of_rule[:, OUT_HEAD : OUT_HEAD + len(shape.head_cells)].astype(np.uint32)
                is_gain = of_rule[:, OUT_SIGN] > 0
                self._yielded[shape.name].append((heads[is_gain], heads[~is_gain]))
