"""What every engine has to pass: a test that takes `engine` runs once for each of them."""

from typing import Protocol

import pytest

from corollary.language import parse_program
from corollary.program import Constant
from corollary.reference import answer, evaluate

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


ENGINES: list[Engine] = [ReferenceEngine()]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen
