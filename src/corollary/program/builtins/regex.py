r"""Regular expressions of XPath and XML Schema, evaluated in linear time if their pattern allows it.

RE2 takes linear time in the length of the text. It has no back-references, allows at most 1,000 repetitions, and
differs from backtracking engines if a repetition matches nothing, which may change what is replaced. Such patterns run
in another engine with a time limit: a text that takes too long is reported as a limit (E302).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Protocol

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program.arithmetic import EvaluationError
from corollary.program.builtins.regex_syntax import RegexTree, literal_regex, python_text, re2_text, read_regex, size_of

_DEEPEST = 100
_RE2_MEMORY = 1 << 25  # bytes for the program of one pattern and its states
_LARGEST = 50_000  # ranges of characters in a pattern with its repetitions expanded, as RE2 compiles it
_LARGEST_OF_ALL = 200_000  # characters of any pattern; the other engine expands repetitions, too
LONGEST_MATCH = 2.0
"""Processor seconds that one match may take if time is not linear."""
_SECONDS_PER_TEXT, _SECONDS_PER_CHARACTER, _SECONDS_AT_FIRST = 1e-3, 1e-6, 5.0


class _Engine(Protocol):
    """An engine that runs a pattern: RE2 over bytes, or backtracking over texts."""

    def has_match(self, text: str) -> bool: ...

    def matches_all(self, text: str) -> bool: ...

    def replaced(self, text: str, by: RegexReplacement) -> str: ...


class RegexReplacement:
    """The replacement of each match: texts, and numbers of groups."""

    def __init__(self, parts: Iterable[str | int]) -> None:
        self.parts = tuple(parts)

    @property
    def for_arrow(self) -> str | None:
        """The replacement in Arrow's notation; None if that cannot refer to a group."""
        if any(isinstance(part, int) and part > 9 for part in self.parts):
            return None
        return "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in self.parts)

    def of(self, group: Callable[[int], str | None]) -> str:
        return "".join((group(part) or "") if isinstance(part, int) else part for part in self.parts)


class CompiledRegex:
    """A compiled pattern. `linear` is its text for RE2 if that can run it; `linear_groups` if its groups are the same."""

    def __init__(self, pattern: str, tree: RegexTree) -> None:
        self.groups = tree.groups
        written = None if tree.has_back_references or size_of(tree.root, by_ranges=True) > _LARGEST else re2_text(tree)
        compiled_by_re2 = _compile_re2(written) if written is not None else None
        self.linear = written if compiled_by_re2 is not None else None
        self.linear_groups = self.linear is not None and not tree.repeats_nothing
        bounded: _Engine | None = None
        if not self.linear_groups:
            bounded = _Bounded(pattern, python_text(tree))
        self._engine: _Engine = _Linear(compiled_by_re2) if compiled_by_re2 is not None else _needed(bounded)
        self._replacing: _Engine = self._engine if self.linear_groups else _needed(bounded)

    def search(self, text: str) -> bool:
        """Return whether a part of the text matches."""
        return self._engine.has_match(text)

    def fullmatch(self, text: str) -> bool:
        """Return whether the whole text matches."""
        return self._engine.matches_all(text)

    def sub(self, by: RegexReplacement, text: str) -> str:
        """Return the text with each match replaced. The pattern must not match the empty text."""
        return self._replacing.replaced(text, by)


def _needed(engine: _Engine | None) -> _Engine:
    assert engine is not None
    return engine


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str = "") -> CompiledRegex:
    """Return a pattern of XPath with its flags `s m i x q`; raise `EvaluationError` if it is invalid."""
    if not set(flags) <= set("smixq"):
        raise EvaluationError(f"'{flags}' has an unknown flag of regular expressions")
    tree = literal_regex(pattern, flags) if "q" in flags else read_regex(pattern, flags)
    if tree.depth > _DEEPEST:
        raise EvaluationError(f"'{pattern[:40]}' is nested too deeply for a regular expression")
    if size_of(tree.root, by_ranges=False) > _LARGEST_OF_ALL:
        raise EvaluationError(f"'{pattern[:40]}' repeats too much for a regular expression")
    return CompiledRegex(pattern, tree)


