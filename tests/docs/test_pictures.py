"""The pictures of the documentation are what `corollary graph` and `corollary yield` draw today."""

from __future__ import annotations

from pathlib import Path

from tests.docs.console import rewrites_expectations, shown_by
from tests.docs.fences import blocks_of

ROOT = Path(__file__).parents[2]


def test_the_picture_of_the_wind_farm_is_current(tmp_path: Path) -> None:
    program = ROOT / "examples" / "wind_farm" / "wind_farm.dl"
    _is_current(f"corollary graph {program}", ROOT / "docs" / "pictures" / "wind_farm.svg", tmp_path)


def test_the_picture_of_the_yield_index_is_current(tmp_path: Path) -> None:
    (block,) = (one for one in blocks_of(ROOT / "docs" / "yield.md") if one.title == "family.dl")
    (tmp_path / "family.dl").write_text(block.text, encoding="utf-8")
    _is_current("corollary yield family.dl", ROOT / "docs" / "pictures" / "yield" / "family.svg", tmp_path)


def _is_current(command: str, committed: Path, folder: Path) -> None:
    drawn = folder / "drawn.svg"
    shown_by(f"{command} -o {drawn}", folder)
    if rewrites_expectations():
        committed.write_bytes(drawn.read_bytes())
    assert committed.read_text(encoding="utf-8") == drawn.read_text(encoding="utf-8")
