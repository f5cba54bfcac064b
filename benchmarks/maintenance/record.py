"""What the experiments give: plain values that go through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class StepTime:
    """What one hyper-node took in a transaction."""

    node: str
    strategy: str
    seconds: float


@dataclass
class Timing:
    """One kind of change, measured: `operation` is what was done to `subject` in data of that `size`.

    `seconds` is the whole call of `apply` and counting what came and went; of equal runs the fastest, of different random sets
    the median. `scratch` is deriving the state after the change from its explicit facts, which are loaded already, in the same
    mode; `load` is loading them. `cpu` and `scratch_cpu` are processor time, which a busy machine stretches less.
    `changed` counts the visible facts that came or went, `facts` the derived ones afterwards.
    """

    experiment: str
    operation: str
    subject: str
    size: int
    seconds: float
    scratch: float
    load: float
    changed: int
    facts: int
    runs: list[float] = field(default_factory=list)
    steps: list[StepTime] = field(default_factory=list)
    published: dict[str, float] = field(default_factory=dict)
    cpu: float = 0.0
    scratch_cpu: float = 0.0

    @property
    def change(self) -> str:
        return f"{self.operation} {self.subject}"

    @property
    def times_scratch(self) -> float:
        """Above 1 where following the change took longer than deriving everything."""
        return self.seconds / max(self.scratch, 1e-9)

    @property
    def slowest(self) -> str:
        """The hyper-node that took longest, for people."""
        if not self.steps:
            return ""
        step = max(self.steps, key=lambda step: step.seconds)
        return f"{step.node} {step.strategy} {step.seconds * 1000:,.1f} ms"


@dataclass(frozen=True)
class Materialised:
    """The first derivation: explicit and visible facts, and seconds with maintenance to come and without."""

    experiment: str
    size: int
    explicit: int
    facts: int
    seconds: float
    plain: float


@dataclass(frozen=True)
class NodeMemory:
    """Bytes of what a hyper-node derives (its store), and of what it reads, which it shares with others (its bag)."""

    size: int
    node: str
    facts: int
    store: int
    bag: int


@dataclass
class Outcome:
    """Everything that one experiment gave. `problems` are states that are not what they must be."""

    experiment: str
    sizes: str
    strategy: str
    timings: list[Timing] = field(default_factory=list)
    nothing: list[Timing] = field(default_factory=list)
    materialised: list[Materialised] = field(default_factory=list)
    memory: list[NodeMemory] = field(default_factory=list)
    states_checked: int = 0
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Outcome:
        return cls(
            **{
                **found,
                "timings": [_timing(one) for one in found["timings"]],
                "nothing": [_timing(one) for one in found["nothing"]],
                "materialised": [Materialised(**one) for one in found["materialised"]],
                "memory": [NodeMemory(**one) for one in found["memory"]],
            }
        )


def _timing(found: Mapping[str, Any]) -> Timing:
    return Timing(**{**found, "steps": [StepTime(**step) for step in found["steps"]]})


def typical(timings: list[Timing]) -> Timing:
    """Several changes of the same kind as one: the medians of their figures."""
    seconds = [timing.seconds for timing in timings]
    middle = min(timings, key=lambda timing: abs(timing.seconds - median(seconds)))
    return Timing(
        middle.experiment,
        middle.operation,
        middle.subject,
        middle.size,
        median(seconds),
        median(timing.scratch for timing in timings),
        median(timing.load for timing in timings),
        int(median(timing.changed for timing in timings)),
        int(median(timing.facts for timing in timings)),
        seconds,
        middle.steps,
        middle.published,
        median(timing.cpu for timing in timings),
        median(timing.scratch_cpu for timing in timings),
    )
