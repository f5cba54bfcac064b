"""Small programs with everything that follows from them: `tests/golden/programs/<topic>/<case>/{program.dl, expected.txt}`.

The expected text is in the language itself: the facts of all derived predicates, then each query with its answers as facts
of `answer`. It was worked out by hand, so there is no way to write it from what an engine says.
"""

from pathlib import Path

import pytest

from corollary.language import parse_program, print_element
from corollary.program import Atom, Constant, Facts, Program, Query

GOLDEN = Path(__file__).parent.parent / "golden" / "programs"
CASES = sorted(str(path.parent.relative_to(GOLDEN)) for path in GOLDEN.rglob("program.dl"))

Row = tuple[Constant, ...]


def test_there_are_cases_for_every_topic() -> None:
    topics = {case.split("/")[0] for case in CASES}
    assert topics == {"aggregates", "builtins", "negation", "queries", "recursion", "rules", "terms"}
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES)
def test_exactly_the_expected_facts_are_derived(engine, case: str) -> None:
    text, expected = read(case)
    derived = {rule.head.predicate for rule in parse_program(text).rules}
    wanted: dict[str, set[Row]] = {name: set() for name in derived}
    for statement in before_queries(expected):
        wanted[statement.predicate] |= rows(statement)
    found = engine.run(text)
    assert written({name: found[name] for name in derived}) == written(wanted)


@pytest.mark.parametrize("case", CASES)
def test_the_queries_have_exactly_the_expected_answers(engine, case: str) -> None:
    text, expected = read(case)
    queries, wanted = answers_by_query(expected)
    assert queries == list(parse_program(text).queries), "expected.txt repeats the queries of the program"
    found = engine.answers(text)
    assert [written({"answer": one}) for one in found] == [written({"answer": one}) for one in wanted]


def read(case: str) -> tuple[str, Program]:
    folder = GOLDEN / case
    expected = parse_program((folder / "expected.txt").read_text(encoding="utf-8"))
    return (folder / "program.dl").read_text(encoding="utf-8"), expected


def before_queries(expected: Program) -> list[Facts]:
    facts: list[Facts] = []
    for statement in expected.statements:
        if isinstance(statement, Query):
            break
        assert isinstance(statement, Facts)
        facts.append(statement)
    return facts


def answers_by_query(expected: Program) -> tuple[list[Query], list[set[Row]]]:
    queries: list[Query] = []
    answers: list[set[Row]] = []
    for statement in expected.statements:
        if isinstance(statement, Query):
            queries.append(statement)
            answers.append(set())
        elif isinstance(statement, Facts) and queries:
            assert statement.predicate == "answer"
            answers[-1] |= rows(statement)
    return queries, answers


def rows(facts: Facts) -> set[Row]:
    return {tuple(Constant(value) for value in row) for row in facts.rows}


def written(facts: dict[str, set[Row]]) -> list[str]:
    """Sorted lines, which make a difference readable; different constants have different texts."""
    return sorted(print_element(Atom(name, row)) for name, relation in facts.items() for row in relation)
