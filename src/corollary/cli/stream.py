"""`corollary stream`: apply a stream of updates, and show the progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

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
    Strict,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import plural, read_sources, terminal_for_errors
from corollary.cli.run import derive
from corollary.cli.stores import open_store
from corollary.knowledge_base import KnowledgeBase
from corollary.settings import StreamStrategy

if TYPE_CHECKING:
    from corollary.streams import Stream, StreamResult

_REFRESH = 0.2  # seconds
_SHOWN_REJECTS = 5


class Policy(StrEnum):
    REJECT = "reject"
    FAIL = "fail"


def stream(
    files: Annotated[
        list[Path], typer.Argument(help="Program files, or the directory of a knowledge base; - is standard input.")
    ],
    updates: Annotated[
        str,
        typer.Option(
            "--updates",
            metavar="FILE",
            help="A file of updates: JSON lines, or add(F). and delete(F).; - is standard input.",
        ),
    ],
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    strict: Strict = False,
    strategy: Annotated[
        StreamStrategy, typer.Option("--strategy", help="The maintenance strategy; all give the same facts.")
    ] = StreamStrategy.AUTO,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more updates at the end of the file, until Ctrl-C.")
    ] = False,
    policy: Annotated[
        Policy, typer.Option("--policy", help="At an invalid update: reject it, or let the stream fail.")
    ] = Policy.REJECT,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="Append rejected updates to this file, as JSON lines."),
    ] = None,
    largest: Annotated[
        int, typer.Option("--largest", metavar="N", help="The maximum number of facts in one update.")
    ] = 1_000_000,
    changes: Annotated[bool, typer.Option("--changes", help="Print what each update changed, as JSON lines.")] = False,
    stats: Annotated[
        Path | None, typer.Option("--stats", metavar="FILE", help="Write rule applications, marks and times as JSON.")
    ] = None,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
) -> None:
    """Apply a stream of updates to a program and keep everything that follows exact.

    With a knowledge base in a directory, each update makes a version, which also stores how far the file of updates has been
    read: started again, the command continues from there.

    Exit codes: 0 success, 1 an error in the program, 2 an error in the command, 3 bad data, 130 interrupted.
    """
    if updates == "-" and Path("-") in files:
        raise typer.BadParameter("standard input cannot be both the program and the updates")
    source = sys.stdin.buffer if updates == "-" else updates  # bytes, for a line that is no text is one bad update
    options: dict[str, Any] = {"strategy": strategy.value, "policy": policy.value, "largest": largest}
    data = Data(facts, facts_header, rdf or (), strict, None, rdf_base=rdf_base)
    if len(files) == 1 and files[0].is_dir():
        if data != Data() or settings is not None or set_:
            raise typer.BadParameter("not for a knowledge base in a directory, which has its own facts and settings")
        kb = open_store(files[0])
        if updates != "-":
            options["name"] = str(Path(updates).absolute())
    else:
        kb = open_knowledge_base(read_sources(files), data, chosen_settings(settings, set_, inputs_root=inputs_root))
        derive(kb)
    with kb.stream(source, follow=follow, rejects=rejects, **options) as results, _statistics(stats, results) as note:
        try:
            with _Display(kb, results) as display:
                for result in results:
                    note(result)
                    display.tick()
                    if changes:
                        typer.echo(_line(result))
        finally:
            _summary(results)


def _line(result: StreamResult) -> str:
    """Return one JSON object, with values as in JSON files of facts."""
    from corollary.io.json_lines import json_text

    if result.rejected is not None:
        return json.dumps({"update": result.number, "rejected": result.rejected.reason}, ensure_ascii=False)
    sides = []
    for facts in (result.inserted, result.deleted):
        texts = (f"{json.dumps(name)}: [{', '.join(map(json_text, facts[name].sorted()))}]" for name in facts)
        sides.append("{" + ", ".join(texts) + "}")
    return f'{{"update": {result.number}, "inserted": {sides[0]}, "deleted": {sides[1]}}}'


@contextmanager
def _statistics(path: Path | None, results: Stream) -> Iterator[Any]:
    """Writes the statistics of each update, and the totals at the end, even if the stream is interrupted."""
    if path is None:
        yield lambda result: None
        return
    from corollary.io.atomic import replacing

    stopped: BaseException | None = None
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write('{"per_update": [')
        try:
            yield _Notes(file).note
        except BaseException as error:  # a bad update, Ctrl-C: report what was done until then
            stopped = error
        file.write("\n], " + json.dumps(results.statistics.as_dict())[1:] + "\n")
    if stopped is not None:
        raise stopped


class _Notes:
    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._separator = "\n"

    def note(self, result: StreamResult) -> None:
        known = {"update": result.number, "rejected": result.is_rejected, **result.statistics.as_dict()}
        self._file.write(self._separator + json.dumps(known))
        self._separator = ",\n"


def _summary(results: Stream) -> None:
    console, found = terminal_for_errors(), results.statistics
    marks = f", {plural(found.implicit_marks, 'implicit mark')}" if found.implicit_marks else ""
    console.print(f"{plural(found.updates, 'update')} in {found.seconds:.2f} s{marks}", style="dim")
    if found.rejected:
        console.print(f"{plural(found.rejected, 'update was', 'updates were')} rejected", style="bold yellow")
        for rejected in results.rejects[:_SHOWN_REJECTS]:
            console.print(f"  {rejected.reason}", markup=False)


class _Display:
    """A status line on a terminal: updates per second, waiting updates, facts, marks."""

    def __init__(self, kb: KnowledgeBase, results: Stream) -> None:
        self._kb = kb
        self._results = results
        self._console = terminal_for_errors()
        self._started = self._shown = time.monotonic()
        self._updates_shown = 0
        self._live: Any = None

    def __enter__(self) -> _Display:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def tick(self) -> None:
        now = time.monotonic()
        if self._live is None or now - self._shown < _REFRESH:
            return
        self._live.update(self.line(now), refresh=True)
        self._shown, self._updates_shown = now, self._results.statistics.updates

    def line(self, now: float) -> str:
        found = self._results.statistics
        speed = (found.updates - self._updates_shown) / max(now - self._shown, 1e-9)
        facts = sum(map(self._kb.count, self._kb.predicates()))
        lag = f", {self._results.waiting:,} waiting" if self._results.waiting else ""
        rejected = f", {found.rejected:,} rejected" if found.rejected else ""
        return (
            f"{plural(found.updates, 'update')}, {speed:,.0f} a second{lag}, {plural(facts, 'fact')}, "
            f"{found.implicit_marks:,} saved by marks{rejected}"
        )
