"""`corollary run`: derive everything, answer the queries, write the outputs."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from corollary.cli.answers import asked_queries, print_answers, print_json_answers
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
from corollary.cli.output import plural, print_diagnostics, read_sources, terminal, terminal_for_errors
from corollary.cli.publish import WRITTEN, publish, written_format
from corollary.knowledge_base import KnowledgeBase
from corollary.language import Printer
from corollary.program import Query

if TYPE_CHECKING:
    from corollary.engines.embedded.report import NodeReport, RunReport


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
        typer.Option("--out", metavar="DIR", help="Write the outputs, or all that is derived, to this directory."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(WRITTEN),
            callback=written_format,
            help="The format of --out; with json, answers are JSON lines too.",
        ),
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="Name the columns in the first row of --out files.")] = False,
    stats: Annotated[
        Path | None, typer.Option("--stats", metavar="FILE", help="Write figures of the run as JSON.")
    ] = None,
    limit_time: LimitTime = None,
    limit_facts: LimitFacts = None,
    strict: Strict = False,
    rejects: RejectsFile = None,
    explain: Annotated[
        Explanation | None,
        typer.Option(
            "--explain",
            help="Show how each rule was evaluated, or with =sql as a view; with =demand, rules for the queries.",
        ),
    ] = None,
    on_error: Annotated[
        OnError | None,
        typer.Option(
            "--on-error", help="What arithmetic without a value does: discard the instance (default), or stop."
        ),
    ] = None,
    engine: Annotated[EngineName, typer.Option("--engine", help="What runs the rules.")] = EngineName.EMBEDDED,
    master: Master = None,
    conf: Conf = None,
    workspace: WorkspaceDirectory = None,
    mode: Mode = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="NAME", help="Leave an optimisation out; may be repeated.")
    ] = None,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
    outputs_root: OutputsRoot = None,
) -> None:
    """Derive every consequence of a program and print the answers to its queries.

    Exits with 0; with 1 for a mistake in the program, 2 for one in the command, 3 for bad data, 4 at a limit,
    130 when interrupted.
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
    """Derives everything, with progress; nothing is started where there is nothing."""
    from corollary.cli.progress import Progress

    if kb.is_empty:
        return None
    with Progress(len(kb.analysis.evaluated.hyper_nodes)) as progress:
        return kb.materialise(finished=progress.finished, watch=progress.watch, at_round=progress.at_round)


class Stopwatch:
    """Seconds by step."""

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
    """In megabytes; macOS counts in bytes, Linux in kilobytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)


def print_counts(kb: KnowledgeBase, seconds: float) -> None:
    """How many facts each derived predicate has, and all of them together."""
    console, printer = terminal(), Printer(kb.program.prefixes)
    for name in dict.fromkeys(rule.head.predicate for rule in kb.program.rules):
        console.print(f"{printer.predicate(name)}: {plural(kb.count(name), 'fact')}", markup=False)
    total = sum(kb.count(name) for name in kb.predicates())
    console.print(Text(f"{plural(total, 'fact')} in {seconds:.2f} s", style="dim"))


def print_stages(kb: KnowledgeBase, watch: Stopwatch) -> None:
    """How long each stage of the pipeline took."""
    seconds = {**kb.stages, "derive": watch.seconds["derive"], "publish": watch.seconds["publish"]}
    text = ", ".join(f"{stage} {taken:.2f} s" for stage, taken in seconds.items())
    terminal().print(Text(f"stages: {text}", style="dim"))
