"""The MQTT client: messages are written to the journal, and acknowledged when they are on disk.

The session is a persistent one of quality 1: while nobody is connected, the broker keeps the messages. What it sends a second
time, since it never saw the acknowledgement, is recognised. A broker that has forgotten the session says so, and so does the
journal.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.diagnostics.packages import optional_package
from corollary.io.mqtt.journal import Journal

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

_POLL = 0.1  # seconds that one turn of the loop may wait
_LONGEST_PAUSE = 10.0  # seconds between two attempts to connect
_MAY_COME_AGAIN = 1000  # messages; brokers have fewer under way


@dataclass(frozen=True)
class Broker:
    """The address of a broker, and the client's name, which identifies the session and must stay the same."""

    host: str
    port: int = 1883
    topics: tuple[str, ...] = ("#",)
    client: str = "corollary"
    user: str | None = None
    password: str | None = None
    tls: bool = False
    timeout: float = 10.0
    """Seconds that the first connection may take."""

    @property
    def name(self) -> str:
        return f"mqtt://{self.host}:{self.port}"


class Receiver:
    """Fills a journal in a thread, from `start` to `close`. A broken connection is re-established."""

    def __init__(self, broker: Broker, journal: Journal) -> None:
        self.broker = broker
        self.journal = journal
        self.arrived = threading.Condition()
        self._is_over = threading.Event()
        self._is_subscribed = threading.Event()
        self._failure: str = ""
        self.failure: BaseException | None = None
        """Why nothing is received any more."""
        self._is_first = True
        self._last_seen = time.time()
        self._unacknowledged: list[tuple[int, int]] = []
        self._suspects: dict[int, tuple[str, bytes]] = {}
        self._thread = threading.Thread(target=self._run, name="corollary-mqtt", daemon=True)

    def start(self) -> None:
        self.journal.open()
        recent = self.journal.recent(_MAY_COME_AGAIN)
        self._is_first = not self._session.exists()
        self._last_seen = recent[-1].time if recent else self._last_seen
        self._suspects = {message.identifier: (message.topic, message.payload) for message in recent}
        self._client = self._new_client()
        self._thread.start()
        if not self._is_subscribed.wait(self.broker.timeout):
            self.close()
            message = f"cannot connect to {self.broker.name}: {self._failure or 'it does not answer'}"
            raise ProgramError([Diagnostic(catalogue.NO_BROKER, message)])

    def _new_client(self) -> Client:
        with optional_package("paho", "MQTT"):
            from paho.mqtt.client import Client
            from paho.mqtt.enums import CallbackAPIVersion
        broker = self.broker
        client = Client(
            CallbackAPIVersion.VERSION2, client_id=broker.client, clean_session=False, manual_ack=True, userdata=None
        )
        if broker.user is not None:
            client.username_pw_set(broker.user, broker.password)
        if broker.tls:
            client.tls_set()
        client.on_connect = self._connected
        client.on_subscribe = self._subscribed
        client.on_message = self._received
        return client

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._receive()
        except BaseException as error:  # of the journal: a full disk, for example
            self.failure = error
        finally:
            self._client.disconnect()
            with self.arrived:
                self.arrived.notify_all()

    def _receive(self) -> None:
        pause, is_connected = 0.1, False
        while not self._is_over.is_set():
            try:
                if not is_connected:
                    self._client.connect(self.broker.host, self.broker.port, keepalive=30)
                    is_connected, pause = True, 0.1
                is_connected = not int(self._client.loop(timeout=_POLL))
            except OSError as error:
                if self.failure is not None:
                    raise
                is_connected, self._failure = False, error.strerror or str(error)
            self._acknowledge()
            if not is_connected:
                self._unacknowledged.clear()
                self._is_over.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self.journal.close()

    def _acknowledge(self) -> None:
        """Tell the broker of what is on the disk; it would send the rest again."""
        self.journal.sync()
        waiting, self._unacknowledged = self._unacknowledged, []
        for identifier, quality in waiting:
            self._client.ack(identifier, quality)
        if waiting:
            with self.arrived:
                self.arrived.notify_all()

    def _connected(self, client: Client, _: Any, flags: Any, reason: Any, *__: Any) -> None:
        if reason.is_failure:
            self._failure = str(reason)
            return
        if not flags.session_present:
            if not self._is_first:
                since, now = (
                    time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one)) for one in (self._last_seen, time.time())
                )
                lost = f"{self.broker.name} has lost the session: messages between {since} and {now} may be lost"
                self.journal.append("", b"", lost=lost)
                self.journal.sync()
            self._suspects.clear()
        self._is_first = False
        if flags.session_present and self._subscriptions() == self._wanted:
            self._is_subscribed.set()  # subscribing again would bring all retained messages again
        else:
            client.subscribe([(topic, 1) for topic in self.broker.topics])

    @property
    def _wanted(self) -> str:
        return json.dumps([self.broker.client, *self.broker.topics])

    def _subscriptions(self) -> str:
        """The subscriptions of the session at the broker, as they were last written down."""
        try:
            return self._session.read_text(encoding="utf-8")
        except OSError:
            return ""

    @property
    def _session(self) -> Path:
        return self.journal.folder / "session"

    def _subscribed(self, client: Client, _: Any, __: int, reasons: Any, ___: Any) -> None:
        refused = [topic for topic, one in zip(self.broker.topics, reasons, strict=False) if one.is_failure]
        if refused:
            self._failure = f"it refuses {', '.join(refused)}"
            return
        self._session.write_text(self._wanted, encoding="utf-8")
        self._is_subscribed.set()

    def _received(self, client: Client, _: Any, message: MQTTMessage) -> None:
        self._last_seen = time.time()
        content = (message.topic, bytes(message.payload))
        # Only what comes again has the mark; without it, an identifier is a new one.
        is_known = message.dup and self._suspects.get(message.mid) == content
        if not is_known:
            try:
                self.journal.append(*content, identifier=message.mid, retained=message.retain)
            except OSError as error:
                self.failure = error
                raise
            self._suspects[message.mid] = content
            if len(self._suspects) > 2 * _MAY_COME_AGAIN:
                self._suspects = dict(list(self._suspects.items())[-_MAY_COME_AGAIN:])
        self._unacknowledged.append((message.mid, message.qos))

    def close(self) -> None:
        self._is_over.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(5)
        with self.arrived:
            self.arrived.notify_all()
