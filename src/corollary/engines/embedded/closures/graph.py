"""A graph of codes that changes: its nodes are numbered in order of arrival, its edges are in lists that grow and shrink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.relation import Codes

# -- lists -------------------------------------------------------------------------------------------------------------

# Many lists of numbers in one array, each of which grows and shrinks.
#
# A pair (owner, value) is passed as one key, owner << 32 | value; keys are grouped by owner, so that each list is
# visited once, however many of its values change.

Array: TypeAlias = np.ndarray[Any, Any]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel_part(function: Function) -> Function:
    """Compile a function that only kernels call: without an entry point for Python it compiles faster."""
    options: dict[str, Any] = {"cache": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    return compiled  # type: ignore[no-any-return]


_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Lists(NamedTuple):
    """Lists as kernels see them: list i is pool[start[i] : start[i] + length[i]], with space for room[i] values."""

    start: Array
    length: Array
    room: Array
    pool: Array
    used: Array  # the used part of the pool


class GrowingLists:
    """Lists of numbers; `arrays` is valid until the next call of `grow`, `add` or `append`."""

    def __init__(self, owners: Array, values: Array, capacity: int) -> None:
        start, length = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        pool = np.empty(len(values), np.uint32)
        _fill(owners, values, start, length, pool)
        self.arrays = Lists(start, length, length.copy(), pool, np.array([len(values)]))
        _drop_duplicates(self.arrays)

    def reversed(self) -> GrowingLists:
        """Return lists of the owners of each value, as many as there are lists here."""
        owners, values = self.pairs()
        return GrowingLists(values, owners, len(self.arrays.start))

    def pairs(self) -> tuple[Array, Array]:
        """Return all owners and values."""
        owners = np.repeat(np.arange(len(self.arrays.length)), self.arrays.length)
        return owners, _flatten(self.arrays, len(owners))

    def grow(self, capacity: int) -> None:
        """Add empty lists, up to this number."""
        lists = self.arrays
        self.arrays = lists._replace(
            start=enlarge(lists.start, capacity, 0),
            length=enlarge(lists.length, capacity, 0),
            room=enlarge(lists.room, capacity, 0),
        )

    def remove(self, keys: Array, mark: Array) -> Array:
        """Remove those of the keys that are there, and return them. `mark` is zero for every value, also afterwards."""
        if not len(keys):
            return keys
        gone = np.empty(len(keys), np.uint64)
        return gone[: _remove(self.arrays, keys, mark, gone)]

    def add(self, keys: Array, mark: Array) -> Array:
        """Add those of the keys that are not there yet, and return them."""
        if not len(keys):
            return keys
        self._reserve(keys)
        new = np.empty(len(keys), np.uint64)
        return new[: _add(self.arrays, keys, mark, new)]

    def append(self, keys: Array) -> None:
        """Add keys that are known to be distinct and new."""
        if len(keys):
            self._reserve(keys)
            _append(self.arrays, keys)

    def _reserve(self, keys: Array) -> None:
        missing = _reserve(self.arrays, keys)
        if missing:
            pool = self.arrays.pool
            self.arrays = self.arrays._replace(pool=enlarge(pool, len(pool) + max(missing, len(pool) // 2), 0))
            _reserve(self.arrays, keys)


def enlarge(array: Array, capacity: int, fill: int) -> Array:
    """Return the array with this number of items; the new ones are `fill`."""
    grown = np.full(capacity, fill, array.dtype)
    grown[: len(array)] = array
    return grown


def keys_of(owners: Array, values: Array, count: int) -> Array:
    """Return keys of pairs, grouped by owner; there are `count` owners."""
    return _grouped((owners.astype(np.uint64) << _HALF) | values, count)


def reversed_keys(keys: Array, count: int) -> Array:
    """Return keys of the exchanged pairs, grouped by owner."""
    return _grouped((keys >> _HALF) | (keys << _HALF), count) if len(keys) else keys


def _grouped(keys: Array, count: int) -> Array:
    """Return the keys grouped by owner; many keys are distributed to their owners, which is faster than sorting."""
    return np.sort(keys) if len(keys) * 8 < count else _deal_out(keys, count)


def pairs_of(keys: Array) -> tuple[Array, Array]:
    return (keys >> _HALF).astype(np.int64), (keys & _LOW).astype(np.int64)


def without(keys: Array, others: Array) -> Array:
    """Return the keys that are not among the others."""
    if not len(keys) or not len(others):
        return keys
    others = np.sort(others)
    places = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return keys[others[places] != keys]  # type: ignore[no-any-return]


# -- kernels of lists --------------------------------------------------------------------------------------------------


@kernel_part
def owner_of(key: Any) -> Any:
    return np.int64(key >> np.uint64(32))


@kernel_part
def value_of(key: Any) -> Any:
    return np.int64(key & np.uint64(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def _fill(owners: Any, values: Any, start: Any, length: Any, pool: Any) -> None:
    for i in range(len(owners)):
        length[owners[i]] += 1
    at = 0
    for owner in range(len(start)):
        start[owner] = at
        at += length[owner]
        length[owner] = 0
    for i in range(len(owners)):
        owner = owners[i]
        pool[start[owner] + length[owner]] = values[i]
        length[owner] += 1


@njit(cache=True, nogil=True)
def _deal_out(keys: Any, count: int) -> Any:
    place = np.zeros(count + 1, np.int64)
    for key in keys:
        place[owner_of(key) + 1] += 1
    for owner in range(count):
        place[owner + 1] += place[owner]
    grouped = np.empty(len(keys), np.uint64)
    for key in keys:
        grouped[place[owner_of(key)]] = key
        place[owner_of(key)] += 1
    return grouped


@njit(cache=True, nogil=True)
def _drop_duplicates(lists: Lists) -> None:
    seen = np.zeros(len(lists.start), np.int64)
    for owner in range(len(lists.start)):
        start = lists.start[owner]
        kept = start
        for place in range(start, start + lists.length[owner]):
            value = lists.pool[place]
            if seen[value] != owner + 1:
                seen[value] = owner + 1
                lists.pool[kept] = value
                kept += 1
        lists.length[owner] = kept - start


@njit(cache=True, nogil=True)
def _flatten(lists: Lists, count: int) -> Any:
    values = np.empty(count, np.uint32)
    at = 0
    for owner in range(len(lists.start)):
        start = lists.start[owner]
        for place in range(start, start + lists.length[owner]):
            values[at] = lists.pool[place]
            at += 1
    return values


@kernel_part
def _mark_group(keys: Any, first: int, mark: Any) -> int:
    """Mark the values of the keys from `first` on that have the same owner; return where they end."""
    owner, last = owner_of(keys[first]), first
    while last < len(keys) and owner_of(keys[last]) == owner:
        mark[value_of(keys[last])] = 1
        last += 1
    return last


@njit(cache=True, nogil=True)
def _remove(lists: Lists, keys: Any, mark: Any, gone: Any) -> int:
    count, first = 0, 0
    while first < len(keys):
        owner, last = owner_of(keys[first]), _mark_group(keys, first, mark)
        start = lists.start[owner]
        kept = start
        for place in range(start, start + lists.length[owner]):
            value = lists.pool[place]
            if mark[value] == 1:
                mark[value] = 0
                gone[count] = (np.uint64(owner) << np.uint64(32)) | np.uint64(value)
                count += 1
            else:
                lists.pool[kept] = value
                kept += 1
        lists.length[owner] = kept - start
        for i in range(first, last):
            mark[value_of(keys[i])] = 0
        first = last
    return count


@njit(cache=True, nogil=True)
def _add(lists: Lists, keys: Any, mark: Any, new: Any) -> int:
    count, first = 0, 0
    while first < len(keys):
        owner, last = owner_of(keys[first]), _mark_group(keys, first, mark)
        start = lists.start[owner]
        for place in range(start, start + lists.length[owner]):
            mark[lists.pool[place]] = 0
        for i in range(first, last):
            value = value_of(keys[i])
            if mark[value] == 1:
                mark[value] = 0
                lists.pool[start + lists.length[owner]] = value
                lists.length[owner] += 1
                new[count] = keys[i]
                count += 1
        first = last
    return count


@njit(cache=True, nogil=True)
def _append(lists: Lists, keys: Any) -> None:
    for i in range(len(keys)):
        owner = owner_of(keys[i])
        lists.pool[lists.start[owner] + lists.length[owner]] = value_of(keys[i])
        lists.length[owner] += 1


@njit(cache=True, nogil=True)
def _reserve(lists: Lists, keys: Any) -> Any:
    """Give every list space for its keys; if the pool is too small, do nothing and return what is missing."""
    for move in (False, True):
        first, wanted = 0, lists.used[0]
        while first < len(keys):
            owner = owner_of(keys[first])
            last = first
            while last < len(keys) and owner_of(keys[last]) == owner:
                last += 1
            length = lists.length[owner]
            if length + last - first > lists.room[owner]:
                room = 2 * (length + last - first)
                if move:
                    start = lists.start[owner]
                    for i in range(length):
                        lists.pool[wanted + i] = lists.pool[start + i]
                    lists.start[owner] = wanted
                    lists.room[owner] = room
                wanted += room
            first = last
        if wanted > len(lists.pool):
            return wanted - len(lists.pool)
        if move:
            lists.used[0] = wanted
    return 0


# -- shape -------------------------------------------------------------------------------------------------------------

# The state that the kernels of a maintained closure share: its graph, its components, and an undo log.
#
# Every component owns an interval of numbers, [low, low + width), and every edge between two components leads from the
# higher interval to the lower one: in ascending order, a component comes after all that it reaches. A component that
# falls apart divides its interval among its parts, and one that has to move goes into a part of another's interval, so
# that nothing else is renumbered. When an interval is used up (after some forty halvings), everything is recomputed.

# Fields of nodes (component, next member of it) and of components (the others). The members of a component are a circular list.
COMPONENT, NEXT, FIRST, SIZE, LOW, WIDTH, ROW = range(7)
FIELDS = 7

# Space for kernels. By node: marks, Tarjan's numbers, the component at the beginning of the update if it has changed.
# By component: marks, flags, its first queued entry, where its row is saved. The rest are lists.
(
    NODE_MARK,
    INDEX,
    LINK,
    CURSOR,
    STACK,
    PATH,
    ORIGIN,
    COMPONENT_MARK,
    FLAGS,
    HEAD,
    SAVED_AT,
    INVOLVED,
    FRESH,
    DEAD,
    TOUCHED,
    HEAP,
    CHANGED,
) = range(17)
LANES = 17
_MINUS_ONE = (ORIGIN, HEAD, SAVED_AT)

# Counters; those of lists are their lengths.
FREE, FREE_ROWS, TOP, BOTTOM, LOGGED, WORK, EPOCH, SAVED, ENTRIES = range(9)
INVOLVED_COUNT, FRESH_COUNT, DEAD_COUNT, TOUCHED_COUNT, HEAP_SIZE, CHANGED_COUNT, COMPONENTS, CROSSING = range(9, 17)
COUNTERS = 17

IS_BROKEN, IS_CREATED, IS_INVOLVED, IS_FRESH, IS_QUEUED = 1, 2, 4, 8, 16

SPAN = 1 << 58  # initial intervals lie in [0, SPAN); there is as much room above and below for new nodes
LOG_PER_NODE = 8

DONE, GIVE_UP, NEED_ROWS, NEED_SAVED = range(4)


class Graph(NamedTuple):
    """The steps in both directions, the seeds of each node, and the column of each node's bit (-1: none)."""

    out: Lists
    back: Lists
    seeds: Lists
    column: Array


