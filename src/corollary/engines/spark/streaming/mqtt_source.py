"""MQTT for Structured Streaming: `spark.readStream.format("mqtt")`, through Spark's API for Python data sources.

The process of the stream's reader receives messages into a journal; a batch is a range of it, which tasks read. So a
batch that Spark requests again, after a restart, has the same messages. On a cluster the journal is in a directory that
all machines see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from corollary.io.mqtt.journal import Journal, Message
from corollary.io.mqtt.receiver import Broker, Receiver

_SCHEMA = "number long, topic string, payload binary, time timestamp, retained boolean, lost string"
_FIELDS = pa.schema(
    [
        ("number", pa.int64()),
        ("topic", pa.string()),
        ("payload", pa.binary()),
        ("time", pa.timestamp("us", "UTC")),
        ("retained", pa.bool_()),
        ("lost", pa.string()),
    ]
)
_ROWS = 4096


def register_mqtt(spark: SparkSession) -> None:
    """Make the format "mqtt" known to a session."""
    spark.dataSource.register(MqttDataSource)


class MqttDataSource(DataSource):
    """Options: `host`, `port`, `topics` (with commas between), `client`, `user`, `password`, `tls`, `journal` (a directory),
    and `maxMessagesPerTrigger`."""

    @classmethod
    def name(cls) -> str:
        return "mqtt"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> MqttReader:  # noqa: N802 Spark's name
        return MqttReader(dict(self.options))


class MessageRange(InputPartition):
    """The messages after one number, up to another."""

    def __init__(self, after: int, until: int) -> None:
        super().__init__((after, until))
        self.after, self.until = after, until


class MqttReader(DataSourceStreamReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        for name in ("host", "journal"):
            if name not in given:
                raise ValueError(f"a stream of MQTT needs the option '{name}'")
        self._broker = Broker(
            given["host"], int(given.get("port", "1883")),
            tuple(topic.strip() for topic in given.get("topics", "#").split(",")),
            given.get("client", "corollary-spark"), given.get("user"), given.get("password"),
            given.get("tls", "false").lower() == "true",
        )  # fmt: skip
        self._most = int(given["maxmessagespertrigger"]) if "maxmessagespertrigger" in given else None
        self._folder = Path(given["journal"])
        self._receiver: Receiver | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for tasks, which have no receiver."""
        return {**self.__dict__, "_receiver": None}

    def _journal(self) -> Journal:
        """Return the journal; the first call starts the receiver."""
        if self._receiver is None:
            receiver = Receiver(self._broker, Journal(self._folder))
            receiver.start()
            self._receiver = receiver
        if self._receiver.failure is not None:
            raise self._receiver.failure
        return self._receiver.journal

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 Spark's name
        return {"message": self._journal().first - 1}

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 Spark's name
        end = self._journal().end
        if self._most is not None and start:
            end = min(end, start["message"] + self._most)
        return {"message": end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start["message"] + 1 < self._journal().first:
            raise ValueError(f"{self._folder} has no messages before {self._journal().first} any more")
        return [MessageRange(start["message"], end["message"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, MessageRange)
        held: list[Message] = []
        for message in Journal(self._folder).messages(partition.after, partition.until):
            held.append(message)
            if len(held) == _ROWS:
                yield _batch(held)
                held = []
        if held:
            yield _batch(held)

    def commit(self, end: dict[str, int]) -> None:
        self._journal().forget(end["message"])

    def stop(self) -> None:
        if self._receiver is not None:
            self._receiver.close()


def _batch(messages: Sequence[Message]) -> pa.RecordBatch:
    rows = [
        (one.number, one.topic, one.payload, int(one.time * 1_000_000), one.retained, one.lost or None)
        for one in messages
    ]
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_FIELDS)
