"""Generated programs and changes, with saving, reopening, compacting and time travel in between: always what the oracle says."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.engines.embedded.maintenance import journal
from corollary.program import Constant
from corollary.settings import STRATEGIES
from corollary.store import store as store_module
from corollary.store import tables as tables_module
from tests.budgets import examples
from tests.engine_suite.scripts import apply, expected, minus, visible
from tests.engines.embedded.scenarios import deriving_everything
from tests.generator import EVERYTHING, POSITIVE, PURE, Scenario, scenarios

SMALL = {"max_facts": 8, "max_groups": 3, "max_changes": 4}
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # these tests are about contents, not about disks
EVENTS = ("nothing", "reopen", "compact", "copy", "reopen and compact")


@pytest.fixture(autouse=True, scope="module")
def _folding_often() -> object:
    """Small scripts fold, merge and rewrite, which usually takes thousands of changes; some are whole states, not changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "_FOLD_VERSIONS", 3)
        patch.setattr(store_module, "_INLINE_ROWS", 3)
        patch.setattr(tables_module, "_LEAST_TO_REWRITE", 8)
        patch.setattr(journal, "_LEAST_LARGE", 4)
        yield


def state_of(facts: object) -> dict:
    return {name: {tuple(map(Constant, row)) for row in facts[name].constants()} for name in facts}


def after(event: str, kb: KnowledgeBase, folder: Path) -> KnowledgeBase:
    match event:
        case "reopen":
            return KnowledgeBase.open(folder / "kb")
        case "compact":
            kb.compact()
        case "copy":
            copy = folder / f"copy{kb.version}"
            if not copy.exists():
                kb.save(copy)
            assert visible(KnowledgeBase.open(copy)) == visible(kb)
        case "reopen and compact":
            kb = KnowledgeBase.open(folder / "kb")
            kb.compact()
    return kb


def follow(scenario: Scenario, strategy: str, events: list[str], folder: Path, ways: Sequence[bool] = (False,)) -> None:
    """For each change `ways` say whether everything is derived from scratch."""
    program, *later = scenario.programs()
    kb = KnowledgeBase.create(folder / "kb", program, strategy=strategy)
    states = {1: expected(program)}
    for number, (change, changed) in enumerate(zip(scenario.changes, later, strict=True)):
        kb = after(events[number % len(events)], kb, folder)
        states[kb.version] = expected(scenario.programs()[number])
        with deriving_everything(ways[number % len(ways)]):
            apply(kb, change)
        states[kb.version] = expected(changed)
        assert visible(kb) == states[kb.version]
    assert [info.version for info in kb.history()] == list(range(1, kb.version + 1))
    for version, state in states.items():
        assert visible(KnowledgeBase.open(folder / "kb", version=version)) == state
        found = kb.diff(version, kb.version)
        assert state_of(found.inserted) == minus(states[kb.version], state)
        assert state_of(found.deleted) == minus(state, states[kb.version])
    copy = KnowledgeBase.open(folder / "kb", version=1)
    copy.save(folder / "other")
    other = KnowledgeBase.open(folder / "other")
    kb.changes(folder / "script.changes", since=1)
    other.apply(folder / "script.changes")
    assert visible(other) == states[kb.version]
    assert visible(KnowledgeBase.open(folder / "other")) == states[kb.version]
    assert not KnowledgeBase.verify(folder / "kb")


@settings(max_examples=examples(24))
@given(
    scenarios(EVERYTHING.but(**SMALL)),
    st.sampled_from(STRATEGIES),
    st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4),
)
def test_every_version_is_what_the_oracle_says(scenario: Scenario, strategy: str, events: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        follow(scenario, strategy, events, Path(folder))


@settings(max_examples=examples(24))
@given(
    scenarios(EVERYTHING.but(**SMALL)),
    st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=1, max_size=4),
)
def test_a_store_has_the_difference_of_a_change_that_was_followed_by_deriving_everything(
    scenario: Scenario, events: list[str], ways: list[bool]
) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        follow(scenario, "auto", events, Path(folder), [*ways, True])


@settings(max_examples=examples(16))
@given(
    scenarios(POSITIVE.but(**SMALL)),
    st.sampled_from(STRATEGIES),
    st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4),
)
def test_recursive_programs_are_kept_as_they_are(scenario: Scenario, strategy: str, events: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        follow(scenario, strategy, events, Path(folder))


@settings(max_examples=examples(16))
@given(
    scenarios(PURE.but(max_facts=20, max_groups=4, max_changes=4)),
    st.sampled_from(("auto", "dred-counting")),
    st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4),
)
def test_closures_are_kept_as_they_are(scenario: Scenario, strategy: str, events: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        follow(scenario, strategy, events, Path(folder))


def test_compacting_between_a_new_closure_and_the_next_change_counts_nothing_twice(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", "r1: p(X, Y) :- e(X, Y). r2: p(X, Z) :- p(X, Y), p(Y, Z), m.")
    kb.insert("e", [(1, 2), (2, 3), (1, 3), (3, 4)])
    kb.insert("m", [()])
    kb.insert("p", [(1, 4)])  # explicit, and found by the rules before
    with kb.transaction() as tx:
        tx.remove_rules("r2")
        tx.add_rules("r3: p(X, Z) :- p(X, Y), p(Y, Z).")
    kb.compact()
    kb.delete("p", [(1, 4)])
    kb.delete("e", [(1, 3)])
    kb.insert("e", [(4, 5)])
    assert visible(KnowledgeBase.open(tmp_path / "kb")) == visible(kb)
    assert not KnowledgeBase.verify(tmp_path / "kb")


@pytest.mark.parametrize("mixed", [False, True])
def test_a_change_file_removes_every_rule_that_went(tmp_path: Path, mixed: bool) -> None:
    text = "e(1). x1: q(X) :- e(X). x2: q(Y) :- e(Y). x3: q(Z) :- e(Z). s(X) :- q(X)."
    kb = KnowledgeBase.create(tmp_path / "kb", text, mixed_arities=mixed)
    kb.remove_rules("x1", "x3")
    other = KnowledgeBase.open(tmp_path / "kb", version=1)
    other.save(tmp_path / "other")
    for version in (2, 3):
        kb.changes(tmp_path / f"{version}.changes", since=version - 1)
        with KnowledgeBase.open(tmp_path / "other") as other:
            other.apply(tmp_path / f"{version}.changes")
            assert [rule.name for rule in other.rules()] == [rule.name for rule in kb.rules()]
            assert visible(other) == visible(kb)
        if version == 2:
            kb.remove_rules("x2")
