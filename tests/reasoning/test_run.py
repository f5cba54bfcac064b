"""Signals wait while a run is at work, and act where everything can be undone, or when it is over."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from corollary import Limits, ProgramError
from corollary.reasoning.run import Run, Stopped


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)  # Python calls handlers between two of its instructions


@pytest.fixture(autouse=True)
def interrupts_as_python_has_them() -> Iterator[None]:
    """Other tests of this process may have left a handler: Spark sets one of its own when it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def handler() -> Callable[[int, FrameType | None], None]:
    """A handler of the user's own, for signals that have none."""
    seen: list[int] = []

    def own(number: int, frame: FrameType | None) -> None:
        seen.append(number)

    own.seen = seen  # type: ignore[attr-defined]
    return own


def test_an_interrupt_waits_for_the_next_check() -> None:
    with Run() as run:
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            run.check()
        run.check()  # it has acted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_no_check_notices_acts_at_the_end() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), Run():  # noqa: PT012
        interrupt()
        reached = True
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_stops_a_sealed_run() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), Run(Limits(seconds=0, facts=0)) as run:  # noqa: PT012
        run.seal()
        interrupt()
        run.check(10)
        reached = True
    assert reached


def test_a_run_that_was_stopped_commits_nothing() -> None:
    run = Run(Limits(facts=1))
    with pytest.raises(ProgramError, match="E302"):
        run.check(2)
    with pytest.raises(Stopped):
        run.seal()


def test_a_run_is_stopped_or_committed_whichever_thread_comes_first() -> None:
    """As on Spark, where the main thread checks while another one commits."""
    for _ in range(200):
        run, ends = Run(Limits(seconds=0)), []

        def commit(run: Run = run, ends: list[str] = ends) -> None:
            try:
                run.seal()
                ends.append("committed")
            except Stopped:
                ends.append("given up")

        thread = threading.Thread(target=commit)
        thread.start()
        try:
            run.check()
            assert run.is_sealed
            stopped = False
        except ProgramError:
            stopped = True
        thread.join()
        assert ends == (["given up"] if stopped else ["committed"])


def test_a_run_inside_a_sealed_one_is_not_interrupted() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), Run() as outer:  # noqa: PT012
        outer.seal()
        with Run() as inner:
            interrupt()
            inner.check()
        reached = True
    assert reached


def test_a_run_inside_another_leaves_the_signals_to_it() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), Run():  # noqa: PT012
        with Run():
            interrupt()
        reached = True
    assert reached


def test_signals_act_at_once_where_nothing_is_half_done() -> None:
    with Run() as run:
        with pytest.raises(KeyboardInterrupt), run.interruptible():
            interrupt()
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            run.check()


def test_every_handler_written_in_python_is_put_off_and_comes_back(handler: Callable[..., None]) -> None:
    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1)}
    try:
        with Run() as run:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0)
            assert handler.seen == []  # type: ignore[attr-defined]
            run.check()
            assert handler.seen == [signal.SIGTERM]  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0)
        assert handler.seen == [signal.SIGTERM, signal.SIGUSR1]  # type: ignore[attr-defined]
        assert {signal.getsignal(number) for number in before} == {handler}
    finally:
        for number, one in before.items():
            signal.signal(number, one)


def test_handlers_that_are_not_written_in_python_are_left_alone() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Run() as run:
            interrupt()
            run.check()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_comes_during_a_run_stays_and_is_put_off_too(handler: Callable[..., None]) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with Run() as run:
            signal.signal(signal.SIGINT, handler)
            run.check()
            interrupt()
            assert handler.seen == []  # type: ignore[attr-defined]
        assert handler.seen == [signal.SIGINT]  # type: ignore[attr-defined]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_runs_of_other_threads_leave_signals_to_the_main_thread() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with Run() as run:
                run.check()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    with pytest.raises(KeyboardInterrupt), Run():  # noqa: PT012
        interrupt()
        thread.start()
        thread.join()
    assert failures == []


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(seconds=0), "longer than 0 s"),
        (Limits(facts=5), "more than 5 facts"),
        (Limits(memory=1), "more than 1 MB"),
    ],
)
def test_a_check_raises_at_a_limit(limits: Limits, told: str) -> None:
    run = Run(limits)
    # More than the process had when the run began. Blocks of over 32 MB always come from the system: a smaller one may
    # be memory that the process has used before, and then it holds no more than it did.
    held = bytearray(64 << 20)
    time.sleep(0.05)
    held[:: 1 << 12] = b"x" * len(range(0, len(held), 1 << 12))
    with pytest.raises(ProgramError, match=told) as caught:
        run.check(10)
    assert caught.value.diagnostics[0].code == "E302"


def test_rounds_have_a_default_limit_which_the_message_names() -> None:
    run = Run()
    run.round(1_000_000)
    with pytest.raises(ProgramError, match=r"1,000,000 rounds[\s\S]*default of limits\.rounds"):
        run.round(1_000_001)
    Run(Limits(rounds=None)).round(10**9)
    Run(Limits(rounds=float("inf"))).round(10**9)  # type: ignore[arg-type]  # as TOML says it


@pytest.mark.parametrize("name", ["seconds", "facts", "rounds", "depth", "memory"])
@pytest.mark.parametrize("value", [float("nan"), -1, True, "5"])
def test_a_limit_is_a_number_from_zero_on(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"limits.{name} must be a number from 0"):
        Limits(**{name: value})  # type: ignore[arg-type]
