"""Compiled kernels are found again only where all their sources are the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from corollary.engines import kernel_cache

SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = """
import corollary.engines.embedded
from corollary.engines import kernel_cache
from corollary.engines.embedded.kernel_of_test import answer
print(kernel_cache.digest(), answer())
"""

KERNELS = """
import importlib, pkgutil
from pathlib import Path

from numba.core.dispatcher import Dispatcher

import corollary

root = Path(corollary.__file__).parent
for part in ("engines.embedded", "engines.spark", "io", "store"):
    package = importlib.import_module(f"corollary.{part}")
    for one in pkgutil.walk_packages(package.__path__, f"corollary.{part}."):
        try:
            found = importlib.import_module(one.name)
        except ImportError:
            continue
        for value in vars(found).values():
            if isinstance(value, Dispatcher):
                print(Path(value.py_func.__code__.co_filename).relative_to(root).as_posix())
"""


def digest_of(package: Path) -> str:
    with patch.object(kernel_cache, "_PACKAGE", package):
        return kernel_cache.digest.__wrapped__()


def shown(folder: Path, program: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_a_constant_of_another_file_compiles_the_kernel_again(tmp_path: Path) -> None:
    """numba alone looks at the file of the kernel only, and would go on with the old constant."""
    package = tmp_path / "corollary"
    shutil.copytree(SOURCE / "corollary", package, ignore=shutil.ignore_patterns("__pycache__"))
    embedded = package / "engines" / "embedded"
    (embedded / "constants_of_test.py").write_text("ANSWER = 1\n")
    (embedded / "kernel_of_test.py").write_text(
        "from numba import njit\n\n"
        "from corollary.engines.embedded.constants_of_test import ANSWER\n\n\n"
        "@njit(cache=True)\ndef answer():\n    return ANSWER\n"
    )
    first, again = shown(tmp_path, PROGRAM), shown(tmp_path, PROGRAM)
    assert first == again
    assert first[-1] == "1"
    (embedded / "constants_of_test.py").write_text("ANSWER = 2\n")
    changed = shown(tmp_path, PROGRAM)
    assert changed[-1] == "2"
    assert changed[0] != first[0]
    left = {path.name.split("-")[-1].partition(".")[0] for path in embedded.glob("__pycache__/kernel_of_test*.nbi")}
    assert left == {changed[0]}


def test_every_file_with_kernels_is_part_of_the_digest(tmp_path: Path) -> None:
    """Also those that get their decorators from a file beside them, and never mention numba."""
    package = tmp_path / "corollary"
    shutil.copytree(SOURCE / "corollary", package, ignore=shutil.ignore_patterns("__pycache__"))
    kernels = subprocess.run([sys.executable, "-c", KERNELS], capture_output=True, text=True, check=True)
    files = sorted(set(kernels.stdout.split()))
    assert "engines/embedded/marking/matching.py" in files
    assert len(files) > 20
    digests = set()
    for file in ["", *files]:
        if file:
            with (package / file).open("a") as opened:
                opened.write("# something\n")
        digests.add(digest_of(package))
    assert len(digests) == len(files) + 1


def test_a_file_without_kernels_changes_nothing(tmp_path: Path) -> None:
    package = tmp_path / "corollary"
    shutil.copytree(SOURCE / "corollary", package, ignore=shutil.ignore_patterns("__pycache__"))
    program = "from corollary.engines import kernel_cache; print(kernel_cache.digest())"
    before = shown(tmp_path, program)
    (package / "cli" / "doctor.py").write_text("# nothing\n")
    assert shown(tmp_path, program) == before
    with (package / "engines" / "embedded" / "relations" / "memory.py").open("a") as file:
        file.write("# something\n")
    assert shown(tmp_path, program) != before
