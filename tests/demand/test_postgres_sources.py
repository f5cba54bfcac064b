"""Tables of PostgreSQL as sources: by psycopg, and by Spark through JDBC."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from tests.services.postgres import Postgres, postgres  # noqa: F401 (a fixture)

RULES = 'dear(X) :- wanted(X), price(X, P), P > 10. wanted(tea). wanted(bread). wanted("o\'clock").'


@pytest.fixture
def prices(postgres: Postgres) -> Postgres:  # noqa: F811
    postgres.run("DROP TABLE IF EXISTS prices; CREATE TABLE prices (item text, price bigint)")
    postgres.run("INSERT INTO prices VALUES ('tea', 12), ('bread', 3), ('o''clock', 99), ('gold', 1900)")
    return postgres


def test_a_table_is_asked_for_some_rows_and_read_whole(prices: Postgres) -> None:
    address = f"postgresql://{prices.user}@127.0.0.1:{prices.port}/{prices.database}"
    kb = KnowledgeBase(RULES)
    kb.source("price", address, table="prices", password=prices.password)
    assert sorted(kb.query("dear(X)", mode="demand")) == [("o'clock",), ("tea",)]
    assert list(kb.query("price(X, 1900)", mode="demand")) == [("gold",)]
    assert kb.count("price") == 4
    for question in ("price(1, X)", "price(X, tea)", "price(X, 1.5)", "price(X, <http://a>)", "price(true, X)"):
        assert list(kb.query(question, mode="demand")) == []
    mixed = KnowledgeBase('r(X, P) :- k(X), price(X, P). k(tea). k(1). k("o\'clock"). k(true). k(2.5).')
    mixed.source("price", address, table="prices", password=prices.password)
    assert sorted(mixed.query("r(X, P)", mode="demand")) == [("o'clock", 99), ("tea", 12)]
    with pytest.raises(ProgramError, match="E417"):
        mixed.source("other", address, table="nosuch", password=prices.password)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_reads_only_the_rows_that_are_asked_for(prices: Postgres) -> None:
    from tests.services.spark_session import shared_session

    kb = KnowledgeBase(RULES, engine=shared_session())
    options = {"user": prices.user, "password": prices.password}
    kb.source("price", prices.url, query="SELECT item, price FROM prices", columns=["item", "price"], **options)
    assert sorted(kb.query("dear(X)", mode="demand")) == [("o'clock",), ("tea",)]
    kb.close()
