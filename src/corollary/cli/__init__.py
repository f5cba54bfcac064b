"""The command line: one file per command. This file registers them and turns errors into messages and exit codes."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from corollary import __version__
from corollary.cli.bench import bench
from corollary.cli.builtins import builtins
from corollary.cli.check import check
from corollary.cli.compact import compact
from corollary.cli.diff import diff
from corollary.cli.doctor import doctor
from corollary.cli.export import apply, export
from corollary.cli.fmt import fmt
from corollary.cli.graph import graph
from corollary.cli.init import init
from corollary.cli.log import log
from corollary.cli.output import ExitCode, exit_code_of, print_diagnostics
from corollary.cli.query import query
from corollary.cli.repl import repl
from corollary.cli.rules import rules
from corollary.cli.run import run
from corollary.cli.stream import stream
from corollary.cli.update import update
from corollary.cli.verify import verify
from corollary.cli.yield_index import yield_index
from corollary.diagnostics import ProgramError

app = typer.Typer(
    name="corollary",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""A Datalog reasoner whose conclusions stay true while facts and rules change.

Start with `corollary run PROGRAM`, which derives everything and answers the program's queries, or with
`corollary repl`, where you type facts, rules and queries. `corollary check PROGRAM` reports errors and warnings,
`corollary graph PROGRAM` draws how the rules depend on each other.""",
)


def _answering(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with exit codes for a user's mistakes, an interrupt, and a closed pipe (as by `head`)."""

    @wraps(command)
    def run_command(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
            sys.stdout.flush()
        except ProgramError as error:
            print_diagnostics(error.diagnostics)
            raise typer.Exit(exit_code_of(error)) from None
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(ExitCode.FINE) from None

    return run_command


for command in (run, query, repl, stream, rules, check, graph, fmt, builtins, bench, doctor):
    app.command()(_answering(command))
app.command("yield")(_answering(yield_index))
for care in (init, update, log, diff, export, apply, compact, verify):
    app.command(rich_help_panel="Knowledge bases in a directory")(_answering(care))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"corollary {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command. Errors become a message and an exit code, never a traceback."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")  # for terminals that cannot show every character
    warnings.showwarning = _show_warning
    try:
        app(_with_kinds(sys.argv[1:]))
    except Exception as error:
        if os.environ.get("COROLLARY_DEBUG"):
            raise
        typer.echo(f"internal error: {type(error).__name__}: {error}", err=True)
        typer.echo("This is a bug in Corollary, not in your program. COROLLARY_DEBUG=1 shows the traceback.", err=True)
        sys.exit(ExitCode.INTERNAL)


def _show_warning(
    message: Warning | str, category: object, filename: str, lineno: int, file: object = None, line: object = None
) -> None:
    """Print only the text: a diagnostic has its own position, and the caller's file and line are inside this package."""
    typer.echo(str(message), err=True)


def _with_kinds(arguments: list[str]) -> list[str]:
    """Replace `run --explain` by `--explain=plans`, because typer has no options with an optional value."""
    if arguments[:1] != ["run"]:
        return arguments
    return ["--explain=plans" if argument == "--explain" else argument for argument in arguments]
