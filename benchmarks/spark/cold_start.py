"""Universities from files to files in a fresh process: what somebody waits for who calls the command once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import ontology
from benchmarks.spark.inputs import universities_directory
from benchmarks.spark.record import Outcome
from benchmarks.spark.runs import run_program, written_rows
from benchmarks.spark.sizes import Sizes
from benchmarks.whole_process import ROOT
from benchmarks.workloads import by_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 60.0


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    """Starts no session here: it would take memory from the process that is measured."""
    directory = universities_directory(sizes.universities)
    case = f"{sizes.universities} universities" if sizes.universities else "the first rows of a university"
    with TemporaryDirectory() as out:
        command = [sys.executable, "-m", "benchmarks.spark.cold", str(directory), out]
        started = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise RuntimeError("\n".join(done.stderr.strip().splitlines()[-15:]))
        found = json.loads(done.stdout.splitlines()[-1])
        counts = {name: written_rows(Path(out) / f"{name}.parquet") for name in ontology.derived()}
    expected = run_program(ontology.program(), directory, "embedded", ontology.derived())
    outcome.check(case, sum(counts.values()), expected.facts)
    outcome.problems += [
        f"{outcome.experiment}, {case}: {name} has {counts[name]:,} facts, not {number:,}"
        for name, number in expected.counts.items()
        if counts[name] != number
    ]
    if (workload := by_name().get(f"lubm-{sizes.universities}")) is not None:
        outcome.problems += [f"{outcome.experiment}, {case}: {wrong}" for wrong in workload.unexpected(counts)]
    stages: dict[str, float] = found["seconds"]
    outcome.add(case, "facts", expected.facts, "")
    for stage, taken in stages.items():
        outcome.add(case, f"{stage} ({', '.join(found['strategies'])})" if stage == "derive" else stage, taken)
    outcome.add(case, "Python, imports and end", seconds - sum(stages.values()))
    outcome.add(case, "the whole process", seconds, target=SECONDS)
