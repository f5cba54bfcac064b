"""What the experiments have found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Access:
    """Index and tuple accesses of one structure in one case; `on` is "base", "inserted" or "construction" (entries as tuples)."""

    case: str
    structure: str
    on: str
    index: float
    tuples: float
    results: int = 0


@dataclass
class Closure:
    """One graph of RG: seconds of each way, and entries that were looked at."""

    case: str
    arcs: int
    paths: int
    index_seconds: float
    construction_seconds: float
    module_seconds: float
    seminaive_seconds: float
    index_accesses: int
    seminaive_accesses: int


@dataclass
class StreamRun:
    stream: str
    index: str
    rows: int
    seconds: float
    rule_seconds: float
    heads: int


@dataclass
class Outcome:
    experiment: str
    sizes: str
    accesses: list[Access] = field(default_factory=list)
    closures: list[Closure] = field(default_factory=list)
    runs: list[StreamRun] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def access(self, case: str, structure: str, on: str) -> Access:
        (found,) = (one for one in self.accesses if (one.case, one.structure, one.on) == (case, structure, on))
        return found

    def seconds(self, stream: str, index: str) -> float:
        (found,) = (one for one in self.runs if (one.stream, one.index) == (stream, index))
        return found.seconds

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Outcome:
        return cls(
            document["experiment"],
            document["sizes"],
            [Access(**one) for one in document["accesses"]],
            [Closure(**one) for one in document["closures"]],
            [StreamRun(**one) for one in document["runs"]],
            list(document["problems"]),
        )
