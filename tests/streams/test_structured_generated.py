"""Generated scripts of changes as files of a directory: after every batch the facts are those of the oracle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from corollary import KnowledgeBase
from corollary.engines.spark.context import SparkSettings
from corollary.language import print_value
from tests.budgets import gathered
from tests.engine_suite.many_programs import name_in, together
from tests.engine_suite.scripts import expected, visible
from tests.generator import EVERYTHING, Change, apply_change, scenarios
from tests.services.spark_session import shared_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]
_ARGUMENTS = [f"a{place}" for place in range(1, 7)]
_TERMS = {"corollary": "terms"}
_SCHEMA = StructType(
    [StructField("op", StringType()), StructField("predicate", StringType()), StructField("at", LongType())]
    + [StructField(name, StringType(), True, _TERMS) for name in _ARGUMENTS]
)


def rows_of(number: int, change: Change, known: dict[str, int]) -> tuple[list[dict], Change]:
    """The rows of a change with constants as programs write them, and the change without facts of unknown predicates."""
    sides: dict[str, list] = {"delete": [], "insert": []}
    rows = []
    for op, facts in (("delete", change.delete), ("insert", change.insert)):
        for predicate, row in facts:
            if known.get(name_in(number, predicate)) == len(row):
                sides[op].append((predicate, row))
                texts = dict(zip(_ARGUMENTS, map(print_value, row), strict=False))
                rows.append({"op": op, "predicate": name_in(number, predicate), "at": len(rows), **texts})
    return rows, Change(tuple(sides["insert"]), tuple(sides["delete"]))


@pytest.mark.parametrize("most", [50_000, 2])
def test_the_state_after_every_batch_equals_recomputation(tmp_path: Path, most: int) -> None:
    spark = shared_session()
    chosen = gathered(scenarios(EVERYTHING.but(max_changes=3, rule_changes=False)), 8)
    programs = [scenario.program for scenario in chosen]
    kb = KnowledgeBase(together(programs), engine=spark, spark_settings=SparkSettings(change_rows=most))
    kb.materialise()
    known = {name: arity for name in kb.predicates() if (arity := kb.arity(name)) is not None}
    folder = tmp_path / "in"
    folder.mkdir()
    stream = kb.write_stream(spark.readStream.schema(_SCHEMA).json(str(folder)), order="at", policy="fail")
    for step in range(3):
        rows: list[dict] = []
        for number, scenario in enumerate(chosen):
            if step < len(scenario.changes):
                found, change = rows_of(number, scenario.changes[step], known)
                rows += found
                programs[number] = apply_change(programs[number], change)
        (tmp_path / "aside").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "aside").rename(folder / f"{step}.json")
        stream.process_all()
        assert visible(kb) == expected(together(programs))
    stream.stop()
    assert sum(one.changes for one in stream.results) > 10, "there was hardly anything to follow"
