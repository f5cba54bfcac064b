"""A PostgreSQL server for tests: a cluster of its own in a temporary directory, on a free port of this machine only.

The server is the one that the system has installed (Debian: `apt install postgresql libpostgresql-jdbc-java`); tests that need it
are skipped where there is none. It refuses to run as root, so root starts it as the user `postgres`.
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
from dataclasses import dataclass, field
from pathlib import Path

USER, PASSWORD = "corollary", "s3cret of tests"
_SYSTEM_USER = "postgres"


def server_programs() -> Path | None:
    """The folder with `initdb` and `pg_ctl`, of the newest server that is installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: float(path.parts[-3]))
    if installed:
        return installed[-1].parent
    found = shutil.which("pg_ctl")
    return Path(found).resolve().parent if found else None


def jdbc_driver() -> Path | None:
    """The driver's jar: Debian's, or the one that Maven has fetched before."""
    fetched = Path.home().glob(".m2/repository/org/postgresql/postgresql/*/postgresql-*.jar")
    found = [jar for jar in (Path("/usr/share/java/postgresql.jar"), *sorted(fetched)) if jar.is_file()]
    return found[0] if found else None


@dataclass(frozen=True)
class Postgres:
    """A server that runs."""

    programs: Path
    port: int
    user: str = USER
    password: str = field(default=PASSWORD, repr=False)

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def run(self, sql: str) -> list[tuple[str, ...]]:
        """The rows of a statement as texts."""
        command = [
            str(self.programs / "psql"),
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-U",
            self.user,
            "-d",
            "postgres",
        ]
        command += ["-v", "ON_ERROR_STOP=1", "-X", "-A", "-t", "-F", "\x1f", "-R", "\x1e", "-c", sql]
        environment = {**os.environ, "PGPASSWORD": self.password, "PGCLIENTENCODING": "UTF8"}
        done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
        text = done.stdout.decode().removesuffix("\n")
        return [tuple(row.split("\x1f")) for row in text.split("\x1e")] if text else []


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Starts a server and stops it at the end, with everything that it held."""
    programs = server_programs()
    assert programs is not None, "PostgreSQL is not installed"
    directory = Path(tempfile.mkdtemp(prefix="corollary-postgres-"))
    try:
        port = _free_port()
        secret = directory / "password"
        secret.write_text(PASSWORD)
        _give_away(directory)
        data = directory / "data"
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C"]
        _call(programs / "initdb", "-D", data, *options, "--no-sync")
        # Nothing of a test must outlive a crash of the machine.
        settings = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c fsync=off"
        _call(programs / "pg_ctl", "-D", data, "-w", "-t", "120", "-l", directory / "log", "-o", settings, "start")
        try:
            yield Postgres(programs, port)
        finally:
            _call(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _call(program: Path, *arguments: object) -> None:
    user = _SYSTEM_USER if os.geteuid() == 0 else None
    group = pwd.getpwnam(user).pw_gid if user else None
    command = [str(program), *map(str, arguments)]
    # A server that starts keeps the pipe of its output: it must not be one that somebody waits for.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            user=user,
            group=group,
            cwd="/",
            timeout=180,
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode(errors="replace")


def _give_away(directory: Path) -> None:
    if os.geteuid() == 0:
        owner = pwd.getpwnam(_SYSTEM_USER)
        for path in (directory, *directory.iterdir()):
            os.chown(path, owner.pw_uid, owner.pw_gid)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
