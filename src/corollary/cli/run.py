"""`corollary run`: derive everything, answer the queries, write the outputs."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from corollary.cli.options import (
    Conf,
    Data,
    EngineName,
    Facts,
    FactsHeader,
    InputsRoot,
    LimitFacts,
    LimitTime,
    Master,
    Mode,
    OnError,
    OutputsRoot,
    Programs,
    Rdf,
    RdfBase,
    RejectsFile,
    SetOptions,
    SettingsFile,
    Strict,
    WorkspaceDirectory,
    checked_optimisations,
    chosen_settings,
    engine_options,
    open_knowledge_base,
)
from corollary.cli.output import plural, print_diagnostics, read_sources, table_lines, terminal, terminal_for_errors
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.formats import FORMATS, file_name, format_of
from corollary.io.options import DATABASE, ReadOptions, option_error
from corollary.io.roots import home_of, place_below
from corollary.knowledge_base import KnowledgeBase
from corollary.language import Printer
from corollary.program import OutputDeclaration, Query

if TYPE_CHECKING:
    from corollary.engines.embedded.report import NodeReport, RunReport

# -- answers -----------------------------------------------------------------------------------------------------------

# Answers to queries: tables for people, JSON for programs.


def query_text(kb: KnowledgeBase, query: Query) -> str:
    printer = Printer(kb.program.prefixes)
    return ", ".join(map(printer.element, query.body))


def print_answers(kb: KnowledgeBase, query: Query, *, echo: bool = True) -> None:
    """Print the query, a table of its sorted answers, and how many there are."""
    console = terminal()
    if echo:
        console.print(Text(f"?- {query_text(kb, query)}.", style="bold"))
    result = kb.query(query)
    if not result.variables:
        console.print("yes" if len(result) else "no")
    elif not len(result):
        console.print("no answers")
    else:
        printer = Printer(kb.program.prefixes)
        rows = [[printer.value(value) for value in row] for row in result.sorted()]
        sys.stdout.write("".join(line + "\n" for line in table_lines(result.variables, rows)))
        console.print(plural(len(result), "answer"))


def print_json_answers(kb: KnowledgeBase, query: Query) -> None:
    """Print one JSON object on one line, with values as in JSON files of facts."""
    from corollary.io.json_lines import json_text

    result = kb.query(query)
    text = json.dumps(query_text(kb, query), ensure_ascii=False)
    variables = json.dumps(list(result.variables), ensure_ascii=False)
    rows = ", ".join(json_text(row) for row in result.sorted())
    sys.stdout.write(f'{{"query": {text}, "variables": {variables}, "rows": [{rows}]}}\n')


def asked_queries(kb: KnowledgeBase, texts: list[str]) -> list[Query]:
    """Return the queries in these texts; raise one `ProgramError` with all mistakes in them."""
    queries: list[Query] = []
    wrong: list[Diagnostic] = []
    for text in texts:
        try:
            queries.append(kb.parse_query(text))
        except ProgramError as error:
            wrong += error.diagnostics
    if wrong:
        raise ProgramError(wrong)
    return queries


# -- publish -----------------------------------------------------------------------------------------------------------

# Facts into files: what `--out` and `@output` ask for.

WRITTEN = [name for name, form in FORMATS.items() if form.is_written]


def written_format(name: str | None) -> str | None:
    """Return the name of a format that can be written; raise a usage error for any other name."""
    if name is not None and name not in WRITTEN:
        raise typer.BadParameter(f"'{name}' is not one of {', '.join(WRITTEN)}")
    return name


@dataclass(frozen=True)
class _File:
    predicate: str
    path: Path | str
    """A string for what is no file of this machine."""
    format: str | None
    header: bool
    more: Mapping[str, str | None] = field(default_factory=dict)


def publish(kb: KnowledgeBase, directory: Path | None, form: str | None, *, header: bool) -> list[Path | str]:
    """Write the files that the program and the command ask for, and return their names.

    With a directory, these are the predicates of `@output`, or all derived ones if the program has no `@output`. A file that
    an `@output` names is written in that directory, or beside the program without one.
    """
    wanted = list(_declared(kb, directory, form, header=header))
    if directory is not None:
        if not kb.program.outputs:
            derived = dict.fromkeys(rule.head.predicate for rule in kb.program.rules)
            wanted += [_plain(name, directory, form, header) for name in derived]
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot make the directory {directory}: {error.strerror}"
            raise ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message)]) from None
    for file in wanted:
        kb.write(file.predicate, file.path, format=file.format, header=file.header, **file.more)
    return [file.path for file in wanted]


def _plain(predicate: str, directory: Path, form: str | None, header: bool) -> _File:
    chosen = FORMATS[form or "csv"]
    return _File(predicate, directory / file_name(predicate, chosen), None, header)


def _declared(kb: KnowledgeBase, directory: Path | None, form: str | None, *, header: bool) -> list[_File]:
    files: dict[tuple[str, Path | str], _File] = {}
    for declaration in kb.program.outputs:
        options, mode = _options(declaration)
        place = _place(kb, declaration, directory)
        if isinstance(place, str):
            more = {"mode": mode, **{name: getattr(options, name) for name in DATABASE if name != "query"}}
            file = _File(declaration.predicate, place, options.format, header or options.header, more)
        elif (path := place) is not None:
            format_of(path, options.format, declaration.span)
            file = _File(declaration.predicate, path, options.format, header or options.header, {"mode": mode})
        elif directory is not None:
            file = _plain(declaration.predicate, directory, form, header or options.header)
        else:
            continue
        files[file.predicate, file.path] = file
    return list(files.values())


def _options(declaration: OutputDeclaration) -> tuple[ReadOptions, str | None]:
    """Return the options of an `@output` and its mode."""
    given = dict(declaration.options)
    known = ("header", "format", "mode", *DATABASE)
    for name in given:
        if name not in known or name == "query":
            hint = "the options are header, format, mode"
            raise option_error(f"@output has no option '{name}'", declaration.span, hint)
    mode = given.pop("mode", None)
    return ReadOptions.of(given, declaration.span, written=True), str(mode) if mode is not None else None


def _place(kb: KnowledgeBase, declaration: OutputDeclaration, directory: Path | None) -> Path | str | None:
    """Return the path or address of an `@output`: below the directory of the command, or beside the program file."""
    if declaration.location is None:
        return None
    span, roots = declaration.span, kb.settings.outputs_root
    if directory is not None:  # the command's own word: a root, too
        roots = (str(directory), *roots)
    home = directory or home_of(span, Path())
    return place_below(declaration.location, home, roots, span, setting="outputs_root", word="write")


# -- run ---------------------------------------------------------------------------------------------------------------


class Explanation(StrEnum):
    PLANS = "plans"
    SQL = "sql"
    DEMAND = "demand"


def run(
    files: Programs,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    query: Annotated[
        list[str] | None, typer.Option("--query", "-q", help="A query such as 'path(1, X)'; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the outputs, or all derived predicates, to this directory."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(WRITTEN),
            callback=written_format,
            help="The format of --out; with json, answers are also JSON lines.",
        ),
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="Write a header into --out files.")] = False,
    stats: Annotated[
        Path | None, typer.Option("--stats", metavar="FILE", help="Write the statistics of the run as JSON.")
    ] = None,
    limit_time: LimitTime = None,
    limit_facts: LimitFacts = None,
    strict: Strict = False,
    rejects: RejectsFile = None,
    explain: Annotated[
        Explanation | None,
        typer.Option(
            "--explain",
            help="Show how each rule was evaluated; =sql: as SQL views; =demand: the rules rewritten for the queries.",
        ),
    ] = None,
    on_error: Annotated[
        OnError | None,
        typer.Option("--on-error", help="If arithmetic has no value: discard the rule instance (default), or stop."),
    ] = None,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="The engine that runs the rules.")
    ] = EngineName.EMBEDDED,
    master: Master = None,
    conf: Conf = None,
    workspace: WorkspaceDirectory = None,
    mode: Mode = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="NAME", help="Switch an optimisation off; may be repeated.")
    ] = None,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
    outputs_root: OutputsRoot = None,
) -> None:
    """Derive every consequence of a program and print the answers to its queries.

    Exit codes: 0 success, 1 an error in the program, 2 an error in the command, 3 bad data, 4 a limit was reached,
    130 interrupted.
    """
    watch = Stopwatch()
    with watch.step("load"):
        kb = open_knowledge_base(
            read_sources(files),
            Data(facts, facts_header, rdf or (), strict, rejects, rdf_base=rdf_base),
            chosen_settings(
                settings,
                set_,
                limit_time=limit_time,
                limit_facts=limit_facts,
                on_error=on_error.value if on_error is not None else None,
                updates=False,
                inputs_root=inputs_root,
                outputs_root=outputs_root,
                mode=mode,
                without=checked_optimisations(without) if without else None,
            ),
            engine=engine.value,
            **engine_options(engine, master, conf or [], workspace),
        )
        queries = asked_queries(kb, query or []) or list(kb.queries)
        if query:
            print_diagnostics(warning for one in queries for warning in kb.query_warnings(one))
    only_asks = bool(queries) and not out and not kb.program.outputs
    on_demand = only_asks and all(kb.is_on_demand(one, mode or "materialise") for one in queries)
    with watch.step("derive"):
        report = derive(kb) if not on_demand else None
    with watch.step("publish"):
        _print_all(kb, queries, form)
        for path in publish(kb, out, form, header=header):
            terminal_for_errors().print(f"wrote {path}", markup=False, style="dim")
    _print_explanation(explain, kb, queries, report)
    if form != "json" and not on_demand:
        print_counts(kb, watch.seconds["derive"])
        if engine is EngineName.SPARK:
            print_stages(kb, watch)
    if stats is not None:
        write_statistics(stats, kb, report, watch, engine.value)
    kb.close()


def _print_all(kb: KnowledgeBase, queries: Sequence[Query], form: str | None) -> None:
    for query in queries:
        if form == "json":
            print_json_answers(kb, query)
        else:
            print_answers(kb, query)
            terminal().print()


def _print_explanation(
    wanted: Explanation | None, kb: KnowledgeBase, queries: Sequence[Query], report: RunReport | None
) -> None:
    if wanted is Explanation.SQL:
        terminal().print(kb.sql() + "\n", markup=False)
    elif wanted is Explanation.DEMAND:
        for query in queries:
            terminal().print(kb.demanded(query).text(kb.program.prefixes), markup=False, soft_wrap=True)
    elif wanted is not None and report is not None:
        terminal().print(report.explain(kb.analysis.evaluated.rules, kb.program.prefixes) + "\n", markup=False)


def derive(kb: KnowledgeBase) -> RunReport | None:
    """Derive everything, with progress. An empty program starts no engine."""
    from corollary.cli.progress import Progress

    if kb.is_empty:
        return None
    with Progress(len(kb.analysis.evaluated.hyper_nodes)) as progress:
        return kb.materialise(finished=progress.finished, watch=progress.watch, at_round=progress.at_round)


class Stopwatch:
    """Measures the seconds of each step."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.seconds: dict[str, float] = {"load": 0.0, "derive": 0.0, "publish": 0.0}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - started

    def total(self) -> dict[str, float]:
        return {**self.seconds, "total": time.perf_counter() - self._started}


