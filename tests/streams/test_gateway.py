"""The gateway of the examples: readings from a file and from a broker, stopped and started again."""

from __future__ import annotations

import runpy
from pathlib import Path

import polars
import pytest

from corollary import KnowledgeBase
from tests.services.mosquitto import Mosquitto, mosquitto  # noqa: F401

GATEWAY = Path(__file__).parents[2] / "examples" / "plant" / "gateway.py"


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> list[str]:
        monkeypatch.setattr("sys.argv", ["gateway.py", *arguments])
        runpy.run_path(str(GATEWAY), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_readings_of_a_file(gateway, tmp_path: Path) -> None:
    first = gateway(str(tmp_path), "--readings", "2")
    assert first == ["oven runs again", "painter runs again", "press runs again", "oven stops", "painter stops"]
    second = gateway(str(tmp_path))
    assert second[0].startswith("left out: E451")
    assert second[1:] == ["oven runs again", "painter runs again"]
    assert gateway(str(tmp_path)) == []
    rows = polars.read_delta(str(tmp_path / "feed")).sort("version").select("op", "values").rows()
    assert sorted(rows[:3]) == [("delete", '["oven"]'), ("delete", '["painter"]'), ("delete", '["press"]')]
    assert len(rows) == 7


def test_readings_of_a_broker(gateway, tmp_path: Path, mosquitto: Mosquitto) -> None:  # noqa: F811
    address = ("--mqtt", f"127.0.0.1:{mosquitto.port}")
    mosquitto.publish("plant/press", ["79"], retain=True)
    assert gateway(str(tmp_path), *address, "--readings", "1") == [
        "oven runs again",
        "painter runs again",
        "press runs again",
    ]
    mosquitto.publish("plant/saw", ["61", "hot", "60"])  # nobody reads now
    mosquitto.stop()
    mosquitto.start()
    told = gateway(str(tmp_path), *address, "--readings", "3")
    assert told[:4] == ["oven stops", "painter stops", "press stops", "saw stops"]
    assert told[4].startswith("left out: E450")
    assert [line.rpartition(" ")[2] for line in told[5:]] == ["again"] * 4
    assert set(KnowledgeBase.open(tmp_path / "kb").facts("stops")) == set()
