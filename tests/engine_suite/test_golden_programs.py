"""Small programs with everything that follows from them: `tests/golden/programs/<topic>/<case>/{program.dl, expected.txt}`.

The expected text is in the language itself: the facts of all derived predicates, then each query with its answers as facts
of `answer`. It was worked out by hand, so there is no way to write it from what an engine says.
"""

from functools import cache
from pathlib import Path

import pytest

from corollary.language import parse_program, print_element
from corollary.program import Atom, Constant, FactBlock, Program, Query
from corollary.results import Result
from tests.engine_suite.engines import Engine
from tests.engine_suite.many_programs import answers_of, facts_of, parsed, together
from tests.engine_suite.scripts import visible
from tests.oracle import answer, evaluate

GOLDEN = Path(__file__).parent.parent / "golden" / "programs"
CASES = sorted(str(path.parent.relative_to(GOLDEN)) for path in GOLDEN.rglob("program.dl"))

TOGETHER = 26
"""Programs that Spark runs as one; with more, the time that its tasks take grows faster than their number."""

Row = tuple[Constant, ...]


def test_there_are_cases_for_every_topic() -> None:
    topics = {case.split("/")[0] for case in CASES}
    assert topics == {"aggregates", "builtins", "negation", "queries", "recursion", "rules", "terms"}
    assert len(CASES) >= 40


@pytest.mark.compiled_plans
@pytest.mark.parametrize("case", CASES)
def test_exactly_the_expected_facts_are_derived_and_given_as_answers(engine: Engine, case: str) -> None:
    text, _ = read(case)
    if engine.name == "embedded":
        kb = engine(text)
        facts = {predicate: constants(kb.facts(predicate)) for predicate in kb.predicates()}
        compare(case, facts, [constants(kb.query(query)) for query in kb.queries])
    else:
        part, number = divmod(CASES.index(case), TOGETHER)
        found = derived_together(part)
        answers = answers_of(number, parse_program(text), found)
        compare(case, facts_of(number, found), answers)


@pytest.mark.parametrize("case", CASES)
def test_the_oracle_derives_exactly_the_expected_facts(case: str) -> None:
    program = parse_program(read(case)[0])
    facts = evaluate(program)
    compare(case, facts, [answer(query, facts) for query in program.queries])


@cache
def derived_together(part: int) -> dict[str, set[Row]]:
    """Return the facts of some programs, derived as one on Spark, which takes its time for each run."""
    cases = CASES[part * TOGETHER : (part + 1) * TOGETHER]
    with Engine("spark") as engine:
        return visible(engine(together(parsed([read(case)[0] for case in cases]))))


def compare(case: str, facts: dict[str, set[Row]], answers: list[set[Row]]) -> None:
    text, expected = read(case)
    derived = {rule.head.predicate for rule in parse_program(text).rules}
    wanted: dict[str, set[Row]] = {name: set() for name in derived}
    for statement in before_queries(expected):
        wanted[statement.predicate] |= rows(statement)
    assert written({name: facts.get(name, set()) for name in derived}) == written(wanted)
    queries, wanted_answers = answers_by_query(expected)
    assert queries == list(parse_program(text).queries), "expected.txt repeats the queries of the program"
    assert [written({"answer": one}) for one in answers] == [written({"answer": one}) for one in wanted_answers]


def constants(result: Result) -> set[Row]:
    return {tuple(map(Constant, row)) for row in result.constants()}


def read(case: str) -> tuple[str, Program]:
    folder = GOLDEN / case
    expected = parse_program((folder / "expected.txt").read_text(encoding="utf-8"))
    return (folder / "program.dl").read_text(encoding="utf-8"), expected


def before_queries(expected: Program) -> list[FactBlock]:
    facts: list[FactBlock] = []
    for statement in expected.statements:
        if isinstance(statement, Query):
            break
        assert isinstance(statement, FactBlock)
        facts.append(statement)
    return facts


def answers_by_query(expected: Program) -> tuple[list[Query], list[set[Row]]]:
    queries: list[Query] = []
    answers: list[set[Row]] = []
    for statement in expected.statements:
        if isinstance(statement, Query):
            queries.append(statement)
            answers.append(set())
        elif isinstance(statement, FactBlock) and queries:
            assert statement.predicate == "answer"
            answers[-1] |= rows(statement)
    return queries, answers


def rows(facts: FactBlock) -> set[Row]:
    return {tuple(Constant(value) for value in row) for row in facts.rows}


def written(facts: dict[str, set[Row]]) -> list[str]:
    """Sorted lines, which make a difference readable; different constants have different texts."""
    return sorted(print_element(Atom(name, row)) for name, relation in facts.items() for row in relation)
