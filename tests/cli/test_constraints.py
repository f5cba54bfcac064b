"""`corollary check --constraints`."""

import json
from pathlib import Path

from tests.cli.command import corollary

PROGRAM = "r4: h(A, B, C) :- s(3, X, A), t(X, B), w(@X, C).\ns(3, 1, 2). t(1, 2). w(1, 2).\n"


def test_it_shows_the_minimal_set_of_each_rule(tmp_path: Path) -> None:
    (tmp_path / "program.dl").write_text(PROGRAM)
    done = corollary("check", "program.dl", "--constraints", cwd=tmp_path)
    assert done.returncode == 0
    shown = [line.split("│")[1:] for line in done.stdout.splitlines() if line.count("│") == 2]
    assert [[cell.strip() for cell in row] for row in shown] == [
        ["w.1 = local address", "AddressS"],
        ["s.1 = 3", "CS"],
        ["t.1 = s.2", "IS"],
        ["w.1 = s.2", "IS"],
    ]


def test_as_json_it_has_all_elements_as_well(tmp_path: Path) -> None:
    (tmp_path / "program.dl").write_text(PROGRAM)
    found = json.loads(corollary("check", "program.dl", "--constraints", "--json", cwd=tmp_path).stdout)
    (rule,) = found["constraints"]
    assert rule["rule"] == "r4"
    assert "w.1 = t.1" in rule["sce"]
    assert rule["mce"][-1] == {"element": "w.1 = s.2", "type": "IS"}
    without = json.loads(corollary("check", "program.dl", "--json", cwd=tmp_path).stdout)
    assert "constraints" not in without
