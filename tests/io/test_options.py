"""What the text of a program may say about a source, and what only the program around it may."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.io.options import ReadOptions


@pytest.mark.parametrize("option", ["query", "driver", "jar"])
def test_the_text_of_a_program_runs_neither_sql_nor_java(option: str, tmp_path: Path) -> None:
    text = f'@input p("jdbc:postgresql://localhost/x", {option} = "DROP TABLE t") .\nq(X) :- p(X).'
    with pytest.raises(ProgramError, match=f"a program cannot set the option '{option}'"):
        KnowledgeBase(text, base=tmp_path)
    assert getattr(ReadOptions.of({option: "x"}), option) == "x"
