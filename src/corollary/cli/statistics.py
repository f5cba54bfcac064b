"""The figures of a run, for `--stats` and for the lines at its end."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from corollary.cli.output import plural, terminal
from corollary.knowledge_base import KnowledgeBase
from corollary.language import Printer

if TYPE_CHECKING:
    from corollary.engines.embedded.report import NodeReport, RunReport


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
    from corollary.sources.atomic import replacing

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
