"""The walk-throughs of docs/dev are applied to a copy of the package, one after the other, and what they make is used there.

- ```python title=FILE new, ```python title=FILE append: a new file, or more text at the end of one.
- ```diff title=FILE: lines that go (-), come (+) and stay; those that go and stay must be there, exactly once.
- ```datalog title=FILE: a program for the commands that follow.
- ```console and ```pycon: what the copy prints.

UPDATE_GOLDEN=1 writes what is printed into the pages; read the difference before you keep it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from corollary.engines import kernel_cache
from tests.docs.console import normalised, rewrites_expectations, session, terminal
from tests.docs.fences import Block, blocks_of, rewrite

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "dev").glob("*.md"))
DOCTEST = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], module_relative=False).failed)"


class Copy:
    """A copy of the package, with the kernels that are compiled already, and a folder in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.root, self.work = folder / "copy", folder / "work"
        copytree(ROOT / "src", self.root / "src")
        self._keep_kernels()
        self.work.mkdir()

    def _keep_kernels(self) -> None:
        """Kernels stay good: walk-throughs change files that kernels import, but nothing that is compiled into them."""
        file = self.root / "src/corollary/engines/kernel_cache.py"
        text, computed = file.read_text(encoding="utf-8"), "return found.hexdigest()[:12]"
        assert text.count(computed) == 1
        file.write_text(text.replace(computed, f'return "{kernel_cache.digest()}"'), encoding="utf-8")

    def apply(self, block: Block) -> None:
        assert block.title is not None
        file = self.root / block.title
        if "new" in block.options:
            assert not file.exists(), f"{block.title} is there already"
            file.write_text(block.text + "\n", encoding="utf-8")
            return
        text = file.read_text(encoding="utf-8")
        if "append" in block.options:
            file.write_text(f"{text}\n\n{block.text}\n", encoding="utf-8")
            return
        lines = block.text.split("\n")
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        assert text.count(old) == 1, f"{block.title} has these lines {text.count(old)} times, not once:\n{old}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def shown_by(self, command: str) -> str:
        program, *arguments = shlex.split(command)
        assert program == "corollary"
        return normalised(self._run("-m", "corollary", *arguments).stdout)

    def check_session(self, block: Block) -> None:
        file = self.work / "session.txt"
        file.write_text(block.text + "\n", encoding="utf-8")
        run = self._run("-c", DOCTEST, str(file))
        assert run.returncode == 0, run.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.work,
            env={**terminal(), "PYTHONPATH": str(self.root / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("walk_throughs"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_a_walk_through_works_as_it_is_written(guide: Path, package: Copy) -> None:
    differences: dict[Block, str] = {}
    for block in blocks_of(guide):
        if block.language in ("python", "diff"):
            package.apply(block)
        elif block.language == "datalog":
            (package.work / str(block.title)).write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "pycon":
            package.check_session(block)
        elif block.language == "console":
            actual = session(block.text, package.shown_by)
            if actual != normalised(block.text):
                differences[block] = actual
        else:
            assert block.language in ("sh", "text"), f"{guide.name}:{block.first} would not be checked"
    if rewrites_expectations():
        rewrite(guide, differences)
    else:
        assert not differences, "\n\n".join(differences.values())


ON_SPARK = """
import pyarrow as pa
from corollary import KnowledgeBase

rows = pa.table({"a": range(400_000), "b": ["text"] * 400_000, "c": [0.5] * 400_000})
with KnowledgeBase(engine="spark", master="local[2]") as spark:
    spark.insert("p", rows)
    spark.write("p", "large.arrow")
embedded = KnowledgeBase()
embedded.load("p", "large.arrow")
with KnowledgeBase(engine="spark", master="local[2]") as spark:
    spark.load("p", "large.arrow")
    print(embedded.count("p"), spark.count("p"), list(spark.query("p(7, B, C)")), list(embedded.query("p(7, B, C)")))
"""


@pytest.mark.slow
@pytest.mark.spark
def test_tasks_of_spark_write_and_read_large_files_of_a_new_format(tmp_path: Path) -> None:
    package = Copy(tmp_path)
    for block in blocks_of(ROOT / "docs" / "dev" / "format.md"):
        if block.language in ("python", "diff"):
            package.apply(block)
    run = package._run("-c", ON_SPARK)
    assert run.stdout.splitlines()[-1:] == ["400000 400000 [('text', 0.5)] [('text', 0.5)]"], run.stdout
    assert (package.work / "large.arrow").stat().st_size > 8 << 20  # from which on tasks read it
