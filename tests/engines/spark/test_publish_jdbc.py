"""Tables of a real PostgreSQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from corollary import Iri, ProgramError
from corollary.engines.spark.publish.decoded import Decoded, argument_names
from corollary.engines.spark.publish.publisher import write_jdbc
from corollary.io.databases.jdbc import JdbcTable
from tests.engines.spark.published import Published, failing_in_the_middle
from tests.services.postgres import Postgres, running_postgres

pytestmark = pytest.mark.spark

ROWS = [
    ("ann", 1, True, Decimal("1.5"), 0.5, dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12), Iri("urn:é"), 1),
    ("日本 🎉'; --", -(2**63), False, Decimal("-2.25"), 1e300, dt.date(1066, 10, 14), dt.datetime(2026, 2, 1), Iri("urn:a"), "x"),
]  # fmt: skip


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Decoded:
    return decoded(Published(spark, ROWS))


@pytest.fixture(scope="module")
def one(spark: SparkSession) -> Decoded:
    return decoded(Published(spark, [("bo", 2)]))


def decoded(published: Published) -> Decoded:
    return Decoded(published.context, published.frame, argument_names(published.frame.arity))


def table(postgres: Postgres, name: str) -> JdbcTable:
    return JdbcTable(postgres.url, name, postgres.user, postgres.password)


def rows_of(postgres: Postgres, sql: str) -> list[tuple[str, ...]]:
    return [tuple(line.split("|")) for line in postgres.run(sql).splitlines()]


def tables(postgres: Postgres) -> set[str]:
    return {name for (name,) in rows_of(postgres, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def test_every_kind_of_column(postgres: Postgres, rows: Decoded) -> None:
    assert write_jdbc(rows, table(postgres, "kinds")) == 2
    assert rows_of(postgres, "SELECT * FROM kinds ORDER BY a2") == [
        ("日本 🎉'; --", str(-(2**63)), "f", "-2.25", "1e+300", "1066-10-14", "2026-02-01 00:00:00", "urn:a", "x"),
        ("ann", "1", "t", "1.50", "0.5", "2026-01-31", "2026-01-31 12:00:00", "urn:é", "1"),
    ]


def test_overwriting_and_appending(postgres: Postgres, rows: Decoded, one: Decoded) -> None:
    where = table(postgres, "people")
    before = tables(postgres)
    write_jdbc(rows, where)
    write_jdbc(one, where)
    write_jdbc(one, where, mode="append")
    assert rows_of(postgres, "SELECT a1, a2 FROM people") == [("bo", "2"), ("bo", "2")]
    with pytest.raises(ProgramError, match=r"E407.*table people exists"):
        write_jdbc(one, where, mode="error")
    with pytest.raises(ProgramError, match=r"E407.*table people has no column a3"):
        write_jdbc(rows, where, mode="append")
    assert tables(postgres) - before == {"people"}


def test_names_are_never_sql(postgres: Postgres, one: Decoded) -> None:
    postgres.run('CREATE SCHEMA "The ""Schema"')
    write_jdbc(one, table(postgres, 'The "Schema.x"; DROP TABLE people; --'))
    write_jdbc(one, table(postgres, 'The "Schema.x"; DROP TABLE people; --'))
    name = '"The ""Schema"."x""; DROP TABLE people; --"'
    assert rows_of(postgres, f"SELECT a1 FROM {name}") == [("bo",)]
    for wrong in ("", "a.b.c", "a.", "x" * 64):
        with pytest.raises(ProgramError, match="E405"):
            table(postgres, wrong)


def test_a_failure_leaves_the_old_rows_and_no_other_table(postgres: Postgres, rows: Decoded, one: Decoded) -> None:
    where = table(postgres, "kept")
    write_jdbc(one, where)
    before = tables(postgres)
    published = Published(rows.context.spark, [(1,)])
    with pytest.raises(ProgramError, match=r"E407.*publish: cannot write table kept"):
        write_jdbc(failing_in_the_middle(published), where)
    postgres.run("CREATE VIEW depends AS SELECT a1 FROM kept")
    with pytest.raises(ProgramError, match=r"E407.*other objects depend on it"):
        write_jdbc(rows, where)
    assert rows_of(postgres, "SELECT a1, a2 FROM kept") == [("bo", "2")]
    assert tables(postgres) == before


def test_empty_relations_and_predicates_without_arguments(postgres: Postgres, spark: SparkSession) -> None:
    write_jdbc(decoded(Published(spark, [], arity=2)), table(postgres, "empty"))
    assert rows_of(postgres, "SELECT a1, a2 FROM empty") == []
    for facts in ([], [()]):
        write_jdbc(decoded(Published(spark, facts, arity=0)), table(postgres, "holds"))
        assert rows_of(postgres, "SELECT holds FROM holds") == [("t",) for _ in facts]


def test_a_wrong_password_stays_secret(postgres: Postgres, one: Decoded) -> None:
    where = JdbcTable(postgres.url, "people", postgres.user, "hunter2")
    with pytest.raises(ProgramError, match=r"E407.*password authentication failed") as error:
        write_jdbc(one, where)
    assert "hunter2" not in str(error.value) + repr(where)
    with pytest.raises(ProgramError, match=r"(?s)E405.*the url starts with jdbc:postgresql:"):
        JdbcTable("jdbc:mysql://localhost/x", "people")
