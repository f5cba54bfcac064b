"""Options that several commands share."""

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
    bool, typer.Option("--facts-header", help="The first row of each csv and tsv file of --facts is a header.")
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
        help="The base for relative IRIs in --rdf files; without it they stay relative.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="A row that does not fit is an error, and nothing is derived.")]
RejectsFile = Annotated[
    Path | None, typer.Option("--rejects", metavar="FILE", help="Write rejected rows to this csv file.")
]
LimitTime = Annotated[
    float | None, typer.Option("--limit-time", metavar="S", help="Stop if deriving takes more than S seconds.")
]
LimitFacts = Annotated[
    int | None, typer.Option("--limit-facts", metavar="N", help="Stop if there are more than N facts.")
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="A TOML file of settings; docs/settings.md lists them."),
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
        help="Let @input read below this folder or address instead of the program's folder.",
    ),
]
OutputsRoot = Annotated[
    list[str] | None,
    typer.Option("--outputs-root", metavar="DIR", help="Let @output write below this folder or address."),
]


Mode = Annotated[
    str | None,
    typer.Option("--mode", help="Derive what a query needs (demand), everything (materialise), or choose (auto)."),
]


class OnError(StrEnum):
    DISCARD = "discard"
    STOP = "stop"


class EngineName(StrEnum):
    EMBEDDED = "embedded"
    SPARK = "spark"


Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="The Spark master, such as spark://HOST:7077 or local[4].")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="K=V", help="A Spark setting; may be repeated.")]
WorkspaceDirectory = Annotated[
    str | None,
    typer.Option(
        "--workspace", metavar="DIR", help="The directory for Spark's tables; on a cluster, all machines must share it."
    ),
]


def engine_options(engine: EngineName, master: str | None, conf: list[str], workspace: str | None) -> dict[str, Any]:
    """Return the options for the Spark engine; raise `typer.BadParameter` if they are given for the embedded engine."""
    given = {"--master": master, "--conf": conf, "--workspace": workspace}
    if engine is not EngineName.SPARK:
        for name, value in given.items():
            if value:
                raise typer.BadParameter("this option needs --engine spark", param_hint=name)
        return {}
    settings = dict(one.split("=", 1) for one in conf if "=" in one)
    for one in conf:
        if "=" not in one:
            raise typer.BadParameter(f"'{one}' is not of the form KEY=VALUE", param_hint="--conf")
    return {"master": master, "conf": settings, "workspace": workspace}


@dataclass(frozen=True)
class Data:
    """The data files that a command loads."""

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
    """Return the settings of the file, overridden by `--set`, and these by options of their own."""
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
    """Return the knowledge base of these programs with their data; print warnings and the number of rejected rows."""
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
    """Return the names; raise `typer.BadParameter` for an unknown optimisation."""
    for name in names:
        if name not in OPTIMISATIONS:
            hint = did_you_mean(name, OPTIMISATIONS) or f"there are {', '.join(OPTIMISATIONS)}"
            raise typer.BadParameter(f"there is no optimisation '{name}': {hint}", param_hint="--without")
    return names


def report_rejects(kb: KnowledgeBase, path: Path | None) -> None:
    """Print the number of rejected rows and the first of them; write all of them into a file."""
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
