"""docs/builtins.md is what the declarations say today."""

from __future__ import annotations

from pathlib import Path

from corollary.program.builtins import BUILTINS
from docs.generate_builtins import PAGE, page
from tests.docs.console import rewrites_expectations

README = Path(__file__).parents[2] / "README.md"


def test_there_are_as_many_as_the_readme_says() -> None:
    assert "more than 300 built-ins" in README.read_text(encoding="utf-8")
    assert len(BUILTINS) > 300


def test_the_page_of_built_ins_is_current() -> None:
    if rewrites_expectations():
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/generate_builtins.py"
