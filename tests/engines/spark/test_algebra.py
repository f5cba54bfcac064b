"""Rules as relational algebra, and what is read off it: no Spark here."""

from __future__ import annotations

import pytest

from corollary.engines.spark.algebra.classes import Classes, decided_by_ids
from corollary.engines.spark.algebra.profiles import (
    ANYTHING,
    BOOLEANS,
    DOUBLES,
    HASHED,
    INLINE_DOUBLES,
    INTEGERS,
    SMALL_INTEGERS,
    classes_of,
)
from corollary.engines.spark.strategies.rounds import delta_key, joined_scans, partition_keys
from corollary.language import parse_program
from corollary.planning import AggregateSource, NormalRule, Version, normalise
from corollary.planning.algebra import (
    Aggregate,
    Algebra,
    AntiJoin,
    Extend,
    Filter,
    Join,
    Project,
    Scan,
    Select,
    Unit,
    algebra_of,
    delta_versions,
    has_distinct_rows,
    walk,
)
from corollary.program import Atom, Constant


def rule(text: str) -> NormalRule:
    return normalise(parse_program(text).rules[0])


def tree(text: str, delta: int | None = None, growing: tuple[str, ...] = ()) -> Project:
    one = rule(text)
    return algebra_of(one, versions=delta_versions(one, delta, growing))


def below(node: Algebra, kind: type) -> list[Algebra]:
    return [one for one in walk(node) if isinstance(one, kind)]


def test_an_atom_is_selected_and_projected() -> None:
    found = tree('p(Y, 9) :- q(X, X, "a", Y, _).')
    assert found.outputs == (("$0", "Y"), ("$1", Constant(9)))
    (selection,) = below(found, Select)
    assert selection.equalities == (("$1", "$0"), ("$2", Constant("a")))
    assert below(found, Scan) == [Scan("q", 5)]


def test_atoms_are_joined_on_their_shared_variables() -> None:
    (join,) = below(tree("p(X, Z) :- q(X, Y), r(Y, Z)."), Join)
    assert join.on == ("Y",)
    assert not join.semi


def test_columns_that_nobody_uses_later_are_dropped() -> None:
    found = tree("p(X) :- q(X, Y), r(Y, Z), s(Z, X).")
    assert all("Y" not in node.columns for node in below(found, Join) if node.right.columns and "Z" in node.on)


def test_what_only_has_to_exist_is_a_semi_join() -> None:
    (join,) = below(tree("p(X) :- q(X), r(X, _)."), Join)
    assert join.semi
    assert join.right.columns == ("X",)


def test_a_product_comes_last() -> None:
    found = tree("p(X, Z) :- q(X), r(W), s(X, Z), t(Z, W).")
    assert all(join.on for join in below(found, Join))
    (product,) = below(tree("p(X, Y) :- q(X), r(Y)."), Join)
    assert product.on == ()


def test_a_negated_atom_is_projected_to_the_variables_it_shares() -> None:
    (anti,) = below(tree("p(X) :- q(X), not r(X, Y, Y)."), AntiJoin)
    assert anti.on == ("X",)
    assert anti.right.columns == ("X",)
    (selection,) = below(anti.right, Select)
    assert selection.equalities == (("$2", "$1"),)


def test_a_negated_atom_may_share_nothing() -> None:
    (anti,) = below(tree("p(X) :- q(X), not r(_, 1)."), AntiJoin)
    assert anti.on == ()
    assert anti.right.columns == ()


def test_a_body_without_atoms_starts_from_one_row() -> None:
    found = tree("p(X) :- X = 3, not q(X).")
    assert below(found, Unit)
    assert below(found, Extend)


def test_tests_run_as_soon_as_they_can() -> None:
    found = tree("p(X, Z) :- q(X, Y), X < Y, r(Y, Z).")
    (join,) = below(found, Join)
    assert below(join.left, Filter) or below(join.right, Filter)


def test_a_computed_argument_is_checked_where_it_has_a_value() -> None:
    (extend,) = below(tree("p(X) :- q(X, Y), Y = X + 1, r(Y)."), (Extend, Filter))  # type: ignore[arg-type]
    assert extend.columns


def test_an_aggregate_ranges_over_all_variables_of_its_body() -> None:
    (aggregate,) = below(tree("p(X, count(Y)) :- q(X, Y, Z, _)."), Aggregate)
    assert aggregate.input.distinct
    assert set(aggregate.input.columns) == {"X", "Y", "Z"}
    assert aggregate.columns == ("$0", "$1")


def test_the_delta_comes_first_and_old_rows_before_it() -> None:
    found = tree("p(X, Z) :- p(X, Y), p(Y, Z).", 1, ("p",))
    scans = {node.version for node in below(found, Scan)}
    assert scans == {Version.DELTA, Version.OLD}
    (join,) = below(found, Join)
    assert below(join.left, Scan)[0].version is Version.DELTA
    assert delta_versions(rule("p(X) :- q(X), p(X)."), 1, ["p"]) == (Version.FULL, Version.DELTA)


