"""Delta tables of the embedded engine, and those of others."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from corollary import Iri, KnowledgeBase, ProgramError
from corollary.io.write import write_result
from tests.io.loaded import load
from tests.io.test_write import CONSTANTS, TERMS, identities


def test_every_constant_comes_back(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.insert("p", list(enumerate([*CONSTANTS, *TERMS])))
    kb.write("p", tmp_path / "p.delta")
    assert identities(load(tmp_path / "p.delta")) == identities(kb)


def test_what_delta_has_no_type_for_is_text_and_comes_back(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    wide = Decimal("1" + "0" * 40 + ".5")
    kb.insert("p", [(dt.time(1, 2, 3), wide, dt.datetime(2026, 1, 1), dt.date(2026, 1, 1), Iri("urn:é"))])
    kb.write("p", tmp_path / "p.delta")
    kinds = DeltaTable(str(tmp_path / "p.delta")).to_pyarrow_table().schema.types
    assert kinds == [pa.string(), pa.string(), pa.timestamp("us"), pa.date32(), pa.string()]
    assert identities(load(tmp_path / "p.delta")) == identities(kb)


def test_empty_relations_and_predicates_without_arguments(tmp_path: Path) -> None:
    kb = KnowledgeBase("yes. no :- never. q(X) :- nobody(X).")
    for name in ("yes", "no", "q"):
        kb.write(name, tmp_path / f"{name}.delta")
    back = KnowledgeBase("a :- yes. b :- no. c :- q(_).")
    assert back.load_facts(tmp_path) == 1
    assert [back.count(name) for name in ("a", "b", "c")] == [1, 0, 0]


def test_writing_again_is_a_new_version(tmp_path: Path) -> None:
    kb = KnowledgeBase("p(1). p(2). q(a, b). r(3).")
    path = tmp_path / "p.delta"
    kb.write("p", path)
    kb.write("q", path)
    assert list(load(path).facts("p")) == [("a", "b")]
    assert DeltaTable(str(path), version=0).to_pyarrow_table().num_rows == 2
    kb.write("p", path)
    write_result(kb.facts("r"), path, mode="append")
    assert sorted(load(path).facts("p")) == [(1,), (2,), (3,)]
    with pytest.raises(ProgramError, match=r"E408.*the columns of the table are not those of the facts"):
        write_result(kb.facts("q"), path, mode="append")
    with pytest.raises(ProgramError, match=r"E407.*exists"):
        write_result(kb.facts("q"), path, mode="error")
    assert DeltaTable(str(path)).version() == 3


def test_tables_of_others_are_read_with_their_partitions_and_without_their_nulls(tmp_path: Path) -> None:
    path = str(tmp_path / "p.delta")
    write_deltalake(path, pa.table({"x": [1, 2, None], "y": ["a", "b", "a"]}), partition_by=["y"])
    kb = load(Path(path), columns="y, x")
    assert sorted(kb.facts("p")) == [("a", 1), ("b", 2)]
    assert len(kb.rejects) == 1
    with pytest.raises(ProgramError, match=r"E407.*a Delta table with partitions, which Corollary does not write"):
        kb.write("p", path)


def test_what_is_no_delta_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase("p(1).")
    with pytest.raises(ProgramError, match="E402"):
        kb.load("p", tmp_path / "missing.delta")
    (tmp_path / "p.delta").mkdir()
    (tmp_path / "p.delta" / "thesis.tex").write_text("years of work")
    with pytest.raises(ProgramError, match=r"E404.*this is not a Delta table"):
        kb.load("p", tmp_path / "p.delta")
    with pytest.raises(ProgramError, match=r"E407.*exists and is not a Delta table"):
        kb.write("p", tmp_path / "p.delta")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ProgramError, match=r"(?s)E409.*corollary\[delta\]"):
        kb.write("p", tmp_path / "q.delta")


def test_a_failing_commit_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    kb = KnowledgeBase("p(1).")
    monkeypatch.setattr("corollary.io.delta.commit", failing)
    with pytest.raises(ProgramError, match=r"E407.*No space left on device"):
        kb.write("p", tmp_path / "p.delta")
    assert list(tmp_path.iterdir()) == []
