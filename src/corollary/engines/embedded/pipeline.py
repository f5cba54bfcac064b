"""A rule plan made ready for the join kernel: its levels, tests and registers as flat arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from corollary.engines.embedded import join
from corollary.engines.embedded.memory import address
from corollary.engines.embedded.relation import Relation
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

    def order(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        """Kind and rank of every constant for comparisons; None where equality is identity and nothing is ordered."""
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
        self._needed: list[Atom | AggregateSource] = []
        self._forbidden: list[Atom] = []
        self.impossible = False

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
        elif self._rows.relation(absence.source).size:
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
        levels = self._levels or [(_ONE_ROW, ())]
        is_new = self._fields is None
        if self._fields is None:
            tests = max(1, sum(map(len, self._tests)))
            self._fields = np.zeros(len(levels) * join.LEVEL_SIZE, np.int64), np.zeros(tests * join.TEST_SIZE, np.int64)
        level_fields, test_fields = self._fields
        number = 0
        for depth, (source, columns) in enumerate(levels):
            fields = level_fields[depth * join.LEVEL_SIZE : (depth + 1) * join.LEVEL_SIZE]
            if isinstance(source, Relation):
                self._encode_scan(fields, source, (0, source.size))
            else:
                self._encode_access(fields, source)
            if is_new:  # what happens to the columns stays the same; where the rows are may change
                self._encode_actions(fields, columns)
            fields[join.L_FIRST_TEST] = number
            for test in self._tests[depth]:
                self._encode_test(test_fields[number * join.TEST_SIZE : (number + 1) * join.TEST_SIZE], test)
                number += 1
            fields[join.L_LAST_TEST] = number
        return level_fields, test_fields, len(levels)

    def _encode_scan(self, fields: np.ndarray[Any, Any], relation: Relation, rows: tuple[int, int]) -> None:
        fields[join.L_OP] = join.SCAN
        fields[join.L_ROWS], fields[join.L_ARITY] = relation.rows_address, relation.arity
        fields[join.L_LOW], fields[join.L_HIGH] = rows

    def _encode_access(self, fields: np.ndarray[Any, Any], access: Access) -> None:
        relation = self._rows.relation(access.source)
        low, high = self._rows.row_range(access.source, access.version)
        keys = access.key_columns
        if not keys or access.version is Version.DELTA:
            if access.exists and not keys:
                high = min(high, low + 1)
            self._encode_scan(fields, relation, (low, high))
            return
        universe = self._rows.universe.size
        fields[join.L_ARITY] = relation.arity
        if self._rows.is_growing(access.source):
            chain = relation.chain_index(keys, universe)
            fields[join.L_OP], fields[join.L_ROWS] = join.CHAIN, relation.rows_address
            fields[join.L_ENTRIES], fields[join.L_NEXT] = address(chain.heads), address(chain.following)
            hashing = chain.keys
        else:
            clustered = relation.range_index(keys, universe)
            fields[join.L_OP], fields[join.L_ROWS] = join.RANGE, address(clustered.rows)
            fields[join.L_ENTRIES] = address(clustered.offsets)
            hashing = clustered.keys
        fields[join.L_HIGH] = high
        fields[join.L_HASHED : join.L_MASK + 1] = hashing.fields()
        fields[join.L_KEY_COUNT] = len(keys)
        for position, key in enumerate(keys):
            fields[join.L_KEY_AT + position] = access.columns[key].register

    def _encode_actions(self, fields: np.ndarray[Any, Any], columns: tuple[Column, ...]) -> None:
        # Keys of three and more columns are hashes, and a scan has no index at all: there the key columns are compared.
        compared = fields[join.L_OP] == join.SCAN or fields[join.L_KEY_COUNT] > 2
        at = join.L_ACTION_AT
        for position, column in enumerate(columns):
            if column.use is Use.SKIP or (column.use is Use.KEY and not compared):
                continue
            kind = join.BIND if column.use is Use.BIND else join.CHECK
            fields[at : at + 3] = position, kind, column.register
            at += 3
        fields[join.L_ACTIONS] = (at - join.L_ACTION_AT) // 3

    def _encode_test(self, fields: np.ndarray[Any, Any], test: Access | Absence | Compare) -> None:
        if isinstance(test, Compare):
            self._encode_compare(fields, test)
            return
        fields[join.T_NEGATED] = isinstance(test, Absence)
        keys, columns = test.key_columns, test.columns
        registers = [columns[key].register for key in keys]
        fields[join.T_KEY_COUNT] = len(registers)
        fields[join.T_KEY_AT : join.T_KEY_AT + len(registers)] = registers
        relation = self._rows.relation(test.source)
        has_check = any(column.use is Use.CHECK for column in columns)
        if len(keys) == len(columns):
            self._encode_member(fields, relation)
        elif len(keys) > 2 or has_check:
            assert isinstance(test.source, Atom)
            self._encode_member(fields, self._rows.projection(test.source, columns))
        else:
            self._encode_exists(fields, relation, keys, growing=self._rows.is_growing(test.source))

    def _encode_member(self, fields: np.ndarray[Any, Any], relation: Relation) -> None:
        relation.ensure_set()
        fields[join.T_OP] = join.MEMBER
        fields[join.T_KEYS], fields[join.T_SHIFT] = relation.table_address, int(relation.table_shift)
        fields[join.T_MASK], fields[join.T_BITS] = int(relation.table_mask), relation.bits
        fields[join.T_ROWS], fields[join.T_ARITY] = relation.rows_address, relation.arity

    def _encode_exists(
        self, fields: np.ndarray[Any, Any], relation: Relation, keys: tuple[int, ...], *, growing: bool
    ) -> None:
        universe = self._rows.universe.size
        fields[join.T_OP], fields[join.T_CHAIN] = join.EXISTS, int(growing)
        if growing:
            chain = relation.chain_index(keys, universe)
            entries, hashing = chain.heads, chain.keys
        else:
            clustered = relation.range_index(keys, universe)
            entries, hashing = clustered.offsets, clustered.keys
        fields[join.T_ENTRIES] = address(entries)
        fields[join.T_HASHED : join.T_MASK + 1] = hashing.fields()

    def _encode_compare(self, fields: np.ndarray[Any, Any], compare: Compare) -> None:
        fields[join.T_OP], fields[join.T_NEGATED] = _COMPARISONS[compare.operator], int(compare.negated)
        for position, side in enumerate((compare.left, compare.right)):
            fields[join.T_KEY_AT + position] = self._register_of(side)
        order = self._rows.order()
        if order is not None:
            fields[join.T_CLASS], fields[join.T_ORDER] = address(order[0]), address(order[1])

    def _register_of(self, side: object) -> int:
        if isinstance(side, Constant):
            return self._constants[side]
        assert isinstance(side, Variable)
        return self._registers[side.name]


_ONE_ROW = Relation(0)
_ONE_ROW.size = 1
