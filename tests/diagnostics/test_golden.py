"""Every code of the catalogue, with its exact text: `tests/golden/diagnostics/<case>/{program.dl, expected.err}`.

`UPDATE_GOLDEN=1 pytest tests/diagnostics` writes the expected files anew; read the difference before you keep it.
"""

import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from corollary.analysis import analyse_texts, checked, delete_rules
from corollary.diagnostics import CATALOGUE, Diagnostic, ProgramError, Source, render_all
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.relations import memory
from corollary.engines.spark.failures import derive_failures
from corollary.engines.spark.strategies.growing import check_nothing_lost
from corollary.engines.spark.streaming.batch import MicroBatch, change_columns
from corollary.engines.spark.workspace import choose_directory
from corollary.io.mqtt.journal import Message
from corollary.io.write import write_result
from corollary.knowledge_base import KnowledgeBase
from corollary.language import parse_program, read_source
from corollary.settings import Settings
from corollary.streams.mqtt import MqttUpdates
from corollary.streams.structured import Batches, SparkStream
from tests.oracle import evaluate

GOLDEN = Path(__file__).parent.parent / "golden" / "diagnostics"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
PROGRAM = "program.dl"


def check() -> tuple[Diagnostic, ...]:
    return analyse_texts(read_source(PROGRAM)).diagnostics


def delete_a_rule() -> None:
    delete_rules(checked(parse_program(read_source(PROGRAM))).graph, ["stepp"])


def run() -> None:
    evaluate(parse_program(read_source(PROGRAM)))


def look_at_an_aggregate() -> None:
    KnowledgeBase.from_file(PROGRAM).yield_entries("total")


def run_compiled() -> None:
    KnowledgeBase.from_file(PROGRAM).materialise()


def run_with_undefined_facts() -> None:
    KnowledgeBase.from_file(PROGRAM, semantics="well-founded")


def run_with_a_limit() -> None:
    evaluate(parse_program(read_source(PROGRAM)), max_facts=100)


def check_a_long_line() -> tuple[Diagnostic, ...]:
    return analyse_texts(Source("edge(1, 2). " * 100_000, PROGRAM)).diagnostics


def run_where_errors_stop() -> None:
    EmbeddedEngine(checked(parse_program(read_source(PROGRAM))).graph, discards_errors=False).materialise()


def run_with_few_numbers() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "MOST_ROWS", 1_000_000)
        kb = KnowledgeBase.from_file(PROGRAM)
        kb.insert("n", [(number,) for number in range(1001)])
        kb.count("pair")


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
    with patch.object(SparkSession, "getActiveSession", return_value=None):  # another test may have left one
        KnowledgeBase("edge(1, 2).", engine="spark", master="spark://127.0.0.1:1", workspace="/shared")


def read_less_than_was_written() -> None:
    with derive_failures("{r2}", "hdfs://head/work/corollary-3f2a"):
        check_nothing_lost(20, 14)


def open_what_is_no_store() -> None:
    KnowledgeBase.open("missing")


def create_where_something_is() -> None:
    KnowledgeBase.create(".", read_source(PROGRAM).text)


