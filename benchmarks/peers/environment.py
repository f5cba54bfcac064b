"""Where peers are installed, and running them there."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.cache import CACHE, input_directory, prepare
from benchmarks.peers.process import MOST_CPU
from benchmarks.whole_process import timed, wrong_rows
from benchmarks.workloads import Workload

_TIME_LIMIT = 900.0  # of a process that waits for processors; what it may use of them is in benchmarks.peers.process
_LONG = 15.0
_TOO_LONG = f"> {MOST_CPU} s cpu"


@dataclass(frozen=True)
class Peer:
    """An engine with a package on PyPI, run by the module of its name; `skips` are patterns of workloads with the reasons."""

    name: str
    package: str
    imported: str
    skips: tuple[tuple[str, str], ...] = ()

    def skipped(self, workload: str) -> str:
        """Why it does not try a workload, or nothing."""
        return next((reason for pattern, reason in self.skips if re.fullmatch(pattern, workload)), "")


PEERS = (
    Peer("DuckDB", "duckdb", "duckdb"),
    Peer("Nemo", "nemo-python", "nmo_python", (("zodiac-rs1", "no median"), ("lubm-.*", "no Parquet"))),
    Peer(
        "clingo",
        "clingo",
        "clingo",
        (
            ("zodiac-rs1", "no median"),
            ("lubm-.*", "no Parquet"),
            ("tc-grid|tc-.*nonlinear|dag-r|stc-ring|andersen.*|join1-data1", "> 60 s"),
        ),
    ),
    Peer("pyDatalog", "pyDatalog", "pyDatalog", (("(?!tc-small$).*", "small data only"),)),
)


@dataclass(frozen=True)
class PeerRun:
    """How a peer did. A `problem` says why it did not finish, or what is wrong with its rows."""

    peer: str
    workload: str
    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    problem: str = ""

    @property
    def finished(self) -> bool:
        return not self.problem

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@cache
def _python() -> Path:
    """The interpreter of the peers' environment."""
    directory = prepare(CACHE) / "peers"
    program = directory / "bin" / "python"
    if not program.exists():
        venv.create(directory, with_pip=True, clear=True)
    return program


@cache
def problem_of(peer: Peer) -> str:
    """Installs a peer if need be; why it cannot be used, or nothing."""
    if not _call("-c", f"import {peer.imported}").returncode:
        return ""
    installed = _call("-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.package)
    if installed.returncode:
        return f"pip could not install {peer.package}"
    return "" if not _call("-c", f"import {peer.imported}").returncode else f"{peer.imported} cannot be imported"


def version_of(peer: Peer) -> str:
    code = f"from importlib.metadata import version; print(version('{peer.package}'))"
    return _call("-c", code).stdout.strip()


def _call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(_python()), *arguments], capture_output=True, text=True)


def run_peer(peer: Peer, workload: Workload, *, runs: int = 3, cache: Path = CACHE) -> PeerRun:
    """The whole process, from its start to its end: the fastest of some runs, or the only one of a long run."""
    if problem := peer.skipped(workload.name) or problem_of(peer):
        return PeerRun(peer.name, workload.name, problem=problem)
    directory = input_directory(workload.input, cache)
    fastest = _run_once(peer, workload, directory)
    for _ in range(runs - 1):
        if not fastest.finished or fastest.seconds > _LONG:
            break
        again = _run_once(peer, workload, directory)
        if not again.finished or again.seconds < fastest.seconds:
            fastest = again
    return fastest


def _run_once(peer: Peer, workload: Workload, directory: Path) -> PeerRun:
    with TemporaryDirectory() as out:
        module = f"benchmarks.peers.{peer.name.lower()}"
        command = [str(_python()), "-m", module, workload.name, str(directory / "full"), out]
        try:
            process = timed(command, _TIME_LIMIT)
        except subprocess.TimeoutExpired:
            return PeerRun(peer.name, workload.name, problem=f"> {_TIME_LIMIT:g} s")
        if process.done.returncode == -signal.SIGXCPU:
            return PeerRun(peer.name, workload.name, problem=_TOO_LONG)
        if process.done.returncode:
            reason = (process.done.stderr.strip().splitlines() or ["no message"])[-1]
            return PeerRun(peer.name, workload.name, problem=f"failed: {reason}")
        peak = json.loads(process.last_line)["peak_mb"]
        wrong = "; ".join(wrong_rows(workload, Path(out)))
        return PeerRun(peer.name, workload.name, process.seconds, process.cpu, peak, wrong)
