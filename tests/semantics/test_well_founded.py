"""Well-founded semantics: true, false and undefined, kept exact under changes."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.language import parse_program
from corollary.program import Program
from corollary.settings import STRATEGIES
from tests.budgets import examples
from tests.oracle.well_founded import well_founded
from tests.semantics.following import Facts, State, assert_facts, change, follow, rows, states

WIN = "win(X) :- move(X, Y), not win(Y)."
Game = set[tuple[int, int]]


def solved(moves: Game) -> tuple[set[int], set[int]]:
    """The positions that are won and those that are drawn, from the ends of the game backwards."""
    positions = {position for move in moves for position in move}
    won: set[int] = set()
    lost: set[int] = set()
    while True:
        after = {at: [to for origin, to in moves if origin == at] for at in positions - won - lost}
        new_won = {at for at, next_ones in after.items() if any(to in lost for to in next_ones)}
        new_lost = {at for at, next_ones in after.items() if all(to in won for to in next_ones)}
        if not new_won | new_lost:
            return won, positions - won - lost
        won |= new_won
        lost |= new_lost


def ones(positions: set[int]) -> set[tuple[int]]:
    return {(position,) for position in positions}


@pytest.mark.parametrize(("positions", "moves", "seed"), [(8, 10, 1), (30, 45, 2), (200, 260, 3)])
def test_games_are_what_retrograde_analysis_says(positions: int, moves: int, seed: int) -> None:
    chance = random.Random(seed)
    game = {(chance.randrange(positions), chance.randrange(positions)) for _ in range(moves)}
    kb = KnowledgeBase(WIN, semantics="well-founded")
    kb.insert("move", sorted(game))
    won, drawn = solved(game)
    assert (set(kb.facts("win")), set(kb.undefined("win"))) == (ones(won), ones(drawn))


def test_a_game_is_followed_move_by_move() -> None:
    chance = random.Random(4)
    game: Game = set()
    kb = KnowledgeBase(WIN, semantics="well-founded")
    for _ in range(40):
        new = {(chance.randrange(10), chance.randrange(10)) for _ in range(chance.randrange(4))}
        gone = set(chance.sample(sorted(game), min(len(game), chance.randrange(3))))
        before = set(kb.facts("win"))
        with kb.transaction() as transaction:
            transaction.delete("move", sorted(gone))
            transaction.insert("move", sorted(new))
        game = (game - gone) | new
        won, drawn = solved(game)
        assert (set(kb.facts("win")), set(kb.undefined("win"))) == (ones(won), ones(drawn))
        assert transaction.result is not None
        assert set(transaction.result.inserted["win"]) == ones(won) - before
        assert set(transaction.result.deleted["win"]) == before - ones(won)


# -- generated programs ------------------------------------------------------------------------------------------------

FACTS = ("d(1)", "d(2)", "d(3)", "e(1, 2)", "e(2, 3)", "e(3, 1)", "e(2, 2)", "p(1)", "q(3)", "s(1, 3)")


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Rules for p, q, r (of one argument) and s (of two), with any of them negated."""
    literals = st.sampled_from(
        ("p({0})", "q({0})", "r({0})", "s({0}, {1})", "e({0}, {1})", "d({0})", "s({0}, _)", "s(_, {1})")
    )
    names = st.permutations(("X", "Y"))
    positive = [draw(literals).format(*draw(names)) for _ in range(draw(st.integers(0, 2)))]
    negative = [f"not {draw(literals).format(*draw(names))}" for _ in range(draw(st.integers(0, 2)))]
    head = draw(st.sampled_from(("p(X)", "q(X)", "r(X)", "s(X, Y)", "p(Y)")))
    limits = draw(st.sampled_from(("d(X), d(Y)", "e(X, Y)")))
    return f"{head} :- {', '.join([limits, *positive, *negative])}"


RULES = st.lists(rules(), min_size=2, max_size=5)


def true_facts(program: Program) -> Facts:
    return well_founded(program)[0]


@given(RULES.flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=examples(50))
def test_what_is_true_follows_every_change(found: list[State]) -> None:
    follow(found, true_facts, semantics="well-founded")


@given(RULES.flatmap(lambda found: states(FACTS, found, 2)))
@settings(max_examples=examples(30))
def test_what_is_undefined_follows_every_change(found: list[State]) -> None:
    kb = KnowledgeBase(found[0].text, semantics="well-founded")
    for before, after in [(found[0], found[0]), *pairwise(found)]:
        kb.apply(change(before, after))
        for name, expected in well_founded(parse_program(after.text))[1].items():
            assert rows(kb.undefined(name)) == expected, f"{name} of\n{after.text}"


