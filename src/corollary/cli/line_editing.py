"""Reading lines from a terminal, with history and completion where the platform has readline."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

_LENGTH = 1000


def history_file() -> Path:
    """Where the platform keeps what programs remember."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "corollary" / "history"


class LineEditor:
    """`names` gives what can be completed; the history is kept from one session to the next."""

    def __init__(self, names: Callable[[], list[str]]) -> None:
        self._names = names
        self._matches: list[str] = []
        self._readline: ModuleType | None = None

    def __enter__(self) -> LineEditor:
        try:
            import readline
        except ImportError:
            return self
        self._readline = readline
        with suppress(OSError):
            readline.read_history_file(history_file())
        readline.set_history_length(_LENGTH)
        readline.set_completer(self._complete)
        readline.set_completer_delims(" \t\n(),?!&=<>")
        is_libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
        return self

    def __exit__(self, *stopped: Any) -> None:
        if self._readline is not None:
            with suppress(OSError):
                history_file().parent.mkdir(parents=True, exist_ok=True)
                self._readline.write_history_file(history_file())

    def read(self, prompt: str) -> str:
        return input(prompt)

    def _complete(self, start: str, number: int) -> str | None:
        if number == 0:
            self._matches = [name for name in self._names() if name.startswith(start)]
        return self._matches[number] if number < len(self._matches) else None
