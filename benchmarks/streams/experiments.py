"""The experiments by name: what they run, and how each state at the end is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, quantiles

from benchmarks.baselines import paper_004
from benchmarks.streams import city
from benchmarks.streams.edges import (
    P_CLOSED,
    P_SEQ,
    P_TRANS,
    SIZES,
    Generator,
    random_edges,
    replacing_edges,
    tossed_edges,
)
from benchmarks.streams.record import Latency, Outcome, Run
from corollary import KnowledgeBase
from corollary.engines.embedded.marking.strategy import MarkingStrategy
from corollary.streams import StreamStatistics
from corollary.streams.sources import Ready
from corollary.transactions import Change

LITERAL = paper_004.METHOD.name
COMPARED = ("bf", "bf-marking", "bf-literal", LITERAL, "dred", "dred-marking")
_BLIND = {"bf-literal": LITERAL}  # a strategy that marks, and is never told the next update
_COUNTS = ("deletions", "backward", "forward", "insertions", "explicit_marks", "implicit_marks")


@dataclass(frozen=True)
class Sizes:
    name: str
    seeds: int
    repetitions: int
    edges: tuple[int, ...]
    long: int
    universities: int = 0
    batch_sizes: tuple[int, ...] = (1, 10)
    batches: int = 2


FULL = Sizes("full", 3, 5, SIZES, city.LONG[0], 17, (1, 100, 10_000), 10)
QUICK = Sizes("quick", 1, 1, (10, 40), 300, 1, (1, 100), 4)
BY_NAME = {sizes.name: sizes for sizes in (FULL, QUICK)}


def run_experiment(name: str, sizes: Sizes) -> Outcome:
    outcome = Outcome(name, sizes.name)
    EXPERIMENTS[name](outcome, sizes)
    return outcome


# -- edges -------------------------------------------------------------------------------------------------------------


def _trans(outcome: Outcome, sizes: Sizes) -> None:
    _edges(outcome, sizes, P_TRANS, 20, replacing_edges)


def _trans_tossed(outcome: Outcome, sizes: Sizes) -> None:
    _edges(outcome, sizes, P_TRANS, 20, tossed_edges)


def _seq(outcome: Outcome, sizes: Sizes) -> None:
    _edges(outcome, sizes, P_SEQ, 100, replacing_edges)


def _edges(outcome: Outcome, sizes: Sizes, program: str, nodes: int, generate: Generator) -> None:
    for size in sizes.edges:
        streams = [generate(nodes=nodes, size=size, seed=seed) for seed in range(1, sizes.seeds + 1)]
        _compare(outcome, sizes, str(size), program, streams)


def _tracks(outcome: Outcome, sizes: Sizes) -> None:
    for name, (updates, step) in city.TRACKS.items():
        streams = [city.track(updates, step, seed) for seed in range(1, sizes.seeds + 1)]
        _compare(outcome, sizes, name, city.RULES, streams)


def _compare(outcome: Outcome, sizes: Sizes, case: str, program: str, streams: Sequence[list[Change]]) -> None:
    """Every strategy on every stream; the repetitions of all strategies take turns, so that they meet the same machine."""
    seconds: dict[str, list[float]] = {strategy: [] for strategy in COMPARED}
    found: dict[str, list[StreamStatistics]] = {strategy: [] for strategy in COMPARED}
    for updates in streams:
        for repetition in range(sizes.repetitions):
            for strategy in COMPARED:
                kb, statistics = follow(
                    program, updates, _BLIND.get(strategy, strategy), looks_ahead=strategy not in _BLIND
                )
                seconds[strategy].append(statistics.seconds)
                if not repetition:
                    found[strategy].append(statistics)
                    if problem := _problem(kb, program):
                        outcome.problems.append(f"{outcome.experiment}, {case}, {strategy}: {problem}")
    for strategy in COMPARED:
        counts = {name: mean(getattr(one, name) for one in found[strategy]) for name in _COUNTS}
        updates_in_all = round(mean(map(len, streams)))
        outcome.runs.append(Run(case, strategy, updates_in_all, median(seconds[strategy]), **counts))


class _Blind(Ready):
    """Updates of which the next one is never there yet."""

    def take_now(self) -> None:
        return None


def follow(
    program: str, updates: Sequence[Change], strategy: str, *, looks_ahead: bool = True
) -> tuple[KnowledgeBase, StreamStatistics]:
    """As in the paper, the first update is complete before the others are looked at."""
    kb = KnowledgeBase(program)
    total = StreamStatistics()
    for part in (updates[:1], updates[1:]):
        source = part if looks_ahead else _Blind(part)
        chosen = MarkingStrategy(paper_004.METHOD) if strategy == LITERAL else strategy
        stream = kb.stream(source, strategy=chosen, policy="fail")
        for _ in stream:
            pass
        total.add(stream.statistics)
    return kb, total


def _problem(kb: KnowledgeBase, program: str) -> str:
    """What is wrong with the state at the end."""
    fresh = KnowledgeBase(program, updates=False)
    for predicate in ("edge", "nextInWay"):
        fresh.insert(predicate, list(kb.facts(predicate)))
    wrong = [name for name in kb.predicates() if kb.facts(name).sorted() != fresh.facts(name).sorted()]
    return f"{', '.join(wrong)} are not what recomputation gives" if wrong else ""


# -- a long stream -----------------------------------------------------------------------------------------------------


def _long(outcome: Outcome, sizes: Sizes) -> None:
    _one_by_one(outcome, city.RULES, city.track(sizes.long, city.LONG[1], 1), ("auto", "bf-marking", "bf"))


def _closures(outcome: Outcome, sizes: Sizes) -> None:
    """A closure of some 80,000 pairs; fact by fact an update takes more than a second."""
    nodes, first = (300, 900) if sizes.name == "full" else (30, 60)
    updates = random_edges(nodes=nodes, first=first, updates=sizes.long // 5, seed=1)
    _one_by_one(outcome, P_CLOSED, updates, ("auto", "sets"))


def _one_by_one(outcome: Outcome, program: str, updates: Sequence[Change], strategies: Sequence[str]) -> None:
    for strategy in strategies:
        for result in KnowledgeBase(program).stream(updates[:50], strategy=strategy):  # kernels are ready
            assert not result.is_rejected
        kb = KnowledgeBase(program)
        stream = kb.stream(updates, strategy=strategy, policy="fail")
        seconds, early = [], 0.0
        for result in stream:
            seconds.append(result.statistics.seconds)
            if result.number == len(updates) // 5:
                early = _resident_megabytes()
        cuts = quantiles(seconds, n=100)
        facts = sum(map(kb.count, kb.predicates()))
        outcome.latencies.append(
            Latency(
                strategy,
                len(updates),
                sum(seconds),
                cuts[49],
                cuts[98],
                max(seconds),
                facts,
                early,
                _resident_megabytes(),
            )
        )
        if problem := _problem(kb, program):
            outcome.problems.append(f"{outcome.experiment}, {strategy}: {problem}")


def _structured(outcome: Outcome, sizes: Sizes) -> None:
    from benchmarks.streams.structured import measure

    measure(outcome, sizes.universities, sizes.batch_sizes, sizes.batches)


def _resident_megabytes() -> float:
    """What this process holds now."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) / 1024


EXPERIMENTS: dict[str, Callable[[Outcome, Sizes], None]] = {
    "trans": _trans,
    "trans-tossed": _trans_tossed,
    "seq": _seq,
    "tracks": _tracks,
    "long": _long,
    "closures": _closures,
    "structured": _structured,
}
