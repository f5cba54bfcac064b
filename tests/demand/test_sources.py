"""Predicates whose facts come from functions and databases, which are asked for what a query needs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError

RULES = """
dear(X) :- wanted(X), price(X, P), P > 10.
total(sum(P)) :- wanted(X), price(X, P).
wanted(tea). wanted(coffee). wanted(bread).
"""
PRICES = {"tea": 12, "coffee": 15, "bread": 3, "gold": 1900}


class Shop:
    """A function that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, known: pa.Table | None) -> list[tuple[str, int]]:
        names = list(PRICES) if known is None else known.column("item").to_pylist()
        self.asked.append(sorted(names))
        return [(name, PRICES[name]) for name in names if name in PRICES]


def shop_base(**options: Any) -> tuple[KnowledgeBase, Shop]:
    kb, shop = KnowledgeBase(RULES), Shop()
    kb.source("price", shop, columns=["item", "price"], **options)
    return kb, shop


def test_a_function_is_asked_once_and_only_for_values_that_are_known() -> None:
    kb, shop = shop_base()
    assert sorted(kb.query("dear(X)")) == [("coffee",), ("tea",)]
    assert shop.asked == [["bread", "coffee", "tea"]]
    assert list(kb.query("price(gold, P)")) == [(1900,)]
    assert shop.asked[1:] == [["gold"]]


def test_a_function_is_asked_under_negation_and_aggregates() -> None:
    kb, shop = shop_base()
    assert list(kb.query("total(S)")) == [(30,)]
    assert sorted(kb.query("wanted(X), not price(X, 15)")) == [("bread",), ("tea",)]
    assert shop.asked[1:] == [["bread", "coffee", "tea"]]


def test_a_function_that_needs_a_value_cannot_be_read_whole() -> None:
    kb, _ = shop_base()
    for ask in (lambda: kb.query("price(X, P)"), lambda: kb.count("dear")):
        with pytest.raises(ProgramError, match=r"E416.*needs a value of 'item'"):
            ask()


def test_a_function_that_needs_nothing_can_be_read_whole() -> None:
    kb, shop = shop_base(needs=[])
    assert len(kb.query("price(X, P)", mode="demand")) == 4
    assert kb.count("dear") == 2
    assert shop.asked == [sorted(PRICES)] * 2


