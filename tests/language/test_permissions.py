"""What a text may say, by the door through which it comes: doors x statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corollary import Change, KnowledgeBase, ProgramError, Settings, function
from corollary.language import NOTHING, TRUSTED, Permissions, parse, parse_program
from corollary.language.permissions import refusals_of_program
from corollary.program.host_functions import unregister
from tests.cli.command import corollary

CALLS: list[Any] = []
PROGRAM = "q(1). p(X) :- q(X)."

FORBIDDEN = {
    "input": ('@input p("secrets.csv") .', "inputs"),
    "input with its format": ('@input p("secrets.csv", format = "csv") .', "inputs"),
    "input of a database": ('@input p("postgresql://localhost/db", table = "t") .', "inputs"),
    "several inputs": ('@input q("secrets.csv"), p("secrets.csv") .', "inputs"),
    "output": ('@output p("stolen.csv") .', "outputs"),
    "output without a file": ("@output p .", "outputs"),
    "declared function": ("@function spied/1 .", "functions"),
    "function in a head": ("p(spied(X)) :- q(X).", "functions"),
    "function in a body": ("p(Y) :- q(X), Y = spied(X).", "functions"),
    "function in BIND": ("p(Y) :- q(X), BIND(1 + spied(X) AS Y).", "functions"),
    "function in COMP": ("p(X) :- q(X), COMP(spied(X), >, 0).", "functions"),
    "function under not": ("p(X) :- q(X), not spied(X) > 5.", "functions"),
    "function in a list": ("p([1, spied(X)]) :- q(X).", "functions"),
    "function in an atom": ("p(X) :- q(X), q(spied(X)).", "functions"),
    "function in a fact": ("p(spied(7)).", "functions"),
    "function deep in a fact": ("p([f(1 + spied(7))]).", "functions"),
    "function in AGGREGATE": ("p(N) :- AGGREGATE(q(X), X > spied(0)) WITH COUNT(X) AS N.", "functions"),
    "aggregate in AGGREGATE": ("p(N) :- AGGREGATE(q(X)) WITH SPIEDSUM(X) AS N.", "functions"),
    "aggregate in a head": ("p(spiedsum(X)) :- q(X).", "functions"),
    "function in a query": ("?- X = spied(1).", "functions"),
    "function in an option": ("@prefix a: <http://e.org/> . p(spied(X)) :- q(X).", "functions"),
}
ALLOWED = [
    "p(X) :- q(X), X > 0.",
    "q(2).",
    "@prefix e: <http://e.org/> . e:p(X) :- q(X).",
    "?- p(X).",
    "p(Y) :- q(X), spied(X, Y).",  # a predicate of that name
    "spied(1, 2).",
    "p(Y) :- q(X), SNOOP(X, Y).",
]


@pytest.fixture(autouse=True)
def spies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file that nobody may read, and functions that nobody may call."""
    monkeypatch.chdir(tmp_path)
    Path("secrets.csv").write_text("42\n")
    CALLS.clear()
    function("spied", replace=True)(lambda x: CALLS.append(x) or x)
    function("SNOOP", replace=True)(lambda x: CALLS.append(x) or x)
    function("spiedsum", aggregate=True, replace=True)(lambda xs: CALLS.append(xs) or sum(xs))
    yield
    for name in ("spied", "SNOOP", "spiedsum"):
        unregister(name)


def by_transaction(kb: KnowledgeBase, text: str) -> None:
    with kb.transaction() as tx:
        tx.add_rules(text)


def by_stream(kb: KnowledgeBase, source: Any) -> None:
    for result in kb.stream(source):
        if result.rejected is not None:
            raise ProgramError(result.rejected.diagnostics)


def by_file(kb: KnowledgeBase, text: str) -> None:
    Path("updates.jsonl").write_text(json.dumps({"add_rules": [text]}) + "\n")
    by_stream(kb, Path("updates.jsonl"))


