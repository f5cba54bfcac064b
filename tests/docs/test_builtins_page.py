"""docs/builtins.md is what the declarations say today."""

from __future__ import annotations

from docs.generate_builtins import PAGE, page
from tests.docs.console import rewrites_expectations


def test_the_page_of_built_ins_is_current() -> None:
    if rewrites_expectations():
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/generate_builtins.py"
