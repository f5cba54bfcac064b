"""Batches of changes, what has to come of them, and a process that is killed while it follows them; run as a program."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from corollary import KnowledgeBase

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
lonely(X) :- node(X), not path(X, _).
node(0). edge(0, 1).
"""
SCHEMA = "op string, predicate string, a1 long, a2 long, at long"


def batch(number: int) -> list[dict]:
    """Inserts, deletes what the batch before has inserted, and says something that it takes back."""
    rows = [
        {"op": "insert", "predicate": "edge", "a1": number, "a2": number + 1},
        {"op": "insert", "predicate": "node", "a1": number},
        {"op": "insert", "predicate": "edge", "a1": number, "a2": 100},
        {"op": "delete", "predicate": "edge", "a1": number, "a2": 100},
    ]
    if number > 1:
        rows.append({"op": "delete", "predicate": "edge", "a1": number - 1, "a2": number})
        rows.append({"op": "insert", "predicate": "edge", "a1": number - 2, "a2": number})
    return [{**row, "at": at} for at, row in enumerate(rows)]


def write_batch(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in batch(number)))
    os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))  # Spark takes the oldest first


def expected(count: int) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM)
    for number in range(1, count + 1):
        for row in batch(number):
            arguments = [row[name] for name in ("a1", "a2") if name in row]
            getattr(kb, row["op"])(row["predicate"], [arguments])
    return kb


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_at(moment: str) -> None:
    """This process kills itself in the batch after the first."""
    from corollary.io.delta import DeltaTables
    from corollary.store import feed, store
    from corollary.streams import structured

    calls: dict[str, int] = {}

    def counted(name: str, function: Callable, after: bool = False) -> Callable:
        def call(*arguments: object, **options: object) -> object:
            calls[name] = calls.get(name, 0) + 1
            if calls[name] == 2 and not after:
                die()
            found = function(*arguments, **options)
            if calls[name] == 2:
                die()
            return found

        return call

    if moment == "before the version":
        store.Store.commit = counted("commit", store.Store.commit)
    elif moment == "before the feed":
        feed.ChangeFeed.follow = counted("follow", feed.ChangeFeed.follow)
    elif moment == "before the tables":
        DeltaTables.set_origin = counted("mark", DeltaTables.set_origin)
    elif moment == "after":
        structured.SparkStream._apply = counted("apply", structured.SparkStream._apply, after=True)


def main(place: Path, moment: str) -> None:
    kb = KnowledgeBase.open(place / "kb", engine="spark", master="local[2]")
    kb.feed(place / "feed", ["path"], snapshot=True)
    kb.publish(place / "tables", ["path"])
    spark = kb._backend.context.spark
    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(place / "in"))
    dying_at(moment)
    stream = kb.write_stream(
        frame, checkpoint=place / "checkpoint", order="at", policy="fail", trigger={"availableNow": True}
    )
    stream.await_end()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
