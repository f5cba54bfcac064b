"""Writes diagnostics.md from the catalogue and the golden cases: `python docs/generate_diagnostics.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corollary.diagnostics import CATALOGUE, DiagnosticKind

PAGE = Path(__file__).with_name("diagnostics.md")
CASES = Path(__file__).parents[1] / "tests" / "golden" / "diagnostics"

_INTRODUCTION = """\
# Diagnostics

All errors and warnings, with an example of each. Codes are stable, so scripts can rely on them
(`corollary check --json` prints them). A program with errors does not run; warnings do not stop it.

A message has a code, the position as `file:line:column`, the line with a caret under the mistake, sometimes notes, and
usually a hint.
"""
_CHAPTERS = {
    "E1": "Errors in the text",
    "E2": "Errors in the meaning of a program",
    "E3": "Errors during evaluation",
    "E4": "Errors in data",
    "W": "Warnings",
}
_WIDTH, _LINES = 110, 8  # a longer program is not shown: its message shows the line that matters


def page() -> str:
    return "\n".join([_INTRODUCTION, *_contents(), *_chapters()]).rstrip("\n") + "\n"


def _contents() -> Iterator[str]:
    yield "| code | about |"
    yield "|---|---|"
    yield from (f"| [{kind.code}](#{kind.code.lower()}) | {kind.title} |" for kind in CATALOGUE.values())
    yield ""


def _chapters() -> Iterator[str]:
    for prefix, title in _CHAPTERS.items():
        yield f"## {title}\n"
        for kind in CATALOGUE.values():
            if kind.code.startswith(prefix):
                yield from _entry(kind)


def _entry(kind: DiagnosticKind) -> Iterator[str]:
    yield f"### {kind.code}\n"
    yield f"{kind.title[0].upper()}{kind.title[1:]}.\n"
    message = _message(kind)
    if message is None:
        return
    case, text = message
    if program := _program(case):
        yield f"```text\n{program}\n```\n"
    yield f"```text\n{text}\n```\n"


def _message(kind: DiagnosticKind) -> tuple[Path, str] | None:
    """The first case of this code whose message has a hint, or the first one, with that message."""
    found: list[tuple[Path, str]] = []
    for case in sorted(CASES.glob(f"{kind.code}_*")):
        messages = (case / "expected.err").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
        found += [(case, message) for message in messages if message.startswith(f"{kind.severity.value}[{kind.code}]")]
    return next((one for one in found if "= hint:" in one[1]), found[0] if found else None)


def _program(case: Path) -> str | None:
    """The program of a case where it is short and readable."""
    file = case / "program.dl"
    if not file.exists():
        return None
    text = file.read_bytes().decode("utf-8", errors="replace").strip("\n")
    lines = text.split("\n")
    readable = all(line.isprintable() and "\ufffd" not in line and len(line) <= _WIDTH for line in lines)
    return text if text and readable and len(lines) <= _LINES else None


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
