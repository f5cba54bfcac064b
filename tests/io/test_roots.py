"""Programs read and write below their own folder, and elsewhere only where the host says so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.diagnostics import Source
from corollary.io.loading import place_of_input
from corollary.program import InputDeclaration
from corollary.settings import Settings
from tests.cli.command import corollary
from tests.services.spark_session import shared_session

PLACES = {
    "below": "data/p.csv",
    "below, with a point": "./data/../data/p.csv",
    "above": "../secret/p.csv",
    "above, from below": "data/../../secret/p.csv",
    "absolute": "{secret}/p.csv",
    "address of a file": "file://{secret}/p.csv",
    "address of a file in capitals": "FILE:{secret}/p.csv",
    "escaped address of a file": "file://{escaped}/p.csv",
    "linked file": "linked.csv",
    "linked folder": "linked/p.csv",
    "link inside of a folder": "holding",
    "link to a folder with a link": "through",
    "pattern above": "../secret/*.csv",
    "pattern that goes up": "data/{{..,x}}/../secret/*.csv",
    "pattern over a link": "holding/*.csv",
    "pattern over a link to a folder with a link": "throu*",
    "pattern of a linked folder": "*/p.csv",
    "pattern with alternatives": "{{data,linked}}/p.csv",
    "HDFS": "hdfs://namenode/p.csv",
    "S3": "s3a://bucket/p.csv",
    "web": "http://169.254.169.254/p.csv",
    "PostgreSQL": "postgresql://localhost/db",
    "JDBC": "jdbc:postgresql://localhost/db",
}
ALLOWED = {"below", "below, with a point"}
SEVERAL = {"link inside of a folder", "link to a folder with a link", *(name for name in PLACES if "pattern" in name)}
FILES = [name for name in PLACES if name not in SEVERAL]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program's folder with data, and another one beside it that is none of its business."""
    home, secret = tmp_path / "home", tmp_path / "secret"
    for place in (home / "data", home / "holding", home / "through", secret):
        place.mkdir(parents=True)
    for place in (home / "data", secret):
        (place / "p.csv").write_text("1\n")
    os.symlink(secret / "p.csv", home / "linked.csv")
    os.symlink(secret, home / "linked")
    os.symlink(secret / "p.csv", home / "holding" / "p.csv")
    os.symlink("../holding", home / "through" / "more")
    return home


def location(name: str, folder: Path) -> str:
    secret = str(folder.parent / "secret")
    return PLACES[name].format(secret=secret, escaped=secret.replace("s", "%73"))


@pytest.mark.parametrize("name", PLACES)
def test_an_input_is_below_the_folder_of_its_program(folder: Path, name: str) -> None:
    text = f'@input p("{location(name, folder)}", format = "csv") .'
    (folder / "program.dl").write_text(text)
    for make in (lambda: KnowledgeBase(text, base=folder), lambda: KnowledgeBase.from_file(folder / "program.dl")):
        if name in ALLOWED:
            assert make().count("p") == 1
        else:
            with pytest.raises(ProgramError, match=r"(?s)E419.*inputs_root"):
                make()


@pytest.mark.parametrize("name", [name for name in PLACES if "://" not in PLACES[name] and name != "JDBC"])
def test_the_host_names_other_roots(folder: Path, name: str) -> None:
    declared = InputDeclaration("p", location(name, folder))
    secret = str(folder.parent / "secret")
    if name == "pattern that goes up":
        return
    if name not in ALLOWED:
        assert place_of_input(declared, folder, [secret, str(folder)])
        assert place_of_input(declared, folder, [str(folder.parent)])
    with pytest.raises(ProgramError, match="E419"):
        place_of_input(declared, folder, [str(folder / "elsewhere")])


@pytest.mark.parametrize("pattern", ["data/*.csv", "d*/p.csv", "da{ta,ten}/*", "d*/[p].json", "nowhere/*.csv"])
def test_links_that_a_pattern_does_not_mean_do_not_matter(folder: Path, pattern: str) -> None:
    assert place_of_input(InputDeclaration("p", pattern), folder, [])[0] == folder / pattern


