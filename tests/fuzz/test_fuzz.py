"""A short run of what `make fuzz` runs for minutes, and that it would find, shrink and show a fault."""

from __future__ import annotations

import pytest

from corollary.settings import OPTIMISATIONS, STRATEGIES, STREAM_STRATEGIES
from tests.budgets import examples
from tests.fuzz import __main__ as command
from tests.fuzz.drawing import script_of
from tests.fuzz.machine import Machine
from tests.fuzz.script import Script
from tests.fuzz.steps import Apply, Call, Care, Streamed
from tests.fuzz.world import World
from tests.generator import Change


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_every_state_of_some_scripts_is_what_the_oracle_says(first: int) -> None:
    for seed in range(first, first + examples(10)):
        difference = script_of(seed).difference()
        assert difference is None, f"make fuzz MINUTES=0 SEED={seed}: {difference}"


def test_scripts_have_everything() -> None:
    """Otherwise the test above would say little."""
    seen: set[str] = set()
    for seed in range(300):
        script = script_of(seed)
        seen.update(f"{name}={value}" for name, value in script.settings if isinstance(value, (str, bool, int)))
        seen.update(f"without {one}" for name, value in script.settings if name == "without" for one in value)
        seen |= {"a store"} if script.is_stored else set()
        seen |= {"small counts as large"} if script.is_small else set()
        for step in script.steps:
            seen.add(type(step).__name__)
            if isinstance(step, Streamed):
                seen |= {f"a stream by {step.strategy}", f"a stream from a {step.source}", step.policy}
            elif isinstance(step, (Apply, Call, Care)):
                seen.add(step.how if isinstance(step, Apply) else step.method if isinstance(step, Call) else step.what)
    wanted = {
        *(
            "Apply",
            "Ask",
            "Call",
            "Care",
            "Follow",
            "Compare",
            "Interrupt",
            "Limit",
            "Read",
            "Reopen",
            "Streamed",
            "a store",
            "reject",
            "fail",
        ),
        *("apply", "block", "abandon", "spoil", "insert", "delete", "load", "add_rules", "remove_rules"),
        *("compact", "vacuum", "verify", "old", "changes", "on_error=stop", "updates=False", "mixed_arities=True"),
        *("semantics=well-founded", "unsafe=universe", "precision=10", "stratification=global"),
        *("mode=demand", "mode=materialise", "index=yield", "index=hash"),
        *(f"strategy={one}" for one in STRATEGIES if one != "auto"),
        *(f"a stream by {one}" for one in STREAM_STRATEGIES),
        *(f"a stream from a {one}" for one in ("list", "delayed", "file", "iterator")),
        *(f"without {one}" for one in OPTIMISATIONS),
    }
    assert wanted - seen == set()


def test_the_same_seed_gives_the_same_script() -> None:
    assert script_of(5).code() == script_of(5).code() != script_of(6).code()


def test_a_difference_is_found_shrunk_and_shown_as_python(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the knowledge base had kept what it should delete: the model deletes nothing."""
    after = World.after

    def forgetful(world: World, change: Change) -> World | None:
        return after(world, Change(change.insert, (), change.add_rules, change.remove_rules))

    monkeypatch.setattr(World, "after", forgetful)
    assert command.main(["--minutes", "5", "--seed", "100", "--shrink", "20"]) == 1
    told = capsys.readouterr()
    assert "make fuzz MINUTES=0 SEED=" in told.out
    code = told.out.partition("\n")[2]
    assert code.count("kb.") <= 4
    exec(compile(code, "<fuzz>", "exec"), {})


def test_what_is_known_can_be_ignored(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(machine: Machine) -> None:
        raise command.Difference("planted", "always")

    monkeypatch.setattr(Machine, "check", differs)
    assert command.main(["--minutes", "0", "--seed", "1", "--ignore", "plant*"]) == 0
    assert "1 known ones" in capsys.readouterr().out
    assert isinstance(script_of(1), Script)
