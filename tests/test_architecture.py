"""The shape of the source: imports point downward, only the command line prints."""

import ast
import re
from pathlib import Path

import pytest

from docs.source_imports import SOURCE, existing_packages, files, imports, layers, module_of, package_of

ROOT = SOURCE.parents[1]
FILES = files()


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_the_page_of_the_architecture_lists_all_packages_and_no_others() -> None:
    assert sorted(layers()) == sorted(existing_packages())


@pytest.mark.parametrize("package", sorted(existing_packages()))
def test_a_package_imports_only_packages_below_it(package: str) -> None:
    """In the order of the page: so there is no cycle among packages, wherever in a file an import stands."""
    below = layers()[layers().index(package) + 1 :]
    assert [place for name, places in imports()[package].items() if name not in below for place in places] == []


def test_the_pages_name_files_that_exist() -> None:
    """A name with a slash is a path from the root, the package or one of its engines; a name alone in the first cell of a row
    that began with such a path is in the same folder."""
    missing = []
    for page in (*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "dev").glob("*.md"), ROOT / "CONTRIBUTING.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            named = re.findall(r"`([a-z_]+(?:/[a-z_]+)+(?:\.py)?)`", line)
            row = re.match(r"\| `([a-z_/]+)/[a-z_]+`(?:, `[a-z_]+`)+ \|", line)
            if row is not None:
                named += [f"{row[1]}/{name}" for name in re.findall(r"(?<=, )`([a-z_]+)`", row[0])]
            missing += [f"{page.name}: {name}" for name in named if not _exists(name)]
    assert missing == []


def _exists(name: str) -> bool:
    places = (ROOT, SOURCE, *(SOURCE / "engines").iterdir())
    return any((place / name).exists() or (place / f"{name}.py").exists() for place in places)


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{relative(path)}:{node.lineno}"
        for path in FILES
        if package_of(module_of(path)) != "cli"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []


def test_modules_import_each_other_without_cycles() -> None:
    """Inside a layer too: what a module needs when it is loaded can be read from the bottom up."""
    modules = {module_of(path): path for path in FILES if path.name != "__init__.py"}
    graph = {
        name: {
            node.module for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)
        }
        & set(modules)
        for name, path in modules.items()
    }
    done: set[str] = set()
    while ready := {name for name, targets in graph.items() if name not in done and targets <= done}:
        done |= ready
    assert sorted(set(graph) - done) == []


def test_no_two_classes_have_the_same_name() -> None:
    """One name, one thing: a search finds the class that is meant."""
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{relative(path)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_docstrings_are_sentences_for_the_caller() -> None:
    """They say what is returned, raised or changed, in place of a riddle such as "What changes" or "The same, sorted"."""
    with_docstrings = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    riddles = [
        f"{relative(path)}:{node.body[0].lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, with_docstrings)
        and (ast.get_docstring(node) or "").startswith(("What ", "The same ", "The same,", "Who ", "Whoever "))
    ]
    assert riddles == []
