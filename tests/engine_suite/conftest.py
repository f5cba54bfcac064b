"""What every engine has to pass: a test that takes `engine` runs once for each of them."""

from typing import Protocol

import pytest

from corollary.knowledge_base import KnowledgeBase
from corollary.language import parse_program
from corollary.program import Constant
from corollary.reference import answer, evaluate
from corollary.results import Result

Row = tuple[Constant, ...]


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


def _rows(result: Result) -> set[Row]:
    return {tuple(map(Constant, row)) for row in result.constants()}


ENGINES: list[Engine] = [ReferenceEngine(), EmbeddedEngine()]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen
