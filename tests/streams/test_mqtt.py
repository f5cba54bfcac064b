"""Messages of a real broker become updates, each exactly once: when the broker is restarted, and when the reader is killed."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.io.mqtt.journal import Journal
from corollary.io.mqtt.receiver import Broker, Receiver
from corollary.streams.mqtt import MqttUpdates
from tests.services.mosquitto import Mosquitto, mosquitto  # noqa: F401

RULES = "total(count(N)) :- reading(N, _). warm(S) :- reading(_, S). reading(0, none)."


def update(number: int) -> str:
    return json.dumps({"insert": {"reading": [[number, f"s{number % 3}"]]}})


def wait(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.02)


def source(broker: Mosquitto, journal: Path, **options: object) -> MqttUpdates:
    return MqttUpdates("127.0.0.1", "plant/#", journal=journal, port=broker.port, client="gateway", **options)


def test_messages_are_updates(mosquitto: Mosquitto, tmp_path: Path) -> None:  # noqa: F811
    kb = KnowledgeBase(RULES)
    readings = source(
        mosquitto,
        tmp_path / "journal",
        decode=lambda topic, payload: {"insert": {"reading": [[int(payload), topic.rpartition("/")[2]]]}},
    )
    with kb.stream(readings) as stream:
        assert readings.take_now() is None  # it is connected from now on
        mosquitto.publish("plant/a", ["1", "2", "many"])
        mosquitto.publish("elsewhere/a", ["99"])
        mosquitto.publish("plant/b", ["3"])
        results = [next(stream) for _ in range(4)]
    assert [result.is_rejected for result in results] == [False, False, True, False]
    assert results[2].rejected is not None
    assert "E450" in results[2].rejected.reason
    assert set(kb.facts("warm")) == {("none",), ("a",), ("b",)}


def test_a_broker_that_is_restarted_loses_nothing(mosquitto: Mosquitto, tmp_path: Path) -> None:  # noqa: F811
    """Messages that come while nobody reads wait at the broker, and it keeps them when it is restarted itself."""
    place, journal = tmp_path / "kb", tmp_path / "journal"
    kb = KnowledgeBase.create(place, RULES)
    with kb.stream(source(mosquitto, journal), name="plant", policy="fail") as stream:
        assert stream._source.take_now() is None
        mosquitto.publish("plant/a", [update(1), update(2)])
        next(stream), next(stream)
        mosquitto.stop()
        mosquitto.start()
        threading.Timer(0.2, mosquitto.publish, ("plant/a", [update(3)])).start()
        next(stream)
    mosquitto.publish("plant/a", [update(4)])
    mosquitto.stop()
    mosquitto.start()
    mosquitto.publish("plant/a", [update(5)])
    again = KnowledgeBase.open(place)
    with again.stream(source(mosquitto, journal), name="plant", policy="fail") as stream:
        next(stream), next(stream)
        assert stream.waiting == 0
    assert set(again.facts("total")) == {(6,)}
    assert again.marks["streams"] == {"plant": {"message": 5}}


def test_a_broker_that_forgets_says_so(mosquitto: Mosquitto, tmp_path: Path) -> None:  # noqa: F811
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    with kb.stream(source(mosquitto, tmp_path / "journal"), name="plant") as stream:
        assert stream._source.take_now() is None
        mosquitto.publish("plant/a", [update(1)])
        next(stream)
        mosquitto.lose_everything()
        mosquitto.start()
        lost = next(stream)
        assert lost.rejected is not None
        assert "E457" in lost.rejected.reason
        assert "may be lost" in lost.rejected.reason
        mosquitto.publish("plant/a", [update(2)])
        assert not next(stream).is_rejected
    assert set(kb.facts("total")) == {(3,)}


def test_what_is_not_acknowledged_comes_again_and_is_known(mosquitto: Mosquitto, tmp_path: Path) -> None:  # noqa: F811
    """A process that is killed between the disk and the acknowledgement; the broker cannot know that it has arrived."""
    journal = tmp_path / "journal"
    first = Receiver(Broker("127.0.0.1", mosquitto.port, ("plant/#",), "gateway"), Journal(journal))
    first.start()
    first.close()
    mosquitto.publish("plant/a", [update(number) for number in (1, 2, 3)])
    child = os.fork()
    if not child:
        try:
            dying = Receiver(first.broker, Journal(journal))
            acknowledge = dying._acknowledge

            def die() -> None:
                dying.journal.sync()
                if dying.journal.end >= 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                acknowledge()

            dying._acknowledge = die  # type: ignore[method-assign]
            dying.start()
            time.sleep(30)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert Journal(journal).end >= 2
    last = Receiver(first.broker, Journal(journal))
    last.start()
    mosquitto.publish("plant/a", [update(4)])
    wait(lambda: last.journal.end >= 4, "the fourth message")
    last.close()
    assert [message.payload.decode() for message in Journal(journal).messages(0)] == [update(n) for n in (1, 2, 3, 4)]


def test_a_line_that_was_written_half_is_forgotten(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open()
    for number in range(3):
        journal.append("t", str(number).encode())
    journal.sync()
    journal.close()
    (file,) = tmp_path.glob("messages-*")
    with open(file, "ab") as half:
        half.write(b'{"number": 4, "top')
    again = Journal(tmp_path)
    again.open()
    assert again.end == 3
    again.append("t", b"3")
    again.sync()
    assert [message.payload for message in again.messages(1)] == [b"1", b"2", b"3"]
    with pytest.raises(ProgramError, match="E454"):
        Journal(tmp_path).open()
    again.close()


def test_files_go_when_their_messages_were_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.io.mqtt.journal._LARGEST_FILE", 200)
    journal = Journal(tmp_path)
    journal.open()
    for number in range(1, 11):
        journal.append("t", str(number).encode())
        journal.sync()
    before = len(list(tmp_path.glob("messages-*")))
    journal.forget(6)
    journal.close()
    again = Journal(tmp_path)
    assert len(list(tmp_path.glob("messages-*"))) < before
    assert (again.done, again.end) == (6, 10)
    assert [int(message.payload) for message in again.messages(6)] == [7, 8, 9, 10]
    assert [int(message.payload) for message in again.messages(6, 8)] == [7, 8]


def test_no_broker_is_told(tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt.client")
    nobody = MqttUpdates("127.0.0.1", "#", journal=tmp_path, port=9, timeout=0.5)
    with pytest.raises(ProgramError, match="E460"):
        next(KnowledgeBase(RULES).stream(nobody))


@pytest.mark.slow
@pytest.mark.spark
def test_messages_on_spark(mosquitto: Mosquitto, tmp_path: Path) -> None:  # noqa: F811
    from corollary.engines.spark.streaming.mqtt_source import register_mqtt
    from tests.services.spark_session import shared_session

    spark = shared_session()
    register_mqtt(spark)
    place = tmp_path / "kb"
    KnowledgeBase.create(place, RULES)
    options = {"host": "127.0.0.1", "port": str(mosquitto.port), "topics": "plant/#", "journal": str(tmp_path / "j")}
    frame = spark.readStream.format("mqtt").options(**options).load()
    changes = frame.selectExpr(
        "'insert' AS op", "CAST(CAST(payload AS STRING) AS LONG) AS n", "substring(topic, 7) AS sensor", "lost"
    ).where("lost IS NULL").drop("lost")  # fmt: skip
    kb = KnowledgeBase.open(place, engine=spark)
    following = {
        "predicate": "reading",
        "checkpoint": tmp_path / "c",
        "policy": "fail",
        "trigger": {"processingTime": "0 seconds"},
    }
    with kb.write_stream(changes, **following) as stream:
        wait(lambda: (tmp_path / "j" / "session").exists() or not stream.is_active, "the connection")
        mosquitto.publish("plant/a", ["1", "2"])
        wait(lambda: kb.count("reading") == 3 or not stream.is_active, "the first messages")
        mosquitto.stop()
        mosquitto.start()
        mosquitto.publish("plant/b", ["3"])
        wait(lambda: kb.count("reading") == 4 or not stream.is_active, "the message after the restart")
        assert stream.is_active
    mosquitto.publish("plant/b", ["4"])
    again = KnowledgeBase.open(place, engine=spark)
    with again.write_stream(changes, **following) as stream:
        wait(lambda: again.count("reading") == 5 or not stream.is_active, "the message that came in between")
        assert stream.is_active
    assert set(again.facts("reading")) == {(0, "none"), (1, "a"), (2, "a"), (3, "b"), (4, "b")}