class ClosureShape(NamedTuple):
    fields: Array
    lanes: Array
    free: Array  # components without members
    free_rows: Array
    counters: Array
    log: Array


def empty_shape(capacity: int) -> ClosureShape:
    lanes = np.zeros((LANES, capacity), np.int64)
    for lane in _MINUS_ONE:
        lanes[lane] = -1
    return ClosureShape(
        np.zeros((FIELDS, capacity), np.int64),
        lanes,
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(COUNTERS, np.int64),
        np.empty((LOG_PER_NODE * capacity + 4096, 3), np.int64),
    )


def grown_shape(shape: ClosureShape, capacity: int) -> ClosureShape:
    """Return a copy with room for more nodes and an empty log."""
    grown = empty_shape(capacity)
    old = shape.fields.shape[1]
    grown.fields[:, :old] = shape.fields
    grown.lanes[:, :old] = shape.lanes
    grown.free[:old] = shape.free
    grown.free_rows[:old] = shape.free_rows
    grown.counters[:] = shape.counters
    grown.counters[LOGGED] = 0
    free = int(grown.counters[FREE])
    grown.free[free : free + capacity - old] = np.arange(capacity - 1, old - 1, -1)
    grown.counters[FREE] += capacity - old
    return grown


@kernel_part
def put(shape: ClosureShape, field: int, place: Any, value: Any) -> None:
    """Write a field so that it can be undone; the caller has made sure that the log has room."""
    at = shape.counters[LOGGED]
    shape.log[at, 0] = field
    shape.log[at, 1] = place
    shape.log[at, 2] = shape.fields[field, place]
    shape.counters[LOGGED] = at + 1
    shape.fields[field, place] = value


