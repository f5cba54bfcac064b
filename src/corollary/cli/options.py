"""The options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from corollary.cli.output import plural, print_diagnostics, terminal_for_errors
from corollary.cli.progress import announce_compiling
from corollary.diagnostics import Source, did_you_mean
from corollary.knowledge_base import KnowledgeBase
from corollary.settings import OPTIMISATIONS, Settings, settings_from_texts

Programs = Annotated[list[Path], typer.Argument(help="Program files, read as one program; - is the standard input.")]
Facts = Annotated[
    Path | None,
    typer.Option("--facts", metavar="DIR", help="Load DIR/<predicate>.{csv,tsv,facts,parquet,json,nt,nq,ttl}."),
]
FactsHeader = Annotated[
    bool, typer.Option("--facts-header", help="The csv and tsv files of --facts name their columns in the first row.")
]
Rdf = Annotated[
    list[Path] | None,
    typer.Option("--rdf", metavar="FILE", help="Load RDF as p(s, o), and C(s) for rdf:type; may be repeated."),
]
RdfBase = Annotated[
    str | None,
    typer.Option(
        "--rdf-base",
        metavar="IRI",
        help="Resolve relative IRIs of --rdf against this one; they stay as they are otherwise.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="A row that does not fit is an error, before anything is derived.")
]
RejectsFile = Annotated[
    Path | None, typer.Option("--rejects", metavar="FILE", help="Write the rows that were left out to this csv file.")
]
LimitTime = Annotated[
    float | None, typer.Option("--limit-time", metavar="S", help="Stop after that many seconds of deriving.")
]
LimitFacts = Annotated[
    int | None, typer.Option("--limit-facts", metavar="N", help="Stop at more than that many facts.")
]
SettingsFile = Annotated[
    Path | None, typer.Option("--settings", metavar="FILE", help="Settings as TOML; docs/settings.md lists them.")
]
SetOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting, such as limits.rounds=100; may be repeated."),
]
InputsRoot = Annotated[
    list[str] | None,
    typer.Option(
        "--inputs-root",
        metavar="DIR",
        help="@input may read below this folder or address, not only beside the program.",
    ),
]
OutputsRoot = Annotated[
    list[str] | None,
    typer.Option("--outputs-root", metavar="DIR", help="@output may write below this folder or address."),
]


Mode = Annotated[
    str | None,
    typer.Option("--mode", help="Derive what a query needs (demand), everything (materialise), or as it pays (auto)."),
]


class OnError(StrEnum):
    DISCARD = "discard"
    STOP = "stop"


class EngineName(StrEnum):
    EMBEDDED = "embedded"
    SPARK = "spark"


Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="The Spark cluster, spark://HOST:7077 or local[4].")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="K=V", help="A setting of Spark; may be repeated.")]
WorkspaceDirectory = Annotated[
    str | None,
    typer.Option("--workspace", metavar="DIR", help="Where Spark keeps tables; on a cluster a directory all share."),
]


def engine_options(engine: EngineName, master: str | None, conf: list[str], workspace: str | None) -> dict[str, Any]:
    """Return the options that only the Spark engine takes; raise `typer.BadParameter` where they are given to the other."""
    given = {"--master": master, "--conf": conf, "--workspace": workspace}
    if engine is not EngineName.SPARK:
        for name, value in given.items():
            if value:
                raise typer.BadParameter("this is for --engine spark", param_hint=name)
        return {}
    settings = dict(one.split("=", 1) for one in conf if "=" in one)
    for one in conf:
        if "=" not in one:
            raise typer.BadParameter(f"'{one}' is no KEY=VALUE", param_hint="--conf")
    return {"master": master, "conf": settings, "workspace": workspace}


@dataclass(frozen=True)
class Data:
    """Where the facts come from."""

    facts: Path | None = None
    facts_header: bool = False
    rdf: Sequence[Path] = ()
    strict: bool = False
    rejects: Path | None = None
    rdf_base: str | None = None


def chosen_settings(
    file: Path | None,
    texts: list[str] | None,
    *,
    limit_time: float | None = None,
    limit_facts: int | None = None,
    inputs_root: list[str] | None = None,
    outputs_root: list[str] | None = None,
    **given: Any,
) -> Settings:
    """The settings of a file, then those of `--set`, then those that have an option of their own."""
    settings = Settings.read(file) if file is not None else Settings()
    given = {"inputs_root": inputs_root or None, "outputs_root": outputs_root or None, **given}
    limits = {"seconds": limit_time, "facts": limit_facts}
    try:
        written = settings_from_texts(texts or ())
        written["limits"] = {
            **written.get("limits", {}),
            **{name: limit for name, limit in limits.items() if limit is not None},
        }
        return Settings.of(
            settings, **{**written, **{name: value for name, value in given.items() if value is not None}}
        )
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None


def open_knowledge_base(
    sources: Sequence[Source], data: Data, settings: Settings | None = None, **options: Any
) -> KnowledgeBase:
    """The knowledge base of these programs with their data; tells what is doubtful, and how many rows were left out."""
    if data.facts is not None or data.rdf or any("(" in source.text for source in sources):
        announce_compiling()
    settings = settings or Settings()
    settings = Settings.of(settings, strict=data.strict or settings.strict)
    kb = KnowledgeBase.from_sources(sources, settings=settings, **options)
    if data.facts is not None:
        kb.load_facts(data.facts, header=data.facts_header)
    for path in data.rdf:
        kb.load_rdf(path, base=data.rdf_base)
    print_diagnostics(kb.warnings)
    report_rejects(kb, data.rejects)
    return kb


def checked_optimisations(names: Sequence[str]) -> Sequence[str]:
    """Return the names; raise `typer.BadParameter` for one that is no optimisation."""
    for name in names:
        if name not in OPTIMISATIONS:
            hint = did_you_mean(name, OPTIMISATIONS) or f"there are {', '.join(OPTIMISATIONS)}"
            raise typer.BadParameter(f"there is no optimisation '{name}': {hint}", param_hint="--without")
    return names


def report_rejects(kb: KnowledgeBase, path: Path | None) -> None:
    """How many rows were left out, and the first of them; all of them go into a file."""
    from corollary.io.rejects import write_rejects

    rejects = kb.rejects
    if path is not None:
        write_rejects(rejects, str(path))
    if not len(rejects):
        return
    console = terminal_for_errors()
    counts = ", ".join(f"{file}: {count:,}" for file, count in rejects.by_file.items())
    console.print(f"{plural(len(rejects), 'row was', 'rows were')} left out ({counts})", style="bold yellow")
    shown = 5
    for reject in list(rejects)[:shown]:
        console.print(f"  {reject}", markup=False)
    if len(rejects) > shown:
        where = f"see {path}" if path is not None else "--rejects FILE lists them"
        console.print(f"  … and {len(rejects) - shown:,} more: {where}", markup=False)