def by_mqtt(kb: KnowledgeBase, text: str) -> None:
    """As messages reach a stream from the journal of a broker's receiver."""
    from corollary.streams.updates import arrived

    by_stream(kb, [arrived(json.dumps({"add_rules": [text]}), "topic")])


def before_deriving(kb: KnowledgeBase, text: str) -> None:
    KnowledgeBase(PROGRAM).add_rules(text)


DOORS: dict[str, Callable[[KnowledgeBase, str], object]] = {
    "apply": lambda kb, text: kb.apply(Change(add_rules=(text,))),
    "apply of a program": lambda kb, text: kb.apply(Change(add_rules=(parse_program(text),))),
    "transaction": by_transaction,
    "add_rules": lambda kb, text: kb.add_rules(text),
    "add_rules before deriving": before_deriving,
    "remove_rules": lambda kb, text: kb.remove_rules(text),
    "stream of changes": lambda kb, text: by_stream(kb, [Change(add_rules=(text,))]),
    "stream of objects": lambda kb, text: by_stream(kb, [{"add_rules": [text]}]),
    "stream that removes": lambda kb, text: by_stream(kb, [{"remove_rules": [text]}]),
    "stream of JSON": lambda kb, text: by_stream(kb, [json.dumps({"add_rules": [text]})]),
    "update file": by_file,
    "MQTT": by_mqtt,
}


