"""Damage in any file that some version needs is found, whichever version is the newest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.store.store import Store
from corollary.store.verify import damage_of
from tests.cli.command import corollary

PROGRAM = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). edge(1, 2)."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Versions with their changes in the manifest and in files of their own, folded and packed ones, and a compacted one."""
    path = tmp_path_factory.mktemp("damage") / "kb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corollary.store.store._FOLD_VERSIONS", 4)
        kb = KnowledgeBase.create(path, PROGRAM)
        for number in range(2, 7):
            kb.insert("edge", [(number, number + 1)])
        kb.insert("wide", [(number, f"text {number}") for number in range(1500)])
        kb.insert("edge", [(10, 11)])
        kb.compact()
        kb.delete("wide", [(number, f"text {number}") for number in range(1200)])
        kb.insert("edge", [(20, 21)])
    return path


def needed_files(place: Path) -> list[str]:
    """The files with facts, constants and programs, and the manifests."""
    files = [*place.rglob("*.parquet"), *(place / "versions").glob("*.json*")]
    return sorted(str(file.relative_to(place)) for file in files if "_delta_log" not in file.parts)


def needed_by_newest(place: Path) -> set[Path]:
    store = Store.open(place)
    tables = {
        folder.path / file.name
        for name, folder in store.tables.by_name.items()
        for file in folder.files(store.head.tables[name])
    }
    return tables | {store.versions.folder / name for manifest in store._recent for name in manifest.files}


def test_a_store_without_damage_has_none(place: Path) -> None:
    assert damage_of(place) == []
    assert KnowledgeBase.verify(place, all_files=True) == []
    files = needed_files(place)
    assert len(files) > 15
    old = {str(place / file) for file in files} - {str(file) for file in needed_by_newest(place)}
    assert len([file for file in old if file.endswith(".parquet")]) > 3  # there are files that only old versions need


@pytest.mark.parametrize("harm", ["a bit", "cut", "gone"])
def test_damage_is_found_in_every_file(place: Path, tmp_path: Path, harm: str) -> None:
    copy = Path(shutil.copytree(place, tmp_path / "kb"))
    last = max((copy / "versions").glob("[0-9]*.json")).name  # without it, the version before is the newest
    for name in needed_files(copy):
        file = copy / name
        whole = file.read_bytes()
        if harm == "gone":
            if file.name == last or file.name.startswith("pack-"):
                continue
            file.unlink()
        else:
            middle = len(whole) // 2
            file.write_bytes(
                whole[:middle] if harm == "cut" else whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
            )
        found = damage_of(copy)
        assert any(file.name in one.message and one.code == "E432" for one in found), name
        with pytest.raises(ProgramError, match="E432"):
            KnowledgeBase.verify(copy, all_files=True)
        file.write_bytes(whole)
    assert damage_of(copy) == []


def test_a_lost_log_of_a_table_is_found(place: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(place, tmp_path / "kb"))
    (copy / "facts" / "_delta_log" / f"{0:020}.json").unlink()
    assert any("_delta_log" in one.message for one in damage_of(copy))


def test_the_command_tells_all_files_that_are_damaged(place: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(place, tmp_path / "kb"))
    newest = needed_by_newest(copy)
    old = [copy / name for name in needed_files(copy) if name.endswith(".parquet") and copy / name not in newest][:2]
    for file in old:
        file.write_bytes(file.read_bytes()[:-1])
    assert corollary("verify", "kb", cwd=tmp_path).returncode == 0
    run = corollary("verify", "kb", "--all", cwd=tmp_path)
    assert run.returncode == 3
    assert all(file.name in run.stderr.replace("\n", "") for file in old)


FORKS = """
import os, sys
from corollary import KnowledgeBase, ProgramError

def child(act):
    if not (pid := os.fork()):
        try:
            act()
            os._exit(0)
        except ProgramError as error:
            os._exit(1 if error.diagnostics[0].code == "E414" else 2)
        except BaseException:
            os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

place = sys.argv[1]
found = [child(lambda: KnowledgeBase.open(place).insert("edge", [(30, 31)]))]
kb = KnowledgeBase.open(place)
found.append(child(lambda: KnowledgeBase.open(place)))
found.append(child(lambda: kb.insert("edge", [(32, number) for number in range(60_000)])))
found.append(child(lambda: KnowledgeBase("p(1).").write("p", place + ".delta")))
found.append(child(lambda: KnowledgeBase("p(1). q(X) :- p(X).").count("q")))
print(found)
"""


def test_a_forked_process_is_told_what_it_cannot_do(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place, tmp_path / "kb")
    run = subprocess.run(
        [sys.executable, "-c", FORKS, str(tmp_path / "kb")],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ),
    )
    assert run.stdout == "[0, 1, 1, 1, 0]\n", run.stderr
