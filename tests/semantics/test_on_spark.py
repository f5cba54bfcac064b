"""The same semantics on Spark. Many generated programs are followed as one: one at a time would take minutes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.analysis import analyse
from corollary.analysis.meaning import Meaning
from corollary.backends.spark import SparkBackend
from corollary.diagnostics import ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.language import parse_program
from corollary.program import Program
from corollary.transactions import Change
from tests.engine_suite.many_programs import name_in, together
from tests.engines.spark.engine_runs import decoded
from tests.oracle import evaluate
from tests.oracle.well_founded import well_founded
from tests.semantics import test_local_stratification as local_stratification
from tests.semantics import test_terms as terms
from tests.semantics import test_well_founded as games
from tests.semantics.following import Facts, State, rows, states
from tests.services.spark_session import shared_session

pytestmark = pytest.mark.spark


def generated(strategy: st.SearchStrategy[list[State]], count: int) -> list[list[State]]:
    found: list[list[State]] = []

    @settings(
        max_examples=count, phases=[Phase.generate], database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def gather(one: list[State]) -> None:
        if all(not analyse(parse_program(state.text)).under(WELL_FOUNDED).errors for state in one):
            found.append(one)

    gather()
    return found


WELL_FOUNDED = Meaning(semantics="well-founded")


def scripts(facts: Sequence[str], rules: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[State]]:
    return rules.flatmap(lambda found: states(facts, found, 2))


def all_at(scripts_of_programs: list[list[State]], number: int) -> list[Program]:
    """Every program in its state after so many changes, or in its last one."""
    return [parse_program(script[min(number, len(script) - 1)].text) for script in scripts_of_programs]


def one_change(before: Program, after: Program) -> Change:
    old, new = (
        {(block.predicate, row) for block in program.facts for row in block.rows} for program in (before, after)
    )
    known, wanted = ({rule.name: rule for rule in program.rules} for program in (before, after))
    added = Program(
        tuple(clause for clause in after.statements if getattr(clause, "name", None) in wanted.keys() - known)
    )
    return Change(_rows(new - old), _rows(old - new), (added,), tuple(known.keys() - wanted.keys()))


def _rows(facts: set[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for predicate, row in facts:
        found.setdefault(predicate, []).append(row)
    return found


def follow_together(programs: list[list[State]], count: int, **options: Any) -> None:
    combined = [together(all_at(programs, number)) for number in range(count)]
    for number, found in enumerate(visible_in(combined, **options)):
        for place, program in enumerate(all_at(programs, number)):
            for name, expected in true_facts(program).items():
                assert found.get(name_in(place, name), set()) == expected, f"{name} of {programs[place]}"


def visible_in(programs: list[Program], **options: Any) -> Iterator[Facts]:
    """The visible facts of a program, and after each change to the next one; all of them in one job."""
    with KnowledgeBase(programs[0], engine=shared_session(), **options) as kb:
        backend = kb._backend
        assert isinstance(backend, SparkBackend)
        for number, program in enumerate(programs):
            if number:
                kb.apply(one_change(programs[number - 1], program))
            kb.materialise()
            names = [name for name in backend.engine.predicates() if backend.store.frames(name)]
            yield decoded(backend.context, {name: backend.store.visible(name) for name in names})


def true_facts(program: Program) -> Facts:
    return well_founded(program)[0]


def test_terms_and_local_stratification() -> None:
    rules_of_terms = st.lists(terms.RULES, min_size=1, max_size=2)
    rules_of_constants = st.lists(local_stratification.rules(), min_size=2, max_size=3)
    found = generated(scripts(terms.FACTS, rules_of_terms), 2)
    found += [
        one
        for one in generated(scripts(local_stratification.FACTS, rules_of_constants), 20)
        if all(not analyse(parse_program(state.text)).errors for state in one)
    ][:1]
    follow_together(found, 2)


def test_well_founded_semantics() -> None:
    found = generated(scripts(games.FACTS, games.RULES), 2)
    follow_together(found, 2, semantics="well-founded")


def test_unsafe_rules_and_equality_in_heads() -> None:
    rules = {"r1": "q(X) :- not p(X, _)", "r2": "X = Y :- alias(X, Y)", "r3": "both(X) :- p(X, _), r(X)"}
    first = State(("alias(a, b)", "alias(b, c)", "p(a, 1)", "r(c)", "r([g(c)])"), rules)
    second = State(("alias(a, b)", "p(a, 1)", "r(c)", "r(b)", "r([g(c)])", "p(f(a, 2), 1)"), rules)
    programs = [parse_program(state.text) for state in (first, second)]
    for program, found in zip(programs, visible_in(programs, unsafe="universe"), strict=True):
        assert {name: rows for name, rows in found.items() if rows} == {
            name: rows for name, rows in all_true_facts(program).items() if rows
        }


def test_stated_facts_of_derived_predicates_belong_to_the_universe() -> None:
    rules = {"r1": "a(X) :- not b(X)", "r2": "b(X) :- not c(X)"}
    script = [
        State(("a(zed)", "b(xen)", "c(one)"), {"r1": rules["r1"]}),
        State(("a(zed)", "b(one)", "c(one)"), rules),
        State(("a(yak)", "c(one)"), rules),
    ]
    programs = [parse_program(state.text) for state in script]
    for program, found in zip(programs, visible_in(programs, unsafe="universe"), strict=True):
        assert found == {name: rows for name, rows in all_true_facts(program).items() if rows}


def all_true_facts(program: Program) -> Facts:
    true, undefined = well_founded(program, unsafe=True)
    assert not any(undefined.values())
    return true


@pytest.mark.slow
def test_terms_and_lists_in_rounds() -> None:
    text = """
    list([1, 2]). list([2]). list([]).
    append([], L, L) :- list(L).
    append([H | T], L, [H | R]) :- append(T, L, R), list([H | T]).
    sure(X, Y) :- append([X | _], _, [X, Y]), not append([Y | _], _, [_]).
    """
    expected = evaluate(parse_program(text))
    options = {"engine": shared_session(), "spark_settings": SparkSettings(strategy="rounds")}
    with KnowledgeBase(text, **options) as kb:  # type: ignore[arg-type]
        assert {name: rows(kb.facts(name)) for name in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["rounds", "single-task"])
def test_a_term_that_grows_for_ever_stops_with_a_message(strategy: str) -> None:
    options = {"engine": shared_session(), "spark_settings": SparkSettings(strategy=strategy), "limits": {"depth": 5}}
    with (
        KnowledgeBase("n(z). n(s(X)) :- n(X).", **options) as kb,  # type: ignore[arg-type]
        pytest.raises(ProgramError, match="E490") as caught,
    ):
        kb.count("n")
    assert "limits.depth" in str(caught.value.diagnostics[0].hint)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["rounds", "single-task"])
def test_an_expression_without_a_value_is_shown_in_its_rule(strategy: str) -> None:
    options = {"engine": shared_session(), "spark_settings": SparkSettings(strategy=strategy), "on_error": "stop"}
    text = "p(a). q(Y) :- p(X), Y = X + 1."
    with (
        KnowledgeBase(text, **options) as kb,  # type: ignore[arg-type]
        pytest.raises(ProgramError, match="E303") as caught,
    ):
        kb.count("q")
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.text == "X + 1"


@pytest.mark.slow
def test_well_founded_semantics_in_distributed_turns() -> None:
    game = {(1, 2), (2, 3), (3, 4), (5, 5), (5, 1), (6, 5)}
    won, drawn = games.solved(game)
    spark_settings = SparkSettings(strategy="rounds")
    options = {"engine": shared_session(), "semantics": "well-founded", "spark_settings": spark_settings}
    with KnowledgeBase(games.WIN, **options) as kb:  # type: ignore[arg-type]
        kb.insert("move", sorted(game))
        found = set(kb.facts("win")), set(kb.undefined("win"))
        lost = set(kb.query("move(_, X), not win(X)"))
    assert found == (games.ones(won), games.ones(drawn))
    assert lost == games.ones({position for _, position in game} - won - drawn)
