"""A rule plan prepared for the join kernel: its levels, tests and registers as flat arrays of numbers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from corollary.engines.embedded.kernels import join
from corollary.engines.embedded.relations.index import ChainIndex, RangeIndex
from corollary.engines.embedded.relations.memory import address
from corollary.engines.embedded.relations.ordered_index import OrderedIndex, OrderedRows, ordered_index
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.expressions import compute_column
from corollary.engines.embedded.values.ordering import ValueIndex, ValueKeys, value_index
from corollary.engines.embedded.values.universe import Universe
from corollary.planning import Absence, Access, AggregateSource, Column, Compare, Compute, Range, Use, ValueOf, Version
from corollary.planning.normal_form import source_columns
from corollary.program import Atom, Constant, Term, Variable, variables_of

if TYPE_CHECKING:
    from corollary.engines.embedded.kernels.runner import Worker

_COMPARISONS = {
    "=": join.COMPARE_EQ,
    "!=": join.COMPARE_NE,
    "<": join.COMPARE_LT,
    "<=": join.COMPARE_LE,
    ">": join.COMPARE_GT,
    ">=": join.COMPARE_GE,
}


@dataclass(frozen=True)
class WordTest:
    """A computation or comparison of integers inside the kernel, as rounds use it: an operation and its program."""

    operation: int
    cells: tuple[int, ...]
    depth: int  # the depth of the stack that the program needs
    negated: bool = False


_Test: TypeAlias = Access | Absence | Compare | ValueOf | WordTest


class Rows(Protocol):
    """The part of an evaluation that a pipeline uses."""

    universe: Universe

    def relation(self, source: Atom | AggregateSource) -> Relation: ...

    def row_range(self, source: Atom | AggregateSource, version: Version) -> tuple[int, int]:
        """Return the row numbers that belong to this version of the source."""
        ...

    def is_growing(self, source: Atom | AggregateSource) -> bool:
        """Return whether the relation gets new rows while the hyper-node is evaluated."""
        ...

    def projection(self, source: Atom, columns: tuple[Column, ...]) -> Relation:
        """Return the distinct key columns of the rows that match the other columns."""
        ...

    def visibility(self, source: Atom | AggregateSource) -> tuple[np.ndarray[Any, Any], int] | None:
        """Return the flags of the rows, and those flags that hide a row; None if every row is visible."""
        ...

    def order(self, *, texts: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        """Return kind and rank of every constant for comparisons; with `texts`, texts have ranks, too.

        None if equality is identity and nothing is ordered.
        """
        ...

    @property
    def value_keys(self) -> ValueKeys:
        """The value keys of all constants."""
        ...

    def compares_columns(self, *, texts: bool) -> bool:
        """Return whether computing ranks would cost more than comparing whole columns of values."""
        ...


class Pipeline:
    """Levels and tests up to the point where bindings leave the kernel. `impossible` pipelines return nothing."""

    def __init__(self, rows: Rows, registers: dict[str, int], constants: dict[Constant, int]) -> None:
        self._rows = rows
        self._registers = registers
        self._constants = constants
        self._levels: list[tuple[Access | Relation, tuple[Column, ...]]] = []
        self._tests: list[list[_Test]] = [[]]
        self._orders = False  # a test compares by order
        self._fields: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None
        self._level_places: list[_Place] = []
        self._test_places: list[_Place] = []
        self._needed: list[Atom | AggregateSource] = []
        self._forbidden: list[Atom] = []
        self._universe_fields: np.ndarray[Any, Any] | None = None
        self.codes = 0  # every code below may be a key, even beyond the current universe
        self.impossible = False
        self.workers: list[Worker] = []  # kept between rounds

    def refresh(self) -> None:
        """Check again whether relations that must have rows are empty, or the reverse."""
        self.impossible = any(self._rows.relation(source).size == 0 for source in self._needed) or any(
            self._rows.relation(source).size > 0 for source in self._forbidden
        )

    def is_impossible_for_good(self, growing: Container[str]) -> bool:
        """Return whether a relation that does not grow is empty and must not be, or the reverse."""
        needed = [source for source in self._needed if not (isinstance(source, Atom) and source.predicate in growing)]
        return any(self._rows.relation(source).size == 0 for source in needed) or any(
            self._rows.relation(source).size > 0 for source in self._forbidden
        )

    @property
    def is_empty(self) -> bool:
        return not self._levels and not self._tests[0]

    def scan(self, buffer: Relation, registers: Sequence[int]) -> None:
        """Start with the bindings that an earlier pipeline left in a buffer."""
        self._add_level(buffer, tuple(Column(Use.BIND, register) for register in registers))

    def access(self, access: Access) -> None:
        keys, width = access.key_columns, len(access.columns)
        self._needed.append(access.source)
        if access.range is not None:
            self._add_level(access, access.columns)
        elif access.value is not None:
            if access.exists and len(keys) < 2:
                self._tests[-1].append(access)
            else:
                self._add_level(access, access.columns)
        elif (len(keys) == width and width > 0 and self._levels) or (
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
        self._orders |= compare.orders

    def value(self, value: ValueOf) -> None:
        """Bind a register to the value key of a variable."""
        self._tests[-1].append(value)

    def words(self, test: WordTest, universe: np.ndarray[Any, Any]) -> None:
        """Add an operation on integers inside the kernel; `universe` are the fields of its universe."""
        self._universe_fields = universe
        self._tests[-1].append(test)

    def _add_level(self, source: Access | Relation, columns: tuple[Column, ...]) -> None:
        if self._levels or self._tests[0]:
            if not self._levels:
                self._levels.append((_ONE_ROW, ()))
            self._tests.append([])
        self._levels.append((source, columns))

    # -- arrays ------------------------------------------------------------------------------------------------------

    def encode(self, *, begins: bool = True) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
        """Return the arrays of levels and tests with current addresses, and the number of levels; `begins` tells
        whether a run starts or continues."""
        if self._fields is None:
            self._fields = self._lay_out()
        for depth, place in enumerate(self._level_places):
            if isinstance(place.part, Relation):
                self._encode_scan(place.fields, place.part, (0, place.part.size))
            else:
                if place.part.range is None:
                    self._encode_access(place, place.part)
                else:
                    self._encode_range(place, place.part, depth, begins=begins)
                self._encode_visibility(place.fields, place.part.source, join.L_FLAGS)
        self._encode_order()
        for place in self._test_places:
            if isinstance(place.part, Compare):
                continue
            if isinstance(place.part, WordTest):
                assert self._universe_fields is not None
                place.fields[join.T_TABLE] = address(self._universe_fields)
            elif isinstance(place.part, ValueOf):
                place.fields[join.T_CLASS] = address(self._rows.value_keys.by_code())
            elif len(place.part.key_columns) == len(place.part.columns):
                self._encode_member(place.fields, self._rows.relation(place.part.source))
                self._encode_visibility(place.fields, place.part.source, join.T_FLAGS)
            else:
                self._encode_exists(place, place.part)
        return *self._fields, len(self._level_places)

    @property
    def level_count(self) -> int:
        return max(1, len(self._levels))

    def _lay_out(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Make the arrays and write the parts that stay the same in all rounds: actions on columns, and registers."""
        levels = self._levels or [(_ONE_ROW, ())]
        tests = [test for some in self._tests[: len(levels)] for test in some]
        keys_of_levels = [_index_registers(source) for source, _ in levels]
        # Keys of three and more columns are hashes, and a scan has no index: in both cases the key columns are compared.
        actions = [
            _actions(columns, compares_keys=_compares_keys(source, keys))
            for (source, columns), keys in zip(levels, keys_of_levels, strict=True)
        ]
        action_cells = [join.ACTION_SIZE * max(join.LEAST_ACTIONS, len(some)) for some in actions]
        level_fields = np.zeros(
            len(levels) * join.LEVEL_SIZE + sum(action_cells) + sum(map(len, keys_of_levels)), np.int64
        )
        registers = [self._registers_of(test) for test in tests]
        # One test too many, because the kernel reads the first test of a level before it knows whether there is one.
        key_cells = [
            max(join.LEAST_KEYS, len(some)) + (test.depth if isinstance(test, WordTest) else 0)
            for test, some in zip(tests, registers, strict=True)
        ]
        test_fields = np.zeros((len(tests) + 1) * join.TEST_SIZE + sum(key_cells), np.int64)
        at, first = len(levels) * join.LEVEL_SIZE, 0
        for depth, (source, _) in enumerate(levels):
            fields = level_fields[depth * join.LEVEL_SIZE : (depth + 1) * join.LEVEL_SIZE]
            keys, some = keys_of_levels[depth], actions[depth]
            fields[join.L_FIRST_TEST], fields[join.L_LAST_TEST] = first, first + len(self._tests[depth])
            fields[join.L_ACTION_AT], fields[join.L_ACTIONS] = at, len(some)
            for number, action in enumerate(some):
                place = at + number * join.ACTION_SIZE
                level_fields[place : place + join.ACTION_SIZE] = action
            at += action_cells[depth]
            fields[join.L_KEY_AT], fields[join.L_KEY_COUNT] = at, len(keys)
            level_fields[at : at + len(keys)] = keys
            if isinstance(source, Access) and source.range is not None:
                _lay_out_range(fields, source, source.range)
            at += len(keys)
            first += len(self._tests[depth])
            self._level_places.append(_Place(source, fields))
        at = (len(tests) + 1) * join.TEST_SIZE
        for number, test in enumerate(tests):
            fields = test_fields[number * join.TEST_SIZE : (number + 1) * join.TEST_SIZE]
            if isinstance(test, Compare):
                fields[join.T_OP], fields[join.T_NEGATED] = _COMPARISONS[test.operator], int(test.negated)
            elif isinstance(test, ValueOf):
                fields[join.T_OP] = join.VALUE
            elif isinstance(test, WordTest):
                fields[join.T_OP], fields[join.T_NEGATED] = test.operation, int(test.negated)
            else:
                fields[join.T_NEGATED] = isinstance(test, Absence)
            fields[join.T_KEY_AT], fields[join.T_KEY_COUNT] = at, len(registers[number])
            test_fields[at : at + len(registers[number])] = registers[number]
            if isinstance(test, WordTest) and test.operation != join.SAME:
                test_fields[at] = test_fields[at + 1] = at + len(
                    registers[number]
                )  # the program ends, the stack begins
            at += key_cells[number]
            self._test_places.append(_Place(test, fields))
        return level_fields, test_fields

    def _registers_of(self, test: _Test) -> list[int]:
        if isinstance(test, Compare):
            return [self._register_of(side) for side in (test.left, test.right)]
        if isinstance(test, WordTest):
            return list(test.cells)
        if isinstance(test, ValueOf):
            return [self._register_of(test.term), test.register]
        if isinstance(test, Access) and test.value is not None:
            return _index_registers(test)
        return [test.columns[key].register for key in test.key_columns]

    def _encode_scan(self, fields: np.ndarray[Any, Any], relation: Relation, rows: tuple[int, int]) -> None:
        fields[join.L_OP] = join.SCAN
        fields[join.L_ROWS], fields[join.L_ARITY] = relation.rows_address, relation.arity
        fields[join.L_LOW], fields[join.L_HIGH] = rows

    def _encode_access(self, place: _Place, access: Access) -> None:
        fields, relation = place.fields, self._rows.relation(access.source)
        low, high = self._rows.row_range(access.source, access.version)
        if _is_scan(access):
            if access.exists and not access.key_columns and access.value is None:
                high = min(high, low + 1)
            self._encode_scan(fields, relation, (low, high))
            return
        grows = access.value is not None or self._rows.is_growing(access.source)
        index = self._index_of(access, relation, grows)
        if index.fields is not place.encoded:
            place.encoded = index.fields
            fields[join.L_OP], fields[join.L_ARITY] = join.CHAIN if grows else join.RANGE, relation.arity
            fields[join.L_ROWS : join.L_MASK + 1] = index.fields
        if grows:
            fields[join.L_ROWS] = relation.rows_address
        fields[join.L_HIGH] = high

    def _encode_visibility(self, fields: np.ndarray[Any, Any], source: Atom | AggregateSource, at: int) -> None:
        visibility = self._rows.visibility(source)
        # If no row is hidden any more, the flags of an earlier run must not be read.
        fields[at], fields[at + 1] = (address(visibility[0]), visibility[1]) if visibility is not None else (0, 0)

    def _encode_member(self, fields: np.ndarray[Any, Any], relation: Relation) -> None:
        relation.ensure_set()
        fields[join.T_OP] = join.MEMBER
        fields[join.T_TABLE : join.T_BITS + 1] = relation.set_fields

    def _encode_exists(self, place: _Place, test: Access | Absence) -> None:
        keys, fields = test.key_columns, place.fields
        by_value = isinstance(test, Access) and test.value is not None
        if by_value:
            pass
        elif len(keys) > 2 or any(column.use is Use.CHECK for column in test.columns):
            assert isinstance(test.source, Atom)
            self._encode_member(fields, self._rows.projection(test.source, test.columns))
            return
        grows = by_value or self._rows.is_growing(test.source)
        index = self._index_of(test, self._rows.relation(test.source), grows)
        if index.fields is not place.encoded:
            place.encoded = index.fields
            fields[join.T_OP], fields[join.T_CHAIN] = join.EXISTS, int(grows)
            fields[join.T_INDEX : join.T_INDEX + len(index.fields)] = index.fields

    def _encode_range(self, place: _Place, access: Access, depth: int, *, begins: bool) -> None:
        fields, relation, between = place.fields, self._rows.relation(access.source), access.range
        assert between is not None
        _, high = self._rows.row_range(access.source, access.version)
        if begins or place.ordered is None:
            outer = self._level_places[0].fields
            looks = int(outer[join.L_HIGH]) - int(outer[join.L_LOW]) if outer[join.L_OP] == join.SCAN else _MANY_LOOKS
            place.index = ordered_index(relation, between, _columns_of(access.source, between.term))
            place.ordered = place.index.extend(
                relation,
                self._rows.universe,
                self._values_of(access.source, between.term),
                looks if depth == 1 else looks * _MANY_LOOKS,
                self._order,
            )
        index, ordered = place.index, place.ordered
        assert index is not None
        assert ordered is not None
        if between.prefix is not None:
            fields[join.L_PREFIXES] = relation.rows_address
            fields[join.L_ARITY_OF_PREFIX] = relation.arity
        codes, stride, offset = index.place(relation)
        fields[join.L_OP], fields[join.L_HIGH], fields[join.L_ONCE] = join.ORDERED, high, int(access.exists)
        fields[join.L_ROWS], fields[join.L_ARITY] = relation.rows_address, relation.arity
        fields[join.L_ORDERED], fields[join.L_VALUED] = address(ordered.numbers), ordered.valued
        fields[join.L_TAIL] = ordered.size
        fields[join.L_CODES], fields[join.L_STRIDE], fields[join.L_OFFSET] = (
            address(codes),
            stride,
            offset,
        )

    def _order(self, texts: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        order = self._rows.order(texts=texts)
        assert order is not None
        return order

    def _encode_order(self) -> None:
        # All levels must agree: one without ranks of texts must not keep the address of arrays without them.
        tests = [place.fields for place in self._test_places if isinstance(place.part, Compare)]
        indexes = [place for place in self._level_places if place.index is not None]
        if not tests and not indexes:
            return
        order = self._rows.order(texts=self._orders or any(place.index.has_texts for place in indexes if place.index))
        if order is None:
            return
        kinds, ranks = map(address, order)
        for fields in tests:
            fields[join.T_CLASS], fields[join.T_ORDER] = kinds, ranks
        for place in indexes:
            place.fields[join.L_KINDS], place.fields[join.L_RANKS] = kinds, ranks

    def _index_of(
        self, access: Access | Absence, relation: Relation, grows: bool
    ) -> ChainIndex | RangeIndex | ValueIndex:
        if isinstance(access, Access) and access.value is not None:
            return self._value_index(access, access.value.term, relation)
        make = relation.chain_index if grows else relation.range_index
        return make(access.key_columns, max(self._rows.universe.size, self.codes))

    def _value_index(self, access: Access, term: Term, relation: Relation) -> ValueIndex:
        columns, evaluate = _columns_of(access.source, term), self._values_of(access.source, term)
        return value_index(relation, term, columns, _plain_key(access), self._rows.value_keys, evaluate)

    def _values_of(
        self, source: Atom | AggregateSource, term: Term
    ) -> Callable[[Codes], tuple[Codes, np.ndarray[Any, Any]]]:
        """Return a function that evaluates a term over the columns of rows."""
        columns, universe = _columns_of(source, term), self._rows.universe

        def evaluate(rows: Codes) -> tuple[Codes, np.ndarray[Any, Any]]:
            return compute_column(Compute("", term), {name: rows[:, at] for name, at in columns}, len(rows), universe)

        return evaluate

    def places(self) -> Iterator[tuple[Access, int]]:
        """Yield the levels over relations, each with the offset of its fields."""
        for number, (source, _) in enumerate(self._levels):
            if isinstance(source, Access):
                yield source, number * join.LEVEL_SIZE

    def tested(self) -> Iterator[Access | Absence]:
        """Yield the atoms that are looked up instead of scanned."""
        for some in self._tests:
            yield from (test for test in some if isinstance(test, (Access, Absence)))

    def _register_of(self, side: object) -> int:
        if isinstance(side, Constant):
            return self._constants[side]
        assert isinstance(side, Variable)
        return self._registers[side.name]


class _Place:
    """The offset of a level or a test in the arrays, and the index fields last written there."""

    def __init__(self, part: Any, fields: np.ndarray[Any, Any]) -> None:
        self.part = part
        self.fields = fields
        self.encoded: np.ndarray[Any, Any] | None = None
        self.index: OrderedIndex | None = None
        self.ordered: OrderedRows | None = None


def _columns_of(source: Atom | AggregateSource, term: Term) -> tuple[tuple[str, int], ...]:
    """Return the names of a term's variables, with their columns in a source."""
    names = source_columns(source)
    return tuple((name, names.index(name)) for name in sorted({variable.name for variable in variables_of(term)}))


def _lay_out_range(fields: np.ndarray[Any, Any], access: Access, between: Range) -> None:
    for end, at in ((between.lower, join.L_LOWER), (between.upper, join.L_UPPER)):
        fields[at] = join.NO_END if end is None else join.CLOSED if end.inclusive else join.OPEN
        fields[at + 1] = 0 if end is None else end.register
    if between.prefix is not None:
        fields[join.L_COLUMN] = between.prefix
        fields[join.L_PREFIX_AT] = access.columns[between.prefix].register


def _is_scan(access: Access) -> bool:
    """Return whether an access scans rows: it has no key, or only new rows, which are few and have no index."""
    return (not access.key_columns and access.value is None) or access.version is Version.DELTA


def _compares_keys(source: Access | Relation, index_registers: list[int]) -> bool:
    """Return whether an index does not cover all of the key columns, so that they must be compared."""
    if isinstance(source, Access) and source.range is not None:
        return False
    return len(index_registers) not in (1, 2) or (isinstance(source, Access) and source.value is not None)


def _index_registers(source: Access | Relation) -> list[int]:
    """Return the registers that form the key of a level's index."""
    if isinstance(source, Relation) or source.range is not None or _is_scan(source):
        return []
    if source.value is not None:
        plain = _plain_key(source)
        return [source.value.register] + ([] if plain is None else [source.columns[plain].register])
    return [source.columns[key].register for key in source.key_columns]


def _plain_key(access: Access) -> int | None:
    """Return the column that is part of an index by value: two words make an exact key, further columns are compared."""
    return access.key_columns[0] if access.key_columns else None


def _actions(columns: tuple[Column, ...], *, compares_keys: bool) -> list[tuple[int, int, int]]:
    """Return the column, the kind and the register of everything that a level does with a row."""
    return [
        (position, join.BIND if column.use is Use.BIND else join.CHECK, column.register)
        for position, column in enumerate(columns)
        if column.use is not Use.SKIP and (column.use is not Use.KEY or compares_keys)
    ]


_MANY_LOOKS = 64  # look-ups of an inner level, by estimate; from here on, an index pays
_ONE_ROW = Relation(0)
_ONE_ROW.size = 1
