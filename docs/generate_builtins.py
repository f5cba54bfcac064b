"""Writes builtins.md from the declarations: `python docs/generate_builtins.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corollary.program.builtins import Builtin, chapters, spellings
from corollary.program.builtins.declaration import shortened

PAGE = Path(__file__).with_name("builtins.md")

_INTRODUCTION = """\
# Built-ins

Everything that can be computed or tested, from the declarations in `corollary.program.builtins`; the examples are tests.
`corollary builtins NAME` shows the same in a terminal. What the words of this page mean:

- **In an expression**, `BIND(func:substring(S, 1, 3) AS T)` or `T = func:substring(S, 1, 3)`, any of its names may be used. The
  names of RIF are prefixed names; `func`, `pred` and `xs` need no declaration. A name of several words may be written without
  its prefix, with underscores: `substring_before(S, "-")`.
- **As a literal of a body**, the names in capital letters and the prefixed names are built-ins: `pred:contains(S, "a")`,
  `STRING_CONTAINS(S, "a")`. One that gives no boolean has its result as the last argument: `STRING_LENGTH(S, N)`. Words in
  small letters are predicates there, like any other.
- **Modes.** A variable that nothing else limits gets the result. Addition, subtraction, multiplication and division are solved
  for any one missing argument: `ADD(X, 1, 3)`, and `X + 1 = 3` as well. What was solved is compared afterwards, so that only
  exact solutions count: `X * 3 = 1` has none. `pred:iri-string` gives either of its arguments.
- **Types.** What has no value here, also for an argument of another type, makes a literal false and its negation true, and
  discards the instance of a rule (or stops the run, with `on_error="stop"`).
- A fact or a rule cannot define a built-in.

Functions of your own program are made known by `@corollary.function` ([API](api.md#user-defined-functions)).
"""


def page() -> str:
    return "\n".join([_INTRODUCTION, *_contents(), *_chapters()]).rstrip("\n") + "\n"


def _contents() -> Iterator[str]:
    links = ", ".join(f"[{name}](#{name.lower().replace(' ', '-')})" for name, _ in chapters())
    yield f"{links}\n"


def _chapters() -> Iterator[str]:
    for name, members in chapters():
        yield f"## {name}\n"
        yield "| built-in | meaning | also | examples |"
        yield "|---|---|---|---|"
        yield from map(_row, members)
        yield ""


def _row(builtin: Builtin) -> str:
    signature = _code(f"{builtin.shown}({builtin.parameters})")
    also = ", ".join(_code(shortened(name)) for name in spellings(builtin))
    examples = "<br>".join(
        f"{_code(call)} {'has no value' if value is None else f'is {_code(value)}'}" for call, value in builtin.examples
    )
    summary = builtin.summary if builtin.result == "boolean" else f"{builtin.summary}: {builtin.result}"
    return f"| {signature} | {_cell(summary)} | {also} | {examples} |"


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
