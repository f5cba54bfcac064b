"""What every engine has to pass: a test that takes `engine` runs once for each of them."""

from functools import cached_property
from pathlib import Path
from typing import Protocol

import pytest

from corollary.knowledge_base import KnowledgeBase
from corollary.language import parse_program
from corollary.program import Constant
from corollary.reference import answer, evaluate
from corollary.results import Result

Row = tuple[Constant, ...]
GOLDEN = Path(__file__).parent.parent / "golden" / "programs"


class Engine(Protocol):
    """How the suite drives an engine: program text in, constants out."""

    name: str

    def run(self, program_text: str) -> dict[str, set[Row]]:
        """The visible facts of every predicate."""

    def answers(self, program_text: str) -> list[set[Row]]:
        """The answers of the program's queries, in the order of the text."""


class ReferenceEngine:
    name = "reference"

    def run(self, program_text: str) -> dict[str, set[Row]]:
        return evaluate(parse_program(program_text))

    def answers(self, program_text: str) -> list[set[Row]]:
        program = parse_program(program_text)
        facts = evaluate(program)
        return [answer(query, facts) for query in program.queries]


class EmbeddedEngine:
    name = "embedded"

    def run(self, program_text: str) -> dict[str, set[Row]]:
        kb = KnowledgeBase(program_text)
        return {predicate: _rows(kb.facts(predicate)) for predicate in kb.predicates()}

    def answers(self, program_text: str) -> list[set[Row]]:
        kb = KnowledgeBase(program_text)
        return [_rows(kb.query(query)) for query in kb.queries]


class SparkEngine:
    """All programs of the suite run together, as one program with predicates apart: Spark takes its time for each run."""

    name = "spark"

    @cached_property
    def _everything(self) -> tuple[list[str], dict[str, set[Row]]]:
        from tests.engines.spark.engine_runs import EngineRun
        from tests.engines.spark.many_programs import parsed, together
        from tests.services.spark_session import shared_session

        texts = [path.read_text(encoding="utf-8") for path in sorted(GOLDEN.rglob("program.dl"))]
        spark = shared_session()
        with EngineRun(spark, together(parsed(texts))) as run:
            return texts, run.facts()

    def run(self, program_text: str) -> dict[str, set[Row]]:
        from tests.engines.spark.many_programs import facts_of

        texts, found = self._everything
        mine = facts_of(texts.index(program_text), found)
        return {**{rule.head.predicate: set() for rule in parse_program(program_text).rules}, **mine}

    def answers(self, program_text: str) -> list[set[Row]]:
        from tests.engines.spark.many_programs import answers_of

        texts, found = self._everything
        return answers_of(texts.index(program_text), parse_program(program_text), found)


def _rows(result: Result) -> set[Row]:
    return {tuple(map(Constant, row)) for row in result.constants()}


ENGINES = [
    pytest.param(ReferenceEngine(), id="reference"),
    pytest.param(EmbeddedEngine(), id="embedded"),
    pytest.param(SparkEngine(), id="spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen
