"""Where peers are installed, and running them there."""

from __future__ import annotations

import json
import re
import subprocess
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.cache import CACHE, input_directory, prepare
from benchmarks.workloads import Workload

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 60.0
_LONG = 15.0


@dataclass(frozen=True)
class Peer:
    """An engine with a package on PyPI. It tries the workloads that it can express and may finish in time."""

    name: str
    package: str
    tries: Callable[[str], bool]

    @property
    def module(self) -> str:
        return self.package.lower()


# What clingo does not finish in time here; it has no median for the first rule set, and the universities are too many texts.
_NOT_FOR_CLINGO = re.compile(r"tc-grid|tc-.*nonlinear|dag-r|stc-ring|andersen.*|join1-data1|zodiac-rs1|lubm.*")
_NOT_FOR_DUCKDB = re.compile(r"zodiac-rs1|andersen-large")

PEERS = (
    Peer("DuckDB", "duckdb", lambda workload: not _NOT_FOR_DUCKDB.fullmatch(workload)),
    Peer("clingo", "clingo", lambda workload: not _NOT_FOR_CLINGO.fullmatch(workload)),
    Peer("pyDatalog", "pyDatalog", lambda workload: workload == "tc-small"),
)
# Peers that cannot be installed, and why.
MISSING = {"Nemo": "its Python bindings are not on PyPI, and the package `nemo` there is something else"}


@dataclass(frozen=True)
class PeerRun:
    """How a peer did. Without `seconds` it did not finish, and `problem` says why."""

    peer: str
    workload: str
    seconds: float | None = None
    peak_mb: float | None = None
    problem: str = ""

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
    if not _call("-c", f"import {peer.package}").returncode:
        return ""
    installed = _call("-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.package)
    if installed.returncode:
        return f"pip could not install {peer.package}"
    return "" if not _call("-c", f"import {peer.package}").returncode else f"{peer.package} cannot be imported"


def version_of(peer: Peer) -> str:
    code = f"from importlib.metadata import version; print(version('{peer.package}'))"
    return _call("-c", code).stdout.strip()


def _call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(_python()), *arguments], capture_output=True, text=True)


def run_peer(peer: Peer, workload: Workload, *, runs: int = 3, cache: Path = CACHE) -> PeerRun:
    """The whole process, from its start to its end: the fastest of some runs, or the only one of a long run."""
    if problem := problem_of(peer):
        return PeerRun(peer.name, workload.name, problem=problem)
    directory = input_directory(workload.input, cache)
    fastest = _run_once(peer, workload, directory)
    for _ in range(runs - 1):
        if fastest.seconds is None or fastest.seconds > _LONG:
            break
        again = _run_once(peer, workload, directory)
        if again.seconds is not None and again.seconds < fastest.seconds:
            fastest = again
    return fastest


def _run_once(peer: Peer, workload: Workload, directory: Path) -> PeerRun:
    command = [str(_python()), "-m", f"benchmarks.peers.{peer.module}", workload.name, str(directory)]
    started = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return PeerRun(peer.name, workload.name, problem=f"> {TIME_LIMIT:g} s")
    seconds = time.perf_counter() - started
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return PeerRun(peer.name, workload.name, problem=f"failed: {reason}")
    output = json.loads(done.stdout.splitlines()[-1])
    wrong = workload.unexpected(output["counts"])
    return PeerRun(peer.name, workload.name, seconds, output["peak_mb"], problem="; ".join(wrong))
