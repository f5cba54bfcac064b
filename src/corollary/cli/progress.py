"""Progress on a terminal: the current hyper-node, rounds, facts, speed, and a notice that kernels are being compiled."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.live import Live
from rich.text import Text

from corollary.cli.output import plural, terminal_for_errors

if TYPE_CHECKING:
    from corollary.engines.embedded.report import NodeReport

_SHOWN_AFTER = 1.0  # seconds


class Progress:
    """A status line for runs of more than a second, if standard error is a terminal."""

    def __init__(self, nodes: int) -> None:
        self._console = terminal_for_errors()
        self._live: Live | None = None
        self._timer = threading.Timer(_SHOWN_AFTER, self._show)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = False
        self._nodes = nodes
        self._done = 0
        self._facts = 0
        self._round = 0
        self._started = time.monotonic()

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _show(self) -> None:
        with self._lock:
            if self._over:
                return
            self._live = Live(get_renderable=self._line, console=self._console, transient=True, refresh_per_second=5)
            self._live.start()

    def watch(self, facts: int) -> None:
        self._facts = facts

    def at_round(self, number: int) -> None:
        self._round = number

    def finished(self, report: NodeReport) -> None:
        """Print a permanent line for each hyper-node that took a while."""
        self._done += 1
        self._round = 0
        if self._live is not None and report.seconds > 0.1:
            speed = f"{report.new_facts / report.seconds:,.0f} facts/s"
            self._live.console.print(
                f"{report.node} {report.strategy}: {plural(report.rounds, 'round')}, "
                f"{plural(report.new_facts, 'new fact')}, {speed}",
                markup=False,
                style="dim",
            )

    def _line(self) -> Text:
        seconds = time.monotonic() - self._started
        speed = f"{self._facts / seconds:,.0f} facts/s" if seconds else ""
        node = min(self._done + 1, self._nodes)
        rounds = f"round {self._round:,}, " if self._round > 1 else ""
        facts = plural(self._facts, "fact")
        return Text(f"hyper-node {node} of {self._nodes}: {rounds}{facts}, {speed}, {seconds:.0f} s")


class CompileNotice:
    """Prints a notice if compiling kernels takes more than a second, since this happens only once."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._running = 0

    def on_start(self, event: object) -> None:
        self._running += 1
        if self._timer is None:
            self._timer = threading.Timer(_SHOWN_AFTER, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: object) -> None:
        self._running -= 1

    def _say(self) -> None:
        if self._running:
            message = "compiling kernels: this may take half a minute, but only once"
            terminal_for_errors().print(message, style="dim")
        else:
            self._timer = None


def announce_compiling() -> None:
    """Print a notice when kernels are compiled from now on. This imports the compiler, so call it only if it is needed."""
    if not terminal_for_errors().is_terminal:
        return
    from numba.core import event

    class Listener(CompileNotice, event.Listener):
        pass

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
