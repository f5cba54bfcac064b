"""The shapes that facts from Python may have, at every door that takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from corollary import Change, Iri, KnowledgeBase

PROGRAM = "q(X) :- p(X, _)."


def by_transaction(kb: KnowledgeBase, facts: Any) -> None:
    with kb.transaction() as tx:
        tx.insert("p", facts)


def by_stream(kb: KnowledgeBase, update: Any) -> None:
    (result,) = kb.stream([update])
    if result.rejected is not None:
        raise TypeError(str(result.rejected.diagnostics[0].message))


INSERTING: dict[str, Callable[[KnowledgeBase, Any], object]] = {
    "insert": lambda kb, facts: kb.insert("p", facts),
    "apply": lambda kb, facts: kb.apply(Change(insert={"p": facts})),
    "transaction": by_transaction,
    "stream of changes": lambda kb, facts: by_stream(kb, Change(insert={"p": facts})),
    "stream of objects": lambda kb, facts: by_stream(kb, {"insert": {"p": facts}}),
}


def delete_by_transaction(kb: KnowledgeBase, facts: Any) -> None:
    with kb.transaction() as tx:
        tx.delete("p", facts)


DELETING: dict[str, Callable[[KnowledgeBase, Any], object]] = {
    "delete": lambda kb, facts: kb.delete("p", facts),
    "apply": lambda kb, facts: kb.apply(Change(delete={"p": facts})),
    "transaction": delete_by_transaction,
    "stream of changes": lambda kb, facts: by_stream(kb, Change(delete={"p": facts})),
    "stream of objects": lambda kb, facts: by_stream(kb, {"delete": {"p": facts}}),
}

# Each stands for p("ann", 1) and p("bo", 2).
RIGHT: dict[str, Callable[[], Any]] = {
    "rows": lambda: [("ann", 1), ["bo", 2]],
    "a tuple of rows": lambda: (("ann", 1), ("bo", 2)),
    "a set of rows": lambda: {("ann", 1), ("bo", 2)},
    "a mapping of columns": lambda: {"who": ["ann", "bo"], "n": [1, 2]},
    "a mapping of arrays": lambda: {"who": pd.Series(["ann", "bo"]), "n": np.array([1, 2])},
    "a mapping of several kinds": lambda: {"who": pa.array(["ann", "bo"]), "n": range(1, 3)},
    "an Arrow table": lambda: pa.table({"who": ["ann", "bo"], "n": [1, 2]}),
    "an array of records": lambda: np.array([("ann", 1), ("bo", 2)], [("who", "U9"), ("n", int)]),
    "a pandas frame": lambda: pd.DataFrame({"who": ["ann", "bo"], "n": [1, 2]}),
    "a polars frame": lambda: pl.DataFrame({"who": ["ann", "bo"], "n": [1, 2]}),
}
WRONG: dict[str, tuple[Any, str]] = {
    "a flat tuple": (("ann", 1), r"this tuple is a single row; one fact is \[\('ann', 1\)\]"),
    "a text": ("ab", r"not a str; one fact is \[\('ab',\)\]"),
    "bytes": (b"ab", "not a bytes"),
    "a mapping of values": (
        {"who": "ann", "n": 1},
        r"holds columns, but 'who' has 'ann'; one fact is {'who': \['ann'\], …}",
    ),
    "a mapping of sets": ({"who": {"ann"}, "n": {1}}, "the set of 'who' has no order"),
    "a mapping of rows": ({"who": {"ann": 1}}, "holds columns"),
}


@pytest.mark.parametrize("door", INSERTING)
@pytest.mark.parametrize("shape", RIGHT)
def test_every_shape_of_facts_is_inserted(door: str, shape: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    INSERTING[door](kb, RIGHT[shape]())
    assert sorted(kb.facts("p")) == [("ann", 1), ("bo", 2)]


@pytest.mark.parametrize("door", DELETING)
@pytest.mark.parametrize("shape", RIGHT)
def test_every_shape_of_facts_is_deleted(door: str, shape: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.insert("p", [("ann", 1), ("bo", 2), ("cy", 3)])
    DELETING[door](kb, RIGHT[shape]())
    assert list(kb.facts("p")) == [("cy", 3)]


@pytest.mark.parametrize("door", [*INSERTING, *DELETING])
@pytest.mark.parametrize("shape", WRONG)
def test_what_is_no_collection_of_rows_is_an_error_with_a_hint(door: str, shape: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.insert("p", [("ann", 1)])
    facts, message = WRONG[shape]
    for doors in (INSERTING, DELETING):
        if door in doors:
            with pytest.raises(TypeError, match=message):
                doors[door](kb, facts)
    assert list(kb.facts("p")) == [("ann", 1)]


@pytest.mark.parametrize("facts", [5, None, Iri("a"), 1.5], ids=repr)
def test_a_single_value_is_no_collection(facts: Any) -> None:
    with pytest.raises(TypeError, match="facts are a collection of rows, and not a value of type"):
        KnowledgeBase().insert("p", facts)


@pytest.mark.parametrize(
    "column",
    [[1, 2], {1, 2}, range(1, 3), np.array([1, 2]), pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2])],
    ids=lambda column: type(column).__name__,
)
def test_one_column_is_facts_of_one_argument(column: Any) -> None:
    kb = KnowledgeBase()
    assert (kb.insert("p", column), sorted(kb.facts("p"))) == (2, [(1,), (2,)])
    kb.apply(Change(insert={"new": column}))
    assert sorted(kb.facts("new")) == [(1,), (2,)]


def test_columns_of_several_types_and_of_several_lengths() -> None:
    kb = KnowledgeBase()
    assert kb.insert("p", {"a": [1, "x"], "b": np.array([2, 3])}) == 2
    assert set(kb.facts("p")) == {(1, 2), ("x", 3)}
    assert kb.insert("p", {"a": (n for n in (5,)), "b": [6]}) == 1
    assert kb.insert("p", {}) == kb.insert("p", {"a": [], "b": []}) == 0
    with pytest.raises(ValueError, match="must have the same length, but these have 'a': 1, 'b': 2 values"):
        kb.insert("p", {"a": [1], "b": [1, 2]})


@pytest.mark.spark
def test_shapes_on_spark() -> None:
    with KnowledgeBase(PROGRAM, engine="spark") as kb:
        for shape in ("a mapping of columns", "a mapping of several kinds", "a set of rows"):
            kb.insert("p", RIGHT[shape]())
            assert sorted(kb.facts("p")) == [("ann", 1), ("bo", 2)]
            kb.delete("p", RIGHT[shape]())
            assert kb.count("p") == 0
        for facts, message in WRONG.values():
            with pytest.raises(TypeError, match=message):
                kb.insert("p", facts)
