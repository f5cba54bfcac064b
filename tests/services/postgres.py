"""A PostgreSQL server of its own for tests, and the JDBC driver for it.

The server runs in a new directory, as a user other than root (it refuses to be run by root), on a free port of this machine.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_USER = "corollary"
_PASSWORD = "secret for tests"
_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/opt/postgresql*/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass(frozen=True)
class Postgres:
    """A running server with one database."""

    port: int
    programs: Path
    user: str = _USER
    password: str = _PASSWORD
    database: str = "postgres"

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"

    def run(self, sql: str) -> str:
        """What psql prints for a statement, without headings."""
        command = [str(self.programs / "psql"), "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user]
        command += ["-d", self.database, "-v", "ON_ERROR_STOP=1", "-q", "-A", "-t", "-c", sql]
        environment = {**os.environ, "PGPASSWORD": self.password}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def jdbc_driver() -> Path | None:
    """The jar of the driver, where this machine has one."""
    repository = Path.home() / ".m2/repository/org/postgresql/postgresql"
    found = [Path("/usr/share/java/postgresql.jar"), *sorted(repository.glob("*/postgresql-*.jar"), reverse=True)]
    return next((jar for jar in found if jar.is_file()), None)


def find_programs() -> Path | None:
    """The directory of initdb and pg_ctl."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    for pattern in _PLACES:
        for directory in sorted(Path("/").glob(pattern[1:]), reverse=True):
            if (directory / "initdb").is_file():
                return directory
    return None


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server until the end of the block; the test is skipped where it cannot run."""
    programs = find_programs()
    if programs is None or jdbc_driver() is None:
        pytest.skip("PostgreSQL and its JDBC driver are not installed (Debian: postgresql, libpostgresql-jdbc-java)")
    prefix = _as_other_user()
    directory = Path(tempfile.mkdtemp(prefix="corollary-postgres-"))
    try:
        if prefix:
            shutil.chown(directory, *prefix.owner)
        yield from _serve(programs, directory, prefix)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _serve(programs: Path, directory: Path, prefix: _OtherUser | None) -> Iterator[Postgres]:
    data, secret, log = directory / "data", directory / "secret", directory / "log"
    secret.write_text(_PASSWORD)
    secret.chmod(0o644)
    start = prefix.command if prefix else []

    def call(*arguments: str) -> None:
        done = subprocess.run([*start, *arguments], cwd=directory, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    call(str(programs / "initdb"), "-D", str(data), "-U", _USER, "--pwfile", str(secret), "-A", "scram-sha-256",
         "-E", "UTF8", "--locale=C", "--no-sync")  # fmt: skip
    port = _free_port()
    settings = f"-p {port} -h 127.0.0.1 -k {directory} -c fsync=off"
    control = str(programs / "pg_ctl")
    call(control, "-D", str(data), "-w", "-l", str(log), "-o", settings, "start")
    try:
        yield Postgres(port, programs)
    finally:
        call(control, "-D", str(data), "-m", "immediate", "stop")


@dataclass(frozen=True)
class _OtherUser:
    name: str

    @property
    def owner(self) -> tuple[int, int]:
        entry = pwd.getpwnam(self.name)
        return entry.pw_uid, entry.pw_gid

    @property
    def command(self) -> list[str]:
        return ["runuser", "-u", self.name, "--"]


def _as_other_user() -> _OtherUser | None:
    """None where this process may run the server itself."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        if shutil.which("runuser"):
            return _OtherUser(name)
    pytest.skip("PostgreSQL does not run as root, and there is no other user to run it")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests of this process: `from tests.services.postgres import postgres  # noqa: F401`."""
    with running_postgres() as server:
        yield server
