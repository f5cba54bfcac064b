"""`corollary repl`: facts, rules and queries as you type them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from corollary.cli.options import (
    Data,
    Facts,
    FactsHeader,
    InputsRoot,
    Rdf,
    RdfBase,
    SetOptions,
    SettingsFile,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import read_sources, terminal_for_errors
from corollary.cli.session import COMMANDS, Session

_LENGTH = 1000  # lines of history
_PROMPT, _MORE = "> ", ". "


def repl(
    files: Annotated[list[Path] | None, typer.Argument(help="Program files to start with.")] = None,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    inputs_root: InputsRoot = None,
    settings: SettingsFile = None,
    set_: SetOptions = None,
) -> None:
    """Type facts, rules and queries, and see what follows. `:help` tells how.

    Reads the standard input, so that a script can be piped into it as well.
    """
    kb = open_knowledge_base(
        read_sources(files or []),
        Data(facts, facts_header, rdf or (), rdf_base=rdf_base),
        chosen_settings(settings, set_, inputs_root=inputs_root),
    )
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    session = Session(kb, echo=not interactive)
    if not interactive:
        for line in sys.stdin:
            if not session.feed(line.rstrip("\n")):
                return
        session.finish()
        return
    with LineEditor(lambda: [*COMMANDS, *session.names()]) as editor:
        terminal_for_errors().print("Corollary. Type a fact, a rule or a query; :help for help, :quit to leave.")
        _converse(session, editor)


def _converse(session: Session, editor: LineEditor) -> None:
    while True:
        try:
            line = editor.read(_MORE if session.is_waiting else _PROMPT)
        except KeyboardInterrupt:  # give up what was typed so far
            session.forget()
            sys.stdout.write("\n")
            continue
        except EOFError:
            sys.stdout.write("\n")
            return
        if not session.feed(line):
            return


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