def test_there_is_no_file_with_a_nul_in_its_name(folder: Path) -> None:
    with pytest.raises(ProgramError, match="E402"):
        KnowledgeBase('@input p("data/\\u0000.csv") .', base=folder)


def test_links_in_a_circle_lead_nowhere(folder: Path) -> None:
    os.symlink("circle.csv", folder / "circle.csv")
    os.symlink("..", folder / "data" / "up")
    with pytest.raises(ProgramError, match="E402"):
        KnowledgeBase('@input p("circle.csv") .', base=folder)
    with pytest.raises(ProgramError, match="E419"):  # by data/up/linked
        KnowledgeBase('@input p("data", format = "parquet") .', base=folder)


@pytest.mark.parametrize(
    ("address", "root", "is_below"),
    [
        ("hdfs://namenode/data/p.csv", "hdfs://namenode/data", True),
        ("hdfs://namenode/data/p.csv", "hdfs://namenode/data/", True),
        ("hdfs://namenode/data", "hdfs://namenode/data", True),
        ("hdfs://namenode/database/p.csv", "hdfs://namenode/data", False),
        ("hdfs://namenode/data/../p.csv", "hdfs://namenode/data", False),
        ("hdfs://namenode/data/%2E%2e/p.csv", "hdfs://namenode/data", False),
        ("hdfs://namenode/data/{..}/p.csv", "hdfs://namenode/data", False),
        ("hdfs://other/data/p.csv", "hdfs://namenode/data", False),
        ("jdbc:postgresql://db/x", "jdbc:postgresql://db/", True),
        ("jdbc:postgresql://db/x?socketFactory=evil", "jdbc:postgresql://db/", False),
        ("jdbc:postgresql://db.evil.org/x", "jdbc:postgresql://db", False),
        ("postgresql://db/x", "/", False),
        ("postgresql://db/x", "postgresql://", True),
    ],
)
def test_addresses_are_below_the_address_of_a_root(address: str, root: str, is_below: bool, tmp_path: Path) -> None:
    declared = InputDeclaration("p", address)
    if is_below:
        assert place_of_input(declared, tmp_path, [root])[0] == address
    else:
        with pytest.raises(ProgramError, match="E419"):
            place_of_input(declared, tmp_path, [root])


def test_each_file_of_a_program_has_its_own_folder(folder: Path) -> None:
    other = folder.parent / "secret" / "other.dl"
    sources = [Source('@input p("data/p.csv") .', str(folder / "a.dl")), Source('@input q("p.csv") .', str(other))]
    for source in sources:
        Path(source.name).write_text(source.text)
    kb = KnowledgeBase.from_sources(sources)
    assert (kb.count("p"), kb.count("q")) == (1, 1)


def test_what_the_host_loads_itself_may_be_anywhere(folder: Path) -> None:
    kb = KnowledgeBase(base=folder)
    assert kb.load("p", folder.parent / "secret" / "p.csv") == 1
    assert kb.load("q", folder / "linked.csv") == 1
    assert kb.load_facts(folder.parent / "secret") == 0


def test_roots_are_settings() -> None:
    assert Settings.of(inputs_root="/data").inputs_root == ("/data",)
    assert Settings.of(inputs_root=["/data", Path("/more")]).inputs_root == ("/data", "/more")
    with pytest.raises(ValueError, match="inputs_root is a folder or an address, or a list of them, not 5"):
        Settings.of(inputs_root=5)


def run(folder: Path, *arguments: Any) -> Any:
    return corollary("run", folder / "program.dl", *arguments, cwd=folder.parent)


def test_commands_take_other_roots(folder: Path) -> None:
    (folder / "program.dl").write_text('@input p("../secret/p.csv") . q(X) :- p(X).')
    assert "E419" in run(folder).stderr
    assert run(folder, "--inputs-root", folder.parent).returncode == 0
    assert run(folder, "--inputs-root", folder, "--inputs-root", folder.parent / "secret").returncode == 0
    for command in (["query", "home/program.dl", "q(X)"], ["rules", "home/program.dl"], ["repl", "home/program.dl"]):
        assert "E419" in corollary(*command, cwd=folder.parent).stderr
        assert corollary(*command, "--inputs-root", ".", cwd=folder.parent).returncode == 0
    (folder / "facts").mkdir()
    (folder / "facts" / "p.csv").write_text("7\n")
    (folder / "program.dl").write_text("q(X) :- p(X).")
    assert run(folder, "--facts", folder / "facts").returncode == 0  # the command's own word


