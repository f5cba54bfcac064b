"""A standalone Spark cluster of its own for tests: one master, two workers, all of them processes of this machine.

They come from the pyspark package, which has no scripts to start them, and run on the Java that Corollary finds. A worker can be
killed as a machine dies: with its executors, their Python processes and its disk. Everything ends with the test, and with the
process that started it, however that ends.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

from corollary.engines.spark_session.java import find_java, shim_home

T = TypeVar("T")
START_SECONDS = 180
"""How long a process may take to start: a machine that runs other tests too is slow."""
WORKER_CORES = 1
WORKER_MEMORY = "1g"

# Closes with this process, and then the whole group goes: nothing stays when pytest is killed.
_TIED = 'exec 3<&0; (read -r _ <&3; kill -9 -$$) 2>/dev/null & exec "$@" 3<&- </dev/null'


@dataclass
class Process:
    """A master or a worker. It leads a process group, in which its executors are too."""

    running: subprocess.Popen[bytes]
    log: Path
    disk: Path
    is_alive: bool = True

    def kill(self) -> None:
        """What SIGKILL does to a machine: the process, all that it has started, and what they had on their disk."""
        if not self.is_alive:
            return
        self.is_alive = False
        for pid in [*(child for child, _ in descendants(self.running.pid)), self.running.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()
        if self.running.stdin is not None:
            self.running.stdin.close()
        shutil.rmtree(self.disk, ignore_errors=True)


@dataclass
class SparkCluster:
    """`directory` is for logs and disks; `shared` below it is what all machines of a cluster would share."""

    directory: Path
    master: str = ""
    workers: list[Process] = field(default_factory=list)
    _master: Process | None = None

    @property
    def shared(self) -> Path:
        return self.directory / "shared"

    @property
    def alive(self) -> list[Process]:
        return [worker for worker in self.workers if worker.is_alive]

    def start(self, workers: int = 2) -> None:
        self.shared.mkdir()
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", [])
        found = self._told(self._master, r"Starting Spark master at (spark://\S+)")
        self._told(self._master, r"I have been elected leader")
        self.master = found[1]
        for worker in [self.begin_worker() for _ in range(workers)]:
            self.await_worker(worker)

    def start_worker(self) -> Process:
        worker = self.begin_worker()
        self.await_worker(worker)
        return worker

    def begin_worker(self, prefix: Sequence[str] = ()) -> Process:
        """A worker that is on its way; `prefix` is a command that runs it, as `unshare` would."""
        options = ["--cores", str(WORKER_CORES), "--memory", WORKER_MEMORY, "--work-dir", "{disk}/work", self.master]
        name = f"worker{len(self.workers) + 1}"
        worker = self._start(name, "org.apache.spark.deploy.worker.Worker", options, prefix)
        self.workers.append(worker)
        return worker

    def await_worker(self, worker: Process) -> None:
        self._told(worker, r"Successfully registered with master")

    def worker_of(self, executor: str) -> Process:
        """The worker that an executor runs on."""
        for worker in self.alive:
            if any(f"--executor-id {executor} " in command for _, command in descendants(worker.running.pid)):
                return worker
        raise AssertionError(f"no worker has the executor {executor}")

    def stop(self) -> None:
        for process in [*self.workers, *([self._master] if self._master else [])]:
            process.kill()

    def _start(self, name: str, java_class: str, options: Sequence[str], prefix: Sequence[str] = ()) -> Process:
        import pyspark

        home = Path(pyspark.__file__).parent
        disk, log = self.directory / name, self.directory / f"{name}.log"
        disk.mkdir()
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "JAVA_HOME": _java_home(),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(disk),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOG_DIR": str(self.directory),
        }
        command = [str(home / "bin" / "spark-class"), java_class, "--host", "127.0.0.1", "--port", "0"]
        command += ["--webui-port", "0", *(option.format(disk=disk) for option in options)]
        with log.open("wb") as output:
            running = subprocess.Popen(
                ["sh", "-c", _TIED, "sh", *prefix, *command],
                cwd=disk, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        return Process(running, log, disk)

    def _told(self, process: Process, pattern: str) -> re.Match[str]:
        def look() -> re.Match[str] | None:
            if process.running.poll() is not None:
                raise AssertionError(f"{process.log.name} ended:\n{process.log.read_text(errors='replace')[-4000:]}")
            return re.search(pattern, process.log.read_text(errors="replace"))

        found = wait_for(look, START_SECONDS, lambda: f"'{pattern}' in {process.log.read_text(errors='replace')}")
        assert found is not None
        return found


@cache
def _java_home() -> str:
    return str(shim_home(find_java().program))


def wait_for(look: Callable[[], T], seconds: float, what: Callable[[], str]) -> T:
    """What `look` gives as soon as it is something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds:.0f} s for {what()}")
        time.sleep(0.1)
    return found


def descendants(pid: int) -> list[tuple[int, str]]:
    """The processes that a process has started, and those that they have started, with their commands."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    children: dict[int, list[tuple[int, str]]] = {}
    for line in listed.stdout.splitlines():
        child, parent, *command = line.split(None, 2)
        children.setdefault(int(parent), []).append((int(child), "".join(command)))
    found: list[tuple[int, str]] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [child for child, _ in below]
    return found


@contextmanager
def running_cluster(workers: int = 2) -> Iterator[SparkCluster]:
    """A cluster until the end of the block."""
    cluster = SparkCluster(Path(tempfile.mkdtemp(prefix="corollary-cluster-")))
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(cluster.directory, ignore_errors=True)