# -- in linear time ------------------------------------------------------------------------------------------------------


def _compile_re2(written: str) -> Any:
    """Return the pattern of RE2; None if it is too large for it."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _RE2_MEMORY
    try:
        return re2.compile(written.encode(), options)
    except re2.error:
        return None


class _Linear:
    def __init__(self, found: Any) -> None:
        self._found = found

    def has_match(self, text: str) -> bool:
        return self._found.search(text.encode()) is not None

    def matches_all(self, text: str) -> bool:
        return self._found.fullmatch(text.encode()) is not None

    def replaced(self, text: str, by: RegexReplacement) -> str:
        data, kept, end = text.encode(), [], 0
        for match in self._found.finditer(data):
            kept.append(data[end : match.start()].decode())
            kept.append(by.of(lambda group, match=match: _decoded(match[group])))  # type: ignore[misc]
            end = match.end()
        return "".join((*kept, data[end:].decode()))


def _decoded(found: bytes | None) -> str | None:
    return found.decode() if found is not None else None


# -- with a limit on time ------------------------------------------------------------------------------------------------


class _Bounded:
    """Backtracking with a time limit for each match, and one for all of them together, in proportion to their texts."""

    def __init__(self, pattern: str, written: str) -> None:
        import regex

        self._pattern = pattern
        try:
            self._found = regex.compile(written, regex.VERSION0)
        except (regex.error, OverflowError, RecursionError, MemoryError) as error:
            raise EvaluationError(f"'{pattern[:40]}' is not a regular expression") from error
        self._left = _SECONDS_AT_FIRST

    def has_match(self, text: str) -> bool:
        return self._run(text, lambda timeout: self._found.search(text, timeout=timeout)) is not None

    def matches_all(self, text: str) -> bool:
        return self._run(text, lambda timeout: self._found.fullmatch(text, timeout=timeout)) is not None

    def replaced(self, text: str, by: RegexReplacement) -> str:
        found = self._run(
            text, lambda timeout: self._found.sub(lambda match: by.of(match.group), text, timeout=timeout)
        )
        return str(found)

    def _run(self, text: str, match: Callable[[float], Any]) -> Any:
        started = time.thread_time()
        try:
            return match(LONGEST_MATCH)
        except TimeoutError:
            raise self._too_slow() from None
        finally:
            allowed = _SECONDS_PER_TEXT + _SECONDS_PER_CHARACTER * len(text)
            self._left = min(_SECONDS_AT_FIRST, self._left - (time.thread_time() - started) + allowed)
            if self._left < 0:
                self._left = _SECONDS_AT_FIRST
                raise self._too_slow()

    def _too_slow(self) -> ProgramError:
        message = f"matching the regular expression '{self._pattern[:40]}' takes too long"
        hint = (
            "back-references and repetitions of more than 1,000 have no bound on time; patterns without them are linear"
        )
        return ProgramError([Diagnostic(catalogue.LIMIT_REACHED, message, None, hint)])


# -- replacements --------------------------------------------------------------------------------------------------------

_REFERENCE = re.compile(r"\\([\\$])|\$([0-9]+)|(.)", re.DOTALL)


@lru_cache(maxsize=512)
def replacement(text: str, groups: int) -> RegexReplacement:
    r"""Return the replacement for a text with `$1`, `\$` and `\\`; raise `EvaluationError` for an invalid `$` or backslash."""
    parts: list[str | int] = []
    for escaped, digits, plain in _REFERENCE.findall(text):
        if digits:
            parts += _reference(digits, groups)
        elif plain and plain in "\\$":
            raise EvaluationError("a '$' or '\\' of a replacement needs a '\\' before it")
        else:
            parts.append(escaped or plain)
    return RegexReplacement(parts)


def _reference(digits: str, groups: int) -> list[str | int]:
    """Return the longest number that is a group, followed by text; if there is no such group, nothing."""
    length = len(digits)
    while length > 1 and int(digits[:length]) > groups:
        length -= 1
    number = int(digits[:length])
    return [*([number] if number <= groups else []), digits[length:]]