@pytest.mark.parametrize("door", DOORS)
def test_no_door_lets_in_what_reads_writes_or_calls(door: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.materialise()
    program, facts = kb.program, sorted(kb.facts("p"))
    for what, (text, word) in FORBIDDEN.items():
        if door == "apply of a program":
            parse_program(text)
            CALLS.clear()  # the host has read it itself
            if not any(refusals_of_program(parse_program(text), NOTHING)):
                continue  # a fact whose value is there already
            CALLS.clear()
        with pytest.raises(ProgramError) as raised:
            DOORS[door](kb, text)
        code = raised.value.diagnostics[0].code
        if "remove" in door:
            assert code == "E206", (door, what, str(raised.value))  # there is no such rule
        else:
            assert code == "E418", (door, what, str(raised.value))
            assert f'allow=["{word}"]' in str(raised.value)
        if door == "apply of a program":
            CALLS.clear()
        assert not CALLS, (door, what)
        assert (kb.program, sorted(kb.facts("p"))) == (program, facts)
    assert not Path("stolen.csv").exists()


@pytest.mark.parametrize("door", [door for door in DOORS if "remove" not in door])
def test_rules_facts_prefixes_and_queries_come_in_by_every_door(door: str) -> None:
    for text in ALLOWED:
        kb = KnowledgeBase(PROGRAM + " q(X) :- spied(X, _).")
        kb.materialise()
        DOORS[door](kb, text)
        assert not CALLS


def test_a_rule_with_a_function_can_be_removed_by_its_text() -> None:
    kb = KnowledgeBase("q(1). p(spied(X)) :- q(X).")
    assert kb.count("p") == 1
    kb.remove_rules("p(spied(Y)) :- q(Y).")
    assert kb.count("p") == 0


def test_the_host_allows_it_as_a_setting_or_in_a_call() -> None:
    for text, word in FORBIDDEN.values():
        if "postgresql" in text:
            continue
        others = [one for one in ("inputs", "outputs", "functions") if one != word]
        with pytest.raises(ProgramError, match="E418"):
            KnowledgeBase(PROGRAM, allow=others).add_rules(text)
        KnowledgeBase(PROGRAM, allow=[word]).add_rules(text)
        kb = KnowledgeBase(PROGRAM)
        kb.add_rules(text, allow=[word])
        kb.apply(Change(add_rules=(text,)), allow=[word])
        with kb.transaction(allow=[word]) as tx:
            tx.add_rules(text)
        by_stream(KnowledgeBase(PROGRAM, settings=Settings.of(allow=[word])), [{"add_rules": [text]}])
    kb = KnowledgeBase(PROGRAM, allow=["inputs"])
    by_stream(kb, [{"add_rules": ['@input p("secrets.csv") .']}])
    assert sorted(kb.facts("p")) == [(1,), (42,)]
    kb = KnowledgeBase(PROGRAM, allow=["functions"])  # predicates that come with such rules are known to their update
    by_stream(kb, [{"add_rules": ["t(spied(X)) :- new(X)."], "insert": {"new": [[1]]}}])
    assert kb.count("t") == 1
    with pytest.raises(ValueError, match="there is no permission 'input': did you mean 'inputs'"):
        KnowledgeBase(PROGRAM, allow=["input"])


def test_facts_of_streams_and_cells_of_files_never_call_a_function() -> None:
    kb = KnowledgeBase(PROGRAM, allow=["functions"])
    Path("updates.txt").write_text("add(q(spied(1))).\n\nadd(q(2)).\n")
    results = list(kb.stream(Path("updates.txt")))
    assert [result.is_rejected for result in results] == [True, False]
    terms = pa.field("a1", pa.string(), metadata={b"corollary": b"terms"})
    pq.write_table(pa.table([pa.array(["spied(9)"])], schema=pa.schema([terms])), "q.parquet")
    with pytest.raises(ProgramError, match="is not a constant"):
        kb.load("q", "q.parquet")
    assert not CALLS


def test_change_files_bring_rules_and_nothing_else(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "from", PROGRAM)
    kb.add_rules("extra: r(spied(X)) :- q(X).", allow=["functions"])
    kb.add_rules("plain: s(X) :- q(X).")
    file = kb.changes(tmp_path / "changes", since=1)
    CALLS.clear()
    other = KnowledgeBase(PROGRAM)
    with pytest.raises(ProgramError, match=r"E418.*may not call the user-defined function 'spied'"):
        other.apply(file)
    assert (other.count("s"), CALLS) == (0, [])
    other.apply(file, allow=["functions"])
    assert (other.count("r"), other.count("s")) == (1, 1)


def test_the_command_update_says_what_its_file_may_have(tmp_path: Path) -> None:
    Path("p.dl").write_text(PROGRAM)
    Path("more.dl").write_text('@input p("secrets.csv") . r(X) :- p(X).')
    assert corollary("init", "kb", "p.dl", cwd=tmp_path).returncode == 0
    run = corollary("update", "kb", "--add-rules", "more.dl", cwd=tmp_path)
    assert run.returncode != 0
    assert "E418" in run.stderr
    assert corollary("update", "kb", "--add-rules", "more.dl", "--allow", "inputs", cwd=tmp_path).returncode == 0
    assert corollary("query", "kb", "r(42)", cwd=tmp_path).stdout == "yes\n"
    wrong = corollary("update", "kb", "--add-rules", "more.dl", "--allow", "input", cwd=tmp_path)
    assert wrong.returncode == 2


def test_the_command_stream_lets_no_rule_read_files(tmp_path: Path) -> None:
    Path("p.dl").write_text(PROGRAM)
    Path("u.jsonl").write_text(json.dumps({"add_rules": ['@input p("secrets.csv") .']}) + "\n")
    run = corollary("stream", "p.dl", "--updates", "u.jsonl", "--policy", "fail", cwd=tmp_path)
    assert "E418" in run.stderr
    allowed = corollary(
        "stream", "p.dl", "--updates", "u.jsonl", "--policy", "fail", "--set", 'allow=["inputs"]', cwd=tmp_path
    )
    assert allowed.returncode == 0


def test_who_types_at_the_prompt_is_the_host(tmp_path: Path) -> None:
    run = corollary("repl", cwd=tmp_path, stdin='@input p("secrets.csv") .\np(X)?\n')
    assert "42" in run.stdout


def test_programs_of_the_host_may_say_everything() -> None:
    kb = KnowledgeBase('@input q("secrets.csv") . @function spied/1 . p(spied(X)) :- q(X).')
    assert list(kb.facts("p")) == [(42,)]
    assert parse('@input q("x") .', permissions=TRUSTED).errors == []
    assert [one.code for one in parse('@input q("x") .', permissions=Permissions(outputs=True)).errors] == ["E418"]