def write_statistics(path: Path, kb: KnowledgeBase, report: RunReport | None, watch: Stopwatch, engine: str) -> None:
    from corollary.io.atomic import replacing

    figures = {
        "engine": engine,
        "seconds": {name: round(seconds, 6) for name, seconds in watch.total().items()},
        "facts": {name: kb.count(name) for name in kb.predicates()},
        "rounds": report.rounds if report else 0,
        "rule_instances": report.instances if report else 0,
        "peak_memory_mb": round(_peak_memory(), 1),
        "hyper_nodes": [_node(node) for node in report.nodes] if report else [],
    }
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _node(node: NodeReport) -> dict[str, Any]:
    return {
        "rules": list(node.node.rules),
        "strategy": node.strategy,
        "rounds": node.rounds,
        "rule_instances": node.instances,
        "new_facts": node.new_facts,
        "seconds": round(node.seconds, 6),
    }


def _peak_memory() -> float:
    """Return the peak memory in megabytes; macOS reports bytes, Linux kilobytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)


def print_counts(kb: KnowledgeBase, seconds: float) -> None:
    """Print the number of facts of each derived predicate, and of all predicates together."""
    console, printer = terminal(), Printer(kb.program.prefixes)
    for name in dict.fromkeys(rule.head.predicate for rule in kb.program.rules):
        console.print(f"{printer.predicate(name)}: {plural(kb.count(name), 'fact')}", markup=False)
    total = sum(kb.count(name) for name in kb.predicates())
    console.print(Text(f"{plural(total, 'fact')} in {seconds:.2f} s", style="dim"))


def print_stages(kb: KnowledgeBase, watch: Stopwatch) -> None:
    """Print how long each stage of the pipeline took."""
    seconds = {**kb.stages, "derive": watch.seconds["derive"], "publish": watch.seconds["publish"]}
    text = ", ".join(f"{stage} {taken:.2f} s" for stage, taken in seconds.items())
    terminal().print(Text(f"stages: {text}", style="dim"))