def test_an_error_of_a_function_is_told_with_its_predicate() -> None:
    kb = KnowledgeBase(RULES)
    kb.source("price", lambda known: 1 // 0, columns=["item", "price"])
    with pytest.raises(ProgramError, match=r"E417.*source of 'price': ZeroDivisionError"):
        kb.query("price(tea, P)")


def test_a_recursive_rule_follows_a_source_step_by_step() -> None:
    asked: list[list[int]] = []

    def next_of(known: pa.Table) -> list[tuple[int, int]]:
        asked.append(sorted(known.column("of").to_pylist()))
        return [(node, node + step) for node in asked[-1] for step in (1, 2) if node + step <= 4]

    kb = KnowledgeBase("reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z).")
    kb.source("edge", next_of, columns=["of", "to"])
    assert sorted(kb.query("reach(1, X)")) == [(2,), (3,), (4,)]
    assert asked == [[1], [2, 3], [4]]


def test_one_source_asks_about_what_another_tells() -> None:
    kb = KnowledgeBase("owes(X, P) :- orders(X, I), price(I, P).")
    kb.source("orders", lambda known: [("ann", "tea"), ("ann", "bread")], columns=["who", "item"])
    kb.source("price", Shop(), columns=["item", "price"])
    assert sorted(kb.query("owes(ann, P)")) == [(3,), (12,)]


def sqlite_file(folder: Path) -> Any:
    with sqlite3.connect(folder / "shop.sqlite") as connection:
        connection.execute("CREATE TABLE prices (item TEXT, price INTEGER, note TEXT)")
        connection.executemany("INSERT INTO prices VALUES (?, ?, 'x')", PRICES.items())
    connection.close()
    return folder / "shop.sqlite"


def duckdb_file(folder: Path) -> Any:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE prices (item VARCHAR, price BIGINT, note VARCHAR)")
        connection.executemany("INSERT INTO prices VALUES (?, ?, 'x')", [[*one] for one in PRICES.items()])
    return str(folder / "shop.duckdb")


def duckdb_connection(folder: Path) -> Any:
    return duckdb.connect(duckdb_file(folder))


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file, duckdb_connection])
def test_a_table_of_a_database_is_asked_for_some_rows_and_read_whole(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    kb = KnowledgeBase(RULES)
    kb.source("price", make(tmp_path), table="prices", columns=["item", "price"])
    assert sorted(kb.query("dear(X)", mode="demand")) == [("coffee",), ("tea",)]
    assert list(kb.query("price(X, 15)", mode="demand")) == [("coffee",)]
    assert len(kb.query("price(X, Y)", mode="demand")) == 4
    assert kb.count("dear") == 2


def test_the_columns_of_a_table_are_known_and_a_query_is_a_table(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.source("price", sqlite_file(tmp_path), query="SELECT item, price FROM prices WHERE price < 100")
    assert list(kb.query("price(gold, P)")) == []
    assert list(kb.query("price(tea, P)")) == [(12,)]


def test_a_statement_that_the_database_refuses_is_an_error(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.source("price", sqlite_file(tmp_path), table="prices", columns=["item", "cost"])
    with pytest.raises(ProgramError, match="E417"):
        kb.query("price(tea, P)")


def test_more_values_than_fit_into_one_statement_are_asked_in_several(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "many.db") as connection:
        connection.execute("CREATE TABLE square (n INTEGER, s INTEGER)")
        connection.executemany("INSERT INTO square VALUES (?, ?)", [(n, n * n) for n in range(3000)])
    connection.close()
    kb = KnowledgeBase("big(N, S) :- number(N), square(N, S), S > 1000000.")
    kb.insert("number", [(n,) for n in range(0, 3000, 2)])
    kb.source("square", tmp_path / "many.db", table="square")
    assert len(kb.query("big(N, S)", mode="demand")) == 999


KEYS = """
k(1). k("abc"). k("a b"). k("1"). k(99999999999999999999). k(1.0e0). k(1.5). k(0.5e0). k(true). k(<http://a>). k([1]). k(f(1)).
k("2026-01-02"^^xsd:date). k("99999-01-01"^^xsd:date). k("NaN"^^xsd:double). k("a"@en). k("P1D"^^xsd:duration). k(2.50).
"""
LOOKUPS = """
r1(K) :- k(K), e(K, _, _, _). r2(K) :- k(K), e(_, K, _, _). r3(K) :- k(K), e(_, _, K, _). r4(K) :- k(K), e(_, _, _, K).
"""


def of_duckdb() -> Any:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE e (a INTEGER, b VARCHAR, c DOUBLE, d DECIMAL(6, 2))")
    connection.execute(
        "INSERT INTO e VALUES (1, 'a b', 0.5, 2.5), (2, '1', 1.0, 1), (3, NULL, 1.0, 1), (4, 'abc', NULL, 9)"
    )
    return connection


def of_sqlite() -> Any:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE e (a INTEGER, b TEXT, c REAL, d NUMERIC)")
    rows = [(1, "a b", 0.5, 2.5), (2, "1", 1.0, 1), (3, None, 1.0, 1), (4, "abc", None, 9)]
    connection.executemany("INSERT INTO e VALUES (?, ?, ?, ?)", rows)
    return connection


@pytest.mark.parametrize("make", [of_duckdb, of_sqlite])
def test_values_of_every_kind_may_be_asked_of_every_column(make: Callable[[], Any]) -> None:
    """As if the rows were facts; a row with a NULL is none."""
    connection = make()
    rows = [row for row in connection.execute("SELECT * FROM e").fetchall() if None not in row]
    facts = KnowledgeBase(KEYS + LOOKUPS)
    facts.insert("e", rows)
    kb = KnowledgeBase(KEYS + LOOKUPS)
    kb.source("e", connection, table="e")
    keys = KEYS.split()
    for one in range(1, 5):
        expected = set(facts.facts(f"r{one}"))
        assert expected, one
        assert set(kb.query(f"r{one}(K)", mode="demand")) == expected
    for key in (word.removesuffix(".")[2:-1] for word in " ".join(keys).replace('"a b"', '"abc"').split()):
        for place in range(4):
            question = f"e({', '.join(key if place == one else f'X{one}' for one in range(4))})"
            assert set(kb.query(question, mode="demand")) == set(facts.query(question)), question


def test_a_source_without_its_table_and_a_function_without_rows_are_errors(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    for make in (sqlite_file, duckdb_file):
        with pytest.raises(ProgramError, match=r"E417.*source of 'price'"):
            kb.source("price", make(tmp_path), table="nosuch")
    kb.source("price", lambda known: None, columns=["item", "price"])
    with pytest.raises(ProgramError, match=r"E417.*source of 'price': the function gave None instead of rows"):
        kb.query("price(tea, P)")


def test_texts_of_types_that_duckdb_does_not_compare_with_texts() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    identifier = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    connection.execute(f"CREATE TABLE e AS SELECT '{identifier}'::UUID AS a, 'ok'::mood AS b")
    kb = KnowledgeBase()
    kb.source("e", connection, table="e")
    assert list(kb.query(f'e("{identifier}", X)', mode="demand")) == [("ok",)]
    assert list(kb.query("e(X, ok)", mode="demand")) == [(identifier,)]
    assert list(kb.query("e(sad, X)", mode="demand")) == []


@pytest.mark.parametrize("source", [42, "file.txt"])
def test_what_is_no_source_is_an_error_at_once(source: Any) -> None:
    with pytest.raises(ProgramError, match="is not a source of facts"):
        KnowledgeBase().source("price", source, table="prices")


@pytest.mark.spark
def test_spark_asks_a_source_for_what_is_demanded() -> None:
    from tests.services.spark_session import shared_session

    shop = Shop()
    kb = KnowledgeBase(RULES, engine=shared_session())
    kb.source("price", shop, columns=["item", "price"])
    assert sorted(kb.query("dear(X)")) == [("coffee",), ("tea",)]
    assert shop.asked == [["bread", "coffee", "tea"]]
    kb.close()