@given(RULES, st.lists(st.sampled_from(FACTS), unique=True), rules(), st.sampled_from(("demand", "auto")))
@settings(max_examples=examples(40))
def test_a_query_is_answered_like_a_rule_of_its_own(found: list[str], facts: list[str], asked: str, mode: str) -> None:
    text = "\n".join(f"{one}." for one in [*facts, *found])
    query = asked.partition(" :- ")[2]
    expected = true_facts(parse_program(f"{text} answer(X, Y) :- {query}."))["answer"]
    kb = KnowledgeBase(text, semantics="well-founded", mode=mode)
    answers = kb.query(query)
    order = [answers.variables.index(name) for name in ("X", "Y")]
    assert {tuple(row[place] for place in order) for row in rows(answers)} == expected


@given(RULES, st.lists(st.sampled_from(FACTS), unique=True))
@settings(max_examples=examples(40))
def test_every_stable_model_lies_between_what_is_true_and_what_is_possible(found: list[str], facts: list[str]) -> None:
    text = "\n".join(f"{one}." for one in [*facts, *found])
    true, undefined = well_founded(parse_program(text))
    surely, perhaps = ({f"{name}{_numbers(row)}" for name in one for row in one[name]} for one in (true, undefined))
    for model in stable_models(text):
        known = {atom for atom in model if not atom.startswith("hidden")}
        assert surely <= known <= surely | perhaps


def _numbers(row: tuple[object, ...]) -> str:
    return f"({','.join(str(constant.value) for constant in row)})"  # type: ignore[attr-defined]


def stable_models(text: str) -> list[set[str]]:
    """clingo has no negation of "there is one": a predicate of its own says it."""
    text = text.replace("not s(X, _)", "not hidden1(X)").replace("not s(_, X)", "not hidden2(X)")
    text = text.replace("not s(Y, _)", "not hidden1(Y)").replace("not s(_, Y)", "not hidden2(Y)")
    control = clingo.Control(["--warn=none", "--models=5"], message_limit=0)
    control.add("base", [], f"{text}\nhidden1(X) :- s(X, _). hidden2(X) :- s(_, X).")
    control.ground([("base", [])])
    with control.solve(yield_=True) as handle:
        return [{str(symbol) for symbol in model.symbols(atoms=True)} for model in handle]


# -- what else there is to say -----------------------------------------------------------------------------------------


def test_rules_that_look_at_undefined_facts_are_undefined_too() -> None:
    kb = KnowledgeBase(
        f"{WIN} quiet(X) :- position(X), not win(X). loud(X) :- position(X), not quiet(X). position(1). position(3). "
        "move(1, 2). move(3, 3).",
        semantics="well-founded",
    )
    assert (list(kb.facts("quiet")), list(kb.undefined("quiet"))) == ([], [(3,)])
    assert (list(kb.facts("loud")), list(kb.undefined("loud"))) == ([(1,)], [(3,)])


def test_a_stratified_program_has_no_undefined_facts_and_is_not_rewritten() -> None:
    text = "p(1). p(2). q(2). r(X) :- p(X), not q(X)."
    kb = KnowledgeBase(text, semantics="well-founded")
    assert not kb.analysis.is_lowered
    assert (list(kb.facts("r")), list(kb.undefined("r"))) == ([(1,)], [])


def test_aggregates_need_facts_that_are_true_or_false() -> None:
    with pytest.raises(ProgramError, match="E208"):
        KnowledgeBase(f"{WIN} wins(count(X)) :- win(X).", semantics="well-founded")


@pytest.mark.parametrize("body", ["win(X)", "position(X), not win(X)"])
def test_aggregates_of_queries_need_them_too(body: str) -> None:
    kb = KnowledgeBase(f"{WIN} move(1, 1). position(1).", semantics="well-founded")
    with pytest.raises(ProgramError, match="E208"):
        kb.query(f"AGGREGATE({body}) WITH COUNT(X) AS N")
    assert list(kb.query("AGGREGATE(move(X, _)) WITH COUNT(X) AS N")) == [(1,)]


@pytest.mark.parametrize("mode", ["demand", "materialise", "auto"])
def test_a_query_does_not_take_what_is_undefined_for_false(mode: str) -> None:
    text = f"{WIN} move(1, 2). move(2, 1). position(1). position(7)."
    kb = KnowledgeBase(text, semantics="well-founded", mode=mode)
    assert list(kb.query("position(X), not win(X)")) == [(7,)]
    assert (len(kb.query("not win(1)")), len(kb.query("win(1)")), len(kb.query("not win(7)"))) == (0, 0, 1)


