"""A Mosquitto broker of its own for tests, on a free port of this machine; it can be stopped, killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PLACES = ("/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/opt/homebrew/sbin/mosquitto")


@dataclass
class Mosquitto:
    """A broker that keeps sessions and their messages in a directory."""

    program: str
    directory: Path
    port: int
    running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        settings = self.directory / "mosquitto.conf"
        user = pwd.getpwuid(os.geteuid()).pw_name
        settings.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser {user}\nmax_queued_messages 0\n"
            f"persistence true\npersistence_location {self.directory}/\nautosave_interval 0\n"
        )
        with open(self.directory / "log", "ab") as log:
            self.running = subprocess.Popen([self.program, "-c", str(settings)], stdout=log, stderr=log)
        end = time.monotonic() + 300
        while not self._answers():
            assert self.running.poll() is None, (self.directory / "log").read_text()
            assert time.monotonic() < end, "the broker does not answer"
            time.sleep(0.02)

    def _answers(self) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        """As it is stopped when its machine is restarted: it writes down what it has."""
        self._end(signal.SIGTERM)

    def lose_everything(self) -> None:
        """SIGKILL, and the disk is empty."""
        self._end(signal.SIGKILL)
        for file in self.directory.glob("mosquitto.db*"):
            file.unlink()

    def _end(self, number: int) -> None:
        if self.running is not None:
            self.running.send_signal(number)
            self.running.wait(30)
            self.running = None

    def publish(self, topic: str, payloads: Sequence[str], *, retain: bool = False) -> None:
        """Each message is there when this returns."""
        from paho.mqtt.client import CallbackAPIVersion, Client

        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for payload in payloads:
            client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(30)
        client.disconnect()
        client.loop_stop()


@contextmanager
def running_mosquitto() -> Iterator[Mosquitto]:
    """A broker until the end of the block; the test is skipped where it cannot run."""
    found = shutil.which("mosquitto") or next((place for place in _PLACES if Path(place).is_file()), None)
    if found is None:
        pytest.skip("Mosquitto is not installed (Debian: mosquitto)")
    pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    directory = Path(tempfile.mkdtemp(prefix="corollary-mosquitto-"))
    broker = Mosquitto(found, directory, port)
    try:
        broker.start()
        yield broker
    finally:
        broker._end(signal.SIGKILL)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def mosquitto() -> Iterator[Mosquitto]:
    """A new broker: `from tests.services.mosquitto import mosquitto  # noqa: F401`."""
    with running_mosquitto() as broker:
        yield broker
