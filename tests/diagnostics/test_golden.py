"""Every code of the catalogue, with its exact text: `tests/golden/diagnostics/<case>/{program.dl, expected.err}`.

`UPDATE_GOLDEN=1 pytest tests/diagnostics` writes the expected files anew; read the difference before you keep it.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corollary.analysis import analyse_texts, checked, delete_rules
from corollary.diagnostics import CATALOGUE, Diagnostic, ProgramError, Source, render_all
from corollary.language import parse_program, read_source
from corollary.reference import evaluate

GOLDEN = Path(__file__).parent.parent / "golden" / "diagnostics"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
PROGRAM = "program.dl"


def check() -> tuple[Diagnostic, ...]:
    return analyse_texts(read_source(PROGRAM)).diagnostics


def delete_a_rule() -> None:
    delete_rules(checked(parse_program(read_source(PROGRAM))).graph, ["stepp"])


def run() -> None:
    evaluate(parse_program(read_source(PROGRAM)))


def run_with_a_limit() -> None:
    evaluate(parse_program(read_source(PROGRAM)), max_facts=100)


def check_a_long_line() -> tuple[Diagnostic, ...]:
    return analyse_texts(Source("edge(1, 2). " * 100_000, PROGRAM)).diagnostics


# What no program text alone can provoke, or only one that is too large to keep.
PRODUCERS: dict[str, Callable[[], tuple[Diagnostic, ...] | None]] = {
    "E206": delete_a_rule,
    "E301": run,
    "E302": run_with_a_limit,
    "W103": check_a_long_line,
}


def diagnostics_of(case: str) -> tuple[Diagnostic, ...]:
    try:
        found = PRODUCERS.get(case[:4], check)()
    except ProgramError as error:
        return error.diagnostics
    assert found is not None, "nothing was wrong"
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_text_of_the_diagnostics_is_as_expected(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / case)
    found = diagnostics_of(case)
    text = render_all(found) + "\n"
    expected = Path("expected.err")
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
    code = re.match(r"[EW]\d{3}_", case)
    assert code is None or case[:4] in {diagnostic.code for diagnostic in found}


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_of_the_catalogue_has_a_golden_case(code: str) -> None:
    assert any(case.startswith(f"{code}_") for case in CASES), f"{code} has no folder in tests/golden/diagnostics"
