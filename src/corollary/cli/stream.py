"""`corollary stream`: follow a stream of updates, and show how that goes."""

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

if TYPE_CHECKING:
    from corollary.streams import Stream, StreamResult

_REFRESH = 0.2  # seconds
_SHOWN_REJECTS = 5


class StreamStrategy(StrEnum):
    BF_MARKING = "bf-marking"
    BF = "bf"
    DRED_MARKING = "dred-marking"
    DRED = "dred"
    AUTO = "auto"
    SETS = "sets"


class Policy(StrEnum):
    REJECT = "reject"
    FAIL = "fail"


def stream(
    files: Annotated[
        list[Path], typer.Argument(help="Program files, or the directory of a knowledge base; - is the standard input.")
    ],
    updates: Annotated[
        str,
        typer.Option("--updates", metavar="FILE", help="Updates: JSON lines, or add(F). and delete(F).; - is stdin."),
    ],
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    strict: Strict = False,
    strategy: Annotated[
        StreamStrategy, typer.Option("--strategy", help="How updates are followed; the facts are the same.")
    ] = StreamStrategy.BF_MARKING,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more updates at the end of the file, until Ctrl-C.")
    ] = False,
    policy: Annotated[
        Policy, typer.Option("--policy", help="What happens at a bad update: it is rejected, or the stream fails.")
    ] = Policy.REJECT,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="Append the rejected updates to this file, as JSON lines."),
    ] = None,
    largest: Annotated[
        int, typer.Option("--largest", metavar="N", help="The most facts that one update may have.")
    ] = 1_000_000,
    changes: Annotated[bool, typer.Option("--changes", help="Print what each update changed, as JSON lines.")] = False,
    stats: Annotated[
        Path | None, typer.Option("--stats", metavar="FILE", help="Write rule applications, marks and times as JSON.")
    ] = None,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
) -> None:
    """Keep the consequences of a program exact under a stream of updates.

    In the directory of a knowledge base each update is a version, which also says how far the file of updates was read: started
    again, the command goes on from there.

    Exits with 0; with 1 for a mistake in the program, 2 for one in the command, 3 for bad data, 130 when interrupted.
    """
    if updates == "-" and Path("-") in files:
        raise typer.BadParameter("the standard input cannot be both the program and the updates")
    source = sys.stdin.buffer if updates == "-" else updates  # bytes, for a line that is no text is one bad update
    options: dict[str, Any] = {"strategy": strategy.value, "policy": policy.value, "largest": largest}
    data = Data(facts, facts_header, rdf or (), strict, None, rdf_base=rdf_base)
    if len(files) == 1 and files[0].is_dir():
        if data != Data() or settings is not None or set_:
            raise typer.BadParameter("a knowledge base in a directory has its facts and its settings")
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
    """One object; the values are written as in JSON files of facts."""
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
    """Writes the statistics of each update when it is done, and the sums at the end, also when a stream is interrupted."""
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
    """One line on a terminal: updates per second, how many wait, facts, marks. Elsewhere nothing."""

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
