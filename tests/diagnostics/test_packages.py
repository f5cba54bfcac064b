"""A package that is missing is said so, with how to install it, at every door that needs one."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.diagnostics.packages import EXTRAS, optional_package
from corollary.engines.spark_session.failures import SparkUnavailableError
from corollary.streams.mqtt import MqttUpdates

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "corollary"

FACTS = KnowledgeBase("p(1).")
DOORS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "load from PostgreSQL": ("psycopg", lambda path: FACTS.load("q", "postgresql://localhost/db", table="t")),
    "publish to PostgreSQL": (
        "psycopg",
        lambda path: KnowledgeBase.create(path / "kb", "p(1).").publish("postgresql://localhost/db", ["p"]),
    ),
    "source of PostgreSQL": (
        "psycopg",
        lambda path: (
            (kb := KnowledgeBase("r(X) :- q(X).")).source("q", "postgresql://localhost/db", table="t") or kb.count("r")
        ),
    ),
    "to_pandas": ("pandas", lambda path: FACTS.facts("p").to_pandas()),
    "load Turtle": ("pyoxigraph", lambda path: FACTS.load_rdf(path / "t.ttl")),
    "load N-Triples with escapes": ("pyoxigraph", lambda path: FACTS.load("t", path / "t.nt")),
    "load Delta": ("deltalake", lambda path: FACTS.load("q", path / "t.delta")),
    "write Delta": ("deltalake", lambda path: FACTS.write("p", path / "out.delta")),
    "create a store": ("deltalake", lambda path: KnowledgeBase.create(path / "kb", "p(1).")),
    "save": ("deltalake", lambda path: FACTS.save(path / "kb")),
    "open a store": ("deltalake", lambda path: KnowledgeBase.open(stored(path))),
    "MQTT": ("paho", lambda path: list(FACTS.stream(MqttUpdates("localhost", "t", journal=path / "journal")))),
    "the Spark engine": ("pyspark", lambda path: KnowledgeBase("p(1).", engine="spark").count("p")),
    "to_spark": ("pyspark", lambda path: FACTS.facts("p").to_spark()),
    "load_table": ("pyspark", lambda path: FACTS.load_table("q", "t")),
}


def stored(path: Path) -> Path:
    """A directory that a knowledge base was saved in, while everything was installed."""
    return path / "stored"


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FACTS.save(stored(tmp_path))
    (tmp_path / "t.ttl").write_text("<http://e.org/a> <http://e.org/p> 1 .")
    (tmp_path / "t.nt").write_text('<http://e.org/a> <http://e.org/p> "\\n" .')
    (tmp_path / "t.delta").mkdir()
    module, use = DOORS[door]
    package, extra = EXTRAS[module]
    for name in [module, *(name for name in sys.modules if name.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises((ProgramError, SparkUnavailableError)) as raised:
        use(tmp_path)
    text = str(raised.value)
    assert re.search(r"E409|E411|PySpark is not installed", text)
    assert package in text.lower()
    assert f"pip install 'corollary[{extra}]'" in text


def test_a_package_that_is_there_and_does_not_work_says_why() -> None:
    message = "PostgreSQL needs the package psycopg, which cannot be imported: no libpq"
    with pytest.raises(ProgramError, match=message), optional_package("psycopg", "PostgreSQL"):
        raise ImportError("no libpq")


def test_the_extras_are_those_of_the_project() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in EXTRAS.values():
        assert any(re.match(rf"{package}\b", requirement) for requirement in extras[extra]), (package, extra)


# Files that are only loaded when Spark runs, and a format whose functions for Spark are given a session of it.
ON_SPARK = (
    "io/delta.py",
    "engines/spark/",
    "engines/spark_session/",
    "backends/spark.py",
    "store/spark_",
    "streams/structured.py",
    "streams/reject_files.py",
)


def test_optional_packages_are_imported_nowhere_else() -> None:
    unguarded = [
        f"{path.relative_to(SOURCE)}:{line} imports {module}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, module in unguarded_imports(ast.parse(path.read_text(encoding="utf-8")))
        if module in EXTRAS and not (module == "pyspark" and path.relative_to(SOURCE).as_posix().startswith(ON_SPARK))
    ]
    assert unguarded == []


def unguarded_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The imports that run, but for those in a `with optional_package(…)`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.With) and "optional_package" in ast.unparse(node.items[0]):
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or "").partition(".")[0]
        yield from unguarded_imports(node)
