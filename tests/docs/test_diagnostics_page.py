"""docs/diagnostics.md is what the catalogue and the golden cases say today."""

from __future__ import annotations

from docs.generate_diagnostics import PAGE, page
from tests.docs.console import rewrites_expectations


def test_the_page_of_diagnostics_is_current() -> None:
    if rewrites_expectations():
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/generate_diagnostics.py"
