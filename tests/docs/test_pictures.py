"""The pictures of the documentation are what `corollary graph` draws today."""

from __future__ import annotations

from pathlib import Path

from tests.docs.console import rewrites_expectations, shown_by

ROOT = Path(__file__).parents[2]


def test_the_picture_of_the_wind_farm_is_current(tmp_path: Path) -> None:
    drawn, committed = tmp_path / "wind_farm.svg", ROOT / "docs" / "pictures" / "wind_farm.svg"
    shown_by(f"corollary graph {ROOT / 'examples' / 'wind_farm' / 'wind_farm.dl'} -o {drawn}", tmp_path)
    if rewrites_expectations():
        committed.write_bytes(drawn.read_bytes())
    assert committed.read_text(encoding="utf-8") == drawn.read_text(encoding="utf-8")
