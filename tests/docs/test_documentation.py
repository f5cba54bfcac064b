"""Every program and every command of the documentation is executed, and prints what the documentation says.

- ```datalog: a program without errors; ```datalog wrong: one with errors. `title=family.dl` keeps it for later commands.
- ```output directly behind it: what `corollary run` prints for that program.
- ```console: `$ corollary …` lines, each followed by what it prints.
- ```pycon: a Python session, checked by doctest.

UPDATE_GOLDEN=1 writes what is printed into the documents; read the difference before you keep it.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from corollary.analysis import analyse_texts
from corollary.diagnostics import Source, render_all
from tests.docs.console import normalised, rewrites_expectations, session, shown_by
from tests.docs.fences import Block, blocks_of, rewrite

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "docs", ROOT / "docs" / "benchmarks", ROOT / "examples"]
DOCUMENTS = [ROOT / "README.md", *(document for folder in FOLDERS for document in sorted(folder.glob("*.md")))]
GUIDES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "dev").glob("*.md"))]  # executed by test_walk_throughs
LANGUAGES = {"datalog", "output", "console", "pycon", "sh", "text", "json", "mermaid"}

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@every_document
def test_blocks_are_of_a_kind_that_is_checked(document: Path) -> None:
    assert {block.language for block in blocks_of(document)} <= LANGUAGES


@every_document
def test_programs_and_commands_print_what_the_document_says(document: Path, tmp_path: Path) -> None:
    copytree(ROOT / "examples", tmp_path / "examples")
    differences = []
    seen: dict[Block, str] = {}
    for block, expected, actual in _expectations(document, tmp_path):
        if normalised(expected) != actual:
            seen[block] = actual
            differences.append(f"{document.name}:{block.first}\n--- says\n{expected}\n--- is\n{actual}")
    if rewrites_expectations():
        rewrite(document, seen)
    elif differences:
        pytest.fail("\n\n".join(differences), pytrace=False)


def _expectations(document: Path, directory: Path) -> Iterator[tuple[Block, str, str]]:
    """Each block that shows something, with what it says and what is so."""
    previous: Block | None = None
    names: dict[str, object] = {}
    for block in blocks_of(document):
        place = f"{document.name}:{block.first}"
        if block.language == "datalog":
            _check_program(block, place)
            (directory / (block.title or "program.dl")).write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "output":
            assert previous is not None, f"{place}: no program before this output"
            assert previous.language == "datalog", f"{place}: no program before this output"
            assert previous.is_directly_before(block), f"{place}: the program stands too far away"
            yield block, block.text, shown_by(f"corollary run {previous.title or 'program.dl'}", directory)
        elif block.language == "console":
            yield block, block.text, session(block.text, lambda command: shown_by(command, directory))
        elif block.language == "pycon":
            _check_session(block, place, names)
        previous = block


def _check_program(block: Block, place: str) -> None:
    errors = analyse_texts(Source(block.text, place)).errors
    if "wrong" in block.options:
        assert errors, f"{place} is said to be wrong, but is not"
    else:
        assert not errors, render_all(errors)


def _check_session(block: Block, place: str, names: dict[str, object]) -> None:
    """The sessions of a document are one: `names` holds what the earlier ones defined."""
    test = doctest.DocTestParser().get_doctest(block.text + "\n", names, place, place, block.first)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not result.failed, "".join(report)


@pytest.mark.parametrize("document", [*DOCUMENTS, *GUIDES], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    for target in _LINK.findall(document.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        linked = document.parent / name if name else document
        assert linked.exists(), f"{document.name} links to {target}"
        if anchor:
            headings = _HEADING.findall(linked.read_text(encoding="utf-8"))
            assert anchor in {_anchor(heading) for heading in headings}, f"{document.name} links to {target}"


def _anchor(heading: str) -> str:
    """The anchor that a heading gets on common hosts."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
