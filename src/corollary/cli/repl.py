"""`corollary repl`: an interactive session for facts, rules and queries."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from corollary.cli import update
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
from corollary.cli.output import plural, print_diagnostics, read_sources, table_lines, terminal, terminal_for_errors
from corollary.cli.run import derive, print_answers
from corollary.diagnostics import ProgramError, Source, catalogue, did_you_mean
from corollary.knowledge_base import KnowledgeBase
from corollary.language import Printer, parse, print_rule, read_source
from corollary.program import FactBlock, Program, Query
from corollary.settings import ALLOWED

# -- session -----------------------------------------------------------------------------------------------------------

# Runs the lines of `corollary repl`. No mistake ends the session.

COMMANDS = (":help", ":predicates", ":rules", ":load", ":quit")

_HELP = """\
edge(1, 2).                          a fact
path(X, Y) :- edge(X, Y).            a rule; both end with a full stop and may span several lines
?- path(1, X).   or   path(1, X)?    a query
@prefix ex: <http://example.org/> .  a directive
+edge(2, 3). -edge(1, 2).            a transaction; prints all facts that it inserts and deletes
+rule r8: p(X) :- q(X).  -rule r7    the same for rules, alone or together with facts

:predicates       list the predicates and how many facts they have
:rules            list the rules
:load FILE        read a program
:load NAME FILE   load a data file into the predicate NAME
:load DIR         load DIR/<predicate>.csv and other data files
:quit             leave (or Ctrl-D)"""

_QUESTION = re.compile(r"[^%#]*\S\s*\?\s*\.?\s*", re.DOTALL)
_ENDED = re.compile(r"(?s).*\.\s*((//|#|%).*)?")


class Session:
    """A session that is fed line by line; `echo` repeats queries before their answers, for input from a script."""

    def __init__(self, kb: KnowledgeBase, *, echo: bool) -> None:
        self._kb = kb
        self._echo = echo
        self._lines: list[str] = []

    @property
    def is_waiting(self) -> bool:
        """Return whether the lines so far are an unfinished statement."""
        return bool(self._lines)

    def names(self) -> list[str]:
        """Return the names that can be completed: the predicates, as they are written in programs."""
        printer = Printer(self._kb.program.prefixes)
        return [printer.predicate(name) for name in self._kb.predicates()]

    def forget(self) -> None:
        self._lines.clear()

    def feed(self, line: str) -> bool:
        """Take a line and run the statement if it is complete; return False when the session is over."""
        if not self._lines and line.lstrip().startswith(":") and not line.lstrip().startswith(":-"):
            return self._guarded(lambda: self._command(line.strip()))
        if line.strip() or self._lines:
            self._lines.append(line)
        text = "\n".join(self._lines)
        if text.strip() and (_is_complete(text) or not line.strip()):
            self.finish()
        return True

    def finish(self) -> None:
        """Run the lines so far, even if they are incomplete."""
        text = "\n".join(self._lines)
        self._lines.clear()
        if text.strip():
            self._guarded(lambda: self._understand(text))

    def _guarded(self, act: Callable[[], bool]) -> bool:
        try:
            return act()
        except ProgramError as error:
            print_diagnostics(error.diagnostics)
        except KeyboardInterrupt:
            terminal_for_errors().print("interrupted")
        except Exception as error:
            terminal_for_errors().print(f"internal error: {type(error).__name__}: {error}", markup=False)
        return True

    # -- clauses -----------------------------------------------------------------------------------------------------

    def _understand(self, text: str) -> bool:
        if update.IS_CHANGE.match(text):
            self._change(text)
            return True
        if _QUESTION.fullmatch(text) and not text.lstrip().startswith("?-"):
            self._ask(self._kb.parse_query(text.rstrip(" \t\n.").removesuffix("?")))
            return True
        if text.lstrip().startswith("?-") and not text.rstrip().endswith("."):
            text += "."
        source = Source(text, "<input>")
        parsed = parse(source, prefixes=self._kb.program.prefixes)
        if parsed.errors:
            raise ProgramError(parsed.diagnostics)
        self._take(parsed.program)
        warnings = [*parsed.diagnostics, *self._kb.warnings]
        quiet = (catalogue.UNDEFINED_PREDICATE, catalogue.UNKNOWN_IN_QUERY, catalogue.EMPTY_PROGRAM)
        shown = {id(d): d for d in warnings if d.kind not in quiet and (d.span is None or d.span.source is source)}
        print_diagnostics(shown.values())
        return True

    def _change(self, text: str) -> None:
        derive(self._kb)
        prefixes = self._kb.program.prefixes
        result = self._kb.apply(*update.parse_changes(text, prefixes), allow=ALLOWED)
        terminal().print("\n".join(update.difference_lines(result, prefixes)), markup=False, style="dim")

    def _take(self, program: Program) -> None:
        rules = Program(tuple(s for s in program.statements if not isinstance(s, (FactBlock, Query))))
        if rules.statements:
            before = {rule.name for rule in self._kb.program.rules}
            self._kb.add_rules(rules, allow=ALLOWED)  # who types here is the host
            added = [rule.name for rule in self._kb.program.rules if rule.name not in before]
            if added:
                terminal().print(f"added {', '.join(added)}", markup=False, style="dim")
        for facts in program.facts:
            count = self._kb.insert(facts.predicate, facts.rows)
            terminal().print(plural(count, "new fact"), style="dim")
        for query in program.queries:
            self._ask(query)

    def _ask(self, query: Query) -> None:
        print_diagnostics(self._kb.query_warnings(query))
        if not self._kb.is_on_demand(query, "materialise"):  # it is where rules that do not feed it may have no end
            derive(self._kb)
        print_answers(self._kb, query, echo=self._echo)

    # -- commands ----------------------------------------------------------------------------------------------------

    def _command(self, line: str) -> bool:
        try:
            word, *arguments = shlex.split(line)
        except ValueError as error:
            terminal_for_errors().print(f"{error}", markup=False)
            return True
        if word in (":quit", ":q", ":exit"):
            return False
        acts: dict[str, Callable[[list[str]], None]] = {
            ":help": lambda _: terminal().print(_HELP, markup=False),
            ":predicates": lambda _: self._show_predicates(),
            ":rules": lambda _: self._show_rules(),
            ":load": self._load,
        }
        if word not in acts:
            hint = did_you_mean(word, COMMANDS) or f"there are {', '.join(COMMANDS)}"
            terminal_for_errors().print(f"there is no command '{word}': {hint}", markup=False)
            return True
        acts[word](arguments)
        return True

    def _show_predicates(self) -> None:
        derive(self._kb)
        printer = Printer(self._kb.program.prefixes)
        rows = [[printer.predicate(name), f"{self._kb.count(name):,}"] for name in self._kb.predicates()]
        terminal().print("\n".join(table_lines(["predicate", "facts"], rows)), markup=False)

    def _show_rules(self) -> None:
        for rule in self._kb.program.rules:
            terminal().print(f"{rule.name}: {print_rule(rule, self._kb.program.prefixes)}", markup=False)

    def _load(self, arguments: list[str]) -> None:
        match arguments:
            case [directory] if Path(directory).is_dir():
                count = self._kb.load_facts(directory)
            case [program]:
                self._take_file(Path(program))
                return
            case [predicate, file]:
                count = self._kb.load(predicate, file)
            case _:
                terminal_for_errors().print("write :load FILE, :load NAME FILE or :load DIR")
                return
        terminal().print(plural(count, "new fact"), style="dim")

    def _take_file(self, path: Path) -> None:
        parsed = parse(read_source(path), prefixes=self._kb.program.prefixes)
        if parsed.errors:
            raise ProgramError(parsed.diagnostics)
        print_diagnostics(parsed.diagnostics)
        self._take(parsed.program)


def _is_complete(text: str) -> bool:
    """Return whether the text ends with a full stop or a question mark, or is a query with all brackets closed."""
    if update.IS_CHANGE.match(text):
        return update.is_complete(text)
    if _QUESTION.fullmatch(text) or _ENDED.fullmatch(text):
        return True
    return text.lstrip().startswith("?-") and text.count("(") == text.count(")") and not text.rstrip().endswith(",")


# -- repl --------------------------------------------------------------------------------------------------------------

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
    """Start an interactive session for facts, rules and queries. `:help` lists the commands.

    It reads standard input, so you can also pipe a script into it.
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
    """Return the file for the history, in the platform's folder for program state."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "corollary" / "history"


class LineEditor:
    """Line editing with completion of `names` and a history that is kept between sessions."""

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
