"""One operation on a knowledge base from beginning to end: its limits, its progress, and signals that arrive meanwhile.

A `Run` is passed from the knowledge base through all layers of both engines. Long work calls `check` at points where
everything can still be undone; only there can a limit or a signal stop the operation. A signal between two checks
waits, so a KeyboardInterrupt cannot arise inside a change. After `seal`, when the change is about to be committed,
nothing can stop it; a signal then takes effect when the operation is over.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of everything: ten times the time
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.machine import resident_megabytes
from corollary.settings import DEFAULT_ROUNDS, Limits

if TYPE_CHECKING:
    from corollary.engines.embedded.report import NodeReport

_MEASURE_EVERY = 0.02  # seconds between two measurements of the process's memory
_ENDLESS = (
    "rules that make new constants may have no end: the limits 'facts', 'rounds', 'seconds', 'memory' and 'depth' stop them, "
    "and a query with mode='demand' derives only what it needs"
)


class Stopped(Exception):
    """Raised when a run was stopped at a limit or by an interrupt: there is nothing to commit."""


_left_out = 0.0  # seconds


def leave_out(seconds: float) -> None:
    """Exclude from the time limits what happens once in a process, such as starting an engine."""
    global _left_out
    _left_out += seconds


class Run:
    """The limits and the progress of one operation. Used as a `with` block, it makes signals wait until a check or its
    end.

    `watch` is called with the number of facts now and then, `finished` with the report of each hyper-node, `at_round`
    with the round of the current hyper-node; each may stop the operation by raising.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        watch: Callable[[int], None] | None = None,
        finished: Callable[[NodeReport], None] | None = None,
        at_round: Callable[[int], None] | None = None,
    ) -> None:
        self.limits = limits if limits is not None else Limits()
        self.started = time.monotonic()
        self._watch, self._finished, self._at_round = watch, finished, at_round
        self._is_sealed = self._is_stopped = False
        self._deciding = threading.RLock()  # a run may use several threads: it is either stopped or committed
        self._is_entered = False
        self._left_out = _left_out
        self._next_measure = self.started
        self._most_memory: float | None = self.limits.memory
        if self._most_memory is not None:  # memory that the process already holds does not count
            self._most_memory = max(self._most_memory, resident_megabytes() + 1)

    # -- for the work itself -------------------------------------------------------------------------------------------

    @property
    def counts_facts(self) -> bool:
        """Whether a check uses the number of facts."""
        return self.limits.facts is not None or self._watch is not None

    def check(self, facts: int | None = None) -> None:
        """Raise at a limit, or what the handler of a signal raises; `facts` is the current number of facts.

        Call it only where everything can be undone.
        """
        with self._deciding:
            if not self._is_sealed:
                try:
                    self._check(facts)
                except BaseException:
                    self._is_stopped = True
                    raise

    def _check(self, facts: int | None) -> None:
        if threading.get_ident() == threading.main_thread().ident:
            _SIGNALS.deliver()
        limits = self.limits
        if facts is not None:
            if limits.facts is not None and facts > limits.facts:
                raise limit_reached(f"there are more than {limits.facts:,} facts, and deriving is not finished")
            if self._watch is not None:
                self._watch(facts)
        if limits.seconds is None and self._most_memory is None:
            return
        now = time.monotonic()
        if limits.seconds is not None and now - self.started - (_left_out - self._left_out) > limits.seconds:
            raise limit_reached(f"deriving took longer than {limits.seconds:g} s")
        if self._most_memory is not None and now >= self._next_measure:
            self._next_measure = now + _MEASURE_EVERY
            if resident_megabytes() > self._most_memory:
                raise limit_reached(f"the process holds more than {limits.memory:,} MB, and deriving is not finished")

    def round(self, number: int) -> None:
        """Report the round of the current hyper-node; raise at the limit of rounds."""
        most = self.limits.rounds
        if most is not None and number > most and not self._is_sealed:
            message = f"deriving is not finished after {most:,} rounds"
            if most == DEFAULT_ROUNDS:
                hint = "this is the default of limits.rounds; where so many rounds are meant, set a larger one"
                raise limit_reached(message, hint)
            raise limit_reached(message)
        if self._at_round is not None:
            self._at_round(number)

    def finished(self, report: NodeReport) -> None:
        """Report that a hyper-node has been derived."""
        if self._finished is not None:
            self._finished(report)

    def seal(self) -> None:
        """Begin the commit: from now on nothing stops this run, and signals wait for its end.

        Raise `Stopped` if another thread of the run was stopped before.
        """
        with self._deciding:
            if self._is_stopped:
                raise Stopped
            self._is_sealed = True

    @property
    def is_sealed(self) -> bool:
        return self._is_sealed

    @property
    def is_open(self) -> bool:
        """Whether the run is neither sealed nor stopped."""
        return not self._is_sealed and not self._is_stopped

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let signals act at once inside the block, which waits for something outside and leaves nothing half done."""
        if self._is_sealed or not self._is_entered:
            yield
            return
        _SIGNALS.deliver()
        with _SIGNALS.acting_at_once():
            yield

    # -- signals -----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        if threading.get_ident() == threading.main_thread().ident:
            _SIGNALS.begin(self)
            self._is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_entered:
            self._is_entered = False
            _SIGNALS.end(self)


def limit_reached(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.LIMIT_REACHED, message, None, hint)])


def late_check(limits: Limits) -> Callable[[], None]:
    """Return the check of a run whose time starts with the first call, so that loading a grammar, for instance, does
    not count."""
    runs: list[Run] = []

    def check() -> None:
        if not runs:
            runs.append(Run(limits))
        runs[0].check()

    return check


@contextmanager
def memory_as_a_limit() -> Iterator[None]:
    """Turn a MemoryError inside the block into a limit that was reached."""
    try:
        yield
    except MemoryError as error:
        raise limit_reached("there is not enough memory for what the rules derive", _ENDLESS) from error


class _Signals:
    """The signals that arrive while runs of the main thread are active: recorded, and passed to their handlers later.

    Handlers belong to the whole process, so there is one object of this class. Only handlers written in Python are
    deferred; C handlers and default actions do not need the interpreter. If no run is active, the recorder passes a
    signal on at once, so it does no harm even if it cannot be removed.
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._handlers: dict[int, Any] = {}
        self._came: list[int] = []
        self._acts_at_once = False
        self._recorder = self._record  # one bound method, to recognise it later

    def begin(self, run: Run) -> None:
        if not self._runs:
            self._put_off()
        self._runs.append(run)

    def end(self, run: Run) -> None:
        self._runs.remove(run)
        if not self._runs:
            self._acts_at_once = False
            for number, handler in self._handlers.items():
                if _signal.getsignal(number) is self._recorder:
                    _signal.signal(number, handler)
            self._act()

    def deliver(self) -> None:
        """Call the handlers of the recorded signals, unless a run must not be stopped any more."""
        if not self._runs:
            return
        current = _signal.getsignal(signal.SIGINT)
        if current is not self._recorder and callable(current):
            self._put_off()  # another handler may have been installed meanwhile, as Spark does when it starts
        if self._came and not self._is_sealed():
            self._act()

    @contextmanager
    def acting_at_once(self) -> Iterator[None]:
        if self._is_sealed():
            yield
            return
        self._acts_at_once = True
        try:
            yield
        finally:
            self._acts_at_once = False

    def _is_sealed(self) -> bool:
        return any(run.is_sealed for run in self._runs)

    def _put_off(self) -> None:
        for number in _CATCHABLE:
            handler = _signal.getsignal(number)
            if callable(handler) and handler is not self._recorder:
                self._handlers[number] = handler
                _signal.signal(number, self._recorder)

    def _act(self) -> None:
        if self._came:
            number = self._came.pop(0)
            try:
                self._handlers[number](number, sys._getframe(1))
            finally:
                self._act()

    def _record(self, number: int, frame: FrameType | None) -> None:
        if self._runs and not self._acts_at_once:
            if number not in self._came:
                self._came.append(number)
        else:
            self._acts_at_once = False  # what is raised now is followed by an undo that nothing may interrupt
            self._handlers[number](number, frame)


_SIGNALS = _Signals()
_CATCHABLE = sorted(signal.valid_signals(), key=lambda number: number != signal.SIGINT)
