"""The pictures of the architecture are what the code is today, and the ways of changes do not get longer."""

from __future__ import annotations

import pytest

from docs.generate_architecture import PICTURES, files_on, pictures, way_of_a_deletion, way_of_a_rule
from tests.docs.console import rewrites_expectations

MOST_FILES_OF_A_DELETION = 25
MOST_FILES_OF_A_RULE = 40


def test_the_pictures_of_the_architecture_are_current() -> None:
    drawn = pictures()
    if rewrites_expectations():
        for name, text in drawn.items():
            (PICTURES / name).write_text(text, encoding="utf-8")
    committed = {path.name: path.read_text(encoding="utf-8") for path in PICTURES.iterdir()}
    stale = sorted(name for name in {*drawn, *committed} if drawn.get(name) != committed.get(name))
    assert stale == [], "run: python docs/generate_architecture.py"


@pytest.mark.parametrize(
    ("way", "most"), [(way_of_a_deletion, MOST_FILES_OF_A_DELETION), (way_of_a_rule, MOST_FILES_OF_A_RULE)]
)
def test_a_change_passes_through_no_more_files_than_before(way, most: int) -> None:
    """Who makes it shorter lowers the number."""
    assert len(files_on(way())) <= most
