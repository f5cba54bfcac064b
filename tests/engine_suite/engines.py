"""The engines that every test of the suite runs on: how each makes a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

from corollary import KnowledgeBase
from tests.budgets import Example, examples, gathered

NOTHING_IS_SMALL = {"task_change_facts": 0, "recompute_facts": 0, "driver_facts": 0}
"""Settings of Spark, with which it follows all changes by jobs of its own."""


class Engine:
    """Makes knowledge bases for a test; whoever leaves the `with` statement closes them.

    `on_spark` holds settings for Spark alone, in every method that takes options of a knowledge base.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._open = ExitStack()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __call__(self, program: Any = "", **options: Any) -> KnowledgeBase:
        return self._kept(KnowledgeBase(program, **self.options(**options)))

    def create(self, place: Path, program: Any = "", **options: Any) -> KnowledgeBase:
        return self._kept(KnowledgeBase.create(place, program, **self.options(**options)))

    def open(self, place: Path, **options: Any) -> KnowledgeBase:
        return self._kept(KnowledgeBase.open(place, **self.options(**options)))

    def options(self, on_spark: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        if self.name == "embedded":
            return options
        from corollary.engines.spark.context import SparkSettings
        from tests.services.spark_session import shared_session

        return {
            "engine": shared_session(),
            "spark_settings": SparkSettings(partitions=2, **(on_spark or {})),
            **options,
        }

    def each(self, strategy: SearchStrategy[Example], count: int, check: Callable[[Any], Any]) -> None:
        """Check generated examples: one by one, so that a failing one shrinks, or a few of them at once on Spark."""
        if self.name == "spark":
            check(gathered(strategy, count // 40))
            return

        @settings(max_examples=examples(count))
        @given(strategy)
        def run(example: Example) -> None:
            check(example)

        run()

    def _kept(self, kb: KnowledgeBase) -> KnowledgeBase:
        self._open.callback(kb.close)
        return kb
