"""One run of one workload, in this process.

`python -m benchmarks.child WORKLOAD DIRECTORY ENGINE` warms up, runs and prints a `Measurement` as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.measurement import MEGABYTE, Measurement
from benchmarks.workloads import Workload, by_name
from corollary import KnowledgeBase


@dataclass(frozen=True)
class _Run:
    kb: KnowledgeBase
    counts: dict[str, int]
    started: float
    loaded: float
    derived: float
    counted: float
    cpu: float


def measure(workload: Workload, directory: Path, engine: str) -> Measurement:
    """Warms up on the sample, so that kernels are compiled and modules imported, and measures the full run."""
    sample = _run(workload, workload.sample, directory / "sample", engine)
    for predicate in workload.derived:
        sample.kb.facts(predicate)
    del sample
    baseline = _memory("VmRSS")
    run = _run(workload, workload.program, directory / "full", engine)
    peak = _memory("VmHWM")
    started = time.perf_counter()
    results = [run.kb.facts(predicate) for predicate in workload.derived]
    rows = time.perf_counter() - started
    assert [len(result) for result in results] == [run.counts[predicate] for predicate in workload.derived]
    rows_peak = _memory("VmHWM")
    report = run.kb.materialise()
    explicit = sum(len(facts.rows) for facts in run.kb.program.facts)
    return Measurement(
        workload.name,
        engine,
        wall=run.counted - run.started,
        load=run.loaded - run.started,
        derive=run.derived - run.loaded,
        count=run.counted - run.derived,
        rows=rows,
        cpu=run.cpu,
        engine_seconds=report.seconds,
        rounds=report.rounds,
        instances=report.instances,
        facts_loaded=explicit + sum(_rows(file) for file in (directory / "full").iterdir()),
        facts_stored=sum(run.kb.count(predicate) for predicate in run.kb.predicates()),
        baseline_mb=baseline,
        peak_mb=peak,
        rows_peak_mb=rows_peak,
        counts=run.counts,
        wrong=workload.unexpected(run.counts),
    )


def _run(workload: Workload, program: str, directory: Path, engine: str) -> _Run:
    started, cpu = time.perf_counter(), time.process_time()
    kb = KnowledgeBase(program, engine=engine, updates=False)
    kb.load_facts(directory)
    loaded = time.perf_counter()
    kb.materialise()
    derived = time.perf_counter()
    counts = {predicate: kb.count(predicate) for predicate in workload.derived}
    counts |= {query: len(kb.query(query)) for query in workload.queries}
    counted = time.perf_counter()
    return _Run(kb, counts, started, loaded, derived, counted, time.process_time() - cpu)


def _rows(file: Path) -> int:
    return pq.read_metadata(file).num_rows if file.suffix == ".parquet" else file.read_bytes().count(b"\n")


def _memory(name: str) -> float:
    """A figure of this process in MB. `ru_maxrss` would not do: it starts from what the parent process held."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / MEGABYTE
    raise ValueError(f"this system does not tell {name}")


def main(name: str, directory: str, engine: str) -> None:
    print(json.dumps(asdict(measure(by_name()[name], Path(directory), engine))))


if __name__ == "__main__":
    main(*sys.argv[1:])
