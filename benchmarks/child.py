"""One run of one workload, in this process: `python -m benchmarks.child WORKLOAD DIRECTORY ENGINE` prints it as JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.measurement import MEGABYTE, Measurement
from benchmarks.workloads import Workload, by_name
from corollary import KnowledgeBase


def measure(workload: Workload, directory: Path, engine: str) -> Measurement:
    """Warms up on the sample, so that kernels are compiled and modules imported, and measures the full run."""
    _run(workload, workload.sample, directory / "sample", engine)
    baseline = _memory("VmRSS")
    measurement = _run(workload, workload.program, directory / "full", engine)
    measurement.baseline_mb = baseline
    measurement.wrong = workload.unexpected(measurement.counts)
    return measurement


def _run(workload: Workload, program: str, directory: Path, engine: str) -> Measurement:
    started, cpu = time.perf_counter(), time.process_time()
    kb = KnowledgeBase(program, engine=engine)
    kb.load_facts(directory)
    loaded = time.perf_counter()
    report = kb.materialise()
    derived = time.perf_counter()
    counts = {predicate: kb.count(predicate) for predicate in workload.derived}
    counts |= {query: len(kb.query(query)) for query in workload.queries}
    counted, cpu = time.perf_counter(), time.process_time() - cpu
    peak = _memory("VmHWM")
    results = [kb.facts(predicate) for predicate in workload.derived]
    rows = time.perf_counter() - counted
    assert all(len(result) == counts[predicate] for predicate, result in zip(workload.derived, results, strict=True))
    explicit = sum(len(facts.rows) for facts in kb.program.facts)
    return Measurement(
        workload.name,
        engine,
        wall=counted - started,
        load=loaded - started,
        derive=derived - loaded,
        count=counted - derived,
        rows=rows,
        cpu=cpu,
        engine_seconds=report.seconds,
        rounds=report.rounds,
        instances=report.instances,
        facts_loaded=explicit + sum(_rows(file) for file in directory.iterdir()),
        facts_stored=sum(kb.count(predicate) for predicate in kb.predicates()),
        peak_mb=peak,
        rows_peak_mb=_memory("VmHWM"),
        counts=counts,
    )


def _rows(file: Path) -> int:
    return pq.read_metadata(file).num_rows if file.suffix == ".parquet" else file.read_bytes().count(b"\n")


def _memory(name: str) -> float:
    """A figure of this process in MB. `ru_maxrss` would not do: it starts from what the parent process held."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / MEGABYTE
    raise ValueError(f"this system does not tell {name}")


if __name__ == "__main__":
    name, place, engine_name = sys.argv[1:]
    print(json.dumps(asdict(measure(by_name()[name], Path(place), engine_name))))
