"""The cost of following updates, with the measures of the tables of paper 004."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class MarkingStatistics:
    """Rule applications by phase and marks, of one update or of many.

    An application is one that found something new: a fact to check (deletions), facts to prove (backward), a proven
    fact (forward), a new fact (insertions). Delete and rederive counts overdeleted facts as deletions, facts rederived
    from their rules as backward, and what follows from them as forward. `seen` counts all visited rule instances.
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