def stored(act: Callable[[Path], object]) -> None:
    """Does something in a directory with the three versions of a knowledge base; its name is the same everywhere."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        program = read_source(PROGRAM).text
        patch.chdir(folder)
        kb = KnowledgeBase.create("kb", program)
        kb.insert("edge", [(2, 3)])
        kb.insert("edge", [(3, 4)])
        act(Path("kb"))


def open_a_damaged_store() -> None:
    stored(lambda place: ((place / "versions/0000000003.json").write_text("{}"), KnowledgeBase.open(place)))


def change_what_somebody_else_has_changed() -> None:
    stored(lambda place: KnowledgeBase.open(place, version=2).insert("edge", [(7, 8)]))


def open_a_store_of_the_future() -> None:
    def act(place: Path) -> None:
        (place / "versions/0000000003.json").write_text('{"format": 9, "digest": ""}')
        KnowledgeBase.open(place)

    stored(act)


def open_an_unknown_version() -> None:
    stored(lambda place: KnowledgeBase.open(place, version=7))


def write_to_a_broken_store() -> None:
    def act(place: Path) -> None:
        (place / "lock").unlink()
        (place / "lock").mkdir()
        KnowledgeBase.open(place).insert("edge", [(7, 8)])

    stored(act)


def ask_for_a_history_of_nothing() -> None:
    KnowledgeBase.from_file(PROGRAM).history()


def apply_what_is_no_change_file() -> None:
    KnowledgeBase.from_file(PROGRAM).apply(PROGRAM)


def register_a_built_in() -> None:
    KnowledgeBase.register("abs", lambda number: number)


def make() -> None:
    KnowledgeBase.from_file(PROGRAM)


def read_settings() -> None:
    Settings.read("settings.toml")


def open_in_a_fork() -> None:
    def open_in_a_child(place: Path) -> None:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                KnowledgeBase.open(place)
            except ProgramError as error:
                os.write(writing, pickle.dumps(error.diagnostics))
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            found = pickle.loads(pipe.read())
        os.waitpid(child, 0)
        raise ProgramError(found)

    stored(open_in_a_child)


def ask_a_source_without_a_value() -> None:
    kb = KnowledgeBase.from_file(PROGRAM)
    kb.source("price", lambda known: [], columns=["item", "price"])
    kb.query("dear(X)")


def ask_a_source_that_fails() -> None:
    def price(known: object) -> None:
        raise ConnectionError("the shop is closed")

    kb = KnowledgeBase.from_file(PROGRAM)
    kb.source("price", price, columns=["item", "price"])
    kb.query("dear(X)")


def publish_to_a_file() -> None:
    KnowledgeBase.from_file(PROGRAM).publish(PROGRAM)


def follow(update: object, **options: object) -> Callable[[], None]:
    def run() -> None:
        for _ in KnowledgeBase.from_file(PROGRAM, **options).stream([update], policy="fail", largest=3):
            pass

    return run


def follow_a_missing_file() -> None:
    next(KnowledgeBase.from_file(PROGRAM).stream("missing.jsonl"))


def follow_another_file() -> None:
    def act(place: Path) -> None:
        kb, file = KnowledgeBase.open(place), Path("updates.jsonl")
        for number in (4, 5):
            file.write_text(f'{{"insert": {{"edge": [[{number}, 1]]}}}}\n')
            for _ in kb.stream(file, name="updates"):
                pass

    stored(act)


def follow_a_forgetful_broker() -> None:
    lost = "mqtt://gateway:1883 has lost the session: messages between 12:00:00 and 12:00:07 may be lost"
    with tempfile.TemporaryDirectory() as folder:
        source = MqttUpdates("gateway", journal=folder)
        updates = [source._update(Message(7, lost=lost))]
        next(KnowledgeBase.from_file(PROGRAM).stream(updates, policy="fail"))


def follow_a_batch_with_a_bad_change() -> None:
    bad = {"code": ["E458"], "reason": ["op is 'upsert', and not insert or delete"], "text": ['{"op":"upsert","a1":1}']}
    batches = Batches(None, None, None, None, None, None, fails=True, rejects=None)
    SparkStream(batches)._checked(MicroBatch(5, {}, {}, 1, pa.table(bad)), None, 3)


def follow_a_frame_without_operations() -> None:
    frame = SimpleNamespace(columns=["predicate", "a1", "a2"])
    change_columns(frame, {"edge": 2}, {"edge": "edge"}, predicate=None, columns=None, order=None)


def follow_a_broker_that_is_not_there() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = MqttUpdates("127.0.0.1", journal=folder, port=9, timeout=0.3)
        next(KnowledgeBase.from_file(PROGRAM).stream(source))


def feed_the_feed_of_another() -> None:
    stored(lambda place: (KnowledgeBase("p(1).").feed("feed", ["p"]), KnowledgeBase.open(place).feed("feed", ["edge"])))


# What no program text alone can provoke, or only one that is too large to keep. A new code gets its case in a folder, and
# a line here where `check` does not find it.
PRODUCERS: dict[str, Callable[[], tuple[Diagnostic, ...] | None]] = {
    "E206": delete_a_rule,
    "E208": run_with_undefined_facts,
    "E210": look_at_an_aggregate,
    "E301": load,
    "E302": run_with_a_limit,
    "E303": run_where_errors_stop,
    "E304": run_with_few_numbers,
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
    "E413": read_settings,
    "E414": open_in_a_fork,
    "E418": follow({"add_rules": ['@input edge("secrets.csv") .']}),
    "E419": make,
    "E416": ask_a_source_without_a_value,
    "E417": ask_a_source_that_fails,
    "E481": register_a_built_in,
    "E482": make,
    "E430": open_what_is_no_store,
    "E431": create_where_something_is,
    "E432": open_a_damaged_store,
    "E433": change_what_somebody_else_has_changed,
    "E434": open_a_store_of_the_future,
    "E435": open_an_unknown_version,
    "E436": write_to_a_broken_store,
    "E437": ask_for_a_history_of_nothing,
    "E438": apply_what_is_no_change_file,
    "E439": publish_to_a_file,
    "E450": follow('{"insret": {"edge": [[1, 2]]}}'),
    "E451": follow({"insert": {"egde": [[1, 2]]}}),
    "E452": follow({"delete": {"edge": [[8, 9]]}}),
    "E453": follow({"insert": {"edge": [[1, number] for number in range(10)]}}),
    "E454": follow_a_missing_file,
    "E455": follow({}, updates=False),
    "E456": follow_another_file,
    "E457": follow_a_forgetful_broker,
    "E458": follow_a_batch_with_a_bad_change,
    "E459": follow_a_frame_without_operations,
    "E460": follow_a_broker_that_is_not_there,
    "E461": feed_the_feed_of_another,
    "E490": run_compiled,  # two hundred rounds, for which the oracle takes its time
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
