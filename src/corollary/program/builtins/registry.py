"""All built-ins, and the functions of the host program, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from corollary.program.builtins.declaration import FUNC, PRED, Builtin, Parameters, expanded, shortened, words_of

Meaning = TypeVar("Meaning", bound=Callable[..., Any])

BUILTINS: dict[str, Builtin] = {}
"""Each built-in once, by its canonical name, in the order of the chapters."""
WORDS: dict[str, Builtin] = {}
"""Built-ins by their case-insensitive spellings, in small letters."""
_EXACT: dict[str, Builtin] = {}
_CONDITIONS: dict[str, Builtin] = {}
_HOST: dict[str, Builtin] = {}


def declare(
    *names: str, of: str, gives: str, summary: str, chapter: str,
    examples: Sequence[tuple[str, str | None]] = (), operator: str | None = None, inverse: str | None = None,
    raw: bool = False, is_predicate: bool | None = None,
) -> Callable[[Meaning], Meaning]:  # fmt: skip
    """Declare the decorated function as the meaning of a built-in. The first name is the canonical one."""

    def register(meaning: Meaning) -> Meaning:
        name, *others = map(expanded, names)
        predicate = name.startswith(PRED) if is_predicate is None else is_predicate
        words = words_of(names)
        builtin = Builtin(
            name, tuple(others), chapter, Parameters.of(of), gives, summary, meaning, tuple(examples), predicate,
            operator, expanded(inverse) if inverse else None, raw, words,
        )  # fmt: skip
        assert name not in BUILTINS, f"{name} is declared twice"
        BUILTINS[name] = builtin
        for spelling in (name, *others):
            assert spelling not in _EXACT, f"{spelling} is declared twice"
            _EXACT[spelling] = builtin
            if spelling.isupper() or "#" in spelling:
                _CONDITIONS[spelling] = builtin
        for word in words:
            assert word not in WORDS, f"{word} is declared twice"
            WORDS[word] = builtin
        return meaning

    return register


def find_builtin(name: str) -> Builtin | None:
    """Return the built-in that a name in an expression means, None if there is none."""
    return _EXACT.get(name) or WORDS.get(name.lower()) or _HOST.get(name)


def add_host_function(function: Builtin) -> None:
    _HOST[function.name] = function


def remove_host_function(name: str) -> None:
    del _HOST[name]


find_condition: Callable[[str], Builtin | None] = _CONDITIONS.get
"""The built-in that a name means as a literal of a body: full names and those in capitals only.

Words in small letters are predicates there, like any other.
"""


def meant_condition(name: str) -> Builtin | None:
    """Return the built-in that may be meant by the name of an unknown predicate."""
    local = name.replace("_", "-")
    spelled = (PRED + local, FUNC + local, name.upper())
    return next((found for one in spelled if (found := find_condition(one)) is not None), None)


def similar_names(name: str) -> list[str]:
    """Return names of built-ins to compare with a misspelt one: those with its prefix, or those in capital letters."""
    prefix = shortened(name).rpartition(":")[0]
    if shortened(name) != name:
        return [short for one in _EXACT if (short := shortened(one)).startswith(f"{prefix}:")]
    return [one for one in _EXACT if one.isupper()] if name.isupper() else []


def is_condition(name: str) -> bool:
    """Return whether `name(…)` in a body means that this built-in is true of its arguments."""
    found = find_condition(name)
    return found is not None and found.result == "boolean"


CHAPTERS = (
    "Comparison", "Numbers", "Booleans", "Strings", "Texts with a language", "Guards", "Casts", "Dates and times",
    "Durations", "Lists", "XML",
)  # fmt: skip


def chapters() -> Iterator[tuple[str, list[Builtin]]]:
    """Yield every chapter with its built-ins, in reading order."""
    for chapter in CHAPTERS:
        yield chapter, [builtin for builtin in BUILTINS.values() if builtin.chapter == chapter]


def spellings(builtin: Builtin) -> Iterator[str]:
    """Yield all names of a built-in except the canonical one."""
    yield from builtin.spellings
    yield from (word for word in builtin.words if word not in (builtin.name, *builtin.spellings))
