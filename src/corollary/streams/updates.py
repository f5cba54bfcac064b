"""One update, as it arrives: a `Change`, a JSON object, or lines of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.language import parse
from corollary.transactions import Change

_FACTS, _RULES = ("insert", "delete"), ("add_rules", "remove_rules")
_LINE = re.compile(r"\s*(add|delete)\((.*)\)\s*\.\s*$")
_LONGEST_TEXT = 200
_PLAIN = (int, str)
_DECODER = json.JSONDecoder(
    parse_float=lambda text: float(text) if "e" in text or "E" in text else Decimal(text), parse_constant=float
)


@dataclass
class Arrived:
    """An update at the place where it stood; what cannot be read has a problem instead. A failure is one of its source."""

    place: str
    change: Change | None = None
    problem: Diagnostic | None = None
    text: str = ""
    failure: BaseException | None = None
    position: Any = None
    """Where its source stands behind it, for those who go on from there later."""
    prepared: Any = field(default=None, repr=False)  # what the knowledge base made of it ahead of its turn

    @property
    def changes_rules(self) -> bool:
        return self.change is not None and bool(self.change.add_rules or self.change.remove_rules)


def arrived(item: object, place: str) -> Arrived:
    """An update from Python: a `Change`, an object as JSON has it, or a text of JSON."""
    if isinstance(item, Arrived):
        return item
    if isinstance(item, Change):
        return Arrived(place, item)
    if isinstance(item, Mapping):
        return _of_object(item, place, "")
    if isinstance(item, str):
        return of_json(item, place)
    return malformed(place, f"an update is a Change or an object, not {type(item).__name__}", repr(item))


def of_json(line: str, place: str) -> Arrived:
    """A line of JSON; values are written as in JSON files of facts."""
    from corollary.sources.json_lines import value_of  # it needs Arrow

    try:
        found = _DECODER.decode(line.strip())
    except (ValueError, RecursionError) as error:
        return malformed(place, f"this is no JSON: {error}", line)
    if not isinstance(found, dict):
        return malformed(place, "an update is a JSON object", line)
    update = _of_object(found, place, line)
    if update.change is None:
        return update
    try:
        for facts in (update.change.insert, update.change.delete):
            for predicate, rows in facts.items():
                facts[predicate] = [  # type: ignore[index]  # a dictionary that JSON has made
                    [cell if type(cell) in _PLAIN else value_of(cell) for cell in row] for row in _rows(rows)
                ]
    except ValueError as error:
        return malformed(place, str(error), line)
    return update


def _rows(rows: list[Any]) -> list[Any]:
    if not all(isinstance(row, list) for row in rows):
        raise ValueError("a row is an array")
    return rows


def _of_object(found: Mapping[Any, Any], place: str, text: str) -> Arrived:
    text = text or repr(found)
    for name, value in found.items():
        if name in _FACTS:
            if not isinstance(value, Mapping) or not all(isinstance(rows, (list, tuple)) for rows in value.values()):
                return malformed(place, f"'{name}' has lists of rows by predicate", text)
        elif name in _RULES:
            if not isinstance(value, (list, tuple)) or not all(isinstance(rule, str) for rule in value):
                return malformed(place, f"'{name}' has a list of texts", text)
        else:
            return malformed(place, f"an update has {', '.join((*_FACTS, *_RULES))}, and no '{name}'", text)
    insert, delete = (found.get(name, {}) for name in _FACTS)
    return Arrived(place, Change(insert, delete, *(tuple(found.get(name, ())) for name in _RULES)), None, text)


# -- lines of a file ---------------------------------------------------------------------------------------------------


def read_updates(
    lines: Iterable[str], name: str, prefixes: Mapping[str, str] | None = None, first: int = 1
) -> Iterator[Arrived]:
    """The updates of a file, each of them when it is complete. JSON lines start with `{`, anything else is text.

    `first` is the number of the first line. Lines that know their position give it to the updates that end there.
    """
    for update in _updates(enumerate(lines, first), name, prefixes):
        update.position = getattr(lines, "position", None)
        yield update


def _updates(numbered: Iterator[tuple[int, str]], name: str, prefixes: Mapping[str, str] | None) -> Iterator[Arrived]:
    for number, line in numbered:
        if line.strip():
            is_json = line.lstrip().startswith("{")
            again = _with_first((number, line), numbered)
            yield from _json_lines(again, name) if is_json else _texts(again, name, prefixes or {})
            return


def _with_first(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _json_lines(lines: Iterable[tuple[int, str]], name: str) -> Iterator[Arrived]:
    for number, line in lines:
        if line.strip():
            yield of_json(line, f"{name}:{number}")


def _texts(lines: Iterable[tuple[int, str]], name: str, prefixes: Mapping[str, str]) -> Iterator[Arrived]:
    """Updates end with a blank line; the last one with the file."""
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if line.strip():
            block.append((number, line))
        elif block:
            yield _of_text(block, name, prefixes)
            block = []
        else:
            yield Arrived(f"{name}:{number}", Change())
    if block:
        yield _of_text(block, name, prefixes)


def _of_text(block: list[tuple[int, str]], name: str, prefixes: Mapping[str, str]) -> Arrived:
    text = "".join(line for _, line in block)
    place = f"{name}:{block[0][0]}"
    facts: dict[str, list[str]] = {"add": [], "delete": []}
    for number, line in block:
        matched = _LINE.match(line)
        if matched is None:
            return malformed(f"{name}:{number}", "a line of an update is add(F). or delete(F).", text)
        facts[matched[1]].append(matched[2])
    try:
        insert, delete = (_facts(facts[kind], prefixes) for kind in ("add", "delete"))
    except ValueError as error:
        return malformed(place, str(error), text)
    return Arrived(place, Change(insert, delete), None, text)


def _facts(texts: list[str], prefixes: Mapping[str, str]) -> dict[str, list[Any]]:
    if not texts:
        return {}
    parsed = parse("".join(f"{text}.\n" for text in texts), prefixes=dict(prefixes))
    if parsed.errors:
        raise ValueError(f"this is no fact: {parsed.errors[0].message}")
    found: dict[str, list[Any]] = {}
    for stated in parsed.program.facts:
        found.setdefault(stated.predicate, []).extend(stated.rows)
    if sum(map(len, found.values())) != len(texts):
        raise ValueError("each line of an update has one fact, without variables")
    return found


def malformed(place: str, message: str, text: str) -> Arrived:
    hint = 'one update is {"insert": {"edge": [[1, 2]]}, "delete": {…}}, or lines add(edge(1, 2)). and a blank one'
    problem = Diagnostic(catalogue.MALFORMED_UPDATE, f"{place}: {message}", None, hint)
    return Arrived(place, None, problem, text[:_LONGEST_TEXT])


def failed(place: str, error: BaseException) -> Arrived:
    """A source that cannot go on."""
    if isinstance(error, OSError):
        file = error.filename
        message = f"cannot read {file}: {error.strerror}" if file is not None else f"{place}: {error.strerror or error}"
        error = ProgramError([Diagnostic(catalogue.UNREADABLE_STREAM, message)])
    if isinstance(error, UnicodeDecodeError):
        error = ProgramError([Diagnostic(catalogue.UNREADABLE_STREAM, f"{place} is not UTF-8: {error.reason}")])
    return Arrived(place, failure=error)
