"""Lists, as in RIF. Positions are counted from 0; negative ones from the end."""

from __future__ import annotations

from functools import partial

from corollary.program.builtins.registry import declare
from corollary.program.values import Value, identity

_LISTS = partial(declare, chapter="Lists")
List = tuple[Value, ...]


@_LISTS(
    "pred:is-list",
    "IS_LIST",
    of="any",
    gives="boolean",
    raw=True,
    summary="the constant is a list",
    examples=[("pred:is-list([1, 2])", "true"), ("pred:is-list(a)", "false")],
)
def _is_list(value: Value) -> bool:
    return isinstance(value, tuple)


@_LISTS(
    "IS_NOT_LIST",
    of="any",
    gives="boolean",
    raw=True,
    is_predicate=True,
    summary="the constant is no list",
    examples=[("IS_NOT_LIST(a)", "true"), ("IS_NOT_LIST([])", "false")],
)
def _is_not_list(value: Value) -> bool:
    return not isinstance(value, tuple)


@_LISTS(
    "pred:list-contains",
    "LIST_CONTAINS",
    of="list, any",
    gives="boolean",
    summary="the list has the constant as an item",
    examples=[("pred:list-contains([1, 2], 2)", "true"), ("pred:list-contains([1, [2]], 2)", "false")],
)
def _list_contains(items: List, wanted: Value) -> bool:
    return identity(wanted) in set(map(identity, items))


@_LISTS(
    "func:make-list",
    "MAKE_LIST",
    of="any*",
    gives="list",
    summary="the list of the arguments",
    examples=[("func:make-list(1, a)", "[1, a]"), ("func:make-list()", "[]")],
)
def _make_list(*items: Value) -> List:
    return items


@_LISTS(
    "func:count",
    "LIST_COUNT",
    of="list",
    gives="integer",
    summary="the number of items",
    examples=[("func:count([5, 5, 6])", "3")],
)
def _count(items: List) -> int:
    return len(items)


@_LISTS(
    "func:get",
    "LIST_GET",
    of="list, integer",
    gives="any",
    summary="the item at a position",
    examples=[("func:get([a, b, c], 0)", "a"), ("func:get([a, b, c], -1)", "c"), ("func:get([a], 1)", None)],
)
def _get(items: List, position: int) -> Value | None:
    return items[position] if -len(items) <= position < len(items) else None


@_LISTS(
    "func:sublist",
    "LIST_SUBLIST",
    of="list, integer, integer?",
    gives="list",
    summary="the items from a position on, up to the item before another position",
    examples=[
        ("func:sublist([0, 1, 2, 3, 4], 1, 3)", "[1, 2]"),
        ("func:sublist([0, 1, 2, 3, 4], -2)", "[3, 4]"),
        ("func:sublist([0, 1], 5)", "[]"),
    ],
)
def _sublist(items: List, start: int, stop: int | None = None) -> List:
    return items[start:stop]


@_LISTS(
    "func:append",
    "LIST_APPEND",
    of="list, any…",
    gives="list",
    summary="the list with more items at its end",
    examples=[("func:append([1], 2, 3)", "[1, 2, 3]")],
)
def _append(items: List, *more: Value) -> List:
    return items + more


@_LISTS(
    "func:concatenate",
    "LIST_CONCATENATE",
    of="list…",
    gives="list",
    summary="the items of all lists",
    examples=[("func:concatenate([1], [], [2, 1])", "[1, 2, 1]")],
)
def _concatenate(*lists: List) -> List:
    return tuple(item for one in lists for item in one)


@_LISTS(
    "func:insert-before",
    "LIST_INSERT_BEFORE",
    of="list, integer, any",
    gives="list",
    summary="the list with another item before the one at a position",
    examples=[("func:insert-before([0, 1, 2], 1, a)", "[0, a, 1, 2]"), ("func:insert-before([0], 5, a)", None)],
)
def _insert_before(items: List, position: int, item: Value) -> List | None:
    if not -len(items) <= position < len(items):
        return None
    return (*items[:position], item, *items[position:])


@_LISTS(
    "func:remove",
    "LIST_REMOVE",
    of="list, integer",
    gives="list",
    summary="the list without the item at a position",
    examples=[("func:remove([0, 1, 2], -1)", "[0, 1]"), ("func:remove([0], 1)", None)],
)
def _remove(items: List, position: int) -> List | None:
    if not -len(items) <= position < len(items):
        return None
    position %= len(items)
    return items[:position] + items[position + 1 :]


@_LISTS(
    "func:reverse",
    "LIST_REVERSE",
    of="list",
    gives="list",
    summary="the items in the opposite order",
    examples=[("func:reverse([1, 2, 3])", "[3, 2, 1]")],
)
def _reverse(items: List) -> List:
    return items[::-1]


@_LISTS(
    "func:index-of",
    "LIST_INDEX_OF",
    of="list, any",
    gives="list",
    summary="the positions of a constant in the list",
    examples=[("func:index-of([a, b, a], a)", "[0, 2]"), ("func:index-of([a], b)", "[]")],
)
def _index_of(items: List, wanted: Value) -> List:
    return tuple(place for place, item in enumerate(items) if identity(item) == identity(wanted))


@_LISTS(
    "func:distinct-values",
    "LIST_DISTINCT_VALUES",
    of="list",
    gives="list",
    summary="each item once, where it is first",
    examples=[("func:distinct-values([1, 2, 1, 3])", "[1, 2, 3]")],
)
def _distinct_values(items: List) -> List:
    return tuple({identity(item): item for item in items}.values())


@_LISTS(
    "func:union",
    "LIST_UNION",
    of="list…",
    gives="list",
    summary="each item of all lists once",
    examples=[("func:union([1, 2], [2, 3])", "[1, 2, 3]")],
)
def _union(*lists: List) -> List:
    return _distinct_values(_concatenate(*lists))


@_LISTS(
    "func:intersect",
    "LIST_INTERSECT",
    of="list…",
    gives="list",
    summary="each item of the first list that all others have",
    examples=[
        ("func:intersect([0, 1, 2, 3], [3, 1, 7])", "[1, 3]"),
        ("func:intersect([0, 1, 2, 3], [3, 1, 7], [3])", "[3]"),
    ],
)
def _intersect(items: List, *others: List) -> List:
    known = [set(map(identity, other)) for other in others]
    return _distinct_values(tuple(item for item in items if all(identity(item) in one for one in known)))


@_LISTS(
    "func:except",
    "LIST_EXCEPT",
    of="list, list",
    gives="list",
    summary="each item of the first list that the second has not",
    examples=[("func:except([0, 1, 2, 3], [3, 1])", "[0, 2]")],
)
def _except(items: List, others: List) -> List:
    known = set(map(identity, others))
    return _distinct_values(tuple(item for item in items if identity(item) not in known))
