"""docs/papers.md: whatever a row of its tables names is there. Its programs and commands are run by `test_documentation`.

- A link with a name to a Python file: the file defines that function, class, method or constant.
- A test that shows something is one that pytest collects, with `test_` in a file of tests.
- `corollary …` stands in a ```console block of the page, with what it prints.
- `python -m benchmarks …` names experiments that exist.
- A row without anything that shows it says "not yet", or leads to where it is.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from benchmarks.experiments import chosen_of
from benchmarks.suite import names as workloads
from tests.docs.fences import blocks_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
COLUMNS = ("in the paper", "where", "shown by", "published → ours", "difference, and why")
PAPERS = ("000", "001", "002", "003", "004")
SUITES = {
    "language": ("benchmarks.language.experiments", "EXPERIMENTS"),
    "maintenance": ("benchmarks.maintenance.experiments", "EXPERIMENTS"),
    "modules": ("benchmarks.modules.programs", "BENCHMARKS"),
    "streams": ("benchmarks.streams.experiments", "EXPERIMENTS"),
    "yield": ("benchmarks.yield_index.experiments", "EXPERIMENTS"),
}

_NAMED = re.compile(r"\[`([\w.]+)`\]\(([^)#\s]+\.py)\)")
_LINK = re.compile(r"\[[^\]]+\]\([^)]+\)")
_CODE = re.compile(r"`([^`]+)`")
_PAPER = re.compile(r"^## Paper (\d{3})\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A row of a table: what the paper has, where it is, what shows it, the result, and the difference."""

    what: str
    where: str
    shown: str
    result: str
    difference: str

    @property
    def commands(self) -> list[str]:
        return [found for found in _CODE.findall(self.shown) if " " in found]


def sections() -> dict[str, str]:
    """The text of the page by the number of the paper."""
    parts = _PAPER.split(PAGE.read_text(encoding="utf-8"))[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def rows() -> tuple[Row, ...]:
    lines = [line for text in sections().values() for line in text.split("\n") if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return tuple(Row(*row) for row in cells if len(row) == len(COLUMNS) and row[0] != COLUMNS[0])


@cache
def definitions(file: Path) -> frozenset[str]:
    """What a file defines at its top level, and the methods and attributes of its classes as `Class.name`."""
    return frozenset(_defined(ast.parse(file.read_text(encoding="utf-8")).body, ""))


def _defined(body: Collection[ast.stmt], prefix: str) -> Iterator[str]:
    for one in body:
        match one:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + one.name
            case ast.ClassDef():
                yield prefix + one.name
                yield from _defined(one.body, f"{prefix}{one.name}.")
            case ast.Assign():
                yield from (prefix + target.id for target in one.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name() as target):
                yield prefix + target.id


def test_each_paper_has_tables_programs_and_commands() -> None:
    assert tuple(sections()) == PAPERS
    for number, text in sections().items():
        assert "```datalog" in text, number
        assert "```console" in text, number
        assert text.count(f"| {' | '.join(COLUMNS)} |") == 2, number


def test_every_line_of_a_table_is_a_row_of_five_cells() -> None:
    lines = [line for text in sections().values() for line in text.split("\n") if line.startswith("| ")]
    headings = len(PAPERS) * 2
    dates = 6  # the heading and the lines of the last table
    assert len(rows()) == len(lines) - headings - dates


def test_the_names_of_links_are_defined_in_their_files() -> None:
    links = _NAMED.findall(PAGE.read_text(encoding="utf-8"))
    missing = [(name, file) for name, file in links if name not in definitions((PAGE.parent / file).resolve())]
    assert len(links) > 200
    assert missing == []


def test_a_row_says_what_shows_it_or_that_it_is_not_there_yet() -> None:
    for row in rows():
        is_shown = bool(row.commands or _LINK.search(row.shown))
        assert is_shown or _LINK.search(row.where) or "not yet" in row.result + row.difference, row.what


def test_what_shows_a_row_is_a_test_that_is_collected() -> None:
    for name, file in (link for row in rows() for link in _NAMED.findall(row.shown)):
        assert name.startswith("test_"), name
        assert Path(file).name.startswith("test_"), file


def test_every_corollary_command_of_a_table_is_run_on_the_page() -> None:
    console = "\n".join(block.text for block in blocks_of(PAGE) if block.language == "console")
    run = set(re.findall(r"^\$ (.*)$", console, re.MULTILINE))
    named = {command for row in rows() for command in row.commands if command.startswith("corollary ")}
    assert named == run


def test_the_benchmarks_of_a_table_exist() -> None:
    for command in {command for row in rows() for command in row.commands if not command.startswith("corollary ")}:
        program, option, module, *wanted = shlex.split(command)
        assert (program, option, module) == ("python", "-m", "benchmarks"), command
        if wanted[0] in SUITES:
            place, attribute = SUITES[wanted[0]]
            chosen_of(getattr(import_module(place), attribute), wanted[1:])
        else:
            chosen_of(workloads(), wanted, "workload")
