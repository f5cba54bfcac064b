"""The shape of the source: imports point downward, files stay readable, only the command line prints."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "corollary"
FILES = sorted(SOURCE.rglob("*.py"))

# From bottom to top. A file may import from its own layer and from those before it.
LAYERS = [
    "machine",
    "diagnostics",
    "settings",
    "program",
    "language",
    "analysis",
    "reference",
    "pictures",
    "planning",
    "engines",
    "reasoning",
    "storage",
    "sources",
    "results",
    "spark",
    "transactions",
    "backends",
    "store",
    "streams",
    "knowledge_base",
    "web",
    "cli",
]
# What starts Spark is a part of the engines. The pipeline on Spark reads and writes files too, so it stands above their readers.
SPARK_ITSELF = {"session", "cluster", "java", "shim", "errors", "arrow_frames"}
LONGEST_FILE = 600


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def layer_of(module: str) -> str | None:
    """The layer of `corollary.layer.more`; None for what is not ours and for the package itself."""
    parts = module.split(".")
    if parts[:3] == ["corollary", "engines", "spark"] and len(parts) > 3 and parts[3] not in SPARK_ITSELF:
        return "spark"
    return parts[1] if parts[0] == "corollary" and len(parts) > 1 else None


def layer_of_file(path: Path) -> str | None:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return None if parts[0] in ("__init__", "__main__") else layer_of(".".join(["corollary", *parts]))


def imported_modules(path: Path) -> list[tuple[int, str]]:
    """The modules that a file imports when it runs, at its top or inside a function, with their lines."""
    package = ["corollary", *path.relative_to(SOURCE).parent.parts]
    found: list[tuple[int, str]] = []
    for node in walk_what_runs(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from corollary import cli` names a layer behind the import.
            found += [
                (node.lineno, f"{module}.{alias.name}" if module == "corollary" else module) for alias in node.names
            ]
    return found


def walk_what_runs(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under `if TYPE_CHECKING:`, which name types and load nothing."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            yield node
            yield from walk_what_runs(node)


def test_every_file_belongs_to_a_layer() -> None:
    assert {layer for path in FILES if (layer := layer_of_file(path))} <= set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_downward(path: Path) -> None:
    layer = layer_of_file(path)
    if layer is None:
        return
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    upward = [
        f"{relative(path)}:{line} imports {module}"
        for line, module in imported_modules(path)
        if (target := layer_of(module)) in LAYERS and target not in allowed
    ]
    assert not upward


def test_no_file_is_longer_than_six_hundred_lines() -> None:
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{relative(path)}:{node.lineno}"
        for path in FILES
        if layer_of_file(path) != "cli"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []


def test_modules_import_each_other_without_cycles() -> None:
    """Inside a layer too: what a module needs when it is loaded can be read from the bottom up."""
    modules = {module_name(path): path for path in FILES if path.name != "__init__.py"}
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


def module_name(path: Path) -> str:
    return ".".join(["corollary", *path.relative_to(SOURCE).with_suffix("").parts])
