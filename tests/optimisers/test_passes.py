"""What each pass makes of a rule: `fixtures/<pass>.dl` has pairs of rules, before and after, with an empty line between pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary.language import parse_program, print_rule
from corollary.planning.optimisers import PASSES
from corollary.planning.optimisers.order import producers_first
from corollary.planning.optimisers.subsumption import without_subsumed

FIXTURES = Path(__file__).parent / "fixtures"
EXACT = "// where all constants are exact"


def blocks(name: str) -> list[list[str]]:
    text = (FIXTURES / f"{name}.dl").read_text(encoding="utf-8")
    parts = [[line for line in part.splitlines() if line] for part in text.split("\n\n")]
    return [part for part in parts if part]


def test_every_pass_has_its_fixtures() -> None:
    assert {path.stem for path in FIXTURES.iterdir()} == {*PASSES, "subsumed-rules", "rule-order"}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_changes_rules_as_its_fixtures_say(name: str) -> None:
    for block in blocks(name):
        exact = block[0] == EXACT
        before, after = (line for line in block if line != EXACT)
        (rule,) = parse_program(before).rules
        assert print_rule(PASSES[name](rule, exact=exact)) == after


@pytest.mark.parametrize("name", ["subsumed-rules", "rule-order"])
def test_a_pass_over_rules_keeps_those_that_its_fixtures_say(name: str) -> None:
    change = {"subsumed-rules": without_subsumed, "rule-order": producers_first}[name]
    for before, after in zip(*[iter(blocks(name))] * 2, strict=True):
        found = change(parse_program("\n".join(before)).rules)
        assert [print_rule(rule) for rule in found] == after
