"""A rule plan made ready for the join kernel: its levels, tests and registers as flat arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from corollary.engines.embedded import join
from corollary.engines.embedded.index import ChainIndex, RangeIndex
from corollary.engines.embedded.memory import address
from corollary.engines.embedded.relation import Relation
from corollary.engines.embedded.threads import Worker
from corollary.engines.embedded.universe import Universe
from corollary.planning import Absence, Access, AggregateSource, Column, Compare, Use, Version
from corollary.program import Atom, Constant, Variable

_COMPARISONS = {
    "=": join.COMPARE_EQ,
    "!=": join.COMPARE_NE,
    "<": join.COMPARE_LT,
    "<=": join.COMPARE_LE,
    ">": join.COMPARE_GT,
    ">=": join.COMPARE_GE,
}


class Rows(Protocol):
    """What a pipeline asks of the evaluation it is part of."""

    universe: Universe

    def relation(self, source: Atom | AggregateSource) -> Relation: ...

    def row_range(self, source: Atom | AggregateSource, version: Version) -> tuple[int, int]:
        """The numbers of the rows that this version of the source means."""
        ...

    def is_growing(self, source: Atom | AggregateSource) -> bool:
        """Whether the relation gets new rows while the hyper-node is evaluated."""
        ...

    def projection(self, source: Atom, columns: tuple[Column, ...]) -> Relation:
        """The distinct key columns of the rows that fit the other columns."""
        ...

    def visibility(self, source: Atom | AggregateSource) -> tuple[np.ndarray[Any, Any], int] | None:
        """The flags of the rows, and those of them that hide a row; None where every row is visible."""
        ...

    def order(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        """Kind and rank of every constant for comparisons; None where equality is identity and nothing is ordered."""
        ...

    @property
    def compares_columns(self) -> bool:
        """Whether ranks would cost more than comparing whole columns of values."""
        ...


class Pipeline:
    """Levels and tests up to the point where bindings leave the kernel. `impossible` pipelines give nothing."""

    def __init__(self, rows: Rows, registers: dict[str, int], constants: dict[Constant, int]) -> None:
        self._rows = rows
        self._registers = registers
        self._constants = constants
        self._levels: list[tuple[Access | Relation, tuple[Column, ...]]] = []
        self._tests: list[list[Access | Absence | Compare]] = [[]]
        self._fields: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None
        self._level_places: list[_Place] = []
        self._test_places: list[_Place] = []
        self._needed: list[Atom | AggregateSource] = []
        self._forbidden: list[Atom] = []
        self.impossible = False
        self.workers: list[Worker] = []  # kept from round to round

    def refresh(self) -> None:
        """Finds out whether relations that must have rows are empty now, or the other way round."""
        self.impossible = any(self._rows.relation(source).size == 0 for source in self._needed) or any(
            self._rows.relation(source).size > 0 for source in self._forbidden
        )

    @property
    def is_empty(self) -> bool:
        return not self._levels and not self._tests[0]

    def scan(self, buffer: Relation, registers: Sequence[int]) -> None:
        """Starts from the bindings that an earlier pipeline left in a buffer."""
        self._add_level(buffer, tuple(Column(Use.BIND, register) for register in registers))

    def access(self, access: Access) -> None:
        keys, width = access.key_columns, len(access.columns)
        self._needed.append(access.source)
        if (len(keys) == width and width > 0 and self._levels) or (
            access.exists and 0 < len(keys) <= 2 and self._levels
        ):
            self._tests[-1].append(access)
        else:
            self._add_level(access, access.columns)

    def absence(self, absence: Absence) -> None:
        if not absence.key_columns and all(column.use is not Use.CHECK for column in absence.columns):
            self._forbidden.append(absence.source)  # any row at all makes it false
        elif self._rows.relation(absence.source).size or self._rows.is_growing(absence.source):
            self._tests[-1].append(absence)

    def compare(self, compare: Compare) -> None:
        self._tests[-1].append(compare)

    def _add_level(self, source: Access | Relation, columns: tuple[Column, ...]) -> None:
        if self._levels or self._tests[0]:
            if not self._levels:
                self._levels.append((_ONE_ROW, ()))
            self._tests.append([])
        self._levels.append((source, columns))

    # -- arrays ------------------------------------------------------------------------------------------------------

    def encode(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
        """The arrays of levels and tests with current addresses, and the number of levels."""
        if self._fields is None:
            self._fields = self._lay_out()
        for place in self._level_places:
            if isinstance(place.part, Relation):
                self._encode_scan(place.fields, place.part, (0, place.part.size))
            else:
                self._encode_access(place, place.part)
                self._encode_visibility(place.fields, place.part.source, join.L_FLAGS)
        for place in self._test_places:
            if isinstance(place.part, Compare):
                self._encode_order(place.fields)
            elif len(place.part.key_columns) == len(place.part.columns):
                self._encode_member(place.fields, self._rows.relation(place.part.source))
                self._encode_visibility(place.fields, place.part.source, join.T_FLAGS)
            else:
                self._encode_exists(place, place.part)
        return *self._fields, len(self._level_places)

    def _lay_out(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Makes the arrays and writes what stays the same in all rounds: what happens to columns, and which registers."""
        levels = self._levels or [(_ONE_ROW, ())]
        level_fields = np.zeros(len(levels) * join.LEVEL_SIZE, np.int64)
        test_fields = np.zeros(max(1, sum(map(len, self._tests))) * join.TEST_SIZE, np.int64)
        for depth, (source, columns) in enumerate(levels):
            fields = level_fields[depth * join.LEVEL_SIZE : (depth + 1) * join.LEVEL_SIZE]
            fields[join.L_FIRST_TEST] = len(self._test_places)
            for test in self._tests[depth]:
                at = len(self._test_places) * join.TEST_SIZE
                self._test_places.append(_Place(test, test_fields[at : at + join.TEST_SIZE]))
                self._lay_out_test(self._test_places[-1].fields, test)
            fields[join.L_LAST_TEST] = len(self._test_places)
            keys = () if isinstance(source, Relation) or _is_scan(source) else source.key_columns
            fields[join.L_KEY_COUNT] = len(keys)
            for position, key in enumerate(keys):
                fields[join.L_KEY_AT + position] = columns[key].register
            # Keys of three and more columns are hashes, and a scan has no index at all: there the key columns are compared.
            _lay_out_actions(fields, columns, compares_keys=len(keys) not in (1, 2))
            self._level_places.append(_Place(source, fields))
        return level_fields, test_fields

    def _lay_out_test(self, fields: np.ndarray[Any, Any], test: Access | Absence | Compare) -> None:
        if isinstance(test, Compare):
            fields[join.T_OP], fields[join.T_NEGATED] = _COMPARISONS[test.operator], int(test.negated)
            registers = [self._register_of(side) for side in (test.left, test.right)]
        else:
            fields[join.T_NEGATED] = isinstance(test, Absence)
            registers = [test.columns[key].register for key in test.key_columns]
            fields[join.T_KEY_COUNT] = len(registers)
        fields[join.T_KEY_AT : join.T_KEY_AT + len(registers)] = registers

    def _encode_scan(self, fields: np.ndarray[Any, Any], relation: Relation, rows: tuple[int, int]) -> None:
        fields[join.L_OP] = join.SCAN
        fields[join.L_ROWS], fields[join.L_ARITY] = relation.rows_address, relation.arity
        fields[join.L_LOW], fields[join.L_HIGH] = rows

    def _encode_access(self, place: _Place, access: Access) -> None:
        fields, relation = place.fields, self._rows.relation(access.source)
        low, high = self._rows.row_range(access.source, access.version)
        if _is_scan(access):
            if access.exists and not access.key_columns:
                high = min(high, low + 1)
            self._encode_scan(fields, relation, (low, high))
            return
        grows = self._rows.is_growing(access.source)
        index = self._index(relation, access.key_columns, grows)
        if index.fields is not place.encoded:
            place.encoded = index.fields
            fields[join.L_OP], fields[join.L_ARITY] = join.CHAIN if grows else join.RANGE, relation.arity
            fields[join.L_ROWS : join.L_MASK + 1] = index.fields
        if grows:
            fields[join.L_ROWS] = relation.rows_address
        fields[join.L_HIGH] = high

    def _encode_visibility(self, fields: np.ndarray[Any, Any], source: Atom | AggregateSource, at: int) -> None:
        visibility = self._rows.visibility(source)
        # Where no row is hidden any more, the flags of an earlier run must not be looked at.
        fields[at], fields[at + 1] = (address(visibility[0]), visibility[1]) if visibility is not None else (0, 0)

    def _encode_member(self, fields: np.ndarray[Any, Any], relation: Relation) -> None:
        relation.ensure_set()
        fields[join.T_OP] = join.MEMBER
        fields[join.T_TABLE : join.T_BITS + 1] = relation.set_fields

    def _encode_exists(self, place: _Place, test: Access | Absence) -> None:
        keys, fields = test.key_columns, place.fields
        if len(keys) > 2 or any(column.use is Use.CHECK for column in test.columns):
            assert isinstance(test.source, Atom)
            self._encode_member(fields, self._rows.projection(test.source, test.columns))
            return
        grows = self._rows.is_growing(test.source)
        index = self._index(self._rows.relation(test.source), keys, grows)
        if index.fields is not place.encoded:
            place.encoded = index.fields
            fields[join.T_OP], fields[join.T_CHAIN] = join.EXISTS, int(grows)
            fields[join.T_INDEX : join.T_INDEX + len(index.fields)] = index.fields

    def _encode_order(self, fields: np.ndarray[Any, Any]) -> None:
        order = self._rows.order()
        if order is not None:
            fields[join.T_CLASS], fields[join.T_ORDER] = address(order[0]), address(order[1])

    def _index(self, relation: Relation, keys: tuple[int, ...], grows: bool) -> ChainIndex | RangeIndex:
        make = relation.chain_index if grows else relation.range_index
        return make(keys, self._rows.universe.size)

    def _register_of(self, side: object) -> int:
        if isinstance(side, Constant):
            return self._constants[side]
        assert isinstance(side, Variable)
        return self._registers[side.name]


class _Place:
    """Where a level or a test stands in the arrays, and the fields of the index that were last written there."""

    def __init__(self, part: Any, fields: np.ndarray[Any, Any]) -> None:
        self.part = part
        self.fields = fields
        self.encoded: np.ndarray[Any, Any] | None = None


def _is_scan(access: Access) -> bool:
    """New rows are few, and no index knows them alone."""
    return not access.key_columns or access.version is Version.DELTA


def _lay_out_actions(fields: np.ndarray[Any, Any], columns: tuple[Column, ...], *, compares_keys: bool) -> None:
    at = join.L_ACTION_AT
    for position, column in enumerate(columns):
        if column.use is Use.SKIP or (column.use is Use.KEY and not compares_keys):
            continue
        kind = join.BIND if column.use is Use.BIND else join.CHECK
        fields[at : at + 3] = position, kind, column.register
        at += 3
    fields[join.L_ACTIONS] = (at - join.L_ACTION_AT) // 3


_ONE_ROW = Relation(0)
_ONE_ROW.size = 1
