"""`corollary repl`: facts, rules and queries as you type them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.line_editing import LineEditor
from corollary.cli.options import Data, Facts, FactsHeader, Rdf, open_knowledge_base
from corollary.cli.output import read_sources, terminal_for_errors
from corollary.cli.session import COMMANDS, Session

_PROMPT, _MORE = "> ", ". "


def repl(
    files: Annotated[list[Path] | None, typer.Argument(help="Program files to start with.")] = None,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
) -> None:
    """Type facts, rules and queries, and see what follows. `:help` tells how.

    Reads the standard input, so that a script can be piped into it as well.
    """
    kb = open_knowledge_base(read_sources(files or []), Data(facts, facts_header, rdf or ()))
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