def test_a_stored_knowledge_base_is_asked_the_same(tmp_path: Path) -> None:
    KnowledgeBase(f"{WIN} move(1, 2). move(2, 1). move(3, 4).", semantics="well-founded").save(tmp_path / "games")
    with KnowledgeBase.open(tmp_path / "games") as kb:
        assert list(kb.query("move(_, X), not win(X)")) == [(4,)]


def test_an_aggregate_beside_the_negation_is_no_matter() -> None:
    kb = KnowledgeBase(f"{WIN} moves(count(Y)) :- move(_, Y). move(1, 2).", semantics="well-founded")
    assert list(kb.facts("moves")) == [(1,)]


def test_without_the_setting_the_cycle_is_shown() -> None:
    with pytest.raises(ProgramError, match="negates win"):
        KnowledgeBase(WIN)


@pytest.mark.parametrize("updates", [True, False])
def test_what_is_possible_is_no_predicate_of_the_user(updates: bool) -> None:
    kb = KnowledgeBase(f"{WIN} move(1, 1).", semantics="well-founded", updates=updates)
    result = kb.apply(change(State((), {}), State(("move(1, 2)",), {})))
    assert sorted(result.inserted) == ["move", "win"]
    assert kb.predicates() == ["move", "win"]
    assert_facts(kb, true_facts(parse_program(f"{WIN} move(1, 1). move(1, 2).")), "")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_store_that_follows_a_game_is_what_verify_expects(tmp_path: Path, strategy: str) -> None:
    kb = KnowledgeBase.create(tmp_path / "games", WIN, semantics="well-founded", strategy=strategy)
    changes = [
        Change(insert={"move": [(1, 2), (2, 3), (4, 4)]}),
        Change(add_rules=("r9: win(X) :- move(X, Y), lost(Y). r10: lost(X) :- move(_, X), not win(X).",)),
        Change(delete={"move": [(2, 3)]}),
        Change(remove_rules=("r9",)),
    ]
    for one in changes:
        kb.apply(one)
        assert KnowledgeBase.verify(tmp_path / "games") == []


def test_a_closure_of_what_is_possible_is_no_predicate_of_the_user() -> None:
    rules = "q(X, Y) :- s(X, Y). q(X, Y) :- q(X, Z), s(Z, Y). s(X, Y) :- e(X, Y), not s(Y, X)."
    kb = KnowledgeBase(rules, semantics="well-founded")
    kb.materialise()
    assert sorted(kb.apply(Change(insert={"e": [(2, 4)]})).inserted) == ["e", "q", "s"]
    (result,) = kb.stream([Change(insert={"e": [(4, 5)]})])
    assert sorted(result.inserted) == ["e", "q", "s"]


def test_strategies_agree() -> None:
    for strategy in ("auto", "dred", "dred-counting", "backward-forward", "recompute"):
        kb = KnowledgeBase(f"{WIN} lost(X) :- move(_, X), not win(X).", semantics="well-founded", strategy=strategy)
        kb.insert("move", [(1, 2), (2, 3), (4, 4)])
        assert list(kb.facts("lost")) == [(3,)]
        kb.delete("move", [(2, 3)])
        assert (list(kb.facts("lost")), list(kb.undefined("lost"))) == ([(2,)], [(4,)])


def test_a_game_without_its_negation_is_counted_from_the_start() -> None:
    rules = "p(X, Y) :- m(X, Y). p(X, Z) :- p(X, Y), p(Y, Z), c(X). p(X, X) :- w(X). w(X) :- p(X, X)."
    game = "win: w(X) :- m(X, Y), not w(Y), p(X, Y)."
    moves = [(at, to) for at in range(4) for to in range(4) if (at + 2 * to) % 3]
    stated = "c(0). c(1). c(2)."
    kb = KnowledgeBase(f"{game} {rules} {stated}", semantics="well-founded", strategy="dred-counting")
    kb.insert("m", moves[3:])
    kb.materialise()
    kb.insert("m", moves[:3])
    kb.apply(Change(delete={"m": moves[:1]}, remove_rules=("win",)))
    kb.delete("m", moves[1:6])
    left = " ".join(f"m{move}." for move in moves[6:])
    assert_facts(kb, true_facts(parse_program(f"{rules} {stated} {left}")), "")