@kernel_part
def list_item(shape: ClosureShape, lane: int, count: int, item: Any) -> None:
    shape.lanes[lane, shape.counters[count]] = item
    shape.counters[count] += 1


@njit(cache=True, nogil=True)
def take_back(shape: ClosureShape) -> None:
    """Restore the fields to when the log was empty, and rebuild the lists of free components and rows."""
    fields = shape.fields
    for at in range(shape.counters[LOGGED] - 1, -1, -1):
        fields[shape.log[at, 0], shape.log[at, 1]] = shape.log[at, 2]
    shape.counters[LOGGED] = 0


@njit(cache=True, nogil=True)
def list_free(shape: ClosureShape, rows: int) -> None:
    """List the components without members, and those of the `rows` rows that no component has."""
    fields = shape.fields
    capacity = fields.shape[1]
    taken = np.zeros(rows, np.bool_)
    shape.counters[FREE] = 0
    shape.counters[FREE_ROWS] = 0
    for component in range(capacity - 1, -1, -1):
        if fields[SIZE, component] == 0:
            shape.free[shape.counters[FREE]] = component
            shape.counters[FREE] += 1
        elif fields[ROW, component] >= 0:
            taken[fields[ROW, component]] = True
    for row in range(rows - 1, -1, -1):
        if not taken[row]:
            shape.free_rows[shape.counters[FREE_ROWS]] = row
            shape.counters[FREE_ROWS] += 1


