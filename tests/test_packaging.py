"""The distribution: sdist and wheel are built, and the wheel works in an environment that has nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIRST_SESSION = re.compile(r"```pycon\n(.*?)```", re.S)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist, which is made from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert list(folder.glob("corollary-*.tar.gz"))
    (found,) = folder.glob("corollary-*.whl")
    return found


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours


def test_its_metadata_is_what_people_look_for(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    head, _, description = archive.read(name).decode().partition("\n\n")
    assert description == (ROOT / "README.md").read_text(encoding="utf-8")
    extras = re.findall(r"^Provides-Extra: (.*)$", head, re.M)
    assert extras == ["all", "avro", "delta", "dev", "duckdb", "mqtt", "pandas", "postgres", "rdf", "spark"]
    core = re.findall(r"^Requires-Dist: ([\w-]+)[^;]*$", head, re.M)
    assert "pyspark" not in core
    assert "pytest" not in core


@pytest.mark.slow  # installs numba and pyarrow, and compiles kernels anew
def test_it_installs_in_an_empty_environment_and_answers_as_the_readme_shows(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python, clean = environment / "bin" / "python", {**os.environ, "PYTHONPATH": "", "HOME": str(tmp_path)}
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel]
    installed = subprocess.run(install, capture_output=True, text=True, timeout=600, env=clean, check=False)
    if "Could not find a version" in installed.stderr or "Connection" in installed.stderr:
        pytest.skip("no package index can be reached")
    assert installed.returncode == 0, installed.stderr

    def run(*command: object) -> str:
        done = subprocess.run(
            [str(one) for one in command],
            capture_output=True,
            text=True,
            timeout=300,
            env=clean,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run(environment / "bin" / "corollary", "--version").startswith("corollary ")
    session = FIRST_SESSION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert session is not None
    (tmp_path / "session.txt").write_text(session[1], encoding="utf-8")
    run(python, "-m", "doctest", "session.txt")
    run(python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('pyspark') is not None)")
