"""Updates from Python or from a line of JSON; `update_lines` reads files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.transactions import Change

_FACTS, _RULES = ("insert", "delete"), ("add_rules", "remove_rules")
_LONGEST_TEXT = 100_000  # characters of a malformed update that are kept, so that it can be repaired and sent again
_PLAIN = (int, str)


class _RepeatedKeyError(ValueError):
    """Raised for a repeated key: JSON readers take the last of two equal keys, and silently lose the facts under the
    first."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise _RepeatedKeyError(f"the key '{twice}' occurs twice")
    return found


_DECODER = json.JSONDecoder(
    parse_float=lambda text: float(text) if "e" in text or "E" in text else Decimal(text),
    parse_constant=float,
    object_pairs_hook=_object,
)


@dataclass
class Arrived:
    """An update and its place; `problem` says why it cannot be read, and a failure is an error of its source."""

    place: str
    change: Change | None = None
    problem: Diagnostic | None = None
    text: str = ""
    failure: BaseException | None = None
    position: Any = None
    """The position of its source after it, to continue from later."""
    prepared: Any = field(default=None, repr=False)  # what the knowledge base prepared before its turn

    @property
    def changes_rules(self) -> bool:
        return self.change is not None and bool(self.change.add_rules or self.change.remove_rules)


def arrived(item: object, place: str) -> Arrived:
    """Return an update from Python: a `Change`, a mapping, or a string of JSON.

    Rows are copied, because updates are read ahead and some producers reuse the same object.
    """
    if isinstance(item, Arrived):
        return item
    if isinstance(item, Change):
        return Arrived(place, _own(item))
    if isinstance(item, Mapping):
        update = _of_object(item, place, repr(item), is_json=False)
        if update.change is not None:
            update.change = _own(update.change)
        return update
    if isinstance(item, str):
        return of_json(item, place)
    return malformed(place, f"an update is a Change or an object, not {type(item).__name__}", repr(item))


def _own(change: Change) -> Change:
    insert, delete = ({name: _own_rows(rows) for name, rows in side.items()} for side in (change.insert, change.delete))
    return Change(insert, delete, change.add_rules, change.remove_rules)


def _own_rows(rows: Any) -> Any:
    if isinstance(rows, (list, tuple)):
        return [row.copy() if row.__class__ is list else row for row in rows]
    return rows  # Arrow tables do not change


def of_json(line: str, place: str) -> Arrived:
    """Return the update in a line of JSON, with values as in JSON files of facts."""
    from corollary.io.json_lines import value_of  # it needs Arrow

    try:
        found = _DECODER.decode(line.strip())
    except _RepeatedKeyError as error:
        return malformed(place, str(error), line)
    except (ValueError, RecursionError) as error:
        return malformed(place, f"this is not JSON: {error}", line)
    if not isinstance(found, dict):
        return malformed(place, "an update is a JSON object", line)
    update = _of_object(found, place, line, is_json=True)
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


def _of_object(found: Mapping[Any, Any], place: str, text: str, *, is_json: bool) -> Arrived:
    for name, value in found.items():
        if name in _FACTS:
            if not isinstance(value, Mapping) or (
                is_json and not all(isinstance(rows, list) for rows in value.values())
            ):
                return malformed(place, f"'{name}' has lists of rows by predicate", text)
        elif name in _RULES:
            if not isinstance(value, (list, tuple)) or not all(isinstance(rule, str) for rule in value):
                return malformed(place, f"'{name}' has a list of texts", text)
        else:
            return malformed(place, f"an update has {', '.join((*_FACTS, *_RULES))}, but not '{name}'", text)
    insert, delete = (found.get(name, {}) for name in _FACTS)
    try:
        change = Change(insert, delete, *(tuple(found.get(name, ())) for name in _RULES))
    except (TypeError, ValueError) as error:
        return malformed(place, str(error), text)
    return Arrived(place, change, None, text)


def malformed(place: str, message: str, text: str) -> Arrived:
    hint = 'one update is {"insert": {"edge": [[1, 2]]}, "delete": {…}}, or lines add(edge(1, 2)). and a blank one'
    problem = Diagnostic(catalogue.MALFORMED_UPDATE, f"{place}: {message}", None, hint)
    return Arrived(place, None, problem, text[:_LONGEST_TEXT])


def failed(place: str, error: BaseException) -> Arrived:
    """Return an update that reports a failure of its source."""
    if isinstance(error, OSError):
        file = error.filename
        message = f"cannot read {file}: {error.strerror}" if file is not None else f"{place}: {error.strerror or error}"
        error = ProgramError([Diagnostic(catalogue.UNREADABLE_STREAM, message)])
    if isinstance(error, UnicodeDecodeError):
        error = ProgramError([Diagnostic(catalogue.UNREADABLE_STREAM, f"{place} is not UTF-8: {error.reason}")])
    return Arrived(place, failure=error)
