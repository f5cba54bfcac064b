"""Where the files of `@input` and `@output` may be: below the folder of their program, unless the host program sets other
roots."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.io.places import PATTERN

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_FILE = re.compile(r"file:/*", re.IGNORECASE)
_UPWARD = re.compile(r"\.\.|%2e", re.IGNORECASE)


def is_address(location: str) -> bool:
    """Return whether this is an address with a scheme (`hdfs://…`, `jdbc:…`) rather than a path."""
    return _ADDRESS.match(location) is not None


def home_of(span: Span | None, base: Path) -> Path:
    """Return the folder of the program file, or `base` for a program given as text."""
    if span is not None and Path(span.source.name).is_file():
        return Path(span.source.name).parent
    return base


def place_below(
    location: str, home: Path, roots: Sequence[str], span: Span | None, *, setting: str, word: str
) -> Path | str:
    """Return where a location leads from `home`, a path or an address; raise `ProgramError` unless it is below a root.

    Without `roots`, `home` is the only one. Symbolic links count as what they lead to. `setting` is the one that allows more,
    `word` what would be done there.
    """
    if is_address(location) and not _FILE.match(location):
        if not any(_is_below(location, root) for root in roots if is_address(root)):
            raise _outside(location, None, span, setting, word)
        return location
    if "\0" in location:
        raise ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, f"there is no file {location!r}", span)])
    path = home / (_FILE.sub("/", unquote(location)) if _FILE.match(location) else location)
    allowed = [_real(root) for root in roots if not is_address(root)] if roots else [_real(home)]
    for place in _reached(path):
        if place is None or not any(place.is_relative_to(root) for root in allowed):
            is_link = place is not None and any(_lexically(path).is_relative_to(_lexically(root)) for root in allowed)
            raise _outside(location, place if is_link else None, span, setting, word)
    return path


def check_named(name: str, table: str, roots: Sequence[str] | None, span: Span | None) -> None:
    """Raise `ProgramError` if a file in the log of a table is not below a root; without `roots` it may be anywhere."""
    if roots is None or not (is_address(name) or name.startswith("/") or _UPWARD.search(name)):
        return
    if is_address(table) and not _FILE.match(table) and not (is_address(name) or name.startswith("/")):
        name = f"{table}/{name}"
    place_below(name, Path(table), roots, span, setting="inputs_root", word="read")


def _is_below(location: str, root: str) -> bool:
    """Return whether an address is below a root. An address with `..`, or with parameters that the root does not have, is
    not."""
    rest = location[len(root) :]
    is_inside = location.startswith(root) and (not rest or root.endswith("/") or rest.startswith("/"))
    return is_inside and not _UPWARD.search(rest) and not re.search("[?;&]", rest)


def _reached(path: Path) -> Iterator[Path | None]:
    """The places to which a path, a folder or a pattern leads; None where a pattern may lead anywhere.

    Each place comes before those that are found in it, so a caller that stops at a wrong one never looks into it.
    """
    parts = path.parts
    first = next((number for number, part in enumerate(parts) if PATTERN.search(part)), None)
    places = [path]
    if first is not None and not os.path.exists(path):
        patterns = parts[first:]
        if any(_UPWARD.search(part) or part.count("{") != part.count("}") for part in patterns):
            yield None
        places = [Path(*parts[:first])]
        for pattern in patterns:
            found: list[Path] = []
            for folder in places:
                yield _real(folder)
                found += [folder / entry.name for entry in _entries(folder) if _may_fit(entry.name, pattern)]
            places = found
    seen: set[Path] = set()
    for place in places:
        yield _real(place)
        yield from _links_below(place, seen)


def _may_fit(name: str, pattern: str) -> bool:
    """Whether a name starts and ends as a pattern does; what is between stands for anything."""
    signs = [sign.start() for sign in PATTERN.finditer(pattern)]
    if not signs:
        return name == pattern
    return name.startswith(pattern[: signs[0]]) and name.endswith(pattern[signs[-1] + 1 :])


def _links_below(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """Where the symbolic links below a folder lead, and those below the folders to which they lead."""
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        real = _real(place)
        if real in seen:
            continue
        seen.add(real)
        for entry in _entries(place):
            if entry.is_symlink():
                yield _real(entry.path)
            if entry.is_dir():
                waiting.append(Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # no folder, or one that cannot be read: reading it will report that


def _real(path: str | Path) -> Path:
    """Where a path leads; links that lead in a circle are left as they are, and nobody can open them."""
    return Path(os.path.realpath(path))


def _lexically(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _outside(location: str, place: Path | None, span: Span | None, setting: str, word: str) -> ProgramError:
    leads = f", which leads to {place}" if place is not None else ""
    message = f"a program may only {word} below its own folder, not '{location}'{leads}"
    hint = f"the host program can allow more: the setting {setting}=[…], or --{setting.replace('_', '-')} in a command"
    return ProgramError([Diagnostic(catalogue.OUTSIDE_ROOT, message, span, hint)])
