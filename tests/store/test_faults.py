"""What goes wrong with the files of a store: a clear message that names the file, and nothing is lost."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.store.files import digest_of, read_named, write_named

PROGRAM = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z)."


@pytest.fixture(params=[False, True], ids=["changes", "whole states"])
def both_forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions hold changes, or all facts, as they do where most facts change."""
    if request.param:
        monkeypatch.setattr("corollary.engines.embedded.maintenance.journal._LEAST_LARGE", 1)
        monkeypatch.setattr("corollary.engines.embedded.maintenance.journal._LARGE_SHARE", 1000)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Three versions; the third is folded into tables."""
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.insert("edge", [(number, number + 1) for number in range(5)])
    kb.insert("edge", [("ann", "bo")])
    return tmp_path / "kb"


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(ProgramError) as raised:
        act()
    (diagnostic,) = raised.value.diagnostics
    return diagnostic.code


def message_of(act: Callable[[], object]) -> str:
    with pytest.raises(ProgramError) as raised:
        act()
    return str(raised.value)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def data_files(place: Path) -> list[Path]:
    return sorted(file for file in place.rglob("*.parquet") if "_delta_log" not in file.parts)


# -- several at once ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("both_forms")
def test_a_second_writer_gets_a_conflict_and_loses_nothing(place: Path) -> None:
    first, second = KnowledgeBase.open(place), KnowledgeBase.open(place)
    first.insert("edge", [(100, 101)])
    assert code_of(lambda: second.insert("edge", [(200, 201)])) == "E433"
    assert second.version == 3
    assert second.count("edge") == 6
    assert second.count("path") == 16
    again = KnowledgeBase.open(place)
    again.insert("edge", [(200, 201)])
    assert KnowledgeBase.open(place).count("edge") == 8


def test_a_conflict_is_noticed_although_manifests_were_packed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.store.store._FOLD_VERSIONS", 2)
    late = KnowledgeBase.open(place)
    busy = KnowledgeBase.open(place)
    for number in range(300, 305):
        busy.insert("edge", [(number, number + 1)])
    assert code_of(lambda: late.insert("edge", [(1, 7)])) == "E433"
    assert KnowledgeBase.open(place).count("edge") == 11


def test_a_reader_sees_the_version_that_it_opened(place: Path) -> None:
    reader, writer = KnowledgeBase.open(place), KnowledgeBase.open(place)
    writer.insert("edge", [(100, 101)])
    writer.compact()
    assert reader.count("edge") == 6
    assert KnowledgeBase.open(place, version=2).count("edge") == 5


def test_an_earlier_version_cannot_be_changed(place: Path) -> None:
    old = KnowledgeBase.open(place, version=2)
    assert code_of(lambda: old.insert("edge", [(7, 8)])) == "E433"


@pytest.mark.usefixtures("both_forms")
def test_marks_come_and_go_with_versions(place: Path) -> None:
    kb = KnowledgeBase.open(place)
    kb.mark(offset=1)
    kb.insert("edge", [(50, 51)])
    kb.mark(offset=2, topic="wind")
    kb.insert("edge", [(50, 51)])  # nothing new but the mark
    assert kb.version == 5
    kb.compact()
    assert KnowledgeBase.open(place).marks == {"offset": 2, "topic": "wind"}
    assert KnowledgeBase.open(place, version=4).marks == {"offset": 1}
    assert KnowledgeBase.open(place, version=3).marks == {}


# -- damage ------------------------------------------------------------------------------------------------------------


def opened(place: Path) -> tuple[int, int] | str:
    """The facts of a store, or what is wrong with it."""
    try:
        kb = KnowledgeBase.open(place)
        return kb.count("edge"), kb.count("path")
    except ProgramError as error:
        return str(error)


def test_a_flipped_byte_in_any_file_is_an_error_that_names_it_or_changes_nothing(place: Path) -> None:
    KnowledgeBase.open(place).compact()
    copy = place.with_name("copy")
    for file in sorted(file for file in place.rglob("*") if file.is_file() and file.stat().st_size):
        shutil.copytree(place, copy)
        flip(copy / file.relative_to(place))
        found = opened(copy)
        if isinstance(found, str):
            assert re.match(r"error\[E43[024]\]", found)
            assert (str(copy) if "_delta_log" in file.parts else file.name) in found
        else:
            assert found == (6, 16)
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b'"predicate":"path"', b'"predicate":"pazh"'),
        (b'"predicate":"path"', b'"prexicate":"path"'),
        (b'"predicate":"path"', b'"predicate":null  '),
        (b'"owner":"explicit"', b'"owner":"exqlicit"'),
        (b'\\"numRecords\\": 6', b'\\"numRecords\\": 7'),
        (b'\\"numRecords\\": 6', b'\\"numRxcords\\": 6'),
    ],
)
def test_what_the_log_of_a_table_says_of_files_is_checked(place: Path, written: bytes, instead: bytes) -> None:
    KnowledgeBase.open(place).compact()
    log = max((place / "facts" / "_delta_log").glob("*.json"))
    data = log.read_bytes()
    assert written in data
    log.write_bytes(data.replace(written, instead, 1))
    message = message_of(lambda: KnowledgeBase.open(place).count("path"))
    assert "E432" in message
    assert log.name in message


def test_a_store_without_digests_of_what_logs_say_is_read(place: Path) -> None:
    """Those that were written before there were any; what cannot be meant is an error there, too."""
    KnowledgeBase.open(place).compact()
    manifest = place / "versions" / "0000000004.json"
    body = json.loads(manifest.read_bytes())
    for table in body["tables"].values():
        assert table.pop("contents")
    del body["digest"]
    text = json.dumps(body, separators=(",", ":"), sort_keys=True)
    body["digest"] = digest_of(text.encode())
    manifest.write_text(json.dumps(body, separators=(",", ":"), sort_keys=True) + "\n")
    assert opened(place) == (6, 16)
    log = max((place / "facts" / "_delta_log").glob("*.json"))
    log.write_bytes(log.read_bytes().replace(b'"predicate":"path"', b'"predicate":null  ', 1))
    assert log.name in message_of(lambda: KnowledgeBase.open(place).count("path"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"corollary": "knowledge base", "format": 99, "identity": "x"}', "E434"),
        ('{"corollary": "knowledge base", "format": 1, "identity": "x"}', "E434"),
        ('{"corollary": "knowledge base", "format": "x"}', "E432"),
        ('{"format": 2}', "E432"),
        ("junk", "E432"),
        ("[]", "E432"),
    ],
)
def test_a_directory_says_itself_what_it_is(place: Path, text: str, code: str) -> None:
    (place / "corollary.json").write_text(text)
    message = message_of(lambda: KnowledgeBase.open(place))
    assert code in message
    assert "corollary.json" in message


def test_contents_of_files_are_not_in_the_memory_of_python(tmp_path: Path) -> None:
    """Otherwise a thread of Arrow may have to free them when the interpreter ends, and the process aborts now and then."""
    file = write_named(tmp_path, "data", "bin", b"x" * 1_000_000)
    before = pa.total_allocated_bytes()
    data = read_named(file)
    assert pa.total_allocated_bytes() - before >= 1_000_000
    assert data.size == 1_000_000


@pytest.mark.parametrize("table", ["facts", "terms", "program"])
def test_a_missing_file_is_named(place: Path, table: str) -> None:
    KnowledgeBase.open(place).compact()
    file = next(file for file in data_files(place) if file.parts[-3] == table and "v0000000004" in file.parts[-2])
    file.unlink()
    message = message_of(lambda: KnowledgeBase.open(place))
    assert "E432" in message
    assert file.name in message


def test_the_version_before_a_damaged_one_stays_readable(place: Path) -> None:
    flip(place / "versions" / "0000000003.json")
    message = message_of(lambda: KnowledgeBase.open(place))
    assert "0000000003.json" in message
    assert KnowledgeBase.open(place, version=2).count("edge") == 5


def test_the_version_before_a_damaged_compaction_stays_readable(place: Path) -> None:
    KnowledgeBase.open(place).compact()
    for file in data_files(place):
        if "v0000000004" in file.parts[-2]:
            flip(file)
    assert code_of(lambda: KnowledgeBase.open(place)) == "E432"
    assert KnowledgeBase.open(place, version=3).count("edge") == 6


# -- formats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 99])
def test_another_format_is_refused(place: Path, number: int) -> None:
    file = place / "versions" / "0000000003.json"
    body = json.loads(file.read_text())
    body.pop("digest")
    body["format"] = number
    body["digest"] = digest_of(json.dumps(body, separators=(",", ":"), sort_keys=True).encode())
    file.write_text(json.dumps(body))
    message = message_of(lambda: KnowledgeBase.open(place))
    assert "E434" in message
    assert f"has format {number}," in message


def test_facts_that_were_derived_in_another_way_are_derived_anew(place: Path) -> None:
    found = KnowledgeBase.open(place, strategy="dred-counting")
    assert found.count("path") == 16
    assert found.version == KnowledgeBase.open(place).version == 3  # whoever reads writes nothing
    found.delete("edge", [(2, 3)])
    assert [(info.version, info.cause) for info in found.history()[3:]] == [(4, "facts")]
    assert KnowledgeBase.open(place).count("path") == 7
    assert not KnowledgeBase.verify(place)


def test_rules_change_first_where_facts_were_derived_anew(place: Path) -> None:
    found = KnowledgeBase.open(place, strategy="dred-counting")
    found.add_rules("extra: back(Y, X) :- path(X, Y).")
    assert found.version == 4
    assert KnowledgeBase.open(place, version=3).count("back") == 0
    assert KnowledgeBase.open(place).count("back") == 16
    assert not KnowledgeBase.verify(place)


def test_who_derived_anew_and_comes_too_late_changes_nothing(place: Path) -> None:
    late = KnowledgeBase.open(place, strategy="dred-counting")
    KnowledgeBase.open(place).insert("edge", [(90, 91)])
    assert code_of(lambda: late.insert("edge", [(80, 81)])) == "E433"
    assert (late.version, late.count("edge")) == (3, 6)


# -- places ------------------------------------------------------------------------------------------------------------


def test_what_is_no_store_is_not_opened(tmp_path: Path) -> None:
    assert code_of(lambda: KnowledgeBase.open(tmp_path / "missing")) == "E430"
    assert code_of(lambda: KnowledgeBase.open(tmp_path)) == "E430"


def test_what_is_there_is_not_overwritten(place: Path) -> None:
    assert code_of(lambda: KnowledgeBase.create(place, "p(1).")) == "E431"
    assert code_of(lambda: KnowledgeBase("p(1).").save(place)) == "E431"
    assert KnowledgeBase.open(place).count("edge") == 6


def test_an_unknown_version_is_refused(place: Path) -> None:
    message = message_of(lambda: KnowledgeBase.open(place, version=9))
    assert "E435" in message
    assert "1 to 3" in message


def test_what_needs_a_directory_says_so() -> None:
    assert code_of(lambda: KnowledgeBase("p(1).").history()) == "E437"


def test_a_change_that_was_interrupted_after_its_version_was_written_is_not_forgotten(place: Path) -> None:
    kb = KnowledgeBase.open(place)
    kb.insert("edge", [(50, 51)])
    write = kb._durable._write

    def interrupted_after(*version: object) -> None:
        write(*version)
        raise KeyboardInterrupt

    kb._durable._write = interrupted_after
    with pytest.raises(KeyboardInterrupt):
        kb.insert("edge", [(60, 61)])
    kb._durable._write = write
    assert code_of(lambda: kb.insert("edge", [(70, 71)])) == "E433"
    assert KnowledgeBase.open(place).count("edge") == 8
    assert not KnowledgeBase.verify(place)


# -- disks -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_bytes() -> Iterator[Callable[[int], None]]:
    """Limits how large a file may become, as a full disk would."""
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("both_forms")
def test_a_disk_that_takes_no_more_leaves_the_last_version(place: Path, few_bytes: Callable[[int], None]) -> None:
    kb = KnowledgeBase.open(place)
    few_bytes(100)
    message = message_of(lambda: kb.insert("edge", [(50, 51)]))
    assert "E436" in message
    assert str(place) in message
    assert (kb.version, kb.count("edge"), kb.count("path")) == (3, 6, 16)
    few_bytes(resource.RLIM_INFINITY)
    assert KnowledgeBase.open(place).count("edge") == 6
    kb.insert("edge", [(50, 51)])
    assert KnowledgeBase.open(place).count("edge") == 7


def test_saving_to_a_disk_that_takes_no_more_leaves_nothing(tmp_path: Path, few_bytes: Callable[[int], None]) -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.insert("edge", [(number, number + 1) for number in range(100)])
    few_bytes(300)
    assert code_of(lambda: kb.save(tmp_path / "kb")) == "E436"
    few_bytes(resource.RLIM_INFINITY)
    assert not (tmp_path / "kb").exists()
    kb.save(tmp_path / "kb")
    assert KnowledgeBase.open(tmp_path / "kb").count("edge") == 100


FULL = """
import sys
from pathlib import Path
from corollary import KnowledgeBase, ProgramError

