"""An interrupt that a library swallowed is raised again."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import pytest

from corollary.engines.embedded.interrupts import noticing_interrupts


def swallowed_interrupt() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_a_swallowed_interrupt_is_raised_at_the_next_check() -> None:
    with noticing_interrupts() as check:
        check()
        swallowed_interrupt()
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_raised_at_once_where_nothing_swallows_it() -> None:
    with noticing_interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_other_handlers_are_left_alone() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with noticing_interrupts() as check:
            os.kill(os.getpid(), signal.SIGINT)
            check()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_no_handlers() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with noticing_interrupts() as check:
                check()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []
