"""RDF on Spark as facts of its predicates."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.ingest import loading as ingest_loading
from corollary.io.options import ReadOptions
from tests.engines.spark.ingested import NEVER, embedded_rejects, embedded_rows, loading, setting

pytestmark = pytest.mark.spark

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TRIPLES = f"""<http://e.org/a> <http://e.org/knows> <http://e.org/b> .
<http://e.org/b> <http://e.org/knows> "é" .
<http://e.org/a> {TYPE} <http://e.org/Person> .
<http://e.org/b> {TYPE} <http://e.org/Person> .
<http://e.org/b> {TYPE} _:anonymous .
nothing
<http://e.org/b> {TYPE} <http://e.org/Person> .
<http://e.org/a> <http://e.org/Person> "both" .
"""
PROGRAM = "q(X, Y) :- <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>(X, Y)."


@pytest.mark.parametrize("small_file", [NEVER, 10_000], ids=["by tasks", "by the driver"])
@pytest.mark.parametrize(
    "program", [pytest.param("", marks=pytest.mark.slow, id="plain"), pytest.param(PROGRAM, id="with rdf:type")]
)
def test_triples_become_facts_of_their_predicates(
    spark: SparkSession, tmp_path: Path, program: str, small_file: int
) -> None:
    path = tmp_path / "data.nt"
    path.write_text("\n".join(line for line in TRIPLES.splitlines() if "both" not in line) + "\n")
    expected = KnowledgeBase(program)
    count = expected.load_rdf(path)
    with setting(spark, "spark.sql.files.maxPartitionBytes", "150"), loading(spark, small_file=small_file) as loaded:
        if program:
            loaded.ingest.arities[TYPE[1:-1]] = 2
        assert loaded.ingest.load_triples(path, ReadOptions()) == count
        assert loaded.ingest.defined == {name for name in expected.predicates() if name != "q"}
        for predicate in loaded.ingest.defined:
            assert loaded.rows(predicate) == embedded_rows(expected, predicate)
        assert loaded.rejects == embedded_rejects(expected)
        assert loaded.ingest.load_triples(path, ReadOptions()) == expected.load_rdf(path)


@pytest.mark.parametrize("small_file", [NEVER, 10_000], ids=["by tasks", "by the driver"])
@pytest.mark.parametrize("base", [None, "http://e.org/farm/"])
@pytest.mark.parametrize("ending", ["nt", "nq", "ttl"])
def test_relative_iris(spark: SparkSession, tmp_path: Path, ending: str, base: str | None, small_file: int) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_text('<turbine_1> <hasNeighbour> <turbine_2> .\n<turbine_2> <power> "5"^^<#kW> .\n')
    expected = KnowledgeBase()
    count = expected.load_rdf(path, base=base)
    with loading(spark, small_file=small_file) as loaded:
        assert loaded.ingest.load_triples(path, ReadOptions(base=base)) == count == 2
        assert loaded.ingest.defined == set(expected.predicates())
        for predicate in loaded.ingest.defined:
            assert loaded.rows(predicate) == embedded_rows(expected, predicate)


def test_what_cannot_be_loaded_as_facts_of_predicates(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.nt"
    path.write_text(TRIPLES)
    (tmp_path / "data.csv").write_text("a,b\n")
    with loading(spark, small_file=10_000) as loaded:
        loaded.ingest.arities["http://e.org/knows"] = 3
        with pytest.raises(ProgramError, match=r"'http://e.org/knows' has 3 arguments, but there are 2 columns"):
            loaded.ingest.load_triples(path, ReadOptions())
        with pytest.raises(ProgramError, match="is not an RDF file"):
            loaded.ingest.load_triples(tmp_path / "data.csv", ReadOptions())
        monkeypatch.setattr(ingest_loading, "MOST_PREDICATES", 2)
        with pytest.raises(ProgramError, match="more than 2 predicates and classes"):
            loaded.ingest.load_triples(path, ReadOptions())
        assert not loaded.store.explicit
