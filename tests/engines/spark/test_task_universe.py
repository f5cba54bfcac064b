"""Inside a task: codes for ids, ids for codes, and constants that turn out to be known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.values.encoder import encode_constants
from corollary.engines.embedded.values.ordering import Ordering
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.terms.forms import strings_in_programs, value_of_form
from corollary.engines.spark.terms.ids import CollisionTable, ids_of, is_hashed
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TaskUniverse
from corollary.language import print_value
from corollary.program import Value, canonical, identity
from tests.engines.spark.constants import BORDERS, constants

lists = st.lists(constants, max_size=30)


def made(values: list[Value], table: CollisionTable | None = None) -> tuple[np.ndarray, pa.Table]:
    """Ids of constants that one task made, and what it tells of them."""
    task = TaskUniverse(table) if table else TaskUniverse()
    ids = task.ids(encode_constants(task.universe, values))
    return ids, task.new_terms()


def same(task: TaskUniverse, codes: np.ndarray, values: list[Value]) -> bool:
    found = task.universe.values(codes.tolist())
    return [identity(value) for value in found] == [identity(canonical(value)) for value in values]


@given(lists)
def test_what_one_task_made_another_learns(values: list[Value]) -> None:
    ids, terms = made(values)
    task = TaskUniverse()
    task.learn(terms)
    assert same(task, task.codes(ids), values)
    assert task.ids(task.codes(ids)).tolist() == ids.tolist()
    assert task.new_terms().num_rows == 0


@given(lists)
def test_opaque_constants_keep_their_ids_and_are_revealed_in_place(values: list[Value]) -> None:
    ids, terms = made(values)
    task = TaskUniverse()
    codes = task.codes(ids)
    assert (task.universe.kinds[codes] == Kind.OPAQUE).tolist() == is_hashed(ids).tolist()
    assert task.ids(codes).tolist() == ids.tolist()
    task.learn(terms)
    assert same(task, codes, values)
    assert task.codes(ids).tolist() == codes.tolist()


@given(lists, lists)
def test_a_constant_that_a_task_makes_is_the_opaque_one_with_its_id(
    given_values: list[Value], own: list[Value]
) -> None:
    ids, _ = made(given_values)
    task = TaskUniverse()
    before = task.codes(ids)
    after = encode_constants(task.universe, [*own, *given_values])
    assert after[len(own) :].tolist() == before.tolist()
    assert same(task, after, [*own, *given_values])
    told = set(task.new_terms()["id"].to_pylist())
    assert told == {number for number in ids_of([*own, *given_values]).tolist() if number & 3 == 2}


@given(lists)
def test_every_new_constant_is_told_once_in_full(values: list[Value]) -> None:
    task = TaskUniverse()
    encode_constants(task.universe, values)
    terms = task.new_terms()
    assert terms.schema == TERM_FIELDS
    assert task.new_terms().num_rows == 0
    ids = ids_of(values).tolist()
    expected = {number: canonical(value) for number, value in zip(ids, values, strict=True) if number & 3 == 2}
    rows = {row["id"]: row for row in terms.to_pylist()}
    assert rows.keys() == expected.keys()
    for number, value in expected.items():
        assert identity(value_of_form(rows[number]["canonical"], rows[number]["datatype"])) == identity(value)


def test_common_forms_are_what_programs_write() -> None:
    values = [value for value in BORDERS if value != 10**4500]  # Python does not print it
    ids, terms = made(values)
    common = dict(zip(terms["id"].to_pylist(), terms["common"].to_pylist(), strict=True))
    written = {number: print_value(canonical(value)) for number, value in zip(ids.tolist(), values, strict=True)}
    assert common == {number: text for number, text in written.items() if number in common}


def test_ids_may_come_in_rows() -> None:
    task = TaskUniverse()
    rows = np.array([[4, 8], [12, 257]], np.int64)
    assert task.codes(rows).shape == (2, 2)
    assert task.ids(task.codes(rows)).tolist() == rows.tolist()


def test_opaque_constants_have_an_identity_and_no_order_until_they_are_revealed() -> None:
    ids, terms = made(["b", "a"])
    task = TaskUniverse()
    ordering = Ordering(task.universe)
    codes = task.codes(ids)
    assert ordering.arrays(texts=True)[0][codes].tolist() == [0, 0]
    first, second = task.universe.values(codes.tolist())
    assert first != second
    assert [task.universe.encode(value) for value in (first, second)] == codes.tolist()
    task.learn(terms)
    ranks = ordering.arrays(texts=True)[1][codes]
    assert ranks[1] < ranks[0]


@given(st.sets(st.text(max_size=6), min_size=2, max_size=20))
def test_salted_constants_are_met_under_their_own_ids(texts: set[str]) -> None:
    from corollary.engines.spark.terms.forms import STRING

    values: list[Value] = sorted(texts)
    table = CollisionTable({(STRING, str(text)): number for number, text in enumerate(values)})
    ids, _ = made(values, table)
    task = TaskUniverse(table)
    before = task.codes(ids)
    assert encode_constants(task.universe, values).tolist() == before.tolist()


def test_a_constant_that_was_opaque_is_told_when_the_task_makes_it() -> None:
    ids, _ = made(["a", "b"])
    task = TaskUniverse()
    task.codes(ids)
    encode_constants(task.universe, ["c"])
    assert task.new_terms()["canonical"].to_pylist() == ["c"]
    encode_constants(task.universe, ["b", "d"])
    assert sorted(task.new_terms()["canonical"].to_pylist()) == ["b", "d"]
    assert task.new_terms().num_rows == 0


def test_constants_made_after_others_were_asked_for_are_found_by_their_ids() -> None:
    task = TaskUniverse()
    for values in (["a", "b"], ["b", "c"], [], ["d", 5, 1e300]):
        codes = encode_constants(task.universe, values)
        assert task.codes(task.ids(codes)).tolist() == codes.tolist()
        assert task.explains(ids_of(values)).tolist() == [bool(is_hashed(ids_of([value]))[0]) for value in values]


@given(st.lists(st.text(st.sampled_from('ab"\\é\n\x7f '), max_size=5)), st.integers(0, 3))
def test_strings_are_quoted_as_programs_write_them(texts: list[str], start: int) -> None:
    for kind in (pa.string(), pa.large_string()):
        found = strings_in_programs(pa.array(texts, kind).slice(start))
        assert found.type == kind
        assert found.to_pylist() == [print_value(text) for text in texts[start:]]
