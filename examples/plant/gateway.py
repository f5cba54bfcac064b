"""A gateway at the edge: it follows the readings of a plant and says which machines stop, and which run again.

    python gateway.py DIRECTORY                             readings of updates.jsonl
    python gateway.py DIRECTORY --mqtt HOST:PORT            readings of a broker, topics plant/MACHINE, payloads numbers

The knowledge base lives in the directory. Stopped and started again, by whatever it was stopped, the gateway goes on with the
next reading. Every change is also in DIRECTORY/feed, a Delta table for others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corollary import KnowledgeBase
from corollary.streams import StreamResult

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description="Follow the readings of a plant.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--mqtt", metavar="HOST:PORT", help="a broker; otherwise updates.jsonl is read")
    parser.add_argument("--readings", type=int, help="stop after so many")
    options = parser.parse_args()
    kb = opened(options.directory / "kb")
    kb.feed(options.directory / "feed", ["stops"])
    source: Any = HERE / "updates.jsonl"
    if options.mqtt is not None:
        source = readings_of(kb, options.mqtt, options.directory / "journal")
    with kb.stream(source, name="readings") as stream:
        for result in stream:
            tell(result)
            if result.number == options.readings:
                break


def opened(place: Path) -> KnowledgeBase:
    if place.exists():
        return KnowledgeBase.open(place)
    return KnowledgeBase.create(place, (HERE / "plant.dl").read_text(encoding="utf-8"))


def readings_of(kb: KnowledgeBase, address: str, journal: Path) -> Any:
    from corollary.streams.mqtt import MqttUpdates

    host, _, port = address.partition(":")
    return MqttUpdates(
        host, "plant/#", journal=journal, port=int(port or 1883), client="plant-gateway", decode=decoder(kb)
    )


def decoder(kb: KnowledgeBase) -> Callable[[str, bytes], dict[str, Any]]:
    """A message says what a machine measures now; what it measured before is no longer true.

    Messages are decoded ahead of their turn, so what the knowledge base says then is not what it will say.
    """
    known = dict(kb.facts("reading"))

    def decode(topic: str, payload: bytes) -> dict[str, Any]:
        machine, value = topic.rpartition("/")[2], int(payload)
        before = [[machine, known[machine]]] if machine in known else []
        known[machine] = value
        return {"delete": {"reading": before}, "insert": {"reading": [[machine, value]]}}

    return decode


def tell(result: StreamResult) -> None:
    if result.rejected is not None:
        print(f"left out: {result.rejected.reason}", flush=True)
        return
    for (machine,) in sorted(result.inserted["stops"]):
        print(f"{machine} stops", flush=True)
    for (machine,) in sorted(result.deleted["stops"]):
        print(f"{machine} runs again", flush=True)


if __name__ == "__main__":
    main()
