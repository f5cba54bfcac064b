"""Updates from an MQTT broker: messages become changes of facts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from corollary.diagnostics import Diagnostic, catalogue
from corollary.io.mqtt.journal import Journal, Message
from corollary.io.mqtt.receiver import Broker, Receiver
from corollary.streams.updates import Arrived, arrived, failed, malformed

_AT_ONCE = 256
_POLL = 0.1


class MqttUpdates:
    """A source for `kb.stream`. Messages are written to a journal before they are acknowledged, and stay there until they are
    applied.

    `decode(topic, payload)` returns an update, or None to ignore the message; without it, each payload is an update as a line
    of JSON. With `kb.stream(source, name=…)` each message is applied exactly once, whichever side is restarted.
    """

    def __init__(
        self,
        host: str,
        *topics: str,
        journal: str | PathLike[str],
        decode: Callable[[str, bytes], Any] | None = None,
        **options: Any,
    ) -> None:
        self._journal = Journal(Path(journal))
        self._receiver = Receiver(Broker(host, topics=topics or ("#",), **options), self._journal)
        self._decode = decode or (lambda topic, payload: payload.decode("utf-8"))
        self._next: deque[Message] = deque()
        self._taken = self._journal.done
        self._is_started = self._is_over = False

    def go_on(self, position: Any) -> None:
        self._taken = position["message"] if position is not None else self._journal.first - 1

    def committed(self, position: Any) -> None:
        self._journal.forget(position["message"])

    @property
    def waiting(self) -> int:
        return max(0, self._journal.end - self._taken)

    def take(self) -> Arrived | None:
        while not self._is_over:
            found = self.take_now()
            if found is not None:
                return found
            with self._receiver.arrived:
                self._receiver.arrived.wait(_POLL)
        return None

    def take_now(self) -> Arrived | None:
        if not self._is_started:
            self._is_started = True
            self._receiver.start()
        while not self._is_over:
            if not self._next:
                until = min(self._journal.end, self._taken + _AT_ONCE)
                self._next.extend(self._journal.messages(self._taken, until) if until > self._taken else ())
            if not self._next and self._receiver.failure is not None:
                return failed("the journal of messages", self._receiver.failure)
            if not self._next:
                return None
            message = self._next.popleft()
            self._taken = message.number
            update = self._update(message)
            if update is not None:
                update.position = {"message": message.number}
                return update
        return None

    def _update(self, message: Message) -> Arrived | None:
        place = f"message {message.number}"
        if message.lost:
            return Arrived(place, problem=Diagnostic(catalogue.MESSAGES_LOST, message.lost))
        place = f"{place} of {message.topic}"
        try:
            found = self._decode(message.topic, message.payload)
        except ValueError as error:
            return malformed(place, str(error), repr(message.payload))
        return None if found is None else arrived(found, place)

    def close(self) -> None:
        self._is_over = True
        self._receiver.close()
