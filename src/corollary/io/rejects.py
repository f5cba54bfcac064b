"""Rejected rows of data files, with their places and reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

LISTED = 10_000  # per file; further ones are counted
_SHOWN = 10
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that was not loaded. `line` is the line on which it starts, or the number of the row where a file has no lines."""

    file: str
    line: int
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class Rejects:
    """The rejected rows of one or several files. Iterating lists them, up to 10,000 of a file; `len()` counts all."""

    def __init__(self) -> None:
        self._listed: list[Reject] = []
        self._counts: Counter[str] = Counter()

    def add(self, file: str, line: int, reason: str, text: str = "") -> None:
        self._counts[file] += 1
        if self._counts[file] <= LISTED:
            self._listed.append(Reject(file, line, reason, text[:_LONGEST_TEXT]))

    def count(self, file: str, more: int) -> None:
        """Count further rejected rows of a file, which are not listed."""
        self._counts[file] += more

    def include(self, other: Rejects) -> None:
        self._listed += other._listed
        self._counts += other._counts

    def __len__(self) -> int:
        return self._counts.total()

    def __iter__(self) -> Iterator[Reject]:
        return iter(self._listed)

    @property
    def by_file(self) -> dict[str, int]:
        """Return how many rows of each file were rejected."""
        return dict(self._counts)

    def in_order(self) -> Rejects:
        """Sort the listed rows by line within each file; return self."""
        files = {file: position for position, file in enumerate(self._counts)}
        self._listed.sort(key=lambda reject: (files[reject.file], reject.line))
        return self

    def as_error(self) -> ProgramError:
        """Return the error that a strict load raises."""
        shown = self._listed[:_SHOWN]
        found = [Diagnostic(catalogue.REJECTED_ROWS, str(reject)) for reject in shown]
        if more := len(self) - len(shown):
            found.append(Diagnostic(catalogue.REJECTED_ROWS, f"… and {more:,} more rows"))
        return ProgramError(found)

    def __repr__(self) -> str:
        return f"<Rejects: {len(self):,} rows>"


def write_rejects(rejects: Iterable[Reject], path: str) -> None:
    """Write the report as a csv file with a header."""
    import csv

    from corollary.io.atomic import replacing

    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["file", "line", "reason", "text"])
        writer.writerows((reject.file, reject.line, reject.reason, reject.text) for reject in rejects)
