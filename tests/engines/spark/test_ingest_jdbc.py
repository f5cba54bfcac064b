"""Tables of a real PostgreSQL on Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from corollary import ProgramError
from tests.engines.spark.ingested import loading
from tests.services.postgres import Postgres, jdbc_driver, postgres  # noqa: F401 (a fixture)

pytestmark = pytest.mark.spark


def test_a_table_and_a_query_of_a_database(spark: SparkSession, postgres: Postgres) -> None:  # noqa: F811
    postgres.run("DROP TABLE IF EXISTS edge; CREATE TABLE edge (a bigint, b text, c numeric(10, 2), d date, e boolean)")
    postgres.run("INSERT INTO edge VALUES (1, 'é', 1.50, '2026-01-31', true), (2, NULL, 2, NULL, false)")
    user = {"user": postgres.user, "password": postgres.password, "jar": str(jdbc_driver())}
    with loading(spark) as loaded:
        assert loaded.load(postgres.url, table="edge", **user) == 1
        assert loaded.rows() == [("1", '"é"', "1.5", '"2026-01-31"^^xsd:date', "true")]
        assert [reason for _, _, reason, _ in loaded.rejects] == ["column 'b' is null"]
        assert loaded.load(postgres.url, "q", query="SELECT a, c FROM edge WHERE c > 1", **user) == 2
        assert loaded.rows("q") == [("1", "1.5"), ("2", "2")]
        with pytest.raises(ProgramError, match=r"E402.*ingest: cannot read jdbc:postgresql.*nowhere") as error:
            loaded.load(postgres.url, table="nowhere", **user)
        assert postgres.password not in str(error.value)
        with pytest.raises(ProgramError, match=r"E402.*ingest: cannot read"):
            loaded.load(postgres.url, table="edge", user="nobody", password="x")
        with pytest.raises(ProgramError, match=r"E402.*ingest: cannot read .*refused"):
            loaded.load("jdbc:postgresql://127.0.0.1:1/postgres", table="edge")
        with pytest.raises(ProgramError, match=r"a database needs table"):
            loaded.load(postgres.url)
        assert set(loaded.store.explicit) == {"p", "q"}
