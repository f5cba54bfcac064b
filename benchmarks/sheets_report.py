"""Experiments whose outcomes are sheets beside published ones: running each in a process of its own, and telling about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from rich.console import Console

from benchmarks.experiments import machine, run_in_process
from benchmarks.sheet import Sheet, as_table
from benchmarks.table import targets_table
from benchmarks.targets import Verdict

_LEAST_WIDTH = 140  # of the tables; a narrower terminal breaks their lines
_TIME_LIMIT = 3600.0


class AnyOutcome(Protocol):
    """What one experiment has found; `problems` are wrong results."""

    problems: list[str]

    def as_dict(self) -> dict[str, Any]: ...


Found = TypeVar("Found", bound=AnyOutcome)


@dataclass
class SheetsReport(ABC, Generic[Found]):
    """The outcomes by experiment; `failures` are experiments without one."""

    outcomes: dict[str, Found] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @abstractmethod
    def read(self, document: Mapping[str, Any]) -> Found:
        """An outcome from what its process has told."""

    @abstractmethod
    def sheets(self) -> list[Sheet]: ...

    @property
    @abstractmethod
    def verdicts(self) -> list[Verdict]: ...

    def wrong(self, outcome: Found) -> list[str]:
        return outcome.problems

    @property
    def problems(self) -> list[str]:
        return [*self.failures, *(problem for one in self.outcomes.values() for problem in self.wrong(one))]

    def run(self, module: str, chosen: Iterable[str], size: str, progress: Callable[[str], None]) -> None:
        for name in chosen:
            progress(name)
            found = run_in_process(module, name, size, seconds=_TIME_LIMIT)
            if isinstance(found, str):
                self.failures.append(found)
            else:
                self.outcomes[name] = self.read(found)

    def print(self, console: Console) -> None:
        console.width = max(console.width, _LEAST_WIDTH)
        for sheet in self.sheets():
            console.print(as_table(sheet), "", sep="\n")
        if self.verdicts:
            console.print(targets_table(self.verdicts))
        for problem in self.problems:
            console.print(f"WRONG  {problem}", style="bold red", highlight=False)

    def as_dict(self) -> dict[str, Any]:
        return {
            **machine(),
            "experiments": [outcome.as_dict() for outcome in self.outcomes.values()],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "problems": self.problems,
        }