def test_partition_keys_favour_the_full_relation() -> None:
    linear = tree("p(X, Z) :- e(X, Y), p(Y, Z).", 1, ("p",))
    assert delta_key(linear) == (Scan("p", 2, Version.DELTA), (0,))
    assert list(joined_scans(linear)) == [(Scan("e", 2), (1,))]
    assert partition_keys([linear], {"p": 2}) == {"p": (0,)}
    closure = [tree("p(X, Z) :- p(X, Y), p(Y, Z).", place, ("p",)) for place in (0, 1)]
    assert partition_keys(closure, {"p": 2})["p"] in {(0,), (1,)}
    assert partition_keys([tree("p(Y, X) :- p(X, Y).", 0, ("p",))], {"p": 2}) == {"p": (0, 1)}
    assert partition_keys([], {"p": 0}) == {"p": (0,)}


@pytest.mark.parametrize(
    ("value", "classes"),
    [
        (3, SMALL_INTEGERS),
        (2**31, INTEGERS & ~SMALL_INTEGERS),
        (1.5, INLINE_DOUBLES),
        (1e300, DOUBLES & ~INLINE_DOUBLES),
        (True, BOOLEANS),
        ("a", classes_of(Constant("b"))),
        (2**61, classes_of(Constant(2**62))),
    ],
)
def test_classes_of_constants(value: object, classes: int) -> None:
    assert classes_of(Constant(value)) == classes  # type: ignore[arg-type]


def test_ids_decide_comparisons_where_no_double_is_in_the_way() -> None:
    texts = classes_of(Constant("a"))

    def decides(text: str, *classes: int) -> bool:
        found = tree(text)
        (one,) = below(found, Filter)
        known = Classes(lambda scan: classes)
        sides = [known.of_term(side, one.input) for side in (one.compare.left, one.compare.right)]
        return one.compare.is_simple and decided_by_ids(one.compare, *sides)

    assert decides("p(X) :- q(X, Y), X < Y.", INTEGERS, INTEGERS)
    assert not decides("p(X) :- q(X, Y), X < Y.", INTEGERS, INTEGERS | DOUBLES)
    assert not decides("p(X) :- q(X, Y), X < Y.", texts, texts)
    assert decides("p(X) :- q(X, Y), X != Y.", texts, texts | INTEGERS)
    assert decides("p(X) :- q(X, Y), X != Y.", texts, DOUBLES)
    assert not decides("p(X) :- q(X, Y), X = Y + 0.", INTEGERS, INTEGERS)
    assert not decides("p(X) :- q(X, Y), X != Y.", INTEGERS, DOUBLES)
    assert not decides("p(X) :- q(X, Y), X < Y.", INTEGERS, INLINE_DOUBLES)
    assert not decides("p(X) :- q(X, Y), X != Y.", INTEGERS, INLINE_DOUBLES)
    assert not decides("p(X) :- q(X, Y), X = Y.", INLINE_DOUBLES, DOUBLES)
    assert decides("p(X) :- q(X, Y), X <= Y.", INLINE_DOUBLES, INLINE_DOUBLES)
    assert decides("p(X) :- q(X, Y), X != Y.", INLINE_DOUBLES, INLINE_DOUBLES)
    assert decides('p(X) :- q(X, Y), X != "a".', ANYTHING, ANYTHING)
    assert not decides("p(X) :- q(X, Y), X != 1.", HASHED, HASHED)


def test_what_a_rule_makes_itself_is_not_in_the_universe_yet() -> None:
    found = tree("p(sum(Y)) :- q(X), Y = X * 2.")
    (aggregate,) = below(found, Aggregate)
    assert Classes.is_made(aggregate.input, "Y")
    assert not Classes.is_made(aggregate.input, "X")
    assert Classes.is_made(aggregate, "$0")


def test_sources_of_aggregates_are_translated_too() -> None:
    one = rule("p(N) :- q(N), AGGREGATE(r(X, Y) and not s(X)) WITH COUNT(Y) AS N.")
    assert any(isinstance(source, AggregateSource) for source in one.body.sources)
    found = algebra_of(one)
    assert below(below(found, Aggregate)[0], AntiJoin)
    assert {node.predicate for node in below(found, Scan)} == {"q", "r", "s"}
    assert all(isinstance(source, (Atom, AggregateSource)) for source in one.body.sources)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X, Y) :- q(X, Y).", True),
        ("p(X) :- q(X, Y).", False),
        ("p(X) :- q(X, _).", False),
        ("p(X) :- q(X, 7).", True),
        ("p(X) :- q(X, X).", True),
        ("p(X, Y) :- n(X), Y = X + 1.", True),
        ("p(Y) :- n(X), Y = X + 1.", False),
        ("p(X) :- n(X), Y = X + 1, Y < 100.", True),
        ("p(X, Z) :- q(X, Y), q(Y, Z).", False),
        ("p(X, Y, Z) :- q(X, Y), q(Y, Z), not r(X, Z).", True),
        ("p(X) :- n(X), q(X, _).", True),
        ("p(X, count(Y)) :- q(X, Y).", True),
        ("p() :- n(X).", False),
    ],
)
def test_rows_that_cannot_repeat(text: str, expected: bool) -> None:
    assert has_distinct_rows(tree(text)) is expected
