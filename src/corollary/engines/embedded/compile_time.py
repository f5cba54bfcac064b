"""The time in which kernels are compiled, or found where they were compiled before: no limit of an operation is about that."""

from __future__ import annotations

import threading
import time
from typing import Any

from numba.core import event

from corollary.reasoning.run import leave_out


class _CompileTime(event.Listener):
    """Adds up how long the lock of the compiler is held; it may be taken again inside."""

    def __init__(self) -> None:
        self._held = threading.local()

    def on_start(self, event: Any) -> None:
        depth = getattr(self._held, "depth", 0)
        if not depth:
            self._held.started = time.monotonic()
        self._held.depth = depth + 1

    def on_end(self, event: Any) -> None:
        self._held.depth -= 1
        if not self._held.depth:
            leave_out(time.monotonic() - self._held.started)


event.register("numba:compiler_lock", _CompileTime())  # type: ignore[no-untyped-call]