@njit(cache=True, nogil=True)
def finish_update(shape: ClosureShape) -> None:
    """Empty the lists of an update, whether it was finished or undone."""
    lanes, counters = shape.lanes, shape.counters
    for i in range(counters[TOUCHED_COUNT]):
        lanes[ORIGIN, lanes[TOUCHED, i]] = -1
    for lane, count in ((INVOLVED, INVOLVED_COUNT), (FRESH, FRESH_COUNT), (DEAD, DEAD_COUNT), (CHANGED, CHANGED_COUNT)):
        for i in range(counters[count]):
            lanes[FLAGS, lanes[lane, i]] = 0
            lanes[SAVED_AT, lanes[lane, i]] = -1
        counters[count] = 0
    for i in range(counters[HEAP_SIZE]):
        component = lanes[HEAP, i]
        lanes[FLAGS, component] = 0
        lanes[HEAD, component] = -1
    counters[TOUCHED_COUNT] = counters[HEAP_SIZE] = counters[ENTRIES] = 0


@njit(cache=True, nogil=True)
def new_nodes(shape: ClosureShape, first: int, sources: int, count: int) -> None:
    """Make each node from `first` on a component of its own: the sources, up to `sources`, above all others, the rest
    below.

    Chains usually lead to larger node numbers, so a smaller number gets a higher interval.
    """
    fields, counters = shape.fields, shape.counters
    width = SPAN // (fields.shape[1] * 4)
    for node in range(count - 1, first - 1, -1):
        counters[FREE] -= 1
        component = shape.free[counters[FREE]]
        if node < sources:
            fields[LOW, component] = counters[TOP]
            counters[TOP] += width
        else:
            counters[BOTTOM] -= width
            fields[LOW, component] = counters[BOTTOM]
        fields[WIDTH, component] = width
        fields[COMPONENT, node] = component
        fields[NEXT, node] = node
        fields[FIRST, component] = node
        fields[SIZE, component] = 1
        fields[ROW, component] = -1


# -- a heap of components, the lowest interval first -------------------------------------------------------------------


@kernel_part
def push(shape: ClosureShape, component: int) -> None:
    heap, low = shape.lanes[HEAP], shape.fields[LOW]
    place = shape.counters[HEAP_SIZE]
    shape.counters[HEAP_SIZE] += 1
    while place > 0:
        parent = (place - 1) >> 1
        if low[heap[parent]] <= low[component]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = component


@kernel_part
def pop(shape: ClosureShape) -> int:
    heap, low = shape.lanes[HEAP], shape.fields[LOW]
    lowest = heap[0]
    shape.counters[HEAP_SIZE] -= 1
    size = shape.counters[HEAP_SIZE]
    last = heap[size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and low[heap[child + 1]] < low[heap[child]]:
            child += 1
        if low[last] <= low[heap[child]]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return lowest  # type: ignore[no-any-return]


# -- graph -------------------------------------------------------------------------------------------------------------

NO_NODE = np.uint32(0xFFFFFFFF)


class Numbering:
    """Codes numbered in order of arrival; a number is never taken back."""

    def __init__(self, columns: list[Array], universe: int) -> None:
        seen = np.zeros(universe, np.bool_)
        for column in columns:
            seen[column] = True
        codes = np.flatnonzero(seen).astype(np.uint32)
        self.count = len(codes)
        self.codes = enlarge(codes, self.count + self.count // 8 + 16, 0)
        self._number_of = np.full(universe, NO_NODE, np.uint32)
        self._number_of[codes] = np.arange(self.count, dtype=np.uint32)

    def find(self, codes: Array) -> Array:
        """Return the numbers of the codes, NO_NODE for unknown ones."""
        if len(codes) and codes.max() >= len(self._number_of):
            numbers = np.full(len(codes), NO_NODE, np.uint32)
            known = codes < len(self._number_of)
            numbers[known] = self._number_of[codes[known]]
            return numbers
        return self._number_of[codes]

    def add(self, codes: Array) -> None:
        """Number the codes that have no number yet."""
        new = np.unique(codes[self.find(codes) == NO_NODE])
        if not len(new):
            return
        if new[-1] >= len(self._number_of):
            self._number_of = enlarge(self._number_of, int(new[-1]) * 5 // 4 + 1, int(NO_NODE))
        count = self.count + len(new)
        if count > len(self.codes):
            self.codes = enlarge(self.codes, count * 2, 0)
        self.codes[self.count : count] = new
        self._number_of[new] = np.arange(self.count, count, dtype=np.uint32)
        self.count = count


class Changes(NamedTuple):
    """The edges and seeds that really changed, as keys of node numbers."""

    gone: Array
    new: Array
    gone_seeds: Array
    new_seeds: Array


class ChangingGraph:
    """Steps in both directions and seeds, two sets of pairs; a node that is second in a seed has a column."""

    def __init__(self, step: Codes, seeds: Codes | None, universe: int) -> None:
        starts = step if seeds is None else seeds
        self.nodes = Numbering([step[:, 0], step[:, 1], starts[:, 0], starts[:, 1]], universe)
        self.capacity = len(self.nodes.codes)
        self._out = GrowingLists(self.nodes.find(step[:, 0]), self.nodes.find(step[:, 1]), self.capacity)
        self._back = self._out.reversed()
        self._seeds: GrowingLists | None = None
        if seeds is not None:
            self._seeds = GrowingLists(self.nodes.find(seeds[:, 0]), self.nodes.find(seeds[:, 1]), self.capacity)
        self._mark = np.zeros(self.capacity, np.int64)
        self._column = np.full(self.capacity, -1, np.int64)
        self.column_codes = np.empty(0, np.uint32)
        self._add_columns(np.unique(self.nodes.find(starts[:, 1])))
        self.edges = int(self._out.arrays.length.sum())

    @property
    def arrays(self) -> Graph:
        out = self._out.arrays
        return Graph(out, self._back.arrays, out if self._seeds is None else self._seeds.arrays, self._column)

    def prepare(self, added_step: Codes, added_seeds: Codes | None) -> int:
        """Number the nodes and columns of what will be added; return how many of the new nodes are sources, which come
        first."""
        self.nodes.add(added_step[:, 0])
        sources = self.nodes.count
        self.nodes.add(added_step[:, 1])
        if added_seeds is not None:
            self.nodes.add(added_seeds.ravel())
        if self.nodes.count > self.capacity:
            self._grow()
        starts = added_step if added_seeds is None else added_seeds
        targets = self.nodes.find(starts[:, 1])
        self._add_columns(np.unique(targets[self._column[targets] < 0]))
        return sources

    def change(
        self, removed_step: Codes, added_step: Codes, removed_seeds: Codes | None, added_seeds: Codes | None
    ) -> Changes:
        """Make the changes; the nodes of added edges must have been prepared."""
        removed, added = self._keys(removed_step), self._keys(added_step)
        gone = self._out.remove(without(removed, added), self._mark)
        new = self._out.add(added, self._mark)
        self._back.remove(reversed_keys(gone, self.capacity), self._mark)
        self._back.append(reversed_keys(new, self.capacity))
        self.edges += len(new) - len(gone)
        if self._seeds is None:
            return Changes(gone, new, gone, new)
        nothing = np.empty(0, np.uint64)
        removed = nothing if removed_seeds is None else self._keys(removed_seeds)
        added = nothing if added_seeds is None else self._keys(added_seeds)
        gone_seeds = self._seeds.remove(without(removed, added), self._mark)
        return Changes(gone, new, gone_seeds, self._seeds.add(added, self._mark))

    def take_back(self, changes: Changes) -> None:
        """Undo changes of edges and seeds; new nodes and columns stay, without edges."""
        self._out.remove(changes.new, self._mark)
        self._out.append(changes.gone)
        self._back.remove(reversed_keys(changes.new, self.capacity), self._mark)
        self._back.append(reversed_keys(changes.gone, self.capacity))
        self.edges -= len(changes.new) - len(changes.gone)
        if self._seeds is not None:
            self._seeds.remove(changes.new_seeds, self._mark)
            self._seeds.append(changes.gone_seeds)

    def find_columns(self, codes: Array) -> Array:
        """Return the columns of codes, -1 for codes without one."""
        numbers = self.nodes.find(codes)
        known = numbers != NO_NODE
        columns = np.full(len(codes), -1, np.int64)
        columns[known] = self._column[numbers[known]]
        return columns

    def pairs(self) -> tuple[Array, Array]:
        """Return the steps, as numbers of nodes."""
        return self._out.pairs()

    def loops(self) -> Codes:
        """Return the codes of nodes that are seeds of themselves."""
        owners, values = (self._out if self._seeds is None else self._seeds).pairs()
        return self.nodes.codes[owners[owners == values]]  # type: ignore[no-any-return]

    def _keys(self, rows: Codes) -> Array:
        if not len(rows):
            return np.empty(0, np.uint64)
        sources, targets = self.nodes.find(rows[:, 0]), self.nodes.find(rows[:, 1])
        known = (sources != NO_NODE) & (targets != NO_NODE)
        if not known.all():
            sources, targets = sources[known], targets[known]
        return keys_of(sources, targets, self.capacity)

    def _grow(self) -> None:
        self.capacity = len(self.nodes.codes)
        for lists in (self._out, self._back, self._seeds):
            if lists is not None:
                lists.grow(self.capacity)
        self._mark = np.zeros(self.capacity, np.int64)
        self._column = enlarge(self._column, self.capacity, -1)

    def _add_columns(self, nodes: Array) -> None:
        if len(nodes):
            count = len(self.column_codes)
            self._column[nodes] = np.arange(count, count + len(nodes))
            self.column_codes = np.concatenate([self.column_codes, self.nodes.codes[nodes]])


def loops_among(keys: Array) -> Array:
    """Return the nodes of keys that connect a node with itself."""
    owners, values = pairs_of(keys)
    return owners[owners == values]  # type: ignore[no-any-return]
