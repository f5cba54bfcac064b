"""Published results are what the knowledge base has, after every change, for whoever reads them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.transactions import Change
from tests.services.postgres import Postgres, postgres  # noqa: F401

PROGRAM = """
@output path . @output reading . @output alarm .
path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z).
reading(T, V, D) :- measured(T, V, D).
alarm :- measured(_, V, _), V > 90.
"""
DAY = dt.date(2026, 1, 1)


def duckdb_rows(path: Path) -> set[tuple[object, ...]]:
    import duckdb
    from deltalake import DeltaTable

    published = DeltaTable(str(path)).to_pyarrow_dataset()
    assert published is not None
    return set(duckdb.sql("SELECT * FROM published").fetchall())


def polars_rows(path: Path) -> set[tuple[object, ...]]:
    import polars

    return set(polars.read_delta(str(path)).rows())


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.create(tmp_path / "kb", PROGRAM)


def follow(kb: KnowledgeBase, check: object) -> None:
    """Changes of all kinds, with a look after each."""
    check()
    kb.insert("edge", [(1, 2), (2, 3)])
    check()
    kb.insert("measured", [("a", 20.5, DAY), ("b", 95.0, DAY)])
    check()
    kb.delete("edge", [(2, 3)])
    check()
    with kb.transaction() as tx:
        tx.delete("measured", [("b", 95.0, DAY)])
        tx.insert("measured", [('it\'s "b",\n', 1.5, DAY)])
        tx.insert("edge", [(3, 4), (2, 3)])
    check()
    kb.insert("edge", [("ann", 4)])  # another type of column
    check()
    kb.insert("edge", [("bo", "ann")])
    check()
    kb.delete("measured", [("a", 20.5, DAY)])
    check()


def texts(rows: object) -> set[tuple[str, ...]]:
    """Columns of different kinds hold terms as programs write them."""
    return {tuple(map(str, row)) for row in rows}


def test_delta_tables_are_current_for_duckdb_and_polars(kb: KnowledgeBase, tmp_path: Path) -> None:
    place = tmp_path / "published"
    kb.publish(place)

    def check() -> None:
        for read in (duckdb_rows, polars_rows):
            assert texts(read(place / "path.delta")) == texts(kb.facts("path"))
            assert read(place / "reading.delta") == set(kb.facts("reading"))
            assert read(place / "alarm.delta") == ({(True,)} if kb.count("alarm") else set())

    follow(kb, check)


def test_a_publication_catches_up_with_what_changed(kb: KnowledgeBase, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    place = tmp_path / "published"
    kb.insert("edge", [(1, 2)])
    kb.publish(place, ["path"])
    later = KnowledgeBase.open(tmp_path / "kb")
    later.insert("edge", [(2, 3)])
    again = KnowledgeBase.open(tmp_path / "kb")
    again.publish(place, ["path"])
    assert polars_rows(place / "path.delta") == {(1, 2), (2, 3), (1, 3)}
    assert DeltaTable(str(place / "path.delta")).history()[0]["operation"] == "MERGE"  # some may be there already
    assert DeltaTable(str(place / "path.delta")).version() == 1
    again.publish(place, ["path"])
    assert DeltaTable(str(place / "path.delta")).version() == 1


def test_a_knowledge_base_in_memory_publishes_too(tmp_path: Path) -> None:
    kb = KnowledgeBase("q(X) :- p(X). p(1).")
    kb.publish(tmp_path / "published")
    kb.insert("p", [(2,)])
    assert polars_rows(tmp_path / "published" / "q.delta") == {(1,), (2,)}


def test_a_file_is_no_place_to_publish(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProgramError, match="E439"):
        kb.publish(tmp_path / "file")


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


def address(server: Postgres) -> str:
    return f"postgresql://{server.user}@127.0.0.1:{server.port}/{server.database}"


def rows(server: Postgres, sql: str) -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(address(server), password=server.password) as connection:
        return connection.execute(sql).fetchall()


def test_tables_of_postgresql_are_current(kb: KnowledgeBase, postgres: Postgres) -> None:  # noqa: F811
    kb.publish(address(postgres), password=postgres.password, schema="current")

    def check() -> None:
        found = rows(postgres, 'SELECT * FROM current."path"')
        assert len(found) == kb.count("path")
        assert texts(found) == texts(kb.facts("path"))
        assert set(rows(postgres, "SELECT * FROM current.reading")) == set(kb.facts("reading"))
        assert len(rows(postgres, "SELECT * FROM current.alarm")) == kb.count("alarm")
        marks = rows(postgres, "SELECT version FROM current.corollary_publications")
        assert marks == [(kb.version,)]

    follow(kb, check)


def test_readers_of_postgresql_see_all_changes_of_a_transaction_or_none(kb: KnowledgeBase, postgres: Postgres) -> None:  # noqa: F811
    kb.publish(address(postgres), password=postgres.password, schema="whole")
    kb.insert("edge", [(1, 2)])
    kb.insert("measured", [("b", 1.5, DAY)])
    postgres.run("ALTER TABLE whole.reading ADD CONSTRAINT small CHECK (a2 < 50)")
    with pytest.raises(ProgramError, match="E439"):
        kb.apply(Change(insert={"edge": [(2, 3)], "measured": [("a", 60.0, DAY)]}))
    assert rows(postgres, 'SELECT * FROM whole."path"') == [(1, 2)]
    postgres.run("ALTER TABLE whole.reading DROP CONSTRAINT small")
    again = KnowledgeBase.open(kb.path)
    again.publish(address(postgres), password=postgres.password, schema="whole")
    assert set(rows(postgres, 'SELECT * FROM whole."path"')) == {(1, 2), (2, 3), (1, 3)}
    assert len(rows(postgres, "SELECT * FROM whole.reading")) == 2


def test_explicit_facts_come_from_postgresql(postgres: Postgres) -> None:  # noqa: F811
    postgres.run(
        "CREATE TABLE seen (who text, times int, weight numeric, far double precision, good boolean, day date,"
        " moment timestamp); INSERT INTO seen VALUES"
        " ('ann', 3, 1.50, 0.5, true, '2026-01-01', '2026-01-01 10:00:00'),"
        " ('', 4, 12.25, 'Infinity', false, '2026-01-02', '2026-01-01 10:00:00.5'),"
        " (NULL, 5, 1, 1, true, '2026-01-02', '2026-01-01 10:00:00')"
    )
    kb = KnowledgeBase("p(X) :- seen(X, _, _, _, _, _, _).")
    assert kb.load("seen", address(postgres), table="seen", password=postgres.password) == 2
    assert set(kb.facts("seen")) == {
        ("ann", 3, Decimal("1.5"), 0.5, True, DAY, dt.datetime(2026, 1, 1, 10)),
        ("", 4, Decimal("12.25"), float("inf"), False, dt.date(2026, 1, 2), dt.datetime(2026, 1, 1, 10, 0, 0, 500_000)),
    }
    assert len(kb.rejects) == 1
    few = KnowledgeBase("")
    query = "SELECT who, times FROM seen WHERE times < 4"
    assert few.load("few", address(postgres), query=query, password=postgres.password) == 1
    assert list(few.facts("few")) == [("ann", 3)]
