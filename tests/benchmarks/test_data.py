"""The inputs of the benchmarks are the same rows everywhere: their numbers of answers depend on it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pytest

from benchmarks.cache import input_directory
from benchmarks.data import INPUTS
from benchmarks.lubm import universities
from benchmarks.ontology import sources

# Rows, and the beginning of the SHA-256 of the relation as a file.
DIGESTS = {
    "tc-random/edge": (6400, "1ed4f0bca6fae449"),
    "tc-grid/edge": (19800, "9214ad509a811ab4"),
    "tc-chain/edge": (1999, "4123b8804e61101c"),
    "dag-r/r": (100000, "4c35c92c3fe150f9"),
    "sg-tree/par": (9999, "c8e4d11c30131071"),
    "stc-ring/r": (2000, "e0da584a2a7c5940"),
    "join1-data0/c2": (10000, "085c583fff061f8b"),
    "join1-data0/c3": (10000, "7bec8c3d36f26827"),
    "join1-data0/c4": (10000, "ad7f95226d139c11"),
    "join1-data0/d1": (10000, "04d877564945ee6d"),
    "join1-data0/d2": (10000, "ed25f1b55b684d02"),
    "join1-data1/c2": (50000, "d03f974d113e2234"),
    "join1-data1/c3": (50000, "22fbaaf9d07ca8e9"),
    "join1-data1/c4": (50000, "06d45f9b1057961d"),
    "join1-data1/d1": (50000, "bd17c8cf30e8339d"),
    "join1-data1/d2": (50000, "5103c866b756023e"),
    "join2/p": (19, "7c26b86cb7fd4459"),
    "zodiac/p1": (200, "d1cddd4eb12c00e7"),
    "zodiac/p2": (200, "d09ec04fad6d375a"),
    "zodiac/p3": (200, "05de86d3026f1caa"),
    "zodiac/p4": (200, "a512932066362250"),
    "zodiac/p5": (0, "e3b0c44298fc1c14"),
    "andersen/new": (1000, "e4182221d330bbae"),
    "andersen/assign": (11000, "686d7165c7e5cef6"),
    "andersen/load": (2000, "381101e7d3f40b94"),
    "andersen/store": (1500, "5c1435164a82a6a1"),
    "andersen-large/new": (1000, "e4182221d330bbae"),
    "andersen-large/assign": (12000, "a6346ad1d56febb8"),
    "andersen-large/load": (4000, "d444844fb28b8cbe"),
    "andersen-large/store": (2000, "bb7dc7dbf040ed9e"),
}


@pytest.mark.parametrize("name", dict.fromkeys(name.partition("/")[0] for name in DIGESTS))
def test_inputs_have_the_rows_that_the_expected_counts_are_for(name: str, tmp_path: Path) -> None:
    full = input_directory(name, tmp_path) / "full"
    written = {f"{name}/{file.stem}": file.read_bytes() for file in full.iterdir()}
    found = {relation: (text.count(b"\n"), sha256(text).hexdigest()[:16]) for relation, text in written.items()}
    assert found == {relation: digest for relation, digest in DIGESTS.items() if relation.startswith(f"{name}/")}


def test_a_sample_is_the_beginning_of_each_relation(tmp_path: Path) -> None:
    directory = input_directory("zodiac", tmp_path)
    for file in (directory / "sample").iterdir():
        assert (directory / "full" / file.name).read_text().startswith(file.read_text())


def test_inputs_are_written_once(tmp_path: Path) -> None:
    first = input_directory("tc-small", tmp_path)
    marker = first / "marker"
    marker.touch()
    assert input_directory("tc-small", tmp_path) == first
    assert marker.exists()
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_inputs_of_a_changed_definition_are_replaced(tmp_path: Path) -> None:
    old = tmp_path / "inputs" / "tc-small-0123456789ab"
    other = tmp_path / "inputs" / "tc-small-two-0123456789ab"
    old.mkdir(parents=True)
    other.mkdir()
    assert input_directory("tc-small", tmp_path).exists()
    assert not old.exists()
    assert other.exists()


def test_no_input_is_without_a_digest_but_the_small_and_the_obvious() -> None:
    assert set(INPUTS) - {name.partition("/")[0] for name in DIGESTS} == {"tc-small", "wind-farm", "nothing"}


def test_the_first_university_has_the_facts_that_the_expected_counts_are_for() -> None:
    (tables,) = universities(1)
    assert {name: table.num_columns for name, table in tables.items()} == sources()
    assert sum(table.num_rows for table in tables.values()) == 97_646
    assert crc32("".join(sorted(_lines(tables))).encode()) == 4_277_585_303


def test_the_facts_of_a_university_are_distinct() -> None:
    (tables,) = universities(1)
    lines = list(_lines(tables))
    assert len(set(lines)) == len(lines)


def test_a_university_does_not_depend_on_how_many_there_are() -> None:
    (alone,) = universities(1)
    first, second = universities(2)
    assert all(first[name].equals(table) for name, table in alone.items())
    assert not second["src_advisor"].equals(first["src_advisor"])


def _lines(tables: dict[str, pa.Table]) -> list[str]:
    return [
        f"{name} {' '.join(row)}\n"
        for name, table in tables.items()
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]