kb = KnowledgeBase.create(Path(sys.argv[1]) / "kb", "path(X, Y) :- edge(X, Y).")
written = 0
try:
    for number in range(10_000):
        kb.insert("edge", [(number, place) for place in range(2_000)])
        written += 2_000
except ProgramError as error:
    assert error.diagnostics[0].code == "E436", str(error)
    assert "No space left" in str(error), str(error)
    assert kb.count("path") == written
    print(written)
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mount") is None, reason="a small file system needs to be mounted"
)
def test_a_full_disk_leaves_the_last_version(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        run = subprocess.run([sys.executable, "-c", FULL, str(disk)], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        written = int(run.stdout)
        assert written > 0
        found = KnowledgeBase.open(disk / "kb")
        assert (found.count("edge"), found.count("path")) == (written, written)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


READ_ONLY = """
import os
import shutil
import sys
import tempfile
from contextlib import suppress

from corollary import KnowledgeBase, ProgramError

# The other user may not be able to read what is imported and compiled on the way of a change, and of one that is taken back.
copy = os.path.join(tempfile.mkdtemp(), "copy")
shutil.copytree(sys.argv[1], copy)
first, second = KnowledgeBase.open(copy), KnowledgeBase.open(copy)
first.insert("edge", [(7, 8)])
with suppress(ProgramError):
    second.insert("edge", [(7, 8)])
KnowledgeBase.create(copy + "-inside", "p(1).")
os.setuid(65534)
kb = KnowledgeBase.open(sys.argv[1])
assert kb.count("path") == 16
try:
    kb.insert("edge", [(7, 8)])
except ProgramError as error:
    print(error)
assert (kb.version, kb.count("edge")) == (3, 6)
try:
    KnowledgeBase.create(sys.argv[1] + "/inside", "p(1).")
except ProgramError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_a_path_without_permission_can_be_read_and_not_written(place: Path) -> None:
    for folder in (place, *place.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    run = subprocess.run([sys.executable, "-c", READ_ONLY, str(place)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("E436") == 2
    assert str(place / "lock") in run.stdout
