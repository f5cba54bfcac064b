"""Writes builtins.md from the declarations: `python docs/generate_builtins.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corollary.program.builtins import Builtin, chapters, spellings
from corollary.program.builtins.declaration import shortened

PAGE = Path(__file__).with_name("builtins.md")

_INTRODUCTION = """\
# Built-ins

All built-in functions and predicates, generated from the declarations in `corollary.program.builtins`; the examples are tests.
`corollary builtins NAME` describes one of them in a terminal.

- **In expressions**, such as `BIND(func:substring(S, 1, 3) AS T)` or `T = func:substring(S, 1, 3)`, you can use any name of a
  built-in. RIF names are prefixed names; `func`, `pred` and `xs` are predeclared. A name of several words may be written without
  its prefix, with underscores: `substring_before(S, "-")`.
- **As a literal in a body**, only prefixed names and names in capital letters are built-ins: `pred:contains(S, "a")`,
  `STRING_CONTAINS(S, "a")`. A built-in whose result is not a boolean has the result as an additional last argument:
  `STRING_LENGTH(S, N)`. Lower-case names are ordinary predicates there.
- **Modes.** A variable that is not bound otherwise gets the result. Addition, subtraction, multiplication and division are solved
  for any one missing argument: `ADD(X, 1, 3)`, and also `X + 1 = 3`. The solution is checked, so only exact solutions count:
  `X * 3 = 1` has none. `pred:iri-string` computes either of its arguments.
- **Types.** If there is no value, for example because an argument has the wrong type, the literal is false, its negation is true,
  and in a head the rule instance is discarded (or, with `on_error="stop"`, the run stops).
- Facts and rules cannot define a built-in.

To add your own functions, use `@corollary.function` ([user-defined functions](api.md#user-defined-functions)).
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
