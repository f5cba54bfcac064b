"""The cost of following updates, in the terms of the tables of paper 004."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class MarkingStatistics:
    """Rule applications by phase and marks, of one update or of many.

    An application is one that brought something new: a fact to check (deletions), facts to prove (backward), a proven fact
    (forward), a new fact (insertions). Delete and rederive counts facts taken back as deletions, facts found again from their
    rules as backward, and those that follow from them as forward. `seen` are all rule instances that were looked at.
    """

    deletions: int = 0
    backward: int = 0
    forward: int = 0
    insertions: int = 0
    explicit_marks: int = 0
    implicit_marks: int = 0
    seen: int = 0

    def add(self, other: MarkingStatistics) -> None:
        mine = vars(self)  # `fields` takes longer than many an update
        for name, value in vars(other).items():
            mine[name] += value
