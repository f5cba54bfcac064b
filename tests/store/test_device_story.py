"""The story of the wind farm: rules are pushed to a device, derive there, and are withdrawn."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from corollary import KnowledgeBase

STORY = Path(__file__).parents[2] / "examples" / "wind_farm" / "device.py"


def test_rules_travel_to_a_device_and_are_withdrawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["device.py", str(tmp_path)])
    runpy.run_path(str(STORY), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "the device starts with 366 pairs of neighbours",
        "it takes 30 readings; anomalies: 0",
        "the rules arrive; anomalies: farm1_t11 farm1_t12 farm2_t06 farm2_t11",
        "the readings travel back: the cloud sees 4 anomalies, too",
        "the rules are withdrawn; anomalies: 0, readings: 30",
        "one version ago there were 4",
    ]
    device, cloud = KnowledgeBase.open(tmp_path / "device"), KnowledgeBase.open(tmp_path / "cloud")
    assert {rule.name for rule in device.program.rules} == {rule.name for rule in cloud.program.rules} == {"r1", "r2"}
    assert not KnowledgeBase.verify(tmp_path / "device")
    assert not KnowledgeBase.verify(tmp_path / "cloud")