@pytest.mark.parametrize(
    "name",
    FILES,
)
def test_an_output_is_below_the_folder_of_its_program(folder: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in folder.parent.rglob("*.csv")}
    (folder / "program.dl").write_text(f'p(5). q(X) :- p(X). @output q("{location(name, folder)}", format = "csv") .')
    found = run(folder)
    if name in ALLOWED:
        assert (folder / "data" / "p.csv").read_text() == "5\n"
        return
    assert "E419" in found.stderr
    assert "outputs_root" in found.stderr
    assert {path: path.read_bytes() for path in folder.parent.rglob("*.csv")} == before


def test_an_output_with_a_directory_of_the_command_is_below_that(folder: Path) -> None:
    out = folder.parent / "out"
    (folder / "program.dl").write_text('p(5). q(X) :- p(X). @output q("q.csv") .')
    assert run(folder, "--out", out).returncode == 0
    assert (out / "q.csv").read_text() == "5\n"
    (folder / "program.dl").write_text('p(5). q(X) :- p(X). @output q("../q.csv") .')
    assert "E419" in run(folder, "--out", out).stderr
    assert run(folder, "--outputs-root", folder.parent).returncode == 0
    assert (folder.parent / "q.csv").read_text() == "5\n"


@pytest.mark.spark
def test_roots_on_spark(folder: Path) -> None:
    for name in PLACES:
        text = f'@input p("{location(name, folder)}", format = "csv") .'
        if name in ALLOWED:
            with KnowledgeBase(text, base=folder, engine="spark") as kb:
                assert kb.count("p") == 1
        else:
            with pytest.raises(ProgramError, match="E419"):
                KnowledgeBase(text, base=folder, engine="spark")


LOGS = {
    "absolute": "{secret}/t.delta/{file}",
    "address of a file": "file://{secret}/t.delta/{file}",
    "upward": "../../secret/t.delta/{file}",
    "upward, escaped": "%2E%2e/../secret/t.delta/{file}",
    "elsewhere": "s3a://bucket/t.delta/{file}",
}


def table_that_names(name: str, folder: Path) -> Path:
    """A Delta table below the folder of the program whose log names a file that is not."""
    secret = folder.parent / "secret" / "t.delta"
    KnowledgeBase("p(1).").write("p", secret)
    (log,) = (secret / "_delta_log").glob("*.json")
    (file,) = (path.relative_to(secret) for path in secret.rglob("*.parquet"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = LOGS[name].format(secret=folder.parent / "secret", file=file)
    table = folder / "t.delta"
    (table / "_delta_log").mkdir(parents=True)
    (table / "_delta_log" / log.name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return table


@pytest.mark.parametrize("name", LOGS)
def test_the_log_of_a_table_leads_nowhere_else(folder: Path, name: str) -> None:
    table_that_names(name, folder)
    with pytest.raises(ProgramError, match=r"(?s)E419.*inputs_root"):
        KnowledgeBase('@input p("t.delta") .', base=folder)


@pytest.mark.spark
@pytest.mark.parametrize("name", LOGS)
def test_the_log_of_a_table_leads_nowhere_else_on_spark(folder: Path, name: str) -> None:
    table = table_that_names(name, folder)
    spark = shared_session()
    with pytest.raises(ProgramError, match=r"(?s)E419.*inputs_root"):
        KnowledgeBase('@input p("t.delta") .', base=folder, engine=spark)
    if name == "absolute":  # what the host loads itself may be anywhere, and so may what it names as a root
        with KnowledgeBase(engine=spark) as kb:
            assert kb.load("p", table) == 1
        with KnowledgeBase('@input p("t.delta") .', base=folder, engine=spark, inputs_root=folder.parent) as kb:
            assert list(kb.facts("p")) == [(1,)]
