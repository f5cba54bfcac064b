"""What an experiment found: figures, some of them with a target, and what is wrong about its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.targets import Verdict


@dataclass(frozen=True)
class Figure:
    """`case` is the data or the part of an experiment. A `target` is a least value, or a greatest where `less` is better."""

    case: str
    what: str
    value: float
    unit: str = "s"
    target: float | None = None
    less: bool = True

    def verdict(self, experiment: str) -> Verdict | None:
        if self.target is None:
            return None
        name = f"{experiment}: {self.case}" if self.case else experiment
        return Verdict(name, f"{self.what}, {self.unit}", self.value, self.target, less_is_better=self.less)


@dataclass
class Outcome:
    """`sizes` is the name of the sizes; targets are kept for the full ones only."""

    experiment: str
    sizes: str
    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(
        self, case: str, what: str, value: float, unit: str = "s", *, target: float | None = None, less: bool = True
    ) -> None:
        judged = target if self.sizes == "full" else None
        self.figures.append(Figure(case, what, float(value), unit, judged, less))

    def check(self, case: str, found: int, expected: int) -> None:
        """Tells of a number of answers that is not what it must be."""
        if found != expected:
            self.problems.append(f"{self.experiment}, {case}: {found:,} answers, not {expected:,}")

    @property
    def verdicts(self) -> list[Verdict]:
        judged = (figure.verdict(self.experiment) for figure in self.figures)
        return [verdict for verdict in judged if verdict is not None]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Outcome:
        figures = [Figure(**figure) for figure in document["figures"]]
        return cls(document["experiment"], document["sizes"], figures, list(document["problems"]))
