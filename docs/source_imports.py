"""The packages of the source and what they import, for the pictures and the tests of the architecture."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "corollary"
PAGE = Path(__file__).with_name("architecture.md")

_ROW = re.compile(r"^\| ((?:`[\w/]+`(?:, )?)+) \|", re.M)


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def layers() -> list[str]:
    """Return the packages from the highest to the lowest, as the first table of the page about the architecture has them."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition("\n## The packages\n")
    table, _, _ = after.partition("\n## ")
    return [name for row in _ROW.findall(table) for name in re.findall(r"`([\w/]+)`", row)]


@cache
def existing_packages() -> frozenset[str]:
    """Return the packages and modules right below the source; each engine is a package of its own."""
    found = {path for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    engines = SOURCE / "engines"
    found = (found - {engines}) | set(engines.iterdir())
    found = {path for path in found if not path.stem.startswith("__")}
    return frozenset(path.relative_to(SOURCE).with_suffix("").as_posix() for path in found)


def package_of(module: str) -> str | None:
    """Return the package that `corollary.package.more` belongs to; None for what is not ours and for what only routes."""
    parts = module.split(".")
    if parts[0] != "corollary":
        return None
    return next((name for end in (3, 2) if (name := "/".join(parts[1:end])) in existing_packages()), None)


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(["corollary", *(part for part in parts if part != "__init__")])


def imported_modules(path: Path) -> list[tuple[int, str]]:
    """Return the modules that a file imports when it runs, at its top or inside a function, with their lines."""
    folder = ["corollary", *path.relative_to(SOURCE).parent.parts]
    found: list[tuple[int, str]] = []
    for node in _what_runs(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from corollary import cli` names the package only behind the import.
            routes = module in ("corollary", "corollary.engines")
            found += [(node.lineno, f"{module}.{alias.name}" if routes else module) for alias in node.names]
    return found


@cache
def imports() -> dict[str, dict[str, list[str]]]:
    """Return what each package imports of the others, with the places where it does."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in sorted(existing_packages())}
    for path in files():
        importing = package_of(module_of(path))
        for line, module in imported_modules(path):
            imported = package_of(module)
            if importing is not None and imported is not None and imported != importing:
                place = f"{path.relative_to(SOURCE).as_posix()}:{line} imports {module}"
                found[importing].setdefault(imported, []).append(place)
    return found


def _what_runs(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under `if TYPE_CHECKING:`, which name types and load nothing."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            yield node
            yield from _what_runs(node)
