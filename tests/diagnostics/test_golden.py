"""Every code of the catalogue, with its exact text: `tests/golden/diagnostics/<case>/{program.dl, expected.err}`.

`UPDATE_GOLDEN=1 pytest tests/diagnostics` writes the expected files anew; read the difference before you keep it.
"""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corollary.analysis import analyse_texts, checked, delete_rules
from corollary.diagnostics import CATALOGUE, Diagnostic, ProgramError, Source, render_all
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.spark.derive_failures import derive_failures
from corollary.engines.spark.strategies.growing import check_nothing_lost
from corollary.engines.spark.workspace import choose_directory
from corollary.knowledge_base import KnowledgeBase
from corollary.language import parse_program, read_source
from corollary.reference import evaluate
from corollary.sources.write import write_result

GOLDEN = Path(__file__).parent.parent / "golden" / "diagnostics"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
PROGRAM = "program.dl"


def check() -> tuple[Diagnostic, ...]:
    return analyse_texts(read_source(PROGRAM)).diagnostics


def delete_a_rule() -> None:
    delete_rules(checked(parse_program(read_source(PROGRAM))).graph, ["stepp"])


def run() -> None:
    evaluate(parse_program(read_source(PROGRAM)))


def run_with_a_limit() -> None:
    evaluate(parse_program(read_source(PROGRAM)), max_facts=100)


def check_a_long_line() -> tuple[Diagnostic, ...]:
    return analyse_texts(Source("edge(1, 2). " * 100_000, PROGRAM)).diagnostics


def run_where_errors_stop() -> None:
    EmbeddedEngine(checked(parse_program(read_source(PROGRAM))).graph, discards_errors=False).materialise()


def insert_a_row() -> None:
    KnowledgeBase.from_file(PROGRAM).insert("edge", [(1, 2), (3, None)])


def load() -> None:
    KnowledgeBase.from_file(PROGRAM)


def load_strictly() -> None:
    KnowledgeBase.from_file(PROGRAM, strict=True)


def load_without_the_package() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyoxigraph", None)
        KnowledgeBase.from_file(PROGRAM)


def write_into_a_missing_folder() -> None:
    write_result(KnowledgeBase.from_file(PROGRAM).facts("edge"), Path("missing") / "edge.csv")


def write_a_tab() -> None:
    write_result(KnowledgeBase.from_file(PROGRAM).facts("note"), Path("note.tsv"))


def use_a_cluster_without_a_directory() -> None:
    choose_directory(None, None, "spark://head:7077")


def use_a_cluster_where_nobody_is() -> None:
    KnowledgeBase("edge(1, 2).", engine="spark", master="spark://127.0.0.1:1", workspace="/shared")


def read_less_than_was_written() -> None:
    with derive_failures("{r2}", "hdfs://head/work/corollary-3f2a"):
        check_nothing_lost(20, 14)


# What no program text alone can provoke, or only one that is too large to keep. A new code gets its case in a folder, and
# a line here where `check` does not find it.
PRODUCERS: dict[str, Callable[[], tuple[Diagnostic, ...] | None]] = {
    "E206": delete_a_rule,
    "E301": run,
    "E302": run_with_a_limit,
    "E303": run_where_errors_stop,
    "E401": insert_a_row,
    "E402": load,
    "E403": load,
    "E404": load,
    "E405": load,
    "E406": load_strictly,
    "E407": write_into_a_missing_folder,
    "E408": write_a_tab,
    "E409": load_without_the_package,
    "E410": use_a_cluster_without_a_directory,
    "E411": use_a_cluster_where_nobody_is,
    "E412": read_less_than_was_written,
    "W103": check_a_long_line,
}


def diagnostics_of(case: str) -> tuple[Diagnostic, ...]:
    try:
        found = PRODUCERS.get(case[:4], check)()
    except ProgramError as error:
        return error.diagnostics
    assert found is not None, "nothing was wrong"
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_text_of_the_diagnostics_is_as_expected(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / case)
    found = diagnostics_of(case)
    text = render_all(found) + "\n"
    expected = Path("expected.err")
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
    code = re.match(r"[EW]\d{3}_", case)
    assert code is None or case[:4] in {diagnostic.code for diagnostic in found}


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_of_the_catalogue_has_a_golden_case(code: str) -> None:
    assert any(case.startswith(f"{code}_") for case in CASES), f"{code} has no folder in tests/golden/diagnostics"
